"""Which slice of so many chips: every shape once, ranked by time, with what is wrong about the others."""

import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from cli import rows, run

import hopcast as hc
from hopcast.chips import slices
from hopcast.clusters import cluster
from hopcast.ir import mesh as meshes


def advise(words: str) -> list[dict[str, object]]:
    return rows("advise", *shlex.split(words))


def test_slices_of_128_chips_ranked() -> None:
    found = advise(
        "all_gather --chips 128 --on v5e --on v5p --size 1GiB --algorithm multi_axis --price steps"
    )
    assert [(r["cluster"], r["wraps"]) for r in found] == [
        ("v5p:4x4x8", "x,y,z"),
        ("v5p:4x4x8,twisted", "x,y,z"),
        ("v5e:8x16", "y"),
    ]
    assert [r["type"] for r in found] == ["v5p-256", None, "v5litepod-128"]
    assert found == sorted(found, key=lambda r: r["time_us"])
    for r in found:
        assert r["efficiency"] == pytest.approx(r["bound_us"] / r["time_us"])
        assert 0 < r["efficiency"] <= 1


@pytest.mark.parametrize(
    ("algorithm", "by"),
    [
        ("best", "the fastest schedule known (--algorithm auto: by what XLA runs)"),
        ("auto", "what XLA runs"),
        ("multi_axis", "multi_axis"),
    ],
)
def test_the_header_says_what_slices_are_ranked_by(algorithm: str, by: str) -> None:
    ran = run("advise", "all_gather", *shlex.split(f"--chips 4 --on v5e --size 1GiB --algorithm {algorithm}"))
    assert f"over 4 chips, ranked by {by}: ideal" in " ".join(ran.out.split()), ran


@pytest.mark.slow
def test_best_on_8x16_reaches_nine_tenths_of_the_bound_by_flows() -> None:
    (one,) = advise("all_gather --chips 128 --on v5e --size 1GiB")
    assert one["price"] == "flows"
    assert one["efficiency"] >= 0.9


def test_all_to_all_is_ranked_the_other_way_round() -> None:
    found = advise("all_to_all --chips 128 --on v5p,latency=0 --size 1GiB --algorithm direct --price steps")
    assert [r["cluster"] for r in found] == ["v5p:4x4x8,twisted,latency=0", "v5p:4x4x8,latency=0"]
    assert found[1]["time_us"] / found[0]["time_us"] == pytest.approx(128 / (128 * 3.4375 / 6), rel=1e-9)


def test_every_generation_is_tried_if_none_is_named() -> None:
    found = advise("broadcast --chips 16 --size 1MiB --algorithm binomial --price steps")
    assert {r["cluster"].split(":")[0] for r in found} == {"v2", "v3", "v4", "v5e", "v5p", "v6e", "7x", "8t"}
    assert {r["wraps"] for r in found} == {"none"}


@pytest.mark.parametrize(("chip", "chips"), [("v5p", 256), ("v4", 512), ("7x", 64), ("v6e", 64)])
def test_every_shape_is_a_row(chip: str, chips: int) -> None:
    words = f"--chips {chips} --on {chip} --size 1GiB --algorithm multi_axis --price steps"
    found = advise(f"all_gather {words}")
    expected = [
        f"{chip}:{slices.spell(s.shape)}" + ",twisted" * s.twisted for s in slices.shapes(chip, chips)
    ]
    assert sorted(r["cluster"] for r in found) == sorted(expected)


def test_a_row_is_what_predict_answers() -> None:
    (one,) = advise("all_gather --chips 16 --on v5e --size 1MiB --algorithm auto")
    (same,) = rows("predict", "all_gather", "v5e:4x4", "--size", "1MiB")
    assert {k: same[k] for k in ("time_us", "bound_us", "price", "algorithm")}.items() <= one.items()


@pytest.mark.parametrize(
    ("words", "prices"),
    [
        ("all_gather --chips 64 --on v4 --algorithm multi_axis", {"formula"}),
        # Chips are alike, so one chip's sends stand for all of any number of chips.
        ("all_gather --chips 512 --on v4 --algorithm multi_axis", {"formula", "flows"}),
        ("all_reduce --chips 1024 --on v4 --algorithm translated_tree", {"formula", "flows"}),
        ("all_to_all --chips 1024 --on v4 --algorithm direct", {"flows"}),
    ],
)
def test_pods_are_priced_by_flows_where_chips_are_alike(words: str, prices: set[str]) -> None:
    assert {r["price"] for r in advise(f"{words} --size 1GiB")} == prices


