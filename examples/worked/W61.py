"""W61: Chips that a batch of 40 million tokens keeps compute-bound on v5p.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/training.
"""

import hopcast as hc

alpha = hc.roofline("v5p").rows[0]["critical_axis"]
print(f"chips: published ~47,000; exact 47059; ours {40e6 / (alpha / 3):.6g}")
