"""Derivatives of outputs against numbers of other programs; of runs by all methods, and against runs of their own."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from long_runs import slow
from models import of_parts, refuses

import femb
from femb.results.names import named
from femb.run.replay import RecordedRun
from femb.steppers.tangents import TANGENTS
from femb.study.sensitivity import Differences

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
PAGE = importlib.import_module("validation_sensitivities")
CASES = importlib.import_module("validation_sensitivity_cases")
MASSES = {
    "panel with a latch": ("bodies.panel.mass", 6.0),
    "stop": ("bodies.block.mass", 2.0),
    "sampled law": ("bodies.block.mass", 5.0),
}


def check(table, found, tolerance):
    differences = table.differences(found)
    assert np.nanmax(differences) < tolerance, differences
    assert np.isfinite(differences).sum() >= len(found.parameters)


QUICK = ("a pair of modes", "blade on a flap spring", "extensible bar on a root spring")


@pytest.mark.parametrize(
    "title", [pytest.param(each, marks=[] if each in QUICK else pytest.mark.slow) for each in PAGE.TABLES]
)
def test_the_numbers_of_the_page(title, tmp_path):
    table = PAGE.TABLES[title]
    found = table.found(tmp_path)
    check(table, found, table.tolerance)
    assert {bool(way) for way in found.ways} == {title in PAGE.MOTIONS}


@pytest.mark.slow
def test_a_blade_at_twice_its_rotation():
    (row,) = PAGE.twice_per_revolution()
    assert row.error < row.bound


@pytest.mark.slow
def test_a_corner_of_a_profile_moves_with_its_parameter(tmp_path, monkeypatch):
    monkeypatch.setattr(RecordedRun, "of", None)
    table = PAGE.MOTIONS["two masses on a rail"]
    found = femb.sensitivities(_case(table, tmp_path), table.of, {"duration": table.by["duration"]})
    assert found.derivatives[0, 0] == pytest.approx(table.wanted["distance"][-1], rel=1e-8)
    assert found.errors[0, 0] < 1e-8 * abs(found.derivatives[0, 0])
    assert found.ways == ("by the same steps beside the value",)


CORNERS = """
[bodies.block]
mass = 5.0
inertia = 1.0
[loads.heat]
body = "block"
force = [2.0, 0, 0]
profile = { shape = "exponential", time_constant = 0.3, start = 0.4 }
[loads.thruster]
body = "block"
force = [3.0, 0, 0]
profile = { shape = "step", start = 0.7, duration = 0.9 }
[run]
duration = 2.0
rtol = 1e-10
"""


def test_corners_and_jumps_of_loads_have_closed_forms(tmp_path, monkeypatch):
    """x = F/m (D^2/2 - T D + T^2 (1 - e)) of an exponential, e = exp(-D/T), and F/m (A^2 - B^2)/2 of a pulse."""
    monkeypatch.setattr(RecordedRun, "of", None)
    path = tmp_path / "case.toml"
    path.write_text(CORNERS)
    by = ["heat.profile.start", "heat.profile.time_constant", "thruster.profile.start", "thruster.profile.duration"]
    found = femb.sensitivities(path, "final of=block.position.x", [f"loads.{each}" for each in by])
    T, D = 0.3, 1.6
    e = np.exp(-D / T)
    wanted = 0.4 * (T * (1.0 - e) - D), 0.4 * (2.0 * T * (1.0 - e) - D - D * e), -0.6 * 0.9, 0.6 * 0.4
    np.testing.assert_allclose(found.derivatives[0], wanted, rtol=1e-8)


def test_a_corner_and_a_sample_at_one_instant(tmp_path, monkeypatch):
    """A force that begins slowly changes the command of a sample smoothly; one that jumps has no derivative there."""
    monkeypatch.setattr(RecordedRun, "of", None)
    path, key = tmp_path / "case.toml", "loads.gust.profile.start"
    text = CASES.SAMPLED.replace("3.05", "1.05") + '[loads.gust]\nbody = "block"\nforce = [0.3, 0, 0]\n'
    path.write_text(text + 'profile = { shape = "exponential", time_constant = 0.2, start = 0.5 }\n')
    found = femb.sensitivities(path, "final of=joints.slide.stroke", key)
    ends = []
    for start in 0.5 + 1e-4 * np.array([1, -1, 2, -2]):
        case = femb.load_case(path, [f"{key}={start}", "run.rtol=1e-11"])
        ends.append(named(femb.simulate(case.model, case.run), "joints.slide.stroke").values[-1])
    # the command is quadratic on one side
    slope = 2.0 * (ends[0] - ends[1]) / 2e-4 - (ends[2] - ends[3]) / 4e-4
    assert found.derivatives[0, 0] == pytest.approx(slope, rel=1e-6)
    path.write_text(text + 'profile = { shape = "step", start = 0.5 }\n')
    message = "an input jumps with an update at t = 0.5 s, but apart from it beside the value"
    refuses(message, femb.sensitivities, path, "final of=joints.slide.stroke", key)


def test_the_error_has_what_the_tolerances_leave(tmp_path):
    """Of coarse steps: the derivatives differ from the page by some of the errors, which two sizes of h do not see."""
    table = PAGE.MOTIONS["two masses on a rail"]
    by = {name: table.by[name] for name in ("k", "force")}
    found = femb.sensitivities(_case(table, tmp_path), table.of, by, overrides=["run.rtol=1e-3"])
    wanted = np.take(table.wanted["distance"], [3, 5])
    off = np.linalg.norm((found.derivatives[0] - wanted) * found.nominal)
    said = np.linalg.norm(found.errors[0] * found.nominal)
    assert 0.2 * off < said < 20.0 * off
    assert found.units["k"] == "N/m"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "tolerance"),
    [
        (["run.method=rk", "run.rtol=1e-10"], 1e-7),
        (["run.method=bdf", "run.rtol=1e-9"], 1e-4),
        (["run.method=generalized-alpha", "run.rtol=1e-8"], 1e-3),
        (["run.method=rk", "run.tableau=rk4", "run.step=0.02"], 1e-6),
        (["run.method=gauss", "run.order=6", "run.step=0.04"], 1e-6),
    ],
)
def test_all_methods(words, tolerance, tmp_path):
    table = PAGE.MOTIONS["panel with a latch"]
    by = {name: table.by[name] for name in ("spring", "mass", "arm")}
    found = femb.sensitivities(_case(table, tmp_path), table.of, by, overrides=words)
    places = [0, *(1 + list(table.by).index(name) for name in by)]
    own = PAGE.Table(table.case, table.of, by, {name: np.take(row, places) for name, row in table.wanted.items()})
    check(own, found, tolerance)


TURNING = """
[bodies.hub]
mass = 4.0
inertia = [1.0, 2.0, 2.5]
angular_velocity = [0.3, 0.2, -0.4]
[beams.boom]
start = { body = "hub", direction = [1, 0, 0] }
length = 2.0
elements = 2
section = "tube"
[sections.tube]
axial_stiffness = 1e4
torsional_stiffness = 20.0
bending_stiffness = [30.0, 30.0]
mass_per_length = 0.2
inertia_per_length = [2e-3, 1e-3, 1e-3]
[run]
duration = 1.0
"""
SPRING = """
[bodies.hub]
mass = 1.0
inertia = 1.0
velocity = [0.3, 0.2, -0.4]
[bodies.other]
mass = 2.0
inertia = 1.0
position = [1.0, 0.1, 0.2]
[springs.coil]
start = { body = "hub" }
end = { body = "other" }
stiffness = 8.0
free_length = 0.4
[run]
duration = 1.0
"""
OF_TURNING = "final of=hub.angular_velocity.z"


@pytest.mark.parametrize(
    ("text", "of", "key", "follows"),
    [
        (TURNING, OF_TURNING, "bodies.hub.inertia.0", True),
        (TURNING, OF_TURNING, "sections.tube.bending_stiffness.0", True),
        (TURNING, OF_TURNING, "bodies.hub.angular_velocity.1", True),
        # ends of springs may meet, which tangents do not follow
        (SPRING, "final of=other.position.z", "bodies.other.mass", False),
    ],
)
def test_equal_steps_of_generalized_alpha_equal_those_of_other_runs(text, of, key, follows, tmp_path, monkeypatch):
    """Without constraints the derivative of the computed numbers; also of steps that are equal but for rounding."""
    again, made = [], RecordedRun.of
    monkeypatch.setattr(RecordedRun, "of", lambda self, *words: again.append(1) or made(self, *words))
    path = tmp_path / "case.toml"
    path.write_text(text)
    words = ["run.method=generalized-alpha", "run.step=0.02", "run.rtol=1e-10"]
    found = femb.sensitivities(path, of, key, overrides=words)
    assert bool(again) != follows
    value, slopes = float(found.nominal[0]), []
    for h in (1e-3, 5e-4):
        cases = [femb.load_case(path, [*words, f"{key}={value * (1.0 + s * h)!r}"]) for s in (1.0, -1.0)]
        ends = [named(femb.simulate(each.model, each.run), of.partition("=")[2]).values[-1] for each in cases]
        slopes.append((ends[0] - ends[1]) / (2.0 * h * value))
    assert found.derivatives[0, 0] == pytest.approx((4.0 * slopes[1] - slopes[0]) / 3.0, rel=1e-7)


@pytest.mark.parametrize(("method", "tolerance"), [("radau", 1e-7), slow(("generalized-alpha", 2e-4))])
def test_methods_with_tangents_on_a_joint(method, tolerance, tmp_path, monkeypatch):
    """Every method of the catalogue of tangents, by none of whose runs steps are taken again."""
    assert method in TANGENTS
    assert len(TANGENTS) == 2
    monkeypatch.setattr(RecordedRun, "of", None)
    table = PAGE.MOTIONS["pendulum"]
    by, wanted = {name: table.by[name] for name in ("mass", "inertia")}, table.wanted["at 2 s"][1:3]
    text = table.case.replace("duration = 10.0", "duration = 2.0")
    path = tmp_path / "case.toml"
    path.write_text(text)
    of = {"angle": {"kind": "final", "of": "joints.pin.angle"}}
    found = femb.sensitivities(path, of, by, overrides=[f"run.method={method}", "run.rtol=1e-9"])
    off = np.abs(found.derivatives[0] - wanted)
    assert np.all(off < tolerance * np.abs(wanted))
    assert np.all(off < 3.0 * found.errors[0] + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("title", MASSES)
@pytest.mark.parametrize("method", ["radau", "bdf", "generalized-alpha", "rk"])
def test_the_same_steps_give_the_same_run(title, method, tmp_path):
    """Of the same model; and other numbers move it smoothly, however coarse the steps are."""
    table = PAGE.MOTIONS[title]
    path = _case(table, tmp_path)
    words = [f"run.method={method}", "run.rtol=1e-5"]
    case = femb.load_case(path, words)
    recorded = RecordedRun(case.model, case.run)
    name = next(iter(table.of.values())).get("of", "hub.euler_angles.z")

    def end(results):
        return float(named(results, name).values[-1])

    same, nominal = end(recorded.of(case.model)), end(recorded.results)
    assert same == pytest.approx(nominal, rel=1e-3)
    key, value = MASSES[title]
    slopes = []
    for h in (5e-5, 2e-5, 1e-5):
        beside = [f"{key}={value * (1.0 + s * h)!r}" for s in (-1.0, 1.0)]
        sides = [end(recorded.of(femb.load_case(path, [*words, each]).model)) for each in beside]
        slopes.append((sides[1] - sides[0]) / (2.0 * h * value))
    np.testing.assert_allclose(slopes[1:], slopes[0], rtol=1e-6, atol=1e-12)


def sprung(mass):
    """10 rad/s at 1 kg, and 0.5 m of amplitude about 1 m."""
    ends = femb.SpringEnd("m"), femb.SpringEnd(anchor=(0, 0, 0))
    spring = femb.SpringDamper("s", *ends, stiffness=100.0, free_length=1.0)
    return of_parts(femb.PointMass("m", mass=mass, position=(1.5, 0, 0)), spring)


@pytest.mark.parametrize("method", ["radau", "bdf", "generalized-alpha", "rk"])
def test_steps_are_as_many_again_and_beside_the_value_they_have_the_slope_in_closed_form(method):
    """x = 1 + a cos(w t) has dx/dm = a t sin(w t) w/(2 m)."""
    recorded = RecordedRun(sprung(1.0), femb.Run(1.0, output_interval=0.25, method=method))
    again, halves = recorded.of(sprung(1.0)), recorded.of(sprung(1.0), halved=True)
    steps = recorded.results.statistics["steps"]
    assert [each.statistics["steps"] for each in (again, halves)] == [steps, 2 * steps]
    assert recorded.results.statistics["factorizations"] < steps  # matrices are kept
    x = [each.bodies["m"].position[:, 0] for each in (again, recorded.results)]
    np.testing.assert_allclose(*x, rtol=1e-13)
    above, below = (recorded.of(sprung(1.0 + h)).bodies["m"].position[:, 0] for h in (1e-4, -1e-4))
    t = again.time
    np.testing.assert_allclose((above - below) / 2e-4, 0.5 * t * np.sin(10.0 * t) * 5.0, atol=2e-3)


SAMPLED = (
    CASES.SLIDE.format(5.0, 0.02, 0.0)
    + """
