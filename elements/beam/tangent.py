"""Exact tangent of the beam element: the change of its residual with coordinates and velocities.

It adds to the iteration tangent of ``matrices`` the second derivatives of the strains, the change of the strain rates
with the coordinates, and the change of inertia and gyroscopic force. Second derivatives of the strains are those of one
function of the natural coordinates, the strains times the stress. The change of the inertia force is computed along 22
directions, by the same formulas with numbers that have changes. A leading d denotes the change along a direction:

    0 to 10     a motion of the ends at constant velocities and accelerations: chord (3), spin (3) and strain of
                end I, spin (3) and strain of end II, as in ``end_gradient``
    11 to 21    a change of the velocities of the ends, in the same order

Vectors have components in the axes of the first section. Therefore a vector y that is constant in inertial axes changes
by y x theta if these axes rotate by theta. Source: docs/theory/beam.md, section 4.
"""

import numpy as np

from femb.elements.beam.ends import ends_motion
from femb.elements.beam.force import EndStates, ForceWork, element_force
from femb.elements.beam.matrices import (
    MassWork,
    arm_map,
    attachment_stiffness,
    element_mass,
    expand,
    folded,
    frame_map,
    scatter_group,
    to_frames,
)
from femb.elements.beam.rotary_inertia import LineChanges, LineMotion, inertia_changes
from femb.elements.beam.strain import (
    DAMPING,
    LENGTH,
    BentShape,
    gather_rates,
    gather_states,
    geometric_stiffness,
    natural_rates,
    shape_gradient,
)
from femb.elements.beam.tangent_strain import StrainWork, strain_stiffness
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.lanes import LANES, every, lanes
from femb.numerics.vector3 import assign, cross, dot, rotate, rotate_back

# Changes, along 22 directions, of the motion on which a beam element's inertia force depends; see ``tangent``.
#
# Source: docs/theory/beam.md.

END_MOTIONS = 11  # chord (3), spin (3) and strain of end I, spin (3) and strain of end II
DIRECTIONS = 22  # these motions, and the changes of their rates


@inlined
def centreline_changes(length, eps_rate, omega, alpha, s, along, dg, dv, dx2):
    """Changes of g = s e1 and of its rates (see ``centreline_acceleration``) in the axes of its end: row 0 with the
    strain, 1 with the strain rate and 2, 3, 4 with the angular velocity; dg, dv, dx2 (5, 3)."""
    dg[:] = 0.0
    dv[:] = 0.0
    dx2[:] = 0.0
    w1, w2, w3 = omega[0], omega[1], omega[2]
    dg[0, 0] = length
    dv[0, 1], dv[0, 2] = length * w3, -length * w2
    dx2[0, 0] = -length * (w2 * w2 + w3 * w3)
    dx2[0, 1], dx2[0, 2] = length * (alpha[2] + w1 * w2), length * (w1 * w3 - alpha[1])
    dv[1, 0] = length
    dx2[1, 1], dx2[1, 2] = 2.0 * length * w3, -2.0 * length * w2
    dv[3, 2], dv[4, 1] = -s, s
    dx2[2, 1], dx2[2, 2] = s * w2, s * w3
    dx2[3, 0], dx2[3, 1], dx2[3, 2] = -2.0 * s * w2, s * w1, -2.0 * length * eps_rate
    dx2[4, 0], dx2[4, 1], dx2[4, 2] = -2.0 * s * w3, 2.0 * length * eps_rate, s * w1


