"""Worst parameters in time: poles of signals by a matrix pencil, and the decay of a nonlinear run."""

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from checkout import ROOT
from long_runs import slow
from models import refuses
from oracles.uncertain_satellite import satellite
from shared_runs import said

import femb
from femb.robust.verify import poles_of, verify


def test_poles_of_signals_are_those_that_made_them():
    t = 0.1 * np.arange(200)
    poles = np.array([-0.02 + 1.7j, -0.3 + 0.4j])
    signals = np.column_stack([np.exp(poles[0] * t).real + 0.1 * np.exp(poles[1] * t).imag, np.exp(poles[1] * t).real])
    found = poles_of(signals, 0.1)
    for pole in poles:
        assert np.min(np.abs(found - pole)) < 1e-9
    # a motion of less than a millionth of the others is rounding of a run
    tiny = np.cos(2.9 * t)[:, None]
    assert [len(poles_of(1e9 * (signals + size * tiny), 0.1)) for size in (0.0, 4e-7, 1e-5)] == [4, 4, 6]


def controlled(inertia=300.0):
    """The satellite with a pd law on a load, its gains by the inertia of the whole."""
    model = satellite(inertia=inertia, angle=0.0, damping=600.0)
    model.add(femb.Load("torquer", "hub", torque=(0.0, 0.0, 0.0), frame="body"))
    words = {"rate": "bodies.hub", "bandwidth": 0.6, "outputs": ("loads.torquer.torque",)}
    model.add(femb.PDController("attitude", "bodies.hub", **words))
    return model


@pytest.mark.slow
def test_the_worst_parameters_decay_in_time_as_their_poles_with_gains_of_the_nominal_case():
    by = {"inertia": {"range": "15 %"}}
    found = femb.worst(controlled, by, channels=["loads.torquer.torque.0"], prove=False, points=1)
    assert (
        "gains by the inertia, or by a table, stay those of the nominal case: controllers.attitude" in found.of.table()
    )
    decays = verify(found, controlled).decays
    assert len(decays) > 1
    for each in decays:
        assert np.min(np.abs(found.of.loop(each.parameters).poles() - each.pole)) < 1e-9
        assert abs(each.difference) < 0.01
        assert each.run.imag == pytest.approx(each.pole.imag, rel=1e-3)


def test_a_motion_that_nothing_damps_and_no_law_moves_is_named_beside_the_decay():
    """It ended the whole answer: "the pole 5e-12+1e+03j does not decay"."""

    def beside(inertia=300.0):
        model = rigid(inertia)
        model.add(femb.RigidBody("stand", 1.0, (1.0, 1.0, 1.0)))
        model.add(femb.Prismatic("rail", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("stand")))
        model.add(femb.JointSpringDamper("rail", "rail", stiffness=1e6, damping=0.0))
        return model

    found = femb.worst(rigid, {"inertia": {"range": "15 %"}}, channels=["loads.torquer.torque.0"],
                       quantities=["disk_margin"], prove=False, points=1)  # fmt: skip
    verified = verify(found, beside)
    assert verified.slower == pytest.approx((1000.0,), rel=1e-9)
    (decay,) = verified.decays
    assert abs(decay.difference) < 0.01
    assert "not run: 1 motion that no law moves and that decay slower, from 1000 rad/s" in verified.table()


def rigid(inertia=300.0):
    """A hub with a pd law on a load: J s^2 + 200 s + 30 about x."""
    model = femb.Model()
    model.add(femb.RigidBody("hub", 500.0, (inertia, 250.0, 350.0)))
    model.add(femb.Load("torquer", "hub", torque=(0.0, 0.0, 0.0), frame="body"))
    gains = {"proportional": (30.0, 30.0, 30.0), "derivative": (200.0, 200.0, 200.0)}
    words = {"rate": "bodies.hub", "outputs": ("loads.torquer.torque",)}
    model.add(femb.PDController("attitude", "bodies.hub", **gains, **words))
    return model


@cache
def worst_of(at):
    """The worst cases of the rigid satellite with an error of 40 % at one place."""
    words = {"channels": ["loads.torquer.torque.0"], "prove": False, "points": 1}
    return femb.worst(rigid, {"inertia": {"range": "15 %"}}, unmodelled={"error": {"at": at, "error": 0.4}}, **words)


