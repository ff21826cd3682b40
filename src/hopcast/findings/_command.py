"""Commands for `try`, spelled so that they can be pasted."""

import shlex

from hopcast.predict import Answer
from hopcast.units import show_size


def predict(
    answer: Answer,
    *,
    cluster: str | None = None,
    over: str | None = None,
    algorithm: str | None = None,
    size: float | None = None,
    said: str | None = None,
) -> str:
    """The command of this answer with something changed; ``said`` is a size in words."""
    q = answer.question
    words = [
        "hopcast",
        "predict",
        q.collective,
        cluster or q.cluster.name,
        "--size",
        said or spell(q.size if size is None else size),
    ]
    axes = ",".join(q.over) if over is None else over
    if axes:
        words += ["--over", axes]
    if algorithm:
        words += ["--algorithm", algorithm]
    pairs = zip(q.words[::2], q.words[1::2], strict=True)
    kept = [w for pair in pairs if cluster is None or pair[0] in ("--matrix", "--moe") for w in pair]
    return shlex.join([*words, *kept])


def spell(size: float) -> str:
    """A size as `--size` takes it."""
    text = show_size(size).replace(" ", "")
    return text if "." not in text else str(round(size))
