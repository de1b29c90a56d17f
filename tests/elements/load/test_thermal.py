"""Thermal loads: free heating without stress, exact circles, held bars, tangents and the balance of work."""

import numpy as np
import pytest
from models import at_rest, bent, of_parts, refuses, sections_like

from femb import Attachment, Beam, Ground, Model, ModelError, RigidBody, ThermalLoad, simulate
from femb.layout.protocols import Prestressed
from femb.numerics import rotations
from femb.profiles import Versine
from femb.statics.equilibrium import steady_start
from femb.system.system import System

ALPHA = 2e-5
X = (1.0, 0.0, 0.0)


section = sections_like(
    name="s", axial_stiffness=1e5, torsional_stiffness=2.0, bending_stiffness=(3.0, 5.0), mass_per_length=0.7,
    inertia_per_length=(3e-5, 1e-5, 2e-5), expansion=ALPHA,
)  # fmt: skip


def cantilever(*loads, elements=4, length=2.0, **words):
    return of_parts(Beam("b", section(), length, elements, start=Ground().at(direction=X), **words), *loads)


# Free heating


@pytest.mark.parametrize("curvature", [None, (0.3, -0.4, 0.6)])
def test_even_heating_lengthens_without_stress(curvature):
    """Every length grows by alpha T, that of an arc or helix too, which keeps its form."""
    hot = ThermalLoad("sun", beam="b", temperature=150.0)
    nodes, forces = at_rest(cantilever(hot, curvature=curvature))
    cold, _ = at_rest(cantilever(curvature=curvature))
    for warm, before in zip(nodes, cold, strict=True):
        np.testing.assert_allclose(warm.position, (1.0 + ALPHA * 150.0) * before.position, atol=1e-13)
    # against the force that would hold it: EA alpha T = 300 N
    assert np.abs(forces).max() < 1e-9


@pytest.mark.parametrize(("gradient", "about"), [((4000.0, 0.0), (0, 0, -1)), ((0.0, -9000.0), (0, -1, 0))])
@pytest.mark.parametrize("elements", [2, 5])
def test_a_gradient_bends_to_an_exact_circle(gradient, about, elements):
    """A free beam is an arc of radius 1 / (alpha dT/dy), away from its warmer side, however few its elements."""
    hot = ThermalLoad("sun", beam="b", gradient=gradient)
    nodes, forces = at_rest(cantilever(hot, elements=elements))
    rate = ALPHA * max(map(abs, gradient))
    s = np.linspace(0.0, 2.0, elements + 1)
    inward = np.cross(about, X)
    circle = np.outer(np.sin(rate * s) / rate, X) + np.outer((1.0 - np.cos(rate * s)) / rate, inward)
    np.testing.assert_allclose([node.position for node in nodes], circle, atol=2e-13)
    turns = rotations.from_axis_angle(np.tile(about, (elements + 1, 1)), rate * s)
    np.testing.assert_allclose(np.abs(np.sum([n.quaternion for n in nodes] * turns, axis=1)), 1.0, atol=1e-14)
    assert np.abs(forces).max() < 1e-9
    assert np.dot(gradient, circle[-1, 1:]) < 0.0


def test_strains_given_directly():
    """Twist and curvature of a shape memory, on a curved beam: the free beam is the helix of the sum."""
    own, added = np.array([0.2, 0.0, 0.5]), np.array([0.4, -0.3, 0.3])
    nodes, forces = at_rest(cantilever(ThermalLoad("m", beam="b", strain=(0.01, *added)), curvature=own))
    shape, turns = Beam("b", section(), 2.0, 4, start=Attachment(direction=X), curvature=own + added).reference()
    np.testing.assert_allclose([node.position for node in nodes], 1.01 * shape, atol=1e-13)
    np.testing.assert_allclose([node.quaternion for node in nodes], turns, atol=1e-13)
    assert np.abs(forces).max() < 1e-9


