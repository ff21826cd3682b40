"""W11: Hosts, cores, FLOP/s and memory of a v5p pod.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/tpus, worked problems.
"""

import hopcast as hc

pod = {row["figure"]: row["all"] for row in hc.chip("v5p:16x20x28")}
print(f"hosts: published 2240; exact 2240; ours {hc.show('v5p:16x20x28').rows[0]['hosts']}")
print(f"cores: published 17,920; exact 17920; ours {pod['cores']}")
print(f"bf16, FLOP/s: published 4.1e18; exact 4.113e18; ours {pod['flops.bf16']:.6g}")
print(f"HBM, TB: published 860; exact 860.2; ours {pod['hbm.capacity'] / 1e12:.6g}")
