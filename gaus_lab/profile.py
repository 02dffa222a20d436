"""`Profile`: a step function over time as its changes, so that its cost does not depend on the horizon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaus_lab.exact import plain, product, summable

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Profile:
    """A piecewise constant amount: ``values[k]`` on the steps from ``times[k]`` to before ``times[k + 1]``.

    The amount is 0 before ``times[0]``, and the last value, which holds from the last time on, is 0 too.

    Examples
    --------
    >>> profile = occupied(np.array([0, 1]), np.array([2, 3]), np.array([5, 7]))
    >>> profile.times.tolist(), profile.values.tolist(), profile.peak
    ([0, 1, 2, 3], [5, 12, 7, 0], 12)
    """

    times: IntArray
    values: NDArray[Any]

    @property
    def peak(self) -> Any:
        """Largest amount; 0 for an empty profile."""
        return plain(self.values.max(initial=0))

    @property
    def end(self) -> int:
        """One past the last step with an amount; 0 for an empty profile."""
        return int(self.times[-1]) if len(self.times) else 0

    def dense(self, steps: int) -> NDArray[Any]:
        """Return the amount in each step from 0 to before `steps`."""
        at = np.searchsorted(self.times, np.arange(steps), side="right")
        padded = np.concatenate([np.zeros(1, dtype=self.values.dtype), self.values])
        return padded[at]


#: Steps for each interval up to which changes are counted step by step; sorting them costs about as much.
_STEPS_EACH = 8


def occupied(begin: IntArray, end: IntArray, amount: NDArray[Any]) -> Profile:
    """Return the summed `amount` of the intervals ``[begin, end)``.

    O(n + steps) where the steps are not many more than the intervals, O(n log n) elsewhere.
    """
    events = np.concatenate([begin, end])
    low = int(events.min(initial=0))
    steps = int(events.max(initial=0)) - low + 1
    if steps <= _STEPS_EACH * len(begin):
        place = events - low
        changed = np.bincount(place, minlength=steps) > 0
        times = np.flatnonzero(changed) + low
    else:
        times, place = np.unique(events, return_inverse=True)
        changed = np.ones(len(times), dtype=bool)
    changes = np.zeros(len(changed), dtype=amount.dtype)
    np.add.at(changes, place[: len(begin)], amount)
    np.subtract.at(changes, place[len(begin) :], amount)
    return Profile(times, np.cumsum(changes)[changed])


def fold(begin: IntArray, end: IntArray, amount: NDArray[Any], ii: int) -> Profile:
    """Return the summed `amount` of the intervals, folded modulo `ii`: one longer than ii meets itself."""
    length = end - begin
    rounds, rest = length // ii, (length % ii).astype(np.int64)
    first = begin % ii
    last = first + rest
    wraps = last > ii
    whole = np.flatnonzero(rounds > 0)
    zeros = np.zeros(int(wraps.sum()), dtype=np.int64)
    amounts = np.concatenate([amount, amount[wraps], product(amount[whole], rounds[whole])])
    return occupied(
        np.concatenate([first, zeros, np.zeros(len(whole), dtype=np.int64)]),
        np.concatenate([np.minimum(last, ii), last[wraps] - ii, np.full(len(whole), ii, dtype=np.int64)]),
        summable(amounts),
    )
