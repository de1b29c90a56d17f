"""Linear models of a rotor at rest over its speed, and from them its response, its critical speeds and its stability.

    x' = A x + B u,    y = C x + D u,    A = A_0 + sum_i (theta_i(W) - theta_i(W_0)) A_i,    B, D ~ W^2

theta : the speed W, and the coefficients of bearings that have tables over it. All else is computed once.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.types import Complexes, Floats
from femb.base.values import shallow_copy
from femb.elements.spring.bearing import Bearing
from femb.elements.wheel.rotor import Rotor
from femb.linear.linearise import linearize
from femb.model.model import Model
from femb.profiles import Constant

EPS = float(np.finfo(float).eps)
# Speeds at which poles are sought where bearings have tables, and at which eigenvalues are computed.
NODES, JUDGED = 13, 33
# States up to which all eigenvalues are computed; of more the slowest motions, and at a third of the speeds.
DENSE, SLOWEST = 600, 40
# Corrections of poles there, and parts of the range up to which an onset of instability is known: 2^-HALVINGS.
CORRECTIONS, HALVINGS = 3, 16
# Of a pole: others that are nearer are the same.
SAME = 1e-7
# Growth by the size of an eigenvalue: less is rounding, more so of many states. What is slower than this part of the
# least speed is no vibration.
GROWS, OF_MANY, SLOW = 1e-8, 1e-6, 1e-3


class RotorSpeeds:
    """The linear models of a model over the speed of one of its rotors, with its unbalances as inputs.

    speeds : (v,) rad/s, none of them zero. outputs : names as in ``femb.linearize``.
    """

    def __init__(self, model: Model, rotor: Rotor, speeds: Floats, outputs: list[str]) -> None:
        self.model, self.rotor, self.speeds = model, rotor, speeds
        self.tables = [
            (item.name, word, np.asarray(item.speeds, dtype=float), np.asarray(values, dtype=float))
            for item in model.items()
            if isinstance(item, Bearing) and item.rotor == rotor.name and item.speeds is not None
            for word, values in item.coefficients.items()
            if np.ptp(values)
        ]
        self.last = float(speeds[np.argmax(np.abs(speeds))])
        self.base = self._values(self.last)
        names = [f"loads.{load.name}.force.factor" for load in replace(rotor, speed=self.last).parts()]
        self.space = linearize(self._model(self.base), at_rest=True, inputs=names, outputs=outputs)
        self.slopes = list(self._slopes(names, outputs))

    @cached_property
    def _curves(self) -> list[Callable[[float], Floats]]:
        from scipy.interpolate import PchipInterpolator

        return [PchipInterpolator(speeds, values) for *_, speeds, values in self.tables]

    def _values(self, speed: float) -> Floats:
        """(i,) the speed, and the coefficients of bearings that change with it."""
        at = [float(np.clip(speed, speeds[0], speeds[-1])) for *_, speeds, _ in self.tables]
        return np.array([speed, *(curve(x) for curve, x in zip(self._curves, at, strict=True))])

    def _model(self, values: Floats) -> Model:
        """The model with these values, and the forces of the unbalances, which are zero at its start."""
        changed: dict[str, Any] = {}
        for (bearing, word, *_), value in zip(self.tables, values[1:].tolist(), strict=True):
            changed.setdefault(bearing, {})[word] = value
        other = self.turned(float(values[0]), unbalances=None)
        for name, numbers in changed.items():
            item: Any = other.springs[name]
            given = {word: numbers.get(word, np.ravel(value)[0]) for word, value in item.coefficients.items()}
            other.remove(item)
            other.add(replace(item, speeds=None, rotor=None, **given))
        for load in replace(self.rotor, speed=self.last).parts():
            other.add(replace(load, profile=Constant(0.0)))
        return other

    def turned(self, speed: float, **words: Any) -> Model:
        """The model with the rotor at another speed, rad/s, and other fields of it, by name."""
        other = shallow_copy(self.model)
        other.tables = {table: dict(items) for table, items in self.model.tables.items()}
        other.remove(self.rotor)
        other.add(replace(self.rotor, speed=speed, **words))
        return other

    def _slopes(self, names: list[str], outputs: list[str]) -> Iterator[tuple[Floats, Floats]]:
        """Derivatives of A and C by each value: they are linear in these."""
        steps = [0.5 * self.last, *(0.7 * np.ptp(values) for *_, values in self.tables)]
        for k, step in enumerate(steps):
            values = self.base.copy()
            values[k] -= step
            other = linearize(self._model(values), at_rest=True, inputs=names, outputs=outputs)
            yield (self.space.A - other.A) / step, (self.space.C - other.C) / step

    def _at(self, speed: float) -> tuple[Floats, Floats]:
        """A and C at a speed (rad/s)."""
        A, C = self.space.A.copy(), self.space.C.copy()
        for change, (of_A, of_C) in zip(self._values(speed) - self.base, self.slopes, strict=True):
            A += change * of_A
            C += change * of_C
        return A, C

    def response(self, speed: float) -> Complexes:
        """(p,) outputs by the unbalances: y(t) = Re(response e^(i |speed| t))."""
        loads = replace(self.rotor, speed=speed).parts()
        phases = np.exp(1j * np.array([load.profile.phase - 0.5 * np.pi for load in loads]))  # type: ignore[attr-defined]
        phases *= (speed / self.last) ** 2 * np.resize([1.0, np.sign(speed * self.last)], len(loads))
        A, C = self._at(speed)
        turn, b = 1j * abs(speed), self.space.B @ phases
        if self._of_rates:
            h = len(A) // 2
            p = np.linalg.solve(turn**2 * np.eye(h) - turn * A[h:, h:] - A[h:, :h], b[h:])
            x = np.concatenate([p, turn * p])
        else:
            x = np.linalg.solve(turn * np.eye(len(A)) - A, b)
        return np.asarray(C @ x + self.space.D @ phases)

    @cached_property
    def _of_rates(self) -> bool:
        """Whether the second half of the states are the rates of the first, which no input changes."""
        h = len(self.space.A) // 2
        matrices = (self.space.A[:h], *(of_A[:h] for of_A, _ in self.slopes))
        rates = (np.eye(h, 2 * h, h), *(np.zeros((h, 2 * h)) for _ in self.slopes))
        alike = 2 * h == len(self.space.A) and not np.any(self.space.B[:h])
        return alike and all(np.array_equal(*pair) for pair in zip(matrices, rates, strict=True))

    def responses(self, speeds: Floats) -> Complexes:
        """(v, p) outputs at speeds (v,) rad/s."""
        return np.array([self.response(speed) for speed in speeds.tolist()]).reshape(len(speeds), len(self.space.C))

    def poles(self, low: float, high: float) -> Complexes:
        """Speeds between two of one sign at which nothing need act, i |W| x = A(W) x: near the real axis are peaks."""
        nodes = np.linspace(low, high, NODES) if self.tables else np.array([0.5 * (low + high)])
        cell, step = (high - low) / max(1, len(nodes) - 1), 1e-3 * (high - low)
        found: list[complex] = []
        for node in nodes.tolist():
            near = self._poles_near(node, step)
            for pole in near[np.abs(near.real - node) <= cell].tolist():
                for _ in range(CORRECTIONS if self.tables else 0):
                    others = self._poles_near(float(np.clip(pole.real, low, high)), step)
                    pole = complex(others[np.argmin(np.abs(others - pole))])
                if low < pole.real < high and all(abs(pole - other) > SAME * abs(pole) for other in found):
                    found.append(pole)
        return np.array(found, dtype=complex)

    def _poles_near(self, speed: float, step: float) -> Complexes:
        """The poles of A(W) by its tangent at a speed, from differences over a step where bearings have tables."""
        A, _ = self._at(speed)
        slope = (
            (self._at(speed + step)[0] - self._at(speed - step)[0]) / (2.0 * step) if self.tables else self.slopes[0][0]
        )
        return np.asarray(
            np.linalg.eigvals(np.linalg.solve(1j * np.sign(speed) * np.eye(len(A)) - slope, A - speed * slope))
        )

    def growing(self, speed: float) -> Complexes:
        """Eigenvalues (1/s) that grow at a speed, the fastest first; of a pair one."""
        A, _ = self._at(speed)
        values, largest = self._eigenvalues(A), float(np.max(np.abs(A), initial=0.0))
        sizes = np.abs(values)
        least = max(SLOW * float(np.min(np.abs(self.speeds))), 10.0 * np.sqrt(EPS * largest))
        rounding = GROWS if len(A) <= DENSE else OF_MANY
        grows = values.real > np.maximum(rounding * sizes, 100.0 * EPS * largest / np.maximum(sizes, least))
        found = values[grows & (sizes > least) & (values.imag >= 0.0)]
        return np.asarray(found[np.argsort(-found.real)])

    def _eigenvalues(self, A: Floats) -> Complexes:
        """Eigenvalues (1/s) of A: all, or of many states those of the slowest motions."""
        if len(A) <= DENSE:
            return np.asarray(np.linalg.eigvals(A), dtype=complex)
        from scipy.linalg import lu_factor, lu_solve
        from scipy.sparse.linalg import LinearOperator, eigs

        shift = abs(self.last)
        factors = lu_factor(A - shift * np.eye(len(A)))
        inverse = LinearOperator(A.shape, matvec=lambda x: lu_solve(factors, x, check_finite=False), dtype=float)
        start = np.random.default_rng(1).standard_normal(len(A))
        return np.asarray(eigs(A, k=SLOWEST, sigma=shift, OPinv=inverse, v0=start, return_eigenvectors=False))

    @cached_property
    def unstable(self) -> list[tuple[float, float, float, complex]]:
        """Ranges of speeds at which the rotor is unstable, by |W| from the first to the last, one of the speeds in each
        and the eigenvalue there that grows fastest."""
        found: list[tuple[float, float, float, complex]] = []
        order = self.speeds[np.argsort(np.abs(self.speeds), kind="stable")]
        for side in filter(len, (order[order > 0.0], order[order < 0.0])):
            most = JUDGED if len(self.space.A) <= DENSE else JUDGED // 3
            nodes = side[np.unique(np.linspace(0, len(side) - 1, min(len(side), most)).astype(int))].tolist()
            grows = [self.growing(speed) for speed in nodes]
            first = nodes[0]
            for k, values in enumerate(grows):
                if not len(values):
                    continue
                if k and not len(grows[k - 1]):
                    first = self._onset(nodes[k - 1], nodes[k], True)
                if k + 1 == len(nodes) or not len(grows[k + 1]):
                    last = nodes[k] if k + 1 == len(nodes) else self._onset(nodes[k], nodes[k + 1], False)
                    found.append((first, last, nodes[k], complex(values[0])))
        return found

    def _onset(self, low: float, high: float, grows: bool) -> float:
        """The speed between two at which something begins to grow, or no longer does, on the side that grows."""
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if bool(len(self.growing(middle))) == grows:
                high = middle
            else:
                low = middle
        return high if grows else low
