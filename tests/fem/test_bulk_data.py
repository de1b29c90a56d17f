"""Structures in NASTRAN bulk data: each card beside the same structure as items, closed forms and NASTRAN itself."""

import json
import math
import re
from pathlib import Path

import meshio
import numpy as np
import pytest
from models import refuses
from scipy.linalg import eigh, null_space
from shared_runs import said

import femb
from femb.base.bulk_cards import page
from femb.base.bulk_data import read_bulk_data
from femb.base.errors import FembWarning, ModelError, ResultError
from femb.elements.modal.data import read_reduced_body
from femb.elements.shell.stiffness import elements_of
from femb.fem import bulk_shells, reduce_beams, reduce_mesh
from femb.fem.bulk_model import read_structure

FILES = Path(__file__).parent / "files"
E, NU, RHO = 7e10, 0.3, 2700.0
METAL = femb.Material(E, 0.5 * E / (1.0 + NU), RHO)
PLY = {"youngs_moduli": (1.3e11, 9e9), "shear_modulus": 5e9, "poissons_ratio": 0.3, "density": 1600.0,
       "transverse_shear": (4e9, 3e9)}  # fmt: skip
MATERIALS = "MAT1,1,7.+10,,.3,2700.\nMAT8,8,1.3+11,9.+9,.3,5.+9,4.+9,3.+9,1600.\n"


def file_of(path, *cards):
    """A file of cards, between the lines that are around them."""
    path.write_text(
        "\n".join(["SOL 103", "CEND", "TITLE = PLATE, FLAT", "BEGIN BULK", "PARAM,COUPMASS,1", *cards, "ENDDATA", ""])
    )
    return path


def grids(nx, ny, x=(0.0, 1.0), y=(0.0, 0.5), first=1):
    """Cards of a grid of places, numbered along x."""
    places = [(a, b) for b in np.linspace(*y, ny + 1) for a in np.linspace(*x, nx + 1)]
    return [f"GRID,{first + k},,{a!r},{b!r},0." for k, (a, b) in enumerate((float(a), float(b)) for a, b in places)]


def quads(nx, ny, pid, rest="", first=1):
    """Cards of the elements of such a grid."""
    corners = [(j * (nx + 1) + i + first, j * (nx + 1) + i + first + nx + 1) for j in range(ny) for i in range(nx)]
    return [f"CQUAD4,{k},{pid},{a},{a + 1},{b + 1},{b}{rest}" for k, (a, b) in enumerate(corners, first)]


def panel(nx=4, ny=2, **words):
    """The same panel of femb's own shells on a hub."""
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=10.0, inertia=1.0))
    corners = [[0, 0, 0], [1, 0, 0], [1, 0.5, 0], [0, 0.5, 0]]
    model.add(femb.Shell("p", (nx, ny), corners, attach={"edge4": "hub"}, points={"tip": "corner2"}, **words))
    return model


ROOT = "root=1,6,11"
DIRECTION = (np.cos(np.pi / 6), 0.5, 0.0)
ANGLES = [np.pi / 4, -np.pi / 4, -np.pi / 4, np.pi / 4]


def plies(angles, thickness=1e-3, **words):
    return [femb.Ply(thickness, angle, **{**PLY, **words}) for angle in angles]


def sheet(bending, factor=5.0 / 6.0):
    """The matrices of a sheet of metal that bends as one so many times as stiff."""
    C = femb.Shell("s", (1, 1), [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], thickness=0.01, material=METAL).wall
    K, shear = C.stiffness[:6, :6].copy(), C.stiffness[6:, 6:] * factor / (5.0 / 6.0)
    K[3:, 3:] *= bending
    return {"stiffness_matrix": K, "shear_stiffness": shear, "mass_per_area": 27.0, "rotary_inertia": 27.0 * 1e-4 / 12}


WALLS = [
    ("PSHELL,2,1,.01,1,,1", "", {"thickness": 0.01, "material": METAL}),
    ("PSHELL,2,1,.01,1,,1,,3.", ",,-.004", {"thickness": 0.01, "material": METAL, "offset": 0.004,
                                           "non_structural_mass": 3.0}),
    ("PSHELL,2,1,.01,1,8.,1,.5", "", sheet(8.0, 0.5)),
    ("PCOMP,2,,,,,,,SYM\n,8,.001,45.,YES,,,-45.", ",30.", {"plies": plies(ANGLES), "direction": DIRECTION}),
    ("PCOMP   2               2.\n        8       .001    0.      NO              .002    30.", ",30.,.0007",
     {"plies": [*plies([0.0]), *plies([np.pi / 6], 2e-3)], "offset": -0.0007, "non_structural_mass": 2.0,
      "direction": DIRECTION}),
    ("PCOMP,2,-.0005\n,8,.001,0.,,1,.002", ",30.",
     {"plies": [*plies([0.0]), femb.Ply(0.002, 0.0, (E, E), METAL.shear_modulus, NU, RHO)], "offset": -0.001,
      "direction": DIRECTION}),
    ("PCOMPG,2\n,1,8,.001,45.,YES\n,2,8,.001,-45.", ",30.", {"plies": plies(ANGLES[:2]), "direction": DIRECTION}),
    ("CORD2R,7,,0.,0.,0.,0.,0.,1.\n,.8660254037844387,.5,0.\nPCOMP,2\n,8,.001,45.,,,,-45.", ",7",
     {"plies": plies(ANGLES[:2]), "direction": DIRECTION}),
]  # fmt: skip


@pytest.fixture
def as_shells(monkeypatch):
    """Quadrilaterals of decks as those of flat Shells: without the flexibility that NASTRAN's have beside, and with
    stiff drilling."""
    monkeypatch.setattr(bulk_shells, "elements_of", lambda *given, residual: elements_of(*given[:5], True))
    monkeypatch.setattr(bulk_shells, "_drill", lambda *_: None)


@pytest.mark.parametrize(("card", "rest", "words"), WALLS)
def test_walls_are_those_of_a_case(tmp_path, as_shells, card, rest, words):
    """Frequencies of a panel of PSHELL and PCOMP, with offsets, options and material directions."""
    path = file_of(tmp_path / "p.bdf", *grids(4, 2), *quads(4, 2, 2, rest), card, MATERIALS)
    found = reduce_mesh(path, [ROOT], 8)
    wanted = reduce_beams(panel(**words), "hub", {}, 8)
    np.testing.assert_allclose(found.free, wanted.free, rtol=1e-9)
    np.testing.assert_allclose(found.body.mass, panel(**words).tables["shells"]["p"].wall.mass[0] * 0.5, rtol=1e-12)


@pytest.mark.slow
def test_triangles_and_a_wall_that_does_not_shear(tmp_path):
    """Without MID3 a thick plate is as stiff as a thin one of the same bending stiffness; triangles are read."""
    cells = [card for k, card in enumerate(quads(8, 4, 2)) if k]
    cells += ["CTRIA3,90,2,1,2,11,90.", "CTRIA3,91,2,1,11,10"]
    thick = file_of(tmp_path / "a.bdf", *grids(8, 4), *cells, "PSHELL,2,1,.1,1", MATERIALS)
    thin = file_of(tmp_path / "b.bdf", *grids(8, 4), *cells, "PSHELL,2,1,.001,1,,1,,267.3", MATERIALS)
    roots = ["root=1,10,19,28,37"]
    ratio = reduce_mesh(thick, roots, 1).free / reduce_mesh(thin, roots, 1).free
    np.testing.assert_allclose(ratio, 1e3, rtol=4e-3)  # rotary inertia of the thick one


@pytest.mark.slow
def test_several_walls_in_one_file(tmp_path, as_shells):
    """Two properties side by side are two shells that share an edge; formats and unit are any."""
    cards, whole = grids(4, 2), quads(4, 2, 2)
    cells = [f"CQUAD4,{k + 1},{2 if k % 4 < 2 else 3}," + card.split(",", 3)[3] for k, card in enumerate(whole)]
    walls = ["PSHELL,2,1,.01,1,,1", "PCOMP,3,,,,,,,SYM\n,8,.001,45.,YES,,,-45."]
    found = reduce_mesh(file_of(tmp_path / "p.bdf", *cards, *cells, *walls, MATERIALS), [ROOT, "tip=5,10,15"], 6)
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=10.0, inertia=1.0))
    first = [[0, 0, 0], [0.5, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0]]
    second = [[0.5, 0, 0], [1, 0, 0], [1, 0.5, 0], [0.5, 0.5, 0]]
    model.add(femb.Shell("a", (2, 2), first, thickness=0.01, material=METAL, attach={"edge4": "hub"}))
    model.add(femb.RigidBody("end", mass=1e-9, inertia=1e-12, position=(1.0, 0.25, 0.0)))
    joined = {"edge4": {"shell": "a", "edge": "edge2"}, "edge2": "end"}
    model.add(femb.Shell("b", (2, 2), second, plies=plies(ANGLES), attach=joined))
    wanted = reduce_beams(model, "hub", {"tip": "bodies.end"}, 6)
    np.testing.assert_allclose(found.free, wanted.free, rtol=1e-8)
    # large format, and millimetres, tonnes and newtons
    large = [f"GRID*{k + 1:>19}{'':16}{1e3 * float(x[3]):16.9f}{1e3 * float(x[4]):16.9f}\n*{'':7}{0.0:16.9f}"
             for k, x in enumerate(card.split(",") for card in cards)]  # fmt: skip
    walls = ["PSHELL,2,1,10.,1,,1", "PCOMP,3,,,,,,,SYM\n,8,1.,45.,YES,,,-45."]
    materials = "MAT1,1,7.+4,,.3,2.7-9\nMAT8,8,1.3+5,9.+3,.3,5.+3,4.+3,3.+3,1.6-9"
    path = file_of(tmp_path / "mm.bdf", *large, *cells, *walls, materials)
    scaled = reduce_mesh(path, [ROOT, "tip=5,10,15"], 6, unit=1e-3)
    np.testing.assert_allclose(scaled.free, found.free, rtol=1e-9)
    np.testing.assert_allclose(scaled.body.inertia, found.body.inertia, rtol=1e-9, atol=1e-12)
    with_factor = file_of(tmp_path / "kg.bdf", *cards, *cells, "PARAM,WTMASS,4.", "PSHELL,2,1,.01,1,,1",
                          "PCOMP,3,,,,,,,SYM\n,8,.001,45.,YES,,,-45.", MATERIALS)  # fmt: skip
    np.testing.assert_allclose(reduce_mesh(with_factor, [ROOT], 3).body.mass, 4.0 * found.body.mass, rtol=1e-12)


