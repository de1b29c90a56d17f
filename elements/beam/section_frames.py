"""Sections at any point along beams, interpolated from the results as in the element; for meshes and pictures."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats
from femb.numerics import rotations


@dataclass(frozen=True, eq=False)
class Sections:
    """Sections at s points of each of e elements, inertial axes; leading axes (...), usually time.

    position (..., e, s, 3) m; axes (..., e, s, 3, 3) : x, y and z axes as columns; velocity (..., e, s, 3) m/s;
    spin (..., e, s, 3) rad/s.
    """

    position: Floats
    axes: Floats
    velocity: Floats
    spin: Floats


def element_ends(nodes: Floats) -> Floats:
    """(..., e, 2, c) of both ends of every element, from nodes (..., n, c)."""
    return np.stack([nodes[..., :-1, :], nodes[..., 1:, :]], axis=-2)


def along(ends: Floats, xi: Floats) -> Floats:
    """(..., e, s, c) linear interpolation between the two ends of every element, from (..., e, 2, c)."""
    return ends[..., 0:1, :] + xi[:, None] * (ends[..., 1:2, :] - ends[..., 0:1, :])


def end_sections(recorded: Mapping[str, Floats]) -> Floats:
    """(..., e, 2, 4) quaternions of both ends of every element; at a corner the two elements have different ones."""
    nodes = recorded["quaternion"]
    return np.stack([rotations.multiply(nodes[..., :-1, :], recorded["corner"]), nodes[..., 1:, :]], axis=-2)


def beam_sections(recorded: Mapping[str, Floats], xi: Floats) -> Sections:
    """Sections at xi (s,) of all elements of quaternion Euler-Bernoulli beams; see ``LineItem.sections_between``.

    The velocity omits the rate of the axial strains, which is not recorded; the spin is interpolated linearly.
    """
    from femb.elements.beam.interpolation import cubics

    quaternions, strain, length = end_sections(recorded), recorded["strain"], recorded["element_length"]
    position = element_ends(recorded["position"])
    nodes = rotations.rotate(recorded["quaternion"], recorded["angular_velocity"])
    spin = element_ends(nodes)
    tangents = rotations.rotate(quaternions, np.array([1.0, 0.0, 0.0]))
    rates = (length[..., None] * (1.0 + strain))[..., None] * np.cross(spin, tangents)
    velocity = element_ends(recorded["velocity"])
    end_rates = np.stack([velocity[..., 0, :], rates[..., 0, :], velocity[..., 1, :], rates[..., 1, :]], axis=-2)
    centre, axes = section_frames((position, quaternions), strain, length, xi)
    return Sections(centre, axes, cubics(xi) @ end_rates, along(spin, xi))


def section_frames(ends: tuple[Floats, Floats], strain: Floats, length: Floats, xi: Floats) -> tuple[Floats, Floats]:
    """Positions (..., s, 3) m and section axes (..., s, 3, 3), as columns, at xi (s,) along elements.

    ends : positions (..., 2, 3) and quaternions (..., 2, 4) of the sections at both ends. strain (..., 2) : axial
    strain there. length (...) m : of the unstrained element. Source: ``femb.elements.beam.interpolation``.
    """
    from femb.elements.beam.interpolation import FINE, cubics, integrals, slope_formula, slopes, swing_formula

    position, sections = ends[0], rotations.rotation_matrix(ends[1])
    first, last = sections[..., 0, :, :], sections[..., 1, :, :]
    stretched = length[..., None] * (1.0 + strain)
    g1, g2 = stretched[..., :1] * first[..., 0], stretched[..., 1:] * last[..., 0]
    centre = cubics(xi) @ np.stack([position[..., 0, :], g1, position[..., 1, :], g2], axis=-2)

    # natural coordinates
    transposed = np.swapaxes(first, -1, -2)
    Q = transposed @ last
    d, G = ((transposed @ x[..., None])[..., 0] for x in (position[..., 1, :] - position[..., 0, :], g2))
    alpha = 2.0 * np.arctan2(Q[..., 2, 1] - Q[..., 1, 2], 1.0 + np.trace(Q, axis1=-2, axis2=-1))[..., None]
    X = np.stack([*np.moveaxis(d, -1, 0), stretched[..., 0], *np.moveaxis(G, -1, 0)])[..., None]

    # angle psi about the tangent
    n = slopes(FINE)
    u1, u2, u3 = slope_formula(n[:, 0], n[:, 1], n[:, 2], X)
    g = np.sqrt(u1 * u1 + u2 * u2 + u3 * u3)
    integral = (FINE**2 / (g * (g + u1))) @ integrals(FINE, np.append(xi, 1.0)).T
    transported = 6.0 * (X[1] * X[6] - X[2] * X[5]) * integral
    psi = transported[..., :-1] + xi * (alpha - transported[..., -1:])

    n = slopes(xi)
    u = np.stack(slope_formula(n[:, 0], n[:, 1], n[:, 2], X), axis=-1)
    t = u / np.linalg.norm(u, axis=-1, keepdims=True)
    swing = swing_formula(t[..., 0], t[..., 1], t[..., 2])
    y, z = np.stack(swing[:3], axis=-1), np.stack(swing[3:], axis=-1)
    c, s = np.cos(psi)[..., None], np.sin(psi)[..., None]
    return centre, first[..., None, :, :] @ np.stack([t, c * y + s * z, c * z - s * y], axis=-1)
