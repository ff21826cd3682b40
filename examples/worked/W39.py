"""W39: all_gather of bf16[4096,65536] over 8 H100: by a ring, and by multicast, which is what D / W counts.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus, pop quiz 1.
"""

import hopcast as hc

for algorithm, published, exact in (("ring", 1.04, 1.0439), ("nvls", 1.19, 1.1930)):
    asked = {"size": "bf16[4096,65536]", "algorithm": algorithm}
    row = hc.predict("all_gather", "dgx-h100,latency=0", **asked).rows[0]
    print(f"{algorithm}, ms: published {published}; exact {exact}; ours {row['time_us'] / 1e3:.6g}")
