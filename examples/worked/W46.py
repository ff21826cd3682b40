"""W46: Bytes that all_gather of 1 GiB over a unit of 32 nodes moves: into GPUs, into nodes, out of leaves.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus, quiz 4, question 1: N B - B / M into the N
GPUs of a node, B (M - 1) / M into a node, B (M - 1) out of the switches above M nodes.
"""

import hopcast as hc

NODES, GPUS, D = 32, 8, 2**30
asked = {"size": D, "algorithm": "hierarchical,pipeline=off"}
found = hc.predict("all_gather", f"dgx-h100:{NODES},latency=0", **asked).detail
topology, load = found.question.cluster.topology, found.load
to_first = topology.dst < GPUS  # GPUs of node 0
from_leaf = (topology.dst < topology.chips) & (topology.axis == 0)
moved = [load[links].sum() for links in (to_first, to_first & from_leaf, from_leaf)]
exact = (GPUS - 1 / NODES, (NODES - 1) / NODES, NODES - 1)
names = ("into the GPUs of a node", "into a node", "out of all leaves")
for what, ours, right in zip(names, moved, exact, strict=True):
    print(f"{what}, D: published {right:.7g}; exact {right:.7g}; ours {ours / D:.7g}")
time, right = found.bound.seconds * 1e6, D * (NODES - 1) / NODES / 400e9 * 1e6
print(f"over the NICs, us: published B (M - 1) / (M 400e9); exact {right:.6g}; ours {time:.6g}")
