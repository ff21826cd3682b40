"""Other simulators on the same schedules give the same times: SimGrid everywhere, simpy where no sends meet.

Sources: [SimGrid] Casanova et al. 2014, doi:10.1016/j.jpdc.2014.06.008: flows share links max-min fairly
(model CM02). [loads] link loads counted by hand.
"""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from grids import build, cluster, group

import hopcast as hc
from hopcast import algorithms
from hopcast.atlas.figures.scaling import chart, recorded
from hopcast.clusters import cluster as named
from hopcast.ir.algebra import relabel
from hopcast.ir.group import Hint
from hopcast.names import InputError
from hopcast.simulate import flows

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import machine  # noqa: E402
from peers import cases, compare, export, simgrid  # noqa: E402
from process import measure  # noqa: E402

LINKS = "bandwidth=45GB/s,latency=1us"
MIB = 2**20
SAME = 1e-6
# So many bytes that a part of them in whole bytes, as SimGrid counts, is the same part to 1e-9.
SIZE, W, HOP = 2.0**44, 45e12, 5e-3
GRIDS = ["5w", "8w", "3x4", "3wx4", "4wx4w", "2x4", "switch:8", "fat:3x2"]
SLOW = ["5w", "3x4", "switch:8"]  # with one link at half speed as well


def need(missing: str) -> None:
    """Skip the test with the reason; in CI, where all of it is installed, fail."""
    if missing and os.environ.get("CI"):
        pytest.fail(f"tests of peers run in CI: {missing}")
    if missing:
        pytest.skip(f"peers: {missing}")


@cache
def lacking() -> str:
    return simgrid.missing()


def by_simgrid(made, where, size, folder, *words, rounds=None):
    """Seconds."""
    need(lacking())
    file = folder / "schedule.txt"
    file.write_text(export.text(made, where, size, rounds), encoding="ascii")
    return simgrid.seconds(file, *words)


def slower(where, link, part):
    """The same cluster with one link that is slower, one way."""
    t = where.topology
    speeds = t.bandwidth.copy()
    speeds[link] *= part
    return replace(where, topology=t.with_links(speeds))


def in_random_order(side, collective="all_reduce", seed=1):
    """A ring whose ranks are spread over a torus, and the torus."""
    n = side * side
    made = hc.build(collective, f"ring:{n},{LINKS}", algorithm="ring")
    order = np.random.default_rng(seed).permutation(n).astype(np.int32)
    return relabel(made, order), named(f"torus:{side}x{side},{LINKS}")


# collective, cluster, algorithm, size, microseconds
PUBLISHED = [
    ("all_to_all", f"ring:16,{LINKS}", "direct", 16 * MIB, 47.6034),  # [loads] ties split
    ("all_to_all", f"ring:16,{LINKS},antipodal=forward", "direct", 16 * MIB, 53.4288),  # [SimGrid]
    ("all_reduce", f"ring:16,{LINKS}", "ring", MIB, 73.6907),  # 30 steps of 1 us + 64 KiB
    ("all_reduce", f"ring:64,{LINKS}", "ring", MIB, 171.8752),
    ("all_reduce", "dgx-h100:32", "hierarchical,pipeline=off", 1024 * MIB, 9514.5996),  # 7, 62, 7 steps
]


@pytest.mark.parametrize(("collective", "text", "algorithm", "size", "us"), PUBLISHED)
def test_simgrid_and_hopcast_give_the_published_time(collective, text, algorithm, size, us, tmp_path):
    where = named(text)
    made = hc.build(collective, text, algorithm=algorithm)
    ours = flows.simulate(made, where, size, detail=False).seconds
    assert ours * 1e6 == pytest.approx(us, abs=1e-4)
    assert by_simgrid(made, where, size, tmp_path) == pytest.approx(ours, rel=SAME)


