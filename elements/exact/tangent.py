"""Mass, damping and stiffness matrices of exact beam elements; arguments as in ``element_data``.

Source: docs/theory/exact_beam.md, sections 6 and 9.
"""

from typing import Any, NamedTuple

import numpy as np

from femb.elements.exact.deformation import (
    V9,
    compliance_of,
    damping_change,
    damping_force,
    ends_change,
    ends_force,
    factorise,
    find_stress,
    moved_chord,
    moved_rates,
    shape_of,
    shape_rate,
    solve,
    strained,
    stress_change,
    stress_force,
    viscous_change,
    viscous_of,
)
from femb.elements.exact.element_data import DAMPING, LENGTH, POINTS
from femb.elements.exact.force import (
    Element,
    FramesMotion,
    Placed,
    element_coordinates,
    ends_rates,
    folded,
    free_strain,
    gather_poses,
    gather_rates,
)
from femb.elements.exact.inertia import (
    add_inertia_tangents,
    has_mass_beside,
    inertia_numbers,
    mass_matrix,
    mass_matrix_beside,
)
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.lanes import LANES, choose, every, lanes
from femb.numerics.compiler.traced import M3, V3, V6, dual, put
from femb.numerics.vector3 import rotate, rotate_back, rotation

# The derivatives of the elastic and damping forces of an element by the motion of its frames. Source: section 6.


@inlined
def to_nodes(K9, R1, K):
    """K (12, 12) of the motions of both ends, inertial translations, from K9 by (v, omega_I, omega_II)."""
    # columns: v = R_I^T (r_II' - r_I')
    for i in range(9):
        row = 6 + i if i < 3 else (i if i < 6 else 3 + i)
        for j in range(3):
            s = K9[i, 0] * R1[j, 0] + K9[i, 1] * R1[j, 1] + K9[i, 2] * R1[j, 2]
            K[row, j] = -s
            K[row, 6 + j] = s
            K[row, 3 + j] = K9[i, 3 + j]
            K[row, 9 + j] = K9[i, 6 + j]
    # rows of the force: R_I f on end II, and its opposite on end I
    for j in range(12):
        a, b, c = K[6, j], K[7, j], K[8, j]
        for i in range(3):
            s = R1[i, 0] * a + R1[i, 1] * b + R1[i, 2] * c
            K[6 + i, j] = s
            K[i, j] = -s


@inlined
def columns_to_frames(ends, R, K):
    """Columns of K (12, 12) by the motion of the ends become those of the frames: section 6.4."""
    for e in range(2):
        if every(ends[e, 0] == 0.0):
            continue
        end, Rn, o = ends[e], R[2 * e], 6 * e
        for i in range(12):
            t0, t1, t2 = K[i, o], K[i, o + 1], K[i, o + 2]
            m0, m1, m2 = K[i, o + 3], K[i, o + 4], K[i, o + 5]
            g0 = Rn[0, 0] * t0 + Rn[1, 0] * t1 + Rn[2, 0] * t2
            g1 = Rn[0, 1] * t0 + Rn[1, 1] * t1 + Rn[2, 1] * t2
            g2 = Rn[0, 2] * t0 + Rn[1, 2] * t1 + Rn[2, 2] * t2
            K[i, o + 3] = end[4] * m0 + end[5] * m1 + end[6] * m2 + end[2] * g2 - end[3] * g1
            K[i, o + 4] = end[7] * m0 + end[8] * m1 + end[9] * m2 + end[3] * g0 - end[1] * g2
            K[i, o + 5] = end[10] * m0 + end[11] * m1 + end[12] * m2 + end[1] * g1 - end[2] * g0


@inlined
def rows_to_frames(ends, R, K):
    """Rows of K (12, 12) of the forces on the ends become those of the frames."""
    for e in range(2):
        if every(ends[e, 0] == 0.0):
            continue
        end, Rn, o = ends[e], R[2 * e], 6 * e
        for j in range(12):
            t0, t1, t2 = K[o, j], K[o + 1, j], K[o + 2, j]
            m0, m1, m2 = K[o + 3, j], K[o + 4, j], K[o + 5, j]
            g0 = Rn[0, 0] * t0 + Rn[1, 0] * t1 + Rn[2, 0] * t2
            g1 = Rn[0, 1] * t0 + Rn[1, 1] * t1 + Rn[2, 1] * t2
            g2 = Rn[0, 2] * t0 + Rn[1, 2] * t1 + Rn[2, 2] * t2
            K[o + 3, j] = end[4] * m0 + end[5] * m1 + end[6] * m2 + end[2] * g2 - end[3] * g1
            K[o + 4, j] = end[7] * m0 + end[8] * m1 + end[9] * m2 + end[3] * g0 - end[1] * g2
            K[o + 5, j] = end[10] * m0 + end[11] * m1 + end[12] * m2 + end[1] * g1 - end[2] * g0


