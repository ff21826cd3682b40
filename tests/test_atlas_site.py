"""The atlas as files: an index page, live pages, and the commands that stand beside the figures."""

import json
import re
import shlex
from pathlib import Path

import pytest
from atlas_figures import each_figure, picture
from cli import run

from hopcast.atlas import figure
from hopcast.atlas.site import atlas
from hopcast.names import InputError


def test_a_site_lists_its_figures_and_keeps_those_it_has(tmp_path: Path) -> None:
    out = tmp_path / "site"
    first = atlas(out, only="all_gather1,torus", live=False)
    assert first.ids == ("all_gather1", "torus")
    second = atlas(out, only="12", ranks=12, live=False)
    assert second.ids == ("all_gather1",)
    page = (out / "index.html").read_text(encoding="utf-8")
    assert page.count("<figure ") == 2
    assert page.index('id="torus"') < page.index('id="all_gather1"')
    assert "hopcast atlas --only all_gather1 --ranks 12 --size 8MiB -o site" in page
    assert (out / "figures/all_gather1.svg").read_text(encoding="utf-8").removesuffix("\n") in page
    requested = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert set(requested) == {
        "figures/torus.svg",
        "figures/all_gather1.svg",
        "https://www.aleksagordic.com/blog/collective-operations",
    }
    assert "<script" not in page
    listed = json.loads((out / "atlas.json").read_text(encoding="utf-8"))
    assert [e["id"] for e in listed] == ["torus", "all_gather1"]


def test_a_live_page_shows_the_same_schedule(tmp_path: Path) -> None:
    made = atlas(tmp_path, only=("all_gather2", "ata2"))
    assert "live/all_gather2.html" in made.files
    assert "live/ata2.html" in made.files
    page = (tmp_path / "live/all_gather2.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "hopcast explore all_gather ring:4" in page
    assert 'href="live/all_gather2.html"' in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_bad_folders_and_figures_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean all_gather1"):
        figure("all_gathr1")
    with pytest.raises(InputError, match="there is no folder"):
        atlas(tmp_path / "a" / "b", only="torus")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="is a file"):
        atlas(tmp_path / "file", only="torus")
    (tmp_path / "atlas.json").write_text("{}1", encoding="utf-8")
    with pytest.raises(InputError, match="no list of figures"):
        atlas(tmp_path, only="torus")
    with pytest.raises(InputError, match="--only is empty"):
        atlas(tmp_path, only=",")


def test_the_command_line_makes_a_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("atlas", "--only", "all_gather1", "--ranks", "12", "--no-live", "-o", "site")
    assert ran.status == 0, ran.err
    assert ran.out == ""
    assert "site/index.html" in ran.err
    assert "ring of 12" in (tmp_path / "site/figures/all_gather1.svg").read_text(encoding="utf-8")
    wrong = run("atlas", "--only", "tpu_classes", "--ranks", "3", "-o", "site")
    assert wrong.status == 2
    assert wrong.err.count("\n") == 1


@pytest.mark.slow
@each_figure
def test_the_command_beside_a_figure_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(picture(name).ask)
    if not words:
        return
    assert words[0] == "hopcast"
    ran = run(*words[1:])
    assert ran.status == 0, ran.err
