"""The schema of study files says the same as their checks."""

import tomllib

import jsonschema
import pytest
from checkout import CASES
from oracles.spring_study import STUDY

from femb.study.json_schema import schema


@pytest.fixture(scope="module")
def validator():
    jsonschema.Draft7Validator.check_schema(schema())
    return jsonschema.Draft7Validator(schema())


def test_studies_are_valid(validator):
    texts = [path.read_text() for path in (CASES / "studies").glob("*.toml")]
    assert texts
    for text in [STUDY, *texts]:
        assert list(validator.iter_errors(tomllib.loads(text))) == []


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ('"grid"', '"gird"', ["design"]),
        ("[50.0, 80.0]", "3.0", ["variables", "stiffness", "values"]),
        ('kind = "min"', 'kind = "least"', ["outputs", "lowest", "kind"]),
        ('kind = "min"', 'kind = "min"\nband = 0.1', ["outputs", "lowest"]),
        ('"grid"', '"grid"\nkeep = 3', ["keep"]),
    ],
)
def test_mistakes_are_marked(validator, old, new, path):
    (error, *_) = validator.iter_errors(tomllib.loads(STUDY.replace(old, new, 1)))
    assert list(error.absolute_path) == path


def test_keys_have_descriptions():
    for key, value in schema()["properties"].items():
        assert value["description"], key
