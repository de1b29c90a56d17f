"""Stresses at the recovery points of beams, from section forces and moments.

    sigma = N/A + M_y z/I_y - M_z y/I_z,    tau = |M_x|/W_t,    von Mises = sqrt(sigma^2 + 3 tau^2)

tau is the largest shear stress of torsion in the section, taken at every point; the shear of the shear forces is left
out. Source: docs/theory/loads.md, section 2.
"""

import numpy as np

from femb.base.types import Floats
from femb.results.quantity import Group


def section_loads(group: Group) -> Floats:
    """(T, e, 3, 6): section force (N) and moment (N m) at start, middle and end of every element, section axes."""
    force, moment = (
        np.stack([group[ends][:, :, 0], group[middle], group[ends][:, :, 1]], axis=2)
        for ends, middle in (("section_force", "midpoint_force"), ("section_moment", "midpoint_moment"))
    )
    return np.concatenate([force, moment], axis=-1)


def axial_stress(group: Group) -> Floats:
    """(T, e, 3, p) Pa at start, middle and end of every element."""
    loads, points, section = section_loads(group), group["recovery_points"], group["stress_section"]
    force, about_y, about_z = loads[..., 0, None], loads[..., 4, None], loads[..., 5, None]
    result: Floats = force / section[0] + about_y * (points[:, 1] / section[1]) - about_z * (points[:, 0] / section[2])
    return result


def shear_stress(group: Group) -> Floats:
    """(T, e, 3) Pa: the largest of torsion; NaN where the torsional section modulus is unknown."""
    moment = np.stack(
        [group["section_moment"][:, :, 0, 0], group["midpoint_moment"][..., 0], group["section_moment"][:, :, 1, 0]],
        axis=2,
    )
    result: Floats = np.abs(moment) / group["stress_section"][3]
    return result


def von_mises(group: Group) -> Floats:
    """(T, e, 3, p) Pa; without torsion where the torsional section modulus is unknown."""
    shear = np.nan_to_num(shear_stress(group), nan=0.0)
    return np.sqrt(axial_stress(group) ** 2 + 3.0 * shear[..., None] ** 2)
