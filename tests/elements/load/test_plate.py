"""Plates in sunlight and in thin air: closed forms, eclipses, orbits, stability, refusals."""

import numpy as np
import pytest
from models import of_parts, refuses

import femb
from femb.elements.load.plate import SUNLIGHT
from femb.profiles import Repeat, Step

AREA = 3.0


def body_with(*items, **words):
    return of_parts(femb.RigidBody("hub", **({"mass": 10.0, "inertia": 2.0} | words)), *items)


def force_of(item, **words):
    """At the start."""
    return femb.simulate(body_with(item, **words), duration=1e-3).loads[item.name].force[0]


# Sunlight


@pytest.mark.parametrize(
    ("optics", "angle", "wanted"),
    [
        ({}, 0.0, lambda n, e, c: -e),
        ({}, 0.7, lambda n, e, c: -c * e),
        ({"specular": 1.0}, 0.7, lambda n, e, c: -2.0 * c**2 * n),
        ({"diffuse": 1.0}, 0.7, lambda n, e, c: -c * (e + 2.0 / 3.0 * n)),
        ({"diffuse": 1.0}, 0.0, lambda n, e, c: -5.0 / 3.0 * n),
        ({"specular": 0.3, "diffuse": 0.2}, 2.0, lambda n, e, c: 0.0 * n),
    ],
)
def test_optics(optics, angle, wanted):
    """What absorbs, mirrors and scatters, at any angle; nothing from behind."""
    n, e = np.array([0.0, 0.0, 1.0]), np.array([np.sin(angle), 0.0, np.cos(angle)])
    found = force_of(femb.SolarPressure("sun", AREA, n, 2.0 * e, body="hub", **optics))
    np.testing.assert_allclose(found, SUNLIGHT * AREA * wanted(n, e, np.cos(angle)), rtol=1e-9, atol=1e-15)


def test_the_other_side():
    words = {"normal": (0, 0, 1), "body": "hub", "specular": 0.3, "diffuse": 0.2}
    front = force_of(femb.SolarPressure("sun", AREA, sun=(0.3, 0.0, 1.0), **words))
    back = force_of(femb.SolarPressure("sun", AREA, sun=(-0.3, 0.0, -1.0), two_sided=True, **words))
    np.testing.assert_allclose(back, -front, rtol=1e-9)


def test_eclipses():
    """A factor that is zero in the shadow: the momentum is pressure, area and lit time; steps end at its edges."""
    lit = Repeat(profile=Step(start=0.0, duration=61.0), period=90.0, count=3)
    model = body_with(femb.SolarPressure("sun", AREA, (1, 0, 0), (1, 0, 0), body="hub", profile=lit))
    results = femb.simulate(model, duration=270.0, output_interval=10.0, rtol=1e-8)
    momentum = 10.0 * results.bodies["hub"].velocity[-1, 0]
    np.testing.assert_allclose(momentum, -SUNLIGHT * AREA * 3 * 61.0, rtol=1e-9)
    force = results.loads["sun"].force[:, 0]
    np.testing.assert_allclose(force[results.time % 90.0 > 61.0], 0.0)
    assert np.abs(results.audit.energy_error).max() < 1e-12


