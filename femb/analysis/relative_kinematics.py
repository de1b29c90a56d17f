"""Relative kinematics of a Model: its tree of joints in speeds after Kamman, and the equations of motion they give.

Joints are columns of ``femb.formulations.relative``: their strokes and turns are the components of the relative
translation and rotation that no row holds, in axes of the joint. With the partial velocities V, W of mass centres and
bodies Kane's equations are those of the System multiplied by them,

    V^T (F - m a) + W^T (T - J alpha - w x J w) = 0,    v = V u,  w = W u,  a = V u' + V' u,  alpha = W u' + W' u

Source: docs/theory/relative.md, sections 2 to 4.
"""

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.options import Run
from femb.base.types import Floats, Ints
from femb.base.values import as_numbers, shown
from femb.formulations.relative import (
    SPEEDS,
    Partials,
    Speeds,
    Velocities,
    accelerations,
    body_rows,
    partials,
    velocities,
)
from femb.formulations.relative_angles import GIMBAL
from femb.formulations.relative_coordinates import RelativeCoordinates
from femb.formulations.relative_state import RelativeState
from femb.layout.discrete import Discrete
from femb.layout.element import TrialError
from femb.layout.state import State
from femb.model.model import Model
from femb.numerics import rotations
from femb.results.results import Results

if TYPE_CHECKING:
    from femb.system.system import System

# What is left of driven and latched coordinates by a projection, in their units.
CLOSED, PASSES = 1e-13, 10


