"""The BDF stepper: its order, its errors against radau's, what it keeps, and how many steps it takes.

Step counts and errors measured when this was written stand beside the bounds; the bounds leave room for changes that do
no harm. They are those of a tolerance of rates ten times as strict as the default one, ``Tolerances(time=0.1)``.
"""

from math import comb

import numpy as np
import pytest
from models import of_parts, refuses, satellite, tape

from femb import Attachment, Beam, Load, Model, RigidBody, Run, Section, SolveError
from femb.base.options import Tolerances
from femb.profiles import Step, Versine
from femb.run.simulate import simulate
from femb.statics.equilibrium import steady_start
from femb.steppers import bdf, make_stepper
from femb.steppers.bdf import ERROR, BackwardDifferences, resampling
from femb.system.system import System


def damped_boom():
    """A slack boom with damping on a hub that is turned: bending resolved, the rest stiff and damped."""
    model = Model("damped")
    hub = model.add(RigidBody("hub", mass=50.0, inertia=5.0))
    start = hub.at((0.5, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
    model.add(Beam("boom", section=tape(damping=2e-3), length=4.0, elements=4, start=start))
    model.add(Load("slew", body="hub", torque=(0.0, 2.0, 1.0), frame="body", profile=Versine(1.0)))
    return model


def tumbling(**options):
    """A rigid body far from its principal axes, with an offset mass centre."""
    body = RigidBody("body", mass=1.0, inertia=(1.0, 2.0, 2.7), angular_velocity=(0.3, 5.0, 0.2), **options)
    return of_parts(body)


def forced_tumbling():
    model = tumbling(center_of_mass=(0.1, 0.2, 0.3))
    model.add(Load("w", body="body", torque=(3.0, 1.0, 0.0), force=(1.0, 0.0, 0.0), profile=lambda t: np.cos(3.0 * t)))
    return model


def rubber():
    """A body on a rubber beam, all of whose vibrations are slow enough to be resolved by a hundredth of a second."""
    section = Section("rubber", 1e-2, (8e-6, 8e-6), 1.4e-5, 1000.0, 1e5, 4e4)
    model = Model("rubber")
    velocities = {"angular_velocity": (1.0, 2.0, 0.5), "velocity": (0.2, 0.0, 0.0)}
    hub = model.add(RigidBody("hub", mass=5.0, inertia=0.5, **velocities))
    model.add(Beam("b", section=section, length=1.0, elements=1, start=hub.at(direction=(1.0, 0.0, 0.0))))
    model.add(Load("w", body="hub", torque=(0.0, 3.0, 1.0), profile=lambda t: np.cos(3.0 * t)))
    return model


def integrate(system, duration, **options):
    """(stepper, steps, orders) of a run from breakpoint to breakpoint."""
    stepper = make_stepper(system, Run(duration=duration, **{"atol": Tolerances(time=0.1), **options}))
    steps, orders = [], []
    for limit in [*(t for t in system.breakpoints if 0.0 < t < duration), duration]:
        while stepper.t < limit:
            orders.append(getattr(stepper, "order", 0))
            steps.append(stepper.step(limit))
        assert stepper.t == limit
        if limit < duration:
            stepper.restart()
    return stepper, steps, orders


def energy(system, q, v):
    return system.energy_momentum(q[None], v[None])[0, :2].sum()


# The formula


def prediction(history):
    """Value and slope of the next step."""
    values, slope = np.empty((2, history.D.shape[1]))
    bdf.predict(history.D, bdf.GAMMA, np.array([0.0, 0.0, history.order, history.h]), values, slope)
    return values, slope


@pytest.mark.parametrize("order", range(1, 6))
def test_history_samples_its_polynomial_anew(order):
    rng = np.random.default_rng(order)
    coefficients = rng.standard_normal((order + 1, 3))

    def differences(h):
        values = np.stack([np.polyval(coefficients, -h * i) for i in range(order + 1)])
        return np.stack([sum((-1) ** i * comb(j, i) * values[i] for i in range(j + 1)) for j in range(order + 1)])

    assert resampling(order, 0.37) @ differences(1.0) == pytest.approx(differences(0.37), abs=1e-12)
    # on a polynomial the formula is exact: its prediction, its slope, and the differences it goes on with
    history = BackwardDifferences(3)
    history.D[: order + 1] = differences(0.5)
    history.h, history.order = 0.5, order
    predicted, slope = prediction(history)
    assert predicted == pytest.approx(np.polyval(coefficients, 0.5), abs=1e-11)
    derivative = [np.polyval(np.polyder(column), 0.5) for column in coefficients.T]
    assert slope == pytest.approx(np.array(derivative), abs=1e-11)
    history.advance(np.zeros(3))
    history.change(0.2, order)
    assert prediction(history)[0] == pytest.approx(np.polyval(coefficients, 0.7), abs=1e-11)


class FixedStep(bdf.Bdf):
    """Constant step and order, from a history that is given."""

    def _error(self, trial, h):
        return 0.0

    def _plan(self, h, error):
        return h

    def seed(self, order, h, values):
        """Go on at t = order h with ``values`` (order + 1, n), newest first."""
        for j in range(order + 1):
            self.history.D[j] = sum((-1) ** i * comb(j, i) * values[i] for i in range(j + 1))
        self.history.h, self.history.order, self.h, self.t = h, order, h, order * h
        self.q, self.v = values[0, : self.form.n_q].copy(), values[0, self._in_v].copy()


def motion(system, duration):
    """The exact motion: t -> (q, v, budget)."""
    run = Run(duration=duration, method="rk", rtol=1e-12, atol=Tolerances(1e-12, 1e-12, 1e-12), max_step=duration / 50)
    reference = make_stepper(system, run)
    steps = []
    while reference.t < duration:
        steps.append(reference.step(duration))
    ends = np.array([step.end for step in steps])

    def at(t):
        q, v, work = steps[min(int(np.searchsorted(ends, t)), len(steps) - 1)](np.array([t]))
        return np.concatenate([q[0], v[0], work[0]])

    return at


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "duration", "counts"),
    [(forced_tumbling, 1.0, (100, 100, 100, 80, 50)), (rubber, 0.5, (800, 400, 200, 200, 160))],
)
def test_order(model, duration, counts, monkeypatch):
    monkeypatch.setattr(bdf, "MAX_ITERATIONS", 30)
    system = System(model())
    at = motion(system, duration)
    exact = at(duration)
    for order, coarse in enumerate(counts, start=1):
        errors = []
        for count in (coarse, 2 * coarse):
            h = duration / count
            run = Run(duration=duration, method="bdf", rtol=1e-10, atol=Tolerances(1e-10, 1e-10, 1e-10))
            stepper = FixedStep(system, run)
            stepper.seed(order, h, np.array([at(h * i) for i in range(order, -1, -1)]))
            while stepper.t < duration * (1.0 - 1e-9):
                stepper.step(duration)
            state = np.concatenate([stepper.q, stepper.v, stepper.work]) - exact
            parts = np.split(state, [system.n_q, system.n_q + system.n_v])
            errors.append([np.linalg.norm(part) for part in parts])
            assert stepper.statistics.steps == count - order
        observed = np.log2(np.array(errors[0]) / np.array(errors[1]))
        assert np.all(observed[:2] > order - 0.5), (order, observed)
        assert observed[2] > order - 1.2, (order, observed)
        assert errors[1][0] < 0.05


