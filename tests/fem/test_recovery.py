"""Displacements and element forces that a body of a deck recovers, and its punch files, against closed forms.

MYSTRAN 18 prints the same forces of bars, rods and triangles (docs/howto/finite_element_bodies.md).
"""

import warnings

import numpy as np
import pytest

import femb
from femb.base.errors import FembWarning, ModelError
from femb.fem.bulk_model import read_structure
from femb.fem.printed import read_printed
from femb.fem.recovery import recovery_rows

METAL = "MAT1,1,7.+10,,0.,2700."
BOOM = [
    "GRID,1,,0.,0.,0.", "GRID,2,,1.,0.,0.,9", "GRID,3,,2.,0.,0.,9", "CORD2R,9,,0.,0.,0.,1.,0.,0.", ",0.,1.,0.",
    "CBAR,21,2,1,2,0.,1.,0.", "CBAR,22,2,2,3,1.,0.,0.", "PBAR,2,1,1.-4,2.-9,6.-9,3.-9", METAL, "SPC1,1,123456,1",
    "FORCE,7,3,,1.,10.,20.,30.", "MOMENT,7,3,,1.,4.,0.,0.",
]  # fmt: skip
PLATE = [
    *(f"GRID,{j * 3 + i + 1},,{0.5 * i!r},{0.4 * j!r},0." for j in (0, 1) for i in (0, 1, 2)), "CQUAD4,1,2,1,2,5,4",
    "CTRIA3,2,2,2,3,6", "CTRIA3,3,2,2,6,5", "PSHELL,2,1,.01,1,,1", METAL, "RBE2,9,3,123456,6", "RBE2,8,1,123456,4",
]  # fmt: skip


