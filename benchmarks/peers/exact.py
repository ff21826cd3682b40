"""The rules of flows in decimal arithmetic with any number of digits: slow, and as exact as one likes.

Stated here once more, apart from the engines; what waits for what is in the file of export.py, which the
other peers read too.

Source of the rates: progressive filling, Bertsekas and Gallager 1992, Data Networks, section 6.5.2.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, getcontext, localcontext
from itertools import accumulate

SLACK = 4  # digits that rounding may take: with 16, what is nearer than 1e-12 is one, as in the engines
Flow = tuple[int, int]  # a send, and a piece of its route


@dataclass(frozen=True)
class Plan:
    """Sends that wait for each other over routes that share links; all numbers exactly what their floats are.

    Attributes:
        bandwidth: Of each link, bytes/s.
        latency: Of each route, seconds.
        pieces: Of each route, the links of each of its equal parts.
        route: Of each send, as all that follow.
        volume: Bytes.
        waits: For how many sends it waits.
        opens: The sends that wait for it.
    """

    bandwidth: list[Decimal]
    latency: list[Decimal]
    pieces: list[list[list[int]]]
    route: list[int]
    volume: list[Decimal]
    waits: list[int]
    opens: list[list[int]]


def read(text: str) -> Plan:
    """The file of export.py."""
    words = iter(text.split())

    def count(name: str = "") -> int:
        assert not name or next(words) == name, name
        return int(next(words))

    def exactly() -> Decimal:
        return Decimal(float(next(words)))

    plan = Plan([exactly() for _ in range(count("links"))], [], [], [], [], [], [])
    for _ in range(count("routes")):
        plan.latency.append(exactly())
        plan.pieces.append([[count() for _ in range(count())] for _ in range(count())])
    steps: list[int] = []  # sends of each
    ahead: list[tuple[int, list[tuple[int, int]]]] = []  # of each send its step, and who waits how much later
    for _ in range(count("blocks")):
        times = count("block")
        rows = [
            (count(), exactly(), count(), [(count(), count()) for _ in range(count())])
            for _ in range(count())
        ]
        for _ in range(times):
            for route, volume, waits, opens in rows:
                plan.route.append(route)
                plan.volume.append(volume)
                plan.waits.append(waits)
                ahead.append((len(steps), opens))
            steps.append(len(rows))
    first = [0, *accumulate(steps)]
    plan.opens.extend([first[step + later] + send for later, send in opens] for step, opens in ahead)
    return plan


def seconds(plan: Plan, digits: int, size: float = 0.0, links: float = 0.0) -> Decimal:
    """When the last send is received, all arithmetic with so many significant digits.

    Args:
        plan: What is sent.
        digits: Of every number.
        size: All bytes are more by this part.
        links: Each link is faster or slower by a random part up to this.

    Cost: events x (active flows x links of each + levels of rates x links).
    """
    with localcontext(Context(prec=digits)):
        chance = random.Random(0)
        bandwidth = [b * (1 + Decimal(links) * Decimal(chance.uniform(-1, 1))) for b in plan.bandwidth]
        return _run(plan, bandwidth, 1 + Decimal(size))


def _run(plan: Plan, bandwidth: Sequence[Decimal], larger: Decimal) -> Decimal:
    """The rules: a send waits for others, then for its latency; then its pieces flow at fair rates."""
    near = 1 + Decimal(10) ** (SLACK - getcontext().prec)  # what is nearer than rounding is one
    waits, left = list(plan.waits), [len(plan.pieces[route]) for route in plan.route]
    opening = {}  # send: when its bytes begin
    rest: dict[Flow, Decimal] = {}  # bytes of each flow
    now, freed = Decimal(0), [send for send, waited in enumerate(waits) if waited == 0]
    while True:
        for send in freed:
            opening[send] = now + plan.latency[plan.route[send]]
        for send in [s for s, at in opening.items() if at <= now * near]:
            del opening[send]
            for piece in range(left[send]):
                rest[send, piece] = plan.volume[send] * larger / left[send]
        rate = fair({(s, p): plan.pieces[plan.route[s]][p] for s, p in rest}, bandwidth, near)
        end = {flow: now + bytes_left / rate[flow] for flow, bytes_left in rest.items()}
        coming = min([*end.values(), *opening.values()], default=None)
        if coming is None:
            assert not any(left), "sends never started"
            return now
        freed = []
        for flow in list(rest):
            rest[flow] -= rate[flow] * (coming - now)
            if end[flow] <= coming * near:
                del rest[flow]
                left[flow[0]] -= 1
                for other in plan.opens[flow[0]] if left[flow[0]] == 0 else ():
                    waits[other] -= 1
                    if waits[other] == 0:
                        freed.append(other)
        now = coming


def fair(crossed: dict[Flow, list[int]], bandwidth: Sequence[Decimal], near: Decimal) -> dict[Flow, Decimal]:
    """Rates of flows: the links that leave their users least are full, and these have no more than that."""
    users: dict[int, list[Flow]] = {}
    for flow, links in crossed.items():
        for link in links:
            users.setdefault(link, []).append(flow)
    room = {link: bandwidth[link] for link in users}
    count = {link: len(theirs) for link, theirs in users.items()}
    share = {link: room[link] / count[link] for link in users}
    rate: dict[Flow, Decimal] = {}
    while share:
        least = min(share.values())
        touched = set()
        for full in [link for link, each in share.items() if each <= least * near]:
            for flow in users[full]:
                if flow in rate:
                    continue
                rate[flow] = least
                for link in crossed[flow]:
                    room[link] -= least
                    count[link] -= 1
                    touched.add(link)
        for link in touched:
            if count[link]:
                share[link] = room[link] / count[link]
            else:
                del share[link]
    return rate
