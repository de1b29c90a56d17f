"""The house: rooms along the flow of data, as docs/draw_floor_plan.py draws them."""

import ast
import re
import runpy
from graphlib import TopologicalSorter

import pytest
from checkout import ROOT

from femb.elements import entries, registry

PLAN = runpy.run_path(str(ROOT / "docs" / "draw_floor_plan.py"))
MODULES, ROOMS, room = PLAN["modules"](), PLAN["ROOMS"], PLAN["room"]


@pytest.fixture(scope="module")
def imports():
    """What every module imports."""
    return {module: list(PLAN["imports"](path, MODULES)) for module, path in MODULES.items()}


def test_every_module_is_in_a_room():
    assert {room(module) for module in MODULES} - {"", "__main__"} == set(ROOMS)


def test_nothing_is_imported_against_the_flow(imports):
    """Imports inside functions count too; what only type checkers see does not."""
    floor = {name: number for number, name in enumerate(ROOMS)}
    against = [
        f"{module} imports {target}"
        for module, targets in imports.items()
        for target, _, typing_only in targets
        if not typing_only and floor.get(room(target), -1) > floor.get(room(module), len(ROOMS))
    ]
    assert against == []


def test_no_module_imports_itself_through_others(imports):
    """Imports for type checkers alone count too."""
    graph = {module: {each for each, _, _ in targets if each in MODULES} for module, targets in imports.items()}
    TopologicalSorter({module: targets - {module} for module, targets in graph.items()}).prepare()  # or CycleError


def test_names_of_classes_mean_one_thing():
    """No two modules define a class of the same name."""
    places = {}
    for module, path in MODULES.items():
        for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE):
            places.setdefault(name, []).append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_room_imports_private_names_of_another(imports):
    private = [
        f"{module}: {name} of {target}"
        for module, targets in imports.items()
        for target, names, _ in targets
        for name in names
        if name.startswith("_") and not name.startswith("__") and room(target) != room(module)
    ]
    assert private == []


def nodes_outside_elements():
    """The parts of all modules but those of elements, each with its module."""
    for module, path in MODULES.items():
        if room(module) != "elements":
            yield from ((module, node) for node in ast.walk(ast.parse(path.read_text())))


@pytest.mark.slow
def test_what_tables_and_classes_of_items_mean_stands_with_them():
    """Names of tables, of which some are words of other things, and tests for one class of items become fewer, not
    more: what only an item knows is a method of it."""
    tables, classes = set(registry.tables(others=False)), {name for name, line in entries().items() if line.remark}
    named, tested = [], []
    for module, node in nodes_outside_elements():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in tables:
            named.append(f"{module}:{node.lineno}: {node.value}")
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            found = {getattr(each, "id", getattr(each, "attr", "")) for each in ast.walk(node.args[1])}
            tested += [f"{module}:{node.lineno}: {name}" for name in sorted(found & classes)]
    assert len(named) <= 170, named
    assert len(tested) <= 8, tested


@pytest.mark.slow
def test_derivatives_by_hand_and_long_lists_of_arguments_become_fewer():
    """Bounds that may only fall; ``python docs/count_kernels.py --list`` names the functions."""
    found = runpy.run_path(str(ROOT / "docs" / "count_kernels.py"))["counts"]()
    assert sum(each.lines for each in found["derivatives by hand"]) <= 1200
    assert len(found["ten arguments or more"]) <= 60
    many = [each.place for each in found["more than twelve arguments"]]
    assert len(many) <= 12
    assert not [place for place in many if place.startswith(("elements/", "femb/formulations/"))]
