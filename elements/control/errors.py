"""Errors that linear laws act on: signals less their reference, with exact derivatives.

Of an attitude the error is 2 q_v of the turn from the reference, with the sign of its q_0, in body axes; without the
sign a body turned by more than 180 degrees would take the long way. Of its rate it is the angular velocity less that of
the reference, in body axes. Source: docs/theory/controllers.md, equation (4).
"""

from collections.abc import Callable, Sequence

import numpy as np

from femb.base.types import Floats
from femb.elements.control.reference import Axes
from femb.elements.control.sample_kernels import attitude_error
from femb.elements.control.signals import Signal, turn_error, turn_rows
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix


class Errors:
    """Signals less their references, one by one; of an attitude without a reference its turn from inertial axes.

    signals : what is read. reference : function of the time (s) that gives ``count`` numbers, by default zeros.
    breakpoints : s, where it is not smooth. constant (count,) : the reference where it does not change; None otherwise.
    """

    constant: Floats | None = None

    def __init__(
        self,
        signals: Sequence[Signal],
        reference: Callable[[float], Floats] | None = None,
        breakpoints: tuple[float, ...] = (),
    ) -> None:
        self.signals, self.breakpoints = list(signals), breakpoints
        self.sizes = [3 if each.width == 4 else each.width for each in signals]
        self.width = self.count = sum(self.sizes)
        zeros = np.zeros(self.count)
        if reference is None:
            self.constant = zeros
        self.reference = reference or (lambda t: zeros)

    def of(self, values: Sequence[Floats], reference: Floats) -> Floats:
        """(m,) the errors of the values of the signals and the numbers of the reference."""
        parts = [turn_error(each) if len(each) == 4 else each for each in values]
        return np.concatenate(parts) - reference

    def derivatives(self, values: Sequence[Floats], reference: Floats) -> list[Floats]:
        """Derivatives (m, k) of the error by each signal's k components; of an attitude by those of a turn."""
        result, start = [], 0
        for value, size in zip(values, self.sizes, strict=True):
            matrix = np.zeros((self.width, size))
            matrix[start : start + size] = turn_rows(value) if len(value) == 4 else np.eye(size)
            result.append(matrix)
            start += size
        return result

    def at_reference(self) -> list[Floats]:
        """Values of the signals at which the errors vanish, at the start."""
        return [np.array([1.0, 0.0, 0.0, 0.0]) if each.width == 4 else np.zeros(each.width) for each in self.signals]


class ForwardErrors(Errors):
    """Other errors, and after them numbers of the reference alone, which a law feeds forward.

    errors : the others. forward : function of the time (s) that gives ``count`` numbers, smooth where the reference is.
    """

    def __init__(self, errors: Errors, forward: Callable[[float], Floats], count: int) -> None:
        base = errors.reference
        super().__init__(errors.signals, lambda t: np.concatenate([base(t), forward(t)]), errors.breakpoints)
        self._errors, self._own = errors, errors.count
        self.width, self.count = errors.width + count, errors.count + count

    def of(self, values: Sequence[Floats], reference: Floats) -> Floats:
        return np.concatenate([self._errors.of(values, reference[: self._own]), reference[self._own :]])

    def derivatives(self, values: Sequence[Floats], reference: Floats) -> list[Floats]:
        found = self._errors.derivatives(values, reference[: self._own])
        return [np.vstack([each, np.zeros((self.width - len(each), each.shape[1]))]) for each in found]

    def at_reference(self) -> list[Floats]:
        return self._errors.at_reference()


class AttitudeErrors(Errors):
    """The error of an attitude (3,), and that of its rate (3,).

    attitude : a quaternion, from body to inertial axes. rate : in body axes. axes : of the reference; fixed : whether
    they do not move.
    """

    def __init__(
        self, attitude: Signal, rate: Signal, axes: Axes, breakpoints: tuple[float, ...] = (), fixed: bool = False
    ) -> None:
        constant = np.concatenate(axes(0.0)) if fixed else None
        super().__init__(
            [attitude, rate], lambda t: np.concatenate(axes(t)) if constant is None else constant, breakpoints
        )
        self.width, self.count, self.constant = 6, 7, constant

    def of(self, values: Sequence[Floats], reference: Floats) -> Floats:
        # in Python numbers: this is computed at each sample, and numpy's calls take ten times longer
        wanted = reference.tolist()
        return np.array(attitude_error(values[0].tolist(), wanted[:4], values[1].tolist(), wanted[4:]))

    def derivatives(self, values: Sequence[Floats], reference: Floats) -> list[Floats]:
        error = rotations.normalise(rotations.multiply(rotations.conjugate(reference[:4]), values[0]))
        by_turn, by_rate = np.zeros((2, 6, 3))
        by_turn[:3] = turn_rows(error)
        by_turn[3:] = -cross_matrix(rotations.rotate_back(error, reference[4:]))
        by_rate[3:] = np.eye(3)
        return [by_turn, by_rate]

    def at_reference(self) -> list[Floats]:
        reference = self.reference(0.0)
        return [reference[:4], reference[4:]]
