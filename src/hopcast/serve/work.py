"""What a question comes to: the data of a page, or one line that says what is wrong."""

import shlex
from collections.abc import Callable
from typing import Any

from hopcast.draw.explorer.build import content
from hopcast.verbs import ask
from hopcast.verbs.explore import explore

from .asked import MOST_CHIPS, Asked, too_large

MOST_PAGE = 32 * 2**20  # bytes of a page's data; the largest pod's are 3 MB


def answer(asked: Asked, say: Callable[[str], None]) -> dict[str, Any]:
    """The data of the page.

    Args:
        asked: The question.
        say: Is told what goes on.

    Raises:
        InputError: for more chips than a page shows, and whatever else the verbs raise it for.

    >>> told = []
    >>> found = answer(Asked(cluster="ring:4", size="4MiB", algorithm="ring"), told.append)
    >>> found["title"], told
    ('all_gather of 4 MiB on ring:4 by ring', ['reading the cluster', 'simulating', 'drawing'])
    """
    say("reading the cluster")
    for name in (asked.cluster, *([asked.compare] if ":" in asked.compare else [])):
        if ask.cluster_of(name).topology.chips > MOST_CHIPS:
            raise too_large(name)
    say("choosing among algorithms" if "best" in (asked.algorithm, asked.compare) else "simulating")
    page = explore(
        asked.collective,
        asked.cluster,
        size=asked.size,
        over=asked.over or None,
        algorithm=asked.algorithm or "auto",
        compare=asked.compare or None,
        slow=asked.slow,
        dead=asked.dead,
    )
    say("drawing")
    found = content(page.answers, shlex.join(asked.words))
    return found | {"asked": asked.record(), "warnings": list(page.warnings)}


def explain(error: Exception) -> str:
    """The error in one line, as the command line says it.

    >>> explain(ValueError("no axis 'q'")), explain(KeyError("x"))
    ("no axis 'q'", "internal error: KeyError: 'x'")
    """
    if isinstance(error, MemoryError):
        message = "the question takes more memory than it may; ask for fewer chips or another algorithm"
    elif isinstance(error, OverflowError):
        message = f"a number is too large: {error}"
    # As in the command line: Python raises bare KeyError and IndexError for our mistakes.
    elif isinstance(error, ValueError | LookupError) and type(error) not in (KeyError, IndexError):
        message = str(error)
    else:
        message = f"internal error: {type(error).__name__}: {error}"
    line = " ".join(message.split())
    return "".join(c if c.isprintable() else "?" for c in line)
