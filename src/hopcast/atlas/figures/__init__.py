"""One file per figure or family of figures; see `hopcast.atlas`."""