def everything(grid):
    """All schedules of all algorithms that fit a grid."""
    where = cluster(grid, W, HOP)
    for name in algorithms.names():
        one = algorithms.get(name)
        for collective in one.collectives:
            if one.valid(collective, group(where), Hint()) is None:
                yield f"{collective} {name}", build(collective, name, where)


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS)
def test_every_algorithm_takes_the_time_that_simgrid_says(grid, tmp_path):
    where, seen = cluster(grid, W, HOP), set()
    slow = slower(where, where.topology.links // 2, 0.5)
    for name, made in everything(grid):
        text = export.text(made, where, SIZE)
        if text in seen:  # by another name
            continue
        seen.add(text)
        for spot in (where, slow)[: 1 + (grid in SLOW)]:
            ours = flows.simulate(made, spot, SIZE).seconds
            theirs = by_simgrid(made, spot, SIZE, tmp_path)
            assert theirs == pytest.approx(ours, rel=SAME), (name, spot is slow)
    assert len(seen) > 10


@pytest.mark.parametrize("size", [64 * 1024, 64 * MIB])
def test_flows_of_many_hops_that_share_links_take_the_time_that_simgrid_says(size, tmp_path):
    made, where = in_random_order(4)
    ours = flows.simulate(made, where, size).seconds
    assert by_simgrid(made, where, size, tmp_path) == pytest.approx(ours, rel=SAME)
    made, where = in_random_order(8)
    # Small differences grow from step to step: all 126 steps are beyond what floating point can say.
    made = replace(made, step_count=24)
    ours = flows.simulate(made, where, size).seconds
    assert by_simgrid(made, where, size, tmp_path) == pytest.approx(ours, rel=SAME)


@pytest.mark.parametrize("size", [64 * MIB, 1024 * MIB])
@pytest.mark.parametrize("seed", [2, 3])
def test_a_whole_all_gather_of_large_parts_in_random_order_takes_the_time_that_simgrid_says(
    seed, size, tmp_path
):
    made, where = in_random_order(8, "all_gather", seed)
    ours = flows.simulate(made, where, size).seconds
    assert by_simgrid(made, where, size, tmp_path) == pytest.approx(ours, rel=SAME)


def test_simgrid_left_to_itself_gives_flows_over_fewer_links_more(tmp_path):
    made, where = in_random_order(4)
    ours = flows.simulate(made, where, 64 * MIB).seconds
    own = by_simgrid(made, where, 64 * MIB, tmp_path, "--latency=links")
    assert own != pytest.approx(ours, rel=1e-2)


ROUNDS = [
    ("all_reduce", "ring:8", "ring"),
    ("all_gather", "ring:5", "ring"),
    ("all_reduce", "torus:4x4", "sequential_rings"),
]


@pytest.mark.parametrize(("collective", "text", "algorithm"), ROUNDS)
def test_round_by_round_is_the_same_as_cell_by_cell_in_rings(collective, text, algorithm, tmp_path):
    where, made = named(text), hc.build(collective, text, algorithm=algorithm)
    size = made.ranks * 1e6
    short, long = (export.text(made, where, size, r) for r in (True, False))
    assert len(short) < len(long)
    times = [by_simgrid(made, where, size, tmp_path, rounds=r) for r in (True, False)]
    assert times[0] == pytest.approx(times[1], rel=1e-12)


def test_a_rank_that_rests_is_not_exported_round_by_round():
    where = named(f"ring:8,{LINKS}")
    made = hc.build("broadcast", where, algorithm="binomial")
    with pytest.raises(InputError, match=r"rank \d+ rests"):
        export.text(made, where, MIB, rounds=True)


# A chain of three: the ends send 0 and 2 to the middle, which sends 1 to both and then passes on the others
# when they are there and its own have arrived. Links: 0>1, 1>2, 1>0, 2>1; routes: 0>1, 1>0, 1>2, 2>1.
CHAIN = """links 4
45000000000.0
45000000000.0
45000000000.0
45000000000.0
routes 4
1e-06 1 1 0
1e-06 1 1 2
1e-06 1 1 1
1e-06 1 1 3
blocks 2
block 1 4
0 1.0 0 1 1 0
2 1.0 0 1 1 0
1 1.0 0 1 1 1
3 1.0 0 1 1 1
block 1 2
2 1.0 2 0
1 1.0 2 0
"""


def test_a_small_file_in_full():
    where = named(f"chain:3,{LINKS}")
    assert export.text(hc.build("all_gather", where, algorithm="chain"), where, 3.0) == CHAIN


def test_sends_that_wait_for_ever_are_an_error(tmp_path):
    need(lacking())
    file = tmp_path / "stuck.txt"
    file.write_text("links 1 1e9 routes 1 0 1 1 0 blocks 1 block 1 2 0 8 0 0 0 8 1 0", encoding="ascii")
    ran = subprocess.run([*simgrid.command(file)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, "simgrid: 1 sends never started\n")


@pytest.mark.parametrize(("collective", "text", "algorithm", "size", "us"), PUBLISHED[:4])
def test_the_naive_model_gives_the_same_time(collective, text, algorithm, size, us, tmp_path):
    need("" if importlib.util.find_spec("simpy") else "no simpy; pip install simpy")
    made = hc.build(collective, text, algorithm=algorithm)
    file = tmp_path / "schedule.txt"
    file.write_text(export.text(made, named(text), size), encoding="ascii")
    command = [sys.executable, str(ROOT / "benchmarks" / "peers" / "naive.py"), str(file)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    assert json.loads(ran.stdout)["seconds"] * 1e6 == pytest.approx(us, abs=1e-4)


def test_a_process_over_a_limit_is_stopped_and_says_why():
    loop = [sys.executable, "-c", "while True: pass"]
    assert measure(loop, cpu_s=1).stopped == "over 1 s"
    assert measure([sys.executable, "-c", "bytearray(2**32)"], mib=1024).stopped == "over 1 GiB"
    with pytest.raises(RuntimeError, match="no such thing"):
        measure([sys.executable, "-c", "raise SystemExit('no such thing')"])
    used = measure([sys.executable, "-c", "x = bytearray(10**8); print('done')"])
    assert (used.out, used.stopped) == ("done\n", "")
    assert 95 < used.MiB < 200


KEPT = [ROOT / "benchmarks" / "results", ROOT / "src" / "hopcast" / "atlas" / "measured"]
RECORDED = [path for folder in KEPT for path in sorted(folder.glob("*.json"))]


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: p.stem)
def test_recorded_results_agree_and_explain_every_key(path):
    results = json.loads(path.read_text(encoding="utf-8"))
    assert results["about"] == machine.ABOUT
    assert {"date", "machine", "versions", "options"} <= set(results)
    sensitive = {r["work"] for r in results["rows"] if r.get("sensitivity", 0) > SAME}
    for row in results["rows"]:
        assert set(row) <= set(machine.ABOUT)
        assert ("note" in row) != ("cpu_s" in row), row
        if row.get("tool") == "SimGrid" and "note" not in row and row["work"] not in sensitive:
            assert row["difference"] < SAME, row


@pytest.mark.golden
def test_the_chart_is_of_the_recorded_results():
    path = ROOT / "benchmarks" / "results" / "curves.svg"
    drawn = chart(recorded())
    if os.environ.get("HOPCAST_GOLDEN") == "write":
        path.write_text(drawn, encoding="utf-8")
    assert drawn == path.read_text(encoding="utf-8")


def test_who_is_missing_or_was_stopped_is_named_and_larger_cases_are_not_tried(monkeypatch):
    took = {"time_us": 2.0, "cpu_s": 3.0, "wall_s": 3.0, "inside_s": 0.5, "MiB": 40.0}

    def small_ones(case, folder, limits):
        return dict(took) if case.schedule.ranks < 8 else {"note": "over 30 s"}

    tools = [
        compare.Tool("hopcast", "", lambda case, folder, limits: took | {"cpu_s": 1.5, "time_us": 2.5}),
        compare.Tool("one", "", small_ones),
        compare.Tool("other", "no such thing; apt-get install it", small_ones),
    ]
    monkeypatch.setattr(compare, "tools", lambda: tools)
    curve = [cases.ring(n) for n in (4, 8, 16)]
    found = list(compare.rows(curve, "a curve", compare.Limits(), lambda said: None))
    assert [r["tool"] for r in found] == ["hopcast", "one", "other"] * 3
    assert (found[1]["difference"], found[1]["times_cpu_s"]) == (pytest.approx(0.2), 2.0)
    assert found[4]["note"] == "over 30 s"
    assert found[7]["note"] == "not tried: 8 ranks took over 30 s"
    assert {r["note"] for r in found[2::3]} == {"no such thing; apt-get install it"}
