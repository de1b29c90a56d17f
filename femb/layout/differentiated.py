"""The value of a user's function of the state, with its derivatives."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import shown


class Differentiated(tuple[float, ...]):
    """Three components of a force or torque that is a function of the state, and their derivatives for linearisation.

    value (3,) : what the function would return without derivatives. by : derivatives (3, k) by quantities of the state
    with k components, or (3,) by a single one, by the names of outputs of linear models:

        femb.Differentiated(-k * angles - d * hub.angular_velocity, {"bodies.hub.turn": -k * np.eye(3), ...})

    "turn" is a small rotation in body axes. Quantities that are not named have no influence. In simulations it is the
    value alone. Raises ModelError: other shapes.
    """

    by: dict[str, Floats]

    def __new__(cls, value: Any, by: Mapping[str, Any]) -> "Differentiated":
        if np.shape(value) != (3,):
            raise ModelError(f"Differentiated: value: got {shown(value)}, wanted three numbers")
        self = super().__new__(cls, (float(x) for x in value))
        self.by = {}
        for name, derivative in by.items():
            matrix = np.asarray(derivative, dtype=float)
            if matrix.ndim not in (1, 2) or matrix.shape[0] != 3:
                raise ModelError(f"Differentiated: by {name!r}: got {shown(derivative)}, wanted (3,) or (3, k) numbers")
            self.by[name] = matrix.reshape(3, -1)
        return self


class WithoutDerivatives(tuple[float, ...]):
    """A value with zeros for its unknown derivatives."""


def with_derivatives(value: Any) -> Any:
    """A number with two zeros for its unknown derivatives, or the three numbers given."""
    return WithoutDerivatives((value, 0.0, 0.0)) if np.ndim(value) == 0 else value
