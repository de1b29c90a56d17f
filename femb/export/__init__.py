"""Exporters: from `Results` to files that other programs read.

Adding one is a module here and a line in `EXPORTERS`; see docs/howto/add_an_export.md. The command line offers what
stands there.
"""

from femb.export.contract import Exporter
from femb.export.csv import export_csv
from femb.export.mesh import export_vtu
from femb.export.xdmf import export_xdmf

# By name of the format.
EXPORTERS: dict[str, Exporter] = {
    "vtu": export_vtu,
    "xdmf": export_xdmf,
    "csv": export_csv,
}

__all__ = ["EXPORTERS", "Exporter", "export_csv", "export_vtu", "export_xdmf"]
