"""Springs and dashpots against closed forms, conservation laws and finite differences."""

import numpy as np
import pytest
from long_runs import slow
from models import of_parts, refuses
from oracles.finite_differences import INERTIA, bodies, only, random_state, slope, tangent_error
from scipy.integrate import simpson

from femb import (
    Beam,
    EulerSpringDamper,
    Load,
    Model,
    ModelError,
    PointMass,
    RigidBody,
    Section,
    SpringDamper,
    SpringEnd,
    Tolerances,
    TorsionSpringDamper,
    simulate,
)
from femb.elements.spring.batch import SpringBatch
from femb.elements.spring.torsion_batch import TorsionBatch
from femb.layout.connections import SingularityError
from femb.numerics import rotations
from femb.numerics.euler import SEQUENCES, euler_rates, from_euler
from femb.system.system import System

TIGHT = {"rtol": 1e-11, "atol": Tolerances(1e-12, 1e-12, 1e-12), "method": "rk"}
A, B = SpringEnd(body="a", at=(0.1, 0.2, -0.3)), SpringEnd(body="b", at=(-0.3, 0.1, 0.2))
BARE_A, BARE_B, GROUND = SpringEnd(body="a"), SpringEnd(body="b"), SpringEnd(body="ground")
EULER = {"stiffness": (2.0, 1.0, 3.0), "damping": (0.7, 0.3, 0.2)}


def tension(length, rate):
    return 3.0 * length**2 + 0.1 * rate, 6.0 * length, 0.1


SPRINGS = {
    "between bodies": SpringDamper("s", start=A, end=B, stiffness=2.0, damping=0.7, free_length=0.4),
    "to a point mass": SpringDamper("s", start=SpringEnd(body="p"), end=B, stiffness=2.0, damping=0.7),
    "to an anchor": SpringDamper("s", start=SpringEnd(anchor=(3, 1, 1)), end=B, stiffness=2.0, damping=0.7),
    "to the ground": SpringDamper("s", start=A, end=SpringEnd(body="ground", at=(0, 3, 0)), stiffness=2.0, damping=0.7),
    "without length": SpringDamper("s", start=A, end=B, stiffness=2.0, damping=0.7, free_length=0.0),
    "dashpot": SpringDamper("s", start=A, end=B, damping=0.7),
}
TORSION = {"between bodies": (BARE_A, BARE_B), "from the ground": (GROUND, BARE_B), "to the ground": (BARE_A, GROUND)}
torsion_ends = pytest.mark.parametrize("ends", TORSION.values(), ids=TORSION)


def euler_springs():
    """Every sequence in both frames that it has."""
    for sequence in SEQUENCES:
        yield sequence, "dual_euler"
        if sequence[0] != sequence[2]:
            yield sequence, "body"


# Tangents and powers


@pytest.mark.parametrize("name", SPRINGS)
def test_tangent(name):
    assert tangent_error(only(bodies(SPRINGS[name]), SpringBatch)) < 1e-10


@torsion_ends
def test_tangent_about_an_axis(ends):
    words = {"axis": (1, 2, 3), "stiffness": 2.0, "damping": 0.7, "free_angle": 0.3}
    spring = TorsionSpringDamper("t", start=ends[0], end=ends[1], **words)
    # with this seed no state is at half a turn, where the angle jumps
    assert tangent_error(only(bodies(spring), TorsionBatch), seed=1) < 1e-9


@torsion_ends
@pytest.mark.parametrize(("sequence", "frame"), list(euler_springs()))
def test_tangent_on_euler_angles(ends, sequence, frame):
    spring = EulerSpringDamper("e", start=ends[0], end=ends[1], sequence=sequence, frame=frame, **EULER)
    assert tangent_error(only(bodies(spring), TorsionBatch)) < 3e-8


def callables():
    yield SpringDamper("s", start=A, end=B, stiffness=2.0, force=tension)
    yield TorsionSpringDamper("t", start=BARE_A, end=BARE_B, axis=(1, 2, 3), stiffness=2.0, torque=tension)


