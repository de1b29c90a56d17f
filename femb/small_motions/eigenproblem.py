"""Small motions about a state at rest or in steady rotation, as sparse block data of any number of elements.

    M p'' + C p' + K p + J^T mu = F,    J p = 0

p (n_v,) are displacements of frames in inertial axes, rotations in their own, and internal coordinates: v = p'. K is
the exact tangent of forces and reactions. In the layout used here the ground has velocities too, so that what is
clamped to it has a root whose mass and motion are known like those of a body; ``held`` frames do not move.
Source: docs/theory/modes.md, section 1.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from femb.base.errors import FembWarning, ModelError
from femb.base.types import Floats, Ints, Sparse
from femb.elements.environment.orbital_frame import orbital_motion
from femb.layout.connections import groups_of
from femb.layout.element import LowRank
from femb.layout.protocols import LowRankTangent, OfPhase, Strained
from femb.model.model import Model
from femb.numerics import rotations
from femb.small_motions.declared import check_declared
from femb.small_motions.point import OperatingPoint, without_derivatives
from femb.small_motions.spinning import MotionChanges, in_own_axes
from femb.small_motions.steady import why_changing
from femb.small_motions.strains import ExactProducts, Motion, of_columns
from femb.system.appendages import Appendage
from femb.system.block_lu import AnyFactorisation
from femb.system.forward import by_moments
from femb.system.known_motions import KnownStructure, check_said, known_motions
from femb.system.moving_ground import CoupledLayout, MovingGround, start_of
from femb.system.rigid_motion import RigidMotion, about_mass_centres
from femb.system.system import System

if TYPE_CHECKING:
    from scipy.sparse import csc_array

    from femb.layout.numbering import Coupling

Flags = NDArray[np.bool_]
# Largest force (N) that a pretension leaves at rest, as part of its energy over the extent of the model.
OPEN = 1e-3
# Of displacements: what rows of constraints may leave of those that they allow.
ROUNDING_OF_ROWS = 1e-9
# Of the terms of a derivative in axes that turn: less is rounding.
ROUNDING = 1e-13


class FreeLayout(MovingGround, CoupledLayout):
    """A layout in which the ground can move, and in which the tangent of reactions is complete.

    held : name of a body that is held, or None. coupled : frames and internal coordinates that functions of the
    state couple.
    """

    def __init__(self, held: str | None = None, coupled: "Sequence[Coupling]" = ()) -> None:
        super().__init__()
        self.held, self.coupled = held, coupled

    def held_frames(self) -> list[int]:
        return [*self.grounded, *([] if self.held is None else [self.bodies[self.held]])]


@dataclass(frozen=True, eq=False)
class EigenProblem:
    """Matrices of small motions as block data of the pattern of ``system``.

    q (n_q,), v (n_v,) : the state. held (n_v,) : velocities of what does not move. axes (n_v, n_v) : inertial
    velocities by those in the frames' own axes where displacements are along these, as in a rotation; else None.
    u (n_u,), a (n_v,), multipliers (n_c,) : inputs, accelerations and reactions of the state.
    low_rank : what damping and stiffness lack of the derivatives, as those of modal damping. exact : products with
    stiffness and damping in which nothing large cancels. left_out : forces that the matrices do not contain, in words.
    loaded : whether weight and loads act; None where what the model knows of its motions is not used. of_state :
    whether the stiffness is that of the state, so that motions which items declare must agree with it.
    """

    system: System
    q: Floats
    v: Floats
    mass: Floats
    damping: Floats
    stiffness: Floats
    jacobian: Floats
    held: Flags
    axes: "csc_array | None"
    u: Floats
    a: Floats
    multipliers: Floats
    low_rank: LowRank
    exact: ExactProducts
    left_out: tuple[str, ...] = ()
    loaded: bool | None = None
    of_state: bool = False

    @classmethod
    def of(
        cls, system: System, loaded: bool, own_axes: bool = False, held: str | None = None, states: bool = False
    ) -> "EigenProblem":
        """About the start of a System.

        loaded : whether weight, loads, reactions and the rotation of the start count; the start is then an equilibrium
        or a steady rotation, of which a translation of the mass centre across the axis is left out. Otherwise it is at
        rest and without loads. own_axes : whether displacements are along each frame's own axes, as they are in a
        rotation. held : name of a body that does not move, or None. states : whether first-order states, as the speeds
        of wheels, keep their values at rest. Raises ModelError: a start that is not steady.
        """
        layout = FreeLayout(held)
        system = about_mass_centres(system) if loaded else system
        free = System(system.model, assemble=None, layout=layout)
        return cls._about(system, free.with_discrete(system.discrete), layout, loaded, own_axes, states)

    @classmethod
    def at_rest(cls, model: Model) -> "EigenProblem":
        """About the start of a model, at rest and without loads; equations are built once where no joint closes."""
        layout = FreeLayout()
        free = System(model, assemble=None, layout=layout)
        return cls._about(System(model) if free.n_c else free, free, layout, False, False, False)

    @classmethod
    def _about(
        cls, system: System, free: System, layout: FreeLayout, loaded: bool, own_axes: bool, states: bool
    ) -> "EigenProblem":
        q, v = start_of(system, free), _velocities(system, free, system.v0)
        free = free.at(q)
        left_out = _of_motion(free, v) if not loaded else []
        left_out += [
            f"imbalance and harmonics of {', '.join(batch.disturbing)}, whose mean over a turn is zero"
            for batch in free.batches
            if isinstance(batch, OfPhase) and batch.disturbing
        ]
        system, free = system.balanced(), free.balanced()
        point = _loaded(system, free, layout, q, v) if loaded else _at_rest(free, layout, q, v, states)
        free, spinning = point.system, loaded and free.moves(v)
        functions, many = _low_ranks(point)
        by_functions, rest = within(free, functions)
        if rest.rank and not layout.coupled:
            layout = FreeLayout(layout.held, coupled(free, functions))
            free = System(system.model, assemble=None, layout=layout).with_discrete(free.discrete)
            return cls._about(system, free, layout, loaded, own_axes, states)
        unknown = without_derivatives(free, 0.0, q, point.v)
        left_out += [f"{label}, a function of the state without derivatives" for label in unknown]
        if spinning and (why := why_changing(system)):
            raise ModelError(
                f"modes: the state is not steady: {why}; leave out what does not turn with it, as weight across the "
                "axis or springs of unlike stiffness, take femb.periodic, or start at rest"
            )
        low_rank = LowRank.joined([*many, rest], free.n_v)
        motion = cls._of_data(point, low_rank, by_functions, spinning or own_axes, loaded)
        return replace(motion, left_out=tuple(left_out)).holding(*layout.held_frames())

    @classmethod
    def of_point(cls, point: OperatingPoint) -> "EigenProblem":
        """About an operating point in the coordinates of its System, with nothing held."""
        return cls._of_data(point, point.low_rank, None, False, True)

    @classmethod
    def _of_data(
        cls,
        point: OperatingPoint,
        low_rank: LowRank,
        by_functions: tuple[Floats, Floats] | None,
        own_axes: bool,
        loaded: bool,
    ) -> "EigenProblem":
        """With the block data at a point, and those of damping and stiffness that functions of the state add."""
        system, u, q, v, a = point.system, point.u, point.q, point.v, point.a
        damping, stiffness = system.tangent(u, q, v, a)
        if by_functions is not None:
            damping, stiffness = damping + by_functions[0], stiffness + by_functions[1]
        mass, jacobian, axes = system.mass_data(q).copy(), np.zeros(system.pattern.size), None
        system.constraint_set.jacobian(u, q, jacobian)
        system.constraint_set.constraint_tangent(u, q, v, point.multipliers, stiffness)
        exact = ExactProducts(point, mass, own_axes, functions=by_functions)
        if own_axes:
            mass, damping, stiffness, jacobian, changes = in_own_axes(point, mass, damping, stiffness, jacobian)
            axes, low_rank = changes.H, _in_axes(low_rank, changes)
        held = np.zeros(system.n_v, dtype=bool)
        matrices, state = (mass, damping, stiffness, jacobian), (u, a, point.multipliers)
        return cls(system, q, v, *matrices, held, axes, *state, low_rank, exact, loaded=loaded, of_state=True)

    @property
    def spinning(self) -> bool:
        """Whether the state is a steady rotation."""
        return self.system.moves(self.v)

    @property
    def point(self) -> OperatingPoint:
        """The state, with its inputs and reactions."""
        return OperatingPoint(self.system, 0.0, self.u, self.q, self.v, self.a, self.multipliers)

    def rigid_motions(self) -> Floats:
        """(6, n_v): displacements of all frames in translations along, then rotations about, the inertial axes."""
        motions = self.system.rigid_velocities(self.q)
        return motions if self.axes is None else np.asarray((self.axes.T @ motions.T).T)

    @cached_property
    def structures(self) -> tuple[KnownStructure, ...]:
        """The structures of what is not held, and what they do not notice. Raises ModelError: an item does not say,
        or says what its forces are not."""
        if self.loaded is None:
            return ()
        held = [k for k in range(len(self.system.layout.frames)) if np.any(self.held[self.velocities_of(k)])]
        found = known_motions(self.system, self.q, held, self.loaded, u=self.u)
        check_said(found)
        if self.of_state and self.axes is None and not self.spinning:
            check_declared(self, found)
        if not self.spinning:
            return tuple(each.at_rest for each in found)
        return found if self.axes is None else tuple(map(self._turning, found))

    def _turning(self, structure: KnownStructure) -> KnownStructure:
        """A structure with the turn of its steady rotation, if what notices it stands still and is alike after it.

        Forces that are alike were told from others before (``femb.small_motions.steady``), but not in orbit. What has
        inputs may turn with the structure in time, as the vertical in orbit, and resists a turn at an instant.
        """
        system, held = self.system, self.v[self.held]
        screw = structure.screw(system, self.q, self.v)[None]
        turning = orbital_motion(system.model) is not None or any(
            each.label.startswith(f"{name}.") for name in structure.against(screw[0]) for each in system.inputs
        )
        if turning or held.any() or not screw.any() or structure.leaves(screw[0]):
            return structure
        moves = self.moves_of(structure, screw)
        driven = np.max(np.abs(self.gaps(moves)), initial=0.0) > ROUNDING_OF_ROWS * np.max(np.abs(moves), initial=0.0)
        return structure if driven else replace(structure, more=screw)

    def axis_of(self, frames: Sequence[int]) -> tuple[Floats, Floats, float]:
        """Angular velocity (3,) of the steady rotation of connected frames, zero at rest; the point (3,) of its axis
        nearest to the held one of them, or to the first; and the distance (m) of this one."""
        layout = self.system.layout
        held = [k for k in frames if np.any(self.held[self.velocities_of(k)])]
        # what is held turns with the structure, or is the ground in which it turns
        turning = (k for k in [*held, *frames] if layout.frames[k].freedom == 6)
        frame = next((k for k in turning if self.v[self.velocities_of(k)][3:].any()), None)
        if frame is None or not self.spinning:
            return np.zeros(3), np.zeros(3), 0.0
        i, j = layout.frame_q[frame], layout.frame_v[frame]
        omega: Floats = rotations.rotate(self.q[i + 3 : i + 7], self.v[j + 3 : j + 6])
        arm = np.cross(omega, self.v[j : j + 3]) / (omega @ omega)
        return omega, self.q[i : i + 3] + arm, float(np.linalg.norm(arm))

    @property
    def spin(self) -> float:
        """The largest rate of a steady rotation, rad/s."""
        frames = range(len(self.system.layout.frames))
        return max((float(np.linalg.norm(self.axis_of([k])[0])) for k in frames), default=0.0)

    def moves_of(self, structure: KnownStructure, twists: Floats) -> Floats:
        """(n_v, k) displacements of a structure by twists (k, 6)."""
        moves = structure.moves(self.system, self.q, twists)
        return moves if self.axes is None else np.asarray(self.axes.T @ moves)

    def inertial(self, shapes: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """Displacements (n_v, k) in the System's velocities: along inertial axes."""
        return shapes if self.axes is None else np.asarray(self.axes @ shapes)

    def holding(self, *frames: int) -> "EigenProblem":
        """The problem with more frames held."""
        held = self.held.copy()
        for frame in frames:
            held[self.velocities_of(frame)] = True
        return replace(self, held=held)

    def without_states(self) -> "EigenProblem":
        """The problem with first-order states held, as modes without damping have them."""
        held = self.held.copy()
        held[self.system.layout.first_order_v] = True
        return replace(self, held=held)

    def only(self, part: Appendage) -> "EigenProblem":
        """The problem with all held but an appendage: its frames, and the internal coordinates of their elements."""
        layout = self.system.layout
        held = np.ones_like(self.held)
        held[layout.internal_v[list(part.internal)]] = False
        own = set(part.frames)
        for frame in own:
            held[self.velocities_of(frame)] = False
        for on, strains in layout.couplings:
            if not own.isdisjoint(on):
                held[layout.internal_v[list(strains)]] = False
        return replace(self, held=held | self.held)

    def velocities_of(self, frame: int) -> slice:
        """The place of the velocities of a frame."""
        first = int(self.system.layout.frame_v[frame])
        return slice(first, first + self.system.layout.frames[frame].freedom)

    @cached_property
    def on_held(self) -> tuple[Flags, Flags]:
        """Entries of the data in rows or columns that are held, and those of them on the diagonal."""
        return self.system.pattern.entries_of(np.append(self.held, np.zeros(self.system.n_c, dtype=bool)))

    @cached_property
    def element_masses(self) -> list[tuple[Ints, Floats]]:
        """Indices (e, g) of the velocities and masses (e, g, g) of all elements, by groups of elements alike."""
        return self.system.evaluation.element_masses(self.q)

    def factorise(self, data: Floats, symmetric: bool = False) -> AnyFactorisation:
        """Factors of block data with the constraints, and with unit rows for what is held. Raises SingularError."""
        whole = data + self.jacobian
        on_held, diagonal = self.on_held
        whole[on_held] = 0.0
        whole[diagonal] = 1.0
        solver = self.system.solver
        return solver.factorise_symmetric(whole) if symmetric else solver.factorise(whole)

    def solve(self, factors: AnyFactorisation, force: Floats) -> Floats:
        """The motion (n_v,) of those factors by a force (n_v,) that ``held`` frames do not feel."""
        right = np.concatenate([self.of_moving(force), np.zeros(self.system.n_c)])
        solution: Floats = factors.solve(right)[: self.system.n_v]
        return solution

    def solve_columns(self, factors: AnyFactorisation, forces: Floats) -> Floats:
        """The motions (n_v, k) by k forces (n_v, k), as in ``solve``."""
        right = np.vstack([self.of_moving(forces), np.zeros((self.system.n_c, forces.shape[1]))])
        return factors.solve_columns(right)[: self.system.n_v]

    def shifted(self, s: float) -> Callable[[Floats], Floats]:
        """The motion (n_v,) by a force as in ``solve``, of s^2 M + s (C + G) + K; modal damping by Woodbury's formula.

        Raises SingularError.
        """
        factors, part = self.factorise(s * s * self.mass + s * self.damping + self.stiffness), self.low_rank
        if not part.rank:
            return lambda force: self.solve(factors, force)
        columns = self.solve_columns(factors, part.left)
        right = (s * part.damping + part.stiffness).T
        inner = np.linalg.inv(np.eye(part.rank) + right @ columns)

        def solve(force: Floats) -> Floats:
            x = self.solve(factors, force)
            solution: Floats = x - columns @ (inner @ (right @ x))
            return solution

        return solve

    def damping_times(self, x: Floats) -> Floats:
        """(C + G) x (n_v,) or (n_v, k), modal damping included."""
        return self.times(self.damping, x) + self.low_rank.damping_times(x)

    def times(self, data: Floats, x: Motion) -> Motion:
        """Block data of velocities times x (n_v,) or (n_v, k), real or complex."""
        result: NDArray[Any]
        if np.iscomplexobj(x):
            result = self.times(data, x.real) + 1j * self.times(data, x.imag)
        else:
            whole = np.concatenate([x, np.zeros((self.system.n_c, *x.shape[1:]))])
            multiply = self.system.solver.multiply if x.ndim == 1 else self.system.solver.multiply_columns
            result = multiply(data, whole)[: self.system.n_v]
        return cast("Motion", result)

    def momenta(self, x: Motion) -> Motion:
        """M x (n_v,) or (n_v, k), real or complex."""
        return self.times(self.mass, x)

    def lengths(self, x: NDArray[Any]) -> Floats:
        """(k,) sizes in the mass of motions (n_v, k), or that of one (n_v,)."""
        if x.ndim == 1:
            return self.lengths(x[:, None])[0]  # type: ignore[no-any-return]
        # by products of whole columns: sums of rows round more
        squares = [np.vdot(*pair).real for pair in zip(x.T, self.momenta(x).T, strict=True)]
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def of_moving(self, x: Motion) -> Motion:
        """x (n_v,) or (n_v, k) with zeros for what is held."""
        return cast("Motion", np.where(self.held if x.ndim == 1 else self.held[:, None], 0.0, x))

    @cached_property
    def sparse_mass(self) -> Sparse:
        """(n_v, n_v) of what is not held, as scipy.sparse.csc_array."""
        mass = self.mass.copy()
        mass[self.on_held[0]] = 0.0
        n = self.system.n_v
        return self.system.pattern.to_csc(mass)[:n, :n]

    def exact_stiffness(self, x: Motion) -> Motion:
        """K x (n_v,) or (n_v, k) of what is not held, by forces of strains: precise also where elements are short."""
        return self.of_moving(self.exact.stiffness(self.of_moving(x)))

    def exact_damping(self, x: Motion) -> Motion:
        """(C + G) x in the same way, modal damping included."""
        moving = self.of_moving(x)
        drags = self.exact.damping(moving) + self.low_rank.damping_times(moving)
        return cast("Motion", self.of_moving(drags))

    def adjoint_damping(self, x: Motion) -> Motion:
        """(C + G)^T x in the same way."""
        low, moving = self.low_rank, self.of_moving(x)
        return cast("Motion", self.of_moving(self._adjoint.damping(moving) + low.damping @ (low.left.T @ moving)))

    @cached_property
    def _adjoint(self) -> ExactProducts:
        return replace(self.exact, transposed=not self.exact.transposed)

    @cached_property
    def balance(self) -> AnyFactorisation:
        """Factors of [1 J^T; J 0] with unit rows for what is held: of reactions by the forces that they balance."""
        rows, columns = self.system.pattern.rows_columns()
        return self.factorise(np.where((rows == columns) & (rows < self.system.n_v), 1.0, 0.0))

    def unbalanced(self, forces: Motion) -> Motion:
        """The part of forces (n_v,) or (n_v, k) that reactions of the constraints do not balance."""
        if not self.system.n_c:
            return self.of_moving(forces)
        return self.of_moving(of_columns(lambda force: self.solve(self.balance, force), forces))

    def dense(self, data: Floats) -> Floats:
        """(n_v + n_c, n_v + n_c) of block data, dense."""
        whole: Floats = self.system.pattern.to_csc(data).toarray()
        return whole

    def gaps(self, x: Floats) -> Floats:
        """J x (n_c,) or (n_c, k)."""
        whole = np.concatenate([x, np.zeros((self.system.n_c, *x.shape[1:]))])
        multiply = self.system.solver.multiply if x.ndim == 1 else self.system.solver.multiply_columns
        return multiply(self.jacobian, whole)[self.system.n_v :]


