"""Sweeps: rows equal single runs, failures are rows, and an interrupted study goes on."""

import json

import numpy as np
import pytest
from models import refuses
from oracles.spring_study import CASE, STUDY, build, motion, written

import femb
from femb import ResultError, Results, Study, Sweep, simulate, sweep
from femb.case import load_case
from femb.study import runner
from femb.study import sweep as module
from femb.study.runner import Runner

OUTPUTS = {"lowest": {"kind": "min", "of": "bodies.mass.position.x"}}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return sweep(written(folder), out=folder / "out"), folder


def test_a_row_is_a_run_of_the_case(table):
    rows, folder = table
    assert list(zip(rows["stiffness"], rows["mass"], strict=True)) == [
        (50.0, 2.0),
        (50.0, 3.0),
        (80.0, 2.0),
        (80.0, 3.0),
    ]
    case = load_case(folder / "case.toml", ["springs.spring.stiffness=80.0", "bodies.mass.mass=3.0"])
    single = simulate(case.model, case.run)
    assert rows["lowest"][3] == np.min(single.bodies["mass"].position[:, 0])


def test_numbers_are_those_of_the_closed_form(table):
    rows, _ = table
    time = np.linspace(0.0, 6.0, 301)
    for k in range(4):
        x = motion(time, rows["stiffness"][k], rows["mass"][k])
        assert rows["lowest"][k] == pytest.approx(np.min(x), abs=1e-6)
        frequency = np.sqrt(rows["stiffness"][k] / rows["mass"][k]) / (2 * np.pi)
        assert rows["frequency"][k] == pytest.approx(frequency, rel=0.02)
    assert rows.units == {"stiffness": "N/m", "mass": "kg", "lowest": "m", "frequency": "Hz"}
    assert not rows.failed.any()


