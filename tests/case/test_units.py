"""Texts with units in case files: the numbers in SI, and the quantities that do not fit."""

import dataclasses
import math
import re
import tomllib
from typing import get_args

import numpy as np
import pytest
from jsonschema import Draft7Validator
from models import refuses

from femb.base.checks import unit_of
from femb.base.errors import ModelError
from femb.case import CaseError, load_case
from femb.case.build import OPTIONS, kinds
from femb.case.json_schema import schema
from femb.case.schema import choices, converted, keys_of, quantity, takes_numbers
from femb.profiles import PROFILES

CASE = """
gravity = [0, 0, "-1.62 m/s^2"]
[sections.boom]
shape = { tube = ["20 mm", 0.001] }
material = { youngs_modulus = "71.7 GPa", shear_modulus = "26.9 GPa", density = "2.81 g/cm^3" }
[bodies.hub]
mass = "22.4 kg"
inertia = [0.149, "149000 kg mm^2", 0.149]
angular_velocity = ["1 rpm", 0, 0]
[beams.boom]
section = "boom"
length = "2000 mm"
elements = 2
start = { body = "hub", at = ["10 cm", 0, 0], direction = [1, 0, 0] }
[loads.push]
body = "hub"
torque = ["1 lbf ft", 0, 0]
profile = { shape = "smooth_step", duration = "2 min", after = "50 %" }
[run]
duration = "0.5 h"
"""


def tables():
    """The dataclasses of all tables of a case file, also nested ones."""
    found, todo = [], [kind for words in (*kinds().values(), OPTIONS, PROFILES) for kind in words.values()]
    while todo:
        kind = todo.pop()
        if kind not in found:
            found.append(kind)
            options = [option for hint in keys_of(kind).values() for option in choices(hint)]
            entries = [entry for option in options for entry in get_args(option)]
            todo += [each for each in (*options, *entries) if isinstance(each, type) and dataclasses.is_dataclass(each)]
    return found


TABLES = tables()
DECLARED = {unit for kind in TABLES for hint in keys_of(kind).values() if (unit := unit_of(hint))}


def test_numbers_in_si(tmp_path):
    file = tmp_path / "case.toml"
    file.write_text(CASE)
    case = load_case(file)
    model, hub = case.model, case.model.bodies["hub"]
    assert model.gravity[2] == -1.62
    assert (hub.mass, hub.inertia[1, 1]) == pytest.approx((22.4, 0.149), rel=1e-15)
    assert hub.angular_velocity[0] == pytest.approx(0.10471975511965977, rel=1e-14)
    boom, load = model.beams["boom"], model.loads["push"]
    assert (boom.length, boom.start.at[0]) == (2.0, 0.1)
    assert model.section_of(boom).density == pytest.approx(2810.0)
    assert load.torque[0] == pytest.approx(1.3558179483314004, rel=1e-12)
    assert load.profile(1e9) == 0.5
    assert (load.profile.duration, case.run.duration) == (120.0, 1800.0)


def test_overrides_have_units_without_quotes(tmp_path):
    """As a shell hands them on, which takes the quotes."""
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    words = ("beams.boom.length=1500 mm", "bodies.hub.mass=-1.5e-2 t", "run.duration=90s")
    refuses(r"bodies\.hub\.mass: got -15\.0, must be greater than 0", load_case, path, words, error=CaseError)
    case = load_case(path, (words[0], "bodies.hub.mass=1.5e-2 t", words[2]))
    assert (case.model.beams["boom"].length, case.model.bodies["hub"].mass, case.run.duration) == (1.5, 15.0, 90.0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"22.4 kg"', '"22.4 m"', "bodies.hub.mass: got '22.4 m', wanted a number in kg"),
        ('"2000 mm"', '"2000 mn"', "beams.boom.length: got '2000 mn', wanted a number in m"),
        ('"2000 mm"', '"long"', "beams.boom.length: got 'long', wanted a number"),
        ('"1 rpm"', '"1 Hz m"', "bodies.hub.angular_velocity: got '1 Hz m', wanted a number in rad/s"),
        ("density = ", 'densty = "3", density = ', "sections.boom.material.densty: unknown key"),
    ],
)
def test_other_quantities_are_refused(tmp_path, old, new, message):
    file = tmp_path / "case.toml"
    file.write_text(CASE.replace(old, new))
    with pytest.raises(CaseError) as refused:
        load_case(file)
    assert message in str(refused.value)
    assert len(refused.value.problems) == 1


