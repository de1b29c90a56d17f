"""An atmosphere by altitude: its numbers, the decay of orbits by the closed form and by integration, tangents."""

import numpy as np
import pytest
from models import of_parts, refusals, sections_like
from oracles.alone import Alone
from scipy.integrate import solve_ivp

import femb
from femb.elements.environment.atmosphere import Atmosphere
from femb.numerics.orbits import EARTH, EARTH_RADIUS

RADIUS = EARTH_RADIUS + 400e3
RATE = np.sqrt(EARTH / RADIUS**3)
CIRCLE = femb.Orbit("earth", semi_major_axis=RADIUS, inclination=0.9)
THIN = Atmosphere("air", density=2.8e-12, altitude=400e3, scale_height=58.5e3, rotation=0.0)
ALTITUDES = np.array([100e3, 200e3, 350e3, 500e3, 800e3])
TABLE = Atmosphere("air", altitudes=ALTITUDES, densities=(5.3e-7, 2.5e-10, 9.5e-12, 7e-13, 1.2e-14))
MASS, AREA = 100.0, 4.0


def body_with(*items, **words):
    return of_parts(femb.RigidBody("hub", MASS, 1e5, **words), *items)


def direct(air, end):
    """R after a time, by integration about the centre with the drag of a plate across the flow."""

    def rates(t, y):
        R, V = y[:3], y[3:]
        flow = V - np.cross((0.0, 0.0, air.rotation), R)
        drag = -0.5 * air.density_at(R)[0] * 2.2 * AREA * np.linalg.norm(flow) * flow
        return np.concatenate([V, -EARTH * R / np.linalg.norm(R) ** 3 + drag / MASS])

    return solve_ivp(
        rates, (0.0, end), np.concatenate(CIRCLE.start), method="DOP853", rtol=1e-12, atol=1e-6
    ).y[:3, -1]  # fmt: skip


def axis(R, V):
    return 1.0 / (2.0 / np.linalg.norm(R) - V @ V / EARTH)


def facing():
    """A plate that the flow meets from the front at the start, on a body that turns with the orbit."""
    velocity = CIRCLE.start[1]
    return femb.PlateDrag("drag", AREA, velocity, body="hub", coefficient=2.2, two_sided=True)


@pytest.mark.slow
@pytest.mark.parametrize("air", [THIN, TABLE], ids=["formula", "table"])
def test_the_semi_major_axis_falls_by_the_closed_form(air):
    """2 pi rho (C_D A/m) a^2 a revolution of a circle; and as by an integration about the centre, with its rotation."""
    normal = np.cross(*CIRCLE.start)
    rate = RATE * normal / np.linalg.norm(normal)
    end = 2.0 * np.pi / RATE
    model = body_with(CIRCLE, air, facing(), angular_velocity=rate)
    results = femb.simulate(model, duration=end, output_interval=end / 8.0, method="rk", rtol=1e-10, atol=1e-11)
    earth, hub = results.loads["earth"], results.bodies["hub"]
    R, V = earth.position[-1] + hub.position[-1], earth.velocity[-1] + hub.velocity[-1]
    moved = np.linalg.norm(hub.position[-1])
    if air is THIN:
        fall = RADIUS - axis(R, V)
        assert fall == pytest.approx(2.0 * np.pi * 2.8e-12 * 2.2 * AREA / MASS * RADIUS**2, rel=1e-3)
        np.testing.assert_allclose(R, direct(air, end), rtol=0.0, atol=1e-4 * moved)
    else:
        # the plate is across the flow but for the air's turn, by some 3 degrees
        np.testing.assert_allclose(R, direct(air, end), rtol=0.0, atol=5e-3 * moved)
    np.testing.assert_allclose(results.fields["air"].density, air.density_at(earth.position)[0], rtol=1e-14)


def test_numbers_of_a_table():
    """Those of its rows, and geometric means half way between; refused outside, by name."""
    up = np.array([0.0, 0.6, 0.8])
    at = (EARTH_RADIUS + ALTITUDES)[:, None] * up
    np.testing.assert_allclose(TABLE.density_at(at)[0], TABLE.densities, rtol=1e-12)
    between = (EARTH_RADIUS + 425e3) * up
    value, slope = TABLE.density_at(between)
    assert value == pytest.approx(np.sqrt(9.5e-12 * 7e-13), rel=1e-12)
    for air in (TABLE, THIN):
        slope, h = air.density_at(between)[1], 1.0
        by = [(air.density_at(between + h * e)[0] - air.density_at(between - h * e)[0]) / (2.0 * h) for e in np.eye(3)]
        np.testing.assert_allclose(slope, by, rtol=1e-6, atol=1e-9 * np.abs(slope).max())
    for height, words in ((99e3, "99000 m"), (801e3, "801000 m")):
        with pytest.raises(
            femb.SolveError, match=rf"fields\.air: got the altitude {words}, but the table is from 1000"
        ):
            TABLE.density_at((EARTH_RADIUS + height) * up)


def test_a_run_below_the_table_ends_with_its_name():
    high = Atmosphere("air", altitudes=(399.99e3, 500e3), densities=(1e-6, 1e-7), rotation=0.0)
    with pytest.raises(femb.SolveError, match=r"fields\.air: got the altitude .* but the table is from 399990"):
        femb.simulate(body_with(CIRCLE, high, facing()), duration=1000.0)


def bent_boom(*items):
    section = sections_like("boom", 1e-4, (2e-9, 1e-9), 3e-9, 1600.0, 1e11, 4e10)()
    hub = femb.RigidBody("hub", MASS, 30.0, angular_velocity=(1e-3, 2e-3, -1e-3), euler_angles=(0.3, 0.5, -0.8))
    boom = femb.Beam("boom", section, 6.0, 2, start=hub.at((0.5, 0, 0), direction=(1, 1, 0)))
    return of_parts(hub, boom, CIRCLE, THIN, *items)