class RelativeKinematics(RelativeCoordinates):
    """Partial velocities and equations of motion of a model in relative coordinates; made by ``relative_kinematics``.

    It is also a formulation, as steppers see one (docs/howto/add_a_stepper.md), for explicit methods.
    """

    def __init__(self, system: "System", choice: Speeds) -> None:
        super().__init__(system, choice)
        self.breakpoints, self.inputs_of_state = system.breakpoints, system.inputs_of_state
        self.watched = system.watched
        self._keep()
        if not self.n_v:
            raise ModelError("relative_kinematics: the joints leave nothing free to move")

    def _keep(self) -> None:
        """Rows of drivers and of engaged latches, which are kept as constraints."""
        engaged = self.system.discrete.engaged
        idle = {each.row for each, on in zip(self.layout.latches, engaged, strict=True) if not on}
        rows = [row for row in self.joints.kept if row not in idle]
        self._kept: Ints = np.asarray(self.layout.row_c[rows], dtype=np.int64)
        self.n_c = len(rows)

    # The equations

    def _motion(self, q: Floats, v: Floats) -> tuple[Velocities, Partials, Floats, Floats]:
        """Velocities, partials, and H2, H2' (system.n_v, n_v): the System's velocities by the speeds."""
        placement, full = self.placement(q), self.select @ v
        motion = velocities(self.tree, placement, full, self.choice)
        parts = partials(self.tree, placement, full, self.choice)
        rows, rates = (each @ self.select for each in body_rows(motion, parts))
        H2, H2_rate = np.zeros((2, self.system.n_v, self.n_v))
        for k, each in enumerate(self.joints.frames):
            j, freedom = self.layout.frame_v[each.frame], self.layout.frames[each.frame].freedom
            line, turn = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
            # from the mass centre to the frame's origin: v - w x A c = v + A c~ (A^T w)
            lever = motion.A[k] @ rotations.cross_matrix(self._centers[k])
            lever_rate = rotations.cross_matrix(motion.w[k]) @ lever
            H2[j : j + 3] = rows[line] + lever @ rows[turn]
            H2_rate[j : j + 3] = rates[line] + lever @ rates[turn] + lever_rate @ rows[turn]
            if freedom == 6:
                H2[j + 3 : j + 6], H2_rate[j + 3 : j + 6] = rows[turn], rates[turn]
        _, j, count = self._internal
        H2[self.layout.internal_v, np.arange(j, j + count)] = 1.0
        return motion, parts, H2, H2_rate

    def _balance(self, u: Floats, q: Floats, v: Floats) -> tuple[Velocities, Partials, Floats, Floats, Floats, Floats]:
        """What ``forward`` solves: motion, partials, inertia, force, kept rows and their right-hand side."""
        motion, parts, H2, H2_rate = self._motion(q, v)
        Q, V = np.empty((1, self.system.n_q)), np.empty((1, self.system.n_v))
        self._fill(motion, q, v, Q[0], V[0])
        bias = H2_rate @ v
        inertia = H2.T @ (self.system.mass_matrix(Q[0]) @ H2)
        force = -H2.T @ self.system.residual(u[None], Q, V, bias[None])[0]
        rows, gamma = np.zeros((0, self.n_v)), np.zeros(0)
        if self.n_c:
            J = self.system.jacobian(u, Q[0])[self._kept]
            gamma = self.system.constraints(u[None], Q, V)[1][0, self._kept] - J @ bias
            rows = J @ H2
        return motion, parts, inertia, force, rows, gamma

    def _solved(self, inertia: Floats, force: Floats, rows: Floats, gamma: Floats, q: Floats) -> tuple[Floats, Floats]:
        locked = [name for name, x in self.gimbal_distances(q).items() if x < GIMBAL]
        if locked:
            raise TrialError(f"the 1-2-3 angles of {', '.join(locked)} are locked; take angular velocities as speeds")
        n_c = len(rows)
        matrix = np.block([[inertia, rows.T], [rows, np.zeros((n_c, n_c))]])
        try:
            x = np.linalg.solve(matrix, np.concatenate([force, gamma]))
        except np.linalg.LinAlgError as error:
            raise TrialError(
                "the generalized inertia is singular: a direction without mass, or drivers that depend on each other"
            ) from error
        return x[: self.n_v], x[self.n_v :]

    def forward(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """u' (n_v,) and the multipliers (n_c,) of drivers and latches. Raises TrialError at lock."""
        _, _, inertia, force, rows, gamma = self._balance(u, q, v)
        return self._solved(inertia, force, rows, gamma, q)

    def acceleration(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """u' (n_v,)."""
        return self.forward(u, q, v)[0]

    def evaluate(self, q: ArrayLike | None = None, u: ArrayLike | None = None, t: float = 0.0) -> RelativeState:
        """Everything at coordinates q (n_q,) and speeds u (n_v,), by default the start, with the loads of time t (s).

        Raises ModelError for arrays that do not fit, SolveError where 1-2-3 angles are locked.
        """
        at = self._given("q", q, self.q0)
        self.normalise(at)
        v = self._given("u", u, self.v0)
        motion, parts, inertia, force, rows, gamma = self._balance(self.inputs_at(t, at, v), at, v)
        rate, multipliers = self._solved(inertia, force, rows, gamma, at)
        select = self.select
        a, alpha = accelerations(self.tree, self.placement(at), select @ v, select @ rate, self.choice)
        return RelativeState(
            names=self.names,
            position=motion.r,
            attitude=motion.A,
            velocity=motion.v,
            angular_velocity=motion.w,
            acceleration=a,
            angular_acceleration=alpha,
            V=parts.V @ select,
            W=parts.W @ select,
            V_rate=parts.V_rate @ select,
            W_rate=parts.W_rate @ select,
            inertia=inertia,
            force=force,
            speeds=v,
            speed_rates=rate,
            multipliers=multipliers,
            gimbal_distance=self.gimbal_distances(at),
        )

    def _given(self, word: str, values: ArrayLike | None, start: Floats) -> Floats:
        if values is None:
            return start.copy()
        found = as_numbers(values)
        if found is None or found.shape != start.shape:
            names = self.coordinates if word == "q" else self.speeds
            raise ModelError(
                f"relative kinematics: {word}: got {shown(values)}, wanted {len(start)} numbers: {', '.join(names)}"
            )
        return found.copy()

    def simulate(self, duration: float, **options: Any) -> Results:
        """Integrate these equations by "rk" from the start, into results as ``femb.simulate`` gives them.

        options : of ``femb.Run``, such as rtol and output_interval. Raises SolveError where angles lock
        on the way; what was computed is in ``error.results``.
        """
        from femb.analysis.time_loop import Outcome, integrate
        from femb.results.recording import Recording
        from femb.steppers import make_stepper

        run = Run(duration=duration, **{"method": "rk", **options})
        if run.method != "rk":
            raise ModelError(f"relative kinematics: is integrated by method 'rk', got {run.method!r}")
        outcome = Outcome([])
        with Recording(self.system, run.method, None, "") as recording:
            stepper = make_stepper(self, run)
            try:
                for frames in integrate(self, stepper, run.output_times(), outcome, max_steps=run.most_steps):
                    recording.add(frames)
            finally:
                recording.statistics, recording.arrays = stepper.statistics.as_dict(), outcome.arrays()
        results: Results = recording.results()
        return results

    # What steppers ask of a formulation

    def inputs_at(self, t: float, q: Floats, v: Floats) -> Floats:
        """u (n_u,) of the System at time t and a state."""
        Q, V = self.to_system(q[None], v[None])
        return self.system.at(Q[0]).inputs_at(t, Q[0], V[0])

    def power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers."""
        full = None
        if multipliers is not None:
            full = np.zeros((len(multipliers), self.system.n_c))
            full[:, self._kept] = multipliers
        return self.system.power(u, *self.to_system(q, v), full)

    def state(self, t: float, q: Floats, v: Floats) -> State:
        """The named bodies and joints at an instant."""
        Q, V = self.to_system(q[None], v[None])
        return self.system.state(t, Q[0], V[0])

    def at(self, q: Floats) -> "RelativeKinematics":
        """The same with the turns of its joints as they are after a step to q."""
        other = copy(self)
        other.system = self.system.at(self.to_system(q[None], np.zeros((1, self.n_v)))[0][0])
        return other

    def with_discrete(self, discrete: Discrete) -> "RelativeKinematics":
        """The same in another discrete state."""
        other = copy(self)
        other.system = self.system.with_discrete(discrete)
        other._keep()
        return other

    def watch(self, t: float, q: Floats, v: Floats, last: bool = False) -> None:
        """Look for postures that a motion cannot go on through."""
        self.system.watch(t, *self.to_system(q, v), last)

    def projected(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v where drivers and latches want them, by the smallest change weighted with the inertia."""
        for _ in range(PASSES):
            left = self.system.constraints(u[None], *self.to_system(q[None], v[None]))[0][0, self._kept]
            if np.max(np.abs(left), initial=0.0) <= CLOSED:
                break
            q = q + self.rates(q[None], self._closing(u, q, left)[None])[0]
            self.normalise(q)
        rates = self.system.constraint_rates(u[None], *self.to_system(q[None], v[None]))[0, self._kept]
        return q, v + self._closing(u, q, rates)

    def _closing(self, u: Floats, q: Floats, left: Floats) -> Floats:
        _, _, inertia, _, rows, _ = self._balance(u, q, np.zeros(self.n_v))
        return self._solved(inertia, np.zeros(self.n_v), rows, -left, q)[0]


def relative_kinematics(model: Model, speeds: Speeds = "fixed") -> RelativeKinematics:
    """Partial velocities, their rates, accelerations and equations of motion of a model whose joints form trees.

    speeds : of joints that turn about three axes and of free bodies, "fixed" (relative angular velocity in the joint's
    axes in the parent), "body" (in its axes in the body) or "angles" (rates of the 1-2-3 angles between both,
    which lock where the second is a right angle). Strokes, and the one or two angles of other joints, are the same in
    all three. Nodes of beams are free bodies, their internal coordinates are coordinates.

    Raises ModelError: closed loops by the joints that make them, joints without coordinates, an unknown choice;
    SolveError where angles are locked at the start. Source: docs/theory/relative.md; Kamman, *Multibody Dynamics -
    Accelerations Using Relative Coordinates*.
    """
    from femb.system.system import System

    if speeds not in SPEEDS:
        raise ModelError(f"relative_kinematics: speeds: got {shown(speeds)}, wanted {', '.join(map(repr, SPEEDS))}")
    return RelativeKinematics(System(model), speeds)
