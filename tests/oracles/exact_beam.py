"""An exact beam element typed from docs/theory/exact_beam.md in numpy: equations (1) to (14) and (20) to (25).

Every function is analytic in its arguments, so that derivatives come from complex steps. Integrals over the element are
sums over Gauss points, of mass and compliance as functions of the part xi of its length.
"""

import numpy as np

STEP = 1e-30
GAUSS = [(0.5 + 0.5 * x, 0.5 * w) for x, w in zip(*np.polynomial.legendre.leggauss(24), strict=True)]


def tilde(a):
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def product(p, q):
    v = p[0] * q[1:] + q[0] * p[1:] + tilde(p[1:]) @ q[1:]
    return np.array([p[0] * q[0] - p[1:] @ q[1:], *v])


def matrix(p):
    return np.eye(3) + 2.0 * p[0] * tilde(p[1:]) + 2.0 * tilde(p[1:]) @ tilde(p[1:])


def adjoint(a):
    return np.block([[tilde(a[3:]), tilde(a[:3])], [np.zeros((3, 3)), tilde(a[3:])]])


def skew(sigma):
    """S of equation (2)."""
    return np.block([[np.zeros((3, 3)), tilde(sigma[:3])], [tilde(sigma[:3]), tilde(sigma[3:])]])


def coefficient(t):
    size = np.sqrt(t)
    return 1.0 / 12.0 + t / 720.0 if abs(t) < 1e-8 else (1.0 - 0.5 * size / np.tan(0.5 * size)) / t


def coordinates(ends):
    """d, x and P of two ends, each a position and a quaternion: (3), (4) and (6)."""
    (r1, p1), (r2, p2) = ends
    mu = product(np.array([p1[0], *-p1[1:]]), p2)
    mu = mu if mu[0].real > 0.0 else -mu
    size = np.sqrt(mu[1:] @ mu[1:])
    theta = 2.0 * np.arctan(size / mu[0]) / size * mu[1:]
    x = matrix(p1).T @ (r2 - r1)
    P = np.eye(3) - 0.5 * tilde(theta) + coefficient(theta @ theta) * tilde(theta) @ tilde(theta)
    return np.concatenate([P @ x, theta]), x, P


def compliance(d, Fm, Fq, G):
    """(10)."""
    ad = adjoint(d)
    return Fm + ad @ G + (ad @ Fq + G) @ ad.T


def energy(ends, length, d0, matrices):
    """(9)."""
    d = coordinates(ends)[0]
    e = d - d0
    return e @ np.linalg.solve(compliance(d, *matrices), e) / (2.0 * length)


def attached(frame, offset, turn):
    """(1)."""
    r, p = frame
    return r + matrix(p) @ offset, product(p, turn)


def moved(frame, x):
    """A frame after a displacement (inertial axes) and a rotation (own axes) to first order."""
    r, p = frame
    return r + x[:3], product(p, np.array([1.0, *(0.5 * x[3:])]))


def mean(function):
    """Integral of a function of xi from 0 to 1."""
    return sum(w * function(xi) for xi, w in GAUSS)


def compliances_of(compliance_at):
    """Fm, Fq and G of (10), without a change of the reference strain."""

    def powers(k):
        return mean(lambda xi: (xi - 0.5) ** k * compliance_at(xi))

    return powers(0), powers(2), powers(1)


