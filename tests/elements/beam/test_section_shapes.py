"""Sections by shape, material and plies: closed forms, and what contradicts."""

import dataclasses

import checkout
import numpy as np
import pytest
from models import refuses

import femb
from femb.elements.beam.line import stress_section
from femb.elements.beam.section_shapes import shape_properties

ALUMINIUM = "aluminium 6061-T6"
CARBON = {"youngs_moduli": (2.9e11, 6.2e9), "shear_modulus": 4.8e9, "poissons_ratio": 0.31, "density": 1610.0}


@pytest.mark.parametrize(("ratio", "wanted"), [(1, 0.14057701496), (2, 0.22868167712), (10, 0.31232503746)])
def test_torsion_of_rectangles(ratio, wanted):
    """J / (a b^3) of sides a > b: 0.1406, 0.229 and 0.312 of Timoshenko's table, with more digits of his series."""
    for sides in ([ratio, 1.0], [1.0, ratio]):
        assert shape_properties({"rectangle": sides}).torsion_constant == pytest.approx(ratio * wanted, rel=1e-10)


def moments(outline):
    """Area, first and second moments of a polygon by Green's theorem, about its axes."""
    y, z = outline.T
    a, b = np.roll(y, -1), np.roll(z, -1)
    cross = y * b - a * z
    area = cross.sum() / 2.0
    first = np.array([np.sum((y + a) * cross), np.sum((z + b) * cross)]) / 6.0
    about_y = np.sum((z * z + z * b + b * b) * cross) / 12.0
    about_z = np.sum((y * y + y * a + a * a) * cross) / 12.0
    product = np.sum((y * b + 2 * y * z + 2 * a * b + a * z) * cross) / 24.0
    return area, first, np.array([about_y, about_z]), product


@pytest.mark.parametrize(
    "shape", [{"rectangle": [0.03, 0.01]}, {"i": [0.05, 0.08, 0.004, 0.006]}, {"channel": [0.03, 0.05, 0.002, 0.003]}]
)
def test_moments_are_those_of_the_outline(shape):
    found = shape_properties(shape)
    area, first, second, product = moments(found.outline)
    assert found.area == pytest.approx(area, rel=1e-13)
    np.testing.assert_allclose(found.second_moments, second, rtol=1e-12)
    np.testing.assert_allclose([*first / area, product / area], 0.0, atol=1e-15)


def test_shear_stress_of_open_sections_is_greatest_in_the_thickest_part():
    """Thin strips twist alike, with the stress G t per twist, so that torque over largest stress is J / t."""
    for shape in ({"i": [0.05, 0.08, 0.004, 0.006]}, {"channel": [0.03, 0.05, 0.006, 0.003]}):
        found = shape_properties(shape)
        assert found.torsion_modulus == pytest.approx(found.torsion_constant / 0.006, rel=1e-12)


def test_a_torsion_constant_that_is_given_changes_the_modulus_in_proportion():
    """The stress per twist stays that of the shape."""
    words = {"shape": {"i": [0.05, 0.08, 0.004, 0.006]}, "material": ALUMINIUM}
    own = stress_section(femb.Section("own", **words))[3]
    given = 3.0 * shape_properties(words["shape"]).torsion_constant
    assert stress_section(femb.Section("given", torsion_constant=given, **words))[3] == pytest.approx(
        3.0 * own, rel=1e-12
    )


def test_tube_is_a_difference_of_circles():
    outer, inner = shape_properties({"circle": 0.02}), shape_properties({"circle": 0.018})
    tube = shape_properties({"tube": [0.02, 0.002]})
    assert tube.area == pytest.approx(outer.area - inner.area)
    assert tube.torsion_constant == pytest.approx(outer.torsion_constant - inner.torsion_constant)
    np.testing.assert_allclose(tube.second_moments, outer.second_moments - inner.second_moments)


