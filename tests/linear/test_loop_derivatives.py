"""Derivatives of margins, from numbers of a program that shares nothing with femb."""

import numpy as np
import pytest

from femb.linear.loop_derivatives import of_crossover, of_phase_crossover, ratio


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
