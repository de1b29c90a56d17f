"""Subject: the results of a figure, which of their items it shows, and rows of panels made of channels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from femb.base.types import Floats, Ints
from femb.export.drawing import LEGEND_LIMIT, Panel
from femb.export.plots.rounding import Scales, without_noise
from femb.export.plots.words import POINTS, WORDS, Channel, channels
from femb.results.groups import GROUPS, Beam, Body
from femb.results.quantity import Group
from femb.results.results import Results
from femb.results.view import node_of

Rows = list[list[Panel]]
Chosen = tuple[str, Group, int | None]  # kind, group, node of a beam

OF_ELEMENTS = ("strain", "section_force", "section_moment")
COORDINATES = ("coordinates", "rates", "accelerations", "value")
KINDS = tuple(kind for kind in GROUPS if kind != "audit")
CURVES = 2 * LEGEND_LIMIT  # items in one panel; more would not be told apart
NODES = 40  # nodes in one panel, which are told apart by their order


class Subject:
    """Results, seen from a frame, and the patterns of the items to show; none for all.

    A pattern is ``NAME``, ``KIND/NAME`` or, for a beam's nodes, ``NAME[NODE]`` or ``NAME[*]``; in NAME, ``*`` and
    ``?`` stand for any characters. ``scales`` are those of the results as they were, whose rounding errors they have.
    """

    def __init__(self, results: Results, items: Sequence[str] = (), scales: Scales | None = None) -> None:
        self.results = results
        self.items = tuple(items)
        self.scales = scales or Scales(results)

    def only(self, items: Sequence[str]) -> Subject:
        """The same with other items."""
        return Subject(self.results, items, self.scales)

    def of(self, kind: str) -> list[Group]:
        """Chosen items of a kind, in the order of the model."""
        return list({id(group): group for _, group, _ in self.chosen((kind,))}.values())

    def chosen(self, kinds: Iterable[str], nodes: bool = False) -> list[Chosen]:
        """Chosen items of some kinds, in the order of the patterns. With ``nodes``, a beam without a node stands for
        its last one."""
        found: list[Chosen] = []
        for pattern in self.items or ("*",):
            for kind in kinds:
                if kind == "audit":
                    found += [("audit", self.results.audit, None)] if not self.items else []
                    continue
                for name, group in groups_of(self.results, kind).items():
                    hit, places = matches(pattern, kind, name, _count(group))
                    if not hit or (not self.items and isinstance(group, Body) and group.fixed):
                        continue
                    if nodes and isinstance(group, Beam) and not places:
                        places = [_count(group) - 1]
                    found += [(kind, group, node) for node in (places or (None,))]
        return list({(kind, group.name, node): (kind, group, node) for kind, group, node in found}.values())

    def clean(self, values: Floats, scale: str) -> Floats:
        """Values (T, k) without columns of rounding errors."""
        return without_noise(values, self.scales.of(scale, values))

    def panel(self, title: str, channel: Channel, place: Ints | None = None, order: str = "") -> Panel:
        """The components of one channel as curves."""
        values = self.clean(channel.values, channel.scale)
        return Panel(title, channel.quantity, channel.unit, values, list(channel.components), place, order)

    def rows(self, word: str, component: str = "") -> Rows:
        """What a word shows of the chosen items, of one component alone where it is named.

        One item has its components in one panel. Of several items each component has a panel, with the items as
        curves; numbers have one panel for all items of the same unit.
        """
        kinds = WORDS[word].kinds if word in WORDS else (*KINDS, "audit")
        points = (
            word in WORDS and set(kinds) <= set(POINTS) and word not in ("strain", "section_force", "section_moment")
        )
        found: list[tuple[str, Channel]] = []
        for kind, group, node in self.chosen(kinds, nodes=points):
            if kind == "beams" and not points:
                found += [(kind, element_end) for element_end in self.element_ends(group, word)]
            else:
                found += [(kind, channel) for channel in channels(kind, group, word, node)]
        if component:
            found = [(kind, part) for kind, channel in found for part in [channel.only(component)] if part is not None]
        rows: Rows = []
        alike: dict[tuple[str, str, int], list[tuple[str, Channel]]] = {}
        for kind, channel in found:
            width = 1 if word in COORDINATES else len(channel.components)
            alike.setdefault((channel.quantity, channel.unit, width), []).append((kind, channel))
        for (_, _, width), together in alike.items():
            rows.append(self._together(word, [each for _, each in together], width))
        return rows

    def _together(self, word: str, each: list[Channel], width: int) -> list[Panel]:
        """A row of channels of the same quantity and unit."""
        if len(each) == 1:
            return [self.panel(each[0].title, each[0])]
        if width == 1:
            columns = [(channel, k) for channel in each for k in range(len(channel.components))]
            return [self._items(", ".join(filter(None, (_named(word), each[0].part))), each[0], columns)]
        return [
            self._items(f"{each[0].quantity}, {part}", each[0], [(channel, k) for channel in each])
            for k, part in enumerate(each[0].components)
        ]

    def _items(self, title: str, like: Channel, columns: list[tuple[Channel, int]]) -> Panel:
        """One column of each of several channels as curves with the names of the items."""
        if len(columns) > CURVES:
            title, columns = f"{title} (the first {CURVES} of {len(columns)})", columns[:CURVES]
        values = np.stack([channel.values[:, k] for channel, k in columns], axis=1)
        scalar = len({channel.item for channel, _ in columns}) == len(columns)
        labels = [
            channel.item if scalar or not channel.components[k] else f"{channel.item}, {channel.components[k]}"
            for channel, k in columns
        ]
        return Panel(title, like.quantity, like.unit, self.clean(values, like.scale), labels)

    def element_ends(self, group: Group, word: str) -> list[Channel]:
        """A channel a component of a quantity at both ends of every element of a beam, (T, e, 2) or (T, e, 2, 3)."""
        if word not in group:
            return []
        values, known = group[word], WORDS.get(word)
        if known is None or values.ndim not in (3, 4):
            return channels("beams", group, word)
        elements = values.shape[1]
        labels = [f"element {i} {end}" for i in range(elements) for end in ("start", "end")]
        values = values.reshape(len(values), 2 * elements, -1)
        chosen = some(2 * elements)
        names = [labels[i] for i in chosen]
        return [
            Channel(
                f"{group.name}, {part}" if part else group.name,
                known.label,
                known.unit,
                names,
                known.factor * values[:, chosen, k],
                known.scale,
            )
            for k, part in enumerate(known.components if values.shape[-1] == 3 else [""])
        ]


def groups_of(results: Results, kind: str) -> Mapping[str, Group]:
    """The items of a kind by name."""
    result: Mapping[str, Group] = getattr(results, kind)
    return result


def matches(pattern: str, kind: str, name: str, count: int) -> tuple[bool, list[int]]:
    """Whether a pattern means an item, and the nodes it names, counted from 0; count: nodes of a beam, else 0.

    A name that stands in the pattern as it is needs no wildcards, so that names may hold brackets.
    """
    for full in (name, f"{kind}/{name}"):
        if pattern == full or (("*" in pattern or "?" in pattern) and fnmatchcase(full, pattern.replace("[", "[[]"))):
            return True, []
        if not count:
            continue
        if pattern.endswith("[*]") and _fits(full, pattern.removesuffix("[*]")):
            return True, list(map(int, some(count)))
        stem, node = node_of(pattern)
        if node is not None and _fits(full, stem) and -count <= node < count:
            return True, [node % count]
    return False, []


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))


def _count(group: Group) -> int:
    """Nodes of a beam, 0 for anything else."""
    return group["position"].shape[1] if isinstance(group, Beam) and "position" in group else 0


def _named(word: str) -> str:
    return word.replace("_", " ")


def some(count: int) -> Ints:
    """Evenly spread indices, first and last among them, as many as a panel can show."""
    return np.unique(np.linspace(0, count - 1, min(count, NODES)).round().astype(int))
