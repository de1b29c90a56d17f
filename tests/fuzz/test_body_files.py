"""Files of bodies, matrices, nodes and meshes that were damaged or edited: refused with one line that names the file
and what to do, or read; never a traceback of another kind, and never without end.
"""

import shutil
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
from fuzz.mutations import limited
from fuzz.test_case_files import common
from fuzz.test_result_files import damage, damaged
from hypothesis import example, given, seed, settings
from hypothesis import strategies as st
from models import of_parts, refuses
from seeds import SEED, TRIES

import femb
from femb.base.errors import FembError, ModelError, ResultError

FILES = Path(__file__).parents[1] / "fem" / "files"
MATERIAL = {"youngs_modulus": 7e10, "poissons_ratio": 0.3, "density": 2700.0}
PLANES, SETS, INPUT = ["root=x=0", "tip=x=0.4"], ["root=root", "tip=tip"], ["root=ROOT", "tip=TIP"]
NUMBERS = ["root=10,20,30,40", "tip=90,100,110,120"]


def mesh(interfaces):
    return lambda folder, name: femb.fem.reduce_mesh(folder / name, interfaces, 2, **MATERIAL)


def matrices(name, interfaces, nodes=None, **words):
    """A call whose file ``name``, or one beside it, is damaged."""

    def call(folder, _):
        femb.fem.reduce_matrices(folder / name, interfaces, 2, nodes=nodes and folder / nodes, **words)

    return call


def body(folder, name):
    model = of_parts(femb.FlexibleBody("body", str(folder / name)))
    femb.System(model)


def further(folder, name):
    femb.fem.reduce_further(folder / name, modes=1)


def reduced(folder, name):
    femb.fem.reduced_craig_bampton(folder / name, {"root": [0.0, 0.0, 0.0], "tip": [0.4, 0.0, 0.0]})


BEAM = """*NODE
1, 0, 0, 0
2, 1, 0, 0
3, 2, 0, 0
*ELEMENT, TYPE=B31, ELSET=BOOM
1, 1, 2
2, 2, 3
*BEAM SECTION, ELSET=BOOM, MATERIAL=STEEL, SECTION=RECT
.02, .03
0., 1., 0.
*MATERIAL, NAME=STEEL
*ELASTIC
2e11, 0.25
*DENSITY
8000.
*ELEMENT, TYPE=MASS, ELSET=TIP
3, 3
*MASS, ELSET=TIP
2.
*STEP
*CLOAD
3, 2, 100.
*END STEP
"""
DECK = """SOL 101
SET 7 = 3
BEGIN BULK
GRID,1,,0.,0.,0.
GRID,2,,1.,0.,0.
GRID,3,,2.,0.,0.
CBAR,1,2,1,2,0.,1.,0.
CBAR,2,2,2,3,0.,1.,0.
PBAR,2,1,1.-4,2.-9,6.-9,3.-9
MAT1,1,7.+10,,.3,2700.,2.-5,20.
SPC1,1,123456,1
TEMP,1,1,20.,2,30.,3,40.
PLOAD1,1,2,FY,FR,0.,1.,1.,2.
CONM2,9,3,,.5,0.,0.,.1,
,.01,,.01,,,.01
"""


def structure(folder, name):
    femb.fem.reduce_mesh(folder / name, ["root=1", "tip=3"], 2, loads=["push=set:1"], recover=["forces=1"])


def measured(folder, name):
    femb.read_test_data(folder / name)


