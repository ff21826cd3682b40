"""An axis of this slice is open, its ends not joined: it takes about twice as long as a ring."""

import functools
import shlex

from hopcast import algorithms, chips, clusters
from hopcast.chips import slices
from hopcast.predict import Answer, Choice

from . import _command, _library

SOURCE = "jax-ml scaling-book, chapters TPUs and Sharding; Google Cloud TPU v5p documentation, read 2026-11"
APPEARS = "predict all_gather v5e:4x4 --size 1MiB --over x"
ABSENT = "predict all_gather v5p:4x4x4 --size 1MiB --over x"
_WORTH = 0.9  # said if at most this part of the time is left
_KEPT = ("--root", "--shift")  # options that mean the same on a larger slice
_MOST = 1024  # chips up to which a slice that wraps is looked for; every chip has one below


def when(answer: Answer) -> str | None:
    """A TPU slice, and an axis of the collective of length 3 or more that does not wrap."""
    q = answer.question
    axes = q.physical_axes
    if q.cluster.stack != "xla" or axes is None or q.group.ranks == 1:
        return None
    if answer.is_latency_bound:
        return None  # a larger slice is further across, whatever wraps
    open_axes = [q.cluster.topology.axes[a] for a in axes]
    open_axes = [a for a in open_axes if a.length > 2 and not a.wraps and not a.switched]
    if not open_axes:
        return None
    names = ", ".join(f"{a.name} (length {a.length})" for a in open_axes)
    several = len(open_axes) > 1
    return (
        f"{'axes' if several else 'axis'} {names} of {q.cluster.topology.name} "
        f"{'do' if several else 'does'} not wrap around: {_rule(q.cluster.family)}{_instead(answer)}"
    )


def _rule(family: str) -> str:
    rule = chips.load(family).slices if chips.known(family) else None
    if rule is None:
        return "its ends are not joined"
    if rule.cube:
        return f"on {family} axes wrap only where every axis is a multiple of {rule.cube}"
    return f"on {family} an axis wraps only at length {rule.wraps_at}"


def _instead(answer: Answer) -> str:
    """The smallest slice with more wraps, and the smallest with all, in words."""
    more, whole = (_next(answer, all_axes) for all_axes in (False, True))
    if more is None:
        return ""
    said = f"; the next slice that has more wraps is {slices.spell(more.shape)}"
    if more == whole or whole is None:
        return f"{said} (all axes)" if whole else said
    wrapped = ",".join(name for name, closed in zip("xyz", more.wraps, strict=False) if closed)
    return f"{said} ({wrapped}), and {slices.spell(whole.shape)} has all"


def _next(answer: Answer, all_axes: bool) -> slices.Slice | None:
    """The smallest slice of as many chips or more with more wraps than this one, or with all."""
    topology = answer.question.cluster.topology
    each = topology.chips // topology.cores // (topology.axes[0].length if topology.is_slices else 1)
    wraps = sum(a.wraps for a in topology.axes)
    return _search(answer.question.cluster.family, each, wraps, all_axes)


@functools.cache
def _search(family: str, least: int, wraps: int, all_axes: bool) -> slices.Slice | None:
    rule = chips.load(family).slices if chips.known(family) else None
    if rule is None:
        return None
    more = (s for n in range(least, _MOST + 1) for s in slices.shapes(family, n) if not s.twisted)
    return next((s for s in more if s.wraps.count(True) >= (rule.axes if all_axes else wraps + 1)), None)


def gain(answer: Answer) -> str:
    """A slice with more wraps, where it takes less time by the closed form; options are kept."""
    q = answer.question
    if q.schedule is not None or not set(q.words[::2]) <= set(_KEPT) or q.cluster.options:
        return ""
    all_axes = len(q.over) in (0, len(q.mesh.names))
    found = _next(answer, all_axes=False)
    if not all_axes and (found is None or found.wraps.count(True) < len(q.over)):
        found = _next(answer, all_axes=True)
    if found is None:
        return ""
    name = f"{q.cluster.family}:{slices.spell(found.shape)}"
    closed = [axis for axis, wraps in zip("xyz", found.wraps, strict=False) if wraps]
    over = [] if all_axes else closed[: len(q.over)]
    named = answer.algorithm if answer.source != "library" else ""
    there = _library.elsewhere(q, clusters.cluster(name), over)
    if there is None:
        return ""
    time = _library.by(there, Choice(*algorithms.parse(named))) if named else _library.seconds(there)
    if time is None or time > _WORTH * answer.time:
        return ""
    if not all_axes:
        words = ["predict", q.collective, name, "--size", _command.spell(q.size), "--over", ",".join(over)]
    else:
        words = ["advise", q.collective, "--chips", str(found.chips), "--on", q.cluster.family]
        words += ["--size", _command.spell(q.size)]
    chosen = "best" if answer.source == "best" else named
    return shlex.join(["hopcast", *words, *(["--algorithm", chosen] if chosen else []), *q.words])
