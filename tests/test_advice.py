"""Refusals that advise something: whoever does it gets an answer."""

import importlib
import re
import shlex

import pytest
from cli import run
from refused import one_line_refusal

from hopcast import algorithms
from hopcast.ir.collective import NAMES
from hopcast.names import InputError
from hopcast.verbs import _advice, ask

LEAVE = re.compile(r"leave (.*) off$")
PRICES = re.compile(r"use --price (.*)$")
ALGORITHMS = re.compile(r"use ([a-z_]+(?:(?:, | or )[a-z_]+)*)$")


def without(words: list[str], option: str, value: str) -> list[str]:
    """A command line without an option."""
    at = next(i for i, word in enumerate(words) if word == option and value in ("", words[i + 1]))
    return [*words[:at], *words[at + 2 :]]


def advised(words: list[str], said: str) -> list[list[str]]:
    """Every command line that a refusal advises."""
    if found := LEAVE.search(said):
        for option in found[1].split(" and "):
            words = without(words, *[*option.split(), ""][:2])
        return [words]
    if found := PRICES.search(said):
        bare = without(words, "--price", "") if "--price" in words else words
        return [[*bare, "--price", price] for price in found[1].split(" or ")]
    if said.endswith("sharp=on"):
        return [[f"{word.replace(',sharp=off', '')},sharp=on" if ":" in word else word for word in words]]
    if found := ALGORITHMS.search(said):
        bare = without(words, "--algorithm", "")
        return [[*bare, "--algorithm", name] for name in re.split(", | or ", found[1])]
    return []


REFUSED = [
    "predict all_gather mesh:4x4 --size 1M --algorithm synthesized --price formula",
    "predict all_gather mesh:4x4 --size 1M --algorithm synthesized --price formula --combine max",
    "predict all_gather dgx-h100:2 --size 1M --combine max",
    "predict all_reduce dgx-h100:2,sharp=off --size 1M --algorithm sharp",
    "predict all_reduce mesh:4x4 --size 1M --algorithm nvls",
    "predict all_reduce mi300x --size 1M --algorithm tree_packing",
    "predict broadcast switch:8 --size 1M --algorithm multi_axis",
    "simulate all_gather v5e:4x4 --size 1M --algorithm ring",
    "sweep all_gather v5e:4x4 -b 1M -e 1M --algorithm ring",
    "sweep all_gather dgx-h100:2 -b 1M -e 1M --combine max",
    "check all_gather v5e:4x4 --algorithm ring",
    "draw all_gather v5e:4x4 --algorithm ring --load",
    "draw all_gather v5e:4x4 --algorithm ring",
    "advise all_gather --chips 16 --on v5e --size 1M --algorithm ring",
]


@pytest.mark.parametrize("words", REFUSED)
def test_what_a_refusal_advises_is_answered(words: str) -> None:
    said = one_line_refusal(*shlex.split(words))
    ways = advised(shlex.split(words), said)
    assert ways, said
    for way in ways:
        assert run(*way).status == 0, (said, way)


# With room for few sends only, so that refusals for too many come at once.
CROWDED = [
    ("predict all_gather mesh:4x4 --size 1M --algorithm synthesized --price flows", "use --price steps"),
    (
        "predict all_to_all dgx-h100:2,routing=ecmp --size 1M --algorithm direct --price flows",
        "take fewer ranks or",
    ),
    ("predict all_to_all mesh:3x5 --size 1M --algorithm direct --price steps", "use --price formula"),
    ("predict all_to_all mesh:3x5 --size 1M --algorithm best --price flows", "leave --price flows off"),
    ("simulate all_gather mesh:4x4 --size 1M --algorithm synthesized --jitter 1%", "take fewer ranks or"),
    ("simulate all_gather ring:8 --size 1M --algorithm ring --jitter 1%", "take fewer ranks or"),
    ("draw all_gather mesh:4x4 --algorithm synthesized --load", "take fewer ranks or"),
    (
        "predict all_gather ring:8 --size 1M --algorithm ring --with 'all_reduce:1MiB by ring'",
        "take fewer ranks or",
    ),
    (
        "predict all_gather ring:8 --size 1M --algorithm ring --with 'all_reduce:1MiB by ring' --price flows",
        "take fewer ranks or",
    ),
]


@pytest.mark.parametrize(("words", "says"), CROWDED)
def test_what_has_too_many_sends_is_refused_with_what_is_answered(
    words: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in (
        ("simulate.listing", "MOST_SENDS"),
        ("simulate.window", "MOST"),
        ("predict", "_MANY"),
        ("choose", "_MOST_CROSSINGS"),
    ):
        monkeypatch.setattr(importlib.import_module(f"hopcast.{module}"), name, 20)
    said = one_line_refusal(*shlex.split(words))
    assert says in said
    for way in advised(shlex.split(words), said):
        assert run(*way).status == 0, (said, way)


CLUSTERS = [
    "chain:5", "torus:4x4", "mesh:3x4", "mesh:18x18", "switch:6", "full_mesh:4", "v5e:4x4,slices=2",
    "dgx-h100", "dgx-h100:3", "dgx-h100:4,sharp=off", "dgx-h100:4,gpus=1", "dgx1-v100:2", "mi300x:2",
]  # fmt: skip


@pytest.mark.parametrize("text", CLUSTERS)
@pytest.mark.parametrize("collective", [name for name in NAMES if name != "all_to_all_v"])
def test_an_algorithm_that_does_not_fit_is_answered_with_some_that_do(collective: str, text: str) -> None:
    q, _ = ask.question(collective, text, size=2.0**30)
    for name in algorithms.names():
        reason = algorithms.get(name).valid(collective, q.group, q.hint)
        if reason is None:
            continue
        with pytest.raises(InputError) as caught, _advice.working(q, name):
            raise InputError(reason)
        said = str(caught.value)
        assert said.partition("; use")[0] == reason.partition("; use")[0].removesuffix(
            "" if said.endswith("sharp=on") else "; try CLUSTER,sharp=on"
        )
        if found := ALGORITHMS.search(said):
            for named in re.split(", | or ", found[1]):
                fits = algorithms.get(named).valid(collective, q.group, q.hint)
                assert fits is None, (said, named, fits)
