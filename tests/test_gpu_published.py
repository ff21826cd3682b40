"""The GPU half against published and exactly known numbers, by the command line as a user types it.

Sources: Gordic 2026, https://www.aleksagordic.com/blog/collective-operations, parts 5 to 7; Scaling Book,
https://jax-ml.github.io/scaling-book/gpus; NVIDIA DGX SuperPOD reference architectures (H100, B200).
"""

import importlib
import shlex

import numpy as np
import pytest
from cli import row, rows, run

GIB = 2**30
GPU, NODE = 450e9, 400e9  # bytes/s one way that leave an H100 and a node of eight


def time(command: str) -> float:
    """Microseconds of `hopcast predict COMMAND`."""
    return float(row("predict", *shlex.split(command))["time_us"])


def first(command: str) -> dict:
    return row(*shlex.split(command))


@pytest.mark.parametrize(
    ("command", "terabytes"),
    [
        ("dgx-h100 --split 4/4 --by chips", 1.8),
        ("dgx-h100:32 --split 16/16", 6.4),
        ("dgx-h100:128 --split 64/64", 25.6),
        ("dgx-h100:128 --split 88/40", 16.0),
    ],
)
def test_cuts_are_as_the_article_says_doubled_both_ways(command: str, terabytes: float) -> None:
    cut = first(f"bisect {command}")
    assert cut["one_way_GBps"] == pytest.approx(terabytes * 1e3, rel=1e-12)
    assert cut["both_ways_GBps"] == pytest.approx(2 * terabytes * 1e3, rel=1e-12)


def test_a_split_inside_one_node_of_a_pod_counts_nvlink_only_and_says_so() -> None:
    ran = run("bisect", "dgx-h100:32", "--split", "4/4", "--by", "chips")
    assert ran.status == 0
    assert "1.8 TB/s" in ran.out or "1,800" in ran.out or "1800" in ran.out
    assert "NVLink" in ran.out


@pytest.mark.parametrize(
    ("cluster", "leaves", "spines", "cores", "cables"),
    [
        ("dgx-h100:31", 8, 4, 0, 256),
        ("dgx-h100:63", 16, 8, 0, 512),
        ("dgx-h100:95", 24, 16, 0, 768),
        ("dgx-h100:127", 32, 16, 0, 1024),
        ("hgx-b200:64", 16, 8, 0, 512),
        ("hgx-b200:128", 32, 16, 0, 1024),
        ("hgx-b200:256", 64, 32, 0, 2048),
        ("hgx-b200:512", 128, 128, 64, 4096),
        ("hgx-b200:1024", 256, 256, 128, 8192),
        ("hgx-b200:2048", 512, 512, 256, 16384),
    ],
)
def test_switches_and_cables_are_those_of_nvidias_tables(
    cluster: str, leaves: int, spines: int, cores: int, cables: int
) -> None:
    have = first(f"show {cluster}")
    assert (have["leaf_switches"], have["spine_switches"]) == (leaves, spines)
    assert have.get("core_switches") == (cores or None)
    assert have["leaf_spine_cables"] == cables


def test_the_levels_of_the_pod_are_the_books() -> None:
    level = {v["name"]: v["collective_GBps"] for v in first("show dgx-h100:128")["levels"]}
    assert [level[k] for k in ("node", "leaf", "spine")] == pytest.approx([514.3, 412.9, 17_067], rel=1e-3)


@pytest.mark.parametrize(("algorithm", "milliseconds"), [("ring", 1.04392), ("nvls", 1.1930)])
def test_all_gather_in_a_node(algorithm: str, milliseconds: float) -> None:
    found = time(f'all_gather dgx-h100,latency=0 --size "bf16[4096,65536]" --algorithm {algorithm}')
    assert found == pytest.approx(milliseconds * 1e3, rel=1e-4)


