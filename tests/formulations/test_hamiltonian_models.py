"""Formulation "hamiltonian" of a Model against the velocity form: accelerations, motions, momenta, latches, refusals.

Both see the same Model; of the momentum form's equations only the way in which forces reach the segments is shared.
"""

from dataclasses import replace

import numpy as np
import pytest
from checkout import CASES
from long_runs import slow
from models import of_parts, refuses
from oracles.random_trees import KINDS, random_model
from shared_runs import said

import femb
from femb.base.errors import ModelError
from femb.formulations.hamiltonian.momentum_form import MomentumForm
from femb.formulations.hamiltonian.of_model import small_motion
from femb.layout.element import Batch, TrialError
from femb.layout.terms import MassMatrix
from femb.profiles import Sine
from femb.run.events import Event, switched
from femb.system.system import System

TIGHT = {"rtol": 1e-12, "atol": femb.Tolerances(1e-13, 1e-13, 1e-13)}
X, Y, Z = np.eye(3)


def moved(form, rng, size=0.5):
    """A random state of a form near its start: q, v."""
    q = form.q0 + size * rng.standard_normal(form.n_q)
    form.normalise(q)
    rate, base = rng.standard_normal(form.tree.n), rng.standard_normal(6)
    return q, form.momentum_equations.momenta(q, rate, base)


def slope(form, q, v, dq, dv, of):
    """Rate of a function of the state along (dq, dv), by differences of order six."""
    h = 3e-4
    terms = [w * (of(q + k * h * dq, v + k * h * dv) - of(q - k * h * dq, v - k * h * dv)) for k, w in DIFFERENCES]
    return sum(terms) / (60.0 * h)


DIFFERENCES = ((1, 45.0), (2, -9.0), (3, 1.0))


def both_accelerations(form, q, v, t=0.0):
    """The System's accelerations at a state of the form, by the velocity form and by the tree's recursion."""
    system, layout = form.system, form.layout
    Q, V = (each[0] for each in form.to_system(q[None], v[None]))
    u = system.inputs_at(t, Q, V)
    found = form.accelerations(u, q, v)
    mine, motion = np.empty(system.n_v), found.motion
    for frame, on in form.map.frames.items():
        if not on.moves:
            mine[layout.frame_v[frame] : layout.frame_v[frame] + 6] = 0.0
            continue
        k, j = on.segment + 1, layout.frame_v[frame]
        x = motion.hinge[k] + motion.R[k] @ on.origin
        spin, turning = motion.v[k, :3], found.a[k, :3]
        speed = motion.v[k, 3:] + np.cross(spin, x)
        mine[j : j + 3] = found.a[k, 3:] + np.cross(turning, x) + np.cross(spin, speed)
        mine[j + 3 : j + 6] = on.axes.T @ motion.R[k].T @ turning
    return system.acceleration(u, Q, V), mine


def velocity_rates(form, q, v, t):
    """The rate of the System's velocities along q', p'."""
    dq, dv = form.rates(q[None], v[None])[0], form.acceleration(form.inputs_at(t, q, v), q, v)
    return slope(form, q, v, dq, dv, lambda q, v: form.to_system(q[None], v[None])[1][0])