def test_projection_does_not_change_the_motion(monkeypatch):
    """A history scaled as a whole solves the same equations: only the length of the quaternion differs."""
    system = System(forced_tumbling())
    at = motion(system, 1.0)
    ends = []
    for project in (True, False):
        if not project:
            monkeypatch.setattr(bdf, "normalise_history", lambda places, D: None)
        stepper = FixedStep(system, Run(duration=1.0, method="bdf", rtol=1e-9))
        stepper.seed(4, 0.01, np.array([at(0.01 * i) for i in range(4, -1, -1)]))
        while stepper.t < 1.0:
            stepper.step(1.0)
        ends.append(stepper)
    lengths = [np.linalg.norm(stepper.q[3:7]) for stepper in ends]
    assert lengths[0] == pytest.approx(1.0, abs=1e-14)
    assert abs(lengths[1] - 1.0) > 1e-9
    assert ends[0].q[3:7] == pytest.approx(ends[1].q[3:7] / lengths[1], abs=1e-11)
    assert ends[0].v == pytest.approx(ends[1].v, abs=1e-9)


def test_error_follows_the_tolerance():
    system = System(tumbling())
    exact = motion(system, 2.0)(2.0)[: system.n_q]
    errors = []
    for rtol in (1e-5, 1e-7, 1e-9):
        stepper, _, orders = integrate(system, 2.0, method="bdf", rtol=rtol, atol=Tolerances(rtol, rtol, rtol))
        errors.append(np.linalg.norm(stepper.q - exact))
        assert max(orders) == 5
    # measured 1.4e-5, 1.3e-6, 2.4e-8 in 39, 74 and 162 steps
    assert errors[0] < 1e-4
    assert errors[1] < 1e-5
    assert errors[2] < 3e-7


