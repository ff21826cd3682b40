"""draw: a cluster, routes on it, a schedule step by step, the load of its links, its trees, what binds it."""

from collections.abc import Sequence
from dataclasses import replace

from hopcast import clusters
from hopcast.draw import schedule_svg, schedule_text, topology_svg, topology_text
from hopcast.graph.flow import disjoint_routes
from hopcast.ir.cluster import Cluster
from hopcast.ir.mesh import Mesh
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError
from hopcast.question import Question, is_collective
from hopcast.read.schedule import is_schedule

from . import _traffic, ask
from . import _views as views
from . import sweep as sweeps
from ._advice import answer
from ._chart import chart
from ._cut import binding, halves
from ._drawing import Drawing
from .check import scheduled

__all__ = ["Drawing", "draw"]

_USUAL = (f"drawn for {ask.USUAL_SIZE}, as no size is given",)


def draw(
    what: str | Cluster | Schedule,
    cluster: str | Cluster | None = None,
    *,
    route: tuple[str, str] | None = None,
    load: bool = False,
    cut: bool = False,
    trees: bool = False,
    sweep: tuple[str, str] | None = None,
    size: str | float | None = None,
    over: str | Sequence[str] | None = None,
    mesh: str | Mesh | None = None,
    order: str = "",
    algorithm: str = "auto",
    per_rank: bool = False,
    root: str | int = 0,
    shift: int = 1,
    seed: int = 0,
    steps: Sequence[int] | None = None,
    slow: Sequence[str] = (),
    dead: Sequence[str] = (),
    matrix: _traffic.Given | None = None,
    moe: str | None = None,
) -> Drawing:
    """A picture of a cluster, or of a collective on one.

    Args:
        what: A cluster alone, or a collective or schedule on ``cluster``.
        cluster: Where the collective runs.
        route: Two chips: the link-disjoint routes between them.
        load: Bytes on each link instead of the steps.
        cut: What binds the collective: the cut or the port of its bound. Of a cluster alone the balanced cut
            of least capacity.
        trees: The trees over which the parts of the array go.
        sweep: Smallest and largest size: time and busbw over size, of all algorithms if none is named.
        size: D, for the load, the cut and the trees; default 1 MiB, or what the matrix says.
        over: Axes of the collective.
        mesh: Logical axes.
        order: Of the mesh.
        algorithm: Its name.
        per_rank: The size of all_to_all is per rank.
        root: Of rooted collectives.
        shift: Of permute.
        seed: Of random choices.
        steps: Steps to draw; default all that fit.
        slow: Slow cables.
        dead: Dead cables.
        matrix: Of all_to_all_v: n x n bytes, a file or an array.
        moe: Of all_to_all_v: the layer of experts that the matrix comes from.

    >>> print(draw("ring:4"))  # doctest: +ELLIPSIS
    ring:4...
    >>> draw("all_gather", "ring:4", algorithm="ring").svg()[:4]
    '<svg'

    Raises:
        InputError: for what cannot be read or is too large to be drawn.
    """
    if cluster is None and isinstance(what, Schedule):
        return _in_steps(what, None, steps)
    if cluster is None:
        assert not isinstance(what, Schedule)
        if isinstance(what, str) and (is_schedule(what) or is_collective(what)):
            raise InputError(f"{what!r} is drawn on a cluster: hopcast draw {what} ring:8")
        alone = ask.cluster_of(what, slow, dead)
        drawn = views.cut(alone, halves(alone)) if cut else _cluster(alone, route)
        return replace(drawn, warnings=alone.assumed)
    if isinstance(what, Cluster) or route is not None:
        raise InputError("a route is drawn on a cluster alone: hopcast draw CLUSTER --route 3,3 0,0")
    if sweep is not None:
        if per_rank:
            raise InputError(
                "--per-rank: sizes of --sweep are nccl-tests', of all_to_all per rank; leave it off"
            )
        swept = sweeps.sweep(
            what, cluster, first=sweep[0], last=sweep[1], factor=4.0,
            algorithm="all" if algorithm == "auto" else algorithm, over=over, mesh=mesh, order=order,
            root=root, shift=shift, seed=seed, slow=slow, dead=dead,
        )  # fmt: skip
        return Drawing(lambda: str(swept), lambda: chart(swept), tuple(swept.warnings))
    sent = _traffic.asked(matrix, moe, size, cluster, over, mesh, order)
    q, where = ask.question(
        what, cluster, size=sent.size or ask.USUAL_SIZE, over=over, mesh=mesh, order=order, root=root,
        shift=shift, seed=seed, per_rank=per_rank, slow=slow, dead=dead, matrix=sent.matrix, words=sent.words,
    )  # fmt: skip
    view = "cut" if cut else "load" if load else "trees" if trees else "steps"
    return _view(q, where, algorithm, view, steps, () if sent.size else _USUAL)


def _view(
    q: Question,
    where: ask.Place,
    algorithm: str,
    view: str,
    steps: Sequence[int] | None,
    usual: Sequence[str],
) -> Drawing:
    """One picture of a collective; ``usual`` is what to say if it depends on a size that nobody gave."""
    if view == "cut":
        drawn = views.cut(where.cluster, binding(answer(q, algorithm)))
        return replace(drawn, warnings=(*usual, *where.warnings))
    if view == "load":
        return replace(
            views.load(answer(q, algorithm, "flows", prices=("flows",))), warnings=(*usual, *where.warnings)
        )
    made = scheduled(q, algorithm)
    if view == "trees":
        return replace(views.trees(made, where.cluster), warnings=tuple(usual))
    # The steps of a named algorithm look alike at any size.
    chosen = q.schedule is None and algorithm in ("auto", "best")
    return replace(_in_steps(made, where.cluster, steps), warnings=tuple(usual) if chosen else ())


def _in_steps(made: Schedule, where: Cluster | None, steps: Sequence[int] | None) -> Drawing:
    return Drawing(
        lambda: schedule_text(made, where, steps=steps), lambda: schedule_svg(made, where, steps=steps)
    )


def _cluster(where: Cluster, route: tuple[str, str] | None) -> Drawing:
    topology = where.topology
    routes = []
    if route is not None:
        a, b = (clusters.vertex(topology, v) for v in route)
        if a == b:
            raise InputError(f"{route[0]!r} and {route[1]!r} are the same chip; a route joins two")
        routes = disjoint_routes(topology, a, b)
        if not routes:
            raise InputError(f"dead links leave no route from {route[0]} to {route[1]} on {where.name}")
    return Drawing(lambda: topology_text(where, routes=routes), lambda: topology_svg(where, routes=routes))
