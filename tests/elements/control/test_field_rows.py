"""Rows of sensors of fields that change from place to place, as differences of their readings."""

import numpy as np
import pytest
from models import of_parts

import femb
from femb.elements.control.signals import Moment, rows_of


@pytest.mark.parametrize("axes", [(1.0, 0.0, 0.0, 0.0), (0.8, 0.6, 0.0, 0.0)])
@pytest.mark.parametrize("kind", [femb.Magnetometer, femb.Accelerometer])
def test_a_sensor_of_a_field_notices_its_place_and_its_motion(kind, axes):
    """Along any displacement, rotation and rate, in a field and tides that double within some tens of metres; of an
    acceleration what the rate of a velocity leaves."""
    hub = femb.RigidBody("hub", 10.0, 2.0, position=(3.0, -5.0, 4.0), euler_angles=(0.4, -0.9, 1.3))
    sensor = kind("s", body="hub", at=(2.0, 1.0, -3.0), axes=axes, period=1.0)
    orbit = femb.Orbit("orbit", (60.0, 0.0, 80.0), (0.0, 20.0, 0.0), 4e4)
    dipole = femb.DipoleField("dipole", strength=1e6, tilt=0.3, longitude=0.5)
    system = femb.System(of_parts(hub, orbit, dipole, sensor))
    signal, q, t = sensor.truth(system.layout, system.model), system.q0, 2.0
    v = np.array([0.3, -0.2, 0.5, 0.4, 0.1, -0.6])
    signal = signal if signal.integrated is None else signal.integrated[1]

    def reading(step, faster):
        at = q + system.rates(q[None], step[None])[0]
        system.normalise(at)
        return signal.value(Moment(at, v + faster, t, np.zeros(0)), {})

    h, none = 1e-5, np.zeros(6)
    for rows, changes in zip(rows_of(signal)(t, q, v), ((1.0, 0.0), (0.0, 1.0)), strict=True):
        steps = [[h * part * e for part in changes] for e in np.eye(6)]
        found = [(reading(*step) - reading(*(none - each for each in step))) / (2.0 * h) for step in steps]
        np.testing.assert_allclose(rows, np.stack(found, axis=1), rtol=0.0, atol=1e-8)
    # a place changes it by 3 B/R a metre, and 2 g/R, which is not hidden by the turn
    assert np.abs(rows_of(signal)(t, q, v)[0][:, :3]).max() > 0.01