@inlined
def add_lever_damping(ends, R, velocities, C, K):
    """Spin columns of K (12, 12) += C by the velocity of an offset end, times its change by the attitude of the frame.

    C (12, 12) : by the motions of the ends; K with columns of the frames. velocities (2, 6) : of the frames.
    """
    for e in range(2):
        if every(ends[e, 0] == 0.0):
            continue
        Rn, o = R[2 * e], 6 * e
        b0, b1, b2 = ends[e, 1], ends[e, 2], ends[e, 3]
        w0, w1, w2 = velocities[e, 3], velocities[e, 4], velocities[e, 5]
        x0, x1, x2 = w1 * b2 - w2 * b1, w2 * b0 - w0 * b2, w0 * b1 - w1 * b0
        for i in range(12):
            t0, t1, t2 = C[i, o], C[i, o + 1], C[i, o + 2]
            g0 = Rn[0, 0] * t0 + Rn[1, 0] * t1 + Rn[2, 0] * t2
            g1 = Rn[0, 1] * t0 + Rn[1, 1] * t1 + Rn[2, 1] * t2
            g2 = Rn[0, 2] * t0 + Rn[1, 2] * t1 + Rn[2, 2] * t2
            # -g x~ as a row is x cross g
            K[i, o + 3] += x1 * g2 - x2 * g1
            K[i, o + 4] += x2 * g0 - x0 * g2
            K[i, o + 5] += x0 * g1 - x1 * g0


@inlined
def add_offset_stiffness(ends, R, force, work, K):
    """K (12, 12) += the change of the torque of the end forces +-force (3,), inertial axes, about the frames."""
    for e in range(2):
        if every(ends[e, 0] == 0.0):
            continue
        sign, end, o = 2.0 * e - 1.0, ends[e], 6 * e + 3
        rotate_back(R[2 * e], force, work)
        along = sign * (end[1] * work[0] + end[2] * work[1] + end[3] * work[2])
        for i in range(3):
            for j in range(3):
                K[o + i, o + j] += sign * work[i] * end[1 + j]
            K[o + i, o + i] -= along


@inlined
def scatter_frames(local, offset, stride, data):
    """Add a matrix (12, 12) of two frames, in any layout, to block data."""
    for a in range(2):
        for b in range(2):
            base, step = offset[a, b], stride[a, b]
            if base >= 0:
                for k in range(6):
                    for m in range(6):
                        data[base + k * step + m] += local[6 * a + k, 6 * b + m]


class TangentWork(NamedTuple):
    """Work arrays of ``element_tangent``: the factor (6, 6), K9, C9 (9, 9), rates (9, 6) of d
    by the motions of the ends, or C^-1 times these, nine (7, 9)."""

    factor: Any
    K9: Any
    C9: Any
    rates: Any
    nine: Any


