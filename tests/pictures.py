"""Networks and schedules to draw, and what is asked of every picture."""

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from functools import cache

import numpy as np

from hopcast import algorithms
from hopcast.draw.boxes import Box, of_text
from hopcast.ir import algebra
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import of
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.ir.schedule import Schedule, from_columns, one_group
from hopcast.ir.topology import Floats, Topology
from hopcast.price.steps import link_load
from hopcast.registry import load
from hopcast.routing import routes


@cache
def cluster(name: str) -> Cluster:
    family, shape = name.split(":")
    built = load("topologies", "topology", family).build(name, tuple(map(int, shape.split("x"))), 45e9, 1e-6)
    return Cluster(name, built, family, "dimension_order" if built.is_grid else "shortest")


def exchange(n: int) -> Schedule:
    """all_to_all in one step, every rank straight to every other."""
    src, dst = np.nonzero(~np.eye(n, dtype=bool))
    columns = {"step": np.zeros(len(src), int), "src": src, "dst": dst, "chunk": src * n + dst}
    return from_columns(of("all_to_all", n), "exchange", one_group(n), columns)


@cache
def schedule(name: str, collective: str, algorithm: str, over: tuple[str, ...] = ()) -> Schedule:
    where = cluster(name)
    chosen = group(where, physical(where.topology), over)
    if algorithm == "exchange":
        made = exchange(chosen.ranks)
    else:
        builder, options = algorithms.parse(algorithm)
        made = builder.build(collective, chosen, Hint(size=2.0**23, alpha=1e-6, options=options))
    return algebra.lay(made, chosen.all_groups, where.topology.vertices)


def exchanged(name: str, size: float = 2.0**23) -> Floats:
    """Bytes over each link when all ranks send alike to all."""
    where = cluster(name)
    n = where.topology.chips
    src, dst = (v.astype(np.int32) for v in np.nonzero(~np.eye(n, dtype=bool)))
    volume = np.full(len(src), size / n**2)
    return link_load(routes(where, src, dst), volume, where.topology.links, where.topology.wire)


def link(where: Topology, src: int, dst: int) -> int:
    return int(np.flatnonzero((where.src == src) & (where.dst == dst))[0])


def route(where: Topology, *stops: int) -> list[int]:
    return [link(where, a, b) for a, b in itertools.pairwise(stops)]


TWO_ROUTES = ((15, 11, 7, 3, 2, 1, 0), (15, 14, 13, 12, 8, 4, 0))


def elements(picture: str, tag: str) -> list[ET.Element]:
    return ET.fromstring(picture).findall(f".//{{http://www.w3.org/2000/svg}}{tag}")


def of_class(picture: str, tag: str, name: str) -> list[ET.Element]:
    return [e for e in elements(picture, tag) if e.get("class") == name]


def box_of(rect: ET.Element) -> Box:
    x, y, w, h = (float(rect.get(k, "nan")) for k in ("x", "y", "width", "height"))
    return Box(x, y, x + w, y + h)


def word_boxes(picture: str) -> list[tuple[str, Box]]:
    found = []
    for text in elements(picture, "text"):
        x, y, size = (float(text.get(k, "nan")) for k in ("x", "y", "font-size"))
        said, anchor = text.text or "", text.get("text-anchor", "")
        found.append((said, of_text(x, y, said, size, anchor, text.get("class") == "bold")))
    return found


def words(picture: str) -> list[str]:
    return [said for said, _ in word_boxes(picture)]


def corners(boxes: Iterable[Box]) -> np.ndarray:
    """left, top, right, bottom: float64[boxes, 4]."""
    return np.array([[b.left, b.top, b.right, b.bottom] for b in boxes]).reshape(-1, 4)


def overlaps(boxes: list[tuple[str, Box]]) -> list[tuple[str, str]]:
    """Pairs that share an area, found from left to right; a tenth is lost to rounding."""
    order = sorted(((w, b.grown(-0.11)) for w, b in boxes), key=lambda e: e[1].left)
    found: list[tuple[str, str]] = []
    open_: list[tuple[str, Box]] = []
    for said, box in order:
        open_ = [o for o in open_ if o[1].right > box.left]
        found += [(o[0], said) for o in open_ if o[1].meets(box)]
        open_.append((said, box))
    return found


def check_picture(picture: str) -> None:
    """One file that stands alone and follows the theme; words run into nothing and stay on the page."""
    root = ET.fromstring(picture)
    left, top, wide, high = map(float, root.get("viewBox", "").split())
    page = Box(left, top, left + wide, top + high)
    texts = word_boxes(picture)
    assert texts
    assert overlaps(texts) == []
    assert [w for w, b in texts if not page.holds(b.grown(-0.11))] == []
    solid = [
        box_of(r)
        for r in elements(picture, "rect")
        if r.get("class") in ("chip", "end", "switch", "blank", "spent")
    ]
    assert [b for b in solid if not page.holds(b)] == []
    at = corners(solid)
    for said, box in texts:
        small = box.grown(-0.11)
        meets = (
            (small.left < at[:, 2])
            & (at[:, 0] < small.right)
            & (small.top < at[:, 3])
            & (at[:, 1] < small.bottom)
        )
        crossed = [solid[int(i)] for i in np.flatnonzero(meets) if not solid[int(i)].holds(small)]
        assert not crossed, f"{said!r} runs over the rim of a box"
    assert [root.find(f"{{http://www.w3.org/2000/svg}}{t}").text for t in ("title", "desc")]  # type: ignore[union-attr]
    assert "<script" not in picture
    assert re.findall(r"https?://[^\"]+", picture) == ["http://www.w3.org/2000/svg"]
    assert set(re.findall(r"url\(([^)]*)\)", picture)) <= {"#hopcast-hatch"}
    assert "prefers-color-scheme:dark" in picture
    assert not re.search(
        r"\d\.\d\d", re.sub(r"<(style|title|desc|text)[^>]*>.*?</\1>|opacity=\S+", "", picture, flags=re.S)
    )
