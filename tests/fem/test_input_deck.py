"""Input files of Abaqus and CalculiX, against closed forms and against the same structure as bulk data."""

import warnings

import numpy as np
import pytest
from scipy.linalg import eigh, null_space

from femb.base.errors import FembWarning, ModelError
from femb.fem import overview, reduce_mesh
from femb.fem.bulk_model import read_structure
from femb.fem.input_file import FACES, ORDER, TYPES

STEEL = "*MATERIAL, NAME=STEEL\n*ELASTIC\n2e11, 0.25\n*DENSITY\n8000.\n*EXPANSION\n1e-5\n"


def structure(tmp_path, text, name="a.inp"):
    """The model of a text, and its supports as a basis of the free motions."""
    path = tmp_path / name
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FembWarning)
        model = read_structure(path)
    rows = [each.toarray() for each in (model.joints, model.supports) if each is not None]
    return model, null_space(np.vstack(rows)) if rows else np.eye(model.size)


def frequencies(model, free):
    """Angular frequencies, rad/s."""
    K, M = (free.T @ each.toarray() @ free for each in (model.stiffness, model.mass))
    own = np.abs(np.diag(M)) > 1e-12
    K = K[np.ix_(own, own)] - K[np.ix_(own, ~own)] @ np.linalg.pinv(K[np.ix_(~own, ~own)]) @ K[np.ix_(~own, own)]
    return np.sqrt(np.abs(eigh(K, M[np.ix_(own, own)], eigvals_only=True)))


def moved(model, free, force):
    """Displacements (n,) by forces (n,)."""
    return free @ np.linalg.solve(free.T @ model.stiffness @ free, free.T @ force)


def dof(model, number, component):
    return int(model.dofs[list(model.numbers).index(number), component])


BOOM = (
    "*NODE, NSET=ALL\n1, 0, 0, 0\n2, 1, 0, 0\n3, 2, 0, 0\n*ELEMENT, TYPE=B31, ELSET=BOOM\n1, 1, 2\n2, 2, 3\n{section}"
    + STEEL
    + "*BOUNDARY\n1, ENCASTRE\n*STEP\n*STATIC\n*CLOAD\n3, 2, 100.\n*END STEP\n"
    "*STEP\n*STATIC\n*CLOAD\n3, 3, 50.\n*END STEP\n"
)


def moments(shape, z):
    """I about the axes 1 and 2 of a section, by its parts."""
    if shape == "RECT":
        return z[0] * z[1] ** 3 / 12.0, z[1] * z[0] ** 3 / 12.0
    if shape == "CIRC":
        return (np.pi * z[0] ** 4 / 4.0,) * 2
    if shape == "PIPE":
        return (np.pi * (z[0] ** 4 - (z[0] - z[1]) ** 4) / 4.0,) * 2
    if shape == "BOX":
        a, b, t, u = z[:4]
        return (a * b**3 - (a - 2 * t) * (b - 2 * u) ** 3) / 12.0, (b * a**3 - (b - 2 * u) * (a - 2 * t) ** 3) / 12.0
    _, h, b, _, t, _, w = z
    return (b * h**3 - (b - w) * (h - 2 * t) ** 3) / 12.0, (2 * t * b**3 + (h - 2 * t) * w**3) / 12.0


@pytest.mark.parametrize(
    ("shape", "z"),
    [
        ("RECT", [0.02, 0.03]), ("CIRC", [0.02]), ("PIPE", [0.02, 0.002]), ("BOX", [0.03, 0.04, 0.002, 0.001] * 1),
        ("I", [0.03, 0.06, 0.04, 0.04, 0.004, 0.004, 0.003]),
    ],
)  # fmt: skip
def test_beams_bend_by_their_sections_about_both_axes(tmp_path, shape, z):
    sizes = z + z[2:4] if shape == "BOX" else z
    text = f"*BEAM SECTION, ELSET=BOOM, MATERIAL=STEEL, SECTION={shape}\n{', '.join(map(str, sizes))}\n0., 1., 0.\n"
    model, free = structure(tmp_path, BOOM.format(section=text))
    about_1, about_2 = moments(shape, z)
    # axis 1 is y: a force along y bends about axis 2; shear adds 3 E I / (k G A L^2), below 2 %
    for step, component, inertia, force in ((1, 1, about_2, 100.0), (2, 2, about_1, 50.0)):
        u = moved(model, free, model.load_set(step)[0])[dof(model, 3, component)]
        bending = force * 8.0 / (3.0 * 2e11 * inertia)
        assert bending < u < 1.02 * bending


