"""Tables of shells (docs/theory/shell.md): linear benchmarks, large rotations and modes, to the digits there."""

from dataclasses import replace

import numpy as np
import pytest
from models import of_parts
from oracles.alone import Alone
from oracles.shell import Supported, material, shell_on, triangulated
from scipy.linalg import eigh

import femb
from femb.elements.shell.mesh import ShellMesh, cylinder, grid, paraboloid, quadrilateral, sphere, surface_problem
from femb.elements.shell.stiffness import areas, shape_weights

# components held at a plane of symmetry across node axis x or y, beside one of the displacement
ACROSS_X, ACROSS_Y = [4, 5], [3, 5]


def held(mesh, *rules):
    """(n, 6) bool by pairs of nodes and components."""
    fixed = np.zeros((len(mesh.nodes), 6), dtype=bool)
    for nodes, components in rules:
        fixed[np.ix_(nodes, components)] = True
    return fixed


def roof(n, kind="quads", cut=0):
    """Scordelis-Lo: free edge under weight; diaphragm at x = 0, symmetry at x = 25 and y = 0."""

    def at(r, s):
        turn = np.deg2rad(40.0) * s
        normal = np.stack([np.zeros_like(s), np.sin(turn), np.cos(turn)], axis=1)
        return np.column_stack([25.0 * r, 25.0 * normal[:, 1:]]), normal

    mesh = grid(at, n, n)
    sets = mesh.sets
    fixed = held(mesh, (sets["edge4"], [1, 2]), (sets["edge2"], [0, *ACROSS_X]), (sets["edge1"], [1, *ACROSS_Y]))
    mesh = triangulated(mesh, cut) if kind == "triangles" else mesh
    shell = shell_on(mesh, thickness=0.25, material=material(4.32e8, 0.0, 90.0 / 0.25))
    one = Supported(shell, fixed, gravity=(0.0, 0.0, -1.0))
    return -one.linear(-one.force(one.system.q0))[sets["corner3"][0], 2] / 0.3024


def pinched(n, kind="quads", cut=0):
    """Pinched cylinder with diaphragms, an eighth of it."""

    def at(r, s):
        turn = 0.5 * np.pi * s
        normal = np.stack([np.zeros_like(s), np.sin(turn), np.cos(turn)], axis=1)
        return np.column_stack([300.0 * r, 300.0 * normal[:, 1:]]), normal

    mesh = grid(at, n, n)
    sets = mesh.sets
    fixed = held(
        mesh, (sets["edge4"], [1, 2]), (sets["edge2"], [0, *ACROSS_X]), (sets["edge1"], [1, *ACROSS_Y]),
        (sets["edge3"], [2, *ACROSS_Y]),
    )  # fmt: skip
    mesh = triangulated(mesh, cut) if kind == "triangles" else mesh
    one = Supported(shell_on(mesh, thickness=3.0, material=material(3e6, 0.3)), fixed)
    forces = np.zeros((len(mesh.nodes), 6))
    forces[sets["corner2"], 2] = -0.25
    return -one.linear(one.loads(forces))[sets["corner2"][0], 2] / 1.8248e-5


def hemisphere(n, kind="quads"):
    """A quarter of the pinched hemisphere with a hole of 18 degrees, and its two loads of 1."""

    def at(r, s):
        azimuth, height = 0.5 * np.pi * r, np.deg2rad(72.0) * s
        normal = np.stack([np.cos(height) * np.cos(azimuth), np.cos(height) * np.sin(azimuth), np.sin(height)], axis=1)
        return 10.0 * normal, normal

    mesh = grid(at, n, n)
    sets = mesh.sets
    fixed = held(mesh, (sets["edge4"], [1, *ACROSS_Y]), (sets["edge2"], [0, *ACROSS_Y]), (sets["corner1"], [2]))
    loads = np.zeros((len(mesh.nodes), 6))
    loads[sets["corner1"], 0], loads[sets["corner2"], 1] = 1.0, -1.0
    mesh = triangulated(mesh) if kind == "triangles" else mesh
    words = {"thickness": 0.04, "material": material(6.825e7, 0.3), "direction": (0.0, 0.0, 1.0)}
    return Supported(shell_on(mesh, **words), fixed), loads, sets


def pinched_hemisphere(n, kind="quads"):
    one, loads, sets = hemisphere(n, kind)
    return one.linear(one.loads(loads))[sets["corner1"][0], 0] / 0.0935


