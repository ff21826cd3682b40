"""The verbs of hopcast, the same in Python and on the command line. Each takes strings or objects and gives a Result."""
