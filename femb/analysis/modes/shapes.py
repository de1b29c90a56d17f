"""Mode shapes as motions: results from which pictures, films and meshes are drawn.

A mode with eigenvalue lambda and shape phi moves a frame by s Re(phi exp(i |lambda| t)): translations along inertial
axes, rotations as rotation vectors in the frame's own axes. The scale s is chosen for the eye; a shape has no size.
"""

from dataclasses import dataclass

import numpy as np

from femb.analysis.modes.complex_modes import Complex
from femb.analysis.modes.eigenproblem import EigenProblem
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import shown
from femb.numerics import rotations
from femb.results.record import still
from femb.results.results import Results

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
        """Results of displacements and velocities (t, n_v) from the state."""
        system = self.motion.system
        layout, q = system.layout, np.tile(self.motion.q, (len(changes), 1))
        q[:, layout.internal_q] += changes[:, layout.internal_v]
        for frame, i, j in zip(layout.frames, layout.frame_q, layout.frame_v, strict=True):
            q[:, i : i + 3] += changes[:, j : j + 3] if frame.freedom else 0.0
            if frame.freedom == 6:
                turn = rotations.exponential(changes[:, j + 3 : j + 6])
                q[:, i + 3 : i + 7] = rotations.multiply(q[:, i + 3 : i + 7], turn)
        return still(system, time, q, v, "modes")
