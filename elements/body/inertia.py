"""The inertia matrix of a rigid body from user input."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.base.values import as_numbers, finite_problem, frozen_array, shown


def inertia_matrix(value: Any, mass: float, distance: Floats) -> tuple[Floats | None, str | None]:
    """The 3 x 3 inertia about the mass centre from a scalar, three principal moments or a matrix, and None; or None and
    the problem.

    mass (kg), distance (3,) m : of a point from the mass centre, that the value is about.

    A physical inertia about the mass centre has principal moments that are positive and obey the triangle
    inequality (each at most the sum of the other two); equality is a flat or thin body and is allowed.
    """
    array = as_numbers(value)
    if array is None:
        array = np.empty(0)
    if array.shape == ():
        array = np.full(3, float(array))
    fits = array.shape in ((3,), (3, 3))
    problem = finite_problem(value, array) if fits else None
    if not fits or (problem and not np.isfinite(array).all()):
        return (
            None,
            f"got {shown(value)}, wanted a number, 3 principal moments or a 3 x 3 matrix, all finite (kg m2)",
        )
    if problem:
        return None, problem
    if array.ndim == 1 and not mass:
        moments, array = sorted(array.tolist()), np.diag(array)
    else:
        array = np.diag(array) if array.ndim == 1 else array
        if np.max(np.abs(array - array.T)) > 1e-9 * np.max(np.abs(array)):
            return None, f"got {shown(value)}, which is not symmetric"
        array = array - mass * (distance @ distance * np.eye(3) - np.outer(distance, distance))
        moments = np.linalg.eigvalsh(array).tolist()
    problem = _moments_problem(moments, " about the mass centre" if np.any(distance) else "")
    return (None, problem) if problem else (frozen_array(0.5 * (array + array.T)), None)


def _moments_problem(moments: Sequence[float], moved: str) -> str | None:
    """Why ascending principal moments are not those of a body; None if they are. moved : what they are about."""
    least, middle, largest = moments
    if least > 0.0 and largest <= (least + middle) * (1.0 + 1e-9):
        return None
    listed = ", ".join(f"{moment:.6g}" for moment in moments)
    if not least > 0.0:
        return f"principal moments {listed} kg m2{moved}: all must be greater than 0"
    return (
        f"principal moments {listed} kg m2{moved} break the triangle inequality: no body has one moment above the "
        "sum of the other two; check the signs of the products of inertia and the point the inertia refers to "
        "(the mass centre)"
    )
