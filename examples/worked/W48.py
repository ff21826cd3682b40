"""W48: all_reduce over X of bf16[D,F_Y] in a node of H100 whose switch adds: at least 2 D F / (Y W).

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus, quiz 4, question 3. D = 8192, F = 28672.
"""

import hopcast as hc

for x, y in ((8, 1), (4, 2)):
    asked = {"size": "bf16[8192,28672_Y]{U_X}", "mesh": f"X={x},Y={y}", "over": "X"}
    row = hc.predict("all_reduce", "dgx-h100,latency=0", algorithm="ring", **asked).rows[0]
    exact = 2 * 8192 * 28672 / y / 450e9 * 1e6
    print(f"Y = {y}, us: published 2 D F / (Y W); exact {exact:.6g}; ours {row['limit_us']:.6g}")
