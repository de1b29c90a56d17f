"""The satellite's section, and lines of elements of it, of femb and of Exudyn: same stiffness, shear and inertia."""

from typing import Any

import numpy as np

import femb

AREA, INERTIA, YOUNG, SHEAR, DENSITY = 2.5e-3, 5.2e-7, 7.17e10, 2.68e10, 2800.0
STIFFNESS = np.array(
    [YOUNG * AREA, 5 / 6 * SHEAR * AREA, 5 / 6 * SHEAR * AREA, SHEAR * 1.04e-6, YOUNG * INERTIA, YOUNG * INERTIA]
)
MASS = DENSITY * AREA
SPIN = DENSITY * INERTIA * np.array([2.0, 1.0, 1.0])


def section() -> femb.Section:
    """An aluminium square of 50 mm that shears."""
    axial, y, z, torsion, bending, _ = (float(x) for x in STIFFNESS)
    return femb.Section(
        "boom", axial_stiffness=axial, shear_stiffness=(y, z), torsional_stiffness=torsion,
        bending_stiffness=(bending, bending), mass_per_length=MASS, inertia_per_length=tuple(float(x) for x in SPIN),
    )  # fmt: skip


def exudyn_section(exu: Any, stiffness: Any = STIFFNESS, mass: float = MASS, spin: Any = SPIN) -> Any:
    """Exudyn's section of the same numbers."""
    found = exu.BeamSection()
    found.massPerLength, found.inertia = mass, np.diag(spin)
    found.stiffnessMatrix = np.diag(stiffness)
    return found
