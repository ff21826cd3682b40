"""Makes the generated pages, and the pictures that Sphinx asks for. One file per kind of page."""
