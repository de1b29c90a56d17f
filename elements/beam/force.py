"""Residual of beam elements: internal, inertia and gyroscopic forces; arguments as in ``columns``.

Source: docs/theory/beam.md.
"""

import numpy as np

from femb.elements.beam.columns import DAMPING, INERTIA, LENGTH, MASS, OFFSET, REFERENCE, SOURCE, STIFFNESS
from femb.elements.beam.ends import element_shape, end_accelerations, ends_motion, force_to_frame
from femb.elements.beam.inertia import centreline_acceleration, centreline_rate, inertia_force
from femb.elements.beam.natural import ends_force, natural_rates
from femb.elements.beam.strain import WEIGHTS, strains
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import rotate, rotate_back


@inlined
def stress_force(data, e, E, n):
    """n (8,): force on the natural coordinates by the elastic stress of the strains e (3, 4)."""
    n[:] = 0.0
    for i in range(3):
        for j in range(4):
            stress = 0.0
            for k in range(4):
                stress += data[STIFFNESS + 4 * j + k] * e[i, k]
            stress *= WEIGHTS[i] * data[LENGTH]
            for m in range(8):
                n[m] += stress * E[i, j, m]


@inlined
def shape_force(X, Q, beta, gamma, data, motion, elastic, e, E, n):
    """n (8,): force on the natural coordinates by damping and (if ``elastic``) elastic stress; equation (14)."""
    length, damping = data[LENGTH], data[DAMPING]
    for i in range(3):
        for j in range(4):
            e[i, j] = e[i, j] - data[REFERENCE + 4 * i + j] if elastic else 0.0
    if damping > 0.0:
        natural_rates(X, Q, beta, gamma, length, motion, n)
        for i in range(3):
            for j in range(4):
                rate = 0.0
                for m in range(8):
                    rate += E[i, j, m] * n[m]
                e[i, j] += damping * rate
    stress_force(data, e, E, n)


@inlined
def element_force(
    index, ends, data, has_mass_offset, q, v, a, fixed, gravity, elastic, damped, inertial,
    R, small, vectors, X, n, f11, e, E, psi, psi_X, f,
):  # fmt: skip
    """f (14,): residual force of one element on its two ends; forces in the axes of section I, moments in end axes.

    elastic, damped, inertial : which forces; those of inertia are inertia and gyroscopic force minus gravity, and they
    alone need no strains. Returns False if the element is folded, where strains are needed. R (5, 3, 3) is set as in
    ``element_shape``.
    """
    omega1, omega2, acc1, acc2, alpha1, alpha2 = small[4], small[5], small[6], small[7], small[8], small[9]
    x1, x2, F, M1, work = vectors[0], vectors[1], vectors[2], vectors[3, 0], vectors[3, 1]
    Q, beta, gamma = R[4], small[10], small[11]
    length = data[LENGTH]
    element_shape(index, ends, q, fixed, length, R, small, X)
    ends_motion(index, ends, v, R, small, f11)
    if elastic or damped:
        if not strains(X, length, data[SOURCE] != 0.0, psi, psi_X, e, E):
            return False
        shape_force(X, Q, beta, gamma, data, f11, elastic, e, E, n)
    else:
        n[:] = 0.0
    s1 = X[3]
    s2 = length * (1.0 + q[index[5]])
    for k in range(3):
        M1[k] = 0.0
        for i in range(4):
            F[i, k] = 0.0
    if inertial:
        end_accelerations(index[2], ends[0], v, a, R[0], acc1, alpha1)
        end_accelerations(index[3], ends[1], v, a, R[2], acc2, alpha2)
        for k in range(3):
            # gravity acts as an opposite acceleration of the reference frame
            acc1[k] -= gravity[k]
            acc2[k] -= gravity[k]
            # only differences of the rates of r enter
            x1[0, k] = 0.0
            x1[2, k] = f11[k]
        rotate_back(R[1], acc1, x2[0])
        rotate_back(R[1], acc2, x2[2])
        centreline_rate(v[index[6]], omega1, s1, length, x1[1])
        centreline_rate(v[index[7]], omega2, s2, length, work)
        rotate(Q, work, x1[3])
        centreline_acceleration(v[index[6]], a[index[6]], omega1, alpha1, s1, length, x2[1])
        centreline_acceleration(v[index[7]], a[index[7]], omega2, alpha2, s2, length, work)
        rotate(Q, work, x2[3])
        n[7] += inertia_force(
            X, Q, beta, length, data[MASS], data[INERTIA : INERTIA + 3], has_mass_offset,
            data[OFFSET], data[OFFSET + 1], omega1, omega2, alpha1, alpha2, x1, x2, vectors[4:], F, M1,
        )  # fmt: skip
    ends_force(X, Q, beta, gamma, length, s2, n, F, M1, work, f11, f)
    return True


@kernel
def forces(
    index, ends, data, has_mass_offset, q, v, a, fixed, gravity, elastic, damped, inertial, sign, out, section, rows
):  # fmt: skip
    """Force of all elements (see ``element_force``) at s states.

    out (s, n_v) += sign times the generalized forces. section (s, n, 2, 6), or of length 0 if not requested: section
    force and moment at both ends of every element, in the axes of that section, on the face whose outward normal is
    the tangent, so that a positive first component is tension. rows (n, s, 14), or of length 0 if not requested: it is
    set to what is otherwise added to out, frame and strain of one end, then the other. Returns -1, or the number of a
    folded element.
    """
    R = np.empty((5, 3, 3))
    small, vectors, F = np.empty((12, 3)), np.empty((9, 4, 3)), np.empty(3)
    X, n, f11, f = np.empty(8), np.empty(8), np.empty(11), np.empty(14)
    e, E, psi, psi_X = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty(4), np.empty((4, 8))
    force, torque = np.empty(3), np.empty(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            ok = element_force(
                index[k], ends[k], data[k], has_mass_offset, q[s], v[s], a[s], fixed, gravity, elastic, damped,
                inertial, R, small, vectors, X, n, f11, e, E, psi, psi_X, f,
            )  # fmt: skip
            if not ok:
                return k
            for end in range(2):
                frame = index[k, 2 + end]
                rotate(R[1], f[7 * end : 7 * end + 3], F)
                if frame >= 0:
                    force_to_frame(F, f[7 * end + 3 : 7 * end + 6], ends[k, end], R[2 * end], force, torque)
                if rows.shape[0] > 0:
                    for i in range(3):
                        rows[k, s, 7 * end + i] = sign * force[i]
                        rows[k, s, 7 * end + 3 + i] = sign * torque[i]
                    rows[k, s, 7 * end + 6] = sign * f[7 * end + 6]
                else:
                    if frame >= 0:
                        for i in range(3):
                            out[s, frame + i] += sign * force[i]
                            out[s, frame + 3 + i] += sign * torque[i]
                    out[s, index[k, 6 + end]] += sign * f[7 * end + 6]
                if section.shape[0] > 0:
                    outward = -1.0 if end == 0 else 1.0
                    rotate_back(R[1 + 2 * end], F, force)
                    for i in range(3):
                        section[s, k, end, i] = outward * force[i]
                        section[s, k, end, 3 + i] = outward * f[7 * end + 3 + i]
    return -1
