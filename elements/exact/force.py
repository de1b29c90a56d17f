"""Residual of exact beam elements: elastic, damping, inertia and gyroscopic forces; arguments as in ``element_data``.

Source: docs/theory/exact_beam.md, sections 5 and 9.
"""

import numpy as np

from femb.elements.exact.deformation import (
    FOLDED,
    add_damping_force,
    coefficients,
    compliance,
    end_attitude,
    linear_stress_force,
    map_derivative,
    map_of,
    rotation_between,
    solve,
    strain,
    stress_force,
)
from femb.elements.exact.element_data import BESIDE, DAMPING, LENGTH, MASSES, POINTS, ROTARY
from femb.elements.exact.offset_mass import (
    add_bubble_force_changes,
    add_bubble_forces,
    add_bubbles,
    bubble_vectors,
    turned,
)
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.compiler.lanes import LANES, every, lanes
from femb.numerics.vector3 import cross, dot, product, rotate, rotate_back, rotation, times_skew

# Kernels of the inertia: four vectors that are fixed in the frames, and the rotary inertia.
#
# Source: docs/theory/exact_beam.md, section 9, equations (20) to (26).

# Columns of the inertias J11, J12, J22 in a row of data.
J11, J12, J22 = ROTARY, ROTARY + 9, ROTARY + 18


@inlined
def has_mass_beside(data):
    """Whether the mass of an element is beside its axis, so that eight points count in place of four."""
    return not every(data[BESIDE + 4] == 0.0)


@inlined
def point_motions(data, R1, R2, poses, rates, omega, count, x, xd):
    """Places x and rates xd (count, 3) of the points, inertial axes; poses (2, 7), rates (2, 6) : of the frames."""
    for k in range(count):
        e = k // 2 % 2
        o = POINTS + 3 * k
        y0, y1, y2 = data[o], data[o + 1], data[o + 2]
        w0, w1, w2 = omega[e, 0], omega[e, 1], omega[e, 2]
        c0, c1, c2 = w1 * y2 - w2 * y1, w2 * y0 - w0 * y2, w0 * y1 - w1 * y0
        R = R1 if e == 0 else R2
        for i in range(3):
            x[k, i] = R[i, 0] * y0 + R[i, 1] * y1 + R[i, 2] * y2
            xd[k, i] = R[i, 0] * c0 + R[i, 1] * c1 + R[i, 2] * c2
            if k == 2 * e:
                x[k, i] += poses[e, i]
                xd[k, i] += rates[e, i]


@inlined
def point_accelerations(data, R1, R2, omega, alpha, acc, count, A, xdd):
    """A (count, 3), frame axes, and the second derivatives (count, 3) of the points, inertial axes: equation (24).

    omega, alpha (2, 3) : angular velocities and accelerations of the frames, own axes. acc (2, 3) : accelerations of
    the frames less gravity, inertial axes. count : four vectors, or also k and c of both ends.
    """
    for k in range(count):
        e = k // 2 % 2
        o = POINTS + 3 * k
        y0, y1, y2 = data[o], data[o + 1], data[o + 2]
        w0, w1, w2 = omega[e, 0], omega[e, 1], omega[e, 2]
        b0, b1, b2 = alpha[e, 0], alpha[e, 1], alpha[e, 2]
        wy = w0 * y0 + w1 * y1 + w2 * y2
        ww = w0 * w0 + w1 * w1 + w2 * w2
        A[k, 0] = b1 * y2 - b2 * y1 + w0 * wy - y0 * ww
        A[k, 1] = b2 * y0 - b0 * y2 + w1 * wy - y1 * ww
        A[k, 2] = b0 * y1 - b1 * y0 + w2 * wy - y2 * ww
        R = R1 if e == 0 else R2
        for i in range(3):
            xdd[k, i] = R[i, 0] * A[k, 0] + R[i, 1] * A[k, 1] + R[i, 2] * A[k, 2]
            if k == 2 * e:
                xdd[k, i] += acc[e, i]


@inlined
def point_forces(data, xdd, F):
    """F (4, 3) = h xdd."""
    for k in range(4):
        o = MASSES + 4 * k
        for i in range(3):
            F[k, i] = data[o] * xdd[0, i] + data[o + 1] * xdd[1, i] + data[o + 2] * xdd[2, i] + data[o + 3] * xdd[3, i]


