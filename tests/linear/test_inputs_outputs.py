"""Inputs and outputs of linear models by name, against differences of what results record."""

from types import SimpleNamespace

import numpy as np
import pytest
from models import of_parts, refusals, refuses, stiff

import femb
from femb.elements.beam.batch import BeamBatch
from femb.elements.exact.batch import ExactBatch
from femb.elements.joint.records import JointReactions
from femb.layout.element import OutputRows
from femb.linear.linearise import state_space
from femb.linear.second_order import chart_of, second_order
from femb.numerics import rotations
from femb.small_motions.point import OperatingPoint
from femb.system.system import System

STEP = 1e-6


def arm(root="ground", kind=femb.Beam, heated=False):
    """A hub, by default on a hinge at the ground, a boom with a joint at its tip, and a body there.

    root : "ground"; "second", the hinge the other way round; or "free".
    """
    model = femb.Model(gravity=(0.3, -1.0, 0.0))
    place = {"angular_velocity": (0.2, -0.1, 0.4)} if root == "free" else {}
    model.add(femb.RigidBody("hub", mass=3.0, inertia=(0.3, 0.2, 0.4), position=(0.1, 0.2, 0.3), **place))
    if root != "free":
        ends = [
            femb.JointEnd("ground", at=(0.1, 0.2, 0.3), axis=(0, 0, 1), reference=(0.6, 0.8, 0.0)),
            femb.JointEnd("hub", axis=(0, 0, 1), reference=(0.6, 0.8, 0)),
        ]
        model.add(femb.Revolute("base", *(ends if root == "ground" else ends[::-1]), rates=(0.7,)))
    section = stiff(5e3, 4.0, [3.0, 6.0], 0.8, [2e-3, 1e-3, 1e-3], "boom", damping=0.01)
    clamp_at = femb.Attachment("hub", at=(0.2, 0.1, 0.0), direction=(1.0, 0.2, 0.1))
    model.add(kind("boom", section, length=1.0, elements=2, start=clamp_at))
    if heated:
        model.add(femb.ThermalLoad("sun", beam="boom", strain=(1e-4, 3e-3, 2e-3, -1e-3)))
    model.add(femb.RigidBody("tip", mass=0.5, inertia=(0.02, 0.03, 0.04), position=(1.3, 0.5, 0.4)))
    inner = femb.JointEnd(beam="boom", node=-1, at=(0.1, 0.02, 0.0), axis=(0.0, 1.0, 0.2))
    model.add(femb.Revolute("pin", inner, femb.JointEnd("tip", at=(-0.1, 0.03, 0.05), axis=(0.0, 1.0, 0.2))))
    model.add(femb.JointSpringDamper("spring", "pin", stiffness=3.0, damping=0.1))
    model.add(femb.Load("push", body="tip", force=(0.3, 0.2, 1.0), torque=(0.0, 0.1, 0.0)))
    return model


@pytest.mark.parametrize("root", ["ground", "second", "free"])
@pytest.mark.parametrize(
    ("kind", "batch_of"), [(femb.Beam, BeamBatch), (femb.ExactBeam, ExactBatch)], ids=["default", "exact"]
)
def test_forces_in_a_beam_and_in_a_joint_by_differences(root, kind, batch_of):
    """In motion: also the position, the velocity and the acceleration of a point beside the origin of its frame."""
    system = System(arm(root, kind, kind is femb.ExactBeam), assemble=True)
    point = OperatingPoint.of(system)
    chart = chart_of(point)
    names = [f"beams.boom.{node}.section_{word}" for node in (0, 1, -1) for word in ("force", "moment")]
    names += [f"joints.{joint}.{word}" for joint in system.layout.joints for word in ("force", "torque")]
    names += ["beams.boom.1.angular_acceleration"]
    names += [f"beams.boom.0.{word}" for word in ("position", "velocity", "acceleration", "angular_velocity")]
    space = state_space(point, second_order(point, chart), names)

    def measured(x, u):
        q, v = chart.after(x)
        a, multipliers = system.forward(u, q, v)
        state = {"u": u, "q": q, "v": v, "a": a, "multipliers": multipliers}
        parts = SimpleNamespace(time=np.zeros(1), **{word: values[None] for word, values in state.items()})
        batch = next(each for each in system.batches if isinstance(each, batch_of))
        heat = (u[None],) if batch_of is ExactBatch else ()
        section = batch.section_forces(q[None], v[None], a[None], *heat)[0]
        found = [section[0, 0], section[0, 1], section[1, 1]]
        for joint in system.layout.joints.values():
            found += [part[0, 0] for part in JointReactions(system, [joint]).at(parts)]
        station = system.layout.beams["boom"].stations[1]
        j = system.layout.frame_v[station.frame]
        found.append(rotations.rotation_matrix(station.rotation).T @ a[j + 3 : j + 6])
        # the first node is on the hub, beside its origin
        station = system.layout.beams["boom"].stations[0]
        assert np.linalg.norm(station.offset) > 0.1
        i, j = system.layout.frame_q[station.frame], system.layout.frame_v[station.frame]
        R = rotations.rotation_matrix(rotations.normalise(q[i + 3 : i + 7]))
        omega, spin, arm = v[j + 3 : j + 6], a[j + 3 : j + 6], station.offset
        found += [q[i : i + 3] + R @ arm, v[j : j + 3] + R @ np.cross(omega, arm)]
        found.append(a[j : j + 3] + R @ (np.cross(spin, arm) + np.cross(omega, np.cross(omega, arm))))
        found.append(rotations.rotation_matrix(station.rotation).T @ omega)
        return np.concatenate(found)

    n = len(space.states)
    for k, unit in enumerate(np.eye(n)):
        wanted = (measured(STEP * unit, point.u) - measured(-STEP * unit, point.u)) / (2 * STEP)
        scale = np.max(np.abs(space.C[:, k])) + 1.0
        np.testing.assert_allclose(space.C[:, k], wanted, atol=2e-8 * scale, err_msg=space.states[k])
    components = {name: index for _, index, name in point.input_components()}
    for k, name in enumerate(space.inputs):
        unit = np.eye(len(point.u))[components[name]]
        wanted = 0.5 * (measured(np.zeros(n), point.u + unit) - measured(np.zeros(n), point.u - unit))
        np.testing.assert_allclose(space.D[:, k], wanted, atol=1e-10, err_msg=name)


