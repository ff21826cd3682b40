"""check: does a schedule compute its collective."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from hopcast import interpret
from hopcast.choose import candidates, choice, refuse_algorithm
from hopcast.ir import algebra
from hopcast.ir.cluster import Cluster
from hopcast.ir.mesh import Mesh
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError
from hopcast.question import Question
from hopcast.result import Result, Row

from . import _traffic, ask
from ._advice import working

_FOLLOWED = 400_000  # sends that are followed one by one to choose what is checked: some seconds


def build(
    collective: str,
    cluster: str | Cluster,
    *,
    over: str | Sequence[str] | None = None,
    algorithm: str = "auto",
    size: str | float | None = None,
    mesh: str | Mesh | None = None,
    order: str = "",
    root: str | int = 0,
    shift: int = 1,
    seed: int = 0,
    matrix: _traffic.Given | None = None,
    moe: str | None = None,
) -> Schedule:
    """The schedule of an algorithm, laid over all groups of a cluster.

    Where chunk counts depend on the size it is that of 1 MiB, or of the traffic matrix, if none is given.

    >>> build("all_gather", "torus:4x4", over="x", algorithm="ring")
    Schedule(all_gather, ring, ranks=4, groups=4, chunks=4, steps=3)
    """
    sent = _traffic.asked(matrix, moe, size, cluster, over, mesh, order)
    q, _ = ask.question(
        collective, cluster, size=sent.size or ask.USUAL_SIZE, over=over, mesh=mesh, order=order, root=root,
        shift=shift, seed=seed, matrix=sent.matrix,
    )  # fmt: skip
    return scheduled(q, algorithm)


def scheduled(q: Question, algorithm: str) -> Schedule:
    """The schedule that a question and an algorithm's name come to."""
    return _scheduled(q, algorithm)[0]


def _scheduled(q: Question, algorithm: str, most: int | None = None) -> tuple[Schedule, str]:
    """It, and what is to be said of how its algorithm was chosen; ``most`` is that of `choose.answer`."""
    if q.schedule is not None:
        refuse_algorithm(algorithm)
        return q.schedule, ""
    with working(q, algorithm, prices=()):
        chosen = choice(q, algorithm, most)
        made = chosen.algorithm.build(q.collective, q.group, replace(q.hint, options=chosen.options))
    why = f"{chosen.name}: {chosen.why}" if chosen.source == "best" and chosen.why else ""
    return algebra.lay(made, q.group.all_groups, q.cluster.topology.vertices, q.group.hubs), why


def check(schedule: Schedule) -> None:
    """Check that a schedule computes its collective.

    Raises:
        CheckError: with the first rank, chunk and step that are wrong.

    >>> check(build("all_reduce", "torus:4x4", algorithm="multi_axis"))
    """
    if not isinstance(schedule, Schedule):
        raise InputError(f"check takes a schedule, as hc.build gives; given: {schedule!r}")
    interpret.check(schedule)


def check_rows(
    q: Question,
    algorithm: str = "auto",
    warnings: Sequence[str] = (),
    doing: Callable[[str], None] | None = None,
) -> Result:
    """One row for each algorithm checked: valid, and where it is not, the witness.

    Args:
        q: What is checked.
        algorithm: As of `build`, or ``all``.
        warnings: Of the question.
        doing: Told what is being done.
    """
    names = [algorithm]
    if algorithm == "all" and q.schedule is None:
        names = [one.name for one in candidates(q)]
        if not names:
            raise InputError(f"no algorithm gives {q.collective} on {q.cluster.name}")
    rows, said = [], [*warnings]
    for nth, name in enumerate(names, 1):
        if doing is not None:
            doing(f"checking {name} ({nth} of {len(names)})" if names[1:] else "making the schedule")
        made, why = _scheduled(q, name, _FOLLOWED)
        said += [why] if why else []
        if doing is not None and not names[1:]:
            doing(f"checking {made.algorithm}")
        rows.append(_verdict(made))
    return Result(rows, (), None, (), said, dict(ask.understood(q)))


def _verdict(made: Schedule) -> Row:
    row: Row = {
        "collective": made.collective.name,
        "algorithm": made.algorithm,
        "ranks": made.ranks,
        "valid": True,
        "rank": None,
        "chunk": None,
        "step": None,
        "reason": "",
    }
    try:
        interpret.check(made)
    except interpret.CheckError as wrong:
        row |= {
            "valid": False,
            "rank": wrong.rank,
            "chunk": wrong.chunk,
            "step": wrong.step,
            "reason": str(wrong),
        }
    return row
