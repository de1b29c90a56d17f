"""Placement and start velocities: where every frame begins, and that a connected structure begins as one rigid body."""

import numpy as np
import pytest
from models import of_parts, refuses, sections_like

from femb import Beam, Ground, Load, Model, ModelError, PointMass, RigidBody
from femb.elements import Attachment, JointEnd, Place, Revolute, Spherical
from femb.numerics import rotations
from femb.numerics.euler import SEQUENCES, from_euler, omega_from_euler_rates
from femb.run.simulate import mass_properties, summary
from femb.system.system import System

X = np.array([1.0, 0.0, 0.0])


section = sections_like("boom", 2e-3, (3e-7, 5e-7), 4e-7, 2700.0, 7e10, 2.6e10)


def pose(system, body):
    frame = system.layout.frames[system.layout.bodies[body]]
    return frame.position, frame.quaternion


def frame_velocity(system, k):
    """Position, velocity and angular velocity of a frame with axes, all inertial."""
    i, j = system.layout.frame_q[k], system.layout.frame_v[k]
    turn = system.q0[i + 3 : i + 7]
    return system.q0[i : i + 3], system.v0[j : j + 3], rotations.rotate(turn, system.v0[j + 3 : j + 6])


def assert_rigid(system, point, velocity, omega, frames=None):
    """Every frame moves with the velocity that the rigid motion of ``point`` gives it; no strain has a rate."""
    for k in range(len(system.layout.frames)) if frames is None else frames:
        r, got, spin = frame_velocity(system, k)
        np.testing.assert_allclose(got, velocity + np.cross(omega, r - point), rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(spin, omega, rtol=0.0, atol=1e-14)
    assert not np.any(system.v0[system.layout.internal_v])


def same_attitude(got, wanted, tolerance=1e-14):
    np.testing.assert_allclose(rotations.rotation_matrix(got), rotations.rotation_matrix(wanted), atol=tolerance)


def satellite(**words):
    """A hub with a chain hub - beam - body - beam on one side and a slanted beam on the other."""
    model = Model("satellite")
    given = {"position": (0.3, -0.2, 0.5), "euler_angles": (0.4, -0.7, 1.1)}
    hub = model.add(
        RigidBody("hub", mass=3.0, inertia=(0.1, 0.2, 0.25), center_of_mass=(0.01, 0.02, -0.03), **{**given, **words})
    )
    box = model.add(RigidBody("box", mass=2.0, inertia=(0.3, 0.2, 0.25)))
    boom = section()
    end = box.at((-0.1, 0.05, 0), direction=(0, 1, 0))
    model.add(Beam("inner", section=boom, length=1.5, elements=2, start=hub.at((0.1, 0, 0), direction=X), end=end))
    model.add(Beam("outer", section=boom, length=1.0, elements=3, start=box.at((0.1, 0, 0), direction=(1, 1, 0))))
    model.add(Beam("slanted", section=boom, length=0.8, elements=1, end=hub.at((0, -0.1, 0), direction=(0, 1, 0.3))))
    model.add(PointMass("tip", mass=0.4, on=model.beams["outer"].node(-1)))
    return model


# One rigid body


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_euler_rates_start_the_whole_structure(sequence):
    angles, rates = np.array([0.4, 0.7, 1.1]), np.array([0.3, -0.2, 0.5])
    model = satellite(euler_angles=angles, euler_rates=rates, euler_sequence=sequence, velocity=(1.0, 2.0, -3.0))
    system = System(model)
    quaternion = from_euler(angles, sequence)
    same_attitude(pose(system, "hub")[1], quaternion)
    omega = rotations.rotate(quaternion, omega_from_euler_rates(angles, rates, sequence))
    assert_rigid(system, np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -3.0]), omega)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_euler_rates_are_rates_of_the_angles(sequence):
    """Central difference of the attitudes, without the map from rates to angular velocity."""
    angles, rates, h = np.array([0.4, 0.7, 1.1]), np.array([0.3, -0.2, 0.5]), 1e-5
    model = of_parts(RigidBody("b", mass=1, inertia=1, euler_angles=angles, euler_rates=rates, euler_sequence=sequence))
    system = System(model)
    before, after = (from_euler(angles + s * h * rates, sequence) for s in (-1, 1))
    rate = (after - before) / (2.0 * h)
    got = system.rates(system.q0[None], system.v0[None])[0, 3:]
    np.testing.assert_allclose(got, rate, rtol=0.0, atol=1e-10)


