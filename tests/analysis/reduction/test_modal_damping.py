"""Modal damping in sparse linear models and in their truncations: the same as in the dense one."""

import numpy as np
import pytest
from analysis.modes.test_modes import satellite

from femb import ModalDamping, linear_model, linearize
from femb.analysis.reduction.truncate import craig_bampton

WORDS = {"inputs": ["bodies.hub.torque"], "outputs": ["bodies.hub.turn"]}
FREQUENCIES = (0.1, 0.2733, 1.57)


@pytest.fixture(scope="module")
def damped():
    model = satellite()
    model.add(ModalDamping("wings", held="hub", ratio=0.02, modes=6))
    return model


def test_sparse_and_dense_transfer_functions_agree(damped):
    sparse, dense = linear_model(damped, **WORDS), linearize(damped, **WORDS)
    undamped = linear_model(satellite(), **WORDS)
    for frequency in FREQUENCIES:
        s = 2j * np.pi * frequency
        wanted = dense.transfer(s)
        np.testing.assert_allclose(sparse.transfer(s), wanted, rtol=0, atol=2e-6 * np.max(np.abs(wanted)))
    s = 2j * np.pi * FREQUENCIES[2]
    assert np.max(np.abs(undamped.transfer(s) - sparse.transfer(s))) > 1e-3 * np.max(np.abs(sparse.transfer(s)))


def test_truncation_keeps_the_damping_of_the_model(damped):
    full = linear_model(damped, **WORDS, hub="hub")
    reduction = craig_bampton(full, 6, damping=0.0)
    assert "the model's own modal damping" in reduction.kind
    for frequency in FREQUENCIES:
        s = 2j * np.pi * frequency
        wanted = full.transfer(s)
        found = reduction.state_space(FREQUENCIES).transfer(s)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.max(np.abs(wanted)))
