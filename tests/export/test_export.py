"""Meshes and tables read back, against closed forms."""

import json
import tracemalloc
from pathlib import Path
from xml.etree import ElementTree

import h5py
import meshio
import numpy as np
import pytest
from meshio.xdmf import TimeSeriesReader
from models import of_parts, refuses
from oracles.synthetic_results import BOX, DRIFT, LENGTH, OUTLINE, SPIN, START, bent_beam, satellite
from shared_runs import invoked

import femb
from femb.base.errors import ResultError
from femb.export.catalogue import export_csv, export_vtu, export_xdmf
from femb.export.formats import EXPORTERS
from femb.numerics import rotations
from femb.pictures import geometry
from femb.pictures.parts import parts_of
from femb.pictures.subject import Subject
from femb.results.results import Results
from femb.results.storage.read import read_content

HINGE = (("force", "[N]"), ("torque", "[N m]"))
L_SECTION = np.array([[0, 0], [3, 0], [3, 1], [1, 1], [1, 4], [0, 4]]) * 0.01
TUBE = np.array([[-2, -2], [2, -2], [2, 2], [-2, 2], [-2, -2], [-1, -1], [-1, 1], [1, 1], [1, -1], [-1, -1]]) * 0.01


def files_of(collection):
    """(time, mesh) of every entry of a PVD file."""
    entries = ElementTree.parse(collection).getroot().iter("DataSet")
    return [(float(e.get("timestep")), meshio.read(Path(collection).parent / e.get("file"))) for e in entries]


def cells_of(mesh, name, folder):
    """{cell type: cells} of one component."""
    components = json.loads((folder / "legend.json").read_text())["components"]
    number = next(c["component"] for c in components if c["name"] == name)
    found = {}
    for block, component in zip(mesh.cells, mesh.cell_data["component"], strict=True):
        if np.any(component == number):
            found[block.type] = block.data[component == number]
    return found


def wedge_volumes(points, wedges):
    """Volumes of wedges as three tetrahedra each; all positive where they are in VTK's order."""
    a, b, c, d, e, f = (points[wedges[:, i]] for i in range(6))
    tetrahedra = [(a, b, c, d), (b, c, d, e), (c, d, e, f)]
    parts = [-np.sum(np.cross(q - p, r - p) * (t - p), axis=-1) / 6.0 for p, q, r, t in tetrahedra]
    return np.stack(parts, axis=-1)


def surface_volume(points, triangles):
    """Volume inside a closed surface, positive where the triangles face outward."""
    a, b, c = (points[triangles[:, i]] for i in range(3))
    return np.sum(a * np.cross(b, c)) / 6.0


# Lines


@pytest.mark.slow
def test_lines_follow_the_motion(tmp_path):
    collections = export_vtu(Results(*satellite()), tmp_path / "mesh", solids=False, subdivisions=4)
    assert [path.name for path in collections] == ["lines.pvd"]
    files = files_of(collections[0])
    np.testing.assert_array_equal([time for time, _ in files], np.linspace(0.0, 2.0, 21))
    s = np.concatenate([np.linspace(0.0, 1.0, 5), np.linspace(1.0, 2.0, 5)])
    local = np.concatenate([[[0, 0, 0]], np.outer(0.1 + s, [1, 0, 0]), np.outer(0.1 + s, [-1, 0, 0])])
    for time, mesh in files:
        quaternion = rotations.exponential(time * SPIN)
        offset = rotations.rotate(quaternion, local)
        expected = START + time * DRIFT + offset
        np.testing.assert_allclose(mesh.points, expected, atol=1e-13)
        np.testing.assert_allclose(mesh.point_data["displacement"], expected - START - local, atol=1e-13)
        velocity = DRIFT + rotations.rotate(quaternion, np.cross(SPIN, local))
        np.testing.assert_allclose(mesh.point_data["velocity"], velocity, atol=1e-13)
        attitude = mesh.point_data["quaternion"]
        np.testing.assert_allclose(np.abs(attitude[:11] @ quaternion), 1.0, atol=1e-14)
        np.testing.assert_allclose(mesh.point_data["section_force"][:, 0], [np.nan, *s, *s], atol=1e-13)
        np.testing.assert_array_equal(mesh.point_data["strain"], [np.nan, *[0.0] * 20])
        assert mesh.point_data["section_moment"].shape == (21, 3)


