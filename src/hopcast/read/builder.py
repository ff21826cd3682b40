"""A schedule that a function in the user's own file builds: ``mine.py:my_all_reduce``.

The function is ``build(group, hint)`` like those of ``hopcast.algorithms``, or takes nothing. It returns a
Schedule, or a dict of the words and columns that a json file of a schedule has.
"""

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np

from hopcast.ir import record
from hopcast.ir.group import Group, Hint
from hopcast.ir.place import Place
from hopcast.ir.schedule import Schedule, Sends
from hopcast.names import InputError, unknown

_SHAPE = "a builder takes (group, hint) or nothing"


def build(text: str, group: Group | None = None, hint: Hint | None = None) -> Schedule:
    """Load the file, call the function and check what comes back.

    The steps of a Schedule are made when they are asked for, so each is checked then.

    Args:
        text: ``path/to/mine.py:function``.
        group: For a function that takes it.
        hint: The same; a plain one if not given.

    Raises:
        InputError: if there is no such file or function, if the user's code raises (with the line in their
            file), or if what comes back is no schedule.
    """
    path, name = _split(text)
    with _loaded(path, text) as module:
        function = _function(module, name, text)
        arguments = _arguments(function, group, hint or Hint(), text)
        # What a builder prints is not the result of the command.
        with _their_errors(path, text), redirect_stdout(sys.stderr):
            made = function(*arguments)
        if isinstance(made, Mapping):
            plain = {"algorithm": name} | ({} if group is None else {"ranks": group.ranks})
            return record.build(plain | dict(made), Place(text))
    if not isinstance(made, Schedule):
        raise InputError(f"{text} returned {_kind(made)}; a builder returns a Schedule or a dict of columns")
    return _guarded(made, path, text)


def _split(text: str) -> tuple[Path, str]:
    """The path of the file and the name of the function, which is empty if there is none."""
    head, dot_py, name = text.rpartition(".py:")
    return (Path(f"{head}.py"), name.strip()) if dot_py else (Path(text), "")


@contextmanager
def _loaded(path: Path, text: str) -> Iterator[ModuleType]:
    """The file as a module while it is used; nothing of it stays in sys.modules or sys.path.

    It is run from its text, not imported, so that what was edited is what runs.
    """
    try:
        source = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"no file {str(path)!r}; a builder is mine.py:function") from None
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    module = ModuleType(f"_hopcast_builder_{path.stem}")
    module.__file__ = str(path)
    folder = str(path.parent.absolute())
    before = sys.modules.get(module.__name__)
    # Dataclasses look their module up there, and the file may import its neighbours.
    sys.modules[module.__name__] = module
    sys.path.insert(0, folder)
    try:
        with _their_errors(path, text):
            exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
        yield module
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
        if before is None:
            sys.modules.pop(module.__name__, None)
        else:
            sys.modules[module.__name__] = before


def _function(module: ModuleType, name: str, text: str) -> Callable[..., object]:
    own = [
        key for key, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not key.startswith("_")
    ]  # fmt: skip
    if not name:
        there = ", ".join(own) or "none"
        raise InputError(f"{text}: say which function, as in mine.py:my_all_reduce; there is: {there}")
    if name not in vars(module):
        raise InputError(f"{text}: {unknown('function', name, own)}")
    found = vars(module)[name]
    if not callable(found):
        raise InputError(
            f"{text}: {name} is {_kind(found)}, not a function; there is: {', '.join(own) or 'none'}"
        )
    return found  # type: ignore[no-any-return]


def _arguments(
    function: Callable[..., object], group: Group | None, hint: Hint, text: str
) -> tuple[object, ...]:
    """(group, hint) or nothing, as the function takes it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise InputError(f"{text}: it does not say what it takes; {_SHAPE}") from None
    if _takes(signature, 2):
        if group is None:
            raise InputError(f"{text} takes {signature}: name the cluster that it is for")
        return group, hint
    if _takes(signature, 0):
        return ()
    raise InputError(f"{text} takes {signature}; {_SHAPE}")


def _takes(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


@contextmanager
def _their_errors(path: Path, text: str) -> Iterator[None]:
    """Turn what the user's code raises into one line with the line of the user's file."""
    try:
        yield
    except (Exception, SystemExit) as error:
        line = error.lineno if isinstance(error, SyntaxError) and error.filename == str(path) else None
        for frame in traceback.extract_tb(error.__traceback__):
            line = frame.lineno if frame.filename == str(path) else line
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        what = said.strip().split("\n")[0]
        kind = "" if isinstance(error, InputError) else type(error).__name__ + (": " if what else "")
        where = f", line {line}" if line is not None else ""
        raise InputError(f"{text}{where}: {kind}{what}") from error


def _guarded(made: Schedule, path: Path, text: str) -> Schedule:
    """The same schedule; a step that cannot be made, or cannot be, is an error of the user's file."""
    ranks = made.groups.shape[1] if made.groups.ndim == 2 and made.groups.size else -1
    if ranks != made.collective.ranks:
        says = f"groups of shape {made.groups.shape} and a collective of {made.collective.ranks} ranks"
        raise InputError(f"{text}: it returned {says}; groups are int32[groups, ranks]")
    if made.share is not None and np.shape(made.share) != (made.chunks,):
        raise InputError(
            f"{text}: share has shape {np.shape(made.share)} and there are {made.chunks} chunks; each has one"
        )

    def make(i: int) -> Sends:
        with _their_errors(path, text):
            rows = made.make(i)
        if not isinstance(rows, Sends):
            raise InputError(
                f"{text}: step {i} is {_kind(rows)}; it is Sends, as hopcast.ir.schedule.sends makes"
            )
        columns = {
            name: np.asarray(getattr(rows, name)) for name in ("src", "dst", "chunk", "count", "op", "lane")
        }
        shapes = {column.shape for column in columns.values()}
        if shapes != {(len(rows),)} or any(c.dtype.kind not in "iu" for c in columns.values()):
            raise InputError(f"{text}: step {i}: columns are whole numbers, all of one length")
        wrong = record.first_wrong(columns, made.vertices, made.ranks, made.chunks)
        if wrong:
            raise InputError(f"{text}: step {i}, send {wrong[0]}: {wrong[1]}")
        above = np.flatnonzero(columns["lane"] >= made.lanes)
        if len(above):
            raise InputError(
                f"{text}: step {i}, send {above[0]}: lane {columns['lane'][above[0]]} is not below the "
                f"lanes={made.lanes} of its Schedule; say how many there are, lanes="
                f"{int(columns['lane'].max()) + 1}"
            )
        return rows

    return replace(made, make=make)


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    word = type(value).__name__
    return f"{'an' if word[0] in 'aeiouAEIOU' else 'a'} {word}"
