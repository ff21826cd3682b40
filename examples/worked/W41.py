"""W41: all_to_all over 8 H100, in units of D / W; and where 4 of the 8 entries of every row are not zero.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus, pop quiz 2. Rows are taken to have each of
the 70 patterns of 4 of 8 equally often.
"""

from itertools import combinations

import numpy as np

import hopcast as hc

CLUSTER, GPUS = "dgx-h100,latency=0", 8
unit = 2**30 / 450e9 * 1e6  # D / W, us
dense = hc.predict("all_to_all", CLUSTER, size="1GiB", algorithm="direct").rows[0]["time_us"]
message = 2**30 / GPUS**2
patterns = list(combinations(range(GPUS), 4))
row = np.bincount(np.concatenate(patterns), minlength=GPUS) * message / len(patterns)
sparse = hc.predict("all_to_all_v", CLUSTER, matrix=np.tile(row, (GPUS, 1)), algorithm="direct").rows[0]
print(f"dense, D/W: published 1/8, roughly; exact {7 / 64}; ours {dense / unit:.6g}")
print(f"sparse over dense: published 0.5; exact 0.5; ours {sparse['time_us'] / dense:.6g}")
