"""The budget of a run: power and rates of momentum by account, of what has no potential.

A column of n_w numbers is integrated along with the state. Those of ``works`` are powers (W), whose sum is the rate of
kinetic plus potential energy; before them are, for each account of ``impulses``, a force (N) and a moment (N m) about
the origin of the layout, inertial axes. Accounts follow from the classes of items and their batches
(``Batch.accounts``).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.item import Item
from femb.layout.element import Batch, ForceBatch
from femb.layout.layout import Layout
from femb.numerics import rotations

# Jumps of the velocities have no power: their work is added where they are.
JUMPS, DRIVERS = "jumps", "drivers"
# What the accounts of a momentum leave; and, beside a moving origin of coordinates, those of work.
REST, ORIGIN = "rest", "origin"


class Budget:
    """The accounts of a system: of ``batches``, each with the items of one class, or of several if it joins classes.

    driven : whether rows of constraints have inputs. JUMPS is the first account of work, so that compiled stages with
    the power of one batch alone set the last column.
    """

    def __init__(self, batches: Sequence[tuple[Batch, Sequence[Item]]], layout: Layout, driven: bool) -> None:
        self._layout = layout
        works, impulses = [JUMPS, *([DRIVERS] if driven else [])], []
        names: list[tuple[int, tuple[str, ...]]] = []
        pushing: list[tuple[int, str]] = []
        self.stored: list[tuple[int, str]] = []
        for k, (batch, items) in enumerate(batches):
            own = items[0].account()
            if batch.inputs and type(batch).prestress_energy is not Batch.prestress_energy:
                self.stored.append((k, batch.prestress_account or own))
                works.append(batch.prestress_account or own)
            if type(batch).nonconservative_force is Batch.nonconservative_force:
                continue
            accounts = batch.accounts(own)
            if accounts:
                names.append((k, accounts))
                works += accounts
            if accounts and (any(item.changes_momenta for item in items) if batch.pushes is None else batch.pushes):
                pushing.append((k, accounts[-1]))
                impulses.append(accounts[-1])
        self.works, self.impulses = tuple(dict.fromkeys(works)), tuple(dict.fromkeys(impulses))
        self.first = 6 * len(self.impulses)
        self.size = self.first + len(self.works)
        column = {name: self.first + i for i, name in enumerate(self.works)}
        self._powers = [(k, np.array([column[name] for name in accounts])) for k, accounts in names]
        self._pushes = {k: 6 * self.impulses.index(name) for k, name in pushing}
        self._drivers = column.get(DRIVERS, -1)
        freedom = np.array([frame.freedom for frame in layout.frames])
        three = np.arange(3)
        moving, turning = freedom > 0, freedom == 6
        self._points: tuple[Ints, Ints] = tuple(each[moving, None] + three for each in (layout.frame_q, layout.frame_v))  # type: ignore[assignment]
        self._turns: tuple[Ints, Ints] = (
            layout.frame_q[turning, None] + 3 + np.arange(4),
            layout.frame_v[turning, None] + 3 + three,
        )

    def rates(self, system: Any, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s, n_w) of a system at s states; without ``multipliers`` (s, n_c) those of drivers are zero."""
        out = np.zeros((len(q), self.size))
        for k, columns in self._powers:
            batch = system.batches[k]
            alone = type(batch).add_powers is Batch.add_powers and not isinstance(batch, ForceBatch)
            if k in self._pushes and alone:
                force = np.zeros(v.shape)  # once for both
                batch.nonconservative_force(u, q, v, force)
                out[:, columns[0]] += np.einsum("sv,sv->s", force, v)
                self._push(force, q, out[:, self._pushes[k] : self._pushes[k] + 6])
                continue
            part = np.zeros((len(q), len(columns)))
            batch.add_powers(u, q, v, part)
            out[:, columns] += part
            if k in self._pushes:
                self._push(_forces(batch, u, q, v), q, out[:, self._pushes[k] : self._pushes[k] + 6])
        if multipliers is not None and self._drivers >= 0:
            power = np.zeros(len(q))
            system.constraint_set.constraint_power(u, q, v, multipliers, power)
            out[:, self._drivers] += power
        return out

    def of_drivers(self, power: Floats) -> Floats:
        """(s, n_w) of drivers with this power (s,)."""
        out = np.zeros((len(power), self.size))
        out[:, self._drivers if self._drivers >= 0 else self.first] = power
        return out

    def none(self) -> Floats:
        """(n_w,) zeros."""
        return np.zeros(self.size)

    def jumped(self, values: Floats, work: float) -> Floats:
        """Values (n_w,) after a jump of the velocities that did this ``work`` (J)."""
        result: Floats = values.copy()
        result[self.first] += work
        return result

    def total(self, values: Floats) -> Floats:
        """(...,) the work, or the power, of all accounts of values (..., n_w)."""
        total: Floats = values[..., self.first :].sum(axis=-1)
        return total

    def accounts_of(self, values: Floats, stored: Floats, change: Floats) -> dict[str, dict[str, Floats]]:
        """Arrays by account and quantity at k instants, of ``values`` (k, n_w).

        stored (k, .) : what inputs have changed of potential energies, J, for each of ``stored``. change (k, 6) : of
        the linear and the angular momentum since the start.
        """
        names = dict.fromkeys((*self.works, *self.impulses, REST))
        accounts: dict[str, dict[str, Floats]] = {name: {} for name in names}
        for i, name in enumerate(self.works):
            accounts[name]["work"] = values[:, self.first + i].copy()
        for (_, name), energy in zip(self.stored, stored.T, strict=True):
            accounts[name]["work"] += energy
        given = np.zeros_like(change)
        for i, name in enumerate(self.impulses):
            six = values[:, 6 * i : 6 * i + 6]
            accounts[name] |= {"impulse": six[:, :3].copy(), "angular_impulse": six[:, 3:].copy()}
            given += six
        accounts[REST] |= {"impulse": (change - given)[:, :3], "angular_impulse": (change - given)[:, 3:]}
        return accounts

    def _push(self, force: Floats, q: Floats, out: Floats) -> None:
        """out (s, 6) += resultant and moment about the origin of forces (s, n_v) on the frames, most of them zero."""
        linear = force[:, self._points[1]]
        acting = np.flatnonzero(linear.any(axis=(0, 2)))
        if acting.size:
            linear = linear[:, acting]
            out[:, :3] += linear.sum(axis=1)
            out[:, 3:] += rotations.cross(q[:, self._points[0][acting]], linear).sum(axis=1)
        turning = force[:, self._turns[1]]
        acting = np.flatnonzero(turning.any(axis=(0, 2)))
        if acting.size:
            attitudes = rotations.normalise(q[:, self._turns[0][acting]])
            out[:, 3:] += rotations.rotate(attitudes, turning[:, acting]).sum(axis=1)


def _forces(batch: Batch, u: Floats, q: Floats, v: Floats) -> Floats:
    """(s, n_v) of a batch on the frames."""
    force = np.zeros(v.shape)
    if isinstance(batch, ForceBatch):
        batch.residual(u, q, v, v, force)
        return -force
    batch.nonconservative_force(u, q, v, force)
    return force
