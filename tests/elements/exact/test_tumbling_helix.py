"""Free flight of a helix with a full section and an offset mass, in large rotation and deformation."""

import numpy as np
import pytest

from femb import Attachment, ExactBeam, Model, Section, simulate
from femb.numerics import rotations

COUPLING = np.random.default_rng(6).standard_normal((6, 6))
CENTRE = np.cross(np.eye(3), [0.0, 0.05, -0.03])


def helix():
    """Two metres of six elements; their ends turn against each other while it flies."""
    stiffness = COUPLING @ COUPLING.T + 4.0 * np.eye(6)
    mass = np.block([[2.0 * np.eye(3), -2.0 * CENTRE],
                     [2.0 * CENTRE, np.diag([0.06, 0.05, 0.04]) - 2.0 * CENTRE @ CENTRE]])  # fmt: skip
    model = Model()
    model.add(ExactBeam("b", Section("s", stiffness_matrix=stiffness, mass_matrix=mass), 2.0, 6,
                        start=Attachment(at=(0, 0, 0), direction=(1, 0, 0)), curvature=(0.5, 0.3, 0.8),
                        velocity=(0.1, 0.2, 0.0), angular_velocity=(2.0, 4.0, 6.0)))  # fmt: skip
    return model


@pytest.mark.slow
def test_energy_and_momenta_stay():
    """Both fall with the tolerance; at the tightest they stay to ten digits and more."""
    drifts = []
    for rtol in (1e-6, 1e-8, 1e-10):
        results = simulate(helix(), duration=2.0, rtol=rtol, output_interval=0.5)
        audit = results.audit
        momenta = [getattr(audit, word) for word in ("linear_momentum", "angular_momentum")]
        change = [np.abs(each - each[0]).max() / np.abs(each[0]).max() for each in momenta]
        drifts.append([np.abs(audit.energy_error).max() / audit.kinetic_energy[0], *change])
    drifts = np.array(drifts)
    quaternion = results.beams["b"].quaternion
    between = rotations.multiply(rotations.conjugate(quaternion[:, 0]), quaternion[:, -1])
    turns = rotations.axis_angle(rotations.multiply(rotations.conjugate(between[:1]), between))[1]
    assert turns.max() > 1.0
    assert np.all(drifts[1] < 0.1 * drifts[0])
    assert np.all(drifts[2] < drifts[1])
    assert drifts[2].max() < 1e-9
