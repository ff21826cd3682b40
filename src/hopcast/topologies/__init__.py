"""One file per family of networks; a family is found by its file name."""
