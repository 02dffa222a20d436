"""The data behind the pictures of comparisons, and that the pictures show it."""

from __future__ import annotations

import io
from typing import Any

import pytest

import gaus_lab as gl
from gaus_lab.compare import Record, variants
from gaus_lab.errors import GausLabError, SolverError
from gaus_lab.views import info, plots

pytestmark = pytest.mark.fast


def record(graph: str, solver: str, seed: int, objective: int | None, **more: Any) -> Record:
    return Record(
        graph, 30, 40, "A", 9, None, "", solver, seed, status="feasible", objective=objective, **more
    )


ROWS = [
    record("g", "list", 0, 10, bound=8, seconds=0.1, history=((0.1, 10),)),
    record("g", "gaus", 0, 9, bound=8, seconds=2.0, history=((0.2, 12), (0.5, 9))),
    record("g", "gaus", 1, 11, bound=8, seconds=2.0, history=((0.3, 11),)),
    record("h", "list", 0, 20, bound=8, seconds=0.1, peak_memory_mb=80.0, history=((0.1, 20),)),
    record("h", "gaus", 0, None, bound=8, seconds=3.0),
    record("h", "gaus", 1, 10, bound=8, seconds=3.0, peak_memory_mb=95.0, history=((1.0, 10),)),
]


# ---- data -----------------------------------------------------------------------------------------------------


def test_cost_relative_to_a_reference() -> None:
    data = info.relative_cost(ROWS, "list")
    assert (data.instances, data.labels, data.reference) == (("g", "h"), ("list", "gaus"), "list")
    assert data.bars[1] == (info.Bar(0.9, 0.9, 1.1, 2), info.Bar(0.5, 0.5, 0.5, 1))
    assert data.means == pytest.approx((1.0, (0.9 * 0.5) ** 0.5))


def test_instance_without_a_schedule_has_no_bar_and_is_not_in_the_mean() -> None:
    rows = [*ROWS, record("i", "list", 0, 5), record("i", "gaus", 0, None)]
    data = info.relative_cost(rows, "list")
    assert data.bars[1][2] is None
    assert data.means[1] == pytest.approx((0.9 * 0.5) ** 0.5)
    with pytest.raises(GausLabError, match="no run has the solver 'milp'; known: list, gaus"):
        info.relative_cost(rows, "milp")


def test_mean_and_spread() -> None:
    of_g, of_h = (s for s in info.spreads(ROWS) if s.label == "gaus")
    assert (of_g.mean, of_g.low, of_g.high, of_g.found, of_g.runs) == (10, 9, 11, 2, 2)
    assert of_g.deviation == pytest.approx(2**0.5)
    assert (of_h.mean, of_h.deviation, of_h.found, of_h.runs) == (10, None, 1, 2)
    assert info.spread_cells([of_g]) == [["g", "gaus", "2 of 2", "10.0", "1.4", "9", "11", "8", "25.0 %"]]
    assert info.spread_cells(info.spreads([record("g", "x", 0, None)]))[0][2:4] == ["0 of 1", ""]


def test_quality_over_time() -> None:
    curve = info.curves(ROWS)[1]
    assert (curve.seconds, curve.objective) == ((0.2, 0.5, 2.0), (12, 9, 9))
    assert [curve.at(t) for t in (0.1, 0.2, 0.4, 9)] == [None, 12, 12, 9]
    best = info.best_curve([c for c in info.curves(ROWS) if (c.instance, c.label) == ("g", "gaus")])
    assert (best.seconds, best.objective) == ((0.2, 0.3, 0.5, 2.0), (12, 11, 9, 9))
    assert info.time_to_quality(ROWS, within=0)["g", "gaus"] == (0.5, None)


def test_sensitivity_separates_what_else_differs() -> None:
    rows = [
        record("g", "gaus", seed, 10 * k + seed, settings=(("kappa", kappa), ("rho", rho)))
        for k, (kappa, rho) in enumerate([(None, 1), (0.5, 1), (0.1, 1), (0.1, 2)])
        for seed in (0, 1, 2)
    ]
    one, two = info.sensitivity(rows, "kappa")
    assert [point.value for point in one.points] == [None, 0.1, 0.5]
    assert (one.points[1].median, one.points[1].low, one.points[1].high) == (21, 20, 22)
    assert [point.value for point in two.points] == [0.1]
    with pytest.raises(GausLabError, match="no run has the setting 'sigma'; known: kappa, rho"):
        info.sensitivity(rows, "sigma")


