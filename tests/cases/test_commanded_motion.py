"""Slews, drives and satellites that the environment or the spin holds: the numbers of their pages, in closed form."""

import numpy as np
import pytest
from checkout import CASES
from scipy.linalg import eig
from scipy.optimize import brentq, least_squares
from shared_runs import results_of

import femb
from femb.linear import linearize
from femb.numerics import rotations
from femb.system.moving_ground import mass_properties
from femb.system.system import System

pytestmark = pytest.mark.slow

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


# Wire booms on a spinning satellite.

SPIN, RADIUS, WIRE, SPHERE, CABLE = np.pi / 3.0, 0.5, 50.0, 0.1, 0.005
NAMES = ("first", "second", "third", "fourth")
STIFF = ("sections.wire.axial_stiffness=1e8", *(f"beams.{name}.elements=12" for name in NAMES))


def string_frequencies(out, hub=None, count=2):
    """The lowest frequencies of a wire with a sphere over the spin, by Chebyshev points.

    (T w')' + (omega^2 + in) rho w = 0, T' = -rho x W^2, with in = W^2 in the plane; there a wire of a free hub, of the
    inertia ``hub``, moves with the hub: w is then the deflection from the line of the wire at rest.
    """
    n = 60
    x = 0.5 * (1.0 + np.cos(np.pi * np.arange(n + 1) / n)) * WIRE  # from the end to the root
    c = np.r_[2.0, np.ones(n - 1), 2.0] * (-1.0) ** np.arange(n + 1)
    dx = x[:, None] - x[None]
    D = np.outer(c, 1.0 / c) / (dx + np.eye(n + 1))
    D -= np.diag(D.sum(axis=1))
    place = RADIUS + x
    end = RADIUS + WIRE
    tension = SPIN**2 * (SPHERE * end + 0.5 * CABLE * (end**2 - place**2))
    # K w = lambda M w, lambda = omega^2, in inertial directions; the last unknown is the turn of the hub
    K, M = np.zeros((n + 2, n + 2)), np.zeros((n + 2, n + 2))
    inner = slice(1, n)
    plane = 0.0 if out else SPIN**2
    K[inner, : n + 1] = (-D @ np.diag(tension) @ D - plane * CABLE * np.eye(n + 1))[inner]
    M[inner, : n + 1] = CABLE * np.eye(n + 1)[inner]
    K[0, : n + 1] = tension[0] * D[0]
    K[0, 0] -= plane * SPHERE
    M[0, 0] = SPHERE
    K[n, n] = 1.0  # at the root the deflection is that of the hub
    K[n + 1, n + 1] = 1.0
    if hub is not None:
        K[n, n + 1] = -RADIUS
        # hub: I turn'' = 4 r (tension's direction less that of the radius at the root)
        K[n + 1] = 0.0
        K[n + 1, : n + 1] = -4.0 * RADIUS * tension[n] * D[n]
        K[n + 1, n + 1] = 4.0 * RADIUS * tension[n]
        M[n + 1, n + 1] = hub
    values = eig(K, M, right=False)
    values = np.sort(values[np.isfinite(values)].real)
    values = values[values > 1e-6 * SPIN**2]
    return np.sqrt(values[:count]) / SPIN