def twisted(n, m, axis, kind="quads"):
    """Beam twisted by 90 degrees, force across at its tip, out of and in the plane of the tip."""

    def at(r, s):
        turn, y = 0.5 * np.pi * r, 1.1 * (s - 0.5)
        x = np.stack([12.0 * r, y * np.cos(turn), y * np.sin(turn)], axis=1)
        along = np.stack([np.full_like(r, 12.0), -y * np.sin(turn) * np.pi / 2, y * np.cos(turn) * np.pi / 2], axis=1)
        normal = np.cross(along, np.stack([np.zeros_like(r), np.cos(turn), np.sin(turn)], axis=1))
        return x, normal / np.linalg.norm(normal, axis=1)[:, None]

    mesh = grid(at, n, m)
    sets = mesh.sets
    fixed = held(mesh, (sets["edge4"], range(6)))
    loads = np.zeros((len(mesh.nodes), 6))
    loads[sets["edge2"], axis] = 1.0 / m
    loads[sets["edge2"][[0, -1]], axis] *= 0.5
    mesh = triangulated(mesh) if kind == "triangles" else mesh
    one = Supported(shell_on(mesh, thickness=0.32, material=material(29e6, 0.22)), fixed)
    # at the tip the plate is along z, so that y is out of its plane
    reference = {1: 0.001754, 2: 0.005424}[axis]
    return one.linear(one.loads(loads))[sets["edge2"][m // 2], axis] / reference


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        (lambda: [roof(n) for n in (4, 8)], [1.053, 1.007]),
        (lambda: [roof(n, "triangles", cut) for n in (4, 8) for cut in (0, 1)], [0.756, 0.685, 0.887, 0.867]),
        (lambda: [pinched(n) for n in (4, 8)], [0.395, 0.763]),
        (lambda: [pinched(n, "triangles") for n in (4, 8)], [0.462, 0.851]),
        (lambda: [pinched_hemisphere(n) for n in (4, 8)], [1.037, 1.004]),
        (lambda: [pinched_hemisphere(n, "triangles") for n in (4, 8)], [1.061, 1.027]),
        (lambda: [twisted(12, 2, axis) for axis in (2, 1)], [0.996, 0.988]),
        (lambda: [twisted(12, 2, axis, "triangles") for axis in (2, 1)], [0.981, 0.834]),
    ],
    ids=["roof", "roof triangles", "cylinder", "cylinder triangles", "hemisphere", "hemisphere triangles", "twisted",
         "twisted triangles"],
)  # fmt: skip
def test_linear_benchmarks(case, wanted):
    np.testing.assert_allclose(case(), wanted, rtol=0.0, atol=1e-3)


@pytest.mark.slow
def test_linear_benchmarks_on_fine_meshes():
    np.testing.assert_allclose(
        [roof(16), pinched(16), pinched(32), pinched_hemisphere(16)], [0.998, 0.938, 0.992, 0.998], rtol=0, atol=1e-3
    )
    np.testing.assert_allclose([twisted(24, 4, axis) for axis in (2, 1)], [0.998, 0.996], rtol=0, atol=1e-3)


def straight(shift, drilling="weak", kind="quads", component=1, cut=0):
    """Beam of MacNeal and Harder, 6 x 0.2 x 0.1, of six elements, under a unit load at its tip; shift : of the nodes
    on both sides, (5,) and (5,). component : of displacements, or 3, the twist by a couple: the difference of the
    deflections by the width. cut : the corner from which triangles are cut."""
    lines = np.tile(np.arange(7.0), (2, 1))
    lines[:, 1:-1] += shift
    nodes = np.column_stack([lines.ravel(), np.repeat([0.0, 0.2], 7), np.zeros(14)])
    quads = np.array([[k, k + 1, k + 8, k + 7] for k in range(6)])
    mesh = ShellMesh(nodes, np.tile([0.0, 0.0, 1.0], (14, 1)), quads, np.zeros((0, 3), dtype=np.int64), {})
    mesh = triangulated(mesh, cut) if kind == "triangles" else mesh
    one = Supported(
        shell_on(mesh, thickness=0.1, material=material(1e7, 0.3), drilling=drilling), held(mesh, ([0, 7], range(6)))
    )
    loads, tip = np.zeros((14, 6)), [6, 13]
    loads[tip, min(component, 2)] = (-5.0, 5.0) if component == 3 else 0.5
    found = one.linear(one.loads(loads))[tip]
    if component == 3:
        return (found[1, 2] - found[0, 2]) / 0.2 / 0.03208
    return found[:, component].mean() / (3e-5, 0.1081, 0.4321)[component]


TURNS = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
TRAPEZOIDS, PARALLELOGRAMS = 0.1 * np.stack([TURNS, -TURNS]), 0.1 * np.outer([-1.0, 1.0], np.ones(5))


def test_beam_in_its_plane():
    """Rectangles, with both drillings; trapezoids and triangles are far too stiff, as the page says."""
    found = [straight(0.0), straight(0.0, "stiff"), straight(TRAPEZOIDS), straight(0.0, kind="triangles")]
    np.testing.assert_allclose(found, [0.981, 0.991, 0.051, 0.03], atol=6e-3)


@pytest.mark.slow
def test_beam_by_all_loads_and_a_curved_one():
    """Pull, bending out of the plane and twist; parallelograms; a quarter of a circle, in and out of its plane."""
    found = [straight(0.0, component=k) for k in (0, 2, 3)]
    found += [straight(shift, component=k) for shift, k in ((TRAPEZOIDS, 2), (PARALLELOGRAMS, 1), (PARALLELOGRAMS, 2))]
    np.testing.assert_allclose(found, [0.996, 0.981, 0.946, 0.974, 0.625, 0.986], atol=1e-3)
    found = [curved(component) / reference for component, reference in ((0, 0.08734), (2, 0.5022))]
    np.testing.assert_allclose(found, [0.877, 0.950], atol=1e-3)


