"""Beams along points, arcs and functions: where they go, that they are free of stress there, and corners."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from models import of_parts, soft_rod

import femb
from femb.layout.protocols import LoadsBeams
from femb.layout.state import State
from femb.numerics import rotations
from femb.pictures.parts import BeamLine
from femb.statics.equilibrium import steady_start
from femb.system.system import System

BENT = [(0.0, 0.0, 0.0), (0.7, 0.3, 0.1), (1.2, 0.9, -0.2), (1.3, 1.6, 0.3), (0.8, 2.0, 0.9)]
HELIX = np.array([0.4, -0.6, 0.9])


@cache
def section():
    """One for all: two items of one name would be refused."""
    return soft_rod()


def beam(path, elements=8, start=None, **words):
    return femb.Beam("b", section(), elements=elements, start=start or femb.Ground().at(), path=path, **words)


def built(*items):
    model = of_parts(*items)
    return System(model)


def nodes(system, name="b"):
    state = State(system.layout, 0.0, system.q0, system.v0).beams[name].nodes
    return np.array([node.position for node in state]), np.array([node.quaternion for node in state])


def helix(s):
    """A point and the section's y axis of a helix of uniform curvature and twist, in the axes of its first section."""
    positions = femb.Beam("h", section(), max(s, 1e-40), 1, start=femb.Attachment(direction=(1, 0, 0)), curvature=HELIX)
    return positions.reference()[0][-1], rotations.rotate(positions.reference()[1][-1], (0.0, 1.0, 0.0))


PATHS = {
    "points": {"path": femb.Path(points=BENT)},
    "kinks": {"path": femb.Path(points=BENT, kinks=True)},
    "arc": {"path": femb.Path(radius=0.8, angle=2.0), "start": femb.Ground().at(direction=(0, 1, 2), up=(1, 0, 0))},
    "function": {"path": femb.Path(curve=helix), "length": 2.0},
}


# No stress


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("strain", ["exact", "source"])
def test_the_reference_shape_is_free_of_stress_however_it_is_turned(name, strain):
    words = {**PATHS[name], "start": None}
    start = femb.Attachment(at=(1, 2, 3), direction=(0, 1, 2) if name == "arc" else None)
    system = built(beam(words.pop("path"), strain=strain, **{**words, "start": start}))
    turn = rotations.from_axis_angle((1.0, -2.0, 0.5), 2.1)
    q = system.q0.copy()
    for i in system.layout.frame_q:
        q[i : i + 3] = rotations.rotate(turn, q[i : i + 3]) + np.array([3.0, -1.0, 2.0])
        q[i + 3 : i + 7] = rotations.multiply(turn, q[i + 3 : i + 7])
    rest = np.zeros((1, system.n_v))
    for state in (system.q0, q):
        force = system.residual(np.zeros((1, 0)), state[None], rest, rest)
        assert np.abs(force).max() < 1e-14 * 1e6 * 10
        assert system.energy_momentum(state[None], rest)[0, 1] < 1e-15


@pytest.mark.parametrize("name", PATHS)
def test_strained_and_turned_it_has_the_same_energy_and_force(name):
    words = {**PATHS[name]}
    start = femb.Attachment(at=(1, 2, 3), direction=(0, 1, 2) if name == "arc" else None)
    system = built(beam(words.pop("path"), **{**words, "start": start}))
    rng = np.random.default_rng(4)
    change = 0.05 * rng.standard_normal((1, system.n_v))
    q = system.q0 + system.rates(system.q0[None], change)[0]
    q[system.layout.internal_q] *= 0.1
    system.normalise(q)
    turn = rotations.from_axis_angle((1.0, -2.0, 0.5), 2.1)
    moved = q.copy()
    rest = np.zeros((1, system.n_v))
    force = system.residual(np.zeros((1, 0)), q[None], rest, rest)[0]
    turned = force.copy()
    for i, j in zip(system.layout.frame_q, system.layout.frame_v, strict=True):
        moved[i : i + 3] = rotations.rotate(turn, q[i : i + 3]) + np.array([3.0, -1.0, 2.0])
        moved[i + 3 : i + 7] = rotations.multiply(turn, q[i + 3 : i + 7])
        turned[j : j + 3] = rotations.rotate(turn, force[j : j + 3])
    one, other = (system.energy_momentum(each[None], rest)[0, 1] for each in (q, moved))
    assert one > 1e-3
    assert other == pytest.approx(one, rel=1e-12)
    after = system.residual(np.zeros((1, 0)), moved[None], rest, rest)[0]
    np.testing.assert_allclose(after, turned, atol=1e-12 * np.abs(force).max())


