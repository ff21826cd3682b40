"""Packed trees beat reduce_scatter with all_gather on open meshes, by less the smaller the array.

And no library runs them.
"""

from hopcast import algorithms
from hopcast.algorithms import tree_packing
from hopcast.choose import library
from hopcast.predict import Answer, Choice
from hopcast.units import show_seconds, show_size

from . import _command, _library

SOURCE = (
    "collective_algorithm_config of the TPU compiler, libtpu of jax 0.10.2, and NVIDIA/nccl v2.30, "
    "src/graph/tuning.cc, both read 2026-11: neither has packed spanning trees; the other time is by the "
    "closed form of the algorithm that is named"
)
APPEARS = "predict all_reduce v5e:4x4 --size 64MiB --algorithm tree_packing"
ABSENT = "predict all_reduce v5e:4x4 --size 64MiB --algorithm multi_axis"


def when(answer: Answer) -> str | None:
    """An answer by packed trees."""
    if not answer.algorithm.startswith("tree_packing"):
        return None
    ran, other = _other(answer)
    time = _library.by(answer.question, other)
    said = f"XLA runs {other.name}, which" if ran else other.name
    if time is None:
        return f"no library runs packed trees{f'; XLA runs {other.name}' if ran else ''}{_from(answer)}"
    less = f", less than the {show_seconds(answer.time)} of these trees" if time < answer.time else ""
    said = f"{said} takes {show_seconds(time)} by its closed form{less}"
    return f"no library runs packed trees; {said}{_from(answer)}"


def _from(answer: Answer) -> str:
    """Up to what size they are not worth while, to two digits."""
    most = tree_packing.worth_from(answer.question.group)
    if not 0 < most < float("inf"):
        return ""
    return f"; up to about {show_size(float(f'{most:.2g}'))} trees gain nothing"


def gain(answer: Answer) -> str:
    """All algorithms, where what the trees are beside takes less."""
    time = _library.by(answer.question, _other(answer)[1])
    less = time is not None and time < answer.time
    return _command.predict(answer, algorithm="best") if less and answer.source != "best" else ""


def _other(answer: Answer) -> tuple[bool, Choice]:
    """What to set beside the trees: what XLA runs where it runs anything there, else all axes at once."""
    theirs = library(answer.question) if answer.question.cluster.stack == "xla" else None
    return theirs is not None, theirs or Choice(algorithms.get("multi_axis"))
