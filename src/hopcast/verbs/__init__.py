"""The verbs of hopcast, the same in Python and on the command line: strings or objects in, a Result out."""
