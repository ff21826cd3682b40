"""Two collectives at once on the same links: what each takes alone, and beside the other."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hopcast.ir import algebra
from hopcast.names import InputError
from hopcast.predict import Answer
from hopcast.question import Question
from hopcast.result import Result
from hopcast.simulate.flows import Flows, simulate
from hopcast.units import show_both, show_seconds, show_size

from . import ask
from ._advice import answer, working

SHOWN = (
    "collective",
    "algorithm",
    "over",
    "ranks",
    "groups",
    "size_bytes",
    "alone_us",
    "time_us",
    "busbw_GBps",
    "bound_us",
    "efficiency",
    "bottleneck",
)
_PRICES = ("flows",)  # a closed form or a barrier knows nothing of another collective
_OTHER = re.compile(
    r"\s*(?P<collective>[\w-]+)\s*:\s*(?P<size>\S+)(\s+over\s+(?P<over>\S+))?(\s+by\s+(?P<algorithm>\S+))?\s*"
)


def result(
    question: Question,
    where: ask.Place,
    beside: str,
    algorithm: str = "auto",
    price: str = "",
    combine: str = "add",
    notes: Sequence[str] = (),
) -> Result:
    """A row for each of two collectives that start together.

    Both are simulated alone by flows, and then beside each other in one simulation, where their sends share
    links by max-min fairness. ``alone_us`` is the one, ``time_us`` the other; rates and efficiency are those
    of both at once.

    Args:
        question: The first.
        where: Its place.
        beside: The second: ``all_gather:1GiB over gpu by ring``; axes and algorithm may be left out.
        algorithm: Of the first: a name, auto or best.
        price: flows, or nothing.
        combine: add; a closed form knows nothing of another collective.
        notes: To be said first.

    Raises:
        InputError: for a second collective that cannot be read, and for what two at once have not.

    >>> from hopcast.verbs.predict import predict
    >>> one = {"size": "1GiB", "algorithm": "ring", "beside": "all_gather:1GiB by ring"}
    >>> [round(r["time_us"] / r["alone_us"], 6) for r in predict("all_gather", "switch:8,latency=0", **one)]
    [2.0, 2.0]
    """
    if algorithm == "all" or price not in ("", "flows") or combine != "add":
        raise InputError(
            "--with: two collectives at once are simulated by flows, each by one algorithm; leave off "
            "--algorithm all, --price formula or steps and --combine max"
        )
    other, how = _second(question, where, beside)
    alone = [answer(one, by, "flows", prices=_PRICES) for one, by in ((question, algorithm), (other, how))]
    with working(question, algorithm, "flows", prices=_PRICES):
        flows = None if _is_apart(alone) else _flows(alone)
    ends = [a.time for a in alone] if flows is None else _ends(alone, flows)
    rows = []
    for one, end in zip(alone, ends, strict=True):
        late = min(one.latency, end)
        now = replace(one, time=end, latency=late, bandwidth=end - late)
        rows.append({**now.row(), "findings": [], "alone_us": one.time * 1e6})
    names = " beside ".join(f"{a.question.collective} of {show_both(a.question.size)}" for a in alone)
    title = f"{names} on {question.cluster.name}: links at their rated one-way bandwidth"
    rough = [] if flows is None or not flows.note else [flows.note]
    said = [*notes, *rough, _summary(alone, ends, flows)]
    inputs = {**_inputs(question), "with": _inputs(other)}
    return Result(rows, SHOWN, title, said, where.warnings, inputs, alone)


def _inputs(question: Question) -> Mapping[str, object]:
    return ask.understood(question)


def _second(question: Question, where: ask.Place, text: str) -> tuple[Question, str]:
    """The second collective on the same cluster and mesh, and its algorithm."""
    found = _OTHER.fullmatch(text)
    if found is None:
        raise InputError(
            f"--with {text!r}: write a collective and its size, as in 'all_gather:1GiB over gpu'"
        )
    given = found.groupdict()
    algorithm = given["algorithm"] or "auto"
    if algorithm == "all":
        raise InputError(f"--with {text!r}: one algorithm; write a name, auto or best")
    other, _ = ask.question(
        given["collective"],
        question.cluster,
        size=given["size"],
        over=given["over"],
        mesh=where.mesh,
        seed=question.hint.seed,
    )
    return other, algorithm


def _is_apart(alone: Sequence[Answer]) -> bool:
    """Whether no link serves both, so that neither knows of the other."""
    topology = alone[0].question.cluster.topology
    loads = [a.load for a in alone if a.load is not None]
    known = len(loads) == len(alone) and not topology.half_duplex
    return known and not np.any((loads[0] > 0) & (loads[1] > 0))


def _flows(alone: Sequence[Answer]) -> Flows:
    """Both schedules side by side, chunks and lanes of the second behind those of the first."""
    sizes = [a.question.size for a in alone]
    both = algebra.beside([a.schedule for a in alone], sizes)
    return simulate(both, alone[0].question.cluster, sum(sizes))


def _ends(alone: Sequence[Answer], flows: Flows) -> list[float]:
    """When the last byte of each arrives, seconds."""
    first = flows.rows.chunk < alone[0].schedule.chunks
    return [float(flows.end[mine].max(initial=0.0)) for mine in (first, ~first)]


def _summary(alone: Sequence[Answer], ends: Sequence[float], flows: Flows | None) -> str:
    """Both at once beside one after the other, and the busiest link with what each sends over it."""
    topology = alone[0].question.cluster.topology
    apart = sum(a.time for a in alone)
    said = f"both at once {show_seconds(max(ends))}; one after the other {show_seconds(apart)}"
    if flows is None:
        return f"{said}; they share no link"
    used = np.flatnonzero(flows.load > 0)
    if not len(used):
        return said
    link = int(used[(flows.load[used] / topology.bandwidth[used]).argmax()])
    parts = [
        f"{show_size(0.0 if a.load is None else float(a.load[link]))} of {a.question.collective}"
        for a in alone
    ]
    return f"{said}; the busiest link, {topology.link_name(link)}, carries {' and '.join(parts)}"
