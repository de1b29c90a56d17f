"""Stepper motors of all joints, evaluated together."""

import math
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.frame_index import pair_starts
from femb.elements.joint.coordinates import JointCoordinates
from femb.elements.joint.force_batch import (
    BY_COORDINATE,
    BY_RATE,
    ELASTIC,
    ENERGY,
    REST,
    CoordinateForceBatch,
    generalized_forces,
)
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.views import BlockPattern, LinearPoint, OutputStates

# Steps of integration in a period of the fastest ripple, at least.
STEPS_A_PERIOD = 8.0


class StepperBatch(CoordinateForceBatch):
    """Stepper motors, evaluated together. The first inputs are the angles at the last accepted state."""

    def __init__(self, layout: Layout, items: list[Any]) -> None:
        self.items = items
        numbers = np.array([item.coordinate_number(layout) for item in items], dtype=np.int64)
        self.coordinates = JointCoordinates(layout).picked(numbers)
        self.inputs = (Input.of_angles(numbers), *(each for item in items for each in item.inputs()))
        self.orders = np.array([max((each.order for each in item.harmonics or ()), default=0.0) for item in items])
        self.limits_steps = bool(self.orders.any())
        self.index = np.ones((len(items), 5), dtype=np.int64)  # as of the kernels of other laws: all are angles

    def allocate(self, pattern: BlockPattern) -> None:
        self.offset, self.stride = pattern.offsets(pair_starts(self.coordinates.index[::2]))

    def given(self, u: Floats) -> Floats:
        """(s, n) rad: targets without the errors of the motors."""
        at, count = self.first_input + len(self.items), len(self.items)
        total: Floats = u[:, at : at + 2 * count].reshape(len(u), count, 2).sum(axis=2)
        return total

    def measure(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Unwrapped angles and rates (s, n), gradients (s, n, 12), and results (s, n, 5) of the law: see ``laws`` in
        ``femb.elements.joint.force_batch``. Source: docs/theory/joint_forces.md, equation (10)."""
        values, rates, gradients = self.coordinates.measure(q, v)
        values = self.coordinates.unwrapped(values, u[:, self.first_input : self.first_input + len(self.items)])
        given = self.given(u)
        L = np.zeros((*values.shape, 5))
        for k, item in enumerate(self.items):
            c, own = values[:, k], L[:, k]
            phase = item.teeth * (c - item.with_errors(given[:, k]))
            own[:, REST] = item.holding_torque * np.sin(phase) + item.damping * rates[:, k]
            own[:, BY_COORDINATE] = item.holding_torque * item.teeth * np.cos(phase)
            own[:, BY_RATE] = item.damping
            for each in item.harmonics or ():
                angle = each.order * c + each.phase
                own[:, ELASTIC] += each.torque * np.sin(angle)
                own[:, BY_COORDINATE] += each.torque * each.order * np.cos(angle)
                own[:, ENERGY] += each.torque / each.order * (1.0 - np.cos(angle))
        return values, rates, gradients, L

    def longest_step(self, q: Floats, v: Floats) -> float:
        rates = np.abs(self.coordinates.measure(q[None], v[None])[1][0])
        fastest = float(np.max(self.orders * rates))
        return 2.0 * math.pi / (STEPS_A_PERIOD * fastest) if fastest > 0.0 else math.inf

    def _by_target(self, u: Floats, values: Floats, number: int) -> float:
        """The derivative of a force by the target without errors, at the angles ``values`` (n,)."""
        item, given, slope = self.items[number], self.given(u[None])[:, number], 1.0
        for each in item.harmonics or ():
            slope += float(each.angle * each.order * np.cos(each.order * given[0] + each.phase))
        phase = item.teeth * (values[number] - item.with_errors(given)[0])
        return float(-item.holding_torque * item.teeth * np.cos(phase) * slope)

    def by_inputs(self, point: LinearPoint, k: int) -> list[tuple[int, float]]:
        values = self.measure(point.u[None], point.q[None], point.v[None])[0][0]
        slope, first = self._by_target(point.u, values, k), self.first_input + len(self.items) + 2 * k
        return [(first, slope), (first + 1, slope)]

    def input_derivative(self, u: Floats, q: Floats, v: Floats, k: int) -> Floats:
        values, _, gradients, L = self.measure(u[None], q[None], v[None])
        number = (k - self.first_input - len(self.items)) // 2
        L[:] = 0.0
        L[:, number, REST] = self._by_target(u, values[0], number)
        out = np.zeros((1, len(v)))
        generalized_forces(self.coordinates.index, gradients, L, 0.0, 1.0, out)
        return np.asarray(out[0])

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        values, rates, _, L = self.measure(frames.u, frames.q, frames.v)
        block: dict[str, Floats] = {}
        for k, item in enumerate(self.items):
            path = f"loads/{item.name}"
            block[f"{path}/force"] = item.sense * (L[:, k, ELASTIC] + L[:, k, REST])
            block[f"{path}/angle"], block[f"{path}/rate"] = values[:, k], rates[:, k]
        return block
