"""Builds SimGrid's library from its source on PyPI: `make simgrid`. Comparisons then take that.

Its Python package is made from the same source and only needs more time, and pybind11 before 3. Options are
those of the package, less its bindings and its model checker. A quarter of an hour on two cores.
"""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

BUILT = Path(__file__).parent.parent.parent / "out" / "peers" / "pypi"
GET = "apt-get install g++ cmake libboost-dev libeigen3-dev"
_OFF = ("smpi", "java", "python", "model-checking", "documentation")


def paths() -> tuple[Path, Path, Path] | None:
    """Folders of the headers, of those that were made, and of the library; None if it is not built."""
    source, made = BUILT / "source", BUILT / "build"
    if not (made / "lib" / "libsimgrid.so").exists():
        return None
    return source / "include", made / "include", made / "lib"


def flags() -> list[str]:
    """What the compiler has to be told to take it; nothing if it is not built."""
    found = paths()
    if found is None:
        return []
    headers, more, library = found
    return [f"-I{headers}", f"-I{more}", f"-L{library}", f"-Wl,-rpath,{library}"]


def build() -> None:
    """Fetch, unpack and compile."""
    BUILT.mkdir(parents=True, exist_ok=True)
    source = BUILT / "source"
    if not source.exists():
        pip = [sys.executable, "-m", "pip", "--quiet", "download", "--no-deps", "--no-binary", "simgrid"]
        subprocess.run([*pip, "--dest", str(BUILT), "simgrid"], check=True)
        (packed,) = BUILT.glob("simgrid-*.tar.gz")
        with tarfile.open(packed) as archive:
            archive.extractall(BUILT, filter="data")
        packed.with_suffix("").with_suffix("").rename(source)
    made = BUILT / "build"
    off = [f"-Denable_{name}=OFF" for name in _OFF]
    kind = ["-DCMAKE_BUILD_TYPE=Release", "-Dminimal-bindings=ON"]
    subprocess.run(["cmake", "-S", str(source), "-B", str(made), *kind, *off], check=True)
    subprocess.run(["cmake", "--build", str(made), "--target", "simgrid", "--parallel"], check=True)


if __name__ == "__main__":
    lacking = [word for word in ("g++", "cmake") if shutil.which(word) is None]
    if lacking:
        sys.exit(f"simgrid: no {' and no '.join(lacking)}; {GET}")
    build()
    print(f"simgrid: built in {BUILT}; make bench now compares with it")
