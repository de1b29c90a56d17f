"""Augmented form in quaternion coordinates: the thesis's equations, with a multiplier a quaternion.

    [ M_q  A^T  J_q^T ] [ q''      ]   [ f_q      ]
    [ A    0    0     ] [ lambda_E ] = [ -2 p'.p' ],     M_q = G^T M G,  A = blockdiag(2 p^T),  J_q = J G
    [ J_q  0    0     ] [ lambda   ]   [ gamma    ]

with v = G(q) q' (angular velocities 2 rate_body(p) p'), which is the velocity form pulled back: since
rate_body(p') p' = 0, v' = G q'', and nothing is derived twice. f_q is that of Lagrange's equations. M_q is singular or
nearly so; each quaternion is eliminated together with its multiplier, inside the block of its frame
(``femb.formulations.quaternion_solver``). Source: docs/theory/quaternion_form.md, equations (1) to (15); Choi, USC
thesis 2014, equation (57).
"""

import numpy as np

from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats
from femb.formulations.quaternion_kernels import add_change_of_map, basis, pull_back, second_rates
from femb.formulations.quaternion_solver import Basis, PulledBack, QuaternionFactors, QuaternionSolver
from femb.formulations.transformed import Transformed
from femb.layout.element import TrialError
from femb.numerics import kinematics
from femb.system.block_lu import SingularError
from femb.system.linear_solver import Factors
from femb.system.system import System


