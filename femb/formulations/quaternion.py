"""Augmented form in quaternion coordinates: the thesis's equations, with a multiplier a quaternion.

    [ M_q  A^T ] [ q''      ]   [ f_q      ]
    [ A    0   ] [ lambda_E ] = [ -2 p'.p' ],     M_q = G^T M G,  A = blockdiag(2 p^T)

with v = G(q) q' (angular velocities 2 rate_body(p) p'), which is the velocity form pulled back: since
rate_body(p') p' = 0, v' = G q'', and nothing is derived twice. f_q is that of Lagrange's equations. M_q is singular or
nearly so; only the bordered matrix is used. Source: docs/theory/quaternion_form.md, equations (1) to (7); Choi, USC
thesis 2014, equation (57).
"""

from typing import Any

import numpy as np
from scipy.sparse import block_array, csr_array
from scipy.sparse.linalg import splu

from femb.options import Tolerances
from femb.types import Floats


class QuaternionForm:
    """A System seen by an explicit stepper in coordinates q and their rates q', both (n_q,).

    consistent : the rows of the constraint are (2 p^T, 2 p'.p'). False gives the pair printed in the thesis, 2 p^T
    with p'.p', whose solution leaves the unit sphere (d2(p.p)/dt2 = p'.p'); it is here to be shown, not used.
    """

    def __init__(self, system: Any, consistent: bool = True) -> None:
        self.system = system
        self.consistent = consistent
        self.n_q = self.n_v = system.n_q
        self.n_c = 0
        self.layout, self.coordinates = system.layout, system.coordinates
        self.breakpoints, self.watched = system.breakpoints, system.watched
        self.q0 = system.q0
        self.v0 = system.rates(system.q0[None], system.v0[None])[0]
        self._places()

    def _places(self) -> None:
        """Rows and columns of G (n_v, n_q) and of the constraint rows A (quaternions, n_q)."""
        linear_q, linear_v, quaternion_q, omega_v = self.coordinates
        rows = np.repeat(omega_v[:, None] + np.arange(3), 4, axis=1)
        columns = np.tile(quaternion_q[:, None] + np.arange(4), (1, 3))
        self._G_rows = np.concatenate([linear_v, rows.ravel()])
        self._G_columns = np.concatenate([linear_q, columns.ravel()])
        self._p = quaternion_q[:, None] + np.arange(4)
        self._omega = omega_v[:, None] + np.arange(3)

    def rate_map(self, q: Floats) -> csr_array:
        """G (n_v, n_q) with v = G q'."""
        from femb.rotations import rate_body

        entries = np.concatenate([np.ones(len(self.coordinates[0])), 2.0 * rate_body(q[self._p]).ravel()])
        return csr_array((entries, (self._G_rows, self._G_columns)), shape=(self.system.n_v, self.n_q))

    def constraint_rows(self, q: Floats) -> csr_array:
        """A (quaternions, n_q): 2 p^T a row."""
        count = len(self._p)
        rows = np.repeat(np.arange(count), 4)
        return csr_array((2.0 * q[self._p].ravel(), (rows, self._p.ravel())), shape=(count, self.n_q))

    def augmented(self, u: Floats, q: Floats, rate: Floats) -> tuple[Any, Floats]:
        """The bordered matrix (n_q + quaternions square, scipy.sparse) and its right-hand side, (4) and (6)."""
        from femb.rotations import rate_body

        system, G, A = self.system, self.rate_map(q), self.constraint_rows(q)
        v = G @ rate
        force = -system.residual(u[None], q[None], v[None], np.zeros((1, system.n_v)))[0]
        mass = system.mass_matrix(q)
        momentum, spin = (mass @ v)[self._omega], v[self._omega]
        # Lagrange's equations have 4 rate_body(p')^T momentum where those of body axes have spin x momentum
        force[self._omega] += np.cross(spin, momentum)
        pulled = G.T @ force
        pulled[self._p] -= 4.0 * np.einsum("kij,ki->kj", rate_body(rate[self._p]), momentum)
        matrix = block_array([[G.T @ mass @ G, A.T], [A, None]], format="csc")
        turning = -np.sum(rate[self._p] ** 2, axis=1)
        return matrix, np.concatenate([pulled, 2.0 * turning if self.consistent else turning])

    def forward(self, u: Floats, q: Floats, rate: Floats) -> tuple[Floats, Floats]:
        """q'' (n_q,) and the multipliers lambda_E (quaternions,), N m, in the order of the frames.

        lambda_E is omega . dT/domega of the frame (7), twice the kinetic energy of rotation for a free body at its
        mass centre.
        """
        matrix, right = self.augmented(u, q, rate)
        solution = splu(matrix).solve(right)
        return solution[: self.n_q], solution[self.n_q :]

    def acceleration(self, u: Floats, q: Floats, rate: Floats) -> Floats:
        """q'' (n_q,)."""
        return self.forward(u, q, rate)[0]

    # What a stepper asks of System

    @property
    def velocity_form(self) -> Any:
        """The system it is the form of."""
        return self.system

    def state(self, t: float, q: Floats, v: Floats) -> Any:
        """The named bodies, beams and joints at an instant, for velocities v."""
        return self.system.state(t, q, v)

    def at(self, q: Floats) -> "QuaternionForm":
        """The same form with the turns of its joints as they are after a step to q."""
        return self

    def velocities(self, q: Floats, rate: Floats) -> Floats:
        """v (s, n_v) of s states."""
        return np.stack([self.system.tangents(q[k], rate[k : k + 1])[0] for k in range(len(q))])

    def rates(self, q: Floats, rate: Floats) -> Floats:
        """The rates themselves."""
        return rate.copy()

    def second_rates(self, q: Floats, rate: Floats, second: Floats) -> Floats:
        """The second rates themselves."""
        return second.copy()

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The rates themselves."""
        return dq.copy()

    def normalise(self, q: Floats) -> float:
        """Scale quaternions to unit length, in place; not in the demonstration of the printed equations."""
        return self.system.normalise(q) if self.consistent else 0.0

    def inputs_at(self, t: float, q: Floats, rate: Floats) -> Floats:
        """u (n_u,) at time t and a state."""
        v = self.velocities(q[None], rate[None])[0] if self.system.inputs_of_state else self.system.v0
        return self.system.inputs_at(t, q, v)

    def forward(self, u: Floats, q: Floats, rate: Floats) -> tuple[Floats, Floats]:
        """q'' (n_q,), and no multipliers of constraints."""
        return self.acceleration(u, q, rate), np.zeros(0)

    def power(self, u: Floats, q: Floats, rate: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers."""
        return self.system.power(u, q, self.velocities(q, rate), multipliers)

    def watch(self, t: float, q: Floats, rate: Floats, *rest: Any) -> Any:
        """Look for postures that a motion cannot go on through."""
        return self.system.watch(t, q, self.velocities(q, rate), *rest)

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """That of the coordinates, also for their rates, with the absolute tolerances over ``atol.time``."""
        start, size, scale, relative = self.system.error_scale(rtol, atol)[0]
        return (start, size, scale, relative), (start, size, scale / atol.time, relative)
