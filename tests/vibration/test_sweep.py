"""Modes followed over a parameter: whirl of a boom that turns about its own axis, and the angle of an array."""

import numpy as np
import pytest
from models import of_parts, refuses, slender

from femb import (
    Attachment,
    Beam,
    JointEnd,
    JointSpringDamper,
    Model,
    PointMass,
    Prismatic,
    Revolute,
    RigidBody,
    Section,
    SpringDamper,
    SpringEnd,
)
from femb.vibration.mode_sweep import mode_sweep
from femb.vibration.modes import modes

SECTION = slender(bending_stiffness=[1.0, 1.0], axial_stiffness=1e7, torsional_stiffness=1e3)


def boom_about_its_axis(spin):
    hub = RigidBody("hub", mass=100.0, inertia=(90.0, 50.0, 50.0), angular_velocity=(spin, 0.0, 0.0))
    start = Attachment("hub", direction=(1.0, 0.0, 0.0))
    return of_parts(hub, Beam("boom", SECTION, length=1.0, elements=4, start=start))


@pytest.mark.slow
def test_whirl_modes_are_followed_through_their_crossing():
    """|omega_1 + Omega| and |omega_2 - Omega| cross at (omega_2 - omega_1) / 2, where sorted lists exchange them."""
    still = 2.0 * np.pi * modes(boom_about_its_axis(0.0), 4, held="hub").frequencies
    spins = np.linspace(0.4, 12.0, 16)
    found = mode_sweep(boom_about_its_axis, spins, 4, held="hub", start="equilibrium")
    omega = 2.0 * np.pi * found.frequencies
    rising = np.argmin(np.abs(omega[0] - (still[0] + spins[0])))
    falling = np.argmin(np.abs(omega[0] - (still[2] - spins[0])))
    np.testing.assert_allclose(omega[:, rising], still[0] + spins, rtol=1e-5)
    np.testing.assert_allclose(omega[:, falling], still[2] - spins, rtol=1e-5)
    assert omega[0, rising] < omega[0, falling]
    assert omega[-1, rising] > omega[-1, falling]
    assert np.min(found.assurance) > 0.7


def turned_array(angle):
    """A hub with unequal inertias, and an array on a stiff hinge at an angle."""
    model = of_parts(
        RigidBody("hub", mass=20.0, inertia=(2.0, 5.0, 6.0)), RigidBody("root", mass=0.5, inertia=(0.01, 0.01, 0.01)),
        Revolute(
            "drive", JointEnd("hub", at=(0.0, 0.5, 0.0), axis=(0.0, 1.0, 0.0)), JointEnd("root", axis=(0.0, 1.0, 0.0)),
            start=angle,
        ), JointSpringDamper("drive", "drive", stiffness=1e4, free=angle),
    )  # fmt: skip
    section = slender(bending_stiffness=[40.0, 10.0], torsional_stiffness=20.0)
    start = Attachment("root", direction=(0.0, 1.0, 0.0), up=(0.0, 0.0, 1.0))
    model.add(Beam("array", section, length=2.0, elements=4, start=start))
    return model


@pytest.mark.slow
def test_frequencies_of_a_turned_array_return_after_half_a_revolution():
    angles = np.linspace(0.0, np.pi, 7)
    found = mode_sweep(turned_array, angles, 3)
    np.testing.assert_allclose(found.frequencies[-1], found.frequencies[0], rtol=1e-7)
    assert np.max(np.abs(found.frequencies[3] / found.frequencies[0] - 1.0)) > 1e-3
    for angle, row in zip(angles, found.frequencies, strict=True):
        np.testing.assert_allclose(np.sort(row), modes(turned_array(angle), 3).frequencies, rtol=1e-7)


def test_values_that_are_none():
    refuses(r"values: got .*, wanted at least two numbers", mode_sweep, turned_array, [0.0], 2)


def on_turned_springs(angle):
    """1 kg on springs of 1, 2 and 9 N/m along axes that turn about the last."""
    c, s = np.cos(angle), np.sin(angle)
    model = of_parts(PointMass("m", mass=1.0))
    for k, axis in ((1.0, (c, s, 0.0)), (2.0, (-s, c, 0.0)), (9.0, (0.0, 0.0, 1.0))):
        model.add(SpringDamper(f"s{k:g}", SpringEnd("m"), SpringEnd(anchor=axis), stiffness=k, free_length=1.0))
    return model


