"""hopcast serve answers: the data of the page that explore writes, the errors of the command line."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cli import run
from explored import data_in
from served import SMALL, Served, one_line

from hopcast.draw.explorer.build import content
from hopcast.serve.asked import Asked
from hopcast.serve.choices import choices
from hopcast.serve.work import answer
from hopcast.verbs.explore import explore

pytestmark = pytest.mark.slow  # processes of its own, which import numpy and numba first


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served() as found:
        yield found


def asked_in(question: dict[str, Any]) -> Asked:
    return Asked(**{k: tuple(v) if isinstance(v, list) else v for k, v in question.items()})


@pytest.mark.parametrize(
    "question",
    [
        SMALL,
        {"collective": "AllReduce", "cluster": "v5e:4x4", "size": "bf16[1024,1024]", "over": "x,y"},
        {"cluster": "torus:4x4", "algorithm": "multi_axis", "slow": ["0,0:0,1=0.5"]},
        {"cluster": "ring:8", "algorithm": "direct", "dead": ["3:4"]},
        {"cluster": "ring:8", "algorithm": "ring", "compare": "bidirectional_ring"},
        {"collective": "all_reduce", "cluster": "mesh:4x4", "algorithm": "best", "compare": "torus:4x4"},
    ],
    ids=str,
)
def test_an_answer_is_the_data_of_the_page_that_explore_writes(
    served: Served, question: dict[str, Any]
) -> None:
    data = served.ask(question)["data"]
    asked = asked_in(question)
    assert data.pop("asked") == asked.record()
    how = {k: v for k, v in asked.record().items() if k not in ("collective", "cluster") and v}
    page = explore(asked.collective, asked.cluster, **how)
    assert data.pop("warnings") == list(page.warnings)
    assert data == json.loads(json.dumps(content(page.answers, data["command"])))


def test_the_command_of_an_answer_makes_the_same_page(served: Served, tmp_path: Path) -> None:
    question = {"cluster": "torus:4x4", "over": "x", "algorithm": "ring", "slow": ["0,0:1,0=0.5"]}
    data = served.ask(question)["data"]
    out = tmp_path / "page.html"
    assert run(*data["command"].split()[1:], "-o", str(out)).status == 0
    assert data_in(out.read_text())["sides"] == data["sides"]


@pytest.mark.parametrize(
    "question",
    [
        {"cluster": "rng:8"},
        {"cluster": "v5e:3x3"},
        {"cluster": "v5e"},
        {"cluster": "ring:8,bandwidth=45Gbit"},
        {"collective": "all_gathr"},
        {"size": "12Mb"},
        {"over": "q"},
        {"algorithm": "rng"},
        {"algorithm": "all"},
        {"algorithm": "hierarchical"},
        {"compare": "rng"},
        {"slow": ["0,0:2,2=0.5"]},
        {"dead": ["0,0"]},
    ],
    ids=str,
)
def test_errors_are_those_of_the_command_line(
    served: Served, question: dict[str, Any], tmp_path: Path
) -> None:
    asked = asked_in(question)
    ran = run(*asked.words[1:], "-o", str(tmp_path / "page.html"))
    assert ran.status == 2
    assert f"hopcast: error: {one_line(served.ask(question))}\n" == ran.err.split("hopcast: note")[0]


def test_questions_are_answered_again_from_memory(served: Served) -> None:
    question = {**SMALL, "size": "3MiB"}
    first = served.ask(question)
    with served.asking(question) as lines:
        again = list(lines)
    assert again == [first]


def test_fifty_questions_at_once(served: Served) -> None:
    questions = [{"cluster": f"ring:{n}", "size": "4MiB", "algorithm": "ring"} for n in range(3, 53)]
    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(served.ask, questions))
    for question, found in zip(questions, answers, strict=True):
        side = found["data"]["sides"][0]
        assert side["net"]["name"] == question["cluster"]
        assert side["plan"]["steps"] == side["net"]["chips"] - 1


def test_each_family_begins_with_a_shape_that_can_be_shown() -> None:
    offered = choices()
    names = [f["name"] for f in offered["families"]]
    assert {"v5e", "7x", "dgx-h100", "gb200-nvl72", "ring", "torus"} <= set(names)
    for family in offered["families"]:
        told: list[str] = []
        found = answer(Asked(cluster=f"{family['name']}:{family['shape']}"), told.append)
        assert found["sides"][0]["net"]["chips"] > 1, family
        assert told
    assert {a["name"] for a in offered["algorithms"]} >= {"ring", "multi_axis", "hierarchical"}
