"""Links that differ by far: a right answer or one line why there is none, never below the bound."""

import math
from pathlib import Path

import pytest
from refused import one_line_refusal

import hopcast as hc
from hopcast import algorithms
from hopcast.choose import candidates
from hopcast.clusters import cluster
from hopcast.graph import whole
from hopcast.interpret import check
from hopcast.ir.collective import NAMES
from hopcast.names import InputError
from hopcast.verbs import ask

LAME = 1e-6  # the least part of a bandwidth that --slow takes
EQUAL = [c for c in NAMES if c != "all_to_all_v"]
TRIANGLES = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
# Cables with their rates, chips and switches.
FILES: dict[str, tuple[list[tuple[int, int, str]], int, int]] = {
    "two triangles": ([(a, b, "1TB/s") for a, b in TRIANGLES] + [(0, 3, "1B/s"), (1, 4, "3B/s")], 6, 0),
    "a port": ([(i, 6, "1TB/s") for i in range(5)] + [(5, 6, "1B/s")], 6, 1),
    "two switches": ([(i, 6 + i // 3, "1TB/s") for i in range(6)] + [(6, 7, "2B/s")], 6, 2),
    "beyond": ([(a, b, "1TB/s") for a, b in TRIANGLES] + [(0, 3, "0.1B/s"), (1, 4, "3B/s")], 6, 0),
}
NAMED = [
    ("mesh:2x5,latency=0", ["1,1:1,2", "1,1:1,2"]),
    ("torus:3x3", ["1,1>1,2", "1,1>1,2"]),
    ("ring:5,latency=1s", ["1:2", "2:1", "3:4"]),
    ("mesh:2x1x3,duplex=half", ["0,0,0:1,0,0"]),
    ("switch:7,latency=0", ["3:switch 0", "switch 0>3"]),
    ("dgx-h100:2,latency=0,gpus=2", ["1,1:rail 1 leaf"]),
    ("dgx1-v100:1", ["0:1", "0:1", "2>3"]),
    ("mi300x:2,gpus=2,latency=0", ["0,0:0,1", "rail 0 leaf:1,0"]),
    ("v5e:2x2,slices=2", ["0/0,0:0/0,1"]),
]


def written(name: str, folder: Path) -> str:
    """The file of a network whose hops take no time."""
    cables, chips, switches = FILES[name]
    rows = ",\n".join(f'{{ src = {a}, dst = {b}, bandwidth = "{rate}" }}' for a, b, rate in cables)
    path = folder / "net.toml"
    path.write_text(f"chips = {chips}\nswitches = {switches}\nlatency = 0\nlinks = [\n{rows}\n]\n", "utf-8")
    return str(path)


def is_sane(row: dict[str, object]) -> bool:
    """Whether every figure is a number, and time is no less than the bound, nor this than the limit."""
    figures = [v for v in row.values() if isinstance(v, float)]
    low, bound, time = (float(str(row[k])) for k in ("limit_us", "bound_us", "time_us"))
    near = 1 - 1e-9
    return all(map(math.isfinite, figures)) and 0 < low * near <= bound and bound * near <= time


def all_answers(where: str, slow: list[str], collective: str, size: float) -> list[dict[str, object]]:
    """A row for each algorithm that is tried unasked."""
    return list(hc.predict(collective, where, size=size, algorithm="all", slow=slow).rows)


@pytest.mark.parametrize("collective", EQUAL)
@pytest.mark.parametrize(("where", "cables"), NAMED, ids=[where for where, _ in NAMED])
def test_every_algorithm_answers_where_cables_are_lame(where, cables, collective):
    rows = all_answers(where, [f"{cable}={LAME}" for cable in cables], collective, 2**30)
    assert rows
    assert all(map(is_sane, rows)), [r for r in rows if not is_sane(r)]


@pytest.mark.parametrize("size", [1, 10**18])
@pytest.mark.parametrize("collective", EQUAL)
def test_every_algorithm_answers_for_a_byte_and_an_exabyte(collective, size):
    rows = all_answers("ring:5,latency=1s", ["1:2=1e-6"], collective, size)
    assert rows
    assert all(map(is_sane, rows)), [r for r in rows if not is_sane(r)]


@pytest.mark.parametrize("collective", EQUAL)
@pytest.mark.parametrize("name", FILES)
def test_every_algorithm_answers_on_rates_from_a_byte_to_a_terabyte(name, collective, tmp_path):
    rows = all_answers(written(name, tmp_path), [], collective, 2**30)
    assert rows
    assert all(map(is_sane, rows)), [r for r in rows if not is_sane(r)]


@pytest.mark.parametrize("collective", EQUAL)
@pytest.mark.parametrize(("where", "cables"), NAMED[:3], ids=[where for where, _ in NAMED[:3]])
def test_what_is_built_for_lame_cables_computes_its_collective(where, cables, collective):
    q, _ = ask.question(collective, where, size=2**20, slow=[f"{cable}={LAME}" for cable in cables])
    tried = candidates(q)
    assert tried
    for choice in tried:
        check(algorithms.get(choice.algorithm.name).build(collective, q.group, q.hint))


@pytest.mark.parametrize("name", [name for name in FILES if name != "beyond"])
@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "broadcast", "reduce"])
def test_trees_share_out_the_slowest_links_as_their_rates_are(name, collective, tmp_path):
    """One byte/s and three: in units of a millionth of the fastest both were 0."""
    rows = hc.predict(collective, written(name, tmp_path), size="1GiB", algorithm="forest").rows
    assert rows[0]["efficiency"] >= 0.99


def test_trees_refuse_rates_beyond_all_units_and_say_so(tmp_path):
    with pytest.raises(InputError, match="a million million times") as refused:
        hc.predict("all_gather", written("beyond", tmp_path), size="1GiB", algorithm="forest")
    assert "\n" not in str(refused.value)
    one_line_refusal("predict", "all_gather", written("beyond", tmp_path), "--size", "1GiB", "--algorithm",
                     "forest")  # fmt: skip


SPARED = ("mesh:6x6,latency=0", "2,2:2,3"), ("torus:6x6", "2,2:2,3"), ("dgx-h100:5", "3,3:rail 3 leaf")


@pytest.mark.parametrize(("where", "cable"), SPARED)
def test_a_cable_that_is_all_but_dead_costs_no_more_than_a_dead_one(where, cable):
    """Each piece over it took a million times as long as all others."""
    lame, dead = (
        hc.predict("all_gather", where, size="1GiB", algorithm="forest", **{key: [cable + value]}).rows[0]
        for key, value in (("slow", f"={LAME}"), ("dead", ""))
    )
    assert lame["time_us"] <= 1.02 * dead["time_us"]
    assert lame["efficiency"] >= 0.95


@pytest.mark.parametrize("fast", [3.0, 45e9, 1e12, 2.0**61])
@pytest.mark.parametrize("ratio", [1.0, 3.7, 1e3, 1e6, 1e9, 1e12])
def test_units_lose_a_thousandth_of_no_rate(fast, ratio):
    rate = cluster("mesh:2x2").topology.bandwidth[:3] * 0 + [fast, fast / ratio, fast / 3]
    counts, unit = whole.below(rate)
    assert (counts * float(unit) <= rate * (1 + 1e-15)).all()
    assert (counts * float(unit) >= rate * (1 - 1e-3)).all() or ratio > 2.0**30
    assert counts.min() > 0


def test_one_rank_is_simulated_with_jitter_in_no_time():
    made = hc.simulate("all_gather", "dgx-h100:1,gpus=1,latency=0", size="1KiB", jitter="1%", samples=2)
    assert made.inputs["time_us"] == 0
