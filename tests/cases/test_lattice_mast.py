"""The lattice mast as a truss, as a superelement and as a beam: modes, stiffness, and the slew."""

import runpy

import numpy as np
import pytest
from checkout import CASES, ROOT
from oracles.page_tables import is_printed, rows_of

import femb

PAGE = ROOT / "docs" / "cases" / "lattice_mast.md"
KINDS = ("truss", "superelement", "beam")


@pytest.fixture(scope="module")
def mast():
    return runpy.run_path(str(CASES / "lattice_mast.py"))


@pytest.fixture(scope="module")
def first_pulse(mast):
    """Results of the truss and of the superelement in the first pulse, in which the deflection is largest."""
    return {kind: slew(mast, kind, 0.3) for kind in KINDS[:2]}


def slew(mast, kind, duration, rtol=1e-6):
    return femb.simulate(mast["build"](kind), **(mast["run"] | {"duration": duration, "rtol": rtol}))


def deflection(results):
    """Of the end plate from the hub (T, 3) m."""
    seen = results.in_frame("hub").bodies
    return (seen["mast.tip"] if "mast.tip" in seen else seen["plate"]).displacement


@pytest.mark.slow
def test_frequencies_are_those_of_the_page(mast):
    found = np.array([femb.modes(mast["build"](kind), 6, held="hub").frequencies for kind in KINDS])
    table = rows_of(PAGE, "Three models of one mast")
    for k, cells in enumerate(table.values()):
        assert all(map(is_printed, cells, found[:, k])), (cells, found[:, k])
    assert found[1, :2] == pytest.approx(found[0, :2], rel=2e-6)
    assert found[1] == pytest.approx(found[0], rel=2e-3)
    assert np.all(found[1] >= found[0])  # fewer shapes are stiffer
    assert found[2, :4] == pytest.approx(found[0, :4], rel=0.015)


@pytest.mark.slow
def test_stiffness_is_that_of_the_lattice_as_a_beam(mast):
    flexibility = np.linalg.inv(mast["superelement"]().K[:6, :6])
    length, closed = 4.0, mast["stiffness"]()
    EI = length / flexibility[4, 4]
    found = {
        "EA, N": length / flexibility[0, 0],
        "EI, N m²": EI,
        "GA, N": length / (flexibility[2, 2] - length**3 / (3.0 * EI)),
        "GJ, N m²": length / flexibility[3, 3],
    }
    for name, (printed, formula, _) in rows_of(PAGE, "Stiffness of the lattice").items():
        assert is_printed(printed, found[name]), name
        assert is_printed(formula, closed[name[:2]]), name
        # welded members add a little to bars on pins
        assert 1.0 < found[name] / closed[name[:2]] < 1.01
    # a beam: a force bends as its moment does, and nothing is coupled
    assert flexibility[4, 2] == pytest.approx(-(length**2) / (2.0 * EI), rel=1e-9)
    assert np.abs(flexibility[0, 1:]).max() < 1e-9 * flexibility[4, 4]
    # without shear the first mode would be faster
    assert 3.0 * EI / (found["GA, N"] * length**2) == pytest.approx(0.26, abs=5e-3)


def test_a_beam_without_shear_is_too_fast(mast, monkeypatch):
    rigid = mast["stiffness"]() | {"GA": 1e13}
    monkeypatch.setitem(mast["build"].__globals__, "stiffness", lambda: rigid)
    assert femb.modes(mast["build"]("beam"), 1, held="hub").frequencies[0] == pytest.approx(4.82, abs=5e-3)


def test_no_member_buckles(mast, first_pulse):
    """Also on pins: then the superelement, which is linear within, describes the truss."""
    lengths = {"longeron": mast["BAY"], "diagonal": np.hypot(mast["BAY"], mast["SIDE"]), "batten": mast["SIDE"]}
    for name, length in lengths.items():
        beams = [beam for key, beam in first_pulse["truss"].beams.items() if key.startswith(name)]
        compression = -min(beam.section_force[..., 0].min() for beam in beams)
        euler = np.pi**2 * mast["YOUNGS_MODULUS"] * mast["SECOND_MOMENTS"][name] / length**2
        assert 0.0 < compression < euler, name
        if name == "diagonal":
            assert (compression, euler) == pytest.approx((17.9, 23.3), abs=0.06)


@pytest.mark.slow
def test_the_superelement_slews_as_the_truss(first_pulse):
    truss, body = (deflection(first_pulse[kind]) for kind in KINDS[:2])
    assert np.abs(truss[:, 2]).max() == pytest.approx(2.98e-3, rel=5e-3)
    assert np.abs(body - truss).max() < 2e-4 * np.abs(truss).max()
    # about the hub's reference point, where the truss has its root too
    torques = [next(iter(first_pulse[kind].appendages.values())).torque for kind in KINDS[:2]]
    assert torques[1][:, 1] == pytest.approx(torques[0][:, 1], abs=1e-4 * np.abs(torques[0]).max())


@pytest.mark.slow
def test_the_slew_is_that_of_the_page(mast):
    tips = {kind: deflection(slew(mast, kind, 3.0, 1e-7)) for kind in KINDS}
    for kind, (velocities, largest, difference, _) in rows_of(PAGE, "The slew").items():
        assert int(velocities) == femb.System(mast["build"](kind)).n_v
        assert is_printed(largest, 1e3 * np.abs(tips[kind]).max())
        if kind != "truss":
            assert is_printed(difference, 1e3 * np.abs(tips[kind] - tips["truss"])[:, 2].max())
