"""Loads, supports, sets and modes of NASTRAN decks, beside closed forms and MYSTRAN."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import femb
from femb.base.bulk_data import read_bulk_data
from femb.base.errors import FembWarning, ModelError, ResultError
from femb.fem.bulk_case import grid_sets, supports_of
from femb.fem.bulk_model import read_structure
from femb.fem.printed import read_printed

METAL = "MAT1,1,7.+10,,.3,2700."
FILES = Path(__file__).parent / "files"


def deck(tmp_path, *cards, control=()):
    path = tmp_path / "deck.bdf"
    path.write_text("\n".join([*control, "BEGIN BULK", *cards, "ENDDATA", ""]))
    return path


def read(path, unit=1.0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FembWarning)
        return read_structure(path, unit)


def brick(*more):
    """A brick 1 x 1 x 2 m."""
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 2), (1, 0, 2), (1, 1, 2), (0, 1, 2)]
    grids = [f"GRID,{k + 1},,{x}.,{y}.,{z}." for k, (x, y, z) in enumerate(corners)]
    return [*grids, "CHEXA,1,2,1,2,3,4,5,6\n,7,8", "PSOLID,2,1", METAL, *more]


def plate(n=4, *more):
    grids = [f"GRID,{j * (n + 1) + i + 1},,{i / n!r},{0.5 * j / n!r},0." for j in range(n + 1) for i in range(n + 1)]
    quads = []
    for e, (j, i) in enumerate((j, i) for j in range(n) for i in range(n)):
        a = j * (n + 1) + i + 1
        quads.append(f"CQUAD4,{e + 1},2,{a},{a + 1},{a + n + 2},{a + n + 1}")
    held = [f"SPC1,1,123456,{j * (n + 1) + 1}" for j in range(n + 1)]
    return [*grids, *quads, "PSHELL,2,1,.01,1,,1", METAL, *held, *more]


def resultants(model, number):
    """(6,): force, and moment about the origin."""
    return model.rigid_motions(np.zeros(3)).T @ model.load_set(number)[0]


def boom(elements=10, first=1):
    """2 m along x, 5.4 kg."""
    n, f = elements, first
    return [*(f"GRID,{f + k},,{2.0 * k / n!r},0.,0." for k in range(n + 1)),
            *(f"CBAR,{f + k},1,{f + k},{f + k + 1},0.,0.,1." for k in range(n)),
            *(["PBAR,1,1,1.-3,1.-7,2.-7,3.-7", METAL] if first == 1 else [])]  # fmt: skip


def looked_at(path, modes, held=False):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FembWarning)
        return femb.fem.overview(path, modes, held=held)


@pytest.mark.parametrize(
    ("card", "wanted"),
    [
        ("FORCE,1,7,,5.,0.,2.,0.", [0, 10, 0, -20, 0, 10]),
        ("FORCE,1,7,9,5.,1.,0.,0.", [0, 5, 0, -10, 0, 5]),
        ("FORCE1,1,7,5.,3,7", [0, 0, 5, 5, -5, 0]),
        ("FORCE2,1,7,5.,1,5,1,2", [0, 5, 0, -10, 0, 5]),
        ("PLOAD4,1,1,6.,,,,5,7", [0, 0, -6, -3, 3, 0]),
        ("PLOAD4,1,1,6.,,,,6,3\n,,1.,0.,0.", [12, 0, 0, 0, 12, -6]),
        ("PLOAD4,1,1,6.,6.,0.,0.,1,6", [0, 6, 0, -6 * 4 / 6 * 0 - 4, 0, 3]),
        ("GRAV,1,,9.8,0.,0.,-1.", [0, 0, -9.8 * 5400, -9.8 * 2700, 9.8 * 2700, 0]),
        ("LOAD,1,2.,3.,4\nFORCE,4,7,,5.,0.,2.,0.", [0, 60, 0, -120, 0, 60]),
        (
            "RFORCE,1,,,.5,0.,0.,1.",
            [5400 * np.pi**2 / 2, 5400 * np.pi**2 / 2, 0, -5400 * np.pi**2 / 2, 5400 * np.pi**2 / 2, 0],
        ),
    ],
)
def test_load_sets_have_their_resultants(tmp_path, card, wanted):
    axes = "CORD2R,9,,0.,0.,0.,0.,0.,1.\n,0.,1.,0."  # its x axis is the basic y
    model = read(deck(tmp_path, *brick(axes, card, "FORCE,8,7,,1.,1.,0.,0.")))
    np.testing.assert_allclose(resultants(model, 1), wanted, rtol=1e-9, atol=1e-7)


def test_pressures_on_shells_follow_their_normals_and_units(tmp_path):
    """PLOAD2 on all, PLOAD by grids; 1 psi on a square inch is a pound; the load on a reduced body is the same."""
    path = deck(tmp_path, *plate(2, "PLOAD2,3,1.,1,THRU,4", "PLOAD,4,2.,1,2,5,4", "MOMENT,5,9,,2.,0.,0.,3."))
    model = read(path, "in-lbf-s")
    pound, inch = 4.4482216152605, 0.0254
    np.testing.assert_allclose(resultants(model, 3)[:3], [0, 0, 0.5 * pound], atol=1e-12)
    np.testing.assert_allclose(
        resultants(model, 4), [0, 0, 0.25 * pound, 0.03125 * pound * inch * 1.0, -0.0625 * pound * inch, 0], atol=1e-9
    )
    assert resultants(model, 5)[5] == pytest.approx(6.0 * pound * inch)
    with pytest.warns(FembWarning):
        found = femb.fem.reduce_mesh(path, ["root=spc"], 3, unit="in-lbf-s", loads=["press=set:3"])
    np.testing.assert_allclose(found.body.load_force[0], [0, 0, 0.5 * pound], atol=1e-9)
    with pytest.raises(ModelError, match=r"load set 7: has no cards that are read; the file has \[3, 4, 5\]"):
        model.load_set(7)[0]


def test_supports_and_sets_are_those_of_the_case_control(tmp_path):
    cards = ["GRID,1,,0.,0.,0.,,12", "GRID,2,,1.,0.,0.", "GRID,3,,2.,0.,0.", "CROD,1,2,1,2", "CROD,2,2,2,3",
             "PROD,2,1,.1", METAL, "SPC1,1,3,1,THRU,2", "SPC,2,3,4,0.", "SPCADD,5,2", "SET1,8,2,3"]  # fmt: skip
    data = read_bulk_data(deck(tmp_path, *cards, control=["SET 4 = 1,", "  3", "SET 6 = ALL"]))
    assert supports_of(data) == {1: [0, 1, 2], 2: [2], 3: [3]}
    sets = grid_sets(data)
    assert sets["set4"] == [1, 3]
    assert sets["set8"] == [2, 3]
    assert "set6" not in sets
    chosen = read_bulk_data(deck(tmp_path, *cards, control=["SPC = 5"]))
    assert supports_of(chosen) == {1: [0, 1], 3: [3]}


@pytest.mark.parametrize("form", ["PARAM,WTMASS,{}", "PARAM  WTMASS  {} $ kg", "SUBCASE 1\n param, wtmass, {}"])
def test_parameters_of_the_case_control_are_those_of_the_bulk_data(tmp_path, form):
    control, given = form.format(0.0025).split("\n"), "PARAM,WTMASS,.0025"
    found = looked_at(deck(tmp_path, *boom(), control=control), 8)
    assert found.mass == pytest.approx(0.0025 * 5.4)
    assert found.frequencies == pytest.approx(looked_at(deck(tmp_path, *boom(), given), 8).frequencies)
    assert looked_at(deck(tmp_path, *boom(), given, control=control), 8).mass == pytest.approx(found.mass)
    # a value of the case control is before that of the bulk data
    assert looked_at(deck(tmp_path, *boom(), "PARAM,WTMASS,1.", control=control), 8).mass == pytest.approx(found.mass)
    with pytest.raises(ModelError, match=r"PARAM,WTMASS: got .* in the case control, wanted one value"):
        looked_at(deck(tmp_path, *boom(), control=[*control, "SUBCASE 2", "PARAM,WTMASS,1."]), 8)
    coupled = deck(tmp_path, *boom(), control=["PARAM,COUPMASS,YES"])
    yes = looked_at(coupled, 8).frequencies
    lumped, one = (looked_at(deck(tmp_path, *boom(), *own), 8).frequencies for own in ([], ["PARAM,COUPMASS,1"]))
    np.testing.assert_allclose(yes, one)
    assert one[6] > lumped[6]


def test_factors_of_direct_matrices_are_named(tmp_path):
    with pytest.warns(FembWarning, match="PARAM CM2: factors of .* left out"):
        read_structure(deck(tmp_path, *boom(), "PARAM,CM2,2."))
    with pytest.warns(FembWarning, match="PARAM CK1"):
        read_structure(deck(tmp_path, *boom(), control=["PARAM,CK1,3.", "CEND"]))


@pytest.mark.filterwarnings("ignore:.*\\(contact\\)")
def test_glue_that_is_chosen_and_a_reduction_are_named(tmp_path):
    glue = [*boom(), "BGSET,5,1,2", "BCONPRG,5,,IGLUE,1", "BCTABLE,5,,,,1", ",SLAVE,2,.9,,,,1"]
    read(deck(tmp_path, *glue))
    with pytest.raises(ModelError, match=r"BGSET 5: glue of meshes: is not read"):
        read_structure(deck(tmp_path, *glue, control=["BGSET = 5"]))
    with pytest.warns(FembWarning, match="BCONPRG 5, BCTABLE 5: glue is left out: parts that it joins lie apart"):
        read_structure(deck(tmp_path, *glue, control=["BCONTACT = 5"]))
    with pytest.warns(FembWarning, match="ASET1: is left out: all freedoms are kept"):
        read_structure(deck(tmp_path, *boom(), "ASET1,123,1,2"))


HALF = [*boom(), "SPC1,1,123456,1", "SPC1,2,345,1"]


@pytest.mark.slow
def test_subcases_with_supports_of_their_own_are_refused_by_name(tmp_path):
    """Symmetric and antisymmetric halves, whose sets together hold another structure."""
    control = ["MPC = 3", "SUBCASE 1", " SPC = 1", "SUBCASE 2", " SPC = 2"]
    path = deck(tmp_path, *HALF, control=control)
    with pytest.raises(ModelError, match=r"SPC: subcases choose different sets \(1, 2\): leave one subcase"):
        looked_at(path, 4, held=True)
    assert "spc" not in read(path).node_sets
    alike = ["SPC = 2", "SUBCASE 1", "SPC = 1", "SUBCASE 2", "SPC = 1"]
    one, other, numbered = (
        looked_at(deck(tmp_path, *HALF, *more, control=own), 4, held=True).frequencies
        for own, more in (
            (alike, ()), (["SUBCASE 2", "SPC = 2"], ()),
            # numbers of their own for the same supports, as preprocessors write them
            (["SUBCASE 1", "SPC = 7", "SUBCASE 2", "SPC = 8"], ("SPCADD,7,1", "SPC1,8,123456,1")),
        )
    )  # fmt: skip
    assert one[0] > 1.0
    np.testing.assert_allclose(numbered, one, rtol=1e-12)
    np.testing.assert_array_equal(other[:3], 0.0)
    ties = ["MPC,1,11,2,1.,10,2,-1.", "MPC,2,11,3,1.,10,3,-1."]
    with pytest.raises(ModelError, match=r"MPC: subcases choose different sets \(1, none\)"):
        read(deck(tmp_path, *HALF, *ties, control=["SUBCASE 1", "MPC = 1", "SUBCASE 2"]))


def test_a_case_control_that_chooses_no_supports_holds_none(tmp_path):
    with pytest.warns(FembWarning, match="SPC 1, 2: chosen by no SPC = of the case control: hold nothing"):
        model = read_structure(deck(tmp_path, *HALF, control=["METHOD = 1"]))
    assert model.supports is None
    assert read(deck(tmp_path, *HALF)).supports.shape[0] == 6, "a deck without choices"


def test_a_spin_pulls_at_masses_beside_their_grids(tmp_path):
    """RFORCE about z through grid 1: by CONM2 with offset and inertia, carried by RBE2, and bars with offsets."""
    w, m, J = 2.0 * np.pi * 0.5, 3.0, np.array([[2.0, 0.3, 0.4], [0.3, 2.5, 0.2], [0.4, 0.2, 3.0]])
    at, spin = np.array([1.0 + 0.5, 0.2, 0.3]), np.array([0.0, 0.0, 2.0 * np.pi * 0.5])
    inertia = ["CONM2,9,2,,3.,.5,.2,.3", ",2.,-.3,2.5,-.4,-.2,3."]
    beside = ["GRID,5,,1.5,.2,.3", "RBE2,7,2,123456,5", "CONM2,9,5,,3.", ",2.,-.3,2.5,-.4,-.2,3."]
    spring = ["GRID,1,,0.,0.,0.", "GRID,2,,1.,0.,0.", "CBUSH,3,4,1,2,0.,1.,0.", "PBUSH,4,K,1.,1.,1.,1.,1.,1."]
    force = m * w**2 * np.array([at[0], at[1], 0.0])
    wanted = [*force, *(np.cross(at, force) - np.cross(spin, J @ spin))]
    for cards in (inertia, beside):
        model = read(deck(tmp_path, *spring, *cards, "RFORCE,1,1,,.5,0.,0.,1."))
        np.testing.assert_allclose(resultants(model, 1), wanted, rtol=1e-12, atol=1e-12)
    lines = ["GRID,1,,1.,0.,0.", "GRID,2,,2.,0.,0.", "PBAR,1,1,1.-3,1.-12,2.-12,3.-12", METAL, "RFORCE,1,,,.5,0.,0.,1."]
    found = [
        resultants(read(deck(tmp_path, *lines, *bar)), 1)
        for bar in (
            ["CBAR,1,1,1,2,0.,0.,1.", ",,,0.,.5,0.,0.,.5,0."],
            ["GRID,3,,1.,.5,0.", "GRID,4,,2.,.5,0.", "CBAR,1,1,3,4,0.,0.,1."],
        )
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-9)
    assert found[0][1] == pytest.approx(2.7 * w**2 * 0.5)


def test_a_pressure_along_a_direction_has_the_area_of_a_warped_face(tmp_path):
    """A face z = x y c of unit square: the integral of sqrt(1 + c^2 (x^2 + y^2))."""
    from scipy.integrate import dblquad

    grids = [card.replace("GRID,7,,1.,1.,2.", "GRID,7,,1.,1.,3.") for card in brick()]
    model = read(deck(tmp_path, *grids, "PLOAD4,1,1,6.,,,,5,7", ",0,1.,0.,0."))
    area = dblquad(lambda y, x: np.sqrt(1.0 + x**2 + y**2), 0.0, 1.0, 0.0, 1.0)[0]
    assert resultants(model, 1)[0] == pytest.approx(6.0 * area, rel=1e-7)
    model = read(deck(tmp_path, *grids, "PLOAD4,1,1,6.,,,,5,7"))
    np.testing.assert_allclose(resultants(model, 1)[:3], [3.0, 3.0, -6.0], rtol=1e-12)


TAPER = """PBEAM,{0},1,{1},2.-6,1.-6,,1.-6,{2}
,0.,0.,0.,0.,0.,0.,0.,0.
"""
STATION = """,YES,{0},{1},2.-6,1.-6,,1.-6,{2}
,0.,0.,0.,0.,0.,0.,0.,0.
"""


@pytest.mark.parametrize("coupled", [False, True])
def test_a_beam_with_stations_has_the_mass_of_one_element_a_part(tmp_path, coupled):
    """A and mass of what is no structure are linear between stations: mass, centre and inertia by integrals."""
    ends = ["GRID,1,,0.,0.,0.", "GRID,2,,2.,0.,0.", "GRID,3,,1.6,0.,0.", METAL, f"PARAM,COUPMASS,{2 * coupled - 1}"]
    one = [TAPER.format(1, "2.-3", "1.") + STATION.format(0.8, "9.-3", "5.") + STATION.format(1.0, "1.-3", "0."),
           "CBEAM,1,1,1,2,0.,0.,1."]  # fmt: skip
    two = [TAPER.format(1, "2.-3", "1.") + STATION.format(1.0, "9.-3", "5."), "CBEAM,1,1,1,3,0.,0.,1.",
           TAPER.format(2, "9.-3", "5.") + STATION.format(1.0, "1.-3", "0."), "CBEAM,2,2,3,2,0.,0.,1."]  # fmt: skip
    first, second = (looked_at(deck(tmp_path, *ends, *cards), 1) for cards in (one, two))
    x = np.linspace(0.0, 2.0, 200001)
    line = np.interp(x, [0.0, 1.6, 2.0], [2700.0 * 2e-3 + 1.0, 2700.0 * 9e-3 + 5.0, 2700.0 * 1e-3])
    mass = np.trapezoid(line, x)
    for each in (first, second):
        assert each.mass == pytest.approx(mass, rel=1e-9)
        assert each.centre[0] == pytest.approx(np.trapezoid(line * x, x) / mass, rel=1e-8)


def test_masses_along_one_axis_are_no_masses_of_the_others(tmp_path):
    """CMASS2 along x at the tip: 5.4 kg in the middle; half on each axis across, a centre between both."""
    found = looked_at(deck(tmp_path, *boom(), "CMASS2,50,10.,11,1"), 8)
    assert found.mass == pytest.approx(5.4)
    np.testing.assert_allclose(found.centre, [1.0, 0.0, 0.0], atol=1e-12)
    assert "masses        (15.4, 5.4, 5.4) kg along x, y, z" in found.table()
    alone = looked_at(deck(tmp_path, *boom()), 8)
    assert "along x, y, z" not in alone.table()
    np.testing.assert_allclose(found.inertia, alone.inertia, atol=1e-12)
    along_z = looked_at(deck(tmp_path, *boom(), "CMASS2,50,10.,11,3"), 8)
    assert along_z.mass == pytest.approx(5.4)
    assert along_z.centre[0] == pytest.approx((5.4 * 1.0 * 2 + 10.0 * 2.0) / (5.4 + 15.4))
    assert along_z.inertia[1, 1] == pytest.approx(alone.inertia[1, 1] + 5.4 * 10.0 / 15.4, rel=1e-9)
    less = looked_at(deck(tmp_path, *boom(), "CONM2,49,11,,64.", "CMASS2,50,-63.,11,1"), 8)
    assert np.linalg.eigvalsh(less.inertia)[0] > -1e-9
    assert 1.0 < less.centre[0] < 2.0


def test_a_free_plate_has_six_rigid_modes_and_a_held_one_those_of_its_root(tmp_path):
    path = deck(tmp_path, *plate(4, "RBE2,70,25,123456,26", "GRID,26,,1.1,.5,0.", "CONM2,71,26,,1."))
    with pytest.warns(FembWarning, match="supports are left out"):
        free = femb.fem.overview(path, 8)
    assert np.sum(free.elastic) == 2
    assert free.mass == pytest.approx(14.5)
    assert free.effective[:6].sum(axis=0) == pytest.approx(np.ones(6), abs=1e-6)
    assert [float(line.split()[1]) for line in free.table().splitlines()[-8:-2]] == [0.0] * 6, "no rounding"
    held = femb.fem.overview(path, 4, held=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FembWarning)
        wanted = femb.fem.reduce_mesh(path, ["root=spc"], 4)
    np.testing.assert_allclose(held.frequencies, wanted.free, rtol=1e-8)
    text = held.table()
    assert "rbe70 (grid 25)" in text
    assert "2 (16 elements)" in text
    assert "1 (123456)" in text
    with pytest.raises(ModelError, match="has no supports"):
        femb.fem.overview(deck(tmp_path, *brick()), held=True)


@pytest.mark.parametrize("elements", [10, 60])
@pytest.mark.parametrize("heavy", ["1.+6", "1.+9", "1.+12"])
def test_a_boom_on_a_seismic_mass_has_the_modes_of_a_held_one(tmp_path, heavy, elements):
    """The mass shakes the base: frequencies are those of the held boom to the ratio of the masses, 5.4 kg to it."""
    held = looked_at(deck(tmp_path, *boom(elements), "SPC1,1,123456,1"), 10, held=True).frequencies
    path = deck(tmp_path, *boom(elements), f"CONM2,99,1,,{heavy},", f",{heavy},,{heavy},,,{heavy}")
    for modes in (16, 10):
        found = looked_at(path, modes)
        np.testing.assert_array_equal(found.frequencies[:6], 0.0)
        near = 6.0 / float(heavy.replace("+", "e")) + 2e-9
        np.testing.assert_allclose(found.frequencies[6:], held[: modes - 6], rtol=near)
        assert np.all(found.elastic[6:])
    x, D = found.shapes[:, :6], found.model.rigid_motions(found.centre)
    np.testing.assert_allclose(x.T @ (found.model.mass @ x), np.eye(6), atol=1e-9)
    np.testing.assert_allclose(x @ np.linalg.lstsq(x, D, rcond=None)[0], D, atol=1e-9)
    assert "no mode but rigid motions" in looked_at(path, 4).table()


def test_two_bodies_in_a_deck_have_twelve_rigid_modes(tmp_path):
    """Motions of the one beside the other are of rounding alone, and no first frequency."""
    both = looked_at(deck(tmp_path, *boom(), *boom(first=101)), 14)
    one = looked_at(deck(tmp_path, *boom()), 7)
    np.testing.assert_allclose(both.frequencies, [*[0.0] * 12, *[one.frequencies[6]] * 2], rtol=1e-8)


def test_a_mechanism_is_named_with_its_way_out(tmp_path):
    """A spring without mass that the supports hold alone."""
    cards = [*boom(), "GRID,21,,3.,0.,0.", "GRID,22,,4.,0.,0.", "CELAS2,30,5.,21,2,22,2", "SPC1,1,123456,22,1"]
    with pytest.raises(ModelError, match=r"node 2[12], y: .*: a mechanism; .*--held"):
        looked_at(deck(tmp_path, *cards), 8)
    assert looked_at(deck(tmp_path, *cards), 4, held=True).frequencies[0] > 1.0


def test_columns_of_a_stiff_body_stay_apart(tmp_path):
    """Frequencies of a brick of a millimetre are above 1e5 Hz."""
    small = [re.sub(r"(GRID,\d,,)(\d)\.,(\d)\.,(\d)\.", r"\1\2.-3,\3.-3,\4.-3", each) for each in brick()]
    with pytest.warns(FembWarning, match="check the units"):
        text = femb.fem.reduce_mesh(deck(tmp_path, *small), ["root=1,2,3,4"], 8).table()
    rows = [line.split() for line in text.splitlines() if re.match(r" *\d+ ", line)]
    assert [row[0] for row in rows] == [str(k + 1) for k in range(8)], text


def test_a_spring_to_the_ground_is_found(tmp_path):
    with pytest.warns(FembWarning, match="a part of its own holds the model"):
        found = femb.fem.overview(deck(tmp_path, *plate(2, "CELAS2,80,1.+6,5,3")), 3, held=True)
    assert found.rigid[2] > 1e-4


def nastran(frequencies, shapes):
    """A listing in NASTRAN's form."""
    lines = ["  R E A L   E I G E N V A L U E S"]
    for k, f in enumerate(frequencies):
        w = 2 * np.pi * f
        lines.append(f"{k + 1:9}{k + 1:10}" + "".join(f"        {v:.6E}" for v in (w * w, w, f, 1.0, w * w)))
    title = "         R E A L   E I G E N V E C T O R   N O .  "
    for k, f in enumerate(frequencies):
        lines.append(f"          CYCLES =  {f:.6E}{title}{k + 1:9}")
        for grid, values in shapes.items():
            lines.append(f"{grid:14}      G   " + "".join(f"{v:15.6E}" for v in values[k]))
    return "\n".join(lines)


