"""Sparse linear models and their truncations: the reference satellite, the error and its bound, names, bad input."""

from dataclasses import replace

import numpy as np
import pytest
from models import FREE, hub, of_parts, refuses, satellite, slender, thin_panel, winged_satellite
from vibration.test_hybrid import TABLE

import femb
from femb.handover.hybrid import HybridCoordinates
from femb.linear.balanced import balanced_states as balanced
from femb.linear.modal_reduction import craig_bampton, modal
from femb.linear.response import FrequencyResponse
from femb.linear.state_space import Truncation
from femb.linear.structure import LARGEST, full_order
from femb.vibration.modes import modes

TORQUE = {"inputs": ["bodies.hub.torque"], "outputs": ["bodies.hub.turn"], "hub": "hub"}
# Largest relative error of hub torque to turn with 1, 3, 5, 8 modes of each appendage, at the frequencies of TABLE.
ERRORS = {
    1: (1.4e-4, 3.5e-3, 3.2e-2, 9.6e-2, 0.61),
    3: (8e-7, 1.9e-5, 1.7e-4, 1.0e-3, 1.9e-3),
    5: (1e-7, 1e-7, 8e-7, 7.9e-5, 8.5e-5),
    8: (1e-7, 1e-7, 1e-7, 1e-7, 1e-7),
}
# Rounding of two ways to compute the same transfer function.
SAME = 2e-7


@pytest.fixture(scope="module")
def wings():
    return winged_satellite()


@pytest.fixture(scope="module")
def torque(wings):
    return femb.linear_model(wings, **TORQUE)


def damped(**section):
    """A hub with a boom, a damped hinge and a panel, and forces and outputs on them."""
    start = femb.Attachment("hub", direction=(1, 0, 0))
    model = of_parts(hub(), femb.Beam("boom", slender(**section), length=1.0, elements=4, start=start))
    model.add(femb.RigidBody("panel", mass=0.5, inertia=(0.02, 0.03, 0.04), position=(1.4, 0.0, 0.0)))
    inner = femb.JointEnd(beam="boom", node=-1, axis=(0.0, 1.0, 0.0))
    model.add(femb.Revolute("hinge", inner, femb.JointEnd("panel", at=(-0.4, 0.0, 0.0), axis=(0.0, 1.0, 0.0))))
    model.add(femb.JointSpringDamper("spring", "hinge", stiffness=2.0, damping=0.02))
    return model


BOOM = {
    "inputs": ["bodies.hub.torque", "bodies.panel.force.z", "joints.hinge.angle.force"],
    "outputs": [
        *("bodies.hub.turn", "bodies.panel.acceleration", "beams.boom.0.section_moment", "joints.hinge.angle"),
        *("joints.hinge.force", "appendages.boom.torque", "bodies.hub.angular_velocity"),
    ],
    "hub": "hub",
}


# The full model


def test_hub_torque_to_turn_of_the_reference_satellite(torque):
    found = torque.frequency_response([frequency for frequency, _, _ in TABLE]).values
    for k, (frequency, wanted, _) in enumerate(TABLE):
        # the table's frequencies are good to 2e-6, which the pole at 0.273 Hz multiplies by ten at 0.3 Hz
        np.testing.assert_allclose(np.diag(found[k]), wanted, rtol=3e-5 if frequency == 0.3 else 2e-7)


@pytest.mark.parametrize("start", ["as_given", "equilibrium"])
def test_the_sparse_model_is_the_linearised_one(start):
    """At rest, and in steady rotation, whose coordinates are along the frames' own axes."""
    spin = {"angular_velocity": (0.0, 0.0, 0.6)} if start == "equilibrium" else {}
    model = of_parts(hub(inertia=(1.0, 1.2, 1.5), **spin))
    section = slender(damping=0.01)
    for name, side in (("a", 1.0), ("b", -1.0)):
        root = femb.Attachment("hub", at=(0.1 * side, 0.0, 0.0), direction=(side, 0.0, 0.0))
        model.add(femb.Beam(name, section, length=1.0, elements=3, start=root))
    words = {
        "inputs": ["bodies.hub.torque", "beams.a.-1.force"],
        "outputs": [
            *("bodies.hub.turn", "bodies.hub.angular_velocity", "beams.a.-1.velocity", "beams.a.-1.acceleration"),
            *("beams.a.0.section_force", "beams.b.2.section_moment"),
        ],
        "start": start,
    }
    sparse, space = femb.linear_model(model, **words), femb.linearize(model, **words)
    for frequency in (0.3, 1.0, 4.0):
        found, wanted = (each.transfer(2j * np.pi * frequency) for each in (sparse, space))
        np.testing.assert_allclose(found, wanted, atol=1e-8 * np.max(np.abs(wanted)))
        rows = np.max(np.abs(wanted), axis=1)
        assert np.max(np.max(np.abs(found - wanted), axis=1) / rows) < 1e-5


