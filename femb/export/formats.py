"""The formats of exporters: from `Results` to files that other programs read; see docs/howto/add_an_export.md."""

from femb.export import catalogue
from femb.export.contract import Exporter

EXPORTERS: dict[str, Exporter] = {
    name.removeprefix("export_"): value for name, value in vars(catalogue).items() if name.startswith("export_")
}
"""Exporters by the name of the format."""
