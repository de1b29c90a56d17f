"""Rows of parameters of exact beam elements, from sections and the undeformed shape.

Source: docs/theory/exact_beam.md, sections 3, 4 and 9.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from femb.base.types import Floats
from femb.elements.beam.end_rows import AXES, OFFSET, QUATERNION
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
    REFERENCE,
    ROTARY,
    VISCOUS_MEAN,
)
from femb.layout.views import ModelView
from femb.numerics import rotations

# Axial strain, twist and curvatures among the six strains.
STRAINS = [0, 3, 4, 5]


@dataclass(frozen=True, eq=False)
class ElementProperties:
    """What the parameters of e elements are computed from.

    lengths (e,) m. corners (e, 4) : rotation from the first node's section to the element's. reference (e, 6) : d0;
    changes (e, 6) : of the reference strain per length. compliance (e, 2, 6, 6) : at both Gauss points. damping (e,) s,
    BY_DIRECTION where there is a viscous compliance (e, 2, 6, 6); None if none has one. mass (e, 6, 6) : per length.
    """

    lengths: Floats
    corners: Floats
    reference: Floats
    changes: Floats
    compliance: Floats
    damping: Floats
    viscous: Floats | None
    mass: Floats

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The elements of several beams."""
        if len(parts) == 1:
            return parts[0]
        words = ("lengths", "corners", "reference", "changes", "compliance", "damping", "mass")
        joined = {word: np.concatenate([getattr(part, word) for part in parts]) for word in words}
        viscous = None
        if any(part.viscous is not None for part in parts):
            none = [np.zeros_like(part.compliance) for part in parts]
            given = zip(parts, none, strict=True)
            viscous = np.concatenate([zero if part.viscous is None else part.viscous for part, zero in given])
        return cls(**joined, viscous=viscous)


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


def compliances(pair: Floats, changes: Floats, lengths: Floats) -> tuple[Floats, Floats, Floats]:
    """Fm, Fq and G (e, 6, 6) of compliances (e, 2, 6, 6) at both Gauss points and changes (e, 6) of the reference
    strain per length: equation (10)."""
    P0, first, second = _middle(changes, lengths), pair[:, 0], pair[:, 1]
    mean = P0 @ (0.5 * (first + second)) @ _transposed(P0)
    return mean, (first + second) / 24.0, (second - first) / (4.0 * np.sqrt(3.0))


def viscous_compliances(pair: Floats, changes: Floats, lengths: Floats) -> tuple[Floats, Floats, Floats]:
    """The same of viscous compliances, positive semidefinite for any of them: equation (13b)."""
    P0 = _middle(changes, lengths)[:, None]
    return compliances(P0 @ pair @ _transposed(P0), np.zeros_like(changes), lengths)


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


def element_rows(elements: ElementProperties, ends: Floats) -> Floats:
    """The parameters (e, 156 or 264) of elements, from their properties and the rows (e, 2, 17) of their ends."""
    lengths, mass, reference = elements.lengths, elements.mass, elements.reference
    count, m = len(lengths), mass[:, 0, 0]
    rows = np.zeros((count, COLUMNS if elements.viscous is None else ALL_COLUMNS))
    rows[:, LENGTH], rows[:, MASS], rows[:, DAMPING] = lengths, lengths * m, elements.damping
    rows[:, REFERENCE : REFERENCE + 6] = reference
    found = compliances(elements.compliance, elements.changes, lengths)
    rows[:, MEAN : MEAN + 108] = np.stack(found, axis=1).reshape(count, 108)
    if elements.viscous is not None:
        found = viscous_compliances(elements.viscous, elements.changes, lengths)
        rows[:, VISCOUS_MEAN:] = np.stack(found, axis=1).reshape(count, 108)
    c = np.zeros((count, 3))
    c[:, 1], c[:, 2] = -mass[:, 0, 5] / m, mass[:, 0, 4] / m
    square = np.sum(c * c, axis=1)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :]
    rotary = mass[:, 3:, 3:] - m[:, None, None] * square
    half = np.zeros((count, 3, 3))
    half[:, 0, 0] = rotary[:, 0, 0] / 12.0
    C = ends[:, :, AXES:QUATERNION].reshape(count, 2, 3, 3)
    L = lengths[:, None]
    tangent = reference[:, :3] / L + rotations.cross(reference[:, 3:] / L, c)
    points = np.empty((count, 2, 2, 3))
    points[:, :, 0] = ends[:, :, OFFSET:AXES] + _apply(C, c[:, None])
    points[:, :, 1] = L[:, None] * _apply(C, tangent[:, None])
    rows[:, POINTS : POINTS + 12] = points.reshape(count, 12)
    C1, C2 = C[:, 0], C[:, 1]
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
