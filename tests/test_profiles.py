"""Profiles of time: values, integrals in closed form, and breakpoints exactly where they are not smooth."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

from femb import ModelError
from femb.profiles import PROFILES, Constant, Exponential, Polynomial, Profile, SmoothStep, Step, Table, Versine

EXAMPLES = {
    "constant": Constant(2.5),
    "versine": Versine(duration=0.8, start=0.3),
    "step": Step(start=0.2, duration=0.5),
    "smooth_step": SmoothStep(duration=0.8, start=0.3),
    "exponential": Exponential(time_constant=0.6, start=0.3),
    "polynomial": Polynomial(coefficients=(1.0, -2.0, 0.0, 1.5), start=0.3),
    "table": Table(times=(0.1, 0.4, 0.5, 1.1), values=(1.0, -2.0, 3.0, 0.5)),
}
every_profile = pytest.mark.parametrize("shape", PROFILES)


def integral(profile, end):
    corners = [0.0, *(t for t in profile.breakpoints if 0.0 < t < end), end]
    return sum(quad(profile, a, b, epsabs=1e-14)[0] for a, b in itertools.pairwise(corners))


@every_profile
def test_contract(shape):
    """Finite everywhere, breakpoints finite and in order; every profile of the catalogue is tried."""
    profile = EXAMPLES[shape]
    assert isinstance(profile, PROFILES[shape])
    annotations = Profile.__call__.__annotations__
    assert annotations["return"] is float
    assert list(profile.breakpoints) == sorted(profile.breakpoints)
    assert all(math.isfinite(t) for t in profile.breakpoints)
    for t in (-5.0, 0.0, *profile.breakpoints, 1.0, 1e6):
        assert isinstance(profile(t), float)
        assert math.isfinite(profile(t))


@every_profile
def test_smooth_between_breakpoints(shape):
    """Between two neighbouring breakpoints the second difference falls with the square of its step."""
    profile = EXAMPLES[shape]
    corners = [-0.5, *profile.breakpoints, 2.0]
    for a, b in itertools.pairwise(corners):
        for t in np.linspace(a, b, 9)[1:-1]:
            h = 1e-4 * (b - a)
            assert abs(profile(t - h) - 2.0 * profile(t) + profile(t + h)) < 100.0 * h * h + 1e-14


@every_profile
def test_not_smooth_at_breakpoints(shape):
    """A breakpoint costs the steppers a restart, and is declared only where the profile or one of its first three
    derivatives jumps."""
    profile = EXAMPLES[shape]
    for t in profile.breakpoints:
        h = 1e-4
        left = [profile(t - k * h) for k in (1, 2, 3, 4)]
        right = [profile(t + k * h) for k in (1, 2, 3, 4)]
        second = [(x[0] - 2.0 * x[1] + x[2]) / h**2 for x in (left, right)]
        jump = abs(left[0] - right[0]) > 0.5
        slopes = [(x[1] - x[0]) / h for x in (left, right)]
        kink = abs(slopes[0] + slopes[1]) > 0.1
        third = [(3.0 * (x[1] - x[2]) + x[3] - x[0]) / h**3 for x in (left, right)]
        assert jump or kink or abs(second[0] - second[1]) > 1.0 or abs(third[0] + third[1]) > 1.0


def test_versine():
    profile = Versine(duration=2.0, start=1.0)
    assert profile.breakpoints == (1.0, 3.0)
    assert [profile(t) for t in (0.0, 0.999, 1.0, 3.0, 3.001)] == [0.0] * 5
    assert profile(2.0) == 1.0
    assert profile(1.5) == pytest.approx(0.5, abs=1e-15)
    assert profile(1.0 + 2.0 / 3.0) == pytest.approx(0.75, abs=1e-15)
    assert integral(profile, 4.0) == pytest.approx(1.0, abs=1e-13)  # half its duration


def test_step():
    forever = Step(start=0.5)
    assert forever.breakpoints == (0.5,)
    assert [forever(t) for t in (0.0, np.nextafter(0.5, 0.0), 0.5, 1e9)] == [0.0, 0.0, 1.0, 1.0]
    pulse = Step(start=0.5, duration=0.25)
    assert pulse.breakpoints == (0.5, 0.75)
    assert [pulse(t) for t in (0.5, np.nextafter(0.75, 0.0), 0.75)] == [1.0, 1.0, 0.0]
    assert integral(pulse, 1.0) == pytest.approx(0.25, abs=1e-14)


def test_smooth_step():
    profile = SmoothStep(duration=2.0, start=1.0)
    assert profile.breakpoints == (1.0, 3.0)
    assert [profile(t) for t in (0.0, 1.0, 2.0, 3.0, 9.0)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert integral(profile, 4.0) == pytest.approx(2.0, abs=1e-13)
    x = np.linspace(1.0, 3.0, 101)
    assert np.all(np.diff([profile(t) for t in x]) > 0.0)


def test_exponential():
    profile = Exponential(time_constant=2.0, start=1.0)
    assert profile.breakpoints == (1.0,)
    assert [profile(t) for t in (-1e9, 0.0, 1.0)] == [0.0, 0.0, 0.0]
    assert profile(3.0) == pytest.approx(1.0 - 1.0 / math.e, rel=1e-15)
    # close to its start too, where one less an exponential would lose digits
    assert profile(1.0 + 2.0**-30) == pytest.approx(2.0**-31 * (1.0 - 2.0**-32), rel=1e-14)
    assert profile(1e9) == 1.0
    assert integral(profile, 5.0) == pytest.approx(4.0 - 2.0 * (1.0 - math.exp(-2.0)), abs=1e-13)


def test_polynomial():
    profile = Polynomial(coefficients=[1.0, -2.0, 3.0], start=0.5)
    assert profile.breakpoints == ()
    assert [profile(t) for t in (0.5, 1.5, -0.5)] == [1.0, 2.0, 6.0]
    assert Polynomial((4.0,))(17.0) == 4.0


def test_table():
    profile = EXAMPLES["table"]
    assert profile.breakpoints == (0.1, 0.4, 0.5, 1.1)
    times = np.array([-1.0, 0.1, 0.2, 0.4, 0.45, 0.5, 0.8, 1.1, 7.0])
    wanted = np.interp(times, profile.times, profile.values)
    np.testing.assert_allclose([profile(t) for t in times], wanted, rtol=0.0, atol=1e-15)
    assert Table(times=[1.0], values=[4.0])(0.0) == 4.0


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Versine(duration=0.0), "duration"),
        (lambda: Versine(duration=-1.0), "duration"),
        (lambda: Versine(duration=math.nan), "duration"),
        (lambda: Step(start=math.inf), "start"),
        (lambda: Step(duration=0.0), "duration"),
        (lambda: Table(times=[0.0, 1.0], values=[1.0]), "values"),
        (lambda: Table(times=[0.0, 0.0], values=[1.0, 2.0]), "times"),
        (lambda: Table(times=[], values=[]), "times"),
        (lambda: Table(times=[0.0, math.inf], values=[1.0, 2.0]), "times"),
        (lambda: Table(times="ab", values=[1.0, 2.0]), "times"),
        (lambda: Constant("one"), "value"),
        (lambda: SmoothStep(duration=0.0), "duration"),
        (lambda: Exponential(time_constant=-1.0), "time_constant"),
        (lambda: Exponential(time_constant=1.0, start="now"), "start"),
        (lambda: Polynomial(coefficients=()), "coefficients"),
        (lambda: Polynomial(coefficients=(1.0, math.nan)), "coefficients"),
        (lambda: Polynomial(coefficients=2.0), "coefficients"),
    ],
)
def test_refused(make, field):
    with pytest.raises(ModelError, match=rf"profile\.{field}"):
        make()
