"""W10: Hosts, cores, FLOP/s and memory of a v5e pod.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/tpus, worked problems.
"""

import hopcast as hc

pod = {row["figure"]: row["all"] for row in hc.chip("v5e:16x16")}
print(f"hosts: published 32; exact 32; ours {hc.show('v5e:16x16').rows[0]['hosts']}")
print(f"cores: published 256; exact 256; ours {pod['cores']}")
print(f"bf16, FLOP/s: published 5.1e16; exact 5.04e16; ours {pod['flops.bf16']:.6g}")
print(f"HBM, TB: published 4; exact 4.096; ours {pod['hbm.capacity'] / 1e12:.6g}")
