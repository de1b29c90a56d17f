"""A finite element model reduced to a body for simulation, with what was kept and what was left out.

Source: docs/theory/modal_body.md, sections 2, 3, 9 and 12.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh

from femb.analysis.fem import checks
from femb.analysis.fem.craig_bampton import Shapes, root_held, shapes
from femb.analysis.fem.model import FeModel, GivenStress, MeshInterface
from femb.analysis.fem.moments import moments
from femb.analysis.fem.stiffening import LOADS, acceleration_fields, stiffening
from femb.analysis.fem.ties import Tied, tied
from femb.analysis.fem.turned import turned_arrays
from femb.base.errors import FembWarning, ModelError
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.elements.modal.data import ReducedBody
from femb.elements.modal.mass_moments import symmetric
from femb.numerics.blas_threads import one_blas_thread

Coupling = Literal["full", "constant"]
LOCKED = 0.02  # part of the strain energy of the first mode
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


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
    axes; missing (6,) what the kept modes leave out. centre (3,) m from the root. strain (6,) : of the rigid motions,
    as part of the stiffness.
    """

    body: ReducedBody
    interfaces: tuple[tuple[str, str, Floats, int], ...]
    held: Floats
    free: Floats
    error: Floats
    effective: Floats
    missing: Floats
    coupling: Coupling

    def table(self) -> str:
        """Mass properties, interfaces, kept modes with their effective masses, and truncation errors."""
        from femb.analysis.fem.report import report

        return report(self)


def reduce_model(
    model: FeModel,
    interfaces: Sequence[MeshInterface],
    keep: Keep,
    *,
    coupling: Coupling | None = None,
    pictures: bool = True,
    damping_ratio: float = 0.005,
    loaded: str = "",
    mass: float | None = None,
    centre: Floats | None = None,
    inertia: Floats | None = None,
) -> Reduction:
    """Reduce a model to its ``interfaces``, of which the first is the root, and to the modes that ``keep`` selects.

    damping_ratio : ratio of every mode.
    coupling : "full" with geometric stiffening, which needs a stress stiffness; by default where there is one.
    pictures : whether the body holds the displacements of all nodes. loaded : directions, as "x rz", in which the kept
    modes must hold nine tenths of the mass. mass (kg), centre (3,) m, inertia
    (3, 3) kg m2 : known properties, in the model's axes, to compare.
    Raises ModelError: all checks of docs/theory/modal_body.md, section 12.
    """
    with one_blas_thread():
        return _reduced(model, interfaces, keep, coupling, pictures, damping_ratio, loaded, (mass, centre, inertia))


def _reduced(
    model: FeModel,
    interfaces: Sequence[MeshInterface],
    keep: Keep,
    coupling: Coupling | None,
    pictures: bool,
    damping_ratio: float,
    loaded: str,
    given: tuple[float | None, Floats | None, Floats | None],
) -> Reduction:
    rigid = checks.check_model(model)
    checks.compare_given(rigid, *given)
    if coupling == "full" and model.stress is None:
        raise ModelError(
            "coupling = 'full' needs the stress stiffness, which these matrices lack: "
            "give it (stress), or take 'constant'"
        )
    coupling = coupling or ("constant" if model.stress is None else "full")
    ties = tied(model, interfaces)
    found = shapes(ties, _selection(model, ties, keep), checks.MOST_MODES if keep.modes is None else keep.modes)
    arrays = _arrays(model, ties, found, coupling, pictures)
    axes = np.asarray(ties.interfaces[0].axes, dtype=float)
    values: dict[str, Any] = dict(turned_arrays(arrays, axes, found.boundary.shape[1]))
    body = ReducedBody(
        interface_names=tuple(each.name for each in interfaces),
        included=coupling == "full",
        damping_ratio=np.full(len(arrays["K"]), damping_ratio),
        cells=model.cells if pictures else {},
        **values,
    )
    squares, parts = eigh(body.K, body.M)
    frequencies = np.sqrt(squares) / (2.0 * np.pi)
    error = _truncation(model, found, arrays, len(squares))
    whole = np.concatenate([np.full(3, body.mass), np.diag(body.inertia)])
    effective = (parts.T @ np.hstack([body.S1, body.C0])) ** 2 / whole
    missing = 1.0 - effective.sum(axis=0) - _carried(model, ties, axes) / whole
    checks.check_loaded(loaded, missing)
    first = float(frequencies[0]) if len(frequencies) else None
    if first is not None:
        _warn_of_linear_cells(model, ties, found, parts[:, 0], axes)
    checks.check_size(first, model.length, body.mass)
    if first is not None:
        checks.check_first(model, first)
    listed = tuple(
        (each.name, each.kind, np.asarray(point), len(each.nodes))
        for each, point in zip(interfaces, body.interfaces, strict=True)
    )
    return Reduction(body, listed, found.frequencies, frequencies, error, effective, missing, coupling)


def _warn_of_linear_cells(model: FeModel, ties: Tied, found: Shapes, part: Floats, axes: Floats) -> None:
    """Warn of linear cells of a solid, with what is known of how much they lock in the first mode, of parts (n,)."""
    from femb.analysis.fem.solids import too_stiff

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
    """How many of computed modes to keep, or None if more are to be computed."""
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
        checks.check_sizes(len(found.frequencies), Psi.shape[1])
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
    if len(found.frequencies) <= checks.MOST_MODES:
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
    X = found.all @ parts
    force = model.mass @ X
    Y = root_held(model, found)(force)
    better = np.einsum("nk,nk->k", Y, force) / np.einsum("nk,nk->k", Y, model.mass @ Y)
    return np.asarray(np.sqrt(squares / better) - 1.0)


def _carried(model: FeModel, ties: Tied, axes: Floats) -> Floats:
    """(6,): mass and inertia along and about the root's axes of what a rigid root carries without any mode."""
    root = ties.interfaces[0]
    if root.kind != "rigid":
        return np.zeros(6)
    own = ties.expand[:, ties.columns(0)].toarray()
    block = own.T @ (model.mass @ own)
    turned = np.kron(np.eye(2), axes).T @ block @ np.kron(np.eye(2), axes)
    # effective masses of all modes: the rigid mass without what is condensed at the root
    D = model.rigid_motions(ties.points[0])
    cross = own.T @ (model.mass @ D)
    both = np.kron(np.eye(2), axes).T @ (cross + cross.T) @ np.kron(np.eye(2), axes)
    return np.asarray(np.diag(both) - np.diag(turned))
