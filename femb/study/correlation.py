"""Correlation of measured modes with those of a model: MAC, cross-orthogonality, COMAC.

    MAC_kj = |a_k^H b_j|^2/((a_k^H a_k)(b_j^H b_j)),    X = pinv(B) A with columns of length one
    COMAC_i = (sum_k |a_ik b_ik|)^2/(sum |a_ik|^2 sum |b_ik|^2) over pairs by MAC

of measured shapes a and shapes b of the model at the measured directions. X has the products with the model's mass
matrix that its modes, of unit generalized mass, reduce to these directions (SEREP). Sources: R. J. Allemang, Sound and
Vibration 37 (2003) 14; N. A. J. Lieven, D. J. Ewins, IMAC 6 (1988); J. O'Callahan, IMAC 7 (1989).
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from femb.base.bulk_data import is_deck
from femb.base.errors import FembWarning, ModelError
from femb.base.html import Tabled
from femb.base.types import Complexes, Floats
from femb.fem.test_data import TestData, read_test_data
from femb.layout.layout import Station
from femb.layout.state import frame_pose
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
Moved: TypeAlias = Callable[[int, Floats], Complexes]
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

        from femb.pictures.drawing import INK, PALETTE, save, styled, titled

        given = [("MAC", self.mac), ("cross-orthogonality", self.cross)] if len(self.data.points) else []
        figure = Figure(figsize=(4.2 * max(len(given), 1), 4.2), layout="constrained")
        titled(figure, self.data.title, "measured modes beside those of the model")
        if not given:
            axes, paired = figure.subplots(), self.pairs >= 0
            axes.plot(self.data.frequencies[paired], self.frequencies[self.pairs[paired]], "o", color=PALETTE[0])
            axes.axline((0.0, 0.0), slope=1.0, lw=0.8, color=INK)
            axes.set(xlabel="measured (Hz)", ylabel="model (Hz)")
            styled(axes)
            return save(figure, Path(path))
        for axes, (name, values) in zip(np.atleast_1d(figure.subplots(1, len(given))), given, strict=True):
            image = axes.imshow(values, vmin=0.0, vmax=1.0, cmap="Blues", aspect="auto")
            axes.set_title(name, fontsize=10, color=INK)
            for axis, frequencies in ((axes.xaxis, self.frequencies), (axes.yaxis, self.data.frequencies)):
                axis.set_ticks(range(len(frequencies)), [f"{f:.3g}" for f in frequencies])
            axes.set(xlabel="model (Hz)", ylabel="measured (Hz)")
            styled(axes)
            axes.grid(False)
            axes.tick_params(axis="x", rotation=60)
        figure.colorbar(image, ax=figure.axes).ax.tick_params(labelsize=8)
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
            the nearest body or node of a beam or shell, as if rigidly fixed to it, of several at one place with one
            that moves.
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
    study = read_either(case, overrides)
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
    from femb.fem.overview import overview

    seen = overview(deck, len(data.frequencies) + SPARE + (0 if held else 6), held=held, unit=unit)
    model, own = seen.model, seen.shapes[:, seen.elastic]

    def moved(k: int, place: Floats) -> Complexes:
        six = np.where((dofs := model.dofs[k])[:, None] >= 0, own[dofs], 0.0)
        return np.asarray(six[:3] + np.cross(six[3:], (place - model.nodes[k])[:, None], axis=0), dtype=complex)

    largest = np.max(np.abs(own) * np.where(model.component < 3, 1.0, model.length)[:, None], axis=0)
    names = [f"grid {number}" for number in model.numbers.tolist()]
    shapes, distances = _carried(data.places, data.directions, model.nodes, names, model.length, largest, moved)
    frequencies = seen.frequencies[seen.elastic]
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
    layout, q = modes.motion.system.layout, modes.motion.q
    # the origin of inertial axes is no place of the ground, but nodes that it holds are
    stations = [Station(f) for f in range(len(layout.frames)) if f != layout.inertial]
    for nodes in ([*layout.beams.values()], [*layout.shells.values()]):
        stations += [station for each in nodes for station in each.stations]
    poses = [frame_pose(layout, f, q) for f in range(len(layout.frames))]
    at = np.array([poses[each.frame][0] + poses[each.frame][1] @ each.offset for each in stations]).reshape(-1, 3)
    at += layout.origin
    size = float(np.max(np.ptp(at, axis=0))) if len(at) else 0.0

    def moved(k: int, place: Floats) -> Complexes:
        f = stations[k].frame
        j, freedom, (r, R) = layout.frame_v[f], layout.frames[f].freedom, poses[f]
        moves = R @ modes.shapes[j : j + 3] if freedom else np.zeros((3, modes.shapes.shape[1]))
        if freedom == 6:
            arm = place - layout.origin - r
            moves = moves + np.cross(R @ modes.shapes[j + 3 : j + 6], arm[:, None], axis=0)
        return np.asarray(moves, dtype=complex)

    arms = np.full(len(modes.shapes), size)
    for frame, j in zip(layout.frames, layout.frame_v, strict=True):
        arms[j : j + min(frame.freedom, 3)] = 1.0
    largest = np.abs(modes.shapes * arms[:, None]).max(axis=0, initial=0.0)
    names = [layout.frames[each.frame].label for each in stations]
    return *_carried(places, directions, at, names, size, largest, moved), largest


def _carried(
    places: Floats, directions: Floats, at: Floats, names: list[str], size: float, largest: Floats, moved: Moved
) -> tuple[Complexes, Floats]:
    """(p, m) displacements along directions at places (p, 3), and distances (p,) from what carries them: the nearest of
    points at (n, 3), of several at one place one that moves. largest (m,) : motions of all. moved : displacements (3,
    m) of a place by a point."""
    from scipy.spatial import cKDTree

    tree = cKDTree(at)
    distances, nearest = tree.query(places.reshape(-1, 3))
    _check_near(distances, size)
    shapes, doubts = [], []
    for place, direction, k in zip(places, directions, nearest, strict=True):
        here = {names[i]: moved(i, place) for i in sorted(tree.query_ball_point(at[k], ROUNDING * size))}
        moving = {name: each for name, each in here.items() if np.any(np.abs(each) > ROUNDING * largest)} or here
        first, *others = moving
        apart = [name for name in others if np.any(np.abs(moving[name] - moving[first]) > ROUNDING * largest)]
        if apart:
            doubts.append(f"the point at {np.round(place, 9).tolist()} moves with {first}, and not with {apart[0]}")
        shapes.append(direction @ moving[first])
    for doubt in dict.fromkeys(doubts):
        said = f"{doubt}, which is at the same place and moves otherwise: move the point a little towards its own part"
        warnings.warn(said, FembWarning, stacklevel=4)
    return np.array(shapes).reshape(len(places), len(largest)), distances


def _check_near(distances: Floats, size: float) -> None:
    if len(distances) and np.min(distances) > max(size, 1e-300) * (1.0 + FAR):
        raise ModelError(
            f"the measured points are {np.min(distances):.3g} m and more from the model, which is {size:.3g} m large: "
            "are they in another unit, or in other axes?"
        )
