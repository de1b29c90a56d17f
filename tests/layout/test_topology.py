"""What models of one topology share: their numbering, the pattern of their matrices, the structure of their trees."""

import numpy as np
import pytest

import femb
from femb.elements.joint.constraint_set import ConstraintTable
from femb.formulations.joint_tree import STRUCTURES
from femb.formulations.reduced.form import GROUPS as ERROR_GROUPS
from femb.layout.connections import GROUPS, PARTS_OF
from femb.layout.numbering import KEPT, LARGEST_KEPT, NUMBERS, Topology, numbers_of
from femb.numerics.components import kept
from femb.system.pattern import PATTERNS
from femb.system.system import System

KEEPERS = NUMBERS, PATTERNS, GROUPS, PARTS_OF, STRUCTURES, ERROR_GROUPS


def chain(rods=3, length=0.4, axis=(0.0, 1.0, 0.0), start=0.0):
    """A chain on the ground, hinges about an axis, and one universal joint."""
    model, before = femb.Model("chain", gravity=(0.0, 1.0, -9.81)), "ground"
    for k in range(rods):
        model.add(femb.RigidBody(f"rod{k}", 0.5 + 0.1 * k, (0.01, 0.02, 0.025), center_of_mass=(0.5 * length, 0, 0)))
        at = (length if k else 0.0, 0.0, 0.0)
        ends = femb.JointEnd(before, at=at, axis=axis), femb.JointEnd(f"rod{k}")
        if k == 1:
            model.add(femb.Universal(f"pin{k}", *ends))
        else:
            model.add(femb.Revolute(f"pin{k}", *ends, start=(start,)))
        before = f"rod{k}"
    return model


def results(model, formulation):
    found = femb.simulate(model, duration=0.02, output_interval=0.01, method="rk", formulation=formulation)
    return {path: array.tobytes() for path, array in found.arrays.items()}


@pytest.mark.parametrize("formulation", ["velocity", "reduced"])
def test_a_model_has_the_same_results_after_others_of_its_topology(formulation):
    """To the last bit, whatever was computed before."""
    other = {"length": 0.7, "axis": (0.1, 0.9, 0.3), "start": 0.3}
    for keeper in KEEPERS:
        keeper.clear()
    alone = results(chain(), formulation)
    for keeper in KEEPERS:
        keeper.clear()
    before = results(chain(**other), formulation)
    numbers = System(chain()).layout.numbers
    assert results(chain(), formulation) == alone
    assert results(chain(**other), formulation) == before
    assert System(chain()).layout.numbers is numbers


def test_what_models_of_one_topology_share():
    first, second = System(chain()), System(chain(length=0.7, start=0.2))
    assert first.layout.numbers is second.layout.numbers
    assert first.pattern is second.pattern
    assert first.constraint_set.offset is second.constraint_set.offset
    longer = System(chain(rods=4))
    assert longer.layout.numbers is not first.layout.numbers


@pytest.mark.slow
def test_the_number_of_kept_topologies_is_bounded():
    for rods in range(1, KEPT + 4):
        System(chain(rods=rods))
    assert all(0 < len(keeper) <= 4 * KEPT for keeper in (NUMBERS, PATTERNS))
    assert len(NUMBERS) <= KEPT
    large = Topology((6,) * (LARGEST_KEPT + 1), (), (), (), (), ())
    assert not numbers_of(large).kept
    assert numbers_of(large) is not numbers_of(large)


def test_kept_results_know_the_sign_of_zero():
    inverse = kept(lambda x: np.signbit(x).tolist())
    zero = np.zeros(3)
    assert (inverse(zero), inverse(-zero), inverse(zero)) == ([False] * 3, [True] * 3, [False] * 3)


JOINTS = [femb.Revolute, femb.Universal, femb.Perpendicular, femb.Cylindrical, femb.Prismatic, femb.Planar, femb.Fixed,
          femb.Spherical, femb.Distance, femb.PointOnLine, femb.Parallel]  # fmt: skip


@pytest.mark.parametrize("kind", JOINTS)
def test_tables_of_joints_are_those_of_their_rows(kind):
    """Several joints as arrays, and one by one, to the last bit."""
    rng = np.random.default_rng(4)
    model = femb.Model("pairs")
    for k in range(3):
        for name in ("a", "b"):
            model.add(femb.RigidBody(f"{name}{k}", 1.0, 0.1, position=tuple(rng.standard_normal(3) + 5.0 * k)))
        ends = [femb.JointEnd(f"{name}{k}", at=tuple(rng.standard_normal(3)), axis=tuple(rng.standard_normal(3)))
                for name in ("a", "b")]  # fmt: skip
        model.add(kind(f"joint{k}", *ends))
    system = System(model, assemble=None)
    items = list(model.joints.values())
    together, alone = kind.constraint_table(items, system.layout), ConstraintTable.of_items(items, system.layout)
    for found, wanted in zip(together[:3], alone[:3], strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert len(system.constraint_set.rows) == len(together.numbers)
