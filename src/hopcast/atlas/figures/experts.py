"""Experts: who sends how much to whom when a router has favourites, and how sparse that is on 72 GPUs."""

import numpy as np

from hopcast.atlas import Fact, Figure, Numbers, Picture
from hopcast.atlas._timing import at_most, cluster_of
from hopcast.choose import answer
from hopcast.draw.boxes import Box, around
from hopcast.draw.charts import bars, heat, heat_key
from hopcast.draw.sketch import Sketch
from hopcast.draw.svg import LINES, OVER
from hopcast.ir import traffic
from hopcast.ir.topology import Floats
from hopcast.names import InputError
from hopcast.units import show_rate, show_seconds, show_size
from hopcast.verbs import ask

ROUTERS = (("even", "uniform"), ("skewed", "zipf:1.0"))
LAYER = "tokens=4096,hidden=7168,experts=256,top=8"  # DeepSeek-V3: 256 experts, 8 a token, hidden size 7168


def exchange(on: str, matrix: Floats) -> float:
    """Seconds of an all_to_all_v by flows, latency left out."""
    q, _ = ask.question("all_to_all_v", f"{on},latency=0", size=float(matrix.sum()), matrix=matrix)
    return answer(q, "direct", "flows").time


def draw_skew(numbers: Numbers) -> Picture:
    """Matrices of an even and of a skewed router, what each GPU gets, and the times."""
    n = at_most(numbers.ranks, least=4, most=16)
    on = f"switch:{n},bandwidth=450GB/s"
    canvas, cell = Sketch(), 208.0 / n
    facts: dict[str, Fact] = {}
    rows = []
    routers = {
        name: traffic.route(traffic.read_moe(f"{LAYER},skew={skew},seed=1"), n)[0] for name, skew in ROUTERS
    }
    most = max(float(m.max()) for m in routers.values())
    for k, (name, matrix) in enumerate(routers.items()):
        time = exchange(on, matrix)
        into = matrix.sum(0) - matrix.diagonal()
        uneven = float(into.max() / into.mean())
        left = k * 430.0
        canvas.panel(
            Box(left, 0, left + 414, 318),
            f"{name} router",
            f"{show_size(float(matrix.sum()))} in all; row sends, column receives",
        )
        heat(canvas, left + 46, 84, matrix, cell=cell, most=most, across="to GPU")
        _columns(canvas, left + 286, 84, into, cell)
        facts |= {f"{name}.time": time, f"{name}.uneven": uneven, f"{name}.bytes": float(matrix.sum())}
        rows.append(
            (
                f"{name} router",
                time,
                f"{show_seconds(time)}; the fullest GPU receives {uneven:.2f} x the mean",
                f"h{k + 1}",
            )
        )
    heat_key(canvas, 46, 342, "bytes from a GPU to a GPU, in fifths of the most in either")
    bars(canvas, 0, 364, rows, room=330)
    facts["slower"] = float(facts["skewed.time"]) / float(facts["even.time"])  # type: ignore[arg-type]
    return Picture(
        canvas.finish(
            f"Dispatch of tokens to experts on {n} GPUs",
            f"{LAYER.replace(',', ', ')}; bf16; seed 1",
            [
                "An all-to-all is as slow as its fullest port. With popular experts (Zipf's law, s = 1) "
                f"some GPUs receive more than others, and the exchange takes {facts['slower']:.2f} times as "
                "long."
            ],
        ),
        facts,
        (),
        f"hopcast predict all_to_all_v {on},latency=0 --moe {LAYER},skew=zipf:1.0,seed=1",
    )


def _columns(canvas: Sketch, left: float, top: float, into: Floats, cell: float) -> None:
    """What each GPU receives, as bars beside the matrix."""
    canvas.text(left, top - 18, "each GPU receives", size=10, anchor="start")
    for g, value in enumerate(into):
        y = top + g * cell
        canvas.rect(Box(left, y + 1, left + 62 * float(value / into.max()), y + cell - 1), "h1")
        canvas.text(
            left + 68,
            y + cell / 2 + 3,
            show_size(float(value)),
            size=min(8.5, cell * 0.55),
            cls="muted",
            anchor="start",
        )
    mean = left + 62 * float(into.mean() / into.max())
    canvas.line(((mean, top - 4), (mean, top + len(into) * cell + 4)), "new", width=1.2, layer=OVER)
    canvas.text(mean, top + len(into) * cell + 15, "mean", size=8.5, cls="muted")


