"""Columns of the arrays that the kernels of flexible bodies take.

For a body with k interfaces, n coordinates and m modes:
index (k + 1, 3) int: a row ``femb.elements.frame_index.frame_indices`` of the frame of each interface; last the first
mode in q and in v. stations (k, 7): whether the interface is off its frame, its offset in the frame, its position at
rest in the body frame. rests (k, 2, 3, 3): its axes in the frame, and at rest in the body frame. rigid (10,): mass,
first moment, inertia at rest. linear (n, 12): S1, C0, J1. pairs (3, n, n): M, K, D. quad (n, n, 12): S2, Q, J2, or
(0, 0, 12) for coupling "constant". psi2 (p, n, n), p = 3 (k - 1) or 0,
and N - n more. Symmetric 3 x 3 matrices are six numbers:
xx, yy, zz, yz, xz, xy.

Coordinates: the kernels take the n that are measured, x, and N >= n that move the mass, eta: those that strain the
body, and last the N - n amplitudes of displacements of second order. linear, pairs and quad are of the N. The last
N - n matrices of psi2 give these amplitudes, the others the displacements of interfaces: eta_i = x_i - x psi2 x / 2.
"""

import numpy as np

from femb.base.types import Floats

OFF, OFFSET, POINT = 0, 1, 4
IN_FRAME, AT_REST = 0, 1
S1, C0, J1 = 0, 3, 6
MASS, STIFFNESS, DAMPING = 0, 1, 2
S2, Q, J2 = 0, 3, 6

# The motion of a station, rows of (8, 3): position, velocity and acceleration, inertial axes; angular velocity and
# acceleration in its axes; relative to the frame, in its axes: omega x d, the acceleration alpha x d + omega x
# (omega x d), omega.
R, RATE, ACC, OMEGA, ALPHA, ARM_RATE, ARM_ACC, FRAME_OMEGA = range(8)

# The relative motion of an interface, rows of (9, 3): x, theta; difference of velocities and of accelerations in body
# axes; y, c = C^T omega, e = C^T alpha, g of equation (21); h and 1 + tau, one number each.
X, THETA, DV, DA, Y, TURNED, TURNED_ALPHA, G, SCALARS = range(9)


def six(matrix: Floats) -> Floats:
    """(..., 6) numbers of symmetric matrices (..., 3, 3)."""
    rows, columns = (0, 1, 2, 1, 0, 0), (0, 1, 2, 2, 2, 1)
    packed: Floats = np.stack([matrix[..., i, j] for i, j in zip(rows, columns, strict=True)], axis=-1)
    return packed
