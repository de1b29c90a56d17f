"""From a mesh to pictures by commands alone: femb reduce, run and export."""

from pathlib import Path

import meshio
import numpy as np
import pytest
from shared_runs import said

import femb
from femb.numerics import rotations

MESH = Path(__file__).parents[2] / "fem" / "files" / "bar.msh"
CASE = """
[bodies.hub]
mass = 20.0
inertia = 2.0
angular_velocity = [0, 0, 3]

[bodies.bar]
kind = "modal"
file = "bar.npz"
start = { body = "hub", at = [0.1, 0, 0] }
nodal_displacements = true

[run]
duration = 0.02
output_interval = 0.01
"""


def last_points(folder, form):
    """Cells of bricks and the points at the last output time."""
    if form == "vtu":
        mesh = meshio.read(folder / "vtu" / "solids_0002.vtu")
        return mesh.cells_dict["hexahedron"], mesh.points
    with meshio.xdmf.TimeSeriesReader(folder / "xdmf" / "solids.xdmf") as reader:
        points, cells = reader.read_points_cells()
        for k in range(reader.num_steps):
            _, point_data, _ = reader.read_data(k)
        (bricks,) = (block.data for block in cells if block.type == "hexahedron")
        return bricks, points + point_data["displacement"]


@pytest.mark.filterwarnings("ignore:.*linear hexahedra lock")
def test_mesh_of_a_case_file_deforms(tmp_path):
    ties = ["--interfaces", "root=root", "--interfaces", "tip=tip"]
    material = ["-E", "7e5", "--density", "2700", "--modes", "3", "--stresses"]
    said("reduce", MESH, *ties, *material, "--out", tmp_path / "bar.npz", "--quiet")
    (tmp_path / "case.toml").write_text(CASE)
    said("run", tmp_path / "case.toml", "--out", tmp_path / "run", "--quiet")
    bar = femb.Results.read(tmp_path / "run" / "results.h5").bodies["bar"]
    moved = femb.fem.read_reduced_body(tmp_path / "bar.npz").nodes + bar.nodal_displacement[-1]
    places = bar.position[-1] + moved @ rotations.rotation_matrix(bar.quaternion[-1]).T
    assert np.abs(bar.nodal_displacement[-1]).max() > 1e-5
    for form in ("vtu", "xdmf"):
        if form == "xdmf":  # the mesh that was just read
            fields = meshio.read(tmp_path / "run" / "vtu" / "solids_0002.vtu").point_data
            assert np.nanmax(fields["von_mises"]) == pytest.approx(bar.nodal_von_mises[-1].max(), rel=1e-6)
            assert fields["stress"].shape[1] == 6
        said("export", tmp_path / "run", "--format", form, "--quiet")
        cells, points = last_points(tmp_path / "run", form)
        assert len(cells) == 2
        own = points[np.unique(cells)]
        gaps = np.linalg.norm(own[:, None] - places[None], axis=2).min(axis=1)
        assert gaps.max() < 1e-7
