"""Every command with words missing, too many or wrong: one line that shows a right one, which then runs."""

import inspect
import re
import shlex
import typing
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import typer.models
from cli import run

import hopcast
from hopcast.cli import _shell

COMMANDS = _shell.commands()
# serve takes no argument and runs until it is interrupted.
ASKED = [c for c in COMMANDS if c != "serve"]


def parameters(command: str) -> dict[str, tuple[Any, typer.models.ParameterInfo]]:
    """Arguments and options: the default, and what typer is told."""
    function = _shell.load(command).command
    hints = typing.get_type_hints(function, include_extras=True)
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        told = [e for e in typing.get_args(hints[name]) if isinstance(e, typer.models.ParameterInfo)]
        if told:
            found[name] = (parameter.default, told[0])
    return found


def refused(*words: str) -> str:
    """The line for words that are refused."""
    ran = run(*words)
    assert ran.status == 2, ran
    assert ran.out == ""
    assert ran.err.startswith("hopcast: error: ")
    assert ran.err.count("\n") == 1
    return ran.err.removeprefix("hopcast: error: ").strip()


def shown(line: str) -> str:
    """The command line that an error shows."""
    found = re.search(r"as in: (hopcast .*)$", line)
    assert found, line
    return found[1]


NEEDS = [c for c in ASKED if any(isinstance(i, typer.models.ArgumentInfo) for _, i in parameters(c).values())]


@pytest.mark.parametrize("command", [c for c in NEEDS if c != "list"])
def test_a_command_alone_says_what_is_missing_and_shows_an_example(command: str) -> None:
    line = refused(command)
    assert " missing; as in: " in line
    assert shown(line) in _shell.examples(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_usage_has_brackets_round_what_may_be_left_out_and_nothing_else(command: str) -> None:
    usage, *_ = run(command, "--help").out.splitlines()
    told = [i.metavar for _, i in parameters(command).values() if isinstance(i, typer.models.ArgumentInfo)]
    assert usage == " ".join(["Usage: hopcast", command, *map(str, told), "[OPTIONS]"])
    needed = [name for name in told if not str(name).startswith("[")]
    assert all(re.fullmatch(r"\[?[A-Z>-]+\]?", str(name)) for name in told)
    if needed:
        assert "missing" in refused(command)


@pytest.mark.parametrize("command", ASKED)
def test_a_word_too_many_is_named(command: str) -> None:
    words = shlex.split(_shell.examples(command)[-1])[1:]
    line = refused(*words, "and", "more")
    told = re.match(rf"'(and )?more' is too much: {command} takes .*; as in: ", line)
    assert told or "'and' is" in line or "twice" in line, line


OPTIONS = [
    (c, i.param_decls[0])
    for c in COMMANDS
    for _, i in parameters(c).values()
    if isinstance(i, typer.models.OptionInfo) and i.param_decls and i.metavar
]


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=[" ".join(o) for o in OPTIONS])
def test_an_option_without_its_value_shows_an_example_that_has_it_if_there_is_one(
    command: str, option: str
) -> None:
    line = refused(command, option)
    assert re.match(rf"{option} takes (a value|2 values); as in: ", line), line
    examples = _shell.examples(command)
    assert shown(line) in examples
    assert option in shlex.split(shown(line)) or not any(option in shlex.split(e) for e in examples)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_slip_of_the_pen_in_an_option_is_answered_with_it(command: str) -> None:
    for _, info in parameters(command).values():
        option = (info.param_decls or ("",))[0]
        if isinstance(info, typer.models.OptionInfo) and len(option) > 6:
            line = refused(command, f"{option}z")
            assert f"no option {option}z; did you mean" in line
            assert option in line.replace(f"{option}z", "")
    assert refused(command, "--qqq") == f"no option --qqq (see: hopcast {command} --help)"


WRONG = [
    ("draw", "a cluster is missing", ""),
    ("draw --cut", "a cluster is missing", "--cut"),
    ("draw --route 0,0 3,3", "a cluster is missing", "--route"),
    ("draw --trees", "a collective and a cluster are missing", "--trees"),
    ("draw --load", "a collective and a cluster are missing", "--load"),
    ("draw --sweep 1K 1M", "a collective and a cluster are missing", "--sweep"),
    ("draw --steps 0", "a collective and a cluster are missing", "--steps"),
    ("draw all_gather", "'all_gather' is drawn on a cluster", "all_gather"),
    ("draw all_gather --trees", "'all_gather' is drawn on a cluster", "--trees"),
    ("draw plan.csv", "'plan.csv' is drawn on a cluster", ""),
    ("draw v5e:4x4 --trees", "--trees: for a collective", "--trees"),
    ("draw v5e:4x4 --load", "--load: for a collective", "--load"),
    ("draw v5e:4x4 --sweep 1K 1M", "--sweep: for a collective", "--sweep"),
    ("draw v5e:4x4 --over x --algorithm ring", "--over and --algorithm: for a collective", "--algorithm"),
    ("predict all_gather --size 1M", "CLUSTER is missing", "all_gather"),
    ("predict v5e:4x4 all_gather --size 1M", "'all_gather' is a collective", "all_gather"),
    ("predict all_gather v5e:4x4 --on v5p:4x4x4 --size 1M", "given twice, v5e:4x4 and --on v5p", "predict"),
    ("simulate all_gather v5e:4x4", "--size is missing", "--size"),
    ("advise all_gather", "--chips is missing", "--chips"),
    ("route v5e:4x4 0,0", "DST is missing", "route"),
    ("route", "CLUSTER is missing", "route"),
]


