"""What check does with random tokens, done with sets: exact, slow, and written without it."""

from hopcast.ir.collective import ALL
from hopcast.ir.schedule import REDUCE, Schedule

TWICE = ("twice", -1)


def computes(schedule: Schedule) -> bool:
    """Whether every rank ends with what the collective wants, and no send breaks the rules on the way."""
    state: dict[tuple[int, int], frozenset[tuple[object, int]]] = {}
    origin, goal = schedule.collective.origin.tolist(), schedule.collective.goal.tolist()
    groups = schedule.groups.tolist()
    for g, ranks in enumerate(groups):
        for chunk, of in enumerate(origin):
            for local in range(len(ranks)) if of == ALL else [of]:
                state[ranks[local], chunk] = frozenset({(g, local)})
    for rows in schedule.steps():
        arrivals: dict[tuple[int, int], list[tuple[int, frozenset[tuple[object, int]]]]] = {}
        for src, dst, first, count, op in zip(
            *(c.tolist() for c in (rows.src, rows.dst, rows.chunk, rows.count, rows.op)), strict=True
        ):
            for chunk in ((first + i) % schedule.chunks for i in range(count)):
                if (src, chunk) not in state:
                    return False
                arrivals.setdefault((dst, chunk), []).append((op, state[src, chunk]))
        for cell, parts in arrivals.items():
            if len(parts) > 1 and any(op != REDUCE for op, _ in parts):
                return False
            for op, value in parts:
                had = state.get(cell, frozenset()) if op == REDUCE else frozenset()
                state[cell] = had | value | ({TWICE} if had & value else frozenset())
    for g, ranks in enumerate(groups):
        for chunk, (of, to) in enumerate(zip(origin, goal, strict=True)):
            want = frozenset((g, local) for local in (range(len(ranks)) if of == ALL else [of]))
            for local in range(len(ranks)) if to == ALL else [to]:
                if state.get((ranks[local], chunk)) != want:
                    return False
    return True
