"""Profiles of time: values, integrals in closed form, and breakpoints exactly where they are not smooth."""

import copy
import dataclasses
import itertools
import math
import pickle

import checkout
import numpy as np
import pytest
from models import refuses
from scipy.integrate import quad

from femb import ModelError, load_case
from femb.base.profile import Integrable
from femb.case import CaseError
from femb.profiles import (
    EI,
    PROFILES,
    ZV,
    ZVD,
    ZVDD,
    BangBang,
    Constant,
    Exponential,
    Integral,
    Motion,
    Polynomial,
    Profile,
    Repeat,
    Shaped,
    Sine,
    Slew,
    SmoothStep,
    Spline,
    Step,
    Sum,
    Table,
    Versine,
)

EXAMPLES = {
    "constant": Constant(2.5),
    "polynomial": Polynomial((0.5, -1.0, 2.0, 0.7)),
    "sine": Sine(frequency=0.7, amplitude=1.5, phase=0.4, mean=-0.2),
    "versine": Versine(duration=0.8, start=0.3),
    "step": Step(start=0.2, duration=0.5),
    "smooth_step": SmoothStep(duration=0.8, start=0.3, before=-0.5, after=1.5),
    "exponential": Exponential(time_constant=0.6, start=0.3),
    "table": Table(times=(0.1, 0.4, 0.5, 1.1), values=(1.0, -2.0, 3.0, 0.5)),
    "spline": Spline(times=(0.1, 0.5, 0.8, 1.4), values=(1.0, -0.5, 0.6, 0.2), slopes=(-0.3, 0.4)),
    "bang_bang": BangBang(duration=1.0, start=0.2, coast=0.3),
    "sum": Sum([Sine(0.7), SmoothStep(duration=0.8, start=0.3)], factors=[0.5, -2.0]),
    "repeat": Repeat(BangBang(duration=0.3), period=0.3, count=3, start=0.1),
    "slew": Slew(after=1.5, before=-0.5, max_acceleration=15.0, max_rate=3.0, start=0.2),
    "shaped": Shaped(Step(start=0.1, duration=0.3), times=(0.0, 0.7), amplitudes=(0.8, 0.9)),
    "integral": Integral(Table(times=(0.1, 0.4, 0.5, 1.1), values=(1.0, -2.0, 3.0, 0.5)), initial=0.3),
    "zv": ZV(Slew(1.0, duration=0.7, start=0.1), frequencies=[1.3], damping=0.02),
    "zvd": ZVD(Slew(2.0, duration=0.4, start=0.1), frequencies=[1.7], damping=0.02),
    "zvdd": ZVDD(Sum([Sine(0.7), Slew(3.0, duration=0.5)]), frequencies=[2.3], damping=[0.01]),
    "ei": EI(Slew(4.0, duration=0.4, start=0.13), frequencies=[1.5, 4.0], tolerance=0.1),
}
SMOOTH = [shape for shape, profile in EXAMPLES.items() if isinstance(profile, Motion)]
every_profile = pytest.mark.parametrize("shape", PROFILES)


def integral(profile, end):
    inner = profile.times if isinstance(profile, Spline) else profile.breakpoints
    corners = [0.0, *(t for t in inner if 0.0 < t < end), end]
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
    """A breakpoint costs the steppers a restart, and is declared only where the profile has a kink, a jump or a jump
    of the second derivative, or of the third, which is a kink of what a driver accelerates."""
    profile = EXAMPLES[shape]
    for t in profile.breakpoints:
        h = 1e-4
        left = [profile(t - k * h) for k in (1, 2, 3)]
        right = [profile(t + k * h) for k in (1, 2, 3)]
        second = [(x[0] - 2.0 * x[1] + x[2]) / h**2 for x in (left, right)]
        jump = abs(left[0] - right[0]) > 0.5
        slopes = [(x[1] - x[0]) / h for x in (left, right)]
        kink = abs(slopes[0] + slopes[1]) > 0.1
        third = 0.0
        if isinstance(profile, Motion):
            s = [profile.derivatives(t + k * h)[2] for k in (-2, -1, 1, 2)]
            third = (s[3] - s[2]) / h - (s[1] - s[0]) / h
        assert jump or kink or abs(second[0] - second[1]) > 1.0 or abs(third) > 1.0