def test_results_of_other_programs_are_compared(tmp_path):
    """Shapes of femb itself, printed along turned displacement axes in the order 2, 1: MAC of one; a punch file too."""
    cards = plate(4, "CORD2R,9,,0.,0.,0.,0.,0.,1.\n,0.,1.,0.")
    path = deck(tmp_path, *(card.replace("GRID,25,,1.0,0.5,0.", "GRID,25,,1.0,0.5,0.,9") for card in cards))
    own = femb.fem.overview(path, 3, held=True)
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    order = [1, 0]
    shapes = {}
    for k, number in enumerate(own.model.numbers):
        dofs = own.model.dofs[k]
        values = np.where((dofs >= 0)[:, None], own.shapes[dofs], 0.0)[:, order].T
        R = turn if number == 25 else np.eye(3)
        shapes[int(number)] = np.hstack([values[:, :3] @ R, values[:, 3:] @ R])
    listing = tmp_path / "deck.f06"
    listing.write_text(nastran(own.frequencies[order], shapes))
    found = femb.fem.overview(path, 3, compare=listing)
    mac = found.printed[1]
    assert mac[0, 1] == pytest.approx(1.0, abs=1e-6)
    assert mac[1, 0] == pytest.approx(1.0, abs=1e-6)
    assert mac[0, 0] < 0.01
    punch = []
    for k, f in enumerate(own.frequencies[order]):
        punch.append(f"$EIGENVALUE = {(2 * np.pi * f) ** 2:.7E}  MODE = {k + 1:5}")
        for grid, values in shapes.items():
            punch.append(f"{grid:10}       G" + "".join(f"{v:18.6E}" for v in values[k, :3]))
            punch.append("-CONT-            " + "".join(f"{v:18.6E}" for v in values[k, 3:]))
    (tmp_path / "deck.pch").write_text("\n".join(punch))
    np.testing.assert_allclose(femb.fem.overview(path, 3, compare=tmp_path / "deck.pch").printed[1], mac, atol=1e-5)
    with pytest.raises(ResultError, match="has no eigenvalues and no mass"):
        read_printed(deck(tmp_path, "x").rename(tmp_path / "x.f06"))


