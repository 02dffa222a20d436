"""``python -m gaus_lab.cli`` does the same as ``gaus-lab``."""

import sys

from gaus_lab.cli import main

if __name__ == "__main__":  # a process spawned by `compare` imports this module under another name
    sys.exit(main())
