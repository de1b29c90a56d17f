"""Continuous laws in place of sampled ones: exponentials, and a rigid axis in closed form."""

from dataclasses import replace

import numpy as np
import pytest
from models import refuses

import femb
from femb.elements.control.linear_law import Realisation, notch
from femb.robust.bounds import recentred
from femb.robust.hold import delay_of, held_laws, hold, inverse_tustin

PERIOD, CHANNEL = 0.2, "loads.torquer.torque.0"
STIFFNESS, DAMPING = 40.0, 120.0


@pytest.mark.parametrize(("omega", "within"), [(0.5, 1e-12), (2.0, 1e-8), (0.5 * np.pi / PERIOD, 2e-5)])
def test_holds_and_delays_are_those_of_exponentials(omega, within):
    s = 1j * omega
    assert hold(PERIOD).transfer(s).item() == pytest.approx((1.0 - np.exp(-s * PERIOD)) / (s * PERIOD), abs=within)
    for delay in (0.0, 0.3 * PERIOD, PERIOD, 2.5 * PERIOD):
        assert delay_of(delay, PERIOD).transfer(s).item() == pytest.approx(np.exp(-s * delay), abs=within)


def test_a_law_that_was_sampled_by_tustins_rule_is_found_again():
    law = notch(2.0, 0.6, 0.2)
    found = inverse_tustin(law.tustin(PERIOD), PERIOD)
    for omega in (0.1, 2.0, 9.0):
        assert found.transfer(1j * omega) == pytest.approx(law.transfer(1j * omega), rel=1e-12)
    refuses("changes its sign", inverse_tustin, Realisation(*(np.array([[x]]) for x in (-1.0, 1.0, 1.0, 0.0))), PERIOD)


def hub(inertia=100.0, delay=PERIOD, period=PERIOD):
    model = femb.Model()
    model.add(femb.RigidBody("hub", 500.0, (inertia, 150.0, 160.0)))
    model.add(femb.Load("torquer", "hub", torque=(0.0, 0.0, 0.0), frame="body"))
    gains = {"proportional": (STIFFNESS,) * 3, "derivative": (DAMPING,) * 3, "period": period, "delay": delay}
    model.add(femb.PDController("law", "bodies.hub", rate="bodies.hub", outputs=("loads.torquer.torque",), **gains))
    return model


def test_the_proof_of_a_rigid_axis_is_that_of_hold_and_delay_in_closed_form():
    """L = (k + d s)/(J s^2) e^(-s (delay + T/2)) sin(w T/2)/(w T/2), over all J; beside it the sampled loop itself."""
    pytest.importorskip("clarabel")
    case = femb.worst(hub, {"inertia": {"range": "20 %"}}, channels=[CHANNEL], points=1)
    omega = np.geomspace(0.05, 7.0, 6001)
    s = 1j * omega
    law = (STIFFNESS + DAMPING * s) * np.exp(-1.5 * s * PERIOD) * np.sinc(0.5 * omega * PERIOD / np.pi)
    S = [1.0 / (1.0 + law / (J * s * s)) for J in np.linspace(80.0, 120.0, 81)]
    for quantity, wanted in (
        ("disk_margin", 1.0 / np.max(np.abs(np.array(S) - 0.5))),
        ("sensitivity_peak", np.max(np.abs(S))),
    ):
        found = case[quantity, CHANNEL]
        assert found.proved is None  # what is bounded is another loop, whose worst value may lie on either side
        beyond = wanted / found.continuous if quantity == "disk_margin" else found.continuous / wanted
        assert 1.0 <= beyond < 1.015
        assert found.found == pytest.approx(wanted, rel=2.0 * case.held + 1e-6)
    assert 1e-5 < case.held < 0.05
    assert case.why == ""
    assert case.boxes == 1 < case.frequencies
    table = case.table()
    assert f"continuous: for all frequencies, in 1 part of the ranges, by the scalings of {case.frequencies} " in table
    assert "not proved of the samples, but of continuous laws" in table
    assert "proved  " not in table
    _, rows = table.split(f"{CHANNEL}: opened here, with the others closed\n")
    peak = case["sensitivity_peak", CHANNEL]
    wanted = [f"{value:.6g}" for value in (peak.nominal, peak.found, peak.continuous, peak.omega)]
    assert rows.splitlines()[2].split() == ["sensitivity", "peak", *wanted, "inertia", "=", "80"]
    assert f"largest growth of a pole that was found: {case.growth:.6g} 1/s" in table
    with pytest.raises(femb.ModelError):
        case["stability_radius", ""]