[loads.push]
kind = "motor"
joint = "slide"
force = 0.0
[sensors.ruler]
kind = "encoder"
joint = "slide"
period = 0.05
delay = 0.02
[controllers.hold]
kind = "pid"
input = "sensors.ruler"
rate = "joints.slide.stroke rate"
proportional = 8.0
derivative = 10.0
integral = 1.0
period = 0.1
outputs = ["loads.push.force"]
[latches.lock]
joint = "slide"
at = 0.004
direction = -1
[run]
duration = 2.0
output_interval = 0.25
method = "radau"
rtol = 1e-8
"""
)
PERIODS = {"controllers.hold.period": 0.1, "sensors.ruler.period": 0.05, "sensors.ruler.delay": 0.02}
OF_SAMPLED = {
    "instant": {"kind": "event_time", "event": "latches.lock"},
    "place": {"kind": "final", "of": "joints.slide.stroke"},
    "early": {"kind": "final", "of": "joints.slide.stroke", "last": 0.75},
    "command": {"kind": "final", "of": "controllers.hold.output", "last": 1.0},
}


@pytest.mark.slow
def test_samples_and_latches_are_carried_by_tangents(tmp_path, monkeypatch):
    """A sensor, a law with an integral and a latch: derivatives of the same steps, none of which is taken again."""
    path = tmp_path / "case.toml"
    path.write_text(SAMPLED)
    by = {
        name: PAGE._entry(*keys, relative=name == "period")
        for name, keys in {
            "mass": ["bodies.block.mass"],
            "gain": ["controllers.hold.proportional"],
            "integral": ["controllers.hold.integral"],
            "period": list(PERIODS),
            "start": ["joints.slide.start"],
            "at": ["latches.lock.at"],
        }.items()
    }
    again, made = [], RecordedRun.of
    monkeypatch.setattr(RecordedRun, "of", lambda self, *words: again.append(1) or made(self, *words))
    found = femb.sensitivities(path, OF_SAMPLED, by)
    assert not again
    monkeypatch.setattr(RecordedRun, "tangents", lambda *_: None)
    del by["period"]
    replayed = femb.sensitivities(path, OF_SAMPLED, by)
    assert again
    size = np.max(np.abs(replayed.derivatives * replayed.nominal), axis=1, keepdims=True)
    same = [found.parameters.index(name) for name in by]
    away = np.abs(found.derivatives[:, same] - replayed.derivatives) * np.abs(replayed.nominal)
    assert np.all(away < 1e-7 * size)
    # of free runs, since samples come together where both periods change
    ends = []
    for factor in (1.0 + 1e-4, 1.0 - 1e-4):
        words = [f"{key}={value * factor!r}" for key, value in PERIODS.items()]
        case = femb.load_case(path, [*words, "run.rtol=1e-11"])
        results = femb.simulate(case.model, case.run)
        ends.append([results.events[0].time, named(results, "joints.slide.stroke").values[3]])
    slopes = (np.array(ends[0]) - ends[1]) / 2e-4
    np.testing.assert_allclose(found.derivatives[[0, 2], 3], slopes, rtol=1e-5)
    message = "sensors.ruler and controllers.hold act together at t = 0.1 s, but apart beside the value"
    monkeypatch.undo()
    refuses(message, femb.sensitivities, path, OF_SAMPLED, "controllers.hold.period")
    # the place is where the latch closes
    np.testing.assert_allclose(found.derivatives[1], [0, 0, 0, 0, 0, 1], atol=1e-9)


@pytest.mark.parametrize("title", ["panel with a latch", "sampled law"])
def test_tangents_over_updates(title, tmp_path, monkeypatch):
    monkeypatch.setattr(RecordedRun, "of", None)
    table = PAGE.MOTIONS[title]
    check(table, table.found(tmp_path, ["run.rtol=1e-8"]), 1e-6)


def test_a_latch_that_grazes_is_refused_by_name(tmp_path):
    """The stroke is (t - 1)^3."""
    path = tmp_path / "case.toml"
    path.write_text(
        CASES.SLIDE.format(1.0, -1.0, 3.0)
        + """
