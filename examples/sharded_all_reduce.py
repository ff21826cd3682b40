"""Gradients that are sharded over the GPUs of a node are summed over nodes. Does tensor parallelism help?

A weight matrix is cut over Y GPUs (tensor parallelism), and its gradients are summed over X replicas (data
parallelism). With Y = 8 in the node every GPU sums an eighth as much, but over its own NIC alone, and all
eight do so at once: the network between nodes is as long busy as without.
"""

import hopcast as hc

SIZE = 2**30
NODES, POD = "dgx-h100:32,latency=0", "dgx-h100:128,latency=0"


def time_us(size: float, on: str, x: int, y: int, price: str = "flows") -> float:
    """All groups of x replicas at once, each by a ring over its NICs."""
    mesh = f"data={x},model={y}"
    found = hc.predict("all_reduce", on, size=size, mesh=mesh, over="data", algorithm="ring", price=price)
    return found.rows[0]["time_us"]


def main() -> None:
    """Print both, and what happens when the cut goes beyond the node."""
    inside = hc.predict("all_reduce", "dgx-h100,latency=0", size=SIZE).rows[0]
    ring = hc.predict("all_reduce", "dgx-h100,latency=0", size=SIZE, algorithm="ring").rows[0]["time_us"]
    print(f"1 GiB of gradients on {NODES}")
    print("Y = 1: the node sums first, then GPU i of every node sums its eighth with its equals over rail i")
    print(f"  in the node {ring:.1f} us by a ring ({inside['time_us']:.1f} us by {inside['algorithm']})")
    print(f"  over nodes  {time_us(SIZE / 8, NODES, 32, 8):.1f} us")
    print("Y = 8: there is no replica in the node; 8 groups of 32 GPUs sum 128 MiB each, at once")
    print(f"  over nodes  {time_us(SIZE / 8, NODES, 32, 8, 'formula'):.1f} us by formula")
    print(f"  over nodes  {time_us(SIZE / 8, NODES, 32, 8):.1f} us by flows")
    print(f"  each NIC    {2 * SIZE / 8 * 31 / 32 / 2**20:.0f} MiB out at 50 GB/s, in both cases\n")
    print(f"on {POD} of 1,024 GPUs, by flows:")
    print("     Y   replicas   in the node    over nodes")
    for y in (1, 8, 32, 256):
        shards = max(y, 8)  # with less than a node the sum in the node leaves an eighth to each GPU
        network = time_us(SIZE / shards, POD, 1024 // shards, shards)
        print(f"{y:6}{1024 // y:11}{ring if y == 1 else 0.0:11.1f} us{network:11.1f} us")


if __name__ == "__main__":
    main()
