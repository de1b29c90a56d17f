"""Mechanisms put together: placed by joints, assembled from rough positions, started, and refused where that fails."""

import numpy as np
import pytest
from models import of_parts, refusals, refuses
from oracles.four_bar import BARS, four_bar

from femb import (
    Beam,
    Bearing,
    Cylindrical,
    Distance,
    EulerSpringDamper,
    Fixed,
    JointEnd,
    Model,
    ModelError,
    Parallel,
    PointMass,
    Prismatic,
    Revolute,
    RigidBody,
    Run,
    Section,
    Spherical,
    SpringDamper,
    SpringEnd,
    simulate,
)
from femb.numerics import rotations
from femb.numerics.euler import from_euler
from femb.run.simulate import summary
from femb.system.degrees_of_freedom import freedom
from femb.system.system import System

Z = (0.0, 0.0, 1.0)
GROUND = JointEnd("ground", axis=Z)


def rod(name, **words):
    return RigidBody(name, mass=1.0, inertia=(0.03, 0.1, 0.12), **words)


def pose(system, name):
    """Position and rotation matrix of a body at the start."""
    i = system.layout.frame_q[system.layout.bodies[name]]
    return system.q0[i : i + 3], rotations.rotation_matrix(system.q0[i + 3 : i + 7])


def motion(system, name):
    """Velocity and angular velocity of a body at the start, inertial axes."""
    j = system.layout.frame_v[system.layout.bodies[name]]
    return system.v0[j : j + 3], pose(system, name)[1] @ system.v0[j + 3 : j + 6]


def about_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def open_by(system):
    u = system.inputs_at(0.0, system.q0, system.v0)
    position, _ = system.constraints(u[None], system.q0[None], system.v0[None])
    return np.abs(position).max(), np.abs(system.constraint_rates(u[None], system.q0[None], system.v0[None])).max()


# Placement by joints


@pytest.mark.parametrize("reverse", [False, True])
def test_a_chain_is_placed_by_the_angles_of_its_joints(reverse):
    """Three rods of one metre; the joints in any order, each from the ground outwards or inwards."""
    angles = (0.3, -0.8, 1.4)
    model = Model()
    joints = []
    for k, angle in enumerate(angles):
        model.add(rod(f"rod{k}"))
        near = GROUND if k == 0 else JointEnd(f"rod{k - 1}", at=(0.5, 0.0, 0.0), axis=Z)
        far = JointEnd(f"rod{k}", at=(-0.5, 0.0, 0.0), axis=Z)
        joints.append(
            Revolute(f"j{k}", far, near, start=-angle) if reverse else Revolute(f"j{k}", near, far, start=angle)
        )
    for joint in reversed(joints) if reverse else joints:
        model.add(joint)
    system = System(model)
    tip, turn = np.zeros(3), np.eye(3)
    for k, angle in enumerate(angles):
        turn = turn @ about_z(angle)
        position, attitude = pose(system, f"rod{k}")
        np.testing.assert_allclose(attitude, turn, atol=1e-14)
        np.testing.assert_allclose(position, tip + 0.5 * turn[:, 0], atol=1e-14)
        tip = tip + turn[:, 0]
    assert open_by(system)[0] < 1e-14


def test_a_body_is_placed_by_a_joint_to_a_beam_and_a_beam_by_that_body():
    section = Section("rod", 1e-4, (1e-9, 1e-9), 2e-9, 2700.0, 7e10, 2.6e10)
    model = Model()
    model.add(rod("hub", position=(0.1, 0.2, 0.3), euler_angles=(0.4, -0.2, 0.6)))
    model.add(Beam("boom", section, 1.0, 2, start=model.bodies["hub"].at((0.2, 0, 0), direction=(1, 0, 0))))
    model.add(rod("panel"))
    model.add(Revolute("hinge", JointEnd(beam="boom", axis=(0, 1, 0)), JointEnd("panel", at=(-0.3, 0, 0)), start=0.5))
    model.add(Beam("tail", section, 0.4, 1, start=model.bodies["panel"].at((0.3, 0, 0), direction=(1, 0, 0))))
    system = System(model)
    at, R = pose(system, "hub")
    c, s = np.cos(0.5), np.sin(0.5)
    turn = R @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    position, attitude = pose(system, "panel")
    np.testing.assert_allclose(attitude, turn, atol=1e-14)
    np.testing.assert_allclose(position, at + R @ (1.2, 0, 0) + turn @ (0.3, 0, 0), atol=1e-14)
    tail = system.layout.pose(system.layout.beams["tail"].stations[-1])[0]
    np.testing.assert_allclose(tail, position + turn @ (0.7, 0, 0), atol=1e-14)


