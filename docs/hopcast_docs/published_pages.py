"""Published closed forms and times, read from the tables of the tests, beside what hopcast answers."""

import functools
import importlib.util
import sys
from types import ModuleType

from .markdown import ROOT, page, ratio, rows, table

_PRICES = ("formula", "steps", "flows")
_W, _SIZE = 45e9, 1e9


@functools.cache
def _tests() -> ModuleType:
    """tests/test_published.py, whose tables these are."""
    path = ROOT / "tests" / "test_published.py"
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location("hopcast_docs_published", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def pages() -> dict[str, str]:
    """By path in docs/."""
    text = (
        "The tables of `tests/test_published.py`, where each line is a test that holds all three prices "
        "to it. They stand here beside what hopcast answers. More problems, one file each: [worked "
        "problems](../worked.md)."
    )
    return {
        "reference/published.md": page(
            "Published figures, by all three prices",
            text,
            "## Times in units of D / W",
            "Without latency. Sources: jax-ml scaling-book, chapters TPUs and Sharding; Gordic 2026, "
            "Inside TPU and GPU clusters; the values of all_to_all were found by brute force over all "
            "pairs.",
            _ratios(),
            "## all_reduce of 1 GiB, microseconds",
            "Links of 45 GB/s and 1 us. Equal to SimGrid (CM02, factors off) and to the closed form of "
            "Patarasuk and Yuan 2009.",
            _times(),
        )
    }


def _ratios() -> str:
    lines = []
    for collective, cluster, algorithm, exact in _tests().RATIOS:
        words = f"hopcast predict {collective} {cluster} --size {_SIZE:.0e} --algorithm {algorithm}"
        ours = [rows(f"{words} --price {p}")[0]["time_us"] * 1e-6 * _W / _SIZE for p in _PRICES]
        lines.append([collective, f"`{cluster.split(',')[0]}`", algorithm, ratio(exact), *map(ratio, ours)])
    return table(["collective", "cluster", "algorithm", "exact", *_PRICES], lines)


def _times() -> str:
    lines = []
    for cluster, algorithm, exact in _tests().ALL_REDUCE:
        where = f"{cluster},bandwidth=45GB/s,latency=1us"
        words = f"hopcast predict all_reduce {where} --size 1GiB --algorithm {algorithm}"
        ours = [rows(f"{words} --price {p}")[0]["time_us"] for p in _PRICES]
        lines.append([f"`{cluster}`", algorithm, f"{exact:.3f}", *(f"{t:.3f}" for t in ours)])
    return table(["cluster", "algorithm", "published", *_PRICES], lines)