@inlined
def add_point_forces(data, R1, R2, count, F, f):
    """f (12,) += the forces F (count, 3) of the points on the frames: equation (25)."""
    for k in range(count):
        e = k // 2 % 2
        R = R1 if e == 0 else R2
        if k == 2 * e:
            for i in range(3):
                f[6 * e + i] += F[k, i]
        g0 = R[0, 0] * F[k, 0] + R[1, 0] * F[k, 1] + R[2, 0] * F[k, 2]
        g1 = R[0, 1] * F[k, 0] + R[1, 1] * F[k, 1] + R[2, 1] * F[k, 2]
        g2 = R[0, 2] * F[k, 0] + R[1, 2] * F[k, 1] + R[2, 2] * F[k, 2]
        o = POINTS + 3 * k
        y0, y1, y2 = data[o], data[o + 1], data[o + 2]
        f[6 * e + 3] += y1 * g2 - y2 * g1
        f[6 * e + 4] += y2 * g0 - y0 * g2
        f[6 * e + 5] += y0 * g1 - y1 * g0


@inlined
def point_jets(data, R1, R2, poses, rates, omega, xdd, x, xd, v, z):
    """v (12, 3), z (9, 3) of ``add_bubbles``, and places and rates x, xd (8, 3) of the points; xdd (8, 3)."""
    point_motions(data, R1, R2, poses, rates, omega, 8, x, xd)
    bubble_vectors(data, x, v, 0)
    bubble_vectors(data, xd, v, 4)
    bubble_vectors(data, xdd, v, 8)
    z[:] = 0.0
    add_bubbles(data, v, v, v, 1.0, z)


@inlined
def angular_momenta(data, omega, h):
    """h (2, 3): derivatives of the rotary energy by the angular velocities of both frames, own axes."""
    for i in range(3):
        x, y = 0.0, 0.0
        for j in range(3):
            x += data[J11 + 3 * i + j] * omega[0, j] + data[J12 + 3 * i + j] * omega[1, j]
            y += data[J12 + 3 * j + i] * omega[0, j] + data[J22 + 3 * i + j] * omega[1, j]
        h[0, i] = x
        h[1, i] = y


@inlined
def add_rotary_force(data, omega, alpha, h, g, f):
    """f (12,) += the torques of the rotary inertia; h, g (2, 3) work arrays."""
    angular_momenta(data, omega, h)
    angular_momenta(data, alpha, g)
    for e in range(2):
        w0, w1, w2 = omega[e, 0], omega[e, 1], omega[e, 2]
        f[6 * e + 3] += g[e, 0] + w1 * h[e, 2] - w2 * h[e, 1]
        f[6 * e + 4] += g[e, 1] + w2 * h[e, 0] - w0 * h[e, 2]
        f[6 * e + 5] += g[e, 2] + w0 * h[e, 1] - w1 * h[e, 0]