def on_wheels(inertia=100.0):
    model = hub(inertia)
    law = model.tables["controllers"].pop("law")
    for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1))):
        model.add(femb.ReactionWheel(name, body="hub", axis=axis, spin_inertia=0.1))
    model.add(replace(law, outputs=(), wheels=("x", "y", "z")))
    return model


@pytest.mark.slow
def test_the_momentum_of_a_satellite_with_wheels_is_no_pole_of_what_is_proved():
    """S is that of loops at each inertia, by another path; the proof was refused as of an unstable loop."""
    form = femb.uncertain(on_wheels, {"inertia": {"range": "20 %"}}, points=1)
    held = replace(form, laws=held_laws(form.laws, form.plant.inputs))
    channel, omega = form.channels[0], np.array([0.5, 1.0, 3.0])
    closed = held.closed(channel)
    assert np.max(np.linalg.eigvals(closed.A).real) < -0.1
    for d in (-1.0, 0.3, 1.0):
        at = recentred(closed, form.sizes, np.array([d]), np.zeros(1))
        found = [at.transfer(1j * w)[-1, -1] for w in omega]
        wanted = 1.0 / (1.0 + held.loop(np.array([d])).opened(channel)(omega))
        assert found == pytest.approx(wanted, rel=1e-8)
    pytest.importorskip("clarabel")
    case = femb.worst(form, channels=[channel])
    disk = case["disk_margin", channel]
    assert 0.95 * disk.found < disk.continuous < disk.found * (1.0 + 2.0 * case.held)


def test_sensors_and_filters_are_read_after_their_delays():
    """A sampled sensor that a law reads three quarters of a period later delays by this and no more."""
    law = femb.loop(hub()).laws[0]
    read = [f"sensors.gyro.{k}" for k in range(len(law.inputs))]
    none = [np.zeros((0, 0)), np.zeros((0, len(read))), np.zeros((len(read), 0)), np.eye(len(read))]
    sensor = femb.LinearLaw("gyro", *none, inputs=law.inputs, outputs=read, period=PERIOD, delay=0.1)
    later = replace(law, inputs=tuple(read), phase=0.75 * PERIOD)
    continuous = held_laws([sensor, later], law.outputs)
    s = 3.0j
    of = Realisation(*(getattr(continuous[0], word) for word in "ABCD")).transfer(s)
    assert of == pytest.approx(np.exp(-0.75 * s * PERIOD) * np.eye(len(read)), abs=1e-8)
    # what is not there yet is read at the next sample; at the instant of a sample it is there
    for delay, phase, periods in ((0.8, 0.75, 1.75), (0.75, 0.75, 0.75), (0.0, 1.0 - 1e-12, 0.0), (0.1, 0.0, 1.0)):
        pair = [replace(sensor, delay=delay * PERIOD), replace(later, phase=phase * PERIOD)]
        late = held_laws(pair, law.outputs)[0]
        of = Realisation(*(getattr(late, word) for word in "ABCD")).transfer(s)
        assert of == pytest.approx(np.exp(-periods * s * PERIOD) * np.eye(len(read)), abs=1e-6)
    # a law without samples reads what is held, as the plant does, whatever the phase
    after = replace(sensor, phase=0.5 * PERIOD)
    read_by = replace(later, period=None, phase=0.0, delay=0.0)
    of = Realisation(*(getattr(held_laws([after, read_by], law.outputs)[0], word) for word in "ABCD")).transfer(s)
    held = (1.0 - np.exp(-s * PERIOD)) / (s * PERIOD) * np.exp(-0.1 * s)
    assert of == pytest.approx(held * np.eye(len(read)), abs=1e-6)
    refuses("several periods", held_laws, [sensor, replace(later, period=0.3)], law.outputs)
