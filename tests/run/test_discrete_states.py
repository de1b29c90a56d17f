"""Discrete states that items declare: samples of a clock, instants, zeros, the ends of steps, inputs, checkpoints."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from fragile_runs import Kill, KilledError
from long_runs import slow
from models import of_parts, refuses

import femb
from femb.base.errors import SolveError
from femb.base.memory import recall, remembered
from femb.base.options import Run
from femb.elements import Latch, Load, Revolute, RigidBody, registry
from femb.elements.item import Item
from femb.elements.marker import JointEnd
from femb.layout.discrete import DiscreteState, Update
from femb.layout.element import Batch, Input
from femb.layout.terms import Force
from femb.profiles import Table
from femb.recording.named_state import named_state, names_of, starting_from
from femb.run import checkpoints
from femb.run.time_loop import Landings, RunSummary, integrate
from femb.steppers import make_stepper
from femb.system.system import System


@dataclass(frozen=True, eq=False)
class Pusher(Item):
    """A force along x on a body, a discrete state that its updates change; ``more`` further states, with their starts.

    updates : function of the names of the states, force first, that gives the updates.
    """

    table: ClassVar[str] = "pushers"
    kind: ClassVar[str] = "pusher"

    name: str
    body: str
    updates: Callable[..., list[Update]]
    force: float = 0.0
    more: dict[str, Any] = field(default_factory=dict)

    def declare_dofs(self, layout, placement, model):
        starts = {"force": self.force, **self.more}
        names = [layout.add_discrete(f"pushers.{self.name}.{word}", start) for word, start in starts.items()]
        for update in self.updates(*names):
            layout.add_update(update)

    @staticmethod
    def batches(items, layout, model):
        return [Pushers(items, layout)]


class Pushers(Batch):
    def __init__(self, items, layout):
        self.items = items
        self.j = [layout.frame_v[layout.bodies[item.body]] for item in items]
        self.inputs = tuple(Input.of_array(f"pushers.{item.name}.force") for item in items)

    def forces(self):
        return [Force(self.pushes, (), "u")]

    def pushes(self, u, out):
        for n, j in enumerate(self.j):
            out[:, j] -= u[:, self.first_input + n]

    def records(self, frames, batches):
        u = frames.u[:, self.first_input :]
        return {f"pushers/{item.name}/force": u[:, n] for n, item in enumerate(self.items)}


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    monkeypatch.setattr(registry, "_registered", [Pusher])


def pushed(updates, *items, force=0.0, velocity=0.0, **more):
    return of_parts(
        RigidBody("m", 2.0, (1.0, 1.0, 1.0), position=(0, 0, 0), velocity=(velocity, 0, 0)),
        Pusher("p", "m", updates, force, more),
        *items,
    )


METHODS = {
    "radau": {"method": "radau"},
    "bdf": {"method": "bdf"},
    "generalized-alpha": {"method": "generalized-alpha"},
    "rk": {"method": "rk"},
    "rk4": {"method": "rk", "tableau": "rk4", "step": 0.013},
    "gauss": {"method": "gauss", "step": 0.013},
}
every_method = pytest.mark.parametrize("method", METHODS)


def x_and_rate(results):
    body = results.bodies["m"]
    return body.position[:, 0], body.velocity[:, 0]


# Samples


def counter(force, count):
    """Count and push by the number of samples, every 0.1 s from 0.05 s on."""
    return [
        Update("pushers.p", lambda t, state, d: {force: d[count] + 1.0, count: d[count] + 1.0}, period=0.1, phase=0.05)
    ]


def staircase(t, mass=2.0):
    """x and x' under the force k + 1 from 0.05 + 0.1 k on."""
    k = np.arange(100)
    left = np.maximum(t[:, None] - 0.05 - 0.1 * k, 0.0)
    return np.sum(0.5 * left**2, axis=1) / mass, np.sum(left, axis=1) / mass