def test_angular_velocity_starts_the_whole_structure():
    system = System(satellite(angular_velocity=(0.3, -0.2, 0.5)))
    point, turn = pose(system, "hub")
    omega = rotations.rotate(turn, np.array([0.3, -0.2, 0.5]))
    assert_rigid(system, point, np.zeros(3), omega)
    # and no member is strained or resists: a rigid motion has only centripetal accelerations
    assert system.energy_momentum(system.q0[None], system.v0[None])[0, 1] < 1e-20


def test_the_last_body_may_lead():
    """The body that gives the velocity need not be the first, or the root of the tree."""
    model = satellite()
    model.bodies["box"] = RigidBody("box", mass=2.0, inertia=(0.3, 0.2, 0.25), angular_velocity=(0.1, 0.2, 0.3))
    system = System(model)
    point, turn = pose(system, "box")
    assert_rigid(system, point, np.zeros(3), rotations.rotate(turn, np.array([0.1, 0.2, 0.3])))


def test_momentum_and_energy_of_the_start():
    system = System(satellite(angular_velocity=(0.3, -0.2, 0.5), velocity=(1.0, 2.0, -3.0)))
    mass, centre, inertia = mass_properties(system)
    point, turn = pose(system, "hub")
    omega = rotations.rotate(turn, np.array([0.3, -0.2, 0.5]))
    velocity = np.array([1.0, 2.0, -3.0]) + np.cross(omega, centre - point)
    kinetic, _, *momenta = system.energy_momentum(system.q0[None], system.v0[None])[0]
    np.testing.assert_allclose(momenta[:3], mass * velocity, rtol=1e-13)
    np.testing.assert_allclose(momenta[3:], inertia @ omega + np.cross(centre, mass * velocity), rtol=1e-12)
    assert kinetic == pytest.approx(0.5 * mass * velocity @ velocity + 0.5 * omega @ inertia @ omega, rel=1e-13)


def test_two_structures_start_apart():
    model = Model("two")
    model.add(RigidBody("a", mass=1, inertia=1, position=(0, 0, 0), angular_velocity=(0, 0, 1.0)))
    model.add(RigidBody("b", mass=1, inertia=1, position=(1, 0, 0)))
    model.add(PointMass("c", mass=1, position=(0, 1, 0), velocity=(0, 0, 2.0)))
    system = System(model)
    np.testing.assert_array_equal(system.v0, [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2])


# Velocities that do or do not agree


def dumbbell(first, second, direction=X):
    a = RigidBody("a", mass=1, inertia=1, **first)
    b = RigidBody("b", mass=1, inertia=1, **second)
    start, end = a.at((0, 0, 0), direction=direction), b.at((0, 0, 0), direction=direction)
    return of_parts(a, b, Beam("link", section=section(), length=2.0, elements=2, start=start, end=end))


def test_contradiction_is_refused_by_name():
    with pytest.raises(ModelError) as caught:
        System(dumbbell({"angular_velocity": (0, 0, 1.0)}, {"velocity": (0, 2.1, 0)}))
    (problem,) = caught.value.problems
    assert problem.item == ("bodies", "b")
    assert "velocity (0, 2.1, 0)" in problem.message
    assert "bodies.a it would have (0, 2, 0)" in problem.message
    with pytest.raises(ModelError, match=r"bodies\.b.*angular velocity"):
        System(dumbbell({"angular_velocity": (0, 0, 1.0)}, {"angular_velocity": (0, 0, 1.1)}))


def test_agreement_is_accepted():
    system = System(
        dumbbell({"angular_velocity": (0, 0, 1.0)}, {"velocity": (0, 2.0, 0), "angular_velocity": (0, 0, 1)})
    )
    assert_rigid(system, np.zeros(3), np.zeros(3), np.array([0, 0, 1.0]))


def test_what_is_not_given_does_not_contradict():
    """The same spin, typed on both bodies, leaves their velocities to the rigid motion."""
    spin = {"angular_velocity": (0, 0, 1.0)}
    assert_rigid(System(dumbbell(spin, spin)), np.zeros(3), np.zeros(3), np.array([0, 0, 1.0]))