def test_reactions_and_section_forces_of_the_sparse_model_are_those_of_the_linearised_one():
    outputs = ["joints.hinge.force", "joints.hinge.torque", "beams.boom.1.section_moment", "joints.hinge.angle rate"]
    words = {"inputs": BOOM["inputs"], "outputs": outputs}
    sparse, space = femb.linear_model(damped(), **words), femb.linearize(damped(), **words)
    for frequency in (0.1, 1.0):
        found, wanted = (each.transfer(2j * np.pi * frequency) for each in (sparse, space))
        np.testing.assert_allclose(found, wanted, atol=1e-6 * np.max(np.abs(wanted)))


def test_the_force_of_an_appendage_is_the_section_force_at_its_root(wings):
    outputs = ["beams.left yoke.0.section_force", "beams.left yoke.0.section_moment"]
    outputs += ["appendages.left yoke.force", "appendages.left yoke.torque"]
    model = femb.linear_model(
        wings, inputs=["bodies.left panel 2.force", "bodies.hub.torque"], outputs=outputs, hub="hub"
    )
    found = model.transfer(2j * np.pi * 0.4)
    size = np.max(np.abs(found))
    for first, second in ((0, 6), (3, 9)):
        lengths = [np.linalg.norm(found[k : k + 3], axis=0) for k in (first, second)]
        np.testing.assert_allclose(lengths[0], lengths[1], rtol=1e-6, atol=1e-9 * size)


def test_full_order_of_a_held_hub():
    words = {**BOOM, "outputs": ["joints.hinge.angle"], "inputs": ["joints.hinge.angle.force"]}
    space = femb.linearize_structure(damped(), held="hub", outputs=words["outputs"], inputs=words["inputs"])
    model = femb.linear_model(damped(), held="hub", outputs=words["outputs"], inputs=words["inputs"])
    assert not any("hub" in state for state in space.states)
    np.testing.assert_allclose(space.transfer(2j), model.transfer(2j), rtol=1e-8)


# Truncations


@pytest.mark.parametrize("count", ERRORS)
def test_craig_bampton_of_the_reference_satellite(torque, count):
    frequencies = [frequency for frequency, _, _ in TABLE]
    truncation = craig_bampton(torque, count, damping=0.0).state_space(frequencies).truncation
    error = np.nanmax(truncation.error, axis=(1, 2))
    for found, wanted in zip(error, ERRORS[count], strict=True):
        assert 0.4 * wanted < found < 1.6 * wanted or max(found, wanted) < 3e-7
    assert np.all(error <= np.nanmax(truncation.relative_bound, axis=(1, 2)) + SAME)


def test_damping_of_slow_modes_stays_beside_that_of_fast_ones():
    """Of a thin panel with all its modes: the damping of the fastest is 1e11 times that of the slowest."""
    model = femb.linear_model(thin_panel(), **TORQUE)
    found = craig_bampton(model, 1000, damping=0.0)
    rates = np.diag(found.reduced.damping)[-len(found.omega) :]
    # the shapes of the slowest have the digits that squares of 1 and 1e12 leave
    np.testing.assert_allclose(rates, 1e-4 * found.omega**2, rtol=1e-4)


@pytest.mark.parametrize(("count", "wanted"), [(1, 0.541296), (3, 0.537889), (5, 0.537841), (8, 0.537837)])
def test_frequencies_with_few_modes(torque, count, wanted):
    poles = craig_bampton(torque, count, damping=0.0).state_space([0.1]).eigenvalues()
    found = np.unique(np.round(poles.imag[poles.imag > 0.1] / (2.0 * np.pi), 6))
    assert found[1] == pytest.approx(wanted, abs=1.5e-6)


