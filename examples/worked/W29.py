"""W29: all_reduce over z of partial sums of the same array, whole shards both ways.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/sharding, question 2.
"""

import hopcast as hc

asked = {"size": "bf16[1024_x,4096_y]{U_z}", "over": "z", "algorithm": "bidirectional_ring"}
row = hc.predict("all_reduce", "v4:4x4x4,latency=0", **asked).rows[0]
print(f"time, us: published 11.6; exact 11.65; ours {row['time_us']:.6g}")
