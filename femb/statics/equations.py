"""The static equations of a system by its load factor: forces, reactions, constraints and their exact tangent.

    f(q, p) + J^T lambda = 0,    Phi(q, p) = 0

Source: docs/theory/statics.md, equations (1) and (2).
"""

from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self, TypeVar

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.layout.discrete import DiscreteState
from femb.layout.element import LowRank
from femb.layout.layout import Layout
from femb.layout.protocols import LowRankTangent
from femb.numerics.newton import LARGEST_ROTATION, Iteration, largest
from femb.small_motions.eigenproblem import coupled, within
from femb.small_motions.point import without_derivatives
from femb.steppers.diagnosis import Repetition
from femb.system.moving_ground import CoupledLayout
from femb.system.pattern import Pattern
from femb.system.rigid_motion import changes_of_motions, rigid_motions
from femb.system.system import System

WEIGHT = "gravity"  # names the weight among the loads
OF_STRAINS = 1e-12  # weight of internal coordinates beside rotations


def is_named(label: str, names: Collection[str]) -> bool:
    """Whether an input is of one of the loads of these names."""
    return any(label == f"loads.{name}" or label.startswith(f"loads.{name}.") for name in names)


def weights_of(layout: Layout) -> Floats:
    """(n_v,) by which squares of displacements, also of modes (1/m2), and rotations are summed; a little for
    strains."""
    weights = np.full(layout.n_v, OF_STRAINS)
    extent = max(float(np.ptp([frame.position for frame in layout.frames], axis=0).max()), 1e-3 * layout.extent)
    for frame, j in zip(layout.frames, layout.frame_v, strict=True):
        if frame.freedom:
            weights[j : j + 3] = 1.0 / (extent or 1.0) ** 2
        if frame.freedom == 6:
            weights[j + 3 : j + 6] = 1.0
    for internal, j in zip(layout.internal, layout.internal_v, strict=True):
        if not internal.quantity.first_order and internal.quantity.unit != "-":
            weights[j] = 1.0 / (extent or 1.0) ** 2 if internal.quantity.unit == "m" else 1.0
    return weights


@dataclass(frozen=True, eq=False)
class Unbalanced:
    """The system under the loads of a state, with own strains if there are any, the state's inputs, velocities and
    accelerations, the forces f (n_v,), and the static equations (n_v + n_c,)."""

    system: System
    state: tuple[Floats, Floats, Floats]
    force: Floats
    equations: Floats


