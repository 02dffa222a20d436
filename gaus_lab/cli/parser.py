"""The options of the command line, and which of them go together."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from gaus_lab.checks import short
from gaus_lab.cli.values import (
    UsageError,
    integer_from,
    limit,
    nearest,
    one_of,
    seconds,
    share,
    solver_list,
    stretch,
)
from gaus_lab.compare.ablation import ABLATIONS
from gaus_lab.problem import PROBLEMS
from gaus_lab.solvers import SOLVERS

__all__ = ["COMMANDS", "Command", "Parser", "UsageError", "nearest", "parse"]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are exceptions with one line."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` in place of printing the usage and leaving."""
        joint = " " if message.endswith("?") else "; "
        raise UsageError(f"{message}{joint}see `{self.prog} --help`")


@dataclass(frozen=True)
class Command:
    """A command: the module below `gaus_lab.cli` that runs it, its help, and what adds its options."""

    module: str
    help: str
    add_options: Callable[[Parser], None]


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line.

    Raises
    ------
    UsageError
        An unknown command or option (the nearest known one is named), a value out of range, options that exclude
        each other.
    """
    first = next((word for word in argv if not word.startswith("-")), None)
    if first is not None and first not in COMMANDS:
        raise UsageError(f"there is no command {short(first)}; {nearest(first, COMMANDS)}")
    parser, of_command = _parsers()
    options, unknown = parser.parse_known_args(list(argv))
    if unknown:
        known = of_command[options.command]
        names = [name for action in known._actions for name in action.option_strings]
        word = unknown[0].partition("=")[0]
        hint = nearest(word, names) if word.startswith("-") else "options begin with --"
        known.error(f"unexpected argument {short(unknown[0])}; {hint}")
    if options.command in ("solve", "compare", "ablate"):
        _check_together(options)
    if "limits" in options:
        _check_limits(options)
    return options


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    parser = Parser(
        prog="gaus-lab",
        description="Schedule the operations of a data-flow graph, judge schedules, compare solvers.",
        epilog="Exit status: 0 done, a schedule was found and verified; 1 none found, or violations; "
        "2 bad input or usage. GRAPH is a file, or a name that `gaus-lab data list` shows.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gaus-lab {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    of_command = {}
    for name, command in COMMANDS.items():
        of_command[name] = commands.add_parser(
            name,
            help=command.help,
            description=command.help[0].upper() + command.help[1:] + ".",
            allow_abbrev=False,
        )
        command.add_options(of_command[name])
    return parser, of_command


def _version() -> str:
    from gaus_lab import __version__

    return __version__


# ---- the commands ---------------------------------------------------------------------------------------------


def _info_options(parser: Parser) -> None:
    parser.add_argument("graph", metavar="GRAPH", help="graph file or name")


def _solve_options(parser: Parser) -> None:
    parser.add_argument("graph", metavar="GRAPH", help="graph file or name")
    _problem_options(parser)
    parser.add_argument(
        "--solver",
        type=one_of("solver", SOLVERS),
        default="gaus",
        metavar="NAME",
        help=f"one of {', '.join(SOLVERS)} (default gaus)",
    )
    _run_options(parser)
    _seed_and_output(parser)


def _compare_options(parser: Parser) -> None:
    parser.add_argument(
        "graphs", metavar="GRAPH", nargs="+", help="graph files, names, or quoted patterns of names: 'epfl/*'"
    )
    _problem_options(parser)
    parser.add_argument(
        "--solvers",
        type=solver_list,
        required=True,
        metavar="A,B,...",
        help=f"solvers, separated by commas: {', '.join(SOLVERS)}",
    )
    _run_options(parser)
    _runs_options(parser, seeds=1)
    parser.add_argument(
        "--markdown",
        action="store_true",
        help="print a Markdown table with a row a graph; seconds and memory are those of the last solver",
    )


def _ablate_options(parser: Parser) -> None:
    kinds = [name.replace("_", "-") for name in ABLATIONS]
    parser.add_argument(
        "what",
        type=one_of("ablation", kinds),
        metavar="|".join(kinds),
        help="; ".join(f"{kind}: {ABLATIONS[kind.replace('-', '_')]}" for kind in kinds),
    )
    parser.add_argument("graphs", metavar="GRAPH", nargs="+", help="graph files, names, or patterns of names")
    _problem_options(parser)
    _run_options(parser)
    _runs_options(parser, seeds=5)
    parser.add_argument("--figure", metavar="FILE", help="draw the result: .png, .pdf or .svg")


def _runs_options(parser: Parser, seeds: int) -> None:
    parser.add_argument(
        "--seeds",
        type=integer_from(1),
        default=seeds,
        metavar="N",
        help=f"seeds 0 to N - 1 (default {seeds})",
    )
    parser.add_argument(
        "--jobs", type=integer_from(1), default=1, metavar="N", help="runs at a time (default 1)"
    )
    parser.add_argument("-o", dest="output", metavar="FILE", help="write all records as CSV")
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="keep finished runs in this file of JSON lines, and do not repeat those that stand there",
    )


def _problem_options(parser: Parser) -> None:
    group = parser.add_argument_group("problem")
    group.add_argument(
        "--formulation",
        type=one_of("formulation", PROBLEMS),
        metavar="|".join(PROBLEMS),
        help="A: weighted peak usage and communication; B: footprint; C: modulo footprint; R: makespan under limits",
    )
    horizon = group.add_mutually_exclusive_group()
    horizon.add_argument(
        "--horizon", type=integer_from(0), metavar="N", help="steps allowed (default: critical path)"
    )
    horizon.add_argument(
        "--stretch",
        type=stretch,
        metavar="X",
        help="horizon as a multiple of the critical path, rounded down",
    )
    group.add_argument(
        "--latency", type=integer_from(0), metavar="N", help="latency of every operation, steps"
    )
    group.add_argument(
        "--ii", type=integer_from(1), metavar="N", help="initiation interval (C only; default MII)"
    )
    group.add_argument(
        "--recurrences",
        type=integer_from(0),
        metavar="N",
        help="first close N cycles through other iterations, drawn with seed 0 (C only)",
    )
    limits = group.add_mutually_exclusive_group()
    _limit_option(limits)
    limits.add_argument(
        "--tight",
        type=share,
        metavar="X",
        help="limits X of the way from the peaks of ASAP to even usage, 0 to 1 (C only)",
    )
    group.add_argument(
        "--weights",
        type=one_of("kind of weights", ["balanced"]),
        metavar="balanced",
        help="weights from the ASAP schedule (A only)",
    )
    group.add_argument(
        "--resource-weight", type=integer_from(0), metavar="N", help="price of a unit (A only; default 1)"
    )
    group.add_argument(
        "--communication-weight",
        type=integer_from(0),
        metavar="N",
        help="price of a step boundary that an edge crosses (A only; default 0)",
    )


def _limit_option(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--limit",
        type=limit,
        action="append",
        default=[],
        metavar="TYPE=N",
        dest="limits",
        help="units of a type, beside the graph's own limits; may be repeated",
    )


def _run_options(parser: Parser) -> None:
    parser.add_argument(
        "--seconds", type=seconds, default=10.0, metavar="S", help="time limit of a solver (default 10)"
    )
    parser.add_argument(
        "--device",
        type=one_of("device", ["auto", "cpu", "cuda"]),
        default="auto",
        metavar="auto|cpu|cuda",
        help="where a solver with tensors computes (default auto)",
    )


def _min_ii_options(parser: Parser) -> None:
    parser.add_argument("graph", metavar="GRAPH", help="graph file or name")
    _limit_option(parser)
    parser.add_argument(
        "--solver",
        type=one_of("solver", SOLVERS),
        default="ims",
        metavar="NAME",
        help="a solver of formulation C (default ims); an exact one, such as cpsat, proves more",
    )
    parser.add_argument("--max-ii", type=integer_from(1), metavar="N", help="largest II to try")
    parser.add_argument(
        "--seconds", type=seconds, default=10.0, metavar="S", help="time limit at each II (default 10)"
    )
    _seed_and_output(parser)


def _seed_and_output(parser: Parser) -> None:
    parser.add_argument(
        "--seed", type=integer_from(0), default=0, metavar="N", help="random seed (default 0)"
    )
    parser.add_argument("-o", dest="output", metavar="FILE", help="write the result as JSON")


def _verify_options(parser: Parser) -> None:
    parser.add_argument("graph", metavar="GRAPH", help="graph file or name")
    parser.add_argument("result", metavar="RESULT", help="result file of `gaus-lab solve -o`")


def _data_options(parser: Parser) -> None:
    parser.add_argument(
        "action",
        type=one_of("action", ["list", "fetch", "path"]),
        metavar="list|fetch|path",
        help="list all names; download a graph and print where it is; print the folder of downloads",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="graph to fetch")
    parser.add_argument("--kind", metavar="KIND", help="list only one kind, such as bundled or epfl")


def _lab_options(parser: Parser) -> None:
    pass


COMMANDS = {
    "info": Command("info", "show what a graph says before it is scheduled", _info_options),
    "solve": Command("solving", "schedule a graph", _solve_options),
    "min-ii": Command("minimum_ii", "find the smallest initiation interval of a loop", _min_ii_options),
    "verify": Command("judging", "judge a result file, from the starts alone", _verify_options),
    "compare": Command("comparing", "run several solvers on several graphs", _compare_options),
    "ablate": Command(
        "ablating", "run one solver in variants, and say what the difference does", _ablate_options
    ),
    "data": Command("data", "list and fetch the graphs that have names", _data_options),
    "lab": Command("lab", "open the tutorials in JupyterLab", _lab_options),
}


# ---- options that go together ---------------------------------------------------------------------------------


def _check_together(options: Any) -> None:
    letter = options.formulation
    if letter is None:
        raise UsageError(f"--formulation is missing; choose one of {', '.join(PROBLEMS)}")
    prices = [
        name
        for name, value in (
            ("--weights", options.weights),
            ("--resource-weight", options.resource_weight),
            ("--communication-weight", options.communication_weight),
        )
        if value is not None
    ]
    if prices and letter != "A":
        raise UsageError(f"{prices[0]} is for formulation A; formulation {letter} has no weights")
    if options.weights is not None and len(prices) > 1:
        raise UsageError(f"--weights balanced sets both weights; leave {prices[1]} out")
    if options.ii is not None and letter != "C":
        raise UsageError(f"--ii is for formulation C; in formulation {letter} iterations do not overlap")
    for name, value in (("--recurrences", options.recurrences), ("--tight", options.tight)):
        if value is not None and letter != "C":
            raise UsageError(f"{name} is for formulation C, not {letter}")


def _check_limits(options: Any) -> None:
    names = [name for name, _ in options.limits]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"--limit {short(twice)} is given twice; keep one")
