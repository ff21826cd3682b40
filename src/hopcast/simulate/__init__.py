"""Every link, event by event, at max-min fair rates."""