def reduced(tmp_path, cards, interfaces, **words):
    path = tmp_path / "deck.bdf"
    path.write_text("\n".join(["BEGIN BULK", *cards, "ENDDATA", ""]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FembWarning)
        return femb.fem.reduce_mesh(path, interfaces, 0, **words).body


def test_bars_carry_a_force_at_their_tip(tmp_path):
    body = reduced(tmp_path, BOOM, ["root=1", "tip=3"], loads=["push=set:7"],
                   recover=["displacements=3", "forces=21,22"])  # fmt: skip
    eta = np.linalg.solve(body.K, body.load_modal[0])
    found = dict(zip(body.recovery_names, body.recovery @ eta, strict=True))
    EI = 7e10 * np.array([2e-9, 6e-9])
    v, w = np.array([20.0, 30.0]) * 8.0 / (3.0 * EI)
    # axes of the grid: x is the basic y, z the basic x
    assert [found[f"grid 3 T{k}"] for k in (1, 2, 3)] == pytest.approx([v, w, 10.0 * 2.0 / 7e6], rel=1e-6)
    wanted = {21: [40.0, 60.0, 20.0, 30.0], 22: [20.0, 30.0, 0.0, 0.0]}
    for bar, moments in wanted.items():
        own = [found[f"bar {bar} {name}"] for name in ("BM1A", "BM2A", "BM1B", "BM2B", "TS1", "TS2", "AF", "TRQ")]
        np.testing.assert_allclose(own, [*moments, 20.0, 30.0, 10.0, 4.0], atol=1e-6)


def test_grids_that_rigid_elements_carry_have_displacements(tmp_path):
    """By number, by set and on a plane, with the axes of the grid; u + theta x r of the grid that carries it."""
    cards = [*BOOM, "GRID,4,,2.,.5,-.3,9", "RBE2,8,3,123456,4", "GRID,5,,7.,0.,0.", "SET1,7,3,4"]
    for where in ("3,4", "set7", "x=2"):
        body = reduced(tmp_path, cards, ["root=1", "tip=2"], recover=[f"displacements={where}"], loads=["push=3:1,2,3"])
        assert body.recovery_names == tuple(f"grid {n} {c}{k}" for n in (3, 4) for c in "TR" for k in (1, 2, 3))
        u, turn, there, same = body.recovery.reshape(4, 3, -1)
        np.testing.assert_allclose(same, turn, atol=1e-14)
        # basic (0, 0.5, -0.3) in axes whose x is y, and z is x
        np.testing.assert_allclose(there, u + np.cross(turn, [0.5, -0.3, 0.0], axis=0), atol=1e-14)
        assert np.abs(there - u).max() > 0.01
    for where, message in (("4", "rigid element carries it"), ("5", "node 5 is not in the model$")):
        with pytest.raises(ModelError, match=message):
            reduced(tmp_path, cards, ["root=1", f"tip={where}"])
    with pytest.raises(ModelError, match=r"node 5 is not in the model$"):
        reduced(tmp_path, cards, ["root=1"], recover=["displacements=5"])


def test_a_set_says_which_of_its_grids_rigid_elements_carry(tmp_path):
    path = tmp_path / "deck.bdf"
    cards = [*BOOM[:-3], "GRID,4,,2.,.5,-.3,9", "RBE2,8,3,123456,4", "SET1,7,3,4", "SET1,9,3"]
    path.write_text("\n".join(["BEGIN BULK", *cards, "ENDDATA", ""]))
    with pytest.warns(FembWarning, match=r"interfaces.tip: 1 of 2 grids of set7 \(4\) .* rbe9 of RBE2 9"):
        found = femb.fem.reduce_mesh(path, ["root=1", "tip=set7"], 0).body
    with warnings.catch_warnings():
        warnings.simplefilter("error", FembWarning)
        wanted = femb.fem.reduce_mesh(path, ["root=1", "tip=set9"], 0).body
    np.testing.assert_allclose(found.K, wanted.K)


BODY = "CONM2,99,2,,1.\n,.1,,.1,,,.1"  # the whole body is its interfaces
HEATED = METAL + ",2.3-5"
WARM = "TEMP,8,1,20.,2,20.,3,20."


def recovered(tmp_path, cards, load, forces, size=1.0, kind="forces"):
    """Forces or stresses of a body that its root alone holds, of a static case, by name."""
    body = reduced(tmp_path, cards, ["root=1", "tip=3"], loads=[f"own={load}"], recover=[f"{kind}={forces}"])
    model = femb.Model()
    model.add(femb.FlexibleBody("boom", body, start=femb.Attachment("ground", (0.0, 0.0, 0.0))))
    model.add(femb.ModalLoad("own", "boom", size=size))
    return body, dict(zip(body.recovery_names, femb.static(model).bodies["boom"].recovered[-1], strict=True))


def test_a_free_boom_that_is_heated_has_no_force(tmp_path):
    cards = [HEATED if card == METAL else card for card in BOOM]
    body, found = recovered(tmp_path, [*cards, WARM], "set:8", "21,22")
    assert np.abs(list(found.values())).max() < 1e-9 * 7e6 * 2.3e-5 * 20.0
    whole = 7e6 * 2.3e-5 * 20.0  # of a held one
    assert body.load_recovery[0, body.recovery_names.index("bar 22 AF")] == pytest.approx(-whole, rel=1e-12)


def test_a_held_boom_that_is_heated_has_the_forces_of_the_expansion(tmp_path):
    """Both ends are held, the outer half is a bar and a rod as stiff: 2 alpha T = -F (1 + 1/2) / (E A)."""
    cards = [HEATED if card == METAL else card for card in BOOM]
    cards += ["CROD,23,9,2,3", "PROD,9,1,1.-4,3.-9", "TEMP,9,1,30.,2,30.,3,0.", "TEMPRB,9,21,30.,30."]
    body = reduced(tmp_path, [*cards, WARM], ["root=1", "tip=3"], loads=["all=set:8", "more=set:9"],
                   recover=["forces=21,22,23"])  # fmt: skip
    inner, found = slice(6, body.size), body.load_recovery.copy()
    for k in (0, 1):
        found[k] += body.recovery[:, inner] @ np.linalg.solve(body.K[inner, inner], body.load_modal[k, inner])
    whole = -7e6 * 2.3e-5 * np.array([20.0 + 20.0, 30.0 + 15.0]) / 1.5
    for name, share in (("bar 21 AF", 1.0), ("bar 22 AF", 0.5), ("rod 23 AF", 0.5)):
        assert found[:, body.recovery_names.index(name)] == pytest.approx(share * whole, rel=1e-9)


def test_walls_that_are_heated_and_held_have_the_forces_of_the_expansion(tmp_path):
    cards = [HEATED if card == METAL else card for card in PLATE]
    cards += ["TEMPD,8,20.", "TEMPP1,9,1,0.,300.", ",2,3"]
    body = reduced(tmp_path, cards, ["root=1", "tip=3"], loads=["all=set:8", "slope=set:9"], recover=["forces=1,2"])
    by_name = dict(zip(body.recovery_names, body.load_recovery.T, strict=True))
    for word in ("quad 1", "tria 2"):
        for name in ("X", "Y"):
            assert by_name[f"{word} F{name}"] == pytest.approx([-7e10 * 0.01 * 2.3e-5 * 20.0, 0.0], rel=1e-9, abs=1e-6)
            # warm above: pressed there, which is a positive moment
            assert by_name[f"{word} M{name}"] == pytest.approx([0.0, 7e10 * 1e-6 / 12.0 * 2.3e-5 * 300.0], rel=1e-9)
        assert by_name[f"{word} FXY"] == pytest.approx([0.0, 0.0], abs=1e-6)
    _, found = recovered(tmp_path, [card for card in cards if not card.startswith("RBE2")], "set:8", "1,2")
    # the tip is free and the root held at one point
    assert np.abs(list(found.values())).max() < 1e-6 * 7e10 * 0.01 * 2.3e-5 * 20.0


def test_bars_under_a_load_along_them_have_the_moments_of_statics(tmp_path):
    """3 N/m across and 5 N/m along the outer half of a cantilever, twice; the shear is that at end A."""
    cards = [*BOOM, "PLOAD1,8,22,FYE,FR,0.,3.,1.,3.", "PLOAD1,8,22,FXE,FR,0.,5.,1.,5."]
    _, found = recovered(tmp_path, cards, "set:8", "21,22", size=2.0)
    q, n = 6.0, 10.0
    assert [found[f"bar 22 {name}"] for name in ("BM1A", "BM1B", "TS1", "AF")] == pytest.approx(
        [0.5 * q, 0.0, q, n], abs=1e-7
    )
    assert [found[f"bar 21 {name}"] for name in ("BM1A", "BM1B", "TS1", "AF")] == pytest.approx(
        [1.5 * q, 0.5 * q, q, n], abs=1e-7
    )


@pytest.mark.slow
def test_gauges_read_forces_without_free_expansion(tmp_path):
    cards = [HEATED if card == METAL else card for card in BOOM]
    body = reduced(tmp_path, [*cards, WARM], ["root=1", "tip=3"], loads=["own=set:8"], recover=["forces=21"])
    model = femb.Model()
    model.add(femb.FlexibleBody("boom", body, start=femb.Attachment("ground", (0.0, 0.0, 0.0))))
    model.add(femb.ModalLoad("warm", "boom", load="own", size=2.0, profile=femb.profiles.Step(0.05)))
    model.add(femb.StrainGauge("gauge", body="boom", recovery="bar 21 AF", period=0.01))
    run = femb.simulate(model, duration=0.2, output_interval=0.01)
    axial = run.bodies["boom"].recovered[:, body.recovery_names.index("bar 21 AF")]
    np.testing.assert_allclose(run.sensors["gauge"].true[1:, 0], axial[:-1], atol=1e-6)
    assert np.abs(axial).max() > 1.0
    linear = femb.linearize(model, outputs=["sensors.gauge.true"])
    steady = linear.D - linear.C @ np.linalg.solve(linear.A, linear.B)
    assert np.abs(steady).max() < 1e-6 * 2.0 * 7e6 * 2.3e-5 * 20.0


def test_resultants_of_shells_under_tension_and_bending(tmp_path):
    body = reduced(tmp_path, PLATE, ["root=1", "tip=3"], recover=["forces=1,2"])
    stretched = np.zeros(body.size)
    stretched[0] = 1e-3  # of 1 m
    found = dict(zip(body.recovery_names, body.recovery @ stretched, strict=True))
    assert found["quad 1 FX"] == pytest.approx(7e10 * 0.01 * 1e-3, rel=1e-9)
    assert found["tria 2 FX"] == pytest.approx(7e10 * 0.01 * 1e-3, rel=1e-9)
    bent = np.zeros(body.size)
    bent[4], bent[2] = 0.01, -0.005  # curvature 0.01 1/m: the end turns about y and sinks
    found = dict(zip(body.recovery_names, body.recovery @ bent, strict=True))
    # stress z E k at the top is tension: in NASTRAN moments of tension at the bottom are positive
    assert found["quad 1 MX"] == pytest.approx(-7e10 * 1e-6 / 12.0 * 0.01, rel=1e-6)
    assert found["tria 2 MX"] == pytest.approx(-7e10 * 1e-6 / 12.0 * 0.01, rel=1e-6)


def test_punch_files_of_runs_have_their_instants(tmp_path):
    body = reduced(tmp_path, BOOM, ["root=1", "tip=3"], recover=["displacements=2,3", "forces=21"])
    femb.fem.write_reduced_body(tmp_path / "boom.npz", body)
    model = femb.Model()
    model.add(femb.FlexibleBody("boom", str(tmp_path / "boom.npz"), start=femb.Attachment("ground", (0.0, 0.0, 0.0))))
    model.add(femb.Load("tip", body="boom.tip", force=(0.0, 1.0, 0.0)))
    run = femb.simulate(model, duration=0.4, output_interval=0.1)
    values = run.bodies["boom"].recovered
    path = femb.fem.write_punch(tmp_path / "boom.pch", body.recovery_names, values, run.time)
    text = path.read_text().splitlines()
    assert all(len(line) == 80 for line in text)
    blocks = [k for k, line in enumerate(text) if line.startswith("$DISPLACEMENTS")]
    assert len(blocks) == len(run.time)
    last = [line[:72] for line in text[blocks[-1] + 1 :] if not line.startswith("$")]
    read, number = dict[int, list[float]](), 0
    for line in last:
        head, numbers = line[:18], [float(line[k : k + 18]) for k in range(18, 72, 18) if line[k : k + 18].strip()]
        if head.startswith("-CONT-"):
            read[number] += numbers
        else:
            number = int(head[:10]) if "G" in head else -int(head[:10])
            read[number] = numbers
    np.testing.assert_allclose(read[3], values[-1, 6:12], rtol=1e-6, atol=1e-15)
    np.testing.assert_allclose(read[-21], values[-1, 12:], rtol=1e-6, atol=1e-12)
    assert np.abs(values[-1, 6]) > 1e-4
    # the reader of eigenvectors reads the same lines
    modes = tmp_path / "modes.pch"
    modes.write_text("$EIGENVALUE =  3.9478418E+01  MODE =     1\n" + "\n".join(last[:4]) + "\n")
    np.testing.assert_allclose(read_printed(modes).shapes[3][0], read[3], rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("text", ["forces=99", "stress=21", "forces=x", "stresses=99"])
def test_what_cannot_be_recovered_is_named(tmp_path, text):
    with pytest.raises(ModelError, match="wanted displacements=GRIDS"):
        reduced(tmp_path, BOOM, ["root=1", "tip=3"], recover=[text])


def test_stresses_of_bars_rods_and_shells_and_their_punch_file(tmp_path):
    """M y / I and N / A at the root, N / t and 6 M / t^2 of a strip; MYSTRAN 18 prints the same of the decks of
    docs/validation_decks.py, with its principal and von Mises stresses."""
    cards = [card + ",,\n,.01,.02,-.01,.02" if card.startswith("PBAR") else card for card in BOOM]
    body, found = recovered(tmp_path, cards, "set:7", "21", kind="stresses")
    A, B, axial = [-40.0 * 0.01 / 2e-9, -60.0 * 0.02 / 6e-9], [-20.0 * 0.01 / 2e-9, -30.0 * 0.02 / 6e-9], 10.0 / 1e-4
    wanted = {"SA1": sum(A), "SA2": A[1] - A[0], "SA3": 0.0, "AXIAL": axial, "SB1": sum(B), "SB2": B[1] - B[0]}
    assert {name: found[f"bar 21 {name}"] for name in wanted} == pytest.approx(wanted, rel=1e-7, abs=1.0)
    path = femb.fem.write_punch(tmp_path / "s.pch", body.recovery_names, np.array(list(found.values())))
    lines = [line[:72] for line in path.read_text().splitlines()]
    assert "$ELEMENT STRESSES" in [line.strip() for line in lines]
    items = [float(text) for line in lines if not line.startswith("$") for text in line[18:].split()]
    assert len(items) == 15
    assert items[5:7] == pytest.approx([axial + max(0.0, A[1] - A[0]), axial + sum(A)], rel=1e-6)
    rod = ["CROD,5,4,1,2", "PROD,4,1,1.-10,2.-15,.01"]
    body = reduced(tmp_path, [*BOOM, *rod], ["root=1", "tip=3"], recover=["stresses=5"])
    found = dict(zip(body.recovery_names, body.recovery[:, [0, 3]] @ [2e-4, 2e-3], strict=True))
    assert found == pytest.approx({"rod 5 AXIAL": 7e10 * 1e-4, "rod 5 TORSION": 3.5e10 * 0.01 * 1e-3}, rel=1e-5)
    body = reduced(tmp_path, PLATE, ["root=1", "tip=3"], recover=["stresses=1,2"])
    bent = np.zeros(body.size)
    bent[0], bent[4], bent[2] = 1e-3, 0.01, -0.005  # 1 m is longer by 1e-3 and has the curvature 0.01 1/m
    found = dict(zip(body.recovery_names, body.recovery @ bent, strict=True))
    for word in ("quad 1", "tria 2"):
        assert found[f"{word} SX@-0.005"] == pytest.approx(7e10 * (1e-3 - 0.005 * 0.01), rel=1e-6)
        assert found[f"{word} SX@0.005"] == pytest.approx(7e10 * (1e-3 + 0.005 * 0.01), rel=1e-6)
    # a core has the stresses of its own bending stiffness: of eight times that of the sheet, an eighth by the moment
    core = [card.replace("PSHELL,2,1,.01,1,,1", "PSHELL,2,1,.01,1,8.,1") for card in PLATE]
    other = reduced(tmp_path, core, ["root=1", "tip=3"], recover=["stresses=1", "forces=1"])
    cored = dict(zip(other.recovery_names, other.recovery @ bent, strict=True))
    assert cored["quad 1 SX@0.005"] == pytest.approx(cored["quad 1 FX"] / 0.01 - 0.06 * cored["quad 1 MX"] / 8e-6)
    path = femb.fem.write_punch(tmp_path / "s.pch", body.recovery_names, body.recovery @ bent)
    lines = [line[:72] for line in path.read_text().splitlines() if not line.startswith("$")]
    items = [float(text) for line in lines[:6] for text in line[18:].split()]
    x = [7e10 * (1e-3 + sign * 0.005 * 0.01) for sign in (-1.0, 1.0)]
    assert items[:2] + items[8:10] == pytest.approx([-0.005, x[0], 0.005, x[1]], rel=1e-6)
    assert [items[7], items[15]] == pytest.approx(x, rel=1e-3)  # von Mises


@pytest.mark.parametrize(("kind", "sizes", "printed"), [
    ("ROD", "0.02", (-4774648, 3183099, 4774648, -3183099, -3580986, 2387324, 3580986, -2387324)),
    ("TUBE", "0.03,0.02", (-1762947, 1175298, 1762947, -1175298, -1322210, 881473.5, 1322210, -881473.5)),
    ("BAR", "0.02,0.05", (2400000, 9600000, -2400000, -9600000, 1800000, 7200000, -1800000, -7200000)),
    ("I", "0.06,0.04,0.03,0.003,0.004,0.005",
     (5765770, 15436780, -9029481, -12583930, 4324327, 11577590, -6772111, -9437947)),
    ("T", "0.05,0.06,0.004,0.003", (-3726868, 8236953, 10519880, -15690690, -2795151, 6177715, 7889914, -11768020)),
    ("T1", "0.06,0.04,0.003,0.004", (3832713, 20433790, -10353180, -12768370, 2874534, 15325350, -7764882, -9576277)),
    ("T2", "0.05,0.06,0.004,0.003", (-9802056, 15690690, -8236953, -11237710, -7351542, 11768020, -6177715, -8428286)),
    ("H", "0.04,0.008,0.06,0.004", (-4353171, 8128338, 4353171, -8128338, -3264878, 6096254, 3264878, -6096254)),
    ("Z", "0.03,0.003,0.05,0.06", (-912434, 5622586, 912434, -5622586, -684325.5, 4216939, 684325.5, -4216939)),
    ("CROSS", "0.03,0.004,0.06,0.005",
     (-12445980, 20395920, 12445980, -20395920, -9334486, 15296940, 9334486, -15296940)),
])  # fmt: skip
def test_bars_of_shapes_have_the_stresses_that_mystran_prints(tmp_path, kind, sizes, printed):
    """At points C to F of both ends, of the first bar of four under forces at their tip; its BOX has a point wrong."""
    cards = [f"GRID,{k + 1},,{k / 4!r},0.,0." for k in range(5)] + ["FORCE,7,5,,1.,300.,20.,30.", METAL]
    bars = [f"CBAR,{k},2,{k},{k + 1},0.,0.,1." for k in range(1, 5)]
    body = reduced(tmp_path, [*cards, *bars, f"PBARL,2,1,,{kind}\n,{sizes}"], ["root=1", "tip=5"],
                   loads=["own=set:7"], recover=["stresses=1"])  # fmt: skip
    found = body.recovery @ np.linalg.solve(body.K, body.load_modal[0])
    np.testing.assert_allclose(found[[0, 1, 2, 3, 5, 6, 7, 8]], printed, rtol=1e-5)


def test_tubes_and_beams_have_stresses(tmp_path):
    """G theta' r of a tube, M y / I of a CBEAM as of a CBAR; what changes along a beam is refused by name."""
    tube = ["CTUBE,5,4,1,2", "PTUBE,4,1,.0002"]
    body = reduced(tmp_path, [*BOOM, *tube], ["root=1", "tip=3"], recover=["stresses=5"])
    found = dict(zip(body.recovery_names, body.recovery[:, [0, 3]] @ [2e-4, 2e-3], strict=True))
    assert found["rod 5 TORSION"] == pytest.approx(3.5e10 * 1e-4 * 1e-3, rel=1e-3)
    points = ",.01,.02,-.01,.02,0.,0.,0.,0."
    sections = {"CBAR": f"PBAR,2,1,1.-4,2.-9,6.-9,3.-9,,\n{points}",
                "CBEAM": f"PBEAM,2,1,1.-4,2.-9,6.-9,0.,3.-9,\n{points}\n,0.,0."}  # fmt: skip
    both = [
        recovered(tmp_path, [card.replace("CBAR", kind) for card in BOOM if not card.startswith("PBAR")] + [own],
                  "set:7", "21", kind="stresses")[1] for kind, own in sections.items()
    ]  # fmt: skip
    assert both[1] == pytest.approx(both[0], rel=1e-7)
    taper = f"PBEAM,2,1,1.-4,2.-9,6.-9,0.,3.-9,\n{points}\n,YES,1.,2.-4,4.-9,8.-9,0.,3.-9"
    with pytest.raises(ModelError, match="stresses of bars that change along them"):
        reduced(tmp_path, [card.replace("CBAR", "CBEAM") for card in BOOM if not card.startswith("PBAR")] + [taper],
                ["root=1", "tip=3"], recover=["stresses=21"])  # fmt: skip


def test_elements_beside_their_grids_have_moments_about_themselves(tmp_path):
    """A strip that is stretched and bent about its own middle: N = E t e, M = E t^3 / 12 k, without their product."""
    strip = ["GRID,1,,0.,0.,0.", "GRID,2,,1.,0.,0.", "GRID,3,,1.,.4,0.", "GRID,4,,0.,.4,0.", METAL,
             "CQUAD4,1,2,1,2,3,4,0.,.02", "PSHELL,2,1,.01,1,,1", BODY, "RBE2,8,1,123456,4",
             "RBE2,9,2,123456,3"]  # fmt: skip
    body = reduced(tmp_path, strip, ["root=1", "tip=2"], recover=["forces=1", "stresses=1"])
    bent = np.zeros(body.size)
    # of the grids, 0.02 m below the middle, where the strain is less by 0.02 m of the curvature 0.01 1/m
    bent[0], bent[4], bent[2] = 1e-3 - 0.02 * 0.01, 0.01, -0.005
    found = dict(zip(body.recovery_names, body.recovery @ bent, strict=True))
    assert found["quad 1 FX"] == pytest.approx(7e10 * 0.01 * 1e-3, rel=1e-6)
    assert abs(found["quad 1 MX"]) == pytest.approx(7e10 * 1e-6 / 12.0 * 0.01, rel=1e-6)
    assert found["quad 1 SX@-0.005"] + found["quad 1 SX@0.005"] == pytest.approx(2.0 * 7e10 * 1e-3, rel=1e-6)


def test_plies_have_the_stresses_of_a_laminate(tmp_path):
    """[0/90]s, whose directions are turned by 30 degrees, under a strain along 30 degrees: Q e by hand in each ply."""
    x, y = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)]), np.array([-np.sin(np.pi / 6), np.cos(np.pi / 6)])
    corners = [0 * x, x, x + 0.4 * y, 0.4 * y]
    grids = [f"GRID,{k + 1},,{a:.10f},{b:.10f},0." for k, (a, b) in enumerate(corners)]
    wall = [BODY, "CQUAD4,1,2,1,2,3,4,0.", "PCOMP,2,,,,,,,SYM\n,3,.001,0.,,3,.002,90.", "RBE2,8,1,123456,4",
            "MAT8,3,1.2+11,9.+9,.28,5.+9,4.+9,3.5+9,1550.", "RBE2,9,2,123456,3"]  # fmt: skip
    body = reduced(tmp_path, [*grids, *wall], ["root=1", "tip=2"], recover=["stresses=1"])
    pulled = np.zeros(body.size)
    pulled[:2] = 1e-3 * x
    found = dict(zip(body.recovery_names, body.recovery @ pulled, strict=True))
    scale = 1.0 / (1.0 - 0.28**2 * 0.075)
    along, across, mixed = 1.2e11 * scale, 9e9 * scale, 0.28 * 9e9 * scale
    wanted = {"P1.S1": along, "P1.S2": mixed, "P2.S1": mixed, "P2.S2": across, "P4.S1": along}
    assert {name: found[f"quad 1 {name}"] / 1e-3 for name in wanted} == pytest.approx(wanted, rel=1e-6)
    assert abs(found["quad 1 P1.S12"]) < 1e-6 * along
    with pytest.raises(ModelError, match="wanted displacements=GRIDS"):
        femb.fem.write_punch(tmp_path / "a.pch", body.recovery_names, body.recovery @ pulled)


