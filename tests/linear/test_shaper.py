"""Input shapers: the table of docs/theory/shapers.md, shapers of a model's modes, and vibrations in simulations."""

import numpy as np
import pytest
from checkout import CASES
from models import thin_panel

import femb
from femb import JointEnd, ModelError, Prismatic
from femb.base.shaper import impulses, residual
from femb.linear import linearize
from femb.profiles import ZVD, BangBang, Repeat, Shaped, Sine, Slew

RATIO = 0.005
KINDS = ("zv", "zvd", "zvdd", "ei")
TABLE = {
    "zv": (0.0, 0.1551, 0.3071, 0.064),
    "zvd": (0.0, 0.02405, 0.09430, 0.287),
    "zvdd": (0.0, 0.00373, 0.02896, 0.480),
    "ei": (0.04928, 0.02413, 0.04976, 0.400),
}


@pytest.mark.parametrize("kind", KINDS)
def test_table_of_residuals(kind):
    shaper = femb.shaper(kind, frequencies=0.25, damping=RATIO)
    left = shaper.residual(0.25 * np.array([1.0, 1.1, 0.8]), RATIO)
    digits = [1e-15 if wanted == 0.0 else 5.1e-6 if wanted < 0.1 else 5.1e-5 for wanted in TABLE[kind]]
    np.testing.assert_array_less(np.abs(left - TABLE[kind][:3]), digits[:3])
    first, last = femb.shaper(kind, frequencies=0.25).band()
    assert (last - first) / 0.25 == pytest.approx(TABLE[kind][3], abs=6e-4)
    assert shaper.amplitudes.sum() == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize(("kind", "power"), [("zv", 1), ("zvd", 2), ("zvdd", 3)])
def test_without_damping_it_is_a_power_of_a_cosine(kind, power):
    f = np.linspace(0.05, 0.7, 40)
    shaper = femb.shaper(kind, frequencies=0.25)
    np.testing.assert_allclose(shaper.residual(f), np.abs(np.cos(0.5 * np.pi * f / 0.25)) ** power, atol=1e-15)


def test_of_several_modes_it_is_the_convolution():
    """The residual of the whole is the product of those of the parts, at any frequency and damping."""
    f, ratio = np.linspace(0.1, 1.0, 23), 0.03
    parts = [residual(*impulses("zvd", [mode], [0.02]), f, ratio) for mode in (0.25, 0.61)]
    whole = residual(*impulses("zvd", [0.25, 0.61], [0.02, 0.02]), f, ratio)
    np.testing.assert_allclose(whole, parts[0] * parts[1], atol=1e-15)
    # impulses of different modes at one instant are one
    assert len(impulses("zv", [0.25, 0.125], [0.0, 0.0])[0]) == 4
    assert len(impulses("zv", [0.25, 0.25], [0.0, 0.0])[0]) == 3


def test_impulses_on_samples():
    shaper = femb.shaper("zv", frequencies=0.25, damping=RATIO)
    assert shaper.sampled(0.1, split=False).residual(0.25, RATIO) == pytest.approx(1.948e-5, rel=1e-3)
    np.testing.assert_allclose(shaper.sampled(0.3, split=False).times, [0.0, 2.1], rtol=1e-12)
    split = shaper.sampled(0.1)
    assert split.residual(0.25, RATIO) == pytest.approx(1.528e-6, rel=1e-3)
    np.testing.assert_allclose(split.times, [0.0, 2.0, 2.1], rtol=1e-15)
    assert split.times @ split.amplitudes == pytest.approx(shaper.times @ shaper.amplitudes, rel=1e-15)


def oscillator(profile, frequency=0.25, damping=0.0):
    """A mass of 1 kg on a slide with a spring, pushed by a force whose static deflection is one metre."""
    omega = 2.0 * np.pi * frequency
    model = femb.Model("oscillator")
    model.add(femb.RigidBody("mass", mass=1.0, inertia=1.0))
    model.add(Prismatic("slide", JointEnd("ground", axis=(1, 0, 0)), JointEnd("mass")))
    model.add(femb.JointSpringDamper("spring", "slide", stiffness=omega**2, damping=2.0 * damping * omega))
    model.add(femb.Load("push", body="mass", force=(omega**2, 0, 0), profile=profile))
    return model