@inlined
def motion_changes(Q, length, s1, s2, eps_rates, small, motion, work, changes):
    """Changes, along the 22 directions, of the ``LineMotion`` on which the inertia force depends.

    All changes are zero on entry; of r_I and r_II only the difference is valid. small : of ``ForceWork``, with omega
    and alpha (3,) of the ends, axes of these. work : (7, 5, 3).
    """
    omega1, omega2, alpha1, alpha2 = small[4], small[5], small[8], small[9]
    x, v, x2, spins = motion.x, motion.v, motion.x2, motion.spins
    dx, dv, dx2, dspins, dl = changes.x, changes.v, changes.x2, changes.spins, changes.tangent
    dg1, dv1, da1, dg2, dv2, da2 = work[0], work[1], work[2], work[3], work[4], work[5]
    e, Qe, l2 = work[6, 0], work[6, 1], work[6, 2]
    centreline_changes(length, eps_rates[0], omega1, alpha1, s1, length, dg1, dv1, da1)
    centreline_changes(length, eps_rates[1], omega2, alpha2, s2, length, dg2, dv2, da2)
    for i in range(3):
        l2[i] = Q[i, 0]
    for i in range(3):
        e[:] = 0.0
        e[i] = 1.0
        dx[i, 2, i] = 1.0
        dv[END_MOTIONS + i, 2, i] = 1.0
        # a rotation of end I: vectors that are constant in inertial axes rotate backwards
        k = 3 + i
        cross(x[2], e, dx[k, 2])
        cross(x[3], e, dx[k, 3])
        cross(l2, e, dl[k])
        for o in range(4):
            if o != 1:
                cross(v[o], e, dv[k, o])
                cross(x2[o], e, dx2[k, o])
        cross(spins[1], e, dspins[k, 1])
        cross(spins[3], e, dspins[k, 3])
        # a rotation of end II: vectors that are constant in its axes rotate with it
        k = 7 + i
        rotate(Q, e, Qe)
        cross(Qe, x[3], dx[k, 3])
        cross(Qe, v[3], dv[k, 3])
        cross(Qe, x2[3], dx2[k, 3])
        cross(Qe, l2, dl[k])
        cross(Qe, spins[1], dspins[k, 1])
        cross(Qe, spins[3], dspins[k, 3])
        # angular velocities
        k = END_MOTIONS + 3 + i
        assign(dv1[2 + i], dv[k, 1])
        assign(da1[2 + i], dx2[k, 1])
        dspins[k, 0, i] = 1.0
        k = END_MOTIONS + 7 + i
        rotate(Q, dv2[2 + i], dv[k, 3])
        rotate(Q, da2[2 + i], dx2[k, 3])
        assign(Qe, dspins[k, 1])
    assign(dg1[0], dx[6, 1])
    rotate(Q, dg2[0], dx[10, 3])
    for o in range(2):
        # strains and strain rates
        assign(dv1[o], dv[END_MOTIONS * o + 6, 1])
        assign(da1[o], dx2[END_MOTIONS * o + 6, 1])
        rotate(Q, dv2[o], dv[END_MOTIONS * o + 10, 3])
        rotate(Q, da2[o], dx2[END_MOTIONS * o + 10, 3])