def test_box_of_equal_sides_is_near_to_a_ring_of_the_same_wall():
    """Bredt's constant 4 A^2 t / s, and the moments of the difference of two squares."""
    box = shape_properties({"box": [0.06, 0.06, 0.002]})
    assert box.area == pytest.approx(0.06**2 - 0.056**2)
    np.testing.assert_allclose(box.second_moments, (0.06**4 - 0.056**4) / 12.0)
    assert box.torsion_constant == pytest.approx(0.058**3 * 0.002, rel=2e-3)


def test_torsion_constant_of_a_box():
    """60 x 40 x 2 mm: Bredt's 4 A2 t / s with s t3 / 3; Prandtl's equation, by finite differences, has the corners."""
    box = shape_properties({"box": [0.06, 0.04, 0.002]})
    assert box.torsion_constant == pytest.approx(4.0 * (0.058 * 0.038) ** 2 * 0.002 / 0.192 + 0.192 * 0.002**3 / 3.0)
    assert box.torsion_constant == pytest.approx(2.029127e-7, rel=1e-6)
    assert box.torsion_constant == pytest.approx(2.064e-7, rel=0.018)
    assert box.torsion_modulus == pytest.approx(2.0 * 0.058 * 0.038 * 0.002)


def test_shape_and_material_make_a_section():
    made = femb.Section("boom", shape={"tube": [0.02, 0.001]}, material=ALUMINIUM, density=2800.0)
    area = np.pi * (0.02**2 - 0.019**2)
    np.testing.assert_allclose(
        np.diag(made.stiffness())[:3],
        [68.9e9 * area, 26e9 * np.pi / 2 * (0.02**4 - 0.019**4), 68.9e9 * np.pi / 4 * (0.02**4 - 0.019**4)],
    )
    assert made.line_mass() == pytest.approx(2800.0 * area)
    assert made.expansion == 23.6e-6
    heavier = dataclasses.replace(made, non_structural_mass=0.2)
    assert heavier.line_mass() == pytest.approx(made.line_mass() + 0.2)
    np.testing.assert_array_equal(heavier.inertia(), made.inertia())


@pytest.mark.parametrize("walls", [(1e-6,), (0.004,), (0.001, 0.004, 0.006), (0.02,)])
def test_isotropic_plies_are_a_tube_of_the_material(walls):
    """To rounding, a wall of any thickness in any number of plies, up to a full circle."""
    E, G = 72e9, 27e9
    plies = [
        femb.Ply(wall, angle, (E, E), G, E / (2 * G) - 1, 2800.0)
        for wall, angle in zip(walls, (0.7, 0.0, -0.3), strict=False)
    ]
    tube = {"tube": [0.02, sum(walls)]}
    laminated = femb.Section("boom", shape=tube, plies=plies)
    plain = femb.Section("boom", shape=tube, youngs_modulus=E, shear_modulus=G, density=2800.0)
    scale = np.sqrt(np.diag(plain.stiffness()))
    rounding = 1e-13 if walls[0] > 1e-5 else 1e-9  # of the difference of powers of two radii
    np.testing.assert_allclose(laminated.stiffness() / np.outer(scale, scale), np.eye(4), rtol=0.0, atol=rounding)
    np.testing.assert_allclose(laminated.mass(), plain.mass(), rtol=rounding, atol=1e-18)


