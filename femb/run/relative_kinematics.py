"""Relative kinematics of a Model: a joint tree in relative speeds after Kamman, and its equations of motion.

Strokes and angles of joints are the unconstrained components of the relative translation and rotation, in axes of the
joint. Source: docs/theory/relative.md, sections 2 and 3.
"""

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.options import Run
from femb.base.types import Floats
from femb.base.values import given_numbers, shown
from femb.formulations.relative import SPEEDS, Speeds
from femb.formulations.relative_equations import RelativeEquations
from femb.model.model import Model
from femb.results.results import Results
from femb.vibration.completion import system_of


@dataclass(frozen=True, eq=False)
class RelativeState(Brief):
    """Result of ``RelativeKinematics.evaluate``: kinematics and equations of motion at a state.

    Vectors are in inertial axes, of the n bodies (and beam nodes) in ``names``.
    position, velocity, acceleration (n, 3) : of mass centres, m, m/s, m/s2. attitude (n, 3, 3) : body to inertial.
    angular_velocity, angular_acceleration (n, 3) : rad/s, rad/s2.
    V, W (n, 3, P) : partial velocities of mass centres and partial angular velocities; V_rate, W_rate (n, 3, P) : their
    time derivatives, 1/s.
    inertia (P, P) : generalized inertia. force (P,) : generalized active force with the inertia force at u' = 0;
    without drivers and latches inertia @ speed_rates = force. speeds, speed_rates (P,) : u and u', in the unit of each.
    multipliers (m,) N, N m : of the rows of drivers and latches.
    gimbal_distance : ratio by spherical joint (and free body), |cos theta_2| of its 1-2-3 angles for "angles", 0 at
    lock; 1 for other speeds, which do not lock.
    """

    names: tuple[str, ...]
    position: Floats
    attitude: Floats
    velocity: Floats
    angular_velocity: Floats
    acceleration: Floats
    angular_acceleration: Floats
    V: Floats
    W: Floats
    V_rate: Floats
    W_rate: Floats
    inertia: Floats
    force: Floats
    speeds: Floats
    speed_rates: Floats
    multipliers: Floats
    gimbal_distance: dict[str, float]


class RelativeKinematics(RelativeEquations):
    """Partial velocities and equations of motion of a model in relative coordinates; made by ``relative_kinematics``.

    It is also a formulation for explicit steppers (docs/howto/extend.md).
    """

    def __repr__(self) -> str:
        return f"<RelativeKinematics of {self.model!r}: {len(self.coordinates)} coordinates, {len(self.speeds)} speeds>"

    def evaluate(self, q: ArrayLike | None = None, u: ArrayLike | None = None, t: float = 0.0) -> RelativeState:
        """Kinematics and dynamics at coordinates q (n_q,), speeds u (n_v,), by default the start, and time t (s).

        Raises ModelError for arrays of another length, SolveError where 1-2-3 angles are locked.
        """
        at = self._given("q", q, self.q0, self.coordinates)
        self.normalise(at)
        v = self._given("u", u, self.v0, self.speeds)
        inertia, force, rows, gamma = self.balance(self.inputs_at(t, at, v), at, v)
        rate, multipliers = self.solved(inertia, force, rows, gamma, at)
        motion = self.motion(at, v)
        return RelativeState(
            names=self.names,
            position=motion.r,
            attitude=motion.A,
            velocity=motion.v,
            angular_velocity=motion.w,
            acceleration=motion.V @ rate + motion.V_rate @ v,
            angular_acceleration=motion.W @ rate + motion.W_rate @ v,
            **{name: getattr(motion, name) for name in ("V", "W", "V_rate", "W_rate")},
            inertia=inertia,
            force=force,
            speeds=v,
            speed_rates=rate,
            multipliers=multipliers,
            gimbal_distance=self.gimbal_distances(at),
        )

    def _given(self, word: str, values: ArrayLike | None, start: Floats, names: tuple[str, ...]) -> Floats:
        given = start if values is None else values
        return given_numbers(given, len(start), f"relative kinematics: {word}", f": {', '.join(names)}").copy()

    def simulate(self, duration: float, **options: Any) -> Results:
        """Integrate these equations from the start by method "rk"; results as in ``femb.simulate``.

        duration : s. options : of ``femb.Run``, such as rtol and output_interval. Raises ModelError for options
        of other methods, SolveError where angles lock;
        the results so far are in ``error.results``.
        """
        from femb.recording.recording import Recording
        from femb.run.time_loop import RunSummary, integrate
        from femb.steppers import make_stepper

        run = Run(duration=duration, **{"method": "rk", **options})
        if run.method != "rk":
            raise ModelError(f"relative kinematics: is integrated by method 'rk', got {run.method!r}")
        summary = RunSummary([])
        with Recording(self.system, run.method, None, "") as recording:
            stepper = make_stepper(self, run)
            try:
                for frames in integrate(self, stepper, run.output_times(), summary, max_steps=run.most_steps):
                    recording.add(frames)
            finally:
                recording.statistics, recording.arrays = stepper.statistics.as_dict(), summary.arrays()
        return recording.results()


def relative_kinematics(model: Model, speeds: Speeds = "fixed") -> RelativeKinematics:
    """Partial velocities, their rates, accelerations and equations of motion of a model whose joints form trees.

    Nodes of beams are free bodies; internal coordinates are coordinates. Source: docs/theory/relative.md; Kamman,
    *Multibody Dynamics - Accelerations Using Relative Coordinates*.

    Parameters:
        model: whose joints form trees.
        speeds: of joints with three rotations and of free bodies: "fixed" (relative angular velocity in the joint's
            axes in the parent), "body" (in its axes in the body) or "angles" (rates of the 1-2-3 angles between both,
            which lock where the second is a right angle). Strokes, and the one or two angles of other joints, are the
            same in all three.

    Raises:
        ModelError: joints that close loops, joints without coordinates, an unknown choice.
        SolveError: angles are locked at the start.
    """
    if speeds not in SPEEDS:
        raise ModelError(f"relative_kinematics: speeds: got {shown(speeds)}, wanted {', '.join(map(repr, SPEEDS))}")
    return RelativeKinematics(system_of(model), speeds)
