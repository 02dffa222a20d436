"""Which device a run uses, and with how many threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from gaus_lab.errors import SolverError


def device_for(device: str, size: int, least: int) -> torch.device:
    """Return the device for ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Parameters
    ----------
    device : str
    size, least : int
        With ``"auto"`` a GPU is used where the size is at least this: below, launching kernels costs more.

    Raises
    ------
    SolverError
        There is no GPU.
    """
    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        raise SolverError("device 'cuda' is not available on this machine; use 'auto' or 'cpu'")
    if device == "auto":
        return torch.device("cuda" if available and size >= least else "cpu")
    return torch.device(device)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Set the number of torch's CPU threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
