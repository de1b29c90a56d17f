"""Magnetic torquers and fields: numbers of the dipole, torque along an orbit, commands, linear models, refusals."""

import numpy as np
import pytest
from long_runs import slow_but
from models import of_parts, refusals, refuses

import femb
from femb.elements.environment.field import magnetic_field
from femb.numerics import rotations

RADIUS = 6878e3
MU = 3.986004418e14
SPEED = np.sqrt(MU / RADIUS)


def field_at(model, t, position):
    return magnetic_field(model, ("fields",))(t, position)


def in_orbit(*items, normal=(0.0, -1.0, 0.0), **words):
    """A satellite on a circular orbit that begins on the inertial x axis."""
    return of_parts(
        femb.RigidBody("hub", mass=50.0, inertia=(3.0, 4.0, 5.0), **words),
        femb.Orbit("earth", position=(RADIUS, 0.0, 0.0), velocity=tuple(SPEED * np.cross(normal, (1, 0, 0)))),
        *items,
    )


def test_dipole():
    """At 6878 km without tilt: north at the equator, twice as much and down at the pole."""
    model = in_orbit(femb.DipoleField("earth"))
    quarter = 0.25 * 2.0 * np.pi * RADIUS / SPEED
    equator, pole = (field_at(model, t, np.zeros(3)) for t in (0.0, quarter))
    np.testing.assert_allclose(equator, [0.0, 0.0, 2.38062e-5], rtol=1e-5, atol=1e-15)
    np.testing.assert_allclose(pole, [0.0, 0.0, -4.76125e-5], rtol=1e-5, atol=1e-12)
    # falls with the cube of the distance
    higher = field_at(model, 0.0, np.array([RADIUS, 0.0, 0.0]))
    np.testing.assert_allclose(higher, equator / 8.0, rtol=1e-13)


def test_tilted_dipole_turns():
    """Above its own northern pole the field is down, also hours later; it has no divergence and no curl."""
    field = femb.DipoleField("earth", tilt=0.164, longitude=-1.267)
    model = in_orbit(field)
    orbit = model.loads["earth"]
    for t in (0.0, 12345.0):
        angle = -1.267 + 7.2921159e-5 * t
        pole = np.array([np.sin(0.164) * np.cos(angle), np.sin(0.164) * np.sin(angle), np.cos(0.164)])
        np.testing.assert_allclose(field.axis(t), -pole, atol=1e-14)
        above = field_at(model, t, RADIUS * pole - orbit.position_at(t))
        np.testing.assert_allclose(above, -2.0 * field.strength / RADIUS**3 * pole, rtol=1e-12, atol=1e-15)
    at, h = np.array([1e5, -2e5, 3e5]), 1e3
    gradient = np.array(
        [(field_at(model, 0.0, at + h * e) - field_at(model, 0.0, at - h * e)) / (2 * h) for e in np.eye(3)]
    )
    assert abs(np.trace(gradient)) < 1e-6 * np.abs(gradient).max()
    np.testing.assert_allclose(gradient, gradient.T, atol=1e-6 * np.abs(gradient).max())


def test_a_gravity_gradient_is_an_orbit_too():
    circular, model = femb.Model("a"), in_orbit(femb.DipoleField("earth"))
    circular.add(femb.GravityGradient("earth", radius=RADIUS, normal=(0.0, -1.0, 0.0)))
    circular.add(femb.DipoleField("earth"))
    for t in (0.0, 1000.0):
        found = field_at(circular, t, np.zeros(3))
        np.testing.assert_allclose(found, field_at(model, t, np.zeros(3)), rtol=1e-9)


@pytest.mark.parametrize("formulation", slow_but(["velocity"], ["velocity", "quaternion", "reduced"]))
def test_torque_along_an_orbit(formulation):
    """The torque is m x B in axes of the body, its integral the change of the angular momentum."""
    items = femb.DipoleField("earth", tilt=0.164), femb.MagneticTorquer("x", (1, 2, 0), body="hub", dipole=20.0)
    model = in_orbit(*items, angular_velocity=(0.02, 0.03, -0.01))
    # without gravity's torque
    model.remove(model.bodies["hub"])
    model.add(femb.RigidBody("hub", mass=50.0, inertia=4.0, angular_velocity=(0.02, 0.03, -0.01)))
    results = femb.simulate(model, duration=600.0, output_interval=1.0, formulation=formulation, rtol=1e-9)
    torquer, hub = results.magnetic_torquers["x"], results.bodies["hub"]
    inertial = rotations.rotate(hub.quaternion, torquer.field)
    np.testing.assert_allclose(inertial, results.fields["earth"].field, atol=1e-18)
    moment = 20.0 * np.array([1.0, 2.0, 0.0]) / np.sqrt(5.0)
    np.testing.assert_allclose(torquer.torque, np.cross(moment, torquer.field), atol=1e-18)
    torque = rotations.rotate(hub.quaternion, torquer.torque)
    # Simpson's rule over the whole run
    weights = np.ones(len(torque))
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    change = results.audit.angular_momentum[-1] - results.audit.angular_momentum[0]
    np.testing.assert_allclose(weights @ torque / 3.0, change, rtol=1e-6, atol=1e-9)
    assert np.abs(results.audit.energy_error).max() < 1e-9


def compass(*items, **words):
    return of_parts(
        femb.RigidBody("needle", mass=0.1, inertia=0.01),
        femb.UniformField("lab", field=(5e-5, 0.0, 0.0)),
        femb.MagneticTorquer("m", (2.0, 0.0, 0.0), body="needle", **words),
        *items,
    )