@pytest.mark.parametrize(("words", "says", "has"), WRONG, ids=[w for w, *_ in WRONG])
def test_what_is_missing_is_said_with_an_example_of_the_same_kind(words: str, says: str, has: str) -> None:
    line = refused(*shlex.split(words))
    assert says in line
    assert has in shown(line)


REFUSED = [
    ("draw pyramid --cut", "pyramid is a figure of the atlas and takes no --cut"),
    ("draw pyramid --size 8M", "pyramid is a figure of the atlas and takes no --size"),
    ("draw all_gather1 ring:8", "all_gather1 is a figure of the atlas and takes no cluster"),
    ("draw pyramid v5", "no chip 'v5'; did you mean v5"),
    ("draw pyramid h100", "h100: NVIDIA H100 SXM has no bandwidth hierarchy on record; take v5e or v5p"),
    ("draw pyrmid", "did you mean pyramid?"),
    ("draw all_gathr1 ring:8", "no collective 'all_gathr1'; did you mean all_gather?"),
    ("draw all_gather v5e:4x4 --route 0,0 3,3", "hopcast draw v5e:4x4 --route 0,0 3,3"),
    ("draw all_gather ring:8 --cut --trees", "--cut and --trees: each is a picture of its own"),
    ("show dgx-h100:2,ecmp=hash", "did you mean routing=ecmp?"),
    ("show dgx-h100:2,routing=hash", "there is: spread, ecmp"),
    ("show dgx-h100:2,colour=red", "there is: gpus, nics,"),
    ("show v5e:4x4 v5e:8x8", "'v5e:8x8' is too much: show takes CLUSTER; as in: hopcast show"),
    ("predict all_gather v5e:4x4 --size 1M --over w", "v5e:4x4 has no axis 'w'; there is: x, y"),
    ("predict all_gather v5e:4x4 --size 1M --root 99", "all_gather has no root; broadcast,"),
    ("predict all_gather v5e:4x4 --size 1M --root 0,1", "all_gather has no root; broadcast,"),
    ("predict all_gather ring:8 --size 1M --algorithm ring,way=up", "ring has no option 'way'; there is"),
    ("route v5e:4x4 rank 0,0", "or a rank, in quotes: 'rank 5'"),
    ("reshard 'f32[i_x,j] -> f32[i,k]' v5e:4x4", "both sides must have the same dims in the same order"),
    ("reshard 'f32[i_x,j] -> bf16[i,j]' v5e:4x4", "changes f32 into bf16"),
    ("simulate all_gather ring:4 --size 1M -o t.xyz", "-o 't.xyz': a trace is written as .json"),
    ("simulate all_gather ring:4 --size 1M -o ''", "-o '': a trace is written as .json"),
    ("draw all_gather ring:8 --sweep 1M 1K", "sizes from 1M to 1K: the first is above the last"),
    (
        "draw all_gather ring:8 --sweep 1M 1M -o s.svg",
        "a chart needs two sizes or more; take others further apart",
    ),
    ("predict all_gather ring:8,latency=1e400s --size 1M", "time '1e400s' must be finite"),
    (
        "predict all_gather ring:8,bandwidth=1e400GB/s --size 1M",
        "bandwidth '1e400GB/s' must be above 0 and finite",
    ),
    ("draw ring:4 -o ''", "-o '': a picture is written as .svg or .txt"),
    ("draw all_gather ring:8 --sweep 1K 1M --per-rank", "--per-rank: sizes of --sweep are nccl-tests'"),
    ("atlas --ranks x", "--ranks 'x': write a whole number"),
    ("sweep all_reduce ring:8 -f x", "-f 'x': write a number"),
    (
        "predict all_gather ring:8 --size 1M --price cheap",
        "--price: 'cheap' is not one of 'formula', 'steps'",
    ),
]


@pytest.mark.parametrize(("words", "says"), REFUSED, ids=[w for w, _ in REFUSED])
def test_what_cannot_be_is_refused_with_what_can(words: str, says: str) -> None:
    assert says in refused(*shlex.split(words))


