"""Forces and moments along exact beam elements: the residual of a row, and its tangent by the same text with changes.

A row is one element under one load. At each of three Gauss points it has a force f and a moment c per length, in
inertial axes or in the axes of the section. Forces act on the four vectors of the inertia, moments on the natural
coordinates, both with the bubble that a linear curvature makes.

index, ends, data : arrays of ``element_data``, one row per load and element. kind (n,) int : INERTIAL or SECTION
axes. first (n,) int : input that multiplies the row. values (n, 3, 6) : f and c at the Gauss points.
Source: docs/theory/exact_beam.md, section 10.
"""

from typing import Any, NamedTuple

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam.strain import POINTS, WEIGHTS
from femb.elements.exact.batch import SIZES, VELOCITIES, ExactBatch
from femb.elements.exact.deformation import (
    Chord,
    Compliance,
    adjoint,
    bubble_stress,
    coadjoint,
    compliance_of,
    ends_force,
    shape_of,
    strained,
    turns_of,
    with_angle,
)
from femb.elements.exact.element_data import LENGTH, REFERENCE
from femb.elements.exact.force import Placed, element_coordinates, end_sections, frame_poses
from femb.elements.exact.mean_rotation import mean_factors, rotation_and_mean
from femb.elements.exact.tangent import scatter_frames
from femb.elements.load.line_load_batch import (
    SECTION,
    LineLoads,
    LoadedEnds,
    first_spin,
    loaded_end,
    moved,
    no_loads,
    on_frames,
    second_spin,
    way,
    with_force,
)
from femb.layout.terms import Force, Tangent
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.compiler.duals import (
    Matrix3,
    Matrix43,
    Number,
    Vector3,
    Vector6,
    dot,
    implicit,
    joined,
    matrix,
    sqrt,
    value,
    vector,
)
from femb.numerics.compiler.traced import M3, V3, V4, V6, of_one, put, put_changes, traced
from femb.numerics.vector3 import still

# The four functions of equation (20) at the Gauss points.
_BUBBLE = 0.5 * POINTS * (1.0 - POINTS)
SHARES = np.stack([1.0 - POINTS, _BUBBLE, POINTS, -_BUBBLE], axis=1)


class Helix(NamedTuple):
    """Axes of end I, the ``Chord``, and d: section 2."""

    axes: Matrix3
    chord: Chord
    d: Vector6


def triangle(C):
    """Rows of the Cholesky factor of a matrix, the diagonal inverted."""
    rows: list[Any] = []
    for i in range(6):
        row: list[Any] = []
        for j in range(i + 1):
            x = C[i, j] - sum((a * b for a, b in zip(row, rows[j] if j < i else row, strict=False)), start=0.0)
            row.append(1.0 / sqrt(x) if i == j else x * rows[j][j])
        rows.append(row)
    return rows


def solved(rows, b):
    """The matrix of a ``triangle`` solved for a right-hand side."""
    x = list(b)
    for i in range(6):
        for k in range(i):
            x[i] = x[i] - rows[i][k] * x[k]
        x[i] = x[i] * rows[i][i]
    for i in reversed(range(6)):
        for k in range(i + 1, 6):
            x[i] = x[i] - rows[k][i] * x[k]
        x[i] = x[i] * rows[i][i]
    return joined(*x)


def complied(by, d, b):
    """C^-1 b, with C of equation (11)."""
    at = value(d)
    columns = [strained.run(by, at, vector(*(float(i == j) for i in range(6)))) for j in range(6)]
    rows = triangle(matrix(*columns))
    return implicit(solved(rows, value(b)), lambda x: strained.run(by, d, x) - b, lambda r: solved(rows, r))


@traced
def bubble_stress_of(by: Compliance, d: Vector6, strain: Vector6) -> Any:
    """The stress of a strain times the length, and y, of equation (11)."""
    sigma = complied(by, d, strain) / by.length
    return sigma, bubble_stress(by, d, sigma)


@traced
def helix_between(ends: LoadedEnds, between: Vector3, at: Chord, k2: Number) -> Any:
    """The ``Helix`` from both ends, the way between their frames, inertial axes, and the values of its chord."""
    axes = ends[0].frame @ ends[0].axes
    x = axes.T @ way.run(ends, between)
    spins = joined(*(end.axes.T @ end.spin for end in ends))
    chord = with_angle(x, at.theta + turns_of(at, spins), at.k0, at.k1, k2)
    return Helix(axes, chord, shape_of.run(chord))


@traced
def point_turn(xi: Number, length: Number, y: Vector6) -> Any:
    """Rotation of the section at xi beside that of the helix, equation (27), and its square."""
    turn = (-6.0 * length * xi * (1.0 - xi)) * y[3:]
    return turn, dot(value(turn), value(turn))


