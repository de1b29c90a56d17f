"""Worst parameters in time: poles of signals by a matrix pencil, and the decay of a nonlinear run."""

import numpy as np
import pytest
from oracles.uncertain_satellite import satellite

import femb
from femb.robust.verify import poles_of, verify


def test_poles_of_signals_are_those_that_made_them():
    t = 0.1 * np.arange(200)
    poles = np.array([-0.02 + 1.7j, -0.3 + 0.4j])
    signals = np.column_stack([np.exp(poles[0] * t).real + 0.1 * np.exp(poles[1] * t).imag, np.exp(poles[1] * t).real])
    found = poles_of(signals, 0.1)
    for pole in poles:
        assert np.min(np.abs(found - pole)) < 1e-9


def controlled(left=1650.0, damping=60.0):
    """The satellite with a continuous pd law on a load; its panels swing with 3 % damping."""
    model = satellite(left=left, angle=0.0, damping=damping)
    model.add(femb.Load("torquer", "hub", torque=(0.0, 0.0, 0.0), frame="body"))
    words = {"proportional": (46.65, 5.925, 48.075), "derivative": (435.4, 55.3, 448.7)}
    model.add(
        femb.PDController("attitude", "bodies.hub", rate="bodies.hub", outputs=("loads.torquer.torque",), **words)
    )
    return model


def test_the_worst_parameters_decay_in_time_as_their_poles():
    by = {"left": {"range": "20 %"}}
    found = femb.worst(controlled, by, channels=["loads.torquer.torque.0"], prove=False, points=1)
    decays = verify(found, controlled, by).decays
    assert decays
    for each in decays:
        assert abs(each.difference) < 0.01
        assert each.run.imag == pytest.approx(each.pole.imag, rel=1e-3)
