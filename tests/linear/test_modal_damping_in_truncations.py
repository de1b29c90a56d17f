"""Modal damping in sparse linear models and in their truncations: the same as in the dense one."""

import warnings

import numpy as np
import pytest
from linear.test_truncation import BOOM, ORDERS
from linear.test_truncation import damped as boom_and_panel
from models import of_parts, refuses, winged_satellite
from pyyeti.nastran import op4, rddmig

import femb
from femb.handover import hybrid_coordinates
from femb.handover.craig_bampton import CraigBampton
from femb.linear.base_shake import shake
from femb.linear.modal_reduction import craig_bampton
from femb.linear.report import truncated

WORDS = {"inputs": ["bodies.hub.torque"], "outputs": ["bodies.hub.turn"]}
FREQUENCIES = (0.1, 0.2733, 1.57)


@pytest.fixture(scope="module")
def damped():
    model = winged_satellite()
    model.add(femb.ModalDamping("wings", held="hub", ratio=0.02, modes=6))
    return model


@pytest.mark.slow
def test_sparse_and_dense_transfer_functions_agree(damped):
    sparse, dense = femb.linear_model(damped, **WORDS), femb.linearize(damped, **WORDS)
    undamped = femb.linear_model(winged_satellite(), **WORDS)
    for frequency in FREQUENCIES:
        s = 2j * np.pi * frequency
        wanted = dense.transfer(s)
        np.testing.assert_allclose(sparse.transfer(s), wanted, rtol=0, atol=2e-6 * np.max(np.abs(wanted)))
    s = 2j * np.pi * FREQUENCIES[2]
    assert np.max(np.abs(undamped.transfer(s) - sparse.transfer(s))) > 1e-3 * np.max(np.abs(sparse.transfer(s)))


@pytest.mark.slow
def test_truncation_keeps_the_damping_of_the_model(damped):
    full = femb.linear_model(damped, **WORDS, hub="hub")
    reduction = craig_bampton(full, 6)
    assert reduction.kind.endswith(
        "modal damping of the case, 2 % on 12 modes of the appendages of hub: 6 of left yoke, 6 of right yoke"
    )
    for frequency in FREQUENCIES:
        s = 2j * np.pi * frequency
        wanted = full.transfer(s)
        found = reduction.state_space(FREQUENCIES).transfer(s)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.max(np.abs(wanted)))


@pytest.mark.parametrize(("kept", "ratio"), [(2, 0.02), (6, 0.0)])
def test_a_bound_knows_the_damping_of_the_modes_left_out(damped, kept, ratio):
    """Two ratios over the frequency of the first of them; of the case's six damped modes of each wing none is left."""
    tail = craig_bampton(femb.linear_model(damped, **WORDS, hub="hub"), kept).tail
    assert tail is not None
    assert tail.damping * tail.next_omega == pytest.approx(2.0 * ratio, rel=1e-6, abs=1e-9)


TORQUE = {"inputs": ["bodies.hub.torque"], "outputs": ["bodies.hub.turn"]}
EVERY_MODE = 60


def lowest(space, count=4):
    """Frequencies (Hz) and ratios of the lowest oscillations of a state space."""
    values = space.eigenvalues()
    values = values[values.imag > 0.1]
    values = values[np.argsort(np.abs(values), kind="stable")][:count]
    return np.array([np.abs(values) / (2.0 * np.pi), -values.real / np.abs(values)])


ROADS = {
    "full order with a hub": lambda model: femb.linearize_structure(model, **TORQUE, hub="hub"),
    "modes": lambda model: femb.linearize_structure(model, **TORQUE, modes=EVERY_MODE),
    "residual vectors": lambda model: femb.linearize_structure(
        model, **TORQUE, modes=EVERY_MODE, residual_vectors=True
    ),
    "Craig-Bampton": lambda model: femb.linearize_structure(model, **TORQUE, hub="hub", craig_bampton=EVERY_MODE),
    "hybrid coordinates": lambda model: hybrid_coordinates(model, held="hub").state_space(),
    "all dampers": lambda model: hybrid_coordinates(model, held="hub").state_space(dampers=True),
}


