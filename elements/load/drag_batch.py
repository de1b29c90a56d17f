"""One load along a beam that depends on the places and velocities of its points: force, tangent and results.

In an element of either kind, a point is a sum of four vectors x = (r_I, g_I, r_II, g_II) with constant factors: the
places r of both ends, and vectors g along the beam at these ends, which are fixed in the frames but for the stretch of
an end. Source: docs/theory/beam_loads.md, section 3.
"""

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats, Ints
from femb.base.values import shown
from femb.elements.beam.batch import NO_SECTION, BeamBatch
from femb.elements.beam.strain import HERMITE, HERMITE_VALUES, LENGTH, POINTS, WEIGHTS
from femb.elements.environment.density import density
from femb.elements.exact.batch import ExactBatch
from femb.elements.exact.element_data import REFERENCE
from femb.elements.frame_index import with_inputs
from femb.elements.load.line_load_batch import (
    LoadedEnds,
    LoadsAlongBeams,
    loaded_end,
    on_frames,
    section_loads,
    with_force,
)
from femb.layout.element import Input, WithoutDerivatives, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.terms import Force, Tangent
from femb.layout.views import ModelView, OutputStates
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry, merged
from femb.numerics.compiler.duals import (
    Matrix3,
    Matrix43,
    Vector3,
    Vector4,
    cross,
    dot,
    matrix,
    norm,
    vector,
    zeros_like,
)
from femb.numerics.compiler.traced import M3, V4, add_to, put, put_changes, reader, traced, unit_changes
from femb.numerics.vector3 import only_changes, pose, scatter, still


class DragRows(NamedTuple):
    """The elements under a load.

    places (e, 9) : of both ends of an element its frame in q and in v, negative if fixed, its strain in q and in v,
    negative if there is none; and the first INPUT of the element. data (e, 57) : of both ends the arm (3,), the axes of
    the section (3, 3) and the vector along the beam (3,), all in the frame; at three points the WEIGHTS_AT (m), and the
    factors (3, 4) of the four vectors for the place, VALUES, and for the derivative along the element, SLOPES. numbers
    (9,) : density width / 2 times the coefficients across and along the beam, and the viscous one; what the velocity of
    a point lacks to be relative to the fluid AGAINST (3,) m/s; the ORIGIN (3,) of the model. Empty by a law. levels :
    of ``density``, or none. fixed : poses of fixed frames.
    """

    places: Ints
    data: Floats
    numbers: Floats
    levels: Floats
    fixed: Floats


class DragState(NamedTuple):
    """State of an element: axes R (2, 3, 3) of the frames, the states (2, 11) of its ends, see ``moving_end``, and the
    law (6,) of ``drag``."""

    R: Any
    states: Any
    law: Any


INPUT = 8
SECOND_END, WEIGHTS_AT, VALUES, SLOPES = 15, 30, 33, 45
AGAINST, ORIGIN = 3, 6
LAW_WIDTH = 21  # inputs of a law at a point: the force, and its derivatives by position and velocity

Row: TypeAlias = Annotated[Any, (15,)]
State: TypeAlias = Annotated[Any, (11,)]
Line: TypeAlias = tuple[Matrix43, Matrix43]
V6, V11, V15, V21 = reader(6), reader(11), reader(15), reader(21)

# Directions of the tangent: the states of both ends, and the turns of their frames; as columns of an element's motions.
first_state, second_state = unit_changes(0, 28), unit_changes(11, 28)
first_turn, second_turn = unit_changes(22, 28), unit_changes(25, 28)
BY_POSE = np.array([0, 1, 2, 22, 23, 24, 3, 11, 12, 13, 25, 26, 27, 14])
BY_RATE = np.array([4, 5, 6, 7, 8, 9, 10, 15, 16, 17, 18, 19, 20, 21])


