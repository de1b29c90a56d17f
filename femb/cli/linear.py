"""The commands of linear models: ``femb linearize | modal``."""

import importlib
from pathlib import Path

import click

from femb.base.errors import ModelError
from femb.cli.files import check_writable, folder_of
from femb.cli.options import CASE, OUT, QUIET, SET
from femb.cli.report import located, reported


@click.command()
@CASE
@click.option("--start", metavar="HOW", help="as_given, assembled or equilibrium [run.start].")
@click.option("--at-rest", is_flag=True, help="Start with no speeds but those of drivers and of --state.")
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="NAME=VALUE",
    help="Start with this coordinate of a joint or this rate, as 'joints.mast.angle rate=32'.",
)
@click.option("--no-gravity", is_flag=True, help="Leave the weight out.")
@click.option("--trim", is_flag=True, help="Look for steady motion near the start first.")
@click.option("--vary", multiple=True, metavar="NAME", help="A state that may change for that, as 'bodies.hub.x rate'.")
@click.option("--periodic", "period", type=float, metavar="SECONDS", help="Look for a motion of this period instead.")
@click.option(
    "--multiblade",
    "groups",
    multiple=True,
    metavar="NAME=STATE,STATE,...",
    help="One motion of all blades, in the order of azimuth, seen from the frame that does not turn.",
)
@click.option("--rotor", metavar="STATE", help="The angle that turns the blades of --multiblade.")
@click.option("--blocks", is_flag=True, help="Give the nine blocks of a single free body, an aircraft, too.")
@click.option("--output", "outputs", multiple=True, metavar="NAME", help="An output, as joints.hinge.angle.")
@OUT
@SET
@QUIET
def linearize(
    case: Path,
    start: str | None,
    at_rest: bool,
    states: tuple[str, ...],
    no_gravity: bool,
    trim: bool,
    vary: tuple[str, ...],
    period: float | None,
    groups: tuple[str, ...],
    rotor: str | None,
    blocks: bool,
    outputs: tuple[str, ...],
    out: Path | None,
    overrides: tuple[str, ...],
    quiet: bool,
) -> None:
    """Linearise a case about its start, and write its state space: DIR/linear.npz, .mat and .h5.

    With --blocks write DIR/blocks.npz too. With --periodic find a periodic motion and its Floquet multipliers, and
    write DIR/periodic.npz.
    """
    from femb.case import load_case

    with reported():
        loaded = load_case(case, overrides)
        folder = folder_of(case, out)
        check_writable(folder / "linear.npz")
        module = importlib.import_module("femb.analysis.linear.report")
        if no_gravity:
            loaded.model.gravity = 0.0 * loaded.model.gravity
        begin = {"start": start, "at_rest": at_rest, "state": _numbers(states), "vary": vary}
        blades = {name: value.split(",") for name, value in (_pair("--multiblade", group) for group in groups)}
        with located(loaded):
            if period is not None:
                if trim or blades or rotor or blocks or outputs:
                    raise ModelError("--periodic goes without --trim, --multiblade, --rotor, --blocks and --output")
                motion, text = module.periodic_motion(loaded.model, loaded.run, period, **begin)
                paths = [motion.write(folder / "periodic.npz")]
            else:
                words = {"trim": trim, "blades": blades, "rotor": rotor, "blocks": blocks}
                space, text, nine = module.linearized(loaded.model, loaded.run, outputs or None, **begin, **words)
                paths = [space.write(folder / f"linear{suffix}") for suffix in (".npz", ".mat", ".h5")]
                paths += [nine.write(folder / "blocks.npz")] if nine is not None else []
        if not quiet:
            click.echo("\n".join([text, "", *map(str, paths)]))


@click.command()
@CASE
@click.option("--modes", type=int, default=6, metavar="N", show_default=True, help="How many elastic modes to keep.")
@click.option("--held", metavar="BODY", help="The body that is held in them, and whose frame it is.")
@OUT
@SET
@QUIET
def modal(case: Path, modes: int, held: str | None, out: Path | None, overrides: tuple[str, ...], quiet: bool) -> None:
    """Reduce a structure to modes with its quadratic velocity forces, and write DIR/modal.npz and .h5."""
    from femb.case import load_case

    with reported():
        loaded = load_case(case, overrides)
        folder = folder_of(case, out)
        check_writable(folder / "modal.npz")
        module = importlib.import_module("femb.analysis.modal")
        start = loaded.run.start if loaded.run is not None else "as_given"
        with located(loaded):
            reduced = module.modal_model(loaded.model, modes, held=held, start=start)
        paths = [reduced.write(folder / f"modal{suffix}") for suffix in (".npz", ".h5")]
        if not quiet:
            click.echo("\n".join([*reduced.names, "", *map(str, paths)]))


def _pair(option: str, text: str) -> tuple[str, str]:
    """NAME=VALUE of an option. Raises ModelError."""
    name, sign, value = text.rpartition("=") if option == "--state" else text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise ModelError(f"{option} {text}: wanted NAME=VALUE")
    return name.strip(), value.strip()


def _numbers(texts: tuple[str, ...]) -> dict[str, float]:
    """Values of --state by name. Raises ModelError."""
    result = {}
    for text in texts:
        name, value = _pair("--state", text)
        try:
            result[name] = float(value)
        except ValueError:
            raise ModelError(f"--state {text}: {value!r} is not a number") from None
    return result