def inertia(mass_at, compliance_at, length, d0):
    """h of (22b), the four vectors in section axes, (20b), J11, J12 and J22 of (23b) and (23c), in section axes, and k,
    c, H and the products of the reference shape of (22d)."""

    def m(xi):
        return mass_at(xi)[0, 0]

    def mc(xi):
        return np.array([0.0, -mass_at(xi)[0, 5], mass_at(xi)[0, 4]])

    total, place = mean(m), mean(lambda xi: m(xi) * (xi - 0.5)) / mean(m)
    inertia_of_m = mean(lambda xi: m(xi) * (xi - 0.5 - place) ** 2)
    c1 = mean(lambda xi: (xi - 0.5 - place) * mc(xi)) / inertia_of_m
    c0 = mean(mc) / total - place * c1

    def skewness(values):
        return mean(lambda xi: (xi - 0.5) * values(xi)) / mean(values)

    s = np.array([-1.0, -0.5, 1.0, -0.5])
    g = 0.5 * (0.4 * skewness(m) - skewness(lambda xi: compliance_at(xi)[0, 0]))

    def n(xi):
        bubble = 0.5 * xi * (1.0 - xi)
        return np.array([1.0 - xi, bubble, xi, -bubble]) + (0.3 * (xi - 0.5) + g) * s

    h = length * (mean(lambda xi: m(xi) * np.outer(n(xi), n(xi))) + 31.0 / 1200.0 * total * np.outer(s, s))

    def J(xi):
        c, first = c0 + (xi - 0.5) * c1, mc(xi)
        second = m(xi) * np.outer(c, c) - np.outer(first, c) - np.outer(c, first)
        return mass_at(xi)[3:, 3:] + np.trace(second) * np.eye(3) - second

    bend = (2.0 - np.sqrt(3.0)) * skewness(lambda xi: J(xi)[1, 1] + J(xi)[2, 2])
    twist = (1.5 - np.sqrt(2.0)) * skewness(lambda xi: J(xi)[0, 0])
    twist -= 0.5 * skewness(lambda xi: compliance_at(xi)[3, 3])

    def shares(xi, g, slope):
        return np.array([0.5 - g - slope * (xi - 0.5), 0.5 + g + slope * (xi - 0.5)])

    def rotary(a, b):
        def both(xi, g, slope):
            n = shares(xi, g, slope)
            return length * n[a] * n[b]

        result = mean(lambda xi: both(xi, bend, np.sqrt(3.0)) * J(xi))
        result[0, 0] = mean(lambda xi: both(xi, twist, np.sqrt(2.0)) * J(xi)[0, 0])
        return result

    # the points, at first of the straight line of mass centres, then moved to the mass centre of the element
    u, theta = d0[:3], d0[3:]
    vectors = []
    for c in (c0 - 0.5 * c1, c0 + 0.5 * c1):
        vectors += [c, u + np.cross(theta, c) + c1]
    Q, x = helix(d0, 1.0)
    here = [vectors[0], vectors[1], x + Q @ vectors[2], Q @ vectors[3]]
    first = length * mean(lambda xi: m(xi) * helix(d0, xi)[1] + helix(d0, xi)[0] @ mc(xi))
    shift = (first - (h[0] + h[2]) @ np.array(here)) / (length * total)
    vectors[0], vectors[2] = vectors[0] + shift, vectors[2] + Q.T @ shift
    # (23c), in the axes of the middle
    J11, J12, J22, half, turn = rotary(0, 0), rotary(0, 1), rotary(1, 1), helix(d0, 0.5)[0], tilde(theta)
    first, second = (length * mean(lambda xi, k=k: (xi - 0.5) ** k * J(xi)) for k in (1, 2))
    D = turn @ first - first @ turn + 0.5 * (turn @ turn @ second + second @ turn @ turn) - turn @ second @ turn
    P = 2.0 * second - 0.5 * np.diag([second[0, 0], 0.0, 0.0])
    S = turn @ P - P @ turn
    # (22d)
    c, F = mean(mc) / total, mean(compliance_at)
    shears = [12.0 * F[i, i] / (F[j, j] * length**2) for i, j in ((1, 5), (2, 4))]
    k = -np.array([0.0, c[1] / (1.0 + shears[0]), c[2] / (1.0 + shears[1])]) / length

    def line(xi):
        bubble = 0.5 * xi * (1.0 - xi)
        return np.array([1.0 - xi, bubble, xi, -bubble])

    H = np.zeros((3, 5))
    H[0, :4] = mean(lambda xi: 6.0 * xi * (1.0 - xi) * m(xi) * n(xi))
    H[0, 4] = mean(lambda xi: 36.0 * (xi * (1.0 - xi)) ** 2 * m(xi))
    H[1, :4] = -0.3 * mean(lambda xi: (xi - 0.5) * m(xi) * line(xi))
    H[2, :4] = g * H[0, :4]
    H[1, :4] -= H[2, :4]
    H[1:, 4] = -total / 30.0, total / 12.0
    c1_ends = half @ c1, half.T @ c1
    here = [vectors[0], vectors[1], x + Q @ vectors[2], Q @ vectors[3], k, c, c1_ends[0], Q @ k, Q @ c, Q @ c1_ends[1]]
    axial, bent, s, s0, _ = beside_vectors(here, length)
    products = [bent @ s0, axial @ s, axial @ s0]
    turning = half @ (J11 + 0.25 * D - S) @ half.T, half @ (J12 + 0.25 * D) @ half, half.T @ (J22 + 0.25 * D + S) @ half
    return h, vectors, turning, ([k, c], c1_ends, length * H, products, length)


def beside_vectors(x, length):
    """t, k, s, s_0 and u of ten points, or of their rates: (20d)."""
    s = x[2] - x[0] - 0.5 * (x[1] + x[3])
    return 0.5 * (x[1] + x[3]) / length, 0.5 * (x[4] + x[7]), s, s + x[5] - x[8], (x[6] - x[9]) / 12.0


OWNERS = 0, 0, 1, 1, 0, 0, 0, 1, 1, 1  # ends of the points