@pytest.mark.parametrize("spring", list(callables()), ids=["point", "torsion"])
def test_tangent_of_a_callable(spring):
    """Inputs change with the state: the derivatives that the callable returns make up for it."""
    system = only(bodies(spring), SpringBatch, TorsionBatch)
    rng = np.random.default_rng(0)
    for _ in range(4):
        q, v, a, _ = random_state(system, rng)
        damping, stiffness = (
            system.pattern.to_csc(data).toarray() for data in system.tangent(system.inputs_at(0.0, q, v), q, v, a)
        )
        dx, dv = rng.standard_normal((2, system.n_v))

        def at(e, q=q, v=v, a=a, dx=dx, dv=dv):
            moved, moving = q + e * system.rates(q[None], dx[None])[0], v + e * dv
            u = system.inputs_at(0.0, moved, moving)
            return system.residual(u[None], moved[None], moving[None], a[None])[0]

        wanted = slope(at)
        np.testing.assert_allclose(stiffness @ dx + damping @ dv, wanted, atol=1e-8 * np.abs(wanted).max())


def every_spring():
    yield from SPRINGS.values()
    yield TorsionSpringDamper("t", start=BARE_A, end=BARE_B, axis=(1, 2, 3), stiffness=2.0, damping=0.7)
    for sequence, frame in euler_springs():
        yield EulerSpringDamper("e", start=BARE_A, end=BARE_B, sequence=sequence, frame=frame, **EULER)


@pytest.mark.parametrize(
    "spring", list(every_spring()), ids=lambda spring: f"{spring.name}-{getattr(spring, 'frame', '')}"
)
def test_power_is_what_the_energy_loses(spring):
    """The energy changes by the power of the residual and of what is ``applied``; dashpots never gain."""
    system = only(bodies(spring), SpringBatch, TorsionBatch)
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v, a, u = random_state(system, rng)
        rate = system.rates(q[None], v[None])[0]
        h = 1e-4
        energies = [system.energy_momentum((q + e * rate)[None], v[None])[0, 1] for e in (-2 * h, -h, h, 2 * h)]
        change = np.dot([1, -8, 8, -1], energies) / (12 * h)
        total = system.residual(u[None], q[None], v[None], a[None])[0] @ v
        work = system.power(u[None], q[None], v[None])[0]
        assert change == pytest.approx(total + work, rel=1e-8, abs=1e-8)
        if getattr(spring, "frame", "") != "body":
            assert work <= 0.0


@pytest.mark.parametrize(
    "spring", list(every_spring()), ids=lambda spring: f"{spring.name}-{getattr(spring, 'frame', '')}"
)
def test_action_and_reaction(spring):
    """What acts between bodies has no resultant; what ends on the ground is not asked."""
    if "ground" in (spring.start.body, spring.end.body) or spring.start.anchor is not None:
        return
    system = only(bodies(spring), SpringBatch, TorsionBatch)
    rng = np.random.default_rng(2)
    q, v, a, u = random_state(system, rng)
    force = system.residual(u[None], q[None], v[None], a[None])[0]
    assert np.abs(system.rigid_velocities(q) @ force).max() < 1e-13 * np.abs(force).max()


# Oscillators


def ball_on_spring(end=(0, 0, 0), velocity=(0, 0, 0), position=(1, 0, 0), **words):
    model = Model("oscillator")
    model.add(PointMass("ball", mass=2.0, position=position, velocity=velocity))
    model.add(SpringDamper("spring", start=SpringEnd(anchor=end), end=SpringEnd(body="ball"), **words))
    return model


@pytest.mark.parametrize("method", ["rk", "radau"])
def test_damped_oscillator(method):
    """x'' + 2 d x' + w2 x = 0 about the free length."""
    model = ball_on_spring(position=(1.2, 0, 0), stiffness=8.0, damping=1.2, free_length=1.0)
    results = simulate(model, duration=5.0, **(TIGHT | {"method": method}))
    t, w, d = results.time, 2.0, 0.3
    s = np.sqrt(w * w - d * d)
    wanted = 1.0 + 0.2 * np.exp(-d * t) * (np.cos(s * t) + d / s * np.sin(s * t))
    np.testing.assert_allclose(results.bodies["ball"].position[:, 0], wanted, atol=1e-10)
    assert np.abs(results.audit.energy_error).max() < 1e-10
    assert results.audit.work[-1] == pytest.approx(-0.16, rel=0.1)


