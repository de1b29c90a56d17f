"""Files of meshes and matrices: every format gives the same body, and bad files are named."""

import sys
from pathlib import Path

import numpy as np
import pytest
from models import refusals, refuses
from scipy.sparse import coo_array, csc_array
from shared_runs import said

import femb
from femb.base.errors import ModelError, ResultError
from femb.fem.craig_bampton import root_held, shapes
from femb.fem.matrix_files import along_basic_axes, read_output_matrices
from femb.fem.model import FeModel, tied
from femb.fem.reduce import read_matrices
from femb.fem.reduction import LOADS, acceleration_fields

pytestmark = pytest.mark.filterwarnings("ignore:.*linear hexahedra lock")  # two bricks, which many formats have
FILES = Path(__file__).parent / "files"
MATERIAL = {"youngs_modulus": 7e10, "poissons_ratio": 0.3, "density": 2700.0}
WORDS = {"MGG": "mass", "KGG": "stiffness"}
PLANES = ["root=x=0", "tip=x=0.4"]
NUMBERS = ["root=10,20,30,40", "tip=90,100,110,120"]
SETS = ["root=root", "tip=tip"]


@pytest.fixture(scope="module")
def wanted():
    return femb.fem.reduce_mesh(FILES / "bar.vtu", PLANES, 3, **MATERIAL)


@pytest.mark.parametrize(
    ("file", "interfaces"), [("bar.msh", SETS), ("bar.inp", ["root=ROOT", "tip=TIP"]), ("bar.bdf", PLANES)]
)
def test_mesh_formats(file, interfaces, wanted):
    found = femb.fem.reduce_mesh(FILES / file, interfaces, 3, **MATERIAL)
    assert found.body.mass == pytest.approx(2700.0 * 0.4 * 0.1 * 0.05, rel=1e-7)
    assert found.free == pytest.approx(wanted.free, rel=1e-6)
    assert found.body.second_order


@pytest.mark.parametrize(
    ("file", "nodes", "interfaces"),
    [
        ("bar.npz", None, SETS),
        ("bar.h5", None, SETS),
        ("bar.mat", None, SETS),
        ("bar.sti", None, ["root=ROOT", "tip=TIP"]),
        ("bar.op4", "bar.csv", NUMBERS),
        ("bar.op4", "bar.dat", PLANES),
        ("bar.op4", "bar.inp", ["root=ROOT", "tip=TIP"]),
        ("bar.pch", "bar.dat", NUMBERS),
    ],
)
def test_matrix_formats(file, nodes, interfaces, wanted):
    if nodes is not None:
        pytest.importorskip("pyyeti", reason="pyyeti, the extra fe, is not installed")
    found = femb.fem.reduce_matrices(FILES / file, interfaces, 3, nodes=nodes and FILES / nodes)
    assert found.coupling == "constant"
    digits = 1e-6 if file == "bar.pch" else 1e-8  # entries of ten digits, of a stiff bar that bends
    assert found.free == pytest.approx(wanted.free, rel=digits)
    assert found.body.inertia == pytest.approx(wanted.body.inertia, rel=digits, abs=1e-10)
    assert found.body.J2 is not None


def test_grids_in_axes_of_their_own(wanted, tmp_path):
    """OP4 matrices with displacements of two grids along a turned system, one of them placed in it too."""
    op4 = pytest.importorskip("pyyeti.nastran.op4", reason="pyyeti, the extra fe, is not installed")
    arrays = np.load(FILES / "bar.npz")
    turn = np.array([[0.0, 0.0, 1.0], [0.6, 0.8, 0.0], [-0.8, 0.6, 0.0]])  # columns: axes x, y, z of the system
    T = np.eye(36)
    T[6:9, 6:9] = T[33:, 33:] = turn.T
    matrices = {}
    for name, word in (("MGG", "mass"), ("KGG", "stiffness")):
        whole = np.zeros((36, 36))
        whole[arrays[f"{word}_row"], arrays[f"{word}_column"]] = arrays[f"{word}_value"]
        matrices[name] = T @ whole @ T.T
    op4.write(str(tmp_path / "bar.op4"), list(matrices), list(matrices.values()))
    lines = (FILES / "bar.dat").read_text().splitlines()
    lines[2] += ",7"
    local = turn.T @ [0.4, 0.05, 0.025]
    lines[11] = "GRID,120,7," + ",".join(f"{x:.6f}" for x in local) + ",7"
    points = np.zeros(3), turn[:, 2], turn[:, 2] + turn[:, 0]  # origin, on z, in the plane of x and z
    origin, along, across = (",".join(f"{x:.4f}" for x in point) for point in points)
    lines += [f"CORD2R,7,,{origin},{along}", f",{across}"]
    (tmp_path / "bar.dat").write_text("\n".join(lines) + "\n")
    found = femb.fem.reduce_matrices(tmp_path / "bar.op4", NUMBERS, 3, nodes=tmp_path / "bar.dat")
    assert found.free == pytest.approx(wanted.free, rel=1e-6)
    assert found.body.inertia == pytest.approx(wanted.body.inertia, rel=1e-6, abs=1e-10)
    two = FeModel(np.zeros((1, 3)), np.zeros(2, int), np.array([0, 1]), *[csc_array(np.eye(2))] * 2, np.array([5]))
    with pytest.raises(ModelError, match="grid 5: has displacement axes of its own, but not all three components"):
        along_basic_axes(two, {5: (np.zeros(3), turn)})