def test_order_of_plies():
    """Two plies along and around: each has the second moment of its ring; twist and mass know no order of angles."""
    inner, outer = (np.pi / 4.0 * (b**4 - a**4) for a, b in ((0.008, 0.009), (0.009, 0.010)))
    (along, across), n = CARBON["youngs_moduli"], CARBON["poissons_ratio"]
    found = []
    for angles in ((0.0, np.pi / 2.0), (np.pi / 2.0, 0.0)):
        plies = [femb.Ply(0.001, angle, **CARBON) for angle in angles]
        found.append(femb.Section("boom", shape={"tube": [0.01, 0.002]}, plies=plies))
        moments = (inner, outer) if angles[0] == 0.0 else (outer, inner)
        # plane stress, without a hoop force: a little stiffer than with no hoop stress in each ply
        unbound = along * moments[0] + across * moments[1]
        bound = unbound + n**2 * across * sum(moments)
        assert unbound < found[-1].stiffness()[2, 2] < bound
        assert unbound < found[-1].stiffness()[3, 3] < bound
    page = (checkout.ROOT / "docs/howto/sections.md").read_text()
    stack = [femb.Ply(0.001, angle, material="carbon T300/5208") for angle in (0.0, np.pi / 2.0)]
    inside, outside = (
        femb.Section("boom", shape={"tube": [0.01, 0.002]}, plies=plies).stiffness()[2, 2]
        for plies in (stack, stack[::-1])
    )
    assert f"is {outside:.0f} N m2 with the one along outside and {inside:.0f} N m2 with it inside" in page
    twist = CARBON["shear_modulus"] * 2.0 * (inner + outer)
    for each in found:
        assert each.stiffness()[1, 1] == pytest.approx(twist, rel=1e-12)
    np.testing.assert_allclose(found[0].mass(), found[1].mass(), rtol=1e-12)


def test_one_oblique_ply_stretches_and_bends_by_its_compliance():
    """Without torque and shear force, the axial strain is the ply's compliance along the beam times the stress."""
    angle, (along, across), G, n = 0.4, CARBON["youngs_moduli"], CARBON["shear_modulus"], CARBON["poissons_ratio"]
    c, s = np.cos(angle), np.sin(angle)
    wanted = c**4 / along + (1 / G - 2 * n / along) * (s * c) ** 2 + s**4 / across
    radius = 0.02
    for wall, near in ((0.001, 1e-3), (1e-5, 1e-7)):
        made = femb.Section(
            "boom", shape={"tube": [radius + wall / 2.0, wall]}, plies=[femb.Ply(wall, angle, **CARBON)]
        )
        compliance = np.linalg.inv(made.stiffness())
        # a wall that is thin is as a flat one; the rotation of a thick one strains it more outside
        assert compliance[0, 0] * 2 * np.pi * radius * wall == pytest.approx(wanted, rel=near)
        outer, inner = radius + wall / 2.0, radius - wall / 2.0
        assert compliance[2, 2] * np.pi * (outer**4 - inner**4) / 4.0 == pytest.approx(wanted, rel=1e-9)
    assert abs(compliance[0, 1]) > 0.1 * np.sqrt(compliance[0, 0] * compliance[1, 1])  # it twists when it stretches


def coupling(angles, wall):
    """Of stretching and twist, relative to both, of equal plies in a tube of 20 mm."""
    plies = [femb.Ply(wall / len(angles), angle, **CARBON) for angle in angles]
    K = femb.Section("boom", shape={"tube": [0.02 + wall / 2.0, wall]}, plies=plies).stiffness()
    return K[0, 1] / np.sqrt(K[0, 0] * K[1, 1])


def test_balanced_plies_do_not_couple():
    """In a thin wall; in a thick one the outer ply has the longer lever, also in part of a symmetric wall."""
    assert abs(coupling((0.4, -0.4), 1e-7)) < 1e-5
    assert coupling((0.4, -0.4), 1e-3) == pytest.approx(10.0 * coupling((0.4, -0.4), 1e-4), rel=1e-2)
    assert coupling((-0.4, 0.4), 1e-3) == pytest.approx(-coupling((0.4, -0.4), 1e-3), rel=1e-9)
    assert abs(coupling((0.4, -0.4, -0.4, 0.4), 1e-3)) < 0.1 * abs(coupling((0.4, -0.4), 1e-3))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"shape": {"tube": [0.02, 0.03]}, "material": ALUMINIUM}, "walls of tube = [radius, wall] do not fit"),
        ({"shape": {"circle": 1e300}, "material": ALUMINIUM}, "wanted circle = radius, in m, from 1e-09 to 1e+09"),
        ({"shape": {"circle": 1e-300}, "material": ALUMINIUM}, "wanted circle = radius, in m, from 1e-09 to 1e+09"),
        ({"shape": {"tube": 0.02}, "material": ALUMINIUM}, "wanted tube = [radius, wall]"),
        ({"shape": {"cube": 0.02}, "material": ALUMINIUM}, "wanted one of rectangle = [y, z], circle = radius"),
        ({"shape": {"circle": 0.02}, "material": "aluminium 6061"}, "did you mean 'aluminium 6061-T6'"),
        ({"shape": {"circle": 0.02}}, "sections.boom.youngs_modulus: is missing"),
        ({"shape": {"tube": [0.02, 0.002]}, "plies": [femb.Ply(0.001, 0.0, **CARBON)]}, "are 0.001 m thick together"),
        ({"shape": {"circle": 0.02}, "plies": [femb.Ply(0.001, 0.0, **CARBON)]}, "are of a tube"),
        (
            {"shape": {"tube": [0.02, 0.001]}, "plies": [femb.Ply(0.001, 0.0, **CARBON)], "material": ALUMINIUM},
            "material: given beside 'plies'",
        ),
        ({"shape": {"tube": [0.02, 0.001]}, "plies": [1.0]}, "wanted a list of femb.Ply"),
    ],
)
def test_what_does_not_fit_is_refused(words, message):
    with pytest.raises(femb.ModelError) as refused:
        femb.Section("boom", **words)
    assert message in str(refused.value)
    assert len(refused.value.problems) <= 3