@inlined
def add_mass(data, R1, R2, M):
    """M (12, 12) += the mass matrix: equation (26)."""
    for e in range(2):
        for g in range(2):
            Rg = R1 if g == 0 else R2
            Re = R1 if e == 0 else R2
            h, slope = data[MASSES + 8 * e + 2 * g], data[MASSES + 8 * e + 2 * g + 1]
            for i in range(3):
                M[6 * e + i, 6 * g + i] += h
            # y_eg, and M = -R_g y~
            o = POINTS + 6 * g
            y0 = h * data[o] + slope * data[o + 3]
            y1 = h * data[o + 1] + slope * data[o + 4]
            y2 = h * data[o + 2] + slope * data[o + 5]
            for i in range(3):
                a, b, c = Rg[i, 0], Rg[i, 1], Rg[i, 2]
                # row of R times y~ is the row x y
                x0, x1, x2 = b * y2 - c * y1, c * y0 - a * y2, a * y1 - b * y0
                M[6 * e + i, 6 * g + 3] -= x0
                M[6 * e + i, 6 * g + 4] -= x1
                M[6 * e + i, 6 * g + 5] -= x2
                M[6 * g + 3, 6 * e + i] -= x0
                M[6 * g + 4, 6 * e + i] -= x1
                M[6 * g + 5, 6 * e + i] -= x2
            for k in range(2 * e, 2 * e + 2):
                ok = POINTS + 3 * k
                a0, a1, a2 = data[ok], data[ok + 1], data[ok + 2]
                for m in range(2 * g, 2 * g + 2):
                    h = data[MASSES + 4 * k + m]
                    om = POINTS + 3 * m
                    b0, b1, b2 = data[om], data[om + 1], data[om + 2]
                    for j in range(3):
                        # column j of R_e^T R_g y~_m
                        c0 = 0.0 if j == 0 else (-b2 if j == 1 else b1)
                        c1 = b2 if j == 0 else (0.0 if j == 1 else -b0)
                        c2 = -b1 if j == 0 else (b0 if j == 1 else 0.0)
                        d0 = Rg[0, 0] * c0 + Rg[0, 1] * c1 + Rg[0, 2] * c2
                        d1 = Rg[1, 0] * c0 + Rg[1, 1] * c1 + Rg[1, 2] * c2
                        d2 = Rg[2, 0] * c0 + Rg[2, 1] * c1 + Rg[2, 2] * c2
                        l0 = Re[0, 0] * d0 + Re[1, 0] * d1 + Re[2, 0] * d2
                        l1 = Re[0, 1] * d0 + Re[1, 1] * d1 + Re[2, 1] * d2
                        l2 = Re[0, 2] * d0 + Re[1, 2] * d1 + Re[2, 2] * d2
                        # y~_k^T l = l x y_k
                        M[6 * e + 3, 6 * g + 3 + j] += h * (l1 * a2 - l2 * a1)
                        M[6 * e + 4, 6 * g + 3 + j] += h * (l2 * a0 - l0 * a2)
                        M[6 * e + 5, 6 * g + 3 + j] += h * (l0 * a1 - l1 * a0)
    for i in range(3):
        for j in range(3):
            M[3 + i, 3 + j] += data[J11 + 3 * i + j]
            M[3 + i, 9 + j] += data[J12 + 3 * i + j]
            M[9 + j, 3 + i] += data[J12 + 3 * i + j]
            M[9 + i, 9 + j] += data[J22 + 3 * i + j]


@inlined
def add_mass_beside(data, R1, R2, poses, rates, w, M):
    """M (12, 12) += the mass of the vectors z_i. rates (2, 6) : any; w (116, 3) : work."""
    w[0:47] = 0.0
    omega, xdd, v, z = w[0:2], w[2:10], w[10:22], w[22:31]
    point_jets(data, R1, R2, poses, rates, omega, xdd, w[31:39], w[39:47], v, z)
    add_derivatives_beside(data, R1, R2, omega, xdd, xdd, v, z, 2, w[47:116], M)


@inlined
def unit_motion(data, R1, R2, e, j, x):
    """x (8, 3): rates of the points by the j-th unit motion of frame e."""
    x[:] = 0.0
    R = R1 if e == 0 else R2
    if j < 3:
        x[2 * e, j] += 1.0
    else:
        for k in (2 * e, 2 * e + 1, 4 + 2 * e, 5 + 2 * e):
            turned(R, j - 3, data[POINTS + 3 * k : POINTS + 3 * k + 3], x[k])


# Kernel of the derivatives of the inertia force: end of section 9 of docs/theory/exact_beam.md.


