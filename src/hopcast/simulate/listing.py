"""All sends of a schedule in one list, with their routes, and what each waits for."""

import functools

import numpy as np

from hopcast.interpret import cells
from hopcast.ir.cluster import Cluster
from hopcast.ir.schedule import Schedule, Sends, join
from hopcast.ir.topology import Ints
from hopcast.names import InputError

from . import network
from .arcs import Arcs, Touches, arcs
from .network import Longs, Problem

MOST_CROSSINGS = 60_000_000  # of links, 16 bytes each in the engine and as much again on the way there
MOST_SENDS = 8_000_000  # about 3 GiB; of sends that all wait for nothing the engine takes as many again
FEW_SENDS = 500  # that are followed before anything compiled has been loaded
FEW_LISTED = 300_000  # of several steps, listed though nobody asks for the times of all: some 80 MB;
WELCOME = 2_000_000  # the same, where somebody would rather know them: half a GB or more
_REMEMBERED = 300_000  # sends of which it is remembered what waits for what: some 20 MB


class TooManyError(InputError):
    """There are more sends, or links that they cross, than can be followed one by one."""


def listed(schedule: Schedule) -> tuple[Longs, Sends]:
    """All sends and their steps, if they are not too many: counted, where one rank's tell, before made."""
    most = MOST_SENDS * (2 if schedule.step_count == 1 else 1)
    orbit = None if schedule.orbit is None else schedule.orbit()
    parts, count = [], 0
    if orbit is not None and len(orbit.step) * schedule.groups.size > most:
        raise _too_many(schedule, most)
    for part in schedule.steps():
        parts.append(part)
        count += len(part)
        if count > most:
            raise _too_many(schedule, most)
    return _joined(parts)


def _joined(parts: list[Sends]) -> tuple[Longs, Sends]:
    return np.repeat(np.arange(len(parts)), [len(p) for p in parts]), join(parts)


def few(schedule: Schedule, most: int) -> tuple[Longs, Sends] | None:
    """The same of several steps, where they are no more than so many, else None."""
    parts, count = [], 0
    if schedule.step_count == 1:
        return None
    for part in schedule.steps():
        parts.append(part)
        count += len(part)
        if count > min(most, MOST_SENDS):
            return None
    return _joined(parts)


def fits(schedule: Schedule, many: int, most: int | None = None) -> None:
    """Whether there are not too many sends.

    Raises:
        TooManyError: if there are more than ``most``, or `MOST_SENDS`.
    """
    most = MOST_SENDS if most is None else most
    if many > most:
        raise _too_many(schedule, most)


def _too_many(schedule: Schedule, most: int) -> TooManyError:
    return TooManyError(
        f"flows of more than {most:,} sends ({schedule!r}) are too many where ranks or links differ; "
        "use --price steps"
    )


def problem(
    schedule: Schedule, cluster: Cluster, size: float, gamma: float, step: Longs, rows: Sends
) -> Problem:
    """All sends on all links."""
    pair, src, dst = network.pairs(rows, max(schedule.vertices, cluster.topology.vertices))
    crossings_fit(schedule, cluster, src, dst, len(rows))
    found = network.paths(cluster, src, dst)
    volume = schedule.bytes(rows, size)
    vertices = max(schedule.vertices, cluster.topology.vertices)
    wait = waits(step, rows, vertices, schedule.chunks)
    return Problem(cluster.topology.bandwidth, found, pair, volume, gamma * volume * (rows.op == 1), wait)


def waits(step: Longs, rows: Sends, vertices: int, chunks: int) -> Arcs:
    """What waits for what; by the compiled engine where it is worth while."""
    if len(rows) <= FEW_SENDS or len(rows) > _REMEMBERED or step[0] == step[-1]:
        return fresh_waits(step, rows, vertices, chunks)
    columns = (rows.src, rows.dst, rows.chunk, rows.count, rows.op, rows.lane)
    return _known_waits(tuple(c.tobytes() for c in (step, *columns)), vertices, chunks)


def fresh_waits(step: Longs, rows: Sends, vertices: int, chunks: int) -> Arcs:
    """The same, and it is not remembered."""
    single = not len(step) or step[0] == step[-1]
    if not single and len(rows) > FEW_SENDS:
        return _compiled_waits(step, rows, vertices, chunks)
    row, chunk = cells(rows, chunks) if not single else (np.zeros(0, np.int64),) * 2
    read, write = (Touches(row, v[row].astype(np.int64) * chunks + chunk) for v in (rows.src, rows.dst))
    lane = rows.src.astype(np.int64) * (int(rows.lane.max(initial=0)) + 1) + rows.lane
    return arcs(step, read, write, lane)


def _compiled_waits(step: Longs, rows: Sends, vertices: int, chunks: int) -> Arcs:
    from . import arcs_engine  # compiled, as `general` is

    return arcs_engine.compiled(step, rows, vertices, chunks)


@functools.lru_cache(maxsize=2)
def _known_waits(columns: tuple[bytes, ...], vertices: int, chunks: int) -> Arcs:
    """Once for the same sends: they are with every size of a sweep."""
    kinds = (np.int64, np.int32, np.int32, np.int32, np.int32, np.uint8, np.uint16)
    step, *rest = (np.frombuffer(c, k) for c, k in zip(columns, kinds, strict=True))
    return _compiled_waits(step, Sends(*rest), vertices, chunks)


def crossings_fit(schedule: Schedule, cluster: Cluster, src: Ints, dst: Ints, sends: int) -> None:
    """Whether all links that all sends cross can be listed, judged by a sample of the pairs.

    Raises:
        TooManyError: if they are.
    """
    if len(src) < 10_000:
        return
    some = np.linspace(0, len(src) - 1, 1000).astype(np.int64)
    crossings = len(network.paths(cluster, src[some], dst[some]).link) / 1000 * sends
    if crossings > MOST_CROSSINGS:
        raise TooManyError(
            f"flows that cross some {crossings:,.0f} links in all ({schedule!r}) are too many where ranks or "
            f"links differ, more than {MOST_CROSSINGS:,}; use --price steps"
        )