@pytest.mark.parametrize("nodes", [32, 128])
def test_no_all_gather_over_nodes_is_faster_than_their_nics(nodes: int) -> None:
    found = first(f"predict all_gather dgx-h100:{nodes},latency=0 --size 1GiB --price steps")
    assert found["bound_us"] == pytest.approx(GIB * (nodes - 1) / nodes / NODE * 1e6, rel=1e-12)
    assert found["time_us"] >= found["bound_us"]


def test_sums_in_the_switch_take_nine_eighths_and_a_ring_fourteen() -> None:
    by = {
        a: first(f"predict all_reduce dgx-h100,latency=0 --size 1GiB --algorithm {a}")
        for a in ("nvls", "ring")
    }
    unit = GIB / GPU * 1e6
    assert by["nvls"]["time_us"] == pytest.approx(1.125 * unit, rel=1e-3)
    assert by["ring"]["time_us"] / by["nvls"]["time_us"] == pytest.approx(1.5556, rel=1e-3)
    assert by["ring"]["time_us"] / by["nvls"]["bound_us"] == pytest.approx(1.75, rel=1e-9)
    assert by["nvls"]["bound_us"] == by["ring"]["limit_us"]


def test_hierarchical_all_reduce_level_after_level_and_overlapped() -> None:
    command = (
        "all_reduce dgx-h100:32,sharp=off,nvlink_latency=1us,nic_latency=2us --size 1GiB "
        "--algorithm hierarchical,pipeline={}"
    )
    off = time(command.format("off") + " --price flows")
    assert off == pytest.approx(9514.60, abs=0.01)
    assert time(command.format("off")) == pytest.approx(off, rel=1e-9)
    assert 5200.94 <= time(command.format("on")) < off


def test_all_to_all_in_a_node_and_over_two() -> None:
    one, two = (time(f"all_to_all {c},latency=0 --size 1GiB") for c in ("dgx-h100", "dgx-h100:2"))
    assert one == pytest.approx(7 * GIB / 64 / GPU * 1e6, rel=1e-9)
    assert two / one == pytest.approx(18 / 7, rel=1e-9)  # 2.571
    each = [time(f"all_to_all {c},latency=0 --size 1GiB --per-rank") for c in ("dgx-h100", "dgx-h100:2")]
    assert each[1] / each[0] == pytest.approx(36 / 7, rel=1e-9)  # 5.143


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "times"), [("pxn", 1.512), ("direct", 1.939)])
def test_two_to_one_oversubscription_of_a_pod(algorithm: str, times: float) -> None:
    full, half = (
        time(f"all_to_all dgx-h100:128,latency=0{o} --size 1GiB --algorithm {algorithm}")
        for o in ("", ",oversubscription=2")
    )
    assert half / full == pytest.approx(times, rel=1e-3)


@pytest.mark.parametrize(
    "cluster",
    [
        "dgx-h100:8,latency=0,oversubscription=2",
        pytest.param("dgx-h100:32,latency=0", marks=pytest.mark.slow),
    ],
)
def test_hashed_routes_are_never_faster_than_even_ones(cluster: str) -> None:
    command = f"all_to_all {cluster}{{}} --size 1GiB --algorithm direct"
    ideal = time(command.format(""))
    hashed = [time(command.format(f",routing=ecmp,seed={seed}")) for seed in range(1, 21)]
    assert len(set(hashed)) > 5
    assert min(hashed) >= ideal * (1 - 1e-9)
    assert max(hashed) > 1.02 * ideal


@pytest.mark.parametrize(
    ("sharded", "network", "inside"), [(8, 5326.8, 0), (32, 1300.2, 0), (256, 125.8, 0), (1, 5326.8, 4175.7)]
)
def test_all_reduce_of_an_array_sharded_over_an_inner_axis(
    sharded: int, network: float, inside: float
) -> None:
    """Over 1,024 GPUs: every group at once, by rings along the rails, and inside nodes where Y is 1."""
    where = "all_reduce dgx-h100:128,latency=0,sharp=off --price steps"
    if sharded == 1:
        found = time(f"{where} --size 1GiB --algorithm hierarchical,pipeline=off")
    else:
        mesh = f"dp={1024 // sharded},tp={sharded}"
        found = time(f"{where} --size {GIB // sharded} --mesh {mesh} --over dp --algorithm ring")
    assert found == pytest.approx(network + inside, rel=5e-4)


