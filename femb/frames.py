"""Output frames: states between the steps' ends, with the accelerations and forces that go with them.

A step's interpolant is close to the motion, but a force that is a large stiffness times a small strain is not close to
the force: an axial strain of 1e-9 may be a newton. So one step of Newton's iteration is made at each output instant on
the equations of motion, as if an implicit step ended there, for corrections y of the velocities and x = y/mu:

    [mu M + C + K/mu  J^T] [y     ]     [ M a + h + f_el - f ]
    [J                0  ] [lambda] = - [          0          ],      q <- q + H y/mu,  v <- v + y,  a <- a + mu y

where a at first is the interpolant's acceleration, a polynomial through instants at which the step's equations hold.
With mu some 10/h a motion that the step resolves stays as it is interpolated, and its accelerations become those that
the forces give it; a member too stiff for the step takes the strain that its force needs.
Source: docs/theory/integration.md, section 8.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from femb.batch import TrialError
from femb.blocklu import SingularError
from femb.constraints import least_multipliers
from femb.steppers.contract import Step, before
from femb.types import Floats

# mu times the length of the step.
STIFF = 10.0
# Corrections of a frame; what the first leaves is quadratic in it.
CORRECTIONS = 2


@dataclass(frozen=True)
class Frames:
    """Consecutive output instants: time (k,), q (k, n_q), v (k, n_v), work (k,), inputs u (k, n_u), accelerations a
    (k, n_v), multipliers (k, n_c) of least norm, coordinates of joints (k, m), unwrapped, and their rates; and what is
    unbalanced (k, 2), see ``unbalanced``.

    States are on the constraints. Where an input jumps, u and what depends on it are those before the jump.
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
        """One after the other."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


def output_frames(form: Any, times: Floats, q: Floats, v: Floats, work: Floats) -> Frames:
    """Frames of states of a formulation at which its equations hold: q (k, n_q), v (k, n_v), work (k,), at times (k,).

    Their accelerations are those that the forces give them.
    """
    system, states = form.velocity_form, q
    q, v = form.configuration(q, v)
    u, coordinates, rates = np.empty((len(times), system.n_u)), *_joints(system, len(times))
    for k, t in enumerate(times):
        system = _counting(form, states[k])
        u[k] = system.inputs_at(float(t), q[k], v[k])
        q[k], v[k] = system.projected(u[k], q[k], v[k])
        _measure(system, q, v, k, coordinates, rates)
    a, multipliers = system.forward_each(u, q, v)
    return _frames(system, times, q, v, work, u, a, multipliers, coordinates, rates, a)


def step_frames(form: Any, step: Step, times: Floats) -> Frames:
    """Frames of a formulation at times (k,) inside a step."""
    states, v, work = step(times)
    a = form.second_configuration(states, v, step.accelerations(times))
    q, v = form.configuration(states, v)
    system = form.velocity_form
    mu, n_v, count = STIFF / (step.end - step.start), system.n_v, len(times)
    u, coordinates, rates = np.empty((count, system.n_u)), *_joints(system, count)
    a, multipliers, factors, counting = a.copy(), np.zeros((count, system.n_c)), [], []
    for k, t in enumerate(times):
        system = _counting(form, states[k])
        counting.append(system)
        u[k] = system.inputs_at(before(step.end, step.start) if t == step.end else float(t), q[k], v[k])
        matrices = system.matrices(u[k], q[k], v[k])
        try:
            factors.append(system.solver.factorise(system.solver.shifted(*matrices, mu)))
        except SingularError as error:
            raise TrialError("the iteration matrix of an output instant is singular") from error
        q[k], v[k] = system.projected(u[k], q[k], v[k], factors[k])
    if system.n_c:
        _hold_accelerations(system, u, q, v, a, factors)
    of_motion = a.copy()
    for _ in range(CORRECTIONS):
        x = -system.equations(u, q, v, a, multipliers)
        x[:, n_v:] = 0.0
        for k, each in enumerate(factors):
            each.solve(x[k])
        y = np.ascontiguousarray(x[:, :n_v])
        q, v, a, multipliers = q + system.rates(q, y) / mu, v + y, a + mu * y, multipliers + x[:, n_v:]
        for k in range(count):
            system.normalise(q[k])
    for k, system in enumerate(counting):
        q[k], v[k] = system.projected(u[k], q[k], v[k], factors[k])
        _measure(system, q, v, k, coordinates, rates)
    return _frames(system, times, q, v, work, u, a, multipliers, coordinates, rates, of_motion)


def unbalanced(system: Any, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats) -> Floats:
    """(k, 2): the largest force (N) and the largest moment (N m) that frames lack at k states to move with a (k, n_v).

    a are the accelerations of the motion itself, not those that the forces give it.
    """
    residual = system.equations(u, q, v, a, multipliers)
    layout, found = system.layout, np.zeros((len(q), 2))
    for frame, j in zip(layout.frames, layout.frame_v, strict=True):
        for part in range(frame.freedom // 3):
            size = np.linalg.norm(residual[:, j + 3 * part : j + 3 * part + 3], axis=1)
            np.maximum(found[:, part], size, out=found[:, part])
    return found


def _hold_accelerations(system: Any, u: Floats, q: Floats, v: Floats, a: Floats, factors: list[Any]) -> None:
    """Let accelerations a (k, n_v) meet J a = gamma, by what moves stiff members least."""
    gamma = system.constraints(u, q, v)[1]
    x = np.zeros((len(q), system.pattern.n))
    x[:, system.n_v :] = gamma - (system.constraint_rates(u, q, a) - system.constraint_rates(u, q, 0.0 * a))
    for k, each in enumerate(factors):
        a[k] += each.solve(x[k])[: system.n_v]


def _frames(
    system: Any,
    times: Floats,
    q: Floats,
    v: Floats,
    work: Floats,
    u: Floats,
    a: Floats,
    multipliers: Floats,
    coordinates: Floats,
    rates: Floats,
    of_motion: Floats,
) -> Frames:
    if system.layout.has_loops:
        for k in range(len(times)):
            multipliers[k] = least_multipliers(system, u[k], q[k], multipliers[k])
    left = unbalanced(system, u, q, v, of_motion, multipliers)
    return Frames(times, q, v, work, u, a, multipliers, coordinates, rates, left)


def _counting(form: Any, state: Floats) -> Any:
    """The System with the turns of joints as they are at a state.

    The coordinates of another formulation may tell them; the System itself counts them from step to step.
    """
    system = form.velocity_form
    return system if form is system else form.at(state).velocity_form


def _joints(system: Any, count: int) -> tuple[Floats, Floats]:
    """Room for coordinates of joints and their rates (count, m)."""
    values, rates = np.empty((2, count, system.coordinates_of_joints.count))
    return values, rates


def _measure(system: Any, q: Floats, v: Floats, k: int, coordinates: Floats, rates: Floats) -> None:
    if rates.size:
        coordinates[k], rates[k] = system.joint_motion(q[k], v[k])