def test_loads_on_one_beam_add_up():
    one = at_rest(cantilever(ThermalLoad("a", beam="b", temperature=50.0, gradient=(900.0, 300.0))))[0]
    both = at_rest(
        cantilever(
            ThermalLoad("a", beam="b", temperature=50.0), ThermalLoad("c", beam="b", strain=(0, 0, 0.006, -0.018))
        )
    )[0]
    np.testing.assert_allclose(both[-1].position, one[-1].position, atol=1e-13)


# Held


def test_a_held_bar_is_compressed():
    """Both ends on the ground: -EA alpha T, exactly, and moments -EI alpha dT/dy everywhere, without motion."""
    ends = {"start": Ground().at(direction=X), "end": Ground().at((2.0, 0, 0), direction=X)}
    model = Model()
    model.add(Beam("b", section(), 2.0, 3, **ends))
    model.add(ThermalLoad("sun", beam="b", temperature=1.0, gradient=(20.0, 10.0)))
    nodes, forces = at_rest(model)
    np.testing.assert_allclose([n.position for n in nodes], np.outer(np.linspace(0, 2, 4), X), atol=1e-9)
    np.testing.assert_allclose(forces[..., 0], -1e5 * ALPHA, rtol=1e-7)
    np.testing.assert_allclose(forces[..., 4], -3.0 * ALPHA * 10.0, rtol=1e-6)
    np.testing.assert_allclose(forces[..., 5], 5.0 * ALPHA * 20.0, rtol=1e-6)


# Tangents


def loaded():
    """Curved and straight beams on the hub and off it, heated by several inputs, one of the thesis's strains."""
    model = Model()
    hub = model.add(RigidBody("hub", mass=1.7, inertia=(2.0, 1.5, 1.8), center_of_mass=(0.1, -0.2, 0.15)))
    stiff = {"axial_stiffness": 3.0, "bending_stiffness": (0.8, 1.4), "torsional_stiffness": 1.1}
    soft = section(**stiff, expansion=1.0)
    right = hub.at((0.3, 0.1, -0.2), direction=(1, 0.4, 0.2), up=(0, 1, 2))
    model.add(Beam("right", soft, 2.4, 2, start=right, curvature=(0.1, 0.2, -0.3)))
    model.add(Beam("left", soft, 1.1, 1, end=hub.at((-0.2, 0.2, 0.1), direction=(0.3, -1, 0.5)), strain="source"))
    model.add(ThermalLoad("a", beam="right", temperature=0.1, gradient=(0.2, -0.1)))
    model.add(ThermalLoad("b", beam="right", strain=(0.05, 0.2, 0.1, -0.3)))
    model.add(ThermalLoad("c", beam="left", temperature=-0.1, gradient=(0.2, 0.3)))
    return model


def test_the_force_is_the_gradient_of_the_energy():
    """Elastic energy plus ``prestress_energy`` falls along the free motion by the power of the residual forces."""
    model = loaded()
    system = System(model)
    q, v, _, u = bent(system, 5)

    def energy(x):
        stored = np.zeros(1)
        for batch in system.batches:
            if isinstance(batch, Prestressed):
                batch.prestress_energy(u[None], x[None], stored)
        return system.energy_momentum(x[None], 0.0 * v[None])[0, 1] + stored[0]

    h = 1e-4
    moved = [q + k * h * system.rates(q[None], v[None])[0] for k in (-2, -1, 1, 2)]
    e = [energy(x) for x in moved]
    rate = (8 * (e[2] - e[1]) - (e[3] - e[0])) / (12 * h)
    rest = np.zeros((1, system.n_v))
    force = system.residual(u[None], q[None], rest, rest)[0]
    assert force @ v == pytest.approx(rate, rel=1e-9)
    # and it is the energy of the strain less the thermal strain: nothing where the beam is free
    free = System(cantilever(ThermalLoad("sun", beam="b", temperature=150.0, gradient=(2000.0, 500.0))))
    q, _ = steady_start(free)
    stored = np.zeros(1)
    for batch in free.batches:
        if isinstance(batch, Prestressed):
            batch.prestress_energy(np.ones((1, 1)), q[None], stored)
    potential = free.energy_momentum(q[None], np.zeros((1, free.n_v)))[0, 1]
    assert potential > 0.5
    assert abs(potential + stored[0]) < 1e-13 * potential


