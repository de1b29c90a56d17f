"""The JSON Schema of a case file: every case fits it, and every case with a wrong key, type or size does not."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from checkout import BAD_CASES, ROOT
from jsonschema import Draft7Validator
from shared_runs import said

import femb
from femb.case.build import kinds
from femb.case.schema import WITH_UNIT, keys_of, required_keys
from femb.profiles import PROFILES

CASES = sorted((ROOT / "cases").glob("*.toml"))
SCHEMA = femb.schema()
VALIDATOR = Draft7Validator(SCHEMA)

# Messages about keys, types, words, bounds and shapes of arrays; all others are about the model as a whole.
STRUCTURE = re.compile(
    r"unknown key"
    r"|wanted (a number|a whole number|\d numbers|text|true or false|a list|a table|tables|a function: in a case)"
    r"|profile\.\w+: is missing|profile\.shape: |run\.duration: is missing"
    r"|(motion|transition_rate): is missing"
    r"|(mass|length|damping|duration): got .*, must be (greater than|at least) 0"
    r"|(kind|frame|sequence|method|formulation|start): got [^,]*, must be one of"
)


def document(path: Path) -> dict[str, Any] | None:
    """The tables of a file; None where it is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None


def wrong() -> list[Any]:
    """The bad cases that are TOML, each with whether its messages are about keys and types."""
    found = []
    for path in sorted((BAD_CASES).glob("*.toml")):
        tables = document(path)
        if tables:
            expected = re.findall(r"^# expect: \d+: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            structural = any(STRUCTURE.search(message) for message in expected)
            found.append(pytest.param(tables, structural, id=path.stem))
    return found


@pytest.mark.slow
def test_it_is_a_schema():
    Draft7Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_every_case_fits(path):
    assert [error.message for error in VALIDATOR.iter_errors(document(path))] == []


@pytest.mark.parametrize(("tables", "structural"), wrong())
def test_wrong_keys_and_types_do_not_fit_and_the_rest_does(tables, structural):
    assert VALIDATOR.is_valid(tables) is not structural


def test_many_bad_cases_are_about_keys_and_types():
    assert sum(each.values[1] for each in wrong()) >= 40


def test_every_key_of_every_table_is_there_and_explained():
    """Keys of Python alone, whose values are functions, are no keys of a file."""
    for table, words in kinds().items():
        options = SCHEMA["properties"][table]["additionalProperties"]
        names = {each["then"]["$ref"].rsplit("/", 1)[-1] for each in options["allOf"]}
        assert names == {kind.__name__ for kind in words.values()}
        for word, kind in words.items():
            found = SCHEMA["definitions"][kind.__name__]
            keys = set(found["properties"]) - {"kind"}
            assert set(keys_of(kind)) - keys <= {"force", "torque", "law", "motion", "when", "curve", "function"}
            assert required_keys(kind) == tuple(found["required"])
            assert word in found["properties"]["kind"]["enum"]
            assert set(getattr(kind, "also", ())) < set(found["properties"]["kind"]["enum"])
            unexplained = {key for key in keys if not found["properties"][key].get("description")}
            assert not unexplained, (kind, unexplained)


def test_units_shapes_words_and_defaults():
    def key(name: str, of: str) -> dict[str, Any]:
        return SCHEMA["definitions"][of]["properties"][name]

    number = {"type": ["number", "string"], "pattern": WITH_UNIT}
    assert key("mass", "RigidBody") == number | {"exclusiveMinimum": 0.0, "description": "kg"}
    assert key("exponent", "JointStops")["minimum"] == 1.0
    assert key("rtol", "Run")["type"] == "number"
    assert key("second_moments", "Section")["minItems"] == key("second_moments", "Section")["maxItems"] == 2
    assert [form["items"]["maxItems"] for form in key("stiffness_matrix", "Section")["anyOf"]] == [4, 6]
    assert key("method", "Run")["enum"] == ["radau", "bdf", "rk", "gauss", "generalized-alpha", "auto"]
    assert key("method", "Run")["default"] == "radau"
    assert key("node", "Load")["default"] == -1
    assert key("center_of_mass", "RigidBody")["default"] == [0.0, 0.0, 0.0]
    assert [option["type"] for option in key("inertia", "RigidBody")["anyOf"][1:]] == ["array", "array"]
    assert "rad" in key("lower", "JointStops")["description"]


@pytest.mark.parametrize("shape", PROFILES)
def test_profiles_go_by_their_shape(shape):
    def case(profile: dict[str, Any]) -> dict[str, Any]:
        return {"loads": {"l": {"body": "ground", "force": [1, 0, 0], "profile": profile}}}

    examples = {"file": "a.csv", "column": "thrust", "count": 2, "slopes": [0, 0], "factors": [1.0]}
    examples |= {key: [0, 1] for key in ("times", "values", "coefficients", "amplitudes")}
    examples |= {"frequencies": [0.3, "20 mHz"], "damping": [0.1, 0.2]}
    examples |= {
        "profile": {"shape": "step"},
        "terms": [{"shape": "step"}],
        "rate": {"shape": "sine", "frequency": 1.0},
    }
    values = {key: examples.get(key, 1.0) for key in keys_of(PROFILES[shape])}
    assert VALIDATOR.is_valid(case({"shape": shape, **values}))
    assert not VALIDATOR.is_valid(case({"shape": shape, **values, "lasts": 1.0}))
    assert not VALIDATOR.is_valid(case(values))


def test_a_mistake_is_shown_where_it_is():
    tables = document(BAD_CASES / "six_errors.toml")
    places = {".".join(map(str, error.absolute_path)) for error in VALIDATOR.iter_errors(tables)}
    assert places == {
        "bodies.hub.mass", "sections.boom", "beams.right.elements", "beams.right.length", "loads.slew.frame",
        "run.method",
    }  # fmt: skip


@pytest.mark.parametrize(("word", "fits"), [("revolute", True), ("hinge", True), ("knuckle", False), (None, True)])
def test_joints_go_by_their_kind_and_its_other_words(word, fits):
    joint = {"first": {"body": "a", "axis": [0, 0, 1]}, "second": {"body": "b"}}
    assert VALIDATOR.is_valid({"joints": {"j": joint | ({"kind": word} if word else {})}}) is fits
    assert not VALIDATOR.is_valid({"joints": {"j": joint | {"kind": "hinge", "length": 1.0}}})
    assert VALIDATOR.is_valid({"joints": {"j": joint | {"kind": "rod", "length": 1.0}}})


def test_command_prints_it_and_writes_it(tmp_path):
    run = said("schema")
    assert json.loads(run) == SCHEMA
    file = tmp_path / "new" / "femb.schema.json"
    assert said("schema", "--out", file).split() == [str(file)]
    assert json.loads(file.read_text(encoding="utf-8")) == SCHEMA
    assert "is a folder" in said("schema", "--out", tmp_path, code=2)
