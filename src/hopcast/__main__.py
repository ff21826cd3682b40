"""`python -m hopcast` is the command line."""

import sys

from hopcast.cli import main

sys.exit(main())
