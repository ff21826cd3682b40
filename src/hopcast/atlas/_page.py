"""The index page: every figure in place, no request leaves it."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from hopcast.draw.theme import COLOURS, SANS

GROUPS = {
    "tpu": "TPUs: chips, pods and the ways between them",
    "gather": "All-gather",
    "reduce": "Reduce-scatter and all-reduce",
    "exchange": "All-to-all, and what TPU collectives cost",
    "gpu": "GPU clusters",
    "node": "Inside a node of GPUs",
    "nodes": "Across nodes, and what GPU collectives cost",
    "beyond": "Beyond the article",
}
ARTICLE = "https://www.aleksagordic.com/blog/collective-operations"

_STYLE = """\
:root{{color-scheme:light dark;{light}}}
@media (prefers-color-scheme:dark){{:root{{{dark}}}}}
*{{box-sizing:border-box}}
body{{margin:0 auto;max-width:82rem;padding:1.5rem 1rem 4rem;font:16px/1.5 {sans};
color:var(--ink);background:var(--bg)}}
h1{{font-size:1.7rem;margin:0 0 .3rem}}
h2{{font-size:1.25rem;margin:2.6rem 0 .6rem;border-bottom:1px solid var(--rim)}}
a{{color:var(--r1)}}nav ul{{columns:20rem;list-style:none;padding:0;margin:.4rem 0}}
nav li{{break-inside:avoid}}
figure{{margin:1.4rem 0 2.2rem}}
figcaption{{margin-bottom:.4rem;display:flex;flex-wrap:wrap;gap:.1rem 1rem;align-items:baseline}}
figcaption b{{font-size:1.02rem}}
.picture{{overflow-x:auto;border:1px solid var(--rim);border-radius:6px}}
.picture svg{{display:block;margin:0 auto;max-width:none}}
code{{font-size:.82rem;background:var(--panel);border:1px solid var(--rim);border-radius:4px;
padding:.05rem .3rem;overflow-wrap:anywhere}}
.how{{display:block;font-size:.85rem;color:var(--muted);margin-top:.4rem}}
.said{{display:none;font-size:.85rem;margin:.4rem 0}}
.said i{{color:var(--muted)}}
@media (max-width:60rem){{.said{{display:block}}}}
"""


def index(entries: Sequence[Mapping[str, Any]], pictures: Mapping[str, str]) -> str:
    """The page.

    Args:
        entries: What is known of each figure, in order.
        pictures: Their SVG by id.
    """
    light, dark = (
        ";".join(f"--{k}:{COLOURS[k][i]}" for k in ("bg", "ink", "muted", "rim", "panel", "r1"))
        for i in (0, 1)
    )
    style = _STYLE.format(light=light, dark=dark, sans=SANS)
    groups = [g for g in GROUPS if any(e["group"] == g for e in entries)]
    body = []
    for group in groups:
        mine = [e for e in entries if e["group"] == group]
        body.append(
            f'<section aria-label="{escape(GROUPS[group])}"><h2 id="{group}">{escape(GROUPS[group])}</h2>'
        )
        body += [_figure(e, pictures[e["id"]]) for e in mine]
        body.append("</section>")
    links = "".join(
        f'<li><a href="#{e["id"]}">{escape(_name(e))}</a></li>'
        for g in groups
        for e in entries
        if e["group"] == g
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>hopcast: the atlas</title>\n<style>\n{style}</style></head>\n<body>\n<header><h1>How data "
        "moves: the atlas</h1><p>Pictures of collectives on TPU and GPU clusters. Every number in them is "
        "computed by hopcast from the schedule that is drawn, or measured where the figure says so. Figures "
        "1 to 35 are those of "
        f'<a href="{ARTICLE}">Inside TPU and GPU Clusters</a> by Aleksa Gordic, drawn anew.</p></header>\n'
        f'<nav aria-label="Figures"><ul>{links}</ul></nav>\n<main>\n'
        + "\n".join(body)
        + "\n</main>\n</body></html>\n"
    )


def _name(entry: Mapping[str, Any]) -> str:
    return f"Figure {entry['number']}. {entry['title']}" if entry["number"] else str(entry["title"])


def _figure(entry: Mapping[str, Any], svg: str) -> str:
    """A figure with its caption, the commands and the links."""
    links = [f'<a href="{entry["file"]}">SVG</a>']
    if entry["live"]:
        links.append(f'<a href="{entry["live"]}">see it move</a>')
    how = f"<span>made by <code>{escape(entry['command'])}</code></span>"
    if entry["ask"]:
        how += f" <span>its numbers: <code>{escape(entry['ask'])}</code></span>"
    if entry.get("renew"):  # a list of an older atlas has no such key
        how += f" <span>measured anew by <code>{escape(entry['renew'])}</code></span>"
    inline = svg.removesuffix("\n")
    # A screen narrower than the picture cuts its words; the picture's own description has them all.
    words = re.search(r"<desc>(.*?)</desc>", inline, re.DOTALL)
    said = f"{words.group(1)} <i>The picture slides sideways.</i>" if words else ""
    name, ways = escape(_name(entry)), "".join(f"<span>{a}</span>" for a in links)
    return (
        f'<figure id="{entry["id"]}"><figcaption><b>{name}</b>{ways}'
        f'</figcaption><div class="picture" tabindex="0">{inline}</div>'
        f'<p class="said" aria-hidden="true">{said}</p><div class="how">{how}</div></figure>'
    )
