"""Exact change of a beam element's elastic force: second derivatives of its strains; see ``tangent``.

Source: docs/theory/beam.md.
"""

import math

import numpy as np

from femb.elements.beam.force import inner_stiffness, inner_strains, relax
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
    strains,
    twist_rule,
)
from femb.numerics.compiler.compile import inlined
from femb.numerics.vector3 import dot

# The natural coordinate k < 7 enters component AXIS[k] of r', with the factor in column SLOPE[k] of ``slopes``.
AXIS = np.array([0, 1, 2, 0, 0, 1, 2])
SLOPE = np.array([1, 1, 1, 0, 2, 2, 2])


@inlined
def twist_hessian(X, S):
    """S (4, 8, 8): second derivatives of ``twist_angles`` with respect to X.

    The angles are integrals of c f, c = 6 (X1 X6 - X2 X5) and f = xi^2 / (g (g + u1)) with u = r', g = |u|.
    """
    H, t = np.empty((3, 3)), np.empty(3)
    integral, first = np.zeros(4), np.zeros((4, 8))  # integrals of f and of its gradient
    S[:] = 0.0
    start, stop = twist_rule(X)
    for j in range(start, stop):
        n2, n3, n4 = TWIST_HERMITE[j, 0], TWIST_HERMITE[j, 1], TWIST_HERMITE[j, 2]
        t[0] = n3 * X[0] + n2 * X[3] + n4 * X[4]
        t[1] = n3 * X[1] + n4 * X[5]
        t[2] = n3 * X[2] + n4 * X[6]
        g = math.sqrt(dot(t, t))
        swing = g + t[0]
        f = TWIST_POINTS[j] * TWIST_POINTS[j] / (g * swing)
        for i in range(3):
            t[i] /= g
        # H / f: square of the gradient t/g + q/swing with q = t + e1, minus its derivative
        for i in range(3):
            for k in range(3):
                q_i = t[i] + (1.0 if i == 0 else 0.0)
                q_k = t[k] + (1.0 if k == 0 else 0.0)
                flat = (1.0 if i == k else 0.0) - t[i] * t[k]
                H[i, k] = f * (
                    (t[i] / g + q_i / swing) * (t[k] / g + q_k / swing)
                    - (flat - t[i] * t[k]) / (g * g)
                    - flat / (g * swing)
                    + q_i * q_k / (swing * swing)
                )
        for p in range(7):
            n_p = TWIST_HERMITE[j, SLOPE[p]]
            i = AXIS[p]
            d = -f * n_p * (t[i] / g + (t[i] + (1.0 if i == 0 else 0.0)) / swing)
            for o in range(4):
                first[o, p] += TWIST_WEIGHTS[o, j] * d
            for q in range(p + 1):
                d = n_p * TWIST_HERMITE[j, SLOPE[q]] * H[i, AXIS[q]]
                for o in range(4):
                    S[o, p, q] += TWIST_WEIGHTS[o, j] * d
        for o in range(4):
            integral[o] += TWIST_WEIGHTS[o, j] * f
    c = 6.0 * (X[1] * X[6] - X[2] * X[5])
    c_first = np.zeros(8)
    c_first[1], c_first[2], c_first[5], c_first[6] = 6.0 * X[6], -6.0 * X[5], -6.0 * X[2], 6.0 * X[1]
    for o in range(4):
        for p in range(7):
            for q in range(p + 1):
                S[o, p, q] = c * S[o, p, q] + c_first[p] * first[o, q] + first[o, p] * c_first[q]
        S[o, 6, 1] += 6.0 * integral[o]
        S[o, 5, 2] -= 6.0 * integral[o]
        for p in range(7):
            for q in range(p):
                S[o, q, p] = S[o, p, q]
    # add the uniform twist, as in twist_angles
    for p in range(7):
        for q in range(7):
            for o in range(3):
                S[o, p, q] -= POINTS[o] * S[3, p, q]
            S[3, p, q] = -S[3, p, q]