def left(profile, end, **words):
    """The amplitude of the vibration that goes on at an instant, m."""
    model = oscillator(profile, **words)
    results = femb.simulate(model, duration=end, output_interval=end, rtol=1e-9, atol={"position": 1e-10})
    slide, omega = results.joints["slide"], 2.0 * np.pi * words.get("frequency", 0.25)
    return float(np.hypot(slide.coordinates[-1, 0], slide.rates[-1, 0] / omega))


@pytest.mark.parametrize(("T", "bang", "sine"), [(10.0, 2.0, 0.952381), (23.7, 0.0552602, 0.0811106)])
def test_vibration_after_unshaped_forces(T, bang, sine):
    """Equation (6) and its numbers, in simulations."""
    omega = 0.5 * np.pi
    rho = omega * T / (2.0 * np.pi)
    assert 4.0 * np.sin(omega * T / 4.0) ** 2 == pytest.approx(bang, rel=1e-6)
    assert 2.0 * rho * abs(np.sin(omega * T / 2.0) / (1.0 - rho**2)) == pytest.approx(sine, rel=1e-6)
    assert left(BangBang(T), T + 1.0) == pytest.approx(bang, rel=1e-5)
    assert left(Repeat(Sine(1.0 / T), period=T, count=1), T + 1.0) == pytest.approx(sine, rel=1e-5)


@pytest.mark.slow
def test_shaped_force_leaves_what_the_curve_says():
    """At the frequency of the shaper nothing; at another one the vibration of the force times the residual."""
    shaper = femb.shaper("zvd", frequencies=0.25)
    profile = BangBang(10.0)
    end = 10.0 + shaper.duration
    assert left(shaper.shaped(profile), end) < 1e-6
    bare = 4.0 * np.sin(2.0 * np.pi * 0.28 * 10.0 / 4.0) ** 2
    assert left(shaper.shaped(profile), end, frequency=0.28) == pytest.approx(bare * shaper.residual(0.28), rel=1e-5)
    assert left(ZVD(profile, [0.25], 0.05), end + 0.1, damping=0.05) < 1e-6


def test_shaper_of_a_models_own_modes():
    """Of a model, of its modes and of its linear model: the same; the hub is free in all of them."""
    model = femb.load_case(CASES / "satellite_two_arrays.toml").model
    by_model = femb.shaper("zvd", model, modes=[2])
    assert by_model.frequencies == pytest.approx([0.537837], rel=1e-5)
    # eigenvalues of a dense A are known to rounding of the fastest ones
    for other, rtol in ((femb.modes(model, 4, damped=True), 1e-10), (linearize(model), 1e-6)):
        twin = femb.shaper("zvd", other, modes=[2])
        np.testing.assert_allclose(twin.frequencies, by_model.frequencies, rtol=rtol)
        np.testing.assert_allclose(twin.damping, by_model.damping, rtol=1e-5)
    two = femb.shaper("zv", model, modes=2, damping=0.01)
    assert len(two.times) == 4
    assert np.all(two.residual(two.frequencies, 0.01) < 1e-14)
    assert 'shape = "zv", frequencies = [0.2733' in two.words()


def test_a_well_damped_pole_has_its_undamped_frequency_and_ratio():
    omega, ratio = 3.0, 0.4
    space = femb.StateSpace([[0.0, 1.0], [-(omega**2), -2.0 * ratio * omega]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]],
                            "qv", "u", "y")  # fmt: skip
    found = femb.shaper("zv", space)
    assert (found.frequencies[0], found.damping[0]) == pytest.approx((omega / (2.0 * np.pi), ratio))


def test_slow_modes_of_a_state_space_beside_fast_ones():
    """Of a thin panel the poles reach 1e9 times the first vibration: none of its modes is taken for rest."""
    space = linearize(thin_panel(), inputs=["bodies.hub.torque"], outputs=["bodies.hub.turn"])
    wanted = femb.shaper("zvd", thin_panel(), modes=2)
    found = femb.shaper("zvd", space, modes=2)
    np.testing.assert_allclose(found.frequencies, wanted.frequencies, rtol=1e-7)
    np.testing.assert_allclose(found.damping, wanted.damping, rtol=1e-4)


