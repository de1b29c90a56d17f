"""The commands of derivatives and of tests: ``femb sensitivity | correlate | identify``."""

from pathlib import Path
from typing import Any

import click

from femb.cli.options import ALLOW, START, WRITING, OptionError, completing, keys
from femb.cli.output import check_target, fields_of, folder_of, reported, say


@click.command()
@click.argument("case", type=click.Path(path_type=Path), metavar="CASE")
@ALLOW
@click.option("--of", multiple=True, metavar="OUTPUT", help="An output, as 'natural_frequency mode=2' [of the study].")
@click.option(
    "--by",
    multiple=True,
    metavar="KEY",
    shell_complete=completing(keys),
    help="A parameter, or an entry as bodies.hub.mass [all parameters].",
)
@click.option("--tolerances", is_flag=True, help="The scatter of outputs by the ranges of parameters instead.")
@click.option("--samples", type=click.IntRange(min=2), metavar="N", help="Of --tolerances: random runs beside it.")
@WRITING
def sensitivity(
    case: Path, of: tuple[str, ...], by: tuple[str, ...], tolerances: bool, samples: int | None, out: Path | None,
    overrides: tuple[str, ...], force: bool, quiet: bool,
) -> None:  # fmt: skip
    """Differentiate outputs of a case by its parameters; write DIR/sensitivity.csv, .npz, .h5 for reports, and .png.

    With --tolerances write DIR/tolerances.npz and .png: deviations of outputs, and the share of each parameter.

    CASE is a case or a study. The table has derivatives in SI units, an error of each, and what an output changes by
    over half of the range of a parameter.
    """
    with reported():
        if samples and not tolerances:
            raise OptionError("--samples: is of --tolerances; give that too")
        if tolerances:
            from femb.study.tolerances import tolerances as scatter

            file = _target(case, out, "tolerances", force)
            spread = scatter(case, of, by, samples=samples or 0, overrides=overrides)
            say(*_written(spread, file, "sigma", "second", "shares", "shift", "deviations"), quiet=quiet)
            return
        from femb.study.sensitivity import sensitivities

        file = _target(case, out, "sensitivity", force)
        found = sensitivities(case, of, by, overrides=overrides)
        words = ("outputs", "parameters", "values", "nominal", "derivatives", "errors", "swings", "units")
        say(*_written(found, file, *words, ends=(".npz", ".h5", ".csv")), quiet=quiet)


def _target(case: Path, out: Path | None, name: str, force: bool) -> Path:
    """The file of results of a case, which may be written."""
    file = folder_of(case, out) / f"{name}.npz"
    check_target(file, force)
    return file


def _written(found: Any, file: Path, *words: str, ends: tuple[str, ...] = (".npz",)) -> list[object]:
    """Write results and their picture; what is said of them."""
    files = [found.write(file.with_suffix(end)) for end in ends]
    return [found.table(), "", *files, found.draw(file.with_suffix(".png")), fields_of(found, *words)]


HELD = click.option("--held", metavar="BODY", help="The body that was held in the test [free].")
TESTED = click.argument("data", type=click.Path(path_type=Path), metavar="TESTDATA")


@click.command()
@click.argument("case", type=click.Path(path_type=Path), metavar="CASE")
@TESTED
@ALLOW
@HELD
@click.option("--damped", is_flag=True, help="Complex modes of the model, with its dampers.")
@START
@click.option("--units", default="SI", show_default=True, metavar="UNITS", help="Of a deck, as of `femb reduce`.")
@WRITING
def correlate(
    case: Path, data: Path, held: str | None, damped: bool, start: str | None, units: str, out: Path | None,
    overrides: tuple[str, ...], force: bool, quiet: bool,
) -> None:  # fmt: skip
    """Compare measured modes with those of a case or a deck; write DIR/correlation.npz and .png.

    CASE is a case, a study, or a deck of NASTRAN, Abaqus or CalculiX, which --held supports holds by its supports.

    TESTDATA is a universal file (.unv, .uff; datasets 15, 55, 58, 82, 151, 164, 2420) or CSV. The table has the pairs
    by MAC, cross-orthogonality, and the points that agree least, by COMAC.
    """
    with reported():
        from femb.study.correlation import correlate as compared

        file = _target(case, out, "correlation", force)
        found = compared(case, data, held=held, damped=damped, start=start, overrides=overrides, unit=units)
        say(*_written(found, file, "frequencies", "damping", "pairs", "mac", "cross", "comac"), quiet=quiet)


@click.command()
@click.argument("case", type=click.Path(path_type=Path), metavar="CASE")
@click.argument("data", type=click.Path(path_type=Path), metavar="TESTDATA...", nargs=-1, required=True)
@ALLOW
@click.option("--by", multiple=True, metavar="KEY", shell_complete=completing(keys), help="A parameter [all].")
@HELD
@click.option("--prior", "priors", multiple=True, metavar="KEY=SIGMA", help="The standard deviation of a start value.")
@click.option(
    "--hold-out",
    multiple=True,
    metavar="MODE",
    help="A measured mode, or function by its name, to predict, not to fit.",
)
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="END=NAME",
    help="Of the model, for an input or output of the data: 3z, 'input 3z', '3z m/s2'.",
)
@click.option("--closed", is_flag=True, help="Transfer functions with the controllers.")
@START
@WRITING
def identify(
    case: Path, data: tuple[Path, ...], by: tuple[str, ...], held: str | None, priors: tuple[str, ...],
    hold_out: tuple[str, ...], channels: tuple[str, ...], closed: bool, start: str | None, out: Path | None,
    overrides: tuple[str, ...], force: bool, quiet: bool,
) -> None:  # fmt: skip
    """Fit parameters of a case to measured modes, transfer functions or histories; write DIR/identification.npz, .png.

    TESTDATA are universal files or CSV, all fitted together. The table has the parameters with their standard
    deviations, residuals before and after, strong correlations, and what the data cannot tell.
    """
    with reported():
        from femb.study.identification import identify as fitted

        known = {}
        for text in priors:
            name, _, sigma = text.rpartition("=")
            try:
                known[name] = float(sigma)
            except ValueError:
                known[name] = 0.0
            if not name or not known[name] > 0.0:
                raise OptionError(f"--prior {text}: wanted KEY=SIGMA, a parameter and a number above zero")
        names = dict(text.partition("=")[::2] for text in channels)
        if wrong := [text for text in channels if "=" not in text]:
            raise OptionError(f"--channel {wrong[0]}: wanted END=NAME, as 3z=bodies.tip.acceleration.z")
        for end in [text.partition("=")[0] for text in channels] if len(names) < len(channels) else ():
            if sum(text.startswith(f"{end}=") for text in channels) > 1:
                raise OptionError(
                    f"--channel {end}: has two names; give 'output {end}=NAME', 'input {end}=NAME' or '{end} m/s2=NAME'"
                )
        chosen = [int(each) if each.isdecimal() else each for each in hold_out]
        file = _target(case, out, "identification", force)
        found = fitted(
            case, [(each, held) for each in data], by, priors=known, hold_out=chosen, channels=names, closed=closed,
            start=start, overrides=overrides,
        )  # fmt: skip
        words = ["parameters", "start", "values", "deviations", "correlation", "singular", "chi2", "not_told"]
        words += ["freedom", "at_bound", "held_out", "noticed"]
        say(*_written(found, file, *words), quiet=quiet)
