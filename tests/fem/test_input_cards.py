"""Parameters and cards of input files: those that are not known are named, those that are read have their effect.

Loads of steps, GRAV and CENTRIF are beside what CalculiX 2.20 prints as reactions of the cube's bottom.
"""

import warnings
from pathlib import Path

import numpy as np
import pytest

from femb.base.errors import FembWarning, ModelError
from femb.fem.bulk_model import read_structure
from femb.fem.input_cards import CARDS
from femb.fem.input_deck import input_nodes, read_deck
from femb.fem.input_file import InputBlock

BEAM = (
    "*NODE, NSET=ALL\n1, 0, 0, 0\n2, 1, 0, 0\n*ELEMENT, TYPE=B31, ELSET=B\n1, 1, 2\n"
    "*BEAM GENERAL SECTION, ELSET=B, DENSITY=8000.\n1e-3, 2e-8, 0., 3e-8, 4e-8\n0., 1., 0.\n2e11, 8e10\n"
)
HELD = "*BOUNDARY\n1, ENCASTRE\n"


def structure(tmp_path, text):
    (tmp_path / "a.inp").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FembWarning)
        return read_structure(tmp_path / "a.inp")


def dof(model, number, component):
    return int(model.dofs[list(model.numbers).index(number), component])


def refused(tmp_path, text, match):
    (tmp_path / "a.inp").write_text(text)
    with pytest.raises(ModelError, match=match):
        read_deck(tmp_path / "a.inp")


@pytest.mark.parametrize("card", CARDS)
def test_every_card_refuses_unknown_parameters_and_values_by_name(tmp_path, card):
    refused(tmp_path, f"*{card}, FOO=BAR\n{BEAM}", rf"line 1: \*{card}: the parameter FOO=BAR is not read beside")
    for name, values in CARDS[card].items():
        if values not in ("", "-"):
            refused(tmp_path, f"*{card}, {name}=BAR\n{BEAM}", rf"\*{card}: .*=BAR is not read beside")


@pytest.mark.parametrize("card", [name for name in CARDS if "-" in CARDS[name].values()])
def test_every_parameter_of_no_effect_is_named(tmp_path, card):
    given = {name.replace(" ", ""): "1" for name, what in CARDS[card].items() if what == "-"}
    assert InputBlock(card, given, [], "", 0).left_out() == [name for name in CARDS[card] if CARDS[card][name] == "-"]


def test_cards_that_are_not_known_are_refused_and_in_steps_refuse_their_loads(tmp_path):
    refused(tmp_path, BEAM + "*MODEL CHANGE\n", r"\*MODEL CHANGE: is not read")
    (tmp_path / "a.inp").write_text(
        BEAM
        + "*STEP, NLGEOM\n*STATIC\n*CLOAD, AMPLITUDE=A\n2, 1, 1.\n*END STEP\n*STEP\n*MODEL CHANGE, REMOVE\n*END STEP\n"
    )
    with pytest.warns(FembWarning) as said:
        model = read_structure(tmp_path / "a.inp")
    texts = " ".join(str(each.message) for each in said)
    assert "left out: NLGEOM of *STEP, AMPLITUDE of *CLOAD (parameters; loads are at full size)" in texts
    assert "left out: *MODEL CHANGE (of steps)" in texts
    assert model.load_set(1)[0][dof(model, 2, 0)] == 1.0
    with pytest.raises(ModelError, match=r"\*MODEL CHANGE of .*line .*: is not read"):
        model.load_set(2)


def table():
    """The cards and their parameters as a table of the page."""
    rows = ["| card | parameters that are read | left out, named in one line |", "| --- | --- | --- |"]
    for name, known in CARDS.items():
        read = [f"{a}={b}".removesuffix("=").replace("|", " or ") for a, b in known.items() if b != "-"]
        idle = [a for a, b in known.items() if b == "-"]
        rows.append(f"| `*{name}` | {', '.join(read)} | {', '.join(idle)} |")
    return "\n".join(rows)


def test_the_table_of_the_page_is_made_of_the_cards():
    assert table() in (Path(__file__).parents[2] / "docs" / "howto" / "finite_element_bodies.md").read_text()


