"""Logical axes over the chips of a cluster, and the groups of ranks of a collective over some of them."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hopcast.names import InputError, unknown

from . import hubs, ports
from .cluster import Cluster
from .distinct import distinct
from .group import Group
from .topology import Axis, Ints, Topology


@dataclass(frozen=True)
class Factor:
    """A part of a physical axis: ``length`` chips, each ``stride`` from the next.

    Attributes:
        axis: Index of the physical axis.
        length: Chips.
        stride: 1 where they are neighbours.
    """

    axis: int
    length: int
    stride: int


@dataclass(frozen=True, eq=False)
class Mesh:
    """Logical axes and the chip of each of their points.

    Attributes:
        names: Logical axes, for example ``("data", "model")``.
        chips: ``int32[shape]``: the chip at each point.
        factors: For each logical axis the physical parts it is made of; None where it follows no axis.
        order: How it was laid out: row, jax or the name of a file.
    """

    names: tuple[str, ...]
    chips: Ints
    factors: tuple[tuple[Factor, ...] | None, ...]
    order: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the logical axes."""
        return self.chips.shape

    def describe(self, topology: Topology) -> str:
        """The mapping in words: ``data=4 on x, model=8 on y``."""
        words = []
        for name, length, parts in zip(self.names, self.shape, self.factors, strict=True):
            where = (
                "chips in listed order"
                if parts is None
                else " x ".join(_part(topology, f) for f in parts) or "one chip"
            )
            words.append(f"{name}={length} on {where}")
        return ", ".join(words) + f" ({self.order} order)"


def _part(topology: Topology, f: Factor) -> str:
    axis = topology.axes[f.axis]
    if f.length == axis.length:
        return axis.name
    return f"{axis.name}[{f.length} of {axis.length}" + (f", every {f.stride}" if f.stride > 1 else "") + "]"


def physical(topology: Topology) -> Mesh:
    """The physical axes themselves."""
    factors = tuple((Factor(a, axis.length, 1),) for a, axis in enumerate(topology.axes))
    chips = np.arange(topology.chips, dtype=np.int32).reshape(topology.shape)
    return Mesh(tuple(a.name for a in topology.axes), chips, factors, "row")


def logical(cluster: Cluster, axes: Sequence[tuple[str, int]], order: str = "") -> Mesh:
    """A mesh of named axes on a cluster.

    Args:
        cluster: Its chips are laid out.
        axes: Names and lengths; their product is the number of chips.
        order: ``jax`` as jax.make_mesh lays a TPU slice out, ``row`` by chip number, ``z,x,y`` row-major over
            the physical axes in that order; default jax on TPUs, else row.

    Raises:
        InputError: if the product is wrong, a name stands twice, or jax's order would have to split a
            physical axis.
    """
    topology, shape = cluster.topology, tuple(length for _, length in axes)
    names = tuple(name for name, _ in axes)
    if len(set(names)) < len(names):
        raise InputError(f"mesh {_spell(axes)} names an axis twice")
    if math.prod(shape) != topology.chips:
        devices = cluster.facts.get("devices", topology.chips)
        cores = "" if devices != math.prod(shape) else f"; with ranks=cores it has {devices}"
        raise InputError(
            f"mesh {_spell(axes)} has {math.prod(shape)} ranks and {cluster.name} has {topology.chips}; "
            f"they must be equal{cores}"
        )
    order = order or ("jax" if cluster.stack == "xla" else "row")
    if order == "jax":
        return _jax_order(topology, names, shape, _spell(axes))
    if order == "row":
        return _along(topology, names, shape, range(len(topology.axes)), order)
    own = [a.name for a in topology.axes]
    if not is_axes(topology, order):
        raise unknown("order", order, ("row", "jax", ",".join(reversed(own))))
    return _along(topology, names, shape, [own.index(name) for name in order.split(",")], order)


def is_axes(topology: Topology, order: str) -> bool:
    """Whether a text names all physical axes, each once, as ``z,x,y``."""
    return sorted(order.split(",")) == sorted(a.name for a in topology.axes)


def _along(
    topology: Topology, names: tuple[str, ...], shape: tuple[int, ...], axes: Sequence[int], order: str
) -> Mesh:
    """Row-major over the physical axes in some order, the last one fastest."""
    chips = np.arange(topology.chips, dtype=np.int32).reshape(topology.shape).transpose(axes).reshape(shape)
    found = _row_factors(tuple(topology.shape[a] for a in axes), shape)
    factors = tuple(parts and tuple(replace(f, axis=axes[f.axis]) for f in parts) for parts in found)
    return Mesh(names, chips, factors, order)


