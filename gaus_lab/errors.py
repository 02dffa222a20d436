"""Errors and warnings that the package raises on purpose.

Every message names what is wrong, where (file and line, or operation and index), the rule, the value that
breaks it, and what to do about it. All errors derive from `GausLabError`, which is a `ValueError`: each of them
speaks of a value that somebody passed in.
"""

from __future__ import annotations


class GausLabError(ValueError):
    """Base of every error that the package raises on purpose."""


class GraphError(GausLabError):
    """A graph, or a file that should hold one, breaks a rule."""


class ProblemError(GausLabError):
    """A problem is malformed: a limit of 0, a horizon that is no integer, weights that overflow."""


class SolverError(GausLabError):
    """A solver's setting is out of range, or the solver does not support the problem's formulation."""


class DatasetError(GausLabError):
    """A named graph is unknown, or its file cannot be had."""


class GausLabWarning(UserWarning):
    """Something was ignored or assumed that the user may want to know about."""