def test_attitude_and_axes_that_are_given_stay():
    """A given attitude is kept, and the hinge's angle is zero there unless the second axis says otherwise."""
    words = {"euler_angles": (0.0, 0.0, 0.7)}
    model = Model()
    model.add(rod("arm", **words))
    model.add(Revolute("hinge", GROUND, JointEnd("arm", at=(-0.5, 0, 0))))
    system = System(model)
    np.testing.assert_allclose(pose(system, "arm")[0], 0.5 * about_z(0.7)[:, 0], atol=1e-15)
    np.testing.assert_allclose(system.joint_motion(system.q0, system.v0)[0], [0.0], atol=1e-15)
    model = Model()
    model.add(rod("arm", **words))
    model.add(Revolute("hinge", GROUND, JointEnd("arm", at=(-0.5, 0, 0), axis=Z, reference=(1.0, 0.0, 0.0))))
    system = System(model)
    np.testing.assert_allclose(system.joint_motion(system.q0, system.v0)[0], [0.7], atol=1e-15)


# Start velocities


def turning(*joints, **words):
    """A rod on a hinge to the ground, and a second rod on the first."""
    end = JointEnd("b", at=(-0.5, 0, 0))
    return of_parts(
        rod("a", **words.pop("a", {})),
        rod("b", **words.pop("b", {})),
        Revolute("first", GROUND, JointEnd("a", at=(-0.5, 0, 0)), **words.pop("first", {})),
        Revolute("second", JointEnd("a", at=(0.5, 0, 0), axis=Z), end, **words.pop("second", {})),
        *joints,
    )


def test_one_velocity_starts_all_that_joints_hold_together():
    """As one rigid body, so far as the joints allow it."""
    system = System(turning(a={"angular_velocity": (0.0, 0.0, 2.0)}))
    for name, x in (("a", 0.5), ("b", 1.5)):
        velocity, omega = motion(system, name)
        np.testing.assert_allclose(omega, [0.0, 0.0, 2.0], atol=1e-13)
        np.testing.assert_allclose(velocity, [0.0, 2.0 * x, 0.0], atol=1e-13)


def test_a_velocity_that_is_given_stays_and_the_rotation_about_its_point_follows():
    """On a hinge beside the origin the rate is the velocity over the distance from the hinge."""
    hinge = JointEnd("ground", at=(2.0, 0.0, 0.0), axis=Z), JointEnd("a", at=(-1.0, 0.0, 0.0), axis=Z)
    model = of_parts(rod("a", position=(3.0, 0.0, 0.0), velocity=(0.0, 0.7, 0.0)), Revolute("hinge", *hinge))
    velocity, omega = motion(System(model), "a")
    np.testing.assert_allclose(velocity, [0.0, 0.7, 0.0], atol=1e-13)
    np.testing.assert_allclose(omega, [0.0, 0.0, 0.7], atol=1e-13)


def test_rates_start_joints():
    system = System(turning(first={"rates": 2.0}, second={"rates": -3.0}))
    np.testing.assert_allclose(system.joint_motion(system.q0, system.v0)[1], [2.0, -3.0], atol=1e-13)
    velocity, omega = motion(system, "b")
    np.testing.assert_allclose(omega, [0.0, 0.0, -1.0], atol=1e-13)
    np.testing.assert_allclose(velocity, [0.0, 2.0 - 0.5, 0.0], atol=1e-13)


