"""The rules of flows (see `reference`), fast: compiled, and by shortcuts where these give the same answer.

The first way that fits is taken:

- `relay`: sends never meet on a link, and all ranks do alike. Maxima and sums over vectors, any speeds of
  links, also with jitter and with ranks that are late or slow.
- `symmetry`: besides, all links of a kind are alike. One rank's sends stand for all.
- `parts`: ranks do not do alike, but channels do, each on a rail of its own. One stands for all.
- `repeat`: many rounds of the same sends, each over one link that it may share.
- `relay_steps`: sends never meet, but ranks do not do alike.
- `walked`: every pair of a wrapped grid at once, more flows than can be listed.
- `wave`: sends that wait for nothing, and end with the busiest link: two bounds meet, and no event is needed.
- `refine`: sends that wait for nothing, some of which turn out to be alike.
- `folded`: every send, event by event, where all ranks do alike.
- `one_link`: the same of any sends that each cross one link.
- `general`: of all others.

Where these two follow many sends whose times are not asked for, each step is pulled when a lane needs it, and
what is over is dropped: see `window`.

Where many share links and wait for each other, a difference in the last digit may grow until all can see it.
Whatever is asked, such sends are therefore followed by loops that add the same numbers in the same order:
`folded`, or `repeat` and `one_link`.
"""

import functools
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule, Sends
from hopcast.names import InputError

from . import (
    folded,
    listing,
    network,
    noise,
    one_link,
    plain,
    reference,
    refine,
    relay,
    relay_steps,
    symmetry,
    walked,
    wave,
)
from .flowed import Flows as Flows
from .flowed import brief, noted
from .network import Longs, Problem
from .noise import Noise
from .parts import one_for_all
from .ran import Ran
from .repeat import passed as repeated
from .stuck import explain

_PATIENCE = (
    10_000  # array operations, about half a second: as long as it takes to load numba (2 cores, 2026-11)
)
Progress = Callable[[float], None]


def simulate(
    schedule: Schedule,
    cluster: Cluster,
    size: float,
    gamma: float = 0.0,
    shortcut: bool = True,
    detail: bool = True,
    progress: Progress | None = None,
    uneven: Noise | None = None,
    most: int | None = None,
    kept: int | None = None,
) -> Flows:
    """Run a schedule on a cluster.

    Args:
        schedule: On the cluster's ranks.
        cluster: Gives routes, bandwidths and latencies.
        size: D of one group, bytes.
        gamma: Seconds to reduce one byte at the receiver.
        shortcut: Whether to use symmetry where the schedule and the cluster have it. The answer is the same.
        detail: Whether the times of all sends are wanted; shortcuts do not give them, nor do sends that are
            too many to list.
        progress: Called now and then with the part that is done.
        uneven: What makes sends take other times than rated.
        most: Sends to follow one by one at most, of which those that are under way are in memory
            (`listing.MOST_SENDS`),
        kept: or all, if there are no more than so many (`listing.FEW_LISTED`). Of these all times are told.

    Raises:
        InputError: if the schedule has too many sends without a shortcut, or sends are stuck.

    >>> from hopcast.algorithms import get
    >>> from hopcast.clusters import cluster
    >>> from hopcast.ir.group import Hint
    >>> from hopcast.ir.mesh import group, physical
    >>> c = cluster("torus:4x4x4,bandwidth=45GB/s,latency=0")
    >>> s = get("direct").build("all_to_all", group(c, physical(c.topology), ()), Hint())
    >>> short, full = simulate(s, c, 2**30, detail=False), simulate(s, c, 2**30, shortcut=False)
    >>> round(short.seconds * 1e6, 6), short.how
    (186.413511, "one rank's sends stand for all: 63 for 4,032 sends, 6 classes of links")
    >>> bool(np.isclose(full.seconds, short.seconds, rtol=1e-12)), full.solved
    (True, 4032)
    """
    if shortcut and not detail:
        found = _short(schedule, cluster, size, gamma, progress, uneven)
        if found is None and uneven is None:
            found = _one_part(schedule, cluster, size, gamma, progress)
        if found is not None:
            return found
        r = repeated(schedule, cluster, size, gamma, progress, uneven)
        if r is not None:
            return brief(r.seconds, r.latency, r.load, 0, f"round after round: {r.sends:,} sends", r.sends)
        strewn = relay_steps.passed(schedule, cluster, size, gamma, progress, uneven)
        if strewn is not None:
            how = f"sends never meet: all {strewn.sends:,}, step by step"
            return brief(strewn.seconds, strewn.latency, strewn.load, 0, how, strewn.sends)
    if not _has_numba():
        return _by_reference(schedule, cluster, size, gamma, uneven)
    if uneven is None and _is_walked(schedule, cluster, shortcut or detail):
        return _walked(schedule, cluster, size, progress)
    if not (shortcut or detail) and uneven is None:
        found = _moved(schedule, cluster, size, gamma, progress, whole=True)
        if found is not None:
            return found
    pulled = functools.partial(_windowed, schedule, cluster, size, gamma, progress, uneven, most)
    few = listing.few(schedule, listing.FEW_LISTED if kept is None else kept)
    found = None if detail or few is not None else pulled()
    if found is not None:
        return found
    try:
        step, rows = few or listing.listed(schedule)
    except listing.TooManyError:
        found = pulled() if detail else None
        if found is None:
            raise
        return found
    whole = listing.problem(schedule, cluster, size, gamma, step, rows)
    if shortcut and uneven is None:
        ended = None if detail else wave.ended(whole)
        if ended is not None:
            return brief(*ended, whole.load(), 0, f"one wave of {len(rows):,} sends: two bounds meet", 0)
        alike = refine.quotient(whole)
        if alike is not None:
            return _refined(schedule, cluster, rows, step, whole, alike, progress)
    timed = whole if uneven is None else noise.applied(whole, uneven, step, rows)
    ran = plain.run(timed, _PATIENCE) if len(rows) <= listing.FEW_SENDS else None
    if ran is None and uneven is None:
        ran = _moved_in_list(schedule, cluster, size, gamma, step, rows, progress)
    ran = ran or one_link.run(timed, progress) or _compiled(timed, progress)
    assert ran is not None
    return finished(schedule, cluster, rows, step, whole, noise.without(ran, len(rows)))


