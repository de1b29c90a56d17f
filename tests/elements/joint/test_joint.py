"""Joints and the rows they are made of: derivatives, degrees of freedom, coordinates, reactions and closed forms."""

import numpy as np
import pytest
from autograd import grad, jacobian
from long_runs import slow_but
from models import of_parts, refuses
from oracles.constraints import ENDS, PRIMITIVES, Case
from oracles.finite_differences import slope
from oracles.four_bar import BARS, four_bar

import femb
from femb.elements.joint.constraint_set import ConstraintRow, ConstraintSet, ConstraintTable
from femb.elements.joint.primitives import TURN
from femb.elements.joint.records import JointReactions
from femb.elements.marker import Attachment
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.layout.state import station_motion
from femb.numerics import rotations
from femb.run.time_loop import output_frames
from femb.system.degrees_of_freedom import freedom
from femb.system.pattern import Pattern
from femb.system.stacked import least_multipliers
from femb.system.system import System

TURNING = ("DOT1", "DOT2", "TURN", "ORIENTATION")


def cases():
    """Primitives between all kinds of frames, held and following an input."""
    for primitive in PRIMITIVES:
        for ends in ENDS:
            if "point mass" in ends and primitive in (*TURNING[0:1], "TURN", "ORIENTATION"):
                continue
            yield pytest.param(primitive, ends, False, id=f"{primitive}, {ends}")
            yield pytest.param(primitive, ends, True, id=f"{primitive}, {ends}, driven")


every_row = pytest.mark.parametrize(("primitive", "ends", "follows"), list(cases()))
SEEDS = range(3)


@every_row
def test_row_and_its_rates(primitive, ends, follows):
    """Phi, J v + Phi_t and J a - gamma are Phi and its derivatives along motions that do not satisfy the row."""
    for seed in SEEDS:
        case = Case(primitive, ends, follows, seed)
        q, v, u = case.q[None], case.v[None], case.u[None]

        def phi(t, case=case):
            return case.phi(case.along(t, case.v, case.a), t)

        position, gamma, rates = np.zeros((3, 1, 1))
        case.batch.constraints(u, q, v, position, gamma)
        force = np.zeros_like(v)
        case.batch.constraint_force(u, q, v, np.ones((1, 1)), force, rates)
        first, second = grad(phi)(0.0), grad(grad(phi))(0.0)
        size = 1.0 + abs(second)
        assert abs(position[0, 0] - phi(0.0)) < 1e-13 * size
        assert abs(rates[0, 0] - first) < 1e-12 * size
        assert abs(force[0] @ case.a - gamma[0, 0] - second) < 1e-12 * size
        # lambda Phi_t is what the drive's power is
        power = np.zeros((1, 1))
        case.batch.power_call(u, q, v, np.ones((1, 1)), 0, power)()
        assert abs(power[0, 0] - (first - force[0] @ case.v)) < 1e-12 * size
        assert (power[0, 0] != 0.0) == follows


@every_row
def test_jacobian_is_the_derivative_by_quaternions_times_half_of_rate_body(primitive, ends, follows):
    for seed in SEEDS:
        case = Case(primitive, ends, follows, seed)
        data = np.zeros(case.pattern.size)
        case.batch.jacobian(case.u, case.q, data)
        matrix = case.pattern.to_csc(data).toarray()
        wanted = grad(case.phi)(case.q) @ case.basis(case.q)
        n = case.layout.n_v
        np.testing.assert_allclose(matrix[n, :n], wanted, atol=1e-13)
        np.testing.assert_array_equal(matrix[:n, n], matrix[n, :n])
        assert not matrix[:n, :n].any()


@every_row
def test_tangent_of_the_forces_and_rates(primitive, ends, follows):
    """d(J^T lambda)/dq H and d(J v + Phi_t)/dq H, of frames that something else couples too."""
    for seed in SEEDS:
        case = Case(primitive, ends, follows, seed, coupled=True)
        data = np.zeros(case.pattern.size)
        case.batch.constraint_tangent(case.u, case.q, case.v, case.multipliers, data)
        matrix = case.pattern.to_csc(data).toarray()

        def rate(q, case=case):
            first = np.dot(case.gradient(q), case.v)
            return first + (grad(lambda t: case.phi(q, t))(0.0) if case.follows else 0.0)

        n = case.layout.n_v
        wanted = case.multipliers[0] * jacobian(case.gradient)(case.q) @ case.basis(case.q)
        np.testing.assert_allclose(matrix[:n, :n], wanted, atol=1e-12)
        np.testing.assert_allclose(matrix[n, :n], grad(rate)(case.q) @ case.basis(case.q), atol=1e-12)
        assert not matrix[:, n].any()