# What is read of each damaged file, by its name and a word where there are several.
WAYS = {
    "bar.msh": mesh(SETS), "bar.inp": mesh(INPUT), "bar.bdf": mesh(PLANES), "bar.vtu": mesh(PLANES),
    "bar.npz": matrices("bar.npz", SETS), "bar.h5": matrices("bar.h5", SETS), "bar.mat": matrices("bar.mat", SETS),
    "bar.sti": matrices("bar.sti", INPUT), "bar.mas": matrices("bar.sti", INPUT), "bar.dof": matrices("bar.sti", INPUT),
    "bar.inp nodes": matrices("bar.sti", INPUT), "body.npz": body, "body.h5": body, "body.npz further": further,
    "shapes.npz": further, "craig.npz": reduced, "beam.inp": structure, "deck.bdf": structure,
    "systems_test.uff": measured, "panel_test.unv": measured,
}  # fmt: skip
BY_PYYETI = {
    "bar.op4": matrices("bar.op4", NUMBERS, "bar.csv"),
    "bar.csv": matrices("bar.op4", NUMBERS, "bar.csv"),
    "bar.pch": matrices("bar.pch", NUMBERS, "bar.dat"),
    "bar.dat": matrices("bar.op4", PLANES, "bar.dat"),
}
EDITED = ["bar.npz", "bar.h5", "body.npz", "body.h5", "body.npz further", "shapes.npz", "craig.npz"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files as they were, and a folder for damaged ones, \"damaged\"."""
    found = tmp_path_factory.mktemp("bodies")
    for file in [*FILES.glob("bar.*"), *(FILES.parents[1] / "study").glob("*_test.u*")]:
        shutil.copy(file, found)
    (found / "beam.inp").write_text(BEAM)
    (found / "deck.bdf").write_text(DECK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # linear cells that lock
        whole = femb.fem.reduce_mesh(FILES / "bar.vtu", PLANES, 2, **MATERIAL).body
    for name in ("body.npz", "body.h5"):
        femb.fem.write_reduced_body(found / name, whole)
    arrays = dict(np.load(found / "body.npz"))
    rows = np.zeros((2, 6, whole.size))
    rows[1, :, :6] = np.eye(6)
    del arrays["damping_ratio"], arrays["psi2"]
    np.savez(found / "shapes.npz", **(arrays | {"format": "femb-shapes-1", "interface_shapes": rows}))
    n = whole.size
    M, K = np.zeros((2, 6 + n, 6 + n))
    cross = np.array(femb.numerics.rotations.cross_matrix(whole.first_moment))
    M[:6, :6] = np.block([[whole.mass * np.eye(3), -cross], [cross, whole.inertia]])
    M[6:, :6], M[6:, 6:], K[6:, 6:] = np.hstack([whole.S1, whole.C0]), whole.M, whole.K
    M[:6, 6:] = M[6:, :6].T
    T = np.eye(6 + n)
    T[6:9, 3:6] = femb.numerics.rotations.cross_matrix(whole.interfaces[1])
    T[6:12, :6] -= np.eye(6)
    np.savez(found / "craig.npz", M=T.T @ M @ T, K=T.T @ K @ T)
    shutil.copytree(found, found / "damaged")
    return found


def attempted(folder, way, change):
    """Read a file after ``change`` of its damaged copy, which is then restored; returns what was said, or None."""
    name = way.split()[0]
    copy = folder / "damaged" / name
    change(copy)
    said = None
    with limited():
        try:
            (WAYS | BY_PYYETI)[way](folder / "damaged", name)
        except FembError as error:
            said = error
        finally:
            shutil.copy(folder / name, copy)
    if said is None:
        return None
    # a ModelError may list several problems
    lines = str(said).splitlines()
    assert isinstance(said, ModelError) or (isinstance(said, ResultError) and len(lines) == 1), said
    assert all(len(line) < 700 for line in lines), said
    assert str(folder) in lines[0], said
    return str(said)


def damage_bytes(folder, way, steps):
    def change(copy):
        copy.write_bytes(damaged(copy.read_bytes(), steps))

    attempted(folder, way, change)


# Arrays in the place of others.
VALUES = [
    0, 1, -1.0, 1e-300, 1e150, 1e300, -1e300, np.nan, np.inf, True, "text", b"bytes", 1j, np.zeros(0), np.zeros((0, 3)),
    np.zeros(3), np.ones(3), np.ones((3, 3)), np.eye(3), np.eye(6), np.eye(8), -np.eye(8), 1e200 * np.eye(8),
    np.full((8, 8), np.nan), np.ones((2, 3, 3)), np.zeros((8, 8, 3, 3)), np.array(["a", "b"]),
    np.array(["root", "root"]), np.arange(8), np.arange(36).reshape(12, 3), np.array([2**62, -5]),
    np.eye(36), np.ones((36, 2)), np.eye(2000, 3),
]  # fmt: skip
edits = st.lists(
    st.tuples(st.sampled_from(["drop", "replace", "scale", "cut", "one", "turn", "new"]), st.integers(0, 10**4),
              st.integers(0, 10**4)),
    min_size=1, max_size=3,
)  # fmt: skip


def edited(arrays, kind, which, what):
    """Arrays with one change."""
    names = sorted(arrays)
    if not names:
        return arrays
    name, value = names[which % len(names)], VALUES[what % len(VALUES)]
    old = np.asarray(arrays[name])
    changed = dict(arrays)
    if kind == "drop":
        del changed[name]
    elif kind == "new":
        changed["extra" if what % 2 else f"cells/{name}"] = value
    elif kind == "replace" or old.dtype.kind not in "fiu" or not old.size:
        changed[name] = value
    elif kind == "scale":
        with np.errstate(all="ignore"):
            changed[name] = old.astype(float) * (0.0, -1.0, 1e-9, 1e9, 1e200, np.nan)[what % 6]
    elif kind == "cut":
        changed[name] = old[: what % max(len(old), 1)] if old.ndim else old
    elif kind == "turn":
        changed[name] = old.T if what % 2 else old[..., None]
    else:
        flat = old.astype(float).ravel()
        flat[what % len(flat)] = (0.0, -1.0, 1e30, 1e300, np.inf, np.nan, 0.5, 10**6)[which % 8]
        changed[name] = flat.reshape(old.shape)
    return changed


def edit_arrays(folder, way, steps):
    def change(copy):
        if copy.suffix == ".npz":
            with np.load(copy) as file:
                arrays = dict(file)
            for step in steps:
                arrays = edited(arrays, *step)
            np.savez(copy, **arrays)
            return
        with h5py.File(copy, "r+") as file:
            place, arrays = file.get("modal_body", file), {}
            place.visititems(
                lambda name, item: arrays.update({name: item[()]} if isinstance(item, h5py.Dataset) else {})
            )
            found = arrays
            for step in steps:
                found = edited(found, *step)
            for name in arrays:
                del place[name]
            for name, value in found.items():
                try:
                    place[name] = value.astype("S") if getattr(value, "dtype", None) == "U" else value
                except (TypeError, ValueError, OSError):
                    continue  # what HDF5 does not hold

    attempted(folder, way, change)


GARBAGE = [
    b"", b"\0" * 100, b"{}", b"*NODE\n1, x\n", b"*NSET, NSET=A, GENERATE\n1, 1000000000000, 1\n", b"*NODE\n1,0,0,0\n",
    b"$MeshFormat\n4.1 0 8\n", b"PK\x03\x04 nothing", b"\x89HDF\r\n\x1a\n" + b"\xff" * 200, b"<VTKFile/>",
    b"\xff\xfe" * 50, b"GRID,1,,a,b,c\n", b"1 1 nan\n", b"1.1\n1.7\n", b"1 1e400 3\n",
    b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'", b"*NODE\n,,,\n*ELEMENT, TYPE=C3D8\n1,2\n",
    b"MATLAB 5.0 MAT-file" + b" " * 110 + b"\x00\x01IM",
]  # fmt: skip


@pytest.mark.parametrize("way", [*WAYS, *BY_PYYETI])
def test_the_files_are_understood_and_garbage_is_not(folder, way):
    if way in BY_PYYETI:
        pytest.importorskip("pyyeti", reason="pyyeti, the extra fe, is not installed")
    assert attempted(folder, way, lambda copy: None) is None
    name = way.split()[0]
    for content in GARBAGE:
        said = attempted(folder, way, lambda copy, content=content: copy.write_bytes(content))
        assert said, f"{content} was read"
    missing = attempted(folder, way, lambda copy: copy.unlink())
    assert name in missing, missing


def test_every_way_that_is_refused_says_so_once(folder):
    """An array that is missing, of another shape and of text, by its name."""
    arrays = dict(np.load(folder / "body.npz"))
    for changed, message in (
        ({**arrays, "M": np.array("x")}, "body.npz: M: got text, wanted real numbers"),
        ({**arrays, "mass": np.zeros(3)}, r"body.npz: mass: got an array of shape \(3,\), wanted one number"),
        ({**arrays, "K": arrays["K"] * np.nan}, "body.npz: K: contains numbers that are not finite"),
        ({name: value for name, value in arrays.items() if name != "S1"}, "body.npz: lacks S1"),
    ):
        np.savez(folder / "damaged" / "body.npz", **changed)
        refuses(message, femb.fem.read_reduced_body, folder / "damaged" / "body.npz", error=FembError)
    shutil.copy(folder / "body.npz", folder / "damaged" / "body.npz")


@pytest.mark.slow
@seed(1)
@settings(common, max_examples=50)
@given(st.sampled_from(sorted(WAYS)), damage)
def test_some_damaged_bytes(folder, way, steps):
    damage_bytes(folder, way, steps)


@pytest.mark.slow
@seed(1)
@settings(common, max_examples=50)
@given(st.sampled_from(EDITED), edits)
def test_some_edited_arrays(folder, way, steps):
    edit_arrays(folder, way, steps)


@pytest.mark.slow
@pytest.mark.parametrize("way", [*WAYS, *BY_PYYETI])
def test_many_damaged_bytes(folder, way):
    if way in BY_PYYETI:
        pytest.importorskip("pyyeti", reason="pyyeti, the extra fe, is not installed")

    @seed(SEED)
    @settings(common, max_examples=TRIES // 10)
    @given(damage)
    def many(steps):
        damage_bytes(folder, way, steps)

    many()


@pytest.mark.slow
def test_many_edited_arrays(folder):
    @seed(SEED)
    @settings(common, max_examples=TRIES)
    @given(st.sampled_from(EDITED), edits)
    @example("body.npz", [("replace", 500, 99)])  # more than a thousand interfaces of one name
    def many(way, steps):
        edit_arrays(folder, way, steps)

    many()
