"""Origins that move about an oblate body, or through a table: direct integration, sums over points, refusals."""

import numpy as np
import pytest
from models import of_parts, refusals, refuses, sections_like
from oracles.alone import Alone
from oracles.in_orbit import ITEMS, bent, resultant
from scipy.integrate import solve_ivp

import femb
from femb import Orbit, PointMass, RigidBody, simulate
from femb.case import load_case
from femb.numerics import rotations
from femb.numerics.paths import DisturbedPath, KeplerPath
from femb.system.moving_ground import mass_properties
from femb.system.system import System

J2 = 1.08262668e-3
INCLINED = {"semi_major_axis": 7e6, "eccentricity": 0.01, "inclination": 1.1, "ascending_node": 0.4, "anomaly": 0.7}
OBLATE = Orbit("earth", j2=J2, **INCLINED)
# an oblateness that shows, about a pole of its own
FLAT = Orbit("earth", (5e6, 3e6, -4e6), (-3e3, 6e3, 1e3), j2=0.08, pole=(0.36, 0.48, 0.8))


def table(orbit, end, step=60.0, about=(0.0, 0.0, 0.0), noise=0.0):
    """The origin through the path of an orbit, moved by a vector and by random ones, about the oblate Earth."""
    times = np.arange(-2.0 * step, end + 3.0 * step, step)
    rng = np.random.default_rng(3)
    places = [orbit.position_at(t) + about + noise * rng.standard_normal(3) for t in times]
    return Orbit("earth", times=times, positions=places, j2=J2)


def direct(central, position, velocity, end):
    """Where a free point is at an instant, by integration about the centre."""
    found = solve_ivp(
        lambda t, y: np.concatenate([y[3:], central.gravity(y[:3])]), (0.0, end), np.concatenate([position, velocity]),
        method="DOP853", rtol=1e-13, atol=1e-6,
    )  # fmt: skip
    return found.y[:3, -1]


