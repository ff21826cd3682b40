"""W21: A of f32[1024,4096], cut over an 8 x 2 mesh along its rows: bytes of a device, and an H100 reading
them.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/sharding; the book takes 3.4 TB/s, the data
sheet says 3.35 TB/s (2 % apart).
"""

import hopcast as hc

shard = hc.reshard("f32[1024,4096] -> f32[1024_xy,4096]", "mesh:8x2").rows[-1]["device_bytes"]
hbm = hc.roofline("h100").rows[0]["hbm_GBps"]
print(f"bytes: published 1 MiB; exact 1048576; ours {shard:.7g}")
print(f"reading, ns: published 294; exact 308; ours {shard / hbm:.6g}")
