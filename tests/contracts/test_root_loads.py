"""Root loads of everything that connects bodies: Newton's and Euler's equations of the parent, to rounding."""

import numpy as np
import pytest
from contracts.test_items import EXAMPLES, every_kind
from models import of_parts
from oracles.finite_differences import INERTIA

import femb
from femb import elements as e
from femb.elements.joint.joint import Joint
from femb.numerics import rotations
from femb.profiles import Constant, Polynomial

TO_ROUNDING = 1e-11
KICK = {"force": (1.0, 2.0, -1.5), "torque": (0.3, -0.2, 0.4)}
# Kinds whose examples act on the parent b from outside, or give it mass that is not its own.
ON_THE_PARENT = {
    e.AerodynamicLoad, e.Orbit, e.GravityGradient, e.SolarPressure, e.PlateDrag, e.Atmosphere, e.MagneticTorquer,
    e.UniformField, e.DipoleField, e.PointMass, e.SloshingTank, e.ReactionWheel, e.Rotor, e.Bearing,
}  # fmt: skip


def balance(results, parent, mass, inertia, force=0.0, torque=0.0):
    """Largest part of Newton's and Euler's equations of a parent that root loads and a load in its axes leave, relative
    to the largest load; and that load."""
    body = results.bodies[parent]
    loads = [root for root in results.appendages.values() if root.parent == parent]
    w, own = body.angular_velocity, rotations.rotate_back(body.quaternion, mass * body.acceleration)
    forces = sum(root.force for root in loads) + force
    torques = sum(root.torque + np.cross(root.point, root.force) for root in loads) + torque
    turned = body.angular_acceleration @ inertia + np.cross(w, w @ inertia)
    size = max([np.abs(part).max() for root in loads for part in (root.force, root.torque)], default=0.0)
    return max(np.abs(own - forces).max(), np.abs(turned - torques).max()) / max(size, 1.0), size


@every_kind
def test_every_kind_of_item(kind):
    """The heavier of the two bodies of its example, while both are pushed."""
    if kind in ON_THE_PARENT:
        pytest.skip("acts on the parent itself")
    model = EXAMPLES[kind]()
    for body in "ab":
        model.add(e.Load(f"kick {body}", body=body, frame="body", **KICK))
    results = femb.simulate(model, duration=0.1, output_interval=0.05, rtol=1e-6, start="assembled")
    left, size = balance(results, "b", 1.3, INERTIA, *map(np.asarray, KICK.values()))
    assert left < TO_ROUNDING
    assert size > 1e-3 or not issubclass(kind, Joint)


# What controllers, and states that change in steps, add to the forces.

HUB, J = 10.0, np.diag([1.0, 1.2, 0.8])
PD = {"input": "joints.root.angle", "rate": "joints.root.angle rate", "proportional": 0.5, "derivative": 0.1}
MOTOR = e.JointMotor("motor", joint="root", force=0.0)
STEPPER = {"name": "stepper", "joint": "root", "teeth": 50.0, "holding_torque": 0.5, "damping": 0.01}
SWING = {"inputs": ("bodies.hub.angular_velocity",), "period": 0.1, "state": (0.0,)}
GIMBAL = {"gimbal_axis": (1.0, 0.0, 0.0), "gimbal_mass": 1.0, "gimbal_inertia": (0.02, 0.02, 0.025)}


def hub(*items, spin=0.1):
    return of_parts(e.RigidBody("hub", HUB, J, angular_velocity=(0.0, 0.0, spin)), *items)


def armed(*items, reverse=False, start=0.3, names=("root",), spin=0.1):
    """A hub with arms on revolute joints of either direction."""
    parts = []
    for k, name in enumerate(names):
        on_hub = e.JointEnd("hub", at=(0.1, 0.3 - 0.6 * k, 0.0), axis=(0.0, 0.0, 1.0), reference=(1.0, 0.0, 0.0))
        on_arm = e.JointEnd(f"arm {name}", axis=(0.0, 0.0, 1.0), reference=(1.0, 0.0, 0.0))
        ends = (on_arm, on_hub) if reverse else (on_hub, on_arm)
        parts.append(e.RigidBody(f"arm {name}", 1.5, (0.02, 0.05, 0.04), center_of_mass=(0.4, 0.0, 0.0)))
        parts.append(e.Revolute(name, *ends, start=start))
    return hub(*parts, *items, spin=spin)