def test_rows_without_a_direction_have_no_rank():
    """A rod of no length and an angle between parallel axes."""
    for primitive in ("DISTANCE", "DOT1"):
        case = Case(primitive, "second on the ground", False, 0)
        first, second = case.poses(case.q)
        turn = rotations.multiply(rotations.conjugate(first[1]), second[1])
        if primitive == "DOT1":
            case.batch.data[0, 3:6] = rotations.rotate(turn, case.row.second_axis)
        else:
            point = second[0] + rotations.rotate(second[1], case.row.second_point)
            case.batch.data[0, 0:3] = rotations.rotate_back(first[1], point - first[0])
        data = np.zeros(case.pattern.size)
        case.batch.jacobian(case.u, case.q, data)
        assert np.abs(data).max() < 1e-14


def test_driven_angle_is_regular_all_round():
    """TURN, on the joint's manifold: J is the axis, Phi_t = -f' and gamma = f'' for every angle."""
    layout = Layout()
    body = layout.add_frame("body", np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    ground = layout.add_frame("ground", np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), freedom=0)
    number = layout.add_row("row", ground, body)
    layout.finish()
    x, y, z = np.eye(3)
    axes = {"first_axis": x, "first_axis_2": y, "second_point": x, "second_axis": x}
    row = ConstraintRow(number, TURN, ground, body, **axes, constant=1.0, follows=0)
    batch = ConstraintSet(layout, ConstraintTable.of_rows(layout, [row], (Input(3, lambda t: None),)))
    batch.allocate(Pattern(layout))
    for angle in np.linspace(0.0, 2.0 * np.pi, 25):
        q = np.array([[0.0, 0.0, 0.0, np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)]])
        u, v = np.array([[angle, 1.3, -0.7]]), np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 1.3]])
        position, gamma, rates, power = np.zeros((4, 1, 1))
        batch.constraints(u, q, v, position, gamma)
        force = np.zeros((1, 6))
        batch.constraint_force(u, q, v, np.ones((1, 1)), force, rates)
        batch.power_call(u, q, v, np.ones((1, 1)), 0, power)()
        np.testing.assert_allclose(force[0], [0, 0, 0, *z], atol=1e-15)
        np.testing.assert_allclose([position[0, 0], rates[0, 0], gamma[0, 0]], [0.0, 0.0, -0.7], atol=1e-15)
        np.testing.assert_allclose(power[0], -1.3, atol=1e-15)


# Joints: each between bodies, to the ground and to beams

REMOVED = {
    femb.Spherical: 3, femb.Perpendicular: 1, femb.Parallel: 2, femb.Universal: 4, femb.Revolute: 5,
    femb.Cylindrical: 4, femb.Prismatic: 5, femb.Planar: 3, femb.PointOnLine: 2, femb.PointOnPlane: 1, femb.Fixed: 6,
    femb.Distance: 1,
}  # fmt: skip
PLACES = ("bodies", "ground first", "ground second", "beam node first", "beam end second")
INERTIA = np.array([[0.20, 0.02, -0.01], [0.02, 0.15, 0.03], [-0.01, 0.03, 0.18]])
CENTRES = {"a": (0.03, -0.02, 0.05), "b": (-0.04, 0.01, 0.02)}
MASSES = {"a": 1.5, "b": 2.0}
GRAVITY = np.array([0.7, -9.6, 1.3])
every_joint = pytest.mark.parametrize("kind", REMOVED, ids=lambda kind: kind.kind)
everywhere = pytest.mark.parametrize("place", PLACES)


def body(name, **words):
    return femb.RigidBody(name, mass=MASSES[name], inertia=INERTIA, center_of_mass=CENTRES[name], **words)


def section():
    return femb.Section("rod", 1e-4, (1e-9, 1e-9), 2e-9, 2700.0, 7e10, 2.6e10)