@traced
def follows(R: Matrix3, E: Matrix3, Eb: Matrix3, f: Vector3) -> Any:
    """A vector of a section, inertial axes."""
    return R @ (E @ (Eb @ f))


@traced
def deformation_force(by: Compliance, d: Vector6, sigma: Vector6, y: Vector6, n: Vector3, h: Vector3) -> Any:
    """The force (6,) on d of moments: n (3,) on the rotations, and h (3,) on the bubble, equation (28).

    With Y, the change of y with d, it is L Y^T (0, h) = Lambda^T eta - L S(sigma) Fq (0, h), eta = C^-1 X (0, h).
    """
    none = vector(0.0, 0.0, 0.0)
    moment = joined(none, h)
    quadratic = by.quadratic @ moment
    eta = complied(by, d, by.slope @ moment + adjoint(d, quadratic))
    a = bubble_stress(by, d, eta) - quadratic
    return joined(none, n) + eta + by.length * (coadjoint(y, eta) + coadjoint(a, sigma))


@traced
def on_rotations(n: Vector3) -> Any:
    """A force (6,) on d, of that on the rotations alone."""
    return joined(0.0, 0.0, 0.0, n)


@traced
def helix_forces(helix: Helix, F: Matrix43, n: Vector6, moment: Vector3) -> Any:
    """Forces (4, 3) on the four vectors, and moments on both ends, of F (4, 3), of n (6,) on d, equation (12), and of a
    moment on end I."""
    g = ends_force.run(helix.chord, n)
    force = helix.axes @ g[:3]
    return matrix(F[0] - force, F[1], F[2] + force, F[3]), (moment + g[3:6], g[6:])


@inlined
def row_force(ends, between, chord, k2, rows, k, free, factor):
    """Residual force of row k on both ends, as in ``on_frames``.

    ends : a pair of ``LoadedEnd``. between (3,) : way between the frames. chord, k2 : of ``element_coordinates``. free
    (6,) : free strain times the length.
    """
    data, values, kind = rows.data[k], rows.values[k], rows.kind[k]
    length, by = data[LENGTH], compliance_of(data)
    helix = helix_between(ends, between, chord, k2)
    sigma, y = bubble_stress_of(by, helix.d, helix.d - V6(data[REFERENCE:]) - V6(free))
    square = of_one(chord.theta @ chord.theta)
    F, moment, _ = no_loads(helix.chord.x)
    n, h, turns = moment, moment, False
    for i in range(3):
        xi = POINTS[i]
        weight = factor * length * WEIGHTS[i]
        E, A = rotation_and_mean(xi * helix.chord.theta, mean_factors(xi * xi * square))
        f, c = weight * V3(values[i]), weight * V3(values[i, 3:])
        if kind == SECTION:
            turn, bent = point_turn(xi, length, y)
            Eb, _ = rotation_and_mean(turn, mean_factors(of_one(bent)))
            F = with_force(F, V4(SHARES[i]), follows(helix.axes, E, Eb, f))
            c = E @ (Eb @ c)
        else:
            F = with_force(F, V4(SHARES[i]), f)
            c = helix.axes.T @ c
        if values[i, 3] != 0.0 or values[i, 4] != 0.0 or values[i, 5] != 0.0:
            turns = True
            moment = moment + c
            # on rotations and on the bubble, equation (28)
            n, h = n + xi * (A.T @ c), h - (6.0 * xi * (1.0 - xi)) * (E.T @ c)
    on_d = on_rotations(n)
    if turns:
        on_d = deformation_force(by, helix.d, sigma, y, n, h)
    F, moments = helix_forces(helix, F, on_d, moment)
    return on_frames(ends, F, moments)


@traced
def exact_end(frame: Matrix3, spin: Vector3, arm: Vector3, axes: Matrix3, chord: Vector6) -> Any:
    """The ``LoadedEnd`` of an exact element; chord (6,) : d of its reference shape."""
    return loaded_end.run(frame, spin, arm, axes, axes @ chord[:3], vector(0.0, 0.0, 0.0))


@inlined
def free_strain(shares, k, u, first_input, free):
    """free (6,) : the free strain of row k times its length; shares (l, n, 6) : by each of the inputs."""
    free[:] = 0.0
    for m in range(shares.shape[0]):
        for i in range(6):
            free[i] += u[first_input + m] * shares[m, k, i]


class LoadedRows(NamedTuple):
    """All rows, see above, with shares and first_input of ``free_strain`` and the poses of fixed frames."""

    places: Ints
    ends: Floats
    data: Floats
    shares: Floats
    first_input: int
    kind: Ints
    first: Ints
    values: Floats
    fixed: Floats