def test_a_token_of_eight_of_256_experts_goes_to_a_tenth_of_a_rack() -> None:
    ran = run(
        *shlex.split("predict all_to_all_v gb200-nvl72 --moe tokens=512,hidden=7168,experts=256,top=8,seed=1")
    )
    assert ran.status == 0, ran.err
    assert "7.716 expected" in ran.out
    assert "times the mean" in ran.out


@pytest.mark.parametrize(
    ("collective", "algorithm", "cluster"),
    [
        ("all_reduce", "hierarchical", "dgx-h100:128"),
        ("all_reduce", "sharp", "dgx-h100:128"),
        ("all_reduce", "double_tree", "dgx-h100:128"),
        ("all_gather", "hierarchical", "dgx-h100:128"),
        ("all_to_all", "pxn", "dgx-h100:8"),
        ("all_reduce", "nvls", "gb200-nvl72"),
    ],
)
def test_what_machines_run_is_right(collective: str, algorithm: str, cluster: str) -> None:
    assert first(f"check {collective} {cluster} --algorithm {algorithm}")["valid"] is True


@pytest.mark.parametrize(
    ("command", "algorithm"),
    [
        ("all_reduce dgx-h100", "nvls"),
        ("all_reduce dgx-h100,nvls=off", "ring"),
        ("all_reduce dgx-a100", "ring"),
        ("all_reduce gb200-nvl72", "nvls"),
        ("all_gather dgx-h100", "ring"),
        ("reduce_scatter dgx-h100", "ring"),
        ("all_to_all dgx-h100", "direct"),
        ("all_to_all dgx-h100:4", "pxn"),
        ("all_gather dgx-h100:4", "ring,channels=8"),
        ("all_reduce dgx-h100:4", "double_tree,channels=8,inside=nvls"),
        ("all_reduce dgx-h100:2", "double_tree,channels=8,inside=nvls"),
        ("all_reduce dgx-a100:2", "ring,channels=8"),
        ("all_reduce gb200-nvl72:4", "hierarchical"),
        ("all_reduce dgx-h100:4 --over gpu", "nvls"),
        ("all_reduce dgx-h100:4 --over node", "ring"),
    ],
)
def test_auto_is_what_nccl_would_run(command: str, algorithm: str) -> None:
    found = first(f"predict {command} --size 64MiB")
    assert (found["algorithm"], found["algorithm_source"]) == (algorithm, "library")


@pytest.mark.parametrize("command", ["broadcast dgx-h100", "all_reduce dgx1-v100", "all_gather mi300x"])
def test_where_nccls_choice_is_not_known_auto_is_the_best(command: str) -> None:
    assert first(f"predict {command} --size 1MiB")["algorithm_source"] == "best"


FASTER = ["pxn", "oversubscription", "nvls_off", "one_nic"]


@pytest.mark.parametrize("name", FASTER)
def test_what_a_finding_about_a_pod_says_to_try_is_faster(name: str) -> None:
    command = importlib.import_module(f"hopcast.findings.{name}").APPEARS
    asked = first(command)
    better = next(f["try"] for f in asked["findings"] if f["code"] == name).removeprefix("hopcast ")
    assert first(better)["time_us"] < asked["time_us"]


def test_busbw_of_two_nodes_is_twice_what_their_nics_carry() -> None:
    """A node sends D, and busbw counts 2 x 15 / 16 of it."""
    found = first("predict all_reduce dgx-h100:2,latency=0 --size 1GiB")
    text = next(f["text"] for f in found["findings"] if f["code"] == "two_node_tree")
    assert "a node sends 1 D" in text
    assert "busbw counts 1.875 D" in text
    assert f"is {found['busbw_GBps'] / 1.875:.4g} GB/s of the 400 GB/s" in text