@pytest.mark.slow
def test_beam_of_triangles_by_all_loads():
    """Pull and bending out of the plane are right, the twist of a strip that one triangle spans is too soft; in the
    plane, straight, distorted and curved beams lock."""
    found = [straight(0.0, kind="triangles", component=k) for k in (0, 2, 3)]
    found += [straight(shift, kind="triangles", component=2) for shift in (TRAPEZOIDS, PARALLELOGRAMS)]
    found += [curved(2, "triangles", cut) / 0.5022 for cut in (0, 1)]
    np.testing.assert_allclose(found, [0.992, 0.976, 1.176, 0.967, 0.957, 0.991, 0.995], atol=1e-3)
    found = [straight(shift, kind="triangles") for shift in (0.0, TRAPEZOIDS, PARALLELOGRAMS)]
    np.testing.assert_allclose([*found, curved(0, "triangles") / 0.08734], [0.03, 0.02, 0.01, 0.02], atol=6e-3)


def curved(component, kind="quads", cut=0):
    """The displacement at the tip of a quarter of a circle of MacNeal and Harder, six elements, under a unit load."""

    def at(r, s):
        turn, radius = 0.5 * np.pi * (1.0 - r), 4.12 + 0.2 * s
        x = np.column_stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros_like(r)])
        return x, np.tile([0.0, 0.0, 1.0], (len(r), 1))

    mesh = grid(at, 6, 1)
    mesh = triangulated(mesh, cut) if kind == "triangles" else mesh
    shell = shell_on(mesh, thickness=0.1, material=material(1e7, 0.25), drilling="weak")
    one, tip = Supported(shell, held(mesh, (mesh.sets["edge4"], range(6)))), mesh.sets["edge2"]
    loads = np.zeros((14, 6))
    loads[tip, component] = 0.5
    return one.linear(one.loads(loads))[tip, component].mean()


MORLEY = [[0, 0, 0], [1, 0, 0], [1 + np.sqrt(0.75), 0.5, 0], [np.sqrt(0.75), 0.5, 0]]


