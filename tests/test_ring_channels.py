"""Rings through all nodes, one for each NIC: what NCCL's rings are."""

import numpy as np
import pytest
from cli import row

from hopcast import algorithms, interpret
from hopcast.clusters import cluster
from hopcast.ir import orbits
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.ir.schedule import Schedule

RING = algorithms.get("ring")
MACHINES = [
    "dgx-h100:2",
    "dgx-h100:3",
    "dgx-a100:5",
    "dgx-h100:4,gpus=4",
    "dgx-h100:3,nics=4",
    "gb200-nvl72:2",
]
COLLECTIVES = ["all_gather", "reduce_scatter", "all_reduce"]


def build(machine: str, collective: str, channels: int) -> Schedule:
    where = cluster(machine)
    made = group(where, physical(where.topology), ())
    return RING.build(collective, made, Hint(2**20, options={"channels": str(channels)}))


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("machine", MACHINES[:5])
def test_it_computes_its_collective(machine: str, collective: str, channels: int) -> None:
    interpret.check(build(machine, collective, channels))


@pytest.mark.parametrize("machine", MACHINES)
def test_what_rank_0_does_is_what_its_steps_say(machine: str) -> None:
    made = build(machine, "all_gather", cluster(machine).topology.shape[-1])
    assert made.orbit is not None
    given = made.orbit()
    assert given is not None
    read = orbits.claim(made, given.moves).orbit
    assert read is not None
    for ends in ("out", "into"):
        for column in ("src", "dst", "chunk", "count", "op", "lane"):
            one, other = (getattr(getattr(o, ends), column) for o in (given, read()))
            assert np.array_equal(one, other)


@pytest.mark.parametrize("machine", ["dgx-h100:2", "dgx-h100:3", "dgx-h100:16"])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_one_rank_stands_for_all(machine: str, collective: str) -> None:
    words = ["predict", collective, machine, "--size", "64MiB", "--algorithm", "ring,channels=8"]
    short, full = row(*words), row(*words, "--no-shortcut")
    assert short["time_us"] == pytest.approx(full["time_us"], rel=1e-12)


@pytest.mark.parametrize("nodes", [2, 4, 7])
def test_every_nic_carries_as_much_as_any_other(nodes: int) -> None:
    where = cluster(f"dgx-h100:{nodes}")
    made = build(where.name, "all_gather", 8)
    crossing = np.zeros((nodes * 8, 2))
    for sends in made.steps():
        out = sends.src // 8 != sends.dst // 8
        np.add.at(crossing[:, 0], sends.src[out], sends.count[out])
        np.add.at(crossing[:, 1], sends.dst[out], sends.count[out])
    assert np.all(crossing == crossing[0, 0])


# 8 B200 and 8 x 400 Gb/s per node, 32 GiB, NCCL 2.28.9, microseconds: together-nccl-tests, report of
# 2026-05-12, https://github.com/togethercomputer/together-nccl-tests (all_reduce: Ring)
MEASURED = [
    ("all_reduce", 2, 165867.3),
    ("all_reduce", 8, 173807.1),
    ("all_reduce", 16, 175592.6),
    ("all_reduce", 64, 175945.4),
    ("all_gather", 2, 86723.0),
    ("all_gather", 8, 88863.0),
    ("all_gather", 32, 89310.0),
]


@pytest.mark.parametrize(("collective", "nodes", "measured"), MEASURED)
def test_nccl_reaches_93_to_99_percent_of_it(collective: str, nodes: int, measured: float) -> None:
    ideal = row(
        "predict", collective, f"hgx-b200:{nodes}", "--size", "32GiB", "--algorithm", "ring,channels=8"
    )["time_us"]
    assert 0.92 <= ideal / measured <= 0.995


@pytest.mark.parametrize("channels", ["0", "9"])
def test_a_node_has_so_many_ranks(channels: str) -> None:
    where = cluster("dgx-h100:2")
    made = group(where, physical(where.topology), ())
    reason = RING.valid("all_gather", made, Hint(1.0, options={"channels": channels}))
    assert "1 to 8" in str(reason)


def test_they_need_nodes() -> None:
    for name in ("ring:8", "switch:8", "v5e:4x4"):
        where = cluster(name)
        made = group(where, physical(where.topology), ())
        assert "nodes" in str(RING.valid("all_gather", made, Hint(1.0, options={"channels": "2"})))
