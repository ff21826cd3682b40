"""A mesh of devices in numpy: each holds an array of the whole shape, nan where it holds nothing."""

import itertools

import numpy as np

from hopcast.dtypes import itemsize
from hopcast.ir.resharding import senders
from hopcast.ir.sharding import Sharding

Devices = dict[tuple[int, ...], np.ndarray]


def axes_of(cluster: str) -> dict[str, int]:
    """{"x": 4, "y": 2} of torus:4x2."""
    return dict(zip("xyz", map(int, cluster.split(":")[1].split("x")), strict=False))


def coordinates(axes: dict[str, int]) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, axes.values())))


def block(s: Sharding, axes: dict[str, int], at: tuple[int, ...]) -> tuple[slice, ...]:
    """Where in the array a device's part is."""
    where = dict(zip(axes, at, strict=True))
    found = []
    for length, cut in zip(s.shape, s.axes, strict=True):
        low, high = 0, length
        for a in cut:
            part = (high - low) // axes[a]
            low, high = low + where[a] * part, low + (where[a] + 1) * part
        found.append(slice(low, high))
    return tuple(found)


def cut(whole: np.ndarray, s: Sharding, axes: dict[str, int], at: tuple[int, ...]) -> np.ndarray:
    held = np.full(whole.shape, np.nan)
    part = block(s, axes, at)
    held[part] = whole[part]
    return held


def scatter(whole: np.ndarray, s: Sharding, axes: dict[str, int], rng: np.random.Generator) -> Devices:
    """The array on all devices; summands where it is partial."""
    places = [i for i, a in enumerate(axes) if a in s.partial]
    keys = sorted({tuple(at[i] for i in places) for at in coordinates(axes)})
    summands = {k: rng.integers(-99, 99, whole.shape).astype(float) for k in keys}
    summands[keys[0]] = whole - sum(summands[k] for k in keys[1:])
    return {at: cut(summands[tuple(at[i] for i in places)], s, axes, at) for at in coordinates(axes)}


def groups(over: tuple[str, ...], axes: dict[str, int]) -> list[list[tuple[int, ...]]]:
    """Devices that differ along some axes only, row-major."""
    found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for at in coordinates(axes):
        key = tuple(k for k, a in zip(at, axes, strict=True) if a not in over)
        found.setdefault(key, []).append(at)
    return list(found.values())


def run_step(devices: Devices, step, axes: dict[str, int]) -> Devices:
    """One step as the word means it, and a check that D is what its ranks have, or exchange."""
    name, before, after = step.move.name, step.before, step.move.after
    size = itemsize(before.dtype)
    new: Devices = {}
    if name == "slice":
        return {at: cut(held, after, axes, at) for at, held in devices.items()}
    for members in groups(step.move.over, axes):
        held = np.stack([devices[at] for at in members])
        has = ~np.isnan(held)
        if name in ("all_gather", "all_to_all"):
            assert (has.sum(0) <= 1).all(), "an element is there twice"
            union = np.where(has.any(0), np.nansum(held, 0), np.nan)
            assert has.any(0).sum() * size == step.move.size
            new |= {at: cut(union, after, axes, at) for at in members}
            if name == "all_gather":
                assert all(np.array_equal(new[at], union, equal_nan=True) for at in members)
            else:
                sent = [np.sum(~np.isnan(new[at]) & h) * size for at in members for h in has]
                assert set(sent) == {step.move.size / len(members) ** 2}
        elif name in ("all_reduce", "reduce_scatter"):
            assert (has == has[0]).all(), "summands of different parts"
            assert has[0].sum() * size == step.move.size
            new |= {at: cut(held.sum(0), after, axes, at) for at in members}
        else:
            assert name == "permute"
            source = senders(before, after, axes)
            assert sorted(source) == list(range(len(members)))
            assert has.sum() * size == step.move.size
            new |= {at: held[k] for at, k in zip(members, source, strict=True)}
    return new


def is_placed(devices: Devices, whole: np.ndarray, s: Sharding, axes: dict[str, int]) -> bool:
    """Whether every device holds its part; of partial sums, whether they add up."""
    for members in groups(s.partial, axes):
        summed = np.stack([devices[at] for at in members]).sum(0)
        if not np.array_equal(summed, cut(whole, s, axes, members[0]), equal_nan=True):
            return False
    return True