@inlined
def twist_changes(Q, beta, gamma, spins, dspins, dl, w, dtwist):
    """dtwist (22, 3): changes of the twist alpha, its rate and its second rate; arguments as in ``motion_changes``.

    w (12, 3) : work array.
    """
    l2, s, difference, swing1, swing2, change1, change2 = w[0], w[1], w[2], w[3], w[4], w[5], w[6]
    for i in range(3):
        l2[i] = Q[i, 0]
        difference[i] = spins[1, i] - spins[0, i]
        dtwist[3 + i, 0] = -beta[i]
        dtwist[7 + i, 0] = gamma[i]
    # beta = c (l_I + l_II) with l_I = e1; s is the rate of l_I + l_II
    c = 1.0 / (1.0 + l2[0])
    swing1[0], swing1[1], swing1[2] = 0.0, spins[0, 2], -spins[0, 1]
    cross(spins[1], l2, swing2)
    for i in range(3):
        s[i] = swing1[i] + swing2[i]
    rate = dot(beta, difference)
    c_rate = swing2[0] + dot(swing1, l2)
    for k in range(dspins.shape[0]):
        dc = -c * c * dl[k, 0]
        drate = 0.0
        dsecond = 0.0
        d_s = 0.0
        for i in range(3):
            dbeta = c * (dl[k, i] - beta[i] * dl[k, 0])
            dspin = dspins[k, 1, i] - dspins[k, 0, i]
            drate += dbeta * difference[i] + beta[i] * dspin
            dsecond += dbeta * (spins[3, i] - spins[2, i]) + beta[i] * (dspins[k, 3, i] - dspins[k, 2, i])
            d_s += s[i] * dspin
        cross(dspins[k, 1], l2, change1)
        cross(spins[1], dl[k], change2)
        dswing1_2, dswing1_3 = dspins[k, 0, 2], -dspins[k, 0, 1]
        for i in range(3):
            change1[i] += change2[i]  # of swing2
            d_s += change1[i] * difference[i]
        d_s += dswing1_2 * difference[1] + dswing1_3 * difference[2]
        dc_rate = change1[0] + dswing1_2 * l2[1] + dswing1_3 * l2[2] + dot(swing1, dl[k])
        dsecond += dc * (dot(s, difference) - rate * c_rate) + c * (d_s - drate * c_rate - rate * dc_rate)
        dtwist[k, 1] = drate
        dtwist[k, 2] = dsecond


@inlined
def inertia_tangent(shape, s2, F, changes, column, work, K, C):
    """K, C (14, 14) += the changes of the inertia force on the ends, from those of ``inertia_changes``.

    ``geometric_stiffness`` contains the change of the directions beta, gamma of the force conjugate to alpha.
    column (14,), work (4, 3) : work arrays.
    """
    X, Q, beta, gamma, length = shape
    s1, F2, dF, dM1, dforce = X[3], work[3], changes.F, changes.M1, changes.force
    rotate_back(Q, F[3], F2)
    for k in range(dF.shape[0]):
        column[:] = 0.0
        for i in range(3):
            column[3 + i] = dM1[k, i] - dforce[k] * beta[i]
            column[10 + i] = dforce[k] * gamma[i]
        add_force_change(k, Q, (length, s1, s2), F, F2, dF[k], work, column)
        if k < END_MOTIONS:
            add_column(k, column, K)
        else:
            add_column(k - END_MOTIONS, column, C)


@inlined
def add_force_change(k, Q, lengths, F, F2, dF, work, column):
    """column (14,) += change, along direction k, of the end forces that follow from forces F (4, 3) on the centreline.

    lengths : of the element, and of both vectors g. F2 (3,) : the force on g_II in the axes of end II. dF (4, 3) :
    changes of the components of F in the axes of the first section; the rotation of these axes is added to it. work :
    (3, 3).
    """
    (length, s1, s2), e, product, dF2 = lengths, work[0], work[1], work[2]
    e[:] = 0.0
    if 3 <= k < 6:
        # forces on r and g_II with constant components rotate with these axes
        e[k - 3] = 1.0
        for o in (0, 2, 3):
            cross(e, F[o], product)
            for i in range(3):
                dF[o, i] += product[i]
    rotate_back(Q, dF[3], dF2)
    if 7 <= k < 10:
        e[k - 7] = 1.0
        cross(F2, e, product)
        for i in range(3):
            dF2[i] += product[i]
    d1, d2 = length if k == 6 else 0.0, length if k == 10 else 0.0
    for i in range(3):
        column[i] += dF[0, i]
        column[7 + i] += dF[2, i]
    # moment s e1 x G and strain force length e1 . G of a force G on g = s e1
    column[4] -= s1 * dF[1, 2] + d1 * F[1, 2]
    column[5] += s1 * dF[1, 1] + d1 * F[1, 1]
    column[6] += length * dF[1, 0]
    column[11] -= s2 * dF2[2] + d2 * F2[2]
    column[12] += s2 * dF2[1] + d2 * F2[1]
    column[13] += length * dF2[0]


