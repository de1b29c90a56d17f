"""Single shell elements and patches: identities of docs/theory/shell.md. Gradient, tangent, mass, momenta
and objectivity are those of tests/contracts/test_items.py."""

import numpy as np
import pytest
from oracles.shell import PATCH, QUADS, Supported, material, patch_fields, shell_on, triangulated

import femb
from femb.elements.shell.mesh import ShellMesh
from femb.numerics import rotations

E, NU = 1e6, 0.25


def flat_mesh(points, quads):
    nodes = np.column_stack([points, np.zeros(len(points))])
    return ShellMesh(nodes, np.tile([0.0, 0.0, 1.0], (len(nodes), 1)), quads, np.zeros((0, 3), dtype=np.int64), {})


def warped(corners):
    rng = np.random.default_rng(3)
    nodes = np.array([[0, 0, 0], [2, 0.1, 0], [2.2, 1.3, 0], [-0.1, 1.1, 0]])[:corners]
    nodes = nodes + 0.2 * rng.standard_normal(nodes.shape)
    normals = [0.0, 0.0, 1.0] + 0.1 * rng.standard_normal(nodes.shape)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    cells = [np.arange(4)[None], np.zeros((0, 3), dtype=np.int64)]
    if corners == 3:
        cells = [np.zeros((0, 4), dtype=np.int64), np.arange(3)[None]]
    return ShellMesh(nodes, normals, *cells, {})


def supported(mesh, thickness=0.1, fixed=None, **words):
    shell = shell_on(mesh, thickness=thickness, material=material(E, NU), **words)
    return Supported(shell, np.zeros((len(mesh.nodes), 6), dtype=bool) if fixed is None else fixed)


@pytest.mark.parametrize("drilling", ["weak", "stiff"])
@pytest.mark.parametrize("corners", [3, 4])
def test_six_zero_eigenvalues(corners, drilling):
    mesh = flat_mesh(np.array([[0, 0], [2, 0.1], [2.2, 1.3], [-0.1, 1.1]]), np.arange(4)[None])
    mesh = warped(corners) if drilling == "weak" else (triangulated(mesh) if corners == 3 else mesh)
    one = supported(mesh, drilling=drilling)
    values = np.abs(np.linalg.eigvalsh(one.stiffness(one.system.q0).toarray()))
    values.sort()
    assert values[5] < 1e-12 * values[-1]
    assert values[6] > 1e-8 * values[-1]


