"""W54: B200: FLOPs per byte of tensor parallelism in a node, and tokens of data parallelism beyond it.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus, quiz 5, question 1.
"""

import hopcast as hc

flops = hc.roofline("b200").rows[0]["flops"]
level = {one["name"]: one["link_GBps"] * 1e9 for one in hc.show("hgx-b200:64").rows[0]["levels"]}
print(f"in a node, FLOP/B: published 2500; exact 2500; ours {flops / level['node']:.6g}")
print(f"beyond, tokens: published 5625; exact 5625; ours {flops / level['leaf']:.6g}")
