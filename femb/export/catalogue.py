"""The catalogue of exporters, one line per exporter. ``export_NAME`` writes the format NAME of ``femb export``."""

# ruff: isort: skip_file

from femb.export.mesh import export_vtu as export_vtu
from femb.export.mesh import export_xdmf as export_xdmf
from femb.export.csv import export_csv as export_csv
