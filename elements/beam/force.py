"""Residual of beam elements: internal, inertia and gyroscopic forces; arguments as in ``strain``.

The torque of a strip or a curved beam varies along an element. Its sections therefore have an inner twist beside the
uniform one, which is no coordinate: it makes the energy least (docs/theory/beam.md, equation (13e)).

The formulas are of one element, in numbers or in values with lanes, one for each of a group
(``femb.numerics.compiler.lanes``).
Source: docs/theory/beam.md.
"""

from typing import Any, NamedTuple

import numpy as np

from femb.elements.beam.ends import element_shape, end_accelerations, ends_motion, force_to_frame
from femb.elements.beam.inertia import centreline_acceleration, centreline_rate, twist_rates
from femb.elements.beam.rotary_inertia import LineMotion, ends_of, inertia_force
from femb.elements.beam.strain import (
    DAMPING,
    INNER_ANGLES,
    INNER_SLOPES,
    LENGTH,
    REFERENCE,
    SOURCE,
    STIFFNESS,
    WEIGHTS,
    BentShape,
    ends_force,
    gather_rates,
    gather_states,
    natural_rates,
    strains,
)
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.compiler.lanes import LANES, every, lanes
from femb.numerics.compiler.traced import put, reader
from femb.numerics.vector3 import assign, rotate, rotate_back

V8 = reader(8)

# The inner twist of elements; see ``shape_force``.

TINY = np.finfo(float).tiny  # elements without stiffness have none


@inlined
def inner_strains(e, length, c):
    """c (3, 4): strains per inner twist, 1/rad, of the strains e (3, 4) of ``strains``; equation (13d)."""
    for i in range(3):
        c[i, 0] = 0.0
        c[i, 1] = INNER_SLOPES[i] / length
        c[i, 2] = INNER_ANGLES[i] * e[i, 3]
        c[i, 3] = -INNER_ANGLES[i] * e[i, 2]


@inlined
def inner_stiffness(data, c, Dc):
    """Dc (3, 4) = w D c, and the stiffness of the inner twist per length, c . Dc, never zero; equation (13e)."""
    stiffness = TINY
    for i in range(3):
        for j in range(4):
            x = 0.0
            for k in range(1, 4):
                x += data[STIFFNESS + 4 * j + k] * c[i, k]
            Dc[i, j] = WEIGHTS[i] * x
            stiffness += Dc[i, j] * c[i, j]
    return stiffness


@inlined
def relax(c, Dc, stiffness, e):
    """Inner twist that makes the energy of the strains e (3, 4) least, whose strains are added to e; equation (13e)."""
    moment = 0.0
    for i in range(3):
        for j in range(4):
            moment += Dc[i, j] * e[i, j]
    twist = -moment / stiffness
    for i in range(3):
        for j in range(1, 4):
            e[i, j] += twist * c[i, j]
    return twist


@inlined
def stress_force(data, e, twist, E, n):
    """n (8,): force on the natural coordinates by the elastic stress of the strains e (3, 4), which include those of
    the inner twist."""
    n[:] = 0.0
    for i in range(3):
        b = twist * INNER_ANGLES[i]
        m2, m3 = 0.0, 0.0
        for k in range(4):
            m2 += data[STIFFNESS + 8 + k] * e[i, k]
            m3 += data[STIFFNESS + 12 + k] * e[i, k]
        for j in range(4):
            if j == 2:
                stress = m2 - b * m3
            elif j == 3:
                stress = m3 + b * m2
            else:
                stress = 0.0
                for k in range(4):
                    stress += data[STIFFNESS + 4 * j + k] * e[i, k]
            stress *= WEIGHTS[i] * data[LENGTH]
            for m in range(8):
                n[m] += stress * E[i, j, m]