# In motion


def test_work_of_heating():
    """A damped boom on a free hub, heated and cooled: energy less work stays, momenta too, section forces are those of
    the inertia alone, and what is left is the last vibration."""
    model = Model()
    hub = model.add(RigidBody("hub", mass=3.0, inertia=0.2))
    model.add(Beam("b", section(damping=0.05), 2.0, 3, start=hub.at((0.1, 0, 0), direction=X)))
    profile = Versine(1.0)
    model.add(ThermalLoad("sun", beam="b", temperature=50.0, gradient=(2000.0, 800.0), profile=profile))
    results = simulate(model, duration=6.0, output_interval=0.05, rtol=1e-7)
    audit, beam = results.audit, results.beams["b"]
    # of what the heating would store in a held beam, the half of EA (alpha T)^2 L = 0.1 J
    np.testing.assert_allclose(audit.energy_error, 0.0, atol=1e-6 * 0.1)
    assert audit.work.max() > 5e-3
    np.testing.assert_allclose(audit.linear_momentum, 0.0, atol=1e-7)
    np.testing.assert_allclose(audit.angular_momentum, 0.0, atol=1e-7)
    # of the order of the inertia forces, not of EA alpha T = 100 N
    assert np.abs(beam.section_force).max() < 1.0
    np.testing.assert_allclose(beam.section_moment[:, -1, 1], 0.0, atol=1e-12)
    assert audit.potential_energy[-1] < 1e-3 * audit.potential_energy.max()
    np.testing.assert_allclose(beam.strain[-1], 0.0, atol=1e-8)


def test_slow_heating_is_quasi_static():
    """Heated in 100 s a cantilever passes through the circles of its temperatures; late by its damping time, and by
    the square of the ratio of the rates of heating and of its first mode, 2.35 rad/s."""
    profile, damping = Versine(200.0), 0.05
    model = Model()
    model.add(Beam("b", section(damping=damping), 2.0, 3, start=Ground().at(direction=X)))
    model.add(ThermalLoad("sun", beam="b", gradient=(4000.0, 0.0), profile=profile))
    results = simulate(model, duration=100.0, output_interval=5.0, rtol=1e-6)

    def tip(time):
        rate = ALPHA * 4000.0 * np.array([profile(t) for t in time])
        return -(1.0 - np.cos(2.0 * rate)) / rate

    time = results.time[1:]
    late = tip(time) - damping * (tip(time + 0.01) - tip(time - 0.01)) / 0.02
    ratio = (2.0 * np.pi / 200.0 / 2.35) ** 2
    got = results.beams["b"].position[1:, -1, 1]
    np.testing.assert_allclose(got, late, atol=2.0 * 0.16 * ratio)
    assert np.abs(got - tip(time)).max() < 2e-4
    assert np.abs(results.beams["b"].section_moment).max() < 5.0 * ratio * 5.0 * ALPHA * 4000.0


# Refusals


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({}, "temperature"),
        ({"temperature": 3.0, "strain": (0, 0, 0, 1)}, "strain"),
        ({"gradient": (1.0, 2.0, 3.0)}, "gradient"),
        ({"strain": (1.0, 2.0, 3.0)}, "strain"),
        ({"temperature": float("nan")}, "temperature"),
    ],
)
def test_refused(words, field):
    with pytest.raises(ModelError) as caught:
        ThermalLoad("sun", beam="b", **words)
    assert [problem.item for problem in caught.value.problems] == [("loads", "sun", field)]


def test_a_section_without_expansion_is_refused():
    model = Model()
    model.add(Beam("b", section(expansion=None), 2.0, 3, start=Ground().at(direction=X)))
    model.add(ThermalLoad("sun", beam="b", gradient=(4000.0, 0.0)))
    refuses(r"loads\.sun\.gradient: needs the expansion \(1/K\) of the section 's'", System, model)
