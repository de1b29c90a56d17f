"""Layouts with coupled constraints and with a ground that can move.

What is clamped to such a ground has a root with mass and motion, like that of a body, and a part in the mass of all.
"""

from collections.abc import Sequence

from femb.base.types import Floats
from femb.layout.layout import Layout
from femb.layout.numbering import Coupling
from femb.system.system import System


class CoupledLayout(Layout):
    """A layout whose matrices have blocks between the frames that a joint couples, for the tangent of its reactions.

    coupled : further frames and internal coordinates, which functions of the state couple.
    """

    coupled: Sequence[Coupling] = ()

    def finish(self) -> None:
        self.couplings += self.coupled
        super().finish()

    def add_rows(self, labels: Sequence[str], *frames: int) -> list[int]:
        """New equations of constraint between frames."""
        self.couple(frames)
        return super().add_rows(labels, *frames)


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


def mass_properties(system: System) -> tuple[float, Floats, Floats]:
    """Mass (kg), mass centre (3,) m and inertia (3, 3) about it, kg m2, inertial axes, at the start.

    From the momenta of six rigid motions of the whole model, with the items that are fixed to the ground.
    """
    system, q = _unfixed(system)
    mass, centre, inertia = system.mass_properties_at(q)
    return mass, system.layout.origin + centre, inertia


def _unfixed(system: System) -> tuple[System, Floats]:
    """The system with a moving ground, if parts with mass are fixed, and its coordinates at the start."""
    layout = system.layout
    markers = [marker for item in system.model.bodies.values() for marker in item.markers.values()]
    massive = {layout.station(marker).frame for marker in markers}
    massive |= {station.frame for beam in layout.beams.values() for station in beam.stations}
    massive |= {frame for shell in layout.shells.values() for frame in shell.frames}
    if all(layout.frames[frame].freedom for frame in massive):
        return system, system.q0
    unfixed = System(system.model, assemble=True, layout=MovingGround())
    return unfixed, start_of(system, unfixed)
