"""Frames per second while the camera turns over a pod, in Debian's chromium without a GPU.

Needs `make browser`, chromium and node: python benchmarks/drag.py
"""

import sys
import tempfile
from pathlib import Path

import hopcast as hc
from hopcast.table import Page, table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from browser_driver import Browser, missing

SHAPES = ("torus:8x8x8", "torus:16x16x16", "torus:16x24x24")
TURN = """new Promise(done => { const began = performance.now(); let n = 0; const turn = (now) => { n += 1;
hopcast.camera({ yaw: 0.6 + n * 0.01 }); if (now - began > 2000) done(n / ((now - began) / 1000));
else requestAnimationFrame(turn); }; requestAnimationFrame(turn); })"""


def main() -> None:
    """Build a page for each pod, turn it, and print the rate."""
    if missing():
        sys.exit(f"drag: {missing()}")
    rows = []
    browser = Browser()
    for shape in SHAPES:
        page = hc.explore("all_gather", f"{shape},bandwidth=45GB/s", size="1GiB", algorithm="multi_axis")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.html"
            path.write_text(page.html, encoding="utf-8")
            browser.do("open", file=str(path), hash="view=space&step=3")
            rate = browser.ask(TURN)
            rows.append({"cluster": shape, "page_bytes": path.stat().st_size, "frames_per_s": rate})
    browser.close()
    print(table(rows, ["cluster", "page_bytes", "frames_per_s"], "turning the camera", [], Page()))


if __name__ == "__main__":
    main()
