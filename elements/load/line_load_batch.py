"""Loads along beams, evaluated together: what all have in common, and forces and moments per length."""

import math
from collections.abc import Mapping
from copy import copy
from typing import Annotated, Any, NamedTuple, Self, TypeAlias

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.elements.beam.batch import NO_SECTION, SIZES, VELOCITIES, BeamBatch
from femb.elements.beam.beam import Beam
from femb.elements.beam.ends import check_unfolded, element_shape
from femb.elements.beam.matrices import scatter_ends
from femb.elements.beam.strain import HERMITE, HERMITE_VALUES, LENGTH, POINTS, WEIGHTS, end_states, twist_angles
from femb.elements.beam.tangent_strain import add_twist_hessian
from femb.elements.private_blocks import FreeBody
from femb.elements.records import load_factors
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.terms import Force, Tangent
from femb.layout.views import ModelView, OutputStates
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import inlined, kernel_with_entry, merged
from femb.numerics.compiler.duals import (
    Matrix3,
    Matrix43,
    Number,
    Vector3,
    Vector4,
    cross,
    dot,
    joined,
    lift,
    matrix,
    norm,
    outer,
    skew,
    zeros_like,
)
from femb.numerics.compiler.traced import M3, V3, V4, add_to, of_one, put, put_changes, reader, traced, unit_changes
from femb.numerics.vector3 import only_changes

V8, V13, M8 = reader(8), reader(13), reader(8, 8)
Vector8: TypeAlias = Annotated[Any, (8,)]


