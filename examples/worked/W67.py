"""W67: LLaMA 3 70B with F = 30000 on v5p: chips of tensor parallelism on one axis, tokens of a chip when
mixed.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/training (Y < F / alpha; B/N > alpha^2 / (2
F)).
"""

import hopcast as hc

alpha = hc.roofline("v5p").rows[0]["critical_axis"]
print(f"chips on an axis: published 11; exact 11.76; ours {30000 / alpha:.6g}")
print(f"tokens of a chip: published 108; exact 108.4; ours {alpha**2 / (2 * 30000):.6g}")
