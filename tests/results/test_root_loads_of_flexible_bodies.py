"""Root loads of flexible bodies: on a hub, on the ground, with and without other interfaces."""

import numpy as np
import pytest
from models import of_parts, stiff

import femb
from femb import FlexibleBody, Load, Model, PointMass, RigidBody

HUB_AT = (0.3, 0.1, -0.2)


@pytest.fixture(scope="module")
def bodies():
    """A boom of beams reduced to its root and its tip, and to its root alone."""
    hub = RigidBody("hub", mass=10.0, inertia=1.0)
    section = stiff(1e5, 20.0, (30.0, 50.0), 0.5, (2e-4, 1e-4, 1e-4), "rod")
    model = of_parts(hub, femb.Beam("boom", section, 1.5, 3, start=hub.at((0.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0))))
    tip = femb.fem.reduce_beams(model, "hub", {"tip": "beams.boom.-1"}, 3).body
    return {"tip": tip, "root": femb.fem.reduce_beams(model, "hub", {}, 4).body}


def slewed(bodies, kind):
    model = Model()
    hub = model.add(RigidBody("hub", mass=10.0, inertia=(1.0, 2.0, 1.5), center_of_mass=(0.05, 0.0, 0.0)))
    start = hub.at(HUB_AT, direction=(0.0, 1.0, 1.0))
    ends = {}
    if kind == "attached":
        payload = model.add(RigidBody("payload", mass=0.4, inertia=0.01))
        ends = {"interfaces": {"tip": payload.at((0.0, 0.02, 0.0))}}
    model.add(FlexibleBody("boom", bodies["root" if kind == "root" else "tip"], start=start, **ends))
    if kind == "free":
        model.add(PointMass("weight", 0.3, on=femb.Place("boom.tip", at=(0.0, 0.0, 0.1))))
    model.add(
        Load("slew", body="hub", torque=(0.4, 0.7, -0.5), force=(1.0, 0.0, 0.5), profile=femb.profiles.Versine(0.4))
    )
    model.add(femb.Figure("root", ["appendages/boom/torque"]))
    return femb.simulate(model, duration=0.5, output_interval=0.05, rtol=1e-8)


@pytest.mark.parametrize("kind", ["free", "attached", "root"])
def test_root_loads_balance_the_hub(bodies, kind):
    """Newton's and Euler's equations of the hub alone."""
    results = slewed(bodies, kind)
    (root,) = results.appendages.values()
    assert root.name == "boom"
    assert root.parent == "hub"
    assert root.point == pytest.approx(HUB_AT)
    hub, load = results.bodies["hub"], results.loads["slew"]
    turn = femb.numerics.rotations.rotate
    centre, inertia = np.array([0.05, 0.0, 0.0]), np.array([1.0, 2.0, 1.5])
    w, alpha = hub.angular_velocity, hub.angular_acceleration
    of_centre = hub.acceleration + turn(hub.quaternion, np.cross(alpha, centre) + np.cross(w, np.cross(w, centre)))
    force = turn(hub.quaternion, root.force)
    assert 10.0 * of_centre == pytest.approx(force + load.force, abs=1e-6)
    assert np.abs(force).max() > 0.05
    back = femb.numerics.rotations.rotate_back(hub.quaternion, load.force)
    moment = root.torque + np.cross(root.point - centre, root.force) + np.cross(-centre, back)
    moment += load.torque
    assert inertia * alpha + np.cross(w, inertia * w) == pytest.approx(moment, abs=1e-6)


@pytest.mark.parametrize("kind", ["tip", "root"])
def test_weight_on_the_ground(bodies, kind):
    model = Model(gravity=(0.0, 0.0, -9.81))
    model.add(femb.Ground())
    model.add(FlexibleBody("boom", bodies[kind], start=femb.Attachment("ground", at=(1.0, 0.0, 0.0))))
    results = femb.simulate(model, duration=1e-3, output_interval=1e-3, start="equilibrium")
    (root,) = results.appendages.values()
    assert root.parent == "ground"
    assert root.force[0] == pytest.approx([0.0, 0.0, -9.81 * 0.75], abs=1e-6)
    # the boom sags: its mass centre is 0.75 m from the root, less a little
    assert root.torque[0] == pytest.approx([0.0, 9.81 * 0.75 * 0.75, 0.0], abs=0.03)
