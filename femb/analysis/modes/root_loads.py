"""Root loads of an appendage from its modes, by mode displacement and by mode acceleration.

    W = sum L_j^T omega_j^2 eta_j                                              mode displacement
    W = - M_rr a - sum L_j^T (eta_j'' + 2 zeta_j omega_j eta_j')               mode acceleration

W (6) is the elastic force and torque of the appendage on its root, about the point and along the axes of the
participation; a the acceleration of the root, in small motions about rest. Mode acceleration is exact in the
quasi-static part whatever the number of modes; mode displacement lacks what the modes left out carry.
Source: docs/theory/loads.md, section 4.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from femb.analysis.modes.participation import DIRECTIONS, Participation
from femb.base.brief import Brief
from femb.base.errors import ModelError
from femb.base.types import Floats

# A component below this part of the largest is shown as zero in the table.
NOISE = 1e-9
METHODS = ("acceleration", "displacement")


@dataclass(frozen=True, eq=False)
class ModalMotion(Brief):
    """Modal coordinates (T, k), sqrt(kg) m, their rates and accelerations, under an acceleration (T, 6) of the root.

    part : whose modes these are. time (T,) s; empty of a quasi-static motion.
    """

    part: Participation
    time: Floats
    acceleration: Floats
    coordinates: Floats
    rates: Floats
    accelerations: Floats

    def root_load(self, by: str = "acceleration") -> Floats:
        """W (T, 6) N, N m. by : "acceleration" or "displacement". Raises ModelError for another word."""
        if by not in METHODS:
            raise ModelError(f"root load: by: got {by!r}, wanted one of {', '.join(METHODS)}")
        part = self.part
        omega = 2.0 * np.pi * part.frequencies
        if by == "displacement":
            return np.asarray((omega**2 * self.coordinates) @ part.coupling)
        inertial = self.accelerations + 2.0 * part.damping * omega * self.rates
        return np.asarray(-self.acceleration @ part.rigid_mass - inertial @ part.coupling)


def quasi_static(part: Participation, acceleration: ArrayLike) -> ModalMotion:
    """The motion under a steady acceleration (6,) or (T, 6) of the root: eta_j = -L_j a / omega_j^2.

    acceleration : m/s2 and rad/s2, along the axes of ``part``. Raises ModelError: another shape.
    """
    a = _acceleration(acceleration)
    still = np.zeros((len(a), len(part.frequencies)))
    coordinates = -a @ part.coupling.T / (2.0 * np.pi * part.frequencies) ** 2
    return ModalMotion(part, np.zeros(0), a, coordinates, still, still)


def base_motion(part: Participation, time: ArrayLike, acceleration: ArrayLike) -> ModalMotion:
    """The motion of the modes, from rest without deformation, under an acceleration history of the root.

    time (T,) s, increasing. acceleration (T, 6) m/s2 and rad/s2, along the axes of ``part``, linear between the
    instants, for which the solution is exact: eta'' + 2 zeta omega eta' + omega^2 eta = -L a.
    Raises ModelError: other shapes, times that do not increase.
    """
    from scipy.linalg import expm

    t, a = np.asarray(time, dtype=float), _acceleration(acceleration)
    if t.shape != (len(a),) or np.any(np.diff(t) <= 0.0):
        raise ModelError(f"base motion: time: got the shape {t.shape}, wanted {len(a)} increasing instants")
    omega, count = 2.0 * np.pi * part.frequencies, len(part.frequencies)
    force = -a @ part.coupling.T
    # states of each mode: eta, eta', the force and its rate, which is constant within an interval
    flow = np.zeros((count, 4, 4))
    flow[:, 0, 1] = flow[:, 1, 2] = flow[:, 2, 3] = 1.0
    flow[:, 1, 0], flow[:, 1, 1] = -(omega**2), -2.0 * part.damping * omega
    eta, rate = np.zeros((2, len(t), count))
    steps: dict[float, Floats] = {}
    for k, h in enumerate(np.diff(t)):
        # equal steps differ by rounding
        step = float(f"{h:.12g}")
        if step not in steps:
            steps[step] = expm(step * flow)
        slope = (force[k + 1] - force[k]) / h
        x = np.stack([eta[k], rate[k], force[k], slope], axis=-1)
        eta[k + 1], rate[k + 1] = np.einsum("jab,jb->aj", steps[step], x)[:2]
    return ModalMotion(part, t, a, eta, rate, force - 2.0 * part.damping * omega * rate - omega**2 * eta)


def convergence_table(part: Participation, direction: str) -> str:
    """Root load under unit acceleration of the root in one direction: by displacement with 1, 2, ... modes, and exact.

    direction : one of x, y, z, rx, ry, rz. Raises ModelError for another word.
    """
    if direction not in DIRECTIONS:
        raise ModelError(f"root load: direction: got {direction!r}, wanted one of {', '.join(DIRECTIONS)}")
    a = np.zeros(6)
    a[DIRECTIONS.index(direction)] = 1.0
    lines = [f"{'modes':>5}" + "".join(f"{word:>12}" for word in DIRECTIONS)]
    for count in range(1, len(part.frequencies) + 1):
        load = quasi_static(part.first(count), a).root_load("displacement")[0]
        lines.append(_line(str(count), load))
    return "\n".join([*lines, _line("exact", quasi_static(part, a).root_load()[0])])


def _line(head: str, load: Floats) -> str:
    """A line of the table; rounding errors are shown as zero."""
    clean = np.where(np.abs(load) > NOISE * np.max(np.abs(load)), load, 0.0)
    return f"{head:>5}" + "".join(f" {x:11.6g}" for x in clean)


def _acceleration(values: ArrayLike) -> Floats:
    a = np.atleast_2d(np.asarray(values, dtype=float))
    if a.ndim != 2 or a.shape[1] != 6:
        raise ModelError(f"root load: acceleration: got the shape {a.shape}, wanted (6,) or (T, 6)")
    return a