def test_ply_of_no_material_is_refused():
    refuses("poissons_ratio", femb.Ply, 0.001, 0.0, (1e9, 1e10), 5e9, 0.5, 1600.0)


def test_materials_are_those_of_the_page():
    page = (checkout.ROOT / "docs/howto/sections.md").read_text()
    for name, of in femb.MATERIALS.items():
        row = [of.youngs_modulus / 1e9, of.shear_modulus / 1e9, of.density, of.expansion * 1e6]
        assert f"| `{name}` | {' | '.join(f'{x:.4g}' for x in row)} | {of.source} |" in page


def test_plies_by_name_are_those_of_the_page():
    page = (checkout.ROOT / "docs/howto/sections.md").read_text()
    for name, (moduli, shear, ratio, density) in femb.PLY_MATERIALS.items():
        row = [moduli[0] / 1e9, moduli[1] / 1e9, shear / 1e9, ratio, density]
        assert f"| `{name}` | {' | '.join(f'{x:.4g}' for x in row)} |" in page
        named, given = femb.Ply(1e-3, 0.3, material=name), femb.Ply(1e-3, 0.3, moduli, shear, ratio, density)
        np.testing.assert_array_equal(named.stiffness(), given.stiffness())
    assert femb.Ply(1e-3, 0.3, material="carbon AS/3501", density=1580.0).density == 1580.0
    with pytest.raises(femb.ModelError, match=r"material: got 'carbon T300', .* did you mean 'carbon T300/5208'"):
        femb.Ply(1e-3, 0.3, material="carbon T300")
    refuses("density: is missing: give it, or a material", femb.Ply, 1e-3, 0.3, (1e11, 1e10), 5e9, 0.3)


def test_the_whole_mass_per_length_gives_the_density():
    weighed = femb.Section("boom", shape={"tube": [0.02, 0.001]}, material="aluminium 6061-T6", mass_per_length=0.9)
    plain = femb.Section("boom", shape={"tube": [0.02, 0.001]}, material="aluminium 6061-T6")
    assert weighed.line_mass() == pytest.approx(0.9, rel=1e-15)
    np.testing.assert_allclose(weighed.inertia() / 0.9, plain.inertia() / plain.line_mass(), rtol=1e-14)
    np.testing.assert_array_equal(weighed.stiffness(), plain.stiffness())
    with pytest.raises(
        femb.ModelError, match="non_structural_mass: given beside 'mass_per_length', which contains all mass"
    ):
        femb.Section("b", shape={"circle": 0.1}, material="steel A36", mass_per_length=0.9, non_structural_mass=0.1)
    with pytest.raises(femb.ModelError, match="density: given beside 'mass_per_length'"):
        femb.Section("b", shape={"circle": 0.1}, material="steel A36", mass_per_length=0.9, density=1.0)
