"""W57: Tokens of a GPU in three runs of Megatron-LM; and of how many the network lets it be compute-bound.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus, quiz 5, question 3 (batches of 192, 384 and
1,536 sequences of 4,096 tokens on 192, 768 and 3,072 GPUs; 16 and 64 ways of model parallelism, 2 and 8
nodes, let 2 and 8 times as much cross the spines).
"""

import hopcast as hc

flops = hc.roofline("h100").rows[0]["flops"]
node = next(v["link_GBps"] for v in hc.show("dgx-h100:128").rows[0]["levels"] if v["name"] == "leaf")
for model, sequences, gpus, tokens in (
    ("16B", 192, 192, 4096),
    ("70B", 384, 768, 2048),
    ("314B", 1536, 3072, 2048),
):
    print(f"{model}, tokens: published {tokens}; exact {tokens}; ours {sequences * 4096 / gpus:.6g}")
print(f"FSDP over spines, tokens: published 2472; exact 2472.5; ours {flops / node / 1e9:.6g}")
