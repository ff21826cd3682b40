"""Numbers and lists in sentences."""

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "switch"), counted(1024, "chip"), counted(2, "switch")
    ('1 switch', '1,024 chips', '2 switches')
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The plural of a regular noun."""
    return noun + ("es" if noun.endswith("ch") else "s")


def listed(words: Sequence[str]) -> str:
    """Words in a sentence.

    >>> listed(["x"]), listed(["x", "y"]), listed(["x", "y", "z"])
    ('x', 'x and y', 'x, y and z')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else list(words))


def which_wrap(names: Sequence[str]) -> str:
    """Axes that wrap, as the beginning of a sentence.

    >>> which_wrap(["x"]), which_wrap(["x", "y"])
    ('x wraps', 'x and y wrap')
    """
    return f"{listed(names)} wrap{'s' if len(names) == 1 else ''}"
