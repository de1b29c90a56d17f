"""Campbell diagrams and modes over a parameter: what figures, results files and reports show; units of responses."""

import dataclasses

import numpy as np
from models import refuses

from femb import ResultError, Results, plot
from femb.case import load_case
from femb.case.schema import unit_of_entry
from femb.pictures.frequency import Campbell, draw_campbell, draw_response, ratio_of_units
from femb.reporting.page import study_of
from femb.results.sweep import Sweep
from femb.vibration.mode_sweep import ModeSweep

SPEED = np.linspace(0.0, 300.0, 4)  # rad/s


def swept(unit="rad/s", damping=0.01):
    frequencies = np.stack([20.0 + 0.0 * SPEED, 30.0 + SPEED / 10.0], axis=1)
    ratios = damping * np.ones_like(frequencies)
    labels = ("beams.one", "bodies.hub")
    return ModeSweep("wheels.disc.speed", SPEED, frequencies, ratios, np.ones_like(ratios), labels, 0.0 * ratios, unit)


def test_the_rate_is_in_rpm_with_its_multiples_and_names_at_the_curves():
    results = swept().sweep().results()
    found = Campbell.of(Sweep.of(results))
    np.testing.assert_allclose(found.speed, SPEED * 60.0 / (2.0 * np.pi))
    # the fastest is 47.7 Hz, the highest mode 60 Hz: two lines reach it, and a third is of three blades
    assert found.revolutions == (1, 2, 3)
    above, below = draw_campbell(results).get_axes()
    assert below.get_xlabel() == "wheels.disc.speed (rpm)"
    assert (above.get_ylabel(), below.get_ylabel()) == ("frequency (Hz)", "damping (%)")
    lines = [line for line in above.get_lines() if line.get_color() == "#999999"]
    for n, line in enumerate(lines, 1):
        x, y = line.get_data()
        np.testing.assert_allclose(y, n * np.array(x) / 60.0)
    names = {text.get_text() for text in above.texts if not text.get_text().endswith("rpm")}
    assert names == {"1P", "2P", "3P", "mode 1, beams.one", "mode 2, bodies.hub"}
    np.testing.assert_allclose(below.get_lines()[0].get_ydata(), 1.0)
    rings = [line for line in above.get_lines() if line.get_marker() == "o"]
    # 20 Hz is met at 1200, 600 and 400 rpm, 30 + n/(10 * 9.549) Hz by the second and third multiple
    two, three = (30.0 / (n / (2.0 * np.pi) - 0.1) * 30.0 / np.pi for n in (2, 3))
    wanted = [(two, two / 30.0), (1200.0, 20.0), (three, three / 20.0), (600.0, 20.0), (400.0, 20.0)]
    np.testing.assert_allclose([line.get_xydata()[0] for line in rings], wanted, rtol=1e-4)
    assert above.figure.get_suptitle() == "Modes over wheels.disc.speed"


def test_modes_that_move_alike_are_one_curve_with_one_name():
    one = swept().frequencies[:, :1]
    same = dataclasses.replace(swept(), frequencies=np.hstack([one, one * (1 + 1e-6)]), labels=("flap 1", "flap 2"))
    above, _ = draw_campbell(same.sweep().results()).get_axes()
    assert "modes 1, 2, flap" in {text.get_text() for text in above.texts}
    discs = dataclasses.replace(same, labels=("bodies.disc2", "bodies.disc2"))
    above, _ = draw_campbell(discs.sweep().results()).get_axes()
    assert "modes 1, 2, bodies.disc2" in {text.get_text() for text in above.texts}


def test_other_parameters_have_their_unit_and_no_multiples():
    results = swept(unit="K", damping=1e-13).sweep().results()
    (axes,) = draw_campbell(results).get_axes()
    assert axes.get_xlabel() == "wheels.disc.speed (K)"
    assert {text.get_text() for text in axes.texts} == {"mode 1, beams.one", "mode 2, bodies.hub"}


def test_a_sweep_is_a_results_file_with_figure_and_report(tmp_path):
    path = swept().write(tmp_path / "sweep.h5")
    results = Results.read(path)
    assert plot(results, tmp_path / "campbell.png").exists()
    page = study_of(results)
    assert page["campbell"]["label"] == "wheels.disc.speed (rpm)"
    assert [mode["name"] for mode in page["campbell"]["modes"]] == ["mode 1, beams.one", "mode 2, bodies.hub"]
    np.testing.assert_allclose(page["campbell"]["revolutions"][1]["values"], 2.0 * SPEED / (2.0 * np.pi))
    assert [1200.0, 20.0] in np.round(page["campbell"]["crossings"][0], 3).tolist()
    assert page["variables"] == ["wheels.disc.speed (rad/s)"]
    assert page["outputs"][0] == "mode 1, beams.one (Hz)"
    refuses("leave out mode 1", plot, results, tmp_path / "one.png", "campbell of mode 1", error=ResultError)


def test_units_of_entries_of_a_case(tmp_path):
    case = tmp_path / "case.toml"
    case.write_text(
        '[bodies.hub]\nmass = 1.0\ninertia = [1, 1, 1]\n[sections."thin tube"]\nshape = { circle = 0.01 }\n'
        'material = "steel A36"\n[beams.boom]\nsection = "thin tube"\nlength = 1.0\n'
        'start = { body = "hub", at = [0, 0, 0], direction = [1, 0, 0] }\n'
    )
    model = load_case(case).model
    wanted = {
        "bodies.hub.angular_velocity.2": "rad/s", "bodies.hub.mass": "kg", "beams.boom.length": "m",
        "beams.boom.start.at.0": "m", "beams.boom.elements": "", "sections.thin tube.density": "kg/m3",
        "bodies.other.mass": "", "gravity": "m/s2", "gravity.2": "m/s2",
    }  # fmt: skip
    assert {key: unit_of_entry(model, key) for key in wanted} == wanted


def test_gains_have_their_units():
    frequencies, values = np.array([1.0, 2.0, 4.0]), np.ones((3, 2, 1), dtype=complex)
    outputs, inputs = ("turn", "rate"), ("torque",)
    alike = {"turn": "rad", "rate": "rad", "torque": "N m"}
    for what in ("bode", "nichols"):
        figure = draw_response(what, frequencies, values, outputs, inputs, alike)
        assert figure.get_axes()[0].get_ylabel() == "gain (dB of rad/(N m))"
    figure = draw_response("bode", frequencies, values, outputs, inputs, alike | {"rate": "rad/s"})
    assert figure.get_axes()[0].get_ylabel() == "gain (dB of SI units)"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "turn by torque (rad/(N m))",
        "rate by torque (rad/s/(N m))",
    ]
    assert ratio_of_units("m", "-") == "m"
    assert ratio_of_units("m", "") == ""