def test_a_free_structure_starts_by_its_hub_and_rates():
    """A turning hub carries a rod on a hinge, which turns faster."""
    model = Model()
    model.add(rod("hub", position=(1.0, 0.0, 0.0), velocity=(0.1, 0.2, 0.3), angular_velocity=(0.5, -0.4, 0.3)))
    model.add(rod("arm"))
    model.add(Revolute("hinge", JointEnd("hub", at=(0.5, 0, 0), axis=Z), JointEnd("arm", at=(-0.5, 0, 0)), rates=2.0))
    system = System(model)
    np.testing.assert_allclose(motion(system, "hub")[0], [0.1, 0.2, 0.3], atol=1e-14)
    np.testing.assert_allclose(motion(system, "hub")[1], [0.5, -0.4, 0.3], atol=1e-14)
    velocity, omega = motion(system, "arm")
    np.testing.assert_allclose(omega, [0.5, -0.4, 2.3], atol=1e-13)
    pin = np.array([0.1, 0.2, 0.3]) + np.cross([0.5, -0.4, 0.3], [0.5, 0, 0])
    np.testing.assert_allclose(velocity, pin + np.cross(omega, [0.5, 0, 0]), atol=1e-13)


def test_loops_start_by_one_rate():
    system = System(four_bar())
    assert open_by(system)[1] < 1e-13
    rates = [motion(system, name)[1][2] for name in BARS]
    np.testing.assert_allclose(rates, [3.0, -0.610056952854, 1.001479452646], atol=1e-12)


test_start_velocities_that_contradict_joints_are_refused = refusals(
    lambda words: System(turning(**words)),
    ({"a": {"angular_velocity": (0, 0, 1)}, "first": {"rates": 2.0}}, "joints.first.rates"),
    ({"a": {"position": (0.5, 0, 0), "velocity": (0.0, 0.0, 1.0)}}, r"joints.first: \(position z\)"),
    (
        {"a": {"angular_velocity": (0, 0, 1)}, "b": {"angular_velocity": (0, 0, 3)}, "second": {"rates": 1.0}},
        "joints.second.rates",
    ),
    ({"b": {"angular_velocity": (1.0, 0.0, 0.0)}}, "joints.second"),
)


# Assembly


def rough_four_bar(off):
    """The four-bar with its bars out of place."""
    rng = np.random.default_rng(1)
    given, model = four_bar(), Model(gravity=(0.0, -9.81, 2.0))
    for name, bar in given.bodies.items():
        away = bar.euler_angles + off * rng.uniform(-1.0, 1.0, 3)
        position = bar.position + off * rng.uniform(-1.0, 1.0, 3)
        model.add(RigidBody(name, bar.mass, bar.inertia, position=position, euler_angles=away))
    for joint in given.tables["joints"].values():
        words = {"reference": (1.0, 0.0, 0.0), "axis": Z}
        first, second = (JointEnd(end.body, at=end.at, **words) for end in (joint.first, joint.second))
        model.add(Revolute(joint.name, first, second, rates=joint.rates))
    return model


@pytest.mark.parametrize("off", [1e-7, 1e-3, 0.1, 0.3])
def test_assembly_closes_a_rough_mechanism(off):
    """All 20 rows of rank 17 are met, with the bars near where they were put."""
    model = rough_four_bar(off)
    if off > 1e-6:
        refuses(r"open by .* at the start", System, model)
    system = System(model, assemble=off > 1e-6)
    position, velocity = open_by(system)
    assert position < 1e-10
    assert velocity < 1e-10
    assert freedom(system, system.q0).degrees == 1
    rates = system.joint_motion(system.q0, system.v0)[1]
    assert abs(rates[0] - 3.0) < 1e-12
    for name in BARS:
        at, R = pose(system, name)
        wanted = rotations.rotation_matrix(from_euler(model.bodies[name].euler_angles, "xyz"))
        assert np.linalg.norm(at - model.bodies[name].position) < 3.0 * off
        assert np.arccos(np.clip(0.5 * (np.trace(R.T @ wanted) - 1.0), -1.0, 1.0)) < 6.0 * off
        np.testing.assert_allclose([at[2], *R[2, :2]], 0.0, atol=1e-10)


