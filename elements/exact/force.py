"""Residual of exact beam elements: elastic, damping, inertia and gyroscopic forces; arguments as in ``element_data``.

Source: docs/theory/exact_beam.md, sections 5 and 9.
"""

from typing import Any, NamedTuple

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.exact.deformation import (
    FOLDED,
    V9,
    Chord,
    coefficients,
    compliance_of,
    damping_force,
    end_attitude,
    ends_force,
    factorise,
    find_stress,
    linear_stress_force,
    rotation_between,
    shape_of,
    shape_rate,
    stress_force,
)
from femb.elements.exact.element_data import DAMPING, LENGTH, POINTS
from femb.elements.exact.inertia import has_mass_beside, inertia_force, inertia_force_beside, inertia_numbers
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.compiler.lanes import LANES, every, lanes
from femb.numerics.compiler.traced import M3, V3, V6, put
from femb.numerics.vector3 import cross, rotate, rotate_back, rotation


class ExactRows(NamedTuple):
    """All elements, as kernels take them, in groups of LANES (``femb.numerics.compiler.lanes``).

    places (n, 4), of the frames in q and v, kind (g,), the rows of ends (kinds, 2, 17, LANES) and data (kinds, columns,
    LANES). own (g, 6, LANES) of ``Element``, shares (k, g, 6, LANES) of ``free_strain``, first_input : in u. fixed :
    poses of fixed frames. gravity (3,).
    """

    places: Ints
    kind: Ints
    ends: Floats
    data: Floats
    own: Floats
    shares: Floats
    first_input: int
    fixed: Floats
    gravity: Floats | None


class Element(NamedTuple):
    """One element: ends (2, 17), data; own (6,), a stress about which the force is linear, equation (19), or an array
    of nan; free (6,), the free strain times the length."""

    ends: Any
    data: Any
    own: Any
    free: Any


class FramesMotion(NamedTuple):
    """Poses (2, 7), velocities and accelerations (2, 6) of the frames of an element."""

    poses: Any
    velocities: Any
    accelerations: Any


class Placed(NamedTuple):
    """An element in space, as ``element_coordinates`` finds it: quaternions p (3, 4) of both ends and of theta; axes R
    (4, 3, 3) of frame I, end I, frame II, end II; positions r (2, 3) of the ends; d (6,). work : (4, 3)."""

    p: Any
    R: Any
    r: Any
    d: Any
    work: Any


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
def element_coordinates(poses, ends, at):
    """Set ``Placed`` at poses (2, 7) of the frames; returns the ``Chord``, k2, and whether it is not folded."""
    p, R, r, work = at.p, at.R, at.r, at.work
    for e in range(2):
        for i in range(3):
            r[e, i] = poses[e, i]
        rotation(poses[e, 3:7], R[2 * e])
        end_attitude(poses[e], ends[e], p[e])
        rotation(p[e], R[2 * e + 1])
        if not every(ends[e, 0] == 0.0):
            rotate(R[2 * e], ends[e, 1:4], work[1])
            for i in range(3):
                r[e, i] += work[1, i]
    for i in range(3):
        work[1, i] = r[1, i] - r[0, i]
    rotate_back(R[1], work[1], work[0])
    theta = at.d[3:6]
    rotation_between(p, theta)
    k0, k1, k2 = coefficients(theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2], p[2])
    chord = Chord(V3(work[0]), V3(theta), k0, k1)
    put(shape_of(chord), at.d)
    return chord, k2, every(p[2, 0] >= FOLDED)


@inlined
def ends_rates(rates, ends, at, z):
    """z (9,): motion (v, omega_I, omega_II) of the ends, from the rates (2, 6) of the frames."""
    work = at.work
    for e in range(2):
        for i in range(3):
            work[2 + e, i] = rates[e, i]
            z[3 + 3 * e + i] = rates[e, 3 + i]
        if not every(ends[e, 0] == 0.0):
            end, omega = ends[e], rates[e, 3:6]
            cross(omega, end[1:4], work[0])
            rotate(at.R[2 * e], work[0], work[1])
            for i in range(3):
                work[2 + e, i] += work[1, i]
                z[3 + 3 * e + i] = end[4 + i] * omega[0] + end[7 + i] * omega[1] + end[10 + i] * omega[2]
    for i in range(3):
        work[0, i] = work[3, i] - work[2, i]
    rotate_back(at.R[1], work[0], z)


