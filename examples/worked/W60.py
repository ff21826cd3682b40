"""W60: Tokens of a chip from which on data parallelism on v5p is compute-bound: one axis, three axes, the
pod.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/training (B/X > C / (axes x axis bandwidth)).
"""

import hopcast as hc

alpha = hc.roofline("v5p").rows[0]["critical_axis"]
chips = hc.show("v5p:16x20x28").rows[0]["chips"]
print(f"one axis, tokens: published 2550; exact 2550; ours {alpha:.6g}")
print(f"three axes, tokens: published 850; exact 850; ours {alpha / 3:.6g}")
print(f"the pod, million tokens: published 7.6; exact 7.616; ours {alpha / 3 * chips / 1e6:.6g}")
