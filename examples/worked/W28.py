"""W28: all_gather over x and y of the same array; the book leaves the factor 15/16 out, as busbw does.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/sharding, question 2 (the limit of many
chips).
"""

import hopcast as hc

asked = {"size": "bf16[1024_x,4096_y]", "over": "x,y", "algorithm": "multi_axis"}
row = hc.predict("all_gather", "v4:4x4x4,latency=0", **asked).rows[0]
limit = row["size_bytes"] / row["busbw_GBps"] / 1e3
print(f"many chips, us: published 46; exact 46.60; ours {limit:.6g}")
print(f"16 chips, us: published -; exact 43.69; ours {row['time_us']:.6g}")