def from_order(cluster: Cluster, axes: Sequence[tuple[str, int]], chips: Sequence[int], label: str) -> Mesh:
    """A mesh whose ranks are the chips listed, row-major.

    Raises:
        InputError: if the list is not a permutation of the chips.
    """
    shape = tuple(length for _, length in axes)
    many = cluster.topology.chips
    rule = f"{label}: an order lists each of the {many} chips of {cluster.name} once"
    for place, chip in enumerate(chips):
        if not 0 <= chip < many:
            raise InputError(f"{rule}, by 0 to {many - 1}; entry {place + 1} is {chip}")
    if len(chips) != many or len(set(chips)) < many:
        twice = next((c for c in chips if chips.count(c) > 1), None) if len(chips) == many else None
        raise InputError(
            f"{rule}; " + (f"it has {len(chips)} entries" if twice is None else f"{twice} is there twice")
        )
    if math.prod(shape) != many:
        raise InputError(f"{label}: a mesh of {'x'.join(map(str, shape))} has no place for {many} chips")
    listed = np.array(chips, np.int32)
    mixed: tuple[tuple[Factor, ...] | None, ...] = (None,) * len(shape)
    factors = _row_factors(cluster.topology.shape, shape) if _keeps_nodes(cluster.topology, listed) else mixed
    return Mesh(tuple(n for n, _ in axes), listed.reshape(shape), factors, label)


def _keeps_nodes(topology: Topology, chips: Ints) -> bool:
    """Whether only nodes, and GPUs in all of them alike, change places, where switches join them."""
    if topology.port.size or topology.chips == topology.vertices:
        return False
    at = topology.coords[chips].reshape(*topology.shape, len(topology.shape))
    for a, axis in enumerate(topology.axes):
        line = np.moveaxis(at[..., a], a, 0).reshape(axis.length, -1)
        if np.any(line != (line[:, :1] if axis.switched else np.arange(axis.length)[:, None])):
            return False
    return True


def _spell(axes: Sequence[tuple[str, int]]) -> str:
    return ",".join(f"{name}={length}" for name, length in axes)


def _jax_order(topology: Topology, names: tuple[str, ...], shape: tuple[int, ...], spelled: str) -> Mesh:
    """Logical axes, last first, each take whole physical axes whose product they are; more axes before fewer.

    Of as many axes it takes those with the cores of a chip first, which are joined fastest.

    Source: jax/_src/mesh_utils.py, _create_device_mesh_for_nd_torus (read 2026-11); cores first: jax-ml/jax
    pull 39340.
    """
    free: dict[int, int] = dict(enumerate(topology.shape))
    taken: dict[int, tuple[int, ...]] = {}
    for i in reversed(range(len(shape))):
        choices: list[tuple[int, ...]] = [
            c for k in range(len(topology.shape), 0, -1) for c in itertools.combinations(sorted(free), k)
        ]
        # Axes of several slices are outermost (create_hybrid_device_mesh of the same file).
        kinds = {c: [topology.axes[a] for a in c] for c in choices}
        choices.sort(
            key=lambda c: (any(a.switched for a in kinds[c]), -len(c), not any(a.inner for a in kinds[c]))
        )
        fit = next(
            (c for c in choices if math.prod(free[a] for a in c) == shape[i]), () if shape[i] == 1 else None
        )
        if fit is None:
            left = ", ".join(f"{topology.axes[a].name}={n}" for a, n in free.items()) or "none"
            raise InputError(
                f"mesh {spelled}: axis {names[i]}={shape[i]} is no product of whole axes of {topology.name} "
                f"that are left ({left}), so jax.make_mesh refuses it; use other lengths or --order row"
            )
        taken[i] = fit
        free = {a: n for a, n in free.items() if a not in fit}
    where = [a for i in range(len(shape)) for a in taken[i]] + sorted(free)
    chips = np.arange(topology.chips, dtype=np.int32).reshape(topology.shape).transpose(where).reshape(shape)
    factors = tuple(tuple(Factor(a, topology.shape[a], 1) for a in taken[i]) for i in range(len(shape)))
    return Mesh(names, chips, factors, "jax")


