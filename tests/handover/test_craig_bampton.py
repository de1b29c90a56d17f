"""Craig-Bampton matrices: files read back, and pyyeti's own functions."""

import struct
import sys

import h5py
import numpy as np
import pytest
from models import refuses, winged_satellite
from scipy.io import loadmat

from femb.base.errors import ResultError
from femb.handover import CraigBampton, hybrid_coordinates
from femb.handover import craig_bampton as nastran


@pytest.fixture(scope="module")
def plant():
    return hybrid_coordinates(winged_satellite(), 6, held="hub", damping=0.01, points={})


@pytest.fixture(scope="module", params=["whole", "appendage"])
def reduced(plant, request):
    return CraigBampton.of(plant if request.param == "whole" else plant.appendages[0])


def test_matrices(plant, reduced):
    assert len(reduced.dofs) == len(reduced.mass) in (12, 18)
    frequencies = np.sqrt(np.diag(reduced.stiffness)[6:12]) / (2.0 * np.pi)
    np.testing.assert_allclose(frequencies, plant.appendages[0].frequencies, rtol=1e-12)
    np.testing.assert_allclose(np.diag(reduced.damping)[6:12], 0.04 * np.pi * frequencies, rtol=1e-12)
    np.testing.assert_array_equal(reduced.stiffness[:6], 0.0)


@pytest.mark.slow
def test_modes_of_the_free_model(plant):
    """Six zeros and the frequencies of the free satellite."""
    whole = CraigBampton.of(hybrid_coordinates(winged_satellite(), held="hub", points={}))
    squares = np.linalg.eigvals(np.linalg.solve(whole.mass, whole.stiffness)).real
    found = np.sqrt(np.sort(squares)[6:12]) / (2.0 * np.pi)
    np.testing.assert_allclose(found, [0.273332, 0.537837, 1.571001, 1.752398, 1.904971, 3.304710], rtol=2e-6)


def test_arrays_read_back(reduced, tmp_path):
    again = CraigBampton.read(reduced.write(tmp_path / "cb.npz"))
    matlab = loadmat(reduced.write(tmp_path / "cb.mat"))
    with h5py.File(reduced.write(tmp_path / "cb.h5")) as file:
        hdf = {word: file[f"craig_bampton/{word}"][()] for word in nastran.NAMES}
    for word in nastran.NAMES:
        for found in (getattr(again, word), matlab[word], hdf[word]):
            np.testing.assert_array_equal(found, getattr(reduced, word))
    assert again.dofs == reduced.dofs == tuple(str(cell[0]) for cell in matlab["dofs"][:, 0])


@pytest.mark.slow
def test_op4_and_punch_read_back(reduced, tmp_path):
    pytest.importorskip("pyyeti", reason="pyyeti, the extra fe, is not installed")
    from pyyeti import nastran as bulk

    op4 = bulk.op4.load(str(reduced.write(tmp_path / "cb.op4")), into="dct")
    file = reduced.write(tmp_path / "cb.pch")
    punch = bulk.rddmig(str(file))
    comments = [line for line in file.read_text().splitlines() if line.startswith("$ ")]
    assert tuple(line.split(": ", 1)[1] for line in comments) == reduced.dofs
    points = [tuple(map(int, line[2:].partition(":")[0].split())) for line in comments]
    for word, name in nastran.NAMES.items():
        np.testing.assert_array_equal(op4[name.lower()][0], getattr(reduced, word))
        found = punch[name.lower()].reindex(index=points, columns=points, fill_value=0.0)
        np.testing.assert_allclose(found, getattr(reduced, word), rtol=1e-9, atol=0.0)


