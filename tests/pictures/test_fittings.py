"""Rods, lines and symbols of pictures: where they are, along what, and that they move with what carries them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from models import of_parts, slender_boom

import femb
from femb.elements.spring.spring import TwoEndItem
from femb.numerics import rotations
from femb.pictures import fittings
from femb.pictures.picture import surfaces_of
from femb.recording.record import attachments
from femb.system.system import System

EXTENT = 4.0
UP_AND_OUT = np.array([0.0, -0.6, 0.8])


@pytest.fixture(scope="module")
def results():
    spin = {"position": (1.0, 0.0, 0.0), "angular_velocity": (0.3, -0.2, 1.5)}
    hub = femb.RigidBody("hub", mass=100.0, inertia=20.0, shape={"box": [1.0, 1.0, 1.2]}, **spin)
    model = of_parts(
        hub,
        femb.RigidBody("arm", mass=5.0, inertia=1.0),
        femb.PointMass("load", mass=2.0, position=(3.0, 0.0, -1.0)),
        slender_boom(4),
        femb.Revolute("hinge", femb.JointEnd("hub", at=(0.0, 0.0, 1.2), axis=(1.0, 0.0, 0.0)),
                      femb.JointEnd("arm", at=(0.0, 0.0, -0.7), axis=(1.0, 0.0, 0.0))),
        femb.Distance("rope", femb.JointEnd(beam="boom", node=4), femb.JointEnd("load")),
        femb.SpringDamper("tie", femb.SpringEnd(anchor=(0.0, 0.0, 2.0)), femb.SpringEnd("arm"), stiffness=10.0),
        femb.ReactionWheel("w", "hub", at=(0.2, 0.1, -0.3), axis=(0.0, 2.0, 0.0), spin_inertia=1e-3),
        femb.Thruster("jet", force=1.0, direction=(0.0, 0.0, 3.0), body="hub", at=(0.0, 0.0, -0.6)),
        femb.StarTracker("eye", period=0.1, body="hub", at=(0.0, 0.5, 0.0), boresight=UP_AND_OUT,
                         axes=(np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))),
        femb.Gyro("gyro", period=0.1, beam="boom", node=2),
    )  # fmt: skip
    return femb.simulate(model, duration=0.2, output_interval=0.1)


def in_hub(results, points, k):
    hub = results.bodies["hub"]
    return rotations.rotate_back(hub.quaternion[k], points - hub.position[k])


def test_symbols_are_at_their_points_along_their_directions(results):
    """A ring across the axis of the wheel, a cone against the force, arrows along the boresight and along axes."""
    found = {each.title.split()[1]: each for each in fittings.symbols_of(results, EXTENT)}
    drawn = {each.title: each.drawn for each in found.values()}
    assert drawn == {"wheel w": "ring", "thruster jet": "cone", "sensor eye": "arrow", "sensor gyro": "arrow"}
    size = 0.2 * 1.2  # of the hub's box
    for k in (0, 2):
        wheel = in_hub(results, found["w"].at(k), k) - (0.2, 0.1, -0.3)
        assert np.max(np.hypot(wheel[:, 0], wheel[:, 2])) == pytest.approx(0.5 * size)
        assert np.max(np.abs(wheel[:, 1])) == pytest.approx(0.3 * size)
        np.testing.assert_allclose(wheel.mean(axis=0), 0.0, atol=1e-9)
        jet = in_hub(results, found["jet"].at(k), k)
        assert jet[:, 2].max() == pytest.approx(-0.6)  # the tip
        assert jet[:, 2].min() == pytest.approx(-0.6 - size)
        arrow = in_hub(results, found["eye"].at(k), k) - (0.0, 0.5, 0.0)
        farthest = arrow[np.argmax(np.linalg.norm(arrow, axis=1))]
        # a quarter turn about z takes the sensor's -y to the hub's x
        np.testing.assert_allclose(farthest, size * np.array([0.6, 0.0, 0.8]), atol=1e-9)
        boom = results.beams["boom"]
        axes = rotations.rotate_back(boom.quaternion[k, 2], found["gyro"].at(k) - boom.position[k, 2])
        np.testing.assert_allclose(axes.max(axis=0), 0.05 * EXTENT, rtol=1e-9)


def test_rods_and_lines_join_what_is_apart(results):
    """From the reference point to a joint outside of the shape; between beam, mass, point in space and body."""
    rods = fittings.rods_of(results, EXTENT)
    assert [(each.title, each.points[:, 2].min(), each.points[:, 2].max()) for each in rods] == [
        ("hub", pytest.approx(0.0), pytest.approx(1.2)), ("arm", pytest.approx(-0.7), pytest.approx(0.0))
    ]  # fmt: skip
    rope, tie = sorted(fittings.lines_of(results, EXTENT), key=lambda line: line.name)
    for k in (0, 2):
        first, second = rope.at(k).reshape(2, -1, 3).mean(axis=1)
        np.testing.assert_allclose(first, results.beams["boom"].position[k, -1], atol=1e-12)
        np.testing.assert_allclose(second, results.bodies["load"].position[k], atol=1e-12)
        second, first = tie.at(k).reshape(2, -1, 3).mean(axis=1)
        np.testing.assert_allclose(first, [0.0, 0.0, 2.0], atol=1e-12)  # points in space come last
        np.testing.assert_allclose(second, results.bodies["arm"].position[k], atol=1e-12)


def test_all_triangles_face_outwards(results):
    """Volumes by the divergence theorem are those of the solids; open rods count with their ends."""
    jet = next(each for each in fittings.symbols_of(results, EXTENT) if each.title == "thruster jet")
    a, b, c = np.moveaxis(jet.points[jet.triangles] - jet.points.mean(axis=0), 1, 0)
    volume = np.einsum("fa,fa->", a, np.cross(b, c)) / 6.0
    twelve = 0.5 * 12 * np.sin(np.pi / 6.0) * (0.3 * 0.24) ** 2  # area of the polygon
    assert volume == pytest.approx(twelve * 0.24 / 3.0, rel=1e-9)
    ring, axle = fittings._ring(np.array([0.0, 0.0, 1.0]), 1.0), 12
    faces = ring[1][ring[1].min(axis=1) >= axle]
    a, b, c = np.moveaxis(ring[0][faces], 1, 0)
    torus = 2.0 * np.pi**2 * 0.45 * 0.05**2
    assert 0.75 * torus < np.einsum("fa,fa->", a, np.cross(b, c)) / 6.0 < torus  # six sides for a circle: 0.83


def test_pictures_show_symbols_in_front_of_bodies(results):
    symbols = [each for each in surfaces_of(results, EXTENT) if each.symbol]
    assert len(symbols) == 4


def test_items_of_plug_ins_are_lines_if_they_say_so():
    """A class of a plug-in needs the word alone."""

    @dataclass(frozen=True, eq=False)
    class Cord(TwoEndItem):
        table: ClassVar[str] = "springs"
        kind: ClassVar[str] = "cord"
        drawn: ClassVar[str] = "line"

    bodies = [femb.RigidBody(name, mass=1.0, inertia=1.0, position=(k, 0, 0)) for k, name in enumerate("ab")]
    system = System(of_parts(*bodies))
    cord = Cord("c", femb.SpringEnd("a"), femb.SpringEnd("b", at=(0.0, 0.2, 0.0)))
    object.__setattr__(system, "items", (*system.items, cord))
    assert attachments(system)["springs/c"]["drawn"] == "line"
