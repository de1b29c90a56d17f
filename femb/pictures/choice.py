"""Interpretation of the texts that select the content of a figure: from a text to rows of panels.

The text is one of::

    NAME                    a figure of `FIGURES` (sheets.py) or a quantity of `words` (words.py)
    NAME.COMPONENT          one component of a quantity, such as velocity.x or coordinates.first_angle
    NAME of ITEM, ITEM      the same for some items only; see `Subject` (subject.py) for patterns of items
    ITEM.QUANTITY           a quantity by its name, such as hub.position or boom.tip.deflection.z (femb.results.names)
    KIND/ITEM/QUANTITY      the path of any array of the results, such as bodies/hub/position; * and ? are wildcards
    TEXT | TEXT             two or more texts side by side
"""

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from femb.base.errors import ResultError
from femb.pictures.sheets import FIGURES
from femb.pictures.subject import Rows, Subject
from femb.pictures.words import component_name, words
from femb.results.names import Named, fits, named

SIDE_BY_SIDE = " | "


def rows_of(subject: Subject, text: str) -> Rows:
    """Rows of panels of a text; ResultError for unknown names and missing quantities."""
    parts = [_part(subject, part.strip()) for part in text.split(SIDE_BY_SIDE)]
    if len(parts) > 1 and all(len(rows) == 1 for rows in parts):
        return [[panel for rows in parts for panel in rows[0]]]
    return [row for rows in parts for row in rows]


def split(text: str) -> tuple[str, tuple[str, ...]]:
    """Name or path, and patterns of items, of a text without ``|``."""
    name, of, items = text.partition(" of ")
    name = name.strip()
    if name.replace("-", "_") in FIGURES:
        name = name.replace("-", "_")
    return name, tuple(item.strip() for item in items.split(",")) if of else ()


def problem_of(name: str, of_case: Iterable[str] = (), paths: Sequence[str] = ()) -> str | None:
    """Why a name is no figure and no quantity; None if it is one. ``of_case`` are figures of the case."""
    names = [*of_case, *FIGURES, *words()]
    if name in names or name.partition(".")[0] in words():
        return None
    guess = difflib.get_close_matches(name.lower().replace(" ", "_"), [*names, *paths], n=1, cutoff=0.7)
    hint = f"did you mean {guess[0]!r}? " if guess else ""
    return (
        f"no figure {name!r}; {hint}figures are: {listed([*of_case, *FIGURES])}; quantities: {listed(words())}; "
        "or the path of an array, such as bodies/NAME/position"
    )


def _part(subject: Subject, text: str) -> Rows:
    name, items = split(text)
    if items:
        subject = subject.only(items)
        check_items(subject)
    if name in FIGURES:
        return FIGURES[name](subject)
    word, _, component = name.partition(".")
    if word in words():
        rows = subject.rows(word, component)
        if component and not rows and subject.rows(word):
            shown = {component_name(label) for row in subject.rows(word) for panel in row for label in panel.labels}
            raise ResultError(f"{word} has no component {component!r} here; it may be one of: {listed(sorted(shown))}")
        return rows
    if is_name(name):
        return _by_name(subject, named(subject.results, name))
    if "/" in name:
        rows = _by_path(subject, name)
        if rows:
            return rows
    paths = [path for path in subject.results.series if "/" in path]
    raise ResultError(problem_of(name, paths=paths) or f"nothing to show: {name!r}")


def is_name(name: str) -> bool:
    """Whether a text is the name of a quantity of an item, as hub.position, and not of a figure or of any item's."""
    return "." in name and "/" not in name and name not in FIGURES and name.partition(".")[0] not in words()


def _by_name(subject: Subject, quantity: Named) -> Rows:
    path, node, word = quantity.group.path, quantity.node, quantity.word
    label = quantity.label[0].replace(" ", "_") if quantity.label else ""
    if path == "audit":
        return subject.only(()).rows(word, label, ("audit",))
    subject = subject.only((path if node is None else f"{path}[{node}]",))
    return subject.rows(word, label)


def _by_path(subject: Subject, path: str) -> Rows:
    """Rows of all items and quantities that match a path, one row per item."""
    parts = path.split("/")
    kind, pattern, word = parts[0], "/".join(parts[1:-1]), parts[-1]
    if kind == "audit" and len(parts) == 2:
        return subject.only(()).rows(word, kinds=("audit",)) if word in subject.results.audit else []
    if kind not in subject.results.tables or not pattern:
        return []
    word, bracket, node = word.partition("[")
    rows: Rows = []
    known = [name for name, entry in words().items() if kind in entry.kinds]
    recorded = [name for group in subject.results.of_table(kind).values() for name in group.arrays]
    over_time = [name for name in recorded if any(path.endswith(f"/{name}") for path in subject.results.series)]
    chosen = [name for name in dict.fromkeys([*known, *over_time]) if fnmatchcase(name, word)]
    for name in subject.results.of_table(kind):
        if fits(name, pattern):
            item = f"{kind}/{name}{bracket}{node}"
            for quantity in chosen:
                rows += subject.only((item,)).rows(quantity)
    return rows


def check_items(subject: Subject) -> None:
    """Raise ResultError for patterns that match no item of the results."""
    names = list(dict.fromkeys(name for kind in subject.results.tables for name in subject.results.of_table(kind)))
    for item in subject.items:
        if not subject.only((item,)).chosen(subject.results.tables):
            stem = item.split("[")[0].rsplit("/", 1)[-1]
            guess = difflib.get_close_matches(stem, names, n=1)
            hint = f"; did you mean {guess[0]!r}?" if guess and guess[0] != stem else ""
            raise ResultError(f"no item {item!r} in these results{hint}; there are: {listed(names)}")


def listed(names: Iterable[str]) -> str:
    """Names for a message."""
    names = list(names)
    shown = ", ".join(names[:60])
    return shown if len(names) <= 60 else f"{shown}, ... ({len(names)} in all)"