class StaticEquations:
    """The static equations of a system, whose free structures keep the ``motions`` of its start.

    twin : the same model in a layout in which the tangent is complete, with the same coordinates; the system itself
    where there are no constraints. The load factor multiplies loads, as they are at ``time`` (s), but those named in
    ``constant``, and the weight where ``weight`` is true; drivers are where they are at the load factor times ``time``.
    """

    def __init__(self, system: System, time: float = 0.0, constant: Collection[str] = (), weight: bool = False) -> None:
        self.twin = system
        if system.n_c:
            self.twin = self._with(CoupledLayout())
        laws = self.laws(system.inputs_at(time, system.q0, system.v0), system.q0, system.v0)
        if within(self.twin, laws)[1].rank:
            layout = CoupledLayout()
            layout.coupled = coupled(self.twin, laws)
            self.twin = self._with(layout)
        self.motions, self.time, self.repetition = rigid_motions(self.twin), time, Repetition()
        # first-order states stay as they are at the start: they have no rows here
        self.states, self.values = self.twin.layout.first_order_v, system.v0[system.layout.first_order_v]
        beside = filter(None, (item.beside_statics(time) for item in system.model.items()))
        self.left_out = [f"{text}: an equilibrium leaves it out" for text in beside]
        self.in_orbit = any(item.follows_origin for item in system.model.items())
        # functions of the state that the tangents of elements do not have
        self.functions = [each.label for each in self.twin.inputs if each.of_state and not each.differentiated]
        self.functions += [
            label
            for label in without_derivatives(self.twin, time, system.q0, np.zeros(system.n_v))
            if label not in self.functions
        ]
        self.gravity = np.array(system.model.gravity) if weight else None
        held = {id(each) for each in self.twin.constraint_set.inputs}
        loads = [
            (each.width, each.factor and each.label.startswith("loads.") and not is_named(each.label, constant))
            for each in self.twin.inputs
        ]
        self.loads = np.concatenate([[], *(np.full(width, on) for width, on in loads)]).astype(bool)
        # what drivers prescribe is held: no rates, no accelerations
        driven = [id(each) in held and not (each.of_discrete or each.of_state) for each in self.twin.inputs]
        self.driven = np.concatenate(
            [[], *(np.full(e.width, on) for e, on in zip(self.twin.inputs, driven, strict=True))]
        )
        self.driven = self.driven.astype(bool)
        rates = [
            np.arange(input_.width) >= max(1, input_.width - 6) if on else np.zeros(input_.width)
            for input_, on in zip(self.twin.inputs, driven, strict=True)
        ]
        self.rates = np.concatenate([[], *rates]).astype(bool)

    def _with(self, layout: Layout) -> System:
        return System(self.twin.model, assemble=True, layout=layout).with_discrete(self.twin.discrete)

    def laws(self, u: Floats, q: Floats, v: Floats) -> LowRank:
        """The derivatives of continuous laws, which couple all that they read with all that they set."""
        few = [each for each in self.twin.batches if isinstance(each, LowRankTangent) and each.feeds_back]
        parts = [each.low_rank_tangent(u, q, v) for each in few]
        return LowRank.joined([part for part in parts if part is not None], self.twin.n_v)

    def of_laws(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats] | None:
        """Damping and stiffness of continuous laws, block data; None where there are none."""
        laws = self.laws(u, q, v)
        return within(self.twin, laws)[0] if laws.rank else None

    @cached_property
    def weights(self) -> Floats:
        """(n_v,) by which squares of displacements and rotations are summed."""
        return weights_of(self.twin.layout)

    def advanced(self, q: Floats) -> None:
        """Count the turns of joints from an accepted state on, and ask functions of users for the same again."""
        self.twin = self.twin.at(q)
        self.repetition.check(self.twin, self.time, q, np.zeros(self.twin.n_v))

    def beyond(self, q: Floats) -> tuple[list[str], DiscreteState]:
        """Labels of what is beyond the place where it snaps at q (n_q,), and the discrete state after that, as in a
        run."""
        labels: list[str] = []
        discrete, updates = self.twin.discrete, self.twin.layout.updates
        snapping = [each for each in updates if each.crossing is not None and not each.rows]
        state = self.twin.state(self.time, q, np.zeros(self.twin.n_v)) if snapping else None
        for update in snapping:
            if state is None or update.crossing is None or not update.watches(discrete):
                continue
            if update.crossing(discrete).value(self.time, state) > 0.0:
                discrete, labels = update.changed(self.time, state, discrete), [*labels, update.label]
        return labels, discrete

    def under(self, load: float) -> System:
        """The twin under its weight at a load factor."""
        return self.twin if self.gravity is None else self.twin.with_gravity(load * self.gravity)

    def inputs(self, q: Floats, v: Floats, load: float) -> Floats:
        """u (n_u,) at a load factor, with the rates of drivers."""
        twin = self.twin.at(q)
        u = twin.inputs_at(self.time, q, v)
        u = np.where(self.loads, load, 1.0) * u
        if self.time and self.driven.any():
            u = np.where(self.driven, twin.inputs_at(load * self.time, q, v), u)
        return u

    def without_load(self, q: Floats) -> bool:
        """Whether the load factor changes nothing, since all loads that it multiplies are zero at their instant."""
        if self.gravity is not None or (self.time and self.driven.any()) or not self.loads.any():
            return False
        return not np.any(self.twin.at(q).inputs_at(self.time, q, self.motion(q)[0])[self.loads])

    def motion(self, q: Floats) -> tuple[Floats, Floats]:
        """Velocities and accelerations (n_v,) of the rigid motions at q."""
        v, a = np.zeros((2, self.twin.n_v))
        for each in self.motions:
            each.state(q, v, a)
        v[self.states] = self.values
        return v, a

    def about_axes(self, q: Floats, part: float = 1.0) -> Self:
        """The equations with axes of rotation that stay where they are at q, as ``matrices`` takes them for.

        part : of the rates of rotation.
        """
        other = copy(self)
        other.motions = [each.about(q, part) for each in self.motions]
        return other

    def state(self, q: Floats, load: float) -> tuple[Floats, Floats, Floats]:
        """(u, v, a): inputs, velocities and accelerations at a load factor."""
        v, a = self.motion(q)
        return np.where(self.rates, 0.0, self.inputs(q, v, load)), v, a

    def forces(self, q: Floats, load: float) -> tuple[tuple[Floats, Floats, Floats], Floats]:
        """(u, v, a) at a load factor, and the forces (n_v,) without reactions."""
        u, v, a = self.state(q, load)
        return (u, v, a), self.falling(q, self.under(load).residual(u[None], q[None], v[None], a[None])[0])

    def falling(self, q: Floats, force: Floats) -> Floats:
        """A force (n_v,), in orbit without what accelerates the mass centres of free structures, which fall freely."""
        force[self.states] = 0.0
        if not self.in_orbit:
            return force
        mass, whole = self.twin.mass_data(q), self.twin.rigid_velocities(q)[:3]
        for motion in self.motions:
            if motion.free:
                translations = np.where(motion.mask, whole, 0.0)
                fall = np.append(translations.T @ (translations @ force) / motion.mass, np.zeros(self.twin.n_c))
                force = force - self.twin.solver.multiply(mass, fall)[: self.twin.n_v]
        return force

    def by_load(self, q: Floats, load: float) -> Floats:
        """Change (n_v + n_c,) of the static equations with the load factor, in which loads and weight are linear; of
        heating, which is not quite, that with an increase by one."""
        (u, v, a), force = self.forces(q, load)
        more = np.where(self.loads, self.inputs(q, v, load + 1.0), u)
        change: Floats = self.under(load + 1.0).residual(more[None], q[None], v[None], a[None])[0] - force
        change[self.states] = 0.0
        if not self.twin.n_c:
            return change
        rates = self.twin.constraint_rates(self.inputs(q, v, load)[None], q[None], np.zeros_like(v)[None])[0]
        return np.concatenate([change, self.time * rates])

    def unbalanced(
        self, q: Floats, multipliers: Floats, load: float, own: Sequence[Floats] | None = None
    ) -> Unbalanced:
        """The static equations at a state, with the forces linear about own strains by batch if these are given."""
        twin, system, state = self.twin, self.under(load), self.state(q, load)
        strained = system if own is None else system.with_own_strains(q, own)
        u, v, a = (x[None] for x in state)
        linear = list(system.batches)
        for k, batch in system.strained_batches.items():
            if batch.own_force:
                linear[k] = strained.batches[k]
        out = system.evaluation.of(linear).residual(u, q[None], v, a)
        force = self.falling(q, out[0])
        if not twin.n_c:
            return Unbalanced(strained, state, force, force)
        gaps = twin.position_residual(state[0], q, np.zeros(twin.n_v))
        equations = np.concatenate([force + self.reactions(state[0], q, multipliers), gaps])
        return Unbalanced(strained, state, force, equations)

    def matrices(
        self, state: tuple[Floats, Floats, Floats], q: Floats, multipliers: Floats, system: System | None = None
    ) -> tuple[Floats, Floats]:
        """The stiffness with that of the reactions, and J with J^T, as block data.

        That of the rotation is part of it if its axes stay where they are: K + C dv/dq + M da/dq.

        system : the twin under its weight, with own strains.
        """
        system = self.twin if system is None else system
        u, v, a = state
        damping, stiffness = system.tangent(u, q, v, a)
        if (of_laws := self.of_laws(u, q, v)) is not None:
            damping, stiffness = damping + of_laws[0], stiffness + of_laws[1]
        if any(each.point is not None for each in self.motions):
            pattern = system.pattern
            V, A = changes_of_motions(self.motions, q)
            rotation = pattern.to_csc(damping) @ V + pattern.to_csc(system.mass_data(q)) @ A
            stiffness = stiffness + pattern.from_csc(rotation)
        jacobian = np.zeros(system.pattern.size)
        system.constraint_set.jacobian(u, q, jacobian)
        system.constraint_set.constraint_tangent(u, q, np.zeros_like(v), multipliers, stiffness)
        if self.states.size:
            of_states, diagonal = self._of_states
            stiffness[of_states], stiffness[diagonal] = 0.0, 1.0
        return stiffness, jacobian

    @cached_property
    def _of_states(self) -> tuple[Bools, Bools]:
        """The entries of block data in rows or columns of first-order states, and those of them on the diagonal."""
        flags = np.zeros(self.twin.n_v + self.twin.n_c, dtype=bool)
        flags[self.states] = True
        return self.twin.pattern.entries_of(flags)

    def scales(self, stiffness: Floats, jacobian: Floats) -> tuple[Floats, Floats]:
        """Scales (n_v + n_c,) that make equations by length, angle and row alike, whatever the size of the model, and
        weights (n_c,) by which J^T J is as large as the stiffness; both of block data."""
        of_rows, size = self.row_sizes(jacobian), largest(self._alike * stiffness) or 1.0
        return np.append(self.sizes, size / of_rows), size / of_rows**2

    @cached_property
    def _alike(self) -> Floats:
        """Scales of rows times those of columns, by entries of block data; zero for those of constraints."""
        (rows, columns), scales = self.twin.pattern.rows_columns(), np.append(self.sizes, np.zeros(self.twin.n_c))
        return np.asarray(scales[rows] * scales[columns])

    @cached_property
    def _of_rows(self) -> tuple[Ints, Ints, Floats]:
        """The entries of J in block data, their rows, and sizes of the displacements of their columns."""
        (rows, columns), n_v = self.twin.pattern.rows_columns(), self.twin.n_v
        own = np.flatnonzero((rows >= n_v) & (columns < n_v))
        return own, rows[own] - n_v, self.sizes[columns[own]]

    @cached_property
    def sizes(self) -> Floats:
        """(n_v,) the extent for displacements, one for rotations and strains."""
        return np.where(self.weights > OF_STRAINS, 1.0 / np.sqrt(self.weights), 1.0)

    def row_sizes(self, jacobian: Floats) -> Floats:
        """(n_c,) sizes of the rows of J, block data, by displacements of the extent and rotations of one; else one."""
        own, rows, moved = self._of_rows
        sizes = np.sqrt(np.bincount(rows, (jacobian[own] * moved) ** 2, self.twin.n_c))
        return np.where(sizes > 0.0, sizes, 1.0)

    def products(self, u: Floats, q: Floats, weights: Floats) -> Floats:
        """J^T W J, with weights (n_c,), as block data."""
        if self.twin.constraint_set.has_terms:
            J, pattern = self.twin.jacobian(u, q), self.twin.pattern
            matrix = (J.T @ (J * weights[:, None])).tocsr()
            matrix.resize((pattern.n, pattern.n))
            return pattern.from_csc(matrix)
        out = np.zeros(self.twin.pattern.size)
        self.twin.constraint_set.products(u, q, weights, out)
        return out

    def reactions(self, u: Floats, q: Floats, multipliers: Floats) -> Floats:
        """J^T lambda (n_v,)."""
        still, out, rates = np.zeros((1, self.twin.n_v)), np.zeros((1, self.twin.n_v)), np.zeros((1, self.twin.n_c))
        self.twin.constraint_set.constraint_force(u[None], q[None], still, multipliers[None], out, rates)
        result: Floats = out[0]
        return result


