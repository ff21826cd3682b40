"""The hand-written pages with the outputs that they show, of `$ hopcast ...` and `$ python ...`."""

import contextlib
import io
import re
import runpy
from pathlib import Path

from .markdown import ROOT, code, console

DOCS = Path(__file__).parents[1]
BLOCK = re.compile(r"```console\n\$ ((?:hopcast|python) [^\n]*)\n.*?```", re.DOTALL)
GENERATED = ("worked.md",)


def written() -> list[Path]:
    """Pages that people write."""
    found = [*DOCS.glob("*.md"), *(DOCS / "read").glob("*.md")]
    return sorted(p for p in found if p.name not in GENERATED)


def pages() -> dict[str, str]:
    """By path in docs/: the same pages with their outputs as they are now."""
    return {
        p.relative_to(DOCS).as_posix(): BLOCK.sub(lambda m: _block(m[1]), p.read_text(encoding="utf-8"))
        for p in written()
    }


def _block(command: str) -> str:
    program, _, rest = command.partition(" ")
    if program == "hopcast":
        return console(command)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(ROOT / rest), run_name="__main__")
    return code(f"$ {command}\n{out.getvalue()}", "console")
