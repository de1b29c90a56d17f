"""Primitive constraints by their definitions, with derivatives by automatic differentiation.

A random row ties two frames of a layout that also has a frame beside; nothing is shared with the kernels but the row.
"""

import autograd.numpy as np
import numpy
from autograd import jacobian
from oracles.beam import conjugate, multiply, rotate

from femb.elements.joint import primitives as kernels
from femb.elements.joint.constraint_set import ConstraintRow, ConstraintSet, ConstraintTable
from femb.layout.layout import Layout
from femb.system.pattern import Pattern

PRIMITIVES = ("POINT", "DISTANCE", "DOT1", "DOT2", "ORIENTATION", "STROKE", "TURN")
ENDS = ("bodies", "first on the ground", "second on the ground", "first a point mass", "second a point mass")


def phi(row, ends, f):
    """Phi of a row from the poses (r, p) of its frames and the value of its input."""
    (r_i, p_i), (r_j, p_j) = ends
    unit_i, unit_j = (p / np.sqrt(np.sum(p * p)) for p in (p_i, p_j))
    d = r_j + rotate(unit_j, row.second_point) - r_i - rotate(unit_i, row.first_point)
    e_i = rotate(unit_i, row.first_axis)
    if row.primitive == kernels.POINT:
        return np.dot(row.first_axis, d) - f[0]
    if row.primitive == kernels.DISTANCE:
        return (np.dot(d, d) - f[0] ** 2) / (2.0 * row.constant)
    if row.primitive == kernels.DOT1:
        return np.dot(e_i, rotate(unit_j, row.second_axis)) - row.constant - f[0]
    if row.primitive == kernels.DOT2:
        return np.dot(e_i, d) - f[0]
    if row.primitive in (kernels.STROKE, kernels.TURN):
        c = np.dot(e_i, d)
        if row.primitive == kernels.TURN:
            sine = np.dot(rotate(unit_i, row.first_axis_2), rotate(unit_j, row.second_point))
            c = np.arctan2(sine, np.dot(e_i, rotate(unit_j, row.second_axis)))
            # the path that it follows is near
            c = c + 2.0 * numpy.pi * numpy.round((value_of(f[0]) - value_of(c)) / (2.0 * numpy.pi))
        k = c if row.table is None else piece(row.table, c)
        return row.constant * k - row.offset - f[0]
    return multiply(conjugate(f), multiply(conjugate(unit_i), unit_j))[1 + int(row.constant)]


def value_of(x):
    """A number without its derivatives."""
    while hasattr(x, "_value"):
        x = x._value
    return x


def piece(table, c):
    """The cubic of a table's piece at c."""
    begin, *coefficients = next(row for row in table[:0:-1] if row[0] <= value_of(c))
    return sum(a * (c - begin) ** k for k, a in enumerate(coefficients))


def random_row(primitive, rng, first, second, follows, number=0):
    """A row with random geometry; constants as the primitive has them."""
    kind = getattr(kernels, primitive)
    s_i, a, h, s_j, b = rng.standard_normal((5, 3))
    constant = {"DISTANCE": 0.7, "DOT1": 0.3, "ORIENTATION": float(rng.integers(3)), "STROKE": 1.7, "TURN": -0.6}.get(
        primitive, 0.0
    )
    if primitive == "ORIENTATION":
        pose = rng.standard_normal(4)
        pose /= numpy.linalg.norm(pose)
        a, h = pose[:3], numpy.array([pose[3], 0.0, 0.0])
    where = {"first_point": s_i, "first_axis": a, "first_axis_2": h, "second_point": s_j, "second_axis": b}
    row = ConstraintRow(number, kind, first, second, **where, constant=constant, follows=0 if follows else -1)
    if primitive in ("STROKE", "TURN"):
        pieces = numpy.column_stack([numpy.array([-1e9, -0.4, 0.3]), rng.standard_normal((3, 4))])
        pieces[0, 1:] = 0.2, 1e-9, 0.0, 0.0  # far from where it begins
        return row._replace(offset=0.4, table=numpy.vstack([[3.0, 0.0, 0.0, 0.0, 0.0], pieces]))
    return row


