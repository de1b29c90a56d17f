"""The command of bodies from finite elements: ``femb reduce``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from femb.base.bulk_cards import SYSTEMS
from femb.base.bulk_data import is_bulk_data, is_deck
from femb.base.errors import ResultError
from femb.cli.options import FORCE, QUIET, OptionError, numbers, pairs
from femb.cli.output import check_target, fields_of, reported, say

if TYPE_CHECKING:
    from femb.elements.modal.data import ReducedBody
    from femb.fem import Reduction

DAMPING = 0.005
ENDS_OF_MATRICES = (".npz", ".h5", ".mat", ".op4", ".op2", ".pch", ".mtx", ".sti", ".mas", ".dof")


@click.command()
@click.argument("source", type=click.Path(path_type=Path), metavar="SOURCE")
@click.option("--interfaces", multiple=True, metavar="NAME=NODES", help="An interface; the first is the root.")
@click.option("--modes", type=int, metavar="N", help="Modes to keep.")
@click.option("--max-frequency", type=float, metavar="HZ", help="Keep modes up to this frequency.")
@click.option("--effective-mass", type=float, metavar="PART", help="Keep modes until they hold this part, as 0.9.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="The body, .npz or .h5 [SOURCE_body.npz].")
@click.option("--youngs-modulus", "-E", type=float, metavar="PA", help="Of a mesh.")
@click.option("--poissons-ratio", "-n", type=float, default=0.3, show_default=True, metavar="NU", help="Of a mesh.")
@click.option("--density", type=float, metavar="KG/M3", help="Of a mesh.")
@click.option("--expansion", type=float, default=0.0, metavar="1/K", help="Of a mesh that is heated.")
@click.option(
    "--material",
    multiple=True,
    metavar="SET=E,NU,RHO[,ALPHA]",
    help="Of a cell set of a mesh; -E, -n, --density, --expansion are the rest.",
)
@click.option(
    "--load",
    "loads",
    multiple=True,
    metavar="NAME=NODES:KIND",
    help="A load inside the body; KIND is FX,FY,FZ in N, pressure (1 Pa) or heat (1 K), NODES may be all.",
)
@click.option("--stresses", is_flag=True, help="Keep the stresses of the nodes of a mesh for results.")
@click.option(
    "--recover",
    multiple=True,
    metavar="KIND=NUMBERS",
    help="displacements=NODES, or of a deck forces=ELEMENTS, stresses=ELEMENTS.",
)
@click.option(
    "--unit",
    "--units",
    default="SI",
    show_default=True,
    metavar="UNITS",
    help=f"A system, of {', '.join(SYSTEMS)}; or that of lengths in m, beside N and s: 0.001.",
)
@click.option(
    "--logical", multiple=True, metavar="NAME=DIR", help="A folder of INCLUDE in bulk data by its logical name."
)
@click.option("--held", is_flag=True, help="Without --interfaces: the supports of a NASTRAN deck hold it.")
@click.option(
    "--compare", type=click.Path(path_type=Path), metavar="FILE", help="Results of the deck: .f06, .pch, .op2."
)
@click.option("--stress", type=click.Path(path_type=Path), metavar="FILE", help="Stress stiffness beside matrices.")
@click.option("--nodes", type=click.Path(path_type=Path), metavar="FILE", help="Table of nodes beside matrices.")
@click.option("--mass-name", default="", metavar="NAME", help="Of the mass in .op4, .op2, .pch.")
@click.option("--stiffness-name", default="", metavar="NAME", help="Of the stiffness in .op4, .op2, .pch.")
@click.option("--craig-bampton", is_flag=True, help="Matrices reduced already; interfaces NAME=X,Y,Z or NAME=GRID.")
@click.option("--coupling", type=click.Choice(("full", "constant")), help="With or without geometric stiffening.")
@click.option(
    "--damping",
    "damping_ratio",
    metavar="RATIO",
    help=f"Of every mode, or 0.01,0.005 of the first, the second and all above [{DAMPING}, or that of a body].",
)
@click.option("--loaded", default="", metavar="DIRECTIONS", help="As 'x rz': warn where modes hold less than 90 %.")
@click.option("--appendage", metavar="NAME", help="Of a case file whose root carries several.")
@click.option("--mean-axes", is_flag=True, help="Of a reduced body: refer it to the motion of its whole mass.")
@click.option("--no-pictures", is_flag=True, help="Leave the displacements of all nodes out of the file.")
@FORCE
@QUIET
def reduce(source: Path, interfaces: tuple[str, ...], out: Path | None, force: bool, quiet: bool, **words: Any) -> None:
    """Reduce a mesh, matrices or an appendage of a case to a body of interfaces and modes.

    NODES are a node set, node numbers as 3,7,9 or a plane as x=0.5; then :mean for the mean motion of the nodes, and
    @X,Y,Z for the position, and /X,Y,Z/X,Y,Z for the x axis and a direction towards y. Matrices are .npz, .h5, .mat,
    .op4, .op2, .pch, .mtx, .sti; bulk data is a structure, anything else a mesh.

    Of a case file, .toml, an appendage of beams, shells and bodies is reduced: the first of --interfaces is the body
    that carries it, or ground, the others are NAME=PLACE, as tip=beams.boom.-1 or tip=bodies.panel.tip.

    A body that was reduced, or a file of shapes such as free-free modes, is reduced further: --interfaces are then
    names of those that are kept. Of a NASTRAN deck without --interfaces its mass, groups, supports and modes are
    printed, by which interfaces are chosen: NODES may be grids, set7 of SET 7, rbe9 of RBE2 9, spc of the supports.
    Of a body without --interfaces, --modes, --max-frequency and --out only the table is printed.
    """
    from femb.elements.modal.data import write_reduced_body

    with reported():
        words["logical"] = pairs("--logical", words["logical"], "NAME=DIR, a folder")
        words["damping_ratio"] = _ratios(words["damping_ratio"])
        kind = _kind_of(source, interfaces, words)
        _check_options(source, kind, interfaces, words)
        if kind == DECK:
            _look_over(source, out, force, quiet, words)
            return
        same = not interfaces and not words["mean_axes"] and words["modes"] is None and words["max_frequency"] is None
        file = None if kind == BODY and same and out is None else _out(source, out, force)
        body, found = _reduced(source, kind, interfaces, words)
        if file is not None:
            write_reduced_body(file, body)
        say(*_account(found), *([] if file is None else ["", file]), quiet=quiet)


# Kinds of sources, as messages name them, and the options of each, beside --interfaces, --out, --force and --quiet.

BODY, DECK, CASE = "a reduced body", "a NASTRAN deck without --interfaces", "a case file"
CRAIG_BAMPTON, MATRICES, MESH = "a file of Craig-Bampton matrices", "a file of matrices", "a mesh or bulk data"
OF_ALL = ("modes", "max_frequency", "effective_mass", "damping_ratio", "coupling", "loaded", "no_pictures")
OF_NODES = ("loads", "stresses", "recover", "unit")
OF_MATRICES = ("nodes", "mass_name", "stiffness_name", "unit")
OF_MESH = ("youngs_modulus", "poissons_ratio", "density", "expansion", "material")
OPTIONS = {
    BODY: ("modes", "max_frequency", "damping_ratio", "mean_axes"),
    DECK: ("modes", "held", "compare", "unit", "logical"),
    CASE: (*OF_ALL, "appendage"),
    CRAIG_BAMPTON: ("craig_bampton", *OF_MATRICES, "damping_ratio"),
    MATRICES: (*OF_ALL, *OF_NODES, *OF_MATRICES, "stress"),
    MESH: (*OF_ALL, *OF_NODES, *OF_MESH, "logical"),
}


def _kind_of(source: Path, interfaces: tuple[str, ...], words: dict[str, Any]) -> str:
    if _is_body(source):
        return BODY
    if not interfaces and is_deck(source) and words["youngs_modulus"] is None and not words["material"]:
        return DECK
    if words["craig_bampton"]:
        return CRAIG_BAMPTON
    end = source.suffix.lower()
    return CASE if end == ".toml" else MATRICES if end in ENDS_OF_MATRICES else MESH


def _check_options(source: Path, kind: str, interfaces: tuple[str, ...], words: dict[str, Any]) -> None:
    """Raise OptionError for options that were given and are not of this kind of source, and for missing ones."""
    if words["logical"] and not is_bulk_data(source):
        raise OptionError("--logical: applies to bulk data of NASTRAN")
    if kind not in (BODY, DECK) and (words["held"] or words["compare"] is not None):
        raise OptionError(
            "--held, --compare: apply to a NASTRAN deck without --interfaces; --interfaces root=spc "
            "makes an interface of the grids that its supports hold"
        )
    if kind not in (BODY, DECK) and not interfaces:
        raise OptionError("--interfaces: is missing; give at least the root as NAME=NODES")
    context = click.get_current_context()
    options = {option.name: option.opts[0] for option in context.command.params if option.name in words}
    given = [name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if others := [options[name] for name in given if name not in OPTIONS[kind]]:
        wanted = ", ".join(("--interfaces", *(options[name] for name in OPTIONS[kind])))
        raise OptionError(
            f"{source}: is {kind}, to which {', '.join(others)} does not apply; wanted {wanted} and --out"
        )


def _reduced(
    source: Path, kind: str, interfaces: tuple[str, ...], words: dict[str, Any]
) -> "tuple[ReducedBody, Reduction]":
    """The body of a source, and the account of what was left out."""
    from femb import fem

    if kind == BODY:
        found = fem.reduce_further(source, interfaces, **{word: words[word] for word in OPTIONS[BODY]})
        return found.body, found
    names, damping = (words["mass_name"], words["stiffness_name"]), words["damping_ratio"]
    if kind == CRAIG_BAMPTON:
        given = {"nodes": words["nodes"], "names": names, "unit": words["unit"]}
        ratio = DAMPING if damping is None else damping
        body = fem.reduced_craig_bampton(source, _positions(interfaces), **given, damping_ratio=ratio)
        return body, fem.reduce_further(body)
    options = {word: words[word] for word in ("modes", "max_frequency", "effective_mass", "coupling", "loaded")}
    options |= {"pictures": not words["no_pictures"]} | ({} if damping is None else {"damping_ratio": damping})
    if kind == CASE:
        from femb.case import load_case

        places = pairs("--interfaces", interfaces[1:], "the body that carries the appendage, then NAME=PLACE")
        model, appendage = load_case(source).model, words["appendage"]
        found = fem.reduce_beams(model, interfaces[0], places, appendage=appendage, **options)
    else:
        options |= {word: words[word] for word in OF_NODES}
        if kind == MATRICES:
            given = {"nodes": words["nodes"], "names": names, "stress": words["stress"]}
            found = fem.reduce_matrices(source, interfaces, **given, **options)
        else:
            material = _materials(source, {word: words[word] for word in OF_MESH})
            found = fem.reduce_mesh(source, interfaces, logical=words["logical"], **material, **options)
    return found.body, found


def _look_over(source: Path, out: Path | None, force: bool, quiet: bool, words: dict[str, Any]) -> None:
    """Print what a deck has, before interfaces are chosen, and write its modes where --out says."""
    from femb.fem import overview

    files = [] if out is None else [_out(source, out, force, (".pch",))]
    modes = 10 if words["modes"] is None else words["modes"]
    seen = overview(source, modes, **{word: words[word] for word in ("unit", "logical", "held", "compare")})
    for file in files:
        seen.write_modes(file)
    say(seen.table(), *files, fields_of(seen, "mass", "frequencies", "held"), quiet=quiet)


def _out(source: Path, out: Path | None, force: bool, ends: tuple[str, ...] = (".npz", ".h5")) -> Path:
    file = out or Path(f"{source.stem}_body.npz")
    if file.suffix not in ends:
        raise OptionError(f"--out {file}: must end in {' or '.join(ends)}")
    check_target(file, force)
    return file


def _ratios(text: str | None) -> float | list[float] | None:
    """A damping ratio, or several with commas. Raises OptionError."""
    if text is None:
        return None
    found = numbers("--damping", text, "a ratio as 0.005, or one for each mode as 0.01,0.005")
    if not found or min(found) < 0.0:
        raise OptionError(f"--damping {text}: wanted ratios that are not negative")
    return found[0] if len(found) == 1 else found


def _positions(interfaces: tuple[str, ...]) -> dict[str, list[float] | int]:
    """NAME=X,Y,Z or NAME=GRID of reduced matrices. Raises OptionError."""
    wanted = "NAME=X,Y,Z, the position in m, with --craig-bampton; or NAME=GRID, with --nodes"
    return {
        name: int(place) if place.isdigit() else numbers(f"--interfaces {name}={place}", place, wanted, count=3)
        for name, place in pairs("--interfaces", interfaces, wanted).items()
    }


def _materials(source: Path, of_mesh: dict[str, Any]) -> dict[str, Any]:
    """The material of a mesh, and those of its cell sets; none of bulk data that has its own. Raises OptionError."""
    if is_deck(source) and of_mesh["youngs_modulus"] is None and of_mesh["density"] is None and not of_mesh["material"]:
        return {}
    wanted = "SET=E,NU,RHO: Young's modulus in Pa, Poisson's ratio, density in kg/m3; or with the expansion in 1/K"
    texts = pairs("--material", of_mesh.pop("material"), wanted)
    parts = {
        name: tuple(numbers(f"--material {name}={text}", text, wanted, count=3 + (text.count(",") > 2)))
        for name, text in texts.items()
    }
    if parts and of_mesh["youngs_modulus"] is None and of_mesh["density"] is None:
        return {"materials": parts}
    for word, value in of_mesh.items():
        if value is None:
            raise OptionError(
                f"--{word.replace('_', '-')}: is missing; a mesh needs it, or --material for all its cells"
            )
    return {**of_mesh, "materials": parts}


def _is_body(source: Path) -> bool:
    """Whether a file is a reduced body, or shapes of any reference, and not one of matrices."""
    if source.suffix.lower() not in (".npz", ".h5") or not source.is_file():
        return False
    from femb.elements.modal.data import read_body_arrays

    try:
        found = read_body_arrays(source)
    except ResultError:
        return False
    return str(found["format"]).startswith("femb-")


def _account(found: Any) -> list[object]:
    """The table of a reduction, and its numbers."""
    body = {"mass": found.body.mass, "interfaces": found.body.interface_names}
    return [found.table(), body | fields_of(found, "held", "free", "error", "effective", "missing", "coupling")]
