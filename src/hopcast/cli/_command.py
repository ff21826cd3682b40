"""A command whose page of help fits the terminal, with its arguments as they are described.

Brackets mean that an argument may be left out; typer puts brackets of its own around every argument that it
can do without, and the cluster is one, as it may stand behind --on.
"""

from typing import Any

from typer.core import TyperCommand

from hopcast.cli._page import columns
from hopcast.cli._usage import arguments

_WIDEST = 80  # columns of a page of help
_NARROW = 50  # columns below which what an option does stands on the lines below it
_NAMES = 30  # columns of a wide page for options


class Command(TyperCommand):
    """What typer runs."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Arguments, then options."""
        return [*arguments(self), "[OPTIONS]"]

    def get_help(self, ctx: Any) -> str:
        """The page, as wide as the terminal and not wider than can be read."""
        formatter = ctx.formatter_class(width=columns(_WIDEST) - 2)
        self.format_help(ctx, formatter)
        return "\n".join(line.rstrip() for line in str(formatter.getvalue()).rstrip().splitlines())

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options with what they do: in a second column, or below where there is no room."""
        wide = formatter.width + 2
        names = 6 if wide < _NARROW else min(_NAMES, wide * 2 // 5)
        for kind in ("argument", "option"):
            every = (p.get_help_record(ctx) for p in self.get_params(ctx) if p.param_type_name == kind)
            if rows := [row for row in every if row is not None]:
                with formatter.section(f"{kind.title()}s"):
                    formatter.write_dl(rows, col_max=names)
