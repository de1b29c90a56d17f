"""Outputs of studies that are of loops and linear models: against python-control, closed forms, and themselves."""

import control
import numpy as np
import pytest
from oracles.two_panels import CASE, FREQUENCIES, LOOP
from scipy.linalg import block_diag
from scipy.optimize import minimize_scalar
from scipy.signal import cont2discrete

import femb
from femb.linear.norms import h2_norm, peak_gain
from femb.linear.state_space import StateSpace
from femb.study.linear_outputs import OUTPUTS
from femb.study.study import Study
from femb.study.sweep import runner_of


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    path = tmp_path_factory.mktemp("loop") / "case.toml"
    path.write_text(CASE + LOOP)
    return path


def numbers(case, outputs, entry="springs.left.stiffness", values=(1650.0,)):
    """The outputs, by name, of runs with these values of an entry."""
    study = Study(case, variables={"p": {"key": entry, "values": list(values)}}, outputs=outputs)
    table = femb.sweep(study)
    assert not table.failed.any(), table.messages
    return {name: table[name] for name in outputs}, table.units


LOOPS = {word: {"kind": word} for word in ("phase_margin", "gain_margin", "delay_margin", "disk_margin")}
LOOPS |= {word: {"kind": word} for word in ("sensitivity_peak", "growth")}


@pytest.mark.slow
def test_margins_are_those_of_python_control(case):
    found, units = numbers(case, LOOPS)
    loop = femb.loop(femb.load_case(case))
    opened = loop.opened("wheels.x.torque")
    L = control.StateSpace(opened.A, opened.B, -opened.C, -opened.D)
    omega = np.geomspace(1e-2, 1e2, 5001)
    assert found["disk_margin"][0] == pytest.approx(control.disk_margins(L, omega)[0], rel=1e-5)
    gain, phase, *_ = control.stability_margins(L)
    assert found["phase_margin"][0] == pytest.approx(phase, abs=1e-6)
    assert found["gain_margin"][0] == gain == np.inf
    peak = np.max(np.abs(1.0 / (1.0 + L(1j * omega))))
    assert found["sensitivity_peak"][0] == pytest.approx(peak, rel=1e-5)
    assert found["growth"][0] == pytest.approx(np.max(loop.poles().real), rel=1e-9)
    assert units["phase_margin"] == "deg"
    assert units["delay_margin"] == "s"


PENDULUM = """
gravity = [0.0, -1.0, 0.0]
[bodies.hub]
mass = 10.0
inertia = [10.0, 12.0, 13.1]
[joints.pivot]
first = { body = "ground", axis = [0, 0, 1] }
second = { body = "hub", at = [0, -0.3, 0], axis = [0, 0, 1] }
[loads.motor]
kind = "motor"
joint = "pivot"
force = 0
[controllers.pd]
kind = "pd"
input = "joints.pivot.angle"
rate = "joints.pivot.angle rate"
proportional = 4.7
derivative = 14.0
outputs = ["loads.motor.force"]
[parameters.gravity]
entry = "gravity.1"
range = [-1.5, -0.5]
[run]
duration = 5.0
"""


@pytest.mark.slow
def test_a_gain_that_falls_counts_as_one_that_grows(tmp_path):
    """A pendulum upside down, which no growing gain upsets: of m g l = 3 N m there are left 4.7."""
    (path := tmp_path / "pendulum.toml").write_text(PENDULUM)
    of = {"gain": {"kind": "gain_margin"}, "disk": {"kind": "disk_margin"}}
    found = femb.sensitivities(path, of)
    assert found.values == pytest.approx([4.7 / 3.0, 2.0 * 1.7 / 7.7], rel=1e-9)
    # by the gravity, which is negative: m l times 4.7/(m g l)^2, and of (4.7 - m g l)/(4.7 + m g l)
    wanted = [3.0 * 4.7 / 9.0, 3.0 * 4.0 * 4.7 / 7.7**2]
    np.testing.assert_allclose(found.derivatives[:, 0], wanted, rtol=1e-6)
    case = femb.worst(path)
    gain, disk = (case[word, "loads.motor.force"] for word in ("gain_margin", "disk_margin"))
    assert (gain.nominal, gain.found) == (pytest.approx(4.7 / 3.0, rel=1e-9), pytest.approx(4.7 / 4.5, rel=1e-9))
    assert disk.found == pytest.approx(1.0 / 23.0, rel=1e-9)
    assert gain.parameters == disk.parameters == {"gravity": -1.5}
    values = [-1.5, -4.7 / 3.6 - 1e-3, -4.7 / 3.6 + 1e-3, -0.5]
    study = Study(path, {"g": {"key": "gravity.1", "values": values}}, of, constraints={"gain": {"least": 1.2}})
    table = femb.sweep(study)
    assert table.feasible.tolist() == [False, False, True, True]


