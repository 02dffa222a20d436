"""``gaus-lab lab``."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

import gaus_lab
from gaus_lab.errors import GausLabError


def run(options: Namespace) -> int:
    """Become JupyterLab on the folder of the notebooks."""
    if find_spec("jupyterlab") is None:
        raise GausLabError("JupyterLab is not installed; run `pip install gaus-lab[notebook]`")
    # Jupyter refuses to serve root unless told, as in a container.
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *root, str(notebooks())])


def notebooks() -> Path:
    """Return the folder of the notebooks: beside the package in a checkout, else in the current folder.

    Raises
    ------
    GausLabError
        There is neither.
    """
    places = [Path(gaus_lab.__file__).parents[1] / "notebooks", Path.cwd() / "notebooks"]
    for place in places:
        if any(place.glob("*.ipynb")):
            return place
    looked = " and ".join(str(place) for place in dict.fromkeys(places))
    raise GausLabError(
        f"there are no notebooks in {looked}; they are part of a checkout: clone the repository, and run "
        "`gaus-lab lab` in its folder"
    )
