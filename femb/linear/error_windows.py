"""Statistics of the errors of a loop under noise, over windows of time, in closed form.

With x' = A x + B n and the integral i' = C x of the error, a step (F, Q) gives the covariance of (x, i) after it; steps
are squared until they are a window long, so that no exponential is of a large matrix. Of sampled laws the step is the
exact one of their common period. Source: docs/theory/pointing_budget.md, sections 1 and 2.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag, expm, solve_continuous_lyapunov, solve_discrete_lyapunov

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import numbered
from femb.linear.conserved import reduced
from femb.linear.loop import Loop
from femb.linear.modal_form import KnownForm, LoopForm
from femb.linear.norms import unstable, without_hidden
from femb.linear.sampled_motion import LoopInstant, SampledMotion, merged, with_continuous
from femb.linear.state_space import InModes, StateSpace
from femb.numerics.linear_systems import balancing

# Points of Gauss and Legendre between two events of a period; relative deviation of a window from whole periods.
NODES, WHOLE = 12, 1e-6


class UnboundedError(ModelError):
    """Errors that grow without bound, though the loop is stable."""


class WindowErrors(NamedTuple):
    """Covariances (p, p) of errors: absolute, of the mean of a window, relative to it, of the drift of means."""

    absolute: Floats
    mean: Floats
    relative: Floats
    drift: Floats


@dataclass(frozen=True, eq=False)
class ErrorMotion:
    """The motion of a loop under noise. F, Q : of (x, i) over a step of ``dt`` s. P : of x in the long run at the start
    of a step. absolute (p, p) : of errors, on the average of all instants. rates : matrices of (x, i) and of its noise;
    None of sampled laws."""

    F: Floats
    Q: Floats
    P: Floats
    dt: float
    absolute: Floats
    rates: tuple[Floats, Floats] | None = None

    def over(self, time: float) -> tuple[Floats, Floats]:
        """F and Q over a time, s. Raises ModelError: no whole number of periods."""
        count = round(time / self.dt)
        if abs(count * self.dt - time) > WHOLE * max(time, self.dt):
            raise ModelError(f"pointing: a window of {time:g} s is no whole number of periods of {self.dt:g} s")
        F, Q = np.eye(len(self.F)), np.zeros_like(self.Q)
        power = self.F, self.Q
        while count:
            if count & 1:
                F, Q = power[0] @ F, power[0] @ Q @ power[0].T + power[1]
            power = power[0] @ power[0], power[0] @ power[1] @ power[0].T + power[1]
            count >>= 1
        return F, Q

    def window(self, length: float, apart: float) -> WindowErrors:
        """The covariances for windows of a ``length`` and starts so far ``apart``, s. Raises ModelError."""
        if not 0.0 < length <= apart:
            raise ModelError(f"pointing: got windows of {length:g} s, {apart:g} s apart, wanted 0 < length <= apart")
        own = self._fitting(length)
        n = len(self.P)
        F, Q = own.over(length)
        start = np.zeros_like(Q)
        start[:n, :n] = self.P
        after = F @ start @ F.T + Q
        mean = after[n:, n:] / length**2
        if apart > length:
            between = self._fitting(apart - length).over(apart - length)[0][:n, :n]
        else:
            between = np.eye(n)
        later = F[n:, :n] @ between @ after[:n, n:] / length**2
        drift = 2.0 * mean - later - later.T
        return WindowErrors(self.absolute, mean, self.absolute - mean, drift)

    def _fitting(self, time: float) -> "ErrorMotion":
        """The motion with a step of which the time is a whole power of two; of sampled laws itself."""
        if self.rates is None:
            return self
        halvings = max(int(np.ceil(np.log2(time / self.dt))), 0)
        dt = time / 2.0**halvings
        F, Q = step(*self.rates, dt)
        return replace(self, F=F, Q=Q, dt=dt)


def step(A: Floats, noise: Floats, dt: float) -> tuple[Floats, Floats]:
    """exp(A dt), and the covariance after dt of a state that noise of a density (n, n) moves from rest.

    Source: C. Van Loan, IEEE Trans. Automatic Control 23 (1978) 395.
    """
    n, size = len(A), float(np.linalg.norm(A, 1)) * dt
    halvings = max(int(np.ceil(np.log2(size))), 0) if size > 0.0 else 0
    small = dt / 2.0**halvings
    whole = expm(np.block([[-A, noise], [np.zeros((n, n)), A.T]]) * small)
    F = whole[n:, n:].T
    Q = F @ whole[:n, n:]
    for _ in range(halvings):
        Q = F @ Q @ F.T + Q
        F = F @ F
    return F, 0.5 * (Q + Q.T)


def continuous_errors(space: StateSpace, density: Floats) -> ErrorMotion:
    """The motion of a stable state space under white noise of a density (m, m) at its inputs."""
    space = without_hidden(space) if unstable(space) else space
    check_decay(space)
    if np.any(space.D):
        raise ModelError("pointing: white noise that is fed through at once has no finite variance: filter it")
    scale = balancing(space.A)
    A, B, C = space.A * scale / scale[:, None], space.B / scale[:, None], space.C * scale
    n, p = len(A), len(C)
    P = solve_continuous_lyapunov(A, -B @ density @ B.T)
    whole, noise = np.zeros((n + p, n + p)), np.zeros((n + p, n + p))
    whole[:n, :n], whole[n:, :n], noise[:n, :n] = A, C, B @ density @ B.T
    dt = 1.0 / max(float(np.linalg.norm(A, 1)), 1e-12)
    F, Q = step(whole, noise, dt)
    return ErrorMotion(F, Q, P, dt, C @ P @ C.T, (whole, noise))


def sampled_errors(
    loop: Loop, of: tuple[str, ...], errors: tuple[str, ...], covariance: Floats, noisy: tuple[str, ...] = (),
    density: Floats | None = None,
) -> ErrorMotion:  # fmt: skip
    """The motion of a loop of sampled laws.

    Parameters:
        loop: of the plant, which may know what it keeps.
        of: outputs of its plant.
        errors: names of what laws read, to which each sample adds noise of a covariance.
        covariance: (k, k).
        noisy: inputs of the plant with white noise of a density.
        density: (m, m).

    Raises:
        ModelError: several samples of a law within the common period.
    """
    sampled = tuple(law for law in loop.laws if law.period is not None)
    own_plant = loop.plant.in_form()
    plant = with_continuous(own_plant, tuple(law for law in loop.laws if law.period is None))
    rows = [plant.index("outputs", name) for name in of]
    n, p, count = len(plant.states), len(of), len(errors)
    wider = _with_integrals(plant, rows)
    motion = SampledMotion(wider, sampled)
    end = motion.common_period()
    instants = motion.instants(end)
    _check_one_sample(instants, end, len(sampled), density is not None)
    edges = np.unique([0.0, *(at.time for at in instants), end])
    points, weights = np.polynomial.legendre.leggauss(NODES)
    halves, middles = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    nodes = (middles[:, None] + halves[:, None] * points).ravel()
    share = (halves[:, None] * weights).ravel() / end
    F, G, seen = _over_period(motion, merged(instants, nodes), end, errors, rows)
    Q, B = G @ covariance @ G.T, wider.B[:, [plant.index("inputs", name) for name in noisy]]
    grown = np.zeros((len(nodes), n + p, n + p))
    if density is not None:
        noise = B @ density @ B.T
        grown = np.array([step(wider.A, noise, float(node))[1] for node in nodes])
        Q[: n + p, : n + p] += step(wider.A, noise, end)[1]
    size = len(F)
    rest = np.r_[0:n, n + p : size]
    # all that sees the motion between two samples
    sees = np.vstack([F[n : n + p, rest], *(row[:, rest] for row in seen)])
    moved = np.zeros((len(rest), count + len(noisy)))
    moved[:, :count], moved[:n, count:] = G[rest], B[:n]
    found = reduced(_of_period(loop, own_plant, F[np.ix_(rest, rest)], moved, sees, end), in_modes=True)
    left = block_diag(found.left, np.eye(p))[:, np.argsort(np.r_[rest, n : n + p])]
    right = block_diag(found.right, np.eye(p))[np.argsort(np.r_[rest, n : n + p])]
    F, Q, k = left @ F @ right, left @ Q @ left.T, len(found.space.states)
    check_decay(found.space)
    P = solve_discrete_lyapunov(F[:k, :k], Q[:k, :k])
    absolute = np.zeros((p, p))
    for w, row, more in zip(share, seen, grown, strict=True):
        by_state, by_error = row[:, rest] @ found.right, row[:, size:]
        own_noise = plant.C[rows] @ more[:n, :n] @ plant.C[rows].T
        absolute += w * (by_state @ P @ by_state.T + by_error @ covariance @ by_error.T + own_noise)
    return ErrorMotion(F, Q, P, end, absolute)


def _with_integrals(plant: StateSpace, rows: list[int]) -> StateSpace:
    """A plant with the integrals of some of its outputs as further states."""
    n, p = len(plant.states), len(rows)
    A = np.zeros((n + p, n + p))
    A[:n, :n], A[n:, :n] = plant.A, plant.C[rows]
    B, C = np.vstack([plant.B, plant.D[rows]]), np.hstack([plant.C, np.zeros((len(plant.C), p))])
    states = (*plant.states, *(f"integral of {plant.outputs[row]}" for row in rows))
    return replace(plant, A=A, B=B, C=C, states=states, truncation=None, form=None)


def _check_one_sample(instants: list[LoopInstant], period: float, laws: int, noisy: bool) -> None:
    """Raise ModelError where a law samples several times in a period; beside white noise, at several instants."""
    taken = [at for at in instants if at.samples]
    count = sum(len(at.samples) for at in taken)
    if count > laws or (noisy and (len(taken) > 1 or taken[0].time > 0.0)):
        raise ModelError(
            f"pointing: {numbered(count, 'sample')} at {numbered(len(taken), 'instant')} of the common period of "
            f"{period:g} s: budgets are of laws and sensors of one period"
        )


def _over_period(
    motion: SampledMotion, instants: list[LoopInstant], period: float, errors: tuple[str, ...], rows: list[int]
) -> tuple[Floats, Floats, list[Floats]]:
    """A period: the state after it, and errors that samples add; and outputs by both where nothing happens."""
    blocks = motion.blocks(motion.waiting(), more=len(errors))
    size = blocks.x.shape[1] - len(errors)
    of_laws = [np.zeros((len(law.inputs), blocks.x.shape[1])) for law in motion.laws]
    for k, name in enumerate(errors):
        for law, part in zip(motion.laws, of_laws, strict=True):
            if name in law.inputs:
                part[law.inputs.index(name), size + k] = 1.0
    seen, t = [], 0.0
    for at in instants:
        motion.advance(blocks, at.time - t)
        t = at.time
        if not at.samples and not at.actions:
            seen.append(motion.outputs(blocks)[rows])
        motion.happen(blocks, at, 0.0, of_laws)
    motion.advance(blocks, period - t)
    whole = blocks.stacked()
    return whole[:, :size], whole[:, size:], seen


def _of_period(loop: Loop, plant: StateSpace, A: Floats, B: Floats, C: Floats, period: float) -> StateSpace:
    """The motion of a loop over a period (s), with what its ``plant``, in its form, knows to be kept."""
    x, u, y = (tuple(f"{word}{k}" for k in range(n)) for word, n in (("x", len(A)), ("u", B.shape[1]), ("y", len(C))))
    space = StateSpace(A, B, C, np.zeros((len(y), len(u))), x, u, y, dt=period, unsteady=loop.plant.unsteady)
    if (known := loop.plant.known) is None or not isinstance(known.form, KnownForm):
        return space
    driven = plant.B[:, [plant.index("inputs", x) for law in loop.laws for x in law.outputs if x in plant.inputs]]
    read = plant.C[[plant.index("outputs", x) for law in loop.laws for x in law.inputs if x in plant.outputs]]
    unit = np.eye(len(A))
    return replace(
        space, form=InModes(LoopForm(A, B, C, unit, unit, known.form, driven, read), space.A, space.B, space.C)
    )


def check_decay(space: StateSpace) -> None:
    """Raises UnboundedError where a state that inputs move and outputs see does not decay."""
    if unstable(space):
        raise UnboundedError(
            "moves what the loop never takes back, as the momentum of wheels whose friction no integral carries: the "
            "errors grow without bound"
        )
