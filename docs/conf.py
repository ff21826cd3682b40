"""Sphinx builds this folder without a network: `make docs`."""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "src")]

project = "hopcast"
copyright = "the hopcast authors"
extensions = ["myst_parser", "hopcast_docs.figures"]
exclude_patterns = ["_generated", "**/README.md"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
smartquotes = False  # --over must stay two hyphens
html_theme = "furo"
html_title = "hopcast"
html_static_path = ["static"]
html_css_files = ["hopcast.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "default"
pygments_dark_style = "monokai"
