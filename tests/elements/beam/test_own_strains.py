"""Strains of their own, which statics advances: their first order against differences, and the tangent with them."""

import numpy as np
import pytest

from femb import Beam, Ground, Model, Path, PointMass, RigidBody, Section
from femb.layout.protocols import Strained
from femb.system.system import System

NONE = np.zeros(0)  # inputs


def bent(strain="exact"):
    """A system of a body and a curved beam with attachments, at a random state."""
    model = Model()
    section = Section("s", 1e-3, (2e-8, 5e-8), 4e-8, 2700.0, 7e10, 2.7e10, mass_axis=(0.01, 0.02))
    hub = model.add(RigidBody("hub", mass=1.0, inertia=0.1))
    beam = Beam("b", section, elements=3, start=hub.at((0.1, 0.2, 0.0), direction=(1, 0, 0)), strain=strain,
                path=Path(radius=2.0, angle=0.8))  # fmt: skip
    model.add(beam)
    model.add(Beam("c", "s", 1.0, 2, start=Ground().at((5, 0, 0), direction=(0, 1, 0))))
    model.add(PointMass("m", mass=1.0, on=beam.node(-1)))
    system = System(model)
    rng = np.random.default_rng(0)
    return system, system.retract(system.q0, 0.05 * rng.standard_normal(system.n_v)), rng.standard_normal(system.n_v)


def beams(system):
    (batch,) = [batch for batch in system.batches if isinstance(batch, Strained)]
    return batch


@pytest.mark.parametrize("strain", ["exact", "source"])
def test_first_order(strain):
    system, q, x = bent(strain)
    batch, still, h = beams(system), np.zeros(system.n_v), 1e-6
    assert batch.own_strains(NONE, q, still).shape == (5, 12)
    np.testing.assert_allclose(batch.own_strains(NONE, system.q0, still), 0.0, atol=1e-13)
    ahead, behind = (batch.own_strains(NONE, system.retract(q, sign * h * x), still) for sign in (1.0, -1.0))
    change = batch.own_strains(NONE, q, x) - batch.own_strains(NONE, q, still)
    np.testing.assert_allclose(change, (ahead - behind) / (2.0 * h), atol=1e-6)


@pytest.mark.slow
def test_tangent_with_the_strains_of_the_coordinates_is_the_tangent():
    system, q, _ = bent()
    still = np.zeros(system.n_v)
    own = [batch.own_strains(NONE, q, still) if isinstance(batch, Strained) else NONE for batch in system.batches]
    u = system.inputs_at(0.0, q, still)
    wanted = system.tangent(u, q, still, still)[1]
    given = system.with_own_strains(q, own).tangent(u, q, still, still)[1]
    np.testing.assert_allclose(given, wanted, atol=1e-12 * np.abs(wanted).max())
    # with others only the geometric part changes: with none it is that of an unloaded beam
    none = system.with_own_strains(q, [0.0 * strains for strains in own]).tangent(u, q, still, still)[1]
    K = system.pattern.to_csc(none).toarray()
    np.testing.assert_allclose(K, K.T, atol=1e-12 * np.abs(K).max())
    assert np.linalg.eigvalsh(K).min() > -1e-9 * np.abs(K).max()
