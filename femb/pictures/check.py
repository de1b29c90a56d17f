"""Checks of figures against a model, without results: unknown figures, quantities, items and frames."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from femb.base.errors import ModelError, Problem
from femb.base.quantity import Group
from femb.elements.beam.line import LineItem
from femb.elements.body.results import BodyResults
from femb.elements.item import Item
from femb.pictures.choice import is_name, listed, problem_of, split
from femb.pictures.sheets import FIGURES
from femb.pictures.subject import matches
from femb.pictures.words import words_of
from femb.results.groups import OF_NO_ITEM, groups, joined
from femb.results.names import SHORT
from femb.results.view import node_of

if TYPE_CHECKING:
    from femb.model.model import Model


def check_figures(model: "Model") -> None:
    """Raise ModelError with every problem of a model's figures."""
    problems = figure_problems(model)
    if problems:
        raise ModelError(*problems)


def figure_problems(model: "Model") -> list[Problem]:
    """Unknown figures, quantities, items and frames in the figures of a model."""
    result: list[Problem] = []
    for figure in model.figures.values():
        if not isinstance(figure.what, tuple):
            continue  # from a case file, and reported as a problem there
        problems = [("what", str(k), text, what_problem(model, text)) for k, text in enumerate(figure.what)]
        problems += [("items", str(k), text, item_problem(model, text)) for k, text in enumerate(figure.items)]
        problems.append(("frame", "", figure.frame, frame_problem(model, figure.frame)))
        for field, number, given, problem in problems:
            if problem is not None:
                path = (figure.table, figure.name, *filter(None, (field, number)))
                result.append(Problem(path, f"got {given!r}: {problem}"))
    return result


def what_problem(model: "Model", text: str) -> str | None:
    """Why a text of a figure shows nothing of a model; None if it is valid."""
    for part in text.split(" | "):
        name, items = split(part)
        for item in items:
            problem = item_problem(model, item)
            if problem:
                return problem
        problem = _path_problem(model, name) if "/" in name else _name_problem(model, name)
        if problem:
            return problem
    return None


def item_problem(model: "Model", pattern: str) -> str | None:
    """Why a pattern matches no item of a model; None if it matches."""
    items = list(_items(model))
    if any(matches(pattern, kind, name, count)[0] for kind, name, count in items):
        return None
    return f"no such item; there are: {listed(dict.fromkeys(name for _, name, _ in items))}"


def frame_problem(model: "Model", frame: str) -> str | None:
    """Why a frame does not exist in a model; None if it exists."""
    bodies = ["inertial", "ground", *model.bodies]
    name, node = node_of(frame)
    if frame in bodies:
        return None
    if node is not None and name in model.beams:
        count = model.beams[name].elements + 1
        return None if -count <= node < count else f"the beam {name!r} has the nodes 0 to {count - 1}"
    return f"no such frame; there are: {listed([*bodies, *(f'{beam}[NODE]' for beam in model.beams)])}"


def _path_problem(model: "Model", path: str) -> str | None:
    parts = path.split("/")
    kind, word = parts[0], parts[-1].partition("[")[0]
    known = _words_of(model)
    if kind == "audit" and len(parts) == 2:
        return None if word in known[kind] else f"audit has no {word!r}; there are: {listed(known[kind])}"
    if kind == "audit" or (kind not in known and kind not in groups()) or len(parts) < 3:
        kinds = listed(kind for kind in groups() if kind != "audit")
        return f"no such path; paths are KIND/NAME/QUANTITY with a kind of {kinds}, or audit/QUANTITY"
    words = known[kind] if kind in known else words_of(kind, groups()[kind])
    if not ("*" in word or "?" in word or word in words):
        return f"{kind} have no {word!r}; there are: {listed(words)}"
    return item_problem(model, "/".join(parts[:-1]))


def _name_problem(model: "Model", name: str) -> str | None:
    """Why a text is neither a figure, nor a quantity, nor the name of a quantity of an item; None if it is."""
    places = [*((kind, item) for kind, item, _ in _items(model)), ("audit", "audit")]
    words = _words_of(model)
    known = {word for of_kind in words.values() for word in of_kind}
    if name in FIGURES or name.partition(".")[0] in known:
        return None
    rests = [
        (kind, name.removeprefix(start).split("."))
        for kind, item in places
        for start in (f"{item}.", f"{kind}.{item}.")
        if name.startswith(start)
    ]
    if not rests and not is_name(name):
        return problem_of(name)
    if not rests:
        listing = listed(dict.fromkeys(item for _, item in places))
        return f"no such item; wanted ITEM.QUANTITY with one of: {listing}"
    # coordinates of joints have names of their own
    if any(kind == "joints" or any(part in known or part in SHORT for part in rest[:2]) for kind, rest in rests):
        return None
    kind = rests[0][0]
    return f"{kind} have no {rests[0][1][0]!r}; there are: {listed(words[kind])}"


def _words_of(model: "Model") -> dict[str, list[str]]:
    """The words of the quantities of a model by table: those of all tables would import the classes of all items."""
    kinds: dict[str, dict[type[Item], None]] = {}
    for item in model.items():
        kinds.setdefault(item.table, {})[type(item)] = None
    found = {table: joined(tuple(kind.results for kind in of_table)) for table, of_table in kinds.items()}
    found = {**{"bodies": BodyResults}, **found, **OF_NO_ITEM}
    return {table: words_of(table, group) for table, group in found.items() if group is not Group}


def _items(model: "Model") -> Iterator[tuple[str, str, int]]:
    """Kind, name and number of nodes of every item that results may contain."""
    yield "bodies", "ground", 0
    for item in model.items():
        if item.results is not Group:
            yield item.table, item.name, item.elements + 1 if isinstance(item, LineItem) else 0
    for item in model.items():  # an appendage has the name of what connects it
        if item.deforms or item.table in ("joints", "springs"):
            yield "appendages", item.name, 0
