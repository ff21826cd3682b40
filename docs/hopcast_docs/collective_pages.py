"""A page for each collective: who holds what before and after, its size, and which algorithms give it."""

from collections.abc import Sequence

from hopcast import algorithms
from hopcast.ir.collective import (
    ALIASES,
    ALL,
    NAMES,
    PAIRS,
    REVERSE,
    Collective,
    busbw_factor,
    of,
    per_rank_size,
)
from hopcast.verbs.listing import listing

from .markdown import contents, page, ratio, table

_SIZE = {
    "all_gather": "the gathered result: what every rank holds in the end",
    "reduce_scatter": "the array that every rank holds in full before",
    "all_reduce": "the array that every rank holds in full, before and after",
    "all_to_all": "the array summed over all ranks; `--per-rank` takes that of one, as nccl-tests does",
    "all_to_all_v": "the sum of all messages",
    "broadcast": "the array of the root",
    "reduce": "the array that every rank holds in full before",
    "gather": "what the root holds in the end",
    "scatter": "what the root holds before",
    "permute": "the array summed over all ranks; each rank sends its n-th part",
}
_FACTORS = (4, 8, 16)


def pages() -> dict[str, str]:
    """By path in docs/."""
    meaning = {row["name"]: str(row["what"]) for row in listing("collectives")}
    found = {f"reference/collectives/{n}.md": _collective(n, meaning[n]) for n in NAMES}
    rows = [[f"[{n}]({n}.md)", meaning[n], _SIZE[n]] for n in NAMES]
    text = (
        "A collective is two columns: the rank that holds a chunk before and the rank that must hold it "
        "after. *all* before means that every rank has a contribution and the result is their sum. So one "
        "check and one bound serve every collective, and one of your own as well (see [schedule "
        "files](../../schedule_files.md))."
    )
    listed = table(["collective", "", "size D"], rows)
    found["reference/collectives/index.md"] = page("Collectives", text, listed, contents(NAMES))
    return found


def _collective(name: str, meaning: str) -> str:
    other = [a for a, n in ALIASES.items() if n == name]
    spelled = ", ".join(f"`{w}`" for w in (name, name.replace("_", "-"), *other))
    mirror = REVERSE.get(name)
    about = [
        f"{meaning[0].upper()}{meaning[1:]}. Written {spelled}; hyphens, underscores and capitals do not "
        "matter."
    ]
    if mirror and mirror != name:
        about.append(
            "Its mirror image, backwards in time and with every send turned round, is "
            f"[{mirror}]({mirror}.md)."
        )
    return page(
        name,
        " ".join(about),
        "## Before and after",
        _held(of(name, 3)),
        "## Size and bandwidths",
        _sizes(name),
        "## Algorithms",
        _given_by(name),
    )


def _held(task: Collective) -> str:
    """The chunks of every rank before and after, for three ranks."""
    n = task.ranks
    letters = "abc" if task.name in ("all_gather", "gather", "permute") else "012345678"
    if task.name in PAIRS:
        names = [f"{s}>{d}" for s, d in zip(task.origin, task.goal, strict=True)]
    else:
        names = [letters[c] for c in range(task.chunks)]
    rows = [
        [r, _cells(names, task.origin.tolist(), r, f"'{r}" if task.reduces else ""), _after(names, task, r)]
        for r in range(n)
    ]
    marks = "a chunk with `'r` is rank r's contribution to it, `sum` the sum of all. " if task.reduces else ""
    pairs = "`s>d` is the message of rank s for rank d. " if task.name in PAIRS else ""
    words = f"{pairs}{marks}".strip()
    text = f"Three ranks. {words[:1].upper()}{words[1:]}" if words else "Three ranks and their chunks."
    return f"{text}\n\n{table(['rank', 'before', 'after'], rows)}"


def _cells(names: Sequence[str], owner: Sequence[int], rank: int, mark: str) -> str:
    held = [f"{name}{mark}" for name, o in zip(names, owner, strict=True) if o in (ALL, rank)]
    return f"`{' '.join(held)}`" if held else ""


def _after(names: Sequence[str], task: Collective, rank: int) -> str:
    shown = [f"sum({name})" for name in names] if task.reduces else names
    return _cells(shown, task.goal.tolist(), rank, "")


def _sizes(name: str) -> str:
    rows = [[n, ratio(per_rank_size(name, n, 1.0)), ratio(busbw_factor(name, n))] for n in _FACTORS]
    text = f"The size D is {_SIZE[name]}. With S the size that nccl-tests counts, algbw is S / t."
    return f"{text}\n\n{table(['ranks', 'S / D', 'busbw / algbw'], rows)}"


def _given_by(name: str) -> str:
    rows = []
    for algorithm in algorithms.names():
        one = algorithms.get(algorithm)
        if name in one.collectives:
            own = "" if callable(vars(one.module).get(name)) else "by the algebra"
            rows.append([f"[{algorithm}](../algorithms/{algorithm}.md)", one.summary, own])
    return table(["algorithm", "", ""], rows)
