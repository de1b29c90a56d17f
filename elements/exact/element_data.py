"""Rows of parameters of exact beam elements, from sections and the undeformed shape.

Source: docs/theory/exact_beam.md, sections 3, 4 and 9.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.beam.shape import Shape
from femb.elements.exact.columns import (
    ALL_COLUMNS,
    BY_DIRECTION,
    COLUMNS,
    DAMPING,
    LENGTH,
    MASS,
    MEAN,
    POINTS,
    QUADRATIC,
    REFERENCE,
    ROTARY,
    SLOPE,
    VISCOUS_MEAN,
)
from femb.layout.layout import Station
from femb.layout.views import ModelView
from femb.numerics import rotations

# Axial strain, twist and curvatures among the six strains.
STRAINS = [0, 3, 4, 5]


def natural_coordinates(first: tuple[Floats, Floats], last: tuple[Floats, Floats]) -> Floats:
    """d (..., 6) of sections II in the axes of sections I, each positions and quaternions: equations (3) to (6)."""
    theta = rotations.logarithm(rotations.multiply(rotations.conjugate(first[1]), last[1]))
    x = rotations.rotate_back(first[1], last[0] - first[0])
    angle = np.linalg.norm(theta, axis=-1)
    small = angle < 1e-3
    safe = np.where(small, 1.0, angle)
    k0 = np.where(small, 1.0 / 12.0 + angle**2 / 720.0, (1.0 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2)
    tilde = rotations.cross_matrix(theta)
    P = np.eye(3) - 0.5 * tilde + k0[..., None, None] * (tilde @ tilde)
    return np.concatenate([_apply(P, x), theta], axis=-1)


def adjoint(a: Floats) -> Floats:
    """ad_a (..., 6, 6): equation (2)."""
    result = np.zeros((*a.shape[:-1], 6, 6))
    result[..., :3, :3] = result[..., 3:, 3:] = rotations.cross_matrix(a[..., 3:])
    result[..., :3, 3:] = rotations.cross_matrix(a[..., :3])
    return result


def compliances(first: Floats, second: Floats, changes: Floats, lengths: Floats) -> tuple[Floats, Floats, Floats]:
    """Fm, Fq and G (e, 6, 6) of compliances (e, 6, 6) at both Gauss points and changes (e, 6) of the reference strain
    per length: equation (10)."""
    P0 = _middle(changes, lengths)
    mean = P0 @ (0.5 * (first + second)) @ _transposed(P0)
    return mean, (first + second) / 24.0, (second - first) / (4.0 * np.sqrt(3.0))


def viscous_compliances(
    first: Floats, second: Floats, changes: Floats, lengths: Floats
) -> tuple[Floats, Floats, Floats]:
    """The same of viscous compliances, positive semidefinite for any of them: equation (13b)."""
    P0 = _middle(changes, lengths)
    first, second = (P0 @ compliance @ _transposed(P0) for compliance in (first, second))
    return compliances(first, second, np.zeros_like(changes), lengths)


def _middle(changes: Floats, lengths: Floats) -> Floats:
    """P0 (e, 6, 6) of equation (10)."""
    return np.asarray(np.eye(6) - (lengths**2 / 12.0)[:, None, None] * adjoint(changes))


def damped_by_direction(data: Floats) -> Floats:
    """Rows of parameters with viscous compliances in place of single coefficients of damping, where elements of both
    kinds are in one group."""
    rows, result = data[:, DAMPING] != BY_DIRECTION, data.copy()
    result[rows, VISCOUS_MEAN:] = data[rows, DAMPING, None] * data[rows, MEAN:POINTS]
    result[rows, DAMPING] = BY_DIRECTION
    return result


def damping_in_the_middle(data: Floats) -> Floats:
    """(e, 6, 6) stress of the damping per rate of stress, s, of elements in their reference shape: section 11.

    data : their rows of parameters.
    """
    result: Floats = data[:, DAMPING, None, None] * np.eye(6)
    rows = data[data[:, DAMPING] == BY_DIRECTION]
    if len(rows):
        ad, parts = adjoint(rows[:, REFERENCE : REFERENCE + 6]), []
        for at in (MEAN, VISCOUS_MEAN):
            mean, quadratic, slope = np.moveaxis(rows[:, at : at + 108].reshape(-1, 3, 6, 6), 1, 0)
            parts.append(mean + ad @ slope + (ad @ quadratic + slope) @ _transposed(ad))
        result[data[:, DAMPING] == BY_DIRECTION] = np.linalg.solve(*parts)
    return result


def reference_changes(shape: Shape) -> Floats:
    """(e, 6) change of the reference strain per length in every element, from its neighbours on a smooth line."""
    count = len(shape.lengths)
    result = np.zeros((count, 6))
    if shape.straight:
        return result
    element = np.arange(count)
    curvatures = shape.curvature(element)
    middles = np.cumsum(shape.lengths) - 0.5 * shape.lengths
    corners = shape.corner_nodes
    # between an element and the one before it: neither the start nor a corner
    smooth = np.array([0 < k < count and k not in corners for k in range(count + 1)])
    before, after = element - smooth[:-1], element + smooth[1:]
    inner = after > before
    before, after = before[inner], after[inner]
    result[inner, 3:] = (curvatures[after] - curvatures[before]) / (middles[after] - middles[before])[:, None]
    return result


def element_rows(
    lengths: Floats,
    damping: Floats | tuple[Floats, Floats, Floats],
    mass: Floats,
    reference: Floats,
    compliance: tuple[Floats, Floats, Floats],
    stations: Sequence[Station],
    corners: Floats,
) -> Floats:
    """The parameters (e, 156 or 264) of elements. damping : the coefficients (e,) s, or viscous compliances Fm, Fq and
    G (e, 6, 6). mass (e, 6, 6) : per length; reference (e, 6) : d0; stations : of the nodes; corners (e, 4) : rotation
    from the first node's section to the element's."""
    count, m = len(lengths), mass[:, 0, 0]
    rows = np.zeros((count, ALL_COLUMNS if isinstance(damping, tuple) else COLUMNS))
    rows[:, LENGTH], rows[:, MASS] = lengths, lengths * m
    if isinstance(damping, tuple):
        rows[:, DAMPING], rows[:, VISCOUS_MEAN:] = BY_DIRECTION, np.stack(damping, axis=1).reshape(count, -1)
    else:
        rows[:, DAMPING] = damping
    rows[:, REFERENCE : REFERENCE + 6] = reference
    for at, matrix in zip((MEAN, QUADRATIC, SLOPE), compliance, strict=True):
        rows[:, at : at + 36] = matrix.reshape(count, 36)
    c = np.column_stack([np.zeros(count), -mass[:, 0, 5], mass[:, 0, 4]]) / m[:, None]
    square = np.sum(c * c, axis=1)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :]
    rotary = mass[:, 3:, 3:] - m[:, None, None] * square
    half = np.zeros((count, 3, 3))
    half[:, 0, 0] = rotary[:, 0, 0] / 12.0
    offsets = np.array([station.offset for station in stations])
    axes = rotations.rotation_matrix(np.array([station.rotation for station in stations]))
    C1, C2 = axes[:-1] @ rotations.rotation_matrix(corners), axes[1:]
    L = lengths[:, None]
    tangent = reference[:, :3] / L + rotations.cross(reference[:, 3:] / L, c)
    points = []
    for offset, C in ((offsets[:-1], C1), (offsets[1:], C2)):
        points += [offset + _apply(C, c), L * _apply(C, tangent)]
    rows[:, POINTS : POINTS + 12] = np.hstack(points)
    own = 0.5 * rotary - half
    inertias = (C1 @ own @ _transposed(C1), C1 @ half @ _transposed(C2), C2 @ own @ _transposed(C2))
    rows[:, ROTARY : ROTARY + 27] = L * np.stack(inertias, axis=1).reshape(count, 27)
    return rows


def _apply(R: Floats, x: Floats) -> Floats:
    """Matrices (..., 3, 3) times vectors (..., 3)."""
    return np.asarray((R @ x[..., None])[..., 0])


def _transposed(matrices: Floats) -> Floats:
    return np.swapaxes(matrices, -1, -2)


def free_strains(heating: Sequence[Any], slices: Mapping[str, slice], model: ModelView, count: int) -> Floats:
    """(k, count, 6) free strains of the elements by unit factors of k thermal loads; slices : elements of each beam."""
    strains: Floats = np.zeros((len(heating), count, 6))
    for k, load in enumerate(heating):
        for j, expansion in enumerate(model.beams[load.beam].expansions(model)):
            strains[k, slices[load.beam].start + j, STRAINS] = load.free_strain(expansion)
    return strains