def test_rounding_does_not_contradict():
    """A spin along a slanted beam moves its far end by rounding only, which a given zero does not contradict."""
    direction = np.array([1.0, 0.3, 0.7])
    spin = {"angular_velocity": 0.1 * direction}
    system = System(dumbbell(spin, {**spin, "velocity": (0, 0, 0)}, direction))
    assert_rigid(system, np.zeros(3), np.zeros(3), 0.1 * direction)


def test_moves_alone():
    system = System(dumbbell({"angular_velocity": (0, 0, 1.0)}, {"velocity": (0, 5.0, 0), "moves_alone": True}))
    b = system.layout.bodies["b"]
    _, velocity, omega = frame_velocity(system, b)
    np.testing.assert_array_equal(velocity, [0, 5, 0])
    np.testing.assert_array_equal(omega, [0, 0, 0])
    others = [k for k in range(len(system.layout.frames)) if k != b]
    assert_rigid(system, np.zeros(3), np.zeros(3), np.array([0, 0, 1.0]), others)
    alone = System(dumbbell({}, {"velocity": (0, 5.0, 0), "moves_alone": True}))
    others = [k for k in range(len(alone.layout.frames)) if k != alone.layout.bodies["b"]]
    assert_rigid(alone, np.zeros(3), np.zeros(3), np.zeros(3), others)


def test_structure_on_the_ground_does_not_start_with_a_velocity():
    body = RigidBody("a", mass=1, inertia=1, velocity=(0, 0, 1.0))
    start, end = Ground().at(direction=X), body.at(direction=X)
    model = of_parts(body, Beam("link", section=section(), length=1.0, start=start, end=end))
    refuses(r"bodies\.a: starts with a velocity but is connected to 'ground'", System, model)
    model.bodies["a"] = RigidBody("a", mass=1, inertia=1, velocity=(0, 0, 1.0), moves_alone=True)
    system = System(model)
    np.testing.assert_array_equal(system.v0[:6], [0, 0, 1, 0, 0, 0])


# Placement


def test_bodies_are_placed_through_beams():
    system = System(satellite())
    position, turn = np.array([0.3, -0.2, 0.5]), from_euler([0.4, -0.7, 1.1])
    same_attitude(pose(system, "hub")[1], turn)
    # the beam leaves the hub along its x and meets the box along the box's y
    box_turn = pose(system, "box")[1]
    x = rotations.rotate(box_turn, np.array([0, 1.0, 0]))
    np.testing.assert_allclose(x, rotations.rotate(turn, X), atol=1e-14)
    tip = position + rotations.rotate(turn, np.array([1.6, 0, 0]))
    at = pose(system, "box")[0] + rotations.rotate(box_turn, np.array([-0.1, 0.05, 0]))
    np.testing.assert_allclose(at, tip, atol=1e-14)
    # default up: y of the hub at the start; z of the box at the end, since the tangent there is its y
    z_rule = rotations.from_matrix(np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0.0]]))
    same_attitude(box_turn, rotations.multiply(turn, rotations.conjugate(z_rule)))
    outer = system.layout.beams["outer"].stations
    root = pose(system, "box")[0] + rotations.rotate(box_turn, np.array([0.1, 0, 0]))
    along = rotations.rotate(box_turn, np.array([1.0, 1.0, 0]) / np.sqrt(2.0))
    for k, station in enumerate(outer):
        np.testing.assert_allclose(system.layout.pose(station)[0], root + k / 3.0 * along, atol=1e-14)
    slanted = [system.layout.pose(station)[0] for station in system.layout.beams["slanted"].stations]
    end = position + rotations.rotate(turn, np.array([0, -0.1, 0]))
    np.testing.assert_allclose(slanted[1], end, atol=1e-14)
    tangent = rotations.rotate(turn, np.array([0, 1, 0.3]) / np.hypot(1, 0.3))
    np.testing.assert_allclose(slanted[0], end - 0.8 * tangent, atol=1e-14)


def test_pose_does_not_depend_on_the_order_of_adding():
    model = satellite()
    mirrored = of_parts(*reversed(list(model.items())))
    for name in ("hub", "box"):
        for one, other in zip(pose(System(model), name), pose(System(mirrored), name), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-15)


