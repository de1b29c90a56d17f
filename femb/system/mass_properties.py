"""Mass, mass centre and inertia of a system at the start, with what is fixed to the ground."""

from typing import TYPE_CHECKING

from femb.base.types import Floats

if TYPE_CHECKING:
    from femb.system.system import System


def mass_properties(system: "System") -> tuple[float, Floats, Floats]:
    """Mass (kg), mass centre (3,) m and inertia (3, 3) about it, kg m2, inertial axes, at the start.

    From the momenta of six rigid motions of the whole model, with the items that are fixed to the ground.
    """
    system, q = _unfixed(system)
    mass, centre, inertia = system.mass_properties_at(q)
    return mass, system.layout.origin + centre, inertia


def _unfixed(system: "System") -> "tuple[System, Floats]":
    """The same system with a moving ground, if parts with mass are fixed, and its coordinates at the start."""
    from femb.system.moving_ground import MovingGround, start_of
    from femb.system.system import System

    layout = system.layout
    markers = [marker for item in system.model.bodies.values() for marker in item.markers.values()]
    massive = {layout.station(marker).frame for marker in markers}
    massive |= {station.frame for beam in layout.beams.values() for station in beam.stations}
    massive |= {frame for shell in layout.shells.values() for frame in shell.frames}
    if all(layout.frames[frame].freedom for frame in massive):
        return system, system.q0
    unfixed = System(system.model, assemble=True, layout=MovingGround())
    return unfixed, start_of(system, unfixed)
