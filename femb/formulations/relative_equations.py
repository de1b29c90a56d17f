"""Equations of motion of a joint tree in relative coordinates after Kamman: a formulation for explicit methods.

Kane's equations with the partial velocities V of mass centres and W of bodies are

    V^T (F - m a) + W^T (T - J alpha - w x J w) = 0,    v = V u,  w = W u,  a = V u' + V' u,  alpha = W u' + W' u

Source: docs/theory/relative.md, sections 2 to 4.
"""

from copy import copy
from typing import TYPE_CHECKING, Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.formulations.relative import Partials, Speeds, Velocities, body_rows, partials, velocities
from femb.formulations.relative_angles import GIMBAL
from femb.formulations.relative_coordinates import RelativeCoordinates
from femb.formulations.tree_form import TreeForm
from femb.layout.discrete import DiscreteState
from femb.layout.element import TrialError
from femb.numerics import rotations

if TYPE_CHECKING:
    from femb.system.system import System

# Projection onto the retained rows: tolerance in the units of the rows, and number of iterations.


class RelativeEquations(RelativeCoordinates, TreeForm):
    """A System in relative coordinates of its joints."""

    def __init__(self, system: "System", choice: Speeds) -> None:
        TreeForm.__init__(self, system)
        RelativeCoordinates.__init__(self, system, choice)
        self._select_rows(self.joints)
        if not self.n_v:
            raise ModelError("relative_kinematics: the joints leave nothing free to move")

    def _motion(self, q: Floats, v: Floats) -> tuple[Velocities, Partials, Floats, Floats]:
        """Velocities, partials, and H2, H2' (system.n_v, n_v): the System's velocities by the speeds."""
        placement, full = self.placement(q), self.select @ v
        motion = velocities(self.tree, placement, full, self.choice)
        parts = partials(self.tree, placement, full, self.choice)
        rows, rates = (body_row @ self.select for body_row in body_rows(motion, parts))
        H2, H2_rate = np.zeros((2, self.system.n_v, self.n_v))
        for k, frame in enumerate(self.joints.frames):
            j, freedom = self.layout.frame_v[frame.frame], self.layout.frames[frame.frame].freedom
            linear, angular = slice(6 * k, 6 * k + 3), slice(6 * k + 3, 6 * k + 6)
            # from the mass centre to the frame's origin: v - w x A c = v + A c~ (A^T w)
            lever = motion.A[k] @ rotations.cross_matrix(self._centers[k])
            lever_rate = rotations.cross_matrix(motion.w[k]) @ lever
            H2[j : j + 3] = rows[linear] + lever @ rows[angular]
            H2_rate[j : j + 3] = rates[linear] + lever @ rates[angular] + lever_rate @ rows[angular]
            if freedom == 6:
                H2[j + 3 : j + 6], H2_rate[j + 3 : j + 6] = rows[angular], rates[angular]
        _, j, count = self._internal
        H2[self.layout.internal_v, np.arange(j, j + count)] = 1.0
        return motion, parts, H2, H2_rate

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """The System's v' of s states whose speeds have the rates a (s, n_v): H2 a + H2' v."""
        out = np.empty((len(q), self.system.n_v))
        for k in range(len(q)):
            _, _, H2, H2_rate = self._motion(q[k], v[k])
            out[k] = H2 @ a[k] + H2_rate @ v[k]
        return out

    def balance(self, u: Floats, q: Floats, v: Floats) -> tuple[Velocities, Partials, Floats, Floats, Floats, Floats]:
        """The equations of ``forward``: motion, partials, inertia, force, retained rows and their right-hand side."""
        motion, parts, H2, H2_rate = self._motion(q, v)
        Q, V = np.empty((1, self.system.n_q)), np.empty((1, self.system.n_v))
        self._fill(motion, q, v, Q[0], V[0])
        bias = H2_rate @ v
        inertia = H2.T @ (self.system.mass_matrix(Q[0]) @ H2)
        force = -H2.T @ self.system.residual(u[None], Q, V, bias[None])[0]
        rows, gamma = np.zeros((0, self.n_v)), np.zeros(0)
        if self.n_c:
            J = self.system.jacobian(u, Q[0])[self.retained]
            gamma = self.system.constraints(u[None], Q, V)[1][0, self.retained] - J @ bias
            rows = J @ H2
        return motion, parts, inertia, force, rows, gamma

    def solved(self, inertia: Floats, force: Floats, rows: Floats, gamma: Floats, q: Floats) -> tuple[Floats, Floats]:
        """u' (n_v,) and lambda (n_c,): inertia u' + rows^T lambda = force, rows u' = gamma. Raises TrialError."""
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
        _, _, inertia, force, rows, gamma = self.balance(u, q, v)
        return self.solved(inertia, force, rows, gamma, q)

    # Other members of the contract

    def inputs_at(self, t: float, q: Floats, v: Floats) -> Floats:
        """u (n_u,) of the System at time t (s) and one state."""
        Q, V = self.to_system(q[None], v[None])
        return self.system.at(Q[0]).inputs_at(t, Q[0], V[0])

    def at(self, q: Floats) -> Self:
        """The same equations after a step to q, from which joint angles are unwrapped."""
        other = copy(self)
        other.system = self.system.at(self.to_system(q[None], np.zeros((1, self.n_v)))[0][0])
        return other

    def _update_discrete(self, previous: DiscreteState) -> None:
        self._select_rows(self.joints)

    def _correction(self, u: Floats, q: Floats, gap: Floats) -> Floats:
        """The smallest change of speeds, in the metric of the inertia, that changes the retained rows by -gap."""
        _, _, inertia, _, rows, _ = self.balance(u, q, np.zeros(self.n_v))
        return self.solved(inertia, np.zeros(self.n_v), rows, -gap, q)[0]
