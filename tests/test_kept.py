"""Compiled code where no folder can be written, as in a container: an answer, and why it took long."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import hopcast
from hopcast.graph import kept

pytest.importorskip("numba")


def ran(where: Path, *words: str, lost: bool) -> "subprocess.CompletedProcess[str]":
    """Python with these words, where numba finds no folder or has one."""
    (where / "no-folder").write_text("")
    env = os.environ | {"PYTHONPATH": str(Path(hopcast.__file__).parents[1])}
    if lost:  # no place beside the source, and a home that is none
        env |= {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator,UserWideCacheLocator"}
        env |= {"HOME": str(where / "no-folder"), "XDG_CACHE_HOME": str(where / "no-folder")}
        env.pop("NUMBA_CACHE_DIR", None)
    return subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [True, False])
def test_numba_compiles_with_and_without_a_folder(tmp_path: Path, lost: bool) -> None:
    code = "\n".join((
        "import numba",
        "from hopcast.graph import kept",
        "kept.ready()",
        "print(numba.njit(cache=True)(kept._nothing)(), numba.config.CACHE_DIR, kept.note(), sep='|')",
    ))  # fmt: skip
    done = ran(tmp_path, "-c", code, lost=lost)
    assert done.returncode == 0, done.stderr
    value, folder, note = done.stdout.strip().split("|")
    assert value == "None"
    assert note == (kept.NOTE if lost else "")
    assert not lost or (folder and not Path(folder).exists())


@pytest.mark.slow
def test_the_command_line_says_why_it_took_long(tmp_path: Path) -> None:
    words = shlex.split("-m hopcast predict all_reduce mesh:3x5 --size 64MiB --algorithm tree_packing")
    done = ran(tmp_path, *words, lost=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"hopcast: note: {kept.NOTE}\n") == 1
