"""W2: Bytes that cross one v5e link in the microsecond that a hop takes.

Source: Gordic 2026, https://www.aleksagordic.com/blog/collective-operations, part 2.
"""

import hopcast as hc

v5e = {row["figure"]: row["value"] for row in hc.chip("v5e")}
print(f"bytes: published 45 kB; exact 45000; ours {v5e['ici.hop_bytes']:.6g}")
