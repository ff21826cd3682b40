"""Finds the command by its file name, runs it, and turns every error into one line and an exit status.

Only the module of the command that is asked for is imported, so ``hopcast --help`` costs next to nothing.
"""

import gc
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from hopcast.cli._page import columns, fitted

DONE, NO, BAD_INPUT, INTERNAL, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 70, 130, 141

_EXTRAS = {
    "matplotlib": "plot",
    "plotly": "plot",
    "pydantic": "files",
    "highspy": "plan",
    "starlette": "serve",
    "uvicorn": "serve",
}

# Objects made before those in circles are looked for, 700 by default: to import what simulates makes some
# 400,000, none of them garbage, and looking took a tenth of the time of a command (2026-11).
_SELDOM = 100_000
_WIDEST, _LINES = 100, 120  # columns of the first page of help, and of command lines in the others

_HEAD = (
    "Usage: hopcast [--debug] COMMAND ...\n\n"
    "How data will move through a TPU or GPU cluster: which links a collective uses, how long it takes, "
    "how far that is from the physical limit, and what to change.\n\n"
    "Commands:\n"
)

_TAIL = """
Options:
  --version  show the version
  --debug    show the traceback of an error
  --help     show this page; after a command, what it does, with examples

Example:
  hopcast predict all_gather v5e:4x4 --size 8MiB --over x
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``hopcast`` with these arguments (default: those of the process).

    Returns:
        The exit status: 0 done, 1 the answer is no, 2 bad input, 70 our own mistake, 130 interrupted.
    """
    _open_closed_streams()
    words = list(sys.argv[1:] if argv is None else argv)
    ours = words[: words.index("--")] if "--" in words else words
    debug = "--debug" in ours
    if debug:
        words = [w for w in ours if w != "--debug"] + words[len(ours) :]
    often = gc.get_threshold()
    gc.set_threshold(_SELDOM, *often[1:])
    try:
        status = _dispatch(words)
        sys.stdout.flush()
        _tell_of_compiling()
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            import traceback

            traceback.print_exc()
        status, message = _explain(error, words)
        if message:
            print(f"hopcast: {_one_line(message)}", file=sys.stderr)
    finally:
        gc.set_threshold(*often)
    return status


def commands() -> dict[str, Path]:
    """The file of each command, by the name that the user types (underscores become hyphens)."""
    import hopcast.cli

    files = [f for folder in hopcast.cli.__path__ for f in Path(folder).glob("[!_]*.py")]
    return {f.stem.replace("_", "-"): f for f in sorted(files, key=lambda f: f.stem)}


def summary(file: Path) -> str:
    """The first line of a command's file, which is the first line of its docstring; nothing is imported."""
    with file.open(encoding="utf-8") as f:
        return f.readline().strip().strip('"').strip()


def load(name: str) -> ModuleType:
    """The module of a command."""
    return importlib.import_module(f"hopcast.cli.{name.replace('-', '_')}")


def examples(name: str) -> list[str]:
    """The ``hopcast ...`` lines in a command's docstring, which tests run and docs show."""
    lines = (load(name).command.__doc__ or "").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("hopcast ")]


def _dispatch(words: list[str]) -> int:
    if words in ([], ["--help"], ["-h"], ["help"]):
        print(_help(), end="")
        return DONE
    if words == ["--version"]:
        from hopcast import __version__

        print(f"hopcast {__version__}")
        return DONE
    if words[0] == "help":
        words = [*words[1:], "--help"]
    if words[1:] == ["-h"]:
        words = [words[0], "--help"]
    have = commands()
    name = words[0].replace("_", "-")
    if name not in have:
        from hopcast.cli import _usage

        raise ValueError(_usage.no_command(words[0], have, examples))
    return _run(name, load(name).command, words)


def _run(name: str, function: Callable[..., object], words: list[str]) -> int:
    import typer

    from hopcast.cli._command import Command

    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, cls=Command, help=_laid_out(function.__doc__ or ""))(function)
    command = typer.main.get_command(app)
    try:
        with command.make_context(f"hopcast {name}", words[1:], obj=["hopcast", *words]) as context:
            result = command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    return result if isinstance(result, int) else DONE


def _explain(error: BaseException, words: list[str]) -> tuple[int, str]:
    """Exit status and the one line, without the leading ``hopcast:``."""
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return INTERRUPTED, "interrupted"
    usage = _usage_of(error, words)
    if usage is not None:
        return BAD_INPUT, f"error: {usage}"
    if isinstance(error, ModuleNotFoundError) and error.name in _EXTRAS:
        extra = _EXTRAS[error.name]
        return BAD_INPUT, f"error: this needs {error.name}; install it with: pip install 'hopcast[{extra}]'"
    if isinstance(error, OSError):
        return BAD_INPUT, f"error: {error.filename or 'cannot write'}: {error.strerror or error}"
    if isinstance(error, OverflowError):
        return BAD_INPUT, f"error: a number is too large: {error}"
    # Python raises bare KeyError and IndexError for our mistakes; input that is not found is a LookupError.
    if isinstance(error, ValueError | LookupError) and type(error) not in (KeyError, IndexError):
        return BAD_INPUT, f"error: {error}"
    return INTERNAL, f"internal error: {type(error).__name__}: {error} (use --debug)"


def _usage_of(error: BaseException, words: list[str]) -> str | None:
    """The line for an error of the command line itself."""
    from hopcast.cli import _usage

    name = words[0].replace("_", "-") if words else ""
    if not isinstance(error, Exception) or name not in commands():
        return None
    return _usage.explained(error, name, words[1:], examples(name))


def _help() -> str:
    have = commands()
    width = max(map(len, have), default=0)
    text = _HEAD + "".join(f"  {n:<{width}}  {summary(f)}\n" for n, f in have.items()) + _TAIL
    return "".join(f"{fitted(line, columns(_WIDEST))}\n" for line in text.splitlines())


def _laid_out(doc: str) -> str:
    r"""The docstring with a ``\b`` before each indented paragraph: ``--help`` then keeps its lines.

    Lines that a terminal has no room for are folded; ``--help`` indents all by two.
    """
    import inspect

    wide, found = columns(_LINES) - 2, []
    for paragraph in inspect.cleandoc(doc).split("\n\n"):
        kept = "\n " in paragraph or paragraph.startswith(" ")
        lines = [fitted(line, wide) for line in paragraph.splitlines()]
        found.append("\n".join(["\b", *lines]) if kept else paragraph)
    return "\n\n".join(found)


def _one_line(message: str) -> str:
    line = " ".join(message.split())
    return "".join(c if c.isprintable() else "?" for c in line)


def _tell_of_compiling() -> None:
    """Say once why an answer that was simulated took long, if it is for want of a folder; loads nothing."""
    kept = sys.modules.get("hopcast.graph.kept")
    if kept is not None and kept.note():
        print(f"hopcast: note: {kept.note()}", file=sys.stderr)


def _open_closed_streams() -> None:
    """Where the shell closed stdout or stderr (``>&-``), what is printed goes nowhere, and nothing fails.

    It also keeps files that are opened later from getting the numbers of these streams.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115


def _silence_stdout() -> None:
    """The reader of a pipe left; keep Python from complaining about it when it flushes at exit."""
    import contextlib

    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
