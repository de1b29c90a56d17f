"""Natural modes, participation of appendages, and what follows from them."""

from femb.analysis.modes.hybrid import HybridCoordinates
from femb.analysis.modes.modes import Modes, modes
from femb.analysis.modes.participation import Participation
from femb.analysis.modes.sweep import ModeSweep, mode_sweep, sweep_values

__all__ = ["HybridCoordinates", "ModeSweep", "Modes", "Participation", "mode_sweep", "modes", "sweep_values"]
