"""A figure in words: what is written in it, line by line, and the numbers that it holds."""

import re
from xml.etree import ElementTree

from hopcast.atlas import Figure, Numbers, Picture
from hopcast.verbs.draw import Drawing

_NEAR = 4.0  # pixels by which words of one line may differ in height


def drawing(figure: Figure, numbers: Numbers | None = None) -> Drawing:
    """The figure as SVG, and in words for a terminal, for its own numbers or others.

    >>> from hopcast.atlas import figure
    >>> print(drawing(figure("pyramid")))  # doctest: +ELLIPSIS
    The bandwidths of a TPU v5e...
    """
    made = figure.picture(numbers)
    return Drawing(lambda: words(made), lambda: made.svg)


def words(picture: Picture) -> str:
    """Lines of the picture from top to bottom, then its numbers in SI units."""
    found = []
    for element in ElementTree.fromstring(picture.svg).iter():
        text = " ".join("".join(element.itertext()).split())
        if element.tag.endswith("}text") and text and "x" in element.attrib:
            found.append((_number(element.attrib["y"]), _number(element.attrib["x"]), text))
    lines: list[list[tuple[float, float, str]]] = []
    for at in sorted(found):
        if lines and at[0] - lines[-1][0][0] <= _NEAR:
            lines[-1].append(at)
        else:
            lines.append([at])
    said = ["   ".join(text for _, _, text in sorted(line, key=lambda word: word[1])) for line in lines]
    numbers = [f"  {key:<32} {_spell(value)}" for key, value in picture.facts.items()]
    return "\n".join([*said, "", "numbers, SI units:", *numbers] if numbers else said)


def _number(text: str) -> float:
    return float(re.sub(r"[^0-9.eE+-]", "", text) or 0)


def _spell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
