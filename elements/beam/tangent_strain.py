"""Exact change of a beam element's elastic and damping force: second derivatives of its strains; see ``tangent``.

The formulas are of numbers, or of values with lanes (``femb.numerics.compiler.lanes``), as ``femb.elements.beam.force``
has them. Source: docs/theory/beam.md, section 4.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from femb.elements.beam.force import inner_stiffness, inner_strains, relax
from femb.elements.beam.matrices import add_from_shape
from femb.elements.beam.strain import (
    DAMPING,
    HERMITE,
    INNER_ANGLES,
    LENGTH,
    POINTS,
    REFERENCE,
    SOURCE,
    STIFFNESS,
    TWIST_HERMITE,
    TWIST_POINTS,
    TWIST_WEIGHTS,
    WEIGHTS,
    slope,
    strains,
    twist_rule,
)
from femb.numerics.compiler.compile import inlined
from femb.numerics.compiler.lanes import choose, every
from femb.numerics.vector3 import dot

# The natural coordinate k < 7 enters component AXIS[k] of r', with the factor in column SLOPE[k] of ``slopes``, and of
# r'' with the factor in column BEND[k].
AXIS = np.array([0, 1, 2, 0, 0, 1, 2])
SLOPE = np.array([1, 1, 1, 0, 2, 2, 2])
BEND = SLOPE + 3


# Second derivatives of the strains, times the stress: the lower triangle of a symmetric matrix (8, 8).


@inlined
def add_twist_hessian(X, c, work, K):
    """K (8, 8) += second derivatives of ``twist_angles`` with respect to X, times c (4,): the lower triangle.

    The angles are integrals of b f, b = 6 (X1 X6 - X2 X5) and f = xi^2 / (g (g + u1)) with u = r', g = |u|.
    work : (7, 8).
    """
    t, q, first, b_first, H = work[0], work[1], work[2], work[3], work[4:7]
    b = 6.0 * (X[1] * X[6] - X[2] * X[5])
    # that of the uniform twist, as in twist_angles
    end = -c[3]
    for o in range(3):
        end -= POINTS[o] * c[o]
    for p in range(8):
        first[p] = 0.0
        b_first[p] = 0.0
    integral = 0.0
    start, stop = twist_rule(X)
    for j in range(start, stop):
        f = end * TWIST_WEIGHTS[3, j]
        for o in range(3):
            f += c[o] * TWIST_WEIGHTS[o, j]
        t[0], t[1], t[2] = slope(TWIST_HERMITE[j, 0], TWIST_HERMITE[j, 1], TWIST_HERMITE[j, 2], X)
        per_g = 1.0 / math.sqrt(dot(t, t))
        for i in range(3):
            t[i] *= per_g
        # q / |q|^2 with q = t + e1, and the gradient of log f, less its sign, in units of 1 / g
        swing = 1.0 / (1.0 + t[0])
        q[0], q[1], q[2] = 1.0, t[1] * swing, t[2] * swing
        f *= TWIST_POINTS[j] * TWIST_POINTS[j] * per_g * per_g * swing
        integral += f
        # H / f: square of the gradient t/g + q/swing, minus its derivative
        bent = b * f * per_g * per_g
        for i in range(3):
            for k in range(3):
                flat = (1.0 if i == k else 0.0) - t[i] * t[k]
                x = (t[i] + q[i]) * (t[k] + q[k]) - flat * (1.0 + swing) + t[i] * t[k] + q[i] * q[k]
                H[i, k] = bent * x
        f *= per_g
        for p in range(7):
            i, n_p = AXIS[p], TWIST_HERMITE[j, SLOPE[p]]
            first[p] -= f * n_p * (t[i] + q[i])
            for r in range(p + 1):
                K[p, r] += n_p * TWIST_HERMITE[j, SLOPE[r]] * H[i, AXIS[r]]
    b_first[1], b_first[2], b_first[5], b_first[6] = 6.0 * X[6], -6.0 * X[5], -6.0 * X[2], 6.0 * X[1]
    for p in range(7):
        for r in range(p + 1):
            K[p, r] += b_first[p] * first[r] + first[p] * b_first[r]
    K[6, 1] += 6.0 * integral
    K[5, 2] -= 6.0 * integral


@inlined
def add_point_hessian(i, X, length, source, angles, w, c, work, K):
    """K (8, 8) += second derivatives of the ``strains`` at strain point i, times w (4,): the lower triangle.

    Those of the angles psi are left out: c (4,) += what ``add_twist_hessian`` takes for them. angles : psi and psi_X
    of ``twist_angles``. work : (16, 8).
    """
    psi, psi_X = angles
    u, v, t, q, s_u, along_u, along_v = work[0], work[1], work[2], work[3], work[4], work[5], work[6]
    across_u, across_v, by_angle, UU, VU = work[7], work[8], work[9], work[10:13], work[13:16]
    u[0], u[1], u[2] = slope(HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2], X)
    v[0], v[1], v[2] = slope(HERMITE[i, 3], HERMITE[i, 4], HERMITE[i, 5], X)
    per_g = 1.0 / math.sqrt(dot(u, u))
    for k in range(3):
        t[k] = u[k] * per_g
        q[k] = t[k]
    q[0] += 1.0
    z = per_g / q[0]
    y2, y3, along = u[1] * z, u[2] * z, dot(t, v)
    s = v[0] + along
    # w2 k2 + w3 k3 = scale h with h = p B + r C; B, C : of r'' along the swung y and z axes
    cp, sp = math.cos(psi[i]), math.sin(psi[i])
    p, r = w[2] * sp + w[3] * cp, w[3] * sp - w[2] * cp
    y, turned_y = p * y2 + r * y3, p * y3 - r * y2
    B, C = v[1] - y2 * s, v[2] - y3 * s
    h, h_angle = p * B + r * C, p * C - r * B
    scale = choose(source, 1.0 / length, per_g) / length
    by_g = choose(source, 0.0, per_g)
    for k in range(3):
        s_u[k] = (v[k] - along * t[k]) * per_g
        along_v[k] = -y * q[k]
        across_v[k] = -turned_y * q[k]
    along_v[1] += p
    along_v[2] += r
    across_v[1] -= r
    across_v[2] += p
    for k in range(3):
        # gradients of h and of its derivative by the angle, with respect to u
        along_u[k] = -s * z * along_v[k] - y * s_u[k]
        across_u[k] = -s * z * across_v[k] - turned_y * s_u[k] - by_g * h_angle * t[k]
    flat = (s * z + along * per_g) * y * per_g
    axial = w[0] / length * per_g
    for k in range(3):
        for m in range(3):
            one = (1.0 if k == m else 0.0) - t[k] * t[m]
            x = s * z * z * (along_v[k] * q[m] + q[k] * along_v[m]) - z * (along_v[k] * s_u[m] + s_u[k] * along_v[m])
            x += flat * one + y * per_g * (t[k] * s_u[m] + s_u[k] * t[m])
            x += by_g * (by_g * h * (2.0 * t[k] * t[m] - one) - along_u[k] * t[m] - t[k] * along_u[m])
            UU[k, m] = scale * x + axial * one
            VU[k, m] = -scale * (z * q[k] * along_v[m] + y * per_g * one + by_g * along_v[k] * t[m])
    # products of first derivatives, of which one is of psi, with half of the second derivative by it
    for m in range(7):
        k = AXIS[m]
        by_angle[m] = scale * (HERMITE[i, SLOPE[m]] * across_u[k] + HERMITE[i, BEND[m]] * across_v[k])
    by_angle[7] = 0.0
    half = 0.5 * scale * h
    for m in range(8):
        by_angle[m] -= half * psi_X[i, m]
    for m in range(7):
        k, n_m, b_m = AXIS[m], HERMITE[i, SLOPE[m]], HERMITE[i, BEND[m]]
        for o in range(m + 1):
            a, n_o, b_o = AXIS[o], HERMITE[i, SLOPE[o]], HERMITE[i, BEND[o]]
            K[m, o] += n_m * (n_o * UU[k, a] + b_o * VU[a, k]) + b_m * n_o * VU[k, a]
    for m in range(8):
        for o in range(m + 1):
            K[m, o] += by_angle[m] * psi_X[i, o] + psi_X[i, m] * by_angle[o]
    c[i] += scale * h_angle
    c[3] += w[1] / length


@inlined
def add_strain_hessian(X, length, source, angles, w, c, work, K):
    """K (8, 8) += second derivatives of the ``strains`` times w (3, 4), whole; c (4,), work (24, 8) : work arrays."""
    H = work[0:8]
    for o in range(4):
        c[o] = 0.0
    H[:] = 0.0
    for i in range(3):
        add_point_hessian(i, X, length, source, angles, w[i], c, work[8:24], H)
    add_twist_hessian(X, c, work[8:24], H)
    for m in range(8):
        for n in range(m):
            K[m, n] += H[m, n]
            K[n, m] += H[m, n]
        K[m, m] += H[m, m]


@inlined
def gradient_rates(X, length, source, angles, Xd, w, c, work, rates):
    """rates (3, 4, 8): the rates of the gradients E of ``strains``, with those Xd (8,) of X; w, c, work : work arrays
    (3, 4), (4,) and (24, 8)."""
    H = work[0:8]
    for i in range(3):
        for j in range(4):
            for o in range(4):
                w[i, o] = 0.0
                c[o] = 0.0
            w[i, j] = 1.0
            H[:] = 0.0
            add_point_hessian(i, X, length, source, angles, w[i], c, work[8:24], H)
            add_twist_hessian(X, c, work[8:24], H)
            for m in range(8):
                rates[i, j, m] = 0.0
                for n in range(8):
                    rates[i, j, m] += H[max(m, n), min(m, n)] * Xd[n]


# The force on the natural coordinates, and its change.


@inlined
def inner_gradients(data, e, twist, Dc, stiffness, E, T, z):
    """T (3, 2, 8) and z (8,): gradients of the strains per inner twist in bending, and of the inner twist.

    e (3, 4) : strains less reference with those of the inner twist. Dc, stiffness : of ``inner_stiffness``. E : the
    gradient of ``strains``, to which that of the inner twist at its value is added. Source: equation (34).
    """
    for m in range(8):
        z[m] = 0.0
    for i in range(3):
        m2, m3 = 0.0, 0.0
        for k in range(4):
            m2 += WEIGHTS[i] * data[STIFFNESS + 8 + k] * e[i, k]
            m3 += WEIGHTS[i] * data[STIFFNESS + 12 + k] * e[i, k]
        for m in range(8):
            T[i, 0, m], T[i, 1, m] = INNER_ANGLES[i] * E[i, 3, m], -INNER_ANGLES[i] * E[i, 2, m]
            E[i, 2, m] += twist * T[i, 0, m]
            E[i, 3, m] += twist * T[i, 1, m]
            moment = m2 * T[i, 0, m] + m3 * T[i, 1, m]
            for j in range(4):
                moment += Dc[i, j] * E[i, j, m]
            z[m] -= moment / stiffness


@inlined
def add_stress(i, stress, twist, w):
    """w (4,) += the stress (4,) at strain point i on the strains without the inner twist."""
    b = twist * INNER_ANGLES[i]
    w[0] += stress[0]
    w[1] += stress[1]
    w[2] += stress[2] - b * stress[3]
    w[3] += stress[3] + b * stress[2]


@inlined
def elastic_stiffness(data, e, inner, E, factor, stress, w, K8):
    """K8 (8, 8) += factor times the change of ``stress_force`` with the natural coordinates, equation (35), but for
    the second derivatives of the strains: w (3, 4) += what ``add_strain_hessian`` takes for them.

    inner : the inner twist, its stiffness and its gradient z. e, E : with it, as in ``inner_gradients``. stress : work
    array (9, 8).
    """
    twist, stiffness, z = inner
    length = factor * data[LENGTH]
    gradient = stress[1]
    for i in range(3):
        for j in range(4):
            stress[0, j] = 0.0
            gradient[:] = 0.0
            for o in range(4):
                f = WEIGHTS[i] * length * data[STIFFNESS + 4 * j + o]
                if not every(f == 0.0):
                    stress[0, j] += f * e[i, o]
                    for m in range(8):
                        gradient[m] += f * E[i, o, m]
            for m in range(8):
                for n in range(8):
                    K8[m, n] += gradient[m] * E[i, j, n]
        add_stress(i, stress[0], twist, w[i])
    for m in range(8):
        for n in range(8):
            K8[m, n] -= length * stiffness * z[m] * z[n]


@inlined
def add_to_ends(B, A, AB, K):
    """K (11, 11) += B^T A B for a sparse B (8, 11); AB (8, 11) is A B."""
    AB[:] = 0.0
    for n in range(8):
        for k in range(11):
            x = B[n, k]
            if not every(x == 0.0):
                for m in range(8):
                    AB[m, k] += A[m, n] * x
    add_from_shape(B, AB, K)


class StrainWork(NamedTuple):
    """Work arrays of ``strain_stiffness``: psi (4,), psi_X (4, 8), e (3, 4), E (3, 4, 8), c (7, 3, 4), T (3, 2, 8),
    rates (6, 4, 8), products (2, 8, 11) and rows (42, 8)."""

    psi: Any
    psi_X: Any
    e: Any
    E: Any
    c: Any
    T: Any
    rates: Any
    products: Any
    rows: Any


@inlined
def strain_stiffness(X, data, moves, B, Xd, dXd, at, K, C):
    """K, C (11, 11) += changes of the elastic and damping force with the motion of the ends and with its rate, at
    constant B (``geometric_stiffness`` adds the change of B).

    Xd (8,) : rate of X. dXd (8, 11) : its change with the motion of the ends at constant velocities. moves : whether
    either is not zero. at : ``StrainWork``.
    """
    psi, psi_X, e, E, c, T, rates, products, work = at
    length, source = data[LENGTH], data[SOURCE] != 0.0
    inner, w, turns, G, A, z = c[0:2], c[2], c[6, 0], work[24:32], work[32:40], work[40]
    strains(X, length, source, psi, psi_X, e, E)
    inner_strains(e, length, inner[0])
    for i in range(3):
        for j in range(4):
            e[i, j] -= data[REFERENCE + 4 * i + j]
            w[i, j] = 0.0
    stiffness = inner_stiffness(data, inner[0], inner[1])
    twist = relax(inner[0], inner[1], stiffness, e)
    inner_gradients(data, e, twist, inner[1], stiffness, E, T, z)
    G[:] = 0.0
    elastic_stiffness(data, e, (twist, stiffness, z), E, 1.0, work[0:9], w, G)
    damped = not every(data[DAMPING] == 0.0)
    if damped:
        rates[:] = 0.0
        if moves:
            gradient_rates(X, length, source, (psi, psi_X), Xd, c[3], turns, work, rates[0:3])
        damping_stiffness(data, twist, stiffness, z, Xd, at, w, G, A)
    add_strain_hessian(X, length, source, (psi, psi_X), w, turns, work, G)
    add_to_ends(B, G, products[0], K)
    if damped:
        add_to_ends(B, A, products[0], C)
        if moves:
            products[1] = 0.0
            for m in range(8):
                for n in range(8):
                    for k in range(11):
                        products[1, m, k] += A[m, n] * dXd[n, k]
            add_from_shape(B, products[1], K)


@inlined
def damping_stiffness(data, twist, stiffness, z, Xd, at, w, G, A):
    """G, A (8, 8) : G += and A = change of the damping force with the natural coordinates and with their rates,
    equation (36), but for the second derivatives of the strains that ``add_strain_hessian`` adds with w.

    at : ``StrainWork`` with c[0:2] of ``inner_strains`` and ``inner_stiffness``, and rates[0:3] of the gradients
    without the inner twist. Others as in ``elastic_stiffness``.
    """
    inner, c, e, E, T, rates, zero = at.c[0:2], at.c[3:6], at.e, at.E, at.T, at.rates, at.rows[41]
    damping = data[LENGTH] * data[DAMPING]
    turned, stress, change, gradients = c[0], c[1], c[2], rates[3:6]
    for m in range(8):
        zero[m] = 0.0
    for i in range(3):
        b = twist * INNER_ANGLES[i]
        for m in range(8):
            second, third = rates[i, 2, m], rates[i, 3, m]
            rates[i, 2, m] += b * third
            rates[i, 3, m] -= b * second
        for j in range(4):
            e[i, j] = 0.0
            turned[i, j] = 0.0
            for m in range(8):
                e[i, j] += E[i, j, m] * Xd[m]
                zero[m] -= inner[1, i, j] * E[i, j, m] / stiffness
        for j in range(2):
            for m in range(8):
                turned[i, 2 + j] += T[i, j, m] * Xd[m]
    twist_rate = relax(inner[0], inner[1], stiffness, e)
    # stress and its gradients by the rates, per damping
    for i in range(3):
        for j in range(4):
            stress[i, j] = 0.0
            for m in range(8):
                gradients[i, j, m] = 0.0
            for o in range(4):
                f = WEIGHTS[i] * data[STIFFNESS + 4 * j + o]
                stress[i, j] += f * e[i, o]
                for m in range(8):
                    gradients[i, j, m] += f * E[i, o, m]
    A[:] = 0.0
    for n in range(8):
        moment = 0.0
        for i in range(3):
            for j in range(4):
                change[i, j] = rates[i, j, n] + z[n] * turned[i, j]
                if j > 1:
                    change[i, j] += twist_rate * T[i, j - 2, n]
                    moment += stress[i, j] * T[i, j - 2, n]
                moment += inner[1, i, j] * change[i, j]
        for i in range(3):
            for j in range(4):
                x = change[i, j] - moment / stiffness * inner[0, i, j]
                for m in range(8):
                    G[m, n] += damping * gradients[i, j, m] * x
                    if j > 1:
                        G[m, n] += damping * stress[i, j] * z[n] * T[i, j - 2, m]
                    A[m, n] += damping * gradients[i, j, m] * E[i, j, n]
        for m in range(8):
            A[m, n] -= damping * stiffness * zero[m] * zero[n]
    for i in range(3):
        for j in range(4):
            stress[i, j] *= damping
        add_stress(i, stress[i], twist, w[i])