class Case:
    """Rows of a primitive between two frames, and a random state that does not satisfy them."""

    def __init__(self, primitive, ends, follows, seed, coupled=False):
        rng = self.rng = numpy.random.default_rng(seed)
        layout = self.layout = Layout()
        freedom = [0 if "ground" in ends else 3, 6]
        if ends == "bodies":
            freedom = [6, 6]
        frames = [
            layout.add_frame(f"frame {k}", rng.standard_normal(3), unit(rng), freedom=each)
            for k, each in enumerate(freedom)
        ]
        if ends.startswith("second"):
            frames.reverse()
        number = layout.add_row("row", *frames)
        if coupled:
            layout.couple(frames)
        layout.finish()
        self.pattern = Pattern(layout)
        self.row = random_row(primitive, rng, *frames, follows, number)
        self.follows, self.primitive = follows, primitive
        inputs = (_Width(10 if primitive == "ORIENTATION" else 3),)
        self.batch = ConstraintSet(layout, ConstraintTable.of_rows(layout, [self.row], inputs))
        self.batch.first_input = 0
        self.batch.allocate(self.pattern)
        self.q = layout.start_coordinates() + rng.standard_normal(layout.n_q)
        for k in frames:
            if layout.frames[k].freedom == 6:
                i = layout.frame_q[k] + 3
                self.q[i : i + 4] /= numpy.linalg.norm(self.q[i : i + 4])
        self.v, self.a = rng.standard_normal((2, layout.n_v))
        self.multipliers = rng.standard_normal(1)
        # what the row follows, as a polynomial in time; a path of quaternions for an orientation
        self.path = rng.standard_normal(3)
        self.start, self.spin, self.spin_rate = unit(rng), *rng.standard_normal((2, 3))

    @property
    def u(self):
        """The input as the batch takes it."""
        if self.primitive == "ORIENTATION":
            return numpy.concatenate([self.start, self.spin, self.spin_rate])
        return self.path

    def f(self, t):
        """The input's value along time, with the right first and second derivatives at 0."""
        if not self.follows:
            at = {"DISTANCE": self.row.constant}.get(self.primitive, 0.0)
            constant = numpy.append(self.row.first_axis, self.row.first_axis_2[0])
            return constant if self.primitive == "ORIENTATION" else numpy.array([at])
        if self.primitive == "ORIENTATION":
            return path(self.start, self.spin, self.spin_rate, t)
        return np.array([self.path[0] + t * self.path[1] + 0.5 * t * t * self.path[2]])

    def poses(self, q):
        """(r, p) of both frames."""
        found = []
        for k in (self.row.first, self.row.second):
            i, frame = self.layout.frame_q[k], self.layout.frames[k]
            if frame.freedom == 6:
                found.append((q[i : i + 3], q[i + 3 : i + 7]))
            elif frame.freedom == 3:
                found.append((q[i : i + 3], numpy.array([1.0, 0.0, 0.0, 0.0])))
            else:
                found.append((frame.position, frame.quaternion))
        return found

    def along(self, t, v, a):
        """q at t of a motion that starts at q with velocities v and accelerations a, right to second order."""
        layout, parts = self.layout, []
        for k in sorted(range(2), key=lambda k: layout.frame_q[k]):
            i, j, freedom = layout.frame_q[k], layout.frame_v[k], layout.frames[k].freedom
            if freedom:
                parts.append(self.q[i : i + 3] + t * v[j : j + 3] + 0.5 * t * t * a[j : j + 3])
            if freedom == 6:
                parts.append(path(self.q[i + 3 : i + 7], v[j + 3 : j + 6], a[j + 3 : j + 6], t))
        return np.concatenate(parts)

    def phi(self, q, t=0.0):
        return phi(self.row, self.poses(q), self.f(t))

    def gradient(self, q):
        """X_a Phi (n_v,): derivatives along translations and along turns in body axes, at any q."""
        from autograd import grad

        return np.dot(grad(self.phi)(q), self.basis(q))

    def basis(self, q):
        """H(q) (n_q, n_v), differentiable."""
        layout, columns = self.layout, [None] * self.layout.n_v
        for k in range(2):
            i, j, freedom = layout.frame_q[k], layout.frame_v[k], layout.frames[k].freedom
            for m in range(3 if freedom else 0):
                columns[j + m] = pad(numpy.eye(3)[m], i, layout.n_q)
            for m in range(3 if freedom == 6 else 0):
                spin = numpy.append(0.0, numpy.eye(3)[m])
                columns[j + 3 + m] = pad(0.5 * multiply(q[i + 3 : i + 7], spin), i + 3, layout.n_q)
        return np.stack(columns, axis=1)


class _Width:
    def __init__(self, width):
        self.width = width


def pad(x, at, size):
    return np.concatenate([numpy.zeros(at), x, numpy.zeros(size - at - len(x))])


def unit(rng):
    p = rng.standard_normal(4)
    return p / numpy.linalg.norm(p)


def path(p, w, w_rate, t):
    """p(t) with the angular velocity w and its rate at 0, body axes: right to second order."""
    zero = numpy.zeros(1)
    first = 0.5 * multiply(p, np.concatenate([zero, w]))
    second = 0.5 * (multiply(first, np.concatenate([zero, w])) + multiply(p, np.concatenate([zero, w_rate])))
    return p + t * first + 0.5 * t * t * second


__all__ = ["ENDS", "PRIMITIVES", "Case", "jacobian"]