def test_the_schema_admits_them():
    valid = Draft7Validator(schema()).is_valid
    document = tomllib.loads(CASE)
    assert valid(document)
    assert not valid(document | {"bodies": {"hub": {"mass": "heavy", "inertia": 1.0}}})
    assert not valid(document | {"run": {"duration": 1.0, "rtol": "1e-6 m"}})


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_every_field_of_numbers_declares_its_unit(kind):
    assert [key for key, hint in keys_of(kind).items() if takes_numbers(kind, key) and unit_of(hint) is None] == []


@pytest.mark.parametrize("unit", sorted({text for unit in DECLARED for text in (unit.text, unit.stroke) if text}))
def test_declared_units_are_si_and_read_as_they_are_written(unit):
    if unit == "own" or unit.startswith("value"):
        return
    assert converted(f"2.5 {unit}", (unit,)) == 2.5
    assert quantity(unit).factor == pytest.approx(2.0 * math.pi if unit == "Hz" else 1.0, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [
        ("10 Hz", "rad/s", 20.0 * math.pi),
        ("60 rpm", "Hz", 1.0),
        ("60 rpm", "rad/s", 2.0 * math.pi),
        ("10 rad/s", "Hz", 5.0 / math.pi),
        ("1 rev/min", "Hz", 1.0 / 60.0),
        ("0.25 turn", "rad", 0.5 * math.pi),
        ("90°/s", "rad/s", 0.5 * math.pi),
        ("1 kg m2", "kg m2", 1.0),
        ("1 kg·m²", "kg m2", 1.0),
        ("1 kg*m**2", "kg m2", 1.0),
        ("3 N m", "N m/rad", 3.0),
        ("3 Nm/deg", "N m/rad", 540.0 / math.pi),
        ("2 kg/(m s2)", "Pa", 2.0),
        ("2 kg/m/s^2", "Pa", 2.0),
        ("3.6 km per hour", "m/s", 1.0),
        ("72 mm", "m", 0.072),
        ("2 1/km", "rad/m", 0.002),
        ("180 deg/m", "rad/m", math.pi),
        ("20 delta_degC", "K", 20.0),
        ("2 %", "", 0.02),
        ("0.6 deg/sqrt(h)", "rad/s^0.5", math.radians(0.01)),
        ("0.6 deg/√h", "rad/s^0.5", math.radians(0.01)),
        ("0.6 deg/h^0.5", "rad/s^0.5", math.radians(0.01)),
        ("216 (deg/h)/√h", "rad/s^1.5", math.radians(1e-3)),
        ("2 N m/√kW", "N m/W^0.5", 2.0 / math.sqrt(1000.0)),
    ],
)
def test_texts_are_converted(text, unit, number):
    assert converted(text, (unit,)) == pytest.approx(number, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "unit", "reason"),
    [
        ("10 1/s", "rad/s", "radians or turns"),
        ("10 1/s", "Hz", "radians or turns"),
        ("0.6 1/√h", "rad/s^0.5", "radians or turns"),
        ("0.6 deg/√", "rad/s^0.5", "cannot read"),
        ("0.6 deg/h^0.25", "rad/s^0.5", "cannot read"),
        ("5 N/mm", "N m/rad", "wanted a number in N m/rad"),
        ("5 N m/rad", "N m", "wanted a number in N m"),
        ("30 deg", "", "without a unit"),
        ("20 degC", "K", "no multiple"),
        ("2 kg/m s2", "Pa", "brackets"),
        ("9**9**9 m", "m", "cannot read"),
        ("9 m**9**9", "m", "cannot read"),
        ("1 m99999999", "m", "cannot read"),
        ("1 (Ym9 Ym9)", "m", "too large"),
        ("1 1/(ym9 ym9)", "m", "too large or too small"),
        ("1e400 m", "m", "must be finite"),
        ("1 " + "(" * 5000 + "m", "m", "too long"),
        ("1 mn", "m", "unknown unit 'mn'"),
        ("1 m +2 m", "m", "cannot read"),
        ("1 __import__('os')", "m", "cannot read"),
    ],
)
def test_texts_are_refused(text, unit, reason):
    refuses(re.escape(reason), converted, text, (unit,))


