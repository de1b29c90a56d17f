"""Sections from files of VABS, BECAS and BeamDyn, and from tables of stations."""

import numpy as np
import pytest
from models import of_parts, refuses

import femb
from femb import Attachment, ExactBeam, Load, ModelError, read_sections
from femb.elements.beam.section_files import one_section

# A centroid at +y: stretching bends, with D_16 = -EA y
EA, Y, MASS, CENTRE = 2e6, 0.03, 4.0, (0.02, -0.01)
K = np.diag([EA, 5e5, 4e5, 300.0, 800.0, 900.0 + EA * Y**2])
K[0, 5] = K[5, 0] = -EA * Y
C = np.cross(np.eye(3), [0.0, *CENTRE])
M = np.block([[MASS * np.eye(3), -MASS * C], [MASS * C, np.diag([0.06, 0.02, 0.05]) - MASS * C @ C]])
Z_ALONG = [1, 2, 0, 4, 5, 3]  # x = our y, y = our z, z = our x


def text_of(matrix):
    return "\n".join("  ".join(f"{x: .12E}" for x in row) for row in matrix) + "\n"


def other(matrix):
    return matrix[np.ix_(Z_ALONG, Z_ALONG)]


def vabs():
    return (
        f" The 6X6 Mass Matrix\n ========\n\n{text_of(M)}\n"
        f" Timoshenko Stiffness Matrix (1-extension; 2,3-shear, 4-twist; 5,6-bending)\n ======\n\n{text_of(K)}\n"
    )


def beamdyn(stations=(0.0, 1.0), mu=(1e-3,) * 6):
    blocks = "\n".join(
        f" {eta:.6f}\n{text_of(other((1.0 - 0.5 * eta) * K))}\n{text_of(other((1.0 - 0.5 * eta) * M))}"
        for eta in stations
    )
    return (
        " ------- BEAMDYN V1.00.* INDIVIDUAL BLADE INPUT FILE ------\n Test\n ------ BLADE PARAMETERS ------\n"
        f"   {len(stations)}   station_total    - Number of blade input stations (-)\n"
        "   1   damp_type        - Damping type: 0: no damping; 1: damped\n ----- DAMPING COEFFICIENT -----\n"
        f" mu1 mu2 mu3 mu4 mu5 mu6\n (-) (-) (-) (-) (-) (-)\n {' '.join(f'{x:g}' for x in mu)}\n"
        f" ------- DISTRIBUTED PROPERTIES -------\n{blocks}"
    )


def table(stations=(0.0, 2.0)):
    pairs = [(i, j) for i in range(6) for j in range(i, 6)]
    names = ["station", *(f"{word}{i + 1}{j + 1}" for word in "KM" for i, j in pairs), "damping"]
    rows = [[s, *((1.0 - 0.25 * s) * A[i, j] for A in (K, M) for i, j in pairs), 1e-3] for s in stations]
    return "\n".join([",".join(names), *(",".join(map(repr, map(float, row))) for row in rows)]) + "\n"


