"""Directives for pictures that are drawn while Sphinx runs.

``{atlas} all_gather1`` is a figure of the atlas with its caption, the command that makes it, and its live
page in a frame that loads when it is opened. ``{gallery} gather`` are all figures of a group, small.
``{drawing} draw torus:4x4`` is the picture of a command.

All is kept in docs/_generated, which is not committed; of that, the folder extra/ becomes part of the site,
so that the whole atlas stands in it as well.
"""

import functools
import json
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

from hopcast.atlas.site import MANIFEST, atlas
from hopcast.names import pick

from .markdown import ROOT, output

DRAWN = Path(__file__).parents[1] / "_generated"
SITE = DRAWN / "extra" / "atlas"


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive("atlas", AtlasFigure)
    app.add_directive("gallery", Gallery)
    app.add_directive("drawing", Drawing)
    app.connect("config-inited", _make)
    return {"version": "1", "parallel_read_safe": False}


def _make(app: Sphinx, config: Config) -> None:
    """Make the atlas, unless it is there and newer than the code."""
    list_ = SITE / MANIFEST
    newest = max(p.stat().st_mtime for p in (ROOT / "src").rglob("*") if p.is_file())
    if not list_.exists() or list_.stat().st_mtime < newest:
        SITE.parent.mkdir(parents=True, exist_ok=True)
        atlas(SITE)
    config.html_extra_path = [*config.html_extra_path, str(SITE.parent)]


@functools.cache
def figures() -> dict[str, dict[str, Any]]:
    """What the atlas says of its figures, by id."""
    listed = json.loads((SITE / MANIFEST).read_text(encoding="utf-8"))
    return {entry["id"]: entry for entry in listed}


class Picture(SphinxDirective):
    """A picture with the directive's content as the caption and a command below it."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def picture(self, path: Path, alt: str, caption: str, command: str) -> nodes.figure:
        """A figure of a file below docs/, which opens the file alone: on a phone it is too small to read."""
        uri = f"/{path.relative_to(DRAWN.parent).as_posix()}"
        said, messages = self.state.inline_text(caption, self.lineno)
        legend = nodes.legend("", nodes.paragraph("", "", nodes.literal(command, command)))
        image = nodes.image(uri=uri, alt=alt, loading="lazy")
        alone = f"{'../' * self.env.docname.count('/')}_images/{path.name}"  # where Sphinx puts pictures
        linked = nodes.reference("", "", image, refuri=alone)
        return nodes.figure("", linked, nodes.caption("", "", *said, *messages), legend)


class Drawing(Picture):
    """The picture of a command."""

    def run(self) -> list[nodes.Node]:
        """Draw it."""
        command = f"hopcast {self.arguments[0]}"
        path = DRAWN / f"{re.sub(r'[^a-z0-9]+', '-', self.arguments[0].lower())}.svg"
        output(f"{command} -o {path}")
        caption = " ".join(self.content) or command
        return [self.picture(path, caption, caption, command)]


class AtlasFigure(Picture):
    """A figure of the atlas, and below it the page on which it moves."""

    def run(self) -> list[nodes.Node]:
        """Show it."""
        known = figures()
        entry = known[pick("figure", self.arguments[0], known)]
        found: list[nodes.Node] = [
            self.picture(SITE / entry["file"], entry["title"], " ".join(self.content), entry["command"])
        ]
        if entry["live"]:
            found.append(nodes.raw("", frame(self.env.docname, entry), format="html"))
        return found


class Gallery(Picture):
    """All figures of a group."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Show them."""
        box = nodes.container(classes=["gallery"])
        for entry in figures().values():
            if entry["group"] == self.arguments[0]:
                number = f"{entry['number']}. " if entry["number"] else ""
                box += self.picture(
                    SITE / entry["file"], entry["title"], f"{number}{entry['title']}", entry["command"]
                )
        if not box.children:
            raise self.error(f"the atlas has no group {self.arguments[0]!r}")
        return [box]


def frame(docname: str, entry: dict[str, Any]) -> str:
    """The live page, loaded when it is opened. It may run its own scripts and nothing else."""
    where = f"{'../' * docname.count('/')}atlas/{entry['live']}"
    return (
        f'<details class="live"><summary>See it move</summary>'
        f'<p><a href="{where}">Alone on a page</a></p>'
        f'<iframe sandbox="allow-scripts" loading="lazy" src="{where}" '
        f'title="{escape(entry["title"])}, moving"></iframe></details>'
    )
