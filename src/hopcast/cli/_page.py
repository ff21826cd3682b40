"""Pages of help as wide as the terminal. Standard library only: ``hopcast --help`` costs next to nothing."""

import re
import shutil
import textwrap

_LEAST = 24  # columns below which nothing can be read
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|[^\s"'])+""")
_NAME = re.compile(r"  +\S+  +")


def columns(most: int) -> int:
    """Columns of the terminal, and not more than can be read; COLUMNS overrides them."""
    return max(min(shutil.get_terminal_size((most, 24)).columns, most), _LEAST)


def folded(line: str, width: int) -> str:
    r"""A command line on several, which a shell reads as one; quoted words stay whole.

    >>> print(folded("  hopcast draw all_gather ring:8 --size 8MiB --cut", 34))
      hopcast draw all_gather ring:8 \
        --size 8MiB --cut
    """
    if len(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    words, lines = _WORD.findall(line), list[str]()
    at = indent + words[0]
    for word in words[1:]:
        if len(at) + len(word) + 3 > width:  # a blank, and a blank and a backslash behind it
            lines, at = [*lines, f"{at} \\"], f"{indent}  {word}"
        else:
            at = f"{at} {word}"
    return "\n".join([*lines, at])


def fitted(line: str, width: int) -> str:
    """A line of a page on as many as it takes; what is said of a name stays below what was said of it.

    >>> print(fitted("  show   what a cluster is: chips, links, axes", 30))
      show   what a cluster is:
             chips, links, axes
    """
    if line.lstrip().startswith("hopcast "):
        return folded(line, width)
    name = _NAME.match(line)
    hang = 0 if name is None else len(name[0]) if len(name[0]) < width // 2 else 4
    return textwrap.fill(line, width, subsequent_indent=" " * hang, break_on_hyphens=False)
