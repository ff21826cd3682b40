"""Odd command lines, over every command: each is answered, or refused in one line without a traceback."""

import re
import shlex
from pathlib import Path

import pytest
from cli import run
from refused import one_line_refusal

from hopcast.cli import _shell

FILES = {
    "empty.csv": b"",
    "empty.toml": b"",
    "latin.csv": b"caf\xe9\n",
    "x.json": b'{"a": 1}',
    "damaged.npz": b"PK\x03\x04nothing",
    "bad.csv": b"0,1;2\n",
    "two.csv": b"1,2\n3,4\n",
    "nan.csv": b"nan,1\n1,0\n",
    "minus.csv": b"-1,1\n1,0\n",
    "zero.csv": b"0,0\n0,0\n",
    "one.py": b"def f(group, hint):\n    return 1\n",
    "raises.py": b"raise ValueError('x')\n",
    "broken.py": b"def h(:\n",
}
# Command lines with a hole, and what is put into it, as in a shell, with bars between.
REFUSED = {
    "predict all_gather ring:8 --size {}": """
        0 | 1e400 | 1e30 | nan | inf | -5 | 5parsec | '' | 1Mb | bf16[0] | bf16[-1]
    """,
    "predict all_gather {} --size 1M": """
        ring:0 | ring:-3 | ring:99999999999999999999 | ring:8, | ring:8,, | ring:8,=3 | '' | adir | ./adir
        - | empty.toml | nowhere.toml | ring:8,bandwidth=45GB/s,bandwidth=50GB/s | ring:8,latency=-1us
        ring:8,latency=1e400s | ring:8,bandwidth=0GB/s | ring:8,bandwidth=1e300GB/s | hypercube:0
        hypercube:20 | 'm\u00fcnster:8' | dgx-h100:0 | dgx-h100:-1 | dgx-h100:1x8 | dgx-h100:2,gpus=0
        dgx-h100:2,nodes= | dgx-h100:2,nodes=0+0 | dgx-h100:99999999 | v5e:0x0 | v5e:16 | v5litepod-7
        v5p-3 | v5e:4x4,slices=0 | v5e:4x4,slices=1000000 | v5p:4x4x4,twisted
    """,
    "predict {} ring:2 --size 1M": """
        '' | adir | empty.csv | latin.csv | x.json | damaged.npz | one.py | one.py:f | one.py:g
        raises.py:f | broken.py:h | nowhere.csv | nowhere.py:f | - | 'all_gather\u2192'
    """,
    "predict all_to_all_v ring:2 --matrix {}": """
        nan.csv | minus.csv | zero.csv | bad.csv | empty.csv | x.json | adir | - | ''
    """,
    "predict all_to_all_v ring:8 --moe {}": """
        '' | tokens=1 | tokens=-1,hidden=1,experts=8,top=1 | tokens=1,hidden=1,experts=8,top=9
    """,
    "predict all_gather ring:8 --size 1M {}": """
        --over x, | --over X | --mesh "" | --mesh a=8, | --mesh a=0 | --mesh =8 | --order adir
        --order empty.csv | --order - | --algorithm "" | --algorithm , | --algorithm ring,
        --algorithm ring,channels= | --algorithm ring,channels=0 | --algorithm ring,channels=8,channels=8
        --slow "" | --slow 0:1=nan | --dead 0:1 --dead 4:5 | --dead "" | --with "" | --with all_gather
        --with all_gather:0 | --with "all_gather:1M over q" | --with all_gather:1M --with all_gather:2M
        --format xml | --shift x | --seed 1.5
    """,
    "predict broadcast ring:8 --size 1M --root {}": "-1 | '' | 1.5 | 0,0 | 8 | 'rank 9'",
    "predict permute ring:8 --size 1M --shift {}": "0 | 8 | -8 | 99999999999999999999999",
    "simulate all_gather ring:8 --size 1M {}": """
        --jitter -1% | --samples 0 | --samples 2 | --straggler 9=2x | --straggler 1=0x | --background 100%
        --background 0:0=1GB/s | -o adir | -o "" | -o adir.json
    """,
    "draw {}": """
        ring:8 --route 0 0 | ring:8 --route 0 9 | ring:1 --cut | all_gather ring:1 --cut
        all_gather ring:8 --steps "" | all_gather ring:8 --steps 99 | all_gather ring:8 --steps x
        all_gather ring:8 --sweep 1M 1K | ring:5000 | ring:8 -o adir | ring:8 -o x.SVG | ring:8 -o ""
        permute ring:4 --trees | all_gather ring:4 --cut --load
    """,
    "route {}": """
        ring:8 0 0 | ring:8 "" 0 | ring:8 0 8 | ring:8 0 1 --size 0 | ring:1 0 0 | ring:8 0
        mesh:4x4 0,0 4,0
    """,
    "bisect {}": """
        ring:8 --split 8/0 | ring:8 --split 4 | ring:8 --split a/b | ring:8 --split 4/4/0
        ring:8 --split -4/12 | ring:1 --split 1/0 | ring:8 --by nodes
    """,
    "sweep all_gather ring:8 {}": """
        -b 0 -e 0 | -i 1 | -f nan | -f inf | -f -2 | -f 1 | -i 0 | -d f33 | -b 8M -e 1M
    """,
    "advise all_gather --size 1M {}": """
        --chips 2 | --chips 7 | --chips 0 | --chips -1 | --chips 99999999999 --on v5e | --chips 4 --on ""
        --chips 4 --on dgx-h100 | --chips 4 --on v5e --algorithm all | --chips x
    """,
    "reshard {} v5e:4x4": """
        '' | 'f32[i_x]' | 'f32[0_x] -> f32[0]' | 'f32[-8_x] -> f32[-8]'
        'f32[i_x,j] -> f32[i,j_x]' | 'f99[8_x] -> f99[8]' | 'f32[7_x] -> f32[7]'
    """,
    "matmul {} v5e:4x4": """
        '' | 'a @ b' | 'bf16[b,d] @ bf16[e,f]' | 'bf16[0,8_x] @ bf16[8_x,8]' | 'bf16[7,7_x] @ bf16[7_x,7]'
    """,
    "explore all_gather ring:8 -o {}": """
        x.txt | adir | '' | x.html --compare zzz | x.html --compare ""
    """,
    "atlas -o site --only {}": """
        '' | zzz | all_gather1 --ranks -3 | all_gather1 --size zz | pyramid --on zz | pyramid --ranks 8
    """,
    "check {}": """
        - ring:2 | all_gather ring:8 --size 0 | adir ring:2 | all_gather ring:8 --algorithm zzz
    """,
    "serve {}": "--port 99999 | --port -1 | --limit -5s | --limit nan | --limit 0 | extra",
    "list {}": "zzz | chips chips",
    "show {}": "'' | zzz | adir | - | nowhere/at/all.toml | ring:8 --format yaml | ring:8,nics=3",
    "{}": """--format json | -x | "" | zzz""",
}
ANSWERED = {
    "predict all_gather ring:8 --size {}": """
        1 | 5TB | 1M --size 2M | " 1M " | 1M --over "" | 1M --seed -1 | 1M --slow 0:1=0.5 --slow 0:1=0.5
        1M --dead 0:1 --dead 0:1 | 1M --mesh \u00e4=8 --over \u00e4
    """,
    "predict all_gather {} --size 1M --algorithm all": """
        ring:1 | ring:2 | ring:3 | torus:1x1x1x1 | torus:1x2x1 | torus:2x2x2 | mesh:1x7 | switch:1
        switch:2 | full_mesh:1 | hypercube:1 | fat-tree:1x1 | v5e:4x4,slices=1 | dgx-h100,gpus=1
        dgx-h100:2,gpus=1 | dgx2-v100,gpus=13
    """,
    "predict {} torus:7x3 --size 1M": """
        all_reduce | all_to_all | broadcast | permute --shift -1 | gather --root 20
    """,
    "predict all_to_all_v ring:2 {}": "--matrix two.csv | --moe tokens=1,hidden=1,experts=3,top=1",
    "predict {} ring:1 --size 1M": "permute | all_gather --with all_gather:1M | all_to_all",
    "simulate all_gather {}": """
        ring:8 --size 1M --jitter 200% | ring:1 --size 1M | ring:1 --size 1M -o t.json | ring:8 --size 1
    """,
    "draw {}": """
        ring:1 | all_gather ring:1 | all_gather ring:1 --load | all_gather ring:1 --trees
        all_gather ring:8 --sweep 1M 1M
    """,
    "route {}": "dgx-h100:2 0,0 1,7 | mesh:4x4 0 15 | ring:2 0 1",
    "bisect {}": "ring:1 | ring:2 | ring:3 | dgx-h100,gpus=3",
    "sweep all_gather {}": "ring:1 -e 64 | ring:7 -e 64 | ring:8 -b 1M -e 1M",
    "advise all_gather --size 1M --on v5e {}": "--chips 1 | --chips 4 --on v5e",
    "reshard {}": """
        "f32[8_x] -> f32[8]" v5e:4x4 | "f32[i_x,j] -> f32[i,j_x]" ring:1 --dims i=8,j=8
    """,
    "matmul 'bf16[8192,8192_x] @ bf16[8192_x,8192]' {}": "v5e:1x1 | ring:4",
    "explore all_gather ring:1 -o {}": "one.html",
    "atlas -o site --only {}": "pyramid",
    "list {}": """
        "" | CHIPS
    """,
    "show {}": "v5e | dgx-h100:1 | ring:1 | torus:1x1",
    "check {}": """
        all_gather ring:1 | all_gather ring:8 --algorithm best | all_to_all_v ring:2 --matrix two.csv
    """,
    "predict --help {}": "extra",
}


def lines(table: dict[str, str]) -> list[list[str]]:
    """Words of each command line."""
    return [
        shlex.split(line.format(value.strip()))
        for line, values in table.items()
        for value in re.split(r" \| |\n", values.strip())
    ]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with odd files, a folder among them."""
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "adir").mkdir()
    (tmp_path / "adir.json").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("words", lines(REFUSED), ids=" ".join)
def test_what_cannot_be_is_refused_in_one_line(words: list[str]) -> None:
    said = one_line_refusal(*words)
    assert said.startswith("hopcast: error: ")
    assert said.isprintable()


@pytest.mark.parametrize("words", lines(ANSWERED), ids=" ".join)
def test_what_can_be_is_answered(words: list[str]) -> None:
    ran = run(*words)
    assert ran.status == 0, ran.err
    assert not re.search(r"\b(nan|inf)\b", ran.out)


def test_every_command_has_odd_lines() -> None:
    for table in (REFUSED, ANSWERED):
        assert {words[0] for words in lines(table)} >= _shell.commands().keys() - {"serve"}
