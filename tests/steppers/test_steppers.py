"""The stepper contract over every stepper: orders, tolerances, landing on breakpoints, events, work, and failures.

References: a free asymmetric body in Jacobi's elliptic functions (docs/theory, equations of motion, section 8), closed
forms of point masses, and DOP853 at a tolerance near rounding.
"""

import math
from functools import cache

import numpy as np
import pytest
from long_runs import slow_but
from models import boom, of_parts, panel_on_hub, refuses, satellite, steps_to
from oracles.controlled_satellite import controlled_by_pd
from scipy.special import ellipj

from femb import Attachment, Beam, Ground, Load, Model, PointMass, RigidBody, Run, Section, SolveError, Tolerances
from femb.elements import ExactBeam, JointDriver, JointEnd, Revolute, Spherical, SpringDamper, SpringEnd
from femb.numerics import rotations, row_calls
from femb.numerics.compiler import bound_calls
from femb.numerics.compiler.bound_calls import AVAILABLE, Bound
from femb.profiles import Sine, Step, Versine
from femb.run.simulate import simulate
from femb.run.time_loop import Event, RunSummary, integrate
from femb.steppers import make_stepper, radau_stages, stage_program, step_kernels, step_program
from femb.system.block_lu import Factorisation
from femb.system.system import System

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
STEPPERS = {
    "radau": {"method": "radau", "rtol": 1e-9, "atol": Tolerances(1e-10, 1e-10, 1e-10)},
    "dop853": {"method": "rk", "rtol": 1e-9, "atol": Tolerances(1e-10, 1e-10, 1e-10)},
    "rk4": {"method": "rk", "tableau": "rk4", "step": 2e-3},
    "gauss4": {"method": "gauss", "step": 4e-3},
    "gauss6": {"method": "gauss", "order": 6, "step": 1e-2},
}
FIXED = ("rk4", "gauss4", "gauss6")
# Fixed steps ten times as long, for parabolas, which every method follows exactly.
COARSE = {name: {**each, "step": 10.0 * each["step"]} if name in FIXED else each for name, each in STEPPERS.items()}
# Rates ten times as strict as by default: what lives for a tenth of a second counts as much as what stays.
STRICT_RATES = Tolerances(time=0.1)
# Fixed steps take longest; in the quick tests their orders and those of a rigid body show the same.
every_stepper = pytest.mark.parametrize("name", slow_but(["radau", "dop853"], STEPPERS))
with_error_control = pytest.mark.parametrize("name", ["radau", "dop853"])


# Problems


def free_body():
    model = Model("free body")
    model.add(RigidBody("b", mass=1.0, inertia=(1.0, 2.0, 3.0), angular_velocity=(1.0, 0.0, 1.2)))
    return model


def driven_body():
    """A body with an offset mass centre, pulled at an offset by a force of time, position and velocity."""

    def pull(t, state):
        body = state.bodies["b"]
        return -8.0 * body.position - 0.5 * body.velocity + [np.sin(3.0 * t), 0.0, 1.0]

    model = Model("driven body")
    model.add(
        RigidBody(
            "b", mass=2.0, inertia=(1.0, 2.0, 2.5), center_of_mass=(0.2, 0.1, -0.1), angular_velocity=(1.0, 0.4, -1.2),
            velocity=(0.3, 0, 0),
        ),
    )  # fmt: skip
    model.add(Load("pull", body="b", at=(0.3, -0.2, 0.5), force=pull))
    return model


def stubby_beam(damping=0.005):
    """A beam so short and soft that no stepper finds it stiff, turning, bent and pushed by a turning force."""
    section = Section("soft", 1.0, (0.3, 0.2), 0.3, 1.0, 20.0, 10.0, damping=damping)
    model = Model("stubby beam")
    start = Attachment(direction=X)
    model.add(Beam("b", section=section, length=2.0, start=start, angular_velocity=(0.2, 0.3, 0.5)))
    model.add(Load("push", beam="b", force=(0.5, 0, 1.0), frame="body", profile=lambda t: math.sin(2.0 * t)))
    return model


def cantilever(elements=2, **words):
    model = Model("cantilever", gravity=(0, 0, -9.81))
    section = boom(**{"youngs_modulus": 1e8, "shear_modulus": 4e7, **words})
    model.add(Beam("beam", section=section, length=2.0, elements=elements, start=Ground().at(direction=X)))
    return model


def oscillator(k=50.0, m=2.0, x0=0.4):
    model = Model("oscillator")
    model.add(PointMass("m", mass=m, position=(x0, 0, 0)))
    model.add(Load("spring", body="m", force=lambda t, s: -k * s.bodies["m"].position))
    return model


PROBLEMS = {"free body": free_body, "driven body": driven_body, "stubby beam": stubby_beam}


def reference(system, times):
    """States by DOP853 near rounding, landing on every time."""
    tight = Run(duration=times[-1], method="rk", rtol=1e-13, atol=Tolerances(1e-14, 1e-14, 1e-14))
    stepper = make_stepper(system, tight)
    states = []
    for t in times:
        steps_to(stepper, t)
        states.append((stepper.q.copy(), stepper.v.copy()))
    return states


@pytest.mark.parametrize("name", FIXED)
def test_rounding_of_times_leaves_no_step_at_the_end(name):
    """Its forces would be those of a division by a length that is nearly zero."""
    model = of_parts(RigidBody("b", mass=1.0, inertia=(1.0, 2.0, 3.0), angular_velocity=(0.1, 2.0, 0.1)))
    step = STEPPERS[name]["step"]
    run = Run(**{**STEPPERS[name], "duration": 10.0 * step * (1.0 + 1e-8)})
    results = simulate(model, run)
    assert results.statistics["steps"] == 10
    assert np.all(np.abs(results.audit.energy_error) < 1e-8)
    assert np.all(results.audit.moment_balance < 1e-3)


# Orders, at fixed steps: the error estimate is silenced, so that the largest step is always taken


