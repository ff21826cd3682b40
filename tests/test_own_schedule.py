"""A schedule of one's own: laid where it is local, taken at its word where not, refused where wrong."""

from pathlib import Path

import pytest
from cli import row, run

import hopcast as hc

SWAPPED = "# collective=all_gather ranks=2 chunks=2 groups=1,0\nstep,src,dst,chunk\n0,1,0,0\n0,0,1,1\n"
LOST = "# collective=all_gather ranks=4 chunks=4\nstep,src,dst,chunk\n0,1,0,1\n0,0,1,0\n"
MOST = {"size": "1MiB"}


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.csv"
    path.write_text(text)
    return str(path)


def test_a_group_in_another_order_keeps_it(tmp_path: Path) -> None:
    assert row("check", write(tmp_path, SWAPPED), "ring:2")["valid"] is True


def test_a_schedule_of_sub_axes_finds_its_axes() -> None:
    s = hc.build("all_gather", "torus:4x8", over="x", algorithm="ring")
    own = hc.predict(s, "torus:4x8", **MOST).rows[0]
    asked = hc.predict("all_gather", "torus:4x8", over="x", algorithm="ring", **MOST).rows[0]
    for key in ("over", "groups", "ranks", "bound_us", "limit_us"):
        assert own[key] == asked[key], key
    assert own["time_us"] == pytest.approx(asked["time_us"], rel=1e-9)


def test_a_schedule_on_a_jax_mesh_is_what_the_direct_question_is() -> None:
    how = {"mesh": "a=8,b=4", "order": "jax", "over": "a,b", "algorithm": "multi_axis"}
    s = hc.build("all_gather", "v5e:4x8", **how)
    direct = hc.predict("all_gather", "v5e:4x8", size="1MiB", **how).rows[0]
    assert hc.predict(s, "v5e:4x8", size="1MiB").rows[0]["time_us"] == pytest.approx(
        direct["time_us"], rel=1e-9
    )


def test_axes_that_are_not_the_schedules_are_refused() -> None:
    s = hc.build("all_gather", "torus:4x4", over="x", algorithm="ring")
    with pytest.raises(hc.InputError, match="not those of --over y"):
        hc.predict(s, "torus:4x4", over="y", **MOST)


@pytest.mark.parametrize("command", ["predict", "simulate", "sweep"])
def test_a_wrong_schedule_has_no_time(command: str, tmp_path: Path) -> None:
    words = [] if command == "sweep" else ["--size", "1M"]
    ran = run(command, write(tmp_path, LOST), "ring:4", *words)
    assert ran.status == 2
    assert ran.out == ""
    assert "does not hold chunk" in ran.err


def test_another_algorithm_beside_a_schedule_is_refused(tmp_path: Path) -> None:
    ran = run("predict", write(tmp_path, SWAPPED), "ring:2", "--size", "1M", "--algorithm", "ring")
    assert ran.status == 2
    assert "its own algorithm" in ran.err


def test_a_mesh_of_another_cluster_is_refused() -> None:
    m = hc.mesh((4, 4), ("data", "model"), "v5e:4x4")
    with pytest.raises(hc.InputError, match="not one of v5e:4x8"):
        hc.predict("all_gather", "v5e:4x8", mesh=m, over="data", **MOST)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: hc.predict(None, "ring:4", **MOST),
        lambda: hc.predict("all_gather", 5, **MOST),
        lambda: hc.predict("all_gather", "ring:4", mesh={"a": 4}, **MOST),
        lambda: hc.predict("all_gather", "ring:4", combine="mean", **MOST),
        lambda: hc.check("ring"),
    ],
)
def test_things_of_another_kind_are_refused(ask) -> None:
    with pytest.raises(hc.InputError):
        ask()


def test_best_tries_small_schedules_that_steps_rank_low() -> None:
    """direct is slow by steps and fast by flows on a half-duplex chain with much latency."""
    where = "chain:4,bandwidth=45GB/s,latency=20us,duplex=half"
    best = hc.predict("all_gather", where, algorithm="best", **MOST).rows[0]
    every = hc.predict("all_gather", where, algorithm="all", **MOST).rows
    assert best["time_us"] == pytest.approx(min(r["time_us"] for r in every), rel=1e-9)


def test_a_better_command_keeps_the_question(tmp_path: Path) -> None:
    words = ["--size", "1GiB", "--mesh", "data=4,model=4", "--over", "data"]
    found = row("predict", "all_reduce", "v5e:4x4", *words)["findings"]
    better = next(f["try"] for f in found if f["code"] == "chain_pipelining")
    assert run(*better.split()[1:]).status == 0


def test_output_goes_to_what_a_link_names(tmp_path: Path) -> None:
    target, link = tmp_path / "real.svg", tmp_path / "link.svg"
    target.write_text("old")
    link.symlink_to(target)
    assert run("draw", "ring:4", "-o", str(link)).status == 0
    assert link.is_symlink()
    assert target.read_text().startswith("<svg")
    (tmp_path / "dir.svg").mkdir()
    assert run("draw", "ring:4", "-o", str(tmp_path / "dir.svg")).status == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dir.svg", "link.svg", "real.svg"]


@pytest.mark.parametrize(
    ("collective", "on", "algorithm", "elsewhere"),
    [
        ("all_reduce", "dgx-h100", "nvls", "dgx-h100,nvls=off"),
        ("all_gather", "dgx-h100", "nvls", "dgx-a100"),
        ("all_reduce", "dgx-h100:2", "sharp", "dgx-h100:2,sharp=off"),
    ],
)
def test_a_switch_adds_only_where_it_can(collective: str, on: str, algorithm: str, elsewhere: str) -> None:
    s = hc.build(collective, on, algorithm=algorithm)
    assert hc.predict(s, on, **MOST).rows[0]["time_us"] > 0
    with pytest.raises(hc.InputError, match="do not; see"):
        hc.predict(s, elsewhere, **MOST)


def test_a_switch_that_passes_on_needs_no_ability() -> None:
    """Chips of two nodes whose forest names switches, as it does where a switch joins chips with a cable."""
    s = hc.build("all_gather", "dgx-h100:2,nvls=off", algorithm="forest")
    assert hc.predict(s, "dgx-h100:2,nvls=off", **MOST).rows[0]["time_us"] > 0


@pytest.mark.parametrize(
    ("collective", "given", "right"),
    [
        ("broadcast", {"root": 3}, "its root is rank 5"),
        ("all_gather", {"root": 3}, "it has no root"),
        ("permute", {"shift": 2}, "it shifts by 3"),
        ("all_gather", {"shift": 2}, "it shifts nothing"),
    ],
)
def test_another_root_or_shift_than_the_schedules_is_refused(
    collective: str, given: dict[str, int], right: str
) -> None:
    own = {"broadcast": {"root": 5}, "permute": {"shift": 3}}.get(collective, {})
    s = hc.build(collective, "torus:4x4", algorithm="direct" if collective == "permute" else "auto", **own)
    assert hc.predict(s, "torus:4x4", **own, **MOST).rows
    with pytest.raises(hc.InputError, match=right):
        hc.predict(s, "torus:4x4", **given, **MOST)
