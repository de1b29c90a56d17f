"""The quaternion form at full speed: steps and failures of Newton's iteration beside those of the velocity form, and
the thesis's own combination, Runge-Kutta steps of the augmented form."""

from dataclasses import replace

import numpy as np
import pytest
from checkout import CASES
from long_runs import slow_but

from femb import Run, Tolerances, load_case, simulate
from femb.base.options import SHORTEST_TIME
from femb.formulations.quaternion import QuaternionForm
from femb.steppers.bdf import Bdf
from femb.steppers.radau import Radau
from femb.system.system import System

# How long the cases run with implicit and with explicit steps, s.
STRETCHES = {"satellite_forced": (10.0, 0.004), "rigid_body_free": (1.0, 1.0), "slider_crank_rigid": (0.1, 0.02)}
FORMULATIONS = ("velocity", "quaternion")


def run(name, method, formulation, duration, **options):
    case = load_case(CASES / f"{name}.toml")
    interval = duration / 10.0
    options = {
        "method": method, "formulation": formulation, "duration": duration, "output_interval": interval,
        # of the whole case, not of so short a run
        "atol": replace(case.run.atol, time=SHORTEST_TIME), **options,
    }  # fmt: skip
    return simulate(case.model, replace(case.run, **options))


@pytest.fixture
def failures(monkeypatch):
    """A list with an entry for each time that Newton's iteration did not converge: whether its matrices were fresh, so
    that the step has to be shorter."""
    found = []
    radau, bdf = Radau._newton, Bdf._newton

    def counted_radau(self, h, end):
        fresh = self._fresh
        result = radau(self, h, end)
        if result is None:
            found.append(fresh)
        return result

    def counted_bdf(self, h, end, full):
        result = bdf(self, h, end, full)
        if result is None:
            found.append(full)
        return result

    monkeypatch.setattr(Radau, "_newton", counted_radau)
    monkeypatch.setattr(Bdf, "_newton", counted_bdf)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", STRETCHES)
@pytest.mark.parametrize("method", ["radau", "bdf", "rk"])
def test_steps_and_failures_are_those_of_the_velocity_form(name, method, failures):
    """Counts, not times: python tests/bench/bench_formulations.py quaternion has those."""
    duration = STRETCHES[name][method == "rk"]
    counts, failed = [], []
    for formulation in FORMULATIONS:
        failures.clear()
        counts.append(run(name, method, formulation, duration).statistics)
        failed.append((sum(failures), len(failures)))
    velocity, quaternion = counts
    for count in ("steps", "evaluations", "newton_iterations"):
        assert quaternion[count] <= 1.25 * velocity[count] + 5, (count, counts)
    # matrices are kept as long, since they turn along with the frames
    assert quaternion["factorizations"] <= 1.25 * velocity["factorizations"] + 5
    assert failed[1][0] <= failed[0][0], failed
    # and where matrices kept too long are renewed is a matter of chance, in one step of a hundred
    assert failed[1][1] <= failed[0][1] + 0.01 * velocity["steps"], failed


def test_error_control_does_not_see_the_multipliers():
    """Radau's estimate takes forces at the start with the multipliers there: those of quaternions change nothing in it,
    and no group of the norm is one of theirs."""
    form = QuaternionForm(System(load_case(CASES / "satellite_forced.toml").model))
    stepper = Radau(form, Run(duration=1.0))
    for _ in range(3):
        stepper.step(1.0)
    for start, size, *_ in (stepper.scale_q, stepper.scale_v):
        components = np.concatenate([np.arange(k, k + n) for k, n in zip(start, size, strict=True)])
        np.testing.assert_array_equal(np.sort(components), np.arange(form.n_q))

    # an accepted trial has prepared the prediction of the next step already, and a second one would begin elsewhere
    trend = [part.copy() for part in stepper._trend]

    def estimate():
        for part, before in zip(stepper._trend, trend, strict=True):
            part[:] = before
        norm = stepper._newton(stepper.h, stepper.t + stepper.h)
        return norm, stepper._error_v[0, : form.n_v].copy()

    one = estimate()
    stepper.multipliers[: form.n_p] += 10.0
    two = estimate()
    assert one[0] > 0.0
    np.testing.assert_allclose(two[1], one[1], atol=1e-9 * np.abs(one[1]).max())
    assert two[0] == pytest.approx(one[0], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_but(["satellite_forced"], ["satellite_free", "satellite_forced"]))
def test_runge_kutta_of_fixed_steps_is_the_same_in_both_forms(name):
    """The same formula for q' and for v: they differ by its error in the booms' fastest waves, which it damps."""
    options = {"tableau": "rk4", "step": 5.5e-5}
    one, two = (run(name, "rk", formulation, 0.02, **options) for formulation in FORMULATIONS)
    assert np.abs(one.bodies["hub"].quaternion - two.bodies["hub"].quaternion).max() < 1e-12
    for beam in ("left", "right"):
        assert np.abs(one.beams[beam].position - two.beams[beam].position).max() < 1e-11
        assert np.abs(one.beams[beam].velocity - two.beams[beam].velocity).max() < 1e-6
    assert np.abs(two.audit.quaternion_norm).max() < 1e-14


@pytest.mark.slow
@pytest.mark.parametrize(("name", "duration"), [("satellite_free", 1.0), ("satellite_forced", 1.5)])
def test_the_thesis_combination_for_seconds(name, duration):
    """Runge-Kutta steps of order 4 of the augmented form, whose multipliers keep the quaternions' lengths, against the
    velocity form by radau: apart by the vibrations of the booms, which radau damps, and which begin with a strain of
    some 1e-8. The forced satellite is free from its first second on."""
    results = run(name, "rk", "quaternion", duration, tableau="rk4", step=5.5e-5)
    # smaller absolute tolerances would follow the waves along the booms, in millions of steps
    wanted = run(name, "radau", "velocity", duration, rtol=1e-10, atol=Tolerances(1e-7, 1e-7, 1e-7))
    assert np.abs(results.bodies["hub"].quaternion - wanted.bodies["hub"].quaternion).max() < 1e-7
    for beam in ("left", "right"):
        assert np.abs(results.beams[beam].position - wanted.beams[beam].position).max() < 1e-6
    assert np.abs(results.audit.quaternion_norm).max() < 1e-14
    assert np.abs(results.audit.energy_error).max() < 1e-6 * np.abs(results.audit.kinetic_energy).max()