def load_at_random(model, rng):
    """Something of every kind of force on the bodies and joints of a random model."""
    bodies = [name for name in model.bodies if name != "ground"]
    rng.shuffle(bodies)
    for k, frame in enumerate(("inertial", "body")):
        words = {"force": rng.standard_normal(3), "torque": rng.standard_normal(3), "at": 0.3 * rng.standard_normal(3)}
        model.add(
            femb.Load(
                f"load {k}", body=bodies[k % len(bodies)], frame=frame, profile=Sine(1.0, 0.3, phase=0.7), **words
            )
        )
    last = bodies[-1]
    model.add(femb.Load("euler", body=last, torque=rng.standard_normal(3), frame="dual_euler", damping=0.2))

    def control(t, state):
        body = state.bodies[last]
        return np.sin(t) - 0.3 * body.velocity + np.cross(body.position, (0.0, 0.1, 0.2))

    model.add(femb.Load("control", body=last, force=control))
    slopes = {"force_by_velocity": -0.3 * np.eye(3), "torque_by_angular_velocity": -0.1 * np.eye(3)}
    model.add(femb.AerodynamicLoad("air", body=bodies[0], wind=(1.0, 2.0, 0.5), **slopes))
    ends = femb.SpringEnd(bodies[0], at=(0.2, 0, 0)), femb.SpringEnd(anchor=(3.0, 1.0, -2.0))
    model.add(femb.SpringDamper("spring", *ends, stiffness=20.0, damping=0.5, free_length=1.0))
    model.add(femb.Pull("pull", *ends, force=2.0))
    words = {"axis": Z, "stiffness": 1.0, "damping": 0.1}
    model.add(femb.TorsionSpringDamper("torsion", femb.SpringEnd(bodies[0]), femb.SpringEnd(last), **words))
    for name, joint in model.tables["joints"].items():
        words = [each.name for each in joint.coordinates]
        if words:
            where = {"joint": name, "coordinate": words[rng.integers(len(words))]}
            model.add(femb.JointSpringDamper(f"{name} spring", **where, stiffness=5.0, damping=0.3, free=0.2))
            model.add(femb.JointSpringDamper(f"{name} law", **where, force=lambda c, rate: c**3 + rate * abs(rate)))
            model.add(femb.JointFriction(name=f"{name} friction", **where, coulomb=0.3, transition_rate=0.2))
            model.add(femb.JointStops(name=f"{name} stops", **where, lower=-0.1, upper=0.1, stiffness=50.0))
            model.add(femb.JointMotor(name=f"{name} motor", **where, force=0.7))


# Accelerations


@pytest.mark.parametrize("ground", [True, False], ids=["ground", "free"])
@pytest.mark.parametrize("loaded", [False, True], ids=["weight", "every force"])
def test_accelerations_are_those_of_the_velocity_form(ground, loaded):
    """On random trees with all kinds of joints, in either direction, under weight and everything else."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        model = random_model(rng, int(rng.integers(2, 9)), ground=ground)
        if loaded:
            load_at_random(model, rng)
        form = MomentumForm(System(model, assemble=True))
        q, v = moved(form, rng)
        wanted, got = both_accelerations(form, q, v, t=0.4)
        size = np.abs(wanted).max()
        np.testing.assert_allclose(got, wanted, rtol=0.0, atol=1e-11 * size, err_msg=str(seed))
        # and the rates of momenta are those which give the bodies these accelerations
        np.testing.assert_allclose(velocity_rates(form, q, v, 0.4), wanted, rtol=0.0, atol=1e-9 * size)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_kind_of_joint(kind):
    """Two bodies in a row, with as many hinges as the joint leaves free; constraints met and states found back."""
    for seed, ground in ((1, True), (2, False)):
        rng = np.random.default_rng(seed)
        model = random_model(rng, 3, kinds=(kind,), ground=ground)
        if kind is femb.Fixed:
            model.add(femb.Revolute("turn", femb.JointEnd("b0", axis=Z), femb.JointEnd("hung")))
            model.add(femb.RigidBody("hung", mass=1.0, inertia=(1.0, 2.0, 2.5), center_of_mass=(0.3, 0.2, 0.1)))
        if kind is femb.Fixed and ground:
            continue  # everything is welded to the ground but the last
        system = System(model, assemble=True)
        form = MomentumForm(system)
        assert form.n_v == system.n_v - system.n_c
        q, v = moved(form, rng)
        Q, V = form.to_system(q[None], v[None])
        u = system.inputs_at(0.0, Q[0], V[0])
        assert np.abs(system.constraints(u[None], Q, V)[0]).max(initial=0.0) < 1e-14 * (1.0 + np.abs(Q).max())
        assert np.abs(system.constraint_rates(u[None], Q, V)).max(initial=0.0) < 1e-13 * np.abs(V).max()
        again = form.at(q).from_system(Q[0], V[0])
        np.testing.assert_allclose(again[0], q, atol=1e-12)
        np.testing.assert_allclose(again[1], v, rtol=0.0, atol=1e-11 * np.abs(v).max())
        wanted, got = both_accelerations(form, q, v)
        np.testing.assert_allclose(got, wanted, rtol=0.0, atol=1e-12 * np.abs(wanted).max())


def test_second_rates_and_momenta_belong_together():
    """q'' of p' is the rate of q', and p that of q': what the interpolants of fixed-step methods stand on."""
    for seed, ground in ((3, True), (4, False)):
        rng = np.random.default_rng(seed)
        model = random_model(rng, 5, ground=ground)
        load_at_random(model, rng)
        form = MomentumForm(System(model, assemble=True))
        q, v = moved(form, rng)
        u = form.inputs_at(0.3, q, v)
        dq, dv = form.rates(q[None], v[None])[0], form.acceleration(u, q, v)
        wanted = slope(form, q, v, dq, dv, lambda q, v, form=form: form.rates(q[None], v[None])[0])
        np.testing.assert_allclose(
            form.second_rates(q[None], v[None], dv[None])[0], wanted, atol=1e-9 * abs(wanted).max()
        )
        np.testing.assert_allclose(form.tangents(q, dq[None])[0], v, rtol=0.0, atol=1e-12 * np.abs(v).max())


