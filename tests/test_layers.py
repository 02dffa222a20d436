"""The architecture as a test: who may import whom, read from the source, so imports inside functions count too."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gaus_lab
from gaus_lab.solvers import SOLVERS

pytestmark = pytest.mark.fast

PACKAGE = Path(gaus_lab.__file__).parent

#: From top to bottom. A unit may import units of lower rows, and itself where it is a package.
ROWS = (
    ("cli", "__main__"),
    ("compare",),
    ("views",),
    ("min_ii",),
    ("solve",),
    ("result", "solvers"),
    ("verify", "run", "explain"),
    ("problem",),
    ("bounds", "constraints"),
    ("schedule", "analysis"),
    ("profile", "recurrence", "difference_bound"),
    ("datasets",),
    ("files",),
    ("graph",),
    ("checks", "exact", "html", "files.atomic"),
    ("errors",),
)

#: Below the core in the order, but not its business: only these units know named graphs and file formats.
READERS = {"files": {"files", "datasets", "cli"}, "datasets": {"datasets", "cli"}}

#: Solvers hand their schedules to `Run`, and neither judge, report nor draw them.
HIDDEN_FROM_SOLVERS = {"verify", "result", "solve", "views"}

#: Parts of `views`, and all that the pictures may know besides each other's package: plain data.
PICTURES = ("views.plots", "views.widgets")
SEEN_BY_PICTURES = {"views", "html", "checks", "errors"}

#: The only homes of packages that are heavy, optional or tied to one back end.
HOMES = {
    "torch": "solvers.differentiable",
    "ortools": "solvers",
    "highspy": "solvers",
    "matplotlib": "views.plots",
    "graphviz": "views.plots",
    "ipywidgets": "views.widgets",
    "anywidget": "views.widgets",
}

#: What `import gaus_lab` must not load.
LATE = (
    *("torch", "numba", "ortools", "highspy", "matplotlib", "graphviz"),
    *("IPython", "ipywidgets", "anywidget", "ipykernel", "jupyter_core"),
)

RANK = {unit: -row for row, units in enumerate(ROWS) for unit in units}


def modules() -> dict[str, str]:
    """Return the source of every module by its name below the package; "" is the package itself."""
    sources = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        sources[name] = path.read_text(encoding="utf-8")
    return sources


def imported(module: str, source: str, known: set[str]) -> Iterator[tuple[int, str]]:
    """Yield line and absolute name of each import; a module of ours is named as precisely as it exists."""
    package = module if any(name.startswith(f"{module}.") for name in known) else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = f"gaus_lab.{package}".rstrip(".").split(".")
                base = ".".join([*above[: len(above) - node.level + 1], *filter(None, [base])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield node.lineno, full if full.removeprefix("gaus_lab.") in known else base


def unit_of(module: str) -> str | None:
    """Return the unit in `ROWS` that a module belongs to: the most precise that is listed."""
    parts = module.split(".")
    prefixes = (".".join(parts[:k]) for k in range(len(parts), 0, -1))
    return next((prefix for prefix in prefixes if prefix in RANK), None)


def inside(module: str, home: str) -> bool:
    """Return whether a module is `home` or lies below it."""
    return module == home or module.startswith(f"{home}.")


def solver_of(module: str) -> str | None:
    """Return the part of `solvers` that a module belongs to, if it is a solver and no shared code."""
    homes = {path.split(".")[0] for path, _ in SOLVERS.values()}
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "solvers" and parts[1] in homes else None


def complaint(module: str, target: str) -> str | None:
    """Return the rule that one import between modules of the package breaks, None if it is legal."""
    user, used = unit_of(module), unit_of(target)
    if target == "":
        return None if user == "cli" else "only the command line imports the package's front door"
    if user is None or used is None:
        return f"{module if user is None else target} has no place in ROWS"
    if inside(module, "solvers"):
        if used in HIDDEN_FROM_SOLVERS:
            return f"solvers must not know {used}"
        if solver_of(target) and solver_of(target) != solver_of(module):
            return "one solver must not import another"
    if any(inside(module, picture) for picture in PICTURES) and used not in SEEN_BY_PICTURES:
        return f"pictures know plain data only, not {used}"
    if user not in READERS.get(used, {user}):
        return f"only {', '.join(sorted(READERS[used]))} may import {used}"
    if user != used and RANK[used] >= RANK[user]:
        return "imports point down only"
    return None


def violations(module: str, source: str, known: set[str]) -> list[str]:
    """Return the imports of a module that break a rule, as ``module:line imports target: rule``."""
    found = []
    for line, target in imported(module, source, known):
        top, _, rest = target.partition(".")
        if top == "gaus_lab":
            rule = complaint(module, rest) if module else None  # the front door may open every room
        elif top in HOMES and not inside(module, HOMES[top]):
            rule = f"{top} belongs in {HOMES[top]}"
        else:
            rule = None
        if rule:
            found.append(f"{module}:{line} imports {target}: {rule}")
    return found


def test_imports_point_down() -> None:
    sources = modules()
    assert [rule for name in sources for rule in violations(name, sources[name], set(sources))] == []


def test_every_module_has_a_place() -> None:
    assert [module for module in modules() if module and unit_of(module) is None] == []


@pytest.mark.parametrize(
    ("module", "statement", "rule"),
    [
        ("schedule", "from gaus_lab.problem import Problem", "imports point down only"),
        ("graph.core", "def f():\n    from gaus_lab.files import read", "may import files"),
        ("graph.order", "from gaus_lab import analysis", "imports point down only"),
        ("graph.order", "from ..analysis import asap", "imports point down only"),
        ("verify", "from gaus_lab.run import Run", "imports point down only"),
        ("verify", "from gaus_lab.solvers import SOLVERS", "imports point down only"),
        ("problem", "from gaus_lab.datasets import load", "may import datasets"),
        ("compare", "from gaus_lab.files.json import read_json", "may import files"),
        ("run", "import gaus_lab", "front door"),
        ("solvers.extremes", "from gaus_lab.verify import verify", "solvers must not know verify"),
        ("solvers.extremes", "import gaus_lab.result", "solvers must not know result"),
        ("solvers.extremes", "from gaus_lab.views import info", "solvers must not know views"),
        ("solvers.extremes", "from gaus_lab.solvers.list_scheduling import rank", "one solver must not"),
        ("solvers.extremes", "from .differentiable import gaus", "one solver must not"),
        ("solvers.extremes", "import torch.nn", "torch belongs in solvers.differentiable"),
        ("problem", "import torch", "torch belongs in solvers.differentiable"),
        ("bounds", "from ortools.sat.python import cp_model", "ortools belongs in solvers"),
        ("result", "import matplotlib.figure", "matplotlib belongs in views.plots"),
        ("views.plots", "from gaus_lab.result import Result", "pictures know plain data only"),
        ("astrology", "from gaus_lab.errors import GraphError", "no place"),
    ],
)
def test_a_planted_violation_is_found(module: str, statement: str, rule: str) -> None:
    [found] = violations(module, statement, set(modules()) | {"compare", "views.info"})
    assert found.startswith(f"{module}:")
    assert rule in found


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("result", "from gaus_lab.files.atomic import write_atomically"),
        ("solvers.differentiable.gaus", "from gaus_lab.solvers.differentiable import terms"),
        ("solvers.differentiable.gaus", "import torch"),
        ("solvers.extremes", "from gaus_lab.analysis import asap"),
        ("solve", "from gaus_lab.solvers import solver_class"),
        ("views.plots", "from gaus_lab.views.info import rows\nfrom matplotlib.figure import Figure"),
        ("cli", "from gaus_lab import __version__"),
    ],
)
def test_a_legal_import_passes(module: str, statement: str) -> None:
    assert violations(module, statement, set(modules())) == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, gaus_lab; print(*(name for name in {LATE!r} if name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
