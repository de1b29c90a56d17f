"""Bounds of truncation at models that reach them: chains with one mode left out, at and just below resonances."""

import numpy as np
import pytest

import femb
from femb import elements as e
from femb.linear.balanced import balanced_states as balanced
from femb.linear.modal_reduction import craig_bampton, modal

ROUNDED = 1.0 + 1e-6


def chain(masses, stiffnesses, damping=0.0, hub=False):
    """Bodies on a line, on springs with proportional dashpots; the first on the ground, or a free hub before them."""
    model = femb.Model()
    if hub:
        model.add(e.RigidBody("hub", mass=0.4, inertia=(1.0, 1.0, 1.0)))
    before = "hub" if hub else "ground"
    for k, (mass, stiffness) in enumerate(zip(masses, stiffnesses, strict=True)):
        model.add(e.RigidBody(f"b{k}", mass=mass, inertia=(1.0, 1.0, 1.0)))
        model.add(e.Prismatic(f"j{k}", e.JointEnd(before, axis=(1, 0, 0)), e.JointEnd(f"b{k}", axis=(1, 0, 0))))
        spring = {"stiffness": stiffness, "damping": damping * stiffness}
        model.add(e.JointSpringDamper(f"s{k}", f"j{k}", **spring))
        before = f"b{k}"
    return model


def linear(model, on, **words):
    ports = {"inputs": [f"bodies.{on}.force.x"], "outputs": [f"bodies.{on}.position.x"]}
    return femb.linear_model(model, **ports, **words)


def of_bound(space):
    """The error as a part of the bound at each frequency."""
    truncation = space.truncation
    error = np.abs(truncation.reduced.values - truncation.full.values)[:, 0, 0]
    return error / truncation.bound(truncation.full.frequencies)[:, 0, 0]


def test_strong_dampers_on_the_mode_left_out():
    reduction = modal(linear(chain((1.0, 1.0), (3.0, 2.0), damping=2.0), "b0"), 1)
    parts = of_bound(reduction.state_space(np.array([0.001, 0.003, 0.01]) * reduction.tail.next_omega))
    assert np.all(parts <= ROUNDED)
    assert np.all(parts > 0.9)


def test_a_light_hub_moved_by_the_mode_left_out():
    reduction = craig_bampton(linear(chain((1.0, 1.0), (3.0, 2.0), hub=True), "hub", hub="hub"), 1)
    top = reduction.tail.next_omega / (2.0 * np.pi)
    parts = of_bound(reduction.state_space(np.linspace(0.05, 0.999, 60) * top))
    assert np.all(parts <= ROUNDED)
    assert np.max(parts) > 0.9


@pytest.mark.parametrize("on", ["b0", "b2"])
def test_residual_vectors_just_below_the_mode_left_out(on):
    reduction = modal(linear(chain((1.0, 1.0, 1.0), (3.0, 2.0, 4.0)), on), 1, vectors=True)
    top = reduction.tail.next_omega / (2.0 * np.pi)
    parts = of_bound(reduction.state_space(np.linspace(0.05, 0.999, 60) * top))
    assert np.all(parts <= ROUNDED)
    assert np.max(parts) > 0.9


def test_balanced_states_at_the_resonance_left_out():
    """Both states of a weakly damped mode have half of its peak as values of Hankel: twice their sum is two peaks, of
    which the error has one."""
    of = modal(linear(chain((1.0, 1.0, 1.0), (3.0, 2.0, 4.0)), "b0"), 3, damping=0.002)
    parts = of_bound(balanced(of, 4, np.sort(of.omega) / (2.0 * np.pi)))
    assert np.all(parts <= ROUNDED)
    assert np.max(parts) == pytest.approx(0.5, rel=0.002)


@pytest.mark.parametrize("damping", [1e-5, 2e-3, 0.05])
def test_resonances_of_the_full_order_keep_their_digits(damping):
    """At a natural frequency the structure without its modal damping is singular; the sum of modes is not."""
    of = modal(linear(chain((1.0, 1.0, 1.0), (3.0, 2.0, 4.0)), "b0"), 3, damping=damping)
    for omega in of.omega:
        squares, s = of.omega**2, 1j * omega
        shares = of.full.motion.low_rank.left[0] ** 2  # (M phi)_0 of a body of 1 kg
        wanted = np.sum(shares / (squares + s * s + 2.0 * damping * of.omega * s))
        np.testing.assert_allclose(of.full.transfer(s), wanted, rtol=1e-15 / damping)