def test_frequency_without_the_residual_mass(wings):
    kept = HybridCoordinates.of(modes(wings, 60, held="hub")).kept(3)
    cut = tuple(
        replace(part, rigid_mass=part.coupling.T @ part.coupling, damping=np.zeros(3)) for part in kept.appendages
    )
    poles = np.sort(np.abs(replace(kept, appendages=cut).state_space().eigenvalues().imag)) / (2.0 * np.pi)
    assert poles[poles > 0.1][2] == pytest.approx(0.552419, abs=1.5e-6)


@pytest.mark.parametrize(
    ("frequency", "count", "without", "corrected"),
    [(0.1, 2, 2.8e-3, 7.6e-6), (0.3, 6, 1.3e-3, 4.7e-6), (1.0, 4, 6.9e-2, 1.9e-2), (1.0, 6, 1.2e-3, 5.0e-5),
     (2.5, 4, 0.33, 0.58)],
)  # fmt: skip
def test_residual_flexibility(torque, frequency, count, without, corrected):
    for correction, wanted in ((False, without), (True, corrected)):
        space = modal(torque, count, damping=0.0, correction=correction).state_space([frequency])
        assert space.truncation.error[0, 0, 0] == pytest.approx(wanted, rel=0.03)


def test_residual_vectors():
    """Accelerations, which a static share in the direct part does not help, gain from vectors as well."""
    words = {"inputs": ["bodies.panel.force.z"], "outputs": ["bodies.panel.acceleration.z", "bodies.panel.position.z"]}
    model = femb.linear_model(damped(), **words, hub="hub")
    plain, corrected = (modal(model, 3, correction=each).state_space([0.05]) for each in (False, True))
    vectors = modal(model, 3, vectors=True).state_space([0.05])
    assert vectors.states[6:10] == ("mode 1", "mode 2", "mode 3", "residual 1")
    assert np.all(vectors.truncation.error[0, :, 0] < 1e-2 * plain.truncation.error[0, :, 0])
    assert corrected.truncation.error[0, 0, 0] == pytest.approx(plain.truncation.error[0, 0, 0], rel=1e-6)


@pytest.mark.slow
def test_modal_damping_of_the_free_satellite(torque):
    poles = craig_bampton(torque, 60).state_space([0.1]).eigenvalues()
    poles = poles[poles.imag > 0.1]
    poles = poles[np.argsort(np.abs(poles))][:6]
    np.testing.assert_allclose(
        poles.imag / (2.0 * np.pi), (0.273328, 0.537811, 1.570980, 1.752376, 1.904934, 3.304514), rtol=3e-6
    )
    np.testing.assert_allclose(
        -poles.real / np.abs(poles), (0.00516, 0.01003, 0.00518, 0.00504, 0.00589, 0.01090), atol=6e-6
    )


def test_modes_of_the_whole_have_their_ratio_and_exact_rigid_motions(torque):
    space = modal(torque, 4, damping=0.01).state_space([0.1])
    poles = space.eigenvalues()
    assert np.sum(poles == 0.0) == 12
    elastic = poles[poles.imag > 0.1]
    np.testing.assert_allclose(np.abs(elastic) / (2.0 * np.pi), FREE[:4], rtol=3e-6)
    np.testing.assert_allclose(-elastic.real / np.abs(elastic), 0.01, rtol=1e-9)
    assert space.states[:7] == (*(f"rigid {k + 1}" for k in range(6)), "mode 1")


ORDERS = {
    "modes": lambda model: modal(model, 7).state_space,
    "modes without correction": lambda model: modal(model, 7, correction=False).state_space,
    "residual vectors": lambda model: modal(model, 7, vectors=True).state_space,
    "craig_bampton": lambda model: craig_bampton(model, 5).state_space,
    "balanced": lambda model: lambda at: balanced(modal(model, 10), 8, at),
}