@inlined
def add_inertia_tangent(data, R1, R2, omega, h, count, A, F, S, T, by_pose, by_rate, C, K):
    """C, K (12, 12) += derivatives of the inertia force by velocities and by poses at constant accelerations.

    A, F (count, 3) : as of ``point_accelerations`` and ``point_forces``; h (2, 3) : of ``angular_momenta``. S, T (3,
    3), by_pose, by_rate (8, 3, 3) : work arrays, set to the change of x_b'' by the rotation and the rate of its frame.
    """
    for b in range(count):
        e = b // 2 % 2
        R = R1 if e == 0 else R2
        o = POINTS + 3 * b
        y0, y1, y2 = data[o], data[o + 1], data[o + 2]
        w0, w1, w2 = omega[e, 0], omega[e, 1], omega[e, 2]
        times_skew(-1.0, R, A[b], by_pose[b])
        # (w x y)~ + w~ y~ = (w x y)~ + y w^T - (w . y) 1
        c0, c1, c2 = w1 * y2 - w2 * y1, w2 * y0 - w0 * y2, w0 * y1 - w1 * y0
        wy = w0 * y0 + w1 * y1 + w2 * y2
        S[0, 0], S[0, 1], S[0, 2] = y0 * w0 - wy, y0 * w1 - c2, y0 * w2 + c1
        S[1, 0], S[1, 1], S[1, 2] = y1 * w0 + c2, y1 * w1 - wy, y1 * w2 - c0
        S[2, 0], S[2, 1], S[2, 2] = y2 * w0 - c1, y2 * w1 + c0, y2 * w2 - wy
        product(R, S, T)
        for i in range(3):
            for j in range(3):
                by_rate[b, i, j] = -T[i, j]
    for a in range(count):
        e = a // 2 % 2
        R = R1 if e == 0 else R2
        o = POINTS + 3 * a
        y0, y1, y2 = data[o], data[o + 1], data[o + 2]
        for g in range(2 if a < 4 else 0):
            for part in range(2):
                source = by_pose if part == 0 else by_rate
                out = K if part == 0 else C
                b = 2 * g
                ha, hb = data[MASSES + 4 * a + b], data[MASSES + 4 * a + b + 1]
                for j in range(3):
                    t0 = ha * source[b, 0, j] + hb * source[b + 1, 0, j]
                    t1 = ha * source[b, 1, j] + hb * source[b + 1, 1, j]
                    t2 = ha * source[b, 2, j] + hb * source[b + 1, 2, j]
                    column = 6 * g + 3 + j
                    if a % 2 == 0:
                        out[6 * e, column] += t0
                        out[6 * e + 1, column] += t1
                        out[6 * e + 2, column] += t2
                    l0 = R[0, 0] * t0 + R[1, 0] * t1 + R[2, 0] * t2
                    l1 = R[0, 1] * t0 + R[1, 1] * t1 + R[2, 1] * t2
                    l2 = R[0, 2] * t0 + R[1, 2] * t1 + R[2, 2] * t2
                    out[6 * e + 3, column] += y1 * l2 - y2 * l1
                    out[6 * e + 4, column] += y2 * l0 - y0 * l2
                    out[6 * e + 5, column] += y0 * l1 - y1 * l0
        # y~ (R^T F)~ = (R^T F) y^T - (y . R^T F) 1
        g0 = R[0, 0] * F[a, 0] + R[1, 0] * F[a, 1] + R[2, 0] * F[a, 2]
        g1 = R[0, 1] * F[a, 0] + R[1, 1] * F[a, 1] + R[2, 1] * F[a, 2]
        g2 = R[0, 2] * F[a, 0] + R[1, 2] * F[a, 1] + R[2, 2] * F[a, 2]
        along = y0 * g0 + y1 * g1 + y2 * g2
        o = 6 * e + 3
        K[o, o] += g0 * y0 - along
        K[o, o + 1] += g0 * y1
        K[o, o + 2] += g0 * y2
        K[o + 1, o] += g1 * y0
        K[o + 1, o + 1] += g1 * y1 - along
        K[o + 1, o + 2] += g1 * y2
        K[o + 2, o] += g2 * y0
        K[o + 2, o + 1] += g2 * y1
        K[o + 2, o + 2] += g2 * y2 - along
    add_gyroscopic(data, omega, h, C)


