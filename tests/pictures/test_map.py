"""Maps of studies: the margin of a law on a rigid body in closed form, its limit, and where it is not stable."""

from dataclasses import replace

import numpy as np
import pytest
from models import refuses

import femb
from femb import ResultError
from femb.pictures.study import draw_map
from femb.results.results import Results

J, CHANNEL, LIMIT = 300.0, "loads.torquer.torque.0", 1.5
CASE = """
[bodies.hub]
mass = 500.0
inertia = [300.0, 250.0, 350.0]

[loads.torquer]
body = "hub"
frame = "body"
torque = [0, 0, 0]

[controllers.law]
kind = "state_space"
D = [[-50.0, 0, 0, -400.0, 0, 0], [0, -50.0, 0, 0, -400.0, 0], [0, 0, -50.0, 0, 0, -400.0]]
inputs = ["bodies.hub.attitude", "bodies.hub.angular_velocity"]
outputs = ["loads.torquer.torque"]

[run]
duration = 1.0
"""


def delay_margin(k, d):
    """Of L = -(k + d s)/(J s^2): |L| = 1 at w, where its phase is atan(d w/k) above -pi."""
    w = np.sqrt((d * d + np.sqrt(d**4 + 4.0 * J * J * k * k)) / (2.0 * J * J))
    return np.arctan2(d * w, k) / w


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("map") / "case.toml"
    path.write_text(CASE)
    ranges = {"k": ("controllers.law.D.0.0", -80.0, -20.0), "d": ("controllers.law.D.0.3", -510.0, 90.0)}
    variables = {
        name: {"key": key, "kind": "range", "first": first, "last": last, "count": 7}
        for name, (key, first, last) in ranges.items()
    }
    outputs = {"delay": {"kind": "delay_margin", "channel": CHANNEL}}
    limits = {"delay": {"least": LIMIT}}
    return femb.sweep(femb.Study(path, variables=variables, outputs=outputs, constraints=limits, title="Law"))


def test_a_map_of_a_margin_has_its_closed_form(table, tmp_path):
    k, d = (-np.array(table[name]) for name in "kd")
    np.testing.assert_allclose(table["delay"], np.where(d > 0.0, delay_margin(k, d), 0.0), rtol=1e-9)
    np.testing.assert_array_equal(table.unstable, d < 0.0)
    assert table.nominal == {"k": -50.0, "d": -400.0}
    table.write(tmp_path / "sweep.h5")
    figure = draw_map(Results.read(tmp_path / "sweep.h5"))
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("k", "d")
    assert [each.get_ylabel() for each in figure.axes[1:]] == ["delay (s)"]
    (nominal,) = (line for line in axes.lines if line.get_marker() == "P")
    np.testing.assert_allclose(nominal.get_xydata(), [[-50.0, -400.0]])
    limit, hatched = (
        next(each for each in axes.collections if list(getattr(each, "levels", ())) == levels)
        for levels in ([LIMIT], [0.5, 1.5])
    )
    at = np.concatenate([path.vertices for path in limit.get_paths()])
    at = at[at[:, 1] < -210.0]  # above it the closed form bends within a cell
    assert len(at) > 10
    np.testing.assert_allclose(delay_margin(*-at.T), LIMIT, rtol=0.03)
    edge = np.concatenate([path.vertices for path in hatched.get_paths()])
    assert edge[:, 1].min() == pytest.approx(40.0)  # half a cell from the first that is not stable
    shown = {text.get_text() for text in axes.get_legend().get_texts()}
    assert shown == {"runs", "nominal", "not stable", "limit, 1.5"}


def test_a_map_is_of_two_numbers(table):
    few = replace(table, variables={"k": table["k"]})
    refuses("two or three variables with several numbers each; got k", draw_map, few.results(), error=ResultError)
    line = replace(table, variables={"k": table["k"], "d": table["k"]})
    refuses("not on one line", draw_map, line.results(), error=ResultError)
