"""Pictures are the same every time, follow the theme, and are refused where they could not be read."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli import run
from pictures import (
    TWO_ROUTES,
    cluster,
    exchanged,
    link,
    route,
    schedule,
)
from refused import one_line_refusal

from hopcast import algorithms
from hopcast.draw import schedule_svg, schedule_text, theme, topology_svg, topology_text
from hopcast.ir.group import Hint
from hopcast.ir.mesh import group, physical
from hopcast.names import InputError

GOLDEN = Path(__file__).parent / "golden" / "draw"


def test_pictures_are_the_same_every_time() -> None:
    for again in (
        lambda: topology_svg(cluster("torus:4x4")),
        lambda: schedule_svg(schedule("ring:4", "all_reduce", "ring")),
    ):
        assert again() == again()


def test_pictures_follow_a_page_that_sets_the_variables_and_readers_without_variables() -> None:
    sheet = theme.style(["ink", "u5"])
    light, dark = theme.COLOURS["ink"]
    assert f"--hc-ink:{light}" in sheet.split("@media")[0]
    assert f"--hc-ink:{dark}" in sheet.split("@media")[1]
    assert f".ink{{fill:{light};fill:var(--hc-ink)}}" in sheet


def luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1])
def test_words_and_lines_stand_out_in_both_themes(mode: int) -> None:
    """4.5 to 1 for words and 3 to 1 for marks are what WCAG 2.2 asks for."""
    colour = {name: pair[mode] for name, pair in theme.COLOURS.items()}
    for ground in ("bg", "panel", "chip"):
        assert contrast(colour["ink"], colour[ground]) > 7
    assert min(contrast(colour["muted"], colour[ground]) for ground in ("bg", "panel")) > 4.5
    assert (
        min(contrast(colour[f"r{i}"], colour[ground]) for i in range(1, 7) for ground in ("bg", "panel")) > 3
    )
    assert min(contrast("#10151b", fill) for fill in theme.CHUNKS) > 4.5
    steps_ = [luminance(colour[f"u{i}"]) for i in range(1, 6)]
    assert steps_ == sorted(steps_, reverse=mode == 0)


def test_what_is_too_large_to_read_is_refused_with_what_to_draw_instead() -> None:
    for name in ("torus:17x17x17", "mesh:200x2", "switch:600", "ring:5000"):
        with pytest.raises(InputError, match=r"too large to draw .*draw a smaller one, such as"):
            topology_svg(cluster(name))
    for name in ("torus:17x17x17", "mesh:200x2", "ring:5000"):
        with pytest.raises(InputError, match="too large to draw"):
            topology_text(cluster(name))
    made = algorithms.get("ring").build(
        "all_gather", group(cluster("ring:3000"), physical(cluster("ring:3000").topology)), Hint()
    )
    with pytest.raises(InputError, match=r"3,000 ranks x 3,000 chunks are too many .*such as ring:8"):
        schedule_svg(made)


def test_broken_routes_and_loads_are_refused() -> None:
    where = cluster("mesh:4x4")
    good = route(where.topology, 0, 1, 2)
    with pytest.raises(
        InputError, match=r"route 2 goes from link y 0,0>0,1 to link y 0,2>0,3; a link must start"
    ):
        topology_svg(where, routes=[good, [good[0], link(where.topology, 2, 3)]])
    with pytest.raises(InputError, match=r"route 1 has link 48; mesh:4x4 has links 0 to 47"):
        topology_text(where, routes=[[48]])
    with pytest.raises(InputError, match=r"load has shape \(3,\); mesh:4x4 has 48 links"):
        topology_svg(where, load=np.zeros(3))
    with pytest.raises(InputError, match="must be 0 or more"):
        topology_svg(where, load=np.full(48, -1.0))
    dead = replace(where, topology=where.topology.with_links(np.where(np.arange(48) == 5, 0.0, 45e9)))
    with pytest.raises(InputError, match=r"dead link .* can carry none"):
        topology_svg(dead, load=np.ones(48))


def golden(name: str, made: str) -> None:
    path = GOLDEN / name
    if os.environ.get("HOPCAST_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made, f"{name} has changed: look at it, then `make golden`"


def two_routes(kind: Callable[..., str]) -> str:
    where = cluster("mesh:4x4")
    return kind(where, routes=[route(where.topology, *stops) for stops in TWO_ROUTES])


def loaded(kind: Callable[..., str]) -> str:
    return kind(cluster("mesh:4x4"), load=exchanged("mesh:4x4"))


def stepwise(name: str, collective: str, algorithm: str, only: list[int] | None = None) -> str:
    return schedule_svg(schedule(name, collective, algorithm), cluster(name), steps=only)


GOLDENS: dict[str, Callable[[], str]] = {
    "ring-8.svg": lambda: topology_svg(cluster("ring:8")),
    "torus-4x4.svg": lambda: topology_svg(cluster("torus:4x4")),
    "torus-4x4x4.svg": lambda: topology_svg(cluster("torus:4x4x4")),
    "switch-8.svg": lambda: topology_svg(cluster("switch:8")),
    "mesh-4x4-routes.svg": lambda: two_routes(topology_svg),
    "mesh-4x4-routes.txt": lambda: two_routes(topology_text) + "\n",
    "torus-4x4.txt": lambda: topology_text(cluster("torus:4x4")) + "\n",
    "mesh-4x4-load.svg": lambda: loaded(topology_svg),
    "mesh-4x4-load.txt": lambda: loaded(topology_text) + "\n",
    "all_gather-ring-8.svg": lambda: stepwise("ring:8", "all_gather", "bidirectional_ring"),
    "all_gather-torus-4x4.svg": lambda: stepwise("torus:4x4", "all_gather", "multi_axis", [0]),
    "reduce_scatter-ring-4.svg": lambda: stepwise("ring:4", "reduce_scatter", "ring"),
    "reduce_scatter-ring-4.txt": lambda: schedule_text(schedule("ring:4", "reduce_scatter", "ring")) + "\n",
    "all_to_all-ring-4.svg": lambda: stepwise("ring:4", "all_to_all", "exchange"),
    "all_to_all-ring-4.txt": lambda: schedule_text(schedule("ring:4", "all_to_all", "exchange")) + "\n",
}


@pytest.mark.golden
@pytest.mark.parametrize("name", GOLDENS)
def test_pictures_have_not_changed(name: str) -> None:
    golden(name, GOLDENS[name]())


def test_a_sweep_is_drawn_as_curves(tmp_path: Path) -> None:
    out = tmp_path / "cross.svg"
    words = ["draw", "all_reduce", "dgx-h100", "-o", str(out), "--sweep", "1K"]
    assert run(*words, "1G").status == 0
    picture = out.read_text()
    assert "busbw" in picture
    assert "nvls" in picture
    assert "two sizes" in one_line_refusal(*words, "1K")