def finished(
    schedule: Schedule, cluster: Cluster, rows: Sends, step: Longs, problem: Problem, ran: Ran
) -> Flows:
    """The record of a run of all sends.

    Raises:
        InputError: if sends are stuck, with the chain of waits.
    """
    if ran.left.any():
        raise InputError(explain(schedule, cluster, rows, step, problem, ran))
    how = f"every send: {len(rows):,}, {problem.pieces:,} flows"
    return Flows(
        ran.seconds, problem.load(), ran.ready, ran.start, ran.end, ran.blame, step, rows, ran.events,
        how, len(rows), ran.latency(), noted(ran),
    )  # fmt: skip


def _windowed(
    schedule: Schedule,
    cluster: Cluster,
    size: float,
    gamma: float,
    progress: Progress | None,
    uneven: Noise | None,
    most: int | None,
) -> Flows | None:
    """Every send, pulled when it may begin and dropped when it is over; None where they are few."""
    from . import windowed  # numba is imported only where it is needed

    found = windowed.run(schedule, cluster, size, gamma, progress, uneven, most)
    if found is None:
        return None
    how = f"every send: {found.sends:,}, at most {found.most:,} at a time; none of their times is kept"
    about = (found.seconds, found.latency, found.load, found.events, how, found.sends)
    return replace(brief(*about), note=noted(found), pulled=True)


def _refined(
    schedule: Schedule,
    cluster: Cluster,
    rows: Sends,
    step: Longs,
    whole: Problem,
    few: refine.Quotient,
    progress: Progress | None,
) -> Flows:
    """From one flow of each colour to all sends."""
    ran = plain.run(few.problem, _PATIENCE) or _compiled(few.problem, progress)
    assert ran is not None
    found = finished(schedule, cluster, rows, step, whole, refine.expanded(few, ran, whole))
    kinds = len(few.problem.volume)
    how = f"alike by colour refinement: {kinds:,} for {len(few.flow):,} flows, {few.links:,} classes of links"
    return replace(found, how=how, solved=kinds)


def _is_walked(schedule: Schedule, cluster: Cluster, listed: bool) -> bool:
    """Whether all flows are walked: where they fit and are not to be ``listed``, or are too many for that."""
    over = walked.fits(schedule, cluster)
    if over is None or not walked.is_quick(cluster, over):
        return False
    if not listed:
        return True
    sends = schedule.groups.size * (schedule.ranks - 1)
    if sends > 2 * listing.MOST_SENDS:
        return True
    group = schedule.groups[0]
    found = network.paths(cluster, np.repeat(group[:1], schedule.ranks - 1), group[1:])
    return len(found.link) * schedule.groups.size > listing.MOST_CROSSINGS


def _walked(schedule: Schedule, cluster: Cluster, size: float, progress: Progress | None) -> Flows:
    """Every flow, none of them listed."""
    found = walked.run(schedule, cluster, size, progress)
    assert found is not None
    sends = schedule.groups.size * (schedule.ranks - 1)
    how = f"every send: {sends:,}, {found.flows:,} flows, routes walked, {found.cells:,} kinds told apart"
    return brief(found.seconds, found.latency, found.load, found.events, how, sends)


def is_alike(schedule: Schedule, cluster: Cluster) -> bool:
    """Whether one rank's sends stand for all, so that size costs next to nothing."""
    return schedule.orbit is not None and symmetry.fits(schedule, cluster) is not None


