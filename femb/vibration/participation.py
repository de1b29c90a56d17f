"""Participation of the modes of an appendage in the motion of its root, effective masses, and dynamic mass.

    L = Phi^T M D,   M_eff,j = L_j^T L_j,   sum_j M_eff,j = M_rr - M_0,   M_res = M_rr - L^T L over the modes kept

D are the six motions of the appendage as a rigid body with its root, about a point and along axes; M_rr = D^T M D. M_0
is the share of the root's own node, which no mode can have. Source: docs/theory/modes.md, equations (2) to (7).
"""

from dataclasses import dataclass, field, replace
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.html import Brief, Tabled, columns
from femb.base.types import Floats
from femb.base.values import as_known, check_choice, check_kind, without_rounding
from femb.numerics.rotations import cross_matrix

# Of the rigid mass in a direction: less than this is worth a warning, as standards of loads analyses ask.
ENOUGH = 0.9
# A longer lever, m, is that of a mode that moves no mass centre.
FARTHEST = 1e6
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True, eq=False)
class Participation(Tabled):
    """The coupling of k modes with the motion of a root.

    name : of the appendage. point (3,) m, inertial, and axes (3, 3), as columns : what L is about and along.
    frequencies (k,) Hz. damping (k,) ratios. coupling (k, 6) : L, sqrt(kg) and sqrt(kg) m. rigid_mass (6, 6) : M_rr.
    clamped_mass (6, 6) : M_0. shapes (n_v, k) : of unit modal mass. own_damping (k,) : the ratios that dashpots and the
    damping of sections give these modes; empty if unknown. precision (k,) : up to what part of them
    frequencies are known; empty if unknown.
    """

    name: str
    point: Floats
    axes: Floats
    frequencies: Floats
    damping: Floats
    coupling: Floats
    rigid_mass: Floats
    clamped_mass: Floats
    shapes: Floats
    own_damping: Floats = field(default_factory=lambda: np.zeros(0))
    precision: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def effective_mass(self) -> Floats:
        """(k, 6, 6) kg, kg m and kg m2: equation (3)."""
        return np.asarray(np.einsum("ki,kj->kij", self.coupling, self.coupling))

    @property
    def residual_mass(self) -> Floats:
        """(6, 6): the rigid mass less the effective masses of the modes."""
        return np.asarray(self.rigid_mass - self.coupling.T @ self.coupling)

    @property
    def fractions(self) -> Floats:
        """(k, 6) effective mass by rigid mass in each direction; zero where there is no rigid mass."""
        whole = np.diag(self.rigid_mass)
        scale = np.where(whole > 1e-12 * np.max(whole), whole, np.inf)
        return np.asarray(self.coupling**2 / scale)

    @property
    def lever(self) -> Floats:
        """(k,) m: |l_r| / |l_t|; infinite where a mode moves no mass centre."""
        line, turn = (np.linalg.norm(part, axis=1) for part in (self.coupling[:, :3], self.coupling[:, 3:]))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(turn / line)

    def first(self, count: int) -> "Participation":
        """The participation of the ``count`` lowest modes."""
        words = ("frequencies", "damping", "coupling", "own_damping", "precision")
        return replace(self, shapes=self.shapes[:, :count], **{word: getattr(self, word)[:count] for word in words})

    def about(self, point: ArrayLike, axes: ArrayLike | None = None) -> "Participation":
        """The participation about another point (3,) m, inertial, along other axes (3, 3): equation (5)."""
        point = np.asarray(point, dtype=float)
        new = self.axes if axes is None else np.asarray(axes, dtype=float)
        turn = self.axes.T @ new
        change = np.zeros((6, 6))
        change[:3, :3] = change[3:, 3:] = turn
        change[:3, 3:] = cross_matrix(self.axes.T @ (point - self.point)) @ turn
        return replace(
            self,
            point=point,
            axes=new,
            coupling=self.coupling @ change,
            rigid_mass=change.T @ self.rigid_mass @ change,
            clamped_mass=change.T @ self.clamped_mass @ change,
        )

    def dynamic_mass(self, s: complex) -> "np.ndarray[tuple[int, int], np.dtype[np.complex128]]":
        """D(s) (6, 6): the wrench on the root by its acceleration at e^(s t), s in rad/s: equation (7)."""
        omega = 2.0 * np.pi * self.frequencies
        share = s * s / (s * s + 2.0 * self.damping * omega * s + omega**2)
        return np.asarray(self.rigid_mass - (self.coupling.T * share) @ self.coupling, dtype=complex)

    @property
    def _frequencies(self) -> list[str]:
        """(k,) for tables."""
        return as_known(self.frequencies, self.precision if len(self.precision) else np.zeros(len(self.frequencies)))

    def _repr_html_(self) -> str:
        """The effective masses in % of the rigid mass, a row for each mode, and their sums."""
        rows = [
            (str(k + 1), frequency, *(f"{100.0 * x:.3f}" for x in row))
            for k, (frequency, row) in enumerate(zip(self._frequencies, self.fractions, strict=True))
        ]
        rows.append(("sum", "", *(f"{100.0 * x:.3f}" for x in np.sum(self.fractions, axis=0))))
        title = f"appendage {self.name}: effective mass in % of the rigid mass, {self.rigid_mass[0, 0]:.6g} kg"
        return f"<div><strong>{escape(title)}</strong>{columns(('mode', 'frequency Hz', *DIRECTIONS), rows)}</div>"

    def table(self) -> str:
        """Rigid mass, and for each mode a line with its effective masses, in kg and kg m2, and one with their parts of
        the rigid mass and the sums so far, in %."""
        whole = np.diag(self.rigid_mass)
        point = ", ".join(f"{x:.6g}" for x in self.point)
        lines = [
            f"appendage {self.name}, about its root at ({point}) m, with {percent(self.damping)} damping",
            f"rigid mass {whole[0]:.6g} kg; moments of inertia {', '.join(f'{x:.6g}' for x in whole[3:])} kg m2",
            "effective mass in kg and kg m2",
            f"{'mode':>4}{'frequency Hz':>14}" + "".join(f"{word:>10}" for word in DIRECTIONS) + f"{'lever m':>11}",
        ]
        levers = without_rounding(self.lever, np.max(self.lever, initial=0.0, where=self.lever < FARTHEST))
        effective = without_rounding(self.coupling**2, np.broadcast_to(whole, self.coupling.shape))
        for k, (frequency, row, lever) in enumerate(zip(self._frequencies, effective, levers, strict=True)):
            # five digits, or fewer, so that columns stay apart
            numbers = "".join(f"{min((f'{x:.{n}g}' for n in (5, 4, 3)), key=lambda t: len(t) > 9):>10}" for x in row)
            lines.append(
                f"{k + 1:4d}{frequency:>14}{numbers}" + (f"{lever:11.4g}" if lever < FARTHEST else f"{'-':>11}")
            )
        lines.append("effective mass in % of the rigid mass, each with the sum so far")
        lines.append(f"{'mode':>4}{'frequency Hz':>14}" + "".join(f"{word:>9}{'sum':>7}" for word in DIRECTIONS))
        sums = np.cumsum(self.fractions, axis=0)
        for k, (frequency, row, so_far) in enumerate(zip(self._frequencies, self.fractions, sums, strict=True)):
            pairs = zip(row, so_far, strict=True)
            numbers = "".join(f"{100.0 * x:9.3f}{100.0 * total:7.2f}" for x, total in pairs)
            lines.append(f"{k + 1:4d}{frequency:>14}{numbers}")
        total = np.sum(self.fractions, axis=0)
        clamped = np.diag(self.clamped_mass) / np.where(whole > 0.0, whole, 1.0)
        lines.append(f"{'root':>4}{'':14}" + "".join(f"{100.0 * x:9.3f}{'':7}" for x in clamped).rstrip())
        if np.any(self.own_damping):
            ratios = ", ".join(f"{100.0 * round(ratio, 9):.3g}" for ratio in self.own_damping.tolist())
            lines.append(f"the model's own dampers give these modes {ratios} %, not included")
        poor = [word for word, x, share in zip(DIRECTIONS, total, clamped, strict=True) if x < ENOUGH * (1.0 - share)]
        if poor:
            lines.append(
                f"below {100.0 * ENOUGH:.0f} % in {', '.join(poor)}: ask for more modes where these directions count"
            )
        return "\n".join(lines)


