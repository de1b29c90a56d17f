"""Test data, correlation and identification: a universal file of pyuff, closed forms, and a fit by another program."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from oracles import two_panels as panels

from femb import ModelError, correlate, identify, load_case, modes, read_test_data
from femb.base.errors import FembWarning

# written by pyuff 2.5.8, whose unit is the millimetre
UNIVERSAL = Path(__file__).with_name("panel_test.unv")
SYSTEMS = Path(__file__).with_name("systems_test.uff")


def test_a_universal_file_of_another_program():
    data = read_test_data(UNIVERSAL)
    np.testing.assert_allclose(data.frequencies, [12.5, 80.25])
    np.testing.assert_allclose(data.damping, [0.01, 0.02])
    np.testing.assert_allclose(data.places, [[1, 0, 0], [2, 0, 0], [4, 0, 0]])
    np.testing.assert_allclose(data.directions, np.tile([0, 0, 1], (3, 1)))
    np.testing.assert_allclose(data.shapes.T, [[0.1, -0.4, 1.0], [0.5, 1.0, -0.75]])
    assert data.traces == (("1", "2", "3"),)
    (function,) = data.responses
    assert (function.output, function.input, function.units) == ("3z", "1z", ("m/s2", "N"))
    np.testing.assert_allclose(function.values, 1e-3 / (4.0 - function.abscissa**2 + 0.2j), rtol=1e-9)


BEAM_AT_THE_ORIGIN = """
[sections.s]
shape = { rectangle = [0.05, 0.01] }
material = "aluminium 6061-T6"
[beams.b]
section = "s"
length = 1.0
elements = 4
start = { at = [0, 0, 0], direction = [1, 0, 0], y_axis = [0, 1, 0] }
[springs.k]
start = { body = "ground", at = [1, 0, -1] }
end = { beam = "b", node = -1 }
stiffness = 1000.0
"""
BODY_THERE = """
[bodies.hub]
mass = 0.5
inertia = 0.01
[springs.hub]
start = { body = "hub" }
end = { beam = "b", node = 1 }
stiffness = 500.0
"""


def own_modes(case, folder):
    """A case and a file of its own modes at the nodes of its beam."""
    path, data = folder / "beam.toml", folder / "own.csv"
    path.write_text(case)
    found = modes(load_case(path).model, 4)
    beam = found.results().beams["b"].position
    rows = [
        f"{k + 1},{found.frequencies[k]},P{i},{i / 4},0,0,{'xyz'[c]},{beam[k + 1, i, c] - beam[0, i, c]}"
        for k in range(4) for i in range(5) for c in range(3)
    ]  # fmt: skip
    data.write_text("\n".join(["mode,frequency,point,x,y,z,direction,real", *rows, ""]))
    return path, data


def test_what_moves_at_the_origin_is_not_the_ground(tmp_path):
    """A model with its own modes: the node at the origin of the ground moves, and one that the ground holds does not;
    a body beside it is another part, which is said."""
    found = correlate(*own_modes(BEAM_AT_THE_ORIGIN, tmp_path))
    np.testing.assert_allclose(np.diag(found.mac), 1.0, rtol=1e-6)
    held = BEAM_AT_THE_ORIGIN.replace("start = { at = [0, 0, 0],", 'start = { body = "ground", at = [0.4, 0, 0],')
    path, data = own_modes(held, tmp_path)
    text = data.read_text().replace(",P", ",Q").splitlines()
    moved = [",".join([*(f := row.split(","))[:3], str(float(f[3]) + 0.4), *f[4:]]) for row in text[1:]]
    data.write_text("\n".join([text[0], *moved, ""]))
    found = correlate(path, data)
    np.testing.assert_allclose(np.diag(found.mac), 1.0, rtol=1e-6)
    assert not found.shapes[:3].any()  # a clamped node, of a frame at the origin
    assert not found.distances[:3].any()
    with pytest.warns(FembWarning, match=r"\[0.0, 0.0, 0.0\] moves with (hub|b, node 0), and not with (b, node 0|hub)"):
        correlate(*own_modes(BEAM_AT_THE_ORIGIN + BODY_THERE, tmp_path))


def test_systems_of_nodes_and_binary_functions_of_another_program(tmp_path):
    data = read_test_data(SYSTEMS)
    c, s = np.cos(0.3), np.sin(0.3)
    # in turned axes with an origin; cylindrical ones, at 90 degrees
    np.testing.assert_allclose(data.places, [[1 + 0.5 * c, 2 + 0.5 * s, 3], [0, 2, 1.5], [0, 2, 1.5]], atol=1e-12)
    np.testing.assert_allclose(data.directions, [[c, s, 0], [0, 1, 0], [0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(data.shapes[:, 0], [1.0, 1.0, 2.0])
    binary, text = data.responses
    np.testing.assert_allclose(binary.values, 1.0 / (4.0 - binary.abscissa**2 + 0.2j), rtol=1e-15)
    np.testing.assert_allclose(text.values, binary.values, atol=1e-11)
    content = SYSTEMS.read_bytes()
    for change, said in (
        (lambda b: b.replace(b"    58b     1     2", b"    58b     1     1"), "dataset 58b: has no end behind"),
        (lambda b: b[: b.index(b"58b") + 1000], "dataset 58b: has no end behind|ends within its header"),
        (lambda b: b.replace(b"         7         7", b"         9         7"), "node 1 has the coordinate system 9"),
        (lambda b: b.replace(b"         8         1", b"         8         2"), "is no matrix of 4 x 3, or spherical"),
    ):
        path = tmp_path / "damaged.uff"
        path.write_bytes(change(content))
        with pytest.raises(ModelError, match=said):
            read_test_data(path)


def test_a_deck_correlates_with_its_own_modes(tmp_path):
    """Modes of a cantilever of CBAR as data: pairs, MAC of one, and frequencies that a file in mm says wrongly."""
    n, L = 16, 2.0
    grids = [f"GRID,{k + 1},,{1000.0 * L * k / n!r},0.,0." for k in range(n + 1)]
    bars = [f"CBAR,{k},2,{k},{k + 1},0.,1.,0." for k in range(1, n + 1)]
    metal = ["PBAR,2,1,300.,2500.,225000.,5000.", "MAT1,1,7.+4,,.3,2.7-9", "SPC1,1,123456,1"]
    path = tmp_path / "boom.bdf"
    path.write_text("\n".join(["BEGIN BULK", *grids, *bars, *metal, "ENDDATA", ""]))
    # Euler and Bernoulli, bending along y
    rate = np.sqrt(7e10 * 2.5e-9 / (2700.0 * 3e-4 * L**4)) / (2.0 * np.pi)
    rows = []
    for mode, root in enumerate(ROOTS, 1):
        ratio = (np.cosh(root) + np.cos(root)) / (np.sinh(root) + np.sin(root))
        for x in (0.5, 1.0, 1.5, 2.0):
            z = root * x / L
            w = np.cosh(z) - np.cos(z) - ratio * (np.sinh(z) - np.sin(z))
            rows.append(f"{mode},{root**2 * rate},P{x},{x},0,0,y,{w}\n")
    data = written(tmp_path, HEAD + "".join(rows))
    with pytest.warns(FembWarning, match="supports are left out"):
        free = correlate(path, data, unit="mm-t-s")
    assert free.frequencies[0] > 1.0  # elastic modes alone
    found = correlate(path, data, held="supports", unit="mm-t-s")
    np.testing.assert_allclose(found.frequencies[found.pairs], found.data.frequencies, rtol=0.01)  # lumped masses
    assert found.mac[range(2), found.pairs].min() > 0.998
    with pytest.raises(ModelError, match="are they in another unit"):
        correlate(path, data, held="supports", unit=1e-6)
    with pytest.raises(ModelError, match="is a deck, of which held = 'supports' and unit"):
        correlate(path, data, damped=True)


def written(tmp_path, text, name="test.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


HEAD = "mode,frequency,point,x,y,z,direction,real\n"
SHAPE = UNIVERSAL.read_text().splitlines()


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (HEAD + "1,nan,P,0,0,0,z,1\n", "t.csv", "line 2: frequency: got 'nan', wanted a finite number"),
        ("mode,frequency,sigma\n1,2.0,0\n", "t.csv", "line 2: sigma: got '0', a deviation must be above zero"),
        (HEAD + "1,2.0,P,0,0,0,z\n", "t.csv", "line 2: got 7 fields, wanted 8"),
        (HEAD + "1,2.0,P,0,0,0,up,1\n", "t.csv", "direction: got 'up', wanted x, -y, or three numbers"),
        (HEAD + "1,2.0,P,0,0,0,z,1\n1,2.0,Q,4000,0,0,z,1\n", "t.csv", "4e\\+03 m apart, probably in another unit"),
        ("mode,freq\n1,2\n", "t.csv", "no column 'freq'"),
        ("mode\n1\n", "t.csv", "the column frequency is missing"),
        ("\n".join(SHAPE[:-2]), "t.unv", "has no end, a line with -1"),
        ("\n".join(SHAPE).replace("1.25000e+01", "        NaN"), "t.unv", "dataset 55 at line .* is damaged"),
    ],
)
def test_bad_data_is_named(tmp_path, text, name, message):
    with pytest.raises(ModelError, match=message):
        read_test_data(written(tmp_path, text, name))


# A cantilever: the roots of cosh x cos x = -1 and its shapes.
ROOTS = (1.875104068711961, 4.694091132974174)
PANEL = """
[sections.panel]
shape = { rectangle = [0.3, 0.01] }
youngs_modulus = 7e10
shear_modulus = 2.7e10
density = 2700.0
[beams.panel]
section = "panel"
length = 2.0
elements = 6
start = { body = "ground", direction = [1, 0, 0] }
[parameters.modulus]
entry = "sections.panel.youngs_modulus"
range = [5e10, 9e10]
"""


def cantilever(modulus):
    rows, length = [HEAD.strip()], 2.0
    for n, root in enumerate(ROOTS, 1):
        f = root**2 / (2.0 * np.pi * length**2) * np.sqrt(modulus * 0.01**2 / (12.0 * 2700.0))
        s = (np.cosh(root) + np.cos(root)) / (np.sinh(root) + np.sin(root))
        for x in (2.0 / 3.0, 4.0 / 3.0, 2.0):
            k = root * x / length
            w = np.cosh(k) - np.cos(k) - s * (np.sinh(k) - np.sin(k))
            # at points 0.1 m beside the axis, which turn with the section
            rows.append(f"{n},{f!r},P{x:.2f},{x!r},0.1,0,z,{w!r}".replace("np.float64(", "").replace(")", ""))
    return "\n".join(rows) + "\n"


@pytest.fixture
def panel(tmp_path):
    return written(tmp_path, PANEL, "panel.toml"), written(tmp_path, cantilever(6.5e10))


def test_a_cantilever_correlates_with_its_closed_form(panel, tmp_path):
    found = correlate(*panel)
    assert np.min(found.mac[[0, 1], found.pairs]) > 0.9999
    assert np.min(found.cross[[0, 1], found.pairs]) > 0.9999
    assert np.min(found.comac) > 0.9999
    np.testing.assert_allclose(found.distances, 0.1, rtol=1e-9)
    factor = found.frequencies[found.pairs] / found.data.frequencies
    np.testing.assert_allclose(factor, np.sqrt(7.0 / 6.5), rtol=3e-3)
    assert found.draw(tmp_path / "c.png").exists()


def test_its_modulus_is_identified(panel, tmp_path):
    found = identify(*panel, hold_out=[2])
    assert found.values[0] == pytest.approx(6.5e10, rel=3e-3)
    assert found.chi2 < 1e-3 < np.sum(found.before**2)
    before, after = found.held_out["mode 2, Hz"]
    assert abs(after) < 0.5 < 5.0 < abs(before)
    rows, (name,), deviation = found.table().splitlines(), found.parameters, found.deviations[0]
    assert rows[1].split()[:4] == [name, f"{found.start[0]:.7g}", f"{found.values[0]:.7g}", f"{deviation:.4g}"]
    assert f"held out: mode 2, Hz {before:.3f} before, {after:.3f} after" in rows
    for side, word in ((-1, "least"), (1, "largest")):
        at_end = replace(found, at_bound=np.array([side])).table().splitlines()[1]
        assert at_end.removeprefix(rows[1]) == f"  at its {word} value"
    assert found.draw(tmp_path / "i.png").exists()


def test_a_shape_that_is_rounding_is_paired_by_its_frequency(panel, tmp_path):
    """Torsion measured on its axis: rounding in the shape of the second mode of bending, which MAC would pair."""
    b, t, length = 0.3, 0.01, 2.0
    rigidity = 2.7e10 * b * t**3 / 3.0 * (1.0 - 0.63 * t / b)
    twist = np.sqrt(rigidity / (2700.0 * b * t * (b**2 + t**2) / 12.0)) / (4.0 * length)
    rows = cantilever(6.5e10).replace(",0.1,0,z", ",0,0,z").splitlines()
    shape = [row.split(",", 2)[2] for row in rows[4:]]
    noise = [f"3,{twist},{'e-17'.join([row, ''])}" for row in shape]
    path = written(tmp_path, "\n".join([*rows, *noise, ""]), "axis.csv")
    found = correlate(panel[0], path)
    assert found.by_frequency.tolist() == [2]
    assert np.isnan(found.mac[2]).all()
    assert np.isnan(found.mac[:, found.pairs[2]]).all()
    assert found.frequencies[found.pairs[2]] == pytest.approx(twist, rel=5e-3)
    assert "by frequency: at the measured points its shape is rounding" in found.table()
    assert np.min(found.comac) > 0.9999
    fit = identify(panel[0], path)
    assert fit.values[0] == pytest.approx(6.5e10, rel=3e-3)
    assert "mode 3 of test 1 is paired by frequency" in fit.table()
    # a shape known at one point has MAC one with every mode
    alone = written(tmp_path, "\n".join([rows[0], *(row for row in rows if ",P2.00" in row), ""]), "alone.csv")
    assert correlate(panel[0], alone).pairs.tolist() == found.pairs[:2].tolist()


@pytest.mark.slow
def test_a_fit_says_why_its_values_may_be_wrong(panel, tmp_path):
    """The modulus of the closed form is outside the range; elements differ from the closed form by parts in ten
    thousand, far above deviations of a millionth."""
    with pytest.warns(FembWarning, match=r"modulus ends at its largest value, 6\.4e\+10 Pa"):
        identify(
            *panel, {"modulus": {"entry": "sections.panel.youngs_modulus", "value": 6e10, "range": [5e10, 6.4e10]}}
        )
    rows = cantilever(6.5e10).replace("direction,", "direction,sigma,").replace(",0,z,", ",0,z,1e-5,")
    with pytest.warns(FembWarning, match=r"chi2 is .* per freedom, 3: residuals are larger"):
        found = identify(panel[0], written(tmp_path, rows, "sharp.csv"))
    assert found.freedom == 3
    assert len(found.doubts) == 1


TWO = {
    "k1": {"entry": "springs.left.stiffness", "value": 1500.0, "range": [1000.0, 3000.0]},
    "k2": {"entry": "springs.right.stiffness", "value": 1650.0, "range": [1000.0, 3000.0]},
    "m_p": {"entries": ["bodies.left.mass", "bodies.right.mass"], "value": 20.0, "range": [10.0, 40.0]},
}
COLUMNS = "mode,frequency,sigma\n"


@pytest.fixture
def tests(tmp_path):
    free = written(tmp_path, COLUMNS + "1,0.25251,2e-4\n2,0.63982,5e-4\n", "free.csv")
    held = written(tmp_path, COLUMNS + "1,0.23999,2e-4\n2,0.25211,2e-4\n", "held.csv")
    return written(tmp_path, panels.CASE, "two.toml"), free, held


@pytest.mark.slow
def test_two_panels_fit_as_in_a_program_that_shares_nothing(tests):
    case, free, held = tests
    found = identify(case, [(free, None), (held, "hub")], TWO)
    np.testing.assert_allclose(found.values, [1531.19037197, 1690.34553155, 20.31053998], rtol=1e-8)
    np.testing.assert_allclose(found.deviations, [3.2156056, 3.4113831, 0.0553090], rtol=1e-6)
    np.testing.assert_allclose([found.correlation[0, 1], found.correlation[0, 2]], [0.378499, 0.736003], atol=1e-6)
    np.testing.assert_allclose(found.singular, [1148.55, 616.19, 282.76], rtol=1e-5)
    assert found.chi2 == pytest.approx(4.47923804, rel=1e-8)
    assert found.not_told == []
    prior = identify(case, [(free, None), (held, "hub")], TWO, priors={"m_p": 0.1})
    np.testing.assert_allclose(prior.values, [1528.0823300, 1687.0687004, 20.2379734], rtol=1e-8)


@pytest.mark.slow
def test_what_the_data_cannot_tell_is_a_combination(tests):
    """Held panels tell k/(J + m d^2): along the free direction both springs follow the mass, m d^2/(J + m d^2)."""
    case, _, held = tests
    found = identify(case, held, TWO, held="hub")
    inertia = 25.0 * found.values[2]
    follows = inertia / (500.0 / 3.0 + inertia)
    assert found.singular[2] < 1e-4
    np.testing.assert_allclose(found.directions[2], [follows, follows, 1.0], rtol=1e-4)
    assert np.isinf(found.deviations).all()
    (text,) = found.not_told
    assert text.endswith("+1.00 m_p")
    assert "the data cannot tell: " + text in found.table()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"priors": {"k3": 1.0}}, "priors: no parameter 'k3'"),
        ({"hold_out": [3]}, "hold_out: got mode 3; the test has 2 modes"),
        ({"hold_out": [1, 2]}, "hold_out: leaves no measured mode to fit"),
        ({"priors": {"k1": 0.0}}, "priors: k1: got 0, wanted a standard deviation above zero"),
    ],
)
def test_wrong_words_of_a_fit(tests, words, message):
    with pytest.raises(ModelError, match=message):
        identify(tests[0], tests[2], TWO, held="hub", **words)


@pytest.mark.slow
def test_frequencies_in_another_unit_are_named_by_their_size(tests, tmp_path):
    """Of the modes of the hub that is free, in rad/s."""
    data = written(tmp_path, COLUMNS + "1,1.5866,2e-3\n2,4.0201,2e-3\n", "rad.csv")
    unit = pytest.warns(FembWarning, match=r"are 6.33 times those of the model: are they in rad/s\? Give them in Hz")
    with pytest.warns(FembWarning, match="k1 ends at its largest value, 3000 N m/rad"), unit:
        identify(tests[0], data, {"k1": TWO["k1"]})
