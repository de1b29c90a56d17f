"""Linearisation: exact against complex steps of an independent form, known eigenvalues, modes, transfer functions."""

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from checkout import CASES
from models import of_parts, refusals, refuses
from oracles.reduced_examples import EXAMPLES, ROTOR_RATE, TURBINE_RATE, Example, about
from scipy.optimize import brentq
from shared_runs import invoked, said

import femb
from femb.layout.state import State
from femb.linear import StateSpace, linearize, multiblade, operating_point, trim
from femb.linear.chart import frames_chart
from femb.linear.linearise import plant_of, state_space
from femb.linear.periodic import labels, transformation
from femb.linear.second_order import chart_of, closed_chart, second_order
from femb.linear.trim import Balance, why_unsteady
from femb.numerics import rotations
from femb.small_motions.point import OperatingPoint
from femb.statics.equilibrium import steady_start
from femb.system.system import System

SPACE_FREE = {"aircraft": 4, "pendulum": 0, "satellite": 12, "connected": 12, "rotorcraft": 2, "wind_turbine": 2}
# eigenvalues with an imaginary part of at least zero, rounded to six digits after the point
PRINTED = {
    "aircraft": [-0.008941, -0.016277 + 0.213788j, -0.486006 + 2.334844j, -2.041223 + 2.963513j, -8.433046],
    "pendulum": [-0.07812500 + 4.501405j],
    "satellite": [
        *(-0.007431 + 1.981459j, -0.009881 + 2.280273j, -0.012122 + 2.683364j),
        *(-0.014422 + 2.797557j, -0.016476 + 3.119985j, -0.018961 + 3.174346j),
    ],
    "connected": [-0.490918 + 6.352304j, -0.610709 + 6.740192j, -8.413051 + 28.095172j],
    "wind_turbine": [
        *(-0.013185 + 1.949554j, -0.016201 + 1.978516j, -0.050113 + 2.937168j),
        *(-0.047137 + 4.816557j, -0.062762 + 5.537139j, -1.59988 + 14.331284j),
    ],
}
GROUPS = {
    "rotorcraft": (ROTOR_RATE, {w: [f"joints.j{k}.{w}_angle" for k in range(2, 6)] for w in ("first", "second")}),
    "wind_turbine": (TURBINE_RATE, {"flap": [f"joints.j{k}.angle" for k in (3, 4, 5)]}),
}
every_example = pytest.mark.parametrize("name", EXAMPLES)


def moving(values):
    """Eigenvalues that are not zero, those of pairs once, by size."""
    found = values[(np.abs(values) > 1e-3) & (values.imag > -1e-9)]
    return found[np.argsort(np.abs(found))]


def in_rotor(name, space):
    """In multi-blade coordinates where there is a rotor."""
    return multiblade(space, GROUPS[name][1], GROUPS[name][0]) if name in GROUPS else space


# The six examples


@every_example
def test_eigenvalues_of_the_examples(name):
    """Zeros counted; against complex steps of the reduced equations written independently, and the printed values."""
    space = in_rotor(name, linearize(EXAMPLES[name].model()))
    found = space.eigenvalues()
    assert np.sum(np.abs(found) < 1e-3) == SPACE_FREE[name]
    A = EXAMPLES[name].matrix(EXAMPLES[name].start())
    n = len(A) // 2
    wanted = StateSpace(A, *_no_inputs(2 * n), oracle_names(EXAMPLES[name]), (), ())
    wanted = moving(in_rotor(name, wanted).eigenvalues())
    assert len(moving(found)) == len(wanted)
    for value in moving(found):
        assert np.min(np.abs(wanted - value)) < 1e-9 * np.abs(value)
    for value in PRINTED.get(name, [-0.121435 + 0.969989j, -0.202903 + 65.252282j]):
        assert np.min(np.abs(found - value)) < 8e-7
    assert len(moving(found)) == len(PRINTED.get(name, range(14)))


def test_pendulum_in_closed_form():
    b, k, m, g, length, inertia = 0.05, 0.6, 1.5, 9.81, 0.4, 0.08
    I = inertia + m * length**2  # noqa: E741
    wanted = np.roots([I, b, k + m * g * length])
    found = linearize(EXAMPLES["pendulum"].model()).eigenvalues()
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(wanted), rtol=1e-14)


def _no_inputs(n):
    return np.zeros((n, 0)), np.zeros((0, n)), np.zeros((0, 0))


def oracle_names(example: Example):
    """States of the independent form, the blades' angles by the names that the state space has for them."""
    names = [f"root.{k}" for k in range(6)] if example.free else []
    for k, body in enumerate(example.bodies):
        words = ("angle",) if len(body.axes) == 1 else ("first_angle", "second_angle")
        names += [f"joints.j{k}.{word}" for word in words[: len(body.axes)]]
    return (*names, *(f"{name} rate" for name in names))


