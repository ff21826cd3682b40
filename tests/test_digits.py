"""The rules of flows in decimals give the times of the definition, and tell how many digits a time needs."""

import math
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from flowing import every, uneven
from grids import cluster

from hopcast.simulate import flows, reference

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
import digits
from peers import exact, export

W, HOP = 45e9, 1e-6
# Rings, open and wrapped axes, routes that tie, switches that only forward and that add.
CASES = [
    ("5w", 0.0), ("5w", HOP), ("3x4", HOP), ("3wx3w", 0.0), ("2x3w", HOP), ("switch:5", HOP),
    ("switch:4+", HOP), ("fat:3x2", 0.0),
]  # fmt: skip
MOST = 3000  # sends; trees packed behind a switch are more


def plan_of(made, where, size):
    return exact.read(export.text(made, where, size, rounds=False))


@pytest.mark.parametrize(("grid", "alpha"), CASES)
def test_every_algorithm_takes_the_time_of_the_definition(grid, alpha):
    where, tried = cluster(grid, W, alpha), 0
    for name, made, _ in every(grid, alpha):
        if sum(len(rows) for rows in made.steps()) > MOST:
            continue
        for spot in (where, uneven(where, 3)):
            want = reference.simulate(made, spot, 1e6).seconds
            got = float(exact.seconds(plan_of(made, spot, 1e6), 25))
            assert got == pytest.approx(want, rel=1e-12), (name, spot is where)
            tried += 1
    assert tried > 60


# Links of 2, 3 and 10 bytes/s; a send of two bytes a second late, and others when it is there.
FIRST = "links 3 2 3 10 routes 4 1 1 1 0 0 1 2 0 1 0 1 1 1 0.5 2 1 1 1 2 blocks "
SMALL = [
    ("1 block 1 1 0 2 0 0", Fraction(2)),  # a second of latency, then 2 bytes at 2
    ("1 block 1 2 1 2 0 0 2 4 0 0", Fraction(2)),  # 1 and 2 bytes/s: the first cannot have more
    ("1 block 1 2 1 2 0 0 2 5 0 0", Fraction(7, 3)),  # the one byte left has all of link 1
    ("1 block 1 1 3 7 0 0", Fraction(1, 2) + Fraction(7, 6)),  # halves over links of 3 and 10
    ("2 block 1 1 0 2 0 1 1 0 block 1 1 2 1 1 0", Fraction(7, 3)),  # one after another
    ("1 block 3 1 2 1 0 0", Fraction(1)),  # three that are alike share 3 bytes/s
]


@pytest.mark.parametrize(("words", "want"), SMALL)
@pytest.mark.parametrize("count", [16, 60])
def test_times_by_hand_are_met_to_the_last_digits(words, want, count):
    got = exact.seconds(exact.read(FIRST + words), count)
    assert abs(Fraction(got) / want - 1) < Fraction(10) ** (2 - count)


def test_sends_that_wait_for_ever_are_no_answer():
    with pytest.raises(AssertionError, match="never started"):
        exact.seconds(exact.read(FIRST + "1 block 1 2 0 8 0 0 0 8 1 0"), 16)


def test_fair_rates_are_those_of_links_that_are_full():
    """Of 12 that three flows share, each has 4; what is left of 10 is another's, and of 7 the one's alone."""
    crossed = {(0, 0): [0], (1, 0): [0, 1], (2, 0): [0], (3, 0): [1], (4, 0): [2]}
    rates = exact.fair(crossed, [digits.Decimal(b) for b in (12, 10, 7)], digits.Decimal(1))
    assert [int(rates[flow]) for flow in crossed] == [4, 4, 4, 6, 7]


@pytest.mark.parametrize("seed", range(4))
def test_a_random_ring_on_few_chips_is_as_certain_as_its_links(seed):
    made, where = digits.in_random_order("all_reduce", 4, seed)
    size = float(digits.PART * made.ranks)
    plan = plan_of(made, where, size)
    sure = exact.seconds(plan, 60)
    assert digits.growth(plan, 60, sure) < 10
    assert digits.distance(exact.seconds(plan, 60, size=1e-15), sure) == pytest.approx(1e-15, rel=0.1)
    ours = flows.simulate(made, where, size, shortcut=False).seconds
    assert ours == pytest.approx(float(sure), rel=1e-12)


@pytest.mark.slow
def test_a_digit_more_is_a_digit_of_the_answer_and_floats_have_too_few_for_a_random_ring_on_more_chips():
    made, where = digits.in_random_order("all_reduce", 6, 4)
    size = float(digits.PART * made.ranks)
    plan = plan_of(made, where, size)
    answers = {count: exact.seconds(plan, count) for count in (16, 24, 60)}
    off = {count: digits.distance(answer, answers[60]) for count, answer in answers.items()}
    factor = digits.growth(plan, 60, answers[60])
    assert factor > 1e8
    assert off[16] > 1e-8
    assert 0 < off[24] < 1e-22 * factor
    ours = flows.simulate(made, where, size, shortcut=False).seconds
    assert 1e-8 < digits.distance(digits.Decimal(ours), answers[60]) < 1e-3
    # What is needed is found, and is about what the growth says.
    count = digits.needed(plan, answers)
    assert digits.distance(exact.seconds(plan, count - 1), answers[60]) > digits.STAYS
    assert abs(count - math.log10(factor / digits.STAYS)) < 3


def test_the_script_prints_a_row_for_each_question(capsys):
    asked = ["--seeds", "0", "3", "--digits", "16", "30", "--side", "3"]
    digits.main(["--collective", "all_gather", "all_reduce", *asked])
    lines = capsys.readouterr().out.splitlines()
    shown = [line.split() for line in lines if line.startswith("all_")]
    assert [words[:2] for words in shown] == [[c, s] for c in ("all_gather", "all_reduce") for s in "03"]
    assert all(float(words[-1]) == 16 and float(words[3]) < 1e-12 for words in shown)


def test_digits_that_are_all_left_to_rounding_are_refused(capsys):
    with pytest.raises(SystemExit):
        digits.main(["--digits", "4", "30"])
    assert "--digits 4: at least 8" in capsys.readouterr().err
