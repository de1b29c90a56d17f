"""Components along general directions between two moving bodies: gaps, rates, accelerations, reactions, motions."""

import numpy as np
import pytest
from models import refusals, refuses

from femb import Components, Model, ModelError, Place, PositionDriver, RigidBody, simulate
from femb.case import load_case
from femb.numerics import rotations
from femb.profiles import Polynomial
from femb.system.system import System

A, B = np.array([0.3, -0.1, 0.2]), np.array([-0.2, 0.4, 0.1])
DIRECTIONS = np.array([[1.0, 2.0, -0.5], [0.3, -0.2, 0.9]])
UNIT = DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)
frames = pytest.mark.parametrize("frame", ["inertial", "first"])


def two_bodies(*items, **words):
    model = Model("two", **words)
    moving = {"moves_alone": True}
    model.add(RigidBody("a", mass=2.0, inertia=(0.3, 0.4, 0.5), euler_angles=(0.3, -0.2, 0.5), **moving,
                        angular_velocity=(0.4, 1.0, -0.6)))  # fmt: skip
    model.add(RigidBody("b", mass=1.0, inertia=(0.2, 0.2, 0.1), position=(1.0, 0.5, -0.3), **moving))
    for item in items:
        model.add(item)
    return model


def held(frame, **words):
    return Components("held", Place("a", at=A), Place("b", at=B), directions=DIRECTIONS, frame=frame, **words)


def components(a, b, frame):
    """(T, 2) along the unit vectors, from two bodies of results."""
    d = b.position + rotations.rotate(b.quaternion, B) - a.position - rotations.rotate(a.quaternion, A)
    return (rotations.rotate_back(a.quaternion, d) if frame == "first" else d) @ UNIT.T


@frames
@pytest.mark.parametrize("method", ["radau", "rk"])
def test_they_stay_while_both_bodies_move(frame, method):
    results = simulate(two_bodies(held(frame)), duration=1.0, output_interval=0.1, method=method, rtol=1e-8)
    a, b = results.bodies["a"], results.bodies["b"]
    kept = components(a, b, frame)
    np.testing.assert_allclose(kept, np.tile(kept[0], (len(kept), 1)), atol=1e-8)
    assert np.ptp(a.position, axis=0).max() > 0.01
    assert np.abs(results.audit.energy_error).max() < 1e-6
    np.testing.assert_allclose(results.audit.linear_momentum, results.audit.linear_momentum[[0]] + np.zeros((11, 3)),
                               atol=1e-7)  # fmt: skip
    spin = np.ptp(results.audit.angular_momentum, axis=0).max()
    # the couple of the two forces is the inertial frame's, or the first body's
    assert spin > 1e-3 if frame == "inertial" else spin < 1e-6


@frames
def test_force_is_along_them(frame):
    results = simulate(two_bodies(held(frame)), duration=0.2, output_interval=0.1, rtol=1e-8)
    a, force = results.bodies["a"], results.joints["held"].force
    axes = UNIT if frame == "first" else rotations.rotate_back(a.quaternion[:, None], UNIT[None])
    normal = np.cross(*axes) if frame == "first" else np.cross(axes[:, 0], axes[:, 1])
    assert np.abs(force).max() > 0.05
    assert np.abs(np.sum(force * normal, axis=-1)).max() < 1e-9 * np.abs(force).max() + 1e-12
    torque = results.joints["held"].torque
    np.testing.assert_allclose(torque, np.zeros_like(torque), atol=1e-10)


def test_values_are_kept_and_a_gap_is_closed():
    refuses(r"held: .component 1. is open by", System, two_bodies(held("inertial", values=(0.2, 0.1))))
    results = simulate(two_bodies(held("inertial", values=(0.2, 0.1))), duration=0.1, start="assembled", rtol=1e-8)
    kept = components(results.bodies["a"], results.bodies["b"], "inertial")
    np.testing.assert_allclose(kept, np.tile([0.2, 0.1], (len(kept), 1)), atol=1e-8)