class TestSpinningWireBooms:
    def test_strings(self):
        """The reference itself."""
        np.testing.assert_allclose(string_frequencies(True), [1.00611622, 3.04845082], rtol=1e-8)
        np.testing.assert_allclose(string_frequencies(False), [0.1107693, 2.87976604], rtol=1e-7)
        np.testing.assert_allclose(string_frequencies(False, 100.0), [0.49251484, 2.88049349], rtol=1e-8)

    def test_frequencies_of_wires_are_those_of_strings(self):
        model = femb.load_case(CASES / "spinning_wire_booms.toml", STIFF).model
        found = 2.0 * np.pi * femb.modes(model, 17, start="equilibrium").frequencies / SPIN
        wanted = (*string_frequencies(True), *string_frequencies(False), *string_frequencies(False, 100.0))
        for frequency in wanted:
            assert np.abs(found / frequency - 1.0).min() < 1e-6

    def test_wires_without_tips_from_the_axis(self):
        """Legendre's equation: sqrt(k (2 k - 1)) out of the plane and sqrt(k (2 k - 1) - 1) in it, times the spin.

        In the plane a wire that turns with its radius needs no force: its frequency is zero, here that of rounding.
        """
        places = [f"{end}=[0,0,0]" for name in NAMES for end in (f"beams.{name}.start.at", f"joints.{name}.first.at")]
        tips = [f"bodies.sphere_{name}.mass=1e-9" for name in NAMES]
        words = ["sections.wire.axial_stiffness=1e8", *places, *tips]
        model = femb.load_case(CASES / "spinning_wire_booms.toml", tuple(words)).model
        found = 2.0 * np.pi * femb.modes(model, 12, start="equilibrium").frequencies / SPIN
        for square in (1.0, 6.0, 5.0):
            assert np.abs(found / square**0.5 - 1.0).min() < 1e-7
        assert found[1] < 0.05

    def test_spin_up_excites_the_motion_in_phase(self):
        results = results_of("spinning_wire_booms")
        tension = SPIN**2 * (SPHERE * (RADIUS + WIRE) + CABLE * WIRE * (RADIUS + 0.5 * WIRE))
        assert abs(results.beams["first"].section_force[0, 0, 0, 0] / tension - 1.0) < 1e-3
        momentum = results.audit.angular_momentum[:, 2]
        assert abs(momentum[-1] - momentum[0] - 6.0) < 1e-4
        angles = np.stack([results.joints[name].coordinates[:, 0] for name in NAMES], axis=1)
        assert np.ptp(angles, axis=1).max() < 1e-6
        late = results.time > 10.0
        t, angle = results.time[late], angles[late, 0]

        def misfit(x):
            return x[0] + x[1] * np.cos(x[2] * t) + x[3] * np.sin(x[2] * t) - angle

        fit = least_squares(misfit, [0.0, 0.05, 0.49 * SPIN, 0.05])
        spin = (1.0 + 6.0 / momentum[0]) * SPIN  # of the whole, after the pulse
        assert abs(fit.x[2] / (0.49251484 * spin) - 1.0) < 1e-3


# Libration in the gradient of gravity.

RATE = np.sqrt(398600441800000.0 / (6378137.0 + 800e3) ** 3)
PITCH, ROLL_YAW = 1.09544512, (1.77442875, 0.69021924)


def orbital_angles(results):
    """(T, 3) small angles of the hub from the orbital axes, which turn about -y; exact about one axis."""
    half = 0.5 * RATE * results.time
    orbital = np.stack([np.cos(half), 0.0 * half, -np.sin(half), 0.0 * half], axis=1)
    relative = rotations.multiply(orbital * [1, -1, -1, -1], results.bodies["hub"].quaternion)
    return 2.0 * np.arcsin(relative[:, 1:] * np.sign(relative[:, :1]))


def fitted(time, values, guess):
    """Frequencies (over the orbital rate) of the sum of oscillations that is nearest to values (T, k)."""

    def misfit(frequencies):
        waves = np.concatenate([[np.cos(w * RATE * time), np.sin(w * RATE * time)] for w in frequencies]).T
        return (waves @ np.linalg.lstsq(waves, values, rcond=None)[0] - values).ravel() / np.abs(values).max()

    return np.sort(least_squares(misfit, guess, xtol=1e-15, ftol=1e-15, gtol=1e-15).x)


