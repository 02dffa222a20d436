"""What nbval lets through: a notebook that was never run, machine paths in outputs, an essay that asserts nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

pytestmark = pytest.mark.fast

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))

#: A path that begins at the root of some machine.
MACHINE_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|usr|opt|var|mnt|work|Users)/|\b[A-Za-z]:\\")

#: Of both tags for cells that should fail, JupyterLab and nbclient know only this one; nbval knows both.
RAISES = "raises-exception"


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the code cells that have something in them."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def not_run(notebook: NotebookNode) -> list[str]:
    """Return the cells that were not run from top to bottom in a fresh kernel: nbval would compare nothing."""
    counts = [cell.execution_count for cell in code_cells(notebook)]
    return [f"cell {k} has execution count {count}" for k, count in enumerate(counts, start=1) if count != k]


def wrong_errors(notebook: NotebookNode) -> list[str]:
    """Return the cells that failed without the tag, or have the tag and did not fail."""
    found = []
    for k, cell in enumerate(code_cells(notebook), start=1):
        failed = any(output.output_type == "error" for output in cell.outputs)
        tags = cell.metadata.get("tags", [])
        if failed != (RAISES in tags):
            found.append(f"cell {k} " + ("failed" if failed else f"has the tag {RAISES} and did not fail"))
        if "nbval-raises-exception" in tags:
            found.append(f"cell {k}: write {RAISES}, which JupyterLab knows too")
    return found


def warnings(notebook: NotebookNode) -> list[str]:
    """Return what cells wrote to standard error."""
    return [
        f"cell {k} warns: {output.text.splitlines()[0]}"
        for k, cell in enumerate(code_cells(notebook), start=1)
        for output in cell.outputs
        if output.output_type == "stream" and output.name == "stderr" and output.text.strip()
    ]


def machine_paths(notebook: NotebookNode) -> list[str]:
    """Return the outputs that name a folder of the machine on which they were made."""
    found = []
    for k, cell in enumerate(code_cells(notebook), start=1):
        for output in cell.outputs:
            match = MACHINE_PATH.search(shown(output))
            if match:
                found.append(f"cell {k} shows a path: {match.string[match.start() : match.start() + 60]!r}")
    return found


def shown(output: NotebookNode) -> str:
    """Return all text of an output; pictures are no text."""
    texts = [output.get("text", ""), output.get("evalue", ""), *output.get("traceback", [])]
    data = output.get("data", {})
    texts += [str(value) for kind, value in data.items() if not kind.startswith("image/") or "svg" in kind]
    return "\n".join(texts)


def no_assert(notebook: NotebookNode) -> list[str]:
    """Return a complaint unless the last code cell asserts something."""
    last = code_cells(notebook)[-1].source
    asserts = any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(last)))
    return [] if asserts else ["the last code cell has no assert"]


CHECKS = (not_run, wrong_errors, warnings, machine_paths, no_assert)


def test_there_are_notebooks() -> None:
    assert "00_quickstart" in [path.stem for path in NOTEBOOKS]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_stored_notebook_is_sound(path: Path, check: Callable[[NotebookNode], list[str]]) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert check(notebook) == []


ERROR = new_output("error", ename="ValueError", evalue="no", traceback=["ValueError: no"])


@pytest.mark.parametrize(
    ("check", "changes", "words"),
    [
        (not_run, {"execution_count": None}, "execution count None"),
        (not_run, {"execution_count": 7}, "execution count 7"),
        (wrong_errors, {"outputs": [ERROR]}, "failed"),
        (wrong_errors, {"metadata": {"tags": [RAISES]}}, "did not fail"),
        (
            wrong_errors,
            {"outputs": [ERROR], "metadata": {"tags": [RAISES, "nbval-raises-exception"]}},
            "write",
        ),
        (warnings, {"outputs": [new_output("stream", name="stderr", text="beware\n")]}, "warns: beware"),
        (machine_paths, {"outputs": [new_output("stream", text="in /home/me/x.py\n")]}, "'/home/me/x.py"),
        (
            machine_paths,
            {"outputs": [new_output("execute_result", {"text/html": "<b>C:\\data</b>"})]},
            "C:",
        ),
        (no_assert, {"source": "total = 1  # assert"}, "no assert"),
    ],
)
def test_a_planted_fault_is_found(
    check: Callable[[NotebookNode], list[str]], changes: dict[str, object], words: str
) -> None:
    cell = {"source": "assert True", "execution_count": 1, "outputs": [], "metadata": {}}
    sound = new_notebook(cells=[new_code_cell(**cell)])
    faulty = new_notebook(cells=[new_code_cell(**(cell | changes))])
    assert [complaint for each in CHECKS for complaint in each(sound)] == []
    [found] = check(faulty)
    assert words in found