@traced
def moving_end(frame: Matrix3, turn: Vector3, row: Row, state: State) -> Any:
    """The ``LoadedEnd``, and its place and vector (2, 3) with their rates, inertial axes: equation (13).

    state : place (3,) of the frame, strain, velocity (6,) and rate of the strain.
    """
    along = row[12:]
    end = loaded_end.run(frame, turn, row[:3], row[3:12].shaped(3, 3), (1.0 + state[3]) * along, along)
    omega = state[7:10]
    rate, turning = cross(omega, end.arm), cross(omega, end.along) + state[10] * along
    x = matrix(state[:3] + end.frame @ end.arm, end.frame @ end.along)
    return end, x, matrix(state[4:7] + end.frame @ rate, end.frame @ turning)


@traced
def line_of(x: tuple[Annotated[Any, (2, 3)], Annotated[Any, (2, 3)]]) -> Any:
    """The four vectors (4, 3) of those of both ends."""
    return matrix(*x[0], *x[1])


@traced
def at_point(factors: Vector4, line: Line) -> Any:
    """Place and velocity of a point."""
    return factors @ line[0], factors @ line[1]


@traced
def no_force(line: Line) -> Any:
    """Zeros (4, 3) with the changes of the four vectors."""
    return zeros_like(line[0] + line[1])


@traced
def drag(velocity: Vector3, slope: Vector3, law: Annotated[Any, (6,)]) -> Any:
    """The force per length (15); law : three coefficients, and what the velocity lacks to be that in the fluid."""
    u, t = velocity + law[3:], slope / norm(slope)
    along = dot(u, t)
    across = u - along * t
    return -law[0] * norm(across) * across - law[1] * abs(along) * along * t - law[2] * u


@traced
def by_law(given: Annotated[Any, (21,)], place: Vector3, velocity: Vector3) -> Any:
    """The force per length that a law gives, with its changes by place and velocity: equation (14)."""
    by_x, by_v = given[3:12].shaped(3, 3), given[12:].shaped(3, 3)
    return given[:3] + by_x @ only_changes(place) + by_v @ only_changes(velocity)


@traced
def forces_on(ends: LoadedEnds, F: Matrix43) -> Any:
    """Force, torque and force on the strain (7,) of both ends, of forces F on the four vectors."""
    none = vector(0.0, 0.0, 0.0)
    return on_frames.run(ends, F, (none, none))


@traced
def sections_of(ends: LoadedEnds, F: Matrix43) -> Any:
    """Section forces (6,) at both ends."""
    none = vector(0.0, 0.0, 0.0)
    return section_loads.run(ends, F, (none, none))


@inlined
def gather(n, of, q, v, at):
    """Set the ``DragState`` of element n but for the law."""
    index, states = of.places[n], at.states
    for e in range(2):
        pose(index[e], q, of.fixed, states[e], at.R[e])
        j, own, rate = index[2 + e], index[4 + e], index[6 + e]
        states[e, 3] = q[own] if own >= 0 else 0.0
        for o in range(6):
            states[e, 4 + o] = v[j + o] if j >= 0 else 0.0
        states[e, 10] = v[rate] if rate >= 0 else 0.0


@merged
def line_at(n, of, q, v, at):
    """The ``LoadedEnds`` of element n, and its line."""
    gather(n, of, q, v, at)
    one, x, xd = moving_end(M3(at.R[0]), still(), V15(of.data[n]), V11(at.states[0]))
    two, y, yd = moving_end(M3(at.R[1]), still(), V15(of.data[n, SECOND_END:]), V11(at.states[1]))
    return (one, two), (line_of((x, y)), line_of((xd, yd)))


@merged
def varied_line_at(n, of, q, v, at):
    """The line of an element with changes."""
    gather(n, of, q, v, at)
    one, x, xd = moving_end(M3(at.R[0]), first_turn(still()), V15(of.data[n]), first_state(V11(at.states[0])))
    row, state = V15(of.data[n, SECOND_END:]), second_state(V11(at.states[1]))
    two, y, yd = moving_end(M3(at.R[1]), second_turn(still()), row, state)
    return (one, two), (line_of((x, y)), line_of((xd, yd)))


