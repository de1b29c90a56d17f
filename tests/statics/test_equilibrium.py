"""Equilibrium at rest and in steady rotation: closed forms, benchmarks with their meshes, no drift afterwards, and what
has no equilibrium."""

import numpy as np
import pytest
from long_runs import slow_but
from models import of_parts, order_of, refusals, refuses, stiff, tape
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from femb import (
    Attachment,
    Beam,
    Cylindrical,
    ExactBeam,
    FembWarning,
    Ground,
    JointDriver,
    Load,
    Model,
    ModelError,
    PointMass,
    Prismatic,
    ReactionWheel,
    RigidBody,
    Run,
    Section,
    SolveError,
)
from femb.elements import (
    JointCoordinate,
    JointEnd,
    JointMotor,
    JointSpringDamper,
    Latch,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from femb.layout.state import State
from femb.numerics import rotations
from femb.profiles import Polynomial
from femb.run.overview import overview
from femb.run.simulate import simulate
from femb.statics.equilibrium import in_equilibrium, steady_start
from femb.statics.solve import Statics
from femb.system.rigid_motion import about_mass_centres
from femb.system.system import System
from femb.vibration.modes import modes

X = (1.0, 0.0, 0.0)


def steady(model):
    """System, q and v of the steady motion."""
    system = System(model)
    return system, *steady_start(system)


def state_of(model):
    system, q, v = steady(model)
    return State(system.layout, 0.0, q, v)


# Steady rotation


def spinning_boom(elements=8, spin=2.0, velocity=(0, -10.0, 0)):
    start = Attachment(at=(-5, 0, 0), direction=X)
    words = {"start": start, "velocity": velocity, "angular_velocity": (0, 0, spin)}
    return of_parts(Beam("boom", section=tape(), length=10.0, elements=elements, **words))


@pytest.mark.parametrize("elements", [1, 2, 8])
def test_spinning_boom(elements):
    """rho w^2 (L^2/4 - x^2) / 2E, exact at the nodes but for the square of the strain and the elements' length."""
    state = state_of(spinning_boom(elements))
    strain = state.beams["boom"].strain
    x = np.linspace(-5.0, 5.0, elements + 1)
    closed = 1600.0 * 2.0**2 * (25.0 - x**2) / (2.0 * 1e11)
    wanted = np.stack([closed[:-1], closed[1:]], axis=1)
    np.testing.assert_allclose(strain, wanted, rtol=0.0, atol=1e-5 * np.max(closed) if elements > 1 else 1e-6)
    stretch = 1600.0 * 4.0 / (2.0 * 1e11) * (25.0 * x - x**3 / 3.0)
    positions = np.array([node.position for node in state.beams["boom"].nodes])
    np.testing.assert_allclose(positions[:, 0], x + stretch, rtol=0.0, atol=1e-11 if elements > 1 else 1e-6)
    np.testing.assert_allclose(positions[:, 1:], 0.0, rtol=0.0, atol=1e-12)


def test_spinning_boom_keeps_its_motion():
    """Velocity of the mass centre and angular velocity of the start; every node turns about the mass centre."""
    model = spinning_boom(velocity=(1.0, -8.0, 3.0))  # the start's; the centre's is (1, 2, 3)
    system, q, v = steady(model)
    momentum = system.energy_momentum(q[None], v[None])[0, 2:5]
    np.testing.assert_allclose(momentum / (1600.0 * 1.2e-4 * 10.0), [1, 2, 3], rtol=1e-12)
    for node in State(system.layout, 0.0, q, v).beams["boom"].nodes:
        np.testing.assert_allclose(
            node.velocity, np.array([1, 2, 3]) + np.cross([0, 0, 2.0], node.position), atol=1e-12
        )
        np.testing.assert_allclose(node.angular_velocity, [0, 0, 2.0], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("options", slow_but([{"rtol": 1e-7}], [{"rtol": 1e-5}, {"rtol": 1e-7}]))
def test_spinning_boom_stays_as_it_is(options):
    """Over two turns the strain stays to its tolerance, and the motion is a steady rotation."""
    results = simulate(spinning_boom(), duration=2 * np.pi, output_interval=0.1, start="equilibrium", **options)
    strain = results.beams["boom"].strain
    assert np.max(strain[0]) == pytest.approx(8e-7, rel=1e-5)
    assert np.max(np.abs(strain - strain[0])) < max(2e-7, 0.1 * options["rtol"])
    tip = results.beams["boom"].position[:, -1]
    angle = 2.0 * results.time
    wanted = tip[0, 0] * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    np.testing.assert_allclose(tip, wanted, rtol=0.0, atol=20.0 * options["rtol"])
    as_given = simulate(spinning_boom(), duration=0.05, output_interval=0.001, rtol=1e-7)
    assert np.ptp(as_given.beams["boom"].strain[:, 3, 1]) > 1e-7  # without it the boom rings


def rotor(spin=(0, 0, 3.0), offset=0.0, **words):
    """A hub with two tapes of different length along x, balanced by a point mass, turning about z."""
    model = Model("rotor", **words)
    hub = model.add(RigidBody("hub", mass=5.0, inertia=(0.2, 0.2, 0.3), angular_velocity=spin))
    long = model.add(Beam("long", section=tape(), length=3.0, elements=4, start=hub.at((0.1, 0, 0), direction=X)))
    model.add(
        Beam("short", section="tape", length=2.0, elements=3, start=hub.at((-0.1, 0, offset), direction=(-1, 0, 0)))
    )
    model.add(PointMass("tip", mass=0.05, on=long.node(-1)))
    return model


def test_steady_rotor_has_no_net_force():
    """In the steady state accelerations are centripetal; residual zero where the closed motion demands it."""
    system, q, v = steady(rotor())
    a = np.zeros(system.n_v)
    momenta = np.array([system.energy_momentum(q[None], each[None])[0, 2:] for each in system.rigid_velocities(q)])
    centre = np.array([momenta[5, 1], momenta[3, 2], momenta[4, 0]]) / momenta[0, 0]
    omega = np.array([0, 0, 3.0])
    for i, j in zip(system.layout.frame_q, system.layout.frame_v, strict=True):
        a[j : j + 3] = np.cross(omega, np.cross(omega, q[i : i + 3] - centre))
        np.testing.assert_allclose(rotations.rotate(q[i + 3 : i + 7], v[j + 3 : j + 6]), omega, atol=1e-12)
    force = system.residual(np.zeros((1, 0)), q[None], v[None], a[None])[0]
    assert np.max(np.abs(force)) < 1e-7
    assert np.max(system.q0[system.layout.internal_q]) == 0.0 < np.min(q[system.layout.internal_q]) + 1e-12
    # tension at the root of the long tape: its own and the tip mass's centripetal force, to the stretch
    x0, line = centre[0], 1600.0 * 1.2e-4
    tension = 9.0 * (line * 3.0 * (1.6 - x0) + 0.05 * (3.1 - x0))
    strain = State(system.layout, 0.0, q, v).beams["long"].strain[0, 0]
    assert strain * 1e11 * 1.2e-4 == pytest.approx(tension, rel=1e-5)


def test_two_structures():
    """Each in its own motion: a spinning boom beside a cantilever at rest."""
    model = spinning_boom()
    model.add(Beam("arm", section="tape", length=1.0, elements=2, start=Ground().at((0, 50, 0), direction=X)))
    model.add(Load("push", beam="arm", force=(0, 0, 0.001)))
    state = state_of(model)
    assert np.max(state.beams["boom"].strain) == pytest.approx(8e-7, rel=1e-5)
    arm = state.beams["arm"].nodes[-1]
    assert arm.position[2] == pytest.approx(0.001 / (3 * 100.0), rel=1e-6)
    assert not np.any(arm.velocity)


@pytest.mark.parametrize("kind", [Beam, ExactBeam])
@pytest.mark.parametrize("stiffness", slow_but([100.0, 0.02], [100.0, 0.1, 0.02]))
@pytest.mark.parametrize("sides", [(1.0,), (1.0, -1.0)])
def test_booms_beside_the_axis(sides, stiffness, kind):
    """Roots 0.1 m beside the axis, so that the rotation bends the booms, by metres where they are soft: every node has
    the acceleration of a rotation at 0.5 rad/s about the mass centre."""
    soft = stiff(1e6, 130.0, (stiffness, stiffness), 0.1, (2e-4, 1e-4, 1e-4), "soft")
    model = Model("beside")
    hub = model.add(RigidBody("hub", mass=20.0, inertia=(2.0, 2.0, 3.0), angular_velocity=(0, 0, 0.5)))
    for side in sides:
        start = hub.at((0.2 * side, 0.1, 0), direction=(side, 0, 0))
        model.add(kind(f"boom{side:+g}", soft, 5.0, 6, start=start))
    system, q, v = steady(model)
    system = about_mass_centres(system.starting_at(q, v))
    a, _ = system.forward(system.inputs_at(0.0, q, system.v0), q, system.v0)
    spin = np.array([0, 0, 0.5])
    for i, j in zip(system.layout.frame_q, system.layout.frame_v, strict=True):
        np.testing.assert_allclose(a[j : j + 3], np.cross(spin, system.v0[j : j + 3]), atol=1e-7)
        np.testing.assert_allclose(a[j + 3 : j + 6], 0.0, atol=1e-5)
        own = rotations.rotate(q[i + 3 : i + 7], system.v0[j + 3 : j + 6])
        np.testing.assert_allclose(own, spin, atol=1e-12)


def in_bearing(kind=ExactBeam, turned="by a driver", gravity=(0.0, 0.0, -9.81), rate=9.0, **load):
    """A blade on a hub in a bearing about z; its frequencies of flap and lag are far apart."""
    model = Model("rotor", gravity=gravity)
    section = {"axial_stiffness": 1e6, "bending_stiffness": (100.0, 1e4), "torsional_stiffness": 1e3}
    model.add(Section("blade", **section, mass_per_length=2.0, inertia_per_length=(3e-3, 1e-3, 2e-3)))
    given = {"angular_velocity": (0.0, 0.0, rate)} if turned == "freely" else {}
    model.add(RigidBody("hub", mass=1.0, inertia=1.0, **given))
    model.add(Revolute("bearing", JointEnd("ground", axis=(0, 0, 1)), JointEnd("hub", axis=(0, 0, 1))))
    if turned != "freely":
        model.add(JointDriver("motor", "bearing", motion=Polynomial((0.0, rate))))
    model.add(kind("blade", "blade", length=3.0, elements=4, start=Attachment("hub", at=(0.2, 0, 0), direction=X)))
    if load:
        model.add(Load("push", **load))
    return model


@pytest.mark.parametrize("turned", ["by a driver", "freely"])
@pytest.mark.parametrize("kind", [Beam, ExactBeam])
def test_a_rotor_in_a_bearing_of_the_ground_turns_steadily(kind, turned):
    """Stretched by its rotation and bent by its weight, it keeps its shape."""
    results = simulate(in_bearing(kind, turned), duration=0.3, output_interval=0.02, start="equilibrium", rtol=1e-9)
    tip = results.beams["blade"].position[:, -1]
    radius, height = np.hypot(tip[:, 0], tip[:, 1]), tip[:, 2]
    assert np.ptp(radius) < 1e-9
    assert np.ptp(height) < 1e-9
    assert height[0] < -0.05
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity, np.tile([0, 0, 9.0], (len(tip), 1)), atol=1e-9)


def test_the_stretch_of_a_driven_rotor():
    """N = m Omega^2 ((r + l)^2 - x^2)/2 along a blade of length l from r, integrated over EA."""
    model = in_bearing(Beam, gravity=(0, 0, 0))
    r, length = 0.2, 3.0
    wanted = 2.0 * 9.0**2 / 2.0 * ((r + length) ** 2 * length - ((r + length) ** 3 - r**3) / 3.0) / 1e6
    system, q, _ = steady(model)
    tip = system.layout.frame_q[system.layout.beams["blade"].stations[-1].frame]
    assert q[tip] - r - length == pytest.approx(wanted, rel=1e-3)  # and the stretch itself adds to the lever


@pytest.mark.slow
def test_what_a_rotor_cannot_keep():
    """A moment about the axis speeds up a rotor that turns freely; its driver carries one. Weight across the axis
    stops the one, and changes as the other turns."""
    push = {"beam": "blade", "force": (0.0, 1.0, 0.0), "frame": "body"}
    with pytest.raises(SolveError, match=r"would need a moment of -3\.2 N m about its axis"):
        steady(in_bearing(turned="freely", gravity=(0, 0, 0), **push))
    driven, _, v = steady(in_bearing(gravity=(0, 0, 0), **push))
    np.testing.assert_allclose(driven.rigid_velocities(driven.q0)[5] * 9.0, driven.v0, atol=1e-12)
    assert np.abs(v).max() > 25.0
    with pytest.warns(FembWarning, match="starts at rest, without its given velocity: hub"):
        in_equilibrium(System(in_bearing(turned="freely", gravity=(9.81, 0, 0))))
    with pytest.raises(ModelError, match="modes: the state is not steady: the weight of 'ground' is across its axis"):
        modes(in_bearing(gravity=(9.81, 0, 0)), 4, start="equilibrium")


def test_wheels_take_part_in_the_momentum_of_a_rotation():
    """A wheel across the axis would tilt the body; one that makes the momentum parallel to the axis holds it there."""

    def turning(product, axis, momentum):
        inertia = ((10.0, 0.0, 0.0), (0.0, 12.0, product), (0.0, product, 14.0))
        hub = RigidBody("hub", mass=50.0, inertia=inertia, angular_velocity=(0.0, 0.0, 0.5))
        wheel = ReactionWheel("wheel", body="hub", axis=axis, spin_inertia=0.01, speed=momentum / 0.01)
        return of_parts(hub, wheel)

    refuses(r"moment about the origin \(0, 0.5, 0\) N m", steady, turning(0.0, X, 1.0), error=SolveError)
    results = simulate(turning(1.0, (0, 1, 0), -0.5), duration=2.0, start="equilibrium", rtol=1e-9)
    np.testing.assert_allclose(np.ptp(results.bodies["hub"].angular_velocity, axis=0), 0.0, atol=1e-9)


def test_a_boom_that_a_driver_turns_on_a_free_hub_begins_without_a_blow():
    """The hub recoils, and no node is left behind: the velocities are those of the start as given."""
    model = Model("satellite")
    model.add(tape())
    model.add(RigidBody("hub", mass=50.0, inertia=5.0))
    model.add(RigidBody("root", mass=0.5, inertia=0.01, position=(0.5, 0, 0)))
    ends = JointEnd("hub", at=(0.5, 0, 0), axis=(0, 0, 1)), JointEnd("root", axis=(0, 0, 1))
    model.add(Revolute("drive", *ends))
    model.add(JointDriver("motor", "drive", motion=Polynomial((0.0, 0.02))))
    model.add(Beam("boom", "tape", length=3.0, elements=3, start=Attachment("root", direction=X)))
    system, _, v = steady(model)
    np.testing.assert_allclose(v, system.v0, atol=1e-12)
    assert np.abs(v).max() > 0.04


def test_change_of_the_forces_of_a_rotation():
    """K + C dv/dq + M da/dq about an axis that stays where it is, against differences of the forces."""
    system = System(rotor(spin=(0.1, -0.2, 3.0)))
    fixed = Statics(system).about_axes(system.q0, 0.7)
    rng = np.random.default_rng(1)
    q = fixed.twin.retract(system.q0, 0.01 * rng.standard_normal(system.n_v), 1.0)
    x, h = rng.standard_normal(system.n_v), 1e-3
    weights = {1: 0.75, 2: -0.15, 3: 1.0 / 60.0}
    wanted = sum(
        weight * (fixed.forces(fixed.twin.retract(q, k * h * x, 1.0), 1.0)[1]
                  - fixed.forces(fixed.twin.retract(q, -k * h * x, 1.0), 1.0)[1]) / h
        for k, weight in weights.items()
    )  # fmt: skip
    K = fixed.matrices(fixed.state(q, 1.0), q, np.zeros(0))[0]
    still = Statics(system).matrices(fixed.state(q, 1.0), q, np.zeros(0))[0]
    change = fixed.twin.pattern.to_csc(K) @ x
    np.testing.assert_allclose(change, wanted, atol=1e-9 * np.max(np.abs(wanted)))
    assert np.max(np.abs(change - fixed.twin.pattern.to_csc(still) @ x)) > 1.0


# Statics


@pytest.mark.parametrize("elements", [1, 2, 4])
def test_cantilever_under_gravity(elements):
    """- rho A g L^4 / 8 E I, exact at the nodes on any mesh; to the square of its slope."""
    model = Model("cantilever", gravity=(0, 0, -9.81e-3))
    model.add(Beam("beam", section=tape(), length=1.0, elements=elements, start=Ground().at(direction=X)))
    nodes = state_of(model).beams["beam"].nodes
    x = np.linspace(0.0, 1.0, elements + 1)
    wanted = -1600.0 * 1.2e-4 * 9.81e-3 / (24.0 * 100.0) * x**2 * (x**2 - 4.0 * x + 6.0)
    np.testing.assert_allclose([node.position[2] for node in nodes], wanted, rtol=0.0, atol=1e-8 * abs(wanted[-1]))


def test_cantilever_at_rest_stays_at_rest():
    model = Model("cantilever", gravity=(0, 0, -9.81))
    model.add(Beam("beam", section=tape(), length=1.0, elements=4, start=Ground().at(direction=X)))
    model.add(Load("tip", beam="beam", force=(1.0, 2.0, -3.0)))
    results = simulate(model, duration=1.0, output_interval=0.01, start="equilibrium")
    beam = results.beams["beam"]
    assert np.max(np.abs(beam.displacement)) < 1e-9
    assert np.max(np.abs(beam.velocity)) < 1e-7
    assert beam.position[0, -1, 2] < -0.008
    root = beam.section_force[0, 0, 0]
    # strains are found to 1e-13, which is 1e-6 N of axial force
    np.testing.assert_allclose(root, [1.0, 2.0, -3.0 - 1600.0 * 1.2e-4 * 9.81], rtol=0.0, atol=1e-6)


def cantilever(elements, length, EA, EI, GJ=1.0, **load):
    """Of stiffnesses; of a length along x, loaded at the tip."""
    moments = np.broadcast_to(EI, 2) / EA
    section = Section("s", 1.0, moments, GJ / EA, 1.0, EA, EA)
    model = Model("cantilever")
    model.add(Beam("beam", section=section, length=length, elements=elements, start=Ground().at(direction=X)))
    model.add(Load("tip", beam="beam", **load))
    return model


def tip(*args, **words):
    """Displacement (3,) and rotation vector (3,) of the tip."""
    node = state_of(cantilever(*args, **words)).beams["beam"].nodes[-1]
    return node.position - [args[1], 0, 0], rotations.logarithm(node.quaternion)


def test_cantilever_with_stretch():
    """A force of 3 E I / L^2 on a thick cantilever; the limit to ten digits, reached with order 4."""
    wanted = np.array([-0.5085373043, 0.0, -1.2072398545])
    E, inertia = 2.07e11, 0.1**4 / 12.0
    counts = np.array([8, 16, 32])
    errors = [np.max(np.abs(tip(n, 2.0, E * 0.01, E * inertia, force=(0, 0, -1293750.0))[0] - wanted)) for n in counts]
    assert errors[0] < 3e-5
    assert errors[2] < 5e-8
    assert order_of(counts, errors) > 3.9


def test_geradin_cardona_cantilever():
    """Dead load of 600 kN; u, w and angle to all digits given with 16 elements."""
    (u, _, w), turn = tip(16, 5.0, 4.8e8, 9.346e6, GJ=1e6, force=(0, 0, -6e5))
    assert -u == pytest.approx(0.5938804, abs=3e-7)
    assert w == pytest.approx(-2.1537615, abs=3e-7)
    np.testing.assert_allclose(turn, [0, 0.6724822, 0], atol=2e-7)


ELASTICA = {  # P L^2/EI: shortening, deflection, angle
    1: (0.0564332, 0.3017208, 0.4613519),
    2: (0.1606417, 0.4934575, 0.7817498),
    5: (0.3876284, 0.7137915, 1.2153681),
    10: (0.5549956, 0.8106090, 1.4302855),
}


@pytest.mark.parametrize("load", ELASTICA)
def test_elastica(load):
    """Inextensible to 1e-8 (slenderness 1e4). There, 16 elements leave 6e-4 L and 32 leave 1.2e-4 L."""
    shortening, deflection, angle = ELASTICA[load]
    errors = []
    for elements in (16, 32):
        moved, turn = tip(elements, 1.0, 1e8, 1.0, force=(0, 0, load))
        errors.append(np.max(np.abs([-moved[0] - shortening, moved[2] - deflection, -turn[1] - angle])))
    assert errors[0] < 7e-4
    assert errors[1] < min(1.3e-4, errors[0] / 3.0)


def rod(load, EA):
    """Tip of an extensible rod with E I = L = 1 under a tip force, by shooting for the root moment."""

    def along(_, y):
        stretch = 1.0 + load * np.sin(y[2]) / EA
        return [stretch * np.cos(y[2]), stretch * np.sin(y[2]), y[3], -stretch * load * np.cos(y[2])]

    def shot(moment):
        return solve_ivp(along, (0, 1), [0, 0, 0, moment], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]

    return shot(brentq(lambda moment: shot(moment)[3], 0.1 * load, load, xtol=1e-13))


@pytest.mark.slow
@pytest.mark.parametrize("load", [1.0, 5.0, 10.0])
def test_extensible_elastica(load):
    """Slenderness 100: order 4, 1e-4 L with 8 elements."""
    np.testing.assert_allclose(1.0 - rod(load, 1e10)[0], ELASTICA[int(load)][0], atol=1e-7)
    wanted = rod(load, 1e4)
    counts = np.array([8, 16, 32])
    errors = []
    for n in counts:
        moved, turn = tip(n, 1.0, 1e4, 1.0, force=(0, 0, load))
        errors.append(np.max(np.abs([1.0 + moved[0] - wanted[0], moved[2] - wanted[1], -turn[1] - wanted[2]])))
    assert errors[0] < 2e-4
    assert order_of(counts, errors) > 3.9


@pytest.mark.parametrize(("turns", "coarse"), [(0.25, 6e-6), (0.5, 1e-4), (1.0, 1.4e-3)])
def test_rolled_by_an_end_moment(turns, coarse):
    """A circle of any part of a turn: u = L (sin t/t - 1), w = L (1 - cos t)/t; 8 elements, and order 4."""
    t = 2.0 * np.pi * turns
    wanted = np.array([np.sin(t) / t - 1.0, 0.0, (1.0 - np.cos(t)) / t])
    counts = np.array([8, 16])
    errors = [np.max(np.abs(tip(n, 1.0, 1e4, 1.0, torque=(0, -t, 0))[0] - wanted)) for n in counts]
    assert errors[0] < coarse
    assert order_of(counts, errors) > 3.7


PRINCETON = {  # degrees from the strong axis, N: edge, flap (mm), twist (rad)
    (30, 4.448): (4.750, 39.947, 0.006670),
    (60, 8.896): (6.653, 129.916, 0.024096),
    (30, 13.345): (16.774, 117.895, 0.058095),
    (90, 13.345): (0.0, 200.684, 0.0),
}


@pytest.mark.parametrize(("degrees", "force"), PRINCETON)
def test_princeton_beam(degrees, force):
    """Bending in both planes with twist, 16 elements: the displacements to 0.03 mm, the turn of the width to 0.2 %."""
    edge, flap, twist = PRINCETON[degrees, force]
    width, thickness, E = 12.3777e-3, 3.2024e-3, 71.7e9
    ratio = thickness / width
    shape = 1.0 / 3.0 - 0.21 * ratio * (1.0 - ratio**4 / 12.0)
    moments = (width * thickness**3 / 12.0, thickness * width**3 / 12.0)
    torsion = shape * width * thickness**3
    section = Section("princeton", width * thickness, moments, torsion, 2800.0, E, E / 2.62)
    model = Model("princeton")
    model.add(Beam("beam", section=section, length=0.508, elements=16, start=Ground().at(direction=X)))
    angle = np.radians(degrees)
    # the width is along y: edgewise displacement along y, flapwise along z
    model.add(Load("tip", beam="beam", force=force * np.array([0, np.cos(angle), np.sin(angle)])))
    node = state_of(model).beams["beam"].nodes[-1]
    assert 1e3 * node.position[1] == pytest.approx(edge, abs=0.03)
    assert 1e3 * node.position[2] == pytest.approx(flap, abs=0.03)
    axes = rotations.rotation_matrix(node.quaternion)
    assert abs(np.arctan2(axes[2, 1], axes[1, 1])) == pytest.approx(twist, rel=2e-3, abs=1e-12)


# What has no equilibrium


test_no_steady_motion = refusals(
    lambda make: steady(make()),
    (lambda: rotor(spin=(0, 0.5, 3.0)), "turn it about a principal axis"),
    (lambda: rotor(spin=(0, 0.001, 3.0)), "turn it about a principal axis"),
    (lambda: rotor(offset=0.3), "turn it about a principal axis"),
    (lambda: rotor(spin=None, gravity=(0, 0, -9.81)), r"of 'hub' would need a net force \(0, 0, 59\) N"),
    error=SolveError,
)


@pytest.mark.slow
@pytest.mark.parametrize("load", [{"force": (0, 0, 1.0)}, {"torque": (0, 0, 0.5)}])
def test_free_structure_under_a_net_load(load):
    model = rotor(spin=None)
    model.add(Load("push", body="hub", **load))
    refuses(
        "no steady motion to start from: the structure of 'hub' would need a net force", steady, model, error=SolveError
    )


def test_free_structure_under_balanced_loads():
    """Two forces that cancel: a free beam pulled at both ends."""
    model = Model("pulled")
    beam = model.add(Beam("beam", section=tape(), length=1.0, elements=3, start=Attachment(direction=X)))
    for node, sign in ((0, -1.0), (-1, 1.0)):
        model.add(Load(f"pull{node}", beam=beam.name, node=node, force=(120.0 * sign, 0, 0)))
    np.testing.assert_allclose(state_of(model).beams["beam"].strain, 120.0 / 1.2e7, rtol=1e-9)


def test_rigid_bodies_alone():
    """A free body may spin about a principal axis, not about another, and without what acts along the axis or about it,
    of which bearings bear the first."""
    body = RigidBody("b", mass=1.0, inertia=(1, 2, 3), angular_velocity=(0, 0, 1.0))
    bearings = Revolute("r", JointEnd("ground", axis=(0, 0, 1)), JointEnd("b", axis=(0, 0, 1)))
    for joints, load, needed in (
        ([], {"force": (0, 0, 1.0)}, "net force .0, 0, -1. N and"),
        ([], {"torque": (0, 0, 1.0)}, "net force .0, 0, 0. N and moment about the origin .0, 0, -1. N m"),
        ([bearings], {"force": (0, 0, 1.0)}, ""),
        ([bearings], {"torque": (0, 0, 1.0)}, "moment of -1 N m about its axis"),
    ):
        model = of_parts(body, *joints, Load("push", body="b", **load))
        if not needed:
            np.testing.assert_allclose(steady(model)[2], [0, 0, 0, 0, 0, 1], atol=1e-12)
        else:
            refuses(f"no steady motion to start from: .* would need a {needed}", steady, model, error=SolveError)
    model = of_parts(RigidBody("b", mass=1.0, inertia=(1, 2, 3), angular_velocity=(0, 0, 1.0), velocity=(1, 0, 0)))
    system, q, v = steady(model)
    np.testing.assert_allclose(q, system.q0, atol=1e-12)
    np.testing.assert_allclose(v, system.v0, atol=1e-12)
    model = of_parts(RigidBody("b", mass=1.0, inertia=(1, 2, 3), angular_velocity=(0, 1.0, 1.0)))
    refuses("principal axis", steady, model, error=SolveError)


def test_load_steps_leave_turns_of_joints_alone():
    """A spring that is wound up by two turns keeps its torque while the load is raised."""
    model = Model("wound up")
    model.add(RigidBody("wheel", 1.0, 0.1, position=(0, 0, 0)))
    model.add(Revolute("axle", Ground().at((0, 0, 0), direction=(0, 0, 1)), JointEnd("wheel")))
    model.add(JointSpringDamper("coil", joint="axle", stiffness=3.0))
    model.add(Load("push", body="wheel", force=(2.0, 0, 0)))
    system = System(model)
    wound = system.with_discrete(system.discrete.with_angles(np.array([4.0 * np.pi])))
    statics = Statics(wound)
    for share in (0.0, 0.5, 1.0):
        (u, _, _), force = statics.forces(wound.q0, share)
        assert np.sum(u) == pytest.approx(4.0 * np.pi + share)
        np.testing.assert_allclose(force[[0, 5]], [-2.0 * share, 3.0 * 4.0 * np.pi], atol=1e-12)


# With joints, drivers, latches and closed loops


def held(model):
    """Joint coordinates in equilibrium, and what is left of accelerations and of the constraints there."""
    system, q, v = steady(model)
    system = system.at(q)
    u = system.inputs_at(0.0, q, v)
    a, _ = system.forward(u, q, v)
    gap = np.max(np.abs(system.constraints(u[None], q[None], v[None])[0]))
    assert np.max(np.abs(v)) == 0.0
    return system.joint_motion(q, v)[0], np.max(np.abs(a)), gap


def pendulum(start=0.4, axis=(0, 1, 0), **joint):
    model = Model("pendulum", gravity=(0, 0, -9.81))
    model.add(RigidBody("rod", mass=2.0, inertia=0.3))
    ends = JointEnd("ground", axis=axis), JointEnd("rod", at=(0, 0, 0.8), axis=axis)
    model.add(Revolute("hinge", *ends, start=(start,), **joint))
    return model


def test_pendulum_pushed_aside():
    """tan(angle) = -F/m g, from far away."""
    model = pendulum(start=1.2)
    model.add(Load("push", body="rod", force=(5.0, 0, 0)))
    angles, acceleration, gap = held(model)
    assert angles[0] == pytest.approx(-np.arctan2(5.0, 2.0 * 9.81), abs=1e-12)
    assert acceleration < 1e-9 > gap


def crane(**words):
    """A payload on a ball joint at the tip of a jib, off its mass centre, so that it hangs, and may spin."""
    model = Model("crane", gravity=(0, 0, -9.81))
    model.add(stiff(1e8, 1e6, (5e6, 5e6), 50.0, (1.0, 0.5, 0.5), "jib"))
    model.add(Beam("jib", "jib", 10.0, 2, start=Attachment("ground", (0, 0, 10), direction=X)))
    model.add(RigidBody("payload", mass=500.0, inertia=(80, 80, 40), **words))
    hook = JointEnd(beam="jib", node=-1), JointEnd("payload", at=(0, 0, 4))
    model.add(Spherical("hook", *hook))
    return model


@pytest.mark.slow
def test_a_payload_hangs_and_keeps_its_turn_about_the_vertical():
    """The turn that nothing resists stays and is said; nothing moves, which the audit takes for no fault."""
    with pytest.warns(FembWarning, match="payload turns about z; the start leaves it where it is") as said:
        results = simulate(crane(euler_angles=(0.0, 0.1, 0.5)), duration=1.0, start="equilibrium", rtol=1e-8)
    assert len(said) == 1
    down = rotations.rotate(results.bodies["payload"].quaternion, np.tile([0.0, 0.0, 1.0], (len(results.time), 1)))
    np.testing.assert_allclose(down, np.tile([0.0, 0.0, 1.0], (len(down), 1)), atol=1e-7)
    turn = results.bodies["payload"].euler_angles()[:, 2]
    np.testing.assert_allclose(turn, turn[0], atol=1e-9)
    assert turn[0] == pytest.approx(0.5, abs=0.01)
    drop = 500.0 * 9.81 * 10.0**3 / (3.0 * 5e6) + 50.0 * 9.81 * 10.0**4 / (8.0 * 5e6)
    assert results.beams["jib"].position[0, -1, 2] == pytest.approx(10.0 - drop, abs=0.01)
    assert "trusted" not in results.message


def test_a_given_velocity_that_the_start_does_not_have_is_said():
    with pytest.warns(FembWarning) as said:
        in_equilibrium(System(crane(angular_velocity=(0.0, 0.0, 1.0))))
    assert "starts at rest, without its given velocity: payload; a motion" in str(said[-1].message)


def test_sprung_hinge_in_its_weight():
    """k angle = m g l cos(angle) of a bar that lies level without weight, with a spring of the joint."""
    model = Model("bar", gravity=(0, 0, -9.81))
    model.add(RigidBody("bar", mass=2.0, inertia=0.3))
    model.add(Revolute("hinge", JointEnd("ground", axis=(0, 1, 0)), JointEnd("bar", at=(-0.8, 0, 0), axis=(0, 1, 0))))
    model.add(JointSpringDamper("spring", "hinge", stiffness=30.0))
    wanted = brentq(lambda x: 30.0 * x - 2.0 * 9.81 * 0.8 * np.cos(x), 0.0, 1.0, xtol=1e-15)
    angles, acceleration, _ = held(model)
    assert angles[0] == pytest.approx(wanted, abs=1e-12)
    assert acceleration < 1e-9


def test_drivers_hold_where_they_begin():
    """A rod hangs on one that a driver holds at its start: its angle stays, the other hangs; then it moves off."""
    model = pendulum()
    model.add(RigidBody("lower", mass=1.0, inertia=0.1))
    ends = JointEnd("rod", at=(0, 0, -0.8), axis=(0, 1, 0)), JointEnd("lower", at=(0, 0, 0.5), axis=(0, 1, 0))
    model.add(Revolute("knee", *ends, start=(0.3,)))
    model.add(JointDriver("drive", joint="hinge", motion=lambda t: (0.4 + 0.1 * t**2, 0.2 * t, 0.2)))
    angles, _, gap = held(model)
    np.testing.assert_allclose(angles, [0.4, -0.4], atol=1e-11)
    assert gap < 1e-12
    results = simulate(model, duration=0.1, start="equilibrium")
    assert results.joints["hinge"].coordinates[-1, 0] == pytest.approx(0.401, abs=1e-6)


def test_closed_loop_in_weight_and_wind():
    """A parallelogram with a spring: one angle, k a = (sum m z)(g_x cos a + g sin a), and dependent rows."""
    from linear.test_linear import four_bar

    g = (1.0, 0.0, -9.81)
    model = of_parts(*four_bar(stiffness=70.0)[0].items(), gravity=g)
    moment = 2.0 * 1.2 * 0.5 + 2.0 * 1.0
    wanted = brentq(lambda x: 70.0 * x - moment * (g[0] * np.cos(x) - g[2] * np.sin(x)), -0.5, 0.5, xtol=1e-15)
    angles, acceleration, gap = held(model)
    assert abs(angles[0]) == pytest.approx(wanted, abs=1e-12)
    assert acceleration < 1e-9 > gap


@pytest.mark.slow
def test_hinged_beam_is_statically_as_by_trim():
    """A flexible bar hung on a hinge and propped by a spring: the state that trim finds in joint coordinates."""
    from femb.linear import trim

    model = Model("boom", gravity=(0, 0, -9.81))
    model.add(RigidBody("hub", mass=1.0, inertia=0.1))
    hub = model.bodies["hub"]
    model.add(Revolute("hinge", JointEnd("ground", axis=(0, 1, 0)), JointEnd("hub", axis=(0, 1, 0))))
    model.add(JointSpringDamper("spring", "hinge", stiffness=3.0))
    model.add(Beam("boom", section=tape(), length=1.0, elements=2, start=hub.at((0.1, 0, 0), direction=X)))
    system, q, _ = steady(model)
    point = trim(model)
    np.testing.assert_allclose(q, point.q, atol=1e-10)
    a, _ = system.forward(
        np.zeros(system.n_u) if not system.n_u else system.at(q).inputs_at(0.0, q, 0.0 * system.v0), q, 0.0 * system.v0
    )
    assert np.max(np.abs(a[system.layout.frame_v[system.layout.bodies["hub"]] :][:6])) < 1e-6


@pytest.mark.slow
def test_mechanisms_without_equilibrium():
    """What drifts is named: a slide in its weight; a hinge with nothing against it stays where it is, and is named."""
    model = Model("slide", gravity=(0, 0, -9.81))
    model.add(RigidBody("stone", mass=2.0, inertia=0.3))
    model.add(Prismatic("rail", JointEnd("ground", axis=(0, 0, 1)), JointEnd("stone", axis=(0, 0, 1))))
    refuses("'stone' moves on from iteration to iteration; nothing holds it", steady, model, error=SolveError)
    model = pendulum(axis=(0, 1, 0))
    model.gravity = np.zeros(3)
    with pytest.warns(FembWarning, match="1 motion of joints has no stiffness, .*: rod moves along"):
        system = in_equilibrium(System(model))
    np.testing.assert_allclose(system.q0, System(model).q0, atol=1e-15)
    refuses(r"'hinge' is given rates", steady, pendulum(rates=(1.0,)))
    run = Run(duration=1.0, start="equilibrium")
    refuses(r"'hinge' is given rates", overview, pendulum(rates=(1.0,)), run)


def test_rates_of_joints_of_two_coordinates():
    """A weight on a spring along a cylindrical joint sinks by m g / k where its rates are zero, and is refused else."""

    def hung(rates):
        model = Model("weight on a shaft", gravity=(0, 0, -9.81))
        model.add(RigidBody("stone", mass=2.0, inertia=0.3))
        ends = JointEnd("ground", axis=(0, 0, 1)), JointEnd("stone", axis=(0, 0, 1))
        model.add(Cylindrical("shaft", *ends, rates=rates))
        model.add(JointSpringDamper("turn", "shaft", stiffness=5.0))
        model.add(JointSpringDamper("slide", "shaft", coordinate="stroke", stiffness=100.0))
        return model

    assert steady(hung((0.0, 0.0)))[1][2] == pytest.approx(-2.0 * 9.81 / 100.0, rel=1e-10)
    for rates in ((0.0, 0.1), (0.1, 0.0)):
        refuses(r"'shaft' is given rates", steady, hung(rates))


def test_a_latch_that_holds():
    """A sprung hinge that a latch holds at the angle of its start stays there; the load on the body is its own."""
    for engaged in (True, False):
        model = pendulum()
        model.add(JointSpringDamper("spring", "hinge", stiffness=30.0, free=1.5))
        model.add(Latch("latch", "hinge", at=0.4, engaged=engaged))
        wanted = brentq(lambda x: 30.0 * (x - 1.5) + 2.0 * 9.81 * 0.8 * np.sin(x), 0.0, 1.5, xtol=1e-15)
        angles, acceleration, _ = held(model)
        assert angles[0] == pytest.approx(0.4 if engaged else wanted, abs=1e-12)
        assert acceleration < 1e-9


def test_free_structure_with_hinges():
    """A free hub with two sprung panels, pushed by forces that cancel: panels bent alike, and no acceleration."""
    model = Model("satellite")
    model.add(RigidBody("hub", mass=10.0, inertia=2.0))
    for name, x in (("right", 1.0), ("left", -1.0)):
        model.add(RigidBody(name, mass=1.0, inertia=0.1))
        ends = JointEnd("hub", at=(0.5 * x, 0, 0), axis=(0, 1, 0)), JointEnd(name, at=(-0.7 * x, 0, 0), axis=(0, 1, 0))
        model.add(Revolute(f"hinge_{name}", *ends))
        model.add(JointSpringDamper(f"spring_{name}", f"hinge_{name}", stiffness=3.0))
        model.add(Load(f"push_{name}", body=name, force=(0, 0, 0.5)))
    model.add(Load("back", body="hub", force=(0, 0, -1.0)))
    angles, acceleration, _ = held(model)
    wanted = brentq(lambda x: 3.0 * x - 0.5 * 0.7 * np.cos(x), 0.0, 1.0, xtol=1e-15)
    np.testing.assert_allclose(np.abs(angles), wanted, atol=1e-10)
    assert acceleration < 1e-8


def test_tangent_of_forces_and_reactions():
    """K of forces and reactions between two moving bodies, multipliers held, against differences of order 6."""
    model = of_parts(
        *(RigidBody(name, mass=2.0, inertia=(0.3, 0.4, 0.5)) for name in ("a", "b")),
        Universal(
            "root", JointEnd("ground", axis=(0, 1, 0)), JointEnd("a", at=(0.2, 0, 0.8), axis=(1, 0, 0)),
            start=(0.3, -0.2),
        ),
        Universal(
            "knee", JointEnd("a", at=(0, 0.1, -0.8), axis=(0, 1, 0)), JointEnd("b", at=(0, 0, 0.5), axis=(1, 0, 0)),
            start=(0.5, 0.4),
        ), gravity=(0, 0, -9.81),
    )  # fmt: skip
    statics = Statics(System(model))
    twin, rng = statics.twin, np.random.default_rng(3)
    q, multipliers = twin.q0, rng.standard_normal(twin.n_c)

    def balance(x):
        moved = q + twin.rates(q[None], x[None])[0]
        twin.normalise(moved)
        (u, _, _), force = statics.forces(moved, 1.0)
        return force + statics.reactions(u, moved, multipliers)

    state, _ = statics.forces(q, 1.0)
    K = twin.pattern.to_csc(statics.matrices(state, q, multipliers)[0])[: twin.n_v, : twin.n_v].toarray()
    h, weights = 1e-2, {1: 0.75, 2: -0.15, 3: 1.0 / 60.0}
    wanted = np.column_stack(
        [sum(w * (balance(k * h * e) - balance(-k * h * e)) for k, w in weights.items()) / h for e in np.eye(twin.n_v)]
    )
    np.testing.assert_allclose(K, wanted, rtol=0.0, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.slow
@pytest.mark.parametrize("angle", [3.0, 3.3, 20.0])
def test_an_equilibrium_many_turns_away(angle):
    """A motor on the spindle of a screw against a spring on its nut: force k p^2 angle; the motion stays there."""
    pitch, stiffness = 0.01, 3e4
    radius = pitch / (2.0 * np.pi)
    model = of_parts(
        RigidBody("nut", mass=2.0, inertia=0.1),
        RigidBody("spindle", mass=0.5, inertia=(0.01, 0.01, 0.02)),
        Revolute("axle", JointEnd("ground", axis=(0, 0, 1)), JointEnd("spindle", axis=(0, 0, 1))),
        Prismatic("slide", JointEnd("ground", axis=(0, 0, 1)), JointEnd("nut", axis=(0, 0, 1))),
        Screw("thread", JointCoordinate("axle"), JointCoordinate("slide"), pitch=pitch),
        JointSpringDamper("spring", joint="slide", stiffness=stiffness),
        JointMotor("motor", joint="axle", force=stiffness * radius**2 * angle),
    )
    results = simulate(model, duration=0.1, start="equilibrium")
    np.testing.assert_allclose(results.joints["axle"].coordinates[:, 0], angle, rtol=1e-10)
    np.testing.assert_allclose(results.joints["slide"].coordinates[:, 0], radius * angle, rtol=1e-10)
