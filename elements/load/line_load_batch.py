"""Loads along beams, evaluated together: what all have in common, and forces and moments per length."""

import math
from collections.abc import Mapping
from copy import copy
from typing import Any, Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.elements.beam.batch import NO_SECTION, SIZES, VELOCITIES, BeamBatch
from femb.elements.beam.beam import Beam
from femb.elements.beam.ends import check_unfolded, element_shape, force_to_frame
from femb.elements.beam.matrices import attachment_stiffness, ends_stiffness, expand, frame_map, scatter_ends, to_frames
from femb.elements.beam.strain import (
    HERMITE,
    HERMITE_VALUES,
    LENGTH,
    POINTS,
    WEIGHTS,
    end_states,
    ends_force,
    geometric_stiffness,
    section_at,
    shape_gradient,
    twist_angles,
)
from femb.elements.beam.tangent import add_column, add_force_change
from femb.elements.beam.tangent_strain import AXIS, SLOPE, add_twist_hessian
from femb.elements.private_blocks import FreeBody
from femb.elements.records import load_factors
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.terms import Force, Tangent
from femb.layout.views import ModelView, OutputStates
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.vector3 import dot, rotate, rotate_back


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
        section = np.zeros((len(q), len(self.index), 2, 6))
        force = self.force(section)
        Bound(force.kernel, *force.kept, u, q, np.zeros_like(v), check=force.check)()
        for k, row in enumerate(self.in_model):
            out[:, row] += section[:, k]

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """The factor of every load, i.e. the value of its profile."""
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

    def check(self, folded: int) -> None:
        """Raise FoldedError for the row that a kernel returned, unless it is -1."""
        check_unfolded(self.labels, folded)


# Kernels shared by loads along beam elements: geometry of an element, and transfer of end forces to its frames.
#
# index, ends, data : rows of the arrays of ``femb.elements.beam.strain``. R (5, 3, 3) : axes of frame I, end I, frame
# II and end II; Q, from the axes of section II to those of section I.


@inlined
def add_force(index, ends, R, f, work, out):
    """out (n_v,) += a force f (14,) on the ends: forces in axes of section I, moments in end axes.

    work : (3, 3).
    """
    F, force, torque = work[0], work[1], work[2]
    for end in range(2):
        o = 7 * end
        rotate(R[1], f[o : o + 3], F)
        frame = index[2 + end]
        if frame >= 0:
            force_to_frame(F, f[o + 3 : o + 6], ends[end], R[2 * end], force, torque)
            for i in range(3):
                out[frame + i] += force[i]
                out[frame + 3 + i] += torque[i]
        out[index[6 + end]] += f[o + 6]


@inlined
def add_section_force(R, f, work, section):
    """section (2, 6) += the contribution of a residual force f to the section forces (see ``force.forces``)."""
    F, own = work[0], work[1]
    for end in range(2):
        o, outward = 7 * end, 2.0 * end - 1.0
        rotate(R[1], f[o : o + 3], F)
        rotate_back(R[1 + 2 * end], F, own)
        for i in range(3):
            section[end, i] += outward * own[i]
            section[end, 3 + i] += outward * f[o + 3 + i]


@inlined
def add_tangent(ends, offset, stride, R, T, f, A, out):
    """Add the change A (14, 14) of the residual force f (14,) with the motion of the ends to block data; A changes.

    T (2, 3, 3) : work array.
    """
    attached = ends[0, 0] != 0.0 or ends[1, 0] != 0.0
    if attached:
        frame_map(R, ends, T)
    to_frames(A, R[1], T, ends)
    if attached:
        attachment_stiffness(f[0:3], f[7:10], ends, R, T[0], A)
    scatter_ends(A, offset, stride, out)


# Kernels over forces and moments along beams.
#
# A row is one element under one load. At each of the three strain points it has a force f and a moment c per length,
# in inertial axes or in the axes of the section. Virtual displacements follow the interpolation of the element: the
# centreline is a cubic, and the section rotates with the tangent and by the angle psi about it.
#
# index, ends, data : as above, one row per load and element. kind (n,) int : INERTIAL or SECTION axes. first (n,) int
# : input that multiplies the row. values (n, 3, 6) : f and c at the strain points. Vectors have components in the axes
# of the first section. Source: docs/theory/beam_loads.md, equations (6) to (12).

INERTIAL, SECTION = 0, 1