def frequencies(K, M, count, shift=1.0):
    """(count,) Hz of the lowest modes: masses may be zero, and rigid motions free."""
    inverse = eigh(M, K + shift * M, eigvals_only=True)[::-1][:count]
    return np.sqrt(np.maximum(1.0 / inverse - shift, 0.0)) / (2.0 * np.pi)


def at_tip(reduction):
    """(6, 6) stiffness of the second interface with the first held, without a mass matrix."""
    return reduction.body.K[:6, :6]


def same_stiffness(found, wanted, rtol=1e-9):
    for one, other in ((at_tip(found), at_tip(wanted)),):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * np.abs(other).max())


def bars(count, extra=(), pbar="PBAR,2,1,1.-4,2.857142857142857-9,4.285714285714286-9,3.7142857142857143-9"):
    """A line of bars along x, 1 m long, whose plane 1 has the z axis."""
    points = [f"GRID,{k + 1},,{k / count!r},0.,0." for k in range(count + 1)]
    return [*points, *(f"CBAR,{k},2,{k},{k + 1},0.,0.,1." for k in range(1, count + 1)), pbar, MATERIALS, *extra]


def boom(count, stiffness=(300.0, 200.0), up=(0.0, 0.0, 1.0), **words):
    """The same of an exact beam, with what else is on it."""
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=10.0, inertia=1.0))
    y, z = stiffness
    section = femb.Section(
        "s", axial_stiffness=7e6, torsional_stiffness=1e2, bending_stiffness=stiffness, mass_per_length=0.27,
        inertia_per_length=(27e2 * (y + z) / 7e10, 27e2 * y / 7e10, 27e2 * z / 7e10), **words,
    )  # fmt: skip
    start = femb.Attachment("hub", direction=(1.0, 0.0, 0.0), up=up)
    model.add(femb.ExactBeam("b", section, 1.0, count, start=start))
    return model


@pytest.mark.slow
def test_bars_are_exact_beams(tmp_path):
    """I1 bends in the plane of the orientation vector; shear factors, products of inertia, PBEAM and shapes."""
    roots = ["root=1", "tip=4"]
    found = reduce_mesh(file_of(tmp_path / "a.bdf", *bars(3)), roots, 1)
    same_stiffness(found, reduce_beams(boom(3), "hub", {"tip": "beams.b.-1"}, 1))
    # cubics have the frequencies of the line to 0.02 % and 0.5 %
    exact = (
        np.array([1.8751041, 1.8751041, 4.6940911, 4.6940911]) ** 2
        * np.sqrt(np.array([200.0, 300.0, 200.0, 300.0]) / 0.27)
        / (2.0 * np.pi)
    )
    found = reduce_mesh(file_of(tmp_path / "a.bdf", *bars(3)), ["root=1"], 4).free
    np.testing.assert_allclose(found[:2], exact[:2], rtol=2e-4)
    np.testing.assert_allclose(found, exact, rtol=5e-3)
    shear = bars(
        3, pbar=f"PBAR,2,1,1.-4,2.857142857142857-9,4.285714285714286-9,{100 / METAL.shear_modulus!r}\n,\n,.5,.4"
    )
    G = METAL.shear_modulus
    wanted = reduce_beams(boom(3, shear_stiffness=(0.5e-4 * G, 0.4e-4 * G)), "hub", {"tip": "beams.b.-1"}, 1)
    same_stiffness(reduce_mesh(file_of(tmp_path / "b.bdf", *shear), roots, 1), wanted)


def test_open_shapes_shear_in_the_web_upright_and_in_the_flanges_across(tmp_path):
    web, flanges = 0.088 * 0.004, 2 * 0.05 * 0.006
    area = web + flanges
    first = 0.004 * 0.088**3 / 12 + 0.05 * (0.1**3 - 0.088**3) / 12
    second = (0.088 * 0.004**3 + 2 * 0.006 * 0.05**3) / 12
    torsion = (0.088 * 0.004**3 + 2 * 0.05 * 0.006**3) / 3
    direct = f"PBAR,2,1,{area!r},{first!r},{second!r},{torsion!r}\n,\n,{web / area!r},{flanges / area!r}"
    shaped = "PBARL,2,1,,I\n,.1,.05,.05,.004,.006,.006"
    files = [file_of(tmp_path / f"{k}.bdf", *bars(3, pbar=card)) for k, card in enumerate((direct, shaped))]
    same_stiffness(*(reduce_mesh(file, ["root=1", "tip=4"], 1) for file in files))


def test_product_of_inertia_turns_the_section(tmp_path):
    """Moments in axes at an angle, with their product, and the orientation vector turned back, are the same bar."""
    angle = 0.4
    c, s = float(np.cos(angle)), float(np.sin(angle))
    first, second = 2e-9, 6e-9  # int y2, int z2 in principal axes
    turned = c * c * first + s * s * second, s * s * first + c * c * second, -c * s * (first - second)
    bar = "PBAR,2,1,1.-4,{!r},{!r},1.-9\n,\n,,,{!r}"
    plain = [card.replace("0.,0.,1.", "0.,1.,0.") for card in bars(3, pbar=bar.format(first, second, 0.0))]
    # the y axis of the section at an angle behind that of the orientation vector
    other = [card.replace("0.,0.,1.", f"0.,{c!r},{s!r}") for card in bars(3, pbar=bar.format(*turned))]
    frequencies = [reduce_mesh(file_of(tmp_path / "a.bdf", *cards), ["root=1"], 8).free for cards in (plain, other)]
    np.testing.assert_allclose(frequencies[1], frequencies[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("card", "shape", "factor"),
    [
        ("PBARL,2,1,,TUBE\n,.02,.018,.3", {"tube": [0.02, 0.002]}, 0.5),
        ("PBARL,2,1,,TUBE2\n,.02,.002", {"tube": [0.02, 0.002]}, 0.5),
        ("PBARL,2,1,,BAR\n,.01,.03", {"rectangle": [0.03, 0.01]}, 5 / 6),
        # the factors, A, I1, I2 and J are those of the PBEAM in NASTRAN's results (fmondsp.op2, of pyNastran)
        (
            "PBEAML,2,1,,BOX\n,.6,.2,.0025,.0025,,YES,1.,.6\n,.2,.0025,.0025",
            {"box": [0.2, 0.6, 0.0025]},
            (78 / 318, 238 / 318),
        ),
        ("PBEAML,2,1,,ROD\n,.02", {"circle": 0.02}, 0.9),
        ("PBEAML,2,1,,BAR\n,.01,.03", {"rectangle": [0.03, 0.01]}, 5 / 6),
    ],
)
def test_shapes_of_sections(tmp_path, card, shape, factor):
    """Both shear; a station that repeats the first section leaves it uniform."""
    cards = bars(3, pbar=card)
    if card.startswith("PBEAML"):
        cards = [each.replace("CBAR", "CBEAM") for each in cards]
    found = reduce_mesh(file_of(tmp_path / "a.bdf", *cards), ["root=1", "tip=4"], 1)
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=10.0, inertia=1.0))
    torsion = {}
    if "box" in shape:
        y, z, t = shape["box"]
        torsion["torsion_constant"] = 2.0 * t * ((y - t) * (z - t)) ** 2 / (y + z - 2.0 * t)
        np.testing.assert_allclose(torsion["torsion_constant"], 8.75816113e-5, rtol=1e-7)
    plain = femb.Section("s", shape=shape, material=METAL, non_structural_mass=0.3 * (".018" in card), **torsion)
    shear = {"shear_stiffness": np.broadcast_to(factor, 2) * plain.area * METAL.shear_modulus}
    section = femb.Section("s", shape=shape, material=METAL, non_structural_mass=plain.non_structural_mass, **shear,
                           **torsion)  # fmt: skip
    start = femb.Attachment("hub", direction=(1.0, 0.0, 0.0), up=(0.0, 0.0, 1.0))
    model.add(femb.ExactBeam("b", section, 1.0, 3, start=start))
    same_stiffness(found, reduce_beams(model, "hub", {"tip": "beams.b.-1"}, 1))
    np.testing.assert_allclose(found.body.mass, RHO * plain.area + 0.3 * (".018" in card), rtol=1e-9)


