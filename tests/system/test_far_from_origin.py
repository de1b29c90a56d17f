"""Models at orbital distance move as they do at the origin, and all positions that go in and out are inertial."""

from dataclasses import replace

import numpy as np
import pytest
from checkout import CASES
from models import of_parts

from femb import Attachment, Beam, Ground, Load, Model, PointMass, RigidBody, Section
from femb.case import load_case
from femb.elements import AerodynamicLoad, JointEnd, Orbit, PositionDriver, Revolute, SpringDamper, SpringEnd
from femb.elements.marker import Place
from femb.profiles import Versine
from femb.run.simulate import mass_properties, simulate, summary
from femb.run.time_loop import Event
from femb.system.system import System

ORBIT = np.array([4.0e6, -5.0e6, 2.9e6])
METHODS = ("radau", "bdf", "generalized-alpha")


SPEED = np.array([4.5e3, 6.0e3, -4.0e2])


def satellite(at, method="radau", speed=(0.0, 0.0, 0.0), *words):
    position, velocity = ([float(x) for x in vector] for vector in (at, speed))
    case = load_case(
        CASES / "satellite_forced.toml",
        [
            f"bodies.hub.position={position}", f"bodies.hub.velocity={velocity}", f"run.method={method!r}",
            "run.duration=2.0", "run.output_interval=0.05", *words,
        ],
    )  # fmt: skip
    return simulate(case.model, case.run)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("at", [ORBIT, (0.0, 0.0, 1.5e11)])
