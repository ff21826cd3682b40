"""W58: What leaves a rack of GB200 NVL72.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus, appendix A: 4 x 18 x 400 / 8 GB/s.
"""

import hopcast as hc

racks = hc.bisect("gb200-nvl72:8", split="1/7", by="racks").rows[0]
print(f"egress, TB/s: published 3.6; exact 3.6; ours {racks['one_way_GBps'] / 1e3:.6g}")
