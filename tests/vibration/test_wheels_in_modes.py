"""Modes of structures with wheels that spin: nutation, whirl of flexible parts, and what undamped modes leave out."""

import numpy as np
import pytest
from models import hub, of_parts, refuses, slender
from scipy.linalg import eigh
from shared_runs import said

import femb
from femb.handover import CraigBampton, hybrid_coordinates
from femb.linear.linearise import plant_of

Z = (0.0, 0.0, 1.0)
J1, J2, J3, J_S, SPEED = 10.0, 7.0, 12.0, 0.1, 300.0


def rigid(*items, viscous=0.0, speed=SPEED):
    """A triaxial body with a wheel about its third axis."""
    wheel = femb.ReactionWheel("w", "hub", axis=Z, spin_inertia=J_S, speed=speed, viscous=viscous)
    return of_parts(femb.RigidBody("hub", 50.0, (J1, J2, J3)), wheel, *items)


def boomed(viscous=0.0, **words):
    """A free hub with a boom of beams and skew wheels, one of them at its tip; a motor holds against the friction."""
    section = slender(**words)
    root = femb.Attachment("hub", at=(0.1, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
    rotor = {"mass": 0.1, "transverse_inertia": 6e-4, "spin_inertia": 1e-3, "speed": 500.0}
    return of_parts(
        hub(inertia=(1.0, 1.2, 1.5)),
        femb.Beam("boom", section, length=1.0, elements=3, start=root),
        femb.ReactionWheel(
            "a", "hub", axis=(1, 1, 0), spin_inertia=0.02, speed=80.0, viscous=viscous, torque=80.0 * viscous
        ),
        femb.ReactionWheel("b", "hub", axis=(0, 1, -1), spin_inertia=0.02, speed=-50.0),
        femb.ReactionWheel("tip", beam="boom", node=-1, axis=(0, 1, 1), **rotor),
    )


def matched(found, space, count):
    """The eigenvalues found beside the nearest ones of a linear model, which are not zero."""
    poles = space.eigenvalues()
    nearest = np.array([poles[np.argmin(np.abs(poles - each))] for each in found.eigenvalues[:count]])
    return found.eigenvalues[:count], nearest


def test_a_rigid_body_nutates_by_its_wheel():
    """h/sqrt(J1 J2) of a body at rest, h = J_s Omega; nothing else moves."""
    found = femb.modes(rigid(), damped=True)
    assert (found.rigid, found.joint) == (6, 0)
    np.testing.assert_allclose(found.eigenvalues, [1j * J_S * SPEED / np.sqrt(J1 * J2)], rtol=1e-12, atol=1e-12)


def test_friction_of_a_wheel_is_a_mode_that_decays():
    """c (1/J_s + 1/(J3 - J_s)): the wheel and the body come to rest against each other, beside the nutation."""
    c = 1e-3
    found = femb.modes(rigid(viscous=c), damped=True)
    wanted = [-c * (1.0 / J_S + 1.0 / (J3 - J_S)), 1j * J_S * SPEED / np.sqrt(J1 * J2)]
    np.testing.assert_allclose(found.eigenvalues, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("words", [{}, {"damping": 1e-4, "viscous": 2e-3}], ids=["conservative", "damped"])
def test_modes_of_booms_with_wheels_are_the_poles_of_the_linear_model(words):
    """About the same state at rest; and wheels at rest have other frequencies."""
    found = femb.modes(boomed(**words), 8, damped=True)
    here, there = matched(found, femb.linearize(boomed(**words)), 8)
    np.testing.assert_allclose(here, there, rtol=1e-8, atol=1e-8)
    still = femb.modes(boomed(**words), 8)
    assert np.max(np.abs(still.frequencies / found.frequencies - 1.0)) > 0.01


def test_a_held_hub_keeps_its_wheels_and_those_of_the_boom_whirl():
    """Wheels on what is held do nothing; the wheel at the tip splits equal bending frequencies."""
    found, still = (femb.modes(boomed(), 4, held="hub", damped=damped) for damped in (True, False))
    assert np.abs(found.eigenvalues.real).max() < 1e-9 * np.abs(found.eigenvalues).max()
    assert np.min(np.abs(found.eigenvalues)) > 1.0
    assert np.max(np.abs(found.frequencies / still.frequencies - 1.0)) > 1e-4


def test_a_wheel_on_soft_bearings_whirls():
    """J_s Omega/(2 I_r) and its root with k/I_r: forward and backward whirl of the transverse inertia I_r."""
    k, I_r = 40.0, 0.2
    bearing = femb.Universal("bearing", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("rotor", axis=(0, 1, 0)))
    springs = [
        femb.JointSpringDamper(f"spring {name}", "bearing", stiffness=k, coordinate=name)
        for name in ("first_angle", "second_angle")
    ]
    model = of_parts(femb.RigidBody("rotor", 2.0, (I_r, I_r, 0.3)), bearing, *springs)
    model.add(femb.ReactionWheel("w", "rotor", axis=Z, spin_inertia=J_S, speed=SPEED))
    half = 0.5 * J_S * SPEED / I_r
    wanted = [np.sqrt(half**2 + k / I_r) - half, np.sqrt(half**2 + k / I_r) + half]
    found = femb.modes(model, 2, damped=True)
    np.testing.assert_allclose(2.0 * np.pi * found.frequencies, wanted, rtol=1e-11)
    assert np.abs(found.damping).max() < 1e-12


@pytest.mark.slow
def test_wheels_at_rest_are_locked_in_undamped_modes_and_free_in_damped_ones():
    """Locked, the body has all of J; free, J - J_s g g^T, as a body without the wheel: by modes and by reduced
    matrices."""
    g, J = np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0), np.diag([1.0, 1.2, 1.5])

    def of(inertia, *wheels):
        root = femb.Attachment("hub", at=(0.1, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
        beam = femb.Beam("boom", slender(), length=1.0, elements=3, start=root)
        return of_parts(hub(inertia=inertia), beam, *wheels)

    wheel = femb.ReactionWheel("w", "hub", axis=tuple(g), spin_inertia=0.4)
    model = of(J, wheel)
    free, locked = femb.modes(model, 5, damped=True), femb.modes(model, 5)
    np.testing.assert_allclose(free.frequencies, femb.modes(of(J - 0.4 * np.outer(g, g)), 5).frequencies, rtol=1e-9)
    np.testing.assert_allclose(locked.frequencies, femb.modes(of(J), 5).frequencies, rtol=1e-12)
    assert np.max(free.frequencies / locked.frequencies) > 1.001
    whole = CraigBampton.of(hybrid_coordinates(model, held="hub"))
    off = np.zeros_like(whole.mass)
    off[3:6, 3:6] = 0.4 * np.outer(g, g)
    for mass, wanted in ((whole.mass, locked), (whole.mass - off, free)):
        found = np.sqrt(eigh(whole.stiffness, mass, eigvals_only=True)[6:11]) / (2.0 * np.pi)
        np.testing.assert_allclose(found, wanted.frequencies, rtol=1e-7)
    assert "left out: w.speed: held; wheels are locked" in locked.table()


def test_undamped_modes_say_what_they_leave_out(tmp_path):
    found = femb.modes(boomed(), 2)
    assert found.left_out == ("a.speed", "b.speed", "tip.speed")
    line = "left out: a.speed, b.speed, tip.speed: held; wheels are locked, without gyroscopic moments, and free"
    assert line in found.table()
    assert line in found._repr_html_()
    assert femb.modes(boomed(), 2, damped=True).left_out == ()
    refuses(r"nothing vibrates: .*; damped modes have w\.speed", femb.modes, rigid())
    case = tmp_path / "case.toml"
    case.write_text("""
[bodies.hub]
mass = 50.0
inertia = [10, 7, 12]

[wheels.w]
body = "hub"
axis = [0, 0, 1]
spin_inertia = 0.1
speed = 300.0

[run]
duration = 1.0
""")
    out = said("modes", case, "--damped", "--out", tmp_path / "out")
    assert f"{J_S * SPEED / np.sqrt(J1 * J2) / (2.0 * np.pi):.6g}" in out


DISTURBED = {
    "static_imbalance": 1e-3,
    "dynamic_imbalance": 1e-4,
    "harmonics": [femb.WheelHarmonic(2.5, radial_force=1e-5, axial_force=2e-5, rocking_torque=1e-5, axial_torque=1e-5)],
}


def sprung(**words):
    """A mass on a spring with damper on a rail, and a wheel whose disturbances push along the rail."""
    rail = femb.Prismatic("rail", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("a", axis=(1, 0, 0)))
    rotor = {"mass": 1.0, "spin_inertia": 0.02, "transverse_inertia": 0.02, "speed": 50.0}
    return of_parts(
        femb.RigidBody("a", mass=2.0, inertia=1.0),
        rail,
        femb.JointSpringDamper("s", "rail", stiffness=800.0, damping=4.0),
        femb.ReactionWheel("w", "a", axis=Z, **rotor, **words),
    )


@pytest.mark.parametrize("start", ["as_given", "equilibrium"])
def test_disturbances_of_a_wheel_of_known_angle_are_in_no_mode(start):
    """-c/2m + i sqrt(k/m - (c/2m)^2) of the whole mass, stable, as of the balanced wheel; and they are named."""
    found = femb.modes(sprung(**DISTURBED), damped=True, start=start)
    wanted = -4.0 / 6.0 + 1j * np.sqrt(800.0 / 3.0 - (4.0 / 6.0) ** 2)
    np.testing.assert_allclose(found.eigenvalues, [wanted], rtol=1e-12)
    assert "left out: imbalance and harmonics of wheels.w, whose mean over a turn is zero" in found.table()
    assert "unstable" not in found.table()
    assert "imbalance" not in femb.modes(sprung(), damped=True, start=start).table()
    poles = femb.linearize(sprung(**DISTURBED), start=start).eigenvalues()
    np.testing.assert_allclose(poles[np.argsort(np.abs(poles))], [0.0, wanted.conjugate(), wanted], atol=1e-12)


@pytest.mark.slow
def test_models_with_disturbing_wheels_are_those_with_balanced_ones():
    """A free satellite: its modes, its linear model and the truncated one, to the last digits; none grows."""

    def satellite(**words):
        root = femb.Attachment("hub", at=(0.1, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
        rotor = {"mass": 0.5, "transverse_inertia": 2e-3, "spin_inertia": 4e-3, "speed": 200.0}
        wheel = femb.ReactionWheel("w", "hub", at=(0.1, 0.2, 0.0), axis=(1, 1, 0), **rotor, **words)
        return of_parts(hub(inertia=(1.0, 1.2, 1.5)), femb.Beam("boom", slender(), 1.0, 3, start=root), wheel)

    with_it, without = satellite(**DISTURBED), satellite()
    found, wanted = (femb.modes(each, 8, damped=True).eigenvalues for each in (with_it, without))
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
    for words in ({}, {"modes": 4}, {"hub": "hub", "craig_bampton": 4}):
        spaces = [plant_of(each, ["wheels.w.torque"], None, words) for each in (with_it, without)]
        np.testing.assert_allclose(spaces[0].A, spaces[1].A, rtol=1e-9, atol=1e-9 * np.abs(spaces[1].A).max())


@pytest.mark.slow
def test_a_campbell_diagram_over_the_speed_of_a_wheel():
    """Whirl on soft bearings, J_s Omega/2 I -+ root((J_s Omega/2 I)^2 + k/I), of a wheel with imbalance."""
    k, I_r = 40.0, 0.2

    def rotor(speed):
        ends = femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("rotor", axis=(0, 1, 0))
        springs = [
            femb.JointSpringDamper(name, "bearing", stiffness=k, coordinate=name)
            for name in ("first_angle", "second_angle")
        ]
        wheel = femb.ReactionWheel("w", "rotor", axis=Z, spin_inertia=J_S, speed=speed, static_imbalance=1e-5)
        body = femb.RigidBody("rotor", 2.0, (I_r, I_r, 0.3))
        return of_parts(body, femb.Universal("bearing", *ends), *springs, wheel)

    speeds = np.array([0.0, 100.0, 200.0, 300.0])
    found = femb.mode_sweep(rotor, speeds, 2, damped=True, unit="rad/s")
    half = 0.5 * J_S * speeds / I_r
    root = np.sqrt(half**2 + k / I_r)
    np.testing.assert_allclose(2.0 * np.pi * found.frequencies, np.array([root - half, root + half]).T, rtol=1e-9)


def test_a_rotor_on_a_free_hub_that_nothing_vibrates_on_is_said_to_be_left_out():
    """Modes at rest lack the moments of what turns on a joint, also where that leaves nothing to compute."""
    model = of_parts(femb.RigidBody("hub", 100.0, (20.0, 20.0, 25.0)), femb.RigidBody("rotor", 5.0, (0.05, 0.05, 0.09)))
    ends = femb.JointEnd("hub", axis=(0, 0, 1)), femb.JointEnd("rotor", axis=(0, 0, 1))
    model.add(femb.Revolute("j", *ends, rates=50.0))
    for damped in (True, False):
        refuses(r"nothing vibrates.*left out: the rotation of .*rotor \(49\.8", femb.modes, model, damped=damped)