# Cases


def results_of(name, formulation, **options):
    """A case in a formulation, at tolerances near rounding."""
    case = femb.load_case(CASES / f"{name}.py")
    return femb.simulate(case.model, replace(case.run, formulation=formulation, **TIGHT, **options))


def differences(one, other):
    """Largest difference of each array of bodies and joints, by name; of accelerations as a part of the largest."""
    found = {}
    for name in [name for name in one.arrays if name.startswith(("bodies/", "joints/"))]:
        size = np.abs(other.arrays[name]).max() if "acceleration" in name else 1.0
        found[name] = np.abs(one.arrays[name] - other.arrays[name]).max() / max(size, 1.0)
    return found


@pytest.mark.slow
def test_chain_of_universal_joints_moves_alike():
    """2 s of the chain in both formulations and by Gauss steps, to 1e-9; everything a result file holds of it."""
    wanted = results_of("chain_universal", "velocity")
    runs = [results_of("chain_universal", "hamiltonian")]
    runs.append(results_of("chain_universal", "hamiltonian", method="gauss", order=6, step=2.5e-3))
    for results in runs:
        assert set(results.arrays) == set(wanted.arrays)
        assert np.ptp(results.joints["joint_1"].coordinates, axis=0).min() > 1.0
        assert max(differences(results, wanted).values()) < 1e-9
        assert np.abs(results.audit.energy_error).max() < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("name", [slow("rotor_floating"), "array_deployment"])
def test_free_trees_keep_their_momenta(name, tmp_path):
    """By the command line: to 1e-13 of what the parts have, through latches too."""
    out = tmp_path / "out"
    said("run", CASES / f"{name}.py", "--out", out)
    results = femb.Results.read(out / "results.h5")
    model = femb.load_case(CASES / f"{name}.py").model
    parts = {key: np.abs(body.velocity).max() * model.bodies[key].mass for key, body in results.bodies.items()}
    size, reach = sum(parts.values()), max(np.abs(body.position).max() for body in results.bodies.values())
    for momentum, scale in ((results.audit.linear_momentum, size), (results.audit.angular_momentum, size * reach)):
        np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), rtol=0.0, atol=1e-13 * scale)


@pytest.mark.slow
def test_deployment_ends_as_in_the_velocity_form():
    """The same hinges latch at the same times, take the same energy, and the array ends in the same place."""
    results, wanted = (results_of("array_deployment", each) for each in ("hamiltonian", "velocity"))
    events = [name for name in wanted.arrays if name.startswith("events/")]
    assert len(events) == 6
    for name in events:
        np.testing.assert_allclose(results.arrays[name], wanted.arrays[name], rtol=1e-10)
    for hinge in ("hinge_1", "hinge_2", "hinge_3"):
        assert abs(results.joints[hinge].coordinates[-1, 0]) < 1e-12
        assert results.arrays[f"events/latches.{hinge}/energy_loss"] > 0.05
    assert max(differences(results, wanted).values()) < 1e-9
    assert np.abs(results.audit.energy_error).max() < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "bound"), [({}, 1e-9), slow(({"tableau": "rk4", "step": 5e-4}, 1e-7))], ids=["dop853", "rk4"]
)
def test_motion_under_every_force(options, bound):
    """Controls, profiles and unwrapped angles reach the elements on the way, and events are seen."""
    model = arm()
    load_at_random(model, np.random.default_rng(1))
    stop = Event("over", lambda t, state: state.joints["shoulder"].coordinates[0] - 0.2, terminal=False)
    words = {"duration": 0.14, "output_interval": 0.02, "method": "rk", "events": (stop,), **TIGHT}
    wanted = femb.simulate(model, **words)
    results = femb.simulate(model, formulation="hamiltonian", **words, **options)
    assert np.ptp(results.joints["shoulder"].coordinates) > 0.2
    motion = [each for name, each in differences(results, wanted).items() if not name.endswith(("force", "torque"))]
    assert max(motion) < bound
    for name in ("audit/work", "audit/kinetic_energy", "events/over/time"):
        np.testing.assert_allclose(results.arrays[name], wanted.arrays[name], rtol=0.0, atol=bound)


