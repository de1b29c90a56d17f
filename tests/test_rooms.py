"""The house: rooms along the flow of data, as docs/draw_floor_plan.py draws them."""

import re
import runpy
from graphlib import TopologicalSorter

import pytest
from checkout import ROOT

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
