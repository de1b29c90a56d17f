"""Layouts with coupled constraints and with a ground that can move.

On such a ground, what is clamped to it then has a root with mass and motion, like that of a body.
"""

from collections.abc import Sequence

from femb.base.types import Floats
from femb.layout.layout import Layout
from femb.system.system import System


class CoupledLayout(Layout):
    """A layout whose matrices have blocks between the frames that a joint couples, for the tangent of its reactions."""

    def add_rows(self, labels: Sequence[str], first: int, second: int) -> list[int]:
        """New equations of constraint between two frames."""
        self.couple_by_spring((first, second))
        return super().add_rows(labels, first, second)


class MovingGround(Layout):
    """A layout in which nothing is fixed: the frames of the ground, ``grounded``, have velocities too."""

    def __init__(self) -> None:
        super().__init__()
        self.grounded: list[int] = []

    def add_frame(self, label: str, position: Floats, quaternion: Floats, freedom: int = 6) -> int:
        """A new frame; a fixed one gets six velocities."""
        frame = super().add_frame(label, position, quaternion, freedom or 6)
        if freedom == 0:
            self.grounded.append(frame)
        return frame


def start_of(system: System, moving: System) -> Floats:
    """The start of a System in the coordinates (n_q,) of the same model with a moving ground."""
    q, layout = moving.q0.copy(), system.layout
    q[moving.layout.internal_q] = system.q0[layout.internal_q]
    for frame, i, j in zip(layout.frames, layout.frame_q, moving.layout.frame_q, strict=True):
        size = {6: 7, 3: 3, 0: 0}[frame.freedom]
        q[j : j + size] = system.q0[i : i + size]
    return q
