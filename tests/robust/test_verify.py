"""Worst parameters in time: poles of signals by a matrix pencil, and the decay of a nonlinear run."""

import json
import re

import numpy as np
import pytest
from checkout import ROOT
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


def controlled(inertia=300.0):
    """The satellite with a pd law on a load, its gains by the inertia of the whole."""
    model = satellite(inertia=inertia, angle=0.0, damping=600.0)
    model.add(femb.Load("torquer", "hub", torque=(0.0, 0.0, 0.0), frame="body"))
    words = {"rate": "bodies.hub", "bandwidth": 0.6, "outputs": ("loads.torquer.torque",)}
    model.add(femb.PDController("attitude", "bodies.hub", **words))
    return model


def test_the_worst_parameters_decay_in_time_as_their_poles_with_gains_of_the_nominal_case():
    by = {"inertia": {"range": "15 %"}}
    found = femb.worst(controlled, by, channels=["loads.torquer.torque.0"], prove=False, points=1)
    assert "gains by the inertia stay those of the nominal case: controllers.attitude" in found.of.table()
    decays = verify(found, controlled, by).decays
    assert len(decays) > 1
    for each in decays:
        assert np.min(np.abs(found.of.loop(each.parameters).poles() - each.pole)) < 1e-9
        assert abs(each.difference) < 0.01
        assert each.run.imag == pytest.approx(each.pole.imag, rel=1e-3)


PAGE = (ROOT / "docs" / "howto" / "robust.md").read_text(encoding="utf-8")
CASE = re.search(r"```toml title=satellite.toml\n(.*?)```", PAGE, re.DOTALL)[1]
SAMPLED = """controllers.attitude={kind="pd", attitude="bodies.hub.attitude", rate="bodies.hub.angular_velocity",
bandwidth=0.15, outputs=["loads.torquer.torque"], period=0.1, delay=0.1}"""


@pytest.mark.parametrize(
    "more",
    [
        pytest.param([], id="continuous", marks=pytest.mark.slow),
        pytest.param(["--set", SAMPLED.replace("\n", " ")], id="sampled"),
    ],
)
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
