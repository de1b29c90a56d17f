"""Results as tables of pandas and xarray, spectra, and what notebooks show of results and models."""

import json

import numpy as np
import pytest
from models import of_parts, refuses

import femb
from femb.base.errors import ResultError
from femb.elements import Ground, Load, PointMass, RigidBody
from femb.export.catalogue import export_csv
from femb.results.results import Results

T = np.arange(1000) * 0.01
F1, A1, A2 = 5.0, 0.3, 2.0


@pytest.fixture(scope="module")
def results():
    wave = A1 * np.sin(2.0 * np.pi * F1 * T) + A2
    position = np.stack([wave, T, 0.0 * T], axis=1)
    nodes = np.arange(1000 * 12.0).reshape(1000, 4, 3)
    series = {"time": T, "bodies/hub/position": position, "bodies/hub/quaternion": np.ones((1000, 4))}
    return Results(series | {"beams/boom/position": nodes, "beams/hub/position": nodes, "audit/work": T}, {}, {})


def test_a_data_frame_has_the_numbers_by_name(results):
    pandas = pytest.importorskip("pandas")
    table = results.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert (table.index.name, len(table), table.shape[1]) == ("time", 1000, 3 + 4 + 12 + 12 + 1)
    np.testing.assert_array_equal(table["bodies.hub.position.x"], results.bodies["hub"].position[:, 0])
    np.testing.assert_array_equal(table["beams.boom.position.2.y"], results.beams["boom"].position[:, 2, 1])
    chosen = results.to_pandas("audit.work", "boom.position")
    assert list(chosen)[:2] == ["audit.work", "beams.boom.position.0.x"]
    chosen = results.to_pandas("boom.tip.position", "bodies.hub.position.y")
    assert list(chosen) == [*(f"beams.boom.-1.position.{axis}" for axis in "xyz"), "bodies.hub.position.y"]
    np.testing.assert_array_equal(chosen["beams.boom.-1.position.z"], results.beams["boom"].position[:, -1, 2])


def test_columns_of_joints_have_their_names_and_all_columns_units(results):
    pytest.importorskip("pandas")
    joint = Results(
        {"time": T, "joints/slide/coordinates": np.stack([T, 2.0 * T], axis=1)},
        {},
        {"joints/slide": {"names": '["stroke", "angle"]'}},
    )
    table = joint.to_pandas()
    assert list(table) == ["joints.slide.coordinates.stroke", "joints.slide.coordinates.angle"]
    np.testing.assert_array_equal(table["joints.slide.coordinates.angle"], 2.0 * T)
    assert table.attrs["units"] == dict(zip(table, ("m", "rad"), strict=True))
    assert joint.to_pandas("joints.slide.coordinates.angle").attrs["units"] == {"joints.slide.coordinates.angle": "rad"}
    units = results.to_pandas().attrs["units"]
    assert (units["bodies.hub.position.x"], units["beams.boom.position.2.y"], units["audit.work"]) == ("m", "m", "J")


@pytest.mark.slow
def test_a_dataset_has_units_and_dimensions(results):
    pytest.importorskip("xarray")
    data = results.to_xarray("bodies.hub.position", "bodies/hub/quaternion", "boom.position")
    position = data["bodies.hub.position"]
    assert (position.dims, position.attrs["units"]) == (("time", "axis"), "m")
    np.testing.assert_array_equal(position.sel(axis="y"), T)
    assert data["bodies.hub.quaternion"].dims == ("time", "component")
    np.testing.assert_array_equal(data["beams.boom.position"][:, 1, 2], results.beams["boom"].position[:, 1, 2])
    assert data["beams.boom.position"].dims == ("time", "beams.boom.node", "axis")


def test_spectra_of_a_sine_have_its_amplitude_and_its_power(results):
    frequency, amplitude = results.spectrum("bodies.hub.position", "amplitude")
    peak = np.argmax(amplitude[1:, 0]) + 1
    assert frequency[peak] == pytest.approx(F1)
    assert amplitude[peak, 0] == pytest.approx(A1, rel=1e-12)
    assert amplitude[0, 0] == pytest.approx(A2, rel=1e-12)
    frequency, density = results.spectrum("bodies.hub.position")
    assert np.sum(density[:, 0]) * frequency[1] == pytest.approx(0.5 * A1**2, rel=1e-9)
    assert density[0, 0] == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize("count", [16, 17])
