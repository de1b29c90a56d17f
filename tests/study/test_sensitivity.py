"""Derivatives of outputs: against numbers of programs that share nothing with femb, closed forms and scipy."""

from functools import partial

import numpy as np
import pytest
from models import refuses
from oracles import two_panels as panels
from oracles.spring_study import CASE, build, written

import femb
from femb.case import CaseError
from femb.study.sensitivity import sensitivities
from femb.study.study import Study

MODES = {
    "omega 1": {"kind": "natural_frequency", "mode": 1},
    "omega 2": {"kind": "natural_frequency", "mode": 2},
    "zeta 1": {"kind": "damping_ratio", "mode": 1},
    "zeta 2": {"kind": "damping_ratio", "mode": 2},
}

STIFFEST = {"f": {"kind": "natural_frequency", "mode": 3}}
OUTPUT = '[outputs.f]\nkind = "natural_frequency"\nmode = 3\n'


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    path = tmp_path_factory.mktemp("panels") / "case.toml"
    path.write_text(panels.CASE + panels.PARAMETERS)
    return path


@pytest.mark.slow
def test_parameters_that_change_no_matrix_have_derivatives_of_zero(tmp_path):
    """Gravity, the time of a load, and a section that nothing uses, beside a stiffness: f/(2 k) of an undamped one."""
    (tmp_path / "case.toml").write_text("""
gravity = [0, 0, -1.5]

[sections.spare]
shape = { circle = 0.01 }
material = "aluminium 6061-T6"
density = 2700

[bodies.a]
mass = 2
inertia = [1, 1, 1]

[joints.r]
kind = "revolute"
first = { body = "ground", axis = [0, 0, 1] }
second = { body = "a" }

[springs.s]
kind = "joint"
joint = "r"
stiffness = 5
damping = 0.3

[loads.l]
body = "a"
force = [0, 1, 0]
profile = { shape = "versine", duration = 0.5 }
""")
    outputs = [
        "natural_frequency",
        "natural_frequency start=equilibrium",
        "damping_ratio",
        "mass",
        "inertia component=xx",
    ]
    outputs.append("final of=joints.r.torque.x analysis=static")
    still = ["gravity.2", "loads.l.profile.duration", "sections.spare.density"]
    found = sensitivities(tmp_path / "case.toml", outputs, [*still, "springs.s.stiffness"])
    np.testing.assert_array_equal(found.derivatives[:, :3], 0.0)
    np.testing.assert_array_equal(found.errors[:, :3], 0.0)
    f, zeta = np.sqrt(5.0) / (2.0 * np.pi), 0.15 / np.sqrt(5.0)
    np.testing.assert_allclose(found.derivatives[[0, 2], 3], [f / 10.0, -zeta / 10.0], rtol=1e-8)


@pytest.mark.slow
def test_modes_of_two_panels(case):
    found = sensitivities(case, MODES)
    factor = np.array([2.0 * np.pi, 2.0 * np.pi, 1.0, 1.0])
    np.testing.assert_allclose(found.values * factor, [*panels.FREQUENCIES, *panels.RATIOS], atol=6e-8)
    for k, name in enumerate(found.parameters):
        wanted = np.array(panels.DERIVATIVES[name])
        derivatives = found.derivatives[:, k] * factor / panels.LENGTHS.get(name, 1.0)
        # the undamped frequencies and the ratios to the digits of the numbers
        np.testing.assert_allclose(derivatives[:2], wanted[:2], rtol=2e-8, atol=1e-12)
        np.testing.assert_allclose(derivatives[2:], wanted[2:], rtol=1e-6, atol=1e-12)
    assert np.all(found.errors <= 1e-6 * np.max(np.abs(found.derivatives), axis=1)[:, None])
    assert not any(found.ways)
    assert found.units["m_p"] == "kg"


