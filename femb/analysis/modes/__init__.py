"""Natural modes, participation of appendages, and what follows from them."""

from femb.analysis.modes.hybrid import HybridCoordinates
from femb.analysis.modes.modes import Modes, modes
from femb.analysis.modes.participation import Participation
from femb.analysis.modes.root_loads import ModalMotion, base_motion, convergence_table, quasi_static
from femb.analysis.modes.sweep import ModeSweep, mode_sweep, sweep_values

__all__ = [
    "HybridCoordinates",
    "ModalMotion",
    "ModeSweep",
    "Modes",
    "Participation",
    "base_motion",
    "convergence_table",
    "mode_sweep",
    "modes",
    "quasi_static",
    "sweep_values",
]
