"""Drag along beams and laws of their points: closed forms, tangents, sections, and refusals."""

import numpy as np
import pytest
from models import refusals, stiff
from oracles.alone import Alone
from oracles.finite_differences import slope
from scipy.integrate import quad

import femb
from femb import Attachment, Beam, Drag, ExactBeam, Model, RigidBody
from femb.system.system import System

SECTION = stiff(1e5, 100.0, (100.0, 100.0), 2.0, (2e-3, 1e-3, 1e-3), "boom")
KINDS = pytest.mark.parametrize("kind", [Beam, ExactBeam])
SLOPES = np.array([[-1.0, 0.2, 0.1], [0.0, -0.7, 0.3], [0.4, 0.0, -0.9]])


def built(kind, *loads, **hub):
    model = Model("drag")
    model.add(RigidBody("hub", 3.0, 0.4, **hub))
    direction = (1.0, 0.0, 0.0)
    model.add(kind("boom", SECTION, 2.0, 3, start=Attachment("hub", (0.3, 0.0, 0.0), direction=direction)))
    for load in loads:
        model.add(load)
    return System(model)


def forces(system, q, v, t=0.0):
    u, out = system.inputs_at(t, q, v), np.zeros((1, system.n_v))
    for batch in system.batches:
        if batch.gravity is None:
            Alone(system, batch).nonconservative_force(u[None], q[None], v[None], out)
    return out[0]


@KINDS
def test_resultants_of_a_rotating_boom_in_wind(kind):
    """Rotation about z: the drag across is an integral over the boom, that along it is of the wind."""
    load = Drag("air", "boom", 1.2, 0.1, coefficient=1.1, tangential_coefficient=0.02, viscous=0.3, wind=(2.0, 0, 0))
    system = built(kind, load)
    v = 1.5 * system.rigid_velocities(system.q0)[5]
    got = system.rigid_velocities(system.q0) @ forces(system, system.q0, v)

    def across(x):
        return -0.5 * 1.2 * 0.1 * 1.1 * (1.5 * x) ** 2 - 0.3 * 1.5 * x

    along = 2.0 * (0.5 * 1.2 * 0.1 * 0.02 * 4.0 + 0.3 * 2.0)
    wanted = [along, quad(across, 0.3, 2.3)[0], 0.0, 0.0, 0.0, quad(lambda x: x * across(x), 0.3, 2.3)[0]]
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


@KINDS
def test_drag_in_a_steady_wind_bends_as_the_same_distributed_load(kind):
    model = Model("wind")
    model.add(kind("boom", SECTION, 2.0, 3, start=Attachment("ground", direction=(1.0, 0.0, 0.0))))
    model.add(Drag("wind", "boom", density=1.2, width=0.1, coefficient=1.1, wind=(0.0, 0.4, 0.0)))
    drag = femb.static(model)
    model.remove(model.loads["wind"])
    model.add(femb.DistributedLoad("wind", "boom", force=(0.0, 0.5 * 1.2 * 0.1 * 1.1 * 0.16, 0.0)))
    given = femb.static(model)
    for word, tolerance in (("position", 1e-4), ("section_force", 1e-3), ("section_moment", 1e-3)):
        a, b = (getattr(results.beams["boom"], word)[-1] for results in (drag, given))
        np.testing.assert_allclose(a, b, atol=tolerance * np.abs(b).max())


@pytest.mark.slow
@KINDS
def test_a_law_has_exact_tangents_and_sees_every_point(kind):
    def magnet(t, s, position, velocity):
        force = (1.0 + s[:, None]) * position @ SLOPES.T + np.cos(t) * velocity @ SLOPES
        return force, (1.0 + s[:, None, None]) * SLOPES, np.broadcast_to(np.cos(t) * SLOPES.T, (len(s), 3, 3))

    system = built(kind, Drag("magnet", "boom", law=magnet, profile=lambda t: 2.0))
    rng = np.random.default_rng(1)
    q, v = system.retract(system.q0, 0.2 * rng.standard_normal(system.n_v)), rng.standard_normal(system.n_v)
    u = system.inputs_at(0.4, q, v)
    (batch,) = (batch for batch in system.batches if batch.gravity is None)
    damping, stiffness = np.zeros((2, system.pattern.size))
    Alone(system, batch).tangent(u, q, v, np.zeros_like(v), damping, stiffness)
    K, C = (system.pattern.to_csc(data).toarray()[: system.n_v, : system.n_v] for data in (stiffness, damping))
    dx, dv = rng.standard_normal((2, system.n_v))

    def at(e):
        return -forces(system, q + e * system.rates(q[None], dx[None])[0], v + e * dv, 0.4)

    change = slope(at)
    np.testing.assert_allclose(K @ dx + C @ dv, change, atol=1e-9 * np.abs(change).max())


def test_in_a_case_file(tmp_path):
    """A boom slows down; its energy is the work of the drag."""
    path = tmp_path / "case.toml"
    path.write_text("""
[sections.tube]
shape = { tube = [0.02, 0.001] }
material = "aluminium 6061-T6"
[bodies.hub]
mass = 1.0
inertia = 0.1
angular_velocity = [0, 0, 1]
[beams.boom]
section = "tube"
length = 1.0
start = { body = "hub", direction = [1, 0, 0] }
[loads.air]
kind = "drag"
beam = "boom"
density = 1.2
width = 0.04
coefficient = 1.1
profile = { shape = "step", start = 0.1 }
[run]
duration = 0.5
""")
    results = femb.simulate(path)
    audit = results.audit
    assert audit.work[-1] < -1e-5
    np.testing.assert_allclose(audit.kinetic_energy + audit.potential_energy - audit.work, audit.kinetic_energy[0] +
                               audit.potential_energy[0], rtol=1e-6)  # fmt: skip
    assert results.loads["air"].force[0, 1] == 0.0
    assert results.loads["air"].force[-1, 1] < 0.0


test_refusals = refusals(
    lambda words: Drag("air", "boom", **words),
    ({}, "coefficient: no coefficient is given, and no law"),
    ({"coefficient": 1.0, "density": 1.2}, "width: got 0.0, must be above 0, since 'coefficient' is given"),
    ({"coefficient": 1.0, "width": 0.1, "density": 0.0}, "density: got 0.0, must be greater than 0"),
    ({"coefficient": -1.0}, "coefficient: got -1.0, must be at least 0"),
    ({"law": 3.0}, "law: got 3.*wanted a function"),
    ({"law": max, "viscous": 1.0}, "viscous: given beside a law"),
)


def test_a_density_is_given_or_that_of_the_air():
    with pytest.raises(femb.ModelError, match=r"loads\.air\.density: is missing: give it, or an atmosphere"):
        built(Beam, Drag("air", "boom", coefficient=1.0, width=0.1))


def test_a_law_of_the_wrong_shape_is_named():
    system = built(Beam, Drag("magnet", "boom", law=lambda t, s, position, velocity: 1.0))
    with pytest.raises(femb.SolveError, match=r"loads.magnet.law: got 1.0 at t = 0 s, wanted a force \(9, 3\)"):
        system.inputs_at(0.0, system.q0, system.v0)
