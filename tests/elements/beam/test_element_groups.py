"""Forces, matrices and energies of elements that are computed in groups, against those of one element after another."""

import numpy as np
import pytest
from oracles.alone import Alone

from femb import Attachment, Beam, Model, RigidBody, Section
from femb.elements.beam import strain as columns
from femb.elements.beam.batch import BeamBatch
from femb.layout import terms
from femb.layout.element import FoldedError
from femb.layout.evaluation import Evaluation
from femb.numerics import rotations
from femb.system.system import System

SECTION = Section("soft", 1.1, (1.3, 0.4), 0.7, 0.9, 2.0, 1.5, polar_moment=1.2)


def batch_of(n, *, clamped, differ=True):
    """The system and the batch of n elements: on ground, or clamped off the origin of a body at an angle.

    differ : every element has a stiffness, inertias, an offset of its mass, a reference shape, a damping and a form of
    strains of its own; some offsets and dampings are zero.
    """
    model = Model("beams", gravity=(0.3, -0.7, 0.5))
    hub = model.add(RigidBody("hub", mass=1.7, inertia=(2.0, 1.5, 1.8)))
    start = hub.at((0.3, 0.1, -0.2), direction=(1, 0.4, 0.2), up=(0, 1, 2))
    if clamped:
        start = Attachment("ground", at=(0.2, 0.1, 0.0), direction=(1, 1, 0))
    model.add(Beam("beam", section=SECTION, length=1.2 * n, elements=n, start=start))
    system = System(model)
    batch = next(each for each in system.batches if isinstance(each, BeamBatch))
    if differ:
        rng, data = np.random.default_rng(n), batch.data.copy()
        for k, row in enumerate(data):
            half = rng.standard_normal((4, 4))
            row[columns.STIFFNESS : columns.STIFFNESS + 16] = (half @ half.T + np.eye(4)).ravel()
            row[columns.REFERENCE :] = 0.2 * rng.standard_normal(12)
            row[columns.INERTIA : columns.INERTIA + 3] = rng.uniform(0.3, 1.5, 3)
            row[columns.OFFSET : columns.OFFSET + 2] = rng.uniform(0.2, 0.6, 2) if k % 3 else 0.0
            row[columns.DAMPING], row[columns.SOURCE] = 0.3 * (k % 2), k % 5 == 2
        batch.has_mass_offset = True
        batch.set_rows(batch.ends, data)
    return system, batch


def states(system, turn):
    """Two states q, v, a: frames turned by about ``turn`` (rad), the second less."""
    rng = np.random.default_rng(0)
    change = turn * rng.standard_normal((2, system.n_v)) * np.array([[1.0], [0.01]])
    change[:, system.layout.internal_v] *= 0.1
    q = system.q0 + system.rates(np.tile(system.q0, (2, 1)), change)
    for each in q:
        system.normalise(each)
    return q, *rng.standard_normal((2, 2, system.n_v))


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=1e-13 * np.max(np.abs(wanted), initial=1.0))


@pytest.mark.parametrize("turn", [1e-3, 0.4])
@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("n", range(1, 10))
def test_forces_are_those_of_single_elements(n, clamped, turn):
    system, batch = batch_of(n, clamped=clamped)
    q, v, a = states(system, turn)
    for factor in (terms.every, terms.work, terms.inertia):
        together, alone = np.zeros((2, 2, system.n_v))
        Evaluation([batch], system.pattern).add_residual(q, q, v, a, together, factor)
        Evaluation([batch.row(k) for k in range(n)], system.pattern).add_residual(q, q, v, a, alone, factor)
        close(together, alone)
    sections = np.concatenate([batch.row(k).section_forces(q, v, a) for k in range(n)], axis=1)
    close(batch.section_forces(q, v, a), sections)


@pytest.mark.parametrize("turn", [1e-3, 0.4])
@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("n", range(1, 10))
def test_matrices_are_those_of_single_elements(n, clamped, turn):
    system, batch = batch_of(n, clamped=clamped)
    q, v, _ = states(system, turn)
    u = np.zeros((2, system.n_u))
    together, alone = np.zeros((2, 3, 2, system.pattern.size))
    system.evaluation.of([batch]).add_step_matrices(u, q, v, *together)
    for k in range(n):
        system.evaluation.of([batch.row(k)]).add_step_matrices(u, q, v, *alone)
    for got, wanted in zip(together, alone, strict=True):
        close(got, wanted)


@pytest.mark.parametrize("clamped", [False, True])
@pytest.mark.parametrize("n", range(1, 10))
def test_energies_and_loads_in_the_middle_are_those_of_single_elements(n, clamped):
    system, batch = batch_of(n, clamped=clamped)
    q, v, a = states(system, 0.4)
    together, alone = np.zeros((2, 2, 8))
    Alone(system, batch).energy_momentum(q, v, together)
    for k in range(n):
        Alone(system, batch.row(k)).energy_momentum(q, v, alone)
    close(together, alone)
    assert np.min(np.abs(alone[:, 0])) > 0.1
    sections = np.concatenate([batch.row(k)._sections(np.zeros((2, 0)), q, v, a) for k in range(n)], axis=1)
    close(batch._sections(np.zeros((2, 0)), q, v, a), sections)


@pytest.mark.parametrize(("n", "element"), [(n, k) for n in (1, 3, 4, 6) for k in sorted({0, n // 2, n - 1})])
def test_a_folded_element_is_named(n, element):
    """All frames behind it are turned by 180 degrees."""
    system, batch = batch_of(n, clamped=False, differ=False)
    q = system.q0.copy()
    for frame in np.unique(batch.index[element:, 1]):
        turned = frame + np.arange(3, 7)
        q[turned] = rotations.multiply(q[turned], np.array([0.0, 0.0, 1.0, 0.0]))
    u, zero = np.zeros((1, system.n_u)), np.zeros((1, system.n_v))
    with pytest.raises(FoldedError, match=f"element {element + 1} of {n}: turned"):
        Alone(system, batch).residual(u, q[None], zero, zero, zero.copy())
    with pytest.raises(FoldedError, match=f"element {element + 1} of {n}: turned"):
        Alone(system, batch).matrices(u[0], q, zero[0], *np.zeros((3, system.pattern.size)))


def test_elements_alike_share_their_parameters():
    """They take the memory of one group; what is changed for one of them is changed for it alone."""
    system, batch = batch_of(9, clamped=True, differ=False)
    assert len(np.unique(batch._kinds[0])) < 3
    q = system.q0
    own = batch.own_strains(np.zeros(system.n_u), q, np.zeros(system.n_v))
    own[6, 0] += 1e-3
    still = np.zeros((1, system.n_v))
    force = batch.strained(q, own).section_forces(q[None], still, still) - batch.section_forces(q[None], still, still)
    strained = np.flatnonzero(np.any(np.abs(force[0]) > 1e-12, axis=(1, 2)))
    np.testing.assert_array_equal(strained, [6])
