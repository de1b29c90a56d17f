"""Derivatives of margins, from numbers of a program that shares nothing with femb."""

from types import SimpleNamespace

import numpy as np
import pytest

from femb.linear.loop_derivatives import of_crossover, of_noise, of_phase_crossover, ratio
from femb.linear.norms import gramian


class AboutX:
    """The x axis of a hub with two panels, and a controller with a delay: L at a frequency, rad/s."""

    period = None

    def __init__(self, K_p=46.65, K_d=435.4, k=1650.0, delay=0.1, I=2073.3333333333335):  # noqa: E741
        self.gains, self.delay, self.k, self.inertia = (K_p, K_d), delay, k, I

    def one(self, omega):
        s = 1j * omega
        S, J = 766.6666666666666, 666.6666666666666
        plant = 1.0 / (self.inertia * s**2 - 2.0 * S**2 * s**4 / (J * s**2 + 10.5 * s + self.k))
        return (self.gains[0] + self.gains[1] * s) * np.exp(-self.delay * s) * plant


BY = {"K_p": 46.65, "K_d": 435.4, "k": 1650.0, "delay": 0.1, "I": 2073.3333333333335}
# crossover, margin in rad, derivatives of the margin
PHASE = [
    (0.2278961209969, 1.10855849374, [-7.09898242e-3, 1.44405816e-3, 3.26544956e-6, -0.227896121, -1.40968129e-4]),
    (4.73875580737, 1.154947440673, [-4.86160774e-4, -3.12188785e-4, -1.13317230e-4, -4.73875581, 8.43766835e-4]),
]
DELAY = [-1.03015232e-4, -1.54480539e-4, -8.61495786e-5, -1.0, 5.96656199e-4]
GAIN = [-1.11294963e-3, -0.0240756783, -3.92443834e-4, -118.343546, 0.0359013327]


def changes(omega):
    """(ln L)' at a frequency by each of the numbers, by Richardson's difference."""
    nominal = AboutX().one(omega)
    for name, value in BY.items():
        pair = []
        for h in (2e-4 * value, 1e-4 * value):
            up, down = (ratio(AboutX(**{name: value + sign * h}), nominal, omega) for sign in (1.0, -1.0))
            pair.append((up - down) / (2.0 * h))
        yield (4.0 * pair[1] - pair[0]) / 3.0


@pytest.mark.parametrize(("omega", "margin", "wanted"), PHASE)
def test_phase_margins(omega, margin, wanted):
    phase, _ = of_crossover(AboutX(), omega, np.degrees(margin))
    found = [np.radians(phase(change)) for change in changes(omega)]
    np.testing.assert_allclose(found, wanted, rtol=2e-8)


def test_the_delay_margin():
    omega, margin, _ = PHASE[1]
    _, delay = of_crossover(AboutX(), omega, np.degrees(margin))
    np.testing.assert_allclose([delay(change) for change in changes(omega)], DELAY, rtol=2e-8)


def test_the_gain_margin():
    from scipy.optimize import brentq

    omega = brentq(lambda w: AboutX().one(w).imag, 15.5, 15.9, xtol=1e-14)
    gain = 1.0 / abs(AboutX().one(omega))
    assert gain == pytest.approx(10.53446944201, rel=1e-11)
    derivative = of_phase_crossover(AboutX(), omega, gain)
    np.testing.assert_allclose([derivative(change) for change in changes(omega)], GAIN, rtol=2e-8)


def test_margins_below_zero():
    """Of K e^(-s T)/s: a margin of pi/2 - K T = -30 deg has the delay margin (5 pi/2 - K T)/K."""
    K = 2.0
    T = 2.0 * np.pi / 3.0 / K
    loop = SimpleNamespace(period=None, one=lambda w: K * np.exp(-1j * w * T) / (1j * w))
    phase, delay = of_crossover(loop, K, -30.0)
    by_gain, by_delay = np.array([1.0 / K + 0.0j]), np.array([-1j * K])
    assert [phase(by_gain), phase(by_delay)] == pytest.approx([np.degrees(T), np.degrees(K)], rel=1e-6)
    assert [delay(by_gain), delay(by_delay)] == pytest.approx([-2.5 * np.pi / K**2, -1.0], rel=1e-6)


@pytest.mark.parametrize("dt", [None, 0.1])
def test_noise_beside_differences(dt):
    rng = np.random.default_rng(2)
    A, B, C, *changes = (rng.standard_normal(shape) for shape in 2 * ((3, 3), (3, 2), (2, 3)))
    A = 0.2 * A if dt else A - 4.0 * np.eye(3)

    def norm(h):
        a, b, c = (x + h * dx for x, dx in zip((A, B, C), changes, strict=True))
        return np.sqrt(np.trace(c @ gramian(a, b, dt) @ c.T))

    assert of_noise(A, B, C, dt, norm(0.0))(*changes) == pytest.approx((norm(1e-5) - norm(-1e-5)) / 2e-5, rel=1e-7)
