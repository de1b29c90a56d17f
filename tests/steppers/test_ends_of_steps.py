"""Output times at the ends of fixed steps: the times do not drift, and the states are those of the ends."""

import numpy as np
import pytest

from femb import Model, PointMass, Run, SpringDamper, SpringEnd
from femb.steppers import make_stepper
from femb.steppers.dense import hermite_states
from femb.system.system import System

STEP = 1e-3


def oscillator():
    model = Model("oscillator")
    model.add(PointMass("m", mass=2.0, position=(1.1, 0.0, 0.0)))
    ends = SpringEnd("ground"), SpringEnd("m")
    model.add(SpringDamper("spring", *ends, stiffness=50.0, free_length=1.0))
    return System(model)


@pytest.mark.slow
def test_fixed_steps_are_counted():
    """A sum of thousand rounded lengths would be 1e-14 off."""
    run = Run(duration=1.0, method="generalized-alpha", step=STEP, output_interval=STEP)
    stepper, times = make_stepper(oscillator(), run), run.output_times()
    for wanted in times[1:]:
        last = stepper.step(1.0)
        assert abs(last.end - wanted) <= np.spacing(wanted)
        q, v, work = last(np.array([wanted]))
        np.testing.assert_array_equal(q[0], stepper.q)
        np.testing.assert_array_equal(v[0], stepper.v)
        np.testing.assert_array_equal(work[0], stepper.work)


def test_states_at_ends_and_inside_do_not_depend_on_each_other():
    stepper = make_stepper(oscillator(), Run(duration=1.0, method="generalized-alpha", step=STEP))
    steps = [stepper.step(1.0) for _ in range(3)]
    times = [np.array([step.start + 0.3 * STEP, step.end]) for step in steps]
    together = hermite_states(steps, times)
    for k, (step, at) in enumerate(zip(steps, times, strict=True)):
        for j, time in enumerate(at):
            for part, alone in zip(together, hermite_states([step], [np.array([time])]), strict=True):
                np.testing.assert_array_equal(part[2 * k + j], alone[0])
