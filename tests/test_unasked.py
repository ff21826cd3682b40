"""What all that fit are tried for, and what is made only for whoever names it."""

import numpy as np
import numpy.typing as npt
import pytest

import hopcast as hc
from hopcast import algorithms, choose
from hopcast.ir.collective import NAMES
from hopcast.ir.group import Hint
from hopcast.verbs import ask

CLUSTERS = ("ring:8", "torus:4x4", "mesh:3x4", "mesh:18x18", "v5e:4x4,slices=2", "dgx-h100:2", "dgx-h100:16")
COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast")
ABLE = [name for name in algorithms.names() if hasattr(algorithms.get(name).module, "unasked")]


def left_out(collective: str, text: str, matrix: npt.NDArray[np.float64] | None = None) -> dict[str, str]:
    """Algorithms that fit and are not tried, and why."""
    q, _ = ask.question(collective, text, size=2.0**20, matrix=matrix)
    fits = {n: algorithms.get(n) for n in ABLE if collective in algorithms.get(n).collectives}
    said = {n: a.unasked(collective, q.group, q.hint) for n, a in fits.items()}
    return {n: s for n, s in said.items() if s and fits[n].valid(collective, q.group, q.hint) is None}


@pytest.mark.parametrize("text", CLUSTERS)
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_what_is_tried_is_what_fits_and_is_not_left_out(collective, text):
    q, _ = ask.question(collective, text, size=2.0**20)
    tried = {c.algorithm.name for c in choose.candidates(q)}
    assert not tried & left_out(collective, text).keys()
    for name in tried:
        assert algorithms.get(name).unasked(collective, q.group, q.hint) is None


def test_some_are_left_out_and_each_says_why_in_one_line():
    seen = {n: s for c in COLLECTIVES for t in CLUSTERS for n, s in left_out(c, t).items()}
    seen |= left_out("all_to_all_v", "dgx-h100:32", np.ones((256, 256)))
    assert seen.keys() == set(ABLE)
    for reason in seen.values():
        assert 0 < len(reason) < 110
        assert "\n" not in reason


@pytest.mark.parametrize("text", ["torus:4x4", "mesh:18x18", "dgx-h100:16"])
def test_naming_what_is_left_out_is_enough(text):
    asked = {"size": "64MiB", "price": "steps"}
    for name in left_out("all_gather", text):
        (row,) = hc.predict("all_gather", text, algorithm=name, **asked).rows
        assert (row["algorithm"], row["algorithm_source"]) == (name, "named")
        assert row["time_us"] >= row["bound_us"] * (1 - 1e-9)


def test_one_rank_leaves_nothing_out():
    alone, _ = ask.question("all_gather", "torus:1x4", over="x", size=1.0)
    assert all(algorithms.get(n).unasked("all_gather", alone.group, Hint()) is None for n in ABLE)


@pytest.mark.parametrize("collective", NAMES)
@pytest.mark.parametrize("text", ["ring:1", "torus:1x1", "switch:1", "v5e:1x1", "dgx-h100,gpus=1"])
def test_one_rank_is_done_at_once_by_all(collective, text):
    asked = {"matrix": None} if collective != "all_to_all_v" else {"matrix": [[1.0]]}
    for row in hc.predict(collective, text, size="1GiB", algorithm="all", **asked).rows:
        assert row["time_us"] == 0
