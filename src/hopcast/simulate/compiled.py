"""How the event loop of flows is compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

from llvmlite import binding

from .numba_lean import nb

F = TypeVar("F", bound=Callable[..., Any])
_njit: Any = nb.njit

# LLVM makes a jump of a choice between two numbers where it takes the choice to be foreseeable, and several
# turns of a loop at once. But which of two rates is less is never foreseen, and loops over the flows of a
# link or the links of a flow have three or four turns. Without the first the loop of events takes an eighth
# less, without the second a sixteenth (2 cores, LLVM 22, 2026-11). Machines that do not know a word pass
# over it.
for _option in ("-x86-cmov-converter=0", "-unroll-runtime=0"):
    binding.set_option("hopcast", _option)

# The arrays outlive every call, so nothing need count who refers to them: with ``_nrt`` a third of the time
# went into that. Functions called only by others need no doors of their own from Python and C, which take as
# long to compile as what they do (2 cores, numba 0.68, 2026-11).
_PLAIN = {"cache": True, "error_model": "numpy", "_nrt": False}
_INSIDE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def outer(function: F) -> F:
    """Called from Python."""
    made: F = _njit(**_PLAIN)(function)
    return made


def inner(function: F) -> F:
    """Called by compiled functions."""
    made: F = _njit(**_PLAIN, **_INSIDE)(function)
    return made


def inlined(function: F) -> F:
    """Part of the functions that call it: to hand over all arrays of a run takes as long as to use them."""
    made: F = _njit(**_PLAIN, **_INSIDE, forceinline=True)(function)
    return made