@inlined
def add_derivatives_beside(data, R1, R2, omega, A, xdd, v, z, by, w, out):
    """out (12, 12) += derivatives of the force of the vectors z_i by poses, rates or accelerations: by = 0, 1 or 2.

    A, xdd (8, 3) : of ``point_accelerations``; v (12, 3), z (9, 3) : of ``point_jets``. w (69, 3) : work.
    """
    dxdd, dv, dz, G, F, wy = w[16:24], w[24:36], w[36:45], w[45:51], w[51:59], w[59:61]
    for e in range(2):
        R = R1 if e == 0 else R2
        for j in range(6):
            w[0:24] = 0.0
            unit_motion(data, R1, R2, e, j, w[8 * by : 8 * by + 8])
            for k in (2 * e, 2 * e + 1, 4 + 2 * e, 5 + 2 * e):
                y = data[POINTS + 3 * k : POINTS + 3 * k + 3]
                if j >= 3 and by < 2:
                    cross(omega[e], y, wy[0])
                    turned(R, j - 3, wy[0], w[8 + 8 * by + k])
                    if by == 0:
                        turned(R, j - 3, A[k], dxdd[k])
                    else:
                        # w x (e_j x y) = e_j (w . y) - w_j y
                        rotate(R, y, wy[1])
                        for i in range(3):
                            dxdd[k, i] += R[i, j - 3] * dot(omega[e], y) - omega[e, j - 3] * wy[1, i]
            for n in range(3):
                bubble_vectors(data, w[8 * n : 8 * n + 8], dv, 4 * n)
            dz[:] = 0.0
            add_bubbles(data, dv, v, v, 1.0, dz)
            add_bubbles(data, v, dv, v, 0.0, dz)
            add_bubbles(data, v, v, dv, 0.0, dz)
            F[:] = 0.0
            add_bubble_force_changes(data, v, dv, xdd, dxdd, z, dz, G, F)
            add_point_forces(data, R1, R2, 8, F, out[:, 6 * e + j])


@inlined
def add_gyroscopic(data, omega, h, C):
    """C (12, 12) += derivatives of omega x (J omega) by the angular velocities."""
    for e in range(2):
        w0, w1, w2 = omega[e, 0], omega[e, 1], omega[e, 2]
        o = 6 * e + 3
        for g in range(2):
            for j in range(3):
                # column j of J_eg
                if e == 0:
                    at = J11 if g == 0 else J12
                    a, b, c = data[at + j], data[at + 3 + j], data[at + 6 + j]
                elif g == 0:
                    a, b, c = data[J12 + 3 * j], data[J12 + 3 * j + 1], data[J12 + 3 * j + 2]
                else:
                    a, b, c = data[J22 + j], data[J22 + 3 + j], data[J22 + 6 + j]
                column = 6 * g + 3 + j
                C[o, column] += w1 * c - w2 * b
                C[o + 1, column] += w2 * a - w0 * c
                C[o + 2, column] += w0 * b - w1 * a
        C[o, o + 1] += h[e, 2]
        C[o + 1, o] -= h[e, 2]
        C[o, o + 2] -= h[e, 1]
        C[o + 2, o] += h[e, 1]
        C[o + 1, o + 2] += h[e, 0]
        C[o + 2, o + 1] -= h[e, 0]


# Poses and rates of the frames of elements, one by one or gathered for a group of LANES elements.


@inlined
def frame_poses(index, q, fixed, poses):
    """poses (2, 7): positions and quaternions of both frames."""
    for e in range(2):
        j = index[e]
        for i in range(7):
            poses[e, i] = q[j + i] if j >= 0 else fixed[-1 - j, i]


@inlined
def frame_rates(index, v, rates):
    """rates (2, 6) of both frames, from velocities or accelerations v."""
    for e in range(2):
        j = index[2 + e]
        for i in range(6):
            rates[e, i] = v[j + i] if j >= 0 else 0.0


@inlined
def gather_poses(index, first, q, fixed, poses):
    """poses (2, 7, LANES) of the frames of the elements from ``first``; the last element fills the lanes left over."""
    for m in range(LANES):
        frame_poses(index[min(first + m, index.shape[0] - 1)], q, fixed, poses[:, :, m])


@inlined
def gather_rates(index, first, v, rates):
    """rates (2, 6, LANES) of the same frames."""
    for m in range(LANES):
        frame_rates(index[min(first + m, index.shape[0] - 1)], v, rates[:, :, m])


@inlined
def free_strain(shares, g, u, first_input, free):
    """free (6, LANES): free strains, times the lengths, of group g; shares (k, g, 6, LANES) : by each of k inputs."""
    free[:] = 0.0
    for k in range(shares.shape[0]):
        for i in range(6):
            for m in range(LANES):
                free[i, m] += u[first_input + k] * shares[k, g, i, m]


@inlined
def folded(first, p, count):
    """The first folded element of the group from ``first``; p (3, 4, LANES) of ``element_coordinates``."""
    for m in range(count):
        if not p[2, 0, m] >= FOLDED:
            return first + m
    return -1


