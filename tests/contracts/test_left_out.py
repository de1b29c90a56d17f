"""No analysis leaves a force out without a word: the tangents of each, over the catalogue, and the residual's changes.

At rest, with users' functions of the state as they are at each state, the changes of the residual are those of modes,
of linear models, and of what truncations project.
"""

import re

import numpy as np
import pytest
from contracts.test_items import EXAMPLES, every_kind
from models import of_parts
from oracles.finite_differences import slope
from scipy.linalg import block_diag

import femb
from femb.linear.model import linear_model
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import free_motions
from femb.small_motions.point import OperatingPoint, with_differences
from femb.system.system import System
from femb.vibration.eigen import freedoms

# items of the catalogue are strained in their examples
pytestmark = [
    pytest.mark.filterwarnings("ignore:beams.boom.sections"),
    pytest.mark.filterwarnings("ignore:(modes|linear model). the state is not in equilibrium"),
]
K = np.array([[2e3, 300.0, 0.0], [-300.0, 1e3, 50.0], [0.0, 20.0, 500.0]])
C = np.array([[-5.0, 1.0, 0.0], [0.0, 2.0, 0.3], [0.1, 0.0, 4.0]])


def change(system, q, v, a, multipliers, dx, dv):
    """Of the residual with reactions, its functions of the state included, along H dx and dv, of order 6."""

    def at(e):
        moved, speed = q + e * system.rates(q[None], dx[None])[0], v + e * dv
        force = system.residual(system.inputs_at(0.0, moved, speed)[None], moved[None], speed[None], a[None])
        system.constraint_set.constraint_force(
            system.inputs_at(0.0, moved, speed)[None], moved[None], speed[None], multipliers[None], force,
            np.zeros((1, system.n_c)),
        )  # fmt: skip
        return force[0]

    return slope(at)


def compared(found, wanted, tolerance=1e-7):
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=tolerance * (1.0 + np.max(np.abs(wanted), initial=0.0)))


def problem(model):
    """Small motions about the start at rest with loads, in a layout whose ground moves."""
    system = System(model, assemble=True)
    return EigenProblem.of(system.starting_at(system.q0, at_rest(system)), True, states=True)


def at_rest(system):
    """Velocities (n_v,) of states of the first order alone."""
    v = np.zeros(system.n_v)
    v[system.layout.first_order_v] = system.v0[system.layout.first_order_v]
    return v


@every_kind
def test_modes_have_every_force(kind):
    motion = problem(EXAMPLES[kind]())
    rng, system = np.random.default_rng(7), motion.system
    low = motion.low_rank
    for dx, dv in rng.standard_normal((2, 2, system.n_v)):
        dx[system.layout.first_order_v] = 0.0
        wanted = change(system, motion.q, motion.v, motion.a, motion.multipliers, dx, dv)
        found = motion.times(motion.stiffness, dx) + motion.damping_times(dv) + low.left @ (low.stiffness.T @ dx)
        compared(found, wanted)
        exact = motion.exact_stiffness(dx) + motion.exact_damping(dv) + low.left @ (low.stiffness.T @ dx)
        compared(np.where(motion.held, 0.0, exact), np.where(motion.held, 0.0, wanted), 1e-6)


def railed(*items):
    """A mass on a rail with a spring."""
    ends = [femb.JointEnd(name, axis=(1, 0, 0)) for name in ("ground", "a")]
    spring = femb.JointSpringDamper("s", joint="rail", stiffness=1000.0, damping=1.0)
    body = femb.RigidBody("a", mass=10.0, inertia=(0.1, 0.1, 0.1))
    return of_parts(body, femb.Prismatic("rail", *ends), spring, *items)


def bearing(k, c, of="a", on="a"):
    """A load on a body by the motion of a body, and its derivatives."""

    def law(t, state):
        body = state.bodies[of]
        by = {f"bodies.{of}.position": -k, f"bodies.{of}.velocity": -c}
        return femb.Differentiated(-k @ body.position - c @ body.velocity, by)

    return femb.Load(f"from {of} on {on}", body=on, force=law)


