"""Root loads of appendages, section loads along beams and stresses: closed forms, balances, formulations."""

import numpy as np
import pytest
from checkout import ROOT
from models import of_parts, refuses, sections_like

import femb
from femb.elements.beam.results import section_loads
from femb.elements.beam.section_shapes import thickness_in_torsion
from femb.numerics import rotations
from femb.profiles import Versine

E, AREA, MOMENT, DENSITY = 7.17e10, 2.5e-3, 5.2e-7, 2800.0


section = sections_like("boom", AREA, (MOMENT, MOMENT), 8.79e-7, DENSITY, E, 2.68e10)


def cantilever(*items, gravity=(0.0, 0.0, 0.0), elements=3, **words):
    ground = femb.Ground()
    start = ground.at((0.5, 0.0, 0.0), direction=(1, 0, 0))
    return of_parts(
        ground, femb.Beam("boom", section(**words), length=2.0, elements=elements, start=start), *items, gravity=gravity
    )


def places(elements=3, length=2.0):
    """(e, 3) m: start, middle and end of the elements."""
    return length / elements * (np.arange(elements)[:, None] + np.array([0.0, 0.5, 1.0]))


# Along beams


def test_cantilever_with_a_tip_force():
    """N, V_y, M_z of a small force, constant and linear along the beam; the root carries them.

    The axial force is known to the rounding errors of positions times EA, some 4e-8 N.
    """
    force = np.array([4.0, 3.0, -2.0]) * 1e-3
    results = femb.static(cantilever(femb.Load("tip", beam="boom", node=-1, force=force)), steps=1)
    loads, x = section_loads(results.beams["boom"])[-1], places()
    np.testing.assert_allclose(loads[..., :3], np.broadcast_to(force, (3, 3, 3)), rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(loads[..., 4], -force[2] * (2.0 - x), rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(loads[..., 5], force[1] * (2.0 - x), rtol=0.0, atol=1e-8)
    root = results.appendages["boom"]
    assert root.parent == "ground"
    np.testing.assert_array_equal(root.point, (0.5, 0.0, 0.0))
    np.testing.assert_allclose(root.force[-1], force, rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(root.torque[-1], np.cross((2.0, 0.0, 0.0), force), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("by", ["weight", "line load"])
def test_cantilever_under_a_uniform_load(by):
    """w (L - x) and w (L - x)^2/2, also in the middle of the elements; to the square of the slope."""
    w = 0.05 * AREA * DENSITY
    if by == "weight":
        model = cantilever(gravity=(0.0, 0.0, -0.05))
    else:
        model = cantilever(femb.DistributedLoad("w", beam="boom", force=(0.0, 0.0, -w)))
    results = femb.static(model, steps=1)
    loads, x = section_loads(results.beams["boom"])[-1], places()
    np.testing.assert_allclose(loads[..., 2], -w * (2.0 - x), rtol=0.0, atol=1e-7 * w)
    np.testing.assert_allclose(loads[..., 4], w * (2.0 - x) ** 2 / 2.0, rtol=0.0, atol=1e-7 * w)
    np.testing.assert_allclose(results.appendages["boom"].torque[-1], (0.0, 2.0 * w, 0.0), rtol=0.0, atol=1e-7 * w)


def test_spinning_boom():
    """rho A w^2 (L^2 - x^2)/2, also in the middle of the elements, up to the stretch of 6e-7."""
    model = femb.Model("spin")
    hub = model.add(femb.RigidBody("hub", mass=100.0, inertia=100.0, angular_velocity=(0.0, 0.0, 3.0)))
    boom = model.add(section())
    for name, side in (("right", 1.0), ("left", -1.0)):
        start = hub.at((0.0, 0.0, 0.0), direction=(side, 0.0, 0.0))
        model.add(femb.Beam(name, boom, length=2.0, elements=3, start=start))
    results = femb.simulate(model, duration=1e-3, output_interval=1e-3, start="equilibrium")
    exact = DENSITY * AREA * 9.0 * (4.0 - places() ** 2) / 2.0
    for beam in results.beams.values():
        np.testing.assert_allclose(section_loads(beam)[0, ..., 0], exact, rtol=0.0, atol=1e-6 * exact.max())
    assert list(results.appendages) == ["right", "left"]
    np.testing.assert_allclose(results.appendages["right"].force[0], (126.0, 0.0, 0.0), atol=1e-4)


def test_torsion_of_an_accelerated_boom():
    """A hub turned about the boom's axis: the torsional moment falls linearly over the boom's polar inertia."""
    model = femb.Model("roll")
    hub = model.add(femb.RigidBody("hub", mass=1.0, inertia=0.1))
    start = hub.at((0.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
    model.add(femb.Beam("boom", section(torsion_constant=1e-6), length=2.0, elements=4, start=start))
    model.add(femb.Load("t", body="hub", torque=(0.2, 0.0, 0.0), frame="body", profile=Versine(1.0)))
    results = femb.simulate(model, duration=1.0, output_interval=0.1, rtol=1e-8)
    beam = results.beams["boom"]
    polar = DENSITY * 2.0 * MOMENT
    alpha = beam.angular_acceleration[..., 0]
    moment = np.concatenate([beam.section_moment[:, :, 0, 0, None], beam.midpoint_moment[..., :1]], axis=-1)
    # a section carries the inertia beyond it: linear in the angular acceleration of the nodes
    beyond = np.cumsum(0.5 * (alpha[:, :-1] + alpha[:, 1:])[:, ::-1], axis=1)[:, ::-1] * 0.5 * polar
    np.testing.assert_allclose(moment[..., 0], -beyond, atol=1e-9 * np.abs(beyond).max())
    ends = beam.section_moment[..., 0]
    np.testing.assert_allclose(moment[..., 1], ends.mean(axis=-1), atol=1e-9 * np.abs(beyond).max())


# At roots, over time


def balance(results, mass, inertia, torque, force=0.0):
    """Largest residuals of Newton's and Euler's equations of the hub with the root loads of its appendages."""
    hub = results.bodies["hub"]
    loads = results.appendages.values()
    own = rotations.rotate_back(hub.quaternion, mass * hub.acceleration)
    forces = sum(root.force for root in loads) + force
    w = hub.angular_velocity
    turned = inertia * hub.angular_acceleration + np.cross(w, inertia * w)
    torques = sum(root.torque + np.cross(root.point, root.force) for root in loads) + torque
    return np.max(np.abs(own - forces)), np.max(np.abs(turned - torques))


def test_root_loads_balance_the_hub_of_the_forced_satellite():
    model = femb.load_case(ROOT / "cases" / "satellite_forced.toml").model
    results = femb.simulate(model, duration=1.0, output_interval=0.1)
    force, torque = balance(results, 22.4, np.full(3, 0.149), results.loads["slew"].torque)
    largest = np.max(np.abs(results.appendages["left"].torque))
    assert largest > 6.9
    assert force < 1e-11 * largest
    assert torque < 1e-11 * largest


INERTIA = np.array([1.5, 2.6, 4.0])
HUB = np.array([180.0, 150.0, 200.0])


def panels():
    """A hub with two hinged rigid panels, turned by a torque."""
    model = femb.Model("panels")
    model.add(femb.RigidBody("hub", mass=500.0, inertia=HUB, angular_velocity=(0.1, 0.2, 0.05)))
    inner = femb.JointEnd("hub", at=(0.0, 1.25, 0.0), axis=(1.0, 0.0, 0.0))
    for k in (1, 2):
        model.add(femb.RigidBody(f"panel {k}", mass=8.0, inertia=INERTIA, position=(0.0, 0.5 + 1.5 * k, 0.0)))
        outer = femb.JointEnd(f"panel {k}", at=(0.0, -0.75, 0.0), axis=(1.0, 0.0, 0.0))
        model.add(femb.Revolute(f"hinge {k}", inner, outer))
        model.add(femb.JointSpringDamper(f"spring {k}", f"hinge {k}", stiffness=60.0, damping=1.0))
        inner = femb.JointEnd(f"panel {k}", at=(0.0, 0.75, 0.0), axis=(1.0, 0.0, 0.0))
    model.add(femb.Load("slew", body="hub", torque=(5.0, 3.0, 0.0), frame="body", profile=Versine(1.0)))
    return model


@pytest.fixture(scope="module")
def velocity_run():
    return run("velocity")


def run(formulation):
    return femb.simulate(panels(), duration=0.5, output_interval=0.1, formulation=formulation, method="rk", rtol=1e-10)


@pytest.mark.parametrize("formulation", ["quaternion", "reduced", "hamiltonian"])
def test_root_loads_are_the_same_in_all_formulations(formulation, velocity_run):
    """And they are what Newton's and Euler's equations of the panels and of the hub ask for."""
    for results in (velocity_run, run(formulation)):
        root, other = results.appendages["hinge 1"], velocity_run.appendages["hinge 1"]
        assert (list(results.appendages), root.parent) == (["hinge 1"], "hub")
        np.testing.assert_array_equal(root.point, (0.0, 1.25, 0.0))
        np.testing.assert_allclose(root.force, other.force, rtol=0.0, atol=1e-6)
        np.testing.assert_allclose(root.torque, other.torque, rtol=0.0, atol=1e-6)
        assert max(balance(results, 500.0, HUB, results.loads["slew"].torque)) < 1e-11
        hub = results.bodies["hub"]
        point = hub.position + rotations.rotate(hub.quaternion, root.point)
        force, torque = np.zeros((2, len(results.time), 3))
        for name in ("panel 1", "panel 2"):
            body = results.bodies[name]
            w = body.angular_velocity
            turned = INERTIA * body.angular_acceleration + np.cross(w, INERTIA * w)
            force -= 8.0 * body.acceleration
            torque -= rotations.rotate(body.quaternion, turned)
            torque -= np.cross(body.position - point, 8.0 * body.acceleration)
        np.testing.assert_allclose(rotations.rotate(hub.quaternion, root.force), force, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(rotations.rotate(hub.quaternion, root.torque), torque, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("grounded", "driven"), [(False, True), (True, True), (True, False)])
def test_all_that_connects_an_appendage_counts(grounded, driven):
    """A panel with a point mass on a hinge with springs, motor, pull and driver: on a body, and on the ground."""
    model = femb.Model("connected", gravity=(0.0, 0.0, -1.0))
    if grounded:
        model.add(femb.Ground("hub"))
    else:
        model.add(femb.RigidBody("hub", mass=50.0, inertia=HUB))
    model.add(femb.RigidBody("panel", mass=8.0, inertia=INERTIA, position=(0.0, 1.0, 0.0)))
    hinge = femb.JointEnd("panel", at=(0.0, -1.0, 0.0), axis=(1.0, 0.0, 0.0))
    model.add(femb.Revolute("hinge", femb.JointEnd("hub", axis=(1.0, 0.0, 0.0)), hinge))
    ends = femb.SpringEnd("hub", at=(0.0, 0.0, 0.5)), femb.SpringEnd("panel", at=(0.2, 0.3, 0.0))
    model.add(femb.SpringDamper("strut", *ends, stiffness=40.0, damping=3.0))
    model.add(femb.SpringDamper("law", *ends, force=lambda length, rate: 2.0 * length**2))
    model.add(
        femb.Pull(
            "rope", femb.SpringEnd("hub"), femb.SpringEnd("panel", at=(0.5, 0.5, 0.1)), force=6.0, profile=Versine(0.4)
        )
    )
    model.add(femb.JointSpringDamper("spring", "hinge", stiffness=60.0, free=0.3))
    model.add(femb.JointMotor("wheel", "hinge", force=lambda t, state: 2.0 - state.joints["hinge"].rates[0]))
    if driven:
        model.add(femb.JointDriver("motor", "hinge", motion=lambda t: (0.1 * t**2, 0.2 * t, 0.2)))
    model.add(femb.PointMass("stone", mass=3.0, on=femb.Attachment("panel", at=(0.0, 0.5, 0.0))))
    results = femb.simulate(model, duration=0.3, output_interval=0.1, rtol=1e-8)
    (root,) = results.appendages.values()
    assert root.parent == "hub"
    np.testing.assert_array_equal(root.point, np.zeros(3))
    panel, gravity = results.bodies["panel"], np.array([0.0, 0.0, -1.0])
    w, alpha = panel.angular_velocity, panel.angular_acceleration
    arm = np.array([0.0, 0.5, 0.0])
    relative = np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))
    stone = panel.acceleration + rotations.rotate(panel.quaternion, relative)
    force = -8.0 * (panel.acceleration - gravity) - 3.0 * (stone - gravity)
    torque = -rotations.rotate(panel.quaternion, INERTIA * alpha + np.cross(w, INERTIA * w))
    hub = results.bodies["hub"]
    at = panel.position - hub.position
    torque -= np.cross(at, 8.0 * (panel.acceleration - gravity))
    torque -= np.cross(at + rotations.rotate(panel.quaternion, arm), 3.0 * (stone - gravity))
    np.testing.assert_allclose(rotations.rotate(hub.quaternion, root.force), force, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(rotations.rotate(hub.quaternion, root.torque), torque, rtol=0.0, atol=1e-10)


def test_a_latch_carries_its_part():
    model = panels()
    model.add(femb.Latch("lock", "hinge 1", time=5.0, engaged=True))
    results = femb.simulate(model, duration=0.2, output_interval=0.1)
    assert max(balance(results, 500.0, HUB, results.loads["slew"].torque)) < 1e-11


@pytest.mark.parametrize("clamped", ["start", "end"])
def test_root_load_of_a_beam_that_is_curved_at_rest(clamped):
    """In ground axes, whichever end is clamped there."""
    force, other = np.array([3.0, -2.0, 1.5]), {"start": -1, "end": 0}[clamped]
    model = femb.Model("hook")
    ends = {clamped: model.add(femb.Ground()).at((0.5, 0.0, 0.0), direction=(1, 0, 0))}
    model.add(femb.Beam("hook", section(), length=2.0, elements=2, curvature=(0.3, 0.5, 0.9), **ends))
    model.add(femb.Load("tip", beam="hook", node=other, force=force))
    results = femb.static(model, steps=1)
    root, arm = results.appendages["hook"], results.beams["hook"].position[-1, other] - [0.5, 0.0, 0.0]
    np.testing.assert_allclose(root.force[-1], force, atol=1e-8)
    np.testing.assert_allclose(root.torque[-1], np.cross(arm, force), atol=1e-8)


def test_files_keep_the_root_loads(tmp_path):
    results = femb.simulate(panels(), duration=0.1, output_interval=0.1, out=tmp_path / "results.h5")
    read = femb.Results.read(tmp_path / "results.h5")
    root = read.appendages["hinge 1"]
    np.testing.assert_array_equal(root.torque, results.appendages["hinge 1"].torque)
    assert (root.parent, root.point.tolist()) == ("hub", [0.0, 1.25, 0.0])


# Stresses


def test_stress_of_a_cantilever_at_the_corners_of_its_rectangle():
    """M h/(2 I) at the root, of a 20 x 60 mm rectangle bent about y, without and with its shape."""
    b, h, force = 0.02, 0.06, 0.5
    words = {"area": b * h, "second_moments": (b * h**3 / 12.0, h * b**3 / 12.0), "torsion_constant": 1.3e-7}
    tip = femb.Load("tip", beam="boom", node=-1, force=(0.0, 0.0, force))
    for shape in (None, {"rectangle": [b, h]}):
        results = femb.static(cantilever(tip, shape=shape, **words), steps=1)
        beam = results.beams["boom"]
        corners = beam.recovery_points
        np.testing.assert_allclose(np.abs(corners), np.broadcast_to([b / 2, h / 2], (4, 2)), rtol=1e-12)
        stress = beam.axial_stress[-1]
        assert stress.shape == (3, 3, 4)
        exact = -force * (2.0 - places())[..., None] * corners[:, 1] / words["second_moments"][0]
        np.testing.assert_allclose(stress, exact, rtol=0.0, atol=1e-5 * np.abs(exact).max())
        # no torsion: the same but for the sign
        np.testing.assert_allclose(beam.von_mises[-1], np.abs(stress), rtol=1e-9, atol=1.0)


def test_given_points_and_torsion():
    points = [[0.01, 0.0], [0.0, -0.02], [0.0, 0.0]]
    tip = femb.Load("tip", beam="boom", node=-1, force=(30.0, 0.0, 0.0), torque=(5.0, 0.0, 0.0), frame="body")
    results = femb.static(cantilever(tip, recovery_points=points, torsion_modulus=2e-5), steps=1)
    beam = results.beams["boom"]
    np.testing.assert_array_equal(beam.recovery_points, points)
    np.testing.assert_allclose(beam.axial_stress[-1], 30.0 / AREA, rtol=1e-6)
    np.testing.assert_allclose(beam.shear_stress[-1], 5.0 / 2e-5, rtol=1e-9)
    np.testing.assert_allclose(beam.von_mises[-1], np.hypot(30.0 / AREA, np.sqrt(3.0) * 2.5e5), rtol=1e-6)


def test_circle():
    radius = 0.03
    area, moment = np.pi * radius**2, np.pi * radius**4 / 4.0
    words = {"area": area, "second_moments": (moment, moment), "torsion_constant": 2.0 * moment}
    tip = femb.Load("tip", beam="boom", node=-1, torque=(0.0, 3.0, 0.0), frame="body")
    results = femb.static(cantilever(tip, shape={"circle": radius}, **words), steps=1)
    beam = results.beams["boom"]
    assert np.max(beam.axial_stress[-1]) == pytest.approx(3.0 * radius / moment, rel=1e-6)
    assert beam.stress_section[3] == pytest.approx(2.0 * moment / radius)


RECTANGLES = [(1.0, 0.1406, 0.2082), (2.0, 0.2287, 0.2459), (10.0, 0.3123, 0.3123)]


@pytest.mark.parametrize(("ratio", "torsion", "modulus"), RECTANGLES)
def test_rectangles_in_torsion(ratio, torsion, modulus):
    """J = torsion a b^3 and W_t = modulus a b^2 of Saint-Venant's theory, as in tables."""
    assert torsion / thickness_in_torsion(ratio, 1.0) == pytest.approx(modulus, abs=2e-4)


def test_sections_given_by_their_stiffness():
    """Second moments follow from the stiffness; without an area there are no stresses."""
    words = dict.fromkeys(("second_moments", "torsion_constant", "density", "youngs_modulus", "shear_modulus"))
    words |= {"axial_stiffness": E * AREA, "torsional_stiffness": 2e4, "bending_stiffness": (E * MOMENT, E * MOMENT)}
    words |= {"mass_per_length": 7.0, "inertia_per_length": (0.003, 0.0015, 0.0015)}
    tip = femb.Load("tip", beam="boom", node=-1, force=(0.0, 0.0, 0.1))
    beam = femb.static(cantilever(tip, **words), steps=1).beams["boom"]
    np.testing.assert_allclose(beam.stress_section, (AREA, MOMENT, MOMENT, np.nan), rtol=1e-12)
    assert np.all(np.isfinite(beam.von_mises))
    without = femb.static(cantilever(tip, **(words | {"area": None})), steps=1).beams["boom"]
    assert "stress_section" not in without


def test_bad_points_are_named():
    refuses(r"recovery_points: got .* wanted points of two numbers", section, recovery_points=[[0.1, 0.2, 0.3]])
    refuses(r"torsion_modulus: got -1\.0, must be greater than 0", section, torsion_modulus=-1.0)


PORTALS = {
    "one body": (1, ((0.2, 0.3, 0.0), (0.2, 1.3, -0.4)), ((1, 0, 0), (1, 0, 0))),
    "two bodies": (2, ((0.2, 0.3, 0.0), (0.2, 1.3, -0.4)), ((1, 0, 0), (1, 0, 0))),
    "one point": (1, ((0.2, 0.3, -0.4), (0.2, 0.3, -0.4)), ((1, 0, 0), (0.6, 0.8, 0.0))),
}


@pytest.mark.parametrize("name", PORTALS)
def test_beams_side_by_side_at_a_root_have_their_own_arms(name):
    """Of a portal of two beams on one body, on two, or at one point: they carry the load at its place together."""
    grounds, starts, directions = PORTALS[name]
    model, of = femb.Model("portal"), section()
    feet = [model.add(femb.Ground(f"foot {k}")) for k in range(grounds)]
    ends = np.array(starts) + 2.0 * np.array(directions)
    model.add(femb.RigidBody("top", mass=1.0, inertia=1.0, position=ends.mean(axis=0)))
    for k, beam in enumerate("ab"):
        foot = feet[k % grounds].at(starts[k], direction=directions[k], up=(0, 0.6, 0.8))
        model.add(femb.Beam(beam, of, length=2.0, elements=2, start=foot))
        axes = {"axis": (0.0, 0.0, 1.0), "reference": (1.0, 0.0, 0.0)}
        on_top = femb.JointEnd("top", at=ends[k] - ends.mean(axis=0), **axes)
        model.add(femb.Fixed(f"weld {beam}", on_top, femb.JointEnd(beam=beam, node=-1)))
    force = np.array([3.0, -5.0, 7.0])
    model.add(femb.Load("push", body="top", at=(0.1, 0.2, 0.3), force=force))
    results = femb.static(model, steps=1)
    (root,) = results.appendages.values()
    top = results.bodies["top"]
    place = top.position[-1] + rotations.rotate(top.quaternion[-1], [0.1, 0.2, 0.3])
    np.testing.assert_allclose(root.force[-1], force, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(root.torque[-1], np.cross(place - root.point, force), rtol=0.0, atol=1e-6)
    assert np.any(root.point) == (name == "one point")