@pytest.mark.slow
@every_example
def test_whole_bracket_at_a_moving_point(name):
    """(22) away from any equilibrium, where the accelerations are not zero: the rows of u' against complex steps."""
    example = EXAMPLES[name]
    model = example.model()
    rng = np.random.default_rng(7)
    n = len(example.start()) // 2
    q, u = rng.uniform(-0.5, 0.5, n), rng.standard_normal(n)
    u += example.start()[n:]
    # the same state of the System, from the independent recursion
    system = System(model)
    Q, V = system.q0.copy(), system.v0.copy()
    for k, (R, r, w, _, v, _) in enumerate(example.motion(q, u)):
        frame = system.layout.bodies[f"b{k}"]
        i, j = system.layout.frame_q[frame], system.layout.frame_v[frame]
        Q[i : i + 3], Q[i + 3 : i + 7] = r, rotations.from_matrix(R)
        V[j : j + 3], V[j + 3 : j + 6] = v, R.T @ w
    space = linearize(OperatingPoint.of(system, Q, V))
    x = np.concatenate([q, u])
    assert np.max(np.abs(example.rate(x)[n:])) > 0.1
    wanted = example.matrix(x)
    # turns of the root are changes of its angles through omega = B d(angles)/dt, displacements along its axes
    T = np.eye(2 * n)
    if example.free:
        y, z = about(np.eye(3)[1], q[4]), about(np.eye(3)[2], q[5])
        B = np.column_stack([z.T @ y.T @ np.eye(3)[0], z.T @ np.eye(3)[1], np.eye(3)[2]])
        R = about(np.eye(3)[0], q[3]) @ y @ z
        T[:3, :3], T[3:6, 3:6] = R, np.linalg.inv(B)
    names = [name.replace("bodies.b0", "root") for name in space.states]
    # the tree may list its joints in another order
    own = [each for each in oracle_names(example) if not each.startswith("root")]
    places = [*range(6 if example.free else 0)]
    places += [names.index(each) for each in own[: len(own) // 2]]
    places = np.array([*places, *(n + p for p in places)])
    found = space.A[np.ix_(places, places)]
    np.testing.assert_allclose(found[n:], (wanted @ T)[n:], rtol=0.0, atol=2e-12 * np.abs(wanted[n:]).max())
    # p' = E p + w: joints' angles plainly, turns and displacements in axes that turn with the root
    free = 6 if example.free else 0
    plain = np.hstack([np.zeros((n - free, n)), np.eye(n)[free:]])
    np.testing.assert_allclose(found[free:n], plain, atol=1e-15)
    if example.free:
        omega = rotations.cross_matrix(u[3:6])
        np.testing.assert_allclose(found[3:6, 3:6], -omega, atol=1e-14)
        np.testing.assert_allclose(found[:3, :6], np.hstack([-omega, -rotations.cross_matrix(u[:3])]), atol=1e-13)


# Flexible models


def cantilever(elements=4):
    section = femb.Section("s", 1e-3, (2e-8, 1e-8), 1e-8, 1e3, 1e9, 4e8)
    model = femb.Model("cantilever")
    model.add(femb.Ground("wall"))
    start = femb.Attachment(body="wall", direction=(1, 0, 0))
    model.add(femb.Beam("bar", section=section, length=1.0, elements=elements, start=start))
    model.add(femb.Load("tip", beam="bar", node=-1, force=(0, 1, 0)))
    return model


def test_cantilever():
    """Frequencies are those of its modes, the eigenvalues of (K, M); the first close to the classical ones."""
    from scipy.linalg import eigh

    system = System(cantilever())
    space = linearize(system.starting_at(system.q0, system.v0))
    u = np.zeros(system.n_u)
    K = system.pattern.to_csc(system.tangent(u, system.q0, system.v0, 0.0 * system.v0)[1]).toarray()
    modes = np.sqrt(eigh(K, system.mass_matrix(system.q0).toarray(), eigvals_only=True))
    # the load is a unit at the start: as an input only, it does not bend the bar
    still = femb.Model("still")
    for item in cantilever().items():
        if not isinstance(item, femb.Load):
            still.add(item)
    found = linearize(still).eigenvalues()
    assert np.max(np.abs(found.real)) < 1e-9 * np.max(np.abs(found))
    np.testing.assert_allclose(np.sort(found.imag[found.imag > 0]), modes, rtol=1e-9)
    for root, stiffness in ((1.875104, 10.0), (1.875104, 20.0), (4.694091, 10.0)):
        assert np.min(np.abs(modes / (root**2 * np.sqrt(stiffness)) - 1.0)) < 2e-3
    assert space.inputs == ("loads.tip.force.factor",)


def test_transfer_of_a_force_is_its_deflection():
    """At zero frequency: F L^3 / (3 EI) at the tip, of the force the load is multiplied with."""
    model = cantilever()
    space = linearize(_at_rest(model), outputs=("beams.bar.-1.position", "beams.bar.-1.turn"))
    deflection = space.transfer(0.0).real[:, 0]
    # (EI about z is 10 N m2)
    np.testing.assert_allclose(deflection[1], 1.0 / 30.0, rtol=1e-9)
    np.testing.assert_allclose(deflection[5], 1.0 / 20.0, rtol=1e-9)
    np.testing.assert_allclose(deflection[[0, 2, 3, 4]], 0.0, atol=1e-12)


def _at_rest(model):
    """The model with loads that begin later, so that its start is at rest and straight."""
    other = femb.Model(model.title, gravity=model.gravity)
    for item in model.items():
        if isinstance(item, femb.Load):
            item = femb.Load(item.name, beam=item.beam, node=item.node, force=item.force, profile=lambda t: 0.0)
        other.add(item)
    return other


@pytest.mark.parametrize(("rate", "flap"), [(0.0, 3.5160), (2.0, 4.1373), (4.0, 5.5850)])
def test_spinning_boom(rate, flap):
    """Radial beams of a heavy hub that spins: constant in its axes, and stiffened as in Wright et al. 1982, Table 1.

    rate and flap, of the first motion out of the plane, in units of (EI/m L^4)^1/2; in the plane it is softer by the
    square of the rate.
    """
    unit = np.sqrt(7e10 * 1e-10 / (2700.0 * 1e-4))
    section = femb.Section("s", 1e-4, (1e-10, 1e-10), 2e-10, 2700.0, 7e10, 2.6e10)
    model = femb.Model("spinner")
    hub = model.add(femb.RigidBody("hub", mass=1e6, inertia=1e6, angular_velocity=(0, 0, rate * unit)))
    for name, x in (("a", 1.0), ("b", -1.0)):
        model.add(
            femb.Beam(name, section=section, length=1.0, elements=6, start=hub.at((0, 0, 0), direction=(x, 0, 0)))
        )
    system = System(model)
    values = linearize(system.starting_at(*steady_start(system))).eigenvalues() / unit
    assert np.max(values.real) < 1e-6 * np.max(np.abs(values))
    for wanted in (flap, np.sqrt(flap**2 - rate**2)):
        assert np.min(np.abs(values.imag - wanted)) < 1e-4 * wanted


def test_hinged_booms_that_spin_are_constant_in_their_axes():
    """Beams on sprung hinges of a spinning hub: the same state space at every azimuth."""
    section = femb.Section("s", 1e-4, (1e-9, 1e-9), 2e-9, 2700.0, 7e9, 2.6e9)
    found = []
    for psi in (0.0, 0.9):
        model = femb.Model("spinner")
        model.add(femb.RigidBody("hub", mass=5.0, inertia=2.0, euler_angles=(0, 0, psi), angular_velocity=(0, 0, 3.0)))
        for name, x in (("a", 1.0), ("b", -1.0)):
            turned = rotations.from_axis_angle((0.0, 0.0, 1.0), psi)
            start = rotations.rotate(turned, np.array([0.2 * x, 0.0, 0.0]))
            along, up = (rotations.rotate(turned, x * axis) for axis in np.eye(3)[:2])
            place = femb.Attachment(at=start, direction=along, up=up)
            model.add(femb.Beam(name, section=section, length=1.0, elements=1, start=place))
            end = femb.JointEnd(beam=name, node=0, axis=(0, 1, 0))
            model.add(femb.Revolute(f"hinge {name}", femb.JointEnd("hub", at=(0.2 * x, 0, 0), axis=(0, x, 0)), end))
            model.add(femb.JointSpringDamper(f"spring {name}", joint=f"hinge {name}", stiffness=20.0))
        found.append(linearize(model))
    assert found[0].states == found[1].states
    assert "joints.hinge a.angle" in found[0].states
    scale = np.abs(found[0].A).max()
    np.testing.assert_allclose(found[1].A, found[0].A, rtol=0.0, atol=1e-12 * scale)


# Drivers, motors, closed loops


def test_ground_resonance():
    """Coleman and Feingold: four blades with lag hinges on a support that moves sideways, turned at a given rate.

    The rotor is the support: it slides in a plane and its angle is driven, so that its own inertia does not matter.
    """
    table = {
        15.0: [
            *(-1.88279625 + 15.1202122j, -1.60055253 + 21.53020331j, -1.19323577 + 12.98307904j),
            *(-1.04900806 + 11.49165903j, *2 * (-0.92191389 + 4.17473116j,)),
        ],
        28.0: [
            *(-2.30084321 + 15.39580329j, -1.87112021 + 15.093535j, -1.32353783 + 38.61956383j),
            *(-0.23009137 + 18.72966235j, *2 * (-0.92191389 + 7.9271568j,)),
        ],
    }
    growth = {}
    for rate in (15.0, 17.5, 22.0, 26.0, 28.0):
        rotor = linearize(ground_resonance(rate))
        assert rotor.inputs == ("drivers.shaft", "drivers.shaft rate", "drivers.shaft acceleration")
        space = multiblade(rotor, {"lag": [f"joints.lag{k}.angle" for k in range(4)]}, rate)
        values = space.eigenvalues()
        growth[rate] = np.max(values.real)
        values = values[values.imag > 0.0]
        for wanted in table.get(rate, []):
            assert np.min(np.abs(values - wanted)) < 1e-8 * np.abs(wanted)
        assert len(values) == 6
    assert growth[15.0] < 0.0 > growth[28.0]
    assert growth[17.5] > 0.0 < growth[26.0]
    assert 0.0 < growth[22.0] < 0.6237


def ground_resonance(rate, azimuth=0.0):
    mass, offset, moment, inertia = 94.9, 0.3048, 289.1, 1084.7
    model = femb.Model("ground resonance")
    model.add(femb.Ground())
    model.add(femb.RigidBody("hub", mass=5000.0, inertia=100.0, euler_angles=(0.0, 0.0, azimuth)))
    ends = femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("hub", axis=(0, 0, 1), reference=(1, 0, 0))
    model.add(femb.Planar("plane", *ends, start=(0.0, 0.0, azimuth), rates=(0.0, 0.0, rate)))
    for word in "xy":
        model.add(
            femb.JointSpringDamper(f"support {word}", joint="plane", coordinate=word, stiffness=1.24e6, damping=2e4)
        )
    motion = lambda t: (azimuth + rate * t, rate, 0.0)  # noqa: E731
    model.add(femb.JointDriver("shaft", joint="plane", coordinate="angle", motion=motion))
    arm = moment / mass
    for k in range(4):
        angle = 0.5 * np.pi * k
        direction = np.array([np.cos(angle), np.sin(angle), 0.0])
        about_hinge = inertia - mass * arm**2
        model.add(femb.RigidBody(f"blade{k}", mass=mass, inertia=(0.1 * about_hinge, about_hinge, about_hinge)))
        first = femb.JointEnd("hub", at=offset * direction, axis=(0, 0, 1), reference=direction)
        second = femb.JointEnd(f"blade{k}", at=(-arm, 0, 0), axis=(0, 0, 1), reference=(1, 0, 0))
        model.add(femb.Revolute(f"lag{k}", first, second, rates=(0.0,)))
        model.add(femb.JointSpringDamper(f"damper{k}", joint=f"lag{k}", damping=2000.0))
    return model


def test_a_driver_moves_what_hangs_on_it():
    """A pendulum on a driven slide: l theta'' + g theta = -x'', and the reaction of nothing else."""
    g, length = 9.81, 0.7
    model = femb.Model("crane", gravity=(0, 0, -g))
    model.add(femb.RigidBody("trolley", mass=3.0, inertia=1.0))
    model.add(femb.RigidBody("load", mass=2.0, inertia=1e-9))
    model.add(
        femb.Prismatic("slide", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("trolley", axis=(1, 0, 0)))
    )
    second = femb.JointEnd("load", at=(0, 0, length), axis=(0, 1, 0))
    model.add(femb.Revolute("rope", femb.JointEnd("trolley", axis=(0, 1, 0)), second))
    model.add(femb.JointDriver("drive", joint="slide", motion=lambda t: (0.0, 0.0, 0.0)))
    model.add(femb.JointMotor("motor", joint="rope", force=1.0, profile=lambda t: 0.0))
    space = linearize(model, outputs=("joints.rope.angle", "bodies.load.position", "bodies.load.acceleration"))
    assert space.states == ("joints.rope.angle", "joints.rope.angle rate")
    assert space.inputs == ("loads.motor.force", "drivers.drive", "drivers.drive rate", "drivers.drive acceleration")
    inertia = 2.0 * length**2 + 1e-9
    np.testing.assert_allclose(space.A, [[0.0, 1.0], [-2.0 * g * length / inertia, 0.0]], atol=1e-13)
    # a turn about y lifts the load's z axis towards x: the load, below, goes to -x
    np.testing.assert_allclose(space.B, [[0, 0, 0, 0], [1 / inertia, 0, 0, 2.0 * length / inertia]], atol=1e-13)
    np.testing.assert_allclose(space.C[[0, 1]], [[1.0, 0.0], [-length, 0.0]], atol=1e-13)
    np.testing.assert_allclose(space.D[[0, 1]], [[0, 0, 0, 0], [0, 1, 0, 0]], atol=1e-13)
    # the acceleration follows from the states and the inputs at once
    row = space.index("outputs", "bodies.load.acceleration.x")
    np.testing.assert_allclose(space.D[row], -length * space.B[1] + [0, 0, 0, 1], atol=1e-13)
    np.testing.assert_allclose(space.C[row], -length * space.A[1], atol=1e-13)


def four_bar(stiffness=7.0):
    """A parallelogram of bars of 1 m and 2 m, upright by a spring at one pin, and its eigenvalues in closed form."""
    model = femb.Model("four bar")
    for name, at in (("left", (0, 0, 0.5)), ("right", (2, 0, 0.5))):
        model.add(femb.RigidBody(name, mass=1.2, inertia=0.1, position=at))
    model.add(femb.RigidBody("coupler", mass=2.0, inertia=0.7, position=(1, 0, 1)))
    y = (0, 1, 0)
    pins = {
        "a": (femb.JointEnd("ground", axis=y), femb.JointEnd("left", at=(0, 0, -0.5), axis=y)),
        "b": (femb.JointEnd("left", at=(0, 0, 0.5), axis=y), femb.JointEnd("coupler", at=(-1, 0, 0), axis=y)),
        "c": (femb.JointEnd("coupler", at=(1, 0, 0), axis=y), femb.JointEnd("right", at=(0, 0, 0.5), axis=y)),
        "d": (femb.JointEnd("right", at=(0, 0, -0.5), axis=y), femb.JointEnd("ground", at=(2, 0, 0), axis=y)),
    }
    for name, ends in pins.items():
        model.add(femb.Revolute(name, *ends))
    model.add(femb.JointSpringDamper("spring", joint="a", stiffness=stiffness, damping=0.3))
    inertia = 2.0 * (0.1 + 1.2 * 0.25) + 2.0
    return model, np.roots([inertia, 0.3, stiffness])


def test_closed_loop_at_rest():
    """One degree of freedom, though rows of the loop depend on each other; in weight too."""
    model, wanted = four_bar()
    space = linearize(model)
    assert len(space.states) == 2
    point = OperatingPoint.of(System(model))
    resting = state_space(point, second_order(point, closed_chart(point, frames_chart(point))), ())
    np.testing.assert_allclose(np.sort_complex(resting.eigenvalues()), np.sort_complex(wanted), rtol=1e-11)
    np.testing.assert_allclose(np.sort_complex(space.eigenvalues()), np.sort_complex(wanted), rtol=1e-11)
    heavy = of_parts(*model.items(), gravity=(0, 0, -9.81))
    # an inverted pendulum: the weight of the bars at half their height, of the coupler at their ends
    inertia, weight = 2.0 * (0.1 + 1.2 * 0.25) + 2.0, 9.81 * (2.0 * 1.2 * 0.5 + 2.0)
    found = linearize(heavy).eigenvalues()
    np.testing.assert_allclose(
        np.sort_complex(found), np.sort_complex(np.roots([inertia, 0.3, 7.0 - weight])), rtol=1e-10
    )


@pytest.mark.parametrize("driven", [False, True])
def test_loops_in_motion(driven):
    """A parallelogram of bars that turns: its coupler goes round a circle; weight, spring and drive in closed form."""
    angle, rate = 0.5, 2.0
    model = femb.Model("loop", gravity=(0, 0, -9.81))
    x, z = np.sin(angle), np.cos(angle)
    turn = {"euler_angles": (0.0, angle, 0.0), "angular_velocity": (0.0, rate, 0.0)}
    for name, at in (("left", 0.0), ("right", 2.0)):
        place = np.array([at + 0.5 * x, 0.0, 0.5 * z])
        velocity = 0.5 * rate * np.array([z, 0.0, -x])
        model.add(femb.RigidBody(name, mass=1.2, inertia=0.1, position=place, velocity=velocity, **turn))
    still = {"angular_velocity": (0.0, 0.0, 0.0), "velocity": rate * np.array([z, 0.0, -x])}
    model.add(femb.RigidBody("coupler", mass=2.0, inertia=0.7, position=(1.0 + x, 0, z), **still))
    for item in four_bar()[0].items():
        if not isinstance(item, femb.RigidBody):
            model.add(item)
    acceleration = 0.7
    if driven:
        # the angle of the pin is zero at the start

        def motion(t):
            return rate * t + 0.5 * acceleration * t**2, rate + acceleration * t, acceleration

        model.add(femb.JointDriver("crank", joint="a", motion=motion))
    system = System(model)
    point = OperatingPoint.of(system)
    chart = chart_of(point)
    if driven:
        space = linearize(system, outputs=["bodies.coupler.position", "bodies.coupler.acceleration"])
        assert not space.states
        assert space.inputs == ("drivers.crank", "drivers.crank rate", "drivers.crank acceleration")
        np.testing.assert_allclose(space.D[:3], [[z, 0, 0], [0, 0, 0], [-x, 0, 0]], atol=1e-12)
        twice = -x * acceleration - z * rate**2
        np.testing.assert_allclose(space.D[3], [twice, -2.0 * x * rate, z], atol=1e-11)
        twice = -z * acceleration + x * rate**2
        np.testing.assert_allclose(space.D[5], [twice, -2.0 * z * rate, -x], atol=1e-11)
        return
    equations = second_order(point, chart)
    assert chart.free == 1
    p_rate, w_rate = (-each[0, 0] / equations.mass[0, 0] for each in (equations.stiffness, equations.damping))
    k = system.layout.frame_v[system.layout.bodies["left"]] + 4  # of its turn about y
    angle_change = np.array([chart.H[k, 0], 0.0])
    rate_change = np.array([chart.eta_p[k, 0], chart.H[k, 0]])
    found = np.array([chart.alpha_p[k, 0] + chart.H[k, 0] * p_rate, chart.alpha_w[k, 0] + chart.H[k, 0] * w_rate])
    inertia, weight = 2.0 * (0.1 + 1.2 * 0.25) + 2.0, 9.81 * (2.0 * 1.2 * 0.5 + 2.0)
    wanted = (weight * np.cos(angle) - 7.0) / inertia * angle_change - 0.3 / inertia * rate_change
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-11 * np.abs(wanted).max())


# Multi-blade coordinates


@pytest.mark.parametrize("blades", [3, 4, 5, 6])
def test_transformation(blades):
    """It is regular, and T^-1 T' couples the pairs alone: [0 k; -k 0]; derivatives against complex steps."""
    psi = 0.7
    T, T1, T2 = (transformation(blades, psi, k) for k in range(3))
    names = labels(blades)
    wanted = np.zeros((blades, blades))
    for k in range(1, (blades - 1) // 2 + 1):
        c, s = names.index(f"cos {k}"), names.index(f"sin {k}")
        wanted[c, s], wanted[s, c] = k, -k
    np.testing.assert_allclose(np.linalg.solve(T, T1), wanted, atol=1e-13)
    np.testing.assert_allclose(np.linalg.solve(T, T2), wanted @ wanted, atol=1e-12)
    h = 1e-3
    slope = 8.0 * (transformation(blades, psi + h) - transformation(blades, psi - h))
    slope -= transformation(blades, psi + 2 * h) - transformation(blades, psi - 2 * h)
    np.testing.assert_allclose(T1, slope / (12.0 * h), atol=1e-10)
    assert names[0] == "collective"
    assert (names[-1] == "differential") == (blades % 2 == 0)


def test_rotor_does_not_see_its_azimuth():
    """A_y of the ground resonance rotor is the same at every azimuth, that of its blades is not."""
    groups = {"lag": [f"joints.lag{k}.angle" for k in range(4)]}
    spaces = [linearize(ground_resonance(28.0, psi)) for psi in (0.0, 0.4, 1.1)]
    assert np.abs(spaces[1].A - spaces[0].A).max() > 1.0
    turned = [multiblade(each, groups, 28.0, psi) for each, psi in zip(spaces, (0.0, 0.4, 1.1), strict=True)]
    for each in turned[1:]:
        np.testing.assert_allclose(each.A, turned[0].A, rtol=0.0, atol=1e-11 * np.abs(turned[0].A).max())
    assert turned[0].states[:3] == ("joints.plane.x", "joints.plane.y", "lag.collective")


def test_rotorcraft_does_not_see_its_azimuth():
    """The same of the whole rotorcraft, whose hub turns freely on a fuselage on six struts."""
    example = EXAMPLES["rotorcraft"]
    found = []
    for psi in (0.0, 0.5):
        x = example.start()
        n = len(x) // 2
        q = x[:n].copy()
        q[6] = psi
        system = System(example.model())
        Q, V = system.q0.copy(), system.v0.copy()
        for k, (R, r, w, _, v, _) in enumerate(example.motion(q, x[n:])):
            frame = system.layout.bodies[f"b{k}"]
            i, j = system.layout.frame_q[frame], system.layout.frame_v[frame]
            Q[i : i + 3], Q[i + 3 : i + 7], V[j : j + 3], V[j + 3 : j + 6] = r, rotations.from_matrix(R), v, R.T @ w
        found.append(multiblade(linearize(OperatingPoint.of(system, Q, V)), GROUPS["rotorcraft"][1], ROTOR_RATE, psi).A)
    np.testing.assert_allclose(found[1], found[0], rtol=0.0, atol=1e-11 * np.abs(found[0]).max())


test_bad_rotors = refusals(
    lambda groups: multiblade(linearize(ground_resonance(15.0)), groups, 15.0),
    ({"lag": ["joints.lag0.angle", "joints.lag1.angle"]}, "got 2 blades, wanted at least 3"),
    ({"lag": [f"joints.lag{k}.angle" for k in range(5)]}, r"no 'joints\.lag4\.angle' among the states"),
    ({"lag": ["joints.lag0.angle"] * 3}, r"'joints\.lag0\.angle' is given twice"),
    (
        {"a": [f"joints.lag{k}.angle" for k in range(4)], "b": ["x", "y", "z"]},
        r"got groups of \[3, 4\] blades, wanted one number",
    ),
)


# What is refused


def test_functions_of_the_state_are_refused_by_name():
    for law, refused in ((lambda x, v: -3.0 * x, True), (lambda x, v: (3.0 * x, 3.0, 0.0), False)):
        model = femb.Model("m")
        model.add(femb.RigidBody("b", mass=2.0, inertia=1.0, position=(1, 0, 0)))
        ends = femb.SpringEnd(anchor=(0, 0, 0)), femb.SpringEnd(body="b")
        model.add(femb.SpringDamper("law", *ends, force=law))
        if refused:
            refuses(r"springs\.law\.force: is a function of the state whose derivatives", linearize, model)
        else:
            assert np.max(linearize(model).eigenvalues().imag) > 1.0
    model = femb.Model("m")
    model.add(femb.RigidBody("b", mass=2.0, inertia=1.0))
    model.add(femb.Load("push", body="b", force=lambda t, state: (0.0, 0.0, 0.0)))
    refuses(r"loads\.push\.force: is a function of the state", linearize, model)


def test_driven_orientations_in_motion_are_refused():
    for rate, refused in ((0.0, False), (1.0, True)):
        model = femb.Model("turntable")
        model.add(femb.RigidBody("table", mass=1.0, inertia=1.0))
        ends = femb.Place("ground"), femb.Place("table")
        model.add(femb.OrientationDriver("drive", *ends, third_angle=lambda t, w=rate: (w * t, w, 0.0)))
        if refused:
            refuses("orientations are driven at this start", linearize, model)
        else:
            assert len(linearize(model).states) == 6  # it is free to move


@pytest.mark.parametrize("name", ["bodies.x.turn", "bodies.b1.colour", "joints.j1.length", "nothing", "beams.a.b.c"])
def test_unknown_outputs(name):
    refuses(f"output {name!r}: there is no such output", linearize, EXAMPLES["pendulum"].model(), outputs=[name])


# Files and other packages


@pytest.fixture
def space():
    return StateSpace(
        np.array([[0.0, 1.0], [-4.0, -0.2]]), np.array([[0.0], [2.0]]), np.array([[1.0, 0.0]]), np.zeros((1, 1)),
        ("joints.a.angle", "joints.a.angle rate"), ("loads.m.force",), ("joints.a.angle",),
    )  # fmt: skip


def test_files(space, tmp_path):
    from scipy.io import loadmat

    space = replace(space, title="a rod")
    read = StateSpace.read(space.write(tmp_path / "new" / "linear.npz"))
    assert read.title == space.title
    mat = loadmat(space.write(tmp_path / "linear.mat"))
    for name in "ABCD":
        np.testing.assert_array_equal(getattr(read, name), getattr(space, name))
        np.testing.assert_array_equal(mat[name], getattr(space, name))
    assert (read.states, read.inputs, read.outputs) == (space.states, space.inputs, space.outputs)
    assert [str(each[0][0]) for each in mat["states"]] == list(space.states)
    static = femb.Results.read(space.write(tmp_path / "linear.h5")).static
    np.testing.assert_array_equal(static["linear/A"], space.A)
    assert tuple(static["linear/outputs"]) == space.outputs
    with pytest.raises(femb.ResultError, match=r"linear\.csv: got the suffix '\.csv', must be one of"):
        space.write(tmp_path / "linear.csv")
    (tmp_path / "text.npz").write_text("no arrays")
    for name in ("text.npz", "missing.npz"):
        refuses("cannot be read as a state space", StateSpace.read, tmp_path / name, error=femb.ResultError)


def test_other_packages(space, monkeypatch):
    other = space.to_scipy()
    for name in "ABCD":
        np.testing.assert_array_equal(getattr(other, name), getattr(space, name))
    np.testing.assert_allclose(space.transfer(1.3j)[0, 0], 2.0 / (4.0 - 1.3**2 + 0.2 * 1.3j), rtol=1e-14)
    monkeypatch.setitem(sys.modules, "control", None)
    refuses("python-control is not installed", space.to_control)


def test_python_control(space):
    pytest.importorskip("control")
    system = space.to_control()
    np.testing.assert_allclose(system.A, space.A)
    assert system.input_labels == ["loads_m_force"]


def test_shapes_and_names(space):
    with pytest.raises(femb.ModelError, match=r"B has shape \(2, 1\), wanted \(2, 2\): there are 2 states, 2 inputs"):
        StateSpace(space.A, space.B, space.C, space.D, space.states, ("a", "b"), space.outputs)
    refuses("no 'x' among the inputs; there are: loads", space.index, "inputs", "x")


# Trim


def test_trim_of_a_pendulum_in_the_wind():
    """A rod on a hinge, pushed sideways by a constant force: it hangs at atan(F/m g)."""
    model = femb.Model("rod", gravity=(0, 0, -9.81))
    model.add(femb.RigidBody("rod", mass=2.0, inertia=0.3))
    first, second = femb.JointEnd("ground", axis=(0, 1, 0)), femb.JointEnd("rod", at=(0, 0, 0.8), axis=(0, 1, 0))
    model.add(femb.Revolute("hinge", first, second))
    model.add(femb.Load("push", body="rod", force=(5.0, 0, 0)))
    point = trim(model)
    angle, _ = point.system.joint_motion(point.q, point.v)
    np.testing.assert_allclose(angle[0], -np.arctan2(5.0, 2.0 * 9.81), rtol=1e-13)
    assert np.abs(point.a).max() < 1e-12
    stiffness = np.hypot(5.0, 2.0 * 9.81) * 0.8
    found = linearize(OperatingPoint.of(point.system, point.q, point.v)).eigenvalues()
    np.testing.assert_allclose(np.abs(found), np.sqrt(stiffness / (0.3 + 2.0 * 0.64)), rtol=1e-12)


def governor(angle, rate=6.0):
    """An arm hung from a shaft that is driven at a constant rate about the vertical."""
    model = femb.Model("governor", gravity=(0, 0, -9.81))
    model.add(femb.RigidBody("shaft", mass=1.0, inertia=0.1))
    model.add(femb.RigidBody("arm", mass=1.5, inertia=0.01))
    ends = femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("shaft", axis=(0, 0, 1))
    model.add(femb.Revolute("bearing", *ends, rates=(rate,)))
    model.add(femb.JointDriver("drive", joint="bearing", motion=lambda t: (rate * t, rate, 0.0)))
    second = femb.JointEnd("arm", at=(0, 0, 0.6), axis=(0, 1, 0))
    model.add(femb.Revolute("hinge", femb.JointEnd("shaft", axis=(0, 1, 0)), second, start=(angle,), rates=(0.0,)))
    return model


@pytest.mark.parametrize("start", [0.7, 1.2, 1.35])
def test_trim_of_constant_spin(start):
    """cos(angle) = g/(l Omega^2), and small motions about it swing at Omega sin(angle)."""
    point = trim(governor(start))
    angle = point.system.joint_motion(point.q, point.v)[0][1]
    wanted = np.arccos(9.81 / (0.6 * 36.0))
    np.testing.assert_allclose(angle, wanted, rtol=1e-11)
    found = linearize(OperatingPoint.of(point.system, point.q, point.v)).eigenvalues()
    swing = np.sqrt(1.5 * 0.36 / (1.5 * 0.36 + 0.01))  # an inertia that is the same about all axes is felt here alone
    np.testing.assert_allclose(np.abs(found), 6.0 * np.sin(wanted) * swing, rtol=1e-10)


def test_trim_of_an_aircraft():
    """At another speed: pitch and the velocity along z vary, so that lift carries the weight; it then stays so."""
    example = EXAMPLES["aircraft"]
    model = femb.Model("aircraft", gravity=example.gravity)
    for item in example.model().items():
        words = {"velocity": (52.0, 0.0, 0.0), "angular_velocity": (0.0, 0.0, 0.0)}
        body = isinstance(item, femb.RigidBody)
        model.add(femb.RigidBody("b0", mass=item.mass, inertia=item.inertia, **words) if body else item)
    # the pitching moment of these derivatives comes from the vertical velocity alone, so that this must return to zero
    vary = ("bodies.b0.x rate", "bodies.b0.z rate", "bodies.b0.turn_y")
    point = trim(model, vary=vary)
    assert np.abs(point.a).max() < 1e-9
    np.testing.assert_allclose(point.v[0], 53.6, rtol=1e-9)


def test_no_trim():
    model = of_parts(femb.RigidBody("stone", mass=1.0, inertia=1.0), gravity=(0, 0, -9.81))
    refuses(r"no steady motion found .*stone\.z still changes its speed by -9\.81", trim, model, error=femb.SolveError)
    refuses("trim: no state 'height'; there are: bodies", trim, model, vary=("height",))


def test_flexible_trim():
    """A cantilever sagging far under a force at its tip: the same state as its static start."""
    model = cantilever()
    point = trim(model)
    system = System(model)
    q, _ = steady_start(system)
    np.testing.assert_allclose(point.q, q, atol=1e-9)


@pytest.mark.parametrize("rate", [0.0, 0.5, 5.0])
def test_trim_of_a_swinging_pendulum(rate):
    """Hanging at rest, however it starts: passing the lowest point it has no acceleration, and yet is no trim."""
    model = femb.load_case(CASES / "thompson_pendulum.toml", [f"joints.hinge.rates={rate}"]).model
    values = linearize(model, trim=True).eigenvalues()
    inertia, stiffness = 0.08 + 1.5 * 0.4**2, 0.6 + 1.5 * 9.81 * 0.4
    wanted = np.roots([inertia, 0.05, stiffness])
    np.testing.assert_allclose(np.sort_complex(values), np.sort_complex(wanted), rtol=1e-10)
    assert np.max(np.abs(values.imag)) == pytest.approx(4.501405, abs=5e-7)


def test_no_trim_of_what_goes_round():
    """A pendulum that goes over the top, and a rotor in its weight: periodic at best, with the period named."""
    model = femb.load_case(CASES / "thompson_pendulum.toml", ["joints.hinge.rates=20"]).model
    with pytest.raises(femb.SolveError, match=r"no steady motion .*periodic: look for one with the period 0\.314159 s"):
        trim(model)
    with pytest.raises(
        femb.SolveError, match=r"joints\.shaft\.angle turns at 1\.287 rad/s and the forces change with it"
    ):
        trim(femb.load_case(CASES / "thompson_wind_turbine.py").model)


def test_a_passing_state_is_unsteady():
    """At the angle where the damper takes what weight and spring give, at its rate: w' = 0, and the motion goes on."""
    b, k, weight, rate = 0.05, 0.6, 1.5 * 9.81 * 0.4, 0.5
    angle = brentq(lambda x: b * rate + k * x + weight * np.sin(x), -0.1, 0.1, xtol=1e-16)
    model = femb.load_case(CASES / "thompson_pendulum.toml", [f"joints.hinge.start={angle}"]).model
    point = OperatingPoint.of(System(model))
    np.testing.assert_allclose(chart_of(point).rates, 0.0, atol=1e-14)
    assert "joints.hinge.angle moves at 0.5 per s, and the forces change on the way" in why_unsteady(Balance.of(point))


def test_slow_drift_is_seen_by_going_on():
    """A slide through the place where a cubic force vanishes with its slope: no drift there, yet no steady motion."""
    ends = femb.SpringEnd("mass"), femb.SpringEnd(anchor=(0, 0.5, 0))
    model = of_parts(
        femb.RigidBody("mass", mass=1.0, inertia=1.0, velocity=(1.0, 0.0, 0.0)),
        femb.Prismatic(
            "rail", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("mass", axis=(1, 0, 0)), rates=(1.0,)
        ),
        femb.SpringDamper("string", *ends, stiffness=50.0, free_length=0.5),
    )
    point = OperatingPoint.of(System(model))
    np.testing.assert_allclose(Balance.of(point).drift, 0.0, atol=1e-12)
    assert "joints.rail.stroke changes its speed" in why_unsteady(Balance.of(point))


def test_trim_of_long_wires():
    """Four wires of 50 m at 3 rpm: the tension at the root is that of circles, and the axis of rotation may tilt."""
    section = femb.Section("wire", 1e-6, (8e-14, 8e-14), 1.6e-13, 8000.0, 1e11, 4e10)
    rate = 3.0 * 2.0 * np.pi / 60.0
    model = femb.Model("wires")
    hub = model.add(femb.RigidBody("hub", mass=50.0, inertia=(20, 20, 30), angular_velocity=(0, 0, rate)))
    for k in range(4):
        out = np.array([np.cos(0.5 * np.pi * k), np.sin(0.5 * np.pi * k), 0.0])
        wire = femb.Beam(f"wire{k}", section=section, length=50.0, elements=2, start=hub.at(0.5 * out, direction=out))
        model.add(wire)
        model.add(femb.PointMass(f"tip{k}", mass=0.1, on=wire.node(-1)))
    point = trim(model)
    # tension at the root: tip and wire in circles about the axis
    nodes = State(point.system.layout, 0.0, point.q, point.v).beams["wire0"]
    tension = rate**2 * (0.1 * 50.5 + 8e-3 * 50.0 * 25.5)
    assert nodes.strain[0, 0] * 1e5 == pytest.approx(tension, rel=1e-4)
    values = linearize(point).eigenvalues()
    assert np.max(values.real) < 1e-4
    # an axis of rotation tilts, and space is isotropic: rate itself is a frequency in the axes that turn
    assert np.min(np.abs(values.imag - rate)) < 1e-6 * rate


@pytest.mark.slow
def test_linearize_does_what_the_command_does():
    """Start, rest, state and trim by name, and an operating point; refusals by name."""
    model = femb.load_case(CASES / "thompson_rotorcraft.py").model
    speed = {"joints.mast.angle rate": 32.0}
    point = operating_point(model, at_rest=True, state=speed, trim=True)
    np.testing.assert_allclose(point.system.joint_motion(point.q, point.v)[1][0], 32.0, rtol=1e-12)
    one, other = linearize(point), linearize(model, at_rest=True, state=speed, trim=True)
    np.testing.assert_array_equal(one.A, other.A)
    bent = linearize(cantilever(), start="equilibrium")
    system = System(cantilever())
    q, v = steady_start(system)
    np.testing.assert_array_equal(bent.A, linearize(OperatingPoint.of(system, q, v)).A)
    for words, message in (
        ({"start": "somehow"}, "start: got 'somehow', must be one of 'as_given'"),
        (
            {"state": {"joints.mast.speed": 1.0}},
            "state: got 'joints.mast.speed'; there are coordinates joints.mast.angle",
        ),
        ({"vary": ["joints.mast.angle"]}, "vary names what a trim may change"),
        ({"trimmed": True}, "linearize: there is no option 'trimmed'; did you mean 'trim'?"),
    ):
        refuses(re.escape(message), linearize, model, **words)
    refuses("got an operating point and ", linearize, point, trim=True)


# The command


PAGE = CASES.parent / "docs" / "cases" / "thompson.md"


@pytest.mark.parametrize("name", SPACE_FREE)
def test_commands_of_the_page_print_what_stands_there(name, monkeypatch, tmp_path):
    """Each `femb linearize` of the page prints the block of text that follows it, with the reference's eigenvalues."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases").symlink_to(CASES)
    case = f"thompson_{name}"
    found = [each for each in _commands(PAGE) if f"cases/{case}." in each[0] and "--periodic" not in each[0]]
    assert found
    for command, text in found:
        done = said(*shlex.split(command.replace("\\\n", " "))[1:])
        np.testing.assert_allclose(_values_of(text), _values_of(done), rtol=2e-6)
        assert text.splitlines()[0] in done
    values = StateSpace.read(tmp_path / "out" / case / "linear.npz").eigenvalues()
    for value in PRINTED.get(name, [-0.121435 + 0.969989j, -0.202903 + 65.252282j]):
        assert np.min(np.abs(values - value)) < 8e-7
    assert np.sum(np.abs(values) < 1e-3) == SPACE_FREE[name]


def _commands(page):
    """Commands of a page that linearise, each with the text that follows it."""
    return re.findall(r"```bash\n(femb linearize .*?)```\s*```text\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.slow
def test_rotor_in_its_weight_is_periodic(monkeypatch, tmp_path):
    """The wind turbine: a motion of one turn; small motions die out but for the angle and the rate of the rotor."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases").symlink_to(CASES)
    ((command, text),) = [each for each in _commands(PAGE) if "--per" in each[0]]
    done = said(*shlex.split(command)[1:])
    assert done.startswith(text.splitlines()[0])
    # the double multiplier of one: rounding leaves a pair, printed as one line or as two, within its square root
    shown, found = (values[np.abs(values - 1.0) > 1e-6] for values in (_values_of(text), _values_of(done)))
    assert len(found) < len(_values_of(done))
    np.testing.assert_allclose(shown, found, rtol=2e-5)
    with np.load(tmp_path / "out/thompson_wind_turbine/periodic.npz") as found:
        sizes = np.sort(np.abs(found["multipliers"]))
    np.testing.assert_allclose(sizes[-2:], 1.0, atol=1e-6)
    assert sizes[-3] < 0.94


def test_command_of_the_how_to_prints_what_stands_there(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases").symlink_to(CASES)
    page = (CASES.parent / "docs" / "howto" / "linearise.md").read_text()
    command, text = re.search(r"```console\n\$ (femb linearize .*?)\n(.*?)```", page, re.DOTALL).groups()
    assert said(*shlex.split(command)[1:]) == text


def _values_of(text):
    """Eigenvalues in a table, without those that are zero."""
    rows = [line.split() for line in text.splitlines() if re.fullmatch(r"[-+.e\d\s]+", line) and line.strip()]
    values = np.array([complex(float(row[0]), float(row[1])) for row in rows])
    return values[np.abs(values) > 1e-3]


def test_command_with_periodic(tmp_path, monkeypatch):
    """A mass on a spring that is shaken at a given period: its multipliers, exp(lambda T), and the file."""
    monkeypatch.chdir(tmp_path)
    Path("shaken.toml").write_text(
        """
[bodies.mass]
mass = 2.0
inertia = 1.0
[joints.rail]
kind = "prismatic"
first = { body = "ground", axis = [1, 0, 0] }
second = { body = "mass", axis = [1, 0, 0] }
[springs.spring]
kind = "joint"
joint = "rail"
stiffness = 50.0
damping = 1.5
[loads.push]
body = "mass"
force = [3, 0, 0]
profile = { shape = "sine", frequency = 0.5 }
"""
    )
    vary = ("joints.rail.stroke", "joints.rail.stroke rate")
    done = said("linearize", "shaken.toml", "--periodic", "2.0", *(word for name in vary for word in ("--vary", name)))
    assert "no small motion grows" in done
    with np.load("out/shaken/periodic.npz") as found:
        multipliers = found["multipliers"]
    wanted = np.exp(2.0 * np.roots([2.0, 1.5, 50.0]))
    np.testing.assert_allclose(np.sort_complex(multipliers), np.sort_complex(wanted), rtol=1e-6)
    for words, message in (
        (["--periodic", "2.0", "--trim", "--force"], "--periodic goes without"),
        (["--state", "joints.rail.stroke=x"], "'x' is not a number"),
        (["--multiblade", "flap"], "wanted NAME=VALUE"),
        (["--rotor", "joints.rail.stroke"], "got a rotor alone"),
    ):
        code, out, err = invoked("linearize", "shaken.toml", *words)
        assert (code, out, message in err) == (2, "", True)


def test_command(tmp_path, monkeypatch):
    """A case in, two files and a table of eigenvalues out; bad input with exit code 2."""
    monkeypatch.chdir(tmp_path)
    Path("rod.toml").write_text(
        """
gravity = [0, 0, -9.81]
[bodies.rod]
mass = 2.0
inertia = 0.3
[joints.hinge]
kind = "revolute"
first = { body = "ground", axis = [0, 1, 0] }
second = { body = "rod", at = [0, 0, 0.8], axis = [0, 1, 0] }
start = 0.4
[springs.damper]
kind = "joint"
joint = "hinge"
damping = 0.5
"""
    )
    done = said("linearize", "rod.toml", "--trim", "--output", "joints.hinge.angle")
    space = StateSpace.read("out/rod/linear.npz")
    assert (space.states[0], space.outputs) == ("joints.hinge.angle", ("joints.hinge.angle",))
    inertia = 0.3 + 2.0 * 0.64
    wanted = np.roots([inertia, 0.5, 2.0 * 9.81 * 0.8])
    np.testing.assert_allclose(np.sort_complex(space.eigenvalues()), np.sort_complex(wanted), rtol=1e-10)
    assert "2 states, 0 inputs, 1 output; about steady motion" in done
    assert f"{wanted[0].real:.6g}" in done
    assert Path("out/rod/linear.mat").is_file()
    assert said("linearize", "rod.toml", "--quiet", "--force") == ""
    assert "unsteady motion: joints.hinge.angle changes" in said("linearize", "rod.toml", "--force")
    for arguments, message in (
        (["rod.toml", "--output", "joints.hinge.length", "--force"], "'joints.hinge.length': there is no such output"),
        (["rod.toml", "--set", "bodies.rod.mass=-1"], "bodies.rod.mass: got -1.0"),
        (["none.toml"], "there is no such file"),
        (["rod.toml", "--out", "rod.toml/below"], "cannot be written"),
    ):
        code, out, err = invoked("linearize", *arguments)
        assert (code, out, message in err) == (2, "", True)


@pytest.mark.parametrize("stiffnesses", [(0, 0, 0), (1e9, 1e-5, 1e9), (1e-5, 1e9, 0), (1e-5, 0, 1e9)])
@pytest.mark.parametrize("words", [{}, {"hub": "hub"}])
def test_a_weak_spring_is_a_spring_beside_a_stiff_one(stiffnesses, words):
    """A free chain on hinges: two poles of exactly zero for each rigid motion and each hinge without a spring, and none
    for one of 1e-14 of the largest, whose pole is that of the two halves that it joins, as rigid bodies."""
    model = femb.Model("chain")
    model.add(femb.RigidBody("hub", mass=50.0, inertia=(8.0, 9.0, 7.0)))
    last = "hub"
    for k, stiffness in enumerate(stiffnesses):
        model.add(femb.RigidBody(f"p{k}", mass=2.0, inertia=(0.2, 0.3, 0.4), position=(1.0 + k, 0.0, 0.0)))
        ends = (
            femb.JointEnd(last, at=(0.5, 0, 0), axis=(0, 1, 0)),
            femb.JointEnd(f"p{k}", at=(-0.5, 0, 0), axis=(0, 1, 0)),
        )
        model.add(femb.Revolute(f"h{k}", *(ends if k % 2 else ends[::-1])))
        if stiffness:
            model.add(femb.JointSpringDamper(f"s{k}", f"h{k}", stiffness=stiffness))
        last = f"p{k}"
    space = plant_of(model, ["bodies.hub.torque"], ["bodies.hub.turn"], words)
    sizes = np.sort(np.abs(space.eigenvalues()))
    free = 2 * (6 + stiffnesses.count(0))
    assert np.sum(sizes == 0.0) == free
    if stiffnesses == (1e9, 1e-5, 1e9):
        # about the hinge: z and the turns of the halves, of which x is apart; with zero momenta the angle alone moves
        (m1, s1, J1), (m2, s2, J2) = (52.0, -50 * 1.5 - 2 * 0.5, 9.3 + 50 * 1.5**2 + 2 * 0.25), (4.0, 4.0, 0.6 + 5.0)
        M = np.array([[m1 + m2, -s1, -s2], [-s1, J1, 0.0], [-s2, 0.0, J2]])
        relative = np.array([0.0, -1.0, 1.0])
        omega = np.sqrt(1e-5 * relative @ np.linalg.solve(M, relative))
        # the rounding of the stiffest spring is 0.02 of the weak one
        np.testing.assert_allclose(sizes[free : free + 2], omega, rtol=2e-3)