# Options


def test_default_max_order():
    assert bdf.default_max_order(System(tumbling())) == 5
    assert bdf.default_max_order(System(damped_boom())) == 5
    mixed = damped_boom()
    undamped = Section(**{**vars(tape()), "name": "bare"})
    mixed.add(Beam("antenna", section=undamped, length=1.0, start=mixed.bodies["hub"].at(direction=(0.0, 1.0, 0.0))))
    assert bdf.default_max_order(System(mixed)) == 2
    for model, wanted, most in ((satellite(False), None, 2), (satellite(False), 3, 3), (tumbling(), 4, 4)):
        _, _, orders = integrate(System(model), 2.0, method="bdf", rtol=1e-5, max_order=wanted)
        assert max(orders) == most


@pytest.mark.parametrize("value", [0, 6, 2.5, True, "two"])
def test_max_order_is_checked(value):
    refuses(r"max_order.*must be a whole number from 1 to 5", Run, duration=1.0, method="bdf", max_order=value)


def test_first_and_largest_step():
    system = System(tumbling())
    _, steps, _ = integrate(system, 0.5, method="bdf", rtol=1e-3, first_step=1e-5, max_step=0.01)
    lengths = np.array([step.end - step.start for step in steps])
    assert lengths[0] == pytest.approx(1e-5)
    assert lengths.max() == pytest.approx(0.01)
    assert len(steps) < 70


# Accuracy and work


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "tolerances"),
    [
        # rtol: bounds of steps, evaluations, error; measured 47, 198, 1.6e-2; 349, 698, 3.3e-4; 1071, 2142, 1.3e-4
        (lambda: satellite(True), {1e-3: (90, 400, 0.06), 1e-5: (550, 1200, 2e-3), 1e-6: (1900, 4000, 4e-4)}),
        # measured 480, 1641, 2.8e-3; 1357, 3593, 5.7e-5
        (damped_boom, {1e-4: (800, 2800, 3e-2), 1e-6: (2200, 6000, 5e-4)}),
    ],
)
def test_agrees_with_radau(model, tolerances):
    system = System(model())
    # without the axial vibrations, which a tenth of this rtol would ask to follow
    tolerances_of_reference = Tolerances(1e-7, 1e-7, 1e-7, time=0.1)
    reference, _, _ = integrate(system, 10.0, method="radau", rtol=1e-9, atol=tolerances_of_reference)
    for rtol, (steps, evaluations, bound) in tolerances.items():
        stepper, _, _ = integrate(system, 10.0, method="bdf", rtol=rtol)
        statistics = stepper.statistics
        assert statistics.steps < steps, (rtol, statistics)
        assert statistics.evaluations < evaluations, (rtol, statistics)
        assert np.abs(stepper.q - reference.q).max() < bound, rtol
        # the work put in is what the energy says; measured 0.2, 0.3 and 0.2 of this, and 0.1 twice
        balance = (
            energy(system, stepper.q, stepper.v)
            - energy(system, system.q0, system.v0)
            - system.budget.total(stepper.work)
        )
        assert abs(balance) < 0.5 * bound, rtol


