"""W36: bf16[2048,8192] on a ring of 8 with v5e links: all_gather and all_reduce of whole shards,
all_to_all.

Source: scaling-book-viz.aronteh.com.
"""

import hopcast as hc

where = {"cluster": "ring:8,bandwidth=45GB/s,latency=0", "size": "bf16[2048,8192]"}
for name, algorithm, published, exact in (
    ("all_gather", "bidirectional_ring", 373, 372.8),
    ("all_reduce", "bidirectional_ring", 746, 745.7),
    ("all_to_all", "direct", 93.2, 93.2),
):
    row = hc.predict(name, algorithm=algorithm, **where).rows[0]
    print(f"{name}, us: published {published}; exact {exact}; ours {row['time_us']:.6g}")