def plate(n, corners, clamped, point, kind="quads", h=1e-3, offset=0.0):
    """The deflection of the middle of n x n, times D, under a force there or a uniform load."""
    mesh = quadrilateral(np.array(corners, dtype=float), n, n)
    edges = np.unique(np.concatenate([mesh.sets[f"edge{k}"] for k in range(1, 5)]))
    rules = [(edges, range(6) if clamped else [2]), (mesh.sets["corner1"], [0, 1, 5]), (mesh.sets["corner2"], [1])]
    loads, middle = np.zeros((len(mesh.nodes), 6)), (n + 1) * (n // 2) + n // 2
    if point:
        loads[middle, 2] = 1.0
    else:
        np.add.at(loads[:, 2], mesh.quads.ravel(), shape_weights(mesh.nodes[mesh.quads]).sum(axis=2).ravel())
    mesh = triangulated(mesh) if kind == "triangles" else mesh
    shell = shell_on(mesh, thickness=h, material=material(1e9, 0.3), offset=offset)
    one = Supported(shell, held(mesh, *rules))
    return one.linear(one.loads(loads))[middle, 2] * 1e9 * h**3 / 12.0 / 0.91


SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
PLATES = {
    "clamped, point": ((SQUARE, True, True), 0.005612, [0.883, 0.970], [1.021, 1.007]),
    "clamped, uniform": ((SQUARE, True, False), 0.00126532, [0.980, 0.994], [1.029, 1.006]),
    "simple, point": ((SQUARE, False, True), 0.0116008, [1.007, 0.999], [1.053, 1.021]),
    "simple, uniform": ((SQUARE, False, False), 0.00406235, [0.989, 0.998], [0.964, 1.001]),
    "Morley": ((MORLEY, False, False), 4.08e-4, [0.947, 0.957], [1.545, 1.105]),
}


@pytest.mark.parametrize("name", PLATES)
def test_deflections_of_plates(name):
    """Of 4 x 4 and 8 x 8: squares of L/h 1000 under a force in the middle and a uniform load, and Morley's plate."""
    words, reference, quads, triangles = PLATES[name]
    h = 1e-2 if name == "Morley" else 1e-3
    for kind, wanted in (("quads", quads), ("triangles", triangles)):
        found = [plate(n, *words, kind, h) / reference for n in (4, 8)]
        np.testing.assert_allclose(found, wanted, atol=2.5e-3 if kind == "quads" else 1e-3)


@pytest.mark.slow
def test_triangles_of_thick_plates_and_of_walls_beside_their_nodes():
    """Clamped plates of L/h 5 and 10, which shear deflects most, bend as those of quadrilaterals; a wall beside its
    nodes by its thickness bends as one on them."""
    for h in (0.1, 0.2):
        found = [plate(8, SQUARE, True, False, kind, h) for kind in ("quads", "triangles")]
        np.testing.assert_allclose(found[1], found[0], rtol=7e-3)
    for kind, limit in (("quads", 1.5e-3), ("triangles", 3e-3)):
        on, beside = (plate(8, SQUARE, False, False, kind, 1e-2, offset) for offset in (0.0, 1e-2))
        np.testing.assert_allclose(beside, on, rtol=limit)


@pytest.mark.slow
@pytest.mark.parametrize(("thickness", "limit"), [(0.0127, 2217.0), (0.00635, 610.0)])
def test_hinged_roof_snaps_along_its_arc_length(thickness, limit):
    """The whole roof of Sze, Liu and Lo on two lines of hinges, 8 x 8: its limit load, the fall, and the way up."""
    model, top = femb.Model("roof"), 40
    shell = femb.Shell(
        "roof", (8, 8), surface={"cylinder": [2.54, 0.508, 0.2]}, thickness=thickness, points={"top": top},
        material=femb.Material(3.10275e9, 3.10275e9 / 2.6, 1000.0),
    )  # fmt: skip
    model.add(shell)
    for edge in ("edge1", "edge3"):
        model.add(femb.HingeLine(edge, {"body": "ground"}, {"shell": "roof", "edge": edge}))
    model.add(femb.Load("push", body="roof.top", force=(0.0, 0.0, -1.0)))
    steps = 16 if thickness > 0.01 else 20
    first = femb.static(model, factor=3000.0, steps=steps, arc_length=True, critical=1).critical_load_factors[0]
    found = femb.static(model, factor=3000.0, steps=steps, arc_length=True)
    load, down = found.load_factor, -found.bodies["roof.top"].displacement[:, 2]
    peak = int(np.argmax(load[down < 0.016]))
    if thickness > 0.01:
        np.testing.assert_allclose(first, limit, rtol=3e-3)
    else:  # a bifurcation comes before the limit load, the same by other steps
        np.testing.assert_allclose(load[peak], limit, rtol=3e-3)
        finer = femb.static(model, factor=3000.0, steps=40, arc_length=True, critical=1).critical_load_factors[0]
        assert first < 0.95 * limit
        assert first == pytest.approx(finer, rel=1e-6)
    assert load[peak:].min() < (600.0 if thickness > 0.01 else -300.0)
    assert load[-1] == pytest.approx(3000.0)
    assert down[-1] > 0.028


@pytest.mark.slow
def test_laminated_roof_passes_its_limit_point():
    """The roof of plies 90/0/90, two of whose eigenvalues change their sign past the limit load: long steps of the
    load miss neither. The limit load is that of short steps."""
    lamina = {"youngs_moduli": (3.3e9, 1.1e9), "shear_modulus": 0.66e9, "poissons_ratio": 0.25, "density": 1000.0}
    lamina["transverse_shear"] = (0.66e9, 0.66e9)
    plies = [femb.Ply(0.0127 / 3.0, np.radians(angle), **lamina) for angle in (90, 0, 90)]
    surface = {"cylinder": [2.54, 0.508, 0.2]}
    model = femb.Model("roof")
    model.add(femb.Shell("roof", (8, 8), surface=surface, direction=(1, 0, 0), plies=plies, points={"top": 40}))
    for edge in ("edge1", "edge3"):
        model.add(femb.HingeLine(edge, {"body": "ground"}, {"shell": "roof", "edge": edge}))
    model.add(femb.Load("push", body="roof.top", force=(0.0, 0.0, -1.0)))
    found = femb.static(model, factor=3000.0, arc_length=True)
    assert found.negative_eigenvalues.max() == 2
    falling = np.flatnonzero(np.diff(found.load_factor) < 0.0)
    assert found.negative_eigenvalues[falling + 1].min() == 1
    assert found.stability[-1] == "stable"
    first = femb.static(model, factor=3000.0, arc_length=True, critical=1)
    np.testing.assert_allclose(first.critical_load_factors, 1758.7, rtol=1e-4)


def cantilever(n, length=10.0, drilling=None):
    mesh = quadrilateral(np.array([[0.0, 0, 0], [length, 0, 0], [length, 1, 0], [0, 1, 0]]), n, 1)
    shell = shell_on(mesh, thickness=0.1, material=material(1.2e6, 0.0), drilling=drilling)
    return Supported(shell, held(mesh, (mesh.sets["edge4"], range(6)))), mesh.sets["edge2"]


def end_shear(n, wanted):
    """Check the displacements of n elements, and the iterations of one step."""
    one, tip = cantilever(n)
    loads = np.zeros((len(one.places), 6))
    loads[tip, 2] = 2.0
    q, count = one.equilibrium(one.loads(loads))
    x = one.displacements(q)[tip[0]]
    np.testing.assert_allclose([-x[0], x[2]], wanted, atol=1e-3)
    assert count <= 9


def test_end_shear_in_one_step():
    """Displacements and iterations of 4 and 8 elements."""
    for n, wanted in ((4, [3.346, 6.775]), (8, [3.303, 6.718])):
        end_shear(n, wanted)


def roll_up(n, wanted):
    """Check the displacements of n elements that a moment bends to a circle, and the iterations of ten steps."""
    one, tip = cantilever(n, 12.0)
    loads = np.zeros((len(one.places), 6))
    loads[tip, 4] = -0.5 * 50.0 * np.pi / 3.0
    q, counts = None, []
    for step in range(1, 11):
        q, count = one.equilibrium(one.loads(step / 10.0 * loads), q, limit=0.3)
        counts.append(count)
    x = one.displacements(q)[tip[0]]
    np.testing.assert_allclose([-x[0], x[2]], wanted, atol=2e-3)
    assert max(counts) <= 8


def test_roll_up_in_steps():
    """Displacements and iterations of 16 elements."""
    roll_up(16, [11.671, 0.029])


def test_hemisphere_in_one_step():
    one, loads, sets = hemisphere(8)
    q, count = one.equilibrium(one.loads(200.0 * loads))
    x = one.displacements(q)
    np.testing.assert_allclose([x[sets["corner1"][0], 0], -x[sets["corner2"][0], 1]], [4.035, 8.502], atol=2e-3)
    assert count <= 10


def annulus(n, m):
    """The slit annulus, lifted at one end of the slit by 0.8 per length."""

    def at(r, s):
        rho, turn = 6.0 + 4.0 * r, 2.0 * np.pi * s
        x = np.stack([rho * np.cos(turn), rho * np.sin(turn), np.zeros_like(r)], axis=1)
        return x, np.tile([0.0, 0.0, 1.0], (len(r), 1))

    mesh = grid(at, n, m)
    words = {"thickness": 0.03, "material": material(21e6, 0.0), "drilling": "weak"}
    one = Supported(shell_on(mesh, **words), held(mesh, (mesh.sets["edge1"], range(6))))
    loads = np.zeros((len(mesh.nodes), 6))
    lifted = mesh.sets["edge3"]
    loads[lifted, 2] = 0.8 * 4.0 / n
    loads[lifted[[0, -1]], 2] *= 0.5
    return one, one.loads(loads), mesh.sets


@pytest.mark.slow
def test_slit_annulus():
    """In one step of 6 x 30, and in ten of 4 x 24."""
    one, f, sets = annulus(6, 30)
    q, count = one.equilibrium(f)
    x = one.displacements(q)
    np.testing.assert_allclose([x[sets["corner4"][0], 2], x[sets["corner3"][0], 2]], [13.562, 17.203], atol=1e-3)
    assert count <= 11
    one, f, sets = annulus(4, 24)
    q, counts = None, []
    for step in range(1, 11):
        q, count = one.equilibrium(0.1 * step * f, q)
        counts.append(count)
    x = one.displacements(q)
    np.testing.assert_allclose([x[sets["corner4"][0], 2], x[sets["corner3"][0], 2]], [13.379, 17.022], atol=1e-3)
    assert max(counts) <= 6


@pytest.mark.slow
def test_large_rotations_on_fine_meshes():
    """End shear of 16 and 32, roll-up of 32 and 64, hemisphere of 16 and 24, slit annulus of 10 x 80, triangles."""
    for n, wanted in ((16, [3.293, 6.705]), (32, [3.291, 6.701])):
        end_shear(n, wanted)
    for n, wanted in ((32, [11.916, 0.002]), (64, [11.975, 0.0])):
        roll_up(n, wanted)
    for n, kind, wanted in ((16, "quads", [4.080, 8.264]), (24, "quads", [4.076, 8.198]),
                            (16, "triangles", [4.039, 8.004])):  # fmt: skip
        one, loads, sets = hemisphere(n, kind)
        q, count = one.equilibrium(one.loads(200.0 * loads))
        x = one.displacements(q)
        found = [x[sets["corner1"][0], 0], -x[sets["corner2"][0], 1]]
        np.testing.assert_allclose(found, wanted, atol=2e-3)
        assert count <= 10
    one, f, sets = annulus(10, 80)
    q = None
    for step in range(1, 11):
        q, count = one.equilibrium(0.1 * step * f, q)
        assert count <= 6
    x = one.displacements(q)
    np.testing.assert_allclose([x[sets["corner4"][0], 2], x[sets["corner3"][0], 2]], [13.776, 17.415], atol=1e-3)


def quarter_of_a_tube(radius, length, n, m):
    """From the top to the side, with the axis along x, and its sets."""

    def at(r, s):
        turn = 0.5 * np.pi * s
        normal = np.stack([np.zeros_like(s), np.sin(turn), np.cos(turn)], axis=1)
        return np.column_stack([length * r, radius * normal[:, 1:]]), normal

    mesh = grid(at, n, m)
    return mesh, mesh.sets


@pytest.mark.slow
def test_pull_out_of_a_tube():
    """An eighth of the tube of Sze, Liu and Lo, pulled through its snap in ten steps of the load."""
    mesh, sets = quarter_of_a_tube(4.953, 5.175, 24, 36)
    planes = (sets["edge4"], [0, *ACROSS_X]), (sets["edge1"], [1, *ACROSS_Y]), (sets["edge3"], [2, *ACROSS_Y])
    one = Supported(shell_on(mesh, thickness=0.094, material=material(10.5e6, 0.3125)), held(mesh, *planes))
    loads = np.zeros((len(mesh.nodes), 6))
    loads[sets["corner1"], 2] = 1e4
    q, counts = None, []
    for step in range(1, 11):
        q, count = one.equilibrium(one.loads(step / 10.0 * loads), q)
        counts.append(count)
    x = one.displacements(q)
    found = [x[sets["corner1"][0], 2], -x[sets["corner4"][0], 1], -x[sets["corner3"][0], 1]]
    np.testing.assert_allclose(found, [2.750, 4.575, 3.267], atol=1e-3)
    assert sorted(counts)[-2] <= 6
    assert max(counts) <= 12


LAMINA = {
    "youngs_moduli": (2.0685e7, 0.51713e7), "shear_modulus": 0.7956e7, "poissons_ratio": 0.3, "density": 1.0,
    "transverse_shear": (0.7956e7, 0.7956e7),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("angles", "places", "wanted", "most"),
    [
        ((), [0.161, 0.376, 0.664, 1.137, 1.327, 1.529, 1.715], [0.101, 0.203, 0.300, 0.400, 0.495, 0.687, 0.971], 22),
        ((0, 90, 0), [0.153, 0.379, 0.934, 1.416, 1.629], [0.0505, 0.1007, 0.1513, 0.1981, 0.2868], 7),
        ((90, 0, 90), [0.0756, 0.227, 0.379, 0.545, 1.024], [0.0510, 0.1006, 0.1512, 0.2004, 0.3008], 7),
    ],
    ids=["isotropic", "0/90/0", "90/0/90"],
)
def test_semi_cylinder_in_steps_of_displacement(angles, places, wanted, most):
    """Loads of the half cylinder of Sze, Liu and Lo, clamped at one end and pressed in at the other, 20 x 20."""
    mesh, sets = quarter_of_a_tube(1.016, 3.048, 20, 20)
    plies = [femb.Ply(0.01, np.radians(angle), **LAMINA) for angle in angles]
    wall = {"plies": plies} if plies else {"thickness": 0.03, "material": material(2.0685e7, 0.3)}
    rules = (sets["edge4"], range(6)), (sets["edge1"], [1, *ACROSS_Y]), (sets["edge3"], [2, *ACROSS_Y])
    one = Supported(shell_on(mesh, **wall), held(mesh, *rules))
    loads = np.zeros((len(mesh.nodes), 6))
    loads[sets["corner2"], 2] = -1000.0
    steps, start = [], 0.0
    for place in places:
        count = int(np.ceil((place - start) / 0.07))
        steps += [(start + (place - start) * k / count, k == count) for k in range(1, count + 1)]
        start = place
    found, counts = one.pushed(one.loads(loads), int(sets["corner2"][0]), 2, [-w for w, _ in steps])
    at = np.array([last for _, last in steps])
    np.testing.assert_allclose(found[at], wanted, rtol=4e-3)
    assert max(counts) <= most


def square(n, **words):
    model = femb.Model("plate")
    corners = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    model.add(femb.Shell("p", (n, n), corners=corners, thickness=1e-3, material=material(1e9, 0.3, 1000.0), **words))
    return model


def frequencies(model, count, rigid=0):
    """omega a^2 sqrt(rho h / D)."""
    found = femb.modes(model, count=count + rigid).frequencies[rigid:]
    D = 1e9 * 1e-9 / (12.0 * (1.0 - 0.09))
    return 2.0 * np.pi * np.asarray(found) * np.sqrt(1000.0 * 1e-3 / D)


@pytest.mark.parametrize(
    ("attached", "count", "wanted"),
    [
        (("edge1", "edge2", "edge3", "edge4"), 4, [37.40, 81.83, 81.83, 120.4]),
        (("edge4",), 5, [3.480, 8.545, 22.06, 27.85, 31.90]),
    ],
)
def test_frequencies_of_plates(attached, count, wanted):
    found = frequencies(square(8, attach=dict.fromkeys(attached, "ground")), count)
    np.testing.assert_allclose(found, wanted, rtol=2e-3)


def test_caps_of_spheres():
    """All nodes are on the sphere with normals to its centre, and the area is that of a cap; a hemisphere too."""
    for outer, inner in ((0.6, 0.2), (1.0, 0.0)):
        mesh, centre = sphere(1.0, outer, inner, 16, 64), np.array([0.0, 0.0, 1.0])
        np.testing.assert_allclose(mesh.nodes + mesh.normals, centre + 0.0 * mesh.nodes, atol=1e-14)
        assert not mesh.problem()
        area = 2.0 * np.pi * (np.sqrt(1.0 - inner**2) - np.sqrt(1.0 - outer**2))
        np.testing.assert_allclose(sum(areas(mesh.nodes[cells]).sum() for cells in mesh.cells), area, rtol=3e-3)
    assert "at most that of the sphere" in surface_problem({"sphere": [1.0, 1.1, 0.0]})


def test_surfaces():
    """Areas of a cylinder, a dish and a disc approach those of the surface."""
    tape = cylinder(0.5, 2.0, 1.0, 4, 16)
    dish, disc = paraboloid(0.5, 1.0, 0.0, 8, 32), paraboloid(np.inf, 1.0, 0.25, 8, 32)
    areas = [2.0 * 0.5, np.pi / 6.0 * (2.0**1.5 - 1.0) * 4.0 * 0.25 * 1.0, np.pi * (1.0 - 0.0625)]
    areas[1] = 8.0 * np.pi / 3.0 * 0.25 * ((1.0 + 1.0) ** 1.5 - 1.0)
    for mesh, wanted in zip((tape, dish, disc), areas, strict=True):
        total = 0.0
        for cells in mesh.cells:
            x = mesh.nodes[cells]
            for k in range(2, x.shape[1]):
                total += 0.5 * np.linalg.norm(np.cross(x[:, k - 1] - x[:, 0], x[:, k] - x[:, 0]), axis=1).sum()
        np.testing.assert_allclose(total, wanted, rtol=1e-2)
        assert mesh.problem() == ""
        for cells in mesh.cells:
            x = mesh.nodes[cells]
            normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
            assert np.all(np.sum(normal[:, None] * mesh.normals[cells], axis=2) > 0.0)


def simply_supported(n, m, length, clamped=False, **words):
    """A plate of the width 1 on hard supports, which also hold the rotation about the normal of an edge."""
    mesh = quadrilateral(np.array([[0.0, 0, 0], [length, 0, 0], [length, 1, 0], [0, 1, 0]]), n, m)
    fixed = np.zeros((len(mesh.nodes), 6), dtype=bool)
    for edge, about in (("edge1", 4), ("edge2", 3), ("edge3", 4), ("edge4", 3)):
        fixed[np.ix_(mesh.sets[edge], [2, 3, 4] if clamped else [2, about])] = True
    return mesh, Supported(shell_on(mesh, **words), fixed)


def bending(one, matrix):
    """The part of a matrix that belongs to the free deflections and rotations out of the plane."""
    out = one.places[:, 2:5].ravel()
    out = out[one.free[out]]
    return matrix.tocsc()[np.ix_(out, out)].toarray()


def buckling(n, length, forces, clamped=False):
    """The lowest N b^2 / (pi^2 D) under a field of membrane forces N times forces (11, 22, 12)."""
    E, nu, h = 1e9, 0.3, 1e-3
    mesh, one = simply_supported(round(n * length), n, length, clamped, thickness=h, material=material(E, nu))
    A = E * h / (1.0 - nu**2) * np.array([[1.0, nu, 0.0], [nu, 1.0, 0.0], [0.0, 0.0, 0.5 * (1.0 - nu)]])
    e1, e2, e12 = np.linalg.solve(A, np.asarray(forces, dtype=float))
    x, y = mesh.nodes[:, 0], mesh.nodes[:, 1]
    v, q = np.zeros(one.system.n_v), one.system.q0
    v[one.places[:, 0]], v[one.places[:, 1]] = e1 * x + 0.5 * e12 * y, e2 * y + 0.5 * e12 * x
    stressed = one.stiffness(q, one.batch.strained(q, one.batch.own_strains(np.zeros(0), q, v)))
    K = one.stiffness(q)
    values = eigh(bending(one, K - stressed), bending(one, K), eigvals_only=True)
    return 1.0 / values.max() / (np.pi**2 * E * h**3 / (12.0 * (1.0 - nu**2)))


@pytest.mark.parametrize(
    ("length", "forces", "clamped", "wanted", "within"),
    [
        (1.0, (-1, 0, 0), False, 4.0, 7e-3),
        (2.0, (-1, 0, 0), False, 4.0, 7e-3),
        (1.0, (-1, -1, 0), False, 2.0, 7e-3),
        # two half waves along the diagonal, and the short waves of clamped plates, take more elements
        (1.0, (0, 0, 1), False, 9.3247, 0.14),
        (1.0, (-1, -1, 0), True, 5.3036, 0.05),
        (1.0, (-1, 0, 0), True, 10.074, 0.07),
    ],
    ids=["uniaxial", "of length 2", "biaxial", "shear", "clamped, biaxial", "clamped, uniaxial"],
)
def test_buckling_of_plates(length, forces, clamped, wanted, within):
    """The error of 8 elements, and its order of 2 where it is not small: from 8 and 12 elements to the coefficient."""
    found = buckling(8, length, forces, clamped)
    np.testing.assert_allclose(found, wanted, rtol=within)
    if within > 0.01:
        fine = buckling(12, length, forces, clamped)
        np.testing.assert_allclose(fine - (found - fine) / (1.5**2 - 1.0), wanted, rtol=0.02)


def test_plate_buckles_by_heat():
    """A clamped plate: the square of its frequency falls to nothing at the heat that presses with its buckling load."""
    nu, h, alpha = 0.3, 1e-2, 1e-5
    model = square(12, attach={f"edge{k}": "ground" for k in range(1, 5)})
    shell = replace(model.tables["shells"]["p"], thickness=h, material=femb.Material(1e9, 1e9 / 2.6, 1e3, alpha))
    critical = buckling(12, 1.0, (-1, -1, 0), True) * np.pi**2 * h**2 / (12.0 * (1.0 + nu) * alpha)
    squares = []
    for factor in (0.95, 0.99):
        heated = of_parts(shell, femb.SurfaceLoad("sun", "p", temperature=factor * critical))
        squares.append(femb.modes(heated, count=1, start="equilibrium").frequencies[0] ** 2)
    # shear makes a plate of this thickness softer by 1e-3
    at = 0.99 + 0.04 * squares[1] / (squares[0] - squares[1])
    np.testing.assert_allclose(at, 1.0, rtol=3e-3)


def test_frequencies_of_supported_and_free_plates():
    """Simply supported: pi^2 (i^2 + k^2); free: Leissa's upper bounds, which are 0.2 to 0.6 % high in finer meshes."""
    _, one = simply_supported(12, 12, 1.0, thickness=1e-3, material=material(1e9, 0.3, 1000.0))
    values = np.zeros(one.system.pattern.size)
    Alone(one.system, one.batch).mass(one.system.q0, values)
    K, M = (bending(one, matrix) for matrix in (one.stiffness(one.system.q0), one.system.pattern.to_csc(values)))
    found = np.sqrt(eigh(K, M, eigvals_only=True)[:4] / (1e9 * 1e-9 / (12.0 * 0.91)))
    np.testing.assert_allclose(found, np.pi**2 * np.array([2.0, 5.0, 5.0, 8.0]), rtol=0.03)
    np.testing.assert_allclose(frequencies(square(12), 4), [13.489, 19.789, 24.432, 35.024], rtol=0.012)


@pytest.mark.parametrize("thickness", [0.01, 0.1])
def test_deflection_of_a_laminate(thickness):
    """A cross-ply plate under a double sine, by Navier's solution with the same stiffness; order 2."""
    ply = {"youngs_moduli": (25e9, 1e9), "shear_modulus": 0.5e9, "poissons_ratio": 0.25, "density": 1.0}
    plies = [
        femb.Ply(thickness / 3.0, angle, **ply, transverse_shear=(0.5e9, 0.2e9)) for angle in (0.0, np.pi / 2, 0.0)
    ]
    a, found = np.pi, []
    for n in (4, 8, 16):
        mesh, one = simply_supported(n, n, 1.0, plies=plies)
        x, y = mesh.nodes[:, 0], mesh.nodes[:, 1]
        f = np.zeros((len(mesh.nodes), 6))
        # the integral of the sine with the shape functions of a node
        share = (2.0 * (1.0 - np.cos(a / n)) / (a / n) ** 2) ** 2
        f[:, 2] = share * np.sin(a * x) * np.sin(a * y) / n**2
        found.append(one.linear(one.loads(f))[(n + 1) * (n // 2) + n // 2, 2])
    C = shell_on(mesh, plies=plies).wall.stiffness
    D, s, t = C[3:6, 3:6] * a**2, C[6, 6], C[7, 7]
    K = [[(s + t) * a**2, s * a, t * a], [s * a, D[0, 0] + D[2, 2] + s, D[0, 1] + D[2, 2]]]
    K.append([t * a, D[0, 1] + D[2, 2], D[1, 1] + D[2, 2] + t])
    errors = np.array(found) / np.linalg.solve(K, [1.0, 0.0, 0.0])[0] - 1.0
    assert np.abs(errors[2]) < 3e-3
    assert np.all(np.abs(errors[1:]) < 0.3 * np.abs(errors[:-1]))


@pytest.mark.parametrize(("axis", "wanted"), [((0, 0, 1), 4.79728), ((0, 1, 0), 3.74351)], ids=["flap", "lag"])
def test_strip_in_a_spin(axis, wanted):
    """A spin of three times the unit frequency about the normal and in the plane (Wright and others, 1982); order 2."""
    h, found = 1e-3, []
    unit = h * np.sqrt(1e9 / 1000.0 / 12.0)
    for n in (8, 16):
        shell = femb.Shell(
            "p", (n, 1), corners=[[0, -0.025, 0], [1, -0.025, 0], [1, 0.025, 0], [0, 0.025, 0]], thickness=h,
            material=material(1e9, 0.0, 1000.0), frame="hub", attach={"edge4": "hub"},
        )  # fmt: skip
        model = of_parts(femb.RigidBody("hub", 1e6, 1e6, angular_velocity=3.0 * unit * np.array(axis)), shell)
        found.append(2.0 * np.pi * femb.modes(model, 1, held="hub", start="equilibrium").frequencies[0] / unit)
    errors = np.array(found) / wanted - 1.0
    assert 0.0 < errors[1] < 0.4 * errors[0] < 4e-4


@pytest.mark.slow
def test_membrane_disc_in_a_spin():
    """Modes with k nodal diameters of a disc that has tension by its spin alone, in its axes: H. Lamb, R. V. Southwell,
    The Vibrations of a Spinning Disk (1921); those of a small hub, which holds it, are a little higher."""
    rate, k, errors = 100.0, np.array([1, 2, 3]), []
    wanted = np.sqrt((k * (k + 2.0) * 3.3 - 1.9 * k**2) / 8.0)
    for n in (6, 12):
        model = femb.Model("disc")
        model.add(femb.RigidBody("hub", 1e3, 1e3, angular_velocity=(0.0, 0.0, rate)))
        metal = material(70e9, 0.3, 2700.0)
        disc = {"surface": {"disc": [1.0, 0.02]}, "attach": {"edge4": "hub"}, "frame": "hub"}
        model.add(femb.Shell("disc", (n, 4 * n), thickness=1e-4, material=metal, **disc))
        found = np.asarray(femb.modes(model, 8, held="hub", start="equilibrium").frequencies) * 2.0 * np.pi / rate
        # the first is without diameters
        np.testing.assert_allclose(found[1:7:2], found[2:7:2], rtol=1e-6)
        errors.append(found[1:7:2] / wanted - 1.0)
    assert np.all(errors[1] > 0.0)
    assert np.all(errors[1] < [2.5e-3, 3e-3, 9e-3])
    assert np.all(errors[1][1:] < 0.3 * errors[0][1:])
