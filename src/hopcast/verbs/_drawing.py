"""A picture that is made when it is looked at."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hopcast.names import InputError


@dataclass(frozen=True)
class Drawing:
    """A picture that shows itself: ``str()`` is text for a terminal, a notebook shows the SVG.

    Attributes:
        text: Makes the text.
        svg: Makes the SVG.
        warnings: What the user should know of it.
    """

    text: Callable[[], str]
    svg: Callable[[], str]
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text()

    def save(self, path: str | Path) -> None:
        """Write the picture: ``.svg``, or ``.txt`` for the text.

        Raises:
            InputError: for another suffix.
        """
        suffix = Path(path).suffix
        if suffix not in (".svg", ".txt"):
            raise InputError(f"{str(path)!r}: a picture is written as .svg or .txt")
        Path(path).write_text(self.svg() if suffix == ".svg" else f"{self}\n", encoding="utf-8")

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": str(self)}
