"""The contract of exporters over the whole catalogue: what is read back, and what a failure leaves."""

import inspect
import json
import resource
from xml.etree import ElementTree

import meshio
import numpy as np
import pytest
from long_runs import slow_but
from meshio.xdmf import TimeSeriesReader
from models import refuses
from oracles.synthetic_results import satellite

from femb.base.errors import ResultError
from femb.export.formats import EXPORTERS, Exporter
from femb.results.results import Results

every_format = pytest.mark.parametrize("form", EXPORTERS)
# What XDMF and VTU share through meshio, and CSV, which is written without it.
both_kinds = pytest.mark.parametrize("form", slow_but(["csv", "vtu"], EXPORTERS))
ELEMENTS = 2


@pytest.fixture
def results():
    return Results(*satellite(times=21, elements=ELEMENTS))


def vtu(files):
    lines = next(file for file in files if file.name == "lines.pvd")
    for entry in ElementTree.parse(lines).getroot().iter("DataSet"):
        yield float(entry.get("timestep")), meshio.read(lines.parent / entry.get("file"))


def xdmf(files):
    lines = next(file for file in files if file.name == "lines.xdmf")
    with TimeSeriesReader(lines) as reader:
        for k in range(reader.num_steps):
            # The reader takes points to stay where they are; it reads those of any grid it is pointed to.
            reader.mesh_grid = reader.collection[k]
            points, cells = reader.read_points_cells()
            time, _, cell_data = reader.read_data(k)
            yield time, meshio.Mesh(points, cells, cell_data=cell_data)


def of_meshes(read):
    """A reader of times (t,), positions of the hub (t, 3) and of the boom's nodes (t, n, 3), from meshes of lines."""

    def positions(files):
        legend = json.loads((files[0].parent / "legend.json").read_text())["components"]
        numbers = {each["name"]: each["component"] for each in legend}
        times, hub, nodes = [], [], []
        for time, mesh in read(files):
            parts = {}
            for name, number in numbers.items():
                pairs = zip(mesh.cells, mesh.cell_data["component"], strict=True)
                corners = [block.data[component == number].ravel() for block, component in pairs]
                parts[name] = mesh.points[np.unique(np.concatenate(corners))]
            boom = parts["right"].reshape(ELEMENTS, -1, 3)
            times.append(time)
            hub.append(parts["hub"][0])
            nodes.append([*boom[:, 0], boom[-1, -1]])
        return np.array(times), np.array(hub), np.array(nodes)

    return positions


def csv(files):
    tables = {}
    for file in files:
        with file.open() as table:
            names = table.readline().rstrip("\n").split(",")
            tables[file.stem] = dict(zip(names, np.loadtxt(table, delimiter=",", ndmin=2).T, strict=True))
    hub, boom = tables["body_hub"], tables["beam_right"]
    nodes = [[boom[f"node{k}_position_{axis} [m]"] for axis in "xyz"] for k in range(ELEMENTS + 1)]
    position = np.stack([hub[f"position_{axis} [m]"] for axis in "xyz"], axis=1)
    return hub["time [s]"], position, np.moveaxis(np.array(nodes), 2, 0)


READERS = {"vtu": of_meshes(vtu), "xdmf": of_meshes(xdmf), "csv": csv}


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_exporter_is_read_back():
    assert set(READERS) == set(EXPORTERS)


@every_format
def test_it_is_called_as_the_contract_says(form):
    wanted = inspect.signature(Exporter.__call__).parameters
    taken = inspect.signature(EXPORTERS[form]).parameters
    assert list(taken)[:2] == ["results", "folder"]
    for name in list(wanted)[3:]:
        assert taken[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert taken[name].default == wanted[name].default
    for each in list(taken.values())[2:]:
        assert each.kind is inspect.Parameter.KEYWORD_ONLY
        assert each.default is not inspect.Parameter.empty
    assert EXPORTERS[form].__doc__


@both_kinds
@pytest.mark.parametrize("every", [1, 8])
def test_positions_and_times_are_read_back(form, every, results, tmp_path):
    """Of bodies and of the nodes of beams, into folders that are made."""
    told = []
    folder = tmp_path / "a" / "b"
    files = EXPORTERS[form](results, folder, every=every, progress=lambda *done: told.append(done))
    assert files
    assert all(file.parent == folder for file in files)
    time, hub, nodes = READERS[form](files)
    np.testing.assert_array_equal(time, results.time[::every])
    np.testing.assert_allclose(hub, results.bodies["hub"].position[::every], atol=1e-14)
    np.testing.assert_allclose(nodes, results.beams["right"].position[::every], atol=1e-13)
    assert told == [(k, len(told)) for k in range(1, len(told) + 1)]


@pytest.mark.slow
@every_format
def test_motion_is_seen_from_the_frame(form, results, tmp_path):
    _, hub, nodes = READERS[form](EXPORTERS[form](results, tmp_path, frame="hub"))
    np.testing.assert_allclose(hub, 0.0, atol=1e-12)
    np.testing.assert_allclose(nodes, np.broadcast_to(nodes[0], nodes.shape), atol=1e-12)


@pytest.mark.slow
@every_format
def test_results_stay_as_they_were(form, results, tmp_path):
    before = {path: array.copy() for path, array in results.arrays.items()}
    EXPORTERS[form](results, tmp_path)
    for path, array in results.arrays.items():
        np.testing.assert_array_equal(array, before[path])


@pytest.mark.slow
@both_kinds
def test_an_interruption_leaves_earlier_files(form, results, tmp_path):
    """And none of the new ones, whenever it comes."""
    EXPORTERS[form](results, tmp_path, every=10)
    before, total = content(tmp_path), []
    EXPORTERS[form](results, tmp_path / "whole", progress=lambda done, _: total.append(done))
    before |= {f"whole/{name}": data for name, data in content(tmp_path / "whole").items()}

    for last in (1, len(total) // 2 + 1, len(total)):

        def stop(done, _, last=last):
            if done == last:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            EXPORTERS[form](results, tmp_path, progress=stop)
        assert content(tmp_path) == before


@every_format
def test_a_full_disk_leaves_earlier_files(form, results, tmp_path):
    EXPORTERS[form](results, tmp_path, every=10)
    before = content(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(ResultError, match=r"cannot be written there .* free space, or choose another folder"):
            EXPORTERS[form](results, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert content(tmp_path) == before


@pytest.mark.slow
@both_kinds
def test_files_of_the_same_names_are_replaced(form, results, tmp_path):
    EXPORTERS[form](results, tmp_path)
    files = EXPORTERS[form](results, tmp_path, every=10)
    assert len(READERS[form](files)[0]) == 3


@every_format
def test_what_cannot_be_written_is_refused(form, results, tmp_path):
    (tmp_path / "file").write_text("")
    for words, message in (({"frame": "spoke"}, "'spoke'.*'inertial', 'hub'"), ({"every": 0}, "every is 0")):
        refuses(message, EXPORTERS[form], results, tmp_path / "new", **words, error=ResultError)
    refuses("no output times", EXPORTERS[form], Results({}), tmp_path / "new", error=ResultError)
    refuses("cannot be written", EXPORTERS[form], results, tmp_path / "file", error=ResultError)
    assert content(tmp_path) == {"file": b""}
