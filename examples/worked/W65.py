"""W65: The same for a v5p slice of 16x16x16: the batch below which it is communication-bound.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/training.
"""

import hopcast as hc

alpha = hc.roofline("v5p").rows[0]["critical_axis"]
chips = hc.show("v5p:16x16x16").rows[0]["chips"]
print(f"tokens: published 4e5; exact 4.064e5; ours {alpha**2 / (2 * 32768) * chips:.6g}")