def test_a_number_that_is_infinite_in_all_runs_is_not_without_a_value(tmp_path):
    (path := tmp_path / "hanging.toml").write_text(PENDULUM.replace("at = [0, -0.3, 0]", "at = [0, 0.3, 0]"))
    study = Study(path, {"g": {"key": "gravity.1", "values": [-1.5, -1.0]}}, {"gain": {"kind": "gain_margin"}})
    assert femb.sweep(study).summary().splitlines()[-1].split() == ["gain", "infinite"]


def test_a_loop_that_is_not_stable_has_numbers(case):
    found, _ = numbers(case, LOOPS, "controllers.pd.D", [[[0.0, 435.4]], [[0.0, -435.4]]])
    for word in ("phase_margin", "gain_margin", "delay_margin", "disk_margin"):
        assert found[word][0] > 0.0
        assert found[word][1] == 0.0
    assert found["sensitivity_peak"][1] == np.inf
    assert found["growth"][1] > 0.0


def test_a_thin_resonance_is_not_missed():
    """x'' + 2 z w x' + w^2 x = u has the peak 1/(2 z w^2 sqrt(1 - z^2)), and the H2 norm 1/sqrt(4 z w^3)."""
    for z, w in ((0.05, 3.0), (1e-7, 2.0)):
        A = np.array([[0.0, 1.0], [-w * w, -2.0 * z * w]])
        thin = StateSpace(A, [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]], ("x", "v"), ("u",), ("y",))
        assert peak_gain(thin).gain == pytest.approx(1.0 / (2.0 * z * w * w * np.sqrt(1.0 - z * z)), rel=1e-8)
        assert h2_norm(thin) == pytest.approx(1.0 / np.sqrt(4.0 * z * w**3), rel=1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dt", [None, 0.1])
def test_norms_are_those_of_python_control_and_of_a_search_over_frequencies(seed, dt):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 6)) * 3.0
    values = np.linalg.eigvals(A)
    A = A - (np.max(values.real) + 0.1) * np.eye(6) if dt is None else A / np.max(np.abs(values)) * 0.98
    B, C, D = rng.normal(size=(6, 2)), rng.normal(size=(3, 6)), rng.normal(size=(3, 2)) * (dt is not None)
    names = (tuple("abcdef"), ("u", "v"), ("x", "y", "z"))
    space = StateSpace(A, B, C, D, *names, dt=dt)
    omega = np.linspace(0.0, 40.0 if dt is None else np.pi / dt, 2001)

    def size(w):
        point = np.atleast_1d(1j * w if dt is None else np.exp(1j * w * dt))
        return np.linalg.norm(C @ np.linalg.solve(point[:, None, None] * np.eye(6) - A, B + 0j) + D, 2, axis=(1, 2))

    k = int(np.argmax(size(omega)))
    around = (omega[max(k - 1, 0)], omega[min(k + 1, len(omega) - 1)])
    best = minimize_scalar(lambda w: -size(w).item(), bounds=around, method="bounded", options={"xatol": 1e-10})
    found = peak_gain(space)
    assert found.gain == pytest.approx(max(-best.fun, size(omega[k]).item()), rel=1e-9)
    other = control.StateSpace(A, B, C, D, *([] if dt is None else [dt]))
    assert np.linalg.norm(space.transfer(1j * found.omega), 2) == pytest.approx(found.gain, rel=1e-9)
    assert h2_norm(space) == pytest.approx(control.norm(other, 2), rel=1e-8)


