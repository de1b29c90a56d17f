"""Draw the floor plan of femb: its rooms from the ground up, and the imports between them.

    python docs/draw_floor_plan.py        # writes docs/images/floor_plan.png

Imports are read from the syntax of every module, those inside functions included. ``tests/test_rooms.py`` checks the
order of the rooms: none imports from a room above it.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# From the ground up. Each room may import from those before it.
ROOMS = (
    "base",
    "profiles",
    "numerics",
    "layout",
    "elements",
    "model",
    "results",
    "system",
    "formulations",
    "steppers",
    "pictures",
    "case",
    "recording",
    "small_motions",
    "statics",
    "vibration",
    "run",
    "linear",
    "thompson",
    "fem",
    "handover",
    "export",
    "reporting",
    "study",
    "robust",
    "cli",
)


def modules() -> dict[str, Path]:
    """Every module of femb by its name."""
    result = {}
    for top, prefix in ((ROOT / "femb", ("femb",)), (ROOT / "elements", ("femb", "elements"))):
        for path in sorted(top.rglob("*.py")):
            inner = path.relative_to(top).with_suffix("").parts
            if prefix == ("femb",) and inner[0] == "elements":
                continue  # the link to the other folder
            result[".".join((*prefix, *(inner[:-1] if inner[-1] == "__init__" else inner)))] = path
    return result


def imports(path: Path, known: dict[str, Path]) -> Iterator[tuple[str, list[str], bool]]:
    """(module, imported names, whether only type checkers import it) of every import of femb in a file."""
    for node, typing_only in _nodes(ast.parse(path.read_text()), False):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "femb":
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield (full, [], typing_only) if full in known else (node.module, [alias.name], typing_only)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, [], typing_only) for alias in node.names if alias.name.startswith("femb"))


def _nodes(node: ast.AST, typing_only: bool) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue  # holds no imports, and most of the nodes
        inside = typing_only or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
        yield child, inside
        yield from _nodes(child, inside)


def room(module: str) -> str:
    """The room of a module; "" for femb itself."""
    return module.partition(".")[2].partition(".")[0]


def arrows() -> Counter[tuple[str, str]]:
    """Number of imports from one room to another."""
    known = modules()
    result: Counter[tuple[str, str]] = Counter()
    for module, path in known.items():
        for target, _, typing_only in imports(path, known):
            ends = room(module), room(target)
            if not typing_only and ends[0] != ends[1] and ends[0] in ROOMS and ends[1] in ROOMS:
                result[ends] += 1
    return result


def main() -> None:
    """Draw the floor plan."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.patches import FancyArrowPatch

    counts = Counter(room(module) for module in modules())
    figure, axes = pyplot.subplots(figsize=(7.0, 9.0))
    for (upper, lower), number in arrows().items():
        start, end = ROOMS.index(upper), ROOMS.index(lower)
        bend = 0.55 * (start - end - 1) / len(ROOMS)
        side = 1 if (start - end) % 2 else -1
        arrow = FancyArrowPatch(
            (0.24 * side, start), (0.24 * side, end + 0.3), connectionstyle=f"arc3,rad={-side * bend}",
            arrowstyle="-|>", mutation_scale=9, linewidth=0.5 + 0.08 * min(number, 20), color="0.55", shrinkA=0,
        )  # fmt: skip
        axes.add_patch(arrow)
    for height, name in enumerate(ROOMS):
        text = f"{name}   {counts[name]} {'module' if counts[name] == 1 else 'modules'}"
        axes.text(0, height, text, ha="center", va="center", bbox={"boxstyle": "round,pad=0.35", "fc": "#e8eef7"})
    axes.set(xlim=(-1.1, 1.1), ylim=(-0.7, len(ROOMS) - 0.3))
    axes.set_axis_off()
    figure.savefig(ROOT / "docs" / "images" / "floor_plan.png", dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()
