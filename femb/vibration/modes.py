"""Modes of any model: natural frequencies, shapes, and what each appendage does to the hub.

Source: docs/theory/modes.md.
"""

from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from femb.base.errors import ModelError
from femb.base.html import Tabled, columns
from femb.base.types import Floats
from femb.base.values import as_known, numbered, shown, without_rounding
from femb.numerics.threads import one_blas_thread
from femb.results.array_file import write_arrays
from femb.results.results import Results
from femb.vibration.appendages import HeldBody, appendages, held_body, participation
from femb.vibration.completion import given
from femb.vibration.complex_modes import REAL, Complex, Rotation
from femb.vibration.damping_ratios import source_of
from femb.vibration.mode_words import Whirl, words_of_modes
from femb.vibration.participation import Participation
from femb.vibration.solution import ModeShapes, Solution, leading, solution

if TYPE_CHECKING:
    from femb.case import Given
    from femb.system.system import System

# Widths of columns of the table, other ones 16.
WIDTHS = {"mode": 4, "frequency Hz": 14, "damping": 11, "whirl": 10}

# Modes that are computed where none are asked for.
DEFAULT = 10


# The precision counts rounding of the stiffness, not that of the rows of joints and of the start: errors of weak
# nutations are up to sixteen times as large.
OF_NUTATIONS = 20.0