@every_method
def test_a_sampled_counter(method):
    """Steps end at the samples, and the output there has the force before them, the left limit."""
    results = femb.simulate(pushed(counter, count=0.0), duration=1.0, output_interval=0.025, **METHODS[method])
    for found, wanted in zip(x_and_rate(results), staircase(results.time), strict=True):
        # bdf begins with order one after each sample
        np.testing.assert_allclose(found, wanted, atol=1e-5 if method == "bdf" else 1e-7)
    force = results.arrays["pushers/p/force"]
    np.testing.assert_array_equal(force, np.maximum(np.ceil((results.time - 0.05) / 0.1 - 1e-9), 0.0))
    assert np.abs(results.audit.energy_error).max() < (3e-5 if method == "bdf" else 1e-6)


def test_samples_are_products_of_their_number():
    """A sum of periods would drift; a sample at the end is left to the run that goes on, one at the start is not."""
    seen = []

    def measure(force):
        return [Update("pushers.p", lambda t, state, d: seen.append(t) or {}, period=0.1)]

    femb.simulate(pushed(measure), duration=10.0, method="rk")
    np.testing.assert_array_equal(seen, 0.1 * np.arange(100))


def test_order_at_one_instant():
    """Sensors before controllers before actuators, each with what those before it have set, all of the same motion."""

    def chain(force, measured, command):
        def act(t, state, d):
            return {force: 2.0 * d[command]}

        def control(t, state, d):
            return {command: d[measured] + 1.0}

        def measure(t, state, d):
            assert d[measured] == pytest.approx(t - 0.1) or t == 0.0
            return {measured: t}

        return [
            Update("act", act, period=0.1, order=2),
            Update("control", control, period=0.1, order=1),
            Update("measure", measure, period=0.1),
        ]

    results = femb.simulate(pushed(chain, measured=0.0, command=0.0), duration=1.0, output_interval=0.05, method="rk")
    force = results.arrays["pushers/p/force"][1::2]  # between the samples
    np.testing.assert_allclose(force, 2.0 * (1.0 + 0.1 * np.arange(10)), rtol=1e-12)


def test_nothing_happens_where_nothing_changes():
    """A clock whose samples change nothing leaves the steps between them alone: there is no restart."""
    calls = []

    def idle(force):
        return [Update("idle", lambda t, state, d: {force: d[force]}, period=0.25)]

    system = System(pushed(idle, velocity=0.3))
    stepper = make_stepper(system, Run(duration=1.0, method="radau"))
    stepper.resume = stepper.restart = lambda: calls.append(stepper.t)
    parts = list(integrate(system, stepper, np.linspace(0.0, 1.0, 5), RunSummary([])))
    assert not calls
    assert parts


def test_landings():
    """Breakpoints, clocks and the end in one order; instants that differ by rounding are one."""

    def clocks(force):
        nothing = {}
        return [
            Update("slow", lambda t, state, d: nothing, period=0.3),
            Update("fast", lambda t, state, d: nothing, period=0.1, phase=0.1),
        ]

    load = Load("f", "m", force=(0, 1, 0), profile=Table((0.0, 0.3, 0.35, 1.0), (0, 1, 1, 0)))
    system = System(pushed(clocks, load))
    landings, t, discrete, found = Landings(system, 0.0, 1.0), 0.0, system.discrete, []
    while t < 1.0:
        due = landings.due(t, discrete)
        if due and t > 0.0:
            found[-1] += (len(due),)
        for update in due:
            discrete = update.changed(t, None, discrete, sampled=True)
        limit, t, jumps = landings.after(t, discrete)
        assert t - limit < 1e-12
        found.append((pytest.approx(t), jumps))
    assert found == [
        *((0.1, False, 1), (0.2, False, 1), (0.3, True, 2), (0.35, True), (0.4, False, 1), (0.5, False, 1)),
        *((0.6, False, 2), (0.7, False, 1), (0.8, False, 1), (0.9, False, 2), (1.0, False)),
    ]


