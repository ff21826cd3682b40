"""W68: LLaMA 2 13B on v5p 16x16x16 with 3 million tokens: FSDP alone fails, mixed does, and how long a step
takes.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/training, worked problems (13e9 parameters, F
= 13824, 40 % of peak).
"""

import hopcast as hc

alpha = hc.roofline("v5p").rows[0]["critical_axis"]
flops = hc.roofline("v5p").rows[0]["flops"]
chips = hc.show("v5p:16x16x16").rows[0]["chips"]
step = 6 * 13e9 * 3e6 / (chips * flops * 0.4)
print(f"FSDP needs, million tokens: published 3.48; exact 3.482; ours {alpha / 3 * chips / 1e6:.6g}")
print(f"mixed needs, tokens of a chip: published 235; exact 235.2; ours {alpha**2 / (2 * 13824):.6g}")
print(f"FSDP best over, chips: published 1333; exact 1333; ours {(3e6 * 2 * chips / 13824) ** 0.5:.6g}")
print(f"a step, ms: published 300; exact 311.2; ours {step * 1e3:.6g}")
