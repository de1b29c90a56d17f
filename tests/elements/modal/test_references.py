"""The same body by its root and in mean axes: frequencies, and motions that differ by products of deformation."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from models import refuses
from oracles.modal_beam import BeamModel
from scipy.linalg import eigvalsh
from shared_runs import said

import femb
from femb import elements as e
from femb.base.errors import ModelError
from femb.steppers.diagnosis import Definiteness
from femb.system.system import System


@cache
def bodies():
    """A boom of 3 m with a body of 1 kg at its tip, by its root and in mean axes, inertia of second order in both."""
    model = BeamModel(3.0, 3, 0.5, 1e5, 200.0, (400.0, 300.0), (1e-3, 1e-3, 1e-3))
    model.M[-6:, -6:] += np.diag([1.0, 1.0, 1.0, 0.01, 0.01, 0.01])
    root = replace(model.reduced(12, tip=True, stiffening=False), psi2=None)
    mean = femb.fem.reduce_further(root, mean_axes=True).body
    S2 = np.zeros((mean.size, mean.size, 3))
    return root, replace(mean, S2=S2, included=True), mean


def free_squares(body):
    """Squares of the angular frequencies of a body that nothing holds."""
    s = body.first_moment
    cross = np.array([[0, -s[2], s[1]], [s[2], 0, -s[0]], [-s[1], s[0], 0]])
    rigid, momenta = np.block([[body.mass * np.eye(3), -cross], [cross, body.inertia]]), np.hstack([body.S1, body.C0])
    K = np.zeros((6 + body.size, 6 + body.size))
    K[6:, 6:] = body.K
    return eigvalsh(K, np.block([[rigid, momenta.T], [momenta, body.M]]))[6:]


def test_mean_axes_carry_no_momentum_of_deformation():
    root, mean, _ = bodies()
    assert mean.interface_names == ("mean", "root", "tip")
    scale = np.abs(root.C0).max()
    np.testing.assert_allclose(mean.S1, 0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(mean.C0, 0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(np.sort(eigvalsh(mean.K, mean.M)), free_squares(root), rtol=1e-7)


def turned(body, host, torque):
    """Positions of root and tip after a pulse on the root, which is free or on a hub."""
    model, words = femb.Model("boom"), {"damping_ratio": 0.0}
    mean = body.interface_names[0] == "mean"
    if host == "hub":
        model.add(e.RigidBody("hub", mass=2.0, inertia=0.2))
        words |= {"interfaces": {"root": e.Attachment("hub")}} if mean else {"start": e.Attachment("hub")}
    model.add(e.FlexibleBody("boom", body, **words))
    root = "hub" if host == "hub" else "boom.root" if mean else "boom"
    pulse = femb.profiles.Versine(0.25)
    model.add(e.Load("pulse", root, torque=(0.3 * torque, torque, 0.5 * torque), frame="body", profile=pulse))
    results = femb.simulate(model, duration=0.5, output_interval=0.1, method="radau", rtol=1e-8)
    return np.array([results.bodies[name].position for name in (root, "boom.tip")])


@pytest.mark.slow
@pytest.mark.parametrize("host", ["alone", "hub"])
def test_the_same_motion_to_second_order(host):
    """Tips that move by some centimetres differ by 1e-5 m; with a quarter of the torque by a sixteenth or less."""
    errors = []
    for torque in (2.0, 0.5):
        by_root, by_mean = (turned(body, host, torque) for body in bodies()[:2])
        errors.append(np.abs(by_root - by_mean).max())
        assert np.abs(by_root - by_root[:, :1]).max() > 0.01 * torque
    assert errors[0] < 1e-4
    assert errors[0] > 14.0 * errors[1]


def test_constant_coupling_of_free_bodies_stays_positive_definite():
    """In mean axes S1 = 0 and C0 = 0; by its root the whole mass moves as it does at the mass centre, equation (24). A
    body that a joint holds keeps to the first order."""
    for body, held, lost in ((bodies()[0], True, "boom"), (bodies()[0], False, ""), (bodies()[2], False, "")):
        model = femb.Model("boom")
        model.add(e.FlexibleBody("boom", body, coupling="constant"))
        if held:
            model.add(e.Spherical("pivot", e.JointEnd("ground"), e.JointEnd("boom")))
        system = System(model)
        watch, moved = Definiteness(system), system.q0.copy()
        tip = system.layout.flexible_bodies["boom"].stations["tip"].frame
        moved[system.layout.frame_q[tip] + 1] += 0.3
        assert watch.lost(moved) == lost


def test_the_command_and_its_messages(tmp_path):
    root = bodies()[0]
    femb.fem.write_reduced_body(tmp_path / "boom.npz", root)
    out = tmp_path / "mean.npz"
    said("reduce", tmp_path / "boom.npz", "--mean-axes", "--out", out, "--quiet")
    assert femb.fem.read_reduced_body(out).interface_names == ("mean", "root", "tip")
    with pytest.raises(ModelError, match="has 8 coordinates, its 2 interfaces move in 12 ways: reduce it with 4 more"):
        femb.fem.reduce_further(root.kept(2), mean_axes=True)
    refuses("choose its root and modes in a step before", femb.fem.reduce_further, root, modes=3, mean_axes=True)
    refuses("has an interface 'mean' already", femb.fem.reduce_further, bodies()[2], mean_axes=True)