class LoadsAlongBeams(Batch):
    """Loads on elements of beams of either kind: a row for every load and element.

    index, ends, data : rows of the arrays of the batch of beams. in_model (n,) : numbers of the elements among all of
    their kind in the model.
    """

    beams: type[Batch]  # the class of the batch of beams
    velocities: Any = VELOCITIES  # columns of index
    sizes: tuple[int, ...] = SIZES
    in_model: Ints
    index: Ints
    ends: Floats
    data: Floats

    def select(self, rows: list[int]) -> None:
        """Replace the rows by these rows, in this order; a row may be repeated."""
        self.index, self.ends, self.data = self.index[rows], self.ends[rows], self.data[rows]
        self.in_model = self.in_model[rows]

    @property
    def starts(self) -> Ints:
        """(n, groups) the first velocities of the groups of each row, see ``femb.layout.terms``."""
        return self.index[:, self.velocities]

    def load_on(self, batch: Batch, number: int) -> Self | None:
        """The loads on one element of ``batch``, with the velocities of its free body; None where there are none."""
        rows = np.flatnonzero(self.in_model == number).tolist() if isinstance(batch, self.beams) else []
        if not rows:
            return None
        private, other = FreeBody.blocks(self.sizes), copy(self)
        other.select(rows)
        other.index[:, self.velocities] = private.starts  # a copy, by select
        return other

    def force(self, section: Floats) -> Force:
        """Its force; section (s, n, 2, 6), unless of length 0 : to which the kernel adds section forces."""
        raise NotImplementedError

    def forces(self) -> list[Force]:
        return [self.force(NO_SECTION)]

    def add_section_forces(self, beams: Batch, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        if not isinstance(beams, self.beams):
            return
        section, states = np.zeros((len(q), len(self.index), 2, 6)), {"u": u, "q": q, "v": v}
        force = self.force(section)
        Bound(force.kernel, *force.kept, *map(states.get, force.reads), np.zeros_like(v), check=force.check)()
        for k, row in enumerate(self.in_model):
            out[:, row] += section[:, k]

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        return load_factors(self, frames)


class AlongBeams(LoadsAlongBeams):
    """Loads on the elements of the named beams of the kind ``Beam``.

    index, ends, data : as in ``femb.elements.beam.strain``. slices[name] : rows of a beam.
    """

    beams = BeamBatch

    def __init__(self, names: list[str], layout: Layout, model: ModelView) -> None:
        for name in names:
            if not isinstance(model.beams[name], Beam):
                what = f"is of the kind {model.beams[name].kind!r}, which takes no loads along it: load its nodes"
                raise ModelError.at(("beams", name), what)
        beams = BeamBatch([model.beams[name] for name in dict.fromkeys(names)], layout, model)
        self.index, self.ends, self.data = beams.index, beams.ends, beams.data
        self.labels, self.slices, self.fixed = beams.labels, beams.slices, beams.fixed
        count, first = 0, {}
        for beam in (beam for beam in model.beams.values() if isinstance(beam, Beam)):
            first[beam.name] = count
            count += beam.elements
        rows = [first[name] + np.arange(model.beams[name].elements) for name in self.slices]
        self.in_model = np.concatenate(rows)

    def select(self, rows: list[int]) -> None:
        super().select(rows)
        self.labels = [self.labels[k] for k in rows]

    @property
    def rows(self) -> "RowsAlongBeams":
        return RowsAlongBeams(self.index, self.ends, self.data, self.fixed)

    def check(self, folded: int) -> None:
        """Raise FoldedError for the row that a kernel returned, unless it is -1."""
        check_unfolded(self.labels, folded)


# Forces and moments along beams of either kind.
#
# A row is one element under one load. At each of the three strain points it has a force f and a moment c per length,
# in inertial axes or in the axes of the section. A point of the centreline is a sum of four vectors with constant
# factors: the places of both ends, and vectors along the beam there, which are fixed in the frames but for the stretch
# of an end. Moments do work on the spin of the section. The tangent is the force with changes along the way between the
# frames, the strains of both ends, and the spins of their frames, each vector in a register of four directions.
#
# kind (n,) int : INERTIAL or SECTION axes. first (n,) int : input that multiplies the row. values (n, 3, 6) : f and c
# at the strain points. Source: docs/theory/beam_loads.md, equations (6) to (12).

INERTIAL, SECTION = 0, 1
STRAIN = 7  # of the states of an end, which a spin of zero follows
moved, first_own, second_own = unit_changes(0, 12), unit_changes(3, 12), unit_changes(7, 12)
first_spin, second_spin = unit_changes(4, 12), unit_changes(8, 12)


class LoadedEnd(NamedTuple):
    """An end: axes (3, 3) of its frame, spin (3,) of that, own axes, of which only the changes count; in the frame,
    its arm (3,), its axes (3, 3), the vector along the beam (3,), and the change of that by the strain (3,)."""

    frame: Matrix3
    spin: Vector3
    arm: Vector3
    axes: Matrix3
    along: Vector3
    by_strain: Vector3


LoadedEnds: TypeAlias = tuple[LoadedEnd, LoadedEnd]
Moments: TypeAlias = tuple[Vector3, Vector3]


@traced
def loaded_end(frame: Matrix3, spin: Vector3, arm: Vector3, axes: Matrix3, along: Vector3, by_strain: Vector3) -> Any:
    """The end with the changes of its frame by the spin."""
    spin = only_changes(spin)
    return LoadedEnd(frame + frame @ skew(spin), spin, arm, axes, along, by_strain)


@traced
def way(ends: LoadedEnds, between: Vector3) -> Any:
    """The way between the ends from that between their frames, inertial axes."""
    one, two = ends
    return between + two.frame @ two.arm - one.frame @ one.arm


@traced
def with_force(F: Matrix43, shares: Vector4, f: Vector3) -> Any:
    """Forces (4, 3) on the four vectors, with a force at one point."""
    return F + outer(shares, f)


@traced
def on_frames(ends: LoadedEnds, F: Matrix43, moments: Moments) -> Any:
    """Force, inertial axes, torque on the frame, and force on the strain of both ends (7,), of forces F (4, 3) on the
    four vectors, inertial axes, and of moments on the ends, their axes."""
    found = []
    for e, end in enumerate(ends):
        on_place, on_along = end.frame.T @ F[2 * e], end.frame.T @ F[2 * e + 1]
        torque = cross(end.arm, on_place) + cross(end.along, on_along) + end.axes @ moments[e]
        found.append(joined(F[2 * e], torque, dot(end.by_strain, on_along)))
    return tuple(found)


@traced
def no_loads(x: Vector3) -> Any:
    """Zeros with as many changes as a vector x (3,): forces (4, 3), a moment (3,), and a force (8,) on coordinates."""
    return zeros_like(matrix(x, x, x, x)), zeros_like(x), zeros_like(joined(x, x, x[:2]))


# Loads on elements of the kind ``Beam``.
#
# One row per load and element.


class RowsAlongBeams(NamedTuple):
    """The rows of ``AlongBeams``, with its ``index`` as places, and the poses of fixed frames."""

    places: Ints
    ends: Floats
    data: Floats
    fixed: Floats


class Loading(NamedTuple):
    """Kinds, first inputs and values of rows, see above."""

    kind: Ints
    first: Ints
    values: Floats


class PlacedElement(NamedTuple):
    """An element: states (2, 8) of its ends; R, small and X of ``element_shape``."""

    states: Any
    R: Any
    small: Any
    X: Any


class TurnWork(NamedTuple):
    """Work arrays: psi (4,) and psi_X (4, 8) of ``twist_angles``; along (4,), second (8, 8) and rows (7, 8) of
    ``row_force``."""

    psi: Any
    psi_X: Any
    along: Any
    second: Any
    rows: Any


class NaturalShape(NamedTuple):
    """Axes (3, 3) of end I, those Q (3, 3) of end II in them, the natural coordinates X (8,), and beta and gamma."""

    axes: Matrix3
    Q: Matrix3
    X: Vector8
    beta: Vector3
    gamma: Vector3


Slopes: TypeAlias = tuple[Number, Number, Number]


@traced
def natural_shape(ends: LoadedEnds, between: Vector3, twist: Number) -> Any:
    """The shape of an element between its ends; twist : the value of the last natural coordinate."""
    one, two = ends
    axes = one.frame @ one.axes
    Q = axes.T @ (two.frame @ two.axes)
    swing = 1.0 / (1.0 + Q[0, 0])
    beta, gamma = joined(1.0, swing * Q[1, 0], swing * Q[2, 0]), joined(1.0, swing * Q[0, 1], swing * Q[0, 2])
    spins = [end.axes.T @ end.spin for end in ends]
    twist = twist + dot(gamma, spins[1]) - dot(beta, spins[0])
    lengths = [dot(end.axes.T[0], end.along) for end in ends]
    X = joined(axes.T @ way.run(ends, between), lengths[0], lengths[1] * Q.T[0], twist)
    return NaturalShape(axes, Q, X, beta, gamma)


@traced
def section_turn(X: Vector8, hermite: Slopes, psi: Number, psi_X: Vector8, c: Number, s: Number) -> Any:
    """Axes (3, 3) of the section at a strain point in those of end I, its tangent t, and the length of r'.

    psi, psi_X : angle about the tangent, and its gradient (8,), of ``twist_angles``. c, s : its cosine and sine.
    """
    n2, n3, n4 = hermite
    u = n3 * X[:3] + n2 * joined(X[3], 0.0, 0.0) + n4 * X[4:7]
    g = norm(u)
    t = u / g
    psi = lift(psi, *zip(psi_X, X, strict=True))
    c, s = lift(c, (-s, psi)), lift(s, (c, psi))
    y2, y3 = t[1] / (1.0 + t[0]), t[2] / (1.0 + t[0])
    m, n = joined(-t[1], 1.0 - y2 * t[1], -y2 * t[2]), joined(-t[2], -y3 * t[1], 1.0 - y3 * t[2])
    return matrix(t, c * m + s * n, c * n - s * m).T, t, g


@traced
def moment_work(n: Vector8, hermite: Slopes, t: Vector3, g: Number, c: Vector3, psi_X: Vector8) -> Any:
    """n (8,) + the force on the natural coordinates of a moment c at a point, and t . c: equation (9).

    The spin of the section beside end I is t x t' + t (psi' - (e1 x t) . t' / (1 + t1)).
    """
    n2, n3, n4 = hermite
    along = dot(t, c)
    w = cross(c, t) - (along / (1.0 + t[0])) * joined(0.0, -t[2], t[1])
    p = (w - dot(t, w) * t) / g
    return n + joined(n3 * p, n2 * p[0], n4 * p, 0.0) + along * psi_X, along


@traced
def twisted(n: Vector8, hessian: Annotated[Any, (8, 8)], X: Vector8) -> Any:
    """n (8,) with its changes by second derivatives (8, 8) of the angles."""
    return n + hessian @ only_changes(X)


@traced
def natural_forces(shape: NaturalShape, F: Matrix43, n: Vector8, moment: Vector3) -> Any:
    """Forces (4, 3) on the four vectors, and moments on both ends, of F (4, 3), of n (8,) on the natural coordinates,
    equation (15), and of a moment on end I."""
    n_d, n_G, X = n[:3], n[4:7], shape.X
    pull, bend = shape.axes @ n_d, shape.axes @ n_G
    F = matrix(F[0] - pull, F[1] + n[3] * shape.axes.T[0], F[2] + pull, F[3] + bend)
    return F, (moment + cross(n_d, X[:3]) + cross(n_G, X[4:7]) - n[7] * shape.beta, n[7] * shape.gamma)


@inlined
def row_force(k, of, loading, u, shape, X, work, varied):
    """Forces (4, 3) of row k on the four vectors, and its moments on both ends.

    u (n_u,). X (8,) : the value of ``shape.X``. work : ``TurnWork`` at X. varied : whether the tangent is wanted.
    """
    psi, psi_X, along, second, rows = work
    kind, values, length, factor = loading.kind[k], loading.values[k], of.data[k, LENGTH], u[loading.first[k]]
    F, moment, n = no_loads(shape.beta)
    along[:] = 0.0
    turns = False
    for i in range(3):
        hermite, weight = (HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2]), -WEIGHTS[i] * length * factor
        E, t, g = section_turn(shape.X, hermite, psi[i], V8(psi_X[i]), math.cos(psi[i]), math.sin(psi[i]))
        f, c = weight * V3(values[i]), weight * V3(values[i, 3:])
        if kind == SECTION:
            F = with_force(F, V4(HERMITE_VALUES[i]), shape.axes @ (E @ f))
        else:
            F = with_force(F, V4(HERMITE_VALUES[i]), f)
        if values[i, 3] != 0.0 or values[i, 4] != 0.0 or values[i, 5] != 0.0:
            turns = True
            c = E @ c if kind == SECTION else shape.axes.T @ c
            moment = moment + c
            n, about = moment_work(n, hermite, t, g, c, V8(psi_X[i]))
            along[i] = of_one(about)
    if varied and turns:
        second[:] = 0.0
        add_twist_hessian(X, along, rows, second)
        for m in range(8):
            for o in range(m):
                second[o, m] = second[m, o]
        n = twisted(n, M8(second), shape.X)
    return natural_forces(shape, F, n, moment)