class TestGravityGradientBoom:
    def test_closed_form(self):
        x, y, z = 120.0, 150.0, 60.0
        k1, k3 = (y - z) / x, (y - x) / z
        b = 1.0 + 3.0 * k1 + k1 * k3
        both = np.sqrt(0.5 * (b + np.array([1.0, -1.0]) * np.sqrt(b**2 - 16.0 * k1 * k3)))
        np.testing.assert_allclose([np.sqrt(3.0 * (x - z) / y), *both], [PITCH, *ROLL_YAW], atol=5.1e-9)

    def test_rigid_satellite(self):
        """Half of the difference of two librations of opposite signs has no terms of second order, which are near
        resonance."""
        found = []
        for sign in (1.0, -1.0):
            model = femb.Model("rigid")
            model.add(femb.GravityGradient("g", altitude=800e3, radial=(0, 0, -1), normal=(0, -1, 0)))
            angles, rate = (1e-4 * sign,) * 3, (0, -RATE, 0)
            model.add(femb.RigidBody("hub", 60.0, (120, 150, 60), euler_angles=angles, angular_velocity=rate))
            words = {"duration": 12000.0, "output_interval": 120.0, "max_step": 120.0}
            found.append(femb.simulate(model, rtol=1e-12, method="rk", **words))
        angles = 0.5 * (orbital_angles(found[0]) - orbital_angles(found[1]))
        np.testing.assert_allclose(fitted(found[0].time, angles[:, [1]], [1.1]), PITCH, rtol=3e-8)
        np.testing.assert_allclose(fitted(found[0].time, angles[:, [0, 2]], [1.77, 0.69]), ROLL_YAW[::-1], rtol=3e-8)

    def test_flexible_satellite(self):
        """Its whole has these moments; pitch is within 3e-5 of the rigid one; the tip bends as statics says."""
        case = femb.load_case(CASES / "gravity_gradient_boom.toml", ["bodies.hub.euler_angles=[0,0,0]"])
        _, centre, inertia = mass_properties(System(case.model))
        assert np.linalg.norm(centre) < 1e-5
        np.testing.assert_allclose(np.diag(inertia), [120.0, 150.0, 60.0], rtol=1e-7)
        small = results_of("gravity_gradient_boom", "bodies.hub.euler_angles=[0,1e-3,0]", "run.rtol=1e-9")
        pitch = fitted(small.time, orbital_angles(small)[:, [1]], [1.1])
        assert -3e-5 < pitch[0] / PITCH - 1.0 < -2e-5
        results = results_of("gravity_gradient_boom", "bodies.hub.euler_angles=[0,0.1,0]")
        section = case.model.sections["boom"]
        line, bending = section.line_mass(), section.stiffness()[2, 2]
        root, length = 0.5 - 0.1487, 8.0
        tip = (root + length) * length**3 / (3.0 * bending)  # of 1 kg, and of the line
        tip += line / (6.0 * bending) * (0.75 * root * length**4 + 0.55 * length**5)
        angle = orbital_angles(results)[:, 1]
        wanted = 3.0 * RATE**2 * 0.6 * np.sin(angle) * np.cos(angle) * tip
        late = results.time > 3000.0
        assert abs(np.abs(wanted).max() - 55.1e-6) < 5e-8
        bent = results.beams["boom"].deflection[late, -1, 0]
        assert min(np.abs(bent - wanted[late]).max(), np.abs(bent + wanted[late]).max()) < 0.01 * np.abs(wanted).max()


# A drive with ripple.

DAILY = 7.2722052e-5  # rad/s


def ripple_at_rest():
    """Amplitudes (rad) of the motor at the periods of the unequal phases and of the detent, from its law alone."""
    phase = 2.0 * np.pi * np.arange(256) / 256.0
    given = phase / 24000.0
    target = given + np.radians(3.75e-4) * np.sin(phase)
    angle = target.copy()
    for _ in range(30):
        torque = 56.5 * np.sin(12000.0 * (angle - target)) + 2.0 * np.sin(48000.0 * angle)
        slope = 56.5 * 12000.0 * np.cos(12000.0 * (angle - target)) + 96000.0 * np.cos(48000.0 * angle)
        angle -= torque / slope
    return np.abs(np.fft.rfft(angle - given))[1:3] / 128.0


class TestDriveRipple:
    @pytest.mark.parametrize("factor", [0.8, 0.9, 1.0, 1.1, 1.2])
    def test_twist_is_that_of_the_linear_model(self, factor):
        given = [] if factor == 1.0 else [f"loads.drive.motion.coefficients=[0,{DAILY * factor}]"]
        results = results_of("drive_ripple", *given)
        still = ["springs.seal.coulomb=0", "loads.drive.harmonics=[]"]
        model = femb.load_case(CASES / "drive_ripple.toml", still).model
        space = linearize(model, inputs=["loads.drive.angle"], outputs=["joints.root.angle"])
        late, omega = results.time > 300.0, 24000.0 * DAILY * factor
        t, twist = results.time[late], results.joints["root"].coordinates[late, 0]
        waves = [[np.cos(k * omega * t), np.sin(k * omega * t)] for k in (1, 2)]
        waves = np.concatenate([*waves, [np.ones_like(t), t]]).T
        found = np.linalg.lstsq(waves, twist, rcond=None)[0][:4].reshape(2, 2)
        gains = [abs(space.transfer(1j * k * omega)[0, 0]) for k in (1, 2)]
        np.testing.assert_allclose(np.hypot(*found.T)[1], gains[1] * ripple_at_rest()[1], rtol=5e-3)
        np.testing.assert_allclose(np.hypot(*found.T)[0], gains[0] * ripple_at_rest()[0], rtol=2e-2)
        assert np.abs(results.audit.energy_error).max() < 1e-6