def test_stored_matrices_that_calculix_wrote():
    """A brick of 20 nodes: frequencies with the root clamped that CalculiX 2.20 itself prints, to its seven digits."""
    found = femb.fem.reduce_matrices(FILES / "brick.sti", ["root=ROOT"], 12)
    printed = [1186.475, 1984.861, 3461.863, 6700.519, 7078.242, 7963.252]
    assert found.free[:6] == pytest.approx(printed, rel=2e-7)
    assert found.body.mass == pytest.approx(2700.0 * 0.2 * 0.1 * 0.05, rel=1e-12)


def test_matrices_of_calculix_by_other_writers(tmp_path):
    """The same brick as a punch file by pyyeti's writer and as .mat by scipy's: CalculiX's frequencies again."""
    bulk = pytest.importorskip("pyyeti.nastran.bulk", reason="pyyeti, the extra fe, is not installed")
    import pandas
    from scipy.io import savemat

    model = read_matrices(FILES / "brick.sti", None)
    numbers = model.numbers[model.node_of]
    index = pandas.MultiIndex.from_arrays([numbers, model.component + 1], names=["id", "dof"])
    matrices = {"mass": model.mass.toarray(), "stiffness": model.stiffness.toarray()}
    frames = {name: pandas.DataFrame(matrices[word], index, index) for name, word in WORDS.items()}
    bulk.wtdmig(tmp_path / "brick.pch", frames)
    rows = [
        f"{number},{','.join(map(repr, map(float, x)))}" for number, x in zip(model.numbers, model.nodes, strict=True)
    ]
    (tmp_path / "brick.csv").write_text("\n".join(["number,x,y,z", *rows]))
    dofs = np.column_stack([numbers, model.component + 1])
    savemat(tmp_path / "brick.mat", {**matrices, "nodes": np.column_stack([model.numbers, model.nodes]), "dofs": dofs})
    printed = [1186.475, 1984.861, 3461.863, 6700.519, 7078.242, 7963.252]
    for file, nodes, digits in (("brick.pch", tmp_path / "brick.csv", 2e-6), ("brick.mat", None, 2e-7)):
        found = femb.fem.reduce_matrices(tmp_path / file, ["root=x=0"], 12, nodes=nodes)
        assert found.free[:6] == pytest.approx(printed, rel=digits)


def as_abaqus(tmp_path, change=lambda lines: lines):
    """CalculiX's brick as Abaqus writes matrices: the lower triangle in lines of nodes and components."""
    model = read_matrices(FILES / "brick.sti", None)
    for word, matrix in (("STIF", model.stiffness), ("MASS", model.mass)):
        table = coo_array(matrix)
        dofs = np.column_stack([model.numbers[model.node_of], model.component + 1])
        lines = [
            f"{dofs[i, 0]},{dofs[i, 1]}, {dofs[j, 0]},{dofs[j, 1]}, {x:.16e}"
            for i, j, x in zip(*table.coords, table.data, strict=True)
            if i >= j
        ]
        (tmp_path / f"brick_{word}1.mtx").write_text("\n".join(change(lines)) + "\n")
    (tmp_path / "brick.inp").write_bytes((FILES / "brick.inp").read_bytes())
    return tmp_path / "brick_STIF1.mtx"


