"""First-order states z' = g: an element with a lag that measures a body and may push it, in every method."""

from dataclasses import dataclass
from math import comb
from typing import ClassVar

import numpy as np
import pytest
from long_runs import slow
from models import of_parts, order_of, refuses
from oracles.finite_differences import residual_change
from scipy.linalg import expm
from steppers.test_orders_with_constraints import FixedStep

import femb
from femb.base.errors import ModelError
from femb.base.memory import recall, remembered
from femb.base.options import Run, Tolerances
from femb.elements import JointSpringDamper, Load, Revolute, RigidBody, registry
from femb.elements.item import Item
from femb.elements.marker import JointEnd
from femb.layout.element import Batch
from femb.layout.numbering import InternalQuantity
from femb.layout.symmetry import NO_MOTION
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix, Tangent
from femb.linear import linearize, linearize_structure
from femb.linear.begin import operating_point
from femb.linear.model import linear_model
from femb.linear.periodic import periodic
from femb.linear.structure import full_order
from femb.numerics.vector3 import scatter
from femb.profiles import Sine
from femb.statics.equilibrium import in_equilibrium
from femb.steppers import bdf as bdf_equations
from femb.steppers import generalized_alpha as alpha
from femb.steppers import make_stepper
from femb.system.system import System

MASS, STIFFNESS, DAMPING, TAU = 3.0, 40.0, 1.2, 0.2


@dataclass(frozen=True, eq=False)
class Lag(Item):
    """tau z' = position x + rate x' + own z^2 - z with the body's x; the body feels force z - stiffness x - damping x'.

    separate : whether z has a block of its own.
    """

    table: ClassVar[str] = "lags"
    kind: ClassVar[str] = "lag"

    name: str
    body: str
    tau: float = TAU
    position: float = 1.0
    rate: float = 0.0
    own: float = 0.0
    decay: float = 1.0
    force: float = 0.0
    stiffness: float = STIFFNESS
    damping: float = DAMPING
    weight: float = 0.0
    start: float = 0.0
    tolerance: float = 1e-7
    separate: bool = False

    def symmetry(self, around):
        return NO_MOTION

    def declare_dofs(self, layout, placement, model):
        frame = layout.bodies[self.body]
        quantity = InternalQuantity("output", "V", tolerance=self.tolerance)
        owner = None if self.separate else frame
        number = layout.add_internal(self.name, quantity, owner, self.table, start=self.start)
        layout.couple([frame], [number])

    @staticmethod
    def batches(items, layout, model):
        return [Lags(items, layout)]


class Lags(Batch):
    def __init__(self, items, layout):
        self.items, names = items, [each.label for each in layout.internal]
        self.z = layout.internal_v[[names.index(item.name) for item in items]]
        frames = [layout.bodies[item.body] for item in items]
        self.x, self.v = layout.frame_q[frames], layout.frame_v[frames]

        self.starts = np.stack([self.v, self.z], axis=1)

    def forces(self):
        return [
            Force(self.states, (), "qva", ForcePart.INERTIA),
            Force(self.pushes, (), "qv", parts=(ForcePart.ELASTIC, ForcePart.WORK)),
        ]

    def states(self, q, v, a, out):
        for item, k, x, j in zip(self.items, self.z, self.x, self.v, strict=True):
            z = v[:, k]
            g = item.position * q[:, x] + item.rate * v[:, j] + item.own * z**2 - item.decay * z
            out[:, k] += a[:, k] - g / item.tau

    def pushes(self, q, v, factors, out):
        for item, k, x, j in zip(self.items, self.z, self.x, self.v, strict=True):
            out[:, j] += factors[0] * item.stiffness * q[:, x]
            out[:, j] += factors[1] * (item.damping * v[:, j] - item.force * v[:, k] - item.weight)

    def masses(self):
        return [MassMatrix(self.mass_of_states, (), self.starts, (3, 1))]

    def tangents(self):
        return [Tangent(self.derivatives, (), self.starts, "v")]

    def energies(self):
        return [Energy(self.energy, (), "q")]

    def mass_of_states(self, offset, stride, q, mass):
        for data in mass:
            for n in range(len(self.items)):
                add({(3, 3): 1.0}, offset[n], stride[n], data)

    def derivatives(self, offset, stride, v, damping, stiffness):
        for rates, by_v, by_q in zip(v, damping, stiffness, strict=True):
            for n, (item, k) in enumerate(zip(self.items, self.z, strict=True)):
                by_z = (item.decay - 2.0 * item.own * rates[k]) / item.tau
                entries = {(3, 3): by_z, (3, 0): -item.rate / item.tau, (0, 0): item.damping, (0, 3): -item.force}
                add(entries, offset[n], stride[n], by_v)
                add({(3, 0): -item.position / item.tau, (0, 0): item.stiffness}, offset[n], stride[n], by_q)

    def energy(self, q, out):
        for item, x in zip(self.items, self.x, strict=True):
            out[:, 1] += 0.5 * item.stiffness * q[:, x] ** 2

    def records(self, frames, batches):
        return {f"lags/{item.name}/output": frames.v[:, k] for item, k in zip(self.items, self.z, strict=True)}


