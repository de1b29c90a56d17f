"""Whether a rotation is steady: by what turns with the structure, each force relative to itself."""

import numpy as np
import pytest
from models import of_parts, refuses, sections_like

import femb
from femb.small_motions.eigenproblem import EigenProblem
from femb.system.system import System

HEIGHT, MASS, ACROSS, ALONG, STIFFNESS = 0.5, 30.0, 0.2, 0.3, 1e6


def disc(rate, stiffness=(STIFFNESS, STIFFNESS), far=1.0, laws=False, **words):
    """A disc on a ball joint and two springs across its axis, or loads that are such springs."""
    body = femb.RigidBody("disc", MASS, (ACROSS, ACROSS, ALONG), angular_velocity=(0, 0, rate))
    tip = (0.0, 0.0, -HEIGHT)
    items = [femb.Spherical("tip", femb.JointEnd("ground", at=tip), femb.JointEnd("disc", at=tip))]
    for axis, k in enumerate(stiffness):
        unit = np.eye(3)[axis]
        if laws:

            def law(t, state, k=k, unit=unit):
                matrix = -k * np.outer(unit, unit)
                return femb.Differentiated(matrix @ state.bodies["disc"].position, {"bodies.disc.position": matrix})

            items.append(femb.Load(f"bearing{axis}", body="disc", force=law))
        else:
            ends = femb.SpringEnd("disc"), femb.SpringEnd(anchor=far * unit)
            items.append(femb.SpringDamper(f"spring{axis}", *ends, stiffness=k))
    return of_parts(body, *items, **words)


def whirl(rate):
    """Rates from the ground, sqrt(k/A + (h/2A)^2) +- h/2A, as those in axes that turn (rad/s)."""
    A, k, h = ACROSS + MASS * HEIGHT**2, STIFFNESS * HEIGHT**2, ALONG * rate
    root = np.sqrt(k / A + (0.5 * h / A) ** 2)
    return np.sort([abs(root + 0.5 * h / A - rate), root - 0.5 * h / A + rate])


@pytest.mark.parametrize("laws", [False, True], ids=["springs", "loads"])
@pytest.mark.parametrize("rate", [20.0, 100.0, 140.0, 300.0, 5000.0])
def test_isotropic_bearings_whirl(rate, laws):
    found = femb.modes(disc(rate, laws=laws), damped=True, start="equilibrium")
    np.testing.assert_allclose(2.0 * np.pi * found.frequencies, whirl(rate), rtol=1e-7)


@pytest.mark.parametrize("laws", [False, True], ids=["springs", "loads"])
@pytest.mark.parametrize("rate", [20.0, 5000.0])
@pytest.mark.parametrize("part", [0.5, 0.9999])
def test_unlike_bearings_are_named_at_any_rate(rate, part, laws):
    names = r"loads\.bearing0" if laws else r"springs\.spring0, springs\.spring1"
    with pytest.raises(femb.ModelError, match=f"not steady: {names}.* not turn with the structure of 'ground'"):
        femb.modes(disc(rate, (STIFFNESS, part * STIFFNESS), 1e3, laws), damped=True, start="equilibrium")
    assert (
        "not turn with the structure" in femb.linearize(disc(rate, (STIFFNESS, part * STIFFNESS), 1e3, laws)).unsteady
    )


@pytest.mark.filterwarnings("ignore:the start is an unstable equilibrium")
def test_weight_along_the_axis_turns_with_the_structure_and_across_it_does_not():
    """A heavy top in a spring: sqrt((k - m g l)/A + ..) of a centre above its tip."""
    rate, g = 100.0, 500.0
    found = femb.modes(disc(rate, gravity=(0, 0, -g)), damped=True, start="equilibrium")
    A, h = ACROSS + MASS * HEIGHT**2, ALONG * rate
    root = np.sqrt((STIFFNESS * HEIGHT**2 - MASS * g * HEIGHT) / A + (0.5 * h / A) ** 2)
    wanted = np.sort([abs(root + 0.5 * h / A - rate), root - 0.5 * h / A + rate])
    np.testing.assert_allclose(2.0 * np.pi * found.frequencies, wanted, rtol=1e-7)
    with pytest.raises(femb.ModelError, match="not steady: the weight of 'ground' is across its axis"):
        femb.modes(disc(5000.0, gravity=(1e-3, 0, 0)), damped=True, start="equilibrium")


def test_a_guide_of_one_direction_does_not_turn():
    """A joint that holds one direction across the axis, beside springs that are alike in all of them."""
    model = of_parts(femb.RigidBody("disc", MASS, (ACROSS, ACROSS, ALONG), angular_velocity=(0, 0, 50.0)))
    ends = femb.JointEnd("ground"), femb.JointEnd("disc")
    model.add(femb.Components("guide", *ends, directions=[[1, 0, 0], [0, 0, 1]]))
    for name, anchor in (("s", (0, 1, 0)), ("t", (1, 0, 0))):
        model.add(femb.SpringDamper(name, femb.SpringEnd("disc"), femb.SpringEnd(anchor=anchor), stiffness=1e4))
    refuses("joints of 'disc' with the ground do not turn", femb.modes, model, damped=True, start="equilibrium")


