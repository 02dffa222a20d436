"""Fixtures that several modules share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest


def pytest_configure() -> None:
    """Let SIGINT through: a shell starts its background jobs with it ignored, and the tests of interrupts need it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of graph files that ``GAUS_LAB_DATA`` names; skip without one."""
    folder = os.environ.get("GAUS_LAB_DATA", "")
    if not folder:
        pytest.skip("GAUS_LAB_DATA is not set: this test reads graph files that are no part of the project")
    return Path(folder)
