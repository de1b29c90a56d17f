"""Modes of any model: natural frequencies, shapes, and what each appendage does to the hub.

Source: docs/theory/modes.md.
"""

from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from femb.analysis.array_file import write_arrays
from femb.analysis.modes.appendages import HeldBody, appendages, held_body, participation
from femb.analysis.modes.complex_modes import Complex, complex_modes
from femb.analysis.modes.eigen import lowest, real_modes
from femb.analysis.modes.eigenproblem import EigenProblem
from femb.analysis.modes.participation import Participation
from femb.analysis.modes.rigid import FreeMotions, free_motions
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import shown
from femb.model.model import Model

if TYPE_CHECKING:
    from femb.system.system import System

DAMPING = 0.005  # of every mode where nothing else is given
# The shift of complex modes, as part of the lowest natural frequency.
BELOW = 0.3


@dataclass(frozen=True, eq=False)
class Modes:
    """The k lowest modes of a state.

    state : "unloaded", "loaded" or "spinning". held : the body that is held, or None.
    rigid, joint : number of motions without stiffness: of free structures, of joints.
    eigenvalues (k,) 1/s : lambda, i omega of modes without damping.
    names (n_v,) : of the rows of shapes. shapes (n_v, k) : velocities of all frames in the System's
    order, phi^H M phi = 1 (kg m2). energy (k, items) : share of each item in ``items`` of the kinetic energy.
    root, appendages : the held body as a rigid body, and what it holds, each with its modes about its root.
    """

    state: str
    held: str | None
    rigid: int
    joint: int
    eigenvalues: NDArray[np.complex128]
    names: tuple[str, ...]
    shapes: Complex
    items: tuple[str, ...]
    energy: Floats
    root: HeldBody | None
    appendages: tuple[Participation, ...]

    @property
    def frequencies(self) -> Floats:
        """(k,) Hz: |lambda| / 2 pi."""
        return np.asarray(np.abs(self.eigenvalues) / (2.0 * np.pi))

    @property
    def damping(self) -> Floats:
        """(k,) ratios: -Re lambda / |lambda|."""
        return np.asarray(0.0 - self.eigenvalues.real / np.maximum(np.abs(self.eigenvalues), np.finfo(float).tiny))

    @property
    def labels(self) -> tuple[str, ...]:
        """(k,) the item that moves most in each mode, by kinetic energy."""
        return tuple(self.items[k] for k in np.argmax(self.energy, axis=1))

    def table(self) -> str:
        """State, motions without stiffness, a line for each mode, and the appendages of a held body."""
        from femb.analysis.modes.tables import modes_table

        return modes_table(self)

    def write(self, path: str | Path) -> Path:
        """Write a .npz, or a results file .h5 with the group modes; its path. Raises ResultError.

        Names as of the fields; of each appendage NAME/point, axes, frequencies, damping, coupling, rigid_mass,
        clamped_mass and residual_mass.
        """
        arrays: dict[str, Any] = {
            "frequencies": self.frequencies,
            "damping": self.damping,
            "eigenvalues_real": self.eigenvalues.real,
            "eigenvalues_imag": self.eigenvalues.imag,
            "names": self.names,
            "shapes_real": self.shapes.real,
            "shapes_imag": self.shapes.imag,
            "items": self.items,
            "energy": self.energy,
            "state": (self.state,),
            "free_motions": np.array([self.rigid, self.joint]),
        }
        words = ("point", "axes", "frequencies", "damping", "coupling", "rigid_mass", "clamped_mass", "residual_mass")
        for part in self.appendages:
            arrays |= {f"{part.name}/{word}": getattr(part, word) for word in words}
        return write_arrays(path, arrays, (".npz", ".h5"), group="modes")


def modes(
    model: "Model | System",
    count: int = 10,
    *,
    held: str | None = None,
    start: str = "as_given",
    damping: float = DAMPING,
    damped: bool = False,
) -> Modes:
    """The ``count`` lowest modes of a model, and with a body ``held`` those of every appendage with its participation.

    start : the state, as ``run.start`` of a case says. "equilibrium" is the one that weight, loads and the start's
    rotation strain the structure to, with their stiffness, centrifugal and gyroscopic forces; other starts are taken at
    rest and without loads.
    held : the body that does not move in the modes; by default nothing is held but what is fixed to the ground.
    damping : ratio of every mode with its root held, for ``Modes.appendages`` and what is made of them.
    damped : whether the model's own dampers count; modes are then complex, as they are in a rotation.

    Raises ModelError: more modes than there are, an unstable state, a stiffness that is not symmetric, an unknown body,
    a start that is not steady; SolveError: no equilibrium.
    """
    found = solution(model, count, held=held, start=start, damped=damped)
    motion = found.motion
    root, parts = None, []
    if held is not None and not motion.spinning:
        frame = motion.system.layout.bodies[held]
        root = held_body(motion, held, frame)
        parts = [participation(motion, part, frame, count, damping) for part in appendages(motion)]
    items, energy = found.energy
    return Modes(
        found.state,
        held,
        found.free.rigid,
        found.free.count - found.free.rigid,
        found.eigenvalues,
        tuple(motion.system.layout.velocity_labels()),
        motion.inertial(found.shapes),
        items,
        energy,
        root,
        tuple(parts),
    )


