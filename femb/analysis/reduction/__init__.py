"""Sparse linear models, their truncations to control models, and their response to a shaken base."""

from femb.analysis.reduction.base_shake import Shaken, shake
from femb.analysis.reduction.density import Density
from femb.analysis.reduction.model import LinearModel, linear_model

__all__ = ["Density", "LinearModel", "Shaken", "linear_model", "shake"]
