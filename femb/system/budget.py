"""The budget of a run: power and rates of momentum by account, of what has no potential.

A column of n_w numbers is integrated along with the state. Those of ``works`` are powers (W), whose sum is the rate of
kinetic plus potential energy; before them are, for each account of ``impulses``, a force (N) and a moment (N m) about
the origin of the layout, inertial axes, and for each of ``supplies`` an electrical power (W), which no sum has.
Accounts follow from the classes of items and their batches (``work_accounts`` of their forces, ``TakesPower``).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.item import Item
from femb.layout.element import Batch
from femb.layout.evaluation import Evaluation
from femb.layout.layout import Layout
from femb.layout.protocols import Prestressed, Pushes, TakesPower
from femb.layout.terms import account, applied, work_accounts
from femb.numerics.block_kernels import clear
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.numerics.compiler.compile import kernel_with_entry
from femb.numerics.vector3 import cross, rotate, rotation

# Jumps of the velocities have no power: their work is added where they are.
JUMPS, DRIVERS = "jumps", "drivers"
# What the accounts of a momentum leave; and, beside a moving origin of coordinates, those of work.
REST, ORIGIN = "rest", "origin"


@kernel_with_entry
def balance(points_q, points_v, turns_q, turns_v, q, v, sign, force, power, push, out):
    """Balance of sign times forces (s, n_v): out[:, power] += their power, and out[:, push : push + 6] += resultant
    and moment about the origin, inertial axes; each is left out where its column is negative.

    points_q, points_v : first indices of frames in q and v; turns_q, turns_v : of their attitudes.
    """
    R, w = np.empty((3, 3)), np.empty((2, 3))
    x, y = w[0], w[1]
    for s in range(q.shape[0]):
        if power >= 0:
            total = 0.0
            for k in range(v.shape[1]):
                total += force[s, k] * v[s, k]
            out[s, power] += sign * total
        if push < 0:
            continue
        for k in range(points_q.size):
            i, j = points_q[k], points_v[k]
            if force[s, j] != 0.0 or force[s, j + 1] != 0.0 or force[s, j + 2] != 0.0:
                cross(q[s, i : i + 3], force[s, j : j + 3], x)
                for o in range(3):
                    out[s, push + o] += sign * force[s, j + o]
                    out[s, push + 3 + o] += sign * x[o]
        for k in range(turns_q.size):
            i, j = turns_q[k], turns_v[k]
            if force[s, j] != 0.0 or force[s, j + 1] != 0.0 or force[s, j + 2] != 0.0:
                rotation(q[s, i : i + 4], R)
                for o in range(3):
                    x[o] = force[s, j + o]
                rotate(R, x, y)
                for o in range(3):
                    out[s, push + 3 + o] += sign * y[o]


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
        supplied = [
            (k, batch.supply_account(items[0].account()))
            for k, (batch, items) in enumerate(batches)
            if isinstance(batch, TakesPower)
        ]
        self._supplied = [(k, account) for k, account in supplied if account]
        for k, (batch, items) in enumerate(batches):
            own = items[0].account()
            if batch.inputs and isinstance(batch, Prestressed):
                self.stored.append((k, batch.prestress_account or own))
                works.append(batch.prestress_account or own)
            accounts = work_accounts(batch.forces(), own)
            if accounts:
                names.append((k, accounts))
                works += accounts
            if accounts and (
                batch.pushes if isinstance(batch, Pushes) else any(item.changes_momenta for item in items)
            ):
                pushing.append((k, accounts[-1]))
                impulses.append(accounts[-1])
        self.works, self.impulses = tuple(dict.fromkeys(works)), tuple(dict.fromkeys(impulses))
        self.supplies = tuple(dict.fromkeys(account for _, account in self._supplied))
        self.first = 6 * len(self.impulses) + len(self.supplies)
        self.size = self.first + len(self.works)
        column = {name: self.first + i for i, name in enumerate(self.works)}
        self._owns = {k: items[0].account() for k, (_, items) in enumerate(batches)}
        self._names = dict(names)
        self._powers = [(k, np.array([column[name] for name in accounts])) for k, accounts in names]
        self._pushes = {k: 6 * self.impulses.index(name) for k, name in pushing}
        self._drivers = column.get(DRIVERS, -1)
        (positions, quaternions, _), (velocities, omegas, _) = layout.numbers.groups
        self._frames = positions, velocities, quaternions, omegas

    def rates(self, system: Any, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s, n_w) of a system at s states; without ``multipliers`` (s, n_c) those of drivers are zero."""
        out = np.empty((len(q), self.size))
        self.bound_rates(system, u, q, v, multipliers, out)()
        return out

    def bound_rates(
        self, system: Any, u: Floats, q: Floats, v: Floats, multipliers: Floats | None, out: Floats
    ) -> BoundSequence:
        """The call that sets out (s, n_w) to ``rates`` of these arrays, whose entries change from call to call."""
        calls: list[Callable[[], object]] = [Bound(clear, out)]
        for k, columns in self._powers:
            calls += self._calls_of(system.evaluation.of([system.batches[k]]), k, columns, (u, q, v), out)
        for k, name in self._supplied:
            calls.append(Bound(_add_supply, system.batches[k], u, q, v, self._in_supplies(name), out))
        if multipliers is not None and self._drivers >= 0:
            calls.append(system.constraint_set.power_call(u, q, v, multipliers, self._drivers, out))
        return BoundSequence(calls)

    def _calls_of(
        self, terms: Evaluation, k: int, columns: Ints, state: tuple[Floats, Floats, Floats], out: Floats
    ) -> list[Callable[[], object]]:
        """The calls for the terms of batch k: the work of its accounts, and the impulse of all where it pushes."""
        (u, q, v), force, push = state, np.empty(state[2].shape), self._pushes.get(k, -1)
        names, calls = self._names[k], list[Callable[[], object]]()
        potential = any(part.kind == "elastic" for term in terms.forces[0] for part in term.all_parts)
        once = len(names) == 1 and not potential  # the force that does the work is all that pushes
        for name, column in zip(names, columns.tolist(), strict=True):
            calls += [Bound(clear, force), *terms.force_calls(u, q, v, v, force, account(self._owns[k], name))]
            calls.append(Bound(balance, *self._frames, q, v, -1.0, force, column, push if once else -1, out))
        if push >= 0 and not once:
            calls += [Bound(clear, force), *terms.force_calls(u, q, v, v, force, applied)]
            calls.append(Bound(balance, *self._frames, q, v, -1.0, force, -1, push, out))
        return calls

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
        names = dict.fromkeys((*self.works, *self.supplies, *self.impulses, REST))
        accounts: dict[str, dict[str, Floats]] = {name: {} for name in names}
        for i, name in enumerate(self.works):
            accounts[name]["work"] = values[:, self.first + i].copy()
        for (_, name), energy in zip(self.stored, stored.T, strict=True):
            accounts[name]["work"] += energy
        for name in self.supplies:
            accounts[name]["electrical_energy"] = values[:, self._in_supplies(name)].copy()
        given = np.zeros_like(change)
        for i, name in enumerate(self.impulses):
            six = values[:, 6 * i : 6 * i + 6]
            accounts[name] |= {"impulse": six[:, :3].copy(), "angular_impulse": six[:, 3:].copy()}
            given += six
        accounts[REST] |= {"impulse": (change - given)[:, :3], "angular_impulse": (change - given)[:, 3:]}
        return accounts

    def _in_supplies(self, account: str) -> int:
        """The column of the electrical power of an account."""
        return 6 * len(self.impulses) + self.supplies.index(account)


def _add_supply(batch: TakesPower, u: Floats, q: Floats, v: Floats, column: int, out: Floats) -> None:
    """Add the electrical power of a batch to a column of out (s, n_w)."""
    out[:, column] += batch.electrical_power(u, q, v).sum(axis=1)
