"""What each level of a hierarchical collective takes by itself, beside all of them overlapped."""

from dataclasses import replace

from hopcast.algorithms import by_place, hierarchical, parse
from hopcast.ir import algebra
from hopcast.ir.collective import ROOTED
from hopcast.predict import Answer
from hopcast.price.steps import steps
from hopcast.simulate.symmetry import stepped
from hopcast.units import show_seconds


def stages(answer: Answer) -> list[str]:
    """Notes on the stages of a hierarchical collective; none for other algorithms."""
    q = answer.question
    if answer.algorithm.split(",")[0] != "hierarchical" or q.schedule is not None or q.group.ranks == 1:
        return []
    if q.collective in (*ROOTED, "all_to_all_v"):  # their levels are never one after the other
        return []
    placed = by_place(q.collective, q.group)
    group, hint = placed.group, replace(placed.hint(q.hint), options=parse(answer.algorithm)[1])
    made = hierarchical.phases(q.collective, group, hint)
    said, whole = [], 0.0
    for name, phase in made:
        laid = algebra.lay(phase, group.all_groups, q.cluster.topology.vertices, group.hubs)
        found = stepped(laid, q.cluster, q.size) or steps(laid, q.cluster, q.size)
        seconds = found.latency + found.bandwidth
        whole += seconds
        said.append(f"{phase.collective.name} over {name} {show_seconds(seconds)}")
    pieces = answer.schedule.chunks // made[0][1].chunks
    how = f"overlapped in {pieces} pieces" if pieces > 1 else "one after the other, not overlapped"
    if hierarchical.is_woven(q.collective, group, hint):
        how = "overlapped block by block" + (f", in {pieces} pieces" if pieces > 1 else "")
    return [
        f"stages, each by itself: {', '.join(said)}; {show_seconds(whole)} in all\n"
        f"  {how}: {show_seconds(answer.time)}; {answer.bottleneck}"
    ]
