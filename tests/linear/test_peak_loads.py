"""Peak loads: extremes over time and place, tables, files, figures, and the command."""

import csv
import json

import numpy as np
import pytest
import shared_runs
from long_runs import slow
from models import of_parts, refuses
from shared_runs import said

from femb import (
    Beam,
    Ground,
    Load,
    Model,
    Path,
    PointMass,
    ResultError,
    Results,
    Section,
    peak_loads,
    plot,
    simulate,
    static,
)
from femb.elements.beam.results import section_loads
from femb.linear.peak_loads import PeakLoad, PeakLoads
from femb.pictures.figures import request, rows
from femb.reporting.report import WORDS
from femb.reporting.report import _rows as page_rows


@pytest.fixture(scope="module")
def file():
    """The forced satellite over two seconds."""
    _, _, path = shared_runs.command("run", "cases/satellite_forced.toml", ("run.duration=2",))
    return path


@pytest.fixture(scope="module")
def results(file):
    return Results.read(file)


def by_load(peaks, item):
    return {peak.load: peak for peak in peaks if peak.item == item}


def test_peaks_are_the_extremes_over_time_and_place(results):
    found = peak_loads(results)
    beam, time = results.beams["right"], results.time
    loads = section_loads(beam)
    peak = by_load(found.peaks, "beams/right")["bending moment y"]
    k, element, place = np.unravel_index(np.argmin(loads[..., 4]), loads.shape[:3])
    assert (peak.minimum, peak.time_of_minimum, peak.unit) == (loads[..., 4].min(), time[k], "N m")
    assert peak.place_of_minimum == f"{element + 0.5 * place:g} m"
    assert peak.largest == -peak.minimum == pytest.approx(6.94128, abs=1e-4)
    stress = by_load(found.peaks, "beams/right")["axial stress"]
    # 6.94 N m on the corners of a rectangle of 50 mm: sqrt(12 I/A) is 49.96 mm
    assert stress.maximum == pytest.approx(6.94128 * 0.5 * np.sqrt(12 * 5.2e-7 / 2.5e-3) / 5.2e-7, rel=2e-3)
    assert by_load(found.peaks, "beams/right")["von Mises stress"].maximum >= stress.largest
    root = by_load(found.peaks, "appendages/left")["torque, magnitude"]
    assert root.maximum == np.linalg.norm(results.appendages["left"].torque, axis=1).max()


def test_envelopes_along_a_beam(results):
    envelope = peak_loads(results, ["right"], (0.2, 1.0)).envelopes["right"]
    inside = (results.time >= 0.2) & (results.time <= 1.0)
    loads = section_loads(results.beams["right"])[inside].reshape(-1, 6, 6)
    np.testing.assert_array_equal(envelope.position, [0.0, 0.5, 1.0, 1.0, 1.5, 2.0])
    np.testing.assert_array_equal(envelope.maximum[:, :6], loads.max(axis=0))
    np.testing.assert_array_equal(envelope.minimum[:, :6], loads.min(axis=0))
    assert np.all((envelope.time_of_maximum >= 0.2) & (envelope.time_of_maximum <= 1.0))
    assert [load for load, _ in envelope.loads[-3:]] == ["axial stress", "torsional shear stress", "von Mises stress"]


@pytest.mark.parametrize("window", [(0.25, 0.75), (0.25, 1.0), (None, 0.5), (0.5, 0.5)])
def test_extremes_at_the_ends_of_a_window_count(results, window):
    """A force that grows with time: at the last instant of the window it is largest, at the first smallest."""
    time = np.linspace(0.0, 1.0, 5)
    grown = Results({"time": time, "springs/s/force": 3.0 * time, "springs/s/length": time}, {})
    (peak,) = peak_loads(grown, times=window).peaks
    first, last = window[0] or 0.0, window[1]
    assert (peak.maximum, peak.time_of_maximum) == (3.0 * last, last)
    assert (peak.minimum, peak.time_of_minimum) == (3.0 * first, first)


def test_the_envelope_of_one_instant_is_that_instant(results):
    k = 50
    envelope = peak_loads(results, ["right"], (results.time[k], results.time[k])).envelopes["right"]
    loads = section_loads(results.beams["right"])[k].reshape(6, 6)
    for extreme in (envelope.maximum, envelope.minimum):
        np.testing.assert_array_equal(extreme[:, :6], loads)
    for times in (envelope.time_of_maximum, envelope.time_of_minimum):
        assert np.all(times == results.time[k])


def test_rows_of_pages_and_of_json_have_no_histories(file, results, tmp_path):
    result = said("loads", file, "--item", "beams/r*", "--out", tmp_path / "to", "--json")
    found, wanted = json.loads(result)["peaks"], [each.row() for each in peak_loads(results, ["beams/r*"]).peaks]
    assert found == wanted
    assert tuple(found[0]) == WORDS
    assert page_rows(peak_loads(results, ["beams/r*"]).peaks)[0].keys() == found[0].keys()


