"""The compiled event loop of `one_link`: every send, one by one."""

from typing import NamedTuple

from .compiled import inlined, inner, outer
from .link import SAME, Links, happen, hold
from .state import Floats, Items, Longs

EVENTS, INSTANTS, DONE, IS_CROWDED, BELL, RUNG, TALLY = range(7)  # places in ``tally``, and how many
CROWD = 256  # sends on a link at once, all of which are looked at in each of its events
MORE, OVER, CROWDED, PULL = range(4)  # what `run` returns


class State(NamedTuple):
    """All arrays of a run. A node is a send, or a gate of `arcs`.

    Shapes: s sends, n nodes.

    Attributes:
        links: Where a row is a send.
        wire: ``int32[s]``: the link of each.
        lag: ``float64[s]``: latency.
        arc, target: Node i is waited for by ``target[arc[i]:arc[i + 1]]``.
        pending: ``int32[n]``: arcs that a node still waits for.
        ready, start, end, blame: As in `ran`.
        stack: Room for gates that are free.
        tally: See above; gates from BELL on are bells (see `window`), and RUNG tells of one.
        clock: Now.
    """

    links: Links
    wire: Items
    lag: Floats
    arc: Longs
    target: Items
    pending: Items
    ready: Floats
    start: Floats
    end: Floats
    blame: Items
    stack: Longs
    tally: Longs
    clock: Floats


@outer
def begin(s: State, since: int) -> None:
    """Make ready now what waits for nothing, of the sends from one on."""
    for send in range(since, len(s.wire)):
        if s.pending[send] == 0:
            _release(s, send, s.clock[0])


@outer
def run(s: State, budget: int) -> int:
    """Go on until nothing moves (OVER), for so many events, a bell rings (PULL), or many meet (CROWDED)."""
    tally, clock, links = s.tally, s.clock, s.links
    stop = tally[EVENTS] + budget
    while tally[EVENTS] < stop:
        if tally[IS_CROWDED] == 1:
            return CROWDED
        if tally[RUNG] == 1:
            tally[RUNG] = 0
            return PULL
        if links.heaped[0] == 0:
            return OVER
        link = links.queued[0]
        tally[EVENTS] += 1
        if links.next[link] > clock[0] * (1.0 + SAME):
            clock[0] = links.next[link]
            tally[INSTANTS] += 1
        row = happen(links, link, clock[0])
        if row < 0:
            s.start[-1 - row] = clock[0]
            if links.many[link] > CROWD:
                tally[IS_CROWDED] = 1
        else:
            s.end[row] = clock[0]
            tally[DONE] += 1
            _receive(s, row, clock[0])
    return MORE


@inlined
def _receive(s: State, send: int, now: float) -> None:
    """Count down what waits for a send, through gates, and make ready what is free."""
    many = len(s.wire)
    s.stack[0] = send
    depth = 1
    while depth > 0:
        depth -= 1
        node = s.stack[depth]
        for a in range(s.arc[node], s.arc[node + 1]):
            at = s.target[a]
            s.pending[at] -= 1
            if s.pending[at] > 0:
                continue
            if at < many:
                s.blame[at] = send
                _release(s, at, now)
            elif at >= s.tally[BELL]:
                s.tally[RUNG] = 1
            else:
                s.stack[depth] = at
                depth += 1


@inner
def _release(s: State, send: int, now: float) -> None:
    """A send is ready: its first byte leaves after its latency."""
    s.ready[send] = now
    hold(s.links, s.wire[send], send, now + s.lag[send])
    if s.links.held[s.wire[send]] > CROWD:
        s.tally[IS_CROWDED] = 1
