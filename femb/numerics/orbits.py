"""Motion of a point about a central mass: position and velocity at a time after a given start.

Source: R. H. Battin, An Introduction to the Mathematics and Methods of Astrodynamics, AIAA 1999, section 4.5 (universal
functions); B. A. Conway, Celestial Mechanics 39, 1986 (iteration). docs/theory/orbit.md, equations (2), (3) and (5).
"""

import math
from math import factorial, log, pi, sin, sinh, sqrt

import numpy as np

from femb.base.types import Floats
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.lanes import every
from femb.numerics.vector3 import dot

# Of the Earth, WGS 84: gravitational constant times mass, m3/s2, and equatorial radius, m.
EARTH, EARTH_RADIUS = 3.986004418e14, 6378137.0
ITERATIONS = 50
# Below this |z| the series of the functions of Stumpff lose no digits, as their closed forms do.
SERIES = 1.0
# Coefficients of the two series, the last ones first.
STUMPFF = np.array([(1.0 / factorial(2 * k + 2), 1.0 / factorial(2 * k + 3)) for k in reversed(range(10))])


@inlined
def _stumpff(z: float) -> tuple[float, float]:
    """C(z) = 1/2! - z/4! + ... and S(z) = 1/3! - z/5! + ..."""
    if abs(z) < SERIES:
        c = s = 0.0
        for k in range(STUMPFF.shape[0]):
            c, s = STUMPFF[k, 0] - z * c, STUMPFF[k, 1] - z * s
        return c, s
    root = sqrt(abs(z))
    if z > 0.0:
        return 2.0 * sin(0.5 * root) ** 2 / z, (root - sin(root)) / root**3
    return 2.0 * sinh(0.5 * root) ** 2 / -z, (sinh(root) - root) / root**3


def motion(mu: float, position: Floats, velocity: Floats, t: float) -> tuple[Floats, Floats]:
    """Position (3,) m and velocity (3,) m/s as in ``set_motion``."""
    out, start = np.empty((3, 3)), (np.array(position, dtype=float), np.array(velocity, dtype=float))
    set_motion(float(mu), *start, float(t), out)
    return out[0], out[1]


@kernel
def set_motion(mu: float, position: Floats, velocity: Floats, t: float, out: Floats) -> None:
    """Set position (m), velocity (m/s) and acceleration (m/s2), out (3, 3), a time t (s) after a position (3,) and
    velocity (3,) about a mass at rest at zero.

    mu : gravitational constant times mass, m3/s2. Ellipses, parabolas and hyperbolas; position and velocity must not be
    parallel. Rounding errors are those of the period times the number of revolutions.
    """
    size, root = sqrt(dot(position, position)), sqrt(mu)
    along = dot(position, velocity) / root
    alpha = 2.0 / size - dot(velocity, velocity) / mu
    if alpha > 0.0:
        period = 2.0 * pi / (root * alpha**1.5)
        t -= round(t / period) * period
    x = _anomaly(root * t, size, along, alpha)
    c, s = _stumpff(alpha * x * x)
    f, g = 1.0 - x * x * c / size, t - x**3 * s / root
    for o in range(3):
        out[0, o] = f * position[o] + g * velocity[o]
    distance = sqrt(dot(out[0], out[0]))
    f_rate, g_rate = root * x * (alpha * x * x * s - 1.0) / (distance * size), 1.0 - x * x * c / distance
    for o in range(3):
        out[1, o] = f_rate * position[o] + g_rate * velocity[o]
        out[2, o] = -mu / distance**3 * out[0, o]


@inlined
def _anomaly(time: float, size: float, along: float, alpha: float) -> float:
    """The universal anomaly x at which Kepler's equation gives ``time``, the time times the root of mu.

    size : distance at the start. along : position times velocity at the start, over the root of mu. alpha : inverse of
    the semi-major axis. Laguerre's iteration converges from any start.
    """
    if time == 0.0:
        return 0.0
    x = alpha * time if alpha > 0.0 else _first_guess(time, size, along, alpha)
    best = x
    for _ in range(ITERATIONS):
        z = alpha * x * x
        c, s = _stumpff(z)
        error = along * x * x * c + (1.0 - alpha * size) * x**3 * s + size * x - time
        slope = along * x * (1.0 - z * s) + (1.0 - alpha * size) * x * x * c + size  # the distance
        bend = along * (1.0 - z * c) + (1.0 - alpha * size) * x * (1.0 - z * s)
        step = 5.0 * error / (slope + sqrt(abs(16.0 * slope * slope - 20.0 * error * bend)))
        best = x - step
        if abs(step) <= 1e-15 * abs(best) or best == x:
            break
        x = best
    return best


@inlined
def _first_guess(time: float, size: float, along: float, alpha: float) -> float:
    """A first anomaly of an orbit that is not closed."""
    sign = 1.0 if time > 0.0 else -1.0
    if alpha * size > -1e-6:
        root: float = abs(time) ** (1.0 / 3.0)
        return sign * root
    a = 1.0 / alpha
    ratio = -2.0 * alpha * time / (along + sign * sqrt(-a) * (1.0 - size * alpha))
    return sign * sqrt(-a) * max(log(max(ratio, 1.0)), 1e-3)


def period(mu: float, position: Floats, velocity: Floats) -> float:
    """Period (s) of the orbit; infinite of a parabola or hyperbola."""
    alpha = 2.0 / float(np.linalg.norm(position)) - float(velocity @ velocity) / mu
    return 2.0 * pi / (alpha * sqrt(mu * alpha)) if alpha > 0.0 else float("inf")


def of_elements(
    mu: float, axis: float, eccentricity: float, inclination: float, node: float, periapsis: float, anomaly: float
) -> tuple[Floats, Floats]:
    """Position (3,) m and velocity (3,) m/s of classical elements, inertial axes.

    axis : semi-major axis, m, negative of a hyperbola. node : longitude of the ascending node from x. periapsis : its
    argument. anomaly : the true one. All angles in rad. Source: Battin, section 3.2; docs/theory/orbit.md, (1a).
    """
    parameter = axis * (1.0 - eccentricity**2)
    turn = _about(2, node) @ _about(0, inclination) @ _about(2, periapsis)
    ahead = np.array([math.cos(anomaly), math.sin(anomaly), 0.0])
    position = parameter / (1.0 + eccentricity * ahead[0]) * ahead
    velocity = sqrt(mu / parameter) * np.array([-ahead[1], eccentricity + ahead[0], 0.0])
    return turn @ position, turn @ velocity


def _about(axis: int, angle: float) -> Floats:
    """(3, 3) rotation about an axis of coordinates."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[i, i] = matrix[j, j] = math.cos(angle)
    matrix[j, i] = math.sin(angle)
    matrix[i, j] = -matrix[j, i]
    return matrix


# Sine, cosine and arctangent for kernels, of numbers or of values with lanes.
#
# They are series where these are exact to rounding: a series takes all lanes at once, the library one after another.

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
