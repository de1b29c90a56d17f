"""System: a model frozen and numbered, in velocity coordinates.

    q' = H(q) v,    M(q) v' + h(q, v) + f_el(q, v) + J(q)^T lambda = f(u, q, v),    J v + Phi_t = dPhi/dt = 0

with q = positions, unit quaternions and axial strains, v = their velocities (angular velocities in body axes), u the
inputs: what loads are multiplied with and drivers follow; lambda the multipliers of the constraints Phi(q, t) = 0 of
joints and drivers. M is symmetric positive definite. An evaluation changes nothing.
Source: docs/theory/beam.md, equation (1), docs/theory/rigid_body.md and docs/theory/constraints.md.
"""

from copy import copy
from dataclasses import replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Self

import numpy as np

from femb.base.checks import shown
from femb.base.errors import FembError, SolveError
from femb.base.options import Tolerances
from femb.base.types import Bools, ErrorScale, Floats, Ints, Sparse
from femb.elements import CATALOGUE, Ground
from femb.elements.item import Item
from femb.elements.joint.constraint_set import ConstraintSet
from femb.elements.joint.coordinates import JointCoordinates
from femb.layout.discrete import Discrete
from femb.layout.dof_index import Places
from femb.layout.element import Batch, FoldedError, Input, InputError, merged, raised
from femb.layout.layout import Layout
from femb.layout.singularity import watch
from femb.layout.state import State
from femb.model.model import Model
from femb.model.placement import Placement
from femb.numerics import kinematics
from femb.system.block_lu import LinearSolver, SingularError
from femb.system.constraints import projected, singular_mass
from femb.system.initial_position import assembled, check_pairs
from femb.system.initial_velocity import start_velocities
from femb.system.linear_solver import Factors
from femb.system.pattern import Pattern

if TYPE_CHECKING:
    from femb.system.augmented import Augmented

__all__ = ["FoldedError", "System"]

# Roundings of a position in the equation of a constraint.
ROUNDINGS = 8.0


