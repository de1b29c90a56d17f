"""Loads along bars, on scalar points and of temperatures in NASTRAN decks, against closed forms.

MYSTRAN 18 has the same displacements by TEMP, TEMPD and TEMPRB of bars (1e-11) and of solids (2e-7), and by FORCE,
MOMENT, LOAD, GRAV (2e-7); its quadrilaterals take mean temperatures. It has no PLOAD1, and RFORCE in rad/s.
"""

import warnings

import numpy as np
import pytest
from scipy.linalg import null_space

import femb
from femb.base.errors import FembWarning, ModelError
from femb.elements import JointEnd, PositionDriver
from femb.fem.bulk_model import read_structure

METAL = "MAT1,1,7.+10,,.3,2700.,2.-5,20."
SECTION = "PBAR,2,1,1.-4,2.-9,6.-9,3.-9"


def solved(tmp_path, *cards, control=(), number=7):
    """The model of cards, its displacements by load set 7 with its supports, and the forces."""
    path = tmp_path / "deck.bdf"
    path.write_text("\n".join([*control, "BEGIN BULK", *cards, "ENDDATA", ""]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FembWarning)
        model = read_structure(path)
    force = model.load_set(number)[0]
    rows = [each.toarray() for each in (model.joints, model.supports) if each is not None]
    free = null_space(np.vstack(rows)) if rows else np.eye(model.size)
    return model, free @ np.linalg.lstsq(free.T @ model.stiffness @ free, free.T @ force, rcond=1e-13)[0], force


def at(model, values, grid, component):
    return values[model.dofs[list(model.numbers).index(grid), component]]


def boom(n, *more, pins="", held="SPC1,1,123456,1"):
    grids = [f"GRID,{k + 1},,{2.0 * k / n!r},0.,0." for k in range(n + 1)]
    bars = [f"CBAR,{k},2,{k},{k + 1},0.,1.,0.{pins}" for k in range(1, n + 1)]
    return [*grids, *bars, SECTION, METAL, held, *more]


EI = 7e10 * 2e-9  # of bending along y


@pytest.mark.parametrize(
    ("card", "deflection", "slope"),
    [
        ("PLOAD1,7,1,FY,FR,0.,5.,1.,5.", 5.0 * 2.0**4 / 8.0, 5.0 * 2.0**3 / 6.0),
        ("PLOAD1,7,1,FYE,LE,0.,0.,2.,5.", 11.0 * 5.0 * 2.0**4 / 120.0, 5.0 * 2.0**3 / 8.0),
        ("PLOAD1,7,1,FY,FR,.5,5.", 5.0 * 1.0 * (3.0 * 2.0 - 1.0) / 6.0, 5.0 / 2.0),
        ("PLOAD1,7,1,MZ,FR,.5,5.", 5.0 * 1.0 * (2.0 - 0.5), 5.0 * 1.0),
        ("PLOAD1,7,1,FY,FRPR,.5,5.,1.,5.", 5.0 * (2.0**4 / 8.0 - 1.0 / 8.0 - 1.0 / 6.0), 5.0 * (2.0**3 - 1.0) / 6.0),
    ],
)  # fmt: skip
def test_loads_along_a_cantilever(tmp_path, card, deflection, slope):
    model, u, _ = solved(tmp_path, *boom(1, card))
    assert at(model, u, 2, 1) == pytest.approx(deflection / EI, rel=1e-9)
    assert at(model, u, 2, 5) == pytest.approx(slope / EI, rel=1e-9)


def test_loads_along_a_clamped_and_a_pinned_bar(tmp_path):
    model, _, force = solved(tmp_path, *boom(1, "PLOAD1,7,1,FY,FR,0.,5.,1.,5."))
    np.testing.assert_allclose(at(model, force, 1, 5), 5.0 * 2.0**2 / 12.0, rtol=1e-12)
    pinned, _, force = solved(tmp_path, *boom(1, "PLOAD1,7,1,FY,FR,0.,5.,1.,5.", pins=",GGG\n,,6"))
    np.testing.assert_allclose(at(pinned, force, 1, 5), 5.0 * 2.0**2 / 8.0, rtol=1e-12)
    np.testing.assert_allclose(at(pinned, force, 1, 1), 5.0 / 8.0 * 10.0, rtol=1e-12)


def test_projected_loads_and_offsets(tmp_path):
    cards = [
        "GRID,1,,0.,0.,0.", "GRID,2,,3.,4.,0.", "CBAR,1,2,1,2,0.,0.,1.,GGG\n,,,0.,0.,.5,0.,0.,.5", SECTION, METAL,
        "SPC1,1,123456,1", "PLOAD1,7,1,FY,FRPR,0.,10.,1.,10.",
    ]  # fmt: skip
    model, _, force = solved(tmp_path, *cards)
    total = model.rigid_motions(np.zeros(3)).T @ force
    np.testing.assert_allclose(total[:3], [0.0, 10.0 * 3.0, 0.0], atol=1e-12)  # 10 N/m of the shadow, 3 m
    np.testing.assert_allclose(total[3:], [-30.0 * 0.5, 0.0, 30.0 * 1.5], atol=1e-12)


def test_forces_on_scalar_points(tmp_path):
    cards = ["GRID,1,,0.,0.,0.", "GRID,2,,1.,0.,0.", "CROD,9,9,1,2", "PROD,9,1,.1", METAL, "SPOINT,5,6",
             "CELAS2,1,100.,5,0,6,0", "CELAS2,2,50.,6,0", "SLOAD,7,5,3.,6,2."]  # fmt: skip
    model, u, _ = solved(tmp_path, *cards)
    np.testing.assert_allclose(u[model.component == 6], [0.13, 0.1])


KINDS = {
    "bars with offsets": [
        *(f"GRID,{k + 1},,{k / 2!r},0.,0." for k in range(3)), SECTION,
        *(f"CBAR,{k},2,{k},{k + 1},0.,1.,0.,GGG\n,,,0.,.1,0.,0.,.1,0." for k in (1, 2)),
    ],
    "rods": [
        "GRID,1,,0.,0.,0.", "GRID,2,,1.,0.,0.", "GRID,3,,.3,.8,0.",
        *(f"CONROD,{k},{a},{b},1,1.-4" for k, (a, b) in enumerate([(1, 2), (2, 3), (3, 1)], 1)),
    ],
    "an arc": [
        "GRID,1,,1.,0.,0.", "GRID,2,,0.,1.,0.", "CBEND,1,2,1,2,-1.,0.,0.,1", "PBEND,2,1,1.-4,2.-9,2.-9,4.-9,1.",
    ],
    "quadrilaterals": [
        *(f"GRID,{j * 3 + i + 1},,{i * (1 + 0.1 * j)!r},{0.7 * j!r},0." for j in (0, 1) for i in (0, 1, 2)),
        "CQUAD4,1,2,1,2,5,4", "CQUAD4,2,2,2,3,6,5", "PSHELL,2,1,.01,1,,1",
    ],
    "triangles": [
        "GRID,1,,0.,0.,0.", "GRID,2,,1.,0.,0.", "GRID,3,,.3,.8,0.", "CTRIA3,1,2,1,2,3", "PCOMP,2,,,,,20.\n,1,.01,0.",
    ],
    "a tetrahedron": [
        "GRID,1,,0.,0.,0.", "GRID,2,,1.,0.,0.", "GRID,3,,.3,.8,0.", "GRID,4,,.2,.1,.9", "CTETRA,1,2,1,2,3,4",
        "PSOLID,2,1",
    ],
    "a skewed brick": [
        "GRID,1,,0.,0.,0.", "GRID,2,,1.,0.1,0.", "GRID,3,,1.,.8,.1", "GRID,4,,0.,1.,0.", "GRID,5,,0.1,0.,.9",
        "GRID,6,,1.,0.,1.", "GRID,7,,1.,.8,1.1", "GRID,8,,0.,1.,1.", "CHEXA,1,2,1,2,3,4,5,6\n,7,8", "PSOLID,2,1",
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_free_structures_grow_without_stress(tmp_path, kind):
    """Of one temperature, 70 K where none has stress at 20 K: forces are those that stretch all by 1e-3."""
    model, _, force = solved(tmp_path, *KINDS[kind], METAL, "TEMPD,7,70.")
    stretch = 1e-3 * (model.nodes - model.nodes[0])
    u = np.where(model.component < 3, stretch[model.node_of, np.minimum(model.component, 2)], 0.0)
    np.testing.assert_allclose(force, model.stiffness @ u, atol=1e-9 * np.abs(force).max())


def test_a_clamped_bar_and_initial_temperatures(tmp_path):
    cards = boom(2, "SPC1,1,123456,3", "TEMP,7,1,70.,2,70.,3,70.", "TEMPD,5,30.")
    model, u, force = solved(tmp_path, *cards)
    reaction = model.stiffness @ u - force
    assert at(model, reaction, 1, 0) == pytest.approx(7e10 * 1e-4 * 2e-5 * 50.0)
    _, _, above = solved(tmp_path, *cards, control=["TEMPERATURE(INITIAL) = 5"])
    np.testing.assert_allclose(above, force * 0.8)


def test_gradients_bend_free_plates_and_solids(tmp_path):
    """A temperature that rises by 500 K/m along z curves all lines along x and y by 0.01 1/m, without stress."""
    grids = [f"GRID,{2 * i + j + 1},,{i / 4!r},{0.1 * j!r},0." for i in range(5) for j in range(2)]
    quads = [f"CQUAD4,{i + 1},2,{2 * i + 1},{2 * i + 3},{2 * i + 4},{2 * i + 2}" for i in range(4)]
    rows = [f"TEMPP1,7,{e},20.,500." for e in range(1, 5)]
    plate = [*grids, *quads, "PSHELL,2,1,.01,1,,1", *rows]
    grids = [f"GRID,{4 * i + 2 * j + k + 1},,{i / 4!r},{0.1 * j!r},{0.1 * k - 0.05!r}" for i in range(5) for j in (0, 1)
             for k in (0, 1)]  # fmt: skip
    cells = []
    for i in range(4):
        own = [4 * (i + a) + 2 * j + k + 1 for k in (0, 1) for a, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
        cells.append(f"CHEXA,{i + 1},2,{','.join(map(str, own[:6]))}\n,{own[6]},{own[7]}")
    warm = [f"TEMP,7,{n},{20.0 + (25.0 if n % 2 == 0 else -25.0)!r}" for n in range(1, 21)]
    for cards in (plate, [*grids, *cells, "PSOLID,2,1", *warm]):
        model, _, force = solved(tmp_path, *cards, METAL, "TEMPD,7,20.")
        x, y, z = model.nodes.T
        none = np.zeros(len(x))
        exact = 0.01 * np.array([x * z, y * z, -0.5 * (x**2 + y**2), -y, x, none])
        u = exact[model.component, model.node_of]
        np.testing.assert_allclose(force, model.stiffness @ u, atol=1e-9 * np.abs(force).max())


def test_what_has_no_temperature_is_named(tmp_path):
    with pytest.raises(ModelError, match="grid 3 has no TEMP, and the set has no TEMPD"):
        solved(tmp_path, *boom(2, "TEMP,7,1,70.,2,70."))
    with pytest.raises(ModelError, match="TEMPRB 7: temperatures that change across a bar"):
        solved(tmp_path, *boom(1, "TEMPD,7,0.", "TEMPRB,7,1,0.,0.,100."))
    with pytest.raises(ModelError, match="PLOAD1 7: 4 is no CBAR and no CBEAM"):
        solved(tmp_path, *boom(1, "PLOAD1,7,4,FY,FR,0.,1.,1.,1."))


def test_a_range_of_pressed_elements_may_have_gaps(tmp_path):
    grids = [f"GRID,{j * 4 + i + 1},,{i}.,{j}.,0." for j in (0, 1) for i in range(4)]
    cells = ["CQUAD4,1,2,1,2,6,5", "CQUAD4,3,2,3,4,8,7", "PSHELL,2,1,.01,1,,1", METAL, "SPC1,1,123456,1,THRU,8"]
    force = solved(tmp_path, *grids, *cells, "PLOAD2,7,3.,1,THRU,3")[2]
    np.testing.assert_allclose(force[force != 0.0], 0.75, rtol=1e-12)
    with pytest.raises(ModelError, match=r"PLOAD2 7: 2 is no shell"):
        solved(tmp_path, *grids, *cells, "PLOAD2,7,3.,1,2,3")


@pytest.mark.parametrize(("card", "message"), [
    ("SPCD,7,3,1,.01", "SPCD 7: an enforced motion is no force: make its grid an interface"),
    ("ACCEL1,7,,9.81,0.,0.,1.\n,1,2", "ACCEL1 7: a load of this kind"), ("DEFORM,7,1,.01", "DEFORM 7"),
])  # fmt: skip
def test_cards_of_a_set_that_are_not_read_are_named(tmp_path, card, message):
    with pytest.raises(ModelError, match=message):
        solved(tmp_path, *boom(2, "FORCE,7,3,,1.,1.,0.,0.", card))
    solved(tmp_path, *boom(2, "FORCE,7,3,,1.,1.,0.,0.", card.replace(",7,", ",8,", 1)))


def test_an_enforced_displacement_is_the_motion_of_an_interface(tmp_path):
    """Two grids of a line of rods are moved, and its end is pulled: u is linear between them, F l / (E A) beyond."""
    place = [f"GRID,{k + 1},,{k}.,0.,0." for k in range(7)]
    bars = [f"CBAR,{k},2,{k},{k + 1},0.,1.,0." for k in range(1, 7)]
    path = tmp_path / "deck.bdf"
    given = ["SPC1,1,123456,1", "SPC,1,4,1,.008,5,1,.006", "FORCE,7,7,,1.,700."]
    path.write_text("\n".join(["SPC=1", "BEGIN BULK", *place, *bars, SECTION, METAL, *given, "ENDDATA", ""]))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        body = femb.fem.reduce_mesh(path, ["root=1", "a=4", "b=5"], 0, loads=["pull=set:7"],
                                    recover=["displacements=2,3,4,5,6,7"]).body  # fmt: skip
    assert any("SPC of 4, 5: D of an enforced displacement is left out" in str(each.message) for each in said)
    model = femb.Model()
    model.add(femb.FlexibleBody("boom", body, start=femb.Attachment("ground")))
    for name, x, moved in (("a", 3.0, 0.008), ("b", 4.0, 0.006)):
        motion = femb.profiles.Polynomial((x, moved))
        model.add(PositionDriver(name, JointEnd("ground"), JointEnd(f"boom.{name}"), x=motion))
    model.add(femb.ModalLoad("pull", "boom", size=1.0))
    found = femb.static(model, time=1.0).bodies["boom"].recovered[-1][::6]
    np.testing.assert_allclose(found, [0.008 / 3, 0.016 / 3, 0.008, 0.006, 0.0061, 0.0062], rtol=1e-9)


def test_boundaries_that_move_are_named(tmp_path):
    path = tmp_path / "a.inp"
    path.write_text("*NODE\n1,0.,0.,0.\n2,1.,0.,0.\n*ELEMENT,TYPE=T3D2,ELSET=E\n1,1,2\n*MATERIAL,NAME=M\n*ELASTIC\n"
                    "7e10,.3\n*DENSITY\n2700.\n*SOLID SECTION,ELSET=E,MATERIAL=M\n1e-4\n*STEP\n*STATIC\n*BOUNDARY\n"
                    "1,1,6\n2,1,1,.01\n*END STEP\n")  # fmt: skip
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        read_structure(path)
    assert any("SPC of 2: D of an enforced displacement" in str(each.message) for each in said)
