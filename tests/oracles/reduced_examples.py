"""Six examples of reduced-order dynamics, as descriptions of trees, as Models, and as an independent right-hand side.

Source: Thompson, AIAA 2011-6277, section VI; parameters are realistic magnitudes, not those of a real vehicle.
"""

from dataclasses import dataclass, field, replace

import numpy as np

import femb

X, Y, Z = np.eye(3)


def about(axis, angle):
    """Active rotation (3, 3), of any number type."""
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


@dataclass
class Body:
    """mass, inertia about the mass centre, which is the frame's origin; parent and the joint, or None of a free root.

    at, point : the joint in the parent's (-1 the ground) and in its own axes. axes : of the successive rotations, first
    of them in the mount, which is turned by ``mount`` (child to parent) against the parent. stiffness, damping : of the
    angles, first rotation first. rates : at the start.
    """

    mass: float
    inertia: object
    parent: int | None = None
    at: object = (0.0, 0.0, 0.0)
    point: object = (0.0, 0.0, 0.0)
    axes: tuple = ()
    mount: object = field(default_factory=lambda: np.eye(3))
    stiffness: tuple = ()
    damping: tuple = ()
    rates: tuple = ()

    @property
    def J(self):
        inertia = np.asarray(self.inertia, dtype=float)
        return np.diag(inertia) if inertia.ndim == 1 else inertia