def test_memory_and_time_by_size() -> None:
    of_list, of_gaus = info.scaling(ROWS)
    assert (of_list.ops, of_list.seconds, of_list.memory_mb) == ((30,), (0.1,), (80.0,))
    assert (of_gaus.seconds, of_gaus.memory_mb) == ((2.5,), (95.0,))


def test_load_of_a_loop_is_folded() -> None:
    problem = gl.ModuloProblem(gl.load("iir2"))
    load = info.load_of(gl.solve(problem, gl.IterativeModulo()))
    assert load.ii == problem.ii == len(load.live_bits) == len(load.resources[0].usage)
    assert load.footprint == max(load.live_bits)
    failed = gl.solve(gl.ResourceProblem(gl.load("hal"), horizon=2), gl.Asap())
    with pytest.raises(GausLabError, match="has no schedule to draw"):
        info.load_of(failed)


def test_statistics_of_odd_graphs() -> None:
    empty, loop = info.graph_statistics([gl.Graph.build([]), gl.load("iir2")])
    assert (empty.ops, empty.width, empty.fan_out, empty.mii) == (0, 0, 0, None)
    assert loop.mii == gl.mii(gl.load("iir2"))


@pytest.mark.parametrize("what", ["starts", "families", "kappa", "rho", "learning_rate"])
def test_variants_differ_in_one_thing_and_have_no_local_search(what: str) -> None:
    made = variants(what)
    assert len({repr(solver) for solver in made}) == len(made) > 3
    assert all(getattr(solver, "refine", 0) == 0 for solver in made)


def test_unknown_ablation() -> None:
    with pytest.raises(SolverError, match="an ablation must be one of starts, families"):
        variants("sigma")


# ---- pictures -------------------------------------------------------------------------------------------------

SETTINGS = [
    record("g", "gaus", s, 9 + s, settings=(("kappa", k),), bound=8) for k in (0.1, 1.0) for s in (0, 1)
]
PICTURES = {
    "relative": lambda: plots.plot_relative_cost(ROWS, "list"),
    "time": lambda: plots.plot_quality_over_time(ROWS),
    "scaling": lambda: plots.plot_scaling(ROWS),
    "sensitivity": lambda: plots.plot_sensitivity(SETTINGS, "kappa"),
    "ablation": lambda: plots.plot_ablation(SETTINGS, "kappa"),
    "load": lambda: plots.plot_load(info.load_of(gl.solve(gl.ResourceProblem(gl.load("hal")), gl.Asap()))),
    "table": lambda: plots.plot_graph_statistics(info.graph_statistics([gl.load("hal")])),
    "no rows": lambda: plots.plot_relative_cost([]),
    "no curves": lambda: plots.plot_quality_over_time([]),
    "no sizes": lambda: plots.plot_scaling([]),
    "no values": lambda: plots.plot_sensitivity([], "kappa"),
    "no graphs": lambda: plots.plot_graph_statistics([]),
    "no formula": lambda: plots.plot_relative_cost([record("$x_$", "a$b", 0, 3), record("$x_$", "c", 0, 3)]),
}


@pytest.mark.parametrize("name", PICTURES)
def test_picture_can_be_written_and_leaves_nothing_behind(name: str) -> None:
    picture = PICTURES[name]()
    for kind in ("png", "svg", "pdf"):
        data = io.BytesIO()
        picture.savefig(data, format=kind)
        assert len(data.getvalue()) > 500
    from matplotlib import pyplot

    assert pyplot.get_fignums() == []


def test_bars_have_the_heights_of_the_data() -> None:
    [axes] = plots.plot_relative_cost(ROWS, "list").axes
    heights = [[patch.get_height() for patch in bars] for bars in axes.containers]
    assert heights[1] == pytest.approx([0.9, 0.5, (0.9 * 0.5) ** 0.5])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["g", "h", "geometric mean"]


def test_curves_are_drawn_as_steps_with_the_bound() -> None:
    axes = plots.plot_quality_over_time(ROWS).axes[0]
    drawn = [tuple(line.get_ydata()) for line in axes.get_lines()]
    assert (12, 11, 9, 9) in drawn and (8, 8) in drawn