def test_without_shapes_each_mode_is_paired_once(tmp_path):
    """Two that both are nearest to one here, as meshes differ; of more than there are here the last has none."""
    path = deck(tmp_path, *plate(4))
    own = femb.fem.overview(path, 3, held=True).frequencies
    listing = tmp_path / "deck.f06"
    listing.write_text(nastran(np.array([own[0], 0.99 * own[1], 1.01 * own[1], 9.0 * own[2]]), {}))
    lines = femb.fem.overview(path, 3, compare=listing).table().splitlines()
    first = next(k for k, line in enumerate(lines) if "there, Hz" in line)
    assert [line.split()[1] for line in lines[first + 1 : first + 5]] == ["1", "2", "3", "none"]
    assert lines[-1] == "without MAC: paired by frequency alone"


def test_results_of_mystran_are_read(tmp_path):
    """Its .f06 and .op2 of the plate, made by the program itself."""
    path = deck(tmp_path, *plate(4))
    found = femb.fem.overview(path, 4, compare=FILES / "mystran_plate.f06")
    other, mac = found.printed
    assert other.mass == pytest.approx(13.5)
    # its elements are too stiff in a mesh of 4 x 4, those of NASTRAN and their lumped masses too soft
    np.testing.assert_allclose(found.frequencies, other.frequencies, rtol=0.06)
    assert np.diag(mac).min() > 0.997
    pytest.importorskip("pyyeti", reason="pyyeti, the extra fe, is not installed")
    assert read_printed(FILES / "mystran_plate.op2").mass == pytest.approx(13.5)