LOOPS = {word: {"kind": word} for word in ("phase_margin", "delay_margin", "disk_margin", "sensitivity_peak", "growth")}
LOOPS |= {"ratio": {"kind": "pole", "frequency": 0.64}, "real": {"kind": "pole", "frequency": 0.26, "part": "real"}}
TRANSFER = {"input": "wheels.x.torque", "output": "bodies.hub.turn.x", "closed": True}
LOOPS |= {word: {"kind": word, **TRANSFER} for word in ("peak_gain", "h2_norm")}
LOOPS |= {"gain": {"kind": "gain", "frequency": 0.64, **TRANSFER}}
SAMPLED = panels.LOOP.replace('kind = "state_space"', 'kind = "state_space"\nperiod = 0.05\ndelay = 0.03').replace(
    "A = [[-8.0]]\nB = [[8.0, 0.0]]", "A = [[0.7]]\nB = [[0.3, 0.0]]"
)


@pytest.mark.slow
@pytest.mark.parametrize("law", [panels.LOOP, SAMPLED])
def test_loops_against_differences_of_their_numbers(tmp_path, law):
    """Margins, poles and norms are smooth here: differences of fourth order of the numbers themselves."""
    path = tmp_path / "case.toml"
    path.write_text(panels.CASE + panels.PARAMETERS + law)
    keys = ["k1", "c1", "I_xx", "controllers.pd.C.0.0", "controllers.pd.D.0.1"]
    found = sensitivities(path, LOOPS, keys)
    for k, value in enumerate(found.nominal):
        h = 2e-3 * value
        own = {"k1": "springs.left.stiffness", "c1": "springs.left.damping", "I_xx": "bodies.hub.inertia.0.0"}
        entry = own.get(keys[k], keys[k])
        study = {"p": {"key": entry, "values": [value + s * h for s in (-2.0, -1.0, 1.0, 2.0)]}}
        table = femb.sweep(Study(path, study, LOOPS))
        for i, name in enumerate(LOOPS):
            f = table[name]
            wanted = (f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * h)
            slack = 1e-6 * abs(found.values[i]) / value
            assert found.derivatives[i, k] == pytest.approx(wanted, rel=1e-6, abs=slack), (name, keys[k])
            assert found.errors[i, k] <= slack, (name, keys[k])


def test_what_has_no_derivative_is_refused_by_name(case):
    for of, by, message in (
        ("natural_frequency mode=1", "bodies.hub.inertia.0.1", "parameters.bodies.hub.inertia.0.1: cannot be"),
        ("peak_time of=bodies.hub.position.x", "k1", "take the peak, or the value at an instant"),
        ("phase_margin", "k1", "the model has no controllers"),
        ("natural_frequency mode", "k1", "wanted KEY=VALUE"),
        ("natural_frequency mode=9", "k1", "there are 2 modes, got mode 9"),
        ("frequency", "k1", "of: no output 'frequency'"),
        ("mass", "k3", "by: no parameter 'k3'"),
        ("mass", "joints.left.kind", "is 'revolute', a word, which has no neighbours"),
    ):
        with pytest.raises(femb.FembError) as error:
            sensitivities(case, of, by)
        assert message in str(error.value), (of, by)


@pytest.mark.parametrize("key", ["springs.left.stiffness=80:110", "springs..stiffness"])
def test_what_is_no_entry_is_no_parameter(case, key):
    message = f"got '{key}', wanted an entry of the case, as springs.root.stiffness"
    refuses(message, femb.sensitivities, case, {"mass": {"kind": "mass"}}, by=[key])


@pytest.mark.filterwarnings("ignore:modes. the state is not in equilibrium")
def test_critical_damping_has_no_derivative(tmp_path):
    """Of 2 x'' + c x' + 50 x the ratio is c/20; at c = 20 the eigenvalue is defective."""
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    of = {"ratio": {"kind": "damping_ratio", "mode": 3}}
    found = sensitivities(path, of, ["springs.spring.damping"])
    assert found.derivatives[0, 0] == pytest.approx(0.05, rel=1e-9)
    with pytest.raises(femb.FembError, match="is defective, as at critical damping"):
        sensitivities(path, of, ["springs.spring.damping"], overrides=["springs.spring.damping=20.0"])