def test_strains_and_forces_are_zero_at_the_start():
    system = System(satellite())
    force = system.residual(np.zeros((1, 0)), system.q0[None], system.v0[None], np.zeros((1, system.n_v)))
    assert np.max(np.abs(force)) < 1e-6  # E A 1.4e8 N times rounding


@pytest.mark.parametrize(
    ("direction", "y"),
    [
        ((1, 0, 0), (0, 1, 0)),
        ((0, 0, 2), (0, 1, 0)),
        ((1, 1, 0), (-1, 1, 0)),
        ((0, 1, 0), (0, 0, 1)),
        ((0, -3, 0), (0, 0, 1)),
        ((np.sin(np.radians(24)), np.cos(np.radians(24)), 0), (0, 0, 1)),
        ((np.sin(np.radians(26)), np.cos(np.radians(26)), 0), (-np.cos(np.radians(26)), np.sin(np.radians(26)), 0)),
    ],
)
def test_default_up(direction, y):
    """The section's y axis is the body's y, or its z within 25 degrees of it, made perpendicular to the tangent."""
    model = Model("one")
    hub = model.add(RigidBody("hub", mass=1, inertia=1))
    model.add(Beam("b", section=section(), length=1.0, start=hub.at((0, 0, 0), direction=direction)))
    system = System(model)
    axes = rotations.rotation_matrix(system.layout.pose(system.layout.beams["b"].stations[0])[1])
    np.testing.assert_allclose(axes[:, 0], direction / np.linalg.norm(direction), atol=1e-14)
    np.testing.assert_allclose(axes[:, 1], y / np.linalg.norm(y), atol=1e-14)
    assert np.linalg.det(axes) == pytest.approx(1.0, abs=1e-14)


def test_up_is_in_body_axes():
    model = Model("one")
    hub = model.add(RigidBody("hub", mass=1, inertia=1, euler_angles=(0.3, 0.4, 0.5)))
    model.add(Beam("b", section=section(), length=1.0, start=hub.at((0, 0, 0), direction=X, up=(1, 1, 1))))
    system = System(model)
    axes = rotations.rotation_matrix(system.layout.pose(system.layout.beams["b"].stations[1])[1])
    wanted = rotations.rotation_matrix(from_euler([0.3, 0.4, 0.5])) @ np.array([0, 1, 1]) / np.sqrt(2)
    np.testing.assert_allclose(axes[:, 1], wanted, atol=1e-14)


def test_free_beams():
    """Given by its start or its end; with a velocity of its start and a spin in the axes of its first section."""
    one = Attachment(at=(1, 2, 3), direction=(0, 0, 2), up=(1, 0, 0))
    velocity, omega = np.array([1.0, 0, 2]), np.array([0.1, 0.2, 0.3])
    model = of_parts(
        Beam("a", section=section(), length=2.0, elements=4, start=one, velocity=velocity, angular_velocity=omega),
        Beam("b", section="boom", length=2.0, end=Attachment(at=(0, 0, 0), direction=(1, 0, 0))),
    )
    system = System(model)
    beam = system.layout.beams["a"]
    positions = np.array([system.layout.pose(station)[0] for station in beam.stations])
    np.testing.assert_allclose(positions, [[1, 2, 3 + k / 2] for k in range(5)], atol=1e-15)
    # x along z, y along x, so z along y
    frames = [station.frame for station in beam.stations]
    assert_rigid(system, np.array([1.0, 2, 3]), velocity, np.array([0.2, 0.3, 0.1]), frames)
    start, end = (system.layout.pose(station)[0] for station in system.layout.beams["b"].stations)
    np.testing.assert_allclose([start, end], [[-2, 0, 0], [0, 0, 0]], atol=1e-15)
    assert not system.v0[system.layout.frame_v[system.layout.beams["b"].stations[0].frame]]


def test_beam_between_given_bodies_needs_no_direction():
    a = RigidBody("a", mass=1, inertia=1, position=(0, 0, 0), euler_angles=(0, 0, 0.5))
    b = RigidBody("b", mass=1, inertia=1, position=(1, 2, 2))
    model = of_parts(a, b, Beam("rod", section=section(), length=3.0, elements=2, start=a.at(), end=b.at()))
    system = System(model)
    middle = system.layout.pose(system.layout.beams["rod"].stations[1])[0]
    np.testing.assert_allclose(middle, [0.5, 1, 1], atol=1e-14)
    assert np.max(np.abs(system.residual(np.zeros((1, 0)), system.q0[None], *np.zeros((2, 1, system.n_v))))) < 1e-6