def test_the_command_prints_a_deck(tmp_path, capsys):
    from click.testing import CliRunner

    from femb.cli.reduce import reduce

    path = deck(tmp_path, *plate(4, "GRAV,7,,9.8,0.,0.,-1."))
    said = CliRunner().invoke(reduce, [str(path), "--held", "--modes", "3"])
    assert said.exit_code == 0, said.output
    assert "effective masses, %" in said.output
    assert "set:7" in said.output
    said = CliRunner().invoke(reduce, [str(path), "--interfaces", "root=spc", "--held", "--modes", "3"])
    assert said.exit_code != 0
    assert "--interfaces root=spc" in said.output


def test_blanks_within_components_and_within_sets_of_loads(tmp_path):
    """As in decks of MYSTRAN's own: components as "12 4 6", a pair of LOAD that is blank, its card DEBUG."""
    bar = ["GRID,1,,0.,0.,0.", "GRID,2,,2.,0.,0.", "CBAR,1,2,1,2,0.,0.,1.", "PBAR,2,1,1.-4,2.-9,6.-9,3.-9",
           "MAT1,1,7.+10,,.3,2700.", "SPC1,1,12 4 6,1", "SPC1,1,35,1", "DEBUG,200,1", "FORCE,7,2,,3.,0.,0.,1.",
           "LOAD,8,1.,,,2.,7"]  # fmt: skip
    model = read(deck(tmp_path, *bar))
    assert model.supports.shape == (6, model.size)
    np.testing.assert_allclose(resultants(model, 8)[2], 6.0)


