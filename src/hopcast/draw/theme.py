"""Colours and styles of the pictures, in light and in dark.

Kinds of things have the colours of Okabe and Ito, which colour-blind readers tell apart; amounts run along
viridis, pale to dark on a light page and dark to bright on a dark one. Nothing is told by colour alone:
routes are dashed in their own ways and numbered, loads differ in width, chunks bear names or keep places.

Source: Okabe and Ito 2008, Color Universal Design; Smith and van der Walt 2015, viridis.
"""

from collections.abc import Iterable

# name -> (light, dark)
COLOURS = {
    "bg": ("#ffffff", "#10151b"),
    "ink": ("#1b2430", "#e6edf3"),
    "muted": ("#566472", "#a3b0bd"),
    "cable": ("#8b98a6", "#6d7a88"),
    "panel": ("#f4f6f8", "#18202a"),
    "rim": ("#d5dce3", "#303c49"),
    "chip": ("#e6ecf3", "#27323f"),
    "edge": ("#566472", "#8d9aa8"),
    "switch": ("#d9d4e8", "#3b3453"),
    "blank": ("#ffffff", "#10151b"),
    "grid": ("#c3ccd5", "#3d4a58"),
    "idle": ("#b9c3cd", "#46525f"),
    "u1": ("#6abf45", "#5a5fae"),
    "u2": ("#1f9e7a", "#2f8aa3"),
    "u3": ("#2a788e", "#22a884"),
    "u4": ("#414487", "#7ad151"),
    "u5": ("#440154", "#fde725"),
    "r1": ("#0072b2", "#56b4e9"),
    "r2": ("#c84c00", "#ff8a4c"),
    "r3": ("#007a58", "#2fd0a0"),
    "r4": ("#a8457f", "#e79fc7"),
    "r5": ("#8a6100", "#f0c04a"),
    "r6": ("#4a46a8", "#aaa7ff"),
}  # fmt: skip
# Fills that bear dark words in both themes.
CHUNKS = ("#f2b33d", "#8ccbf0", "#4dbb97", "#f0e442", "#5a9bd8", "#ee8150", "#dc9cc2", "#b4b9bf")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 2", "1 2")
SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif"

_RULES = {
    "bg": "fill:{bg}",
    "ink": "fill:{ink}",
    "bold": "fill:{ink};font-weight:700",
    "muted": "fill:{muted}",
    "on": "fill:#10151b",
    "panel": "fill:{panel};stroke:{rim}",
    "chip": "fill:{chip};stroke:{edge}",
    "end": "fill:{chip};stroke:{ink};stroke-width:2.5",
    "switch": "fill:{switch};stroke:{edge}",
    "cable": "fill:none;stroke:{cable};stroke-width:1.5",
    "wrap": "fill:none;stroke:{cable};stroke-width:1.3;stroke-dasharray:5 3",
    "dead": "fill:none;stroke:{muted};stroke-width:1.5;stroke-dasharray:1 4",
    "cross": "fill:none;stroke:{ink};stroke-width:1.5",
    "border": "fill:none;stroke:{ink};stroke-width:1.6;stroke-dasharray:6 4",
    "tip": "fill:{cable}",
    "idle": "fill:none;stroke:{idle};stroke-width:1",
    "blank": "fill:{blank};stroke:{grid}",
    "spent": "fill:none;stroke:{muted};stroke-dasharray:2 2",
    "new": "fill:none;stroke:{ink};stroke-width:2",
    "new-fine": "fill:none;stroke:{ink}",
    "bundle": "fill:none;stroke:{muted};stroke-width:3",
    "bundletip": "fill:{muted}",
    "hatch": "fill:url(#hopcast-hatch)",
}
_RULES |= {f"u{i}": f"fill:none;stroke:{{u{i}}}" for i in range(1, 6)}
_RULES |= {f"t{i}": f"fill:{{u{i}}}" for i in range(1, 6)}
_RULES |= {
    f"r{i + 1}": f"fill:none;stroke:{{r{i + 1}}}" + (f";stroke-dasharray:{dash}" if dash else "")
    for i, dash in enumerate(DASHES)
}
_RULES |= {f"h{i}": f"fill:{{r{i}}}" for i in range(1, 7)}
_RULES |= {f"s{i}": f"fill:none;stroke:{{r{i}}}" for i in range(1, 7)}
_RULES |= {f"d{i}": f"fill:none;stroke:{{r{i}}};stroke-dasharray:5 2.5" for i in range(1, 7)}
_RULES |= {f"a{i}": f"fill:{{r{i}}};fill-opacity:0.2" for i in range(1, 7)}
_RULES |= {f"c{i}": f"fill:{colour}" for i, colour in enumerate(CHUNKS)}

HATCH = (
    '<defs><pattern id="hopcast-hatch" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<path d="M0 5L5 0" stroke="#10151b" stroke-opacity="0.45"/></pattern></defs>'
)


def style(used: Iterable[str]) -> str:
    """The style sheet of a picture that uses some of the classes.

    A page can set the variables itself; a reader that knows no variables gets the light colours.
    """
    names = set(used)
    rules = [(name, rule) for name, rule in _RULES.items() if name in names]
    assert len(rules) == len(names), names - _RULES.keys()
    need = [c for c in COLOURS if any("{" + c + "}" in rule for _, rule in rules)]
    light, dark = (";".join(f"--hc-{c}:{COLOURS[c][i]}" for c in need) for i in (0, 1))
    lines = [
        f".hopcast{{{light};font-family:{SANS}}}",
        f"@media (prefers-color-scheme:dark){{.hopcast{{{dark}}}}}",
    ]
    for name, rule in rules:
        plain = rule.format_map({c: pair[0] for c, pair in COLOURS.items()})
        themed = rule.format_map({c: f"var(--hc-{c})" for c in COLOURS})
        lines.append(f".hopcast .{name}{{{plain if plain == themed else f'{plain};{themed}'}}}")
    return "\n".join(lines)


def chunk_class(index: int) -> tuple[str, bool]:
    """The class of the i-th colour of chunks, and whether it is hatched (every second round of the colours).

    >>> chunk_class(1), chunk_class(9)
    (('c1', False), ('c1', True))
    """
    return f"c{index % len(CHUNKS)}", index // len(CHUNKS) % 2 == 1


def route_number(index: int) -> int:
    """The colour and dash of the i-th route or lane: 1..6, then again from 1."""
    return index % len(DASHES) + 1