@pytest.mark.slow
def test_masses_rigid_elements_and_offsets(tmp_path):
    """A body by CONM2 at the end of two rigid elements, and bars that are offset from their grids."""
    axes = "CORD2R,5,,0.,0.,0.,1.,0.,0.\n,0.,1.,0."  # z along x, x along y
    body = "CONM2,9,102,5,2.,.1,.2,.3\n,.03,.001,.04,.002,.003,.05"
    rigid = ["GRID,101,,1.,.2,0.", "GRID,102,,1.,.2,.5", "RBE2,50,4,123456,101", "RBE2,51,101,123456,102,1.-5"]
    moved = [card + ",\n,,,0.,.1,0.,0.,.1,0." if card.startswith("CBAR") else card for card in bars(3)]
    found = reduce_mesh(file_of(tmp_path / "a.bdf", *moved, *rigid, axes, body), ["root=1", "tip=4"], 4)
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=10.0, inertia=1.0))
    section = boom(3).tables["sections"]["s"]
    start = femb.Attachment("hub", at=(0.0, 0.1, 0.0), direction=(1.0, 0.0, 0.0), up=(0.0, 0.0, 1.0))
    model.add(femb.ExactBeam("b", section, 1.0, 3, start=start))
    R = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    J = np.array([[0.03, -0.001, -0.002], [-0.001, 0.04, -0.003], [-0.002, -0.003, 0.05]])
    centre = np.array([1.0, 0.2, 0.5]) + R @ [0.1, 0.2, 0.3]
    model.add(femb.RigidBody("tip", mass=2.0, inertia=R @ J @ R.T, position=centre))
    joint = femb.JointEnd(beam="b", node=-1), femb.JointEnd("tip", at=np.array([1.0, 0.1, 0.0]) - centre)
    model.add(femb.Fixed("weld", *joint))
    wanted = reduce_beams(model, "hub", {"tip": "bodies.tip"}, 4)
    np.testing.assert_allclose(found.body.mass, 2.27, rtol=1e-12)
    np.testing.assert_allclose(found.free[:4], wanted.free[:4], rtol=1e-4)
    basic = f"CONM2,9,102,-1,2.,{centre[0]!r},{centre[1]!r},{centre[2]!r}".replace("np.float64(", "").replace(")", "")
    turned = R @ J @ R.T
    values = (turned[0, 0], -turned[1, 0], turned[1, 1], -turned[2, 0], -turned[2, 1], turned[2, 2])
    basic += "\n," + ",".join(repr(float(value)) for value in values)
    other = reduce_mesh(file_of(tmp_path / "b.bdf", *moved, *rigid, basic), ["root=1", "tip=4"], 4)
    np.testing.assert_allclose(other.free, found.free, rtol=1e-9)


def test_rigid_elements_of_some_components(tmp_path):
    """A bar clamped at one end and pinned at the other by RBE2 of 123, in axes of the grid."""
    axes = "CORD2R,5,,0.,0.,0.,1.,0.,0.\n,0.,1.,0."
    cards = [card + ",5" if card.startswith("GRID,17") else card for card in bars(16)]
    turned = "PBAR,3,1,1.,1.,1.,1."
    far = ["GRID,100,,1.,0.,0.", "GRID,101,,2.,0.,0.", "CBAR,99,3,100,101,0.,0.,1.", "RBE2,9,100,123,17"]
    fe = read_structure(file_of(tmp_path / "a.bdf", *cards, axes, turned, *far))
    held = np.isin(fe.numbers[fe.node_of], [1, 100, 101])
    free = null_space(np.vstack([fe.joints.toarray(), np.eye(fe.size)[held]]))
    K, M = (free.T @ each.toarray() @ free for each in (fe.stiffness, fe.mass))
    found = 2.0 * np.pi * frequencies(K, M, 2)
    np.testing.assert_allclose(found, 3.926602**2 * np.sqrt(np.array([200.0, 300.0]) / 0.27), rtol=1e-3)


@pytest.mark.slow
def test_means_of_grids_are_interfaces_of_means(tmp_path):
    """The reference grid of an RBE3 moves as a mean interface; of part of the components and with weights too."""
    cards = [*grids(4, 2), *quads(4, 2, 2), "PSHELL,2,1,.01,1,,1", MATERIALS]
    plain = file_of(tmp_path / "a.bdf", *cards)
    ref = ["GRID,100,,1.,.25,0.", "RBE3,9,,100,123456,1.,123,5,9\n,10,15"]
    tied = file_of(tmp_path / "b.bdf", *cards, *ref)
    wanted = reduce_mesh(plain, [ROOT, "tip=5,9,10,15:mean@1,0.25,0"], 6)
    found = reduce_mesh(tied, [ROOT, "tip=100"], 6)
    np.testing.assert_allclose(found.held, wanted.held, rtol=1e-8)
    np.testing.assert_allclose(found.free, wanted.free, rtol=1e-8)
    np.testing.assert_allclose(found.body.K[:6, :6], wanted.body.K[:6, :6], rtol=1e-6, atol=1e-6 * wanted.body.K[0, 0])
    # weights, and rotations of a grid
    ref = ["GRID,100,,1.,.125,0.", "RBE3,9,,100,12356,3.,123,5,1.,\n,123,1,1.,1346,10", "RBE3,8,,100,4,1.,123456,5"]
    axes = [card + ",7" if card.startswith("GRID,10,") else card for card in cards]
    fe = read_structure(file_of(tmp_path / "c.bdf", *axes, *ref, TURNED))
    row = {int(number): fe.dofs[k] for k, number in enumerate(fe.numbers)}
    ties = fe.joints.toarray()
    np.testing.assert_allclose(ties @ fe.rigid_motions(np.array([0.3, -0.2, 0.1])), 0.0, atol=1e-12)
    # the motion of least squares, by weights on the equations; of the grid in turned axes y, x, ry and rx
    arms = np.array([[0.0, -0.125, 0.0], [-1.0, -0.125, 0.0], [0.0, 0.125, 0.0]])
    turns = np.mean(np.linalg.norm(arms, axis=1)) ** 2
    A = np.vstack([[np.hstack([np.eye(3), np.cross(np.eye(3), arm).T]), np.eye(6)[3:]] for arm in arms]).reshape(-1, 6)
    weights = np.array([[3.0] * 3 + [0.0] * 3, [1.0] * 3 + [0.0] * 3, [1.0, 1.0, 0.0, turns, turns, 0.0]]).ravel()
    fit = np.linalg.solve(A.T * weights @ A, A.T * weights)
    places = np.concatenate([row[number] for number in (5, 1, 10)])
    np.testing.assert_allclose(ties[:5][:, places], -fit[[0, 1, 2, 4, 5]], atol=1e-12)
    np.testing.assert_allclose(ties[5, [row[100][3], row[5][3]]], [1.0, -1.0], atol=1e-12)


PBAR = "PBAR,5,1,1.-4,2.-9,6.-9,3.-9"


def stiffened(path, *cards):
    """A panel with bars along an edge, reduced."""
    shell = "PSHELL,2,1,.01,1,,1"
    return reduce_mesh(file_of(path, *grids(4, 2), *quads(4, 2, 2), shell, *cards, MATERIALS), [ROOT, "tip=5"], 8)


@pytest.mark.slow
def test_shells_and_bars_share_grids(tmp_path, as_shells):
    """A stiffener of bars along the edge of a panel, on its surface, beside femb's own stiffener."""
    found = stiffened(tmp_path / "p.bdf", *(f"CBAR,{90 + k},5,{k},{k + 1},0.,0.,1." for k in range(1, 5)), PBAR)
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=10.0, inertia=1.0))
    K = np.diag([E * 1e-4, METAL.shear_modulus * 3e-9, E * 6e-9, E * 2e-9])
    section = femb.Section(
        "s", stiffness_matrix=K, mass_per_length=0.27, inertia_per_length=(8e-9 * RHO, 6e-9 * RHO, 2e-9 * RHO)
    )
    start = femb.Attachment("hub", direction=(1.0, 0.0, 0.0), up=(0.0, 0.0, 1.0))
    model.add(femb.ExactBeam("s", section, 1.0, 4, start=start))
    corners = [[0, 0, 0], [1, 0, 0], [1, 0.5, 0], [0, 0.5, 0]]
    attach = {"edge4": "hub", "edge1": {"beam": "s"}}
    wall = {"thickness": 0.01, "material": METAL}
    model.add(femb.Shell("p", (4, 2), corners, attach=attach, **wall))
    model.add(femb.RigidBody("tip", mass=1e-9, inertia=1e-12, position=(1.0, 0.0, 0.0)))
    model.add(femb.Fixed("weld", femb.JointEnd(beam="s", node=-1), femb.JointEnd("tip")))
    wanted = reduce_beams(model, "hub", {"tip": "bodies.tip"}, 8)
    same_stiffness(found, wanted)
    np.testing.assert_allclose(found.free[:6], wanted.free[:6], rtol=5e-4)


def test_offsets_of_bars_are_rigid_elements(tmp_path, as_shells):
    """Bars beside the surface of a panel, by their offsets and by grids of their own."""
    offset = [f"CBAR,{90 + k},5,{k},{k + 1},0.,0.,1.,,\n,,,0.,0.,-.02,0.,0.,-.02" for k in range(1, 5)]
    own = [f"GRID,{50 + k},,{0.25 * (k - 1)!r},0.,-.02" for k in range(1, 6)]
    ties = [f"RBE2,{70 + k},{k},123456,{50 + k}" for k in range(1, 6)]
    beside = [f"CBAR,{90 + k},5,{50 + k},{51 + k},0.,0.,1." for k in range(1, 5)]
    found, wanted = (
        stiffened(tmp_path / "a.bdf", *offset, PBAR),
        stiffened(tmp_path / "b.bdf", *own, *ties, *beside, PBAR),
    )
    same_stiffness(found, wanted)
    np.testing.assert_allclose(found.free[:6], wanted.free[:6], rtol=1e-8)


