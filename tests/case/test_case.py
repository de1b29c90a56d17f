"""Case files become models; every word comes from the element dataclasses."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest

import femb.elements
import femb.model.model
from femb.base.checks import Checks
from femb.base.types import NOT_NEGATIVE, Unit, Vector
from femb.case import CaseError, load_case
from femb.case.build import read_table
from femb.case.text import key_lines, line_of
from femb.elements import Attachment, registry
from femb.elements.item import Item
from femb.profiles import PROFILES, Versine

SATELLITE = """
title = "Satellite with two boom antennas, slew pulse"

[sections.boom]
area = 2.5e-3                      # m2
second_moments = [5.2e-7, 5.2e-7]  # m4, about the section's y and z
torsion_constant = 1.04e-6         # m4
density = 2800.0
youngs_modulus = 7.17e10
shear_modulus = 2.68e10

[bodies.hub]
mass = 22.4
inertia = [0.149, 0.149, 0.149]    # or a 3x3 matrix
euler_rates = [0.1, 0.1, 0.1]      # the whole satellite starts as one rigid body moving with its hub
shape = { box = [0.2, 0.2, 0.2] }  # for pictures only

[beams.right]
section = "boom"
length = 2.0
elements = 2
start = { body = "hub", at = [0.1, 0, 0], direction = [1, 0, 0] }

[beams.left]
section = "boom"
length = 2.0
elements = 2
start = { body = "hub", at = [-0.1, 0, 0], direction = [-1, 0, 0] }

[loads.slew]
torque = [0, 15, 0]
body = "hub"
frame = "body"                     # inertial | body | euler | dual_euler
profile = { shape = "versine", duration = 1.0 }

