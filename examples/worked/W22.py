"""W22: A of int8[128,2048], cut over axes of 2 and 8 of a 2 x 8 x 2 mesh along its rows.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/sharding.
"""

import hopcast as hc

shard = hc.reshard("int8[128,2048] -> int8[128_xy,2048]", "mesh:2x8x2").rows[-1]["device_bytes"]
devices = hc.show("mesh:2x8x2").rows[0]["ranks"]
print(f"of a device, bytes: published 16,384; exact 16384; ours {shard:.6g}")
print(f"of all, KiB: published 512; exact 512; ours {shard * devices / 1024:.6g}")
