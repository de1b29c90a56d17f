"""The path of equilibria of a model as its load factor changes: states one after the other, each with its stability.

Source: docs/theory/statics.md, sections 2 to 4.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.layout.discrete import DiscreteState
from femb.layout.layout import Station
from femb.statics.equations import AdaptiveShift, Briefly, CautiousShift, MassShift, NoShift, Regularisation
from femb.statics.neutral import NeutralMotions
from femb.statics.path_measure import STILL, TURN, Controlled, PathMeasure, PathTangent
from femb.statics.solve import Balanced, KnownFactors, Statics, in_load_steps
from femb.statics.stability import Stiffness
from femb.system.rigid_motion import ATTITUDES, TURNED_ENOUGH, RigidMotion

REPEATS = 5  # solutions for a place that depends on rotations too, as that of a point beside a frame
BESIDE = 0.2  # of a step: how far beside it the first state of a path is that it passes again
EXACT = 1e-10  # of a step of displacement
OF_BRANCH = 0.1  # of the longest step: the first one along the mode of a bifurcation
# Change of the load factor beside that of the tangent, of a step whose middle is not looked at.
STRAIGHT = 0.1
# Iterations of a load step to a state as stable: after more it is looked at whether it stays on the path, or, where
# stability is not judged, it may have left it.
SLOW, FAR_AWAY = 10, 12
# Halvings of a load step in which stability changes, and of the step: how near are the states on both sides of that.
HALVINGS, NEXT = 6, 0.2
SHORTEST = 1e-6  # of the longest step on an arc
TOGETHER = 1.0 / 256.0  # the same: eigenvalues that change their sign in so short a step do so together
SMALLEST = 1.0 / 512.0  # of a load step that fails
FAR = 0.01  # rad, by which an equilibrium may turn a structure to a principal axis that typed numbers give
SMALLEST_SPIN = 1.0 / 32.0  # the same of the rate of rotation
MOST_SNAPS = 20  # at one load
QUICK = 7  # iterations of a step on an arc after which the next one is as long
MOST_STATES = 50  # states along an arc, in numbers of load steps
FOLLOWING = 1e-9  # asymmetry of a stiffness, relative to its largest entry, above which loads follow the motion
NOT_JUDGED = -1  # in the place of a number of negative eigenvalues


class OffPathError(SolveError):
    """A step that does not stay on the path."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """An equilibrium on the path, how stable it is beside its neutral motions, and the discrete state there.

    follows : whether loads follow the motion: then the number of negative eigenvalues, of the symmetric part of the
    stiffness, tells of no instability.
    """

    found: Balanced
    negative: int
    follows: bool
    neutral: NeutralMotions | None
    discrete: DiscreteState

    @property
    def load(self) -> float:
        """The load factor."""
        return self.found.load


@dataclass
class LoadPath:
    """Follows equilibria of static equations."""

    statics: Statics
    iterations: int = 0

    def __post_init__(self) -> None:
        motions = self.statics.motions
        self.spin2 = max((float(motion.omega @ motion.omega) for motion in motions), default=0.0)
        self.free = any(motion.free for motion in motions)
        self.stiffness = Stiffness(self.statics)
        # load steps that did not stay on the path
        self.jumped: list[tuple[Equilibrium, Equilibrium]] = []
        # of steps along an arc, whether a limit point is in the last one, and whether it returns; of a displacement's
        self.arc: PathMeasure | None = None
        self.turned = self.returned = False
        self.control: Controlled | None = None
        self.factors_of: tuple[Floats, KnownFactors] | None = None

    def begin(self) -> Equilibrium:
        """The equilibrium without the loads that the factor multiplies."""
        system, statics = self.statics.twin, self.statics
        start = Balanced(system.q0, np.zeros(system.n_v), np.zeros(system.n_c))
        trial = statics.unbalanced(start.q, start.multipliers, 0.0)
        if np.any(trial.equations):
            start = self.first_solved(self._attempts(shifted=True), start, 0.0)
        else:
            start = replace(start, force=trial.force)
        return self.judged(start)

    def _attempts(self, shifted: bool) -> list[Regularisation]:
        """The regularisations to try in turn; shifted : from states that may be far from a stable equilibrium."""
        constrained = bool(self.statics.twin.n_c)
        shifts: list[Regularisation] = [AdaptiveShift(self.spin2), CautiousShift(self.spin2)] if constrained else []
        if self.free:
            return shifts or [MassShift(self.spin2, free=True)]
        return [*shifts, NoShift(self.spin2)] if shifted else [NoShift(self.spin2)]

    def solve(self, start: Balanced, load: float) -> Balanced:
        """The equilibrium at a load factor, from a state nearby."""
        return self.first_solved(self._attempts(shifted=False), start, load)

    def first_solved(self, attempts: list[Regularisation], start: Balanced, load: float) -> Balanced:
        """The result of the first attempt that succeeds; before these, one with what turns freely at the start held.

        Last, structures that turn freely are turned as bodies. Raises the SolveError of the first.
        """
        with suppress(SolveError):
            found = self._turning(start, load) if self.spin2 else self._loose(start, load)
            if found is not None:
                return self._counted(found)
        errors = []
        for attempt in attempts:
            try:
                factors = self._factors_of(start) if isinstance(attempt, NoShift) else None
                return self._counted(self.statics.solve(start, load, attempt, factors=factors))
            except SolveError as error:
                errors.append(error)
        with suppress(SolveError):
            return self._turning_apart(start, load, errors[0])
        raise errors[0]

    def _factors_of(self, start: Balanced) -> KnownFactors | None:
        """The factors of the stiffness of a state, and the weight of J^T J in it, if it is the last one judged.

        They are not kept with its results.
        """
        known, self.factors_of = self.factors_of, None
        return known[1] if known is not None and known[0] is start.q else None

    def _loose(self, start: Balanced, load: float) -> Balanced | None:
        """The balance with motions of joints held that nothing resists; None if there are none. Raises SolveError."""
        neutral = self.stiffness.unmoved(start, load)
        if neutral is None or neutral.count == neutral.rigid:
            return None
        attempt = MassShift(self.spin2, free=True) if self.free else NoShift(self.spin2)
        # those that are no rigid motions of free structures
        of_joints = NeutralMotions.of(self.statics, neutral.shapes[:, neutral.rigid :], 0)
        return self.statics.solve(start, load, attempt, neutral=of_joints)

    def _turning(self, start: Balanced, load: float) -> Balanced | None:
        """The balance in a rotation, by the exact tangent about axes that stay where they are at the start.

        In steps of the rate of rotation where it takes them; None if some free structure is at rest. A held body keeps
        its axis, and so does a structure that rounding of typed numbers would turn far. Raises SolveError.
        """
        turning = [motion for motion in self.statics.motions if motion.omega.any()]
        if any(motion.free for motion in self.statics.motions if motion not in turning):
            return None
        carried = [motion for motion in turning if motion.carried]
        found = self._turning_with(start, load, turning, carried)
        far = [motion for motion in turning if motion.turned_to(found.q) > FAR]
        if far:
            with suppress(SolveError):
                other = self._turning_with(start, load, turning, [*carried, *far])
                if all(motion.across(other.q, other.force) is not None for motion in far):
                    return other
        return found

    def _turning_with(
        self,
        start: Balanced,
        load: float,
        turning: list[RigidMotion],
        kept: list[RigidMotion],
        placed: Sequence[RigidMotion] = (),
    ) -> Balanced:
        """The balance of structures ``turning``, of which some are ``kept`` in their attitude to their axes, and some
        ``placed`` at these."""
        fixed = self.statics.about_axes(start.q)
        shapes = [motion.neutral(start.q) for motion in fixed.motions if motion.point is not None]
        shapes += [motion.tilts(start.q) for motion in kept]
        shapes += [motion.shifts(start.q) for motion in placed]
        owners = np.zeros(fixed.twin.n_v, dtype=bool)
        for motion in turning:
            first = fixed.twin.layout.frame_v[motion.owner]
            owners[first : first + 6] = True
        neutral = NeutralMotions.of(
            fixed, np.hstack(shapes), sum(each.shape[1] for each in shapes), owners, 2 * (len(kept) + len(placed))
        )

        def at_part(before: Balanced, part: float) -> Balanced:
            turning = self.statics.about_axes(start.q, part)
            found = turning.solve(replace(before, load=load), load, NoShift(self.spin2), neutral=neutral)
            return replace(found, load=part)

        # soft members bend the wrong way in the first correction, before the rotation stretches them
        found = in_load_steps(at_part, replace(start, load=0.0), 1.0, 1.0, SMALLEST_SPIN)
        return replace(found, load=load)

    def _turning_apart(self, start: Balanced, load: float, error: SolveError) -> Balanced:
        """The balance in slow rotations, whose resistance to rigid motions is rounding beside the stiffness: the
        shapes with these held, then the structures turned as bodies until their principal axes are along the axes.

        Raises ``error`` where none is free, one is at rest, or something around them notices their attitudes.
        """
        turning = [motion for motion in self.statics.motions if motion.omega.any()]
        kept = [motion for motion in self.statics.motions if motion.free]
        loose = [motion for motion in kept if not motion.carried]
        if not loose or not all(motion.omega.any() and motion.tilts_freely() for motion in loose):
            raise error
        found = start
        for _ in range(ATTITUDES):
            before, found = found, self._turning_with(found, load, turning, kept, loose)
            q, most = found.q, 0.0
            for motion in loose:
                q, angle = motion.to_principal_axis(q)
                # the shape was found about an axis through the centre before
                moved = np.linalg.norm(motion.centre(found.q) - motion.centre(before.q))
                most = max(most, angle, float(moved) / (motion.system.layout.extent or 1.0))
            if most <= TURNED_ENOUGH:
                return self._counted(found)
            found = replace(found, q=q)
        raise error

    def _counted(self, found: Balanced) -> Balanced:
        self.iterations += found.iterations
        return found

    def judged(self, found: Balanced) -> Equilibrium:
        """An equilibrium with its stability; that of a structure that turns, in orbit, or under functions of the state
        is not judged."""
        if self.spin2 or self.statics.in_orbit or self.statics.functions:
            return Equilibrium(found, NOT_JUDGED, False, None, self.statics.twin.discrete)
        judged = self.stiffness.at(found)
        follows = judged.asymmetry > FOLLOWING
        if not judged.neutral.count and not follows:
            self.factors_of = found.q, (judged.factors, judged.weights)
        return Equilibrium(found, judged.negative, follows, judged.neutral, self.statics.twin.discrete)

    def raised(self, before: Equilibrium, load: float, within: bool = False) -> Equilibrium:
        """The equilibrium at a load factor, in as many steps as it takes to stay on the path. Raises SolveError.

        within : a step that was, whose inside is looked at.
        """
        state = before

        def stepped(start: Balanced, to: float) -> Balanced:
            nonlocal state
            after = self.judged(self._step(start, to))
            if not within and not self._stays(state, after):
                self.statics.advanced(start.q)
                raise OffPathError(f"the iteration goes over to another path beyond the load factor {state.load:.6g}")
            state = after
            return after.found

        try:
            in_load_steps(stepped, before.found, load, 1.0, SMALLEST)
        except OffPathError as error:
            # past a limit load the next stable equilibrium is where the structure jumps to
            jumped = self.judged(self._step(state.found, load))
            if jumped.negative > state.negative:
                raise error
            self.jumped.append((before, state := jumped))
        except SolveError as error:
            shifted = self._shifted(before.found, load)
            if shifted is None:
                raise error
            # where it is not stable either, later steps may come to what is
            state = self.judged(shifted)
            if state.negative > before.negative or not self._stays(before, state):
                self.jumped.append((before, state))
        # without its loads a mechanism may be anywhere, and Newton's iteration may go to an unstable equilibrium
        if before.load == 0.0 and state.negative > before.negative and self.statics.twin.n_c:
            other = self._shifted(before.found, load)
            if other is not None and self.stiffness.at(other).negative < state.negative:
                return self.judged(other)
        if state.negative == NOT_JUDGED and state.found.iterations > FAR_AWAY:
            self.jumped.append((before, state))
        return state

    def _stays(self, before: Equilibrium, after: Equilibrium, sense: float = 0.0) -> bool:
        """Whether a step goes along the path whose end is not as stable, or far for the iteration: its tangents tell,
        and of load steps equilibria inside where eigenvalues change their sign.

        sense : of the controlled displacement, whose tangents go its way; zero of load steps.
        """
        if NOT_JUDGED in (before.negative, after.negative):
            return True
        if after.negative == before.negative and after.found.iterations <= SLOW:
            return True
        change, way = after.load - before.load, self.apart(before, after)
        if way <= STILL:
            return True
        measure = PathMeasure(self.statics, abs(change))
        try:
            tangent, ahead = (measure.tangent(each.found, self._held(each)) for each in (before, after))
        except SolveError:  # without a tangent
            return True
        ways = [change, change]
        if self.control is not None and sense:
            ends = (before, tangent), (after, ahead)
            ways = [sense * self.control.at(each.found.q).along(along.x) for each, along in ends]
        tangent, ahead = (
            each if to > 0.0 else replace(each, x=-each.x, load=-each.load)
            for each, to in zip((tangent, ahead), ways, strict=True)
        )
        if not measure.follows(tangent, self._way(before, after), change, ahead):
            return False
        low, high = before, after
        changes = after.negative != before.negative and after.found.iterations > SLOW and not sense
        for _ in range(HALVINGS if changes else 0):
            try:
                middle = self.judged(self._step(low.found, 0.5 * (low.load + high.load)))
            except SolveError:  # next to a bifurcation
                break
            low, high = (low, middle) if middle.negative != before.negative else (middle, high)
        self.statics.advanced(after.found.q)
        whole = NEXT + (high.load - low.load) / change if (low, high) != (before, after) else np.inf
        return self.apart(low, high) <= whole * way

    def apart(self, state: Equilibrium, new: Equilibrium) -> float:
        """The size of the displacements and rotations from one state to another one."""
        way = self._way(state, new)
        return float(np.sqrt(way @ (self.statics.weights * way)))

    def _step(self, before: Balanced, load: float) -> Balanced:
        """The equilibrium at a load factor, which is accepted."""
        found = self.solve(before, load)
        self.statics.advanced(found.q)
        return found

    def _shifted(self, before: Balanced, load: float) -> Balanced | None:
        """A last attempt, for mechanisms that nothing but loads hold."""
        for shift in (AdaptiveShift, CautiousShift):
            try:
                found = self._counted(self.statics.solve(before, load, shift(self.spin2)))
            except SolveError:
                continue
            # what moves without end takes steps that are small beside where it is, too
            if self.statics.in_balance(found):
                self.statics.advanced(found.q)
                return found
        return None

    def snapped(self, found: Balanced) -> Balanced:
        """The balance after springs beyond their thresholds have snapped; itself if there are none."""
        for _ in range(MOST_SNAPS):
            labels, discrete = self.statics.beyond(found.q)
            if not labels:
                return found
            self.statics.twin = self.statics.twin.with_discrete(discrete)
            before = replace(found, q=found.q.copy())
            try:
                found = self._step(before, found.load)
            except SolveError as error:
                other = self._shifted(before, found.load)
                if other is None:
                    raise error
                found = other
        raise SolveError(f"no equilibrium found to start from: {', '.join(labels)} snaps to and fro; none is between")

    def in_load_steps(self, factor: float, steps: int) -> Iterator[Equilibrium]:
        """Equilibria at equal steps of the load factor, that at zero first."""
        state = self.begin()
        for k in range(steps + 1):
            state = self.raised(state, factor * k / steps) if k else state
            if (found := self.snapped(state.found)) is not state.found:
                state = self.judged(found)
            yield state

    def in_displacements(self, station: Station, axis: int, last: float, steps: int) -> Iterator[Equilibrium]:
        """Equilibria at equal steps of the displacement (m) of a station along an inertial axis, the start first; the
        load factor is what it takes."""
        self.control, state = Controlled(self.statics.twin.layout, station, axis), self.begin()
        yield state
        start = self.control.place(state.found.q)
        for k in range(1, steps + 1):
            state = self.pushed(state, start + last * k / steps)
            yield state

    def pushed(self, before: Equilibrium, place: float, within: bool = False) -> Equilibrium:
        """The equilibrium with the controlled coordinate at a place (m), as ``raised``. Raises SolveError."""
        control = self.control
        assert control is not None

        state, sense = before, float(np.sign(place - control.place(before.found.q)))

        def solved(start: Balanced, to: float) -> Balanced:
            nonlocal state
            begin, held = start, self._held(state)
            for _ in range(REPEATS):
                gap, normal = to - control.place(start.q), control.at(start.q)
                start = self._counted(self.statics.solve(start, start.load, NoShift(self.spin2), normal, gap, held))
                if abs(to - control.place(start.q)) <= EXACT * abs(place - begins):
                    break
            self.statics.advanced(start.q)
            after = self.judged(start)
            if not within and not self._stays(state, after, sense):
                self.statics.advanced(begin.q)
                raise OffPathError(f"the iteration goes over to another path beyond the load factor {state.load:.6g}")
            state = after
            return start

        begins = control.place(before.found.q)
        in_load_steps(solved, before.found, place, 1.0, SMALLEST, control.place)
        return state

    def along_arc(
        self, factor: float, steps: int, branch: tuple[Equilibrium, Floats] | None = None
    ) -> Iterator[Equilibrium]:
        """Equilibria along the path, also where the load factor falls, until it reaches ``factor``, or this much the
        other way; that at zero first.

        The first step raises the load factor by a part ``steps`` of the whole; later ones are as long, where Newton's
        iteration is quick, and up to twice as long where nothing bends. branch : a state near a bifurcation and the
        mode (n_v,) along which another path leaves it, which is followed instead.
        """
        sense, longest = np.sign(factor), 2.0 / steps
        if branch is None:
            self.arc = PathMeasure(self.statics, abs(factor))
            state = self.begin()
            yield state
            tangent = self.direction(state, None, sense)
            length = self.arc.length(tangent) / max(abs(tangent.load), 1e-12) * abs(factor) / steps
        else:
            state, tangent, length = self._on_branch(*branch, longest, factor)
            yield state
        assert self.arc is not None
        first = state if branch is None else branch[0]
        for _ in range(MOST_STATES * steps):
            length = min(length, longest)
            while True:
                try:
                    new, ahead = self.followed(state, tangent, length, TOGETHER * longest)
                    break
                except SolveError:
                    self.statics.advanced(state.found.q)
                    length *= 0.5
                    if length < SHORTEST * longest:
                        raise
            for end in (factor, -factor):
                if (arrived := self._arrived((state, tangent), (new, ahead), length, end)) is not None:
                    self.returned = end != factor
                    yield self.raised(arrived, end)
                    return
            self.returned = self._passes(first, state, new)
            length *= float(np.clip(np.sqrt(QUICK / max(1, new.found.iterations)), 0.5, 1.5))
            self.turned, state, tangent = tangent.load * ahead.load < 0.0, new, ahead
            yield state
            if self.returned:
                return

    def _passes(self, first: Equilibrium, state: Equilibrium, new: Equilibrium) -> bool:
        """Whether a step passes the first state of its path again, as on a path that is closed or turns back."""
        assert self.arc is not None
        if first is state:
            return False
        way, back = self.statics.twin.tangents(state.found.q, np.stack([new.found.q, first.found.q]) - state.found.q)
        weights, size = self.arc.weights, float(way @ (self.arc.weights * way))
        if size <= STILL**2:
            return False
        part = float(back @ (weights * way)) / size
        beside, load = back - part * way, state.load + part * (new.load - state.load) - first.load
        near = float(beside @ (weights * beside)) <= BESIDE**2 * size
        return 0.0 < part <= 1.0 and near and abs(load) <= BESIDE * abs(new.load - state.load)

    def _arrived(
        self, start: tuple[Equilibrium, PathTangent], end: tuple[Equilibrium, PathTangent], length: float, factor: float
    ) -> Equilibrium | None:
        """A state of a step as stable as where the load factor is ``factor`` first; None where it is not in the step,
        also not at a limit point within."""
        assert self.arc is not None
        (state, tangent), (new, ahead), sense = start, end, np.sign(factor)
        if sense * new.load < abs(factor):
            size = abs(tangent.along(self._way(state, new))) / max(tangent.size, 1e-300)
            rise, fall, change = (sense * x for x in (tangent.slope * size, ahead.slope * size, new.load - state.load))
            # where both tangents meet: no load of the step is above it
            if not (rise > 0.0 > fall and sense * state.load + rise * (change - fall) / (rise - fall) >= abs(factor)):
                return None
        before, low, high, gap = state, 0.0, 1.0, length / self.arc.length(tangent)
        found: Equilibrium | None = new if sense * new.load >= abs(factor) else None
        while (found is None or found.negative != before.negative) and high - low > SHORTEST:
            part = 0.5 * (low + high)
            middle = self.step(state, tangent, part * gap)
            if sense * middle.load >= abs(factor):
                high, found = part, middle
            elif sense * self.direction(middle, tangent, 0.0).load > 0.0:
                low, before = part, middle
            else:
                high = part
        self.statics.advanced((new if found is None else found).found.q)
        return found

    def _way(self, state: Equilibrium, new: Equilibrium) -> Floats:
        """Displacements and rotations (n_v,) from one state to another one nearby, to first order."""
        result: Floats = self.statics.twin.tangents(state.found.q, (new.found.q - state.found.q)[None])[0]
        return result

    def _on_branch(
        self, state: Equilibrium, mode: Floats, longest: float, factor: float
    ) -> tuple[Equilibrium, PathTangent, float]:
        """A state on the path that leaves a bifurcation along a mode, the tangent there, and the length of a step; its
        load factor is within the last one."""
        assert self.arc is not None
        along = PathTangent(mode, 0.0, self.arc.weights, self.arc.of_load)
        along, length, twin = replace(along, x=mode / along.size), OF_BRANCH * longest, self.statics.twin
        while True:
            # the stiffness has no inverse along the mode before the structure has moved along it
            moved = replace(state.found, q=twin.retract(state.found.q, length * along.x, 1.0))
            try:
                found = self.statics.solve(moved, state.load, Briefly(self.spin2), along, 0.0, self._held(state))
                self.statics.advanced(found.q)
                new = self.judged(self._counted(found))
                ahead = self.direction(new, along, 0.0)
                if abs(new.load) <= abs(factor) and ahead.along(along.x) >= np.cos(TURN) * ahead.size:
                    return new, ahead, length
            except SolveError:
                pass
            self.statics.advanced(state.found.q)
            length *= 0.5
            if length < SHORTEST * longest:
                raise SolveError(f"no path along the mode leaves the load factor {state.load:.6g}")

    def followed(
        self, state: Equilibrium, tangent: PathTangent, length: float, together: float
    ) -> tuple[Equilibrium, PathTangent]:
        """The next equilibrium on the path and the tangent there. Raises SolveError where a shorter step is needed.

        At a limit point one eigenvalue changes its sign, elsewhere those of modes; several in a step longer than
        ``together``, or none at a limit point, are those of another path.
        """
        assert self.arc is not None
        gap = length / self.arc.length(tangent)
        new = self.step(state, tangent, gap)
        ahead = self.direction(new, tangent, 0.0)
        way = self._way(state, new)
        change, size = new.load - state.load, float(np.sqrt(way @ (self.arc.weights * way)))
        if not self.arc.follows(tangent, way, change, ahead):
            raise SolveError("the path turns within a step")
        if abs(change - tangent.slope * size) > STRAIGHT * abs(tangent.slope) * size:
            # the slopes at the ends do not tell of a fall between them
            middle = self.step(state, tangent, 0.5 * gap)
            wanted = 0.5 * change + 0.125 * size * (tangent.slope - ahead.slope)
            numbers = sorted((state.negative, middle.negative, new.negative))
            if numbers[1] != middle.negative or not self.arc.agree(
                middle.load - state.load, wanted, size, tangent, ahead
            ):
                raise SolveError("the load factor rises and falls within a step")
            self.statics.advanced(new.found.q)
        limit = tangent.load * ahead.load < 0.0 and new.negative != NOT_JUDGED
        if length > together and not int(limit) <= abs(new.negative - state.negative) <= 1:
            raise SolveError("eigenvalues of the stiffness change their sign that the path does not account for")
        return new, ahead

    def direction(self, state: Equilibrium, before: PathTangent | None, sense: float) -> PathTangent:
        """The tangent to the path at an equilibrium."""
        assert self.arc is not None
        tangent = self.arc.tangent(state.found, self._held(state), before)
        if before is None and sense * tangent.load < 0.0:
            tangent = replace(tangent, x=-tangent.x, load=-tangent.load)
        return tangent

    def step(self, state: Equilibrium, tangent: PathTangent, length: float, patient: bool = False) -> Equilibrium:
        """The equilibrium in the plane at a distance along the tangent. patient : by many iterations, as it takes near
        a bifurcation."""
        of = NoShift(self.spin2) if patient else Briefly(self.spin2)
        found = self.statics.solve(state.found, state.load, of, tangent, length, self._held(state))
        self.statics.advanced(found.q)
        return self.judged(self._counted(found))

    def _held(self, state: Equilibrium) -> NeutralMotions | None:
        """The neutral motions of a state, which the load must not change. Raises SolveError."""
        if self.spin2:
            return None
        neutral = self.stiffness.unmoved(state.found, state.load + 1.0)
        if neutral is None:
            raise SolveError(
                "arc length: the load acts along a motion without stiffness; hold it, or leave out arc length"
            )
        return neutral