[run]
duration = 10.0
output_interval = 0.01
method = "radau"
rtol = 1e-6
"""


def written(folder: Path, text: str, name: str = "case.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def messages(path: Path, *overrides: str) -> list[str]:
    """What is wrong with a case, a line each, without the folder."""
    with pytest.raises(CaseError) as error:
        load_case(path, overrides)
    return str(error.value).replace(f"{path}", path.name).splitlines()


# Loading


def test_the_satellite_of_the_design_loads(tmp_path):
    case = load_case(written(tmp_path, SATELLITE))
    assert case.title == "Satellite with two boom antennas, slew pulse"
    assert list(case.model.beams) == ["right", "left"]
    assert case.model.bodies["hub"].inertia.tolist() == np.diag([0.149] * 3).tolist()
    assert case.model.beams["left"].start.at.tolist() == [-0.1, 0.0, 0.0]
    assert case.model.loads["slew"].profile == Versine(duration=1.0)
    assert (case.run.duration, case.run.method, case.run.output_interval) == (10.0, "radau", 0.01)
    assert case.text == SATELLITE


def test_whole_numbers_are_numbers(tmp_path):
    case = load_case(written(tmp_path, SATELLITE.replace("mass = 22.4", "mass = 22")))
    assert isinstance(case.model.bodies["hub"].mass, float)


def test_kinds_gravity_ground_and_nested_options(tmp_path):
    text = """
    gravity = [0, 0, -9.81]
    [bodies]
    wall = { kind = "ground", position = [0, 0, 1] }
    ball.kind = "point_mass"
    ball.mass = 2
    [run]
    duration = 1
    atol = { position = 1e-9 }
    """
    case = load_case(written(tmp_path, text))
    assert [type(body).__name__ for body in case.model.bodies.values()] == ["Ground", "PointMass"]
    assert case.model.gravity.tolist() == [0.0, 0.0, -9.81]
    assert case.run.atol.position == 1e-9


def test_a_case_need_not_be_run(tmp_path):
    assert load_case(written(tmp_path, "[bodies.a]\nmass = 1\ninertia = 1\n")).run is None


def test_windows_line_ends_and_byte_order_mark(tmp_path):
    path = tmp_path / "case.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SATELLITE.replace("mass = 22.4", "mass = 0").replace("\n", "\r\n").encode())
    assert messages(path) == ["case.toml:13: bodies.hub.mass: got 0.0, must be greater than 0"]


@dataclass(frozen=True, eq=False)
class Spring(Item):
    """An element that femb does not have."""

    table: ClassVar[str] = "gadgets"
    kind: ClassVar[str] = "linear"

    name: str
    start: Attachment
    stiffness: Annotated[float | Vector, Unit("N/m")]
    colours: tuple[str, ...] = ()
    damping: Annotated[float | None, NOT_NEGATIVE] = None

    def __post_init__(self) -> None:
        with Checks(self, "gadgets", self.name):
            pass


@pytest.fixture
def with_springs(monkeypatch):
    monkeypatch.setattr(registry, "_registered", [Spring])


BODY = "[bodies.hub]\nmass = 1\ninertia = 1\n"


@pytest.mark.usefixtures("with_springs")
@pytest.mark.parametrize("stiffness", ["3.0", "[1.0, 2.0, 3.0]"])
def test_an_element_of_the_catalogue_needs_no_change_here(tmp_path, stiffness):
    text = BODY + f'[gadgets.s]\nstiffness = {stiffness}\nstart = {{ body = "hub" }}\ncolours = ["red"]\n'
    spring = load_case(written(tmp_path, text)).model.tables["gadgets"]["s"]
    assert isinstance(spring, Spring)
    assert spring.start.body == "hub"
    assert np.shape(spring.stiffness) == np.shape(tomllib.loads(f"x = {stiffness}")["x"])


@pytest.mark.usefixtures("with_springs")
def test_an_element_of_the_catalogue_is_in_the_schema():
    written = femb.schema()
    found = written["definitions"]["Spring"]
    assert found["description"] == "An element that femb does not have."
    assert [option["type"] for option in found["properties"]["stiffness"]["anyOf"]] == [["number", "string"], "array"]
    assert found["properties"]["colours"]["items"] == {"type": "string"}
    assert found["required"] == ["start", "stiffness"]
    assert "gadgets" in written["properties"]


@pytest.mark.usefixtures("with_springs")
def test_mistakes_in_an_element_of_the_catalogue(tmp_path):
    text = BODY + '[gadgets.s]\nstiffness = "x"\ncolours = ["red", 3]\ndamping = -1\nstart = { bdy = "hub" }\n'
    assert messages(written(tmp_path, text)) == [
        "case.toml:5: gadgets.s.stiffness: got 'x', wanted a number or 3 numbers",
        "case.toml:6: gadgets.s.colours.1: got 3, wanted text in quotes",
        "case.toml:7: gadgets.s.damping: got -1.0, must be greater than 0".replace("greater than", "at least"),
        "case.toml:8: gadgets.s.start.bdy: unknown key; did you mean 'body'?",
    ]


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_is_read_by_its_shape(tmp_path, name):
    values = {
        "versine": "duration = 1.0",
        "smooth_step": "duration = 1.0",
        "exponential": "time_constant = 1.0",
        "polynomial": "coefficients = [0, 1]",
        "sine": "frequency = 1.0",
        "bang_bang": "duration = 1.0",
        "sum": "terms = [{ shape = 'step' }]",
        "repeat": "period = 1.0\ncount = 2\nprofile = { shape = 'step' }",
        "integral": "rate = { shape = 'sine', frequency = 2.0 }",
        "table": "times = [0, 1]\nvalues = [0, 1]",
        "spline": "times = [0, 1]\nvalues = [0, 1]",
        "slew": "after = 1.0\nmax_acceleration = 2.0",
        "shaped": "times = [0, 1]\namplitudes = [0.5, 0.5]\nprofile = { shape = 'step' }",
        "ei": "frequencies = [1.0]\nprofile = { shape = 'step' }",
    }.get(name, "frequencies = ['0.5 Hz']\ndamping = 0.01\nprofile = { shape = 'step' }" if "zv" in name else "")
    text = f"{BODY}[loads.l]\nbody = 'hub'\nforce = [1, 0, 0]\n[loads.l.profile]\nshape = '{name}'\n{values}\n"
    assert type(load_case(written(tmp_path, text)).model.loads["l"].profile) is PROFILES[name]


# Problems


def test_mistakes_of_every_kind_are_reported_at_once(tmp_path):
    text = (
        SATELLITE.replace("density", "densty")
        .replace("mass = 22.4", "mass = -1")
        .replace("euler_rates = [0.1, 0.1, 0.1]", "euler_rates = [0.1, 0.1]")
        .replace('section = "boom"', 'section = "mast"', 1)
        .replace('body = "hub"\n', 'beam = "left"\nnode = 3\n')
        .replace('"radau"', '"euler"')
    )
    assert messages(written(tmp_path, text)) == [
        "case.toml:8: sections.boom.densty: unknown key; did you mean 'density'?",
        "case.toml:13: bodies.hub.mass: got -1.0, must be greater than 0",
        "case.toml:15: bodies.hub.euler_rates: got [0.1, 0.1], wanted 3 numbers",
        "case.toml:19: beams.right.section: got 'mast', which is not in the model; section names: 'boom'",
        "case.toml:33: loads.slew.node: got 3, wanted a node from 0 to 2, or -1 for the end",
        "case.toml:40: run.method: got 'euler', must be one of 'radau', 'bdf', 'rk', 'gauss', 'generalized-alpha', "
        "'auto'",
    ]


@pytest.mark.parametrize(
    ("good", "bad", "count"),
    [
        ("mass = 22.4", "mas = 22.4", 1),  # the beams and the load are on the hub
        ("[bodies.hub]", "[body.hub]", 1),
        ("[bodies.hub]", "[[bodies]]", 1),
        ('[loads.slew]\ntorque = [0, 15, 0]\nbody = "hub"', '[loads.slew]\ntorque = 3\nboddy = "hub"', 2),
        ("length = 2.0", "length = 0", 1),
        ("area", "are", 1),
    ],
)
def test_consequences_are_not_reported(tmp_path, good, bad, count):
    assert len(messages(written(tmp_path, SATELLITE.replace(good, bad, 1)))) == count


def test_a_problem_found_later_is_given_its_line(tmp_path):
    case = load_case(written(tmp_path, SATELLITE))
    error = femb.ModelError.at(("beams", "left", "start", "at"), "too far")
    assert str(case.located(error)).endswith("case.toml:28: beams.left.start.at: too far")


def test_problems_are_also_there_without_lines(tmp_path):
    with pytest.raises(CaseError) as error:
        load_case(written(tmp_path, SATELLITE.replace("mass = 22.4", "mass = 0")))
    assert [problem.item for problem in error.value.problems] == [("bodies", "hub", "mass")]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "case.toml:1: the file is empty"),
        (b"\xff\xfe[\0r\0u\0n\0]\0", "case.toml:1: is not UTF-8 text"),
        (b"mass = ", "case.toml:1: not valid TOML: Invalid value (column 8)"),
        (b"x = " + b"[" * 100_000, "case.toml:1: lists or tables are nested too deeply"),
        (b"x = " + b"9" * 5000, "case.toml:1: not valid TOML: Exceeds the limit"),
        (b"[bodies.a]\nmass = 1" + b"0" * 400 + b"\ninertia = 1\n", "case.toml:2: bodies.a.mass: got 100"),
        (b"[bodies.a]\nmass = 2020-01-01\ninertia = 1\n", "case.toml:2: bodies.a.mass: got datetime.date(2020"),
    ],
)
def test_files_that_are_no_cases(tmp_path, data, message):
    path = tmp_path / "case.toml"
    path.write_bytes(data)
    (found,) = messages(path)
    assert found.startswith(message)
    assert len(found) < 250


def test_folder_and_missing_file(tmp_path):
    assert messages(tmp_path)[0].endswith("is a folder, wanted a case file (TOML or Python)")
    assert messages(tmp_path / "no.toml") == ["no.toml: there is no such file"]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (femb.RigidBody, {"mass": "1", "inertia": 1.0}),
        (femb.RigidBody, {"mass": True, "inertia": 1.0}),
        (femb.RigidBody, {"mass": 1.0, "inertia": [1.0, 2.0]}),
        (femb.RigidBody, {"mass": 1.0, "inertia": 1.0, "position": [1.0, 2.0]}),
        (femb.RigidBody, {"mass": 1.0, "inertia": 1.0, "moves_alone": 1}),
        (femb.RigidBody, {"mass": 1.0, "inertia": 1.0, "euler_sequence": "xxx"}),
        (femb.RigidBody, {"mass": 1.0, "inertia": 1.0, "euler_sequence": 3}),
        (femb.Load, {"body": "hub", "force": [1.0, 0.0, 0.0], "frame": "hub"}),
        (femb.Load, {"body": "hub", "force": [1.0, 0.0, 0.0], "frame": 3}),
        (femb.Load, {"body": 3, "force": [1.0, 0.0, 0.0]}),
        (femb.Load, {"body": "hub", "torque": "strong"}),
        (femb.Load, {"body": "hub", "torque": [1.0, 0.0, float("inf")], "damping": "x"}),
        (femb.AerodynamicLoad, {"body": "hub", "law": "drag"}),
    ],
)
def test_the_same_mistake_has_the_same_message_in_a_file_and_in_python(kind, values):
    with pytest.raises(femb.ModelError) as error:
        kind(name="x", **values)
    said = {tuple(problem.item[2:]): problem.message for problem in error.value.problems}
    _, found = read_table(kind, values, name="x")
    assert found == {place: text.replace(" or a function", "") for place, text in said.items() if place[0] in values}
    assert found


# Lines

ODD = '''
a."b.c" = """
[not] = "a key"
x = 1""""
'd' = ["]", { e = 1, "f" = [ # }
  2] }, 3]
[ g . "h" ]  # g]
i.j = 'k # l'
n = 1979-05-27T07:32:00Z
[[m]]
'''


def test_lines_of_odd_but_valid_text():
    tomllib.loads(ODD)
    assert key_lines(ODD) == {
        ("a",): 2,
        ("a", "b.c"): 2,
        ("d",): 5,
        ("d", "0"): 5,
        ("d", "1"): 5,
        ("d", "1", "e"): 5,
        ("d", "1", "f"): 5,
        ("d", "1", "f", "0"): 6,
        ("d", "2"): 6,
        ("g",): 7,
        ("g", "h"): 7,
        ("g", "h", "i"): 8,
        ("g", "h", "i", "j"): 8,
        ("g", "h", "n"): 9,
        ("m",): 10,
    }


def test_every_key_of_a_case_has_its_line():
    def check(node: Any, place: tuple[str, ...]) -> None:
        if place:
            assert place[-1] in SATELLITE.splitlines()[lines[place] - 1] or place[-1].isdigit()
        entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in entries:
            check(value, (*place, str(key)))

    lines = key_lines(SATELLITE)
    check(tomllib.loads(SATELLITE), ())


def test_what_is_not_there_is_at_the_nearest_parent():
    lines = key_lines("\n[a]\nb = { c = 1 }\n")
    assert line_of(lines, ("a", "b", "x", "y")) == 3
    assert line_of(lines, ("a", "x")) == 2
    assert line_of(lines, ("x",)) == 1


# Overrides


def test_overrides_replace_entries_and_are_noted(tmp_path):
    path = written(tmp_path, SATELLITE)
    case = load_case(
        path,
        [
            "beams.right.elements=4", "run.method=rk", 'title="a = b"', "gravity=[0, 0, -1]",
            "run.atol.position = 1e-8", "bodies.hub.shape={ sphere = 1 }",
        ],
    )  # fmt: skip
    assert case.model.beams["right"].elements == 4
    assert case.run.method == "rk"
    assert case.title == "a = b"
    assert case.model.gravity[2] == -1.0
    assert case.run.atol.position == 1e-8
    assert case.model.bodies["hub"].shape == {"sphere": 1}
    assert case.text.startswith(SATELLITE)
    assert case.text.endswith("# --set bodies.hub.shape={ sphere = 1 }\n")
    assert path.read_text() == SATELLITE
    tomllib.loads(case.text)


def test_an_entry_of_a_list_is_replaced(tmp_path):
    path = written(tmp_path, SATELLITE)
    body = load_case(path, ["bodies.hub.euler_rates.1=0.25"]).model.bodies["hub"]
    np.testing.assert_array_equal(body.euler_rates, (0.1, 0.25, 0.1))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("beams.rigth.elements=4", "there is no 'rigth' in beams; there are: 'right', 'left'"),
        ("beams.right.elemnts=4", "beams.right.elemnts: unknown key; did you mean 'elements'?"),
        ("beems.right.elements=4", "beems: unknown key; did you mean 'beams'?"),
        ("beams.right.elements=0", "beams.right.elements: got 0, must be a whole number of at least 1"),
        ("bodies.hub.mass.x=4", "bodies.hub.mass is 22.4, not a table with a key 'x'"),
        ("bodies.hub.euler_rates.3=4", "euler_rates is [0.1, 0.1, 0.1], a list with entries 0 to 2, got '3'"),
        ("beams..elements=4", "wanted KEY=VALUE, such as beams.right.elements=4"),
        ("beams.right 'boom.elements=4", "wanted KEY=VALUE, such as beams.right.elements=4"),
        ("beams.right", "wanted KEY=VALUE, such as beams.right.elements=4"),
        ("beams.right.elements=[4", "'[4' is not a TOML value: write 4, 1e-6, true, [1, 0, 0] or a word"),
        ("run.rtol=1e-5\nrun.x=1", "'1e-5\\nrun.x=1' is not a TOML value"),
    ],
)
def test_bad_overrides(tmp_path, override, message):
    found = "\n".join(messages(written(tmp_path, SATELLITE), override))
    assert found.startswith("--set ")
    assert message in found


@pytest.mark.parametrize(
    "key", ["beams.right boom.elements", 'beams."right boom".elements', "beams. right boom .elements"]
)
def test_names_with_blanks_need_no_quotes(tmp_path, key):
    path = written(tmp_path, SATELLITE.replace("[beams.right]", '[beams."right boom"]'))
    assert load_case(path, [f"{key}=4"]).model.beams["right boom"].elements == 4
    (message,) = messages(path, "beams.right arm.elements=4")
    assert "there is no 'right arm' in beams; there are: 'right boom', 'left'" in message


# Cases in Python

SCRIPT = """
import femb

