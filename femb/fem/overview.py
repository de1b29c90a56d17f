"""A NASTRAN deck before interfaces are chosen: mass, modes, groups, supports; and beside printed results."""

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import linear_sum_assignment

from femb.base.bulk_cards import Units
from femb.base.bulk_data import BulkData
from femb.base.errors import FembWarning, ModelError
from femb.base.html import Tabled
from femb.base.types import Bools, Floats, Sparse
from femb.base.values import listed, vector, without_rounding
from femb.fem.bulk_case import LoadSets, grid_sets, supports_of
from femb.fem.bulk_model import read_structure
from femb.fem.checks import DIRECTIONS, GROUNDED, MASS_FORM, check_size, properties, rounding_of
from femb.fem.craig_bampton import supports
from femb.fem.input_deck import read_deck
from femb.fem.model import FeModel, as_csc, free_of
from femb.fem.printed import Printed, read_printed
from femb.fem.recovery import COMPONENTS, write_punch
from femb.numerics.threads import one_blas_thread

ROWS = 12  # of a list
SHIFT = 1e-4  # of the lowest square of a frequency that one entry moves with
MASSLESS = 1e-12  # of a mass: what rounding leaves of it
TINY = 1e-9  # Hz, below which frequencies are zero
RIGID = 1e-3  # frequency of a rigid motion, of the first elastic one


@dataclass(frozen=True, eq=False)
class DeckOverview(Tabled):
    """model, with its mass (kg), mass centre (3,) m and inertia (3, 3) about it, kg m2. frequencies (m,) Hz; shapes
    (n, m) of unit mass; effective (m, 6) : masses as parts of the rigid ones along and about the axes through the mass
    centre. rigid (6,) : forces of rigid motions, of the largest stiffness. held : whether the supports of the deck
    hold it. lists : names and numbers of what is in it. printed : results of another program with the correlation (k,
    m) of shapes with its ones, or None."""

    model: FeModel
    mass: float
    centre: Floats
    inertia: Floats
    frequencies: Floats
    shapes: Floats
    effective: Floats
    rigid: Floats
    held: bool
    lists: tuple[tuple[str, str], ...]
    printed: tuple[Printed, Floats] | None = None

    def table(self) -> str:
        """Mass, lists, modes with effective masses, and the comparison."""
        J = self.inertia
        products = [J[0, 1], J[0, 2], J[1, 2]]
        grounded = self.rigid.max() > GROUNDED
        first = next(
            (f"first frequency {f:.4g} Hz" for f in self.frequencies[self.elastic]), "no mode but rigid motions"
        )
        D = self.model.rigid_motions(self.centre)[:, :3]
        masses = np.einsum("na,na->a", D, self.model.mass @ D)
        by_axis = [
            f"masses        {_numbers(masses)} kg along x, y, z: the least is the mass, the centre is by those across"
        ]
        lines = [
            f"{self.model.length:.3g} m across, {self.mass:.6g} kg, {first}",
            f"mass centre   {_numbers(self.centre)} m",
            f"inertia       {_numbers(np.diag(J))} kg m2 about the mass centre; products xy, xz, yz "
            + _numbers(products, float(np.abs(J).max())),
            f"rigid motions need {self.rigid.max():.1e} of the largest stiffness: "
            + ("a part of its own holds the model, as a spring to ground" if grounded else "the model is free"),
            *(by_axis if np.ptp(masses) > MASS_FORM * masses.max() else []),
            *(f"{name:13} {text}" for name, text in self.lists),
            "",
            f"modes {'with the supports of the deck' if self.held else 'of the free model'}; effective masses, %",
            f"{'mode':>4} {'Hz':>12}  " + "".join(f"{word:>7}" for word in DIRECTIONS),
        ]
        for k, (f, parts) in enumerate(zip(self.frequencies, self.effective, strict=True)):
            lines.append(f"{k + 1:4} {f:12.6g}  " + "".join(f"{100.0 * part:7.2f}" for part in parts))
        return "\n".join([*lines, *self._compared()])

    @property
    def elastic(self) -> Floats:
        """(m,) whether a mode is no rigid motion."""
        return np.asarray(self.frequencies > 0.0)

    def write_modes(self, path: str | Path) -> Path:
        """Write the modes of all grids, along their displacement axes, to a punch file of NASTRAN; its path."""
        of = self.model.recoverable
        assert of is not None
        R = np.array([of.axes.get(number, np.eye(3)) for number in of.numbers.tolist()])
        turned = np.einsum("nji,nbjm->mnbi", R, (of.expand @ self.shapes).reshape(len(R), 2, 3, -1))
        names = [f"grid {number} {component}" for number in of.numbers.tolist() for component in COMPONENTS]
        return write_punch(path, names, turned.reshape(len(turned), -1), frequencies=self.frequencies)

    def _compared(self) -> list[str]:
        if self.printed is None:
            return []
        other, mac = self.printed
        lines = ["", f"beside {other.path}"]
        if other.mass is not None:
            lines.append(f"mass {other.mass:.6g} in its units, {self.mass:.6g} kg here")
        lines.append("  there, Hz  mode here          Hz  difference     MAC")
        shaped: Bools = np.asarray(mac.any(axis=1)) if mac.size else np.zeros(len(other.frequencies), dtype=bool)
        # a mode here is that of one there: by shapes where there are any, else by frequencies
        apart = np.abs(np.log(np.maximum(self.frequencies, TINY) / np.maximum(other.frequencies, TINY)[:, None]))
        pairs = linear_sum_assignment(np.where(shaped[:, None], -mac, apart) if mac.size else apart)
        of = dict(zip(*(each.tolist() for each in pairs), strict=True))
        for k, f in enumerate(other.frequencies):
            if k not in of:
                lines.append(f"{f:11.6g} {'none':>10}")
                continue
            own = self.frequencies[of[k]]
            size = f"{own / f - 1.0:+11.2e}" if f > RIGID * other.frequencies.max() else " " * 11
            lines.append(
                f"{f:11.6g} {of[k] + 1:10} {own:11.6g} {size}" + (f"{mac[k, of[k]]:8.4f}" if shaped[k] else "")
            )
        return lines if shaped.all() else [*lines, "without MAC: paired by frequency alone"]


