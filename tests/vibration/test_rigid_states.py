"""Rigid-body motions of free structures that turn: separated exactly, so that only modes of deformation are listed."""

import numpy as np
import pytest
from checkout import CASES as CASE_FILES
from models import hub, of_parts, refuses, slender
from oracles.modal_beam import BeamModel

import femb
from femb import (
    Attachment,
    Beam,
    Bearing,
    FlexibleBody,
    JointEnd,
    JointSpringDamper,
    PointMass,
    Revolute,
    RigidBody,
    SpringEnd,
)
from femb.case import load_case
from femb.linear.trim import Balance, why_unsteady
from femb.vibration.mode_sweep import mode_sweep
from femb.vibration.modes import modes
from femb.vibration.solution import solution

SPIN = 0.8


def turning(spin=SPIN, damping=0.0, drift=0.0):
    """A hub with two booms, which turns about its axis of largest inertia."""
    body = hub(inertia=(1.0, 1.2, 1.5), angular_velocity=(0.0, 0.0, spin), velocity=(0.0, 0.0, drift))
    model, section = of_parts(body), slender(damping=damping)
    for name, side in (("a", 1.0), ("b", -1.0)):
        root = Attachment("hub", at=(0.1 * side, 0.0, 0.0), direction=(side, 0.0, 0.0))
        model.add(Beam(name, section, length=1.0, elements=3, start=root))
    return model


def with_wheels(axis, places=(0.0,)):
    """The same with wheels that are free to turn about an axis of the hub, through their mass centres."""
    model = turning()
    for k, y in enumerate(places):
        place, velocity = (0.0, y, 0.0), (-SPIN * y, 0.0, 0.0)
        motion = {"position": place, "velocity": velocity, "angular_velocity": (0.0, 0.0, SPIN)}
        model.add(RigidBody(f"wheel {k}", mass=1.0, inertia=(0.2, 0.2, 0.2), **motion))
        model.add(Revolute(f"bearing {k}", JointEnd("hub", at=place, axis=axis), JointEnd(f"wheel {k}", axis=axis)))
    return model


def with_rotor():
    """The same with a wheel in bearings on the hub, whose stiffness is cross-coupled: it is not symmetric."""
    model, spin = turning(), (0.0, 0.0, SPIN)
    model.add(RigidBody("wheel", mass=1.0, inertia=(0.1, 0.1, 0.2), angular_velocity=spin))
    for name, z in (("upper", 0.2), ("lower", -0.2)):
        ends = {end: SpringEnd(body, at=(0.0, 0.0, z)) for end, body in (("housing", "hub"), ("shaft", "wheel"))}
        model.add(Bearing(name, axis=(0.0, 0.0, 1.0), kxx=300.0, kxy=20.0, kyx=-20.0, kzz=500.0, **ends))
    model.add(femb.Rotor("rotor", 3.0, (0.0, 0.0, 1.0), bodies=("wheel",)))
    return model


def dense(motion):
    """The first-order matrix of the motions that the constraints leave, and a basis of these."""
    from scipy.linalg import null_space

    n = motion.system.n_v
    M, C, K, J = (motion.dense(data) for data in (motion.mass, motion.damping, motion.stiffness, motion.jacobian))
    moving = np.flatnonzero(~motion.held)
    basis = np.eye(n)[:, moving] @ null_space(J[n:, :n][:, moving], rcond=1e-10) if len(J) > n else np.eye(n)[:, moving]
    M, C, K = (basis.T @ A[:n, :n] @ basis for A in (M, C, K))
    one, zero = np.eye(len(M)), np.zeros_like(M)
    return np.block([[zero, one], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]]), np.kron(np.eye(2), basis)


