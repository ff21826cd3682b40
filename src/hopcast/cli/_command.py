"""A command whose usage line has its arguments as they are described: brackets mean that one may be left out.

Typer puts brackets of its own around every argument that it can do without; the cluster is one, as it may
stand behind --on.
"""

from typing import Any

from typer.core import TyperCommand

from hopcast.cli._usage import arguments


class Command(TyperCommand):
    """What typer runs."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Arguments, then options."""
        return [*arguments(self), "[OPTIONS]"]
