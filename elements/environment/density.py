"""Density of air by the distance from the centre of a body."""

import numpy as np

from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.vector3 import dot

# levels (m, 3), upwards: distance (m), logarithm of the density (kg/m3) there, and its slope (1/m) up to the next. A
# single level has no limits.
DISTANCE, LOGARITHM, SLOPE = 0, 1, 2


@inlined
def density(levels, x, slope):
    """The density at x (3,) m from the centre, and its ``slope`` (3,) kg/m4; below zero minus the distance of x that is
    outside of the levels."""
    distance, last = np.sqrt(dot(x, x)), levels.shape[0] - 1
    k = 0
    while k < last - 1 and distance >= levels[k + 1, DISTANCE]:
        k += 1
    rounding = 1e-15 * distance
    if last > 0 and not levels[0, DISTANCE] - rounding <= distance <= levels[last, DISTANCE] + rounding:
        return -distance
    value = np.exp(levels[k, LOGARITHM] + levels[k, SLOPE] * (distance - levels[k, DISTANCE]))
    for o in range(3):
        slope[o] = value * levels[k, SLOPE] / distance * x[o]
    return value


@kernel
def densities(levels, x, values, slopes):
    """Set values (n,) and slopes (n, 3) at n places x (n, 3); returns -1, or a distance outside of the levels (m)."""
    for k in range(x.shape[0]):
        values[k] = density(levels, x[k], slopes[k])
        if values[k] < 0.0:
            return int(0.5 - values[k])
    return -1