def test_general_section_and_quadratic_beams(tmp_path):
    general = "*BEAM GENERAL SECTION, ELSET=BOOM, DENSITY=8000.\n1e-3, 2e-8, 0., 3e-8, 4e-8\n0., 1., 0.\n2e11, 8e10\n"
    model, free = structure(tmp_path, BOOM.format(section=general))
    for step, component, inertia, force in ((1, 1, 3e-8, 100.0), (2, 2, 2e-8, 50.0)):
        u = moved(model, free, model.load_set(step)[0])[dof(model, 3, component)]
        assert u == pytest.approx(force * 8.0 / (3.0 * 2e11 * inertia), rel=1e-9)
    quadratic = BOOM.replace("TYPE=B31, ELSET=BOOM\n1, 1, 2\n2, 2, 3", "TYPE=B32, ELSET=BOOM\n1, 1, 2, 3")
    other, _ = structure(tmp_path, quadratic.format(section=general), "b.inp")
    np.testing.assert_allclose(other.stiffness.toarray(), model.stiffness.toarray(), rtol=1e-12)


def test_parts_and_instances_are_moved_and_turned(tmp_path):
    section = "*BEAM SECTION, ELSET=BOOM, MATERIAL=STEEL, SECTION=RECT\n.02, .03\n0., 1., 0.\n"
    flat, free = structure(tmp_path, BOOM.format(section=section))
    head, rest = BOOM.format(section=section).split("*MATERIAL")
    text = (
        f"*PART, NAME=Arm\n{head}*END PART\n*ASSEMBLY, NAME=A\n*INSTANCE, NAME=one, PART=Arm\n*END INSTANCE\n"
        "*INSTANCE, NAME=two, PART=Arm\n0., 0., 3.\n1., 0., 3., 1., 5., 3., 90.\n*END INSTANCE\n"
        "*NSET, NSET=ends, INSTANCE=two\n3,\n*END ASSEMBLY\n*MATERIAL"
        + rest.split("*BOUNDARY")[0]
        + "*BOUNDARY\none.1, ENCASTRE\ntwo.1, ENCASTRE\n*STEP\n*CLOAD\nends, 1, 1.\n*END STEP\n"
    )
    both, held = structure(tmp_path, text, "b.inp")
    np.testing.assert_allclose(frequencies(both, held)[:6:2], frequencies(flat, free)[:3], rtol=1e-8)
    assert sorted(both.numbers) == [11, 12, 13, 21, 22, 23]
    # turned by 90 degrees about y through (1, 0, 3): its start is at (1, 0, 4)
    np.testing.assert_allclose(both.nodes[list(both.numbers).index(21)], [1.0, 0.0, 4.0], atol=1e-12)
    np.testing.assert_allclose(both.load_set(1)[0][dof(both, 23, 0)], 1.0)
    assert list(both.numbers[both.node_sets["ENDS"]]) == [23]


def test_springs_and_masses(tmp_path):
    text = (
        "*NODE\n1, 0, 0, 0\n2, 3, 4, 0\n3, 3, 4, 0\n*ELEMENT, TYPE=SPRINGA, ELSET=A\n1, 1, 2\n"
        "*ELEMENT, TYPE=SPRING1, ELSET=B\n2, 2\n*ELEMENT, TYPE=SPRING2, ELSET=C\n3, 2, 3\n"
        "*ELEMENT, TYPE=MASS, ELSET=M\n4, 2\n5, 3\n*SPRING, ELSET=A\n\n1000.\n*SPRING, ELSET=B\n3\n50.\n"
        "*SPRING, ELSET=C\n3, 3\n70.\n*MASS, ELSET=M\n2.\n"
        "*BOUNDARY\n1, 1, 3\n3, 1, 2\n"
    )
    model, _ = structure(tmp_path, text)
    K = model.stiffness.toarray()
    n = [dof(model, 2, c) for c in range(3)] + [dof(model, 3, 2)]
    e = np.array([0.6, 0.8])
    expected = np.zeros((4, 4))
    expected[:2, :2] = 1000.0 * np.outer(e, e)
    expected[2:, 2:] = [[120.0, -70.0], [-70.0, 70.0]]
    np.testing.assert_allclose(K[np.ix_(n, n)], expected, atol=1e-9)
    np.testing.assert_allclose(model.mass.toarray()[n, n], 2.0)


