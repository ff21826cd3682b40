"""Directives for pictures that are drawn while Sphinx reads: figures of the atlas, and whatever `hopcast draw` draws.

``{atlas} all_gather1`` is a figure of the atlas with its caption, the command that makes it, and its live page in
a frame that loads when it is opened. ``{drawing} draw torus:4x4`` is the picture of a command. Both keep what they
draw in docs/_generated, which is not committed.
"""

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from hopcast import atlas
from hopcast.verbs.explore import explore
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .markdown import output

DRAWN = Path(__file__).parents[1] / "_generated"


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive("atlas", AtlasFigure)
    app.add_directive("drawing", Drawing)
    DRAWN.mkdir(exist_ok=True)
    return {"version": "1", "parallel_read_safe": False}


class Drawing(SphinxDirective):
    """The picture of a command; its content is the caption."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Draw it."""
        command = f"hopcast {self.arguments[0]}"
        path = DRAWN / f"{re.sub(r'[^a-z0-9]+', '-', self.arguments[0].lower())}.svg"
        output(f"{command} -o {path}")
        return [_figure(self, path, " ".join(self.content) or command, command)]


class AtlasFigure(SphinxDirective):
    """A figure of the atlas; its content is the caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Draw it, and make its live page where it has one."""
        figure = atlas.figure(self.arguments[0])
        picture = figure.picture()
        path = DRAWN / f"{figure.id}.svg"
        path.write_text(picture.svg, encoding="utf-8")
        command = figure.command(figure.takes)
        found: list[nodes.Node] = [_figure(self, path, figure.title, command)]
        if picture.live:
            collective, cluster, size, algorithm = picture.live
            words = f"hopcast explore {collective} {cluster} --size {size} --algorithm {algorithm}"
            folder = Path(self.env.app.outdir) / "live"
            folder.mkdir(parents=True, exist_ok=True)
            explore(
                collective, cluster, size=size, algorithm=algorithm, out=folder / f"{figure.id}.html", command=words
            )
            found.append(nodes.raw("", _frame(self.env.docname, figure, words), format="html"))
        return found


def _figure(directive: Directive, path: Path, alt: str, command: str) -> nodes.figure:
    """A figure of a file, with the directive's content and the command below it."""
    uri = f"/{path.relative_to(DRAWN.parent).as_posix()}"
    figure = nodes.figure("", nodes.image(uri=uri, alt=alt, loading="lazy"))
    caption = nodes.caption()
    said, _ = directive.state.inline_text(" ".join(directive.content), directive.lineno)
    caption += said
    figure += caption
    legend = nodes.legend("", nodes.paragraph("", "", nodes.literal(command, command)))
    figure += legend
    return figure


def _frame(docname: str, figure: atlas.Figure, words: str) -> str:
    """The live page, loaded when it is opened. It may run its own scripts and nothing else."""
    where = f"{'../' * docname.count('/')}live/{figure.id}.html"
    return (
        f'<details class="live"><summary>See it move</summary>'
        f'<p><code>{escape(words)} -o page.html</code>; <a href="{where}">alone on a page</a></p>'
        f'<iframe sandbox="allow-scripts" loading="lazy" src="{where}" title="{escape(figure.title)}, moving">'
        f"</iframe></details>"
    )
