"""Tanks: numbers of the sloshing masses, frequencies, forces and moments of pendulums and springs, refusals."""

import numpy as np
import pytest
from contracts.test_items import EXAMPLES
from models import of_parts, refusals

import femb
from femb.elements.marker import JointEnd
from femb.numerics import rotations

GRAVITY = 9.81
WORDS = {"mass": 471.2, "radius": 0.5, "depth": 0.6, "gravity": GRAVITY, "body": "hub"}
NOTHING = femb.profiles.Constant(0.0)
BOTH = pytest.mark.parametrize("model", ["pendulum", "spring"])


def carried(joint, *items, **words):
    """A hub on a joint to the ground, under gravity, with a tank."""
    model = femb.Model("tank", gravity=(0.0, 0.0, -GRAVITY))
    model.add(femb.RigidBody("hub", mass=50.0, inertia=(3.0, 4.0, 5.0)))
    model.add(joint)
    model.add(femb.SloshingTank("fuel", **WORDS | words))
    for item in items:
        model.add(item)
    return model


def fixed(**words):
    return carried(femb.Fixed("weld", JointEnd("ground"), JointEnd("hub")), **words)


def test_numbers():
    """Equation (12), two modes; and of any number of modes the whole mass, with its centre in the middle."""
    tank = femb.SloshingTank("fuel", modes=2, **WORDS)
    np.testing.assert_allclose(tank.frequencies, [5.93834407, 10.2275279], rtol=1e-8)
    np.testing.assert_allclose(tank.moving_masses, [174.2212978, 5.37120346], rtol=1e-9)
    np.testing.assert_allclose(tank.lengths, [0.27818794, 0.09378376], rtol=1e-7)
    np.testing.assert_allclose(tank.hinges, [0.14249836, 0.20684096], rtol=1e-7)
    for modes in (1, 2, 3):
        tank = femb.SloshingTank("fuel", modes=modes, at=(0.1, 0.2, 0.3), **WORDS)
        rest, *masses = [part for part in tank.parts() if isinstance(part, femb.PointMass)]
        assert rest.mass > 0.0
        np.testing.assert_allclose(rest.mass + sum(each.mass for each in masses), WORDS["mass"], rtol=1e-14)
        moment = rest.mass * (rest.on.at[2] - 0.3) + sum(m.mass * z for m, z in zip(masses, tank.places, strict=True))
        np.testing.assert_allclose(moment, 0.0, atol=1e-12)


@pytest.mark.parametrize("depth", [0.01, 5.0])
def test_shallow_and_deep_liquid(depth):
    """Long waves of a shallow liquid, and what does not depend on the depth of a deep one."""
    tank = femb.SloshingTank("fuel", modes=3, **WORDS | {"depth": depth})
    zeros = np.array([1.841184, 5.331443, 8.536316])
    if depth < 0.1:
        np.testing.assert_allclose(tank.frequencies, zeros / 0.5 * np.sqrt(GRAVITY * depth), rtol=0.01)
    else:
        np.testing.assert_allclose(tank.lengths, 0.5 / zeros, rtol=1e-6)
    assert 0.0 < tank.moving_masses.sum() < WORDS["mass"]


@pytest.mark.slow
@BOTH
def test_frequencies_of_a_fixed_tank(model):
    """Each twice, as the liquid sloshes in any direction; with the ratio of damping of each."""
    for axis in ((0.0, 0.0, 1.0), (0.0, 0.0, 2.0)):
        found = np.linalg.eigvals(femb.linearize(fixed(modes=3, model=model, axis=axis)).A)
        wanted = femb.SloshingTank("fuel", modes=3, **WORDS).frequencies
        np.testing.assert_allclose(np.sort(found.imag)[-6:], np.repeat(wanted, 2), rtol=1e-10)
        assert np.abs(found.real).max() < 1e-6
    found = np.linalg.eigvals(femb.linearize(fixed(modes=3, model=model, damping_ratio=0.02)).A)
    np.testing.assert_allclose(-found.real / np.abs(found), 0.02, rtol=1e-6)
    modes = femb.modes(fixed(modes=3, model=model), start="equilibrium", count=6)
    np.testing.assert_allclose(2.0 * np.pi * np.asarray(modes.frequencies), np.repeat(wanted, 2), rtol=1e-9)


def responses(model, output, load, frequencies):
    space = femb.linearize(model, outputs=(output,), inputs=(load,))
    size = len(space.A)
    at = [space.C @ np.linalg.solve(1j * w * np.eye(size) - space.A, space.B) + space.D for w in frequencies]
    return np.array(at)


