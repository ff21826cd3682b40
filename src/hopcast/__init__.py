"""How data moves through a TPU or GPU cluster, before you rent it."""

__version__ = "0.1.0.dev0"