def test_solids_have_the_materials_of_their_file(tmp_path):
    """Two bricks of 20 nodes, whose nodes in the middle of edges are in the order of the guide, as of another mesh."""
    pytest.importorskip("skfem", reason="scikit-fem, the extra fem, is not installed")
    words = {"youngs_modulus": E, "poissons_ratio": NU, "density": RHO}
    x, y, z = np.meshgrid(np.linspace(0.0, 0.4, 5), [-0.05, 0.0, 0.05], [-0.025, 0.0, 0.025], indexing="ij")
    text = "000200220020002202222022100210120010102212122012001201221021"
    first = np.array([*map(int, text)]).reshape(20, 3) @ [9, 3, 1]
    nodes = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    mesh = meshio.Mesh(nodes, [("hexahedron20", np.array([first, first + 18]))])
    mesh.write(tmp_path / "bar.vtu")
    wanted = reduce_mesh(tmp_path / "bar.vtu", ["root=x=0"], 3, **words)
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 5), (2, 6), (3, 7), (4, 5), (5, 6), (6, 7), (7, 4)]
    cards = [f"GRID,{k + 1},,{x!r},{y!r},{z!r}" for k, (x, y, z) in enumerate(mesh.points.tolist())]
    for number, cell in enumerate(mesh.cells_dict["hexahedron20"], 1):
        corners = mesh.points[cell[:8]]
        middles = [np.linalg.norm(mesh.points - corners[[a, b]].mean(axis=0), axis=1).argmin() for a, b in edges]
        grids = [str(k + 1) for k in (*cell[:8], *middles)]
        lines = [grids[:6], grids[6:14], grids[14:]]
        cards.append(f"CHEXA,{number},4," + "\n,".join(",".join(line) for line in lines))
    path = file_of(tmp_path / "bar.bdf", *cards, "PSOLID,4,1,,,,FULL", MATERIALS)
    found = reduce_mesh(path, ["root=x=0"], 3)
    np.testing.assert_allclose(found.free, wanted.free, rtol=1e-9)
    assert found.body.second_order
    with pytest.raises(ModelError, match="CTETRA 9: has 3 grids, wanted 4 to 10"):
        reduce_mesh(file_of(path, *cards, "PSOLID,4,1", "CTETRA,9,4,1,2,3", MATERIALS), ["root=x=0"], 3)


@pytest.mark.slow
def test_a_truss_has_the_frequencies_that_nastran_prints():
    """117 bars with grids for orientation and a rigid element, of the data of pyyeti's tests (BSD), free."""
    fe = read_structure(FILES / "nastran" / "full.dat")
    rigid = fe.rigid_motions(np.zeros(3))
    whole = rigid.T @ (fe.mass @ rigid)
    np.testing.assert_allclose(whole[0, 0], 3.345436, rtol=2e-7)
    np.testing.assert_allclose(whole[4, [0, 2]], [501.8153, -2118.899], rtol=2e-7)
    printed = [1.698800, 1.767487, 1.857720, 3.419612, 7.024210, 7.025409, 10.72361, 10.98255, 13.86678, 14.38990]
    found = frequencies(fe.stiffness.toarray(), fe.mass.toarray(), 16)[6:]
    np.testing.assert_allclose(found, printed, rtol=1e-5)
    # the last are those of bars that stretch
    printed = [383.1367, 936.38, 2098.647, 3266.078, 7057.95, 7062.581]
    found = frequencies(fe.stiffness.toarray(), fe.mass.toarray(), 278)[[99, 149, 199, 239, 276, 277]]
    np.testing.assert_allclose(found, printed, rtol=1e-5)


def deflections(path, held, loads):
    """(grids, 6) by forces on grids, with held components (1 to 6) by grid."""
    fe = read_structure(path)
    row = {int(number): fe.dofs[k] for k, number in enumerate(fe.numbers)}
    free = np.ones(fe.size, dtype=bool)
    for grid, components in held.items():
        free[row[grid][[int(digit) - 1 for digit in components]]] = False
    force, moved = np.zeros(fe.size), np.zeros(fe.size)
    for grid, values in loads.items():
        force[row[grid][:3]] = values
    moved[free] = np.linalg.solve(fe.stiffness.toarray()[np.ix_(free, free)], force[free])
    return {grid: moved[dofs] for grid, dofs in row.items()}


def test_an_unsymmetric_beam_and_a_laminate_move_as_nastran_prints(tmp_path):
    """A channel with offsets, shear factors and a neutral axis beside its shear centre (cantilever_2014.1), and a
    laminate that is stretched (v10112), of the models of pyNastran."""
    pbeam = ["PBEAM,1,1,1.84375,27.7245,.488696,0.,.00960286", ",5.5,2.43802,-5.5,2.43802,-5.5,.438021,5.5,.438021",
             ",.728814,.254237,,,,,10.9761,10.9761", ",,,,,0.,.754758,0.,.754758"]  # fmt: skip
    points = [f"GRID,{k + 1},,{k}.,0.,0." for k in range(11)]
    cells = [f"CBEAM,{k},1,{k},{k + 1},0.,0.,1.\n,,,0.,.438,0.,0.,.438,0." for k in range(1, 11)]
    beam = file_of(tmp_path / "a.bdf", *points, *cells, *pbeam, "MAT1,1,2.+6,,.3,7.8-4")
    found = deflections(beam, {1: "123456"}, {11: (0.0, 0.0, -1000.0)})
    np.testing.assert_allclose(found[2][2:5], [-2.7025748e-2, 5.9294838e-2, 1.7132860e-4], rtol=1e-6)
    np.testing.assert_allclose(found[11][2:5], [-2.7539733e-1, 5.9294838e-1, 9.0172951e-4], rtol=1e-7)
    cards = ["GRID,1,,0.,0.,0.", "GRID,2,,1.,0.,0.", "GRID,3,,1.,1.,0.", "GRID,4,,0.,1.,0.", "CQUAD4,1,2,1,2,3,4,0.",
             "MAT8,1,7.8+6,2.6+6,.25,1.25+6,4.+3,20.+3,6.+3", "PCOMP,2,,,1.+10,HILL,0.",
             ",1,1.,0.,YES,1,10.,90.,YES\n,1,1.,0.,YES"]  # fmt: skip
    held = {1: "123456", 2: "6", 3: "6", 4: "16"}
    found = deflections(file_of(tmp_path / "b.bdf", *cards), held, {2: (6.0, 0.0, 0.0), 3: (6.0, 0.0, 0.0)})
    np.testing.assert_allclose(found[3][:2], [2.8750574e-7, -2.6953662e-8], rtol=1e-7)


def test_rods_of_a_library_shear_as_in_nastran(tmp_path):
    """PBARL and PBEAML of one beam have the factor 0.9: with masses at grids, four printed frequencies (beam_modes)."""
    points = [f"GRID,{k + 1},,{k}.,0.,0." for k in range(11)]
    cells = [f"{'CBAR' if k < 10 else 'CBEAM'},{k},{1 if k < 10 else 3},{k},{k + 1},0.,1.,0." for k in range(1, 11)]
    sections = ["PBARL,1,2,MSCBML0,ROD\n,1.,0.", "PBEAML,3,2,MSCBML0,ROD\n,1.,0.", "PROD,2,2,1."]
    material = "MAT1,2,3.+7,1.1628+7,.29,7.4851-4"
    fe = read_structure(file_of(tmp_path / "a.bdf", *points, *cells, *sections, material))
    order = fe.dofs[np.argsort(fe.numbers)][1:].ravel()
    K = fe.stiffness.toarray()[np.ix_(order, order)]
    mass = np.zeros((10, 6))
    shares = np.where(np.arange(10) < 9, 1.0, 0.5)[:, None] * 7.4851e-4
    mass[:, :3] = np.pi * shares
    mass[-2:, 3] = 0.5 * np.pi * shares[-1]  # a CBAR of NASTRAN has no inertia about its line, a CBEAM has
    mass[-1] += 2.59e-3
    F = np.linalg.inv(K)[np.ix_(mass.ravel() > 0.0, mass.ravel() > 0.0)]
    root = np.sqrt(mass[mass > 0.0])
    found = np.sort(np.linalg.eigvalsh(root[:, None] * F * root))[::-1] ** -0.5 / (2.0 * np.pi)
    printed = [456.66033867, 456.66033867, 2674.58748695, 2674.58748695, 3554.92300132, 4507.48720323, 6626.10398265]
    np.testing.assert_allclose(found[:7], printed, rtol=1e-7)


