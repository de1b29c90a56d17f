"""Latches in geared hinges, one of which the gear and the other hold already: as without it, in every analysis."""

import numpy as np
import pytest
from models import of_parts

import femb

TURNS = {"a": 1.0, "b": -2.0}  # of hinges that a sync cable gears
HUB, INERTIA = 100.0, 20.0
ENGAGED = {"engaged": True, "time": 100.0}


def arms(start=0.0, latches=None, gear=None, fixed=False, boom=False, **spring):
    """Two arms on a hub whose hinges are geared; ``latches`` : words of them by the name of the hinge."""
    parts, on, at = [femb.RigidBody("hub", HUB, INERTIA)], "hub", (0.5, 0, 0)
    if fixed:
        parts.append(femb.Fixed("base", femb.JointEnd("ground"), femb.JointEnd("hub")))
    for name, ratio in TURNS.items():
        ends = (femb.JointEnd(of, at=x, axis=(0, 0, 1), reference=(1, 0, 0)) for of, x in ((on, at), (name, (0, 0, 0))))
        parts.append(femb.RigidBody(name, 5.0, (0.1, 0.5, 0.6), center_of_mass=(0.5, 0, 0)))
        parts.append(femb.Revolute(name, *ends, start=ratio * start))
        on, at = name, (1, 0, 0)
    coordinates = [femb.JointCoordinate(name) for name in TURNS]
    parts.append(femb.Gear("cable", *coordinates, ratio=-2.0) if gear is None else gear(*coordinates))
    parts.append(femb.JointSpringDamper("spring", "a", **{"stiffness": 1.0, **spring}))
    if boom:
        rod = femb.Section("rod", area=1e-4, second_moments=(1e-8, 2e-8), torsion_constant=3e-8, density=2700.0,
                           youngs_modulus=7e10, shear_modulus=2.6e10)  # fmt: skip
        parts.append(femb.Beam("boom", rod, 2.0, 2, femb.Attachment("b", at=(1, 0, 0), direction=(1, 0, 0))))
    return of_parts(*parts, *(femb.Latch(name, name, **words) for name, words in (latches or {}).items()))


def about_mass_centre(start):
    """The moment of inertia of hub and arms about the common mass centre, kg m2."""
    masses, along, across = np.array([HUB, 5.0, 5.0]), np.cos(start), np.sin(start)
    at = np.array([(0.0, 0.0), (0.5 + 0.5 * along, 0.5 * across), (0.5 + 1.5 * along, 0.5 * across)])
    arm = at - masses @ at / masses.sum()
    return INERTIA + 0.6 + 0.6 + masses @ np.sum(arm**2, axis=1)


@pytest.mark.parametrize("start", [0.0, 0.3, 0.5 * np.pi])
def test_a_latched_satellite_turns_as_one_body(start):
    """1/(-J w2) of turn by torque, and all twelve states."""
    latches = dict.fromkeys("ab", ENGAGED)
    space = femb.linearize(arms(start, latches), inputs=["bodies.hub.torque.z"], outputs=["bodies.hub.turn.z"])
    assert len(space.states) == 12
    np.testing.assert_allclose(space.eigenvalues(), 0.0, atol=1e-9)
    np.testing.assert_allclose(space.transfer(3.0j), -1.0 / (about_mass_centre(start) * 9.0), rtol=1e-10)


WORDS = {"inputs": ["bodies.hub.torque", "bodies.b.force"], "outputs": ["bodies.hub.turn", "bodies.b.position"]}
ANALYSES = {
    "linearize": lambda model: femb.linearize(model, **WORDS).transfer(40.0j),
    "poles": lambda model: np.sort(np.abs(femb.linearize(model).eigenvalues())),
    "structure": lambda model: femb.linearize_structure(model, **WORDS).transfer(40.0j),
    "craig_bampton": lambda model: femb.linearize_structure(model, hub="hub", craig_bampton=4, **WORDS).transfer(40.0j),
    "modes": lambda model: femb.modes(model, 4).frequencies,
    "damped": lambda model: femb.modes(model, 4, damped=True).frequencies,
    "held": lambda model: femb.modes(model, 4, held="hub").frequencies,
    "hand-over": lambda model: femb.handover.hybrid_coordinates(model, 4, held="hub").appendages[0].frequencies,
    "port": lambda model: femb.handover.port(model, "beams.boom.-1", 4, held="hub").state_space().transfer(40.0j),
}


@pytest.mark.parametrize("analysis", ANALYSES.values(), ids=ANALYSES.keys())
def test_analyses_are_as_without_the_redundant_latch(analysis):
    found, wanted = (analysis(arms(0.3, dict.fromkeys(names, ENGAGED), boom=True)) for names in ("ab", "a"))
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9 * np.max(np.abs(wanted)))


