"""Walls of shells: stiffness and mass per area of plies."""

import numpy as np
import pytest

import femb
from femb.elements.shell.laminate import wall_of_plies, wall_of_sheet


def test_one_material_has_five_sixths_of_its_shear():
    E, G, h = 70e9, 26e9, 2e-3
    wall = wall_of_plies([femb.Ply(h, 0.4, (E, E), G, 0.5 * E / G - 1.0, 2700.0)], 0.0)
    np.testing.assert_allclose(wall.stiffness[6:, 6:], 5.0 / 6.0 * G * h * np.eye(2), rtol=1e-12, atol=1e-3)
    nu = 0.5 * E / G - 1.0
    np.testing.assert_allclose(wall.stiffness[3, 3], E * h**3 / (12.0 * (1.0 - nu * nu)), rtol=1e-12)
    np.testing.assert_allclose(wall.mass, [2700.0 * h, 0.0, 2700.0 * h**3 / 12.0], rtol=1e-12, atol=1e-12)


def test_plies_split_in_two_are_the_same():
    words = {"youngs_moduli": (140e9, 10e9), "shear_modulus": 5e9, "poissons_ratio": 0.3, "density": 1600.0}
    whole = [femb.Ply(t, a, transverse_shear=(5e9, 3e9), **words) for t, a in ((1e-3, 0.3), (2e-3, -0.8))]
    halves = [femb.Ply(t, a, transverse_shear=(5e9, 3e9), **words) for t, a in ((5e-4, 0.3),) * 2 + ((1e-3, -0.8),) * 2]
    one, two = wall_of_plies(whole, 1e-3), wall_of_plies(halves, 1e-3)
    np.testing.assert_allclose(one.stiffness, two.stiffness, rtol=1e-11, atol=1e-6)
    np.testing.assert_allclose(one.mass, two.mass, rtol=1e-12)


def test_sandwich_shears_in_its_core():
    """G (c + t)^2 / c, for faces that are thin."""
    c, t, G = 20e-3, 0.2e-3, 50e6
    face = femb.Ply(t, 0.0, material="aluminium 2014-T6")
    core = femb.Ply(c, 0.0, (1e4, 1e4), 1e4, 0.1, 30.0, transverse_shear=(G, 0.5 * G))
    wall = wall_of_plies([face, core, face], 0.0)
    np.testing.assert_allclose(np.diag(wall.stiffness)[6:], np.array([G, 0.5 * G]) * (c + t) ** 2 / c, rtol=2e-3)


def test_cross_ply_turned_by_a_quarter_is_the_other_one():
    ply = {"material": "carbon T300/5208"}
    first = wall_of_plies([femb.Ply(1e-3, 0.0, **ply), femb.Ply(1e-3, np.pi / 2, **ply)], 0.0).stiffness
    other = wall_of_plies([femb.Ply(1e-3, np.pi / 2, **ply), femb.Ply(1e-3, 0.0, **ply)], 0.0).stiffness
    swap = np.ix_([1, 0, 2, 4, 3, 5, 7, 6], [1, 0, 2, 4, 3, 5, 7, 6])
    np.testing.assert_allclose(first[swap], other, rtol=1e-10, atol=1e-4)


@pytest.mark.parametrize("offset", [0.0, 3e-3])
def test_offset_moves_the_reference_surface(offset):
    """Bending of a wall about its middle: D = D0 + A offset^2, B = -A offset."""
    wall = wall_of_plies([femb.Ply(2e-3, 0.0, material="aluminium 2014-T6")], offset).stiffness
    middle = wall_of_plies([femb.Ply(2e-3, 0.0, material="aluminium 2014-T6")], 0.0).stiffness
    np.testing.assert_allclose(wall[:3, 3:6], -offset * middle[:3, :3], rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(wall[3:6, 3:6], middle[3:6, 3:6] + offset**2 * middle[:3, :3], rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 3e-3])
def test_sheet_with_the_stiffnesses_of_a_ply_is_that_ply(offset):
    ply = femb.Ply(2e-3, 0.4, material="carbon T300/5208")
    wall, middle = wall_of_plies([ply], offset), wall_of_plies([ply], 0.0).stiffness
    sheet = wall_of_sheet(middle[:3, :3], middle[3:6, 3:6], middle[6:, 6:], ply.thickness, ply.density, offset)
    np.testing.assert_allclose(sheet.stiffness, wall.stiffness, rtol=1e-12, atol=1e-9 * wall.stiffness.max())
    np.testing.assert_allclose(sheet.mass, wall.mass, rtol=1e-12, atol=1e-15)