def test_a_system_that_does_not_decay_has_no_finite_norms():
    integrator = StateSpace(
        [[0.0, 1.0], [0.0, -1.0]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]], ("x", "v"), ("u",), ("y",)
    )
    assert peak_gain(integrator).gain == h2_norm(integrator) == np.inf
    pure = StateSpace([[0.0]], [[1.0]], [[1.0]], [[0.0]], ("x",), ("u",), ("y",))
    high = StateSpace([[-1.0]], [[1.0]], [[-1.0]], [[1.0]], ("x",), ("u",), ("y",))  # s/(s + 1)
    assert peak_gain(high)[:2] == (pytest.approx(1.0), np.inf)
    assert peak_gain(pure).gain == h2_norm(pure) == np.inf


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("dt", [None, 0.01])
def test_undamped_vibrations_that_are_not_driven_or_not_seen_are_none_of_a_norm(dt, driven):
    """Of two that are alike the force drives one, and the output sees another; where it sees the same, both norms are
    infinite. Beside them a damped one."""
    w, z = 10.0, 0.05
    A = block_diag(*([[0.0, 1.0], [-(of**2), -2.0 * ratio * of]] for of, ratio in ((w, z), (7.0, 0.0), (7.0, 0.0))))
    B = np.array([[0.0, 1.0, 0.0, 0.6, 0.0, 0.8]]).T
    C = np.array([[1.0, 0.0, 0.8, 0.0, -0.6 + driven, 0.0]])
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]

    def space(A, B, C):
        A, B = (A, B) if dt is None else cont2discrete((A, B, C, np.zeros((1, 1))), dt)[:2]
        return StateSpace(A, B, C, [[0.0]], tuple("abcdef"[: len(A)]), ("u",), ("y",), dt=dt)

    whole, alone = space(turn @ A @ turn.T, turn @ B, C @ turn.T), space(A[:2, :2], B[:2], C[:, :2])
    if driven:
        assert peak_gain(whole).gain == h2_norm(whole) == np.inf
        return
    np.testing.assert_allclose(peak_gain(whole)[:2], peak_gain(alone)[:2], rtol=1e-9)
    np.testing.assert_allclose(h2_norm(whole), h2_norm(alone), rtol=1e-11)
    if dt is None:
        assert peak_gain(whole).gain == pytest.approx(1.0 / (2.0 * z * w * w * np.sqrt(1.0 - z * z)), rel=1e-11)


@pytest.mark.slow
def test_gains_of_the_closed_loop(case):
    words = {"input": "wheels.x.torque", "output": "bodies.hub.turn.x", "closed": True}
    found, units = numbers(case, {
        "at": {"kind": "gain", "frequency": 0.2, **words}, "peak": {"kind": "peak_gain", **words},
        "noise": {"kind": "h2_norm", **words},
    })  # fmt: skip
    loop = femb.loop(femb.load_case(case), outputs=["bodies.hub.turn"])
    closed = loop.closed(["wheels.x.torque"], ["bodies.hub.turn.x"])
    omega = np.geomspace(1e-6, 1e2, 20001)
    n = len(closed.A)
    motions = np.linalg.solve(1j * omega[:, None, None] * np.eye(n) - closed.A, closed.B.astype(complex))
    gains = np.abs(closed.C @ motions + closed.D)[:, 0, 0]
    assert found["peak"][0] == pytest.approx(gains.max(), rel=1e-6)
    assert found["at"][0] == pytest.approx(np.interp(0.4 * np.pi, omega, gains), rel=1e-6)
    # Parseval's sum of the same gains
    assert found["noise"][0] == pytest.approx(np.sqrt(np.trapezoid(gains**2, omega) / np.pi), rel=1e-3)
    assert units["peak"] == "rad/(N m)"


def test_modes_and_poles_are_followed_by_their_shapes(case):
    """With a stiff left and a soft right spring modes of the held hub change places; each keeps its panel."""
    outputs = {
        "left": {"kind": "natural_frequency", "mode": 2, "held": "hub", "by_shape": True},
        "second": {"kind": "natural_frequency", "mode": 2, "held": "hub"},
        "pole": {"kind": "pole", "frequency": 0.64, "part": "frequency"},
        "ratio": {"kind": "pole", "frequency": 0.64},
    }
    case.with_name("unlike.toml").write_text((CASE + LOOP).replace("stiffness = 1650.0", "stiffness = 1500.0", 1))
    unlike = case.with_name("unlike.toml")
    found, units = numbers(unlike, outputs, "springs.right.stiffness", [1800.0, 1300.0])
    effective = 500.0 / 3.0 + 20.0 * 25.0
    assert found["left"] == pytest.approx(np.sqrt(np.array([1800.0, 1300.0]) / effective) / (2.0 * np.pi), rel=1e-9)
    assert found["second"][1] == pytest.approx(np.sqrt(1500.0 / effective) / (2.0 * np.pi), rel=1e-9)
    for k, value in enumerate((1800.0, 1300.0)):
        own = femb.load_case(unlike, [f"springs.right.stiffness={value}"])
        poles = femb.loop(own).poles()
        nearest = poles[np.argmin(np.abs(np.abs(poles) / (2.0 * np.pi) - found["pole"][k]))]
        assert found["pole"][k] == pytest.approx(abs(nearest) / (2.0 * np.pi), rel=1e-9)
        assert found["ratio"][k] == pytest.approx(-nearest.real / abs(nearest), rel=1e-9)
    assert units["pole"] == "Hz"


