"""A reduced body in mean axes: the frame follows the motion of the whole mass, and no interface is held.

The shapes are referred to the rigid motion that has their momenta, so that S1 = 0 and C0 = 0. With coupling "constant"
the mass matrix by motion of the frame and coordinates does not change with deformation, and stays positive definite.
Source: docs/theory/modal_body.md, section 7.
"""

import numpy as np

from femb.analysis.fem.reference import at_points, referred_arrays
from femb.analysis.fem.shaped import ShapedBody
from femb.base.errors import ModelError
from femb.elements.modal.data import ReducedBody
from femb.numerics.rotations import cross_matrix

MEAN = "mean"


def in_mean_axes(body: ReducedBody) -> ShapedBody:
    """The body with one more interface, "mean", the first: its frame lies on the root of the undeformed body.

    Raises ModelError: fewer coordinates than motions of the interfaces.
    """
    wanted = 6 * len(body.interfaces)
    if body.size < wanted:
        raise ModelError(
            f"mean axes: the body has {body.size} coordinates, its {len(body.interfaces)} interfaces move in {wanted} "
            f"ways: reduce it with {wanted - body.size} more modes"
        )
    if MEAN in body.interface_names:
        raise ModelError(f"mean axes: the body has an interface {MEAN!r} already")
    shaped = ShapedBody.of(body)
    cross = cross_matrix(body.first_moment)
    rigid = np.block([[body.mass * np.eye(3), -cross], [cross, body.inertia]])
    motion = np.linalg.solve(rigid, np.hstack([body.S1, body.C0]).T)
    arrays = referred_arrays(shaped.arrays, motion, np.zeros(3))
    points = body.interfaces
    moved = shaped.motions - motion
    moved[:, :3] += motion[:3] - at_points(motion, points).transpose(1, 2, 0)
    for name in ("interfaces", "interface_axes"):
        arrays[name] = np.concatenate([arrays[name][:1], arrays[name]])
    motions = np.concatenate([np.zeros((1, *moved.shape[1:])), moved])
    return ShapedBody(arrays, motions, (MEAN, *shaped.names), shaped.cells, shaped.recovery_names, True)
