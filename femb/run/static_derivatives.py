"""Derivatives of equilibria and of critical loads by a parameter p, from the static equations R(q, p, P) = 0.

    A S = -R_p,    g' = g_p + g_q S                                        a number g of an equilibrium, A = R_q
    P' = -x.(A_p + A_q[S_p]) x / x.(A_P + A_q[S_P]) x                      a bifurcation, with A x = 0
    P' = -x.R_p / x.R_P                                                    a limit point

x has the motion of a mode and its reactions. The partial derivatives are those at the same displacements from the
start: what moves the start moves the state.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Complexes, Floats
from femb.layout.layout import Layout
from femb.model.model import Model
from femb.numerics import rotations
from femb.recording.recording import Recording
from femb.results.results import Results
from femb.run.static import StaticResults, path_of, static_frame
from femb.statics.path import Equilibrium
from femb.statics.solve import Statics
from femb.system.system import System
from femb.vibration.completion import system_of

# Largest displacement, by the size of the model, or rotation of the differences along a motion.
STEP = 1e-4
# Of the terms of x.R_P: less is a bifurcation.
LIMIT = 1e-6
Number: TypeAlias = Callable[[Results], float]
Read: TypeAlias = "tuple[Callable[[StaticSide], Complexes], Callable[[Complexes], float]]"
"""What is read from a model, (n,), and the derivative by its changes (n,)."""


@dataclass(frozen=True, eq=False)
class StaticSide:
    """The static equations of a model."""

    system: System
    statics: Statics

    @classmethod
    def of(cls, model: Model, assemble: bool) -> "StaticSide":
        """The equations of a model under all loads, as in ``static``."""
        system = system_of(model, assemble)
        return cls(system, path_of(system).statics)

    def results(self, state: Equilibrium) -> Results:
        """The results of a single state."""
        with Recording(self.system, "static", None, "") as recording:
            recording.add(*static_frame(self.statics, self.system, 0, state))
        return recording.results()


@dataclass(frozen=True, eq=False)
class StaticForm:
    """An equilibrium of the nominal model, from which those beside it are read."""

    side: StaticSide
    state: Equilibrium

    def at(self, side: StaticSide) -> Equilibrium:
        """The state with the same displacements from the start of another model, not in equilibrium there.

        Raises ModelError: one of other unknowns.
        """
        twin, other = self.side.statics.twin, side.statics.twin
        if (twin.n_q, twin.n_v, twin.n_c) != (other.n_q, other.n_v, other.n_c):
            raise ModelError("statics: the numbers of unknowns differ beside the value")
        q = _moved(twin.layout, self.state.found.q, twin.q0, other.q0)
        return replace(self.state, found=replace(self.state.found, q=q))

    def along(self, motion: Floats, part: float) -> Equilibrium:
        """The state moved along changes (n_v + n_c,) of the coordinates and multipliers."""
        found, twin = self.state.found, self.side.statics.twin
        q = twin.retract(found.q, part * motion[: twin.n_v])
        multipliers = found.multipliers + part * motion[twin.n_v :]
        return replace(self.state, found=replace(found, q=q, multipliers=multipliers))

    def slope(self, number: Callable[[Equilibrium], float], motion: Floats) -> float:
        """The derivative of a number of states along a motion."""
        n, weights = self.side.statics.twin.n_v, self.side.statics.weights
        size = float(np.max(np.sqrt(weights) * np.abs(motion[:n]), initial=0.0))
        # numbers are linear in multipliers
        h = STEP / size if size else 1.0
        coarse, fine = (
            (number(self.along(motion, r)) - number(self.along(motion, -r))) / (2.0 * r) for r in (h, 0.5 * h)
        )
        return (4.0 * fine - coarse) / 3.0

    def residual(self, side: StaticSide) -> Floats:
        """(n_v + n_c,) of the static equations of another model."""
        found = self.at(side).found
        return side.statics.unbalanced(found.q, found.multipliers, found.load).equations

    def solved(self, right: Floats, border: Floats | None = None) -> Floats:
        """A x = right (n_v + n_c,); border (n_v,) : a motion without stiffness, along which x has no part.

        Raises RuntimeError: a singular A.
        """
        from scipy.sparse import block_array, csc_array
        from scipy.sparse.linalg import splu

        statics, found = self.side.statics, self.state.found
        system, state = statics.under(found.load), statics.state(found.q, found.load)
        stiffness, jacobian = statics.matrices(state, found.q, found.multipliers, system=system)
        A = csc_array(statics.twin.pattern.to_csc(stiffness + jacobian))
        if border is not None:
            column = csc_array(np.append(border, np.zeros(A.shape[0] - len(border)))[:, None])
            A = csc_array(block_array([[A, column], [column.T, None]]))
            right = np.append(right, 0.0)
        factors = splu(A.tocsc())
        x = factors.solve(right)
        x = x + factors.solve(right - A @ x)
        return np.asarray(x if border is None else x[:-1])


def of_equilibrium(form: StaticForm, number: Number) -> Read:
    """The derivative of a number of results."""

    def numbers(side: StaticSide) -> Complexes:
        own = number(side.results(form.at(side)))
        return np.append(form.residual(side), own).astype(complex)

    def derivative(change: Complexes) -> float:
        motion = form.solved(-change.real[:-1])
        return float(change[-1].real + form.slope(lambda state: number(form.side.results(state)), motion))

    return numbers, derivative


def of_critical(form: StaticForm, mode: Floats) -> Read:
    """The derivative of a critical load factor, of the state there and its mode (n_v,)."""
    statics, found = form.side.statics, form.state.found

    def matrix(of: Statics, state: Equilibrium) -> Floats:
        at = state.found
        stiffness, jacobian = of.matrices(of.state(at.q, at.load), at.q, at.multipliers, system=of.under(at.load))
        return np.asarray(stiffness + jacobian)

    x = mode / np.linalg.norm(mode)
    x = np.append(x, _reactions(statics.twin, matrix(statics, form.state), x))

    def stiffness(of: Statics, state: Equilibrium) -> float:
        return float(x @ of.twin.solver.multiply(matrix(of, state), x))

    def numbers(side: StaticSide) -> Complexes:
        return np.append(form.residual(side), stiffness(side.statics, form.at(side))).astype(complex)

    by_load = statics.by_load(found.q, found.load)
    along, rounding = float(x @ by_load), np.finfo(float).eps * float(np.linalg.norm(x) * np.linalg.norm(by_load))
    if abs(along) > LIMIT * float(np.abs(x) @ np.abs(by_load)) + rounding:
        return numbers, lambda change: -float(x @ change.real[:-1]) / along

    def whole(by: Floats, own: float) -> float:
        motion = form.solved(-by, x[: statics.twin.n_v])
        return own + form.slope(lambda state: stiffness(statics, state), motion)

    h = STEP * found.load
    states = [replace(form.state, found=replace(found, load=found.load + sign * h)) for sign in (1.0, -1.0)]
    pair = [stiffness(statics, state) for state in states]
    below = whole(by_load, (pair[0] - pair[1]) / (2.0 * h))
    return numbers, lambda change: -whole(change.real[:-1], float(change[-1].real)) / below


def _reactions(twin: System, matrix: Floats, x: Floats) -> Floats:
    """m (n_c,) of K x + J^T m = 0 for a mode x (n_v,), of block data of K and J."""
    from scipy.sparse.linalg import lsqr

    A, n = twin.pattern.to_csc(matrix), twin.n_v
    return np.asarray(lsqr(A[:n, n:], -(A[:n, :n] @ x), atol=1e-15, btol=1e-15)[0]) if twin.n_c else np.zeros(0)


def last_of(results: StaticResults, side: StaticSide) -> StaticForm:
    """The last equilibrium of results. Raises ModelError: motions that nothing resists."""
    state = results.last
    if state.neutral is not None and state.neutral.count:
        raise ModelError("statics: motions without stiffness")
    return StaticForm(side, state)


def _moved(layout: Layout, q: Floats, before: Floats, after: Floats) -> Floats:
    """q (n_q,) with the displacements that it has from one start before from another one after."""
    out = q.copy()
    out[layout.internal_q] += after[layout.internal_q] - before[layout.internal_q]
    for frame, i in zip(layout.frames, layout.frame_q, strict=True):
        out[i : i + 3] += after[i : i + 3] - before[i : i + 3]
        if frame.freedom == 6 and np.any(after[i + 3 : i + 7] != before[i + 3 : i + 7]):
            back = before[i + 3 : i + 7] * np.array([1.0, -1.0, -1.0, -1.0])
            turn = rotations.multiply(back, after[i + 3 : i + 7])
            out[i + 3 : i + 7] = rotations.multiply(q[i + 3 : i + 7], turn)
    return out
