"""A page for each command, from the text of its --help and the flags of its signature, and one for Python."""

import inspect
import json
import typing
from collections.abc import Callable
from enum import Enum
from typing import Any

import typer.models

import hopcast
from hopcast.cli import _shell

from .markdown import code, console, contents, page, prose, table

# Their first example writes a file and prints nothing, or never ends.
_SILENT = ("explore", "atlas", "serve", "draw")


def pages() -> dict[str, str]:
    """By path in docs/."""
    names = _shell.commands()
    found = {f"reference/commands/{n}.md": _command(n) for n in names}
    rows = [[f"[{n}]({n}.md)", prose(_shell.summary(f))] for n, f in names.items()]
    text = (
        "One file of `src/hopcast/cli` each. `--format table|json|csv|md` is there on every command that "
        "gives rows; standard output carries the result only. Exit status: 0 done, 1 the check ran and "
        "the answer is no, 2 bad input (one line that says what would be right), 130 interrupted."
    )
    listed = table(["command", ""], rows)
    found["reference/commands/index.md"] = page("Commands", text, listed, contents(names))
    found["reference/python.md"] = _python()
    return found


def _command(name: str) -> str:
    function = _shell.load(name).command
    text, _, _ = inspect.cleandoc(function.__doc__ or "").partition("\nExample:")
    given, flags = _parameters(function)
    examples = _shell.examples(name)
    shown = "" if name in _SILENT else console(examples[0])
    usage = " ".join([f"hopcast {name}", *(row[0].strip("`") for row in given), "[OPTIONS]"])
    return page(
        name,
        code(usage, "text"),
        prose(text),
        "## Examples",
        code("\n".join(examples), "console"),
        shown,
        "## Arguments\n\n" + table(["argument", "default", ""], given) if given else "",
        "## Options\n\n" + table(["option", "default", ""], flags) if flags else "",
    )


def _parameters(function: Callable[..., Any]) -> tuple[list[list[str]], list[list[str]]]:
    """Arguments and options: how they are written, the default, what they mean."""
    hints = typing.get_type_hints(function, include_extras=True)
    given, flags = list[list[str]](), list[list[str]]()
    for name, parameter in inspect.signature(function).parameters.items():
        extra = typing.get_args(hints[name])
        info = next((e for e in extra if isinstance(e, typer.models.ParameterInfo)), None)
        if info is None:
            continue
        text = prose(info.help or "")
        if isinstance(info, typer.models.ArgumentInfo):
            given.append([f"`{info.metavar or name.upper()}`", _default(parameter), text])
            continue
        spelled = ", ".join(info.param_decls or ()) or f"--{name.replace('_', '-')}"
        flags.append([f"`{' '.join([spelled, *_value(extra[0], info.metavar)])}`", _default(parameter), text])
    return given, flags


def _value(kind: Any, metavar: str | None) -> list[str]:
    """What an option takes: nothing for a switch."""
    if metavar:
        return [metavar]
    for part in (kind, *typing.get_args(kind)):
        if isinstance(part, type) and issubclass(part, Enum):
            return ["|".join(str(e.value) for e in part)]
    return [] if kind is bool else ["VALUE"]


def _default(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is inspect.Parameter.empty:
        return "required"
    value = value.value if isinstance(value, Enum) else value
    return "" if value in (None, "", False) else f"`{value}`"


def _python() -> str:
    """The verbs of the package, from their docstrings."""
    names = [n for n in hopcast.__all__ if callable(getattr(hopcast, n))]
    parts = []
    for name in names:
        thing = getattr(hopcast, name)
        head, _, rest = inspect.cleandoc(thing.__doc__ or "").partition("\n")
        signature = "" if inspect.isclass(thing) else code(f"hopcast.{name}{_signature(thing)}", "python")
        more = code(rest.strip("\n")) if rest.strip() else ""
        parts.append("\n\n".join(p for p in (f"## {name}", prose(head), signature, more) if p))
    text = (
        "The verbs of the command line; each takes strings or objects. A result is rows: `str()` is the "
        "table, `.rows` are plain records, `.to_pandas()` is a frame, and it shows itself in a notebook."
    )
    example = inspect.cleandoc(hopcast.__doc__ or "").partition("\n\n>>> ")[2]
    return page("Python", text, code(f">>> {example}", "python"), *parts)


def _signature(function: Callable[..., Any]) -> str:
    """Names and defaults, one a line where they are many."""
    parts, star = list[str](), False
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        parts.append(p.name if p.default is p.empty else f"{p.name}={_shown(p.default)}")
    line = f"({', '.join(parts)})"
    return line if len(line) < 90 else "(\n" + "".join(f"    {p},\n" for p in parts) + ")"


def _shown(value: object) -> str:
    """A default as the formatter writes it."""
    return json.dumps(value) if isinstance(value, str) else repr(value)
