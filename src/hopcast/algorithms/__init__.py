"""One file per idea. A function named after a collective builds it; the algebra gives the others.

A file of this folder is an algorithm of that name and holds

- a docstring: who sends what to whom in step s, why it is right, what it costs;
- ``SOURCE``, and where it takes any ``OPTIONS``: name to the values allowed, the default first;
- ``settled(options, group, collective)`` where its options may come to the same as others: what they come to;
- ``SPARE`` where some of its sends are of the machine and the result does not need them, with the reason;
- one function per collective that it builds, ``all_gather(group, hint) -> Schedule``, on local ranks 0..n-1,
  and vertices n + j for the switches of ``Group.hubs`` where these reduce or multicast;
- ``BY_PLACE`` where it is laid on nodes and who is which rank makes no difference: then it gets its group in
  order of place (see `_placed`), and its ranks are called as they are; with names of options in it, only
  where one of these is given;
- ``valid(collective, group, hint)``: None, or the reason why it does not fit;
- ``unasked(collective, group, hint)`` where it may fit and yet be worth trying only by name: None, or why
  those who try all that fit leave it out;
- where it has a closed form, ``cost(collective, group, hint) -> Cost`` for each collective that it builds,
  and ``exact(collective, group, hint, asked)``: whether steps and flows take exactly as long.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from hopcast import registry
from hopcast.ir import algebra
from hopcast.ir.collective import NAMES, ROOTED, of
from hopcast.ir.group import Cost, Group, Hint
from hopcast.ir.schedule import Schedule, Sends, one_group, sends
from hopcast.names import InputError, pick

from . import _placed

# What the algebra makes of what is built: the collectives whose mirror image, or whose two halves, one needs.
_FROM = {
    "reduce_scatter": ("all_gather",),
    "all_reduce": ("all_gather", "reduce_scatter"),
    "reduce": ("broadcast",),
    "gather": ("scatter",),
    "scatter": ("gather",),
}
MOST_ASKED = 65_536  # of chunks, pieces, trees; beyond it columns take gigabytes
ALIASES = {"tree": "double_tree", "bidir_ring": "bidirectional_ring"}


@dataclass(frozen=True)
class Algorithm:
    """One file of this folder."""

    name: str
    module: ModuleType

    @property
    def collectives(self) -> tuple[str, ...]:
        """What it gives, its own and by algebra."""
        return tuple(c for c in NAMES if self._base(c))

    @property
    def summary(self) -> str:
        """First line of its docstring."""
        return (self.module.__doc__ or "").strip().split("\n")[0]

    @property
    def source(self) -> str:
        """Where it comes from."""
        return str(self.module.SOURCE)

    @property
    def options(self) -> dict[str, tuple[str, ...]]:
        """Options and their values, the default first; an empty tuple takes any whole number."""
        return dict(getattr(self.module, "OPTIONS", {}))

    def _by_place(self, collective: str, group: Group, options: Mapping[str, str]) -> _placed.Placed:
        """The group as it is built on: by place, or as it is."""
        names = getattr(self.module, "BY_PLACE", None)
        if names is None or (names and options.keys().isdisjoint(names)):
            return _placed.as_it_is(group)
        return by_place(collective, group)

    def settled(self, options: dict[str, str], group: Group, collective: str) -> dict[str, str]:
        """What options come to on a group: equal ones build the same."""
        of_module, on = (
            getattr(self.module, "settled", None),
            self._by_place(collective, group, options).group,
        )
        return of_module(options, on, collective) if of_module else options

    def valid(self, collective: str, group: Group, hint: Hint) -> str | None:
        """None, or the reason why it does not fit."""
        base = self._base(collective)
        if base is None:
            return f"{self.name} does not give {collective}; it gives {', '.join(self.collectives)}"
        if group.ranks == 1:
            alone = getattr(self.module, "ALONE", None)
            return alone and f"{self.name} does not fit one rank: {alone}"
        by_place = self._by_place(collective, group, hint.options)
        reason: str | None = self.module.valid(base, by_place.group, by_place.hint(hint))
        return reason and f"{self.name} does not fit {group.name}: {reason}"

    def unasked(self, collective: str, group: Group, hint: Hint) -> str | None:
        """Why those who try all that fit leave it out, though whoever names it gets it; None: they try it."""
        base, of_module = self._base(collective), getattr(self.module, "unasked", None)
        if base is None or of_module is None or group.ranks == 1:
            return None
        by_place = self._by_place(collective, group, hint.options)
        reason: str | None = of_module(base, by_place.group, by_place.hint(hint))
        return reason

    def exact(self, collective: str, group: Group, hint: Hint) -> bool:
        """Whether the closed form equals steps and flows on this group."""
        if group.ranks == 1:
            return True
        base, by_place = self._base(collective), self._by_place(collective, group, hint.options)
        return self.cost(collective, group, hint) is not None and bool(
            self.module.exact(base, by_place.group, by_place.hint(hint), collective)
        )

    def cost(self, collective: str, group: Group, hint: Hint) -> Cost | None:
        """The closed form, or None where it has none; on shared links only where it is exact all the same."""
        base = self._base(collective)
        if group.ranks == 1:
            return Cost(0.0, 0.0)
        if base is None or not hasattr(self.module, "cost"):
            return None
        by_place = self._by_place(collective, group, hint.options)
        group, hint = by_place.group, by_place.hint(hint)
        parts = (group.levels if getattr(self.module, "LEVELS", False) else ()) or (group,)
        if not all(part.uniform_rates for part in parts):
            return None
        # Beside others on the same links, most forms tell less than it takes.
        alone = all(part.uniform for part in parts)
        if not alone and not self.module.exact(base, group, hint, collective):
            return None
        found: Cost | None = self.module.cost(base, group, hint)
        halves = 2 if base != collective and len(_FROM[collective]) == 2 else 1
        return found.times(halves) if found else None

    def build(self, collective: str, group: Group, hint: Hint) -> Schedule:
        """The schedule, on local ranks of one group.

        Raises:
            InputError: if it does not fit, with the reason.
        """
        reason = self.valid(collective, group, hint)
        if reason:
            raise InputError(reason)
        if group.ranks == 1:
            return _nothing(collective, self.name)
        base = self._base(collective)
        assert base is not None
        by_place = self._by_place(collective, group, hint.options)
        made: Schedule = getattr(self.module, base)(by_place.group, by_place.hint(hint))
        if base != collective:
            mirror = algebra.reverse(made)
            halves = (mirror, made) if base == "all_gather" else (made, mirror)
            made = algebra.then(*halves, "all_reduce") if collective == "all_reduce" else mirror
        made = by_place.called(made)
        return replace(made, algorithm=",".join([self.name, *(f"{k}={v}" for k, v in hint.options.items())]))

    def _base(self, collective: str) -> str | None:
        own = vars(self.module)
        if callable(own.get(collective)):
            return collective
        return next((b for b in _FROM.get(collective, ()) if callable(own.get(b))), None)


def by_place(collective: str, group: Group) -> _placed.Placed:
    """A group in order of place, where that is known of its switches too; else as it is."""
    found = _placed.of(group, same_first=collective not in ROOTED)
    return found if len(found.hub) == found.group.hubs.shape[1] else _placed.as_it_is(group)


def names() -> tuple[str, ...]:
    """All algorithms."""
    return registry.found("algorithms")


def get(name: str) -> Algorithm:
    """The algorithm of that name.

    Raises:
        InputError: naming the nearest and all of them.
    """
    given = ALIASES.get(name.replace("-", "_"), name)
    module = registry.load("algorithms", "algorithm", given)
    return Algorithm(module.__name__.rsplit(".", 1)[-1], module)


def parse(text: str) -> tuple[Algorithm, dict[str, str]]:
    """An algorithm with options: ``bidirectional_ring,split=on``.

    Raises:
        InputError: for an unknown name, option or value.
    """
    name, *rest = text.split(",")
    algorithm, options = get(name), {}
    for item in rest:
        key, _, value = item.partition("=")
        if not algorithm.options:
            raise InputError(f"{algorithm.name} takes no options; given: {item!r}")
        key = pick("option", key, algorithm.options, of=algorithm.name)
        allowed = algorithm.options[key]
        if allowed:
            value = pick("value", value, allowed, of=key)
        elif not value.isdecimal() or len(value) > 9 or not 1 <= int(value) <= MOST_ASKED:
            raise InputError(f"{key}={value!r}: it takes a whole number from 1 to {MOST_ASKED:,}")
        options[key] = value
    return algorithm, options


def option(module_options: Mapping[str, tuple[str, ...]], hint: Hint, key: str) -> str:
    """The value asked for, or the default."""
    return hint.options.get(key, module_options[key][0] if module_options[key] else "")


def _nothing(collective: str, algorithm: str) -> Schedule:
    """One rank has nothing to do."""

    def make(i: int) -> Sends:
        return sends(np.zeros(0), np.zeros(0), np.zeros(0))

    return Schedule(of(collective, 1), algorithm, one_group(1), 1, 0, make)