FREQUENCIES = np.array([0.7, 4.0, 5.5, 8.0, 11.0, 30.0])


def test_forces():
    """On a hub that slides across the axis: the dynamic mass, for both kinds of model."""
    tank = femb.SloshingTank("fuel", modes=3, **WORDS)
    moving, square = tank.moving_masses, tank.frequencies**2
    rest = 50.0 + WORDS["mass"] - moving.sum()
    mass = rest + np.sum(moving * square / (square - FREQUENCIES[:, None] ** 2), axis=1)
    for model in ("pendulum", "spring"):
        rail = femb.Prismatic("rail", JointEnd("ground", axis=(1, 0, 0)), JointEnd("hub"))
        slid = carried(rail, femb.JointMotor("push", "rail", force=1.0, profile=NOTHING), modes=3, model=model)
        found = responses(slid, "joints.rail.stroke rate", "loads.push.force", FREQUENCIES)
        np.testing.assert_allclose(found[:, 0, 0], 1.0 / (1j * FREQUENCIES * mass), rtol=1e-8)


def test_moments():
    """On a hub that turns about a point below the tank, both kinds of model have the same response."""
    found = []
    for model in ("pendulum", "spring"):
        pin = femb.Revolute("pin", JointEnd("ground", axis=(0, 1, 0)), JointEnd("hub", at=(0.0, 0.0, -0.4)))
        turned = carried(
            pin, femb.JointMotor("push", "pin", force=1.0, profile=NOTHING), modes=3, model=model, at=(0.0, 0.0, 0.7)
        )
        found.append(responses(turned, "joints.pin.angle rate", "loads.push.force", FREQUENCIES))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8)


def test_a_tank_under_thrust():
    """In free flight with the thrust along its axis the pendulums swing as under gravity, about the mass of the hub."""
    thrust = femb.Load("thrust", body="hub", force=(0.0, 0.0, GRAVITY * (1e9 + WORDS["mass"])), frame="body")
    model = of_parts(femb.RigidBody("hub", mass=1e9, inertia=1e9), femb.SloshingTank("fuel", modes=2, **WORDS), thrust)
    found = np.sort(np.linalg.eigvals(femb.linearize(model).A).imag)
    np.testing.assert_allclose(found[-4:], np.repeat([5.93834407, 10.2275279], 2), rtol=1e-5)


@BOTH
def test_motion(model):
    """Small motion in closed form, the record of the masses, and energy; swung by a push of the hub on its rail."""
    rail = femb.Prismatic("rail", JointEnd("ground", axis=(1, 0, 0)), JointEnd("hub"))
    speed = femb.profiles.Polynomial((0.0, 1e-4))
    slid = carried(rail, femb.JointDriver("drive", "rail", speed), model=model)
    results = femb.simulate(slid, duration=2.0, output_interval=0.1, rtol=1e-9)
    omega = femb.SloshingTank("fuel", **WORDS).frequencies[0]
    moved = results.tanks["fuel"].displacement[:, 0]
    np.testing.assert_allclose(moved[:, 0], -1e-4 / omega * np.sin(omega * results.time), atol=1e-9)
    np.testing.assert_allclose(moved[:, 1], 0.0, atol=1e-12)
    assert np.abs(results.audit.energy_error).max() < 1e-6


def test_on_a_beam_and_along_any_axis():
    """On the node of a beam; the masses are where the axis says."""
    model = EXAMPLES[femb.SloshingTank]()
    system = femb.System(model, assemble=True)
    assert not model.problems()
    tank = model.tanks["fuel"]
    section = system.layout.pose(system.layout.station(tank.on))
    for k, mass in enumerate(tank.masses):
        place = section[0] + rotations.rotate(section[1], tank.places[k] * tank.up)
        i = system.layout.frame_q[system.layout.bodies[mass.name]]
        np.testing.assert_allclose(system.q0[i : i + 3], place, atol=1e-12)


test_refusals = refusals(
    lambda words: femb.SloshingTank("fuel", **WORDS | words),
    ({"gravity": 0.0}, "gravity: got 0, must be above 0: in weightlessness"),
    ({"gravity": -9.81}, "gravity: got -9.81, must be above 0"), ({"mass": 0.0}, "mass: "),
    ({"radius": -1.0}, "radius: "), ({"depth": 0.0}, "depth: "), ({"modes": 4}, "modes: "), ({"modes": 0}, "modes: "),
    ({"damping_ratio": -0.1}, "damping_ratio: "),
    ({"axis": (0.0, 0.0, 0.0)}, "axis: got .*, a direction must not be zero"),
    ({"body": None}, "wanted one of the two"), ({"model": "fluid"}, "model: "),
)  # fmt: skip


