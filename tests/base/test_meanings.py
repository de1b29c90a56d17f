"""The meanings of fields: read from below them, inherited, and shown by signatures and docstrings with plain types."""

import inspect
import pydoc
import re
import subprocess
import sys
from dataclasses import dataclass, fields
from typing import Annotated

import pytest

import femb
from femb.base.meanings import Description, _below_fields, description, meanings, plain, told
from femb.base.types import Inertia, Shape, Unit, Vector
from femb.case.build import OPTIONS, kinds
from femb.profiles import PROFILES
from femb.study.study import Study
from femb.study.variables import VARIABLES

KINDS = [*OPTIONS.values(), *PROFILES.values(), *VARIABLES.values(), Study]
KINDS += [kind for words in kinds().values() for kind in words.values()]


@dataclass(frozen=True)
class Rope(Description):
    """A rope."""

    length: Annotated[float, Unit("m")]
    """from the one end
    to the other"""
    ends: Annotated[Vector | None, Unit("m")] = None
    load: Annotated[float, Unit("N m", stroke="N")] = 0.0
    """on the ``end``"""


@dataclass(frozen=True)
class Cable(Rope):
    """A cable.

    Raises ModelError: never.
    """

    length: Annotated[float, Unit("m")] = 2.0
    strands: int = 7
    """number of them"""


def test_meanings_are_those_below_the_fields_and_inherited():
    inherited = {"length": "from the one end to the other", "load": "on the end"}
    assert meanings(Rope) == inherited
    assert meanings(Cable) == inherited | {"strands": "number of them"}
    assert told(Cable, "load") == "N m or N, on the end"
    assert (told(Cable, "ends"), told(Cable, "strands")) == ("m", "number of them")


def test_docstrings_have_a_line_for_each_field():
    assert inspect.getdoc(Cable).splitlines() == [
        "A cable.", "", "Raises ModelError: never.", "", "Fields", "------",
        "length: float = 2.0  # m, from the one end to the other",
        "ends: (3,) | None = None  # m",
        "load: float = 0.0  # N m or N, on the end",
        "strands: int = 7  # number of them",
    ]  # fmt: skip
    assert description(Cable) == "A cable."
    assert inspect.getdoc(Cable()) == inspect.getdoc(Cable)


def test_help_shows_plain_types():
    text = pydoc.render_doc(femb.Section, renderer=pydoc.plaintext)
    assert "area: float | None = None" in text
    assert " |  area: float | None = None  # m2\n" in text
    assert "Annotated" not in re.sub(r"__annotations__ = .*", "", text)  # which Python shows as it is
    assert str(inspect.signature(Rope)) == "(length: float, ends: (3,) | None = None, load: float = 0.0)"
    assert list(inspect.signature(femb.Section.__init__).parameters)[:2] == ["self", "name"]


def test_signatures_of_objects_are_those_of_their_calls():
    assert list(inspect.signature(femb.profiles.Step()).parameters) == ["t"]


def test_types_in_words():
    assert plain(Inertia) == "float | (3,) | (3, 3)"
    assert plain(Annotated[list[Vector] | None, Unit("m")]) == "list[(3,)] | None"
    assert plain(Annotated[dict[str, int], Shape((None, 3))]) == "(n, 3)"


def test_classes_without_a_file_have_no_meanings():
    space = {"Description": Description, "dataclass": dataclass}
    exec('@dataclass\nclass Loose(Description):\n    """Loose."""\n    x: int = 1\n    """never read"""', space)
    assert meanings(space["Loose"]) == {}
    assert inspect.getdoc(space["Loose"]).endswith("x: int = 1")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_meaning_is_said_twice(kind):
    """Neither in the docstring of the class nor in a class that has it from a base."""
    heads = {rf"(?<![\w.]){field.name} : " for field in fields(kind)}
    assert not [head for head in heads if re.search(head, description(kind))]
    own = _below_fields(kind)
    for base in kind.__mro__[1:]:
        assert not own.items() & _below_fields(base).items()


def test_importing_femb_reads_no_meanings():
    code = "import sys, femb; sys.exit('femb.base.meanings' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_class_without_a_docstring_or_with_unknown_annotations_is_as_python_has_it():
    @dataclass(frozen=True)
    class Bare(Description):
        x: "Unknown | None" = None  # noqa: F821

    assert inspect.signature(Bare).parameters["x"].annotation == "Unknown | None"
    assert inspect.getdoc(Bare).startswith("Bare(")