@inlined
def spin_gradient(i, g, S, psi_X, W):
    """W (3, 8): spin of the section at strain point i relative to the first section, per natural coordinate.

    The swing from e1 to the tangent t has the spin t x t' - t (e1 x t) . t' / (1 + t1); psi adds t psi'. psi_X (4, 8) :
    gradients of ``twist_angles``. Source: equation (9).
    """
    t1, t2, t3 = S[0, 0], S[1, 0], S[2, 0]
    d = 1.0 / (1.0 + t1)
    for m in range(8):
        W[0, m], W[1, m], W[2, m] = t1 * psi_X[i, m], t2 * psi_X[i, m], t3 * psi_X[i, m]
    for k in range(3):
        for p in range(3 if k != 1 else 1):
            # component p of r' depends on the chord (k = 0), on s (k = 1) and on G (k = 2)
            m = p if k == 0 else (3 if k == 1 else 4 + p)
            n = HERMITE[i, 1] if k == 0 else (HERMITE[i, 0] if k == 1 else HERMITE[i, 2])
            along = S[p, 0]
            a = n / g * ((1.0 if p == 0 else 0.0) - along * t1)
            b = n / g * ((1.0 if p == 1 else 0.0) - along * t2)
            c = n / g * ((1.0 if p == 2 else 0.0) - along * t3)
            swing = d * (t3 * b - t2 * c)  # minus (e1 x t) . t' / (1 + t1)
            W[0, m] += t2 * c - t3 * b + t1 * swing
            W[1, m] += t3 * a - t1 * c + t2 * swing
            W[2, m] += t1 * b - t2 * a + t3 * swing


@inlined
def row_force(X, R, length, kind, factor, values, psi, psi_X, S, W, work, G, n, M1):
    """Residual forces of a row: G (4, 3), conjugate to (r_I, g_I, r_II, g_II); n (8,), conjugate to the natural
    coordinates; and M1 (3,), conjugate to the spin of end I."""
    f, c = work[0], work[1]
    G[:] = 0.0
    n[:] = 0.0
    M1[:] = 0.0
    for i in range(3):
        g = section_at(X, HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2], psi[i], S)
        local_vectors(R, kind, values[i], -WEIGHTS[i] * length * factor, S, f, c)
        for o in range(4):
            for k in range(3):
                G[o, k] += HERMITE_VALUES[i, o] * f[k]
        if c[0] != 0.0 or c[1] != 0.0 or c[2] != 0.0:
            spin_gradient(i, g, S, psi_X, W)
            for m in range(8):
                n[m] += W[0, m] * c[0] + W[1, m] * c[1] + W[2, m] * c[2]
            for k in range(3):
                M1[k] += c[k]


@inlined
def local_vectors(R, kind, values, weight, S, f, c):
    """f, c (3,): weighted force and moment at one point in the axes of the first section."""
    if kind == INERTIAL:
        rotate_back(R[1], values[0:3], f)
        rotate_back(R[1], values[3:6], c)
    else:
        rotate(S, values[0:3], f)
        rotate(S, values[3:6], c)
    for k in range(3):
        f[k] *= weight
        c[k] *= weight


