"""Analyses beside the value of a parameter, and the quotients of differences of what they give."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.errors import FembError, ModelError
from femb.base.types import Complexes
from femb.case.parameters import Differentiable, refusal
from femb.run.tangents import Column, RunTangents
from femb.small_motions.beside import Neighbours
from femb.steppers.replay import ReplayError
from femb.study.outputs import ByChanges
from femb.study.runner import RunAnalyses

# Relative difference of two quotients of a linear number.
LINEAR = 1e-9
# Part that terms of third order have along tangents at most; rounding of what is read there, and of second differences.
LINEAR_ENOUGH, ROUNDING, NOISE = 1e-7, 5e-15, 30.0
# Places of the values on one side, in steps.
PLACES = 0.25, 0.5, 0.75, 1.0, 1.5


class BesideValue:
    """Analyses at p + s h, each on first use. Where values on one side are refused, those of the other are taken."""

    def __init__(
        self, make: Callable[[dict[str, Any]], RunAnalyses], of: Differentiable, h: float, nominal: RunAnalyses
    ) -> None:
        self.make, self.of, self.h, self.sides = make, of, h, Neighbours(nominal.small_motions)
        self.known = {0.0: replace(nominal, sides=self.sides, central=True)}
        # by place the tangents that motions follow, and whether these are no linear functions of the parameter
        self.columns: dict[float, Column] = {}
        self.curved = False
        # whether motions along tangents leave nothing to other steps
        self.settled = True

    def follow(self, tangents: RunTangents, known: Column | None = None) -> None:
        """Let motions follow these tangents, unless they have none for the models; known : those of what is linear."""
        if self.side:
            pairs, first = [(self.side * r, 0.0) for r in PLACES], (self.side, 0.5 * self.side)
        else:
            pairs = [first, _] = [(1.0, -1.0), (0.5, -0.5)]

        def column(pair: tuple[float, float]) -> Column:
            one, other = (self.at(s).described.model for s in pair)
            return tangents.add((one, other), (pair[0] * self.h, pair[1] * self.h))

        try:
            # of what is linear one pair of models is enough
            linear = known or column(first)
            self.curved = not linear.linear
            for pair in pairs:
                own = linear if pair == first or not self.curved else column(pair)
                self.columns |= {s: own for s in pair if s}
        except ModelError:
            self.columns = {}
            return
        for s, each in self.known.items():
            self._let_follow(s, each)
        self.known[0.0] = replace(self.known[0.0], found={}, motion=lambda *_: tangents.nominal())

    def _let_follow(self, s: float, analyses: RunAnalyses) -> None:
        if s in self.columns:
            analyses.motion = lambda model, _: self.columns[s].results(model, s * self.h)

    def at(self, s: float) -> RunAnalyses:
        """The analyses at p + s h. Raises ModelError."""
        if s not in self.known:
            self.known[s] = self.make(self.of.entries(self.of.value + s * self.h))
            self.known[s].sides = self.sides
            self._let_follow(s, self.known[s])
        return self.known[s]

    @cached_property
    def side(self) -> float:
        """0 where values on both sides are possible, else the sign of the one that is. Raises ModelError: none."""
        errors: dict[float, FembError] = {}
        for s in (1.0, -1.0):
            try:
                self.at(s)
            except FembError as error:
                errors[s] = error
        if len(errors) == 2:
            reason = str(errors[1.0]).splitlines()[0]
            raise refusal(self.of.parameter, f"beside its value of {self.of.value:g} there is no model: {reason}")
        return -next(iter(errors)) if errors else 0.0

    def between(self, frozen: ByChanges) -> float:
        """The difference of the derivatives by an interpolation and by one of lower degree."""
        if frozen.lower is None:
            return 0.0
        change = self.change(frozen.numbers)
        return abs(frozen.derivative(change) - frozen.lower(change))

    def change(self, numbers: Callable[[RunAnalyses], Complexes]) -> Complexes:
        """The derivatives of numbers of the analyses by one quotient."""
        s, t = (self.side, 0.0) if self.side else (1.0, -1.0)
        return np.asarray((numbers(self.at(s)) - numbers(self.at(t))) / ((s - t) * self.h))

    def _along(self, frozen: ByChanges) -> tuple[float, float] | None:
        """The derivative along tangents of equations that are linear in the parameter, and its error, where the motion
        is moved so little that one quotient is enough."""
        if side := self.side:
            zero, half, one = (frozen.numbers(self.at(s)) for s in (0.0, 0.5 * side, side))
            slope, second = (4.0 * half - one - 3.0 * zero) / side, 2.0 * (one - 2.0 * half + zero)
        else:
            other, zero, one = (frozen.numbers(self.at(s)) for s in (-1.0, 0.0, 1.0))
            slope, second = 0.5 * (one - other), 0.5 * (one - 2.0 * zero + other)
        found, bend = (frozen.derivative(each / self.h) for each in (slope, second))
        rounding = (4.0 if side else 1.0) * ROUNDING * float(np.max(np.abs(zero))) / self.h
        bend = max(abs(bend) - NOISE * rounding, 0.0)
        part = (self.columns[side or 1.0].turn * self.h) ** 2 + (bend / abs(found) if found else bend) ** 2
        if part > LINEAR_ENOUGH:
            self.settled = False
            return None
        return found + 0.0, part * abs(found) + rounding

    def derivative(self, frozen: ByChanges) -> tuple[float, float]:
        """The derivative of an output, and its error."""

        def f(s: float) -> Complexes:
            return frozen.numbers(self.at(s))

        h = self.h
        try:
            if self.columns and not self.curved and (known := self._along(frozen)) is not None:
                return known
            if side := self.side:
                # of third order, with the steps h/2 and h/4
                fine, coarse = (
                    (18.0 * f(side * r) - 9.0 * f(2.0 * side * r) + 2.0 * f(3.0 * side * r) - 11.0 * f(0.0))
                    / (6.0 * side * r * h)
                    for r in (0.25, 0.5)
                )
                best = fine
                found, other = frozen.derivative(best), frozen.derivative(coarse)
            else:
                coarse, middle = (f(1.0) - f(-1.0)) / (2.0 * h), f(0.0)
                found, other = frozen.derivative(coarse), frozen.derivative((f(1.0) - middle) / h)
                # along tangents an angle is an odd function, whose one-sided differences are equal
                if abs(found - other) <= LINEAR * abs(found) and not self.columns:
                    return found + 0.0, abs(found - other)
                fine = (f(0.5) - f(-0.5)) / h
                best = np.where(coarse == fine, fine, (4.0 * fine - coarse) / 3.0)
                found, other = frozen.derivative(best), frozen.derivative(fine)
        except ReplayError:
            raise
        except ModelError as error:
            reason = str(error).splitlines()[0]
            raise error if error.problems[0].item else refusal(self.of.parameter, reason) from error
        return found + 0.0, abs(found - other)