def reduced_force(motion, force):
    """A force on the motions that the constraints leave."""
    _, basis = dense(motion)
    return basis[: len(force), : basis.shape[1] // 2].T @ force


CASES = {
    "free": (turning, 2, 0, 3),
    "free and damped": (lambda: turning(damping=0.01), 2, 0, 3),
    "adrift along its axis": (lambda: turning(drift=0.3), 2, 0, 3),
    "with a wheel across": (lambda: with_wheels((1.0, 0.0, 0.0)), 2, 1, 3),
    "with two wheels beside the centre": (lambda: with_wheels((1.0, 0.0, 0.0), (-0.3, 0.3)), 2, 2, 3),
    "with a wheel about the axis": (lambda: with_wheels((0.0, 0.0, 1.0)), 2, 1, 3),
    "with a rotor in cross-coupled bearings": (with_rotor, 2, 1, 3),
}


@pytest.mark.parametrize("case", CASES)
def test_states_are_invariant(case):
    build, at_rest, joint, across = CASES[case]
    found = solution(build(), 6, start="equilibrium")
    motion, states = found.motion, found.rigid_states
    assert (found.free.rigid, found.free.count - found.free.rigid, states.across) == (at_rest, joint, across)
    X, Y, one = states.states, states.left, np.eye(2 * (at_rest + joint + across))
    np.testing.assert_allclose(Y.T @ X, one, atol=1e-9)
    # M (A X) = M (X L), without the inverse of inertias that are all but zero
    n, XL = motion.system.n_v, X @ states.rates
    np.testing.assert_allclose(X[n:], XL[:n], atol=1e-12)
    for x, rate in zip(X.T, XL.T, strict=True):
        p, v, a = (np.ascontiguousarray(part) for part in (x[:n], x[n:], rate[n:]))
        force = motion.times(motion.mass, a) + motion.damping_times(v) + motion.times(motion.stiffness, p)
        scale = 1e-15 * np.max(np.abs(motion.stiffness)) * np.max(np.abs(p), initial=1e-2)
        assert np.max(np.abs(reduced_force(motion, force))) < scale
    zeros = np.linalg.eigvals(states.rates)
    assert np.all(np.min(np.abs(zeros[:, None] - SPIN * np.array([0.0, 1j, -1j])), axis=1) < 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_modes_are_the_other_eigenvalues(case):
    build, _, _, across = CASES[case]
    found = modes(build(), 8, start="equilibrium")
    A, _ = dense(solution(build(), 1, start="equilibrium").motion)
    poles = np.linalg.eigvals(A)
    poles = poles[poles.imag > 0.05]
    if across:
        # the defective double root and the simple one beside it
        order = np.argsort(np.abs(poles - 1j * SPIN))
        assert np.all(np.abs(poles[order[:3]] - 1j * SPIN) < 1e-3)
        assert abs(poles[order[3]] - 1j * SPIN) > 1e-2
        poles = poles[order[3:]]
    poles = poles[np.argsort(np.abs(poles))][:8]
    np.testing.assert_allclose(found.eigenvalues, poles, rtol=2e-6, atol=2e-6)


def test_a_free_boom_has_six_rigid_motions_and_its_modes_alone():
    """A thin boom of equal second moments may also be turned about its own line: six of six."""
    loaded = load_case(CASE_FILES / "spinning_boom.toml")
    found = modes(loaded.model, 6, start="equilibrium")
    assert (found.rigid, found.joint, found.across) == (6, 0, 3)
    assert "6 rigid-body motions" in found.table()
    assert (
        "3 of the rigid-body motions, across the axis of rotation, have the rate of that, 0.31831 Hz" in found.table()
    )
    assert np.min(found.frequencies) > 0.9
    assert np.max(np.abs(found.damping)) < 1e-12


@pytest.mark.slow
def test_rigid_motions_of_a_fine_mesh():
    """Stiffnesses of short elements are ten powers of ten above what the rotation adds to them."""
    loaded = load_case(CASE_FILES / "spinning_boom.toml", ("beams.boom.elements=400",))
    found = solution(loaded.model, 2, start="equilibrium")
    assert (found.free.rigid, found.across, found.rigid_states.states.shape[1]) == (3, 3, 12)
    np.testing.assert_allclose(np.abs(found.eigenvalues), 2.0 * np.pi * np.array([0.9316, 0.98449]), rtol=3e-4)


@pytest.mark.slow
def test_the_rate_of_a_rotation_stretches_a_boom():
    """The state of another rate has the strain of that rate: a force along the boom by a torque about its axis."""
    found = solution(load_case(CASE_FILES / "spinning_boom.toml").model, 1, start="equilibrium")
    motion, states = found.motion, found.rigid_states
    n = motion.system.n_v
    shapes, rates = states.states[:n], (states.states @ states.rates)[n:]
    for p, v, a in zip(shapes.T, states.states[n:].T, rates.T, strict=True):
        parts = [
            motion.times(motion.mass, np.ascontiguousarray(a)),
            motion.damping_times(np.ascontiguousarray(v)),
            motion.times(motion.stiffness, np.ascontiguousarray(p)),
        ]
        assert np.max(np.abs(sum(parts))) < 1e-8 * max(1e-2, *(np.max(np.abs(part)) for part in parts))


@pytest.mark.slow
def test_a_rigid_body_nutates():
    """Stiff booms: of the modes the first is the nutation, at w sqrt((C - A) (C - B) / (A B))."""
    model = of_parts(hub(inertia=(1.0, 1.2, 1.5), angular_velocity=(0.0, 0.0, SPIN)))
    section = slender(bending_stiffness=[1e5, 1e5], axial_stiffness=1e7, torsional_stiffness=1e5)
    for name, side in (("a", 1.0), ("b", -1.0)):
        root = Attachment("hub", direction=(side, 0.0, 0.0))
        model.add(Beam(name, section, length=1.0, elements=2, start=root))
    found = modes(model, 2, start="equilibrium")
    assert (found.rigid, found.across) == (5, 3)
    A, B, C = 1.0, 1.2 + 2.0 / 3.0, 1.5 + 2.0 / 3.0
    wanted = SPIN * np.sqrt((C - A) * (C - B) / (A * B)) / (2.0 * np.pi)
    assert found.frequencies[0] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.slow
def test_a_held_hub_has_none():
    found = modes(turning(), 3, held="hub", start="equilibrium")
    assert (found.rigid, found.joint, found.across) == (0, 0, 0)
    assert "across" not in found.table()


@pytest.mark.slow
def test_a_sweep_of_the_spin_follows_modes_of_deformation_alone():
    """From the rate at which the rigid motions would be among the lowest to one where they pass bending modes."""
    spins = np.linspace(0.5, 6.0, 8)
    found = mode_sweep(turning, spins, 4, start="equilibrium")
    assert np.min(found.assurance) > 0.7
    for k, spin in enumerate(spins):
        listed = modes(turning(spin), 8, start="equilibrium").frequencies
        assert np.max([np.min(np.abs(listed - f)) for f in found.frequencies[k]]) < 1e-8
        assert np.min(np.abs(2.0 * np.pi * listed - spin)) > 1e-4 * spin


def test_a_hinge_with_a_damper_and_without_a_spring_rests_anywhere():
    """Its place has no frequency and is no mode; its rate dies out, and is one."""
    model = turning(0.0)
    model.add(RigidBody("panel", mass=0.5, inertia=(0.2, 0.2, 0.2), position=(0.0, 0.0, 0.3)))
    ends = JointEnd("hub", at=(0.0, 0.0, 0.3), axis=(0.0, 0.0, 1.0)), JointEnd("panel", axis=(0.0, 0.0, 1.0))
    model.add(Revolute("hinge", *ends))
    model.add(JointSpringDamper("damper", "hinge", stiffness=0.0, damping=0.02))
    found = modes(model, 3, damped=True)
    assert (found.rigid, found.joint) == (6, 1)
    assert np.min(np.abs(found.eigenvalues)) > 1e-3
    assert np.min(np.abs(found.eigenvalues.imag)) == 0.0


@pytest.mark.slow
def test_flexible_bodies_turn_as_beams_do():
    """Booms by their modes have the same rigid-body motions, and a share of the kinetic energy each."""
    blade = BeamModel(1.0, 8, 1.0, 1e4, 1e4, (1.0, 1.0)).reduced(12)
    section = slender(bending_stiffness=[1.0, 1.0], axial_stiffness=1e4, torsional_stiffness=1e4)
    found = []
    for modal in (True, False):
        model = of_parts(hub(inertia=(1.0, 1.2, 1.5), angular_velocity=(0.0, 0.0, SPIN)))
        for name, side in (("a", 1.0), ("b", -1.0)):
            start = Attachment("hub", direction=(side, 0.0, 0.0))
            words = {"start": start, "damping_ratio": 0.0}
            beam = {"length": 1.0, "elements": 8, "start": start}
            model.add(FlexibleBody(name, blade, **words) if modal else Beam(name, section, **beam))
        found.append(modes(model, 5, start="equilibrium"))
    by_modes, by_beams = found
    assert (by_modes.rigid, by_modes.across) == (by_beams.rigid, by_beams.across) == (5, 3)
    np.testing.assert_allclose(by_modes.frequencies, by_beams.frequencies, rtol=5e-4)
    assert by_modes.items == ("bodies.hub", "bodies.a", "bodies.b")
    # what a flexible body does as a rigid body with the hub is counted there
    assert by_modes.labels[:3] == ("bodies.hub", "bodies.a", "bodies.a")
    np.testing.assert_allclose(np.sum(by_modes.energy, axis=1), 1.0, rtol=1e-12)
    assert np.min(by_modes.energy) > -5e-3


@pytest.mark.slow
def test_point_masses_on_rods_of_a_spinning_hub(tmp_path):
    """Rods of length l at a from the axis of a heavy hub: sqrt(1 + a/l) across the plane of rotation, sqrt(a/l) in it,
    by the modes and by the linear model about the same steady motion."""
    spin, a, rod = 0.5, 0.5, 1.0

    def rods(**speed):
        model = femb.Model("rods")
        model.add(RigidBody("hub", mass=1e7, inertia=(1e7, 1e7, 2e7), angular_velocity=(0, 0, spin)))
        for name, side in (("right", 1.0), ("left", -1.0)):
            model.add(PointMass(name, mass=1.0, position=(side * (a + rod), 0, 0), **speed))
            model.add(femb.Distance(f"rod_{name}", JointEnd("hub", at=(side * a, 0, 0)), JointEnd(name)))
        return model

    model = rods()
    found = modes(model, start="equilibrium")
    refuses("got 6 modes to compute, found 5", modes, model, 6, start="equilibrium")
    wanted = spin * np.sqrt(np.repeat([a / rod, 1.0 + a / rod], 2))
    nutation = spin  # of a body with C = 2 A: w (C/A - 1)
    np.testing.assert_allclose(2.0 * np.pi * found.frequencies, np.sort([*wanted, nutation]), rtol=1e-5)
    point = femb.operating_point(model, start="equilibrium")
    values = np.abs(femb.linearize(point).eigenvalues())
    for value in wanted:
        assert np.min(np.abs(values / value - 1.0)) < 1e-5
    assert why_unsteady(Balance.of(point)) == ""
    assert femb.linearize(point).unsteady == ""
    # at rest beside the hub that turns
    slow = femb.linearize(rods(velocity=(0, 0, 0)))
    assert "changes its speed" in slow.unsteady
    assert "unsteady='bodies." in repr(slow)
    assert femb.StateSpace.read(slow.write(tmp_path / "slow.npz")).unsteady == slow.unsteady


def test_massless_wires_of_a_spinning_hub():
    """Four tips of 1 kg on wires of L = 50 m at r = 0.5 m, over the spin: sqrt(1 + r/L) across the plane of rotation,
    sqrt(r/L) in it where the hub is at rest beside them, sqrt((r/L)(1 + N m (r + L)^2/I)) all in phase."""
    spin, r, L, m, inertia = 0.7, 0.5, 50.0, 1.0, 100.0
    model = femb.Model("wires")
    model.add(RigidBody("hub", mass=1e9, inertia=(1e9, 1e9, inertia), angular_velocity=(0, 0, spin)))
    for k, (x, y) in enumerate(((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))):
        model.add(PointMass(f"tip {k}", mass=m, position=((r + L) * x, (r + L) * y, 0)))
        model.add(femb.Distance(f"wire {k}", JointEnd("hub", at=(r * x, r * y, 0)), JointEnd(f"tip {k}")))
    found = 2.0 * np.pi * modes(model, start="equilibrium").frequencies / spin
    in_phase = np.sqrt(r / L * (1.0 + 4.0 * m * (r + L) ** 2 / inertia))
    np.testing.assert_allclose([np.sqrt(1.0 + r / L), in_phase], [1.004987562, 1.014938422], atol=6e-10)
    # the others are of one and two waves around the hub; those that tilt it are 1e-5 off, or its nutation
    for wanted, times in ((1.004987562, 3), (0.1, 3), (1.014938422, 1)):
        assert np.sum(np.abs(found / wanted - 1.0) < 1e-6) == times


def test_a_loose_body_beside_a_tank_of_springs_is_named():
    """The sloshing mass is a point: a turn that its springs resist is none of its motions."""
    tank = femb.SloshingTank("water", 0.4, 0.2, 0.3, 2.0, body="hub", modes=1, model="spring")
    model = of_parts(hub(), tank, RigidBody("b", 1.0, 1.0, position=(3.0, 0.0, 0.0)))
    refuses("'b' can move without stiffness beside the held frame, in 6 ways", femb.modes, model, 2, held="hub")


@pytest.mark.parametrize("place", [(0.0, 0.0, 0.0), (5.0, 0.0, 0.0), (-0.1, 3e3, 7.0)])
@pytest.mark.parametrize("along", [(0.0, 0.0, -1.0), (0.6, 0.0, 0.8)])
def test_a_spring_beside_the_origin_resists_what_one_at_the_origin_does(place, along):
    """Along itself alone: turns about its anchor are sums that cancel, whose rounding is no force."""
    ends = femb.SpringEnd(anchor=np.add(place, along)), femb.SpringEnd("tuned")
    spring = femb.SpringDamper("und", *ends, stiffness=20.0, free_length=1.0)
    found = femb.modes(of_parts(femb.RigidBody("tuned", 1.0, 0.1, position=place), spring))
    np.testing.assert_allclose(found.frequencies, [np.sqrt(20.0) / (2.0 * np.pi)], rtol=1e-9)
