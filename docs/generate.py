"""Writes the generated pages of this folder, and the outputs that other pages show.

`make docs` runs it, and a test says when a page is stale.

``python docs/generate.py`` writes what is stale and removes pages of things that are gone.
"""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
if str(DOCS) not in sys.path:
    sys.path.insert(0, str(DOCS))

from hopcast_docs import (  # noqa: E402
    algorithm_pages,
    chip_pages,
    cluster_pages,
    collective_pages,
    command_pages,
    finding_pages,
    published_pages,
    shown,
    topology_pages,
)
from hopcast_docs import worked as worked_pages  # noqa: E402

LINE = worked_pages.LINE
KINDS = (
    chip_pages,
    cluster_pages,
    topology_pages,
    algorithm_pages,
    collective_pages,
    finding_pages,
    command_pages,
    published_pages,
    worked_pages,
    shown,
)


def pages() -> dict[Path, str]:
    """Every generated page and what it should hold."""
    return {DOCS / name: text for kind in KINDS for name, text in kind.pages().items()}


def write() -> list[Path]:
    """Write what differs, remove what is gone; the paths touched."""
    made, touched = pages(), list[Path]()
    for path, text in made.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            touched.append(path)
    for path in set((DOCS / "reference").rglob("*.md")) - set(made):
        path.unlink()
        touched.append(path)
    return touched


if __name__ == "__main__":
    for written in sorted(write()):
        print(f"docs: wrote {written.relative_to(DOCS)}")