def _loaded(system: System, free: System, layout: FreeLayout, q: Floats, v: Floats) -> OperatingPoint:
    """The start with its weight, loads and reactions, in a steady rotation with its accelerations too."""
    inputs, a = system.inputs_at(0.0, system.q0, system.v0), np.zeros(free.n_v)
    start, multipliers = system.at(system.q0).forward(inputs, system.q0, system.v0)
    if free.moves(v):
        start, multipliers = _steadied(system, layout.held, inputs, start, multipliers)
        a = _velocities(system, free, start)
    return OperatingPoint(free, 0.0, free.inputs_at(0.0, q, v), q, v, a, multipliers)


def _at_rest(free: System, layout: FreeLayout, q: Floats, v: Floats, states: bool) -> OperatingPoint:
    """The start without weight, loads, strains and velocities; states : whether first-order states keep theirs."""
    kept, places = np.zeros_like(v), free.layout.first_order_v
    if states:
        kept[places] = v[places]
    free = free.with_gravity(np.zeros(3))
    u = without_loads(free, free.inputs_at(0.0, q, kept))
    free = free.with_batches(
        (batch.unstrained(u, q) if isinstance(batch, Strained) else None) or batch for batch in free.batches
    )
    _warn_of_pretension(free, layout.held_frames(), u, q)
    return OperatingPoint(free, 0.0, u, q, kept, np.zeros(free.n_v), np.zeros(free.n_c))


