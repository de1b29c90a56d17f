"""Tapers between sections of one shape: sizes are linear there, and all else follows."""

import numpy as np
import pytest
from models import of_parts
from scipy.linalg import eigh

import femb
from femb import ExactBeam, Ply, Section
from femb.elements.beam.section import read_sections
from femb.numerics.rotations import conjugate, multiply
from femb.system.moving_ground import mass_properties
from femb.system.system import System

SOFT = femb.Material(1e6, 4e5, 1000.0)
SHAPES = {
    "circle": ([0.05], [0.01]), "tube": ([0.05, 0.01], [0.02, 0.006]), "rectangle": ([0.1, 0.02], [0.03, 0.02]),
    "box": ([0.1, 0.08, 0.01], [0.05, 0.03, 0.005]), "i": ([0.1, 0.08, 0.01, 0.005], [0.05, 0.08, 0.006, 0.004]),
    "channel": ([0.1, 0.08, 0.01, 0.005], [0.05, 0.06, 0.006, 0.005]),
}  # fmt: skip


def sized(kind, sizes, **words):
    return Section(f"{kind} {sizes[0]:g}", shape={kind: list(sizes)} if len(sizes) > 1 else {kind: sizes[0]}, **words)


def beam_of(sections, stations=(0.0, 1.0), elements=2):
    start = femb.Attachment(body="ground", direction=(0.0, 0.0, 1.0))
    beam = ExactBeam("b", sections=sections, stations=stations, length=1.0, elements=elements, start=start)
    model = of_parts(beam)
    return model, beam


@pytest.mark.parametrize("stations", [(0.0, 1.0), (0.0, 0.3, 1.0)])
@pytest.mark.parametrize("elements", [1, 2, 8])
def test_cone(elements, stations):
    """Deflection P L3 / (3 E I_root) R / r of a cone under a force at its tip, and its volume."""
    sections = [sized("circle", [0.05 - 0.04 * s], material=SOFT) for s in stations]
    model, _ = beam_of(sections, stations, elements)
    mass, centre, _ = mass_properties(System(model))
    wanted = np.pi / 3.0 * (0.05**2 + 0.05 * 0.01 + 0.01**2)
    assert mass == pytest.approx(1000.0 * wanted, rel=1e-14)
    # the frustum's centre: (R2 + 2 R r + 3 r2) / (4 (R2 + R r + r2))
    assert centre[2] == pytest.approx((25.0 + 10.0 + 3.0) / (4.0 * 31.0), rel=1e-14)
    model.add(femb.Load("tip", beam="b", force=(1e-6, 0.0, 0.0)))
    tip = femb.static(model).beams["b"].deflection[-1, -1, 0]
    assert tip == pytest.approx(1e-6 / (3.0 * 1e6 * np.pi / 4.0 * 0.05**3 * 0.01), rel=1e-8)


def test_stresses_of_a_cone_are_those_of_its_sections_there():
    """M r / I, N / A and T r / J of the circle at every station, from one kind of section to the next; of sections
    without a common shape there are none."""
    sections = [sized("circle", [r], material=SOFT) for r in (0.05, 0.02, 0.01)]
    model, _ = beam_of(sections, (0.0, 0.7, 1.0), 5)
    model.add(femb.Load("tip", beam="b", force=(1e-9, 0.0, 3e-8), torque=(0.0, 0.0, 2e-9)))
    beam = femb.static(model).beams["b"]
    s = (np.arange(5)[:, None] + np.array([0.0, 0.5, 1.0])) / 5.0
    r = np.interp(s, [0.0, 0.7, 1.0], [0.05, 0.02, 0.01])
    bending, axial = 1e-9 * (1.0 - s) * 4.0 / (np.pi * r**3), 3e-8 / (np.pi * r**2)
    np.testing.assert_allclose(beam.axial_stress[-1].max(axis=-1), axial + bending, rtol=1e-5)
    np.testing.assert_allclose(beam.shear_stress[-1], 2e-9 * 2.0 / (np.pi * r**3), rtol=1e-6)
    unlike, _ = beam_of([sections[0], sized("tube", [0.05, 0.01], material=SOFT)])
    unlike.add(femb.Load("tip", beam="b", force=(1e-6, 0.0, 0.0)))
    found = femb.static(unlike)
    assert "stress_section" not in found.beams["b"]
    table = femb.peak_loads(found).table()
    assert "beams/b, without stresses" in table
    assert "appendages/b, on ground, torque about (0, 0, 0) m of it" in table


