"""The architecture, as a test: imports go down only, the core is numpy only, and everything stays small.

This file is the list of layers; docs and reviews refer to it.
"""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "hopcast"

# A module may import from lines above its own, and from its own package.
LAYERS = [
    ["units", "names", "dtypes", "registry", "table"],
    ["result"],
    ["ir"],
    ["chips", "topologies", "graph", "routing", "read"],
    ["machines"],
    ["clusters"],
    ["faults"],
    ["interpret", "algorithms"],
    ["price"],
    ["simulate"],
    ["question"],
    ["predict"],
    ["race"],
    ["habits"],
    ["choose"],
    ["findings"],
    ["plan", "run", "write", "program", "compare"],
    ["draw"],
    ["verbs"],
    ["atlas"],
    ["serve"],
    ["testing"],
    ["cli", "__main__"],
]
LEVEL = {part: i for i, line in enumerate(LAYERS) for part in line}

# Imports between packages of one line, and why they are no cycle.
SIDEWAYS = {
    ("names", "units"): "errors and spellings are shared at the bottom",
    ("units", "names"): "errors and spellings are shared at the bottom",
    ("dtypes", "names"): "an unknown type is answered with the nearest one",
    ("units", "dtypes"): "an array is a size",
    ("registry", "names"): "a table answers an unknown name with the nearest one",
    ("registry", "units"): "values of a table are read with units",
    ("topologies", "graph"): "builders state claims with graph theory",
    ("routing", "graph"): "a route is a path in a graph",
    ("routing", "topologies"): "a routing rule asks for the family",
    ("chips", "topologies"): "a cluster string names a family of topologies",
    ("read", "chips"): "a foreign file names chips",
    ("read", "topologies"): "a foreign file names a family",
    ("compare", "run"): "measured rows come from a run",
    ("cli", "__main__"): "python -m hopcast is the command line",
    ("__main__", "cli"): "python -m hopcast is the command line",
}

CORE = {"units", "names", "dtypes", "registry", "table", "ir", "interpret"}

# Where each foreign package may be imported at all, even inside a function: its cost stays there.
PLACES = {
    "scipy": {"graph", "topologies", "routing", "algorithms", "price", "simulate", "plan", "run", "compare"},
    "numba": {"simulate", "graph"},
    "llvmlite": {"simulate"},  # an option of what numba compiles with; it comes with numba
    "typer": {"cli"},
    "rich": {"cli"},
    "starlette": {"serve"},
    "uvicorn": {"serve"},
    "matplotlib": {"draw"},
    "plotly": {"draw"},
    "pydantic": {"read"},
    "highspy": {"algorithms", "plan"},
    "torch": {"run", "program"},
    "jax": {"run", "program"},
    "mpi4py": {"run"},
    "pandas": {"result"},
    "pytest": {"testing"},
    "hypothesis": {"testing"},
}

LONGEST_MODULE, LONGEST_FUNCTION = 400, 60
# path from the repository's root -> why it is one piece
LONG_MODULES: dict[str, str] = {}
# path under src/hopcast::function -> why it is one piece
LONG_FUNCTIONS: dict[str, str] = {}
# path from the repository's root -> why it holds other characters
NOT_ASCII: dict[str, str] = {}

MODULES = sorted(SRC.rglob("*.py"))
TESTS = sorted((ROOT / "tests").glob("*.py"))
each_module = pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(SRC).as_posix())
each_module_and_test = pytest.mark.parametrize(
    "path", [*MODULES, *TESTS], ids=lambda p: p.relative_to(ROOT).as_posix()
)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def part(path: Path) -> str:
    """units, ir, ... : the first name below hopcast."""
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def walk(node: ast.AST, *, into_functions: bool = True) -> Iterator[ast.AST]:
    """Every node that runs; what is under ``if TYPE_CHECKING`` does not."""
    for child in ast.iter_child_nodes(node):
        if is_for_types_only(child):
            yield from (n for other in child.orelse for n in [other, *walk(other)])
            continue
        yield child
        if into_functions or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from walk(child, into_functions=into_functions)


def imports(path: Path, *, into_functions: bool = True) -> Iterator[tuple[str, int]]:
    """Full dotted names with their lines; ``from a import b`` gives a.b, for b may be a module."""
    package = ["hopcast", *path.relative_to(SRC).parts[:-1]]
    for node in walk(tree(path), into_functions=into_functions):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((f"{stem}.{alias.name}", node.lineno) for alias in node.names)