@inlined
def element_tangent(element, motion, exact, at, work, units, K, C):
    """K, C (12, 12): derivatives of elastic and damping forces by poses and velocities of the frames.

    exact : whether K contains the change of the damping force with the pose, equation (17). work : ``TangentWork``.
    units (9, 9) : the unit matrix. Returns whether it is not folded.
    """
    ends, data, own = element.ends, element.data, element.own
    factor, K9, C9, nine = work.factor, work.K9, work.C9, work.nine
    sigma, eta, n, changes, z, column = nine[0], nine[1], nine[2], nine[3], nine[4], nine[5]
    chord, k2, whole = element_coordinates(motion.poses, ends, at)
    if not whole:
        return False
    by, d = compliance_of(data), V6(at.d)
    factorise(by, at.d, factor)
    if every(own[0] == own[0]):
        for i in range(6):
            sigma[i] = own[i]
    else:
        find_stress(data, factor, at.d, element.free, 1.0, sigma)
    damps, scalar = not every(data[DAMPING] == 0.0), every(data[DAMPING] >= 0.0)
    coefficient = data[DAMPING] / data[LENGTH]
    n[:] = 0.0
    z[:] = 0.0
    if damps:
        ends_rates(motion.velocities, ends, at, z)
        put(shape_rate(chord, V9(z)), eta)
        damping_force(data, factor, at.d, eta, n)
    put(ends_force(chord, stress_force(by, d, V6(sigma)) + V6(n)), nine[6])
    stress, rates, damping = V6(sigma), V9(z), V6(n)
    for j in range(9):
        way = V9(units[j])
        moved = moved_chord(chord, k2, way)
        put(stress_change(by, moved, stress), changes)
        solve(factor, changes)
        force = stress_force(by, shape_of(moved), dual(stress, V6(changes)))
        changes[:] = 0.0
        if damps:
            # B^T C^-1 B and, by direction, (C^-1 B)^T (viscous compliance) C^-1 B
            put(shape_rate(chord, way), work.rates[j])
            put(V6(work.rates[j]), changes)
            solve(factor, changes)
            if scalar:
                put(coefficient * V6(changes), column)
            else:
                put(V6(changes), work.rates[j])
                put(strained(viscous_of(data), d, V6(changes)) / by.length, column)
            for i in range(j + 1):
                x = work.rates[i, 0] * column[0]
                for k in range(1, 6):
                    x += work.rates[i, k] * column[k]
                C9[i, j] = x
                C9[j, i] = x
            changes[:] = 0.0
            if exact:
                put(damping_change(by, moved, moved_rates(rates, way), V6(eta)), changes)
                solve(factor, changes)
                if scalar:
                    for i in range(6):
                        changes[i] *= coefficient
                else:
                    varied = dual(V6(eta), V6(changes))
                    put(viscous_change(by, viscous_of(data), shape_of(moved), varied, damping), changes)
                    solve(factor, changes)
        put(ends_change(moved, force + dual(damping, V6(changes)), way), column)
        for i in range(9):
            K9[i, j] = column[i]
    if damps:
        to_nodes(C9, at.R[1], C)
    to_nodes(K9, at.R[1], K)
    columns_to_frames(ends, at.R, K)
    if damps:
        if exact:
            add_lever_damping(ends, at.R, motion.velocities, C, K)
        columns_to_frames(ends, at.R, C)
        rows_to_frames(ends, at.R, C)
    rows_to_frames(ends, at.R, K)
    rotate(at.R[1], nine[6], at.work[1])
    add_offset_stiffness(ends, at.R, at.work[1], at.work[2], K)
    return True


@inlined
def scatter_group(local, first, offset, stride, data):
    """Add matrices (12, 12, LANES) of the elements from ``first`` to block data."""
    for m in range(min(LANES, offset.shape[0] - first)):
        scatter_frames(local[:, :, m], offset[first + m], stride[first + m], data)


@kernel_with_entry
def tangents(elements, exact, offset, stride, u, q, v, a, damping, stiffness):
    """Add damping and stiffness of all ``ExactRows`` at s states to block data (s, size); returns a folded element, or
    -1.

    exact : whether inertia and damping forces are differentiated by the poses too; otherwise the matrices are those of
    Newton's iteration.
    """
    index, p, free = elements.places, np.empty((3, 4, LANES)), np.empty((6, LANES))
    poses, rates = np.empty((2, 7, LANES)), np.empty((2, 2, 6, LANES))
    motion = FramesMotion(lanes(poses), lanes(rates[0]), lanes(rates[1]))
    at = Placed(
        lanes(p), lanes(np.empty((4, 3, 3, LANES))), lanes(np.empty((2, 3, LANES))), lanes(np.empty((6, LANES))),
        lanes(np.empty((4, 3, LANES))),
    )  # fmt: skip
    work = TangentWork(
        lanes(np.empty((6, 6, LANES))), lanes(np.empty((9, 9, LANES))), lanes(np.empty((9, 9, LANES))),
        lanes(np.empty((9, 6, LANES))), lanes(np.empty((7, 9, LANES))),
    )  # fmt: skip
    K, C = np.empty((12, 12, LANES)), np.empty((12, 12, LANES))
    units, unit, changes = np.eye(9), np.eye(12), lanes(np.empty((2, 6, 12, LANES)))
    for s in range(q.shape[0]):
        for g in range(elements.kind.shape[0]):
            first, row = g * LANES, elements.kind[g]
            element = Element(lanes(elements.ends[row]), lanes(elements.data[row]), lanes(elements.own[g]), lanes(free))
            C[:] = 0.0
            gather_poses(index, first, q[s], elements.fixed, poses)
            gather_rates(index, first, v[s], rates[0])
            free_strain(elements.shares, g, u[s], elements.first_input, free)
            if not element_tangent(element, motion, exact, at, work, units, lanes(K), lanes(C)):
                return folded(first, p, min(LANES, index.shape[0] - first))
            if exact:
                gather_rates(index, first, a[s], rates[1])
                add_inertia_tangents(element.data, at.R, motion, elements.gravity, unit, changes, lanes(C), lanes(K))
            scatter_group(C, first, offset, stride, damping[s])
            scatter_group(K, first, offset, stride, stiffness[s])
    return -1


