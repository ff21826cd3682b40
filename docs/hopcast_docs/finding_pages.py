"""A page for each finding: when it is said, with the evidence and the better command of a real answer."""

import importlib
from types import ModuleType

from hopcast import registry

from .markdown import code, contents, linked, page, prose, rows, table


def pages() -> dict[str, str]:
    """By path in docs/."""
    names = registry.found("findings")
    modules = {n: importlib.import_module(f"hopcast.findings.{n}") for n in names}
    found = {f"reference/findings/{n}.md": _finding(n, m) for n, m in modules.items()}
    listed = [[f"[{n}]({n}.md)", prose((m.__doc__ or "").split("\n")[0])] for n, m in modules.items()]
    text = (
        "What a good colleague would point out. `predict` says a finding below its table, with the "
        "numbers that show it and, where there is one, a better command; `--format json` has them in "
        "`findings`. `tests/test_findings.py` runs the command that has each, one that has it not, and "
        "the better one."
    )
    found["reference/findings/index.md"] = page(
        "Findings", text, table(["finding", ""], listed), contents(names)
    )
    return found


def _finding(name: str, module: ModuleType) -> str:
    shown = next(f for f in rows(f"hopcast {module.APPEARS}")[0]["findings"] if f["code"] == name)
    better = f"\n  try: {shown['try']}" if shown["try"] else ""
    return page(
        name,
        prose(module.__doc__ or ""),
        f"*When*: {_first(module, 'when')}",
        f"*What then*: {_first(module, 'gain')}",
        f"Source: {linked(module.SOURCE)}.",
        "## As it is said",
        code(f"$ hopcast {module.APPEARS}\n...\n{name}: {shown['text']}{better}", "console"),
        f"It is not said to `hopcast {module.ABSENT}`.",
    )


def _first(module: ModuleType, function: str) -> str:
    return prose((vars(module)[function].__doc__ or "").split("\n")[0])
