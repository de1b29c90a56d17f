"""Modes and responses of structures of many short elements, whose stiffnesses cancel to less than their rounding."""

import dataclasses

import numpy as np
import pytest
from long_runs import slow
from models import of_parts

import femb
from femb import elements as e
from femb.linear.response import FrequencyResponse
from femb.run.start import started
from femb.small_motions.eigenproblem import EigenProblem
from femb.system.moving_ground import mass_properties
from femb.system.system import System
from femb.vibration.mode_sweep import ModeSweep

SECTION = e.Section("boom", 2.5e-3, (5.2e-7, 4.1e-7), 9e-7, 2800.0, 7.17e10, 2.68e10, damping=1e-4)
LENGTH = 100.0


def beam(elements, kind=e.Beam, body="ground"):
    return of_parts(kind("boom", SECTION, LENGTH, elements, start=e.Attachment(body, direction=(1.0, 0.0, 0.0))))


def satellite(elements, **hub):
    model = femb.Model()
    model.add(e.RigidBody("hub", mass=200.0, inertia=(100.0, 200.0, 300.0), **hub))
    for name, side in (("right", 1.0), ("left", -1.0)):
        root = e.Attachment("hub", (0.3 * side, 0.0, 0.0), direction=(side, 0.0, 0.0))
        model.add(e.Beam(name, SECTION, 10.0, elements, start=root))
    return model


def extrapolated(of, few=20):
    """The limit of many elements, by two numbers of few: the error is of order four."""
    coarse, fine = of(few), of(2 * few)
    return fine + (fine - coarse) / 15.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "body", "elements"),
    [
        (e.Beam, "ground", 3000),
        (e.ExactBeam, "ground", 400),
        (e.Beam, None, 400),
        slow((e.ExactBeam, "ground", 3000)),
        slow((e.Beam, None, 3000)),
    ],
)
def test_frequencies_of_many_elements(kind, body, elements):
    expected = extrapolated(lambda n: femb.modes(beam(n, kind, body), 4).frequencies, 60 if body is None else 20)
    found = femb.modes(beam(elements, kind, body), 4)
    # the beam of constant curvatures in an element has an error of order two
    few = 2e-9 if kind is e.Beam else 2e-6
    np.testing.assert_allclose(found.frequencies, expected, rtol=few)
    assert np.max(found.precision) < 1e-7
    assert "digits lost" not in found.table()


@pytest.mark.parametrize("elements", [300, slow(1000)])
def test_damped_modes_of_many_elements(elements):
    """Damping of sections is proportional to the stiffness: ratios are proportional to frequencies."""
    found = femb.modes(beam(elements), 4, damped=True)
    np.testing.assert_allclose(found.frequencies, femb.modes(beam(elements), 4).frequencies, rtol=1e-9)
    np.testing.assert_allclose(found.damping, 1e-4 * np.pi * found.frequencies, rtol=1e-7)
    assert np.max(found.precision) < 1e-7
    # however slow they are, what is known of them is what is known without dampers, but for a factor
    known = [femb.modes(beam(40), 4, damped=damped).precision for damped in (True, False)]
    assert np.all(known[1] < known[0])
    assert np.all(known[0] < 8.0 * known[1])


@pytest.mark.slow
def test_spinning_structure_of_many_elements():
    def values(elements):
        spun = satellite(elements, angular_velocity=(0.0, 0.0, 0.4))
        return np.sort_complex(femb.modes(spun, 4, start="equilibrium").eigenvalues)

    few, many = extrapolated(values, 8), values(200)
    np.testing.assert_allclose(many, few, rtol=1e-7)


@pytest.mark.parametrize("kind", [e.Beam, e.ExactBeam])
def test_exact_products(kind):
    """The forces of strains are the stiffness times the displacements, in any state."""
    rng = np.random.default_rng(2)
    held = beam(4, kind)
    held.gravity = (0.3, 0.1, -0.02)
    root = e.Attachment("hub", (0.1, 0.2, 0.3), direction=(1.0, 0.4, 0.2))
    curved = of_parts(e.RigidBody("hub", mass=2.0, inertia=(1.0, 2.0, 3.0)), kind("boom", SECTION, 3.0, 4, start=root))
    spun = satellite(2, angular_velocity=(0.0, 0.0, 0.4))
    for model, loaded, own in ((held, False, False), (held, True, False), (curved, False, True), (spun, True, False)):
        system = System(model)
        if loaded:
            system = started(system, femb.Run(duration=1.0, start="equilibrium"))
        motion = EigenProblem.of(system, loaded, own)
        x = np.where(motion.held, 0.0, rng.standard_normal(motion.system.n_v))
        for product, data in ((motion.exact_stiffness, motion.stiffness), (motion.exact_damping, motion.damping)):
            expected = np.where(motion.held, 0.0, motion.times(data, x))
            np.testing.assert_allclose(product(x), expected, atol=1e-11 * np.max(np.abs(expected)))