def records_of_op4(path):
    """Matrices of a binary OP4 file of dense real columns, by the layout that NASTRAN documents for OUTPUT4."""
    data, at, found = path.read_bytes(), 0, {}

    def record():
        nonlocal at
        (size,) = struct.unpack_from("<i", data, at)
        body = data[at + 4 : at + 4 + size]
        assert struct.unpack_from("<i", data, at + 4 + size) == (size,)
        at += size + 8
        return body

    while at < len(data):
        columns, rows, _, kind, name = struct.unpack("<4i8s", record())
        assert kind == 2  # real, of double precision
        matrix = np.zeros((rows, columns))
        while True:
            body = record()
            column, row, words = struct.unpack_from("<3i", body)
            if column > columns:
                break
            matrix[row - 1 : row - 1 + words // 2, column - 1] = np.frombuffer(body, "<f8", words // 2, 12)
        found[name.decode().strip()] = matrix
    return found


def cards_of_punch(path):
    """Entries of symmetric DMIG cards in fields of 8 and of 16 columns: {name: {(grid, component): {...}}}."""
    found, name, column = {}, "", (0, 0)
    for line in path.read_text().splitlines():
        word = line[:8].strip()
        if word == "DMIG":
            name = line[8:16].strip()
            assert int(line[24:32]) == 6  # symmetric: one triangle is given
            found[name] = {}
        elif word == "DMIG*":
            assert line[8:24].strip() == name
            column = int(line[24:40]), int(line[40:56] or 0)
        elif word == "*":
            row = int(line[8:24]), int(line[24:40] or 0)
            found[name][row, column] = found[name][column, row] = float(line[40:56].replace("D", "e"))
    return found


def test_op4_and_punch_by_readers_of_their_own(reduced, tmp_path):
    """The bytes and the cards, as any other program reads them: signs, places, and which grid a row belongs to."""
    pytest.importorskip("pyyeti", reason="pyyeti, the extra fe, is not installed")
    op4 = records_of_op4(reduced.write(tmp_path / "cb.op4"))
    punch = cards_of_punch(reduced.write(tmp_path / "cb.pch"))
    points = [(1, k + 1) for k in range(6)] + [(1001 + k, 0) for k in range(len(reduced.dofs) - 6)]
    assert set(op4) == set(punch) == {"MCB", "KCB", "BCB"}
    for word, name in (("mass", "MCB"), ("stiffness", "KCB"), ("damping", "BCB")):
        wanted = getattr(reduced, word)
        np.testing.assert_array_equal(op4[name], wanted)
        read = [[punch[name].get((row, column), 0.0) for column in points] for row in points]
        np.testing.assert_allclose(read, wanted, rtol=1e-9, atol=0.0)


def test_dynamic_mass_is_that_of_pyyeti(plant, reduced):
    cb = pytest.importorskip("pyyeti.cb", reason="pyyeti, the extra fe, is not installed")
    frequencies = np.array([0.1, 0.26, 1.0, 6.0, 40.0])
    for k in range(6):
        found = cb.cbtf(reduced.mass, reduced.damping, reduced.stiffness, np.eye(6)[k], frequencies, np.arange(6)).frc
        ours = np.array([reduced.dynamic_mass(2j * np.pi * f)[:, k] for f in frequencies]).T
        np.testing.assert_allclose(ours, found, rtol=0.0, atol=1e-12 * np.max(np.abs(found)))
    part = plant.appendages[0]
    whole = CraigBampton.of(part).dynamic_mass(3j)
    np.testing.assert_allclose(part.dynamic_mass(3j), whole, atol=1e-12 * np.max(np.abs(whole)))


def test_mass_properties_and_effective_masses_are_those_of_pyyeti(plant, reduced, tmp_path):
    cb = pytest.importorskip("pyyeti.cb", reason="pyyeti, the extra fe, is not installed")
    from pyyeti.nastran import addgrid

    part = plant.appendages[0]
    rigid, coupling = part.rigid_mass, part.coupling
    if len(reduced.dofs) > 12:
        rigid, coupling = plant.mass, np.vstack([part.coupling for part in plant.appendages])
    at_centre, centre, *_ = cb.cgmass(reduced.mass[:6, :6], all6=True)
    first_moment = np.array([rigid[5, 1], rigid[3, 2], rigid[4, 0]])
    np.testing.assert_allclose(np.asarray(centre).ravel()[:3], first_moment / rigid[0, 0], atol=1e-12)
    assert at_centre[0, 0] == pytest.approx(rigid[0, 0], rel=1e-12)
    found = cb.cbcheck(
        str(tmp_path / "check.txt"), reduced.mass, reduced.stiffness, np.arange(6), np.arange(6),
        uset=addgrid(None, 1, "b", 0, [0.0, 0.0, 0.0], 0), em_filt=0, n_freefree_modes=8,
    )  # fmt: skip
    wanted = 100.0 * coupling**2 / np.diag(rigid)
    np.testing.assert_allclose(np.asarray(found.effmass_percent), wanted, rtol=1e-9, atol=1e-9)


def test_unknown_formats_and_a_missing_package(reduced, tmp_path, monkeypatch):
    refuses(r"must be one of \.npz, \.mat, \.h5, \.op4, \.pch", reduced.write, tmp_path / "cb.txt", error=ResultError)
    monkeypatch.setitem(sys.modules, "pyyeti.nastran", None)
    monkeypatch.setitem(sys.modules, "pyyeti", None)
    refuses(r"^pip install 'femb\[fe\]': .*pyyeti, which is not installed", reduced.write, tmp_path / "cb.op4")