def test_a_spring_without_length_makes_ellipses():
    model = ball_on_spring(velocity=(0, 3, 0), stiffness=8.0, free_length=0.0)
    results = simulate(model, duration=5.0, **TIGHT)
    t = results.time
    wanted = np.stack([np.cos(2 * t), 1.5 * np.sin(2 * t), 0 * t], axis=1)
    np.testing.assert_allclose(results.bodies["ball"].position, wanted, atol=1e-9)


def test_a_spring_without_length_passes_its_anchor():
    results = simulate(ball_on_spring(stiffness=8.0, free_length=0.0), duration=3.0, **TIGHT)
    np.testing.assert_allclose(results.bodies["ball"].position[:, 0], np.cos(2 * results.time), atol=1e-9)


def test_a_callable_is_as_good_as_a_stiffness():
    built_in = simulate(ball_on_spring(position=(1.2, 0, 0), stiffness=8.0, damping=1.2, free_length=1.0), duration=2.0)
    law = ball_on_spring(position=(1.2, 0, 0), force=lambda length, rate: (8.0 * (length - 1.0) + 1.2 * rate, 8.0, 1.2))
    plain = ball_on_spring(position=(1.2, 0, 0), force=lambda length, rate: 8.0 * (length - 1.0) + 1.2 * rate)
    for model in (law, plain):
        results = simulate(model, duration=2.0)
        found, wanted = results.bodies["ball"].position, built_in.bodies["ball"].position
        np.testing.assert_allclose(found, wanted, atol=1e-5)
        assert np.abs(results.audit.potential_energy).max() == 0.0
        assert np.abs(results.audit.energy_error).max() < 1e-5


def test_a_callable_that_returns_nonsense_is_named():
    with pytest.raises(Exception, match=r"springs\.spring\.force: got .* wanted one number or 3 numbers"):
        simulate(ball_on_spring(force=lambda length, rate: (1.0, 2.0)), duration=1.0)


def dumbbell(**words):
    """Two bodies, spinning, with a spring between points off their mass centres."""
    return of_parts(
        RigidBody("a", mass=1.0, inertia=INERTIA, angular_velocity=(1.0, -0.5, 0.3)),
        RigidBody("b", mass=1.5, inertia=INERTIA, position=(2, 0, 0), velocity=(0, 0.5, 0.1)),
        *words.values(),
    )


def test_two_bodies_keep_their_momentum():
    spring = SpringDamper("s", start=A, end=B, stiffness=5.0, damping=0.3, free_length=1.0)
    torsion = TorsionSpringDamper("t", start=BARE_A, end=BARE_B, axis=(1, 0, 0), stiffness=1.0, damping=0.1)
    euler = EulerSpringDamper("e", start=BARE_A, end=BARE_B, stiffness=1.0, damping=(0.1, 0.2, 0.3))
    results = simulate(dumbbell(spring=spring, torsion=torsion, euler=euler), duration=3.0, **TIGHT)
    audit = results.audit
    for momentum in (audit.linear_momentum, audit.angular_momentum):
        assert np.abs(momentum - momentum[0]).max() < 1e-9
    assert np.abs(audit.energy_error).max() < 1e-9
    assert np.all(np.diff(audit.work) < 0.0)


def test_two_balls_vibrate_with_their_reduced_mass():
    model = Model("balls")
    model.add(PointMass("a", mass=1.0, position=(0, 0, 0)))
    model.add(PointMass("b", mass=3.0, position=(1.1, 0, 0)))
    model.add(SpringDamper("s", start=BARE_A, end=BARE_B, stiffness=12.0, free_length=1.0))
    results = simulate(model, duration=4.0, **TIGHT)
    gap = results.bodies["b"].position[:, 0] - results.bodies["a"].position[:, 0]
    np.testing.assert_allclose(gap, 1.0 + 0.1 * np.cos(4.0 * results.time), atol=1e-10)


