"""Gravity gradient: resultants, closed forms of a boom, libration of a rigid satellite, and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from models import of_parts, refuses, stiff
from oracles.alone import Alone
from oracles.modal_example import Particles

import femb
from femb import Attachment, Beam, GravityGradient, Model, PointMass, RigidBody
from femb.numerics import orbits as kepler
from femb.numerics import rotations
from femb.system.moving_ground import mass_properties
from femb.system.system import System

RATE = 1.1e-3
SECTION = stiff(1e3, 10.0, (10.0, 10.0), 2.0, (2e-9, 1e-9, 1e-9), "boom")


def forces(system, q):
    """Generalised forces (n_v,) of the loads at one state and t = 0."""
    u, out = system.inputs_at(0.0, q, 0.0 * system.v0), np.zeros((1, system.n_v))
    for batch in system.batches:
        Alone(system, batch).nonconservative_force(u[None], q[None], np.zeros((1, system.n_v)), out)
    return out[0]


def test_resultants_of_all_masses():
    """m G (c - origin), and about the mass centre 3 n^2 o x (J o)."""
    radial, origin = np.array([2.0, -1.0, 2.0]) / 3.0, np.array([0.3, -0.2, 0.5])
    model = of_parts(
        RigidBody("hub", 3.0, np.diag([0.5, 0.7, 0.4]), center_of_mass=(0.1, 0.0, 0.2), euler_angles=(0.3, 0.5, 0.9)),
        Beam("arm", SECTION, 2.0, 2, start=Attachment("hub", (0.2, 0.1, 0.0), direction=(1.0, 0.3, 0.2))),
        PointMass("tip", mass=0.4, on=femb.Place(beam="arm")),
        PointMass("free", mass=0.3, position=(2.0, 1.0, 1.0)),
        GravityGradient("orbit", rate=RATE, radial=radial, normal=(1.0, 2.0, 0.0), origin=origin),
    )
    system = System(model)
    mass, centre, J = mass_properties(system)
    got = system.rigid_velocities(system.q0) @ forces(system, system.q0)
    tensor = RATE**2 * (3.0 * np.outer(radial, radial) - np.eye(3))
    wanted = mass * tensor @ (centre - origin)
    np.testing.assert_allclose(got[:3], wanted, rtol=1e-12)
    torque = 3.0 * RATE**2 * np.cross(radial, J @ radial)
    centre -= system.layout.origin
    np.testing.assert_allclose(got[3:] - np.cross(centre, got[:3]), torque, rtol=1e-9, atol=1e-18)


def test_the_origin_is_the_mass_centre_by_default():
    model = Model("all")
    model.add(RigidBody("hub", 3.0, 0.5, center_of_mass=(0.1, 0.0, 0.2), position=(1.0, 2.0, 3.0)))
    model.add(PointMass("free", mass=0.3, position=(2.0, 1.0, 1.0)))
    model.add(GravityGradient("orbit", altitude=500e3))
    system = System(model)
    got = system.rigid_velocities(system.q0)[:3] @ forces(system, system.q0)
    np.testing.assert_allclose(got, 0.0, atol=1e-20)
    later = system.q0 + 0.1 * np.arange(system.n_q)
    system.normalise(later)
    got = system.rigid_velocities(later)[:3] @ forces(system, later)
    np.testing.assert_allclose(got, 0.0, atol=1e-18)
    assert abs(model.loads["orbit"].orbital_rate - 2.0 * np.pi / 5677.0) < 1e-6  # of 94.6 min


@pytest.mark.parametrize("kind", [Beam, femb.ExactBeam])
def test_a_clamped_boom_bends_by_the_closed_form(kind):
    """At an angle to the local vertical: the load across it is triangular, 3 n^2 mu s sin cos, the force at the root
    mu n^2 L^2 (3 cos^2 - 1) / 2."""
    angle, length, n = np.radians(30.0), 3.0, 1e-2
    direction = np.array([np.cos(angle), np.sin(angle), 0.0])
    model = Model("boom")
    model.add(kind("boom", SECTION, length, 4, start=Attachment("ground", direction=direction)))
    model.add(GravityGradient("orbit", rate=n, origin=(0.0, 0.0, 0.0)))
    results = femb.static(model)
    tip = results.beams["boom"].position[-1, -1] - length * direction
    across = np.array([-np.sin(angle), np.cos(angle), 0.0])
    peak = 3.0 * n**2 * 2.0 * length * np.sin(angle) * np.cos(angle)
    np.testing.assert_allclose(tip @ across, -11.0 * peak * length**4 / (120.0 * 10.0), rtol=2e-3)
    force = results.beams["boom"].section_force[-1, 0, 0]
    np.testing.assert_allclose(force[0], 2.0 * n**2 * length**2 / 2.0 * (3.0 * np.cos(angle) ** 2 - 1.0), rtol=5e-3)
    np.testing.assert_allclose(abs(force[1]), 0.5 * peak * length, rtol=5e-3)
    steps = results.beams["boom"].section_force[-1, :, :, 0]
    np.testing.assert_allclose(steps[:-1, 1], steps[1:, 0], atol=1e-6 * np.abs(steps).max())


def test_a_flexible_body_hands_the_field_on_to_its_root():
    """m G c and the torque of the field on a panel at rest on the ground."""
    panel = Particles().reduced()
    model = Model("panel")
    model.add(femb.FlexibleBody("panel", panel, start=Attachment("ground", direction=(1.0, 0.0, 0.0))))
    model.add(GravityGradient("orbit", rate=1e-4, radial=(1.0, 2.0, 2.0), normal=(0.0, 1.0, -1.0), origin=(0, 0, 0)))
    root = femb.static(model).appendages["panel"]
    o = np.array([1.0, 2.0, 2.0]) / 3.0
    about = np.asarray(panel.inertia)
    np.testing.assert_allclose(
        root.force[-1], 1e-8 * (3.0 * o * (o @ panel.first_moment) - panel.first_moment), rtol=1e-5
    )
    np.testing.assert_allclose(root.torque[-1], 3e-8 * np.cross(o, about @ o), rtol=1e-5)


def test_pitch_libration_and_its_audit():
    J = np.array([80.0, 100.0, 30.0])  # roll, pitch, yaw: z along the local vertical, y against the orbit's normal
    model = of_parts(
        RigidBody("satellite", 200.0, np.diag(J), euler_angles=(0.0, 2e-3, 0.0), angular_velocity=(0.0, RATE, 0.0)),
        GravityGradient("orbit", rate=RATE, radial=(0.0, 0.0, 1.0), normal=(0.0, 1.0, 0.0)),
    )
    results = femb.simulate(model, duration=8000.0, output_interval=20.0, rtol=1e-8)
    pitch = np.unwrap(results.bodies["satellite"].euler_angles("yxz")[:, 0]) - RATE * results.time
    omega = RATE * np.sqrt(3.0 * (J[0] - J[2]) / J[1])
    np.testing.assert_allclose(pitch, 2e-3 * np.cos(omega * results.time), atol=1e-7)
    body, load = results.bodies["satellite"], results.loads["orbit"]
    o = np.stack([model.loads["orbit"].vertical(t) for t in results.time])
    own = np.stack([rotations.rotate_back(p, x) for p, x in zip(body.quaternion, o, strict=True)])
    wanted = [
        rotations.rotate(p, 3.0 * RATE**2 * np.cross(x, J * x)) for p, x in zip(body.quaternion, own, strict=True)
    ]
    np.testing.assert_allclose(load.torque, wanted, atol=1e-12)
    kinetic = results.audit.kinetic_energy
    np.testing.assert_allclose(results.audit.work, kinetic - kinetic[0], atol=1e-10)


def test_linearised_pitch_has_the_frequency_of_the_libration_and_the_mass_centre_is_free():
    J = np.array([80.0, 100.0, 30.0])
    model = Model("satellite")
    model.add(RigidBody("satellite", 200.0, np.diag(J), center_of_mass=(0.1, 0.2, 0.3)))
    model.add(GravityGradient("orbit", rate=RATE, radial=(0.0, 0.0, 1.0), normal=(0.0, 1.0, 0.0)))
    space = femb.linearize(model)
    assert space.inputs == ()
    found = np.sort(np.abs(np.linalg.eigvals(space.A)))
    omega = RATE * np.sqrt(3.0 * np.array([J[0] - J[2], J[1] - J[2]]) / J[[1, 0]])  # pitch and roll, axes not rotating
    np.testing.assert_allclose(found[-4:], np.repeat(omega, 2), rtol=1e-6)
    assert found[:-4].max() < 1e-2 * RATE  # of double zeros


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({}, "got none, wanted one of rate, altitude and radius"),
        ({"rate": 1e-3, "altitude": 5e5}, "got rate and altitude, wanted one of"),
        ({"rate": -1e-3}, "rate: got -0.001"),
        ({"rate": 1e-3, "normal": (1.0, 0.0, 1.0)}, "normal: is at 45 deg from 'radial', wanted 90 deg"),
        ({"rate": 1e-3, "radial": (0.0, 0.0, 0.0)}, "radial: got .*, a direction must not be zero"),
        ({"altitude": -7e6}, "altitude: "),
    ],
)
def test_refusals(words, text):
    refuses(text.replace("(", r"\("), GravityGradient, "orbit", **words)


# of which both runs have the same errors
EQUAL_STEPS = {"method": "generalized-alpha", "step": 0.1}


@pytest.mark.parametrize("kind", ["rigid", "flexible"])
def test_it_moves_a_satellite_as_the_gravity_of_an_orbit(kind):
    """On the same circular orbit, to the order of the size over the radius: 3 m over 7000 km."""
    radius, pitch = 7e6, 0.4
    n = np.sqrt(kepler.EARTH / radius**3)

    def ends(load):
        model = Model("satellite")
        hub = RigidBody("hub", 50.0, (3.0, 10.0, 8.0), euler_angles=(0.0, 0.0, pitch), angular_velocity=(0.0, 0.0, n))
        model.add(hub)
        if kind == "flexible":
            # rounding of its strain is far below the force of a few 1e-6 N
            soft = replace(SECTION, axial_stiffness=100.0)
            model.add(Beam("boom", soft, 3.0, 1, start=hub.at((0.0, 0.0, 0.0), direction=(0.0, 1.0, 0.0))))
        model.add(load)
        results = femb.simulate(model, duration=30.0, output_interval=30.0, **EQUAL_STEPS)
        turned = results.bodies["hub"].euler_angles("xyz")[-1, 2] - pitch - n * 30.0
        boom = results.beams.get("boom")
        return (turned,) if boom is None else (turned, boom.deflection[-1, -1], boom.section_force[-1, 0, 0])

    speed = np.sqrt(kepler.EARTH / radius)
    orbit = femb.Orbit("field", position=(radius, 0.0, 0.0), velocity=(0.0, speed, 0.0))
    found = ends(GravityGradient("field", radius=radius)), ends(orbit)
    assert abs(found[0][0]) > 1e-4
    for gradient, gravity in zip(*found, strict=True):
        np.testing.assert_allclose(gradient, gravity, rtol=0.0, atol=1e-6 * np.abs(gravity).max())
