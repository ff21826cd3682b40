"""Pictures of networks and schedules: text for a terminal, SVG for a page. All functions give strings."""
