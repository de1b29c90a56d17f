"""Sine, cosine and arctangent for kernels, of numbers or of values with lanes.

They are series where these are exact to rounding: a series takes all lanes at once, the library one after another.
"""

import math

from femb.numerics.compile import inlined
from femb.numerics.lanes import every

# Square of the largest angle of the series of sine and cosine, 0.5 rad.
_SMALL = 0.25


@inlined
def cosine_and_sine(x):
    """cos x and sin x of an angle x, rad."""
    y = x * x
    if not every(y <= _SMALL):
        return math.cos(x), math.sin(x)
    cosine, sine = 1.0 - y * (1.0 / 182.0), 1.0 - y * (1.0 / 210.0)
    for k in range(12, 0, -2):
        cosine = 1.0 - y * (1.0 / (k * (k - 1))) * cosine
        sine = 1.0 - y * (1.0 / (k * (k + 1))) * sine
    return cosine, x * sine


@inlined
def arctangent_series(y):
    """(arctan x) / x for y = x^2 below 0.04."""
    series = 1.0 / 23.0
    for k in range(21, 0, -2):
        series = 1.0 / k - y * series
    return series


@inlined
def arctangent(y, x):
    """The angle of the point (x, y), rad, for x >= 0."""
    # tangents of a half, a quarter and an eighth of it
    h = y / (x + math.sqrt(x * x + y * y))
    h = h / (1.0 + math.sqrt(1.0 + h * h))
    h = h / (1.0 + math.sqrt(1.0 + h * h))
    return 8.0 * h * arctangent_series(h * h)
