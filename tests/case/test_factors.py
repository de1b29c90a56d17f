"""Factors, parameters with ``relative = true``: their values act in every analysis, and once.

A hub on two turning springs of stiffness k and k2 has the frequency sqrt(f (k + k2)/J)/2 pi at the factor f.
"""

import numpy as np
import pytest
from shared_runs import said

import femb

CASE = """
[bodies.hub]
mass = 2.0
inertia = 8.0
[bodies.stand]
mass = 1.0
inertia = 1.0
[joints.axis]
kind = "revolute"
first = { body = "ground", axis = [0, 0, 1] }
second = { body = "hub" }
start = 0.1
[joints.rail]
kind = "prismatic"
first = { body = "ground", axis = [0, 1, 0] }
second = { body = "stand" }
[springs.one]
kind = "joint"
joint = "axis"
stiffness = 30.0
free = "0.1 rad"
[springs.two]
kind = "joint"
joint = "axis"
stiffness = "0.02 kN m/rad"
free = 0.1
[springs.rail]
kind = "joint"
joint = "rail"
stiffness = 900.0
[parameters.factor]
entries = ["springs.one.stiffness", "springs.two.stiffness"]
relative = true
value = 4.0
range = [1.0, 5.0]
[run]
duration = 0.1
"""
OUTPUT = {"f": {"kind": "natural_frequency"}}


def frequency(factor, one=30.0, two=20.0):
    return np.sqrt((factor * (one + two)) / 8.0) / (2.0 * np.pi)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "case.toml").write_text(CASE)
    return tmp_path / "case.toml"


def stiffnesses(path, *overrides):
    springs = femb.load_case(path, overrides).model.springs
    return [springs[name].stiffness for name in ("one", "two")]


def test_a_factor_of_the_case_multiplies_its_entries(path):
    assert stiffnesses(path) == [120.0, 80.0]
    assert stiffnesses(path, "parameters.factor.value=0.5") == [15.0, 10.0]
    assert femb.modes(path).frequencies[0] == pytest.approx(frequency(4.0), rel=1e-9)


def test_an_entry_that_is_set_has_its_number_and_others_of_the_factor_theirs(path):
    assert stiffnesses(path, "springs.one.stiffness=7.0") == [7.0, 80.0]
    assert stiffnesses(path, "springs.two.stiffness=7.0", "parameters.factor.value=2") == [60.0, 7.0]
    whole = CASE.replace('entries = ["springs.one.stiffness", "springs.two.stiffness"]', 'entry = "bodies.hub.inertia"')
    path.write_text(whole.replace("inertia = 8.0", "inertia = [8.0, 8.0, 8.0]"))
    assert np.diag(femb.load_case(path).model.bodies["hub"].inertia) == pytest.approx([32.0, 32.0, 32.0])
    part = femb.load_case(path, ["bodies.hub.inertia.1=9.0"]).model.bodies["hub"]
    assert np.diag(part.inertia) == pytest.approx([32.0, 9.0, 32.0])


@pytest.mark.slow
def test_derivatives_and_scatter_are_about_the_value(path):
    found = femb.sensitivities(path, OUTPUT)
    assert (found.nominal[0], found.values[0]) == (4.0, pytest.approx(frequency(4.0), rel=1e-9))
    assert found.derivatives[0, 0] == pytest.approx(frequency(4.0) / 8.0, rel=1e-6)
    # of another factor of one entry, and of the entry, about what acts
    by = {"other": {"entry": "springs.one.stiffness", "relative": True}, "entry": {"entry": "springs.one.stiffness"}}
    found = femb.sensitivities(path, OUTPUT, by)
    assert found.nominal == pytest.approx([1.0, 120.0])
    assert found.derivatives[0] == pytest.approx(frequency(4.0) / 400.0 * np.array([120.0, 1.0]), rel=1e-6)
    drawn = femb.tolerances(path, OUTPUT, samples=8).samples[:, 0]
    assert frequency(1.0) < drawn.min() < drawn.max() < frequency(5.0)


@pytest.mark.slow
def test_studies_and_exact_forms_have_the_values_once(path):
    study = femb.Study(path, parameters={"factor": femb.load_case(path).parameters["factor"]}, outputs=OUTPUT,
                       design="latin-hypercube", runs=3)  # fmt: skip
    table = femb.sweep(study)
    assert table.outputs["f"] == pytest.approx([frequency(x) for (x,) in study.rows], rel=1e-9)
    times = femb.Study(path, {"times": {"key": "springs.one.stiffness", "relative": True, "values": [0.5]}}, OUTPUT)
    assert femb.sweep(times).outputs["f"] == pytest.approx([frequency(4.0, one=15.0)], rel=1e-9)
    form = femb.uncertain(path, inputs=["bodies.hub.torque.z"], outputs=["bodies.hub.turn.z"], points=1)
    for x in (1.0, 4.0, 5.0):
        poles = form.at({"factor": x}).eigenvalues() / (2.0 * np.pi)
        assert np.min(np.abs(poles - 1j * frequency(x))) < 1e-9
    assert form.nominal == {"factor": 4.0}


