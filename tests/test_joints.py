"""Joints and the rows they are made of: derivatives, degrees of freedom, coordinates, reactions and closed forms."""

import numpy as np
import pytest
from autograd import grad, jacobian
from oracle_constraints import ENDS, PRIMITIVES, Case

TURNING = ("DOT1", "DOT2", "ANGLE", "ORIENTATION")


def cases():
    """Primitives between all kinds of frames, held and following an input."""
    for primitive in PRIMITIVES:
        for ends in ENDS:
            if "point mass" in ends and primitive in (*TURNING[0:1], "ANGLE", "ORIENTATION"):
                continue
            if primitive != "ANGLE":
                yield pytest.param(primitive, ends, False, id=f"{primitive}, {ends}")
            yield pytest.param(primitive, ends, True, id=f"{primitive}, {ends}, driven")


every_row = pytest.mark.parametrize(("primitive", "ends", "follows"), list(cases()))
SEEDS = range(3)


@every_row
def test_row_and_its_rates(primitive, ends, follows):
    """Phi, J v + Phi_t and J a - gamma are Phi and its derivatives along motions that do not satisfy the row."""
    for seed in SEEDS:
        case = Case(primitive, ends, follows, seed)
        q, v, u = case.q[None], case.v[None], case.u[None]

        def phi(t, case=case):
            return case.phi(case.along(t, case.v, case.a), t)

        position, gamma, rates, speeds = np.zeros((4, 1, 1))
        case.batch.constraints(u, q, v, position, gamma)
        force = np.zeros_like(v)
        case.batch.hold(u, q, v, np.ones((1, 1)), force, rates)
        first, second = grad(phi)(0.0), grad(grad(phi))(0.0)
        size = 1.0 + abs(second)
        assert abs(position[0, 0] - phi(0.0)) < 1e-13 * size
        assert abs(rates[0, 0] - first) < 1e-12 * size
        assert abs(force[0] @ case.a - gamma[0, 0] - second) < 1e-12 * size
        # lambda Phi_t is what the drive's power is
        power = np.zeros(1)
        case.batch.drive(u, q, v, np.ones((1, 1)), power)
        assert abs(power[0] - (first - force[0] @ case.v)) < 1e-12 * size
        assert (power[0] != 0.0) == follows


@every_row
def test_jacobian_is_the_derivative_by_quaternions_times_half_of_rate_body(primitive, ends, follows):
    for seed in SEEDS:
        case = Case(primitive, ends, follows, seed)
        data = np.zeros(case.pattern.size)
        case.batch.jacobian(case.u, case.q, data)
        matrix = case.pattern.to_csc(data).toarray()
        wanted = grad(case.phi)(case.q) @ case.basis(case.q)
        n = case.layout.n_v
        np.testing.assert_allclose(matrix[n, :n], wanted, atol=1e-13)
        np.testing.assert_array_equal(matrix[:n, n], matrix[n, :n])
        assert not matrix[:n, :n].any()


@every_row
def test_tangent_of_the_forces_and_rates(primitive, ends, follows):
    """d(J^T lambda)/dq H and d(J v + Phi_t)/dq H, of frames that something else couples too."""
    for seed in SEEDS:
        case = Case(primitive, ends, follows, seed, coupled=True)
        data = np.zeros(case.pattern.size)
        case.batch.hold_tangent(case.u, case.q, case.v, case.multipliers, data)
        matrix = case.pattern.to_csc(data).toarray()

        def rate(q, case=case):
            first = np.dot(case.gradient(q), case.v)
            return first + (grad(lambda t: case.phi(q, t))(0.0) if case.follows else 0.0)

        n = case.layout.n_v
        wanted = case.multipliers[0] * jacobian(case.gradient)(case.q) @ case.basis(case.q)
        np.testing.assert_allclose(matrix[:n, :n], wanted, atol=1e-12)
        np.testing.assert_allclose(matrix[n, :n], grad(rate)(case.q) @ case.basis(case.q), atol=1e-12)
        assert not matrix[:, n].any()
