"""Linear shear-flexible (Timoshenko) beam, corotated with the first node of every element; masses at the nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints, Pair, Unit, Vector
from femb.elements.beam.line import LineItem
from femb.elements.beam.section import Section
from femb.elements.beam.shape import Sections, element_ends
from femb.elements.body.mass_batch import MassBatch
from femb.elements.marker import Attachment
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.state import StationMotion, Stations
from femb.layout.terms import Energy, Force, ForcePart, Tangent
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix

E1 = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class TimoshenkoBeam(LineItem):
    """A straight beam with shear deformation, for small deflections of each element from its first node's tangent.

    The section gives the other stiffnesses, without damping.
    """

    kind: ClassVar[str] = "timoshenko"

    name: str
    section: Section | str
    length: Annotated[float, Unit("m")]
    shear_stiffness: Annotated[Pair, Unit("N")]
    """[kGA_y, kGA_z] along the section's y and z axes"""
    elements: int = 1
    start: Attachment | None = None
    end: Attachment | None = None
    velocity: Annotated[Vector | None, Unit("m/s")] = None
    angular_velocity: Annotated[Vector | None, Unit("rad/s")] = None

    def check(self, check: Checks) -> None:
        self.check_line(check)
        check.require("shear_stiffness", np.all(np.asarray(self.shear_stiffness) > 0.0), "must be greater than 0")
        if not check.bad:
            self.check_ends(check)

    def rigidity(self, section: Section) -> Floats:
        """(6,) of tension, shear along y and z, torsion, bending about y and z: N and N m2."""
        axial, torsion, about_y, about_z = np.diag(section.stiffness())
        return np.array([axial, *self.shear_stiffness, torsion, about_y, about_z])

    @staticmethod
    def batches(items: list["TimoshenkoBeam"], layout: Layout, model: Any) -> list[Batch]:
        """The elastic elements, and half the mass of every element at each of its nodes."""
        masses = []
        for item in items:
            section, stations = model.section_of(item), layout.beams[item.name].stations
            if section.damping or section.offset().any() or section.stiffness_matrix is not None:
                path = (item.table, item.name, "section")
                raise ModelError.at(path, "has damping, couplings or a mass axis, which this kind of beam leaves out")
            for k, station in enumerate(stations):
                share = item.length / item.elements * (0.5 if k in (0, item.elements) else 1.0)
                inertia = station.axes @ np.diag(share * section.inertia()) @ station.axes.T
                if layout.frames[station.frame].freedom:
                    masses.append((station.frame, share * section.line_mass(), station.offset, inertia))
        batches: list[Batch] = [TimoshenkoBatch(items, layout, model)]
        return batches + ([MassBatch(layout, model.gravity, masses)] if masses else [])

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        records = LineItem.records(items, system)
        for item in items:
            records.static[f"beams/{item.name}/rigidity"] = item.rigidity(system.model.section_of(item))
        return records

    @staticmethod
    def sections_between(recorded: Mapping[str, Floats], xi: Floats) -> Sections:
        words = ("position", "quaternion", "velocity", "angular_velocity")
        position, quaternion, velocity, omega = (element_ends(recorded[word]) for word in words)
        deformed = Deformed(StationMotion(position, rotations.rotation_matrix(quaternion), velocity, omega))
        length = recorded["element_length"][:, None]
        inside, at_end = (influence(recorded["rigidity"], x, length) for x in (xi * length, length))
        shape = inside @ np.linalg.inv(at_end)  # (e, s, 6, 6): deformation inside per deformation of the end
        d, rate = ((shape @ y[..., None, :, None])[..., 0] for y in (deformed.of(length[:, 0]), deformed.rate))
        R = deformed.R[..., None, :, :]
        arm = (xi * length)[..., None] * E1 + d[..., :3]
        spin, sine = omega[..., :1, :], cross_matrix(d[..., 3:])
        cosine = np.sqrt(1.0 - np.sum(d[..., 3:] ** 2, axis=-1))[..., None, None]
        return Sections(
            position[..., :1, :] + apply(R, arm),
            R @ (np.eye(3) + sine + sine @ sine / (1.0 + cosine)),
            velocity[..., :1, :] + apply(R, np.cross(spin, arm) + rate[..., :3]),
            apply(R, spin + rate[..., 3:]),
        )


def influence(rigidity: Floats, x: Floats, length: Floats) -> Floats:
    """(..., 6, 6): displacement and rotation at x of a cantilever per force and moment at its end."""
    axial, shear_y, shear_z, torsion, about_y, about_z = rigidity
    A = np.zeros((*np.broadcast_shapes(x.shape, length.shape), 6, 6))
    A[..., 0, 0], A[..., 3, 3] = x / axial, x / torsion
    for u, theta, sign, shear, bending in ((1, 5, 1.0, shear_y, about_z), (2, 4, -1.0, shear_z, about_y)):
        A[..., u, u] = x**2 * (3.0 * length - x) / (6.0 * bending) + x / shear
        A[..., u, theta] = sign * x**2 / (2.0 * bending)
        A[..., theta, u] = sign * x * (2.0 * length - x) / (2.0 * bending)
        A[..., theta, theta] = x / bending
    return A


def apply(matrix: Floats, x: Floats) -> Floats:
    return (matrix @ x[..., None])[..., 0]


