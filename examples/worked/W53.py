"""W53: The same for H800, with the 300 GB/s that the source gives it, and for 2,048 of them.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus. Others say 200 GB/s one way
(https://github.com/NVIDIA/nccl/issues/1374).
"""

import hopcast as hc

W = 300e9
tokens = hc.roofline("h100").rows[0]["flops"] / W
print(f"a GPU, tokens: published 3300; exact 3296.7; ours {tokens:.6g}")
print(f"2,048 GPUs, million tokens: published 6.7; exact 6.752; ours {tokens * 2048 / 1e6:.6g}")
