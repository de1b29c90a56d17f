"""Motions and momenta that a model knows: rigid motions of its structures that nothing resists, and what stays.

Items declare what they notice (``femb.elements.item.Item.symmetry``); nothing is measured. A structure is what hangs
together by beams, shells, springs and joints, without what is fixed. Source: docs/theory/known_motions.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import listed, numbered, vector, without_rounding
from femb.elements.item import Item
from femb.layout.connections import groups_of
from femb.layout.symmetry import (
    SAME,
    TRANSLATIONS,
    Surroundings,
    Symmetry,
    about,
    intersection,
    nullity,
    of_directions,
    twists,
)
from femb.numerics import rotations
from femb.numerics.components import norm

if TYPE_CHECKING:
    from femb.system.system import System


# Beginnings of names of what acts as a load.
LOADS = ("loads.", "gravity")


@dataclass(frozen=True, eq=False)
class KnownStructure:
    """A structure of moving ``frames``, and what acts on it from its surroundings: ``limits``, symmetries by names of
    items.

    grounded : whether joints, springs or elements connect it with what is fixed. centre (3,), size (m) : the mean place
    of its frames, and the farthest distance from there. silent : names of items that do not say what they notice. more
    (i, 6) : twists that nothing notices in this state alone: those of what rests, or of a steady rotation, which its
    items notice one by one, but not together, as bearings of equal springs across; else None.
    """

    label: str
    frames: tuple[int, ...]
    grounded: bool
    limits: tuple[tuple[str, Symmetry], ...]
    silent: tuple[str, ...]
    centre: Floats
    size: float
    more: Floats | None = None

    @cached_property
    def motions(self) -> Floats:
        """(k, 6) twists that nothing notices, with respect to the origin of the layout."""
        found = self._common([symmetry.motions for _, symmetry in self.limits])
        return found if self.more is None else self._from_own(self._sum(found, self.more))

    @property
    def at_rest(self) -> "KnownStructure":
        """The structure with the motions that nothing notices while all rests."""
        if not any(len(each.at_rest) for _, each in self.limits):
            return self
        spaces = (self._sum(each.motions, each.at_rest) for _, each in self.limits)
        return replace(self, more=self._from_own(intersection([np.eye(6), *spaces])))

    @property
    def shifted(self) -> "KnownStructure":
        """The structure with its translations alone, which its own motion does not change, and without momenta."""
        return replace(self, limits=(*self.limits, ("", Symmetry(TRANSLATIONS, np.zeros((0, 6))))), more=None)

    def _sum(self, *spaces: Floats) -> Floats:
        """(k, 6) own twists of the sum of spaces of twists (j, 6)."""
        return nullity(nullity(np.vstack([self.own(space) for space in spaces])))

    @cached_property
    def momenta(self) -> Floats:
        """(j, 6) twists whose momenta nothing changes: the sum of momentum times velocity and of the angular momentum
        about the origin times the angular velocity."""
        return self._common([symmetry.momenta for _, symmetry in self.limits])

    @cached_property
    def kept(self) -> Floats:
        """(i, 6) twists that nothing notices and whose momenta nothing changes."""
        return self._common([self.motions, self.momenta])

    @cached_property
    def boosts(self) -> Floats:
        """(b, 6) translations at any constant velocity that nothing notices."""
        if not all(symmetry.at_speed for _, symmetry in self.limits):
            return np.zeros((0, 6))
        return self._common([self.motions, twists(np.eye(3))])

    def _common(self, spaces: Iterable[Floats]) -> Floats:
        return self._from_own(intersection([np.eye(6), *map(self.own, spaces)]))

    def moves(self, system: "System", q: Floats, twists: Floats) -> Floats:
        """(n_v, k) displacements of its frames at q (n_q,) by twists (k, 6)."""
        moves = np.zeros((system.n_v, len(twists)))
        layout = system.layout
        own = [int(layout.frame_v[k]) + i for k in self.frames for i in range(layout.frames[k].freedom)]
        moves[own] = (twists @ system.rigid_velocities(q)).T[own]
        return moves

    def screw(self, system: "System", q: Floats, v: Floats) -> Floats:
        """(6,) the twist of its motion at a state q, v, by its first frame that has axes; zero without one."""
        for k in self.frames:
            i, j = system.layout.frame_q[k], system.layout.frame_v[k]
            if system.layout.frames[k].freedom == 6:
                omega = rotations.rotate(q[i + 3 : i + 7], v[j + 3 : j + 6])
                return np.append(v[j : j + 3] + np.cross(q[i : i + 3], omega), omega)
        return np.zeros(6)

    def own(self, motions: Floats) -> Floats:
        """(k, 6) orthonormal twists about the centre, with lengths in its size, of twists (k, 6) about the origin."""
        if not len(motions):
            return motions
        moved = about(motions, self.centre) / np.repeat([self.size, 1.0], 3)
        return np.asarray(np.linalg.qr(moved.T)[0].T)

    def _from_own(self, motions: Floats) -> Floats:
        moved = self.size * motions[:, :3] - rotations.cross(motions[:, 3:], self.centre)
        return np.hstack([moved, motions[:, 3:]])

    def resting_in(self, omega: Floats, point: Floats, motions: Floats) -> Floats:
        """(k, 6) those of its motions (j, 6) that stay what they are in axes that turn at omega (3,) about a point
        (3,): along the axis, and about it; at rest all."""
        if not np.any(omega):
            return motions
        axis = omega[None] / np.linalg.norm(omega)
        return self._common([motions, twists(axis, axis, point)])

    def turned_by(self, omega: Floats, point: Floats) -> Floats:
        """(k, 6) the other motions, which such axes see turn: a basis across the ones that stay."""
        own = self.own(self.resting_in(omega, point, self.motions))
        return self._from_own(intersection([self.own(self.motions), nullity(own)]))

    def leaves(self, motion: Floats) -> bool:
        """Whether nothing notices a twist (6,)."""
        return not self.against(motion)

    def against(self, motion: Floats) -> tuple[str, ...]:
        """Names of what notices a twist (6,)."""
        noticing = (name for name, symmetry in self.limits if not self.contains(symmetry.motions, motion[None]))
        return (*noticing, *self.silent)

    def contains(self, space: Floats, motions: Floats) -> bool:
        """Whether a space of twists (k, 6) has others (j, 6), independent ones, in it."""
        if not len(motions) or len(space) == 6 or len(motions) > len(space):
            return len(motions) <= len(space)
        space, motions = self.own(space), self.own(motions)
        return bool(np.all(np.linalg.norm(motions - motions @ space.T @ space, axis=1) <= SAME))

    @property
    def noticed_by(self) -> tuple[str, ...]:
        """Names of what notices some rigid motion."""
        return (*(name for name, symmetry in self.limits if len(symmetry.motions) < 6), *self.silent)

    @property
    def changed_by(self) -> tuple[str, ...]:
        """Names of what may change some momentum."""
        return (*(name for name, symmetry in self.limits if len(symmetry.momenta) < 6), *self.silent)

    def values(self, origin: Floats) -> dict[str, Any]:
        """Motions and momenta as twists about the origin of the model, and names; origin (3,) : of the layout, m."""
        return {
            "label": self.label,
            "motions": about(self.motions, -origin),
            "momenta": about(self.momenta, -origin),
            "noticed_by": self.noticed_by,
            "changed_by": self.changed_by,
        }

    def text(self, origin: Floats, wheels: bool = False) -> str:
        """Two lines: the free motions and the momenta that stay, each with what takes the others away.

        Small motions that forces at rest leave free, as the turn of a shaft in bearings, are said beside them, without
        loads. origin (3,) : of the layout, m. wheels : whether the momenta are with those of wheels.
        """
        moves = self._moves(self.motions, origin)
        still = replace(self, limits=tuple(each for each in self.limits if not each[0].startswith(LOADS)))
        small = still.at_rest.motions if any(len(each.at_rest) for _, each in self.limits) else self.motions
        if len(small) > len(self.motions):
            beside = f"small ones without loads: {', '.join(self._moves(small, origin))}"
        else:
            beside = ""
        shifts, turns, along, about = self._in_words(self.momenta, origin)
        stay = [f"linear{along}"] if shifts else []
        stay += [f"angular{' with that of wheels' * wheels}{about}"] if turns else []
        lines = (
            ("free motions", moves, "noticed", self.noticed_by),
            ("conserved momenta", stay, "changed", self.changed_by),
        )
        first, second = (
            f"{what} of {self.label}: {', '.join(found) or 'none'}"
            + (f"{'; others' if found else ','} {verb} by {listed(names)}" if names else "")
            for what, found, verb, names in lines
        )
        return "\n".join(["; ".join(filter(None, (first, beside))), second])

    def _moves(self, space: Floats, origin: Floats) -> list[str]:
        """Translations and rotations of a space of twists (k, 6), in words."""
        shifts, turns, along, about = self._in_words(space, origin)
        moves = [f"{numbered(shifts, 'translation')}{along}"] if shifts else []
        return moves + ([f"{numbered(turns, 'rotation')}{about}"] if turns else [])

    def _in_words(self, space: Floats, origin: Floats) -> tuple[int, int, str, str]:
        """Numbers of translations and of rotations in a space of twists (k, 6), and their directions."""
        own = self.own(space)
        if not len(own):
            return 0, 0, "", ""
        parts, sizes, _ = np.linalg.svd(own[:, 3:])
        turns = int(np.sum(sizes > SAME))
        shifts, turning = parts.T[turns:] @ own[:, :3], parts.T[:turns] @ own
        # the velocity at a point at d from the centre, u + w x d, is zero but for what translations can undo
        fixed = nullity(shifts)
        conditions = np.vstack([fixed @ rotations.cross_matrix(w) for w in turning[:, 3:]] or [np.zeros((0, 3))])
        apart, *_ = np.linalg.lstsq(conditions, -(turning[:, :3] @ fixed.T).ravel(), rcond=SAME)
        about = self._directions(turning[:, 3:], "about")
        if np.any(np.abs(conditions) > SAME):
            point = self.centre + self.size * apart + origin
            if turns == 1:
                axis = turning[0, 3:] / sizes[0]
                point = point - (axis @ point) * axis
                rise = 2.0 * np.pi * self.size * (axis @ (turning[0, :3] / sizes[0])) if len(fixed) == 3 else 0.0
                about += f" with {rise:.6g} m a turn" if abs(rise) > SAME * self.size else ""
            about += f" through {vector(without_rounding(point, max(self.size, norm(point))))} m"
        return len(shifts), turns, self._directions(shifts, "along"), about

    @staticmethod
    def _directions(directions: Floats, word: str) -> str:
        """The direction along or about which one of them is, or across which two are."""
        if len(directions) not in (1, 2):
            return ""
        axis = directions[0] if len(directions) == 1 else np.cross(*directions)
        axis = axis * np.sign(axis[int(np.argmax(np.abs(axis)))]) / np.linalg.norm(axis)
        return f" {word if len(directions) == 1 else 'across'} {vector(without_rounding(axis, 1.0))}"


def is_load(item: Item) -> bool:
    """Whether it does not count where loads do not."""
    return item.table == "loads"


def known_motions(
    system: "System",
    q: Floats | None = None,
    fixed: Iterable[int] = (),
    loaded: bool = True,
    discrete: Mapping[str, Any] | None = None,
    u: Floats | None = None,
) -> tuple[KnownStructure, ...]:
    """The structures of a system at q (n_q,), by default its start, with what acts on each.

    fixed : frames that are held, beside those of the ground. loaded : whether weight and loads count. discrete : the
    discrete state, by default that of the start. u (n_u,) : inputs, by which loads that are zero do not count.
    """
    layout, model, q = system.layout, system.model, system.q0 if q is None else q
    still = frozenset(fixed) | {k for k, frame in enumerate(layout.frames) if not frame.freedom}
    around = Surroundings(layout, model, q, still, system.discrete if discrete is None else discrete)
    if u is not None:
        zeros = frozenset(each.label for each, part in system.inputs.parts if not u[part].any())
        around = replace(around, zeros=zeros)
    links = [set(frames) for frames, _ in layout.couplings]
    links += [set(row) for row in layout.rows]
    touched = {k for link in links if link & still for k in link}
    acting = []
    # without loads what is a function of the state still acts
    functions = [each for batch in system.batches for each in batch.inputs]
    forceful = with_forces(system)
    for item in system.items:
        symmetry, label = item.symmetry(around), f"{item.table}.{item.name}."
        if symmetry is None and not (item.changes_momenta or id(item) in forceful or item.constraint_rows(layout)):
            continue  # it measures, commands or is a field: what acts says what it notices
        acts = any(each.of_state and each.label.startswith(label) for each in functions)
        if not loaded and not acts and (is_load(item) or (symmetry is None and item.changes_momenta)):
            continue
        if symmetry is None or not symmetry.whole:
            acting.append((f"{item.table}.{item.name}", set(item.frames(layout)), symmetry))
    if loaded and np.any(model.gravity):
        acting.append(("gravity", set(), of_directions([np.asarray(model.gravity, dtype=float)])))
    result = []
    for group in groups_of(layout, joined=True, without=still):
        own = set(group)
        places = np.array([q[i : i + 3] for i in layout.frame_q[group]])
        centre = places.mean(axis=0)
        size = float(np.linalg.norm(places - centre, axis=1).max()) or layout.extent or 1.0
        limits = [(name, symmetry) for name, on, symmetry in acting if symmetry and (not on or on & own)]
        silent = tuple(name for name, on, symmetry in acting if symmetry is None and (not on or on & own))
        label = layout.frames[group[0]].label
        result.append(KnownStructure(label, tuple(group), bool(touched & own), tuple(limits), silent, centre, size))
    return tuple(result)


def with_forces(system: "System") -> set[int]:
    """The identities of items that have forces; others measure, command, or are fields."""
    owners = zip(system.items_of_batches, system.evaluation.forces, strict=True)
    return {id(item) for some, forces in owners if forces for item in some}


def check_said(structures: Iterable[KnownStructure]) -> None:
    """Refuse items that do not say what they notice, where something is left to them."""
    for structure in structures:
        if structure.silent and (len(structure.motions) or len(structure.momenta)):
            raise ModelError(
                f"{structure.silent[0]} does not say which rigid motions it leaves to {structure.label!r}: "
                "give its class a method 'symmetry', or turns_with_host = True where its forces turn with what it acts "
                "on, as docs/howto/extend.md shows"
            )
