"""Options of clusters: all are documented, every example works, each family takes those it is said to."""

from pathlib import Path

import pytest
from cli import row, run
from refused import one_line_error

from hopcast import chips, machines, registry
from hopcast.clusters import cluster
from hopcast.ir.cluster_options import FILE, GPU, GRID, OPTIONS, TPU, WORDS, Option, names, of
from hopcast.names import InputError
from hopcast.read import cluster_toml
from hopcast.verbs.listing import KINDS, listing

FAMILIES = {
    GRID: [f for f in registry.found("topologies") if f not in ("twisted_torus", "fat_tree")],
    TPU: [c for c in chips.names() if chips.load(c).axes],
    GPU: list(machines.names()),
}
OWN_SHAPES = {"torus": "4x8", "mesh": "4x8", "fat-tree": "64x8"}
# What no data sheet of a few TPUs gives, so that more than one slice of them needs it said.
OUTSIDE = {"pcie_bandwidth": "16GB/s", "dcn_bandwidth": "6GB/s"}
EACH = [(o, f) for o in OPTIONS if o.kind != FILE for f in FAMILIES[o.kind]]


def shape(kind: str, family: str, option: str) -> str:
    """A shape of the family that an option could be asked of."""
    if kind == TPU:
        flat = chips.load(family).axes == 2
        return ("4x8" if flat else "4x4x8") if option == "twisted" else "4x4" if flat else "4x4x4"
    return OWN_SHAPES.get(family, "64" if kind == GPU and option == "nodes" else "8")


def asked(option: Option, family: str) -> str:
    """A cluster of the family with what the example of the option asks for."""
    given = option.example.split(",")[1:]
    if any(g.startswith("slices=") for g in given):
        given += [f"{k}={v}" for k, v in OUTSIDE.items() if not any(g.startswith(k) for g in given)]
    return ",".join([f"{family}:{shape(option.kind, family, option.name)}", *given])


@pytest.mark.parametrize(("option", "family"), EACH, ids=[f"{f} {o.kind} {o.name}" for o, f in EACH])
def test_a_family_takes_the_options_it_is_said_to_take(option: Option, family: str) -> None:
    text = asked(option, family)
    if option in of(option.kind, family):
        assert cluster(text).options[option.name]
    else:
        with pytest.raises(InputError):
            cluster(text)


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.kind != FILE], ids=lambda o: o.example)
def test_the_example_of_an_option_has_it_and_works(option: Option) -> None:
    assert option.name in cluster(option.example).options
    assert option.name in [g.partition("=")[0] for g in option.example.split(",")[1:]]
    family = option.example.partition(",")[0].partition(":")[0]
    assert option in of(option.kind, family)


@pytest.mark.parametrize(("kind", "family"), [(k, f) for k, fs in FAMILIES.items() for f in fs])
def test_an_option_that_nobody_documents_is_refused_with_those_that_are(kind: str, family: str) -> None:
    text = f"{family}:{shape(kind, family, '')}"
    said = one_line_error(cluster, f"{text},colour=red")
    assert said == f"{text} has no option 'colour'; there is: {', '.join(names(kind))}"


def test_families_that_an_option_names_exist() -> None:
    for option in OPTIONS:
        assert set(option.only) <= set(FAMILIES.get(option.kind, ()))
        assert 8 < len(option.what) < 90
        assert option.kind in WORDS
    assert len({(o.kind, o.name) for o in OPTIONS}) == len(OPTIONS)


def test_options_are_listed_and_lists_lead_to_them() -> None:
    rows = listing("options").rows
    assert [(r["name"], r["example"]) for r in rows] == [(o.name, o.example) for o in OPTIONS]
    said = run("list", "clusters").out
    for kind in ("options", "cluster_file"):
        assert kind in KINDS
        assert f"hopcast list {kind}" in said
        assert f"list {kind}" in " ".join(run("predict", "--help").out.split())


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.kind != FILE], ids=lambda o: o.example)
def test_an_option_changes_the_cluster(option: Option) -> None:
    """The network, its routes or its abilities differ from those without it."""
    parts = option.example.split(",")
    without = ",".join(p for p in parts if p.partition("=")[0] != option.name)
    assert _facts(option.example) != _facts(without)


def _facts(text: str) -> tuple[object, ...]:
    made = cluster(text)
    t = made.topology
    columns = [c.tobytes() for c in (t.src, t.dst, t.bandwidth, t.latency, t.wire)]
    return (*columns, made.routing, sorted(made.figures), made.facts.get("spine_switches"))


@pytest.mark.parametrize("kind", cluster_toml.EXAMPLES)
def test_the_files_that_are_shown_are_clusters(kind: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = cluster_toml.EXAMPLES[kind]
    assert text.rstrip() in run("list", "cluster_file").out
    assert len(text.splitlines()) <= 14
    Path("FILE.toml").write_text(text, encoding="utf-8")
    assert row("show", "./FILE.toml")["chips"] == {"family": 32, "network": 4}[kind]
    for option in (o for o in OPTIONS if o.kind == FILE):
        changed = cluster(option.example).topology
        want = {"bandwidth": 50e9, "latency": 0.0}[option.name]
        assert set(getattr(changed, option.name)) == {want}


def test_every_key_of_a_file_is_listed() -> None:
    listed = {(r["name"], part) for r in listing("cluster_file").rows for part in r["of"].split(", ")}
    assert listed == {(key, part) for part, keys in cluster_toml.KEYS.items() for key in keys}
    said = one_line_error(cluster_toml.parse, 'family = "ring"\ncolour = "red"\n', "lab.toml")
    assert said == f"lab.toml: no key 'colour'; there is: {', '.join(cluster_toml.KEYS['family'])}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "dgx-h100:128,oversubscription=64",
            "a leaf has 32 cables down and at least one up, so the most is 32",
        ),
        ("fat-tree:2x8,leaf=8,oversubscription=4", "a leaf has 2 cables down"),
    ],
)
def test_a_leaf_has_no_less_than_one_cable_up(text: str, says: str) -> None:
    assert says in one_line_error(cluster, text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dgx-h100:128,oversubscription=3", "oversubscription=3: a leaf has 32 cables down and 11 up, 2.91"),
        ("dgx-h100:2,oversubscription=4", "oversubscription=4: a leaf has 2 cables down and 1 up, 2"),
        ("dgx-h100:128,oversubscription=32", ""),
        ("dgx-h100:128,oversubscription=2", ""),
    ],
)
def test_a_ratio_that_whole_cables_do_not_give_is_said_with_every_answer(text: str, says: str) -> None:
    said = run("bisect", text).err
    assert (says in said) if says else "oversubscription" not in said
