"""System: the equations of motion of a model in velocity coordinates, with the start of the motion.

    q' = H(q) v,    M(q) v' + h(q, v) + f_el(q, v) + J(q)^T lambda = f(u, q, v),    J v + Phi_t = dPhi/dt = 0

Source: docs/theory/beam.md, equation (1), docs/theory/rigid_body.md and docs/theory/constraints.md.
"""

from contextlib import suppress
from functools import cached_property
from math import inf, nextafter
from typing import TYPE_CHECKING, Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Loop, Turning
from femb.base.values import shallow_copy
from femb.layout.layout import Layout
from femb.layout.protocols import Begins
from femb.model.model import Model
from femb.system.block_lu import Factors
from femb.system.bound_equations import BoundEquations, BoundMatrices
from femb.system.constraints import projected
from femb.system.degrees_of_freedom import check_pairs
from femb.system.forward import forward_each
from femb.system.initial_state import assembled, shared_velocity, start_velocities
from femb.system.motion_equations import MotionEquations
from femb.system.parts import Parts, discrete_at, parts_of
from femb.system.rigid_bodies import RigidBodies

if TYPE_CHECKING:
    from femb.system.augmented import Augmented


class System(MotionEquations):
    """The equations of motion of a model, and the start q0 (n_q,), v0 (n_v,) of its motion.

    assemble : joints may be open at the start, and are closed; None where another start is set before the motion: they
    stay as the poses are, at rest. layout : an empty layout with another numbering.

    Raises ModelError with every problem of the model.
    """

    def __init__(self, model: Model, assemble: bool | None = False, layout: Layout | None = None) -> None:
        super().__init__(parts_of(model, layout))
        q = self.layout.start_coordinates()
        if assemble is None:
            self.q0, self.v0 = q, self.layout.start_velocities()
            with suppress(ModelError):  # what takes numbers of the start has those of an assembled one
                if self.n_c:
                    self._take_start(assembled(self, q, True))
            return
        if self.n_c:
            check_pairs(self, q)
            start, q = q, assembled(self, q, assemble)
            if q is not start:
                self.discrete = discrete_at(self.layout, self.coordinates_of_joints, q)
                self.__dict__.pop("discrete_inputs", None)
                self._take_start(q)
        v = start_velocities(self, q)
        self.layout.origin_velocity = shared_velocity(self, v)
        if self.layout.origin_velocity.any():
            v = v - self.layout.origin_velocity @ self.rigid_velocities(q)[:3]
        for batch in self.batches:
            if isinstance(batch, Begins):
                batch.begin(q, v)
        self.q0, self.v0 = q, v

    def _take_start(self, q: Floats) -> None:
        for batch in self.batches:
            batch.take_start(q)

    @classmethod
    def of_parts(cls, parts: Parts, q: Floats, v: Floats) -> Self:
        """The system of these parts with the start q (n_q,), v (n_v,)."""
        system = cls.__new__(cls)
        MotionEquations.__init__(system, parts)
        system.q0, system.v0 = q, v
        return system

    def __repr__(self) -> str:
        return f"<System of {self.model!r}: {self.n_v} velocities, {self.n_c} constraint equations>"

    def starting_at(self, q: Floats, v: Floats) -> Self:
        """The system with another start."""
        other = shallow_copy(self)
        other.q0, other.v0 = q, v
        return other

    def augmented(self, t: float = 0.0, q: Floats | None = None, v: Floats | None = None) -> "Augmented":
        """The equations of motion in quaternion coordinates, equation (57) of the thesis, as scipy.sparse matrices.

        t : s, for the inputs. q (n_q,), v (n_v,) : a state with unit quaternions, by default the start. The result has
        M, A, J, the right-hand side and the names of rows and columns; see ``Augmented``.

        Raises ModelError where q or v has another length, or a quaternion is not of unit length; TrialError where the
        mass matrix is singular.
        """

        from femb.system.augmented import augmented, checked_state

        q, v = checked_state(self, q, v, (self.q0, self.v0))
        return augmented(self, self.inputs_at(t, q, v), q, v)

    def bound_equations(
        self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats, switched: bool = False
    ) -> BoundEquations:
        """``equations`` of these arrays, to be evaluated again and again as their entries change.

        switched : whether they are only the forces of what reads discrete states.
        """
        return BoundEquations(self, u, q, v, a, multipliers, switched)

    def bound_matrices(self, u: Floats, q: Floats, v: Floats, multipliers: Floats) -> BoundMatrices | None:
        """``matrices`` of the state u, q, v, ``multipliers`` in these arrays (1, n), bound to kernels.

        None where an element may ask for a part of low rank.
        """
        return BoundMatrices(self, u, q, v, multipliers) if BoundMatrices.serves(self) else None

    # Accelerations and projections

    @cached_property
    def rigid(self) -> RigidBodies | None:
        """Compiled steps, if there are only rigid bodies, point masses and joints, without inputs."""
        return None if self.n_u else RigidBodies.of(self)

    def left_accelerations(self, t: float, q: Floats, v: Floats) -> Floats:
        return self.acceleration(self.inputs_at(nextafter(t, -inf), q, v), q, v)

    def acceleration(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """v' (n_v,) at one state."""
        return self.forward(u, q, v)[0]

    def forward(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """v' (n_v,) and multipliers (n_c,) at one state: M v' + J^T lambda = f - h - f_el and J v' = gamma.

        The multiplier of a row that depends on the others is zero.
        """
        a, multipliers = self.forward_each(u[None], q[None], v[None])
        return a[0], multipliers[0]

    def forward_each(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """v' (s, n_v) and multipliers (s, n_c) of s states; see ``forward``. Raises TrialError."""
        return forward_each(self, u, q, v)

    def projected(self, u: Floats, q: Floats, v: Floats, factors: Factors | None = None) -> tuple[Floats, Floats]:
        """q (n_q,), v (n_v,) on the constraints, by ``factors`` where given; see ``femb.system.constraints``."""
        return projected(self, u, q, v, factors)

    # Members of a formulation: the identity map

    @property
    def has_stages(self) -> bool:
        """Whether there are only rigid bodies, point masses and joints without inputs."""
        return self.rigid is not None

    def stages(self, A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats) -> Floats:
        """Stages ``first`` to ``last`` - 1 of an explicit step of length h (s) from y0 (n,), in one call.

        A (stages, stages) : coefficients; K (stages, n) : the rates, which are filled in. Returns the last state (n,);
        see ``femb.formulations.contract.WithStages``. Raises TrialError.
        """
        assert self.rigid is not None
        return self.rigid.stages(self, A, first, last, h, y0, K)

    @property
    def turning(self) -> Turning:
        """Angular velocities of the frames between which joints count angles."""
        return self.coordinates_of_joints.turning, 3, 1.0

    @property
    def has_steps(self) -> bool:
        """Whether whole steps are compiled, as stages are."""
        return self.rigid is not None

    def steps(self, loop: Loop) -> Floats | None:
        """Accepted steps of DOP853 in one call, in the arrays of ``loop``; see ``femb.numerics.dop853_kernels``.

        Returns the joint coordinates (s + 1, m) at the start and at the ends of the steps, unwrapped, m and rad; None
        without angles.
        """
        assert self.rigid is not None
        states = self.rigid.steps(self, loop, self.has_angles)
        return self.angles_along(states) if self.has_angles else None

    @property
    def system(self) -> "System":
        """The system whose equations these are: itself."""
        return self

    def to_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v in velocity coordinates of s states of a formulation: themselves."""
        return q, v

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """v' in velocity coordinates of s states of a formulation whose v' is a: itself."""
        return a

    def joint_angles(self, q: Floats) -> Floats:
        """The joint coordinates (s, m) from which those at s states are unwrapped: those of the last step."""
        return np.repeat(self.discrete.angles[None], len(q), axis=0)

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The reverse of ``to_system``, for one state: themselves."""
        return q, v