def test_the_legend_names_every_component(tmp_path):
    (collection,) = export_vtu(Results(*satellite()), tmp_path, solids=False, every=20, subdivisions=3)
    (_, mesh), _ = files_of(collection)
    left = cells_of(mesh, "left", tmp_path)
    assert list(left) == ["line"]
    assert len(left["line"]) == 6
    assert np.all(mesh.points[left["line"], 0] < START[0])
    assert list(cells_of(mesh, "hub", tmp_path)) == ["vertex"]
    elements = np.concatenate(mesh.cell_data["element"])
    np.testing.assert_array_equal(elements, [0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1])


def test_a_bent_beam_is_a_cubic_through_its_nodes(tmp_path):
    radius = 1.5
    block, static, attributes = bent_beam(radius, elements=4)
    block["beams/rod/strain"][-1] = [[0.01, 0.02], [0.03, 0.04], [0.05, 0.06], [0.07, 0.08]]
    (collection,) = export_vtu(Results(block, static, attributes), tmp_path, solids=False, subdivisions=2)
    points = files_of(collection)[-1][1].points.reshape(4, 3, 3)
    node = block["beams/rod/position"][-1]
    np.testing.assert_allclose(points[:, 0], node[:-1], atol=1e-15)
    np.testing.assert_allclose(points[:, 2], node[1:], atol=1e-15)
    angle = np.linspace(0.0, LENGTH / radius, 5)
    tangent = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
    strain = block["beams/rod/strain"][-1]
    slope = 0.5 * ((1 + strain[:, :1]) * tangent[:-1] - (1 + strain[:, 1:]) * tangent[1:])
    np.testing.assert_allclose(points[:, 1], 0.5 * (node[:-1] + node[1:]) + slope / 8, atol=1e-15)


def test_the_centreline_of_an_arc_converges_at_fourth_order(tmp_path):
    errors = []
    for elements in (4, 8):
        results = Results(*bent_beam(radius=1.5, elements=elements))
        (collection,) = export_vtu(results, tmp_path, solids=False, every=2)
        points = files_of(collection)[-1][1].points
        errors.append(np.abs(np.linalg.norm(points - [0.0, 1.5, 0.0], axis=1) - 1.5).max())
    assert errors[0] < 1e-4
    assert 12.0 < errors[0] / errors[1] < 20.0


def test_strain_is_linear_along_every_element(tmp_path):
    block, static, attributes = bent_beam(elements=2)
    block["beams/rod/strain"][:] = [[0.0, 1e-3], [3e-3, 1e-3]]
    (collection,) = export_vtu(Results(block, static, attributes), tmp_path, solids=False, subdivisions=2)
    strain = files_of(collection)[0][1].point_data["strain"]
    np.testing.assert_allclose(strain, [0.0, 5e-4, 1e-3, 3e-3, 2e-3, 1e-3], atol=1e-18)


# Solids


@pytest.mark.parametrize(
    ("outline", "area"), [(OUTLINE, 8e-4), (OUTLINE[::-1], 8e-4), (L_SECTION, 6e-4), (TUBE, 12e-4)]
)
def test_a_straight_solid_has_the_volume_of_area_times_length(tmp_path, outline, area):
    block, static, attributes = satellite()
    static["beams/right/outline"] = outline
    _, collection = export_vtu(Results(block, static, attributes), tmp_path, every=10)
    for _, mesh in files_of(collection):
        (wedges,) = cells_of(mesh, "right", tmp_path).values()
        volumes = wedge_volumes(mesh.points, wedges)
        assert volumes.min() > 0.0
        np.testing.assert_allclose(volumes.sum(), area * LENGTH, rtol=1e-12)


def test_a_bent_solid_keeps_its_section_square_to_the_centreline(tmp_path):
    radius = 1.5
    results = Results(*bent_beam(radius, elements=8))
    lines, solids = (files_of(c)[-1][1] for c in export_vtu(results, tmp_path))
    centre = lines.points
    section = solids.points.reshape(-1, 4, 3)
    np.testing.assert_allclose(section.mean(axis=1), centre, atol=1e-15)
    # The section's y points to the centre of the arc and its z is the inertial one.
    inward = ([0.0, radius, 0.0] - centre) / radius
    expected = OUTLINE[:, :1] * inward[:, None] + OUTLINE[:, 1:] * np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(section - centre[:, None], expected, atol=1e-5)
    # Pappus: the centroid's way times the area.
    volumes = wedge_volumes(solids.points, cells_of(solids, "rod", tmp_path)["wedge"])
    np.testing.assert_allclose(volumes.sum(), 8e-4 * LENGTH, rtol=1e-3)