def beside(points, rates, seconds, products, length):
    """z_i of (20d), their rates and second derivatives, and what they are products of."""
    v, w, a = (beside_vectors(x, length) for x in (points, rates, seconds))
    z = [[], [], []]
    for (i, j), e in zip(((1, 3), (0, 2), (0, 3)), products, strict=True):
        p, p1 = v[i] @ v[j] - e, w[i] @ v[j] + v[i] @ w[j]
        p2 = a[i] @ v[j] + 2.0 * w[i] @ w[j] + v[i] @ a[j]
        z[0].append(v[0] * p)
        z[1].append(w[0] * p + v[0] * p1)
        z[2].append(a[0] * p + 2.0 * w[0] * p1 + v[0] * p2)
    for each, of in zip(z, (v, w, a), strict=True):
        each[0] = each[0] + of[4]
    return *(np.array(each) for each in z), v


def helix(d0, xi):
    """Rotation and place at xi on a helix of constant strain, by the exponential of the 4 x 4 matrix."""
    from scipy.linalg import expm

    pose = expm(xi * np.block([[tilde(d0[3:]), d0[:3, None]], [np.zeros((1, 4))]]))
    return pose[:3, :3], pose[:3, 3]


def frame_inertia(inertia, offsets, axes):
    """The ten points and J11, J12 and J22 in the axes of the frames."""
    h, vectors, (J11, J12, J22), (both, slopes, *_) = inertia
    (b1, b2), (C1, C2) = offsets, axes
    arms = [b1 + C1 @ vectors[0], C1 @ vectors[1], b2 + C2 @ vectors[2], C2 @ vectors[3]]
    arms += [C @ x for C, slope in zip(axes, slopes, strict=True) for x in (*both, slope)]
    return h, arms, (C1 @ J11 @ C1.T, C1 @ J12 @ C2.T, C2 @ J22 @ C2.T)


def kinetic_energy(frames, velocities, offsets, axes, inertia):
    """(20) to (23); axes (3, 3) : sections in their frames."""
    h, arms, (J11, J12, J22) = frame_inertia(inertia, offsets, axes)
    points, rates = [], []
    for k, y in enumerate(arms):
        (r, p), v, moves = frames[OWNERS[k]], velocities[OWNERS[k]], float(k in (0, 2))
        points.append(moves * r + matrix(p) @ y)
        rates.append(moves * v[:3] + matrix(p) @ np.cross(v[3:], y))
    w1, w2 = velocities[0][3:], velocities[1][3:]
    turning = 0.5 * w1 @ J11 @ w1 + 0.5 * w2 @ J22 @ w2 + w1 @ J12 @ w2
    _, _, H, products, length = inertia[3]
    z = beside(points, rates, rates, products, length)[1]
    four = rates[:4]
    turning += np.einsum("ib,ij,bj", H[:, :4], z, four) + 0.5 * np.einsum("i,ij,ij", H[:, 4], z, z)
    return 0.5 * np.einsum("ab,ai,bi", h, four, four) + turning


def force(ends, length, d0, matrices, stress=None):
    """(11) and (12): forces in inertial axes and moments in own axes on both ends, (12,); with a stress of its own, the
    force that is linear about it, (19)."""
    d = coordinates(ends)[0]
    _, Fq, G = matrices
    C, ad = compliance(d, *matrices), adjoint(d)
    at_ends = np.linalg.solve(C, d - d0) / length
    sigma = at_ends if stress is None else stress
    y = Fq @ ad.T @ sigma + G @ sigma
    n = sigma + length * adjoint(y).T @ sigma
    Lambda = np.eye(6) + length * (adjoint(y) - (G + ad @ Fq) @ skew(sigma))
    return on_ends(ends, n + Lambda.T @ (at_ends - sigma))


def change_of_map(theta, y):
    """W of equation (5)."""
    k0, k1 = coefficient(theta @ theta), slope(theta @ theta)
    W = 0.5 * tilde(y) + k0 * (theta @ y * np.eye(3) + np.outer(theta, y) - 2.0 * np.outer(y, theta))
    return W + 2.0 * k1 * np.outer(np.cross(theta, np.cross(theta, y)), theta)


def on_ends(ends, n):
    """(12): forces and moments (12,) on both ends of a force n (6,) on d."""
    d, x, P = coordinates(ends)
    f, moment, R = P.T @ n[:3], n[3:] + change_of_map(d[3:], x).T @ n[:3], matrix(ends[0][1])
    return np.concatenate([-R @ f, -np.cross(x, f) - P.T @ moment, R @ f, P @ moment])