class Deformed:
    """Ends II of elements relative to the axes R of their ends I: chord c, rotation Q, and the rates of both."""

    def __init__(self, motion: StationMotion) -> None:
        r, axes, v, w = motion.position, motion.axes, motion.velocity, motion.omega
        self.R = axes[..., 0, :, :]
        back = np.swapaxes(self.R, -1, -2)
        self.c, self.Q = apply(back, r[..., 1, :] - r[..., 0, :]), back @ axes[..., 1, :, :]
        # the rate of theta, the rotation axis times sin(angle), is B w_II - B^T w_I
        trace = np.trace(self.Q, axis1=-2, axis2=-1)[..., None, None]
        self.B = 0.5 * (trace * np.eye(3) - np.swapaxes(self.Q, -1, -2))
        self.BT = np.swapaxes(self.B, -1, -2)
        c_rate = apply(back, v[..., 1, :] - v[..., 0, :]) + np.cross(self.c, w[..., 0, :])
        self.rate = np.concatenate([c_rate, apply(self.B, w[..., 1, :]) - apply(self.BT, w[..., 0, :])], axis=-1)

    def of(self, length: Floats) -> Floats:
        """(..., 6) displacement u and rotation theta."""
        Q = self.Q
        axis = [Q[..., 2, 1] - Q[..., 1, 2], Q[..., 0, 2] - Q[..., 2, 0], Q[..., 1, 0] - Q[..., 0, 1]]
        return np.concatenate([self.c - length[:, None] * E1, 0.5 * np.stack(axis, axis=-1)], axis=-1)


class TimoshenkoBatch(Batch):
    undamped = True

    def __init__(self, items: list[TimoshenkoBeam], layout: Layout, model: Any) -> None:
        ends, lengths, stiffness = [], [], []
        self.rows: dict[str, slice] = {}
        for item in items:
            stations, length = layout.beams[item.name].stations, item.length / item.elements
            self.rows[item.name] = slice(len(ends), len(ends) + item.elements)
            ends += [[stations[k], stations[k + 1]] for k in range(item.elements)]
            lengths += [length] * item.elements
            compliance = influence(item.rigidity(model.section_of(item)), np.array(length), np.array(length))
            stiffness += [np.linalg.inv(compliance)] * item.elements
        self.ends, self.length, self.K = Stations(ends, layout), np.array(lengths), np.array(stiffness)

    def forces(self) -> list[Force]:
        return [Force(self.elastic, (), "qv", ForcePart.ELASTIC)]

    def tangents(self) -> list[Tangent]:
        return [Tangent(self.derivatives, (), self.ends.starts, "q", "k")]

    def energies(self) -> list[Energy]:
        return [Energy(self.energy, ())]

    def evaluated(self, q: Floats, v: Floats) -> tuple[Deformed, Floats, Floats]:
        """Elements, and the residual force (inertial axes) and torque (section axes) on both ends (s, n, 2, 3)."""
        e = Deformed(self.ends.motion(q, v))
        F, M = np.split(apply(self.K, e.of(self.length)), 2, axis=-1)
        force = apply(e.R, F)
        torque = -np.cross(e.c, F) - apply(e.B, M), apply(e.BT, M)
        return e, np.stack([-force, force], axis=-2), np.stack(torque, axis=-2)

    def elastic(self, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, n_v) += the forces on the ends."""
        _, force, torque = self.evaluated(q, v)
        self.ends.add_force(q, force, torque, out)

    def derivatives(self, offset: Ints, stride: Ints, q: Floats, stiffness: Floats) -> None:
        """Add d(residual)/dq H at every state to block data (s, size)."""
        e, forces, _ = self.evaluated(q, np.zeros((len(q), self.ends.v.max(initial=0) + 1)))
        states = zip(q, e.R, e.Q, e.c, e.B, e.BT, e.of(self.length), forces, stiffness, strict=True)
        for state, R, Q, c, B, BT, d, force, data in states:
            A = self.by_ends(R, Q, c, B, BT, d)
            self.ends.add_matrix(state, A, (offset, stride), data, force)

    def by_ends(self, R: Floats, Q: Floats, c: Floats, B: Floats, BT: Floats, d: Floats) -> Floats:
        """(n, 12, 12) derivatives of the residual by small motions of the ends, at one state."""
        F, M = np.split(apply(self.K, d), 2, axis=-1)
        zero, back = np.zeros_like(R), np.swapaxes(R, -1, -2)
        by = np.block([[-back, cross_matrix(c), back, zero], [zero, -BT, zero, B]])  # of d by the ends' motion
        A = np.swapaxes(by, -1, -2) @ self.K @ by
        # forces and moments rotate with the ends, by w_I and w_II: see the page
        QT, outer = np.swapaxes(Q, -1, -2), M[:, :, None] * d[:, None, 3:]
        A[:, :3, 3:6] += R @ cross_matrix(F)
        A[:, 6:9, 3:6] -= R @ cross_matrix(F)
        A[:, 3:6] += cross_matrix(F) @ by[:, :3]
        A[:, 3:6, 3:6] -= outer + 0.5 * QT @ cross_matrix(M)
        A[:, 3:6, 9:] += outer + 0.5 * cross_matrix(apply(QT, M))
        A[:, 9:, 3:6] += outer - 0.5 * cross_matrix(apply(Q, M))
        A[:, 9:, 9:] -= outer - 0.5 * Q @ cross_matrix(M)
        return A

    def energy(self, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, 8) += the elastic energy."""
        d = Deformed(self.ends.motion(q, v)).of(self.length)
        out[:, 1] += 0.5 * np.sum(d * apply(self.K, d), axis=(-2, -1))

    def records(self, frames: Any, batches: list[Batch]) -> dict[str, Floats]:
        _, force, torque = self.evaluated(frames.q, frames.v)
        axes = self.ends.motion(frames.q, frames.v).axes
        outward = np.array([-1.0, 1.0])[:, None]  # positive on the face whose normal is the tangent
        local, result = apply(np.swapaxes(axes, -1, -2), force), {}
        for name, rows in self.rows.items():
            result[f"beams/{name}/section_force"] = outward * local[:, rows]
            result[f"beams/{name}/section_moment"] = outward * torque[:, rows]
        return result
