"""Lines of hinges along edges of shells: mechanisms, closed forms, the whole panel as limit, and faults by name."""

import numpy as np
import pytest
from models import of_parts, refusals, refuses
from oracles.shell import material

import femb
from femb.numerics import rotations
from femb.system.system import System

E, RHO, H = 70e9, 1000.0, 0.02
INNER = [[0, 0, 0], [1, 0, 0], [1, 0.5, 0], [0, 0.5, 0]]
OUTER = [[1, 0, 0], [2, 0, 0], [2, 0.5, 0], [1, 0.5, 0]]
LINE = {"first": {"shell": "inner", "edge": "edge2"}, "second": {"shell": "outer", "edge": "edge4"}}


def panel(name, corners, elements=(3, 2), young=E, **words):
    return femb.Shell(name, elements, corners, thickness=H, material=material(young, 0.3, RHO), **words)


def wing(stiffness=0.0, young=E, outer=OUTER, elements=(3, 2), points=None, **words):
    """Two panels, the inner one on the ground."""
    return (
        panel("inner", INNER, young=young, attach={"edge4": "ground"}),
        panel("outer", outer, elements, young, points=points),
        femb.HingeLine("fold", **(LINE | words), stiffness=stiffness),
    )


def test_free_hinges_are_a_mechanism_and_stiff_ones_one_panel():
    """No stiffness: one more motion without any; much: the frequencies of the panel in one part."""
    free, stiff = (femb.modes(of_parts(*wing(k)), count=5) for k in (0.0, 1e11))
    whole = panel("p", [INNER[0], OUTER[1], OUTER[2], INNER[3]], (6, 2), attach={"edge4": "ground"})
    one = femb.modes(of_parts(whole), count=5)
    assert (free.joint, stiff.joint) == (1, 0)
    np.testing.assert_allclose(stiff.frequencies[:5], one.frequencies[:5], rtol=1e-6)


def test_panels_on_springs_swing_as_in_closed_form():
    """Stiff panels: one on the ground, and two in a row, with the mass matrix of a double pendulum."""
    k, b, a, m = 1.0, 0.5, 1.0, RHO * H * 0.5
    rotary = m * H**2 / 12.0
    inertia = m * a**2 / 3.0 + rotary
    root = femb.HingeLine("root", {"body": "ground"}, {"shell": "inner", "edge": "edge4"}, stiffness=k)
    found = femb.modes(of_parts(panel("inner", INNER), root), count=1).frequencies
    np.testing.assert_allclose(2.0 * np.pi * found, np.sqrt(k * b / inertia), rtol=2e-5)
    # angles of both panels against the ground
    M = np.array([[inertia + m * a**2, 0.5 * m * a**2], [0.5 * m * a**2, inertia]])
    K = k * b * np.array([[2.0, -1.0], [-1.0, 1.0]])
    wanted = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real))
    line = femb.HingeLine("fold", **LINE, stiffness=k)
    both = of_parts(panel("inner", INNER), panel("outer", OUTER), root, line)
    found = femb.modes(both, count=2).frequencies
    np.testing.assert_allclose(2.0 * np.pi * found, wanted, rtol=2e-5)


