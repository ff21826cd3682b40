"""Answers whose refusals advise only what works: what they name is tried before it is said."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from hopcast import algorithms, choose, clusters
from hopcast.ir.group import Hint
from hopcast.names import InputError
from hopcast.predict import PRICES, Answer
from hopcast.question import Question

_NAMED = 4  # algorithms that fit, where none of those that a refusal names does
# How a refusal ends: with prices, with algorithms, or with an option of the cluster.
_PRICES = re.compile(r"; (?:name an --algorithm, or )?use --price (?P<names>\w+(?: or \w+)*)$")
_ALGORITHMS = re.compile(r"; use (?P<names>[a-z_]+(?:(?:, | or )[a-z_]+)*)$")
_SHARP = "; try CLUSTER,sharp=on"


def answer(
    question: Question,
    algorithm: str = "auto",
    price: str = "",
    combine: str = "add",
    most: int | None = None,
    prices: Sequence[str] = PRICES,
) -> Answer:
    """As `choose.answer`; ``prices`` are those that whoever asks can choose among.

    Raises:
        InputError: as that does, with advice that has been tried.
    """
    with working(question, algorithm, price, combine, prices):
        return choose.answer(question, algorithm, price, combine, most)


@contextmanager
def working(
    question: Question,
    algorithm: str = "auto",
    price: str = "",
    combine: str = "add",
    prices: Sequence[str] = PRICES,
) -> Iterator[None]:
    """Keep of the advice that a refusal gives what works."""
    try:
        yield
    except InputError as error:
        text = str(error)
        if found := _PRICES.search(text):
            listed = [p for p in found["names"].split(" or ") if p in prices]
            able = set(prices) == set(PRICES)
            text = text[: found.start()] + _instead(question, algorithm, price, combine, listed, able)
        elif (found := _ALGORITHMS.search(text)) and not _strangers(_names(found["names"])):
            can = [n for n in _names(found["names"]) if _fits(question, n)] or _others(question)
            text = text[: found.start()] + (f"; use {_either(can)}" if can else "")
        elif text.endswith(_SHARP) and not _has_sharp(question):
            text = text.removesuffix(_SHARP)
        raise type(error)(text) from None


def _instead(
    question: Question, algorithm: str, price: str, combine: str, listed: Sequence[str], able: bool
) -> str:
    """Which of the listed prices answer; else, where a price may be left off, whether that does."""
    can = [p for p in listed if _answers(question, algorithm, p, combine)]
    if can:
        return f"; use --price {_either(can)}"
    given = [*([f"--price {price}"] if price else []), *(["--combine max"] if combine == "max" else [])]
    if given and able and _answers(question, algorithm):
        return f"; leave {' and '.join(given)} off"
    return "; take fewer ranks or an algorithm of fewer sends"


def _answers(question: Question, algorithm: str, price: str = "", combine: str = "add") -> bool:
    try:
        choose.answer(question, algorithm, price, combine)
    except InputError:
        return False
    return True


def _names(text: str) -> list[str]:
    return re.split(r", | or ", text)


def _strangers(names: Sequence[str]) -> set[str]:
    """Words that are no algorithms."""
    return set(names) - set(algorithms.names())


def _either(words: Sequence[str]) -> str:
    """The words with commas and an or.

    >>> _either(["ring"]), _either(["ring", "chain", "direct"])
    ('ring', 'ring, chain or direct')
    """
    return " or ".join([*([", ".join(words[:-1])] if words[1:] else []), words[-1]])


def _fits(question: Question, name: str) -> bool:
    hint: Hint = replace(question.hint, options={})
    return algorithms.get(name).valid(question.collective, question.group, hint) is None


def _others(question: Question) -> list[str]:
    """Some of those that fit, whatever a refusal names."""
    return list(dict.fromkeys(c.algorithm.name for c in choose.candidates(question)))[:_NAMED]


def _has_sharp(question: Question) -> bool:
    """Whether the cluster could be asked for with SHARP."""
    name = question.cluster.name.replace(",sharp=off", "")
    try:
        clusters.cluster(f"{name},sharp=on")
    except InputError:
        return False
    return True
