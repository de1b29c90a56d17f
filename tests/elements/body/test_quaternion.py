"""The quaternion of a body: of length 1 to 1e-6, then made exactly that; else refused."""

import numpy as np
import pytest

import femb

TURN = np.array([np.cos(0.3), 0.0, np.sin(0.3), 0.0])


@pytest.mark.parametrize("excess", [0.9e-6, -0.9e-6])
def test_a_rounded_quaternion_is_made_one(excess):
    body = femb.RigidBody("b", 1.0, 1.0, quaternion=(1.0 + excess) * TURN)
    np.testing.assert_allclose(body.quaternion, TURN, rtol=1e-15)


@pytest.mark.parametrize("excess", [1.1e-6, -1.1e-6])
def test_a_quaternion_of_another_length_is_refused(excess):
    with pytest.raises(femb.ModelError, match=r"quaternion: got \[.*\] of length .*, wanted length 1"):
        femb.RigidBody("b", 1.0, 1.0, quaternion=(1.0 + excess) * TURN)