@traced
def strained_end(frame: Matrix3, own: Vector4, row: Annotated[Any, (13,)], length: Number) -> Any:
    """The ``LoadedEnd`` of an element of the kind ``Beam``, by its strain and spin, and a row of ``ends``."""
    axes = row[4:].shaped(3, 3)
    along = length * axes.T[0]
    return loaded_end.run(frame, own[1:], row[1:4], axes, (1.0 + own[0]) * along, along)


@traced
def section_loads(ends: LoadedEnds, F: Matrix43, moments: Moments) -> Any:
    """Section forces (6,) at both ends, of forces and moments as in ``on_frames``."""
    found = []
    for e, end in enumerate(ends):
        moment = moments[e] + end.axes.T @ cross(end.along, end.frame.T @ F[2 * e + 1])
        both = joined(end.axes.T @ (end.frame.T @ F[2 * e]), moment)
        found.append(both if e else -both)
    return tuple(found)


@inlined
def place_element(k, of, q, at):
    """Set the ``PlacedElement`` of row k at q (n_q,)."""
    end_states(of.places[k], q, of.fixed, at.states)
    element_shape(at.states, of.ends[k], of.data[k, LENGTH], at.R, at.small, at.X)


@merged
def placed_ends(k, of, at):
    """The ``LoadedEnds`` of row k, and its ``NaturalShape``."""
    length = of.data[k, LENGTH]
    one = strained_end(M3(at.R[0]), V4(at.states[0, STRAIN:]), V13(of.ends[k, 0]), length)
    two = strained_end(M3(at.R[2]), V4(at.states[1, STRAIN:]), V13(of.ends[k, 1]), length)
    return (one, two), NaturalShape(M3(at.R[1]), M3(at.R[4]), V8(at.X), V3(at.small[10]), V3(at.small[11]))


