"""Monitoring of a run's audit: a warning where it is far beyond the tolerances.

A local error below rtol per step gives an energy error of some rtol of the largest energy, up to a thousand times as
much over long runs and with members that the method damps. A far larger error shows that the steps missed something: an
impact between two step ends, a load that is not integrated, a step far too long. The largest energy is that of the
whole run, since that near a start at rest is no scale.

Forces have a judgement of their own, by every method: what the equations leave on a body or node between steps, beside
the largest force in the results. The motion may be right where it is not small: a force is a stiffness times a strain.
"""

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from femb.base.types import Floats

# Limit of the energy error over the largest energy: a multiple of rtol, within bounds.
ENERGY, LEAST_ENERGY, MOST_ENERGY = 1e4, 1e-2, 0.1
# Limits of constraints (m or -, and per s and unit of speed) and of lengths of quaternions; being projected, these do
# not depend on rtol.
POSITION, VELOCITY, LENGTH = 1e-5, 1e-4, 1e-8
# Parts of the largest force or moment in the results: balances up to the first are good, above the second poor.
BALANCED, UNBALANCED = 0.01, 0.2
# N or N m: up to this a balance may be rounding, that of a strain (1e-16) times the stiffness of a member (1e9 N).
ROUNDING = 1e-7
# Each balance of the audit, the arrays that it is compared with, and their unit.
BALANCES = (
    ("force_balance", ("force", "section_force"), "N"),
    ("moment_balance", ("torque", "section_moment"), "N m"),
)
LOADED = ("beams", "joints", "appendages", "loads", "springs", "drivers")
# An error is recorded where it exceeds the last one recorded by this factor.
GROWTH = 1.01


def largest_load(arrays: Mapping[str, Floats], words: tuple[str, ...]) -> float:
    """The largest component of recorded forces or moments, by the paths of ``arrays``."""
    found = [0.0]
    for path, values in arrays.items():
        kind, _, rest = path.partition("/")
        if kind in LOADED and rest.rpartition("/")[2] in words:
            found.append(float(np.max(np.abs(values), initial=0.0)))
    return max(found)


class AuditWatch:
    """Collects from the audit of a run, block by block, the data of a warning."""

    memory: ClassVar[tuple[str, ...]] = ("_errors", "_largest", "_first", "_others", "_unbalanced", "_load")

    def __init__(self) -> None:
        self._errors: list[tuple[float, float]] = []
        self._largest = 0.0
        self._first: tuple[float, float] | None = None
        self._others: dict[str, tuple[float, float]] = {}
        # time and size of the largest force balance, and the largest force beside it
        self._unbalanced, self._load = (0.0, 0.0), 0.0

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

    def add_forces(self, block: Mapping[str, Floats]) -> None:
        """Add the force balance and the forces of k output instants, by the paths of their arrays."""
        name, words, _ = BALANCES[0]
        self._load = max(self._load, largest_load(block, words))
        balance = block.get(f"audit/{name}", np.zeros(0))
        if len(balance):
            k = int(np.argmax(balance))
            if balance[k] > self._unbalanced[1]:
                self._unbalanced = float(block["time"][k]), float(balance[k])

    def warning(self, rtol: float) -> str:
        """The quantities that were far beyond their tolerances, since when and how far, and forces that the steps did
        not resolve; empty if there are none."""
        return "; ".join(filter(None, (self._of_motion(rtol), self._of_forces())))

    def _of_forces(self) -> str:
        """The force balance where it is no longer small beside the forces.

        Torques may all be small beside the forces and their arms, as in a spin: their balance alone is no warning.
        """
        (t, size), load = self._unbalanced, self._load
        if not load > 0.0 or size <= max(UNBALANCED * load, ROUNDING):
            return ""
        return (
            f"the steps did not resolve the forces: the force balance reaches {size:.2g} N at t = {t:.6g} s, beside a "
            f"largest force of {load:.2g} N. Peak loads of this run are not to be trusted: compare with a smaller rtol "
            "or max_step"
        )

    def _of_motion(self, rtol: float) -> str:
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
