"""A finite element model reduced to a body for simulation, with what was kept and what was left out.

Source: docs/theory/modal_body.md, sections 1, 4 and 7.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from femb.base.errors import FembWarning, ModelError
from femb.base.html import Tabled
from femb.base.types import Floats, Ints, Sparse
from femb.base.values import vector
from femb.elements.modal.data import ReducedBody, ratios_of_modes, rigid_mass
from femb.elements.modal.kernels import axial, inertia_of, product_of, symmetric
from femb.fem.checks import (
    DIRECTIONS,
    MOST_MODES,
    check_first,
    check_loaded,
    check_model,
    check_size,
    check_sizes,
    compare_given,
    properties,
)
from femb.fem.craig_bampton import Shapes, root_held, shapes, with_static_shapes
from femb.fem.loads import InnerLoad, nodal_stress
from femb.fem.model import FeModel, GivenStress, MeshInterface, Tied, tied, turned_arrays
from femb.fem.recovery import recovery_rows
from femb.numerics.rotations import cross_matrix
from femb.numerics.threads import one_blas_thread

# Mass moments of shapes: the inertia of a flexible body to second order in its coordinates.
#
#     B_IJ = sum_kl m_kl Psi_I,k Psi_J,l^T,   Psi_0 = X                                                     (5)
#
# Solids have one scalar mass for x, y and z, and the sums are exact. Models with nodal rotations are made of particles
# with offsets and inertias, whose mass and first moment are those of the rows of the mass matrix (7); arrays that do
# not grow with deformation are then of the full matrix. Source: docs/theory/modal_body.md, section 1.

ISOTROPIC = 1e-9  # of the largest entry
PORTION = 2000  # nodes whose cross matrices are in memory at a time


@dataclass(frozen=True, eq=False)
class Moments:
    """Arrays of n shapes about the frame's origin, as those of ``femb.elements.modal.data.ReducedBody``."""

    mass: float
    first_moment: Floats
    inertia: Floats
    S1: Floats
    C0: Floats
    M: Floats
    J1: Floats
    J2: Floats
    Q: Floats


def moments(model: FeModel, point: Floats, shapes: Floats) -> Moments:
    """Moments of shapes (n, s), about a point (3,) m."""
    D, moved = model.rigid_motions(point), model.mass @ shapes
    rigid, by_shape, M = D.T @ (model.mass @ D), moved.T @ D, shapes.T @ moved
    first = np.array([rigid[5, 1], rigid[3, 2], rigid[4, 0]])
    scalar = scalar_mass(model)
    J1, J2, Q = _of_solid(model, scalar, point, shapes) if scalar is not None else _of_lumps(model, point, shapes, D)
    return Moments(
        float(rigid[0, 0]), first, symmetric(rigid[3:, 3:]), by_shape[:, :3], by_shape[:, 3:], symmetric(M), J1, J2, Q
    )  # fmt: skip


def scalar_mass(model: FeModel) -> Sparse | None:
    """m_kl (N', N') of the nodes with displacements, if the mass is the same for x, y, z and without rotations."""
    if np.any(model.component > 2):
        return None
    parts = [model.dofs[:, a] for a in range(3)]
    own = parts[0] >= 0
    if any(np.any((part >= 0) != own) for part in parts):
        return None
    rows = [part[own] for part in parts]
    blocks = [[model.mass[i][:, j] for j in rows] for i in rows]
    limit = ISOTROPIC * float(np.max(np.abs(model.mass.data), initial=0.0))
    for a in range(3):
        for b in range(3):
            rest = blocks[a][b] - blocks[0][0] if a == b else blocks[a][b]
            if rest.nnz and np.abs(rest.data).max() > limit:
                return None
    return blocks[0][0]