@pytest.mark.parametrize("kind", ["orbit", "gravity_gradient"])
def test_eclipses_of_an_orbit(kind):
    """The shadow of the Earth, a cylinder: the dark part of a circle, and the momentum over a revolution and more."""
    radius, mu, earth = 6878e3, 3.986004418e14, 6378137.0
    rate = np.sqrt(mu / radius**3)
    period, dark = 2.0 * np.pi / rate, 2.0 * np.arcsin(earth / radius) / rate
    if kind == "orbit":
        orbit = femb.Orbit("earth", position=(radius, 0, 0), velocity=(0, radius * rate, 0))
    else:
        orbit = femb.GravityGradient("earth", radius=radius)
    entry = 0.75 * period - 0.5 * dark  # the sun is ahead at the start: it is dark about three quarters of the way
    plate = femb.SolarPressure("sun", AREA, (0, 1, 0), (0, 1, 0), body="hub", eclipse=True)
    model = body_with(orbit, plate, mass=1e6, inertia=1e6)
    (lit,) = (each for each in femb.System(model).inputs if each.label == "loads.sun.profile")
    for t, wanted in ((0.0, 1.0), (entry - 1e-3, 1.0), (entry + 1e-3, 0.0), (entry + dark - 1e-3, 0.0)):
        assert lit.function(t + 3.0 * period) == wanted
    end = entry + dark + period
    results = femb.simulate(model, duration=end, output_interval=10.0, rtol=1e-8)
    force = results.loads["sun"].force[:, 1]
    light = (results.time % period < entry) | (results.time % period > entry + dark)
    away = np.abs((results.time % period)[:, None] - [entry, entry + dark]).min(axis=1) > 1e-6
    np.testing.assert_allclose(force[away], np.where(light, -SUNLIGHT * AREA, 0.0)[away], rtol=1e-12)
    # the work of a constant force over the way, as the audit has it, by its mean power
    assert np.abs(results.audit.energy_error).max() < 1e-12
    always = body_with(
        orbit, femb.SolarPressure("sun", AREA, (0, 0, 1), (0, 0, 1), body="hub", eclipse=True), mass=1e6, inertia=1e6
    )
    assert femb.System(always).breakpoints == []