@inlined
def add_column(k, column, A):
    """A (14, 14) += the change (14,) of the force on the ends along their motion k < 11, in the columns of the ends."""
    for i in range(14):
        if k < 3:
            A[i, k] -= column[i]
            A[i, 7 + k] += column[i]
        else:
            A[i, k if k < 7 else k + 3] += column[i]


@inlined
def add_arm(A, B, R, Rn, end, arm, P):
    """A (14, 14) += B times -(R1^T Rn arm~) in the rows of an end's translation and the columns of its spin.

    P (3, 3) : work array.
    """
    o = 7 * end
    arm_map(R, Rn, arm, P)
    for i in range(14):
        for j in range(3):
            A[i, o + 3 + j] += B[i, o] * P[0, j] + B[i, o + 1] * P[1, j] + B[i, o + 2] * P[2, j]


@inlined
def frame_matrix(R, ends, T):
    """T (14, 14): end velocities in the axes of the first section per velocity of the frames."""
    T[:] = 0.0
    for end in range(2):
        o = 7 * end
        attached = not every(ends[end, 0] == 0.0)
        for i in range(3):
            for j in range(3):
                T[o + i, o + j] = R[1, j, i]
                T[o + 3 + i, o + 3 + j] = ends[end, 4 + 3 * j + i] if attached else (1.0 if i == j else 0.0)
        if attached:
            arm_map(R[1], R[2 * end], ends[end, 1:4], T[o : o + 3, o + 3 : o + 6])
        T[o + 6, o + 6] = 1.0


@inlined
def attached_tangent(ends, R, motion, T, f, M, work, C, K):
    """Transform K, C (14, 14) from the motion of the ends, axes of the first section, to the motion of the frames.

    motion : rates and second rates (2, 7) of the frames. M (14, 14) : mass for the motion of the ends. f (14,) :
    residual force on the ends. T : ``frame_matrix``. work : arrays (4, 3, 3) and (2, 14, 14).
    A rotation of a frame changes the velocity R (omega x d) of its end and the acceleration
    R (alpha x d + omega x (omega x d)); its angular velocity also changes this acceleration.
    """
    (rates, seconds), (square, matrices) = motion, work
    KF, CF, one, P = matrices[0], matrices[1], square[0], square[1]
    speed, centripetal, arm = square[2, 0], square[2, 1], square[2, 2]
    KF[:] = 0.0
    CF[:] = 0.0
    for i in range(14):
        for k in range(14):
            x, y = K[i, k], C[i, k]
            for j in range(14):
                KF[i, j] += x * T[k, j]
                CF[i, j] += y * T[k, j]
    for end in range(2):
        if every(ends[end, 0] == 0.0):
            continue
        d, omega, Rn = ends[end, 1:4], rates[end, 3:6], R[2 * end]
        cross(omega, d, speed)
        cross(omega, speed, centripetal)
        cross(seconds[end, 3:6], d, arm)
        for i in range(3):
            arm[i] += centripetal[i]
        add_arm(KF, C, R[1], Rn, end, speed, P)
        add_arm(KF, M, R[1], Rn, end, arm, P)
        # the change of omega x (omega x d) with omega: -(omega x d)~ - omega~ d~, and omega~ d~ = d omega^T - (..) I
        add_arm(CF, M, R[1], Rn, end, speed, P)
        wd = dot(omega, d)
        for i in range(3):
            for k in range(3):
                one[i, k] = 0.0
                for m in range(3):
                    direct = d[m] * omega[k] - (wd if m == k else 0.0)
                    one[i, k] -= (Rn[0, m] * R[1, 0, i] + Rn[1, m] * R[1, 1, i] + Rn[2, m] * R[1, 2, i]) * direct
        o = 7 * end
        for i in range(14):
            for k in range(3):
                CF[i, o + 3 + k] += M[i, o] * one[0, k] + M[i, o + 1] * one[1, k] + M[i, o + 2] * one[2, k]
    K[:] = 0.0
    C[:] = 0.0
    for k in range(14):
        for i in range(14):
            x = T[k, i]
            if not every(x == 0.0):
                for j in range(14):
                    K[i, j] += x * KF[k, j]
                    C[i, j] += x * CF[k, j]
    attachment_stiffness(f[0:3], f[7:10], ends, R, one, K)


