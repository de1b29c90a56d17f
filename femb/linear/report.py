"""Linear models of a case with a printed report, behind ``femb linearize``, and those of a rigid aircraft in blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from femb.base.errors import ModelError
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.base.values import numbered, shown
from femb.linear.begin import PointOptions, operating_point, trimmed_point
from femb.linear.chart import frames_chart
from femb.linear.linearise import state_space
from femb.linear.model import linear_model
from femb.linear.periodic import Periodic, multiblade, periodic
from femb.linear.second_order import second_order
from femb.linear.state_space import StateSpace, pole_lines
from femb.linear.structure import OrderOptions, state_space_of
from femb.linear.trim import Balance, steady_in_words, why_turning, why_unsteady
from femb.model.model import Model
from femb.numerics import euler, rotations
from femb.numerics.threads import one_blas_thread
from femb.results.array_file import write_arrays
from femb.small_motions.point import OperatingPoint
from femb.vibration.completion import system_of
from femb.vibration.complex_modes import rotations_of
from femb.vibration.damping_ratios import damping_source

if TYPE_CHECKING:
    from femb.system.system import System


# Linear equations of a rigid aircraft in nine blocks, with velocities in body axes and Euler angles.
#
#     [ M  0 ] [ dv'; dw' ]   [ F_v - m w~   F_w + m v~          F_weight~ B ] [ dv     ]   [ F_u ]
#     [ 0  B ] [ dtheta'  ] = [ n_v          n_w - (w~ J - (J w)~)   0       ] [ dw     ] + [ n_u ] du
#                             [ 0            1              -(B theta')_theta] [ dtheta ]   [ 0   ]
#
# Source: docs/theory/reduced_order.md, section 9; Thompson, AIAA 2011-6277, section V.

# Entries of the stiffness below this, relative to the largest, count as zero.
INDEPENDENT_OF_POSITION = 1e-10
# By how much a Floquet multiplier exceeds one where small motions grow, by the method.
GROWING = {"rk": 1e-6, "radau": 1e-5}


@dataclass(frozen=True, eq=False)
class NineBlocks(Tabled):
    """left @ x' = right @ x + inputs @ u of small changes x = (dv, dw, dtheta) (9,) of one body.

    dv (m/s) : velocity of the body's reference point in body axes. dw (rad/s) : angular velocity, body axes.
    dtheta (rad) : Euler angles, last rotation first: roll, pitch, yaw for the sequence "zyx". left, right (9, 9),
    input_matrix (9, m). B (3, 3) : w = B theta'. velocity, angular_velocity, angles, angle_rates (3,) : values at the
    operating point, in the same order. steady : whether its motion is steady.
    """

    body: str
    inputs: tuple[str, ...]
    left: Floats
    right: Floats
    input_matrix: Floats
    B: Floats
    velocity: Floats
    angular_velocity: Floats
    angles: Floats
    angle_rates: Floats
    steady: bool

    @property
    def names(self) -> tuple[str, ...]:
        """(9,) names of the states."""
        words = [f"velocity_{axis}" for axis in "xyz"] + [f"omega_{axis}" for axis in "xyz"]
        words += [f"angle_{word}" for word in ("third", "second", "first")]
        return tuple(f"bodies.{self.body}.{word}" for word in words)

    def block(self, row: int, column: int) -> Floats:
        """A (3, 3) block of ``right``: rows force, moment, angles; columns v, w, angles; both from 0.

        Raises ModelError: no such row or column.
        """
        if row not in (0, 1, 2) or column not in (0, 1, 2):
            raise ModelError(f"nine blocks: got block {shown((row, column))}, wanted row and column from 0 to 2")
        return self.right[3 * row : 3 * row + 3, 3 * column : 3 * column + 3]

    def state_space(self) -> StateSpace:
        """x' = A x + B u, with the states as outputs."""
        A, B = (np.asarray(np.linalg.solve(self.left, x), dtype=float) for x in (self.right, self.input_matrix))
        return StateSpace(A, B, np.eye(9), np.zeros_like(B), self.names, self.inputs, self.names)

    def write(self, path: str | Path) -> Path:
        """Write matrices, values at the point and names to a .npz; returns the path. Raises ResultError."""
        words = ("left", "right", "input_matrix", "B", "velocity", "angular_velocity", "angles", "angle_rates")
        arrays = {word: getattr(self, word) for word in (*words, "names", "inputs")}
        return write_arrays(path, arrays, more="; state_space() has other files")

    def table(self) -> str:
        """The blocks of ``left`` and ``right`` as text."""
        titles = ("force", "moment", "angles")
        columns = ("v", "w", "angles")
        lines = []
        for i, title in enumerate(titles):
            left = self.left[3 * i : 3 * i + 3]
            lines.append(f"{title}: left, then by {', '.join(columns)}")
            for k in range(3):
                parts = [left[k], *(self.block(i, j)[k] for j in range(3))]
                lines.append("  |".join("".join(f"{x:11.4g}" for x in part) for part in parts))
        return "\n".join(lines)


