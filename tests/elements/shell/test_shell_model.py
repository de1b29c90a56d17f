"""Shells in models: what carries them, motion, statics, modes, root loads, and every exit."""

import re
import warnings
from dataclasses import replace

import meshio
import numpy as np
import pytest
from models import of_parts, refusals, refuses, stiff
from oracles.alone import Alone
from oracles.shell import material

import femb
from femb.linear import linearize
from femb.system.moving_ground import mass_properties
from femb.system.system import System

E, NU, RHO, H = 1e9, 0.3, 1000.0, 0.02
CORNERS = [[0.5, -0.25, 0], [1.5, -0.25, 0], [1.5, 0.25, 0], [0.5, 0.25, 0]]


def panel(elements=(4, 2), corners=CORNERS, nu=NU, **words):
    given = {"thickness": H, "material": material(E, nu, RHO)} | words
    return femb.Shell("p", elements, corners=corners, **given)


def hub(**words):
    return femb.RigidBody("hub", 10.0, (1.0, 0.7, 1.2), **words)


def test_edge_on_a_body_is_one_of_points_fixed_to_it():
    """Nodes with offsets on a body, and nodes of their own that joints fix to it: the same frequencies."""
    held = of_parts(hub(), panel(frame="hub", attach={"edge4": "hub"}))
    points = {f"n{k}": [0.5, -0.25 + 0.25 * k, 0.0] for k in range(3)}
    joints = [
        femb.Fixed(f"j{k}", femb.JointEnd("hub", at=at), femb.JointEnd(f"p.n{k}"))
        for k, at in enumerate(points.values())
    ]
    joined = of_parts(hub(), panel(frame="hub", points=points), *joints)
    first, second = (femb.modes(each, count=12).frequencies for each in (held, joined))
    np.testing.assert_allclose(first[6:], second[6:], rtol=1e-8)


def test_shell_in_the_axes_of_a_turned_body():
    """The frequencies of a free satellite do not depend on its attitude and place."""
    turned = {"position": (3.0, -2.0, 1.0), "euler_angles": (0.4, -0.8, 1.1)}
    plain, other = (
        femb.modes(of_parts(hub(**words), panel(frame="hub", attach={"edge4": "hub"})), count=9).frequencies
        for words in ({}, turned)
    )
    np.testing.assert_allclose(plain[6:], other[6:], rtol=1e-9)


def halves(elements=(2, 2), edge="edge2", **words):
    """The panel in two parts, the second of which begins at its far end, and is the first item of the model."""
    far = [[1.5, 0.25, 0], [1.0, 0.25, 0], [1.0, -0.25, 0], [1.5, -0.25, 0]]
    given = {"thickness": H, "material": material(E, NU, RHO), "direction": (1.0, 0.0, 0.0), "frame": "hub"}
    near = [CORNERS[0], [1.0, -0.25, 0], [1.0, 0.25, 0], CORNERS[3]]
    attach = {"edge2": {"shell": "near", "edge": edge}}
    given |= {"attach": attach, "points": {"tip": "corner4"}} | words
    return (
        femb.Shell("far", elements, corners=far, **given),
        femb.Shell("near", (2, 2), corners=near, **given | {"attach": {"edge4": "hub"}, "points": {"middle": "edge2"}}),
    )


@pytest.mark.slow
def test_shells_that_share_an_edge_are_one():
    """Frequencies and root loads of a panel in two parts; the point between them is a body that moves with both."""
    one = of_parts(hub(), panel(frame="hub", attach={"edge4": "hub"}))
    parts = of_parts(hub(), *halves())
    first, second = (femb.modes(each, count=12) for each in (one, parts))
    np.testing.assert_allclose(first.frequencies[6:], second.frequencies[6:], rtol=1e-8)
    np.testing.assert_allclose(second.energy.sum(axis=1), 1.0, atol=1e-9)
    pushed = [
        femb.static(of_parts(femb.Ground("hub"), *shells, femb.Load("push", body=f"{name}.tip", force=(0, 0, 0.1))))
        for name, shells in (
            ("p", [panel(frame="hub", attach={"edge4": "hub"}, points={"tip": "corner2"})]),
            ("far", halves()),
        )
    ]
    # found by Newton's iteration, each to its tolerance
    tips = [found.bodies[f"{name}.tip"].position[-1] for found, name in zip(pushed, ("p", "far"), strict=True)]
    np.testing.assert_allclose(tips[0], tips[1], rtol=0.0, atol=1e-7)
    roots = [next(iter(found.appendages.values())) for found in pushed]
    np.testing.assert_allclose(roots[0].torque[-1], roots[1].torque[-1], rtol=0.0, atol=1e-7)


