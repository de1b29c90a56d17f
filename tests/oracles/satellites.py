"""Random small satellites: two unlike appendages of a hub, mounted askew, with every kind of damping."""

from functools import cache

import numpy as np

import femb
from femb import elements as e
from femb.numerics import rotations
from femb.system.moving_ground import mass_properties

SIDE = 0.015  # m, of the boom, about
PANEL = np.array([0.4, 0.1, -0.05])  # m, from the hinge of the panel to its reference point
ARM, BOOM = 1.5, 2.0  # m
MODES = 4  # of the reduced body


def unit(rng, size=3):
    """A random direction, or of four numbers a random attitude."""
    vector = rng.standard_normal(size)
    return vector / np.linalg.norm(vector)


def inertia(rng, size):
    """(3, 3) kg m2, of some points: the moments satisfy the inequality of triangles."""
    points = rng.standard_normal((8, 3))
    points -= points.mean(axis=0)
    return size * (np.sum(points**2) * np.eye(3) - points.T @ points) / 8


def section(rng, name, side, damping=0.0):
    """A rectangle of aluminium of about this side, m."""
    b, h = side * rng.uniform(0.8, 1.2, 2)
    return e.Section(
        name, area=b * h, second_moments=(b * h**3 / 12, h * b**3 / 12), torsion_constant=0.14 * (b * h) ** 2,
        density=2700.0, youngs_modulus=7e10, shear_modulus=2.7e10, damping=damping, expansion=2.3e-5,
    )  # fmt: skip


def boom_model(seed):
    """A boom of beams on its root."""
    rng = np.random.default_rng(seed)
    model = femb.Model("boom")
    model.add(e.RigidBody("root", mass=1.0, inertia=0.1))
    model.add(section(rng, "b", 0.03))
    model.add(e.Beam("boom", "b", BOOM, 3, start=e.Attachment("root", (0, 0, 0), direction=(1, 0, 0))))
    return model


@cache
def reduced_boom(seed):
    """A boom of beams, reduced to its root, its tip and some modes."""
    return femb.fem.reduce_beams(boom_model(seed), "root", {"tip": "beams.boom.-1"}, MODES).body


def panel_boom(at, outward, dampers):
    """A narrow panel of foam in place of the boom, clamped along an edge to the hub; its tip is a corner.

    Thick and soft: dense matrices lose digits with the square of the highest frequency, that of its shear, over the
    lowest.
    """
    side = 0.15
    across = np.cross(outward, np.eye(3)[np.argmin(np.abs(outward))])
    across /= np.linalg.norm(across)
    return e.Shell(
        "boom", (3, 1), corners=[[0, -side, 0], [BOOM, -side, 0], [BOOM, side, 0], [0, side, 0]], thickness=0.1,
        material=femb.Material(7e7, 2.7e7, 270.0, 2.3e-5), damping=1e-4 if dampers else 0.0, frame="hub", position=at,
        quaternion=rotations.from_matrix(np.column_stack([outward, across, np.cross(outward, across)])),
        attach={"edge4": "hub"}, points={"tip": "corner2"},
    )  # fmt: skip


def satellite(seed, *, dampers=True, modal=True, held=False, driven=False, spin=0.0, heat=0.0):
    """A hub, an arm with a panel on a sprung hinge, and a boom.

    The arm is a Beam or an ExactBeam by turns; the boom is a reduced body, a tapered ExactBeam or a panel. dampers : a
    dashpot, the damping of a section and that of the boom. modal : modal damping of the appendages. held : the hub is
    fixed to the ground. driven : the hinge is driven, not sprung. spin : rad/s, about the axis of largest inertia.
    heat : K, difference of temperature across the boom, which takes a tapered one in place of a reduced body.
    """
    rng = np.random.default_rng(seed)
    model = femb.Model(f"satellite {seed}")
    attitude, origin = unit(rng, 4), rng.standard_normal(3)
    R = rotations.rotation_matrix(attitude)
    hub = {
        "mass": rng.uniform(20.0, 60.0),
        "inertia": inertia(rng, 3.0),
        "center_of_mass": 0.1 * rng.standard_normal(3),
    }
    if spin:
        hub |= turn_of(satellite(seed, dampers=dampers, modal=modal, heat=heat), spin)
    model.add(e.RigidBody("hub", **hub, quaternion=attitude, position=origin))
    model.add(section(rng, "root", 0.02, 1e-4 if dampers else 0.0))
    model.add(section(rng, "tip", 0.01))
    mounts = [(0.3 * d + 0.1 * rng.standard_normal(3), d) for d in (unit(rng), unit(rng))]
    (at, along), (second, outward) = mounts
    kind = (e.Beam, e.ExactBeam)[seed % 2]
    model.add(kind("arm", "root", length=ARM, elements=2, start=e.Attachment("hub", at, direction=along)))
    turn, axis = unit(rng, 4), unit(rng)
    hinge = origin + R @ (at + ARM * along)
    position = hinge + rotations.rotation_matrix(turn) @ PANEL
    model.add(e.RigidBody("panel", mass=2.0, inertia=inertia(rng, 0.2), quaternion=turn, position=position))
    model.add(e.Revolute("hinge", e.JointEnd("panel", at=-PANEL, axis=axis), e.JointEnd(beam="arm", node=-1)))
    if driven:
        model.add(e.JointDriver("hinge", "hinge", motion=femb.profiles.Constant(0.0)))
    else:
        model.add(e.JointSpringDamper("hinge", "hinge", stiffness=150.0, damping=0.3 if dampers else 0.0))
    start = e.Attachment("hub", second, direction=outward)
    if panelled(seed):
        model.add(panel_boom(second, outward, dampers))
    elif reduced(seed) and not heat:
        ratio = 0.004 if dampers else 0.0
        model.add(e.FlexibleBody("boom", reduced_boom(seed), start=start, damping_ratio=ratio))
    else:
        taper = {"sections": ["root", "tip"], "stations": [0.0, BOOM], "length": BOOM, "elements": 3}
        model.add(e.ExactBeam("boom", **taper, start=start))
    if heat and panelled(seed):
        model.add(e.SurfaceLoad("heat", "boom", gradient=heat))
    elif heat:
        model.add(e.ThermalLoad("heat", beam="boom", gradient=(0.0, heat / SIDE)))
    if modal:
        model.add(e.ModalDamping("structure", held="hub", ratio=0.007, modes=3))
    if held:
        model.add(e.Fixed("hold", e.JointEnd("ground", at=origin), e.JointEnd("hub")))
    return model


def turn_of(model, spin):
    """The velocities of the hub in a rotation of the model about its mass centre and its axis of largest inertia."""
    _, centre, tensor = mass_properties(femb.System(femb.completed(model)))
    omega = spin * np.linalg.eigh(tensor)[1][:, 2]
    hub = model.bodies["hub"]
    R = rotations.rotation_matrix(hub.quaternion)
    return {"velocity": np.cross(omega, hub.position - centre), "angular_velocity": R.T @ omega}


def panelled(seed):
    """Whether the boom of this satellite is a panel."""
    return seed % 7 == 2


def reduced(seed):
    """Whether the boom of this satellite is a reduced body."""
    return seed % 3 == 0 and not panelled(seed)


def tip_body(seed):
    """The body at the boom's tip, of those that have one there."""
    return "boom.tip" if reduced(seed) or panelled(seed) else None


def tip(seed):
    """The name of the boom's tip in linear models."""
    return f"bodies.{tip_body(seed)}" if tip_body(seed) else "beams.boom.-1"
