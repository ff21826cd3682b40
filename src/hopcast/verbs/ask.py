"""From words to a question: cluster, axes, size, root, faults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hopcast import clusters, faults, units
from hopcast.ir import algebra, hubs, sharding
from hopcast.ir import mesh as meshes
from hopcast.ir.cluster import Cluster
from hopcast.ir.collective import NAMES, ROOTED, per_rank_size
from hopcast.ir.files import read_text
from hopcast.ir.group import Group, Hint
from hopcast.ir.mesh import Mesh
from hopcast.ir.schedule import Schedule
from hopcast.ir.topology import Axis, Floats
from hopcast.names import InputError
from hopcast.question import Question, collective_name
from hopcast.read import schedule as schedules

USUAL_SIZE = "1MiB"  # where none is given and none has to be


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
    if not isinstance(given, str | Cluster):
        raise InputError(f"a cluster is a name such as v5e:4x4 or a Cluster; given: {given!r}")
    found = clusters.cluster(given) if isinstance(given, str) else given
    return faults.degrade(found, slow, dead)


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
        if mesh is None and axes and axes != ["rank"]:
            raise InputError(
                f"--over {','.join(axes)}: ranks in the order of a file have one axis, rank; leave --over "
                "off, or name axes by --mesh"
            )
        warnings.append(f"mesh: {layout.describe(found.topology)}")
        if axes and all(a in {x.name for x in found.topology.axes} and a not in layout.names for a in axes):
            layout = meshes.physical(found.topology)
    group = meshes.group(found, layout, axes)
    if group.ranks == 1:
        warnings.append(f"one rank along {','.join(axes) or found.name}: there is nothing to send")
    return Place(found, layout, tuple(axes), group, tuple(warnings))


def mesh_of(mesh: str | Mesh | None, cluster: Cluster, order: str = "") -> Mesh | None:
    """A mesh from ``data=4,model=8``, or of all ranks in the order of a file; None where none is given."""
    if isinstance(mesh, Mesh) and not np.array_equal(
        np.sort(mesh.chips.ravel()), np.arange(cluster.topology.chips)
    ):
        raise InputError(
            f"the mesh {dict(zip(mesh.names, mesh.shape, strict=True))} is not one of {cluster.name}, "
            f"which has {cluster.topology.chips} chips"
        )
    if isinstance(mesh, Mesh) or (mesh is None and not order):
        return mesh
    if not isinstance(mesh, str | None):
        raise InputError(f"a mesh is text such as data=4,model=8, or hc.mesh(...); given: {mesh!r}")
    listed = order and order not in ("row", "jax") and not meshes.is_axes(cluster.topology, order)
    if mesh is None and not listed:
        raise InputError(
            f"--order {order} says how a mesh lies on the chips; give one, as in --mesh data=4,model=4"
        )
    axes = [("rank", cluster.topology.chips)] if mesh is None else lengths(mesh)
    if listed:
        return meshes.from_order(cluster, axes, _chips_in(order), order)
    return meshes.logical(cluster, axes, order)


def lengths(mesh: str) -> list[tuple[str, int]]:
    """Names and lengths of ``data=4,model=8``."""
    axes = []
    for item in mesh.split(","):
        name, equals, length = (part.strip() for part in item.partition("="))
        if not name or not equals or not length.isdecimal() or int(length) < 1:
            raise InputError(f"--mesh {mesh!r}: write names and lengths, as in data=4,model=8")
        axes.append((name, int(length)))
    return axes


def _chips_in(path: str) -> list[int]:
    if not Path(path).is_file():
        right = "write row, jax, axes as z,y,x or a file of chip numbers in rank order"
        raise InputError(f"--order {path!r}: there is no such file; {right}")
    lines = read_text(path, "it lists chip numbers in rank order").splitlines()
    words = " ".join(line.partition("#")[0] for line in lines).replace(",", " ").split()
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
    matrix: Floats | None = None,
    words: Sequence[str] = (),
) -> tuple[Question, Place]:
    """What is asked, and where.

    ``matrix`` is ``float64[n, n]``, what each rank has for each in all_to_all_v; ``words`` are the options
    that it comes from.

    Raises:
        InputError: for whatever cannot be read.
    """
    slow, dead = (_several(f) for f in (slow, dead))
    root = root if isinstance(root, str | int) else ",".join(map(str, root))
    if not isinstance(collective, str | Schedule):
        raise InputError(f"a collective is a name or a schedule; given: {collective!r}")
    where = place(cluster, over, mesh, order, slow, dead)
    nbytes = _size(size, collective, where, per_rank)
    alpha = max(where.group.latency, default=0.0)
    own = isinstance(collective, Schedule) or schedules.is_schedule(collective)
    name = "" if own else collective_name(str(collective))
    hint = Hint(nbytes, alpha, _root(where, root, name), shift, seed)
    if own:
        made = (
            collective
            if isinstance(collective, Schedule)
            else schedules.schedule(collective, where.group, hint)
        )
        _as_made(made, root, hint)
        if per_rank:
            nbytes *= made.ranks / per_rank_size(made.collective.name, made.ranks, float(made.ranks))
        return _own(made, where, nbytes, hint, over is not None or mesh is not None)
    if (name == "all_to_all_v") != (matrix is not None):
        right = "it is of all_to_all_v" if matrix is not None else "with equal messages it is all_to_all"
        raise InputError(
            f"{name}: --matrix FILE or --moe tokens=... of predict, simulate, check, draw and explore "
            f"says who sends what; {right}"
        )
    if per_rank and matrix is not None:
        raise InputError("--per-rank: a traffic matrix says what each rank sends; leave --per-rank off")
    _moves_something(name, where.group.ranks, shift)
    if per_rank and name in NAMES:
        nbytes *= where.group.ranks / per_rank_size(name, where.group.ranks, float(where.group.ranks))
    part = None if matrix is None else matrix / matrix.sum()
    hint = Hint(nbytes, alpha, hint.root, shift, seed, matrix=part)
    said = size if isinstance(size, str) else ""
    given = {"--mesh": mesh, "--order": order, "--root": root, "--shift": shift if shift != 1 else 0}
    said_too = ((key, str(value)) for key, value in given.items() if value and str(value) != "0")
    words = [*words, *(w for pair in said_too for w in pair)]
    words += [w for key, many in (("--slow", slow), ("--dead", dead)) for one in many for w in (key, one)]
    q = Question(
        where.cluster, name, where.mesh, where.over, where.group, nbytes, hint, said=said, words=tuple(words)
    )
    return q, where


def _moves_something(name: str, ranks: int, shift: int) -> None:
    """Raises: InputError: for a permute that sends every rank its own."""
    if shift % ranks == 0 and name == "permute" and ranks > 1:
        raise InputError(
            f"--shift {shift} sends every rank's data to itself; the {ranks} ranks take 1 to {ranks - 1}"
        )


def _several(given: str | Sequence[str]) -> list[str]:
    """One cable, or a list of them."""
    return [given] if isinstance(given, str) else list(given)


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


def _as_made(made: Schedule, root: str | int, hint: Hint) -> None:
    """Whoever asks for a root or a shift beside a schedule asks for that of the schedule."""
    does = made.collective
    if str(root) != "0" and hint.root != does.root:
        has = f"its root is rank {does.root}" if does.name in ROOTED else "it has no root"
        raise InputError(f"--root {root}: the schedule is of {does.name} and {has}; leave it off")
    if hint.shift != 1 and (does.name != "permute" or (hint.shift - does.shift) % made.ranks):
        has = f"it shifts by {does.shift}" if does.name == "permute" else "it shifts nothing"
        raise InputError(f"--shift {hint.shift}: the schedule is of {does.name} and {has}; leave it off")


def _own(made: Schedule, where: Place, nbytes: float, hint: Hint, asked: bool) -> tuple[Question, Place]:
    """The user's own schedule: laid over all groups if it is written for one, else on those it names."""
    topology, group = where.cluster.topology, where.group
    if made.vertices > topology.vertices or int(made.groups.max(initial=0)) >= topology.chips:
        raise InputError(
            f"the schedule names vertex {made.vertices - 1}; {where.cluster.name} has {topology.chips} chips"
        )
    local = len(made.groups) == 1 and np.array_equal(made.groups[0], np.arange(made.ranks))
    if local and made.vertices == made.ranks:
        if made.ranks != group.ranks:
            raise InputError(
                f"the schedule has {made.ranks} ranks and a group on {where.cluster.name} has {group.ranks}; "
                "they must be equal"
            )
        laid = algebra.lay(made, group.all_groups, topology.vertices, group.hubs)
    else:
        laid, where = made, _on_its_groups(made, where, asked)
    if laid.vertices > topology.chips and where.cluster.stack:  # of a real machine we know what it can do
        hubs.refuse_unable(laid, where.cluster)
    q = Question(where.cluster, made.collective.name, where.mesh, where.over, where.group, nbytes, hint, laid)
    return q, where