def test_a_size_that_nobody_gave_is_told(tmp_path: Path) -> None:
    words = ("explore", "all_gather", "ring:4", "-o", str(tmp_path / "x.html"))
    assert "all times are for 1MiB" in run(*words).err
    assert "all times" not in run(*words, "--size", "1MiB").err


SIZED = [
    ("--cut", "", True),
    ("--load", "", True),
    ("--trees", "--algorithm ring", True),
    ("", "--algorithm best", True),
    ("", "", True),
    ("--steps 0", "--algorithm ring", False),
    ("--sweep 1K 1M", "--algorithm ring", False),
]


@pytest.mark.parametrize(("view", "by", "depends"), SIZED)
def test_a_picture_of_a_size_that_nobody_gave_is_told(view: str, by: str, depends: bool) -> None:
    words = shlex.split(f"draw all_gather ring:4 {view} {by}")
    alone = run(*words)
    assert ("drawn for 1MiB, as no size is given" in alone.err) == depends
    if "--sweep" not in words:
        sized = run(*words, "--size", "1MiB")
        assert sized.out == alone.out
        assert "drawn for" not in sized.err


def test_the_state_before_the_first_step_is_drawn_by_the_number_that_a_refusal_gives_it() -> None:
    assert "and -1 for the start" in refused(
        "draw", "all_gather", "ring:4", "--algorithm", "ring", "--steps", "9"
    )
    ran = run("draw", "all_gather", "ring:4", "--algorithm", "ring", "--steps", "-1,2")
    assert [w for line in ran.out.splitlines() for w in line.split()[:1] if w in ("start", "step")] == [
        "start",
        "step",
    ]


def test_a_figure_is_drawn_for_another_cluster_or_size() -> None:
    plain, other = run("draw", "pyramid"), run("draw", "pyramid", "v5p")
    assert (plain.status, other.status) == (0, 0)
    assert "TPU v5e" in plain.out
    assert "TPU v5p" in other.out
    assert run("draw", "pyramid", "--on", "v5p").out == other.out
    assert run("draw", "all_gather1", "--size", "1GiB").out != run("draw", "all_gather1").out


def test_explore_takes_the_nodes_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("0-1 3\n")
    page = tmp_path / "x.html"
    ran = run(
        "explore", "all_gather", "dgx-h100:8,gpus=2", "--nodes", str(tmp_path / "nodes"), "-o", str(page)
    )
    assert ran.status == 0, ran.err
    assert "dgx-h100:8,gpus=2,nodes=0-1+3" in page.read_text()


@pytest.mark.parametrize("command", ["draw --load", "draw --cut", "check"])
def test_a_size_per_rank_is_that_of_all_ranks_together(command: str) -> None:
    words = shlex.split(f"{command} all_to_all torus:4x4 --size")
    each, whole, part = (run(*words, *w).out for w in (("1M", "--per-rank"), ("16M",), ("1M",)))
    assert each == whole
    assert (each == part) == (command == "check")  # which says no size


UNKNOWN = [
    ("predct", "predict"),
    ("sim", "simulate"),
    ("best", "--algorithm best"),
    ("compare", "--compare"),
    ("price", "--price"),
    ("cut", "--cut"),
    ("jitter", "--jitter"),
    ("all_reduce", "predict all_reduce"),
    ("all-gather", "predict all_gather"),
    ("pyramid", "draw pyramid"),
]


@pytest.mark.parametrize(("word", "has"), UNKNOWN)
def test_an_unknown_command_is_answered_with_the_use_of_the_nearest(word: str, has: str) -> None:
    line = refused(word, "all_reduce", "v5e:4x4")
    assert line.startswith(f"no command {word!r}; did you mean ")
    assert has in shown(line)


@pytest.mark.parametrize("word", ["", "zzz", "export", "plan"])
def test_a_word_that_is_like_nothing_is_answered_with_all_commands(word: str) -> None:
    assert refused(word).endswith(f"there is: {', '.join(COMMANDS)}")


SAME = {"over", "mesh", "order", "root", "shift", "seed", "slow", "dead", "price", "combine", "per_rank"}


def test_an_option_is_the_same_in_every_command_and_verb() -> None:
    """Commands and verbs repeat their options, so that each signature can be read; none may drift."""
    flags, defaults = defaultdict(set), defaultdict(set)
    for command in COMMANDS:
        for name, (default, info) in parameters(command).items():
            if isinstance(info, typer.models.OptionInfo) and name in SAME:
                flags[name].add((info.param_decls, info.metavar))
                defaults[name].add(str(default))
    for verb in (getattr(hopcast, name) for name in hopcast.__all__):
        if inspect.isfunction(verb):
            for name, parameter in inspect.signature(verb).parameters.items():
                if name in SAME:
                    defaults[f"{name} of verbs"].add(str(parameter.default))
    assert all(len(kinds) == 1 for kinds in (*flags.values(), *defaults.values())), (flags, defaults)
    assert set(flags) == SAME
