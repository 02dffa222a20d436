"""Ablations: one solver in variants that differ in one thing, for `compare` with several seeds."""

from __future__ import annotations

from typing import Any

from gaus_lab.checks import short
from gaus_lab.errors import SolverError
from gaus_lab.run import Solver
from gaus_lab.solvers import solver_class

#: Starts of the two relaxations; those that both have come first, then each one's own.
COMMON_STARTS = ("middle", "asap", "alap")

#: Values that are swept, a factor of 100 around the default and None, the solver's own choice.
SWEEPS: dict[str, tuple[Any, ...]] = {
    "kappa": (0.05, 0.1, 0.25, 0.5, 1.0, 2.0),
    "rho": (0.01, 0.1, 1.0, 10.0),
    "learning_rate": (None, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
}

#: What can be ablated, and what each of them asks.
ABLATIONS = {
    "starts": "Gaussian and categorical from the same starts, and each from its own",
    "families": "the family of distributions of GauS, and the paper's pairwise violation",
    **{name: f"the setting {name} of GauS" for name in SWEEPS},
}


def variants(what: str, formulation: str = "A") -> list[Solver]:
    """Return the solvers of an ablation; none of them has a local search, which would hide the difference.

    Parameters
    ----------
    what : str
        One of `ABLATIONS`.
    formulation : str
        Solvers that do not support it are left out.

    Raises
    ------
    SolverError
        An unknown ablation.

    Examples
    --------
    >>> [solver.start for solver in variants("starts") if solver.name == "gumbel"]
    ['middle', 'asap', 'alap', 'own']
    >>> len(variants("starts", "C"))  # the categorical method has no loops
    4
    """
    gaus: Any = solver_class("gaus-plain")
    gumbel: Any = solver_class("gumbel")
    if what == "starts":
        made = [gaus(refine=0.0, start=start) for start in (*COMMON_STARTS, "list")]
        made += [gumbel(start=start) for start in (*COMMON_STARTS, "own")]
    elif what == "families":
        made = [gaus(refine=0.0, family=name) for name in ("gaussian", "logistic", "laplace", "cauchy")]
        made.append(gaus(refine=0.0, violation="pairs"))
    elif what in SWEEPS:
        made = [gaus(refine=0.0, **{what: value}) for value in SWEEPS[what]]
    else:
        raise SolverError(f"an ablation must be one of {', '.join(ABLATIONS)}, got {short(what)}")
    return [solver for solver in made if formulation in solver.formulations]
