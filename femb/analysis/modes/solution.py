"""Eigenvalues and shapes of the small motions of a state, real or complex as the state asks for.

Source: docs/theory/modes.md, sections 1 to 4.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from femb.analysis.modes.complex_modes import Complex, complex_modes
from femb.analysis.modes.eigen import lowest, real_modes
from femb.analysis.modes.eigenproblem import EigenProblem
from femb.analysis.modes.rigid import FreeMotions, free_motions
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import shown
from femb.model.model import Model

if TYPE_CHECKING:
    from femb.system.system import System

# The shift of complex modes, as part of the lowest natural frequency.
BELOW = 0.3


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
        return leading(*self.energy)

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
        eigenvalues, shapes = complex_modes(motion, free.undamped(motion), count, _shift(motion, free))
    else:
        squares, real = real_modes(motion, free, count)
        eigenvalues, shapes = 1j * np.sqrt(squares), real.astype(complex)
    return Solution(
        motion, free, "spinning" if motion.spinning else "loaded" if loaded else "unloaded", eigenvalues, shapes
    )


def leading(items: tuple[str, ...], energy: Floats) -> tuple[str, ...]:
    """The item with the largest share (k, items) of each mode; of equal ones, as in symmetric structures, the first."""
    return tuple(items[k] for k in np.argmax(np.round(energy, 4), axis=1))


def _shift(motion: EigenProblem, free: FreeMotions) -> float:
    """A shift for complex modes, rad/s: below the lowest frequency that stiffness and mass alone have."""
    squares, _ = lowest(motion, free, 1)
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