def test_rods_and_springs(tmp_path):
    """Closed forms between two bodies; rigid motion costs nothing; a bush is one at the ends of two RBAR."""
    both = ["GRID,1,,0.,0.,0.", "GRID,2,,0.,.5,0.", "CONM2,8,1,,2.\n,.1,,.2,,,.3", "CONM2,9,2,,3.\n,.1,,.2,,,.3"]
    joins = {
        "CROD,5,4,1,2\nPROD,4,1,1.-4,2.-9": (E * 1e-4 / 0.5, METAL.shear_modulus * 2e-9 / 0.5),
        "CONROD,5,1,2,1,1.-4,2.-9": (E * 1e-4 / 0.5, METAL.shear_modulus * 2e-9 / 0.5),
        "CELAS2,5,1000.,1,2,2,2\nCELAS1,6,4,1,5,2,5\nPELAS,3,7.,,,4,50.": (1000.0, 50.0),
        "CBUSH,5,4,1,2\nPBUSH,4,K,1000.,,,50.\n,,B,3.": (1000.0, 50.0),
    }
    for join, (axial, torsion) in joins.items():
        rod = 0.0 if "CELAS" in join or "PBUSH" in join else 0.5 * 1e-4 * RHO
        fe = read_structure(file_of(tmp_path / "a.bdf", *both, join, MATERIALS))
        np.testing.assert_allclose(fe.stiffness @ fe.rigid_motions(np.zeros(3)), 0.0, atol=1e-6)
        along = fe.dofs[:, [1, 4]].ravel()
        M = fe.mass.toarray()
        # of a rod half the mass is lumped and half consistent along its line, all lumped across, as NASTRAN has it
        m = np.diag([2.0, 3.0]) + rod / 12.0 * np.array([[5.0, 1.0], [1.0, 5.0]])
        np.testing.assert_allclose(M[np.ix_(fe.dofs[:, 1], fe.dofs[:, 1])], m, rtol=1e-12)
        np.testing.assert_allclose(np.diag(M)[fe.dofs[:, 0]], np.array([2.0, 3.0]) + 0.5 * rod, rtol=1e-12)
        squares = np.sort(
            eigh(fe.stiffness.toarray()[np.ix_(along, along)], M[np.ix_(along, along)], eigvals_only=True)
        )
        wanted = np.sort([axial * np.sum([[1.0, -1.0], [-1.0, 1.0]] * np.linalg.inv(m)), torsion * 2.0 / 0.2])
        np.testing.assert_allclose(squares[2:], wanted, rtol=1e-9)
    bush = "CBUSH,5,4,1,2,0.,0.,1.\n,.2\nPBUSH,4,K,1.+3,2.+3,3.+3,4.,5.,6."
    found = read_structure(file_of(tmp_path / "b.bdf", *both, bush, MATERIALS)).stiffness.toarray()
    meeting = ["GRID,3,,0.,.1,0.", "GRID,4,,0.,.1,0.", "RBAR,1,1,3,123456", "RBAR,2,4,2,,123456,123456"]
    system = "CORD2R,7,,0.,0.,0.,1.,0.,0.\n,0.,1.,0."  # z along x, x along y, y along z
    bush = "CBUSH,5,4,3,4,,,,7\nPBUSH,4,K,1.+3,2.+3,3.+3,4.,5.,6."
    other = read_structure(file_of(tmp_path / "c.bdf", *both, *meeting, system, bush, MATERIALS))
    np.testing.assert_allclose(other.stiffness.toarray(), found, atol=1e-9)


# the same joins in m, kg, N and in mm, t, N
BOTH = {
    1.0: ["GRID,1,,0.,0.,0.", "GRID,2,,.3,.5,.1", "CONM2,8,1,,2.\n,.1,,.2,,,.3", "CONM2,9,2,,3.\n,.1,,.2,,,.3"],
    1e-3: ["GRID,1,,0.,0.,0.", "GRID,2,,300.,500.,100.", "CONM2,8,1,,.002\n,100.,,200.,,,300.",
           "CONM2,9,2,,.003\n,100.,,200.,,,300."],
}  # fmt: skip
METALS = {1.0: MATERIALS, 1e-3: "MAT1,1,7.+4,,.3,2.7-9\n"}
JOINS = {
    "rod": ("CROD,5,4,1,2\nPROD,4,1,1.-4,2.-9,,.5", "CROD,5,4,1,2\nPROD,4,1,100.,2000.,,5.-7"),
    "conrod": ("CONROD,5,1,2,1,1.-4,2.-9,,.5", "CONROD,5,1,2,1,100.,2000.,,5.-7"),
    "scalar": ("CELAS2,5,1000.,1,2,2,2", "CELAS2,5,1.,1,2,2,2"),
    "turn": ("CELAS1,6,4,1,5,2,5\nPELAS,4,50.", "CELAS1,6,4,1,5,2,5\nPELAS,4,50000."),
    "bush": ("CBUSH,5,4,1,2,0.,0.,1.\n,.2\nPBUSH,4,K,1.+3,2.+3,3.+3,4.,5.,6.",
             "CBUSH,5,4,1,2,0.,0.,1.\n,.2\nPBUSH,4,K,1.,2.,3.,4.+3,5.+3,6.+3"),
    "rigid": ("GRID,3,,.1,.2,.3\nRBE2,7,1,123456,3\nCELAS2,5,1000.,3,2,2,2",
              "GRID,3,,100.,200.,300.\nRBE2,7,1,123456,3\nCELAS2,5,1.,3,2,2,2"),
    "matrix": ("CELAS2,6,1000.,1,2,2,2\nCONM1,5,1,,2.,,2.\n,2.,,-.4,,.3,.4\n,,.3,,,,,,.2",
               "CELAS2,6,1.,1,2,2,2\nCONM1,5,1,,.002,,.002\n,.002,,-.4,,300.,.4\n,,300.,,,,,,200."),
    "gap": ("CGAP,5,4,1,2\nPGAP,4,0.,,1000.,2.", "CGAP,5,4,1,2\nPGAP,4,0.,,1.,3."),
    "equation": ("CELAS2,6,1000.,1,2,2,2\nMPC,1,2,2,1.,1,2,-1.\n,,1,6,-.3,1,4,.1",
                 "CELAS2,6,1.,1,2,2,2\nMPC,1,2,2,1.,1,2,-1.\n,,1,6,-300.,1,4,100."),
}  # fmt: skip


@pytest.mark.parametrize("join", JOINS)
def test_rods_springs_and_rigid_elements_in_millimetres(tmp_path, join):
    """Stiffness and mass of two bodies and what joins them are those of the same file in metres."""
    found = []
    for (unit, both), cards in zip(BOTH.items(), JOINS[join], strict=True):
        path = file_of(tmp_path / f"{len(found)}.bdf", *both, cards, METALS[unit])
        fe = read_structure(path, unit)
        order = fe.dofs[np.argsort(fe.numbers)].ravel()
        found.append([each.toarray()[np.ix_(order, order)] for each in (fe.stiffness, fe.mass)])
        if fe.joints is not None:
            found[-1].append(fe.joints.toarray()[:, order])
            np.testing.assert_allclose(fe.joints @ fe.rigid_motions(np.zeros(3)), 0.0, atol=1e-12)
    for mine, other in zip(*found, strict=True):
        assert np.abs(mine).max() > 0.0
        np.testing.assert_allclose(other, mine, rtol=1e-10, atol=1e-12 * np.abs(mine).max())


def test_springs_between_displacements_and_rotations_in_millimetres(tmp_path):
    """The force K (theta - u) of K in N/mm and u in mm turns by K u 1 mm."""
    fe = read_structure(file_of(tmp_path / "a.bdf", *BOTH[1e-3], "CELAS2,5,7.,1,2,2,6", METALS[1e-3]), 1e-3)
    ends = fe.dofs[np.argsort(fe.numbers)][[0, 1], [1, 5]]
    wanted = 7e3 * np.array([[1.0, -1e-3], [-1e-3, 1e-6]])
    np.testing.assert_allclose(fe.stiffness.toarray()[np.ix_(ends, ends)], wanted, rtol=1e-12)


def test_a_product_of_inertia_leaves_shear_factors_out_and_a_chosen_set_other_equations(tmp_path):
    both, line = (
        ["GRID,1,,0.,0.,0.", "GRID,2,,1.,0.,0.", MATERIALS, "CBAR,1,2,1,2,0.,0.,1."],
        "PBAR,2,1,1.-4,2.-9,3.-9,4.-9",
    )
    plain, given = (
        file_of(tmp_path / f"a{k}.bdf", *both, f"{line},,\n,\n,{of},1.-9") for k, of in enumerate((",", ",.4"))
    )
    with pytest.warns(femb.FembWarning, match="PBAR 2: K1 and K2 are ignored, since I12 is not 0"):
        found = read_structure(given).stiffness.toarray()
    np.testing.assert_array_equal(read_structure(plain).stiffness.toarray(), found)
    path = file_of(tmp_path / "b.bdf", *both, line, "MPC,1,2,2,1.,1,2,-1.")
    assert read_structure(path).joints.shape[0] == 1
    path.write_text(path.read_text().replace("CEND", "CEND\nSPC = 3"))
    assert read_structure(path).joints is None


TURNED = "CORD2R,7,,0.,0.,0.,1.,0.,0.\n,0.,1.,0."  # z along x, x along y, y along z
COMPONENTS = {
    "scalar": ("CELAS2,5,1000.,1,{0},2,{0}", [(1, 2), (2, 3), (3, 1)]),
    "turn": ("CELAS2,5,50.,1,{0},2,{0}", [(4, 5), (5, 6), (6, 4)]),
    "bush": ("CBUSH,5,4,1,2,{0}\nPBUSH,4,K,1.+3,2.+3,3.+3,4.,5.,6.", [("0.,0.,1.", "1.,0.,0.")]),
    "rigid": ("CELAS2,5,1000.,1,{1},2,{1}\nCELAS2,6,50.,1,{2},2,{2}\nRBE2,7,1,{0},2",
              [((1, 2, 5), (2, 3, 6)), ((13, 1, 4), (12, 2, 5)), ((45, 3, 6), (56, 1, 4))]),
}  # fmt: skip
CASES_OF_AXES = [(name, own, basic) for name, (_, pairs) in COMPONENTS.items() for own, basic in pairs]


@pytest.mark.parametrize(("join", "own", "basic"), CASES_OF_AXES)
def test_components_are_along_the_displacement_axes_of_grids(tmp_path, join, own, basic):
    """In turned axes a component is that of the basic axis that it is along: the same frequencies of two bodies."""
    found = []
    for axes, which in (("7", own), ("", basic)):
        both = [card + f",{axes}" if card.startswith("GRID") else card for card in BOTH[1.0]]
        both = [card.replace("CONM2,8,1,,", "CONM2,8,1,0,").replace("CONM2,9,2,,", "CONM2,9,2,0,") for card in both]
        values = which if isinstance(which, tuple) else (which,)
        card = COMPONENTS[join][0].format(*values, *[""] * 2)
        fe = read_structure(file_of(tmp_path / f"{len(found)}.bdf", *both, TURNED, card, MATERIALS))
        free = null_space(fe.joints.toarray()) if fe.joints is not None else np.eye(fe.size)
        K, M = (free.T @ each.toarray() @ free for each in (fe.stiffness, fe.mass))
        found.append(eigh(K, M, eigvals_only=True))
    assert found[0].max() > 1.0
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-9 * found[1].max())