@one_blas_thread()
def overview(
    deck: str | Path,
    modes: int = 10,
    *,
    held: bool = False,
    compare: str | Path | None = None,
    unit: float | str | Units = 1.0,
    logical: Mapping[str, str] | None = None,
) -> DeckOverview:
    """A NASTRAN deck before interfaces are chosen.

    Parameters:
        deck: bulk data.
        modes: number of modes.
        held: whether the supports of the deck hold it.
        compare: results of the same deck, .f06, .pch or .op2 with eigenvalues; the supports then hold it.
        unit: as in ``reduce_mesh``.
        logical: as in ``reduce_mesh``.

    Raises:
        ModelError: a deck that is not read, or held without supports.
        ResultError: a file that cannot be read.
    """
    with warnings.catch_warnings():
        if held or compare is not None:
            warnings.filterwarnings("ignore", ".*supports are left out", FembWarning)
        model = read_structure(deck, unit, logical)
    data = read_deck(deck, unit, logical)
    if held:
        data.chosen_sets("SPC")
    if held and model.supports is None:
        raise ModelError(
            f"{deck}: held: the deck has no supports that hold a grid and are chosen (SPC, SPC1, PS of GRID)"
        )
    held = held or (compare is not None and model.supports is not None)
    D = model.rigid_motions(np.zeros(3))
    mass, centre, inertia = properties(D.T @ (model.mass @ D))
    D = model.rigid_motions(centre)
    frequencies, shapes = _modes(model, modes, held, centre)
    whole = np.einsum("na,na->a", D, model.mass @ D)
    effective = (shapes.T @ (model.mass @ D)) ** 2 / np.where(whole > MASSLESS * whole.max(), whole, np.inf)
    scale = np.where(model.component < 3, 1.0, 1.0 / model.length)
    force = np.abs((model.stiffness @ (D / np.where(np.arange(6) < 3, 1.0, model.length))) * scale[:, None]).max(axis=0)
    rigid = force / float(np.max(model.stiffness.diagonal() * scale**2))
    found = DeckOverview(model, mass, centre, inertia, frequencies, shapes, effective, rigid, held, _lists(data))
    elastic = frequencies[found.elastic]
    check_size(float(elastic[0]) if len(elastic) else None, model.length, mass)
    if rigid.max() > GROUNDED:
        warnings.warn(f"{deck}: {found.table().splitlines()[3]}", FembWarning)
    if compare is None:
        return found
    printed = read_printed(compare)
    return replace(found, printed=(printed, _correlation(model, data, shapes, printed)))


