"""Figures of the atlas: all are there, readable and deterministic, for their own numbers and for others."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from atlas_figures import FIGURES, each_figure, picture
from cli import run
from pictures import box_of, check_picture, word_boxes

from hopcast.atlas import Figure, every, site
from hopcast.draw.boxes import Box, width
from hopcast.draw.geometry import passes
from hopcast.names import InputError

# Of the article, by number (its file names).
ARTICLE = [
    "tpu_classes",
    "torus",
    "topo_3d",
    "tpu_topology1",
    "tpu_topology2",
    "pyramid",
    "tpu_example1",
    "tpu_example2",
    "gather_motivation",
    "ring",
    "representation",
    "all_gather1",
    "all_gather2",
    "all_gather3",
    "all_gather4",
    "reduce_scatter_motivation",
    "rs1",
    "all_reduce",
    "rs2",
    "rs3",
    "ata1",
    "ata2",
    "ata3",
    "totaltime",
    "gpu_topology",
    "gpu_ring",
    "sharp",
    "gpu_ata",
    "ag_tree",
    "rs_tree",
    "ag_hierarchy",
    "ar_hierarchy",
    "ar_shard_hierarchy",
    "ata_hierarchy",
    "totaltime_gpu",
]


def test_all_figures_of_the_article_are_there_by_number() -> None:
    assert [f.id for f in every() if f.number] == ARTICLE
    assert [f.number for f in every() if f.number] == list(range(1, 36))
    assert len(FIGURES) == len(every())


@each_figure
def test_words_of_a_figure_are_apart_and_on_the_page(name: str) -> None:
    check_picture(picture(name).svg)


def test_what_a_narrow_screen_cuts_stands_below_the_picture(tmp_path: Path) -> None:
    site.atlas(tmp_path / "site", only="ring,rails", live=False)
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    for name in ("ring", "rails"):
        svg = (tmp_path / "site" / "figures" / f"{name}.svg").read_text(encoding="utf-8")
        said = svg.partition("<desc>")[2].partition("</desc>")[0]
        below = (
            page.partition(f'<figure id="{name}">')[2].partition('<p class="said"')[2].partition("</p>")[0]
        )
        assert len(said) > 20
        assert said in below


def test_a_number_wider_than_its_box_is_noticed() -> None:
    """The check that all figures pass is one that can fail."""
    narrow = picture("all_gather2").svg.replace('font-size="8.5"', 'font-size="30"')
    with pytest.raises(AssertionError):
        check_picture(narrow)
    assert width("0", 30) > Box(0, 0, 10, 10).right


@each_figure
def test_no_coloured_line_runs_through_a_word(name: str) -> None:
    """Routes, sends and curves go round words, or behind a box that they stand in."""
    boxes, lines = list[tuple[int, Box]](), list[tuple[int, list[tuple[float, float]]]]()
    for i, element in enumerate(ET.fromstring(picture(name).svg).iter()):
        tag, cls = element.tag.rpartition("}")[2], element.get("class", "")
        if tag == "rect" and cls not in ("bg", "panel"):
            boxes.append((i, box_of(element)))
        elif tag == "path" and re.fullmatch(r"[rsdu]\d", cls):
            points = re.findall(r"(-?[\d.]+) (-?[\d.]+)", element.get("d", ""))
            lines.append((i, [(float(x), float(y)) for x, y in points]))
    for said, word in word_boxes(picture(name).svg):
        inner = word.grown(-1)
        behind = max((i for i, box in boxes if box.grown(1).holds(inner)), default=-1)
        assert not any(i > behind and passes(line, inner) for i, line in lines), said


@each_figure
def test_a_figure_is_the_same_every_time(name: str) -> None:
    again = FIGURES[name].picture()
    assert again.svg == picture(name).svg
    assert again.facts == picture(name).facts


@each_figure
def test_a_figure_says_what_it_is(name: str) -> None:
    f, p = FIGURES[name], picture(name)
    assert f.title
    assert f.group
    assert p.facts
    root = ET.fromstring(p.svg)
    described = root.find("{http://www.w3.org/2000/svg}desc")
    assert described is not None
    assert len(described.text or "") > 40
    assert f"--only {name}" in f.command(f.takes)


OTHER = [
    ("all_gather1", {"ranks": 12}),
    ("all_gather1", {"ranks": 5, "size": "1GiB"}),
    ("all_gather2", {"ranks": 3}),
    ("all_gather3", {"ranks": 2}),
    ("all_gather4", {"on": "torus:2x6"}),
    ("all_gather4", {"on": "mesh:3x3"}),
    ("rs1", {"ranks": 3}),
    ("all_reduce", {"ranks": 8}),
    ("ata1", {"ranks": 5}),
    ("ata1", {"ranks": 16}),
    ("ata2", {"ranks": 9}),
    ("ata3", {"ranks": 7}),
    ("ag_tree", {"ranks": 16}),
    ("rs_tree", {"ranks": 2}),
    ("torus", {"ranks": 8}),
    ("topo_3d", {"on": "torus:4x6x3"}),
    ("tpu_topology1", {"on": "v5e:8x16"}),
    ("tpu_topology1", {"on": "v6e:4x4"}),
    ("tpu_topology2", {"on": "v5e:4x4", "size": "1MiB"}),
    ("ring", {"on": "v5e:8x16"}),
    ("pyramid", {"on": "v5p"}),
    ("tpu_example1", {"on": "v5e:2x4"}),
    ("tpu_example2", {"on": "v5e:8x4"}),
    ("gather_motivation", {"ranks": 8}),
    ("reduce_scatter_motivation", {"ranks": 3}),
    ("representation", {"ranks": 20}),
    ("totaltime", {"ranks": 16}),
    ("gpu_topology", {"on": "dgx-h100:64"}),
    ("gpu_ring", {"ranks": 16}),
    ("sharp", {"ranks": 4}),
    ("gpu_ata", {"ranks": 4}),
    ("ag_hierarchy", {"on": "dgx-h100:4"}),
    ("ar_hierarchy", {"on": "dgx-a100:2"}),
    ("ata_hierarchy", {"on": "dgx-h100:2"}),
    ("totaltime_gpu", {"on": "dgx-h100:4", "size": "16MiB"}),
    ("twisted_torus", {"on": "torus:4x8"}),
    ("dgx_node", {"on": "dgx-a100"}),
    ("nvl72", {"on": "gb300-nvl72"}),
    ("rails", {"on": "dgx-h100:4"}),
    ("moe_traffic", {"ranks": 16}),
    ("crossover", {"on": "torus:4x4"}),
    ("heat_all_to_all", {"on": "v5e:4x8"}),
    ("heat_gather", {"on": "mesh:3x3"}),
    ("dcn_hierarchy", {"on": "v5e:4x4,slices=2"}),
]


@pytest.mark.parametrize(
    ("name", "numbers"), OTHER, ids=[f"{n}-{'-'.join(map(str, o.values()))}" for n, o in OTHER]
)
def test_a_figure_can_be_made_for_other_numbers(name: str, numbers: dict[str, int | str]) -> None:
    f: Figure = FIGURES[name]
    made = f.picture(f.given(**numbers))  # type: ignore[arg-type]
    check_picture(made.svg)
    assert made.svg != picture(name).svg


@pytest.mark.parametrize(
    ("name", "numbers", "words"),
    [
        ("all_gather1", {"ranks": 100}, "a number from 2 to 16"),
        ("all_gather1", {"on": "v5e:4x4"}, "takes --ranks and --size"),
        ("tpu_classes", {"ranks": 4}, "takes no numbers of its own"),
        ("ag_tree", {"ranks": 6}, "a power of two"),
        ("topo_3d", {"on": "torus:4x4"}, "three axes"),
        ("ring", {"on": "v5e:4x4"}, "no axis wraps"),
        ("gpu_topology", {"on": "dgx-h100:4"}, "such as dgx-h100:64"),
        ("ag_hierarchy", {"on": "v5e:4x4"}, "dgx-h100:32"),
        ("twisted_torus", {"on": "torus:3x5"}, "can be twisted"),
        ("pyramid", {"on": "8i"}, "v5e or v5p"),
        ("nvl72", {"on": "dgx-h100"}, "one rack"),
        ("dcn_hierarchy", {"on": "v5e:4x4"}, "slices=4"),
    ],
)  # fmt: skip
def test_numbers_that_do_not_fit_are_refused_in_one_line(
    name: str, numbers: dict[str, int | str], words: str
) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as told:
        FIGURES[name].picture(FIGURES[name].given(**numbers))  # type: ignore[arg-type]
    assert "\n" not in str(told.value)


def test_a_figure_is_drawn_in_words_and_as_svg(tmp_path: Path) -> None:
    ran = run("draw", "pyramid")
    assert ran.status == 0
    assert "HBM   820 GB/s" in ran.out
    assert "hbm                              8.2e+11" in ran.out
    out = tmp_path / "torus.svg"
    assert run("draw", "torus", "-o", str(out)).status == 0
    assert out.read_text().startswith("<svg")
