"""W20: Batch from which on a bf16 matmul on H100 is compute-bound.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/roofline.
"""

import hopcast as hc

row = hc.roofline("h100").rows[0]
print(f"rows: published 295; exact 295.2; ours {row['critical_batch']:.6g}")
