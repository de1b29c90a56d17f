"""Prediction of the stages of an implicit Runge-Kutta step from the steps before it.

The velocities follow a cubic through the last four ends of steps. Stages deviate from it, for one of two reasons. In
stiff members their errors are of third order in the step length, those of the ends of fifth, and they are similar from
step to step: the deviations of the last stages are added, times the cube of the ratio of the step lengths. Where the
motion is smooth, the deviations are what the cubic misses, and grow beyond its nodes: they are extrapolated, and the
prediction is the polynomial through the last stages. Each component takes what was nearer in the last step.

Velocities of the frames of flexible members are those in axes of the frames: in a member that rotates they hardly
change, while their inertial components turn with it. Without this, the first iteration of Newton's method would find
the strains of an extrapolation along tangents. Multipliers follow the parabola through the last stages.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.formulations.contract import ImplicitFormulation
from femb.numerics.tableaux import RADAU_C
from femb.steppers.stage_prediction_kernels import find_trend

# From values at the stages to coefficients of their polynomial, of powers 0 to 2.
THROUGH_STAGES = np.linalg.inv(RADAU_C[:, None] ** np.arange(3))


@dataclass(eq=False, slots=True)
class Trend:
    """What stages are predicted from; see ``femb.steppers.stage_prediction_kernels.start_stages``.

    length, earlier : of the last step and of the one before, s; 0 for none. velocity, slope, bend, third (n_v,) : at
    its end; that of the chord of the step; second and third derivative. deviation (3, n_v) : of the stages of the step.
    growing (n_v,) : whether it is extrapolated, not repeated.
    multipliers (3, n_c) : coefficients of powers 0 to 2 of its fraction. turning_q (F,), turning_v (F, 2) : the frames
    whose velocities are in their own axes, as ``corotated_frames`` of a formulation.
    """

    length: float
    earlier: float
    velocity: Floats
    slope: Floats
    bend: Floats
    third: Floats
    deviation: Floats
    growing: Bools
    multipliers: Floats
    turning_q: Ints
    turning_v: Ints

    @classmethod
    def at_start(cls, form: ImplicitFormulation, v: Floats, a: Floats, multipliers: Floats) -> Self:
        """Constant inertial accelerations a (n_v,) and multipliers (n_c,), from velocities v (n_v,)."""
        corotated_q, corotated_v = form.corotated_frames
        rest, growing = np.zeros((5, form.n_v)), np.zeros(form.n_v, dtype=bool)
        of_multipliers = np.zeros((3, form.n_c))
        of_multipliers[0] = multipliers
        turning = corotated_q[:0], corotated_v[:0]
        return cls(0.0, 0.0, v, a, rest[0], rest[1], rest[2:], growing, of_multipliers, *turning)

    def after(
        self, form: ImplicitFormulation, h: float, old: tuple[Floats, Floats], new: tuple[Floats, Floats],
        stages: tuple[Floats, Floats, Floats], rotations: Floats,
    ) -> Self:  # fmt: skip
        """The trend after a step h from ``old`` to ``new``, each q (n_q,), v (n_v,).

        stages : changes of velocities (3, n_v), coordinates (3, n_q), multipliers (3, n_c). rotations (3, F, 4) is
        overwritten.
        """
        Z, Q, L = stages
        turning = form.corotated_frames
        velocity, slope, bend, third, *_ = found = np.empty((7, form.n_v))
        result = velocity, slope, bend, third, found[4:], np.empty(form.n_v, dtype=bool)
        before = self.length, self.earlier, self.velocity, self.slope, self.bend, self.third, self.deviation
        find_trend(*turning, RADAU_C, h, *before, *old, *new, Z, Q, rotations, *result)
        return type(self)(h, self.length, *result, THROUGH_STAGES.dot(L) if form.n_c else L, *turning)

    def as_arguments(self) -> tuple[float, float, Floats, Floats, Floats, Floats, Floats, Bools, Floats, Ints, Ints]:
        """The attributes, in their order."""
        of_motion = self.length, self.earlier, self.velocity, self.slope, self.bend, self.third, self.deviation
        return *of_motion, self.growing, self.multipliers, self.turning_q, self.turning_v
