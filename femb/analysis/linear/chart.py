"""Charts: independent coordinates at an operating point, and the first-order changes of the motion by them.

With the changes p of the coordinates, w of the speeds and w' of their rates, a small motion has the

    pose                    xi    = H p              q changes by H(q) xi
    velocities              eta   = eta_p p + H w
    accelerations           alpha = alpha_p p + alpha_w w + H w'
    kinematics              p'    = E p + w

Source: docs/theory/linearisation.md, equations (3) to (6).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from femb.analysis.linear.own_axes import OwnAxes
from femb.analysis.linear.point import OperatingPoint
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.system.system import System

STEADY = 1e-6  # m/s2 or rad/s2: largest acceleration in equilibrium
DEPENDENT = 1e-9  # pivots below this, relative to the largest, belong to dependent rows of constraints


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates by name, P free ones and then D that drivers prescribe, and derivatives with respect to them.

    H, eta_p, alpha_p, alpha_w (n_v, P + D), E (P + D, P + D) : as above. geometric_stiffness (P, P + D) : N of
    docs/theory/linearisation.md, equation (8). speeds, rates (P + D,) : the speeds at the point, v = H speeds, and
    their rates. retract : the state q, v of the System after finite changes p, w (P + D,), on the constraints.
    speeds_at : the free speeds (P,) of a state q, v. local_difference : inverse of retract, p and w (2 P,) of the free
    coordinates from the point to a state q, v, angles modulo 2 pi; None where the choice of coordinates may depend on
    the state. joints : the column of the chart by the number of the joint coordinate.
    """

    names: tuple[str, ...]
    driven: tuple[str, ...]
    H: Floats
    eta_p: Floats
    alpha_p: Floats
    alpha_w: Floats
    E: Floats
    geometric_stiffness: Floats
    speeds: Floats
    rates: Floats
    retract: Callable[[Floats, Floats], tuple[Floats, Floats]]
    speeds_at: Callable[[Floats, Floats], Floats]
    local_difference: Callable[[Floats, Floats], Floats] | None = None
    joints: dict[int, int] = field(default_factory=dict)

    @property
    def free(self) -> int:
        """P, the number of free coordinates."""
        return len(self.names)

    def after(self, change: Floats) -> tuple[Floats, Floats]:
        """The state q, v after a change (2 P,) of the free coordinates and their speeds."""
        p, w = np.zeros((2, self.H.shape[1]))
        p[: self.free], w[: self.free] = change[: self.free], change[self.free :]
        return self.retract(p, w)


def frames_chart(point: OperatingPoint) -> Chart:
    """Chart of a system without constraints: displacements of all frames in their own axes, rotations, internal ones.

    In axes that move with the frames, a structure in steady rotation has constant coefficients. The speeds are the
    velocities in the same axes, and the angular velocities.
    """
    system = point.system
    axes = OwnAxes.of_system(system)
    own = axes.derivatives(point.q, point.v, point.a)
    return Chart(
        frame_names(system),
        (),
        own.H,
        own.eta,
        own.alpha_p,
        own.alpha_w,
        own.E,
        np.zeros((system.n_v, system.n_v)),
        own.speeds,
        own.rates,
        lambda p, w: axes.retract(point.q, point.v, p, w),
        axes.speeds,
        lambda q, v: np.concatenate(axes.local_difference(point.q, point.v, q, v)),
    )


def resting_chart(point: OperatingPoint) -> Chart:
    """Chart in equilibrium, for any constraints: an independent part of the coordinates of all frames.

    Raises ModelError at other points, where velocities and accelerations change with the coordinates.
    """
    system = point.system
    if not point.at_rest or np.max(np.abs(point.a), initial=0.0) > STEADY:
        raise ModelError.at(
            ("drivers",), "orientations are driven at this start, which is linearised in equilibrium only"
        )
    own_axes = OwnAxes.of_system(system)
    own = own_axes.derivatives(point.q, point.v, point.a)
    names = frame_names(system)
    J = system.jacobian(point.u, point.q).toarray() @ own.H
    driven, slopes = driver_slopes(point)
    dependent, independent = dependent_columns(J)
    solve = np.linalg.pinv(J[:, dependent])
    spread = np.zeros((system.n_v, len(independent) + len(driven)))
    spread[independent, np.arange(len(independent))] = 1.0
    spread[dependent, : len(independent)] = -solve @ J[:, independent]
    spread[dependent, len(independent) :] = -solve @ slopes
    H = own.H @ spread
    zero = np.zeros_like(H)  # in equilibrium velocities and accelerations do not change with the coordinates
    stiffness = H[:, : len(independent)].T @ (point.reaction_stiffness() @ H)
    chosen = tuple(names[k] for k in independent)
    E, speeds = np.zeros((H.shape[1], H.shape[1])), np.zeros(H.shape[1])
    rates = np.concatenate([own.rates[independent], np.zeros(len(driven))])

    def retract(p: Floats, w: Floats) -> tuple[Floats, Floats]:
        return system.projected(point.u, system.retract(point.q, H @ p), point.v + H @ w)

    def speeds_at(q: Floats, v: Floats) -> Floats:
        return own_axes.speeds(q, v)[independent]

    return Chart(chosen, driven, H, zero, zero, zero, E, stiffness, speeds, rates, retract, speeds_at)


def driver_slopes(point: OperatingPoint) -> tuple[tuple[str, ...], Floats]:
    """Names of the coordinates that drivers prescribe, and the derivatives (n_c, D) of the constraints by them.

    The rates of the constraints are linear in the rates of the drivers: a difference for a unit rate is exact.
    """
    system = point.system
    names, columns = [], []
    at_rest = np.zeros((1, system.n_v))
    base = system.constraint_rates(point.u[None], point.q[None], at_rest)[0]
    at = system.constraint_set.first_input
    for input_ in system.constraint_set.inputs:
        if input_.width == 3 and not input_.of_discrete:
            u = point.u.copy()
            u[at + 1] += 1.0
            columns.append(system.constraint_rates(u[None], point.q[None], at_rest)[0] - base)
            names.append(input_.label.removesuffix(".motion"))
        at += input_.width
    return tuple(names), np.array(columns).reshape(len(names), system.n_c).T


def frame_names(system: System) -> tuple[str, ...]:
    layout = system.layout
    names = [""] * system.n_v
    words = ("x", "y", "z", "turn_x", "turn_y", "turn_z")
    bodies = {frame: f"bodies.{name}" for name, frame in layout.bodies.items()}
    for k, frame in enumerate(layout.frames):
        for i in range(frame.freedom):
            names[layout.frame_v[k] + i] = f"{bodies.get(k, frame.label)}.{words[i]}"
    for internal, j in zip(layout.internal, layout.internal_v, strict=True):
        names[j] = internal.name
    return tuple(names)


def dependent_columns(J: Floats) -> tuple[Ints, Ints]:
    """Columns of dependent coordinates, chosen by pivoting, and of independent ones."""
    from scipy.linalg import qr

    _, R, order = qr(J, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > DEPENDENT * diagonal[0]))
    return np.sort(order[:rank]), np.sort(order[rank:])