@pytest.mark.parametrize(("name", "text"), [("s.K", vabs()), ("s.txt", text_of(other(K)) + "\n" + text_of(other(M)))])
def test_one_section(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    (section,) = read_sections(tmp_path / name).sections
    np.testing.assert_allclose(section.stiffness_matrix, K, rtol=1e-11)
    np.testing.assert_allclose(section.mass(), M, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(section.offset(), CENTRE, rtol=1e-9)


@pytest.mark.parametrize(("name", "text"), [("blade.dat", beamdyn()), ("blade.csv", table())])
def test_stations(tmp_path, name, text):
    """The same blade from both; it bends as it is stretched beside its centroid."""
    (tmp_path / name).write_text(text)
    found = read_sections(tmp_path / name, name="blade", length=2.0)
    np.testing.assert_allclose(found.stations, (0.0, 2.0))
    assert [section.name for section in found.sections] == ["blade 1", "blade 2"]
    assert found.sections[0].damping == 1e-3
    np.testing.assert_allclose(found.sections[1].stiffness_matrix, 0.5 * K, rtol=1e-11)
    np.testing.assert_allclose(found.sections[1].mass(), 0.5 * M, rtol=1e-11, atol=1e-12)
    start = Attachment(body="ground", direction=(1.0, 0.0, 0.0))
    words = {"sections": found.sections, "stations": found.stations, "length": 2.0, "elements": 4}
    model = of_parts(ExactBeam("b", start=start, **words), Load("pull", beam="b", force=(0.1, 0.0, 0.0)))
    tip = femb.static(model, steps=1).beams["b"].position[-1, -1]
    # the moment of the force about the centroid over a bending stiffness that falls by a quarter per metre
    np.testing.assert_allclose(tip[1], 0.1 * Y / 900.0 * 8.0 * (1.0 - np.log(2.0)), rtol=1e-3)


def test_blade_files_of_later_versions(tmp_path):
    """With modal damping beside the stiffness-proportional, titles in small letters, and numbers such as 41.6E+5."""
    head = """------- BEAMDYN V1.00.* INDIVIDUAL BLADE INPUT FILE -------
 Test Format 1
------ Blade Parameters ---------------------------
2                       station_total    - Number of blade input stations (-)
1                       damp_type        - Damping type: 0: no damping; 1: damped
------ Stiffness-Proportional Damping [used only if damp_type=1] ---------------
   mu1        mu2        mu3        mu4        mu5        mu6
   (-)        (-)        (-)        (-)        (-)        (-)
1.0E-03    1.0E-03    1.0E-03    1.0E-03    1.0E-03    1.0E-03
------ Modal Damping [used only if damp_type=2] --------------------------------
4                        n_modes    - Number of modal damping coefficients (-)
0.01 0.02 0.03 0.04      zeta       - Damping coefficients for mode 1 through n_modes
------ Distributed Properties --------------------------------------------------
"""
    body = beamdyn().split("DISTRIBUTED PROPERTIES -------\n")[1].replace("2.000000000000E+06", "20.E5")
    (tmp_path / "blade.inp").write_text(head + body)
    found = read_sections(tmp_path / "blade.inp", length=3.0)
    np.testing.assert_allclose(found.stations, (0.0, 3.0))
    assert found.sections[0].damping == 1e-3
    np.testing.assert_allclose(found.sections[0].stiffness_matrix, K, rtol=1e-11)
    (tmp_path / "blade.inp").write_text(
        head.replace("1                       damp", "2                       damp") + body
    )
    with pytest.raises(ModelError, match=r"damp_type 2 is not of the sections: make it 0, and give \[modal_damping\]"):
        read_sections(tmp_path / "blade.inp", length=3.0)


@pytest.mark.parametrize(
    ("name", "text", "words", "message"),
    [
        ("s.K", "nothing", {}, "there is no 'Timoshenko Stiffness Matrix'"),
        ("s.txt", text_of(K), {}, "got 6 rows of six numbers, wanted 12"),
        ("s.txt", text_of(-K) + text_of(M), {}, "stiffness_matrix: must be positive definite"),
        ("b.dat", beamdyn(), {}, "give its length"),
        ("b.dat", beamdyn((1.0, 0.0)), {"length": 2.0}, "stations out of order: 0 m follows 2 m"),
        ("b.csv", table((2.0, 0.0)), {}, "stations out of order: 0 m follows 2 m"),
        ("b.csv", "station,K11,M11,EI\n0,1,1,1\n", {}, "unknown column 'EI'"),
        ("b.csv", "station,K11,M11\n0,1,x\n", {}, "row 1: wanted a number in each of 3 columns"),
        ("b.csv", "station,K11,M11\n0,1,1,1\n", {}, "row 1: wanted a number in each of 3 columns"),
        ("b.csv", "station,K11,M11\n", {}, "there are no rows below the columns"),
        ("b.csv", "station,K11,M11,K11\n0,1,1,1\n", {}, "column 'K11' is given twice"),
        ("s.K", vabs(), {"format": "nastran"}, "got the format 'nastran', wanted one of 'vabs'"),
    ],
)
def test_refused(tmp_path, name, text, words, message):
    (tmp_path / name).write_text(text)
    refuses(message, read_sections, tmp_path / name, **words)


def test_six_damping_coefficients(tmp_path):
    """Those of BeamDyn are of x, y, z with z along the beam; in a table they have the order of the section."""
    (tmp_path / "b.dat").write_text(beamdyn(mu=(1, 2, 3, 4, 5, 6)))
    wanted = [3, 1, 2, 6, 4, 5]
    for section in read_sections(tmp_path / "b.dat", length=2.0).sections:
        np.testing.assert_array_equal(section.damping, wanted)
    header, *lines = table().splitlines()
    words = header.replace("damping", ",".join(f"damping{i + 1}" for i in range(6)))
    rows = [",".join([line.rpartition(",")[0], *map(str, wanted)]) for line in lines]
    (tmp_path / "b.csv").write_text("\n".join([words, *rows]))
    for section in read_sections(tmp_path / "b.csv").sections:
        np.testing.assert_array_equal(section.damping, wanted)


def test_no_file(tmp_path):
    refuses("cannot be read: No such file", read_sections, tmp_path / "none.K")


def test_twelve_rows_in_the_order_of_vabs_are_recognised(tmp_path):
    """J1 = J2 + J3 of a section tells which axis is along it, also about a point beside its mass centre."""
    mass = np.block([[MASS * np.eye(3), -MASS * C], [MASS * C, np.diag([0.07, 0.02, 0.05]) - MASS * C @ C]])
    for name, matrices in (("ours.txt", (K, mass)), ("becas.txt", (other(K), other(mass)))):
        (tmp_path / name).write_text("\n".join(map(text_of, matrices)))
        found = femb.Section("blade", file=str(tmp_path / name))
        assert np.diag(found.stiffness()) == pytest.approx(np.diag(K)[[0, 3, 4, 5]])
        np.testing.assert_allclose(one_section(tmp_path / name)[0], K, atol=1e-9 * EA)
        np.testing.assert_allclose(one_section(tmp_path / name)[1], mass, atol=1e-12)
    with pytest.raises(ModelError, match=r"J1 = J2 \+ J3 .* x is along the section, the order of VABS, not z as BECAS"):
        read_sections(tmp_path / "ours.txt", format="becas")
