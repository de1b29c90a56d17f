"""Identities of the flexible body: Lagrange's equations for any arrays, rates along a path, sums over particles."""

from dataclasses import replace

import numpy as np
import pytest
from models import of_parts, refusals
from oracles.alone import Alone
from oracles.modal_example import Particles
from oracles.modal_lagrange import Lagrange

import femb
from femb import elements as e
from femb.elements.modal.batch import ModalBatch
from femb.layout.element import FoldedError
from femb.numerics import rotations
from femb.system.system import System

GRAVITY = np.array([1.0, -2.0, 9.0])


def system_of(body, **words):
    """The body alone with all interfaces free, its batch, and its velocities and coordinates in the oracle's order."""
    model = of_parts(e.FlexibleBody("panel", body, **words), gravity=GRAVITY)
    system = System(model)
    layout, item = system.layout, model.bodies["panel"]
    stations = layout.flexible_bodies["panel"].stations
    frames = [stations[name].frame for name in item.reduced.interface_names]
    at_q = np.concatenate([*(layout.frame_q[k] + np.arange(7) for k in frames), layout.internal_q])
    at_v = np.concatenate([*(layout.frame_v[k] + np.arange(6) for k in frames), layout.internal_v])
    (batch,) = (each for each in system.batches if isinstance(each, ModalBatch))
    return system, batch, at_q, at_v


def random_state(system, rng, size=0.1):
    q = system.q0 + size * rng.standard_normal(system.n_q)
    system.normalise(q)
    return q, *rng.standard_normal((2, system.n_v))


def random_arrays(body, rng):
    """The body with arrays of second order that no body has."""
    n = body.size
    J2, S2 = rng.normal(size=(n, n, 3, 3)), rng.normal(size=(n, n, 3))
    J1 = rng.normal(size=(n, 3, 3))
    J2 = J2 + np.swapaxes(J2, 0, 1)
    return replace(
        body, J1=J1 + np.swapaxes(J1, 1, 2), J2=J2 + np.swapaxes(J2, 2, 3), Q=rng.normal(size=(n, n, 3)),
        S2=S2 + np.swapaxes(S2, 0, 1),
    )  # fmt: skip


@pytest.mark.parametrize("interfaces", [1, 2, 3])
def test_residual_is_lagranges_for_any_arrays(interfaces):
    rng = np.random.default_rng(interfaces)
    body = random_arrays(Particles(interfaces=interfaces).reduced(), rng)
    system, _, at_q, at_v = system_of(body)
    oracle = Lagrange(body, GRAVITY)
    for _ in range(2):
        q, v, a = random_state(system, rng)
        got = system.residual(np.empty((1, 0)), q[None], v[None], a[None])[0]
        wanted = oracle.residual(q[at_q], v[at_v], a[at_v])
        np.testing.assert_allclose(got[at_v], wanted, rtol=0.0, atol=3e-13 * np.abs(wanted).max())


@pytest.mark.parametrize("interfaces", [1, 2])
def test_residual_is_that_of_particles_with_second_order_displacements(interfaces):
    """Second-order displacements that are linear in the position: all terms of inertia, of every order, are exact."""
    particles = Particles(interfaces=interfaces).strained()
    body = particles.reduced(consistent=True)
    system, _, at_q, at_v = system_of(body)
    oracle, rng = Lagrange(body, GRAVITY, particles), np.random.default_rng(interfaces)
    q, v, a = random_state(system, rng)
    got = system.residual(np.empty((1, 0)), q[None], v[None], a[None])[0]
    wanted = oracle.residual(q[at_q], v[at_v], a[at_v])
    np.testing.assert_allclose(got[at_v], wanted, rtol=0.0, atol=1e-12 * np.abs(wanted).max())
    energy = np.zeros((1, 8))
    for batch in system.batches:
        Alone(system, batch).energy_momentum(q[None], v[None], energy)
    np.testing.assert_allclose(energy[0, :2], oracle.energies(q[at_q], v[at_v]), rtol=1e-12)


def test_rates_are_those_along_a_path():
    """Coordinates along q' = H v, v' = a: the second rates, by differences of the rates."""
    system, batch, *_ = system_of(Particles(interfaces=3).reduced())
    q, v, a = random_state(system, np.random.default_rng(3))
    rate = system.rates(q[None], v[None])[0]
    second = batch.coordinates(q[None], v[None], a[None])[0]
    steps = np.array([-3, -2, -1, 1, 2, 3]) * 1e-3
    weights = np.array([-1, 9, -45, 45, -9, 1]) / 60e-3
    moved = np.array([q + h * rate for h in steps])
    found = np.array([batch.coordinates(x[None], v[None], a[None])[0, 0] for x in moved])
    np.testing.assert_allclose(weights @ found, second[1], rtol=0.0, atol=1e-10 * np.abs(second[1]).max() + 1e-11)
    found = np.array(
        [batch.coordinates(x[None], (v + h * a)[None], a[None])[0, 1] for x, h in zip(moved, steps, strict=True)]
    )
    np.testing.assert_allclose(weights @ found, second[2], rtol=0.0, atol=1e-9 * np.abs(second[2]).max())