# Instants


@every_method
def test_a_pulse_ends_at_the_instant_that_it_names(method):
    """On at the sample at 0.2 s, for 0.0371 s: the impulse is exact."""

    def pulse(force, off):
        def on(t, state, d):
            return {force: 5.0, off: t + 0.0371} if t > 0.1 else {}

        def end(t, state, d):
            return {force: 0.0, off: np.inf}

        return [Update("on", on, period=0.2, phase=0.2), Update("off", end, instant=lambda d: float(d[off]), order=2)]

    results = femb.simulate(pushed(pulse, off=np.inf), duration=0.35, **METHODS[method])
    assert x_and_rate(results)[1][-1] == pytest.approx(5.0 * 0.0371 / 2.0, rel=1e-9)


# Zeros


def relay(force):
    """Push back where x passes 0.1 on the way out, and forth where it passes zero, with a memory."""

    def flip(t, state, d):
        return {force: -d[force]}

    def edge(t, state, d):
        return state.bodies["m"].position[0] - (0.1 if d[force] > 0.0 else 0.0)

    return [Update("relay", flip, zero=edge, recorded=True)]


def crossing(force):
    """A force against x, as a sign of x: the zero is still there after the flip."""

    def flip(t, state, d):
        return {force: -d[force]}

    return [Update("sign", flip, zero=lambda t, state, d: state.bodies["m"].position[0], recorded=True)]


@pytest.mark.slow
@every_method
def test_a_state_that_flips_at_a_zero(method):
    """A body on a V-shaped potential: it comes back after 4 v m/F, as often as it likes, and flips once a passage."""
    v, F, m = 0.5, 3.0, 2.0
    half = 2.0 * v * m / F
    results = femb.simulate(
        pushed(crossing, force=-F, velocity=v), duration=3.5 * half, output_interval=half / 16, **METHODS[method]
    )
    times = [event.time for event in results.events]
    np.testing.assert_allclose(times, half * np.arange(1, 4), atol=1e-5)
    assert {event.name for event in results.events} == {"sign"}
    x, _ = x_and_rate(results)
    s = results.time % half
    sign = np.where((results.time // half).astype(int) % 2, -1.0, 1.0)
    np.testing.assert_allclose(x, sign * (v * s - 0.5 * F / m * s**2), atol=1e-5)


def test_a_relay_with_a_memory():
    """The function depends on the state that flips: on the way out at 0.1, on the way back at zero."""
    results = femb.simulate(pushed(relay, force=1.0), duration=6.0, method="rk", output_interval=0.01)
    times, rate = [np.sqrt(0.4)], np.sqrt(0.1)  # from rest at 1/2 m/s2
    for _ in range(2):
        faster = np.sqrt(rate**2 + 0.1)
        times.append(times[-1] + 2.0 * (rate + faster))
        rate = faster
    np.testing.assert_allclose([event.time for event in results.events][:3], times, atol=1e-6)
    force = results.arrays["pushers/p/force"]
    flips = np.searchsorted(times, results.time)
    np.testing.assert_array_equal(force[flips < 3], np.where(flips % 2, -1.0, 1.0)[flips < 3])


# Ends of steps


def test_the_largest_speed_so_far():
    def watch(force, largest):
        def keep(t, state, d):
            return {largest: max(float(d[largest]), abs(float(state.v[0])))}

        return [Update("watch", keep, after_steps=True)]

    seen = []

    def read(t, state, d, name="pushers.p.largest"):
        seen.append(float(d[name]))
        return {}

    def both(force, largest):
        return [*watch(force, largest), Update("read", read, period=0.5, order=1)]

    femb.simulate(pushed(both, velocity=0.3, force=-1.0, largest=0.0), duration=1.6, method="rk")
    assert seen == [0.0, pytest.approx(0.3, abs=0.05), pytest.approx(0.3, abs=0.05), pytest.approx(0.45, abs=1e-6)]


# Checkpoints


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "rk4", *map(slow, ("bdf", "generalized-alpha", "rk", "gauss"))])
def test_a_killed_run_continues_bitwise(method, tmp_path, monkeypatch):
    """Killed between, and extended at a sample: the same to the last bit."""
    for word in ("INTERVAL", "PART", "COST"):
        monkeypatch.setattr(checkpoints, word, 0.0)

    options = {"output_interval": 0.05, **METHODS[method]}
    if "step" not in options:
        # by default the first step is a part of the duration
        options["first_step"] = 5e-3
    whole = femb.simulate(pushed(counter, count=0.0), duration=0.45 + 0.4, out=tmp_path / "whole.h5", **options)
    killed = tmp_path / "killed.h5"
    with pytest.raises(KilledError):
        femb.simulate(pushed(counter, count=0.0), duration=0.45 + 0.4, out=killed, progress=Kill(0.47), **options)
    resumed = femb.simulate(pushed(counter, count=0.0), duration=0.45 + 0.4, out=killed, resume=True, **options)
    short = tmp_path / "short.h5"
    femb.simulate(pushed(counter, count=0.0), duration=0.45, out=short, **options)
    extended = femb.simulate(pushed(counter, count=0.0), duration=0.45, out=short, extend=0.4, **options)
    for other in (resumed, extended):
        np.testing.assert_array_equal(other.bodies["m"].position, whole.bodies["m"].position)
        np.testing.assert_array_equal(other.arrays["pushers/p/force"], whole.arrays["pushers/p/force"])


