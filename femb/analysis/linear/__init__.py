"""Linearisation: exact state spaces about an operating point, trim, periodic motion, multi-blade coordinates."""

from femb.analysis.linear.begin import operating_point
from femb.analysis.linear.linearise import linearize
from femb.analysis.linear.multiblade import multiblade
from femb.analysis.linear.periodic import Periodic, periodic
from femb.analysis.linear.point import OperatingPoint
from femb.analysis.linear.response import FrequencyResponse
from femb.analysis.linear.statespace import StateSpace
from femb.analysis.linear.trim import trim

__all__ = [
    "FrequencyResponse",
    "OperatingPoint",
    "Periodic",
    "StateSpace",
    "linearize",
    "multiblade",
    "operating_point",
    "periodic",
    "trim",
]
