"""One .toml per chip or machine. Every number carries its source and the day it was read."""
