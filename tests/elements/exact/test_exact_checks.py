"""What exact beams and full sections refuse, by name."""

import numpy as np
import pytest
from models import of_parts, refusals, refuses

import femb
from femb import Attachment, Beam, ExactBeam, Load, Model, ModelError, Path, Section

START = Attachment(body="ground", direction=(1.0, 0.0, 0.0))
D, M = np.diag([1e5, 4e4, 4e4, 10.0, 20.0, 30.0]), np.diag([1.0, 1.0, 1.0, 0.03, 0.01, 0.02])
PLAIN = {"axial_stiffness": 1e5, "torsional_stiffness": 10.0, "bending_stiffness": (20.0, 30.0)}
MASS = {"mass_per_length": 1.0, "inertia_per_length": (0.03, 0.01, 0.02)}


def full(name="s", stiffness=D, mass=M, **words):
    return Section(name, stiffness_matrix=stiffness, mass_matrix=mass, **words)


def changed(matrix, *entries):
    matrix = matrix.copy()
    for i, j, value in entries:
        matrix[i, j] = value
    return matrix


test_matrices = refusals(
    lambda words: full(**words),
    ({"stiffness": changed(D, (0, 5, 1.0))}, "stiffness_matrix: must be symmetric"),
    ({"stiffness": changed(D, (1, 1, -1.0))}, "stiffness_matrix: must be positive definite"),
    ({"stiffness": changed(D, (0, 5, 2e3), (5, 0, 2e3))}, "stiffness_matrix: must be positive definite"),
    ({"stiffness": np.eye(5)}, "stiffness_matrix: got"),
    ({"mass": changed(M, (0, 0, -1.0))}, "mass_matrix: the mass per length, its first entry, is -1 kg/m"),
    ({"mass": changed(M, (1, 1, 2.0))}, "mass_matrix: is not of a section"),
    ({"mass": changed(M, (0, 4, 0.1))}, "mass_matrix: is not of a section"),
    ({"mass": changed(M, (4, 4, -0.01))}, "mass_matrix: the inertia about the mass centre must be"),
    ({"density": 2.0}, "density: given beside 'mass_matrix'"),
    ({"shear_stiffness": (1.0, 1.0)}, "shear_stiffness: given beside a 6 x 6 stiffness_matrix"),
)


def test_shear_stiffness_is_positive():
    with pytest.raises(ModelError, match=r"shear_stiffness: got .*, must be greater than 0"):
        Section("s", shear_stiffness=(1.0, 0.0), **PLAIN, **MASS)


@pytest.mark.parametrize("words", [{"shear_stiffness": (1e4, 1e4), **PLAIN, **MASS}, {"stiffness_matrix": D, **MASS}])
def test_the_other_kind_refuses_shear(words):
    model = of_parts(Beam("b", Section("s", **words), 1.0, 2, start=START))
    with pytest.raises(ModelError, match=r"beams.b.section: the section 's' has a .* give the beam kind = \"exact\""):
        femb.simulate(model, duration=1.0)


test_beams = refusals(
    lambda words: ExactBeam("b", **{"length": 1.0, "elements": 2, "start": START} | words),
    ({"stations": (0.0, 1.0)}, "stations: given without 'sections'"),
    ({"sections": ["s"], "stations": (0.0,)}, "sections: got .* wanted two or more sections"),
    ({"sections": ["s", "t"]}, "stations: got None, wanted a length .* for each of 2 sections"),
    ({"sections": ["s", "t"], "stations": (1.0, 0.0)}, "stations: out of order: 0 m follows 1 m"),
    ({"sections": ["s", "t"], "stations": (0.0, 0.5)}, "stations: got stations from 0 to 0.5 m, wanted from 0 to 1"),
    ({"section": "u", "sections": ["s", "t"], "stations": (0.0, 1.0)}, "section: given beside 'sections'"),
    ({"section": None}, "section: got None, wanted a section or the name of one"),
    ({"section": "s", "elements": 0}, "elements"),
    ({"section": "s", "curvature": (0.0, 0.0, 4.0), "elements": 1}, "turns each element by 229 degrees"),
    ({"section": "s", "path": Path(radius=1.0, angle=1.0)}, "length: given beside 'path'"),
)


def test_sections_that_are_missing_or_of_two_sorts():
    model = Model()
    words = {"stations": (0.0, 1.0), "length": 1.0, "elements": 2, "start": START}
    model.add(ExactBeam("b", sections=["s", "t"], **words))
    model.add(full())
    (problem,) = model.problems()
    assert str(problem).startswith("beams.b.sections: got 't', which is not in the model")
    model.add(Section("t", **PLAIN, **MASS))
    refuses(r"beams\.b\.sections: 't' has no shear stiffness and others have one", femb.simulate, model, duration=1.0)


def test_a_folded_element_is_named():
    model = Model()
    model.add(ExactBeam("b", full(), 1.0, 1, start=START))
    model.add(Load("turn", beam="b", torque=(0.0, 0.0, 200.0), frame="body"))
    with pytest.raises(femb.SolveError, match=r"beams\.b, element 1 of 1: turned by 180 degrees|no equilibrium"):
        femb.static(model, steps=1)


def test_corners():
    """A kinked path: the moment of a dead end force at the root is force times lever, both legs stiff."""
    model = Model()
    stiff = full(stiffness=1e6 * D)
    path = Path(points=((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 2.0, 0.0)), kinks=True)
    model.add(ExactBeam("b", stiff, elements=3, start=Attachment(body="ground"), path=path))
    model.add(Load("f", beam="b", force=(0.0, 0.0, 1.0)))
    beam = femb.static(model, steps=1).beams["b"]
    np.testing.assert_allclose(beam.position[-1, -1], (1.0, 2.0, 0.0), atol=1e-6)
    np.testing.assert_allclose(np.abs(beam.section_moment[-1, 0, 0]), (2.0, 1.0, 0.0), atol=1e-6)


test_damping_coefficients = refusals(
    lambda damping: full(damping=damping),
    ((0.1, 0.1, 0.1), "damping: got .*, wanted a number of at least 0, or six"),
    ((0.1, 0.1, 0.1, -0.1, 0.1, 0.1), "damping: got .*, wanted a number of at least 0, or six"),
    (-0.1, "damping: got -0.1, wanted a number of at least 0, or six"),
)


def test_the_other_kind_takes_one_damping_coefficient():
    equal = Section("s", damping=(0.1,) * 6, **PLAIN, **MASS)
    assert equal.damping == 0.1
    model = Model()
    model.add(Beam("b", Section("s", damping=(0.1, 0.1, 0.1, 0.2, 0.1, 0.1), **PLAIN, **MASS), 1.0, 2, start=START))
    with pytest.raises(ModelError, match=r"beams.b.section: the section 's' has six damping .* give the beam kind"):
        femb.simulate(model, duration=1.0)
