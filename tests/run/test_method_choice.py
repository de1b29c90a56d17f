"""``method = "auto"``: the model decides, and the results say why."""

import numpy as np
import pytest
from checkout import CASES
from models import of_parts
from shared_runs import said

import femb
from femb.run.method_choice import ModelFacts, choose, facts_of, with_method
from femb.system.system import System


def on_a_spring(**spring):
    """A mass of 2 kg on a spring or dashpot to the ground."""
    return of_parts(
        femb.PointMass("m", mass=2.0, position=(1.0, 0, 0)),
        femb.SpringDamper("s", femb.SpringEnd(body="ground"), femb.SpringEnd(body="m"), free_length=1.0, **spring),
    )


def boom(damping=0.0):
    """A boom of steel on a hub."""
    section = femb.Section("boom", 1e-4, (1e-9, 1e-9), 2e-9, 7800.0, 2e11, 8e10, damping=damping)
    model = femb.Model("boom")
    hub = model.add(femb.RigidBody("hub", mass=10.0, inertia=1.0, angular_velocity=(0, 0, 0.1)))
    model.add(femb.Beam("boom", section=section, length=2.0, elements=1, start=hub.at((0, 0, 0), direction=(1, 0, 0))))
    return model


def chosen(model, **options):
    return with_method(System(model), femb.Run(**{"duration": 10.0, "method": "auto", **options}))


def test_facts_are_those_of_a_closed_form():
    """Frequency sqrt(k/m), decay c/m."""
    facts = facts_of(System(on_a_spring(stiffness=800.0, damping=6.0)))
    assert facts.frequency == pytest.approx(20.0 / (2.0 * np.pi), rel=1e-6)
    assert facts.decay == pytest.approx(3.0, rel=1e-6)
    assert not facts.flexible
    assert not facts.switches


@pytest.mark.parametrize(
    ("model", "method", "why"),
    [
        (lambda: on_a_spring(stiffness=800.0), "rk", "no spring, damper or control that an explicit step"),
        (lambda: on_a_spring(stiffness=8e8), "radau", "a vibration of 3.18e+03 Hz"),
        (lambda: on_a_spring(stiffness=800.0, damping=1e5), "radau", "a decay of 5e+04/s"),
        (lambda: boom(damping=1e-4), "radau", "flexible members"),
        (boom, "radau", "above 50 Hz, which 0.01 s between outputs cannot show"),
    ],
)  # fmt: skip
def test_the_model_decides(model, method, why):
    run, reason = chosen(model())
    assert run.method == method
    assert reason.startswith(f"{method}: ")
    assert why in reason


@pytest.mark.parametrize("rate", [30.0, 2e4])
@pytest.mark.parametrize("what", ["rate", "angle"])
def test_a_controller_in_python_counts_with_its_stiffness_and_damping(what, rate):
    """It gives no derivatives: the torque -c omega slows the body at c/I, -k angle turns it at sqrt(k/I)."""
    model = femb.Model("controlled")
    model.add(femb.RigidBody("b", mass=1.0, inertia=2.0))
    model.add(femb.Revolute("hinge", femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("b", axis=(0, 0, 1))))

    def control(t, state):
        joint = state.joints["hinge"]
        return -2.0 * rate * joint.rates[0] if what == "rate" else -2.0 * rate**2 * joint.coordinates[0]

    model.add(femb.JointMotor("drive", joint="hinge", force=control))
    facts = facts_of(System(model))
    found = facts.decay if what == "rate" else 2.0 * np.pi * facts.frequency
    assert found == pytest.approx(rate, rel=1e-4)
    load = femb.Model("loaded")
    load.add(femb.RigidBody("b", mass=1.0, inertia=2.0))
    torque = (
        (lambda t, state: -2.0 * rate * state.bodies["b"].angular_velocity)
        if what == "rate"
        else (lambda t, state: -2.0 * rate**2 * 2.0 * state.bodies["b"].quaternion[1:])
    )
    load.add(femb.Load("control", body="b", torque=torque, frame="body"))
    method, words = chosen(load, output_interval=0.01)
    assert method.method == ("radau" if rate > 1e3 else "rk")
    assert ("too fast for explicit steps" in words) == (rate > 1e3)