@pytest.mark.parametrize("turned", [False, True])
def test_springs_act_along_their_orientation(tmp_path, turned):
    """k e e^T of one end, and of both; also where a node has axes of its own, and about an axis."""
    axes = "*TRANSFORM, NSET=TWO, TYPE=R\n0., 1., 0., -1., 0., 0.\n" if turned else ""
    text = (
        "*NODE\n1, 0, 0, 0\n2, 1, 0, 0\n*NSET, NSET=TWO\n2\n*ORIENTATION, NAME=O\n.48, .6, .64, 1., 0., 0.\n" + axes
        + "*ELEMENT, TYPE=SPRING2, ELSET=S\n1, 1, 2\n*SPRING, ELSET=S, ORIENTATION=O\n1, 1\n5000.\n"
        "*ELEMENT, TYPE=SPRING1, ELSET=R\n2, 1\n*SPRING, ELSET=R, ORIENTATION=O\n4\n70.\n"
    )  # fmt: skip
    model = structure(tmp_path, text)
    e = np.array([0.48, 0.6, 0.64])
    u = np.concatenate([e, -e])  # a unit of elongation at each end, in basic axes
    n = [dof(model, grid, c) for grid in (1, 2) for c in range(3)]
    force = model.stiffness.toarray()[np.ix_(n, n)] @ u
    np.testing.assert_allclose(force, 10000.0 * u, atol=1e-9)
    about = [dof(model, 1, c) for c in (3, 4, 5)]
    np.testing.assert_allclose(model.stiffness.toarray()[np.ix_(about, about)], 70.0 * np.outer(e, e), atol=1e-12)
    refused(tmp_path, text.replace("ORIENTATION=O", "ORIENTATION=X"), "orientation X is not in the file")
    refused(
        tmp_path,
        text.replace("S, ORIENTATION", "S, NONLINEAR, ORIENTATION"),
        "parameter NONLINEAR is not read beside ELSET, ORIENTATION",
    )


def test_nodes_in_cylindrical_coordinates_and_local_axes(tmp_path):
    (tmp_path / "a.inp").write_text(
        "*NODE, SYSTEM=C\n1, 2., 30., 5.\n*SYSTEM\n1., 2., 3.\n*NODE\n2, 1., 0., 0.\n"
        "*SYSTEM\n1., 2., 3., 1., 4., 9.\n*NODE\n3, 1., 2., 7.\n"  # x towards y, without the part along z
        "*SYSTEM\n0., 0., 1., 0., 0., 5.\n1., 0., 1.\n*NODE\n4, 1., 2., 7.\n"  # x along z, y along x, z along y
        "*NODE, SYSTEM=C\n5, 1., 90., 0.\n*SYSTEM\n*NODE\n6, 1., 2., 3.\n"
    )
    numbers, places, _ = input_nodes(tmp_path / "a.inp")
    assert list(numbers) == [1, 2, 3, 4, 5, 6]
    wanted = [[np.sqrt(3.0), 1, 5], [2, 2, 3], [-1, 3, 10], [2, 7, 2], [1, 0, 1], [1, 2, 3]]
    np.testing.assert_allclose(places, wanted, atol=1e-12)
    refused(tmp_path, "*SYSTEM\n0., 0., 0., 1., 0., 0.\n2., 0., 0.\n" + BEAM, "SYSTEM: its points are on one line")


CUBE = (
    "*NODE\n1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,1,0\n5,0,0,1\n6,1,0,1\n7,1,1,1\n8,0,1,1\n*ELEMENT,TYPE=C3D8,ELSET=E\n"
    "1,1,2,3,4,5,6,7,8\n*NSET,NSET=B\n1,2,3,4\n*SOLID SECTION,ELSET=E,MATERIAL=A\n*MATERIAL,NAME=A\n"
    "*ELASTIC\n7.E10,.3\n*DENSITY\n2700.\n*BOUNDARY\nB,1,3\n"
)


