"""One self-contained page that shows a collective move: data, scripts and styles in one HTML file."""

from .build import page

__all__ = ["page"]
