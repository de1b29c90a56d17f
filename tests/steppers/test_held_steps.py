"""Steps with held inputs and the samples between them in one call, beside the same one by one."""

import numpy as np
import pytest
from oracles.controlled_satellite import BANDWIDTH, LOCKED, PERIOD, WHEELS, satellite

import femb
from femb.numerics.compiler.bound_calls import AVAILABLE
from femb.steppers.radau import Radau

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="kernels have no entries in this version of numba")


def held_satellite(delay=PERIOD, **limits):
    """Two hinged panels and four wheels, with a law of two rates that is faster than its wheels admit at first."""
    model = satellite(quaternion=(0.98, 0.14, 0.1, 0.1))
    words = {"attitude": "bodies.hub", "rate": "bodies.hub", "wheels": WHEELS, "period": PERIOD, "delay": delay}
    gains = {"proportional": LOCKED * BANDWIDTH**2, "derivative": 1.4 * BANDWIDTH * LOCKED}
    model.add(femb.PIDController("pid", integral=0.1 * BANDWIDTH**3 * LOCKED, **words, **gains))
    slow = {"A": [[0.9]], "B": [[0.1, 0.2]], "C": [[1.0]], "inputs": ("wheels.w1.speed", "joints.left.angle")}
    model.add(femb.LinearController("slow", period=0.03, phase=0.01, **slow))
    return model


@pytest.mark.parametrize(("delay", "rtol"), [(PERIOD, 1e-6), (0.0, 1e-4), (0.17, 1e-9)])
def test_in_one_call_as_one_by_one_to_the_last_bit(delay, rtol, monkeypatch):
    options = {"duration": 8.0, "output_interval": 0.25, "rtol": rtol, "method": "radau"}
    steps, step = [], Radau.step

    def counted(self, limit):
        steps.append(limit)
        return step(self, limit)

    monkeypatch.setattr(Radau, "step", counted)
    one = femb.simulate(held_satellite(delay), **options)
    alone = len(steps)
    monkeypatch.setattr(Radau, "held_steps", lambda *_: None)
    other = femb.simulate(held_satellite(delay), **options)
    count = other.statistics["steps"]
    assert len(steps) - alone >= count
    assert alone < 0.2 * count
    assert one.arrays.keys() == other.arrays.keys()
    assert "controllers/pid/sample_output" in one.arrays
    for path, values in one.arrays.items():
        np.testing.assert_array_equal(values, other.arrays[path], err_msg=path)
    for word in ("steps", "rejected", "evaluations", "newton_iterations", "factorizations"):
        assert one.statistics[word] == other.statistics[word]


def test_a_sample_that_is_not_finite_is_told_by_name():
    model = held_satellite()
    model.add(
        femb.LinearController("wild", A=[[1e40]], B=[[1e40]], C=[[1.0]], inputs=("bodies.hub.turn.x",), period=0.2)
    )
    with pytest.raises(femb.SolveError, match=r"controllers\.wild: sample \d+, t = .*not finite"):
        femb.simulate(model, duration=20.0, output_interval=1.0, rtol=1e-6, method="radau")


def test_after_the_most_steps_the_run_is_given_up():
    with pytest.raises(femb.SolveError, match="max_steps = 50"):
        femb.simulate(held_satellite(), duration=20.0, output_interval=1.0, method="radau", max_steps=50)
