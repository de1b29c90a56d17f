"""XDMF time series: one small text file and one HDF5 file a scene, instead of a file an output time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from femb.export.files import writing
from femb.export.mesh import XdmfSeries
from femb.export.scene import scenes_of
from femb.results.results import Results
from femb.results.view import INERTIAL


def export_xdmf(
    results: Results,
    folder: str | Path,
    *,
    frame: str = INERTIAL,
    solids: bool = True,
    every: int = 1,
    subdivisions: int = 8,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Write the motion as time series; returns the files to open, ``lines.xdmf`` and ``solids.xdmf``.

    ``lines.h5`` and ``solids.h5`` hold their arrays and must stay beside them. Parameters, point data and cell
    data are those of `femb.export.mesh.export_vtu`, but that ``quaternion`` is parted into ``quaternion_scalar``
    and ``quaternion_vector``, and that points are lines of no length. The geometry is given at every time, so
    that nothing need be warped by the displacement. ``progress`` is called after every output time.
    Raises ResultError where there is nothing to draw or the folder cannot be written.
    """
    folder = Path(folder)
    scenes = scenes_of(results, frame, solids, every, subdivisions)
    total = sum(len(scene.instants) for scene in scenes)
    files, done = [], 0
    with writing(folder):
        for scene in scenes:
            files.append(folder / f"{scene.name}.xdmf")
            with XdmfSeries(files[-1]) as series:
                for time, mesh in zip(results.time[scene.instants], scene.meshes(), strict=True):
                    series.append(float(time), mesh)
                    done += 1
                    if progress is not None:
                        progress(done, total)
        scenes[-1].write_legend(folder, frame)
    return files