@kernel_with_entry
def forces(index, ends, data, kind, first, values, fixed, section, u, q, out):
    """out (s, n_v) += the residual force; section (s, n, 2, 6), unless of length 0, its section forces.

    Returns -1, or the number of a row with a folded element.
    """
    states = np.empty((2, 8))
    R, small, X, work = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8), np.empty((3, 3))
    n, f11, f = np.empty(8), np.empty(11), np.empty(14)
    psi, psi_X, S, W = np.empty(4), np.empty((4, 8)), np.empty((3, 3)), np.empty((3, 8))
    G, M1 = np.empty((4, 3)), np.empty(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length, Q = data[k, LENGTH], R[4]
            end_states(index[k], q[s], fixed, states)
            element_shape(states, ends[k], length, R, small, X)
            if not twist_angles(X, psi, psi_X):
                return k
            row_force(X, R, length, kind[k], u[s, first[k]], values[k], psi, psi_X, S, W, work, G, n, M1)
            s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
            ends_force(X, Q, small[10], small[11], length, s2, n, G, M1, work[2], f11, f)
            add_force(index[k], ends[k], R, f, work, out[s])
            if section.shape[0] > 0:
                add_section_force(R, f, work, section[s, k])
    return -1


# Tangents of forces and moments along beams: the change of the residual with the coordinates at constant inputs.
#
# Changes are along the eleven motions of the ends (see ``strain.end_gradient``). A
# vector f in the axes of the first section changes by Omega x f if it rotates with a section of spin Omega, and by
# f x theta if it is constant in inertial axes while the axes of the first section rotate by theta.
# Source: docs/theory/beam_loads.md, equations (11) and (12).


@inlined
def vector_changes(f, spin, follows, change):
    """change (3, 11) of a vector in the axes of the first section; spin (3, 11) of its section relative to these."""
    for j in range(11):
        if follows:
            a, b, c = spin[0, j], spin[1, j], spin[2, j]
        else:
            # -theta x f
            a, b, c = -1.0 if j == 3 else 0.0, -1.0 if j == 4 else 0.0, -1.0 if j == 5 else 0.0
        change[0, j] = b * f[2] - c * f[1]
        change[1, j] = c * f[0] - a * f[2]
        change[2, j] = a * f[1] - b * f[0]


@kernel_with_entry
def turning_tangent(index, ends, data, kind, first, values, fixed, offset, stride, u, q, out):
    """Add the change of the residual force to block data (s, size), without the part of ``moment_tangent``."""
    states = np.empty((2, 8))
    R, small, X, work = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8), np.empty((3, 3))
    n, f11, f, G2 = np.empty(8), np.empty(11), np.empty(14), np.empty(3)
    psi, psi_X, S, W = np.empty(4), np.empty((4, 8)), np.empty((3, 3)), np.empty((3, 8))
    G, M1, dG = np.empty((4, 3)), np.empty(3), np.empty((11, 4, 3))
    B, spin, change = np.empty((8, 11)), np.empty((3, 11)), np.empty((3, 11))
    K11, D, A, T = np.empty((11, 11)), np.empty((11, 14)), np.empty((14, 14)), np.empty((2, 3, 3))
    dn = np.empty((8, 11))
    Q, beta, gamma = R[4], small[10], small[11]
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length, factor = data[k, LENGTH], u[s, first[k]]
            end_states(index[k], q[s], fixed, states)
            element_shape(states, ends[k], length, R, small, X)
            if not twist_angles(X, psi, psi_X):
                return k
            shape_gradient(X, Q, beta, gamma, length, B)
            row_force(X, R, length, kind[k], factor, values[k], psi, psi_X, S, W, work, G, n, M1)
            dG[:] = 0.0
            dn[:] = 0.0
            D[:] = 0.0
            for i in range(3):
                g = section_at(X, HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2], psi[i], S)
                local_vectors(R, kind[k], values[k, i], -WEIGHTS[i] * length * factor, S, work[0], work[1])
                spin_gradient(i, g, S, psi_X, W)
                for j in range(11):
                    for p in range(3):
                        x = 0.0
                        for m in range(8):
                            x += W[p, m] * B[m, j]
                        spin[p, j] = x
                vector_changes(work[0], spin, kind[k] == SECTION, change)
                for j in range(11):
                    for o in range(4):
                        for p in range(3):
                            dG[j, o, p] += HERMITE_VALUES[i, o] * change[p, j]
                vector_changes(work[1], spin, kind[k] == SECTION, change)
                for p in range(3):
                    for j in range(11):
                        D[j, 3 + p] += change[p, j]
                        for m in range(8):
                            dn[m, j] += W[p, m] * change[p, j]
            s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
            rotate_back(Q, G[3], G2)
            A[:] = 0.0
            for j in range(11):
                add_force_change(j, Q, length, X[3], s2, G, G2, dG[j], work, D[j])
                add_column(j, D[j], A)
            K11[:] = 0.0
            geometric_stiffness(X, Q, beta, gamma, length, n, K11)
            for i in range(11):
                for j in range(11):
                    for m in range(8):
                        K11[i, j] += B[m, i] * dn[m, j]
            expand(K11, A)
            ends_force(X, Q, beta, gamma, length, s2, n, G, M1, work[2], f11, f)
            add_tangent(ends[k], offset[k], stride[k], R, T, f, A, out[s])
    return -1


