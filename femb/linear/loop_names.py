"""Names of the states of a control loop, and of the items that have most of its modes."""

from collections.abc import Iterable, Sequence

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import absent
from femb.elements.control.linear_law import LinearLaw
from femb.linear.state_space import StateSpace

# Of the largest share in a mode: an item with less does not name it.
NAMING = 0.8


def six_of(body: str) -> tuple[str, ...]:
    """The names of the displacements of a body, such as bodies.hub."""
    return tuple(f"{body}.{turn}{axis}" for turn in ("", "turn_") for axis in "xyz") if "bodies." in body else ()


def place_of(names: Sequence[str], name: str, of: str = "loop") -> int:
    """Index of a state, of what messages name ``of``. Raises ModelError: an unknown name."""
    if name not in names:
        raise ModelError(f"{of}: no state {absent(name, names)}")
    return names.index(name)


def item_of(name: str) -> str:
    """The item of a name, as bodies.hub of bodies.hub.turn.x."""
    return ".".join(name.removesuffix(" rate").split(".")[:2])


def label(states: Sequence[str], shares: Floats, without: Iterable[str] = ()) -> str:
    """The items that have most of a mode, by their shares (n,) of its states; not those ``without``, if others do."""
    of_items: dict[str, float] = {}
    for name, share in zip(states, shares, strict=True):
        of_items[item_of(name)] = of_items.get(item_of(name), 0.0) + float(share)
    others = {name: share for name, share in of_items.items() if name not in set(without) and share > 1e-6}
    of_items = others or of_items
    most = max(of_items.values())
    return ", ".join(name for name, share in of_items.items() if share >= NAMING * most)


def loop_states(plant: StateSpace, laws: Sequence[LinearLaw], queues: Sequence[int]) -> list[str]:
    names = list(plant.states)
    names += [f"controllers.{law.name}.held {name}" for law in laws for name in law.outputs]
    names += [name for law in laws for name in law.states]
    for law, count in zip(laws, queues, strict=True):
        names += [f"controllers.{law.name}.waiting {k + 1} {name}" for k in range(count) for name in law.outputs]
    return names
