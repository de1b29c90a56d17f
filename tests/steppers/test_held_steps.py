"""Steps with held inputs and the samples between them in one call, beside the same one by one."""

import numpy as np
import pytest
from oracles.controlled_satellite import BANDWIDTH, LOCKED, PERIOD, WHEELS, satellite

import femb
from femb.elements.control.sensor import SampledSensor
from femb.numerics.compiler.bound_calls import AVAILABLE
from femb.run import time_loop
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


def measured_satellite():
    """The same with sensors that have kernels, a notch filter with a delay, and a law of what they give."""
    model, turned = satellite(quaternion=(0.98, 0.14, 0.1, 0.1)), (0.8, 0.0, 0.6, 0.0)
    noisy = {"noise": 1e-4, "roll_noise": 1e-3, "boresight": (1.0, 2.0, 2.0), "delay": 0.13, "bias": (1e-3, 0.0, 2e-3)}
    model.add(femb.StarTracker("tracker", body="hub", period=PERIOD, axes=turned, **noisy))
    model.add(femb.AttitudeSensor("coarse", body="hub", period=0.2, phase=0.05, quantum=1e-3, range=0.1, noise=0.01))
    model.add(femb.AttitudeSensor("exact", body="hub", period=PERIOD))
    walking = {"angle_random_walk": 1e-5, "rate_random_walk": 1e-6, "correlation_time": 3.0, "bias": 1e-4}
    model.add(femb.Gyro("mean", body="hub", period=PERIOD, integrating=True, axes=turned, scale=1.01, **walking))
    model.add(femb.Gyro("rate", body="hub", period=PERIOD, quantum=1e-5, range=0.02, rounding="floor"))
    model.add(femb.WheelSpeedSensor("wheel", wheel="w1", period=0.07, noise=0.1, delay=0.3, quantum=0.01))
    model.add(femb.FilterController("notch", "sensors.rate", "notch", period=PERIOD, delay=0.05, frequency=4.0))
    words = {"attitude": "sensors.exact", "rate": "controllers.notch", "wheels": WHEELS, "period": PERIOD}
    gains = {"proportional": LOCKED * BANDWIDTH**2, "derivative": 1.4 * BANDWIDTH * LOCKED}
    model.add(femb.PDController("pd", delay=PERIOD, **words, **gains))
    return model


CASES = [(PERIOD, 1e-6), (0.0, 1e-4), (0.17, 1e-9)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "rtol"),
    [*((lambda delay=delay: held_satellite(delay), rtol) for delay, rtol in CASES), (measured_satellite, 1e-6)],
)
def test_in_one_call_as_one_by_one_to_the_last_bit(made, rtol, monkeypatch):
    options = {"duration": 8.0, "output_interval": 0.25, "rtol": rtol, "method": "radau"}
    steps, step, samples, sample = [], Radau.step, [], SampledSensor.sample

    def counted(self, limit):
        steps.append(limit)
        return step(self, limit)

    def sampled(self, *args):
        samples.append(self.item.name)
        return sample(self, *args)

    monkeypatch.setattr(Radau, "step", counted)
    monkeypatch.setattr(SampledSensor, "sample", sampled)
    one = femb.simulate(made(), **options)
    alone, in_python = len(steps), len(samples)
    monkeypatch.setattr(time_loop, "AVAILABLE", False)
    other = femb.simulate(made(), **options)
    count = other.statistics["steps"]
    assert len(steps) - alone >= count
    assert alone < 0.2 * count
    assert in_python <= 0.2 * (len(samples) - in_python)
    assert one.arrays.keys() == other.arrays.keys()
    assert {"controllers/pid/sample_output", "controllers/pd/sample_output"} & one.arrays.keys()
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
