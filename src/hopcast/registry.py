"""Things are found by their file name and imported when they are used. To add one, add a file."""

import functools
import importlib
import importlib.resources
from types import ModuleType

from . import names


@functools.cache
def found(package: str, suffix: str = ".py") -> tuple[str, ...]:
    """Names of the files of a package of hopcast, sorted; those that start with an underscore are helpers.

    >>> "ring" in found("algorithms")
    True
    """
    files = (f.name for f in importlib.resources.files(f"hopcast.{package}").iterdir())
    return tuple(
        sorted(f.removesuffix(suffix) for f in files if f.endswith(suffix) and not f.startswith("_"))
    )


def load(package: str, kind: str, name: str) -> ModuleType:
    """The module that a name spells.

    Raises:
        InputError: if there is no such file; it names the nearest and all of them.
    """
    return importlib.import_module(f"hopcast.{package}.{names.pick(kind, name, found(package))}")