@inlined
def shape_force(shape, data, motion, elastic, damped, e, c, E, n):
    """n (8,): force on the natural coordinates by elastic stress and damping; equation (14).

    elastic, damped : factors of both. c (2, 3, 4) : set to c and w D c of the inner twist, which is returned with its
    stiffness per length.
    """
    X, Q, beta, gamma, length = shape
    damping = damped * data[DAMPING]
    inner_strains(e, length, c[0])
    for i in range(3):
        for j in range(4):
            e[i, j] -= data[REFERENCE + 4 * i + j]
    stiffness = inner_stiffness(data, c[0], c[1])
    twist = relax(c[0], c[1], stiffness, e)
    for i in range(3):
        for j in range(4):
            e[i, j] *= elastic
    if not every(damping == 0.0):
        natural_rates(X, Q, beta, gamma, length, motion, n)
        for i in range(3):
            b = twist * INNER_ANGLES[i]
            for j in range(4):
                rate = 0.0
                for m in range(8):
                    rate += E[i, j, m] * n[m]
                rate *= damping
                e[i, j] += rate
                if j == 2:
                    e[i, 3] -= b * rate
                elif j == 3:
                    e[i, 2] += b * rate
        relax(c[0], c[1], stiffness, e)
    stress_force(data, e, twist, E, n)
    return twist, stiffness


class EndStates(NamedTuple):
    """States (2, 8) of the ends of an element, their rates and second rates (2, 7), as ``end_states`` has them."""

    states: Any
    rates: Any
    seconds: Any


class ForceWork(NamedTuple):
    """Work arrays of ``element_force``: R (5, 3, 3) of ``element_shape``, small (12, 3), vectors (6, 4, 3), X and n
    (8,), motion (11,), and of the strains e (3, 4), c (2, 3, 4), E (3, 4, 8), psi (4,), psi_X (4, 8)."""

    R: Any
    small: Any
    vectors: Any
    X: Any
    n: Any
    motion: Any
    e: Any
    c: Any
    E: Any
    psi: Any
    psi_X: Any


@inlined
def element_force(motion, ends, data, has_mass_offset, gravity, factors, at, f):
    """f (14,): residual force of one element on its two ends; forces in the axes of section I, moments in end axes.

    factors (3,) : of elastic, damping and inertia forces; those of inertia are inertia and gyroscopic force minus
    gravity, and they alone need no strains. Returns 1, or 0 if the element is folded, where strains are needed.
    """
    states, rates, seconds = motion
    R, small, vectors, X, n, f11, e, c, E, psi, psi_X = at
    omega1, omega2, acc1, acc2, alpha1, alpha2 = small[4], small[5], small[6], small[7], small[8], small[9]
    x1, x2, F, M1, work = vectors[0], vectors[1], vectors[2], vectors[3, 0], vectors[3, 1]
    places, spins, twist = vectors[4], vectors[5], vectors[3, 2]
    Q, beta, gamma = R[4], small[10], small[11]
    length = data[LENGTH]
    whole = 1.0
    shape = BentShape(X, Q, beta, gamma, length)
    element_shape(states, ends, length, R, small, X)
    ends_motion(rates, ends, R, small, f11)
    if factors[0] != 0.0 or factors[1] != 0.0:
        whole = strains(X, length, data[SOURCE] != 0.0, psi, psi_X, e, E)
        if not every(whole != 0.0):
            return whole
        shape_force(shape, data, f11, factors[0], factors[1], e, c, E, n)
    else:
        n[:] = 0.0
    s1 = X[3]
    s2 = length * (1.0 + states[1, 7])
    for k in range(3):
        M1[k] = 0.0
        for i in range(4):
            F[i, k] = 0.0
    if factors[2] != 0.0:
        end_accelerations(rates[0], seconds[0], ends[0], R[0], acc1, alpha1)
        end_accelerations(rates[1], seconds[1], ends[1], R[2], acc2, alpha2)
        for k in range(3):
            # gravity acts as an opposite acceleration of the reference frame
            acc1[k] -= gravity[k]
            acc2[k] -= gravity[k]
            # only differences of the rates of r enter
            x1[0, k] = 0.0
            x1[2, k] = f11[k]
        rotate_back(R[1], acc1, x2[0])
        rotate_back(R[1], acc2, x2[2])
        centreline_rate(rates[0, 6], omega1, s1, length, x1[1])
        centreline_rate(rates[1, 6], omega2, s2, length, work)
        rotate(Q, work, x1[3])
        centreline_acceleration(rates[0, 6], seconds[0, 6], omega1, alpha1, s1, length, x2[1])
        centreline_acceleration(rates[1, 6], seconds[1, 6], omega2, alpha2, s2, length, work)
        rotate(Q, work, x2[3])
        put(ends_of(V8(X)), places)
        assign(omega1, spins[0])
        assign(alpha1, spins[2])
        rotate(Q, omega2, spins[1])
        rotate(Q, alpha2, spins[3])
        twist[0] = X[7]
        twist[1], twist[2] = twist_rates(Q, beta, omega1, spins[1], alpha1, spins[3])
        n[7] += factors[2] * inertia_force(LineMotion(places, x1, x2, spins, twist), data, has_mass_offset, F, M1)
        for k in range(3):
            M1[k] *= factors[2]
            for i in range(4):
                F[i, k] *= factors[2]
    ends_force(shape, s2, n, F, M1, work, f11, f)
    return whole