def test_box_of_shells_shares_edges_and_corners():
    """A folded strip whose last panel is on two others: its corners are one node with theirs."""
    words = {"thickness": H, "material": material(E, NU, RHO)}
    floor = femb.Shell("floor", (2, 2), corners=[[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], **words)
    wall = femb.Shell(
        "wall", (2, 2), corners=[[0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]],
        attach={"edge1": {"shell": "floor", "edge": "edge4"}}, **words,
    )  # fmt: skip
    back = femb.Shell(
        "back", (2, 2), corners=[[0, 1, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1]],
        attach={"edge1": {"shell": "floor", "edge": "edge3"}, "edge4": {"shell": "wall", "edge": "edge2"}}, **words,
    )  # fmt: skip
    system = System(of_parts(floor, wall, back))
    assert len(system.layout.frames) == 19
    np.testing.assert_allclose(mass_properties(system)[0], 3.0 * RHO * H, rtol=1e-12)
    assert femb.modes(of_parts(floor, wall, back), count=2).rigid == 6


test_bad_neighbours_are_named = refusals(
    lambda shells: System(of_parts(hub(), *shells())),
    (lambda: halves((2, 3)), "node by node"),
    (lambda: halves(edge="edge3"), "m from the nearest of edge3 of shell 'near'"),
    (lambda: halves(edge="egde2"), "did you mean 'edge2'"),
    (lambda: halves()[:1], "is no shell"),
    (lambda: halves(attach={"edge2": {"shell": "far", "edge": "edge4"}}), "this shell itself"),
    (lambda: halves(attach={"edge2": {"shell": "near"}}), "wanted the name of a body, { beam"),
)


def test_shells_on_each_other_are_named():
    far, near = halves()
    near = replace(near, points=None, attach={"edge2": {"shell": "far", "edge": "edge2"}})
    refuses("one of them must be on none", System, of_parts(hub(), far, near))


def test_strip_bends_as_an_exact_beam():
    """First frequencies of a cantilever, without Poisson's ratio, out of its plane; the mesh has order 2."""
    corners = [[0, 0, 0], [1, 0, 0], [1, 0.05, 0], [0, 0.05, 0]]
    strip = of_parts(panel((32, 1), corners, 0.0, thickness=0.01, attach={"edge4": "ground"}))
    # the second is that in the plane
    found = femb.modes(strip, count=3).frequencies[[0, 2]]
    radius = np.sqrt(E * 0.01**2 / 12.0 / RHO)
    wanted = np.array([1.8751041, 4.6940911]) ** 2 * radius / (2.0 * np.pi)
    # the shell shears and turns: below the thin beam
    np.testing.assert_allclose(found, wanted, rtol=3e-3)


def test_resultants_of_a_cantilever():
    """Moments, shear and strains under a force across the tip, positive where they stretch the side of the normal."""
    corners = [[0, 0, 0], [1, 0, 0], [1, 0.2, 0], [0, 0.2, 0]]
    shell = panel((5, 1), corners, 0.0, attach={"edge4": "ground"}, points={"a": "corner2", "b": "corner3"})
    loads = [femb.Load(name, body=f"p.{name}", force=(0.0, 0.0, 5e-3)) for name in ("a", "b")]
    found = femb.static(of_parts(shell, *loads)).shells["p"]
    x = np.arange(0.1, 1.0, 0.2)
    moment = found.bending_moment[-1]
    # the force lifts the tip: the side of the normal is pressed
    np.testing.assert_allclose(moment[:, 0], -0.01 * (1.0 - x) / 0.2, rtol=1e-6)
    np.testing.assert_allclose(np.abs(found.shear_force[-1, :, 0]), 0.01 / 0.2, rtol=1e-6)
    np.testing.assert_allclose(found.curvature[-1, :, 0], moment[:, 0] / (E * H**3 / 12.0), rtol=1e-9)
    np.testing.assert_allclose(found.deflection[-1, -1, 2], 0.01 / (3.0 * E * 0.2 * H**3 / 12.0), rtol=1e-2)


def test_arch_snaps_along_its_arc_length():
    """A clamped strip of a cylinder pressed in its middle: the load falls behind the limit and rises again."""
    tape = {"cylinder": [2.0, 0.1, 0.5]}
    arch = femb.Shell(
        "p", (1, 8), surface=tape, thickness=4e-3, material=material(70e9, 0.0, RHO),
        attach={"edge1": "ground", "edge3": "ground"}, points={"a": [0.0, 0.0, 0.0], "b": [0.1, 0.0, 0.0]},
    )  # fmt: skip
    loads = [femb.Load(name, body=f"p.{name}", force=(0.0, 0.0, -4000.0)) for name in "ab"]
    found = femb.static(of_parts(arch, *loads), arc_length=True)
    factor, fall = found.load_factor, [-found.bodies[f"p.{name}"].displacement[:, 2] for name in "ab"]
    steps = np.diff(factor)
    assert steps[0] > 0.0
    assert steps.min() < 0.0
    assert steps[-1] > 0.0
    # the middle passes the chord of the supports and ends below it
    assert np.all(np.diff(fall[0]) > 0.0)
    assert fall[0][-1] > 2.0 * (1.0 - np.cos(0.25))
    np.testing.assert_allclose(fall[0], fall[1], rtol=1e-5, atol=1e-9)


def test_root_loads_are_the_weight():
    """On a ground, on a beam that carries the panel, and their sum."""
    section = stiff(1e7, 1e4, (1e4, 1e4), 2.0, (0.02, 0.01, 0.01), "bar", shear_stiffness=(1e6, 1e6))
    alone = of_parts(panel(attach={"edge4": "ground"}), gravity=(0.0, 0.0, -10.0))
    weight = 10.0 * RHO * H * 0.5
    found = femb.static(alone).appendages["p"]
    np.testing.assert_allclose(found.force[-1], [0.0, 0.0, -weight], atol=1e-6 * weight)
    start = femb.Attachment("ground", at=(0.5, -0.25, -0.1), direction=(1.0, 0.0, 0.0))
    beam = femb.ExactBeam("stringer", section, 1.0, 4, start=start)
    carried = of_parts(section, beam, panel(attach={"edge1": {"beam": "stringer"}}), gravity=(0.0, 0.0, -10.0))
    mass = mass_properties(System(carried))[0]
    np.testing.assert_allclose(mass, RHO * H * 0.5 + 2.0, rtol=1e-12)
    found = femb.static(carried).appendages["stringer"]
    np.testing.assert_allclose(found.force[-1], [0.0, 0.0, -weight - 20.0], atol=1e-6 * weight)


def stiffened(attach, start="ground"):
    """A strip with stringers below its long edges, which begin on a body."""
    section = stiff(1e6, 10.0, (20.0, 20.0), 0.1, (2e-5, 1e-5, 1e-5), "bar", shear_stiffness=(1e6, 1e6))
    corners = [[0, -0.05, 0], [1, -0.05, 0], [1, 0.05, 0], [0, 0.05, 0]]
    strip = panel((8, 2), corners, 0.0, thickness=4e-3, attach=attach, points={"tip": "edge2"})
    beams = [
        femb.ExactBeam(name, section, 1.0, 8, start=femb.Attachment(start, at=(0.0, y, -0.02), direction=(1, 0, 0)))
        for name, y in (("right", -0.05), ("left", 0.05))
    ]
    return section, *beams, strip


@pytest.mark.slow
def test_stiffeners_along_edges_bend_as_one_section():
    """A clamped panel on two stringers beside its surface: the deflection of both sections about their common axis."""
    on_beams = {"edge1": {"beam": "right"}, "edge3": {"beam": "left"}}
    # at the ends of the stringers: between them the panel bends by itself
    loads = [femb.Load(f"push {name}", beam=name, force=(0.0, 0.0, 5e-4)) for name in ("right", "left")]
    found = femb.static(of_parts(*stiffened({"edge4": "ground"} | on_beams), *loads))
    plate, stringers, below = E * 0.1 * 4e-3, 2e6, -0.02
    axis = stringers * below / (plate + stringers)
    bending = E * 0.1 * 4e-3**3 / 12.0 + plate * axis**2 + 2.0 * 20.0 + stringers * (below - axis) ** 2
    np.testing.assert_allclose(found.beams["right"].displacement[-1, -1, 2], 1e-3 / (3.0 * bending), rtol=1e-2)
    # a corner on the root of a beam that is on another body than the edge
    hub = femb.RigidBody("hub", 1.0, 1.0)
    refuses("a node is on one", System, of_parts(hub, *stiffened({"edge4": "hub"} | on_beams)))


@pytest.mark.slow
@pytest.mark.parametrize("drilling", ["stiff", "weak"])
def test_a_web_beside_a_panel_is_that_of_shells(drilling):
    """A thin web below an edge as a beam: its section warps in torsion and does not turn with the panel's normal, which
    made the first frequency rise with the mesh, to 8 % above that of a web of shells. Both converge from above."""
    corners = [[0, 0, 0], [0.8, 0, 0], [0.8, 0.4, 0], [0, 0.4, 0]]
    below = [*corners[:2], [0.8, 0, -0.03], [0, 0, -0.03]]
    alloy = femb.Material(70e9, 70e9 / 2.6, 2700.0)
    section = femb.Section("s", shape={"rectangle": [0.004, 0.03]}, material=alloy)
    root = femb.Attachment("ground", at=(0, 0, -0.015), direction=(1, 0, 0), y_axis=(0, 1, 0))
    words = {"thickness": 3e-3, "material": alloy}
    last = np.inf
    for n in (4, 8, 16):
        beam = femb.Beam("st", section="s", length=0.8, elements=2 * n, start=root)
        on_beam = femb.Shell(
            "p", (2 * n, n), corners, attach={"edge4": "ground", "edge1": {"beam": "st"}}, drilling=drilling, **words
        )
        frequency = femb.modes(of_parts(section, beam, on_beam), 1).frequencies[0]
        assert frequency < last
        last = frequency
    panel = femb.Shell("p", (32, 16), corners, attach={"edge4": "ground"}, **words)
    on_panel = {"edge4": "ground", "edge1": {"shell": "p", "edge": "edge1"}}
    web = femb.Shell("w", (32, 3), below, attach=on_panel, **words | {"thickness": 4e-3})
    np.testing.assert_allclose(last, femb.modes(of_parts(panel, web), 1).frequencies[0], rtol=4e-3)


@pytest.mark.slow
def test_free_flight_conserves_energy_and_momenta():
    shell = panel((2, 1), thickness=0.1, velocity=(0.1, 0.2, 0.3), angular_velocity=(1.0, 2.0, 3.0), offset=0.03)
    results = femb.simulate(of_parts(shell), duration=0.02, method="radau", rtol=1e-9, output_interval=5e-3)
    audit = results.audit
    assert np.abs(audit.energy_error).max() < 1e-9 * audit.kinetic_energy[0]
    for momentum in (audit.linear_momentum, audit.angular_momentum):
        assert np.abs(momentum - momentum[0]).max() < 1e-9 * np.abs(momentum[0]).max()


def test_pressure_on_a_closed_tube_and_dishes_has_no_resultant():
    """On a deformed closed surface, of a tube and two discs whose nodes coincide: no force and no moment."""
    n = 8
    tube = femb.Shell("t", (2, n), surface={"cylinder": [0.3, 1.0, 2.0 * np.pi]}, thickness=H, material=material(E, NU))
    lids = [
        femb.Shell(
            name, (1, n), surface={"disc": [0.3, 0.0]}, thickness=H, material=material(E, NU), position=(x, 0.0, -0.3),
            quaternion=(np.sqrt(0.5), 0.0, sign * np.sqrt(0.5), 0.0),
        )
        for name, x, sign in (("a", 0.0, -1.0), ("b", 1.0, 1.0))
    ]  # fmt: skip
    loads = [femb.SurfaceLoad(f"p{name}", name, pressure=5.0) for name in "tab"]
    system = System(of_parts(tube, *lids, *loads))
    layout, rng = system.layout, np.random.default_rng(0)
    places = {}
    q = system.q0.copy()
    for name in "tab":
        for frame in layout.shells[name].frames:
            i = layout.frame_q[frame]
            key = tuple(np.round(q[i : i + 3], 6) + 0.0)
            q[i : i + 3] += places.setdefault(key, 0.05 * rng.standard_normal(3))
    assert len(places) == 3 * n + 2
    batch = next(each for each in system.batches if type(each).__name__ == "SurfaceBatch")
    out, still = np.zeros((1, system.n_v)), np.zeros((1, system.n_v))
    Alone(system, batch).residual(system.inputs_at(0.0, q, still[0])[None], q[None], still, still, out)
    assert np.abs(out).max() > 0.01
    np.testing.assert_allclose(system.rigid_velocities(q) @ out[0], 0.0, atol=1e-13)


def test_loads_of_surface_and_edge_in_statics():
    """Root load of a panel under a force per area, pressure and a force along its tip."""
    loads = [
        femb.SurfaceLoad("area", "p", force=(0.0, 3.0, 0.0)),
        femb.SurfaceLoad("gas", "p", pressure=1e-3),
        femb.SurfaceLoad("tip", "p", edge="edge2", edge_force=(2.0, 0.0, 0.0)),
    ]
    found = femb.static(of_parts(panel(attach={"edge4": "ground"}), *loads)).appendages["p"]
    np.testing.assert_allclose(found.force[-1], [1.0, 1.5, 5e-4], rtol=1e-3)


@pytest.mark.slow
def test_a_reduced_panel_has_its_frequencies_and_stiffens_under_tension():
    """Reduced with its stress stiffness, beside the shell itself, without load and pulled at its tip."""
    shell = panel(attach={"edge4": "ground"}, points={"tip": "edge2"})
    reduced = femb.fem.reduce_beams(of_parts(shell), "ground", {"tip": "bodies.p.tip"}, 30, appendage="p").body
    body = femb.FlexibleBody("p", reduced, start=femb.Attachment("ground"), damping_ratio=0.0)
    found = {}
    for force in (0.0, 200.0):
        load = femb.Load("pull", body="p.tip", force=(force, 0.0, 0.0))
        for each in (shell, body):
            poles = linearize(of_parts(each, load), start="equilibrium").eigenvalues()
            found[each, force] = np.sort(np.abs(poles.imag))[::2][:4]
    np.testing.assert_allclose(found[body, 0.0], found[shell, 0.0], rtol=1e-7)
    shifts = [found[each, 200.0] - found[each, 0.0] for each in (body, shell)]
    np.testing.assert_allclose(shifts[0], shifts[1], rtol=5e-3)
    assert shifts[1][0] > 2.0


@pytest.mark.slow
@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 0.8, 0.6)])
def test_a_reduced_panel_in_a_spin_is_the_shell(axis):
    """Its twist has the stress of the spin, and the softening of masses that are spread between the nodes.

    Beside the axis the spin bends the panel: what a body of small deflections lacks by that falls with its square.
    """
    shell = panel((8, 4), frame="hub", attach={"edge4": "hub"})
    reduced = femb.fem.reduce_beams(of_parts(hub(), shell), "hub", {}, 20, appendage="p").body
    body = femb.FlexibleBody("p", reduced, start=femb.Attachment("hub"), damping_ratio=0.0)
    spin, found = 0.6, {}
    for each in (shell, body):
        for rate in (0.0, spin):
            heavy = femb.RigidBody("hub", 1e6, 1e6, angular_velocity=tuple(rate * np.array(axis)))
            modes = femb.modes(of_parts(heavy, each), 2, held="hub", **({"start": "equilibrium"} if rate else {}))
            found[each, rate] = (2.0 * np.pi * modes.frequencies) ** 2
    shifts = [(found[each, spin] - found[each, 0.0]) / spin**2 for each in (shell, body)]
    np.testing.assert_allclose(shifts[1], shifts[0], rtol=0.0, atol=1e-3)


