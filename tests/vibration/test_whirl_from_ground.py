"""Frequencies from the ground and critical speeds of what tilts: circles across the axis of turns, not of places; and
of waves around a disc."""

import numpy as np
import pytest
from models import of_parts

import femb

Z = (0.0, 0.0, 1.0)
# A disc on two bearings alike in all directions, at the distance ARM from its centre: K = 2 k ARM^2 against tilts.
MASS, ACROSS, ALONG, STIFFNESS, ARM = 10.0, 0.5, 0.3, 1e4, 0.2
TILT = 2.0 * STIFFNESS * ARM**2


def on_bearings(speed, turns=True, across=ACROSS, along=ALONG):
    """The disc, which turns in the model, or rests there as a rotor."""
    spin = {"angular_velocity": (0, 0, speed)} if turns else {}
    model = of_parts(femb.RigidBody("disc", MASS, (across, across, along), **spin))
    for name, side, kzz in (("up", 1.0, 5e4), ("down", -1.0, 0.0)):
        end = femb.SpringEnd("disc", at=(0, 0, side * ARM))
        model.add(femb.Bearing(name, end, axis=Z, kxx=STIFFNESS, kzz=kzz))
    if not turns:
        model.add(femb.Rotor("r", speed, Z, bodies=("disc",)))
    return model


def tilts(speed, across, along):
    """J w^2 -+ J_p W w - K = 0: forward and backward rates (rad/s) of a tilt, from the ground."""
    half = 0.5 * along * speed / across
    root = np.sqrt(half**2 + TILT / across)
    return {"forward": root + half, "backward": root - half}


@pytest.mark.parametrize(("across", "along"), [(ACROSS, ALONG), (0.4, 0.8)])
@pytest.mark.parametrize("speed", [40.0, 70.0])
def test_a_disc_tilts_forward_and_backward(speed, across, along):
    """A thin disc, of twice the inertia about its axis, has one multiple eigenvalue in axes that turn."""
    whirl = femb.modes(on_bearings(speed, True, across, along), start="equilibrium").whirl
    translation = np.sqrt(2.0 * STIFFNESS / MASS)
    for sense, rate in tilts(speed, across, along).items():
        wanted = sorted([rate, translation])
        seen = [2.0 * np.pi * each[0] for each, word in zip(whirl.seen, whirl.senses, strict=True) if word == sense]
        np.testing.assert_allclose(sorted(seen), wanted, rtol=1e-9)
    assert whirl.senses.count("") == 1  # along the axis


@pytest.mark.parametrize("inertia", [12.0, 3.0])
def test_nutation_from_the_ground_is_the_spin_by_the_inertias(inertia):
    """I_3 W/I_1 of a free spinner, flat or slender, whose places on the axis do not move across it."""
    spin, first = 2.0, 8.0
    model = of_parts(femb.RigidBody("hub", 50.0, (first, first, inertia), angular_velocity=(0, 0, spin)))
    model.add(femb.PointMass("m", 1.0))
    ends = femb.JointEnd("hub", axis=Z), femb.JointEnd("m")
    model.add(femb.Components("rail", *ends, directions=[[1, 0, 0], [0, 1, 0]]))
    model.add(femb.SpringDamper("s", femb.SpringEnd("hub", at=(0, 0, -1.0)), femb.SpringEnd("m"), stiffness=20.0))
    found = femb.modes(model, start="equilibrium")
    k = int(np.flatnonzero(found.nutates)[0])
    assert found.whirl.senses[k] == "forward"
    np.testing.assert_allclose(2.0 * np.pi * found.whirl.frequencies[k], inertia * spin / first, rtol=1e-9)


@pytest.mark.slow
def test_panels_that_swing_have_two_frequencies_from_the_ground_or_one():
    """Two panels tilt the hub about one axis that turns: f +- W. Where they flap alike it moves along the axis: f."""
    spin = 2.0
    model = of_parts(femb.RigidBody("hub", 50.0, (8.0, 8.0, 12.0), angular_velocity=(0, 0, spin)))
    for name, side in (("p", 1.0), ("m", -1.0)):
        model.add(femb.RigidBody(name, 3.0, (0.01, 0.3, 0.3), position=(1.3 * side, 0, 0)))
        root = femb.JointEnd("hub", at=(0.5 * side, 0, 0), axis=(0, 1, 0))
        model.add(femb.Revolute(name, root, femb.JointEnd(name, at=(-0.8 * side, 0, 0), axis=(0, 1, 0))))
        model.add(femb.JointSpringDamper(name, name, stiffness=20.0))
    found = femb.modes(model, 3, start="equilibrium")
    rate = spin / (2.0 * np.pi)
    nutation, alike, opposite = found.frequencies
    wanted = [[rate - nutation, rate + nutation], [alike], [opposite - rate, opposite + rate]]
    for seen, each in zip(found.whirl.seen, wanted, strict=True):
        np.testing.assert_allclose(seen, each, rtol=1e-9)
    assert found.whirl.senses == ("forward", "", "both")
    assert ", ".join(f"{x:.4g}" for x in wanted[2]) in found.table()