# Regularisations of the static equations: what is added to a stiffness that is singular, and changes no solution.
#
# Free structures have rigid motions without stiffness, bodies that only joints hold have blocks without any, and near
# buckling the stiffness is not definite. An added multiple of the mass makes the matrix regular; it only slows the
# iteration.

# sigma at first, its least and its most, and what changes it.
FIRST, LEAST, MOST = 1e-6, 1e-12, 1e2
SMALLER, LARGER = 0.1, 10.0
STEADY = 0.1  # rad, the largest rotation of a step that leaves sigma as it is
GROWTH = 2.0  # the same of a step beside the one before
ROUNDING_STEP = 1e3  # tolerances: a step as small as this that is no longer halved ends the iteration

State = TypeVar("State")
Residual = TypeVar("Residual")


@dataclass
class Regularisation:
    """Regularisation of one solution of the static equations, by multiples of the mass.

    spin2 : largest squared angular velocity, 1/s2. augmented : whether to add a multiple of J^T J too, which holds
    bodies that only joints hold.
    """

    spin2: float
    iterations: ClassVar[int]
    augmented: ClassVar[bool] = False

    def added(self, pattern: Pattern, mass: Callable[[], Floats], stiffness: Floats) -> Floats:
        """The addition to the stiffness, block data. mass : computes that of the state, which not all need."""
        raise NotImplementedError

    def accepts(self, rotation: float) -> bool:
        """Whether to make a step with this largest rotation (rad), shortened, or to ask again for one."""
        return True

    def settled(self, it: Iteration[State, Residual]) -> bool:
        """Whether a step, by its size in tolerances, ends the iteration."""
        return it.within(1.0, ROUNDING_STEP)

    def reason(self, size: float, moving: str) -> str:
        """Why it may have failed, in words, by the size of the last step and what moves most."""
        raise NotImplementedError