@pytest.mark.slow
def test_drag_of_a_beam_is_that_of_its_orbit():
    """Across the flow, by its diameter; with the density given it is that of a wind against the motion."""
    words = {"width": 0.05, "coefficient": 2.0, "tangential_coefficient": 0.1}
    velocity = CIRCLE.start[1]
    force = [
        femb.simulate(bent_boom(drag), duration=1e-3).loads["drag"].force[0]
        for drag in (
            femb.Drag("drag", "boom", **words),
            femb.Drag("drag", "boom", density=2.8e-12, wind=-velocity, **words),
        )
    ]
    np.testing.assert_allclose(force[0], force[1], rtol=2e-4)
    assert force[0] @ velocity < -1e-6 * np.linalg.norm(velocity)


@pytest.mark.parametrize("kind", ["plate", "shell"])
def test_tangents_are_differences_of_the_forces(kind):
    """By places too: in an atmosphere so thin in height that its slope shows."""
    steep = Atmosphere("air", density=1e-6, altitude=400e3, scale_height=20.0)
    if kind == "plate":
        plate = femb.PlateDrag("drag", 3.0, (1, 2, 0.5), body="hub", at=(1.0, 0.5, -0.3), two_sided=True)
        model = body_with(CIRCLE, steep, plate, euler_angles=(0.3, 0.5, -0.8), angular_velocity=(0.1, 0.2, -0.3))
    else:
        corners = ((0, 0, 0), (2, 0, 0), (2, 1, 0.2), (0, 1, 0.1))
        wall = femb.Material(1e9, 4e8, 1000.0)
        panel = femb.Shell("panel", (1, 1), corners, thickness=1e-2, material=wall)
        model = of_parts(panel, CIRCLE, steep, femb.PlateDrag("drag", shell="panel", two_sided=True))
    system = femb.System(model)
    q, n = system.q0, system.n_v
    v = 0.1 * np.random.default_rng(1).standard_normal(n)
    u = system.inputs_at(0.0, q, v)
    (batch,) = (each for each in system.batches if type(each).__name__ in ("PlateBatch", "ExposedBatch"))
    damping, stiffness = np.zeros((2, system.pattern.size))
    Alone(system, batch).tangent(u, q, v, np.zeros(n), damping, stiffness)
    found = [system.pattern.to_csc(part).toarray() for part in (damping, stiffness)]

    def force(pose, speed):
        at = q + system.rates(q[None], pose[None])[0]
        system.normalise(at)
        out = np.zeros((1, n))
        Alone(system, batch).residual(u[None], at[None], (v + speed)[None], np.zeros((1, n)), out)
        return out[0]

    zero = np.zeros(n)
    for k in range(n):
        step = 1e-4 * np.eye(n)[k]
        by_pose = (force(step, zero) - force(-step, zero)) / 2e-4
        by_speed = (force(zero, step) - force(zero, -step)) / 2e-4
        np.testing.assert_allclose(found[1][:, k], by_pose, rtol=0.0, atol=1e-5 * np.abs(found[1]).max())
        np.testing.assert_allclose(found[0][:, k], by_speed, rtol=0.0, atol=1e-5 * np.abs(found[0]).max())
    assert np.abs(found[1][:, :3]).max() > 0.0


test_refused_models = refusals(
    lambda items: femb.System(body_with(*items)),
    ((CIRCLE, facing()), r"loads\.drag\.density: is missing: give it, or an atmosphere"),
    ((THIN, facing()), r"fields\.air: has a density by altitude, but the model has no orbit"),
    ((CIRCLE, THIN, Atmosphere("more", 1e-12, 4e5, 6e4)), r"fields\.more: is a second atmosphere beside 'air'"),
)


test_refused = refusals(
    lambda words: Atmosphere("air", **words),
    ({}, "density: is missing: give density, altitude and scale_height, or altitudes and densities"),
    ({"density": 1e-12, "altitude": 4e5}, "scale_height: is missing"),
    ({"density": 1e-12, "altitudes": (1e5, 2e5)}, "density: is given beside altitudes"),
    ({"altitudes": (1e5, 2e5)}, "densities: is missing"),
    ({"altitudes": (2e5, 1e5), "densities": (1e-9, 1e-8)}, "altitudes: .*must rise"),
    ({"altitudes": (1e5, 2e5), "densities": (1e-9,)}, "densities: .*wanted 2, one an altitude"),
    ({"altitudes": (1e5, 2e5), "densities": (1e-9, -1e-8)}, "densities: "),
    ({"file": "nowhere.csv"}, "file: nowhere.csv: cannot be read"),
)


def test_a_file(tmp_path):
    (tmp_path / "air.csv").write_text("altitude,density\n1e5,1e-7\n5e5,1e-12\n")
    (tmp_path / "case.toml").write_text(
        '[fields.air]\nkind = "atmosphere"\nfile = "air.csv"\n[loads.earth]\nkind = "orbit"\n'
        'semi_major_axis = "6778.137 km"\n[bodies.hub]\nmass = 10\ninertia = [1, 1, 1]\n'
        '[loads.drag]\nkind = "plate_drag"\nbody = "hub"\narea = 1.0\nnormal = [0, 1, 0]\n[run]\nduration = 1.0\n'
    )
    density = femb.simulate(tmp_path / "case.toml").fields["air"].density[0]
    assert density == pytest.approx(10.0**-10.75, rel=1e-6)
