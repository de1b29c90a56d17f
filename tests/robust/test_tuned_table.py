"""Schedules that are tuned row by row: limits hold between the rows, too, by full models."""

import numpy as np
import pytest
from models import refuses
from oracles.two_arrays import SPRINGS, with_a_table

import femb

B = "controllers.attitude.schedule.gains.B"
GAINS = [f"{B}.0.3=50:2000", f"{B}.2.5=50:2000"]


@pytest.mark.slow
def test_rows_over_the_angle_of_arrays_hold_their_peak_between_the_rows(tmp_path):
    """Rate gains about x and z over three angles; full models at five, with soft and stiff springs."""
    path, at = tmp_path / "arrays.toml", np.linspace(0.0, 0.5 * np.pi, 3).tolist()
    path.write_text(with_a_table(at))
    words = {"least": "peak", "modes": 10, "starts": 1, "points": 1}
    tuned = femb.tune_schedule(path, "joints.drive.start", GAINS, ["springs"], **words)
    assert tuned.peak < 1.015
    assert len([note for note in tuned.notes if "between rows" in note]) == 2
    written = tuned.write(tmp_path / "tuned.toml")
    table = np.array(femb.load_case(written).model.controllers["attitude"].schedule.gains["B"])
    x, z = table[:, 0, 3], table[:, 2, 5]
    assert [tuned.gains[f"{B}.0.3 at {angle:.6g}"] for angle in at] == pytest.approx(x.tolist())
    assert np.all(np.diff(x) < 0.0)  # the arrays turn out of the plane about x
    assert z.argmin() == 0
    before = 0.0
    for angle in np.linspace(0.0, 0.5 * np.pi, 5):
        for factor in (0.8, 1.2):
            given = [f"joints.drive.start={angle}", *(f"{key}={600.0 * factor}" for key in SPRINGS)]
            if not before > tuned.peak:
                before = max(1.0 / each.distance for each in femb.loop(femb.load_case(path, given)).margins())
            loop = femb.loop(femb.load_case(written, given))
            assert loop.stable
            assert max(1.0 / each.distance for each in loop.margins()) < tuned.peak + 1e-5
            k_x = np.interp(angle, at, x)
            assert loop.laws[0].B[0, 3] == pytest.approx(k_x, rel=1e-9)
    assert before > tuned.peak


def test_gains_that_are_in_no_schedule_are_named(tmp_path):
    path = tmp_path / "arrays.toml"
    path.write_text(with_a_table([0.0, 1.0]))
    text = (
        "sets controllers.attitude.A, which is no list of a schedule.*there are: controllers.attitude.schedule.gains.B"
    )
    refuses(text, femb.tune_schedule, path, "joints.drive.start", ["controllers.attitude.A=-3:-1"], ["springs"])
    form = femb.uncertain(path, ["springs"], modes=2, points=1)
    assert "by a table, stay those of the nominal case: controllers.attitude" in form.table()
