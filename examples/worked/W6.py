"""W6: Hops from chip 15,15 to chip 2,15 of a v5e pod.

Source: Gordic 2026, https://www.aleksagordic.com/blog/collective-operations, part 2.
"""

import hopcast as hc

row = hc.route("v5e:16x16", "15,15", "2,15").rows[0]
print(f"hops: published 3; exact 3; ours {row['hops']}")
