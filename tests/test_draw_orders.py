"""Pictures of ranks in an order of one's own: whether a name is a rank or a chip, and which it is."""

import re
from pathlib import Path

import numpy as np
import pytest
from pictures import check_picture, word_boxes, words

from hopcast.clusters import cluster
from hopcast.verbs.draw import draw


def shuffled(chips: int, tmp_path: Path) -> tuple[list[int], str]:
    """An order of so many chips in which none is at its own place, and its file."""
    order = np.random.default_rng(chips).permutation(chips)
    while np.any(order == np.arange(chips)):
        order = np.roll(order, 1)
    file = tmp_path / "order.txt"
    file.write_text(" ".join(map(str, order)))
    return order.tolist(), str(file)


@pytest.mark.parametrize("name", ["ring:8", "switch:6", "dgx-h100", "dgx-h100:2", "torus:1x4"])
def test_ranks_in_a_row_bear_rank_and_chip(name: str, tmp_path: Path) -> None:
    topology = cluster(name).topology
    order, file = shuffled(topology.chips, tmp_path)
    picture = draw("broadcast", name, algorithm="binomial", order=file).svg()
    check_picture(picture)
    said = words(picture)
    for rank, chip in enumerate(order):
        assert f"rank {rank} on {topology.place(chip)}" in said


@pytest.mark.parametrize("name", ["torus:4x4", "mesh:3x4", "v5e:2x4"])
def test_ranks_on_a_plane_stand_at_the_places_of_their_chips(name: str, tmp_path: Path) -> None:
    topology = cluster(name).topology
    order, file = shuffled(topology.chips, tmp_path)
    picture = draw("broadcast", name, algorithm="binomial", order=file, steps=[0]).svg()
    check_picture(picture)
    named = [(said, box) for said, box in word_boxes(picture) if said.isdecimal()]
    sides = [
        {said: (round(getattr(box, side)), round(box.top)) for said, box in named}
        for side in ("left", "right")
    ]
    at = min(sides, key=lambda side: len({x for x, _ in side.values()}))  # names begin or end at one place
    columns, rows = (sorted({place[k] for place in at.values()}) for k in (0, 1))
    for rank, chip in enumerate(order):
        x, y = at[str(rank)]
        assert (columns.index(x), rows.index(y)) == tuple(topology.coords[chip])
    assert "Numbers are ranks, each at the place of its chip: x across, y down." in words(picture)


@pytest.mark.parametrize("name", ["ring:8", "torus:2x4", "dgx-h100"])
def test_text_names_ranks_and_sends_alike(name: str, tmp_path: Path) -> None:
    topology = cluster(name).topology
    order, file = shuffled(topology.chips, tmp_path)
    text = str(draw("all_gather", name, algorithm="ring", order=file, steps=[0]))
    for rank, chip in enumerate(order):
        assert f"rank {rank} on {topology.place(chip)}" in text
    sent = {(int(a), int(b), int(c)) for a, b, c in re.findall(r"(\d+)>(\d+)\[(\d+)\]", text)}
    n = len(order)
    assert sent == {(r, (r + 1) % n, r) for r in range(n)}


@pytest.mark.parametrize(
    ("name", "names"),
    [("ring:4", ["rank 0", "rank 3"]), ("torus:2x2", ["0,1", "1,0"]), ("dgx-h100:2", ["0,7", "1,0"])],
)
def test_ranks_in_the_cluster_s_own_order_have_one_name(name: str, names: list[str]) -> None:
    drawing = draw("broadcast", name, algorithm="binomial")
    assert set(names) <= set(words(drawing.svg()))
    assert " on " not in str(drawing).partition("\n\n")[2]


@pytest.mark.parametrize("name", ["ring:6", "torus:4x4", "dgx-h100:2"])
def test_trees_that_are_no_part_of_a_plane_name_chips(name: str, tmp_path: Path) -> None:
    topology = cluster(name).topology
    _, file = shuffled(topology.chips, tmp_path)
    picture = draw("reduce_scatter", name, algorithm="ring", order=file, trees=True).svg()
    check_picture(picture)
    assert "Names in the panels are chips, not ranks." in words(picture)
    small = [said for said in words(picture) if re.fullmatch(r"\d+(,\d+)?", said)]
    assert set(small) == {topology.place(v) for v in range(topology.chips)}
