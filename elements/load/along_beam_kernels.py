"""Kernels shared by loads along beam elements: geometry of an element, and transfer of end forces to its frames.

index, ends, data : rows of the arrays of ``femb.elements.beam.columns``. R (5, 3, 3) : axes of frame I, end I, frame II
and end II; Q, from the axes of section II to those of section I.
"""

from femb.elements.beam.ends import force_to_frame
from femb.elements.beam.frame_matrices import attachment_stiffness, frame_map, scatter_ends, to_frames
from femb.numerics.compile import inlined
from femb.numerics.vector3 import rotate, rotate_back


@inlined
def add_force(index, ends, R, f, sign, work, out):
    """out (n_v,) += sign times a force f (14,) on the ends: forces in axes of section I, moments in end axes.

    work : (3, 3).
    """
    F, force, torque = work[0], work[1], work[2]
    for end in range(2):
        o = 7 * end
        rotate(R[1], f[o : o + 3], F)
        frame = index[2 + end]
        if frame >= 0:
            force_to_frame(F, f[o + 3 : o + 6], ends[end], R[2 * end], force, torque)
            for i in range(3):
                out[frame + i] += sign * force[i]
                out[frame + 3 + i] += sign * torque[i]
        out[index[6 + end]] += sign * f[o + 6]


@inlined
def add_section_force(R, f, sign, work, section):
    """section (2, 6) += the contribution of a residual force sign f to the section forces (see ``force.forces``)."""
    F, own = work[0], work[1]
    for end in range(2):
        o, outward = 7 * end, -sign if end == 0 else sign
        rotate(R[1], f[o : o + 3], F)
        rotate_back(R[1 + 2 * end], F, own)
        for i in range(3):
            section[end, i] += outward * own[i]
            section[end, 3 + i] += outward * f[o + 3 + i]


@inlined
def add_tangent(ends, offset, stride, R, T, f, A, out):
    """Add the change A (14, 14) of the residual force f (14,) with the motion of the ends to block data; A changes.

    T (2, 3, 3) : work array.
    """
    attached = ends[0, 0] != 0.0 or ends[1, 0] != 0.0
    if attached:
        frame_map(R, ends, T)
    to_frames(A, R[1], T, ends)
    if attached:
        attachment_stiffness(f[0:3], f[7:10], ends, R, T[0], A)
    scatter_ends(A, offset, stride, out)