@one_blas_thread()
def nine_blocks(
    model: Model, *, q: Floats | None = None, v: Floats | None = None, t: float = 0.0, sequence: str = "zyx"
) -> NineBlocks:
    """Nine-block linear equations of a model of one free body about a state, steady or not; by default the start.

    Parameters:
        model: of one free body.
        q: (n_q,) coordinates of a ``femb.system.system.System`` of the model, m and quaternions.
        v: (n_v,) velocities of it, m/s and rad/s.
        t: s, time of the loads.
        sequence: of the Euler angles.

    Raises:
        ModelError: more than one body, joints, beams; forces that depend on the position; loads without derivatives;
            angles that are locked.
    """
    return blocks_at(OperatingPoint.of(system_of(model), q, v, t), sequence)


def blocks_at(point: OperatingPoint, sequence: str = "zyx") -> NineBlocks:
    """Nine-block linear equations at an operating point, for example one of ``trim``."""
    body = _only_body(point.system)
    equations = second_order(point, frames_chart(point))
    by_position = equations.stiffness[:, :3]
    if np.max(np.abs(by_position)) > INDEPENDENT_OF_POSITION * np.max(np.abs(equations.stiffness), initial=1.0):
        raise ModelError(
            f"nine_blocks: forces on bodies.{body} depend on its position, for which the nine blocks have no place; "
            "use linearize"
        )
    p = rotations.normalise(point.q[3:7])
    angles = euler.to_euler(p, sequence)
    if euler.gimbal_distance(p, sequence) < 1e-8:
        raise ModelError(
            f"nine_blocks: the Euler angles {sequence!r} are locked at this attitude; take another sequence"
        )
    axes = euler.euler_axes(angles, sequence)  # columns, first rotation first
    omega = point.v[3:6]
    rates = np.asarray(np.linalg.solve(axes, omega), dtype=np.float64)
    change = np.zeros((3, 3))  # d(axes @ rates)/d(angles): later rotations rotate the axes of earlier ones
    for m in range(3):
        for earlier in range(m):
            change[:, m] -= np.cross(axes[:, m], axes[:, earlier]) * rates[earlier]
    last_first = [2, 1, 0]
    B, change = axes[:, last_first], change[:, last_first]
    left, right = np.zeros((2, 9, 9))
    left[:6, :6], left[6:, 6:] = equations.mass, B
    right[:6, :6] = -equations.damping
    right[:6, 6:] = -equations.stiffness[:, 3:] @ B
    right[6:, 3:6], right[6:, 6:] = np.eye(3), -change
    inputs = np.vstack([equations.forces, np.zeros((3, equations.forces.shape[1]))])
    R = rotations.rotation_matrix(p)
    return NineBlocks(
        body,
        equations.inputs,
        left,
        right,
        inputs,
        B,
        R.T @ point.v[:3],
        omega,
        angles[last_first],
        rates[last_first],
        bool(np.max(np.abs(equations.chart.rates)) < 1e-6),
    )


def _only_body(system: "System") -> str:
    frames = [frame for frame in system.layout.frames if frame.freedom]
    if len(frames) != 1 or frames[0].freedom != 6 or system.n_c:
        listed = ", ".join(frame.label for frame in frames)
        raise ModelError(f"nine_blocks: is for one free rigid body, got {listed}; use linearize")
    return frames[0].label


@one_blas_thread()
def linearized(
    model: "Model | System",
    outputs: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    *,
    blades: Mapping[str, Sequence[str]] | None = None,
    rotor: str | None = None,
    blocks: bool = False,
    **options: Unpack[PointOptions],
) -> tuple[StateSpace, str, NineBlocks | None]:
    """The state space about a state of a model, a text with its eigenvalues, and nine blocks or None.

    outputs, inputs, options : as in ``femb.linearize``. blades : multi-blade coordinates of a rotor, as in
    ``femb.multiblade``. rotor : name of the state or driver that is the rotor's angle. blocks : whether to compute
    ``femb.thompson.nine_blocks`` of a single free body.

    Raises as femb.linearize, femb.trim, femb.multiblade and femb.thompson.nine_blocks.
    """
    point, stopped = trimmed_point(model, **options)
    balance = Balance.of(point)
    space = state_space(point, balance.equations, outputs, inputs, why_unsteady(balance) or why_turning(balance))
    lines = [_heading(space, balance)]
    held = [
        item.name
        for item in point.system.model.items()
        if item.table == "controllers" and getattr(item, "period", None)
    ]
    if held:
        listed = ", ".join(held)
        lines.append(f"commands of sampled controllers ({listed}) are held: --closed or femb loop close their loop")
    largest = max(map(abs, stopped.values()), default=0.0)
    lines += [f"brought to rest: {name}, {u:.4g} per s" for name, u in stopped.items() if abs(u) > 1e-9 * largest]
    if blades or rotor:
        azimuth, rate = _rotor(balance, blades, rotor)
        space = multiblade(space, blades or {}, rate, azimuth)
        lines.append(f"in multi-blade coordinates of a rotor that turns at {rate:.6g} rad/s")
    nine = blocks_at(point) if blocks else None
    table = [] if nine is None else ["", nine.table()]
    return space, "\n".join([*lines, "", *eigenvalue_table(space), *table]), nine