@kernel_with_entry
def masses(index, kind, ends, data, fixed, offset, stride, q, mass):
    """Add the mass matrices of all elements at s states q (s, n_q) to block data (s, size)."""
    poses, R, M = np.empty((2, 7, LANES)), lanes(np.empty((4, 3, 3, LANES))), np.empty((12, 12, LANES))
    for s in range(q.shape[0]):
        for g in range(kind.shape[0]):
            row, pose = lanes(data[kind[g]]), lanes(poses)
            gather_poses(index, g * LANES, q[s], fixed, poses)
            rotation(pose[0, 3:7], R[0])
            rotation(pose[1, 3:7], R[2])
            of, axes = inertia_numbers(row[POINTS:]), (M3(R[0]), M3(R[2]))
            if has_mass_beside(row):
                put(mass_matrix_beside(of, row[LENGTH], axes, (V3(pose[0]), V3(pose[1]))), lanes(M))
            else:
                put(mass_matrix(of, axes), lanes(M))
            scatter_group(M, g * LANES, offset, stride, mass[s])


@kernel
def predicted_stresses(elements, u, q, x, out):
    """out (s, g, 6, LANES): stresses at s states, changed to first order by displacements x (s, n_v) of the frames.

    The change is taken at the stresses ``own``, equation (19), or at those of the state. Returns a folded element, or
    -1.
    """
    index, p, free = elements.places, np.empty((3, 4, LANES)), np.empty((6, LANES))
    poses, rates = np.empty((2, 7, LANES)), np.empty((2, 6, LANES))
    at = Placed(
        lanes(p), lanes(np.empty((4, 3, 3, LANES))), lanes(np.empty((2, 3, LANES))), lanes(np.empty((6, LANES))),
        lanes(np.empty((4, 3, LANES))),
    )  # fmt: skip
    factor, sigma, point = lanes(np.empty((6, 6, LANES))), lanes(np.empty((6, LANES))), lanes(np.empty((6, LANES)))
    z = lanes(np.empty((9, LANES)))
    for s in range(q.shape[0]):
        for g in range(elements.kind.shape[0]):
            first, row, end = g * LANES, lanes(elements.data[elements.kind[g]]), lanes(elements.ends[elements.kind[g]])
            given, change = lanes(elements.own[g]), lanes(out[s, g])
            gather_poses(index, first, q[s], elements.fixed, poses)
            gather_rates(index, first, x[s], rates)
            chord, k2, whole = element_coordinates(lanes(poses), end, at)
            if not whole:
                return folded(first, p, min(LANES, index.shape[0] - first))
            by = compliance_of(row)
            factorise(by, at.d, factor)
            free_strain(elements.shares, g, u[s], elements.first_input, free)
            find_stress(row, factor, at.d, lanes(free), 1.0, sigma)
            for i in range(6):
                point[i] = choose(given[0] == given[0], given[i], sigma[i])
            ends_rates(lanes(rates), end, at, z)
            put(stress_change(by, moved_chord(chord, k2, V9(z)), V6(point)), change)
            solve(factor, change)
            for i in range(6):
                change[i] += sigma[i]
    return -1
