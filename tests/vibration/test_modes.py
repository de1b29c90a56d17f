"""Modes, participation and effective masses against closed forms, tables and the linearised model."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from models import FREE, hub, of_parts, refuses, slender, slender_boom, winged_satellite
from oracles.alone import Alone
from scipy.optimize import brentq

import femb
from femb import (
    Attachment,
    Beam,
    ExactBeam,
    FembWarning,
    Fixed,
    JointDriver,
    JointEnd,
    JointSpringDamper,
    Load,
    PointMass,
    Revolute,
    RigidBody,
    SpringDamper,
    SpringEnd,
    linearize,
    static,
)
from femb.base.errors import ModelError, SolveError
from femb.handover import hybrid_coordinates
from femb.numerics.rotations import from_axis_angle, rotation_matrix
from femb.profiles import Polynomial
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import free_motions
from femb.system.system import System
from femb.vibration.eigen import lowest
from femb.vibration.mode_sweep import mode_sweep
from femb.vibration.modes import modes
from femb.vibration.solution import solution

# docs/theory/modes.md, section 3: effective masses of a uniform cantilever, of m and of m L^2 / 3.
CANTILEVER = [
    (1.8751041, 0.6130761, 0.9706882, 0.7264773),
    (4.6940911, 0.1883004, 0.0247158, 0.2091710),
    (7.8547574, 0.0647322, 0.0031525, 0.1274102),
    (10.9955407, 0.0330869, 0.0008209, 0.0909429),
    (14.1371684, 0.0200140, 0.0003004, 0.0707356),
    (17.2787595, 0.0133978, 0.0001346, 0.0578745),
]


# Cantilevers


def test_a_state_that_strained_springs_accelerate_is_named():
    """A spring of 1 m that is 5 cm too short pulls two bodies together; at its length nothing moves."""
    for length, warned in ((0.95, True), (1.0, False)):
        model = of_parts(
            RigidBody("a", 1.0, (0.1, 0.1, 0.1)),
            RigidBody("c", 3.0, (0.1, 0.1, 0.1), position=(1.0, 0.0, 0.0)),
            SpringDamper("s", SpringEnd(body="a"), SpringEnd(body="c"), stiffness=400.0, free_length=length),
        )
        if warned:
            with pytest.warns(FembWarning, match=r"not in equilibrium: .* bodies\.a by 20 m/s2"):
                modes(model, 1)
        else:
            modes(model, 1)


def panel_on_a_spring(free):
    """A hub, a boom and a tip body on a hinge, whose spring is at rest at an angle (rad)."""
    axis = (0.0, 1.0, 0.0)
    boom = slender_boom(4)
    tip = RigidBody("tip", mass=0.5, inertia=(0.01, 0.01, 0.01))
    hinge = femb.Revolute(
        "h", femb.JointEnd(beam="boom", node=-1, axis=axis), femb.JointEnd("tip", at=(-0.3, 0.0, 0.0), axis=axis)
    )
    spring = femb.JointSpringDamper("s", joint="h", stiffness=20.0, free=free, damping=0.1)
    return of_parts(hub(position=(0.0, 0.0, 0.0)), boom, tip, hinge, spring)


@pytest.mark.parametrize(("free", "angle"), [(0.0, None), (1e-3, None), (1.0, "1"), (-0.3, "0.3")])
def test_a_preload_that_moves_a_structure_at_rest_is_named(free, angle):
    """Of modes, shakes, linear models and reduced bodies, which also name dampers: the way to the angle at rest."""
    model = panel_on_a_spring(free)
    words = f"not in equilibrium: strained springs and the like turn 'tip' by {angle} rad"
    calls = {
        "modes": lambda: modes(model, 1, held="hub"),
        "linear model": lambda: femb.linearize_structure(model, inputs=[], outputs=[], held="hub", modes=1),
        "reduce": lambda: femb.fem.reduce_beams(model, "hub", {}, 2),
    }
    for name, call in calls.items():
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call()
        said = [str(each.message) for each in found]
        assert any(text.startswith(f"{name}: the state is {words}") for text in said) == (angle is not None)
        assert any("dampers act, in whose place is a default ratio" in text for text in said) == (name == "reduce")
    with pytest.warns(FembWarning, match="dampers act, in whose place"):
        femb.fem.reduce_beams(panel_on_a_spring(0.0), "hub", {}, 2)
    femb.fem.reduce_beams(panel_on_a_spring(0.0), "hub", {}, 2, damping_ratio=0.01)


def test_frequencies_and_effective_masses_of_a_cantilever():
    found = modes(of_parts(slender_boom(elements=16, root="ground")), 12)
    plane = [k for k in range(12) if abs(found.frequencies[k] * 2.0 * np.pi - CANTILEVER[k // 2][0] ** 2) < 1.0]
    assert plane[0] == 0
    beta = np.sqrt(2.0 * np.pi * found.frequencies[0])
    assert beta == pytest.approx(CANTILEVER[0][0], rel=1e-6)
    part = modes(of_parts(hub(), slender_boom(elements=16)), 12, held="hub").appendages[0]
    bending = np.flatnonzero(part.coupling[:, 2] ** 2 > 1e-3)[:6]
    for k, (beta, mass, inertia, lever) in zip(bending, CANTILEVER, strict=True):
        assert np.sqrt(2.0 * np.pi * part.frequencies[k]) == pytest.approx(beta, rel=1e-3)
        assert part.coupling[k, 2] ** 2 == pytest.approx(mass, rel=1e-3)
        assert 3.0 * part.coupling[k, 4] ** 2 == pytest.approx(inertia, rel=1e-3)
        assert part.lever[k] == pytest.approx(lever, rel=1e-3)


@pytest.mark.parametrize("elements", [1, 3])
def test_effective_masses_of_all_modes_are_the_rigid_mass_less_the_clamped_share(elements):
    model = of_parts(hub(), slender_boom(elements=elements))
    count = 7 * elements + 1  # an axial strain more than nodes
    part = modes(model, count, held="hub").appendages[0]
    assert np.max(np.abs(part.residual_mass - part.clamped_mass)) < 1e-12 * np.max(part.rigid_mass)
    assert np.max(part.clamped_mass) > 1e-6
    # about another point and along other axes too, of which the share of the clamped nodes is another
    other = part.about((0.4, -0.3, 0.2), rotation_matrix(from_axis_angle((1.0, -2.0, 0.5), 0.8)))
    assert np.max(np.abs(other.residual_mass - other.clamped_mass)) < 1e-12 * np.max(other.rigid_mass)


def test_a_clamp_to_the_ground_is_a_root_like_a_body():
    grounded = modes(of_parts(slender_boom(root="ground")), 6)
    held = modes(of_parts(hub(), slender_boom()), 6, held="hub")
    np.testing.assert_allclose(grounded.frequencies, held.frequencies, rtol=1e-10)


def test_participation_about_another_point_and_along_other_axes():
    there = RigidBody("hub", mass=5.0, inertia=(1.0, 1.0, 1.0), position=(0.3, -0.2, 0.5), euler_angles=(0.4, 0.2, 1.0))
    part = modes(of_parts(there, slender_boom()), 4, held="hub").appendages[0]
    straight = modes(of_parts(hub(), slender_boom()), 4, held="hub").appendages[0]
    turned = part.about((0.0, 0.0, 0.0), np.eye(3))
    # of the straight one, about the point that the origin is of the turned one
    point = part.axes.T @ (np.zeros(3) - part.point)
    same = straight.about(point, part.axes.T)
    # rounding of a stiffness that spans nine powers of ten shows in the shapes
    np.testing.assert_allclose(np.abs(turned.coupling), np.abs(same.coupling), atol=1e-7)
    np.testing.assert_allclose(turned.rigid_mass, same.rigid_mass, atol=1e-12)


@pytest.mark.parametrize("start", ["as_given", "assembled"])
def test_masses_of_elements_add_up_to_the_mass_of_the_system(start):
    model = winged_satellite()
    model.add(PointMass("tip", mass=0.7, on=Attachment(beam="left yoke", node=3)))
    system = System(model, assemble=start == "assembled")
    total = np.zeros((system.n_v, system.n_v))
    for batch in system.batches:
        for places, masses in Alone(system, batch).element_masses(system.q0):
            for index, mass in zip(places, masses, strict=True):
                moving = index >= 0
                total[np.ix_(index[moving], index[moving])] += mass[np.ix_(moving, moving)]
    np.testing.assert_allclose(total, system.mass_matrix(system.q0).toarray(), rtol=0.0, atol=1e-12)


# The reference satellite


def test_reference_satellite_with_its_hub_held():
    part = modes(winged_satellite(), 8, held="hub").appendages[1]
    assert part.name == "right yoke"
    np.testing.assert_allclose(part.point, (0.0, 0.6, 0.0), atol=1e-12)
    table = [
        (0.264857, 0, 0, 4.09416, 16.78589, 0, 0),
        (1.515494, 4.36485, 0, 0, 0, 0, 17.34857),
        (1.737461, 0, 0, 2.09040, 3.04058, 0, 0),
        (4.693016, 0, 0, 0.83927, 0.95913, 0, 0),
        (7.161704, 0, 0, 0, 0, 2.82864, 0),
        (26.520178, 0, 0, 1.54805, 1.48699, 0, 0),
        (35.168909, 2.28706, 0, 0, 0, 0, 1.08330),
        (104.943264, 0, 4.92956, 0, 0, 0, 0),
    ]
    np.testing.assert_allclose(part.frequencies, [row[0] for row in table], rtol=2e-6)
    np.testing.assert_allclose(np.abs(part.coupling), [row[1:] for row in table], atol=6e-6)
    np.testing.assert_allclose(np.diag(part.rigid_mass), (24.45, 24.45, 24.45, 294.1509, 8.0018, 302.1509), rtol=1e-6)
    assert part.rigid_mass[2, 3] == pytest.approx(78.225, rel=1e-9)
    after = 100.0 * np.cumsum(part.fractions, axis=0)
    np.testing.assert_allclose(after[[3, 5]][:, [2, 3]], [(89.31, 99.25), (99.11, 100.0)], atol=5e-3)


def test_reference_satellite_free():
    found = modes(winged_satellite(), 10)
    assert (found.rigid, found.joint) == (6, 0)
    np.testing.assert_allclose(found.frequencies, FREE, rtol=2e-6)
    damped = modes(winged_satellite(), 10, damped=True)
    np.testing.assert_allclose(damped.frequencies, found.frequencies, rtol=1e-8)


def test_modes_are_the_eigenvalues_of_the_linearised_model():
    model = winged_satellite()
    poles = np.linalg.eigvals(linearize(model).A)
    frequencies = np.sort(poles.imag[poles.imag > 1e-2]) / (2.0 * np.pi)
    # the eigenvalues of a state matrix with entries from 1 to 1e13 are rounded to some 1e-6 of the lowest
    np.testing.assert_allclose(modes(model, 10).frequencies, frequencies[:10], rtol=2e-6)


def test_a_free_hinge_is_a_motion_of_its_own():
    found = modes(winged_satellite(free_hinge=True), 4)
    assert (found.rigid, found.joint) == (6, 1)
    assert found.frequencies[0] > 0.1


# A hub with two opposite booms


@pytest.mark.parametrize(
    ("ratio", "radius", "wanted"),
    [
        (0.1, 0.0, (10.0340351, 25.0111934, 62.7099469)),
        (1.0, 0.0, (4.8995766, 22.3105120, 61.7948729)),
        (0.1, 0.25, (9.0858262, 29.5697985, 68.1835641)),
        (1.0, 0.25, (5.5271931, 23.2749269, 62.5284092)),
    ],
)
def test_antisymmetric_modes_of_a_hub_with_two_opposite_booms(ratio, radius, wanted):
    inertia = ratio * 2.0 / 3.0
    model = of_parts(RigidBody("hub", mass=2.0, inertia=(inertia, inertia, inertia)))
    section = slender(bending_stiffness=[1.0, 1e4], torsional_stiffness=1e4, axial_stiffness=1e8)
    for name, side in (("left", -1.0), ("right", 1.0)):
        start = Attachment("hub", at=(side * radius, 0.0, 0.0), direction=(side, 0.0, 0.0))
        model.add(Beam(name, section, length=1.0, elements=24, start=start))
    found = modes(model, 8)
    omega = 2.0 * np.pi * found.frequencies
    for value in wanted:
        assert np.min(np.abs(omega - value)) < 1e-5 * value


def test_dynamic_mass_of_a_cantilever_is_the_closed_form():
    part = modes(of_parts(hub(), slender_boom(elements=20)), 141, held="hub").appendages[0]
    for b in (0.5, 1.2, 2.5):
        n = b**3 * (1.0 + np.cos(b) * np.cosh(b))
        tt = b**2 * (np.cos(b) * np.sinh(b) + np.sin(b) * np.cosh(b)) / n
        rr = (np.sin(b) * np.cosh(b) - np.cos(b) * np.sinh(b)) / n
        found = replace_damping(part).dynamic_mass(1j * b**2)
        assert found[2, 2].real == pytest.approx(tt, rel=1e-5)
        assert found[4, 4].real == pytest.approx(rr, rel=1e-5)
    np.testing.assert_allclose(part.dynamic_mass(0.0), part.rigid_mass, atol=1e-15)


def replace_damping(part):
    from dataclasses import replace

    return replace(part, damping=np.zeros_like(part.damping))


# Rotation


@pytest.mark.parametrize(("eta", "flap"), [(0.0, (3.51602, 22.03449)), (3.0, (4.79728, 23.32026))])
def test_a_spinning_cantilever(eta, flap):
    """Frequencies of flap by series; in the plane of rotation less by the rotation: sqrt(flap^2 - eta^2)."""
    section = slender(bending_stiffness=[1.0, 1.0], axial_stiffness=1e7)
    model = of_parts(RigidBody("hub", mass=100.0, inertia=(50.0, 50.0, 90.0), angular_velocity=(0.0, 0.0, eta)))
    for name, side in (("left", -1.0), ("right", 1.0)):
        start = Attachment("hub", direction=(side, 0.0, 0.0))
        model.add(Beam(name, section, length=1.0, elements=16, start=start))
    found = modes(model, 8, held="hub", start="equilibrium")
    assert found.state == ("spinning" if eta else "loaded")
    wanted = np.repeat(np.sort([*flap, *np.sqrt(np.square(flap) - eta**2)]), 2)
    np.testing.assert_allclose(2.0 * np.pi * found.frequencies, wanted, rtol=1e-4)
    assert np.max(np.abs(found.damping)) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("turned", ["by a driver", "freely"])
@pytest.mark.parametrize("given", [False, True])
def test_a_blade_in_a_bearing(turned, given):
    """Flap at a rotation of 12 sqrt(EI/(m l^4)): A. D. Wright et al., J. Appl. Mech. 49 (1982) 197-202; also of the
    linear model. At rest it is a cantilever, also where start velocities are given beside the driver."""
    velocity = {"angular_velocity": (0.0, 0.0, 12.0)} if given or turned == "freely" else {}
    model = of_parts(RigidBody("hub", mass=1.0, inertia=1.0, **velocity))
    model.add(Revolute("bearing", JointEnd("ground", axis=(0, 0, 1)), JointEnd("hub", axis=(0, 0, 1))))
    if turned == "by a driver":
        model.add(JointDriver("motor", "bearing", motion=Polynomial((0.0, 12.0))))
    section = slender(bending_stiffness=[1.0, 100.0], axial_stiffness=1e7)
    model.add(ExactBeam("blade", section, length=1.0, elements=12, start=Attachment("hub", direction=(1.0, 0.0, 0.0))))
    flap = 2.0 * np.pi * modes(model, 6, start="equilibrium").frequencies
    for wanted in (13.1702, 37.6031, 79.6145):
        assert np.min(np.abs(flap - wanted)) < 1e-3 * wanted
    poles = np.linalg.eigvals(linearize(model, start="equilibrium").A)
    for frequency in flap:
        assert np.min(np.abs(poles - 1j * frequency)) < 1e-6 * frequency
    assert 2.0 * np.pi * modes(model, 1).frequencies[0] == pytest.approx(3.51602, rel=1e-4)


@pytest.mark.parametrize(("across", "steady"), [(1.0, True), (4.0, False)])
def test_a_rotor_in_sprung_bearings(across, steady):
    """Springs that are alike in all directions turn with the rotor, as it were; unlike ones make it periodic."""
    model = of_parts(RigidBody("rotor", mass=2.0, inertia=(0.02, 0.1, 0.1), angular_velocity=(30.0, 0.0, 0.0)))
    for end in (-0.5, 0.5):
        for side in (-1.0, 1.0):
            for direction, stiffness in (((0, side, 0), 1e4), ((0, 0, side), across * 1e4)):
                at = (end, 0.0, 0.0)
                anchor = SpringEnd(anchor=np.add(at, direction))
                name = f"{end} {direction}".replace(".", "_")
                model.add(SpringDamper(name, SpringEnd("rotor", at=at), anchor, stiffness=stiffness, free_length=1.0))
    stop = SpringEnd(anchor=(1.5, 0.0, 0.0))
    model.add(SpringDamper("along", SpringEnd("rotor", at=(0.5, 0.0, 0.0)), stop, stiffness=5e3, free_length=1.0))
    whirl = np.sqrt(4.0 * 1e4 / 2.0)
    if steady:
        found = 2.0 * np.pi * modes(model, 5, start="equilibrium").frequencies
        for wanted in (whirl - 30.0, whirl + 30.0):
            assert np.min(np.abs(found - wanted)) < 1e-6 * whirl
        assert linearize(model, start="equilibrium").unsteady == ""
    else:
        refuses(r"not steady: springs\..* do not turn with the structure of", modes, model, 6, start="equilibrium")
        assert "do not turn" in linearize(model, start="equilibrium").unsteady


@pytest.mark.slow
def test_equal_bendings_at_the_end_of_a_sweep_are_followed_together():
    """The last of the modes that are asked for is one of two equal ones at rest."""

    def rotor(rate):
        section = slender(bending_stiffness=[1.0, 1.0], axial_stiffness=1e7)
        start = Attachment("hub", direction=(0.0, 0.0, 1.0))
        hub = RigidBody("hub", mass=100.0, inertia=(90.0, 90.0, 90.0), angular_velocity=(0.0, 0.0, rate))
        return of_parts(hub, Beam("shaft", section, length=1.0, elements=6, start=start))

    found = mode_sweep(rotor, [0.0, 0.5, 1.0], 1, held="hub", start="equilibrium")
    np.testing.assert_allclose(2.0 * np.pi * found.frequencies[:, 0], [3.516, 3.016, 2.516], rtol=1e-2)
    assert found.unit == "rad/s", "the values are the rates of rotation"


# Loads


def test_a_compressed_column_has_no_frequency_at_its_buckling_load():
    critical = np.pi**2 / 4.0
    squares = []
    for share in (0.9, 0.99):
        model = of_parts(slender_boom(root="ground", bending_stiffness=[1.0, 400.0]))
        model.add(Load("tip", beam="boom", node=-1, force=(-share * critical, 0.0, 0.0)))
        squares.append((2.0 * np.pi * modes(model, 1, start="equilibrium").frequencies[0]) ** 2)
    line = lambda share: squares[0] + (squares[1] - squares[0]) * (share - 0.9) / 0.09  # noqa: E731
    assert brentq(line, 0.9, 1.1) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.filterwarnings("ignore:modes. the state is not in equilibrium")
def test_a_system_is_taken_where_it_is_also_under_weight():
    model = of_parts(slender_boom(root="ground", bending_stiffness=[1.0, 400.0]))
    model.gravity = np.array([0.0, 0.0, -9.81])
    bent = static(model).start(-1)
    found = solution(bent, 1)
    tip = found.motion.system.layout.beams["boom"].stations[-1].frame
    assert found.motion.q[found.motion.system.layout.frame_q[tip] + 2] < -0.3


# What is refused


@pytest.mark.parametrize("count", [0, 1000, True, 2.5])
def test_more_modes_than_there_are_or_none(count):
    with pytest.raises(ModelError, match=r"count: got .*, wanted a whole number from 1 to 57, the elastic modes"):
        modes(of_parts(hub(), slender_boom()), count)


def test_an_unknown_body():
    refuses("held: got 'bus', wanted one of hub", modes, of_parts(hub(), slender_boom()), 3, held="bus")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"start": "sideways"}, "start: got 'sideways', must be one of 'as_given', 'assembled', 'equilibrium'"),
        ({"damping": 2.0}, "damping: got 2.0, wanted a ratio from 0 to below 1"),
        ({"damping": -0.1}, "damping: got -0.1, wanted a ratio"),
    ],
)
def test_an_unknown_start_and_ratios_that_are_none(words, message):
    model = of_parts(hub(), slender_boom())
    refuses(message, modes, model, 1, held="hub", **words)
    refuses(message, hybrid_coordinates, model, 1, held="hub", **words)


def test_an_unstable_state_is_named():
    model = of_parts(slender_boom(root="ground"))
    model.add(Load("tip", beam="boom", node=-1, force=(-3.0, 0.0, 0.0)))
    with (
        pytest.warns(FembWarning, match="the start is an unstable equilibrium: 1 motion has a negative stiffness"),
        pytest.raises(ModelError, match="unstable: 1 of its motions have a negative stiffness"),
    ):
        modes(model, 2, start="equilibrium")


def test_no_shift_is_below_the_eigenvalues_of_a_negative_mass():
    """Its search ends, and says why."""
    motion = EigenProblem.of(System(of_parts(slender_boom(30, root="ground"))), False)
    with pytest.raises(SolveError, match=r"eigenvalues are below -.* mass matrix is not positive definite"):
        lowest(replace(motion, mass=-motion.mass, stiffness=-motion.stiffness), free_motions(motion), 2)


def becks_column(load, elements=12):
    """A cantilever of EI = 140 and 280 N m2, 2.7 kg/m and 2 m under a force at its tip that follows it, in EI/L2."""
    section = femb.Section("s", area=1e-3, second_moments=(2e-9, 4e-9), torsion_constant=5e-9, density=2700.0,
                           youngs_modulus=7e10, shear_modulus=2.7e10)  # fmt: skip
    beam = Beam("b", section, 2.0, elements=elements, start=femb.Ground().at(direction=(1, 0, 0)))
    return of_parts(beam, Load("p", beam="b", force=(-load * 140.0 / 4.0, 0.0, 0.0), frame="body"))


@pytest.mark.parametrize("load", [5.0, 19.9])
def test_becks_column(load):
    """Beck 1952: P^2 + 2 w^2 (1 + cos a cosh b) + P w sin a sinh b = 0; stable to P = 20.05, and so without a word of
    its start, though the symmetric part of its stiffness is not positive above pi^2. It has no real modes."""

    def determinant(w):
        root = np.sqrt(0.25 * load**2 + w**2)
        a, b = np.sqrt(root + 0.5 * load), np.sqrt(root - 0.5 * load)
        return load**2 + 2.0 * w**2 * (1.0 + np.cos(a) * np.cosh(b)) + load * w * np.sin(a) * np.sinh(b)

    wanted = [brentq(determinant, low, high) for low, high in ((1.0, 11.0), (11.0, 23.0))]
    found = modes(becks_column(load), 4, start="equilibrium", damped=True)
    of_z = found.frequencies[np.argsort(found.frequencies)] * 2.0 * np.pi / np.sqrt(140.0 / (2.7 * 2.0**4))
    for each in wanted:
        assert np.min(np.abs(of_z / each - 1.0)) < 2e-3
    refuses("not symmetric, so that it has no real modes", modes, becks_column(load), 2, start="equilibrium")
    refuses(
        "not symmetric, so that there are no real modes", femb.modal_model, becks_column(1.0), 2, start="equilibrium"
    )


def test_a_small_load_that_follows_leaves_real_modes():
    """As much as these may be off by what is not symmetric, of the damped ones."""
    real, damped = (modes(becks_column(0.01), 4, start="equilibrium", damped=each) for each in (False, True))
    np.testing.assert_allclose(np.sort(real.frequencies), np.sort(damped.frequencies), rtol=5e-6)


@pytest.mark.parametrize("inertia", [1.0, 0.3, 1e-3])
def test_an_inverted_pendulum(inertia):
    """Refused in words; as damped modes it falls at sqrt(m g l/(I + m l^2)), one motion and its reverse."""
    model = of_parts(RigidBody("rod", mass=1.0, inertia=inertia, position=(0.0, 0.0, 1.0)))
    model.gravity = np.array([0.0, 0.0, -9.81])
    model.add(Revolute("hinge", JointEnd("ground", axis=(0, 1, 0)), JointEnd("rod", at=(0.0, 0.0, -1.0))))
    with (
        pytest.warns(FembWarning, match="the start is an unstable equilibrium"),
        pytest.raises(ModelError, match="the state is unstable: 1 of its motions have a negative stiffness"),
    ):
        modes(model, 1, start="equilibrium")
    with pytest.warns(FembWarning, match="the start is an unstable equilibrium"):
        found = modes(model, 1, start="equilibrium", damped=True)
    np.testing.assert_allclose(found.eigenvalues, [np.sqrt(9.81 / (1.0 + inertia))], rtol=1e-9)
    assert "unstable: motions that leave this state" in found.table()
    assert found.table().startswith("0 damped modes")


def test_a_divergence_is_no_undamped_mode():
    """A body that turns about its middle axis: rates w sqrt((B - C)(C - A)/A B), one grows and its reverse falls, and
    the first alone is that which grows."""
    body = RigidBody("body", mass=1.0, inertia=(1.0, 3.0, 2.0), angular_velocity=(0.0, 0.0, 2.0))
    rate = 2.0 * np.sqrt(1.0 / 3.0)
    found = modes(of_parts(body), 2, start="equilibrium")
    np.testing.assert_allclose(found.eigenvalues, [rate, -rate], rtol=1e-9)
    assert modes(of_parts(body), 1, start="equilibrium").eigenvalues.real == pytest.approx(rate, rel=1e-9)
    np.testing.assert_array_equal(found.frequencies, 0.0)
    lines = found.table().splitlines()
    assert lines[0] == "0 undamped modes of the spinning structure"
    assert [line.split() for line in lines[-2:]] == [["1", "1.1547", "bodies.body"], ["2", "-1.1547", "bodies.body"]]
    assert "unstable: motions" in found._repr_html_()
    assert str(found) == found.table()


def test_what_a_structure_turns_about():
    """Its mass centre; the table says how far a held hub is from there."""
    model = of_parts(RigidBody("hub", mass=3.0, inertia=1.0, angular_velocity=(0.0, 0.0, 0.5)))
    model.add(RigidBody("stone", mass=1.0, inertia=0.5, position=(2.0, 0.0, 0.0)))
    model.add(Beam("boom", slender(mass_per_length=1e-9), length=2.0, elements=2,
                   start=Attachment("hub", direction=(1.0, 0.0, 0.0))))  # fmt: skip
    model.add(Fixed("weld", JointEnd("stone"), model.beams["boom"].node(-1)))
    found = modes(model, 2, held="hub", start="equilibrium")
    (rotation,) = found.rotations
    np.testing.assert_allclose(rotation.omega, [0.0, 0.0, 0.5], atol=1e-12)
    assert rotation.distance == pytest.approx(0.5, abs=1e-3)
    np.testing.assert_allclose(rotation.point[1:], 0.0, atol=1e-9)
    assert "through its mass centre and (0.5, 0, 0) m; the held hub is 0.5 m beside it" in found.table()


def test_a_body_connected_with_nothing():
    """Free, it has its own rigid motions; with a held hub it is named."""
    stone = RigidBody("stone", mass=1.0, inertia=1.0, position=(3.0, 0.0, 0.0))
    model = of_parts(hub(), slender_boom(elements=2), stone)
    assert modes(model, 1).rigid == 12
    refuses("'stone' can move without stiffness beside the held frame, in 6 ways", modes, model, 1, held="hub")


def test_frequencies_begin_with_what_oscillates():
    """An inverted pendulum carries a spring pendulum: its divergence has a rate, no frequency, and comes last."""
    model = of_parts(RigidBody("rod", mass=1.0, inertia=0.1, position=(0.0, 0.0, 1.0)))
    model.gravity = np.array([0.0, 0.0, -9.81])
    model.add(Revolute("hinge", JointEnd("ground", axis=(0, 1, 0)), JointEnd("rod", at=(0.0, 0.0, -1.0))))
    model.add(RigidBody("side", mass=2.0, inertia=0.5))
    model.add(Revolute("other", JointEnd("ground", axis=(0, 1, 0)), JointEnd("side", axis=(0, 1, 0))))
    model.add(JointSpringDamper("spring", "other", stiffness=2000.0))
    with pytest.warns(FembWarning, match="the start is an unstable equilibrium"):
        found = modes(model, 3, start="equilibrium", damped=True)
    growth, spring = np.sqrt(9.81 / 1.1), np.sqrt(2000.0 / 0.5)
    np.testing.assert_allclose(found.eigenvalues, [-growth, 1j * spring, growth], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.frequencies, np.array([growth, spring, 0.0]) / (2.0 * np.pi), rtol=1e-9)
    np.testing.assert_array_equal(found.motion.frequencies, found.frequencies)


@pytest.mark.parametrize("second", [False, True])
def test_a_spring_on_a_hinge_holds_whichever_end_is_the_ground(second):
    """A torsion pendulum vibrates at sqrt(k/I), with the ground as the first end of its hinge and as the second."""
    model = of_parts(RigidBody("bob", mass=1.0, inertia=(0.1, 0.2, 0.3)))
    ends = [JointEnd("ground", axis=(0, 0, 1)), JointEnd("bob", axis=(0, 0, 1))]
    model.add(Revolute("hinge", *(ends[::-1] if second else ends)))
    model.add(JointSpringDamper("spring", "hinge", stiffness=5.0))
    found = modes(model, 1)
    assert (found.rigid, found.joint) == (0, 0)
    np.testing.assert_allclose(found.frequencies, np.sqrt(5.0 / 0.3) / (2.0 * np.pi), rtol=1e-12)


def test_a_motion_that_rounding_hides_is_not_called_unstable():
    """Hinges of 1e9 N m/rad beside one of 1e-6: no digit of its frequency is known, as the precision says."""
    model, before = femb.Model("chain"), "ground"
    for k, stiffness in enumerate((1e9, 1e-6, 1e9)):
        model.add(femb.RigidBody(f"b{k}", mass=1.0, inertia=0.1, position=(k + 1.0, 0.0, 0.0)))
        ends = (
            femb.JointEnd(before, at=(0.5, 0, 0), axis=(0, 1, 0)),
            femb.JointEnd(f"b{k}", at=(-0.5, 0, 0), axis=(0, 1, 0)),
        )
        model.add(femb.Revolute(f"h{k}", *ends))
        model.add(femb.JointSpringDamper(f"s{k}", f"h{k}", stiffness=stiffness))
        before = f"b{k}"
    found = femb.modes(model, 1)
    assert found.precision[0] > 0.1
    assert "unstable" not in found.table()


LINE = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)


def points(count, free, direction, place=(0.0, 0.0, 0.0), off=0.0):
    """Masses of 1 kg on a line, with springs of 8 N/m; off : m, of the second from the line."""
    aside = off * np.cross(direction, (0.3, -0.5, 0.2))
    masses = [
        PointMass(f"b{k}", 1.0, position=np.array(place) + k * np.array(direction) + (k == 1) * aside)
        for k in range(count)
    ]
    springs = [
        SpringDamper(f"s{k}", SpringEnd(f"b{k}"), SpringEnd(f"b{k + 1}"), stiffness=8.0, free_length=free)
        for k in range(count - 1)
    ]
    return of_parts(*masses, *springs)


@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), LINE])
@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (100.0, 20.0, -30.0)])
@pytest.mark.parametrize("count", [2, 3, 6])
def test_points_on_a_line_have_five_rigid_motions(count, place, direction):
    """The turn about the line moves nothing; relaxed springs leave the n - 2 inner points free across it."""
    found = modes(points(count, 1.0, direction, place), 1)
    assert (found.rigid, found.joint) == (5, 2 * (count - 2))
    np.testing.assert_allclose(
        2.0 * np.pi * found.frequencies[0], np.sqrt(32.0) * np.sin(np.pi / (2 * count)), rtol=1e-9
    )


@pytest.mark.filterwarnings("ignore:modes. the state is not in equilibrium")
def test_strained_springs_leave_points_on_a_line_five_motions():
    found = modes(points(3, 0.9, LINE), 1)
    assert (found.rigid, found.joint) == (5, 0)


def test_points_beside_a_line_have_six_rigid_motions():
    found = modes(points(4, None, LINE, off=1e-3), 1)
    assert found.rigid == 6