def test_modes_of_a_deck_are_a_punch_file(tmp_path):
    """With the axes of the grids, of unit mass; the reader finds them again, torsion by its frequency alone."""
    path = tmp_path / "deck.bdf"
    cards = [card.replace("CBAR", "CBEAM").replace("PBAR,2,1,1.-4,2.-9,6.-9,", "PBEAM,2,1,1.-4,2.-9,6.-9,0.,")
             for card in BOOM]  # fmt: skip
    path.write_text("\n".join(["BEGIN BULK", *cards, "ENDDATA", ""]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FembWarning)
        seen = femb.fem.overview(path, 8, held=True)
        seen.write_modes(tmp_path / "m.pch")
        again = femb.fem.overview(path, 8, held=True, compare=tmp_path / "m.pch")
    printed, mac = again.printed
    np.testing.assert_allclose(printed.frequencies, seen.frequencies, rtol=1e-6)
    # half of rho (I1 + I2) l at each end of a CBEAM
    inertia, k = 2700.0 * 8e-9 * np.array([1.0, 0.5]), 3.5e10 * 3e-9 * np.array([[2.0, -1.0], [-1.0, 1.0]])
    torsion = np.sqrt(np.linalg.eigvals(k / inertia[:, None]).min()) / (2.0 * np.pi)
    turns = [k for k in range(8) if not mac[k].any()]
    assert seen.frequencies[turns[0]] == pytest.approx(torsion, rel=1e-6)
    for k in set(range(8)) - set(turns):
        assert mac[k, k] == pytest.approx(1.0, abs=1e-9)
    own = seen.shapes[seen.model.dofs[list(seen.model.numbers).index(3)], 0]
    np.testing.assert_allclose(printed.shapes[3][0, :3], own[[1, 2, 0]], rtol=1e-5, atol=1e-6 * np.abs(own).max())


CUBE = ["000", "100", "110", "010", "001", "101", "111", "011"]
BRICK = [*(f"GRID,{k + 1},,{x}.,{y}.,{z}." for k, (x, y, z) in enumerate(CUBE)), "CHEXA,1,2,1,2,3,4,5,6\n,7,8",
         "MAT1,1,2.9+7,,.32,.283,1.-5", BODY]  # fmt: skip
NU, G = 0.32, 2.9e7 / 2.64


def moved(fe, number, motion, kind="stresses"):
    """Rows of recovery of an element by name, at displacements of places (3,)."""
    u = np.zeros(fe.size)
    u[:] = np.array([motion(x) for x in fe.nodes])[fe.node_of, np.minimum(fe.component, 2)] * (fe.component < 3)
    names, rows, _ = recovery_rows([f"{kind}={number}"], fe.recoverable, [[]], fe.dofs, u[:, None])
    return dict(zip(names, rows[:, 0], strict=True)), u


def structure(tmp_path, cards):
    path = tmp_path / "deck.bdf"
    path.write_text("\n".join(["BEGIN BULK", *cards, "ENDDATA", ""]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FembWarning)
        return read_structure(path)


def test_bricks_twist_with_youngs_modulus_and_shears_that_vary_along_one_axis(tmp_path):
    """The stresses at corners, and with them the forces, of NASTRAN: bubbles free the sides of a twist, whose strain is
    xy along z; shears of a motion x z along x vary along no other axis than y."""
    fe = structure(tmp_path, [*BRICK, "PSOLID,2,1"])
    a = 1e-3
    found, u = moved(fe, 1, lambda x: (0.0, 0.0, a * (2 * x[0] - 1) * (2 * x[1] - 1) * x[2]))
    for k, (x, y, _) in enumerate(CUBE):
        wanted = 2.9e7 * a * (2 * int(x) - 1) * (2 * int(y) - 1)
        assert [found[f"hexa 1 S{c}@{k + 1}"] for c in "XYZ"] == pytest.approx([0.0, 0.0, wanted], abs=1e-6)
    shear = [found[f"hexa 1 SZX@{k}"] for k in range(1, 9)]
    assert shear == pytest.approx([G * a * (2 * int(y) - 1) for _, y, _ in CUBE], rel=1e-9)
    assert u @ fe.stiffness @ u == pytest.approx(2.9e7 * a**2 / 9.0 + G * 2.0 * a**2 / 3.0, rel=1e-9)
    full = structure(tmp_path, [*BRICK, "PSOLID,2,1,,,,FULL"])
    assert moved(full, 1, lambda x: (0.0, 0.0, a * (2 * x[0] - 1) * (2 * x[1] - 1) * x[2]))[0][
        "hexa 1 SZ@3"
    ] == pytest.approx(2.9e7 * a * (1 - NU) / ((1 + NU) * (1 - 2 * NU)))


def test_wedges_bend_as_nastran_prints(tmp_path):
    """Slopes of stresses by those of the strain along z of a right wedge: 1.1398 E along it, and the shears of a motion
    that shortens one side alone."""
    wedge = [*(card for k, card in enumerate(BRICK) if k not in (2, 6, 8)), "CPENTA,1,2,1,2,4,5,6,8", "PSOLID,2,1"]
    fe = structure(tmp_path, wedge)
    found, _ = moved(fe, 1, lambda x: (0.0, 0.0, 1e-3 * (x[0] + x[1]) * x[2]))
    for c, wanted in (("Z", 1.139776), ("X", 0.1638002)):
        slope = (found[f"penta 1 S{c}@2"] - found[f"penta 1 S{c}@1"]) / 1e-3
        assert slope == pytest.approx(wanted * 2.9e7, rel=1e-5)
    # the way along sides of the middle is the motion itself at their middles; sum L_i t_i where they do not agree
    found, _ = moved(fe, 1, lambda x: (1e-3 * x[1] * x[2], 0.0, 0.0))
    shears = np.array([[found[f"penta 1 S{c}@{k}"] for c in ("ZX", "YZ")] for k in (1, 2, 4)]) / G / 1e-3
    middles = 0.5 * (shears + shears[[1, 2, 0]])
    t = np.array([[1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]])
    np.testing.assert_allclose((middles * t).sum(axis=1), [0.0, -0.5, 0.0], atol=1e-9)
    slope = shears[1:] - shears[0]
    assert abs(slope[0, 0] / slope[1, 0]) == pytest.approx(np.sqrt(2.0) - 1.0, rel=1e-6)


def test_stresses_of_solids_are_those_of_their_strain(tmp_path):
    """Of all kinds, in basic axes, in those of CORDM, and held under a temperature: -E alpha T / (1 - 2 nu)."""
    grad = np.array([[3.0, 1.0, -2.0], [0.5, -1.0, 4.0], [2.0, 1.5, 2.5]]) * 1e-4
    strain = 0.5 * (grad + grad.T)
    E = 2.9e7
    stress = 2 * G * strain + E * NU / ((1 + NU) * (1 - 2 * NU)) * np.trace(strain) * np.eye(3)
    system = "CORD2R,7,,0.,0.,0.,1.,0.,0.\n,0.,1.,0."  # its z is x, its x is y
    kinds = {"hexa": "1,2,3,4,5,6\n,7,8", "penta": "1,2,4,5,6,8", "tetra": "1,2,4,5", "pyram": "1,2,3,4,5",
             "hexa20": "1,2,3,4,5,6\n,7,8,9"}  # fmt: skip
    for kind, grids in kinds.items():
        word = kind.rstrip("20")
        cards = [*(card for card in BRICK if not card.startswith("CHEXA")), "GRID,9,,.5,0.,0.", system]
        cards += [f"C{word.upper()},1,2,{grids}", "TEMPD,8,30.", "CELAS2,90,1.,9,1"]
        for cordm, axes in (("", np.eye(3)), ("7", np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]))):
            fe = structure(tmp_path, [*cards, f"PSOLID,2,1,{cordm}"])
            found, _ = moved(fe, 1, lambda x: grad @ x)
            wanted, of = axes.T @ stress @ axes, "/7" if cordm else ""
            for grid in (0, 1, 2):
                own = [found[f"{word} 1 {c}@{grid}{of}"] for c in ("SX", "SY", "SZ", "SXY", "SYZ", "SZX")]
                np.testing.assert_allclose(
                    own, wanted[(0, 1, 2, 0, 1, 2), (0, 1, 2, 1, 2, 0)], rtol=1e-9, atol=1e-6, err_msg=kind
                )
        _, held = fe.load_set(8)
        _, _, still = recovery_rows(["stresses=1"], fe.recoverable, [[]], fe.dofs, np.zeros((fe.size, 0)), [held])
        wanted = np.tile([-E * 1e-5 * 30.0 / (1.0 - 2.0 * NU)] * 3 + [0.0] * 3, still.shape[1] // 6)
        np.testing.assert_allclose(still[0], wanted, atol=1e-7 * abs(wanted[0]))
    with pytest.raises(ModelError, match="PSOLID 2: stresses along axes of each element, CORDM = -1"):
        moved(structure(tmp_path, [*BRICK, "PSOLID,2,1,-1"]), 1, lambda x: x)
    with pytest.raises(ModelError, match="element 1 has no forces here"):
        moved(structure(tmp_path, [*BRICK, "PSOLID,2,1"]), 1, lambda x: x, "forces")


def test_punch_files_of_solids_have_principal_stresses_and_directions(tmp_path):
    """Item codes of CHEXA: grid, x with its shear, the largest stress, directions, pressure and von Mises stress."""
    fe = structure(tmp_path, [*BRICK, "PSOLID,2,1"])
    found, _ = moved(fe, 1, lambda x: (2e-3 * x[1], 0.0, 0.0))
    path = femb.fem.write_punch(tmp_path / "s.pch", list(found), np.array(list(found.values())))
    lines = [line[:72] for line in path.read_text().splitlines()]
    assert "$ELEMENT TYPE =          67  HEXA" in [line.strip() for line in lines]
    items = [text for line in lines if not line.startswith("$") for text in line[18:].split()]
    assert items[:4] == ["0", "GRID", "8", "0"]
    assert [items[3 + 21 * k] for k in range(9)] == ["0", *"12345678"]
    shear, half = G * 2e-3, np.sqrt(0.5)
    wanted = [0, shear, shear, half, half, 0, 0, np.sqrt(3) * shear, 0, 0, -shear, half, -half, 0, 0, 0, 0, 0, 0, -1]
    np.testing.assert_allclose(np.abs(np.array(items[4:24], dtype=float)), np.abs(wanted), atol=1e-6 * shear)
