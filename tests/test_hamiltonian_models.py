"""Formulation "hamiltonian" of a Model against the velocity form: accelerations, motions, momenta, latches, refusals.

Both see the same Model; of the momentum form's equations only the way in which forces reach the segments is shared.
"""

import numpy as np
import pytest
from random_trees import KINDS, random_model

from femb import Beam, Ground, JointEnd, Load, Model, PointMass, RigidBody, Run, Section, SolveError, Tolerances
from femb.elements import (
    Distance,
    DistanceDriver,
    Fixed,
    JointDriver,
    JointFriction,
    JointMotor,
    JointSpringDamper,
    JointStops,
    Latch,
    Pull,
    Revolute,
    Spherical,
    SpringDamper,
    SpringEnd,
    TorsionSpringDamper,
    Universal,
)
from femb.errors import ModelError
from femb.formulations.hamiltonian.momentum_form import MomentumForm
from femb.profiles import Polynomial, Sine, Versine
from femb.simulation import simulate
from femb.system import System

TIGHT = {"rtol": 1e-12, "atol": Tolerances(1e-13, 1e-13, 1e-13)}
Z = (0.0, 0.0, 1.0)


def moved(form, rng, size=0.5):
    """A random state of a form near its start: q, v."""
    q = form.q0 + size * rng.standard_normal(form.n_q)
    form.normalise(q)
    rate, base = rng.standard_normal(form.tree.n), rng.standard_normal(6)
    return q, form._momenta(q, rate, base)


def slope(form, q, v, dq, dv, of):
    """Rate of a function of the state along (dq, dv), by differences of order six."""
    h = 3e-4
    terms = [w * (of(q + k * h * dq, v + k * h * dv) - of(q - k * h * dq, v - k * h * dv)) for k, w in DIFFERENCES]
    return sum(terms) / (60.0 * h)


DIFFERENCES = ((1, 45.0), (2, -9.0), (3, 1.0))


def both_accelerations(form, q, v, t=0.0):
    """The System's accelerations at a state of the form, by the velocity form and by the tree's recursion."""
    system, layout = form.system, form.layout
    Q, V = (each[0] for each in form.configuration(q[None], v[None]))
    u = system.inputs_at(t, Q, V)
    found = form.accelerations(u, q, v)
    mine, motion = np.empty(system.n_v), found.motion
    for frame, carrier in form.map.carriers.items():
        if not carrier.moves:
            mine[layout.frame_v[frame] : layout.frame_v[frame] + 6] = 0.0
            continue
        k, j = carrier.segment + 1, layout.frame_v[frame]
        x = motion.hinge[k] + motion.R[k] @ carrier.origin
        spin, turning = motion.v[k, :3], found.a[k, :3]
        speed = motion.v[k, 3:] + np.cross(spin, x)
        mine[j : j + 3] = found.a[k, 3:] + np.cross(turning, x) + np.cross(spin, speed)
        mine[j + 3 : j + 6] = carrier.axes.T @ motion.R[k].T @ turning
    return system.acceleration(u, Q, V), mine


def velocity_rates(form, q, v, t):
    """The rate of the System's velocities along q', p'."""
    dq, dv = form.rates(q[None], v[None])[0], form.acceleration(form.inputs_at(t, q, v), q, v)
    return slope(form, q, v, dq, dv, lambda q, v: form.configuration(q[None], v[None])[1][0])


def load_at_random(model, rng):
    """Something of every kind of force on the bodies and joints of a random model."""
    bodies = [name for name in model.bodies if name != "ground"]
    rng.shuffle(bodies)
    for k, frame in enumerate(("inertial", "body")):
        words = {"force": rng.standard_normal(3), "torque": rng.standard_normal(3), "at": 0.3 * rng.standard_normal(3)}
        model.add(
            Load(f"load {k}", body=bodies[k % len(bodies)], frame=frame, profile=Sine(1.0, 0.3, phase=0.7), **words)
        )
    last = bodies[-1]
    model.add(Load("euler", body=last, torque=rng.standard_normal(3), frame="dual_euler", damping=0.2))

    def control(t, state):
        body = state.bodies[last]
        return np.sin(t) - 0.3 * body.velocity + np.cross(body.position, (0.0, 0.1, 0.2))

    model.add(Load("control", body=last, force=control))
    ends = SpringEnd(bodies[0], at=(0.2, 0, 0)), SpringEnd(anchor=(3.0, 1.0, -2.0))
    model.add(SpringDamper("spring", *ends, stiffness=20.0, damping=0.5, free_length=1.0))
    model.add(Pull("pull", *ends, force=2.0))
    words = {"axis": Z, "stiffness": 1.0, "damping": 0.1}
    model.add(TorsionSpringDamper("torsion", SpringEnd(bodies[0]), SpringEnd(last), **words))
    for name, joint in model.tables["joints"].items():
        words = [each.name for each in joint.coordinates]
        if words:
            where = {"joint": name, "coordinate": words[rng.integers(len(words))]}
            model.add(JointSpringDamper(f"{name} spring", **where, stiffness=5.0, damping=0.3, free=0.2))
            model.add(JointSpringDamper(f"{name} law", **where, force=lambda c, rate: -(c**3) - rate * abs(rate)))
            model.add(JointFriction(name=f"{name} friction", **where, coulomb=0.3, transition_rate=0.2))
            model.add(JointStops(name=f"{name} stops", **where, lower=-0.1, upper=0.1, stiffness=50.0))
            model.add(JointMotor(name=f"{name} motor", **where, force=0.7))


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
        if kind is Fixed:
            model.add(Revolute("turn", JointEnd("b0", axis=Z), JointEnd("hung")))
            model.add(RigidBody("hung", mass=1.0, inertia=(1.0, 2.0, 2.5), center_of_mass=(0.3, 0.2, 0.1)))
        if kind is Fixed and ground:
            continue  # everything is welded to the ground but the last
        system = System(model, assemble=True)
        form = MomentumForm(system)
        assert form.n_v == system.n_v - system.n_c
        q, v = moved(form, rng)
        Q, V = form.configuration(q[None], v[None])
        u = system.inputs_at(0.0, Q[0], V[0])
        assert np.abs(system.constraints(u[None], Q, V)[0]).max(initial=0.0) < 1e-14 * (1.0 + np.abs(Q).max())
        assert np.abs(system.constraint_rates(u[None], Q, V)).max(initial=0.0) < 1e-13 * np.abs(V).max()
        again = form.at(q).from_configuration(Q[0], V[0])
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