CUBE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], dtype=float)
SOLIDS = {
    "C3D4": ([0, 1, 3, 4], "01 12 20 03 13 23"), "C3D6": ([0, 1, 3, 4, 5, 7], "01 12 20 34 45 53 03 14 25"),
    "C3D8": ([*range(8)], "01 12 23 30 45 56 67 74 04 15 26 37"),
}  # fmt: skip
MORE = {"C3D10": "C3D4", "C3D15": "C3D6", "C3D20R": "C3D8"}


@pytest.mark.parametrize("kind", [*SOLIDS, *MORE, "C3D8I"])
def test_solids_have_their_mass_and_constant_strains(tmp_path, kind):
    """Nodes in the order of Abaqus, on a skewed cell: a wrong order has another volume or no constant strain."""
    corners, sides = SOLIDS[MORE.get(kind, kind.rstrip("I"))]
    A = np.array([[1.0, 0.2, 0.1], [0.1, 0.8, 0.0], [0.0, 0.3, 1.2]])
    x = [CUBE[k] for k in corners]
    if kind in MORE:
        x += [0.5 * (x[int(a)] + x[int(b)]) for a, b in sides.split()]
    x = np.array(x) @ A.T
    nodes = "".join(f"{k + 1}, {', '.join(map(repr, p.tolist()))}\n" for k, p in enumerate(x))
    numbers = ", ".join(str(k + 1) for k in range(len(x)))
    text = (
        f"*NODE\n{nodes}*ELEMENT, TYPE={kind}, ELSET=E\n1, {numbers}\n*SOLID SECTION, ELSET=E, MATERIAL=STEEL\n{STEEL}"
    )
    model, _ = structure(tmp_path, text)
    volume = np.linalg.det(A) * {"C3D4": 1 / 6, "C3D6": 1 / 2, "C3D8": 1.0}[MORE.get(kind, kind.rstrip("I"))]
    own = [dof(model, k + 1, 0) for k in range(len(x))]
    assert model.mass.toarray()[np.ix_(own, own)].sum() == pytest.approx(8000.0 * volume, rel=1e-12)
    strain = np.array([[1e-3, 2e-4, 0.0], [2e-4, -3e-4, 1e-4], [0.0, 1e-4, 5e-4]])
    u = (model.nodes[model.node_of] @ strain)[np.arange(model.size), model.component]
    mu, lame = 8e10, 8e10  # of E = 2e11, nu = 0.25
    energy = 0.5 * volume * (2 * mu * np.sum(strain**2) + lame * np.trace(strain) ** 2)
    assert 0.5 * u @ model.stiffness @ u == pytest.approx(energy, rel=1e-10)


def test_the_faces_of_every_solid_enclose_it():
    for card, faces in FACES.items():
        pairs = [(face[k], face[k - 1]) for face in faces for k in range(len(face))]
        assert sorted(pairs) == sorted((b, a) for a, b in pairs), card
    assert all(sorted(order) == list(range(count)) for (_, count), order in ORDER.items())
    assert all(count > 0 for _, count in TYPES.values())