def test_a_run_that_starts_from_another_keeps_arrays_and_begins_its_clocks(tmp_path):
    first = tmp_path / "first.h5"
    femb.simulate(pushed(counter, count=0.0), duration=0.4, out=first, method="rk")
    results = femb.simulate(
        pushed(counter, count=0.0), duration=0.2, output_interval=0.01, method="rk", start=femb.StartState(str(first))
    )
    force = results.arrays["pushers/p/force"]
    assert force[0] == 4.0  # samples at 0.05, 0.15, 0.25 and 0.35
    assert force[-1] == 6.0
    assert results.time[np.argmax(force > 4.5)] == pytest.approx(0.06)


# Constraints and latches


def test_latches_are_discrete_states():
    model = femb.Model("door")
    model.add(RigidBody("door", 2.0, (0.1, 0.2, 0.3), center_of_mass=(0.5, 0, 0)))
    model.add(Revolute("hinge", JointEnd("ground", axis=(0, 0, 1)), JointEnd("door"), start=0.2, rates=0.1))
    model.add(Latch("lock", "hinge", time=1.0))
    system = System(model)
    names = ["joints.coordinates", "latches.lock.engaged", "latches.lock.coordinate"]
    assert list(system.discrete) == names
    assert [system.discrete[name] for name in names[1:]] == [0.0, pytest.approx(0.2)]
    (update,) = system.layout.updates
    assert update.rows == (system.layout.latches[0].row,)
    results = femb.simulate(model, duration=2.0, method="rk")
    assert results.events[0].energy_loss == pytest.approx(0.5 * 0.8 * 0.01, rel=1e-6)


def test_files_of_earlier_versions_have_latches_by_number():
    model = femb.Model("door")
    model.add(RigidBody("door", 2.0, (0.1, 0.2, 0.3), center_of_mass=(0.5, 0, 0)))
    model.add(Revolute("hinge", JointEnd("ground", axis=(0, 0, 1)), JointEnd("door"), start=0.2, rates=0.1))
    for name in ("one", "two"):
        model.add(Latch(name, "hinge", time=1.0))
    system = System(model)
    names = names_of(system.layout) | {"latches": np.array(["two", "one"])}
    last = named_state(system, 1.0, system.q0, system.v0, system.discrete.angles)
    earlier = {"engaged": np.array([0.0, 0.0]), "latched": np.array([0.3, 0.4])}
    found = starting_from(system, names, last, earlier).discrete
    assert [found[f"latches.{name}.coordinate"] for name in ("one", "two")] == [0.4, 0.3]