@inlined
def fluid(of, u, q, v, at):
    """Set the law of the ``DragState`` at q (n_q,) and v (n_v,).

    u (n_u,), from the first input on : a factor; where ``levels`` of ``density`` give a factor of the first two
    numbers, the wind (3,), and the place (3,) to which those of the beam and of the origin add. Returns -1, or a
    distance outside of the levels.
    """
    numbers, law = of.numbers, at.law
    if numbers.size == 0:
        return -1
    air, first = 1.0, of.places[0, INPUT]
    for o in range(3):
        law[3 + o] = numbers[AGAINST + o]
    if of.levels.shape[0] > 0:
        place, slope = np.zeros(3), np.empty(3)
        # at the middle of its ends, as altitudes along a beam are alike
        for n in range(of.places.shape[0]):
            _, (x, _) = line_at(n, of, q, v, at)
            add_to(0.5 * (x[0] + x[2]), place)
        for o in range(3):
            law[3 + o] -= u[first + 1 + o]
            place[o] = place[o] / of.places.shape[0] + u[first + 4 + o] + numbers[ORIGIN + o]
        air = density(of.levels, place, slope)
        if air < 0.0:
            return int(0.5 - air)
    law[0], law[1], law[2] = u[first] * air * numbers[0], u[first] * air * numbers[1], u[first] * numbers[2]
    return -1


@merged
def line_force(n, of, line, law, u):
    """Residual forces (4, 3) on the four vectors of element n; u (n_u,) : of a law the force at its points."""
    F, data = no_force(line), of.data[n]
    for g in range(3):
        factors = V4(data[VALUES + 4 * g :])
        place, velocity = at_point(factors, line)
        if of.numbers.size > 0:
            f = drag(velocity, V4(data[SLOPES + 4 * g :]) @ line[0], V6(law))
        else:
            f = by_law(V21(u[of.places[n, INPUT] + LAW_WIDTH * g :]), place, velocity)
        F = with_force(F, -data[WEIGHTS_AT + g] * factors, f)
    return F


@kernel_with_entry
def forces(of, section, total, u, q, v, out):
    """out (s, n_v) += the residual force; section (s, e, 2, 6) and total (s, 3), unless of length 0, its section forces
    and the force on the beam. Returns as ``fluid``."""
    at, f = DragState(np.empty((2, 3, 3)), np.empty((2, 11)), np.empty(6)), np.empty((2, 7))
    index, law = of.places, at.law
    for s in range(q.shape[0]):
        found = fluid(of, u[s], q[s], v[s], at)
        if found >= 0:
            return found
        for n in range(index.shape[0]):
            ends, line = line_at(n, of, q[s], v[s], at)
            F = line_force(n, of, line, law, u[s])
            on_one, on_two = forces_on(ends, F)
            put(on_one, f[0])
            put(on_two, f[1])
            for e in range(2):
                j, rate = index[n, 2 + e], index[n, 6 + e]
                for o in range(6):
                    if j >= 0:
                        out[s, j + o] += f[e, o]
                if rate >= 0:
                    out[s, rate] += f[e, 6]
            if section.shape[0] > 0:
                at_one, at_two = sections_of(ends, F)
                add_to(at_one, section[s, n, 0])
                add_to(at_two, section[s, n, 1])
            if total.shape[0] > 0:
                add_to(-F[0] - F[2], total[s])
    return -1


