"""The length and the direction of a beam from its two ends."""

import numpy as np
import pytest
from models import of_parts

import femb
from femb import Attachment, Beam, ExactBeam, Ground, JointEnd, ModelError, Revolute, RigidBody, Section
from femb.system.system import System
from femb.vibration.completion import completed

SECTION = Section("tube", 2e-3, (3e-4, 4e-4), 5e-4, 1.2e3, 5e3, 2e3)


def built(*items):
    return of_parts(*items)


@pytest.mark.parametrize("kind", [Beam, ExactBeam])
def test_between_attachments_on_two_bodies(kind):
    hub = RigidBody("hub", 1.0, 0.1, position=(0, 0, 0), euler_angles=(0.0, 0.0, 0.5))
    dish = RigidBody("dish", 1.0, 0.1, position=(3.0, 4.0, 1.0))
    beam = kind("strut", SECTION, elements=3, start=hub.at((0.2, 0, 0)), end=dish.at((0, -1.0, 0)))
    model = built(hub, dish, beam)
    system = System(model)
    start, end = 0.2 * np.array([np.cos(0.5), np.sin(0.5), 0.0]), np.array([3.0, 3.0, 1.0])
    used = system.model.beams["strut"]
    assert abs(used.length - np.linalg.norm(end - start)) < 1e-14
    assert beam.length is None
    assert model.beams["strut"] is beam
    assert completed(model).beams["strut"].length == used.length
    nodes = [system.layout.pose(station)[0] for station in system.layout.beams["strut"].stations]
    np.testing.assert_allclose(nodes, start + np.linspace(0, 1, 4)[:, None] * (end - start), atol=1e-14)


def test_in_free_space_and_from_a_body_to_a_point():
    free = Beam("free", SECTION, start=Attachment(at=(1, 1, 0)), end=Attachment(at=(1, 1, 2)))
    guy = Beam("guy", SECTION, start=Ground().at((0, 0, 1)), end=Attachment(at=(4, 3, 1)))
    system = System(built(free, guy))
    assert system.model.beams["free"].length == 2.0
    assert abs(system.model.beams["guy"].length - 5.0) < 1e-14
    tip = system.layout.pose(system.layout.beams["guy"].stations[-1])[0]
    np.testing.assert_allclose(tip, (4, 3, 1), atol=1e-14)


def test_between_a_body_that_a_joint_places_and_another_beam():
    mast = Beam("mast", SECTION, 2.0, 2, start=Ground().at(direction=(0, 0, 1)))
    foot = RigidBody("foot", 1.0, 0.1)
    joint = Revolute("hinge", JointEnd("ground", at=(1.5, 0, 0), axis=(0, 1, 0)), JointEnd("foot"))
    stay = Beam("stay", SECTION, start=foot.at(), end=mast.at(-1))
    system = System(built(mast, foot, joint, stay))
    assert abs(system.model.beams["stay"].length - 2.5) < 1e-14


def test_in_a_case_file(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text("""
[sections.tube]
shape = { tube = [0.02, 0.001] }
material = "aluminium 6061-T6"
[bodies.hub]
mass = 1.0
inertia = 0.1
position = [0, 0, 0]
[bodies.dish]
mass = 1.0
inertia = 0.1
position = [3, 4, 0]
[beams.strut]
section = "tube"
start = { body = "hub" }
end = { body = "dish" }
""")
    assert completed(femb.load_case(path).model).beams["strut"].length == 5.0


@pytest.mark.parametrize(
    ("beam", "text"),
    [
        ({"start": Attachment("hub")}, "length: is missing: give it, or, for a straight beam, start and end"),
        (
            {"start": Attachment("hub"), "end": Attachment("dish"), "curvature": (0, 0, 0.1)},
            "length: is missing: give it, or, for a straight beam",
        ),
        (
            {"start": Attachment("hub"), "end": Attachment("loose")},
            "is missing, and nothing says where 'loose' is: give the length or bodies.loose.position",
        ),
        ({"start": Attachment("hub"), "end": Attachment("hub", at=(0, 0, 0)), "elements": 2}, "a beam needs a length"),
        (
            {"start": Attachment("hub", direction=(0, 1, 0)), "end": Attachment("dish")},
            r"got \(0, 1, 0\), but the end is in the direction \(0.6, 0.8, 0\) from the start",
        ),
        (
            {"start": Attachment("hub"), "end": Attachment("dish"), "length": 4.0},
            r"the beam ends at \(2.4, 3.2, 0\) but its place on 'dish' is at \(3, 4, 0\) m",
        ),
    ],
)
def test_refusals(beam, text):
    with pytest.raises(ModelError, match=text):
        System(
            built(
                RigidBody("hub", 1.0, 0.1, position=(0, 0, 0)),
                RigidBody("dish", 1.0, 0.1, position=(3, 4, 0)),
                RigidBody("loose", 1.0, 0.1),
                Beam("strut", SECTION, **beam),
            )
        )