def test_angle_moment_and_reaction_under_a_load():
    """The moment of the line is that of a force on the outer panel, about its axis; the reaction carries it."""
    shells = wing(40.0, points={"tip": "edge2"})
    load = femb.Load("push", body="outer.tip", force=(0.0, 0.0, 1.0))
    results = femb.static(of_parts(*shells, load))
    fold = results.hinges["fold"]
    arm = results.bodies["outer.tip"].position[-1, 0] - 1.0
    np.testing.assert_allclose(fold.axis, [0.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(fold.length, [0.125, 0.25, 0.125], rtol=1e-12)
    # a positive angle is about +y: upwards is negative
    np.testing.assert_allclose(fold.moment[-1] @ fold.length, -arm, rtol=1e-4)
    np.testing.assert_allclose(fold.angle[-1], fold.moment[-1] / 40.0, rtol=1e-12)
    assert -0.1 < fold.angle[-1].mean() < -0.04
    np.testing.assert_allclose(np.linalg.norm(fold.force[-1].sum(axis=0)), 1.0, rtol=1e-3)
    np.testing.assert_allclose(fold.torque[-1, :, 2], 0.0, atol=1e-9)


def test_folded_panels_open_by_more_than_half_a_turn():
    """Panels on each other, with a gap: the angle and the energy of the line go on beyond a turn of pi."""
    lower = panel("inner", INNER, attach={"edge4": "ground"})
    upper = panel("outer", [[x, y, 0.05] for x, y, _ in INNER])
    line = LINE | {"second": {"shell": "outer", "edge": "edge2"}}
    system = System(of_parts(lower, upper, femb.HingeLine("fold", **line, stiffness=4.0, free=-np.pi)))
    layout, still = system.layout, np.zeros((1, system.n_v))
    joint = layout.hinges["fold"][0]
    line = np.array([1.0, 0.0, 0.025])
    np.testing.assert_allclose(layout.pose(joint.first)[0], line, atol=1e-12)
    batch = next(each for each in system.batches if type(each).__name__ == "HingeBatch")
    for angle in (0.4 * np.pi, 0.0, -0.9 * np.pi, -1.1 * np.pi, -1.4 * np.pi):
        q, turn = system.q0.copy(), rotations.exponential(np.array([0.0, angle, 0.0]))
        for frame in layout.shells["outer"].frames:
            i = layout.frame_q[frame]
            q[i : i + 3] = line + rotations.rotate(turn, q[i : i + 3] - line)
            q[i + 3 : i + 7] = rotations.multiply(turn, q[i + 3 : i + 7])
        np.testing.assert_allclose(batch.measure(np.zeros((1, 0)), q[None], still)[0], angle, atol=1e-12)
        energy = system.energy_momentum(q[None], still, system.inputs_at(0.0, q, still[0])[None])[0, 1]
        np.testing.assert_allclose(energy, 0.5 * 4.0 * 0.5 * (angle + np.pi) ** 2, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_lines_around_a_plate_are_simple_supports():
    """Frequencies of plates with edges 1 to 4 hinged (S), clamped (C) or free (F): Leissa's, by the square of the mesh;
    at corners two lines meet, or one ends at a clamped edge."""
    factor = 2.0 * np.pi * np.sqrt(12.0 * (1.0 - 0.3**2) * RHO / E) / 2e-3
    for edges, wanted in (("SSSS", [19.7392, 49.3480]), ("CSCS", [28.9509, 54.7431]), ("SSFF", [3.3687, 17.407])):
        errors = []
        for n in (6, 12):
            clamped = {f"edge{k}": "ground" for k, kind in enumerate(edges, 1) if kind == "C"}
            square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
            plate = femb.Shell("p", (n, n), square, thickness=2e-3, material=material(E, 0.3, RHO), attach=clamped)
            lines = [
                femb.HingeLine(f"h{k}", {"body": "ground"}, {"shell": "p", "edge": f"edge{k}"})
                for k, kind in enumerate(edges, 1)
                if kind == "S"
            ]
            found = factor * np.asarray(femb.modes(of_parts(plate, *lines), count=2).frequencies)
            errors.append(found / wanted - 1.0)
        np.testing.assert_allclose(errors[1], 0.0, atol=3e-2)
        if edges != "SSFF":  # whose values are of Ritz' method
            np.testing.assert_allclose(errors[0] / errors[1], 4.0, rtol=0.15)


def test_reversed_edges_and_sets_of_nodes(tmp_path):
    """Edges that run against each other, and a set of nodes of a mesh: the same frequencies."""
    import meshio

    turned = [OUTER[2], OUTER[3], OUTER[0], OUTER[1]]
    one = femb.modes(of_parts(*wing(30.0)), count=4).frequencies
    shells = wing(30.0, outer=turned, second={"shell": "outer", "edge": "edge2"})
    np.testing.assert_allclose(femb.modes(of_parts(*shells), count=4).frequencies, one, rtol=1e-7)
    mesh = shells[1].geometry
    path = tmp_path / "outer.vtu"
    meshio.Mesh(mesh.nodes, [("quad", mesh.quads)]).write(path)
    outer = femb.Shell("outer", mesh=path, thickness=H, material=material(E, 0.3, RHO))
    line = femb.HingeLine("fold", LINE["first"], {"shell": "outer", "edge": "x=1"}, stiffness=30.0)
    np.testing.assert_allclose(femb.modes(of_parts(shells[0], outer, line), count=4).frequencies, one, rtol=1e-7)


test_bad_lines_are_named = refusals(
    lambda words: System(of_parts(*wing(1.0, **words))),
    ({"second": {"shell": "outer", "edge": "egde4"}}, "did you mean 'edge4'"),
    ({"second": {"shell": "outr", "edge": "edge4"}}, "did you mean 'outer'"),
    ({"second": {"shell": "outer", "edge": "corner1"}}, "is one node"),
    ({"second": {"shell": "outer", "edge": "edge2"}}, "less than an element apart"),
    ({"elements": (3, 3)}, "has 4 nodes, the first edge 3"),
    ({"outer": [[x, y + 0.05, z] for x, y, z in OUTER]}, "0.05 m along the line"),
    ({"first": {"body": "hub"}}, "hub"),
    ({"first": {"shell": "inner", "edge": "edge4"}, "second": {"shell": "inner", "edge": "edge4"}}, "same nodes"),
)


def test_curved_edges_are_named():
    tape = femb.Shell("outer", (1, 4), surface={"cylinder": [0.5, 1.0, 1.0]}, thickness=H, material="aluminium 6061-T6")
    line = femb.HingeLine("fold", {"body": "ground"}, {"shell": "outer", "edge": "edge4"})
    refuses(r"hinges\.fold\.second: edge4 of shell 'outer' is not straight", System, of_parts(tape, line))


test_bad_words_are_named = refusals(
    lambda words: femb.HingeLine("fold", **LINE | words),
    ({"first": {"shell": "a"}}, r"hinges\.fold\.first: got .*, wanted \{ shell = NAME, edge = EDGE \} or"),
    ({"second": {"body": "hub"}}, r"second: got .*, wanted \{ shell = NAME, edge = EDGE \}$"),
    ({"second": 3}, "second"),
    ({"stiffness": -1.0}, "at least 0"),
    ({"free": 7.0}, "less than one turn"),
)
