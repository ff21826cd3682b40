"""Ranks in the order of a file."""

import json

import pytest
from cli import run
from refused import one_line_refusal

from hopcast.algorithms import ring
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical

LINKS = "bandwidth=45GB/s,latency=1us"


@pytest.fixture
def order(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "order.txt"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def row(*words: str) -> dict[str, object]:
    ran = run("predict", *words, "--format", "json")
    assert ran.status == 0, ran.err
    found: dict[str, object] = json.loads(ran.out)["rows"][0]
    return found


@pytest.mark.parametrize("algorithm", ["ring", "bidirectional_ring"])
def test_a_ring_listed_as_it_lies_takes_the_time_of_the_axis(order, algorithm):
    asked = ("all_reduce", f"ring:8,{LINKS}", "--size", "8MiB", "--price", "flows", "--algorithm", algorithm)
    listed = row(*asked, "--order", order(" ".join(map(str, range(8)))))
    assert listed["time_us"] == pytest.approx(row(*asked)["time_us"], rel=1e-9)
    assert (listed["over"], listed["ranks"]) == ("rank", 8)


def test_a_ring_that_jumps_over_chips_loads_links_as_often_as_its_routes_cross_them(order):
    """0, 2, 4, 1, 3 on a line of 5: two routes at most cross a link, up 0>2 and 1>3, down 4>1 and 3>0."""
    jumps = row("all_gather", f"mesh:5,{LINKS}", "--size", "5MiB", "--algorithm", "ring",
                "--order", order("0,2,4,1,3"))  # fmt: skip
    assert jumps["max_link_bytes"] == 2 * 4 * 2**20  # in each of 4 steps
    assert jumps["steps"] == 4


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce"])
def test_nobody_knows_what_a_compiler_runs_in_an_order_that_is_none_of_axes(order, collective):
    """It was taken for a chain of all chips, seven times slower than what the torus can."""
    turned = order(" ".join(map(str, reversed(range(64)))))
    got = row(collective, "v5p:4x4x4", "--size", "48MiB", "--order", turned)
    assert got["algorithm_source"] == "best"
    assert got["time_us"] <= 1.05 * row(collective, "v5p:4x4x4", "--size", "48MiB")["time_us"]


def test_axes_of_every_fourth_chip_have_a_fourth_of_the_links():
    """What goes along x first leaves a sixteenth for y, of which four groups share each line."""
    mesh = ("--mesh", "data=64,model=4", "--over", "data", "--order", "x,y", "--algorithm", "best")
    got = row("all_reduce", "v5e:16x16,latency=0", "--size", "1GiB", *mesh)
    x, y = (1 - 1 / 16) / 2, (1 / 16 - 1 / 64) / 2 * 4
    assert got["bound_us"] < got["time_us"] <= 2 * (x + y) * 2**30 / 45e9 * 1e6


WRONG = [
    ("0 1 2", "it has 3 entries"), ("0 1 1 3", "1 is there twice"), ("0 1 2 4", "entry 4 is 4"),
    ("0 1 x 3", "'x' is not a chip number"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "says"), WRONG)
def test_an_order_that_is_none_is_refused_with_the_reason(order, text, says):
    said = one_line_refusal(
        "predict", "all_reduce", f"ring:4,{LINKS}", "--size", "1MiB", "--order", order(text)
    )
    assert says in said


def test_what_an_order_cannot_mean_is_refused(order):
    listed = ("--size", "1MiB", "--order", order("3 1 2 0"))
    assert "one axis, rank" in one_line_refusal("predict", "all_reduce", "mesh:2x2", *listed, "--over", "x")
    assert "no place for 4 chips" in one_line_refusal(
        "predict", "all_reduce", "mesh:2x2", *listed, "--mesh", "data=2,model=3"
    )
    assert "--mesh" in one_line_refusal(
        "predict", "all_reduce", "mesh:2x2", "--size", "1MiB", "--order", "row"
    )


def test_a_line_that_is_one_is_no_ring():
    chain = group(*_line("chain:5"))
    said = ring.valid("all_gather", chain, Hint())
    assert said is not None
    assert "does not wrap" in said


def _line(name: str):
    from hopcast.clusters import cluster

    found = cluster(f"{name},{LINKS}")
    return found, physical(found.topology)


@pytest.mark.parametrize("collective", ["all_gather", "all_reduce"])
def test_a_list_of_all_chips_as_they_are_numbered_costs_next_to_nothing(order, collective):
    """Only what needs lines of a grid is lost; searches know the links and their rate."""
    asked = (collective, "mesh:4x4", "--size", "64MiB", "--algorithm", "best")
    plain, listed = (row(*asked, *more)["time_us"] for more in ((), ("--order", order(_numbers(16)))))
    assert listed <= 1.01 * plain


def _numbers(chips: int) -> str:
    return " ".join(map(str, range(chips)))