@pytest.mark.parametrize(("text", "unit"), [("10 m", "rad"), ("10 m/s", "rad/s"), ("10 m/s", "Hz"), ("3 kg", "rad/s")])
def test_what_is_no_angle_is_not_asked_whether_it_counts_turns(text, unit):
    with pytest.raises(ModelError) as raised:
        converted(text, (unit,))
    assert "turns" not in str(raised.value)


JOINTS = """
[bodies.a]
mass = 1.0
inertia = 1.0
[bodies.b]
mass = 1.0
inertia = 1.0
[joints.j]
kind = "KIND"
first = { body = "a", axis = [0, 0, 1] }
second = { body = "b" }
"""


def case(tmp_path, kind, text):
    file = tmp_path / "case.toml"
    file.write_text(JOINTS.replace("KIND", kind) + text)
    return load_case(file)


@pytest.mark.parametrize(
    ("kind", "table", "field", "text", "number"),
    [
        ("revolute", "springs.x]\nkind='joint'", "stiffness", '"2 N m/rad"', 2.0),
        ("hinge", "springs.x]\nkind='joint'", "stiffness", '"2 N m"', 2.0),
        ("revolute", "springs.x]\nkind='joint'", "stiffness", '"5 N/mm"', None),
        ("prismatic", "springs.x]\nkind='joint'", "stiffness", '"5 N/mm"', 5000.0),
        ("prismatic", "springs.x]\nkind='joint'", "stiffness", '"2 N m/rad"', None),
        ("cylindrical", "springs.x]\nkind='joint'", "stiffness", '"5 N/mm"', None),
        ("cylindrical", "springs.x]\ncoordinate='stroke'\nkind='joint'", "stiffness", '"5 N/mm"', 5000.0),
        ("revolute", "latches.x]", "at", '"90 deg"', 0.5 * math.pi),
        ("revolute", "latches.x]", "at", '"90 mm"', None),
        ("prismatic", "latches.x]", "at", '"90 mm"', 0.09),
        ("revolute", "springs.x]\nkind='stops'\nstiffness=1.0\nupper='10 deg'", "damping", '"0.5 s/rad"', 0.5),
        ("prismatic", "springs.x]\nkind='stops'\nstiffness=1.0\nupper='10 mm'", "damping", '"0.5 s/mm"', 500.0),
        ("revolute", "springs.x]\nkind='stops'\nupper=0.1", "stiffness", '"1 N m/rad"', None),
        ("revolute", "loads.x]\nkind='motor'", "force", '"3 N"', None),
        ("prismatic", "loads.x]\nkind='motor'", "force", '"3 kN"', 3000.0),
        ("prismatic", "springs.x]\nkind='friction'\ncoulomb='1 N'", "transition_rate", '"1 mm/s"', 1e-3),
        ("revolute", "springs.x]\nkind='friction'\ncoulomb='1 N m'", "transition_rate", '"1 mm/s"', None),
    ],
)
def test_the_unit_is_that_of_the_coordinate_an_item_acts_on(tmp_path, kind, table, field, text, number):
    words = f"[{table}\njoint='j'\n{field} = {text}\n"
    if number is None:
        with pytest.raises(CaseError, match=rf"x\.{field}: got {text.replace(chr(34), chr(39))}, wanted") as refused:
            case(tmp_path, kind, words)
        assert len(refused.value.problems) == 1
    else:
        item = case(tmp_path, kind, words).model.tables[table.split(".")[0]]["x"]
        assert getattr(item, field) == pytest.approx(number, rel=1e-15)