@dataclass(frozen=True, eq=False)
class Controller(Item):
    """A torque z about the x axis of a body, tau z' = -(angle 2 q_x + rate omega_x) - z."""

    table: ClassVar[str] = "controllers"
    kind: ClassVar[str] = "pd"

    name: str
    body: str
    tau: float
    angle: float = 46.65
    rate: float = 435.4

    def declare_dofs(self, layout, placement, model):
        frame = layout.bodies[self.body]
        number = layout.add_internal(self.name, InternalQuantity("state", "N m", tolerance=1e-7), frame, self.table)
        layout.couple([frame], [number])

    def symmetry(self, around):
        return NO_MOTION  # it reads an attitude

    @staticmethod
    def batches(items, layout, model):
        return [Controllers(items[0], layout)]


class Controllers(Batch):
    def __init__(self, item, layout):
        self.item, frame = item, layout.bodies[item.body]
        self.z = int(layout.first_order_v[0])
        self.p, self.w = int(layout.frame_q[frame]) + 3, int(layout.frame_v[frame]) + 3

        self.starts = np.array([[self.w, self.z]])

    def forces(self):
        return [Force(self.state, (), "qva", ForcePart.INERTIA), Force(self.torque, (), "v")]

    def state(self, q, v, a, out):
        command = self.item.angle * 2.0 * q[:, self.p + 1] + self.item.rate * v[:, self.w]
        out[:, self.z] += a[:, self.z] + (command + v[:, self.z]) / self.item.tau

    def torque(self, v, out):
        out[:, self.w] -= v[:, self.z]

    def masses(self):
        return [MassMatrix(self.mass_of_state, (), self.starts, (3, 1))]

    def tangents(self):
        return [Tangent(self.derivatives, (), self.starts, "q")]

    def mass_of_state(self, offset, stride, q, mass):
        for data in mass:
            add({(3, 3): 1.0}, offset[0], stride[0], data)

    def derivatives(self, offset, stride, q, damping, stiffness):
        by_v = {(3, 3): 1.0 / self.item.tau, (3, 0): self.item.rate / self.item.tau, (0, 3): -1.0}
        for (q0, _, y, z), damped, stiff in zip(q[:, self.p : self.p + 4], damping, stiffness, strict=True):
            add(by_v, offset[0], stride[0], damped)
            # 2 dq_x of a rotation in body axes
            turned = self.item.angle / self.item.tau * np.array([q0, -z, y])
            add({(3, k): turned[k] for k in range(3)}, offset[0], stride[0], stiff)


def add(entries, offset, stride, data):
    """Add entries of a block of a body's velocities of translation or rotation, and a state."""
    block = np.zeros((4, 4))
    for (row, column), value in entries.items():
        block[row, column] = value
    scatter(block, np.array([0, 3]), np.array([3, 1]), offset, stride, data)


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    monkeypatch.setattr(registry, "_registered", [Lag, Controller])


def sprung(*more, **words):
    """A body that moves along x alone, with a lag."""
    given = {key: words.pop(key) for key in ("position", "velocity") if key in words}
    speed = given.get("velocity", 0.0)
    return of_parts(
        RigidBody("m", MASS, (1.0, 1.0, 1.0), position=(given.get("position", 0.1), 0, 0), velocity=(speed, 0, 0)),
        Lag("lag", "m", **{"position": words.pop("gain", 1.0), **words}),
        *more,
    )


def exact(times, x=0.1, speed=0.0, z=0.0, gain=1.0, rate=0.0, force=0.0, tau=TAU, stiffness=STIFFNESS, damping=DAMPING):
    """(k, 3): x, x' and z of the linear equations by the matrix exponential, and their matrix."""
    A = np.array([[0, 1, 0], [-stiffness / MASS, -damping / MASS, force / MASS], [gain / tau, rate / tau, -1 / tau]])
    return np.array([expm(A * t) @ [x, speed, z] for t in times]), A


