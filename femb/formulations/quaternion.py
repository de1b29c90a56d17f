"""Augmented form in quaternion coordinates: the equations of the thesis, with one multiplier for each quaternion.

    [ M_q  A^T  J_q^T ] [ q''      ]   [ f_q      ]
    [ A    0    0     ] [ lambda_E ] = [ -2 p'.p' ],     M_q = G^T M G,  A = blockdiag(2 p^T),  J_q = J G
    [ J_q  0    0     ] [ lambda   ]   [ gamma    ]

with v = G(q) q' (angular velocities 2 rate_body(p) p'). The equations are those of the velocity form, transformed by G:
v' = G q'', because rate_body(p') p' = 0. f_q is the force of Lagrange's equations. M_q is singular or nearly singular;
each quaternion is eliminated together with its multiplier, inside the block of its frame
(``femb.formulations.quaternion_solver``). Source: docs/theory/quaternion_form.md, equations (1) to (15); Choi, USC
thesis 2014, equation (57).
"""

import numpy as np

from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats
from femb.formulations.quaternion_kernels import add_change_of_map, pull_back, second_rates
from femb.formulations.quaternion_solver import Basis, LowRankQuaternionSolver, PulledBack, QuaternionFactors
from femb.formulations.transformed import Transformed
from femb.layout.element import TrialError
from femb.numerics import kinematics
from femb.system.block_lu import SingularError
from femb.system.linear_solver import Factors, Matrix
from femb.system.low_rank_solver import LowRankFactors, WithLowRank
from femb.system.system import System