@dataclass
class Example:
    """bodies; gravity; air : coefficients as of AerodynamicLoad; struts : (point of body 0, anchor, k, c, length)."""

    bodies: list
    gravity: object = (0.0, 0.0, 0.0)
    velocity: object = (0.0, 0.0, 0.0)
    air: dict | None = None
    struts: tuple = ()

    def model(self):
        model = femb.Model("example", gravity=self.gravity)
        for k, b in enumerate(self.bodies):
            words = {"position": (0, 0, 0), "velocity": self.velocity, "angular_velocity": (0, 0, 0)}
            model.add(femb.RigidBody(f"b{k}", mass=b.mass, inertia=b.J, **(words if b.parent is None else {})))
        for k, b in enumerate(self.bodies):
            if b.parent is None:
                continue
            parent = "ground" if b.parent < 0 else f"b{b.parent}"
            first, last = b.axes[0], b.axes[-1]
            other = np.roll(first, 1) if len(b.axes) == 1 else last
            kind, words = (
                (femb.Revolute, ("angle",)) if len(b.axes) == 1 else (femb.Universal, ("first_angle", "second_angle"))
            )
            ends = (
                femb.JointEnd(parent, at=b.at, axis=b.mount @ first, reference=b.mount @ other),
                femb.JointEnd(f"b{k}", at=b.point, axis=last, reference=other if len(b.axes) == 1 else first),
            )
            model.add(kind(f"j{k}", *ends, rates=b.rates or np.zeros(len(b.axes))))
            for word, stiffness, damping in zip(words, b.stiffness, b.damping, strict=False):
                words_of = {"joint": f"j{k}", "coordinate": word, "stiffness": stiffness, "damping": damping}
                model.add(femb.JointSpringDamper(f"j{k} {word}", **words_of))
        for k, (point, anchor, stiffness, damping, length) in enumerate(self.struts):
            ends = femb.SpringEnd(body="b0", at=point), femb.SpringEnd(anchor=anchor)
            model.add(femb.SpringDamper(f"strut{k}", *ends, stiffness=stiffness, damping=damping, free_length=length))
        if self.air:
            model.add(femb.AerodynamicLoad("air", body="b0", **self.air))
        return model

    @property
    def free(self):
        return self.bodies[0].parent is None

    def start(self):
        """x = [q; u] at rest but for the given velocity and rates; q: position and angles x, y, z of a free root."""
        angles = [np.zeros(6)] if self.free else []
        rates = [np.concatenate([self.velocity, np.zeros(3)])] if self.free else []
        for b in self.bodies:
            angles.append(np.zeros(len(b.axes)))
            rates.append(np.array(b.rates or np.zeros(len(b.axes)), dtype=float))
        return np.concatenate(angles + rates)

    def motion(self, q, u):
        """(R, position, angular velocity, its bias, velocity, its bias) of all bodies, inertial axes, by recursion.

        The bias is the acceleration at zero u'. The root's speeds are its velocity and angular velocity in body axes.
        """
        found, at = [], 0
        for b in self.bodies:
            if b.parent is None:
                R = about(X, q[3]) @ about(Y, q[4]) @ about(Z, q[5])
                w, v = R @ u[3:6], R @ u[:3]
                found.append((R, q[:3], w, 0.0 * w, v, np.cross(w, v)))
                at = 6
                continue
            zero = np.zeros(3)
            R, r, w, wb, v, vb = found[b.parent] if b.parent >= 0 else (np.eye(3), zero, zero, zero, zero, zero)
            arm = R @ np.array(b.at)
            r, v, vb = r + arm, v + np.cross(w, arm), vb + np.cross(wb, arm) + np.cross(w, np.cross(w, arm))
            R = R @ b.mount
            for axis in b.axes:
                z = R @ axis
                w, wb = w + z * u[at], wb + np.cross(w, z) * u[at]
                R, at = R @ about(axis, q[at]), at + 1
            arm = -R @ np.array(b.point)
            bias = vb + np.cross(wb, arm) + np.cross(w, np.cross(w, arm))
            found.append((R, r + arm, w, wb, v + np.cross(w, arm), bias))
        return found

    def rate(self, x):
        """x' of x = [q; u], of any number type: the reduced equations (15), H2 by unit speeds."""
        n = len(x) // 2
        q, u = x[:n], x[n:]
        now = self.motion(q, u)
        units = [self.motion(q, e) for e in np.eye(n)]
        M, Q = np.zeros((n, n), dtype=x.dtype), np.zeros(n, dtype=x.dtype)
        for k, b in enumerate(self.bodies):
            R, r, w, wb, v, vb = now[k]
            Hw, Hv = (np.array([unit[k][i] for unit in units]).T for i in (2, 4))
            inertia = R @ b.J @ R.T
            force, torque = b.mass * np.array(self.gravity, dtype=x.dtype), np.zeros(3, dtype=x.dtype)
            if k == 0 and self.air:
                a = self.air
                change = R.T @ v - np.array(a["velocity"])
                force = force + R @ (np.array(a["force"]) + np.array(a["force_by_velocity"]) @ change)
                slopes = np.array(a["torque_by_velocity"]), np.array(a["torque_by_angular_velocity"])
                torque = R @ (slopes[0] @ change + slopes[1] @ (R.T @ w))
            for point, anchor, stiffness, damping, length in self.struts if k == 0 else ():
                arm = R @ np.array(point)
                d = r + arm - np.array(anchor)
                size = np.sqrt(np.sum(d * d))
                pull = stiffness * (size - length) + damping * np.sum(d * (v + np.cross(w, arm))) / size
                force = force - pull * d / size
                torque = torque + np.cross(arm, -pull * d / size)
            M = M + b.mass * Hv.T @ Hv + Hw.T @ inertia @ Hw
            Q = Q + Hv.T @ (force - b.mass * vb) + Hw.T @ (torque - inertia @ wb - np.cross(w, inertia @ w))
        at = 6 if self.free else 0
        for b in self.bodies:
            for k in range(len(b.axes)):
                if b.stiffness:
                    Q[at] -= b.stiffness[k] * q[at] + b.damping[k] * u[at]
                at += 1
        rates = u.astype(x.dtype)
        if self.free:
            y, z = about(Y, q[4]), about(Z, q[5])
            B = np.column_stack([z.T @ y.T @ X, z.T @ Y, Z.astype(x.dtype)])
            rates[:3] = now[0][0] @ u[:3]
            rates[3:6] = np.linalg.solve(B, u[3:6])
        return np.concatenate([rates, np.linalg.solve(M, Q)])

    def matrix(self, x):
        """d rate/dx by complex steps."""
        return np.array([self.rate(x + 1e-30j * e).imag / 1e-30 for e in np.eye(len(x))]).T


AIRCRAFT = Example(
    [Body(1250.0, (1420.0, 4070.0, 4790.0))], gravity=(0.0, 0.0, 9.81), velocity=(53.6, 0.0, 0.0),
    air={
        "velocity": (53.6, 0.0, 0.0), "force": (0.0, 0.0, -12262.5),
        "force_by_velocity": [[-56.25, 0.0, 45.0], [0.0, -317.5, 0.0], [-462.5, 0.0, -2525.0]],
        "torque_by_velocity": [[0.0, -424.58, 0.0], [0.0, 0.0, -667.48], [0.0, 401.402, 0.0]],
        "torque_by_angular_velocity": [[-11928.0, 0.0, 3109.8], [0.0, -8343.5, 0.0], [-1676.5, 0.0, -3640.4]],
    },
)  # fmt: skip
PENDULUM = Example(
    [Body(1.5, (0.09, 0.08, 0.02), -1, point=(0, 0, -0.4), axes=(Y,), stiffness=(0.6,), damping=(0.05,))],
    gravity=(0.0, 0.0, 9.81),
)


