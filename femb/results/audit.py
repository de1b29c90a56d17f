"""Monitoring of a run's audit: a warning where it is far beyond the tolerances.

A local error below rtol per step gives an energy error of some rtol of the largest energy, up to a thousand times as
much over long runs and with members that the method damps. A far larger error shows that the steps missed something: an
impact between two step ends, a load that is not integrated, a step far too long. The largest energy is that of the
whole run, since that near a start at rest is no scale.
"""

import math
from typing import ClassVar

import numpy as np

from femb.base.types import Floats

# Limit of the energy error over the largest energy: a multiple of rtol, within bounds.
ENERGY, LEAST_ENERGY, MOST_ENERGY = 1e4, 1e-2, 0.1
# Limits of constraints (m or -, and per s and unit of speed) and of lengths of quaternions; being projected, these do
# not depend on rtol.
POSITION, VELOCITY, LENGTH = 1e-5, 1e-4, 1e-8
# An error is recorded where it exceeds the last one recorded by this factor.
GROWTH = 1.01


class AuditWatch:
    """Collects from the audit of a run, block by block, the data of a warning."""

    memory: ClassVar[tuple[str, ...]] = ("_errors", "_largest", "_first", "_others")

    def __init__(self) -> None:
        self._errors: list[tuple[float, float]] = []
        self._largest = 0.0
        self._first: tuple[float, float] | None = None
        self._others: dict[str, tuple[float, float]] = {}

    def add(self, time: Floats, audit: dict[str, Floats], speed: Floats) -> None:
        """Add k output instants: time (k,), the audit's arrays by name, and the largest velocities (k,)."""
        kinetic, potential, work = (audit[name] for name in ("kinetic_energy", "potential_energy", "work"))
        if self._first is None:
            self._first = float(potential[0]), float(work[0])
        for energy in (kinetic, potential - self._first[0], work - self._first[1]):
            self._largest = max(self._largest, float(np.max(np.abs(energy[np.isfinite(energy)]), initial=0.0)))
        last = self._errors[-1][1] if self._errors else 0.0
        for t, error in zip(time.tolist(), np.abs(audit["energy_error"]).tolist(), strict=True):
            error = error if math.isfinite(error) else math.inf
            if error > GROWTH * last:
                self._errors.append((t, error))
                last = error
        for name, limit in (
            ("constraint_position", POSITION),
            ("constraint_velocity", VELOCITY * (1.0 + speed)),
            ("quaternion_norm", LENGTH),
        ):
            beyond = np.flatnonzero(~(audit[name] <= limit))
            if len(beyond) and name not in self._others:
                self._others[name] = float(time[beyond[0]]), float(audit[name][beyond[0]])

    def warning(self, rtol: float) -> str:
        """The quantities that were far beyond their tolerances, since when and how far; empty if there are none."""
        limit = min(max(ENERGY * rtol, LEAST_ENERGY), MOST_ENERGY)
        found = []
        beyond = [error for error in self._errors if error[1] > limit * self._largest]
        if beyond:
            worst = max(error for _, error in beyond)
            found.append(
                (beyond[0][0], f"energy error (up to {worst:.2g} J, with a largest energy of {self._largest:.2g} J)")
            )
        for name, (t, size) in self._others.items():
            found.append((t, f"{name.replace('_', ' ')} ({size:.2g})"))
        if not found:
            return ""
        listed = "; ".join(f"{text} from t = {t:.6g} s on" for t, text in sorted(found))
        return (
            f"the audit is far beyond the tolerances: {listed}. The motion from then on is not to be trusted: compare "
            "with a smaller rtol or max_step"
        )