@pytest.mark.parametrize("density", [1.0, 100.0, 7800.0])
def test_a_disc_on_a_shaft_however_light(density):
    """The lowest whirl of the disc, from the ground: about sqrt(48 E I/m L^3) with a part of the mass of the shaft."""
    rod = sections_like("s", 3.1416e-4, (7.854e-9, 7.854e-9), 1.5708e-8, density, 2e11, 8e10)()
    model = of_parts(
        femb.RigidBody("disc", 5.0, (0.01, 0.01, 0.02), position=(0, 0, 0.4), angular_velocity=(0, 0, 250))
    )
    hub = model.bodies["disc"]
    model.add(femb.Beam("a", rod, 0.4, 2, end=hub.at(direction=(0, 0, 1))))
    model.add(femb.Beam("b", rod, 0.4, 2, start=hub.at(direction=(0, 0, 1))))
    ground = femb.JointEnd("ground", axis=(0, 0, 1))
    model.add(femb.Spherical("ball", femb.JointEnd("ground"), femb.JointEnd(beam="a", node=0)))
    model.add(femb.PointOnLine("line", ground, femb.JointEnd(beam="b", node=-1)))
    found = femb.modes(model, 8, damped=True, start="equilibrium")
    assert not np.any(found.damping)  # nothing damps, and rounding is not growth
    mass = 5.0 + density * 3.1416e-4 * 0.8 * 17.0 / 35.0
    wanted = np.sqrt(48.0 * 2e11 * 7.854e-9 / (mass * 0.8**3))
    rates = 2.0 * np.pi * found.frequencies
    assert np.min(np.abs(rates - abs(wanted - 250.0))) < 0.01 * wanted
    assert np.min(np.abs(rates - (wanted + 250.0))) < 0.01 * wanted


def test_an_unbalanced_rotor_in_bearings_of_springs():
    """At r = m e w^2/(k - m w^2) from its axis; the whirl from the ground at sqrt(k/m) as that of the balanced one."""
    mass, k, rate, offset = 30.0, 2e6, 400.0, 3.333e-5
    body = femb.RigidBody("rotor", mass, (0.2, 0.2, 0.3), angular_velocity=(0, 0, rate), center_of_mass=(offset, 0, 0))
    model = of_parts(
        body, femb.Components("z", femb.JointEnd("ground"), femb.JointEnd("rotor"), directions=[[0, 0, 1]])
    )
    for name, z in (("u", 0.2), ("d", -0.2)):
        for axis in range(2):
            anchor = np.eye(3)[axis] + [0, 0, z]
            ends = femb.SpringEnd("rotor", at=(0, 0, z)), femb.SpringEnd(anchor=anchor)
            model.add(femb.SpringDamper(f"{name}{axis}", *ends, stiffness=0.5 * k))
    found = femb.modes(model, damped=True, start="equilibrium")
    rates = 2.0 * np.pi * found.frequencies
    wanted = np.sqrt(k / mass)
    for each in (rate - wanted, rate + wanted):
        assert np.min(np.abs(rates / each - 1.0)) < 1e-3
    # the turn about its axis is a motion, and no mode
    assert found.rigid + found.joint == 1
    assert np.min(rates) > 0.1 * (rate - wanted)


@pytest.mark.slow
@pytest.mark.parametrize("elements", [6, 8])
@pytest.mark.parametrize("rate", [0.5, 1.0, 3.0, 6.0])
def test_a_panel_in_steady_spin(elements, rate):
    """Southwell's rule: the squares of the first frequency rise by a multiple of the square of the rate."""

    def panel(spin):
        model = of_parts(femb.RigidBody("hub", 1e9, (1e9, 1e9, 1e9), angular_velocity=(0.0, spin, 0.0)))
        corners = np.array([[1, -0.5, 0], [2, -0.5, 0], [2, 0.5, 0], [1, 0.5, 0.0]])
        wall = {"thickness": 1e-3, "material": femb.Material(70e9, 27e9, 2700.0)}
        shape = (elements, elements)
        model.add(femb.Shell("p", shape, corners=corners, frame="hub", attach={"edge4": "hub"}, **wall))
        return femb.modes(model, 1, held="hub", start="equilibrium").frequencies[0] * 2.0 * np.pi

    slow, fast = panel(0.25), panel(rate)
    rise = (fast**2 - slow**2) / (rate**2 - 0.25**2)
    assert 1.5 < rise < 2.5  # 1.19 + 1.57 r/L of slender blades, in the plane of the axis


def test_a_moment_on_a_hub_is_no_steady_spin():
    """A thousandth of what balances is seen; so is a small moment on a heavy hub."""
    for moment in (1e-3, 1.0):
        hub = femb.RigidBody("hub", 10.0, (1.0, 1.0, 1.0), angular_velocity=(0.0, 0.0, 2.0))
        model = of_parts(hub, femb.Load("m", body="hub", torque=(0.0, 0.0, moment), frame="body"))
        refuses(f"'hub' lacks a force of 0 N and a moment of {moment:g} N m", EigenProblem.of, System(model), True)