@kernel
def moment_tangent(index, ends, data, kind, first, values, fixed, offset, stride, u, q, out):
    """Add the part of the exact tangent due to the change of the spin gradient W at constant moments."""
    states = np.empty((2, 8))
    R, small, X, work = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8), np.empty((3, 3))
    no_force = np.zeros(14)
    psi, psi_X, S, along = np.empty(4), np.empty((4, 8)), np.empty((3, 3)), np.empty(4)
    B, H, HB, K11 = np.empty((8, 11)), np.empty((8, 8)), np.empty((8, 11)), np.empty((11, 11))
    second, rows = np.empty((8, 8)), np.empty((7, 8))
    A, T = np.empty((14, 14)), np.empty((2, 3, 3))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length = data[k, LENGTH]
            end_states(index[k], q[s], fixed, states)
            element_shape(states, ends[k], length, R, small, X)
            if not twist_angles(X, psi, psi_X):
                return k
            H[:] = 0.0
            second[:] = 0.0
            along[3] = 0.0
            for i in range(3):
                g = section_at(X, HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2], psi[i], S)
                local_vectors(R, kind[k], values[k, i], -WEIGHTS[i] * length * u[s, first[k]], S, work[0], work[1])
                along[i] = spin_change(i, g, S, psi_X, work[1], H)
            add_twist_hessian(X, along, rows, second)
            for m in range(8):
                for o in range(8):
                    H[m, o] += second[max(m, o), min(m, o)]
            shape_gradient(X, R[4], small[10], small[11], length, B)
            ends_stiffness(H, B, HB, K11)
            A[:] = 0.0
            expand(K11, A)
            add_tangent(ends[k], offset[k], stride[k], R, T, no_force, A, out[s])
    return -1


@inlined
def spin_change(i, g, S, psi_X, c, H):
    """H (8, 8) += the transpose of d(W^T c)/dX at a constant moment c (3,), W as in ``spin_gradient``.

    W^T c is t'^T w + psi' (t . c) with w = c x t - (t . c) (e1 x t) / (1 + t1). Returns t . c, by which the second
    derivatives of the angle psi are added to it.
    """
    t, w, dt, dw = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for p in range(3):
        t[p] = S[p, 0]
    d = 1.0 / (1.0 + t[0])
    along = dot(t, c)
    w[0] = c[1] * t[2] - c[2] * t[1]
    w[1] = c[2] * t[0] - c[0] * t[2] + along * d * t[2]
    w[2] = c[0] * t[1] - c[1] * t[0] - along * d * t[1]
    tw = dot(t, w)
    for o in range(7):
        q, n_o = AXIS[o], HERMITE[i, SLOPE[o]]
        for p in range(3):
            dt[p] = n_o / g * ((1.0 if p == q else 0.0) - t[p] * t[q])
        dalong = dot(dt, c)
        # change of -(t . c) / (1 + t1)
        dfactor = d * (along * d * dt[0] - dalong)
        dw[0] = c[1] * dt[2] - c[2] * dt[1]
        dw[1] = c[2] * dt[0] - c[0] * dt[2] - dfactor * t[2] + along * d * dt[2]
        dw[2] = c[0] * dt[1] - c[1] * dt[0] + dfactor * t[1] - along * d * dt[1]
        tdw = dot(t, dw)
        for m in range(7):
            p, n_m = AXIS[m], HERMITE[i, SLOPE[m]]
            same = 1.0 if p == q else 0.0
            bent = -w[p] * t[q] - w[q] * t[p] - tw * same + 3.0 * tw * t[p] * t[q]
            H[o, m] += n_m * n_o / (g * g) * bent + n_m / g * (dw[p] - tdw * t[p])
        for m in range(8):
            H[o, m] += psi_X[i, m] * dalong
    return along


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
    def loading(self) -> tuple[Any, ...]:
        """The arguments kind, first and values of the kernels."""
        return self.kind, self.loads + self.first_input, self.values


class LineLoadBatch(LineLoads, AlongBeams):
    """The distributed loads on beams of the kind ``Beam``."""

    def __init__(self, loads: list[Any], layout: Layout, model: ModelView) -> None:
        AlongBeams.__init__(self, [load.beam for load in loads], layout, model)
        self.set_rows(loads, self.slices)
        self._has_moments = bool(self.values[:, :, 3:].any())

    @property
    def _rows(self) -> tuple[Any, ...]:
        return self.index, self.ends, self.data, *self.loading, self.fixed

    def force(self, section: Floats) -> Force:
        return Force(forces, (*self._rows, section), "uq", check=self.check)

    def tangents(self) -> list[Tangent]:
        turning = Tangent(turning_tangent, self._rows, self.starts, "uq", "k", check=self.check)
        of_moments = Tangent(moment_tangent, self._rows, self.starts, "uq", "k", step=False, check=self.check)
        return [turning, of_moments] if self._has_moments else [turning]
