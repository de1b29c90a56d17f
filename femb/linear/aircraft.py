"""Linear equations of a rigid aircraft in nine blocks, with velocities in body axes and Euler angles.

    [ M  0 ] [ dv'; dw' ]   [ F_v - m w~   F_w + m v~          F_weight~ B ] [ dv     ]   [ F_u ]
    [ 0  B ] [ dtheta'  ] = [ n_v          n_w - (w~ J - (J w)~)   0       ] [ dw     ] + [ n_u ] du
                            [ 0            1              -(B theta')_theta] [ dtheta ]   [ 0   ]

Source: docs/theory/reduced_order.md, section 9; Thompson, AIAA 2011-6277, section V.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from femb.base.errors import ModelError
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.base.values import shown
from femb.linear.chart import frames_chart
from femb.linear.point import OperatingPoint
from femb.linear.second_order import second_order
from femb.linear.state_space import StateSpace
from femb.model.model import Model
from femb.numerics import euler, rotations
from femb.results.array_file import write_arrays
from femb.vibration.completion import system_of

if TYPE_CHECKING:
    from femb.system.system import System

# Entries of the stiffness below this, relative to the largest, count as zero.
INDEPENDENT_OF_POSITION = 1e-10


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


def nine_blocks(
    model: Model,
    *,
    q: Floats | None = None,
    v: Floats | None = None,
    t: float = 0.0,
    sequence: str = "zyx",
) -> NineBlocks:
    """Nine-block linear equations of a model of one free body about a state, steady or not; by default the start.

    q (n_q,), v (n_v,) : coordinates and velocities of a ``femb.system.system.System`` of the model. t : s. sequence :
    of the Euler angles.

    Raises ModelError: more than one body, joints, beams; forces that depend on the position; loads without
    derivatives; angles that are locked.
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
