"""The page of hopcast serve in a browser: its controls ask, show, cancel and fit a phone."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browser_driver import Browser, driven
from served import LONG, Served

pytestmark = pytest.mark.slow  # processes of its own, which import numpy and numba first


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served() as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with driven() as found:
        yield found


@pytest.fixture
def show(browser: Browser, served: Served) -> Callable[..., Browser]:
    def opened(search: str = "", **how: Any) -> Browser:
        browser.do("open", url=served.url + search, **how)
        return browser

    return opened


ANSWERED = (
    "new Promise((done, no) => { const began = Date.now(); const look = () => {"
    "if (!hopcast.asking()) requestAnimationFrame(() => requestAnimationFrame(() => done("
    "document.getElementById('said').textContent)));"
    "else if (Date.now() - began > 60000) no('not answered'); else setTimeout(look, 20); }; look(); })"
)


def submit(b: Browser, **fields: str) -> str:
    """Fill fields, submit, wait, and give what the status line says."""
    for name, text in fields.items():
        b.do("select" if name in ("collective", "family") else "fill", on=f"#ask{name}", text=text)
    b.do("click", on="#show")
    return str(b.ask(ANSWERED))


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_controls_ask_and_the_page_shows_the_answer(show: Callable[..., Browser], dark: bool) -> None:
    b = show(dark=dark)
    assert b.text("h1").startswith("all_gather of 8 MiB on v5e:4x4")
    said = submit(b, family="ring", shape="8", size="4MiB", algorithm="ring")
    assert said.startswith("note: ring is a generic family")
    assert b.text("h1") == "all_gather of 4 MiB on ring:8 by ring"
    assert len(b.ask("hopcast.places(0)")) == 8
    assert b.ask("hopcast.moments().length") == 7
    want = [[s, (5 + s) % 8, (6 + s) % 8] for s in range(7)]
    assert b.ask("hopcast.journey(0, 5)") == want
    assert (
        b.keys("ArrowRight", "ArrowRight")["step"] == 1
    )  # the keys of the page work on, from the button too
    submit(b, collective="all_reduce", family="torus", shape="2x3x4", algorithm="best", compare="mesh:2x3x4")
    assert b.ask("hopcast.sides()") == 2
    assert b.text("#command").startswith("hopcast explore all_reduce torus:2x3x4 --size 4MiB")
    submit(b, compare="", over="x")
    assert b.ask("hopcast.sides()") == 1


@pytest.mark.browser
def test_an_error_is_one_line_and_the_page_keeps_its_answer(show: Callable[..., Browser]) -> None:
    b = show()
    before = b.text("h1")
    said = submit(b, shape="3x3")
    assert said.startswith("error: ")
    assert "3x3" in said
    assert b.text("h1") == before
    assert "is a file" in submit(b, shape="4x4", compare="mine.toml")
    assert b.text("h1") == before


@pytest.mark.browser
def test_a_question_can_be_cancelled_by_keyboard(show: Callable[..., Browser]) -> None:
    b = show()
    family, shape = LONG["cluster"].split(":")
    b.do("select", on="#askcollective", text=LONG["collective"])
    b.do("select", on="#askfamily", text=family)
    b.do("fill", on="#askshape", text=shape)
    b.do("fill", on="#askalgorithm", text="best")
    b.do("keys", keys=["Enter"])
    assert b.ask("hopcast.asking()") is True
    b.ask(
        "new Promise(done => { const look = () => document.getElementById('progress').value > 0.2 ? done(1)"
        ": setTimeout(look, 20); look(); })"
    )
    assert "s, of 60 s at most" in b.text("#said")
    b.ask("(document.getElementById('cancel').focus(), 0)")
    b.do("keys", keys=["Enter"])
    assert b.ask("hopcast.asking()") is False
    assert b.text("#said").startswith("cancelled")
    assert b.ask("document.activeElement.id") == "show"
    assert "v5e:4x4" in b.text("h1")


@pytest.mark.browser
def test_the_address_holds_the_question(show: Callable[..., Browser], served: Served) -> None:
    b = show()
    submit(b, family="ring", shape="6", algorithm="ring", dead="0:1")
    found = b.ask("location.search")
    assert b.ask("location.pathname") == served.path
    title = b.text("h1")
    b = show(found)
    b.ask(ANSWERED)
    assert b.text("h1") == title
    assert b.ask("document.getElementById('askdead').value") == "0:1"
    submit(b, dead="", shape="7")
    assert "ring:7" in b.text("h1")
    b.ask("(history.back(), new Promise(done => addEventListener('popstate', () => done(0), {once: true})))")
    b.ask(ANSWERED)
    assert b.text("h1") == title


@pytest.mark.browser
def test_a_chosen_link_is_slowed_or_cut(show: Callable[..., Browser]) -> None:
    b = show()
    assert b.ask("document.getElementById('slowlink').disabled") is True
    b.ask("(document.activeElement.blur(), 0)")
    b.keys(".", ";")
    b.do("click", on="#slowlink")
    slow = b.ask("document.getElementById('askslow').value")
    assert re.fullmatch(r"0,0:\d,\d=0\.5", slow)
    b.do("click", on="#deadlink")
    b.do("fill", on="#askslow", text="")
    dead = b.ask("document.getElementById('askdead').value")
    assert dead == slow.removesuffix("=0.5")
    assert not submit(b, algorithm="multi_axis").startswith("error")
    assert b.text("#command").endswith(f"--dead {dead}")


@pytest.mark.browser
def test_controls_fit_a_phone_and_have_names(show: Callable[..., Browser]) -> None:
    b = show(width=390, height=844)
    assert b.ask("document.getElementById('question').open") is False
    b.do("click", on="#question summary")
    assert b.ask("document.documentElement.scrollWidth") <= 390
    wide = b.ask(
        "[...document.querySelectorAll('#ask input, #ask select, #ask button')]"
        ".filter(e => e.offsetParent).map(e => e.getBoundingClientRect())"
        ".map(r => [r.left, r.right, r.height])"
    )
    assert len(wide) >= 11
    assert all(left >= 0 and right <= 390 and high >= 30 for left, right, high in wide)
    submit(b, family="ring", shape="8")
    tree = b.do("tree")["value"]
    assert not re.search(r"- button\s*$", tree, re.MULTILINE)
    for name in ("collective", "size", "cluster", "shape", "axes", "algorithm", "slow cables", "dead cables"):
        assert re.search(rf'(textbox|combobox) "{name}', tree), name
