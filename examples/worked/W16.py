"""W16: FLOP/s of the vector unit of one v5p core: 8 x 128 lanes of 4 ALUs at 1.75 GHz.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/tpus.
"""

import hopcast as hc

v5p = {row["figure"]: row["value"] for row in hc.chip("v5p")}
print(f"FLOP/s: published 7e12; exact 7.168e12; ours {v5p['vpu.flops']:.6g}")
