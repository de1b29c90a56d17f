"""Displacements and element forces that a body of a deck recovers, and its punch files, against closed forms.

MYSTRAN 18 prints the same forces of bars, rods and triangles (docs/howto/finite_element_bodies.md).
"""

import warnings

import numpy as np
import pytest

import femb
from femb.base.errors import FembWarning, ModelError
from femb.fem.printed import read_printed

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


def test_forces_under_heat_are_those_of_the_whole_strain_with_a_warning(tmp_path):
    """A free boom of E A = 7 MN lengthens by 20 K times 2.3e-5: no force is in it, and E A strain is recovered."""
    cards = [*(card for card in BOOM if card[:4] != "SPC1"), "TEMP,8,1,20.,2,20.,3,20."]
    cards[cards.index(METAL)] = METAL + ",2.3-5"
    path = tmp_path / "heated.bdf"
    path.write_text("\n".join(["BEGIN BULK", *cards, "ENDDATA", ""]))
    words = {"loads": ["warm=set:8"], "recover": ["displacements=3", "forces=21"]}
    with pytest.warns(FembWarning, match="free expansion by the load warm: take E A"):
        body = femb.fem.reduce_mesh(path, ["root=1", "tip=3"], 0, **words).body
    found = dict(zip(body.recovery_names, body.recovery @ np.linalg.solve(body.K, body.load_modal[0]), strict=True))
    assert found["grid 3 T3"] == pytest.approx(2.3e-5 * 20.0 * 2.0, rel=1e-6)
    assert found["bar 21 AF"] - 7e6 * 2.3e-5 * 20.0 == pytest.approx(0.0, abs=1e-4)


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


@pytest.mark.parametrize("text", ["forces=99", "stress=21", "forces=x"])
def test_what_cannot_be_recovered_is_named(tmp_path, text):
    with pytest.raises(ModelError, match="wanted displacements=GRIDS"):
        reduced(tmp_path, BOOM, ["root=1", "tip=3"], recover=[text])
