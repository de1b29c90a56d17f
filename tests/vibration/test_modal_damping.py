"""Modal damping: ratios of free and spinning structures, energy and momenta in large motion, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from checkout import ROOT
from long_runs import slow
from models import of_parts
from oracles.alone import Alone
from shared_runs import said

import femb
from femb import elements as e
from femb.layout.protocols import LowRankTangent
from femb.linear.linearise import linearize, plant_of
from femb.system.block_lu import WithLowRank
from femb.system.system import System
from femb.vibration.completion import completed

BOOM = e.Section("boom", 2e-4, (4e-9, 6e-9), 8e-9, 2.7e3, 7e10, 2.6e10)
PULSE = femb.Load("pulse", "hub", torque=(0.2, 0.5, 0.3), frame="body", profile=lambda t: np.sin(10.0 * t) ** 2)


def boom(name="boom", start=None, elements=2):
    return e.Beam(name, BOOM, 2.0, elements, start=start or e.Attachment("hub", (0.1, 0.0, 0.0), direction=(1, 0.2, 0)))


def satellite(*items, **motion):
    return of_parts(e.RigidBody("hub", mass=8.0, inertia=(0.5, 0.6, 0.7), **motion), *(boom(), *items))


def panel(**words):
    """A panel of one degree of freedom on a sprung hinge."""
    model = femb.Model("hub with a panel")
    model.add(e.RigidBody("hub", mass=8.0, inertia=(0.5, 0.6, 0.7), center_of_mass=(0.05, 0.02, -0.03), **words))
    model.add(e.RigidBody("panel", mass=1.5, inertia=(0.05, 0.2, 0.25), center_of_mass=(0.0, 0.0, 0.02)))
    first = e.JointEnd("hub", at=(0.3, 0.0, 0.1), axis=(0.0, 1.0, 0.2))
    model.add(e.Revolute("hinge", first, e.JointEnd("panel", at=(-0.5, 0.0, 0.0))))
    model.add(e.JointSpringDamper("spring", "hinge", stiffness=40.0))
    return model


def reference():
    """The satellite of docs/theory/modes.md without the dashpots of its hinges."""
    hinges = [f"{side}_{k}" for side in ("left", "right") for k in (1, 2, 3)]
    no_dashpots = [f"springs.{hinge}.damping=0" for hinge in hinges]
    return femb.load_case(ROOT / "cases" / "satellite_two_arrays.toml", no_dashpots).model


def oscillating(model, count, **words):
    """The lowest oscillations of a linear model, 1/s."""
    values = plant_of(model, None, None, words).eigenvalues()
    values = values[values.imag > 1e-2]
    return values[np.argsort(np.abs(values))][:count]


def test_one_mode_of_a_free_satellite():
    """omega_f = omega/sqrt(1 - kappa), zeta_f = zeta omega_f/omega, by modes and by the linear model."""
    model = panel()
    held = femb.modes(model, 1, held="hub")
    hybrid, omega = femb.handover.HybridCoordinates.of(held), 2.0 * np.pi * held.frequencies[0]
    L = hybrid.appendages[0].coupling
    kappa = (L @ np.linalg.solve(hybrid.mass, L.T)).item()
    model.add(femb.ModalDamping("arrays", "hub", 0.02))
    wanted = omega / np.sqrt(1.0 - kappa)
    modes = femb.modes(model, 1, damped=True)
    np.testing.assert_allclose(2.0 * np.pi * modes.frequencies, wanted, rtol=1e-10)
    np.testing.assert_allclose(modes.damping, 0.02 * wanted / omega, rtol=1e-9)
    np.testing.assert_allclose(oscillating(model, 1), modes.eigenvalues, rtol=1e-10)


@pytest.mark.slow
def test_reference_satellite():
    model = reference()
    model.add(femb.ModalDamping("arrays", "hub", modes=59))
    modes = femb.modes(model, 6, damped=True)
    np.testing.assert_allclose(
        modes.eigenvalues.imag / (2.0 * np.pi), [0.273328, 0.537811, 1.570980, 1.752376, 1.904934, 3.304514], atol=2e-6
    )
    np.testing.assert_allclose(100.0 * modes.damping, [0.516, 1.003, 0.518, 0.504, 0.589, 1.090], atol=5e-4)
    np.testing.assert_allclose(oscillating(model, 6, at_rest=True), modes.eigenvalues, rtol=2e-6)


def test_ratios_of_a_held_hub_are_those_given():
    model = satellite(femb.ModalDamping("boom", "hub", (0.01, 0.02, 0.03)))
    modes = femb.modes(model, 4, held="hub", damped=True)
    np.testing.assert_allclose(modes.damping, [0.01, 0.02, 0.03, 0.0], atol=1e-10)
    (appendage,) = modes.appendages
    np.testing.assert_array_equal(appendage.damping, [0.01, 0.02, 0.03, 0.0])
    assert "with 0 to 3 % damping" in appendage.table()
    other = femb.modes(model, 4, held="hub", damping=0.1)
    np.testing.assert_array_equal(other.appendages[0].damping, 0.1)


def test_loops_have_modal_damping_of_the_case_and_none_by_default():
    none = np.zeros((1, 0))
    law = femb.LinearLaw(
        "zero", none.T @ none, none.T, none, [[0.0]], inputs=["bodies.hub.turn.x"], outputs=["bodies.hub.torque.x"]
    )
    for items, words in (([], "alone"), ([femb.ModalDamping("boom", "hub", 0.02)], "modal damping of the case")):
        plant = femb.loop(satellite(*items), [law], hub="hub", craig_bampton=3).plant
        assert words in plant.damping
        poles = plant.eigenvalues()
        assert (np.min(-poles[poles.imag > 1e-2].real) > 1e-3) == bool(items)
    given = femb.linearize_structure(satellite(), hub="hub", damping=0.01)
    assert "1 % damping in each, as given" in given.damping


def test_modes_say_what_other_dampers_give():
    """Damping of sections is proportional to the stiffness: ratios proportional to the frequencies."""
    model = femb.Model()
    model.add(e.RigidBody("hub", mass=8.0, inertia=0.5))
    section = e.Section("boom", 2e-4, (4e-9, 6e-9), 8e-9, 2.7e3, 7e10, 2.6e10, damping=1e-4)
    model.add(e.Beam("boom", section, 2.0, 3, start=e.Attachment("hub", direction=(1, 0, 0))))
    (appendage,) = femb.modes(model, 4, held="hub").appendages
    np.testing.assert_allclose(appendage.own_damping, 1e-4 * np.pi * appendage.frequencies, rtol=1e-9)
    shown = ", ".join(f"{100.0 * ratio:.3g}" for ratio in appendage.own_damping)
    assert f"the model's own dampers give these modes {shown} %, not included" in appendage.table()


def test_spinning_structure():
    """Complex modes about a steady rotation, by two routes."""
    spun = femb.Model("balanced")
    spun.add(e.RigidBody("hub", mass=8.0, inertia=(0.5, 0.6, 0.7), angular_velocity=(0.0, 0.0, 3.0)))
    spun.add(boom("right", e.Attachment("hub", (0.1, 0, 0), direction=(1, 0, 0))))
    spun.add(boom("left", e.Attachment("hub", (-0.1, 0, 0), direction=(-1, 0, 0))))
    spun.add(femb.ModalDamping("booms", "hub", 0.03, modes=4))
    found = femb.modes(spun, 5, start="equilibrium", damped=True).eigenvalues
    nutation, elastic = found[np.argmin(np.abs(found - 1.27j))], found[np.abs(found) > 10.0]
    values = linearize(spun, start="equilibrium").eigenvalues()
    assert np.min(np.abs(values - nutation)) < 1e-9
    assert nutation.real < -1e-6
    assert len(elastic) == 4
    for value in elastic:
        assert np.min(np.abs(values - value)) < 1e-8 * abs(value)
        assert -value.real > 0.03 * abs(value)


def test_rigid_motion_of_a_deformed_satellite():
    """No force in any rigid motion; otherwise a force without resultant and a loss of power."""
    system = System(completed(satellite(femb.ModalDamping("boom", "hub", 0.5, modes=6))))
    (batch,) = [batch for batch in system.batches if isinstance(batch, LowRankTangent)]
    rng = np.random.default_rng(3)
    for _ in range(5):
        q = system.q0 + system.rates(system.q0[None], 0.5 * rng.standard_normal((1, system.n_v)))[0]
        system.normalise(q)
        rigid = system.rigid_velocities(q)
        for v in (*rigid, rng.standard_normal(6) @ rigid, rng.standard_normal(system.n_v)):
            force = np.zeros((1, system.n_v))
            Alone(system, batch).residual(np.zeros((1, 0)), q[None], v[None], np.zeros((1, system.n_v)), force)
            size = np.max(np.abs(force))
            assert np.max(np.abs(rigid @ force[0])) < 1e-13 * max(size, 1.0)
            power = -(force[0] @ v)
            is_rigid = np.linalg.matrix_rank(np.vstack([rigid, v]), tol=1e-8) == 6
            assert (abs(power) < 1e-12) if is_rigid else (power < -1e-3)


SPIN = {"angular_velocity": (0.3, 1.0, -0.6), "velocity": (0.1, 0.0, 0.2)}


def damped_run(method="radau", formulation="velocity", rtol=1e-7, model=None, **options):
    model = model or satellite(PULSE, femb.ModalDamping("boom", "hub", 0.02, modes=15), **SPIN)
    return femb.simulate(
        model, duration=0.4, output_interval=0.05, method=method, formulation=formulation, rtol=rtol, **options
    )


@pytest.mark.slow
def test_momenta_of_a_free_run():
    # the fifteenth mode is so fast that the stages of an explicit step enlarge its rounding a thousandfold
    model = satellite(femb.ModalDamping("boom", "hub", 0.05, modes=14), **SPIN)
    results = femb.simulate(model, duration=0.1, output_interval=0.05, method="rk", rtol=1e-8)
    for word, tolerance in (("linear_momentum", 1e-13), ("angular_momentum", 1e-8)):
        values = results.audit[word]
        assert np.max(np.abs(values - values[0])) < tolerance * np.max(np.abs(values))
    assert results.audit["work"][-1] < -1e-6


def test_energy_balance_falls_with_the_tolerance():
    """Work is that of the pulse less what the record of the damping integrates to."""
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8):
        audit = damped_run(rtol=rtol, atol=femb.Tolerances(rtol, rtol, rtol)).audit
        errors.append(np.max(np.abs(audit["energy_error"])) / np.max(audit["kinetic_energy"]))
    assert errors[0] < 1e-3
    assert errors[1] < 0.1 * errors[0]
    assert errors[2] < 0.1 * errors[1]


def test_records():
    model = satellite(femb.ModalDamping("boom", "hub", (0.02, 0.03)), **SPIN)
    results = femb.simulate(model, duration=0.1, output_interval=1e-3, method="radau", rtol=1e-6)
    group = results.modal_damping["boom"]
    assert group.description == "2 to 3 % on 2 modes of the appendage of hub: 2 of boom"
    np.testing.assert_array_equal(group.ratios, [0.02, 0.03])
    power = 4.0 * np.pi * group.modal_rates**2 @ (group.ratios * group.frequencies)
    np.testing.assert_allclose(group.power, power, rtol=1e-12)
    lost = np.trapezoid(power, results.time)
    np.testing.assert_allclose(results.audit["work"][-1], -lost, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulation", "method"),
    [("reduced", "radau"), slow(("quaternion", "radau")), slow(("velocity", "rk")), slow(("velocity", "bdf"))],
)
def test_formulations_and_steppers_agree(formulation, method):
    rtol = 1e-7 if method != "bdf" else 1e-9
    one = damped_run()
    other = damped_run(method, formulation, rtol)
    tip, size = one.beams["boom"], np.max(np.abs(one.beams["boom"].deflection))
    assert size > 1e-3
    np.testing.assert_allclose(other.beams["boom"].deflection, tip.deflection, atol=1e-4 * size)
    np.testing.assert_allclose(
        other.modal_damping["boom"].power, one.modal_damping["boom"].power,
        atol=1e-3 * np.max(one.modal_damping["boom"].power),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["velocity", "quaternion", "reduced"])
def test_strong_damping_is_in_newtons_matrix(formulation):
    """Without it the iteration would leave half of the error each time."""
    model = satellite(PULSE, femb.ModalDamping("boom", "hub", 0.5, modes=15), **SPIN)
    results = damped_run(formulation=formulation, model=model)
    assert results.statistics["newton_iterations"] < 4.0 * results.statistics["steps"]
    assert results.statistics["jacobians"] < 0.7 * results.statistics["steps"]


def test_factors_with_a_part_of_low_rank():
    system = System(completed(satellite(femb.ModalDamping("boom", "hub", 0.5, modes=5))))
    rng = np.random.default_rng(4)
    v, b = rng.standard_normal((2, system.n_v))
    mass, damping, stiffness = system.matrices(np.zeros(0), system.q0, v)
    assert isinstance(damping, WithLowRank)
    solver, mu = system.solver, 40.0 + 30.0j
    for shift in (40.0, mu):
        x = solver.factorise(solver.shifted(mass, damping, stiffness, shift)).solve(b.astype(type(shift)))
        parts = zip((mass, damping, stiffness), (shift, 1.0, 1.0 / shift), strict=True)
        product = sum(
            factor * (solver.multiply(data, x.real.copy()) + 1j * solver.multiply(data, x.imag.copy()))
            for data, factor in parts
        )
        np.testing.assert_allclose(product, b, atol=1e-9)
    np.testing.assert_allclose(
        solver.multiply(damping, b),
        solver.multiply(damping.matrix, b)
        + system.low_rank_tangent(np.zeros(system.n_u), system.q0, v).damping_times(b),
    )


def test_momentum_form_of_a_hinged_panel():
    def run(formulation):
        model = panel(angular_velocity=(0.3, 1.0, -0.6))
        model.add(femb.ModalDamping("panel", "hub", 0.05))
        return femb.simulate(model, duration=1.0, output_interval=0.1, method="rk", formulation=formulation, rtol=1e-10)

    one, other = run("velocity"), run("hamiltonian")
    np.testing.assert_allclose(other.joints["hinge"].coordinates, one.joints["hinge"].coordinates, atol=1e-7)
    assert one.audit["work"][-1] < -1e-4


def test_logarithmic_decrement_of_a_cantilever():
    """In its first mode, on the ground: a ratio of 2 %."""
    model = femb.Model("cantilever")
    model.add(boom(start=e.Ground().at(direction=(1, 0, 0)), elements=1))
    model.add(femb.ModalDamping("boom", "ground", 0.02))
    model.add(femb.Load("tip", beam="boom", node=-1, force=(0, 0, 1e-4), profile=lambda t: float(t == 0.0)))
    frequency = femb.modes(model, 1).frequencies[0]
    results = femb.simulate(
        model, duration=2.5 / frequency, output_interval=0.25 / frequency / np.sqrt(1 - 4e-4), start="equilibrium",
        method="radau", rtol=1e-7, atol=femb.Tolerances(1e-11, 1e-11, 1e-11),
    )  # fmt: skip
    rate = results.modal_damping["boom"].modal_rates[:, 0]
    decrement = np.log(rate[1] / rate[9]) / 2.0
    np.testing.assert_allclose(decrement, 2.0 * np.pi * 0.02 / np.sqrt(1 - 4e-4), rtol=1e-5)


def refused(*items, model=None):
    model = model or satellite()
    for item in items:
        model.add(item)
    with pytest.raises(femb.ModelError) as error:
        femb.linearize(model)
    return str(error.value)


def test_refusals():
    assert refused(femb.ModalDamping("d", "hubb")) == (
        "modal_damping.d.held: got 'hubb', which is not in the model; body names: 'hub'"
    )
    assert "modal_damping.d.held: got 'hub', on which nothing hangs that could vibrate" in refused(
        femb.ModalDamping("d", "hub"), e.RigidBody("a", 1.0, 1.0), model=_only_hub()
    )
    assert refused(femb.ModalDamping("d", "hub", modes=99)) == (
        "modal_damping.d: got 99 modes to damp, but 'boom' has 15 modes"
    )
    assert refused(femb.ModalDamping("d", "hub", appendage="array")) == (
        "modal_damping.d.appendage: got 'array', which is not an appendage of 'hub'; these are: 'boom'"
    )
    assert refused(femb.ModalDamping("d", "hub"), femb.ModalDamping("e", "hub")) == (
        "modal_damping.e: damps 'boom', which modal_damping.d damps already"
    )
    assert "can move without stiffness" in refused(femb.ModalDamping("d", "hub"), *_free_hinge())
    cord = e.SpringDamper("cord", e.SpringEnd(beam="boom"), e.SpringEnd(anchor=(3.0, 3.0, 0.0)), stiffness=10.0)
    assert "'boom' hangs on 'hub' and on 'the inertial frame'" in refused(femb.ModalDamping("d", "hub"), cord)
    point = e.PointMass("ball", mass=1.0, position=(0.0, 1.0, 0.0))
    assert "got 'ball', a point mass" in refused(femb.ModalDamping("d", "ball"), point)
    with pytest.raises(femb.ModelError, match=r"modal_damping\.d: its modes are not known yet.*femb\.completed"):
        System(satellite(femb.ModalDamping("d", "hub")))
    item = completed(satellite(femb.ModalDamping("d", "hub"))).tables["modal_damping"]["d"]
    with pytest.raises(femb.ModelError, match="has modes of another model"):
        System(satellite(boom("antenna", e.Attachment("hub", direction=(0, 1, 0))), _reversed(item)))


def _reversed(item):
    """Its modes with the labels of other frames."""
    (part,) = item.damped
    return item.with_modes((replace(part, labels=part.labels[::-1]),))


def _only_hub():
    return of_parts(e.RigidBody("hub", 1.0, 1.0))


def _free_hinge():
    body = e.RigidBody("paddle", mass=1.0, inertia=0.1)
    return body, e.Revolute(
        "hinge", e.JointEnd(beam="boom", node=-1, axis=(0, 1, 0)), e.JointEnd("paddle", at=(0.2, 0, 0))
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"ratio": -0.1}, "ratio: got -0.1, must be at least 0"),
        ({"ratio": (0.1, -0.1)}, "ratio: got (0.1, -0.1), must be at least 0"),
        ({"ratio": "much"}, "ratio: got 'much', wanted a number or a list of numbers, one for each mode"),
        ({"modes": 0}, "modes: got 0, must be a whole number of at least 1"),
        ({"ratio": (0.1, 0.1), "modes": 3}, "modes: got 3, but there are 2 ratios"),
    ],
)
def test_items_check_themselves(words, message):
    with pytest.raises(femb.ModelError) as error:
        femb.ModalDamping("d", "hub", **words)
    assert str(error.value) == f"modal_damping.d.{message}"


def test_a_wheel_and_a_welded_body_need_no_damping():
    """What cannot vibrate is passed over."""
    wheel = e.RigidBody("wheel", mass=0.1, inertia=0.01)
    axle = e.Revolute("axle", e.JointEnd("hub", axis=(0, 0, 1)), e.JointEnd("wheel"))
    box = e.RigidBody("box", mass=0.1, inertia=0.01, position=(0, 0, 1))
    weld = e.Fixed("weld", e.JointEnd("hub", at=(0, 0, 1)), e.JointEnd("box"))
    model = completed(satellite(wheel, axle, box, weld, femb.ModalDamping("d", "hub", 0.01)))
    (part,) = model.tables["modal_damping"]["d"].damped
    assert part.appendage == "boom"
    assert completed(model) is model
    assert [each.name for each in femb.modes(satellite(box, weld), 1, held="hub").appendages] == ["boom"]


CASE = """
[sections.boom]
area = 2e-4
second_moments = [4e-9, 6e-9]
torsion_constant = 8e-9
density = 2700.0
youngs_modulus = 7e10
shear_modulus = 2.6e10

[bodies.hub]
mass = 8.0
inertia = 0.5

[beams.boom]
section = "boom"
length = 2.0
start = { body = "hub", at = [0.1, 0, 0], direction = [1, 0, 0] }

[modal_damping.boom]
held = "hub"

[run]
duration = 0.01
output_interval = 0.01
"""


def test_commands_say_the_ratios(tmp_path):
    case = tmp_path / "case.toml"
    case.write_text(CASE)

    words = "0.5 % on 8 modes of the appendage of hub: 8 of boom"
    assert f"modal damping {words}" in said("check", case)
    assert f"modal damping         {words}" in said("run", case, "--out", tmp_path / "out")
    result = said("check", case, "--set", "modal_damping.boom.held=bus", code=2)
    assert "modal_damping.boom.held: got 'bus', which is not in the model; body names: 'hub'" in result