@pytest.mark.parametrize("start", ["as_given", "equilibrium"])
def test_a_load_that_returns_its_derivatives_acts_in_modes(start):
    """-c/2m + i sqrt(k/m - (c/2m)^2), as the linear model."""
    for more, damping in ((2000.0, 1.0), (0.0, -4.0)):
        load = bearing(np.diag([more, 0.0, 0.0]), np.diag([damping - 1.0, 0.0, 0.0]))
        wanted = -damping / 20.0 + 1j * np.sqrt((1000.0 + more) / 10.0 - (damping / 20.0) ** 2)
        found = femb.modes(railed(load), 1, damped=True, start=start).eigenvalues
        np.testing.assert_allclose(found, [wanted], rtol=1e-12)
    real = femb.modes(railed(bearing(np.diag([2000.0, 0.0, 0.0]), 0.0 * C)), 1, start=start).eigenvalues
    np.testing.assert_allclose(real, [1j * np.sqrt(300.0)], rtol=1e-12)


def test_loads_between_bodies_that_nothing_else_couples():
    """Cross-coupled bearings of two free bodies: the poles of the linear model, and of the truncated one."""

    def pair():
        bodies = [
            femb.RigidBody(name, 3.0, (1.0, 1.2, 1.5), position=(x, 0, 0)) for name, x in (("a", 0.0), ("b", 0.0))
        ]
        springs = [
            femb.SpringDamper(
                f"{name}{k}{side}",
                femb.SpringEnd(name, at=0.3 * side * np.eye(3)[k - 1]),
                femb.SpringEnd(anchor=9.0 * np.eye(3)[k]),
                stiffness=500.0 + 100.0 * side,
            )
            for name in "ab"
            for k in range(3)
            for side in (1, -1)
        ]
        return of_parts(*bodies, *springs, bearing(K, C, "a", "b"), bearing(K.T, 2.0 * C, "b", "a"))

    system = System(pair())
    point = OperatingPoint.of(system)
    assert not np.any(system.low_rank_tangent(point.u, point.q, point.v).left)
    wanted = femb.linearize(pair()).eigenvalues()
    found = femb.modes(pair(), damped=True).eigenvalues
    assert len(found) > 5
    np.testing.assert_allclose([np.min(np.abs(wanted - each)) for each in found], 0.0, atol=1e-8)


@pytest.mark.parametrize("start", ["as_given", "equilibrium"])
@pytest.mark.parametrize("back", [K.T, K])
@pytest.mark.filterwarnings("ignore:.*no stiffness, of which stability does not tell")
def test_free_turns_beside_cross_coupled_loads_are_no_modes(back, start):
    """Bodies on springs at their centres turn freely; the others are the modes of two points in closed form."""
    bodies = [femb.RigidBody(name, 3.0, (1.0, 1.2, 1.5)) for name in "ab"]
    springs = [
        femb.SpringDamper(
            f"{name}{k}", femb.SpringEnd(name), femb.SpringEnd(anchor=9.0 * np.eye(3)[k]), stiffness=500.0 + 10.0 * k
        )
        for name in "ab"
        for k in range(3)
    ]
    model = of_parts(*bodies, *springs, bearing(K, C, "a", "b"), bearing(back, 2.0 * C, "b", "a"))
    found = femb.modes(model, damped=True, start=start)
    own, none = np.diag([500.0, 510.0, 520.0]), np.zeros((3, 3))
    stiffness, damping = np.block([[own, back], [K, own]]) / 3.0, np.block([[none, 2.0 * C], [C, none]]) / 3.0
    wanted = np.linalg.eigvals(np.block([[np.zeros((6, 6)), np.eye(6)], [-stiffness, -damping]]))
    wanted = wanted[wanted.imag >= -1e-9]
    assert (found.rigid, found.joint, len(found.eigenvalues)) == (0, 6, len(wanted))
    for value in wanted:
        assert np.min(np.abs(found.eigenvalues - value)) < 1e-9 * abs(value)


