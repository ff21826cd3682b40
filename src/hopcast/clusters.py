"""A cluster from text: ``v5e:4x4``, ``torus:4x4,bandwidth=45GB/s,latency=0``, ``v5p-128``, ``mine.toml``."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from . import chips, machines, registry, units
from .chips import slices
from .ir import cluster_options
from .ir.cluster import Cluster, Figure
from .ir.vertices import vertex as vertex  # callers have a cluster in hand
from .names import InputError, unknown
from .topologies import _cores, _grid, _multislice

_SHAPE = re.compile(r"\d+(?:[xX*]\d+)*")
MOST_CHIPS = 1_000_000
DEFAULT_BANDWIDTH, DEFAULT_LATENCY = "45GB/s", "1us"
_HASHED = ("ecmp", "hash", "hashed", "hashing")  # what people call routing=ecmp
_A_CHIP = "a rank is a chip; JAX shows its two cores as devices: ranks=cores makes each a rank"
# No source gives the latency of PCIe and of the data centre network: these are assumed, and printed as such.
PCIE_LATENCY, DCN_LATENCY = "1us", "10us"


def cluster(text: str) -> Cluster:
    """The cluster that a string names.

    Args:
        text: ``family:shape[,key=value...]``, a cloud accelerator type, or a path of a .toml file.

    Raises:
        InputError: for an unknown family or option, a shape that cannot exist, a value that cannot be read.

    >>> c = cluster("torus:4x4,bandwidth=45GB/s,latency=0")
    >>> c.topology.chips, c.topology.links, [a.wraps for a in c.topology.axes]
    (16, 64, [True, True])
    """
    path, dot, behind = text.strip().partition(".toml")
    if dot and not behind.partition(",")[0]:
        options = _options(text, behind.split(",")[1:], cluster_options.FILE)
        return _override(_from_file(path + dot), options, text)
    head, *rest = [part.strip() for part in text.strip().split(",")]
    family, colon, shape = head.partition(":")
    if machines.known(family):
        return machines.cluster(text, family, shape, _options(text, rest, cluster_options.GPU))
    if colon and family in registry.found("topologies") and family != "twisted_torus":
        return _generic(text, family, _dims(text, shape), _options(text, rest, cluster_options.GRID))
    if chips.known(family) and colon:
        return _slice(text, chips.load(family), _dims(text, shape), _options(text, rest, cluster_options.TPU))
    if not colon and slices.is_type(head):
        name, dims = slices.type_to_slice(head)
        return _slice(text, chips.load(name), dims, _options(text, rest, cluster_options.TPU))
    families = [f for f in registry.found("topologies") if f not in ("twisted_torus", "fat_tree")]
    families += [*(c for c in chips.names() if chips.load(c).axes), *machines.names()]
    if family in families:
        raise InputError(
            f"{text!r} has no shape; write {family}:{'8' if family in ('ring', 'chain', 'switch') else '4x4'}"
        )
    raise unknown("cluster family", family, families)


def _dims(text: str, shape: str) -> tuple[int, ...]:
    if not _SHAPE.fullmatch(shape):
        raise InputError(
            f"{text!r}: {shape!r} is not a shape; write numbers joined by x, as in 4x4 or 8x8x16"
        )
    dims = tuple(int(n) for n in re.split("[xX*]", shape))
    if min(dims) < 1:
        raise InputError(f"{text!r}: an axis has length 0; the least is 1")
    total = 1
    for n in dims:
        total *= n
    if total > MOST_CHIPS or len(dims) > 14:
        raise InputError(
            f"{text!r} has {total:,} chips on {len(dims)} axes; the most is {MOST_CHIPS:,} chips on 14 axes"
        )
    return dims


def _options(text: str, rest: Sequence[str], kind: str) -> dict[str, str]:
    found: dict[str, str] = {}
    allowed = cluster_options.names(kind)
    for item in rest:
        key, equals, value = (part.strip() for part in item.partition("="))
        if key in _HASHED and "routing" in allowed:
            raise InputError(
                f"{text!r}: no option {key}; did you mean routing=ecmp? Unless asked, flows spread"
            )
        if key not in allowed:
            raise unknown("option", key, allowed, of=text.split(",")[0])
        if key in found:
            raise InputError(f"{text!r} gives {key} twice")
        if bool(equals) == (key == "twisted"):
            raise InputError(f"{text!r}: write {key}" + ("" if key == "twisted" else "=VALUE"))
        found[key] = value if equals else "yes"
    return found


def _value(
    text: str, options: Mapping[str, str], key: str, read: Callable[[str], float], usual: float
) -> float:
    """The value of an option in SI units, or the usual one."""
    if key not in options:
        return usual
    try:
        return read(options[key])
    except ValueError as error:
        raise InputError(f"{text!r}: {key}={options[key]}: {error}") from None


def _generic(text: str, family: str, dims: tuple[int, ...], options: Mapping[str, str]) -> Cluster:
    bandwidth = _value(text, options, "bandwidth", units.rate, units.rate(DEFAULT_BANDWIDTH))
    latency = _value(text, options, "latency", units.seconds, units.seconds(DEFAULT_LATENCY))
    duplex = options.get("duplex", "full")
    if duplex not in ("full", "half"):
        raise InputError(f"{text!r}: duplex={duplex}; it is full or half")
    name = text.split(",")[0]
    wraps = options.get("wraps")
    if wraps is not None and family != "mesh":
        raise InputError(
            f"{text!r}: wraps= closes axes of a mesh, as in mesh:8x16,wraps=y; a {family} has its own"
        )
    if "twisted" in options:
        if family != "torus":
            raise InputError(f"{text!r}: only a torus can be twisted, as in torus:4x4x8,twisted")
        topology = registry.load("topologies", "topology", "twisted_torus").build(
            name, dims, bandwidth, latency, duplex == "half"
        )
    elif wraps is not None:
        letters = [_grid.AXES[i] for i in range(len(dims))]
        asked = re.split(r"[+&]", wraps)
        for letter in asked:
            if letter not in letters:
                raise unknown("axis", letter, letters, of=name)
        topology = _grid.grid(name, dims, [a in asked for a in letters], bandwidth, latency, duplex == "half")
    else:
        topology = registry.load("topologies", "topology", family).build(
            name, dims, bandwidth, latency, duplex == "half"
        )
    figures = _reducing(text, family, options)
    routing = "twisted" if "twisted" in options else "dimension_order" if topology.is_grid else "shortest"
    antipodal = options.get("antipodal", "split")
    if antipodal not in ("split", "forward") or (routing != "dimension_order" and "antipodal" in options):
        raise InputError(
            f"{text!r}: antipodal={antipodal}; on a ring or torus it is split (half each way) or forward"
        )
    if antipodal == "forward":
        routing = "forward"
    given = [
        f"{key}={value}"
        for key, value in (("bandwidth", DEFAULT_BANDWIDTH), ("latency", DEFAULT_LATENCY))
        if key not in options
    ]
    assumed = (f"{family} is a generic family: {' and '.join(given)} assumed",) if given else ()
    return Cluster(text, topology, family, routing, dict(options), figures, assumed=assumed)


def _reducing(text: str, family: str, options: Mapping[str, str]) -> dict[str, Figure]:
    """The figure that says that the switch reduces and multicasts, where ``sharp=on`` asks for it."""
    said = options.get("sharp", "off")
    if said not in ("on", "off"):
        raise InputError(f"{text!r}: sharp={said}; it is on or off")
    if said == "off":
        return {}
    if family != "switch":
        raise InputError(f"{text!r}: a {family} has no switch that could reduce; sharp= is of switch:8")
    return {"sharp.supported": Figure(1.0, "asked for: sharp=on", "", "M")}


def _slice(text: str, chip: chips.Chip, dims: tuple[int, ...], options: Mapping[str, str]) -> Cluster:
    figures = chip.figures
    if "ici.bandwidth" not in figures or not chip.axes:
        has = machines.of_chip(chip.name)
        if has:
            raise InputError(
                f"{text!r}: {chip.title} stands in nodes; write {' or '.join(has)} for one of them, "
                f"{has[0]}:4 for four"
            )
        raise InputError(
            f"{text!r}: {chip.title} has no published torus of links to simulate; "
            f"hopcast show {chip.name} gives what is known"
        )
    bandwidth = _value(text, options, "bandwidth", units.rate, figures["ici.bandwidth"].value)
    usual = _value(text, options, "latency", units.seconds, figures["ici.latency"].value)
    latency = _value(text, options, "ici_latency", units.seconds, usual)
    made = slices.slice_of(chip, dims, "twisted" in options)
    count = _slices(text, options, made.chips)
    facts = {key: getattr(made, key) for key in ("chips", "devices", "hosts", "vms", "cubes")}
    name = text.split(",")[0]
    if "twisted" in options:
        topology = registry.load("topologies", "topology", "twisted_torus").build(
            name, made.shape, bandwidth, latency
        )
    else:
        topology = _grid.grid(name, made.shape, made.wraps, bandwidth, latency)
    routing = "twisted" if "twisted" in options else "dimension_order"
    one = Cluster(text, topology, chip.name, routing, dict(options), figures, chip.stack, made.notes, facts)
    one = _ranks(one, chip, latency)
    return one if count == 1 else with_hosts(one, count)


def _ranks(one: Cluster, chip: chips.Chip, latency: float) -> Cluster:
    """The slice with a rank for each chip, or for each core where that is asked for.

    Args:
        one: A rank for each chip.
        chip: What it is made of.
        latency: Of one link, seconds.
    """
    text, options, devices = one.name, one.options, int(chip.figure("devices").value)
    said = options.get("ranks", "")
    if said not in ("", "chips", "cores"):
        raise InputError(f"{text!r}: ranks={said}; it is chips or cores")
    if said != "cores":
        given = next((key for key in ("core_bandwidth", "core_latency") if key in options), "")
        if given:
            raise InputError(f"{text!r}: {given}= is of the link between two cores; add ranks=cores")
        return one if said or devices == 1 else replace(one, assumed=(*one.assumed, _A_CHIP))
    if devices == 1:
        raise InputError(f"{text!r}: JAX shows one device for each chip of {chip.title}; leave ranks= off")
    if "twisted" in options:
        raise InputError(f"{text!r}: ranks of a twisted slice are chips; leave out ranks=cores or twisted")
    return _by_cores(one, chip, latency)


def _by_cores(one: Cluster, chip: chips.Chip, latency: float) -> Cluster:
    """The slice with a rank for each core; what nobody gives of the way between two cores is assumed."""
    text, options, known = one.name, one.options, chip.figures.get("core.bandwidth")
    link = _value(text, options, "bandwidth", units.rate, chip.figure("ici.bandwidth").value)
    usual = known.value if known else chip.figure("ici.links").value * link
    rate = _value(text, options, "core_bandwidth", units.rate, usual)
    late = _value(text, options, "core_latency", units.seconds, latency)
    said = [f"a rank is a core and has half of each link of its chip, {units.show_rate(link / _cores.CORES)}"]
    if known is None and "core_bandwidth" not in options:
        said.append(f"core_bandwidth={rate / 1e9:g}GB/s is assumed, what all links of a chip carry")
    if not {"latency", "core_latency"} & set(options):
        said.append(f"core_latency={late * 1e6:g}us is assumed, that of a link")
    name = f"{one.topology.name},ranks=cores"
    topology = _cores.split(name, one.topology, rate, late)
    return replace(one, topology=topology, assumed=(*one.assumed, "; ".join(said)))


def _slices(text: str, options: Mapping[str, str], chips_each: int) -> int:
    """How many slices are asked for."""
    said = options.get("slices", "1")
    if not said.isdecimal() or not 1 <= int(said) * chips_each <= MOST_CHIPS:
        most = MOST_CHIPS // chips_each
        raise InputError(f"{text!r}: slices={said}; it is a whole number from 1 to {most}, as in slices=2")
    return int(said)


def with_hosts(one: Cluster, count: int = 1) -> Cluster:
    """A TPU slice, or several like it, with its hosts, PCIe, NICs and the data centre network.

    Args:
        one: One slice, chips and the links between them.
        count: Slices.

    Raises:
        InputError: if it is no TPU slice, or nobody gives the bandwidth of its PCIe or network.

    >>> with_hosts(cluster("v5e:4x4")).topology
    Topology(v5e:4x4, chips=16, links=84)
    """
    text, options = one.name, one.options
    if not chips.known(one.family) or not one.topology.is_grid:
        raise InputError(f"{text} has no hosts; a slice of TPUs has, as v5e:4x4")
    chip = chips.load(one.family)
    rates = []
    for level in ("pcie", "dcn"):
        key, figure = f"{level}_bandwidth", chip.figures.get(f"{level}.bandwidth")
        if figure is None and key not in options:
            raise InputError(
                f"{text}: no source gives {level}.bandwidth of {chip.title}; add {key}=16GB/s or so"
            )
        rates.append(_value(text, options, key, units.rate, figure.value if figure else 0.0))
    usual = [options.get("latency", t) for t in (PCIE_LATENCY, DCN_LATENCY)]
    delays = [
        _value(text, {key: options.get(key, t)}, key, units.seconds, 0.0)
        for key, t in zip(("pcie_latency", "dcn_latency"), usual, strict=True)
    ]
    held = int(chip.figure("host.chips").value)
    # Cores share the links that their chip has to its host and to the network.
    cores = tuple(a.length for a in one.topology.axes if a.inner)
    rates = [rate / one.topology.cores for rate in rates]
    shape = tuple(a.length for a in one.topology.axes if not a.inner)
    block = _multislice.block_of(shape, chip.shapes.get("host.shape", (2, held // 2)))
    name = one.topology.name + (f",slices={count}" if count > 1 else "")
    outside = _multislice.Outside(*rates, *delays)
    topology = _multislice.build(name, one.topology, count, (*block, *cores), outside)
    given = [
        f"{key}={t}"
        for key, t in (("pcie_latency", PCIE_LATENCY), ("dcn_latency", DCN_LATENCY))
        if key not in options and "latency" not in options
    ]
    said = f"; so {'are' if len(given) > 1 else 'is'} {' and '.join(given)}" if given else ""
    facts = {key: number * count for key, number in one.facts.items()}
    return replace(
        one,
        topology=topology,
        routing="hosts",
        facts=facts,
        assumed=(*one.assumed, f"a data centre network that never blocks is assumed{said}"),
        notes=(
            *one.notes,
            f"a host holds {'x'.join(map(str, block))} chips: {chip.figure('host.chips').source}",
        ),
    )


def _from_file(path: str) -> Cluster:
    if not Path(path).is_file():
        raise InputError(f"no file {path!r}; a cluster is family:shape, as in v5e:4x4, or a .toml file")
    found: Cluster = registry.load("read", "format", "cluster_toml").read(Path(path))
    return found


def _override(was: Cluster, options: Mapping[str, str], text: str) -> Cluster:
    """Another bandwidth for all links, another latency for all hops (crossing a switch is one, two links)."""
    topology = was.topology
    if "bandwidth" in options:
        rate = _value(text, options, "bandwidth", units.rate, 0.0)
        topology = replace(topology, bandwidth=np.full(topology.links, rate))
    if "latency" in options:
        hop = _value(text, options, "latency", units.seconds, 0.0)
        topology = replace(topology, latency=np.full(topology.links, hop if topology.is_grid else hop / 2))
    return replace(was, topology=topology, options={**was.options, **options})