def jointed(kind, place, seed=0, **words):
    """A joint in a random singularity between two things; a body that it can place is placed by it."""
    rng = np.random.default_rng(seed)
    model = femb.Model(gravity=GRAVITY)
    angles = {"euler_angles": rng.uniform(-1.0, 1.0, 3), "euler_sequence": "xyz"}
    where = {"position": rng.standard_normal(3)}
    first = {"at": rng.standard_normal(3), "axis": rng.standard_normal(3), "reference": rng.standard_normal(3)}
    second = {"at": rng.standard_normal(3)}
    if kind is femb.Distance:
        other = {"position": rng.standard_normal(3), "euler_angles": rng.uniform(-1.0, 1.0, 3)}
    else:
        other = {}
        second |= {"axis": rng.standard_normal(3), "reference": rng.standard_normal(3)}
    if place.startswith("ground"):
        model.add(
            body("a", **angles, **where) if place == "ground second" and kind is femb.Distance else body("a", **other)
        )
    elif place.startswith("beam"):
        model.add(body("a", **other))
        model.add(femb.Ground("wall", **where, **angles))
        model.add(femb.Beam("rod", section(), 0.5, 2, start=Attachment("wall", direction=(1.0, 0.2, -0.3))))
        (first if place == "beam node first" else second).pop("at")
    else:
        model.add(body("a", **angles, **where))
        model.add(body("b", **other))
    ends = {
        "bodies": ({"body": "a"}, {"body": "b"}),
        "ground first": ({"body": "ground"}, {"body": "a"}),
        "ground second": ({"body": "a"}, {"body": "ground"}),
        "beam node first": ({"beam": "rod", "node": 1}, {"body": "a"}),
        "beam end second": ({"body": "a"}, {"beam": "rod", "node": -1}),
    }[place]
    if kind.coordinates and "start" not in words:
        words["start"] = rng.uniform(-1.0, 1.0, len(kind.coordinates))
    if kind is femb.Perpendicular:
        words["angle"] = 1.1
    joint = model.add(kind("j", femb.JointEnd(**ends[0], **first), femb.JointEnd(**ends[1], **second), **words))
    return System(model), joint, rng


@every_joint
@everywhere
def test_degrees_of_freedom(kind, place):
    system, _, _ = jointed(kind, place)
    found = freedom(system, system.q0)
    assert found.rows == len(kind.rows) == REMOVED[kind]
    assert found.degrees == system.n_v - REMOVED[kind]
    assert not found.dependent
    position, _ = system.constraints(
        system.inputs_at(0.0, system.q0, system.v0)[None], system.q0[None], system.v0[None]
    )
    assert np.abs(position).max() < 1e-11


def test_point_masses_take_joints_that_do_not_turn_them():
    model = femb.Model()
    model.add(femb.PointMass("p", mass=1.0, position=(1.0, 0.0, 0.0)))
    model.add(femb.PointMass("r", mass=1.0, position=(1.0, 2.0, 0.0)))
    model.add(femb.Spherical("ball", femb.JointEnd("ground", at=(1.0, 0.0, 0.0)), femb.JointEnd("p")))
    model.add(femb.Distance("rod", femb.JointEnd("p"), femb.JointEnd("r")))
    system = System(model)
    assert freedom(system, system.q0).degrees == 6 - 3 - 1
    assert system.constraints(np.zeros((1, 0)), system.q0[None], system.v0[None])[0].max() == 0.0


@every_joint
@everywhere
def test_coordinates_are_as_given_and_change_at_their_rates(kind, place):
    system, joint, rng = jointed(kind, place)
    where = system.layout.joints["j"]
    values, rates = system.joint_motion(system.q0, system.v0)
    count = len(kind.coordinates)
    assert len(values) == count
    if count:
        np.testing.assert_allclose(values, joint.start, atol=1e-11)
    # along motions that do not keep the joint together
    for _ in range(3):
        q, v = system.q0.copy(), rng.standard_normal(system.n_v)
        _, rates = system.joint_motion(q, v)

        def at(e, q=q, v=v):
            return system.joint_motion(q + e * system.rates(q[None], v[None])[0], v)[0]

        change = slope(at)
        np.testing.assert_allclose(rates, change, atol=1e-9)
        _, _, gradients = system.coordinates_of_joints.measure(q[None], v[None])
        along = np.zeros(12)
        for e, frame in enumerate((where.first.frame, where.second.frame)):
            j, size = system.layout.frame_v[frame], system.layout.frames[frame].freedom
            along[6 * e : 6 * e + size] = v[j : j + size] if size else 0.0
        np.testing.assert_allclose(gradients[0] @ along, rates, atol=1e-13)


TURNING = [kind for kind in REMOVED if any(coordinate.is_angle for coordinate in kind.coordinates)]