def test_matrices_in_the_format_of_abaqus(tmp_path):
    wanted = read_matrices(FILES / "brick.sti", None)
    found = read_matrices(as_abaqus(tmp_path), None)
    order = np.lexsort([wanted.component, wanted.numbers[wanted.node_of]])
    for name in ("mass", "stiffness"):
        np.testing.assert_array_equal(
            getattr(found, name).toarray(), getattr(wanted, name).toarray()[np.ix_(order, order)]
        )
    assert set(found.node_sets) == set(wanted.node_sets)
    printed = [1186.475, 1984.861, 3461.863, 6700.519, 7078.242, 7963.252]
    reduced = femb.fem.reduce_matrices(tmp_path / "brick_MASS1.mtx", ["root=ROOT"], 12)
    assert reduced.free[:6] == pytest.approx(printed, rel=2e-7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [*lines, "1,1,1,1,1e36"], "node 1 is held in component 1: generate the matrices without"),
        (lambda lines: ["1 1 2.0"], "wanted lines row node, component"),
        (lambda lines: [*lines, "-3,1,1,1,1.0"], "internal nodes"),
    ],
)
def test_matrices_of_abaqus_that_are_refused(change, message, tmp_path):
    refuses(message, read_matrices, as_abaqus(tmp_path, change), None)


def test_written_body_is_read_back(wanted, tmp_path):
    for name in ("body.npz", "body.h5"):
        femb.fem.write_reduced_body(tmp_path / name, wanted.body)
        body = femb.fem.read_reduced_body(tmp_path / name)
        assert np.array_equal(body.K, wanted.body.K)
        assert body.interface_names == ("root", "tip")
        assert np.array_equal(body.cells["hexahedron"], wanted.body.cells["hexahedron"])


def test_craig_bampton_matrices_give_the_same_body(wanted, tmp_path):
    """The matrices of the community of loads: boundary motions of both interfaces, then modes."""
    body = wanted.body
    n = body.size
    D = np.eye(6)
    D[:3, 3:] = -np.cross(np.eye(3), body.interfaces[1])
    # rigid motion of both and motion of the tip alone, in place of motions of root and tip
    to = np.eye(6 + n)
    to[6:12, :6] = -D
    cross = np.cross(np.eye(3), body.first_moment)
    rigid = np.block([[body.mass * np.eye(3), -cross], [cross, body.inertia]])
    coupled = np.hstack([body.S1, body.C0])
    M, K = np.block([[rigid, coupled.T], [coupled, body.M]]), np.zeros((6 + n, 6 + n))
    K[6:, 6:] = body.K
    np.savez(tmp_path / "cb.npz", M=to.T @ M @ to, K=to.T @ K @ to)
    found = femb.fem.reduced_craig_bampton(tmp_path / "cb.npz", {"root": (1.0, 0.0, 0.0), "tip": (1.4, 0.0, 0.0)})
    for name in ("mass", "first_moment", "inertia", "S1", "C0", "M", "K"):
        value = getattr(body, name)
        assert getattr(found, name) == pytest.approx(value, rel=1e-8, abs=1e-8 * np.abs(value).max()), name
    with pytest.raises(ModelError, match="stiffness: rigid motion of the interfaces needs a force"):
        femb.fem.reduced_craig_bampton(tmp_path / "cb.npz", {"root": (0.0, 0.0, 0.0), "tip": (0.0, 0.4, 0.0)})


def test_craig_bampton_matrices_that_nastran_wrote(tmp_path):
    """A superelement of NX NASTRAN 9 with grids in axes of their own, of the data of pyyeti's tests (BSD): mass
    properties by its weight check, and its frequencies with the interfaces held."""
    pytest.importorskip("pyyeti", reason="pyyeti, the extra fe, is not installed")
    files = FILES / "nastran"
    words = ["--interfaces", "a=3", "--interfaces", "b=11", "--interfaces", "c=19", "--interfaces", "d=27"]
    source = ["reduce", files / "outboard.op4", "--craig-bampton", "--nodes", files / "outboard.asm"]
    table = said(*source, *words, "--out", tmp_path / "outboard.npz")
    assert "mass          1.59038 kg" in table
    assert said("reduce", tmp_path / "outboard.npz").strip() in table
    body = femb.fem.read_reduced_body(tmp_path / "outboard.npz")
    assert body.mass == pytest.approx(1.590384, rel=1e-6)
    centre = body.first_moment / body.mass
    assert centre + np.array([600.0, 0.0, 300.0]) == pytest.approx([184.6398, 150.0, 150.0], rel=1e-6)
    central = body.inertia - body.mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    assert np.diag(central) == pytest.approx([3.569328e5, 4.515897e4, 3.763282e5], rel=1e-6)
    held = np.sqrt(np.diag(body.K)[18:] / np.diag(body.M)[18:]) / (2.0 * np.pi)
    assert held[:3] == pytest.approx([1.650001, 1.650249, 1.674265], rel=1e-6)
    with pytest.raises(ModelError, match=r"interfaces\.a: grid 5 is not in"):
        femb.fem.reduced_craig_bampton(files / "outboard.op4", {"a": 5}, nodes=files / "outboard.asm")