def test_small_motions():
    """A compass needle swings with sqrt(m b/J); the input is the torque of a unit dipole."""
    space = femb.linearize(compass(dipole=2.0))
    rates = np.sort(np.abs(np.linalg.eigvals(space.A).imag))
    np.testing.assert_allclose(rates[-4:], np.sqrt(2.0 * 5e-5 / 0.01), rtol=1e-9)
    turned = compass()
    turned.remove(turned.bodies["needle"])
    turned.add(femb.RigidBody("needle", mass=0.1, inertia=0.01, euler_angles=(0.0, 0.0, 0.3)))
    space = femb.linearize(turned, outputs=("bodies.needle.angular_velocity",))
    assert space.inputs == ("magnetic_torquers.m.dipole",)
    np.testing.assert_allclose((space.C @ space.B)[:, 0], [0.0, 0.0, -5e-5 * np.sin(0.3) / 0.01], atol=1e-12)


def test_fields_add_up():
    """Each component with a profile of its own: a field that turns."""
    sine = femb.profiles.Sine(frequency=0.1)
    model = compass(femb.UniformField("y", field=(0.0, 3e-5, 0.0), profile=sine), dipole=0.3)
    results = femb.simulate(model, duration=20.0, output_interval=0.5)
    needle = rotations.rotate(results.bodies["needle"].quaternion, results.magnetic_torquers["m"].field)
    wanted = np.stack([np.full(41, 5e-5), 3e-5 * np.sin(0.2 * np.pi * results.time), np.zeros(41)], axis=1)
    np.testing.assert_allclose(needle, wanted, atol=1e-15)


def test_commands_are_clipped_and_counted():
    model = compass(max_dipole=0.5)
    item, discrete = model.magnetic_torquers["m"], femb.System(model).discrete
    (word,) = item.commands(None)
    assert (item.commands(None)[word].limit, item.commands(None)[word].input) == (0.5, "magnetic_torquers.m.dipole")
    for value, wanted, clips in ((0.3, 0.3, 0.0), (-0.9, -0.5, 1.0), (0.6, 0.5, 2.0)):
        change = item.commanded(word, np.array([value]), 0.0, discrete)
        discrete = discrete.replaced({name: np.asarray(x, dtype=float) for name, x in change.items()})
        assert discrete["magnetic_torquers.m.command"] == wanted
        assert discrete["magnetic_torquers.m.clips"] == clips


test_refusals = refusals(
    lambda words: femb.MagneticTorquer(**{"name": "m", "axis": (1, 0, 0), "body": "hub"} | words),
    ({"axis": (0.0, 0.0, 0.0)}, "axis: got .*, a direction must not be zero"),
    ({"max_dipole": 0.0}, "max_dipole: "),
    ({"body": None}, "wanted one of the two"),
)


def test_refused_in_models():
    torquer = femb.MagneticTorquer("x", (1, 0, 0), body="hub")
    refuses(r"magnetic_torquers\.x: needs a magnetic field, but the model has none", femb.System, in_orbit(torquer))
    alone = of_parts(*(femb.RigidBody("hub", 1.0, 1.0), torquer, femb.DipoleField("earth")))
    refuses(r"fields\.earth: is that of a dipole along an orbit, but the model has no", femb.System, alone)
    refuses("strength", femb.DipoleField, "earth", strength=0.0)
    on_ground = compass(femb.MagneticTorquer("g", (1, 0, 0), body="ground"))
    refuses(r"magnetic_torquers\.g: is on 'ground'", femb.System, on_ground)


def test_a_sampled_controller_commands_dipoles():
    """Held from sample to sample within the limit; the torque is that of the held dipole at the left limit."""
    wanted = (0.3, 0.9, -0.2, -2.0)

    def law(t, y, x):
        return [wanted[int(x[0])]], [x[0] + 1.0]

    magnetometer = femb.Magnetometer("field", body="needle")
    controller = femb.SampledController(
        "law", law, inputs=["sensors.field"], outputs=["magnetic_torquers.m.dipole"], period=1.0, state=[0.0]
    )
    model = compass(magnetometer, controller, max_dipole=0.5, dipole=0.1)
    results = femb.simulate(model, duration=4.0, output_interval=0.5)
    held = [0.1] + [0.1 + min(max(x, -0.5), 0.5) for x in np.repeat(wanted, 2)]
    torquer = results.magnetic_torquers["m"]
    np.testing.assert_allclose(torquer.dipole, held)
    moment = np.array(held)[:, None] * [1.0, 0.0, 0.0]
    np.testing.assert_allclose(torquer.torque, np.cross(moment, torquer.field), atol=1e-18)
    assert torquer.clips.tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 2]


def test_thin_air_is_no_magnetic_field():
    """A torquer beside an atmosphere, of the same table: a run, and the tides of its place along the orbit."""
    hub = femb.RigidBody("hub", mass=10.0, inertia=1.0)
    orbit = femb.Orbit("earth", semi_major_axis=6.878e6)
    air = femb.Atmosphere("air", density=1e-12, altitude=5e5, scale_height=6e4)
    drag = femb.PlateDrag("drag", body="hub", area=1.0, normal=(1, 0, 0))
    torquer = femb.MagneticTorquer("mx", body="hub", axis=(1, 0, 0), max_dipole=20.0)
    model = of_parts(hub, orbit, femb.DipoleField("b"), air, drag, torquer)
    assert femb.simulate(model, duration=1.0).status == "complete"
    rate = np.sqrt(3.986004418e14 / 6.878e6**3)
    growth = np.max(femb.linearize(model).eigenvalues().real)
    assert growth == pytest.approx(np.sqrt(2.0) * rate, rel=1e-4)
