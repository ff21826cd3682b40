"""The explorer with controls: a page that asks a server on this machine, and nobody else can."""
