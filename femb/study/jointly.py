"""Derivatives by many parameters each of which changes elements of its own, from few models.

In each model all parameters change at once, by parts of a step that differ: s = 0, 1, -1 for all, and two more of each
parameter. The elements have numbers of their own there. From those of the first three follows by what part of its step
the parameter of an element has changed in the fourth, which tells the parameter; the fifth must agree. The sum over the
elements of a parameter is its number at five places, whose polynomial has the derivative.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.case.compose import entry_of
from femb.case.parameters import Differentiable
from femb.small_motions.beside import Neighbours
from femb.study.outputs import ByElements
from femb.study.runner import RunAnalyses

# Fewer parameters are treated one by one.
FEWEST = 6
# Parts of a step by which parameters differ in the fourth and fifth model, and how near a part found must be to one.
LEAST, MORE, NEAR = 0.3, 0.4, 1e-3
# Relative change of an element's number: less is rounding.
NONE = 1e-10
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


class Jointly:
    """Models in which k parameters change at once.

    make : the analyses at entries of the case. step : relative to the values. nominal : the analyses there.
    """

    def __init__(
        self, make: Callable[[dict[str, Any]], RunAnalyses], of: Sequence[Differentiable], step: float,
        nominal: RunAnalyses,
    ) -> None:  # fmt: skip
        self.of, count = of, len(of)
        self.steps = step * np.array([abs(each.value) or each.scale for each in of])
        order = np.arange(count)
        first, second = (order + 0.5) / count, np.modf(GOLDEN * (order + 1))[0]
        self.places = np.stack(
            [np.zeros(count), np.ones(count), -np.ones(count), LEAST + MORE * first, -LEAST - MORE * second]
        )
        self._make, self._nominal = make, nominal

    @cached_property
    def analyses(self) -> list[RunAnalyses]:
        """The analyses of the five models. Raises ModelError: none."""
        sides = Neighbours(self._nominal.small_motions)
        found = [replace(self._nominal, sides=sides, central=True)]
        for places in self.places[1:]:
            entries: dict[str, Any] = {}
            for each, value in zip(self.of, self._values(places), strict=True):
                entries |= each.entries(value)
            analyses = self._make(entries)
            analyses.sides = sides
            found.append(analyses)
        return found

    def _values(self, places: Floats) -> list[float]:
        values = np.array([each.value for each in self.of])
        return [float(x) for x in values + places * self.steps]

    def derivatives(self, output: ByElements) -> Floats:
        """(k, 2) of an output by the parameters, and errors. Raises ModelError: elements of several parameters."""
        # the nominal one last: what differs is known from another
        numbers = [output.numbers(each) for each in [*self.analyses[1:], self.analyses[0]]]
        numbers = [numbers[-1], *numbers[:-1]]
        if not all(numbers):
            raise ModelError("no element changes")
        sums = np.zeros((5, len(self.of), numbers[0][0].shape[1] - 1), dtype=complex)
        lost = 0.0
        for of_class in zip(*numbers, strict=True):
            values = np.array(of_class)
            owners = self._owners(values[..., -1].real)
            known = owners >= 0
            for total, each in zip(sums, values, strict=True):
                np.add.at(total, owners[known], each[known, :-1])
            lost += float(np.abs(values[1, ~known, :-1] - values[2, ~known, :-1]).sum())
        found = np.empty((len(self.of), 2))
        slopes = [
            np.einsum("kn,nkm->km", _slopes(self.places[some]), sums[some]) / self.steps[:, None]
            for some in (slice(0, 5), slice(1, 5))
        ]
        for k, step in enumerate(self.steps):
            best, other = (output.derivative(each[k]) for each in slopes)
            rest = abs(output.derivative(np.full(sums.shape[2], 0.5 * lost / step, dtype=complex))) if lost else 0.0
            found[k] = best + 0.0, abs(best - other) + rest
        return found

    def _owners(self, values: Floats) -> Ints:
        """(e,) the parameter that changes each element, -1 without one, from numbers (5, e) of the elements.

        Raises ModelError: one that several parameters change.
        """
        middle, above, below, fourth, fifth = values
        owners = np.full(len(middle), -1, dtype=np.int64)
        changed = np.flatnonzero(np.abs(values - middle).max(axis=0) > NONE * np.abs(middle))
        slope, bend = 0.5 * (above - below)[changed], (0.5 * (above + below) - middle)[changed]

        def part(value: Floats) -> Floats:
            """s of slope s + bend s^2 = value."""
            s = value / slope
            for _ in range(4):
                s = value / (slope + bend * s)
            return np.asarray(s)

        with np.errstate(all="ignore"):
            first, second = (part((each - middle)[changed]) for each in (fourth, fifth))
        count = len(self.of)
        guess = np.nan_to_num((first - LEAST) / MORE * count - 0.5, nan=-1e9, posinf=-1e9, neginf=-1e9)
        near = np.clip(np.round(guess)[:, None] + np.arange(-2, 3), 0, count - 1).astype(np.int64)
        misses = np.abs(self.places[3][near] - first[:, None]) + np.abs(self.places[4][near] - second[:, None])
        best = np.argmin(misses, axis=1)
        rows = np.arange(len(changed))
        if not np.all(misses[rows, best] < NEAR):
            raise ModelError("several parameters change one element")
        owners[changed] = near[rows, best]
        return owners


def _slopes(places: Floats) -> Floats:
    """(k, n) weights of values at places (n, k), whose sums are derivatives at zero of the polynomials through them."""
    n, count = places.shape
    powers = places.T[:, None, :] ** np.arange(n)[:, None]
    return np.asarray(np.linalg.solve(powers, np.broadcast_to(np.eye(n)[1, :, None], (count, n, 1)))[..., 0])


def groups(parameters: Sequence[Differentiable]) -> list[list[int]]:
    """The numbers of parameters of the same word of several items, or of a list, where they are many."""
    found: dict[object, list[int]] = {}
    for k, each in enumerate(parameters):
        keys = each.parameter.keys
        path = keys[0].split(".")
        if len(keys) == 1:
            found.setdefault((path[0], len(path), *(part for part in path[2:] if not part.isdecimal())), []).append(k)
    return [some for some in found.values() if len(some) >= FEWEST]


def merged(entries: Mapping[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Entries of a case in which numbers of a list are one, the list."""
    found: dict[str, Any] = {}
    for key, value in entries.items():
        head, _, last = key.rpartition(".")
        if last.isdecimal() and head not in found and isinstance(given := entry_of(document, head), list):
            found[head] = list(given)
        if last.isdecimal() and isinstance(found.get(head), list):
            found[head][int(last)] = value
        else:
            found[key] = value
    return found
