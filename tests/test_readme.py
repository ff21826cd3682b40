"""Every command whose output README shows gives that output."""

import re
import shlex
from pathlib import Path

import pytest
from cli import run

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = [
    tuple(block.split("\n", 1)) for block in re.findall(r"```console\n\$ (hopcast .*?)```", TEXT, re.DOTALL)
]


def test_readme_shows_commands() -> None:
    assert len(SHOWN) >= 4


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[c for c, _ in SHOWN])
def test_output_is_what_readme_shows(command: str, output: str) -> None:
    ran = run(*shlex.split(command)[1:])
    assert ran.status == 0, ran.err
    assert ran.out.rstrip() == output.rstrip()


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", TEXT))
def test_links_lead_somewhere(link: str) -> None:
    assert link.startswith("https://") or (ROOT / link).exists()


def test_the_picture_is_what_the_code_draws(tmp_path: Path) -> None:
    out = tmp_path / "ring.svg"
    assert (
        run("draw", "all_gather", "ring:8", "--algorithm", "bidirectional_ring", "-o", str(out)).status == 0
    )
    assert out.read_bytes() == (ROOT / "docs/img/all_gather-ring8.svg").read_bytes()
