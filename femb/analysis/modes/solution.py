"""Eigenvalues and shapes of the small motions of a state, real or complex as the state asks for.

Source: docs/theory/modes.md, sections 1 to 4.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from femb.analysis.completion import system_of
from femb.analysis.modes.complex_modes import Complex, complex_modes, complex_precision
from femb.analysis.modes.eigen import lowest, precision, real_modes
from femb.analysis.modes.eigenproblem import EigenProblem
from femb.analysis.modes.rigid import FreeMotions, free_motions
from femb.analysis.modes.rigid_states import RigidStates, Rotation, rigid_states, rotation_of
from femb.base.arguments import check_flag
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import shown
from femb.layout.connections import groups_of
from femb.model.model import Model

if TYPE_CHECKING:
    from femb.system.system import System

# The shift of complex modes, as part of the lowest frequency that stiffness and mass alone have.
BELOW = 0.3


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
        """How many more rigid-body motions there are in a rotation: those that rest in inertial axes."""
        return self.rigid_states.across if self.rigid_states is not None else 0

    @property
    def spins(self) -> Floats:
        """(g,) rad/s: of the structures that have these."""
        return self.rigid_states.spins if self.rigid_states is not None else np.zeros(0)

    @property
    def rotations(self) -> tuple[Rotation, ...]:
        """Rotations of the structures that turn."""
        layout = self.motion.system.layout
        found = [rotation_of(self.motion, group) for group in groups_of(layout, springs=True, rows=True)]
        return tuple(replace(each, point=each.point + layout.origin) for each in found if each is not None)

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
        eigenvalues, known = self.eigenvalues[order], self.precision[order]
        return replace(self, eigenvalues=eigenvalues, shapes=self.shapes[:, order], precision=known)

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

    run = Run(duration=1.0, start=start)  # refuses unknown starts
    system = system_of(model, start == "assembled")
    loaded = start == "equilibrium"
    if loaded:
        system = started(system, run)
    check_flag("modes: damped", damped)
    if held is not None and (not isinstance(held, str) or held not in system.layout.bodies):
        names = ", ".join(system.layout.bodies)
        wanted = f"wanted one of {names}" if names else "but there are no bodies"
        raise ModelError(f"modes: held: got {shown(held)}, {wanted}")
    motion = EigenProblem.of(system, loaded, own_axes, held)
    free, rigid = free_motions(motion), None
    if motion.spinning or damped:
        square = abs(float(lowest(motion, free, 1)[0][0]))
        rigid = rigid_states(motion, free, square)
        shift = max(BELOW * float(np.sqrt(square)), np.finfo(float).tiny)
        eigenvalues, shapes = complex_modes(motion, rigid, count, shift)
        known = complex_precision(motion, eigenvalues, shapes, shift)
    else:
        squares, real = real_modes(motion, free, count)
        known = precision(motion, free, squares, real)
        eigenvalues, shapes = 1j * np.sqrt(squares), real.astype(complex)
    state = "spinning" if motion.spinning else "loaded" if loaded else "unloaded"
    return Solution(motion, free, state, eigenvalues, shapes, known, rigid)


def leading(items: tuple[str, ...], energy: Floats) -> tuple[str, ...]:
    """The item with the largest share (k, items) of each mode; of equal ones, as in symmetric structures, the first."""
    return tuple(items[k] for k in np.argmax(np.round(energy, 4), axis=1))


def _energy(motion: EigenProblem, shapes: Complex) -> tuple[tuple[str, ...], Floats]:
    """Names of items and the share (k, items) that each has of the kinetic energy of the shapes (n_v, k)."""
    layout = motion.system.layout
    owner = np.full(motion.system.n_v, -1)
    names = [f"bodies.{name}" for name in layout.bodies] + [f"beams.{name}" for name in layout.beams]
    frames = [[frame] for frame in layout.bodies.values()]
    frames += [[station.frame for station in beam.stations] for beam in layout.beams.values()]
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
    share = np.zeros((shapes.shape[1], len(names)))
    for part in (np.real(shapes), np.imag(shapes)):
        for j, phi in enumerate(np.ascontiguousarray(part.T)):
            products = phi * motion.times(motion.mass, phi)
            share[j] += np.bincount(owner[owner >= 0], products[owner >= 0], len(names))
    return tuple(names), share / np.maximum(np.sum(share, axis=1, keepdims=True), np.finfo(float).tiny)
