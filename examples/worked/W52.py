"""W52: Tokens of an H100 from which on data parallelism is compute-bound: in a node, beyond, for LLaMA 3 on
16,000 GPUs, for 4 of 128 experts, over 2 nodes.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus (C / W with 990e12 FLOP/s).
"""

import hopcast as hc

flops = hc.roofline("h100").rows[0]["flops"]
level = {one["name"]: one["link_GBps"] * 1e9 for one in hc.show("dgx-h100:128").rows[0]["levels"]}
inside, beyond = flops / level["node"], flops / level["leaf"]
print(f"in a node, tokens: published 2200; exact 2197.8; ours {inside:.6g}")
print(f"beyond, tokens: published 2475; exact 2472.5; ours {beyond:.6g}")
print(f"16,000 GPUs, million tokens: published 40; exact 39.56; ours {beyond * 16e3 / 1e6:.6g}")
print(f"4 of 128 experts, tokens: published 79,200; exact 79120; ours {beyond * 128 / 4:.6g}")
print(f"2 nodes, tokens: published 1237; exact 1236.25; ours {beyond * (2 - 1) / 2:.6g}")
