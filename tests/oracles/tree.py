"""Trees at random, and their accelerations by Newton-Euler in maximal coordinates with multipliers.

The oracle is written from the arrays of a tree alone: poses from femb.numerics.rotations, six velocities a body at its
mass centre (inertial axes), five constraint rows a hinge, one bordered system.
"""

import numpy as np
from oracles.random_trees import random_model

from femb.elements import Cylindrical, JointSpringDamper, Planar, Prismatic, Revolute, Spherical, Universal
from femb.formulations.hamiltonian.momentum_form import MomentumForm
from femb.numerics.rotations import from_axis_angle, rotation_matrix
from femb.system.system import System

# Joints of one to three degrees of freedom: those that turn alone, those with a stroke, and those whose freedoms are
# all coordinates that a spring, a motor or a driver can act on.
TURNING = (Revolute, Universal, Spherical)
KINDS = (*TURNING, Prismatic, Cylindrical, Planar)
NAMED = (Revolute, Universal, Prismatic, Cylindrical, Planar)


def random_tree(rng, bodies, free=False, kinds=KINDS, springs=True, gravity=True):
    """A Model of bodies on random parents by joints of one to three degrees of freedom, on the ground or a free body.

    springs : with springs and dampers on every coordinate of a joint.
    """
    model = random_model(rng, bodies + free, kinds, ground=not free)
    model.gravity = tuple(5.0 * rng.standard_normal(3)) if gravity else (0.0, 0.0, 0.0)
    if springs:
        for joint, coordinate in coordinates_of(model):
            words = {word: rng.uniform(0.0, 2.0) for word in ("stiffness", "free", "damping")}
            model.add(JointSpringDamper(f"{joint} {coordinate}", joint, coordinate, **words))
    return model


def coordinates_of(model):
    """(joint, coordinate) of all joints of a Model."""
    return [(name, each.name) for name, joint in model.tables["joints"].items() for each in joint.coordinates]


def momentum_form(model):
    """A Model in momenta, its joints closed."""
    return MomentumForm(System(model, assemble=True))


def state_of(form, q=None, rate=None, base=None, pose=None):
    """Coordinates and momenta of a MomentumForm from hinge coordinates and rates (n,), the base's velocity (6,) and
    its pose (7,); those of the start, and zero rates, by default."""
    at, first = form.q0.copy(), form.momentum_equations.first
    if pose is not None:
        at[:first] = pose
    if q is not None:
        at[first:] = q
    rate = np.zeros(form.tree.n) if rate is None else np.asarray(rate, dtype=float)
    return at, form.momentum_equations.momenta(at, rate, np.zeros(6) if base is None else base)


def random_state(form, rng, size=1.0):
    """Coordinates and momenta of a MomentumForm, and the hinges' q and rates that they were made of."""
    n = form.tree.n
    q, rate = rng.uniform(-1.0, 1.0, n), size * rng.standard_normal(n)
    pose = base = None
    if form.tree.floating:
        e = rng.standard_normal(4)
        pose, base = np.concatenate([rng.standard_normal(3), e / np.linalg.norm(e)]), rng.standard_normal(6)
    return *state_of(form, q, rate, base, pose), q, rate


def rates_of(form, loads=None):
    """(t, Y) -> (s, n_q + n_v) of states Y = (q, p) of a MomentumForm without drivers, all of them at once."""

    def rates(t, Y):
        q, v = np.ascontiguousarray(Y[:, : form.n_q]), np.ascontiguousarray(Y[:, form.n_q :])
        return np.concatenate(form.momentum_equations.rates(q, v, loads or form.momentum_equations.no_loads), axis=1)

    return rates


def skew(x):
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


class Poses:
    """Positions, attitudes and velocities of segments (-1 the base, last) from hinge coordinates and rates."""

    def __init__(self, tree, q, rate, base_R, base_r, base_omega, base_v):
        n = tree.n
        self.R, self.o, self.w, self.u = [None] * (n + 1), [None] * (n + 1), [None] * (n + 1), [None] * (n + 1)
        self.R[-1], self.o[-1], self.w[-1], self.u[-1] = base_R, base_r, base_omega, base_v
        self.z, self.joint = [None] * n, [None] * n
        for k in range(n):
            h = tree.parent[k]
            mounted = self.R[h] @ tree.mounting[k]
            self.z[k] = z = mounted @ tree.axis[k]
            self.joint[k] = joint = self.o[h] + self.R[h] @ tree.at[k]
            at_joint = self.u[h] + np.cross(self.w[h], joint - self.o[h])
            if tree.sliding[k]:
                self.R[k], self.o[k], self.w[k] = mounted, joint + q[k] * z, self.w[h]
                self.u[k] = at_joint + np.cross(self.w[h], q[k] * z) + rate[k] * z
            else:
                self.R[k] = mounted @ rotation_matrix(from_axis_angle(tree.axis[k], q[k]))
                self.o[k], self.w[k], self.u[k] = joint, self.w[h] + rate[k] * z, at_joint


