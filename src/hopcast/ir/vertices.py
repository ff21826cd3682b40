"""Vertices as people write them: ``3,3``, ``rank 5``, ``1/3,3`` in slice 1, ``host:1/2``, ``dcn``."""

import re
from collections.abc import Sequence

import numpy as np

from hopcast.names import InputError

from .topology import Axis, Topology


def vertex(topology: Topology, text: str) -> int:
    """A vertex by name: ``3,3``, ``rank 15``; where there are hosts also ``1/3,3``, ``host:1/2``, ``dcn``.

    Raises:
        InputError: for coordinates, a rank, a slice or a host out of range.

    >>> from hopcast.clusters import cluster
    >>> two = cluster("v5e:4x4,slices=2").topology
    >>> [two.place(vertex(two, said)) for said in ("1/3,3", "rank 31", "host:1/0", "dcn")]
    ['1/3,3', '1/3,3', 'host 1/0', 'dcn']
    """
    said = text.strip()
    if is_host(said):
        return _host(topology, said)
    if topology.is_slices:
        if said == "dcn":
            return topology.vertices - 1
        if not said.startswith("rank") and (topology.axes[0].length == 1 or not said.isdecimal()):
            return _in_slice(topology, said)
    parts = re.split(r"[,\s]+", said.removeprefix("rank").strip())
    if not all(p.isdecimal() for p in parts):
        raise InputError(
            f"{text!r} is not a chip of {topology.name}; "
            f"write coordinates such as {_example(topology)}, or a rank, in quotes: 'rank 5'"
        )
    numbers = [int(p) for p in parts]
    if len(numbers) == 1 and (said.startswith("rank") or len(topology.axes) > 1 or not topology.is_grid):
        if numbers[0] >= topology.chips:
            raise InputError(
                f"rank {numbers[0]} is out of range; {topology.name} has ranks 0 to {topology.chips - 1}"
            )
        return numbers[0]
    return int(np.ravel_multi_index(_coordinates(topology, text, numbers, topology.axes), topology.shape))


def _example(topology: Topology) -> str:
    return ",".join(str(n - 1) for n in topology.shape)


def is_host(text: str) -> bool:
    """Whether the text names a host.

    >>> is_host("host:0"), is_host("host 1/3"), is_host("3,3")
    (True, True, False)
    """
    return text.strip().startswith("host")


def _numbers(topology: Topology, text: str, said: str) -> tuple[int, list[int]]:
    """The slice and the numbers behind it in ``1/3,3``; one slice needs no slice in front."""
    slices = topology.axes[0].length
    which, slash, rest = said.rpartition("/")
    parts = [p.strip() for p in rest.split(",")]
    which = which if slash else "0"
    last = topology.place(topology.chips - 1)
    if not which.isdecimal() or not all(p.isdecimal() for p in parts):
        raise InputError(
            f"{text!r} is no chip or host of {topology.name}; "
            f"write {last}, 'rank 5' or {_last_host(topology)}"
        )
    if slices > 1 and not slash:
        raise InputError(
            f"{text!r} does not say which of the {slices} slices; "
            f"write it in front, as in {last} or {_last_host(topology)}"
        )
    if int(which) >= slices:
        raise InputError(
            f"{text!r}: slice {which} is out of range; {topology.name} has slices 0 to {slices - 1}"
        )
    return int(which), [int(p) for p in parts]


def _last_host(topology: Topology) -> str:
    return topology.place(topology.vertices - 2).replace(" ", ":")


def _host(topology: Topology, text: str) -> int:
    """The host that ``host:1/2`` or ``host:2`` names."""
    if not topology.is_slices:
        raise InputError(
            f"{text!r}: {topology.name} has no hosts here; write a chip such as {_example(topology)}"
        )
    which, numbers = _numbers(topology, text, text.strip().removeprefix("host").lstrip(": "))
    each = (topology.vertices - topology.chips - 1) // topology.axes[0].length
    if len(numbers) != 1 or numbers[0] >= each:
        raise InputError(
            f"{text!r} is out of range; hosts of a slice of {topology.name} go from 0 to {each - 1}, "
            f"as in {_last_host(topology)}"
        )
    return topology.chips + which * each + numbers[0]


def _in_slice(topology: Topology, text: str) -> int:
    """The chip that ``1/3,3`` names, or ``3,3`` where there is one slice."""
    which, numbers = _numbers(topology, text, text)
    axes = topology.axes[1:]
    if len(numbers) == len(axes) == 1 or len(numbers) != 1:
        at = _coordinates(topology, text, numbers, axes)
        return int(np.ravel_multi_index((which, *at), topology.shape))
    raise InputError(
        f"{text!r} has 1 coordinate; a slice of {topology.name} has {len(axes)}, "
        f"as in {topology.place(topology.chips - 1)}"
    )


def _coordinates(topology: Topology, text: str, numbers: list[int], axes: Sequence[Axis]) -> tuple[int, ...]:
    """The numbers, if there is one for each axis and none is beyond its end."""
    if len(numbers) != len(axes):
        raise InputError(
            f"{text!r} has {len(numbers)} coordinates; {topology.name} has {len(axes)}, "
            f"as in {topology.place(topology.chips - 1)}"
        )
    for number, axis in zip(numbers, axes, strict=True):
        if number >= axis.length:
            raise InputError(
                f"{text!r} is outside {topology.name}: {axis.name} goes from 0 to {axis.length - 1}"
            )
    return tuple(numbers)