def test_the_table_is_written_and_read(table, tmp_path):
    rows, folder = table
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["sweep.csv", "sweep.h5"]
    lines = (folder / "out" / "sweep.csv").read_text().splitlines()
    assert lines[0] == "run,stiffness,mass,lowest,frequency,status,message"
    assert lines[2] == f"1,50.0,3.0,{float(rows['lowest'][1])!r},{float(rows['frequency'][1])!r},complete,"
    again = Sweep.read(folder / "out" / "sweep.h5")
    assert again.columns() == rows.columns()
    assert (again.units, again.title, again.design) == (rows.units, "Masses", "grid")
    again.write_csv(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (folder / "out" / "sweep.csv").read_bytes()
    with pytest.raises(ResultError, match="no column 'depth' in this study; there are: 'stiffness', 'mass'"):
        _ = again["depth"]


def test_the_table_is_a_data_frame(table):
    pandas = pytest.importorskip("pandas")
    frame = table[0].to_pandas()
    assert list(frame.columns) == ["stiffness", "mass", "lowest", "frequency", "status", "message"]
    assert frame.index.name == "run"
    pandas.testing.assert_frame_equal(
        frame.drop(columns="message"),
        pandas.read_csv(table[1] / "out" / "sweep.csv", index_col="run").drop(columns="message"),
    )


def test_a_failing_run_is_a_row_with_its_message(tmp_path):
    text = STUDY.replace("values = [2.0, 3.0]", "values = [-1.0, 2.0]").replace("[50.0, 80.0]", "[50.0]")
    rows = sweep(written(tmp_path, text), out=tmp_path / "out")
    assert rows.status == ["failed", "complete"]
    assert "bodies.mass.mass: got -1.0, must be greater than 0" in rows.messages[0]
    assert np.isnan(rows["lowest"][0])
    assert rows["lowest"][1] == pytest.approx(np.min(motion(np.linspace(0, 6, 301))), abs=1e-6)
    assert "run 0 failed: " in rows.summary()
    assert rows.units == {"stiffness": "N/m", "mass": "kg", "lowest": "m", "frequency": "Hz"}
    assert Sweep.read(tmp_path / "out" / "sweep.h5").messages == rows.messages


def test_errors_of_functions_are_rows_too():
    def hub(mass):
        if mass > 2.0:
            raise ZeroDivisionError("by hand")
        return build(mass=mass)

    lowest = {}
    for masses in ([1.0, 3.0, 2.0], [3.0, 1.0, 2.0]):
        rows = sweep(Study(hub, {"mass": {"values": masses}}, OUTPUTS, run={"duration": 0.1}))
        assert rows.status == ["failed" if mass > 2.0 else "complete" for mass in masses]
        assert rows.messages[masses.index(3.0)] == "ZeroDivisionError: by hand"
        assert rows.units["lowest"] == "m"
        lowest[masses[0]] = [rows["lowest"][masses.index(mass)] for mass in (1.0, 2.0)]
    assert lowest[1.0] == lowest[3.0]


def test_a_function_that_fails_in_every_run_is_refused():
    study = Study(build, {"weight": {"values": [1.0, 3.0]}}, OUTPUTS, run={"duration": 0.1})
    refuses("function of the case fails in every run, in the first: TypeError: .*'weight'", sweep, study)


def test_a_function_of_the_variables_is_a_case(table):
    variables = {"stiffness": {"values": [50.0, 80.0]}, "weight": {"key": "mass", "values": [2.0, 3.0]}}
    run = {"duration": 6.0, "output_interval": 0.02, "method": "rk", "rtol": 1e-7}
    rows = sweep(Study(build, variables, OUTPUTS, run=run))
    np.testing.assert_array_equal(rows["lowest"], table[0]["lowest"])


def test_relative_values_multiply_those_of_the_case(tmp_path):
    words = {
        "scale": {"key": ["springs.spring.stiffness", "bodies.mass.position"], "values": [1.0, 1.5], "relative": True}
    }
    written(tmp_path)
    rows = sweep(Study(tmp_path / "case.toml", words, OUTPUTS))
    time = np.linspace(0.0, 6.0, 301)
    for scale, lowest in zip((1.0, 1.5), rows["lowest"], strict=True):
        assert lowest == pytest.approx(np.min(motion(time, 50.0 * scale, start=0.1 * scale)), abs=1e-6)


@pytest.mark.slow
def test_statics_and_modes_are_outputs(tmp_path):
    text = CASE.replace("[run]", '[loads.pull]\nbody = "mass"\nforce = [3.0, 0.0, 0.0]\n[run]')
    text = text.replace(
        "[springs.spring]",
        '[joints.rail]\nkind = "prismatic"\nfirst = { body = "ground", axis = [1, 0, 0] }\n'
        'second = { body = "mass", axis = [1, 0, 0] }\n[springs.spring]',
    )
    text = text.replace("position = [0.1, 0.0, 0.0]", "")
    written(tmp_path, case=text)
    outputs = {
        "stretch": {"kind": "final", "of": "bodies.mass.position.x", "analysis": "static"},
        "frequency": {"kind": "natural_frequency"},
        "damping": {"kind": "damping_ratio"},
    }
    rows = sweep(
        Study(tmp_path / "case.toml", {"k": {"key": "springs.spring.stiffness", "values": [50.0, 200.0]}}, outputs)
    )
    assert rows.messages == ["", ""]
    for k, stiffness in enumerate((50.0, 200.0)):
        assert rows["stretch"][k] == pytest.approx(3.0 / stiffness, rel=1e-8)
        assert rows["frequency"][k] == pytest.approx(np.sqrt(stiffness / 2.0) / (2 * np.pi), rel=1e-8)
        assert rows["damping"][k] == pytest.approx(2.0 / (2.0 * np.sqrt(2.0 * stiffness)), rel=1e-8)


@pytest.mark.slow
def test_results_are_kept_on_request(tmp_path):
    path = written(tmp_path, STUDY.replace('"grid"', '"grid"\nkeep = true'))
    rows = sweep(path, out=tmp_path / "out")
    kept = Results.read(tmp_path / "out" / "runs" / "000002" / "results.h5")
    assert np.min(kept.bodies["mass"].position[:, 0]) == rows["lowest"][2]
    assert "# --set springs.spring.stiffness=80.0" in kept.case
    refuses("keep: the results of all runs need a folder", sweep, path)


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """A study that was stopped after two runs; a third was under way, and its line is not complete."""
    path = written(tmp_path)
    run = Runner.__call__

    def called(self, number, values):
        if number == 2:
            raise KeyboardInterrupt
        return run(self, number, values)

    monkeypatch.setattr(Runner, "__call__", called)
    with pytest.raises(KeyboardInterrupt):
        sweep(path, out=tmp_path / "out")
    part = tmp_path / "out" / "sweep.part"
    assert len(part.read_text().splitlines()) == 3
    with part.open("a") as file:
        file.write("[2, [0.1")
    monkeypatch.setattr(Runner, "__call__", run)
    return path, part


def test_an_interrupted_study_goes_on_with_the_missing_runs(stopped, table, monkeypatch):
    path, part = stopped
    carried_out, numbers = module.carried_out, []

    def noted(runner, runs, *places):
        numbers.extend(runs)
        return carried_out(runner, runs, *places)

    monkeypatch.setattr(module, "carried_out", noted)
    counts = []
    sweep(path, out=part.parent, progress=lambda *count: counts.append(count))
    assert numbers == [2, 3]
    assert counts == [(2, 0, 4), (3, 0, 4), (4, 0, 4)]
    assert (part.parent / "sweep.csv").read_bytes() == (table[1] / "out" / "sweep.csv").read_bytes()
    assert not part.exists()


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("values = [2.0, 3.0]", "values = [2.0, 4.0]", "variables"),
        ('kind = "min"', 'kind = "max"', "outputs"),
        ('"grid"', '"list"', "design"),
    ],
)
def test_runs_of_another_study_are_not_mixed(stopped, old, new, word):
    path, part = stopped
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ResultError, match=f"has 2 runs of another study, with other {word}; --force starts anew"):
        sweep(path, out=part.parent)
    assert len(sweep(path, out=part.parent, again=True)) == (2 if word == "design" else 4)


