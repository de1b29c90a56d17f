"""Full-order models of free satellites with thin damped panels, whose fastest motions are 1e10 times the slowest."""

import numpy as np
import pytest
from models import of_parts
from scipy.io import loadmat

import femb
from femb.base.errors import FembWarning, ModelError
from femb.linear.norms import h2_norm, peak_gain
from femb.study.linear_outputs import ClosedPoles

CORNERS = [[0.5, -0.4, 0.0], [3.5, -0.4, 0.3], [3.5, 0.4, 0.3], [0.5, 0.4, 0.0]]
TORQUE, TURN = "bodies.hub.torque", "bodies.hub.turn"


def satellite(thickness, damping=1e-3, law=False, held=False, **of_law):
    wall = {"thickness": thickness, "material": "aluminium 2014-T6", "damping": damping}
    panel = femb.Shell("p", elements=(6, 2), corners=CORNERS, frame="hub", attach={"edge4": "hub"}, **wall)
    model = of_parts(femb.RigidBody("hub", 150.0, (40.0, 50.0, 45.0)), panel)
    if held:
        ends = (femb.JointEnd(body, axis=(0.0, 0.0, 1.0)) for body in ("ground", "hub"))
        model.add(femb.Revolute("bearing", *ends))
    if law:
        for name, axis in zip("xyz", np.eye(3), strict=True):
            model.add(femb.ReactionWheel(name, body="hub", axis=axis, spin_inertia=0.05))
        words = {"attitude": "bodies.hub", "rate": "bodies.hub", "wheels": tuple("xyz")}
        model.add(femb.PDController("law", **{"bandwidth": 0.05, "damping_ratio": 0.7} | of_law, **words))
    return model


@pytest.mark.parametrize("thickness", [4e-3, 2e-4])
@pytest.mark.parametrize("of", [femb.linearize, femb.linearize_structure])
def test_poles_of_full_order_are_those_of_the_sparse_modes(of, thickness):
    """With their damping, of 6e-5 at the lowest; nothing grows."""
    model = satellite(thickness)
    poles = of(model, inputs=[TORQUE], outputs=[TURN]).eigenvalues()
    wanted = femb.modes(model, 4, damped=True).eigenvalues
    found = poles[np.argmin(np.abs(poles[:, None] - wanted), axis=0)]
    np.testing.assert_allclose(found.imag, wanted.imag, rtol=1e-6)
    np.testing.assert_allclose(found.real, wanted.real, rtol=1e-3)
    assert np.max(poles.real) < 1e-12


@pytest.mark.slow
def test_margins_of_a_loop_of_full_order_are_those_of_its_modes():
    """Of a continuous law; the fast motions, above critical damping, once hid the crossovers."""
    model = satellite(1e-3, law=True)
    full, reduced = femb.loop(model), femb.loop(model, hub="hub", craig_bampton=6)
    assert full.conserved == reduced.conserved
    np.testing.assert_allclose(full.growth(), reduced.growth(), rtol=1e-4)
    for one, other in zip(full.margins(), reduced.margins(), strict=True):
        np.testing.assert_allclose(one.phase_margin, other.phase_margin, rtol=1e-3)
    omega = [mode.omega for mode in reduced.modes()[:3]]
    np.testing.assert_allclose([mode.omega for mode in full.modes()[:3]], omega, rtol=1e-4)


