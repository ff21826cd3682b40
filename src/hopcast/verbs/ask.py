"""From words to a question: cluster, axes, size, root, faults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hopcast import clusters, units
from hopcast.ir import mesh as meshes
from hopcast.ir import sharding
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import NAMES, per_rank_size
from hopcast.ir.group import Group, Hint
from hopcast.ir.mesh import Mesh
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError
from hopcast.question import Question, collective_name
from hopcast.read import schedule as schedules


@dataclass(frozen=True)
class Place:
    """A cluster and the groups of ranks that a collective has on it.

    Attributes:
        cluster: Where.
        mesh: Its axes, logical or physical.
        over: Axes of the collective; empty: all.
        group: The groups.
        warnings: What the user should know of it.
    """

    cluster: Cluster
    mesh: Mesh
    over: tuple[str, ...]
    group: Group
    warnings: tuple[str, ...]


def cluster_of(given: str | Cluster, slow: Sequence[str] = (), dead: Sequence[str] = ()) -> Cluster:
    """The cluster of that name, with slow and dead cables."""
    found = clusters.cluster(given) if isinstance(given, str) else given
    return clusters.degrade(found, slow, dead)


def place(
    cluster: str | Cluster,
    over: str | Sequence[str] | None = None,
    mesh: str | Mesh | None = None,
    order: str = "",
    slow: Sequence[str] = (),
    dead: Sequence[str] = (),
) -> Place:
    """Cluster, mesh and groups."""
    found = cluster_of(cluster, slow, dead)
    axes = (over.replace(" ", "").split(",") if over else []) if isinstance(over, str) else list(over or [])
    warnings = list(found.assumed)
    layout = mesh_of(mesh, found, order)
    if layout is None:
        layout = meshes.physical(found.topology)
    else:
        warnings.append(f"mesh: {layout.describe(found.topology)}")
        if axes and all(a in {x.name for x in found.topology.axes} and a not in layout.names for a in axes):
            layout = meshes.physical(found.topology)
    group = meshes.group(found, layout, axes)
    if group.ranks == 1:
        warnings.append(f"one rank along {','.join(axes) or found.name}: there is nothing to send")
    return Place(found, layout, tuple(axes), group, tuple(warnings))


def mesh_of(mesh: str | Mesh | None, cluster: Cluster, order: str = "") -> Mesh | None:
    """A mesh from ``data=4,model=8``; None where none is given."""
    if mesh is None or isinstance(mesh, Mesh):
        return mesh
    axes = []
    for item in mesh.split(","):
        name, equals, length = (part.strip() for part in item.partition("="))
        if not name or not equals or not length.isdecimal() or int(length) < 1:
            raise InputError(f"--mesh {mesh!r}: write names and lengths, as in data=4,model=8")
        axes.append((name, int(length)))
    if order and order not in ("row", "jax"):
        return meshes.from_order(cluster, axes, _chips_in(order), order)
    return meshes.logical(cluster, axes, order)


def _chips_in(path: str) -> list[int]:
    if not Path(path).is_file():
        raise InputError(f"--order {path!r}: it is row, jax or a file of chip numbers, one after the other")
    words = Path(path).read_text(encoding="utf-8").replace(",", " ").split()
    if not all(w.isdecimal() for w in words):
        bad = next(w for w in words if not w.isdecimal())
        raise InputError(
            f"--order {path}: {bad!r} is not a chip number; the file lists chip numbers in rank order"
        )
    return [int(w) for w in words]


def question(
    collective: str | Schedule,
    cluster: str | Cluster,
    *,
    size: str | float = 1.0,
    over: str | Sequence[str] | None = None,
    mesh: str | Mesh | None = None,
    order: str = "",
    root: str | int = 0,
    shift: int = 1,
    seed: int = 0,
    per_rank: bool = False,
    slow: Sequence[str] = (),
    dead: Sequence[str] = (),
) -> tuple[Question, Place]:
    """What is asked, and where.

    Raises:
        InputError: for whatever cannot be read.
    """
    where = place(cluster, over, mesh, order, slow, dead)
    nbytes = _size(size, collective, where, per_rank)
    alpha = max(where.group.latency, default=0.0)
    hint = Hint(nbytes, alpha, _root(where, root), shift, seed)
    if isinstance(collective, Schedule) or schedules.is_schedule(collective):
        made = (
            collective
            if isinstance(collective, Schedule)
            else schedules.schedule(collective, where.group, hint)
        )
        return _own(made, where, nbytes, hint), where
    name = collective_name(collective)
    if per_rank:
        nbytes *= (
            where.group.ranks / per_rank_size(name, where.group.ranks, float(where.group.ranks))
            if name in NAMES
            else 1
        )
    if shift % where.group.ranks == 0 and name == "permute" and where.group.ranks > 1:
        raise InputError(
            f"--shift {shift} sends every rank's data to itself; the {where.group.ranks} ranks take "
            f"1 to {where.group.ranks - 1}"
        )
    hint = Hint(nbytes, alpha, hint.root, shift, seed)
    said = size if isinstance(size, str) else ""
    return Question(where.cluster, name, where.mesh, where.over, where.group, nbytes, hint, said=said), where


def _size(size: str | float, collective: str | Schedule, where: Place, per_rank: bool) -> float:
    """D in bytes; a sharded array tells it by the axes that it is cut over."""
    if not sharding.is_sharded(size):
        return float(units.size(size))
    if per_rank:
        raise InputError(f"{str(size)!r} is the whole array, however it is sharded; leave --per-rank off")
    axes = dict(zip(where.mesh.names, where.mesh.shape, strict=True))
    named = not isinstance(collective, Schedule) and not schedules.is_schedule(collective)
    name = collective_name(str(collective)) if named else ""
    array = sharding.parse(str(size), axes)
    return sharding.collective_size(array, name, where.over or where.mesh.names, axes)


def _own(made: Schedule, where: Place, nbytes: float, hint: Hint) -> Question:
    """The user's own schedule, laid over the groups where it is written for one."""
    from hopcast.ir import algebra

    topology, group = where.cluster.topology, where.group
    if (
        made.groups.size == topology.chips
        and len(made.groups) == len(group.all_groups)
        and made.vertices <= topology.vertices
    ):
        # One that names switches stands on the cluster's own vertices already.
        placed = len(made.groups) > 1 or made.vertices > made.ranks
        laid = made if placed else algebra.lay(made, group.all_groups, topology.vertices, group.hubs)
    elif len(made.groups) == 1 and made.ranks == group.ranks:
        laid = algebra.lay(made, group.all_groups, topology.vertices, group.hubs)
    else:
        raise InputError(
            f"the schedule has {made.ranks} ranks and a group on {where.cluster.name} has {group.ranks}; "
            "they must be equal"
        )
    return Question(where.cluster, made.collective.name, where.mesh, where.over, group, nbytes, hint, laid)


def _root(where: Place, root: str | int) -> int:
    """The local rank of the root: a number within the group, or the coordinates of a chip."""
    group, said = where.group, str(root)
    if "," in said or not said.strip().isdecimal():
        chip = clusters.vertex(where.cluster.topology, said)
        return int(np.argwhere(group.all_groups == chip)[0, 1])
    if int(said) >= group.ranks:
        raise InputError(f"--root {said}: ranks of a group go from 0 to {group.ranks - 1}")
    return int(said)


def understood(q: Question) -> Mapping[str, object]:
    """The question as JSON's `inputs`."""
    return {
        "collective": q.collective,
        "cluster": q.cluster.name,
        "size_bytes": q.size,
        "over": list(q.over or q.mesh.names),
        "ranks": q.group.ranks,
        "groups": len(q.group.all_groups),
        "root": q.hint.root,
        "seed": q.hint.seed,
    }
