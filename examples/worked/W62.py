"""W62: LLaMA 3 70B with a batch of 16 million tokens: chips, and days for 15e12 tokens at 50 % of peak.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/training (6 FLOPs for each parameter and
token).
"""

import hopcast as hc

alpha = hc.roofline("v5p").rows[0]["critical_axis"]
flops = hc.roofline("v5p").rows[0]["flops"]
chips = 16e6 / (alpha / 3)
days = 6 * 70e9 * 15e12 / (chips * flops * 0.5) / 86400
print(f"chips: published 18,823; exact 18823; ours {chips:.6g}")
print(f"days: published 17; exact 16.88; ours {days:.6g}")
