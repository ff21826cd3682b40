"""Writes figures as files, their live pages, and one index page with all of them in it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hopcast.names import InputError
from hopcast.verbs.explore import explore

from . import Figure, Picture, every, figure
from ._page import index

MANIFEST = "atlas.json"


@dataclass(frozen=True)
class Made:
    """Figures that were written.

    Attributes:
        folder: Where.
        ids: Which, in order.
        files: Every file, relative to the folder.
        pictures: By id.
    """

    folder: Path
    ids: tuple[str, ...]
    files: tuple[str, ...]
    pictures: Mapping[str, Picture] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        many = f"{len(self.ids)} figures" if len(self.ids) > 1 else f"figure {self.ids[0]}"
        return f"{many} in {self.folder / 'index.html'}"


def atlas(
    out: str | Path, *, only: str | Sequence[str] | None = None, ranks: int = 0, size: str = "", on: str = "",
    live: bool = True, progress: Callable[[str], object] | None = None,
) -> Made:  # fmt: skip
    """Write the atlas, or some of its figures for other numbers, into a folder.

    A folder that has figures already keeps them: those that are made anew take the place of the old ones, and
    the index page lists all.

    Args:
        out: The folder; it is made if its parent is there.
        only: Ids or numbers of figures, one or several with commas between; default all.
        ranks: Ranks of the collective, for figures that take them.
        size: Bytes, for figures that take them.
        on: A cluster, for figures that take one.
        live: Whether to write the page of each figure on which it moves.
        progress: Told the id of each figure before it is made.

    Raises:
        InputError: for an unknown figure, numbers that one does not take or cannot show, or no such folder.

    Cost: about half a minute for all figures; a figure of a schedule takes 0.1 s.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = atlas(folder, only="all_gather1", ranks=12, live=False)
    >>> made.files, round(made.pictures["all_gather1"].facts["steps"])
    (('figures/all_gather1.svg', 'atlas.json', 'index.html'), 6)
    """
    chosen = _chosen(only)
    if not chosen:
        raise InputError("--only is empty; it takes ids of figures, as in --only all_gather1,ata1")
    numbers = [f.given(ranks, size, on) for f in chosen]
    folder = _folder(Path(out))
    known = _known(folder)
    files, pictures = [], {}
    for f, n in zip(chosen, numbers, strict=True):
        if progress is not None:
            progress(f.id)
        picture = f.picture(n)
        pictures[f.id] = picture
        files.append(_write(folder, f"figures/{f.id}.svg", picture.svg))
        page = _live(folder, f, picture) if live and picture.live else ""
        if page:
            files.append(page)
        known[f.id] = _entry(f, f.command(n), picture, page)
    listed = [known[f.id] for f in every() if f.id in known]
    files.append(_write(folder, MANIFEST, json.dumps(listed, indent=1) + "\n"))
    drawn = {e["id"]: (folder / e["file"]).read_text(encoding="utf-8") for e in listed}
    files.append(_write(folder, "index.html", index(listed, drawn)))
    return Made(folder, tuple(f.id for f in chosen), tuple(files), pictures)


def _chosen(only: str | Sequence[str] | None) -> list[Figure]:
    if only is None:
        return list(every())
    words = only.split(",") if isinstance(only, str) else list(only)
    return list(dict.fromkeys(figure(w) for w in words if w.strip()))


def _folder(folder: Path) -> Path:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"-o {str(folder)!r} is a file; the atlas is written into a folder")
    if not folder.resolve().parent.is_dir():
        raise InputError(f"cannot write {str(folder)!r}: there is no folder {str(folder.resolve().parent)!r}")
    try:
        for part in (folder, folder / "figures", folder / "live"):
            part.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {str(folder)!r}: {error.strerror or error}") from error
    return folder


def _known(folder: Path) -> dict[str, dict[str, Any]]:
    """Figures that the folder has already.

    Raises:
        InputError: if its list of them is none of ours.
    """
    path = folder / MANIFEST
    if not path.is_file():
        return {}
    try:
        have = {e["id"]: e for e in json.loads(path.read_text(encoding="utf-8"))}
        return {i: e for i, e in have.items() if (folder / e["file"]).is_file()}
    except (ValueError, TypeError, KeyError):
        raise InputError(
            f"{str(path)!r} is no list of figures of an atlas; remove it, or write elsewhere"
        ) from None


def _entry(f: Figure, command: str, picture: Picture, page: str) -> dict[str, Any]:
    """What the index page says of a figure."""
    return {
        "id": f.id,
        "number": f.number,
        "title": f.title,
        "group": f.group,
        "file": f"figures/{f.id}.svg",
        "command": command,
        "ask": picture.ask,
        "renew": picture.renew,
        "live": page,
        "facts": dict(picture.facts),
    }


def _live(folder: Path, f: Figure, picture: Picture) -> str:
    """The figure's page in the explorer."""
    collective, cluster, size, algorithm = picture.live
    if picture.schedule is not None:
        shown = explore(picture.schedule, cluster, size=size)
    else:
        shown = explore(
            collective, cluster, size=size, algorithm=algorithm, compare=picture.compare or None,
            command=explore_command(picture),
        )  # fmt: skip
    return _write(folder, f"live/{f.id}.html", shown.html)


def explore_command(picture: Picture) -> str:
    """The command line of the live page."""
    collective, cluster, size, algorithm = picture.live
    beside = f" --compare {picture.compare}" if picture.compare else ""
    return f"hopcast explore {collective} {cluster} --size {size} --algorithm {algorithm}{beside}"


def _write(folder: Path, name: str, text: str) -> str:
    """Write a file whole or not at all."""
    part = folder / f"{name}.part"
    part.write_text(text, encoding="utf-8")
    part.replace(folder / name)
    return name
