"""Rotary inertia of the beam against a program of its own, which shares nothing with femb.

That program has the attitude of every section from its definition, angular velocity, momentum and its rate by
differences at 60 digits, the virtual work with partial spins, and changes by differences of all that.
"""

import numpy as np
import pytest

from femb.elements.beam.rotary_inertia import LineChanges, LineMotion, inertia_changes, inertia_force
from femb.elements.beam.strain import INERTIA, LENGTH, MASS, OFFSET
from femb.numerics.compiler.compile import kernel
from femb.numerics.compiler.lanes import LANES, lanes

# x, v, x2 (4, 3), spin and angular acceleration of end I, twist with both rates; then the direction of the change.
CASES = {
    "straight line": (
        (1.01, (0.0, 0.0)),
        [
            [(0, 0, 0), (1.0201, 0, 0), (1.01, 0, 0), (1.01, 0, 0)],
            [(0.58, 0.36, 0.29), (0.03, 0.55, -0.74), (-0.16, -0.48, 0.6), (0.04, -0.29, -0.78)],
            [(-0.26, 0.01, -0.28), (1.29, 1.01, -2.71), (-1.89, -0.17, -0.42), (0.21, 0.22, 2.12)],
            [(-1.11, -0.38, 2.04), (0, 0, 0), (0.65, 0.66, -0.51), (0, 0, 0)],
            (-0.66, 0.07, 0.04),
        ],
        [
            [(0, 0, 0), (-1.23, -0.68, -0.07), (-0.94, -0.1, 0.1), (0.04, -0.51, 0.59)],
            [(0.89, 0.32, -0.82), (0.73, -0.5, 0.88), (-1.07, 0.91, -0.02), (-1.25, -0.31, 0.05)],
            [(0.27, -0.98, -1.11), (0.2, -0.47, 0.24), (0.76, -1.65, 0.25), (1.22, -0.3, -0.81)],
            [(0.75, 0.25, 0.9), (0, 0, 0), (-0.35, -1.48, -0.11), (0, 0, 0)],
            (-0.45, 0.78, 0.19),
        ],
        [-0.1869003003926762, 0.1820934770383752, 0.0831591026706501, 0.0424150511394979],
        [-0.1914066782464569, -0.0012199965284558, 0.1123922251433835, 0.0551042964496561],
    ),
    "offset": (
        (0.59, (0.02, -0.03)),
        [
            [(0, 0, 0), (0.5959, 0, 0), (0.39, 0.03, -0.05), (0.54, -0.03, -0.24)],
            [(-0.23, -0.87, 3.32), (0.23, -0.35, -0.28), (-0.67, -1.06, -0.39), (0.48, -0.24, 0.96)],
            [(-0.2, 0.02, 1.55), (0.55, -0.51, -0.18), (0.54, 1.94, -0.27), (-0.24, 1.0, -0.89)],
            [(-0.29, 0.88, 0.58), (0, 0, 0), (0.09, 0.67, -2.83), (0, 0, 0)],
            (0.41, -0.38, -0.67),
        ],
        [
            [(0, 0, 0), (0.28, 0.7, -0.44), (-1.08, 0.03, -0.05), (1.41, 0.75, 0.19)],
            [(1.11, -0.21, -0.93), (0.58, 0.58, -0.21), (-0.78, 0.23, -2.49), (0.69, 0.49, -1.64)],
            [(0.06, -0.96, 0.76), (-2.03, -0.91, 0.71), (1.16, -2.16, -0.5), (0.33, -0.61, 1.59)],
            [(-1.19, 0.35, -1.05), (0, 0, 0), (1.41, -0.02, -0.37), (0, 0, 0)],
            (-1.72, 1.68, 0.75),
        ],
        [1.3279304122725943, -0.2226037973508841, -0.0968318172921930, -0.0485123124905896],
        [22.817424373901016, -0.0720264429062883, 1.3092479467186078, 0.6507256017850085],
    ),
}


@kernel
def force_of(data, offset, x, v, x2, spins, twist, F, M1, force):
    data, x, v, x2, spins, twist = lanes(data), lanes(x), lanes(v), lanes(x2), lanes(spins), lanes(twist)
    lanes(force)[0] = inertia_force(LineMotion(x, v, x2, spins, twist), data, offset, lanes(F), lanes(M1))


@kernel
def changes_of(data, offset, x, v, x2, spins, twist, dx, dv, dx2, dspins, dtwist, F, M1, force):
    data, x, v, x2, spins, twist = lanes(data), lanes(x), lanes(v), lanes(x2), lanes(spins), lanes(twist)
    changes = LineChanges(
        lanes(dx), lanes(dv), lanes(dx2), lanes(dspins), lanes(dtwist), lanes(M1), lanes(F), lanes(M1), lanes(force)
    )
    inertia_changes(LineMotion(x, v, x2, spins, twist), data, offset, changes)


def wide(array):
    return np.repeat(np.asarray(array, float)[..., None], LANES, -1)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_force_and_change_are_those_of_the_definition(case):
    """Force along z on both g, moment about x on the spin of end I, force on the twist; relative to the largest."""
    (length, (cy, cz)), point, change, force, changes = CASES[case]
    data = np.zeros(37)
    data[LENGTH], data[MASS], data[INERTIA : INERTIA + 3] = length, 2.5, (0.05, 0.03, 0.04)
    data[OFFSET], data[OFFSET + 1] = cy, cz
    data, offset, at = wide(data), cy != 0.0, [wide(each) for each in point]
    F, M1, twist = np.zeros((4, 3, LANES)), np.zeros((3, LANES)), np.zeros((1, LANES))
    force_of(data, offset, *at, F, M1, twist)
    along = [wide([each]) for each in change]
    dF, dM1, dtwist = np.zeros((1, 4, 3, LANES)), np.zeros((1, 3, LANES)), np.zeros((1, LANES))
    changes_of(data, offset, *at, *along, dF, dM1, dtwist)
    for parts, wanted in (((F, M1, twist[0]), force), ((dF[0], dM1[0], dtwist[0]), changes)):
        got = np.array([parts[0][1, 2], parts[0][3, 2], parts[1][0], parts[2]])
        np.testing.assert_allclose(got, np.tile(np.array(wanted)[:, None], LANES), 1e-14, 1e-13)