ORIGINS = {
    "oblate": lambda end: OBLATE,
    "table": lambda end: table(OBLATE, end),
    # also where the points are rough, and where they are those of no orbit
    "rough table": lambda end: table(OBLATE, end, noise=0.003),
    "wrong table": lambda end: table(Orbit("earth", **INCLINED), end, about=(3e3, -2e3, 1e3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ORIGINS)
def test_three_orbits_of_a_point_are_those_of_a_direct_integration(name):
    """Of tables one orbit."""
    end = (3.0 if name == "oblate" else 1.0) * OBLATE.period
    origin = ORIGINS[name](end)
    start, offset = OBLATE.start, np.array([3.0, -2.0, 5.0])
    # the same point in space, whatever the origin
    words = {"position": start[0] - origin.start[0] + offset, "velocity": start[1] - origin.start[1]}
    model = of_parts(PointMass("p", 2.0, **words), origin)
    results = simulate(model, duration=end, output_interval=end, method="rk", rtol=1e-13, atol=1e-13)
    found = results.loads["earth"].position[-1] + results.bodies["p"].position[-1]
    wanted = direct(OBLATE.central, start[0] + offset, start[1], end)
    assert np.linalg.norm(wanted - KeplerPath(OBLATE.mu, *start)(end)[0]) > 3e3
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("name", ITEMS)
def test_resultants_are_those_of_the_mass_and_its_second_moments(name):
    """Of any structure in any shape: m g at the mass centre and the moment of the gradient about it."""
    system, q = bent(ITEMS[name], FLAT)
    force, moment = resultant(system, q).reshape(2, 3)
    mass, centre, inertia = mass_properties(system.starting_at(q, system.v0))
    origin, central = FLAT.start[0], FLAT.central
    gradient = central.gradient(origin + centre)
    small = 20.0 * mass * np.linalg.norm(gradient) * 6.0**2 / np.linalg.norm(origin)
    wanted = mass * (central.gravity(origin + centre) - central.gravity(origin))
    np.testing.assert_allclose(force, wanted, rtol=0.0, atol=small)
    # of the integral of r x G r, by that of r r^T
    product = (0.5 * np.trace(inertia) * np.eye(3) - inertia) @ gradient
    couple = np.array([product[j, k] - product[k, j] for j, k in ((1, 2), (2, 0), (0, 1))])
    np.testing.assert_allclose(moment - np.cross(centre, force), couple, rtol=0.0, atol=small)
    assert np.linalg.norm(couple) > 50.0 * small


@pytest.mark.slow
def test_the_attitude_of_a_rigid_body_is_that_of_eulers_equations():
    """About a very oblate body, whose gradient has three different eigenvalues."""
    inertia, rate, end = np.array([3.0, 10.0, 8.0]), np.array([1e-3, -5e-4, 1.2e-3]), 3000.0
    model = of_parts(RigidBody("hub", 20.0, inertia, angular_velocity=rate), FLAT)
    results = simulate(model, duration=end, output_interval=end, method="rk", rtol=1e-10, atol=1e-10)
    path, second = DisturbedPath(FLAT.central, *FLAT.start), np.diag(0.5 * inertia.sum() - inertia)

    def rates(t, y):
        R = rotations.rotation_matrix(y[:4] / np.linalg.norm(y[:4]))
        product = second @ R.T @ FLAT.central.gradient(path(t)[0]) @ R
        couple = [product[j, k] - product[k, j] for j, k in ((1, 2), (2, 0), (0, 1))]
        spin = (couple - np.cross(y[4:], inertia * y[4:])) / inertia
        return np.concatenate([0.5 * rotations.multiply(y[:4], np.array([0.0, *y[4:]])), spin])

    wanted = solve_ivp(rates, (0.0, end), np.array([1.0, 0, 0, 0, *rate]), rtol=1e-11, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(results.bodies["hub"].quaternion[-1], wanted[:4], rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity[-1], wanted[4:], rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("kind", ["oblate", "rough table"])
def test_the_common_fall_bends_nothing(kind):
    """Two panels of 6 m: their deflection is that of the tides, 1e-3 of which are those of the oblateness."""
    section = sections_like("boom", 1e-4, (2e-9, 1e-9), 3e-9, 1600.0, 1e11, 4e10)(damping=0.05)

    def deflections(origin):
        rate = np.array([0.0, 0.0, 1.078e-3])
        hub = RigidBody("hub", 60.0, 25.0, angular_velocity=rate, euler_angles=(0.3, 0.2, 0.6))
        booms = [
            femb.Beam(f"boom{x}", section, 6.0, 1, start=hub.at((0.5 * x, 0, 0), direction=(x, 0, 0))) for x in (1, -1)
        ]
        model = of_parts(hub, *booms, origin)
        results = simulate(model, duration=300.0, output_interval=10.0, atol=1e-9)
        return results.beams["boom1"].deflection[:, -1]

    plain = deflections(Orbit("earth", **INCLINED))
    found = deflections(ORIGINS[kind](600.0))
    scale = np.abs(plain).max()
    assert 1e-7 < scale < 1e-4
    # after the first vibrations of a start without stress
    assert np.abs(found - plain)[5:].max() < 1e-2 * scale


def test_tangents_are_the_differences_of_the_forces():
    """Of a body and of a point, by their places and attitudes, about a very oblate body."""
    hub = RigidBody("hub", 20.0, (3.0, 10.0, 8.0), position=(2e4, -1e4, 3e4), euler_angles=(0.3, 0.5, -0.8))
    system = System(of_parts(hub, FLAT))
    q, v = system.q0, np.zeros(6)
    u = system.inputs_at(0.0, q, v)
    stiffness = system.pattern.to_csc(system.tangent(u, q, v, np.zeros(6))[1]).toarray()

    def force(step):
        at = q + system.rates(q[None], step[None])[0]
        system.normalise(at)
        out = np.zeros((1, 6))
        (batch,) = (each for each in system.batches if type(each).__name__ == "OrbitBatch")
        Alone(system, batch).residual(u[None], at[None], v[None], v[None], out)
        return out[0]

    for k, h in enumerate([10.0] * 3 + [1e-5] * 3):
        step = h * np.eye(6)[k]
        found = (force(step) - force(-step)) / (2.0 * h)
        np.testing.assert_allclose(found[:3], stiffness[:3, k], rtol=0.0, atol=1e-6 * np.abs(stiffness[:3, :3]).max())
        if k >= 3:
            np.testing.assert_allclose(found[3:], stiffness[3:, k], rtol=0.0, atol=1e-6 * np.abs(stiffness[3:]).max())


@pytest.mark.parametrize("kind", ["oblate", "rough table"])
def test_an_accelerometer_that_falls_feels_nothing(kind):
    origin = ORIGINS[kind](600.0)
    hub = RigidBody("hub", 20.0, 2.0)
    model = of_parts(hub, origin, femb.Accelerometer("a", body="hub", period=5.0))
    found = simulate(model, duration=60.0).sensors["a"].true
    np.testing.assert_allclose(found, 0.0, atol=1e-12)


def test_the_frame_of_the_orbit_turns_with_its_plane():
    from femb.elements.control.reference import orbit_of

    for origin in (OBLATE, table(OBLATE, 2000.0)):
        frame, t, h = orbit_of(of_parts(origin), ("sensors", "s")), 1234.0, 0.5
        turn = rotations.multiply(rotations.conjugate(frame(t - h)[0]), frame(t + h)[0])
        rate = frame(t)[1]
        np.testing.assert_allclose(rotations.logarithm(turn) / (2.0 * h), rate, rtol=0.0, atol=1e-9)
        assert abs(rate[2]) > 1e-7


def test_eclipses_follow_the_plane():
    """The instants at which the light goes are those at which the origin crosses the cylinder, also on day 2."""
    sun, radius = np.array([1.0, 0.2, 0.1]), 6378137.0
    sun /= np.linalg.norm(sun)
    end = 1.2e4
    for origin, last in ((OBLATE, 30.0 * OBLATE.period), (table(OBLATE, end), end)):
        plate = femb.SolarPressure("sun", 3.0, (1, 0, 0), sun, body="hub", eclipse=True)
        system = System(of_parts(RigidBody("hub", 10.0, 1.0), plate, origin))
        edges = [t for t in system.breakpoints if 0.0 < t < last]
        assert len(edges) == pytest.approx(2.0 * last / OBLATE.period, abs=2.0)
        (light,) = (each.function for each in system.inputs if each.label == "loads.sun.profile")
        for t in (*edges[:4], edges[-1]):
            position = origin.position_at(t)
            across = np.linalg.norm(position - position @ sun * sun)
            assert across == pytest.approx(radius, abs=0.1)
            assert light(t - 1e-3) != light(t + 1e-3)
        for t in np.linspace(0.0, last, 40):
            position = origin.position_at(t)
            dark = position @ sun < 0.0 and np.linalg.norm(position - position @ sun * sun) < radius
            assert light(t) == (not dark)
    (late,) = (each.function for each in System(of_parts(RigidBody("hub", 10.0, 1.0), plate, OBLATE)).inputs
               if each.label == "loads.sun.profile")  # fmt: skip
    refuses("are known for 100 revolutions", late, 101.0 * OBLATE.period, error=femb.SolveError)


CASE = """
[loads.earth]
kind = "orbit"
file = "track.csv"
j2 = 1.08263e-3
[bodies.hub]
mass = 20.0
inertia = [2, 2, 2]
[run]
duration = {duration}
"""


def test_a_case_reads_a_file_and_ends_with_it(tmp_path):
    times = np.arange(-120.0, 601.0, 60.0)
    rows = [f"{t:.3f}, " + ", ".join(f"{x:.6f}" for x in OBLATE.position_at(t)) for t in times]
    (tmp_path / "track.csv").write_text("\n".join(["t (s), x (m), y (m), z (m)", *rows]))
    for duration in (600, 601):
        (tmp_path / f"{duration}.toml").write_text(CASE.format(duration=duration))
    results = simulate(tmp_path / "600.toml")
    np.testing.assert_allclose(results.loads["earth"].position[-1], OBLATE.position_at(600.0), rtol=0.0, atol=1e-5)
    assert np.abs(results.bodies["hub"].position).max() < 0.1
    late = load_case(tmp_path / "601.toml")
    message = r"loads\.earth: its table ends at 600 s, before the end of the run at 601 s"
    refuses(message, simulate, late.model, late.run)
    from femb.run.overview import overview

    refuses(message, overview, late.model, late.run)
    with pytest.raises(
        femb.SolveError, match=r"loads\.earth\.times: got t = 700 s, but the table is from -120 to 600 s"
    ):
        late.model.loads["earth"].motion_at(700.0)


SIX = {"times": range(6), "positions": np.ones((6, 3))}


test_refused = refusals(
    lambda words: Orbit("earth", **words),
    ({"j2": 0.3, "semi_major_axis": 7e6}, "j2: got 0.3, wanted at most 0.1"),
    ({**SIX, "semi_major_axis": 7e6}, "semi_major_axis: is given beside times"),
    ({**SIX, "position": (1, 0, 0)}, "position: is given beside times"),
    ({"times": range(6)}, "positions: is missing: give times and positions, or a file"),
    ({**SIX, "times": [0, 1, 2, 2, 3, 4]}, "times: .* must rise"),
    ({**SIX, "times": range(1, 7)}, "times: .* begins at 1 s, wanted the start of runs, 0 s"),
    ({"times": range(5), "positions": np.ones((5, 3))}, "times: .* got 5, wanted at least 6"),
    ({**SIX, "positions": np.ones((5, 3))}, "positions: .* got 5, wanted 6, one a time"),
    ({"file": "nowhere.csv"}, "file: nowhere.csv: cannot be read"),
    ({}, "position: is missing: give position and velocity, or .* or times and positions"),
)