def test_forces_on_bodies_nodes_and_joints_are_those_of_loads():
    """The same columns as loads and motors that the model has."""
    model = arm()
    model.add(femb.Load("body force", body="tip", force=(0.0, 1.0, 0.0), frame="body"))
    model.add(femb.Load("body torque", body="tip", torque=(0.0, 0.0, 1.0), frame="body"))
    model.add(femb.Load("node force", beam="boom", node=1, force=(0.0, 0.0, 1.0), frame="body"))
    model.add(femb.JointMotor("motor", joint="pin", force=1.0))
    names = ["bodies.tip.force.y", "bodies.tip.torque.z", "beams.boom.1.force.z", "joints.pin.angle.force"]
    given = ["loads.body force", "loads.body torque", "loads.node force", "loads.motor"]
    system = System(model, assemble=True)
    point = OperatingPoint.of(system)
    equations = second_order(point, chart_of(point))
    wanted, found = (state_space(point, equations, None, inputs) for inputs in (given, names))
    np.testing.assert_allclose(found.B, wanted.B, atol=1e-12 * np.max(np.abs(wanted.B)))
    assert found.inputs == tuple(names)
    whole = state_space(point, equations, ["bodies.hub.turn.z"], ["bodies.tip.force", "loads.push"])
    assert whole.inputs == (
        *(f"bodies.tip.force.{axis}" for axis in "xyz"),
        *("loads.push.force.factor", "loads.push.torque.factor"),
    )
    assert whole.outputs == ("bodies.hub.turn.z",)
    np.testing.assert_array_equal(whole.B[:, 1], found.B[:, 0])


def slide():
    model = femb.Model()
    model.add(femb.RigidBody("cart", mass=3.0, inertia=1.0))
    model.add(femb.Prismatic("rail", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("cart", axis=(1, 0, 0))))
    return model


def test_a_driver_is_an_input_by_its_name():
    model = slide()
    model.add(femb.JointDriver("crank", joint="rail", motion=lambda t: (0.0, 0.0, 0.0)))
    space = femb.linearize(model, inputs=["drivers.crank"], outputs=["joints.rail.force", "bodies.cart.velocity.x"])
    assert space.inputs == ("drivers.crank", "drivers.crank rate", "drivers.crank acceleration")
    assert space.D[-1, 1] == pytest.approx(1.0)


test_unknown_names = refusals(
    lambda words: femb.linearize(slide(), **words),
    ({"inputs": ["bodies.cart.torqe"]}, "did you mean 'bodies.cart.torque'"),
    ({"inputs": ["joints.rail.stroke"]}, "did you mean 'joints.rail.stroke.force'"),
    ({"outputs": ["bodies.cart.attitude"]}, "no such output"),
    ({"inputs": ["ground.acceleration"]}, "of a model with held"),
    ({"outputs": ["appendages.cart.force"]}, "of a model with a hub"),
    ({"outputs": ["joints.rail.torqe"]}, "did you mean 'joints.rail.torque'"),
)


