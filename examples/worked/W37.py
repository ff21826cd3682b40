"""W37: What the switches of a node of 8 H100 can carry, and what its GPUs can send.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/gpus, quiz 2 (4 switches of 64 ports of 25 GB/s;
appendix B).
"""

import hopcast as hc

PORTS = 64  # of an NVSwitch of the third generation
row = hc.show("dgx-h100").rows[0]
link = next(r["value"] for r in hc.chip("h100") if r["figure"] == "nvlink.link.bandwidth")
switches = row["nvswitches"] * PORTS * link
print(f"switches, TB/s: published 6.4; exact 6.4; ours {switches / 1e12:.6g}")
print(f"GPUs, TB/s: published 3.6; exact 3.6; ours {row['chips'] * row['injection_GBps'] / 1e3:.6g}")
