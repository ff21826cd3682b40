"""W17: Two chips hold half of a contraction each: how long it must be to be compute-bound.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/roofline.
"""

import hopcast as hc

work = hc.matmul("bf16[65536,8192_x] @ bf16[8192_x,65536]", "v5e:2x2,latency=0", backward=False)
plan = work.detail["forward"]
ours = 8192 * plan.communication / plan.compute
print(f"length: published 8755; exact 8755.6; ours {ours:.6g}")