@pytest.mark.filterwarnings("ignore:modes. the state is not in equilibrium")
def test_values_at_a_bound_are_differentiated_to_one_side(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    table = {"c": {"entry": "springs.spring.damping", "scale": 1.0, "value": 0.0}}
    found = sensitivities(path, {"ratio": {"kind": "damping_ratio", "mode": 3}}, table)
    assert found["ratio", "c"] == pytest.approx(0.05, rel=1e-7)


@pytest.mark.filterwarnings("ignore:modes. the state is not in equilibrium")
def test_numbers_of_a_function_are_its_arguments():
    parameters = {"stiffness": {"value": 50.0, "range": "2 %"}, "mass": {"value": 2.0}}
    found = femb.sensitivities(build, {"f": {"kind": "natural_frequency", "mode": 3}}, parameters)
    f = np.sqrt(25.0) / (2.0 * np.pi)
    assert found.values[0] == pytest.approx(f, rel=1e-9)
    assert found.derivatives[0] == pytest.approx([0.5 * f / 50.0, -0.5 * f / 2.0], rel=1e-9)
    assert found.swings == pytest.approx([1.0, 0.02])
    assert found.parameters == ("stiffness", "mass")


@pytest.mark.filterwarnings("ignore:modes. the state is not in equilibrium")
@pytest.mark.parametrize("table", [{}, {"range": "2 %"}])
def test_the_default_of_an_argument_is_the_value_of_its_parameter(table):
    study = Study(lambda stiffness=50.0: build(stiffness, 2.0), parameters={"stiffness": table}, outputs=STIFFEST)
    f = np.sqrt(25.0) / (2.0 * np.pi)
    assert femb.sensitivities(study).derivatives[0] == pytest.approx([0.5 * f / 50.0], rel=1e-8)
    words = {"parameters": {"stiffness": table}, "outputs": STIFFEST}
    refuses(
        "parameters.stiffness.value: is missing; the argument has no default", Study, lambda stiffness: None, **words
    )


def test_a_range_of_an_argument_needs_no_default():
    words = {"parameters": {"stiffness": {"range": [40.0, 60.0]}}, "outputs": STIFFEST, "design": "random", "runs": 2}
    assert Study(build, **words).variables["stiffness"].low == 40.0
    both = Study(build, {"mass": {"kind": "uniform", "low": 1.0, "high": 3.0}}, **words).variables
    assert {name: each.high for name, each in both.items()} == {"mass": 3.0, "stiffness": 60.0}
    refuses(
        "parameters.stiffness: is the name of a variable too", Study, build, {"stiffness": {"values": [1.0]}}, **words
    )


@pytest.mark.filterwarnings("ignore:modes. the state is not in equilibrium")
@pytest.mark.parametrize("design", ["", 'design = "list"'])
def test_a_study_of_parameters_and_outputs_needs_no_design(tmp_path, design):
    tables = '[parameters.k]\nentry = "springs.spring.stiffness"\nrange = "2 %"\n' + OUTPUT
    path = written(tmp_path, f'case = "case.toml"\n{design}\n{tables}')
    in_python = Study(build, parameters={"stiffness": {"value": 50.0, "range": "2 %"}}, outputs=STIFFEST)
    f = np.sqrt(25.0) / (2.0 * np.pi)
    for study in (path, in_python):
        found = femb.sensitivities(study)
        assert found.derivatives[0] == pytest.approx([0.5 * f / 50.0], rel=1e-8)
        assert found.swings == pytest.approx([1.0])
    assert femb.tolerances(path).sigma == pytest.approx([0.5 * f / 50.0 / np.sqrt(3.0)], rel=1e-8)
    name = design.partition('"')[2].rstrip('"') or "grid"
    refuses(rf":\d: parameters.k: is a range, but the design is a {name}", femb.sweep, path, error=CaseError)
    refuses("^parameters.stiffness: is a range", femb.sweep, in_python)


def test_files_and_the_figure_have_all(case, tmp_path):
    found = sensitivities(case, MODES, ["k1", "m_p"])
    with np.load(found.write(tmp_path / "s.npz")) as file:
        np.testing.assert_array_equal(file["derivatives"], found.derivatives)
        assert list(file["parameters_units"]) == ["N m/rad", "kg"]
    lines = found.write(tmp_path / "s.csv").read_text().splitlines()
    assert len(lines) == 1 + 8
    assert float(lines[2].split(",")[6]) == found["omega 1", "m_p"]
    assert found.draw(tmp_path / "s.png").stat().st_size > 10_000
    assert "omega 2 0.647" in found.table()


def test_an_equilibrium_between_joints(tmp_path):
    """A weight m on an arm d with a hinge spring: k a = m g d cos a, by implicit differentiation."""
    path = tmp_path / "arm.toml"
    path.write_text(ARM)
    of = {"a": {"kind": "final", "of": "joints.hinge.angle", "analysis": "static"}}
    found = sensitivities(path, of, ["springs.hinge.stiffness", "bodies.arm.mass", "gravity.2"])
    a = found.values[0]
    k, m, g, d = 30.0, 2.0, 9.81, 0.8
    assert k * a == pytest.approx(m * g * d * np.cos(a), rel=1e-9)
    below = k + m * g * d * np.sin(a)
    wanted = [-a / below, g * d * np.cos(a) / below, -m * d * np.cos(a) / below]
    np.testing.assert_allclose(found.derivatives[0], wanted, rtol=1e-8)


@pytest.mark.slow
def test_a_cantilever_bends_and_is_stressed_by_its_length_and_its_load(tmp_path):
    """F L^3/(3 EI) at the tip and F L r/I at the root; the nominal largest stress, though another may be where nothing
    is in balance beside the length."""
    path = tmp_path / "cantilever.toml"
    path.write_text(CANTILEVER)
    of = [f"final of=beams.boom.{word} analysis=static" for word in ("-1.displacement.z", "von_mises")]
    found = sensitivities(path, of, ["loads.tip.force.2", "beams.boom.length"])
    length, radius, inertia = 4.0, 0.03, np.pi * (0.03**4 - 0.029**4) / 4.0
    bent, stressed = length**2 / (1.2e11 * inertia), radius / inertia
    wanted = [[bent * length / 3.0, bent], [stressed * length, stressed]]
    np.testing.assert_allclose(found.derivatives, wanted, rtol=3e-6)


def test_a_displacement_counts_from_the_state_without_loads(tmp_path):
    """Without weight the arm is at the free angle f of its spring, with it at a: k (a - f) = m g d cos a."""
    path = tmp_path / "arm.toml"
    path.write_text(ARM + "free = 0.3\n")
    of = "final of=bodies.arm.displacement.z analysis=static"
    found = sensitivities(path, [of, "final of=joints.hinge.angle analysis=static"], "springs.hinge.free")
    k, m, g, d, free = 30.0, 2.0, 9.81, 0.8, 0.3
    a = found.values[1]
    turn = k / (k + m * g * d * np.sin(a))
    assert found.derivatives[1, 0] == pytest.approx(turn, rel=1e-8)
    assert found.derivatives[0, 0] == pytest.approx(d * (np.cos(free) - turn * np.cos(a)), rel=1e-7)


@pytest.mark.parametrize("walls", ["clamped", "welded"])
def test_a_rod_that_is_heated_between_walls_and_does_not_move(tmp_path, walls):
    """The factor at which it buckles is 4 pi^2 I/(A a T): inverse to the temperature, the area and the expansion."""
    path = tmp_path / "rod.toml"
    end = 'end = { body = "ground", at = [1, 0, 0], direction = [1, 0, 0] }\n'
    ends = 'first = { body = "ground", at = [1, 0, 0] }\nsecond = { beam = "rod", node = -1 }\n'
    welded = ROD.replace("END", "") + '[joints.wall]\nkind = "fixed"\n' + ends
    path.write_text(ROD.replace("END", end) if walls == "clamped" else welded)
    entries = ["loads.heat.temperature", "sections.rod.area", "sections.rod.expansion"]
    found = sensitivities(path, {"factor": {"kind": "critical_load", "factor": 25.0}}, entries)
    assert found.values[0] == pytest.approx(4.0 * np.pi**2 * 1e-9 / (1e-4 * 2e-5), rel=1e-3)
    np.testing.assert_allclose(found.derivatives[0], -found.values[0] / np.array([1.0, 1e-4, 2e-5]), rtol=1e-6)


CANTILEVER = """
[sections.tube]
shape = { tube = [0.03, 0.001] }
youngs_modulus = 1.2e11
shear_modulus = 2e10
density = 1600.0
[beams.boom]
kind = "exact"
section = "tube"
length = 4.0
elements = 4
start = { body = "ground", direction = [1, 0, 0] }
[loads.tip]
beam = "boom"
force = [0, 0, 1.0]
"""


ROD = """
[sections.rod]
area = 1e-4
second_moments = [2e-9, 1e-9]
torsion_constant = 2e-9
density = 2700.0
youngs_modulus = 7e10
shear_modulus = 2.7e10
expansion = 2e-5
[beams.rod]
section = "rod"
length = 1.0
elements = 8
start = { body = "ground", direction = [1, 0, 0] }
END
[loads.heat]
kind = "thermal"
beam = "rod"
temperature = 1.0
"""


ARM = """
gravity = [0.0, 0.0, -9.81]
[bodies.arm]
mass = 2.0
inertia = [0.05, 0.05, 0.05]
position = [0.8, 0.0, 0.0]
[joints.hinge]
kind = "revolute"
first = { body = "ground", at = [0, 0, 0], axis = [0, 1, 0] }
second = { body = "arm", at = [-0.8, 0, 0], axis = [0, 1, 0] }
[springs.hinge]
kind = "joint"
joint = "hinge"
stiffness = 30.0
"""


@pytest.mark.parametrize("order", [1, -1])
def test_a_number_is_set_by_one_parameter_alone(tmp_path, order):
    """Of the inertia as a whole and its last moment the value of one would be lost, in any order and any analysis."""
    body = "[bodies.hub]\nmass = 1.0\ninertia = [1.0, 2.0, 3.0]\n[run]\nduration = 1.0\n"
    whole = {"entry": "bodies.hub.inertia", "relative": True, "range": [0.9, 1.1]}
    of_axis = {"entry": "bodies.hub.inertia.2", "range": [2.9, 3.1]}
    pairs = [("J", whole), ("J2", of_axis)][::order]
    second, first = pairs[1][0], pairs[0][0]
    message = (
        rf"parameters.{second}: sets {pairs[1][1]['entry']}, and {first} sets {pairs[0][1]['entry']}, of which one"
    )
    (path := tmp_path / "hub.toml").write_text(body)
    of = {"J": {"kind": "inertia", "component": "zz"}}
    for call in (femb.sensitivities, femb.tolerances):
        refuses(message, call, path, of, by=dict(pairs))
    refuses(message, femb.uncertain, path, dict(pairs))
    keys = {name: {"key": each["entry"], "values": [1.0]} for name, each in pairs}
    refuses(message.replace("parameters", "variables").replace(":", ".key:", 1), femb.Study, path, keys, of)
    for quoted in ("bodies.hub.inertia.2", 'bodies."hub".inertia.2'):
        alike = {"J2": of_axis, "J": of_axis | {"entry": quoted}}
        for call in (partial(femb.tolerances, path, of), partial(femb.uncertain, path)):
            refuses("parameters.J: sets bodies.", call, by=alike)
        # derivatives change each alone
        np.testing.assert_allclose(femb.sensitivities(path, of, by=alike).derivatives, [[1.0, 1.0]])
    path.write_text(body + "".join(
        f'[parameters.{name}]\nentry = "{each["entry"]}"\nrelative = {str("relative" in each).lower()}\n'
        for name, each in pairs
    ))  # fmt: skip
    refuses(rf"hub.toml:\d+: {message}", femb.load_case, path, error=CaseError)
    # two moments are two numbers
    apart = {"J1": {"entry": "bodies.hub.inertia.1"}, "J2": {"entry": "bodies.hub.inertia.2"}}
    path.write_text(body)
    np.testing.assert_allclose(femb.sensitivities(path, of, by=apart).derivatives, [[0.0, 1.0]], atol=1e-12)
