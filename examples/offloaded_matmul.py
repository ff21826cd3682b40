"""A 32 GiB matrix lies with the hosts of a v5e 4x4 slice; one chip multiplies it. Which stage binds?

The chips fetch their shards over PCIe, send them to chip 0,0 over ICI, and it reads them from HBM and
multiplies. The matrix does not fit in 16 GB of HBM, so that the stages must stream: the slowest one then
tells the time.
"""

import hopcast as hc

MATRIX, VECTORS = "bf16[131072,131072]", "bf16[131072,128]"
SLICE = "v5e:4x4,latency=0"


def main() -> None:
    """Print the stages, the one that binds, and what does not fit."""
    gathered = hc.predict("gather", SLICE, size=MATRIX, root="0,0")
    whole = gathered.rows[0]["size_bytes"]
    loaded = hc.route(SLICE, "host:0", "0,0", size=whole // 16).rows[0]
    product = hc.matmul(f"{MATRIX} @ {VECTORS}", "v5e:1x1", backward=False).detail["forward"]
    stages = {
        "PCIe: a shard to each chip": loaded["time_us"] / 1e3,
        "ICI: 15 shards to chip 0,0": gathered.rows[0]["time_us"] / 1e3,
        "HBM: read by chip 0,0": product.memory * 1e3,
        "MXU: multiply": product.compute * 1e3,
    }
    for stage, time in stages.items():
        print(f"{stage:<28} {time:6.1f} ms")
    binds = max(stages, key=lambda stage: stages[stage])
    print(f"\nstreamed {max(stages.values()):.0f} ms, one after the other {sum(stages.values()):.0f} ms")
    print(f"{binds.split(':')[0]} binds")
    print("\n".join(f"{f['code']}: {f['text']}" for f in gathered.findings if f["code"] == "memory"))


if __name__ == "__main__":
    main()