class System:
    """Evaluates the equations of motion of a model.

    Arrays q (s, n_q), v, a (s, n_v), u (s, n_u), multipliers (s, n_c) hold s states at once where a method says so.
    Matrices come as block data of ``pattern``, in which the rows and columns of the multipliers follow those of the
    velocities, n = n_v + n_c in all. q0 (n_q,), v0 (n_v,) is the start.

    assemble : joints may be open at the start, and are closed. layout : an empty one, to number a model otherwise.
    discrete : the discrete state that inputs are taken at.

    Raises ModelError with every problem of the model.
    """

    def __init__(self, model: Model, assemble: bool = False, layout: Layout | None = None) -> None:
        model.check()
        self.model = model
        placement = Placement(model)
        layout = self.layout = Layout() if layout is None else layout
        layout.origin = placement.origin
        self.items: list[Item] = []
        if "ground" in placement.bodies and "ground" not in model.bodies:
            self.items.append(Ground())
        items: dict[type[Item], list[Item]] = {kind: [] for kind in CATALOGUE}
        for item in model.items():
            items[type(item)].append(item)
        for kind in CATALOGUE:
            self.items += placement.in_order(items[kind])
        for item in self.items:
            item.declare_dofs(layout, placement, model)
        layout.finish()
        self.n_q, self.n_v, self.n_c = layout.n_q, layout.n_v, layout.n_c
        self.pattern = Pattern(layout)
        self.solver = LinearSolver(self.pattern)
        self.batches: list[Batch] = []
        inputs: list[Input] = []
        for batch in merged(
            [batch for kind in CATALOGUE if items[kind] for batch in kind.batches(items[kind], layout, model)]
        ):
            self._add(batch, inputs)
            self.batches.append(batch)
        self.watched = [batch for batch in self.batches if batch.postures]
        self.constraint_set = ConstraintSet.of(self.items, layout)
        self._add(self.constraint_set, inputs)
        self._take(inputs)
        self.places = Places(layout)
        self.coordinates, self.corotated_frames = self.places.coordinates, self.places.corotated_frames
        self.coordinates_of_joints = JointCoordinates(layout)
        engaged = np.array([float(latch.item.engaged) for latch in layout.latches])
        self.discrete = Discrete(np.zeros(self.coordinates_of_joints.count), engaged, np.zeros(len(engaged)))
        self.q0, self.v0 = layout.start_coordinates(), np.zeros(self.n_v)
        self.discrete = self._discrete_at(self.q0)
        if self.n_c:
            check_pairs(self, self.q0)
            self.q0 = assembled(self, assemble)
            self.discrete = self._discrete_at(self.q0)
        self.v0 = start_velocities(self)

    def starting_at(self, q: Floats, v: Floats) -> Self:
        """The same system with another start."""
        other = copy(self)
        other.q0, other.v0 = q, v
        return other

    def at(self, q: Floats) -> Self:
        """The same system with the turns of its joints as they are after a step to q (n_q,)."""
        if not self.coordinates_of_joints.is_angle.any():
            return self
        return self.with_discrete(replace(self.discrete, angles=self.joint_motion(q, np.zeros(self.n_v))[0]))

    def with_discrete(self, discrete: Discrete) -> Self:
        """The same system in another discrete state."""
        other = copy(self)
        other.discrete = discrete
        return other

    def without_rows(self, rows: Bools) -> Self:
        """The same system, in which rows of constraints (n_c,) bool are left out of every solution.

        Rows that depend on others where the constraints are met do not where they are not quite, as within a step: they
        would hold a mechanism that moves.
        """
        other = copy(self)
        other.solver = self.solver.without(rows)
        return other

    def joint_motion(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Coordinates, unwrapped, and rates (m,) of all joints at one state, as in ``coordinates_of_joints``."""
        values, rates, _ = self.coordinates_of_joints.measure(q[None], v[None])
        return self.coordinates_of_joints.unwrapped(values[0], self.discrete.angles), rates[0]

    def _discrete_at(self, q: Floats) -> Discrete:
        """The discrete state at a start: angles within half a turn, latches holding what is there."""
        angles = self.coordinates_of_joints.measure(q[None], np.zeros((1, self.n_v)))[0][0]
        held = np.array([angles[latch.coordinate] for latch in self.layout.latches])
        return replace(self.discrete, angles=angles, held=held)

    def _add(self, part: Batch | ConstraintSet, inputs: list[Input]) -> None:
        """Append the inputs of a part of the equations to those before, and find its blocks."""
        part.first_input = sum(each.width for each in inputs)
        inputs += part.inputs
        part.allocate(self.pattern)

    # Inputs

    def with_inputs(self, inputs: list[Input]) -> Self:
        """The same system with other functions for its inputs, of the same widths."""
        other = copy(self)
        other._take(inputs)
        return other

    def _take(self, inputs: list[Input]) -> None:
        """Number the inputs: each has its part of u (n_u,)."""
        ends = np.cumsum([each.width for each in inputs], dtype=int).tolist()
        self.inputs, self.n_u = inputs, ends[-1] if ends else 0
        self.parts_of_inputs = [(each, slice(end - each.width, end)) for each, end in zip(inputs, ends, strict=True)]
        self.inputs_of_state = any(each.of_state for each in inputs)

    @cached_property
    def switches(self) -> bool:
        """Whether a stiffness may change at once, so that a matrix kept from before says nothing of it."""
        return any(batch.switches for batch in self.batches) or any(each.differentiated for each in self.inputs)

    @property
    def breakpoints(self) -> list[float]:
        """Instants where an input is not smooth, sorted."""
        return sorted({t for each in self.inputs for t in each.breakpoints})

    def state(self, t: float, q: Floats, v: Floats) -> State:
        """The named bodies, beams and joints at an instant."""
        return State(self.layout, t, q, v, self.joint_motion)

    def inputs_at(self, t: float, q: Floats, v: Floats) -> Floats:
        """u (n_u,) at time t and state q (n_q,), v (n_v,).

        Raises InputError where one is not finite; SolveError, with its cause, where a user's function fails.
        """
        u = np.empty(self.n_u)
        state = self.state(t, q, v) if self.inputs_of_state else None
        for each, part in self.parts_of_inputs:
            try:
                if each.of_discrete:
                    value = each.function(self.discrete)
                else:
                    value = each.function(t, state) if each.of_state else each.function(t)
            except FembError:
                raise
            except Exception as error:
                raise raised(each.label, t, error) from error
            if each.of_state and np.shape(value) != (each.width,):
                raise SolveError(f"{each.label}: got {shown(value)} at t = {t:.6g} s, wanted {each.width} numbers")
            try:
                u[part] = value
            except (TypeError, ValueError) as error:
                wanted = f"{each.width} numbers" if each.width > 1 else "a number"
                raise SolveError(f"{each.label}: got {shown(value)} at t = {t:.6g} s, wanted {wanted}") from error
            if not all(map(isfinite, u[part].tolist())):
                raise InputError(f"{each.label}: got {shown(value)} at t = {t:.6g} s, which is not finite")
        return u

    # Equations of motion

    def watch(self, t: float, q: Floats, v: Floats, last: bool = False) -> None:
        """Refuse a step from t with the states q (s, n_q), v (s, n_v) if it meets such a posture.

        Raises TrialError if a shorter step can come nearer to it; PostureError if none can, or the step is ``last``.
        """
        for batch in self.watched:
            watch(batch, t, q, v, last)

    def rates(self, q: Floats, v: Floats) -> Floats:
        """H(q) v (s, n_q)."""
        out = np.empty_like(q)
        kinematics.rates(*self.coordinates, q, v, out)
        return out

    def retract(self, q: Floats, x: Floats, part: float = 1.0) -> Floats:
        """q (n_q,) after the displacements and rotations part x, x (n_v,); unit quaternions."""
        moved: Floats = q + part * self.rates(q[None], x[None])[0]
        self.normalise(moved)
        return moved

    @cached_property
    def rotations(self) -> Ints:
        """Places (3 F,) of angular velocities among the velocities."""
        result: Ints = (self.coordinates[3][:, None] + np.arange(3)).ravel()
        return result

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The velocities (s, n_v) that change q (n_q,) at the rates dq (s, n_q)."""
        out = np.empty((len(dq), self.n_v))
        kinematics.tangents(*self.coordinates, q, dq, out)
        return out

    def second_rates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """q'' (s, n_q) = H(q) a + H(q') v of s states."""
        turning = self.rates(self.rates(q, v), v)
        turning[:, self.coordinates[0]] = 0.0  # positions and strains have no second part
        return self.rates(q, a) + turning

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

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The reverse of ``to_system``, for one state: themselves."""
        return q, v

    def normalise(self, q: Floats) -> float:
        """Scale the quaternions in q (n_q,) to unit length, in place; returns the largest |p.p - 1| before."""
        return float(kinematics.normalise(self.coordinates[2], q))

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
        """M a + h + f_el - f (s, n_v), without the forces of constraints. Raises FoldedError."""
        out = np.zeros(a.shape)
        for batch in self.batches:
            batch.residual(u, q, v, a, out)
        return out

    def equations(self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats) -> Floats:
        """(s, n): the residual with the forces of constraints, M a + h + f_el + J^T lambda - f, and J v + Phi_t."""
        force = self.residual(u, q, v, a)
        if not self.n_c:
            return force
        rates = np.zeros(multipliers.shape)
        self.constraint_set.constraint_force(u, q, v, multipliers, force, rates)
        return np.concatenate([force, rates], axis=1)

    def matrices(
        self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Mass, damping and iteration tangent of the ``equations`` at one state, block data. Raises FoldedError.

        J and J^T count as damping: they belong to velocities and multipliers themselves. multipliers (n_c,).
        """
        mass, damping, stiffness = np.zeros((3, self.pattern.size))
        for batch in self.batches:
            batch.matrices(u, q, v, mass, damping, stiffness)
        self.constraint_set.jacobian(u, q, damping)
        if multipliers is not None:
            self.constraint_set.constraint_tangent(u, q, v, multipliers, stiffness)
        return mass, damping, stiffness

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, constraints: bool = False) -> tuple[Floats, Floats]:
        """d(residual)/dv and d(residual)/dq H at one state, exact, inputs held; block data.

        constraints : whether to add J and J^T, as ``matrices`` does, and d(J v + Phi_t)/dq H in the rows of the
        multipliers. How J^T lambda changes is ``femb.system.reaction_stiffness``.
        """
        damping, stiffness = np.zeros((2, self.pattern.size))
        for batch in self.batches:
            batch.tangent(u, q, v, a, damping, stiffness)
        if constraints:
            self.constraint_set.jacobian(u, q, damping)
            self.constraint_set.constraint_tangent(u, q, v, np.zeros(self.n_c), stiffness)
        return damping, stiffness

    def mass_data(self, q: Floats) -> Floats:
        """Mass at one state, block data."""
        mass = np.zeros(self.pattern.size)
        for batch in self.batches:
            batch.mass(q, mass)
        return mass

    def mass_matrix(self, q: Floats) -> Sparse:
        """M(q) (n_v, n_v), scipy.sparse."""
        return self.pattern.to_csc(self.mass_data(q))[: self.n_v, : self.n_v]

    def acceleration(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """v' (n_v,) at one state."""
        return self.forward(u, q, v)[0]

    def forward(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """v' (n_v,) and multipliers (n_c,) at one state: M v' + J^T lambda = f - h - f_el and J v' = gamma.

        The multiplier of a row that depends on the others is zero.
        """
        a, multipliers = self.forward_each(u[None], q[None], v[None])
        return a[0], multipliers[0]

    def forward_each(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """v' (s, n_v) and multipliers (s, n_c) of s states, as ``forward`` gives them. Raises TrialError."""
        x = np.zeros((len(q), self.pattern.n))
        x[:, : self.n_v] = -self.residual(u, q, v, np.zeros(v.shape))
        if self.n_c:
            x[:, self.n_v :] = self.constraints(u, q, v)[1]
        for k in range(len(q)):
            data = self.mass_data(q[k])
            self.constraint_set.jacobian(u[k], q[k], data)
            try:
                self.solver.factorise(data).solve(x[k])
            except SingularError as error:
                raise singular_mass(self, error, u[k], q[k], v[k]) from error
        return x[:, : self.n_v], x[:, self.n_v :]

    def augmented(self, t: float = 0.0, q: Floats | None = None, v: Floats | None = None) -> "Augmented":
        """The equations of motion in quaternion coordinates, equation (57) of the thesis, as scipy.sparse matrices.

        t : s, for the inputs. q (n_q,), v (n_v,) : a state with unit quaternions, by default the start. The result has
        M, A, J, the right-hand side and the names of rows and columns, and can be solved; see ``Augmented``.

        Raises ModelError where q or v has another length, or a quaternion not that of one; TrialError where the mass
        matrix is singular.
        """
        from femb.system.augmented import augmented

        return augmented(self, t, q, v)

    # Constraints

    @cached_property
    def resolution(self) -> float:
        """Gaps (m) of constraints that the rounding of the positions at the start may leave."""
        return (
            ROUNDINGS
            * float(np.finfo(float).eps)
            * max(float(np.linalg.norm(frame.position)) for frame in self.layout.frames)
        )

    def constraints(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Phi and gamma (s, n_c), where J v' = gamma."""
        position, gamma = np.zeros((2, len(q), self.n_c))
        self.constraint_set.constraints(u, q, v, position, gamma)
        return position, gamma

    def constraint_rates(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """J v + Phi_t (s, n_c)."""
        force, rates = np.zeros(v.shape), np.zeros((len(q), self.n_c))
        self.constraint_set.constraint_force(u, q, v, np.zeros_like(rates), force, rates)
        return rates

    def projected(self, u: Floats, q: Floats, v: Floats, factors: Factors | None = None) -> tuple[Floats, Floats]:
        """q (n_q,), v (n_v,) projected on the constraints; see ``femb.system.constraints``."""
        return projected(self, u, q, v, factors)

    def jacobian(self, u: Floats, q: Floats) -> Sparse:
        """J (n_c, n_v) at one state, scipy.sparse."""
        data = np.zeros(self.pattern.size)
        self.constraint_set.jacobian(u, q, data)
        return self.pattern.to_csc(data)[self.n_v :, : self.n_v]

    def rigid_velocities(self, q: Floats) -> Floats:
        """(6, n_v): velocities of all frames in unit translations along, then rotations about, the inertial axes."""
        return self.places.rigid_velocities(q)

    # Energy, momentum, errors

    def energy_momentum(self, q: Floats, v: Floats, u: Floats | None = None) -> Floats:
        """(s, 8): kinetic and potential energy, linear momentum, angular momentum about the inertial origin.

        u (s, n_u) : inputs, for the turns of joints; by default as in ``discrete``.
        """
        out = np.zeros((len(q), 8))
        if u is None:
            u = np.tile(self._discrete_inputs(), (len(q), 1))
        for batch in self.batches:
            batch.energy_momentum(q, v, out)
            batch.stored(u, q, v, out[:, 1])
        return out

    def _discrete_inputs(self) -> Floats:
        """u (n_u,) with what depends on the discrete state alone; zero for the rest."""
        u = np.zeros(self.n_u)
        for each, part in self.parts_of_inputs:
            if each.of_discrete:
                u[part] = each.function(self.discrete)
        return u

    def power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers, the rate of kinetic plus potential energy."""
        force = np.zeros(v.shape)
        for batch in self.batches:
            batch.applied(u, q, v, force)
        power = np.einsum("sv,sv->s", force, v)
        if multipliers is not None:
            self.constraint_set.constraint_power(u, q, v, multipliers, power)
        result: Floats = power
        return result

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """Arguments of ``kinematics.error_norm`` before the error, for q and for v."""
        return self.places.error_scale(rtol, atol)
