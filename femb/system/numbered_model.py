"""A model with numbered unknowns, the batches and constraints of its equations, and their inputs.

Inputs u are the factors of loads and the motions of drivers: functions of time, of the state, or of the discrete state,
which is constant within a step.
"""

from functools import cache, cached_property
from math import isfinite
from typing import Self

import numpy as np

from femb.base.copies import shallow_copy
from femb.base.errors import FembError, SolveError
from femb.base.types import Floats
from femb.base.values import shown
from femb.elements import CATALOGUE, Ground
from femb.elements.item import Item
from femb.elements.joint.constraint_set import ConstraintSet
from femb.elements.joint.coordinates import JointCoordinates
from femb.layout.discrete import DiscreteState
from femb.layout.element import Batch, Input, InputError, raised
from femb.layout.layout import Layout
from femb.layout.state import State
from femb.model.model import Model
from femb.model.placement import Placement
from femb.system.block_lu import LinearSolver
from femb.system.low_rank_solver import LowRankSolver
from femb.system.pattern import Pattern
from femb.system.rigid import RigidBodies
from femb.system.velocity_coordinates import VelocityCoordinates


@cache
def _by_table(catalogue: tuple[type[Item], ...]) -> list[list[type[Item]]]:
    """The classes of items of each table."""
    return [[kind for kind in catalogue if kind.table == table] for table in dict.fromkeys(k.table for k in catalogue)]


