"""Points beside a beam's node: what acts there does work on the velocity of the point itself.

The point is fixed in the section: r + R at, moving with rdot + R (omega x at). Position, rate and virtual work of
loads, masses, springs, pulls, drivers and joints are compared with it, at a node of its own frame and at one that is
clamped to a body; tangents with finite differences.
"""

import numpy as np
import pytest
from models import of_parts, stiff
from oracles.finite_differences import only, random_state, residual_change, tangent_error

import femb
from femb.elements.body.mass_batch import MassBatch
from femb.elements.load.aerodynamic import AerodynamicBatch
from femb.elements.load.batch import LoadBatch
from femb.elements.spring.batch import PullBatch, SpringBatch
from femb.layout.state import station_acceleration, station_motion
from femb.numerics import rotations
from femb.profiles import Constant
from femb.system.system import System

AT = np.array([0.3, -0.4, 0.7])
FORCE, TORQUE = np.array([1.5, -2.0, 0.7]), np.array([0.3, 0.2, -0.9])
ANCHOR = np.array([0.5, 3.0, -1.0])
BOOM = stiff(1e3, 5.0, (7.0, 9.0), 0.3, (0.02, 0.01, 0.01), "boom")
NODES = {"clamped": 0, "inner": 1, "end": -1}
nodes = pytest.mark.parametrize("node", NODES.values(), ids=NODES)


def model(*items, **words):
    """A hub with a boom that leaves it at an angle, so that the section at the clamp has axes of its own."""
    hub = femb.RigidBody("hub", mass=2.0, inertia=np.diag([1.0, 1.5, 1.2]), euler_angles=(0.2, -0.4, 0.6))
    start = hub.at((0.2, 0.1, -0.3), direction=(1.0, 2.0, -0.5), up=(0.1, 0.2, 1.0))
    return of_parts(hub, femb.Beam("boom", section=BOOM, length=1.4, elements=2, start=start), *items, **words)


def point(system, q, v, node):
    """Position, quaternion, velocity and angular velocity (section axes) of the point, from the state of the node."""
    at = system.state(0.0, q, v).beams["boom"].nodes[node]
    turned = rotations.rotate(at.quaternion, AT)
    velocity = at.velocity + rotations.rotate(at.quaternion, np.cross(at.angular_velocity, AT))
    return at.position + turned, at.quaternion, velocity, at.angular_velocity


def states(system, count=3):
    rng = np.random.default_rng(5)
    return [random_state(system, rng)[:3] for _ in range(count)]


@nodes
@pytest.mark.parametrize("frame", ["inertial", "body"])
def test_load(node, frame):
    """Power, and the tangent of the moment arm."""
    system = only(
        model(femb.Load("push", beam="boom", node=node, at=AT, force=FORCE, torque=TORQUE, frame=frame)), LoadBatch
    )
    u = np.ones(system.n_u)
    for q, v, a in states(system):
        _, axes, velocity, omega = point(system, q, v, node)
        force = FORCE if frame == "inertial" else rotations.rotate(axes, FORCE)
        torque = TORQUE if frame == "body" else rotations.rotate_back(axes, TORQUE)
        power = -system.residual(u[None], q[None], v[None], a[None])[0] @ v
        assert power == pytest.approx(force @ velocity + torque @ omega, rel=1e-12)
        damping, stiffness = (system.pattern.to_csc(data).toarray() for data in system.tangent(u, q, v, a))
        dx = np.random.default_rng(1).standard_normal(system.n_v)
        wanted = residual_change(system, q, v, a, u, dx, 0.0 * dx)
        np.testing.assert_allclose(stiffness @ dx, wanted, atol=1e-8 * np.abs(wanted).max())
        assert not damping.any()


@nodes
def test_accelerations_are_rates_of_velocities(node):
    """Of a node, and its angular velocity in section axes, by differences of order 6 along the motion."""
    system = System(model())
    station, h = system.layout.beams["boom"].stations[node], 1e-3
    for q, v, a in states(system):

        def change(t, q=q, v=v, a=a):
            moved = q + t * system.rates(q[None], v[None])[0]
            moving = station_motion(system.layout, station, moved[None], (v + t * a)[None])
            return np.concatenate([moving[2][0], moving[3][0]])

        found = np.concatenate([x[0] for x in station_acceleration(system.layout, station, q[None], v[None], a[None])])
        rate = sum(w * (change(k * h) - change(-k * h)) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))) / (60.0 * h)
        np.testing.assert_allclose(found, rate, atol=1e-9 * np.abs(rate).max())


@nodes
def test_mass(node):
    gravity = np.array([0.3, -1.0, 2.0])
    place = femb.Place(beam="boom", node=node, at=AT)
    system, less = (
        only(model(femb.PointMass("tip", mass=m, on=place), gravity=gravity), MassBatch) for m in (1.7, 1.0)
    )
    for q, v, _ in states(system):
        position, _, velocity, _ = point(system, q, v, node)
        more = (system.energy_momentum(q[None], v[None]) - less.energy_momentum(q[None], v[None]))[0]
        momentum = 0.7 * velocity
        wanted = [0.35 * velocity @ velocity, -0.7 * gravity @ position, *momentum, *np.cross(position, momentum)]
        np.testing.assert_allclose(more, wanted, rtol=1e-10, atol=1e-12)