@dataclass
class NoShift(Regularisation):
    """Nothing but the products of the constraints: for structures that are held."""

    iterations = 30
    augmented = True

    def added(self, pattern: Pattern, mass: Callable[[], Floats], stiffness: Floats) -> Floats:
        """Nothing."""
        return np.zeros(pattern.size)

    def reason(self, size: float, moving: str) -> str:
        """The reason, with what moves most."""
        return f" in {self.iterations} iterations (last change {size:.2g} times the tolerance, most of {moving})"


class Briefly(NoShift):
    """Regularisation on an arc, where a shorter step is the better attempt."""

    iterations = 10


@dataclass
class MassShift(Regularisation):
    """spin2 M where a structure is ``free``, or at rest a small part of the stiffness; nothing where none is."""

    free: bool = False
    iterations = 50

    def added(self, pattern: Pattern, mass: Callable[[], Floats], stiffness: Floats) -> Floats:
        """One multiple of the mass."""
        if not self.free:
            return np.zeros(pattern.size)
        M = mass()
        least = 1e-6 * float(np.max(np.abs(stiffness)) / np.max(np.abs(M)))
        result: Floats = max(self.spin2, least) * M
        return result

    def reason(self, size: float, moving: str) -> str:
        """The reason, with the size of the last step."""
        return (
            f" in {self.iterations} iterations (last change {size:.2g} times the tolerance): the "
            "structure may buckle or turn too fast for its stiffness; start as given, or with a smaller load or rate"
        )


