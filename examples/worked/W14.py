"""W14: bf16[8,128,8192] from corner to corner of a v5e 4x4 slice.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/tpus, worked problems.
"""

import hopcast as hc

row = hc.route("v5e:4x4", "0,0", "3,3", size="bf16[8,128,8192]").rows[0]
print(f"first byte, us: published 6; exact 6; ours {row['latency_us']:.6g}")
print(f"all, us: published 194; exact 192.4; ours {row['time_us']:.6g}")