@inlined
def frame_forces(ends, R, f, F, out):
    """out (2, 7): force in inertial axes, torque in frame axes and strain force on both ends, of f (14,).

    F (2, 3) : set to the forces on the ends, inertial axes.
    """
    for end in range(2):
        o = 7 * end
        rotate(R[1], f[o : o + 3], F[end])
        force_to_frame(F[end], f[o + 3 : o + 6], ends[end], R[2 * end], out[end, 0:3], out[end, 3:6])
        out[end, 6] = f[o + 6]


@inlined
def end_sections(R, f, F, section):
    """section (2, 6): force and moment f (14,) on the ends as section forces; F (2, 3) of ``frame_forces``."""
    for end in range(2):
        outward = 2.0 * end - 1.0
        rotate_back(R[1 + 2 * end], F[end], section[end, 0:3])
        for i in range(3):
            section[end, i] *= outward
            section[end, 3 + i] = outward * f[7 * end + 3 + i]


@kernel_with_entry
def forces(elements, section, q, v, a, factors, out, rows):
    """out (s, n_v) += force of all ``BeamRows`` at s states; factors (3,) of its parts as in ``element_force``.

    section (s, n, 2, 6), or of length 0 if not requested: set to the section force and moment at both ends of every
    element, in the axes of that section, on the face whose outward normal is the tangent, so that a positive first
    component is tension. rows (n, s, 14), or of length 0 if not requested: it is set to what is otherwise added to out,
    frame and strain of one end, then the other. Returns -1, or the number of a folded element.
    """
    index, kind, ends, data, has_mass_offset, fixed, gravity = elements
    states, rates = np.empty((2, 8, LANES)), np.empty((2, 2, 7, LANES))
    work = ForceWork(
        lanes(np.empty((5, 3, 3, LANES))), lanes(np.empty((12, 3, LANES))), lanes(np.empty((6, 4, 3, LANES))),
        lanes(np.empty((8, LANES))), lanes(np.empty((8, LANES))), lanes(np.empty((11, LANES))),
        lanes(np.empty((3, 4, LANES))), lanes(np.empty((2, 3, 4, LANES))), lanes(np.empty((3, 4, 8, LANES))),
        lanes(np.empty((4, LANES))), lanes(np.empty((4, 8, LANES))),
    )  # fmt: skip
    motion, R = EndStates(lanes(states), lanes(rates[0]), lanes(rates[1])), work.R
    f, F, whole = lanes(np.empty((14, LANES))), lanes(np.empty((2, 3, LANES))), np.empty((1, LANES))
    on_frames, ended = np.empty((2, 7, LANES)), np.empty((2, 6, LANES))
    for g in range(kind.shape[0]):
        first, row = g * LANES, kind[g]
        count = min(LANES, index.shape[0] - first)
        # all states of a group, while its data are in the cache
        for s in range(q.shape[0]):
            gather_states(index, first, q[s], fixed, states)
            gather_rates(index, first, v[s], rates[0])
            gather_rates(index, first, a[s], rates[1])
            lanes(whole)[0] = element_force(
                motion, lanes(ends[row]), lanes(data[row]), has_mass_offset, gravity, factors, work, f
            )
            for m in range(count):
                if whole[0, m] == 0.0:
                    return first + m
            frame_forces(lanes(ends[row]), R, f, F, lanes(on_frames))
            if section.size:
                end_sections(R, f, F, lanes(ended))
            for m in range(count):
                k = first + m
                for end in range(2):
                    frame = index[k, 2 + end]
                    if rows.size:
                        for i in range(7):
                            rows[k, s, 7 * end + i] = on_frames[end, i, m]
                    else:
                        if frame >= 0:
                            for i in range(6):
                                out[s, frame + i] += on_frames[end, i, m]
                        out[s, index[k, 6 + end]] += on_frames[end, 6, m]
                    if section.size:
                        for i in range(6):
                            section[s, k, end, i] = ended[end, i, m]
    return -1
