"""Every exported number is the result of its name: meshes by VTK, or by meshio without it, tables, and HDF5 files."""

import json
import re

import h5py
import numpy as np
import pytest
from checkout import CASES
from long_runs import slow_but
from shared_runs import command, results_of, start_of

from femb.base.errors import FembError, ResultError
from femb.case import load_case
from femb.export.catalogue import export_csv, export_vtu
from femb.numerics import rotations
from femb.results.results import Results
from femb.results.storage.read import read_content
from femb.vibration.modes import modes

QUICK = ("panel_wing", "rollout_blanket", "l_frame")
SHORT = dict.fromkeys(QUICK, ("run.duration=0.02", "run.output_interval=0.01"))
NAMES = sorted(path.stem for path in CASES.glob("*.*") if path.suffix in (".toml", ".py"))
TOML = sorted(path.stem for path in CASES.glob("*.toml"))
SUBDIVISIONS = 2
TABLES = {"body": "bodies", "beam": "beams", "shell": "shells"}
OF_ELEMENTS = {
    "beams": {"axial_stress": "sep", "shear_stress": "se", "von_mises": "sep"},
    "shells": {
        **dict.fromkeys(("membrane_force", "bending_moment", "shear_force", "membrane_strain", "curvature"), "v"),
        **dict.fromkeys(("wrinkling", "temperature", "temperature_gradient"), ""),
        "surface_stress": "sv", "surface_von_mises": "s", "failure_index": "ps",
    },
}  # fmt: skip
AXES = {"scalar": ("",), 3: "xyz", 4: "wxyz"}


def mesh_of(file):
    """Points (P, 3), data at points by name, the component of every point, and data of cells by name; by VTK where it
    is there."""
    try:
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader
    except ImportError:
        return mesh_by_meshio(file)
    reader = vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(file))
    reader.Update()
    grid = reader.GetOutput()
    points = vtk_to_numpy(grid.GetPoints().GetData())
    data = grid.GetPointData()
    fields = {data.GetArrayName(k): vtk_to_numpy(data.GetArray(k)) for k in range(data.GetNumberOfArrays())}
    owner = np.full(len(points), -1)
    data = grid.GetCellData()
    cells = {data.GetArrayName(k): vtk_to_numpy(data.GetArray(k)) for k in range(data.GetNumberOfArrays())}
    component = cells["component"]
    for k in range(grid.GetNumberOfCells()):
        ids = grid.GetCell(k).GetPointIds()
        owner[[ids.GetId(j) for j in range(ids.GetNumberOfIds())]] = component[k]
    return points, fields, owner, cells


def mesh_by_meshio(file):
    import meshio

    mesh = meshio.read(file)
    owner = np.full(len(mesh.points), -1)
    for block, component in zip(mesh.cells, mesh.cell_data["component"], strict=True):
        owner[block.data] = component[:, None]
    return mesh.points, mesh.point_data, owner, {name: np.concatenate(x) for name, x in mesh.cell_data.items()}


def parts_of(folder, k, name="lines"):
    """Kind, name, the points with their fields, and data of the cells of every component of the mesh at output time
    k."""
    (file,) = folder.glob(f"{name}_{k:04d}.vtu")
    points, fields, owner, cells = mesh_of(file)
    assert np.all(owner >= 0)
    for entry in json.loads((folder / "legend.json").read_text())["components"]:
        own, of = owner == entry["component"], cells["component"] == entry["component"]
        if own.any():  # symbols are in the mesh of solids alone
            part = {"points": points[own]} | {word: x[own] for word, x in fields.items()}
            yield entry["kind"], entry["name"], part, {word: x[of] for word, x in cells.items()}


