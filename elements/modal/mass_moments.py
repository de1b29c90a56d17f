"""Second moments B = int a b^T dm of vector fields, and the inertia and twist that are made of them.

Source: docs/theory/modal_body.md, section 1.
"""

import numpy as np

from femb.base.types import Floats


def symmetric(a: Floats) -> Floats:
    """The symmetric part by the last two axes."""
    return np.asarray(0.5 * (a + np.swapaxes(a, -1, -2)))


def axial(B: Floats) -> Floats:
    """(..., 3): the vector (B_23 - B_32, B_31 - B_13, B_12 - B_21) of B (..., 3, 3)."""
    forward, back = B[..., [1, 2, 0], [2, 0, 1]], B[..., [2, 0, 1], [1, 2, 0]]
    return np.asarray(forward - back)


def inertia_of(P: Floats) -> Floats:
    """I(P) = tr(P) 1 - (P + P^T)/2 of P (..., 3, 3)."""
    return np.asarray(np.trace(P, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - symmetric(P))


def product_of(inertia: Floats, twist: Floats) -> Floats:
    """B (..., 3, 3) of 2 I(B) and ax(B)."""
    trace = np.trace(inertia, axis1=-2, axis2=-1)[..., None, None]
    return np.asarray(0.25 * trace * np.eye(3) - 0.5 * inertia - 0.5 * np.cross(np.eye(3), twist[..., None, :]))
