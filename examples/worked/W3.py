"""W3: A matrix of 32 GiB in the memory of the hosts, gathered on one chip of a v5e 4x4 slice for a matmul.

Source: Gordic 2026, https://www.aleksagordic.com/blog/collective-operations, example 2; the stages are
derived, for the figure shows no numbers here.
"""

import hopcast as hc

matrix = "bf16[131072,131072]"
shard = 2 * 131072**2 // 16
pcie = hc.route("v5e:4x4,latency=0", "host:0", "0,0", size=shard).rows[0]
ici = hc.predict("gather", "v5e:4x4,latency=0", size=matrix, root="0,0")
work = hc.matmul(f"{matrix} @ bf16[131072,128]", "v5e:1x1", backward=False).detail["forward"]
hbm = {row["figure"]: row["value"] for row in hc.chip("v5e")}["hbm.bandwidth"]
print(f"PCIe, ms: published -; exact 134.2; ours {pcie['time_us'] / 1e3:.6g}")
print(f"ICI, ms: published -; exact 357.9; ours {ici.rows[0]['time_us'] / 1e3:.6g}")
print(f"HBM, ms: published -; exact 41.9; ours {16 * shard / hbm * 1e3:.6g}")
print(f"MXU, ms: published -; exact 22.33; ours {work.compute * 1e3:.6g}")
print("\n".join(f"{f['code']}: {f['text']}" for f in ici.findings if f["code"] == "memory"))