def driven(*items):
    """A free hub with a boom, and with a panel on a driven hinge that carries a boom of its own."""
    section = femb.Section("boom", 2e-4, (4e-9, 6e-9), 8e-9, 2.7e3, 7e10, 2.6e10, damping=1e-4)
    first = femb.JointEnd("hub", at=(0.3, 0.0, 0.1), axis=(0.0, 1.0, 0.2))
    return of_parts(
        femb.RigidBody("hub", mass=8.0, inertia=(0.5, 0.6, 0.7), center_of_mass=(0.02, -0.01, 0.03)),
        femb.Beam("boom", section, 2.0, 2, start=femb.Attachment("hub", (-0.1, 0.0, 0.1), direction=(-1, 0.2, 0))),
        femb.RigidBody("panel", mass=1.5, inertia=(0.05, 0.2, 0.25), position=(0.8, 0.0, 0.1)),
        femb.Revolute("hinge", first, femb.JointEnd("panel", at=(-0.5, 0.0, 0.0), axis=(0.0, 1.0, 0.2))),
        femb.Beam("wing", section, 1.5, 2, start=femb.Attachment("panel", (0.4, 0.0, 0.0), direction=(1, 0.1, 0))),
        femb.JointDriver("crank", joint="hinge", motion=lambda t: (0.0, 0.0, 0.0)),
        *items,
    )


DRIVEN = {
    "inputs": ["drivers.crank", "bodies.hub.torque"],
    "outputs": [
        *("bodies.hub.turn", "bodies.hub.angular_velocity", "beams.wing.-1.acceleration", "bodies.panel.position"),
        *("joints.hinge.force", "joints.hinge.torque", "beams.wing.0.section_moment"),
    ],
}


def motion_of(transfer, s):
    """(p, 4): by the motion of the driver, whose rate and acceleration are inputs beside it, and by the torques."""
    return np.hstack([transfer[:, :3] @ [[1.0], [s], [s * s]], transfer[:, 3:]])


@pytest.mark.slow
@pytest.mark.parametrize("order", [{}, {"modes": 30}, {"craig_bampton": 30}, {"modes": 8}])
@pytest.mark.parametrize("damped", [False, True])
def test_motions_of_drivers_by_every_road(order, damped):
    """Sparse, of full order with a hub, and truncated: as linearize without any of these."""
    model = driven(*([femb.ModalDamping("booms", "hub", 0.05, modes=6)] if damped else []))
    dense, sparse = femb.linearize(model, **DRIVEN), femb.linear_model(model, **DRIVEN, hub="hub")
    crank = ("drivers.crank", "drivers.crank rate", "drivers.crank acceleration")
    assert sparse.inputs == dense.inputs == (*crank, *(f"bodies.hub.torque.{axis}" for axis in "xyz"))
    words = {"damping": 0.0} if order and not damped else {}
    found = femb.linearize_structure(model, **DRIVEN, hub="hub", **order, **words)
    few = order.get("modes") == 8
    # the static share of the modes left out is that of displacements
    rows = [k for k, name in enumerate(dense.outputs) if not few or "turn" in name or "position" in name]
    for frequency in (0.2, 1.1) if few else (0.2, 3.7, 40.0):
        s = 2j * np.pi * frequency
        wanted = motion_of(dense.transfer(s), s)
        sizes = np.array([[np.max(np.abs(wanted[k - k % 3 : k - k % 3 + 3]))] for k in range(len(wanted))])
        assert np.max(np.abs(motion_of(sparse.transfer(s), s) - wanted) / sizes) < 1e-6
        difference = np.abs(motion_of(found.transfer(s), s) - wanted) / sizes
        assert np.max(difference[rows]) < (2e-3 if few else 1e-6)
    assert femb.linear_model(model, hub="hub").inputs == crank


def test_drivers_that_are_no_inputs():
    loaded = slide()
    loaded.gravity = np.array([-9.81, 0.0, 0.0])
    loaded.add(femb.JointDriver("crank", joint="rail", motion=lambda t: (0.0, 0.0, 0.0)))
    with pytest.raises(femb.ModelError, match="about rest without loads only"):
        femb.linear_model(loaded, inputs=["drivers.crank"], outputs=[], start="equilibrium")
    with pytest.raises(femb.ModelError, match=r"did you mean 'drivers\.crank'"):
        femb.linear_model(driven(), inputs=["drivers.crnk"], outputs=[], hub="hub")


def test_an_output_without_a_derivative_is_refused_by_name(monkeypatch):
    """The direction between two points in one place is none: rows of a sensor that are not finite."""
    model = femb.Model()
    model.add(femb.RigidBody("hub", 1.0, 1.0))
    model.add(femb.PositionSensor("gps", body="hub", period=1.0))
    rows = OutputRows("m", np.full((3, 6), np.nan))
    monkeypatch.setattr(femb.PositionSensor, "true_rows", lambda self, point: rows)
    for name in ("sensors.gps.true", "sensors.gps.true.x"):
        refuses(f"output '{name}': has no derivative at this state", femb.linearize, model, inputs=[], outputs=[name])