@pytest.fixture(scope="module")
def by_modes(damped):
    """Frequencies (Hz) and ratios of the lowest four, by complex modes."""
    found = femb.modes(damped, 4, damped=True)
    return np.array([found.frequencies, found.damping])


@pytest.mark.parametrize("road", ROADS)
def test_every_road_has_the_damping_of_the_case(damped, by_modes, road):
    wanted = by_modes
    np.testing.assert_allclose(lowest(ROADS[road](damped)), wanted, rtol=3e-6)


@pytest.mark.slow
def test_full_order_of_a_held_hub(damped):
    found = femb.linearize_structure(damped, inputs=[], outputs=[], held="hub")
    ratios = lowest(found, 14)[1]
    np.testing.assert_allclose(ratios[:12], 0.02, rtol=1e-7)  # six of each wing; the next ones are not damped
    np.testing.assert_allclose(ratios[12:], 0.0, atol=1e-10)
    replaced = femb.linearize_structure(damped, inputs=[], outputs=[], held="hub", damping=0.03)
    np.testing.assert_allclose(lowest(replaced, 14)[1], 0.03, rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("order", [{"craig_bampton": EVERY_MODE}, {}])
def test_a_given_ratio_replaces_that_of_the_case(damped, order):
    """As a case without modal damping that is given the ratio, and zero takes the damping away."""
    found = lowest(femb.linearize_structure(damped, **TORQUE, hub="hub", **order, damping=0.01))
    np.testing.assert_allclose(
        found, lowest(femb.linearize_structure(winged_satellite(), **TORQUE, hub="hub", **order, damping=0.01))
    )
    assert np.all(found[1] < 0.021)
    none = lowest(femb.linearize_structure(damped, **TORQUE, hub="hub", **order, damping=0.0))[1]
    np.testing.assert_allclose(none, 0.0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["modes", "craig_bampton"])
def test_the_table_says_whose_the_damping_is(damped, word):
    def kind(model, **words):
        truncation = femb.linearize_structure(
            model, **TORQUE, hub="hub", **{word: 3}, **words, frequencies=[0.1]
        ).truncation
        assert truncation is not None
        return truncation.kind

    assert "modal damping of the case, 2 % on 12 modes of the appendages of hub" in kind(damped)
    assert kind(damped, damping=0.03).endswith("3 % damping in each, as given in place of that of the case")
    assert kind(winged_satellite(), damping=0.03).endswith("3 % damping in each, as given")
    assert kind(winged_satellite()).endswith("0.5 % damping in each, by default")
    assert truncated(damped, hub="hub")[1].endswith("6 of right yoke")
    assert femb.modes(damped, 2, held="hub").table().endswith("6 of right yoke")


@pytest.mark.parametrize("own", [0.0, 3e-4])
def test_the_table_names_dampers_beside_the_ratio(own):
    """The damping of a section, s, adds half of itself times omega to the ratio; shakes and full order say so too."""
    tube = femb.Section("tube", shape={"tube": [0.03, 0.002]}, material="aluminium 6061-T6", damping=own)
    start = femb.Attachment("ground", direction=(1.0, 0.0, 0.0))
    boom = of_parts(femb.Beam("boom", tube, length=2.0, elements=8, start=start))
    found = femb.linearize_structure(boom, inputs=[], outputs=[], modes=2, damping=0.01)
    frequencies, ratios = lowest(found, 2)
    np.testing.assert_allclose(ratios, 0.01 + np.pi * own * frequencies, rtol=1e-6)
    shaken = shake(boom, "z", outputs=["appendages.boom.force.z"], sine=(1.0, 30.0), modes=2, damping=0.01)
    head = "1 % damping in each, as given" + ", beside the model's own dampers" * (own > 0.0)
    assert shaken.table().splitlines()[0].endswith(head)


# Part of the bound that the error reaches near the first mode left out.
SHARP = {
    "modes": 0.85, "modes without correction": 0.85, "residual vectors": 0.85, "craig_bampton": 0.7, "balanced": 0.0,
}  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ratio", [0.02, 0.3])
def test_the_bound_holds_with_the_damping_of_the_case(order, ratio):
    """Of fewer modes than are kept - balanced states take damping in all - and of some left out; near the error."""
    count = 3 if ratio == 0.02 and order != "balanced" else 20
    # vectors of parts that have all but no rotary inertia are rounded to 1e-5
    section = {"inertia_per_length": [2e-2, 1e-2, 1e-2]} if order == "residual vectors" else {}
    model = boom_and_panel(**section)
    model.add(femb.ModalDamping("boom", held="hub", ratio=ratio, modes=count))
    full, parts = femb.linear_model(model, **BOOM), [0.0]
    space = ORDERS[order](full)([0.5])
    for frequency in np.random.default_rng(3).uniform(0.05, 12.0, 8):
        bound = space.truncation.bound([frequency])[0]
        exact = full.frequency_response([frequency]).values[0]
        difference = np.abs(space.frequency_response([frequency]).values[0] - exact)
        rounding = 1e-6 * np.max(np.abs(exact), axis=1, keepdims=True)
        assert np.all(difference <= bound + rounding)
        parts.append(np.max(np.where(difference > rounding, difference / bound, 0.0)))
    assert max(parts) >= SHARP.get(order, 0.0)


def test_a_ratio_that_nothing_takes(damped):
    for words in ({}, {"held": "hub", "damped": True}):
        refuses("it is the ratio of the modes of appendages", femb.modes, damped, 2, **words, damping=0.02)
    refuses("a damping ratio is of the modes", femb.linearize_structure, damped, **TORQUE, damping=0.02)


@pytest.mark.parametrize("suffix", [".npz", ".op4", ".pch"])
def test_reduced_matrices_in_files(damped, suffix, tmp_path):
    """The ratios of the case in the damping of modes, whatever other dampers there are."""
    plant = hybrid_coordinates(damped, 8, held="hub")
    for dampers in (False, True):
        reduced = CraigBampton.of(plant, dampers=dampers)
        path = reduced.write(tmp_path / f"cb{suffix}")
        if suffix == ".npz":
            matrix = CraigBampton.read(path).damping
        elif suffix == ".op4":
            matrix = op4.load(str(path), into="dct")["bcb"][0]
        else:
            matrix = rddmig(str(path))["bcb"].to_numpy()
            matrix = matrix[np.ix_(np.any(matrix, axis=1), np.any(matrix, axis=0))]
        found = np.diag(matrix)
        found = found[found > 1e-9]
        frequencies = np.concatenate([part.frequencies[:6] for part in plant.appendages])
        np.testing.assert_allclose(np.sort(found), np.sort(0.08 * np.pi * frequencies), rtol=1e-9)


def hinged(*items):
    """A free hub, and on a sprung hinge a panel that carries a boom."""
    first = femb.JointEnd("hub", at=(0.3, 0.0, 0.1), axis=(0.0, 1.0, 0.2))
    section = femb.Section("boom", 2e-4, (4e-9, 6e-9), 8e-9, 2.7e3, 7e10, 2.6e10)
    return of_parts(
        femb.RigidBody("hub", mass=8.0, inertia=(0.5, 0.6, 0.7)),
        femb.RigidBody("panel", mass=1.5, inertia=(0.05, 0.2, 0.25), center_of_mass=(0.0, 0.0, 0.02)),
        femb.Revolute("hinge", first, femb.JointEnd("panel", at=(-0.5, 0.0, 0.0))),
        femb.JointSpringDamper("spring", "hinge", stiffness=40.0),
        femb.Beam("boom", section, 2.0, 2, start=femb.Attachment("panel", (0.1, 0.0, 0.0), direction=(1, 0.2, 0))),
        *items,
    )


@pytest.mark.slow
def test_reactions_of_joints_balance_modal_damping():
    """The reaction of a hinge beside which modal damping acts, sparse, dense and truncated."""
    model = hinged(femb.ModalDamping("panel", "hub", 0.2, modes=4))
    words = {"inputs": ["bodies.panel.torque"], "outputs": ["joints.hinge.force", "joints.hinge.torque"]}
    dense, sparse = femb.linearize(model, **words), femb.linear_model(model, **words, hub="hub")
    undamped = femb.linear_model(hinged(), **words, hub="hub")
    for frequency in (0.3, 1.2, 4.0):
        s = 2j * np.pi * frequency
        wanted = dense.transfer(s)
        size = np.max(np.abs(wanted))
        assert np.max(np.abs(undamped.transfer(s) - wanted)) > 1e-3 * size
        np.testing.assert_allclose(sparse.transfer(s), wanted, rtol=0, atol=1e-7 * size)
        for space in (
            femb.linearize_structure(model, **words, hub="hub"),
            femb.linearize_structure(model, **words, hub="hub", craig_bampton=99),
        ):
            np.testing.assert_allclose(space.transfer(s), wanted, rtol=0, atol=1e-7 * size)
    # of a ratio that replaces it, too: with all modes the truncation is exact
    truncation = femb.linearize_structure(
        model, **words, hub="hub", craig_bampton=99, damping=0.1, frequencies=[0.3, 1.2]
    ).truncation
    assert truncation is not None
    np.testing.assert_allclose(truncation.reduced.values, truncation.full.values, rtol=1e-7, atol=1e-9)


# Shaken bases


def boom(*items, elements=4):
    section = femb.Section("tube", 2.5e-3, (5.2e-7, 5.2e-7), 8e-7, 2800.0, 7.17e10, 2.7e10)
    return of_parts(
        femb.Beam("boom", section, 2.0, elements, start=femb.Attachment("ground", direction=(1, 0, 0))), *items
    )


RANDOM = {"outputs": ["appendages.boom.force.z"], "density": ([5.0, 2000.0], [1.0, 1.0])}


def test_a_shake_has_the_damping_of_the_case():
    """The same as the ratio that is given to a case without; a ratio beside that of the case replaces it."""
    damped = boom(femb.ModalDamping("boom", "ground", 0.03, modes=15), elements=2)
    own = shake(damped, "z", **RANDOM)
    given = shake(boom(elements=2), "z", **RANDOM, damping=0.03)
    at = [[each.space.frequency_response([f]).values for f in (10.2, 64.0, 500.0)] for each in (own, given)]
    np.testing.assert_allclose(*at, rtol=1e-8)
    np.testing.assert_allclose(own.rms, given.rms, rtol=1e-6)  # as accurate as the integral
    assert "modal damping of the case, 3 % on 15 modes" in own.table()
    default = shake(boom(elements=2), "z", **RANDOM)
    np.testing.assert_allclose(shake(damped, "z", **RANDOM, damping=0.005).rms, default.rms, rtol=1e-6)
    assert default.rms[0] > 2.0 * own.rms[0]


def test_a_shake_of_fewer_modes_than_the_default():
    found = shake(boom(elements=1), "z", **RANDOM)
    assert "; 8 modes of the whole structure, 0.5 % damping in each, by default" in found.table()
    refuses("got 20, wanted", shake, boom(elements=1), "z", **RANDOM, modes=20)


def test_modes_without_damping_in_the_span_of_a_shake():
    """A warning, and infinite figures of what responds to them: not a number that rounding makes."""
    model = boom(femb.ModalDamping("boom", "ground", 0.03, modes=2))  # the first mode in either plane
    outputs = ["appendages.boom.force.z", "beams.boom.-1.turn.x"]
    with pytest.warns(femb.FembWarning, match=r"modes at 64.0051 to 1\d+.\d+ Hz have no damping"):
        found = shake(model, "z", outputs=outputs, density=RANDOM["density"])
    assert found.rms is not None
    assert found.rms[0] == found.peak[0] == np.inf
    assert found.rms[1] < np.inf  # nothing shakes it
    assert "inf" in found.table()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        below = shake(model, "z", outputs=outputs, density=([5.0, 40.0], [1.0, 1.0]))
    assert below.rms is not None
    assert np.all(np.isfinite(below.rms))
