"""Point load: a force and a torque on a body or a beam node."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError, Problem
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, OneOf, Unit, Vector
from femb.elements.force_results import LoadResults
from femb.elements.item import AtPoint, HoldsCommands
from femb.layout.commands import Command, command_array
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.symmetry import (
    AXES,
    EVERY,
    NO_MOTION,
    TRANSLATIONS,
    Surroundings,
    Symmetry,
    intersection,
    of_directions,
    twists,
    with_host,
)
from femb.layout.views import ModelView
from femb.numerics.euler import gimbal_distance
from femb.numerics.turns import EulerSequence
from femb.profiles import Constant, Profile, check_profile

FRAMES = ("inertial", "body", "euler", "dual_euler")


@dataclass(frozen=True, eq=False)
class Load(AtPoint, HoldsCommands):
    """A force (N) and/or torque (N m) at a point of a body or of a beam's section at a node.

    A controller may set the commands ``force`` and ``torque``, three numbers that add to it in its frame, inertial or
    body. In Python both fields take a callable (t, state) -> (3,) of the read-only femb.layout.state.State. Callables
    depend only on their arguments; an attribute ``breakpoints`` has the instants (s) of their jumps.

    Towards gimbal lock, the length of g^1 and g^3 grows as 1/|cos phi| (1/|sin phi| if the first axis is also the
    last), and g_2 is not defined there: a run with a torque along these vectors ends at a distance of 1e-4 from it.

    Raises ModelError: no force, torque or damping, both or neither of body and beam, unknown frame or sequence, a force
    in Euler components. Source: Choi, USC thesis 2014, equations (6) to (11), (28), (36), (37).
    """

    table: ClassVar[str] = "loads"
    results: ClassVar[type[Group]] = LoadResults
    kind: ClassVar[str] = "point"

    name: str
    body: str | None = None
    beam: str | None = None
    at: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    node: int = -1
    force: Annotated[Vector | Callable[..., Any] | None, Unit("N")] = None
    """times the profile"""
    torque: Annotated[Vector | Callable[..., Any] | None, Unit("N m")] = None
    """times the profile"""
    frame: Annotated[str, OneOf(FRAMES)] = "inertial"
    """base vectors b_m of the components: "inertial" or "body" (a beam node's section axes). A torque also takes
    "euler", the unit axes g_m of the body's Euler rotations, or "dual_euler", g^m with g^m . g_n = 1 if m = n else 0,
    which does work on Euler angle m alone"""
    sequence: EulerSequence = "xyz"
    """of the Euler angles, intrinsic"""
    damping: Annotated[float | Vector | None, Unit("N m s/rad"), NOT_NEGATIVE] = None
    """adds the torque component -damping b_m . omega along each base vector b_m, whatever the profile: by a component
    of omega, in "dual_euler" by the Euler rate, in "euler" by the projection on g_m"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen
    """factor of the load: a profile or any function of time"""
    max_force: Annotated[float | None, Unit("N"), POSITIVE] = None
    """limit of each number of the command"""
    max_torque: Annotated[float | None, Unit("N m"), POSITIVE] = None
    """limit of each number of the command"""

    def check(self, check: Checks) -> None:
        if self.force is None and self.torque is None and self.damping is None:
            check.fail("force", "neither force nor torque is given")
        check_profile(check, "force", "torque")
        if "frame" not in check.bad and self.force is not None and self.frame in FRAMES[2:]:
            check.fail(
                "frame",
                f"got {self.frame!r}, but a force has no components along an Euler basis: give it in a load of its "
                "own, in the frame 'inertial' or 'body'",
            )
        self.on.report(check)

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """Angular momentum, and without a force no linear one."""
        return ("angular",) if self.force is None else ("linear", "angular")

    def symmetry(self, around: Surroundings) -> Symmetry:
        # In body axes all motions; else those that keep its directions. A function may depend on anything.
        force, torque = self.force, self.torque
        if callable(force) or callable(torque):
            return NO_MOTION
        given = [word for word, value in (("force", force), ("torque", torque)) if value is not None]
        held = {word: around.discrete.get(command_array(self.key(word))) for word in ("force", "torque")}
        commanded = {word for word, command in held.items() if command is not None}
        if self.damping is None and not commanded and all(f"{self.key(word)}.factor" in around.zeros for word in given):
            return EVERY
        if self.frame == "body":
            return with_host(self.changes_momenta)
        none = np.zeros(3)
        if self.frame != "inertial":
            # Euler angles: a turn about the first axis changes the first of them alone
            first = AXES["xyz".index(self.sequence[0])]
            return Symmetry(twists(AXES, first[None]), with_host(("angular",)).momenta)
        forces, torques = (
            [none if each is None else each for each in (value, held[word])]
            for word, value in (("force", force), ("torque", torque))
        )
        symmetry = of_directions(forces, torques)
        if commanded:  # a command may have any direction later
            later = of_directions(AXES if "force" in commanded else forces, AXES if "torque" in commanded else torques)
            symmetry = replace(symmetry, momenta=later.momenta)
        if self.damping is None:
            return symmetry
        damping = np.broadcast_to(self.damping, 3)
        alike = [AXES[k] for k in range(3) if damping[k - 2] == damping[k - 1]]
        turns = AXES if len(alike) == 3 else np.array(alike).reshape(-1, 3)
        kept = Symmetry.of(twists(AXES, turns))
        motions = intersection([symmetry.motions, kept.motions])
        return Symmetry(motions, intersection([symmetry.momenta, TRANSLATIONS]))

    @property
    def acts_on_attitude(self) -> bool:  # type: ignore[override]
        """Whether it has a torque; then its host needs axes."""
        return self.torque is not None or self.damping is not None

    @property
    def ends_at_lock(self) -> bool:
        """Whether it has a component along a base vector that is not defined at gimbal lock."""
        used = np.zeros(3, dtype=bool)
        if self.damping is not None:
            used |= np.broadcast_to(self.damping, 3) != 0.0
        if self.torque is not None:
            used |= True if callable(self.torque) else self.torque != 0.0
        return bool(used.any()) if self.frame == "dual_euler" else self.frame == "euler" and bool(used[1])

    def commands(self, layout: Layout) -> dict[str, Command]:
        given = {"force": "N", "torque": "N m"} if self.frame in FRAMES[:2] else {}
        host = self.on if self.frame == "body" else None
        return {
            word: replace(self.held(word, unit, 3, self._columns(layout) if word == "torque" else None), host=host)
            for word, unit in given.items()
            if getattr(self, word) is not None and not callable(getattr(self, word))
        }

    def _columns(self, layout: Layout) -> Floats | None:
        """(3, n_v) generalized forces of a torque about each axis of its body, which are constant; None of another."""
        if self.frame != "body" or not hasattr(layout, "n_v"):
            return None
        station = layout.station(self.on)
        columns = np.zeros((3, layout.n_v))
        if layout.frames[station.frame].freedom:
            j = layout.frame_v[station.frame] + 3
            columns[:, j : j + 3] = station.axes.T
        return columns

    @staticmethod
    def batches(items: list["Load"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all point loads, without those on fixed frames. Raises ModelError at gimbal lock."""
        from femb.elements.load.batch import LoadBatch

        moving = [item for item in items if layout.frames[layout.station(item.on).frame].freedom]
        problems = [item._locked() for item in moving if item.ends_at_lock and _at_lock(item, layout)]
        if problems:
            raise ModelError(*problems)
        loads: list[Batch] = [LoadBatch(moving, layout)] if moving else []
        return [*loads, *Load.clips(moving, layout)]

    def _locked(self) -> Problem:
        return Problem(
            ("loads", self.name, "sequence"),
            f"got {self.sequence!r}, at whose gimbal lock the motion starts: the basis {self.frame!r} has no direction "
            'there; give another sequence, or the torque in frame = "body"',
        )


def _at_lock(load: Load, layout: Layout) -> bool:
    from femb.elements.load.euler_basis import NEAREST

    _, quaternion = layout.pose(layout.station(load.on))
    return bool(gimbal_distance(quaternion, load.sequence) < NEAREST)
