"""W1: 8 MiB from corner to corner of a v5e 4x4 slice, over both routes at once.

Source: Gordic 2026, https://www.aleksagordic.com/blog/collective-operations, example 1.
"""

import hopcast as hc

row = hc.route("v5e:4x4", "3,3", "0,0", size="bf16[2048,2048]").rows[0]
print(f"bytes, us: published 93; exact 93.207; ours {row['bandwidth_us']:.6g}")
print(f"with six hops, us: published 99; exact 99.207; ours {row['time_us']:.6g}")