def wheel(spring, rate=0.0, **words):
    return of_parts(RigidBody("b", mass=1.0, inertia=(0.5, 0.6, 0.7), angular_velocity=(0, 0, rate), **words), spring)


@pytest.mark.parametrize(
    ("method", "attitude"),
    [("rk", (0, 0, 0)), ("rk", (0.3, -0.8, 1.1)), slow(("radau", (0, 0, 0))), ("radau", (0.3, -0.8, 1.1))],
)
def test_torsional_oscillator(method, attitude):
    """About a principal axis, whatever the attitude at the start: J a'' + c a' + k (a - a0) = 0."""
    axis = rotations.rotate(from_euler(attitude), np.array([0.0, 0.0, 1.0]))
    spring = TorsionSpringDamper("t", start=GROUND, end=BARE_B, axis=axis, stiffness=2.8, damping=0.42, free_angle=1.0)
    results = simulate(wheel(spring, euler_angles=attitude), duration=6.0, **(TIGHT | {"method": method}))
    t, w, d = results.time, 2.0, 0.3
    s = np.sqrt(w * w - d * d)
    wanted = 1.0 - np.exp(-d * t) * (np.cos(s * t) + d / s * np.sin(s * t))
    turn = rotations.multiply(rotations.conjugate(from_euler(attitude)), results.bodies["b"].quaternion)
    np.testing.assert_allclose(2.0 * np.arctan2(turn[:, 3], turn[:, 0]), wanted, atol=1e-10)
    assert np.abs(results.audit.energy_error).max() < 1e-9


@pytest.mark.parametrize("frame", ["dual_euler", "body"])
@pytest.mark.parametrize("axis", range(3))
def test_euler_springs_are_torsion_springs_about_one_axis(axis, frame):
    """Turned about one axis only, both kinds are k and c of that angle, at any size of it below a quarter turn."""
    start = 1.2 * np.eye(3)[axis]
    free = np.zeros(3)
    words = {"stiffness": (2.0, 2.4, 2.8), "damping": (0.3, 0.36, 0.42)}
    spring = EulerSpringDamper("e", start=GROUND, end=BARE_B, free_angles=free, frame=frame, **words)
    model = of_parts(RigidBody("b", mass=1.0, inertia=(0.5, 0.6, 0.7), euler_angles=start), spring)
    results = simulate(model, duration=4.0, **TIGHT)
    t, w, d = results.time, 2.0, 0.3
    s = np.sqrt(w * w - d * d)
    wanted = 1.2 * np.exp(-d * t) * (np.cos(s * t) + d / s * np.sin(s * t))
    np.testing.assert_allclose(results.bodies["b"].euler_angles()[:, axis], wanted, atol=1e-9)
    assert np.abs(results.audit.energy_error).max() < 1e-9


def test_moments_of_the_euler_spring():
    """Virtual work: -k_m (angle_m - free_m) a radian of angle m; the other kind agrees for small angles."""
    rng = np.random.default_rng(3)
    for sequence in SEQUENCES[:6]:
        for size, bound in ((1.0, None), (1e-4, 1e-7)):
            torques = {}
            for frame in ("dual_euler", "body"):
                words = {"stiffness": (2.0, 1.0, 3.0), "free_angles": (0.0, 0.0, 0.0), "sequence": sequence}
                spring = EulerSpringDamper("e", start=GROUND, end=BARE_B, frame=frame, **words)
                angles = size * np.array([0.3, 0.5, -0.8])
                model = wheel(spring, euler_angles=angles, euler_sequence=sequence)
                system = only(model, TorsionBatch)
                zero = np.zeros((1, 6))
                torques[frame] = -system.residual(np.zeros((1, 0)), system.q0[None], zero, zero)[0, 3:]
            omega = rng.standard_normal(3)
            work = -np.array([2.0, 1.0, 3.0]) * angles @ euler_rates(from_euler(angles, sequence), omega, sequence)
            assert torques["dual_euler"] @ omega == pytest.approx(work, rel=1e-11)
            if bound:
                assert np.abs(torques["dual_euler"] - torques["body"]).max() < bound


