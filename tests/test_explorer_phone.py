"""The explorer at the width of a phone: words on the clock's strips are whole and clear of its line."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_driver import Browser, driven

from hopcast.verbs.explore import explore

pytestmark = pytest.mark.browser

# What is drawn on the strips from now on: words as (text, left, right, baseline), and lines as x.
RECORD = """(() => {
  window.drawn = { words: [], lines: [], wide: document.getElementById('strip').clientWidth };
  const paint = CanvasRenderingContext2D.prototype;
  const [text, from, to] = [paint.fillText, paint.moveTo, paint.lineTo];
  const mine = (g) => g.canvas.id === 'strip';
  paint.fillText = function (t, x, y) {
    if (mine(this)) window.drawn.words.push([t, x, x + this.measureText(t).width, y]);
    return text.call(this, t, x, y);
  };
  paint.moveTo = function (x, y) { if (mine(this)) this.from = y; return from.call(this, x, y); };
  paint.lineTo = function (x, y) {
    if (mine(this)) window.drawn.lines.push([x, this.from, y]);
    return to.call(this, x, y);
  };
  return true;
})()"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with driven() as found:
        yield found


@pytest.mark.parametrize("width", [390, 1280])
def test_words_of_the_strips_are_whole_and_no_line_crosses_them(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    file = tmp_path / "page.html"
    explore("all_reduce", "mesh:4x4", size="1GiB", algorithm="tree_packing", compare="multi_axis", out=file)
    browser.do("open", file=str(file), width=width, height=844)
    browser.ask(RECORD)
    browser.do("hash", hash="step=1")
    drawn = browser.ask("window.drawn")
    assert {word[0][:2] for word in drawn["words"]} == {"A:", "B:"}
    assert len(drawn["lines"]) >= 2
    for text, left, right, base in drawn["words"]:
        assert 0 <= left < right <= drawn["wide"], text
        assert "load of links" in text
        crossed = [
            x for x, top, end in drawn["lines"] if left <= x <= right and top < base and end > base - 8
        ]
        assert not crossed, text