@pytest.mark.slow
@pytest.mark.parametrize("turns", [True, False])
def test_critical_speeds_of_tilts(turns):
    """sqrt(K/(J - J_p)) forward, sqrt(K/(J + J_p)) backward, beside sqrt(k/m) twice."""
    sweep = femb.mode_sweep(
        lambda speed: on_bearings(speed, turns), np.linspace(10.0, 80.0, 15), 5, damped=True,
        start="equilibrium" if turns else "as_given",
    )  # fmt: skip
    forward, backward = np.sqrt(TILT / (ACROSS - ALONG)), np.sqrt(TILT / (ACROSS + ALONG))
    speeds = [each.speed for each in sweep.critical]
    np.testing.assert_allclose(speeds, [backward, *[np.sqrt(2.0 * STIFFNESS / MASS)] * 2, forward], rtol=1e-5)
    assert sweep.critical[0].label.startswith("backward")
    assert sweep.critical[3].label.startswith("forward")


AROUND, ANGLES = 24, 2.0 * np.pi * np.arange(24) / 24


def spinning_disc(hub, speed, **words):
    """Of steel, clamped on a hub or free, about z; or in place of it the square around it."""
    shape = {"surface": {"disc": [0.5, 0.1]}, "elements": (4, AROUND), "thickness": 5e-3} | words
    turn = {"angular_velocity": (0, 0, speed)}
    metal = femb.Material(200e9, 76.923e9, 7850.0)
    shell = femb.Shell("d", material=metal, **shape, **({"attach": {"edge4": "hub"}} if hub else turn))
    return of_parts(shell, *([femb.RigidBody("hub", 20.0, (1.0, 1.0, 2.0), **turn)] if hub else []))


@pytest.mark.slow
@pytest.mark.parametrize("hub", [True, False])
def test_waves_around_a_disc_pass_a_place_in_space_at_their_frequency_and_n_turns(hub):
    """What a probe at rest beside the rim sees: f + n W or f - n W of the n nodal diameters that the rim shows. Without
    a hub shapes of one diameter have no part as one rigid body."""
    speed = 60.0
    model = spinning_disc(hub, speed)
    found, rate = femb.modes(model, 9, start="equilibrium"), speed / (2.0 * np.pi)
    z = [2 + i for i in found.motion.motion.system.layout.frame_v]
    rim = [z[station.frame] for station in found.motion.motion.system.layout.shells["d"].stations][4::5]
    diameters = []
    for k in range(9):
        shape = found.shapes[rim, k]
        parts = np.abs(np.fft.fft(shape)) ** 2
        n = int(np.argmax(parts))
        n -= AROUND * (n > AROUND / 2)
        if found.nutates[k]:
            continue
        diameters.append(abs(n))
        # e^(i n (angle - W t)) e^(i w t)
        np.testing.assert_allclose(found.whirl.seen[k], [abs(found.frequencies[k] - n * rate)], rtol=1e-9)
        assert bool(found.whirl.senses[k]) is (abs(n) == 1)  # two diameters move no axis
    assert {0, 1, 2, 3} <= set(diameters)


@pytest.mark.slow
def test_a_probe_beside_a_disc_has_the_spectrum_of_the_table():
    """The motion at one angle in space over time, of a standing pair of two diameters, from shapes alone."""
    speed = 60.0
    found = femb.modes(spinning_disc(True, speed), 9, start="equilibrium")
    k = next(k for k in range(9) if not found.whirl.senses[k] and len(found.whirl.seen[k]) and k > 0)
    layout = found.motion.motion.system.layout
    rim = [layout.frame_v[each.frame] + 2 for each in layout.shells["d"].stations][4::5]
    t = np.linspace(0.0, 2.0, 4001)
    waves, numbers = np.fft.fft(found.shapes[rim, k]) / AROUND, np.fft.fftfreq(AROUND, 1.0 / AROUND)
    turn = np.exp(1j * np.outer(t, 2.0 * np.pi * found.frequencies[k] - numbers * speed))
    seen = (turn @ waves).real
    peak = np.fft.rfftfreq(len(t), t[1])[np.argmax(np.abs(np.fft.rfft(seen * np.hanning(len(t)))))]
    assert np.min(np.abs(np.array(found.whirl.seen[k]) - peak)) < 0.5


def test_shapes_of_unknown_diameters_have_no_frequency_from_the_ground():
    """A square has no rings all over: where its modes move neither axis nor whole, the column is empty, and says so."""
    square = [[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0], [-0.5, 0.5, 0]]
    model = spinning_disc(False, 20.0, surface=None, corners=square, elements=(6, 6))
    found = femb.modes(model, 4, start="equilibrium")
    assert () in found.whirl.seen
    assert np.isnan(found.whirl.frequencies[found.whirl.seen.index(())])
    assert "from ground Hz: - of shapes whose nodal diameters are not known" in found.table()