def _low_ranks(point: OperatingPoint) -> tuple[LowRank, list[LowRank]]:
    """Parts of damping and stiffness: by functions of states and laws, and by what couples many, as modal damping."""
    few: list[LowRank] = [point.of_functions()]
    many: list[LowRank] = []
    for batch in point.system.batches:
        if (
            isinstance(batch, LowRankTangent)
            and (part := batch.low_rank_tangent(point.u, point.q, point.v)) is not None
        ):
            (few if batch.feeds_back else many).append(part)
    return LowRank.joined(few, point.system.n_v), many


def _in_axes(low_rank: LowRank, changes: MotionChanges) -> LowRank:
    """Low rank by displacements in frames' own axes that turn, and by the rates of these."""
    axes, rates = changes.H, changes.eta_p
    of_pose = rates.T @ low_rank.damping + axes.T @ low_rank.stiffness
    sizes = abs(rates).T @ np.abs(low_rank.damping) + abs(axes).T @ np.abs(low_rank.stiffness)
    # a shape that does not change in these axes has no rates of deformation: what is left there is rounding
    of_pose[np.abs(of_pose) <= ROUNDING * np.max(sizes, axis=0, initial=0.0)] = 0.0
    return LowRank(axes.T @ low_rank.left, axes.T @ low_rank.damping, of_pose)


