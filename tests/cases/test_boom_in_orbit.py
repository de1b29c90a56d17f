"""The libration of docs/cases/boom_in_orbit.md, and the tension of its boom."""

import numpy as np
import pytest
from checkout import CASES
from scipy.interpolate import CubicSpline
from scipy.special import ellipk

from femb import load_case, simulate
from femb.system.moving_ground import mass_properties
from femb.system.system import System


@pytest.mark.slow
def test_the_boom_librates_about_the_vertical():
    """As a pendulum in twice the angle, with the mass centre on the orbit."""
    case = load_case(CASES / "boom_in_orbit.toml", ["run.output_interval=50"])
    results, orbit = simulate(case.model, case.run), case.model.loads["earth"]
    mass, centre, inertia = mass_properties(System(case.model))
    assert np.linalg.norm(centre) < 1e-7
    assert np.linalg.norm(results.audit.linear_momentum) < 1e-5 * mass
    x, y, z = np.linalg.eigvalsh(inertia)
    rate, amplitude = 2.0 * np.pi / orbit.period, 0.2
    period = 4.0 * ellipk(np.sin(amplitude) ** 2) / (rate * np.sqrt(3.0 * (y - x) / z))
    pitch = np.unwrap(results.bodies["hub"].euler_angles("xyz")[:, 2]) - rate * results.time
    upright = CubicSpline(results.time, pitch).roots(extrapolate=False)
    np.testing.assert_allclose(upright, period * np.array([0.25, 0.75, 1.25]), rtol=1e-5)
    np.testing.assert_allclose([pitch.min(), pitch.max()], [-amplitude, amplitude], rtol=1e-3)
    # upright: gravity and the libration's rate stretch the boom
    k = int(np.argmin(np.abs(results.time - upright[1])))
    spin = results.bodies["hub"].angular_velocity[k, 2]
    reach = 0.25 - np.linalg.norm(results.bodies["hub"].position[0])
    line = (mass - 63.0) / 6.0
    moment = 3.0 * (reach + 6.0) + line * ((reach + 6.0) ** 2 - reach**2) / 2.0
    tension = (2.0 * rate**2 + spin**2) * moment
    assert abs(results.beams["boom"].section_force[k, 0, 0, 0] - tension) < 2e-3 * tension
