"""Worst pointing errors over ranges: closed forms of a rigid axis, a scan, and outputs of studies."""

import json

import numpy as np
import pytest
from models import refuses
from shared_runs import said

import femb
from femb.robust import worst_pointing
from femb.study.box import points_of
from femb.study.sensitivity import CaseFamily

TURN, RATE, TORQUE = "bodies.hub.turn.x", "bodies.hub.angular_velocity.x", "bodies.hub.torque.x"
STIFFNESS, DAMPING, LEAST, MOST = 10.0, 20.0, 20.0, 60.0
CASE = f"""
[bodies.hub]
mass = 100.0
inertia = [40.0, 50.0, 60.0]

[loads.torquer]
body = "hub"
frame = "body"
torque = [0, 0, 0]

[controllers.attitude]
kind = "pd"
attitude = "bodies.hub.attitude"
rate = "bodies.hub.angular_velocity"
proportional = [{STIFFNESS}, {STIFFNESS}, {STIFFNESS}]
derivative = [{DAMPING}, {DAMPING}, {DAMPING}]
outputs = ["loads.torquer.torque"]

[parameters.inertia]
entry = "bodies.hub.inertia.0"
range = [{LEAST}, {MOST}]

[run]
duration = 1.0
"""
DENSITY, LEVEL = 1e-6, 0.9973
NOISE = {"drag": {"kind": "noise", "inputs": [TORQUE], "density": DENSITY}}


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "axis.toml"
    found.write_text(CASE)
    return found


@pytest.mark.slow
def test_noise_of_a_rigid_axis_is_worst_as_its_formulas_say(path):
    """J x'' + d x' + k x = n has <x^2> = W/(2 d k) for all J, and <x'^2> = W/(2 d J), which is worst of the least J."""
    counts = []
    worst = femb.worst_pointing(path, [TURN, RATE], NOISE, window=3.0, progress=lambda *x: counts.append(x))
    done, most = zip(*counts, strict=True)
    assert sorted(done) == list(done)
    assert set(most) == {done[-1]}
    sigmas = femb.pointing_budget(path, TURN, NOISE).total("APE")[0] * np.sqrt(2.0 * DAMPING * STIFFNESS / DENSITY)
    turn, rate = worst["APE", TURN], worst["APE", RATE]
    assert turn.found == pytest.approx(turn.nominal, rel=1e-9)
    assert turn.parameters == {"inertia": 40.0}  # not where rounding is largest
    assert rate.found == pytest.approx(sigmas * np.sqrt(DENSITY / (2.0 * DAMPING * LEAST)), rel=1e-9)
    assert rate.parameters == {"inertia": LEAST}
    assert rate.nominal == pytest.approx(sigmas * np.sqrt(DENSITY / (2.0 * DAMPING * 40.0)), rel=1e-9)


@pytest.mark.slow
def test_a_harmonic_is_worst_inside_of_the_range_where_it_meets_the_resonance(path):
    """a/(d w) where k = J w^2; corners give less."""
    omega, amplitude = 0.55, 1e-3
    source = femb.HarmonicSource(name="wheel", inputs=[TORQUE], amplitude=amplitude, frequency=omega)
    worst = femb.worst_pointing(path, TURN, [source], window=3.0)
    largest, share = amplitude / (DAMPING * omega), np.sinc(0.5 * omega * 3.0 / np.pi)
    assert worst["APE", TURN].parameters["inertia"] == pytest.approx(STIFFNESS / omega**2, rel=1e-3)
    ratio = worst["APE", TURN].found / worst.budget.total("APE")[0]
    response = np.abs(STIFFNESS - 40.0 * omega**2 + 1j * DAMPING * omega)
    assert ratio == pytest.approx(response / (DAMPING * omega), rel=1e-6)
    assert worst["MPE", TURN].found == pytest.approx(share * worst["APE", TURN].found, rel=1e-3)
    assert worst["APE", TURN].found == pytest.approx(largest, rel=2e-3)


@pytest.mark.slow
def test_every_measure_is_the_largest_of_a_scan(path):
    """Of the range, with another window; the drift is worst inside."""
    words = {"window": 4.0, "apart": 8.0}
    worst = femb.worst_pointing(path, TURN, NOISE, **words)
    form = femb.uncertain(path, inputs=[TORQUE], outputs=[TURN])
    scan = [femb.pointing_budget(form.loop({"inertia": x}), TURN, NOISE, **words) for x in np.linspace(LEAST, MOST, 41)]
    for word in ("APE", "MPE", "RPE", "PDE", "PRE"):
        values = [each.total(word)[0] for each in scan]
        assert worst[word, TURN].found == pytest.approx(max(values), rel=1e-3), word
        assert worst[word, TURN].found >= max(values) * (1.0 - 1e-9), word
    assert worst["RPE", TURN].found > 1.1 * worst["RPE", TURN].nominal