@pytest.mark.parametrize("corners", [3, 4])
def test_rigid_motion_on_top_of_a_deformation(corners):
    one, rng = supported(warped(corners)), np.random.default_rng(0)
    q = one.moved(one.system.q0, 0.2 * rng.standard_normal(one.system.n_v))
    turn, shift, other = rotations.exponential(np.array([1.0, -2.0, 1.5])), np.array([3.0, 1.0, -2.0]), q.copy()
    for i in one.in_q:
        other[i : i + 3] = shift + rotations.rotate(turn, q[i : i + 3])
        other[i + 3 : i + 7] = rotations.multiply(turn, q[i + 3 : i + 7])
    none, still = np.zeros(0), np.zeros(one.system.n_v)
    first, second = (one.batch.own_strains(none, x, still) for x in (q, other))
    np.testing.assert_allclose(second, first, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize(("corners", "turn"), [(4, 1), (4, 2), (4, 3), (3, 1), (3, 2)])
def test_corners_numbered_from_another_one(corners, turn):
    """The same energy at the same positions; and mirrored, with the normal on the other side. Plies in two
    directions lie beside the corners, so that bending is coupled to stretching and twist."""
    mesh, rng = warped(corners), np.random.default_rng(1)
    quads, triangles = (np.roll(cells, turn, axis=1) for cells in (mesh.quads, mesh.triangles))
    other = ShellMesh(mesh.nodes, mesh.normals, quads, triangles, {})
    mirrored = ShellMesh(mesh.nodes, -mesh.normals, mesh.quads[:, ::-1], mesh.triangles[:, ::-1], {})
    dx = 0.2 * rng.standard_normal((corners, 6))
    energies = []
    for each, side in ((mesh, 1), (other, 1), (mirrored, -1)):
        plies = [femb.Ply(0.05, side * angle, material="carbon T300/5208") for angle in (0.3, 1.2)][::side]
        shell = shell_on(each, plies=plies, offset=0.03 * side)
        one = Supported(shell, np.zeros((corners, 6), dtype=bool))
        x = np.zeros(one.system.n_v)
        frames = [one.system.layout.frames[k] for k in one.system.layout.shells["s"].frames]
        for place, frame, step in zip(one.places, frames, dx, strict=True):
            x[place[:3]], x[place[3:]] = step[:3], rotations.rotate_back(frame.quaternion, step[3:])
        energies.append(one.system.energy_momentum(one.moved(one.system.q0, x)[None], np.zeros((1, len(x))))[0, 1])
    np.testing.assert_allclose(energies[1:], energies[0], rtol=1e-12)


@pytest.mark.parametrize("drilling", ["weak", "stiff"])
@pytest.mark.parametrize("thickness", [0.01, 0.001])
@pytest.mark.parametrize("kind", ["quads", "triangles"])
def test_patch_of_macneal_and_harder(kind, thickness, drilling):
    """Linear displacements in the plane, and quadratic deflections, of the outer nodes give those of the inner ones:
    to the rounding of a linear solution, which is below 1e-8 of the strains where drilling is weakest."""
    mesh = flat_mesh(PATCH, QUADS)
    mesh = triangulated(mesh) if kind == "triangles" else mesh
    fixed = np.zeros((8, 6), dtype=bool)
    fixed[:4] = True
    patch = supported(mesh, thickness, fixed, drilling=drilling)
    membrane, bending = patch_fields()
    for wanted in (membrane, bending):
        found = patch.completed(wanted)
        errors = np.abs(found[patch.places] - wanted)
        assert np.all(errors <= patch.rounding(found)[patch.places])
        strains = patch.batch._strains(patch.system.q0[None], found[None])[0][0]
        cells = patch.batch.cells[0]
        loads = np.einsum("eik,ek->ei", cells.recovery[cells.alike], strains)
        Q = E / (1.0 - NU**2) * np.array([[1, NU, 0], [NU, 1, 0], [0, 0, 0.5 * (1.0 - NU)]]) @ [1e-3, 1e-3, 1e-3]
        expected = np.zeros(8)
        expected[:3] = thickness * Q if wanted is membrane else 0.0
        expected[3:6] = -(thickness**3) / 12.0 * Q if wanted is bending else 0.0
        np.testing.assert_allclose(
            loads, np.tile(expected, (len(loads), 1)), rtol=0, atol=1e-7 * np.abs(expected).max()
        )


def test_mass_properties_of_a_wall_beside_its_reference_surface():
    """Mass, its centre and its inertia of an offset plate, with rho_1: those of the box."""
    a, b, h, offset, density = 2.0, 1.0, 0.1, 0.3, 3.0
    mesh = flat_mesh(np.array([[0, 0], [a, 0], [a, b], [0, b]]), np.arange(4)[None])
    shell = shell_on(mesh, thickness=h, material=material(E, NU, density), offset=offset)
    one = Supported(shell, np.zeros((4, 6), dtype=bool))
    mass, centre, inertia = one.system.mass_properties_at(one.system.q0)
    m = density * a * b * h
    np.testing.assert_allclose(mass, m, rtol=1e-13)
    np.testing.assert_allclose(centre, [0.5 * a, 0.5 * b, -offset], atol=1e-13)
    box = m / 12.0 * np.array([b * b + h * h, a * a + h * h, a * a + b * b])
    got = np.diag(inertia)
    np.testing.assert_allclose(got[:2], box[:2], rtol=1e-12)
    # that of drilling is the theory's own: larger by the rotary inertia about the middle of the wall
    np.testing.assert_allclose(got[2] - box[2], m * h * h / 12.0, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("corners", [3, 4])
def test_stress_stiffness_is_what_stresses_add_to_the_tangent(corners):
    """Of two displacements of a warped element, turned and strained before."""
    one, rng = supported(warped(corners), drilling="weak"), np.random.default_rng(4)
    n, none = one.system.n_v, np.zeros(0)
    q, fields = one.moved(one.system.q0, 0.3 * rng.standard_normal(n)), 0.1 * rng.standard_normal((2, n))
    ((places, found),) = one.batch.stress_stiffness(q, fields)
    rest = one.batch.own_strains(none, q, np.zeros(n))
    for k, field in enumerate(fields):
        strains = one.batch.own_strains(none, q, field) - rest
        whole, without = (one.stiffness(q, one.batch.strained(q, each)).toarray() for each in (strains, 0.0 * strains))
        added = (whole - without)[np.ix_(places[0], places[0])]
        np.testing.assert_allclose(found[0, :, k], added, rtol=0.0, atol=1e-12 * np.abs(whole).max())


def test_elements_of_equal_shape_share_their_stiffness():
    """Equal rectangles far from the origin, wherever they are; a moved node changes the four around it."""
    x, y = np.meshgrid(5.0 + 0.1 * np.arange(7), 3.0 + 0.3 * np.arange(5), indexing="ij")
    points, node = np.column_stack([x.ravel(), y.ravel()]), np.arange(35).reshape(7, 5)
    quads = np.stack([node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]], axis=-1).reshape(-1, 4)
    assert len(supported(flat_mesh(points, quads)).batch.cells[0].stiffness) == 1
    moved = points.copy()
    moved[17] += [0.02, 0.01]
    cells = supported(flat_mesh(moved, quads)).batch.cells[0]
    assert len(cells.stiffness) == 5
    for k in range(len(quads)):
        (alone,) = supported(flat_mesh(moved, quads[[k]])).batch.cells[0].stiffness
        np.testing.assert_allclose(cells.stiffness[cells.alike[k]], alone, rtol=0.0, atol=1e-11 * np.abs(alone).max())