# Held hinges


def arm(*more):
    """A free hub with an arm of three parts: a turn, a slide and a turn, the last two sprung."""
    model = femb.Model("arm")
    moving = {"position": (0, 0, 0), "velocity": (0.1, 0, 0), "angular_velocity": (0.1, 0, 0.2)}
    model.add(femb.RigidBody("hub", 5.0, (0.5, 0.6, 0.7), **moving))
    end = femb.JointEnd("hub", at=(0.3, 0, 0), axis=(0, 1, 0), reference=(1, 0, 0))
    parts = ((femb.Revolute, "shoulder", 0.4), (femb.Prismatic, "slide", 0.1), (femb.Revolute, "wrist", -0.5))
    for kind, name, start in parts:
        model.add(femb.RigidBody(f"{name} part", 1.0, (0.05, 0.1, 0.1), center_of_mass=(0.3, 0.1, 0)))
        model.add(kind(name, end, femb.JointEnd(f"{name} part"), start=start))
        end = femb.JointEnd(f"{name} part", at=(0.6, 0, 0), axis=(0.5, 0, 1), reference=(1, 0, 0))
    model.add(femb.JointSpringDamper("slide", "slide", stiffness=30.0, damping=0.2))
    model.add(femb.JointSpringDamper("wrist", "wrist", stiffness=3.0, damping=0.1, free=0.2))
    for each in more:
        model.add(each)
    return model


def both(model, duration=2.0, **options):
    words = {"duration": duration, "output_interval": 0.05, "method": "rk", **TIGHT}
    velocity = femb.simulate(model, **words)
    return femb.simulate(model, formulation="hamiltonian", **{**words, **options}), velocity


@pytest.mark.slow
def test_driven_hinge():
    """Motion, the drive's torque and its work; by Gauss steps too. The driver's own force is that of the tree."""
    model = arm(femb.JointDriver("motor", "shoulder", motion=Sine(0.4, 0.5, mean=0.4)))
    for options in ({}, {"method": "gauss", "order": 6, "step": 5e-3}):
        results, wanted = both(model, duration=1.0, **options)
        assert max(differences(results, wanted).values()) < 1e-9
        np.testing.assert_allclose(results.drivers["motor"].force, wanted.drivers["motor"].force, atol=1e-9)
        np.testing.assert_allclose(results.audit.work, wanted.audit.work, rtol=0.0, atol=1e-9)
        assert np.abs(results.audit.energy_error).max() < 1e-9 < 1e-2 < np.ptp(results.audit.work)
    form = MomentumForm(System(model))
    u = form.inputs_at(0.0, form.q0, form.v0)
    torque = form.forward(u, form.q0, form.v0)[1]
    np.testing.assert_allclose(torque, wanted.drivers["motor"].force[0], rtol=1e-10)


@pytest.mark.slow
def test_latches_engage_and_let_go():
    """A hinge let go at a time, one held at a stroke, and held again: momenta of the others pass through each."""
    latches = (
        femb.Latch("release", "shoulder", time=0.3, engaged=True),
        femb.Latch("catch", "wrist", at=0.0, direction=1),
        femb.Latch("hold", "slide", time=1.1),
    )
    results, wanted = both(arm(*latches))
    assert np.ptp(results.joints["shoulder"].coordinates[results.time <= 0.3]) < 1e-12
    assert np.ptp(results.joints["shoulder"].coordinates) > 0.1
    for latch in ("release", "catch", "hold"):
        for word in ("time", "energy_loss"):
            name = f"events/latches.{latch}/{word}"
            np.testing.assert_allclose(results.arrays[name], wanted.arrays[name], rtol=1e-9, atol=1e-14)
    assert max(differences(results, wanted).values()) < 1e-9
    momentum = results.audit.angular_momentum
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), rtol=0.0, atol=1e-14)


