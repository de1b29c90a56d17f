"""The tangents of the steps of methods, by their names."""

from collections.abc import Mapping

from femb.steppers.alpha_tangent import AlphaTangent
from femb.steppers.radau_tangent import RadauTangent
from femb.steppers.step_tangent import StepTangents

TANGENTS: Mapping[str, type[StepTangents]] = {"radau": RadauTangent, "generalized-alpha": AlphaTangent}