def pd(period=None):
    return MOTOR, e.PDController("pd", **PD, outputs=("loads.motor.force",), period=period)


def beside_thrust():
    """A law that sets the motor at the root and a load on the arm."""
    jet = e.Load("jet", body="arm root", torque=(0.0, 0.0, 0.0), frame="body")
    wanted = ("loads.motor.force", "loads.jet.torque")
    D = [[-0.5], [0.0], [0.7], [0.2]]
    law = e.LinearController("law", inputs=("joints.root.angle",), D=D, outputs=wanted)
    return MOTOR, jet, law


def swung(command):
    return e.SampledController("swing", lambda t, y, x: ([0.3 * np.cos(3.0 * t)], x), outputs=(command,), **SWING)


def gyro():
    gimbal = e.ControlMomentGyro(
        "cmg", body="hub", at=(0.2, 0, 0), axis=(0, 0, 1), spin_inertia=0.02, speed=200.0, **GIMBAL
    )
    return hub(gimbal, swung("loads.cmg_gimbal.force"))


def tape():
    """A tape spring that is folded beyond its snap, unfolds, and snaps through to the other side."""
    degree = np.pi / 180.0
    curve = e.JointCurve(
        name="tape", joint="root", coordinates=np.array([-3.0, -1.0, 0.0, 1.0, 3.0]) * degree,
        forces=(-3.0, -2.0, 0.0, 2.0, 3.0), damping=0.002,
        snaps=[
            e.Snap(at=3 * degree, back=0.2 * degree, coordinates=[0.0, 3.14], forces=[0.8, 0.5]),
            e.Snap(at=-3 * degree, back=-0.2 * degree, coordinates=[-3.14, 0.0], forces=[-0.5, -0.8]),
        ],
    )  # fmt: skip
    return armed(curve, start=0.2)


ADDED = {
    "continuous law": lambda: armed(*pd()),
    "sampled law": lambda: armed(*pd(0.1)),
    "law on a reversed joint": lambda: armed(*pd(), reverse=True),
    "sampled law on a reversed joint": lambda: armed(*pd(0.1), reverse=True),
    "law beside a load on the arm": lambda: armed(*beside_thrust()),
    "gimbal of a gyro": gyro,
    "stepper in steps": lambda: armed(
        e.StepperMotor(**STEPPER, motion=Polynomial((0.3, 0.4)), step=0.0314, step_rate=10.0)
    ),
    "commanded stepper": lambda: armed(
        e.StepperMotor(**STEPPER, motion=Constant(0.3)), swung("loads.stepper.angle")
    ),
    "snaps": tape,
}  # fmt: skip


@pytest.mark.parametrize("name", ADDED)
def test_commands_and_discrete_states(name):
    results = femb.simulate(ADDED[name](), duration=1.0, output_interval=0.05, rtol=1e-8)
    left, size = balance(results, "hub", HUB, J)
    assert left < TO_ROUNDING
    assert size > 0.1
    if name == "snaps":
        assert len(set(results.springs["tape"].snapped.tolist())) > 1


# Points in space


