"""Linearisation: exact state spaces about an operating point, trim, periodic motion, multi-blade coordinates."""

from femb.linear.begin import operating_point
from femb.linear.linearise import linearize
from femb.linear.periodic import Periodic, multiblade, periodic
from femb.linear.response import FrequencyResponse
from femb.linear.state_space import StateSpace
from femb.linear.structure import linearize_structure
from femb.linear.trim import trim
from femb.small_motions.point import OperatingPoint

__all__ = [
    "FrequencyResponse",
    "OperatingPoint",
    "Periodic",
    "StateSpace",
    "linearize",
    "linearize_structure",
    "multiblade",
    "operating_point",
    "periodic",
    "trim",
]
