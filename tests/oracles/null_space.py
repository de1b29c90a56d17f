"""H2 of a joint tree by the axes and pivots of its joints, read off poses, so that a complex step gives its rate.

A frame that hangs, at any distance, on a joint turning about the axis e through the point P gets the velocity
e x (r - P) and the angular velocity e; on one that slides along e, the velocity e. Axes of a joint are those of its
first end, last the second end's; P is the second end's point.
"""

import numpy as np

from femb.formulations.joint_tree_kernels import LOCKED, POINT_MASS, REVOLUTE, SPHERICAL, UNIVERSAL

TINY = 1e-30


def matrix(p):
    """Rotation matrix of a quaternion of any length, analytic in it."""
    w, x, y, z = p
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.array(rows) / (p @ p)


def about_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0 * c], [s, c, 0 * c], [0 * c, 0 * c, 1 + 0 * c]])


def null_space(tree, q):
    """H2 (n_v, n_u) at coordinates q (n_q,), real or complex; for models without beams."""
    layout = tree.layout
    H2 = np.zeros((tree.system.n_v, tree.n_u), dtype=q.dtype)
    poses, paths = [], []
    for k, each in enumerate(tree.frames):
        if each.joint is None:
            r, A = np.zeros(3), np.eye(3)
        elif each.parent < 0:
            r, A = (f(layout.frames[each.above.frame]) for f in (lambda x: x.position, lambda x: matrix(x.quaternion)))
        else:
            r, A = poses[each.parent]
        above, E = r + A @ each.above.offset, A @ matrix(each.above.rotation)
        values = q[each.q]
        d, angles = np.zeros(3, dtype=q.dtype), values[len(each.strokes) :]
        d[list(each.strokes)] = values[: len(each.strokes)]
        C = {
            LOCKED: lambda a, Z: Z,
            REVOLUTE: lambda a, Z: about_z(a[0]) @ Z,
            UNIVERSAL: lambda a, Z: about_z(a[0]) @ Z @ about_z(a[1]),
            SPHERICAL: lambda a, Z: matrix(a),
            POINT_MASS: lambda a, Z: Z,
        }[each.rotation](angles, each.zero)
        D = matrix(each.below.rotation)
        A = np.eye(3) if each.rotation == POINT_MASS else E @ (C.T if each.backward else C) @ D.T
        first, second = (A @ D, E) if each.backward else (E, A @ D)
        below = above - first @ d if each.backward else above + first @ d
        r = below - A @ each.below.offset
        sign, pivot = (-1.0, above) if each.backward else (1.0, below)
        slides = (A if each.body_velocity else first)[:, list(each.strokes)]
        axes = {LOCKED: first[:, :0], REVOLUTE: first[:, 2:], SPHERICAL: second, POINT_MASS: first[:, :0]}
        turns = np.stack([first[:, 2], second[:, 2]], axis=1) if each.rotation == UNIVERSAL else axes[each.rotation]
        poses.append((r, A))
        paths.append([*(paths[each.parent] if each.parent >= 0 else []), (each.u, sign * slides, sign * turns, pivot)])
        at, freedom = layout.frame_v[each.frame], layout.frames[each.frame].freedom
        for u, slides, turns, pivot in paths[k]:
            place = np.arange(u.start, u.stop)
            split = slides.shape[1]
            H2[at : at + 3, place[:split]] = slides
            H2[at : at + 3, place[split:]] = np.cross(turns.T, r - pivot).T
            if freedom == 6:
                H2[at + 3 : at + 6, place[split:]] = A.T @ turns
    return H2


def null_space_rate(tree, q, rate):
    """Its time derivative along the rates (n_q,), by a complex step."""
    return null_space(tree, q + 1j * TINY * rate).imag / TINY