@pytest.mark.slow
def test_a_shell_of_a_case_takes_the_walls_of_its_file(tmp_path):
    """As the panel of corners; a group is one property, grids are sets, plies have stresses; a wall goes before."""
    cards = [*grids(4, 2), *quads(4, 2, 2, ",30."), "PCOMP,2,,,,,,,SYM\n,8,.001,45.,YES,,,-45.", MATERIALS]
    path = file_of(tmp_path / "p.bdf", *cards)
    case = tmp_path / "case.toml"
    case.write_text('[shells.p]\nmesh = "p.bdf"\nattach = { "1,6,11" = "ground" }\npoints = { tip = "5" }\n')
    model = femb.load_case(case).model
    own = panel(plies=plies(ANGLES), direction=DIRECTION)
    wanted = femb.modes(own, 6, held="hub").frequencies
    np.testing.assert_allclose(femb.modes(model, 6).frequencies, wanted, rtol=1e-9)
    model.add(femb.Load("push", "p.tip", force=(0.0, 0.0, 1.0)))
    assert femb.static(model).shells["p"].ply_stress.shape[2] == 4
    whole = femb.Shell("q", mesh=path, group="property 2")
    assert len(whole.geometry.quads) == 8
    refuses("group: got 'property 3'; did you mean 'property 2'", femb.Shell, "q", mesh=path, group="property 3")
    refuses(r"offset: given without a wall: .*has them", femb.Shell, "q", mesh=path, offset=0.1)
    with pytest.warns(FembWarning, match="PCOMP: are not read"):
        thick = femb.Shell("q", mesh=path, thickness=0.01, material=METAL)
    assert thick.wall.mass[0] == pytest.approx(27.0)


@pytest.mark.slow
def test_the_command_reduces_a_file(tmp_path):
    """With supports left out and said; the body is that of Python. A folded box has axes of nodes everywhere."""
    cards = [*grids(4, 2), *quads(4, 2, 2), "PSHELL,2,1,.01,1,,1", MATERIALS, "SPC1,1,123456,1", "EIGRL,1,,,3"]
    path, out = file_of(tmp_path / "p.bdf", *cards), tmp_path / "p.npz"
    text = said("reduce", path, "--interfaces", ROOT, "--interfaces", "tip=5", "--modes", "4", "--out", out)
    assert "1 m long, 13.5 kg" in text
    assert "SPC1: supports are left out" in text
    body = read_reduced_body(out)
    assert body.interface_names == ("root", "tip")
    assert body.cells["quad"].shape == (8, 4)
    assert "node 77 is not in the model" in said("reduce", path, "--interfaces", "root=77", "--modes", "2", code=2)
    fold = ["GRID,20,,0.,0.,.5", "GRID,21,,.25,0.,.5", "CQUAD4,77,2,2,1,20,21"]
    assert len(reduce_mesh(file_of(tmp_path / "f.bdf", *cards[:-2], *fold), [ROOT], 2).free) == 2


def test_arcs_have_the_deflections_of_thin_rings(tmp_path):
    """A quarter of a ring that is held at one end, loaded at the other along both directions and out of its plane."""
    cards = ["GRID,1,,2.,0.,0.", "GRID,2,,0.,2.,0.", "CBEND,1,1,1,2,-1.,0.,0.,1", "PBEND,1,1,1.,1.-4,1.-4,2.-4",
             "MAT1,1,1.+9,,.3,1."]  # fmt: skip
    K = read_structure(file_of(tmp_path / "a.bdf", *cards)).stiffness.toarray()[6:, 6:]
    EI, GJ, R = 1e5, 1e9 / 2.6 * 2e-4, 2.0
    round_in_plane = 0.75 * np.pi - 2.0
    wanted = R**3 * np.array([round_in_plane / EI, 0.25 * np.pi / EI, 0.25 * np.pi / EI + round_in_plane / GJ])
    np.testing.assert_allclose(np.diag(np.linalg.inv(K))[:3], wanted, rtol=1e-4)


@pytest.mark.parametrize("kind", ["CQUAD8", "CTRIA6"])
def test_curved_shells_bend_and_stretch_as_beams(tmp_path, kind):
    """Four elements along a strip, held at one end: the deflections of a cantilever in three directions."""
    numbers, cards = {}, []

    def grid(i, j):
        if (i, j) not in numbers:
            numbers[i, j] = len(numbers) + 1
            cards.append(f"GRID,{numbers[i, j]},,{i / 8!r},{j / 10!r},0.")
        return numbers[i, j]

    for k in range(4):
        a, b, c, d, ab, bc, cd, da = (
            grid(2 * k + i, j) for i, j in ((0, 0), (2, 0), (2, 2), (0, 2), (1, 0), (2, 1), (1, 2), (0, 1))
        )
        if kind == "CQUAD8":
            cards.append(f"CQUAD8,{k + 1},1,{a},{b},{c},{d},{ab},{bc}\n,{cd},{da}")
        else:
            middle = grid(2 * k + 1, 1)
            cards += [f"CTRIA6,{k + 1},1,{a},{b},{c},{ab},{bc},{middle}"]
            cards += [f"CTRIA6,{k + 11},1,{a},{c},{d},{middle},{cd},{da}"]
    cards += ["PSHELL,1,1,.02,1,,1", "MAT1,1,1.+9,,0.,1000."]
    fe = read_structure(file_of(tmp_path / "a.bdf", *cards))
    root, tip = (np.flatnonzero(fe.nodes[:, 0] == x) for x in (0.0, 1.0))
    free = np.setdiff1d(np.arange(fe.size), fe.dofs[root].ravel())
    tip = tip[np.argsort(fe.nodes[tip, 1])]
    flexible = np.linalg.inv(fe.stiffness.toarray()[np.ix_(free, free)])
    exact = [1 / (1e9 * 0.004), 1 / (3e9 * 0.02 * 0.2**3 / 12) + 1.2 / (5e8 * 0.004), 1 / (3e9 * 0.2 * 0.02**3 / 12)]
    for c, wanted in enumerate(exact):
        force = np.zeros(fe.size)
        force[fe.dofs[tip, c]] = np.array([1.0, 4.0, 1.0]) / 6.0
        assert force[free] @ flexible @ force[free] == pytest.approx(wanted, rel=0.011)
    D = fe.rigid_motions(np.zeros(3))
    np.testing.assert_allclose(D.T @ fe.mass @ D[:, :3], (D.T @ fe.mass @ D)[:, :3], rtol=1e-12)
    assert (D.T @ fe.mass @ D)[0, 0] == pytest.approx(4.0, rel=1e-12)
    np.testing.assert_allclose(fe.stiffness @ D, 0.0, atol=1e-9 * np.abs(fe.stiffness).max())


def test_formats_includes_and_repetition(tmp_path):
    """The same strip of plate written plainly; with includes, repetition, continuations out of order and defaults."""
    plain = [*grids(4, 1), *quads(4, 1, 2), "PSHELL,2,1,.01,1,,1", MATERIALS, "CONM2,50,5,,2.,.1"]
    wanted = read_structure(file_of(tmp_path / "a.bdf", *plain))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "inner.inc").write_text("PSHELL,2,1,1.-2,1,,1\n")
    (tmp_path / "parts" / "walls.inc").write_text("INCLUDE 'inner.inc'\n" + MATERIALS)
    other = [
        "GRID,1,,0.,0.,0.", "=,*1,=,*.25,==", "=(3)", "GRID,6,,0.,.5,0.", "=,*(1),=,*(.25),==", "=3",
        "CQUAD4,1,2,1,2,7,6", "=,*1,=,*1,*1,*1,*1", "=2", "INCLUDE 'parts/", "walls.inc'",
        "CONM2*  50              5                               2.              *C1",
        "*C1     .1",
    ]  # fmt: skip
    found = read_structure(file_of(tmp_path / "b.bdf", *other))
    for mine, its in ((found.stiffness, wanted.stiffness), (found.mass, wanted.mass)):
        np.testing.assert_allclose(mine.toarray(), its.toarray(), rtol=1e-12, atol=1e-9 * np.abs(its).max())
    logical = file_of(tmp_path / "c.bdf", *other[:9], "INCLUDE 'LIBRARY:walls.inc'", *other[11:])
    refuses("LIBRARY is no folder: give --logical LIBRARY=DIR", read_structure, logical, error=ResultError)
    again = read_structure(logical, logical={"LIBRARY": str(tmp_path / "parts")})
    folder = f"LIBRARY={tmp_path / 'parts'}"
    words = "--logical", folder, "--interfaces", "root=1,6", "--modes", "2", "--units", "mm-t-s"
    words += "--out", str(tmp_path / "body.npz")
    assert "0.001 m long" in said("reduce", logical, *words)
    np.testing.assert_allclose(again.mass.toarray(), wanted.mass.toarray(), rtol=1e-12)