def test_soft_beside_stiff_is_said():
    """Of a stiffness that no strain gives, what rounding leaves is said, and no more digits are printed."""
    precision = []
    for stiff in (1e2, 2e6):
        model = femb.Model()
        for k in range(2):
            model.add(e.RigidBody(f"b{k}", mass=1.0, inertia=(1.0, 1.0, 1.0), position=(1.0, 0.0, 0.0)))
        for k, (a, b, stiffness) in enumerate((("ground", "b0", 1e-3), ("b0", "b1", stiff))):
            first = e.JointEnd(a, at=(1.0, 0.0, 0.0) if a == "ground" else (0.0, 0.0, 0.0), axis=(1.0, 0.0, 0.0))
            model.add(e.Prismatic(f"j{k}", first, e.JointEnd(b, axis=(1.0, 0.0, 0.0))))
            model.add(e.JointSpringDamper(f"s{k}", f"j{k}", stiffness=stiffness))
        found = femb.modes(model, 2)
        precision.append(found.precision[0])
        known = dataclasses.replace(found, precision=np.array([0.3, 2e-4]))
        assert known.table().count("digits lost") == 1
        assert f"{found.frequencies[1]:.3g} " in known.table()
    assert precision[0] < 1e-10
    assert 1e-7 < precision[1] < 1e-4


FREQUENCIES = (1e-4, 1e-3, 0.01, 0.1, 0.3)
PORTS = {"hub": "hub", "inputs": ["bodies.hub.torque"]}
PORTS["outputs"] = ["bodies.hub.angular_velocity", "appendages.right.torque"]


