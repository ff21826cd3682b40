"""W32: A[B,D] x W[D_x,F] on v5p: gather the weights first, or sum the products afterwards.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/sharding, question 4.
"""

import hopcast as hc

alpha = hc.roofline("v5p").rows[0]["critical_axis"]
ring = {"cluster": "v5p:4x4x4,latency=0", "over": "x", "algorithm": "bidirectional_ring"}
weights = hc.predict("all_gather", size="bf16[4096,8192]", **ring).rows[0]["time_us"]
sums = hc.predict("all_reduce", size="bf16[2048,8192]", **ring).rows[0]["time_us"]
print(f"gathering binds below a batch of: published 2550; exact 2550; ours {alpha:.6g}")
print(
    f"then summing wins if D is over B times: published 2; exact 2; ours {4096 / 2048 * sums / weights:.6g}"
)
print(f"above it, if D is over: published 5100; exact 5100; ours {2 * alpha:.6g}")