@pytest.mark.parametrize(("rtol", "most"), [(1e-3, 40), (1e-4, 70), (1e-6, 500)])
def test_stiff_start_does_not_collapse_the_step(rtol, most):
    """Booms that start out of equilibrium: measured 16, 35 and 250 steps (radau: 25, 27 and 45)."""
    system = System(satellite(False))
    stepper, _, _ = integrate(system, 10.0, method="bdf", rtol=rtol)
    assert stepper.statistics.steps < most
    assert stepper.statistics.rejected < 10
    start = system.energy_momentum(system.q0[None], system.v0[None])[0]
    end = system.energy_momentum(stepper.q[None], stepper.v[None])[0]
    assert abs(end[:2].sum() - start[:2].sum()) < 10.0 * rtol * start[0]
    assert np.abs(end[5:] - start[5:]).max() < 10.0 * rtol * np.abs(start[5:]).max()
    # nothing but a linear formula acts on the linear momentum
    assert np.abs(end[2:5]).max() < 1e-11


@pytest.mark.slow
def test_finer_mesh_takes_no_more_steps():
    """Accelerations of short elements answer to the last digits of their strains, at every start of a stretch."""
    steps = [integrate(System(satellite(True, n)), 3.0, method="bdf", rtol=1e-5)[0].statistics.steps for n in (2, 80)]
    # measured 152 and 152
    assert steps[1] < 1.3 * steps[0]


