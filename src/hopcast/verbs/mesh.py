"""mesh: logical axes over the chips of a cluster."""

from collections.abc import Sequence

from hopcast.ir.cluster import Cluster
from hopcast.ir.mesh import Mesh, logical

from . import ask


def mesh(shape: Sequence[int], names: Sequence[str], cluster: str | Cluster, order: str = "") -> Mesh:
    """A mesh as jax.make_mesh would lay it out on a TPU slice, or in rank order elsewhere.

    Args:
        shape: Lengths of the logical axes.
        names: Their names.
        cluster: A name or an object.
        order: row or jax.

    >>> m = mesh((4, 8), ("data", "model"), "torus:4x8")
    >>> m.names, m.shape
    (('data', 'model'), (4, 8))
    """
    if len(shape) != len(names):
        raise ValueError(f"a mesh has one name per length; given {len(shape)} lengths and {len(names)} names")
    return logical(ask.cluster_of(cluster), list(zip(names, shape, strict=True)), order)