@dataclass(frozen=True, eq=False)
class Modes(Tabled):
    """The k lowest modes of a state.

    state : "unloaded", "loaded" or "spinning". held : the body that is held, or None. damped : whether the model's
    dampers count.
    rigid, joint : number of rigid-body motions of free structures, and of motions of joints without stiffness; they are
    not among the modes. across : how many of the rigid ones rest in inertial axes, in a rotation, and have its rate in
    the axes of the structure: two translations and the tilt of its axis. spins (g,) rad/s : of these structures.
    rotations : of the structures that turn.
    eigenvalues (k,) 1/s : lambda, i omega of modes without damping.
    precision (k,) : up to what part of them frequencies are known, by rounding or, where that is much, by the residual
    of each mode; what is not known is "digits lost" in tables.
    names (n_v,) : of the rows of shapes. shapes (n_v, k) : velocities of all frames in the System's
    order, phi^H M phi = 1 (kg m2). energy (k, i) : share of each item in ``items`` of the kinetic energy.
    root, appendages : the held body as a rigid body, and what it holds, each with its modes about its root.
    left_out : first-order states that these modes hold, as the speeds of wheels, whose gyroscopic moments are in damped
    modes alone.
    damping_source : of the ratios of these, in words. nutates (k,) : whether modes are nutations of free structures.
    motions (k,) : what the item that moves most does, as "bending along z". whirl : of what turns, else None.
    motion : the shapes as motions, for films and meshes.
    """

    state: str
    held: str | None
    damped: bool
    rigid: int
    joint: int
    across: int
    spins: Floats
    rotations: tuple[Rotation, ...]
    eigenvalues: NDArray[np.complex128]
    precision: Floats
    names: tuple[str, ...]
    shapes: Complex
    items: tuple[str, ...]
    energy: Floats
    root: HeldBody | None
    appendages: tuple[Participation, ...]
    left_out: tuple[str, ...]
    damping_source: str
    nutates: NDArray[np.bool_]
    motions: tuple[str, ...]
    whirl: Whirl | None
    motion: ModeShapes

    @property
    def frequencies(self) -> Floats:
        """(k,) Hz: |lambda| / 2 pi; zero of motions ``without_oscillation``, which come last."""
        return np.where(self.without_oscillation, 0.0, np.abs(self.eigenvalues) / (2.0 * np.pi))

    @property
    def damping(self) -> Floats:
        """(k,) ratios: -Re lambda / |lambda|; zero where they are less than what is known of lambda."""
        ratios = 0.0 - self.eigenvalues.real / np.maximum(np.abs(self.eigenvalues), np.finfo(float).tiny)
        return np.where(np.abs(ratios) > self.precision, ratios, 0.0)

    @property
    def log_decrement(self) -> Floats:
        """(k,) the logarithmic decrement, 2 pi ratio / sqrt(1 - ratio^2); infinite without oscillation."""
        with np.errstate(divide="ignore"):
            return np.asarray(2.0 * np.pi * self.damping / np.sqrt(np.maximum(1.0 - self.damping**2, 0.0)))

    @property
    def labels(self) -> tuple[str, ...]:
        """(k,) the item that moves most in each mode, by kinetic energy."""
        return leading(self.items, self.energy)

    @property
    def without_oscillation(self) -> NDArray[np.bool_]:
        """(k,) motions that grow, and those that fall while nothing damps them: a divergence and its reverse."""
        return _without_oscillation(self.eigenvalues, self.precision, self.damped)

    def _heading(self) -> list[str]:
        """Names of the columns of the table of modes."""
        names = ["mode", "frequency Hz"]
        if self.whirl is not None:
            names += ["from ground Hz"] if self.whirl.turning else []
            names += ["whirl"] + ["log decrement"] * self.damped
        return [*names, "damping"]

    def _rows(self) -> list[list[str]]:
        """The columns, and what moves most, of the modes that oscillate, or that dampers bring to rest."""
        damping, decrement = without_rounding(self.damping, 1.0), without_rounding(self.log_decrement, 1.0)
        frequencies = as_known(self.frequencies, self.precision)
        shares = np.max(self.energy, axis=1)
        rows = []
        for k in np.flatnonzero(~self.without_oscillation).tolist():
            row = [str(k + 1), frequencies[k]]
            if self.whirl is not None:
                seen = without_rounding(np.array(self.whirl.seen[k]), abs(self.whirl.speed) / (2.0 * np.pi))
                shown = dict.fromkeys(f"{x:.{6 if len(seen) < 2 else 4}g}" for x in seen)
                row += [", ".join(shown) or "-"] if self.whirl.turning else []
                row += [self.whirl.senses[k] or "-"] + [f"{decrement[k]:.3g}"] * self.damped
            words = (self.motions[k], "nutation" if self.nutates[k] else "")
            most = f"{self.labels[k]}, {100.0 * shares[k]:.0f} % of the kinetic energy"
            rows.append([*row, f"{damping[k]:.3g}", ", ".join([most, *filter(None, words)])])
        return rows

    def _held_states(self) -> list[str]:
        """Lines on first-order states that the modes hold, and on forces that they do not have."""
        lines = [f"left out: {what}" for what in self.motion.motion.left_out]
        if self.left_out:
            what = (
                "held; wheels are locked, without gyroscopic moments, and free in damped modes (--damped, damped=True)"
            )
            lines.append(f"left out: {', '.join(self.left_out)}: {what}")
        if self.whirl is not None and not all(self.whirl.seen):
            lines.append(
                "from ground Hz: - of shapes whose nodal diameters are not known: only shells have them, by rings"
            )
        return lines

    def _unstable(self) -> list[str]:
        """Lines on what grows."""
        apart = self.without_oscillation
        lines = []
        if apart.any():
            lines += ["", "unstable: motions that leave this state without oscillating, and their reverse"]
            lines.append(f"{'mode':>4}{'rate 1/s':>14}  moves most")
            lines += [f"{k + 1:4d}{self.eigenvalues[k].real:14.6g}  {self.labels[k]}" for k in np.flatnonzero(apart)]
        grows = np.flatnonzero(~apart & (without_rounding(self.damping, 1.0) < 0.0))
        if len(grows):
            lines += ["", f"unstable: mode {', '.join(str(k + 1) for k in grows)}, of negative damping, grows"]
        return lines

    def table(self) -> str:
        """State, motions without stiffness, a line for each mode, and the appendages of a held body."""
        held = f", {self.held} held" if self.held else ""
        kind, rows = "damped mode" if self.damped else "undamped mode", self._rows()
        lines = [f"{numbered(len(rows), kind)} of the {self.state} structure{held}"]
        lines += [each.text(self.held) for each in self.rotations]
        lines.append(
            f"motions without stiffness: {numbered(self.rigid, 'rigid-body motion')}, "
            f"{numbered(self.joint, 'motion')} of joints"
        )
        if self.across:
            rates = ", ".join(f"{spin / (2.0 * np.pi):.6g}" for spin in np.unique(np.round(self.spins, 12)))
            lines.append(
                f"{self.across} of the rigid-body motions, across the axis of rotation, have the rate of that, {rates} "
                "Hz, in axes that turn"
            )
        lines += self._held_states()
        if rows:
            heading = self._heading()
            texts = zip(*(row[:-1] for row in rows), strict=True)
            widths = [
                max(WIDTHS.get(name, 16), *(2 + len(text) for text in column))
                for name, column in zip(heading, texts, strict=True)
            ]
            lines += [
                "",
                *(
                    "".join(f"{text:>{width}}" for text, width in zip(row, widths, strict=False)) + f"  {row[-1]}"
                    for row in ([*heading, "moves most"], *rows)
                ),
            ]
        lines += self._unstable()
        for part in self.appendages:
            lines += ["", part.table()]
        if self.appendages:
            lines += ["", f"modes of appendages have {self.damping_source}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        summary, *_ = self.table().splitlines()
        heading = (*self._heading(), "moves most")
        unstable = f"<pre>{escape(chr(10).join(self._unstable()))}</pre>" if self._unstable() else ""
        unstable += "".join(f"<p>{escape(line)}</p>" for line in self._held_states())
        parts = "".join(part._repr_html_() for part in self.appendages)
        table = columns(heading, [tuple(row) for row in self._rows()])
        return f"<div><strong>{escape(summary)}</strong>{table}{unstable}{parts}</div>"

    def results(self, scale: float = 1.0) -> Results:
        """Results whose times count the modes: the unloaded structure at 0, mode k at its largest displacement at k.

        scale : 1 for a largest displacement of a tenth of the structure. They contain the arrays of ``write``.
        """
        shapes = self.motion.all_shapes(scale)
        static = {f"modes/{name}": _stored(array) for name, array in self._arrays().items()}
        return Results(shapes.series, {**shapes.static, **static}, shapes.attributes)

    def write(self, path: str | Path) -> Path:
        """Write a .npz, or the results file .h5 of ``results`` with the group modes; its path. Raises ResultError.

        Names as with the fields; of each appendage NAME/point, axes, frequencies, damping, coupling, rigid_mass,
        clamped_mass and residual_mass.
        """
        if Path(path).suffix == ".h5":
            self.results().write(path)
            return Path(path)
        return write_arrays(path, self._arrays(), (".npz", ".h5"))

    def _arrays(self) -> dict[str, Any]:
        own = ("frequencies", "damping", "precision", "labels", "names", "motions", "items", "energy", "spins")
        arrays: dict[str, Any] = {word: getattr(self, word) for word in own}
        for word, value in (("eigenvalues", self.eigenvalues), ("shapes", self.shapes)):
            arrays |= {f"{word}_real": value.real, f"{word}_imag": value.imag}
        arrays |= {
            "state": (self.state,),
            "held": (self.held or "",),
            "damped": np.array([int(self.damped)]),
            "free_motions": np.array([self.rigid, self.joint]),
            "motions_across": np.array([self.across]),
            "rotation_rates": np.array([each.omega for each in self.rotations]).reshape(-1, 3),
            "rotation_points": np.array([each.point for each in self.rotations]).reshape(-1, 3),
        }
        words = ("point", "axes", "frequencies", "damping", "coupling", "rigid_mass", "clamped_mass", "residual_mass")
        for part in self.appendages:
            arrays |= {f"{part.name}/{word}": getattr(part, word) for word in words}
        return arrays


def _without_oscillation(eigenvalues: Complex, precision: Floats, damped: bool) -> NDArray[np.bool_]:
    growth, sizes = eigenvalues.real, np.abs(eigenvalues)
    real = np.abs(eigenvalues.imag) <= REAL * sizes
    return np.asarray(real & ((growth > 0.0) | (not damped)) & (np.abs(growth) > precision * sizes))


def _stored(value: Any) -> Any:
    return np.array(value, dtype=str) if isinstance(value, tuple) else np.asarray(value)


@one_blas_thread()
def modes(
    model: "Given | System",
    count: int | None = None,
    *,
    held: str | None = None,
    start: str | None = None,
    damping: float | None = None,
    damped: bool = False,
) -> Modes:
    """The lowest modes of a model, and with a body ``held`` those of every appendage with its participation.

    Parameters:
        model: or a System of it, a case, or the path of its file.
        count: number of modes, by default 10, or all of fewer.
        held: the body that does not move in the modes; by default nothing is held but what is fixed to the ground.
        start: the state, by default ``run.start`` of the case, else "as_given". "equilibrium" is the one that weight,
            loads and the start's rotation strain the structure to, with their stiffness, centrifugal and gyroscopic
            forces; other starts are taken at rest and without loads.
        damping: ratio of every mode of ``Modes.appendages``, with the root held, and of what is made of them; by
            default those that the model's modal damping gives, zero of modes that this does not damp, or 0.005 of a
            model without it.
        damped: whether the model's own dampers and modal damping count, and the gyroscopic moments of wheels at the
            speeds of the start; modes are then complex, as they are in a rotation.

    Raises:
        ModelError: more modes than there are, an unstable state, a stiffness that is not symmetric, an unknown body, a
            ratio without a held body or beside ``damped``, a start that is not steady.
        SolveError: no equilibrium.
    """
    if damping is not None and (held is None or damped):
        why = "beside damped, which takes the dampers of the model" if damped else "without a held body"
        raise ModelError(f"modes: damping: got {shown(damping)} {why}; it is the ratio of the modes of appendages")
    model, start = given(model, start)
    wanted = DEFAULT if count is None else count
    return modes_of(
        solution(model, wanted, held=held, start=start, damped=damped, at_most=count is None),
        wanted, held, damping, damped,
    )  # fmt: skip


def modes_of(found: Solution, wanted: int, held: str | None, damping: float | None, damped: bool) -> Modes:
    """The modes of a solution; arguments as in ``modes``, the solution along inertial axes where a body is held."""
    motion = found.motion
    root, parts = None, []
    if held is not None and not motion.spinning:
        frame = motion.system.layout.bodies[held]
        still = motion.without_states()
        root = held_body(still, held, frame)
        every = (participation(still, part, frame, wanted, damping) for part in appendages(still))
        # what is driven or welded on has none
        parts = [part for part in every if len(part.frequencies)]
        if parts and not damped:
            found = _by_appendage(found, parts, wanted)
    apart = _without_oscillation(found.eigenvalues, found.precision, damped)
    found = found.ordered(np.argsort(apart, kind="stable"))
    items, energy = found.energy
    nutates = found.nutates
    shapes = motion.inertial(found.shapes)
    frequencies = np.where(np.sort(apart), 0.0, np.abs(found.eigenvalues) / (2.0 * np.pi))
    return Modes(
        found.state,
        held,
        damped,
        found.free.rigid + found.across,
        found.free.count - found.free.rigid,
        found.across,
        found.spins,
        found.rotations,
        found.eigenvalues,
        np.where(nutates, OF_NUTATIONS, 1.0) * found.precision,
        tuple(motion.system.layout.velocity_labels()),
        shapes,
        items,
        energy,
        root,
        tuple(parts),
        found.left_out,
        source_of(motion.system.model, damping, listed=True),
        nutates,
        words_of_modes(motion, shapes, leading(items, energy)),
        found.whirl,
        ModeShapes(motion, frequencies, shapes),
    )


def _by_appendage(found: Solution, parts: list[Participation], count: int) -> Solution:
    """The modes of a structure whose parts are uncoupled: those of the parts, so that none is spread over several."""
    frequencies = np.concatenate([part.frequencies for part in parts])
    shapes = np.hstack([part.shapes for part in parts])
    # equal frequencies of equal parts in the order of the parts, whatever their last digits
    order = np.argsort(np.round(np.log(frequencies), 8), kind="stable")[:count]
    known = np.concatenate([part.precision for part in parts])[order]
    eigenvalues = 2j * np.pi * frequencies[order]
    return replace(found, eigenvalues=eigenvalues, shapes=shapes[:, order].astype(complex), precision=known)
