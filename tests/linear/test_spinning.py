"""Truncated models of structures that turn: complex modes with their static share, balanced states, error and bound."""

import numpy as np
import pytest
from checkout import CASES
from models import hub, of_parts, refusals, refuses, slender
from shared_runs import said
from vibration.test_rigid_states import SPIN, turning, with_wheels

import femb
from femb import Attachment, Beam, ModelError, linear_model, linearize_structure
from femb.linear.balanced import balanced_states as balanced
from femb.linear.spinning_reduction import elastic_modes, spinning_modal

WORDS = {
    "inputs": ["bodies.hub.torque", "beams.a.-1.force"],
    "outputs": [
        *("bodies.hub.turn", "bodies.hub.angular_velocity", "beams.a.-1.position", "beams.a.-1.velocity"),
        *("beams.a.-1.acceleration", "beams.b.1.section_moment"),
    ],
    "start": "equilibrium",
}


def damped():
    model = turning(damping=0.01)
    model.add(femb.ModalDamping("booms", "hub", 0.03, modes=2))
    return model


BUILDS = {"free": turning, "with a wheel": lambda: with_wheels((1.0, 0.0, 0.0)), "with dampers": damped}


def small(build):
    """The same with one element in each boom, so that all modes can be kept."""
    model = of_parts(hub(inertia=(1.0, 1.2, 1.5), angular_velocity=(0.0, 0.0, SPIN)))
    section = slender(damping=1e-5 if build is damped else 0.0, inertia_per_length=[2e-2, 1e-2, 1e-2])
    for name, side in (("a", 1.0), ("b", -1.0)):
        model.add(Beam(name, section, length=1.0, elements=1, start=Attachment("hub", direction=(side, 0.0, 0.0))))
    return model


@pytest.mark.parametrize("build", [turning, damped])
def test_all_modes_are_the_full_model(build):
    """Also with dampers, whose left vectors are not the conjugates of the right ones."""
    words = {"inputs": ["beams.a.-1.force"], "outputs": ["beams.b.-1.position"], "start": "equilibrium"}
    model = linear_model(small(build), **words)
    most = elastic_modes(model.motion)
    reduced = spinning_modal(model, most, damping=0.0)
    full = model.frequency_response([0.02, 0.3, 1.1]).values
    found = reduced.state_space([0.5]).frequency_response([0.02, 0.3, 1.1]).values
    np.testing.assert_allclose(found, full, atol=1e-7 * np.max(np.abs(full)))
    refuses(f"wanted a whole number from 1 to {most}, the elastic modes", spinning_modal, model, most + 1)


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDS)
def test_errors_fall_with_the_modes(build):
    """At a frequency below most modes; of displacements, which the static share helps."""
    model = linear_model(BUILDS[build](), **{**WORDS, "outputs": ["beams.a.-1.position", "bodies.hub.turn"]})
    errors = []
    for count in (2, 6, 11):
        found = spinning_modal(model, count, damping=0.0).state_space([0.2]).truncation
        errors.append(np.max(np.abs(found.reduced.values - found.full.values)) / np.max(np.abs(found.full.values)))
    assert errors[0] > 50.0 * errors[1] > 250.0 * errors[2]
    assert errors[2] < 2e-5


@pytest.mark.slow
@pytest.mark.parametrize("build", ["free", "with a wheel"])
@pytest.mark.parametrize("order", ["modes", "balanced"])
def test_the_bound_holds_at_other_frequencies(build, order):
    """With outputs of all kinds, up to the first mode left out."""
    model = linear_model(BUILDS[build](), **WORDS)
    reduction = spinning_modal(model, 6)
    space = reduction.state_space([0.5]) if order == "modes" else balanced(reduction, 8, [0.5])
    for frequency in np.random.default_rng(3).uniform(0.02, 3.5, 12):
        compared = reduction.compared(space, "", [frequency], space.truncation.bound_at).truncation
        difference = np.abs(compared.reduced.values - compared.full.values)[0]
        rounding = 1e-7 * np.max(np.abs(compared.full.values[0]), axis=1, keepdims=True)
        bound = compared.bound([frequency])[0]
        assert np.all(np.isfinite(bound))
        assert np.all(difference <= bound + rounding)
    if order == "modes":
        # not only an upper bound
        compared = reduction.compared(space, "", [0.5], space.truncation.bound_at).truncation
        largest = np.max(np.abs(compared.reduced.values - compared.full.values))
        assert np.max(compared.bound([0.5])) < 1.05 * largest


