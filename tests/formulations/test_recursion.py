"""Whole explicit steps of trees of rigid bodies in one call: rates, motions and work, and their growth with n."""

import time

import numpy as np
import pytest
from oracles.random_trees import KINDS, random_model, random_state
from oracles.tree import random_tree

import femb
from femb.elements import Load
from femb.formulations import make_formulation
from femb.formulations.hamiltonian.momentum_form import MomentumForm
from femb.formulations.reduced import ReducedForm
from femb.numerics import dop853
from femb.steppers.runge_kutta import CLASSICAL
from femb.system.system import System

FORMS = {"reduced": ReducedForm, "hamiltonian": MomentumForm}


def derivative(form, y):
    """y' of y = (q, v, work) by the members of the contract, one after the other."""
    q, v = y[: form.n_q].copy(), y[form.n_q : form.n_q + form.n_v].copy()
    u = form.inputs_at(0.0, q, v)
    change, multipliers = form.forward(u, q, v)
    power = form.budget_rates(u[None], q[None], v[None], multipliers[None])[0]
    return np.concatenate([form.rates(q[None], v[None])[0], change, power])


@pytest.mark.parametrize("free", [False, True], ids=["ground", "free"])
@pytest.mark.parametrize("name", FORMS)
def test_stages_are_the_rates_at_their_states(name, free):
    """With springs and dashpots, from a state at random."""
    rng = np.random.default_rng(5 + free)
    form = FORMS[name](System(random_tree(rng, 9, free), assemble=True))
    assert form.has_stages
    y0, h, (A, _) = (
        np.concatenate([form.q0, form.v0 + rng.standard_normal(form.n_v), form.system.budget.none()]),
        0.02,
        CLASSICAL,
    )
    K, wanted = np.zeros((4, y0.size)), np.zeros((4, y0.size))
    last = form.stages(A, 0, 4, h, y0, K)
    for s in range(4):
        y = y0 + h * (A[s, :s] @ wanted[:s])
        wanted[s] = derivative(form, y)
    size = np.abs(wanted).max(axis=1, keepdims=True)
    np.testing.assert_allclose(K / size, wanted / size, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(last, y, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("free", [False, True], ids=["ground", "free"])
def test_every_joint_of_the_catalogue_has_rows(free):
    """Accelerations against the velocity form, with multipliers; first ends may be at the child."""
    rng = np.random.default_rng(11)
    form = ReducedForm(System(random_model(rng, 25, KINDS, not free), assemble=True))
    assert form.has_stages
    q, v = random_state(form.tree, rng)
    K = np.zeros((1, form.n_q + form.n_v + 1))
    form.stages(np.zeros((1, 1)), 0, 1, 0.0, np.concatenate([q, v, [0.0]]), K)
    (Q,), (V,) = form.to_system(q[None], v[None])
    a = K[:, form.n_q : -1].copy()
    got = form.accelerations_to_system(q[None], v[None], a)[0]
    wanted = form.system.acceleration(form.inputs_at(0.0, q, v), Q, V)
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=1e-10 * np.abs(wanted).max())


def test_a_free_tree_far_away_and_fast_has_the_same_accelerations():
    rng = np.random.default_rng(3)
    form = ReducedForm(System(random_tree(rng, 8, free=True), assemble=True))
    near, K = (
        np.concatenate([form.q0, form.v0 + rng.standard_normal(form.n_v), form.system.budget.none()]),
        np.zeros((2, 1, 0)),
    )
    far, root = near.copy(), form.tree.frames[0]
    far[root.q.start : root.q.start + 3] += 7e6
    far[form.n_q + root.u.start : form.n_q + root.u.start + 3] += 7e3
    K = np.zeros((2, 1, near.size))
    for y, rates in zip((near, far), K, strict=True):
        form.stages(np.zeros((1, 1)), 0, 1, 0.0, y, rates)
    np.testing.assert_array_equal(*K[:, 0, form.n_q : -1])


@pytest.mark.parametrize("tableau", ["dop853", "rk4"])
@pytest.mark.parametrize("name", FORMS)
def test_runs_are_those_of_single_stages(name, tableau, monkeypatch):
    """Motion, work and counts, with dense output between steps."""
    model = random_tree(np.random.default_rng(2), 5)
    options = {"method": "rk", "tableau": tableau, "formulation": name, "duration": 0.5, "output_interval": 0.1}
    options |= {"step": 0.01} if tableau == "rk4" else {"rtol": 1e-7}
    got = femb.simulate(model, start="assembled", **options)
    monkeypatch.setattr(FORMS[name], "has_stages", False)
    wanted = femb.simulate(model, start="assembled", **options)
    assert got.statistics["steps"] == wanted.statistics["steps"] > 3
    assert got.statistics["evaluations"] == wanted.statistics["evaluations"]
    for body in model.bodies:
        np.testing.assert_allclose(got.bodies[body].position, wanted.bodies[body].position, atol=1e-11)
    np.testing.assert_allclose(got.audit.work, wanted.audit.work, atol=1e-10)
    assert np.abs(wanted.audit.work).max() > 1e-3


@pytest.mark.parametrize("name", FORMS)
def test_loads_of_a_model_keep_the_calls_stage_by_stage(name):
    model = random_tree(np.random.default_rng(2), 3)
    model.add(Load("push", body=next(iter(model.bodies)), force=lambda t, state: (t, 0.0, 0.0)))
    assert not make_formulation(System(model, assemble=True), name).has_stages


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_a_stage_takes_time_in_proportion_to_the_bodies(name):
    """And a few bodies less than a fifth of what calls one after the other take."""
    least = []
    for bodies in (10, 200):
        form = FORMS[name](System(random_tree(np.random.default_rng(1), bodies, kinds=(femb.Revolute,)), assemble=True))
        y0 = np.concatenate([form.q0, form.v0, [0.0]])
        K, times = np.zeros((dop853.EXTENDED, y0.size)), []
        for _ in range(8):
            start = time.process_time()
            for _ in range(10):
                form.stages(dop853.A, 0, dop853.STAGES, 1e-4, y0, K)
            times.append((time.process_time() - start) / 10 / dop853.STAGES)
        least.append(min(times[1:]))
        if bodies == 10:
            start = time.process_time()
            for _ in range(20):
                derivative(form, y0)
            assert least[0] < 0.2 * (time.process_time() - start) / 20
    assert least[1] < 40.0 * least[0]  # for 20 times the bodies