def _of_solid(model: FeModel, scalar: Sparse, point: Floats, shapes: Floats) -> tuple[Floats, Floats, Floats]:
    own = model.dofs[:, 0] >= 0
    dofs = model.dofs[own]
    s = shapes.shape[1] + 1
    whole = np.empty((len(dofs), 3, s))
    whole[:, :, 0] = model.nodes[own] - point
    for a in range(3):
        whole[:, a, 1:] = shapes[dofs[:, a]]
    flat = whole.reshape(len(dofs), -1)
    B = (flat.T @ (scalar @ flat)).reshape(3, s, 3, s).transpose(1, 3, 0, 2)
    return _second_order(B)


def _second_order(B: Floats) -> tuple[Floats, Floats, Floats]:
    """J1, J2, Q of B (1 + n, 1 + n, 3, 3)."""
    J2 = 2.0 * inertia_of(B[1:, 1:])
    return 2.0 * inertia_of(B[0, 1:]), 0.5 * (J2 + J2.swapaxes(0, 1)), axial(B[1:, 1:])


def _of_lumps(model: FeModel, point: Floats, shapes: Floats, D: Floats) -> tuple[Floats, Floats, Floats]:
    """Moments of the lumps of the mass matrix, with their rotary inertia: docs/theory/modal_body.md, equation (3)."""
    n, s = len(model.nodes), shapes.shape[1]
    # M E and M G; what a node lacks is zero, the last row
    momenta, shapes = np.vstack([model.mass @ D, np.zeros(6)]), np.vstack([shapes, np.zeros(s)])
    line, turn = (momenta[dofs].swapaxes(1, 2) for dofs in (model.dofs[:, :3], model.dofs[:, 3:]))
    u, theta = shapes[model.dofs[:, :3]], shapes[model.dofs[:, 3:]]
    m, across = np.einsum("naa->n", line[:, :3]) / 3.0, turn[:, :3]
    d = np.where(m > 0.0, 0.5 / np.where(m > 0.0, m, 1.0), 0.0)[:, None] * axial(across)
    X = model.nodes - point + d
    J = symmetric(turn[:, 3:] - cross_matrix(X) @ across)
    u -= cross_matrix(d) @ theta
    whole = np.concatenate([X[:, :, None], u], axis=2).reshape(n, -1)
    between = _between_nodes(model, X - model.nodes + point, np.any(theta, axis=(1, 2)))
    lumps = m - np.asarray(between.sum(axis=1)).ravel()
    B = (whole.T @ (lumps[:, None] * whole + between @ whole)).reshape(3, s + 1, 3, s + 1).transpose(1, 3, 0, 2)
    J1, J2, Q = _second_order(B)
    return _with_rotary_inertia(J1, J2, Q, J, theta)


def _between_nodes(model: FeModel, offsets: Floats, turn: NDArray[np.bool_]) -> Sparse:
    """m_kl (N, N), k not l, of two nodes whose mass is a scalar between their centres, at offsets (N, 3): of shells.

    Zero where it is another one, as with beams, whose displacements depend on rotations; it is then in the lumps.
    turn (N,) : nodes that some shape turns.
    """
    from scipy.sparse import csr_array, diags_array

    n, mass = len(model.nodes), model.mass.tocoo()
    rows, columns = model.node_of[mass.row], model.node_of[mass.col]
    apart = rows != columns
    rows, columns, values = rows[apart], columns[apart], mass.data[apart]
    first, second = model.component[mass.row[apart]], model.component[mass.col[apart]]

    def block(i: int, j: int) -> Sparse:
        own = (first == i) & (second == j)
        return csr_array((values[own], (rows[own], columns[own])), shape=(n, n))

    scalar = (block(0, 0) + block(1, 1) + block(2, 2)) / 3.0
    levers, rest = np.array([-cross_matrix(each) for each in offsets]), csr_array((n, n))
    for i in range(3):
        for j in range(3):
            rest = rest + abs(block(i, j) - scalar if i == j else block(i, j))
            rest = rest + abs(block(i, 3 + j) - scalar @ diags_array(levers[:, i, j])) @ diags_array(1.0 * turn)
    others = (rest + rest.T) > ISOTROPIC * float(np.max(np.abs(mass.data), initial=0.0))
    return scalar - scalar.multiply(others)


