"""W33: Gather A[N,M] and multiply, or multiply and reduce_scatter A B [N,K]: the ratio of the two is M/K.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/sharding, question 9.
"""

import hopcast as hc

ring = {"cluster": "v5e:16x16,latency=0", "over": "x"}
gather = hc.predict("all_gather", size="bf16[4096,8192]", **ring).rows[0]["time_us"]
scatter = hc.predict("reduce_scatter", size="bf16[4096,2048]", **ring).rows[0]["time_us"]
print(f"M/K of 8192/2048: published M/K; exact 4; ours {gather / scatter:.6g}")
