"""Subject: the results of a figure, the items it shows, and their rows of panels."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from femb.base.quantity import Group
from femb.base.types import Floats, Ints
from femb.elements.beam.results import BeamResults
from femb.elements.body.results import BodyResults
from femb.pictures.drawing import LEGEND_LIMIT, Panel
from femb.pictures.words import Channel, channels, words
from femb.results.names import fits, full_names
from femb.results.results import Results
from femb.results.view import node_of

# Values that never exceed this part of the numbers whose difference they are, are drawn as zero: a thousand rounding
# errors, as accumulated by the steps of a run.
LIMIT = 1e3 * float(np.finfo(float).eps)


class Scales:
    """The sizes of the numbers whose differences the quantities of some results are, by ``scale`` of a `Word`."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._sizes: dict[str, float] = {}

    def of(self, name: str, values: Floats) -> float:
        """The size by name, at least that of the ``values`` to be drawn, which is the scale of an empty name."""
        size = _largest(values)
        return max(size, self[name]) if name else size

    def __getitem__(self, name: str) -> float:
        if name not in self._sizes:
            endings = tuple(f"/{word}" for word in RECORDED.get(name, ()))
            arrays = self._results.arrays
            recorded = (_largest(arrays[path]) for path in arrays if path.endswith(endings))
            self._sizes[name] = max(COMBINED[name](self) if name in COMBINED else 0.0, *recorded, 0.0)
        return self._sizes[name]


# Scales: the largest of recorded quantities, and of combinations of other scales.
RECORDED = {
    "length": ("position", "element_length"),
    "speed": ("velocity",),
    "angular_speed": ("angular_velocity",),
    "acceleration": ("acceleration",),
    "angular_acceleration": ("angular_acceleration",),
    # forces of joints, springs and loads balance one another
    "force": ("force", "section_force"),
    "torque": ("torque", "section_moment"),
    "kinetic": ("kinetic_energy",),
    "energy": ("kinetic_energy", "potential_energy", "work"),
    "momentum": ("linear_momentum",),
    "angular_momentum": ("angular_momentum",),
}
COMBINED: dict[str, Callable[[Scales], float]] = {
    "one": lambda scales: 1.0,  # pure numbers and angles
    "torque": lambda scales: scales["force"] * scales["length"],
    # A lower bound of the sum of the magnitudes of the momenta of all parts: with v for the largest speed,
    # m v_i >= m v_i^2 / v for each part, so that the sum is at least 2 T / v.
    "momentum": lambda scales: 2.0 * scales["kinetic"] / scales["speed"] if scales["speed"] > 0.0 else 0.0,
    "angular_momentum": lambda scales: scales["momentum"] * scales["length"],
    # equations of constraint: positions in m, directions in 1
    "constraint": lambda scales: max(1.0, scales["length"]),
    "constraint_rate": lambda scales: max(scales["speed"], scales["angular_speed"] * scales["constraint"]),
}


def _largest(values: Floats) -> float:
    if values.dtype.kind not in "fiu":
        return 0.0
    return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))


Rows = list[list[Panel]]
Chosen = tuple[str, Group, int | None]  # kind, group, node of a beam

COORDINATES = ("coordinates", "rates", "accelerations", "value")
CURVES = 2 * LEGEND_LIMIT  # items in one panel that can be distinguished
NODES = 40  # nodes in one panel, distinguished by their order