def newton_euler(tree, poses, q, rate, wrench=None, extra=None, driven=None):
    """Hinge accelerations (n,), the base's (omega', acceleration of its origin), and multipliers' power-free forces.

    wrench: (force, torque about the mass centre) of segments by number (-1 the base); extra (n,): generalized forces;
    driven: accelerations of hinges by number. Also returns the generalized force of each drive, by number.
    """
    n, free = tree.n, tree.floating
    driven, extra = driven or {}, np.zeros(n) if extra is None else extra
    bodies = [*range(n), -1] if free else list(range(n))
    mass = {k: tree.mass[k] for k in range(n)} | ({-1: tree.base.mass} if free else {})
    inertia = {k: tree.inertia[k] for k in range(n)} | ({-1: tree.base.inertia} if free else {})
    center = {k: poses.o[k] + poses.R[k] @ (tree.center[k] if k >= 0 else tree.base.center_of_mass) for k in bodies}
    if not free:
        center[-1] = np.zeros(3)
    place = {k: 6 * i for i, k in enumerate(bodies)}
    size = 6 * len(bodies)
    M, Q = np.zeros((size, size)), np.zeros(size)
    for k in bodies:
        i = place[k]
        J = poses.R[k] @ inertia[k] @ poses.R[k].T
        M[i : i + 3, i : i + 3], M[i + 3 : i + 6, i + 3 : i + 6] = mass[k] * np.eye(3), J
        force, torque = (wrench or {}).get(k, (np.zeros(3), np.zeros(3)))
        Q[i : i + 3] = mass[k] * tree.gravity + force
        Q[i + 3 : i + 6] = torque - np.cross(poses.w[k], J @ poses.w[k])
    rows, gamma, drive_rows = [], [], {}

    def add(*terms):
        """Row of (body, linear, angular) terms and what it must equal."""
        row = np.zeros(size)
        for k, linear, angular in terms[:-1]:
            if k in place:
                row[place[k] : place[k] + 3] += linear
                row[place[k] + 3 : place[k] + 6] += angular
        rows.append(row)
        gamma.append(terms[-1])

    along = np.zeros((n, size))  # z.(relative acceleration) of each hinge, and what is to be added to it
    offset = np.zeros(n)
    for k in range(n):
        h, z = tree.parent[k], poses.z[k]
        wk, wh = poses.w[k], poses.w[h]
        t1 = np.cross(z, [1.0, 0.0, 0.0] if abs(z[0]) < 0.7 else [0.0, 1.0, 0.0])
        t1 /= np.linalg.norm(t1)
        across = (t1, np.cross(z, t1))
        point = poses.o[k]
        dk, dh = point - center[k], (point if tree.sliding[k] else poses.joint[k]) - center[h]
        s = point - poses.joint[k]
        vk = poses.u[k]
        vh = poses.u[h] + np.cross(wh, poses.joint[k] - poses.o[h])
        centripetal = np.cross(wk, np.cross(wk, dk)) - np.cross(wh, np.cross(wh, poses.joint[k] - center[h]))
        action = extra[k] - tree.stiffness[k] * (q[k] - tree.rest[k]) - tree.damping[k] * rate[k]
        arm = poses.joint[k] - center[h]
        if tree.sliding[k]:
            for t in np.eye(3):
                add((k, 0.0, t), (h, 0.0, -t), -np.cross(wh, t) @ (wk - wh))
            for t in (*across, z):
                # t.(a_Pk - a_Ph) + 2 (w_h x t).(v_Pk - v_Ph) + (alpha_h x t + w_h x (w_h x t)).s
                linear = (k, t, np.cross(dk, t)), (h, -t, -np.cross(arm, t) + np.cross(t, s))
                rest = t @ centripetal + 2 * np.cross(wh, t) @ (vk - vh) + np.cross(wh, np.cross(wh, t)) @ s
                if t is z:
                    add(*linear, rest)
                    along[k], offset[k] = rows.pop(), gamma.pop()
                else:
                    add(*linear, -rest)
            for body, sign, d in ((k, 1.0, dk), (h, -1.0, dh)):
                if body in place:
                    i = place[body]
                    Q[i : i + 3] += sign * action * z
                    Q[i + 3 : i + 6] += sign * action * np.cross(d, z)
        else:
            for t in np.eye(3):
                add((k, t, np.cross(dk, t)), (h, -t, -np.cross(arm, t)), -t @ centripetal)
            for t in across:
                add((k, 0.0, t), (h, 0.0, -t), -np.cross(wh, t) @ (wk - wh))
            add((k, 0.0, z), (h, 0.0, -z), 0.0)
            along[k], offset[k] = rows.pop(), gamma.pop()
            for body, sign in ((k, 1.0), (h, -1.0)):
                if body in place:
                    Q[place[body] + 3 : place[body] + 6] += sign * action * z
        if k in driven:
            drive_rows[k] = len(rows)
            rows.append(along[k])
            gamma.append(driven[k] - offset[k])
    Phi = np.array(rows)
    L = len(rows)
    x = np.linalg.solve(np.block([[M, Phi.T], [Phi, np.zeros((L, L))]]), np.concatenate([Q, gamma]))
    second = along @ x[:size] + offset
    base = np.zeros(6)
    if free:
        a, alpha = x[place[-1] : place[-1] + 3], x[place[-1] + 3 : place[-1] + 6]
        d, w = poses.o[-1] - center[-1], poses.w[-1]
        base = np.concatenate([alpha, a + np.cross(alpha, d) + np.cross(w, np.cross(w, d))])
    return second, base, {k: -x[size + row] for k, row in drive_rows.items()}