@dataclass
class AdaptiveShift(Regularisation):
    """sigma B + spin2 M, where sigma falls with the steps, and grows where they lead nowhere.

    B is the mass of every frame on the scale of its own stiffness, with that of the products of the constraints: beside
    these, the small stiffness that reactions give a body held by joints alone would cost all digits of its rows.
    """

    sigma: float = FIRST
    iterations = 100
    augmented = True

    def added(self, pattern: Pattern, mass: Callable[[], Floats], stiffness: Floats) -> Floats:
        """The stiffness with the mass times the present sigma."""
        M = mass()
        return self.sigma * scaled_mass(pattern, M, stiffness) + self.spin2 * M

    def settled(self, it: Iteration[State, Residual]) -> bool:
        """Whether a step is small, of rounding only where sigma is small; else sigma changes."""
        if it.within(1.0, ROUNDING_STEP if self.sigma <= 1e-3 * FIRST else 0.0):
            return True
        self.sigma = min(MOST, max(LEAST, self.next_sigma(it)))
        return False

    def next_sigma(self, it: Iteration[State, Residual]) -> float:
        """Larger where steps grow."""
        return self.sigma * (SMALLER if it.size < it.previous else LARGER)

    def reason(self, size: float, moving: str) -> str:
        """The reason, with what moves most."""
        return (
            f": {moving} moves on from iteration to iteration; "
            "nothing holds it against the loads, or it is far from its equilibrium: start nearer, or as given"
        )


class CautiousShift(AdaptiveShift):
    """An adaptive shift whose sigma follows the largest rotation of its steps, as the step size of a damped motion in
    time would: across a snap too, and where a step would turn too far, with a larger sigma rather than shortened.
    """

    iterations = 400
    _rotation: float = 0.0

    def accepts(self, rotation: float) -> bool:
        """Raise sigma where a step turns too far."""
        self._rotation = rotation
        if not LARGEST_ROTATION < rotation < np.inf or self.sigma >= MOST:
            return True
        self.sigma *= LARGER
        return False

    def next_sigma(self, it: Iteration[State, Residual]) -> float:
        """Larger where steps turn more than they should, or grow."""
        return self.sigma * min(LARGER, max(SMALLER, self._rotation / STEADY, it.size / (GROWTH * it.previous)))


def scaled_mass(pattern: Pattern, mass: Floats, stiffness: Floats) -> Floats:
    """B, block data: the mass of every block on the scale of its stiffness; of those without, on the least."""
    sizes = pattern.sizes
    places = [
        slice(int(at), int(at + n * n))
        for at, n, start in zip(pattern.diagonal, sizes, pattern.block_start, strict=False)
        if start < pattern.n_v
    ]
    scales = np.array([np.max(np.abs(stiffness[place])) / np.max(np.abs(mass[place])) for place in places])
    least = float(np.min(scales[scales > 0.0], initial=np.inf))
    scales[scales == 0.0] = least if np.isfinite(least) else 1.0
    out = np.zeros(pattern.size)
    for place, scale in zip(places, scales, strict=True):
        out[place] = scale * mass[place]
    return out


def mover(layout: Layout, change: Floats) -> str:
    """The frame that moves most by a change (n_v,), as messages name it."""
    sizes = [
        float(np.max(np.abs(change[j : j + frame.freedom]), initial=0.0)) if frame.freedom else 0.0
        for frame, j in zip(layout.frames, layout.frame_v, strict=True)
    ]
    return repr(layout.frames[int(np.argmax(sizes))].label)