@one_blas_thread()
def periodic_motion(
    model: "Model | System",
    period: float,
    *,
    start: str = "as_given",
    at_rest: bool = False,
    state: Mapping[str, float] | None = None,
    vary: Sequence[str] | None = None,
) -> tuple[Periodic, str]:
    """The motion of given period (s) near a state of a model, and a text with its Floquet multipliers.

    start, at_rest, state : as in ``femb.operating_point``. vary : as in ``femb.periodic``.
    Raises as femb.operating_point and femb.linear.periodic.
    """
    point = operating_point(model, start=start, at_rest=at_rest, state=state)
    motion = periodic(point.system.starting_at(point.q, point.v), period, vary=vary or None)
    largest = float(np.max(np.abs(motion.multipliers), initial=0.0))
    # of vibrations that the intervals do not resolve, those beside radau, multipliers are close to one
    verdict = "small motions grow" if largest > 1.0 + GROWING[motion.method] else "no small motion grows"
    how = "" if motion.method == "rk" else f" in {motion.intervals} steps of {motion.method}"
    lines = [
        f"{numbered(len(motion.states), 'state')}; periodic motion of {period:.6g} s{how}; {verdict}",
        "",
        f"{'multiplier':>14}{'real 1/s':>14}{'imaginary 1/s':>16}",
    ]
    for value in motion.multipliers[motion.multipliers.imag >= 0.0]:
        lines.append(f"{abs(value):14.6g}{np.log(abs(value)) / period:14.6g}{np.angle(value) / period:16.6g}")
    return motion, "\n".join(lines)


def closed_text(space: StateSpace) -> str:
    """A text with the eigenvalues of a model whose controllers act; of a sampled one in 1/s."""
    clock = "" if space.dt is None else f", of samples every {space.dt:.6g} s"
    state = f"; about unsteady motion: {space.unsteady}" if space.unsteady else ""
    return "\n".join([f"{_counts(space)}; closed loop{clock}{state}", "", *eigenvalue_table(space)])


def _counts(space: StateSpace) -> str:
    named = {"state": space.states, "input": space.inputs, "output": space.outputs}
    return ", ".join(numbered(len(names), word) for word, names in named.items())


def _heading(space: StateSpace, balance: Balance) -> str:
    counts = _counts(space)
    if space.unsteady:
        return f"{counts}; about unsteady motion: {space.unsteady}"
    return f"{counts}; about steady motion ({steady_in_words(balance)})"


def _rotor(balance: Balance, blades: Mapping[str, Sequence[str]] | None, rotor: str | None) -> tuple[float, float]:
    """The angle (rad) and rate (rad/s) of a rotor. Raises ModelError: an unknown angle, or blades or a rotor alone."""
    if not blades or not rotor:
        raise ModelError(
            f"multi-blade coordinates: got {'blades' if blades else 'a rotor'} alone, wanted the coordinates of all "
            "blades and the angle that turns the rotor"
        )
    point, chart = balance.point, balance.chart
    names = (*chart.names, *chart.driven)
    if rotor not in names:
        raise ModelError(f"multi-blade coordinates: no state or driver {rotor!r} turns; there are: {', '.join(names)}")
    k = names.index(rotor)
    number = next((number for number, column in chart.joints.items() if column == k), -1)
    angle = float(point.system.joint_motion(point.q, point.v)[0][number]) if number >= 0 else 0.0
    return angle, float(chart.speeds[k])


def eigenvalue_table(space: StateSpace) -> list[str]:
    """A line for each finite eigenvalue, or conjugate pair, sorted by absolute value."""
    values = space.eigenvalues()
    values = values[np.isfinite(values)]
    return pole_lines(values[np.argsort(np.abs(values), kind="stable")])


# Truncated linear models with a printed report; the function behind the orders of ``femb linearize``.


def truncated(
    model: "Model | System",
    outputs: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    *,
    held: str | None = None,
    hub: str | None = None,
    start: str = "as_given",
    **order: Unpack[OrderOptions],
) -> tuple[StateSpace, str]:
    """The state space of a sparse linear model, and a text with its eigenvalues and its truncation error.

    Arguments and errors are those of ``femb.linearize_structure``.
    """
    sparse = linear_model(
        model, inputs=inputs, outputs=outputs, held=held, hub=hub, start=start, own_ratios=order.get("damping") is None
    )
    space = state_space_of(sparse, **order)
    counts = _counts(space)
    state = "about the state without loads" if start != "equilibrium" else "about the equilibrium"
    lines = [f"{counts}; {state}" + (f", {held} held" if held else "")]
    lines += [each.text(held) for each in rotations_of(sparse.motion)]
    lines += ["", *eigenvalue_table(space)]
    if space.truncation is not None:
        lines += ["", space.truncation.table()]
    elif (damping := order.get("damping")) is not None or sparse.motion.low_rank.rank:
        lines += ["", f"with {damping_source(sparse.motion, damping)}"]
    return space, "\n".join(lines)
