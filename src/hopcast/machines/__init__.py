"""GPU machines and clusters of them: ``dgx-h100:32``, ``gb200-nvl72:8``, ``fat-tree:32x8,leaf=8,spine=16``.

One .toml per machine: ``title``, ``chip`` (a file of chips/), ``library``, ``inside`` (how its GPUs are
joined: switch, mesh or cube), ``unit`` (what a shape counts: node or rack), ``notes``, and figures as in
chips/ under dotted keys: ``domain.*`` of what one NVLink fabric joins, ``nic``, ``su`` (a scalable unit) and
``leaf``. ``[pods]`` are rows of a published table of whole pods. Figures of the chip stand beside those of
the machine.
"""

import functools
import importlib.resources
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hopcast import chips, registry
from hopcast.ir.cluster import Cluster, Figure
from hopcast.names import snake, unknown
from hopcast.topologies import fat_tree

from . import _asked, _wiring

_WORDS = ("chip", "inside", "unit", "pods")
_SECTIONS = ("domain", "hbm", "leaf", "nic", "nvlink", "nvls", "pcie", "sharp", "su", "tier")
_NEEDED = ("nvlink.bandwidth", "nic.bandwidth", "su.units", "leaf.units", "leaf.rails", "leaf.ports")


@dataclass(frozen=True)
class Pods:
    """A published table of whole pods.

    Attributes:
        rows: Units, nodes or racks, leaves, spines, cores.
        source: Where it stands.
        words: What a reader should know of it.
    """

    rows: tuple[tuple[int, ...], ...] = ()
    source: str = ""
    words: str = ""


@dataclass(frozen=True, eq=False)
class Machine:
    """One machine's data sheet.

    Attributes:
        name: File name, for example ``dgx-h100``.
        title: For people.
        stack: Whose collectives run on it, or none.
        inside: switch, mesh or cube.
        unit: node or rack.
        figures: Of machine and chip by dotted key, SI.
        pods: Published whole pods.
        notes: Disputes and assumptions.
    """

    name: str
    title: str
    stack: str
    inside: str
    unit: str
    figures: Mapping[str, Figure]
    pods: Pods
    notes: tuple[str, ...]

    def value(self, key: str, usual: float = 0.0) -> float:
        """A figure in SI units, or the usual value where nobody gives it."""
        return self.figures[key].value if key in self.figures else usual

    def count(self, key: str, usual: int = 1) -> int:
        """A figure that counts."""
        return int(self.value(key, usual))


def names() -> tuple[str, ...]:
    """The machines there are.

    >>> "dgx-h100" in names()
    True
    """
    return registry.found("machines", ".toml")


def known(name: str) -> bool:
    """Whether a word is a machine.

    >>> known("dgx-h100"), known("DGX_H100"), known("v5e")
    (True, True, False)
    """
    return _find(name) is not None


def of_chip(chip: str) -> list[str]:
    """The machines that have this chip.

    >>> of_chip("h100"), of_chip("v5e")
    (['dgx-h100'], [])
    """
    return [n for n in names() if _document(n)["chip"] == chip]


def _find(name: str) -> str | None:
    return next((n for n in names() if snake(n) == snake(name)), None)


@functools.cache
def load(name: str) -> Machine:
    """The machine of that name.

    Raises:
        InputError: for an unknown name, and for a file that is wrong.

    >>> load("dgx-h100").value("nvlink.bandwidth"), load("dgx-h100").count("domain.chips")
    (450000000000.0, 8)
    """
    found = _find(name)
    if found is None:
        raise unknown("machine", name, names())
    document, common = _document(found), _document("_latency")
    file = f"machines/{found}.toml"
    chips.need(file, _WORDS[:3], document, "a machine")
    sheet = chips.parse(file, {k: v for k, v in document.items() if k not in _WORDS}, _SECTIONS)
    inherited = chips.parse("machines/_latency.toml", common, _SECTIONS).figures
    if document["chip"]:
        one = chips.load(document["chip"])
        inherited = {**inherited, **one.figures}
    figures = {**inherited, **sheet.figures}
    cables = () if document["inside"] == "switch" else ("nvlink.link.bandwidth",)
    gpus = ("domain.chips",) if document["chip"] else ()  # else they are in the shape
    chips.need(file, (*_NEEDED, *cables, *gpus), figures, "a machine")
    pods = document.get("pods", {})
    return Machine(
        found,
        sheet.title,
        "" if sheet.stack == "none" else sheet.stack,
        document["inside"],
        document["unit"],
        figures,
        Pods(tuple(tuple(r) for r in pods.get("rows", ())), pods.get("source", ""), pods.get("words", "")),
        sheet.notes,
    )


def _document(name: str) -> Mapping[str, Any]:
    file = importlib.resources.files("hopcast.machines") / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def cluster(text: str, family: str, shape: str, options: Mapping[str, str]) -> Cluster:
    """A cluster of one machine or many.

    Args:
        text: The whole string, for messages and as the name.
        family: Name of a machine.
        shape: Number of nodes or racks; empty is one. Of ``fat-tree``: nodes x GPUs of a node.
        options: By key, those of `ir.cluster_options` for GPUs.

    Raises:
        InputError: for a shape or an option that cannot be.

    Cost: O(links); about 5 ms for 1,024 GPUs.

    >>> pod = cluster("dgx-h100:32", "dgx-h100", "32", {})
    >>> pod.topology.chips, pod.topology.shape, pod.facts["leaf_switches"], pod.facts["spine_switches"]
    (256, (32, 8), 8, 4)
    """
    machine = load(family)
    asked = _asked.read(text, machine.name, shape, options, machine.figures, machine.inside != "switch")
    plan = _wiring.plan(text, machine.inside, machine.unit, asked, machine.figures)
    topology = fat_tree.wire(text.split(",")[0], plan.node, asked.slots, plan.fabric)
    figures = {k: f for k, f in machine.figures.items() if not k.startswith(asked.without)}
    notes = [*machine.notes, *plan.notes, *_table(machine, asked, plan)]
    routing = f"ecmp,seed={asked.seed}" if asked.ecmp else "spread"
    return Cluster(
        text, topology, machine.name, routing, dict(options), figures, machine.stack, tuple(notes),
        plan.facts, plan.assumed,
    )  # fmt: skip


def _table(machine: Machine, asked: _asked.Asked, plan: _wiring.Plan) -> list[str]:
    """Whether the counts of switches are published or follow from the rule."""
    facts, found = plan.facts, list[str]()
    if plan.fabric is None:
        return found
    have = tuple(facts.get(k, 0) for k in ("leaf_switches", "spine_switches", "core_switches"))
    row = next((r for r in machine.pods.rows if r[0] == facts["su"]), None)
    if row is not None and row[2:] == have and not asked.changed:
        units = f"{facts['su']} scalable unit{'s' * (facts['su'] > 1)}"
        found.append(f"leaf, spine and core counts as published for {units} ({machine.pods.source})")
        if asked.total > row[1]:
            found.append(
                f"{asked.total} {machine.unit}s are the idealised pod; the table's has {row[1]} "
                f"({row[1] * asked.gpus} GPUs)"
            )
        if machine.pods.words and asked.total >= row[1]:
            found.append(machine.pods.words)
    elif not asked.spine:
        found.append("switch counts are derived, by the rule that reproduces NVIDIA's tables of whole pods")
    return found
