"""W23: Bytes of all devices over one copy, of an array cut over the axis of 4 of a 4 x 8 x 2 mesh.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/sharding, question 1.
"""

import hopcast as hc

shard = hc.reshard("bf16[1024,1024] -> bf16[1024_x,1024]", "mesh:4x8x2").rows[-1]["device_bytes"]
devices = hc.show("mesh:4x8x2").rows[0]["ranks"]
print(f"copies: published 16; exact 16; ours {shard * devices / (2 * 1024**2):.6g}")