def test_the_keys_that_it_prints_make_the_same_profile(tmp_path):
    shaper = femb.shaper("ei", frequencies=[0.25, 0.4], tolerance=0.03)
    case = tmp_path / "case.toml"
    case.write_text(
        "[bodies.hub]\nmass = 1.0\ninertia = 1.0\n[loads.push]\nbody = 'hub'\nforce = [1, 0, 0]\n"
        f"profile = {{ {shaper.words()}, profile = {{ shape = 'bang_bang', duration = 3.0 }} }}\n"
    )
    profile = femb.load_case(case).model.loads["push"].profile
    other = shaper.shaped(BangBang(3.0))
    assert isinstance(other, Shaped)
    assert profile.breakpoints == pytest.approx(other.breakpoints, rel=1e-14)
    for t in (0.5, 2.2, 3.7, 6.0):
        assert profile(t) == pytest.approx(other(t), rel=1e-14)


def test_driven_motion_is_shaped():
    """A pendulum on a driven slider: the slider follows the shaped slew, whose acceleration leaves no swing."""
    omega = 2.0 * np.pi * 0.25
    slew = Slew(1.0, max_acceleration=1.0, max_rate=0.5)
    shaped = ZVD(slew, frequencies=[0.25])
    model = femb.Model("crane")
    model.add(femb.RigidBody("cart", mass=1.0, inertia=1.0))
    model.add(femb.RigidBody("mass", mass=1.0, inertia=1.0))
    model.add(Prismatic("rail", JointEnd("ground", axis=(1, 0, 0)), JointEnd("cart")))
    model.add(Prismatic("slide", JointEnd("cart", axis=(1, 0, 0)), JointEnd("mass")))
    model.add(femb.JointSpringDamper("spring", "slide", stiffness=omega**2))
    model.add(femb.JointDriver("drive", "rail", shaped))
    end = shaped.breakpoints[-1]
    results = femb.simulate(model, duration=end, output_interval=end / 20, rtol=1e-9, atol={"position": 1e-10})
    motion = np.array([shaped.derivatives(t)[:2] for t in results.time])
    np.testing.assert_allclose(results.joints["rail"].coordinates[:, 0], motion[:, 0], atol=1e-10)
    slide = results.joints["slide"]
    assert np.abs(slide.coordinates).max() > 0.05
    assert abs(slide.coordinates[-1, 0]) + abs(slide.rates[-1, 0]) / omega < 1e-6


def test_plot(tmp_path):
    shaper = femb.shaper("zvd", frequencies=[0.25, 0.6], damping=0.01)
    (axes,) = shaper.plot().get_axes()
    f, percent = axes.get_lines()[0].get_data()
    np.testing.assert_allclose(percent, 100.0 * shaper.residual(f, 0.01))
    assert shaper.draw(tmp_path / "shaper.png").stat().st_size > 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: femb.shaper("zvx", frequencies=1.0), "got 'zvx', must be one of 'zv', 'zvd', 'zvdd', 'ei'"),
        (lambda: femb.shaper("zv"), "neither or both"),
        (lambda: femb.shaper("zv", frequencies=-1.0), "profile.frequencies"),
        (lambda: femb.shaper("zv", frequencies="x"), "wanted a number, or a list of numbers"),
        (lambda: femb.shaper("zv", frequencies=1.0, damping=1.0), "profile.damping"),
        (lambda: femb.shaper("zv", frequencies=[1.0, 2.0, 3.0], damping=[0.1, 0.1]), "got 2 numbers, wanted one, or 3"),
        (lambda: femb.shaper("ei", frequencies=1.0, tolerance=2.0), "profile.tolerance"),
        (lambda: femb.shaper("zv", oscillator(BangBang(1.0)), modes=0), "modes: got 0"),
        (lambda: femb.shaper("zv", linearize(oscillator(BangBang(1.0))), modes=[2]), "found 1 oscillation"),
        (lambda: femb.shaper("zv", frequencies=1.0).sampled(0.0), "must be greater than 0 s"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ModelError) as refused:
        call()
    assert message in str(refused.value)
