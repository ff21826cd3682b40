"""W69: LLaMA 3 70B on a v5p pod with 4 Mi tokens: days for 15e12 tokens at 40 %, tokens of a chip, the
split.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/applied-training (F = 28672).
"""

import hopcast as hc

alpha = hc.roofline("v5p").rows[0]["critical_axis"]
flops = hc.roofline("v5p").rows[0]["flops"]
chips, batch = hc.show("v5p:16x20x28").rows[0]["chips"], 2**22
days = 6 * 70e9 * 15e12 / (chips * flops * 0.4) / 86400
print(f"days: published 44; exact 44.3; ours {days:.6g}")
print(f"tokens of a chip: published 468; exact 468.1; ours {batch / chips:.6g}")
print(f"mixed needs, tokens of a chip: published 113; exact 113.4; ours {alpha**2 / (2 * 28672):.6g}")
print(f"FSDP best over, chips: published 1618; exact 1618.3; ours {(batch * 2 * chips / 28672) ** 0.5:.6g}")