# The mapping


def test_a_discrete_state_changes_by_name():
    first = DiscreteState({"joints.coordinates": np.zeros(2), "a": np.ones(3), "b": np.array(1.0)})
    assert first.replaced({"a": np.ones(3)}) is first
    second = first.replaced({"b": np.array(2.0)})
    assert (second["b"], first["b"]) == (2.0, 1.0)
    assert second["a"] is first["a"]
    assert not second.alike(first)
    assert first.with_angles(np.ones(2)).alike(first)
    assert repr(second).startswith("DiscreteState(")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, state, d: {"other": 1.0}, r"p: changes 'other'; there are the discrete states pushers\.p\.force"),
        (
            lambda t, state, d: {"pushers.p.force": (1.0, 2.0)},
            r"p: pushers\.p\.force: got .* at t = 0\.1 s, wanted a num",
        ),
        (lambda t, state, d: {"pushers.p.force": np.nan}, r"p: pushers\.p\.force: got nan at t = 0\.1 s"),
        (lambda t, state, d: {"pushers.p.force": "on"}, r"p: pushers\.p\.force: got 'on'"),
        (lambda t, state, d: 1 / 0, r"p: raised ZeroDivisionError at t = 0\.1 s: division by zero"),
    ],
)
def test_wrong_updates_are_named(change, message):
    with pytest.raises(SolveError, match=message):
        femb.simulate(pushed(lambda force: [Update("p", change, period=1.0, phase=0.1)]), duration=1.0, method="rk")


def test_an_instant_that_has_passed_is_refused():
    update = Update("late", lambda t, state, d: {}, instant=lambda d: 0.3)
    with pytest.raises(SolveError, match=r"late: waits for t = 0\.3 s at t = 0\.3 s: after an update name a later"):
        femb.simulate(pushed(lambda force: [update]), duration=1.0, method="rk")
    model = pushed(lambda force: [Update("p", lambda t, state, d: {}, period=0.0)])
    refuses("p: got the period 0", System, model, error=ValueError)


def test_members_of_ensembles_with_them_have_runs_of_their_own():
    ensemble = femb.simulate_ensemble([pushed(counter, count=0.0), pushed(counter, count=3.0)], duration=0.1)
    assert "pushers.p: has discrete states" in ensemble.note
    for count, results in zip((0.0, 3.0), ensemble.results, strict=True):
        alone = femb.simulate(pushed(counter, count=count), duration=0.1)
        for name, values in alone.arrays.items():
            np.testing.assert_array_equal(results.arrays[name], values)


def test_steppers_remember_where_matrices_were_formed():
    """The discrete state by name, also with steps of radau that keep their factors through a sample."""
    system = System(pushed(counter, count=0.0, force=1.0))
    first, second = (make_stepper(system, Run(duration=1.0, method="radau")) for _ in range(2))
    first.step(1.0)
    assert {"state_of_matrices/0/pushers.p.count", "state_of_matrices/0/joints.coordinates"} <= set(remembered(first))
    recall(second, remembered(first))
    first.step(1.0), second.step(1.0)
    np.testing.assert_array_equal(first.v, second.v)


def test_radau_keeps_its_factors_through_samples():
    """Steps of one length, to rounding, between the samples: two factorisations in all but the first steps."""
    results = femb.simulate(
        pushed(counter, count=0.0), duration=20.0, output_interval=1.0, method="radau", max_step=0.1
    )
    assert results.statistics["steps"] >= 200
    assert results.statistics["factorizations"] < 0.1 * results.statistics["steps"]