@merged
def varied_ends(k, of, at):
    length = of.data[k, LENGTH]
    one = strained_end(M3(at.R[0]), first_own(V4(at.states[0, STRAIN:])), V13(of.ends[k, 0]), length)
    two = strained_end(M3(at.R[2]), second_own(V4(at.states[1, STRAIN:])), V13(of.ends[k, 1]), length)
    return (one, two), natural_shape((one, two), moved(V3(at.states[1]) - V3(at.states[0])), at.X[7])


@inlined
def add_end_forces(index, ends, F, moments, f, out):
    """out (n_v,) += forces F (4, 3) and moments on both ends. f (2, 7) : work."""
    on_one, on_two = on_frames(ends, F, moments)
    put(on_one, f[0])
    put(on_two, f[1])
    for e in range(2):
        j = index[2 + e]
        if j >= 0:
            for i in range(6):
                out[j + i] += f[e, i]
        out[index[6 + e]] += f[e, 6]


@inlined
def add_section_forces(ends, F, moments, section):
    """section (2, 6) += those of forces F (4, 3) and moments on both ends."""
    at_one, at_two = section_loads(ends, F, moments)
    add_to(at_one, section[0])
    add_to(at_two, section[1])


@inlined
def scatter_changes(on_one, on_two, changes, K, offset, stride, out):
    """Add the changes of the forces (7,) on both ends to block data (size,); changes (14, 12), K (14, 14) : work."""
    put_changes(on_one, changes[0:7])
    put_changes(on_two, changes[7:14])
    for i in range(14):
        for j in range(3):
            K[i, j], K[i, 7 + j] = -changes[i, j], changes[i, j]
            K[i, 3 + j], K[i, 10 + j] = changes[i, 4 + j], changes[i, 8 + j]
        K[i, 6], K[i, 13] = changes[i, 3], changes[i, 7]
    scatter_ends(K, offset, stride, out)


