"""Stresses at given points of both kinds of beams, of bending about both axes, torsion and pull at once."""

import numpy as np
import pytest

import femb
from femb import Attachment, Beam, ExactBeam, Load, Model, Section
from femb.elements.beam.line import stress_section

LENGTH, PULL, TORQUE, FORCES = 2.0, 3000.0, 40.0, (70.0, -110.0)
SIDES = (0.04, 0.06)
POINTS = np.array([[0.02, 0.03], [-0.02, 0.03], [0.0, -0.03], [0.01, 0.0]])


@pytest.mark.parametrize("kind", [Beam, ExactBeam])
def test_stress_of_bending_torsion_and_pull(kind):
    """sigma = N/A + M_y z/I_y - M_z y/I_z at each point, and the von Mises stress with M_x/W_t; small deflections."""
    y, z = SIDES
    # stiff, so that the deflection does not change the moments
    section = Section("bar", shape={"rectangle": SIDES}, youngs_modulus=7e15, shear_modulus=2.7e15, density=2700.0,
                      recovery_points=POINTS)  # fmt: skip
    model = Model()
    start = Attachment(body="ground", direction=(1.0, 0.0, 0.0), up=(0.0, 1.0, 0.0))
    model.add(kind("b", section, LENGTH, 2, start=start))
    model.add(Load("end", beam="b", force=(PULL, *FORCES), torque=(TORQUE, 0.0, 0.0)))
    beam = femb.static(model).beams["b"]
    # the moments of the forces at the end about the start, the middle of an element and its end
    arm = np.array([[LENGTH, 0.75 * LENGTH, 0.5 * LENGTH], [0.5 * LENGTH, 0.25 * LENGTH, 0.0]])
    about_y, about_z = -arm * FORCES[1], arm * FORCES[0]
    area, inertia = y * z, (y * z**3 / 12.0, z * y**3 / 12.0)
    along = (
        PULL / area + about_y[..., None] * POINTS[:, 1] / inertia[0] - about_z[..., None] * POINTS[:, 0] / inertia[1]
    )
    np.testing.assert_allclose(beam.axial_stress[-1], along, rtol=0.0, atol=2e-6 * np.abs(along).max())
    # W_t of a rectangle of 3 to 2: 0.2310 long short2 (Timoshenko and Goodier, article 109)
    shear = TORQUE / (0.2310 * z * y**2)
    np.testing.assert_allclose(beam.shear_stress[-1], shear, rtol=5e-4)
    np.testing.assert_allclose(beam.von_mises[-1], np.sqrt(along**2 + 3.0 * shear**2), rtol=5e-4)


def test_sections_without_second_moments_have_those_of_one_material():
    """I = EI A/EA about each axis."""
    y, z = SIDES
    area, second = y * z, (y * z**3 / 12.0, z * y**3 / 12.0)
    stiffness = np.diag(7e9 * np.array([area, 0.3 * area**2, *second]))
    section = Section(
        "bar", area=area, stiffness_matrix=stiffness, mass_per_length=6.5, inertia_per_length=(2e-3, 1e-3, 1e-3)
    )
    np.testing.assert_allclose(stress_section(section)[:3], [area, *second], rtol=1e-14)
