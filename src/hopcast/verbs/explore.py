"""explore: one self-contained page on which a collective moves."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path

from hopcast import algorithms
from hopcast.choose import library
from hopcast.draw.explorer import page
from hopcast.ir.cluster import Cluster
from hopcast.ir.files import whole_or_not
from hopcast.ir.mesh import Mesh
from hopcast.ir.schedule import Schedule
from hopcast.names import InputError
from hopcast.predict import Answer, Choice
from hopcast.question import Question

from . import _traffic, ask
from ._advice import answer

_SIMULATED_SENDS, _SIMULATED_CELLS = 20_000, 300_000  # of all groups; flows of more take seconds
_SMALL_CHIPS = 256  # up to which `best` may simulate what it tries
_NOTEBOOK_HEIGHT = 860


@dataclass(frozen=True)
class Page:
    """A page that shows itself in a notebook and writes itself to a file.

    Attributes:
        answers: What it shows, one or two.
        command: The command line that makes it.
        warnings: What the user should know of the clusters.
        made: The page itself, once asked for.
    """

    answers: tuple[Answer, ...]
    command: str = ""
    warnings: tuple[str, ...] = ()
    made: list[str] = field(default_factory=list, repr=False)

    @property
    def html(self) -> str:
        """The page as text."""
        if not self.made:
            self.made.append(page(self.answers, self.command))
        return self.made[0]

    def write(self, out: str | Path) -> None:
        """Write the page to a file, whole or not at all.

        Raises:
            InputError: if it cannot be written.
        """
        with whole_or_not(Path(out)) as file:
            file.write(self.html.encode())

    def __str__(self) -> str:
        shown = " beside ".join(f"{a.algorithm} on {a.question.cluster.name}" for a in self.answers)
        return f"{self.answers[0].question.collective} by {shown}: a page of {len(self.html):,} bytes"

    def _repr_html_(self) -> str:
        """The page in a frame that may run its own scripts and nothing else."""
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{escape(self.html)}" '
            f'style="width:100%;height:{_NOTEBOOK_HEIGHT}px;border:0" title="hopcast explore"></iframe>'
        )


def explore(
    collective: str | Schedule,
    cluster: str | Cluster,
    *,
    size: str | float | None = None,
    over: str | Sequence[str] | None = None,
    mesh: str | Mesh | None = None,
    order: str = "",
    algorithm: str = "auto",
    compare: str | Cluster | Schedule | None = None,
    price: str = "",
    per_rank: bool = False,
    root: str | int = 0,
    shift: int = 1,
    seed: int = 0,
    slow: Sequence[str] = (),
    dead: Sequence[str] = (),
    matrix: _traffic.Given | None = None,
    moe: str | None = None,
    out: str | Path | None = None,
    command: str = "",
) -> Page:
    """A page with the network, the schedule step by step, the clock and the numbers.

    Args:
        collective: A name, or a schedule.
        cluster: A name or an object.
        size: D, bytes of the whole array of one group; default 1 MiB, of which a note tells.
        over: Axes that it runs over; default all.
        mesh: Logical axes.
        order: Of the mesh.
        algorithm: ``auto``, ``best`` or a name.
        compare: A second algorithm, or a second cluster or schedule, side by side on one clock.
        price: Which price gives the time; default the formula where it is exact, flows where the schedule is
            small, else steps.
        per_rank: The size of all_to_all is per rank.
        root: Of rooted collectives.
        shift: Of permute.
        seed: Of random choices.
        slow: Slow cables.
        dead: Dead cables.
        matrix: Of all_to_all_v: n x n bytes, a file or an array.
        moe: Of all_to_all_v: the layer of experts that the matrix comes from.
        out: A file to write it to.
        command: The command line that makes it, which the page shows.

    Raises:
        InputError: for what cannot be read.

    >>> shown = explore("all_gather", "ring:4", size="4MiB", algorithm="ring", compare="bidirectional_ring")
    >>> [a.schedule.step_count for a in shown.answers]
    [3, 2]
    >>> shown.html[:15]
    '<!doctype html>'
    """
    asked = [(collective, cluster, algorithm)]
    if compare is not None:
        asked.append(_second(compare, collective, cluster, algorithm))
    answers: list[Answer] = []
    told = size or moe or matrix is not None
    warnings = [] if told else [f"all times are for {ask.USUAL_SIZE}, as no size is given"]
    for what, where, by in asked:
        sent = _traffic.asked(matrix, moe, size, where, over, mesh, order)
        q, spot = ask.question(
            what,
            where,
            size=sent.size or ask.USUAL_SIZE,
            over=over,
            mesh=mesh,
            order=order,
            root=root,
            shift=shift,
            seed=seed,
            per_rank=per_rank,
            slow=slow,
            dead=dead,
            matrix=sent.matrix,
            words=sent.words,
        )
        answers.append(_answer(q, by, price))
        warnings += [w for w in spot.warnings if w not in warnings]
    made = Page(tuple(answers), command, tuple(warnings))
    if out is not None:
        made.write(out)
    return made


def _second(
    compare: str | Cluster | Schedule, collective: str | Schedule, cluster: str | Cluster, algorithm: str
) -> tuple[str | Schedule, str | Cluster, str]:
    """What ``compare`` changes: the schedule, the cluster or the algorithm.

    Raises:
        InputError: for a word that is none of them.
    """
    if isinstance(compare, Schedule):
        return compare, cluster, "auto"
    if isinstance(compare, Cluster) or ":" in compare or Path(compare).suffix == ".toml":
        return collective, compare, algorithm
    if isinstance(collective, Schedule):
        # The schedule's own name stands for what to compare it with.
        return collective.collective.name, cluster, compare
    if compare not in ("auto", "best"):
        try:
            algorithms.parse(compare)
        except InputError as wrong:
            raise InputError(f"--compare takes an algorithm or a cluster such as v5e:8x16: {wrong}") from None
    return collective, cluster, compare


def _answer(q: Question, algorithm: str, price: str) -> Answer:
    """The answer, by steps where flows would take long and nothing is said."""
    if algorithm == "all":
        raise InputError("--algorithm all: a page shows one algorithm, or two with --compare")
    if price:
        return answer(q, algorithm, price)
    small = _small(q.schedule, 1) if q.schedule is not None else None
    choice = None if q.schedule is not None else _choice(q, algorithm)
    if choice is not None:
        hint = replace(q.hint, options=choice.options)
        if choice.algorithm.valid(q.collective, q.group, hint) is not None:
            return answer(q, algorithm)  # it says why not
        if choice.algorithm.exact(q.collective, q.group, hint):
            return answer(q, algorithm)
        small = _small(choice.algorithm.build(q.collective, q.group, hint), len(q.group.all_groups))
    if small is None:
        small = q.cluster.topology.chips <= _SMALL_CHIPS
    return answer(q, algorithm, "" if small else "steps")


def _choice(q: Question, algorithm: str) -> Choice | None:
    """The algorithm, where no search is needed to know it."""
    if algorithm == "auto":
        return library(q)
    if algorithm == "best":
        return None
    named, options = algorithms.parse(algorithm)
    return Choice(named, options)


def _small(schedule: Schedule, groups: int) -> bool:
    """Whether a schedule is simulated in about a second."""
    sends = cells = 0
    for rows in schedule.steps():
        sends += len(rows) * groups
        cells += int(rows.count.sum()) * groups
        if sends > _SIMULATED_SENDS or cells > _SIMULATED_CELLS:
            return False
    return True