@pytest.mark.parametrize("order", ORDERS)
def test_the_bound_holds_at_other_frequencies(order):
    """With dampers of its own, and outputs of all kinds; frequencies up to the first mode left out."""
    # vectors of parts that have all but no rotary inertia are rounded to 1e-5
    section = {"inertia_per_length": [2e-2, 1e-2, 1e-2]} if order == "residual vectors" else {}
    model = femb.linear_model(damped(**section), **BOOM)
    space, full = ORDERS[order](model)([0.5]), _damped_full(model, order)
    for frequency in np.random.default_rng(3).uniform(0.05, 12.0, 12):
        bound = space.truncation.bound([frequency])[0]
        found = space.frequency_response([frequency]).values[0]
        exact = full.frequency_response([frequency])
        difference = np.abs(found - exact.values[0])
        rounding = 1e-6 * np.max(np.abs(exact.values[0]), axis=1, keepdims=True)
        assert np.all(difference <= bound + rounding)


def _damped_full(model, order):
    if order == "residual vectors":
        return modal(model, 7, vectors=True).full
    words = {"modes": 7, "modes without correction": 7, "balanced": 10}
    reduction = modal(model, words[order]) if order in words else craig_bampton(model, 5)
    return reduction.full


@pytest.mark.parametrize("unit", [1e-4, 1.0])
def test_errors_are_relative_to_what_responds(unit):
    """An entry of 1e-5 of the largest has its own error; one below 1e-7, or below what rounding hides, that of the
    largest, whatever the sizes are."""
    full, change = unit * np.array([[[1.0, 1e-5, 1e-8, 1e-5]]]), unit * np.array([[[0.0, 1e-6, 1e-6, 1e-6]]])
    names = ("a.position.x",), tuple(f"{name}.force.x" for name in "abcd")
    rounding = unit * np.array([[[0.0, 0.0, 0.0, 2e-8]]])
    units = {"a.position.x": "m", **dict.fromkeys(names[1], "N")}
    parts = (FrequencyResponse(np.ones(1), values, *names, rounding, units) for values in (full, full + change))
    np.testing.assert_allclose(Truncation("some", *parts, None).error[0, 0], [0.0, 0.1, 1e-6, 1e-6], rtol=1e-9)


def test_the_bound_is_sharp(torque):
    """Not only an upper bound: near the error where a mode is left out."""
    truncation = craig_bampton(torque, 3).state_space([0.2, 0.7]).truncation
    assert np.nanmax(truncation.relative_bound) < 1.2 * np.nanmax(truncation.error)


@pytest.mark.parametrize("count", [1, 3, 6])
def test_the_bound_of_residual_vectors_is_sharp(count):
    """Displacements and accelerations of the places where forces act, which the vectors represent."""
    words = {"inputs": ["bodies.panel.force"], "outputs": ["bodies.panel.acceleration", "bodies.panel.position"]}
    model = femb.linear_model(damped(), **words, hub="hub")
    reduction = modal(model, count, vectors=True)
    assert reduction.tail.next_omega > np.max(reduction.omega)
    for part in (0.3, 0.6, 0.9):
        frequency = part * reduction.tail.next_omega / (2.0 * np.pi)
        truncation = reduction.state_space([frequency]).truncation
        error = np.abs(truncation.reduced.values - truncation.full.values)[0]
        bound, rounding = truncation.bound([frequency])[0], 1e-9 * np.max(np.abs(truncation.full.values))
        assert np.all(error <= bound + rounding)
        assert np.max(bound) < 20.0 * np.max(error) + rounding


def test_balanced_states_beside_exact_rigid_motions(torque):
    reduction = modal(torque, 20)
    errors = []
    for order in (4, 8, 16):
        space = balanced(reduction, order, [0.4])
        assert np.sum(space.eigenvalues() == 0.0) == 12
        assert len(space.states) == 12 + order
        errors.append(np.nanmax(space.truncation.error))
    assert errors[0] > 10.0 * errors[1] > 100.0 * errors[2]
    by_hub = balanced(craig_bampton(torque, 6), 16, [0.4])
    assert np.nanmax(by_hub.truncation.error) < 1e-4


def test_balanced_states_beside_a_hinge_with_friction():
    """Its rate decays and its angle acts on nothing: it is neither a vibration nor a free motion."""
    model = winged_satellite(free_hinge=True)
    model.add(femb.JointSpringDamper("friction", "left hinge 2", stiffness=0.0, damping=3.0))
    whole = femb.linear_model(model, **TORQUE)
    errors = []
    for order in (8, 16, 24):
        space = balanced(modal(whole, 20), order, [0.02, 0.4])
        assert len(space.states) == 13 + order
        errors.append(np.nanmax(space.truncation.error))
    assert errors[0] > 100.0 * errors[1] > 1e4 * errors[2]