@pytest.mark.parametrize(
    ("steps", "reactions"),
    [
        (["*DLOAD\nE,GRAV,9.81,0.,0.,-2.\n"], [[0, 0, 13243.5]]),
        (["*DLOAD\nE,CENTRIF,4.,-1.,0.,0.,0.,2.,0.\n"], [[-8100, 0, -3600]]),
        (
            ["*CLOAD\n7,3,2.\n7,3,3.\n", "*CLOAD\n8,1,1.\n", "*CLOAD\n7,3,7.\n", "*CLOAD,OP=NEW\n6,2,1.\n"],
            [[0, 0, -5], [-1, 0, -5], [-1, 0, -7], [0, -1, 0]],
        ),
        (["*CLOAD\n7,3,2.\n", "*FREQUENCY\n1\n*CLOAD\n7,1,9.\n", "*CLOAD\n8,1,1.\n"], [[0, 0, -2], None, [-1, 0, -2]]),
        (
            ["*DLOAD\nE,GRAV,9.81,0.,0.,-1.\n", "*DLOAD\nE,GRAV,1.,1.,0.,0.\n", "*DLOAD\nE,GRAV,2.,0.,0.,-1.\n"],
            [[0, 0, 13243.5], [-1350, 0, 13243.5], [-1350, 0, 2700]],
        ),
    ],
)
def test_loads_of_steps_and_their_directions_are_those_of_calculix(tmp_path, steps, reactions):
    text = CUBE + "".join(
        f"*STEP\n{each if 'FREQ' in each else '*STATIC' + chr(10) + each}*END STEP\n" for each in steps
    )
    model = structure(tmp_path, text)
    for k, wanted in enumerate(reactions):
        if wanted is not None:  # CalculiX has no load on the held nodes in its reactions
            force = model.load_set(k + 1)[0]
            found = [-sum(force[dof(model, node, c)] for node in (5, 6, 7, 8)) for c in range(3)]
            np.testing.assert_allclose(found, wanted, atol=1e-9)
    refused(tmp_path, text.replace(",-2.\n", ",0.\n"), "wanted a square and a direction") if ",-2.\n" in text else None


def test_supports_are_those_of_the_last_step(tmp_path):
    text = (
        BEAM
        + HELD
        + "*STEP\n*STATIC\n*CLOAD\n2, 1, 1.\n*END STEP\n*STEP\n*FREQUENCY\n1\n*BOUNDARY, OP={}\n2, 1, 3\n*END STEP\n"
    )
    assert structure(tmp_path, text.format("MOD")).supports.shape[0] == 9
    (tmp_path / "a.inp").write_text(text.format("NEW"))
    with pytest.warns(FembWarning) as said:
        model = read_structure(tmp_path / "a.inp")
    assert any(
        "left out: 6 supports that *BOUNDARY, OP=NEW ends (of earlier steps)" in str(each.message) for each in said
    )
    assert model.supports.shape[0] == 3
    assert sorted({component for _, component in zip(*np.nonzero(model.supports.toarray()), strict=True)}) == [
        dof(model, 2, c) for c in range(3)
    ]


def test_elements_of_an_assembly_have_nodes_of_instances(tmp_path):
    text = (
        f"*PART, NAME=P\n{BEAM}*END PART\n*ASSEMBLY, NAME=A\n*INSTANCE, NAME=A-1, PART=P\n*END INSTANCE\n"
        "*INSTANCE, NAME=B, PART=P\n1., 0., 0.\n*END INSTANCE\n*ELEMENT, TYPE=MASS, ELSET=M\n1, B.2\n2, A-1.2\n"
        "*MASS, ELSET=M\n3.\n*ELEMENT, TYPE=SPRING2, ELSET=S\n3, A-1.2, B.1\n*SPRING, ELSET=S\n2, 2\n70.\n"
        "*END ASSEMBLY\n"
    )
    model = structure(tmp_path, text)
    D = model.rigid_motions(np.zeros(3))
    mass = D.T @ model.mass @ D
    assert mass[0, 0] == pytest.approx(16.0 + 6.0)
    assert mass[5, 1] == pytest.approx(16.0 * 1.0 + 3.0 * (2.0 + 1.0))  # first moment
    assert model.stiffness[dof(model, 12, 1), dof(model, 21, 1)] == -70.0
    refused(tmp_path, text.replace("B.2", "C.2"), "C is no instance of the assembly")
    refused(tmp_path, text.replace("3, A-1.2, B.1", "1, A-1.2, B.1"), "element 1 is there twice")


def test_what_would_change_the_model_is_refused_by_name(tmp_path):
    coupling = "*SURFACE, NAME=S, TYPE=NODE\n1\n*COUPLING, REF NODE=2, SURFACE=S\n"
    refused(tmp_path, BEAM + coupling, "COUPLING: wanted .KINEMATIC or .DISTRIBUTING behind it")
    shear = "*TRANSVERSE SHEAR STIFFNESS\n1e5, 3e5\n"
    refused(tmp_path, BEAM + shear, r"\*TRANSVERSE SHEAR STIFFNESS: is not read")
    mass = "*ELEMENT, TYPE=MASS, ELSET=M\n2, 2\n*MASS, ELSET=M, TYPE=ANISOTROPIC\n100., 50., 20.\n"
    refused(tmp_path, BEAM + mass, r"\*MASS: the parameter TYPE=ANISOTROPIC is not read beside ISOTROPIC")
