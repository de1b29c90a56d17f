"""The commands of linear models and of natural modes: ``femb linearize | loop | modal | modes | shake | shaper``."""

import math
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from femb.base.errors import FembError, ResultError
from femb.cli.options import START, WRITING, OptionError, damping_of, numbers, pairs, together
from femb.cli.output import Read, check_target, fields_of, of_case

if TYPE_CHECKING:
    from femb.case import Case
    from femb.model.model import Model
    from femb.robust.tuning import Tuned
    from femb.system.system import System
    from femb.vibration.modes import Modes
    from femb.vibration.solution import ModeShapes

# Figures of a loop, as with femb.pictures.loop.
LOOPS = ("all", "bode", "nichols", "nyquist", "poles")
BLADES = "--multiblade"
AXES = ("x", "y", "z", "rx", "ry", "rz")


def _frequencies(text: str) -> list[float]:
    """Frequencies in Hz. Raises OptionError."""
    return numbers(f"--error-at {text}", text, "frequencies in Hz with commas between them, as 0.1,1,10")


POINT = together(
    START,
    click.option("--at-rest", is_flag=True, help="Start with no speeds but those of drivers and of --state."),
    click.option(
        "--state",
        "states",
        multiple=True,
        metavar="NAME=VALUE",
        help="Start with this coordinate of a joint or this rate, as 'joints.mast.angle rate=32'.",
    ),
)


@of_case("linear.npz", lambda words: ["linear.npz" if words["period"] is None else "periodic.npz"])
@POINT
@click.option("--no-gravity", is_flag=True, help="Leave the weight out.")
@click.option("--trim", is_flag=True, help="Look for steady motion near the start first.")
@click.option("--vary", multiple=True, metavar="NAME", help="A state that may change for that, as 'bodies.hub.x rate'.")
@click.option("--periodic", "period", type=float, metavar="SECONDS", help="Look for a motion of this period instead.")
@click.option(
    BLADES,
    "blades",
    multiple=True,
    metavar="NAME=STATE,STATE,...",
    help="One motion of all blades, in the order of azimuth, seen from the frame that does not turn.",
)
@click.option("--rotor", metavar="STATE", help="The angle that turns the blades of --multiblade.")
@click.option("--blocks", is_flag=True, help="Give the nine blocks of a single free body, an aircraft, too.")
@click.option("--differences", is_flag=True, help="Differences for functions of the state without derivatives.")
@click.option("--held", metavar="BODY", help="A body that does not move; its acceleration may be an input.")
@click.option("--hub", metavar="BODY", help="The body that carries the appendages.")
@click.option("--modes", type=int, metavar="N", help="Keep N modes, with the static share of the others.")
@click.option("--residual-vectors", is_flag=True, help="Keep that share in more modes, one for each input.")
@click.option("--craig-bampton", type=int, metavar="N", help="Keep the hub's motions and N modes of each appendage.")
@click.option("--balanced", type=int, metavar="N", help="Keep N balanced states beside the rigid motions.")
@damping_of("every mode of these, beside dampers")
@click.option("--closed", is_flag=True, help="Let the controllers act: of sampled ones the exact model of samples.")
@click.option(
    "--lft", metavar="FILE", help="Write the exact form for all values of [parameters], .mat or .npz, instead."
)
@click.option("--by", multiple=True, metavar="NAME", help="A parameter of that [all with a range].")
@click.option(
    "--error-at",
    type=Read(_frequencies),
    metavar="HZ,HZ,...",
    help="Compare them with the full model at these frequencies.",
)
@click.option("--input", "inputs", multiple=True, metavar="NAME", help="An input, as bodies.hub.torque.")
@click.option("--output", "outputs", multiple=True, metavar="NAME", help="An output, as joints.hinge.angle.")
@WRITING
def linearize(
    loaded: "Case",
    file: Path,
    start: str | None,
    states: tuple[str, ...],
    no_gravity: bool,
    period: float | None,
    blades: tuple[str, ...],
    error_at: list[float] | None,
    closed: bool,
    lft: str | None,
    by: tuple[str, ...],
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    **words: Any,
) -> list[object]:
    """Linearise a case about its start, and write its state space: DIR/linear.npz, .mat and .h5.

    --held, --hub, --modes, --craig-bampton and --balanced are about the state that --start says, without loads unless
    that is the equilibrium. With --blocks write DIR/blocks.npz too. With --periodic find a periodic motion and its
    Floquet multipliers, and write DIR/periodic.npz.
    """
    from femb.linear.begin import PointOptions
    from femb.linear.linearise import closed_loop
    from femb.linear.report import closed_text, linearized, periodic_motion, truncated
    from femb.linear.structure import StructureOptions
    from femb.vibration.completion import given as given_model

    if no_gravity:
        loaded.model.gravity = 0.0 * loaded.model.gravity
    model, begins = given_model(loaded, start)
    words |= {"start": begins, "period": period}
    words |= {"state": _states(states), "blades": {name: x.split(",") for name, x in pairs(BLADES, blades).items()}}
    if error_at is not None:
        words["frequencies"] = error_at
    given = {word: value for word, value in words.items() if not (value is None or value is False or value in ((), {}))}
    named: dict[str, Any] = {word: names for word, names in (("outputs", outputs), ("inputs", inputs)) if names}
    of_point, of_structure = PointOptions.__annotations__.keys(), StructureOptions.__annotations__.keys()
    if lft is not None:
        from femb.robust.uncertain import uncertain

        _check_together("--lft", given, of_point)
        form = uncertain(loaded.path, by, points=200, overrides=loaded.overrides, **named, **given)
        sizes = {each.name: each.repetitions for each in form.ranges}
        return [form.table(), "", form.write(lft), {"repetitions": sizes, "difference": form.difference}]
    if by:
        raise OptionError("--by: is of --lft")
    if closed:
        _check_together("--closed", given, (of_point | of_structure) - {"frequencies"})
        space = closed_loop(model, **named, **given)
        return _written(space, closed_text(space), file)
    if period is not None:
        _check_together("--periodic", given | named, of_point - {"trim", "differences"} | {"period"})
        motion, text = periodic_motion(model, **given)
        found = {"period": motion.period, "multipliers": motion.multipliers, "error": motion.error}
        return [text, "", motion.write(file.with_name("periodic.npz")), found]
    if truncates := [word for word in given if word in of_structure and word not in of_point]:
        _check_together(_option(truncates[0]), given, of_structure)
        space, text = truncated(model, **named, **given)
        return _written(space, text, file)
    space, text, nine = linearized(model, **named, **given)
    return _written(space, text, file, *([] if nine is None else [nine.write(file.with_name("blocks.npz"))]))