@pytest.mark.parametrize("words", [{}, {"shear_stiffness": (1e3, 2e3)}])
@pytest.mark.parametrize("kind", SHAPES)
def test_sections_between_are_those_of_the_sizes_between(kind, words):
    """At every place, of every shape: stiffness, mass and compliance of the section with the sizes there."""
    ends = [sized(kind, sizes, material=SOFT, non_structural_mass=0.1, mass_axis=(0.01, 0.02), **words)
            for sizes in SHAPES[kind]]  # fmt: skip
    model, beam = beam_of(ends)
    spanwise = beam.spanwise(model)
    for s in (0.0, 0.17, 0.5, 0.93, 1.0):
        sizes = (1.0 - s) * np.array(SHAPES[kind][0]) + s * np.array(SHAPES[kind][1])
        given = sized(kind, sizes, material=SOFT, non_structural_mass=0.1, mass_axis=(0.01, 0.02))
        found = np.linalg.inv(spanwise.compliance(s)[np.ix_([0, 3, 4, 5], [0, 3, 4, 5])])
        np.testing.assert_allclose(found, given.stiffness(), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(spanwise.mass(s), given.mass(), rtol=1e-12, atol=1e-15)
        if words:  # which is given in absolute terms, and equal at both ends
            np.testing.assert_allclose(1.0 / np.diag(spanwise.compliance(s))[1:3], words["shear_stiffness"], rtol=1e-12)


def test_what_is_given_beside_the_shape_is_linear():
    """Mass, stretch, twist, bending and shear of a rod by the integrals of 1/(EA), 1/(GJ), x^2/(EI) and 1/(kGA), of
    values that are linear between the ends: means of 1/(a + (b - a) x) are ln(b/a)/(b - a)."""

    def mean(a, b):
        return np.log(b / a) / (b - a) if b != a else 1.0 / a

    E, G = SOFT.youngs_modulus, SOFT.shear_modulus
    for last in (1.0, 0.25):
        areas, moments, torsion, shear, mass = np.outer([1e-3, 1e-7, 1.5e-7, 20.0, 1.5], [1.0, last])
        ends = [Section(f"e{k}", shape={"rectangle": sides}, youngs_modulus=E, shear_modulus=G, area=areas[k],
                        second_moments=(moments[k], moments[k]), torsion_constant=torsion[k],
                        shear_stiffness=(shear[k], shear[k]), mass_per_length=mass[k])
                for k, sides in enumerate(([0.06, 0.03], [0.03, 0.012]))]  # fmt: skip
        model, _ = beam_of(ends)
        weight, centre, _ = mass_properties(System(model))
        assert weight == pytest.approx(mass.mean(), rel=1e-14)
        assert centre[2] == pytest.approx((mass[0] + 2.0 * mass[1]) / (6.0 * mass.mean()), rel=1e-14)
        model.add(femb.Load("tip", beam="b", force=(1e-7, 0.0, 1e-7), torque=(0.0, 0.0, 1e-9)))
        found = femb.static(model).beams["b"]
        turn = multiply(found.quaternion[-1, -1], conjugate(found.reference_quaternion[-1]))
        stretch, twist = found.position[-1, -1, 2] - 1.0, 2.0 * turn[3]
        assert stretch == pytest.approx(1e-7 * mean(*areas) / E, rel=1e-6)
        assert twist == pytest.approx(1e-9 * mean(*torsion) / G, rel=1e-6)
        x, w = np.polynomial.legendre.leggauss(40)
        bent = 0.5 * w @ ((1.0 - x) ** 2 / 4.0 / (E * (0.5 * (1.0 - x) * moments[0] + 0.5 * (1.0 + x) * moments[1])))
        assert found.position[-1, -1, 0] == pytest.approx(1e-7 * (bent + mean(*shear)), rel=1e-5)


def test_a_mass_per_length_at_one_end_and_a_density_at_the_other():
    """The mass is linear between both; the inertia is that of the mass spread over the rectangle with the sides
    there."""
    ends = [sized("rectangle", [0.06, 0.03], material=SOFT, mass_per_length=2.0), sized("rectangle", [0.03, 0.012],
            material=SOFT)]  # fmt: skip
    model, beam = beam_of(ends)
    found, sides = beam.spanwise(model).mass(0.5), np.array([0.045, 0.021])
    mass = 0.5 * (2.0 + 1000.0 * 0.03 * 0.012)
    np.testing.assert_allclose(
        np.diag(found)[[0, 4, 5]], mass * np.array([1.0, *(sides[::-1] ** 2 / 12.0)]), rtol=1e-12
    )


def test_density_and_modulus_are_linear_beside_the_sizes():
    """E A and rho A are products of two linear courses."""
    ends = [sized("rectangle", [side, 0.02], youngs_modulus=E, shear_modulus=4e5, density=rho)
            for side, E, rho in ((0.06, 1e6, 1000.0), (0.03, 2e6, 3000.0))]  # fmt: skip
    model, beam = beam_of(ends)
    middle = beam.spanwise(model)
    assert middle.mass(0.5)[0, 0] == pytest.approx(2000.0 * 0.045 * 0.02, rel=1e-13)
    assert 1.0 / middle.compliance(0.5)[0, 0] == pytest.approx(1.5e6 * 0.045 * 0.02, rel=1e-12)


def test_points_and_moduli_of_stresses_given_beside_the_shape_are_linear():
    """The stress M y / I at a point that is on the axis at one end, and T / W of a modulus that is given."""
    ends = [sized("circle", [r], material=SOFT, recovery_points=[[y, 0.0]], torsion_modulus=W)
            for r, y, W in ((0.05, 0.0, 4e-6), (0.02, 0.04, 1e-6))]  # fmt: skip
    model, _ = beam_of(ends)
    model.add(femb.Load("tip", beam="b", torque=(1e-9, 1e-9, 2e-9)))
    beam = femb.static(model).beams["b"]
    r = 0.05 - 0.03 * 0.25
    assert abs(beam.axial_stress[-1, 0, 1, 0]) == pytest.approx(1e-9 * 0.01 / (np.pi * r**4 / 4.0), rel=1e-6)
    assert beam.shear_stress[-1, 0, 1] == pytest.approx(2e-9 / 3.25e-6, rel=1e-6)
    other = sized("circle", [0.02], material=SOFT, recovery_points=[[0.0, 0.0], [0.01, 0.0]])
    unlike, _ = beam_of([ends[0], other])
    unlike.add(femb.Load("tip", beam="b", torque=(1e-9, 0.0, 0.0)))
    assert "stress_section" not in femb.static(unlike).beams["b"]


def test_laminated_tube():
    """Plies of two thicknesses on a mandrel that tapers."""

    def tube(s):
        walls = 1e-3 * (1.0 - 0.5 * s), 2e-3 * (1.0 - 0.5 * s)
        plies = [Ply(wall, angle, material="carbon AS/3501") for wall, angle in zip(walls, (0.5, -0.5), strict=True)]
        return Section(f"t{s:g}", shape={"tube": [0.05 - 0.03 * s, sum(walls)]}, plies=plies)

    model, beam = beam_of([tube(0.0), tube(1.0)])
    for s in (0.2, 0.8):
        found = np.linalg.inv(beam.spanwise(model).compliance(s)[np.ix_([0, 3, 4, 5], [0, 3, 4, 5])])
        np.testing.assert_allclose(found, tube(s).stiffness(), rtol=1e-10, atol=1e-3)
        np.testing.assert_allclose(beam.spanwise(model).mass(s), tube(s).mass(), rtol=1e-12, atol=1e-15)
    model.add(femb.Load("tip", beam="b", force=(0.0, 0.0, 1e-3)))
    found = femb.static(model).beams["b"]
    assert "stress_section" not in found  # as of a uniform laminated tube
    x, w = np.polynomial.legendre.leggauss(8)
    soft = 0.5 * w @ [np.linalg.inv(tube(s).stiffness())[0, 0] for s in 0.5 + 0.5 * x]
    assert found.position[-1, -1, 2] - 1.0 == pytest.approx(1e-3 * soft, rel=1e-5)


def test_frequencies_of_a_cone_are_those_of_many_pieces():
    """The first of a solid cone that tapers to a fifth, by many uniform elements of Euler and Bernoulli."""
    model, _ = beam_of([sized("circle", [r], material=SOFT) for r in (0.05, 0.01)], elements=8)
    found = femb.modes(model, count=1).frequencies[0]
    n = 240
    h = 1.0 / n
    scale = np.diag([1.0, h, 1.0, h])
    bend = scale @ [[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]] @ scale / h**3
    mass = scale @ [[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]] @ scale * h / 420.0
    turn = scale @ [[36, 3, -36, 3], [3, 4, -3, -1], [-36, -3, 36, -3], [3, -1, -3, 4]] @ scale / (30.0 * h)
    M, K = np.zeros((2, 2 * n + 2, 2 * n + 2))
    for k in range(n):
        r, rows = 0.05 - 0.04 * (k + 0.5) * h, slice(2 * k, 2 * k + 4)
        K[rows, rows] += 1e6 * np.pi * r**4 / 4.0 * bend
        M[rows, rows] += 1000.0 * np.pi * (r**2 * mass + r**4 / 4.0 * turn)
    wanted = np.sqrt(eigh(K[2:, 2:], M[2:, 2:], eigvals_only=True)[0]) / (2.0 * np.pi)
    assert found == pytest.approx(wanted, rel=3e-5)


def test_other_sections_say_what_their_linear_stiffness_is_worth():
    """A change of 99.84 % of a circle without its shape: the mean compliance by quadrature, which the text has."""
    areas = [np.pi * r**2 for r in (0.05, 0.01)]
    plain = [Section(f"s{k}", area=a, second_moments=(a * a / (4 * np.pi),) * 2, torsion_constant=a * a / (2 * np.pi),
                     youngs_modulus=1e6, shear_modulus=4e5, density=1000.0) for k, a in enumerate(areas)]  # fmt: skip
    x = (np.arange(200000) + 0.5) / 200000
    more = np.mean((1.0 - 0.8 * x) ** -4.0) / np.mean(1.0 / (1.0 - x * (1.0 - 0.2**4))) - 1.0
    with pytest.warns(femb.FembWarning, match=rf"beams\.b.*99\.8 %.*0 and 1 m.*{100 * more:.3g} % more"):
        System(beam_of(plain)[0])
    mixed = [sized("circle", [0.05], material=SOFT), sized("rectangle", [0.1, 0.05], material=SOFT)]
    with pytest.warns(femb.FembWarning, match="give both sections a shape of one kind"):
        System(beam_of(mixed)[0])


def test_small_changes_jumps_and_tapers_are_silent():
    """Warnings are errors in tests."""
    ends = [sized("circle", [r], material=SOFT) for r in (0.05, 0.01)]
    System(beam_of(ends)[0])
    words = {"axial_stiffness": 1e6, "torsional_stiffness": 70.0, "mass_per_length": 1.0}
    words["inertia_per_length"] = (2e-4, 1e-4, 1e-4)
    close = [Section(f"s{b:g}", bending_stiffness=(b, 140.0), **words) for b in (100.0, 91.0)]
    System(beam_of(close)[0])
    jump = [ends[0], ends[0], close[0], close[0]]
    System(beam_of(jump, (0.0, 0.5, 0.501, 1.0))[0])


def test_tables_of_stations_have_no_shapes(tmp_path):
    """A file of matrices is linear between its stations, and says so."""
    rows = ["station,K11,K22,K33,K44,K55,K66,M11,M22,M33,M44,M55,M66"]
    rows += [f"{s},1e6,1e5,1e5,70,{b},140,1,1,1,2e-4,1e-4,1e-4" for s, b in ((0.0, 100.0), (1.0, 25.0))]
    (tmp_path / "blade.csv").write_text("\n".join(rows))
    table = read_sections(tmp_path / "blade.csv")
    with pytest.warns(femb.FembWarning, match="about y changes by 75 %"):
        System(beam_of(table.sections, table.stations)[0])