def controlled(item):
    """A hub with a boom in the loop of a continuous controller or a load that is a law."""
    section = femb.Section("boom", 2.5e-3, (5.2e-7, 5.2e-7), 1.04e-6, 2800.0, 7.17e10, 2.68e10)
    hub = femb.RigidBody("hub", mass=22.4, inertia=0.149)
    boom = femb.Beam("boom", section, 2.0, 2, start=hub.at((0.1, 0, 0), direction=(1, 0, 0)))
    torque = femb.Load("t", body="hub", torque=(0.0, 0.0, 0.0), frame="body")
    return of_parts(hub, boom, torque, item)


def attitude_law(t, state):
    hub, eye = state.bodies["hub"], np.eye(3)
    torque = -600.0 * np.array(hub.quaternion[1:]) - 20.0 * hub.angular_velocity
    return femb.Differentiated(torque, {"bodies.hub.turn": -300.0 * eye, "bodies.hub.angular_velocity": -20.0 * eye})


LOOPS = {
    "law": femb.Load("law", body="hub", torque=attitude_law, frame="body"),
    "continuous": femb.PDController(
        "c", attitude="bodies.hub", rate="bodies.hub", proportional=300.0, derivative=20.0, outputs=("loads.t.torque",)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("item", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize("start", ["as_given", "equilibrium"])
def test_loops_of_laws_and_continuous_controllers_act_in_modes_and_truncated_models(item, start):
    """The six slowest poles that are not zero: those of the linear model."""
    wanted = femb.linearize(controlled(item)).eigenvalues()
    wanted = wanted[np.argsort(np.abs(wanted))][6:12]
    found = femb.modes(controlled(item), 4, damped=True, start=start)
    assert found.rigid == 3
    assert np.all(np.abs(wanted) > 1.0)
    np.testing.assert_allclose([np.min(np.abs(wanted - each)) for each in found.eigenvalues], 0.0, atol=1e-6)
    words = {"inputs": ["bodies.hub.torque"], "outputs": ["bodies.hub.turn"], "start": start, "damping": 1e-12}
    for order in ({"craig_bampton": 8}, {"modes": 8}):
        poles = femb.linearize_structure(controlled(item), hub="hub", **order, **words).eigenvalues()
        np.testing.assert_allclose([np.min(np.abs(poles / each - 1.0)) for each in wanted], 0.0, atol=3e-4)


def test_a_damper_of_a_spring_without_length_acts():
    """-c/2m + i sqrt(k/m - (c/2m)^2) of a mass drawn to a point: in modes, the linear model and a run."""
    ends = femb.SpringEnd("a"), femb.SpringEnd(anchor=(0.0, 0.0, 0.0))
    spring = femb.SpringDamper("p", *ends, stiffness=1000.0, damping=20.0, free_length=0.0)
    wanted = -1.0 + 1j * np.sqrt(100.0 - 1.0)

    def free(**words):
        return of_parts(femb.RigidBody("a", mass=10.0, inertia=1.0, **words), spring)

    np.testing.assert_allclose(femb.modes(free(), damped=True).eigenvalues, [wanted] * 3, rtol=1e-12)
    poles = femb.linearize(free()).eigenvalues()
    np.testing.assert_allclose(np.sort(np.abs(poles))[-6:], 10.0, rtol=1e-12)
    # through the point at 1 m/s
    run = femb.simulate(free(velocity=(0.6, 0.0, 0.8)), duration=0.8, rtol=1e-10, output_interval=0.1)
    t = run.time
    along = np.exp(-t) * np.sin(wanted.imag * t) / wanted.imag
    np.testing.assert_allclose(run.bodies["a"].position, np.outer(along, [0.6, 0.0, 0.8]), atol=1e-7)
    np.testing.assert_allclose(run.springs["p"].force[0], 20.0, rtol=1e-12)


def test_what_modes_at_rest_leave_out_is_named():
    """The rotation of the start, and functions of the state without derivatives."""
    model = railed(femb.Load("law", body="a", force=lambda t, state: -1e3 * state.bodies["a"].position))
    model.add(femb.RigidBody("rotor", 1.0, 1.0, angular_velocity=(0.0, 0.0, 628.0)))
    table = femb.modes(model).table()
    assert (
        "left out: the rotation of rotor (628 rad/s) at the start, with its gyroscopic and centrifugal forces" in table
    )
    assert "left out: loads.law.force, a function of the state without derivatives" in table
    assert "left out" not in femb.modes(railed(), start="equilibrium").table()


@every_kind
def test_linear_models_and_periodic_motions_have_every_force(kind):
    """About the start as it moves: the tangents of ``linearize``, whose matrices along a motion ``periodic`` takes."""
    system = System(EXAMPLES[kind](), assemble=True)
    point = OperatingPoint.of(with_differences(system))
    system, nothing = point.system, np.zeros(system.n_c)
    damping, stiffness = point.tangents
    for dx, dv in np.random.default_rng(5).standard_normal((2, 2, system.n_v)):
        dx[system.layout.first_order_v] = 0.0
        wanted = change(system, point.q, point.v, point.a, nothing, dx, dv)
        compared(stiffness @ dx + damping @ dv, wanted, 1e-6)


REFUSED = "not symmetric|nothing vibrates|unstable|without stiffness|has no inertia|stiffness is singular"


@every_kind
def test_truncated_models_have_every_force(kind):
    """With all modes the transfer functions of the whole sparse model, or a reason why there are none."""
    model, words = (
        System(EXAMPLES[kind](), assemble=True),
        {"inputs": ["bodies.a.force", "bodies.a.torque"], "outputs": ["bodies.a.position"]},
    )
    if "a" not in model.layout.bodies:
        words = {}
    sparse = linear_model(model, **words)
    still = sparse.motion.without_states()
    count = freedoms(still) - free_motions(still).count
    if count < 1:
        return
    try:
        space = femb.linearize_structure(model, modes=count, frequencies=[0.3, 7.0], **words)
    except femb.ModelError as refusal:
        if not re.search(REFUSED, str(refusal)):
            raise
        return
    full, reduced = space.truncation.full.values, space.truncation.reduced.values
    np.testing.assert_allclose(reduced, full, rtol=0.0, atol=1e-6 * np.max(np.abs(full)))


ALONE = f"{REFUSED}|can move without stiffness"


@every_kind
def test_hybrid_coordinates_have_every_force(kind):
    """With all modes of the appendages and the model's own dampers: the hub's response of the whole sparse model, also
    by Craig-Bampton's matrices."""
    model = System(EXAMPLES[kind](), assemble=True)
    if "a" not in model.layout.bodies:
        return
    try:
        found = femb.handover.hybrid_coordinates(model, held="a")
    except femb.ModelError as refusal:
        if not re.search(ALONE, str(refusal)):
            raise
        return
    frequencies = [0.3, 7.0]
    hub = found.state_space(dampers=True).frequency_response(frequencies).values[:, :6, :6]
    words = {"inputs": ["bodies.a.force", "bodies.a.torque"], "outputs": ["bodies.a.position", "bodies.a.turn"]}
    wanted = linear_model(model, hub="a", **words).frequency_response(frequencies).values
    # positions are in inertial axes there
    R, size = block_diag(found.axes, np.eye(3)), np.max(np.abs(wanted))
    compared(R @ hub / size, wanted / size, 1e-9)
    whole = femb.handover.CraigBampton.of(found, dampers=True)
    for frequency, response in zip(frequencies, wanted, strict=True):
        s = 2j * np.pi * frequency
        by_matrices = np.linalg.inv(s * s * whole.mass + s * whole.damping + whole.stiffness)[:6, :6]
        compared(R @ by_matrices / size, response / size, 1e-9)
        compared(R @ np.linalg.inv(s * s * whole.dynamic_mass(s)) / size, response / size, 1e-9)
