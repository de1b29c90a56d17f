"""Internal coordinates that the machinery does not know: an element with a scalar unknown, in a body or alone."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from long_runs import slow
from models import of_parts, refuses
from oracles.finite_differences import residual_change

import femb
from femb.base.errors import ModelError
from femb.base.options import Tolerances
from femb.elements import RigidBody, registry
from femb.elements.item import Item
from femb.layout.element import Batch
from femb.layout.numbering import InternalQuantity
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix, Tangent
from femb.linear import linearize
from femb.numerics import rotations
from femb.numerics.vector3 import scatter
from femb.run.simulate import summary
from femb.system.system import System

ANGLE = InternalQuantity("angle", "rad")
STARTS, SIZES = np.array([0, 3]), np.array([3, 1])


@dataclass(frozen=True, eq=False)
class Rotor(Item):
    """A wheel that turns about an axis of a body, or of inertial space, against a spring and a dashpot."""

    table: ClassVar[str] = "rotors"
    kind: ClassVar[str] = "rotor"
    has_dofs: ClassVar[bool] = True

    name: str
    inertia: float
    body: str | None = None
    axis: Any = (0.0, 0.0, 1.0)
    stiffness: float = 0.0
    damping: float = 0.0
    angle: float = 0.0
    rate: float = 0.0

    def declare_dofs(self, layout, placement, model):
        frame = None if self.body is None else layout.bodies[self.body]
        starts = {"start": self.angle, "start_rate": self.rate}
        number = layout.add_internal(self.name, ANGLE, frame, self.table, **starts)
        layout.couple([] if frame is None else [frame], [number])

    @staticmethod
    def batches(items, layout, model):
        return [Rotors(items, layout)]


class Rotors(Batch):
    def __init__(self, items, layout):
        numbers = [[each.label for each in layout.internal].index(item.name) for item in items]
        self.items, self.in_q, self.in_v = items, layout.internal_q[numbers], layout.internal_v[numbers]
        self.frames = [-1 if item.body is None else layout.frame_v[layout.bodies[item.body]] + 3 for item in items]
        self.attitudes = [
            slice(0) if item.body is None else slice(i := layout.frame_q[layout.bodies[item.body]] + 3, i + 4)
            for item in items
        ]
        self.n = [np.array(item.axis) for item in items]

        self.starts = np.stack([self.frames, self.in_v], axis=1)

    def forces(self):
        parts = ForcePart.INERTIA, ForcePart.ELASTIC, ForcePart.WORK
        return [Force(self.torques, (), "qva", parts=parts)]

    def masses(self):
        return [MassMatrix(self.mass_of_each, (), self.starts, (3, 1))]

    def tangents(self):
        return [Tangent(self.derivatives, (), self.starts, "v")]

    def energies(self):
        return [Energy(self.energy, ())]

    def each(self, v):
        for k, item in enumerate(self.items):
            j = self.frames[k]
            yield k, item, self.n[k], v[:, j : j + 3] if j >= 0 else np.zeros((len(v), 3))

    def torques(self, q, v, a, factors, out):
        turned = self.each(a)
        for (k, item, n, w), (_, _, _, alpha) in zip(self.each(v), turned, strict=True):
            torque = factors[0] * item.inertia * (a[:, self.in_v[k]] + alpha @ n)
            momentum = factors[0] * item.inertia * (v[:, self.in_v[k]] + w @ n)
            spring, damper = item.stiffness * q[:, self.in_q[k]], item.damping * v[:, self.in_v[k]]
            out[:, self.in_v[k]] += torque + factors[1] * spring + factors[2] * damper
            if self.frames[k] >= 0:
                j = self.frames[k]
                out[:, j : j + 3] += torque[:, None] * n + np.cross(w, n) * momentum[:, None]

    def mass_of_each(self, offset, stride, q, mass):
        for data in mass:
            for k, item in enumerate(self.items):
                n = np.append(self.n[k], 1.0)
                scatter(item.inertia * np.outer(n, n), STARTS, SIZES, offset[k], stride[k], data)

    def derivatives(self, offset, stride, v, damping, stiffness):
        for s in range(len(v)):
            for k, item, n, w in self.each(v[s : s + 1]):
                C, K, speed = np.zeros((4, 4)), np.zeros((4, 4)), v[s, self.in_v[k]] + w[0] @ n
                swung = np.cross(w[0], n)
                C[:3, :3] = item.inertia * (np.cross(np.eye(3), n).T * speed + np.outer(swung, n))
                C[:3, 3] = item.inertia * swung
                C[3, 3], K[3, 3] = item.damping, item.stiffness
                scatter(C, STARTS, SIZES, offset[k], stride[k], damping[s])
                scatter(K, STARTS, SIZES, offset[k], stride[k], stiffness[s])

    def energy(self, q, v, out):
        for k, item, n, w in self.each(v):
            momentum = item.inertia * (v[:, self.in_v[k]] + w @ n)
            out[:, 0] += 0.5 * momentum**2 / item.inertia
            out[:, 1] += 0.5 * item.stiffness * q[:, self.in_q[k]] ** 2
            if self.frames[k] >= 0:
                out[:, 5:8] += rotations.rotate(q[:, self.attitudes[k]], momentum[:, None] * n)

    def records(self, frames, batches):
        return {f"rotors/{item.name}/angle": frames.q[:, i] for item, i in zip(self.items, self.in_q, strict=True)}


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    monkeypatch.setattr(registry, "_registered", [Rotor])


def alone(damping=0.0):
    """A model without any frame."""
    return of_parts(Rotor("a", inertia=2.0, stiffness=50.0, damping=damping), Rotor("b", inertia=1.0, stiffness=9.0))


def in_body(**given):
    model = femb.Model("wheel in a body")
    model.add(RigidBody("hub", mass=3.0, inertia=(2.0, 2.5, 4.0), **given))
    model.add(Rotor("wheel", inertia=1.5, body="hub", stiffness=12.0))
    model.add(Rotor("fast", inertia=0.5, body="hub", axis=(1.0, 0.0, 0.0)))
    return model


def started(model, q=0.0, v=0.0):
    """A system with other internal coordinates and speeds at the start."""
    system = System(model)
    q0, v0 = system.q0.copy(), system.v0.copy()
    q0[system.layout.internal_q], v0[system.layout.internal_v] = q, v
    return system.starting_at(q0, v0)


METHODS = [
    {"method": "radau"},
    {"method": "bdf", "max_order": 5},
    {"method": "rk"},
    slow({"method": "gauss", "step": 0.01}),
    {"method": "radau", "formulation": "quaternion"},
    {"method": "radau", "formulation": "reduced"},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", METHODS, ids=lambda each: "-".join(map(str, each.values())))
def test_scalars_without_a_frame(options):
    system = started(alone(), q=(0.1, -0.2))
    assert list(np.diff(system.layout.block_start)) == [1, 1]
    results = femb.simulate(system, duration=1.0, rtol=1e-8, **options)
    for name, amplitude, frequency in (("a", 0.1, 5.0), ("b", -0.2, 3.0)):
        wanted = amplitude * np.cos(frequency * results.time)
        np.testing.assert_allclose(results.arrays[f"rotors/{name}/angle"], wanted, atol=1e-6)
    assert np.abs(results.audit.energy_error).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [METHODS[0], slow(METHODS[1]), *METHODS[2:4], slow(METHODS[4]), METHODS[5]],
    ids=lambda each: "-".join(map(str, each.values())),
)
def test_a_scalar_in_a_body(options):
    """About z alone the two turn against each other with w^2 = k (I + J)/(I J)."""
    system = started(in_body(), q=(0.1, 0.0), v=(0.0, 0.0))
    results = femb.simulate(system, duration=1.0, rtol=1e-8, **options)
    wanted = 0.1 * np.cos(np.sqrt(12.0 * (4.0 + 1.5) / (4.0 * 1.5)) * results.time)
    np.testing.assert_allclose(results.arrays["rotors/wheel/angle"], wanted, atol=1e-6)
    system = started(in_body(angular_velocity=(0.3, 0.2, 0.5)), q=(0.1, 0.0), v=(0.2, 7.0))
    audit = femb.simulate(system, duration=1.0, rtol=1e-8, **options).audit
    assert np.abs(audit.energy_error).max() < 1e-5
    assert np.ptp(audit.angular_momentum, axis=0).max() < 1e-5


def test_start_values():
    model = of_parts(Rotor("a", inertia=2.0, stiffness=50.0, angle=0.1, rate=0.2))
    results = femb.simulate(model, duration=1.0, rtol=1e-9, method="rk")
    wanted = 0.1 * np.cos(5.0 * results.time) + 0.2 / 5.0 * np.sin(5.0 * results.time)
    np.testing.assert_allclose(results.arrays["rotors/a/angle"], wanted, atol=1e-8)


def test_tangent_of_the_rotor():
    system, rng = System(in_body()), np.random.default_rng(2)
    v, a = rng.standard_normal((2, system.n_v))
    u = system.inputs_at(0.0, system.q0, v)
    damping, stiffness = (system.pattern.to_csc(x).toarray() for x in system.tangent(u, system.q0, v, a))
    for dx, dv in rng.standard_normal((3, 2, system.n_v)):
        wanted = residual_change(system, system.q0, v, a, u, dx, dv)
        np.testing.assert_allclose(stiffness @ dx + damping @ dv, wanted, atol=1e-7)


def test_errors_are_scaled_by_the_quantity():
    system = System(in_body())
    (start, size, scale, _), (_, _, rates, _) = system.error_scale(
        1e-6, Tolerances(position=1.0, quaternion=2.0, strain=3.0, time=0.5)
    )
    assert list(start[-2:]) == list(system.layout.internal_q)
    assert (list(scale[-2:]), list(size[-2:]), list(rates[-2:])) == ([2.0, 2.0], [-1, -1], [4.0, 4.0])
    refuses("charge: got the unit 'C', wanted one of m, rad, -", InternalQuantity, "charge", "C", error=ValueError)


def test_names():
    system = System(in_body())
    assert "wheel: angle rate" in system.layout.velocity_labels()
    names = linearize(in_body()).states
    assert "wheel.angle" in names
    assert "fast.angle" in names


def test_summary_without_frames():
    assert "2 velocities, 2 coordinates" in summary(alone())


def test_forms_of_rigid_bodies_refuse_them():
    with pytest.raises(ModelError, match=r"rotors\.wheel.*has an unknown of its own.*angle"):
        femb.simulate(in_body(), duration=1.0, method="rk", formulation="hamiltonian")
    refuses(r"rotors\.wheel: .*angle.*no joint or driver prescribes", femb.inverse, in_body(), duration=1.0)
