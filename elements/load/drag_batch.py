"""One load along a beam that depends on the places and velocities of its points: force, tangent and results.

Source: docs/theory/beam_loads.md, section 3.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats
from femb.base.values import shown
from femb.elements.beam.batch import BeamBatch
from femb.elements.exact.batch import ExactBatch
from femb.elements.load.drag_kernels import drag
from femb.elements.load.line_point_kernels import tangent
from femb.elements.load.line_points import LinePoints, Motion, starts_of
from femb.layout.differentiated import WithoutDerivatives
from femb.layout.element import Batch, ForceBatch, Input, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.views import BlockPattern, ModelView, OutputStates

NO_DERIVATIVES = np.empty((0, 0, 0, 0, 0))
LAW_WIDTH = 21  # inputs of a law at a point: the force, and its derivatives by position and velocity


class PointForce(Protocol):
    """The description of such a load, ``femb.elements.load.drag.Drag``."""

    @property
    def name(self) -> str: ...
    @property
    def beam(self) -> str: ...
    @property
    def law(self) -> Any: ...
    @property
    def profile(self) -> Any: ...
    @property
    def numbers(self) -> Floats: ...
    @property
    def wind(self) -> Any: ...


class DragBatch(ForceBatch):
    """A drag times an input; or a law, whose values and derivatives at the points are inputs."""

    def __init__(self, item: PointForce, layout: Layout, model: ModelView) -> None:
        self.item, self.layout = item, layout
        beam = model.beams[item.beam]
        batch = next(each for each in type(beam).batches([beam], layout, model) if each.gravity is not None)
        if not isinstance(batch, BeamBatch | ExactBatch):
            what = f"is of the kind {beam.kind!r}, which takes no loads along it: load its nodes"
            raise ModelError.at(("beams", item.beam), what)
        self.kind = type(batch)
        self.points = LinePoints(batch)
        before = list(model.beams.values())[: list(model.beams).index(item.beam)]
        self.first_row = sum(other.elements for other in before if type(other) is type(beam))
        label = f"loads.{item.name}"
        self.inputs = (Input.of_profile(item.profile, f"{label}.profile"),)
        self.drag = item.numbers, layout.origin_velocity - np.asarray(item.wind)
        if item.law is not None:
            width, breaks = LAW_WIDTH * self.points.s.size, breakpoints_of(item.profile)
            self.inputs = (
                Input(
                    width, self._of_law, of_state=True, breakpoints=breaks, label=f"{label}.law", differentiated=True
                ),
            )

    def allocate(self, pattern: BlockPattern) -> None:
        self.offset, self.stride = pattern.offsets(self.points.starts)

    def _of_law(self, t: float, state: Any) -> Floats | WithoutDerivatives:
        """The force of the law, and its derivatives, at the points: (21 m,) numbers."""
        q, v = state.arrays()
        points, motion = self.points, self.points.motion(q[None], v[None])
        position = points.at_points(points.values, motion.x).reshape(-1, 3)
        velocity = points.at_points(points.values, motion.rates).reshape(-1, 3)
        places = self.layout.to_inertial(np.array([t]), position[None], velocity[None])
        law: Any = self.item.law
        value = law(t, points.s.ravel(), places[0][0], places[1][0])
        parts = list(value) if isinstance(value, tuple) else [value]
        derived = len(parts) == 3
        parts += [] if derived else [np.zeros((len(position), 3, 3))] * 2
        wanted = [(len(position), 3), (len(position), 3, 3), (len(position), 3, 3)]
        if [np.shape(part) for part in parts] != wanted:
            what = f"wanted a force {wanted[0]}, or this and two arrays of derivatives {wanted[1]}"
            raise SolveError(f"loads.{self.item.name}.law: got {shown(value)} at t = {t:.6g} s, {what}")
        packed = np.concatenate([np.reshape(part, (len(position), -1)) for part in parts], axis=1)
        result: Floats = self.item.profile(t) * packed.ravel()
        return result if derived else WithoutDerivatives(result)

    def _set(self, u: Floats, motion: Motion, force: Floats) -> None:
        """Set the forces per length (s, e, 3, 3)."""
        if self.item.law is not None:
            force[:] = self._of_inputs(u)[..., :3]
        else:
            self._drag(u, motion, force, NO_DERIVATIVES, NO_DERIVATIVES)

    def _of_inputs(self, u: Floats) -> Floats:
        """(s, e, 3, 21) force of the law, and its derivatives, at the points."""
        width = LAW_WIDTH * self.points.s.size
        return u[:, self.first_input : self.first_input + width].reshape(len(u), *self.points.s.shape, LAW_WIDTH)

    def _drag(self, u: Floats, motion: Motion, *out: Floats) -> None:
        points = self.points
        drag(points.values, points.slopes, *self.drag, u[:, self.first_input], motion.x, motion.rates, *out)

    def _derivatives(self, u: Floats, motion: Motion) -> tuple[Floats, Floats, Floats, Floats]:
        """Forces per length (s, e, 3, 3), and derivatives (s, e, 3, 3, 3) by position, velocity and slope."""
        shape = (len(u), *self.points.s.shape, 3)
        force, by_x, by_v, by_slope = np.empty(shape), *np.zeros((3, *shape, 3))
        if self.item.law is None:
            self._drag(u, motion, force, by_v, by_slope)
        else:
            values = self._of_inputs(u)
            force[:], derivatives = values[..., :3], values[..., 3:].reshape(*shape[:-1], 2, 3, 3)
            by_x[:], by_v[:] = derivatives[..., 0, :, :], derivatives[..., 1, :, :]
        return force, by_x, by_v, by_slope

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        self._bound(u, q, v, rest, out)()

    def bound_residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> Callable[[], object]:
        return self._bound(u, q, v, 1.0, out)

    def _bound(self, u: Floats, q: Floats, v: Floats, rest: float, out: Floats) -> Callable[[], None]:
        """The function that adds ``rest`` times the forces to ``out``; entries of all arrays change between calls."""
        points, e = self.points, len(self.points.length)
        motion, force = Motion.empty(len(q), e), np.empty((len(q), e, 3, 3))

        def add() -> None:
            points.set(motion, q, v)
            self._set(u, motion, force)
            points.add_forces(motion, force, -rest, out)

        return add

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        points, motion = self.points, self.points.motion(q[None], v[None])
        force, *derivatives = self._derivatives(u[None], motion)
        points.add_forces(motion, force, 0.0, np.zeros((1, len(v))))
        ends = motion.R, motion.omega, motion.k, motion.w, motion.arm_rate, motion.F
        tangent(
            points.index, points.ends, points.weights, points.values, points.slopes, *ends,
            *(part[0] for part in derivatives), *starts_of(points), self.offset, self.stride, damping, stiffness,
        )  # fmt: skip

    def add_section_forces(self, beams: Batch, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        if type(beams) is not self.kind:
            return
        points, motion = self.points, self.points.motion(q, v)
        force = np.empty((len(q), *points.s.shape, 3))
        self._set(u, motion, force)
        points.add_forces(motion, force, 0.0, np.zeros(v.shape))
        own = np.einsum("senji,senaj->senai", motion.R, motion.F.reshape(*force.shape[:2], 2, 2, 3))
        moment = np.cross(motion.k, own[..., 1, :])
        rows = slice(self.first_row, self.first_row + len(points.length))
        for part, value in ((slice(0, 3), own[..., 0, :]), (slice(3, 6), moment)):
            local = np.einsum("enji,senj->seni", points.sections, value)
            out[:, rows, 0, part] += local[:, :, 0]
            out[:, rows, 1, part] -= local[:, :, 1]

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """The force of the whole beam, inertial axes."""
        points, motion = self.points, self.points.motion(frames.q, frames.v)
        force = np.empty((len(frames.q), *points.s.shape, 3))
        self._set(frames.u, motion, force)
        return {f"loads/{self.item.name}/force": np.einsum("eg,segi->si", points.weights, force)}