def test_force_is_the_sum_over_particles():
    """Without displacements of second order the arrays are exact for particles: force, torque and modal forces."""
    particles = Particles(interfaces=1, modes=5)
    system, batch, at_q, at_v = system_of(particles.reduced(second=False))
    q, v, a = random_state(system, np.random.default_rng(4))
    got = system.residual(np.empty((1, 0)), q[None], v[None], a[None])[0][at_v]
    eta, rate, second = batch.coordinates(q[None], v[None], a[None])[0]
    R = rotations.rotation_matrix(q[at_q][3:7])
    w, alpha = v[at_v][3:6], a[at_v][3:6]
    x, x1, x2 = (np.einsum("j,jka->ka", y, particles.Psi) for y in (eta, rate, second))
    x = x + particles.X
    acc = (a[at_v][:3] - GRAVITY) @ R + np.cross(alpha, x) + np.cross(w, np.cross(w, x)) + 2 * np.cross(w, x1) + x2
    force = particles.m[:, None] * acc
    modal = np.einsum("jka,ka->j", particles.Psi, force) + particles.K @ eta + particles.D @ rate
    wanted = np.concatenate([R @ force.sum(axis=0), np.cross(x, force).sum(axis=0), modal])
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=2e-13 * np.abs(wanted).max())


def test_energy_and_momenta_stay_with_random_arrays():
    """A tumbling body with arrays of second order that no body has, without damping and gravity."""
    rng = np.random.default_rng(6)
    body = random_arrays(Particles(interfaces=2).reduced(), rng)
    small = replace(body, J1=0.1 * body.J1, J2=0.1 * body.J2, Q=0.1 * body.Q, S2=0.1 * body.S2, D=None)
    model = femb.Model("tumbling")
    model.add(e.FlexibleBody("panel", small, damping_ratio=0.0, velocity=(1.0, 0.2, 0.3),
                             angular_velocity=(0.3, 0.5, -0.4)))  # fmt: skip
    results = femb.simulate(model, duration=2.0, method="rk", rtol=1e-11)
    assert np.abs(results.audit.energy_error).max() < 1e-8
    turned = results.bodies["panel"].quaternion
    assert np.abs(turned[-1] - turned[0]).max() > 0.1
    for word in ("linear_momentum", "angular_momentum"):
        momentum = getattr(results.audit, word)
        assert np.abs(momentum - momentum[0]).max() < 1e-8


def test_damping_takes_the_energy_that_the_audit_books():
    model = femb.Model("damped")
    model.add(e.FlexibleBody("panel", Particles(interfaces=2).reduced(), angular_velocity=(0.3, 0.5, -0.4),
                             damping_ratio=0.05))  # fmt: skip
    results = femb.simulate(model, duration=2.0, method="radau", rtol=1e-8)
    assert np.abs(results.audit.energy_error).max() < 1e-6
    energy = results.audit.kinetic_energy + results.audit.potential_energy
    assert energy[-1] < energy[0]


def test_an_interface_turned_by_half_a_turn_is_refused_by_name():
    system, *_ = system_of(Particles(interfaces=2).reduced())
    frame = system.layout.flexible_bodies["panel"].stations["p1"].frame
    q, i = system.q0.copy(), system.layout.frame_q[frame] + 3
    q[i : i + 4] = [-q[i + 1], q[i], -q[i + 3], q[i + 2]]  # half a turn about its x axis
    with pytest.raises(FoldedError, match=r"bodies\.panel: interface 'p1'"):
        system.residual(np.empty((1, 0)), q[None], np.zeros((1, system.n_v)), np.zeros((1, system.n_v)))


test_arrays_of_no_body_are_refused = refusals(
    lambda change: replace(Particles().reduced(), **change),
    ({"S1": np.zeros((2, 3))}, r"S1: got an array of shape \(2, 3\), wanted \(9, 3\)"),
    ({"K": -np.eye(9)}, "K: is not positive definite with the root held"),
    ({"M": np.triu(np.ones((9, 9)))}, "M: is not symmetric"),
    ({"mass": -1.0}, "mass: got -1 kg"),
    ({"Q": None}, "Q: is missing: give J1, J2 and Q"),
    ({"inertia": np.diag([1e3, 1.0, 1.0])}, "inertia: has the moments"),
    ({"interface_names": ("root", "root")}, "interface_names"),
    ({"interfaces": np.ones((2, 3))}, "interfaces: got the root"),
    ({"cells": {"line": [[0, 99]]}}, "cells: line names nodes"),
)
