"""Linearisation: state spaces of small motions about an operating point, exact; trim; multi-blade coordinates."""

from femb.linear.begin import operating_point
from femb.linear.linearise import linearize
from femb.linear.multiblade import multiblade
from femb.linear.periodic import Periodic, periodic
from femb.linear.point import OperatingPoint
from femb.linear.statespace import StateSpace
from femb.linear.trim import trim

__all__ = ["OperatingPoint", "Periodic", "StateSpace", "linearize", "multiblade", "operating_point", "periodic", "trim"]
