"""Whether the mass matrices of elements stay positive definite.

The mass matrix of a flexible body is that of a sum of squares if its file holds the array B2 and its coupling is
"full", or if it is free and its coupling "constant". Else the terms that are left out may make it indefinite where an
interface has hardly any inertia of its own.
The motion of such an interface with its frequencies is then not determined: explicit methods and tight tolerances,
which follow it, stop.
"""

import numpy as np

from femb.base.types import Floats, Ints
from femb.layout.element import Batch
from femb.system.system import System

# The least eigenvalue of a mass matrix with a unit diagonal that counts as positive.
POSITIVE = 1e-9
ADVICE = (
    "is deformed so far that its mass matrix is not positive definite, which explicit methods and tight tolerances do "
    "not bear: take method = 'radau' with a larger rtol, coupling = 'full' with the array B2 in the file, which `femb "
    "reduce` writes for meshes and beams, the body in mean axes (`femb reduce BODY --mean-axes`), larger interfaces, "
    "or slower loads"
)


class Definiteness:
    """Watches the elements of a system whose mass matrix is positive definite at the start, but need not remain so."""

    def __init__(self, system: System) -> None:
        self.system = system
        watched = [_masses(batch, system.q0) for batch in system.batches if not batch.definite]
        self.watched = [each for each in watched if each is not None]

    def lost(self, q: Floats, part: float = 0.0) -> str:
        """The item that begins an element whose least eigenvalue at q (n_q,) is below this part of that at the start.

        Empty if there is none.
        """
        for batch, scales, least in self.watched:
            for (indices, masses), scale, first in zip(batch.element_masses(q), scales, least, strict=True):
                below = np.flatnonzero(np.linalg.eigvalsh(masses / scale)[:, 0] < part * first)
                if len(below):
                    return self._label(indices[below[0]])
        return ""

    def _label(self, indices: Ints) -> str:
        return self.system.layout.velocity_labels()[int(indices[indices >= 0][0])].partition(":")[0]


def _masses(batch: Batch, q: Floats) -> tuple[Batch, list[Floats], list[Floats]] | None:
    """The batch, divisors of its masses to a unit diagonal, and their least eigenvalues; None if not positive."""
    scales, least = [], []
    for _, masses in batch.element_masses(q):
        sizes = np.sqrt(np.diagonal(masses, axis1=1, axis2=2))
        if not np.all(sizes > 0.0):
            return None
        scales.append(sizes[:, :, None] * sizes[:, None, :])
        least.append(np.linalg.eigvalsh(masses / scales[-1])[:, 0])
        if np.min(least[-1]) < POSITIVE:
            return None
    return batch, scales, least