@dataclass(frozen=True, eq=False)
class Solution:
    """Eigenvalues (k,) and shapes (n_v, k) of the small motions of a state, in its coordinates."""

    motion: EigenProblem
    free: FreeMotions
    state: str
    eigenvalues: Complex
    shapes: Complex

    @property
    def energy(self) -> tuple[tuple[str, ...], Floats]:
        """Names of items and the share (k, items) that each has of the kinetic energy of each mode."""
        return _energy(self.motion, self.shapes)

    @property
    def labels(self) -> tuple[str, ...]:
        """(k,) the item that moves most in each mode, by kinetic energy."""
        items, energy = self.energy
        return tuple(items[k] for k in np.argmax(energy, axis=1))

    def ordered(self, order: NDArray[np.intp]) -> "Solution":
        """The modes of these numbers alone, in this order."""
        return replace(self, eigenvalues=self.eigenvalues[order], shapes=self.shapes[:, order])

    def first(self, count: int) -> "Solution":
        """The first modes."""
        return self.ordered(np.arange(count))


def solution(
    model: "Model | System",
    count: int,
    *,
    held: str | None = None,
    start: str = "as_given",
    damped: bool = False,
    own_axes: bool = False,
) -> Solution:
    """The modes of a state as ``modes`` computes them; own_axes : along the axes of each frame also at rest."""
    from femb.analysis.simulate import started
    from femb.base.options import Run
    from femb.system.system import System

    system = model if isinstance(model, System) else System(model, assemble=start == "assembled")
    loaded = start == "equilibrium"
    if loaded:
        system = started(system, Run(duration=1.0, start=start))
    elif np.any(system.model.gravity):
        weightless = copy(system.model)
        weightless.gravity = np.zeros(3)
        system = System(weightless, assemble=start == "assembled")
    motion = EigenProblem.of(system, loaded, own_axes)
    layout = motion.system.layout
    if held is not None:
        if held not in layout.bodies:
            names = ", ".join(layout.bodies)
            wanted = f"wanted one of {names}" if names else "but there are no bodies"
            raise ModelError(f"modes: held: got {shown(held)}, {wanted}")
        motion = motion.holding(layout.bodies[held])
    free = free_motions(motion)
    if motion.spinning or damped:
        eigenvalues, shapes = complex_modes(motion, free.undamped(motion), count, _shift(motion))
    else:
        squares, real = real_modes(motion, free, count)
        eigenvalues, shapes = 1j * np.sqrt(squares), real.astype(complex)
    return Solution(
        motion, free, "spinning" if motion.spinning else "loaded" if loaded else "unloaded", eigenvalues, shapes
    )


def _shift(motion: EigenProblem) -> float:
    """A shift for complex modes, rad/s: below the lowest frequency that stiffness and mass alone have."""
    squares, _ = lowest(motion, free_motions(motion), 1)
    return max(BELOW * float(np.sqrt(abs(squares[0]))), np.finfo(float).tiny)


def _energy(motion: EigenProblem, shapes: Complex) -> tuple[tuple[str, ...], Floats]:
    """Names of items and the share (k, items) that each has of the kinetic energy of the shapes (n_v, k)."""
    layout = motion.system.layout
    owner = np.full(motion.system.n_v, -1)
    names = [f"bodies.{name}" for name in layout.bodies] + [f"beams.{name}" for name in layout.beams]
    frames = [[frame] for frame in layout.bodies.values()]
    frames += [[station.frame for station in beam.stations] for beam in layout.beams.values()]
    for k, own in enumerate(frames):
        for frame in own:
            where = motion.velocities_of(frame)
            owner[where] = np.where(owner[where] < 0, k, owner[where])
    share = np.zeros((shapes.shape[1], len(names)))
    for part in (np.real(shapes), np.imag(shapes)):
        for j, phi in enumerate(np.ascontiguousarray(part.T)):
            products = phi * motion.times(motion.mass, phi)
            share[j] += np.bincount(owner[owner >= 0], products[owner >= 0], len(names))
    return tuple(names), share / np.maximum(np.sum(share, axis=1, keepdims=True), np.finfo(float).tiny)