def _row_factors(
    physical_shape: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[tuple[Factor, ...] | None, ...]:
    """Which parts of physical axes the logical axes are, both row-major; None where they do not line up."""
    left = [(a, n, 1) for a, n in enumerate(physical_shape)]
    found: list[tuple[Factor, ...] | None] = []
    for length in reversed(shape):
        parts, need = [], length
        while need > 1 and left:
            a, n, stride = left.pop()
            take = math.gcd(need, n)
            if take == 1 and n > 1:
                return (None,) * len(shape)
            if take > 1:
                parts.append(Factor(a, take, stride))
            need //= take
            if n // take > 1:
                left.append((a, n // take, stride * take))
                if need > 1:
                    return (None,) * len(shape)
        found.append(tuple(reversed(parts)))
    return tuple(reversed(found))


def group(cluster: Cluster, mesh: Mesh, over: Sequence[str] = ()) -> Group:
    """The groups of a collective over some axes of a mesh: one for each point of the other axes.

    Args:
        cluster: Where it runs.
        mesh: Its axes.
        over: Names of axes; all of them if empty.

    Raises:
        InputError: for an axis that is not there or named twice.
    """
    for name in over:
        if name not in mesh.names:
            raise unknown("axis", name, mesh.names, of=cluster.name)
    if len(set(over)) < len(over):
        raise InputError(f"--over {','.join(over)} names an axis twice")
    inside = [i for i, name in enumerate(mesh.names) if not over or name in over]
    outside = [i for i in range(len(mesh.names)) if i not in inside]
    ranks = math.prod(mesh.shape[i] for i in inside)
    all_groups = np.ascontiguousarray(mesh.chips.transpose(outside + inside).reshape(-1, ranks), np.int32)
    found = _group(cluster, mesh, inside, all_groups)
    return replace(found, links=_links(cluster.topology, found.all_groups), cluster=cluster)


def _links(topology: Topology, groups: Ints) -> Ints:
    """Local ends of the links between two ranks of a group that are alive in every group."""
    n = groups.shape[1]
    whose, local = np.full((2, topology.vertices), -1, np.int64)
    whose[groups], local[groups] = np.arange(len(groups))[:, None], np.arange(n)
    src, dst = topology.src, topology.dst
    inside = (whose[src] >= 0) & (whose[src] == whose[dst]) & (topology.bandwidth > 0)
    each = distinct((whose[src[inside]] * n + local[src[inside]]) * n + local[dst[inside]]) % (n * n)
    pair, often = np.unique(each, return_counts=True)
    pair = pair[often == len(groups)]
    return np.stack(np.divmod(pair, n), 1).astype(np.int32)


def _group(cluster: Cluster, mesh: Mesh, inside: list[int], all_groups: Ints) -> Group:
    """The group over the logical axes ``inside``: lines of a grid, ports of switches, or levels of both."""
    topology, parts = cluster.topology, [mesh.factors[i] for i in inside]
    named = ",".join(mesh.names[i] for i in inside)
    duplex, hop = not topology.half_duplex, float(topology.latency.max(initial=0.0))
    if any(p is None for p in parts):
        axes = (Axis(named, all_groups.shape[1], False, topology.port.size == 0),)
        mixed = Group(axes, axes[0].switched, (0.0,), (hop,), all_groups, False, duplex, cluster.name)
        everyone = all_groups.shape[1] == topology.chips < topology.vertices
        return replace(mixed, hubs=group(cluster, physical(topology)).hubs) if everyone else mixed
    over = {i: [topology.axes[f.axis] for f in mesh.factors[i] or ()] for i in inside}
    switched = [i for i in inside if any(a.switched for a in over[i])]
    cores = [i for i in inside if any(a.inner for a in over[i])]
    between = [i for i in inside if i not in switched and i not in cores]
    if not switched and (not cores or sum(map(len, over.values())) == 1):
        return _grid_group(cluster, mesh, inside, all_groups)
    axes = (Axis(named, all_groups.shape[1], False, True),)
    if len(inside) == 1 and len(parts[0] or ()) == 1:
        (part,) = parts[0] or ()
        # Where ranks do not meet in one switch of their own, routes share links and a port tells no time.
        rate, crossing = ports.star(topology, part.axis, all_groups)
        able = hubs.ability(cluster, part.axis)
        met = hubs.trunk(topology, part.axis, all_groups) if rate > 0 or able else None
        if rate == 0:
            rate, crossing = ports.tree(topology, part.axis, all_groups) or (rate, crossing)
        one = Group(axes, True, (rate,), (crossing,), all_groups, rate > 0, duplex, cluster.name)
        return one if met is None else replace(one, hubs=met[0], above=met[1], ability=able)
    if any(len(p or ()) > 1 for p in parts):
        split, first = _one_part_each(mesh)
        return _group(cluster, split, [k for i in inside for k in range(first[i], first[i + 1])], all_groups)
    levels = [[i] for i in switched] + [part for part in (between, cores) if part]
    found = tuple(group(cluster, mesh, [mesh.names[i] for i in level]) for level in levels)
    order = [i for level in levels for i in level]
    ordered = _outer_first(mesh, all_groups, inside, order)
    if not switched:
        return replace(_grid_group(cluster, mesh, order, ordered), levels=found)
    switches = hubs.of_levels(found, ordered)
    return Group(axes, True, (0.0,), (2 * hop,), ordered, False, duplex, cluster.name, found, switches)


def _grid_group(cluster: Cluster, mesh: Mesh, inside: list[int], all_groups: Ints) -> Group:
    """The group over logical axes that lie along lines of a grid."""
    flat = [q for i in inside for q in _grid_axes(cluster, mesh, i) if q[0].length > 1]
    flat = flat or [(Axis(mesh.names[inside[0]], 1, False), 1.0, 0.0, True)]
    lines, bandwidth, latency, apart = zip(*flat, strict=True)
    duplex = not cluster.topology.half_duplex
    return Group(lines, False, bandwidth, latency, all_groups, all(apart), duplex, cluster.name)


def _one_part_each(mesh: Mesh) -> tuple[Mesh, list[int]]:
    """The mesh with each logical axis cut into its parts of physical axes; where the parts of each begin."""
    names: list[str] = []
    lengths: list[int] = []
    factors: list[tuple[Factor, ...] | None] = []
    first = [0]
    for name, length, parts in zip(mesh.names, mesh.shape, mesh.factors, strict=True):
        whole = parts is None or len(parts) < 2
        names += [name] if whole else [f"{name}.{k}" for k in range(len(parts or ()))]
        lengths += [length] if whole else [f.length for f in parts or ()]
        factors += [parts] if whole else [(f,) for f in parts or ()]
        first.append(len(names))
    return Mesh(tuple(names), mesh.chips.reshape(lengths), tuple(factors), mesh.order), first


def _outer_first(mesh: Mesh, groups: Ints, inside: list[int], order: list[int]) -> Ints:
    """The groups with ranks row-major over the axes in another order."""
    lengths = [mesh.shape[i] for i in inside]
    where = [1 + inside.index(i) for i in order]
    moved = groups.reshape(-1, *lengths).transpose(0, *where).reshape(groups.shape)
    return np.ascontiguousarray(moved, np.int32)


def _grid_axes(cluster: Cluster, mesh: Mesh, i: int) -> list[tuple[Axis, float, float, bool]]:
    """The physical axes of logical axis i: axis, bandwidth, latency, whether its groups share no links."""
    topology, forward = cluster.topology, cluster.routing == "forward"
    factors = mesh.factors[i] or ()
    found = []
    direct = np.flatnonzero(np.maximum(topology.src, topology.dst) < topology.chips)
    across = topology.coords[topology.src[direct]] - topology.coords[topology.dst[direct]]
    for f in factors:
        axis, own = topology.axes[f.axis], topology.axis[direct] == f.axis
        links = direct[own]
        # The wrap-around of a twisted axis leads to another line, so the closed forms of a ring do not hold.
        twisted = bool(np.delete(across[own], f.axis, 1).any())
        whole = f.length * f.stride == axis.length
        closed = axis.wraps and whole and f.length > 2
        latency = float(topology.latency[links].max(initial=0.0)) * f.stride
        name = axis.name if mesh.names[i] == axis.name or len(factors) > 1 else mesh.names[i]
        # Closed forms hold where what is half way round an even axis goes half each way.
        lopsided = forward and closed and f.length % 2 == 0
        rate = 0.0 if twisted or lopsided else ports.rate(topology.bandwidth[links]) / f.stride
        apart = f.stride == 1 and bool((np.count_nonzero(across, axis=1) == 1).all())
        found.append((Axis(name, f.length, closed, inner=axis.inner), rate, latency, apart))
    return found