def test_ties_to_points_in_space_are_loads():
    """Of a hub and of both of its arms, by springs and pulls, beside a spring between the hub and an arm."""

    def tie(kind, body, at, *point, **words):
        return kind(f"{kind.__name__} {body}", e.SpringEnd(body, at=at), e.SpringEnd(anchor=point), **words)

    free, tip = {"stiffness": 3.0, "free_length": 0.2}, (0.5, 0.0, 0.0)
    model = armed(
        tie(e.SpringDamper, "hub", (0.0, 0.0, 0.0), 0.4, 0.5, 2.0, **free),
        tie(e.SpringDamper, "arm one", tip, 1.0, 2.0, 0.0, **free),
        tie(e.Pull, "arm two", tip, 0.0, -2.0, 1.0, force=1.5),
        e.SpringDamper("strut", e.SpringEnd("hub"), e.SpringEnd("arm one", at=tip), stiffness=5.0, free_length=0.1),
        e.Pull("rope", e.SpringEnd("hub"), e.SpringEnd("arm two", at=tip), force=0.7),
        names=("one", "two"),
    )
    results = femb.simulate(model, duration=0.5, output_interval=0.1, rtol=1e-8)
    assert [(root.name, root.parent) for root in results.appendages.values()] == [("one", "hub"), ("two", "hub")]
    body = results.bodies["hub"]
    way = np.array([0.4, 0.5, 2.0]) - body.position
    length = np.linalg.norm(way, axis=1)
    force = rotations.rotate_back(body.quaternion, (3.0 * (length - 0.2) / length)[:, None] * way)
    assert balance(results, "hub", HUB, J, force)[0] < TO_ROUNDING


# Linear models

INPUTS = (
    "loads.motor.force", "loads.pull.force", "loads.push.force.factor", "joints.root.angle.force",
    "bodies.hub.torque.y", "bodies.arm root.force.x", "thrusters.jet.level",
)  # fmt: skip


@pytest.mark.parametrize("name", INPUTS)
def test_loads_of_linear_models(name):
    """By an input at the root, or from outside, at a frequency: the hub at rest has no other terms."""
    model = hub_at_rest()
    roots = femb.simulate(model, duration=0.01, output_interval=0.01).appendages
    points = {each: roots[each].point for each in roots}
    outputs = [f"appendages.{each}.{word}" for each in points for word in ("force", "torque")]
    outputs += ["bodies.hub.acceleration", "bodies.hub.angular_acceleration"]
    G = femb.linearize_structure(model, inputs=[name], outputs=outputs, hub="hub").transfer(0.7j)[:, 0].reshape(-1, 3)
    force = sum(G[2 * k] for k in range(len(points)))
    torque = sum(G[2 * k + 1] + np.cross(point, G[2 * k]) for k, point in enumerate(points.values()))
    torque = torque + (name == "bodies.hub.torque.y") * np.array([0.0, 1.0, 0.0])
    np.testing.assert_allclose(force, HUB * G[-2], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(torque, J @ G[-1], rtol=0.0, atol=1e-12)
    assert np.abs(G[:-2]).max() > 0.01


def hub_at_rest():
    """An arm on a motor, with jet, load, air and a tie to a point in space; and a pod on springs and a pull."""
    ends = e.SpringEnd("hub", at=(0.1, 0.0, 0.3)), e.SpringEnd("pod", at=(0.0, 0.1, 0.0))
    return armed(
        MOTOR, e.JointSpringDamper("spring", "root", stiffness=2.0, damping=0.1, free=0.3),
        e.Thruster("jet", 2.0, (1.0, 0.0, 0.3), body="arm root", at=(0.3, 0.2, 0.0)),
        e.Load("air", body="arm root", damping=0.5),
        e.SpringDamper("tie", e.SpringEnd("arm root", at=(0.5, 0, 0)), e.SpringEnd(anchor=(3, 2, 0)), stiffness=4.0),
        e.Load("push", body="arm root", force=(0.0, 1.0, 0.5), profile=Constant(0.0)),
        e.RigidBody("pod", 2.0, 0.1, position=(0.0, 0.0, 2.0)), e.Pull("pull", *ends, force=0.0),
        e.SpringDamper("strut", *ends, stiffness=5.0, damping=0.1),
        e.TorsionSpringDamper("twist", e.SpringEnd("hub"), e.SpringEnd("pod"), axis=(0, 0, 1), stiffness=0.3),
        spin=0.0,
    )  # fmt: skip