@inlined
def element_coordinates(poses, ends, p, R, r, small, d, P, W):
    """Axes R (4, 3, 3) of frame I, end I, frame II, end II, positions r (2, 3) of the ends, d (6,), P, W(theta, x).

    poses (2, 7) : of the frames. p (3, 4), small (4, 3) : work arrays; small[0] is x, p[2] the quaternion of theta.
    Returns k0, k1, k2 and whether the element is not folded.
    """
    for e in range(2):
        for i in range(3):
            r[e, i] = poses[e, i]
        rotation(poses[e, 3:7], R[2 * e])
        end_attitude(poses[e], ends[e], p[e])
        rotation(p[e], R[2 * e + 1])
        if not every(ends[e, 0] == 0.0):
            rotate(R[2 * e], ends[e, 1:4], small[1])
            for i in range(3):
                r[e, i] += small[1, i]
    for i in range(3):
        small[1, i] = r[1, i] - r[0, i]
    rotate_back(R[1], small[1], small[0])
    theta, x = d[3:6], small[0]
    rotation_between(p, theta)
    k0, k1, k2 = coefficients(theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2], p[2])
    map_of(theta, k0, P)
    rotate(P, x, d[0:3])
    map_derivative(theta, x, 0.5, k0, k1, W)
    return k0, k1, k2, every(p[2, 0] >= FOLDED)


@inlined
def ends_rates(rates, ends, R, omega, small, z):
    """z (9,): motion (v, omega_I, omega_II) of the ends, from the rates (2, 6) of the frames.

    omega (2, 3) : angular velocities of the frames, own axes. small (4, 3): work.
    """
    for e in range(2):
        for i in range(3):
            omega[e, i] = rates[e, 3 + i]
            small[2 + e, i] = rates[e, i]
            z[3 + 3 * e + i] = omega[e, i]
        if not every(ends[e, 0] == 0.0):
            end = ends[e]
            cross(omega[e], end[1:4], small[1])
            for i in range(3):
                small[2 + e, i] += (
                    R[2 * e, i, 0] * small[1, 0] + R[2 * e, i, 1] * small[1, 1] + R[2 * e, i, 2] * small[1, 2]
                )
                z[3 + 3 * e + i] = end[4 + i] * omega[e, 0] + end[7 + i] * omega[e, 1] + end[10 + i] * omega[e, 2]
    for i in range(3):
        z[i] = 0.0
        for k in range(3):
            z[i] += R[1, k, i] * (small[3, k] - small[2, k])


@inlined
def ends_force(x, P, W, n, g):
    """g (9,): f on end II and the moments on both ends, of the force n (6,) on d: equation (12)."""
    for i in range(3):
        g[i] = P[0, i] * n[0] + P[1, i] * n[1] + P[2, i] * n[2]
    m0 = n[3] + W[0, 0] * n[0] + W[1, 0] * n[1] + W[2, 0] * n[2]
    m1 = n[4] + W[0, 1] * n[0] + W[1, 1] * n[1] + W[2, 1] * n[2]
    m2 = n[5] + W[0, 2] * n[0] + W[1, 2] * n[1] + W[2, 2] * n[2]
    for i in range(3):
        g[3 + i] = -(P[0, i] * m0 + P[1, i] * m1 + P[2, i] * m2)
        g[6 + i] = P[i, 0] * m0 + P[i, 1] * m1 + P[i, 2] * m2
    g[3] -= x[1] * g[2] - x[2] * g[1]
    g[4] -= x[2] * g[0] - x[0] * g[2]
    g[5] -= x[0] * g[1] - x[1] * g[0]
    return m0, m1, m2


@inlined
def add_to_frames(ends, R, g, small, f):
    """f (12,) += the forces g (9,) of ``ends_force`` on the frames of both ends."""
    rotate(R[1], g[0:3], small[1])
    for e in range(2):
        sign = 2.0 * e - 1.0
        m = 3 + 3 * e
        for i in range(3):
            small[2, i] = sign * small[1, i]
            f[6 * e + i] += small[2, i]
        if every(ends[e, 0] == 0.0):
            for i in range(3):
                f[6 * e + 3 + i] += g[m + i]
            continue
        end = ends[e]
        rotate_back(R[2 * e], small[2], small[3])
        for i in range(3):
            f[6 * e + 3 + i] += end[4 + 3 * i] * g[m] + end[5 + 3 * i] * g[m + 1] + end[6 + 3 * i] * g[m + 2]
        f[6 * e + 3] += end[2] * small[3, 2] - end[3] * small[3, 1]
        f[6 * e + 4] += end[3] * small[3, 0] - end[1] * small[3, 2]
        f[6 * e + 5] += end[1] * small[3, 1] - end[2] * small[3, 0]


