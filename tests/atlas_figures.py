"""Figures of the atlas for tests, each made once, and what they say."""

import xml.etree.ElementTree as ET
from functools import cache

import pytest

from hopcast.atlas import Picture, every

FIGURES = {f.id: f for f in every()}
each_figure = pytest.mark.parametrize("name", FIGURES)


@cache
def picture(name: str) -> Picture:
    return FIGURES[name].picture()


def fact(name: str, key: str) -> float:
    value = picture(name).facts[key]
    assert isinstance(value, float | int)
    return float(value)


def words_of(svg: str) -> str:
    """All words of a picture, in the order of the file."""
    texts = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return " ".join(t.text or "" for t in texts)
