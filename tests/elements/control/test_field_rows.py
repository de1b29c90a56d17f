"""Rows of sensors of fields that change from place to place, as differences of their readings."""

import numpy as np
import pytest
from models import of_parts

import femb
from femb.elements.control.signals import Moment, rows_of


@pytest.mark.parametrize("axes", [(1.0, 0.0, 0.0, 0.0), (0.8, 0.6, 0.0, 0.0)])
def test_a_magnetometer_notices_its_place_and_its_attitude(axes):
    """Along any displacement and rotation, in a dipole whose field doubles within some tens of metres."""
    hub = femb.RigidBody("hub", 10.0, 2.0, position=(3.0, -5.0, 4.0), euler_angles=(0.4, -0.9, 1.3))
    sensor = femb.Magnetometer("s", body="hub", at=(2.0, 1.0, -3.0), axes=axes, period=1.0)
    orbit = femb.GravityGradient("orbit", rate=0.1, mu=1e4)
    dipole = femb.DipoleField("dipole", strength=1e6, tilt=0.3, longitude=0.5)
    system = femb.System(of_parts(hub, orbit, dipole, sensor))
    signal, q, v, t = sensor.truth(system.layout, system.model), system.q0, system.v0, 2.0
    rows = rows_of(signal)(t, q, v)[0]

    def reading(step):
        at = q + system.rates(q[None], step[None])[0]
        system.normalise(at)
        return signal.value(Moment(at, v, t, np.zeros(0)), {})

    h = 1e-5
    found = np.stack([(reading(h * e) - reading(-h * e)) / (2.0 * h) for e in np.eye(6)], axis=1)
    np.testing.assert_allclose(rows, found, rtol=0.0, atol=1e-8)
    # a place changes it by 3 B/R a metre, which is not hidden by the turn
    assert np.abs(rows[:, :3]).max() > 0.01