def test_fields_of_the_card_before_and_lines_without_a_name(tmp_path):
    """= and == in a card of its own; equations and lists that go on without a word, and a card behind blanks."""
    equation = ["DEQATN  1       F(X1,X2) = (X1+1.,", "        X2+.5, X1)"]
    lists = ["BSURF,1,11,12,13,14,15,16,", "17,18,19"]
    cards = ["MAT1,1,7.+10,,.3,2700.", "MAT1,2,==", "MAT1,3,=,,.25,=", *equation, *lists, "        GRID,1,,1.,2.,3."]
    data = read_bulk_data(file_of(tmp_path / "a.bdf", *cards))
    first, second, third = data["MAT1"].values()
    assert second.rest(1) == first.rest(1)
    assert third.rest(1) == [7e10, None, 0.25, 2700.0]
    assert set(data.cards) == {"MAT1", "DEQATN", "BSURF", "GRID", "PARAM"}
    assert data.cards["BSURF"][0].rest(8) == [17, 18, 19]
    lone = file_of(tmp_path / "b.bdf", *GOOD[:-1], "PARAM,POST,-1", "MAT1,1,==,,.3")
    refuses(r"MAT1 1: got '==' in field 3 .E., wanted a number", read_structure, lone)


def test_units_by_name(tmp_path):
    """A bar in inches and pounds is the same in metres; a kilogram is a pound's weight by WTMASS."""
    deck = "GRID,1,,0.,0.,0.\nGRID,2,,{0},0.,0.\nCBAR,1,1,1,2,0.,0.,1.\nPBAR,1,1,{1},{2},{2},{2}\n"
    inch, pound = 0.0254, 4.4482216152605
    metric = deck.format("1.016", "1.-4", "1.-9") + "MAT1,1,7.+10,,.3,2700.\nCELAS2,5,1000.,1,2,2,2\nCONM2,7,2,,3."
    values = (1.016 / inch, 1e-4 / inch**2, 1e-9 / inch**4, 7e10 * inch**2 / pound)
    L, A, moment, young = (repr(each) for each in values)
    weight = pound / 9.80665
    english = deck.format(L, A, moment) + f"MAT1,1,{young},,.3,{2700 * inch**3 / weight!r}\n"
    english += f"CELAS2,5,{1000 * inch / pound!r},1,2,2,2\nCONM2,7,2,,{3 / weight!r}\nPARAM,WTMASS,{inch / 9.80665!r}"
    found = read_structure(file_of(tmp_path / "e.bdf", english), "in-lbf-s")
    wanted = read_structure(file_of(tmp_path / "m.bdf", metric))
    for mine, its in ((found.stiffness, wanted.stiffness), (found.mass, wanted.mass)):
        np.testing.assert_allclose(mine.toarray(), its.toarray(), rtol=1e-9, atol=1e-12 * np.abs(its).max())
    refuses("units: got 'furlong', wanted one of SI, mm-t-s", read_structure, tmp_path / "m.bdf", "furlong")


def test_a_fold_has_weak_drilling_however_far_it_folds(tmp_path):
    """The energy of the turn of a corner about its normal, of two squares that meet at an angle below 20 degrees."""
    energies = []
    for angle in (0.0, 1e-3, 0.1, 0.3):
        c, s = float(np.cos(angle)), float(np.sin(angle))
        cards = [*grids(1, 1, (-1.0, 0.0), (0.0, 1.0)), f"GRID,5,,{c!r},0.,{s!r}", f"GRID,6,,{c!r},1.,{s!r}"]
        cards += ["CQUAD4,1,2,1,2,4,3", "CQUAD4,2,2,2,5,6,4", "PSHELL,2,1,.01,1,,1", MATERIALS]
        model = read_structure(file_of(tmp_path / "a.bdf", *cards))
        x = np.zeros(model.stiffness.shape[0])
        x[model.dofs[list(model.numbers).index(5), 3:]] = [-s, 0.0, c]
        energies.append(x @ (model.stiffness @ x))
    np.testing.assert_allclose(energies, energies[0], rtol=1e-9)


def test_a_strip_of_one_quadrilateral_bends_as_a_beam(tmp_path):
    """Force and moment at the end of 2 m: P L^3 / (3 E I) and M L^2 / (2 E I) by one element, as NASTRAN's; in a plane
    turned by the corners' order too."""
    for order in ("1,2,4,3", "2,4,3,1"):
        cards = ["GRID,1,,0.,0.,0.", "GRID,2,,2.,0.,0.", "GRID,3,,0.,1.,0.", "GRID,4,,2.,1.,0.", f"CQUAD4,1,2,{order}"]
        model = read_structure(file_of(tmp_path / "a.bdf", *cards, "PSHELL,2,1,.01,1", "MAT1,1,7.+10,,0.,2700."))
        dofs = [model.dofs[list(model.numbers).index(grid)] for grid in (1, 3, 2, 4)]
        free, K, EI = np.concatenate(dofs[2:]), model.stiffness.toarray(), 7e10 * 1e-6 / 12.0
        for component, load, wanted in ((2, 3.0, 3.0 * 8.0 / (3.0 * EI)), (4, -3.0, 3.0 * 4.0 / (2.0 * EI))):
            force = np.zeros(model.size)
            force[[own[component] for own in dofs[2:]]] = 0.5 * load
            u = np.linalg.solve(K[np.ix_(free, free)], force[free])
            np.testing.assert_allclose(u[[2, 8]], wanted, rtol=1e-6)


def test_superelements_are_one_model(tmp_path):
    """Two halves of a plate in sections of their own, whose grids at one place are one: the stiffness of the whole."""
    walls = ["PSHELL,2,1,.01,1,,1", MATERIALS]
    whole = read_structure(file_of(tmp_path / "a.bdf", *grids(2, 1), *quads(2, 1, 2), *walls))
    left = [*grids(1, 1, (0.0, 0.5)), *quads(1, 1, 2), *walls]
    right = [*grids(1, 1, (0.5, 1.0), first=11), *quads(1, 1, 2, first=11), *walls]
    halves = read_structure(file_of(tmp_path / "b.bdf", *left, "BEGIN SUPER=1", *right))
    assert len(halves.nodes) == 6
    order = [np.lexsort(fe.nodes.T) for fe in (whole, halves)]
    rows = [fe.dofs[k].ravel() for fe, k in zip((whole, halves), order, strict=True)]
    one, other = (fe.stiffness.toarray()[np.ix_(k, k)] for fe, k in zip((whole, halves), rows, strict=True))
    np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9 * np.abs(one).max())


# Where formulas or elements differ: torsion of open shapes, triangles and quadrilaterals.
ALIKE = {"PBARL, CHAN": 0.06, "PBARL, Z": 0.03, "CTETRA of many grids": 5e-4}