def build():
    model = femb.Model("script")
    model.add(femb.RigidBody("hub", mass=1.0, inertia=1.0))
    return model

run = femb.Run(duration=2.0, rtol=1e-5)

if __name__ == "__main__":
    raise RuntimeError("it was run")
"""


def test_python_case(tmp_path):
    case = load_case(written(tmp_path, SCRIPT, "case.py"))
    assert (case.title, case.run.duration, list(case.model.bodies)) == ("script", 2.0, ["hub"])
    assert case.text == SCRIPT


def test_python_case_with_run_as_dictionary_and_overrides(tmp_path):
    path = written(tmp_path, SCRIPT.replace("femb.Run(duration=2.0, rtol=1e-5)", "dict(duration=2)"), "case.py")
    assert load_case(path).run.duration == 2.0
    assert load_case(path, ["run.duration=3"]).run.duration == 3.0


def test_overrides_of_a_run_keep_the_rest(tmp_path):
    run = load_case(written(tmp_path, SCRIPT, "case.py"), ["run.method=rk", "run.atol.position=1e-9"]).run
    assert (run.duration, run.method, run.rtol, run.atol.position) == (2.0, "rk", 1e-5, 1e-9)


def test_python_case_may_import_its_neighbours(tmp_path):
    written(tmp_path, "MASS = 3.0\n", "femb_test_neighbour.py")
    text = "from femb_test_neighbour import MASS\n" + SCRIPT.replace("mass=1.0", "mass=MASS")
    assert load_case(written(tmp_path, text, "case.py")).model.bodies["hub"].mass == 3.0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def build", "def bild", "case.py: defines no build(): a case in Python is def build() -> femb.Model: ..."),
        ("return model", "return 3", "case.py: build() returned int, wanted a femb.Model"),
        ("return model", "return mdel", "case.py:7: NameError: name 'mdel' is not defined"),
        ("return model", "return (", "case.py:7: SyntaxError: '(' was never closed"),
        ("return model", "raise SystemExit", "case.py:7: the script ended Python (sys.exit)"),
        ("mass=1.0", "mass=0.0", "case.py:6: bodies.hub.mass: got 0.0, must be greater than 0"),
        ("femb.Run(duration=2.0, rtol=1e-5)", "{'duraton': 1}", "case.py: run.duraton: unknown key; did you mean 'd"),
        (
            "femb.Run(duration=2.0, rtol=1e-5)",
            "{'duration': 1, 2: 3}",
            "case.py: run.2: unknown key; the keys here are",
        ),
        ("femb.Run(duration=2.0, rtol=1e-5)", "{2: 3}", "case.py: run.2: unknown key; the keys here are"),
        ("femb.Run(duration=2.0, rtol=1e-5)", "3", "case.py: run is 3, wanted a femb.Run or a dictionary"),
        ("rtol=1e-5", "rtol=5", "case.py:9: run.rtol: got 5.0, must be from 1e-14 to below 1"),
    ],
)
def test_mistakes_in_python_cases(tmp_path, old, new, message):
    (found,) = messages(written(tmp_path, SCRIPT.replace(old, new), "case.py"))
    assert found.startswith(message)


def test_only_the_run_of_a_python_case_can_be_set(tmp_path):
    (found,) = messages(written(tmp_path, SCRIPT, "case.py"), "bodies.hub.mass=3")
    assert found == "--set bodies.hub.mass=3: of a case in Python only run.KEY and build.ARGUMENT can be set"
