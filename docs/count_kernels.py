"""Counts of kernels: how many, their lines, those that are derivatives by hand, and functions of many arguments.

    python docs/count_kernels.py [--list]

Lines are those of code, without docstrings, comments and blank lines. A derivative by hand is a kernel whose name says
that it gives one, and whose text takes no changes of a traced function. ``--list`` names functions and their counts.
"""

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
KERNELS = {"kernel", "kernel_with_entry", "inlined", "merged"}
TRACED = {"put_changes", "add_changes", "change", "dual"}
DERIVATIVE = re.compile(r"tangent|stiffness|gradient|derivative|jacobian|curvature|_changes?\b|^changes?\b|^d[a-z]$")


class Function(NamedTuple):
    """A function of the program."""

    place: str
    decorators: set[str]
    lines: int
    arguments: int
    by_hand: bool


def functions() -> Iterator[Function]:
    """All functions of the program."""
    for folder in ("femb", "elements"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text("utf-8")
            lines = text.splitlines()
            for node in _definitions(ast.parse(text)):
                yield _function(path.relative_to(ROOT), lines, node)


def _definitions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield child
        if not isinstance(child, ast.expr):  # these hold no definitions, and most of the nodes
            yield from _definitions(child)


def _function(path: Path, lines: list[str], node: ast.FunctionDef) -> Function:
    body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
    head = lines[node.lineno - 1 : body[0].lineno - 1 if body is node.body else node.body[0].lineno - 1]
    code = [each.strip() for each in [*head, *lines[body[0].lineno - 1 : node.end_lineno]]]
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    arguments = len([each for each in given if each.arg not in ("self", "cls")])
    return Function(
        f"{path}:{node.lineno} {node.name}",
        {each.id for each in node.decorator_list if isinstance(each, ast.Name)},
        sum(bool(each) and not each.startswith("#") for each in code),
        arguments,
        bool(DERIVATIVE.search(node.name)) and not any(getattr(each, "id", "") in TRACED for each in ast.walk(node)),
    )


def counts() -> dict[str, list[Function]]:
    """The functions that count, by what they count as."""
    every = list(functions())
    kernels = [each for each in every if each.decorators & KERNELS]
    return {
        "kernels": kernels,
        "traced functions": [each for each in every if "traced" in each.decorators],
        "derivatives by hand": [each for each in kernels if each.by_hand],
        "ten arguments or more": [each for each in every if each.arguments >= 10],
        "more than twelve arguments": [each for each in every if each.arguments > 12],
    }


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--list", action="store_true", help="name the functions")
    listed = parser.parse_args().list
    for name, found in counts().items():
        print(f"{name:28}{len(found):6}{sum(each.lines for each in found):8} lines")
        for each in sorted(found, key=lambda x: -x.lines) if listed and name != "kernels" else ():
            print(f"    {each.place}: {each.lines} lines, {each.arguments} arguments")


if __name__ == "__main__":
    main()
