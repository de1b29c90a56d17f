"""Charts: independent coordinates at an operating point, and how everything else changes with them to first order.

With p the changes of the coordinates, w those of the speeds and w' of their rates, a small motion has the

    turn and displacement   xi    = H p              q changes by H(q) xi
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

STEADY = 1e-6  # m/s2 or rad/s2: what counts as equilibrium
DEPENDENT = 1e-9  # of a pivot, relative to the largest, below which a row of constraints says nothing new


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates by name, P free ones and then D that drivers prescribe, and their derivatives.

    H, eta_p, alpha_p, alpha_w (n_v, P + D), E (P + D, P + D) : as above. geometric_stiffness (P, P + D) : the
    change of H^T with the coordinates, times the forces that the constraints balance, or the change of direction of the
    reactions. speeds, rates (P + D,) : the speeds at the point itself, v = H speeds, and their rates. retract : the
    state q, v of the System after finite changes p, w (P + D,), on the constraints. speeds_at : the free speeds (P,) of
    another state q, v. local_difference : p and w (2 P,) of the free coordinates from the point to a state q, v, angles
    less whole turns; None where the choice of coordinates may differ from state to state. joints : the column of each
    joint's coordinate, by the number of the latter.
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
    """Displacements of every frame in its own axes, its turn, and internal coordinates, without constraints.

    In axes that move with the frames a steadily turning structure has constant coefficients. The speeds are the
    velocities in the same axes, and the angular velocities.
    """
    system = point.system
    axes = OwnAxes.of_system(system)
    own = axes.derivatives(point.q, point.v, point.a)
    return Chart(
        _names(system),
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
    """An independent part of the coordinates of all frames, in equilibrium, for any constraints.

    Raises ModelError elsewhere, where velocities and accelerations change with the coordinates.
    """
    system = point.system
    if not point.at_rest or np.max(np.abs(point.a), initial=0.0) > STEADY:
        raise ModelError.at(
            ("drivers",), "orientations are driven at this start, which is linearised in equilibrium only"
        )
    own_axes = OwnAxes.of_system(system)
    own = own_axes.derivatives(point.q, point.v, point.a)
    names = _names(system)
    J = system.jacobian(point.u, point.q).toarray() @ own.H
    driven, slopes = driver_slopes(point)
    dependent, independent = parted(J)
    solve = np.linalg.pinv(J[:, dependent])
    spread = np.zeros((system.n_v, len(independent) + len(driven)))
    spread[independent, np.arange(len(independent))] = 1.0
    spread[dependent, : len(independent)] = -solve @ J[:, independent]
    spread[dependent, len(independent) :] = -solve @ slopes
    H = own.H @ spread
    nothing = np.zeros_like(H)
    stiffness = H[:, : len(independent)].T @ (point.reaction_stiffness() @ H)
    chosen = tuple(names[k] for k in independent)
    # in equilibrium nothing else changes
    zero = np.zeros((H.shape[1], H.shape[1]))
    still = np.zeros(H.shape[1])
    changes = np.concatenate([own.rates[independent], np.zeros(len(driven))])

    def retract(p: Floats, w: Floats) -> tuple[Floats, Floats]:
        return system.projected(point.u, system.retract(point.q, H @ p), point.v + H @ w)

    def speeds_at(q: Floats, v: Floats) -> Floats:
        return own_axes.speeds(q, v)[independent]

    return Chart(chosen, driven, H, nothing, nothing, nothing, zero, stiffness, still, changes, retract, speeds_at)


def driver_slopes(point: OperatingPoint) -> tuple[tuple[str, ...], Floats]:
    """Names of what drivers prescribe one by one, and (n_c, D) how the constraints change with it.

    The rates of the constraints are linear in those of the drivers, so that a unit of each is exact.
    """
    system = point.system
    names, columns = [], []
    still = np.zeros((1, system.n_v))
    base = system.constraint_rates(point.u[None], point.q[None], still)[0]
    at = system.constraint_set.first_input
    for input_ in system.constraint_set.inputs:
        if input_.width == 3 and not input_.of_discrete:
            u = point.u.copy()
            u[at + 1] += 1.0
            columns.append(system.constraint_rates(u[None], point.q[None], still)[0] - base)
            names.append(input_.label.removesuffix(".motion"))
        at += input_.width
    return tuple(names), np.array(columns).reshape(-1, system.n_c).T


def _names(system: System) -> tuple[str, ...]:
    layout = system.layout
    names = [""] * system.n_v
    words = ("x", "y", "z", "turn_x", "turn_y", "turn_z")
    bodies = {frame: f"bodies.{name}" for name, frame in layout.bodies.items()}
    for k, frame in enumerate(layout.frames):
        for i in range(frame.freedom):
            names[layout.frame_v[k] + i] = f"{bodies.get(k, frame.label)}.{words[i]}"
    for each, place in zip(layout.internal, layout.internal_v, strict=True):
        names[place] = each.name
    return tuple(names)


def parted(J: Floats) -> tuple[Ints, Ints]:
    """Columns that the constraints determine, and the others."""
    from scipy.linalg import qr

    _, R, order = qr(J, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > DEPENDENT * diagonal[0]))
    return np.sort(order[:rank]), np.sort(order[rank:])
