"""The traffic matrix of all_to_all_v: from a file, an array, or a layer of experts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hopcast.ir import traffic
from hopcast.ir.cluster import Cluster
from hopcast.ir.mesh import Mesh
from hopcast.ir.topology import Floats
from hopcast.names import InputError
from hopcast.read import matrix as files

from . import ask

Given = str | npt.NDArray[np.float64] | Sequence[Sequence[float]]


@dataclass(frozen=True)
class Asked:
    """What is said of who sends what.

    Attributes:
        matrix: ``float64[n, n]``, bytes from rank to rank; None where nothing is said.
        size: D, bytes: all of them, unless another was asked for.
        words: The options that it comes from.
        said: What to say of it.
    """

    matrix: Floats | None
    size: str | float | None
    words: Sequence[str] = ()
    said: Sequence[str] = ()

    def some(self) -> str | float:
        """The size.

        Raises:
            InputError: if nobody gave one.
        """
        if self.size is None:
            raise InputError("there is no size; write --size 1GiB, the bytes of the whole array of one group")
        return self.size


def asked(
    matrix: Given | None,
    moe: str | None,
    size: str | float | None,
    cluster: str | Cluster,
    over: str | Sequence[str] | None,
    mesh: str | Mesh | None,
    order: str,
) -> Asked:
    """As options of a verb say it.

    Raises:
        InputError: as `of`.
    """
    if matrix is None and moe is None:
        return Asked(None, size)
    found, said = of(matrix, moe, ask.place(cluster, over, mesh, order).group.ranks)
    words = ["--moe", moe] if moe else ["--matrix", matrix] if isinstance(matrix, str) else []
    return Asked(found, float(found.sum()) if size is None else size, words, said)


def of(matrix: Given | None, moe: str | None, ranks: int) -> tuple[Floats, list[str]]:
    """Bytes from rank to rank, ``float64[n, n]``, and what to say of them.

    Args:
        matrix: A file, or the numbers.
        moe: ``tokens=4096,hidden=7168,experts=256,top=8`` and more.
        ranks: n of a group.

    Raises:
        InputError: for a matrix that does not fit, text that cannot be read, or both at once.
    """
    if matrix is not None and moe is not None:
        raise InputError("--matrix and --moe are two ways to say who sends what; give one")
    if moe is None:
        assert matrix is not None
        read = isinstance(matrix, str)
        found = files.read(matrix, ranks) if isinstance(matrix, str) else None
        found = traffic.checked(matrix, ranks, "the matrix") if found is None else found
        label = f"traffic matrix {matrix}" if read else "traffic matrix"
        return found, [f"{label}: {_spread(found)}"]
    layer = traffic.read_moe(moe)
    found, touched = traffic.route(layer, ranks)
    expected = layer.expected(ranks)
    uniform = "" if expected is None else f"; {expected:.3f} expected of a uniform router"
    what = "tokens to their experts, one copy for each chip"
    said = [
        f"MoE {layer.phase} ({what}{', and back' if layer.phase == 'combine' else ''}): a token goes to "
        f"{touched:.3f} of {ranks} chips ({touched / ranks:.1%}{uniform})",
        f"traffic matrix: {_spread(found)}",
    ]
    return found, said


def _spread(matrix: Floats) -> str:
    """How uneven it is, by pairs and by ports."""
    apart = matrix * (1 - np.eye(len(matrix)))
    ports = [apart.sum(axis) for axis in (1, 0)]
    most = [float(p.max() / p.mean()) if p.any() else 1.0 for p in ports]
    return (
        f"of pairs the largest has {traffic.unevenness(matrix):.3g} times the mean, the rank that sends most "
        f"{most[0]:.3g} times, the one that receives most {most[1]:.3g} times"
    )
