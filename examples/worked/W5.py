"""W5: What crosses between the halves of a node of 8 GPUs, of 32 nodes and of 128 nodes.

Source: Gordic 2026, https://www.aleksagordic.com/blog/collective-operations, part 4.
"""

import hopcast as hc

for name, published in (
    ("switch:8,bandwidth=450GB/s", (1.8, 3.6)),
    ("switch:32,bandwidth=400GB/s", (6.4, 12.8)),
    ("switch:128,bandwidth=400GB/s", (25.6, 51.2)),
):
    row = hc.bisect(name).rows[0]
    for way, value in zip(("one_way", "both_ways"), published, strict=True):
        ours = row[f"{way}_GBps"] / 1e3
        print(f"{name} {way}, TB/s: published {value}; exact {value}; ours {ours:.6g}")
