"""W43: Switches of pods of 2,048 and 4,096 GPUs.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus, quiz 3; NVIDIA's table of DGX B200 pods,
https://docs.nvidia.com/dgx-superpod/reference-architecture-scalable-infrastructure-b200/latest/, has the
same.
"""

import hopcast as hc

small, large = (hc.show(f"dgx-h100:{nodes}").rows[0] for nodes in (256, 512))
cables = small["leaf_spine_cables"] / small["leaf_switches"] / small["spine_switches"]
print(f"2,048 GPUs, units: published 8; exact 8; ours {small['su']}")
print(f"2,048 GPUs, spines: published 32; exact 32; ours {small['spine_switches']}")
print(f"2,048 GPUs, cables from leaf to spine: published 1; exact 1; ours {cables:.6g}")
print(f"4,096 GPUs, spines: published 128; exact 128; ours {large['spine_switches']}")
print(f"4,096 GPUs, cores: published 64; exact 64; ours {large['core_switches']}")