def test_effective_masses_are_those_of_modes(case):
    """Of a rigid panel that turns about its hinge: all of its inertia about that, and m d/sqrt(J) across."""
    (part, *_) = femb.modes(femb.load_case(case).model, held="hub").appendages
    found, units = numbers(case, {
        "along": {"kind": "effective_mass", "held": "hub", "appendage": part.name, "direction": "z"},
    })  # fmt: skip
    inertia = 500.0 / 3.0 + 20.0 * 25.0
    assert found["along"][0] == pytest.approx((20.0 * 5.0) ** 2 / inertia, rel=1e-9)
    assert units["along"] == "kg"


COLUMN = """
[sections.s]
shape = { tube = [0.02, 0.001] }
youngs_modulus = 7e10
shear_modulus = 2.6e10
density = 2700.0
[beams.column]
section = "s"
length = 4.0
elements = 6
start = { body = "ground", direction = [0, 0, 1] }
[loads.tip]
beam = "column"
force = [0, 0, -100.0]
"""


ARM = """
[bodies.hub]
mass=2.0
inertia=1.0
[bodies.arm]
mass=1.0
inertia=1.0
[joints.hinge]
kind="revolute"
first={body="hub", axis=[0,0,1], at=[0.3,0,0]}
second={body="arm", at=[-0.5,0,0]}
rates=[0.4]
[springs.hinge]
kind="joint"
joint="hinge"
stiffness=3.0
[run]
duration=1.0
"""


@pytest.mark.slow
def test_critical_loads_and_peak_loads_are_those_of_a_column(tmp_path):
    path = tmp_path / "column.toml"
    path.write_text(COLUMN)
    outputs = {
        "critical": {"kind": "critical_load", "factor": 10.0},
        "none": {"kind": "critical_load", "factor": 2.0},
        "root": {"kind": "peak_load", "item": "beams/column", "load": "axial force", "analysis": "static"},
    }
    found, units = numbers(path, outputs, "sections.s.density", [2700.0])
    second_moment = 0.25 * np.pi * (0.02**4 - 0.019**4)
    euler = np.pi**2 * 7e10 * second_moment / (4.0 * 16.0)
    assert found["critical"][0] == pytest.approx(euler / 100.0, rel=1e-3)
    assert np.isnan(found["none"][0])
    assert found["root"][0] == pytest.approx(100.0, rel=1e-6)
    assert units["root"] == "N"


def test_both_planes_of_a_column_buckle_at_once_but_one_load_is_wanted(tmp_path):
    path = tmp_path / "column.toml"
    path.write_text(COLUMN)
    found = [femb.static(path, critical=count, factor=10.0) for count in (1, 2)]
    assert [len(each.critical_load_factors) for each in found] == [1, 2]
    assert found[1].critical_load_factors == pytest.approx(found[0].critical_load_factors[0], rel=1e-6)
    first = femb.static(path)
    path.write_text(COLUMN.replace("-100.0", "-101.0"))
    rows = [row.name for row in femb.diff(first, femb.static(path)).rows if row.part]
    assert any(" at state " in name for name in rows)
    assert not any(name.endswith(" s") for name in rows)


def test_an_item_with_loads_is_named_in_full_where_two_have_the_name(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(ARM)
    text = "peak_load item=joints/hinge load='torque z'"
    assert femb.sensitivities(path, text, "springs.hinge.stiffness").values[0] > 0.0
    with pytest.raises(
        femb.FembError, match="got the item 'hinge', wanted one of: appendages/hinge, joints/hinge, springs/hinge"
    ):
        femb.sensitivities(path, text.replace("joints/", ""), "springs.hinge.stiffness")


def test_problems_are_told_before_the_first_run(case):
    for output, message in (
        ({"kind": "phase_margin", "channel": "wheels.y.torque"}, "the loop has no channel 'wheels.y.torque'"),
        (
            {"kind": "effective_mass", "held": "hub", "appendage": "lft", "direction": "x"},
            "there is no appendage 'lft'",
        ),
        ({"kind": "peak_load", "item": "springs/left", "load": "tension"}, "has no load 'tension'"),
    ):
        study = Study(case, {"p": {"key": "springs.left.stiffness", "values": [1.0]}}, {"o": output})
        with pytest.raises(femb.FembError, match=r"outputs\.o") as error:
            femb.sweep(study)
        assert message in str(error.value)


def test_every_output_says_what_it_is():
    for word, kind in OUTPUTS.items():
        assert kind.kind == word
        assert kind.__doc__


def test_the_reference_of_modes_is_the_case_without_variables(case):
    study = Study(case, {"p": {"key": "springs.left.stiffness", "values": [1000.0]}}, {"m": {"kind": "mass"}})
    reference = runner_of(study, None).reference
    assert 2.0 * np.pi * reference.modes(None, None, False).frequencies[0] == pytest.approx(FREQUENCIES[0], abs=1e-4)