def _token(canvas: Sketch, moe: traffic.Moe, n: int) -> None:
    """All GPUs, and the ways of one token of GPU 0 to those that have its experts."""
    rng, per = np.random.default_rng(1), 18
    chosen = {int(moe.homes(n)[e]) for e in rng.choice(moe.experts, moe.top, replace=False)}
    said = f"its {moe.top} experts are on {len(chosen)} of {n} GPUs"
    rows = -(-n // per)
    canvas.panel(Box(0, 0, 780, 82 + 42 * rows), "one token of GPU 0", said)
    boxes = []
    for g in range(n):
        box = around(40 + (g % per) * 41.0, 88 + (g // per) * 42.0, 31, 19)
        cls = "c0" if g in chosen else "end" if g == 0 else "chip"
        boxes.append(canvas.box(box, [str(g)], cls, size=8.5, round_by=3, layer=OVER))
    for g in sorted(chosen - {0}):
        canvas.link(boxes[0], boxes[g], 1, width=1.4, gap=1.0, layer=LINES)


def draw_sparse(numbers: Numbers) -> Picture:
    """One token's GPUs, and dense beside sparse."""
    cluster = cluster_of(numbers.on)
    n, rate = cluster.topology.chips, float(cluster.topology.bandwidth.max())
    if not 16 <= n <= 144 or len(cluster.topology.axes) != 1:
        raise InputError(
            f"--on {numbers.on}: this figure takes one domain of 16 to 144 GPUs, such as gb200-nvl72"
        )
    moe = traffic.read_moe(f"{LAYER},seed=1")
    matrix, mean = traffic.route(moe, n)
    dense = np.full((n, n), moe.tokens * moe.token_bytes)  # every token to every GPU
    even = np.full((n, n), float(matrix.sum()) / n**2)
    times = [exchange(numbers.on, m) for m in (dense, even, matrix)]
    canvas = Sketch()
    _token(canvas, moe, n)
    words = (
        f"every token to every GPU: {show_size(float(dense.sum()))}",
        f"as much as the router sends, evenly: {show_size(float(even.sum()))}",
        f"as the router sends it: {show_size(float(matrix.sum()))}",
    )
    names = ("dense", "balanced", "sparse and ragged")
    rows = [
        (a, t, f"{show_seconds(t)}; {w}", f"h{k + 1}")
        for k, (a, t, w) in enumerate(zip(names, times, words, strict=True))
    ]
    bars(canvas, 0, 112 + 42 * -(-n // 18), rows, room=230)
    share = moe.top / n
    expected = moe.expected(n)
    facts: dict[str, Fact] = {"share": share, "mean": mean, "gpus": n}
    facts |= dict(zip(("dense", "even", "sparse"), times, strict=True))
    if expected is not None:
        facts["expected"] = expected
    return Picture(
        canvas.finish(
            f"Tokens to experts on {n} GPUs: a sparse all-to-all",
            f"{numbers.on}, {show_rate(rate)} a GPU one way; {LAYER.replace(',', ', ')}",
            [
                f"With {moe.top} experts a token reaches at most {moe.top} of {n} GPUs, {share:.0%}; on "
                f"average {mean:.2f}, for two of its experts may share a GPU. So a token is sent only where "
                "it is wanted, and messages differ in size from pair to pair."
            ],
        ),
        facts,
        (),
        f"hopcast predict all_to_all_v {numbers.on},latency=0 --moe {LAYER},seed=1",
    )


FIGURES = (
    Figure("moe_traffic", 0, "Traffic of a skewed mixture of experts", draw_skew, Numbers(8), "beyond"),
    Figure("moe_nvl72", 0, "Sparse experts on NVL72", draw_sparse, Numbers(0, "", "gb200-nvl72"), "beyond"),
)