def test_free_growth_and_bending_by_heat_have_no_stress():
    """Of a laminate with an offset, held at a corner; a held panel presses with E h alpha T / (1 - nu)."""
    alpha, heat = 2e-5, {"temperature": 10.0, "gradient": 0.1}
    ply = {
        "youngs_moduli": (E, E), "shear_modulus": E / 2.6, "poissons_ratio": NU, "density": RHO,
        "expansion": (alpha, alpha),
    }  # fmt: skip
    plies = [femb.Ply(0.5 * H, 0.3, **ply), femb.Ply(0.5 * H, -0.4, **ply)]
    free = femb.Shell("p", (3, 2), corners=CORNERS, plies=plies, offset=0.003, attach={"corner1": "ground"})
    found = femb.static(of_parts(free, femb.SurfaceLoad("sun", "p", **heat))).shells["p"]
    scale = E * H * alpha * 10.0
    assert np.abs(found.membrane_force[-1]).max() < 1e-5 * scale
    assert np.abs(found.bending_moment[-1]).max() < 1e-5 * scale * H
    np.testing.assert_allclose(found.membrane_strain[-1, :, :2], alpha * 10.0, rtol=1e-4)
    np.testing.assert_allclose(found.curvature[-1, :, :2], alpha * 0.1, rtol=1e-2)
    edges = {f"edge{k}": "ground" for k in range(1, 5)}
    held = femb.Shell("p", (2, 2), corners=CORNERS, plies=plies, attach=edges)
    pressed = femb.static(of_parts(held, femb.SurfaceLoad("sun", "p", temperature=10.0))).shells["p"]
    np.testing.assert_allclose(pressed.membrane_force[-1, :, :2], -scale / (1.0 - NU), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("hinged", [False, True])
def test_modes_beyond_buckling_are_refused_however_few_are_wanted(hinged):
    """Compressed to four times its buckling load, a plate has higher modes whose squares are nearer to zero."""
    square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    press = 4.0 * (4.0 if hinged else 10.0) * np.pi**2 * E * H**3 / 12.0 / (1.0 - NU**2)
    edges = [f"edge{k}" for k in range(1, 5)]
    lines = [femb.HingeLine(e, {"body": "ground"}, {"shell": "p", "edge": e}) for e in edges if hinged]
    attach = {} if hinged else dict.fromkeys(edges, "ground")
    metal = material(E, NU, RHO)
    plate = femb.Shell("p", (8, 8), square, thickness=H, material=metal, pretension=(-press, 0, 0), attach=attach)
    for count in (1, 2, 6):
        refuses(r"the state is unstable.*p, node .* moves along z", femb.modes, of_parts(plate, *lines), count)


@pytest.mark.slow
def test_a_slope_of_temperature_varies_along_the_axes_of_the_geometry():
    """Of two elements that nothing lets grow, on a turned hub: each has the temperature of its middle."""
    alpha, edges = 2e-5, {f"edge{k}": "ground" for k in range(1, 5)}
    hot = femb.Material(E, E / (2.0 + 2.0 * NU), RHO, expansion=alpha)
    held = femb.Shell(
        "p", (2, 1), corners=CORNERS, thickness=H, material=hot, attach=edges, quaternion=(0.6, 0.0, 0.0, 0.8),
        position=(3.0, 2.0, 1.0),
    )  # fmt: skip
    sun = femb.SurfaceLoad("sun", "p", temperature=3.0, slope=(8.0, -2.0, 5.0))
    found = femb.static(of_parts(hub(), held, sun)).shells["p"]
    corners = np.array(CORNERS, dtype=float)
    middles = [corners[0] + r * (corners[1] - corners[0]) + 0.5 * (corners[3] - corners[0]) for r in (0.25, 0.75)]
    wanted = [-E * H * alpha / (1.0 - NU) * (3.0 + x @ [8.0, -2.0, 5.0]) for x in middles]
    np.testing.assert_allclose(found.membrane_force[-1, :, :2], np.stack([wanted, wanted], axis=1), rtol=1e-9)


def test_heat_without_expansion_is_named():
    load = femb.SurfaceLoad("sun", "p", temperature=10.0)
    refuses(r"loads\.sun\.temperature: needs the expansion", System, of_parts(panel(), load))


def test_damping_ratio_is_that_of_the_coefficient():
    """beta omega / 2."""
    beta = 1e-3
    poles = linearize(of_parts(panel((4, 1), attach={"edge4": "ground"}, damping=beta))).eigenvalues()
    poles = poles[np.argsort(np.abs(poles))][:4]
    np.testing.assert_allclose(-poles.real / np.abs(poles), 0.5 * beta * np.abs(poles), rtol=1e-5)


def test_energy_of_modes_is_that_of_the_shell():
    model = of_parts(hub(), panel(frame="hub", attach={"edge4": "hub"}, points={"tip": "corner3"}))
    found = femb.modes(model, count=7)
    assert found.items[0] == "shells.p"
    assert found.energy[6, 0] > 0.5
    np.testing.assert_allclose(found.energy.sum(axis=1), 1.0, atol=1e-9)


def test_hamiltonian_form_refuses_shells_by_name():
    with pytest.raises(femb.ModelError, match=r"shells\.p bends"):
        femb.simulate(
            of_parts(hub(), panel(frame="hub", attach={"edge4": "hub"})),
            duration=0.1,
            formulation="hamiltonian",
            method="rk",
        )


@pytest.mark.slow
def test_meshes_and_pictures(tmp_path):
    """Surfaces with resultants at the nodes, in every scene; pictures show both sides."""
    dish = femb.Shell(
        "d", (3, 6), surface={"paraboloid": [0.8, 1.0, 0.0]}, thickness=H, material=material(E, NU, RHO),
        attach={"edge2": "ground"},
    )  # fmt: skip
    results = femb.static(of_parts(dish, gravity=(0.0, 0.0, -10.0)))
    femb.export_vtu(results, tmp_path)
    mesh = meshio.read(sorted(tmp_path.glob("lines_*.vtu"))[-1])
    assert sum(len(block.data) for block in mesh.cells if block.type == "quad") == 12
    assert sum(len(block.data) for block in mesh.cells if block.type == "triangle") == 6
    assert {"membrane_force", "bending_moment", "shear_force"} <= set(mesh.point_data)
    assert np.nanmax(np.abs(mesh.point_data["membrane_force"])) > 0.0
    femb.picture(results, tmp_path / "dish.png", times=1)
    assert (tmp_path / "dish.png").stat().st_size > 5000


WORDS = {"elements": (2, 2), "corners": CORNERS, "thickness": H, "material": material(E, NU)}


test_bad_input_is_named = refusals(
    lambda words: femb.Shell("p", **WORDS | words), ({"corners": [CORNERS[k] for k in (0, 2, 1, 3)]}, "wrong order"),
    ({"corners": [CORNERS[k] for k in (0, 1, 1, 3)]}, "collapsed"), ({"elements": (2, 0.5)}, "two whole numbers"),
    ({"surface": {"disc": [1.0, 0.0]}}, "wanted one of corners, surface and mesh"),
    ({"corners": None, "surface": {"dish": [1.0]}}, "wanted one of"),
    ({"corners": None, "surface": {"disc": [1.0, 2.0]}}, "inner radius must be less"),
    ({"corners": None, "surface": {"cylinder": [np.nan, 1.0, 1.0]}}, "cylinder wants radius, length, angle"),
    ({"corners": None, "surface": {"cylinder": [1.0, np.inf, 1.0]}}, "cylinder wants radius, length, angle"),
    ({"material": None}, "the wall needs it"), ({"thickness": None}, "no wall"),
    ({"material": "cheese"}, "must be one of"), ({"material": 7}, "wanted the name of a material"),
    ({"direction": (0.0, 0.0, 1.0)}, "along the normal"), ({"attach": {"edge5": "hub"}}, "edge4"),
    ({"attach": {"edge1": "hub", "edge2": "yoke"}}, "another host"),
    ({"attach": {"edge1": 3}}, "wanted the name of a body"), ({"points": {"a": [0.6, 0.0, 0.0]}}, "the nearest"),
    ({"points": {"a": 4, "b": 4}}, "one name"), ({"points": {"a": 0}, "attach": {"edge4": "hub"}}, "name the host"),
    ({"damping": -1.0}, "at least 0"),
    ({"offset": 1e9}, "offset: .*the stiffness of the wall is not positive definite"),
    ({"thickness": None, "material": None, "stiffness_matrix": np.eye(6)}, "shear_stiffness: is missing"),
    (
        {
            "thickness": None, "material": None, "stiffness_matrix": np.diag([1, 1, 1, 1, 1, -1.0]),
            "shear_stiffness": np.eye(2), "mass_per_area": 1.0,
        }, "not positive definite",
    ),
)  # fmt: skip


def test_thickness_in_millimetres_warns():
    with pytest.warns(femb.FembWarning, match="millimetres"):
        femb.Shell("p", **(WORDS | {"thickness": 20.0}))


def test_torques_about_the_normal_of_a_curved_shell_are_said():
    """On one node, where drilling is weak; bending moments, and torques on flat panels, are not said."""
    surfaces = {"surface": {"cylinder": [1.0, 1.0, 1.0]}}, {"corners": CORNERS}
    for surface, torque, said in ((0, (0.0, 0.1, 1.0), True), (0, (1.0, 0.0, 0.0), False), (1, (0.0, 0.0, 1.0), False)):
        words = {"thickness": H, "material": material(E, NU, RHO), "attach": {"edge4": "ground"}}
        shell = femb.Shell("p", (2, 2), points={"tip": 4}, **surfaces[surface], **words)
        model = of_parts(shell, femb.Load("twist", body="p.tip", torque=torque))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            System(model)
        assert any("weak drilling resists" in str(each.message) for each in caught) is said


@pytest.mark.parametrize(
    ("spin", "heat", "said"),
    [(3.0, 0.0, r"shell 'p' turns at 3 rad/s"), (0.0, 5.0, r"load 'sun' heats its shell"), (0.1, 0.0, None)],
)
def test_modes_as_given_say_which_stresses_they_leave_out(spin, heat, said):
    """Of the spin of a soft panel, and of heat; not of a slow turn."""
    rod = femb.RigidBody("rod", mass=1.0, inertia=1.0, angular_velocity=(0.0, 0.0, spin))
    warm = femb.Material(E, E / 2.0 / (1.0 + NU), RHO, expansion=1e-5)
    panel = femb.Shell("p", (2, 2), CORNERS, thickness=1e-3, material=warm, attach={"edge4": "rod"})
    model = of_parts(rod, panel, femb.SurfaceLoad("sun", shell="p", temperature=heat, profile=lambda t: heat))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = femb.modes(model, 2)
    assert 0.1 < 0.1 * 2.0 * np.pi * found.frequencies[0] < 3.0
    texts = [str(each.message) for each in caught]
    assert [bool(re.search(rf'{said}.*take start = "equilibrium"', text)) for text in texts] == [True] * bool(said)


@pytest.mark.slow
@pytest.mark.parametrize("spectral_radius", [0.9, 0.5])
def test_large_steps_of_a_panel_that_is_driven_suddenly(spectral_radius):
    """A light hub with a thin panel is turned by some 50 degrees in 25 steps: as with error control, within 4e-4 of the
    path of 1.8 m."""
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=5.0, inertia=2.0))
    metal, corners = femb.Material(7e10, 7e10 / 2.6, 2700.0), [[0, 0, 0], [2, 0, 0], [2, 0.5, 0], [0, 0.5, 0]]
    model.add(femb.Shell("panel", (8, 3), corners, thickness=4e-3, material=metal, attach={"edge4": "hub"}))
    model.add(femb.Load("turn", body="hub", torque=[0.0, 600.0, 0.0]))
    words = {"duration": 0.25, "output_interval": 0.05, "method": "generalized-alpha"}
    found = femb.simulate(model, step=0.01, spectral_radius=spectral_radius, **words).shells["panel"].position
    wanted = femb.simulate(model, rtol=1e-3, **words).shells["panel"].position
    path = np.abs(wanted - wanted[0]).max()
    assert path > 1.8
    assert np.abs(found - wanted).max() < 4e-4 * path