def _appendage(mass, inertia, at, point, mount, stiffness, damping):
    return Body(mass, inertia, 0, at, point, (Z, Y), mount, stiffness, damping)


SATELLITE = Example(
    [
        Body(500.0, [[300.0, -12.0, 8.0], [-12.0, 250.0, 5.0], [8.0, 5.0, 280.0]]),
        _appendage(15.0, (1.0, 21.0, 22.0), (0.9, 0.05, 0), (-2, 0, 0), np.eye(3), (420.0, 300.0), (1.5, 1.2)),
        _appendage(15.0, (1.0, 21.0, 22.0), (-0.9, 0.05, 0), (-2, 0, 0), about(Z, np.pi), (400.0, 310.0), (1.6, 1.1)),
        _appendage(
            *(8.0, (0.2, 3.1, 3.0), (0, 0, 0.8), (-1.1, 0, 0.1)),
            about(Z, 0.3) @ about(Y, 0.5 * np.pi),
            *((90.0, 120.0), (0.3, 0.4)),
        ),
    ]
)
CONNECTED = Example(
    [
        Body(40.0, (1.4, 1.3, 0.35)),
        Body(
            *(2.4, (0.016, 0.016, 0.003), 0, (0, 0.2, -0.25), (0, 0, -0.14), (X, Y)),
            stiffness=(15.0, 12.0),
            damping=(0.4, 0.3),
        ),
        Body(1.6, (0.012, 0.012, 0.0015), 1, (0, 0, 0.15), (0, 0, -0.13), (Y,), stiffness=(8.0,), damping=(0.15,)),
    ]
)
ROTOR_RATE, TURBINE_RATE = 32.0, 1.267


def _struts():
    """Six struts, two from each of three points of the fuselage to the ground."""
    found = []
    for k in range(6):
        pair = 0.2 + 2.0 * np.pi / 3.0 * (k // 2)
        ends = ((0.9, 0.8, pair + np.pi / 6.0), (1.6, 2.2, pair + np.pi / 3.0 * (k % 2)))
        point, anchor = (np.array([r * np.cos(a), r * np.sin(a), z]) for r, z, a in ends)
        found.append((point, anchor, 2e5, 3e3, float(np.linalg.norm(point - anchor))))
    return tuple(found)


def _blades(count, axis, blade, at):
    """Blades alike on body 'blade.parent', spread about an axis of it."""
    mounts = [about(axis, 2.0 * np.pi * k / count) for k in range(count)]
    return [replace(blade, mount=mount, at=mount @ np.array(at)) for mount in mounts]


ROTORCRAFT = Example(
    [
        Body(2000.0, [[1500.0, 0.0, -400.0], [0.0, 6000.0, 0.0], [-400.0, 0.0, 5500.0]]),
        Body(150.0, (20.0, 20.0, 35.0), 0, (0.1, 0, -1.3), axes=(Z,), rates=(ROTOR_RATE,)),
        *_blades(
            *(4, Z),
            Body(
                *(45.0, (0.324, 93.912, 93.912), 1), point=(-2.5, 0, 0), axes=(Y, Z), stiffness=(2000.0, 8000.0),
                damping=(150.0, 500.0),
            ), (0.25, 0.0, -0.1),
        ),
    ], struts=_struts(),
)  # fmt: skip
WIND_TURBINE = Example(
    [
        Body(
            *(3.5e5, (224364875.0, 224364875.0, 1093750.0), -1), point=(0, 0, -43.8), axes=(X, Y),
            stiffness=(1.45e10, 1.45e10), damping=(1.2e8, 1e8),
        ),
        Body(
            *(2.4e5, (1.5e6, 2.6e6, 2.6e6), 0, (0, 0, 43.8), (-1.9, 0, -1.75), (Z,)), stiffness=(9e8,),
            damping=(1.9e7,),
        ),
        Body(5.68e4, (1.16e5, 8e4, 8e4), 1, (-6.9, 0, 0.65), axes=(X,), rates=(TURBINE_RATE,)),
        *_blades(
            *(3, X),
            Body(
                *(1.77e4, (4.36e6, 4.36e6, 3e4), 2), point=(0, 0, -20.5), axes=(Y,), stiffness=(2.3e8,), damping=(1e6,),
            ), (0, 0, 1.5),
        ),
    ],
)  # fmt: skip
EXAMPLES = {
    "aircraft": AIRCRAFT, "pendulum": PENDULUM, "satellite": SATELLITE, "connected": CONNECTED,
    "rotorcraft": ROTORCRAFT, "wind_turbine": WIND_TURBINE,
}  # fmt: skip