def _on_its_groups(made: Schedule, where: Place, asked: bool) -> Place:
    """The place with the groups that a schedule names; axes that were asked for must be theirs."""
    cluster, topology = where.cluster, where.cluster.topology
    theirs = {frozenset(map(int, g)) for g in made.groups}
    if asked:
        tries = [where]
    else:
        at = topology.coords[made.groups[0]]
        over = tuple(a.name for i, a in enumerate(topology.axes) if np.ptp(at[:, i]) > 0)
        layout = meshes.physical(topology)
        tries = [where, replace(where, mesh=layout, over=over, group=meshes.group(cluster, layout, over))]
    for place in tries:
        if {frozenset(map(int, g)) for g in place.group.all_groups} == theirs:
            return replace(place, group=replace(place.group, all_groups=made.groups))
    if asked:
        raise InputError(
            f"the groups of the schedule are not those of --over {','.join(where.over)}; leave it off"
        )
    axes = (Axis("ranks", made.ranks, False, not topology.is_grid),)
    duplex = not topology.half_duplex
    loose = Group(
        axes, axes[0].switched, (0.0,), where.group.latency[:1], made.groups, False, duplex, cluster.name
    )
    return replace(where, mesh=meshes.physical(topology), over=(), group=loose)


def _root(where: Place, root: str | int, collective: str) -> int:
    """The local rank of the root: a number within the group, or the coordinates of a chip."""
    group, said = where.group, str(root).strip()
    if collective and collective not in ROOTED and said != "0":
        raise InputError(f"--root {said}: {collective} has no root; {', '.join(ROOTED)} have")
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
