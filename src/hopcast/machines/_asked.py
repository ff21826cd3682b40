"""What a cluster string asks for, in SI units."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hopcast import units
from hopcast.ir.cluster import Figure
from hopcast.names import InputError, unknown

# Of fat-tree only: on machines the counts follow from the reference design.
_OWN = {"leaf": "leaf switches", "spine": "spine switches", "uplinks": "cables of a leaf to spines"}
_MOST_CHIPS = 1_000_000


@dataclass(frozen=True)
class Asked:
    """A cluster string with everything filled in.

    Attributes:
        total: Nodes or racks of the whole cluster.
        slots: Those that are used, in rank order.
        gpus, nics: Of each.
        nvlink: Bytes/s one way of a GPU, or of one cable where GPUs are joined directly.
        nic: Bytes/s one way of a NIC.
        nvlink_latency, nic_latency, tier_latency: Seconds.
        oversubscription: Downlink over uplink capacity of a leaf; None: the reference design.
        rails: Whether NICs of one number are on one leaf.
        without: Beginnings of keys of figures that are switched off.
        ecmp: Whether routes are hashed.
        seed: Of the hash.
        leaf, spine, uplinks: Of a fat tree of one's own; 0 where not given.
        given: Keys of the options.
    """

    total: int
    slots: tuple[int, ...]
    gpus: int
    nics: int
    nvlink: float
    nic: float
    nvlink_latency: float
    nic_latency: float
    tier_latency: float
    oversubscription: float | None
    rails: bool
    without: tuple[str, ...]
    ecmp: bool
    seed: int
    leaf: int
    spine: int
    uplinks: int
    given: frozenset[str]

    @property
    def changed(self) -> bool:
        """Whether something asked for changes how many switches there are."""
        return bool(self.given & {"gpus", "nics", "oversubscription", "rails", *_OWN})


def read(
    text: str, name: str, shape: str, options: Mapping[str, str], figures: Mapping[str, Figure], direct: bool
) -> Asked:
    """The string read.

    Args:
        text: The whole of it, for messages.
        name: Of the machine.
        shape: Behind the colon.
        options: By key.
        figures: Of the machine.
        direct: Whether GPUs of a node are joined by cables and not by a switch.

    Raises:
        InputError: naming what was given and what would be right.
    """
    for key in options:
        if key in _OWN and name != "fat-tree":
            raise InputError(
                f"{text!r}: {key}= is of a fat-tree of your own; {name} has its reference design"
            )
    total, most = _shape(text, name, shape, figures)
    gpus = _whole(text, options, "gpus", most, 1, most, f"GPUs of {name}")
    usual = min(int(figures["domain.nics"].value), gpus) if "domain.nics" in figures else gpus
    nics = _whole(text, options, "nics", usual, 1, gpus, "NICs: a GPU uses one, so as many as GPUs at most")
    if "seed" in options and options.get("routing") != "ecmp":
        raise InputError(f"{text!r}: seed= is of routing=ecmp; even spreading is not random")
    slots = _slots(text, options["nodes"], total) if "nodes" in options else tuple(range(total))
    if gpus % nics and len(slots) > 1:  # a node alone uses none
        near = max(k for k in range(1, nics + 1) if gpus % k == 0)
        raise InputError(
            f"{text!r}: {gpus} GPUs cannot share {nics} NICs evenly; write a divisor of {gpus}, as in "
            f"nics={near}"
        )
    able = {k: _ability(text, options, k, name, figures) for k in ("sharp", "nvls")}
    able["sharp"] &= len(slots) > 1  # it is of the network between nodes, which one node does not use
    peer = figures["nvlink.link.bandwidth" if direct else "nvlink.bandwidth"].value
    leaf, spine, uplinks = (_whole(text, options, k, 0, 1, _MOST_CHIPS, _OWN[k]) for k in _OWN)
    return Asked(
        total=total,
        slots=slots,
        gpus=gpus,
        nics=nics,
        nvlink=_rate(text, options, "bandwidth", peer),
        nic=_rate(text, options, "nic", figures["nic.bandwidth"].value),
        nvlink_latency=_latency(text, options, "nvlink", figures),
        nic_latency=_latency(text, options, "nic", figures),
        tier_latency=_latency(text, options, "tier", figures),
        oversubscription=_ratio(text, options),
        rails=_choice(text, options, "rails", ("on", "off")) == "on",
        without=tuple(f"{k}." for k in able if not able[k]),
        ecmp=_choice(text, options, "routing", ("spread", "ecmp")) == "ecmp",
        seed=_whole(text, options, "seed", 0, 0, 2**63 - 1, "it makes other choices of cables"),
        leaf=leaf,
        spine=spine,
        uplinks=uplinks,
        given=frozenset(options),
    )


def _shape(text: str, name: str, shape: str, figures: Mapping[str, Figure]) -> tuple[int, int]:
    """Nodes or racks, and GPUs of each."""
    own = name == "fat-tree"
    gpus = 0 if own else int(figures["domain.chips"].value)
    if not shape and not own:
        return 1, gpus
    if not re.fullmatch(r"\d+[xX*]\d+" if own else r"\d+", shape):
        right = "nodes x GPUs of a node, as in fat-tree:32x8" if own else f"a number, as in {name}:4"
        raise InputError(f"{text!r}: {shape!r} is not a shape of {name}; write {right}")
    numbers = [int(part) for part in re.split("[xX*]", shape)]
    total, gpus = numbers if own else (numbers[0], gpus)
    if not 1 <= total * gpus <= _MOST_CHIPS:
        raise InputError(f"{text!r} has {total * gpus:,} GPUs; it takes 1 to {_MOST_CHIPS:,}")
    return total, gpus


def _slots(text: str, said: str, total: int) -> tuple[int, ...]:
    """Node numbers in rank order from ``0-127+160-255``."""
    found: list[int] = []
    for part in said.split("+"):
        ends = part.strip().split("-")
        if not all(e.strip().isdecimal() for e in ends) or len(ends) > 2:
            raise InputError(f"{text!r}: nodes={said}: write numbers and ranges, as in nodes=0-127+160-255")
        first, last = int(ends[0]), int(ends[-1])
        if max(first, last) >= total:
            raise InputError(
                f"{text!r}: nodes={said}: there is no node {max(first, last)}; they are 0 to {total - 1}"
            )
        found += range(first, last + 1) if first <= last else range(first, last - 1, -1)
    if len(set(found)) < len(found):
        raise InputError(f"{text!r}: nodes={said} names a node twice")
    return tuple(found)


def _whole(
    text: str, options: Mapping[str, str], key: str, usual: int, low: int, high: int, what: str
) -> int:
    if key not in options:
        return usual
    said = options[key]
    if not said.isdecimal() or not low <= int(said) <= high:
        raise InputError(f"{text!r}: {key}={said}; {what}: a whole number from {low} to {high}")
    return int(said)


def _value(
    text: str, options: Mapping[str, str], key: str, read_one: Callable[[str], float], usual: float
) -> float:
    if key not in options:
        return usual
    try:
        return read_one(options[key])
    except ValueError as error:
        raise InputError(f"{text!r}: {key}={options[key]}: {error}") from None


def _rate(text: str, options: Mapping[str, str], key: str, usual: float) -> float:
    return _value(text, options, key, units.rate, usual)


def _latency(text: str, options: Mapping[str, str], kind: str, figures: Mapping[str, Figure]) -> float:
    """Of a class of routes: its own option, else ``latency=``, else the figure."""
    usual = _value(text, options, "latency", units.seconds, figures[f"{kind}.latency"].value)
    return _value(text, options, f"{kind}_latency", units.seconds, usual)


def _ratio(text: str, options: Mapping[str, str]) -> float | None:
    """Oversubscription of a leaf."""
    if "oversubscription" not in options:
        return None
    said = options["oversubscription"]
    try:
        ratio = float(said)
    except ValueError:
        ratio = math.nan
    if not 1 <= ratio < math.inf:
        raise InputError(
            f"{text!r}: oversubscription={said}; it is downlink over uplink capacity of a leaf, from 1 "
            "(none), as in oversubscription=2"
        )
    return ratio


def _choice(text: str, options: Mapping[str, str], key: str, choices: tuple[str, ...]) -> str:
    """The value of an option of a few; the first is the default."""
    said = options.get(key, choices[0])
    if said not in choices:
        raise unknown("value", said, choices, of=f"{key} in {text!r}")
    return said


def _ability(
    text: str, options: Mapping[str, str], key: str, name: str, figures: Mapping[str, Figure]
) -> bool:
    """Whether switches reduce and multicast; asked for where they cannot is an error."""
    able = f"{key}.supported" in figures
    if _choice(text, options, key, ("on", "off")) == "off":
        return False
    if key in options and not able:
        raise InputError(f"{text!r}: {name} has no {key.upper()}; leave {key}= off")
    return able
