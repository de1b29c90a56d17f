"""Observed orders of all steppers on a mechanism with joints, at fixed steps and with their equations solved."""

from math import comb

import numpy as np
import pytest
from long_runs import slow_but
from models import of_parts

from femb import Model, Tolerances
from femb.base.options import Run
from femb.elements import Ground, JointEnd, Revolute, RigidBody, SpringDamper, SpringEnd, Universal
from femb.steppers import bdf, make_stepper
from femb.steppers import bdf as bdf_equations
from femb.steppers import generalized_alpha as alpha
from femb.steppers import radau_stages as radau_equations
from femb.system.system import System

END = 1.0
TIGHT = {"rtol": 1e-10, "atol": Tolerances(1e-10, 1e-10, 1e-10, time=1.0)}
# Steps to the end, and the order; of BDF for each order.
COUNTS = {"rk4": (50, 100, 200), "dop853": (8, 12, 16), "radau": (24, 48, 96), "generalized-alpha": (100, 200, 400)}
ORDERS = {"rk4": 4, "dop853": 8, "radau": 5, "generalized-alpha": 2}


def linkage() -> Model:
    """A body on a hinge, one more on a universal joint out of its plane, and a spring from its tip to the ground."""
    first = JointEnd("upper", at=(0.5, 0, 0), axis=(0, 1, 0))
    tip = SpringEnd(body="lower", at=(0.4, 0, 0))
    return of_parts(
        RigidBody("upper", mass=2.0, inertia=(0.2, 0.3, 0.1), position=(0.5, 0, 0)),
        RigidBody("lower", mass=1.0, inertia=(0.05, 0.1, 0.12), position=(1.4, 0, 0)),
        Revolute("hinge", Ground().at((0, 0, 0), direction=(0, 1, 0)), JointEnd("upper", at=(-0.5, 0, 0)), rates=0.5),
        Universal("knee", first, JointEnd("lower", at=(-0.4, 0, 0), axis=(0, 0, 1)), rates=(0.6, -1.1)),
        SpringDamper("spring", SpringEnd(anchor=(2, 0.5, 0)), tip, stiffness=10.0, damping=0.3, free_length=0.5),
        gravity=(0.0, 0.0, -9.81),
    )


@pytest.fixture(scope="module")
def exact():
    """The system, and its states (q, v, budget) at given instants by DOP853 near rounding."""
    system = System(linkage())

    def at(times):
        run = Run(duration=END, method="rk", rtol=1e-13, atol=Tolerances(1e-14, 1e-14, 1e-14))
        stepper, found = make_stepper(system, run), []
        for t in times:
            while stepper.t < t:
                stepper.step(t)
            found.append(np.concatenate([stepper.q, stepper.v, stepper.work]))
        return np.array(found)

    return system, at


def orders(errors, counts):
    """Slopes of errors of q and of v over the number of steps."""
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


def error(system, stepper, wanted):
    """Largest errors of q and of v; the constraints are met."""
    u = system.inputs_at(END, stepper.q, stepper.v)
    assert np.abs(system.constraints(u[None], stepper.q[None], stepper.v[None])[0]).max() < 1e-11
    assert np.abs(system.constraint_rates(u[None], stepper.q[None], stepper.v[None])).max() < 1e-10
    return np.abs(stepper.q - wanted[: system.n_q]).max(), np.abs(
        stepper.v - wanted[system.n_q : system.n_q + system.n_v]
    ).max()


@pytest.mark.parametrize("name", COUNTS)
def test_order(name, exact, monkeypatch):
    """The error estimate is silenced where it chooses the steps, so that the longest step is always taken."""
    system, at = exact
    monkeypatch.setattr(radau_equations, "MAX_ITERATIONS", 60)
    monkeypatch.setattr(alpha, "MAX_ITERATIONS", 60)
    monkeypatch.setattr(alpha, "SOLVED", 1e-5)
    wanted, errors = at([END])[0], []
    for count in COUNTS[name]:
        h = END / count
        options = {"method": "rk", "tableau": name} if name in ("rk4", "dop853") else {"method": name}
        fixed = {"rk4": {"step": h}, "generalized-alpha": {"step": h, **TIGHT}}
        length = fixed.get(name, {"first_step": h, "max_step": h, **TIGHT})
        stepper = make_stepper(system, Run(duration=END, **options, **length))
        if name not in fixed:
            stepper._error, stepper.tolerance = (lambda *_: 1e-8), 1e-5
        while stepper.t < END:
            stepper.step(END)
        assert stepper.statistics.steps == count
        errors.append(error(system, stepper, wanted))
    assert np.min(errors) > 1e-11  # above rounding
    assert np.max(errors[-1]) < 1e-3
    # an order of 8 shows between coarse steps and rounding only roughly
    found = orders(errors, COUNTS[name])
    np.testing.assert_allclose(found, ORDERS[name], atol=1.0 if name == "dop853" else 0.2)


class FixedStep(bdf.Bdf):
    """Constant step and order, from a history that is given."""

    def _error(self, trial, h):
        return 0.0

    def _plan(self, h, error):
        return h


@pytest.mark.parametrize(
    ("order", "count"), slow_but([(2, 200), (5, 240)], [(1, 800), (2, 200), (3, 200), (4, 200), (5, 240)])
)
def test_order_of_bdf(order, count, exact, monkeypatch):
    """Each order from exact values of the past."""
    system, at = exact
    monkeypatch.setattr(bdf_equations, "MAX_ITERATIONS", 30)
    wanted, errors = at([END])[0], []
    counts = (count, 3 * count // 2, 2 * count)
    for n in counts:
        h = END / n
        stepper = FixedStep(system, Run(duration=END, method="bdf", **TIGHT))
        values = at([h * i for i in range(order + 1)])[::-1]
        for j in range(order + 1):
            stepper.history.D[j] = sum((-1) ** i * comb(j, i) * values[i] for i in range(j + 1))
        stepper.history.h, stepper.history.order, stepper.h, stepper.t = h, order, h, order * h
        stepper.q, stepper.v = values[0, : system.n_q].copy(), values[0, system.n_q : system.n_q + system.n_v].copy()
        while stepper.t < END * (1.0 - 1e-9):
            stepper.step(END)
        assert stepper.statistics.steps == n - order
        errors.append(error(system, stepper, wanted))
    assert np.max(errors[-1]) < 0.03
    of_q, of_v = orders(errors, counts)
    assert of_v == pytest.approx(order, abs=0.25)
    # the leading error of the coordinates of order 5 happens to be small at this instant
    assert of_q > order - 0.25