def test_a_twisted_solid_turns_evenly_and_does_not_care_for_the_sign_of_a_quaternion(tmp_path):
    block, static, attributes = bent_beam(radius=1e9, elements=1, times=1)
    block["beams/rod/quaternion"][0] = [[1, 0, 0, 0], -rotations.exponential(np.array([1.0, 0.0, 0.0]))]
    _, collection = export_vtu(Results(block, static, attributes), tmp_path, subdivisions=2)
    middle = files_of(collection)[0][1].points.reshape(3, 4, 3)[1]
    turned = rotations.rotate(rotations.exponential(np.array([0.5, 0.0, 0.0])), np.insert(OUTLINE, 0, 0.0, axis=1))
    np.testing.assert_allclose(middle - [1.0, 0.0, 0.0], turned, atol=1e-14)


@pytest.mark.slow
def test_the_velocity_of_a_solid_is_the_rate_of_its_points(tmp_path):
    step = 2.0 / 4000
    block, static, attributes = satellite(times=4001)
    three = {path: array[[1000, 1001, 1002]] for path, array in block.items()}
    _, collection = export_vtu(Results(three, static, attributes), tmp_path)
    before, now, after = (mesh for _, mesh in files_of(collection))
    rate = (after.points - before.points) / (2 * step)
    np.testing.assert_allclose(now.point_data["velocity"], rate, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "volume", "extent"),
    [
        ({"box": [0.2, 0.3, 0.4]}, 0.024, [0.2, 0.3, 0.4]),
        ({"sphere": 0.5}, 4 / 3 * np.pi * 0.125, [1.0, 1.0, 1.0]),
        ({"cylinder": [0.5, 2.0]}, np.pi * 0.5, [1.0, 1.0, 2.0]),
    ],
)
def test_bodies_are_closed_surfaces_of_their_shape(shape, volume, extent):
    points, triangles = geometry.body_surface(shape)
    np.testing.assert_allclose(np.ptp(points, axis=0), extent, rtol=1e-12)
    np.testing.assert_allclose(points.max(axis=0), -points.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(surface_volume(points, triangles), volume, rtol=0.03)
    edges = {(a, b) for t in triangles for a, b in zip(t, np.roll(t, -1), strict=True)}
    assert len(edges) == triangles.size, "an edge is passed twice in one direction"
    assert edges == {(b, a) for a, b in edges}, "the surface has a hole"


def test_a_body_moves_with_its_shape(tmp_path):
    _, collection = export_vtu(Results(*satellite()), tmp_path, every=20)
    time, mesh = files_of(collection)[-1]
    triangles = cells_of(mesh, "hub", tmp_path)["triangle"]
    corners = mesh.points[np.unique(triangles)] - START - time * DRIFT
    local = rotations.rotate_back(rotations.exponential(time * SPIN), corners)
    np.testing.assert_allclose(np.abs(local), np.tile(np.array(BOX) / 2, (8, 1)), atol=1e-13)
    velocity = mesh.point_data["velocity"][np.unique(triangles)]
    expected = DRIFT + rotations.rotate(rotations.exponential(time * SPIN), np.cross(SPIN, local))
    np.testing.assert_allclose(velocity, expected, atol=1e-13)


def test_what_has_no_shape_is_drawn_thin(tmp_path):
    block, static, attributes = satellite()
    del static["beams/left/outline"], attributes["bodies/hub"]
    _, collection = export_vtu(Results(block, static, attributes), tmp_path, every=20)
    mesh = files_of(collection)[0][1]
    kinds = {name: list(cells_of(mesh, name, tmp_path)) for name in ("hub", "right", "left")}
    assert kinds == {"hub": ["vertex"], "right": ["wedge"], "left": ["line"]}


# XDMF


def series_of(path):
    """(time, mesh) of every time of an XDMF time series, with the coordinates it has at that time."""
    found = []
    with TimeSeriesReader(path) as reader:
        for k in range(reader.num_steps):
            # The reader takes points to stay where they are; it reads those of any grid it is pointed to.
            reader.mesh_grid = reader.collection[k]
            points, cells = reader.read_points_cells()
            time, point_data, cell_data = reader.read_data(k)
            found.append((time, meshio.Mesh(points, cells, point_data, cell_data)))
    return found


@pytest.mark.slow
def test_a_time_series_of_lines_follows_the_motion(tmp_path):
    files = export_xdmf(Results(*satellite()), tmp_path / "series", solids=False, every=5, subdivisions=4)
    assert files == [tmp_path / "series" / "lines.xdmf"]
    assert {path.name for path in files[0].parent.iterdir()} == {"lines.xdmf", "lines.h5", "legend.json"}
    s = np.concatenate([np.linspace(0.0, 1.0, 5), np.linspace(1.0, 2.0, 5)])
    local = np.concatenate([[[0, 0, 0]], np.outer(0.1 + s, [1, 0, 0]), np.outer(0.1 + s, [-1, 0, 0])])
    series = series_of(files[0])
    np.testing.assert_array_equal([time for time, _ in series], [0.0, 0.5, 1.0, 1.5, 2.0])
    for time, mesh in series:
        quaternion = rotations.exponential(time * SPIN)
        expected = START + time * DRIFT + rotations.rotate(quaternion, local)
        np.testing.assert_allclose(mesh.points, expected, atol=1e-13)
        np.testing.assert_allclose(mesh.point_data["displacement"], expected - START - local, atol=1e-13)
        velocity = DRIFT + rotations.rotate(quaternion, np.cross(SPIN, local))
        np.testing.assert_allclose(mesh.point_data["velocity"], velocity, atol=1e-13)
        np.testing.assert_allclose(mesh.point_data["section_force"][:, 0], [np.nan, *s, *s], atol=1e-13)
        found = np.insert(mesh.point_data["quaternion_vector"], 0, mesh.point_data["quaternion_scalar"], axis=1)
        left = rotations.multiply(quaternion, [0.0, 0.0, 0.0, 1.0])
        for part, wanted in ((found[:11], quaternion), (found[11:], left)):
            np.testing.assert_allclose(np.abs(part @ wanted), 1.0, atol=1e-14)
    # The reader as it is meant to be used: points at the first time, and how far they came.
    with TimeSeriesReader(files[0]) as reader:
        first, _ = reader.read_points_cells()
        for k, (_, mesh) in enumerate(series):
            np.testing.assert_allclose(first + reader.read_data(k)[1]["displacement"], mesh.points, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("frame", ["inertial", "hub"])
def test_a_time_series_has_what_the_single_files_have(tmp_path, frame):
    block, static, attributes = satellite()
    del static["beams/left/outline"]  # so that the solids have lines, triangles and wedges
    results = Results(block, static, attributes)
    single = export_vtu(results, tmp_path / "vtu", frame=frame, every=10)
    series = export_xdmf(results, tmp_path / "xdmf", frame=frame, every=10)
    assert (tmp_path / "vtu/legend.json").read_text() == (tmp_path / "xdmf/legend.json").read_text()
    for one, other in zip(single, series, strict=True):
        for (time, vtu), (same_time, xdmf) in zip(files_of(one), series_of(other), strict=True):
            assert time == same_time
            np.testing.assert_array_equal(xdmf.points, vtu.points)
            quaternion = vtu.point_data.pop("quaternion")
            np.testing.assert_array_equal(xdmf.point_data.pop("quaternion_scalar"), quaternion[:, 0])
            np.testing.assert_array_equal(xdmf.point_data.pop("quaternion_vector"), quaternion[:, 1:])
            assert vtu.point_data.keys() == xdmf.point_data.keys()
            for name, values in vtu.point_data.items():
                np.testing.assert_array_equal(xdmf.point_data[name], values)
            for name in ("component", "element"):
                wanted, found = (np.concatenate(mesh.cell_data[name]) for mesh in (vtu, xdmf))
                np.testing.assert_array_equal(found, wanted)
            wanted = [tuple(cell) for block in vtu.cells for cell in block.data]
            found = [tuple(cell) for block in xdmf.cells for cell in block.data]
            # A point is a line from itself to itself.
            assert found == [cell * 2 if len(cell) == 1 else cell for cell in wanted]


@pytest.mark.slow
def test_a_time_series_replaces_one_that_is_open(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where meshio by itself would put the HDF5 file
    (file,) = export_xdmf(Results(*satellite()), tmp_path / "series", solids=False, every=20)
    with h5py.File(file.with_suffix(".h5"), "r", locking=True) as old:
        told = []
        export_xdmf(Results(*satellite()), file.parent, every=10, progress=lambda *done: told.append(done))
        assert "data0" in old
    assert told == [(i, 6) for i in range(1, 7)]
    assert [time for time, _ in series_of(file)] == [0.0, 1.0, 2.0]
    assert [path.name for path in tmp_path.iterdir()] == ["series"]


def test_a_time_series_cut_short_leaves_the_earlier_one(tmp_path):
    (file,) = export_xdmf(Results(*satellite()), tmp_path, solids=False, every=10)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_xdmf(Results(*satellite()), tmp_path, solids=False, progress=stop)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert len(series_of(file)) == 3


# CSV


def table_of(path):
    """{name of the column: values} of a table."""
    with path.open() as file:
        names = file.readline().rstrip("\n").split(",")
        values = np.loadtxt(file, delimiter=",", ndmin=2)
    assert len(set(names)) == len(names) == values.shape[1]
    return dict(zip(names, values.T, strict=True))


def columns(table, *names):
    return np.stack([table[name] for name in names], axis=-1)


def test_tables_hold_every_array_with_all_its_digits(tmp_path):
    results = Results(*satellite())
    files = export_csv(results, tmp_path / "tables", items=["*"])
    names = ["body_hub", "beam_right", "beam_left", "joint_hinge", "audit"]
    assert files == [tmp_path / "tables" / f"{name}.csv" for name in names]
    groups = [*results.bodies.values(), *results.beams.values(), *results.joints.values(), results.audit]
    for file, group in zip(files, groups, strict=True):
        table = np.loadtxt(file, delimiter=",", skiprows=1)
        arrays = [array for name, array in group.arrays.items() if f"{group.path}/{name}" in results.series]
        whole = np.concatenate([results.time[:, None], *(array.reshape(21, -1) for array in arrays)], axis=1)
        np.testing.assert_array_equal(table, whole)


@pytest.mark.slow
def test_tables_of_many_times_are_written_in_parts(tmp_path, monkeypatch):
    """From a file they take memory for some output times, whatever their number; the audit is written where asked."""
    monkeypatch.setattr("femb.export.csv.ROWS", 64)
    peaks = []
    for times in (100, 900):
        results, folder = Results(*satellite(times=times, elements=3)), tmp_path / str(times)
        folder.mkdir()
        results.write(folder / "results.h5")
        read = Results(*read_content(folder, lazy=True))
        tracemalloc.start()
        files = export_csv(read, folder, every=2)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert [file.name for file in files] == ["body_hub.csv", "beam_right.csv", "beam_left.csv", "joint_hinge.csv"]
    beam = results.beams["right"]
    assert peaks[1] - peaks[0] < 0.2 * sum(beam[name].nbytes for name in beam.series)
    table = table_of(files[1])
    np.testing.assert_array_equal(table["node3_position_y [m]"], beam.position[::2, 3, 1])
    np.testing.assert_array_equal(table["time [s]"], results.time[::2])


def test_columns_of_tables_are_named_with_their_units(tmp_path):
    results = Results(*satellite())
    hub, right, _, hinge, audit = map(table_of, export_csv(results, tmp_path, items=["*"]))
    np.testing.assert_array_equal(hub["time [s]"], results.time)
    np.testing.assert_array_equal(hub["quaternion_w [-]"], results.bodies["hub"].quaternion[:, 0])
    beam = results.beams["right"]
    np.testing.assert_array_equal(right["node2_position_x [m]"], beam.position[:, 2, 0])
    np.testing.assert_array_equal(right["node1_angular_velocity_z [rad/s]"], beam.angular_velocity[:, 1, 2])
    np.testing.assert_array_equal(right["element1_end_strain [-]"], beam.strain[:, 1, 1])
    np.testing.assert_array_equal(right["element0_end_section_force_x [N]"], 1.0)
    assert not any(name.startswith(("outline", "element_length")) for name in right)
    assert list(hinge)[1:] == [f"{name}_{axis} {unit}" for name, unit in HINGE for axis in "xyz"]
    np.testing.assert_array_equal(audit["energy_error [J]"], results.audit.energy_error)
    np.testing.assert_array_equal(audit["angular_momentum_y [N m s]"], results.audit.angular_momentum[:, 1])


def test_what_has_no_known_name_is_in_the_table_by_number(tmp_path):
    block = {
        "time": np.arange(2.0),
        "joints/slider/coordinates": np.arange(4.0).reshape(2, 2),
        "bodies/hub/heat": np.ones((2, 2)),
        "bodies/hub/charge": np.zeros(2),
    }
    hub, slider = map(table_of, export_csv(Results(block), tmp_path))
    assert list(hub) == ["time [s]", "heat_0", "heat_1", "charge"]
    np.testing.assert_array_equal(slider["coordinates_1 [m or rad]"], [1.0, 3.0])


def test_tables_in_the_frame_of_a_body(tmp_path):
    tables = export_csv(Results(*satellite()), tmp_path, frame="hub", every=4, items=["*"])
    hub, right, left, _, audit = map(table_of, tables)
    assert len(hub["time [s]"]) == 6
    for name, values in hub.items():
        if name != "time [s]":
            np.testing.assert_allclose(values, name in ("quaternion_w [-]", "rotation_w [-]"), atol=1e-12)
    for table, sign in ((right, 1.0), (left, -1.0)):
        for node in range(3):
            position = columns(table, *(f"node{node}_position_{axis} [m]" for axis in "xyz"))
            np.testing.assert_allclose(position, np.tile([sign * (0.1 + node), 0, 0], (6, 1)), atol=1e-12)
            for word, unit in (("velocity", "m/s"), ("angular_velocity", "rad/s")):
                still = columns(table, *(f"node{node}_{word}_{axis} [{unit}]" for axis in "xyz"))
                np.testing.assert_allclose(still, 0.0, atol=1e-12)
    np.testing.assert_allclose(np.abs(left["node0_quaternion_z [-]"]), 1.0, atol=1e-12)
    np.testing.assert_array_equal(audit["linear_momentum_x [N s]"], 10.0 * DRIFT[0])


@pytest.mark.slow
def test_velocities_in_tables_are_the_rates_of_positions_in_that_frame(tmp_path):
    block, static, attributes = satellite(times=4001)
    # A frame that neither moves nor turns with the hub.
    block["bodies/probe/position"] = np.outer(np.sin(block["time"]), [1.0, 0.0, 2.0])
    block["bodies/probe/velocity"] = np.outer(np.cos(block["time"]), [1.0, 0.0, 2.0])
    block["bodies/probe/quaternion"] = rotations.exponential(np.outer(block["time"], [0.0, 0.7, 0.0]))
    block["bodies/probe/angular_velocity"] = np.tile([0.0, 0.7, 0.0], (4001, 1))
    export_csv(Results(block, static, attributes), tmp_path, frame="probe")
    for file, node in (("body_hub", ""), ("beam_left", "node2_")):
        table = table_of(tmp_path / f"{file}.csv")
        time = table["time [s]"]
        position = columns(table, *(f"{node}position_{axis} [m]" for axis in "xyz"))
        velocity = columns(table, *(f"{node}velocity_{axis} [m/s]" for axis in "xyz"))
        np.testing.assert_allclose(np.gradient(position, time, axis=0)[1:-1], velocity[1:-1], atol=1e-5)
        quaternion = columns(table, *(f"{node}quaternion_{axis} [-]" for axis in "wxyz"))
        spin = columns(table, *(f"{node}angular_velocity_{axis} [rad/s]" for axis in "xyz"))
        rate = np.gradient(quaternion, time, axis=0)[1:-1]
        np.testing.assert_allclose(rate, rotations.quaternion_rate(quaternion, spin)[1:-1], atol=1e-5)


# Frames, options, errors


@pytest.mark.slow
def test_seen_from_the_hub_a_rigid_motion_stands_still(tmp_path):
    collections = export_vtu(Results(*satellite()), tmp_path, frame="hub")
    assert len(collections) == 2
    for collection in collections:
        meshes = [mesh for _, mesh in files_of(collection)]
        assert len(meshes) == 21
        for mesh in meshes:
            np.testing.assert_allclose(mesh.points, meshes[0].points, atol=1e-12)
            np.testing.assert_allclose(mesh.point_data["displacement"], 0.0, atol=1e-12)
            np.testing.assert_allclose(mesh.point_data["velocity"], 0.0, atol=1e-12)
    (tip,) = np.unique(cells_of(meshes[0], "right", tmp_path)["wedge"])[-1:]
    np.testing.assert_allclose(meshes[0].points[tip, 0], 2.1, atol=1e-12)


def test_every_and_progress(tmp_path):
    told = []
    collections = export_vtu(Results(*satellite()), tmp_path, every=8, progress=lambda *done: told.append(done))
    assert told == [(i, 6) for i in range(1, 7)]
    for collection in collections:
        assert [time for time, _ in files_of(collection)] == [0.0, 0.8, 1.6]


def test_one_instant(tmp_path):
    """The output time that is nearest; they are 0.1 s apart."""
    results = Results(*satellite())
    for collection in export_vtu(results, tmp_path, at=0.83):
        assert [time for time, _ in files_of(collection)] == [results.time[8]]
    (hub, *_) = export_csv(results, tmp_path, at=0.87)
    np.testing.assert_array_equal(table_of(hub)["time [s]"], results.time[9])
    (file,) = export_xdmf(results, tmp_path, solids=False, at=results.time[-1])
    assert file.is_file()
    results.write(tmp_path / "results.h5")
    code, out, err = invoked("export", tmp_path, "--at", "0.83", "--lines-only")
    assert (code, out) == (0, f"{tmp_path / 'vtu' / 'lines.pvd'}\n")
    assert "the output time nearest to 0.83 s is 0.8 s" in err


@pytest.mark.slow
def test_tables_of_a_span_of_some_items_and_of_quantities_by_name(tmp_path):
    results = Results(*satellite())
    (hub,) = export_csv(results, tmp_path, items=["h*b"], times=(0.5, 1.0), every=2)
    assert hub.name == "body_hub.csv"
    np.testing.assert_array_equal(table_of(hub)["time [s]"], results.time[5:11:2])
    (lines,) = export_xdmf(results, tmp_path, solids=False, times=(0.5, None))
    assert lines.is_file()
    results.write(tmp_path / "results.h5")
    code, out, _ = invoked("export", tmp_path, "--format", "csv", "--what", "hub.position", "--what",
                           "right.tip.velocity.y", "--to", "1.0")  # fmt: skip
    assert (code, out) == (0, f"{tmp_path / 'csv' / 'quantities.csv'}\n")
    table = table_of(tmp_path / "csv" / "quantities.csv")
    names = ["time [s]", *(f"bodies.hub.position.{x} [m]" for x in "xyz"), "beams.right.-1.velocity.y [m/s]"]
    assert list(table) == names
    wanted = [results.time, *results.bodies["hub"].position.T, results.beams["right"].velocity[:, -1, 1]]
    np.testing.assert_array_equal(columns(table, *names).T, np.array(wanted)[:, :11])
    refuses("items: got 'mast'; items are 'hub'", export_csv, results, tmp_path, items=["mast"], error=ResultError)
    refuses("no such quantity", export_csv, results, tmp_path, what=["hub.warmth"], error=ResultError)
    assert invoked("export", tmp_path, "--item", "hub")[2] == "--item: the format vtu has no such option\n"


@pytest.mark.parametrize("pattern", ["beams/right", "beams.right", "beams/r*", "beam?.right"])
def test_items_with_their_kind_are_those_of_all_commands(tmp_path, pattern):
    """Of a beam and a joint of one name the beam alone: in tables and figures."""
    results = Results(*({path.replace("hinge", "right"): x for path, x in part.items()} for part in satellite()))
    assert "right" in results.joints
    assert [each.name for each in export_csv(results, tmp_path, items=["right"])] == [
        "beam_right.csv",
        "joint_right.csv",
    ]
    assert [each.name for each in export_csv(results, tmp_path, items=[pattern])] == ["beam_right.csv"]
    assert {(kind, group.name) for kind, group, _ in Subject(results, [pattern]).chosen(results.tables)} == {
        ("beams", "right")
    }


def test_the_catalogue_calls_the_exporter(tmp_path):
    for name, export in EXPORTERS.items():
        files = export(Results(*satellite()), tmp_path / name, every=20)
        assert files
        assert all(file.is_file() for file in files)


@pytest.mark.parametrize(("form", "files"), [("xdmf", ["lines.xdmf"]), ("csv", ["body_hub.csv", "beam_right.csv"])])
def test_the_command_line_offers_every_format(tmp_path, form, files):
    Results(*satellite()).write(tmp_path / "results.h5")
    lines = ["--lines-only"] if form == "xdmf" else []
    code, out, _ = invoked("export", tmp_path, "--format", form, "--frame", "hub", "--every", "10", *lines)
    assert code == 0
    assert out.splitlines()[: len(files)] == [str(tmp_path / form / name) for name in files]
    code, _, err = invoked("export", tmp_path, "--format", "dxf")
    assert (code, err) == (2, "--format dxf: must be one of vtu, xdmf, csv\n")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"frame": "spoke"}, r"'spoke'.*'inertial', 'hub'"),
        ({"every": 0}, "every is 0"),
        ({"at": 99.0}, "at is 99 s; the output times are from 0 s to 2 s"),
        ({"at": 0.5, "every": 2}, "at is given beside every = 2"),
        ({"subdivisions": 0}, "subdivisions is 0"),
    ],
)
def test_wrong_options_are_named(tmp_path, keywords, message):
    for export in (export_vtu, export_xdmf, export_csv):
        if export is not export_csv or "subdivisions" not in keywords:
            refuses(message, export, Results(*satellite()), tmp_path, **keywords, error=ResultError)


