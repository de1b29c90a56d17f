"""Data for stresses in the sections of a beam: points, area, second moments and torsional section modulus.

Source: docs/theory/loads.md, section 2.
"""

from typing import TYPE_CHECKING

import numpy as np

from femb.base.types import Floats
from femb.elements.beam.section_shapes import shape_properties, thickness_in_torsion

if TYPE_CHECKING:
    from femb.elements.beam.section import Section


def recovery_points(section: "Section") -> Floats:
    """(p, 2) m: y and z of the points for stresses.

    By default those of the section's shape; without one the corners of the rectangle with its radii of gyration.
    """
    if section.recovery_points is not None:
        return np.array(section.recovery_points)
    if section.shape is not None:
        return section.outline()
    stiffness = np.diag(section.stiffness())
    z, y = np.sqrt(12.0 * stiffness[2:] / stiffness[0])
    return np.array([[-y, -z], [y, -z], [y, z], [-y, z]]) / 2.0


def stress_section(section: "Section") -> Floats | None:
    """(4,) area (m2), second moments about y and z (m4), torsional section modulus (m3) or NaN where it is unknown.

    None of a section without an area, or with a stiffness that couples stretching, bending and torsion. Second moments
    that are not given follow from the stiffnesses as of one material.
    """
    stiffness = section.stiffness()
    if section.area is None or np.any(stiffness - np.diag(np.diag(stiffness))):
        return None
    if section.second_moments is not None:
        moments = np.array(section.second_moments)
    else:
        moments = section.area * np.diag(stiffness)[2:] / stiffness[0, 0]
    return np.array([section.area, *moments, _torsion_modulus(section)])


def _torsion_modulus(section: "Section") -> float:
    """Torsion constant divided by the greatest shear stress per G and twist, that of a circle or a rectangle."""
    if section.torsion_modulus is not None:
        return float(section.torsion_modulus)
    constant = section.torsion_constant
    if section.shape is not None:
        shape = shape_properties(section.shape)
        return shape.torsion_modulus * (1.0 if constant is None else float(constant) / shape.torsion_constant)
    if constant is None:
        return float("nan")
    stiffness = np.diag(section.stiffness())
    sides = np.sqrt(12.0 * stiffness[2:] / stiffness[0])
    return constant / thickness_in_torsion(float(max(sides)), float(min(sides)))