def within(system: System, functions: LowRank) -> tuple[tuple[Floats, Floats], LowRank]:
    """Damping and stiffness of functions of the state as block data, and what of them has no blocks."""
    data, outside = np.zeros((2, system.pattern.size)), np.zeros(functions.rank, dtype=bool)
    for k, (left, *by) in enumerate(zip(functions.left.T, functions.damping.T, functions.stiffness.T, strict=True)):
        rows, columns = np.flatnonzero(left), np.flatnonzero(np.any(by, axis=0))
        places = system.pattern.places(np.repeat(rows, len(columns)), np.tile(columns, len(rows)))
        outside[k] = np.any(places < 0)
        if not outside[k]:
            for part, derivative in zip(data, by, strict=True):
                np.add.at(part, places, np.outer(left[rows], derivative[columns]).ravel())
    rest = LowRank(functions.left[:, outside], functions.damping[:, outside], functions.stiffness[:, outside])
    return (data[0], data[1]), rest


def coupled(system: System, functions: LowRank) -> "list[Coupling]":
    """Frames and internal coordinates between which functions of the state act."""
    layout = system.layout
    found: list[Coupling] = []
    for column in range(functions.rank):
        used = np.any([part[:, column] for part in (functions.left, functions.damping, functions.stiffness)], axis=0)
        frames = tuple(
            k
            for k, (frame, first) in enumerate(zip(layout.frames, layout.frame_v, strict=True))
            if np.any(used[first : first + frame.freedom])
        )
        found.append((frames, tuple(np.flatnonzero(used[layout.internal_v]).tolist())))
    return found


