"""Arguments and options that several commands share."""

from pathlib import Path

import click

CASE = click.argument("case", type=click.Path(path_type=Path), metavar="CASE")
RESULTS = click.argument("results", type=click.Path(path_type=Path), metavar="RESULTS")
SET = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Replace an entry, as beams.right.elements=4."
)
OUT = click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the results [out/CASE].")
QUIET = click.option("--quiet", is_flag=True, help="Print nothing but errors.")
FORCE = click.option("--force", is_flag=True, help="Replace results of a finished run, once the new ones are whole.")
FRAME = click.option("--frame", metavar="NAME", help="See the motion from a body or a beam's NAME[NODE] [inertial].")
FROM = click.option("--from", "first", type=float, metavar="T", help="First instant, s.")
TO = click.option("--to", "last", type=float, metavar="T", help="Last instant, s.")
DPI = click.option("--dpi", type=click.IntRange(10, 1200), default=150, show_default=True, help="Dots per inch.")
AZIMUTH = click.option("--azimuth", type=float, default=-60.0, show_default=True, help="Of the viewer, degrees.")
ELEVATION = click.option("--elevation", type=float, default=25.0, show_default=True, help="Above the plane, degrees.")
