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
from typing import Any

import numpy as np

from femb.analysis.linear.point import OperatingPoint
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.numerics import rotations

STEADY = 1e-6  # m/s2 or rad/s2: what counts as equilibrium
DEPENDENT = 1e-9  # of a pivot, relative to the largest, below which a row of constraints says nothing new


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates by name, P free ones and then D that drivers prescribe, and their derivatives.

    H, eta_p, alpha_p, alpha_w (n_v, P + D), E (P + D, P + D) : as above. turning (P, P + D) : what the change of H^T
    makes of the forces that the constraints balance, and of the multipliers' own change of direction. speeds, rates
    (P + D,) : the speeds at the point itself, v = H speeds, and their rates. moved : the state q, v of the System
    after finite changes p, w (P + D,), on the constraints. speeds_at : the free speeds (P,) of another state q, v.
    apart : the other way, p and w (2 P,) of the free coordinates from the point to a state q, v, angles less whole
    turns; None where the choice of coordinates may differ from state to state. joints : the coordinate that a joint's
    coordinate is, by its number.
    """

    names: tuple[str, ...]
    driven: tuple[str, ...]
    H: Floats
    eta_p: Floats
    alpha_p: Floats
    alpha_w: Floats
    E: Floats
    turning: Floats
    speeds: Floats
    rates: Floats
    moved: Callable[[Floats, Floats], tuple[Floats, Floats]]
    speeds_at: Callable[[Floats, Floats], Floats]
    apart: Callable[[Floats, Floats], Floats] | None = None
    joints: dict[int, int] = field(default_factory=dict)

    @property
    def free(self) -> int:
        """P, the number of free coordinates."""
        return len(self.names)


def frames_chart(point: OperatingPoint) -> Chart:
    """Displacements of every frame in its own axes, its turn, and strains, as if there were no constraints.

    In axes that move with the frames a steadily turning structure has constant coefficients. The speeds are the
    velocities in the same axes, and the angular velocities.
    """
    system = point.system
    axes, eta, alpha_p, alpha_w, E, rates = _own_axes(point)
    return Chart(
        _names(system),
        (),
        axes,
        eta,
        alpha_p,
        alpha_w,
        E,
        np.zeros((system.n_v, system.n_v)),
        velocities_in_own_axes(system, point.q, point.v),
        rates,
        lambda p, w: _carried(point, p, w),
        lambda q, v: velocities_in_own_axes(system, q, v),
        lambda q, v: _apart(point, q, v),
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
    axes, _, _, _, _, rates = _own_axes(point)
    names = _names(system)
    J = system.jacobian(point.u, point.q).toarray() @ axes
    driven, slopes = driver_slopes(point)
    dependent, independent = parted(J)
    solve = np.linalg.pinv(J[:, dependent])
    spread = np.zeros((system.n_v, len(independent) + len(driven)))
    spread[independent, np.arange(len(independent))] = 1.0
    spread[dependent, : len(independent)] = -solve @ J[:, independent]
    spread[dependent, len(independent) :] = -solve @ slopes
    H = axes @ spread
    nothing = np.zeros_like(H)
    turning = H[:, : len(independent)].T @ (point.reaction_stiffness() @ H)
    chosen = tuple(names[k] for k in independent)
    # in equilibrium nothing else changes
    zero = np.zeros((H.shape[1], H.shape[1]))
    still = np.zeros(H.shape[1])
    changes = np.concatenate([rates[independent], np.zeros(len(driven))])

    def moved(p: Floats, w: Floats) -> tuple[Floats, Floats]:
        q = point.q + system.rates(point.q[None], (H @ p)[None])[0]
        system.normalise(q)
        return system.projected(point.u, q, point.v + H @ w)

    def speeds_at(q: Floats, v: Floats) -> Floats:
        return velocities_in_own_axes(system, q, v)[independent]

    return Chart(chosen, driven, H, nothing, nothing, nothing, zero, turning, still, changes, moved, speeds_at)


def driver_slopes(point: OperatingPoint) -> tuple[tuple[str, ...], Floats]:
    """Names of what drivers prescribe one by one, and (n_c, D) how the constraints change with it.

    The rates of the constraints are linear in those of the drivers, so that a unit of each is exact.
    """
    system = point.system
    names, columns = [], []
    still = np.zeros((1, system.n_v))
    base = system.constraint_rates(point.u[None], point.q[None], still)[0]
    for batch in system.held:
        at = batch.first_input
        for each in batch.inputs:
            if each.width == 3 and not each.of_discrete:
                u = point.u.copy()
                u[at + 1] += 1.0
                columns.append(system.constraint_rates(u[None], point.q[None], still)[0] - base)
                names.append(each.label.removesuffix(".motion"))
            at += each.width
    return tuple(names), np.array(columns).reshape(-1, system.n_c).T


def velocities_in_own_axes(system: Any, q: Floats, v: Floats) -> Floats:
    """v (n_v,) with the velocity of every frame in its own axes."""
    out, layout = v.copy(), system.layout
    for k, frame in enumerate(layout.frames):
        if frame.freedom == 6:
            i, j = layout.frame_q[k], layout.frame_v[k]
            out[j : j + 3] = rotations.rotate_back(rotations.normalise(q[i + 3 : i + 7]), v[j : j + 3])
    return out


def _own_axes(point: OperatingPoint) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    """H = blockdiag(R, 1), the derivatives of velocities in the axes of the frames, E, and the rates of the velocities.

    For displacements R p and turns phi, with V, A the velocity and acceleration in these axes: eta = R (w + phi x V),
    alpha = R (w' + omega x w + delta omega x V + phi x A), p' = w - omega x p + phi x V,
    phi' = delta omega - omega x phi. The rates are A - omega x V.
    """
    system, layout = point.system, point.system.layout
    H = np.eye(system.n_v)
    eta, alpha_p, alpha_w, E = np.zeros((4, system.n_v, system.n_v))
    rates = point.a.copy()
    for k, frame in enumerate(layout.frames):
        if frame.freedom != 6:
            continue
        i, j = layout.frame_q[k], layout.frame_v[k]
        R = rotations.rotation_matrix(rotations.normalise(point.q[i + 3 : i + 7]))
        line, turn = slice(j, j + 3), slice(j + 3, j + 6)
        velocity, acceleration = (rotations.cross_matrix(R.T @ x[line]) for x in (point.v, point.a))
        rates[line] = R.T @ (point.a[line] - np.cross(R @ point.v[turn], point.v[line]))
        omega = rotations.cross_matrix(point.v[turn])
        H[line, line] = R
        eta[line, turn], alpha_p[line, turn] = -R @ velocity, -R @ acceleration
        alpha_w[line, line], alpha_w[line, turn] = R @ omega, -R @ velocity
        E[line, line], E[line, turn], E[turn, turn] = -omega, -velocity, -omega
    return H, eta, alpha_p, alpha_w, E, rates


def _carried(point: OperatingPoint, p: Floats, w: Floats) -> tuple[Floats, Floats]:
    """The state after changes in the frames' own axes: velocities there change by w alone."""
    system, layout = point.system, point.system.layout
    step = p.copy()
    v = point.v + w
    places = [(layout.frame_q[k], layout.frame_v[k]) for k, each in enumerate(layout.frames) if each.freedom == 6]
    for i, j in places:
        attitude = rotations.normalise(point.q[i + 3 : i + 7])
        step[j : j + 3] = rotations.rotate(attitude, p[j : j + 3])
    q = point.q + system.rates(point.q[None], step[None])[0]
    system.normalise(q)
    for i, j in places:
        before, after = (rotations.normalise(each[i + 3 : i + 7]) for each in (point.q, q))
        v[j : j + 3] = rotations.rotate(after, rotations.rotate_back(before, point.v[j : j + 3]) + w[j : j + 3])
    return q, v


def _apart(point: OperatingPoint, q: Floats, v: Floats) -> Floats:
    """Changes p and w (2 n_v,) from the point to a state, in the frames' own axes."""
    system, layout = point.system, point.system.layout
    p, w = np.zeros(system.n_v), v - point.v
    linear_q, linear_v, *_ = system.coordinates
    p[linear_v] = q[linear_q] - point.q[linear_q]
    for k, frame in enumerate(layout.frames):
        if frame.freedom == 6:
            i, j = layout.frame_q[k], layout.frame_v[k]
            before, after = (rotations.normalise(each[i + 3 : i + 7]) for each in (point.q, q))
            p[j : j + 3] = rotations.rotate_back(before, p[j : j + 3])
            p[j + 3 : j + 6] = rotations.logarithm(rotations.multiply(rotations.conjugate(before), after))
            w[j : j + 3] = rotations.rotate_back(after, v[j : j + 3])
            w[j : j + 3] -= rotations.rotate_back(before, point.v[j : j + 3])
    return np.concatenate([p, w])


def _names(system: Any) -> tuple[str, ...]:
    layout = system.layout
    names = [""] * system.n_v
    words = ("x", "y", "z", "turn_x", "turn_y", "turn_z")
    bodies = {frame: f"bodies.{name}" for name, frame in layout.bodies.items()}
    for k, frame in enumerate(layout.frames):
        for i in range(frame.freedom):
            names[layout.frame_v[k] + i] = f"{bodies.get(k, frame.label)}.{words[i]}"
    for k, label in enumerate(layout.strain_labels):
        names[layout.strain_v[k]] = f"{label}.strain"
    return tuple(names)


def parted(J: Floats) -> tuple[Any, Any]:
    """Columns that the constraints determine, and the others."""
    from scipy.linalg import qr

    _, R, order = qr(J, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > DEPENDENT * diagonal[0]))
    return np.sort(order[:rank]), np.sort(order[rank:])