# Where it goes


@pytest.mark.slow
def test_a_smooth_beam_goes_through_its_points():
    from scipy.interpolate import CubicSpline

    system = built(beam(femb.Path(points=BENT), 12))
    positions, quaternions = nodes(system)
    chords = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(BENT, axis=0), axis=1)))
    t = np.linspace(0.0, chords[-1], 200001)
    curve = CubicSpline(chords, BENT)
    fine, tangents = curve(t), curve(t, 1)
    length = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(fine, axis=0), axis=1)))
    assert built(beam(femb.Path(points=BENT), 12)).model.beams["b"].length == pytest.approx(length[-1], rel=1e-9)
    at = np.interp(np.linspace(0.0, length[-1], 13), length, t)
    np.testing.assert_allclose(positions, curve(at), atol=1e-8)
    along = rotations.rotation_matrix(quaternions)[:, :, 0]
    np.testing.assert_allclose(along, curve(at, 1) / np.linalg.norm(curve(at, 1), axis=1)[:, None], atol=1e-8)
    # sections that do not turn about the tangent: carried along the fine curve by least rotations
    axes = rotations.rotate(quaternions[0], (0.0, 1.0, 0.0))
    tangents /= np.linalg.norm(tangents, axis=1)[:, None]
    for one, two in pairwise(tangents):
        axes = axes - (one + two) * (two @ axes) / (1.0 + one @ two)
    np.testing.assert_allclose(rotations.rotate(quaternions[-1], (0.0, 1.0, 0.0)), axes, atol=1e-6)


def test_points_on_a_line_are_a_straight_beam():
    given = nodes(built(beam(femb.Path(points=[(0, 0, 0), (0.3, 0.6, 0.9), (1, 2, 3)]), 4)))
    wanted = nodes(built(femb.Beam("b", section(), np.sqrt(14.0), 4, start=femb.Ground().at(direction=(1, 2, 3)))))
    for one, other in zip(given, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-14)


def test_an_arc_by_radius_and_angle_is_one_of_that_curvature():
    start = femb.Ground().at(direction=(1, 0, 0))
    one = beam(femb.Path(radius=0.8, angle=2.0), start=start)
    other = femb.Beam("b", section(), 1.6, 8, start=start, curvature=(0, 0, 1 / 0.8))
    assert one.length == pytest.approx(1.6)
    np.testing.assert_allclose(one.shape.positions, other.shape.positions, atol=1e-15)
    np.testing.assert_allclose(one.shape.quaternions, other.shape.quaternions, atol=1e-15)


