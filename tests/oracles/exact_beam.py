"""An exact beam element typed from docs/theory/exact_beam.md in numpy: equations (1) to (14) and (20) to (25).

Every function is analytic in its arguments, so that derivatives come from complex steps.
"""

import numpy as np

STEP = 1e-30
# h of equation (22), with m L: of both points and directions of the ends.
POINTS = np.array([[100, 17, 20, -3], [17, 4, 3, 0], [20, 3, 100, -17], [-3, 0, -17, 4]]) / 240.0


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


def kinetic_energy(frames, velocities, offsets, axes, length, d0, mass):
    """(20) to (23); axes (3, 3) : sections in their frames; mass (6, 6) : per length."""
    m, c, J = parts(mass)
    Gamma, K = d0[:3] / length, d0[3:] / length
    rates = []
    for (_, p), v, b, C in zip(frames, velocities, offsets, axes, strict=True):
        R = matrix(p)
        for y, moves in ((b + C @ c, 1.0), (length * C @ (Gamma + np.cross(K, c)), 0.0)):
            rates.append(moves * v[:3] + R @ np.cross(v[3:], y))
    (w1, w2), (J11, J12, J22) = (velocities[0][3:], velocities[1][3:]), rotary(J, axes, length)
    turning = 0.5 * w1 @ J11 @ w1 + 0.5 * w2 @ J22 @ w2 + w1 @ J12 @ w2
    return 0.5 * m * length * np.einsum("ab,ai,bi", POINTS, rates, rates) + turning


def parts(mass):
    """Mass per length, mass centre, and inertia about it."""
    m, c = mass[0, 0], np.array([0.0, -mass[0, 5], mass[0, 4]]) / mass[0, 0]
    return m, c, mass[3:, 3:] - m * (c @ c * np.eye(3) - np.outer(c, c))


def rotary(J, axes, length):
    """J11, J12 and J22 of (23), axes of the frames."""
    Pi, (C1, C2) = np.diag([J[0, 0] / 12.0, 0.0, 0.0]), axes
    own = length * (0.5 * J - Pi)
    return C1 @ own @ C1.T, length * C1 @ Pi @ C2.T, C2 @ own @ C2.T


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


def residual(frames, velocities, accelerations, given, offsets, turns, mass, damping, gravity):
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
    inertia = inertia_force(frames, velocities, accelerations, offsets, axes, length, d0, mass, gravity)
    return to_frames(frames, offsets, axes, elastic) + inertia


def inertia_force(frames, velocities, accelerations, offsets, axes, length, d0, mass, gravity):
    """(24) and (25), the weight included."""
    m, c, J = parts(mass)
    arms, pulls = [], []
    for (_, p), v, a, b, C in zip(frames, velocities, accelerations, offsets, axes, strict=True):
        for y, moves in ((b + C @ c, 1.0), (C @ (d0[:3] + np.cross(d0[3:], c)), 0.0)):
            own = np.cross(a[3:], y) + np.cross(v[3:], np.cross(v[3:], y))
            arms.append(y)
            pulls.append(moves * (a[:3] - gravity) + matrix(p) @ own)
    F = m * length * POINTS @ np.array(pulls)
    J11, J12, J22 = rotary(J, axes, length)
    (w1, w2), (a1, a2) = ((x[0][3:], x[1][3:]) for x in (velocities, accelerations))
    turns = [
        J11 @ a1 + J12 @ a2 + np.cross(w1, J11 @ w1 + J12 @ w2),
        J12.T @ a1 + J22 @ a2 + np.cross(w2, J12.T @ w1 + J22 @ w2),
    ]
    out = []
    for e, (_, p) in enumerate(frames):
        lever = sum(np.cross(arms[k], matrix(p).T @ F[k]) for k in (2 * e, 2 * e + 1))
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
