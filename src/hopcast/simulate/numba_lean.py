"""numba, loaded without the linear algebra of scipy: a fifth of a second and 15 MiB less.

Before it compiles or loads anything, numba asks whether scipy's BLAS is there, and asking loads it (numba
0.68, `numba.np.arraymath._check_blas`, 2 cores, 2026-11). Nothing here multiplies matrices. Who does gets it
all the same: the functions that need BLAS look for it themselves when they are compiled.
"""

import importlib
import importlib.util
import sys
import threading

import numba as nb

from hopcast.graph import kept

__all__ = ["nb"]
_BLAS = "scipy.linalg.cython_blas"


def _load() -> None:
    """Load the part of numba that asks, with the answer at hand."""
    asks = "numba.np.arraymath"
    if asks in sys.modules or _BLAS in sys.modules or threading.active_count() > 1:
        return  # another thread may be loading scipy just now
    sys.modules[_BLAS] = None  # type: ignore[assignment]  # importing it fails at once
    try:
        module = importlib.import_module(asks)
    finally:
        del sys.modules[_BLAS]
    if "_HAVE_BLAS" in vars(module):
        vars(module)["_HAVE_BLAS"] = importlib.util.find_spec("scipy") is not None


_load()
kept.ready()
