"""System: the equations of motion of a model in velocity coordinates, with the start of the motion.

    q' = H(q) v,    M(q) v' + h(q, v) + f_el(q, v) + J(q)^T lambda = f(u, q, v),    J v + Phi_t = dPhi/dt = 0

Source: docs/theory/beam.md, equation (1), docs/theory/rigid_body.md and docs/theory/constraints.md.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from femb.base.types import Floats, Loop
from femb.base.values import shallow_copy
from femb.layout.discrete import ANGLES
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.model.model import Model
from femb.numerics import kinematics
from femb.numerics.block_kernels import clear, solve
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.numerics.compiler.compile import kernel_with_entry
from femb.system.block_lu import Factorisation, SingularError
from femb.system.constraints import singular_mass
from femb.system.degrees_of_freedom import check_pairs
from femb.system.equations import Equations
from femb.system.initial_state import assembled, shared_velocity, start_velocities
from femb.system.pattern import StackedPattern
from femb.system.velocity_coordinates import MotionEquations

if TYPE_CHECKING:
    from femb.system.augmented import Augmented

# The equations of a System, and its rates, at states in given arrays, which a stepper evaluates again and again.
#
# The arguments of the kernels and the arrays of the result, which no iteration changes, are put together once; an
# evaluation then calls the kernels one after the other, or compiled code does.


@kernel_with_entry
def join(force: Floats, rates: Floats, result: Floats) -> None:
    """Copy forces (s, n_v) and rates of constraints (s, n_c) to result (s, n_v + n_c)."""
    n_v = force.shape[1]
    for i in range(force.shape[0]):
        for k in range(n_v):
            result[i, k] = force[i, k]
        for k in range(rates.shape[1]):
            result[i, n_v + k] = rates[i, k]


@kernel_with_entry
def right_side(force: Floats, gamma: Floats, x: Floats) -> None:
    """x (n,): minus a force (1, n_v), then gamma (1, n_c)."""
    n_v = force.shape[1]
    for k in range(n_v):
        x[k] = -force[0, k]
    for k in range(gamma.shape[1]):
        x[n_v + k] = gamma[0, k]


@kernel_with_entry
def set_rates(coordinates: Any, q: Floats, v: Floats, x: Floats, q_rate: Floats, v_rate: Floats) -> None:
    """q_rate (1, n_q) = H(q) v, and v_rate (1, n_v) the first unknowns of x (n,)."""
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    kinematics.rates(linear_q, linear_v, quaternion_q, omega_v, q, v, q_rate)
    for k in range(v_rate.shape[1]):
        v_rate[0, k] = x[k]


class BoundEquations(BoundSequence):
    """``Equations.equations`` of u, q, v, a and multipliers: arrays whose entries change between the calls.

    Each call overwrites ``result`` (s, n), and raises TrialError where the equations are not defined. switched : only
    the forces of what reads discrete states, (s, n_v).
    """

    def __init__(
        self, system: "Equations", u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats,
        switched: bool = False,
    ) -> None:  # fmt: skip
        n_v, n_c = system.n_v, 0 if switched else system.n_c
        force, rates = np.zeros((len(v), n_v)), np.zeros((len(v), n_c))
        batches = [batch for batch in system.batches if not switched or any(map(_switches, batch.inputs))]
        parts = [batch.bound_residual(u, q, v, a, force) for batch in batches]
        self.result = force
        if n_c:
            self.result = np.empty((len(v), n_v + n_c))
            parts.append(system.constraint_set.bound_force(u, q, v, multipliers, force, rates))
            parts.append(Bound(join, force, rates, self.result))
        super().__init__([Bound(clear, force), *parts])


def _switches(input_: Input) -> bool:
    """Whether an update of discrete states changes what equations read."""
    return input_.of_discrete and input_.array != ANGLES and not input_.recorded_only


class BoundRates(BoundSequence):
    """The rate of a state y = (q, v, work) (n,) of a system with inputs u (1, n_u), arrays whose entries change between
    the calls. Each overwrites ``rate`` (n,), to the last bit with that by ``forward_each`` and the budget.

    state : q (n_q,) and v (n_v,) in y. Raises TrialError.
    """

    def __init__(self, system: Equations) -> None:
        n_q, n_v, n_c = system.n_q, system.n_v, system.n_c
        sizes = n_q, n_q + n_v
        self._system, self.u = system, np.zeros((1, system.n_u))
        self.y, self.rate = np.zeros((2, n_q + n_v + system.budget.size))
        q, v, _ = np.split(self.y[None], sizes, axis=1)
        self.state: tuple[Floats, Floats] = q[0], v[0]
        parts = np.split(self.rate[None], sizes, axis=1)
        data, still, force, (position, gamma) = (
            np.zeros((1, system.pattern.size)), np.zeros((1, n_v)), np.zeros((1, n_v)), np.zeros((2, 1, n_c))
        )  # fmt: skip
        x = np.zeros(n_v + n_c)
        factors = Factorisation(system.solver, data[0])
        massive = [batch for batch in system.batches if batch.masses() or type(batch).mass is not Batch.mass]
        calls: list[Callable[[], object]] = [Bound(clear, force), Bound(clear, data), Bound(clear, gamma)]
        calls += [batch.bound_residual(self.u, q, v, still, force) for batch in system.batches]
        calls += [batch.bound_mass(q, data) for batch in massive]
        calls += [
            system.constraint_set.bound_jacobian(self.u, q, v, data, position, gamma),
            factors.bound(system.solver),
            Bound(right_side, force, gamma, x),
            Bound(solve, *factors.arguments, x),
            Bound(set_rates, system.coordinates, q, v, x, *parts[:2]),
            system.budget.bound_rates(system, self.u, q, v, x[None, n_v:], parts[2]),
        ]
        super().__init__(calls)

    @staticmethod
    def serves(system: MotionEquations) -> bool:
        """Whether matrices of the system have one factorisation by blocks."""
        pattern = system.pattern
        return not pattern.net and not (isinstance(pattern, StackedPattern) and pattern.alike)

    def is_of(self, system: MotionEquations) -> bool:
        """Whether these are the rates of another discrete state of the same system too."""
        own = self._system
        same = own.batches is system.batches and own.constraint_set is system.constraint_set
        return same and own.solver is system.solver

    def __call__(self) -> None:
        try:
            super().__call__()
        except SingularError as error:
            raise singular_mass(self._system, error, *self.state) from error


class System(Equations):
    """The equations of motion of a model, and the start q0 (n_q,), v0 (n_v,) of its motion.

    assemble : joints may be open at the start, and are closed; None where another start is set before the motion: they
    stay as the poses are, at rest. layout : an empty layout with another numbering.

    Raises ModelError with every problem of the model.
    """

    def __init__(self, model: Model, assemble: bool | None = False, layout: Layout | None = None) -> None:
        super().__init__(model, layout)
        q = self.layout.start_coordinates()
        if assemble is None:
            self.q0, self.v0 = q, self.layout.start_velocities()
            return
        if self.n_c:
            check_pairs(self, q)
            start, q = q, assembled(self, q, assemble)
            if q is not start:
                self.discrete = self.discrete_at(q)
                self.__dict__.pop("discrete_inputs", None)
        v = start_velocities(self, q)
        self.layout.origin_velocity = shared_velocity(self, v)
        if self.layout.origin_velocity.any():
            v = v - self.layout.origin_velocity @ self.rigid_velocities(q)[:3]
        for batch in self.batches:
            batch.begin(q, v)
        self.q0, self.v0 = q, v

    def __repr__(self) -> str:
        return f"<System of {self.model!r}: {self.n_v} velocities, {self.n_c} constraint equations>"

    def starting_at(self, q: Floats, v: Floats) -> Self:
        """The system with another start."""
        other = shallow_copy(self)
        other.q0, other.v0 = q, v
        return other

    def augmented(self, t: float = 0.0, q: Floats | None = None, v: Floats | None = None) -> "Augmented":
        """The equations of motion in quaternion coordinates, equation (57) of the thesis, as scipy.sparse matrices.

        t : s, for the inputs. q (n_q,), v (n_v,) : a state with unit quaternions, by default the start. The result has
        M, A, J, the right-hand side and the names of rows and columns; see ``Augmented``.

        Raises ModelError where q or v has another length, or a quaternion is not of unit length; TrialError where the
        mass matrix is singular.
        """

        from femb.system.augmented import augmented, checked_state

        q, v = checked_state(self, q, v, (self.q0, self.v0))
        return augmented(self, self.inputs_at(t, q, v), q, v)

    def bound_equations(
        self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats, switched: bool = False
    ) -> BoundEquations:
        """``equations`` of these arrays, to be evaluated again and again as their entries change.

        switched : whether they are only the forces of what reads discrete states.
        """
        return BoundEquations(self, u, q, v, a, multipliers, switched)

    # Members of a formulation: the identity map

    @property
    def has_stages(self) -> bool:
        """Whether there are only rigid bodies, point masses and joints without inputs."""
        return self.rigid is not None

    def stages(self, A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats) -> Floats:
        """Stages ``first`` to ``last`` - 1 of an explicit step of length h (s) from y0 (n,), in one call.

        A (stages, stages) : coefficients; K (stages, n) : the rates, which are filled in. Returns the last state (n,);
        see ``femb.formulations.contract.WithStages``. Raises TrialError.
        """
        assert self.rigid is not None
        return self.rigid.stages(self, A, first, last, h, y0, K)

    @property
    def has_steps(self) -> bool:
        """Whether whole steps are compiled, as stages are."""
        return self.rigid is not None

    def steps(self, loop: Loop) -> Floats | None:
        """Accepted steps of DOP853 in one call, in the arrays of ``loop``; see ``femb.numerics.dop853_kernels``.

        Returns the joint coordinates (s + 1, m) at the start and at the ends of the steps, unwrapped, m and rad; None
        without angles.
        """
        assert self.rigid is not None
        states = self.rigid.steps(self, loop, self.has_angles)
        return self.angles_along(states) if self.has_angles else None

    @property
    def system(self) -> "System":
        """The system whose equations these are: itself."""
        return self

    def to_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v in velocity coordinates of s states of a formulation: themselves."""
        return q, v

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """v' in velocity coordinates of s states of a formulation whose v' is a: itself."""
        return a

    def joint_angles(self, q: Floats) -> Floats:
        """The joint coordinates (s, m) from which those at s states are unwrapped: those of the last step."""
        return np.repeat(self.discrete.angles[None], len(q), axis=0)

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The reverse of ``to_system``, for one state: themselves."""
        return q, v
