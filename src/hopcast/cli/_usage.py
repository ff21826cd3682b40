"""What is wrong with a command line, in one line that shows a right one."""

import difflib
import itertools
import re
import shlex
from collections.abc import Callable, Iterable, Sequence

_NEAR = 0.8  # how alike a word and what it is a slip for must be, of 1: `export` is none for `explore`
# What typer's reasons have in them, and what would be right.
_KINDS = {"valid integer": "a whole number", "valid number": "a number", "valid float": "a number"}


class UsageError(ValueError):
    """A word is missing from a command line, or one too many. A right line is shown behind the message."""


def example(examples: Sequence[str], words: Iterable[str]) -> str:
    """Of a command's examples the one that has most in common with a command line, options first.

    >>> lines = ["hopcast draw v5e:4x4 --route 3,3 0,0", "hopcast draw all_gather ring:8 --cut"]
    >>> example(lines, ["--cut"]), example(lines, ["all_gather"]) == lines[1], example(lines, []) == lines[0]
    ('hopcast draw all_gather ring:8 --cut', True, True)
    """
    asked = {w.partition("=")[0] if w.startswith("-") else w for w in words}

    def alike(line: str) -> tuple[int, int]:
        shared = asked & set(shlex.split(line))
        return sum(w.startswith("-") for w in shared), len(shared)

    return max(examples, key=alike)


def arguments(command: object) -> list[str]:
    """How the arguments of a command of typer's are written, in order: ``["COLLECTIVE", "CLUSTER"]``."""
    params = getattr(command, "params", [])
    return [p.metavar or p.name.upper() for p in params if p.param_type_name == "argument"]


def explained(error: Exception, name: str, words: Sequence[str], examples: Sequence[str]) -> str | None:
    """The line for an error of the command line; None for other errors.

    Args:
        error: Typer's, which versions define in their own places, or `UsageError`.
        name: Of the command.
        words: What was given, without the command.
        examples: Of the command.
    """
    usage: Callable[[], str] | None = getattr(error, "format_message", None)
    if usage is None and not isinstance(error, UsageError):
        return None
    message = usage().removesuffix(".") if usage is not None else str(error)
    kind = type(error).__name__
    if kind == "NoSuchOption":
        return f"{_no_option(error)} (see: hopcast {name} --help)"
    if kind == "BadParameter":
        return f"{_value(message, words)} (see: hopcast {name} --help)"
    if found := re.fullmatch(r"Missing \w+ '(.*?)'(\. .*)?", message, re.DOTALL):
        message = f"{found[1]} is missing"
    elif found := re.fullmatch(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", message):
        takes = " ".join(arguments(getattr(getattr(error, "ctx", None), "command", None)))
        message = f"{found[1]!r} is too much: {name} takes {takes or 'options only'}"
    elif found := re.fullmatch(r"Option '(.*)' requires (an|\d+) arguments?", message):
        message = f"{found[1]} takes {'a value' if found[2] == 'an' else f'{found[2]} values'}"
    return f"{message}; as in: {example(examples, words)}" if examples else message


def _no_option(error: Exception) -> str:
    given = str(getattr(error, "option_name", ""))
    listed = getattr(error, "possibilities", None) or ()
    near = _meant(given, listed)
    return f"no option {given}" + (f"; did you mean {' or '.join(near)}?" if near else "")


def _value(message: str, words: Sequence[str]) -> str:
    """A value that cannot be read: the option, what was given, what would be right."""
    found = re.fullmatch(r"Invalid value for ('.*?'): (?:Value error, )?(.*)", message, re.DOTALL)
    if found is None:
        return message
    names, why = re.findall("'(.*?)'", found[1]), found[2]
    option, given = next(((w, v) for w, v in itertools.pairwise(words) if w in names), (names[0], ""))
    for kind, right in _KINDS.items():
        if kind in why:
            return f"{option}{f' {given!r}' if given else ''}: write {right}"
    return f"{option}: {why}"  # the reason has what was given


def _meant(word: str, known: Iterable[str]) -> list[str]:
    """The known words, two at most, that one is a slip for, or the beginning of.

    >>> _meant("predct", ["predict", "draw"]), _meant("--algo", ["--algorithm"]), _meant("x", ["y"])
    (['predict'], ['--algorithm'], [])
    """
    listed = list(known)
    near = difflib.get_close_matches(word, listed, 2, _NEAR)
    return near or [k for k in listed if word and k.startswith(word)][:2]


def no_command(given: str, have: Iterable[str], examples: Callable[[str], Sequence[str]]) -> str:
    """The line for a command that there is not: the nearest one, or one that has an option of that name."""
    if given.startswith("-"):
        return f"no option {given!r} before the command; there is: --debug, --help, --version"
    word, names = given.lower().replace("_", "-"), list(have)
    if near := _meant(word, names):
        shown = examples(near[0])
        return f"no command {given!r}; did you mean {near[0]}?" + (f" as in: {shown[0]}" if shown else "")
    # Most questions are for predict, so that one is asked first.
    for name in sorted(names, key=lambda n: n != "predict"):
        for line in examples(name):
            if word in (w.lstrip("-").replace("_", "-") for w in shlex.split(line)[2:]):
                return f"no command {given!r}; did you mean {name}? as in: {line}"
    return f"no command {given!r}; there is: {', '.join(names) or 'none'}"
