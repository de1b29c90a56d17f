"""Natural modes, participation of appendages, and what follows from them."""

from femb.analysis.modes.modes import Modes, modes
from femb.analysis.modes.participation import Participation

__all__ = ["Modes", "Participation", "modes"]
