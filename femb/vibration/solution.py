"""Eigenvalues and shapes of the small motions of a state, real or complex as the state asks for.

Source: docs/theory/modes.md, sections 1 to 4.
"""

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from femb.base.errors import FembWarning, ModelError
from femb.base.types import Floats
from femb.base.values import check_choice, check_flag, shown
from femb.model.model import Model
from femb.numerics import rotations
from femb.recording.record import still
from femb.results.results import UNDISPLACED, Results
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import FreeMotions, free_motions, with_turned
from femb.small_motions.rest import left_out_at_rest, warn_of_rest
from femb.vibration.completion import system_at
from femb.vibration.complex_modes import (
    Complex,
    RigidStates,
    Rotation,
    complex_modes,
    complex_precision,
    rigid_states,
    rotations_of,
)
from femb.vibration.eigen import freedoms, lowest, precision, real_modes
from femb.vibration.mode_words import Whirl, separated, whirl_of
from femb.vibration.slow_modes import slow_modes

if TYPE_CHECKING:
    from femb.system.system import System


# The shift of complex modes, as part of the lowest frequency that stiffness and mass alone have.
BELOW = 0.3
# Of the rate of rotation: what is taken in its place where the lowest mode is slower.
OF_SPIN = 0.1
# Of the lowest frequency: the rate of a shell above which its centrifugal stresses change modes by a per cent and more.
SPUN = 0.1
# Of the square of a frequency: what motions without stiffness may have of one against its mode.
STIFFENED = 0.01


