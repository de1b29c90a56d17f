"""Equation (57) of the thesis as sparse matrices, against the velocity form."""

import numpy as np
import pytest
from formulations.test_quaternion import deformed, pendulum, places_of, ring, satellite
from models import of_parts, refuses

from femb import PointMass, RigidBody
from femb.elements import JointEnd, Latch, Revolute
from femb.model.model import Model
from femb.system.system import System


def state_of(model):
    system = System(model())
    q, v = deformed(system, np.random.default_rng(11)) if model is satellite else (system.q0, system.v0)
    return system, q, v


@pytest.mark.parametrize("model", [satellite, pendulum])
def test_the_velocity_forms_motion_satisfies_it(model):
    """M q'' + A^T lambda_E + J^T lambda = f, A q'' = -2 p'.p', J q'' = gamma, with lambda_E = omega . P_omega."""
    system, q, v = state_of(model)
    a, reactions = system.forward(system.inputs_at(0.0, q, v), q, v)
    second = system.second_rates(q[None], v[None], a[None])[0]
    omega = places_of(system)[1]
    norm = np.sum(v[omega] * (system.mass_matrix(q) @ v)[omega], axis=1)
    found = system.augmented(q=q, v=v)
    M, A, J = found.mass, found.norm_rows, found.joint_rows
    size = np.abs(found.right).max()
    np.testing.assert_allclose(M @ second + A.T @ norm + J.T @ reactions, found.force, atol=1e-11 * size)
    np.testing.assert_allclose(A @ second, found.norm_right, atol=1e-12 * np.abs(found.norm_right).max())
    np.testing.assert_allclose(J @ second, found.joint_right, atol=1e-11 * size)
    # the same, as one matrix
    unknowns = np.concatenate([second, norm, reactions])
    np.testing.assert_allclose(found.matrix @ unknowns, found.right, atol=1e-11 * size)


@pytest.mark.parametrize("model", [satellite, pendulum, ring])
def test_its_solution_is_the_velocity_forms(model):
    """Accelerations and multipliers; three rows of the ring's twenty depend on the others."""
    system, q, v = state_of(model)
    u = system.inputs_at(0.0, q, v)
    a, reactions = system.forward(u, q, v)
    wanted = system.second_rates(q[None], v[None], a[None])[0]
    found = system.augmented(q=q, v=v)
    second, norm, multipliers = found.solve()
    np.testing.assert_allclose(second, wanted, atol=1e-11 * np.abs(wanted).max())
    np.testing.assert_allclose(multipliers, reactions, atol=1e-9 * max(1.0, np.abs(reactions).max(initial=0.0)))
    assert np.sum(~found.independent) == (3 if model is ring else 0)
    omega = places_of(system)[1]
    spin_energy = np.sum(v[omega] * (system.mass_matrix(q) @ v)[omega], axis=1)
    np.testing.assert_allclose(norm, spin_energy, atol=1e-9 * max(1.0, np.abs(found.right).max()))


def test_mass_is_singular_along_every_quaternion():
    """The thesis's own warning: only the bordered matrix can be solved with."""
    system, q, v = state_of(satellite)
    found = system.augmented(q=q, v=v)
    for places in places_of(system)[0]:
        along = np.zeros(system.n_q)
        along[places] = q[places]
        np.testing.assert_allclose(found.mass @ along, 0.0, atol=1e-15)
    difference = found.mass - found.mass.T
    assert abs(difference).max() < 1e-15


def test_rows_and_columns_have_names():
    model = satellite()
    model.add(PointMass("dust", mass=0.1, position=(5.0, 0.0, 0.0)))
    system = System(model)
    found = system.augmented()
    size = system.n_q + len(system.coordinates[2])
    assert len(found.rows) == len(found.columns) == size == found.matrix.shape[0]
    assert len(set(found.rows)) == len(set(found.columns)) == size
    # where they stand: the hub's translational mass, and its quaternion's row
    x = found.columns.index("hub: second rate of x")
    assert found.rows[x] == "hub: force x"
    assert found.mass[x, x] > 5.0
    row = found.rows.index("hub: length of p") - system.n_q
    scalar = found.columns.index("hub: second rate of p0")
    assert found.norm_rows[row, scalar] == 2.0 * system.q0[scalar]
    assert found.rows[found.columns.index("dust: second rate of z")] == "dust: force z"
    assert "hub: multiplier of the length of p" in found.columns
    assert any(each.endswith("second rate of strain") for each in found.columns)


def test_rows_of_joints_and_of_open_latches():
    model = Model("door")
    model.add(RigidBody("door", mass=1.0, inertia=(0.1, 0.2, 0.3), position=(0.5, 0.0, 0.0)))
    model.add(Revolute("hinge", JointEnd("ground", axis=(0, 0, 1)), JointEnd("door", at=(-0.5, 0, 0)), rates=1.0))
    model.add(Latch("lock", "hinge", at=0.3))
    system = System(model)
    found = system.augmented()
    assert sum(each.startswith("joints.hinge: ") for each in found.rows) == 5
    latch = int(np.flatnonzero(~found.independent)[0])
    assert found.rows[system.n_q + 1 + latch].startswith("latches.lock")
    assert found.joint_rows[[latch]].nnz == 0 or not np.any(found.joint_rows[[latch]].toarray())
    second, _, multipliers = found.solve()
    assert multipliers[latch] == 0.0
    np.testing.assert_allclose(found.joint_rows @ second, found.joint_right, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"q": [1.0, 2.0]}, r"q: got \[1.0, 2.0\], wanted 7 finite numbers in the order of System.q0"),
        ({"v": "fast"}, "v: got 'fast', wanted 6 finite numbers in the order of System.v0"),
        ({"v": [np.nan] * 6}, "v: got .nan, .*wanted 6 finite numbers"),
        ({"q": [0, 0, 0, 2, 0, 0, 0]}, "q: got a quaternion p with p.p off 1 by 3, wanted unit length"),
    ],
)
def test_what_is_no_state_is_refused(values, message):
    model = of_parts(RigidBody("body", mass=1.0, inertia=1.0))
    refuses(message, System(model).augmented, **values)
