"""Rows of parameters of exact beam elements, from sections and the undeformed shape.

Source: docs/theory/exact_beam.md, sections 3, 4 and 9.
"""

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
from femb.numerics import rotations

E1 = np.array([1.0, 0.0, 0.0])


def natural_coordinates(first: tuple[Floats, Floats], last: tuple[Floats, Floats]) -> Floats:
    """d (6,) of section II in the axes of section I, each a position and a quaternion: equations (3) to (6)."""
    theta = rotations.logarithm(rotations.multiply(rotations.conjugate(first[1]), last[1]))
    x = rotations.rotate_back(first[1], last[0] - first[0])
    angle = float(np.linalg.norm(theta))
    k0 = 1.0 / 12.0 + angle**2 / 720.0 if angle < 1e-3 else (1.0 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2
    P = np.eye(3) - 0.5 * rotations.cross_matrix(theta) + k0 * np.linalg.matrix_power(rotations.cross_matrix(theta), 2)
    return np.concatenate([P @ x, theta])


def adjoint(a: Floats) -> Floats:
    """ad_a (6, 6): equation (2)."""
    result = np.zeros((6, 6))
    result[:3, :3] = result[3:, 3:] = rotations.cross_matrix(a[3:])
    result[:3, 3:] = rotations.cross_matrix(a[:3])
    return result


def compliances(first: Floats, second: Floats, change: Floats, length: float) -> tuple[Floats, Floats, Floats]:
    """Fm, Fq and G (6, 6) of compliances (6, 6) at both Gauss points and a change (6,) of the reference strain per
    length: equation (10)."""
    P0 = np.eye(6) - length**2 / 12.0 * adjoint(change)
    mean = P0 @ (0.5 * (first + second)) @ P0.T
    return mean, (first + second) / 24.0, (second - first) / (4.0 * np.sqrt(3.0))


def viscous_compliances(first: Floats, second: Floats, change: Floats, length: float) -> tuple[Floats, Floats, Floats]:
    """The same of viscous compliances, positive semidefinite for any of them: equation (13b)."""
    P0 = np.eye(6) - length**2 / 12.0 * adjoint(change)
    return compliances(P0 @ first @ P0.T, P0 @ second @ P0.T, np.zeros(6), length)


def damping_in_the_middle(row: Floats) -> Floats:
    """(6, 6) stress of the damping per rate of stress, s, of an element in its reference shape: section 11."""
    if row[DAMPING] != BY_DIRECTION:
        return np.asarray(row[DAMPING] * np.eye(6))
    ad, parts = adjoint(row[REFERENCE : REFERENCE + 6]), []
    for at in (MEAN, VISCOUS_MEAN):
        mean, quadratic, slope = row[at : at + 108].reshape(3, 6, 6)
        parts.append(mean + ad @ slope + (ad @ quadratic + slope) @ ad.T)
    return np.asarray(np.linalg.solve(parts[0], parts[1]))


def reference_changes(shape: Shape) -> Floats:
    """(e, 6) change of the reference strain per length in every element, from its neighbours on a smooth line."""
    count = len(shape.lengths)
    result = np.zeros((count, 6))
    if shape.straight:
        return result
    curvatures = np.array([shape.curvature(k) for k in range(count)])
    middles = np.cumsum(shape.lengths) - 0.5 * shape.lengths
    corners = shape.corner_nodes
    for k in range(count):
        before = k - 1 if k > 0 and k not in corners else k
        after = k + 1 if k + 1 < count and k + 1 not in corners else k
        if after > before:
            result[k, 3:] = (curvatures[after] - curvatures[before]) / (middles[after] - middles[before])
    return result


def element_row(
    length: float,
    damping: float | tuple[Floats, Floats, Floats],
    mass: Floats,
    reference: Floats,
    compliance: tuple[Floats, Floats, Floats],
    stations: tuple[Station, Station],
    corner: Floats,
) -> Floats:
    """The parameters of an element. damping : the coefficient (s), or viscous compliances Fm, Fq and G (6, 6). mass
    (6, 6) : per length; reference (6,) : d0; corner (4,) : rotation from the
    first node's section to the element's."""
    row = np.zeros(ALL_COLUMNS if isinstance(damping, tuple) else COLUMNS)
    row[LENGTH], row[MASS] = length, length * mass[0, 0]
    if isinstance(damping, tuple):
        row[DAMPING], row[VISCOUS_MEAN:] = BY_DIRECTION, np.concatenate([matrix.ravel() for matrix in damping])
    else:
        row[DAMPING] = damping
    row[REFERENCE : REFERENCE + 6] = reference
    for at, matrix in zip((MEAN, QUADRATIC, SLOPE), compliance, strict=True):
        row[at : at + 36] = matrix.ravel()
    m = mass[0, 0]
    c = np.array([0.0, -mass[0, 5], mass[0, 4]]) / m
    rotary = mass[3:, 3:] - m * (c @ c * np.eye(3) - np.outer(c, c))
    half = np.zeros((3, 3))
    half[0, 0] = rotary[0, 0] / 12.0
    axes = [stations[0].axes @ rotations.rotation_matrix(corner), stations[1].axes]
    tangent = reference[:3] / length + rotations.cross(reference[3:] / length, c)
    points = []
    for station, C in zip(stations, axes, strict=True):
        points += [station.offset + C @ c, length * C @ tangent]
    row[POINTS : POINTS + 12] = np.concatenate(points)
    C1, C2 = axes
    inertias = (C1 @ (0.5 * rotary - half) @ C1.T, C1 @ half @ C2.T, C2 @ (0.5 * rotary - half) @ C2.T)
    row[ROTARY : ROTARY + 27] = length * np.concatenate([part.ravel() for part in inertias])
    return row
