"""W27: all_gather over x of bf16[1024_x,4096_y] on v4 4x4x4, whole shards both ways.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/sharding, question 2.
"""

import hopcast as hc

asked = {"size": "bf16[1024_x,4096_y]", "over": "x", "algorithm": "bidirectional_ring"}
row = hc.predict("all_gather", "v4:4x4x4,latency=0", **asked).rows[0]
print(f"time, us: published 23; exact 23.30; ours {row['time_us']:.6g}")
