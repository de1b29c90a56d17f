"""Slews, drives and satellites that the environment or the spin holds: the numbers of their pages, in closed form."""

import numpy as np
from checkout import CASES
from scipy.optimize import brentq
from shared_runs import results_of

import femb

# The slew of two booms.

HUB, REACH, LENGTH, LINE, EI = 300.0, 1.0, 10.0, 2.0, 4000.0
BANG_BANG = 'loads.slew.profile={shape="bang_bang",duration=19.5}'


def hub_moment(omega):
    """The torque (N m/rad) that a free hub with two beams that bend against each other misses: zero at its frequencies.

    EI w"" = rho omega^2 w with a free end; at the root the deflection of a turn by one is R, its slope one.
    """
    beta = (LINE * omega**2 / EI) ** 0.25
    # w is a sum of cosh, sinh, cos and sin of beta times the distance from the root
    ends = beta * LENGTH
    sh, ch, s, c = np.sinh(ends), np.cosh(ends), np.sin(ends), np.cos(ends)
    A = np.array([[1, 0, 1, 0], [0, beta, 0, beta], [ch, sh, -c, -s], [sh, ch, s, -c]])
    a = np.linalg.solve(A, [REACH, 1.0, 0.0, 0.0])  # of a turn of one
    moment = EI * beta**2 * (a[0] - a[2])
    shear = EI * beta**3 * (a[1] - a[3])
    return HUB * omega**2 + 2.0 * (moment - REACH * shear)


class TestSlewFlexible:
    def left(self, *overrides):
        """Amplitudes after the slew: of the tip's deflection, m, and of the hub's rate, rad/s."""
        results = results_of("slew_flexible", *overrides)
        late = results.time > 22.0
        return (
            0.5 * np.ptp(results.beams["left"].deflection[late, -1, 2]),
            0.5 * np.ptp(results.bodies["hub"].angular_velocity[late, 0]),
        )

    def test_frequencies_are_those_of_the_continuum(self):
        exact = [brentq(hub_moment, *pair, xtol=1e-13) for pair in ((3.4, 3.7), (10.8, 11.2), (28.0, 28.4))]
        np.testing.assert_allclose(exact, [3.548652109, 10.994449972, 28.201327261], rtol=1e-9)
        thin = [
            "sections.boom.inertia_per_length=[2e-8,1e-8,1e-8]",
            "beams.left.elements=12",
            "beams.right.elements=12",
        ]
        model = femb.load_case(CASES / "slew_flexible.toml", thin).model
        found = 2.0 * np.pi * femb.modes(model, 22).frequencies
        # the error of the mesh is of fourth order in the length of an element over that of a wave
        for omega, error in zip(exact, (1e-6, 2e-5, 2e-4), strict=True):
            assert np.abs(found / omega - 1.0).min() < error
        case = femb.load_case(CASES / "slew_flexible.toml")
        shaper = femb.shaper("zvd", case.model, modes=[4])
        assert abs(2.0 * np.pi * shaper.frequencies[0] / exact[0] - 1.0) < 1e-4
        assert abs(shaper.frequencies[0] - case.model.loads["slew"].profile.frequencies[0]) < 1e-5

    def test_the_shaped_slew_leaves_no_vibration(self):
        """And the angle is that of the rigid satellite, T/I (d/2)^2."""
        tip, rate = self.left()
        bare_tip, bare_rate = self.left(BANG_BANG)
        assert tip < 2e-4 * bare_tip
        assert rate < 1e-3 * bare_rate
        inertia = HUB + 2.0 * LINE * ((REACH + LENGTH) ** 3 - REACH**3) / 3.0
        results = results_of("slew_flexible")
        angle = results.bodies["hub"].euler_angles()[-1, 0]
        assert abs(angle / (11.42 / inertia * (0.5 * 19.5) ** 2) - 1.0) < 1e-4

    def test_a_wrong_frequency_leaves_what_the_curve_says(self):
        """The vibration of the unshaped torque, times the residual vibration at the mode."""
        mode = femb.shaper("zvd", femb.load_case(CASES / "slew_flexible.toml").model, modes=[4])
        bare, _ = self.left(BANG_BANG)
        for frequency in (0.6213, 0.5083):
            tip, _ = self.left(f"loads.slew.profile.frequencies=[{frequency}]")
            shaper = femb.shaper("zvd", frequencies=frequency, damping=0.005)
            wanted = shaper.residual(mode.frequencies[0], mode.damping[0])
            assert abs(tip / (bare * wanted) - 1.0) < 0.06