def _option(word: str) -> str:
    command = click.get_current_context().command
    options = {option.name: option.opts[0] for option in command.params}
    return options.get({"state": "states", "frequencies": "error_at"}.get(word, word), word)


def _check_together(option: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise OptionError where more is given than the arguments that a function behind an option takes."""
    if other := [_option(word) for word in given if word not in known]:
        raise OptionError(f"{option} goes without {', '.join(other)}")


def _written(space: Any, text: str, file: Path, *paths: Path) -> list[object]:
    """Write the files of a state space; its text, their paths with ``paths`` of others, and its numbers."""
    files = [space.write(file.with_suffix(suffix)) for suffix in (".npz", ".mat", ".h5")]
    values = {"eigenvalues": space.eigenvalues(), **fields_of(space, "states", "inputs", "outputs", "unsteady")}
    return [text, "", *files, *paths, values | ({} if space.dt is None else {"dt": space.dt})]


@of_case("modal.npz")
@click.option("--modes", type=int, default=6, metavar="N", show_default=True, help="How many elastic modes to keep.")
@click.option("--held", metavar="BODY", help="The body that is held in them, and whose frame it is.")
@WRITING
def modal(loaded: "Case", file: Path, modes: int, held: str | None) -> list[object]:
    """Reduce a structure to modes with its quadratic velocity forces, and write DIR/modal.npz and .h5."""
    from femb.linear.modal_model import modal_model

    reduced = modal_model(loaded, modes, held=held)
    files = (reduced.write(file.with_suffix(suffix)) for suffix in (".npz", ".h5"))
    return [*reduced.names, "", *files, {"coordinates": reduced.names}]


def _states(texts: tuple[str, ...]) -> dict[str, float]:
    """Values of --state by name. Raises OptionError."""
    result = {}
    for name, value in pairs("--state", texts, last=True).items():
        try:
            result[name] = float(value)
        except ValueError:
            raise OptionError(f"--state {name}={value}: {value!r} is not a number") from None
    return result


TUNING = together(
    click.option(
        "--tune", "tunes", is_flag=True, help="Tune gains first; write the case, --out FILE.toml [tuned.toml]."
    ),
    click.option(
        "--gain", "gains", multiple=True, metavar="KEY=LOW:HIGH", help="One of these, or a name of [gains] [all]."
    ),
    click.option("--over", metavar="ENTRY", help="Tune the rows of schedules over what this entry of the case sets."),
    click.option("--least", type=click.Choice(["noise", "peak"]), help="What they make least [noise]."),
    click.option(
        "--peak",
        type=float,
        metavar="RATIO",
        help="Largest peak of the sensitivity they may give [2, of --least peak none].",
    ),
    click.option("--decay", type=float, metavar="RATE", help="Least decay of the slowest pole, 1/s [0]."),
    click.option("--starts", type=click.IntRange(min=1), metavar="N", help="Searches from so many gains [4]."),
)


@of_case("loop.npz")
@POINT
@click.option("--hub", metavar="BODY", help="The body that carries the appendages, of a plant in modes.")
@click.option("--modes", type=int, metavar="N", help="Keep N modes of the plant, with the static share of the others.")
@click.option("--craig-bampton", type=int, metavar="N", help="Keep the hub's motions and N modes of each appendage.")
@damping_of("every mode of these, beside dampers", "none")
@click.option("--channel", "channels", multiple=True, metavar="NAME", help="Margins of this channel only [all].")
@click.option("--largest-delay", "delays", is_flag=True, help="Look for the delay that all sampled laws bear together.")
@click.option("--worst", "worse", is_flag=True, help="Worst margins over the ranges of [parameters], found and proved.")
@click.option("--of", "kinds", multiple=True, metavar="NAME", help="A quantity of --worst, as disk_margin [all].")
@click.option("--proof-time", type=float, metavar="SECONDS", help="Longest time of each of its proofs [none].")
@click.option("--verify", "runs", is_flag=True, help="Run the parameters of --worst in time, beside the slowest pole.")
@TUNING
@click.option("--by", multiple=True, metavar="NAME", help="A parameter of these [all with a range].")
@click.option("--figure", type=click.Choice(LOOPS), default="all", show_default=True, help="What loop.png shows.")
@click.option("--input", "inputs", multiple=True, metavar="NAME", help="One more input of the plant, for responses.")
@click.option("--output", "outputs", multiple=True, metavar="NAME", help="One more output of the plant.")
@WRITING
def loop(
    loaded: "Case",
    file: Path,
    start: str | None,
    states: tuple[str, ...],
    channels: tuple[str, ...],
    delays: bool,
    worse: bool,
    kinds: tuple[str, ...],
    proof_time: float | None,
    runs: bool,
    tunes: bool,
    gains: tuple[str, ...],
    by: tuple[str, ...],
    figure: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    **words: Any,
) -> list[object]:
    """Compute poles and margins of the control loop of a case, and write DIR/loop.npz, .mat, .h5 and .png.

    The files have the closed loop as a state space, of sampled controllers the exact one over their common period, and
    the margins at each channel. With --tune all is that of the case with its tuned gains.
    """
    limits = {
        word: value for word in ("least", "peak", "decay", "starts", "over") if (value := words.pop(word)) is not None
    }
    given = {word: value for word, value in words.items() if value not in (None, False)}
    if states:
        given["state"] = _states(states)
    from femb.linear.linearise import loop as made
    from femb.linear.loop import loop_table

    if ((runs or kinds or proof_time is not None) and not worse) or (by and not (worse or tunes)):
        raise OptionError("--verify, --of, --proof-time: are of --worst, --by of that and of --tune")
    text, values, files = list[str](), dict[str, object](), list[Path]()
    if tunes:
        tuned, to = _tuned(loaded, file, gains, by, start, given, limits)
        loaded, text, files = tuned[0], [tuned[1].table()], [to]
        values["tuned"] = fields_of(tuned[1], "gains", "begun", "entries", "least", "peak", "growth", "plants")
    elif gains or limits or ((out := click.get_current_context().params["out"]) is not None and out.suffix == ".toml"):
        raise OptionError("--gain, --over, --least, --peak, --decay, --starts, --out FILE.toml: are of --tune")
    found = made(loaded, start=start, inputs=inputs, outputs=outputs, **given)
    margins = found.margins(channels or None)
    text.append(loop_table(found, margins))
    values |= {"poles": found.poles(), "stable": found.stable, "conserved": found.conserved, "staying": found.staying}
    values["modes"] = [{"frequency": mode.omega / (2.0 * math.pi), "name": mode.name} for mode in found.modes()]
    values["margins"] = {each.channel: each.content() for each in margins}
    if delays:
        delay, omega = found.largest_delay()
        values |= {"largest_delay": delay, "largest_delay_frequency": omega / (2.0 * math.pi)}
        text.append(
            f"all sampled controllers together bear a further delay of {delay:.6g} s; then {omega:.6g} rad/s does not "
            "decay"
            if math.isfinite(delay)
            else "no further delay up to 20 periods makes the loop unstable"
        )
    if worse:
        from femb.linear.begin import PointOptions
        from femb.robust.worst import worst

        _check_together("--worst", given, PointOptions.__annotations__.keys() | {"modes"})
        given |= {"start": start or loaded.start, "overrides": loaded.overrides, "channels": channels or None}
        cases = worst(loaded.path, by, quantities=kinds or None, proof_time=proof_time, **given)
        text.append(cases.table())
        values["worst"] = [vars(each) for each in cases.cases]
        if runs:
            from femb.robust.verify import verify

            for word in ("channels", "modes"):
                given.pop(word, None)
            try:
                decays = verify(cases, loaded.path, **given)
                text.append(decays.table())
                values["verified"] = [vars(each) for each in decays.decays]
            except FembError as error:  # what was found before stays
                text.append(f"not run in time: {error}")
    files += [found.write(file.with_suffix(suffix), margins) for suffix in (".npz", ".mat", ".h5")]
    picture = found.draw(file.with_suffix(".png"), figure, margins=margins)
    return ["\n\n".join(text), "", *files, picture, values]


def _tuned(
    loaded: "Case", file: Path, gains: tuple[str, ...], by: tuple[str, ...], start: str | None,
    given: dict[str, Any], limits: dict[str, Any],
) -> "tuple[tuple[Case, Tuned], Path]":  # fmt: skip
    """The case with tuned gains, these, and the file that has it now."""
    from femb.case import load_case
    from femb.linear.begin import PointOptions
    from femb.robust.tuned_table import tune_schedule
    from femb.robust.tuning import tune

    _check_together("--tune", given, PointOptions.__annotations__.keys() | {"modes"})
    options = click.get_current_context().params
    to = (
        options["out"]
        if options["out"] is not None and options["out"].suffix == ".toml"
        else file.with_name("tuned.toml")
    )
    check_target(to, options["force"])
    words = given | limits | {"start": start or loaded.start, "overrides": loaded.overrides}
    over = words.pop("over", None)
    tuned = tune_schedule(loaded.path, over, gains, by, **words) if over else tune(loaded.path, gains, by, **words)
    path = tuned.write(to)
    return (load_case(loaded.path, (*loaded.overrides, *tuned.overrides)), tuned), path


FILM = 2.0  # s of a film for one period
# Fields that --json gives.
OF_WHOLE = ("state", "held", "rigid", "joint", "left_out", "frequencies", "damping", "labels")
OF_PART = ("name", "point", "frequencies", "damping", "effective_mass")
SWEPT = ("parameter", "unit", "values", "frequencies", "damping", "labels")


def _swept(text: str) -> tuple[str, list[float]]:
    """The key and the values of KEY=FIRST:LAST:COUNT. Raises OptionError."""
    key, _, rest = (part.strip() for part in text.partition("="))
    wanted = "KEY=FIRST:LAST:COUNT in the unit of the entry, as bodies.hub.angular_velocity.2=0:10:21"
    if not key or not rest:
        raise OptionError(f"--sweep {text}: wanted {wanted}")
    return key, _spaced(f"--sweep {text}", rest, wanted)


def _spaced(given: str, text: str, wanted: str) -> list[float]:
    """The values of FIRST:LAST:COUNT. Raises OptionError, which shows what was given."""
    first, last, count = numbers(given, text, wanted, ":", 3)
    if count < 2 or count % 1.0:
        raise OptionError(f"{given}: wanted {wanted}")
    step = (last - first) / (count - 1.0)
    return [first + k * step for k in range(int(count) - 1)] + [last]


@of_case("modes.npz", lambda words: ["modes.npz"] if words["sweep"] is None else ["sweep.npz", "sweep.h5"])
@click.option("--modes", "count", type=int, metavar="N", help="How many modes [10, with --sweep 6, or all if fewer].")
@click.option("--held", metavar="BODY", help="A body to hold; its appendages get participation and effective masses.")
@START
@click.option("--damped", is_flag=True, help="Complex modes with the model's own dampers and modal damping.")
@damping_of("modes of appendages")
@click.option("--root-load", "direction", type=click.Choice(AXES), help="Root loads under this unit acceleration.")
@click.option(
    "--sweep", type=Read(_swept), metavar="KEY=FIRST:LAST:COUNT", help="Follow the modes over an entry of the case."
)
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
    sweep: tuple[str, list[float]] | None,
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
    from femb.vibration.completion import given
    from femb.vibration.modes import modes

    model, words["start"] = given(loaded, start)
    if sweep is not None:
        if damping is not None:
            raise OptionError("--damping: is of the modes of appendages, which --sweep does not list")
        from femb.case.schema import unit_of_entry
        from femb.vibration.mode_sweep import mode_sweep

        key, values = sweep

        def build(value: float) -> "Model | System":
            return given(load_case(loaded.path, (*loaded.overrides, f"{key}={value!r}")), start)[0]

        unit = unit_of_entry(loaded.model, key)
        swept = mode_sweep(build, values, count, parameter=key, unit=unit, **words)
        files = [swept.write(file.with_name(f"sweep.{suffix}")) for suffix in ("npz", "h5")]
        return [swept.table(), "", *files, swept.draw(file.with_name("sweep.png")), fields_of(swept, *SWEPT)]
    result = modes(model, count, damping=damping, **words)
    paths = [result.write(file.with_suffix(suffix)) for suffix in (".npz", ".h5")]
    if result.root is not None:
        from femb.handover.hybrid import HybridCoordinates

        paths.append(HybridCoordinates.of(result).write(file.with_name("hybrid.json")))
    paths += _motions(result.motion, file.parent, films, form)
    loads = "" if direction is None else _root_loads(result, direction)
    parts = [fields_of(part, *OF_PART) for part in result.appendages]
    return [result.table() + loads, "", *paths, {**fields_of(result, *OF_WHOLE), "appendages": parts}]


def _speeds(text: str) -> list[float]:
    """The speeds (rad/s) of FIRST:LAST:COUNT. Raises OptionError."""
    return _spaced(f"--speeds {text}", text, "FIRST:LAST:COUNT, rad/s and two speeds or more, as 10:450:23")


@of_case("unbalance.npz")
@click.option("--speeds", type=Read(_speeds), required=True, metavar="FIRST:LAST:COUNT", help="Of the rotor, rad/s.")
@click.option("--rotor", metavar="NAME", help="Whose unbalances act [the only one].")
@click.option("--output", "outputs", multiple=True, metavar="NAME", help="As of linearize, as bodies.disc.position.")
@WRITING
def unbalance(loaded: "Case", file: Path, speeds: list[float], outputs: tuple[str, ...], **words: Any) -> list[object]:
    """Compute the vibration of a rotor by its unbalances over its speed; write DIR/unbalance.npz and unbalance.png."""
    from femb.linear.unbalance import unbalance_response

    result = unbalance_response(loaded.model, speeds, outputs or None, **words)
    found = fields_of(result, "speeds", "outputs", "amplitude", "phase", "steady", "peaks", "unstable")
    return [result.table(), "", result.write(file), result.draw(file.with_suffix(".png")), found]


def _span(text: str) -> list[float]:
    """Two frequencies in Hz. Raises OptionError."""
    return numbers(f"--sine {text}", text, "FIRST:LAST in Hz, as 5:100", ":", 2)


@of_case("shake.npz")
@click.option(
    "--axis",
    default="z",
    metavar="AXIS",
    show_default=True,
    help="x, y, z, inertial, or rx, ry, rz, a turn about the body's own.",
)
@click.option("--psd", metavar="FILE", help="A random shake: CSV of frequency in Hz and (m/s2)2/Hz or (rad/s2)2/Hz.")
@click.option(
    "--sine",
    "span",
    type=Read(_span),
    metavar="FIRST:LAST",
    help="A sine of unit acceleration between two frequencies in Hz.",
)
@click.option("--output", "outputs", multiple=True, metavar="NAME", help="An output, as appendages.boom.force.")
@click.option("--held", metavar="BODY", help="The body that is shaken [the ground].")
@START
@click.option("--modes", type=int, metavar="N", help="How many modes to keep [20, or all if there are fewer].")
@damping_of("every mode, beside dampers")
@WRITING
def shake(loaded: "Case", file: Path, psd: str | None, span: Any, start: str | None, **words: Any) -> list[object]:
    """Shake the base of a case, and write DIR/shake.npz, shake.h5 and the picture shake.png.

    Prints for every output its peak by unit acceleration and, with --psd, its RMS and Miles' estimate of it.
    """
    from femb.linear import base_shake

    density = None if psd is None else base_shake.Density.read(psd)
    result = base_shake.shake(loaded, density=density, sine=span, start=start, **words)
    paths = [result.write(file.with_suffix(suffix)) for suffix in (".npz", ".h5")]
    found = {"outputs": result.response.outputs, **fields_of(result, "peak", "peak_frequency", "rms", "miles")}
    return [result.table(), "", *paths, result.draw(file.with_suffix(".png")), found]


def _numbers_of_modes(text: str) -> list[int]:
    """Numbers of modes. Raises OptionError."""
    return [int(number) for number in numbers(f"--modes {text}", text, "numbers of modes, as 1,3", ",")]


@of_case("shaper.png")
@click.option("--kind", type=click.Choice(("zv", "zvd", "zvdd", "ei")), default="zvd", show_default=True)
@click.option(
    "--modes",
    type=Read(_numbers_of_modes),
    default="1",
    metavar="N,N,...",
    show_default=True,
    help="Numbers of the modes to quiet.",
)
@click.option("--tolerance", type=float, default=0.05, metavar="PART", show_default=True, help="That ei leaves.")
@click.option("--damping", type=float, metavar="RATIO", help="Of these modes, in place of the model's own.")
@START
@WRITING
def shaper(loaded: "Case", file: Path, modes: list[int], start: str | None, **words: Any) -> list[object]:
    """Compute the input shaper of modes of a case, and draw the vibration that it leaves to DIR/shaper.png.

    Prints its impulses, the keys for the profile of a load or driver, and how wrong the frequencies may be.
    """
    from femb.linear.shaper import shaper

    made = shaper(model=loaded, modes=modes, start=start, **words)
    line = f"profile = {{ {made.words()}, profile = {{ ... }} }}"
    found = fields_of(made, "kind", "frequencies", "damping", "times", "amplitudes")
    return [made.table(), "", line, "", made.draw(file), found]


def _root_loads(result: "Modes", direction: str) -> str:
    """Tables of root loads of all appendages. Raises OptionError: modes of no held body."""
    if result.root is None:
        raise OptionError("--root-load: the modes are of no held body: give --held and the hub")
    from femb.vibration.participation import convergence_table

    head = "root load (N, N m) of {} under unit acceleration {}: mode displacement, and mode acceleration (exact)"
    tables = ((head.format(part.name, direction), convergence_table(part, direction)) for part in result.appendages)
    return "".join(f"\n\n{title}\n{table}" for title, table in tables)


def _motions(shapes: "ModeShapes", folder: Path, films: bool, form: str | None) -> list[Path]:
    """The written films and meshes of all modes, by number."""
    if not films and form is None:
        return []
    from femb.export.formats import EXPORTERS
    from femb.pictures.figures import animate

    if form is not None and form not in EXPORTERS:
        raise ResultError(f"--export {form}: must be one of {', '.join(EXPORTERS)}")
    paths = []
    for k in range(1, len(shapes.frequencies) + 1):
        motion = shapes.one_period(k)
        if films:
            speed = float(motion.time[-1]) / FILM
            paths.append(animate(motion, folder / f"mode_{k}.gif", speed=speed))
        if form is not None:
            paths += EXPORTERS[form](motion, folder / form / f"mode_{k}")
    return paths