def test_latching_changes_no_other_momentum():
    """What the System's impulse leaves is the same momenta, but for the hinge's own place, which then has its rate."""
    form = MomentumForm(System(arm(femb.Latch("catch", "wrist", time=1.0))))
    rng = np.random.default_rng(1)
    q, v = moved(form, rng)
    form = form.at(q)
    switch = switched(form, form.layout.updates, 1.0, q, v)
    other, q_after, v_after, (loss,) = switch.form, switch.q, switch.v, switch.losses
    wrist = form.n_v - form.tree.n + form.tree.index("wrist.angle")
    assert loss > 1e-3
    assert v_after[wrist] == pytest.approx(0.0, abs=1e-14)
    rest = np.arange(form.n_v) != wrist
    np.testing.assert_allclose(v_after[rest], v[rest], rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(q_after, q, rtol=0.0, atol=1e-14)
    assert other.n_c == 1


# Gauss steps


@pytest.mark.slow
def test_stiff_hinges_by_gauss_steps():
    """A hinge of 5e3 rad/s in steps of 2 ms: Newton's iteration takes over, and the arm moves as if it were rigid."""

    def model(*more):
        found = femb.Model("stiff", gravity=(0, 0, -9.81))
        found.add(femb.Ground())
        end = femb.JointEnd("ground", axis=(0, 1, 0), reference=(1, 0, 0))
        for name in ("first", "second"):
            found.add(femb.RigidBody(name, 1.0, (0.01, 0.08, 0.08), center_of_mass=(0.5, 0, 0)))
            found.add(femb.Revolute(name, end, femb.JointEnd(name)))
            end = femb.JointEnd(name, at=(1, 0, 0), axis=(0, 1, 0), reference=(1, 0, 0))
        for each in more:
            found.add(each)
        return found

    words = {"duration": 0.5, "output_interval": 0.1, "method": "gauss", "step": 2e-3, "formulation": "hamiltonian"}
    stiff = femb.simulate(model(femb.JointSpringDamper("stiff", "second", stiffness=1e6, damping=1e2)), **words)
    rigid = femb.simulate(model(femb.Latch("rigid", "second", time=9.0, engaged=True)), **words)
    assert stiff.statistics["newton_iterations"] > 0
    np.testing.assert_allclose(
        stiff.joints["first"].coordinates, rigid.joints["first"].coordinates, rtol=0.0, atol=1e-4
    )


@pytest.mark.slow
def test_energy_of_the_double_pendulum_has_no_trend():
    """Two rods of a Model, 1e4 Gauss steps of 5 ms: bounded by 1e-9 of the energy that they swing with."""
    model = femb.Model("double pendulum", gravity=(0, 0, -9.81))
    model.add(femb.Ground())
    end = femb.JointEnd("ground", axis=(0, 1, 0), reference=(0, 0, -1))
    for name, start in (("upper", 0.5), ("lower", 0.3)):
        model.add(femb.RigidBody(name, 1.0, (0.001, 1.0 / 12.0, 1.0 / 12.0), center_of_mass=(0.5, 0, 0)))
        model.add(femb.Revolute(name, end, femb.JointEnd(name, axis=(0, 1, 0), reference=(1, 0, 0)), start=start))
        end = femb.JointEnd(name, at=(1, 0, 0), axis=(0, 1, 0), reference=(1, 0, 0))
    words = {"duration": 50.0, "output_interval": 0.25, "method": "gauss", "step": 5e-3}
    results = femb.simulate(model, formulation="hamiltonian", **words)
    swing = results.audit.kinetic_energy.max()
    error = results.audit.energy_error / swing
    assert np.abs(error).max() < 1e-9
    assert abs(np.polyfit(results.time / 50.0, error, 1)[0]) < 1e-10


# Small coordinates


def rotor(*more):
    """A hub that turns at 30 rad/s, with a blade on a flap hinge at an offset, on a spring."""
    return of_parts(
        femb.Ground(), femb.RigidBody("hub", 10.0, (1.0, 1.0, 2.0)),
        femb.RigidBody("blade", 12.0, (0.1, 16.0, 16.1), center_of_mass=(2.0, 0, 0)),
        femb.Revolute("mast", femb.JointEnd("ground", axis=Z), femb.JointEnd("hub"), rates=30.0),
        femb.Revolute(
            "flap", femb.JointEnd("hub", at=(0.3, 0, 0), axis=-Y, reference=X), femb.JointEnd("blade", reference=X),
        ), femb.JointSpringDamper("root", "flap", stiffness=900.0), *more,
    )  # fmt: skip


def test_small_flapping_beside_fast_rotation():
    """The closed form Omega^2 (1 + e S/I) + k/I, with the rotation of the model's start or another."""
    static, inertia = 12.0 * 2.0, 16.0 + 12.0 * 4.0
    for omega, given in ((30.0, None), (12.0, {"mast.angle": 12.0})):
        flapping = small_motion(rotor(), ["flap.angle"], rate=given)
        wanted = omega**2 * (1.0 + 0.3 * static / inertia) + 900.0 / inertia
        np.testing.assert_allclose(np.abs(flapping.eigenvalues()) ** 2, wanted, rtol=1e-13)
        np.testing.assert_allclose(flapping.mass, [[inertia]], rtol=1e-14)
    with pytest.raises(
        ModelError, match=r"loads\.push: partial linearisation knows weight and linear springs of joints"
    ):
        small_motion(rotor(femb.Load("push", body="blade", force=(0, 0, 1.0))), ["flap.angle"])
    refuses(
        r"no hinge coordinate is named 'flip'; there are 'mast\.angle', 'flap\.angle'", small_motion, rotor(), ["flip"]
    )
    with pytest.raises(ModelError, match="for trees on the ground"):
        small_motion(femb.load_case(CASES / "rotor_floating.py").model, ["hinge_1.second_angle"])


def test_flapping_of_the_rotor_on_a_fixed_mast():
    """The frequency that the page of the case gives."""
    fixed = femb.Model()
    fixed.add(femb.Ground())
    for item in femb.load_case(CASES / "rotor_floating.py").model.items():
        if item.name == "mast":
            item = femb.Revolute("mast", femb.JointEnd("ground", axis=Z), femb.JointEnd("hub"), rates=30.0)
        if item.name != "fuselage":
            fixed.add(item)
    flapping = small_motion(fixed, ["hinge_1.second_angle"], {"hinge_1.first_angle": 0.0})
    static, inertia = 50.0, 25.0 * 16.0 / 3.0
    wanted = 900.0 * (1.0 + 0.3 * static / inertia) + 500.0 / inertia
    np.testing.assert_allclose(np.abs(flapping.eigenvalues()) ** 2, wanted, rtol=1e-12)
    assert np.abs(flapping.eigenvalues())[0] == pytest.approx(31.7, abs=0.05)


def test_names_of_the_tree():
    tree = MomentumForm(System(femb.load_case(CASES / "chain_universal.py").model)).tree
    assert tree.n == 10
    assert tree.names[:3] == ("joint_1.first_angle", "joint_1.second_angle", "joint_2.first_angle")
    np.testing.assert_array_equal(tree.mass[:4], [0.0, 1.0, 0.0, 1.0])


# Refusals


def refused(model, message, **options):
    refuses(message, MomentumForm, System(model, **options))


def two_bodies():
    return of_parts(*(femb.RigidBody(name, 1.0, (1.0, 2.0, 2.5), position=(0, 0, 0)) for name in ("a", "b")))


def test_what_is_no_tree_of_rigid_bodies():
    model = two_bodies()
    refused(model, r"no joints lead from bodies\.a to bodies\.b; join them, or use 'velocity'")
    model.add(femb.Revolute("hinge", femb.JointEnd("a", axis=Z), femb.JointEnd("b")))
    model.add(femb.Ground())
    MomentumForm(System(model))
    model.add(femb.Revolute("other", femb.JointEnd("b", axis=Z), femb.JointEnd("ground")))
    model.add(femb.Spherical("loop", femb.JointEnd("a"), femb.JointEnd("ground")))
    refused(model, r"run\.formulation: 'hamiltonian' is for trees of joints: joints\.\w+.* close a loop")


def test_items_that_are_no_rigid_segments():
    model = two_bodies()
    model.add(femb.Distance("rod", femb.JointEnd("a"), femb.JointEnd("b", at=(1.0, 0, 0)), length=1.0))
    refused(model, r"joints\.rod \(distance\) has no coordinates that make one; use 'velocity'")
    model = two_bodies()
    model.add(femb.PointMass("p", mass=1.0, position=(1, 0, 0)))
    refused(model, r"bodies\.p is a free point mass, which has no axes to turn; use 'velocity'")
    model = two_bodies()
    section = femb.Section("s", 1e-4, (1e-9, 1e-9), 1e-9, 1e3, 1e9, 1e9)
    model.add(femb.Beam("boom", section, 1.0, 1, start=model.bodies["a"].at(direction=(1.0, 0.0, 0.0))))
    refused(model, r"beams\.boom bends; use 'velocity'")
    model = arm(
        femb.DistanceDriver("winch", femb.Place("hub"), femb.Place("wrist part"), motion=lambda t: (1.0, 0.0, 0.0))
    )
    refused(model, r"drivers\.winch drives something else than a coordinate of a joint", assemble=True)
    motion = {"motion": lambda t: (-0.5, 0.0, 0.0)}
    model = arm(femb.Latch("l", "wrist", time=1.0), femb.JointDriver("d", "wrist", **motion))
    refused(model, r"drives a hinge or latches it, got drivers\.d and latches\.l on the same one")


def test_masses_of_other_elements():
    """An element with an inertia of its own, such as that of water, would be moved without it."""

    class Water(Batch):
        def masses(self):
            return [MassMatrix(lambda offset, stride, q, mass: None, (), np.zeros((1, 1), dtype=np.int64), (3,))]

    system = System(arm())
    system.batches.append(Water())
    refuses(r"knows the masses of bodies alone, got some of Water; use 'velocity'", MomentumForm, system)


def test_hinges_that_move_nothing():
    """Rings without mass to speak of, on two hinges about one axis; on three of a gimbal whose axes lie in a plane."""
    for axes, name in (((X, X), "turn_1"), ((X, Y, X), "turn_1")):
        model = femb.Model("rings")
        model.add(femb.Ground())
        end = femb.JointEnd("ground", axis=axes[0])
        for k, axis in enumerate(axes, start=1):
            size = 1.0 if k == len(axes) else 1e-15
            model.add(femb.RigidBody(f"ring_{k}", size, (size, size, size)))
            model.add(femb.Revolute(f"turn_{k}", end, femb.JointEnd(f"ring_{k}", axis=axis)))
            end = femb.JointEnd(f"ring_{k}", axis=axes[k] if k < len(axes) else axis)
        refused(model, rf"at the start, {name}\.angle moves no mass that hinges further out do not move as well")


def ball(spin):
    model = femb.Model("ball", gravity=(0, 0, -1.0))
    model.add(femb.Ground())
    model.add(femb.RigidBody("b", 1.0, (1.0, 1.2, 0.7), center_of_mass=(0.1, 0.2, 0.3), angular_velocity=spin))
    model.add(femb.Spherical("joint", femb.JointEnd("ground"), femb.JointEnd("b")))
    return model


def test_a_ball_joint_close_to_its_singular_posture():
    """Three hinges lock a quarter of a turn from the start: named there; close to it the motion is still right."""
    form = MomentumForm(System(ball((0.0, 1.0, 0.0))))
    with pytest.raises(TrialError, match=r"joint\.turn_x moves no mass.*joint\.turn_y = 1\.5708"):
        form.rates(np.array([[0.2, 0.5 * np.pi, 0.1]]), form.v0[None])
    results, wanted = both(ball((0.02, 1.5, 0.03)), duration=3.0)
    assert differences(results, wanted)["bodies/b/position"] < 1e-8
    assert results.bodies["b"].euler_angles("xyz")[:, 1].max() > np.radians(80.0)


def test_methods():
    with pytest.raises(ModelError, match="'hamiltonian' is integrated by method 'rk' or 'gauss', got method 'radau'"):
        femb.Run(duration=1.0, method="radau", formulation="hamiltonian")