def test_refused_on_a_point_mass():
    model = of_parts(femb.PointMass("hub", mass=1.0), femb.SloshingTank("fuel", **WORDS))
    assert any("tanks.fuel" in str(problem) and "point mass" in str(problem) for problem in model.problems())


# What tanks need of joints


def test_a_rod_with_a_length_and_an_axis_places_its_body():
    model = femb.Model("rod")
    model.add(femb.RigidBody("hub", 1.0, 1.0, position=(1.0, 2.0, 3.0), euler_angles=(0.0, 0.0, np.pi / 2)))
    model.add(femb.PointMass("bob", 1.0))
    model.add(femb.Distance("rod", JointEnd("hub", at=(0, 0, 1), axis=(2, 0, 0)), JointEnd("bob"), length=0.5))
    system = femb.System(model)
    i = system.layout.frame_q[system.layout.bodies["bob"]]
    np.testing.assert_allclose(system.q0[i : i + 3], [1.0, 2.5, 4.0], atol=1e-14)


@pytest.mark.parametrize("kind", [femb.PointOnLine, femb.PointOnPlane])
def test_a_point_mass_on_a_line_or_a_plane(kind):
    """It needs no axes; the body that has the line does."""
    model = femb.Model("bead", gravity=(0.0, 0.0, -1.0))
    model.add(femb.PointMass("bead", 2.0))
    axis = (1.0, 0.0, -1.0) if kind is femb.PointOnLine else (1.0, 0.0, 1.0)
    model.add(kind("wire", JointEnd("ground", axis=axis), JointEnd("bead")))
    results = femb.simulate(model, duration=1.0, output_interval=0.5)
    np.testing.assert_allclose(results.bodies["bead"].position[-1], [0.25, 0.0, -0.25], atol=1e-9)
    turned = of_parts(femb.PointMass("bead", 2.0), kind("wire", JointEnd("bead", axis=axis), JointEnd("ground")))
    assert any("a point mass, which only takes forces" in str(problem) for problem in turned.problems())


@pytest.mark.parametrize("damping_ratio", [0.0, 0.1])
@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (1.0, -2.0, 0.5)])
@BOTH
def test_the_axes_of_the_host_are_a_choice(model, axis, damping_ratio):
    """A satellite whose body has other axes moves alike, also as the liquid swings far: nothing has a direction across
    the axis of the tank."""
    inertia, places = np.diag([30.0, 50.0, 40.0]), []
    along = np.asarray(axis) / np.linalg.norm(axis)
    for own in ((1.0, 0.0, 0.0, 0.0), (0.3, 0.5, -0.7, 0.4)):
        R = rotations.rotation_matrix(rotations.normalise(np.array(own)))
        words = {"mass": 20.0, "radius": 0.3, "depth": 0.4, "gravity": 1.0, "modes": 2, "damping_ratio": damping_ratio}
        hub = femb.RigidBody(
            "hub", 100.0, R.T @ inertia @ R, quaternion=rotations.normalise(np.array(own)),
            angular_velocity=R.T @ [0.05, -0.1, 0.15],
        )  # fmt: skip
        tank = femb.SloshingTank("fuel", body="hub", at=R.T @ [0.1, 0.2, 0.5], axis=R.T @ along, model=model, **words)
        push = femb.Load("push", body="hub", force=R.T @ (120.0 * along + [10.0, 25.0, -20.0]), frame="body")
        results = femb.simulate(of_parts(hub, tank, push), duration=1.5, output_interval=0.5, rtol=1e-9, atol=1e-10)
        bodies = [results.bodies[name].position for name in ("hub", "fuel_1", "fuel_2")]
        places.append(np.array(bodies))
        swing = np.abs(results.tanks["fuel"].displacement).max()
    assert swing > 0.03
    np.testing.assert_allclose(places[0], places[1], rtol=0.0, atol=1e-7)


def test_the_reduced_form_refuses_pendulums_by_the_name_of_the_tank():
    """Rods have no coordinates; the masses on springs have."""
    words = {"duration": 0.01, "formulation": "reduced", "method": "rk"}
    with pytest.raises(femb.ModelError, match=r"joints\.fuel_1 \(tank_rod\) of tanks\.fuel \(pendulum\) has no coord"):
        femb.simulate(fixed(model="pendulum"), **words)
    assert femb.simulate(fixed(model="spring"), **words).time[-1] == 0.01
