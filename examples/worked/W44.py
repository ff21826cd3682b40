"""W44: Bandwidth of all_gather at each level of 1,024 H100: inside nodes, over leaves, over spines.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus (W D / (D - 1) for D children of a level).
"""

import hopcast as hc

level = {one["name"]: one["collective_GBps"] for one in hc.show("dgx-h100:128").rows[0]["levels"]}
print(f"node, GB/s: published 514; exact 514.3; ours {level['node']:.6g}")
print(f"leaf, GB/s: published 413; exact 412.9; ours {level['leaf']:.6g}")
print(f"spine, GB/s: published 17.1e3; exact 17067; ours {level['spine']:.6g}")