def test_numbers_of_a_joint_have_the_units_of_its_coordinates(tmp_path):
    planar = case(tmp_path, "planar", "start = ['10 mm', 0.5, '90 deg']\nrates = ['1 mm/s', '2 m/s', '60 rpm']\n")
    joint = planar.model.joints["j"]
    assert joint.start == pytest.approx([0.01, 0.5, 0.5 * math.pi])
    assert joint.rates == pytest.approx([0.001, 2.0, 2.0 * math.pi])
    assert case(tmp_path, "prismatic", "start = '10 mm'").model.joints["j"].start == pytest.approx([0.01])
    for kind, text in (("planar", "['10 deg', 0, 0]"), ("revolute", "'10 mm'"), ("fixed", "'10 mm'")):
        refuses(r"joints.j.start: got", case, tmp_path, kind, f"start = {text}\n", error=CaseError)


@pytest.mark.parametrize(
    ("kind", "amplitude", "number"),
    [("revolute", "'90 deg'", 0.5 * math.pi), ("revolute", "'90 mm'", None), ("prismatic", "'90 mm'", 0.09)],
)
def test_numbers_of_a_profile_have_the_unit_of_what_follows_it(tmp_path, kind, amplitude, number):
    sine = f"{{ shape = 'sine', frequency = '6.283185307179586 rad/s', amplitude = {amplitude} }}"
    driver = f"[drivers.d]\njoint = 'j'\nmotion = {{ shape = 'sum', terms = [{sine}] }}\n"
    if number is None:
        with pytest.raises(CaseError, match=r"drivers.d.motion.terms.0.amplitude: got '90 mm', wanted a number in rad"):
            case(tmp_path, kind, driver)
        return
    (term,) = case(tmp_path, kind, driver).model.drivers["d"].motion.terms
    assert (term.frequency, term.amplitude) == (pytest.approx(1.0), pytest.approx(number))


def test_factors_of_a_load_have_no_unit(tmp_path):
    load = "[loads.l]\nbody = 'a'\nforce = [1, 0, 0]\nprofile = { shape = 'constant', value = '3 N' }\n"
    with pytest.raises(CaseError, match=r"loads.l.profile.value: got '3 N', wanted a number without a unit"):
        case(tmp_path, "revolute", load)


@pytest.mark.parametrize("text", ["-9.81 m", "9.81", "fast", "1e400 m/s2", "2 1/s"])
def test_gravity_in_another_unit_is_refused_at_its_line(tmp_path, text):
    file = tmp_path / "case.toml"
    file.write_text(f"gravity = [0, 0, '{text}']\n[bodies.a]\nmass = 1.0\ninertia = 1.0\n")
    refuses(r"case.toml:1: gravity: got ", load_case, file, error=CaseError)


def test_each_number_of_a_surface_has_its_unit(tmp_path):
    """Lengths and the angle of a cylinder; an angle in place of a length is refused."""
    text = 'title = "t"\n[shells.tape]\nelements = [4, 4]\nthickness = 1e-3\nmaterial = "aluminium 6061-T6"\n'
    path = tmp_path / "tape.toml"
    path.write_text(text + 'surface = { cylinder = ["20 mm", 1.0, "90 deg"] }\n')
    surface = load_case(path).model.shells["tape"].surface
    np.testing.assert_allclose(surface["cylinder"], [0.02, 1.0, 0.5 * np.pi], rtol=1e-15)
    path.write_text(text + 'surface = { cylinder = ["90 deg", 1.0, "90 deg"] }\n')
    refuses("wanted a number in m, or a text with such a unit", load_case, path, error=CaseError)
    path.write_text(text + 'surface = { disc = ["0.5 m", "100 mm"] }\n')
    assert load_case(path).model.shells["tape"].surface["disc"] == [0.5, 0.1]