@pytest.mark.parametrize("angle", [-np.pi, np.deg2rad(-200.0), np.deg2rad(400.0)])
@pytest.mark.parametrize("kind", TURNING, ids=lambda kind: kind.kind)
@everywhere
def test_angles_begin_at_the_start_with_its_revolutions(kind, place, angle):
    angles = np.array([coordinate.is_angle for coordinate in kind.coordinates])
    start = np.where(angles, [angle, 0.3 - angle, angle][: len(angles)], 0.2)
    model = jointed(kind, place, start=start)[0].model
    springs = [
        femb.JointSpringDamper(f"s{k}", "j", coordinate=each.name, stiffness=3.0, free=0.5)
        for k, each in enumerate(kind.coordinates)
    ]
    for spring in springs:
        model.add(spring)
    system = System(model)
    np.testing.assert_allclose(system.joint_motion(system.q0, system.v0)[0], start, atol=1e-11)
    energy = next(batch for batch in system.batches if hasattr(batch, "measure") and spring in batch.items)
    u = system.inputs_at(0.0, system.q0, system.v0)[None]
    laws = energy.measure(u, system.q0[None], system.v0[None])[3][0]
    np.testing.assert_allclose(laws[:, 0], 3.0 * (start - 0.5), atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["velocity", "quaternion", "reduced", "hamiltonian"])
def test_revolutions_of_the_start_in_every_formulation(formulation):
    # a panel at -180 deg, whose spring and latch are on the other side of the turn, and a gimbal beyond a turn
    model = of_parts(femb.RigidBody("hub", 100.0, 10.0), femb.RigidBody("p", 2.0, 0.1), femb.RigidBody("g", 1.0, 0.2))
    pin = femb.JointEnd("hub", at=(0.0, 0.5, 0.0), axis=(0.0, 0.0, 1.0))
    model.add(femb.Revolute("h", pin, femb.JointEnd("p", at=(0.5, 0.0, 0.0), axis=(0.0, 0.0, 1.0)), start=-np.pi))
    model.add(femb.Universal("u", femb.JointEnd("hub", axis=(1.0, 0.0, 0.0)), femb.JointEnd("g"), start=(7.0, -3.5)))
    model.add(femb.JointSpringDamper("s", "h", stiffness=0.1, free=0.8))
    model.add(femb.JointSpringDamper("t", "u", coordinate="first_angle", stiffness=0.1, free=0.8))
    model.add(femb.Latch("l", "h", at=-3.0))
    method = "rk" if formulation == "hamiltonian" else "radau"
    found = femb.simulate(model, duration=3.0, output_interval=0.5, formulation=formulation, method=method)
    angle, first = found.joints["h"].coordinates, found.joints["u"].coordinates[:, 0]
    assert abs(angle[0, 0] + np.pi) < 1e-12
    np.testing.assert_allclose(found.joints["u"].coordinates[0], (7.0, -3.5), atol=1e-12)
    np.testing.assert_allclose(found.springs["s"].force, 0.1 * (angle[:, 0] - 0.8), atol=1e-9)
    np.testing.assert_allclose(found.springs["t"].force, 0.1 * (first - 0.8), atol=1e-9)
    assert [event.name for event in found.events] == ["latches.l"]
    np.testing.assert_allclose(angle[-1], -3.0, atol=1e-6)  # unfolds towards zero until it latches


def hinged(start, *more, **words):
    axis = (0.0, 0.0, 1.0)
    pin = femb.Revolute("h", femb.JointEnd("ground", axis=axis), femb.JointEnd("p", axis=axis), start=start)
    return of_parts(femb.RigidBody("p", 2.0, 0.1, **words), pin, *more)


def test_a_driver_and_a_spring_beyond_half_a_turn_agree_with_the_start():
    motion = femb.profiles.SmoothStep(duration=1.0, before=np.deg2rad(200.0), after=0.0)
    driver, spring = femb.JointDriver("d", joint="h", motion=motion), femb.JointSpringDamper("s", "h", stiffness=1.0)
    found = femb.simulate(hinged(np.deg2rad(200.0), driver, spring), duration=1.0, output_interval=0.25)
    np.testing.assert_allclose(found.joints["h"].coordinates[:, 0], found.drivers["d"].value[:, 0], atol=1e-9)
    assert abs(found.springs["s"].force[-1]) < 1e-9