def _of_motion(system: System, v: Floats) -> list[str]:
    """Rotations of bodies in the velocities of a start v (n_v,), which modes at rest leave out."""
    rates = {
        name: float(np.linalg.norm(v[system.layout.frame_v[frame] + 3 : system.layout.frame_v[frame] + 6]))
        for name, frame in system.layout.bodies.items()
    }
    turning = [f"{name} ({rate:.4g} rad/s)" for name, rate in rates.items() if rate > 0.0]
    what = f"the rotation of {', '.join(turning)} at the start, with its gyroscopic and centrifugal forces"
    return [what] if turning else []


def _velocities(system: System, free: System, v: Floats) -> Floats:
    """Velocities or accelerations (n_v,) of a System as those of its twin."""
    out, layout = np.zeros(free.n_v), system.layout
    out[free.layout.internal_v] = v[layout.internal_v]
    for frame, i, j in zip(layout.frames, layout.frame_v, free.layout.frame_v, strict=True):
        out[j : j + frame.freedom] = v[i : i + frame.freedom] if frame.freedom else 0.0
    return out


def _steadied(system: System, held: str | None, u: Floats, a: Floats, multipliers: Floats) -> tuple[Floats, Floats]:
    """Accelerations (n_v,) and multipliers (n_c,) at the start with the moment by which a held body of a free structure
    that turns keeps its angular velocity."""
    frame = system.layout.bodies[held] if held is not None else 0
    if held is None or system.layout.frames[frame].freedom != 6:
        return a, multipliers
    group = next(group for group in groups_of(system.layout, joined=True) if frame in group)
    motion = RigidMotion(system, group)
    if not motion.free or not motion.omega.any():
        return a, multipliers
    turns = slice((j := int(system.layout.frame_v[frame])) + 3, j + 6)
    changes, of_multipliers = by_moments(system, u, system.q0, system.v0, turns)
    moment = np.linalg.solve(changes[:, turns].T, -a[turns])
    return a + moment @ changes, multipliers + moment @ of_multipliers