@pytest.mark.slow
def test_statics_beside_a_redundant_latch():
    load = femb.Load("push", body="b", at=(1, 0, 0), force=(0.0, 1.0, 2.0))
    found, wanted = (
        femb.static(of_parts(*arms(0.3, dict.fromkeys(names, ENGAGED), fixed=True, boom=True).items(), load))
        for names in ("ab", "a")
    )
    np.testing.assert_allclose(found.bodies["b"].position[-1], wanted.bodies["b"].position[-1], atol=1e-12)
    np.testing.assert_allclose(found.joints["base"].torque[-1], wanted.joints["base"].torque[-1], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["velocity", "reduced"])
def test_a_deployment_ends_in_both_latches(formulation):
    """From rest on a free hub all is at rest again, and the latches have taken what the spring had."""
    start = 0.5 * np.pi
    latches = {name: {"at": 0.0} for name in "ab"}
    results = femb.simulate(arms(start, latches), duration=6.0, formulation=formulation, rtol=1e-9)
    assert {event.name for event in results.events} == {"latches.a", "latches.b"}
    np.testing.assert_allclose(sum(event.energy_loss for event in results.events), 0.5 * start**2, rtol=1e-7)
    for name in TURNS:
        np.testing.assert_allclose(results.joints[name].coordinates[-1], 0.0, atol=1e-7)
        np.testing.assert_allclose(results.joints[name].rates[-1], 0.0, atol=1e-9)
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity[-1], 0.0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["velocity", "reduced"])
def test_the_last_of_both_latches_lets_go(formulation):
    """The arms move from 2 s on, when no latch holds them: as from rest at the start."""
    latches = {"a": {"engaged": True, "time": 1.0}, "b": {"engaged": True, "time": 2.0}}
    words = {"output_interval": 0.5, "formulation": formulation, "rtol": 1e-9}
    held = femb.simulate(arms(0.4, latches), duration=4.0, **words).joints["b"].coordinates[:, 0]
    free = femb.simulate(arms(0.4), duration=2.0, **words).joints["b"].coordinates[:, 0]
    np.testing.assert_allclose(held[:5], -0.8, atol=1e-9)
    np.testing.assert_allclose(held[4:], free, atol=1e-7)


@pytest.mark.slow
def test_latches_beside_a_curve():
    """Both hinges of a cam are held, and let go, in any order of the latches."""

    def cam(first, second):
        return femb.FunctionCoupling("cam", first, second, lambda c: (-2.0 * c + 0.1 * c**2, 0.2 * c - 2.0, 0.2))

    found = []
    for order in ("ab", "ba"):
        model = arms(0.4, {name: {"time": 1.0 if name == "a" else 1.5} for name in order}, cam, fixed=True)
        for formulation in ("velocity", "reduced"):
            results = femb.simulate(model, duration=3.0, formulation=formulation, rtol=1e-9)
            found.append([results.joints[name].coordinates[-1, 0] for name in TURNS])
            np.testing.assert_allclose([results.joints[name].rates[-1, 0] for name in TURNS], 0.0, atol=1e-9)
    np.testing.assert_allclose(found, found[:1] * 4, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("driven", "seen"), [("a", 1.0), ("b", -2.0)])
def test_a_driver_on_a_geared_hinge(driven, seen):
    """It moves all inertias, as its hinge sees them: J = (sum of J_k n_k^2)/n^2, in inverse dynamics and in runs."""
    inertias, teeth = {"a": 0.01, "b": 0.3}, {"a": 1.0, "b": -2.0}
    parts = [femb.Gear("gear", *(femb.JointCoordinate(name) for name in teeth), ratio=-2.0)]
    for name, inertia in inertias.items():
        parts.append(femb.RigidBody(name, 1.0, inertia))
        parts.append(femb.Revolute(name, femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd(name, axis=(0, 0, 1))))
    model = of_parts(*parts, femb.JointDriver("drive", driven, femb.profiles.Sine(frequency=1.0, amplitude=0.5)))
    whole = sum(inertias[name] * teeth[name] ** 2 for name in teeth) / seen**2
    results = [femb.inverse(model, duration=1.0, output_interval=0.05)]
    for formulation in ("velocity", "quaternion", "reduced"):
        results.append(femb.simulate(model, duration=1.0, output_interval=0.05, formulation=formulation, rtol=1e-9))
    for each in results:
        motion = 0.5 * np.sin(2.0 * np.pi * each.time)
        np.testing.assert_allclose(each.drivers["drive"].force[:, 0], -whole * 4.0 * np.pi**2 * motion, atol=1e-6)
        for name, ratio in teeth.items():
            np.testing.assert_allclose(each.joints[name].coordinates[:, 0], motion * ratio / seen, atol=1e-8)


def test_drivers_on_both_geared_hinges_must_agree():
    motions = {"a": femb.profiles.Polynomial((0.0, 0.3)), "b": femb.profiles.Polynomial((0.0, 0.5))}
    model = arms(fixed=True)
    for name, motion in motions.items():
        model.add(femb.JointDriver(f"drive {name}", name, motion))
    for analysis in (femb.inverse, femb.simulate):
        with pytest.raises(femb.ModelError, match=r"drivers\.drive a: \(angle\) the start velocities and rates"):
            analysis(model, duration=1.0, output_interval=0.1)
