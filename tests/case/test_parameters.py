"""Parameters: one table of a case, and of studies, that says what may change and by how much."""

import numpy as np
import pytest
from oracles.spring_study import CASE

import femb
from femb.case.parameters import Parameter, differentiable, document_of
from femb.study.study import read_study

TABLE = """
[parameters.stiffness]
entry = "springs.spring.stiffness"
value = 60.0
range = "5 %"
"""
STUDY = """
case = "case.toml"
design = "latin-hypercube"
runs = 16
[outputs.lowest]
of = "bodies.mass.position.x"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "case.toml").write_text(CASE + TABLE)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_a_value_is_that_of_its_entries_unless_the_command_line_says_another(folder):
    assert femb.load_case(folder / "case.toml").model.springs["spring"].stiffness == 60.0
    set_ = femb.load_case(folder / "case.toml", ["springs.spring.stiffness=70.0"])
    assert set_.model.springs["spring"].stiffness == 70.0
    other = femb.load_case(folder / "case.toml", ["parameters.stiffness.value=80.0"])
    assert other.model.springs["spring"].stiffness == 80.0
    assert other.parameters["stiffness"].limits() == pytest.approx((76.0, 84.0))


def test_a_study_without_variables_has_the_parameters_of_its_case(folder):
    study = read_study(folder / "study.toml")
    values = np.array(study.rows)[:, 0]
    assert 57.0 < values.min() < 57.0 + 6.0 / 16
    assert 63.0 - 6.0 / 16 < values.max() < 63.0


# the spring is strained at the start; along it the frequency is that of its stiffness all the same
@pytest.mark.filterwarnings("ignore:modes. the state is not in equilibrium")
def test_the_command_line_sets_ranges_and_values_of_derivatives_and_of_studies(folder):
    """Of the mass m on a spring k the frequency is sqrt(k/m)/2 pi, by half of the range of k."""
    of = {"f": {"kind": "natural_frequency", "mode": 3}}
    f = np.sqrt(60.0 / 2.0) / (2.0 * np.pi)
    found = femb.sensitivities(folder / "case.toml", of, overrides=["parameters.stiffness.range=[40, 68]"])
    assert found.changes[0, 0] == pytest.approx(0.5 * f / 60.0 * 14.0, rel=1e-7)
    found = femb.sensitivities(folder / "case.toml", of, overrides=["springs.spring.stiffness=70.0"])
    assert found.nominal[0] == 70.0
    assert found.values[0] == pytest.approx(np.sqrt(70.0 / 2.0) / (2.0 * np.pi), rel=1e-9)
    assert found.swings[0] == pytest.approx(3.5)
    variable = read_study(folder / "study.toml", ["parameters.stiffness.range=[40, 68]"]).variables["stiffness"]
    assert (variable.low, variable.high) == (40.0, 68.0)
    (folder / "study.toml").write_text(STUDY + '[set]\nparameters.stiffness.range = "10 %"\n')
    variable = read_study(folder / "study.toml").variables["stiffness"]
    assert (variable.low, variable.high) == pytest.approx((54.0, 66.0))


@pytest.mark.parametrize(("distribution", "kind"), [("normal", "normal"), ("lognormal", "lognormal")])
def test_half_of_a_range_is_three_deviations(distribution, kind):
    found = Parameter(name="k", entry="a.b.c", range=[7.0, 13.0], distribution=distribution).as_variable()
    assert (found["kind"], found["mean"], found["standard_deviation"]) == (kind, 10.0, 1.0)
    assert (found["low"], found["high"]) == (7.0, 13.0)


def test_a_range_in_per_cent_of_the_case_is_one_of_factors(folder):
    text = STUDY + '[parameters.mass]\nentries = ["bodies.mass.mass", "bodies.mass.inertia"]\nrange = "10 %"\n'
    (folder / "study.toml").write_text(text)
    study = read_study(folder / "study.toml")
    (variable,) = study.variables.values()
    assert variable.relative
    assert variable.keys == ("bodies.mass.mass", "bodies.mass.inertia")
    assert (variable.low, variable.high) == pytest.approx((0.9, 1.1))


HINGED = """
[bodies.hub]
mass = "50 kg"
inertia = [5.0, 6.0, 7.0]
[bodies.arm]
mass = 5.0
inertia = [1.0, 1.0, 1.0]
[joints.hinge]
first = { body = "hub", at = [1, 0, 0], axis = [0, 0, 1] }
second = { body = "arm", at = [-1, 0, 0], axis = [0, 0, 1] }
start = "10 deg"
[run]
duration = 1.0
[parameters.start]
entry = "joints.hinge.start"
range = ["5 deg", "0.05 turn"]
[parameters.mass]
entry = "bodies.hub.mass"
range = "10 %"
"""
WEIGHED = 'case = "hinged.toml"\ndesign = "random"\nruns = 2\n[outputs.whole]\nkind = "mass"\n'


def test_numbers_of_parameters_have_the_units_of_their_entries(tmp_path):
    """In studies and for derivatives alike, also of an entry that is a text."""
    (tmp_path / "hinged.toml").write_text(HINGED)
    (tmp_path / "study.toml").write_text(WEIGHED + '[variables.arm]\nkey = "bodies.arm.mass"\nkind = "uniform"\n')
    with (tmp_path / "study.toml").open("a") as file:
        file.write('low = "4000 g"\nhigh = 6.0\n[parameters.start]\nentry = "joints.hinge.start"\n')
        file.write('range = ["5 deg", "0.05 turn"]\n[parameters.mass]\nentry = "bodies.hub.mass"\nrange = "10 %"\n')
    study = read_study(tmp_path / "study.toml")
    bounds = {name: (each.low, each.high) for name, each in study.variables.items()}
    assert bounds["start"] == pytest.approx((np.pi / 36.0, np.pi / 10.0))
    assert bounds["mass"] == pytest.approx((45.0, 55.0))
    assert bounds["arm"] == (4.0, 6.0)
    loaded = femb.load_case(tmp_path / "hinged.toml")
    document = document_of(tmp_path / "hinged.toml", HINGED)
    start, mass = (differentiable(each, document, loaded.model) for each in loaded.parameters.values())
    assert (start.value, start.unit, start.limits) == (np.pi / 18.0, "rad", pytest.approx(bounds["start"]))
    assert (mass.value, mass.unit, mass.limits) == (50.0, "kg", pytest.approx(bounds["mass"]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("5 deg", "5 kg"), r"hinged.toml:16: parameters.start.range: got '5 kg', wanted a number in rad"),
        (('["5 deg", "0.05 turn"]', '["1", "2"]'), r"hinged.toml:16: parameters.start.range: got \['1', '2'\], wanted"),
        (('range = "10 %"', 'value = "10 %"'), r"hinged.toml:19: parameters.mass.value: got '10 %', wanted"),
        (('range = "10 %"', ""), r"hinged.toml:17: parameters.mass.range: is missing"),
        (
            ('range = "10 %"', 'value = "5000 g"\n[parameters.load]\nentry = "bodies.hub.mass"\nvalue = 6.0'),
            r"hinged.toml:\d+: parameters.load: sets bodies.hub.mass to 6, and mass to 5: only one of them may",
        ),
    ],
)
def test_mistakes_in_parameters_of_the_case_are_told_with_its_line(tmp_path, change, message):
    (tmp_path / "hinged.toml").write_text(HINGED.replace(*change))
    (tmp_path / "study.toml").write_text(WEIGHED)
    with pytest.raises(femb.ModelError, match=message) as error:
        read_study(tmp_path / "study.toml")
    assert "variables" not in str(error.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('entry = "a"\nentries = ["b"]\nrange = [1, 2]', "parameters.mass.entr"),
        ('entry = "bodies.mass.mass"\nrange = [2.0, 1.0]', "parameters.mass.range: got [2.0, 1.0], wanted the least"),
        ('entry = "bodies.mass.mass"\nrange = "5"', "parameters.mass.range: got '5', wanted two numbers, or a text"),
        ('entry = "bodies.mass.mass"', "parameters.mass.range: is missing; a study needs"),
        ("range = [1, 2]", "parameters.mass.entry: is missing"),
        ("entry = 5\nrange = [1, 2]", "parameters.mass.entry: got 5, wanted text in quotes"),
        ('entry = "bodies.mass.mass"\nspan = 3', "parameters.mass.span: unknown key"),
        ('entry = "bodies.mass.mas"\nrange = [1.0, 2.0]', "parameters.mass.entry: got 'bodies.mass.mas': unknown key"),
    ],
)
def test_mistakes_of_a_study_are_told_with_their_line(folder, table, message):
    (folder / "study.toml").write_text(STUDY + f"[parameters.mass]\n{table}\n")
    with pytest.raises(femb.FembError) as error:
        femb.sweep(folder / "study.toml")
    assert message in str(error.value)
    assert "study.toml:" in str(error.value)


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("beams.boom.elements", "beams.boom.elements is a whole number, a count"),
        ("beams.boom.section", "beams.boom.section is 'tube', a word"),
        ("sections.tube.shape.tube", "is [0.05, 0.001], a list"),
        ("beams.boom.lenght", "the case has no entry beams.boom.lenght"),
        ("loads.tip.force.0", "its value is zero, which has no size: give scale"),
    ],
)
def test_what_has_no_neighbours_is_refused_by_name(tmp_path, key, why):
    path = tmp_path / "boom.toml"
    path.write_text(BOOM)
    document, model = document_of(path, BOOM), femb.load_case(path).model
    with pytest.raises(femb.FembError, match=r"parameters\.p: cannot be differentiated by: ") as error:
        differentiable(Parameter(name="p", entry=key), document, model)
    assert why in str(error.value)


def test_values_units_and_entries_are_those_of_the_case(tmp_path):
    path = tmp_path / "boom.toml"
    path.write_text(BOOM)
    document, model = document_of(path, BOOM), femb.load_case(path).model
    length = differentiable(Parameter(name="l", entry="beams.boom.length", range="2 %"), document, model)
    assert (length.value, length.unit, length.limits, length.scale) == (4.0, "m", (3.92, 4.08), pytest.approx(0.08))
    both = Parameter(name="f", entries=["sections.tube.density", "sections.tube.shape.tube"], relative=True)
    factor = differentiable(both, document, model)
    assert factor.entries(2.0) == {"sections.tube.density": 3200.0, "sections.tube.shape.tube": [0.1, 0.002]}
    unlike = Parameter(name="u", entries=["beams.boom.length", "sections.tube.density"])
    with pytest.raises(femb.FembError, match=r"its entries differ: beams.boom.length is 4, sections.tube.density is"):
        differentiable(unlike, document, model)


BOOM = """
[sections.tube]
shape = { tube = [0.05, 0.001] }
youngs_modulus = 1.2e11
shear_modulus = 2e10
density = 1600.0
[beams.boom]
section = "tube"
length = "400 cm"
elements = 4
start = { body = "ground", direction = [1, 0, 0] }
[loads.tip]
beam = "boom"
force = [0, 0, 10]
"""
