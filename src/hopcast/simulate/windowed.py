"""Every send, event by event, of schedules with more of them than are kept in memory: see `window`."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule
from hopcast.ir.topology import Floats
from hopcast.names import InputError

from . import general, listing, network, one_link
from .noise import Noise
from .stuck import explain
from .window import Window, look


@dataclass(frozen=True, eq=False)
class Windowed:
    """What came of all sends.

    Attributes:
        seconds: When the last was received.
        latency: Seconds of the critical path in which a send waits for its first byte.
        load: ``float64[m]``: bytes over each link.
        events: Times at which rates changed.
        sends: How many there were.
        most: Sends that were kept at a time at most.
        window: As of `ran`.
    """

    seconds: float
    latency: float
    load: Floats
    events: int
    sends: int
    most: int
    window: float


def run(
    schedule: Schedule,
    cluster: Cluster,
    size: float,
    gamma: float = 0.0,
    progress: Callable[[float], None] | None = None,
    uneven: Noise | None = None,
    most: int | None = None,
) -> Windowed | None:
    """Simulate all sends, those under way in memory; None if all are at once, or ranks start late.

    Args: as of `flows.simulate`.

    Raises:
        TooManyError: if there are more than ``most``, or too many of them or of the links that they cross are
            under way at a time.
        InputError: if sends are stuck, with the chain of waits.

    Cost: one to two microseconds for each send.
    """
    if schedule.step_count < 2 or (uneven is not None and uneven.late):
        return None
    book = look(schedule, max(schedule.vertices, cluster.topology.vertices), size, most)
    if book is None:
        return None
    src, dst = (c.astype(np.int32) for c in np.divmod(book.code, book.vertices))
    listing.crossings_fit(schedule, cluster, src, dst, max(len(src), listing.FEW_SENDS))
    paths = network.paths(cluster, src, dst)
    about = (schedule, cluster, size, gamma, uneven, book, paths)
    told = None if progress is None else _rising(progress)
    found = None if gamma > 0 and book.reduces else _followed(Window(*about), True, told)
    return found or _followed(Window(*about), False, told)


def _followed(view: Window, each_one_link: bool, progress: Callable[[float], None] | None) -> Windowed | None:
    """By one engine, from the beginning to the end; None if sends are not as that would have them."""
    problem = view.pull()[1]
    engine = one_link.Run.of(problem) if each_one_link else general.Run(problem)
    if engine is None:
        return None
    while engine.goes_on():
        if engine.rang:
            kept, problem = view.pull(engine.ran())
            engine.move(kept, problem)
        if progress is not None:
            progress((view.received + engine.received) / view.book.sends)
    if isinstance(engine, one_link.Run) and engine.is_crowded:
        return None
    ran = engine.ran()
    if ran.left.any():
        raise InputError(explain(view.schedule, view.cluster, view.rows, view.step, problem, ran))
    view.drop(ran)
    load = view.paths.load(view.book.load, view.cluster.topology.links)
    return Windowed(view.seconds, view.latency, load, ran.events, view.book.sends, view.most, ran.window)


def _rising(progress: Callable[[float], None]) -> Callable[[float], None]:
    """It is not told of less than it has been told of before."""
    told = [0.0]

    def more(part: float) -> None:
        told[0] = max(told[0], part)
        progress(told[0])

    return more
