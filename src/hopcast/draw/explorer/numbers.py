"""What the page says beside the picture: times, bandwidths, bound, findings, the formula with its numbers."""

from fractions import Fraction
from typing import Any

from hopcast import algorithms
from hopcast.draw.words import counted
from hopcast.findings import find
from hopcast.predict import Answer
from hopcast.units import show_rate, show_seconds, show_size

_MOST_DENOMINATOR = 10**6
_SAME = 1e-12
Line = tuple[str, str, str, str]


def numbers(a: Answer) -> dict[str, Any]:
    """Lines of label, value, meaning and detail, the findings, the formula, and the algorithm in words."""
    return {
        "lines": [list(line) for line in _lines(a)],
        "row": {k: v for k, v in a.row().items() if not hasattr(v, "dtype")},
        "findings": [f.row() for f in find(a)],
        "formula": formula(a),
        **_words(a),
    }


def _lines(a: Answer) -> list[Line]:
    row = a.row()
    rates = [
        (name, show_rate(float(str(row[key])) * 1e9), meaning, "")
        for name, key, meaning in (
            ("algbw", "algbw_GBps", "size / time, as nccl-tests counts it"),
            ("busbw", "busbw_GBps", "algbw times the part that must cross each rank's ports"),
        )
        if row[key] is not None
    ]
    groups = len(a.schedule.groups)
    ranks = f"{a.schedule.ranks:,}" + (f" in each of {counted(groups, 'group')}" if groups > 1 else "")
    least = "the least time on the links asked for"
    return [
        ("time", show_seconds(a.time), "links at their rated one-way bandwidth", f"ideal, by {a.price}"),
        ("latency", show_seconds(a.latency), "in which first bytes are under way", ""),
        ("bandwidth", show_seconds(a.bandwidth), "in which bytes flow", ""),
        *rates,
        ("bound", show_seconds(a.bound.seconds), least, f"{a.bound.kind}: {a.bound.what}"),
        (
            "limit",
            show_seconds(a.limit.seconds),
            "the least time with every link",
            "" if a.limit.what == a.bound.what else f"{a.limit.kind}: {a.limit.what}",
        ),
        ("efficiency", f"{a.efficiency:.1%}", "bound / time", ""),
        ("bottleneck", a.bottleneck, "what the time goes to", ""),
        ("size", show_size(a.question.size), "of the whole array of one group", ""),
        ("ranks", ranks, "that take part", ""),
        ("steps", f"{a.schedule.step_count:,}", "rounds of sends", ""),
    ]


def formula(a: Answer) -> list[str]:
    """The time as k alpha + f D / W, then with its numbers, then what it comes to; empty if it is not such.

    alpha is the latency of one hop and W the bandwidth of one link, where all those of the group are alike.
    """
    group, size = a.question.group, a.question.size
    if not group.bandwidth or a.time <= 0 or not group.uniform_rates:
        return []
    if len(set(group.bandwidth)) > 1 or len(set(group.latency)) > 1:
        return []
    W, alpha = group.bandwidth[0], group.latency[0]
    part = a.bandwidth * W / size
    terms, put = [], []
    if alpha > 0 and a.latency > 0:
        hops = a.latency / alpha
        terms.append(f"{_number(hops)} alpha")
        put.append(f"{_number(hops)} x {show_seconds(alpha)}")
    if a.bandwidth > 0:
        terms.append(f"{_number(part)} D/W")
        put.append(f"{_number(part)} x {show_size(size)} / {show_rate(W)}")
    said = [f"T = {' + '.join(terms)}", f"= {' + '.join(put)}"]
    if len(terms) > 1:
        said.append(f"= {show_seconds(a.latency)} + {show_seconds(a.bandwidth)}")
    return [*said, f"= {show_seconds(a.time)}"]


def _number(value: float) -> str:
    """A whole number, a fraction that is exact, or digits.

    >>> _number(4.0), _number(0.46875), _number(1 / 3), _number(0.123456789123)
    ('4', '15/32', '1/3', '0.12346')
    """
    near = Fraction(value).limit_denominator(_MOST_DENOMINATOR)
    exact = abs(float(near) - value) <= _SAME * abs(value) and near.denominator <= 10**5
    if not exact:
        return f"{value:.5g}"
    return str(near) if near.denominator > 1 else str(near.numerator)


def _words(a: Answer) -> dict[str, str]:
    """What the algorithm does, in the words of its own file, and its source."""
    name = a.algorithm.split(",")[0]
    if name not in algorithms.names():
        return {"idea": "", "cost": "", "source": ""}
    one = algorithms.get(name)
    paragraphs = [" ".join(p.replace("``", "").split()) for p in (one.module.__doc__ or "").split("\n\n")]
    cost = next((p for p in paragraphs if p.startswith("Cost")), "")
    idea = " ".join(p for p in paragraphs[:2] if not p.startswith(("Cost", "Source")))
    return {"idea": idea, "cost": cost, "source": one.source}