def test_a_run_may_start_assembled():
    model = rough_four_bar(0.05)
    refuses("open by", simulate, model, duration=0.1)
    results = simulate(model, duration=0.5, start="assembled", rtol=1e-7)
    assert results.audit.constraint_position.max() < 1e-10
    assert np.abs(results.audit.energy_error).max() < 1e-4 * np.ptp(results.audit.kinetic_energy)


def test_assembly_moves_what_is_light_and_leaves_flexible_members_straight():
    """A beam on a wall with a hinge at its tip: the loose bar comes to the beam, which stays unstrained."""
    section = Section("rod", 1e-4, (1e-9, 1e-9), 2e-9, 2700.0, 7e10, 2.6e10)
    model = Model()
    from femb import Ground

    wall = model.add(Ground("wall"))
    model.add(Beam("boom", section, 1.0, 2, start=wall.at(direction=(1, 0, 0))))
    model.add(rod("bar", position=(1.4, 0.2, -0.1)))
    model.add(Spherical("ball", JointEnd(beam="boom"), JointEnd("bar", at=(-0.5, 0, 0))))
    system = System(model, assemble=True)
    assert open_by(system)[0] < 1e-10
    tip = system.layout.beams["boom"].stations[-1].frame
    i = system.layout.frame_q[tip]
    np.testing.assert_allclose(system.q0[i : i + 3], [1.0, 0.0, 0.0], atol=1e-3)


def test_mechanisms_that_cannot_be_assembled_say_what_stays_open():
    model = Model()
    model.add(PointMass("p", mass=1.0, position=(0.4, 0.3, 0.0)))
    model.add(Distance("left", JointEnd("ground"), JointEnd("p"), length=0.4))
    model.add(Distance("right", JointEnd("ground", at=(1.0, 0.0, 0.0)), JointEnd("p"), length=0.4))
    with pytest.raises(ModelError, match="cannot be assembled") as problem:
        System(model, assemble=True)
    assert {each.item for each in problem.value.problems} == {("joints", "left"), ("joints", "right")}


def test_a_gap_that_rounding_leaves_far_away_is_named():
    model = Model()
    model.add(RigidBody("hub", mass=60.0, inertia=(8.0, 10.0, 9.0)))
    model.add(RigidBody("panel", mass=4.0, inertia=(0.34, 1.34, 1.67)))
    ends = JointEnd("hub", at=(0.5, 0.0, 0.0), axis=(0, 1, 0)), JointEnd("panel", at=(-1.0, 0.0, 1e9))
    model.add(Revolute("hinge", *ends, start=0.3))
    with pytest.raises(ModelError, match="cannot be assembled") as problem:
        System(model, assemble=True)
    assert {entry.item for entry in problem.value.problems} == {("joints", "hinge")}


def test_rods_are_assembled_to_their_lengths():
    model = Model()
    model.add(PointMass("p", mass=1.0, position=(0.4, 0.3, 0.0)))
    model.add(Distance("left", JointEnd("ground"), JointEnd("p"), length=0.6))
    model.add(Distance("right", JointEnd("ground", at=(1.0, 0.0, 0.0)), JointEnd("p"), length=0.6))
    system = System(model, assemble=True)
    np.testing.assert_allclose(system.q0[:3], [0.5, np.sqrt(0.11), 0.0], atol=1e-11)


# What is refused


@pytest.mark.parametrize("kind", [Revolute, Parallel, Cylindrical])
def test_axes_the_wrong_way_round_are_refused(kind):
    model = of_parts(rod("a", position=(0.0, 0.0, 0.0)), kind("j", GROUND, JointEnd("a", axis=(0.0, 0.0, -1.0))))
    refuses("opposite directions", System, model)


def test_a_weld_the_wrong_way_round_is_refused():
    """Turned by half a turn about its z axis, all three of its dot products vanish too."""
    words = {"axis": Z, "reference": (-1.0, 0.0, 0.0)}
    model = of_parts(rod("a", position=(0.0, 0.0, 0.0)), Fixed("j", JointEnd("ground", axis=Z), JointEnd("a", **words)))
    refuses("opposite directions", System, model)


