"""Derivatives by many parameters of single elements at once: closed forms, sums and differences of whole analyses."""

import numpy as np
import pytest

import femb
from femb.base.errors import ModelError
from femb.study import sensitivity
from femb.study.sensitivity import sensitivities

COUNT, LENGTH, FORCE = 8, 0.25, 1e-4
STIFFNESS = 40.0 + 5.0 * np.arange(COUNT)


def chain():
    """A cantilever of beams, each with a section of its own, and a small force across its tip."""
    text = f"""
[loads.tip]
body = "end"
force = [0, 0, {FORCE}]
[joints.end]
kind = "fixed"
first = {{ beam = "b{COUNT - 1}", node = -1 }}
second = {{ body = "end" }}
[bodies.end]
mass = 0.5
inertia = 1e-3
position = [{COUNT * LENGTH}, 0, 0]
"""
    for k, stiffness in enumerate(STIFFNESS):
        host = 'body = "ground"' if k == 0 else f'beam = "b{k - 1}", node = -1'
        text += f"""
[sections.s{k}]
axial_stiffness = 1e6
torsional_stiffness = 50.0
bending_stiffness = [{stiffness}, 60.0]
mass_per_length = {0.3 + 0.01 * k}
inertia_per_length = [2e-3, 1e-3, 1e-3]
[beams.b{k}]
section = "s{k}"
length = {LENGTH}
elements = 2
start = {{ {host}, direction = [1, 0, 0] }}
"""
    return text


def plate(thickness):
    return f"""
[shells.panel]
elements = [4, 3]
corners = [[0, 0, 0], [1, 0, 0], [1, 0.8, 0], [0, 0.8, 0]]
thickness = {thickness}
material = {{ youngs_modulus = 7e10, shear_modulus = 2.7e10, density = 2700.0 }}
attach = {{ edge4 = "ground" }}
"""


THICKNESS = (0.004 + 1e-4 * np.arange(12)).tolist()


@pytest.fixture
def case(tmp_path):
    def written(text):
        path = tmp_path / "case.toml"
        path.write_text(text)
        return path

    return written


@pytest.fixture
def at_once(monkeypatch):
    """The numbers of models that were built for parameters one by one."""
    built, made = [], sensitivity.BesideValue.derivative
    monkeypatch.setattr(sensitivity.BesideValue, "derivative", lambda self, way: built.append(1) or made(self, way))
    return built


@pytest.mark.parametrize("word", ["position", "displacement"])
def test_tip_of_a_chain_of_beams(case, at_once, word):
    """d delta/d EI_k = -F int (L - x)^2 dx/EI_k^2 over beam k."""
    found = sensitivities(case(chain()), f"final of=end.{word}.z analysis=static", "sections.*.bending_stiffness.0")
    arm = LENGTH * (COUNT - np.arange(COUNT + 1))
    flexibility = FORCE * (arm[:-1] ** 3 - arm[1:] ** 3) / 3.0
    assert found.values[0] == pytest.approx(np.sum(flexibility / STIFFNESS), rel=1e-6)
    np.testing.assert_allclose(found.derivatives[0], -flexibility / STIFFNESS**2, rtol=1e-6)
    assert np.all(found.errors < 1e-7 * np.abs(found.derivatives))
    assert not at_once


def test_modes_of_a_chain_equal_those_one_by_one(case, monkeypatch, at_once):
    path, by = case(chain()), ["sections.*.bending_stiffness.0", "sections.*.mass_per_length"]
    of = ["natural_frequency", "natural_frequency mode=4", "mass"]
    found = sensitivities(path, of, by)
    assert not at_once
    monkeypatch.setattr(sensitivity, "groups", lambda *_: [])
    some = [0, COUNT - 1, COUNT + 3]
    single = sensitivities(path, of, [found.parameters[k] for k in some])
    scale = found.values[:, None] / found.nominal[some]
    np.testing.assert_allclose(found.derivatives[:, some] / scale, single.derivatives / scale, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.derivatives[2, COUNT:], LENGTH, rtol=1e-9)


def test_thicknesses_of_the_elements_of_a_plate(case, at_once):
    path = case(plate(THICKNESS))
    found = sensitivities(path, ["natural_frequency", "mass"], "shells.panel.thickness.*")
    assert not at_once
    assert found.units["shells.panel.thickness.3"] == "m"
    # the mass is linear in all of them, 0.8 m2 in 12 equal parts
    np.testing.assert_allclose(found.derivatives[1], 2700.0 * 0.8 / 12, rtol=1e-10)
    whole = sensitivities(path, "natural_frequency", {"all": {"entry": "shells.panel.thickness", "relative": True}})
    assert np.sum(found.derivatives[0] * THICKNESS) == pytest.approx(whole.derivatives[0, 0], rel=1e-6)
    for k in (0, 5):
        ends = []
        for sign in (1.0, -1.0):
            moved = list(THICKNESS)
            moved[k] *= 1.0 + sign * 1e-3
            ends.append(femb.modes(femb.load_case(case(plate(moved))).model, 1).frequencies[0])
        difference = (ends[0] - ends[1]) / (2e-3 * THICKNESS[k])
        assert found.derivatives[0, k] == pytest.approx(difference, rel=1e-5)