METHODS = {
    "radau": {"method": "radau"},
    "bdf": {"method": "bdf", "max_order": 5},
    "generalized-alpha": {"method": "generalized-alpha"},
    "rk": {"method": "rk"},
    "gauss": {"method": "gauss", "step": 0.01},
}
PAIRS = [(method, formulation) for method in METHODS for formulation in ("velocity", "quaternion", "reduced")]
QUICK = {(method, "velocity") for method in METHODS} | {("radau", "quaternion"), ("radau", "reduced")}


@pytest.mark.parametrize(("method", "formulation"), [p if p in QUICK else slow(p) for p in PAIRS])
def test_closed_form(method, formulation):
    """A lag that pushes what it measures, with the start of all."""
    words = {"gain": 2.0, "rate": 0.3, "force": 5.0, "tau": 0.15}
    model = sprung(start=0.4, velocity=0.5, **words)
    results = femb.simulate(
        model, duration=1.0, output_interval=0.05, rtol=1e-8, formulation=formulation, **METHODS[method]
    )
    wanted, _ = exact(results.time, speed=0.5, z=0.4, **words)
    np.testing.assert_allclose(results.arrays["lags/lag/output"], wanted[:, 2], atol=2e-6)
    np.testing.assert_allclose(results.bodies["m"].position[:, 0], wanted[:, 0], atol=2e-6)
    # the energies are those of the body and its spring; the lag's work is that of its force
    assert np.abs(results.audit.energy_error).max() < 1e-5


@pytest.mark.parametrize("separate", [False, True])
def test_stiff_lags_cost_no_steps(separate):
    """Measured faster and faster: the output follows x."""
    steps = []
    for tau in (0.2, 2e-4, 2e-7):
        results = femb.simulate(
            sprung(tau=tau, separate=separate, tolerance=1e-5, start=0.1), duration=2.0, method="radau"
        )
        steps.append(results.statistics["steps"])
    assert max(steps) < 1.3 * steps[0]
    x = results.bodies["m"].position[1:, 0]
    np.testing.assert_allclose(results.arrays["lags/lag/output"][1:], x, atol=1e-5)


COUNTS = {"radau": (10, 15, 20), "generalized-alpha": (40, 60, 80)}


@pytest.mark.parametrize("name", COUNTS)
def test_order(name, monkeypatch):
    """Order 5 of radau and 2 of generalized-alpha, in the state as in the motion; the error estimate is silenced."""
    monkeypatch.setattr(alpha, "SOLVED", 1e-5)
    words = {"gain": 2.0, "rate": 0.3, "force": 5.0}
    system, end, errors = System(sprung(start=0.4, **words)), 2.0, []
    wanted = exact([end], z=0.4, **words)[0][0]
    tight = {"rtol": 1e-10, "atol": Tolerances(1e-10, 1e-10, 1e-10, time=1.0)}
    for count in COUNTS[name]:
        h = end / count
        length = {"step": h} if name == "generalized-alpha" else {"first_step": h, "max_step": h}
        stepper = make_stepper(system, Run(duration=end, method=name, **length, **tight))
        if name == "radau":
            stepper._error, stepper.tolerance = (lambda *_: 1e-8), 1e-5
        while stepper.t < end:
            stepper.step(end)
        assert stepper.statistics.steps == count
        z = stepper.v[system.layout.first_order_v]
        errors.append(np.abs([stepper.q[0] - wanted[0], stepper.v[0] - wanted[1], z[0] - wanted[2]]))
    np.testing.assert_allclose(order_of(COUNTS[name], errors), {"radau": 5.0, "generalized-alpha": 2.0}[name], atol=0.2)


