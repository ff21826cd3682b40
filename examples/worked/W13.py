"""W13: Batch from which on int8[16384,4096] weights on a v5e are a matter of FLOP/s.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/tpus, worked problems.
"""

import hopcast as hc

row = hc.roofline("v5e", "int8", weights="int8[16384,4096]").rows[0]
print(f"weights in HBM, rows: published 267; exact 259.3; ours {row['critical_batch']:.6g}")
print(f"weights in VMEM, rows: published 11; exact 10.96; ours {row['critical_batch_vmem']:.6g}")