def test_only_an_undamped_structure_gets_a_filter():
    """At the highest frequency that the output times show; a given filter and a given method stay."""
    assert chosen(boom())[0].filter == 50.0
    assert chosen(boom(), output_interval=0.001)[0].filter == 500.0
    assert chosen(boom(), output_interval=1.0)[0].filter == 50.0
    assert chosen(boom(damping=1e-4))[0].filter is None
    assert chosen(boom(), filter=7.0)[0].filter == 7.0
    given = femb.Run(duration=10.0, method="bdf")
    assert with_method(System(boom()), given) == (given, "")


def test_stops_and_momenta():
    model = femb.Model("stopped")
    model.add(femb.RigidBody("b", mass=1.0, inertia=1.0, velocity=(1.0, 0, 0)))
    model.add(femb.Prismatic("rail", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("b", axis=(1, 0, 0))))
    assert chosen(model)[0].method == "rk"
    assert chosen(model, formulation="hamiltonian")[0].method == "rk"
    model.add(femb.JointStops("stop", joint="rail", stiffness=1e6, upper=0.3))
    assert chosen(model)[0].method == "radau"


@pytest.mark.parametrize("item", ["controller", "sensor"])
def test_clocks_take_radau(item):
    """Of rigid bodies too, whose steps else are explicit; and nothing of a structure is damped."""
    model = femb.Model("held")
    model.add(femb.RigidBody("hub", mass=1.0, inertia=1.0))
    model.add(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body"))
    assert chosen(model)[0].method == "rk"
    if item == "sensor":
        model.add(femb.Gyro("gyro", body="hub", period=0.1))
    else:
        sets = {"inputs": "bodies.hub.angular_velocity", "outputs": "loads.torquer.torque", "period": 0.1}
        model.add(femb.SampledController("law", lambda t, y, x: -y, **sets))
    assert chosen(model)[0].method == "radau"
    assert chosen(model)[1] == (
        "radau: controllers or sensors with a period, whose samples are the ends of steps: every 0.1 s or less"
    )
    structure = boom()
    structure.add(femb.Gyro("gyro", body="hub", period=0.1))
    assert chosen(structure)[0].filter is None
    assert chosen(structure, formulation="quaternion")[0].method == "radau"
    assert chosen(model, formulation="hamiltonian")[0].method == "rk"


def test_resolved_at_the_output_interval():
    """The rule is in the product of frequency and output interval alone."""
    for interval, method in ((0.01, "rk"), (0.004, "rk")):
        facts = ModelFacts(False, False, False, 30.0, 0.0)
        assert choose(facts, femb.Run(duration=1000.0 * interval, output_interval=interval))[0] == method
    assert choose(ModelFacts(False, False, False, 40.0, 0.0), femb.Run(duration=10.0))[0] == "radau"


@pytest.mark.slow
def test_the_results_and_the_command_say_why(tmp_path):
    results = femb.simulate(on_a_spring(stiffness=800.0), duration=0.1, output_interval=0.05, method="auto")
    assert results.method == "rk"
    assert results.method_reason.startswith("rk: rigid bodies")
    words = [str(CASES / "thompson_pendulum.toml"), "--set", "run.method=auto", "--set", "run.duration=0.1"]
    words += ["--set", "run.output_interval=0.1"]
    done = said("run", *words, "--out", tmp_path)
    assert "method                rk: rigid bodies" in done
    assert femb.Results.read(tmp_path / "results.h5").method_reason.startswith("rk: ")
    assert "method rk: rigid bodies" in said("check", *words)


@pytest.mark.parametrize(("later", "held_up"), [(4e4, True), (20.0, False)])
def test_a_control_that_becomes_stiff_during_the_run_is_named(later, held_up):
    """The start does not show it, so that auto takes explicit steps: the results say what holds them up."""
    model = femb.Model("controlled")
    model.add(femb.RigidBody("b", mass=1.0, inertia=2.0, angular_velocity=(0, 0, 1.0)))

    def torque(t, state):
        return -2.0 * (later if t > 0.01 else 1.0) * (state.bodies["b"].angular_velocity - (0.0, 0.0, np.cos(t)))

    torque.breakpoints = (0.01,)
    model.add(femb.Load("control", body="b", torque=torque, frame="body"))
    results = femb.simulate(model, duration=0.2, output_interval=0.01, method="auto")
    assert results.method == "rk"
    assert ("a control or damper of 4e+04/s" in results.message) == held_up
    assert ("method = 'radau' passes over it" in results.message) == held_up
