"""Optimal laws: against python-control, and as the least of what they minimise."""

from dataclasses import replace

import numpy as np
import pytest
from models import refuses
from oracles.controlled_satellite import WHEELS, attitude_law, satellite
from scipy.linalg import solve_continuous_lyapunov, solve_discrete_lyapunov

import femb
from femb import LinearLaw, StateSpace

WEIGHTS = {"bodies.hub.turn": 1.0, "bodies.hub.angular_velocity": 10.0}
# An oscillator on a free mass: the force acts on the first, and both positions are seen.
MASS, SPRING = np.array([3.0, 1.0]), np.array([[-6.0, 6.0], [6.0, -6.0]])
A = np.block([[np.zeros((2, 2)), np.eye(2)], [SPRING / MASS[:, None], 0.02 * SPRING / MASS[:, None]]])
B = np.array([[0.0], [0.0], [1.0 / 3.0], [0.0]])
CART = StateSpace(A, B, np.eye(4), np.zeros((4, 1)), ("a", "b", "c", "d"), ("force",), ("x", "tip", "v", "w"))
Q, R, W, V = {"x": 1.0, "tip": 2.0, "v": 0.5}, 0.1, 0.3, [0.02, 0.05]


def test_the_regulator_of_the_reference_satellite():
    """Without friction ten of the fourteen states of turns, panels and wheels remain."""
    inputs = [f"wheels.{name}.torque" for name in WHEELS]
    space = femb.linearize(satellite(viscous=0.0), inputs=inputs, outputs=list(WEIGHTS))
    torques = replace(space, B=space.B @ attitude_law().allocation, D=np.zeros((6, 3)), inputs=("x", "y", "z"))
    found = femb.lqr(torques, WEIGHTS, 1e-3)
    assert len(found.plant.states) == 10
    for wanted in (
        *(-0.0891276495 + 0.0827674574j, -0.0904405209 + 0.0842162922j, -0.3100971486 + 0.1548725946j),
        *(-0.1474780776 + 4.0655717344j, -0.0083382353 + 1.6188016275j),
    ):
        assert np.min(np.abs(found.poles - wanted)) < 1e-9


def test_regulators_are_those_of_python_control():
    control = pytest.importorskip("control")
    weights = np.diag([1.0, 2.0, 0.5, 0.0])
    np.testing.assert_allclose(femb.lqr(CART, Q, R).K, control.lqr(A, B, weights, [[R]])[0], rtol=1e-9)
    sampled = CART.sampled(0.1)
    found = femb.lqr(sampled, Q, [R])
    np.testing.assert_allclose(found.K, control.dlqr(sampled.A, sampled.B, weights, [[R]])[0], rtol=1e-9)
    assert np.max(found.poles.real) < 0.0


def cost(law, period):
    """The mean of y.Q y + u.R u of a loop under white noise, by Lyapunov's equation."""
    plant = CART if period is None else CART.sampled(period, law.delay)
    n, k = len(plant.A), len(law.A)
    C = plant.C[:2]
    whole = np.block([[plant.A + plant.B @ law.D @ C, plant.B @ law.C], [law.B @ C, law.A]])
    noise = np.block([[plant.B, plant.B @ law.D], [np.zeros((k, 1)), law.B]]) * np.sqrt([W, *V])
    shown = np.vstack([
        np.hstack([np.sqrt([[1.0], [2.0], [0.5], [0.0]]) * plant.C, np.zeros((4, k))]),
        np.sqrt(R) * np.hstack([law.D @ C, law.C]),
    ])  # fmt: skip
    if period is None:
        covariance = solve_continuous_lyapunov(whole, -noise @ noise.T)
    else:
        covariance = solve_discrete_lyapunov(whole, noise @ noise.T)
    # of a sampled law the noise of its measurement is in the command of the sample
    direct = 0.0 if period is None else R * float(np.sum(law.D**2 * V))
    assert n + k == len(whole)
    return float(np.trace(shown @ covariance @ shown.T)) + direct


@pytest.mark.parametrize(("period", "delay"), [(None, 0.0), (0.2, 0.0), (0.2, 0.2), (0.2, 0.27)])
def test_h2_is_the_least(period, delay):
    """Changes of any matrix of the law do not lower the cost, which is flat there."""
    plant = CART if period is None else CART.sampled(period, delay)
    words = {"measured": ["x", "tip"], "disturbance": W, "noise": V, "delay": delay}
    law = femb.h2(plant, Q, R, **words)
    assert (law.period, law.delay) == (period, delay)
    least = cost(law, period)
    rng = np.random.default_rng(5)
    for word in "ABCD" if period else "ABC":
        change = 1e-4 * rng.standard_normal(getattr(law, word).shape)
        more, less = (cost(replace(law, **{word: getattr(law, word) + sign * change}), period) for sign in (1.0, -1.0))
        assert more > least < less
        assert abs(more - less) < 1e-2 * (more + less - 2.0 * least) + 1e-9 * least
    assert femb.loop(CART, [law]).stable


@pytest.mark.parametrize("period", [None, 0.3])
def test_the_regulator_of_outputs_that_an_input_changes_at_once(period):
    """Weights of an accelerometer weigh the force, too: no change of K lowers the sum of the costs of all starts."""
    felt = replace(CART, C=np.vstack([np.eye(4)[:2], A[2:3]]), D=np.vstack([np.zeros((2, 1)), B[2:3]]),
                   outputs=("x", "tip", "acceleration"))  # fmt: skip
    plant, weights = felt, np.array([1.0, 0.3, 40.0])
    if period is not None:
        plant = replace(CART.sampled(period), C=felt.C, D=felt.D, outputs=felt.outputs)
    K = femb.lqr(plant, weights, R).K
    if period is None:
        np.testing.assert_allclose(femb.h2(plant, weights, R, ["x", "tip"]).C, -K, rtol=1e-9)

    def total(K):
        closed, seen = plant.A - plant.B @ K, plant.C - plant.D @ K
        weight = seen.T @ np.diag(weights) @ seen + R * K.T @ K
        solve = solve_continuous_lyapunov if period is None else solve_discrete_lyapunov
        return float(np.trace(solve(closed.T, -weight if period is None else weight)))

    least, rng = total(K), np.random.default_rng(2)
    for _ in range(6):
        change = 1e-4 * np.linalg.norm(K) * rng.standard_normal(K.shape)
        more, less = total(K + change), total(K - change)
        assert more > least < less
        assert abs(more - less) < 1e-2 * (more + less - 2.0 * least) + 1e-12 * least


def test_refused():
    for words, message in (
        (({"z": 1.0}, R), "Q: got 'z'; there are: x, tip, v, w"),
        (([1.0, 2.0], R), "Q: got .*wanted a number, 4 numbers, a matrix, or numbers by name"),
        ((Q, 0.0), "lqr: there is no solution"),
    ):
        refuses(message, femb.lqr, CART, *words)
    fed = replace(CART, D=np.eye(4)[:, :1])
    refuses("h2: an input changes a measured output at once", femb.h2, fed, Q, R, ["x"])
    assert isinstance(femb.h2(CART, Q, R, ["x", "tip"]), LinearLaw)