# Where springs end


def test_ends_that_meet():
    """A ball shot at its anchor arrives at a known time, and the run says so."""
    model = ball_on_spring(position=(1, 0, 0), velocity=(-4, 0, 0), stiffness=8.0, free_length=1.0)
    with pytest.raises(SingularityError, match=r"springs\.spring: its two ends meet") as error:
        simulate(model, duration=2.0, rtol=1e-9)
    assert error.value.time == pytest.approx(0.5 * np.arcsin(0.5), abs=1e-7)  # 1 - 2 sin(2 t) = 0
    assert error.value.results.status == "failed"


@pytest.mark.parametrize("method", ["rk", "radau"])
def test_half_a_turn(method):
    spring = TorsionSpringDamper("t", start=GROUND, end=BARE_B, axis=(0, 0, 1), stiffness=1e-9)
    with pytest.raises(SingularityError, match=r"springs\.t: its angle reaches half a turn") as error:
        simulate(wheel(spring, rate=2.0), duration=5.0, method=method)
    assert error.value.time == pytest.approx(np.pi / 2.0, abs=1e-6)


def test_a_dashpot_turns_for_ever():
    spring = TorsionSpringDamper("t", start=GROUND, end=BARE_B, axis=(0, 0, 1), damping=0.07)
    results = simulate(wheel(spring, rate=20.0), duration=5.0, **TIGHT)
    spin = results.bodies["b"].angular_velocity[:, 2]
    np.testing.assert_allclose(spin, 20.0 * np.exp(-0.1 * results.time), rtol=1e-9)


def test_euler_angles_end_at_half_a_turn_and_at_lock():
    words = {"stiffness": (0.0, 0.0, 1e-9)}
    spring = EulerSpringDamper("e", start=GROUND, end=BARE_B, **words)
    with pytest.raises(SingularityError, match="its third angle reaches half a turn") as error:
        simulate(wheel(spring, rate=2.0), duration=5.0)
    assert error.value.time == pytest.approx(np.pi / 2.0, abs=1e-6)
    model = of_parts(RigidBody("b", mass=1.0, inertia=1.0, angular_velocity=(0, 1, 0)), spring)
    with pytest.raises(SingularityError, match="gimbal lock of the sequence xyz") as error:
        simulate(model, duration=5.0)
    assert error.value.time == pytest.approx(np.pi / 2.0, abs=1e-6)


# Results


def test_results_of_a_spring_between_points():
    """Against the positions of its ends; a callable is part of the force, and the force does the work."""
    spring = SpringDamper("s", start=A, end=B, stiffness=5.0, damping=0.3, free_length=1.0, force=tension)
    results = simulate(dumbbell(spring=spring), duration=2.0, output_interval=1e-3, **TIGHT)
    found = results.springs["s"]
    points = [
        results.bodies[end.body].position + rotations.rotate(results.bodies[end.body].quaternion, end.at)
        for end in (A, B)
    ]
    np.testing.assert_allclose(found.length, np.linalg.norm(points[1] - points[0], axis=1), rtol=1e-12)
    np.testing.assert_allclose(np.gradient(found.length, 1e-3)[1:-1], found.rate[1:-1], atol=1e-4)
    wanted = 5.0 * (found.length - 1.0) + 0.3 * found.rate + tension(found.length, found.rate)[0]
    np.testing.assert_allclose(found.force, wanted, rtol=1e-12)
    kinetic = results.audit.kinetic_energy
    power = found.force * found.rate
    assert kinetic[-1] - kinetic[0] == pytest.approx(-simpson(power, dx=1e-3), rel=1e-6)


