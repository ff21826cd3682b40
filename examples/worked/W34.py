"""W34: Scalars over one link of a ring of 64, one way round and both ways, for a matrix of N x N.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/sharding, question 10 (its factor 4 is that
of many chips: 4 (n - 1) / n here).
"""

import hopcast as hc

ring, size = "ring:64,bandwidth=45GB/s,latency=0", "bf16[1024,1024]"
one_way = [f"{(i + 1) % 64}>{i}" for i in range(64)]  # the other direction of every cable is cut


def part(collective: str, algorithm: str, dead: tuple[str, ...] | list[str] = ()) -> float:
    """Scalars over the busiest link, of N^2."""
    row = hc.predict(collective, ring, size=size, algorithm=algorithm, dead=dead).rows[0]
    return row["max_link_bytes"] / row["size_bytes"]


gather, turn = part("all_gather", "ring"), part("all_to_all", "direct", one_way)
both_gather, both_turn = part("all_gather", "bidirectional_ring,split=on"), part("all_to_all", "direct")
print(f"all_gather, of N^2: published 1 - 1/n; exact {1 - 1 / 64}; ours {gather:.6g}")
print(f"all_to_all, of N^2: published (1 - 1/n) / 2; exact {(1 - 1 / 64) / 2}; ours {turn:.6g}")
print(f"all_to_all over all_gather: published 1/2; exact 0.5; ours {turn / gather:.6g}")
print(f"both ways, all_gather gains: published 2; exact 2; ours {gather / both_gather:.6g}")
print(f"both ways, all_to_all gains: published 4; exact {4 * 63 / 64}; ours {turn / both_turn:.6g}")