def test_matrices_in_op2(tmp_path):
    """The modal stiffness of two superelements, in OP2 that NASTRAN wrote (pyyeti's tests, BSD): the squares of the
    frequencies that it prints, beside rigid motions; a file without mass is named."""
    printed = [113.9316, 123.3310, 136.2450, 461.6507, 1947.847, 1948.512]
    found = read_output_matrices(FILES / "nastran" / "assemble.op2", "KHH", "KHH")[1].toarray()
    np.testing.assert_allclose(found, np.diag(np.diag(found)), atol=1e-5)
    np.testing.assert_allclose(np.diag(found)[6:12], printed, rtol=5e-7)
    with pytest.raises(ModelError, match=r"assemble.op2: has no mass: wanted MGG.* it has .*KHH"):
        femb.fem.reduced_craig_bampton(FILES / "nastran" / "assemble.op2", {"root": (0.0, 0.0, 0.0)})


@pytest.mark.filterwarnings("ignore:.*check the units")
def test_external_superelement_in_dmig(tmp_path):
    """The same superelement in one punch file, as EXTSEOUT(DMIGPCH) writes it: grids, scalar points and DMIG."""
    nastran = pytest.importorskip("pyyeti.nastran", reason="pyyeti, the extra fe, is not installed")
    pandas = pytest.importorskip("pandas")
    files = FILES / "nastran"
    places = {"a": 3, "b": 11, "c": 19, "d": 27}
    wanted = femb.fem.reduced_craig_bampton(files / "outboard.op4", places, nodes=files / "outboard.asm")
    matrices = nastran.op4.load(str(files / "outboard.op4"), into="dct")
    rows = [(grid, k) for grid in places.values() for k in range(1, 7)] + [(100 + k, 0) for k in range(22)]
    index = pandas.MultiIndex.from_tuples(rows, names=["id", "dof"])
    frames = {name: pandas.DataFrame(matrices[word][0], index=index, columns=index) for name, word in
              (("KAAX", "kxx"), ("MAAX", "mxx"))}  # fmt: skip
    nastran.bulk.wtdmig(str(tmp_path / "dmig.pch"), frames)
    cards = [
        line for line in (files / "outboard.asm").read_text().splitlines() if line.startswith(("GRID", "CORD", "*"))
    ]
    path = tmp_path / "outboard.pch"
    path.write_text("BEGIN SUPER      101\n" + "\n".join(cards) + "\n" + (tmp_path / "dmig.pch").read_text())
    words = [word for name, grid in places.items() for word in ("--interfaces", f"{name}={grid}")]
    said("reduce", path, "--craig-bampton", *words, "--out", tmp_path / "found.npz", "--quiet")
    found = femb.fem.read_reduced_body(tmp_path / "found.npz")
    for name in ("mass", "first_moment", "inertia", "S1", "C0", "M", "K"):
        value = np.asarray(getattr(wanted, name))
        assert getattr(found, name) == pytest.approx(value, rel=1e-7, abs=1e-7 * np.abs(value).max()), name
    refuses(r"interfaces\.a: grid 5 has no six rows", femb.fem.reduced_craig_bampton, path, {"a": 5})
    refuses("give the numbers of theirs, as root=3", femb.fem.reduced_craig_bampton, path, {"a": (0.0, 0.0, 0.0)})


def test_extras_that_are_not_installed_are_named(monkeypatch):
    for name in ("pyyeti", "pyyeti.nastran", "skfem"):
        monkeypatch.setitem(sys.modules, name, None)
    refuses(r"pip install 'femb\[fe\]': ", read_output_matrices, FILES / "bar.op4")
    refuses(r"pip install 'femb\[fem\]': ", femb.fem.reduce_mesh, FILES / "bar.vtu", PLANES, 3, **MATERIAL)