def _with_rotary_inertia(J1: Floats, J2: Floats, Q: Floats, J: Floats, theta: Floats) -> tuple[Floats, Floats, Floats]:
    """Equation (3), of inertias (N, 3, 3) and rotations (N, 3, n)."""
    J1, J2, Q = J1.copy(), J2.copy(), Q.copy()
    for k in range(0, len(J), PORTION):
        own, turned = J[k : k + PORTION, None], theta[k : k + PORTION].transpose(0, 2, 1)
        t = np.cross(np.eye(3), turned[:, :, None, :])  # (N, n, 3, 3) cross matrices
        tJ = t @ own
        J1 += np.sum(tJ + tJ.swapaxes(-1, -2), axis=0)
        first = np.einsum("niab,njbc->ijac", tJ, t, optimize=True)
        second = np.einsum("niab,njbc->ijac", t, tJ, optimize=True)
        half = 0.5 * (second + second.swapaxes(0, 1))
        J2 -= first + first.swapaxes(0, 1) - half - half.swapaxes(-1, -2)
        Q += np.einsum("niab,njb->ija", tJ - 0.5 * (own @ t), turned, optimize=True)
    return J1, J2, Q


# Geometric stiffening: stress stiffness of inertia loads and of forces on interfaces, in the arrays of second order.
#
# For each of twelve accelerations c(X) the root is held, K u = -M c, and G = Psi^T K_s(u) Psi; then
#
#     S2_a += G^a      Q_a += G^alpha_a      J2_ab -= 2 G^ab                                               (28)
#
# B2, the moments int X Psi2^T dm of second-order displacements, has what Q and J2 gain: ax(B2) and 2 I(B2).
#
# Source: docs/theory/modal_body.md, section 4.

PAIRS = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))
# Names of the twelve accelerations.
LOADS = (*DIRECTIONS, *("xyz"[i] + "xyz"[j] for i, j in PAIRS))


def acceleration_fields(model: FeModel, point: Floats) -> Floats:
    """(n, 12): accelerations along, accelerations about, and by products of spins about the three axes."""
    D = model.rigid_motions(point)
    fields = np.zeros((model.size, 12))
    fields[:, :6] = D
    lines = model.component < 3
    X, a = (model.nodes[model.node_of] - point)[lines], model.component[lines]
    for k, (i, j) in enumerate(PAIRS):
        c = np.zeros((3, 3))
        c[i, j] += 0.5
        c[j, i] += 0.5
        c -= float(i == j) * np.eye(3)
        fields[lines, 6 + k] = np.einsum("nb,nb->n", c[a], X)
    return fields


