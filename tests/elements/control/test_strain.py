"""Strain gauges on beams of both kinds and on flexible bodies: closed forms, section forces, loops, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from models import of_parts, refuses
from oracles.modal_example import Particles

import femb
from femb import Attachment, ModelError

E, A, I_Y, I_Z, LENGTH = 7e10, 2e-3, 4e-7, 9e-7, 3.0
PLACES = [(0.0, 0.03, 0.02), (1.1, -0.03, 0.05), (0.75, 0.03, 0.0), (LENGTH, 0.01, 0.01)]
KINDS = [femb.Beam, femb.ExactBeam]


def cantilever(kind, *items, elements=3, **words):
    section = femb.Section("tube", A, (I_Y, I_Z), 1e-6, 2700.0, E, 2.7e10, expansion=2e-5)
    root = Attachment("ground", direction=(1, 0, 0), up=(0, 1, 0))
    return of_parts(kind("boom", section, LENGTH, elements, start=root, **words), *items)


def gauges():
    return [femb.StrainGauge(f"g{k}", beam="boom", station=s, point=(y, z), period=1.0)
            for k, (s, y, z) in enumerate(PLACES)]  # fmt: skip


def held(model):
    """The strains in equilibrium, read by the sensors of a run from there."""
    results = femb.simulate(model, duration=1.0, start="equilibrium", method="radau")
    return [results.sensors[f"g{k}"].true[-1, 0] for k in range(len(PLACES))]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_cantilever_with_a_force_at_its_tip(kind):
    """N/EA + z M_y/EI_y - y M_z/EI_z at any station; so small a force bends it by 1e-6 of its length."""
    force = np.array([0.02, 1e-3, 2e-3])
    model = cantilever(kind, femb.Load("tip", beam="boom", force=force), *gauges())
    for found, (s, y, z) in zip(held(model), PLACES, strict=True):
        arm = LENGTH - s
        wanted = force[0] / (E * A) - z * force[2] * arm / (E * I_Y) - y * force[1] * arm / (E * I_Z)
        assert found == pytest.approx(wanted, rel=1e-5, abs=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_a_moment_bends_to_a_circle(kind):
    """A fibre at y of a circle of curvature k is strained by -y k; the cubic of the default beam is no circle."""
    curvature = 0.4
    moment = femb.Load("tip", beam="boom", torque=(0.0, 0.0, E * I_Z * curvature), frame="body")
    for elements, error in ((6, 4e-3), (12, 1e-3)) if kind is femb.Beam else ((6, 1e-9),):
        found = held(cantilever(kind, moment, *gauges(), elements=elements))
        np.testing.assert_allclose(found, [-y * curvature for _, y, _ in PLACES], rtol=error)


@pytest.mark.parametrize("kind", KINDS)
def test_a_heated_beam_is_strained_without_force(kind):
    heat = femb.ThermalLoad("sun", "boom", temperature=10.0, gradient=(50.0, -20.0))
    wanted = [2e-5 * (10.0 + 50.0 * y - 20.0 * z) for _, y, z in PLACES]
    np.testing.assert_allclose(held(cantilever(kind, heat, *gauges())), wanted, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_vibration_is_that_of_the_section_forces(kind):
    """In the middle of an element of the exact beam the stress is what the results say; the other has the moments of
    equilibrium in its results, from which its strains differ by the error of the mesh."""
    gauge = femb.StrainGauge("g0", beam="boom", station=0.5, point=(0.03, 0.02), period=0.002)
    load = femb.Load("tip", beam="boom", force=(5.0, 30.0, 40.0), profile=femb.profiles.Versine(0.02))
    model = cantilever(kind, gauge, load, elements=15 if kind is femb.Beam else 3)
    results = femb.simulate(model, duration=0.04, output_interval=0.002, rtol=1e-8, method="radau")
    force, moment = (
        results.beams["boom"][word][:, model.beams["boom"].elements // 6]
        for word in ("midpoint_force", "midpoint_moment")
    )
    wanted = force[:, 0] / (E * A) + 0.02 * moment[:, 1] / (E * I_Y) - 0.03 * moment[:, 2] / (E * I_Z)
    # an output has the sample before it
    found = results.sensors["g0"].true[:, 0]
    size = np.max(np.abs(wanted))
    np.testing.assert_allclose(found[2:], wanted[1:-1], atol=(1e-9 if kind is femb.ExactBeam else 0.02) * size)


def test_a_row_of_recovery_of_a_flexible_body():
    body = Particles().reduced()
    rows = np.random.default_rng(2).standard_normal((2, body.size))
    panel = femb.FlexibleBody("panel", replace(body, recovery=rows, recovery_names=("root", "tip")))
    model = femb.Model("panel", gravity=(0.0, 0.0, -1.0))
    model.add(panel)
    model.add(femb.Load("push", body="panel.p1", force=(1.0, 2.0, 3.0)))
    model.add(femb.StrainGauge("g", body="panel", recovery="tip", period=0.1))
    results = femb.simulate(model, duration=0.5, output_interval=0.1)
    np.testing.assert_allclose(results.sensors["g"].true[2:, 0], results.bodies["panel"].recovered[1:-1, 1], rtol=1e-9)
    model.remove(model.tables["sensors"]["g"])
    model.add(femb.StrainGauge("h", body="panel", recovery="tap", period=0.1))
    with pytest.raises(ModelError, match=r"sensors\.h\.recovery: got 'tap'; .* 'root', 'tip'.*did you mean 'tip'"):
        femb.simulate(model, duration=0.1)


@pytest.mark.slow
def test_strain_fed_back_to_a_motor():
    """The exact sampled loop against a run of the nonlinear model, both from rest under a small torque."""
    hub = femb.RigidBody("hub", 20.0, (5.0, 5.0, 5.0))
    section = femb.Section("tube", A, (I_Y, I_Z), 1e-6, 2700.0, E, 2.7e10)
    ends = femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("hub", axis=(0, 0, 1))
    model = femb.Model("arm")
    for item in (
        hub,
        femb.Revolute("axle", *ends),
        femb.Load("kick", body="hub", torque=(0.0, 0.0, 0.01), frame="body"),
        femb.JointSpringDamper("spring", "axle", stiffness=50.0, damping=1.0),
        femb.Beam("boom", section, LENGTH, 2, start=Attachment("hub", direction=(1, 0, 0), up=(0, 1, 0))),
        femb.JointMotor("motor", "axle", force=0.0),
        femb.StrainGauge("gauge", beam="boom", station=0.2, point=(0.03, 0.0), period=0.02),
        femb.LinearController("law", D=[[2e3]], inputs=("sensors.gauge",), outputs=("loads.motor.force",), period=0.02),
    ):
        model.add(item)
    loop = femb.loop(model, inputs=("loads.kick.torque.factor",), outputs=("joints.axle.angle",))
    run = loop.simulate(1.0, added={"loads.kick.torque.factor": 1.0}, times=0.02 * np.arange(51))
    results = femb.simulate(model, duration=1.0, output_interval=0.02, rtol=1e-9, method="radau")
    wanted = results.joints["axle"].coordinates[:, 0]
    np.testing.assert_allclose(run["joints.axle.angle"], wanted, atol=1e-4 * np.max(np.abs(wanted)))


def test_refusals():
    refuses(r"sensors\.g\.station: is missing", femb.StrainGauge, "g", beam="boom")
    with pytest.raises(ModelError, match=r"sensors\.g\.recovery: got 'x', but it is on no body"):
        femb.StrainGauge("g", beam="boom", station=0.0, recovery="x")
    far = femb.StrainGauge("g", beam="boom", station=4.0, period=1.0)
    with pytest.raises(ModelError, match=r"sensors\.g\.station: got 4 m, wanted from 0 to 3 m"):
        femb.simulate(cantilever(femb.Beam, far), duration=0.1)
    with pytest.raises(ModelError, match=r"sensors\.g.*'mast'"):
        femb.simulate(cantilever(femb.Beam, femb.StrainGauge("g", beam="mast", station=1.0, period=1.0)), duration=0.1)
    other = femb.StrainGauge("g", body="ground", recovery="x", period=1.0)
    with pytest.raises(ModelError, match=r"sensors\.g\.body: got 'ground'; flexible bodies are none"):
        femb.simulate(cantilever(femb.Beam, other), duration=0.1)