[loads.push]
body = "block"
force = [6.0, 0, 0]
profile = { shape = "polynomial", coefficients = [-1.0, 1.0] }
[latches.lock]
joint = "slide"
at = 0.0
"""
        + CASES.RUN.format(2.0, 0.5)
    )
    refuses(
        "latches.lock grazes its zero", femb.sensitivities, path, "final of=joints.slide.stroke", "loads.push.force.0"
    )


def test_what_has_no_derivative_is_refused_by_name(tmp_path):
    path = _case(PAGE.MOTIONS["two masses on a rail"], tmp_path)
    for of, message in (
        ("settling_time of=slide.stroke", "jumps from one output time or band to the next; take the rms"),
        ("peak_time of=slide.stroke", "take the peak, or the value at an instant"),
        ("event_time event=latches.lock", "latches.lock does not happen in the run"),
    ):
        refuses(message, femb.sensitivities, path, of, "loads.push.force.0", overrides=["run.rtol=1e-4"])


def test_a_quantised_sensor_is_refused_by_name(tmp_path):
    path = _case(PAGE.MOTIONS["sampled law"], tmp_path)
    path.write_text(
        path.read_text().replace('input = "joints.slide.stroke"', 'input = "sensors.ruler"')
        + '[sensors.ruler]\nkind = "encoder"\njoint = "slide"\nquantum = 1e-3\n'
    )
    with pytest.raises(femb.ModelError, match=r"sensors.ruler: its quantum rounds what it reads"):
        femb.sensitivities(path, "final of=slide.stroke", "bodies.block.mass")


def _case(table, folder):
    path = folder / "case.toml"
    path.write_text(table.case)
    return path


def test_the_end_of_a_run_is_a_parameter_of_its_outputs(tmp_path):
    """A body under a constant force: x = F t^2/(2 m), by t the velocity. Other outputs and options are refused."""
    path = tmp_path / "case.toml"
    path.write_text(
        '[run]\nduration = 2.0\n[bodies.block]\nmass = 5.0\ninertia = 1.0\n[loads.push]\nbody = "block"\n'
        "force = [3.0, 0, 0]\n"
    )
    found = femb.sensitivities(path, "final of=block.position.x", "run.duration")
    assert found.derivatives[0, 0] == pytest.approx(3.0 * 2.0 / 5.0, rel=1e-8)
    for of, key, message in (
        ("mass", "run.duration", "'mass' is of no motion in time"),
        ("final of=block.position.x", "run.rtol", "says how motions are computed"),
    ):
        refuses(message, femb.sensitivities, path, of, key, overrides=["run.rtol=1e-6"])


PLATE = """
[bodies.plate]
mass = 2.0
inertia = [1.0, 1.0, 2.0]
[joints.hinge]
kind = "revolute"
first = { body = "ground", axis = [0, 0, 1] }
second = { body = "plate", axis = [0, 0, 1] }
start = 0.1
[springs.hinge]
kind = "joint"
joint = "hinge"
stiffness = 8.0
[run]
duration = 2.0
rtol = 1e-9
"""


def test_a_parameter_that_can_move_to_one_side_alone_takes_part(tmp_path, monkeypatch):
    """A flat plate, whose largest moment is the sum of the others, on a spring: by two models a parameter."""
    built = []
    made = Differences.analyses
    monkeypatch.setattr(Differences, "analyses", lambda self, entries: built.append(entries) or made(self, entries))
    path = tmp_path / "plate.toml"
    path.write_text(PLATE)
    found = femb.sensitivities(
        path, "final of=joints.hinge.angle", ["bodies.plate.inertia.2", "springs.hinge.stiffness"]
    )
    w, slope = 2.0, 0.1 * 2.0 * np.sin(4.0)
    np.testing.assert_allclose(found.derivatives, [[slope * w / 4.0, -slope / (4.0 * w)]], rtol=1e-6)
    assert np.all(np.abs(found.derivatives - [[slope * w / 4.0, -slope / (4.0 * w)]]) < found.errors + 1e-9)
    assert np.all(found.errors < 1e-5 * np.abs(found.derivatives))
    # nominal, a refused side, two models of each parameter, and of both together two for the error
    assert len(built) <= 8


def test_a_recorded_run_has_the_instants_that_are_wanted():
    model = femb.Model("free")
    model.add(femb.RigidBody("hub", 1.0, (1.0, 1.0, 1.0), velocity=(1.0, 0.0, 0.0)))
    found = RecordedRun(model, femb.Run(duration=1.0), np.array([0.1, 0.35, 0.9])).results
    np.testing.assert_allclose(found.time, [0.0, 0.1, 0.35, 0.9], atol=1e-12)