@inlined
def add_to_frames(ends, at, g, f):
    """f (12,) += the forces g (9,) of ``ends_force`` on the frames of both ends."""
    R, small = at.R, at.work
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
def element_force(element, motion, gravity, factors, at, C, work, f):
    """f (12,): residual of one element on its frames; returns whether it is not folded.

    factors (4,) : of the elastic force without free strain, of damping, of inertia, and of what the free strain
    changes. C (6, 6) and work (4, 9) : work arrays.
    """
    ends, data, poses = element.ends, element.data, motion.poses
    f[:] = 0.0
    chord, _, whole = element_coordinates(poses, ends, at)
    if not whole:
        return False
    if factors[2] != 0.0:
        axes, rates = (M3(at.R[0]), M3(at.R[2])), (V6(motion.velocities[0]), V6(motion.velocities[1]))
        seconds = V6(motion.accelerations[0]), V6(motion.accelerations[1])
        if has_mass_beside(data):
            of, places = inertia_numbers(data[POINTS:]), (V3(poses[0]), V3(poses[1]))
            put(inertia_force_beside(of, data[LENGTH], axes, places, rates, seconds, V3(gravity)), f)
        else:
            put(inertia_force(inertia_numbers(data[POINTS:]), axes, rates, seconds, V3(gravity)), f)
        for i in range(12):
            f[i] *= factors[2]
    damps = factors[1] != 0.0 and not every(data[DAMPING] == 0.0)
    if damps or factors[0] != 0.0 or factors[3] != 0.0:
        by, d, own, n, part, sigma = compliance_of(data), V6(at.d), element.own, work[0], work[1], work[2]
        factorise(by, at.d, C)
        n[:] = 0.0
        for heated in range(2):
            # what the free strain changes is the difference of two forces: they are not linear in it
            factor = factors[3] if heated else factors[0] - factors[3]
            if factor == 0.0:
                continue
            find_stress(data, C, at.d, element.free, 1.0 * heated, sigma)
            if every(own[0] == own[0]):
                put(linear_stress_force(by, d, V6(sigma), V6(own)), part)
            else:
                put(stress_force(by, d, V6(sigma)), part)
            for i in range(6):
                n[i] += factor * part[i]
        if damps:
            ends_rates(motion.velocities, ends, at, work[3])
            put(shape_rate(chord, V9(work[3])), sigma)
            damping_force(data, C, at.d, sigma, part)
            for i in range(6):
                n[i] += factors[1] * part[i]
        put(ends_force(chord, V6(n)), work[3])
        add_to_frames(ends, at, work[3], f)
    return True


@inlined
def end_sections(ends, at, f, section):
    """section (2, 6): force and torque f (12,) on the frames as section forces: on the face with its normal along x."""
    R, small = at.R, at.work
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
def forces(elements, section, u, q, v, a, factors, out, rows):
    """out (s, n_v) += the residual of all ``ExactRows`` at s states; returns a folded element, or -1.

    section (s, n, 2, 6) : unless it is empty, it is set to the section forces at both ends, section axes. factors (4,)
    : of the parts, see ``element_force``. rows (n, s, 12) : unless it is empty, it is set to what is otherwise added to
    out.
    """
    index, fixed, p, free = elements.places, elements.fixed, np.empty((3, 4, LANES)), np.zeros((6, LANES))
    C, work = lanes(np.empty((6, 6, LANES))), lanes(np.empty((4, 9, LANES)))
    at = Placed(
        lanes(p), lanes(np.empty((4, 3, 3, LANES))), lanes(np.empty((2, 3, LANES))), lanes(np.empty((6, LANES))),
        lanes(np.empty((4, 3, LANES))),
    )  # fmt: skip
    poses, rates = np.empty((2, 7, LANES)), np.empty((2, 2, 6, LANES))
    motion = FramesMotion(lanes(poses), lanes(rates[0]), lanes(rates[1]))
    f, ended = np.empty((12, LANES)), np.empty((2, 6, LANES))
    for g in range(elements.kind.shape[0]):
        first, row = g * LANES, elements.kind[g]
        count = min(LANES, index.shape[0] - first)
        element = Element(lanes(elements.ends[row]), lanes(elements.data[row]), lanes(elements.own[g]), lanes(free))
        # all states of a group, while its data are in the cache
        for s in range(q.shape[0]):
            gather_poses(index, first, q[s], fixed, poses)
            gather_rates(index, first, v[s], rates[0])
            gather_rates(index, first, a[s], rates[1])
            free_strain(elements.shares, g, u[s], elements.first_input, free)
            if not element_force(element, motion, elements.gravity, factors, at, C, work, lanes(f)):
                return folded(first, p, count)
            if section.size:
                end_sections(element.ends, at, lanes(f), lanes(ended))
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