@pytest.mark.slow
def test_a_hanging_body_has_the_spring_torque_of_its_start():
    # k (c - free) = m g l sin(c) near the start -189 deg; there is another root near +180 deg
    spring = femb.JointSpringDamper("s", "h", stiffness=0.5, free=-3.5)
    model = hinged(-3.3, spring, center_of_mass=(0.5, 0.0, 0.0))
    model.gravity = (-10.0, 0.0, 0.0)
    angle = femb.static(model).joints["h"].coordinates[-1, 0]
    assert abs(angle + np.pi) < 0.1
    assert abs(0.5 * (angle + 3.5) - 2.0 * 10.0 * 0.5 * np.sin(angle)) < 1e-8


def test_gears_have_the_revolutions_of_the_starts():
    # a half of 400 deg is 200 deg, not half of 40 deg; a gear that has no offset is closed there
    other = femb.RigidBody("w", 1.0, 0.1)
    axle = femb.Revolute(
        "i",
        femb.JointEnd("ground", at=(1.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0)),
        femb.JointEnd("w", axis=(0.0, 0.0, 1.0)),
        start=np.deg2rad(200.0),
    )
    first, second = femb.JointCoordinate("h"), femb.JointCoordinate("i")
    gear = femb.Gear("g", first, second, ratio=0.5, offset=0.0)
    system = System(hinged(np.deg2rad(400.0), other, axle, gear))
    np.testing.assert_allclose(system.joint_motion(system.q0, system.v0)[0], np.deg2rad([400.0, 200.0]), atol=1e-12)


def ends_of(system):
    """(point, axes as a matrix) of both ends of the joint j at the start, inertial."""
    found = []
    for end in (system.layout.joints["j"].first, system.layout.joints["j"].second):
        point, turn, _, _ = station_motion(system.layout, end, system.q0[None], system.v0[None])
        found.append((point[0], rotations.rotation_matrix(turn[0])))
    return found


@everywhere
def test_what_the_coordinates_mean(place):
    """Positive angles turn the second end about z; strokes lead from the first to the second point."""

    def about(axis, angle):
        return rotations.rotation_matrix(rotations.exponential(angle * np.eye(3)["xyz".index(axis)]))

    for kind in (femb.Revolute, femb.Parallel):
        (_, first), (_, second) = ends_of((made := jointed(kind, place))[0])
        np.testing.assert_allclose(second, first @ about("z", made[1].start[0]), atol=1e-10)
    (at, first), (to, second) = ends_of((made := jointed(femb.Cylindrical, place))[0])
    np.testing.assert_allclose(second, first @ about("z", made[1].start[0]), atol=1e-10)
    np.testing.assert_allclose(first.T @ (to - at), [0.0, 0.0, made[1].start[1]], atol=1e-10)
    (at, first), (to, second) = ends_of((made := jointed(femb.Planar, place))[0])
    np.testing.assert_allclose(first.T @ (to - at), [*made[1].start[:2], 0.0], atol=1e-10)
    np.testing.assert_allclose(second, first @ about("z", made[1].start[2]), atol=1e-10)
    (_, first), (_, second) = ends_of((made := jointed(femb.Universal, place))[0])
    # about z of the first end, then about z of the second, which at zero is x of the first
    turned = first @ about("z", made[1].start[0]) @ about("y", np.pi / 2) @ about("z", np.pi)
    np.testing.assert_allclose(second, turned @ about("z", made[1].start[1]), atol=1e-10)
    (_, first), (_, second) = ends_of(jointed(femb.Perpendicular, place)[0])
    assert abs(first[:, 2] @ second[:, 2] - np.cos(1.1)) < 1e-11


# Reactions


def moving_frames(system, rng):
    """One output frame of a random motion that the joints allow."""
    u = system.inputs_at(0.0, system.q0, system.v0)
    v = rng.standard_normal(system.n_v)
    v[system.layout.internal_v] = 0.0
    _, v = system.projected(u, system.q0, v)
    return output_frames(system, np.zeros(1), system.q0[None].copy(), v[None], system.budget.none()[None])


def needed(system, name, frames, point):
    """Force and torque about a point that joints must exert on a body, by Newton's and Euler's laws; inertial axes."""
    k = system.layout.bodies[name]
    i, j = system.layout.frame_q[k], system.layout.frame_v[k]
    q, v, a = frames.q[0], frames.v[0], frames.a[0]
    R = rotations.rotation_matrix(q[i + 3 : i + 7])
    s, w, w_rate = R @ np.array(CENTRES[name]), R @ v[j + 3 : j + 6], R @ a[j + 3 : j + 6]
    J = R @ INERTIA @ R.T
    of_centre = a[j : j + 3] + np.cross(w_rate, s) + np.cross(w, np.cross(w, s))
    force = MASSES[name] * (of_centre - GRAVITY)
    torque = J @ w_rate + np.cross(w, J @ w)
    return force, torque + np.cross(q[i : i + 3] + s - point, force)