def test_a_satellite_in_orbit_takes_the_steps_of_one_at_the_origin(method, at):
    """With deflections that are the same to far less than the rounding of its position."""
    here, there = satellite((0.0, 0.0, 0.0), method), satellite(at, method)
    assert there.statistics["steps"] <= here.statistics["steps"] + 2
    for name in ("left", "right"):
        np.testing.assert_allclose(there.beams[name].deflection, here.beams[name].deflection, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(there.beams[name].strain, here.beams[name].strain, rtol=0.0, atol=1e-12)
        rounding = 4.0 * np.spacing(np.max(np.abs(at)))
        np.testing.assert_allclose(
            there.beams[name].position - at, here.beams[name].position, rtol=0.0, atol=max(rounding, 1e-9)
        )
    np.testing.assert_allclose(there.bodies["hub"].position - at, here.bodies["hub"].position, rtol=0.0, atol=rounding)
    np.testing.assert_array_equal(there.audit.energy_error, here.audit.energy_error)
    moved = here.audit.angular_momentum + np.cross(at, here.audit.linear_momentum)
    np.testing.assert_allclose(there.audit.angular_momentum, moved, rtol=1e-12, atol=1e-9 * np.abs(at).max())


@pytest.mark.parametrize(("method", "formulation"), [("bdf", "velocity"), ("radau", "quaternion")])
def test_a_satellite_on_its_orbit_takes_the_steps_of_one_at_rest(method, formulation):
    """Its origin moves along; what is recorded is the inertial motion, and its energy and momenta."""
    words = [f"run.formulation={formulation!r}", "gravity=[0.0, 0.0, -1.0]"]
    here, there = satellite((0.0, 0.0, 0.0), method, (0, 0, 0), *words), satellite(ORBIT, method, SPEED, *words)
    assert there.statistics["steps"] <= here.statistics["steps"] + 2
    path = here.time[:, None] * SPEED
    rounding = 4.0 * np.spacing(5e6)
    for name in ("left", "right"):
        near, far = here.beams[name], there.beams[name]
        np.testing.assert_allclose(far.deflection, near.deflection, rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(far.position - ORBIT - path[:, None], near.position, rtol=0.0, atol=rounding)
        np.testing.assert_allclose(far.velocity - SPEED, near.velocity, rtol=0.0, atol=1e-9)
    near, far = here.bodies["hub"], there.bodies["hub"]
    np.testing.assert_allclose(far.position - ORBIT - path, near.position, rtol=0.0, atol=rounding)
    np.testing.assert_allclose(far.velocity - SPEED, near.velocity, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(far.reference_position - ORBIT, near.reference_position, rtol=0.0, atol=rounding)
    mass = float(np.linalg.norm((there.audit.linear_momentum - here.audit.linear_momentum)[0]) / np.linalg.norm(SPEED))
    before, after = here.audit, there.audit
    momentum = before.linear_momentum + mass * SPEED
    np.testing.assert_allclose(after.linear_momentum, momentum, rtol=1e-13, atol=1e-8)
    carried = 0.5 * mass * SPEED @ SPEED + before.linear_momentum @ SPEED
    np.testing.assert_allclose(after.kinetic_energy, before.kinetic_energy + carried, rtol=1e-13)
    weight = mass * here.time * SPEED[2]
    np.testing.assert_allclose(after.potential_energy, before.potential_energy + weight, rtol=1e-12, atol=1e-6)
    np.testing.assert_allclose(after.energy_error, before.energy_error, rtol=0.0, atol=1e-9)
    total = after.kinetic_energy + after.potential_energy - after.work
    np.testing.assert_allclose(total - total[0], after.energy_error, rtol=0.0, atol=4.0 * np.spacing(total[0]))
    # about the inertial origin: the mass centre moves along, and falls
    fall = np.array([0.0, 0.0, -0.5]) * here.time[:, None] ** 2
    centre = before.linear_momentum[0] / mass * here.time[:, None] + fall
    moved = before.angular_momentum + mass * np.cross(centre, SPEED) + np.cross(ORBIT + path, momentum)
    np.testing.assert_allclose(after.angular_momentum, moved, rtol=1e-11, atol=1e-12 * np.abs(moved).max())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "bdf"])
def test_a_satellite_on_a_curved_orbit_takes_the_steps_of_one_at_rest(method):
    """What its booms differ by is the gradient of gravity: a hundredth of it where the orbit's rate is a tenth."""

    def flown(rate):
        case = load_case(CASES / "satellite_forced.toml", ["run.duration=2.0", "run.output_interval=0.05"])
        if rate:
            radius = 7e6 / rate
            speed, mu = 7546.0, 7546.0**2 * radius
            case.model.add(Orbit("earth", position=(radius, 0.0, 0.0), velocity=(0.0, speed, 0.0), mu=mu))
        return simulate(case.model, replace(case.run, method=method))

    here, there, slow = flown(0.0), flown(1.0), flown(0.1)
    assert abs(there.statistics["steps"] - here.statistics["steps"]) <= 0.05 * here.statistics["steps"]
    apart = [np.abs(each.beams["left"].deflection - here.beams["left"].deflection) for each in (there, slow)]
    for each in apart:
        assert each.max() < 1e-7 * np.abs(here.beams["left"].deflection).max()
    # at the end, where the gradient has acted longest; rounding of the step lengths shows for a while after the pulse
    assert apart[1][-1].max() < 0.02 * apart[0][-1].max()
    assert np.abs(there.bodies["hub"].position).max() < 1.0
    np.testing.assert_allclose(np.linalg.norm(there.loads["earth"].position, axis=1), 7e6, rtol=1e-12)


def test_what_stays_behind_keeps_the_origin_at_rest():
    """A fixed frame, a part that does not move along, or air; slow models too."""

    def moving(*items, speed=(7.5e3, 0.0, 0.0)):
        model = of_parts(RigidBody("hub", mass=5.0, inertia=1.0, position=ORBIT, velocity=speed), *items)
        return System(model).layout.origin_velocity

    np.testing.assert_array_equal(moving(), (7.5e3, 0.0, 0.0))
    assert not moving(speed=(50.0, 0.0, 0.0)).any()
    assert not moving(PointMass("left_behind", mass=1.0, position=ORBIT)).any()
    assert not moving(Ground("site", position=ORBIT)).any()
    assert not moving(AerodynamicLoad("drag", body="hub", force_by_velocity=-np.eye(3))).any()


def test_loads_see_inertial_velocities():
    seen = []
    model = Model("seen")
    model.add(RigidBody("hub", mass=5.0, inertia=1.0, position=ORBIT, velocity=SPEED))

    def force(t, state):
        seen.append((t, state.bodies["hub"].position, state.bodies["hub"].velocity))
        return np.zeros(3)

    model.add(Load("look", body="hub", force=force))
    simulate(model, duration=1.0, output_interval=1.0)
    for t, position, velocity in seen:
        np.testing.assert_allclose(velocity, SPEED, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(position, ORBIT + t * SPEED, rtol=0.0, atol=4e-9)


def boom():
    return Section("boom", 1e-4, (1e-9, 1e-9), 2e-9, 2700.0, 7e10, 2.6e10, damping=1e-4)


def everything(at, seen=None):
    """A body on a boom, with a hinge, springs to space and to a body, a driver and a load that looks at positions."""
    at = np.asarray(at, dtype=float)

    def pull(t, state):
        offset = state.bodies["hub"].position - at
        if seen is not None:
            seen.append(state.beams["arm"].nodes[-1].position - at)
        return -3.0 * offset - 0.2 * state.bodies["hub"].velocity

    hub = RigidBody("hub", mass=5.0, inertia=(1.0, 1.2, 0.8), position=at + np.array([0.25, 0.5, 0.0]))
    return of_parts(
        Ground("site", position=at), hub,
        Beam("arm", section=boom(), length=1.0, elements=2, start=hub.at((0.1, 0, 0), direction=(1, 0, 0))),
        PointMass("bob", mass=0.5, position=at + np.array([0.0, 0.0, 0.5])),
        RigidBody("flap", mass=0.2, inertia=0.01, center_of_mass=(0, 0.1, 0)),
        Revolute("hinge", JointEnd("hub", at=(0, 0.2, 0), axis=(0, 0, 1)), JointEnd("flap"), start=0.3),
        SpringDamper(
            "s", SpringEnd(body="bob"), SpringEnd(anchor=at + np.array([0.0, 0.0, 1.0])), stiffness=50.0,
            free_length=0.4,
        ), SpringDamper("t", SpringEnd(body="hub"), SpringEnd(body="site"), stiffness=20.0, damping=1.0),
        PositionDriver("guide", first=Place("site"), second=Place("bob"), x=lambda t: (0.1 * t * t, 0.2 * t, 0.2)),
        Load("pull", body="hub", force=pull), Load("twist", body="hub", torque=(0, 0, 1.0), profile=Versine(0.5)),
        gravity=(0, 0, -1.0),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["velocity", "quaternion"])
def test_everything_that_takes_or_gives_positions(formulation):
    at = np.array([7e6, 1.0, -3e6])
    # The choice of steps amplifies rounding: at rtol = 1e-5 a hub moved by 1e-13 m at the origin itself changes the
    # deflection by 3e-8 m, a tenth of the error of the run. At 1e-7 the error is below 5e-10 m.
    run = {"duration": 0.3, "output_interval": 0.1, "rtol": 1e-7, "formulation": formulation}
    looked: list = []
    here, there = simulate(everything((0.0, 0, 0)), **run), simulate(everything(at, looked), **run)
    assert np.abs(looked).max() < 3.0
    # numbers that are given at a distance are rounded, and the load takes differences of rounded positions
    rounding = 20.0 * np.spacing(7e6)
    for name in ("hub", "bob", "flap", "site"):
        np.testing.assert_allclose(there.bodies[name].position - at, here.bodies[name].position, atol=rounding)
    np.testing.assert_allclose(there.beams["arm"].position - at, here.beams["arm"].position, atol=rounding)
    np.testing.assert_allclose(
        there.beams["arm"].reference_position - at, here.beams["arm"].reference_position, atol=1e-8
    )
    np.testing.assert_allclose(there.beams["arm"].deflection, here.beams["arm"].deflection, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(there.joints["hinge"].coordinates, here.joints["hinge"].coordinates, atol=1e-7)
    np.testing.assert_allclose(there.springs["s"].length, here.springs["s"].length, atol=rounding)
    assert there.audit.constraint_position.max() < 1e-8
    assert np.abs(there.audit.energy_error).max() < np.abs(here.audit.energy_error).max() + 1e-6
    assert there.statistics["steps"] <= 2 * here.statistics["steps"]


@pytest.mark.parametrize("formulation", ["reduced", "hamiltonian"])
def test_trees_of_rigid_bodies(formulation):
    def tree(at):
        model = Model("tree")
        model.add(RigidBody("hub", mass=5.0, inertia=(1.0, 1.2, 0.8), position=at, angular_velocity=(0.1, 0.5, 0.2)))
        model.add(RigidBody("flap", mass=0.2, inertia=0.01, center_of_mass=(0, 0.1, 0)))
        model.add(Revolute("hinge", JointEnd("hub", at=(0, 0.2, 0), axis=(0, 0, 1)), JointEnd("flap"), start=0.3))
        return model

    run = {"duration": 1.0, "output_interval": 0.1, "method": "rk", "rtol": 1e-9, "formulation": formulation}
    here, there = simulate(tree(np.zeros(3)), **run), simulate(tree(ORBIT), **run)
    assert there.statistics["steps"] == here.statistics["steps"]
    for name in ("hub", "flap"):
        np.testing.assert_allclose(there.bodies[name].position - ORBIT, here.bodies[name].position, atol=4e-9)
        np.testing.assert_allclose(there.bodies[name].quaternion, here.bodies[name].quaternion, rtol=0.0, atol=1e-12)


def test_a_free_beam_and_the_mass_centre():
    model = of_parts(Beam("b", section=boom(), length=2.0, elements=2, start=Attachment(at=ORBIT, direction=(1, 0, 0))))
    system = System(model)
    mass, centre, inertia = mass_properties(system)
    np.testing.assert_allclose(centre, ORBIT + np.array([1.0, 0, 0]), rtol=0.0, atol=4e-9)
    assert inertia[1, 1] == pytest.approx(mass * 4.0 / 12.0, rel=1e-3)
    assert "mass centre at (4e+06, -5e+06, 2.9e+06) m" in summary(model)


def test_an_event_sees_inertial_positions():
    model = of_parts(PointMass("m", mass=1.0, position=ORBIT, velocity=(1.0, 0, 0)))
    event = Event("passed", lambda t, state: state.bodies["m"].position[0] - (ORBIT[0] + 0.5))
    assert simulate(model, duration=1.0, events=(event,)).time[-1] == pytest.approx(0.5, abs=2e-9)


def test_models_near_the_origin_are_counted_from_there():
    """As are those that are as large as their distance."""
    for positions in ([(3.0, 2.0, 1.0)], [(900.0, 0, 0)], [(5000.0, 0, 0), (0.0, 0, 0)]):
        model = of_parts(*(PointMass(f"m{k}", mass=1.0, position=position) for k, position in enumerate(positions)))
        assert not System(model).layout.origin.any()


@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), (3.0, -1.0, 2.0)])
def test_inertia_is_about_the_mass_centre_wherever_the_model_is(at):
    """Two points, of the reduced mass and their distance."""
    model, gap = Model(), np.array([0.4, -0.2, 0.1])
    for name, mass, place in (("one", 2.0, np.array(at)), ("other", 3.0, np.array(at) + gap)):
        model.add(PointMass(name, mass=mass, position=tuple(place)))
    mass, centre, inertia = mass_properties(System(model))
    assert mass == pytest.approx(5.0)
    np.testing.assert_allclose(centre, np.array(at) + 0.6 * gap, atol=1e-13)
    np.testing.assert_allclose(inertia, 1.2 * (gap @ gap * np.eye(3) - np.outer(gap, gap)), atol=1e-13)
