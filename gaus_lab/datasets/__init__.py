"""Named graphs: bundled classics, generators, and the EPFL and RW collections.

`load` returns a graph by name; `add_recurrences` makes a loop body of one.
"""

from gaus_lab.datasets.download import data_path
from gaus_lab.datasets.generators import (
    adder_tree,
    array_multiplier,
    chain,
    fft,
    fir,
    matmul,
    multiplier_tree,
)
from gaus_lab.datasets.library import Entry, fetch, list_names, load, load_or_read, locate
from gaus_lab.datasets.random_graphs import add_recurrences, random_dag, random_workload

__all__ = [
    "Entry",
    "add_recurrences",
    "adder_tree",
    "array_multiplier",
    "chain",
    "data_path",
    "fetch",
    "fft",
    "fir",
    "list_names",
    "load",
    "load_or_read",
    "locate",
    "matmul",
    "multiplier_tree",
    "random_dag",
    "random_workload",
]
