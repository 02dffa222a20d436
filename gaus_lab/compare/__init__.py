"""`compare`: every solver on every problem with every seed, as records and tables.

A run that fails is a record with a reason. With `FreshProcesses` each run has a process of its own: then its peak
memory is known, and neither a crash nor a solver that hangs costs more than its own row. Finished runs can be kept
in a file, from which a comparison goes on.
"""

from gaus_lab.compare.ablation import ABLATIONS, variants
from gaus_lab.compare.processes import FreshProcesses
from gaus_lab.compare.records import Record, Records
from gaus_lab.compare.runs import compare
from gaus_lab.compare.store import RecordFile

__all__ = ["ABLATIONS", "FreshProcesses", "Record", "RecordFile", "Records", "compare", "variants"]