def test_the_worst_of_a_loop_that_some_inertia_makes_unstable_is_infinite(path):
    """The phase of hold and delay at the crossover is that of the law at an inertia between 20 and 40 kg m2."""
    path.write_text(CASE.replace("outputs", "period = 0.5\ndelay = 1.0\noutputs"))
    worst = femb.worst_pointing(path, TURN, NOISE, window=3.0)["APE", TURN]
    assert worst.found == np.inf > worst.nominal
    assert worst.parameters == {"inertia": LEAST}


@pytest.mark.slow
def test_the_worst_run_of_a_study_is_that_of_the_search(path, tmp_path):
    """As output of a study, of full models and of the form."""
    words = {"kind": "pointing_budget", "of": RATE, "window": 3.0, "measure": "RPE", "sources": NOISE}
    study = femb.Study(path, {}, {"blur": words}, design="worst", best="least blur",
                       parameters={"inertia": {"entry": "bodies.hub.inertia.0", "range": [LEAST, MOST]}})  # fmt: skip
    wanted = femb.worst_pointing(path, RATE, NOISE, window=3.0)["RPE", RATE]
    rows = femb.sweep(study)
    assert rows.outputs["blur"][-1] == pytest.approx(wanted.found, rel=1e-6)
    formed = femb.sweep(study, form=femb.uncertain(study))
    assert formed.outputs["blur"] == pytest.approx(rows.outputs["blur"], rel=1e-6)
    refuses(
        "sources: drag: lacks 'inputs'", femb.Study, path, {}, {"b": words | {"sources": {"drag": {"kind": "noise"}}}}
    )


def test_outputs_of_studies_are_sums_of_budgets_with_the_noise_of_sensors(path):
    gyro = '\n[sensors.gyro]\nkind = "gyro"\nbody = "hub"\nperiod = 0.1\nangle_random_walk = 1e-4\n'
    path.write_text(CASE.replace('"bodies.hub.angular_velocity"', '"sensors.gyro"\nperiod = 0.1') + gyro)
    given = [{"how": "squares"}, {"percent": 95.0}, {"apart": 6.0, "measure": "PDE"}, {"measure": "MPE"}]
    sources = NOISE | {"wheel": {"kind": "harmonic", "inputs": [TORQUE], "amplitude": 1e-3, "frequency": 0.55}}
    words = {"kind": "pointing_budget", "of": TURN, "window": 3.0, "sources": sources}
    parameters = {"inertia": {"entry": "bodies.hub.inertia.0", "range": [LEAST, MOST]}}
    outputs = {f"sum{k}": words | each for k, each in enumerate(given)}
    study = femb.Study(path, {}, outputs, design="worst", best="least sum0", parameters=parameters)
    analyses = CaseFamily(study, {}, study.outputs).nominal
    for output in study.outputs.values():
        budget = femb.pointing_budget(path, TURN, sources, window=3.0, apart=output.apart, level=0.01 * output.percent)
        assert len(budget.parts) > len(sources)
        assert output.value(analyses) == pytest.approx(budget.total(output.measure, output.how)[0], rel=1e-9)
        assert output.unstable_at(np.array([np.inf, 1.0])).tolist() == [True, False]


def test_parameters_of_laws_and_sensors_are_refused(path):
    """They change no plant: the worst was that of nothing."""
    by = {"gain": {"entry": "controllers.attitude.proportional.0", "range": "10 %"}}
    refuses("parameters.gain: is of a law or a sensor", femb.worst_pointing, path, TURN, NOISE, by)


@pytest.mark.slow
def test_the_command_prints_the_worst_beside_the_nominal_budget(path, tmp_path):
    budget = tmp_path / "budget.toml"
    budget.write_text(
        f'of = "{RATE}"\nwindow = 3.0\n[sources.drag]\nkind = "noise"\ninputs = ["{TORQUE}"]\ndensity = 1e-6\n'
    )
    args = ["pointing", str(path), "--linear", "--budget", str(budget), "--out", str(tmp_path / "p.png"), "--force"]
    found = json.loads(said(*args, "--worst", "--by", "inertia", "--json"))
    (rate,) = (each for each in found["worst"] if each["measure"] == "APE")
    assert rate["parameters"] == {"inertia": LEAST}
    assert rate["found"] == pytest.approx(np.sqrt(40.0 / LEAST) * found["sums"][0]["APE"][0], rel=1e-9)
    assert "found by search, not proved" in said(*args, "--worst")
    assert "are of --worst" in said(*args, "--by", "inertia", code=2)


def test_sums_that_no_parameter_changes_are_not_searched(path, monkeypatch):
    budgets = []

    def counted(*values, own=worst_pointing.pointing_budget):
        budgets.append(own(*values))
        return budgets[-1]

    monkeypatch.setattr(worst_pointing, "pointing_budget", counted)
    other = {"drag": NOISE["drag"] | {"inputs": ["bodies.hub.torque.y"]}}
    worst = femb.worst_pointing(path, "bodies.hub.turn.y", other, window=3.0)
    assert all(each.found == each.nominal for each in worst.errors)
    assert len(budgets) <= 1 + len(points_of(1))
