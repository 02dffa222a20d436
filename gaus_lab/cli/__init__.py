"""``gaus-lab``: the command line.

Exit status 0: done, a schedule was found and verified; 1: none found, or violations; 2: bad input or usage; 130:
interrupted. Every status but 0 comes with one line on standard error.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module

from gaus_lab.cli.output import Verdict, complain, one_line, open_streams
from gaus_lab.cli.parser import COMMANDS, parse
from gaus_lab.errors import GausLabError, GausLabWarning

__all__ = ["main"]

#: Environment variable that lets tracebacks through.
DEBUG_VARIABLE = "GAUS_LAB_DEBUG"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Parameters
    ----------
    argv : sequence of str, default ``sys.argv[1:]``

    Examples
    --------
    >>> main(["data", "list", "--kind", "bundled"]) + main(["info", "no-such-graph"])
    name      kind     where           here
    ar        bundled  in the package  yes
    dct       bundled  in the package  yes
    diamond   bundled  in the package  yes
    ewf       bundled  in the package  yes
    ewf_loop  bundled  in the package  yes
    hal       bundled  in the package  yes
    idct      bundled  in the package  yes
    iir2      bundled  in the package  yes
    mac       bundled  in the package  yes
    2
    """
    open_streams()
    with warnings.catch_warnings():
        warnings.simplefilter("always", GausLabWarning)
        warnings.showwarning = _show_warning
        try:
            return _run(sys.argv[1:] if argv is None else list(argv))
        except SystemExit as end:  # of --help and --version
            return int(end.code or 0)
        except Verdict as verdict:
            return _failed(verdict, 1, str(verdict))
        except GausLabError as error:
            return _failed(error, 2, str(error))
        except KeyboardInterrupt as error:
            return _failed(error, 130, str(error) or "interrupted")
        except MemoryError as error:
            return _failed(error, 2, "out of memory; use a smaller graph or a shorter horizon")
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            ask = f"please report it, with what {DEBUG_VARIABLE}=1 shows in addition"
            return _failed(error, 2, f"unexpected {what}; {ask}")


def _run(argv: list[str]) -> int:
    options = parse(argv)
    module = import_module(f"gaus_lab.cli.{COMMANDS[options.command].module}")
    status: int = module.run(options)
    return status


def _failed(error: BaseException, status: int, message: str) -> int:
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exception(error)
    complain("error", message)
    return status


def _show_warning(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
    """Print the package's own warnings as one line; those of other packages are not for this audience."""
    if issubclass(category, GausLabWarning):
        complain("warning", one_line(str(message)))
