"""Every command: its help, the examples in it, its formats. A new command is tested with no new test."""

import csv
import io
import json
import shlex

import pytest
from cli import run

from hopcast.cli import _shell

COMMANDS = _shell.commands()
# serve runs until it is interrupted: test_serve.py does that.
EXAMPLES = [(c, e) for c in COMMANDS if c != "serve" for e in _shell.examples(c)]
KEYS = {
    "predict": "cluster collective algorithm algorithm_source price over ranks groups size_bytes "
    "per_rank_bytes steps time_us latency_us bandwidth_us algbw_GBps busbw_GBps bound_us bound_kind "
    "limit_us efficiency bottleneck max_link_bytes findings",
    "show": "chips ranks hosts nodes domains links axes levels diameter injection_GBps bisection_GBps",
    "route": "src dst hops disjoint_routes latency_us bandwidth_us time_us",
    "bisect": "one_way_GBps both_ways_GBps",
    "check": "collective algorithm ranks valid rank chunk step reason",
    "advise": "cluster wraps algorithm time_us bound_us efficiency type price limit_us order mesh",
    "sweep": "size_bytes count type redop root algorithm time_us algbw_GBps busbw_GBps bound_us",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(command: str) -> None:
    ran = run(command, "--help")
    assert ran.status == 0
    assert "Example" in ran.out
    assert f"hopcast {command}" in ran.out


@pytest.mark.parametrize(("command", "example"), EXAMPLES, ids=[e for _, e in EXAMPLES])
def test_examples_of_the_help_run(command: str, example: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(example)[1:]
    ran = run(*words)
    assert ran.status == 0, ran.err
    assert ran.out or list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in ("draw", "explore", "atlas", "serve")])
def test_formats_are_exact(command: str) -> None:
    words = shlex.split(_shell.examples(command)[0])[1:]
    ran = run(*words, "--format", "json")
    whole = json.loads(ran.out)
    assert list(whole) == ["schema", "hopcast", "command", "inputs", "rows"]
    assert whole["schema"] == 1
    assert whole["command"][:2] == ["hopcast", command]
    for key in KEYS.get(command, "").split():
        assert key in whole["rows"][0], key
    listed = list(csv.DictReader(io.StringIO(run(*words, "--format", "csv").out)))
    assert len(listed) == len(whole["rows"])
    assert list(listed[0]) == list(whole["rows"][0])
    assert run(*words, "--format", "md").out.count("|") > 4
