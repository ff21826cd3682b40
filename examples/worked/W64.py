"""W64: Tokens of a chip from which on FSDP over two axes and tensors over one are compute-bound, F = 32768.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/training (B/N > alpha^2 / (2 x 1 x F)).
"""

import hopcast as hc

alpha = hc.roofline("v5p").rows[0]["critical_axis"]
print(f"tokens: published 99; exact 99.2; ours {alpha**2 / (2 * 32768):.6g}")