def test_lines_of_a_spectrum_hold_the_mean_square(count):
    """Also the last line: of an even number of times half a cycle an interval, which has no second phase."""
    interval, line = 0.1, count // 2
    time = interval * np.arange(count)
    last = Results({"time": time, "audit/work": 3.0 * np.cos(2.0 * np.pi * line * np.arange(count) / count)}, {}, {})
    frequency, amplitude = last.spectrum("audit.work", "amplitude")
    assert frequency[-1] == pytest.approx(line / (count * interval))
    np.testing.assert_allclose(amplitude, [0.0] * line + [3.0], atol=1e-12)
    values = np.random.default_rng(2).standard_normal(count)
    noise = Results({"time": time, "audit/work": values}, {}, {})
    frequency, amplitude = noise.spectrum("audit.work", "amplitude")
    whole = np.full(len(amplitude), 0.5)  # a sine has half the square of its amplitude
    whole[0] = 1.0
    if count % 2 == 0:
        whole[-1] = 1.0
    assert whole @ amplitude**2 == pytest.approx(np.mean(values**2), rel=1e-12)
    # of the window of Hann, without the mean
    window = np.sin(np.pi * np.arange(count) / count) ** 2
    density = noise.spectrum("audit.work")[1]
    wanted = np.sum((window * (values - np.mean(values))) ** 2) / np.sum(window**2)
    assert np.sum(density) * frequency[1] == pytest.approx(wanted, rel=1e-12)


def test_names_that_are_none_are_refused_with_those_that_are(results):
    for name, words in (
        ("hub.position", "there are several: give one of 'bodies.hub.position', 'beams.hub.position'"),
        ("boom.speed", "no such quantity .* wanted ITEM.QUANTITY.*; 'boom' has 'position', 'displacement'"),
        ("position", "did you mean 'boom.position'"),
        ("xyz", "items are 'hub', 'boom', 'audit'"),
    ):
        refuses(words, results.spectrum, name, error=ResultError)
    uneven = Results({"time": T**2, "audit/work": T}, {}, {})
    refuses("equal intervals", uneven.spectrum, "audit.work", error=ResultError)
    with pytest.raises(ResultError, match="kind: got 'power', wanted 'psd' or 'amplitude'"):
        results.spectrum("audit.work", "power")


def test_names_are_completed_and_objects_are_shown_in_notebooks(results):
    assert results.bodies._ipython_key_completions_() == ["hub"]
    assert results.bodies["hub"]._ipython_key_completions_() == ["position", "quaternion"]
    assert "<td style='text-align: left'>&#x27;hub&#x27;</td>" in results._repr_html_()
    model = of_parts(RigidBody("hub", 1.0, 1.0), title="a <b>")
    assert repr(model) == "<Model 'a <b>': bodies: 'hub'>"
    assert "a &lt;b&gt;" in model._repr_html_()
    assert "hub" in model._repr_html_()
    assert repr(femb.Model()) == "<Model '': empty>"


def test_items_are_removed():
    body = PointMass("mass", 1.0)
    model = of_parts(Ground("base"), body, Load("push", body="mass", force=(1.0, 0.0, 0.0)), title="m")
    assert not model.problems()
    model.remove(body)
    assert "mass" not in model.bodies
    assert "'mass', which is not in the model" in str(model.problems()[0])
    refuses("wanted an item of this model", model.remove, body)
    assert model.joints == model.drivers == model.latches == model.sections == {}


@pytest.mark.slow
def test_components_of_shells_and_stresses_have_their_names(tmp_path):
    """In tables of all kinds: 11, 22, 12 of membrane forces, 13 and 23 of shear, places in elements of stresses."""
    xarray = pytest.importorskip("xarray")
    force = np.arange(12.0).reshape(2, 2, 3)
    arrays = {"membrane_force": force, "shear_force": force[..., :2]}
    shell = Results({"time": np.arange(2.0), **{f"shells/panel/{word}": x for word, x in arrays.items()}})
    assert list(shell.to_pandas())[:6] == [
        f"shells.panel.membrane_force.{e}.{c}" for e in (0, 1) for c in ("11", "22", "12")
    ]
    data = shell.to_xarray()
    assert isinstance(data, xarray.Dataset)
    np.testing.assert_array_equal(data["shells.panel.membrane_force"].sel(in_plane="12"), force[..., 2])
    shear = data["shells.panel.shear_force"]
    assert list(shear[shear.dims[-1]].values) == ["13", "23"]
    (table,) = export_csv(shell, tmp_path)
    head = table.read_text().split("\n")[0].split(",")
    assert head[1:4] == [f"element0_membrane_force_{c} [N/m]" for c in ("11", "22", "12")]
    assert head[-1] == "element1_shear_force_23 [N/m]"


@pytest.mark.parametrize(("angular", "unit", "force"), [([True], "rad", "N m"), ([False], "m", "N")])
def test_units_are_those_of_the_item(angular, unit, force):
    """What a spring of unknown motion measures its item has recorded."""
    block = {"time": np.arange(2.0), "springs/s/force": np.arange(2.0), "springs/s/rate": np.ones(2)}
    spring = Results(block, {}, {"springs/s": {"angular": json.dumps(angular)}}).springs["s"]
    assert (spring.columns_of("force")[0], spring.columns_of("rate")[0]) == (force, f"{unit}/s")