def percent(ratios: Floats) -> str:
    """Ratios as a percentage, or as the range of theirs."""
    low, high = (f"{100.0 * float(ratio):.3g}" for ratio in (np.min(ratios), np.max(ratios)))
    return f"{low} %" if low == high else f"{low} to {high} %"


# Root loads of an appendage from its modes, by mode displacement and by mode acceleration.
#
#     W = sum L_j^T omega_j^2 eta_j                                              mode displacement
#     W = - M_rr a - sum L_j^T (eta_j'' + 2 zeta_j omega_j eta_j')               mode acceleration
#
# W (6) is the elastic force and torque of the appendage on its root, about the point and along the axes of the
# participation; a the acceleration of the root, in small motions about rest. Mode acceleration is exact in the
# quasi-static part whatever the number of modes; mode displacement lacks what the modes left out carry.
# Source: docs/theory/loads.md, section 4.

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
        check_choice("root load: by", by, METHODS)
        part = self.part
        omega = 2.0 * np.pi * part.frequencies
        if by == "displacement":
            return np.asarray((omega**2 * self.coordinates) @ part.coupling)
        inertial = self.accelerations + 2.0 * part.damping * omega * self.rates
        return np.asarray(-self.acceleration @ part.rigid_mass - inertial @ part.coupling)


def quasi_static(part: Participation, acceleration: ArrayLike) -> ModalMotion:
    """The motion under a steady acceleration of the root: eta_j = -L_j a / omega_j^2.

    Parameters:
        part: the participation of the modes.
        acceleration: (6,) or (T, 6) m/s2 and rad/s2, along the axes of ``part``.

    Raises:
        ModelError: another shape.
    """
    check_kind("quasi-static motion", part, Participation, "a femb.Participation, as with Modes.appendages")
    a = _acceleration(acceleration)
    still = np.zeros((len(a), len(part.frequencies)))
    coordinates = -a @ part.coupling.T / (2.0 * np.pi * part.frequencies) ** 2
    return ModalMotion(part, np.zeros(0), a, coordinates, still, still)


def base_motion(part: Participation, time: ArrayLike, acceleration: ArrayLike) -> ModalMotion:
    """The motion of the modes, from rest without deformation, under an acceleration history of the root.

    Parameters:
        part: the participation of the modes.
        time: (T,) s, increasing.
        acceleration: (T, 6) m/s2 and rad/s2, along the axes of ``part``, linear between the instants, for which the
            solution is exact: eta'' + 2 zeta omega eta' + omega^2 eta = -L a.

    Raises:
        ModelError: other shapes, times that do not increase.
    """
    check_kind("base motion", part, Participation, "a femb.Participation, as with Modes.appendages")
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
    check_choice("root load: direction", direction, DIRECTIONS)
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