@pytest.mark.parametrize("law", [None, tension])
def test_results_of_a_torsion_spring(law):
    """The angle is the component of the turn about the axis; the moment does the work, whatever else turns."""
    words = {"axis": (1, 2, 2), "stiffness": 2.0, "damping": 0.3, "free_angle": 0.4, "torque": law}
    spring = TorsionSpringDamper("t", start=BARE_A, end=BARE_B, **words)
    results = simulate(dumbbell(spring=spring), duration=1.0, output_interval=1e-3, **TIGHT)
    found = results.springs["t"]
    np.testing.assert_allclose(np.gradient(found.angle, 1e-3)[1:-1], found.rate[1:-1], atol=1e-5)
    wanted = 2.0 * (found.angle - 0.4) + 0.3 * found.rate + (law(found.angle, found.rate)[0] if law else 0.0)
    np.testing.assert_allclose(found.force, wanted, rtol=1e-12)
    power, kinetic = found.force * found.rate, results.audit.kinetic_energy
    assert kinetic[-1] - kinetic[0] == pytest.approx(-simpson(power, dx=1e-3), rel=1e-6)
    if law is None:
        np.testing.assert_allclose(results.audit.potential_energy, (found.angle - 0.4) ** 2, atol=1e-12)


@pytest.mark.parametrize("frame", ["dual_euler", "body"])
@pytest.mark.parametrize("sequence", ["xyz", "zxy"])
def test_results_of_an_euler_spring(sequence, frame):
    """Three moments a time; along the dual basis, and along the axes of the end, they do the work."""
    words = {"sequence": sequence, "frame": frame, "free_angles": (0.1, -0.2, 0.3)}
    spring = EulerSpringDamper("e", start=BARE_A, end=BARE_B, **words, **EULER)
    results = simulate(dumbbell(spring=spring), duration=1.0, output_interval=1e-3, **TIGHT)
    found = results.springs["e"]
    assert found.force.shape == found.angle.shape == found.rate.shape == (1001, 3)
    if frame == "dual_euler":
        np.testing.assert_allclose(np.gradient(found.angle, 1e-3, axis=0)[1:-1], found.rate[1:-1], atol=1e-4)
    wanted = np.array(EULER["stiffness"]) * (found.angle - (0.1, -0.2, 0.3)) + np.array(EULER["damping"]) * found.rate
    np.testing.assert_allclose(found.force, wanted, rtol=1e-12, atol=1e-12)
    power, kinetic = np.sum(found.force * found.rate, axis=1), results.audit.kinetic_energy
    assert kinetic[-1] - kinetic[0] == pytest.approx(-simpson(power, dx=1e-3), rel=1e-6)


# In a model


SOFT = Section("soft", 1.1, (1.3, 0.4), 0.7, 0.9, 200.0, 150.0)


def test_a_spring_across_a_tree_closes_a_loop():
    """Hub and beam are a tree; a spring from the hub to the tip makes a loop, which changes the solver only."""
    model = Model("loop")
    hub = model.add(RigidBody("hub", mass=1.0, inertia=INERTIA, angular_velocity=(0.1, 0.2, 0.3)))
    beam = model.add(Beam("boom", section=SOFT, length=2.0, elements=2, start=hub.at((0, 0, 0), direction=(1, 0, 0))))
    assert System(model).layout.is_tree
    anchor = SpringEnd(anchor=(0, 0, 5))
    model.add(SpringDamper("stay", start=anchor, end=beam.node(-1), stiffness=1.0))
    assert System(model).layout.is_tree  # what does not move couples nothing
    model.add(SpringDamper("cable", start=hub.at((0, 1, 0)), end=beam.node(-1), stiffness=30.0, damping=1.0))
    system = System(model)
    assert not system.layout.is_tree
    results = simulate(model, duration=0.5, rtol=1e-7)
    assert np.abs(results.audit.energy_error).max() < 1e-6
    explicit = simulate(model, duration=0.5, method="rk", rtol=1e-8)
    tips = [each.beams["boom"].position[-1, -1] for each in (results, explicit)]
    np.testing.assert_allclose(*tips, atol=1e-6)


def test_springs_do_not_pass_on_start_velocities():
    spring = SpringDamper("s", start=A, end=B, stiffness=5.0)
    system = System(dumbbell(spring=spring))
    np.testing.assert_allclose(system.v0[system.layout.frame_v[1] : system.layout.frame_v[1] + 3], (0, 0.5, 0.1))


