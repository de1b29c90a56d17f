"""Output instants: states of a System, with the accelerations, forces and inputs that belong to them.

States inside steps come from ``femb.recording.instants``.
"""

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.formulations.contract import Formulation
from femb.steppers.contract import located
from femb.system.forward import forward_balance
from femb.system.relative_motion import NODES, summed
from femb.system.stacked import least_multipliers
from femb.system.system import System


@dataclass(frozen=True)
class Frames:
    """Consecutive output instants: time (k,), q (k, n_q), v (k, n_v), work (k, n_w), inputs u (k, n_u), accelerations a
    (k, n_v), multipliers (k, n_c) of least norm, coordinates of joints (k, m), unwrapped, and their rates; and
    ``unbalanced`` (k, 2), see the function.

    States satisfy the constraints. Where an input jumps, u and the quantities that depend on it are right limits.
    through : of instants between nodes of steps.
    """

    time: Floats
    q: Floats
    v: Floats
    work: Floats
    u: Floats
    a: Floats
    multipliers: Floats
    coordinates: Floats
    coordinate_rates: Floats
    unbalanced: Floats
    through: "Through | None" = None

    @classmethod
    def joined(cls, parts: "list[Frames]", places: list[Ints] | None = None) -> "Frames":
        """The concatenation of parts; or the numbers of the instants of each are its ``places``."""
        arrays: list[Any] = [_joined([getattr(part, name) for part in parts], places) for name in cls._arrays()]
        return cls(*[*arrays, Through.joined(parts, places) if any(part.through for part in parts) else None])

    def part(self, some: slice | Ints) -> Self:
        """Some of the instants."""
        through = self.through and Through(self.through.nodes, self.through.of[some], self.through.weights[some])
        arrays: list[Any] = [getattr(self, name)[some] for name in self._arrays()]
        return type(self)(*[*arrays, through])

    @classmethod
    def _arrays(cls) -> list[str]:
        return [field.name for field in fields(cls) if field.name != "through"]

    @property
    def nodes(self) -> "Frames":
        """The instants at which loads inside structures are evaluated."""
        return self if self.through is None else self.through.nodes

    def of_nodes(self, values: Floats) -> Floats:
        """(k, ...) of values at the ``nodes``, which change smoothly along the motion."""
        return values if self.through is None else self.through.values(values)


def _joined(arrays: list[Any], places: list[Ints] | None) -> Any:
    if places is None:
        return np.concatenate(arrays)
    result = np.empty((sum(map(len, arrays)), *arrays[0].shape[1:]), arrays[0].dtype)
    for array, where in zip(arrays, places, strict=True):
        result[where] = array
    return result


@dataclass(frozen=True)
class Through:
    """Polynomials in time through nodes: values at instants are sums, with weights (k, m), of those at m nodes each.

    of (k, m) : which of the nodes. An instant that is evaluated itself is its own node.
    """

    nodes: Frames
    of: Ints
    weights: Floats

    @classmethod
    def joined(cls, parts: list[Frames], places: list[Ints] | None) -> Self:
        """The polynomials of ``Frames.joined``."""
        of, weights, first = [], [], 0
        for part in parts:
            count, through = len(part.time), part.through
            of.append(first + (np.tile(np.arange(count)[:, None], NODES) if through is None else through.of))
            weights.append(np.tile(np.eye(1, NODES), (count, 1)) if through is None else through.weights)
            first += len(part.nodes.time)
        return cls(Frames.joined([part.nodes for part in parts]), _joined(of, places), _joined(weights, places))

    def values(self, at_nodes: Floats) -> Floats:
        """(k, ...) of values (n, ...) at the nodes."""
        return summed(self.of, self.weights, at_nodes)


