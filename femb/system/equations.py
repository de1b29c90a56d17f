"""The equations of motion of a model in velocity coordinates, without the start of the motion.

    q' = H(q) v,    M(q) v' + h(q, v) + f_el(q, v) + J(q)^T lambda = f(u, q, v),    J v + Phi_t = dPhi/dt = 0

with u the inputs (factors of loads, motions of drivers) and lambda the multipliers of the constraints Phi(q, t) = 0 of
joints and drivers. M is symmetric positive definite. Evaluations do not change the object. Source: docs/theory/beam.md,
equation (1), docs/theory/rigid_body.md and docs/theory/constraints.md.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import accumulate
from math import inf, isfinite, nextafter
from typing import Any, Self

import numpy as np

from femb.base.errors import FembError, SolveError
from femb.base.types import Bools, Floats
from femb.base.values import shallow_copy, shown
from femb.elements.item import Item, ItemState
from femb.elements.joint.constraint_set import ConstraintSet
from femb.elements.joint.coordinates import JointCoordinates
from femb.elements.registry import in_order
from femb.layout.connections import check_singularities
from femb.layout.discrete import ANGLES, DiscreteState
from femb.layout.element import Batch, Input, InputError, LowRank, raised
from femb.layout.layout import Layout
from femb.layout.state import State
from femb.model.model import Model
from femb.model.placement import Placement
from femb.profiles import Constant
from femb.system.block_lu import Factors, LinearSolver, LowRankSolver, Matrix
from femb.system.budget import Budget
from femb.system.constraints import projected
from femb.system.forward import forward_each
from femb.system.pattern import Pattern
from femb.system.rigid_bodies import RigidBodies
from femb.system.velocity_coordinates import MotionEquations

# A model with numbered unknowns, the batches and constraints of its equations, and their inputs.
#
# Inputs u are the factors of loads and the motions of drivers: functions of time, of the state, or of the discrete
# state, which is constant within a step.


class NumberedModel(MotionEquations):
    """The unknowns of a model, the batches of its elements and its constraints, and their inputs u (n_u,).

    discrete : the discrete state of the inputs. layout : an empty layout with another numbering, by default ``Layout``.
    Raises ModelError with every problem of the model.
    """

    def __init__(self, model: Model, layout: Layout | None = None) -> None:
        model.check()
        placement = Placement(model)
        model = self.model = placement.model
        layout = Layout() if layout is None else layout
        layout.origin = placement.origin
        self.items: list[Item] = []
        if "ground" in placement.bodies and "ground" not in model.bodies:
            self.items.append(model.body("ground"))
        items: dict[type[Item], list[Item]] = {}
        for item in model.items():
            items.setdefault(type(item), []).append(item)
        items = {kind: items[kind] for kind in in_order(items)}
        for table in dict.fromkeys(item.table for item in model.items()):
            of_table = [item for kind, found in items.items() if kind.table == table for item in found]
            self.items += placement.in_order(of_table)
        for item in self.items:
            item.declare_dofs(layout, placement, model)
        layout.finish()
        for item in self.items:
            if item.given_quantities():
                layout.views.setdefault(item.table, {})[item.name] = partial(ItemState, item, layout)
        layout.locked_inertia = self.locked_inertia
        super().__init__(layout)
        self.pattern = Pattern.of(layout)
        self.solver: LinearSolver = LowRankSolver(self.pattern)
        self.batches: list[Batch] = []
        built: list[tuple[Batch, list[Item]]] = []
        # controllers come last: their gains may be those of the inertia of all others
        for kind, found in sorted(items.items(), key=lambda each: any(item.sets for item in each[1])):
            built += [(batch, found) for batch in kind.batches(found, layout, model)]
            self.batches = [batch for batch, _ in built]
        of_items = _merged(built)
        self.batches = [batch for batch, _ in of_items]
        self.items_of_batches = [items for _, items in of_items]
        self.singular_batches = [batch for batch in self.batches if batch.singularities]
        self.constraint_set = ConstraintSet.of(self.items, layout)
        inputs: list[Input] = []
        parts: list[Batch | ConstraintSet] = [*self.batches, self.constraint_set]
        for part in parts:
            part.first_input = sum(input_.width for input_ in inputs)
            inputs += part.inputs
            if isinstance(part, Batch):
                part.pattern = self.pattern
            part.allocate(self.pattern)
        for batch in self.batches:
            batch.bind(self.batches)
        self._set_inputs(inputs)
        self.budget = Budget(of_items, layout, bool(self.constraint_set.inputs))
        self.coordinates_of_joints = JointCoordinates(layout)
        self.discrete = self.discrete_at(layout.start_coordinates())

    def at(self, q: Floats) -> Self:
        """The system with the unwrapped angles of its joints after a step to q (n_q,)."""
        if not self.has_angles:
            return self
        return self.with_discrete(self.discrete.with_angles(self.joint_motion(q, np.zeros(self.n_v))[0]))

    def angles_along(self, q: Floats) -> Floats:
        """The joint coordinates (s + 1, m) at the present and at the ends q (s, n_q) of further steps, unwrapped."""
        joints, angles = self.coordinates_of_joints, [self.discrete.angles]
        for values in joints.motion(q, np.zeros((len(q), self.n_v)))[0]:
            angles.append(joints.unwrapped(values, angles[-1]))
        return np.array(angles)

    @cached_property
    def has_angles(self) -> bool:
        """Whether joints have angles, whose revolutions the discrete state counts."""
        return bool(self.coordinates_of_joints.is_angle.any())

    def with_discrete(self, discrete: DiscreteState) -> Self:
        """The system in another discrete state."""
        other = shallow_copy(self)
        other.discrete = discrete
        values = other.__dict__.pop("discrete_inputs", None)
        if values is not None:
            other._inputs_before = self.discrete, values
        return other

    def discrete_at(self, q: Floats) -> DiscreteState:
        """The discrete state at a start, with the angles of joints within half a revolution."""
        angles = self.coordinates_of_joints.motion(q[None], np.zeros((1, self.n_v)))[0][0]
        arrays = {name: array.at_start(angles) for name, array in self.layout.discrete.items()}
        return DiscreteState({ANGLES: angles, **arrays})

    def joint_motion(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Coordinates, unwrapped, and rates (m,) of all joints at one state, in the order of the layout."""
        values, rates = self.coordinates_of_joints.motion(q[None], v[None])
        return self.coordinates_of_joints.unwrapped(values[0], self.discrete.angles), rates[0]

    def with_inputs(self, inputs: list[Input]) -> Self:
        """The system with other functions for its inputs, of the same widths."""
        other = shallow_copy(self)
        other._set_inputs(inputs)
        return other

    def _set_inputs(self, inputs: list[Input]) -> None:
        """Set the inputs, and the part of u (n_u,) of each."""
        ends = list(accumulate(input_.width for input_ in inputs))
        self.inputs, self.n_u = inputs, ends[-1] if ends else 0
        self._no_inputs = np.zeros(self.n_u)
        self.parts_of_inputs = [
            (input_, slice(end - input_.width, end)) for input_, end in zip(inputs, ends, strict=True)
        ]
        self._held_inputs = [pair for pair in self.parts_of_inputs if pair[0].of_discrete]
        self._functions_of_discrete = [pair for pair in self._held_inputs if not pair[0].array]
        # of each array the inputs that it gives, with the first component and the width of each; those that equations
        # read tell whether a change acts
        self._inputs_of_arrays: dict[str, list[tuple[int, int, Callable[[DiscreteState], Any]]]] = {}
        for input_, part in self._held_inputs:
            if input_.array:
                entry = part.start, input_.width, input_.function
                self._inputs_of_arrays.setdefault(input_.array, []).append(entry)
        self._arrays_read = {
            input_.array for input_, _ in self._held_inputs if input_.array and not input_.recorded_only
        }
        of_time_or_state = [pair for pair in self.parts_of_inputs if not pair[0].of_discrete]
        self._constant_inputs = [pair for pair in of_time_or_state if isinstance(pair[0].function, Constant)]
        self._other_inputs = [pair for pair in of_time_or_state if not isinstance(pair[0].function, Constant)]
        self.__dict__.pop("discrete_inputs", None)
        self._inputs_before: tuple[DiscreteState, Floats] | None = None
        self.inputs_of_state = any(input_.of_state for input_ in inputs)
        self._functions_of_time = [input_.function for input_ in inputs]
        of_time = bool(self._other_inputs) and not any(input_.of_state or input_.of_discrete for input_ in inputs)
        self._numbers_of_time = of_time and all(input_.width == 1 for input_ in inputs)

    @cached_property
    def rigid(self) -> RigidBodies | None:
        """Compiled steps, if there are only rigid bodies, point masses and joints, without inputs."""
        return None if self.n_u else RigidBodies.of(self)

    @cached_property
    def switches(self) -> bool:
        """Whether a stiffness may be discontinuous, so that the matrix of an earlier step may not be reused."""
        return any(batch.switches for batch in self.batches) or any(input_.differentiated for input_ in self.inputs)

    def gaps(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Functions (s, k) that are zero where a stiffness is discontinuous, and their rates, at s states."""
        pairs = [batch.gaps(self.discrete, q, v) for batch in self.batches if batch.switches]
        empty = np.empty((len(q), 0))
        return np.hstack([empty, *(gap for gap, _ in pairs)]), np.hstack([empty, *(rate for _, rate in pairs)])

    @cached_property
    def limits_steps(self) -> bool:
        """Whether elements limit the length of steps."""
        return any(batch.limits_steps for batch in self.batches)

    def longest_step(self, q: Floats, v: Floats) -> float:
        """The longest step (s) from one state that the elements admit; infinity for any."""
        return min((batch.longest_step(q, v) for batch in self.batches if batch.limits_steps), default=inf)

    @cached_property
    def has_gaps(self) -> bool:
        """Whether there are functions of ``gaps``."""
        if not any(batch.switches for batch in self.batches):
            return False
        no_states = np.empty((0, self.n_q)), np.empty((0, self.n_v))
        return bool(self.gaps(*no_states)[0].shape[1])

    @property
    def breakpoints(self) -> list[float]:
        """Instants where an input is not smooth, sorted."""
        return sorted({t for input_ in self.inputs for t in input_.breakpoints})

    def state(self, t: float, q: Floats, v: Floats) -> State:
        """The named bodies, beams and joints at the time t, s, with the state q, v."""
        return State(self.layout, t, q, v, self.joint_motion, partial(self.left_accelerations, t, q, v))

    def left_accelerations(self, t: float, q: Floats, v: Floats) -> Floats:
        """Accelerations (n_v,) at the state q, v, with the inputs just before the time t (s)."""
        raise NotImplementedError

    def locked_inertia(self) -> Floats:
        """(3, 3) of the whole model about its mass centre at the start, with what moves within it at rest."""
        raise NotImplementedError

    def inputs_at(self, t: float, q: Floats, v: Floats) -> Floats:
        """u (n_u,) at time t and state q (n_q,), v (n_v,).

        Raises InputError where an input is not finite; SolveError, with its cause, where a user's function fails.
        """
        u = self._numbers_at(t)
        if u is not None:
            return u
        u = self.discrete_inputs.copy()
        if not self._other_inputs:
            return u
        state = self.state(t, q, v) if self.inputs_of_state else None
        for input_, part in self._other_inputs:
            try:
                value = input_.function(t, state) if input_.of_state else input_.function(t)
            except FembError:
                raise
            except Exception as error:
                raise raised(input_.label, t, error) from error
            if input_.of_state and np.shape(value) != (input_.width,):
                raise SolveError(f"{input_.label}: got {shown(value)} at t = {t:.6g} s, wanted {input_.width} numbers")
            self._set_input(u, input_, part, value, f" at t = {t:.6g} s")
        return u

    @cached_property
    def discrete_inputs(self) -> Floats:
        """(n_u,) the inputs of the discrete state and constants, and zeros for the others. Raises as ``inputs_at``."""
        discrete = self.discrete
        if self._inputs_before is None:
            u = np.zeros(self.n_u)
            for input_, part in self._constant_inputs:
                u[part] = input_.function(0.0)
            changed = list(self._inputs_of_arrays)
        else:
            before, values = self._inputs_before
            u, changed = values.copy(), discrete.changed_since(before)
        inputs_of = self._inputs_of_arrays
        for name in changed:
            for first, width, function in inputs_of.get(name, ()):
                if width == 1 and discrete[name].size == 1:
                    u[first] = discrete.number(name)
                else:
                    u[first : first + width] = function(discrete)
        for input_, part in self._functions_of_discrete:
            self._set_input(u, input_, part, input_.function(discrete), "")
        if not isfinite(u.dot(self._no_inputs)):  # faster than their sum
            for input_, part in self._held_inputs:  # raises, and names it
                self._set_input(u, input_, part, u[part], "")
        return u

    def inputs_change(self, other: DiscreteState) -> bool:
        """Whether an input that the equations read has another value in another discrete state."""
        before = self.discrete
        if not self._arrays_read.isdisjoint(other.changed_since(before)):
            return True
        return any(
            np.asarray(input_.function(before)).tobytes() != np.asarray(input_.function(other)).tobytes()
            for input_, _ in self._functions_of_discrete
        )

    @staticmethod
    def _set_input(u: Floats, input_: Input, part: slice, value: Any, when: str) -> None:
        try:
            u[part] = value
        except (TypeError, ValueError) as error:
            wanted = f"{input_.width} numbers" if input_.width > 1 else "a number"
            raise SolveError(f"{input_.label}: got {shown(value)}{when}, wanted {wanted}") from error
        if not all(map(isfinite, u[part].tolist())):
            raise InputError(f"{input_.label}: got {shown(value)}{when}, which is not finite")

    def _numbers_at(self, t: float) -> Floats | None:
        """u (n_u,) at time t of inputs that are all numbers of time; None for others, and where one is no finite
        number: ``inputs_at`` tells which."""
        if not self._numbers_of_time:
            return None
        try:
            values = [function(t) for function in self._functions_of_time]
            return np.array(values, dtype=float) if isfinite(sum(values)) else None
        except Exception:
            return None

    def inputs_along(self, times: Sequence[float], q: Floats, v: Floats, out: Floats) -> None:
        """Set out (s, n_u) to ``inputs_at`` s times, s, and one state, on which none depends. Raises as that."""
        if self._other_inputs:
            try:
                if len(self._other_inputs) < len(self.inputs):
                    out[:] = self.discrete_inputs
                for input_, part in self._other_inputs:
                    function, place = input_.function, part.start if input_.width == 1 else part
                    for k, t in enumerate(times):
                        out[k, place] = function(t)
                if isfinite(out.sum()):
                    return
            except Exception:
                pass
            for k, t in enumerate(times):
                out[k] = self.inputs_at(t, q, v)
        elif self.n_u:
            out[:] = self.discrete_inputs

    def inputs_of_times(self, times: Floats, angles: Floats) -> Floats | None:
        """u (s, n_u) at s times with the joint coordinates ``angles`` (s, m) in the discrete state, of inputs that do
        not depend on the state; None if one fails, as ``inputs_at`` will tell."""
        u = np.empty((len(times), self.n_u))
        instants = times.tolist()
        for input_, part in self.parts_of_inputs:
            try:
                if input_.of_discrete:
                    u[:, part] = input_.at_angles(self.discrete, angles)
                else:
                    values = np.array([*map(input_.function, instants)], dtype=float)
                    u[:, part] = values.reshape(len(times), input_.width)
            except Exception:
                return None
        return u if np.isfinite(u).all() else None


def _merged(batches: list[tuple[Batch, list[Item]]]) -> list[tuple[Batch, list[Item]]]:
    """The batches, each with its items, with one joined batch for every class that ``joins``."""
    single = [(batch, items) for batch, items in batches if not batch.joins]
    groups: dict[type, list[tuple[Batch, list[Item]]]] = {}
    for batch, items in batches:
        if batch.joins:
            groups.setdefault(type(batch), []).append((batch, items))
    joined = [
        group[0]
        if len(group) == 1
        else (group[0][0].joined([batch for batch, _ in group]), [item for _, items in group for item in items])
        for group in groups.values()
    ]
    return single + joined


class Equations(NumberedModel):
    """The equations of motion of the elements and constraints of a model.

    q (n_q,) m, - : coordinates. v (n_v,) m/s, rad/s : velocities, a (n_v,) their rates. u (n_u,) : inputs, in their
    units. multipliers (n_c,) N, N m. t : s. Of s states they are (s, n_q) and so on. Matrices are block data of
    ``pattern`` with n = n_v + n_c rows and columns: velocities, then multipliers.
    """

    audited = True  # whether output instants have the unbalanced forces of the audit
    forces_recorded = True  # whether they have multipliers, and the accelerations that follow from the forces

    def without_rows(self, rows: Bools) -> Self:
        """The system with these rows of constraints (n_c,) bool left out of every solution.

        A dependent row becomes independent at a state slightly off the constraints, as within a step, and would block
        the motion of the mechanism.
        """
        other = shallow_copy(self)
        other.solver = self.solver.without(rows)
        return other

    def with_gravity(self, gravity: Floats) -> Self:
        """The equations with another uniform acceleration of weight, gravity (3,), m/s2, inertial axes."""
        other = shallow_copy(self)
        other.batches = [batch.weighed(gravity) for batch in self.batches]
        other.__dict__.pop("rigid", None)
        return other

    def balanced(self) -> Self:
        """The equations without forces of known phase, as the imbalance and the harmonics of wheels: in the mean over
        turns at a steady speed they change neither forces nor their derivatives."""
        disturbing = any(batch.disturbing for batch in self.batches)
        return self.with_batches([batch.balanced() for batch in self.batches]) if disturbing else self

    def with_own_strains(self, q: Floats, own: Sequence[Floats]) -> Self:
        """The equations with strains of their own; ``tangent`` at q takes the stresses of the strains ``own``, arrays
        (e,) by batch, and so do the forces of batches with ``own_force``.
        """
        return self.with_batches([batch.strained(q, each) for batch, each in zip(self.batches, own, strict=True)])

    def with_batches(self, batches: list[Batch]) -> Self:
        """The equations with other batches of the same elements."""
        other = shallow_copy(self)
        other.batches = batches
        return other

    def check_singularities(self, t: float, q: Floats, v: Floats, last: bool = False) -> None:
        """Refuse a step from t with the states q (s, n_q), v (s, n_v) that meets a singular configuration.

        Raises TrialError if a shorter step can approach it further; SingularityError if not, or if the step is the
        ``last``.
        """
        for batch in self.singular_batches:
            check_singularities(batch, t, q, v, last)

    def equations(self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats) -> Floats:
        """(s, n): M a + h + f_el + J^T lambda - f, the residual with the forces of constraints, and J v + Phi_t."""
        force = self.residual(u, q, v, a)
        if not self.n_c:
            return force
        rates = np.zeros(multipliers.shape)
        self.constraint_set.constraint_force(u, q, v, multipliers, force, rates)
        return np.concatenate([force, rates], axis=1)

    def exact_matrices(
        self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats
    ) -> tuple[Floats, Matrix, Matrix]:
        """Matrices with the exact derivatives at the accelerations a (n_v,): those of beams take longer to
        compile, and let Newton's iteration converge where small stresses of slender members stiffen them."""
        damping, stiffness = self.tangent(u, q, v, a)
        return self.mass_data(q), *self._constrained(u, q, v, multipliers, damping, stiffness)

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, constraints: bool = False) -> tuple[Floats, Floats]:
        """d(residual)/dv and d(residual)/dq H at one state, exact, at constant inputs; block data.

        The derivatives of some forces are in ``low_rank_tangent`` instead.
        constraints : whether to add J and J^T, as ``matrices`` does, and d(J v + Phi_t)/dq H in the rows of the
        multipliers. ``femb.system.constraints`` has d(J^T lambda)/dq H.
        """
        damping, stiffness = np.zeros((2, self.pattern.size))
        for batch in self.batches:
            batch.tangent(u, q, v, a, damping, stiffness)
        if constraints:
            self.constraint_set.jacobian(u, q, damping)
            self.constraint_set.constraint_tangent(u, q, v, np.zeros(self.n_c), stiffness)
        return damping, stiffness

    def low_rank_tangent(self, u: Floats, q: Floats, v: Floats) -> LowRank:
        """The part of d(residual)/dv and d(residual)/dq H at one state that is not in ``tangent``."""
        parts = [batch.low_rank_tangent(u, q, v) for batch in self.batches]
        return LowRank.joined([part for part in parts if part is not None], self.n_v)

    def left_accelerations(self, t: float, q: Floats, v: Floats) -> Floats:
        return self.acceleration(self.inputs_at(nextafter(t, -inf), q, v), q, v)

    def locked_inertia(self) -> Floats:
        return self.mass_properties_at(self.layout.start_coordinates())[2]

    def mass_properties_at(self, q: Floats) -> tuple[float, Floats, Floats]:
        """Mass (kg), mass centre (3,) m from ``layout.origin`` and inertia (3, 3) kg m2 about it, inertial axes, at q.

        From the momenta of six rigid motions of the whole model.
        """
        found = np.zeros((6, 8))
        for k, v in enumerate(self.rigid_velocities(q)):
            for batch in self.batches:
                batch.energy_momentum(q[None], v[None], found[k : k + 1])
        momenta = found[:, 2:]
        mass = momenta[0, 0]
        # rotation about the origin: linear momentum omega x m c
        centre = np.array([momenta[5, 1], momenta[3, 2], momenta[4, 0]]) / mass
        about_origin = momenta[3:, 3:].T
        inertia = about_origin - mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        return float(mass), centre, inertia

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
        """v' (s, n_v) and multipliers (s, n_c) of s states; see ``forward``. Raises TrialError."""
        return forward_each(self, u, q, v)

    # Constraints

    def projected(self, u: Floats, q: Floats, v: Floats, factors: Factors | None = None) -> tuple[Floats, Floats]:
        """q (n_q,), v (n_v,) on the constraints, by ``factors`` where given; see ``femb.system.constraints``."""
        return projected(self, u, q, v, factors)

    # Energy, momentum

    def energy_momentum(self, q: Floats, v: Floats, u: Floats | None = None) -> Floats:
        """(s, 8): kinetic and potential energy, linear momentum, angular momentum about the inertial origin.

        u (s, n_u) : inputs, for the unwrapped angles of joints; by default those of ``discrete``.
        """
        out = np.zeros((len(q), 8))
        if u is None:
            u = np.zeros((len(q), self.n_u))
            for input_, part in self.parts_of_inputs:
                if input_.of_discrete:
                    u[:, part] = input_.function(self.discrete)
        for batch in self.batches:
            batch.energy_momentum(q, v, out)
            batch.potential_energy(u, q, v, out[:, 1])
        return out

    def budget_rates(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s, n_w): power and rates of momentum of loads, dampers and drivers; the columns are those of ``budget``."""
        return self.budget.rates(self, u, q, v, multipliers)

    def power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers, which is the rate of kinetic plus potential energy."""
        return self.budget.total(self.budget_rates(u, q, v, multipliers))