@pytest.mark.slow
def test_a_sampled_loop_of_full_order_is_that_of_its_modes():
    """The exponential of a step once lost the slow motions beside decays of 1e13 1/s: growth 11 % off, and a gain
    margin of 11 for 16."""
    model = satellite(2e-4, law=True, bandwidth=0.4, damping_ratio=0.6, period=0.1, delay=0.135)
    full, reduced = femb.loop(model), femb.loop(model, hub="hub", craig_bampton=12)
    assert full.conserved == reduced.conserved
    np.testing.assert_allclose(full.growth(), reduced.growth(), rtol=1e-4)
    (one, other) = (loop.margins(loop.channels[1:2])[0] for loop in (full, reduced))
    np.testing.assert_allclose(one.gain_margin, other.gain_margin, rtol=1e-4)
    np.testing.assert_allclose(one.phase_margin, other.phase_margin, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("clock", [{}, {"period": 0.1, "delay": 0.135}])
def test_closed_loops_of_full_order_have_the_norms_and_poles_of_their_modes(clock):
    """Conserved momenta once hid beside decays of 1e12 1/s: the norms were infinite, and studies saw no slow pole."""
    model = satellite(2e-4, law=True, bandwidth=0.4, damping_ratio=0.6, **clock)
    full, reduced = femb.loop(model), femb.loop(model, hub="hub", craig_bampton=30)
    (one, other) = (peak_gain(loop.closed()) for loop in (full, reduced))
    np.testing.assert_allclose(one[:2], other[:2], rtol=1e-6)
    np.testing.assert_allclose(h2_norm(full.closed()), h2_norm(reduced.closed()), rtol=1e-3)
    (one, other) = (ClosedPoles._of(loop).values[:12] for loop in (full, reduced))
    np.testing.assert_allclose(np.abs(one), np.abs(other), rtol=1e-3)
    np.testing.assert_allclose(one.real, other.real, rtol=1e-3)


@pytest.mark.slow
def test_a_regulator_of_full_order_names_the_way_out():
    """Of the truncated model it is there."""
    model, words = satellite(2e-4), {"inputs": [TORQUE], "outputs": [TURN, "bodies.hub.angular_velocity"]}
    with pytest.raises(ModelError, match=r"decays of 2.9e\+12 1/s.*truncate it to modes"):
        femb.lqr(femb.linearize(model, **words), 1.0)
    assert np.max(femb.lqr(femb.linearize_structure(model, **words, hub="hub", craig_bampton=8), 1.0).poles.real) < 0.0


@pytest.mark.slow
def test_other_programs_find_the_poles_of_exported_modes(tmp_path):
    """By the eigenvalues of numpy; of the states by name they find growth, and are told so."""
    model, path = satellite(2e-4), tmp_path / "plant.mat"
    space = femb.linearize(model, inputs=[TORQUE], outputs=[TURN])
    wanted = femb.modes(model, 4, damped=True).eigenvalues
    with pytest.warns(FembWarning, match=r"growth of .* 1/s that the model has not.*take in_modes\(\)"):
        by_name = np.linalg.eigvals(space.to_scipy().A)
    assert np.max(by_name.real) > 1e-3
    with pytest.warns(FembWarning, match="take form_A, form_B, form_C and D of the file"):
        space.write(path)
    stored = loadmat(path)
    np.testing.assert_allclose(
        stored["C"] @ stored["form_change"], stored["form_C"], atol=1e-12 * np.max(np.abs(stored["form_C"]))
    )
    exported = [np.linalg.eigvals(A) for A in (space.in_modes().to_scipy().A, stored["form_A"])]
    for poles in (*exported, femb.StateSpace.read(path).eigenvalues()):
        found = poles[np.argmin(np.abs(poles[:, None] - wanted), axis=0)]
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
        assert np.max(poles.real) < 1e-9


@pytest.mark.slow
def test_modes_above_critical_damping():
    """lambda^2 + d omega^2 lambda + omega^2 = 0 by the undamped modes; all fast ones gather at -1/d."""
    damping, given = 1e-2, femb.modes(satellite(0.01, held=True), 6).frequencies
    squares = (2.0 * np.pi * given) ** 2
    roots = np.array([np.roots([1.0, damping * square, square]) for square in squares])
    wanted = roots[np.arange(6), np.argmax(roots.imag, axis=1)]
    found = femb.modes(satellite(0.01, damping, held=True), 6, damped=True).eigenvalues
    below = np.abs(wanted) < 1.0 / damping
    assert np.sum(below) == 3
    np.testing.assert_allclose(found[: np.sum(below)], wanted[below], rtol=1e-7)
