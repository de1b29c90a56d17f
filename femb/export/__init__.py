"""Exporters: from `Results` to files that other programs read.

To add one, write ``export_NAME(results, folder, *, every=1, progress=None, ...) -> list[Path]`` in a
module here and name it in `EXPORTERS`; the command line offers what stands there. Modules import the
libraries they need inside their functions, so that this catalogue costs nothing to read.
"""

from collections.abc import Callable
from pathlib import Path

from femb.export.csv import export_csv
from femb.export.mesh import export_vtu
from femb.export.xdmf import export_xdmf

EXPORTERS: dict[str, Callable[..., list[Path]]] = {
    "vtu": export_vtu,
    "xdmf": export_xdmf,
    "csv": export_csv,
}
"""Name of the format -> exporter; each takes (results, folder) and keywords, returns the files to open."""

__all__ = ["EXPORTERS", "export_csv", "export_vtu", "export_xdmf"]
