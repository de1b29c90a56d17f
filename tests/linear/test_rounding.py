"""Estimates of rounding in responses of full order, against two other formulations of the same random satellites."""

import numpy as np
import pytest
from oracles.generated import generated

import femb

FREQUENCIES = np.array([0.01, 0.1, 0.5, 2.0, 10.0])
OUTPUTS = ["bodies.hub.turn", "bodies.hub.angular_velocity", "bodies.hub.acceleration"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_responses_of_full_order_are_known_as_well_as_they_say(number):
    """In coordinates of joints, in those of frames, and sparse by exact products: what two of them differ by is at most
    what they say. An acceleration of full order does not see a slow rotation."""
    model = generated(number, law=False, hot=False)
    words = {"inputs": ["bodies.hub.torque"], "outputs": OUTPUTS}
    spaces = femb.linearize(model, **words), femb.linearize_structure(model, hub="hub", **words)
    sparse = femb.linear_model(model, hub="hub", **words)
    joints, frames, exact = (each.frequency_response(FREQUENCIES) for each in (*spaces, sparse))
    size = exact.largest_alike(np.abs(exact.values))
    floor = 1e-10 * size
    for first, second in ((joints, frames), (joints, exact), (frames, exact)):
        error = np.abs(first.values - second.values)
        assert np.all(error <= first.rounding + second.rounding + floor)
    # modes keep what the estimate of the sparse model gives up
    np.testing.assert_allclose(joints.values / size, frames.values / size, rtol=0.0, atol=1e-9)