@every_joint
@everywhere
def test_reactions_are_what_the_bodies_need(kind, place):
    """On a body with an offset mass centre and gravity, and the opposite on the body at the other end."""
    system, joint, rng = jointed(kind, place)
    frames = moving_frames(system, rng)
    where = system.layout.joints["j"]
    force, torque = (each[:, 0] for each in JointReactions(system, [where]).at(frames))
    axes = rotations.rotation_matrix(station_motion(system.layout, where.first, frames.q, frames.v)[1][0])
    point = station_motion(system.layout, where.second, frames.q, frames.v)[0][0]
    force, torque = axes @ force[0], axes @ torque[0]
    size = np.abs(force).max() + np.abs(torque).max() + 1.0
    bodies = [(joint.first.body, -1.0), (joint.second.body, 1.0)]
    for name, sign in bodies:
        if name in MASSES:
            wanted = needed(system, name, frames, point)
            np.testing.assert_allclose(sign * force, wanted[0], atol=1e-11 * size)
            np.testing.assert_allclose(sign * torque, wanted[1], atol=1e-11 * size)
    # and there is none along what the joint leaves free
    local, about = axes.T @ force, axes.T @ torque
    if kind in (femb.Revolute, femb.Cylindrical, femb.Parallel, femb.Planar):
        assert abs(about[2]) < 1e-11 * size
    if kind in (femb.Prismatic, femb.Cylindrical, femb.PointOnLine):
        assert abs(local[2]) < 1e-11 * size
    if kind in (femb.Spherical, femb.Distance, femb.PointOnLine, femb.PointOnPlane):
        np.testing.assert_allclose(torque, 0.0, atol=1e-11 * size)
    if kind in (femb.Parallel, femb.Perpendicular):
        np.testing.assert_allclose(force, 0.0, atol=1e-11 * size)