def same(found, wanted, what):
    """Equal to the digits of the numbers; none at all where the item has none."""
    wanted = np.asarray(wanted, dtype=float)
    scale = np.max(np.abs(wanted), initial=1e-300, where=np.isfinite(wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12 * scale, err_msg=what)


def check_meshes(results, folder):
    begin = results.undisplaced
    last = len(results.time) - 1
    export_vtu(results, folder, every=max(1, last), subdivisions=SUBDIVISIONS)
    for number, k in enumerate(dict.fromkeys((0, max(1, last) if last else 0))):
        seen = set()
        for kind, name, part, cells in parts_of(folder, number):
            if kind not in TABLES:
                continue
            table = TABLES[kind]
            seen.add((table, name))
            check_cells(getattr(results, table)[name], cells, k)
            {"body": check_body, "beam": check_beam, "shell": check_shell}[kind](
                getattr(results, table)[name], getattr(begin, table)[name], part, k
            )
        there = {(t, n) for t in ("bodies", "beams", "shells") for n in getattr(results, t)}
        assert seen == there


def check_cells(group, cells, k):
    """Every number of every quantity of the elements, of plies and recovery points the largest; NaN of all others."""
    table = group.path.partition("/")[0]
    wanted = {}
    for word, axes in OF_ELEMENTS.get(table, {}).items():
        try:
            values = getattr(group, word)[k]
        except ResultError:
            continue
        if "p" in axes:
            axis = 2 if table == "beams" else 1
            least, most = np.nanmin(values, axis), np.nanmax(values, axis)
            values = np.where(-least > (1.0 + 1e-9) * most, least, most)  # of those alike the positive one
        places = ("start", "middle", "end") if table == "beams" else ("behind", "in_front")
        if "s" in axes:
            wanted |= {f"{word}_{place}": values[:, j] for j, place in enumerate(places)}
        else:
            wanted[word] = values
    if table == "shells":
        assert set(wanted) >= {word for word in group.series if group.quantities()[word].sizes[:2] == ["T", "e"]}
    for word, found in cells.items():
        if word in wanted:
            values = np.reshape(wanted[word], (len(wanted[word]), -1))[cells["element"]]
            same(np.reshape(found, (len(found), -1))[:, : values.shape[1]], values, f"{group.path}/{word}")
        elif word not in ("component", "element"):
            assert np.all(np.isnan(found)), f"{group.path}: {word}"
    assert set(wanted) <= set(cells)


def check_body(body, begin, part, k):
    turn, place = body.quaternion[k], body.position[k]
    meshes = [word for word in body.arrays if word.startswith("cells_")]
    if not meshes:
        same(part["points"], [place], body.path)
        same(part["velocity"], [body.velocity[k]], body.path)
        same(part["displacement"], [place - begin.position[0]], body.path)
        if "acceleration" in part:
            same(part["acceleration"], [body.acceleration[k] if "acceleration" in body else [np.nan] * 3], body.path)
        assert abs(part["quaternion"][0] @ turn) == pytest.approx(1.0, abs=1e-12)
    else:
        used = np.concatenate([np.unique(body[word].astype(int)) for word in meshes])
        moved = np.tensordot(body["deformation"][k], body["node_shapes"], 1)
        same(part["points"], place + rotations.rotate(turn, body["nodes"] + moved)[used], body.path)
        same(part["deflection"], moved[used], body.path)
        first = np.tensordot(begin["deformation"][0], begin["node_shapes"], 1)
        start = begin.position[0] + rotations.rotate(begin.quaternion[0], body["nodes"] + first)[used]
        np.testing.assert_allclose(part["displacement"], part["points"] - start, atol=1e-9)
        if "stress_shapes" in body:
            same(part["stress"], body.nodal_stress[k][used], body.path)
            same(part["von_mises"], body.nodal_von_mises[k][used], body.path)
    for word in ("strain", "section_force", "section_moment", "membrane_force"):
        assert word not in part or np.all(np.isnan(part[word])), word


def check_beam(beam, begin, part, k):
    """Ends and middle of every element."""
    stations = SUBDIVISIONS + 1
    per_element = {word: x.reshape(-1, stations, *x.shape[1:]) for word, x in part.items()}
    elements = len(beam.element_length)
    ends = {word: np.stack([x[:, 0], x[:, -1]], axis=1) for word, x in per_element.items()}
    assert len(per_element["points"]) == elements

    def of_nodes(values):
        return np.stack([values[:-1], values[1:]], axis=1)

    same(ends["points"], of_nodes(beam.position[k]), beam.path)
    same(ends["velocity"], of_nodes(beam.velocity[k]), beam.path)
    np.testing.assert_allclose(
        ends["displacement"], of_nodes(beam.position[k] - begin.position[0]), rtol=0, atol=1e-11 * np.ptp(beam.position)
    )
    for word in ("deflection", "acceleration"):
        if word in beam:
            same(ends[word], of_nodes(beam[word][k]), f"{beam.path}/{word}")
    if "strain" in beam:
        same(ends["strain"], beam.strain[k], beam.path)
    for word, middle in (("section_force", "midpoint_force"), ("section_moment", "midpoint_moment")):
        if word in beam:
            same(ends[word], beam[word][k], f"{beam.path}/{word}")
            same(per_element[word][:, SUBDIVISIONS // 2], beam[middle][k], f"{beam.path}/{middle}")


def check_shell(shell, begin, part, k):
    kinds = [cells for cells in (shell.quadrilaterals, shell.triangles) if len(cells)]
    used = np.concatenate([np.unique(cells.astype(int)) for cells in kinds])
    same(part["points"], shell.position[k][used], shell.path)
    same(part["velocity"], shell.velocity[k][used], shell.path)
    np.testing.assert_allclose(part["displacement"], (shell.position[k] - begin.position[0])[used], atol=1e-11)
    for word in ("deflection", "acceleration"):
        if word in shell:
            same(part[word], shell[word][k][used], f"{shell.path}/{word}")
    elements = [list(map(int, cell)) for cells in (shell.quadrilaterals, shell.triangles) for cell in cells]
    for word in ("membrane_force", "bending_moment", "shear_force"):
        if word in shell:
            sums, areas = np.zeros((shell.position.shape[1], 3)), np.zeros(shell.position.shape[1])
            for cell, value, area in zip(elements, shell[word][k], shell.element_area, strict=True):
                sums[cell, : len(value)] += area * value
                areas[cell] += area
            same(part[word], (sums / areas[:, None])[used], f"{shell.path}/{word}")


PLACES = r"(?:node(?P<node>\d+)_)?(?:element(?P<element>\d+)_)?(?:(?P<end>start|end)_)?"
COLUMN = re.compile(PLACES + r"(?P<rest>.+?)(?: \[(?P<unit>.*)\])?")


def check_tables(results, folder):
    """Every column, by the words and numbers of its name, and its unit."""
    files = {file.stem: file for file in export_csv(results, folder, items=["*"])}
    groups = {f"{g.word}_{g.name}" if g.path != "audit" else "audit": g for g in results.groups()}
    for stem, file in files.items():
        group = groups[stem]
        with file.open() as stream:
            first, *names = stream.readline().rstrip("\n").split(",")
            rows = np.loadtxt(stream, delimiter=",", ndmin=2)
        assert first == (results.counted or "time [s]")
        np.testing.assert_array_equal(rows[:, 0], results.time)
        arrays = dict(group.arrays)
        words = sorted(arrays, key=len, reverse=True)
        for name, column in zip(names, rows.T[1:], strict=True):
            match = COLUMN.fullmatch(name)
            rest = match["rest"]
            word = next(w for w in words if rest == w or rest.startswith(f"{w}_") or rest == f"{group.word}_{w}")
            component = rest.removeprefix(f"{group.word}_" if rest == f"{group.word}_{word}" else "")[len(word) + 1 :]
            array = arrays[word]
            for key in ("node", "element"):
                array = array if match[key] is None else array[:, int(match[key])]
            if match["end"] is not None:
                array = array[:, ("start", "end").index(match["end"])]
            if component:
                array = array[..., place_of(group, word, component, array)]
            np.testing.assert_array_equal(column, array.reshape(len(column)), f"{file.name}: {name}")
            assert " or " not in (match["unit"] or ""), name


def place_of(group, word, component, array):
    """The index of a component, by what the declarations and the item's attributes say."""
    names = json.loads(str(group.attributes.get("columns", "{}"))).get(word, {}).get("names")
    quantity = group.quantities().get(word)
    names = (
        names
        or (quantity.components if quantity is not None else ())
        or json.loads(str(group.attributes.get("names", "[]")))
    )
    names = names if len(names) == array.shape[-1] else {3: "xyz", 4: "wxyz"}.get(array.shape[-1], ())
    if component in names:
        return list(names).index(component)
    parts = tuple(int(each) for each in component.split("_"))
    return parts if len(parts) > 1 else parts[0]


def check_file(results, path):
    """Every dataset, read by h5py alone, has the numbers, its unit, and names of its axes and components."""
    results.write(path)
    seen, groups, arrays = set(), {each.path: each for each in results.groups()}, results.arrays

    def visit(name, item):
        if not isinstance(item, h5py.Dataset) or name.startswith("checkpoint/"):
            return
        seen.add(name)
        if item.dtype.kind in "biufc":
            np.testing.assert_array_equal(item[()], arrays[name], name)
        group, _, word = name.rpartition("/")
        declared = groups.get(group)
        if declared is not None and word in declared.quantities():
            axes = json.loads(item.attrs["axes"])
            assert len(axes) == item.ndim, name
            assert (axes[:1] == ["time"]) == (name in results.series), name
            assert item.attrs["units"], name
            assert " or " not in item.attrs["units"], name
            if item.shape[-1:] in ((3,), (4,)) and declared.quantities()[word].sizes[-1] in ("3", "4"):
                assert len(json.loads(item.attrs["components"])) == item.shape[-1], name

    with h5py.File(path) as file:
        file.visititems(visit)
    assert seen == {name for name in arrays if not name.startswith("checkpoint/")}
    assert not {name for name in read_content(path, lazy=True).attributes if name in arrays}, "of groups alone"


def thinned(results, most=12):
    """The first instant, the last and some between."""
    few = np.unique(np.linspace(0, len(results.time) - 1, most).astype(int))
    return Results({name: x[few] for name, x in results.series.items()}, results.static, results.attributes)


def check(results, folder):
    results = thinned(results)
    if results.bodies or results.beams or results.shells:
        check_meshes(results, folder / "vtu")
    check_tables(results, folder / "csv")
    check_file(results, folder / "again.h5")


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_but(QUICK, NAMES))
def test_results_of_a_run(name, tmp_path):
    """Of its first hundredth, in which everything moves that does."""
    (path,) = CASES.glob(f"{name}.*")
    check(results_of(name, *SHORT.get(name, start_of(path))), tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::femb.FembWarning")
@pytest.mark.parametrize("name", slow_but(("panel_wing",), TOML))
def test_modes(name, tmp_path):
    (path,) = CASES.glob(f"{name}.toml")
    try:
        found = modes(load_case(path).model, 2)
    except FembError as error:  # a case that has none, as its own tests say
        pytest.skip(str(error))
    check(found.results(), tmp_path)
    period = found.motion.one_period(1, frames=8)
    check(period, tmp_path / "period")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cantilever_tip_load"])
def test_states(name, tmp_path):
    code, output, file = command("static", f"cases/{name}.toml")
    assert code == 0, output
    check(Results.read(file.with_name("static.h5")), tmp_path)