def test_joints_that_hold_the_same_bodies_in_the_same_way_are_refused_by_name():
    model = Model()
    model.add(rod("door", position=(0.0, 0.0, 0.0)))
    for name, z in (("upper", 0.4), ("lower", -0.4)):
        model.add(Revolute(name, JointEnd("ground", at=(0, 0, z), axis=Z), JointEnd("door", at=(0, 0, z))))
    refuses(r"joints\.lower: holds 'ground' and 'door' as joints\.upper already does", System, model)


def test_a_door_on_a_hinge_and_a_sliding_ball_is_not_over_constrained():
    from femb import PointOnLine

    model = Model()
    model.add(rod("door", position=(0.0, 0.0, 0.0)))
    model.add(Spherical("upper", JointEnd("ground", at=(0, 0, 0.4)), JointEnd("door", at=(0, 0, 0.4))))
    model.add(PointOnLine("lower", JointEnd("ground", at=(0, 0, -0.4), axis=Z), JointEnd("door", at=(0, 0, -0.4))))
    system = System(model)
    assert freedom(system, system.q0).degrees == 1


# What is said


def test_the_summary_says_what_is_free_and_what_depends():
    text = summary(four_bar())
    assert "4 joints, 20 equations of constraint: 1 degree of freedom at the start" in text
    assert "equations that depend on the others: 3, joints." in text
    assert "joints.crank_coupler (position z, axis x across axis z, axis y across axis z)" in text
    assert "closed loops" in text
    single = turning()
    text = summary(single)
    assert "2 joints, 10 equations of constraint: 2 degrees of freedom at the start" in text
    assert "depend" not in text
    assert "1 degree of freedom" in summary(rough_four_bar(0.05), Run(duration=1.0, start="assembled"))


def off_its_rail(*springs):
    """A block 0.1 m beside its rail along x, and turned by 0.2 rad about it."""
    block = RigidBody("b", 1.0, 0.1, position=(1.0, 0.1, 0.0), quaternion=(np.cos(0.1), np.sin(0.1), 0.0, 0.0))
    ends = (JointEnd(name, axis=(1, 0, 0), reference=(0, 1, 0)) for name in ("ground", "b"))
    return of_parts(block, Prismatic("rail", *ends), *springs)


SPRINGS = (
    SpringDamper("line", SpringEnd(anchor=(0, 1, 0)), SpringEnd("b"), stiffness=100.0),
    EulerSpringDamper("turn", SpringEnd("ground"), SpringEnd("b"), stiffness=3.0),
    Bearing("bearing", SpringEnd("b", at=(0, 0, 0.1)), axis=(1, 0, 0), kxx=50.0, kzz=20.0),
)


@pytest.mark.slow
@pytest.mark.parametrize("spring", SPRINGS, ids=lambda each: each.name)
def test_springs_are_free_in_the_assembled_start(spring, tmp_path):
    """By default lengths, angles and centres are those at the start: no force there, nor where a run goes on."""
    run = Run(duration=0.2, start="assembled", max_step=0.05)
    found = simulate(off_its_rail(spring), run)
    block = found.bodies["b"]
    assert abs(block.position[0, 1]) < 1e-10  # on the rail
    np.testing.assert_allclose(block.position, block.position[:1].repeat(len(block.position), 0), atol=1e-12)
    assert np.abs(block.velocity).max() < 1e-12
    file = tmp_path / "first.h5"
    simulate(off_its_rail(spring), run, out=file)
    later = simulate(off_its_rail(spring), duration=0.2, start={"results": str(file)}).bodies["b"]
    np.testing.assert_allclose(later.position[-1], block.position[0], atol=1e-10)


def test_assembly_moves_what_is_heavy_and_stiffly_held_less():
    """One step of least x^T (M + C + K) x: along a spring of 100 N/m at 45 degrees the block of 1 kg gives way."""
    end = pose(System(off_its_rail(SPRINGS[0]), assemble=True), "b")[0]
    n = np.array([1.0, -0.9])
    A = np.eye(2) + 100.0 * np.outer(n, n) / (n @ n)  # at the start the spring has no force
    np.testing.assert_allclose(end[0] - 1.0, 0.1 * A[0, 1] / A[0, 0], rtol=1e-2)