@pytest.mark.parametrize(
    ("table", "value"),
    [
        ("parameters", None),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (("parameters", 1.0), ("parameters", 3.0), ("variables", None))
        ),
    ],
)
def test_a_factor_of_a_study_is_in_place_of_that_of_the_case(path, table, value):
    """Searches and derivatives had it by the case's 4 at its value of one, and variables everywhere."""
    keys = ["springs.one.stiffness", "springs.two.stiffness"]
    own = {"entries": keys, "relative": True, "range": [0.5, 5.0]} | ({} if value is None else {"value": value})
    if table == "variables":
        own = {"key": keys, "relative": True, "kind": "uniform", "low": 0.5, "high": 5.0}
    for design in ("latin-hypercube", "optimize", "worst"):
        words = {"design": design, "best": "least f"} | ({} if design == "worst" else {"runs": 6})
        study = femb.Study(path, outputs=OUTPUT, **{table: {"factor": own}}, **words)
        found = femb.sweep(study)
        assert found.outputs["f"] == pytest.approx([frequency(x) for x in found.variables["factor"]], rel=1e-9)
    found = femb.sensitivities(study)
    nominal = 1.0 if value is None or table == "variables" else value
    assert (found.nominal[0], found.values[0]) == (nominal, pytest.approx(frequency(nominal), rel=1e-9))
    assert found.derivatives[0, 0] == pytest.approx(frequency(nominal) / (2.0 * nominal), rel=1e-6)
    found = femb.sensitivities(study, by={"factor": {"entries": keys, "relative": True}})
    assert found.values[0] == pytest.approx(frequency(1.0), rel=1e-9)
    (path.parent / "data.csv").write_text(f"mode,frequency,sigma\n1,{frequency(2.5)},1e-4\n")
    fit = femb.identify(study, path.parent / "data.csv")
    assert (fit.start[0], fit.values[0]) == (nominal, pytest.approx(2.5, rel=1e-6))


def test_a_factor_of_a_study_is_alone_also_where_one_of_its_entries_is_set(path):
    """The case's factor of 4 acted on the other entry before that of the study."""
    keys = ["springs.one.stiffness", "springs.two.stiffness"]
    own = {"entries": keys, "relative": True, "range": [0.5, 5.0], "value": 3.0}
    words = {"design": "latin-hypercube", "runs": 2, "overrides": ("springs.two.stiffness=40",)}
    study = femb.Study(path, outputs=OUTPUT, parameters={"factor": own}, **words)
    found = femb.sweep(study)
    assert found.outputs["f"] == pytest.approx([frequency(x, two=40.0) for x in found.variables["factor"]], rel=1e-9)
    found = femb.sensitivities(study)
    assert found.values[0] == pytest.approx(frequency(3.0, two=40.0), rel=1e-9)
    assert found.derivatives[0, 0] == pytest.approx(frequency(3.0, two=40.0) / 6.0, rel=1e-6)


def test_a_factor_without_numbers_or_beside_another_value_is_refused(path):
    two = CASE + '[parameters.same]\nentry = "springs.two.stiffness"\nvalue = 3.0\n'
    path.write_text(two)
    assert "parameters.same: sets springs.two.stiffness to 3, and factor by 4: only one of them may" in said(
        "check", str(path), code=2
    )
    path.write_text(CASE.replace('"springs.two.stiffness"]', '"springs.two.damping"]'))
    assert "parameters.factor.value: is a factor of springs.two.damping, wanted a number" in said(
        "modes", str(path), code=2
    )


def test_problems_of_numbers_that_parameters_set_are_at_their_values(tmp_path, path):
    """They were reported at the entry, in another file, which has another number."""
    other = tmp_path / "other.toml"
    other.write_text(f'include = "{path.name}"\n[parameters.p]\nentry = "springs.rail.stiffness"\nvalue = -5.0\n')
    text = said("check", str(other), code=2)
    assert "other.toml:4: parameters.p.value: springs.rail.stiffness: got -5.0" in text
    path.write_text(CASE.replace("value = 4.0", "value = 6.0"))
    assert "parameters.factor.range: got 1 to 5, wanted limits about the nominal value 6" in said(
        "check", str(path), code=2
    )


def test_a_motion_has_the_unit_of_its_coordinate(path):
    """A parameter of the start of a joint and of the angle that it is driven to had no unit."""
    path.write_text(
        CASE + '[drivers.drive]\njoint = "axis"\nmotion = { shape = "constant", value = 0.1 }\n'
        '[parameters.angle]\nentries = ["joints.axis.start", "drivers.drive.motion.value"]\n'
    )
    assert femb.sensitivities(path, {"m": {"kind": "mass"}}, ["angle"]).units["angle"] == "rad"