@pytest.mark.slow
@pytest.mark.parametrize("at", ["loads.torquer.torque.0", slow("bodies.hub.angular_velocity.x")])
def test_unmodelled_dynamics_run_in_time_have_the_poles_of_their_polynomial(at):
    """J s^2 (s + a) + (30 + 200 s)(s + a) + 0.4 sign (s - a) of what is wrong, with the phase of the worst case."""
    channel, found = "loads.torquer.torque.0", worst_of(at)
    cases = {tuple(each.phases.values()): each for each in found.cases if each.phases}
    decays = verify(found, rigid).decays
    assert any(each.phases for each in decays)
    for each in decays:
        assert abs(each.difference) < 0.01
        if not each.phases:
            continue
        case = cases[tuple(each.phases.values())]
        half = np.radians(each.phases["error"]) / 2.0
        a, sign = (case.omega * np.tan(half), 1.0) if half >= 0.0 else (-case.omega / np.tan(half), -1.0)
        law = np.array([200.0, 30.0])
        error = 0.4 * sign * np.polymul([1.0, -a], law if at == channel else [200.0, 0.0])
        J = case.parameters["inertia"]
        poles = np.roots(np.polyadd(np.polymul([1.0, a], np.polyadd([J, 0.0, 0.0], law)), error))
        # multiples of 1 + W d that cancel have the pole -a alone
        assert np.min(np.abs(np.append(poles, -a) - each.pole)) < 1e-6 * abs(each.pole)


@pytest.mark.slow
def test_laws_with_a_reference_are_not_run_with_unmodelled_dynamics():
    def slewed(inertia=300.0):
        model = rigid(inertia)
        law = model.tables["controllers"].pop("attitude")
        reference = femb.AttitudeReference(axis=(0, 0, 1), angle=femb.profiles.Constant(0.0))
        model.add(replace(law, reference=reference))
        return model

    refuses("controllers.attitude follows a reference", verify, worst_of("loads.torquer.torque.0"), slewed)


PAGE = (ROOT / "docs" / "howto" / "robust.md").read_text(encoding="utf-8")
CASE = re.search(r"```toml title=satellite.toml\n(.*?)```", PAGE, re.DOTALL)[1]
SAMPLED = """controllers.attitude={kind="pd", attitude="bodies.hub.attitude", rate="bodies.hub.angular_velocity",
bandwidth=0.15, outputs=["loads.torquer.torque"], period=0.1, delay=0.1}"""


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--set", SAMPLED.replace("\n", " ")]], ids=["continuous", "sampled"])
def test_a_command_runs_the_worst_parameters_in_time(tmp_path, more):
    path = tmp_path / "satellite.toml"
    path.write_text(CASE.replace("damping = 10.5", "damping = 100.0"), encoding="utf-8")
    words = "--worst", "--verify", "--by", "inertia", "--channel", "loads.torquer.torque.0", "--out", str(tmp_path)
    found = json.loads(said("loop", str(path), *words, "--json", *more))
    assert {each["quantity"] for each in found["worst"]} >= {"disk_margin", "delay_margin"}
    assert found["verified"]
    for each in found["verified"]:
        pole, run = complex(*each["pole"]), complex(*each["run"])
        assert 0.0 < -pole.real < 0.12
        assert abs(run.real / pole.real - 1.0) < 0.01
        assert run.imag == pytest.approx(pole.imag, rel=1e-3)
    if more:
        words = "--worst", "--of", "disk_margin", "--proof-time", "600", *words[2:]
        (one,) = json.loads(said("loop", str(path), *words, "--json", *more, "--force"))["worst"]
        of_all = next(each for each in found["worst"] if each["quantity"] == "disk_margin")
        assert one["found"] == pytest.approx(of_all["found"], rel=1e-9)
        assert one["proved"] is None
        assert one["continuous"] == pytest.approx(of_all["continuous"], rel=0.02)
        assert "--of, --proof-time: are of --worst" in said("loop", str(path), "--of", "disk_margin", code=2)
