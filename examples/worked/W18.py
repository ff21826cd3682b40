"""W18: Batch from which on a bf16 matmul on v5e is compute-bound.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/roofline.
"""

import hopcast as hc

row = hc.roofline("v5e").rows[0]
print(f"rows: published 240; exact 240.2; ours {row['critical_batch']:.6g}")
