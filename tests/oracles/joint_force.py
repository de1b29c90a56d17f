"""Forces along coordinates of joints read straight from their definitions, every derivative by automatic
differentiation. Nothing is shared with the kernels but the stations of the joint. Source: docs/theory/joint_forces.md.
"""

import autograd.numpy as np
import numpy
from autograd import grad, jacobian
from oracles.beam import conjugate, multiply, rotate


def spring(c, rate, item):
    return item.stiffness * (c - item.free) + item.damping * rate


def friction(c, rate, item):
    static = item.coulomb if item.static is None else item.static
    fall = 10.0 * item.transition_rate if item.stribeck_rate is None else item.stribeck_rate
    level = item.coulomb + (static - item.coulomb) * np.exp(-((rate / fall) ** 2))
    return level * np.tanh(rate / item.transition_rate) + item.viscous * rate


def stops(c, rate, item):
    depth, side = (c - item.upper, 1.0) if c > item.upper else (item.lower - c, -1.0)
    y = item.damping * side * rate
    return side * item.stiffness * depth**item.exponent * (y + np.sqrt(1.0 + y**2)) if depth > 0.0 else 0.0 * c * rate


class Oracle:
    """One force with a law (c, rate) -> N against the increase of its coordinate, in a system of two frames."""

    def __init__(self, system, item, law, reference):
        self.layout, self.law, self.reference = system.layout, law, reference
        joint, k = item.joint_and_index(self.layout)
        self.kind, self.name = type(system.model.tables["joints"][item.joint]).kind, joint.coordinates[k].name
        self.ends = joint.first, joint.second

    def station(self, end, q):
        """Position, and axes x, y, z of one end."""
        i = self.layout.frame_q[end.frame]
        frame = q[i : i + 7] if i >= 0 else self.layout.fixed[-1 - i]
        p = frame[3:] / np.sqrt(np.sum(frame[3:] ** 2))
        axes = [rotate(multiply(p, end.rotation), axis) for axis in numpy.eye(3)]
        return frame[:3] + rotate(p, end.offset), axes

    def coordinate(self, q):
        """The coordinate by its definition, angles near the reference."""
        (r, (x, y, z)), (far, (x2, y2, z2)) = (self.station(end, q) for end in self.ends)
        if self.name in ("x", "y", "stroke"):
            return np.dot({"x": x, "y": y, "stroke": z}[self.name], far - r)
        angle = {
            "angle": lambda: np.arctan2(np.dot(y, x2), np.dot(x, x2)),
            "first_angle": lambda: np.arctan2(np.dot(y, z2), np.dot(x, z2)),
            "second_angle": lambda: np.arctan2(-np.dot(z, y2), np.dot(z, x2)),
        }[self.name]()
        turns = numpy.round((self.reference - _plain(angle)) / (2.0 * numpy.pi))
        return angle + 2.0 * numpy.pi * turns

    def to_velocities(self, q, force):
        """H^T force, with q' = H v: a quaternion's part is half the vector part of p* f."""
        parts = [np.zeros(0)]
        free = [k for k, place in enumerate(self.layout.frame_v) if place >= 0]
        for k in sorted(free, key=lambda k: self.layout.frame_v[k]):
            i = self.layout.frame_q[k]
            parts += [force[i : i + 3], 0.5 * multiply(conjugate(q[i + 3 : i + 7]), force[i + 3 : i + 7])[1:]]
        return np.concatenate(parts)

    def residual(self, q, v):
        """J^T N."""
        J = self.to_velocities(q, grad(self.coordinate)(q))
        return J * self.law(self.coordinate(q), np.dot(J, v))

    def tangents(self, q, v):
        """d(residual)/dv and d(residual)/dq H."""
        damping = jacobian(lambda w: self.residual(q, w))(v)
        by_q = jacobian(lambda x: self.residual(x, v))(q)
        return damping, numpy.stack([self.to_velocities(q, row) for row in by_q])


def _plain(value):
    while hasattr(value, "_value"):
        value = value._value
    return value