def test_overdamped_modes_of_one_eigenvalue_are_not_separate():
    with pytest.raises(ModelError, match="got 14, wanted at most 11: those beyond are overdamped"):
        spinning_modal(linear_model(damped(), **WORDS), 14)


def test_no_bound_is_given_where_none_is_known():
    model = linear_model(damped(), **WORDS)
    table = spinning_modal(model, 4).state_space([0.2]).truncation.table()
    assert "       -" in table
    assert table.endswith(
        "no bound: the structure turns and has dampers or modal damping of its own, so that no energy is known to bound"
    )


def test_ratios_are_added_and_rigid_motions_are_exact():
    model = linear_model(turning(), **WORDS)
    bare, space = (spinning_modal(model, 4, damping=ratio).state_space([0.2]) for ratio in (0.0, 0.02))
    assert space.states[:12] == (*(f"rigid {k + 1}" for k in range(10)), "mode 1", "mode 1 quadrature")
    rigid = np.linalg.eigvals(space.A[:10, :10])
    wanted = SPIN * np.array([0.0] * 4 + [1j] * 3 + [-1j] * 3)
    for value in (0.0, 1j, -1j):
        assert np.sum(np.abs(rigid - SPIN * value) < 1e-6) == np.sum(wanted == SPIN * value)
    poles, still = np.linalg.eigvals(space.A[10:, 10:]), np.linalg.eigvals(bare.A[10:, 10:])
    moved = poles[np.argsort(poles.imag)] - still[np.argsort(still.imag)]
    np.testing.assert_allclose(moved, -0.02 * np.abs(still[np.argsort(still.imag)]), rtol=1e-9)


def test_balanced_states():
    model = linear_model(turning(), **{**WORDS, "outputs": ["beams.a.-1.position"]})
    reduction, errors = spinning_modal(model, 12), []
    for order in (4, 12, 20):
        space = balanced(reduction, order, [0.4])
        assert len(space.states) == 10 + order
        errors.append(np.max(np.abs(space.truncation.reduced.values - space.truncation.full.values)))
    assert errors[0] > 5.0 * errors[1] > 25.0 * errors[2]


test_what_has_no_meaning_in_a_rotation = refusals(
    lambda words: linearize_structure(turning(), **WORDS, **words),
    ({"craig_bampton": 2, "hub": "hub"}, "Craig-Bampton: the state is a steady rotation, whose modes are complex"),
    ({"modes": 2, "residual_vectors": True}, "residual vectors: the state is a steady rotation"),
    ({"balanced": 2, "damping": 0.0}, "without damping have no Gramians"),
)


def test_the_command(tmp_path):
    words = [
        "--input", "beams.boom.-1.force", "--output", "beams.boom.-1.position", "--modes", "6", "--error-at", "0.5",
    ]  # fmt: skip
    result = said("linearize", CASES / "spinning_boom.toml", *words, "--out", tmp_path)
    assert "24 states, 3 inputs, 3 outputs; about the equilibrium" in result
    assert "6 modes of the structure that turns, 0.5 % damping in each, by default" in result
    assert "\nturns at 0.31831 Hz about the axis (0, 0, 1) through its mass centre and (0, 0, 0) m\n" in result


def test_the_bound_just_below_the_first_mode_left_out():
    """Its response grows without limit there, and the bound with it."""
    words = {"inputs": ["beams.a.-1.force.x"], "outputs": ["beams.a.-1.position.x"], "start": "equilibrium"}
    model = linear_model(small(turning), **words)
    reduction = spinning_modal(model, elastic_modes(model.motion) - 3, damping=0.0)
    frequency = 0.999 * reduction.tail.next_omega / (2.0 * np.pi)
    truncation = reduction.state_space([frequency]).truncation
    difference = float(np.abs(truncation.reduced.values - truncation.full.values)[0, 0, 0])
    assert 0.2 < difference / float(truncation.bound([frequency])[0, 0, 0]) < 1.0
