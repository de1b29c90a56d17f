"""Reduced bodies of meshes, of matrices in files, and of femb's own beams: what users call.

Source: docs/theory/modal_body.md.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack
from warnings import warn

import numpy as np
from scipy.linalg import block_diag, eigh

from femb.base.array_files import check_file, of_file, read_arrays
from femb.base.bulk_cards import SI, Units
from femb.base.bulk_data import is_deck, located
from femb.base.errors import FembWarning, ModelError, Problem, ResultError
from femb.base.mesh_files import nodes_on_plane
from femb.base.types import Floats, Ints, Sparse
from femb.base.values import check_options
from femb.elements.beam.shape import section_axes
from femb.elements.marker import Place
from femb.elements.modal.data import ReducedBody
from femb.fem.checks import GROUNDED, MASS_FORM, check_size, check_supports, rounding_of
from femb.fem.loads import InnerLoad, force_on, heat_of, pressure_on
from femb.fem.model import FeModel, MeshInterface, scaled
from femb.fem.recovery import Recoverable
from femb.fem.reduction import Coupling, Keep, Reduction, reduce_model
from femb.model.model import Model
from femb.numerics.rotations import rigid_transport, rotation_matrix
from femb.numerics.threads import one_blas_thread

# Bodies from Craig-Bampton matrices alone: boundary motions of the interfaces, then modes.
#
# Rigid motion of all interfaces about the root gives mass, first moment, inertia, S1 and C0; terms of second order are
# not in such files, and the coupling is "constant". Source: docs/theory/modal_body.md, section 4.


def craig_bampton_body(
    mass: Sparse | Floats,
    stiffness: Sparse | Floats,
    names: Sequence[str],
    positions: Floats,
    damping: float = 0.005,
    axes: Floats | None = None,
) -> ReducedBody:
    """The body of matrices (6 k + m, 6 k + m) of k interfaces at positions (k, 3) m, the root first, and m modes.

    axes (k, 3, 3) : columns, along which the rows of each interface are; by default those of the positions.
    Raises ModelError: sizes, matrices that are not symmetric, stiffness against rigid motion, a mass of no body.
    """
    M, K = (np.asarray(each.toarray() if hasattr(each, "toarray") else each, dtype=float) for each in (mass, stiffness))
    positions = np.asarray(positions, dtype=float)
    b = 6 * len(names)
    if M.shape != K.shape or M.ndim != 2 or M.shape[0] != M.shape[1] or len(M) < b:
        raise ModelError(
            f"got a mass of {M.shape} and a stiffness of {K.shape}, wanted equal squares of {b} or more rows"
        )
    if axes is not None:
        turn = block_diag(*(each for own in axes for each in (own, own)), np.eye(len(M) - b))
        M, K = turn @ M @ turn.T, turn @ K @ turn.T
    D = np.zeros((len(M), 6))
    D[:b] = rigid_transport(positions - positions[0]).reshape(b, 6)
    force = np.abs(K @ D).max()
    if force > GROUNDED * np.abs(K).max():
        raise ModelError(
            f"stiffness: rigid motion of the interfaces needs a force ({force / np.abs(K).max():.2g} of the largest "
            "stiffness): a support was left in, or positions or order of the interfaces differ from the matrices'"
        )
    rigid = D.T @ M @ D
    m = float(np.trace(rigid[:3, :3])) / 3.0
    if m <= 0.0 or np.abs(rigid[:3, :3] - m * np.eye(3)).max() > MASS_FORM * m:
        raise ModelError(
            f"mass: rigid motion has the masses {np.diag(rigid)[:3]} kg along x, y, z, wanted three equal ones"
        )
    moved = (M @ D)[6:]
    first = np.array([rigid[5, 1], rigid[3, 2], rigid[4, 0]])
    body = ReducedBody(
        interfaces=positions - positions[0],
        interface_axes=np.tile(np.eye(3), (len(names), 1, 1)),
        interface_names=tuple(names),
        mass=m,
        first_moment=first,
        inertia=0.5 * (rigid[3:, 3:] + rigid[3:, 3:].T),
        S1=moved[:, :3],
        C0=moved[:, 3:],
        M=M[6:, 6:],
        K=K[6:, 6:],
        damping_ratio=np.full(len(M) - 6, damping),
    )
    _check_first(M, K, D, m)
    return body


def _check_first(M: Floats, K: Floats, D: Floats, m: float) -> None:
    """Compare the first mode, with the root held, with the motion as a rigid body, and judge size and mass."""
    length = float(np.sqrt(np.trace((D.T @ M @ D)[3:, 3:]) / m)) or 1.0
    if len(M) == 6:
        check_size(None, length, m)
        return
    squares = eigh(K[6:, 6:], M[6:, 6:], eigvals_only=True)
    first = float(np.sqrt(max(squares[0], 0.0))) / (2.0 * np.pi)
    D = D / np.where(np.arange(6) < 3, 1.0, length)
    check_size(first, length, m)
    check_supports(D.T @ K @ D, D.T @ M @ D, rounding_of(K, D), first)


# Interfaces and node sets as they are named in calls and commands.

FORM = (
    "wanted NAME=NODES, NODES being a node set, node numbers as 3,7,9, or a plane as x=0.5; then :mean for the mean "
    "motion of the nodes (RBE3) in place of a rigid set, @X,Y,Z for the position in m, and /X,Y,Z/X,Y,Z for the x axis "
    "of the interface and a direction towards its y axis"
)
LOAD_FORM = (
    "wanted NAME=NODES:FX,FY,FZ, a force in N in equal parts on the nodes; NAME=NODES:pressure, of 1 Pa on the faces "
    "whose nodes these are; or NAME=NODES:heat, of 1 K; NODES as with an interface, or all; of NASTRAN "
    "decks also NAME=set:7, a set of loads"
)


def interfaces_of(
    model: FeModel, given: Sequence[str | MeshInterface] | Mapping[str, str]
) -> tuple[MeshInterface, ...]:
    """Interfaces from texts as "tip=right:mean@1,0,0", or from names and what follows them; the first is the root.

    Raises ModelError: names the interface, and what there is.
    """
    texts = [f"{name}={nodes}" for name, nodes in given.items()] if isinstance(given, Mapping) else list(given)
    return tuple(each if isinstance(each, MeshInterface) else _interface(model, each) for each in texts)


def _interface(model: FeModel, text: str) -> MeshInterface:
    name, sign, rest = text.partition("=")
    rest, *directions = re.split(rf"/(?={NUMBERS}(?:/|$))", rest)
    rest, _, where = rest.partition("@")
    nodes, _, kind = rest.partition(":")
    if not (sign and name.strip() and nodes.strip()) or kind.strip() not in ("", "rigid", "mean"):
        raise ModelError.at(("interfaces",), f"got {text!r}, {FORM}")
    position = np.array(three_numbers(where, ("interfaces", name))) if where else None
    found = nodes_named(model, nodes.strip(), ("interfaces", name))
    axes = _axes([three_numbers(each, ("interfaces", name)) for each in directions], name)
    return MeshInterface(name.strip(), found, "mean" if kind.strip() == "mean" else "rigid", position, axes)


def three_numbers(text: str, item: tuple[str, str]) -> list[float]:
    """Three numbers as X,Y,Z. Raises ModelError."""
    try:
        found = [float(each) for each in text.split(",")]
    except ValueError:
        found = []
    if len(found) != 3 or not np.isfinite(found).all():
        what, form = ("position", FORM) if item[0] == "interfaces" else ("force", LOAD_FORM)
        raise ModelError.at(item, f"got the {what} {text!r}, {form}")
    return found


NUMBERS = r"(?:[^/,@:]+,){2}[^/,@:]+"


def _axes(directions: list[list[float]], name: str) -> Floats:
    """The axes (3, 3), columns, of an interface whose x axis and a direction towards y are given, or none."""
    if not directions:
        return np.eye(3)
    if len(directions) > 2 or not all(map(any, directions)):
        raise ModelError.at(("interfaces", name), f"got the directions {directions}, {FORM}")
    if len(directions) == 2 and not np.any(np.cross(directions[0], directions[1])):
        raise ModelError.at(("interfaces", name), f"got {directions[1]}, must not be along the x axis, {directions[0]}")
    return rotation_matrix(section_axes(*directions))


def inner_loads(model: FeModel, given: Sequence[str] | Mapping[str, str]) -> list[InnerLoad]:
    """Loads inside a model from texts as "push=tip:0,0,1", "sun=front:pressure" or "warm=all:heat", or from names and
    what follows them. Raises ModelError."""
    texts = [f"{name}={form}" for name, form in given.items()] if isinstance(given, Mapping) else list(given)
    found: list[InnerLoad] = []
    for text in texts:
        name, sign, rest = (each.strip() for each in text.partition("="))
        nodes, colon, kind = (each.strip() for each in rest.rpartition(":"))
        if not (sign and name and colon and nodes and kind):
            raise ModelError.at(("loads",), f"got {text!r}, {LOAD_FORM}")
        if name in [each.name for each in found]:
            raise ModelError.at(("loads", name), "is given twice")
        if nodes == "set" and kind.isdigit() and model.load_set is not None:
            force, held = model.load_set(int(kind))
            found.append(InnerLoad(name, force, held=held))
            continue
        rows = np.flatnonzero(model.known) if nodes == "all" else nodes_named(model, nodes, ("loads", name))
        if kind in ("pressure", "heat"):
            found.append((pressure_on if kind == "pressure" else heat_of)(model, name, rows))
            continue
        found.append(force_on(model, name, rows, three_numbers(kind, ("loads", name))))
    return found


def nodes_named(model: FeModel | Recoverable, text: str, item: tuple[str, str]) -> Ints:
    """Rows (m,) of the nodes, or the grids of a deck, of a set, of a plane, or with numbers. Raises ModelError."""
    if text in model.node_sets:
        found = np.unique(model.node_sets[text])
        if isinstance(model, FeModel):
            _say_carried(model, text, found, item)
        return found
    known = model.known
    try:
        on_plane = nodes_on_plane(text, model.nodes[known])
    except ModelError as error:
        raise ModelError.at(item, str(error)) from None
    if on_plane is not None:
        return np.flatnonzero(known)[on_plane]
    if re.fullmatch(r"[0-9,\s]+", text):
        wanted = [int(each) for each in text.replace(" ", "").split(",") if each]
        row = {int(number): k for k, number in enumerate(model.numbers)}
        lacking = [each for each in wanted if each not in row]
        if lacking:
            carried = isinstance(model, FeModel) and model.recoverable and lacking[0] in model.recoverable.numbers
            advice = ": a rigid element carries it; name the grid that moves this, as rbe9 of RBE2 9" if carried else ""
            raise ModelError.at(item, f"node {lacking[0]} is not in the model{advice}")
        return np.array([row[each] for each in wanted])
    sets = ", ".join(sorted(model.node_sets)) or "no node sets"
    form = FORM if item[0] == "interfaces" else LOAD_FORM
    raise ModelError(Problem(item, f"got the nodes {text!r}, the model has {sets}; {form}"))


def _say_carried(model: FeModel, name: str, found: Ints, item: tuple[str, str]) -> None:
    """Warn of grids of a set of a deck that rigid elements carry: they have no unknowns of their own."""
    of_deck = model.recoverable
    if of_deck is None or name not in of_deck.node_sets:
        return
    carried = np.setdiff1d(of_deck.numbers[of_deck.node_sets[name]], model.numbers[found])
    if len(carried):
        few = ", ".join(str(each) for each in carried[:3]) + (", .." if len(carried) > 3 else "")
        warn(
            f"{'.'.join(item)}: {len(carried)} of {len(carried) + len(found)} grids of {name} ({few}) are carried by "
            "rigid elements and are left out; to have them, name the grid that moves them, as rbe9 of RBE2 9",
            FembWarning,
            stacklevel=2,
        )


ARRAYS, MATRICES = (".npz", ".h5", ".mat"), "a file of matrices"
Interfaces = Sequence[str | MeshInterface] | Mapping[str, str]


class ReduceOptions(TypedDict, total=False):
    """The options of a reduction, what it keeps and checks; see ``femb.fem.reduction``."""

    max_frequency: float | None
    effective_mass: float | None
    coupling: Coupling | None
    pictures: bool
    damping_ratio: float | Sequence[float]
    loaded: str
    mass: float | None
    centre: Floats | None
    inertia: Floats | None
    loads: Sequence[str] | Mapping[str, str]
    stresses: bool
    recover: Sequence[str]


def reduce_mesh(
    mesh: str | Path,
    interfaces: Interfaces,
    modes: int | None = None,
    *,
    youngs_modulus: float | None = None,
    poissons_ratio: float | None = None,
    density: float | None = None,
    expansion: float = 0.0,
    materials: Mapping[str, Sequence[float]] | None = None,
    unit: float | str = 1.0,
    units: float | str | None = None,
    logical: Mapping[str, str] | None = None,
    **options: Unpack[ReduceOptions],
) -> Reduction:
    """Reduce a mesh of solid cells, or a structure in bulk data, to its interfaces and modes.

    ``write_reduced_body(path, result.body)`` writes the file, ``result.table()`` is the account.

    Parameters:
        mesh: bulk data of NASTRAN, or an input file of Abaqus or CalculiX with sections and materials, without a
            material here, in ``unit``; or a file of Gmsh, Abaqus, NASTRAN, VTU or another format of meshio, with
            tetrahedra of 4 or 10 nodes, hexahedra of 8, 20 or 27, or wedges of 6.
        interfaces: texts as "root=left", "tip=x=1.5:mean", "tip=3,7,9@1.5,0,0" or "tip=right/0,1,0/0,0,1", with its x
            axis and a direction towards y: the first is the root; or a dictionary of these, or
            ``femb.fem.MeshInterface``.
        modes: number of modes to keep.
        youngs_modulus: Pa, of all cells but those of materials.
        poissons_ratio: ratio of these cells.
        density: kg/m3, of these cells.
        expansion: 1/K, of these cells.
        materials: these four, in these units, by the name of a cell set or physical group, as {"core": (1e8, 0.3,
            50.0)}.
        unit: of the mesh's lengths, m, beside N and s; or a system of units, as "in-lbf-s".
        units: a system of units in its place, as "in-lbf-s".
        logical: folders of INCLUDE in bulk data by their logical names, before those of the environment.
        options: max_frequency (Hz) and effective_mass (part) of the modes to keep. loads : inside the body, texts as
            "push=tip:0,0,1" (N), "sun=front:pressure" (1 Pa) or "warm=all:heat" (1 K), for ``femb.ModalLoad``. stresses
            : whether results have the stresses of the nodes. recover : texts as "displacements=set7" or of a deck
            "forces=21,22" and "stresses=21,22", rows of ``recovered`` in results for ``write_punch``. coupling :
            "full" or "constant"; loaded, mass, centre, inertia : checks, with the other options of ``reduce_model``.

    Raises:
        ModelError: a mesh, material or option that is wrong.
        ResultError: a file that cannot be read.
    """
    from femb.fem.solids import SolidMaterial, read_mesh

    check_options(reduce_mesh, options, ReduceOptions)
    unit = unit if units is None else units
    given = {"youngs_modulus": youngs_modulus, "poissons_ratio": poissons_ratio, "density": density}
    if is_deck(mesh) and youngs_modulus is None and density is None and not materials:
        from femb.fem.bulk_model import read_structure

        model = read_structure(mesh, unit, logical)
        with of_file(mesh):
            return _reduced(model, interfaces, modes, options)
    absent = [word for word, value in given.items() if value is None]
    if absent and (len(absent) < len(given) or not materials):
        raise ModelError(f"{', '.join(absent)}: missing; give youngs_modulus, poissons_ratio and density, or materials")
    rest = None if youngs_modulus is None or poissons_ratio is None or density is None else (
        SolidMaterial(youngs_modulus, poissons_ratio, density, expansion)
    )  # fmt: skip
    named = {name: SolidMaterial(*each) for name, each in (materials or {}).items()}  # type: ignore[arg-type]
    model = read_mesh(mesh, rest, Units.of(unit).length, named)
    with of_file(mesh):
        return _reduced(model, interfaces, modes, options)


def reduce_matrices(
    matrices: str | Path,
    interfaces: Interfaces,
    modes: int | None = None,
    *,
    nodes: str | Path | None = None,
    names: tuple[str, str] = ("", ""),
    unit: float | str = 1.0,
    stress: str | Path | None = None,
    **options: Unpack[ReduceOptions],
) -> Reduction:
    """Reduce the mass and stiffness of a finite element model in files to interfaces and modes.

    Parameters:
        matrices: .npz, .h5 or .mat of arrays (``femb.fem.matrix_files``), .op4, .op2 or .pch of NASTRAN, .sti, .mas,
            .dof of CalculiX, .mtx of Abaqus.
        interfaces: as in ``reduce_mesh``.
        modes: as in ``reduce_mesh``.
        nodes: table of nodes, .csv, .inp or bulk data; OP4 and punch files need it.
        names: of mass and stiffness in .op4, .op2, .pch.
        unit: of lengths in positions and matrices, m, beside forces in N and times in s: 0.001 for mm and tonnes; or a
            system of units, as "in-lbf-s".
        stress: .npz, .h5 or .mat with the stress stiffness of unit loads, see ``femb.fem.model.GivenStress``; by
            default those in the file of arrays itself, with which the coupling is "full".
        options: as in ``reduce_mesh``.

    Raises:
        ModelError: matrices, nodes or options that are wrong.
        ResultError: a file that cannot be read.
    """
    check_options(reduce_matrices, options, ReduceOptions)
    with of_file(matrices):
        return _reduced(read_matrices(matrices, nodes, names, unit, stress), interfaces, modes, options)


@one_blas_thread()
def reduce_beams(
    model: Model,
    root: str,
    interfaces: Mapping[str, Place | str],
    modes: int | None = None,
    *,
    appendage: str | None = None,
    **options: Unpack[ReduceOptions],
) -> Reduction:
    """Reduce an appendage of a model of femb's own beams, shells and bodies, as it is at rest and without loads.

    Joints and lines of hinges within move as at rest: each free coordinate needs a spring.

    Parameters:
        model: with the appendage.
        root: the body that carries it, or "ground"; its axes are those of the reduced body.
        interfaces: other places, as {"tip": "beams.boom.-1"}.
        modes: as in ``reduce_mesh``.
        appendage: its name, needed if the root has several.
        options: as in ``reduce_mesh``.

    Raises:
        ModelError: drivers or latches within the appendage; a coordinate of a joint without a spring.
    """
    from femb.fem.beams import appendage_model

    check_options(reduce_beams, options, ReduceOptions)
    fe, tied = appendage_model(model, root, interfaces, appendage, "damping_ratio" in options)
    return _reduced(fe, tied, modes, {"pictures": False, **options})


def reduced_craig_bampton(
    matrices: str | Path,
    interfaces: Mapping[str, Sequence[float] | int],
    *,
    nodes: str | Path | None = None,
    names: tuple[str, str] = ("", ""),
    unit: float | str = 1.0,
    damping_ratio: float = 0.005,
) -> ReducedBody:
    """The body of Craig-Bampton matrices, six rows for each interface and then one for each mode.

    A punch file of an external superelement (EXTSEOUT) has its grids. Source: docs/theory/modal_body.md, section 4.

    Parameters:
        matrices: as in ``reduce_matrices``.
        interfaces: positions (3,) m by name, in the order of the rows, the root first; or numbers of grids of the bulk
            data ``nodes``, whose rows are along the displacement axes of each grid.
        nodes: bulk data with the grids.
        names: as in ``reduce_matrices``.
        unit: as in ``reduce_matrices``; positions by name are in m.
        damping_ratio: ratio of every mode.

    Raises:
        ModelError: matrices or interfaces that are wrong.
        ResultError: a file that cannot be read.
    """
    from femb.fem import matrix_files

    path = _existing(matrices)
    if path.suffix.lower() == ".pch":
        grids = {name: where for name, where in interfaces.items() if isinstance(where, int)}
        if len(grids) < len(interfaces):
            raise ModelError.at(("interfaces",), f"{path}: is DMIG of grids: give the numbers of theirs, as root=3")
        mass, stiffness = matrix_files.read_punch_superelement(path, grids, *names)
        nodes = nodes or path
    elif path.suffix.lower() in (".op4", ".op2"):
        mass, stiffness = matrix_files.read_output_matrices(path, *names)
    else:
        arrays = read_arrays(path, MATRICES)
        mass, stiffness = (matrix_files.matrix(arrays, word, str(path)) for word in ("mass", "stiffness"))
    units = Units.of(unit)
    positions, axes = _frames(interfaces, nodes, units.length)
    if units != SI and mass.shape == stiffness.shape:
        k, n = 6 * len(interfaces), mass.shape[0]
        # modes keep a mass of one
        of_mass = units.length * units.force * units.time**2
        turned = np.where(np.arange(n) >= k, of_mass**-0.5, np.where(np.arange(n) % 6 < 3, 1.0 / units.length, 1.0))
        mass, stiffness = scaled(mass, turned, of_mass), scaled(stiffness, turned, units.length * units.force)
    with of_file(matrices):
        return craig_bampton_body(mass, stiffness, tuple(interfaces), positions, damping_ratio, axes)


def _frames(
    interfaces: Mapping[str, Sequence[float] | int], nodes: str | Path | None, unit: float
) -> tuple[Floats, Floats]:
    """Positions (k, 3) m and axes (k, 3, 3), columns, of interfaces given by positions or by numbers of grids."""
    positions, axes = np.zeros((len(interfaces), 3)), np.tile(np.eye(3), (len(interfaces), 1, 1))
    grids = {} if nodes is None else located(_existing(nodes))[0]
    for k, (name, where) in enumerate(interfaces.items()):
        if not isinstance(where, int):
            positions[k] = where
        elif where in grids:
            positions[k], axes[k] = unit * grids[where][0], grids[where][1]
        else:
            problem = f"grid {where} is not in {nodes}" if nodes else f"got the grid {where}: give its bulk data too"
            raise ModelError.at(("interfaces", name), problem)
    return positions, axes


def read_matrices(
    matrices: str | Path,
    nodes: str | Path | None,
    names: tuple[str, str] = ("", ""),
    unit: float | str = 1.0,
    stress: str | Path | None = None,
) -> FeModel:
    """The finite element model of files, as in ``reduce_matrices``. Raises ModelError, ResultError."""
    model = _model_of(_existing(matrices), nodes, names)
    if stress is not None:
        from femb.fem.matrix_files import with_stress

        model = with_stress(replace(model, stress=None), read_arrays(stress, MATRICES), str(stress))
        if model.stress is None:
            raise ModelError(f"{stress}: has no arrays stress_x to stress_xy of unit loads")
    return model.in_unit(unit)


def _model_of(path: Path, nodes: str | Path | None, names: tuple[str, str]) -> FeModel:
    from femb.fem import matrix_files

    kind = path.suffix.lower()
    if kind in (".sti", ".mas", ".dof"):
        return matrix_files.read_stored(path, nodes)
    if kind == ".mtx":
        return matrix_files.read_generated(path, nodes)
    numbers, places, sets = matrix_files.read_nodes(nodes) if nodes is not None else (None, None, {})
    if kind in (".op4", ".op2", ".pch"):
        if numbers is None or places is None:
            raise ModelError(f"{path}: has no positions of nodes: give the table of nodes, or the bulk data")
        if kind == ".pch":
            model = matrix_files.read_punch_model(path, numbers, places, *names)
        else:
            mass, stiffness = matrix_files.read_output_matrices(path, *names)
            model = FeModel.of(places, mass, stiffness, numbers=numbers, node_sets=sets)
        if nodes is not None and Path(nodes).suffix.lower() not in matrix_files.TABLES:
            return matrix_files.along_basic_axes(model, located(nodes)[0])
        return model
    if kind in ARRAYS:
        arrays = read_arrays(path, MATRICES)
        model = matrix_files.model_of_arrays(arrays, places, numbers, str(path))
        return matrix_files.with_stress(model, arrays, str(path))
    raise ResultError(
        f"{path}: got the suffix {path.suffix!r}, wanted matrices in .npz, .h5, .mat, .op4, .op2, .pch, .mtx, or .sti, "
        ".mas, .dof"
    )


def _recovered(model: FeModel, text: str) -> Ints:
    """The nodes of "displacements=NODES", of a deck its grids."""
    kind, _, rest = (each.strip() for each in text.partition("="))
    of = model.recoverable or model
    return nodes_named(of, rest, ("recover", text)) if kind == "displacements" else np.zeros(0, dtype=np.int64)


def _existing(path: str | Path) -> Path:
    check_file(path, "a mesh or matrices")
    return Path(path)


def _reduced(model: FeModel, interfaces: Interfaces, modes: int | None, options: ReduceOptions) -> Reduction:
    given = dict(options)
    keep = Keep(modes, given.pop("max_frequency", None), given.pop("effective_mass", None))  # type: ignore[arg-type]
    given["loads"] = inner_loads(model, options.get("loads", ()))
    given["recover"] = [(text, _recovered(model, text)) for text in options.get("recover", ())]
    return reduce_model(model, interfaces_of(model, interfaces), keep, **given)  # type: ignore[arg-type]