def _warn_of_pretension(system: System, held: list[int], u: Floats, q: Floats) -> None:
    """Warn where a pretension is not in equilibrium at the start; joints may hold what they hold."""
    if system.n_c or not any(isinstance(batch, Strained) and batch.pretensioned for batch in system.batches):
        return
    still = np.zeros((1, system.n_v))
    force = system.residual(u[None], q[None], still, still)
    stored = system.energy_momentum(q[None], still)[0, 1]
    for first in system.layout.frame_v[held].tolist():
        force[0, first : first + 6] = 0.0
    if np.abs(force).max() > OPEN * stored / system.layout.extent:
        text = 'the pretension of shells is not in equilibrium at the start: take start = "equilibrium"'
        warnings.warn(text, FembWarning, stacklevel=6)


def without_loads(system: System, u: Floats) -> Floats:
    """Inputs with loads of zero; drivers, latches and references of controllers keep theirs."""
    loops = [batch for batch in system.batches if isinstance(batch, LowRankTangent) and batch.feeds_back]
    keep = {id(input_) for batch in loops for input_ in batch.inputs}
    keep |= {id(input_) for input_ in system.constraint_set.inputs}
    u = u.copy()
    for input_, part in system.inputs.parts:
        if id(input_) not in keep and not (input_.of_state or input_.of_discrete):
            u[part] = 0.0
    return u
