"""SimGrid as a peer: its program is compiled once, and run on files of export.py.

It is the library from PyPI where `make simgrid` has built that (see `from_pypi`), else the system's: Debian
and Ubuntu have one. Both are called from C++, which is faster than the Python package.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from . import from_pypi

HERE = Path(__file__).parent
BUILT = HERE.parent.parent / "out" / "peers"
GET = "apt-get install g++ libsimgrid-dev"


def missing() -> str:
    """What it lacks on this machine; empty if nothing."""
    if shutil.which("g++") is None:
        return f"no g++; {GET}"
    if not version():
        return f"no SimGrid headers; {GET}"
    return ""


def version() -> str:
    """Of the library, ``3.32.0``; empty where there is none."""
    asked = subprocess.run(
        ["g++", "-E", "-dM", *from_pypi.flags(), "-x", "c++", "-"],
        input="#include <simgrid/version.h>", capture_output=True, text=True, check=False,
    )  # fmt: skip
    parts = (re.search(rf"SIMGRID_VERSION_{p} (\d+)", asked.stdout) for p in ("MAJOR", "MINOR", "PATCH"))
    return ".".join(p[1] for p in parts if p)


def program() -> Path:
    """The compiled program, made again when its source or the library changes."""
    source = HERE / "simgrid.cpp"
    made_of = source.read_bytes() + version().encode()
    path = BUILT / f"simgrid-{hashlib.sha256(made_of).hexdigest()[:12]}"
    if not path.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        # Under another name first: two test processes may build at once.
        fresh = path.with_suffix(f".{os.getpid()}")
        subprocess.run(
            ["g++", "-O2", "-std=c++17", str(source), "-o", str(fresh), *from_pypi.flags(), "-lsimgrid"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        fresh.rename(path)
    return path


def command(file: Path) -> list[str]:
    """The words that run a file; without a word of the log.

    By itself it takes ends within a nanosecond for one, which is 0.5 % where thousands of sends share links.
    """
    return [str(program()), str(file), "--log=root.thres:error", "--cfg=surf/precision:1e-13"]


def seconds(file: Path, *words: str) -> float:
    """Simulated seconds of a file."""
    ran = subprocess.run([*command(file), *words], check=True, capture_output=True, text=True)
    return float(json.loads(ran.stdout)["seconds"])
