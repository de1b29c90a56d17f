"""What can be wrong with a tree of segments, all of it at once."""

from typing import Any

import numpy as np

from femb.base.checks import array_problem, as_numbers, shown
from femb.base.errors import Problem

# Entries of mounting^T mounting may differ from those of the identity by this much.
ORTHOGONALITY = 1e-9
# Principal moments may break the triangle inequality by this much of the largest: flat and thin bodies are allowed.
FLAT = 1e-9


def check_tree(tree: Any) -> list[Problem]:
    """Everything wrong with the fields of a Tree; empty if nothing is."""
    n = len(tree.names)
    if n == 0 and tree.base is None:
        return [_at(("segments",), "got none, wanted at least one segment with a hinge")]
    problems = _names(tree.names) + _shapes(tree, n) + _numbering(tree, n)
    if problems:
        return problems  # what follows reads the arrays by number
    return _hinges(tree) + _masses(tree) + _massless_ends(tree) + _bodies(tree)


def _at(place: tuple[str, ...], message: str) -> Problem:
    return Problem(place, message)


def _names(names: tuple[str, ...]) -> list[Problem]:
    bad = [name for name in names if not isinstance(name, str) or not name]
    found = [_at(("segments",), f"got {shown(name)} for a name, wanted text that is not empty") for name in bad]
    twice = {name for name in names if names.count(name) > 1} if not bad else set()
    return found + [
        _at(
            ("segments", name),
            "is there more than once. A segment hangs on one parent: a second hinge would close a "
            "loop, which no tree form can hold; cut the loop, or use a formulation with multipliers",
        )
        for name in sorted(twice)
    ]


def _shapes(tree: Any, n: int) -> list[Problem]:
    shapes: dict[str, tuple[int, ...]] = {
        "axis": (n, 3),
        "at": (n, 3),
        "origin": (n, 3),
        "center": (n, 3),
        "inertia": (n, 3, 3),
        "mounting": (n, 3, 3),
    }
    shapes |= dict.fromkeys(("mass", "stiffness", "rest", "damping"), (n,)) | {"gravity": (3,)}
    found = []
    for word, shape in shapes.items():
        message = array_problem(getattr(tree, word), shape)
        if message:
            place = (word,) if word == "gravity" else ("segments", word)
            found.append(_at(place, message))
    if np.shape(tree.sliding) != (n,):
        found.append(_at(("segments", "sliding"), f"got shape {np.shape(tree.sliding)}, wanted ({n},)"))
    return found


def _numbering(tree: Any, n: int) -> list[Problem]:
    parent = as_numbers(tree.parent)
    if parent is None or parent.shape != (n,) or np.any(parent != np.round(parent)):
        return [_at(("segments", "parent"), f"got {shown(tree.parent)}, wanted {n} segment numbers (-1 is the base)")]
    outside = [k for k in range(n) if not -1 <= parent[k] < n]
    if outside:
        return [
            _at(("segments", tree.names[k], "parent"), f"got {int(parent[k])}, wanted -1 (the base) to {n - 1}")
            for k in outside
        ]
    loop = _loop(parent.astype(int))
    if loop:
        listed = " -> ".join(tree.names[k] for k in loop)
        return [
            _at(
                ("segments", tree.names[loop[0]], "parent"),
                f"hangs on itself ({listed}): a closed loop has no place "
                "in a tree; cut it at a hinge, or use a formulation with multipliers",
            )
        ]
    return [
        _at(
            ("segments", tree.names[k], "parent"),
            f"got {int(parent[k])} ({tree.names[int(parent[k])]!r}), which comes "
            "after it; number parents before their children",
        )
        for k in range(n)
        if parent[k] >= k
    ]


def _loop(parent: Any) -> list[int]:
    """Segments round a loop of parents, the first again last; empty if there is none."""
    for start in range(len(parent)):
        path = [start]
        while parent[path[-1]] >= 0 and len(path) <= len(parent):
            path.append(int(parent[path[-1]]))
            if path[-1] == start:
                return path
    return []


def _hinges(tree: Any) -> list[Problem]:
    found = []
    for k, name in enumerate(tree.names):
        C = np.asarray(tree.mounting[k], dtype=float)
        if np.linalg.norm(tree.axis[k]) < 1e-12:
            found.append(_at(("segments", name, "axis"), f"got {shown(tree.axis[k])}, wanted a direction"))
        if np.abs(C.T @ C - np.eye(3)).max() > ORTHOGONALITY or np.linalg.det(C) < 0.0:
            found.append(_at(("segments", name, "mounting"), f"got {shown(C)}, wanted a rotation matrix"))
        for word in ("stiffness", "damping"):
            if getattr(tree, word)[k] < 0.0:
                found.append(_at(("segments", name, word), f"got {getattr(tree, word)[k]:g}, must be at least 0"))
    return found


def _masses(tree: Any) -> list[Problem]:
    found = []
    for k, name in enumerate(tree.names):
        inertia = np.asarray(tree.inertia[k], dtype=float)
        if tree.mass[k] < 0.0:
            found.append(_at(("segments", name, "mass"), f"got {tree.mass[k]:g} kg, must be at least 0"))
        if np.abs(inertia - inertia.T).max() > FLAT * np.abs(inertia).max():
            found.append(_at(("segments", name, "inertia"), f"got {shown(inertia)}, which is not symmetric"))
            continue
        # equation (3): the second moments of mass, whose eigenvalues are not negative for any body
        second = np.linalg.eigvalsh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
        if second[0] < -FLAT * max(second[2], 0.0) or second[2] < 0.0:
            moments = ", ".join(f"{x:.6g}" for x in np.linalg.eigvalsh(inertia))
            found.append(
                _at(
                    ("segments", name, "inertia"),
                    f"principal moments {moments} kg m2 are those of no body: none may be "
                    "negative or above the sum of the others; check signs and the point it refers to (the mass centre)",
                )
            )
    return found


def _massless_ends(tree: Any) -> list[Problem]:
    carried = np.array([tree.mass[k] > 0.0 or np.any(np.asarray(tree.inertia[k])) for k in range(len(tree.names))])
    leaf = np.ones(len(tree.names), dtype=bool)
    for k in range(len(tree.names) - 1, -1, -1):
        if tree.parent[k] >= 0:
            carried[tree.parent[k]] |= carried[k]
            leaf[tree.parent[k]] = False
    return [
        _at(
            ("segments", name, "mass"),
            "has neither mass nor inertia, and nothing hangs on it: its coordinate moves "
            "nothing. A string of massless segments must end in one with mass",
        )
        for k, name in enumerate(tree.names)
        if leaf[k] and not carried[k]
    ]


def _bodies(tree: Any) -> list[Problem]:
    return [
        _at(("bodies", name), f"got segment {shown(k)}, wanted 0 to {len(tree.names) - 1}")
        for name, k in tree.bodies.items()
        if not isinstance(k, int | np.integer) or not 0 <= k < len(tree.names)
    ]