def stiffening(G: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """S2 (n, n, 3), what Q (n, n, 3) and J2 (n, n, 3, 3) gain, and B2 (n, n, 3, 3), of G (12, n, n)."""
    G = symmetric(G)
    J2 = np.zeros((*G.shape[1:], 3, 3))
    for k, (i, j) in enumerate(PAIRS):
        J2[:, :, i, j] = J2[:, :, j, i] = -2.0 * G[6 + k]
    Q = G[3:6].transpose(1, 2, 0)
    return G[:3].transpose(1, 2, 0), Q, J2, product_of(J2, Q)


Coupling = Literal["full", "constant"]
COLUMNS = 10  # static solutions at a time
LOCKED = 0.02  # part of the strain energy of the first mode
MOST_ROWS = 40  # modes in the table of a reduction


@dataclass(frozen=True, eq=False)
class Keep:
    """Which modes are kept: at most ``modes``; those up to ``max_frequency`` (Hz); as many as hold the part
    ``effective_mass`` of the mass along x, y and z."""

    modes: int | None = None
    max_frequency: float | None = None
    effective_mass: float | None = None

    def __post_init__(self) -> None:
        if self.modes is None and self.max_frequency is None and self.effective_mass is None:
            raise ModelError("modes: give how many to keep, the highest frequency, or the effective mass to reach")
        if self.modes is not None and (isinstance(self.modes, bool) or self.modes < 0):
            raise ModelError(f"modes: got {self.modes}, wanted 0 or more")
        if self.effective_mass is not None and not 0.0 < self.effective_mass < 1.0:
            raise ModelError(f"effective_mass: got {self.effective_mass}, wanted a part between 0 and 1")


@dataclass(frozen=True, eq=False)
class Reduction(Tabled):
    """A reduced body and the account of it.

    coupling : "full" or "constant". interfaces : name, kind, position (3,) m, number of nodes. held (m,) Hz : kept
    modes with all interfaces held. free (n,) Hz : modes of the body with the root held, error (n,) their relative
    truncation error, effective (n, 6) their effective masses as parts of the rigid ones along and about the root's
    axes; missing (6,) what the kept modes leave out. length (m) : the longest side of the box around the model.
    """

    body: ReducedBody
    interfaces: tuple[tuple[str, str, Floats, int], ...]
    held: Floats
    free: Floats
    error: Floats
    effective: Floats
    missing: Floats
    coupling: Coupling
    length: float = 0.0

    def table(self) -> str:
        """Mass properties, interfaces, kept modes with their effective masses, and truncation errors."""
        body = self.body
        mass, centre, inertia = properties(rigid_mass(body.mass, body.first_moment, body.inertia))
        lines = [
            *([f"{self.length:.3g} m long, {mass:.3g} kg", ""] if self.length else []),
            f"mass          {mass:.6g} kg",
            f"mass centre   {_vector(centre)} m, from the root",
            f"inertia       {_vector(np.diag(inertia))} kg m2 about the mass centre; products xy, xz, yz "
            f"{_vector(inertia[[0, 0, 1], [1, 2, 2]])}",
            f"coupling      {self.coupling}",
            "",
            "interface          kind    nodes  position, m, from the root",
        ]
        for k, (name, kind, point, count) in enumerate(self.interfaces):
            lines.append(f"{name + ('' if k else ' (root)'):18} {kind:6} {count or '':>6}  {_vector(point)}")
        if body.load_names:
            lines += ["", "loads inside       force, N              torque, N m, about the root"]
            for name, force, torque in zip(body.load_names, body.load_force, body.load_torque, strict=True):  # type: ignore[arg-type]
                lines.append(f"{name:18} {_vector(force):20}  {_vector(torque)}")
        lines += ["", "         frequency, Hz              effective mass with the root held, %"]
        lines.append("mode     held  root held    error  " + "".join(f"{word:>7}" for word in DIRECTIONS))
        for k in range(min(len(self.free), MOST_ROWS)):
            held = _hertz(self.held[k]) if k < len(self.held) else ""
            error = "exact" if abs(self.error[k]) < 1e-9 else f"{self.error[k]:.1e}"
            lines.append(f"{k + 1:4}{held:>9}  {_hertz(self.free[k]):>9}  {error:>7}  {_parts(self.effective[k])}")
        if len(self.free) > MOST_ROWS:
            lines.append(f"and {len(self.free) - MOST_ROWS} more")
        lines.append(f"{'kept':33}  {_parts(self.effective.sum(axis=0))}")
        lines.append(f"{'left out':33}  {_parts(self.missing)}")
        return "\n".join(lines)


def _hertz(f: float) -> str:
    """At most eight letters."""
    return text if len(text := f"{f:.5g}") < 9 else f"{f:.2e}"


def _parts(values: Floats) -> str:
    return "".join(f"{100.0 * value + 0.0:7.2f}" for value in np.where(np.abs(values) < 5e-5, 0.0, values))


def _vector(x: Floats) -> str:
    return vector(np.where(np.abs(x) < 1e-12 * max(1.0, np.abs(x).max()), 0.0, x))


@one_blas_thread()
def reduce_model(
    model: FeModel,
    interfaces: Sequence[MeshInterface],
    keep: Keep,
    *,
    coupling: Coupling | None = None,
    pictures: bool = True,
    damping_ratio: float | Sequence[float] = 0.005,
    loaded: str = "",
    mass: float | None = None,
    centre: Floats | None = None,
    inertia: Floats | None = None,
    loads: Sequence[InnerLoad] = (),
    stresses: bool = False,
    recover: Sequence[tuple[str, Ints]] = (),
) -> Reduction:
    """Reduce a model to its interfaces, of which the first is the root, and to the modes that ``keep`` selects.

    Parameters:
        model: of finite elements.
        interfaces: of the body, the root first.
        keep: the choice of modes.
        coupling: "full" with geometric stiffening, which needs a stress stiffness; by default where there is one.
        pictures: whether the body holds the displacements of all nodes.
        damping_ratio: ratio of every mode, or one for each with the root held, the last also of all above.
        loaded: directions, as "x rz", in which the kept modes must hold nine tenths of the mass.
        mass: kg, known, to compare.
        centre: (3,) m, known, in the model's axes, to compare.
        inertia: (3, 3) kg m2, known, in the model's axes, to compare.
        loads: those inside the body; their static shapes are kept beside the modes.
        stresses: whether the body holds the stresses of its nodes.
        recover: rows of recovery, texts as "displacements=21,22" with the rows (m,) of their nodes, of a deck of
            its grids; "forces=3,4" and
            "stresses=3,4" of elements of a deck.

    Raises:
        ModelError: the checks that docs/howto/finite_element_bodies.md lists.
    """
    compare_given(check_model(model), mass, centre, inertia)
    if coupling == "full" and model.stress is None:
        raise ModelError(
            "coupling = 'full' needs the stress stiffness, which these matrices lack: "
            "give it (stress), or take 'constant'"
        )
    coupling = coupling or ("constant" if model.stress is None else "full")
    ties = tied(model, interfaces)
    found = shapes(ties, _selection(model, ties, keep), MOST_MODES if keep.modes is None else keep.modes)
    if loads:
        found = with_static_shapes(model, found, np.stack([load.force for load in loads], axis=1))
    arrays = _arrays(model, ties, found, coupling, pictures or stresses)
    arrays |= _inner(model, ties, found, loads, stresses)
    texts, rows = [text for text, _ in recover], [nodes.tolist() for _, nodes in recover]
    dofs = np.column_stack([model.dofs, model.numbers])
    held = [load.held for load in loads]
    names, recovery, still = recovery_rows(texts, model.recoverable, rows, dofs, found.all, held)
    if names:
        arrays["recovery"] = recovery
    if np.any(still):
        arrays["load_recovery"] = still
    axes = np.asarray(ties.interfaces[0].axes, dtype=float)
    values: dict[str, Any] = dict(turned_arrays(arrays, axes, found.boundary.shape[1]))
    body = ReducedBody(
        interface_names=tuple(each.name for each in interfaces),
        included=coupling == "full",
        damping_ratio=ratios_of_modes(damping_ratio, len(arrays["K"])),
        cells=model.cells if pictures or stresses else {},
        load_names=tuple(load.name for load in loads),
        recovery_names=names,
        **values,
    )
    squares, parts = eigh(body.K, body.M)
    frequencies = np.sqrt(squares) / (2.0 * np.pi)
    error = _truncation(model, found, arrays, len(squares))
    whole = np.concatenate([np.full(3, body.mass), np.diag(body.inertia)])
    # masses on a line have no inertia about it
    whole = np.where(whole > 1e-12 * body.mass * model.length**2 * (np.arange(6) > 2), whole, np.inf)
    effective = (parts.T @ np.hstack([body.S1, body.C0])) ** 2 / whole
    missing = 1.0 - effective.sum(axis=0) - _carried(model, ties, axes) / whole
    check_loaded(loaded, missing)
    first = float(frequencies[0]) if len(frequencies) else None
    if first is not None:
        _warn_of_linear_cells(model, ties, found, parts[:, 0], axes)
    check_size(first, model.length, body.mass)
    if first is not None:
        check_first(model, first)
    listed = tuple(
        (each.name, each.kind, np.asarray(point), len(each.nodes))
        for each, point in zip(interfaces, body.interfaces, strict=True)
    )
    length = float(np.max(np.ptp(model.nodes, axis=0)))
    return Reduction(body, listed, found.frequencies, frequencies, error, effective, missing, coupling, length)


def _inner(model: FeModel, ties: Tied, found: Shapes, loads: Sequence[InnerLoad], stresses: bool) -> dict[str, Floats]:
    """Arrays of loads inside the body and of stresses, along the model's axes."""
    arrays: dict[str, Floats] = {}
    if stresses:
        arrays["stress_shapes"] = nodal_stress(model, found.all)
    if loads:
        forces = np.stack([load.force for load in loads])
        whole = forces @ model.rigid_motions(ties.points[0])
        arrays |= {"load_force": whole[:, :3], "load_torque": whole[:, 3:], "load_modal": forces @ found.all}
        if stresses:
            none = np.zeros((len(model.nodes), 3, 3))
            arrays["load_stress"] = np.stack([none if load.stress is None else load.stress for load in loads])
    return arrays


def _warn_of_linear_cells(model: FeModel, ties: Tied, found: Shapes, part: Floats, axes: Floats) -> None:
    """Warn of linear cells of a solid, with what is known of how much they lock in the first mode, of parts (n,)."""
    from femb.fem.solids import too_stiff

    b = found.boundary.shape[1]
    along = np.concatenate([np.ravel(part[:b].reshape(-1, 3) @ axes.T), part[b:]])
    kinds, locked = too_stiff(model, found.all @ along)
    if not kinds:
        return
    if kinds != "hexahedron":
        warnings.warn(
            f"mesh: its linear cells ({kinds}) are far too stiff in bending, unless there are many over the thickness: "
            "take quadratic ones, or compare with a finer mesh",
            FembWarning,
        )
    elif locked > LOCKED:
        warnings.warn(
            f"mesh: its linear hexahedra lock: the first frequency is about {1.0 / np.sqrt(1.0 - locked) - 1.0:.1%} "
            "too high, since they do not bend: take quadratic ones, or more over the thickness",
            FembWarning,
        )


def _selection(model: FeModel, ties: Tied, keep: Keep) -> Callable[[Floats, Floats], int | None]:
    """The number of computed modes to keep, or None if more are to be computed."""
    D = model.rigid_motions(ties.points[0])
    momenta = model.mass @ D
    inner = ties.expand[:, : ties.free]
    # of the free nodes: what all modes have together
    whole = np.einsum("na,na->a", D, inner @ (inner.T @ momenta))[:3]

    def enough(frequencies: Floats, modes: Floats) -> int | None:
        wanted: list[int | None] = []
        if keep.max_frequency is not None:
            if not len(frequencies) or frequencies[-1] <= keep.max_frequency:
                wanted.append(None)
            else:
                wanted.append(int(np.searchsorted(frequencies, keep.max_frequency, side="right")))
        if keep.effective_mass is not None:
            reached = np.cumsum((modes.T @ momenta[:, :3]) ** 2, axis=0) / whole
            good = np.flatnonzero(np.all(reached >= keep.effective_mass, axis=1))
            wanted.append(int(good[0]) + 1 if len(good) else None)
        if keep.modes is not None:
            wanted = [keep.modes if each is None else min(each, keep.modes) for each in wanted] or [keep.modes]
        return None if None in wanted else max(each for each in wanted if each is not None)

    return enough


def _arrays(model: FeModel, ties: Tied, found: Shapes, coupling: Coupling, pictures: bool) -> dict[str, Floats]:
    """Arrays of the reduced body along the model's axes, by their names."""
    root, Psi = ties.points[0], found.all
    if coupling == "full":
        check_sizes(len(found.frequencies), Psi.shape[1])
    of = moments(model, root, Psi)
    K = np.diag(np.concatenate([np.zeros(found.boundary.shape[1]), (2.0 * np.pi * found.frequencies) ** 2]))
    b = found.boundary.shape[1]
    K[:b, :b] = symmetric(found.boundary.T @ (model.stiffness @ found.boundary))
    arrays = {
        "interfaces": ties.points - root,
        "interface_axes": np.array([each.axes for each in ties.interfaces], dtype=float),
        "first_moment": of.first_moment,
        "inertia": of.inertia,
        "mass": np.asarray(of.mass),
        "S1": of.S1,
        "C0": of.C0,
        "M": of.M,
        "K": K,
    }
    if len(found.frequencies) <= MOST_MODES:
        arrays |= {"J1": of.J1, "J2": of.J2, "Q": of.Q}
    if coupling == "full" and model.stress is not None:
        G = _stress_stiffness(model, ties, found, K, Psi)
        S2, Q, J2, B2 = stiffening(G[:12])
        arrays |= {"S2": S2, "B2": B2, "Q": of.Q + Q, "J2": of.J2 + J2}
        if len(G) > 12:
            arrays["psi2"] = -symmetric(G[12:]).reshape(b // 6, 3, *K.shape)
    if pictures:
        dofs = model.dofs[:, :3]
        moved = np.where((dofs >= 0)[:, :, None], Psi[dofs], 0.0)
        arrays |= {"nodes": model.nodes - root, "node_shapes": moved.transpose(2, 0, 1)}
    return arrays


def _stress_stiffness(model: FeModel, ties: Tied, found: Shapes, K: Floats, Psi: Floats) -> Floats:
    """G (12 + 3 m, n, n) of accelerations and of forces on the m interfaces but the root; given forces may be absent.

    Raises ModelError: a load whose stress stiffness is not given.
    """
    b, stress = found.boundary.shape[1], model.stress
    assert stress is not None
    if isinstance(stress, GivenStress):
        forces = [f"{each.name}_{axis}" for each in ties.interfaces[1:] for axis in "xyz"]
        return stress.of([*LOADS, *(forces if any(each in stress.matrices for each in forces) else ())], Psi)
    flexibility = root_held(model, found)
    fields = flexibility(-(model.mass @ acceleration_fields(model, ties.points[0])))
    if b:
        own = np.concatenate([np.arange(k, k + 3) for k in range(0, b, 6)])
        fields = np.hstack([fields, found.boundary @ np.linalg.inv(K[:b, :b])[:, own]])
    return stress(fields, Psi)


def _truncation(model: FeModel, found: Shapes, arrays: dict[str, Floats], count: int) -> Floats:
    """Relative errors (n,) of the frequencies with the root held: against those of the shapes after one step of inverse
    iteration of the whole model."""
    if not count:
        return np.zeros(0)
    squares, parts = eigh(arrays["K"], arrays["M"])
    b = found.boundary.shape[1]
    flexibility, better = root_held(model, found), []
    for own in np.array_split(parts, -(-count // COLUMNS), axis=1):
        force = model.mass @ (found.boundary @ own[:b] + found.modes @ own[b:])
        Y = flexibility(force)
        better.append(np.einsum("nk,nk->k", Y, force) / np.einsum("nk,nk->k", Y, model.mass @ Y))
    return np.asarray(np.sqrt(squares / np.concatenate(better)) - 1.0)


def _carried(model: FeModel, ties: Tied, axes: Floats) -> Floats:
    """(6,): mass and inertia along and about the root's axes of what a rigid root carries without any mode.

    It is what the mass of the root lacks of that of all: the mass condensed to the root, all else free of stiffness.
    """
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import cg

    if ties.interfaces[0].kind != "rigid":
        return np.zeros(6)
    own, inner = ties.expand[:, ties.columns(0)].toarray(), ties.expand[:, : ties.free]
    moved = model.mass @ own
    coupled, mass = inner.T @ moved, (inner.T @ model.mass @ inner).tocsr()
    sizes = mass.diagonal()
    scale = diags_array(1.0 / np.where(sizes > 0.0, sizes, 1.0))
    carried = np.array([cg(mass, column, M=scale, rtol=1e-5)[0] for column in coupled.T])
    turn = np.kron(np.eye(2), axes)
    return np.asarray(np.diag(turn.T @ (own.T @ moved - carried @ coupled) @ turn))