def block(nx, x0, x1, first, ny=1, kind="C3D8"):
    """A bar along x of hexahedra, 1 x 1: lines of nodes and of elements."""
    count = (ny + 1) ** 2
    grid = [
        (x0 + (x1 - x0) * i / nx, j / ny, k / ny) for i in range(nx + 1) for j in range(ny + 1) for k in range(ny + 1)
    ]
    nodes = "".join(f"{first + n}, {x}, {y}, {z}\n" for n, (x, y, z) in enumerate(grid))
    cells, number = "", first

    def at(i, j, k):
        return first + i * count + j * (ny + 1) + k

    for i, j, k in np.ndindex(nx, ny, ny):
        own = [at(i + a, j + b, k + c) for c in (0, 1) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
        cells += f"{number}, {', '.join(map(str, own))}\n"
        number += 1
    return nodes, cells


def tied_bars(gap=0.0):
    one, two = block(2, 0.0, 1.0, 1), block(2, 1.0 + gap, 2.0, 101, ny=2)
    return (
        f"*NODE\n{one[0]}{two[0]}*ELEMENT, TYPE=C3D8, ELSET=A\n{one[1]}*ELEMENT, TYPE=C3D8, ELSET=B\n{two[1]}"
        "*ELSET, ELSET=BAR\nA, B\n*SOLID SECTION, ELSET=BAR, MATERIAL=STEEL\n*NSET, NSET=FACE, GENERATE\n101, 109\n"
        "*SURFACE, NAME=SLAVE, TYPE=NODE\nFACE\n*SURFACE, NAME=MASTER\n2, S4\n*TIE, NAME=T\nSLAVE, MASTER\n" + STEEL
    )


def test_tied_meshes_that_do_not_match_stretch_as_one(tmp_path):
    model, _ = structure(tmp_path, tied_bars())
    u = np.zeros(model.size)
    own = model.component < 3
    u[own] = (model.nodes[model.node_of] * [1e-3, -2.5e-4, -2.5e-4])[own, model.component[own]]
    assert np.abs(model.joints @ u).max() < 1e-15
    outside = (model.stiffness @ u)[[dof(model, k, 0) for k in range(119, 128)]]
    assert outside.sum() == pytest.approx(2e11 * 1e-3, rel=1e-9)  # uniaxial stress on 1 m2
    assert model.joints.shape[0] == 27


def test_tied_nodes_move_onto_the_surface_and_far_ones_are_said(tmp_path):
    model, _ = structure(tmp_path, tied_bars(0.01))
    D = model.rigid_motions(np.zeros(3))
    assert np.abs(model.joints @ D).max() < 1e-12
    (tmp_path / "far.inp").write_text(tied_bars(0.4))
    with pytest.warns(FembWarning, match="9 of 9 nodes of .TIE SLAVE, as 101, are farther from MASTER than 0.14"):
        assert read_structure(tmp_path / "far.inp").joints is None


ENDS = {
    "kinematic": "*COUPLING, CONSTRAINT NAME=C, REF NODE=99, SURFACE=TIP\n*KINEMATIC\n1, 6\n",
    "rigid body": "*RIGID BODY, NSET=TIP, REF NODE=99\n",
    "beam": "*MPC\nBEAM, TIP, 99\n",
    "old": "*KINEMATIC COUPLING, REF NODE=99\nTIP, 1, 6\n",
    "distributing": "*COUPLING, CONSTRAINT NAME=C, REF NODE=99, SURFACE=TIP\n*DISTRIBUTING\n",
}


@pytest.mark.parametrize("kind", ENDS)
def test_couplings_carry_forces_to_faces(tmp_path, kind):
    nodes, cells = block(4, 0.0, 4.0, 1)
    text = (
        f"*NODE\n{nodes}99, 4.5, .5, .5\n*ELEMENT, TYPE=C3D8, ELSET=BAR\n{cells}*NSET, NSET=TIP\n17, 18, 19, 20\n"
        f"*SURFACE, NAME=TIP\n4, S4\n*SOLID SECTION, ELSET=BAR, MATERIAL=STEEL\n{ENDS[kind]}{STEEL}"
        "*NSET, NSET=ROOT, GENERATE\n1, 4\n*BOUNDARY\nROOT, 1, 1\n1, 1, 3\n2, 2, 2\n"
        "*STEP\n*CLOAD\n99, 1, 1e6\n*END STEP\n"
        "*STEP\n*CLOAD\n99, 4, 1e4\n*END STEP\n"
    )
    model, free = structure(tmp_path, text)
    assert np.abs(model.stiffness @ model.rigid_motions(np.zeros(3))).max() < 1e-13 * abs(model.stiffness).max()
    u = moved(model, free, model.load_set(1)[0])
    u_99 = u[dof(model, 99, 0)]
    stretch = 1e6 * 4.0 / 2e11
    # a rigid end holds the side contraction of the last cell
    assert u_99 == pytest.approx(stretch, rel=1e-9) if kind == "distributing" else 0.95 * stretch < u_99 < stretch
    assert abs(moved(model, free, model.load_set(2)[0])[dof(model, 99, 3)]) > 0.0


def test_equations_and_pins(tmp_path):
    section = "*BEAM SECTION, ELSET=BOOM, MATERIAL=STEEL, SECTION=RECT\n.02, .03\n0., 1., 0.\n"
    text = BOOM.format(section=section).replace(
        "*BOUNDARY", "*EQUATION\n2\n3, 3, 1., 2, 3, -2.\n*MPC\nPIN, 9, 3\n*BOUNDARY"
    )
    text = text.replace("3, 2, 0, 0\n", "3, 2, 0, 0\n9, 2, 0, 0\n").replace("3, 3, 50.", "9, 3, 50.")
    model, free = structure(tmp_path, text)
    u = moved(model, free, model.load_set(2)[0])
    assert u[dof(model, 3, 2)] == pytest.approx(2.0 * u[dof(model, 2, 2)], rel=1e-12)
    assert u[dof(model, 9, 2)] == pytest.approx(u[dof(model, 3, 2)], rel=1e-12)


def test_pressures_gravity_and_spin(tmp_path):
    nodes, cells = block(2, 0.0, 2.0, 1)
    text = (
        f"*NODE\n{nodes}*ELEMENT, TYPE=C3D8, ELSET=BAR\n{cells}*SOLID SECTION, ELSET=BAR, MATERIAL=STEEL\n{STEEL}"
        "*SURFACE, NAME=TOP\nBAR, S2\n"
        + "".join(f"*STEP\n*DLOAD, OP=NEW\n{line}\n*END STEP\n" for line in (
            *(f"2, P{k}, 3." for k in range(1, 7)), "BAR, GRAV, 9.81, 0., 0., -1.",
            "BAR, CENTRIF, 4., 0., 0., 0., 0., 0., 1."))
        + "*STEP\n*DLOAD, OP=NEW\n*DSLOAD\nTOP, P, 3.\n*END STEP\n*STEP\n*DSLOAD, OP=NEW\n*DLOAD\n"
        "2, GRAV, 9.81, 0., 0., -1.\n*END STEP\n"
        "*STEP\n*DLOAD, OP=NEW\n1, GRAV, 9.81, 0., 0., -1.\n2, GRAV, 9.81, 0., 0., -1.\n*END STEP\n"
    )  # fmt: skip
    model, _ = structure(tmp_path, text)
    D = model.rigid_motions(np.zeros(3))[:, :3]
    total = np.array([D.T @ model.load_set(step)[0] for step in range(1, 10)])
    faces = [[0, 0, 3], [0, 0, -3], [0, 3, 0], [-3, 0, 0], [0, -3, 0], [3, 0, 0]]
    np.testing.assert_allclose(total[:6], faces, atol=1e-12)
    np.testing.assert_allclose(total[6], [0, 0, -8000.0 * 2.0 * 9.81], atol=1e-6)
    np.testing.assert_allclose(total[7], [4.0 * 16000.0 * 1.0, 4.0 * 16000.0 * 0.5, 0.0], atol=1e-6)
    np.testing.assert_allclose(total[8], [0, 0, -6.0], atol=1e-12)
    with pytest.raises(ModelError, match=r"GRAV 10: GRAV of element 2 and 0 more, .* of all: is not read"):
        model.load_set(10)[0]
    # of two sets that together are all
    np.testing.assert_allclose(D.T @ model.load_set(11)[0], total[6], atol=1e-6)


def test_shells_are_those_of_bulk_data(tmp_path):
    """S4, S3, an offset and plies, beside CQUAD4, CTRIA3, ZOFFS and PCOMP."""
    nodes = [(1, 0, 0, 0), (2, 1, 0, 0), (3, 1, 1, 0), (4, 0, 1, 0), (5, 2, 0, 0)]
    inp = "*NODE\n" + "".join(f"{n}, {x}., {y}., {z}.\n" for n, x, y, z in nodes) + (
        "*ELEMENT, TYPE=S4R, ELSET=Q\n1, 1, 2, 3, 4\n*ELEMENT, TYPE=S3, ELSET=T\n2, 2, 5, 3\n"
        "*SHELL SECTION, ELSET=Q, MATERIAL=STEEL, OFFSET=0.5\n0.01\n*SHELL SECTION, ELSET=T, COMPOSITE\n"
        "0.002, 3, PLY, 30.\n0.003, 3, PLY, -45.\n" + STEEL
        + "*MATERIAL, NAME=PLY\n*ELASTIC, TYPE=LAMINA\n1e11, 1e10, 0.3, 5e9, 4e9, 3e9\n*DENSITY\n1600.\n"
    )  # fmt: skip
    bulk = "".join(f"GRID,{n},,{x}.,{y}.,{z}.\n" for n, x, y, z in nodes) + (
        "CQUAD4,1,1,1,2,3,4,0.,-.005\nCTRIA3,2,2,2,5,3,9\nCORD2R,9,,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\n"
        "PSHELL,1,1,.01,1,,1\nMAT1,1,2.+11,,.25,8000.\nPCOMP,2\n,2,.002,30.,YES,2,.003,-45.,YES\n"
        "MAT8,2,1.+11,1.+10,.3,5.+9,4.+9,3.+9,1600.\nPARAM,COUPMASS,1\n"
    )
    (a, _), (b, _) = structure(tmp_path, inp), structure(tmp_path, bulk, "a.bdf")
    np.testing.assert_allclose(a.stiffness.toarray(), b.stiffness.toarray(), rtol=1e-12, atol=1e-3)
    np.testing.assert_allclose(a.mass.toarray(), b.mass.toarray(), rtol=1e-12, atol=1e-15)


def test_transformed_nodes_orientations_and_included_files(tmp_path):
    (tmp_path / "nodes.inp").write_text("*NODE, NSET=N\n1, 0, 0, 0\n2, 0, 2, 0\n")
    text = (
        "*INCLUDE, INPUT=nodes.inp\n*ELEMENT, TYPE=B31, ELSET=B\n1, 1, 2\n*BEAM SECTION, ELSET=B, MATERIAL=STEEL, "
        "SECTION=RECT\n.02, .03\n1., 0., 0.\n*TRANSFORM, NSET=N, TYPE=C\n0., 0., 0., 0., 0., 1.\n" + STEEL
        + "*BOUNDARY\n1, ENCASTRE\n*STEP\n*CLOAD\n2, 1, 7.\n*END STEP\n"
    )  # fmt: skip
    model, free = structure(tmp_path, text)
    force = model.load_set(1)[0]
    assert force[dof(model, 2, 1)] == pytest.approx(7.0)  # radial is y
    u = moved(model, free, force)[dof(model, 2, 1)]
    assert u == pytest.approx(7.0 * 2.0 / (2e11 * 6e-4), rel=1e-9)


def test_a_body_and_an_overview_of_an_input_file(tmp_path):
    section = "*BEAM SECTION, ELSET=BOOM, MATERIAL=STEEL, SECTION=RECT\n.02, .03\n0., 1., 0.\n"
    path = tmp_path / "boom.inp"
    path.write_text(BOOM.format(section=section))
    seen = overview(path, 2, held=True)
    assert seen.mass == pytest.approx(8000.0 * 6e-4 * 2.0)
    assert ("sets", "ALL (3 grids)") in seen.lists
    with pytest.warns(FembWarning, match=r"boom.inp: \*BOUNDARY: supports are left out"):
        body = reduce_mesh(path, ["root=1", "tip=3"], 0, loads=["push=set:1"], max_frequency=1.0).body
    np.testing.assert_allclose(body.load_force[0], [0.0, 100.0, 0.0])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("TYPE=B31", "TYPE=CAX4", "line 5: .ELEMENT: elements of the type CAX4 are not read"),
        ("*BOUNDARY", "*CONNECTOR SECTION\n*BOUNDARY", "CONNECTOR SECTION: is not read"),
        ("MATERIAL=STEEL", "MATERIAL=TIN", "material TIN is not in the file"),
        ("2, 2, 3\n", "2, 2, 7\n", "element 2 has the node 7"),
        ("ELSET=BOOM, MATERIAL", "ELSET=BOM, MATERIAL", "BOM is no set of elements"),
        ("SECTION=RECT", "SECTION=TRAPEZOID", "SECTION=TRAPEZOID is not read beside RECT"),
        (".02, .03", ".02, x", "got '.02, x' in its line 1, wanted 1 numbers"),
        ("1, ENCASTRE", "1, FIRMLY", "got '1, FIRMLY' in its line 1, wanted a node, first and last freedom"),
        ("*BEAM SECTION, ELSET=BOOM, MATERIAL=STEEL, SECTION=RECT\n.02, .03\n", "", "element 1, B31, is in no section"),
        ("*NODE", "*INCLUDE, INPUT=no.inp\n*NODE", "INCLUDE: there is no file 'no.inp'"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_named_with_its_line(tmp_path, old, new, said):
    section = "*BEAM SECTION, ELSET=BOOM, MATERIAL=STEEL, SECTION=RECT\n.02, .03\n"
    path = tmp_path / "a.inp"
    path.write_text(BOOM.format(section=section).replace(old, new))
    with pytest.raises(ModelError, match=said):
        read_structure(path)


def test_what_is_left_out_is_named(tmp_path):
    section = "*BEAM SECTION, ELSET=BOOM, MATERIAL=STEEL, SECTION=RECT\n.02, .03\n"
    path = tmp_path / "a.inp"
    path.write_text(
        BOOM.format(section=section).replace("*BOUNDARY", "*DAMPING, ALPHA=1.\n*PLASTIC\n1e8, 0.\n*BOUNDARY")
    )
    with pytest.warns(FembWarning) as said:
        read_structure(path)
    texts = " ".join(str(each.message) for each in said)
    assert "*DAMPING (damping)" in texts
    assert "*PLASTIC (nonlinear laws, linear at rest)" in texts