class Subject:
    """Results relative to a frame, and the patterns of the items to show; none for all.

    A pattern is ``NAME``, ``KIND/NAME`` or, for a beam's nodes, ``NAME[NODE]`` or ``NAME[*]``; in NAME, ``*`` and
    ``?`` stand for any characters. ``scales`` are those of the original results, in any frame.
    """

    def __init__(self, results: Results, items: Sequence[str] = (), scales: Scales | None = None) -> None:
        self.results = results
        self.items = tuple(items)
        self.scales = scales or Scales(results)

    def only(self, items: Sequence[str]) -> "Subject":
        """The subject with other items."""
        return Subject(self.results, items, self.scales)

    def of(self, kind: str) -> list[Group]:
        """Chosen items of a kind, in the order of the model."""
        return list({id(group): group for _, group, _ in self.chosen((kind,))}.values())

    def chosen(self, kinds: Iterable[str]) -> list[Chosen]:
        """Chosen items of some kinds, in the order of the patterns, each with a node if one is named."""
        chosen: list[Chosen] = []
        for pattern in self.items or ("*",):
            for kind in kinds:
                if kind == "audit":
                    chosen += [("audit", self.results.audit, None)] if not self.items else []
                    continue
                for name, group in self.results.of_table(kind).items():
                    matched, indices = matches(pattern, kind, name, _count(group))
                    if not matched or (not self.items and isinstance(group, BodyResults) and group.fixed):
                        continue
                    chosen += [(kind, group, node) for node in (indices or (None,))]
        return list({(kind, group.name, node): (kind, group, node) for kind, group, node in chosen}.values())

    def clean(self, values: Floats, scale: str) -> Floats:
        """Values (T, k) with zeros for columns of rounding errors."""
        largest = np.max(np.abs(values), axis=0, initial=0.0, where=np.isfinite(values))
        return np.where((largest <= LIMIT * self.scales.of(scale, values)) & np.isfinite(values), 0.0, values)

    def panel(self, title: str, channel: Channel, positions: Ints | None = None, order: str = "") -> Panel:
        """The components of one channel as curves."""
        values, components = self.clean(channel.values, channel.scale), list(channel.components)
        if len(components) > CURVES:
            most = np.sort(np.argsort(-np.ptp(values, axis=0), kind="stable")[:CURVES])
            title = f"{title} (the {CURVES} of {len(components)} that change most)"
            values, components = values[:, most], [components[k] for k in most]
        return Panel(title, channel.quantity, channel.unit, values, components, positions, order)

    def rows(self, word: str, component: str = "", kinds: Sequence[str] = ()) -> Rows:
        """Rows of a quantity of the chosen items, or of one component of it; kinds : of these alone, as ("audit",).

        A single item has its components in one panel. With several items each component has a panel, with the items
        as curves; numbers have one panel for all items of the same unit.
        """
        known = words()
        kinds = kinds or (known[word].kinds if word in known else (*self.results.tables, "audit"))
        selected: list[Channel] = []
        chosen = self.chosen(kinds)
        tables = Counter(name for _, name in {(kind, group.name) for kind, group, _ in chosen})
        for kind, group, node in chosen:
            node = _shown_node(group, word, node)
            ends_only = kind == "beams" and node is None
            found = self.element_ends(group, word) if ends_only else channels(kind, group, word, node)
            table = f"{kind}." if tables[group.name] > 1 else ""
            selected += [replace(each, item=table + each.item) for each in found]
        if component:
            selected = [part for channel in selected for part in [channel.only(component)] if part is not None]
        alike: dict[tuple[str, str, int], list[Channel]] = {}
        for channel in selected:
            width = 1 if word in COORDINATES else len(channel.components)
            alike.setdefault((channel.quantity, channel.unit, width), []).append(channel)
        return [self._together(word, together, width) for (_, _, width), together in alike.items()]

    def _together(self, word: str, together: list[Channel], width: int) -> list[Panel]:
        """A row of channels of the same quantity and unit."""
        first = together[0]
        if len(together) == 1:
            return [self.panel(first.title, first)]
        if width == 1:
            columns = [(channel, k) for channel in together for k in range(len(channel.components))]
            title = ", ".join(filter(None, (word.replace("_", " "), first.part)))
            return [self._items(title, first, columns)]
        return [
            self._items(f"{first.quantity}, {part}", first, [(channel, k) for channel in together])
            for k, part in enumerate(first.components)
        ]

    def _items(self, title: str, first: Channel, columns: list[tuple[Channel, int]]) -> Panel:
        """Columns of several channels as curves with the names of the items."""
        if len(columns) > CURVES:
            title, columns = f"{title} (the first {CURVES} of {len(columns)})", columns[:CURVES]
        values = np.stack([channel.values[:, k] for channel, k in columns], axis=1)
        scalar = len({channel.item for channel, _ in columns}) == len(columns)
        labels = [
            channel.item if scalar or not channel.components[k] else f"{channel.item}, {channel.components[k]}"
            for channel, k in columns
        ]
        return Panel(title, first.quantity, first.unit, self.clean(values, first.scale), labels)

    def element_ends(self, group: Group, word: str) -> list[Channel]:
        """Channels of the components of a quantity (T, e, 2) or (T, e, 2, 3) at both ends of all elements of a beam."""
        if word not in group:
            return []
        values, known = group[word], words().get(word)
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


def matches(pattern: str, kind: str, name: str, count: int) -> tuple[bool, list[int]]:
    """Whether a pattern matches an item, and the nodes it names, counted from 0; count: nodes of a beam, else 0.

    A pattern equal to a name matches it, so that names may contain brackets.
    """
    for full in full_names(f"{kind}/{name}"):
        if fits(full, pattern):
            return True, []
        if not count:
            continue
        if pattern.endswith("[*]") and fits(full, pattern.removesuffix("[*]")):
            return True, list(map(int, some(count)))
        stem, node = node_of(pattern)
        if node is not None and fits(full, stem) and -count <= node < count:
            return True, [node % count]
    return False, []


def _shown_node(group: Group, word: str, node: int | None) -> int | None:
    """The node whose values of a quantity are shown: of one of nodes the last, unless another is named; of one of
    elements none, but of a beam the named one, at which its elements end."""
    declared = type(group).quantities().get(word)
    of = declared.sizes[1:2] if declared is not None and group.of_nodes else []
    if of == ["n"]:
        return _count(group) - 1 if node is None else node
    return node if isinstance(group, BeamResults) else None


def _count(group: Group) -> int:
    """Nodes of a beam or shell, 0 for anything else."""
    return group["position"].shape[1] if group.of_nodes and "position" in group else 0


def some(count: int) -> Ints:
    """Evenly spaced indices from first to last, as many as a panel can show."""
    return np.unique(np.linspace(0, count - 1, min(count, NODES)).round().astype(int))
