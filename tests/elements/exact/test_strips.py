"""The Princeton beam, component by component, beside a rod by collocation: both kinds, and the table of the page."""

import checkout
import numpy as np
import pytest
from long_runs import slow_but
from oracles import rod

import femb
from femb import Attachment, Beam, ExactBeam, Load, Model, Section
from femb.elements.beam.section_shapes import torsion_of_rectangle

WIDTH, THICKNESS, LENGTH, E, FORCE = 12.3777e-3, 3.2024e-3, 0.508, 71.7e9, 13.345
G, AREA = E / 2.62, WIDTH * THICKNESS
MOMENTS = THICKNESS * WIDTH**3 / 12.0, WIDTH * THICKNESS**3 / 12.0
TORSION = torsion_of_rectangle(WIDTH, THICKNESS)


def force_at(angle):
    """Edgewise is z, flapwise y."""
    return FORCE * np.array([0.0, np.sin(np.radians(angle)), np.cos(np.radians(angle))])


def exact(angle, shear=0.0, points=24):
    bend = 1.0 / np.array([G * TORSION, E * MOMENTS[0], E * MOMENTS[1]])
    return rod.tip(force_at(angle), LENGTH, np.array([1.0 / (E * AREA), shear, shear]), bend, points)[[2, 1]]


def errors(kind, elements, angle, wanted, **words):
    """Relative, edgewise and flapwise."""
    section = Section("strip", area=AREA, second_moments=MOMENTS, torsion_constant=TORSION, density=2700.0,
                      youngs_modulus=E, shear_modulus=G, **words)  # fmt: skip
    model = Model()
    start = Attachment(body="ground", direction=(1.0, 0.0, 0.0), up=(0.0, 1.0, 0.0))
    model.add(kind("strip", section, LENGTH, elements, start=start))
    model.add(Load("pull", beam="strip", force=tuple(force_at(angle))))
    return np.abs(femb.static(model, steps=1).beams["strip"].position[-1, -1, [2, 1]] / wanted - 1.0)


@pytest.mark.parametrize("angle", slow_but([45], [15, 45, 75]))
@pytest.mark.slow
def test_princeton_beam_by_components(angle):
    """The exact beam within 1e-6 with 16 elements, the default within 1e-5 and of order 4, with 8 within 0.1 %."""
    wanted = exact(angle)
    np.testing.assert_allclose(exact(angle, points=18), wanted, rtol=1e-10)
    found = [errors(kind, 16, angle, wanted) for kind in (Beam, ExactBeam)]
    assert np.all(found[1] < 5e-7)
    page = (checkout.ROOT / "docs" / "howto" / "beams.md").read_text(encoding="utf-8").splitlines()
    row = next(line for line in page if line.startswith(f"| {angle}° |"))
    np.testing.assert_allclose(np.ravel(found), [float(x) for x in row.strip("| ").split("|")[1:]], rtol=0.05)
    assert np.all(found[0] < 1e-5)
    assert np.all(errors(Beam, 8, angle, wanted) < 1e-3)
    assert np.all(errors(Beam, 32, angle, wanted) < found[0] / 11.0)


@pytest.mark.slow
def test_princeton_beam_with_shear():
    """The same with the shear of a rectangle."""
    stiffness = 5.0 / 6.0 * G * AREA
    found = errors(ExactBeam, 16, 45, exact(45, 1.0 / stiffness), shear_stiffness=(stiffness, stiffness))
    assert np.all(found < 5e-7)