def test_balanced_states_of_slowly_damped_modes_beside_fast_ones():
    """Damping of 1e-3 1/s is none of rounding, though the largest entry of the matrix is 1e12 1/s2."""
    found = balanced(modal(femb.linear_model(thin_panel(), **TORQUE), 18), 2, [0.1])
    pole = max(found.eigenvalues(), key=lambda each: each.imag)
    assert pole.imag == pytest.approx(modes(thin_panel(), 1).frequencies[0] * 2.0 * np.pi, rel=1e-3)


def test_accelerations_of_balanced_states_are_direct_by_the_mass_of_the_rigid_motions():
    words = {"inputs": ["bodies.hub.torque.y"], "outputs": ["bodies.hub.angular_acceleration.y"]}
    space = balanced(modal(femb.linear_model(damped(), **words, hub="hub"), 10), 8, [0.02, 0.5])
    assert np.max(space.truncation.error) < 1e-3


def test_names_and_files(tmp_path, wings):
    space = femb.linearize_structure(wings, **TORQUE, craig_bampton=1, frequencies=[0.1, 0.2])
    assert space.states[:8] == (
        *(f"bodies.hub.{word}" for word in ("x", "y", "z", "turn_x", "turn_y", "turn_z")),
        *("left yoke.mode 1", "right yoke.mode 1"),
    )
    assert "1 modes of each appendage of hub, 0.5 % damping" in space.truncation.table()
    results = femb.Results.read(space.write(tmp_path / "linear.h5"))
    assert results.arrays["linear/truncation_error"].shape == (2, 3, 3)
    np.testing.assert_array_equal(results.arrays["linear/truncation_frequencies"], [0.1, 0.2])
    again = type(space).of_results(results)
    np.testing.assert_array_equal(again.A, space.A)
    assert again.outputs == space.outputs
    response = space.frequency_response([0.1, 0.2])
    assert response.between("bodies.hub.turn.x", "bodies.hub.torque.x").shape == (2,)
    assert response.singular_values.shape == (2, 3)
    assert femb.Results.read(response.write(tmp_path / "response.h5")).arrays["response/real"].shape == (2, 3, 3)


# Bad input


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"modes": 10_000}, "wanted a whole number from 1 to"),
        ({"modes": 0}, "modes: got 0"),
        ({"craig_bampton": 3, "modes": 2}, "give one order"),
        ({"craig_bampton": 3, "hub": None}, "no hub is named"),
        ({"craig_bampton": 3, "held": "hub"}, "is held: ask for modes"),
        ({"balanced": 1000}, "wanted a whole number from 1 to"),
        ({"balanced": 4, "damping": 0.0}, "without damping have no Gramians"),
        ({"modes": 3, "damping": 5.0}, "wanted a ratio"),
        ({"modes": 3, "frequencies": [-1.0]}, "wanted positive numbers in Hz"),
        ({"modes": 3, "hub": "hab"}, "wanted one of hub"),
        ({"modes": 3, "at_rest": True}, "there is no option 'at_rest'"),
        ({"modes": 3, "outputs": ["appendages.left.force"]}, "no appendage 'left'; there are"),
        ({"modes": 3, "inputs": ["ground.acceleration"]}, "nothing is fixed to the ground"),
        ({"modes": 3, "inputs": ["bodies.hub.acceleration"]}, "is not held"),
    ],
)
def test_bad_orders(wings, words, message):
    refuses(message, femb.linearize_structure, wings, **{**TORQUE, **words})


def test_a_model_too_large_for_full_order():
    count = LARGEST // 7 + 2
    model = of_parts(
        femb.Beam("boom", slender(), length=100.0, elements=count, start=femb.Attachment("ground", direction=(1, 0, 0)))
    )
    with pytest.raises(femb.ModelError, match="truncate it, as by --modes 20"):
        full_order(femb.linear_model(model, inputs=["beams.boom.-1.force"], outputs=["beams.boom.-1.position"]))


