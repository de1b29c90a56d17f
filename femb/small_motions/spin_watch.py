"""Spin that flexible bodies of constant coupling meet: they lack the stiffening that belongs to it, and say how much.

Apart from ``spinning``, because every run watches, and loads no sparse algebra for it.
Source: docs/theory/modal_body.md, section 4.
"""

import warnings
from typing import TYPE_CHECKING

import numpy as np

from femb.base.errors import FembWarning
from femb.base.types import Floats

if TYPE_CHECKING:
    from femb.system.system import System

MATTERS = 0.01  # of the first frequency


class SpinWatch:
    """The largest errors of first frequencies by spin, of the flexible bodies of a system, over states."""

    def __init__(self, system: "System") -> None:
        self.batches = [batch for batch in system.batches if getattr(batch, "unstiffened", 0.0)]
        self.errors = np.zeros(len(self.batches))

    def add(self, v: Floats) -> None:
        """Take notice of states with velocities v (s, n_v)."""
        for k, batch in enumerate(self.batches):
            self.errors[k] = max(self.errors[k], float(np.max(batch.spin_error(v), initial=0.0)))  # type: ignore[attr-defined]

    def warning(self) -> str:
        """A sentence on the bodies whose first frequency is a hundredth off or more; empty if there are none."""
        found = [
            f"{batch.label}: its spin stiffens it, which coupling = 'constant' leaves out: its first frequency is "  # type: ignore[attr-defined]
            f"about {error:.1%} too low; give its file a stress stiffness (femb reduce of the mesh, or --stress), "
            "for coupling = 'full'"
            for batch, error in zip(self.batches, self.errors, strict=True)
            if error > MATTERS
        ]
        return "; ".join(found)


def warn_of_spin(system: "System", v: Floats) -> None:
    """Warn of bodies whose frequencies a steady spin, at velocities v (n_v,), changes by more than they have."""
    watch = SpinWatch(system)
    watch.add(v[None])
    if text := watch.warning():
        warnings.warn(text, FembWarning, stacklevel=3)
