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
from femb.elements.exact.element_data import DAMPING, LENGTH, POINTS
from femb.elements.exact.inertia import has_mass_beside, inertia_force, inertia_force_beside, inertia_numbers
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.compiler.lanes import LANES, every, lanes
from femb.numerics.compiler.traced import M3, V3, V6, put
from femb.numerics.vector3 import cross, rotate, rotate_back, rotation

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
    ends_rates(velocities, ends, R, r[2:4], small[2:6], nine[0])
    if factors[2] != 0.0:
        axes, rates = (M3(R[0]), M3(R[2])), (V6(velocities[0]), V6(velocities[1]))
        seconds = V6(accelerations[0]), V6(accelerations[1])
        if has_mass_beside(data):
            of, places = inertia_numbers(data[POINTS:]), (V3(poses[0]), V3(poses[1]))
            put(inertia_force_beside(of, data[LENGTH], axes, places, rates, seconds, V3(gravity)), f)
        else:
            put(inertia_force(inertia_numbers(data[POINTS:]), axes, rates, seconds, V3(gravity)), f)
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
    r, small = lanes(np.empty((4, 3, LANES))), lanes(np.empty((6, 3, LANES)))
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