@pytest.mark.parametrize(
    ("export", "nothing"),
    [(export_vtu, "neither bodies nor beams"), (export_xdmf, "neither bodies nor beams"), (export_csv, "no table")],
)
def test_what_cannot_be_exported_says_why(tmp_path, export, nothing):
    refuses("no output times", export, Results({}), tmp_path, error=ResultError)
    refuses(nothing, export, Results({"time": np.zeros(1)}), tmp_path, error=ResultError)
    (tmp_path / "file").write_text("")
    refuses("cannot be written", export, Results(*satellite()), tmp_path / "file", error=ResultError)


def test_an_unknown_shape_is_refused():
    refuses(r"'cone'.*box, sphere, cylinder", geometry.body_surface, {"cone": 1.0}, error=ResultError)


@pytest.mark.parametrize(
    "corners", [[[0, 0], [1, 1], [1, 0], [0, 1]], [[0, 0], [2, 2], [2, 0], [0, 1]], [[0, 0], [1, 1]]]
)
def test_outlines_that_cannot_be_filled_are_refused(corners):
    refuses("cannot be filled", geometry.triangulate, np.array(corners), error=ResultError)


def test_straight_sides_may_have_corners():
    square = np.array([[0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [1, 2], [0, 2], [0, 1]])
    triangles = geometry.triangulate(square)
    areas = [geometry.signed_area(square[t]) for t in triangles]
    assert min(areas) > 0.0
    assert sum(areas) == 4.0


def test_section_loads_inside_an_element_are_those_of_its_middle(tmp_path):
    """The moment of a simply supported beam of one element under its weight: rho A g L^2 / 8 in the middle."""
    text = """
gravity = [0, 0, -9.81]
[sections.s]
shape = { rectangle = [0.03, 0.03] }
youngs_modulus = 7e11
shear_modulus = 2.7e11
density = 2700.0
[beams.b]
section = "s"
length = 1.0
elements = 1
start = { at = [0, 0, 0], direction = [1, 0, 0] }
[joints.left]
kind = "revolute"
first = { body = "ground", axis = [0, 1, 0] }
second = { beam = "b", node = 0 }
[joints.right]
kind = "revolute"
first = { body = "ground", at = [1, 0, 0], axis = [0, 1, 0] }
second = { beam = "b", node = -1 }
[run]
duration = 1.0
"""
    (tmp_path / "case.toml").write_text(text)
    results = femb.static(femb.load_case(tmp_path / "case.toml").model)
    (lines,) = export_vtu(results, tmp_path, solids=False, subdivisions=4)
    moment = np.abs(files_of(lines)[-1][1].point_data["section_moment"][1:, 1])
    whole = 2700.0 * 9e-4 * 9.81 / 8.0
    np.testing.assert_allclose(moment, whole * np.array([0.0, 0.75, 1.0, 0.75, 0.0]), atol=1e-5 * whole)


def test_a_shape_is_about_the_mass_centre_of_its_body_or_where_it_is_put():
    """A panel of 1 m from its hinge at the reference point; the same with its middle there; a turned hinge line."""
    mass = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0), "center_of_mass": (0.0, 0.5, 0.0)}
    for shape, middle in (({}, (0.0, 0.5, 0.0)), ({"at": (0.1, 0.0, 0.0)}, (0.1, 0.0, 0.0))):
        model = of_parts(femb.RigidBody("panel", **mass, shape={"box": [1.0, 1.0, 0.02], **shape}))
        (part,) = parts_of(femb.simulate(model, duration=0.1), solids=True, subdivisions=1)
        np.testing.assert_allclose(part.points.min(axis=0), np.subtract(middle, (0.5, 0.5, 0.01)), atol=1e-15)
        np.testing.assert_allclose(part.points.max(axis=0), np.add(middle, (0.5, 0.5, 0.01)), atol=1e-15)
    for at in ((1.0, 2.0), (1.0, 2.0, "x")):
        shape = {"box": [1.0, 1.0, 0.02], "at": at}
        refuses(r"wanted at = \[x, y, z\], the middle of the box", femb.RigidBody, "panel", **mass, shape=shape)