def _modes(model: FeModel, count: int, held: bool, centre: Floats) -> tuple[Floats, Floats]:
    """Frequencies (m,) Hz and shapes (n, m) of unit mass of the lowest modes, joints closed, supports or not.

    Rigid motions that nothing holds have frequency zero; the rest is sought beside them, by a shift of its own scale:
    masses of 1e9 kg that shake a base leave no digits of a frequency otherwise.
    """
    from scipy.sparse import diags_array, eye_array, vstack

    from femb.numerics.fronts import Multifrontal, dissection
    from femb.numerics.lanczos import RESIDUAL, ROUNDING, largest_eigenvalues

    rows = [each for each in (model.joints, model.idle, model.supports if held else None) if each is not None]
    expand = free_of(as_csc(vstack(rows)), model.size) if rows else as_csc(eye_array(model.size))
    K, M = (as_csc(expand.T @ each @ expand) for each in (model.stiffness, model.mass))
    entries = expand.tocoo()
    places = np.zeros((expand.shape[1], 3))
    places[entries.col] = model.nodes[model.node_of[entries.row]]
    R, massless = _rigid(model, expand, K, M, centre)
    momenta = M @ R
    # what unit displacements of single entries move beside rigid motions
    k, m = K.diagonal(), M.diagonal() - np.sum(momenta**2, axis=1)
    own = (m > MASSLESS * M.diagonal()) & (k > 0.0)
    n, shapes = len(k), R[:, :count]
    elastic, squares = min(count, np.count_nonzero(M.diagonal())) - R.shape[1], np.zeros(shapes.shape[1])
    if elastic > 0 and own.any():
        shift = SHIFT * float(np.min(k[own] / m[own]))
        # motions without stiffness and mass, as of a bar about its line, are held at one freedom each
        alone = np.zeros(n)
        alone[supports(massless)[: massless.shape[1]]] = k[own].max()
        shifted: Sparse = as_csc(K + shift * M + diags_array(alone))
        try:
            if n < 200:
                beside = M.toarray() - momenta @ momenta.T
                values, vectors = (
                    each[..., ::-1] for each in eigh(beside, shifted.toarray(), subset_by_index=(n - elastic, n - 1))
                )
            else:
                factors = Multifrontal.of(shifted, dissection(shifted, places))

                def flexibility(f: Floats) -> Floats:
                    x = factors.solve(np.ascontiguousarray(f - momenta @ (R.T @ f)))
                    return np.asarray(x - R @ (momenta.T @ x))

                values, vectors = largest_eigenvalues(flexibility, M, elastic)
        except np.linalg.LinAlgError:
            raise _mechanism(model, expand, shifted, held) from None
        # of masses that move with others there are fewer modes
        values, vectors = values[own := values > ROUNDING * values[0]], vectors[:, own]
        vectors = vectors / np.sqrt(np.einsum("nk,nk->k", vectors, M @ vectors))
        found = [(f, max(RESIDUAL * shift, rounding_of(K, x[:, None]) if f < shift else 0.0))
                 for f, x in zip(1.0 / values - shift, vectors.T, strict=True)]  # fmt: skip
        # rounding alone holds motions of parts
        squares = np.r_[squares, [f if f > rounding else 0.0 for f, rounding in found]]
        shapes = np.hstack([shapes, vectors])
    return np.sqrt(squares) / (2.0 * np.pi), np.asarray(expand @ shapes)