def test_points_on_an_arc_come_close_to_it():
    """Of fourth order in the distance of the points, as a cubic spline is."""
    errors = []
    for count in (9, 17):
        turn = np.linspace(0.0, 2.0, count)
        points = 0.8 * np.stack([np.sin(turn), 1.0 - np.cos(turn), 0.0 * turn], axis=1)
        got, _ = nodes(built(beam(femb.Path(points=points), 8, start=femb.Ground().at(up=(0, 1, 0)))))
        wanted = 0.8 * np.stack([np.sin(turn), 1.0 - np.cos(turn), 0.0 * turn], axis=1)[:: (count - 1) // 8]
        errors.append(np.abs(got - wanted).max())
    assert errors[0] < 1e-3
    assert np.log2(errors[0] / errors[1]) > 3.0


@pytest.mark.slow
def test_a_function_with_directions_is_followed_exactly():
    given = nodes(built(beam(femb.Path(curve=helix), 6, length=2.0)))
    start = femb.Ground().at(direction=(1, 0, 0), up=(0, 1, 0))
    wanted = nodes(built(femb.Beam("b", section(), 2.0, 6, start=start, curvature=HELIX)))
    for one, other in zip(given, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-10)


@pytest.mark.parametrize("path", [femb.Path(points=BENT), femb.Path(points=BENT, kinks=True)])
def test_the_end_that_is_attached_places_the_beam(path):
    """By its start on a turned body, by its end on one, or free: the points are in the axes of that."""
    turn = rotations.from_axis_angle((0.3, 1.0, 0.2), 0.8)
    hub = femb.RigidBody("hub", mass=1.0, inertia=0.1, position=(1, 2, 3), quaternion=turn)
    on_start = nodes(built(hub, beam(path, start=hub.at((0.1, 0.2, 0.3)))))[0]
    corner = np.array([1, 2, 3]) + rotations.rotate(turn, (0.1, 0.2, 0.3))
    reach = rotations.rotate(turn, np.subtract(BENT[-1], BENT[0]))
    np.testing.assert_allclose(on_start[[0, -1]], [corner, corner + reach], atol=1e-12)
    up = (0.0, 1.0, 0.3)
    on_end = built(hub, femb.Beam("b", section(), elements=8, end=hub.at((0.1, 0.2, 0.3), up=up), path=path))
    positions, quaternions = nodes(on_end)
    np.testing.assert_allclose(positions[[0, -1]], [corner - reach, corner], atol=1e-12)
    np.testing.assert_allclose(positions - positions[0], on_start - on_start[0], atol=1e-12)
    # the y axis of the last section is the part of ``up`` across the tangent
    axes = rotations.rotation_matrix(quaternions[-1])
    assert abs(axes[:, 2] @ rotations.rotate(turn, up)) < 1e-12
    free = nodes(built(beam(path, start=femb.Attachment(at=(5, 6, 7)))))[0]
    np.testing.assert_allclose(
        free[[0, -1]], [(5, 6, 7), np.add((5, 6, 7), np.subtract(BENT[-1], BENT[0]))], atol=1e-12
    )


def test_a_body_at_the_end_of_a_path_is_put_there():
    hub = femb.RigidBody("hub", mass=1.0, inertia=0.1, position=(1, 2, 3))
    tip = femb.RigidBody("tip", mass=1.0, inertia=0.1)
    system = built(hub, tip, femb.Beam("b", section(), elements=8, start=hub.at(), end=tip.at((0, 0, 0.5)),
                                  path=femb.Path(points=BENT)))  # fmt: skip
    state = State(system.layout, 0.0, system.q0, system.v0)
    np.testing.assert_allclose(state.bodies["tip"].position, np.add((1, 2, 2.5), BENT[-1]), atol=1e-12)


# Loads along paths


@pytest.mark.parametrize("name", PATHS)
def test_even_heating_scales_every_shape_without_stress(name):
    words = {"start": femb.Ground().at(), **PATHS[name]}
    hot = femb.ThermalLoad("sun", beam="b", strain=(1e-3, 0, 0, 0))
    system = built(beam(words.pop("path"), **words), hot)
    q, v = steady_start(system)
    warm = np.array([node.position for node in State(system.layout, 0.0, q, v).beams["b"].nodes])
    np.testing.assert_allclose(warm, 1.001 * nodes(system)[0], atol=1e-12)
    forces = system.batches[0].section_forces(q[None], v[None], 0.0 * v[None])
    for batch in system.batches:
        if isinstance(batch, LoadsBeams):
            batch.add_section_forces(system.batches[0], np.ones((1, 1)), q[None], v[None], forces)
    assert np.abs(forces).max() < 1e-8  # of 1000 N


@pytest.mark.parametrize("name", PATHS)
def test_weight_is_a_distributed_load_on_every_shape(name):
    """By gravity on the mass per length, and as a load."""
    words = {"start": femb.Ground().at(), **PATHS[name]}
    bent = beam(words.pop("path"), **words)
    weight = of_parts(bent, gravity=(0.2, 0.1, -1.0))
    load = femb.DistributedLoad("w", beam="b", force=0.7 * np.array([0.2, 0.1, -1.0]))
    one, other = System(weight), built(bent, load)
    rest = np.zeros((1, one.n_v))
    wanted = one.residual(np.zeros((1, 0)), one.q0[None], rest, rest)
    got = other.residual(np.ones((1, 1)), one.q0[None], rest, rest)
    np.testing.assert_allclose(got, wanted, atol=1e-9)


# Corners

L_POINTS = [(0, 0, 0), (1, 0, 0), (1, 1, 0)]


def test_corners_share_the_elements_by_length():
    shape = beam(femb.Path(points=[(0, 0, 0), (3, 0, 0), (3, 1, 0), (3, 1, 0.5)], kinks=True), 7).shape
    np.testing.assert_allclose(shape.lengths, [0.75, 0.75, 0.75, 0.75, 0.5, 0.5, 0.5])
    assert shape.corner_nodes == {4, 6}
    assert shape.length == pytest.approx(4.5)


def test_a_frame_by_its_corners_is_two_beams():
    """The same tip, in a large deflection, as of a beam on the end of a beam."""
    force = (0.3, 0.5, 2.0)

    def tip(system, name):
        q, v = steady_start(system)
        return State(system.layout, 0.0, q, v).beams[name].nodes[-1].position

    load = femb.Load("p", beam="b", force=force)
    one = tip(built(beam(femb.Path(points=L_POINTS, kinks=True), 8, start=femb.Ground().at(up=(0, 1, 0))), load), "b")
    leg = femb.Beam("a", section(), 1.0, 4, start=femb.Ground().at(direction=(1, 0, 0), up=(0, 1, 0)))
    other = femb.Beam("b", section(), 1.0, 4, start=leg.at(-1, direction=(0, 1, 0), up=(-1, 0, 0)))
    two = tip(built(leg, other, load), "b")
    assert np.linalg.norm(one - (1, 1, 0)) > 0.3
    np.testing.assert_allclose(one, two, atol=1e-9)


def test_the_axial_force_jumps_at_a_corner():
    """Pulled along its second leg, the first one carries the load as shear."""
    system = built(beam(femb.Path(points=L_POINTS, kinks=True), 2), femb.Load("p", beam="b", force=(0, 1e-5, 0)))
    q, _ = steady_start(system)
    strains = q[system.layout.internal_q[system.layout.beams["b"].internal["strain"]]]
    np.testing.assert_allclose(strains, [[0.0, 0.0], [1e-11, 1e-11]], atol=2e-13)


def test_corners_are_drawn_as_corners():
    """The centreline of the pictures is straight on both sides."""
    model = of_parts(beam(femb.Path(points=L_POINTS, kinks=True), 2, start=femb.Ground().at((0, 0, 0))))
    results = femb.simulate(model, duration=0.01)
    line = BeamLine(results.beams["b"], 4).state(0)
    np.testing.assert_allclose(line.points[:5], np.outer(np.linspace(0, 1, 5), (1, 0, 0)), atol=1e-12)
    np.testing.assert_allclose(line.points[5:] - (1, 0, 0), np.outer(np.linspace(0, 1, 5), (0, 1, 0)), atol=1e-12)


# Refusals


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({}, "points"),
        ({"points": BENT, "radius": 1.0, "angle": 1.0}, "radius"),
        ({"radius": 1.0}, "angle"),
        ({"angle": 1.0}, "radius"),
        ({"radius": -1.0, "angle": 1.0}, "radius"),
        ({"radius": 1.0, "angle": 1.0, "kinks": True}, "kinks"),
        ({"points": [(0, 0, 0)]}, "points"),
        ({"points": [(0, 0), (1, 1)]}, "points"),
        ({"points": [(0, 0, 0), (0, 0, 0), (1, 0, 0)]}, "points"),
        ({"points": [(0, 0, 0), (1, 0, 0), (0.5, 0, 0)], "kinks": True}, "points"),
        ({"points": [(0, 0, 0), (1, 0, float("inf"))]}, "points"),
    ],
)
def test_paths_refused(words, field):
    with pytest.raises(femb.ModelError) as caught:
        femb.Path(**words)
    assert field in {problem.item[-1] for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({"path": femb.Path(points=BENT), "length": 2.0}, "length"),
        ({"path": femb.Path(points=BENT), "curvature": (0, 0, 1)}, "curvature"),
        ({"path": femb.Path(curve=lambda s: (s, 0, 0))}, "length"),
        ({"path": femb.Path(curve=lambda s: (2 * s, 0, 0)), "length": 1.0}, "path.curve"),
        ({"path": femb.Path(curve=lambda s: s), "length": 1.0}, "path.curve"),
        ({"path": femb.Path(points=BENT, kinks=True), "elements": 3}, "elements"),
        ({"path": "straight", "length": 1.0}, "path"),
        ({}, "length"),
    ],
)
def test_beams_refused(words, field):
    with pytest.raises(femb.ModelError) as caught:
        femb.Beam("b", section(), start=femb.Ground().at(), **words)
    assert field in {problem.item[-1] for problem in caught.value.problems}