def _short(
    schedule: Schedule,
    cluster: Cluster,
    size: float,
    gamma: float,
    progress: Progress | None,
    uneven: Noise | None = None,
) -> Flows | None:
    """By symmetry; None where there is none."""
    orbit = None if schedule.orbit is None else schedule.orbit()
    if orbit is None:
        return None
    if schedule.step_count > 1:
        passed = relay.relay(schedule, cluster, size, gamma, progress, uneven)
        if passed is not None:
            every = schedule.groups.size * len(orbit.step)
            how = f"sends never meet: one rank's {passed.sends:,} stand for {every:,}"
            if passed.sends == every:
                how = f"sends never meet: all {every:,}, at all ranks at a time"
            return brief(passed.seconds, passed.latency, passed.load, 0, how, passed.sends)
    quotient = None if uneven else symmetry.problem(schedule, cluster, size, gamma)
    if quotient is None:
        return None if uneven else _moved(schedule, cluster, size, gamma, progress)
    problem, classes = quotient
    ran = plain.run(problem, _PATIENCE) or _compiled(problem, progress)
    if ran is None:
        return None
    one = len(problem.volume)
    how = f"one rank's sends stand for all: {one:,} for {one * schedule.groups.size:,} sends, "
    how += f"{len(classes.size)} classes of links"
    return brief(ran.seconds, ran.latency(), problem.load()[classes.of], ran.events, how, one)


def _moved_in_list(
    schedule: Schedule,
    cluster: Cluster,
    size: float,
    gamma: float,
    step: Longs,
    rows: Sends,
    progress: Progress | None,
) -> Ran | None:
    """The same for listed sends, in the order of these; None too where they cannot be told apart."""
    problem = folded.folded(schedule, cluster, size, gamma, whole=True)
    at = None if problem is None else folded.listed(problem, schedule, step, rows)
    ran = None if problem is None or at is None else _compiled(problem, progress)
    return None if at is None or ran is None else ran.taken(at)


def _moved(
    schedule: Schedule,
    cluster: Cluster,
    size: float,
    gamma: float,
    progress: Progress | None,
    whole: bool = False,
) -> Flows | None:
    """Every send, found by moving those of one rank; None where ranks do not do alike, or sends are stuck.

    Unless the ``whole`` is asked for, one place may stand for others.
    """
    problem = folded.folded(schedule, cluster, size, gamma, whole)
    if whole and problem is not None and len(problem.volume) * problem.places <= listing.FEW_SENDS:
        return None
    ran = None if problem is None else _compiled(problem, progress)
    if problem is None or ran is None or ran.left.any():
        return None
    one, places = len(problem.volume), problem.places
    how = f"every send: {one * places:,} by moving one rank's {one:,}, {problem.pieces:,} flows"
    if problem.of is not None:
        how = f"moved places stand for each other: {one * places:,} for {one * schedule.groups.size:,} sends"
    return brief(ran.seconds, ran.latency(), problem.load(), ran.events, how, one * places)


def _one_part(
    schedule: Schedule, cluster: Cluster, size: float, gamma: float, progress: Progress | None
) -> Flows | None:
    """Of parts that do alike the sends of one; None where there are none, or its sends are stuck."""
    part = one_for_all(schedule, cluster, listing.MOST_SENDS)
    if part is None:
        return None
    rows, volume = part.rows, schedule.bytes(part.rows, size)
    vertices = max(schedule.vertices, cluster.topology.vertices)
    wait = listing.waits(part.step, rows, vertices, part.chunks)
    after = gamma * volume * (rows.op == 1)
    problem = Problem(part.capacity, part.paths, part.pair, volume, after, wait)
    ran = plain.run(problem, _PATIENCE) if len(rows) <= listing.FEW_SENDS else None
    ran = ran or _compiled(problem, progress)
    if ran is None or ran.left.any():
        return None
    how = f"one part's sends stand for all: {len(rows):,} for {len(rows) * part.stands_for:,} sends, "
    how += f"{problem.pieces:,} flows"
    load = problem.load()[part.of]
    return replace(brief(ran.seconds, ran.latency(), load, ran.events, how, len(rows)), note=noted(ran))


def _compiled(problem: Problem, progress: Progress | None) -> Ran | None:
    """By the compiled engine; None where there is none."""
    if not _has_numba():
        return None
    from . import general  # numba is imported only where it is needed

    return general.run(problem, progress)


def _has_numba() -> bool:
    """Whether it is installed; it is not loaded by asking."""
    if "numba" in sys.modules:
        return sys.modules["numba"] is not None
    return importlib.util.find_spec("numba") is not None


def _by_reference(
    schedule: Schedule, cluster: Cluster, size: float, gamma: float, uneven: Noise | None = None
) -> Flows:
    """The definition itself, where nothing can be compiled."""
    r = reference.simulate(schedule, cluster, size, gamma, uneven)
    how = "the reference engine: every send"
    note = "flows: numba is not installed, so the slower reference engine answers"
    return Flows(
        r.seconds, r.load, r.ready, r.start, r.end, r.blame, r.step, r.rows, r.events, how, len(r.rows),
        r.critical_latency(), note,
    )  # fmt: skip