def _mechanism(model: FeModel, expand: Sparse, shifted: Sparse, held: bool) -> ModelError:
    """The freedom that moves most where next to nothing holds all."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import splu

    size = shifted.diagonal()
    least = diags_array(GROUNDED * np.where(size > 0.0, size, size.max()))
    x = expand @ splu(as_csc(shifted + least)).solve(np.random.default_rng(1).standard_normal(len(size)))
    k = int(np.argmax(np.abs(x) * np.where(model.component < 3, 1.0, model.length)))
    way = "" if held or model.supports is None else "; with its supports (--held) the deck may hold it"
    return ModelError(f"stiffness: {model.label(k)}: can move without mass and stiffness: a mechanism{way}")


def _rigid(model: FeModel, expand: Sparse, K: Sparse, M: Sparse, centre: Floats) -> tuple[Floats, Floats]:
    """Rigid motions (n, r) of unit mass that nothing holds, by the freedoms that ``expand`` has columns of, and those
    (n, s) without mass."""
    from scipy.sparse.linalg import splu

    D = model.rigid_motions(centre)
    D[:, 3:] /= model.length
    motions = splu(as_csc(expand.T @ expand)).solve(expand.T @ D)
    forces, ways = np.linalg.eigh(motions.T @ (K @ motions))
    free = ways[:, forces <= rounding_of(K, motions)]
    R = massless = np.zeros((len(motions), 0))
    whole = np.sum(motions * (M @ motions), axis=0)
    for x, most, size in zip((motions @ free @ free.T).T, whole, np.sum(motions**2, axis=0), strict=True):
        for _ in range(2):
            x = x - R @ (R.T @ (M @ x))
        if x @ (K @ x) > rounding_of(K, x[:, None]):
            continue
        if (mass := x @ (M @ x)) > MASSLESS * most:
            R = np.column_stack([R, x / np.sqrt(mass)])
        elif x @ x > MASSLESS * size:
            massless = np.column_stack([massless, x])
    return R, massless


def _lists(data: BulkData) -> tuple[tuple[str, str], ...]:
    """Names of properties, sets, supports and loads."""
    sections = (data, *data.parts.values())
    elements = Counter(card.whole("PID") for each in sections for card in each.all(*_WITH_PROPERTY))
    sets = grid_sets(data)
    centres = [f"{name} (grid {own[0]})" for name, own in sets.items() if name.startswith("rbe")]
    lists = {
        "properties": [f"{number} ({count} elements)" for number, count in sorted(elements.items())],
        "superelements": [str(number) for number in data.parts],
        "RBE2": centres,
        "sets": [
            f"{name} ({len(own)} grids)" for name, own in sets.items() if name in data.sets or name.startswith("set")
        ],
        "loads": [f"set:{number}" for number in LoadSets(data).numbers()],
        "supports": [f"{number} ({''.join(str(c + 1) for c in own)})" for number, own in supports_of(data).items()],
    }
    return tuple((name, listed(texts, ROWS)) for name, texts in lists.items() if texts)


_WITH_PROPERTY = (
    "CQUAD4", "CQUADR", "CTRIA3", "CTRIAR", "CQUAD8", "CTRIA6", "CHEXA", "CPENTA", "CTETRA", "CPYRAM", "CBAR", "CBEAM",
    "CBEND", "CROD", "CTUBE", "CSHEAR", "CBUSH", "CBUSH1D", "CGAP",
)  # fmt: skip


def _correlation(model: FeModel, data: BulkData, shapes: Floats, printed: Printed) -> Floats:
    """(k, m) MAC of the printed shapes, along the displacement axes of their grids, with those of a model."""
    row = {int(number): k for k, number in enumerate(model.numbers)}
    grids = [number for number in printed.shapes if number in row and number in data.grids]
    if not grids:
        return np.zeros((0, 0))
    dofs = model.dofs[[row[number] for number in grids]]
    own = np.where((dofs >= 0)[:, :, None], shapes[dofs], 0.0)
    other = np.array([
        np.kron(np.eye(2), data.grids[number][1]) @ printed.shapes[number].T for number in grids
    ])  # fmt: skip
    # of what turns alone, as torsion of a bar, translations are rounding
    ours, theirs = (
        each[:, :3].reshape(3 * len(grids), -1)
        * (np.linalg.norm(each[:, :3], axis=(0, 1)) > 1e-6 * model.length * np.linalg.norm(each[:, 3:], axis=(0, 1)))
        for each in (own, other)
    )
    sizes = np.outer(np.sum(theirs**2, axis=0), np.sum(ours**2, axis=0))
    return np.asarray((theirs.T @ ours) ** 2 / np.where(sizes > 0.0, sizes, np.inf))


def _numbers(x: Floats | list[float], scale: float | None = None) -> str:
    values = np.asarray(x)
    return vector(without_rounding(values, np.abs(values).max() if scale is None else scale))
