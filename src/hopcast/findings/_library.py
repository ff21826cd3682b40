"""What the machine's own software would take elsewhere, by its closed form: costs next to nothing."""

from collections.abc import Sequence
from dataclasses import replace

from hopcast.choose import library
from hopcast.ir import mesh as meshes
from hopcast.ir.cluster import Cluster
from hopcast.names import InputError
from hopcast.predict import Choice
from hopcast.question import Question


def elsewhere(
    question: Question, cluster: Cluster | None = None, over: Sequence[str] | None = None
) -> Question | None:
    """The same question on another cluster, or over other physical axes; None where that cannot be asked."""
    where = cluster or question.cluster
    axes = question.over if over is None else tuple(over)
    layout = meshes.physical(where.topology)
    if layout.names != question.mesh.names or not set(axes) <= set(layout.names):
        return None
    try:
        group = meshes.group(where, layout, axes)
    except InputError:
        return None
    alpha = max(group.latency, default=0.0)
    hint = replace(question.hint, alpha=alpha, root=0)
    return replace(question, cluster=where, mesh=layout, over=axes, group=group, hint=hint)


def seconds(question: Question | None) -> float | None:
    """Time of the algorithm that the library runs, by its closed form; None where either is unknown."""
    choice = None if question is None else library(question)
    return None if question is None or choice is None else by(question, choice)


def by(question: Question, choice: Choice) -> float | None:
    """Time of one algorithm by its closed form; None where it does not fit or has none."""
    hint = replace(question.hint, options=choice.options)
    if choice.algorithm.valid(question.collective, question.group, hint) is not None:
        return None
    cost = choice.algorithm.cost(question.collective, question.group, hint)
    return None if cost is None else cost.total()