@pytest.mark.parametrize("angle", [0.0, 0.4, 2.5])
def test_pin_of_a_compound_pendulum(angle):
    m, J, length, g, rate = 2.0, 0.3, 0.7, 9.81, 1.9
    model = of_parts(
        femb.RigidBody(
            "a", mass=m, inertia=(0.1, 0.2, J), euler_angles=(0, 0, angle - np.pi / 2),
            position=(length * np.sin(angle), -length * np.cos(angle), 0.0),
        ),
        femb.Revolute(
            "pin", femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("a", at=(-length, 0, 0)), rates=rate,
        ), gravity=(0.0, -g, 0.0),
    )  # fmt: skip
    results = femb.simulate(model, duration=1e-3, rtol=1e-10)
    # on the pendulum: inward along it, and across it
    along = m * (g * np.cos(angle) + rate**2 * length)
    across = m * g * np.sin(angle) * (1.0 - m * length**2 / (J + m * length**2))
    inward, sideways = np.array([-np.sin(angle), np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
    joint = results.joints["pin"]
    np.testing.assert_allclose(joint.force[0], [*(along * inward + across * sideways), 0.0], atol=1e-11)
    np.testing.assert_allclose(joint.torque[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(joint.rates[0], rate, atol=1e-12)


def test_multiplier_of_a_rod_is_its_tension():
    """A mass that circles at the end of a rod: the tension is m v^2/l, and reported along the rod."""
    model = femb.Model()
    model.add(femb.PointMass("p", mass=0.5, position=(0.0, 2.0, 0.0), velocity=(3.0, 0.0, 0.0)))
    model.add(femb.Distance("rod", femb.JointEnd("ground"), femb.JointEnd("p")))
    results = femb.simulate(model, duration=5.0, rtol=1e-9)
    force = results.joints["rod"].force
    np.testing.assert_allclose(np.linalg.norm(force, axis=1), 0.5 * 9.0 / 2.0, rtol=1e-7)
    inward = -results.bodies["p"].position / 2.0
    np.testing.assert_allclose(np.sum(force * inward, axis=1), 0.5 * 9.0 / 2.0, rtol=1e-7)


# The four-bar of docs/theory/constraints.md, section 6


PINS = {
    "ground_crank": (-4.506533923417, -10.811295152881),
    "crank_coupler": (-3.678228026269, -6.255755823918),
    "coupler_rocker": (-0.933064145719, 5.442183595825),
    "ground_rocker": (0.530803029604, -16.876559502706),
}


def test_four_bar():
    system = System(four_bar())
    frames = output_frames(
        system, np.zeros(1), system.q0[None].copy(), system.v0[None].copy(), system.budget.none()[None]
    )
    turning = [system.layout.frame_v[system.layout.bodies[name]] + 5 for name in BARS]
    np.testing.assert_allclose(frames.v[0, turning], [3.0, -0.610056952854, 1.001479452646], atol=1e-12)
    wanted = [-14.907601244588, 5.487989173103, -1.059333086649]
    np.testing.assert_allclose(frames.a[0, turning], wanted, atol=1e-11)
    for name, on_first in PINS.items():
        joint = system.layout.joints[name]
        force = JointReactions(system, [joint]).at(frames)[0][:, 0]
        axes = station_motion(system.layout, joint.first, frames.q, frames.v)[1][0]
        np.testing.assert_allclose(-rotations.rotate(axes, force[0])[:2], on_first, atol=1e-10, err_msg=name)


def test_four_bar_has_one_degree_of_freedom_and_says_what_it_leaves_open():
    system = System(four_bar())
    found = freedom(system, system.q0)
    assert (found.degrees, found.rows, len(found.dependent)) == (1, 20, 3)
    # the eight forces in the plane are determined, all else is not
    open_ones = {
        f"joints.{name}: {what}"
        for name in PINS
        for what in ("position z", "axis x across axis z", "axis y across axis z")
    }
    assert set(found.undetermined) == open_ones
    assert set(found.dependent) <= open_ones


def test_what_is_left_open_gets_the_least_multipliers():
    system = System(four_bar())
    q, v = system.q0, system.v0
    frames = output_frames(system, np.zeros(1), q[None].copy(), v[None].copy(), system.budget.none()[None])
    J = system.jacobian(frames.u[0], q).toarray()
    force = -system.residual(frames.u, frames.q, frames.v, frames.a)[0]
    np.testing.assert_allclose(J.T @ frames.multipliers[0], force, atol=1e-11)
    np.testing.assert_allclose(frames.multipliers[0], np.linalg.pinv(J.T, rcond=1e-10) @ force, atol=1e-10)
    # other multipliers do as well, and the accelerations do not depend on the choice
    _, plain = system.forward(frames.u[0], q, v)
    np.testing.assert_allclose(J.T @ plain, force, atol=1e-10)
    assert np.linalg.norm(plain) > np.linalg.norm(frames.multipliers[0])


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-7, 1e-5, 1e-3])
def test_least_multipliers_of_any_with_the_same_forces(gap):
    """Against singular values, at states whose dependent rows depend on the others only up to a gap: to what rounding
    leaves of the error of a state, and independent where the gap is larger."""
    system, random = System(four_bar()), np.random.default_rng(5)
    u, x = np.zeros((5, system.n_u)), 1e3 * random.standard_normal((5, system.n_c))
    q = system.q0 + gap * random.standard_normal((5, system.n_q))
    found = least_multipliers(system, u, q, x)
    independent = gap > 1e-10
    for k in range(5):
        J = system.jacobian(u[k], q[k] if independent else system.q0).toarray()
        np.testing.assert_allclose(found[k] @ J, x[k] @ J, rtol=0.0, atol=1e-7 if independent else 1e-8)
        # where the iteration ends, forces are right to 1e-11, which the gap divides; beyond, dense least squares are
        wanted = x[k] @ J @ np.linalg.pinv(J, rcond=1e-10)
        np.testing.assert_allclose(found[k], wanted, rtol=0.0, atol=1e-3 if independent else 1e-7)


# In a run


@pytest.mark.parametrize("method", ["radau", "bdf", "rk"])
def test_angles_go_on_over_several_turns(method):
    """Five turns of a hinge, and of a cylindrical joint the other way while it slides."""
    model = femb.Model()
    spin = 10.0 * np.pi
    model.add(femb.RigidBody("wheel", mass=1.0, inertia=(0.1, 0.1, 0.2)))
    model.add(femb.RigidBody("screw", mass=1.0, inertia=(0.1, 0.1, 0.2)))
    z = (0.0, 0.0, 1.0)
    model.add(femb.Revolute("hinge", femb.JointEnd("ground", axis=z), femb.JointEnd("wheel"), start=0.3, rates=spin))
    model.add(femb.Cylindrical("slide", femb.JointEnd("ground", axis=z), femb.JointEnd("screw"), rates=(-spin, 0.5)))
    results = femb.simulate(model, duration=1.0, output_interval=0.01, method=method, rtol=1e-7)
    time = results.time
    np.testing.assert_allclose(results.joints["hinge"].coordinates[:, 0], 0.3 + spin * time, atol=1e-4)
    np.testing.assert_allclose(results.joints["hinge"].rates[:, 0], spin, rtol=1e-6)
    np.testing.assert_allclose(results.joints["slide"].coordinates, np.outer(time, (-spin, 0.5)), atol=1e-4)
    assert np.abs(results.audit.constraint_position).max() < 1e-10


@pytest.mark.parametrize("method", slow_but(["rk"], ["radau", "bdf", "rk"]))
def test_a_mechanism_keeps_its_energy_and_its_joints(method):
    """The four-bar with its loop, over two turns of the crank."""
    results = femb.simulate(four_bar(), duration=1.5, method=method, rtol=1e-8)
    energy = np.ptp(results.audit.kinetic_energy)
    assert np.abs(results.audit.energy_error).max() < 2e-5 * energy
    assert np.abs(results.audit.constraint_position).max() < 1e-10
    assert np.abs(results.audit.constraint_velocity).max() < 1e-9


# Of the second end of a joint along and about z: the joint, its start and the pose by hand; the start that it has.
PLACED = [
    (femb.Prismatic, {}, 0.5, {"position": (0.0, 0.0, 0.2)}, "but it is 0.2 m"),
    (femb.Prismatic, {}, 0.2, {"position": (0.0, 0.0, 0.2)}, None),
    (femb.Prismatic, {}, 0.20001, {"position": (0.0, 0.0, 0.2)}, None),  # typed to five digits
    (femb.Revolute, {"axis": (0, 0, 1), "reference": (1, 0, 0)}, 0.5, {"position": (0, 0, 0)}, "but it is 0 rad"),
    (femb.Revolute, {"axis": (0, 0, 1), "reference": (0, 1, 0)}, 0.5 * np.pi, {"position": (0, 0, 0)}, None),
    (femb.Revolute, {"axis": (0, 0, 1), "reference": (0, 1, 0)}, -3.5 * np.pi, {"position": (0, 0, 0)}, None),
    (femb.Revolute, {}, 0.5, {"position": (0, 0, 0)}, "does not turn 'b'"),
    (femb.Revolute, {"axis": (0, 0, 1)}, 0.5, {"position": (0, 0, 0)}, "does not turn 'b'"),
    (femb.Revolute, {}, 0.0, {"position": (0, 0, 0)}, None),
    (femb.Revolute, {}, 0.5, {"position": (0, 0, 0), "euler_angles": (0.0, 0.0, 0.3)}, None),
    (femb.Revolute, {}, 0.5, {}, None),
    (femb.Cylindrical, {}, (0.0, 0.5), {"position": (0.0, 0.0, 0.2)}, "for 'stroke', but it is 0.2 m"),
]


@pytest.mark.parametrize(("kind", "axes", "start", "pose", "contradiction"), PLACED)
@pytest.mark.parametrize("first", ["a", "ground"])
def test_a_start_that_contradicts_poses_given_by_hand_is_named(kind, axes, start, pose, contradiction, first):
    model = femb.Model()
    model.add(femb.RigidBody("a", 1.0, 1.0, position=(0.0, 0.0, 0.0)))
    model.add(femb.RigidBody("b", 1.0, 1.0, **pose))
    model.add(kind("j", femb.JointEnd(first, axis=(0, 0, 1)), femb.JointEnd("b", **axes), start=start))
    if contradiction is None:
        layout = System(model).layout
        found = [c.value(layout.pose(layout.joints["j"].first), layout.pose(layout.joints["j"].second))
                 for c in layout.joints["j"].coordinates]  # fmt: skip
        np.testing.assert_allclose(np.exp(1j * np.array(found)), np.exp(1j * np.array(start)), atol=2e-5)
    else:
        refuses(f"joints.j.start: .*{contradiction}", System, model)


def test_a_start_turns_the_first_end_where_the_second_is_the_ground():
    model = femb.Model()
    model.add(femb.RigidBody("a", 1.0, 1.0))
    model.add(femb.Revolute("j", femb.JointEnd("a", axis=(0, 0, 1)), femb.JointEnd("ground"), start=0.5))
    _, attitude = System(model).layout.pose(System(model).layout.joints["j"].first)
    np.testing.assert_allclose(attitude, [np.cos(0.25), 0.0, 0.0, -np.sin(0.25)], atol=1e-15)