def test_modes_that_turn_are_followed_by_halves_and_one_that_jumps_is_named_with_the_last_half():
    angles = np.radians([0.0, 50.0, 100.0, 60.0])
    found = mode_sweep(on_turned_springs, angles, 2)
    np.testing.assert_allclose(found.frequencies, np.tile(np.sqrt([1.0, 2.0]) / (2.0 * np.pi), (4, 1)), rtol=1e-9)
    np.testing.assert_allclose(found.assurance[1], np.cos(np.radians(25.0)) ** 2, rtol=1e-6)
    bent = mode_sweep(lambda x: on_turned_springs(np.radians(44.0) * x * x), [0.0, 1.0], 2)
    np.testing.assert_allclose(bent.assurance[-1], np.cos(np.radians(33.0)) ** 2, rtol=1e-6)  # of the worse half
    jump = lambda x: on_turned_springs(0.25 * np.pi * (x > 0.34))  # noqa: E731
    said = "cannot be followed from 0.328125 to 0.34375: .* assurance of 0.5; ask"
    refuses(said, mode_sweep, jump, [0.0, 1.0], 2)


@pytest.mark.slow
def test_modes_that_begin_equal_part_in_the_order_of_their_frequencies():
    spins = np.array([0.0, 0.2, 0.4])
    found = mode_sweep(boom_about_its_axis, spins, 4, held="hub", start="equilibrium")
    still = np.repeat(2.0 * np.pi * modes(boom_about_its_axis(0.0), 4, held="hub").frequencies[[0, 2]], 2)
    np.testing.assert_allclose(2.0 * np.pi * found.frequencies, still + np.outer(spins, [-1.0, 1.0] * 2), rtol=1e-5)


@pytest.mark.slow
def test_critical_damping_joins_two_modes():
    """x'' m + 2 x' + x = 0: one oscillation for m > 1, a defective eigenvalue at m = 1, two decays for m < 1."""

    def build(mass):
        ends = (JointEnd(body, axis=(1.0, 0.0, 0.0)) for body in ("ground", "b"))
        spring = JointSpringDamper("s", "slide", stiffness=1.0, damping=2.0)
        return of_parts(RigidBody("b", mass, 1.0), Prismatic("slide", *ends), spring)

    swept = mode_sweep(build, [2.0, 1.5, 1.0], damped=True)
    np.testing.assert_allclose(2.0 * np.pi * swept.frequencies[:, 0], np.sqrt([0.5, 1.0 / 1.5, 1.0]), rtol=1e-7)
    np.testing.assert_allclose(swept.damping[:, 0], np.sqrt([0.5, 1.0 / 1.5, 1.0]), rtol=1e-7)
    refuses("got 1 mode, wanted the 2 that are followed", mode_sweep, build, [0.5, 0.7, 2.0], 2, damped=True)


def test_damping_is_continuous_where_the_spin_begins():
    """A beam with stiffness damping tau on a hub: zeta = tau omega/2 at rest, as in the limit of slow spins."""
    tau = 2e-4
    section = Section("s", mass_per_length=1.0, inertia_per_length=(1e-3, 5e-4, 5e-4), axial_stiffness=1e6,
                           torsional_stiffness=100.0, bending_stiffness=(100.0, 300.0), damping=tau)  # fmt: skip

    def build(speed):
        model = Model("one blade")
        model.add(RigidBody("hub", mass=10.0, inertia=5.0, angular_velocity=(0.0, 0.0, speed)))
        start = Attachment(body="hub", at=(0.2, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
        model.add(Beam("blade", section, 2.0, elements=4, start=start))
        return model

    sweep = mode_sweep(build, [0.0, 0.1, 1.0], 2, held="hub", start="equilibrium")
    np.testing.assert_allclose(sweep.damping[0], 0.5 * tau * 2.0 * np.pi * sweep.frequencies[0], rtol=1e-6)
    np.testing.assert_allclose(sweep.damping[1], sweep.damping[0], rtol=1e-2)
    assert sweep.sweep().title == "one blade: modes over value"
