"""Kernels of the ends of beam elements: poses, velocities, accelerations and forces, of numbers or values with lanes;
and the base of batches of both kinds of beam elements.

states, rates : as in ``end_states``; other arguments as in ``strain``.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np

from femb.base.types import Floats
from femb.base.values import shallow_copy
from femb.elements.beam.shape import IDENTITY
from femb.elements.beam.strain import natural_coordinates, twist_directions
from femb.elements.private_blocks import FreeBody, MassiveElements
from femb.layout.element import FoldedError
from femb.layout.layout import BeamLayout, Layout, unfixed_frames
from femb.layout.stacking import Shift, shifted
from femb.numerics.compiler.compile import inlined
from femb.numerics.compiler.lanes import every
from femb.numerics.rotations import multiply, rotation_matrix
from femb.numerics.vector3 import rotation


@inlined
def end_pose(state, end, r, Rn, R):
    """Position r and axes R of an element's end, and axes Rn of its frame."""
    for i in range(3):
        r[i] = state[i]
    rotation(state[3:7], Rn)
    attached = not every(end[0] == 0.0)
    for i in range(3):
        a, b, c = Rn[i, 0], Rn[i, 1], Rn[i, 2]
        if attached:
            r[i] += a * end[1] + b * end[2] + c * end[3]
        for j in range(3):
            R[i, j] = a * end[4 + j] + b * end[7 + j] + c * end[10 + j] if attached else Rn[i, j]


@inlined
def end_velocities(rates, end, Rn, velocity, omega):
    """Velocity (3, inertial axes) and angular velocity (3, axes of the end) of an element's end."""
    for i in range(3):
        velocity[i] = rates[i]
        omega[i] = rates[3 + i]
    if every(end[0] == 0.0):
        return
    w1, w2, w3 = rates[3], rates[4], rates[5]
    c1 = w2 * end[3] - w3 * end[2]
    c2 = w3 * end[1] - w1 * end[3]
    c3 = w1 * end[2] - w2 * end[1]
    for i in range(3):
        velocity[i] += Rn[i, 0] * c1 + Rn[i, 1] * c2 + Rn[i, 2] * c3
        omega[i] = end[4 + i] * w1 + end[7 + i] * w2 + end[10 + i] * w3


@inlined
def end_accelerations(rates, seconds, end, Rn, acc, alpha):
    """Acceleration (3, inertial axes) and angular acceleration (3, axes of the end) of an element's end."""
    end_velocities(seconds, end, Rn, acc, alpha)
    if every(end[0] == 0.0):
        return
    w1, w2, w3 = rates[3], rates[4], rates[5]
    wd = w1 * end[1] + w2 * end[2] + w3 * end[3]
    ww = w1 * w1 + w2 * w2 + w3 * w3
    c1, c2, c3 = w1 * wd - ww * end[1], w2 * wd - ww * end[2], w3 * wd - ww * end[3]
    for i in range(3):
        acc[i] += Rn[i, 0] * c1 + Rn[i, 1] * c2 + Rn[i, 2] * c3


@inlined
def element_shape(states, ends, length, R, small, X):
    """Axes R, directions and natural coordinates X (8,) of an element.

    R (5, 3, 3) : axes of frame I, end I, frame II and end II; Q, from the axes of section II to those of section I.
    small (12, 3) : rows 0, 1 are set to the positions of the ends, 10, 11 to beta, gamma (see ``twist_directions``).
    """
    end_pose(states[0], ends[0], small[0], R[0], R[1])
    end_pose(states[1], ends[1], small[1], R[2], R[3])
    natural_coordinates(small[0], R[1], states[0, 7], small[1], R[3], states[1, 7], length, R[4], X)
    twist_directions(R[4], small[10], small[11])


@inlined
def ends_motion(rates, ends, R, small, motion):
    """motion (11,) of the ends as in ``end_gradient``, from their rates; R and small of ``element_shape``.

    small : rows 2, 3 are set to the velocities of the ends, inertial axes, 4, 5 to the angular velocities, end axes.
    """
    end_velocities(rates[0], ends[0], R[0], small[2], small[4])
    end_velocities(rates[1], ends[1], R[2], small[3], small[5])
    for i in range(3):
        motion[i] = 0.0
        for k in range(3):
            motion[i] += R[1, k, i] * (small[3, k] - small[2, k])
        motion[3 + i] = small[4, i]
        motion[7 + i] = small[5, i]
    motion[6] = rates[0, 6]
    motion[10] = rates[1, 6]


@inlined
def force_to_frame(F, moment, end, Rn, force, torque):
    """Force F (inertial axes) and moment (end axes) at an end as force and torque (frame axes) on its frame."""
    for i in range(3):
        force[i] = F[i]
        torque[i] = moment[i]
    if not every(end[0] == 0.0):
        f1 = Rn[0, 0] * F[0] + Rn[1, 0] * F[1] + Rn[2, 0] * F[2]
        f2 = Rn[0, 1] * F[0] + Rn[1, 1] * F[1] + Rn[2, 1] * F[2]
        f3 = Rn[0, 2] * F[0] + Rn[1, 2] * F[1] + Rn[2, 2] * F[2]
        for i in range(3):
            o = 4 + 3 * i
            torque[i] = end[o] * moment[0] + end[o + 1] * moment[1] + end[o + 2] * moment[2]
        torque[0] += end[2] * f3 - end[3] * f2
        torque[1] += end[3] * f1 - end[1] * f3
        torque[2] += end[1] * f2 - end[2] * f1