def test_what_sharp_gives_in_practice_stands_beside_what_it_could() -> None:
    found = first("predict all_reduce dgx-h100,latency=0 --size 1GiB")
    text = next(f["text"] for f in found["findings"] if f["code"] == "sharp_practice")
    ring = time("all_reduce dgx-h100,latency=0 --size 1GiB --algorithm ring")
    assert "1.75 times" in text
    assert "about 1.3 times" in text
    assert f"{ring / found['time_us']:.3g} times as fast" in text
    real = ring / (366 / 450) / 1.3  # H100: rings reach 366 GB/s of 450; measured 4.03 ms with NVLS
    assert f"{real / 1e3:.4g} ms here" in text
    assert real == pytest.approx(4030, rel=0.03)


def test_two_collectives_on_the_same_links_take_twice_as_long() -> None:
    both = rows(
        *shlex.split('predict all_gather dgx-h100,latency=0 --size 1GiB --with "all_gather:1GiB by ring"')
    )
    assert [r["time_us"] / r["alone_us"] for r in both] == pytest.approx([2, 2], rel=1e-9)
    assert both[0]["busbw_GBps"] == pytest.approx(225, rel=1e-9)


def test_two_collectives_on_different_links_do_not_meet() -> None:
    both = rows(
        *shlex.split(
            'predict all_reduce dgx-h100:4 --size 64MiB --over node --with "all_gather:1GiB over gpu"'
        )
    )
    assert [r["time_us"] for r in both] == pytest.approx([r["alone_us"] for r in both], rel=1e-9)
    assert [(r["over"], r["groups"]) for r in both] == [("node", 8), ("gpu", 4)]


def test_two_collectives_apart_are_not_simulated_at_once() -> None:
    """A million sends of which no two meet: beside each other they would be followed window by window."""
    asked = 'predict all_gather torus:8x16x16 --size 1GiB --over x --with "all_to_all:1GiB over y,z"'
    both = rows(*shlex.split(asked))
    assert [r["time_us"] for r in both] == [r["alone_us"] for r in both]


def test_what_ends_first_leaves_its_bandwidth_to_the_other() -> None:
    """Half as many bytes: both at half rate until the small one ends, then the other alone."""
    small, large = rows(
        *shlex.split(
            'predict all_to_all dgx-h100,latency=0 --size 512MiB --with "all_to_all:1GiB by direct" '
            "--algorithm direct"
        )
    )
    assert small["time_us"] == pytest.approx(2 * small["alone_us"], rel=1e-9)
    assert large["time_us"] == pytest.approx(small["alone_us"] + large["alone_us"], rel=1e-9)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("'all_gather 1GiB'", "write a collective and its size, as in 'all_gather:1GiB over gpu'"),
        ("'all_gather:1GiB over rack'", "there is: node, gpu"),
        ("'gather_all:1GiB'", "no collective 'gather_all'"),
        ("'all_gather:much'", "'much' is not a size"),
        ("'all_gather:1GiB by all'", "one algorithm"),
        ("'all_gather:1GiB' --price formula", "leave off"),
        ("'all_gather:1GiB' --algorithm all", "leave off"),
    ],
)
def test_a_second_collective_that_cannot_be_is_refused(words: str, says: str) -> None:
    ran = run(*shlex.split(f"predict all_gather dgx-h100:2 --size 1MiB --with {words}"))
    assert (ran.status, ran.err.strip().count("\n")) == (2, 0)
    assert says in ran.err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("bisect dgx-h100:128 --split 88/41", "add up to the 128 nodes"),
        ("bisect dgx-h100 --split 4/5 --by chips", "add up to the 8 chips"),
        ("show dgx-h100:2,nics=9", "from 1 to 8"),
        ("show dgx-h100:2,nics=3", "a divisor of 8"),
        ("show dgx-h100:2,oversubscription=0", "from 1 (none)"),
        ("show dgx-h100:2,oversubscription=nan", "from 1 (none)"),
        ("show dgx-a100:2,nvls=on", "has no NVLS"),
        ("predict all_reduce dgx-a100 --size 1MiB --algorithm nvls", "does not reduce"),
        ("predict all_reduce dgx-h100:2 --size 1MiB --algorithm nvls", "on several switches"),
        ("predict all_to_all_v dgx-h100 --size 1MiB", "--matrix FILE or --moe"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(command: str, says: str) -> None:
    ran = run(*shlex.split(command))
    assert ran.status == 2
    assert says in ran.err
    assert ran.err.strip().count("\n") == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m[:, :7], "square"),
        (lambda m: np.where(np.eye(8) > 0, -m, m), "negative"),
        (lambda m: np.where(np.eye(8) > 0, np.nan, m), "no number"),
        (lambda m: m[:4, :4], "8"),
        (lambda m: m * 0, "all zero"),
    ],
    ids=["not square", "negative", "nan", "of four ranks", "of zeros"],
)
def test_a_matrix_that_is_none_is_refused(change, says: str, tmp_path) -> None:
    file = tmp_path / "m.csv"
    np.savetxt(file, change(np.ones((8, 8))), delimiter=",")
    ran = run("predict", "all_to_all_v", "dgx-h100", "--matrix", str(file))
    assert ran.status == 2
    assert says in ran.err.removeprefix(f"hopcast: error: {file}")
    assert ran.err.strip().count("\n") == 0