@nodes
@pytest.mark.parametrize("kind", ["spring", "pull"])
def test_between_points(node, kind):
    """The force along the line from the point to an anchor does work on the change of its length."""
    start, end = femb.SpringEnd(beam="boom", node=node, at=AT), femb.SpringEnd(anchor=ANCHOR)
    if kind == "spring":
        item, batch = femb.SpringDamper("s", start, end, stiffness=3.0, damping=0.4, free_length=0.2), SpringBatch
    else:
        item, batch = femb.Pull("s", start, end, force=2.5), PullBatch
    system = only(model(item), batch)
    for q, v, a in states(system):
        position, _, velocity, _ = point(system, q, v, node)
        length = np.linalg.norm(ANCHOR - position)
        rate = -(ANCHOR - position) @ velocity / length
        tension = 2.5 if kind == "pull" else 3.0 * (length - 0.2) + 0.4 * rate
        u = system.inputs_at(0.0, q, v)
        power = system.residual(u[None], q[None], v[None], a[None])[0] @ v
        assert power == pytest.approx(tension * rate, rel=1e-11)
    if kind == "spring":
        assert tangent_error(system) < 1e-6


def test_air():
    item = femb.AerodynamicLoad("drag", beam="boom", node=-1, at=AT, force_by_velocity=-2.0 * np.eye(3))
    system = only(model(item), AerodynamicBatch)
    for q, v, a in states(system):
        _, _, velocity, _ = point(system, q, v, -1)
        u = system.inputs_at(0.0, q, v)
        power = -system.residual(u[None], q[None], v[None], a[None])[0] @ v
        assert power == pytest.approx(-2.0 * velocity @ velocity, rel=1e-11)


HELD = {
    "driver": lambda on: femb.PositionDriver(
        "held", femb.Place("ground", at=ANCHOR), on, x=Constant(0.5), z=Constant(-0.25)
    ),
    "ball": lambda on: femb.Spherical("held", femb.Place("ground", at=ANCHOR), on),
    "rod": lambda on: femb.Distance("held", femb.Place("ground", at=ANCHOR), on, length=1.7),
}


@nodes
@pytest.mark.parametrize("kind", HELD)
def test_held(node, kind):
    """Gap and rate of rows are those of the point, and the least forces that hold them act on it."""
    made = model(HELD[kind](femb.Place(beam="boom", node=node, at=AT)))
    # placed on the constraint, since a model that is open at the start is refused
    free = System(model())
    position, *_ = point(free, free.q0, free.v0, node)
    offset = {"driver": np.array([0.5, 0.3, -0.25]), "ball": np.zeros(3), "rod": np.array([0.0, 1.7, 0.0])}[kind]
    made.bodies["hub"].__dict__["position"] = ANCHOR + offset - position
    system = System(made)
    assert np.max(np.abs(system.constraints(np.zeros((1, system.n_u)) + system.inputs_at(0, system.q0, system.v0),
                                            system.q0[None], system.v0[None])[0])) < 1e-12  # fmt: skip
    for q, v, _ in states(system):
        u = system.inputs_at(0.0, q, v)[None]
        position, _, velocity, _ = point(system, q, v, node)
        d = position - ANCHOR
        wanted, rates = {
            "driver": ((d - (0.5, 0.0, -0.25))[[0, 2]], velocity[[0, 2]]),
            "ball": (d, velocity),
            "rod": ((d @ d - 1.7**2) / 3.4, d @ velocity / 1.7),
        }[kind]
        rows = system.layout.row_c
        np.testing.assert_allclose(system.constraints(u, q[None], v[None])[0][0][rows], wanted, rtol=1e-11)
        np.testing.assert_allclose(system.constraint_rates(u, q[None], v[None])[0][rows], rates, rtol=1e-11)


def test_ends_that_beams_return_keep_their_node():
    """``beam.at`` is an end of a spring as ``body.at`` is; it was taken for an end on nothing."""
    boom = model().beams["boom"]
    for end in (boom.at(1, AT), boom.node(1, AT)):
        spring = femb.SpringDamper("s", end, femb.SpringEnd(anchor=ANCHOR), stiffness=1.0)
        assert (spring.start.beam, spring.start.node, spring.start.at.tolist()) == ("boom", 1, AT.tolist())


def test_a_point_mass_has_no_points_beside_it():
    """Every item refuses it, where a load left the offset out."""
    made = femb.Model("ball")
    made.add(femb.PointMass("ball", mass=1.0))
    made.add(femb.Load("push", body="ball", at=AT, force=FORCE))
    made.add(femb.SpringDamper("s", femb.SpringEnd("ball", at=AT), femb.SpringEnd(anchor=ANCHOR), stiffness=1.0))
    with pytest.raises(femb.ModelError) as caught:
        System(made)
    assert [each.item for each in caught.value.problems] == [("loads", "push", "at"), ("springs", "s", "start", "at")]
    assert all("is off the point mass" in each.message for each in caught.value.problems)
