"""Axes of different length or wrap cannot all be busy all the time with one part per axis order."""

from hopcast.predict import Answer

from . import _command

SOURCE = "Sack and Gropp 2015, doi:10.1145/2686882 (bucket algorithms on unequal tori)"
APPEARS = "predict all_gather v5e:4x8 --size 64MiB --algorithm multi_axis"
ABSENT = "predict all_gather v5e:4x4 --size 64MiB --algorithm multi_axis"


def when(answer: Answer) -> str | None:
    """multi_axis on unequal axes that stays more than 3 % above the bound."""
    q = answer.question
    if (
        not answer.algorithm.startswith("multi_axis")
        or len({(a.length, a.wraps) for a in q.group.axes}) == 1
        or answer.efficiency > 0.97
        or answer.is_latency_bound
    ):
        return None
    axes = " x ".join(f"{a.length}{'' if a.wraps else ' open'}" for a in q.group.axes)
    return (
        f"the axes are unequal ({axes}), so links wait for each other between phases: "
        f"{answer.efficiency:.0%} of the bound is reached"
    )


def gain(answer: Answer) -> str:
    """Try everything else, unless that was done."""
    return "" if answer.source == "best" else _command.predict(answer, algorithm="best")