test_files_of_matrices_that_are_refused = refusals(
    lambda file: femb.fem.reduce_matrices(FILES / file, PLANES, 3),
    ("absent.npz", "there is no such file"),
    ("bar.op4", "has no positions of nodes"),
    ("bar.vtu", "got the suffix '.vtu', wanted matrices"),
    error=(ModelError, ResultError),
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dofs": np.array([[10, 1], [10, 2]])}, "wanted equal sizes"),
        ({"dofs": np.tile([[10, 7]], (36, 1))}, "got the degree of freedom 10.7"),
        ({"dofs": np.tile([[10, 1]], (36, 1))}, "listed twice"),
        ({"nodes": np.zeros((12, 2))}, "nodes: got an array of"),
        ({"mass_value": None}, "has no mass: wanted the array mass or M"),
    ],
)
def test_arrays_that_are_refused(change, message, tmp_path):
    arrays = {**np.load(FILES / "bar.npz"), **change}
    np.savez(tmp_path / "bad.npz", **{name: value for name, value in arrays.items() if value is not None})
    refuses(message, femb.fem.reduce_matrices, tmp_path / "bad.npz", SETS, 3)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("bar.sti", "1 1 x\n", "wanted lines row, column, value"),
        ("bar.mas", "99 1 1.0\n", "got row 99, the .dof file has 36 rows"),
        ("bar.dof", "1.x\n", "wanted lines node.component"),
        ("bar.inp", "*HEADING\n", "has no .NODE"),
    ],
)
def test_stored_matrices_that_are_refused(name, text, message, tmp_path):
    for suffix in ("sti", "mas", "dof", "inp"):
        (tmp_path / f"bar.{suffix}").write_bytes((FILES / f"bar.{suffix}").read_bytes())
    (tmp_path / name).write_text(text)
    refuses(message, femb.fem.reduce_matrices, tmp_path / "bar.sti", ["root=ROOT"], 2)


test_interfaces_that_are_refused = refusals(
    lambda interface: femb.fem.reduce_mesh(FILES / "bar.msh", [interface], 3, **MATERIAL),
    ("root", "got 'root', wanted NAME=NODES"),
    ("root=nothing", "got the nodes 'nothing', the model has bar, root, tip"),
    ("root=x=0.3", "no node is on the plane x=0.3; the nearest is at x="),
    ("root=1,99", "node 99 is not in the model"),
    ("root=root:soft", "wanted NAME=NODES"),
    ("root=root@1,2", "got the position '1,2'"),
)


def test_unknown_options_are_named():
    for call, word in ((femb.fem.reduce_mesh, "unitz"), (femb.fem.reduce_matrices, "units")):
        refuses(
            rf"^{call.__name__}: there is no option '{word}'; did you mean 'unit", call, "a", SETS, 3, **{word: 1.0}
        )
    refuses("^reduce_beams: there is no option 'unit'; there are: ", femb.fem.reduce_beams, None, "", {}, unit="SI")


def test_command_writes_the_body_and_prints_the_table(tmp_path):
    out = tmp_path / "body.npz"
    words = ["--interfaces", "root=root", "--interfaces", "tip=tip:mean", "--modes", "3", "--out", out]
    mesh = ["reduce", FILES / "bar.msh", "-E", "7e10", "--density", "2700"]
    result = said(*mesh, *words)
    assert "mass          5.4 kg" in result
    assert result.rstrip().endswith(str(out))
    assert femb.fem.read_reduced_body(out).modes == 3
    said("reduce", FILES / "bar.npz", *words, "--force")
    missing = said("reduce", FILES / "bar.msh", "--interfaces", "root=root", "--modes", "3", code=2)
    assert "--youngs-modulus: is missing" in missing
    nodes = said(*mesh, *words, "--nodes", FILES / "bar.bdf", "--mass-name", "M", "--force", code=2)
    assert "bar.msh: is a mesh or bulk data, to which --nodes, --mass-name does not apply; wanted" in nodes


@pytest.fixture(scope="module")
def still():
    """Without modes, some of which have equal frequencies and so any direction."""
    return femb.fem.reduce_mesh(FILES / "bar.vtu", PLANES, 0, **MATERIAL)


def of_bar():
    """The arrays of the bar, in m, kg, N and s."""
    return dict(np.load(FILES / "bar.npz"))


