"""Without barriers the phases of a schedule overlap and share links: flows take longer than the steps say."""

from hopcast.predict import Answer

SOURCE = (
    "derived: on open axes middle ranks finish a phase early "
    "and their next phase takes bandwidth from the ends"
)
APPEARS = "predict all_gather v5e:4x4 --size 64MiB --algorithm multi_axis"
ABSENT = "predict reduce_scatter v5e:4x4 --size 64MiB --algorithm multi_axis"


def when(answer: Answer) -> str | None:
    """Flows exceed steps by more than 1 %."""
    flows = answer.flows
    if flows is None or answer.steps is None or not (flows.detailed or flows.pulled):
        return None
    stepped = answer.steps.latency + answer.steps.bandwidth
    if answer.time <= 1.01 * stepped:
        return None
    said = (
        f"flows take {answer.time / stepped - 1:.1%} longer than the same steps with barriers: "
        "ranks that finish a phase early start the next and share links with those that have not"
    )
    if not flows.detailed:
        return said
    place, rows, last = answer.question.cluster.topology.place, flows.rows, flows.critical_path()[-1]
    ends = f"{place(int(rows.src[last]))} to {place(int(rows.dst[last]))}"
    return f"{said}; the last to end is step {flows.step[last]}, {ends}"


def gain(answer: Answer) -> str:
    """A lane that waits, where the algorithm has one."""
    return ""