@kernel
def tangent(elements, offset, stride, q, v, a, damping, stiffness):
    """Add the exact change of the residual of all ``BeamRows`` with v, and with q' = H x, at s states to block
    data.

    Returns -1, or the number of a folded element.
    """
    index, kind, ends, data, has_mass_offset, fixed, gravity = elements
    gathered, rates_of_ends, whole = np.empty((2, 8, LANES)), np.empty((2, 2, 7, LANES)), np.empty((1, LANES))
    states, speeds, accelerations = lanes(gathered), lanes(rates_of_ends[0]), lanes(rates_of_ends[1])
    motion, f = EndStates(states, speeds, accelerations), lanes(np.empty((2, 14, LANES)))
    at = ForceWork(
        lanes(np.empty((5, 3, 3, LANES))), lanes(np.empty((12, 3, LANES))), lanes(np.empty((6, 4, 3, LANES))),
        lanes(np.empty((8, LANES))), lanes(np.empty((8, LANES))), lanes(np.empty((11, LANES))),
        lanes(np.empty((3, 4, LANES))), lanes(np.empty((2, 3, 4, LANES))), lanes(np.empty((3, 4, 8, LANES))),
        lanes(np.empty((4, LANES))), lanes(np.empty((4, 8, LANES))),
    )  # fmt: skip
    R, small, vectors, X, n, f11 = at.R, at.small, at.vectors, at.X, at.n, at.motion
    moving = LineMotion(vectors[4], vectors[0], vectors[1], vectors[5], vectors[3, 2])
    Xd, gradients = lanes(np.empty((8, LANES))), lanes(np.empty((2, 8, 11, LANES)))
    B, dXd = gradients[0], gradients[1]
    strain_work = StrainWork(
        at.psi, at.psi_X, at.e, at.E, lanes(np.empty((7, 3, 4, LANES))), lanes(np.empty((3, 2, 8, LANES))),
        lanes(np.empty((6, 4, 8, LANES))), lanes(np.empty((2, 8, 11, LANES))), lanes(np.empty((42, 8, LANES))),
    )  # fmt: skip
    # changes of the force with the motion of the ends and of the frames, and with its rate
    of_ends, of_frames = lanes(np.empty((2, 11, 11, LANES))), np.empty((2, 14, 14, LANES))
    K11, C11, K, C = of_ends[0], of_ends[1], lanes(of_frames[0]), lanes(of_frames[1])
    # work arrays of the inertia force and of its changes
    squares, triples = lanes(np.empty((4, 14, 14, LANES))), lanes(np.empty((6, 3, 3, LANES)))
    M, T = squares[0], squares[1]
    masses = MassWork(
        lanes(np.empty((3, 3, LANES))), lanes(np.empty((3, 11, LANES))), lanes(np.empty((11, 11, LANES))),
        lanes(np.empty((2, 3, 3, LANES))), lanes(np.empty((2, 3, 14, LANES))),
    )  # fmt: skip
    ends_work, lines = lanes(np.empty((4, 3, LANES))), lanes(np.empty((12, 3, LANES)))
    eps_rates = lanes(np.empty((2, LANES)))
    four, three = lanes(np.empty((5, DIRECTIONS, 4, 3, LANES))), lanes(np.empty((3, DIRECTIONS, 3, LANES)))
    dforce, centreline = lanes(np.empty((DIRECTIONS, LANES))), lanes(np.empty((7, 5, 3, LANES)))
    changes = LineChanges(four[0], four[1], four[2], four[3], three[0], three[1], four[4], three[2], dforce)
    weighs, factors = gravity.any(), np.ones(3)
    for s in range(q.shape[0]):
        for g in range(kind.shape[0]):
            first, row, end_rows = g * LANES, lanes(data[kind[g]]), lanes(ends[kind[g]])
            gather_states(index, first, q[s], fixed, gathered)
            gather_rates(index, first, v[s], rates_of_ends[0])
            gather_rates(index, first, a[s], rates_of_ends[1])
            lanes(whole)[0] = element_force(motion, end_rows, row, has_mass_offset, gravity, factors, at, f[0])
            bad = folded(first, whole[0], min(LANES, index.shape[0] - first))
            if bad >= 0:
                return bad
            attached = not every(end_rows[0, 0] == 0.0) or not every(end_rows[1, 0] == 0.0)
            Q, length = R[4], row[LENGTH]
            omega1, beta, gamma = small[4], small[10], small[11]
            shape = BentShape(X, Q, beta, gamma, length)
            s1, s2 = X[3], length * (1.0 + states[1, 7])
            # without weight an element at rest has no inertia force, as in statics, and rates that do not change
            moves = weighs or rates_of_ends.any()
            dXd[:] = 0.0
            if moves:
                eps_rates[0], eps_rates[1] = speeds[0, 6], speeds[1, 6]
                # changes along all directions
                four[:] = 0.0
                three[:] = 0.0
                dforce[:] = 0.0
                motion_changes(Q, length, s1, s2, eps_rates, small, moving, centreline, changes)
                twist_changes(Q, beta, gamma, moving.spins, changes.spins, changes.tangent, lines, changes.twist)
                dx, dv = changes.x, changes.v
                for j in range(END_MOTIONS):
                    # rates d' = v_II - v_I + d x omega_I, G' likewise
                    cross(dx[j, 2], omega1, lines[0])
                    cross(dx[j, 3], omega1, lines[1])
                    for i in range(3):
                        dXd[i, j] = dv[j, 2, i] - dv[j, 0, i] + lines[0, i]
                        dXd[4 + i, j] = dv[j, 3, i] + lines[1, i]
                    dXd[7, j] = changes.twist[j, 1]
            # elastic and damping force
            shape_gradient(X, Q, beta, gamma, length, B)
            ends_motion(speeds, end_rows, R, small, f11)
            natural_rates(X, Q, beta, gamma, length, f11, Xd)
            of_ends[:] = 0.0
            strain_stiffness(X, row, moves, B, Xd, dXd, strain_work, K11, C11)
            geometric_stiffness(X, Q, beta, gamma, length, n, K11)
            K[:] = 0.0
            C[:] = 0.0
            expand(K11, K)
            expand(C11, C)
            if moves:
                inertia_changes(moving, row, has_mass_offset, changes)
                inertia_tangent(shape, s2, vectors[2], changes, f[1], ends_work, K, C)
            # from the motion of the ends to that of the frames
            if attached and moves:
                element_mass(shape, s2, row, has_mass_offset, masses, M)
                frame_matrix(R, end_rows, T)
                attached_tangent(end_rows, R, (speeds, accelerations), T, f[0], M, (triples, squares[2:]), C, K)
            else:
                if attached:
                    frame_map(R, end_rows, masses.G)
                to_frames(K, R[1], masses.G, end_rows)
                to_frames(C, R[1], masses.G, end_rows)
                if attached:
                    attachment_stiffness(f[0, 0:3], f[0, 7:10], end_rows, R, triples[0], K)
            if moves or not every(row[DAMPING] == 0.0):
                scatter_group(of_frames[1], first, offset, stride, damping[s])
            scatter_group(of_frames[0], first, offset, stride, stiffness[s])
    return -1
