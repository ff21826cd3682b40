"""One spelling for every word, and errors that name the right choices."""

import difflib
import re
from collections.abc import Iterable


class InputError(ValueError):
    """Input that cannot be used. The message is one line: what was given and what would be right."""


def snake(word: str) -> str:
    """AllReduce, all-reduce and all_reduce are one word.

    >>> snake("AllReduce"), snake("all-to-all"), snake("allgather")
    ('all_reduce', 'all_to_all', 'allgather')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word.strip())
    return parted.replace("-", "_").replace(" ", "_").lower()


def pick(kind: str, given: str, choices: Iterable[str], of: str = "") -> str:
    """The choice that ``given`` spells; underscores, hyphens and capitals do not matter.

    ``of`` is what has these choices.

    >>> pick("collective", "AllGather", ["all_gather", "all_reduce"])
    'all_gather'

    Raises:
        InputError: naming the nearest choice and all of them.
    """
    have = list(choices)
    flat = {c.replace("_", ""): c for c in have}
    found = flat.get(snake(given).replace("_", ""))
    if found is None:
        raise unknown(kind, given, have, of)
    return found


def unknown(kind: str, given: str, choices: Iterable[str], of: str = "") -> InputError:
    """The error for a word that is not among the choices, of all or of what ``of`` names.

    >>> print(unknown("axis", "w", ["x", "y"], of="v5e:4x4"))
    v5e:4x4 has no axis 'w'; there is: x, y
    """
    have = list(choices)
    near = difflib.get_close_matches(snake(given), have, 1)
    hint = f"; did you mean {near[0]}?" if near else ";"
    none = f"{of} has no" if of else "no"
    return InputError(f"{none} {kind} {given!r}{hint} there is: {', '.join(have) or 'none'}")