@kernel_with_entry
def tangent(of, offset, stride, u, q, v, damping, stiffness):
    """Add the derivatives of the residual force to block data (s, size); returns as ``fluid``."""
    at, changes = DragState(np.empty((2, 3, 3)), np.empty((2, 11)), np.empty(6)), np.empty((14, 28))
    K, C = np.empty((14, 14)), np.empty((14, 14))
    # with strains, four groups of velocities
    few = offset.shape[1] == 2
    starts, sizes = (FRAMES, FRAME_SIZES) if few else (GROUPS, GROUP_SIZES)
    index, law = of.places, at.law
    for s in range(q.shape[0]):
        found = fluid(of, u[s], q[s], v[s], at)
        if found >= 0:
            return found
        for n in range(index.shape[0]):
            ends, line = varied_line_at(n, of, q[s], v[s], at)
            on_one, on_two = forces_on(ends, line_force(n, of, line, law, u[s]))
            put_changes(on_one, changes[0:7])
            put_changes(on_two, changes[7:14])
            for i in range(14):
                for j in range(14):
                    K[i, j], C[i, j] = changes[i, BY_POSE[j]], changes[i, BY_RATE[j]]
            scatter(K, starts, sizes, offset[n], stride[n], stiffness[s])
            scatter(C, starts, sizes, offset[n], stride[n], damping[s])
    return -1


# First and size of the groups of an element among its 14 motions, with strains of its ends and without.
GROUPS, GROUP_SIZES = np.array([0, 6, 7, 13]), np.array([6, 1, 6, 1])
FRAMES, FRAME_SIZES = np.array([0, 7]), np.array([6, 6])


@kernel
def motions(of, q, v, places, velocities):
    """Set places and velocities (e, 3, 3) of the points at one state."""
    at = DragState(np.empty((2, 3, 3)), np.empty((2, 11)), np.empty(6))
    for n in range(of.places.shape[0]):
        _, line = line_at(n, of, q, v, at)
        for g in range(3):
            place, velocity = at_point(V4(of.data[n, VALUES + 4 * g :]), line)
            put(place, places[n, g])
            put(velocity, velocities[n, g])


BUBBLE = 0.5 * POINTS * (1.0 - POINTS)
QUADRATIC = np.stack([1.0 - POINTS, BUBBLE, POINTS, -BUBBLE], axis=1)
QUADRATIC_SLOPES = np.stack([-1.0 + 0.0 * POINTS, 0.5 - POINTS, 1.0 + 0.0 * POINTS, POINTS - 0.5], axis=1)
CUBIC_SLOPES = np.stack([-HERMITE[:, 1], HERMITE[:, 0], HERMITE[:, 1], HERMITE[:, 2]], axis=1)
NO_TOTAL = np.empty((0, 0))