@pytest.mark.parametrize(("rtol", "most"), [(1e-3, 700), (1e-4, 2000)])
def test_spinning_boom(rtol, most):
    """Stiff members that turn: matrices serve for many steps, and the strain of the spin stays.

    Measured 368 steps with one matrix, and 1291 with one (radau: 162 with 75, and 141 with 138).
    """
    start = Attachment(at=(-5.0, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
    spin = {"velocity": (0.0, -10.0, 0.0), "angular_velocity": (0.0, 0.0, 2.0)}
    model = of_parts(Beam("boom", section=tape(), length=10.0, elements=8, start=start, **spin))
    system = System(model)
    system = system.starting_at(*steady_start(system))
    stepper, _, _ = integrate(system, 3.0 * np.pi, method="bdf", rtol=rtol)
    statistics = stepper.statistics
    assert statistics.steps < most
    assert statistics.rejected < 20
    assert statistics.jacobians < 20
    before = system.energy_momentum(system.q0[None], system.v0[None])[0]
    after = system.energy_momentum(stepper.q[None], stepper.v[None])[0]
    assert abs(after[7] / before[7] - 1.0) < 5.0 * rtol
    strains = stepper.q[system.layout.internal_q]
    assert strains.max() == pytest.approx(system.q0[system.layout.internal_q].max(), rel=0.02)


# The contract


def test_quaternions_are_of_unit_length_and_steps_join():
    system = System(tumbling())
    stepper, steps, _ = integrate(system, 1.0, method="bdf", rtol=1e-4)
    last = None
    for step in steps:
        q, v, work = step(np.linspace(step.start, step.end, 5))
        assert np.abs(np.linalg.norm(q[:, 3:7], axis=1) - 1.0).max() < 1e-14
        if last is not None:
            assert q[0] == pytest.approx(last[0], abs=1e-12)
            assert v[0] == pytest.approx(last[1], abs=1e-12)
            assert work[0] == pytest.approx(last[2], abs=1e-12)
        last = q[-1], v[-1], work[-1]
    assert last[0] == pytest.approx(stepper.q, abs=1e-14)
    assert last[1] == pytest.approx(stepper.v, abs=1e-14)


def test_dense_output_is_as_accurate_as_the_steps():
    system = System(forced_tumbling())
    at = motion(system, 1.0)
    _, steps, _ = integrate(system, 1.0, method="bdf", rtol=1e-5)
    ends, inside = [], []
    for step in steps:
        q, v, work = step(np.linspace(step.start, step.end, 6)[1:])
        states = np.column_stack([q, v, work])
        exact = np.array([at(t) for t in np.linspace(step.start, step.end, 6)[1:]])
        errors = np.abs(states - exact).max(axis=1)
        ends.append(errors[-1])
        inside.append(errors[:-1].max())
    assert max(inside) < 1.2 * max(ends)


def test_lands_on_jumps_and_takes_their_left_value():
    model = Model("pushed")
    model.add(RigidBody("body", mass=2.0, inertia=1.0))
    model.add(Load("push", body="body", force=(3.0, 0.0, 0.0), profile=Step(start=0.3, duration=0.4)))
    results = simulate(model, duration=1.0, method="bdf", rtol=1e-8, output_interval=0.1)
    body = results.bodies["body"]
    t = results.time
    within = np.clip(t - 0.3, 0.0, 0.4)
    assert body.velocity[:, 0] == pytest.approx(1.5 * within, abs=1e-12)
    travelled = 0.75 * within**2 + 0.6 * np.clip(t - 0.7, 0.0, None)
    assert body.position[:, 0] == pytest.approx(travelled, abs=2e-6)
    system = System(model)
    _, steps, orders = integrate(system, 1.0, method="bdf", rtol=1e-6)
    ends = [step.end for step in steps]
    assert {0.3, 0.7, 1.0} <= {round(end, 12) for end in ends}
    for jump in system.breakpoints:
        assert orders[ends.index(jump) + 1] == 1


def test_rest_and_free_flight():
    """Nothing changes, or only linearly: few steps, and no division by a size of zero."""
    model = of_parts(RigidBody("body", mass=1.0, inertia=1.0))
    stepper, steps, _ = integrate(System(model), 10.0, method="bdf")
    assert len(steps) < 20
    assert stepper.q == pytest.approx(System(model).q0, abs=1e-15)
    flying = of_parts(RigidBody("body", mass=1.0, inertia=1.0, velocity=(1.0, 2.0, 3.0)))
    stepper, steps, _ = integrate(System(flying), 10.0, method="bdf")
    assert len(steps) < 20
    assert stepper.q[:3] == pytest.approx([10.0, 20.0, 30.0], rel=1e-12)


def test_load_that_depends_on_the_state():
    """A brake written by the user: w' = -2 w, energy lost as work."""
    model = Model("brake")
    model.add(RigidBody("body", mass=1.0, inertia=1.0, angular_velocity=(0.0, 0.0, 3.0)))
    model.add(Load("brake", body="body", torque=lambda t, state: -2.0 * state.bodies["body"].angular_velocity))
    system = System(model)
    stepper, _, _ = integrate(system, 1.0, method="bdf", rtol=1e-7)
    assert stepper.v[5] == pytest.approx(3.0 * np.exp(-2.0), rel=1e-5)
    assert system.budget.total(stepper.work) == pytest.approx(0.5 * (stepper.v[5] ** 2 - 9.0), rel=1e-4)


# Failures


def test_load_that_is_not_a_number():
    model = tumbling()
    model.add(Load("w", body="body", force=(1.0, 0.0, 0.0), profile=lambda t: np.nan if t > 0.5 else 1.0))
    with pytest.raises(SolveError, match=r"t = 0\.5") as caught:
        simulate(model, duration=1.0, method="bdf")
    assert caught.value.results.time[-1] <= 0.5


def test_residual_that_is_not_a_number(monkeypatch):
    system = System(tumbling())
    stepper = make_stepper(system, Run(duration=1.0, method="bdf"))
    stepper.step(1.0)
    program = stepper._program._programs["equations"]
    (equations,) = program.calls
    monkeypatch.setattr(program, "calls", [lambda: equations.result.fill(np.nan)])
    stepper._program.take_apart()
    refuses("did not converge", stepper.step, 1.0, error=SolveError)


def test_undeclared_jump_is_passed():
    """A load that jumps without a breakpoint costs rejections and order, not the run."""
    model = Model("pushed")
    model.add(RigidBody("body", mass=2.0, inertia=1.0))
    model.add(Load("push", body="body", force=(3.0, 0.0, 0.0), profile=lambda t: float(t > 0.3)))
    stepper, _, _ = integrate(System(model), 1.0, method="bdf", rtol=1e-6)
    assert stepper.v[0] == pytest.approx(1.05, abs=1e-4)
    assert stepper.statistics.rejected < 60


def test_error_constants():
    """Those of the NDF of order 1 and 2 and of the BDF from there on."""
    assert ERROR[1:] == pytest.approx([0.5 - 0.185, 1.0 / 3.0 - 1.0 / 6.0, 0.25, 0.2, 1.0 / 6.0])