@pytest.mark.parametrize("algorithm", ["synthesized", "best"])
def test_what_has_too_many_sends_is_priced_by_steps_and_that_is_said(monkeypatch, algorithm: str) -> None:
    words = shlex.split(f"all_gather --chips 64 --on v5e --on v4 --size 1GiB --algorithm {algorithm}")
    monkeypatch.setattr(sys.modules["hopcast.verbs.advise"], "_MOST_SENDS", 1_000)
    price = {r["cluster"]: r["price"] for r in rows("advise", *words)}
    assert price["v5e:8x8"] == "steps"
    assert (price["v4:4x4x4"] == "formula") == (algorithm == "best")  # there chips are alike
    said = run("advise", *words).out
    assert "price steps, a barrier after each step:" in said
    assert "for more than 1,000 sends where chips are not alike" in said


# --- which axes of the slice ---


def test_every_way_to_lay_the_mesh_that_makes_a_difference_is_a_row() -> None:
    words = "all_reduce --chips 128 --on v5p,latency=0 --size 1GiB --mesh data=16,model=8 --over model"
    found = [r for r in advise(words) if "twisted" not in r["cluster"]]
    on = {r["mesh"].partition("model=8 on ")[2]: r for r in found}
    assert set(on) == {"z", "z[2 of 8] x y", "x[2 of 4] x y"}
    # 8 on the long axis are a ring: two links each. 2 x 4 are three, and the ring of 4 is whole.
    link = 2 * 7 / 8 * 2**30 / 90e9 * 1e6
    assert on["z"]["time_us"] == pytest.approx(link / 2, rel=1e-6)
    assert on["x[2 of 4] x y"]["time_us"] == pytest.approx(link / 3, rel=1e-3)
    assert found[-1] is on["z"]


@pytest.mark.parametrize(
    "words",
    [
        "all_reduce --chips 64 --on v5e --size 64MiB --mesh data=16,model=4 --over model --algorithm auto",
        "all_gather --chips 32 --on v5p --size 1MiB --mesh data=4,model=8 --over data --algorithm multi_axis",
        "all_to_all --chips 16 --on v4 --size 1MiB --mesh a=2,b=2,c=4 --over a,c --algorithm direct",
    ],
)
def test_an_order_of_advise_is_one_that_predict_takes(words: str) -> None:
    found = advise(words)
    parts = shlex.split(words)
    given = dict(zip(parts[1::2], parts[2::2], strict=True))
    for row in found:
        keep = [w for k in ("--size", "--mesh", "--over", "--algorithm") for w in (k, given[k])]
        (same,) = rows("predict", parts[0], row["cluster"], *keep, "--order", row["order"])
        for key in ("time_us", "bound_us", "limit_us", "price"):
            assert same[key] == row[key], key
        assert row["limit_us"] <= row["bound_us"] * (1 + 1e-9) <= row["time_us"] * (1 + 1e-6)


def test_orders_that_cross_the_same_links_are_one_row() -> None:
    found = advise(
        "all_gather --chips 64 --on v4 --size 1MiB --mesh data=16,model=4 --over model --price steps"
    )
    assert [(r["cluster"], r["order"]) for r in found] == [("v4:4x4x4", "jax")]
    whole = advise("all_gather --chips 64 --on v4 --size 1MiB --mesh data=16,model=4 --price steps")
    assert [r["cluster"] for r in whole] == ["v4:4x4x4"]
    bare = advise("all_gather --chips 64 --on v4 --size 1MiB --price steps")
    assert bare[0]["time_us"] == whole[0]["time_us"]
    assert bare[0]["order"] is bare[0]["mesh"] is None


def test_an_order_of_axes_lists_chips_row_major_over_them() -> None:
    where = cluster("v5p:4x4x8")
    made = meshes.logical(where, [("a", 16), ("b", 8)], "y,z,x")
    spot = where.topology.coords[made.chips.ravel()]
    assert np.array_equal(spot[:, [1, 2, 0]], np.argwhere(np.ones((4, 8, 4))))
    group = meshes.group(where, made, ["b"])
    for ranks in group.all_groups:  # 8 ranks: all of x, two neighbours of z
        assert np.ptp(where.topology.coords[ranks], 0).tolist() == [3, 0, 1]


def test_it_says_what_the_ranking_does_not_show() -> None:
    out = str(
        hc.advise("all_gather", chips=16, on=["v5e", "7x"], size="34GB", algorithm="auto", price="steps")
    )
    assert "v5e:4x4: memory: every rank ends with 34 GB" in out
    assert "times as long" in out
    large = hc.advise(
        "all_gather", chips=8960, on=["v5p"], size="1GiB", algorithm="multi_axis", price="formula"
    )
    assert "above the largest job that is scheduled" in str(large)


