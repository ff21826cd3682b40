"""W73: An array cut over 8 chips of v5e is a matter of latency below 360 kB; 16 tokens of 8192 int8 are
below.

Source: Scaling Book, https://jax-ml.github.io/scaling-book/inference, appendix C.
"""

import hopcast as hc

hop = {row["figure"]: row["value"] for row in hc.chip("v5e")}["ici.hop_bytes"]
row = hc.predict("all_gather", "ring:8,bandwidth=45GB/s,latency=1us", size="s8[16,8192]").rows[0]
print(f"latency binds below, kB: published 360; exact 360; ours {8 * hop / 1e3:.6g}")
print(f"16 tokens, kB: published 131; exact 131.072; ours {row['size_bytes'] / 1e3:.6g}")
print(
    f"{row['time_us']:.4g} us, of which the bytes alone take {row['bandwidth_us']:.4g}: {row['bottleneck']}"
)
