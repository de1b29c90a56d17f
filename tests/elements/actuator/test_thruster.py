"""Thrusters: impulse of pulses, commands, minimum pulse, limit cycle, restart, tangents on any host, and refusals."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from contracts import test_items
from fragile_runs import Kill, KilledError
from models import of_parts, refusals, refuses
from oracles.modal_example import Particles

import femb
from femb.elements import registry
from femb.elements.item import Item
from femb.elements.marker import Attachment
from femb.layout.discrete import Update
from femb.run import checkpoints

FORCE, MASS = 2.0, 100.0


def satellite(**words):
    given = {"force": FORCE, "direction": (3.0, 0.0, 0.0), "body": "hub"}
    return of_parts(femb.RigidBody("hub", mass=MASS, inertia=1000.0), femb.Thruster("t1", **given | words))


def closed_form(t, tau, pulses):
    """Level and its integral (s) by superposition of the pulses."""
    level, integral = np.zeros_like(t), np.zeros_like(t)
    for start, on_time in pulses:
        for instant, sign in ((start, 1.0), (start + on_time, -1.0)):
            x = np.maximum(t - instant, 0.0)
            level += sign * (-np.expm1(-x / tau) if tau else (t > instant).astype(float))
            integral += sign * (x + tau * np.expm1(-x / tau) if tau else x)
    return level, integral


@pytest.mark.parametrize("tau", [0.0, 0.02, 0.7])
def test_pulses(tau):
    """Level, impulse and motion in closed form; the level at an instant of a switch is the left limit."""
    pulses = ((0.0, 0.02), (0.5, 0.3), (0.9, 0.2))
    model = satellite(rise_time=tau, pulses=pulses, specific_impulse=220.0)
    results = femb.simulate(model, duration=2.0, output_interval=0.05, rtol=1e-10)
    level, integral = closed_form(results.time, tau, pulses)
    thruster = results.thrusters["t1"]
    np.testing.assert_allclose(thruster.level, level, atol=1e-13)
    np.testing.assert_allclose(thruster.impulse, FORCE * integral, atol=1e-13)
    np.testing.assert_allclose(thruster.propellant, FORCE * integral / (220.0 * 9.80665), atol=1e-15)
    np.testing.assert_allclose(thruster.force, FORCE * level[:, None] * [1.0, 0.0, 0.0], atol=1e-13)
    np.testing.assert_allclose(results.bodies["hub"].velocity[:, 0], FORCE * integral / MASS, atol=1e-10)
    assert thruster.pulses.tolist() == np.searchsorted([0.0, 0.5, 0.9], results.time - 1e-9).tolist()
    assert np.abs(results.audit.energy_error).max() < 1e-12


@pytest.mark.parametrize("tau", [0.0, 0.001, 0.05])
@pytest.mark.parametrize("method", ["radau", "rk", "bdf", "generalized-alpha"])
def test_impulse_is_force_times_on_time(tau, method):
    """For any rise time, tail included; without a rise time also as the steppers integrate it, since they land."""
    model = satellite(rise_time=tau, pulses=((0.1, 0.0123), (0.3, 0.05)))
    results = femb.simulate(model, duration=3.0, output_interval=3.0, method=method)
    wanted = FORCE * 0.0623
    np.testing.assert_allclose(results.thrusters["t1"].impulse[-1], wanted, rtol=1e-13)
    momentum = MASS * results.bodies["hub"].velocity[-1, 0]
    if tau == 0.0 and method != "bdf":
        np.testing.assert_allclose(momentum, wanted, rtol=1e-11)
    else:
        np.testing.assert_allclose(momentum, wanted, atol=1e-5 * MASS)


def test_contracts_with_open_valves():
    """Those of tests/contracts, whose example has closed ones, on a node of a beam and on a body."""
    system = femb.System(test_items.EXAMPLES[femb.Thruster]())
    valves = {f"thrusters.{name}.valve": np.array([0.1, 0.3, 1.0, 0.0]) for name in ("t1", "t2")}
    system = system.with_discrete(system.discrete.replaced(valves))

    for test in (test_items.test_exact_tangent, test_items.test_energy_and_momentum, test_items.test_objectivity):
        test(femb.Thruster, lambda kind: system)


def test_contracts_on_interfaces():
    """Of a flexible body: a thruster with an open valve, a magnetic torquer, and plates in sunlight and air."""
    model = test_items.model(
        femb.FlexibleBody(
            "panel",
            Particles(interfaces=2).reduced(),
            start=Attachment("b", (0.2, 0.0, 0.1), direction=(1.0, 0.3, 0.0)),
        ),
        femb.Thruster("t1", 0.8, (1.0, 2.0, -1.0), body="panel.p1", at=(0.1, 0.2, 0.0)),
        femb.MagneticTorquer("m1", (1.0, 2.0, -1.0), body="panel.p1", dipole=0.7),
        femb.UniformField("lab", (0.3, -0.5, 0.8)),
        femb.SolarPressure("sun", 2.0, (0.3, 0.2, 1.0), (0.2, 0.3, 0.8), body="panel.p1", at=(0.3, 0, 0), pressure=0.7),
        femb.PlateDrag("air", 2.0, (1.0, 0.2, 1.0), 0.3, body="panel.p1", at=(0, 0.2, 0), two_sided=True),
    )
    system = femb.System(model)
    system = system.with_discrete(system.discrete.replaced({"thrusters.t1.valve": np.array([0.0, 1.0, 1.0, 0.0])}))
    for test in (test_items.test_exact_tangent, test_items.test_energy_and_momentum):
        test(femb.Thruster, lambda kind: system)


@pytest.mark.parametrize("formulation", ["velocity", "quaternion", "reduced"])
def test_formulations(formulation):
    """A tumbling satellite with thrusters off its mass centre: the same motion in all of them."""
    model = satellite(at=(0.0, 1.0, 0.5), rise_time=0.1, pulses=((0.1, 0.5), (1.0, 0.4)))
    model.add(femb.Thruster("t2", 5.0, (0.0, 1.0, 1.0), body="hub", at=(1.0, 0.0, 0.0), pulses=((0.3, 1.0),)))
    model.remove(model.bodies["hub"])
    model.add(femb.RigidBody("hub", mass=MASS, inertia=(20.0, 30.0, 25.0), angular_velocity=(0.1, 0.3, 0.2)))
    options = {"duration": 2.0, "output_interval": 0.5, "rtol": 1e-9}
    found = femb.simulate(model, formulation=formulation, **options)
    wanted = femb.simulate(model, method="rk", **options)
    np.testing.assert_allclose(found.bodies["hub"].position, wanted.bodies["hub"].position, atol=1e-7)
    np.testing.assert_allclose(found.bodies["hub"].angular_velocity, wanted.bodies["hub"].angular_velocity, atol=1e-7)
    assert np.abs(found.audit.energy_error).max() < 1e-6


# Commands


@dataclass(frozen=True, eq=False)
class Sampler(Item):
    """Commands of a thruster: a function of the number of the sample."""

    table: ClassVar[str] = "samplers"
    kind: ClassVar[str] = "sampler"

    name: str
    thruster: Any
    law: Any
    period: float = 0.1

    def declare_dofs(self, layout, placement, model):
        def act(t, state, discrete):
            value = self.law(round(t / self.period), state)
            return self.thruster.commanded("on_time", np.array([value]), t, discrete)

        layout.add_update(Update("samplers.s", act, period=self.period, order=50))


@dataclass(frozen=True, eq=False)
class Switch(Item):
    """Least pulses at the edges of a dead band of the turn about z, as a controller of two thrusters would give."""

    table: ClassVar[str] = "switches"
    kind: ClassVar[str] = "switch"

    name: str
    thrusters: Any
    band: float
    pulse: float

    def declare_dofs(self, layout, placement, model):
        for thruster, sign in zip(self.thrusters, (1, -1), strict=True):

            def fire(t, state, discrete, thruster=thruster):
                return thruster.commanded("on_time", np.array([self.pulse]), t, discrete)

            def edge(t, state, discrete, sign=sign):
                q = state.bodies["hub"].quaternion
                return 2.0 * np.arctan2(q[3], q[0]) - sign * self.band

            layout.add_update(Update(f"switches.{thruster.name}", fire, zero=edge, direction=sign, recorded=True))


@pytest.fixture
def catalogue(monkeypatch):
    monkeypatch.setattr(registry, "_registered", [Sampler, Switch])


def commanded(law, period=0.1, **words):
    model = satellite(**words)
    model.add(Sampler("s", model.thrusters["t1"], law, period))
    return model


ON_TIMES = (0.03, 0.1, 0.1, 0.02, 0.0, 0.004, 0.25, 0.25, 0.01, -0.01)


@pytest.mark.parametrize("tau", [0.0, 0.03])
def test_commands(tau, catalogue):
    """On-times of a sample; each replaces the one before, a full period goes over into the next without a switch."""
    model = commanded(lambda k, state: ON_TIMES[k], rise_time=tau, minimum_pulse=0.005)
    results = femb.simulate(model, duration=1.0, output_interval=0.01, rtol=1e-9)
    pulses = ((0.0, 0.03), (0.1, 0.22), (0.6, 0.21))
    level, integral = closed_form(results.time, tau, pulses)
    away = np.abs(results.time[:, None] - [0.03, 0.32, 0.81]).min(axis=1) > 1e-9  # of switches beside outputs
    thruster = results.thrusters["t1"]
    np.testing.assert_allclose(thruster.level[away], level[away], atol=1e-12)
    np.testing.assert_allclose(thruster.impulse, FORCE * integral, atol=1e-12)
    np.testing.assert_allclose(results.bodies["hub"].velocity[:, 0], FORCE * integral / MASS, atol=1e-9)
    assert thruster.pulses[-1] == 7
    last = femb.System(model)
    assert [update.label for update in last.layout.updates] == ["thrusters.t1", "samplers.s"]


def test_counts(catalogue):
    """Commands that are too short, or below zero, are counted; zero is no pulse and no clip."""
    thruster = femb.Thruster("t1", FORCE, (1, 0, 0), body="hub", minimum_pulse=0.005)
    model = of_parts(femb.RigidBody("hub", mass=MASS, inertia=1000.0), thruster)
    discrete = femb.System(model).discrete
    for k, value in enumerate(ON_TIMES):
        discrete = discrete.replaced(
            {name: np.asarray(x, dtype=float) for name, x in
             thruster.commanded("on_time", np.array([value]), 0.1 * k, discrete).items()}
        )  # fmt: skip
        assert discrete["thrusters.t1.command"] == value
    assert discrete["thrusters.t1.clips"] == 2.0
    assert discrete["thrusters.t1.off"] == np.inf
    command = thruster.commands(None)["on_time"]
    assert (command.unit, command.input, command.per_period) == ("s", "thrusters.t1.level", True)


def test_a_sampled_controller_commands_on_times():
    """With a delay of half a period; two controllers of one thruster are refused."""

    def law(t, y, x):
        return [0.02 + 0.01 * x[0]], [x[0] + 1.0]

    model = satellite(rise_time=0.01)
    model.add(femb.AttitudeSensor("s", body="hub"))
    words = {"inputs": ["sensors.s"], "outputs": ["thrusters.t1.on_time"], "state": [0.0]}
    model.add(femb.SampledController("law", law, period=0.1, delay=0.05, **words))
    results = femb.simulate(model, duration=1.0, output_interval=0.01)
    pulses = [(0.05 + 0.1 * k, 0.02 + 0.01 * k) for k in range(10)]
    # from the eighth on they last for a period, and are open until the end
    closed = [*pulses[:8], (0.85, 0.5)]
    level, integral = closed_form(results.time, 0.01, closed)
    switches = np.array([t for start, on_time in closed for t in (start, start + on_time)])
    away = np.abs(results.time[:, None] - switches).min(axis=1) > 1e-9
    np.testing.assert_allclose(results.thrusters["t1"].level[away], level[away], atol=1e-12)
    np.testing.assert_allclose(results.thrusters["t1"].impulse, FORCE * integral, atol=1e-12)
    model.add(femb.SampledController("other", law, period=0.1, **words))
    refuses("on_time", femb.System, model)


def jets(names, gains, **words):
    """A hub with couples of 0.4 N m about z, of either sign; ``gains``, s, of turn and rate, by thruster."""
    hub = femb.RigidBody("hub", mass=100.0, inertia=(10.0, 12.0, 14.0), euler_angles=(0.0, 0.0, 0.05))
    model = of_parts(hub)
    for name in names:
        sign, y = (1.0 if name[0] == "p" else -1.0), (-0.5 if name[1] == "1" else 0.5)
        at = (0.0, y * sign, 0.0)
        model.add(femb.Thruster(name, 0.4, (1.0 if name[1] == "1" else -1.0, 0, 0), body="hub", at=at))
    D = np.zeros((len(names), 6))
    D[:, [2, 5]] = gains
    read, outputs = ("bodies.hub.attitude", "bodies.hub.angular_velocity"), [f"thrusters.{x}.on_time" for x in names]
    model.add(femb.LinearController("law", inputs=read, outputs=outputs, D=D, period=0.1, **words))
    return model


K = np.array([0.2, 0.8])


@pytest.mark.slow
def test_opposite_thrusters_act_one_at_a_time_in_loops():
    """Against the sampled double integrator of one couple, on-times by the period, and the motion of a run."""
    model = jets(("p1", "p2", "m1", "m2"), [-K, -K, K, K])
    loop = femb.loop(model)
    A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), 0.4 / 0.1 / 14.0 * np.array([0.5 * 0.1**2, 0.1])
    poles = np.log(np.linalg.eigvals(A - np.outer(B, K)).astype(complex)) / 0.1
    np.testing.assert_allclose(np.sort_complex(loop.poles()), np.sort_complex(poles), rtol=1e-8)
    run = femb.simulate(model, duration=30.0, output_interval=0.1, start="as_given")
    turn = 2.0 * run.bodies["hub"].quaternion[:, 3]
    linear = loop.simulate(30.0, start={"bodies.hub.turn_z": 0.05}, times=run.time + 1e-6)["bodies.hub.turn.z"]
    assert np.max(np.abs(turn - linear)) < 0.02 * 0.05


def test_a_thruster_without_an_opposite_one_has_no_linear_loop():
    with pytest.raises(femb.ModelError, match=r"controllers.law: sets 'thrusters.p1.on_time', which acts above zero"):
        femb.loop(jets(("p1", "m1"), [-K, 0.5 * K]))
    # about a constant on-time it acts both ways, and one that is shut there does not act
    for bias, share in ((0.05, 10.0), (-0.05, 0.0)):
        states = {"A": [[1.0]], "B": np.zeros((1, 6)), "C": [[bias]], "state": [1.0]}
        (law,) = femb.loop(jets(("p1",), [-K], **states)).laws
        np.testing.assert_allclose(law.D[0, [2, 5]], -share * K)


@pytest.mark.parametrize(
    ("forces", "gains"), [((0.4, 1.6), (1.0, 1.0)), ((0.4, 1.6), (1.0, 0.25)), ((0.4, 0.4), (1.0, 1.0))]
)
def test_opposite_impulses_are_linear_and_others_are_refused(forces, gains):
    """A pair on one line gives F max(u, 0) of either side: linear where the forces times the gains are equal alone."""
    model = of_parts(femb.RigidBody("hub", mass=100.0, inertia=(10.0, 12.0, 14.0), euler_angles=(0.0, 0.0, 0.05)))
    for name, sign, force in zip("pm", (1.0, -1.0), forces, strict=True):
        model.add(femb.Thruster(name, force, (0.0, sign, 0.0), body="hub", at=(0.5, 0.0, 0.0)))
    D = np.zeros((2, 6))
    D[:, [2, 5]] = -gains[0] * K, gains[1] * K
    read, outputs = (
        ("bodies.hub.attitude", "bodies.hub.angular_velocity"),
        ("thrusters.p.on_time", "thrusters.m.on_time"),
    )
    model.add(femb.LinearController("law", inputs=read, outputs=outputs, D=D, period=0.1))
    if forces[0] * gains[0] != forces[1] * gains[1]:
        with pytest.raises(
            femb.ModelError, match=r"'thrusters.p.on_time'.*thrusters.p.on_time 0.3298.*m.on_time 1.319"
        ):
            femb.loop(model)
        return
    loop = femb.loop(model)
    run = femb.simulate(model, duration=30.0, output_interval=0.1, start="as_given")
    turn = 2.0 * run.bodies["hub"].quaternion[:, 3]
    linear = loop.simulate(30.0, start={"bodies.hub.turn_z": 0.05}, times=run.time + 1e-6)["bodies.hub.turn.z"]
    assert np.max(np.abs(turn - linear)) < 0.02 * 0.05
    A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), 0.5 * forces[0] / 0.1 / 14.0 * np.array([0.5 * 0.1**2, 0.1])
    poles = np.log(np.linalg.eigvals(A - np.outer(B, K)).astype(complex)) / 0.1
    np.testing.assert_allclose(np.sort_complex(loop.poles()), np.sort_complex(poles), rtol=1e-8)


def test_an_open_valve_that_is_commanded_on_does_not_end_the_smooth_interval(catalogue):
    """Steps go over the samples at which nothing that equations read has changed."""
    long = commanded(lambda k, state: 0.1, minimum_pulse=0.005)
    once = satellite(pulses=((0.0, 1.05),))
    found, wanted = (femb.simulate(model, duration=1.0, output_interval=0.1) for model in (long, once))
    np.testing.assert_allclose(
        found.bodies["hub"].velocity[:, 0], wanted.bodies["hub"].velocity[:, 0], rtol=0.0, atol=1e-15
    )


@pytest.mark.parametrize("tau", [0.0, 0.005])
def test_limit_cycle(tau, catalogue):
    """Least pulses at both edges of a dead band: the period is 4 b/w + 2 t_b with w = F l t_b/2J, to rounding."""
    J, b, pulse = 1000.0, 1e-3, 0.02
    rate = pulse / (2.0 * J)
    model = femb.Model("satellite")
    model.add(femb.RigidBody("hub", mass=MASS, inertia=J, angular_velocity=(0.0, 0.0, rate)))
    left = femb.Thruster("left", 1.0, (0, -1, 0), body="hub", at=(1, 0, 0), rise_time=tau)
    right = femb.Thruster("right", 1.0, (0, 1, 0), body="hub", at=(1, 0, 0), rise_time=tau)
    for item in (left, right, Switch("s", (left, right), b, pulse)):
        model.add(item)
    results = femb.simulate(model, duration=1300.0, output_interval=100.0, rtol=1e-9)
    times = np.array([event.time for event in results.events])
    assert [event.name for event in results.events[:3]] == [f"switches.{name}" for name in ("left", "right", "left")]
    if tau == 0.0:
        np.testing.assert_allclose(times[0], b / rate, rtol=1e-7)
        np.testing.assert_allclose(times[2::2] - times[:-2:2], 400.04, rtol=1e-8)
    else:
        # the impulse is the same, and comes later by the time constant
        np.testing.assert_allclose(times[2::2] - times[:-2:2], 400.04 + 4.0 * tau, rtol=1e-6)
    assert np.abs(results.bodies["hub"].angular_velocity[:, 2]).max() < 1.01 * rate


# Restart


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "rk"])
def test_a_killed_run_continues_bitwise(method, tmp_path, monkeypatch, catalogue):
    """Between a switch and the end of its tail, and within a pulse."""
    for word in ("INTERVAL", "PART", "COST"):
        monkeypatch.setattr(checkpoints, word, 0.0)

    def made():
        return commanded(lambda k, state: 0.03 * (k % 3), rise_time=0.05, at=(0, 1, 0))

    options = {"duration": 0.8, "output_interval": 0.05, "method": method}
    whole = femb.simulate(made(), out=tmp_path / "whole.h5", **options)
    with pytest.raises(KilledError):
        femb.simulate(made(), out=tmp_path / "killed.h5", progress=Kill(0.47), **options)
    resumed = femb.simulate(made(), out=tmp_path / "killed.h5", resume=True, **options)
    for word in ("level", "impulse", "force"):
        np.testing.assert_array_equal(getattr(resumed.thrusters["t1"], word), getattr(whole.thrusters["t1"], word))
    np.testing.assert_array_equal(resumed.bodies["hub"].position, whole.bodies["hub"].position)


def test_a_run_from_the_last_state_of_another_starts_with_a_closed_valve(tmp_path):
    file = tmp_path / "first.h5"
    femb.simulate(satellite(pulses=((0.2, 5.0),)), duration=1.0, out=file)
    results = femb.simulate(satellite(), duration=1.0, start=femb.StartState(str(file)))
    assert not results.thrusters["t1"].level.any()
    np.testing.assert_allclose(results.bodies["hub"].velocity[:, 0], FORCE * 0.8 / MASS, rtol=1e-9)


# Linear models


def test_linear_input():
    space = femb.linearize(satellite(at=(0.0, 1.0, 0.0)), outputs=("bodies.hub.velocity",))
    assert space.inputs == ("thrusters.t1.level",)
    force = space.C @ space.B
    np.testing.assert_allclose(force[:, 0], [FORCE / MASS, 0.0, 0.0], atol=1e-12)


# Refusals


test_refusals = refusals(
    lambda words: satellite(**words), ({"force": 0.0}, "force: "),
    ({"direction": (0.0, 0.0, 0.0)}, "direction: got .*, a direction must not be zero"),
    ({"body": None}, "wanted one of the two"), ({"rise_time": -1.0}, "rise_time: "),
    ({"minimum_pulse": -1.0}, "minimum_pulse: "), ({"specific_impulse": 0.0}, "specific_impulse: "),
    ({"pulses": ((1.0, 0.2), (1.1, 0.1))}, "pulse 2 starts at 1.1 s, but the pulse before ends at 1.2 s"),
    ({"pulses": ((-1.0, 0.2),)}, "pulse 1 starts at -1 s, but the start of the run is at 0"),
    ({"pulses": ((1.0, 0.01),), "minimum_pulse": 0.02}, "pulse 1 lasts 0.01 s, wanted at least the shortest"),
    ({"pulses": (1.0, 0.01)}, "pulses: got .*, wanted rows"),
)  # fmt: skip


def test_refused_in_models():
    model = satellite(body="ground")
    refuses(r"thrusters\.t1: is on 'ground', which is fixed and feels no force", femb.simulate, model, duration=1.0)
    model = satellite()
    model.add(femb.PointMass("p", mass=1.0))
    model.add(femb.Thruster("t2", FORCE, (1, 0, 0), body="p"))
    assert any("point mass" in str(problem) for problem in model.problems())
    refuses("nobody", femb.simulate, satellite(body="nobody"), duration=1.0)