def forbidden(me: str, target: str) -> str | None:
    """Why ``me`` must not import ``target``, a full dotted name; None if it may."""
    top, *below = target.split(".")
    if top != "hopcast":
        if top in sys.stdlib_module_names or top == "numpy":
            return None
        if me in CORE:
            return "the core imports numpy and the standard library only"
        if top not in PLACES:
            return f"say in PLACES where {top} may be imported"
        return None if me in PLACES[top] else f"{top} is imported in {', '.join(sorted(PLACES[top]))} only"
    name = below[0] if below else ""
    if name not in LEVEL:
        whole = name == "__version__" or me in ("testing", "cli", "__main__")
        return None if whole else "only the command line and testing import the package as a whole"
    if name == me or (me, name) in SIDEWAYS:
        return None
    if LEVEL[name] == LEVEL[me]:
        return f"{me} and {name} are on one line; argue for it in SIDEWAYS"
    return None if LEVEL[name] < LEVEL[me] else f"{name} is above {me}"


@each_module
def test_imports_go_down_only(path: Path) -> None:
    me = part(path)
    if path == SRC / "__init__.py":
        early = [t for t, _ in imports(path, into_functions=False)]
        assert all(t.split(".")[0] in sys.stdlib_module_names for t in early), "hopcast/__init__.py is lazy"
        return
    assert me in LEVEL, f"say in LAYERS where {me} belongs"
    wrong = [f"line {n}: {me} imports {t}: {why}" for t, n in imports(path) if (why := forbidden(me, t))]
    assert not wrong, "\n".join(wrong)


def test_a_wrong_import_is_noticed() -> None:
    assert forbidden("ir", "hopcast.price.bounds")
    assert forbidden("ir", "scipy.sparse")
    assert forbidden("price", "numba")
    assert forbidden("price", "hopcast.predict")
    assert forbidden("interpret", "hopcast.algorithms.ring")
    assert forbidden("simulate", "hopcast.cli")
    assert forbidden("draw", "leftpad")
    assert forbidden("testing", "hopcast.cli")
    assert not forbidden("simulate", "numba")
    assert not forbidden("cli", "hopcast.predict")


def test_an_import_inside_a_function_counts_and_one_for_types_does_not() -> None:
    text = "if TYPE_CHECKING:\n    import a\nelse:\n    import b\ndef f():\n    import c\n"
    found = [n.names[0].name for n in walk(ast.parse(text)) if isinstance(n, ast.Import)]
    assert found == ["b", "c"]


@each_module
def test_commands_import_only_typer_and_the_standard_library_at_the_top(path: Path) -> None:
    if part(path) != "cli":
        return
    for target, line in imports(path, into_functions=False):
        top = target.split(".")[0]
        light = target.startswith(("hopcast.cli.", "hopcast.table."))
        fine = top == "typer" or top in sys.stdlib_module_names or light
        assert fine, f"line {line}: import {target} inside the function, so that --help stays fast"


@each_module
def test_only_the_command_line_prints(path: Path) -> None:
    if part(path) in ("cli", "__main__"):
        return
    for node in walk(tree(path)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in ("print", "sys.stdout.write"), f"line {node.lineno}: {called} below cli/"


@each_module
def test_no_star_imports(path: Path) -> None:
    stars = [line for target, line in imports(path) if target.endswith(".*")]
    assert not stars, f"lines {stars}"


@each_module_and_test
def test_a_module_is_at_most_400_lines(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    lines = len(path.read_text(encoding="utf-8").splitlines())
    if name in LONG_MODULES:
        assert lines > LONGEST_MODULE, f"{name} is short again: take it off LONG_MODULES"
    else:
        assert lines <= LONGEST_MODULE, f"{name} has {lines} lines: split it, or argue in LONG_MODULES"


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring, which is welcome to be long."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        assert first.end_lineno is not None
        lines -= first.end_lineno - first.lineno + 1
    return lines


@each_module
def test_a_function_is_at_most_60_lines(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{path.relative_to(SRC).as_posix()}::{node.name}"
            lines = code_lines(node)
            if name in LONG_FUNCTIONS:
                assert lines > LONGEST_FUNCTION, f"{name} is short again: take it off LONG_FUNCTIONS"
            else:
                assert lines <= LONGEST_FUNCTION, f"{name} has {lines} lines: split it, or argue"


def test_exceptions_name_files_that_exist() -> None:
    listed = [ROOT / name for name in [*LONG_MODULES, *NOT_ASCII]]
    listed += [SRC / name.partition("::")[0] for name in LONG_FUNCTIONS]
    assert [p for p in listed if not p.exists()] == []


def test_source_is_ascii() -> None:
    folders = [ROOT / name for name in ("src", "tests", "examples", "benchmarks")]
    ours = (f for d in folders for f in d.rglob("*") if "node_modules" not in f.parts)
    files = [f for f in ours if f.suffix in (".py", ".toml", ".js", ".css")]
    assert len(files) >= len(MODULES)
    other = {f.relative_to(ROOT).as_posix() for f in files if not f.read_bytes().isascii()}
    assert other == set(NOT_ASCII)
