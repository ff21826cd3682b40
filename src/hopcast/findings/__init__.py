"""What a good colleague would point out. One file per finding; a finding is found by its file name.

A file holds a docstring (what it says, in general), ``SOURCE``, ``when(answer)``: the evidence in numbers,
or None where it does not apply, and ``gain(answer)``: a better command, or an empty string where there is
nothing to do. ``APPEARS`` and ``ABSENT`` are commands whose answer has the finding, and has it not; tests
run them.
"""

import importlib
from dataclasses import dataclass

from hopcast import registry
from hopcast.predict import Answer


@dataclass(frozen=True)
class Finding:
    """One remark about an answer.

    Attributes:
        code: Name of its file.
        text: The evidence.
        better: A command that does better, or empty.
    """

    code: str
    text: str
    better: str

    def row(self) -> dict[str, str]:
        """As it stands in the rows of `predict`."""
        return {"code": self.code, "text": self.text, "try": self.better}


def find(answer: Answer) -> list[Finding]:
    """All findings that apply, in the order of their names."""
    found = []
    for name in registry.found("findings"):
        module = importlib.import_module(f"hopcast.findings.{name}")
        evidence = module.when(answer)
        if evidence:
            found.append(Finding(name, evidence, module.gain(answer)))
    return found
