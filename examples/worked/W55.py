"""W55: LLaMA 3 70B: H100s that hold weights and optimizer, and days of 4,096 of them for 15e12 tokens at
45 % of peak.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus, quiz 5, question 2 (2 + 8 bytes for each
parameter, 6 FLOPs for each parameter and token).
"""

import math

import hopcast as hc

h100 = {row["figure"]: row["value"] for row in hc.chip("h100")}
gpus = math.ceil(70e9 * (2 + 8) / h100["hbm.capacity"])
days = 6 * 70e9 * 15e12 / (4096 * h100["flops.bf16"] * 0.45) / 86400
print(f"GPUs: published 9; exact 9; ours {gpus}")
print(f"days: published 40; exact 40.0; ours {days:.6g}")