JUMPING = {
    "bang_bang": lambda a, b: BangBang(duration=b, start=a, coast=0.3 * b),
    "step": lambda a, b: Step(start=a, duration=b),
    "repeat": lambda a, b: Repeat(BangBang(duration=0.7 * b), period=b, count=3, start=a),
    "shaped": lambda a, b: Shaped(BangBang(duration=b), times=(a, a + b), amplitudes=(0.8, 0.9)),
}


@pytest.mark.parametrize("shape", JUMPING)
def test_jumps_are_at_breakpoints_to_the_last_digit(shape):
    """A step of radau ends at a breakpoint: the value there is that of what follows, and just before that of before."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        start, duration = np.round(rng.uniform((0.0, 0.1), (1.0, 3.0)), 2).tolist()
        profile = JUMPING[shape](start, duration)
        for instant in profile.breakpoints:
            assert profile(instant) == profile(instant + 1e-6), (start, duration)
            assert profile(math.nextafter(instant, -math.inf)) == profile(instant - 1e-6), (start, duration)


def test_what_has_derivatives():
    assert set(PROFILES) - set(SMOOTH) == {"step", "exponential", "table", "bang_bang", "repeat", "shaped"}


@pytest.mark.parametrize("shape", SMOOTH)
def test_derivatives(shape):
    """Complex steps cannot pass branches, so central differences: of the value, and of the first derivative."""
    profile = EXAMPLES[shape]
    h = 1e-6
    for t in (-0.7, 0.11, 0.35, 0.52, 0.777, 1.23, 1.9):
        value, rate, second = profile.derivatives(t)
        assert value == profile(t)
        before, after = profile.derivatives(t - h), profile.derivatives(t + h)
        assert rate == pytest.approx((after[0] - before[0]) / (2.0 * h), abs=1e-8)
        assert second == pytest.approx((after[1] - before[1]) / (2.0 * h), abs=1e-6)


@pytest.mark.parametrize("shape", SMOOTH)
def test_rate_does_not_jump_and_derivatives_are_of_what_follows(shape):
    profile = EXAMPLES[shape]
    for t in profile.breakpoints:
        left = profile.derivatives(np.nextafter(t, -np.inf))
        here, right = profile.derivatives(t), profile.derivatives(t + 1e-9)
        np.testing.assert_allclose(left[:2], here[:2], atol=1e-12)
        np.testing.assert_allclose(here[2], right[2], atol=1e-6)


@pytest.mark.parametrize("shape", [shape for shape, each in EXAMPLES.items() if isinstance(each, Integrable)])
def test_antiderivatives(shape):
    """Against quadrature between the breakpoints, before, within and after them."""
    profile = EXAMPLES[shape]
    for t in (0.11, 0.35, 0.52, 0.777, 1.23, 1.9):
        assert profile.antiderivative(t) - profile.antiderivative(0.0) == pytest.approx(integral(profile, t), abs=1e-13)
    if shape != "spline":  # breakpoints are its ends alone
        before = quad(profile, -0.3, 0.0, epsabs=1e-14)[0]
        assert profile.antiderivative(0.0) - profile.antiderivative(-0.3) == pytest.approx(before, abs=1e-13)


def test_what_can_be_integrated():
    known = {shape for shape, each in EXAMPLES.items() if isinstance(each, Integrable)}
    jumps_or_none = {"step", "exponential", "bang_bang", "repeat", "shaped", "integral"}
    assert set(PROFILES) - known == jumps_or_none
    for shape in known:
        motion = Integral(EXAMPLES[shape], initial=0.7)
        assert motion(0.0) == pytest.approx(0.7)
        assert motion.derivatives(0.6)[1] == EXAMPLES[shape](0.6)


def test_polynomial():
    profile = Polynomial([1.0, 2.0, 3.0, 4.0])
    assert profile.derivatives(2.0) == (1.0 + 4.0 + 12.0 + 32.0, 2.0 + 12.0 + 48.0, 6.0 + 48.0)


def test_smooth_step():
    profile = SmoothStep(duration=2.0, start=1.0, before=3.0, after=5.0)
    assert [profile.derivatives(t) for t in (0.0, 1.0, 3.0, 9.0)] == [(x, 0.0, 0.0) for x in (3.0, 3.0, 5.0, 5.0)]
    assert profile.derivatives(2.0) == pytest.approx((4.0, 15.0 / 8.0, 0.0), abs=1e-15)
    peak = 1.0 + 2.0 * (0.5 - math.sqrt(3.0) / 6.0)
    assert profile.derivatives(peak)[2] == pytest.approx(10.0 / math.sqrt(3.0) * 2.0 / 4.0, rel=1e-14)


def test_spline():
    """It is the spline: through the values, and of a cubic the cubic itself."""
    times = np.array([0.0, 0.3, 0.9, 1.6, 2.0])
    cubic = Polynomial((0.3, -1.0, 0.5, 0.8))
    slopes = cubic.derivatives(0.0)[1], cubic.derivatives(2.0)[1]
    profile = Spline(times, [cubic(t) for t in times], slopes)
    for t in np.linspace(0.0, 1.999, 23):
        np.testing.assert_allclose(profile.derivatives(t), cubic.derivatives(t), atol=1e-13)
    assert profile.derivatives(-1.0) == pytest.approx((cubic(0.0) - slopes[0], slopes[0], 0.0), abs=1e-13)
    assert profile.derivatives(3.0) == pytest.approx((cubic(2.0) + slopes[1], slopes[1], 0.0), abs=1e-13)
    held = Spline([0.0, 1.0], [1.0, 2.0])
    assert [held(t) for t in (-1.0, 0.5, 5.0)] == pytest.approx([1.0, 1.5, 2.0], abs=1e-15)


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
        (lambda: Polynomial([]), "coefficients"),
        (lambda: Polynomial([1.0, math.nan]), "coefficients"),
        (lambda: Polynomial(2.0), "coefficients"),
        (lambda: Exponential(time_constant=-1.0), "time_constant"),
        (lambda: Exponential(time_constant=1.0, start="now"), "start"),
        (lambda: Sine(frequency=0.0), "frequency"),
        (lambda: Slew(1.0), "max_acceleration"),
        (lambda: Slew(1.0, duration=1.0, max_acceleration=1.0), "duration"),
        (lambda: Slew(1.0, duration=1.0, max_rate=1.0), "duration"),
        (lambda: Slew(1.0, max_acceleration=0.0), "max_acceleration"),
        (lambda: Shaped(Constant(), times=[0.0, 1.0], amplitudes=[1.0]), "amplitudes"),
        (lambda: Shaped(Constant(), times=[-1.0], amplitudes=[1.0]), "times"),
        (lambda: ZV(Constant(), frequencies=[0.0]), "frequencies"),
        (lambda: ZV(Constant(), frequencies=[]), "frequencies"),
        (lambda: ZV(3.0, frequencies=[1.0]), "profile"),
        (lambda: ZVD(Constant(), frequencies=[1.0], damping=1.0), "damping"),
        (lambda: ZVD(Constant(), frequencies=[1.0], damping=[0.1, 0.2]), "damping"),
        (lambda: ZVD(Constant(), frequencies=[1.0], damping="none"), "damping"),
        (lambda: ZVDD(Constant(), frequencies=[1.0] * 7), "frequencies"),
        (lambda: EI(Constant(), frequencies=[1.0], tolerance=1.0), "tolerance"),
        (lambda: SmoothStep(duration=-1.0), "duration"),
        (lambda: Integral(Step()), "rate"),
        (lambda: Integral(BangBang(1.0)), "rate"),
        (lambda: Integral(3.0), "rate"),
        (lambda: Spline(times=[0.0], values=[1.0]), "times"),
        (lambda: Spline(times=[0.0, 1.0], values=[1.0, 2.0], slopes=[0.0, math.inf]), "slopes"),
    ],
)
def test_refused(make, field):
    refuses(rf"profile\.{field}", make)


def test_bang_bang_ends_at_rest():
    """Its integral is zero, and the integral of that the angle (d^2 - c^2)/4 of a slew."""
    profile, coast, duration = EXAMPLES["bang_bang"], 0.3, 1.0
    assert integral(profile, 2.0) == pytest.approx(0.0, abs=1e-14)
    corners = [0.0, *profile.breakpoints, 2.0]
    angle = sum(quad(lambda t: (2.0 - t) * profile(t), a, b)[0] for a, b in itertools.pairwise(corners))
    assert angle == pytest.approx((duration**2 - coast**2) / 4.0, rel=1e-12)


def test_a_sum_with_a_jump_is_no_motion():
    assert isinstance(EXAMPLES["sum"], Motion)
    assert not isinstance(Sum([Sine(0.7), Step(0.2)]), Motion)
    assert Sum([Sine(0.7), Step(0.2)])(0.3) == pytest.approx(math.sin(1.4 * math.pi * 0.3) + 1.0)


def test_a_slew_keeps_its_limits_and_reaches_them():
    """A trapezoid of the rate: from rest to rest in |change|/w + w/a, or in 2 sqrt(|change|/a) below the limit."""
    slew = EXAMPLES["slew"]
    assert slew.times == pytest.approx((0.2, 2.0 / 3.0 - 0.2), rel=1e-14)
    assert slew.breakpoints[-1] == pytest.approx(0.2 + 2.0 / 3.0 + 3.0 / 15.0, rel=1e-15)
    assert slew.derivatives(0.5)[1] == pytest.approx(3.0, rel=1e-14)
    assert slew.derivatives(0.3)[2] == pytest.approx(15.0, rel=1e-14)
    fast = Slew(-1.0, max_acceleration=4.0)
    assert fast.times == pytest.approx((0.5, 0.0))
    assert [fast.derivatives(t) for t in (-1.0, 0.5, 2.0)] == [(0.0, 0.0, 0.0), (-0.5, -2.0, 4.0), (-1.0, 0.0, 0.0)]
    assert Slew(3.0, before=3.0, duration=1.0).derivatives(0.5) == (3.0, 0.0, 0.0)
    timed = Slew(1.0, duration=2.0, max_rate=0.6)
    assert timed.times == pytest.approx((1.0 / 3.0, 4.0 / 3.0))
    assert timed.derivatives(1.0)[:2] == pytest.approx((0.5, 0.6))


def test_a_bang_bang_profile_is_the_acceleration_of_a_slew():
    slew = Slew(1.5, before=-0.5, max_acceleration=15.0, max_rate=3.0, start=0.2)
    ramp, coast = slew.times
    force = BangBang(duration=2.0 * ramp + coast, coast=coast, start=0.2)
    for t in (0.1, 0.25, 0.39, 0.41, 0.6, 0.9, 1.05, 1.2):
        assert slew.derivatives(t)[2] == pytest.approx(15.0 * force(t), rel=1e-13)


@pytest.mark.parametrize("damping", [0.0, 0.005, 0.2])
@pytest.mark.parametrize("shape", ["zv", "zvd", "zvdd"])
def test_what_is_shaped_leaves_no_vibration(shape, damping):
    """Convolution with the response to an impulse, after the end of a shaped rectangle: zero, in two modes."""
    modes, step = (0.9, 2.2), Step(start=0.1, duration=0.37)
    shaped = PROFILES[shape](step, frequencies=modes, damping=damping)
    end = shaped.breakpoints[-1]
    assert sum(each.factor for each in shaped.copies) == pytest.approx(1.0, rel=1e-15)
    for frequency in modes:
        omega = 2.0 * np.pi * frequency
        pole = -damping * omega + 1j * omega * np.sqrt(1.0 - damping**2)

        def left(profile, pole=pole):
            corners = [0.0, *profile.breakpoints, end]
            return abs(sum(profile(a) * (np.exp(pole * (end - b)) - np.exp(pole * (end - a)))
                           for a, b in itertools.pairwise(corners)))  # fmt: skip

        # without the decay, that of the shaped rectangle is of the size of rounding
        assert left(shaped) < 1e-13 * max(1.0, abs(np.exp(-pole * end)) * left(step)) < 0.01 * left(step)


def test_a_shaped_motion_has_exact_derivatives_on_both_sides_of_every_copy():
    """Of jumps of the second derivative at instants that are sums of rounded numbers."""
    shaped = ZVDD(Slew(1.0, duration=0.7, start=0.1), frequencies=[1.3, 0.77], damping=0.02)
    for each in shaped.copies:
        inner = each.profile
        for own, t in zip(inner.breakpoints, each.breakpoints, strict=True):
            assert inner.derivatives(each.local(t)) == pytest.approx(inner.derivatives(own), rel=1e-15, abs=1e-15)
            before = np.nextafter(t, -np.inf)
            assert inner.derivatives(each.local(before))[2] == inner.derivatives(np.nextafter(own, -np.inf))[2]


def test_a_profile_of_copies_is_pickled_and_copied():
    shaped = EXAMPLES["zvd"]
    for twin in (pickle.loads(pickle.dumps(shaped)), copy.deepcopy(shaped), dataclasses.replace(shaped)):
        assert twin == shaped
        assert twin.derivatives(0.5) == shaped.derivatives(0.5)


def test_repetitions_are_the_profile_moved():
    profile, inner = EXAMPLES["repeat"], BangBang(duration=0.3)
    for k in range(3):
        for t in (0.01, 0.1, 0.2, 0.29):
            assert profile(0.1 + k * 0.3 + t) == inner(t)
    assert profile(0.05) == profile(1.05) == 0.0


@pytest.mark.parametrize("text", ["time, thrust\n0, 1\n0.5, 3 # N\n", "0;1\n0.5;3", "# s N\n0 1\n\n0.5 3\n"])
def test_tables_of_files(tmp_path, text):
    file = tmp_path / "thrust.csv"
    file.write_text(text)
    assert Table(file=str(file)) == Table((0.0, 0.5), (1.0, 3.0), file=str(file))
    assert Table(file=str(file))(0.25) == 2.0


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("time,a\n0,1\n", "b", "has no column 'b'; its columns are 'time', 'a'"),
        ("0,1\n", 3, "got column = 3, but it has 2 columns"),
        ("0,1\n1,x\n", 2, ":2: column 2: got 'x', wanted a number"),
        ("0,1\n1\n", 2, ":2: column 2: got nothing"),
        ("1,1\n0,1\n", 2, "must rise from each to the next"),
        ("", 2, "has no numbers"),
    ],
)
def test_files_that_are_no_tables(tmp_path, text, column, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ModelError) as refused:
        Table(file=str(tmp_path / "a.csv"), column=column)
    assert message in str(refused.value)


def test_a_table_needs_values():
    refuses("give times and values, or a file", Table)


def test_pages_list_every_profile():
    """The how-to every shape, the reference its keys."""
    page, reference = (
        (checkout.ROOT / "docs" / name).read_text()
        for name in ("howto/profiles.md", "reference/case/functions_of_time.md")
    )
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for shape, kind in PROFILES.items():
        assert any(f"`{shape}`" in row for row in rows), shape
        section = reference.split(f"## shape: {shape}\n")[1].split("\n## ")[0]
        for field in dataclasses.fields(kind):
            assert f"`{field.name}`" in section, (shape, field.name)


def test_profiles_in_case_files(tmp_path):
    (tmp_path / "thrust.csv").write_text("t, main\n0, 1\n1, 2\n")
    case = tmp_path / "case.toml"
    case.write_text(
        """
        [bodies.hub]
        mass = 1.0
        inertia = 1.0
        [loads.push]
        body = "hub"
        force = [1, 0, 0]
        [loads.push.profile]
        shape = "sum"
        [[loads.push.profile.terms]]
        shape = "sine"
        frequency = 2.0
        [[loads.push.profile.terms]]
        shape = "repeat"
        count = 2
        period = 1.0
        profile = { shape = "table", file = "thrust.csv", column = "main" }
        """
    )
    profile = load_case(case).model.loads["push"].profile
    assert profile(0.25) == pytest.approx(1.0 * math.sin(math.pi) + 1.25)
    case.write_text(case.read_text().replace("count = 2", "count = 0").replace("frequency = 2.0", "frequency = 'x'"))
    with pytest.raises(CaseError) as refused:
        load_case(case)
    assert "loads.push.profile.terms.0.frequency" in str(refused.value)
