"""What a truncation leaves out, and a bound of its effect at any frequency.

The modes left out, of frequencies above omega_n, follow the motion q of the basis and the inputs u:

    (W^2 + i w D - w^2) eta = Phi^T (w^2 M - i w C) B q + Phi^T F u,    |(1 + i w W^-1 D W^-1 - w^2 W^-2)^-1| <= 1/(1 -
    w^2/omega_n^2) with any damping D that takes power

so that inner products weighted by W^-2, which static solutions give without the modes, bound the difference of the
transfer functions. Source: docs/theory/linearisation.md, equations (23) and (24).
"""

from dataclasses import dataclass

import numpy as np

from femb.base.types import Complexes, Floats


@dataclass(frozen=True, eq=False)
class SecondOrderModel:
    """A reduced model M q'' + C q' + K q = F u, y = P q + V q' + A q'' + D u, dense; r coordinates with names."""

    names: tuple[str, ...]
    mass: Floats
    damping: Floats
    stiffness: Floats
    forces: Floats
    position: Floats
    rate: Floats
    acceleration: Floats
    direct: Floats

    def inverse(self, s: complex) -> Complexes:
        """(r, r): (s^2 M + s C + K)^-1."""
        return np.asarray(np.linalg.inv(s * s * self.mass + s * self.damping + self.stiffness))

    def rows(self, s: complex) -> Complexes:
        """(p, r): P + s V + s^2 A."""
        return np.asarray(self.position + s * self.rate + s * s * self.acceleration, dtype=complex)

    def transfer(self, s: complex) -> Complexes:
        """(p, m) transfer matrix at s, 1/s."""
        return np.asarray(self.rows(s) @ self.inverse(s) @ self.forces + self.direct)


@dataclass(frozen=True, eq=False)
class Tail:
    """Inner products gram (t, t) of the modes left out, between M times l interface motions, C times all r motions of
    the basis, m inputs, and the rows P, V, A of p outputs.

    next_omega : rad/s, of the lowest of these modes; infinite if there are none. damping : s, the largest eigenvalue of
    C by K. corrected : whether the reduced model has the static share of the rows P.
    """

    gram: Floats
    interface: int
    inputs: int
    outputs: int
    next_omega: float
    damping: float
    corrected: bool

    def bound(self, reduced: SecondOrderModel, omega: float) -> Floats:
        """(p, m): the largest difference of the transfer matrices at omega, rad/s; infinite where nothing is known."""
        m, p, k, r = self.inputs, self.outputs, self.interface, len(reduced.names)
        if not np.isfinite(self.next_omega):
            return np.zeros((p, m))
        ratio = (omega / self.next_omega) ** 2
        if ratio >= 1.0:
            return np.full((p, m), np.inf)
        most, s = 1.0 / (1.0 - ratio), 1j * omega
        g = most * (ratio + omega * self.damping)
        first_input, t = k + r, len(self.gram)
        first_output = first_input + m
        inverse, rows = reduced.inverse(s), reduced.rows(s)
        if self.corrected:  # the rows before the correction
            rows[:, :k] += s * s * self.gram[first_output : first_output + p, :k]
        # the columns by which motions of the basis, inputs and outputs drive what was left out
        by_motion = np.zeros((t, r), dtype=complex)
        by_motion[:k, :k] = omega**2 * np.eye(k)
        by_motion[k:first_input] = -s * np.eye(r)
        of_inputs, of_outputs = by_motion @ inverse @ reduced.forces, by_motion @ inverse.T @ rows.T
        of_inputs[first_input:first_output] += np.eye(m)
        for j, factor in enumerate((1.0, s, s * s)):
            at = first_output + j * p
            of_outputs[at : at + p] += factor * np.eye(p)
        values, axes = np.linalg.eigh(self.gram)
        root = axes * np.sqrt(np.maximum(values, 0.0))
        coupled = root.T @ by_motion
        own = float(np.linalg.norm(coupled @ inverse @ coupled.T, 2))
        if most * own >= 1.0:
            return np.full((p, m), np.inf)
        static = of_outputs.T @ self.gram @ of_inputs
        if self.corrected:
            known = np.r_[0:k, first_input:first_output]
            static = static - self.gram[first_output : first_output + p, known] @ of_inputs[known]
        sizes = [np.linalg.norm(root.T @ x, axis=0) for x in (of_outputs, of_inputs)]
        rest = g + most**2 * own / (1.0 - most * own)
        return np.asarray(np.abs(static) + rest * np.outer(*sizes))


def gram_of(columns: Floats, flexible: Floats, kept: Floats, squares: Floats) -> Floats:
    """X^T F_e X less the share of the kept modes (n_v, k) with omega^2 (k,); flexible : F_e X (n_v, t)."""
    shares = kept.T @ columns / np.sqrt(squares)[:, None]
    gram = columns.T @ flexible - shares.T @ shares
    return np.asarray(0.5 * (gram + gram.T))
