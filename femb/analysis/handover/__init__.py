"""Hand-over of flexible satellites to other programs: files and models that control and loads analyses take."""

from femb.analysis.handover.coordinates import hybrid_coordinates
from femb.analysis.handover.craig_bampton import CraigBampton
from femb.analysis.handover.flex42 import write_flex42
from femb.analysis.handover.fmu import write_fmu
from femb.analysis.handover.mechanical import MechanicalModel, hinged_panels, sliding_masses
from femb.analysis.handover.port import Port, port

__all__ = [
    "CraigBampton",
    "MechanicalModel",
    "Port",
    "hinged_panels",
    "hybrid_coordinates",
    "port",
    "sliding_masses",
    "write_flex42",
    "write_fmu",
]
