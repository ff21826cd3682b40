"""Every file of algorithms/ is built, checked and held to its claims; a new file needs no new test."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from by_sets import computes
from grids import cluster, group

from hopcast import algorithms
from hopcast.interpret import CheckError, check
from hopcast.ir.algebra import lay
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import ROOTED
from hopcast.ir.group import Group, Hint
from hopcast.ir.schedule import Schedule, from_columns
from hopcast.names import InputError
from hopcast.price.steps import steps
from hopcast.simulate.reference import simulate

RINGS = ("3w", "4w", "5w", "8w", "13w", "16w", "64w")
CHAINS = ("2", "3", "4", "5", "8", "13", "16")
GRIDS = (
    "4wx4w", "3wx5w", "5wx5w", "4wx8w", "2x4w", "1x4", "6wx1", "4x4", "3x3", "3x5", "2x3", "4x8", "4wx4",
    "3x4w", "8wx4", "2x2", "4wx4wx4w", "3wx3wx3w", "2x2x2", "2x2x4", "3x3x3", "4wx2x3", "2x4wx4w",
)  # fmt: skip
SWITCHES = tuple(f"switch:{n}" for n in (2, 3, 4, 5, 7, 8, 13, 16, 32, 61, 64))
SLICES = ("slices:2:1", "slices:2:2", "slices:2:2x2", "slices:3:3w", "slices:2:4wx4w", "slices:3:2x4")
REDUCING = ("switch:2+", "switch:3+", "switch:5+", "switch:8+", "switch:13+")
FAT = ("fat:2x2", "fat:3x2", "fat:2x5+", "fat:4x3+", "fat:4x4", "fat:5x4", "fat:1x4+")
SMALL = ("4w", "4", "switch:4", "2x3", "switch:5", "slices:2:2", "switch:3+", "fat:2x2+")
GROUPS = RINGS + CHAINS + GRIDS + SWITCHES + SLICES + REDUCING + FAT
SIZE, RATE, ALPHA = 64.0, 64e6, 1e-6  # latency and bytes weigh alike, and a pipeline has at most 64 chunks

ALL = [algorithms.get(name) for name in algorithms.names()]
GIVEN = [(a, c) for a in ALL for c in a.collectives]
each_given = pytest.mark.parametrize(("algorithm", "collective"), GIVEN, ids=lambda x: getattr(x, "name", x))
each_algorithm = pytest.mark.parametrize("algorithm", ALL, ids=lambda a: a.name)


def variants(algorithm: algorithms.Algorithm) -> Iterator[dict[str, str]]:
    """The default, and every other value of every option."""
    yield {}
    for key, values in algorithm.options.items():
        yield from ({key: v} for v in (values[1:] or ("3",)))


def hints(collective: str, ranks: int, options: dict[str, str], alpha: float) -> Iterator[Hint]:
    hint = Hint(SIZE, alpha, options=options)
    if collective in ROOTED:
        yield from (replace(hint, root=r) for r in {0, ranks // 2})
    elif collective == "permute":
        yield from (replace(hint, shift=s) for s in (1, ranks // 2, -1, 0))
    else:
        yield hint


def cases(
    algorithm: algorithms.Algorithm, collective: str, alpha: float, names: tuple[str, ...] = GROUPS
) -> Iterator[tuple[str, Cluster, Group, Hint]]:
    """Where it fits, with every option and a few roots and shifts."""
    for name in names:
        where = cluster(name, RATE, alpha)
        mine = group(where)
        for options in variants(algorithm):
            for hint in (
                hints(collective, mine.ranks, options, alpha) if not options or mine.ranks <= 16 else ()
            ):
                if algorithm.valid(collective, mine, hint) is None:
                    yield f"{name} {options} root={hint.root} shift={hint.shift}", where, mine, hint


def laid(
    algorithm: algorithms.Algorithm, collective: str, where: Cluster, mine: Group, hint: Hint
) -> Schedule:
    return lay(algorithm.build(collective, mine, hint), mine.all_groups, where.topology.vertices, mine.hubs)


@each_given
def test_it_computes_its_collective_wherever_it_says_it_fits(algorithm, collective):
    tried = 0
    for name, where, mine, hint in cases(algorithm, collective, ALPHA):
        schedule = laid(algorithm, collective, where, mine, hint)
        try:
            check(schedule)
        except CheckError as error:
            pytest.fail(f"{name}: {error}")
        assert schedule.collective.name == collective
        assert schedule.algorithm.split(",")[0] == algorithm.name
        if mine.ranks <= 16 or name.startswith("switch:64"):
            assert computes(schedule), name
        tried += 1
    assert tried, "no group of the table fits it"


@each_given
@pytest.mark.parametrize("alpha", [0.0, ALPHA])
def test_formula_is_steps_and_where_it_says_so_flows(algorithm, collective, alpha):
    for name, where, mine, hint in cases(algorithm, collective, alpha):
        formula = algorithm.cost(collective, mine, hint)
        if formula is None:
            assert not algorithm.exact(collective, mine, hint), name
            continue
        schedule = laid(algorithm, collective, where, mine, hint)
        stepped = steps(schedule, where, SIZE)
        assert stepped.latency == pytest.approx(formula.latency, rel=1e-9), name
        assert stepped.bandwidth == pytest.approx(formula.bandwidth, rel=1e-9), name
        if algorithm.exact(collective, mine, hint):
            assert simulate(schedule, where, SIZE).seconds == pytest.approx(formula.total(), rel=1e-9), name


@each_algorithm
def test_a_closed_form_is_exact_somewhere(algorithm):
    if not hasattr(algorithm.module, "cost"):
        return
    for collective in algorithm.collectives:
        found = list(cases(algorithm, collective, ALPHA)) + list(cases(algorithm, collective, 0.0))
        if any(algorithm.cost(collective, mine, hint) for _, _, mine, hint in found):
            assert any(algorithm.exact(collective, mine, hint) for _, _, mine, hint in found), collective


@each_given
def test_steps_that_say_they_repeat_do(algorithm, collective):
    for name, where, mine, hint in cases(
        algorithm, collective, ALPHA, ("5w", "4", "3wx3w", "4x4", "switch:5")
    ):
        schedule = laid(algorithm, collective, where, mine, hint)
        known = {}
        for i, rows in enumerate(schedule.steps()):
            size = np.bincount(rows.src * schedule.vertices + rows.dst, schedule.bytes(rows, 1.0))
            first = known.setdefault(schedule.key(i), size)
            assert first.shape == size.shape, f"{name} step {i}"
            assert np.allclose(first, size, rtol=1e-12), f"{name} step {i}"


def edited(schedule: Schedule) -> Iterator[tuple[str, bool, Schedule]]:
    """Each send lost, sent twice in its step, sent to the next vertex; and whether it may do no harm."""
    name, root = schedule.collective.name, schedule.collective.root
    columns = schedule.columns()
    for i in range(len(columns["step"])):
        lost = {k: np.delete(v, i) for k, v in columns.items()}
        double = {k: np.append(v, v[i]) for k, v in columns.items()}
        astray = {k: v.copy() for k, v in columns.items()}
        astray["dst"][i] = (astray["dst"][i] + 1) % schedule.ranks
        for word, table in (("lost", lost), ("doubled", double), ("misdirected", astray)):
            changed = from_columns(schedule.collective, "edited", schedule.groups, table, schedule.share)
            # The root of a broadcast has it already; a sum that goes another way in time is another tree.
            spare = name == "broadcast" and columns["dst"][i] == root
            detour = word == "misdirected" and schedule.collective.reduces
            yield f"send {i} {word}", spare or detour, replace(changed, vertices=schedule.vertices)


def passes(schedule: Schedule) -> bool:
    try:
        check(schedule)
    except CheckError:
        return False
    return True


@each_given
def test_no_send_can_be_lost_doubled_or_misdirected_unnoticed(algorithm, collective):
    done = 0
    for name, where, mine, hint in cases(algorithm, collective, ALPHA, SMALL):
        schedule = laid(algorithm, collective, where, mine, hint)
        if hint.options or sum(map(len, schedule.steps())) > 64:
            continue
        for word, harmless, changed in edited(schedule):
            right = computes(changed)
            assert passes(changed) == right, f"{name}: {word}"
            spare = bool(getattr(algorithm.module, "SPARE", ""))
            assert harmless or spare or not right, f"{name}: {word}"
        done += 1
        if done == 3:
            return
    assert done, "no schedule small enough"


@each_algorithm
def test_it_says_where_it_comes_from_and_what_it_does(algorithm):
    assert len(algorithm.source) > 10
    assert len(algorithm.module.__doc__.split("\n")) > 4
    assert "Cost:" in algorithm.module.__doc__ or not hasattr(algorithm.module, "cost")
    assert algorithm.collectives
    for key, values in algorithm.options.items():
        for value in values or ("7",):
            assert algorithms.parse(f"{algorithm.name},{key}={value}")[1] == {key: value}
        with pytest.raises(InputError):
            algorithms.parse(f"{algorithm.name},{key}=nonsense")
    with pytest.raises(InputError):
        algorithms.parse(f"{algorithm.name},no_such=1")


@each_given
def test_one_rank_has_nothing_to_do(algorithm, collective):
    mine, hint = group(cluster("1")), Hint(SIZE)
    if algorithm.valid(collective, mine, hint):  # it says that it needs two
        with pytest.raises(InputError):
            algorithm.build(collective, mine, hint)
        return
    schedule = algorithm.build(collective, mine, hint)
    check(schedule)
    assert schedule.step_count == 0
    assert algorithm.cost(collective, mine, hint).total() == 0


@each_given
def test_a_refusal_is_one_line_that_says_why(algorithm, collective):
    for name in ("switch:5", "switch:6", "4", "4x4", "3wx5w"):
        mine, hint = group(cluster(name)), Hint(SIZE)
        reason = algorithm.valid(collective, mine, hint)
        if reason is not None:
            assert "\n" not in reason
            assert algorithm.name in reason
            assert name in reason
            with pytest.raises(InputError, match=algorithm.name):
                algorithm.build(collective, mine, hint)