class DragBatch(LoadsAlongBeams):
    """A drag times an input; or a law, whose values and derivatives at the points are inputs."""

    def __init__(self, item: Any, layout: Layout, model: ModelView) -> None:
        self.item, self.layout = item, layout
        beam = model.beams[item.beam]
        batch = next(each for each in type(beam).batches([beam], layout, model) if each.gravity is not None)
        if not isinstance(batch, BeamBatch | ExactBatch):
            what = f"is of the kind {beam.kind!r}, which takes no loads along it: load its nodes"
            raise ModelError.at(("beams", item.beam), what)
        self.beams, self.velocities, self.sizes = type(batch), batch.in_v, batch.sizes
        self.set_elements(batch)
        before = list(model.beams.values())[: list(model.beams).index(item.beam)]
        first_row = sum(other.elements for other in before if type(other) is type(beam))
        self.in_model = first_row + np.arange(len(self.index))
        label = f"loads.{item.name}"
        self.inputs = (Input.of_profile(item.profile, f"{label}.profile"),)
        against = layout.origin_velocity - np.asarray(item.wind)
        self.numbers: Floats = np.concatenate([item.numbers, against, layout.origin])
        of_model = item.atmosphere(model)
        self.levels, self.check = np.empty((0, 3)), None
        if of_model is not None:
            self.levels, self.check = of_model[0].levels, of_model[0].check_distance
            surroundings = Input(6, of_model[1], label=f"{label}.wind", unit="m/s", surroundings=True, factor=False)
            self.inputs = (*self.inputs, surroundings)
        if item.law is not None:
            self.numbers = np.empty(0)
            self.index[:, INPUT] = LAW_WIDTH * 3 * np.arange(len(self.index))
            width, breaks, name = LAW_WIDTH * self.s.size, breakpoints_of(item.profile), f"{label}.law"
            law = Input(width, self._of_law, of_state=True, breakpoints=breaks, label=name, differentiated=True)
            self.inputs = (law,)

    def set_elements(self, batch: BeamBatch | ExactBatch) -> None:
        """Take the elements of a beam; s (e, 3) : lengths from its start to the points, m."""
        n, length, strained = len(batch.index), batch.data[:, LENGTH], isinstance(batch, BeamBatch)
        self.fixed, self.index = batch.fixed, np.full((n, 9), -1)
        self.index[:, : batch.index.shape[1]], self.index[:, INPUT] = batch.index, 0
        axes = batch.ends[:, :, 4:13].reshape(n, 2, 3, 3)
        if strained:
            along, values, slopes = axes[..., 0] * length[:, None, None], HERMITE_VALUES, CUBIC_SLOPES
        else:
            along = np.einsum("neij,nj->nei", axes, batch.data[:, REFERENCE : REFERENCE + 3])
            values, slopes = QUADRATIC, QUADRATIC_SLOPES
        ends = np.concatenate([batch.ends[:, :, 1:13], along], axis=2).reshape(n, 30)
        factors = np.tile(np.concatenate([values.ravel(), slopes.ravel()]), (n, 1))
        self.data = np.concatenate([ends, length[:, None] * WEIGHTS, factors], axis=1)
        reached = np.cumsum(length)
        self.s: Floats = (reached - length)[:, None] + length[:, None] * POINTS

    def select(self, rows: list[int]) -> None:
        self.index, self.data, self.in_model = self.index[rows], self.data[rows], self.in_model[rows]

    def _of_law(self, t: float, state: Any) -> Floats | WithoutDerivatives:
        """The force of the law, and its derivatives, at the points: (21 m,) numbers."""
        q, v = state.arrays()
        position, velocity = np.empty((2, *self.s.shape, 3))
        motions(self._rows, q, v, position, velocity)
        position, velocity = position.reshape(-1, 3), velocity.reshape(-1, 3)
        places = self.layout.to_inertial(np.array([t]), position[None], velocity[None])
        law: Any = self.item.law
        value = law(t, self.s.ravel(), places[0][0], places[1][0])
        parts = list(value) if isinstance(value, tuple) else [value]
        derived = len(parts) == 3
        parts += [] if derived else [np.zeros((len(position), 3, 3))] * 2
        wanted = [(len(position), 3), (len(position), 3, 3), (len(position), 3, 3)]
        if [np.shape(part) for part in parts] != wanted:
            what = f"wanted a force {wanted[0]}, or this and two arrays of derivatives {wanted[1]}"
            raise SolveError(f"loads.{self.item.name}.law: got {shown(value)} at t = {t:.6g} s, {what}")
        packed = np.concatenate([np.reshape(part, (len(position), -1)) for part in parts], axis=1)
        result: Floats = self.item.profile(t) * packed.ravel()
        return result if derived else WithoutDerivatives(result)

    @property
    def _rows(self) -> DragRows:
        index = with_inputs(self.index, self.first_input, INPUT)
        return DragRows(index, self.data, self.numbers, self.levels, self.fixed)

    def force(self, section: Floats, total: Floats = NO_TOTAL) -> Force:
        return Force(forces, (self._rows, section, total), check=self.check)

    def tangents(self) -> list[Tangent]:
        return [Tangent(tangent, (self._rows,), self.starts, check=self.check)]

    def records(self, frames: OutputStates, batches: list[Any]) -> dict[str, Floats]:
        """The force of the whole beam, inertial axes."""
        total, force = np.zeros((len(frames.q), 3)), np.zeros_like(frames.v)
        term = self.force(NO_SECTION, total)
        Bound(term.kernel, *term.kept, frames.u, frames.q, frames.v, force, check=term.check)()
        return {f"loads/{self.item.name}/force": total}
