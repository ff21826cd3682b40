"""45 kB: what one v5e link carries in the microsecond of a hop. Below it latency outweighs the bytes."""

import hopcast as hc

SIZES = ("4kB", "45kB", "500kB", "5MB")


def main() -> None:
    """Print one hop for several sizes, then an all_gather whose shards are below that size."""
    v5e = {row["figure"]: row for row in hc.chip("v5e")}
    hop = v5e["ici.hop_bytes"]
    print(f"{hop['source']} = {hop['value'] / 1e3:.0f} kB")
    print()
    for size in SIZES:
        row = hc.route("chain:2,bandwidth=45GB/s,latency=1us", 0, 1, size=size).rows[0]
        print(f"{size:>6}: latency {row['latency_us']:.2f} us, bytes {row['bandwidth_us']:8.2f} us")
    print()
    print(hc.predict("all_gather", "v5e:16x16", size="128KiB", over="x"))


if __name__ == "__main__":
    main()