def test_a_tree_over_one_rank_is_refused() -> None:
    ran = run(*shlex.split("predict all_reduce dgx-h100,gpus=1 --size 1MiB --algorithm tree --format json"))
    assert ran.status == 2
    assert "2 ranks or more" in ran.err


# 4 H100, 33,554,432 bytes of doubles: the count column as nccl-tests 2.17.8 prints it.
COUNTS = {
    "all_reduce": 4194304,
    "all_gather": 1048576,
    "reduce_scatter": 1048576,
    "all_to_all": 1048576,
    "permute": 4194304,
}


@pytest.mark.parametrize(("collective", "count"), COUNTS.items())
def test_sweep_counts_elements_as_nccl_tests_does(collective: str, count: int) -> None:
    found = row("sweep", collective, "dgx-h100,gpus=4", "-b", "32M", "-e", "32M", "--datatype", "f64")
    assert (found["size_bytes"], found["count"]) == (33554432, count)


# Of 80 ranks and doubles: a rank's part is rounded down to 16 bytes (nccl-tests 2.17, src/all_gather.cu and
# its neighbours); all_reduce, broadcast, reduce and sendrecv take any number of elements.
ROUNDED = {
    "all_gather": (33553920, 52428),
    "reduce_scatter": (33553920, 52428),
    "all_to_all": (33553920, 52428),
    "gather": (33553920, 52428),
    "scatter": (33553920, 52428),
    "all_reduce": (33554432, 4194304),
    "broadcast": (33554432, 4194304),
    "reduce": (33554432, 4194304),
    "permute": (33554432, 4194304),
}


@pytest.mark.parametrize(("collective", "printed"), ROUNDED.items())
def test_sweep_rounds_sizes_as_nccl_tests_does(collective: str, printed: tuple[int, int]) -> None:
    words = ("sweep", collective, "switch:80", "-b", "33554437", "-e", "33554437", "-d", "f64")
    found = row(*words, "--algorithm", "best", "--price", "steps")
    assert (found["size_bytes"], found["count"]) == printed
    summed = ("all_reduce", "reduce_scatter", "reduce", "permute")
    assert found["redop"] == ("sum" if collective in summed else "none")


@pytest.mark.parametrize("collective", ["all_gather", "all_to_all"])
def test_sizes_below_16_bytes_a_rank_send_nothing(collective: str) -> None:
    found = rows("sweep", collective, "dgx-h100", "-b", "8", "-e", "256")
    assert [(r["size_bytes"], r["count"]) for r in found] == [(0, 0)] * 4 + [(128, 4), (256, 8)]
    assert [r["time_us"] > 0 for r in found] == [False] * 4 + [True] * 2