@dataclass(frozen=True)
class SystemsAt:
    """The Systems of k states: ``systems``, whose joint coordinates are unwrapped from ``angles`` (k, m)."""

    systems: list[System]
    angles: Floats

    @classmethod
    def of(cls, form: Formulation, states: Floats, angles: Floats | None = None) -> "SystemsAt":
        """The systems of a formulation at states (k, n_q), whose coordinates may count the revolutions of joints."""
        return cls([form.system] * len(states), form.joint_angles(states) if angles is None else angles)

    @classmethod
    def joined(cls, parts: "list[SystemsAt]") -> "SystemsAt":
        """The concatenation of parts."""
        systems = [system for part in parts for system in part.systems]
        return cls(systems, np.concatenate([part.angles for part in parts]))

    def __getitem__(self, some: slice) -> "SystemsAt":
        return SystemsAt(self.systems[some], self.angles[some])

    def part(self, some: Ints) -> "SystemsAt":
        """The systems of some of the states, by their numbers."""
        return SystemsAt([self.systems[k] for k in some.tolist()], self.angles[some])

    @property
    def alike(self) -> list[slice]:
        """The states, one after the other, between which no discrete state but the angles of joints changed."""
        starts = [0]
        for k, (before, system) in enumerate(pairwise(self.systems), 1):
            if system is not before and not system.discrete.alike(self.systems[starts[-1]].discrete):
                starts.append(k)
        return [slice(*each) for each in pairwise([*starts, len(self.systems)])]

    def at(self, k: int) -> System:
        """The System at one state."""
        system, angles = self.systems[k], self.angles[k]
        if np.array_equal(angles, system.discrete.angles):
            return system
        return system.with_discrete(system.discrete.with_angles(angles))

    def joint_motion(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Coordinates, unwrapped, and rates (k, m) of all joints at the states q (k, n_q), v (k, n_v)."""
        joints = self.systems[0].coordinates_of_joints
        values, rates = joints.motion(q, v)
        return joints.unwrapped(values, self.angles), rates


def output_frames(
    form: Formulation, times: Floats, q: Floats, v: Floats, work: Floats, motion_only: bool = False
) -> Frames:
    """Output of a formulation at states that satisfy its equations: q (k, n_q), v (k, n_v), work (k, n_w), times (k,).

    motion_only : as in ``frames_of``.
    """
    return projected_frames(SystemsAt.of(form, q), times, *form.to_system(q, v), work, motion_only)


def projected_frames(
    systems: SystemsAt, times: Floats, q: Floats, v: Floats, work: Floats, motion_only: bool = False
) -> Frames:
    """Output at states of a System close to its constraints, projected on them. Raises SolveError."""
    q, v = q.copy(), v.copy()
    u = inputs_of(systems, times, q, v)
    for k, system in enumerate(systems.systems):
        with located(float(times[k])):
            q[k], v[k] = system.projected(u[k], q[k], v[k])
    return frames_of(systems, times, u, q, v, work, motion_only=motion_only)


def unbalanced(system: System, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats) -> Floats:
    """(k, 2): the largest residual force (N) and moment (N m) on a frame at k states, with accelerations a (k, n_v)."""
    return largest(system, system.equations(u, q, v, a, multipliers))


def largest(system: System, residual: Floats) -> Floats:
    """(k, 2): the largest force (N) and moment (N m) on a frame, of residuals (k, n_v)."""
    result = np.zeros((len(residual), 2))
    for part, first in enumerate(system.layout.numbers.groups[1][:2]):
        squares = sum(residual[:, first + axis] ** 2 for axis in range(3))
        result[:, part] = np.sqrt(np.max(squares, axis=1, initial=0.0))
    return result


def frames_of(
    systems: SystemsAt,
    times: Floats,
    u: Floats,
    q: Floats,
    v: Floats,
    work: Floats,
    of_motion: Floats | None = None,
    motion_only: bool = False,
) -> Frames:
    """Output at states on the constraints; of_motion : accelerations (k, n_v) of the interpolated motion, with which
    forces may be unbalanced; by default those that follow from the forces. motion_only : whether accelerations and
    multipliers are left at zero."""
    system = systems.systems[0]
    balance = np.zeros((len(q), 2))
    if motion_only or not system.forces_recorded:
        a, multipliers = np.zeros(v.shape) if of_motion is None else of_motion, np.zeros((len(q), system.n_c))
    elif system.audited and of_motion is not None:
        a, multipliers, residual = forward_balance(system, u, q, v, of_motion)
        balance = largest(system, residual)
    else:
        a, multipliers = system.forward_each(u, q, v)
        if system.audited:
            balance = unbalanced(system, u, q, v, a, multipliers)
    coordinates, rates = systems.joint_motion(q, v)
    if not motion_only:
        multipliers = least_multipliers(system, u, q, multipliers)
    return Frames(times, q, v, work, u, a, multipliers, coordinates, rates, balance)


def inputs_of(systems: SystemsAt, times: Floats, q: Floats, v: Floats) -> Floats:
    """u (k, n_u) at times and states."""
    system = systems.systems[0]
    if system.inputs.only_held and np.array_equal([each.discrete.angles for each in systems.systems], systems.angles):
        return np.array([each.discrete_inputs for each in systems.systems])
    if not system.inputs_of_state:
        found = []
        for some in systems.alike:
            first = systems.systems[some.start]
            found.append(first.inputs.of_times(times[some], first.discrete, systems.angles[some]))
        known = [each for each in found if each is not None]
        if len(known) == len(found):
            return known[0] if len(known) == 1 else np.concatenate(known)
    u = np.empty((len(times), system.n_u))
    for k, t in enumerate(times.tolist()):
        u[k] = systems.at(k).inputs_at(t, q[k], v[k])
    return u
