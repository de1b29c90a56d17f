"""Distributed loads, evaluated together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam.ends import element_shape
from femb.elements.beam.matrices import ends_stiffness, expand
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
from femb.elements.beam.tangent_strain import AXIS, SLOPE, twist_hessian
from femb.elements.load import line_load_kernels as kernels
from femb.elements.load.along_beam import AlongBeams, add_tangent
from femb.elements.load.line_load_kernels import INERTIAL, SECTION, local_vectors, row_force, spin_gradient
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.layout.views import ModelView
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.vector3 import dot, rotate_back

# Tangents of forces and moments along beams: the change of the residual with the coordinates at constant inputs.
#
# Arrays as in ``line_load_kernels``. Changes are along the eleven motions of the ends (see ``strain.end_gradient``). A
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


@kernel
def turning_tangent(index, ends, data, kind, first, values, offset, stride, u, q, fixed, out):
    """Add the change of the residual force at one state to block data, without the part of ``moment_tangent``."""
    states = np.empty((2, 8))
    R, small, X, work = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8), np.empty((3, 3))
    n, f11, f, G2 = np.empty(8), np.empty(11), np.empty(14), np.empty(3)
    psi, psi_X, S, W = np.empty(4), np.empty((4, 8)), np.empty((3, 3)), np.empty((3, 8))
    G, M1, dG = np.empty((4, 3)), np.empty(3), np.empty((11, 4, 3))
    B, spin, change = np.empty((8, 11)), np.empty((3, 11)), np.empty((3, 11))
    K11, D, A, T = np.empty((11, 11)), np.empty((11, 14)), np.empty((14, 14)), np.empty((2, 3, 3))
    dn = np.empty((8, 11))
    Q, beta, gamma = R[4], small[10], small[11]
    for k in range(index.shape[0]):
        length, factor = data[k, LENGTH], u[first[k]]
        end_states(index[k], q, fixed, states)
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
        add_tangent(ends[k], offset[k], stride[k], R, T, f, A, out)
    return -1


@kernel
def moment_tangent(index, ends, data, kind, first, values, offset, stride, u, q, fixed, out):
    """Add the part of the exact tangent due to the change of the spin gradient W at constant moments."""
    states = np.empty((2, 8))
    R, small, X, work = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8), np.empty((3, 3))
    no_force = np.zeros(14)
    psi, psi_X, S, second = np.empty(4), np.empty((4, 8)), np.empty((3, 3)), np.empty((4, 8, 8))
    B, H, HB, K11 = np.empty((8, 11)), np.empty((8, 8)), np.empty((8, 11)), np.empty((11, 11))
    A, T = np.empty((14, 14)), np.empty((2, 3, 3))
    for k in range(index.shape[0]):
        length = data[k, LENGTH]
        end_states(index[k], q, fixed, states)
        element_shape(states, ends[k], length, R, small, X)
        if not twist_angles(X, psi, psi_X):
            return k
        twist_hessian(X, second)
        H[:] = 0.0
        for i in range(3):
            g = section_at(X, HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2], psi[i], S)
            local_vectors(R, kind[k], values[k, i], -WEIGHTS[i] * length * u[first[k]], S, work[0], work[1])
            spin_change(i, g, S, psi_X, second, work[1], H)
        shape_gradient(X, R[4], small[10], small[11], length, B)
        ends_stiffness(H, B, HB, K11)
        A[:] = 0.0
        expand(K11, A)
        add_tangent(ends[k], offset[k], stride[k], R, T, no_force, A, out)
    return -1


@inlined
def spin_change(i, g, S, psi_X, second, c, H):
    """H (8, 8) += the transpose of d(W^T c)/dX at a constant moment c (3,), W as in ``spin_gradient``.

    W^T c is t'^T w + psi' (t . c) with w = c x t - (t . c) (e1 x t) / (1 + t1); second : of ``twist_hessian``.
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
    for m in range(8):
        for o in range(8):
            H[o, m] += second[i, m, o] * along


# Rows of distributed loads, one for each element of the beam of each load.


@dataclass(frozen=True, eq=False)
class LineLoadRows:
    """elements (n,) : the element of each row in its batch; load (n,) : number of its load; kind (n,) : INERTIAL or
    SECTION axes; values (n, 3, 6) : force and moment per length at the strain points."""

    elements: list[int]
    load: Ints
    kind: Ints
    values: Floats

    @classmethod
    def of(cls, loads: list[Any], slices: Mapping[str, slice], lengths: Floats) -> "LineLoadRows":
        """The rows of loads on beams, whose elements are ``slices`` of a batch with these lengths (m)."""
        values: list[Floats] = []
        load: list[int] = []
        kind: list[int] = []
        elements: list[int] = []
        for k, item in enumerate(loads):
            along = slices[item.beam]
            length = lengths[along]
            s = (np.cumsum(length) - length)[:, None] + length[:, None] * POINTS
            values.append(item.values(s.ravel(), float(length.sum())).reshape(-1, 3, 6))
            load += [k] * len(length)
            kind += [SECTION if item.frame == "body" else INERTIAL] * len(length)
            elements += range(along.start, along.stop)
        whole = np.ascontiguousarray(np.concatenate(values))
        return cls(elements, np.array(load, dtype=np.int64), np.array(kind, dtype=np.int64), whole)


class LineLoadBatch(AlongBeams):
    """A row for every element of the beam of every load; one input per load."""

    def __init__(self, loads: list[Any], layout: Layout, model: ModelView) -> None:
        super().__init__([load.beam for load in loads], layout, model)
        self.inputs = tuple(Input.of_profile(load.profile, f"loads.{load.name}") for load in loads)
        rows = LineLoadRows.of(loads, self.slices, self.data[:, LENGTH])
        super().select(rows.elements)
        self.values, self.kind, self._first = rows.values, rows.kind, rows.load
        self._has_moments = bool(self.values[:, :, 3:].any())

    def select(self, rows: list[int]) -> None:
        super().select(rows)
        self.values, self.kind, self._first = self.values[rows], self.kind[rows], self._first[rows]

    @property
    def _rows(self) -> tuple[Any, ...]:
        return (self.index, self.ends, self.data, self.kind, self._first + self.first_input, self.values)

    def force(self, u: Floats, q: Floats, sign: float, out: Floats, section: Floats) -> None:
        self.check(kernels.forces(*self._rows, u, q, self.fixed, sign, out, section))

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        args = (self.offset, self.stride, u, q, self.fixed, stiffness)
        self.check(turning_tangent(*self._rows, *args))

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        args = (self.offset, self.stride, u, q, self.fixed, stiffness)
        self.check(turning_tangent(*self._rows, *args))
        if self._has_moments:
            self.check(moment_tangent(*self._rows, *args))
