"""Third-order inertia tensors against differences of the mass matrix, and the gyroscopic force they contract to."""

import numpy as np
import pytest
import sparse
from long_runs import slow_but
from models import of_parts, sections_like

from femb import Attachment, Beam, Load, Model, PointMass, RigidBody
from femb.linear.modal_model import gyroscopic_force, mass_derivative
from femb.numerics.rotations import exponential, multiply
from femb.system.system import System

X = (1.0, 0.0, 0.0)
INERTIA = np.array([[2.0, 0.2, -0.1], [0.2, 1.5, 0.3], [-0.1, 0.3, 1.8]])


section = sections_like("s", 0.03, (3e-4, 1e-4), 2e-4, 1000.0, 2e3, 1e3)


def body(**words):
    return of_parts(RigidBody("b", mass=2.0, inertia=INERTIA, **words))


def cantilever(**words):
    model = Model(gravity=(0.0, 1.0, -9.8))
    model.add(Beam("c", section(**words), 1.0, 2, start=Attachment(body="ground", at=(0.1, 0.2, 0.3), direction=X)))
    return model


def satellite(**words):
    """A hub off its mass centre, beams off its origin at angles, one curved, masses on tips, a point mass, a load."""
    model = Model(gravity=(0.3, 0.1, -9.8))
    hub = model.add(RigidBody("hub", mass=5.0, inertia=INERTIA, center_of_mass=(0.1, -0.2, 0.3)))
    tip = model.add(RigidBody("tip", mass=1.0, inertia=0.1, center_of_mass=(0.05, 0.0, 0.1)))
    s = section(**words)
    at = hub.at((0.2, 0.1, 0.3), direction=(1.0, 0.3, 0.0))
    model.add(Beam("right", s, 1.0, 2, start=at, end=tip.at((0.0, 0.1, 0.0))))
    at = hub.at((-0.2, 0.1, 0.3), direction=(-1.0, 0.0, 0.4))
    left = model.add(Beam("left", s, 1.5, 2, start=at, curvature=(0.3, 0.2, -0.4)))
    model.add(PointMass("mass", mass=0.4, on=left.node(-1)))
    model.add(PointMass("dust", mass=0.2, position=(3.0, 0.0, 0.0)))
    model.add(Load("push", beam="left", force=(0.1, 0.2, -0.1), torque=(0.0, 0.1, 0.2), frame="body"))
    return model


MODELS = {
    "body": body, "body off its mass centre": lambda: body(center_of_mass=(0.1, -0.2, 0.3)), "cantilever": cantilever,
    "equal inertias": lambda: cantilever(second_moments=(2e-4, 2e-4)), "satellite": satellite,
}  # fmt: skip
every_model = pytest.mark.parametrize("name", MODELS)


def state(system, seed):
    """Coordinates with every frame turned by some 20 degrees on its own and strains of some 5 %, and velocities."""
    rng = np.random.default_rng(seed)
    q = system.q0 + 0.05 * rng.standard_normal(system.n_q)
    for k in system.coordinates[2]:
        q[k : k + 4] = multiply(system.q0[k : k + 4], exponential(0.35 * rng.standard_normal(3)))
    return q, rng.standard_normal(system.n_v)


@every_model
def test_changes_of_the_mass_matrix(name):
    """Along random directions, by differences; symmetric in the first two indices, and sparse."""
    system = System(MODELS[name]())
    q, _ = state(system, 1)
    derivative = mass_derivative(system, q)
    assert isinstance(derivative, sparse.COO)
    assert derivative.shape == (system.n_v,) * 3
    dense = derivative.todense()
    scale = max(np.abs(dense).max(), np.abs(system.mass_matrix(q)).max())
    np.testing.assert_allclose(dense, dense.swapaxes(0, 1), atol=1e-13 * scale)

    def mass(h, x):
        return system.mass_matrix(q + h * system.rates(q[None], x[None])[0]).toarray()

    for x in np.random.default_rng(2).standard_normal((4, system.n_v)):
        terms = [w * (mass(k * 1e-3, x) - mass(-k * 1e-3, x)) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))]
        np.testing.assert_allclose(dense @ x, sum(terms) / 60e-3, atol=1e-10 * scale)


@every_model
@pytest.mark.parametrize("seed", slow_but([0], range(3)))
def test_contracts_to_the_gyroscopic_force(name, seed):
    """That of the kernels: the residual without accelerations, less that at rest (elastic force, weight and loads)."""
    system = System(MODELS[name]())
    q, v = state(system, seed)
    u = system.inputs_at(0.0, q, v)
    rest = np.zeros((1, system.n_v))
    both = system.residual(u[None].repeat(2, 0), q[None].repeat(2, 0), np.stack([v, rest[0]]), rest.repeat(2, 0))
    wanted = both[0] - both[1]
    got = gyroscopic_force(system, q, v)
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=1e-10 * np.abs(wanted).max())
    # its power is the change of kinetic energy at constant velocities
    along = mass_derivative(system, q).todense() @ v
    assert v @ got == pytest.approx(0.5 * v @ along @ v, abs=1e-12 * np.abs(v * got).sum())


def test_a_body_about_its_mass_centre_has_none():
    """A constant mass matrix: omega x J omega is left."""
    system = System(body())
    q, v = state(system, 4)
    assert mass_derivative(system, q).nnz == 0
    wanted = np.concatenate([np.zeros(3), np.cross(v[3:], INERTIA @ v[3:])])
    np.testing.assert_allclose(gyroscopic_force(system, q, v), wanted, atol=1e-14)


def test_only_neighbours_change_each_other():
    """Entries of frames that share no element are not stored: the number grows with the length of a chain."""

    def entries(elements):
        model = of_parts(Beam("c", section(), 1.0, elements, start=Attachment(body="ground", direction=X)))
        system = System(model)
        return mass_derivative(system, state(system, 5)[0]).nnz

    few, more, most = (entries(elements) for elements in (2, 4, 8))
    # but for some that happen to cancel to the last digit
    assert most - more == pytest.approx(2 * (more - few), rel=0.02)