@pytest.mark.parametrize("phase", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("dark", [20.0, 4.0, 0.5])
def test_short_eclipses(dark, phase):
    """Much shorter than a look at 1/720 of the orbit: where the shadow is only grazed, by the tilt of the sun."""
    radius, mu, earth = 6878e3, 3.986004418e14, 6378137.0
    rate = np.sqrt(mu / radius**3)
    # a height of the sun over the plane at which cos(half) has the distance of the edge of the cylinder
    half = 0.5 * dark * rate
    tilt = np.arccos(np.sqrt(1.0 - (earth / radius) ** 2) / np.cos(half))
    sun = np.array([np.cos(tilt), 0.0, np.sin(tilt)])
    angle = 2.0 * np.pi * (phase + 0.4321 / 720.0)
    orbit = femb.Orbit("earth", semi_major_axis=radius, anomaly=angle)
    plate = femb.SolarPressure("sun", AREA, sun, sun, body="hub", eclipse=True)
    edges = np.array(femb.System(body_with(orbit, plate)).breakpoints[:4])
    period, middle = 2.0 * np.pi / rate, (np.pi - angle) / rate % (2.0 * np.pi / rate)
    wanted = np.sort(np.concatenate([middle + shift - period + 0.5 * dark * np.array([-1.0, 1.0])
                                     for shift in period * np.arange(-1.0, 5.0)]))  # fmt: skip
    first = int(np.argmin(np.abs(wanted - edges[0])))
    np.testing.assert_allclose(edges, wanted[first : first + 4], rtol=0.0, atol=1e-3)


def test_eclipses_are_refused():
    plate = femb.SolarPressure("sun", AREA, (0, 1, 0), (0, 1, 0), body="hub", eclipse=True)
    refuses(r"loads\.sun: has eclipses, but the model has no orbit", femb.System, body_with(plate))
    away = femb.Orbit("earth", position=(7e6, 0, 0), velocity=(0, 12e3, 0))
    refuses(r"loads\.sun: has eclipses, but the orbit is not closed", femb.System, body_with(away, plate))


def test_offset_of_the_centre():
    """The torque about the mass centre is that of the force at the plate's centre."""
    model = body_with(femb.SolarPressure("sun", AREA, (1, 0, 0), (1, 0, 0), body="hub", at=(0.0, 2.0, 1.0)))
    results = femb.simulate(model, duration=1.0)
    rate = results.bodies["hub"].angular_velocity[-1]
    np.testing.assert_allclose(rate, np.cross((0, 2, 1), (-1, 0, 0)) * SUNLIGHT * AREA / 2.0, rtol=1e-6, atol=1e-12)


# Air

DENSITY, SPEED = 4e-12, 7.6e3


def test_drag():
    """Against the velocity, by the area across it; nothing on the lee side."""
    half = 0.5 * DENSITY * 2.2 * AREA * SPEED**2
    for angle, sign in ((0.0, 1.0), (0.6, 1.0), (2.5, 0.0)):
        n = (np.cos(angle), np.sin(angle), 0.0)
        plate = femb.PlateDrag("air", AREA, n, DENSITY, body="hub", wind=(-SPEED, 0, 0))
        np.testing.assert_allclose(force_of(plate), [-sign * half * np.cos(angle), 0, 0], rtol=1e-6, atol=1e-15)
    plate = femb.PlateDrag("air", AREA, (-1, 0, 0), DENSITY, body="hub", two_sided=True)
    np.testing.assert_allclose(force_of(plate, velocity=(SPEED, 0, 0)), [-half, 0, 0], rtol=1e-6, atol=1e-15)


def test_drag_in_orbit():
    """The velocity of the origin counts, less that of the air, which turns with the Earth."""
    orbit = femb.Orbit("earth", position=(6778e3, 0.0, 0.0), velocity=(0.0, 7.6e3, 0.0))
    for rotation in (0.0, 7.2921159e-5):
        plate = femb.PlateDrag("air", AREA, (0, 1, 0), DENSITY, body="hub", rotation=rotation)
        model = body_with(orbit, plate)
        force = femb.simulate(model, duration=1.0).loads["air"].force[0]
        speed = 7.6e3 - rotation * 6778e3
        np.testing.assert_allclose(force, [0, -0.5 * DENSITY * 2.2 * AREA * speed**2, 0], rtol=1e-9, atol=1e-15)


def test_weathervane():
    """A plate behind the mass centre turns the body into the flow, with the frequency sqrt(F L/J)."""
    plate = femb.PlateDrag("air", AREA, (1, 0, 0), DENSITY, body="hub", at=(-5.0, 0, 0), wind=(-SPEED, 0, 0))
    space = femb.linearize(body_with(plate, mass=1e6))
    force = 0.5 * DENSITY * 2.2 * AREA * SPEED**2
    rates = np.sort(np.abs(np.linalg.eigvals(space.A).imag))
    np.testing.assert_allclose(rates[-4:], np.sqrt(force * 5.0 / 2.0), rtol=1e-6)


def test_a_stream_stops_a_body_along_it_twice_as_fast_as_across():
    """F = -h (n.w) w with h = rho c A/2: a plate that faces the stream w = S n gives the decays h S/m (2, 1, 1)."""
    speed, density = 2.0, 1.0
    space = femb.linearize(body_with(femb.PlateDrag("air", AREA, (1, 0, 0), density, body="hub", wind=(-speed, 0, 0))))
    decays = np.sort(-np.linalg.eigvals(space.A).real)[-3:]
    np.testing.assert_allclose(decays, 0.5 * density * 2.2 * AREA * speed / 10.0 * np.array([1.0, 1.0, 2.0]), rtol=1e-9)


# Refusals


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"area": 0.0}, "area: "),
        ({"normal": (0.0, 0.0, 0.0)}, "normal: got .*, a direction must not be zero"),
        ({"sun": (0.0, 0.0, 0.0)}, "sun: got .*, a direction must not be zero"),
        ({"pressure": -1.0}, "pressure: "),
        ({"specular": -0.1}, "specular: "),
        ({"specular": 0.7, "diffuse": 0.4}, r"diffuse: got 0\.7 \+ 0\.4 of the light, wanted at most 1 together"),
        ({"body": None}, "wanted one of the two"),
    ],
)
def test_refusals(words, text):
    given = {"name": "sun", "area": AREA, "normal": (1, 0, 0), "sun": (1, 0, 0), "body": "hub"}
    refuses(text, femb.SolarPressure, **given | words)


def test_refusals_of_drag():
    for words, text in (({"density": 0.0}, "density: "), ({"coefficient": 0.0}, "coefficient: ")):
        with pytest.raises(femb.ModelError, match=text):
            femb.PlateDrag(**{"name": "air", "area": AREA, "normal": (1, 0, 0), "density": 1.0, "body": "hub"} | words)
    with pytest.raises(femb.ModelError, match=r"loads\.air: is on 'ground', which is fixed"):
        femb.System(body_with(femb.PlateDrag("air", AREA, (1, 0, 0), DENSITY, body="ground")))
