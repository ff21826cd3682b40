"""Move 8 MiB between two corners of a v5e 4x4 slice: over one route, over both, and what the hops add."""

import hopcast as hc

SIZE = "bf16[2048,2048]"


def main() -> None:
    """Print the routes, and the time over one of them and over both."""
    both = hc.route("v5e:4x4", "3,3", "0,0", size=SIZE)
    row = both.rows[0]
    print(both)
    print()
    rate = row["size_bytes"] / row["bandwidth_us"] / 1e3 / row["disjoint_routes"]
    alone = row["size_bytes"] / rate / 1e3 + row["latency_us"]
    print(f"over one route it would take {alone:.1f} us, over both it takes {row['time_us']:.1f} us,")
    print(f"of which {row['hops']} hops are {row['latency_us']:.0f} us")


if __name__ == "__main__":
    main()