@dataclass(frozen=True, eq=False)
class Solution:
    """Eigenvalues (k,) and shapes (n_v, k) of the small motions of a state, in its coordinates.

    precision (k,) : up to what part of their size eigenvalues are known. free : motions without stiffness.
    rigid_states : of complex modes the states that were left out, else None.
    """

    motion: EigenProblem
    free: FreeMotions
    state: str
    eigenvalues: Complex
    shapes: Complex
    precision: Floats
    rigid_states: RigidStates | None = None

    @property
    def across(self) -> int:
        """The number of rigid-body motions that a rotation adds: those that rest in inertial axes."""
        return self.rigid_states.across if self.rigid_states is not None else 0

    @property
    def spins(self) -> Floats:
        """(g,) rad/s: of the structures that have these."""
        return self.rigid_states.spins if self.rigid_states is not None else np.zeros(0)

    @property
    def rotations(self) -> tuple[Rotation, ...]:
        """Rotations of the structures that turn."""
        return rotations_of(self.motion)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names of first-order states that do not move in these modes, as the speeds of wheels."""
        layout = self.motion.system.layout
        held = self.motion.held[layout.first_order_v]
        names = zip(layout.first_order_names, held.tolist(), strict=True)
        return tuple(name for name, still in names if still) if self.rigid_states is None else ()

    @property
    def energy(self) -> tuple[tuple[str, ...], Floats]:
        """Names of items and the share (k, items) that each has of the kinetic energy of each mode."""
        return _energy(self.motion, self.shapes)

    @property
    def labels(self) -> tuple[str, ...]:
        """(k,) the item that moves most in each mode, by kinetic energy."""
        return leading(*self.energy)

    @property
    def nutates(self) -> NDArray[np.bool_]:
        """(k,) whether modes are nutations: oscillations whose kinetic energy is most of all that of structures which
        nothing holds, as rigid bodies that turn about their mass centres; loads may notice that."""
        motion = self.motion
        free = [np.zeros((len(self.shapes), 0))]
        for each in motion.structures:
            if not each.grounded:
                moves = motion.moves_of(each, np.eye(6))
                shifts, turns = moves[:, :3], moves[:, 3:]
                linear = motion.momenta(shifts).T
                free.append(turns - shifts @ np.linalg.solve(linear @ shifts, linear @ turns))
        D = np.hstack(free)
        MD = motion.momenta(D)
        along = MD.T @ self.shapes
        shares = np.sum(np.conj(along) * (np.linalg.pinv(D.T @ MD) @ along), axis=0).real
        return np.asarray((shares > 0.5) & (self.eigenvalues.imag > 0.0))

    @property
    def inertial(self) -> Complex:
        """(n_v, k) the shapes in inertial axes."""
        return self.motion.inertial(self.shapes)

    @property
    def whirl(self) -> Whirl | None:
        """The whirl of modes of what turns, else None."""
        return whirl_of(self.motion, self.rotations, self.eigenvalues, self.inertial)

    def ordered(self, order: NDArray[np.intp]) -> "Solution":
        """The modes of these numbers alone, in this order."""
        eigenvalues, known = self.eigenvalues[order], self.precision[order]
        return replace(self, eigenvalues=eigenvalues, shapes=self.shapes[:, order], precision=known)

    def first(self, count: int) -> "Solution":
        return self.ordered(np.arange(count))


def solution(
    model: "Model | System",
    count: int,
    *,
    held: str | None = None,
    start: str = "as_given",
    damped: bool = False,
    own_axes: bool = False,
    at_most: bool = False,
) -> Solution:
    """The modes of a state as ``modes`` computes them; own_axes : along the axes of each frame also at rest. at_most :
    whether fewer than ``count`` are given where there are no more, else refused."""
    loaded, (system, motion) = start == "equilibrium", motion_of(model, held, start, damped, own_axes)
    complex_ones = motion.spinning or damped
    free, rigid = free_motions(motion), None
    if complex_ones:
        square = _lowest_square(motion, free)
        rigid = rigid_states(motion, free, square)
        # a body of nearly equal moments is held by little in a rotation: far below the others these lose their digits
        shift = max(BELOW * max(float(np.sqrt(square)), OF_SPIN * motion.spin), np.finfo(float).tiny)
        whole, wheels = free.with_states(motion, decaying=True)
        # other first-order states are no part of the small matrices
        alone = len(wheels) == np.sum(~motion.held[motion.system.layout.first_order_v])
        states = rigid.states if alone else rigid.states[:, :0]
        slow = slow_modes(motion, with_turned(motion, whole), states, square, rigid.steady, wheels).first(count)
        rest = max(1, count - len(slow.eigenvalues))
        eigenvalues, shapes = complex_modes(motion, rigid, rest, shift, at_most, slow)
        known = np.append(slow.precision, complex_precision(motion, eigenvalues, shapes, shift))[:count]
        eigenvalues = np.append(slow.eigenvalues, eigenvalues)[:count]
        shapes = separated(motion, rotations_of(motion), eigenvalues, np.hstack([slow.shapes, shapes])[:, :count])
    else:
        squares, real = real_modes(motion, free, count, at_most)
        known = precision(motion, free, squares, real)
        eigenvalues, shapes = 1j * np.sqrt(squares), real.astype(complex)
    if not loaded:
        accelerated = _warn_of_imbalance(motion, free, eigenvalues, shapes)
        _warn_of_stresses(system, left_out_at_rest(motion, not accelerated), float(np.min(np.abs(eigenvalues))))
    state = "spinning" if motion.spinning else "loaded" if loaded else "unloaded"
    return Solution(motion, free, state, eigenvalues, shapes, known, rigid)


def motion_of(
    model: "Model | System", held: str | None, start: str, damped: bool, own_axes: bool
) -> "tuple[System, EigenProblem]":
    """The small motions of the state that modes are about, and the System of it; arguments as in ``solution``."""
    check_flag("modes: damped", damped)
    if held is not None:
        of = model if isinstance(model, Model) else model.model
        check_choice("modes: held", held, of.bodies, "bodies")
    system = system_at(model, start, held)
    motion = EigenProblem.of(system, start == "equilibrium", own_axes, held, states=damped)
    return system, motion if motion.spinning or damped else motion.without_states()


def _warn_of_stresses(system: "System", why: list[str], lowest: float) -> None:
    """Warn of what modes at rest leave out, ``why``, and of shells that turn fast beside the lowest one (rad/s)."""
    for name, shell in system.layout.shells.items():
        rates = system.v0[system.layout.frame_v[shell.own][:, None] + np.arange(3, 6)]
        rate = float(np.max(np.linalg.norm(rates, axis=1), initial=0.0))
        if rate > SPUN * lowest:
            why.append(f"shell {name!r} turns at {rate:.3g} rad/s")
    warn_of_rest("modes", why)


def _warn_of_imbalance(motion: EigenProblem, free: FreeMotions, eigenvalues: Complex, shapes: Complex) -> bool:
    """Warn where motions that are left out as without stiffness have one against the modes, as a turn has of what
    strained springs accelerate; whether it warned."""
    system, layout, D = motion.system, motion.system.layout, free.shapes
    bodies = {name: frame for name, frame in layout.bodies.items() if layout.freedom[frame]}
    if not bodies or not free.count:
        return False
    masses = [np.sum(np.conj(each) * motion.momenta(each), axis=0).real for each in (D, shapes)]
    sizes = np.maximum(np.sqrt(np.outer(*masses)), np.finfo(float).tiny)
    against = np.abs(motion.times(motion.stiffness, D).T @ np.conj(shapes)) / sizes
    if np.all(against <= STIFFENED * np.abs(eigenvalues) ** 2):
        return False
    rest = np.zeros((1, system.n_v))
    force = system.residual(motion.u[None], motion.q[None], rest, rest)[0]
    a = motion.solve(motion.factorise(motion.mass), -force)
    rates = [float(np.linalg.norm(a[motion.velocities_of(frame)][:3])) for frame in bodies.values()]
    warnings.warn(
        "modes: the state is not in equilibrium: strained springs and the like accelerate "
        f"bodies.{list(bodies)[int(np.argmax(rates))]} by {max(rates):.3g} m/s2, and turn what is left out as without "
        'stiffness: take start = "equilibrium", or femb linearize for the motion of this instant',
        FembWarning,
        stacklevel=5,
    )
    return True


def _lowest_square(motion: EigenProblem, free: FreeMotions) -> float:
    """omega^2 (rad2/s2) of the lowest elastic mode; of a structure without any that of its fastest nutation."""
    still, free = motion.without_states(), with_turned(motion, free)
    if freedoms(still) <= free.count:
        drags = motion.damping_times(free.shapes)
        fastest = float(np.linalg.norm(drags.T @ free.shapes, 2)) if free.count else 0.0
        if fastest > 0.0:
            return fastest**2
    return abs(float(lowest(still, free, 1)[0][0]))


def leading(items: tuple[str, ...], energy: Floats) -> tuple[str, ...]:
    """The item with the largest share (k, items) of each mode; of equal ones, as in symmetric structures, the first."""
    return tuple(items[k] for k in np.argmax(np.round(np.clip(energy, 0.0, 1.0), 4), axis=1))


def _energy(motion: EigenProblem, shapes: Complex) -> tuple[tuple[str, ...], Floats]:
    """Names of items and the share (k, items) that each has of the kinetic energy of the shapes (n_v, k)."""
    layout = motion.system.layout
    owner = np.full(motion.system.n_v, -1)
    names = [f"bodies.{name}" for name in layout.bodies] + [f"beams.{name}" for name in layout.beams]
    frames = [[frame] for frame in layout.bodies.values()]
    frames += [[station.frame for station in beam.stations] for beam in layout.beams.values()]
    # a named node of a shell is a body, but its energy that of the shell
    names = [f"shells.{name}" for name in layout.shells] + names
    frames = [shell.own for shell in layout.shells.values()] + frames
    for name, body in layout.flexible_bodies.items():
        if f"bodies.{name}" not in names:
            names.append(f"bodies.{name}")
            frames.append([station.frame for station in body.stations.values()])
    for k, own in enumerate(frames):
        for frame in own:
            where = motion.velocities_of(frame)
            owner[where] = np.where(owner[where] < 0, k, owner[where])
    for name, body in layout.flexible_bodies.items():
        owner[np.asarray(layout.internal_v)[body.modes]] = names.index(f"bodies.{name}")
    for each, place in zip(layout.internal, layout.internal_v.tolist(), strict=True):
        if owner[place] < 0 and not each.quantity.first_order and each.quantity.kind != "strain":
            if (name := f"{each.table}.{each.label}") not in names:
                names.append(name)
            owner[place] = names.index(name)
    share = np.zeros((shapes.shape[1], len(names)))
    for part in (np.real(shapes), np.imag(shapes)):
        if np.any(part):
            for j, products in enumerate((part * motion.momenta(part)).T):
                share[j] += np.bincount(owner[owner >= 0], products[owner >= 0], len(names))
    return tuple(names), share / np.maximum(np.sum(share, axis=1, keepdims=True), np.finfo(float).tiny)


# Mode shapes as motions: results from which pictures, films and meshes are drawn.
#
# A mode with eigenvalue lambda and shape phi moves a frame by s Re(phi exp(i |lambda| t)): translations along inertial
# axes, rotations as rotation vectors in the frame's own axes. The scale s is chosen for the eye; a shape has no size.

# The largest displacement by the size of the structure, and the largest rotation (rad), at scale 1.
DISPLACEMENT = 0.1
ROTATION = 0.5


@dataclass(frozen=True, eq=False)
class ModeShapes:
    """Shapes (n_v, k), in inertial axes, of the small motions ``motion``, with frequencies (k,) Hz."""

    motion: EigenProblem
    frequencies: Floats
    shapes: Complex

    def all_shapes(self, scale: float = 1.0) -> Results:
        """The unloaded state at time 0 and each mode at its largest displacement at the time of its number, 1 to k."""
        parts = [self._largest(j, scale) for j in range(len(self.frequencies))]
        changes = np.array([np.zeros(self.motion.system.n_v), *parts])
        return self._results(np.arange(len(changes), dtype=float), changes, np.zeros_like(changes))

    def one_period(self, mode: int, frames: int = 40, scale: float = 1.0) -> Results:
        """One period of a mode, by its number from 1, at ``frames`` + 1 output times. Raises ModelError."""
        if not 1 <= mode <= len(self.frequencies) or frames < 2:
            raise ModelError(
                f"mode shapes: got mode {shown(mode)} with {shown(frames)} frames, wanted a mode from 1 to "
                f"{len(self.frequencies)} with 2 frames or more"
            )
        omega = 2.0 * np.pi * self.frequencies[mode - 1]
        phases = np.exp(2j * np.pi * np.arange(frames + 1) / frames)[:, None]
        motion = self._scaled(mode - 1, scale) * phases
        period = 2.0 * np.pi / omega if omega > 0.0 else 1.0
        return self._results(period * np.arange(frames + 1) / frames, motion.real, (1j * omega * motion).real)

    def _scaled(self, k: int, scale: float) -> Complex:
        """Shape (n_v,) of the size of a picture, real where it is largest."""
        layout, phi = self.motion.system.layout, self.shapes[:, k]
        moves, turns = [0.0], [0.0]
        for frame, j in zip(layout.frames, layout.frame_v, strict=True):
            if frame.freedom:
                moves.append(float(np.max(np.abs(phi[j : j + 3]))))
                turns.append(float(np.max(np.abs(phi[j + 3 : j + frame.freedom]), initial=0.0)))
        for body in layout.flexible_bodies.values():  # by its modes, of which no frame may know: root mean square
            own, at = np.zeros_like(phi), layout.internal_v[body.modes]
            own[at] = phi[at]
            moves.append(float(self.motion.lengths(own)) / body.mass**0.5)
        sizes = (DISPLACEMENT * self._extent() / max(max(moves), 1e-300), ROTATION / max(max(turns), 1e-300))
        largest = phi[int(np.argmax(np.abs(phi)))]
        return np.asarray(scale * min(sizes) * phi * (np.conj(largest) / abs(largest)))

    def _largest(self, k: int, scale: float) -> Floats:
        return np.asarray(self._scaled(k, scale).real)

    def _extent(self) -> float:
        """Largest side of the box around all frames, m."""
        layout, q = self.motion.system.layout, self.motion.q
        points = np.array([q[i : i + 3] for i in layout.frame_q])
        return float(np.max(np.ptp(points, axis=0))) or 1.0

    def _results(self, time: Floats, changes: Floats, v: Floats) -> Results:
        """Results of displacements and velocities (t, n_v) from the state, which is that of `Results.undisplaced`."""
        system = self.motion.system
        time, changes, v = (np.concatenate([each, np.zeros_like(each[:1])]) for each in (time, changes, v))
        layout, q = system.layout, np.tile(self.motion.q, (len(changes), 1))
        q[:, layout.internal_q] += changes[:, layout.internal_v]
        for frame, i, j in zip(layout.frames, layout.frame_q, layout.frame_v, strict=True):
            q[:, i : i + 3] += changes[:, j : j + 3] if frame.freedom else 0.0
            if frame.freedom == 6:
                turn = rotations.exponential(changes[:, j + 3 : j + 6])
                q[:, i + 3 : i + 7] = rotations.multiply(q[:, i + 3 : i + 7], turn)
        found = still(system, time, q, v, "modes")
        series = {path: array[:-1] for path, array in found.series.items()}
        state = {f"{UNDISPLACED}{path}": array[-1] for path, array in found.series.items() if path != "time"}
        for path in [path for path in series if path.endswith("/position")]:
            series[path.replace("position", "displacement")] = series[path] - state[f"{UNDISPLACED}{path}"]
        return Results(series, {**found.static, **state}, found.attributes)