def test_what_is_zero_by_symmetry_hides_no_error():
    """A torque on a satellite with equal booms does not move its hub: the table shows the errors of the rotation."""
    model = satellite(forced=False, rates=(0.0, 0.0, 0.0))
    words = {"inputs": ["bodies.hub.torque.y"], "hub": "hub", "craig_bampton": 6, "frequencies": [0.1, 1.0, 5.0]}
    turn, both = (
        femb.linearize_structure(model, outputs=outputs, **words).truncation
        for outputs in (["bodies.hub.turn"], ["bodies.hub.turn", "bodies.hub.position"])
    )
    assert "digits lost" not in both.table()
    assert both.table().count("bodies.hub.turn.y by bodies.hub.torque.y") == 3
    np.testing.assert_allclose(np.nanmax(both.error, axis=(1, 2)), np.nanmax(turn.error, axis=(1, 2)), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("gradient", [3.0, 60.0])
def test_craig_bampton_of_a_free_satellite_with_a_heated_hinge_line(gradient):
    """Its parts press on each other, and these reactions turn with them: it follows the hub, and has its modes."""
    model = femb.Model("heated")
    model.add(femb.RigidBody("hub", mass=50.0, inertia=(8.0, 9.0, 7.0)))
    words = {"material": femb.Material(7e10, 2.7e10, 2700.0, 2.3e-5), "frame": "hub"}
    inner = [[0.5, -0.3, 0], [0.8, -0.3, 0], [0.8, 0.3, 0], [0.5, 0.3, 0]]
    outer = [[0.8, -0.3, 0], [2.0, -0.3, 0], [2.0, 0.3, 0], [0.8, 0.3, 0]]
    model.add(femb.Shell("inner", (1, 2), corners=inner, thickness=5e-3, attach={"edge4": "hub"}, **words))
    model.add(femb.Shell("wing", (3, 2), corners=outer, thickness=4e-3, **words))
    ends = {"shell": "inner", "edge": "edge2"}, {"shell": "wing", "edge": "edge4"}
    model.add(femb.elements.HingeLine("fold", *ends, stiffness=150.0))
    model.add(femb.elements.SurfaceLoad("heat", "wing", gradient=gradient))
    inputs, outputs = ["bodies.hub.torque"], ["bodies.hub.turn"]
    space = femb.linearize_structure(
        model, inputs=inputs, outputs=outputs, start="equilibrium", hub="hub", craig_bampton=8
    )
    poles = space.eigenvalues().imag
    wanted = femb.modes(model, 3, start="equilibrium").frequencies
    np.testing.assert_allclose(np.sort(poles[poles > 0.5])[:3] / (2.0 * np.pi), wanted, rtol=1e-4)


def test_a_continuous_law_of_attitude_in_a_truncated_model():
    """It turns a rigid hub with a bandwidth b and a ratio 0.7: its poles are those of w^2 + 1.4 b w + b^2."""
    model = femb.Model("held")
    model.add(femb.RigidBody("hub", mass=50.0, inertia=(8.0, 9.0, 7.0)))
    model.add(femb.RigidBody("tip", mass=1e-6, inertia=1e-6, position=(1.0, 0.0, 0.0)))
    ends = femb.JointEnd("hub", at=(1.0, 0.0, 0.0), axis=(0, 1, 0)), femb.JointEnd("tip", axis=(0, 1, 0))
    model.add(femb.Revolute("hinge", *ends))
    model.add(femb.JointSpringDamper("spring", "hinge", stiffness=1e-3))
    model.add(femb.Load("torque", body="hub", frame="body", torque=(0, 0, 0)))
    law = {"attitude": "bodies.hub", "rate": "bodies.hub", "outputs": ("loads.torque.torque",)}
    model.add(femb.PDController("pd", bandwidth=0.3, damping_ratio=0.7, **law))
    space = femb.linearize_structure(model, outputs=["bodies.hub.turn"], modes=3, damping=0.0)
    slow = np.sort_complex(space.eigenvalues()[np.abs(space.eigenvalues().imag) < 1.0])
    slow = slow[np.abs(slow) > 0.0]
    np.testing.assert_allclose(slow.real, -0.21, rtol=1e-3)
    np.testing.assert_allclose(np.abs(slow), 0.3, rtol=1e-3)
    assert len(slow) == 6
