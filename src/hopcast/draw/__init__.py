"""Pictures of networks and schedules: text for a terminal, SVG for a page. All functions give strings.

An SVG file stands alone: no scripts, no fonts or styles from elsewhere, light or dark as the page is, and the
same bytes for the same input.
"""

from .schedule import schedule_svg
from .schedule_text import schedule_text
from .topology import topology_svg
from .topology_text import topology_text

__all__ = ["schedule_svg", "schedule_text", "topology_svg", "topology_text"]
