"""The command of natural modes: ``femb modes``."""

import importlib
from pathlib import Path

import click

from femb.cli.files import check_writable, folder_of
from femb.cli.options import CASE, OUT, QUIET, SET
from femb.cli.report import located, reported


@click.command()
@CASE
@click.option("--modes", "count", type=int, default=10, metavar="N", show_default=True, help="How many modes.")
@click.option("--held", metavar="BODY", help="A body to hold; its appendages get participation and effective masses.")
@click.option("--start", metavar="HOW", help="as_given, assembled or equilibrium [run.start].")
@click.option("--damped", is_flag=True, help="Complex modes with the model's own dampers.")
@click.option(
    "--damping", type=float, default=0.005, metavar="RATIO", show_default=True, help="Of every mode of an appendage."
)
@click.option("--sweep", metavar="KEY=FIRST:LAST:COUNT", help="Follow the modes over an entry of the case.")
@OUT
@SET
@QUIET
def modes(
    case: Path,
    count: int,
    held: str | None,
    start: str | None,
    damped: bool,
    damping: float,
    sweep: str | None,
    out: Path | None,
    overrides: tuple[str, ...],
    quiet: bool,
) -> None:
    """Compute natural frequencies and modes of a case, and write DIR/modes.npz and modes.h5.

    With --held write DIR/hybrid.json too: hub and appendages in hybrid coordinates. With --sweep, as
    bodies.hub.angular_velocity.2=0:10:21, write DIR/sweep.npz and the picture DIR/sweep.png instead.
    """
    from femb.case import load_case

    with reported():
        loaded = load_case(case, overrides)
        folder = folder_of(case, out)
        check_writable(folder / "modes.npz")
        module = importlib.import_module("femb.analysis.modes")
        start = start or (loaded.run.start if loaded.run is not None else "as_given")
        words = {"held": held, "start": start, "damped": damped}
        with located(loaded):
            if sweep is not None:
                key, values = module.sweep_values(sweep)

                def build(value: float) -> object:
                    return load_case(case, (*overrides, f"{key}={value!r}")).model

                result = module.mode_sweep(build, values, count, parameter=key, **words)
                text, paths = result.table(), [result.write(folder / "sweep.npz"), result.draw(folder / "sweep.png")]
            else:
                result = module.modes(loaded.model, count, damping=damping, **words)
                text = result.table()
                paths = [result.write(folder / f"modes{suffix}") for suffix in (".npz", ".h5")]
                if result.root is not None:
                    paths.append(module.HybridCoordinates.of(result).write(folder / "hybrid.json"))
        if not quiet:
            click.echo("\n".join([text, "", *map(str, paths)]))