@pytest.mark.slow
def test_slow_responses_of_many_elements():
    few, many = (femb.linear_model(satellite(n), **PORTS).frequency_response(FREQUENCIES) for n in (40, 400))
    size = np.max(np.abs(few.values), axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(many.values / size, few.values / size, atol=1e-8)
    # all turn as one body where the torque is slow
    hub = [many.between(f"bodies.hub.angular_velocity.{a}", f"bodies.hub.torque.{a}")[0] for a in "xyz"]
    inertia = np.diag(mass_properties(System(satellite(40)))[2])
    np.testing.assert_allclose(np.array(hub) * 2j * np.pi * FREQUENCIES[0] * inertia, 1.0, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("elements", [40, slow(400)])
@pytest.mark.parametrize("order", [{"modes": 4}, {"craig_bampton": 4}, {"modes": 4, "residual_vectors": True}])
def test_errors_of_truncations(order, elements):
    """The table shows the error of the truncation, not that of the model it is compared with."""
    space = femb.linearize_structure(satellite(elements), frequencies=FREQUENCIES, **PORTS, **order)
    error, bound = space.truncation.error, space.truncation.relative_bound
    known = ~np.isnan(error)
    assert np.all(error[known] <= bound[known] * 1.001 + 1e-11)
    # the error of slow motions falls with the square of the frequency
    slow = np.nanmax(error, axis=(1, 2))
    assert slow[1] < 1.1e-4 * slow[3] + 1e-11
    assert "nothing that responds" not in space.truncation.table()


@pytest.mark.slow
@pytest.mark.parametrize("elements", [60, slow(100)])
def test_errors_of_truncations_in_a_rotation(elements):
    """As with few elements, whose error is that of the truncation, where rounding of the stiffness showed 0.3."""
    ports = {"inputs": ["bodies.hub.torque"], "start": "equilibrium", "frequencies": [0.01, 0.1, 0.3], "modes": 6}
    ports["outputs"] = ["bodies.hub.angular_velocity", "beams.right.0.section_moment", "beams.right.-1.position"]
    spaces = [femb.linearize_structure(satellite(n, angular_velocity=(0.0, 0.0, 0.4)), **ports) for n in (8, elements)]
    few, many = (np.nanmax(space.truncation.error, axis=(1, 2)) for space in spaces)
    np.testing.assert_allclose(many[:2], few[:2], rtol=0.02)
    # the models differ by what eight elements lack, and the truncated ones by the same but for modes left out, of which
    # eight elements lack more
    more = [[getattr(space.truncation, word).values for space in spaces] for word in ("full", "reduced")]
    change, wanted = (values[1] - values[0] for values in reversed(more))
    # rounding of the bending stiffness grows with the fourth power of the number of elements: 1e-9, 5e-9 and 7e-8 with
    # 60, 100 and 200 of them
    rounding = 5e-9 * (elements / 60.0) ** 4
    assert np.max(np.abs(change - wanted)[0]) < rounding * np.max(np.abs(more[0][0][0]))
    assert np.max(np.abs(change - wanted)[1]) < 3e-7 * np.max(np.abs(more[0][0][1]))
    unknown = spaces[1].truncation.reduced
    assert np.all(unknown.rounding >= 1e-12 * np.abs(unknown.values))


@pytest.mark.slow
def test_what_is_lost_is_not_drawn_and_not_printed(tmp_path):
    parts = np.array([1e-9, 1e-4, 0.5])
    swept = ModeSweep("x", np.zeros(1), np.full((1, 3), 1.23456789), *np.ones((2, 1, 3)), ("a",) * 3, parts[None])
    assert swept.table().splitlines()[2].split() == ["0", "1.23457", "1.235", "digits", "lost"]
    values = np.ones((3, 1, 1), dtype=complex)
    response = FrequencyResponse(
        np.array([1.0, 2.0, 3.0]), values, ("y",), ("u",), np.array([0.1, 0.0, 0.0])[:, None, None]
    )
    assert list(response.known().frequencies) == [2.0, 3.0]
    assert response.draw(tmp_path / "bode.png").exists()


def test_phases_of_complex_shapes():
    """The largest entry is real and positive, and the mass is one, of damped modes without proportional damping."""
    model = satellite(2)
    for k, name in enumerate(("right", "left")):
        end = e.BeamEnd(name, node=-1) if hasattr(e, "BeamEnd") else e.JointEnd(beam=name, node=-1)
        model.add(e.SpringDamper(f"d{k}", end, e.JointEnd("hub", at=(0.0, 0.0, 1.0 + k)), damping=20.0 + 10.0 * k))
    found = femb.modes(model, 6, damped=True)
    assert np.max(found.damping) > 1e-3
    M = System(model).mass_matrix(System(model).q0).toarray()
    for phi in found.shapes.T:
        largest = phi[np.argmax(np.abs(phi))]
        assert largest.real > 0.0
        assert abs(largest.imag) < 1e-12 * abs(largest)
        assert np.real(np.conj(phi) @ M @ phi) == pytest.approx(1.0, rel=1e-10)


@pytest.mark.slow
def test_digits_lost_of_a_dense_model_are_said():
    """Entries of A are rounded: a model that knows its modes loses nothing by that. Of matrices alone, what it leaves
    of slow motions is measured, and said where it is much."""
    for elements in (4, 60):
        space = femb.linearize_structure(satellite(elements), **PORTS)
        exact = femb.linear_model(satellite(elements), **PORTS).frequency_response([1e-4, 1.0]).values
        scale = np.max(np.abs(exact))
        found = space.frequency_response([1e-4, 1.0])
        error = np.max(np.abs(found.values - exact), axis=(1, 2))
        assert np.all(error <= 1e-10 * scale)
        assert np.all(error <= 30.0 * np.max(found.rounding, axis=(1, 2)) + 1e-14 * scale)
        alone = femb.StateSpace(space.A, space.B, space.C, space.D, space.states, space.inputs, space.outputs)
        with pytest.warns(femb.FembWarning, match="digits lost at 1 frequency, the highest 0.0001 Hz"):
            found = alone.frequency_response([1e-4, 1.0])
        error = np.max(np.abs(found.values - exact), axis=(1, 2))
        assert np.all(error <= 30.0 * np.max(found.rounding, axis=(1, 2)) + 1e-8 * scale)
    for ports in ({"inputs": []}, {"outputs": []}):
        nothing = femb.linearize_structure(satellite(4), **{**PORTS, **ports}).frequency_response([0.1])
        assert nothing.rounding.size == nothing.values.size == 0