def test_point_masses():
    model = satellite()
    model.add(PointMass("inside", mass=0.7, on=Place(body="box", at=(0.1, 0.2, 0.3))))
    model.add(PointMass("middle", mass=0.2, on=Place(beam="inner", node=1)))
    system, plain = System(model), System(satellite())
    assert system.n_v == plain.n_v + 1  # the strain has a value of its own on each side of the mass on the beam
    mass, centre, _ = mass_properties(system)
    plain_mass, plain_centre, _ = mass_properties(plain)
    position, turn = pose(system, "box")
    inside = position + rotations.rotate(turn, np.array([0.1, 0.2, 0.3]))
    middle = system.layout.pose(system.layout.beams["inner"].stations[1])[0]
    assert mass == pytest.approx(plain_mass + 0.9, rel=1e-14)
    np.testing.assert_allclose(mass * centre, plain_mass * plain_centre + 0.7 * inside + 0.2 * middle, atol=1e-13)


PLACED = {"position": (0, 0, 0)}
TURNED = {"euler_angles": (0, 0, 0.1)}


@pytest.mark.parametrize(
    ("first", "second", "where", "message"),
    [
        (PLACED, {"position": (3, 0, 0)}, r"beams\.link\.end", r"ends at \(2, 0, 0\).*is at \(3, 0, 0\)"),
        (PLACED, {"position": (2, 0, 0), **TURNED}, r"beams\.link\.end\.direction", "arrives along"),
        (PLACED, TURNED, r"beams\.link\.end\.direction", "arrives along"),
        (TURNED, {"position": (2, 0, 0)}, r"beams\.link\.start\.direction", "leaves along"),
    ],
)
def test_inconsistent_poses_are_refused(first, second, where, message):
    refuses(f"{where}: .*{message}", System, dumbbell(first, second))


def test_missing_direction_is_named():
    a = RigidBody("a", mass=1, inertia=1)
    b = RigidBody("b", mass=1, inertia=1)
    model = of_parts(a, b, Beam("rod", section=section(), length=3.0, start=a.at(), end=b.at()))
    refuses(r"beams\.rod\.start\.direction: is missing", System, model)


def test_every_inconsistent_beam_is_reported():
    model = dumbbell(PLACED, {"position": (3, 0, 0)})
    a = model.bodies["a"]
    box = model.add(RigidBody("c", mass=1, inertia=1, position=(0, 5, 0)))
    model.add(
        Beam("other", section="boom", length=1.0, elements=2, start=a.at(direction=(0, 1, 0)), end=box.at((0, 0, 0)))
    )
    with pytest.raises(ModelError) as caught:
        System(model)
    assert {problem.item[1] for problem in caught.value.problems} == {"link", "other"}


def test_nothing_moves():
    model = of_parts(Ground("base"))
    refuses("nothing that can move", System, model)


def test_grounds():
    model = Model("bridge")
    pillar = model.add(Ground("pillar", position=(3, 0, 0), euler_angles=(0, 0, np.pi)))
    start, end = Ground().at(direction=X), pillar.at(direction=(-1, 0, 0))
    model.add(Beam("deck", section=section(), length=3.0, elements=3, start=start, end=end))
    model.add(Load("wheel", beam="deck", node=0, force=(0, 0, -1.0)))  # on the ground: moves nothing
    system = System(model)
    # two moving nodes, and the four nodes' strains
    assert (system.n_v, system.n_u) == (2 * 6 + 4, 0)


# Mass properties