@pytest.fixture(scope="module")
def decks():
    import importlib.util

    path = Path(__file__).parents[2] / "docs" / "validation_decks.py"
    spec = importlib.util.spec_from_file_location("validation_decks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, json.loads(path.with_suffix(".json").read_text())


@pytest.mark.slow
def test_decks_have_the_frequencies_that_mystran_prints(tmp_path, decks):
    """Panels and solids to 1e-6, bars to 1e-4, other elements and shapes to 1 %, of another program."""
    module, printed = decks
    for name, cards in module.decks().items():
        found = module.own(module.write(tmp_path / "a.bdf", cards, 4))
        beside = "GENEL", "DMIG", "PBCOMP", "CWELD, ALIGN", "RBE3"
        same = name.startswith(("CSHEAR", "CHEXA", "CPENTA", "CTETRA of corners", *beside))
        bars = name.startswith(("CBAR", "PBAR with", "CBUSH", "RBE2"))
        near = 1e-6 if same else 1e-4 if bars else ALIKE.get(name, 0.01)
        assert len(printed[name]) >= 2
        np.testing.assert_allclose(found[: len(printed[name])], printed[name], rtol=near, err_msg=name)


@pytest.mark.slow
def test_fasteners_are_the_rules_that_they_stand_for(tmp_path, decks):
    """The same by RBE3 of four points that MPC put on the elements, and a bar or a spring between."""
    for name in ("CFAST", "CWELD, ELPAT"):
        one, other = (decks[0].own(decks[0].write(tmp_path / "a.bdf", own, 4)) for own in decks[0].fastened(name, 4))
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_decks_have_the_forces_of_elements_that_mystran_prints(tmp_path, decks):
    """Of bars, and of heated strips of shells, to its digits; of shells that are pulled to 2 %."""
    module, printed = decks
    for name, cards in module.statics().items():
        found = module.own_forces(module.write_static(tmp_path / "a.bdf", cards))
        assert found.keys() == printed["forces"][name].keys()
        pulled, *heated = module.differences(found, printed["forces"][name])
        assert max(heated) < 1e-6, name
        assert pulled < (1e-6 if name.startswith("CBAR") else 0.02), name


def test_the_page_has_the_cards_of_the_table():
    text = (Path(__file__).parents[2] / "docs" / "howto" / "finite_element_bodies.md").read_text()
    assert page() in text


def refused(path, *cards):
    with pytest.raises(ModelError) as found:
        read_structure(file_of(path / "r.bdf", *cards))
    return str(found.value)


GOOD = [*grids(1, 1), *quads(1, 1, 2), "PSHELL,2,1,.01,1,,1", MATERIALS]


@pytest.mark.parametrize(
    ("cards", "message"),
    [
        ([*GOOD, "CBEAM3,7,1,1", "CHACAB,8,1,2"], r"CBEAM3 \(not yet\); CHACAB \(fluids\): not read: take them out"),
        ([*GOOD, "STRANGE,1"], r"STRANGE \(unknown\): not read"),
        ([*GOOD, "CBUSH,7,1,1,2"], "CBUSH 7: property 1 of field 3 is no PBUSH"),
        ([*GOOD, "CBUSH,7,1,1,2", "PBUSH,1,K,1.,2."], "CBUSH 7: has a stiffness across its line"),
        ([*GOOD, "RBAR,8,1,2,123,123"], "RBAR 8: its independent components are not six that define"),
        ([*GOOD[:-2], "PSHELL,2,,.01", MATERIALS], r"PSHELL 2: a wall without .* of bending \(MID2\)"),
        ([*GOOD, "GENEL,7,,1,1,1,2\n,K,1.,2."], "GENEL 7: has 2 values of K for 2 freedoms, wanted 3"),
        ([*GOOD, "CWELD,7,8,,GRIDID,1,2", "PWELD,8,1,.01"], "CWELD 7: the kind GRIDID, beside which"),
        ([*GOOD, "CFAST,7,8,PROP,2,3,1", "PFAST,8,.01"], "CFAST 7: property 3 is none of a shell"),
        ([*GOOD, "CSHEAR,7,8,1,2,3,4", "PSHEAR,8,1,.01"], "CSHEAR 7: is collapsed"),
        ([*GOOD, "RSSCON,7,ELEM,1,2"], "RSSCON 7: 1 is no shell, or 2 no solid"),
        (
            [*GOOD, "DMIG,KAA,0,9,1,0", "DMIG,KAA,1,1,,1,1,1.", "SEBULK,1,EXTERNAL"],
            "SEBULK 1: a superelement of type EXT",
        ),
        ([*GOOD[:-2], "PSHELL,2,1,0.,1,,1", MATERIALS], "PSHELL 2: got 0.0 in field 4 .T., wanted a thickness"),
        ([*GOOD[:-2], "PSHELL,2,4,.01,4", MATERIALS], "PSHELL 2: material 4 of field 3 is no MAT1 or MAT8"),
        ([*GOOD[:-2], "PSHELL,2,4,.01,4", "MAT9,4,1.", MATERIALS], "PSHELL 2: its material MAT9 4, beside which"),
        ([*GOOD[:-2], MATERIALS], "PSHELL 2: is not in the file"),
        ([*GOOD[:-2], "PCOMP,2,,,,,,,SMEAR\n,8,.1", MATERIALS], "PCOMP 2: the option SMEAR, beside which SYM"),
        ([*GOOD[:-2], "PCOMPG,2", MATERIALS], "PCOMPG 2: has no plies"),
        ([*GOOD[:-2], "PCOMP,2\n,,.1,45.", MATERIALS], "PCOMP 2: .* the material and the thickness of the first"),
        ([*GOOD[:-1], "MAT1,1,7.+10"], "MAT1 1: wanted two of E, G and NU"),
        ([*GOOD[:-1], "MAT1,1,7.+10,,.6"], "MAT1 1: has Poisson's ratio 0.6"),
        ([*GOOD, "CQUAD4,9,2,1,2,77,3"], "CQUAD4 9: grid 77 of field 6 is not in the file"),
        ([*GOOD[:4], "CQUAD4,1,2,1,2,4,3\n,,,-.1", *GOOD[5:]], "CQUAD4 1: got a thickness of T1 to T4 below 0"),
        ([*GOOD, "GRID,9,,2.,0.,0.", "CQUAD4,9,2,1,2,9,4"], "CQUAD4 9: three of its corners are on a line"),
        ([*GOOD, "CTRIA3,1,2,1,2,3,x"], "CTRIA3 1: got 'x' in field 7 .THETA., wanted a number"),
        ([*GOOD, "CQUAD8,9,2,1,2,3"], "CQUAD8 9: lacks a grid at a corner"),
        ([*GOOD, "GRID,1,,5.,5.,5."], "GRID 1: its number is that of GRID 1 too"),
        ([*GOOD, "CORD2C,7,,0.,0.,0.,0.,0.,1.\n,0.,0.,2.", "CTRIA3,9,2,1,2,3,7"], "CORD2C 7: its three points are on"),
        ([*bars(2), "CBAR,9,2,1,2,0.,0.,1.,,\n,457"], r"CBAR 9: got 457 in field 10 .PA., wanted components"),
        ([*bars(2), "CBAR,9,2,1,2,0.,0.,1.,OOO"], "CBAR 9: the option 'OOO' of offsets"),
        ([*bars(2), "CBAR,9,2,1,2,1.,0.,0."], "CBAR 9: its ends are at one place, or its orientation vector is along"),
        ([*bars(2), "CBAR,9,3,1,2,0.,0.,1."], "CBAR 9: property 3 of field 3 is no PBAR or PBARL"),
        (bars(2, pbar="PBARL,2,1,,HAT1\n,.1,.01"), "PBARL 2: the section HAT1, beside which ROD, TUBE, TUBE2, BAR"),
        (bars(2, pbar="PBAR,2,1,1.-4,1.-9,1.-9\n,\n,,,2.-9"), "PBAR 2: got A, I1, I2, I12, J"),
        (bars(2, pbar="PBAR,2,1,1.-4,1.-9,1.-9\n,\n,,,1.-9"), "PBAR 2: got A, I1, I2, I12, J"),
        ([*bars(2), "CONM2,9,77,,1."], "CONM2 9: grid 77 of field 3"),
        ([*bars(2), "CONM2,9,2,,-1."], "CONM2 9: its mass or a principal moment of inertia is negative"),
        ([*bars(2), "RBE2,9,1,123456,2", "RBE2,8,2,123456,1"], "RBE2: grid 1 depends on itself|grid 2 depends"),
        ([*bars(2), "RBE2,9,1,123456,2", "RBE2,8,3,123456,2"], "RBE2 8: grid 2 depends by RBE2 9 already"),
        ([*bars(2), "RBE2,9,1,178,2"], "RBE2 9: got 178 in field 4 .CM., wanted components"),
        ([*bars(2), "RBE3,9,,2,123,1.,123,1,3\n,XX,1,3"], "RBE3 9: field .*, XX"),
        ([*bars(2), "RBE3,9,,2,123,1.,123,1,3"], "RBE3 9: the components of its grids define no motion of grid 2"),
        ([*bars(2), "RBE3,9,,2,123"], "RBE3 9: has no weights and grids"),
        (["GRID,1,,0.,0.,0.", MATERIALS], "has no shells, no bars"),
        ([MATERIALS], "has no GRID"),
        ([*GOOD, "CBAR,7,2,1,2,0.,0.,1.,GGG,456"], "CBAR,7,.*,456: has more than 8 fields behind its name"),
    ],
)
def test_what_is_not_read_is_named(tmp_path, cards, message):
    assert re.search(message, refused(tmp_path, *cards))


BENT = [(math.cos(x), math.sin(x)) for x in (0.0, 0.5, 1.0)]
BENT = [f"GRID,{1 + 3 * k + j},,{x!r},{y!r},{0.5 * j!r}" for k, (x, y) in enumerate(BENT) for j in (0, 1, 2)]
ARC, OF_ARC = "CQUAD8,1,1,1,7,9,3,4,8\n,6,2", "PSHELL,1,1,.02,1,,1\nMAT1,1,1.+9,,0.,1000."


def test_a_bent_shell_turns_without_stress_and_has_no_inertia_about_its_nodes(tmp_path):
    """An element on an arc, of lumped masses; a side without its node is as with the node in its middle."""
    path = file_of(tmp_path / "a.bdf", *BENT[:4], *BENT[5:], ARC, OF_ARC)
    path.write_text(path.read_text().replace("PARAM,COUPMASS,1\n", ""))
    fe = read_structure(path)
    D = fe.rigid_motions(np.zeros(3))
    np.testing.assert_allclose(fe.stiffness @ D, 0.0, atol=1e-9 * np.abs(fe.stiffness).max())
    assert np.abs(fe.mass.toarray()[fe.dofs[:, 3:].ravel()]).max() == 0.0
    assert (D.T @ fe.mass @ D)[0, 0] == pytest.approx(20.0, rel=1e-2)
    flat = [each.replace("GRID,4,,", "GRID,4,,0.7701511529340699,0.42073549240394825,0.\n$") for each in BENT[:4]]
    matrices = []
    for cards in ([*flat, *BENT[5:], ARC], [*flat[:3], *BENT[5:], ARC.replace("9,3,4,8", "9,3,,8")]):
        fe = read_structure(file_of(tmp_path / "b.bdf", *cards, OF_ARC))
        tip = fe.dofs[np.isin(fe.numbers, [7, 8, 9])].ravel()
        free = np.concatenate([tip, fe.dofs[fe.numbers == 4].ravel()])
        matrices.append(fe.stiffness.toarray()[np.ix_(free, free)])
    K, whole = matrices[1], matrices[0]
    spread = np.vstack([np.eye(18), np.hstack([*(0.5 * np.eye(6) * (k == 0) for k in range(3))])])
    np.testing.assert_allclose(spread.T @ whole @ spread, K, rtol=1e-9, atol=1e-9 * np.abs(K).max())


@pytest.mark.parametrize("step", ["%(.1)", "*(1) *(2)", "*(x)"])
def test_a_step_of_a_repetition_that_is_no_number_is_named(tmp_path, step):
    with pytest.raises(ModelError, match=r"=: got the step .* wanted \*\(x\) of a number"):
        read_structure(
            file_of(tmp_path / "a.bdf", "GRID,1,,0.,0.,0.", f"=,*1,=,*({step})" if "x" in step else f"=,{'*' + step}")
        )


def test_an_inp_of_nastran_is_bulk_data(tmp_path):
    cards = ["GRID,1,,0.,0.,0.", "GRID,2,,1.,0.,0.", "CROD,1,2,1,2", "PROD,2,1,1.-4", MATERIALS]
    path = file_of(tmp_path / "a.bdf", *cards)
    (tmp_path / "a.inp").write_text(path.read_text())
    found = [read_structure(file).stiffness.toarray() for file in (path, tmp_path / "a.inp")]
    np.testing.assert_array_equal(*found)