@frames
def test_a_driver_moves_one_along_a_direction_of_its_own(frame):
    """Both bodies move; the component along the axis follows the motion, and the force does its power."""
    axis, reference = UNIT[0], UNIT[1]
    bare = simulate(two_bodies(), duration=1e-3, output_interval=1e-3)
    begin = float(components(bare.bodies["a"], bare.bodies["b"], frame)[0, 0])
    motion = Polynomial([begin, 0.0, 0.5])
    driver = PositionDriver("lift", Place("a", at=A), Place("b", at=B), z=motion, frame=frame, axis=axis,
                            reference=reference)  # fmt: skip
    model = two_bodies(driver)
    for body in model.bodies.values():
        body.__dict__["angular_velocity"] = None
    results = simulate(model, duration=0.5, output_interval=0.1, rtol=1e-9)
    got = components(results.bodies["a"], results.bodies["b"], frame)[:, 0]
    np.testing.assert_allclose(got, [motion(t) for t in results.time], atol=1e-9)
    assert np.abs(results.audit.energy_error).max() < 1e-7
    assert np.ptp(results.bodies["a"].position, axis=0).max() > 1e-3


def test_x_and_y_are_across_the_axis():
    still = Polynomial([0.0])
    driver = PositionDriver("lift", Place("ground"), Place("b"), still, still, axis=(0, 1, 0), reference=(0, 0, 1))
    system = System(two_bodies(driver), assemble=True)
    rows = system.layout.drivers["lift"].rows
    J = system.jacobian(np.zeros(system.n_u), system.q0).toarray()[system.layout.row_c[rows]]
    b = system.layout.frame_v[system.layout.bodies["b"]]
    np.testing.assert_allclose(J[:, b : b + 3], [[0, 0, 1], [1, 0, 0]], atol=1e-15)


test_refused = refusals(
    lambda words: Components("held", Place("a"), Place("b"), **words),
    ({"directions": None}, "directions: got None, wanted one to three directions"),
    ({"directions": [[1, 0, 0], [2, 0, 0]]}, "directions: .* not in one plane"),
    ({"directions": [0, 0, 0]}, "a direction must not be zero"),
    ({"directions": [[1, 0, 0]], "values": [1, 2]}, "values: .* wanted one a direction, 1"),
    ({"directions": [1, 0, 0], "frame": "second"}, "frame: got 'second', must be one of 'inertial', 'first'"),
)


def test_trees_refuse_it_by_name():
    with pytest.raises(ModelError, match=r"joints.held \(components\).*use 'velocity'"):
        simulate(two_bodies(held("first")), duration=0.1, formulation="reduced")


CASE = """
[bodies.a]
mass = 1.0
inertia = 0.1
[bodies.b]
mass = 1.0
inertia = 0.1
position = [1, 0, 0]
[joints.one]
kind = "KIND"
first = { body = "a", axis = [0, 0, 1] }
second = { body = "b" }
MORE
"""


@pytest.mark.parametrize(
    ("word", "kind"),
    [("hinge", "revolute"), ("ball", "spherical"), ("hooke", "universal"), ("translational", "prismatic"),
     ("weld", "fixed"), ("rod", "distance"), ("double_spherical", "distance"), ("dot_1", "perpendicular"),
     ("dot_2", "point_on_plane")],
)  # fmt: skip
def test_other_names_of_joints(tmp_path, word, kind):
    path = tmp_path / "case.toml"
    path.write_text(CASE.replace("KIND", word).replace("MORE", ""))
    assert load_case(path).model.tables["joints"]["one"].kind == kind


def test_components_and_misspelt_names_in_a_case(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(
        CASE.replace("KIND", "components").replace("MORE", "directions = [1, 1, 0]").replace(", axis", ", at")
    )
    joint = load_case(path).model.tables["joints"]["one"]
    np.testing.assert_allclose(joint.directions, [[np.sqrt(0.5), np.sqrt(0.5), 0]])
    path.write_text(CASE.replace("KIND", "spherial").replace("MORE", ""))
    refuses("did you mean 'spherical'", load_case, path)


def test_other_names_of_classes():
    import femb

    with pytest.raises(AttributeError, match="no attribute 'Hinge'; did you mean 'Revolute'"):
        femb.Hinge  # noqa: B018