@inlined
def frame_accelerations(rates, gravity, alpha, acc):
    """alpha (2, 3), own axes, and acc (2, 3), less gravity, of the frames with the accelerations ``rates`` (2, 6)."""
    for e in range(2):
        for i in range(3):
            alpha[e, i] = rates[e, 3 + i]
            acc[e, i] = rates[e, i] - gravity[i]


@inlined
def element_force(
    poses, velocities, accelerations, ends, data, free, own, gravity, factors,
    p, R, r, small, six, mats, three, nine, f,
):  # fmt: skip
    """f (12,): residual of one element on its frames; returns whether it is not folded.

    poses (2, 7), velocities and accelerations (2, 6) : of the frames. own (6,) : a stress about which the force is
    linear, equation (19), or an array of nan. free (2, 6) : zeros, and the free strain times the length. factors (4,) :
    of the elastic force without free strain, of damping, of inertia, and of what the free strain changes. six (8, 6),
    mats (2, 6, 6), three (2, 3, 3), nine (2, 9), and the arrays of ``element_coordinates`` : work.
    """
    d, e6, w, y, n, rate, part = six[0], six[1], six[2], six[3], six[4], six[5], six[6]
    P, W = three[0], three[1]
    f[:] = 0.0
    _, _, _, whole = element_coordinates(poses, ends, p, R, r, small, d, P, W)
    if not whole:
        return False
    omega = r[2:4]
    ends_rates(velocities, ends, R, omega, small[2:6], nine[0])
    if factors[2] != 0.0:
        alpha, acc, h, g = r[4:6], r[6:8], r[8:10], r[10:12]
        frame_accelerations(accelerations, gravity, alpha, acc)
        A, xdd, F, beside = r[12:20], r[20:28], r[28:36], has_mass_beside(data)
        count = 8 if beside else 4
        point_accelerations(data, R[0], R[2], omega, alpha, acc, count, A, xdd)
        F[:] = 0.0
        point_forces(data, xdd, F)
        if beside:
            v, z = r[36:48], r[48:57]
            point_jets(data, R[0], R[2], poses, velocities, omega, xdd, r[57:65], A, v, z)
            add_bubble_forces(data, v, xdd, z, A[0:5], F)
        add_point_forces(data, R[0], R[2], count, F, f)
        add_rotary_force(data, omega, alpha, h, g, f)
        for i in range(12):
            f[i] *= factors[2]
    damps = factors[1] != 0.0 and not every(data[DAMPING] == 0.0)
    if damps or factors[0] != 0.0 or factors[3] != 0.0:
        X, C = mats[0], mats[1]
        compliance(data, d, X, C)
        n[:] = 0.0
        for heated in range(2):
            # what the free strain changes is the difference of two forces: they are not linear in it
            factor = factors[3] if heated else factors[0] - factors[3]
            if factor == 0.0:
                continue
            strain(data, d, free[heated], e6)
            solve(C, e6)
            for i in range(6):
                e6[i] /= data[LENGTH]
            if every(own[0] == own[0]):
                linear_stress_force(data, d, X, e6, own, w, y, rate, part)
            else:
                stress_force(data, d, e6, w, y, part)
            for i in range(6):
                n[i] += factor * part[i]
        if damps:
            deformation_rate(nine[0], small[0], P, W, rate)
            for i in range(6):
                rate[i] *= factors[1]
            add_damping_force(data, d, C, rate, e6, w, y, part, n)
        ends_force(small[0], P, W, n, nine[1])
        add_to_frames(ends, R, nine[1], small[2:6], f)
    return True


