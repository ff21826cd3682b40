"""How data moves through a TPU or GPU cluster: predict, check, simulate and draw collectives.

The verbs are those of the command line; each takes strings or objects.

>>> import hopcast as hc
>>> c = hc.cluster("torus:4x4,bandwidth=45GB/s,latency=0")
>>> s = hc.build("all_gather", c, over="x", algorithm="ring")
>>> s
Schedule(all_gather, ring, ranks=4, groups=4, chunks=4, steps=3)
>>> hc.check(s)
>>> r = hc.predict("all_gather", c, size="8MiB", over="x", algorithm="ring")
>>> round(r.rows[0]["time_us"], 2)
139.81
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .atlas.site import atlas as atlas
    from .clusters import cluster as cluster
    from .interpret import CheckError as CheckError
    from .ir.schedule import Schedule as Schedule
    from .names import InputError as InputError
    from .verbs.advise import advise as advise
    from .verbs.bisect import bisect as bisect
    from .verbs.check import build as build
    from .verbs.check import check as check
    from .verbs.chip import chip as chip
    from .verbs.draw import draw as draw
    from .verbs.explore import explore as explore
    from .verbs.listing import listing as listing
    from .verbs.matmul import matmul as matmul
    from .verbs.mesh import mesh as mesh
    from .verbs.predict import predict as predict
    from .verbs.reshard import reshard as reshard
    from .verbs.roofline import roofline as roofline
    from .verbs.route import route as route
    from .verbs.show import show as show
    from .verbs.simulate import simulate as simulate
    from .verbs.sweep import sweep as sweep

__version__ = "0.1.0.dev0"

# Imported when used, so that `import hopcast` costs nothing.
_WHERE = {
    "cluster": "clusters",
    "CheckError": "interpret",
    "InputError": "names",
    "Schedule": "ir.schedule",
    "advise": "verbs.advise",
    "atlas": "atlas.site",
    "build": "verbs.check",
    "bisect": "verbs.bisect",
    "check": "verbs.check",
    "chip": "verbs.chip",
    "draw": "verbs.draw",
    "explore": "verbs.explore",
    "listing": "verbs.listing",
    "matmul": "verbs.matmul",
    "mesh": "verbs.mesh",
    "predict": "verbs.predict",
    "reshard": "verbs.reshard",
    "roofline": "verbs.roofline",
    "route": "verbs.route",
    "show": "verbs.show",
    "simulate": "verbs.simulate",
    "sweep": "verbs.sweep",
}
__all__ = sorted([*_WHERE, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"hopcast.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'hopcast' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


class _Verbs(ModuleType):
    """Some verbs share their name with the folder that does the work: `hopcast.simulate` is the verb."""

    def __setattr__(self, name: str, value: object) -> None:
        # Importing hopcast.simulate.reference would put the folder in the verb's place.
        if not (name in _WHERE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Verbs
