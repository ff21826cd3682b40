"""One child process, measured: what it wrote, seconds, memory, and why it was stopped.

A second, tiny process lies between: a child's peak memory starts at that of the process that forked it.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

_CRASHES = ("MemoryError", "bad_alloc", "out of memory", "Cannot allocate memory")


@dataclass(frozen=True)
class Used:
    """What a process did.

    Attributes:
        out: Its standard output.
        wall_s, cpu_s: Seconds on the clock, and of CPU time (user and system).
        MiB: Most memory resident.
        stopped: Why it did not end by itself; empty where it did.
    """

    out: str
    wall_s: float
    cpu_s: float
    MiB: float
    stopped: str = ""


def measure(argv: Sequence[str], cpu_s: float = 0, mib: float = 0) -> Used:
    """Run a program to its end.

    Args:
        argv: Program and words.
        cpu_s: Most seconds of CPU time; 0: no limit.
        mib: Most address space, MiB; 0: no limit.

    Raises:
        RuntimeError: if it failed by itself.
    """
    words = [sys.executable, "-I", "-S", __file__, str(cpu_s), str(mib), *argv]
    between = subprocess.run(words, capture_output=True, text=True, check=True)
    seen = json.loads(between.stdout)
    stopped = ""
    if seen["signal"] in (signal.SIGXCPU, signal.SIGKILL):
        stopped = f"over {cpu_s:g} s"
    elif any(word in seen["err"] for word in _CRASHES):
        stopped = f"over {mib / 1024:g} GiB"
    elif seen["signal"] or seen["code"]:
        raise RuntimeError(f"{' '.join(argv)[:200]}: {seen['err'].strip()[-400:]}")
    return Used(seen["out"], seen["wall_s"], seen["cpu_s"], seen["MiB"], stopped)


def _limit(cpu_s: float, mib: float) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if cpu_s:
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s), int(cpu_s) + 1))
    if mib:
        resource.setrlimit(resource.RLIMIT_AS, (int(mib * 2**20), int(mib * 2**20)))


def _between() -> None:
    cpu_s, mib, argv = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(argv, stdout=out, stderr=err, preexec_fn=lambda: _limit(cpu_s, mib))
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        code = os.waitstatus_to_exitcode(status)
        child.returncode = code  # it is waited for already
        out.seek(0)
        err.seek(0)
        seen = {
            "out": out.read().decode(errors="replace"),
            "err": err.read().decode(errors="replace"),
            "wall_s": wall,
            "cpu_s": used.ru_utime + used.ru_stime,
            "MiB": used.ru_maxrss / 1024,
            "signal": max(-code, 0),
            "code": max(code, 0),
        }
    print(json.dumps(seen))


if __name__ == "__main__":
    _between()
