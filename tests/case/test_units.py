"""Texts with units in case files: the numbers in SI, and the quantities that do not fit."""

import re
import sys
import tomllib

import pytest
from jsonschema import Draft7Validator

from femb.base.options import Tolerances
from femb.case import CaseError, load_case
from femb.case.build import OPTIONS, kinds
from femb.case.json_schema import schema
from femb.case.schema import keys_of
from femb.case.units import EACH_ITS_OWN, OF_TABLES, UNITS, converted, takes_numbers, units_of
from femb.profiles import PROFILES

CASE = """
gravity = [0, 0, "-1.62 m/s^2"]
[sections.boom]
shape = { tube = [0.02, 0.001] }
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
profile = { shape = "smooth_step", duration = "2 min", after = "30 deg" }
[run]
duration = "0.5 h"
"""
SHORT = {kind.__name__: kind for table in kinds().values() for kind in table.values()}


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
    assert load.profile(1e9) == pytest.approx(0.5235987755982988)
    assert (load.profile.duration, case.run.duration) == (120.0, 1800.0)


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


def test_without_pint(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pint", None)
    file = tmp_path / "case.toml"
    file.write_text("[bodies.hub]\nmass = '1 kg'\ninertia = 1.0\n")
    with pytest.raises(CaseError, match=r"pip install 'femb\[units\]'"):
        load_case(file)


def test_the_schema_admits_them():
    valid = Draft7Validator(schema()).is_valid
    document = tomllib.loads(CASE)
    del document["gravity"]
    assert valid(document)
    assert not valid(document | {"bodies": {"hub": {"mass": "heavy", "inertia": 1.0}}})
    assert not valid(document | {"run": {"duration": 1.0, "rtol": "1e-6 m"}})


@pytest.mark.parametrize("unit", sorted({unit for units in (*UNITS.values(), *OF_TABLES.values()) for unit in units}))
def test_units_are_si(unit):
    if unit:
        text = re.sub("([a-z])([234])", r"\1^\2", unit)
        assert converted(f"2.5 {text}", (unit,)) == 2.5


def test_every_key_that_takes_numbers_has_a_unit():
    tables = [*SHORT.values(), *OPTIONS.values(), *PROFILES.values()]
    for kind in tables:
        for key in keys_of(kind):
            if takes_numbers(kind, key):
                assert key in UNITS or (kind.__name__, key) in OF_TABLES, (kind.__name__, key)
    for name, key in OF_TABLES:
        assert any(kind.__name__ == name and takes_numbers(kind, key) for kind in [*tables, Tolerances]), (name, key)
    assert units_of(SHORT["Planar"], "start") == EACH_ITS_OWN