@inlined
def along_direction(S, m, n, D):
    """Component m of a symmetric matrix S (8, 8) times the direction n of D, of which the first eight are the axes."""
    if n < 8:
        return S[m, n]
    x = 0.0
    for o in range(7):
        x += S[m, o] * D[n, o]
    return x


@inlined
def strain_changes(X, length, source, psi, psi_X, S, D, dE):
    """dE (n, 3, 4, 8): changes of the gradient E of ``strains`` for changes of X along the directions D (n, 8).

    psi, psi_X : of ``twist_angles``; S : its second derivatives. The first eight directions are the axes.
    """
    w = np.empty((13, 3))
    u, v, t, q, s_u, du, dv, dt, ds_u = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]
    # gradients, with respect to v = r'' and u = r', of the components of r'' along the swung y and z axes
    swung, by_u = np.empty((2, 3)), np.empty((2, 3))
    dswung, dby_u = np.empty((2, 3)), np.empty((2, 3))
    y, value, dvalue = w[9], w[10], w[11]
    drow = np.empty(8)
    for i in range(3):
        n2, n3, n4 = HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2]
        m2, m3, m4 = HERMITE[i, 3], HERMITE[i, 4], HERMITE[i, 5]
        for k in range(3):
            u[k] = n3 * X[k] + n4 * X[4 + k]
            v[k] = m3 * X[k] + m4 * X[4 + k]
        u[0] += n2 * X[3]
        v[0] += m2 * X[3]
        g = math.sqrt(dot(u, u))
        for k in range(3):
            t[k] = u[k] / g
            q[k] = t[k]
        q[0] += 1.0
        z = 1.0 / (g + u[0])
        along = dot(t, v)
        s = v[0] + along
        for k in range(3):
            s_u[k] = (v[k] - along * t[k]) / g
        for a in range(2):
            y[a] = u[1 + a] * z
            value[a] = v[1 + a] - y[a] * s
            for k in range(3):
                swung[a, k] = (1.0 if k == 1 + a else 0.0) - y[a] * q[k]
                by_u[a, k] = -s * z * swung[a, k] - y[a] * s_u[k]
        scale = 1.0 / (length * length) if source else 1.0 / (g * length)
        by_g = 0.0 if source else 1.0 / g
        cp, sp = math.cos(psi[i]), math.sin(psi[i])
        k2 = scale * (sp * value[0] - cp * value[1])
        k3 = scale * (cp * value[0] + sp * value[1])
        for n in range(D.shape[0]):
            for k in range(3):
                du[k] = n3 * D[n, k] + n4 * D[n, 4 + k]
                dv[k] = m3 * D[n, k] + m4 * D[n, 4 + k]
            du[0] += n2 * D[n, 3]
            dv[0] += m2 * D[n, 3]
            dturned = 0.0
            for m in range(8):
                dturned += psi_X[i, m] * D[n, m]
            dg = dot(t, du)
            for k in range(3):
                dt[k] = (du[k] - dg * t[k]) / g
            dz = -z * z * (dg + du[0])
            dalong = dot(dt, v) + dot(t, dv)
            ds = dot(s_u, du) + dot(q, dv)
            for k in range(3):
                ds_u[k] = (dv[k] - dalong * t[k] - along * dt[k] - dg * s_u[k]) / g
            for a in range(2):
                dy = z * dot(swung[a], du)
                dvalue[a] = dot(by_u[a], du) + dot(swung[a], dv)
                for k in range(3):
                    dswung[a, k] = -dy * q[k] - y[a] * dt[k]
                    dby_u[a, k] = -(ds * z + s * dz) * swung[a, k] - s * z * dswung[a, k] - dy * s_u[k] - y[a] * ds_u[k]
            dlog = -by_g * dg  # change of log(scale)
            dby_g = -by_g * by_g * dg
            dk2 = dlog * k2 + scale * (sp * dvalue[0] - cp * dvalue[1]) + k3 * dturned
            dk3 = dlog * k3 + scale * (cp * dvalue[0] + sp * dvalue[1]) - k2 * dturned
            for row in range(2, 4):
                if row == 2:
                    p, r, kappa, dkappa, turning, dturning = scale * sp, -scale * cp, k2, dk2, k3, dk3
                else:
                    p, r, kappa, dkappa, turning, dturning = scale * cp, scale * sp, k3, dk3, -k2, -dk2
                dp, dr = dlog * p - r * dturned, dlog * r + p * dturned
                drow[:] = 0.0
                for k in range(3):
                    ku = dp * by_u[0, k] + p * dby_u[0, k] + dr * by_u[1, k] + r * dby_u[1, k]
                    ku -= (dkappa * by_g + kappa * dby_g) * t[k] + kappa * by_g * dt[k]
                    kv = dp * swung[0, k] + p * dswung[0, k] + dr * swung[1, k] + r * dswung[1, k]
                    drow[k] = n3 * ku + m3 * kv
                    drow[4 + k] = n4 * ku + m4 * kv
                    if k == 0:
                        drow[3] = n2 * ku + m2 * kv
                for m in range(8):
                    dE[n, i, row, m] = drow[m] + dturning * psi_X[i, m] + turning * along_direction(S[i], m, n, D)
            for k in range(3):
                dE[n, i, 0, k] = n3 * dt[k] / length
                dE[n, i, 0, 4 + k] = n4 * dt[k] / length
            dE[n, i, 0, 3] = n2 * dt[0] / length
            dE[n, i, 0, 7] = 0.0
            for m in range(8):
                dE[n, i, 1, m] = along_direction(S[3], m, n, D) / length


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
def turn_changes(twist, dE):
    """Add to changes dE (n, 3, 4, 8) of the gradient of ``strains`` those at constant inner twist."""
    for n in range(dE.shape[0]):
        for i in range(3):
            b = twist * INNER_ANGLES[i]
            for m in range(8):
                first, second = dE[n, i, 2, m], dE[n, i, 3, m]
                dE[n, i, 2, m] += b * second
                dE[n, i, 3, m] -= b * first


