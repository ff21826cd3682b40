"""W42: What a node, a unit and the whole of 128 nodes of H100 can send at each level of the fat tree.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus, quiz 3 (per node, not per GPU).
"""

import hopcast as hc

row = hc.show("dgx-h100:128").rows[0]
level = {one["name"]: one for one in row["levels"]}
node, unit = level["leaf"]["link_GBps"], level["spine"]["link_GBps"]
whole = unit * level["spine"]["degree"]
print(f"a node, GB/s: published 400; exact 400; ours {node:.6g}")
print(f"a unit, TB/s: published 12.8; exact 12.8; ours {unit / 1e3:.6g}")
print(f"all, TB/s: published 51.2; exact 51.2; ours {whole / 1e3:.6g}")
print(f"all for each node, GB/s: published 400; exact 400; ours {whole / row['nodes']:.6g}")
