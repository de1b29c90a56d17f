"""Augmented form in quaternion coordinates: the thesis's equations, with a multiplier a quaternion.

    [ M_q  A^T  J_q^T ] [ q''      ]   [ f_q      ]
    [ A    0    0     ] [ lambda_E ] = [ -2 p'.p' ],     M_q = G^T M G,  A = blockdiag(2 p^T),  J_q = J G
    [ J_q  0    0     ] [ lambda   ]   [ gamma    ]

with v = G(q) q' (angular velocities 2 rate_body(p) p'), which is the velocity form pulled back: since
rate_body(p') p' = 0, v' = G q'', and nothing is derived twice. f_q is that of Lagrange's equations. M_q is singular or
nearly so; only the bordered matrix is used. Source: docs/theory/quaternion_form.md, equations (1) to (9); Choi, USC
thesis 2014, equation (57).
"""

from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import block_array, csc_array, csr_array, diags_array

from femb.batch import TrialError
from femb.blocklu import SingularError
from femb.constraints import mass_factors
from femb.discrete import Discrete
from femb.formulations.bordered import BorderedSolver
from femb.options import Tolerances
from femb.rotations import rate_body
from femb.types import Floats, Ints


class QuaternionForm:
    """A System seen by a stepper in coordinates q and their rates q', both (n_q,), with n_c multipliers.

    Multipliers are lambda_E of every quaternion, in the order of the frames, then those of joints. To a stepper all
    coordinates are alike: it knows of quaternions only by their rows among the constraints.

    consistent : the rows of the constraint are (2 p^T, 2 p'.p'). False gives the pair printed in the thesis, 2 p^T
    with p'.p', whose solution leaves the unit sphere (d2(p.p)/dt2 = p'.p'); it is here to be shown, not used.

    Rows of joints that depend on others are left out with multipliers of zero.
    """

    def __init__(self, system: Any, consistent: bool = True) -> None:
        self.system = system
        self.consistent = consistent
        self.model, self.layout = system.model, system.layout
        self.breakpoints, self.watched = system.breakpoints, system.watched
        self.inputs_of_state = system.inputs_of_state
        self.n_q = self.n_v = system.n_q
        self._places()
        self.n_p = len(self._p)
        self.n_c = self.n_p + system.n_c
        everything = np.arange(self.n_q)
        nothing = np.zeros(0, dtype=everything.dtype)
        self.coordinates = (everything, everything, nothing, nothing)
        self.turning = (nothing, nothing)
        self.solver = BorderedSolver()
        self.q0 = system.q0
        self.v0 = system.rates(system.q0[None], system.v0[None])[0]

    def _places(self) -> None:
        """Rows and columns of G (n_v, n_q), and the components of quaternions and angular velocities."""
        linear_q, linear_v, quaternion_q, omega_v = self.system.coordinates
        rows = np.repeat(omega_v[:, None] + np.arange(3), 4, axis=1)
        columns = np.tile(quaternion_q[:, None] + np.arange(4), (1, 3))
        self._G_rows = np.concatenate([linear_v, rows.ravel()])
        self._G_columns = np.concatenate([linear_q, columns.ravel()])
        self._p = quaternion_q[:, None] + np.arange(4)
        self._omega = omega_v[:, None] + np.arange(3)

    # Rows that are left out

    def _left_out(self, u: Floats, q: Floats) -> Ints:
        """Numbers (from n_q on) of the multipliers of rows that depend on others at a state."""
        if not self.layout.has_loops:
            return np.zeros(0, dtype=np.int64)
        return self.n_q + self.n_p + np.flatnonzero(mass_factors(self.system, u, q).kept() == 0.0)

    def _without(self, matrix: Any, out: Ints) -> Any:
        """The matrix with the rows and columns ``out`` set to zero."""
        if not len(out):
            return matrix
        kept = np.ones(matrix.shape[0])
        kept[out] = 0.0
        return csc_array(diags_array(kept) @ matrix @ diags_array(kept))

    def _ones(self, out: Ints) -> Any:
        """A matrix with ones on the diagonal at ``out``."""
        n = self.n_q + self.n_c
        return csc_array((np.ones(len(out)), (out, out)), shape=(n, n))

    # The equations

    def rate_map(self, q: Floats) -> csr_array:
        """G (n_v, n_q) with v = G q'."""
        entries = np.concatenate([np.ones(self.n_q - 4 * self.n_p), 2.0 * rate_body(q[self._p]).ravel()])
        return csr_array((entries, (self._G_rows, self._G_columns)), shape=(self.system.n_v, self.n_q))

    def constraint_rows(self, q: Floats) -> csr_array:
        """A (quaternions, n_q): 2 p^T a row."""
        rows = np.repeat(np.arange(self.n_p), 4)
        return csr_array((2.0 * q[self._p].ravel(), (rows, self._p.ravel())), shape=(self.n_p, self.n_q))

    def augmented(self, u: Floats, q: Floats, rate: Floats) -> tuple[Any, Floats]:
        """The bordered matrix (n_q + n_c square, scipy.sparse) and its right-hand side, (4) and (6)."""
        system, G, A = self.system, self.rate_map(q), self.constraint_rows(q)
        v = G @ rate
        force = -system.residual(u[None], q[None], v[None], np.zeros((1, system.n_v)))[0]
        data = system.mass_data(q)
        for batch in system.held:
            batch.jacobian(u, q, data)
        n, whole = system.n_v, system.pattern.to_csc(data)
        mass = whole[:n, :n]
        momentum, spin = (mass @ v)[self._omega], v[self._omega]
        # Lagrange's equations have 4 rate_body(p')^T momentum where those of body axes have spin x momentum
        force[self._omega] += np.cross(spin, momentum)
        pulled = G.T @ force
        pulled[self._p] -= 4.0 * np.einsum("kij,ki->kj", rate_body(rate[self._p]), momentum)
        turning = -np.sum(rate[self._p] ** 2, axis=1)
        right = [pulled, 2.0 * turning if self.consistent else turning]
        blocks = [[G.T @ mass @ G, A.T], [A, None]]
        if system.n_c:
            # rows of open latches have nothing but a one in the corner, for a multiplier of zero
            J = whole[n:, :n] @ G
            blocks = [[G.T @ mass @ G, A.T, J.T], [A, None, None], [J, None, whole[n:, n:]]]
            right.append(system.constraints(u[None], q[None], v[None])[1][0])
        out, known = self._left_out(u, q), np.concatenate(right)
        known[out] = 0.0
        return self._without(block_array(blocks, format="csc"), out) + self._ones(out), known

    def forward(self, u: Floats, q: Floats, rate: Floats) -> tuple[Floats, Floats]:
        """q'' (n_q,) and the multipliers (n_c,).

        lambda_E (N m) is omega . dT/domega of the frame (7), twice the kinetic energy of rotation for a free body at
        its mass centre. Raises TrialError where the matrix is singular.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # of a trial that is far off, and will be refused
            matrix, right = self.augmented(u, q, rate)
        try:
            solution = self.solver.factorise(matrix).solve(right)
        except SingularError as error:
            raise TrialError("the bordered matrix is singular") from error
        return solution[: self.n_q], solution[self.n_q :]

    def acceleration(self, u: Floats, q: Floats, rate: Floats) -> Floats:
        """q'' (n_q,)."""
        return self.forward(u, q, rate)[0]

    def equations(self, u: Floats, q: Floats, rate: Floats, second: Floats, multipliers: Floats) -> Floats:
        """(s, n_q + n_c): what (8) says is zero, rows of constraints on velocities."""
        system, n_p = self.system, self.n_p
        v, a = self.velocities(q, rate), self.velocities(q, second)
        both = system.equations(u, q, v, a, multipliers[:, n_p:])
        out = np.zeros((len(q), self.n_q + self.n_c))
        for k in range(len(q)):
            p = q[k, self._p]
            momentum = (system.mass_matrix(q[k]) @ v[k])[self._omega]
            radial = multipliers[k, :n_p] - np.sum(v[k, self._omega] * momentum, axis=1)
            out[k, : self.n_q] = self.rate_map(q[k]).T @ both[k, : system.n_v]
            out[k, self._p] += 2.0 * p * radial[:, None]
            out[k, self.n_q : self.n_q + n_p] = 2.0 * np.sum(p * rate[k, self._p], axis=1)
            out[k, self.n_q + n_p :] = both[k, system.n_v :]
        return out

    def matrices(self, u: Floats, q: Floats, rate: Floats, multipliers: Floats) -> tuple[Any, Any, Any]:
        """Mass, damping and iteration tangent of the ``equations`` (9), scipy.sparse: those of the velocity form pulled
        back, bordered by the rows of the quaternions."""
        system, n = self.system, self.system.n_v
        v = self.velocities(q[None], rate[None])[0]
        parts = system.matrices(u, q, v, multipliers[self.n_p :])
        G, A, A_rate = self.rate_map(q), self.constraint_rows(q), self.constraint_rows(rate)
        found = []
        for data, borders in zip(parts, ((None, None), (A, A.T), (A_rate, None)), strict=True):
            whole = system.pattern.to_csc(data)
            row, column = borders
            blank = csr_array((self.n_p, self.n_p))
            blocks = [[G.T @ whole[:n, :n] @ G, column], [row, blank]]
            if system.n_c:
                joints = whole[n:, n:]
                blocks = [
                    [G.T @ whole[:n, :n] @ G, column, G.T @ whole[:n, n:]],
                    [row, blank, None],
                    [whole[n:, :n] @ G, None, joints],
                ]
            found.append(block_array(blocks, format="csc"))
        out = self._left_out(u, q)
        mass, damping, stiffness = (self._without(each, out) for each in found)
        return mass, damping + self._ones(out), stiffness

    # States

    @property
    def velocity_form(self) -> Any:
        """The system it is the form of."""
        return self.system

    def configuration(self, q: Floats, rate: Floats) -> tuple[Floats, Floats]:
        """q and v in velocity coordinates of s states."""
        return q, self.velocities(q, rate)

    def second_configuration(self, q: Floats, rate: Floats, second: Floats) -> Floats:
        """v' in velocity coordinates of s states with q'' = second: G q'', since G' q' is zero."""
        return self.velocities(q, second)

    def from_configuration(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and q' of one state in velocity coordinates."""
        return q, self.system.rates(q[None], v[None])[0]

    def state(self, t: float, q: Floats, rate: Floats) -> Any:
        """The named bodies, beams and joints at an instant."""
        return self.system.state(t, q, self.velocities(q[None], rate[None])[0])

    def at(self, q: Floats) -> "QuaternionForm":
        """The same form with the turns of its joints as they are after a step to q."""
        system = self.system.at(q)
        return self if system is self.system else self.with_discrete(system.discrete)

    def with_discrete(self, discrete: Discrete) -> "QuaternionForm":
        """The same form in another discrete state."""
        other = copy(self)
        other.system = self.system.with_discrete(discrete)
        return other

    def velocities(self, q: Floats, rate: Floats) -> Floats:
        """v (s, n_v) of s states: G q', over p.p, so that a quaternion's length does not matter."""
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

    def projected(self, u: Floats, q: Floats, rate: Floats, factors: Any = None) -> tuple[Floats, Floats]:
        """q and q' (n_q,) on the constraints, with the same velocities but for what joints take from them."""
        if not self.consistent:
            return q, rate
        v = self.velocities(q[None], rate[None])[0]
        q = q.copy()
        self.system.normalise(q)
        q, v = self.system.projected(u, q, v)
        return q, self.system.rates(q[None], v[None])[0]

    def inputs_at(self, t: float, q: Floats, rate: Floats) -> Floats:
        """u (n_u,) at time t and a state."""
        v = self.velocities(q[None], rate[None])[0] if self.system.inputs_of_state else self.system.v0
        return self.system.inputs_at(t, q, v)

    def power(self, u: Floats, q: Floats, rate: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers."""
        joints = None if multipliers is None else multipliers[:, self.n_p :]
        return self.system.power(u, q, self.velocities(q, rate), joints)

    def watch(self, t: float, q: Floats, rate: Floats, *rest: Any) -> Any:
        """Look for postures that a motion cannot go on through."""
        return self.system.watch(t, q, self.velocities(q, rate), *rest)

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """That of the coordinates, also for their rates, with the absolute tolerances over ``atol.time``."""
        start, size, scale, relative = self.system.error_scale(rtol, atol)[0]
        return (start, size, scale, relative), (start, size, scale / atol.time, relative)
