"""Output instants: states inside steps, with the accelerations and forces that belong to them.

The interpolated state of a step is accurate, but a force that is a large stiffness times a small strain is not: an
axial strain of 1e-9 may be a newton. Therefore Newton's iteration corrects the interpolated state with the equations of
motion and the interpolated acceleration a, a polynomial through instants at which the equations are satisfied:

    [mu M + C + K/mu  J^T] [y]     [ M a + h + f_el - f ]
    [J                0  ] [.] = - [          0          ],      y <- F y,      q <- q + H y/mu,      v <- v + y

F y being the solution of the same matrix for (C + K/mu) y: F is nearly one for components stiffer than mu = 10/h, with
the step h, and nearly zero for softer ones, whose interpolated motion is not changed. Accelerations and multipliers
follow from the forces at the corrected state. Source: docs/theory/integration.md, section 8.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.layout.element import TrialError
from femb.steppers.contract import Step, left_limit, located
from femb.system.block_lu import SingularError
from femb.system.constraints import least_multipliers
from femb.system.system import System

# mu times the length of the step.
STIFF = 10.0
# Corrections of a state. The second removes the quadratic error and that of members about as stiff as mu.
CORRECTIONS = 2
# Relative difference of inputs before and after an instant up to which they do not jump.
SMOOTH = 1e-9


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


def output_frames(form: Formulation, times: Floats, q: Floats, v: Floats, work: Floats) -> Frames:
    """Output of a formulation at states that satisfy its equations: q (k, n_q), v (k, n_v), work (k,), times (k,)."""
    systems = [_system_at(form, state) for state in q]
    q, v = form.to_system(q, v)
    u = _inputs(systems, times, q, v)
    for k, system in enumerate(systems):
        with located(float(times[k])):
            q[k], v[k] = system.projected(u[k], q[k], v[k])
    return _frames(systems, times, u, q, v, work)


def step_frames(form: Formulation, step: Step, times: Floats) -> Frames:
    """Output of a formulation at times (k,) inside a step; a time may exceed its end by rounding.

    Where inputs jump at the end of the step, the output is that after the jump, except ``unbalanced``.
    """
    states, v, work = step(times)
    accelerations = form.accelerations_to_system(states, v, step.accelerations(times))
    q, v = form.to_system(states, v)
    systems = [_system_at(form, state) for state in states]
    instants = np.minimum(times, left_limit(step.end, step.start))
    u = _inputs(systems, instants, q, v)
    try:
        q, v = _corrected(systems, u, q, v, accelerations, STIFF / (step.end - step.start))
    except TrialError:
        # beyond a singularity or a fold that the step itself did not reach
        return output_frames(form, times, *step(times))
    if form.inputs_of_state:
        u = _inputs(systems, instants, q, v)
    frames = _frames(systems, times, u, q, v, work, accelerations)
    if times[-1] < step.end or np.allclose(_inputs(systems[-1:], times[-1:], q[-1:], v[-1:]), u[-1], SMOOTH, 0.0):
        return frames
    after = output_frames(systems[-1], times[-1:], q[-1:].copy(), v[-1:].copy(), work[-1:])
    after = replace(after, unbalanced=frames.unbalanced[-1:])
    return Frames.joined([Frames(*(getattr(frames, field.name)[:-1] for field in fields(Frames))), after])


def _corrected(systems: list[System], u: Floats, q: Floats, v: Floats, a: Floats, mu: float) -> tuple[Floats, Floats]:
    """q (k, n_q), v (k, n_v) corrected such that stiff members accelerate with a (k, n_v), on the constraints."""
    system, n_v, stiff, factors = systems[0], systems[0].n_v, [], []
    for k, local in enumerate(systems):
        mass, damping, stiffness = local.matrices(u[k], q[k], v[k])
        try:
            factors.append(local.solver.factorise(local.solver.shifted(mass, damping, stiffness, mu)))
        except SingularError as error:
            raise TrialError("the iteration matrix at an output instant is singular") from error
        q[k], v[k] = local.projected(u[k], q[k], v[k], factors[k])
        stiff.append(damping + stiffness / mu)
    free = np.zeros((len(q), system.n_c))
    interpolated, sizes = (q, v), []
    for _ in range(CORRECTIONS):
        x = -system.equations(u, q, v, a, free)
        for k, factor in enumerate(factors):
            x[k, n_v:] = 0.0
            factor.solve(x[k])
            x[k, n_v:] = 0.0
            x[k] = system.solver.multiply(stiff[k], x[k])
            x[k, n_v:] = 0.0
            factor.solve(x[k])
        y = np.ascontiguousarray(x[:, :n_v])
        sizes.append(np.max(np.abs(y), axis=1, initial=0.0))
        q, v = q + system.rates(q, y) / mu, v + y
        for k, local in enumerate(systems):
            local.normalise(q[k])
            q[k], v[k] = local.projected(u[k], q[k], v[k], factors[k])
    # strongly nonlinear forces, as of a contact that just opens: the interpolated state without correction
    better = (sizes[-1] <= sizes[0])[:, None]
    return np.where(better, q, interpolated[0]), np.where(better, v, interpolated[1])


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


def _frames(
    systems: list[System], times: Floats, u: Floats, q: Floats, v: Floats, work: Floats, of_motion: Floats | None = None
) -> Frames:
    """Output at states on the constraints; of_motion : accelerations (k, n_v) of the motion, else from the forces."""
    system = systems[0]
    a, multipliers = system.forward_each(u, q, v)
    coordinates, rates = np.empty((2, len(q), system.coordinates_of_joints.count))
    for k, local in enumerate(systems):
        if rates.size:
            coordinates[k], rates[k] = local.joint_motion(q[k], v[k])
        if system.layout.has_loops:
            multipliers[k] = least_multipliers(system, u[k], q[k], multipliers[k])
    residual = np.zeros((len(q), 2))
    if system.audited:
        residual = unbalanced(system, u, q, v, a if of_motion is None else of_motion, multipliers)
    return Frames(times, q, v, work, u, a, multipliers, coordinates, rates, residual)


def _inputs(systems: list[System], times: Floats, q: Floats, v: Floats) -> Floats:
    """u (k, n_u) at times and states."""
    u = np.empty((len(times), systems[0].n_u))
    for k, system in enumerate(systems):
        u[k] = system.inputs_at(float(times[k]), q[k], v[k])
    return u


def _system_at(form: Formulation, state: Floats) -> System:
    """The System with the revolutions of joints at a state.

    The coordinates of another formulation may contain them; the System counts them from step to step.
    """
    system = form.system
    return system if form is system else form.at(state).system
