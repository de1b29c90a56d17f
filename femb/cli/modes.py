"""The commands of natural modes, of base shakes and of input shapers of them: ``femb modes | shake | shaper``."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from femb.base.errors import ResultError
from femb.cli.options import WRITING, OptionError, numbers
from femb.cli.output import of_case

if TYPE_CHECKING:
    from femb.case import Case
    from femb.vibration.modes import Modes
    from femb.vibration.solution import ModeShapes

FILM = 2.0  # s of a film for one period
# Fields that --json gives.
OF_WHOLE = ("state", "held", "rigid", "joint", "left_out", "frequencies", "damping", "labels")
OF_PART = ("name", "point", "frequencies", "damping", "effective_mass")
SWEPT = ("parameter", "unit", "values", "frequencies", "damping", "labels")


@of_case("modes.npz", lambda words: ["modes.npz"] if words["sweep"] is None else ["sweep.npz", "sweep.h5"])
@click.option("--modes", "count", type=int, metavar="N", help="How many modes [10, with --sweep 6, or all if fewer].")
@click.option("--held", metavar="BODY", help="A body to hold; its appendages get participation and effective masses.")
@click.option("--start", metavar="HOW", help="as_given, assembled or equilibrium [run.start].")
@click.option("--damped", is_flag=True, help="Complex modes with the model's own dampers and modal damping.")
@click.option(
    "--damping",
    type=float,
    metavar="RATIO",
    help="Of modes of appendages, in place of [modal_damping, else 0.005].",
)
@click.option(
    "--root-load", "direction", metavar="DIRECTION", help="Root loads under unit acceleration x, y, z, rx, ry or rz."
)
@click.option("--sweep", metavar="KEY=FIRST:LAST:COUNT", help="Follow the modes over an entry of the case.")
@click.option("--films", is_flag=True, help="Write a film of every mode, DIR/mode_K.gif.")
@click.option("--export", "form", metavar="NAME", help="Write every mode as a series of meshes, as vtu or xdmf.")
@WRITING
def modes(
    loaded: "Case",
    file: Path,
    count: int | None,
    start: str | None,
    damping: float | None,
    direction: str | None,
    sweep: str | None,
    films: bool,
    form: str | None,
    **words: Any,
) -> list[object]:
    """Compute natural frequencies and modes of a case, and write DIR/modes.npz and modes.h5.

    With --held write DIR/hybrid.json too: hub and appendages in hybrid coordinates; --root-load prints what the root
    of each appendage carries when the held body accelerates, by the sums over modes and exactly. With --sweep, as
    bodies.hub.angular_velocity.2=0:10:21, write DIR/sweep.npz, sweep.h5 and the picture DIR/sweep.png, over a spin
    a Campbell diagram, instead. The times of modes.h5 count the modes: femb plot, picture and export show them.
    """
    from femb.case import load_case

    words["start"] = start or loaded.start
    if sweep is not None:
        if damping is not None:
            raise OptionError("--damping: is of the modes of appendages, which --sweep does not list")
        module = importlib.import_module("femb.vibration.mode_sweep")
        key, values = module.sweep_values(sweep)

        def build(value: float) -> object:
            return load_case(loaded.path, (*loaded.overrides, f"{key}={value!r}")).model

        unit = importlib.import_module("femb.case.schema").unit_of_entry(loaded.model, key)
        result = module.mode_sweep(build, values, count, parameter=key, unit=unit, **words)
        files = [result.write(file.with_name(f"sweep.{suffix}")) for suffix in ("npz", "h5")]
        return [result.table(), "", *files, result.draw(file.with_name("sweep.png")), _values(result, *SWEPT)]
    result = importlib.import_module("femb.vibration.modes").modes(loaded.model, count, damping=damping, **words)
    paths = [result.write(file.with_suffix(suffix)) for suffix in (".npz", ".h5")]
    if result.root is not None:
        paths.append(
            importlib.import_module("femb.handover.hybrid")
            .HybridCoordinates.of(result)
            .write(file.with_name("hybrid.json"))
        )
    paths += _motions(result.motion, file.parent, films, form)
    loads = "" if direction is None else _root_loads(result, direction)
    parts = [_values(part, *OF_PART) for part in result.appendages]
    return [result.table() + loads, "", *paths, {**_values(result, *OF_WHOLE), "appendages": parts}]


@of_case("shake.npz")
@click.option("--axis", default="z", metavar="AXIS", show_default=True, help="x, y, z, or rx, ry, rz of a rotation.")
@click.option("--psd", metavar="FILE", help="A random shake: CSV of frequency in Hz and (m/s2)2/Hz or (rad/s2)2/Hz.")
@click.option("--sine", metavar="FIRST:LAST", help="A sine of unit acceleration between two frequencies in Hz.")
@click.option("--output", "outputs", multiple=True, metavar="NAME", help="An output, as appendages.boom.force.")
@click.option("--held", metavar="BODY", help="The body that is shaken [the ground].")
@click.option("--start", metavar="HOW", help="as_given, assembled or equilibrium [run.start].")
@click.option("--modes", type=int, metavar="N", help="How many modes to keep [20, or all if there are fewer].")
@click.option("--damping", type=float, metavar="RATIO", help="Of every mode, in place of [modal_damping, else 0.005].")
@WRITING
def shake(
    loaded: "Case", file: Path, psd: str | None, sine: str | None, start: str | None, **words: Any
) -> list[object]:
    """Shake the base of a case, and write DIR/shake.npz, shake.h5 and the picture shake.png.

    Prints for every output its peak by unit acceleration and, with --psd, its RMS and Miles' estimate of it.
    """
    module = importlib.import_module("femb.linear.base_shake")
    density = None if psd is None else importlib.import_module("femb.linear.base_shake").Density.read(psd)
    span = None if sine is None else tuple(numbers(f"--sine {sine}", sine, "FIRST:LAST in Hz, as 5:100", ":", 2))
    result = module.shake(loaded.model, density=density, sine=span, start=start or loaded.start, **words)
    paths = [result.write(file.with_suffix(suffix)) for suffix in (".npz", ".h5")]
    found = {"outputs": result.response.outputs, **_values(result, "peak", "peak_frequency", "rms", "miles")}
    return [result.table(), "", *paths, result.draw(file.with_suffix(".png")), found]


@of_case("shaper.png")
@click.option("--kind", type=click.Choice(("zv", "zvd", "zvdd", "ei")), default="zvd", show_default=True)
@click.option("--modes", default="1", metavar="N,N,...", show_default=True, help="Numbers of the modes to quiet.")
@click.option("--tolerance", type=float, default=0.05, metavar="PART", show_default=True, help="That ei leaves.")
@click.option("--damping", type=float, metavar="RATIO", help="Of these modes, in place of the model's own.")
@click.option("--start", metavar="HOW", help="as_given, assembled or equilibrium [run.start].")
@WRITING
def shaper(loaded: "Case", file: Path, modes: str, start: str | None, **words: Any) -> list[object]:
    """Compute the input shaper of modes of a case, and draw the vibration that it leaves to DIR/shaper.png.

    Prints its impulses, the keys for the profile of a load or driver, and how wrong the frequencies may be.
    """
    chosen = [int(number) for number in numbers(f"--modes {modes}", modes, "numbers of modes, as 1,3", ",")]
    made = importlib.import_module("femb.linear.shaper").shaper(
        model=loaded.model, modes=chosen, start=start or loaded.start, **words
    )
    line = f"profile = {{ {made.words()}, profile = {{ ... }} }}"
    found = _values(made, "kind", "frequencies", "damping", "times", "amplitudes")
    return [made.table(), "", line, "", made.draw(file), found]


def _values(of: object, *names: str) -> dict[str, object]:
    return {name: getattr(of, name) for name in names}


def _root_loads(result: "Modes", direction: str) -> str:
    """Tables of root loads of all appendages. Raises OptionError: modes of no held body."""
    if result.root is None:
        raise OptionError("--root-load: the modes are of no held body: give --held and the hub")
    table = importlib.import_module("femb.vibration.participation").convergence_table
    head = "root load (N, N m) of {} under unit acceleration {}: mode displacement, and mode acceleration (exact)"
    return "".join(f"\n\n{head.format(part.name, direction)}\n{table(part, direction)}" for part in result.appendages)


def _motions(shapes: "ModeShapes", folder: Path, films: bool, form: str | None) -> list[Path]:
    """The written films and meshes of all modes, by number."""
    if not films and form is None:
        return []
    export, plots = importlib.import_module("femb.export.formats"), importlib.import_module("femb.pictures.figures")
    if form is not None and form not in export.EXPORTERS:
        raise ResultError(f"--export {form}: must be one of {', '.join(export.EXPORTERS)}")
    paths = []
    for k in range(1, len(shapes.frequencies) + 1):
        motion = shapes.one_period(k)
        if films:
            speed = float(motion.time[-1]) / FILM
            paths.append(plots.animate(motion, folder / f"mode_{k}.gif", speed=speed))
        if form is not None:
            paths += export.EXPORTERS[form](motion, folder / form / f"mode_{k}")
    return paths
