"""What hopcast and its peers are asked: a schedule, a cluster and a size, as objects and as a command."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import hopcast as hc
from hopcast.clusters import cluster
from hopcast.ir import files
from hopcast.ir.algebra import relabel
from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule

LINKS = "bandwidth=45GB/s,latency=1us"
SIZE = float(2**30)


@dataclass(frozen=True)
class Case:
    """One question.

    Attributes:
        collective: Its name.
        where: The cluster's name.
        algorithm: That is named.
        shuffled: A ring of all chips in random order, laid on the cluster.
    """

    collective: str
    where: str
    algorithm: str
    shuffled: bool = False

    @property
    def name(self) -> str:
        """For people."""
        on = self.where.split(",")[0]
        how = f"{self.algorithm} in random order" if self.shuffled else self.algorithm
        return f"{self.collective} {on} {how}"

    @cached_property
    def cluster(self) -> Cluster:
        """Where."""
        return cluster(self.where)

    @cached_property
    def schedule(self) -> Schedule:
        """What is run."""
        if not self.shuffled:
            return hc.build(self.collective, self.where, algorithm=self.algorithm, size=SIZE)
        chips = self.cluster.topology.chips
        ring = hc.build(self.collective, f"ring:{chips},{LINKS}", algorithm="ring", size=SIZE)
        return relabel(ring, np.random.default_rng(1).permutation(chips).astype(np.int32))

    @property
    def sends(self) -> int:
        """Sends in all."""
        return sum(len(rows) for rows in self.schedule.steps())

    def words(self, folder: Path) -> list[str]:
        """The question as `hopcast predict` takes it; a schedule that no algorithm makes is written first."""
        if not self.shuffled:
            what = [self.collective, self.where, "--algorithm", self.algorithm]
        else:
            files.save(self.schedule, folder / "plan.npz")
            what = [str(folder / "plan.npz"), self.where]
        return ["predict", *what, "--size", f"{SIZE:.0f}", "--price", "flows", "--format", "json"]


def ring(ranks: int, collective: str = "all_reduce") -> Case:
    """Round a ring of chips."""
    return Case(collective, f"ring:{ranks},{LINKS}", "direct" if collective == "all_to_all" else "ring")


def shuffled(side: int) -> Case:
    """A ring in random order on a square torus: flows of many hops that share links."""
    return Case("all_reduce", f"torus:{side}x{side},{LINKS}", "ring", True)


TABLE = [
    ring(64),
    ring(256),
    ring(1024),
    ring(1024, "all_gather"),
    Case("all_reduce", f"torus:8x8x8,{LINKS}", "sequential_rings"),
    Case("all_reduce", "dgx-h100:32", "hierarchical"),
    ring(16, "all_to_all"),
    ring(64, "all_to_all"),
    shuffled(4),
    shuffled(8),
]
LONG = [ring(4096, "all_gather"), ring(4096)]
CURVES = {
    "all_reduce, ring": [ring(n) for n in (16, 64, 256, 1024, 4096)],
    "all_to_all, ring": [ring(n, "all_to_all") for n in (16, 64, 256, 1024, 4096)],
    "all_reduce, ring in random order on a torus": [shuffled(n) for n in (4, 8, 16)],
}
