"""Hand-over of flexible satellites to other programs: files and models that control and loads analyses take."""

from femb.handover.craig_bampton import CraigBampton
from femb.handover.flex42 import write_flex42
from femb.handover.fmu import write_fmu
from femb.handover.hybrid import HybridCoordinates, hybrid_coordinates
from femb.handover.mechanical import MechanicalModel, hinged_panels, sliding_masses
from femb.handover.port import Port, port

__all__ = [
    "CraigBampton",
    "HybridCoordinates",
    "MechanicalModel",
    "Port",
    "hinged_panels",
    "hybrid_coordinates",
    "port",
    "sliding_masses",
    "write_flex42",
    "write_fmu",
]