@pytest.mark.slow
def test_deflection_by_the_thicknesses_of_many_elements(case, at_once):
    """In some of many elements forces along an arbitrary motion hardly change; t d delta/dt = -3 delta of bending."""
    thickness = (0.004 + 1e-6 * (np.arange(144) % 97)).tolist()
    text = plate(thickness).replace("[4, 3]", "[12, 12]") + 'points = { tip = "corner3" }\n'
    path = case(text + '[loads.push]\nbody = "panel.tip"\nforce = [0, 0, 0.1]\n')
    of = "final of=panel.tip.displacement.z analysis=static"
    found = sensitivities(path, of, "shells.panel.thickness.*")
    assert not at_once
    change = float(np.sum(found.derivatives[0] * thickness))
    assert change == pytest.approx(-3.0 * found.values[0], rel=5e-4)
    whole = sensitivities(path, of, {"all": {"entry": "shells.panel.thickness", "relative": True}})
    assert change == pytest.approx(whole.derivatives[0, 0], rel=1e-7)


def test_a_list_of_equal_thicknesses_is_one_thickness(case):
    found = [femb.modes(femb.load_case(case(plate(t))).model, 3).frequencies for t in (0.004, [0.004] * 12)]
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_parameters_that_share_elements_are_told(case, at_once):
    """Two thicknesses and the modulus of all elements: the modulus is found by itself."""
    path = case(plate(THICKNESS))
    by = {f"t{k}": {"entries": [f"shells.panel.thickness.{j}" for j in (k, k + 1)], "relative": True} for k in range(7)}
    found = sensitivities(path, "mass", by)
    assert at_once
    np.testing.assert_allclose(found.derivatives[0], [180.0 * (THICKNESS[k] + THICKNESS[k + 1]) for k in range(7)])


@pytest.mark.parametrize(
    ("thickness", "message"),
    [
        ([0.004] * 11, "got 11 numbers, wanted one, or one of each of the 12 elements"),
        ([0.004] * 11 + [0.0], "got 0, must be above zero"),
    ],
)
def test_wrong_lists_of_thicknesses(case, thickness, message):
    with pytest.raises(ModelError, match=message):
        femb.load_case(case(plate(thickness)))


def test_a_pattern_that_nothing_matches(case):
    with pytest.raises(ModelError, match=r"no entry of the case matches 'shells\.panel\.thicknes\.\*'"):
        sensitivities(case(plate(THICKNESS)), "mass", "shells.panel.thicknes.*")


@pytest.mark.slow
def test_the_lightest_panel_of_forty_thicknesses_within_bands_of_frequencies(case):
    """In 60 runs: no frequency is outside, both halves are alike, and no thickness makes it lighter."""
    columns, rows = 8, 5
    count = columns * rows
    text = plate([0.003] * count).replace("elements = [4, 3]", f"elements = [{columns}, {rows}]")
    path = case(text.replace("0.8, 0]", "0.6, 0]"))
    first, second, third = femb.modes(femb.load_case(path).model, 3).frequencies[:3]
    found = femb.sweep(
        femb.Study(
            path, {},
            {"mass": {"kind": "mass"}}
            | {f"f{m}": {"kind": "natural_frequency", "mode": m, "by_shape": True} for m in (1, 2, 3)},
            parameters={
                f"t{k}": {"entry": f"shells.panel.thickness.{k}", "range": [0.0015, 0.006]} for k in range(count)
            },
            constraints={
                "f1": {"least": 1.15 * first},
                "f2": {"least": 0.97 * second, "largest": 1.03 * second},
                "f3": {"least": 1.05 * third},
            },
            best="least mass", design="optimize", runs=60,
        )
    )  # fmt: skip
    best = found.best
    assert len(found) < 60
    assert found.feasible[best]
    # a uniform panel has f = c t, and 2700 * 0.6 kg/m2 of it
    assert found["mass"][best] < 0.6 * (2700.0 * 0.6 * 0.003 * 1.15)
    thickness = np.array([found[f"t{k}"][best] for k in range(count)])
    np.testing.assert_allclose(thickness.reshape(rows, columns), thickness.reshape(rows, columns)[::-1], rtol=1e-3)
    # of what is free the mass changes as the limits that hold: m_t = sum of multipliers times f_t
    free = np.flatnonzero((thickness > 0.00151) & (thickness < 0.00599))
    assert len(free) >= 6
    path.write_text(text.replace("0.8, 0]", "0.6, 0]").replace(f"{[0.003] * count}", f"{thickness.tolist()}"))
    of = ["mass", "natural_frequency", "natural_frequency mode=3"]
    mass, f1, f3 = sensitivities(path, of, "shells.panel.thickness.*").derivatives[:, free]
    np.testing.assert_allclose(found.multipliers["f1 least"] * f1 + found.multipliers["f3 least"] * f3, mass, rtol=1e-3)
