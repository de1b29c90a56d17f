"""Correlation of measured modes with those of a model: MAC, cross-orthogonality, COMAC.

    MAC_kj = |a_k^H b_j|^2/((a_k^H a_k)(b_j^H b_j)),    X = pinv(B) A with columns of length one
    COMAC_i = (sum_k |a_ik b_ik|)^2/(sum |a_ik|^2 sum |b_ik|^2) over pairs by MAC

of measured shapes a and shapes b of the model at the measured directions. X has the products with the model's mass
matrix that its modes, of unit generalized mass, reduce to these directions (SEREP). Sources: R. J. Allemang, Sound and
Vibration 37 (2003) 14; N. A. J. Lieven, D. J. Ewins, IMAC 6 (1988); J. O'Callahan, IMAC 7 (1989).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femb.base.bulk_data import is_deck
from femb.base.errors import ModelError
from femb.base.html import Tabled
from femb.base.types import Complexes, Floats
from femb.fem.test_data import TestData, read_test_data
from femb.numerics import rotations
from femb.results.array_file import write_arrays
from femb.study.outputs import NaturalFrequency
from femb.study.runner import RunAnalyses
from femb.study.sensitivity import CaseFamily, read_either
from femb.study.study import Build, Study
from femb.vibration.solution import Solution

# Pairs below this value of the criterion are none.
PAIRED = 0.5
# Shapes below this, relative to the other measured ones or to the largest motion of the mode, are rounding: single
# precision has as much.
ROUNDING = 1e-6
# The logarithm of frequencies that a mode with a shape lies farther from a measured one without.
MOVES = np.log(2.0)
# Modes of the model beside as many as were measured.
SPARE = 6
NO_SHAPE = "at the measured points its shape is rounding, or one number, which has no MAC"
# Points farther than this from the model, relative to its size, are named.
FAR = 0.05


@dataclass(frozen=True, eq=False)
class Correlation(Tabled):
    """Measured modes (k) beside modes (m) of a model, at p directions.

    data : the measured modes.
    frequencies, damping (m,) : of the model, Hz and ratios. shapes (p, m). mac, cross (k, m) : NaN of shapes that are
    rounding at the points, or known in one direction alone. pairs (k,) : the mode of the model of each measured one,
    from 0; -1 without. comac (p,) : over pairs by MAC. distances (p,) m : of the points from the frames of the model
    that carry them.
    """

    data: TestData
    frequencies: Floats
    damping: Floats
    shapes: Complexes
    mac: Floats
    cross: Floats
    pairs: "np.ndarray[tuple[int], np.dtype[np.intp]]"
    comac: Floats
    distances: Floats

    @property
    def by_frequency(self) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
        """The measured modes, from 0, that have points but no MAC, and so the pair of the nearest frequency."""
        return np.flatnonzero(np.isnan(self.mac).all(axis=1) & (self.pairs >= 0) & (len(self.data.points) > 0))

    def table(self) -> str:
        """A line for each measured mode, with its pair, and the points of the least COMAC."""
        lines = [f"{'measured':>8}{'Hz':>12}{'model':>8}{'Hz':>12}{'difference':>12}{'MAC':>8}{'cross':>8}"]
        for k, (f, j) in enumerate(zip(self.data.frequencies, self.pairs, strict=True)):
            if j < 0:
                best = f"; the best MAC is {np.nanmax(self.mac[k], initial=0.0):.3f}" if len(self.data.points) else ""
                lines.append(f"{k + 1:8}{f:12.6g}   has no pair in the model{best}")
                continue
            own, of_shapes = self.frequencies[j], ""
            if k in self.by_frequency:
                of_shapes = f"  by frequency: {NO_SHAPE}"
            elif len(self.data.points):
                of_shapes = f"{self.mac[k, j]:8.3f}{self.cross[k, j]:8.3f}"
            lines.append(f"{k + 1:8}{f:12.6g}{j + 1:8}{own:12.6g}{100.0 * (own / f - 1.0):10.3f} %{of_shapes}")
        if len(self.data.points) and np.isfinite(self.comac).any():
            worst = np.argsort(self.comac, kind="stable")[:3]
            names = ", ".join(
                f"{self.data.points[i]} {_axis(self.data.directions[i])} {self.comac[i]:.3f}" for i in worst
            )
            lines += ["", f"least COMAC: {names}"]
        return "\n".join(lines)

    def write(self, path: str | Path) -> Path:
        """Write a .npz with the fields by their names; its path."""
        words = ("frequencies", "damping", "shapes", "mac", "cross", "pairs", "comac", "distances")
        own = {word: getattr(self, word) for word in words}
        return write_arrays(Path(path), own | {"measured": self.data.frequencies, "points": self.data.points})

    def draw(self, path: str | Path) -> Path:
        """Draw MAC and cross-orthogonality, without shapes the frequencies, to the picture file ``path``; its path."""
        from matplotlib.figure import Figure

        from femb.pictures.drawing import INK, save

        given = [("MAC", self.mac), ("cross-orthogonality", self.cross)] if len(self.data.points) else []
        figure = Figure(figsize=(4.2 * max(len(given), 1), 3.8), layout="constrained")
        if not given:
            axes, paired = figure.subplots(), self.pairs >= 0
            axes.plot(self.data.frequencies[paired], self.frequencies[self.pairs[paired]], "o", color=INK)
            axes.axline((0.0, 0.0), slope=1.0, lw=0.8, color=INK)
            axes.set(xlabel="measured, Hz", ylabel="model, Hz")
            return save(figure, Path(path))
        for axes, (title, values) in zip(np.atleast_1d(figure.subplots(1, len(given))), given, strict=True):
            image = axes.imshow(values, vmin=0.0, vmax=1.0, cmap="Blues", aspect="auto")
            axes.set_title(title, fontsize=10)
            axes.set_xticks(
                range(len(self.frequencies)), [f"{f:.3g}" for f in self.frequencies], fontsize=7, rotation=60
            )
            axes.set_yticks(range(len(self.data.frequencies)), [f"{f:.3g}" for f in self.data.frequencies], fontsize=7)
            axes.set(xlabel="model, Hz", ylabel="measured, Hz")
        figure.colorbar(image, ax=figure.axes)
        return save(figure, Path(path))


def _axis(direction: Floats) -> str:
    """A direction in words."""
    k = int(np.argmax(np.abs(direction)))
    if abs(direction[k]) > 1.0 - 1e-9:
        return ("-" if direction[k] < 0.0 else "") + "xyz"[k]
    return "(" + " ".join(f"{x:.3g}" for x in direction) + ")"


def correlate(
    case: Study | Build | str | Path,
    data: TestData | str | Path,
    *,
    held: str | None = None,
    start: str | None = None,
    damped: bool = False,
    overrides: Iterable[str] = (),
    unit: float | str = 1.0,
) -> Correlation:
    """Measured modes beside those of a case, or of a deck of NASTRAN, Abaqus or CalculiX.

    Parameters:
        case: path of a case, a study or a deck, or a function that returns a femb.Model.
        data: measured modes, or the path of a universal file or of CSV; see docs/howto/correlate.md. Points move with
            the nearest frame of the model, a body or a node of a beam or shell, as if rigidly fixed to it.
        held: as in ``femb.modes``; of a deck "supports", those of the deck.
        start: as in ``femb.modes``.
        damped: as in ``femb.modes``.
        overrides: entries to replace, as in ``load_case``.
        unit: of a deck, as in ``femb.fem.reduce_mesh``.

    Raises:
        ModelError: damaged data, points far from the model.
    """
    found = data if isinstance(data, TestData) else read_test_data(data)
    if not len(found.frequencies):
        raise ModelError(f"correlate: {found.title} has no modes; functions are compared by femb identify")
    if isinstance(case, str | Path) and is_deck(case):
        if damped or start or tuple(overrides) or held not in (None, "supports"):
            raise ModelError(f"{case}: is a deck, of which held = 'supports' and unit alone can be given")
        return _of_deck(case, found, held is not None, unit)
    study = case if isinstance(case, Study) else read_either(case, tuple(overrides))
    count = len(found.frequencies) + SPARE
    family = CaseFamily(study, {}, {"f": NaturalFrequency(name="f", mode=count)})
    return correlated(family.nominal, found, held, start, damped)


def correlated(analyses: RunAnalyses, data: TestData, held: str | None, start: str | None, damped: bool) -> Correlation:
    """The correlation of the modes of one model. Raises ModelError."""
    modes = analyses.solution(held, start, damped)
    shapes, distances, largest = shapes_at(modes, data.places, data.directions)
    frequencies = np.abs(modes.eigenvalues) / (2.0 * np.pi)
    damping = 0.0 - modes.eigenvalues.real / np.maximum(np.abs(modes.eigenvalues), np.finfo(float).tiny)
    return _beside(data, frequencies, damping, shapes, distances, largest)


def _of_deck(deck: str | Path, data: TestData, held: bool, unit: float | str) -> Correlation:
    """The correlation of elastic modes of a deck, whose points move with the nearest node."""
    from scipy.spatial import cKDTree

    from femb.fem.overview import overview

    seen = overview(deck, len(data.frequencies) + SPARE + (0 if held else 6), held=held, unit=unit)
    model, own = seen.model, seen.shapes[:, seen.elastic]
    distances, nearest = cKDTree(model.nodes).query(data.places.reshape(-1, 3))
    _check_near(distances, model.length)
    dofs = model.dofs[nearest]
    moved = np.where((dofs >= 0)[:, :, None], own[dofs], 0.0)
    turned = np.cross(moved[:, 3:], (data.places - model.nodes[nearest])[:, :, None], axis=1)
    shapes = np.einsum("pc,pcm->pm", data.directions, moved[:, :3] + turned).astype(complex)
    frequencies = seen.frequencies[seen.elastic]
    largest = np.max(np.abs(own) * np.where(model.component < 3, 1.0, model.length)[:, None], axis=0)
    return _beside(data, frequencies, np.zeros(len(frequencies)), shapes, distances, largest)


def _beside(
    data: TestData, frequencies: Floats, damping: Floats, shapes: Complexes, distances: Floats, largest: Floats
) -> Correlation:
    """The correlation of shapes (p, m) of a model, whose modes move by ``largest`` (m,), at the measured directions."""
    measured = np.nan_to_num(data.shapes)
    seen = np.asarray(np.abs(measured).max(axis=0, initial=0.0) > ROUNDING * np.abs(measured).max(initial=0.0))
    seen &= np.isfinite(data.shapes).sum(axis=0) > 1
    moves = np.abs(shapes).max(axis=0, initial=0.0) > ROUNDING * largest
    told = np.outer(seen, moves)
    mac = np.where(told, _mac(data.shapes, shapes), np.nan)
    pairs = paired(data.frequencies, frequencies, mac)
    kept = (pairs >= 0) & seen
    cross = np.where(told, _cross(data.shapes, shapes, pairs[kept]), np.nan)
    a, b = (_scaled(each) for each in (measured[:, kept], shapes[:, pairs[kept]]))
    below = np.sum(np.abs(a) ** 2, axis=1) * np.sum(np.abs(b) ** 2, axis=1)
    comac = np.where(below > 0.0, np.sum(np.abs(a * b), axis=1) ** 2 / np.where(below > 0.0, below, 1.0), np.nan)
    return Correlation(data, frequencies, damping, shapes, mac, cross, pairs, comac, distances)


def _scaled(shapes: Complexes) -> Complexes:
    """Shapes of length one without their rounding."""
    sizes = np.maximum(np.linalg.norm(shapes, axis=0), np.finfo(float).tiny)
    return np.where(np.abs(shapes) > ROUNDING * sizes, shapes / sizes, 0.0)


def paired(measured: Floats, own: Floats, mac: Floats) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    """(k,) the mode of the model of each measured one, assigned together: by MAC, and those without by the frequency,
    which modes of the model with a MAC lie farther from; -1: none."""
    from scipy.optimize import linear_sum_assignment

    pairs = np.full(len(measured), -1)
    known = ~np.isnan(mac)
    for k, j in zip(*linear_sum_assignment(-np.where(known, mac, 0.0)), strict=True):
        if known[k, j] and mac[k, j] >= PAIRED:
            pairs[k] = j
    rest = np.flatnonzero(~known.any(axis=1))
    free = np.setdiff1d(np.arange(len(own)), pairs)
    away = np.abs(np.log(np.maximum(own[free], np.finfo(float).tiny) / measured[rest, None]))
    rows, columns = linear_sum_assignment(away + MOVES * np.any(known[:, free], axis=0))
    pairs[rest[rows]] = free[columns]
    return pairs


def _mac(a: Complexes, b: Complexes) -> Floats:
    """(k, m) MAC, each measured shape at its known directions."""
    found = np.zeros((a.shape[1], b.shape[1]))
    for k, shape in enumerate(a.T):
        known = np.isfinite(shape)
        size, of = np.linalg.norm(shape[known]), np.linalg.norm(b[known], axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found[k] = np.nan_to_num(np.abs(shape[known].conj() @ b[known]) ** 2 / (size * of) ** 2)
    return found


def _cross(a: Complexes, b: Complexes, chosen: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> Floats:
    """(k, m) cross-orthogonality by SEREP with the chosen modes of the model; zero with the others."""
    found = np.zeros((a.shape[1], b.shape[1]))
    for k, shape in enumerate(a.T):
        known = np.isfinite(shape)
        if known.sum() and len(chosen):
            parts = np.abs(np.linalg.pinv(b[known][:, chosen], rcond=1e-6) @ shape[known])
            found[k, chosen] = parts / max(float(np.linalg.norm(parts)), np.finfo(float).tiny)
    return found


def shapes_at(modes: Solution, places: Floats, directions: Floats) -> tuple[Complexes, Floats, Floats]:
    """(p, m) displacements along directions at places (p, 3) m, the distances (p,) from their frames, and (m,) the
    largest motions, of rotations at the size of the model.

    modes : along the axes of each frame. Raises ModelError: places far from the model.
    """
    motion = modes.motion
    layout, q = motion.system.layout, motion.q
    at = np.array([q[i : i + 3] for i in layout.frame_q]).reshape(-1, 3)
    size = float(np.max(np.ptp(at, axis=0))) if len(at) else 0.0
    shapes = np.zeros((len(places), modes.shapes.shape[1]), dtype=complex)
    distances = np.zeros(len(places))
    for p, (place, direction) in enumerate(zip(places, directions, strict=True)):
        away = np.linalg.norm(at - place, axis=1)
        f = int(np.argmin(away))
        distances[p] = away[f]
        frame, i, j = layout.frames[f], layout.frame_q[f], layout.frame_v[f]
        if not frame.freedom:
            continue
        own = modes.shapes[j : j + frame.freedom]
        if frame.freedom == 6:
            R = rotations.rotation_matrix(q[i + 3 : i + 7])
            along = direction @ R
            shapes[p] = along @ own[:3] + np.cross(R.T @ (place - at[f]), along) @ own[3:]
        else:
            shapes[p] = direction @ own
    _check_near(distances, size)
    arms = np.full(len(modes.shapes), size)
    for frame, j in zip(layout.frames, layout.frame_v, strict=True):
        arms[j : j + min(frame.freedom, 3)] = 1.0
    return shapes, distances, np.abs(modes.shapes * arms[:, None]).max(axis=0, initial=0.0)


def _check_near(distances: Floats, size: float) -> None:
    if len(distances) and np.min(distances) > max(size, 1e-300) * (1.0 + FAR):
        raise ModelError(
            f"the measured points are {np.min(distances):.3g} m and more from the model, which is {size:.3g} m large: "
            "are they in another unit, or in other axes?"
        )
