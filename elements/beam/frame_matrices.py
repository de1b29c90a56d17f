"""Matrices (14, 14) of the ends of beam elements: from section axes to the frames, and added to block data."""

from femb.numerics.compile import inlined
from femb.numerics.lanes import LANES, every
from femb.numerics.vector3 import add_torque_tangent, rotate, rotate_back


@inlined
def arm_map(R1, Rn, arm, out):
    """out (3, 3) = -(R1^T Rn) arm~: velocity, axes R1, of the end of an arm (3,) in a frame, per spin of the frame."""
    for i in range(3):
        # row i of R1^T Rn
        a = R1[0, i] * Rn[0, 0] + R1[1, i] * Rn[1, 0] + R1[2, i] * Rn[2, 0]
        b = R1[0, i] * Rn[0, 1] + R1[1, i] * Rn[1, 1] + R1[2, i] * Rn[2, 1]
        c = R1[0, i] * Rn[0, 2] + R1[1, i] * Rn[1, 2] + R1[2, i] * Rn[2, 2]
        out[i, 0] = c * arm[1] - b * arm[2]
        out[i, 1] = a * arm[2] - c * arm[0]
        out[i, 2] = b * arm[0] - a * arm[1]


@inlined
def frame_map(R, ends, T):
    """T (2, 3, 3): per end, its velocity per spin of its frame, axes of the first section."""
    for end in range(2):
        arm_map(R[1], R[2 * end], ends[end, 1:4], T[end])


@inlined
def scatter_ends(local, offset, stride, data):
    """``vector3.scatter`` for the groups of a beam element (frame and strain of each end), with loops unrolled."""
    for a in range(2):
        for b in range(2):
            base, step = offset[2 * a, 2 * b], stride[2 * a, 2 * b]
            if base >= 0:
                for k in range(6):
                    for m in range(6):
                        data[base + k * step + m] += local[7 * a + k, 7 * b + m]
            base, step = offset[2 * a, 2 * b + 1], stride[2 * a, 2 * b + 1]
            if base >= 0:
                for k in range(6):
                    data[base + k * step] += local[7 * a + k, 7 * b + 6]
            base = offset[2 * a + 1, 2 * b]
            if base >= 0:
                for m in range(6):
                    data[base + m] += local[7 * a + 6, 7 * b + m]
            data[offset[2 * a + 1, 2 * b + 1]] += local[7 * a + 6, 7 * b + 6]


@inlined
def scatter_group(local, first, offset, stride, data):
    """``scatter_ends`` of matrices (14, 14, LANES) of the elements from ``first``."""
    for m in range(min(LANES, offset.shape[0] - first)):
        scatter_ends(local[:, :, m], offset[first + m], stride[first + m], data)


@inlined
def spread(a, sign, b):
    """b (14,) += sign times a (11,), whose first three coordinates are r_II - r_I."""
    for j in range(3):
        b[j] -= sign * a[j]
        b[7 + j] += sign * a[j]
    for j in range(3, 7):
        b[j] += sign * a[j]
    for j in range(7, 11):
        b[j + 3] += sign * a[j]


@inlined
def expand(A, B):
    """B (14, 14) += A (11, 11), whose first three coordinates are r_II - r_I."""
    for i in range(11):
        spread(A[i], 1.0, B[i if 3 <= i < 7 else (i + 7 if i < 3 else i + 3)])
        if i < 3:
            spread(A[i], -1.0, B[i])


@inlined
def to_frames(A, R1, T, ends):
    """Transform A (14, 14) on both sides from end velocities in the axes of the first section to frame velocities.

    Translations are rotated by R1; an end with an offset has the velocity T (see ``frame_map``) per spin of its frame.
    """
    for end in range(2):
        o = 7 * end
        attached = not every(ends[end, 0] == 0.0)
        for i in range(14):
            a, b, c = A[i, o], A[i, o + 1], A[i, o + 2]
            if attached:
                x, y, z = A[i, o + 3], A[i, o + 4], A[i, o + 5]
                for j in range(3):
                    spin = x * ends[end, 4 + 3 * j] + y * ends[end, 5 + 3 * j] + z * ends[end, 6 + 3 * j]
                    A[i, o + 3 + j] = spin + a * T[end, 0, j] + b * T[end, 1, j] + c * T[end, 2, j]
            for j in range(3):
                A[i, o + j] = a * R1[j, 0] + b * R1[j, 1] + c * R1[j, 2]
    for end in range(2):
        o = 7 * end
        attached = not every(ends[end, 0] == 0.0)
        for i in range(14):
            a, b, c = A[o, i], A[o + 1, i], A[o + 2, i]
            if attached:
                x, y, z = A[o + 3, i], A[o + 4, i], A[o + 5, i]
                for j in range(3):
                    spin = x * ends[end, 4 + 3 * j] + y * ends[end, 5 + 3 * j] + z * ends[end, 6 + 3 * j]
                    A[o + 3 + j, i] = spin + a * T[end, 0, j] + b * T[end, 1, j] + c * T[end, 2, j]
            for j in range(3):
                A[o + j, i] = R1[j, 0] * a + R1[j, 1] * b + R1[j, 2] * c


@inlined
def attachment_stiffness(force1, force2, ends, R, work, A):
    """A (14, 14) += the change of the moment d x (Rn^T F) of a force F with the rotation of the frame, per end.

    force1, force2 (3,) : on the ends, components in the axes of the first section, constant in inertial axes.
    work : (2, 3) or more.
    """
    for end in range(2):
        if not every(ends[end, 0] == 0.0):
            rotate(R[1], force1 if end == 0 else force2, work[0])
            rotate_back(R[2 * end], work[0], work[1])
            add_torque_tangent(1.0, work[1], ends[end, 1:4], 7 * end + 3, A)
