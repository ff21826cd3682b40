"""From chip 15,15 of a v5e pod to chip 2,15: three hops over the wrap-around, thirteen without it."""

import hopcast as hc


def main() -> None:
    """Print the route, and that of a mesh without wrap-arounds."""
    pod = hc.route("v5e:16x16", "15,15", "2,15", size="1KiB")
    print(pod)
    print()
    mesh = hc.route("mesh:16x16,bandwidth=45GB/s,latency=1us", "15,15", "2,15", size="1KiB").rows[0]
    print(f"without wrap-arounds: {mesh['hops']} hops, {mesh['latency_us']:.0f} us")


if __name__ == "__main__":
    main()
