"""Output instants: states of a System, with the accelerations, forces and inputs that belong to them.

States inside steps come from ``femb.results.instants``.
"""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.steppers.contract import located
from femb.system.constraints import least_multipliers
from femb.system.system import System


@dataclass(frozen=True)
class Frames:
    """Consecutive output instants: time (k,), q (k, n_q), v (k, n_v), work (k,), inputs u (k, n_u), accelerations a
    (k, n_v), multipliers (k, n_c) of least norm, coordinates of joints (k, m), unwrapped, and their rates; and
    ``unbalanced`` (k, 2), see the function.

    States satisfy the constraints. Where an input jumps, u and the quantities that depend on it are right limits.
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

    @classmethod
    def joined(cls, parts: "list[Frames]") -> "Frames":
        """The concatenation of parts."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def part(self, some: slice) -> Self:
        """Some of the instants."""
        return type(self)(*(getattr(self, field.name)[some] for field in fields(self)))


def output_frames(form: Formulation, times: Floats, q: Floats, v: Floats, work: Floats) -> Frames:
    """Output of a formulation at states that satisfy its equations: q (k, n_q), v (k, n_v), work (k,), times (k,)."""
    systems = [system_at(form, state) for state in q]
    return projected_frames(systems, times, *form.to_system(q, v), work)


def projected_frames(systems: list[System], times: Floats, q: Floats, v: Floats, work: Floats) -> Frames:
    """Output at states of a System close to its constraints, projected on them. Raises SolveError."""
    q, v = q.copy(), v.copy()
    u = inputs_of(systems, times, q, v)
    for k, system in enumerate(systems):
        with located(float(times[k])):
            q[k], v[k] = system.projected(u[k], q[k], v[k])
    return frames_of(systems, times, u, q, v, work)


def unbalanced(system: System, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats) -> Floats:
    """(k, 2): the largest residual force (N) and moment (N m) on a frame at k states, with accelerations a (k, n_v).

    a : from the interpolated motion, not from the forces.
    """
    residual = system.equations(u, q, v, a, multipliers)
    layout, result = system.layout, np.zeros((len(q), 2))
    freedom, axes = np.array([frame.freedom for frame in layout.frames]), np.arange(3)
    for part in range(2):
        first = layout.frame_v[freedom > 3 * part] + 3 * part
        result[:, part] = np.linalg.norm(residual[:, first[:, None] + axes], axis=2).max(axis=1, initial=0.0)
    return result


def frames_of(
    systems: list[System], times: Floats, u: Floats, q: Floats, v: Floats, work: Floats, of_motion: Floats | None = None
) -> Frames:
    """Output at states on the constraints; of_motion : accelerations (k, n_v) of the motion, else from the forces."""
    system = systems[0]
    a, multipliers = system.forward_each(u, q, v)
    coordinates, rates = joint_motions(systems, q, v)
    for k in range(len(q) if system.layout.has_loops else 0):
        multipliers[k] = least_multipliers(system, u[k], q[k], multipliers[k])
    residual = np.zeros((len(q), 2))
    if system.audited:
        residual = unbalanced(system, u, q, v, a if of_motion is None else of_motion, multipliers)
    return Frames(times, q, v, work, u, a, multipliers, coordinates, rates, residual)


def joint_motions(systems: list[System], q: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Coordinates (k, m) of joints, unwrapped from the discrete state of each system, and their rates at k states."""
    joints = systems[0].coordinates_of_joints
    values, rates, _ = joints.measure(q, v)
    return joints.unwrapped(values, np.array([system.discrete.angles for system in systems])), rates


def inputs_of(systems: list[System], times: Floats, q: Floats, v: Floats) -> Floats:
    """u (k, n_u) at times and states."""
    if systems[0].inputs_of_time:
        together = systems[0].inputs_of_times(times)
        if together is not None:
            return together
    u = np.empty((len(times), systems[0].n_u))
    for k, system in enumerate(systems):
        u[k] = system.inputs_at(float(times[k]), q[k], v[k])
    return u


def system_at(form: Formulation, state: Floats) -> System:
    """The System with the revolutions of joints at a state.

    The coordinates of another formulation may contain them; the System counts them from step to step.
    """
    system = form.system
    return system if form is system else form.at(state).system