class QuaternionForm(Transformed):
    """A System in coordinates q and their rates q', both (n_q,), with n_c multipliers.

    Multipliers are lambda_E of every quaternion, in the order of the frames, then those of joints. A stepper treats
    all coordinates alike; quaternions differ by their constraint rows and by ``corotated_frames``.

    consistent : the rows of the constraint are (2 p^T, 2 p'.p'). False gives the pair printed in the thesis, 2 p^T
    with p'.p', whose solution leaves the unit sphere (d2(p.p)/dt2 = p'.p'), for demonstration only.

    Dependent rows of joints are excluded; their multipliers are zero.
    """

    def __init__(self, system: System, consistent: bool = True) -> None:
        super().__init__(system)
        self.consistent = consistent
        self.n_q = self.n_v = system.n_q
        self._system_coordinates = system.coordinates
        quaternion_q = self._system_coordinates[2]
        self.n_p = len(quaternion_q)
        self._frames = quaternion_q[:, None] + np.arange(4), self._system_coordinates[3][:, None] + np.arange(3)
        self.n_c = self.n_p + system.n_c
        all_coordinates = np.arange(self.n_q)
        none = np.zeros(0, dtype=all_coordinates.dtype)
        self.coordinates = (all_coordinates, all_coordinates, none, none)
        # quaternions and their rates rotate with every frame, velocities only with frames that flexible elements couple
        coupled = np.isin(quaternion_q, system.corotated_frames[0])
        first = np.where(coupled, quaternion_q - 3, -1)
        self.corotated_frames = (quaternion_q, np.stack([first, quaternion_q], axis=1))
        self.solver = LowRankQuaternionSolver(system.solver, self._system_coordinates)
        self.q0 = system.q0
        self.v0 = system.rates(system.q0[None], system.v0[None])[0]

    # The equations

    def forward(self, u: Floats, q: Floats, rate: Floats) -> tuple[Floats, Floats]:
        """q'' (n_q,) and the multipliers (n_c,) of (4).

        lambda_E (N m) is omega . dT/domega of the frame (7), twice the kinetic energy of rotation for a frame at the
        mass centre of a free body. Raises TrialError if the matrix is singular.
        """
        system = self.system
        v = self.velocities(q[None], rate[None])
        x = -system.residual(u[None], q[None], v, np.zeros(v.shape))
        if system.n_c:
            x = np.concatenate([x, system.constraints(u[None], q[None], v)[1]], axis=1)
        data = system.mass_data(q)
        momentum = self._product(data, v[0])
        system.constraint_set.jacobian(u, q, data)
        try:
            system.solver.factorise(data).solve(x[0])
        except SingularError as error:
            raise TrialError("the bordered matrix is singular") from error
        out = np.empty(self.n_q + self.n_c)
        ratio = -1.0 if self.consistent else -0.5
        second_rates(*self._system_coordinates, q, rate, momentum, v[0], ratio, x[0], out)
        return out[: self.n_q], out[self.n_q :]

    def _product(self, data: Floats, v: Floats) -> Floats:
        """M v (n,) for block data."""
        system = self.system
        return system.solver.multiply(data, np.concatenate([v, np.zeros(system.n_c)]) if system.n_c else v)

    def equations(self, u: Floats, q: Floats, rate: Floats, second: Floats, multipliers: Floats) -> Floats:
        """(s, n_q + n_c): residual (8), with constraint rows on velocities."""
        system = self.system
        v, a = self.velocities(q, rate), self.velocities(q, second)
        forces = system.equations(u, q, v, a, np.ascontiguousarray(multipliers[:, self.n_p :]))
        momenta = np.empty_like(forces)
        for k in range(len(q)):
            momenta[k] = self._product(system.mass_data(q[k]), v[k])
        out = np.empty((len(q), self.n_q + self.n_c))
        pull_back(*self._system_coordinates, q, rate, v, momenta, multipliers, forces, out)
        return out

    def matrices(
        self, u: Floats, q: Floats, rate: Floats, multipliers: Floats
    ) -> tuple[PulledBack, Matrix, PulledBack]:
        """Mass, damping and iteration tangent of the ``equations`` (9), those of the velocity form transformed by G."""
        v = self.velocities(q[None], rate[None])[0]
        mass, damping, stiffness = self.system.matrices(u, q, v, np.ascontiguousarray(multipliers[self.n_p :]))
        if not isinstance(damping, WithLowRank):
            return self.pulled_back(q, v, mass, damping, stiffness)
        parts = self.pulled_back(q, v, mass, damping.matrix, stiffness)
        return parts[0], WithLowRank(parts[1], *(self._forces(q, x) for x in (damping.left, damping.right))), parts[2]

    def _forces(self, q: Floats, columns: Floats) -> Floats:
        """G^T times forces (n_v + multipliers of joints, r), with zeros for all multipliers."""
        # G^T is the map of rates; for a quaternion p' = p (0, omega) / 2 and G^T = 2 p (0, .)
        forces = np.ascontiguousarray(columns[: self.system.n_v].T)
        out = self.system.rates(np.tile(q, (len(forces), 1)), forces)
        out[:, self._frames[0]] *= 4.0
        return np.vstack([out.T, np.zeros((self.n_c, len(forces)))])

    def pulled_back(
        self, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats
    ) -> tuple[PulledBack, PulledBack, PulledBack]:
        """The same from block data of the velocity form at q and v (n_v,); changes ``stiffness`` in place."""
        at_q, at_v = self._frames
        p = q[at_q]
        a, b, c, d = p.T
        unit = p * ((a * a + b * b + c * c + d * d) ** -0.5)[:, None]
        frames = Basis(unit, v[at_v], self._product(mass, v)[at_v])
        add_change_of_map(self.solver.runs, frames.omega, mass, damping, stiffness)
        return PulledBack(mass, frames), PulledBack(damping, frames), PulledBack(stiffness, frames)

    # States

    def to_system(self, q: Floats, rate: Floats) -> tuple[Floats, Floats]:
        """q and v of the System at s states."""
        return q, self.velocities(q, rate)

    def accelerations_to_system(self, q: Floats, rate: Floats, second: Floats) -> Floats:
        """v' of the System at s states with q'' = second: G q'', because G' q' is zero."""
        return self.velocities(q, second)

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and q' of one state of the System."""
        return q, self.system.rates(q[None], v[None])[0]

    def at(self, q: Floats) -> "QuaternionForm":
        """The same form after a step to q, from which joint angles are unwrapped."""
        system = self.system.at(q)
        return self if system is self.system else self.with_discrete(system.discrete)

    def velocities(self, q: Floats, rate: Floats) -> Floats:
        """v (s, n_v) of s states: G q' over p.p, independent of the length of quaternions."""
        out = np.empty((len(q), self.system.n_v))
        kinematics.tangents(*self._system_coordinates, q, rate, out)
        return out

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
        """Scale quaternions to unit length, in place, unless ``consistent`` is False; returns the largest |p.p - 1|."""
        return self.system.normalise(q) if self.consistent else 0.0

    def projected(self, u: Floats, q: Floats, rate: Floats, factors: Factors | None = None) -> tuple[Floats, Floats]:
        """q and q' (n_q,) projected onto the constraints; velocities change only along the rows of joints."""
        if not self.consistent:
            return q, rate
        v = self.velocities(q[None], rate[None])[0]
        q = q.copy()
        self.system.normalise(q)
        known = factors.base if isinstance(factors, LowRankFactors) else factors
        q, v = self.system.projected(u, q, v, known.of_velocities if isinstance(known, QuaternionFactors) else None)
        return q, self.system.rates(q[None], v[None])[0]

    def power(self, u: Floats, q: Floats, rate: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers."""
        joints = None if multipliers is None else np.ascontiguousarray(multipliers[:, self.n_p :])
        return self.system.power(u, q, self.velocities(q, rate), joints)

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """Groups and tolerances of the coordinates; for rates the absolute tolerances are divided by ``atol.time``."""
        start, size, scale, relative = self.system.error_scale(rtol, atol)[0]
        return (start, size, scale, relative), (start, size, scale / atol.time, relative)
