"""W35: Which sharding multiplies fastest on v4 4x4x4 if every chip needs the result: rows or columns.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/sharding, question 5 (options 1 and 2 are
equally good).
"""

import hopcast as hc

options = {
    1: "bf16[4096_xyz,4096] @ bf16[4096,4096]",
    2: "bf16[4096,4096] @ bf16[4096,4096_xyz]",
    3: "bf16[4096,4096_xyz] @ bf16[4096_xyz,4096]",
    4: "bf16[4096,4096] @ bf16[4096,4096]",
}
serial = {}
for option, product in options.items():
    plan = hc.matmul(f"{product} -> bf16[4096,4096]", "v4:4x4x4,latency=0", backward=False).detail["forward"]
    serial[option] = plan.communication + plan.computing
    print(f"option {option}: {serial[option] * 1e6:.5g} us")
best = min(serial.values())
print(f"option 1 over the best: published 1; exact 1; ours {serial[1] / best:.6g}")
print(f"option 2 over the best: published 1; exact 1; ours {serial[2] / best:.6g}")
