"""W4: What crosses between 88 and 40 of 128 nodes with 400 GB/s each.

Source: Gordic 2026, https://www.aleksagordic.com/blog/collective-operations, part 4.
"""

import hopcast as hc

row = hc.bisect("switch:128,bandwidth=400GB/s", split="88/40").rows[0]
print(f"one way, TB/s: published 16; exact 16; ours {row['one_way_GBps'] / 1e3:.6g}")
print(f"both ways, TB/s: published 32; exact 32; ours {row['both_ways_GBps'] / 1e3:.6g}")