def test_bars_without_torsion_have_no_modes_of_torsion(tmp_path):
    """A boom aslant, J = 0: its freedoms about its line go, and its modes are those of one along an axis."""
    found = []
    for along in ((1.0, 1.0), (np.sqrt(2.0), 0.0)):
        grids = [f"GRID,{k + 1},,{k * along[0]:.12f},{k * along[1]:.12f},0." for k in range(3)]
        bars = [f"CBAR,{k},2,{k},{k + 1},0.,0.,1." for k in (1, 2)]
        rest = ["PBAR,2,1,1.-4,2.-9,6.-9,0.", "MAT1,1,7.+10,,.3,2700.", "SPC1,1,123456,1"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FembWarning)
            found.append(femb.fem.overview(deck(tmp_path, *grids, *bars, *rest), 6, held=True).frequencies)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-7)
    assert found[0][0] > 1.0


@pytest.mark.slow
def test_a_pinned_end_may_be_skew_to_the_axes(tmp_path):
    """A frame whose bar is hinged at grid 3, in any position: the same modes, held by interfaces and by supports."""
    found = []
    for turn in (np.eye(3), Rotation.from_rotvec([0.8, 0.1, -0.5]).as_matrix()):
        at = [",".join(f"{x:.15f}" for x in turn @ x) for x in ((1, 0, 0), (1, 1, 0), (0, 0, 1), (2, 1, 0))]
        path = deck(
            tmp_path, "GRID,1,,0.,0.,0.", *(f"GRID,{k},,{at[j]}" for k, j in ((2, 0), (3, 1), (4, 3))),
            f"CBAR,1,10,1,2,{at[2]}", f"CBAR,2,10,3,2,{at[2]}", ",5", f"CBAR,3,10,2,4,{at[2]}",
            "PBAR,10,1,3.-4,9.-9,4.-9,6.-9", "MAT1,1,7.+10,,.33,2700.", "CONM2,3,2,,2.",
            "CONM2,4,4,,1.", ",.1,,.1,,,.1", "SPC1,1,123456,1,3",
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FembWarning)
            held = femb.fem.reduce_mesh(path, ["root=spc"], 4).free
            np.testing.assert_allclose(held, femb.fem.overview(path, 4, held=True).frequencies, rtol=1e-7)
            mean, turns = femb.fem.reduce_mesh(path, ["root=1", "tip=2,3:mean"], 4).body.K, np.kron(np.eye(2), turn)
            found.append([*held, *(turns.T @ mean[:6, :6] @ turns).ravel()])
            with pytest.raises(ModelError, match=r"interfaces.tip: .* nor mass in rotation about \(.*\), as at a pinn"):
                femb.fem.reduce_mesh(path, ["root=1", "tip=3"], 0)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-6)