def test_mass_properties():
    """Closed form: a hub with an offset mass centre and a slender beam of rectangular section."""
    inertia = np.array([[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.5]])
    turn, position, offset = from_euler([0.4, -0.7, 1.1]), np.array([0.3, -0.2, 0.5]), np.array([0.05, 0.02, -0.03])
    hub = RigidBody("hub", mass=3.0, inertia=inertia, center_of_mass=offset, position=position, quaternion=turn)
    boom = section()
    model = of_parts(hub, Beam("b", section=boom, length=2.0, elements=3, start=hub.at((0.1, 0, 0), direction=X)))
    mass, centre, got = mass_properties(System(model))
    R = rotations.rotation_matrix(turn)
    beam_mass = boom.density * boom.area * 2.0
    centres = np.array([position + R @ offset, position + R @ np.array([1.1, 0, 0])])
    masses = np.array([3.0, beam_mass])
    assert mass == pytest.approx(masses.sum(), rel=1e-14)
    np.testing.assert_allclose(centre, masses @ centres / masses.sum(), rtol=1e-13)
    y, z = boom.second_moments
    slender = beam_mass * 2.0**2 / 12.0
    own = np.diag([y + z, y, z]) * boom.density * 2.0 + np.diag([0.0, slender, slender])
    wanted = R @ (inertia + own) @ R.T
    for m, c in zip(masses, centres, strict=True):
        d = c - centre
        wanted += m * (d @ d * np.eye(3) - np.outer(d, d))
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("ends", ["start", "end", "both"])
@pytest.mark.parametrize("ground", ["ground", "wall"])
def test_mass_properties_of_what_is_clamped_to_the_ground(ends, ground):
    """The share of clamped nodes counts: all of the beam's mass, about its middle, wherever and however it is held."""
    model, boom, length = Model("held"), section(), 2.0
    at = np.zeros(3)
    if ground == "wall":
        at = np.array([0.3, -1.0, 2.0])
        model.add(Ground("wall", position=at))
    clamps = {"start": Attachment(body=ground, direction=X), "end": Attachment(body=ground, at=(2, 0, 0), direction=X)}
    model.add(Beam("b", boom, length, 3, **{k: c for k, c in clamps.items() if ends in (k, "both")}))
    model.add(RigidBody("ball", mass=1.5, inertia=0.2, position=at + X))
    system = System(model)
    mass, centre, inertia = mass_properties(system)
    beam_mass = boom.density * boom.area * length
    assert mass == pytest.approx(beam_mass + 1.5, rel=1e-14)
    np.testing.assert_allclose(centre, at + X, rtol=1e-13, atol=1e-14)
    y, z = boom.density * length * np.array(boom.second_moments)
    slender = beam_mass * length**2 / 12.0
    np.testing.assert_allclose(inertia, np.diag([y + z, y + slender, z + slender]) + 0.2 * np.eye(3), atol=1e-12)
    # in another posture too: the mass centre of the moved coordinates
    moved = system.q0.copy()
    ball = system.layout.frame_q[system.layout.bodies["ball"]]
    moved[ball : ball + 3] += (0.0, 0.4, 0.0)
    shift = mass_properties(system.starting_at(moved, system.v0))[1] - centre
    np.testing.assert_allclose(shift, [0.0, 0.4 * 1.5 / mass, 0.0], atol=1e-14)


def test_mass_properties_of_what_hangs_on_joints():
    """A joint to the ground has no mass, and takes none away; what is clamped to the ground beside it counts."""
    model, boom = Model("hung"), section()
    model.add(Beam("mast", boom, 2.0, 2, start=Attachment(body="ground", direction=X)))
    model.add(RigidBody("door", mass=4.0, inertia=0.3, position=(0.0, 1.0, 0.0)))
    model.add(Revolute("hinge", JointEnd("ground", at=(0, 0.5, 0), axis=(0, 0, 1)), JointEnd("door", at=(0, -0.5, 0))))
    mass, centre, _ = mass_properties(System(model))
    beam_mass = boom.line_mass() * 2.0
    assert mass == pytest.approx(beam_mass + 4.0, rel=1e-14)
    np.testing.assert_allclose(centre, np.array([beam_mass, 4.0, 0.0]) / mass, rtol=1e-13, atol=1e-14)


def test_summary_of_single_things():
    model = of_parts(Beam("b", section(), 2.0, 1, start=Attachment(body="ground", direction=X)))
    assert summary(model).splitlines()[1] == "0 bodies, 1 beam of 1 element, 0 loads, 0 springs"
    assert f"mass {section().line_mass() * 2.0:.6g} kg" in summary(model)
    model = of_parts(RigidBody("b", mass=1.0, inertia=1.0))
    assert summary(model).splitlines()[1] == "1 body, 0 beams, 0 loads, 0 springs"


def test_summary():
    model = satellite()
    text = summary(model)
    mass, centre, inertia = mass_properties(System(model))
    assert text.startswith("satellite\n3 bodies, 3 beams of 6 elements, 0 loads")
    assert f"mass {mass:.6g} kg" in text
    assert ", ".join(f"{x:.6g}" for x in centre) in text
    assert f"{np.linalg.eigvalsh(inertia)[0]:.6g}" in text