def test_hanging_at_rest():
    """Static equilibrium on springs: a body below four of them, its weight their vertical pull."""
    model = Model("hanging", gravity=(0, 0, -9.81))
    model.add(RigidBody("b", mass=2.0, inertia=0.1))
    for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        words = {"stiffness": 50.0, "free_length": 1.0, "damping": 0.5}
        end = SpringEnd(body="b", at=(0.2 * x, 0.2 * y, 0))
        model.add(SpringDamper(f"s{k}", start=SpringEnd(anchor=(x, y, 1)), end=end, **words))
    results = simulate(model, duration=0.1, start="equilibrium")
    depth = 1.0 - results.bodies["b"].position[:, 2]
    length = np.hypot(np.hypot(0.8, 0.8), depth)
    np.testing.assert_allclose(4 * 50.0 * (length - 1.0) * depth / length, 2.0 * 9.81, rtol=1e-6)
    assert np.ptp(depth) < 1e-9


def test_ends_may_be_what_bodies_and_beams_return():
    body = RigidBody("b", mass=1.0, inertia=1.0)
    spring = SpringDamper("s", start=body.at((1, 2, 3)), end=SpringEnd(anchor=(0, 0, 0)), stiffness=1.0)
    assert isinstance(spring.start, SpringEnd)
    assert spring.start.at.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("make", "item"),
    [
        (lambda: SpringDamper("s", start=A, end="b", stiffness=1.0), ("springs", "s", "end")),
        (lambda: SpringDamper("s", start=A, end=B, force=3.0), ("springs", "s", "force")),
        (lambda: SpringDamper("s", start=A, end=B, stiffness=-1.0), ("springs", "s", "stiffness")),
        (lambda: SpringDamper("s", start=A, end=B), ("springs", "s", "stiffness")),
        (lambda: TorsionSpringDamper("s", start=A, end=BARE_B, axis=(1, 0, 0), stiffness=1.0), None),
        (lambda: EulerSpringDamper("s", start=BARE_A, end=BARE_B), ("springs", "s", "stiffness")),
        (lambda: EulerSpringDamper("s", start=BARE_A, end=BARE_B, stiffness=(1, -1, 0)), ("springs", "s", "stiffness")),
        (lambda: System(bodies(SpringDamper("s", start=A, end=A, stiffness=1.0))), ("springs", "s", "end")),
        (
            lambda: System(bodies(SpringDamper("s", start=GROUND, end=SpringEnd(anchor=(1, 0, 0)), stiffness=1.0))),
            ("springs", "s", "end"),
        ),
        (
            lambda: System(bodies(SpringDamper("s", start=A, end=SpringEnd(body="p", at=(1, 0, 0)), stiffness=1.0))),
            ("springs", "s", "end", "at"),
        ),
        (
            lambda: System(
                bodies(TorsionSpringDamper("s", BARE_A, SpringEnd(body="p"), axis=(1, 0, 0), stiffness=1.0))
            ),
            ("springs", "s", "end", "body"),
        ),
    ],
)
def test_refused(make, item):
    with pytest.raises(ModelError) as error:
        make()
    if item is not None:
        assert [problem.item for problem in error.value.problems] == [item]


def test_a_start_at_gimbal_lock_is_refused():
    spring = EulerSpringDamper("e", start=GROUND, end=BARE_B, stiffness=1.0, sequence="zxz")
    refuses("at whose gimbal lock its ends start", System, wheel(spring))


def test_a_fixed_point_mass_is_no_place():
    model = bodies(SpringDamper("s", start=A, end=SpringEnd(body="bob"), stiffness=1.0))
    model.add(PointMass("bob", mass=1.0, on=SpringEnd(body="b")))
    model.add(Load("l", body="bob", force=(1, 0, 0)))
    with pytest.raises(ModelError, match="a point mass fixed to body 'b': give that instead") as error:
        model.check()
    assert len(error.value.problems) == 2
