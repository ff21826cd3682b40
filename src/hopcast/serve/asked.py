"""What a page may ask: words with limits, and never a file.

A browser that opens a page of somebody else could be made to ask this server, and a collective or a cluster
may be the name of a file on the command line. So over HTTP both are names only.
"""

import json
import math
import re
from dataclasses import asdict, dataclass, fields
from typing import Any

from hopcast.names import InputError
from hopcast.question import collective_name
from hopcast.read.schedule import is_schedule

# The largest pods have 9,216 chips (TPU v5p: 8,960, TPU7x: 9,216); a page of twice as many is no picture.
MOST_CHIPS = 16_384
MOST_TEXT = 200  # characters of one word
MOST_CABLES = 64
_HEAD = re.compile(r"[A-Za-z0-9_-]+(?::[0-9]+(?:[xX*][0-9]+)*)?")
_OPTION = re.compile(r"[a-z_]+(?:=[A-Za-z0-9.+&/_-]+)?")
_FILES = (".toml", ".xml", ".py", ".csv", ".json", ".npz", ".npy")


@dataclass(frozen=True)
class Asked:
    """A question as the page asks it; every word is one of ``hopcast explore``.

    Attributes:
        collective: Its name.
        cluster: ``family:shape[,key=value...]``.
        size: D, bytes of the whole array of one group.
        over: Axes, or empty for all.
        algorithm: ``auto``, ``best`` or a name with options.
        compare: A second algorithm or cluster, or empty.
        slow: Slow cables.
        dead: Dead cables.
    """

    collective: str = "all_gather"
    cluster: str = "v5e:4x4"
    size: str = "8MiB"
    over: str = ""
    algorithm: str = "auto"
    compare: str = ""
    slow: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The command line that makes the same page.

        >>> " ".join(Asked(over="x", dead=("0,0:0,1",)).words)
        'hopcast explore all_gather v5e:4x4 --size 8MiB --over x --dead 0,0:0,1'
        """
        found = ["hopcast", "explore", self.collective, self.cluster, "--size", self.size]
        for option, value, usual in (
            ("--over", self.over, ""),
            ("--algorithm", self.algorithm, "auto"),
            ("--compare", self.compare, ""),
        ):
            found += [option, value] if value != usual else []
        for option, cables in (("--slow", self.slow), ("--dead", self.dead)):
            found += [word for cable in cables for word in (option, cable)]
        return found

    def record(self) -> dict[str, Any]:
        """The question as JSON has it; `read` takes it back."""
        return asdict(self) | {"slow": list(self.slow), "dead": list(self.dead)}


_MANY = ("slow", "dead")
_KEYS = tuple(f.name for f in fields(Asked))


def read(body: bytes | str) -> Asked:
    """The question in a request's body, a JSON object whose keys are the attributes of `Asked`.

    Raises:
        InputError: for what is no such object or too long.

    >>> read('{"cluster": "ring:8", "dead": ["0:1"]}').words[2:]
    ['all_gather', 'ring:8', '--size', '8MiB', '--dead', '0:1']
    """
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError('the question is not JSON; send an object such as {"cluster": "v5e:4x4"}') from None
    if not isinstance(given, dict):
        raise InputError(f"the question is a JSON {type(given).__name__}; send an object with keys")
    for key in given:
        if key not in _KEYS:
            raise InputError(f"no key {key[:MOST_TEXT]!r} in a question; there is: {', '.join(_KEYS)}")
    words: dict[str, Any] = {k: (_cables if k in _MANY else _text)(k, v) for k, v in given.items()}
    return Asked(**words)


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{key} is a text; given: {str(value)[:MOST_TEXT]}")
    if len(value) > MOST_TEXT:
        raise InputError(f"{key} has {len(value):,} characters; the most is {MOST_TEXT}")
    if not value.isprintable() or not value.isascii():
        raise InputError(f"{key} {value!a}: write letters, digits and signs of ASCII in one line")
    return value.strip()


def _cables(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InputError(f"{key} is a list of cables; given: {str(value)[:MOST_TEXT]}")
    if len(value) > MOST_CABLES:
        raise InputError(f"{key} names {len(value):,} cables; the most is {MOST_CABLES}")
    return tuple(_text(key, v) for v in value)


def names_only(asked: Asked) -> None:
    """Whether the words are names: of a collective, of a family with its shape, of an algorithm.

    Raises:
        InputError: for a file, for what is neither, and for a shape that no page shows.

    >>> names_only(Asked("mine.py:ring"))
    Traceback (most recent call last):
    hopcast.names.InputError: 'mine.py:ring' is a file, and the server opens none; run hopcast explore for it
    """
    if is_schedule(asked.collective) or any(s in asked.collective for s in "/\\:."):
        raise _file(asked.collective)
    collective_name(asked.collective)
    _cluster(asked.cluster)
    if ":" in asked.compare:
        _cluster(asked.compare)
    elif _names_file(asked.compare):
        raise _file(asked.compare)
    if _names_file(asked.algorithm):
        raise _file(asked.algorithm)


def _names_file(text: str) -> bool:
    return any(sign in text for sign in "/\\:") or any(ending in text.lower() for ending in _FILES)


def _file(text: str) -> InputError:
    return InputError(f"{text!r} is a file, and the server opens none; run hopcast explore for it")


def _cluster(text: str) -> None:
    """Whether it is a family with a shape and options, and not too large."""
    head, *options = [part.strip() for part in text.split(",")]
    if any(ending in text.lower() for ending in _FILES) or re.search(r"[/\\]|^[.~]", head):
        raise _file(text)
    for pattern, part in ((_HEAD, head), *((_OPTION, o) for o in options)):
        if not pattern.fullmatch(part):
            raise InputError(
                f"{text!r}: {part!r} cannot be read; a cluster is family:shape[,key=value...], as in v5e:4x4"
            )
    sizes = [int(n) for n in re.findall(r"\d+", head.partition(":")[2])]
    if any(n > MOST_CHIPS for n in sizes) or math.prod(sizes) > MOST_CHIPS:
        raise too_large(text)


def too_large(text: str) -> InputError:
    """The error for more chips than a page shows."""
    return InputError(f"{text!r} is too large for a page; the most is {MOST_CHIPS:,} chips")