@kernel_with_entry
def forces(of, loading, section, u, q, out):
    """out (s, n_v) += the residual force; section (s, n, 2, 6), unless of length 0, its section forces.

    Returns -1, or the number of a row with a folded element.
    """
    at = PlacedElement(np.zeros((2, 11)), np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8))
    psi, psi_X, index, X = np.empty(4), np.empty((4, 8)), of.places, at.X
    work, f = TurnWork(psi, psi_X, np.empty(4), np.empty((8, 8)), np.empty((7, 8))), np.empty((2, 7))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            place_element(k, of, q[s], at)
            if not twist_angles(X, psi, psi_X):
                return k
            ends, shape = placed_ends(k, of, at)
            F, moments = row_force(k, of, loading, u[s], shape, X, work, False)
            add_end_forces(index[k], ends, F, moments, f, out[s])
            if section.shape[0] > 0:
                add_section_forces(ends, F, moments, section[s, k])
    return -1


@kernel_with_entry
def line_tangent(of, loading, offset, stride, u, q, out):
    """Add the change of the residual force to block data (s, size).

    Returns -1, or the number of a row with a folded element.
    """
    at = PlacedElement(np.zeros((2, 11)), np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8))
    psi, psi_X, index, X = np.empty(4), np.empty((4, 8)), of.places, at.X
    work = TurnWork(psi, psi_X, np.empty(4), np.empty((8, 8)), np.empty((7, 8)))
    changes, K = np.empty((14, 12)), np.empty((14, 14))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            place_element(k, of, q[s], at)
            if not twist_angles(X, psi, psi_X):
                return k
            ends, shape = varied_ends(k, of, at)
            F, moments = row_force(k, of, loading, u[s], shape, X, work, True)
            on_one, on_two = on_frames(ends, F, moments)
            scatter_changes(on_one, on_two, changes, K, offset[k], stride[k], out[s])
    return -1


# Distributed loads on beams of either kind, evaluated together.


class LineLoads(LoadsAlongBeams):
    """A row for every element of the beam of every load; one input per load.

    loads (n,) : number of the load of a row. kind (n,) : INERTIAL or SECTION axes. values (n, 3, 6) : force and moment
    per length at the strain points.
    """

    def set_rows(self, loads: list[Any], slices: Mapping[str, slice]) -> None:
        """Take rows of loads on beams, whose elements are ``slices`` of the rows so far."""
        self.inputs = tuple(Input.of_profile(load.profile, f"loads.{load.name}") for load in loads)
        along = [slices[load.beam] for load in loads]
        counts = [each.stop - each.start for each in along]
        values: list[Floats] = []
        for load, rows in zip(loads, along, strict=True):
            length = self.data[rows, LENGTH]
            s = (np.cumsum(length) - length)[:, None] + length[:, None] * POINTS
            values.append(load.values(s.ravel(), float(length.sum())).reshape(-1, 3, 6))
        axes = [SECTION if load.frame == "body" else INERTIAL for load in loads]
        super().select([row for rows in along for row in range(rows.start, rows.stop)])
        self.values: Floats = np.ascontiguousarray(np.concatenate(values))
        self.loads: Ints = np.repeat(np.arange(len(loads)), counts)
        self.kind: Ints = np.repeat(np.array(axes, dtype=np.int64), counts)

    def select(self, rows: list[int]) -> None:
        super().select(rows)
        self.values, self.kind, self.loads = self.values[rows], self.kind[rows], self.loads[rows]

    @property
    def loading(self) -> Loading:
        return Loading(self.kind, self.loads + self.first_input, self.values)


class LineLoadBatch(LineLoads, AlongBeams):
    """The distributed loads on beams of the kind ``Beam``."""

    def __init__(self, loads: list[Any], layout: Layout, model: ModelView) -> None:
        AlongBeams.__init__(self, [load.beam for load in loads], layout, model)
        self.set_rows(loads, self.slices)

    def force(self, section: Floats) -> Force:
        return Force(forces, (self.rows, self.loading, section), "uq", check=self.check)

    def tangents(self) -> list[Tangent]:
        return [Tangent(line_tangent, (self.rows, self.loading), self.starts, "uq", "k", check=self.check)]