def test_another_case_is_another_study(stopped):
    path, part = stopped
    (path.parent / "case.toml").write_text(CASE.replace("damping = 2.0", "damping = 3.0"))
    refuses("with other case", sweep, path, out=part.parent, error=ResultError)
    (path.parent / "case.toml").write_text(CASE)
    lines = part.read_text().splitlines()
    part.write_text("\n".join([json.dumps({"other": 1}), *lines[1:]]) + "\n")
    refuses("is damaged", sweep, path, out=part.parent, error=ResultError)


@pytest.mark.slow
def test_a_finished_study_carries_out_nothing(tmp_path, monkeypatch):
    """Its table is that of before; a file that an included file names, or --force, carries out all runs anew."""
    path = written(tmp_path)
    case, more = tmp_path / "case.toml", tmp_path / "more.toml"
    case.write_text('include = ["more.toml"]\n' + CASE)
    more.write_text('title = "of more"\n')
    first, numbers = sweep(path, out=tmp_path / "out"), []
    run = Runner.__call__
    monkeypatch.setattr(Runner, "__call__", lambda self, k, values: numbers.append(k) or run(self, k, values))
    assert sweep(path, out=tmp_path / "out").columns() == first.columns()
    assert numbers == []
    sweep(path, out=tmp_path / "out", again=True)
    assert numbers == [0, 1, 2, 3]
    more.write_text("gravity = [0, 0, -1.0]\n")
    sweep(path, out=tmp_path / "out")
    assert numbers == [0, 1, 2, 3] * 2


def test_only_one_process_writes_to_a_study(stopped):
    import fcntl

    path, part = stopped
    with part.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        refuses("another study writes to it now", sweep, path, out=part.parent, error=ResultError)


def test_a_library_call_starts_no_process(table, tmp_path, monkeypatch):
    import multiprocessing

    monkeypatch.setattr(multiprocessing, "get_context", None)
    assert len(sweep(written(tmp_path))) == 4


def test_a_sobol_sequence_of_other_lengths_is_said_to_be_unbalanced():
    words = {"mass": {"kind": "uniform", "low": 1.0, "high": 2.0}}
    with pytest.warns(femb.FembWarning, match="12 is no power of two; a Sobol sequence is balanced for 8 or 16"):
        Study(build, words, OUTPUTS, "sobol", 12, run={"duration": 0.1})


def test_events_have_times(monkeypatch, tmp_path):
    from femb.results.groups import EventRecord

    class Found:
        events = (EventRecord(3.0, "latches.b"), EventRecord(1.5, "latches.a"), EventRecord(2.5, "latches.b"))

    class Analyses:
        def results(self, analysis):
            return Found()

    from femb.study.run_outputs import EventTime

    assert EventTime(name="t", event="latches.b").value(Analyses()) == 2.5
    assert np.isnan(EventTime(name="t", event="latches.c").value(Analyses()))
    assert runner.TRIAL < 1e-2