@inlined
def elastic_stiffness(data, e, stiffness, E, dE, z, factor, K8):
    """K8 (8, 8) += factor times the change of ``stress_force`` with the natural coordinates, equation (35).

    e, E, dE (8 or more, 3, 4, 8) : with those of the inner twist, as of ``inner_gradients`` and ``turn_changes``;
    second derivatives do not depend on their order, so that rows of dE are added to rows.
    """
    length = factor * data[LENGTH]
    stress_gradient = np.empty(8)
    for i in range(3):
        for j in range(4):
            stress = 0.0
            stress_gradient[:] = 0.0
            for o in range(4):
                f = WEIGHTS[i] * length * data[STIFFNESS + 4 * j + o]
                stress += f * e[i, o]
                for m in range(8):
                    stress_gradient[m] += f * E[i, o, m]
            for m in range(8):
                for n in range(8):
                    K8[m, n] += stress * dE[m, i, j, n] + stress_gradient[m] * E[i, j, n]
    for m in range(8):
        for n in range(8):
            K8[m, n] -= length * stiffness * z[m] * z[n]


@inlined
def strain_stiffness(X, data, B, psi, psi_X, S, e, E, Xd, dXd, K, C):
    """K, C (11, 11) += changes of the elastic and damping force with the motion of the ends and with its rate, at
    constant B (``geometric_stiffness`` adds the change of B).

    Xd (8,) : rate of X. dXd (8, 11) : its change with the motion of the ends at constant velocities. psi, psi_X, e, E :
    work arrays. S : of ``twist_hessian``.
    """
    length, damping = data[LENGTH], data[DAMPING]
    D, dE = np.zeros((9, 8)), np.empty((9, 3, 4, 8))
    for m in range(8):
        D[m, m] = 1.0
        D[8, m] = Xd[m]
    count = 9 if damping > 0.0 else 8
    strains(X, length, data[SOURCE] != 0.0, psi, psi_X, e, E)
    strain_changes(X, length, data[SOURCE] != 0.0, psi, psi_X, S, D[:count], dE)
    c, T, z = np.empty((2, 3, 4)), np.empty((3, 2, 8)), np.empty(8)
    inner_strains(e, length, c[0])
    for i in range(3):
        for j in range(4):
            e[i, j] -= data[REFERENCE + 4 * i + j]
    stiffness = inner_stiffness(data, c[0], c[1])
    twist = relax(c[0], c[1], stiffness, e)
    inner_gradients(data, e, twist, c[1], stiffness, E, T, z)
    turn_changes(twist, dE[:count])
    G, A = np.zeros((8, 8)), np.zeros((8, 8))
    elastic_stiffness(data, e, stiffness, E, dE, z, 1.0, G)
    if damping > 0.0:
        damping_stiffness(data, c[0], c[1], stiffness, E, dE, T, z, Xd, e, G, A)
    AB, GB = np.zeros((8, 11)), np.zeros((8, 11))
    for m in range(8):
        for n in range(8):
            for k in range(11):
                GB[m, k] += G[m, n] * B[n, k]
            if damping > 0.0:
                for k in range(11):
                    AB[m, k] += A[m, n] * B[n, k]
                    GB[m, k] += A[m, n] * dXd[n, k]
    for m in range(8):
        for i in range(11):
            for k in range(11):
                K[i, k] += B[m, i] * GB[m, k]
            if damping > 0.0:
                for k in range(11):
                    C[i, k] += B[m, i] * AB[m, k]