# Rows of parameters of the ends of beam elements: the poses of their sections in the frames of the nodes.

# The first columns of the offset, of the section axes and of the quaternion.
OFFSET, AXES, QUATERNION = 1, 4, 13


def section_ends(rows: Floats, groups: tuple[int, int]) -> tuple[tuple[int, Floats, Floats], ...]:
    """Group, offset (3,) and section axes (3, 3) in the frame, of both ends of an element, from its rows (2, 13)."""
    return tuple(
        (group, row[OFFSET:AXES], row[AXES:QUATERNION].reshape(3, 3)) for group, row in zip(groups, rows, strict=True)
    )


def end_rows(beams: Sequence[BeamLayout], corners: Floats) -> Floats:
    """(e, 2, 17) of both ends of every element of beams: 1 if it has an offset or a rotation, offset (3) in the frame,
    section axes (9) in it and their quaternion (4).

    corners (e, 4) : rotation from the first node's section to the element's.
    """
    nodes = [station for beam in beams for station in beam.stations]
    offsets = np.array([station.offset for station in nodes])
    quaternions = np.array([station.rotation for station in nodes])
    # every node but the last of each beam is the first of an element
    begins = np.ones(len(nodes), dtype=bool)
    begins[np.cumsum([len(beam.stations) for beam in beams]) - 1] = False
    pairs = np.flatnonzero(begins)[:, None] + (0, 1)
    rows = np.zeros((len(pairs), 2, QUATERNION + 4))
    rows[..., OFFSET:AXES], rotation = offsets[pairs], quaternions[pairs]
    bent = (corners != IDENTITY).any(axis=1)
    if bent.any():
        rotation[bent, 0] = multiply(rotation[bent, 0], corners[bent])
    rows[..., QUATERNION:] = rotation
    rows[..., AXES:QUATERNION] = np.eye(3).ravel()
    turned = (rotation != IDENTITY).any(axis=-1)
    if turned.any():
        rows[turned, AXES:QUATERNION] = rotation_matrix(rotation[turned]).reshape(-1, 9)
    rows[..., 0] = turned | rows[..., OFFSET:AXES].any(axis=-1)
    return rows


def check_unfolded(labels: Sequence[str], folded: int) -> None:
    """Raise FoldedError for the element that a kernel returned, unless it is -1."""
    if folded >= 0:
        raise FoldedError(
            f"{labels[folded]}: turned by 180 degrees between its ends; divide the beam into more elements"
        )


def section_arrays(slices: Mapping[str, slice], section: Floats, middle: Floats) -> dict[str, Floats]:
    """The arrays of results of section forces (k, e, 2, 6) at the ends and (k, e, 6) in the middles of elements."""
    block: dict[str, Floats] = {}
    for name, rows in slices.items():
        block[f"beams/{name}/section_force"] = section[:, rows, :, :3]
        block[f"beams/{name}/section_moment"] = section[:, rows, :, 3:]
        block[f"beams/{name}/midpoint_force"] = middle[:, rows, :3]
        block[f"beams/{name}/midpoint_moment"] = middle[:, rows, 3:]
    return block


class BeamElements(MassiveElements):
    """Base of the elements of both kinds of beams, with a row for each in arrays.

    in_q : columns of ``index`` with coordinates. end_groups : those of the groups that are frames. slices[name] : the
    rows of the elements of a beam, in their order along it.
    damped : whether one has material damping, undamped : whether one has none.
    """

    in_q: ClassVar[list[int]]
    end_groups: ClassVar[tuple[int, int]]

    labels: list[str]
    slices: dict[str, slice]
    fixed: Floats
    damped: bool

    @property
    def ends(self) -> Floats:
        """The rows (e, 2, 13 or 17) of the ends of all elements."""
        raise NotImplementedError

    def row(self, k: int) -> Self:
        """Element k alone, without labels of the others."""
        other = shallow_copy(self)
        other.set_index(self.index[[k]])
        other.labels, other.slices = [self.labels[k]], {}
        return other

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = shallow_copy(batches[0])
        result.set_index(shifted([batch.index for batch in batches], shifts, cls.in_q, cls.in_v))
        result.labels = [label for batch in batches for label in batch.labels]
        result.undamped = any(batch.undamped for batch in batches)
        result.damped = any(batch.damped for batch in batches)
        result.fixed, result.slices = layout.fixed, {}
        return result

    def unfixed(self, n_q: int, n_v: int) -> Self:
        other = shallow_copy(self)
        other.index = unfixed_frames(self.index, n_q, n_v, self.in_q, self.in_v)
        return other

    def check(self, folded: int) -> None:
        """Raise FoldedError for the element that a kernel returned, unless it is -1."""
        check_unfolded(self.labels, folded)

    def element_number(self, path: str, k: int) -> int:
        """The number of element k of the beam "beams.NAME"; -1 of another item."""
        rows = self.slices.get(path.removeprefix("beams."))
        return -1 if rows is None else rows.start + k

    def free_body(self, number: int) -> FreeBody:
        """One element alone; its ends are those of the beam's axis."""
        private, one = FreeBody.blocks(self.sizes), self.row(number)
        places = tuple(one.starts[0].tolist())
        one.index[:, self.in_v] = one.starts = private.starts
        return FreeBody(one, self.sizes, places, section_ends(one.ends[0], self.end_groups))
