"""W38: What crosses between the halves of a node of 8 H100, both ways together.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus, quiz 2.
"""

import hopcast as hc

row = hc.bisect("dgx-h100", split="4/4", by="chips").rows[0]
print(f"both ways, TB/s: published 3.6; exact 3.6; ours {row['both_ways_GBps'] / 1e3:.6g}")