class NumberedModel(VelocityCoordinates):
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
            self.items.append(Ground())
        items: dict[type[Item], list[Item]] = {kind: [] for kind in CATALOGUE}
        for item in model.items():
            items[type(item)].append(item)
        for kinds in _by_table(CATALOGUE):
            self.items += placement.in_order([item for kind in kinds for item in items[kind]])
        for item in self.items:
            item.declare_dofs(layout, placement, model)
        layout.finish()
        super().__init__(layout)
        self.pattern = Pattern(layout)
        self.solver: LinearSolver = LowRankSolver(self.pattern)
        self.batches = _merged(
            [batch for kind in CATALOGUE if items[kind] for batch in kind.batches(items[kind], layout, model)]
        )
        self.singular_batches = [batch for batch in self.batches if batch.singularities]
        self.constraint_set = ConstraintSet.of(self.items, layout)
        inputs: list[Input] = []
        parts: list[Batch | ConstraintSet] = [*self.batches, self.constraint_set]
        for part in parts:
            part.first_input = sum(input_.width for input_ in inputs)
            inputs += part.inputs
            part.allocate(self.pattern)
        for batch in self.batches:
            batch.bind(self.batches)
        self._set_inputs(inputs)
        self.coordinates_of_joints = JointCoordinates(layout)
        self.discrete = self.discrete_at(layout.start_coordinates())

    def at(self, q: Floats) -> Self:
        """The same system with the unwrapped angles of its joints after a step to q (n_q,)."""
        if not self.has_angles:
            return self
        angles, discrete = self.joint_motion(q, np.zeros(self.n_v))[0], self.discrete
        return self.with_discrete(DiscreteState(angles, discrete.engaged, discrete.latched))

    def angles_along(self, q: Floats) -> Floats:
        """The joint coordinates (s + 1, m) at the present and at the ends q (s, n_q) of further steps, unwrapped."""
        joints, angles = self.coordinates_of_joints, [self.discrete.angles]
        for values in joints.measure(q, np.zeros((len(q), self.n_v)))[0]:
            angles.append(joints.unwrapped(values, angles[-1]))
        return np.array(angles)

    @cached_property
    def has_angles(self) -> bool:
        """Whether joints have angles, whose revolutions the discrete state counts."""
        return bool(self.coordinates_of_joints.is_angle.any())

    def with_discrete(self, discrete: DiscreteState) -> Self:
        """The same system in another discrete state."""
        other = shallow_copy(self)
        other.discrete = discrete
        return other

    def discrete_at(self, q: Floats) -> DiscreteState:
        """The discrete state at a start: angles within half a revolution, latches as given, at their coordinates."""
        latches = self.layout.latches
        angles = self.coordinates_of_joints.measure(q[None], np.zeros((1, self.n_v)))[0][0]
        engaged = np.array([float(latch.item.engaged) for latch in latches])
        return DiscreteState(angles, engaged, np.array([angles[latch.coordinate] for latch in latches]))

    def joint_motion(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Coordinates, unwrapped, and rates (m,) of all joints at one state, in the order of the layout."""
        values, rates, _ = self.coordinates_of_joints.measure(q[None], v[None])
        return self.coordinates_of_joints.unwrapped(values[0], self.discrete.angles), rates[0]

    def with_inputs(self, inputs: list[Input]) -> Self:
        """The same system with other functions for its inputs, of the same widths."""
        other = shallow_copy(self)
        other._set_inputs(inputs)
        return other

    def _set_inputs(self, inputs: list[Input]) -> None:
        """Set the inputs, and the part of u (n_u,) of each."""
        ends = np.cumsum([input_.width for input_ in inputs], dtype=int).tolist()
        self.inputs, self.n_u = inputs, ends[-1] if ends else 0
        self.parts_of_inputs = [
            (input_, slice(end - input_.width, end)) for input_, end in zip(inputs, ends, strict=True)
        ]
        self.inputs_of_state = any(input_.of_state for input_ in inputs)
        self.inputs_of_discrete = any(input_.of_discrete for input_ in inputs)
        self._functions_of_time = [input_.function for input_ in inputs]
        of_time = not any(input_.of_state or input_.of_discrete for input_ in inputs)
        self._numbers_of_time = of_time and all(input_.width == 1 for input_ in inputs)

    @cached_property
    def rigid(self) -> RigidBodies | None:
        """Compiled steps, if there are only rigid bodies, point masses and joints, without inputs."""
        return RigidBodies.of(self)

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
    def has_gaps(self) -> bool:
        """Whether there are functions of ``gaps``."""
        no_states = np.empty((0, self.n_q)), np.empty((0, self.n_v))
        return bool(self.gaps(*no_states)[0].shape[1])

    @property
    def breakpoints(self) -> list[float]:
        """Instants where an input is not smooth, sorted."""
        return sorted({t for input_ in self.inputs for t in input_.breakpoints})

    def state(self, t: float, q: Floats, v: Floats) -> State:
        """The named bodies, beams and joints at the time t, s, with the state q, v."""
        return State(self.layout, t, q, v, self.joint_motion)

    def inputs_at(self, t: float, q: Floats, v: Floats) -> Floats:
        """u (n_u,) at time t and state q (n_q,), v (n_v,).

        Raises InputError where an input is not finite; SolveError, with its cause, where a user's function fails.
        """
        u = self._numbers_at(t)
        if u is not None:
            return u
        u = np.empty(self.n_u)
        state = self.state(t, q, v) if self.inputs_of_state else None
        for input_, part in self.parts_of_inputs:
            try:
                if input_.of_discrete:
                    value = input_.function(self.discrete)
                else:
                    value = input_.function(t, state) if input_.of_state else input_.function(t)
            except FembError:
                raise
            except Exception as error:
                raise raised(input_.label, t, error) from error
            if input_.of_state and np.shape(value) != (input_.width,):
                raise SolveError(f"{input_.label}: got {shown(value)} at t = {t:.6g} s, wanted {input_.width} numbers")
            try:
                u[part] = value
            except (TypeError, ValueError) as error:
                wanted = f"{input_.width} numbers" if input_.width > 1 else "a number"
                raise SolveError(f"{input_.label}: got {shown(value)} at t = {t:.6g} s, wanted {wanted}") from error
            if not all(map(isfinite, u[part].tolist())):
                raise InputError(f"{input_.label}: got {shown(value)} at t = {t:.6g} s, which is not finite")
        return u

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

    def inputs_of_times(self, times: Floats, angles: Floats) -> Floats | None:
        """u (s, n_u) at s times with the joint coordinates ``angles`` (s, m) in the discrete state, of inputs that do
        not depend on the state; None if one fails, as ``inputs_at`` will tell."""
        u = np.empty((len(times), self.n_u))
        instants, engaged, latched = times.tolist(), self.discrete.engaged, self.discrete.latched
        discrete = [DiscreteState(row, engaged, latched) for row in angles] if self.inputs_of_discrete else []
        for input_, part in self.parts_of_inputs:
            try:
                arguments = discrete if input_.of_discrete else instants
                values = np.array([input_.function(each) for each in arguments], dtype=float)
                u[:, part] = values.reshape(len(times), input_.width)
            except Exception:
                return None
        return u if np.isfinite(u).all() else None


def _merged(batches: list[Batch]) -> list[Batch]:
    """The batches, with one joined batch for every class that ``joins``."""
    single = [batch for batch in batches if not batch.joins]
    groups: dict[type, list[Batch]] = {}
    for batch in batches:
        if batch.joins:
            groups.setdefault(type(batch), []).append(batch)
    return single + [group[0].joined(group) for group in groups.values()]