def damping_force(ends, velocities, length, matrices, damping):
    """(13) with (7), on the ends; velocities : of both ends, each (6,). damping : s, or the viscous compliances Fm, Fq
    and G of (13b)."""
    d, x, P = coordinates(ends)
    (v1, w1), (v2, w2) = ((v[:3], v[3:]) for v in velocities)
    x_rate = matrix(ends[0][1]).T @ (v2 - v1) + np.cross(x, w1)
    turn_rate = P.T @ w2 - P @ w1
    rate = np.concatenate([P @ x_rate + change_of_map(d[3:], x) @ turn_rate, turn_rate])
    eta = np.linalg.solve(compliance(d, *matrices), rate) / length
    if isinstance(damping, tuple):
        return on_ends(ends, np.linalg.solve(compliance(d, *matrices), compliance(d, *damping) @ eta))
    return on_ends(ends, damping * eta)


def residual(frames, velocities, accelerations, given, offsets, turns, inertia, damping, gravity):
    """(12,) on two frames, at velocities and accelerations (6,) of each: elastic, damping and inertia forces.

    given : length, d0, and the compliances of the element. turns : quaternions of the sections in their frames.
    """
    length, d0, matrices = given
    axes = [matrix(p) for p in turns]
    ends = [attached(frame, b, p) for frame, b, p in zip(frames, offsets, turns, strict=True)]
    of_ends = [
        np.concatenate([v[:3] + matrix(p) @ np.cross(v[3:], b), C.T @ v[3:]])
        for (_, p), v, b, C in zip(frames, velocities, offsets, axes, strict=True)
    ]
    elastic = force(ends, length, d0, matrices) + damping_force(ends, of_ends, length, matrices, damping)
    inertial = inertia_force(frames, velocities, accelerations, offsets, axes, inertia, gravity)
    return to_frames(frames, offsets, axes, elastic) + inertial


def inertia_force(frames, velocities, accelerations, offsets, axes, inertia, gravity):
    """(24) and (25), the weight included."""
    h, arms, (J11, J12, J22) = frame_inertia(inertia, offsets, axes)
    points, rates, pulls = [], [], []
    for k, y in enumerate(arms):
        (r, p), v, a = (each[OWNERS[k]] for each in (frames, velocities, accelerations))
        own, moves = np.cross(a[3:], y) + np.cross(v[3:], np.cross(v[3:], y)), float(k in (0, 2))
        points.append(moves * r + matrix(p) @ y)
        rates.append(moves * v[:3] + matrix(p) @ np.cross(v[3:], y))
        pulls.append(moves * (a[:3] - gravity) + matrix(p) @ own)
    _, _, H, products, length = inertia[3]
    _, _, z, (t, bent, s, s0, _) = beside(points, rates, pulls, products, length)
    F = [*(h @ np.array(pulls[:4]) + H[:, :4].T @ z), *np.zeros((6, 3))]
    G = H[:, :4] @ np.array(pulls[:4]) + H[:, 4:] * z
    of_t = sum(f * (a @ b - e) for f, a, b, e in zip(G, (bent, t, t), (s0, s, s0), products, strict=True))
    of_t = of_t + (G[1] @ t) * s + (G[2] @ t) * s0
    of_k, of_s, of_s0 = (G[0] @ t) * s0, (G[1] @ t) * t, (G[0] @ t) * bent + (G[2] @ t) * t
    both = of_s + of_s0
    for k, more in enumerate((-both, 0.5 * (of_t / length - both), both, 0.5 * (of_t / length - both),
                              0.5 * of_k, of_s0, G[0] / 12.0, 0.5 * of_k, -of_s0, -G[0] / 12.0)):  # fmt: skip
        F[k] = F[k] + more
    (w1, w2), (a1, a2) = ((x[0][3:], x[1][3:]) for x in (velocities, accelerations))
    turns = [
        J11 @ a1 + J12 @ a2 + np.cross(w1, J11 @ w1 + J12 @ w2),
        J12.T @ a1 + J22 @ a2 + np.cross(w2, J12.T @ w1 + J22 @ w2),
    ]
    out = []
    for e, (_, p) in enumerate(frames):
        lever = sum(np.cross(arms[k], matrix(p).T @ F[k]) for k in range(10) if OWNERS[k] == e)
        out += [F[2 * e], lever + turns[e]]
    return np.concatenate(out)


def slope(t):
    """Derivative of ``coefficient``: (4)."""
    if abs(t) < 1e-8:
        return 1.0 / 720.0
    size = np.sqrt(t)
    h = 0.5 * size
    chi = 1.0 / np.tan(h) - h / np.sin(h) ** 2
    return (-chi / (4.0 * size) - coefficient(t)) / t


def to_frames(frames, offsets, axes, ends):
    """Forces (12,) on the ends as forces on their frames: 6.4."""
    out = []
    for (_, p), b, C, F in zip(frames, offsets, axes, (ends[:6], ends[6:]), strict=True):
        out += [F[:3], C @ F[3:] + np.cross(b, matrix(p).T @ F[:3])]
    return np.concatenate(out)
