"""Modes about a steady rotation whose mass centre is beside the hub, so that it moves on a straight line."""

import numpy as np
import pytest
from models import of_parts, stiff

from femb import AerodynamicLoad, Attachment, Beam, RigidBody, linear_model, modes
from femb.system.rigid_motion import about_mass_centres
from femb.system.system import System

SPIN = 3.0


def rotor(velocity=(0.0, 0.0, 0.0), *items):
    section = stiff(1e5, 1.0, (4.0, 9.0), 1.0, (2e-3, 1e-3, 1e-3), "tube")
    return of_parts(
        RigidBody("hub", mass=10.0, inertia=(8.0, 8.0, 9.0), angular_velocity=(0, 0, SPIN), velocity=velocity),
        Beam("blade", section, 1.0, 4, start=Attachment("hub", at=(0.1, 0, 0), direction=(1, 0, 0))),
        *items,
    )


@pytest.mark.slow
def test_frequencies_do_not_depend_on_the_velocity_of_the_mass_centre():
    """A hub that is at rest at its centre, one at rest at the mass centre, and one that moves along the axis."""
    found = [modes(rotor(each), 10, start="equilibrium").frequencies for each in ((0, 0, 0), (0, 3.0, 0), (0, 0, 0.7))]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-6)


@pytest.mark.slow
def test_linear_models_have_these_frequencies():
    """As an input at a frequency that they have."""
    model = rotor((0.0, 3.0, 0.0))
    frequency = modes(model, 3, start="equilibrium").frequencies[2]
    plant = linear_model(model, inputs=["bodies.hub.force.y"], outputs=["bodies.hub.velocity.y"], start="equilibrium")
    near, beside = np.abs(plant.frequency_response(frequency * np.array([1.0 + 1e-7, 1.1])).values).max(axis=(1, 2))
    assert near > 1e4 * beside


def test_a_velocity_that_forces_depend_on_is_kept():
    free, blown = System(rotor()), System(rotor((0, 0, 0), AerodynamicLoad("air", "hub", force_by_velocity=-np.eye(3))))
    assert about_mass_centres(blown) is blown
    momentum = free.energy_momentum(free.q0[None], about_mass_centres(free).v0[None])[0, 2:5]
    np.testing.assert_allclose(momentum, 0.0, atol=1e-12)
