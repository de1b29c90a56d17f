"""One load along a beam that depends on the places and velocities of its points: force, tangent and results.

The batch uses numpy, for all elements of its beam together. Source: docs/theory/beam_loads.md, section 3.
"""

from typing import Any, Protocol

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats
from femb.base.values import shown
from femb.elements.beam.batch import BeamBatch
from femb.elements.exact.batch import ExactBatch
from femb.elements.load.line_points import LinePoints, Motion, starts_of
from femb.layout.differentiated import WithoutDerivatives
from femb.layout.element import Batch, ForceBatch, Input, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.views import BlockPattern, ModelView, OutputStates
from femb.numerics.vector3 import scatter

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
    def forces(self, velocity: Floats, slope: Floats) -> tuple[Floats, Floats, Floats]: ...


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

    def _forces(self, u: Floats, motion: Motion) -> tuple[Floats, Floats, Floats, Floats]:
        """Forces per length (s, e, 3, 3), and derivatives (s, e, 3, 3, 3) by position, velocity and slope."""
        points = self.points
        if self.item.law is not None:
            width = LAW_WIDTH * points.s.size
            values = u[:, self.first_input : self.first_input + width].reshape(len(u), *points.s.shape, LAW_WIDTH)
            by_x, by_v = (values[..., k : k + 9].reshape(*values.shape[:-1], 3, 3) for k in (3, 12))
            return values[..., :3], by_x, by_v, np.zeros_like(by_x)
        velocity = points.at_points(points.values, motion.rates) + self.layout.origin_velocity
        force, by_v, by_slope = self.item.forces(velocity, points.at_points(points.slopes, motion.x))
        factor = u[:, self.first_input, None, None, None]
        factors = factor[..., None]
        return factor * force, np.zeros_like(by_v), factors * by_v, factors * by_slope

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        motion = self.points.motion(q, v)
        parts = self.points.end_forces(motion, self._forces(u, motion)[0])[1]
        self.points.add(parts, -rest, out)

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        points, motion = self.points, self.points.motion(q[None], v[None])
        force, by_x, by_v, by_slope = (part[0] if part.ndim > 3 else part for part in self._forces(u[None], motion))
        F, _ = points.end_forces(motion, force[None])
        by, rate_by = points.jacobian(motion)
        at = np.einsum("ga,eaij->egij", points.values, by)
        rate_at = np.einsum("ga,eaij->egij", points.values, rate_by)
        slope_at = np.einsum("ga,eaij->egij", points.slopes, by)
        change = by_x @ at + by_v @ rate_at + by_slope @ slope_at
        K = np.einsum("eg,egim,egin->emn", points.weights, at, change) + points.turning(motion, F[0])
        C = np.einsum("eg,egim,egin->emn", points.weights, at, by_v @ at)
        starts, sizes = starts_of(points)
        for k in range(len(K)):
            scatter(-K[k], starts, sizes, self.offset[k], self.stride[k], stiffness)
            scatter(-C[k], starts, sizes, self.offset[k], self.stride[k], damping)

    def add_section_forces(self, beams: Batch, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        if type(beams) is not self.kind:
            return
        points, motion = self.points, self.points.motion(q, v)
        F, _ = points.end_forces(motion, self._forces(u, motion)[0])
        own = np.einsum("senji,senaj->senai", motion.R, F.reshape(*F.shape[:2], 2, 2, 3))
        moment = np.cross(motion.k, own[..., 1, :])
        rows = slice(self.first_row, self.first_row + len(points.length))
        for part, value in ((slice(0, 3), own[..., 0, :]), (slice(3, 6), moment)):
            local = np.einsum("enji,senj->seni", points.sections, value)
            out[:, rows, 0, part] += local[:, :, 0]
            out[:, rows, 1, part] -= local[:, :, 1]

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """The force of the whole beam, inertial axes."""
        motion = self.points.motion(frames.q, frames.v)
        force = np.einsum("eg,segi->si", self.points.weights, self._forces(frames.u, motion)[0])
        return {f"loads/{self.item.name}/force": force}