@kernel_with_entry
def line_forces(rows, section, u, q, out):
    """out (s, n_v) += the residual force; section (s, n, 2, 6), unless of length 0, its section forces.

    Returns -1, or the number of a row with a folded element.
    """
    poses, f, free = np.empty((2, 7)), np.empty(12), np.empty(6)
    at = Placed(np.empty((3, 4)), np.empty((4, 3, 3)), np.empty((2, 3)), np.empty(6), np.empty((4, 3)))
    for s in range(q.shape[0]):
        for k in range(rows.places.shape[0]):
            frame_poses(rows.places[k], q[s], rows.fixed, poses)
            chord, k2, whole = element_coordinates(poses, rows.ends[k], at)
            if not whole:
                return k
            free_strain(rows.shares, k, u[s], rows.first_input, free)
            end, shape = rows.ends[k], V6(rows.data[k, REFERENCE:])
            one = exact_end(M3(at.R[0]), still(), V3(end[0, 1:]), M3(end[0, 4:]), shape)
            two = exact_end(M3(at.R[2]), still(), V3(end[1, 1:]), M3(end[1, 4:]), shape)
            between, factor = V3(poses[1]) - V3(poses[0]), -u[s, rows.first[k]]
            on_one, on_two = row_force((one, two), between, chord, k2, rows, k, free, factor)
            put(on_one[:6], f[0:6])
            put(on_two[:6], f[6:12])
            for e in range(2):
                j = rows.places[k, 2 + e]
                if j >= 0:
                    for i in range(6):
                        out[s, j + i] += f[6 * e + i]
            if section.shape[0] > 0:
                end_sections(end, at, f, section[s, k])
    return -1


@kernel_with_entry
def line_tangent(rows, offset, stride, u, q, out):
    """Add the change of the residual force to block data (s, size).

    Returns -1, or the number of a row with a folded element.
    """
    poses, free = np.empty((2, 7)), np.empty(6)
    at = Placed(np.empty((3, 4)), np.empty((4, 3, 3)), np.empty((2, 3)), np.empty(6), np.empty((4, 3)))
    changes, K = np.empty((12, 12)), np.empty((12, 12))
    for s in range(q.shape[0]):
        for k in range(rows.places.shape[0]):
            frame_poses(rows.places[k], q[s], rows.fixed, poses)
            chord, k2, whole = element_coordinates(poses, rows.ends[k], at)
            if not whole:
                return k
            free_strain(rows.shares, k, u[s], rows.first_input, free)
            end, shape = rows.ends[k], V6(rows.data[k, REFERENCE:])
            one = exact_end(M3(at.R[0]), first_spin(still()), V3(end[0, 1:]), M3(end[0, 4:]), shape)
            two = exact_end(M3(at.R[2]), second_spin(still()), V3(end[1, 1:]), M3(end[1, 4:]), shape)
            between, factor = moved(V3(poses[1]) - V3(poses[0])), -u[s, rows.first[k]]
            on_one, on_two = row_force((one, two), between, chord, k2, rows, k, free, factor)
            put_changes(on_one[:6], changes[0:6])
            put_changes(on_two[:6], changes[6:12])
            for i in range(12):
                for j in range(3):
                    K[i, j], K[i, 6 + j] = -changes[i, j], changes[i, j]
                    K[i, 3 + j], K[i, 9 + j] = changes[i, 4 + j], changes[i, 8 + j]
            scatter_frames(K, offset[k], stride[k], out[s])
    return -1


class ExactLineLoadBatch(LineLoads):
    """The distributed loads on exact beams.

    of_beams : the batch of all their elements, for their arrays and their free strains.
    """

    beams = ExactBatch
    velocities = VELOCITIES
    sizes = SIZES

    def __init__(self, loads: list[Any], of_beams: ExactBatch) -> None:
        self.of_beams = of_beams
        self.index, self.ends, self.data = of_beams.index, of_beams.ends, of_beams.data
        self.in_model = np.arange(len(self.index))
        self.set_rows(loads, of_beams.slices)

    @property
    def _rows(self) -> LoadedRows:
        shares = np.ascontiguousarray(self.of_beams._shares[:, self.in_model])
        (kind, first, values), heated = self.loading, self.of_beams.first_input
        fixed = self.of_beams.fixed
        return LoadedRows(self.index, self.ends, self.data, shares, heated, kind, first, values, fixed)

    def check(self, folded: int) -> None:
        """Raise FoldedError for the row that a kernel returned, unless it is -1."""
        self.of_beams.check(int(self.in_model[folded]) if folded >= 0 else -1)

    def force(self, section: Floats) -> Force:
        return Force(line_forces, (self._rows, section), "uq", check=self.check, slow=True)

    def tangents(self) -> list[Tangent]:
        return [Tangent(line_tangent, (self._rows,), self.starts, "uq", "k", check=self.check)]