def fixed_steps(system, name, count, end, monkeypatch):
    h = end / count
    if name == "rk4":
        return make_stepper(system, Run(duration=end, method="rk", tableau="rk4", step=h))
    if name in FIXED:
        return make_stepper(system, Run(duration=end, **{**STEPPERS[name], "step": h}))
    tight = Tolerances(1e-8, 1e-8, 1e-8, time=1.0)
    method = "radau" if name == "radau" else "rk"
    stepper = make_stepper(system, Run(duration=end, method=method, rtol=1e-8, atol=tight, first_step=h, max_step=h))
    stepper._error = lambda *_: 1e-8
    stepper.tolerance = 1e-5
    monkeypatch.setattr(radau_stages, "MAX_ITERATIONS", 60)  # the stages solved, whatever the step
    return stepper


MESHES = {
    ("free body", "rk4"): (40, 80, 160),
    ("free body", "dop853"): (4, 6, 8),
    ("free body", "radau"): (10, 20, 40),
    ("free body", "gauss4"): (20, 40, 80),
    ("free body", "gauss6"): (10, 20, 40),
    ("driven body", "rk4"): (40, 80, 160),
    ("driven body", "dop853"): (8, 12, 16),
    ("driven body", "radau"): (20, 40, 80),
    ("driven body", "gauss4"): (20, 40, 80),
    ("driven body", "gauss6"): (10, 20, 40),
    ("stubby beam", "rk4"): (160, 320, 640),
    ("stubby beam", "dop853"): (36, 48, 64),
    ("stubby beam", "radau"): (40, 80, 120),
    ("stubby beam", "gauss4"): (80, 160, 320),
    ("stubby beam", "gauss6"): (40, 60, 80),
}
ORDERS = {"rk4": 4.0, "dop853": 8.0, "radau": 5.0, "gauss4": 4.0, "gauss6": 6.0}


def slope(counts, errors):
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


QUICK_MESHES = [(problem, name) for problem, name in MESHES if problem != "stubby beam" or name not in FIXED]


@pytest.mark.parametrize(("problem", "name"), slow_but(QUICK_MESHES, MESHES))
def test_order(problem, name, monkeypatch):
    system, end = System(PROBLEMS[problem]()), 2.0
    ((q, v),) = reference(system, [end])
    counts = MESHES[problem, name]
    errors = []
    for count in counts:
        stepper = fixed_steps(system, name, count, end, monkeypatch)
        assert len(steps_to(stepper, end)) == count
        errors.append((np.max(np.abs(stepper.q - q)), np.max(np.abs(stepper.v - v))))
    for each in np.transpose(errors):
        assert np.max(each) > 1e-11  # above rounding
        # an order of 8 shows between the coarse meshes and rounding only roughly
        assert slope(counts, each) == pytest.approx(ORDERS[name], abs=0.9 if name == "dop853" else 0.2)


DENSE_ORDERS = {"rk4": 4.0, "dop853": 7.0, "radau": 5.0, "gauss4": 4.0, "gauss6": 5.0}


@pytest.mark.parametrize(
    ("problem", "name"), slow_but(QUICK_MESHES, [each for each in MESHES if each[0] != "free body"])
)
@pytest.mark.slow
def test_order_of_dense_output(problem, name, monkeypatch):
    """Inside the last step, in q, v and work; of at least the order the interpolant has."""
    system, end = System(PROBLEMS[problem]()), 2.0
    counts = MESHES[problem, name]
    errors = []
    for count in counts:
        stepper = fixed_steps(system, name, count, end, monkeypatch)
        last = steps_to(stepper, end)[-1]
        times = end - end / count * np.array([0.7, 0.45, 0.2])
        q, v, _ = last(times)
        wanted = reference(system, times)
        errors.append([max(np.max(np.abs(x[k] - w[i])) for k, w in enumerate(wanted)) for i, x in ((0, q), (1, v))])
        ends = last(np.array([last.start, last.end]))
        np.testing.assert_allclose(ends[0][1], stepper.q, rtol=0.0, atol=1e-13)
        # a velocity is a difference of coordinates over the step, and rounded like one
        np.testing.assert_allclose(ends[1][1], stepper.v, rtol=0.0, atol=2e-14 * count)
        assert ends[2][1] == pytest.approx(stepper.work, abs=1e-13)
    for each in np.transpose(errors):
        assert slope(counts, each) > DENSE_ORDERS[name] - 0.4


@pytest.mark.slow
@every_stepper
def test_dense_output_is_continuous(name):
    """In q, v and work at every step's ends, and q also just inside of them; v is a slope, with the rounding of q over
    the step."""
    system = System(stubby_beam())
    stepper = make_stepper(system, Run(duration=2.0, **STEPPERS[name]))
    before, length = (system.q0, system.v0, 0.0), 1.0
    for step in steps_to(stepper, 2.0):
        q, v, work = step(np.array([step.start, step.end]))
        np.testing.assert_allclose(q[0], before[0], rtol=0.0, atol=1e-13)
        rounding = 5e-14 / min(length, step.end - step.start)
        np.testing.assert_allclose(v[0], before[1], rtol=0.0, atol=1e-13 + rounding)
        assert work[0] == pytest.approx(before[2], abs=1e-14)
        near = 1e-5 * (step.end - step.start)
        inside = step(np.array([step.start + near, step.end - near]))[0]
        wanted = q + np.array([[near], [-near]]) * system.rates(q, v)
        np.testing.assert_allclose(inside, wanted, rtol=0.0, atol=1e-9)
        before, length = (q[1], v[1], work[1]), step.end - step.start


# Tolerance


