"""Markers: one kind for another, what is wrong with them, and the points of frames that they are."""

import numpy as np
import pytest
from models import of_parts, refuses

import femb
from femb import Attachment, Beam, JointEnd, Place, PointMass, RigidBody, Section, SpringEnd
from femb.elements.marker import Marker
from femb.numerics import rotations
from femb.system.system import System

HUB = RigidBody("hub", mass=1.0, inertia=1.0)
BEAM = Beam("boom", "s", 1.0, 2, start=HUB.at((0.1, 0, 0), direction=(1, 0, 0)))
SECTION = Section("s", 1e-3, (1e-7, 2e-7), 1e-7, 2700.0, 7e10, 2.6e10)


def model(*items):
    return of_parts(*(HUB, SECTION, BEAM, *items))


def test_public_names_and_their_order_of_arguments():
    for name in ("Attachment", "Place", "JointEnd", "SpringEnd"):
        assert getattr(femb, name) is getattr(femb.elements, name)
        assert issubclass(getattr(femb, name), Marker)
    end = Attachment("a", (1, 2, 3), (1, 0, 0), (0, 1, 0), None, -1)
    assert (end.body, end.at, end.direction, end.up) == ("a", (1, 2, 3), (1, 0, 0), (0, 1, 0))
    place = Place(None, "b", (1, 2, 3), 4)
    assert (place.beam, place.at, place.node, place.host) == ("b", (1, 2, 3), 4, "'b', node 4")


@pytest.mark.parametrize("kind", [Place, JointEnd, SpringEnd])
@pytest.mark.parametrize(
    "given",
    [
        HUB.at((1, 2, 3), direction=(0, 0, 1), up=(1, 0, 0)),
        BEAM.node(1, (1, 2, 3)),
        BEAM.at(1, (1, 2, 3), direction=(0, 0, 1), up=(1, 0, 0)),
        JointEnd("hub", at=(1, 2, 3), axis=(0, 0, 1), reference=(1, 0, 0)),
        SpringEnd(beam="boom", node=1, at=(1, 2, 3)),
    ],
)
def test_each_kind_is_made_of_each_other(kind, given):
    """The point is the same; two directions go over where both kinds have such."""
    found = kind.of(given)
    assert type(found) is kind
    assert (found.body, found.beam, found.at, found.node) == (given.body, given.beam, given.at, given.node)
    if kind is JointEnd and given.directions:
        assert (found.axis, found.reference) == ((0, 0, 1), (1, 0, 0))
    assert kind.of(found) is found
    assert kind.of(3) == 3


REFUSED = [
    (lambda: femb.SpringDamper("s", SpringEnd("hub", node=1), SpringEnd("a"), 1.0), "start.node: got 1, but a body"),
    (lambda: femb.DistanceDriver("d", SpringEnd(anchor=(0, 0, 1)), Place("hub"), femb.profiles.Constant()),
     "first.body: got body = None and beam = None, wanted one of the two"),
    (lambda: PointMass("p", 1.0, on=Place("hub", "boom")), "p.on.body: got body = 'hub' and beam = 'boom', wanted one"),
    (lambda: Beam("b", "s", 1.0, start=Place("hub")), "b.start: got Place.* wanted an Attachment such as hub.at"),
    (lambda: Beam("b", "s", 1.0, start=Attachment("hub", direction=(1, 0, 0), up=(2, 0, 0))),
     r"b.start.up: got \[2.0, 0.0, 0.0\], must not be along direction"),
    (lambda: Beam("b", "s", 1.0, start=Attachment("hub", direction=(1, 0, 0), y_axis=(2, 0, 0))),
     r"b.start.y_axis: got \[2.0, 0.0, 0.0\], must not be along direction"),
    (lambda: Beam("b", "s", 1.0, start=Attachment("hub", direction=(1, 0, 0), up=(0, 1, 0), y_axis=(0, 1, 0))),
     "b.start.up: given beside y_axis, which is the same"),
    (lambda: Beam("b", "s", 1.0, start=Attachment("hub", direction=(1, 0, 0), y_axis=(0, 1))), "b.start.y_axis: got"),
    (lambda: Beam("b", "s", 1.0, start=Attachment("hub", at=(1, 0))), r"b.start.at: got \(1, 0\), wanted 3 numbers"),
    (lambda: femb.Load("l", body="hub", beam="boom", force=(1, 0, 0)), "l.body: got body = 'hub' and beam = 'boom'"),
    (lambda: femb.Load("l", body="hub", at=(1, 0), force=(1, 0, 0)), r"l.at: got \(1, 0\), wanted 3 numbers$"),
    (lambda: femb.Revolute("r", HUB.at(), Place("hub")), "r.first.axis: is missing: the axis of the revolute joint"),
]  # fmt: skip


@pytest.mark.parametrize("word", ["up", "y_axis"])
def test_both_words_direct_the_y_axis_of_the_section(word):
    """Its part across the beam, in the axes of a turned body and of a turned section."""
    hub = RigidBody("hub", 1.0, 1.0, quaternion=(np.sqrt(0.5), 0, 0, np.sqrt(0.5)))  # by 90 degrees about z
    boom = Beam("boom", "s", 1.0, 1, start=hub.at((0, 0, 0), (1, 0, 0), **{word: (5, 0, 2)}))
    arm = Beam("arm", "s", 1.0, 1, start=boom.at(-1, direction=(0, 0, 1), **{word: (1, 0, 7)}))
    layout = System(of_parts(hub, SECTION, boom, arm)).layout
    for name, x, y in (("boom", (0, 1, 0), (0, 0, 1)), ("arm", (1, 0, 0), (0, 1, 0))):
        axes = rotations.rotate(layout.frames[layout.beams[name].stations[1].frame].quaternion, np.eye(3))
        np.testing.assert_allclose(axes[:2], (x, y), atol=1e-14)


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_refused(make, message):
    refuses(message, make)


def test_the_stations_of_markers():
    """Points of the frames of bodies and beam nodes; an anchor is a point of inertial space."""
    system = System(model())
    layout = system.layout
    hub = layout.station(HUB.at((0.1, 0.2, 0.3)))
    assert hub.frame == layout.bodies["hub"]
    np.testing.assert_array_equal(hub.offset, (0.1, 0.2, 0.3))
    tip, beside = layout.station(BEAM.node(-1)), layout.station(BEAM.node(-1, (0.0, 0.5, 0.0)))
    assert tip.frame == beside.frame
    np.testing.assert_allclose(beside.offset - tip.offset, rotations.rotate(tip.rotation, np.array([0.0, 0.5, 0.0])))
    anchor = layout.station(SpringEnd(anchor=(1.0, 2.0, 3.0)))
    at, axes = layout.pose(anchor)
    np.testing.assert_allclose(at + layout.origin, (1.0, 2.0, 3.0))
    np.testing.assert_array_equal(axes, (1.0, 0.0, 0.0, 0.0))