def test_a_generation_without_such_a_slice_is_said_beside_those_with() -> None:
    ran = run(*shlex.split("advise all_gather --chips 128 --on v5e --on v3 --size 1MiB --price steps"))
    assert ran.status == 0
    ran = run(*shlex.split("advise all_gather --chips 64 --on v5p --on v3 --size 1MiB --price formula"))
    assert ran.status == 0
    ran = run(*shlex.split("advise all_gather --chips 32 --on v5e --on v2 --size 1MiB --price steps"))
    assert "no slice of 32 chips on v2; nearest is 16 (4x4) or 64 (8x8)" in ran.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "all_gather --chips 15 --on v5e --size 1MiB",
            "no slice of 15 chips on v5e; nearest is 8 (2x4) or 16 (4x4)",
        ),
        ("all_gather --chips 99999 --on v5p --size 1MiB", "nearest is 8960 (16x20x28)"),
        ("all_gather --chips 0 --size 1MiB", "a slice has 1 chip or more"),
        ("all_gather --chips -4 --size 1MiB", "a slice has 1 chip or more"),
        ("all_gather --chips 16 --on v5q --size 1MiB", "did you mean v5p?"),
        ("all_gather --chips 16 --on 8i --size 1MiB", "TPU 8i has no torus"),
        ("all_gather --chips 16 --on v5e,colour=red --size 1MiB", "no option"),
        ("all_gather --chips 16 --on v5e --size 1Mb", "is not a size"),
        ("all_gather --chips 16 --on v5e --size 1MiB --algorithm rng", "no algorithm 'rng'"),
        ("gather --chips 16 --on v5e --size 1MiB --root 16", "--root 16: ranks of a group go from 0 to 15"),
        ("fetch --chips 16 --on v5e --size 1MiB", "no collective 'fetch'"),
        ("all_gather --chips 16 --on v5e --size 1MiB --over x", "write --mesh data=16,model=4 as well"),
        ("all_gather --chips 16 --on v5e --size 1MiB --mesh a=4,b=8", "mesh a=4,b=8 has 32 ranks"),
        ("all_gather --chips 16 --on v5e --size 1MiB --mesh a=4,b=4 --over c", "v5e:4x4 has no axis 'c'"),
        ("all_gather --chips 16 --on v5e --size 1MiB --mesh a=4,b", "write names and lengths"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(words: str, says: str) -> None:
    ran = run("advise", *shlex.split(words))
    assert ran.status == 2
    assert says in ran.err
    assert ran.err.count("\n") == 1


def test_a_chip_is_a_sheet_of_figures_with_sources() -> None:
    sheet = hc.chip("v5e")
    assert all(r["source"] and r["trust"] in "ABCM" for r in sheet)
    by_key = {r["figure"]: r for r in hc.chip("v5p:16x20x28")}
    assert (by_key["chips"]["all"], by_key["cores"]["all"]) == (8960, 17920)
    assert by_key["hbm.capacity"]["all"] == pytest.approx(8960 * 96e9)
    assert by_key["ici.hop_bytes"]["value"] == pytest.approx(90_000)
    assert by_key["ici.hop_bytes"]["all"] is None
    with pytest.raises(hc.InputError, match="no hardware in particular"):
        hc.chip("torus:4x4")


GATHER = """# collective=all_gather ranks=4 chunks=4
step,src,dst,chunk,count
0,0,1,0,1
0,1,0,1,1
0,2,3,2,1
0,3,2,3,1
1,0,2,0,2
1,1,3,0,2
1,2,0,2,2
1,3,1,2,2
"""


@pytest.mark.parametrize("named", [[], ["--algorithm", "best"], ["--algorithm", "auto"]])
def test_slices_are_ranked_by_a_schedule_of_ones_own(named: list[str], tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text(GATHER)
    words = ("advise", str(plan), "--chips", "4", "--on", "v5e", "--on", "v5p", "--size", "1MiB", *named)
    assert "over 4 chips, ranked by its time" in run(*words).out
    rows = run(*words, "--format", "json").rows
    assert [r["cluster"] for r in rows] == ["v5p:2x2x1", "v5e:2x2"]
    assert {(r["algorithm"], r["price"]) for r in rows} == {("plan", "flows")}
    for row in rows:
        (there,) = hc.predict(str(plan), row["cluster"], size="1MiB").rows
        assert row["time_us"] == pytest.approx(there["time_us"], rel=1e-12)


def test_an_algorithm_beside_a_schedule_is_refused(tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text(GATHER)
    asked = ("advise", str(plan), "--chips", "4", "--on", "v5e", "--size", "1MiB", "--algorithm", "ring")
    assert "--algorithm ring: a schedule is its own algorithm; leave it off" in run(*asked).err