@pytest.mark.slow
def test_the_command_prints_a_table_and_writes_files(file, tmp_path):
    result = said("loads", file, "--item", "beams/r*", "--out", tmp_path / "to")
    lines = result.splitlines()
    assert lines[0] == "Satellite with two boom antennas, slew pulse"
    assert lines[2:4] == ["beams/right", lines[3]]
    (line,) = [line for line in lines if line.startswith("bending moment y")]
    peak = by_load(peak_loads(Results.read(file)).peaks, "beams/right")["bending moment y"]
    # the maximum is what the iteration leaves
    assert line.split()[3:] == ["N", "m", f"{peak.maximum:.5g}", "1", "0.5", "m", "-6.9413", "0.5", "0", "m"]
    (line,) = [line for line in lines if line.startswith("axial stress")]
    assert line.split()[2] == "MPa"
    with (tmp_path / "to" / "loads.csv").open() as table:
        written = list(csv.DictReader(table))
    assert {row["item"] for row in written} == {"beams/right"}
    (row,) = [row for row in written if row["load"] == "bending moment y"]
    assert (float(row["minimum"]), row["place_of_minimum"], row["unit"]) == (peak.minimum, "0 m", "N m")
    stored = Results.read(tmp_path / "to" / "loads.h5").arrays
    assert stored["loads/beams/right/maximum"].shape == (6, 9)
    names = [text.decode() if isinstance(text, bytes) else str(text) for text in stored["loads/peaks/load"]]
    assert stored["loads/peaks/minimum"][names.index("bending moment y")] == peak.minimum


@pytest.mark.parametrize(
    ("name", "count", "unit"), [("root-loads", 2, "N"), slow(("section_forces", 2, "N")), slow(("stress", 2, "MPa"))]
)
def test_figures(results, tmp_path, name, count, unit):
    shown = rows(results, request(results, name))
    assert [len(row) for row in shown] == [count, count]
    assert shown[0][0].unit == unit
    assert len(rows(results, request(results, f"{name} of right"))) == 1
    assert plot(results, tmp_path / "figure.png", name, dpi=30).stat().st_size > 5000


def test_figures_show_the_peaks(results):
    (row,) = rows(results, request(results, "section-forces of right"))
    peak = by_load(peak_loads(results).peaks, "beams/right")["bending moment y"]
    assert row[1].values[:, 1].min() == peak.minimum
    (row,) = rows(results, request(results, "stress of right"))
    stress = by_load(peak_loads(results).peaks, "beams/right")["axial stress"]
    assert row[0].values[:, 0].max() == pytest.approx(1e-6 * stress.maximum)


def test_bad_requests_are_named(results, tmp_path):
    refuses("no loads of 'boom'; there are: 'appendages/left'", peak_loads, results, ["boom"], error=ResultError)
    refuses(r"no output time from 5\.0 to None s", peak_loads, results, times=(5.0, None), error=ResultError)
    with pytest.raises(ResultError, match=r"suffix '\.txt', must be one of \.npz, \.h5, or \.csv for the table"):
        peak_loads(results).write(tmp_path / "loads.txt")
    with pytest.raises(ResultError, match="no output times, so that they have no peak loads"):
        peak_loads(Results({"time": np.zeros(0)}))
    model = of_parts(PointMass("stone", mass=1.0), title="stone", gravity=(0, 0, -9.81))
    with pytest.raises(ResultError, match="no appendages, beams, shells, joints or springs"):
        peak_loads(simulate(model, duration=0.1))


def test_columns_of_long_places_do_not_run_together():
    peaks = [PeakLoad("beams/b", "force", "N", 1.0, 1.02, place, -1.0, 0.56, "0 m") for place in ("0.091001 m", "2 m")]
    table = PeakLoads("", tuple(peaks), {}).table().splitlines()
    assert "      1.02  0.091001 m" in table[-2]
    assert len({len(line) for line in table[-3:]}) == 1


def test_extremes_of_the_axial_stress_and_their_places_on_uneven_elements():
    """A rod of elements of 1 m and 2 m, pulled, and bent between a force down at its end and one up beside it: the
    largest moment is where the elements meet, N / A +- M c / I on both sides of the section."""
    radius, pull, push = 0.05, 100.0, 100.0
    rod = Section("rod", shape={"circle": radius}, material="aluminium 6061-T6")
    model = Model("uneven")
    path = Path(points=[(0, 0, 0), (1, 0, 0), (3, 0, 0)], kinks=True)
    model.add(Beam("b", rod, elements=2, start=Ground().at(direction=(1, 0, 0)), path=path))
    model.add(Load("tip", beam="b", force=(pull, 0, -push)))
    model.add(Load("up", beam="b", node=1, force=(0, 0, 3.0 * push)))
    found = peak_loads(static(model))
    np.testing.assert_allclose(found.envelopes["b"].position, [0.0, 0.5, 1.0, 1.0, 2.0, 3.0], atol=1e-12)
    peak = by_load(found.peaks, "beams/b")["axial stress"]
    of_force, of_moment = pull / (np.pi * radius**2), 2.0 * push * radius / (0.25 * np.pi * radius**4)
    assert peak.maximum == pytest.approx(of_force + of_moment, rel=1e-3)
    assert peak.minimum == pytest.approx(of_force - of_moment, rel=1e-3)
    assert (peak.place_of_maximum, peak.place_of_minimum) == ("1 m", "1 m")