@pytest.mark.parametrize("rotations", [False, True])
def test_matrices_in_millimetres_and_tonnes(tmp_path, still, rotations):
    """unit = 0.001: lengths in mm, forces in N, and so masses in tonnes and moments in N mm."""
    arrays = of_bar()
    if rotations:
        # nodes with rotations, which a frame of stiff springs holds: K and M by the rule of a change of coordinates
        model = femb.fem.reduce.read_matrices(FILES / "bar.npz", None)
        K, M = (each.toarray() for each in (model.stiffness, model.mass))
        n = len(model.nodes)
        D = np.zeros((3 * n, 6 * n))
        D[np.arange(3 * n), 6 * (np.arange(3 * n) // 3) + np.arange(3 * n) % 3] = 1.0
        own = np.linalg.lstsq(model.rigid_motions(model.nodes.mean(axis=0)), np.eye(3 * n), rcond=None)[0]
        spin = np.zeros((3 * n, 6 * n))  # rotations of nodes less that of the body
        for k in range(n):
            for a in range(3):
                spin[3 * k + a, 6 * k + 3 + a] = 1.0
        spin -= np.tile(own[3:], (n, 1)) @ D
        K, M = D.T @ K @ D + 1e5 * spin.T @ spin, D.T @ M @ D
        unit = np.tile([1e3, 1e3, 1e3, 1.0, 1.0, 1.0], n)  # coordinates in mm by those in m
        both = {"si": (1.0, K, M), "mm": (1e3, K / np.outer(unit, unit) * 1e3, M / np.outer(unit, unit) * 1e3)}
        sets = {name: value for name, value in arrays.items() if name.startswith("node_set_")}
        table = np.column_stack([model.numbers, model.nodes])
        for name, (length, stiffness, mass) in both.items():
            nodes = table * [1.0, length, length, length]
            np.savez(tmp_path / f"{name}.npz", nodes=nodes, K=stiffness, M=mass, **sets)
        reference = femb.fem.reduce_matrices(tmp_path / "si.npz", SETS, 0)
    else:
        reference = still
        changed = {
            **arrays,
            "mass_value": arrays["mass_value"] * 1e-3,
            "stiffness_value": arrays["stiffness_value"] * 1e-3,
        }
        changed["nodes"] = np.column_stack([arrays["nodes"][:, :-3], 1e3 * arrays["nodes"][:, -3:]])
        np.savez(tmp_path / "mm.npz", **changed)
    found = femb.fem.reduce_matrices(tmp_path / "mm.npz", SETS, 0, unit=1e-3)
    assert found.body.mass == pytest.approx(reference.body.mass, rel=1e-8)
    for name in ("interfaces", "first_moment", "inertia", "S1", "C0", "M", "K"):
        value, other = getattr(found.body, name), getattr(reference.body, name)
        np.testing.assert_allclose(value, other, rtol=1e-6, atol=1e-7 * np.abs(other).max())
    words = ["--unit", "0.001", "--modes", "0", "--interfaces", "root=root", "--interfaces", "tip=tip"]
    said("reduce", tmp_path / "mm.npz", *words, "--out", tmp_path / "b.npz")
    assert femb.fem.read_reduced_body(tmp_path / "b.npz").mass == pytest.approx(reference.body.mass, rel=1e-8)


def test_craig_bampton_matrices_in_millimetres_and_tonnes(tmp_path, wanted):
    """As the matrices themselves, along the coordinates of interfaces; modes keep a mass of one."""
    body = wanted.body
    n, cross = body.size, np.array(femb.numerics.rotations.cross_matrix(body.first_moment))
    M, K = np.zeros((2, 6 + n, 6 + n))
    M[:6, :6] = np.block([[body.mass * np.eye(3), -cross], [cross, body.inertia]])
    M[6:, :6], M[6:, 6:] = np.hstack([body.S1, body.C0]), body.M
    M[:6, 6:] = M[6:, :6].T
    # the coordinates of the tip are absolute in such files: eta = u_tip - D u_root
    D = np.eye(6)
    D[:3, 3:] = -femb.numerics.rotations.cross_matrix(body.interfaces[1])
    T = np.eye(6 + n)
    T[6:12, :6] = -D
    K[6:, 6:] = body.K
    M, K = T.T @ M @ T, T.T @ K @ T
    u = np.concatenate([np.tile([1e3, 1e3, 1e3, 1.0, 1.0, 1.0], 2), np.full(n - 6, 1e3**0.5)])
    np.savez(tmp_path / "mm.npz", M=M / np.outer(u, u) * 1e3, K=K / np.outer(u, u) * 1e3)
    places = {"root": [0.0, 0.0, 0.0], "tip": body.interfaces[1]}
    found = femb.fem.reduced_craig_bampton(tmp_path / "mm.npz", places, unit=1e-3)
    for name in ("first_moment", "inertia", "S1", "C0", "M", "K"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(body, name), rtol=1e-9, atol=1e-9 * np.abs(getattr(body, name)).max()
        )


def test_stress_stiffness_beside_matrices(tmp_path, still):
    """The matrices of the twelve accelerations and of forces on the tip, of the mesh itself: the same body."""
    mesh = femb.fem.solids.read_mesh(FILES / "bar.vtu", femb.fem.solids.SolidMaterial(7e10, 0.3, 2700.0))
    interfaces = femb.fem.reduce.interfaces_of(mesh, PLANES)
    ties = tied(mesh, interfaces)
    held = shapes(ties, lambda *_: 0, 0)
    fields = root_held(mesh, held)(-(mesh.mass @ acceleration_fields(mesh, ties.points[0])))
    stiff = held.boundary.T @ (mesh.stiffness @ held.boundary)
    fields = np.hstack([fields, held.boundary @ np.linalg.inv(stiff)[:, :3]])
    G = mesh.stress(fields, np.eye(mesh.size))
    names = [*LOADS, "tip_x", "tip_y", "tip_z"]
    stresses = {f"stress_{name}": each for name, each in zip(names, G, strict=True)}
    dofs = np.column_stack([mesh.numbers[mesh.node_of], mesh.component + 1])
    nodes = np.column_stack([mesh.numbers, mesh.nodes])
    parts = {"nodes": nodes, "dofs": dofs, "K": mesh.stiffness.toarray(), "M": mesh.mass.toarray()}
    np.savez(tmp_path / "one.npz", **parts, **stresses)
    np.savez(tmp_path / "matrices.npz", **parts)
    np.savez(tmp_path / "stress.npz", **stresses)
    for source, words in (("one.npz", {}), ("matrices.npz", {"stress": tmp_path / "stress.npz"})):
        found = femb.fem.reduce_matrices(tmp_path / source, PLANES, 0, **words)
        assert found.coupling == "full"
        for name in ("S2", "B2", "J2", "Q", "psi2"):
            value, other = getattr(found.body, name), getattr(still.body, name)
            np.testing.assert_allclose(value, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())
    # in mm and tonnes, those of 1 mm/s2
    coordinates = 1e-3 * np.ones(mesh.size)
    in_mm = {"K": parts["K"] * 1e-3, "M": parts["M"] * 1e-3, "nodes": nodes * [1.0, 1e3, 1e3, 1e3], "dofs": dofs}
    for name, each in stresses.items():
        in_mm[name] = each * coordinates[0] * (1e-3 if name in ("stress_x", "stress_y", "stress_z") else 1.0)
    np.savez(tmp_path / "mm.npz", **in_mm)
    found = femb.fem.reduce_matrices(tmp_path / "mm.npz", PLANES, 0, unit=1e-3)
    for name in ("S2", "J2", "Q", "psi2"):
        value, other = getattr(found.body, name), getattr(still.body, name)
        np.testing.assert_allclose(value, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())
    del stresses["stress_zz"]
    np.savez(tmp_path / "stress.npz", **stresses)
    with pytest.raises(ModelError, match="stress: has no stress_zz: give the stress stiffness of every load"):
        femb.fem.reduce_matrices(tmp_path / "matrices.npz", PLANES, 0, stress=tmp_path / "stress.npz")
    np.savez(tmp_path / "stress.npz", stress_x=np.eye(3))
    with pytest.raises(ModelError, match=r"stress_x: got a matrix of \(3, 3\), wanted finite numbers"):
        femb.fem.reduce_matrices(tmp_path / "matrices.npz", PLANES, 0, stress=tmp_path / "stress.npz")


def test_files_of_ansys_are_refused_with_what_to_write(tmp_path):
    path = tmp_path / "part.rst"
    path.write_text("results")
    with pytest.raises(ResultError, match=r"of the files of Ansys \.cdb is read, by CDWRITE: write it"):
        femb.fem.reduce_mesh(path, ["root=x=0"], 2, youngs_modulus=7e10, poissons_ratio=0.3, density=2700.0)