@inlined
def damping_stiffness(data, c, Dc, stiffness, E, dE, T, z, Xd, e, G, A):
    """G, A (8, 8) += change of the damping force with the natural coordinates and with their rates, equation (36).

    c (3, 4) : of ``inner_strains``. e (3, 4) : work array. Others as in ``elastic_stiffness``, dE (9, 3, 4, 8) with the
    change along the rates Xd in its last row.
    """
    length, damping = data[LENGTH], data[DAMPING]
    zero, turned, stress, change = np.zeros(8), np.zeros((3, 4)), np.empty((3, 4)), np.empty((3, 4))
    gradients = np.empty((3, 4, 8))
    for i in range(3):
        for j in range(4):
            e[i, j] = 0.0
            for m in range(8):
                e[i, j] += E[i, j, m] * Xd[m]
                zero[m] -= Dc[i, j] * E[i, j, m] / stiffness
        for j in range(2):
            for m in range(8):
                turned[i, 2 + j] += T[i, j, m] * Xd[m]
    twist_rate = relax(c, Dc, stiffness, e)
    for i in range(3):
        for j in range(4):
            stress[i, j] = 0.0
            gradients[i, j] = 0.0
            for o in range(4):
                f = WEIGHTS[i] * length * damping * data[STIFFNESS + 4 * j + o]
                stress[i, j] += f * e[i, o]
                for m in range(8):
                    gradients[i, j, m] += f * E[i, o, m]
    for n in range(8):
        moment = 0.0
        for i in range(3):
            for j in range(4):
                change[i, j] = dE[8, i, j, n] + z[n] * turned[i, j]
                if j > 1:
                    change[i, j] += twist_rate * T[i, j - 2, n]
                    moment += stress[i, j] * T[i, j - 2, n] / (length * damping)
                moment += Dc[i, j] * change[i, j]
        for i in range(3):
            for j in range(4):
                x = change[i, j] - moment / stiffness * c[i, j]
                for m in range(8):
                    G[m, n] += stress[i, j] * dE[n, i, j, m] + gradients[i, j, m] * x
                    if j > 1:
                        G[m, n] += stress[i, j] * z[n] * T[i, j - 2, m]
                    A[m, n] += gradients[i, j, m] * E[i, j, n]
        for m in range(8):
            A[m, n] -= length * damping * stiffness * zero[m] * zero[n]