def jacobi(t):
    """Angular velocity of ``free_body``: cn, largest sn, 1.2 dn, from twice the energy and the momentum squared."""
    a, b, c = 1.0, 2.0, 3.0
    energy, momentum = a * 1.0**2 + c * 1.2**2, (a * 1.0) ** 2 + (c * 1.2) ** 2
    rate = math.sqrt((c - b) * (momentum - energy * a) / (a * b * c))
    m = (b - a) * (energy * c - momentum) / ((c - b) * (momentum - energy * a))
    sn, cn, dn, _ = ellipj(rate * t, m)
    return np.array([cn, math.sqrt((energy * c - momentum) / (b * (c - b))) * sn, 1.2 * dn])


@every_stepper
def test_free_asymmetric_body(name):
    options = STEPPERS[name] if name in FIXED else {**STEPPERS[name], "rtol": 1e-12, "atol": Tolerances(1e-13, 1e-13)}
    results = simulate(free_body(), duration=10.0, output_interval=0.5, **options)
    body = results.bodies["b"]
    wanted = np.array([jacobi(t) for t in results.time])
    np.testing.assert_allclose(wanted[-1], [0.2342940840529, -0.9721657688778, 1.0606434710153], rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(body.angular_velocity, wanted, rtol=0.0, atol=1e-10)
    attitude = [0.8917936290702, -0.1802140290616, -0.0181771704109, 0.4146041694859]
    np.testing.assert_allclose(body.quaternion[-1], attitude, rtol=0.0, atol=1e-10)
    momentum = rotations.rotate(body.quaternion, np.array([1.0, 2.0, 3.0]) * body.angular_velocity)
    np.testing.assert_allclose(momentum, np.broadcast_to([1.0, 0, 3.6], momentum.shape), rtol=0.0, atol=2e-10)
    np.testing.assert_allclose(results.audit.energy_error, 0.0, rtol=0.0, atol=1e-10)


@every_stepper
def test_oscillator_with_a_force_of_state(name):
    results = simulate(oscillator(), duration=3.0, output_interval=0.1, **STEPPERS[name])
    x, v = results.bodies["m"].position[:, 0], results.bodies["m"].velocity[:, 0]
    np.testing.assert_allclose(x, 0.4 * np.cos(5.0 * results.time), rtol=0.0, atol=2e-8)
    np.testing.assert_allclose(v, -2.0 * np.sin(5.0 * results.time), rtol=0.0, atol=1e-7)


@with_error_control
def test_error_falls_with_rtol(name):
    """By two powers of ten over every two of the tolerance, and no larger than a hundred times the tolerance."""
    system = System(driven_body())
    ((q, v),) = reference(system, [3.0])
    errors = []
    tolerances = 10.0 ** -np.arange(3.0, 10.0, 2.0)
    for rtol in tolerances:
        atol = Tolerances(*[rtol] * 3, time=1.0)
        run = Run(duration=3.0, method=STEPPERS[name]["method"], rtol=rtol, atol=atol)
        stepper = make_stepper(system, run)
        steps_to(stepper, 3.0)
        errors.append(max(np.max(np.abs(stepper.q - q)), np.max(np.abs(stepper.v - v))))
    assert np.all(np.array(errors) < 100.0 * tolerances)
    assert np.polyfit(np.log(tolerances), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.3)


def test_error_of_a_stiff_satellite_falls_with_rtol():
    """Positions and quaternions; what lives shorter than the steps (axial waves) is not followed and need not be."""
    times = {"duration": 2.0, "output_interval": 0.05}
    fine = simulate(satellite(), rtol=1e-8, atol=Tolerances(1e-8, 1e-8, 1e-8), **times)
    for rtol in (1e-3, 1e-4, 1e-5, 1e-6):
        results = simulate(satellite(), rtol=rtol, **times)
        assert np.max(np.abs(results.beams["right"].position - fine.beams["right"].position)) < 5.0 * rtol
        assert np.max(np.abs(results.bodies["hub"].quaternion - fine.bodies["hub"].quaternion)) < 5.0 * rtol


@pytest.mark.slow  # tests/cases/test_methods_agree.py compares the two on a shorter stretch
def test_radau_agrees_with_an_explicit_method():
    """On the stiff satellite, over a stretch that explicit steps of 1e-4 s can follow."""
    times = {"duration": 0.15, "output_interval": 0.01}
    explicit = simulate(satellite(), method="rk", rtol=1e-8, atol=STRICT_RATES, **times)
    implicit = simulate(satellite(), method="radau", rtol=1e-6, atol=STRICT_RATES, **times)
    assert explicit.statistics["steps"] > 20 * implicit.statistics["steps"]
    for name in ("right", "left"):
        one, other = explicit.beams[name], implicit.beams[name]
        np.testing.assert_allclose(other.position, one.position, rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(other.quaternion, one.quaternion, rtol=0.0, atol=1e-7)
        assert np.max(np.abs(one.deflection)) > 1e-5
    assert np.max(np.abs(explicit.audit.energy_error)) < 1e-9
    assert np.max(np.abs(implicit.audit.energy_error)) < 1e-6


# Work


@pytest.mark.parametrize("damping", [0.0, 0.005])
@every_stepper
def test_work_balances_energy(name, damping):
    """Of a turning force and of damping; a body and a flexible beam."""
    models = [stubby_beam(damping)] if damping else [stubby_beam(0.0), driven_body()]
    for model in models:
        results = simulate(model, duration=2.0, output_interval=0.05, **STEPPERS[name])
        assert np.ptp(results.audit.work) > 0.05
        tolerance = 2e-7 if name == "radau" else 1e-8  # the work has the order of the method, and no error control
        np.testing.assert_allclose(results.audit.energy_error, 0.0, rtol=0.0, atol=tolerance)


@pytest.mark.slow
def test_work_on_the_satellite():
    results = simulate(satellite(), duration=2.0, output_interval=0.02, rtol=1e-7, atol=STRICT_RATES)
    assert results.audit.work[-1] > 1.0
    np.testing.assert_allclose(results.audit.energy_error, 0.0, rtol=0.0, atol=1e-7)


# Quaternions


@every_stepper
def test_quaternions_are_unit_at_outputs(name):
    for model in (free_body(), stubby_beam()):
        results = simulate(model, duration=2.0, output_interval=0.03, **STEPPERS[name])
        assert np.max(results.audit.quaternion_norm) < 1e-14


# Breakpoints


class Spy:
    """A profile that notes when it is asked."""

    def __init__(self, *jumps):
        self.breakpoints = jumps
        self.asked = []

    def __call__(self, t):
        self.asked.append(t)
        return float(sum(t >= jump for jump in self.breakpoints))


@every_stepper
def test_lands_on_breakpoints(name):
    """Exactly, with nothing asked beyond one before the step from it begins."""
    spy = Spy(0.1 + 0.2, 0.7, math.pi / 4)
    model = Model("pushed")
    model.add(PointMass("m", mass=2.0, position=(1, 0, 0)))
    model.add(Load("push", body="m", force=(4.0, 0, 0), profile=spy))
    system = System(model)
    stepper = make_stepper(system, Run(duration=1.0, **STEPPERS[name]))
    ends = []
    step = stepper.step

    def watched(limit):
        spy.asked.clear()
        done = step(limit)
        inside = [t for t in spy.breakpoints if done.start < t <= done.end]
        assert all(t < jump for t in spy.asked for jump in inside)
        assert min(spy.asked, default=done.start) >= done.start
        ends.append(done.end)
        return done

    stepper.step = watched
    for _ in integrate(system, stepper, np.array([0.0, 1.0]), RunSummary([])):
        pass
    assert set(spy.breakpoints) <= set(ends)
    assert ends[-1] == 1.0
    wanted = sum(2.0 * 0.5 * (1.0 - jump) ** 2 for jump in spy.breakpoints)
    assert stepper.q[0] == pytest.approx(1.0 + wanted, abs=1e-13)


@every_stepper
def test_jumping_load(name):
    """Closed form through a jump; a jump that is declared rejects no step."""
    model = oscillator()
    model.add(Load("push", body="m", force=(8.0, 0, 0), profile=Step(0.37, duration=0.5)))
    results = simulate(model, duration=1.5, output_interval=0.01, **STEPPERS[name])
    t = results.time
    wanted = 0.4 * np.cos(5.0 * t)
    for jump, sign in ((0.37, 1.0), (0.87, -1.0)):
        wanted += np.where(t > jump, sign * 8.0 / 50.0 * (1.0 - np.cos(5.0 * (t - jump))), 0.0)
    np.testing.assert_allclose(results.bodies["m"].position[:, 0], wanted, rtol=0.0, atol=2e-8)
    smooth = simulate(oscillator(), duration=1.5, output_interval=0.01, **STEPPERS[name])
    assert results.statistics["rejected"] <= smooth.statistics["rejected"] + 2


@every_stepper
def test_breakpoints_that_differ_by_rounding(name):
    """0.3 and 0.1 + 0.2 are one instant; and so are the end and what is a rounding before it."""
    model = Model("pushed")
    model.add(PointMass("m", mass=1.0, position=(1, 0, 0)))
    for k, start in enumerate((0.3, 0.1 + 0.2)):
        model.add(Load(f"push{k}", body="m", force=(1, 0, 0), profile=Step(start)))
    results = simulate(model, duration=1.0, output_interval=0.1, **STEPPERS[name])
    np.testing.assert_allclose(
        results.bodies["m"].position[:, 0], 1.0 + np.clip(results.time - 0.3, 0.0, None) ** 2, rtol=0.0, atol=1e-12
    )
    results = simulate(model, duration=0.1 + 0.2, output_interval=0.1, **STEPPERS[name])
    assert results.time[-1] == 0.1 + 0.2
    assert len(results.time) == 4


def test_step_to_limits_leaves_no_sliver():
    system = System(free_body())
    for name in ("radau", "dop853"):
        stepper = make_stepper(system, Run(duration=10.0, **STEPPERS[name]))
        lengths = [step.end - step.start for step in steps_to(stepper, 10.0)]
        assert lengths[-1] > 0.4 * lengths[-2]


# Events


def run_events(model, events, duration, **options):
    system = System(model)
    stepper = make_stepper(system, Run(duration=duration, **options))
    outcome = RunSummary([])
    frames = list(integrate(system, stepper, np.array([0.0, duration]), outcome, tuple(events)))
    return outcome, np.concatenate([each.time for each in frames]), np.concatenate([each.q for each in frames])


def thrown(speed=10.0):
    return of_parts(PointMass("m", mass=1.0, position=(1, 0, 0), velocity=(0, 0, speed)), gravity=(0, 0, -10.0))


def passes(height):
    """Times at which the thrown mass passes a height, rising and falling."""
    root = math.sqrt(1.0 - 0.2 * height)
    return 1.0 - root, 1.0 + root


def above(height, **words):
    return Event(f"z = {height}", lambda t, state: state.bodies["m"].position[2] - height, **words)


@every_stepper
def test_events_of_a_thrown_mass(name):
    """Every passage once, in order, each to 1e-10; several in one step, also of one event."""
    events = [above(h, terminal=False) for h in (1.0, 2.0, 3.0, 4.0)]
    outcome, *_ = run_events(thrown(), events, 3.0, **COARSE[name])
    wanted = sorted((t, f"z = {h}") for h in (1.0, 2.0, 3.0, 4.0) for t in passes(h))
    assert [event.name for event in outcome.events] == [event for _, event in wanted]
    np.testing.assert_allclose([event.time for event in outcome.events], [t for t, _ in wanted], rtol=0.0, atol=1e-10)
    assert outcome.stopped_by is None


@every_stepper
@pytest.mark.parametrize(("direction", "wanted"), [(1, [0]), (-1, [1]), (0, [0, 1])])
def test_direction_of_events(name, direction, wanted):
    outcome, *_ = run_events(thrown(), [above(3.0, terminal=False, direction=direction)], 3.0, **COARSE[name])
    got = [event.time for event in outcome.events]
    np.testing.assert_allclose(got, [passes(3.0)[k] for k in wanted], rtol=0.0, atol=1e-10)


@every_stepper
def test_terminal_event(name):
    """The run ends there, with the events before it in the list and none after."""
    events = [above(3.0, terminal=False), above(2.0, direction=-1), above(1.0, terminal=False)]
    outcome, times, q = run_events(thrown(), events, 3.0, **COARSE[name])
    assert [event.name for event in outcome.events] == ["z = 1.0", "z = 3.0", "z = 3.0", "z = 2.0"]
    assert outcome.stopped_by == "z = 2.0"
    assert times[-1] == pytest.approx(passes(2.0)[1], abs=1e-10)
    assert q[-1, 2] == pytest.approx(2.0, abs=1e-10)


@every_stepper
def test_event_where_it_starts_and_at_a_step_end(name):
    """A zero at the very start is none; one at a breakpoint is found once."""
    model = thrown()
    top = passes(3.75)[0]
    assert top == 0.5
    model.add(Load("nothing", body="m", force=(0, 0, 0.0), profile=Step(top)))
    events = [above(0.0, terminal=False, direction=1), above(3.75, terminal=False, direction=1)]
    outcome, *_ = run_events(model, events, 1.0, **STEPPERS[name])
    (event,) = outcome.events
    assert event.name == "z = 3.75"
    assert event.time == pytest.approx(top, abs=1e-10)


@pytest.mark.slow
@every_stepper
def test_event_of_a_turning_body(name):
    """A body spinning at 2 rad/s about a principal axis: its x axis crosses the plane y = 0 at half turns."""
    model = of_parts(RigidBody("b", mass=1.0, inertia=(1.0, 2.0, 2.5), angular_velocity=(0, 0, 2.0)))

    def side(t, state):
        return rotations.rotate(state.bodies["b"].quaternion, np.array(X))[1]

    options = STEPPERS[name] if name in FIXED else {**STEPPERS[name], "rtol": 1e-12, "atol": Tolerances(1e-13, 1e-13)}
    outcome, *_ = run_events(model, [Event("half turn", side, terminal=False)], 3.2, **options)
    np.testing.assert_allclose(
        [event.time for event in outcome.events], np.pi / 2.0 * np.arange(1, 3), rtol=0.0, atol=1e-10
    )


def stopped_cantilever(**options):
    stop = Event("tip turns", lambda t, state: state.beams["beam"].nodes[-1].velocity[2])
    return simulate(cantilever(1, damping=1e-3), duration=5.0, output_interval=0.05, events=(stop,), **options)


@cache
def when_the_tip_stops():
    return stopped_cantilever(rtol=1e-10).time[-1]


@pytest.mark.slow
@with_error_control
def test_event_of_a_flexible_model(name):
    """A released cantilever: the instant its tip stops falling agrees between steppers, and the last output is it."""
    results = stopped_cantilever(**STEPPERS[name])
    assert results.message == "stopped by event 'tip turns'"
    assert results.beams["beam"].velocity[-1, -1, 2] == pytest.approx(0.0, abs=1e-10)
    assert results.time[-1] == pytest.approx(when_the_tip_stops(), abs=1e-7)
    assert abs(results.time[-1] / 0.05 - round(results.time[-1] / 0.05)) > 1e-6  # an output of its own
    assert np.all(np.diff(results.time) > 0.0)


# Statistics


def counted(system, monkeypatch):
    """Numbers of calls of a system, by what ``Statistics`` calls them."""
    counts = {"residuals": 0, "jacobians": 0, "factorizations": 0}
    residual, bind, bind_matrices = system.residual, system.bound_equations, system.bound_matrices
    bind_factors = Factorisation.bound

    def count_residual(u, q, v, a):
        counts["residuals"] += len(q)
        return residual(u, q, v, a)

    def counting(evaluate, word, count):
        def add():
            counts[word] += count

        evaluate.calls = [add, *evaluate.calls]
        return evaluate

    def count_equations(u, q, *arrays, **words):
        return counting(bind(u, q, *arrays, **words), "residuals", len(q))

    system.residual, system.bound_equations = count_residual, count_equations
    system.bound_matrices = lambda *arrays: counting(bind_matrices(*arrays), "jacobians", 1)
    monkeypatch.setattr(Factorisation, "bound", lambda *args: counting(bind_factors(*args), "factorizations", 1))
    return counts


@every_stepper
def test_statistics(name, monkeypatch):
    system = System(stubby_beam())
    options = STEPPERS[name] if name in FIXED else {**STEPPERS[name], "rtol": 1e-6}
    counts = counted(system, monkeypatch)
    stepper = make_stepper(system, Run(duration=2.0, **options))
    steps = steps_to(stepper, 2.0)
    got = stepper.statistics
    assert got.steps == len(steps)
    if name == "radau":
        # the start takes one residual for its acceleration; the kernel for many states factorises its mass
        assert got.evaluations == counts["residuals"] - 1
        assert got.factorizations == counts["factorizations"]
        assert got.jacobians == counts["jacobians"]
        assert got.evaluations >= 3 * got.newton_iterations + got.steps
        assert got.newton_iterations >= got.steps
    else:
        # each evaluation of an explicit method factorises the mass
        assert got.evaluations == (counts["residuals"] if name in ("gauss4", "gauss6") else counts["factorizations"])
        assert (got.jacobians, got.factorizations, got.newton_iterations) == (0, 0, 0)
    if name == "rk4":
        assert (got.steps, got.rejected, got.evaluations) == (1000, 0, 1 + 4 * 1000)


def test_times_and_rejections_are_counted():
    """A force that jumps without saying so makes rejections."""
    model = oscillator()
    model.add(Load("push", body="m", force=(80.0, 0, 0), profile=lambda t: float(t > 0.5)))
    for name in ("radau", "dop853"):
        results = simulate(model, duration=1.0, output_interval=0.1, **STEPPERS[name])
        assert results.statistics["rejected"] > 3
        assert 0.0 < results.statistics["wall_time"] < 60.0
        assert 0.0 < results.statistics["cpu_time"] < 60.0


def test_matrices_serve_many_steps():
    """Of the stiff satellite, whose frames all turn: matrices are formed in its axes and seldom again."""
    for model in (satellite(forced=True), satellite(forced=False)):
        results = simulate(model, duration=10.0, output_interval=1.0, rtol=1e-6, atol=STRICT_RATES)
        statistics = results.statistics
        assert statistics["jacobians"] <= statistics["steps"] / 5
        assert statistics["rejected"] <= statistics["steps"] / 10
        assert statistics["newton_iterations"] <= 4 * statistics["steps"]
        assert statistics["steps"] < 200


def test_loose_tolerance_costs_less():
    """Steps that Newton's iteration limits are not tried again and again."""
    for forced in (True, False):
        found = [
            simulate(satellite(forced), duration=10.0, output_interval=1.0, rtol=rtol).statistics
            for rtol in (1e-4, 1e-6)
        ]
        assert found[0]["evaluations"] < found[1]["evaluations"]
        assert found[0]["rejected"] < found[0]["steps"] / 2


def test_exact_steps_cost_nothing():
    """A parabola is exact in every method: steps grow to the whole length, and rounding is no reason to reject."""
    for options in ({"method": "radau"}, {"method": "rk"}):
        for model in (thrown(), thrown(0.0)):
            results = simulate(model, duration=5.0, output_interval=1.0, **options)
            assert results.statistics["steps"] < 15
            assert results.statistics["rejected"] == 0


@with_error_control
def test_start_from_nothing(name):
    """A point mass at rest at the origin has no size to measure a first step by."""
    model = of_parts(PointMass("m", mass=2.0), Load("push", body="m", force=(1.0, 0, 0)))
    results = simulate(model, duration=1.0, output_interval=0.5, **STEPPERS[name])
    assert results.bodies["m"].position[-1, 0] == pytest.approx(0.25, abs=1e-12)


# Failures


def test_rk4_beyond_its_limit():
    """2.785 over the largest frequency, 48901 rad/s: 5.70e-5 s."""
    short = {"duration": 0.05, "output_interval": 0.01, "method": "rk", "tableau": "rk4"}
    results = simulate(satellite(), step=5.65e-5, **short)
    assert np.max(np.abs(results.audit.energy_error)) < 1e-9
    message = r"rk4 stopped at t = 0\.0.* with step 6e-05 s .*try a smaller step"
    refuses(message, simulate, satellite(), step=6e-5, **short, error=SolveError)


def test_gauss_beyond_its_limit():
    """Its iteration does not contract for the axial modes of metal beams, nor for a spring stiffer than the step."""
    short = {"duration": 0.05, "output_interval": 0.01, "method": "gauss", "step": 1e-3}
    with pytest.raises(SolveError, match=r"gauss stopped at t = 0 s with step 0\.001 s .*try a smaller step"):
        simulate(satellite(), **short)
    message = r"stages of the Gauss step of 0\.001 s at t = 0 s did not settle .*smaller step.*\"radau\""
    refuses(message, simulate, oscillator(k=1e8), **short, error=SolveError)


def test_rk4_of_a_force_grows_to_infinity():
    message = r"rk4 stopped at t = .* s with step 0\.8 s \(the state is not finite\)"
    with pytest.raises(SolveError, match=message):
        simulate(oscillator(), duration=1e4, output_interval=1e3, method="rk", tableau="rk4", step=0.8)


@every_stepper
def test_max_steps(name):
    message = r"given up at t = \d\.\d+ s after max_steps = 7 steps"
    refuses(message, simulate, driven_body(), duration=10.0, max_steps=7, **STEPPERS[name], error=SolveError)


@every_stepper
def test_folded_element(name):
    """A torque folds a single soft element; the message has the time, the element and the remedy."""
    model = Model("fold")
    section = boom(
        second_moments=(1e-8, 1e-8), torsion_constant=1e-8, density=400.0, youngs_modulus=1e7, shear_modulus=1e7,
    )  # fmt: skip
    model.add(Beam("beam", section=section, length=1.0, start=Ground().at(direction=X)))
    model.add(Load("fold", beam="beam", torque=(0, 5.0, 0), profile=Versine(1.0)))
    options = {**STEPPERS[name], **({"step": 1e-4} if name in FIXED else {"rtol": 1e-5})}
    message = r"stopped at t = 0\.2(49|50).*beams\.beam, element 1 of 1: turned by 180.*more elem"
    refuses(message, simulate, model, duration=1.0, **options, error=SolveError)


@every_stepper
@pytest.mark.parametrize("first", [0.0, 0.5])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_load_that_is_not_finite(name, first, bad):
    """A clear message with load and time, after few attempts."""
    asked = []

    def push(t, state):
        asked.append(t)
        assert len(asked) < 5000
        return np.array([bad if t >= first else 1.0, 0.0, 0.0])

    model = of_parts(PointMass("m", mass=2.0, position=(1, 0, 0)), Load("push", body="m", force=push), title="bad")
    message = rf"loads\.push\.force: got \[{bad}, .*at t = {first:g}.* s, which is not finite"
    refuses(message, simulate, model, duration=1.0, **STEPPERS[name], error=SolveError)


@with_error_control
def test_load_that_is_not_finite_at_a_trial_state_only(name):
    """A logarithm that a trial step would take of a negative number: shorter steps stay clear of it."""
    bad = []

    def push(t, state):
        x = state.bodies["m"].position[0]
        bad.extend([t] * bool(x <= 0.0))
        return np.array([-50.0 * math.log(x) if x > 0.0 else math.nan, 0.0, 0.0])

    model = of_parts(PointMass("m", mass=1.0, position=(0.2, 0, 0)), Load("push", body="m", force=push))
    results = simulate(model, duration=2.0, output_interval=0.01, **STEPPERS[name], first_step=1.0)
    assert bad
    x = results.bodies["m"].position[:, 0]
    energy = results.audit.kinetic_energy + 50.0 * (x * np.log(x) - x)
    np.testing.assert_allclose(energy, energy[0], rtol=0.0, atol=1e-6)


@with_error_control
def test_jumps_that_cannot_be_followed(name):
    """A force whose sign differs from one instant to the next: no step is short enough, and the message says so."""

    def flicker(t):
        return 1e9 if hash((float(t),)) % 2 else -1e9

    model = Model("flicker")
    model.add(PointMass("m", mass=1.0, position=(1, 0, 0)))
    model.add(Load("push", body="m", force=(1.0, 0, 0), profile=flicker))
    message = r"stopped at t = .* s: the step had to be cut to .* without declared breakpoints"
    refuses(message, simulate, model, duration=1.0, **STEPPERS[name], error=SolveError)


# Constraints


@pytest.mark.slow
@pytest.mark.parametrize(("order", "bound"), slow_but([(4, 1e-6)], [(4, 1e-6), (6, 1e-10)]))
def test_gauss_with_constraints(order, bound):
    """A spinning top on a ball joint and a pendulum on a hinge below it, with multipliers, against DOP853."""
    model = Model("top", gravity=(0, 0, -9.81))
    model.add(Ground())
    top = RigidBody("top", 1.0, (0.02, 0.02, 0.01), center_of_mass=(0, 0, 0.2), angular_velocity=(0.3, 0.5, 20.0))
    model.add(top)
    model.add(RigidBody("bob", 0.2, (1e-3, 1e-3, 1e-3), center_of_mass=(0, 0, -0.1)))
    model.add(Spherical("tip", JointEnd("ground"), JointEnd("top")))
    model.add(Revolute("hinge", JointEnd("top", at=(0, 0, 0.1), axis=X), JointEnd("bob"), start=0.4))
    words = {"duration": 1.0, "output_interval": 0.1}
    wanted = simulate(model, method="rk", rtol=1e-12, atol=Tolerances(1e-13, 1e-13, 1e-13), **words)
    results = simulate(model, method="gauss", step=1e-3, order=order, **words)
    for name in ("top", "bob"):
        difference = results.bodies[name].quaternion - wanted.bodies[name].quaternion
        assert np.abs(difference).max() < bound
    assert np.abs(results.audit.energy_error).max() < bound
    assert np.abs(results.audit.constraint_position).max() < 1e-12


# Closed loops


def bridge(split):
    """Two bodies joined by one beam, or by two of half its section in the same place, which form a loop."""
    model = Model("bridge")
    hub = model.add(RigidBody("hub", mass=1.7, inertia=(0.5, 0.6, 0.7), angular_velocity=(0.3, 0.5, -0.4)))
    body = model.add(RigidBody("body", mass=0.9, inertia=(0.3, 0.4, 0.5)))
    parts = 2 if split else 1
    section = boom(
        area=2.5e-3 / parts, second_moments=(5.2e-7 / parts, 3e-7 / parts), torsion_constant=6e-7 / parts,
        youngs_modulus=5e6, shear_modulus=2e6, damping=1e-3,
    )  # fmt: skip
    for k in range(parts):
        start, end = hub.at((0.1, 0.2, 0), direction=X), body.at((-0.1, 0, 0), direction=X)
        model.add(Beam(f"beam{k}", section=section, length=1.5, elements=3, start=start, end=end))
    model.add(Load("push", body="body", at=(0.1, 0.2, 0.3), force=(0.5, 1.0, -0.7), frame="body"))
    return model


@pytest.mark.slow
def test_loop_moves_like_the_tree_it_equals():
    loop, tree = System(bridge(split=True)), System(bridge(split=False))
    assert (loop.layout.is_tree, tree.layout.is_tree) == (False, True)
    options = {"duration": 0.5, "output_interval": 0.05, "rtol": 1e-8, "atol": Tolerances(1e-9, 1e-9, 1e-9)}
    one, other = simulate(bridge(split=True), **options), simulate(bridge(split=False), **options)
    explicit = simulate(bridge(split=True), **{**options, "method": "rk"})
    for name in ("hub", "body"):
        for word in ("position", "quaternion"):
            wanted = getattr(other.bodies[name], word)
            np.testing.assert_allclose(getattr(one.bodies[name], word), wanted, rtol=0.0, atol=1e-9)
            np.testing.assert_allclose(getattr(explicit.bodies[name], word), wanted, rtol=0.0, atol=1e-7)
    for name in ("beam0", "beam1"):
        np.testing.assert_allclose(one.beams[name].position, other.beams["beam0"].position, rtol=0.0, atol=1e-9)
    assert np.max(np.abs(other.beams["beam0"].deflection)) > 0.02
    np.testing.assert_allclose(one.audit.energy_error, 0.0, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("radius", [0.5, 0.8])
def test_generalized_alpha_has_its_spectral_radius_at_infinite_frequency(radius):
    """Both eigenvalues of a step are minus the radius there: a vibration decays as n radius^n in n steps."""
    model = Model()
    model.add(PointMass("mass", mass=1.0, velocity=(1e-3, 0.0, 0.0)))
    ends = SpringEnd(body="mass"), SpringEnd(anchor=(1.0, 0.0, 0.0))
    model.add(SpringDamper("spring", *ends, stiffness=1e14, free_length=1.0))
    options = {"method": "generalized-alpha", "spectral_radius": radius, "step": 1.0, "output_interval": 1.0}
    speed = simulate(model, duration=40.0, **options).bodies["mass"].velocity[:, 0]
    assert speed[40] / speed[20] == pytest.approx(radius**20 * 40.0 / 20.0, rel=0.1)


def hinged_panel():
    """A panel on a hub, which a latch holds in the middle."""
    return panel_on_hub(at=0.0)


def masses_on_a_spring():
    """Two point masses and a damped spring, one of them above the other."""
    model = Model(gravity=(0.0, 0.0, -9.81))
    model.add(PointMass("a", mass=1.0, position=(0.0, 0.0, 1.0)))
    model.add(PointMass("b", mass=3.0, position=(0.3, 0.0, 0.0)))
    ends = SpringEnd(body="a"), SpringEnd(body="b")
    model.add(SpringDamper("s", *ends, stiffness=40.0, free_length=0.8, damping=0.5))
    return model


def driven_arm():
    """A damped exact beam that a driver swings, with a force on its end."""
    model = Model(gravity=(0.0, 0.0, -9.81))
    model.add(RigidBody("hub", mass=1.0, inertia=1.0))
    model.add(Revolute("hinge", JointEnd("ground", axis=Z), JointEnd("hub", axis=Z)))
    model.add(ExactBeam("arm", boom(damping=1e-3), 2.0, 3, start=Attachment("hub", direction=X)))
    model.add(JointDriver("motor", "hinge", Sine(frequency=0.5, amplitude=0.4)))
    model.add(Load("push", beam="arm", node=-1, force=(0.0, 0.0, 20.0)))
    return model


def called_by_python(patch):
    """Let Python make all calls of a step, as where kernels have no entries."""
    for module in (bound_calls, row_calls):
        patch.setattr(module, "AVAILABLE", False)
    patch.setattr(bound_calls, "call_bound", bound_calls.call_by_number)
    patch.setattr(bound_calls, "call_for_number", bound_calls.number_by_number)
    callers = {"try_step", "iterated", "estimated", "judged", "called", "call_each", "make_stages"}
    for module in (bound_calls, step_kernels, step_program, stage_program):
        for word in callers & vars(module).keys():
            patch.setattr(module, word, getattr(module, word).py_func)
    # what only kernels call
    for word in ("stage_state", "copy_to"):
        patch.setattr(stage_program, word, getattr(stage_program, word).py_func)


def motion_of(model, monkeypatch, compiled, duration, method="radau", **options):
    """Results of a run by trial steps of one compiled call each or by Python, and how many calls Python made."""
    made = []
    by_number = bound_calls.call_by_number
    with monkeypatch.context() as patch:
        patch.setattr(bound_calls, "call_by_number", lambda *call: made.append(1) or by_number(*call))
        if not compiled:
            called_by_python(patch)
        results = simulate(model, duration=duration, method=method, output_interval=duration / 4.0, **options)
    return results, len(made)


@pytest.mark.skipif(not AVAILABLE, reason="kernels have no entries in this version of numba")
@pytest.mark.parametrize("make", [satellite, hinged_panel, controlled_by_pd, masses_on_a_spring, driven_arm])
@pytest.mark.parametrize("method", ["radau", "bdf", "generalized-alpha"])
def test_steps_of_one_call_are_those_of_python_to_the_last_bit(method, make, monkeypatch):
    model = make()
    one, none = motion_of(model, monkeypatch, True, 0.5, method)
    other, calls = motion_of(model, monkeypatch, False, 0.5, method)
    assert none == 0
    assert calls > 10 * one.statistics["steps"] > 0
    for word in ("steps", "rejected", "evaluations", "jacobians", "factorizations", "newton_iterations"):
        assert one.statistics[word] == other.statistics[word], word
    assert one.arrays.keys() == other.arrays.keys()
    for path, values in one.arrays.items():
        np.testing.assert_array_equal(values, other.arrays[path], err_msg=path)


@pytest.mark.skipif(not AVAILABLE, reason="kernels have no entries in this version of numba")
@pytest.mark.parametrize("make", [satellite, controlled_by_pd, masses_on_a_spring, driven_arm])
def test_stages_of_one_call_are_those_of_python_to_the_last_bit(make, monkeypatch):
    options = {"duration": 2e-3, "method": "rk", "output_interval": 5e-4}
    one = simulate(make(), **options)
    called_by_python(monkeypatch)
    other = simulate(make(), **options)
    assert one.statistics["steps"] > 0
    for path, values in one.arrays.items():
        np.testing.assert_array_equal(values, other.arrays[path], err_msg=path)


@pytest.mark.skipif(not AVAILABLE, reason="kernels have no entries in this version of numba")
def test_python_calls_no_kernel_of_an_explicit_step(monkeypatch):
    """All stages of a step are one call; inputs of the time are evaluated before."""
    stepper = make_stepper(System(satellite()), Run(duration=0.5, rtol=1e-6, method="rk"))
    stepper.step(0.1)
    monkeypatch.setattr(Bound, "__call__", lambda *_: pytest.fail("a kernel was called by Python"))
    for _ in range(3):
        stepper.step(0.1)


@pytest.mark.skipif(not AVAILABLE, reason="kernels have no entries in this version of numba")
@pytest.mark.parametrize(
    ("method", "make"),
    [("radau", satellite), ("radau", driven_arm), ("bdf", satellite), ("generalized-alpha", satellite)],
)
def test_python_calls_no_kernel_of_a_step(method, make, monkeypatch):
    """Matrices, factors, and the iteration, filtered estimate, projection and budget of a step are compiled calls."""
    stepper = make_stepper(System(make()), Run(duration=0.5, rtol=1e-6, method=method))
    while stepper.t < 0.1:
        stepper.step(0.1)
    made, call = [], Bound.__call__

    def noted(bound):
        made.append(bound.kernel.__name__)
        return call(bound)

    monkeypatch.setattr(Bound, "__call__", noted)
    stepper._matrices = None  # the next step forms them anew
    before = stepper.statistics.jacobians
    while stepper.t < 0.5:
        stepper.step(0.5)
    assert stepper.statistics.jacobians > before
    assert made == []
