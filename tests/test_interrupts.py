"""Ctrl-C at any time ends a command with one line and exit status 130, also while compiled code runs."""

import ast
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hopcast.graph import kept

SRC = Path(kept.__file__).parent.parent
COMPILED = {"outer", "inner", "inlined"}
NUMBERS = {"None", "int", "float", "bool"}


@pytest.fixture(autouse=True, scope="module")
def heard():
    """Interrupts are heard, also where a shell that started this in the background had them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> int:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)  # an interrupt comes due between two operations of Python
    return 7


def test_an_interrupt_waits_for_what_must_not_be_broken_off():
    ended = []

    def run():
        press()
        ended.append(True)

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        kept.unbroken(run)()
    assert ended == [True]
    assert signal.getsignal(signal.SIGINT) is handler


def test_without_an_interrupt_nothing_changes_and_errors_pass():
    assert kept.unbroken(len)([1, 2]) == 2
    with pytest.raises(TypeError):
        kept.unbroken(len)(1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_are_never_interrupted_and_are_left_alone():
    found = []
    thread = threading.Thread(target=lambda: found.append(kept.unbroken(len)([1])))
    thread.start()
    thread.join()
    assert found == [1]


def functions(module: Path) -> list[ast.FunctionDef]:
    return [n for n in ast.walk(ast.parse(module.read_text("utf-8"))) if isinstance(n, ast.FunctionDef)]


def words(function: ast.FunctionDef) -> set[str]:
    """Names in its decorators."""
    nodes = [n for d in function.decorator_list for n in ast.walk(d)]
    return {n.id for n in nodes if isinstance(n, ast.Name)} | {
        n.attr for n in nodes if isinstance(n, ast.Attribute)
    }


@pytest.mark.parametrize("module", sorted((SRC / "simulate").glob("*.py")), ids=lambda p: p.name)
def test_what_gets_arrays_of_compiled_code_is_not_broken_off(module):
    """numba turns these into Python's by code of Python; an interrupt in there ends the process."""
    own = functions(module)
    giving = {
        f.name for f in own if is_compiled(f) and ast.unparse(f.returns or ast.Constant(None)) not in NUMBERS
    }
    for function in own:
        called = {
            n.func.id for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        }
        if giving & called and not is_compiled(function):
            assert "unbroken" in words(function), f"{module.name}: {function.name} calls {giving & called}"


def gives(function: ast.FunctionDef) -> str:
    return ast.unparse(function.returns or ast.Constant(None))


def is_compiled(function: ast.FunctionDef) -> bool:
    return bool(words(function) & {*COMPILED, "njit"})


def test_the_rule_sees_what_it_is_about():
    module = SRC / "simulate" / "arcs_engine.py"
    assert any(is_compiled(f) and "tuple" in ast.unparse(f.returns) for f in functions(module) if f.returns)
    assert any("unbroken" in words(f) for f in functions(module))


# From where the command line sees to interrupts; before that Python itself is still starting.
STARTED = "import sys; from hopcast.cli import main; sys.exit(main())"


ASKED = ["simulate", "all_reduce", "mesh:32x32", "--size", "1GiB", "--algorithm", "multi_axis"]


def begun() -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", STARTED, *ASKED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture(scope="module")
def whole() -> str:
    return begun().communicate()[0]


@pytest.mark.slow
@pytest.mark.parametrize("after", [2.2, 2.6, 3.0, 3.4])
def test_a_long_command_ends_with_one_line(after, whole):
    process = begun()
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    answer, said = process.communicate()
    # Where it had answered, Python may have been on its way out, where an interrupt ends it without a word.
    assert process.returncode == 130 or answer == whole, (process.returncode, said)
    assert process.returncode in (130, 0, -signal.SIGINT), said
    assert "Traceback" not in said