@inlined
def deformation_rate(z, x, P, W, rate):
    """rate (6,) = B z: of d by the motion z (9,) of the ends, equation (7)."""
    x0 = z[0] + x[1] * z[5] - x[2] * z[4]
    x1 = z[1] + x[2] * z[3] - x[0] * z[5]
    x2 = z[2] + x[0] * z[4] - x[1] * z[3]
    for i in range(3):
        rate[3 + i] = 0.0
        for j in range(3):
            rate[3 + i] += P[j, i] * z[6 + j] - P[i, j] * z[3 + j]
    for i in range(3):
        rate[i] = P[i, 0] * x0 + P[i, 1] * x1 + P[i, 2] * x2
        for j in range(3):
            rate[i] += W[i, j] * rate[3 + j]


@inlined
def end_sections(ends, R, small, f, section):
    """section (2, 6): force and torque f (12,) on the frames as section forces: on the face with its normal along x."""
    for e in range(2):
        sign = 2.0 * e - 1.0
        rotate_back(R[2 * e], f[6 * e : 6 * e + 3], small[1])
        t = f[6 * e + 3 : 6 * e + 6]
        end = ends[e]
        cross(end[1:4], small[1], small[2])
        rotate_back(R[2 * e + 1], f[6 * e : 6 * e + 3], small[3])
        for i in range(3):
            section[e, i] = sign * small[3, i]
            section[e, 3 + i] = 0.0
            for k in range(3):
                section[e, 3 + i] += sign * end[4 + 3 * k + i] * (t[k] - small[2, k])


@kernel_with_entry
def forces(
    index, kind, ends, data, own, shares, first_input, fixed, gravity, section, u, q, v, a, factors, out, rows
):  # fmt: skip
    """out (s, n_v) += the residual of all elements at s states; returns a folded element, or -1.

    Elements are in groups of LANES, see ``femb.numerics.compiler.lanes``: own (g, 6, LANES) of
    ``element_force``, shares (k, g, 6, LANES) of ``free_strain``, and kind (g,), the rows of ends (kinds, 2, 17, LANES)
    and data (kinds, columns, LANES). section (s, n, 2, 6) : unless it is empty, it is set to the section forces at both
    ends, section axes. factors (4,) : of the parts, see ``element_force``. rows (n, s, 12) : unless it is empty, it is
    set to what is otherwise added to out.
    """
    free, p, R = np.zeros((2, 6, LANES)), np.empty((3, 4, LANES)), lanes(np.empty((4, 3, 3, LANES)))
    r, small = lanes(np.empty((65, 3, LANES))), lanes(np.empty((6, 3, LANES)))
    six, mats = lanes(np.empty((8, 6, LANES))), lanes(np.empty((2, 6, 6, LANES)))
    three, nine = lanes(np.empty((2, 3, 3, LANES))), lanes(np.empty((2, 9, LANES)))
    poses, rates = np.empty((2, 7, LANES)), np.empty((2, 2, 6, LANES))
    f, ended = np.empty((12, LANES)), np.empty((2, 6, LANES))
    for g in range(kind.shape[0]):
        first, row = g * LANES, kind[g]
        count = min(LANES, index.shape[0] - first)
        # all states of a group, while its data are in the cache
        for s in range(q.shape[0]):
            gather_poses(index, first, q[s], fixed, poses)
            gather_rates(index, first, v[s], rates[0])
            gather_rates(index, first, a[s], rates[1])
            free_strain(shares, g, u[s], first_input, free[1])
            if not element_force(
                lanes(poses), lanes(rates[0]), lanes(rates[1]), lanes(ends[row]), lanes(data[row]), lanes(free),
                lanes(own[g]), gravity, factors, lanes(p), R, r, small, six, mats, three, nine, lanes(f),
            ):  # fmt: skip
                return folded(first, p, count)
            if section.size:
                end_sections(lanes(ends[row]), R, small, lanes(f), lanes(ended))
            for m in range(count):
                k = first + m
                for e in range(2):
                    j = index[k, 2 + e]
                    if rows.size:
                        for i in range(6):
                            rows[k, s, 6 * e + i] = f[6 * e + i, m]
                    elif j >= 0:
                        for i in range(6):
                            out[s, j + i] += f[6 * e + i, m]
                    if section.size:
                        for i in range(6):
                            section[s, k, e, i] = ended[e, i, m]
    return -1
