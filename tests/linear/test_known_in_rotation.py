"""Linear models about a steady rotation: rigid motions and momenta that they know, and loops without these."""

from dataclasses import replace

import numpy as np
import pytest
from oracles.generated import changed, generated
from oracles.satellites import turn_of

import femb
from femb.elements.control.linear_law import LinearLaw
from femb.linear.linearise import plant_of

SPIN = 0.3


# wheels of each, with the rotor of a gyro on a gimbal in the last
WHEELS = (3, 3, 3, 4)


def spinning(number, outputs, **words):
    model = generated(number, law=False, hot=False, spin=SPIN)
    return plant_of(model, ["bodies.hub.torque"], outputs, {"start": "equilibrium"} | words)


def law_of(read, gain):
    names = [[f"bodies.hub.{word}.{axis}" for axis in "xyz"] for word in (read, "torque")]
    return LinearLaw("law", [], [], [], -gain * np.eye(3), 0.05, inputs=names[0], outputs=names[1])


@pytest.mark.parametrize("words", [{}, {"hub": "hub"}])
@pytest.mark.parametrize("number", range(4))
def test_rigid_motions_and_momenta_are_invariant(number, words):
    """A X = X L and Y^T A = L Y^T, of matrices that no one derived from the rigid motions: the six of a free satellite
    and three translations at constant velocity, and its momenta, the place of its mass centre and its wheels."""
    space = spinning(number, ["bodies.hub.angular_velocity"], **words)
    known = space.known.form.invariant
    assert known.motions.shape[1] == 9
    assert known.momenta.shape[1] == 9 + WHEELS[number]
    for A, X, rates in ((space.A, known.motions, known.rates), (space.A.T, known.momenta, known.left_rates.T)):
        np.testing.assert_array_less(np.abs(A @ X - X @ rates), 1e-13 * np.max(np.abs(A) @ np.abs(X)))
        # what turns does so at the rate of the rotation
        rates = np.abs(np.linalg.eigvals(rates).imag)
        assert np.all(np.minimum(rates, np.abs(rates - SPIN)) < 1e-6)


@pytest.mark.parametrize("number", range(4))
def test_loops_about_a_rotation_are_without_what_is_conserved(number):
    """A law of rates sees no rigid displacement, and drives no momentum of a wheel; one of the attitude sees turns."""
    of = {}
    for words in ({}, {"hub": "hub"}):
        plant = spinning(number, ["bodies.hub.angular_velocity", "bodies.hub.turn"], **words)
        rates = femb.loop(plant, [law_of("angular_velocity", 1.0)])
        assert rates.conserved == 9 + WHEELS[number]
        assert rates.stable
        assert femb.loop(plant, [law_of("turn", 1.0)]).conserved == 6 + WHEELS[number]
        poles = rates.poles()
        of[str(words)] = np.sort_complex(poles[np.abs(poles) < 10.0])
    # the dense matrices of a rotation hide so much of slow poles behind entries of 1e8
    np.testing.assert_allclose(*of.values(), rtol=2e-4)


@pytest.mark.slow
def test_a_truncated_model_about_a_rotation_has_the_loop_of_the_whole():
    """Without wheels, whose momenta modes do not have."""
    model = generated(0, law=False, hot=False, spin=SPIN)
    model.tables["wheels"].clear()
    model = changed(model, {("bodies", "hub"): replace(model.bodies["hub"], **turn_of(model, SPIN))})
    words = {"start": "equilibrium", "inputs": ["bodies.hub.torque"], "outputs": ["bodies.hub.angular_velocity"]}
    whole, of_modes = femb.linearize(model, **words), femb.linearize_structure(model, **words, modes=8, damping=0.0)
    law = law_of("angular_velocity", 1.0)
    loops = [femb.loop(plant, [law]) for plant in (whole, of_modes)]
    assert [loop.conserved for loop in loops] == [9, 9]
    slow = [loop.poles()[np.abs(loop.poles()) < 1.0] for loop in loops]
    np.testing.assert_allclose(*map(np.sort_complex, slow), rtol=1e-4)