def test_a_structure_beside_one_with_a_position_is_placed_by_its_joints():
    """Its first body, whose attitude is given, goes to the origin, and the others follow."""
    model = Model("two structures")
    model.add(RigidBody("far", 1.0, 1.0, position=(1.0, 2.0, 3.0)))
    model.add(RigidBody("hub", 1.0, 1.0, euler_angles=(-0.5, 0.8, 0.4)))
    model.add(RigidBody("panel", 1.0, 1.0))
    ends = JointEnd("hub", at=(0.0, 1.0, 0.0), axis=(0, 0, 1)), JointEnd("panel", axis=(0, 0, 1))
    model.add(Revolute("hinge", *ends, start=0.3))
    system = System(model)
    position, attitude = pose(system, "hub")
    np.testing.assert_array_equal(position, 0.0)
    np.testing.assert_allclose(
        pose(system, "panel")[0], rotations.rotate(attitude, np.array([0.0, 1.0, 0.0])), atol=1e-15
    )
    turn = rotations.multiply(rotations.conjugate(attitude), pose(system, "panel")[1])
    np.testing.assert_allclose(turn, [np.cos(0.15), 0.0, 0.0, np.sin(0.15)], atol=1e-15)


def test_velocity_and_rotation_of_a_structure_may_be_given_on_two_bodies():
    """In either order, and as Euler rates."""
    for rates in ({"angular_velocity": (0, 0, 1.0)}, {"euler_rates": (0, 0, 1.0)}):
        system = System(dumbbell({"velocity": (0.5, 1.0, 0)}, rates))
        assert_rigid(system, np.zeros(3), np.array([0.5, 1.0, 0]), np.array([0, 0, 1.0]))


@pytest.mark.parametrize("kind", [Spherical, Revolute])
def test_a_body_without_a_position_is_where_its_joint_with_a_free_beam_is(kind):
    """Also on an inner node; in its own attitude, or the inertial axes."""
    for turn in ((1.0, 0.0, 0.0, 0.0), (np.cos(0.3), 0.0, 0.0, np.sin(0.3))):
        for node, along in ((0, 0.0), (2, 0.75), (-1, 1.5)):
            model = Model()
            start = Attachment(at=(1.0, 2.0, 0.0), direction=(0.0, 1.0, 0.0))
            model.add(Beam("b", section=section(), length=1.5, elements=4, start=start))
            model.add(RigidBody("mid", mass=1.0, inertia=1.0, quaternion=turn))
            axis = {} if kind is Spherical else {"axis": (0, 0, 1)}
            model.add(kind("j", JointEnd("mid", at=(0.0, 0.2, 0.1), **axis), JointEnd(beam="b", node=node)))
            system = System(model)
            position, quaternion = pose(system, "mid")
            np.testing.assert_allclose(quaternion, turn, atol=1e-15)
            at = position + rotations.rotate(quaternion, [0.0, 0.2, 0.1]) + system.layout.origin
            np.testing.assert_allclose(at, [1.0, 2.0 + along, 0.0], atol=1e-14)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0)])
def test_a_beam_waits_for_the_beam_that_its_end_is_on(order):
    """A portal frame whose second column comes before the girder that it ends on."""
    up, along, of = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), section()
    beams = (
        Beam("l", of, 1.0, 2, start=Attachment("ground", direction=up, y_axis=along)),
        Beam("g", of, 1.0, 2, start=Attachment(beam="l", node=-1, direction=along)),
        Beam("r", of, 1.0, 2, start=Attachment("ground", at=along, direction=up, y_axis=along),
             end=Attachment(beam="g", node=-1)),
    )  # fmt: skip
    system = System(of_parts(*(beams[k] for k in order)))
    tips = [pose_of_node(system, name)[0] for name in "lgr"]
    np.testing.assert_allclose(tips, [(0, 0, 1), (0, 1, 1), (0, 1, 1)], atol=1e-12)


def pose_of_node(system, beam):
    """Position and quaternion of the last node."""
    layout = system.layout
    frame = layout.frames[layout.beams[beam].stations[-1].frame]
    return frame.position, frame.quaternion
