"""W74: Chips from which on weights cut over two dims beat weights cut over one, F = 4 D.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/inference (2 B D / X + 4 B F / (Y Z) over the
axis bandwidth, against 4 B D / 3).
"""

import hopcast as hc

axis = hc.roofline("v5p").rows[0]["axis_GBps"] * 1e9
b, d, f = 256, 8192, 4 * 8192


def cut_twice(chips: int) -> float:
    """Seconds with the best split of the chips over both dims."""
    splits = [x for x in range(1, chips + 1) if chips % x == 0]
    return min(2 * b * d / (x * axis) + 4 * b * f / (chips // x * axis) for x in splits)


cut_once = 4 * b * d / (3 * axis)
first = next(n for n in range(2, 1000) if cut_twice(n) <= cut_once * (1 + 1e-12))
print(f"chips: published 72; exact 72; ours {first}")
