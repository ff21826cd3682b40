"""The command line: one file per command, and the only place that prints.

Kept empty on purpose: a command may be called ``list``, and a submodule becomes a name of its package.
"""

from hopcast.cli._shell import main as main
