"""Packed trees, drawn and written; what they gain over two phases, on one clock."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_driver import Browser, driven
from explored import data_in
from pictures import check_picture, of_class, words

from hopcast.atlas import figure
from hopcast.atlas.site import atlas
from hopcast.choose import answer
from hopcast.draw.timeline import busy_over_time
from hopcast.draw.tree_picture import trees_svg
from hopcast.draw.tree_text import trees_text
from hopcast.draw.trees import cables, counts, trees
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError
from hopcast.price.steps import steps
from hopcast.verbs import ask
from hopcast.verbs.check import scheduled
from hopcast.verbs.draw import draw

GIB = 2.0**30


TREES = (
    ("all_reduce", "mesh:4x4", "tree_packing"),
    ("all_reduce", "mesh:2x4", "tree_packing"),
    ("all_reduce", "mesh:8x8", "tree_packing"),
    ("all_reduce", "mesh:2x3x4", "tree_packing"),
    ("all_reduce", "chain:5", "tree_packing"),
    ("all_reduce", "mesh:4x4", "multi_axis"),
    ("all_reduce", "torus:4x4", "multi_axis"),
    ("all_gather", "torus:4x4", "translated_tree"),
    ("all_gather", "mesh:4x4", "synthesized"),
    ("all_gather", "ring:8", "ring"),
    ("reduce_scatter", "ring:8", "ring"),
    ("all_reduce", "switch:8", "double_tree"),
    ("broadcast", "switch:8", "binomial"),
    ("broadcast", "chain:6", "pipelined_chain"),
)


@cache
def built(collective: str, on: str, algorithm: str) -> tuple[Schedule, Any]:
    q, where = ask.question(collective, on, size="1GiB")
    return scheduled(q, algorithm), where.cluster


@pytest.mark.parametrize(("collective", "on", "algorithm"), TREES)
def test_trees_carry_what_the_schedule_carries(collective: str, on: str, algorithm: str) -> None:
    """Their parts times their edges are the bytes over every link."""
    made, where = built(collective, on, algorithm)
    found, topology = trees(made), where.topology
    assert sum(t.share for t in found) == pytest.approx(1.0)
    load = np.zeros((topology.vertices, topology.vertices))
    for t in found:
        assert {t.root, *(c for c, _ in t.parent)} == set(made.groups[0].tolist())
        for child, parent in t.parent:
            for s, d in [(child, parent)] * t.up + [(parent, child)] * t.down:
                load[s, d] += t.share * GIB
    sent = np.zeros_like(load)
    for rows in made.steps():
        np.add.at(sent, (rows.src, rows.dst), made.bytes(rows, GIB))
    assert np.allclose(load, sent)


@pytest.mark.parametrize(("collective", "on", "algorithm"), TREES)
def test_trees_are_drawn_and_written(collective: str, on: str, algorithm: str) -> None:
    made, where = built(collective, on, algorithm)
    found = trees(made)
    picture = trees_svg(where, found, title=f"{algorithm} on {on}", caption="How they lie.")
    check_picture(picture)
    shown = min(len(found), 16)
    assert sum(w.startswith("root ") for w in words(picture)) == shown
    text = trees_text(where, found)
    assert text.isascii()
    assert not [line for line in text.split("\n") if line != line.rstrip()]
    assert max(map(len, text.split("\n"))) <= 110


def test_eight_trees_fill_a_4x4_mesh() -> None:
    made, where = built("all_reduce", "mesh:4x4", "tree_packing")
    found = trees(made)
    used = cables(where, found)
    assert len(found) == 8
    assert set(counts(where.topology, used)) == {5.0}
    picture = trees_svg(where, found)
    pills = [w for w in words(picture) if w == "5"]
    assert len(pills) == 24
    strands = [p for k in range(1, 7) for c in "sd" for p in of_class(picture, "path", f"{c}{k}")]
    assert len(strands) == 8 * 15 + 8 * 15  # all at once, and each by itself
    text = trees_text(where, found)
    assert text.count("R") == 8
    assert text.split("trees on each cable\n")[1].count("5") == 24


def test_a_tree_in_text_has_its_edges() -> None:
    made, where = built("all_reduce", "mesh:4x4", "tree_packing")
    one = trees(made)[0]
    text = trees_text(where, [one]).split("\n\n")[1]
    assert text.count("--") + text.count("|") == 15


def test_equal_trees_count_as_often_as_they_are() -> None:
    made, where = built("all_reduce", "mesh:2x3", "tree_packing")
    found = trees(made)
    used = counts(where.topology, cables(where, found))
    assert used.sum() == len(found) * 5
    assert len({round(t.share, 9) for t in found}) == 1


@pytest.mark.parametrize(
    ("collective", "on", "algorithm", "said"),
    [
        ("all_reduce", "switch:8", "recursive_doubling", "the sends of chunk 0 are no tree"),
        ("all_to_all", "ring:4", "direct", "every chunk is sent once, so there are no trees"),
    ],
)
def test_what_is_no_tree_is_refused(collective: str, on: str, algorithm: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        draw(collective, on, algorithm=algorithm, trees=True)


@pytest.mark.parametrize(
    ("collective", "on", "algorithm"),
    [
        ("all_reduce", "mesh:4x4", "tree_packing"),
        ("all_reduce", "mesh:4x4", "multi_axis"),
        ("all_to_all", "ring:8", "direct"),
        ("all_gather", "switch:6", "ring"),
    ],
)
def test_bytes_over_time_are_the_bytes_of_the_links(collective: str, on: str, algorithm: str) -> None:
    q, where = ask.question(collective, on, size="64MiB")
    a = answer(q, algorithm, "flows")
    assert a.flows is not None
    assert a.load is not None
    topology = where.cluster.topology
    until = a.time * 1.25
    busy = busy_over_time(a.schedule, where.cluster, q.size, a.flows, until, 50)
    moved = busy.sum(1) * until / 50 * topology.bandwidth
    assert np.allclose(moved, a.load, rtol=1e-6)
    assert np.all(busy[:, 41:] == 0.0)


def test_both_runs_end_where_they_are_said_to() -> None:
    f = figure("trees_beside").picture().facts
    assert float(f["trees"]) < float(f["phases"])  # type: ignore[arg-type]
    assert float(f["bound"]) <= float(f["trees"])  # type: ignore[arg-type]
    assert float(f["busy.trees"]) > float(f["busy.phases"])  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    atlas(out, only="trees_beside")
    return out / "live" / "trees_beside.html"


def test_the_page_of_two_all_reduces_holds_both(site: Path) -> None:
    html = site.read_text(encoding="utf-8")
    sides = data_in(html)["sides"]
    assert len(sides) == 2
    assert "--compare multi_axis" in html
    made, where = built("all_reduce", "mesh:4x4", "multi_axis")
    assert steps(made, where, GIB).load.any()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with driven() as found:
        yield found


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_trees_are_done_before_two_phases_on_one_clock(browser: Browser, site: Path, dark: bool) -> None:
    browser.do("open", file=str(site), hash="step=0", dark=dark, width=1400, height=900)
    assert browser.ask("hopcast.sides()") == 2
    moments = browser.ask("hopcast.moments()")
    over = []
    for moment in (0, len(moments) // 2, len(moments) - 1):
        browser.do("hash", hash=f"step={moment}")
        over.append([browser.ask(f"hopcast.now({side})")["over"] for side in (0, 1)])
    assert over[0] == [False, False]
    assert over[-1] == [True, True]
    end = float(figure("trees_beside").picture().facts["trees"])  # type: ignore[arg-type]
    at = max(i for i, t in enumerate(moments) if t <= end * (1 + 1e-9))
    browser.do("hash", hash=f"step={at}")
    assert browser.ask("hopcast.now(0)")["over"]
    assert not browser.ask("hopcast.now(1)")["over"]
