"""check on some 4,096 ranks: a few seconds and less than a GiB, whatever the algorithm and the machine."""

import os
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-c", "import sys; from hopcast.cli import main; sys.exit(main())", "check"]
MOST_SECONDS, MOST_MIB = 5.0, 1_024  # most take less than a third of both

# Those that took longest, or most memory, before it was looked at how their steps are made; and what is like
# them on other numbers of ranks and machines.
SLOW = """
all_to_all ring:4096 bruck | all_to_all ring:4001 bruck | all_to_all dgx-h100:512 bruck
all_to_all dgx-h100:512 ring | all_to_all ring:4096 ring | all_to_all gb200-nvl72:57 ring
all_to_all dgx-h100:512 direct | all_to_all torus:63x65 direct | all_to_all dgx-h100:512 pairwise
all_to_all dgx-h100:512 pxn | all_to_all dgx-h100:512 hierarchical,stages=3
all_to_all dgx-h100:512 hierarchical
all_gather dgx-h100:512 auto | reduce_scatter dgx-h100:512 auto | all_reduce dgx-h100:500 ring,channels=5
all_reduce dgx-h100:512 ring,channels=8 | all_gather gb200-nvl72:57 ring,channels=72
all_gather dgx-h100:512 direct | all_reduce ring:4096 direct | reduce_scatter mesh:16x16x16 direct
all_reduce ring:4096 chain | reduce ring:4096 multi_axis | reduce mesh:64x64 multi_axis
all_reduce v5p:16x16x16 translated_tree | all_to_all v5p:16x16x16 rotation
"""
ASKED = [tuple(one.split()) for line in SLOW.strip().splitlines() for one in line.split(" | ")]


def spent(*words):
    """CPU seconds and MiB of a whole process, and its exit code."""
    process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1_024, process.returncode


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory of a process is in KiB on Linux")
@pytest.mark.parametrize(("collective", "cluster", "algorithm"), ASKED)
def test_pods_are_checked_in_seconds(collective, cluster, algorithm):
    seconds, mib, code = spent(collective, cluster, "--algorithm", algorithm)
    assert code == 0
    assert seconds <= MOST_SECONDS
    assert mib <= MOST_MIB