class QuaternionForm(Transformed):
    """A System seen by a stepper in coordinates q and their rates q', both (n_q,), with n_c multipliers.

    Multipliers are lambda_E of every quaternion, in the order of the frames, then those of joints. To a stepper all
    coordinates are alike: it knows of quaternions only by their rows among the constraints, and that they turn.

    consistent : the rows of the constraint are (2 p^T, 2 p'.p'). False gives the pair printed in the thesis, 2 p^T
    with p'.p', whose solution leaves the unit sphere (d2(p.p)/dt2 = p'.p'); it is here to be shown, not used.

    Rows of joints that depend on others are left out with multipliers of zero.
    """

    def __init__(self, system: System, consistent: bool = True) -> None:
        super().__init__(system)
        self.consistent = consistent
        self.n_q = self.n_v = system.n_q
        self._places = system.coordinates
        quaternion_q = self._places[2]
        self.n_p = len(quaternion_q)
        self.n_c = self.n_p + system.n_c
        everything = np.arange(self.n_q)
        nothing = np.zeros(0, dtype=everything.dtype)
        self.coordinates = (everything, everything, nothing, nothing)
        # quaternions and their rates turn with every frame, translations with those that stiff members are on
        on_members = np.isin(quaternion_q, system.corotated_frames[0])
        first = np.where(on_members, quaternion_q - 3, -1)
        self.corotated_frames = (quaternion_q, np.stack([first, quaternion_q], axis=1))
        self.solver = QuaternionSolver(system.solver, self._places)
        self.q0 = system.q0
        self.v0 = system.rates(system.q0[None], system.v0[None])[0]

    # The equations

    def forward(self, u: Floats, q: Floats, rate: Floats) -> tuple[Floats, Floats]:
        """q'' (n_q,) and the multipliers (n_c,) of (4).

        lambda_E (N m) is omega . dT/domega of the frame (7), twice the kinetic energy of rotation for a free body at
        its mass centre. Raises TrialError where the matrix is singular.
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
        turning = -1.0 if self.consistent else -0.5
        second_rates(*self._places, q, rate, momentum, v[0], turning, x[0], out)
        return out[: self.n_q], out[self.n_q :]

    def _product(self, data: Floats, v: Floats) -> Floats:
        """M v (n,) for block data."""
        system = self.system
        return system.solver.multiply(data, np.concatenate([v, np.zeros(system.n_c)]) if system.n_c else v)

    def equations(self, u: Floats, q: Floats, rate: Floats, second: Floats, multipliers: Floats) -> Floats:
        """(s, n_q + n_c): what (8) says is zero, rows of constraints on velocities."""
        system = self.system
        v, a = self.velocities(q, rate), self.velocities(q, second)
        forces = system.equations(u, q, v, a, np.ascontiguousarray(multipliers[:, self.n_p :]))
        momenta = np.empty_like(forces)
        for k in range(len(q)):
            momenta[k] = self._product(system.mass_data(q[k]), v[k])
        out = np.empty((len(q), self.n_q + self.n_c))
        pull_back(*self._places, q, rate, v, momenta, multipliers, forces, out)
        return out

    def matrices(
        self, u: Floats, q: Floats, rate: Floats, multipliers: Floats
    ) -> tuple[PulledBack, PulledBack, PulledBack]:
        """Mass, damping and iteration tangent of the ``equations`` (9): those of the velocity form, pulled back."""
        v = self.velocities(q[None], rate[None])[0]
        parts = self.system.matrices(u, q, v, np.ascontiguousarray(multipliers[self.n_p :]))
        return self.pulled_back(q, v, *parts)

    def pulled_back(
        self, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats
    ) -> tuple[PulledBack, PulledBack, PulledBack]:
        """The like of block data of the velocity form at q and velocities v (n_v,); changes ``stiffness``."""
        found = Basis(np.empty((self.n_p, 4)), *np.empty((2, self.n_p, 3)))
        basis(*self._places[2:], q, v, self._product(mass, v), found.p, found.omega, found.spin)
        add_change_of_map(self.solver.runs, found.omega, mass, damping, stiffness)
        return PulledBack(mass, found), PulledBack(damping, found), PulledBack(stiffness, found)

    # States

    def to_system(self, q: Floats, rate: Floats) -> tuple[Floats, Floats]:
        """q and v in velocity coordinates of s states."""
        return q, self.velocities(q, rate)

    def accelerations_to_system(self, q: Floats, rate: Floats, second: Floats) -> Floats:
        """v' in velocity coordinates of s states with q'' = second: G q'', since G' q' is zero."""
        return self.velocities(q, second)

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and q' of one state in velocity coordinates."""
        return q, self.system.rates(q[None], v[None])[0]

    def at(self, q: Floats) -> "QuaternionForm":
        """The same form with the turns of its joints as they are after a step to q."""
        system = self.system.at(q)
        return self if system is self.system else self.with_discrete(system.discrete)

    def velocities(self, q: Floats, rate: Floats) -> Floats:
        """v (s, n_v) of s states: G q', over p.p, so that a quaternion's length does not matter."""
        out = np.empty((len(q), self.system.n_v))
        kinematics.tangents(*self._places, q, rate, out)
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
        """Scale quaternions to unit length, in place; not in the demonstration of the printed equations."""
        return self.system.normalise(q) if self.consistent else 0.0

    def projected(self, u: Floats, q: Floats, rate: Floats, factors: Factors | None = None) -> tuple[Floats, Floats]:
        """q and q' (n_q,) on the constraints, with the same velocities but for what joints take from them."""
        if not self.consistent:
            return q, rate
        v = self.velocities(q[None], rate[None])[0]
        q = q.copy()
        self.system.normalise(q)
        q, v = self.system.projected(u, q, v, factors.of_velocities if isinstance(factors, QuaternionFactors) else None)
        return q, self.system.rates(q[None], v[None])[0]

    def power(self, u: Floats, q: Floats, rate: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers."""
        joints = None if multipliers is None else np.ascontiguousarray(multipliers[:, self.n_p :])
        return self.system.power(u, q, self.velocities(q, rate), joints)

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """That of the coordinates, also for their rates, with the absolute tolerances over ``atol.time``."""
        start, size, scale, relative = self.system.error_scale(rtol, atol)[0]
        return (start, size, scale, relative), (start, size, scale / atol.time, relative)