@pytest.mark.parametrize(("order", "count"), [(2, 100), (3, 200)])
def test_order_of_bdf(order, count, monkeypatch):
    """Of the state as of the motion, from exact values of the past."""
    monkeypatch.setattr(bdf_equations, "MAX_ITERATIONS", 30)
    words = {"gain": 2.0, "rate": 0.3, "force": 5.0}
    system, end, errors, counts = System(sprung(start=0.4, **words)), 2.0, [], (count, 3 * count // 2, 2 * count)
    numbers = system.layout.first_order_v
    wanted = exact([end], z=0.4, **words)[0][0]
    tight = {"rtol": 1e-10, "atol": Tolerances(1e-10, 1e-10, 1e-10, time=1.0)}
    for count in counts:
        h = end / count
        stepper = FixedStep(system, Run(duration=end, method="bdf", **tight))
        values = np.tile(stepper.history.D[0], (order + 1, 1))
        past = exact(h * np.arange(order + 1), z=0.4, **words)[0][::-1]
        values[:, 0], values[:, system.n_q], values[:, system.n_q + numbers[0]] = past.T
        for j in range(order + 1):
            stepper.history.D[j] = sum((-1) ** i * comb(j, i) * values[i] for i in range(j + 1))
        stepper.history.h, stepper.history.order, stepper.h, stepper.t = h, order, h, order * h
        stepper.q, stepper.v = values[0, : system.n_q].copy(), values[0, system.n_q : system.n_q + system.n_v].copy()
        while stepper.t < end * (1.0 - 1e-9):
            stepper.step(end)
        assert stepper.statistics.steps == count - order
        errors.append(np.abs([stepper.q[0] - wanted[0], stepper.v[0] - wanted[1], stepper.v[numbers[0]] - wanted[2]]))
    np.testing.assert_allclose(order_of(counts, errors), order, atol=0.3)


@pytest.mark.parametrize("method", ["radau", "bdf", "rk"])
def test_the_tolerance_is_its_own(method):
    """An accurate state costs steps, a rough one none; what nobody reads, the integral of the state, costs none."""
    counts = [
        femb.simulate(sprung(tolerance=tolerance), duration=2.0, rtol=1e-5, method=method).statistics["steps"]
        for tolerance in (1e-11, 1e-1)
    ]
    assert counts[0] > counts[1]
    system = System(sprung(start=0.4, tolerance=3e-4))
    for rtol, wanted in ((1e-6, 3e-4), (1e-8, 3e-6)):
        (*_, of_q, _), (*_, of_v, _) = system.error_scale(rtol, Tolerances(time=5.0))
        assert (of_q[-1], of_v[-1]) == (np.inf, pytest.approx(wanted))
    for wrong in (0.0, -1.0, np.inf, np.nan):
        refuses("output: got the tolerance", InternalQuantity, "output", "V", tolerance=wrong, error=ValueError)


def test_tangent():
    system, rng = System(sprung(force=3.0, rate=0.4, own=0.3)), np.random.default_rng(2)
    v, a = rng.standard_normal((2, system.n_v))
    u = system.inputs_at(0.0, system.q0, v)
    damping, stiffness = (system.pattern.to_csc(x).toarray() for x in system.tangent(u, system.q0, v, a))
    for dx, dv in rng.standard_normal((3, 2, system.n_v)):
        wanted = residual_change(system, system.q0, v, a, u, dx, dv)
        np.testing.assert_allclose(stiffness @ dx + damping @ dv, wanted, atol=1e-7)


@pytest.mark.parametrize("name", METHODS)
def test_continues_from_its_memory(name):
    system = System(sprung(force=3.0, start=0.4))
    first, second = (make_stepper(system, Run(duration=50.0, **METHODS[name])) for _ in range(2))
    for _ in range(4):
        first.step(50.0)
    recall(second, remembered(first))
    for _ in range(3):
        first.step(50.0), second.step(50.0)
        np.testing.assert_array_equal(first.v, second.v)
        np.testing.assert_array_equal(first.q, second.q)


def test_a_run_starts_from_the_last_state_of_another(tmp_path):
    out = tmp_path / "first.h5"
    first = femb.simulate(sprung(start=0.4), duration=0.5, out=out, method="rk", rtol=1e-10)
    second = femb.simulate(sprung(), duration=0.5, method="rk", rtol=1e-10, start=femb.StartState(str(out)))
    assert second.arrays["lags/lag/output"][0] == first.arrays["lags/lag/output"][-1]
    wanted, _ = exact([1.0], z=0.4)
    assert second.arrays["lags/lag/output"][-1] == pytest.approx(wanted[0, 2], abs=1e-8)


# Linear models


@pytest.mark.parametrize("hinged", [False, True])
def test_poles(hinged):
    """No pole at zero for the coordinate that nobody reads; the state has its name."""
    words = {"gain": 2.0, "rate": 0.3, "force": 5.0}
    model = sprung(**words)
    if hinged:  # the chart of a joint tree
        model.add(RigidBody("arm", 1.0, (1.0, 1.0, 1.0)))
        model.add(Revolute("hinge", JointEnd("m", axis=(1, 0, 0)), JointEnd("arm")))
        _, A = exact([0.0], **words)
        A[1] *= MASS / (MASS + 1.0)
    else:
        _, A = exact([0.0], **words)
    linear = linearize(model, outputs=["bodies.m.position"])
    assert "lag.output" in linear.states
    assert not any(name.startswith("lag.output ") for name in linear.states)
    poles = linear.eigenvalues()
    assert sum(abs(poles) < 1e-8) == len(poles) - 3
    np.testing.assert_allclose(sorted(poles[abs(poles) > 1e-8], key=np.imag), sorted(np.linalg.eigvals(A), key=np.imag))
    k = linear.states.index("lag.output")
    assert linear.A[k, k] == pytest.approx(-1.0 / TAU)
    system = System(sprung(start=0.4, velocity=0.5))
    j, k = system.layout.frame_v[0], system.layout.first_order_v[0]
    for given, z in (({}, 0.4), ({"lag.output": 0.7}, 0.7)):
        v = operating_point(system, state=given, at_rest=True).v
        assert (v[j], v[k]) == (0.0, z)
    refuses(r"got 'lag.output rate'; .* the states lag.output", linearize, model, state={"lag.output rate": 0.7})


def test_modes():
    """Undamped modes are those with the state held; complex ones have the poles of the whole."""
    words = {"gain": 2.0, "rate": 0.3, "force": 5.0}
    held = femb.Model("held")
    held.add(RigidBody("m", MASS, (1.0, 1.0, 1.0)))
    held.add(Lag("lag", "m", position=2.0, rate=0.3, force=5.0, start=0.3))
    modes = femb.modes(held, count=1)
    assert modes.frequencies[0] == pytest.approx(np.sqrt(STIFFNESS / MASS) / (2.0 * np.pi))
    _, A = exact([0.0], **words)
    found = femb.modes(held, count=2, damped=True).eigenvalues
    wanted = [pole for pole in np.linalg.eigvals(A) if pole.imag >= 0.0]
    np.testing.assert_allclose(sorted(found, key=np.real), sorted(wanted, key=np.real), rtol=1e-7)
    sparse = linear_model(held, outputs=["bodies.m.position"])
    dense = full_order(sparse)
    assert dense.states[-1] == "lag.output"
    poles = dense.eigenvalues()
    np.testing.assert_allclose(
        sorted(poles[abs(poles) > 1e-8], key=np.imag), sorted(np.linalg.eigvals(A), key=np.imag), rtol=1e-9
    )
    kept = linearize_structure(held, modes=1, damping=0.0)
    assert kept.states[-1] == "lag.output"
    assert kept.truncation.kind.endswith("and 1 first-order state")
    poles = kept.eigenvalues()
    np.testing.assert_allclose(
        sorted(poles[abs(poles) > 1e-8], key=np.imag), sorted(np.linalg.eigvals(A), key=np.imag), rtol=1e-9
    )


@pytest.mark.slow
def test_periodic_motion():
    """The state is periodic, its integral, which nothing reads, is not."""
    omega, size = 4.0, 6.0
    push = Load("push", "m", force=(size, 0, 0), profile=Sine(frequency=omega / (2.0 * np.pi), mean=0.2))
    found = periodic(sprung(push, gain=2.0), 2.0 * np.pi / omega, vary=["bodies.m.x", "bodies.m.x rate", "lag.output"])
    s = 1j * omega
    x = size / (s * s * MASS + s * DAMPING + STIFFNESS)
    z = np.imag(2.0 * x / (1.0 + s * TAU)) + 0.2 * 2.0 * size / STIFFNESS
    system = System(sprung())
    assert found.point.v[system.layout.first_order_v[0]] == pytest.approx(z, abs=1e-8)
    assert "lag.output" in found.states
    assert len(found.multipliers) == 13
    assert np.exp(-2.0 * np.pi / omega / TAU) == pytest.approx(np.min(np.abs(found.multipliers)), rel=1e-6)


def satellite(tau, omega=(0.0, 0.0, 0.0)):
    """A hub and two panels on springs, with a filtered controller about x."""
    model = femb.Model("satellite")
    inertia = ((300.0, 5.0, -8.0), (5.0, 250.0, 4.0), (-8.0, 4.0, 350.0))
    model.add(RigidBody("hub", 500.0, inertia, position=(0, 0, 0), angular_velocity=omega))
    for name, side in (("right", 1.0), ("left", -1.0)):
        of_panel = (500.0 / 3.0, 20.0 / 3.0, 520.0 / 3.0)
        model.add(RigidBody(name, 20.0, of_panel, center_of_mass=(0, 5.0 * side, 0)))
        model.add(Revolute(name, JointEnd("hub", at=(0, side, 0), axis=(1, 0, 0)), JointEnd(name, axis=(1, 0, 0))))
        model.add(JointSpringDamper(name, name, stiffness=1650.0, damping=10.5))
    model.add(Controller("pd", "hub", tau))
    return model


@pytest.mark.slow
def test_a_satellite_with_a_filtered_controller():
    """Its closed-loop poles are those of an independent program, and a stiff filter costs no steps."""
    linear = linearize(satellite(0.2))
    assert "pd.state" in linear.states
    poles = linear.eigenvalues()
    wanted = [-0.10720907 + 0.11048872j, -0.43452962 + 4.39940110j, -4.02189761]
    for pole in wanted:
        assert np.min(np.abs(poles - pole)) < 1e-8
    # beside the free motions of the hub and the bending that is symmetric: 5 coordinates and their rates, and a pair
    assert len(poles) == 2 * 8 + 1
    assert sum(abs(poles) < 1e-6) == 10
    omega = (0.01, 0.002, -0.003)
    counts = []
    for tau in (0.2, 2e-7):
        results = femb.simulate(satellite(tau, omega), duration=20.0, method="radau", output_interval=1.0)
        counts.append(results.statistics["steps"])
        if tau == 0.2:
            fine = femb.simulate(satellite(tau, omega), duration=20.0, method="rk", rtol=1e-10, output_interval=1.0)
            errors = results.bodies["hub"].angular_velocity - fine.bodies["hub"].angular_velocity
            assert np.abs(errors).max() < 1e-8
    assert counts[1] < 1.1 * counts[0]


# Statics


def test_equilibrium():
    """A state that acts on nothing comes to rest with what it measures; one that pushes stays at its start."""
    measures = sprung(weight=8.0, start=0.3, own=0.1)
    system = in_equilibrium(System(measures))
    x = 8.0 / STIFFNESS
    z = system.v0[system.layout.first_order_v][0]
    assert system.q0[0] == pytest.approx(x)
    assert x + 0.1 * z * z - z == pytest.approx(0.0, abs=1e-12)
    assert system.acceleration(np.zeros(0), system.q0, system.v0) == pytest.approx(0.0, abs=1e-9)
    pushes = in_equilibrium(System(sprung(weight=8.0, start=0.3, force=4.0)))
    assert pushes.q0[0] == pytest.approx((8.0 + 4.0 * 0.3) / STIFFNESS)
    assert pushes.v0[pushes.layout.first_order_v] == pytest.approx(0.3)
    integral = in_equilibrium(System(sprung(weight=8.0, start=0.3, decay=0.0)))
    assert integral.v0[integral.layout.first_order_v] == pytest.approx(0.3)
    # beside an integral that comes first
    beside = Lag("sensor", "m", stiffness=0.0, damping=0.0)
    both = in_equilibrium(System(sprung(beside, weight=8.0, start=0.3, decay=0.0)))
    np.testing.assert_allclose(both.v0[both.layout.first_order_v], [0.3, x], rtol=1e-9)
    results = femb.simulate(measures, duration=1.0, start="equilibrium", method="radau")
    np.testing.assert_allclose(results.arrays["lags/lag/output"], z, atol=1e-9)


def test_forms_without_such_states_refuse_by_name():
    with pytest.raises(ModelError, match=r"lags\.lag.*has an unknown of its own.*output"):
        femb.simulate(sprung(), duration=1.0, method="rk", formulation="hamiltonian")
    refuses(r"lags\.lag: .*output.*no joint or driver prescribes", femb.inverse, sprung(), duration=1.0)


def test_the_filter_leaves_states_alone():
    """Fast vibrations are taken out of velocities, not out of a state that happens to be fast."""
    plain = femb.simulate(sprung(tau=1e-3), duration=0.5, method="radau")
    damped = femb.simulate(sprung(tau=1e-3), duration=0.5, method="radau", filter=20.0)
    np.testing.assert_allclose(damped.arrays["lags/lag/output"], plain.arrays["lags/lag/output"], atol=1e-5)


def test_names():
    system = System(sprung(start=1.0))
    assert "lag: output" in system.layout.velocity_labels()
    assert "lag: rate of output" in system.augmented().columns
    refuses("got the discrete state 'a/b'", system.layout.add_discrete, "a/b", 0.0, error=ValueError)
