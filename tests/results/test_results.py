"""Results by name, in memory and in files, whole and cut short."""

import os
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest
from checkout import ROOT
from models import refuses
from oracles.synthetic_results import LENGTH, bent_beam, blocks, satellite

from femb.base.descriptors import lock
from femb.base.errors import ResultError
from femb.results.results import Results
from femb.results.storage.file import MemoryWriter, ResultWriter
from femb.results.storage.journal import ResultJournal
from femb.results.storage.read import read_content


@pytest.fixture
def results():
    return Results(*satellite())


def assert_same(one: Results, other: Results) -> None:
    assert dict.fromkeys(one.arrays) == dict.fromkeys(other.arrays)
    assert set(one.series) == set(other.series)
    for path, array in one.arrays.items():
        np.testing.assert_array_equal(other.arrays[path], array, err_msg=path)
        assert other.arrays[path].dtype == array.dtype, path


def append_and_fail(writer, block) -> None:
    with writer:
        writer.append(block)
        _ = 1 / 0


# Names


def test_names_keep_the_order_of_the_model(results):
    assert list(results.bodies) == ["hub"]
    assert list(results.beams) == ["right", "left"]
    assert results.beams["left"].position.shape == (21, 3, 3)
    assert results.joints["hinge"].force[4, 1] == 2.0
    assert results.audit.kinetic_energy.shape == (21,)
    assert results.bodies["hub"].shape == {"box": [0.2, 0.3, 0.4]}
    assert "hub" in results.bodies
    assert "spoke" not in results.bodies
    assert results.bodies.get("spoke") is None


def test_what_was_written_is_what_is_read(tmp_path):
    """The names, in their order, shapes and attributes that a writer knows are those that a reader finds."""
    block, static, attributes = satellite()
    block |= {f"{path}/force": block["time"] for path in ("springs/z", "springs/a-1", "springs/a", "joints/a")}
    static |= {"modes/names": np.array(["b", "ä"]), "joints/zz/axis": np.eye(3), "bodies/empty/marks": np.zeros((0, 3))}
    attributes |= {"springs/a": {"z": 1, "b": 2.5, "free": True, "ends": [0.0, 1.0]}, "drivers/d": {"unit": "N"}}
    attributes |= {"joints/last": {"names": "[]"}, "loads/none": {}}
    writer = ResultWriter(tmp_path / "r.h5", static, attributes)
    with writer:
        writer.append(block)
        writer.finish("complete", statistics={"steps": 3, "wall_time": 0.5})
        written, read = writer.content(), read_content(tmp_path / "r.h5")
    for one, other in zip(written[:2], read[:2], strict=True):
        assert list(one) == list(other)
        assert [one[path].tolist() for path in one] == [other[path].tolist() for path in other]
        assert one.shapes == {path: array.shape for path, array in other.items()}
    assert repr(written.attributes) == repr(read.attributes)


def test_unknown_names_list_the_ones_there_are(results):
    with pytest.raises(ResultError, match=r"'middle'.*beams.*'right', 'left'"):
        results.beams["middle"]
    with pytest.raises(ResultError, match=r"joints/hinge.*'rates'.*'force', 'torque', 'coordinates'"):
        _ = results.joints["hinge"].rates


def test_results_are_read_only_and_leave_the_callers_arrays_alone():
    block, static, attributes = satellite()
    results = Results(block, static, attributes)
    with pytest.raises(ValueError, match="read-only"):
        results.time[0] = 5.0
    with pytest.raises(AttributeError, match="bodies/hub/position"):
        results.bodies["hub"].position = 0.0
    with pytest.raises(TypeError):
        results.arrays["time"] = np.zeros(3)
    block["time"][0] = 0.0  # still the caller's to write


def test_a_series_of_another_length_is_refused():
    block, _, _ = satellite()
    block["bodies/hub/position"] = block["bodies/hub/position"][:-1]
    refuses(r"bodies/hub/position: shape \(20, 3\).*21 output times", Results, block, error=ResultError)


# What is derived


def test_euler_angles_turn_on_without_jumps():
    time = np.linspace(0.0, 10.0, 101)
    angle = 2.0 * time
    quaternion = np.stack([np.cos(angle / 2), 0 * time, 0 * time, np.sin(angle / 2)], axis=-1)
    results = Results(
        {
            "time": time,
            "bodies/wheel/quaternion": quaternion,
            "bodies/wheel/angular_velocity": np.tile([0.0, 0.0, 2.0], (101, 1)),
        }
    )
    wheel = results.bodies["wheel"]
    np.testing.assert_allclose(wheel.euler_angles()[:, 2], angle, atol=1e-12)
    assert wheel.euler_angles(unwrap=False)[:, 2].max() <= np.pi
    np.testing.assert_allclose(wheel.euler_angles("zyx")[:, 0], angle, atol=1e-12)
    np.testing.assert_allclose(wheel.euler_rates(), np.tile([0.0, 0.0, 2.0], (101, 1)), atol=1e-12)


def test_a_rigid_motion_displaces_a_beam_but_does_not_deflect_it(results):
    beam = results.beams["left"]
    assert np.abs(beam.displacement[-1]).max() > 0.5
    np.testing.assert_array_equal(beam.displacement[0], 0.0)
    np.testing.assert_allclose(beam.deflection, 0.0, atol=1e-14)


def test_bending_deflects_a_beam_from_its_start_section():
    beam = Results(*bent_beam(radius=1.5)).beams["rod"]
    tip = LENGTH / 1.5
    expected = [1.5 * np.sin(tip) - LENGTH, 1.5 * (1 - np.cos(tip)), 0.0]
    np.testing.assert_allclose(beam.deflection[-1, -1], expected, atol=1e-14)
    np.testing.assert_allclose(beam.euler_angles()[-1, -1], [0.0, 0.0, tip], atol=1e-14)


# The summary


def test_repr_shows_names_times_status_and_the_worst_errors():
    block, static, attributes = satellite()
    attributes[""]["status"] = "complete"
    text = repr(Results(block, static, attributes))
    for part in ("complete", "21 times 0 to 2 s", "'hub'", "'right', 'left'", "'hinge'", "2e-09 J", "2e-12"):
        assert part in text
    many = {f"bodies/b{i}/position": np.zeros((1, 3)) for i in range(40)}
    assert len(repr(Results({"time": np.zeros(1), **many}))) < 150


def test_results_without_times_are_results():
    frequency = np.array([1.0, 2.0])
    results = Results({}, {"modes/frequency": frequency})
    assert results.time.size == 0
    np.testing.assert_array_equal(results.arrays["modes/frequency"], frequency)
    assert "no times" in repr(results)


# Files


@pytest.mark.parametrize("size", [1, 5, 40])
def test_a_run_written_in_blocks_reads_back(tmp_path, size):
    block, static, attributes = satellite(times=35)
    static["linear/names"] = np.array(["hub.x", "Größe"])
    memory = MemoryWriter(static, attributes)
    path = tmp_path / "new" / "folder" / "results.h5"
    statistics = {"steps": 40, "wall_time": 0.5}
    for writer in (ResultWriter(path, static, attributes), memory):
        with writer:
            for part in blocks(block, size):
                writer.append(part)
            writer.finish("complete", "all well", statistics)
    read = Results.read(path)
    assert_same(Results(block, static, attributes), Results(*memory.content()))
    assert_same(Results(*memory.content()), read)
    assert (read.status, read.message, read.method) == ("complete", "all well", "radau")
    assert read.case == attributes[""]["case"]
    assert dict(read.statistics) == statistics == dict(Results(*memory.content()).statistics)
    assert list(read.beams) == ["right", "left"]
    assert read.bodies["hub"].shape == {"box": [0.2, 0.3, 0.4]}


@pytest.mark.slow
def test_write_gives_a_file_that_reads_back_the_same(tmp_path):
    block, static, attributes = satellite()
    attributes[""] |= {"case": "# long\n" * 20000, "status": "failed", "message": "no convergence"}
    attributes["statistics"] = {"steps": 3}
    results = Results(block, static, attributes)
    results.write(tmp_path / "r.h5")
    read = Results.read(tmp_path / "r.h5")
    assert_same(results, read)
    assert {k: dict(v) for k, v in read.attributes.items()} == {k: dict(v) for k, v in results.attributes.items()}
    read.write(tmp_path / "r.h5")
    assert_same(results, Results.read(tmp_path / "r.h5"))


def test_the_audit_of_a_run_is_read_at_once(tmp_path, monkeypatch):
    """Whatever arrays of it are asked for, one after another."""
    block, static, attributes = satellite()
    with ResultWriter(tmp_path / "results.h5", static, attributes) as writer:
        writer.append(block)
        writer.finish("complete")
    audit, opened = Results(*writer.content()).audit, []

    class Counted(h5py.File):
        def __init__(self, *arguments, **words):
            opened.append(arguments)
            super().__init__(*arguments, **words)

    monkeypatch.setattr(h5py, "File", Counted)
    for name in ("energy_error", "work", "linear_momentum"):
        np.testing.assert_array_equal(audit[name], block[f"audit/{name}"])
    assert len(opened) == 1


def test_results_without_times_read_back(tmp_path):
    Results({}, {"modes/frequency": np.array([1.0, 2.0])}).write(tmp_path / "modes.h5")
    read = Results.read(tmp_path / "modes.h5")
    np.testing.assert_array_equal(read.arrays["modes/frequency"], [1.0, 2.0])


def test_leaving_by_an_exception_marks_the_file_failed_and_keeps_the_frames(tmp_path):
    block, static, attributes = satellite(times=5)
    memory = MemoryWriter(static, attributes)
    for writer in (ResultWriter(tmp_path / "r.h5", static, attributes), memory):
        with pytest.raises(ZeroDivisionError):
            append_and_fail(writer, block)
    read = Results.read(tmp_path / "r.h5")
    assert (read.status, read.message) == ("failed", "ZeroDivisionError: division by zero")
    assert_same(Results(block, static, attributes), read)
    assert Results(*memory.content()).status == "failed"


def test_a_new_run_can_be_read_at_once_and_while_it_goes_on(tmp_path):
    block, static, attributes = satellite(times=3)
    with ResultWriter(tmp_path / "r.h5", static, attributes) as writer:
        assert Results.read(tmp_path / "r.h5").status == "running"
        for count in (3, 6):
            writer.append(block)
            read = Results.read(tmp_path / "r.h5")
            assert (read.time.size, read.status, read.message) == (count, "running", "")
    assert Results.read(tmp_path / "r.h5").status == "running", "nobody said that the run ended"


def test_writers_keep_copies(tmp_path):
    block = {"time": np.zeros(1)}
    with MemoryWriter({}, {}) as memory, ResultWriter(tmp_path / "r.h5", {}, {}) as writer:
        for time in (1.0, 2.0):
            block["time"][:] = time
            memory.append(block)
            writer.append(block)
            if time == 1.0:
                before = Results(*memory.content()).time
    np.testing.assert_array_equal(before, [1.0], "results do not grow after they were shown")
    np.testing.assert_array_equal(Results(*memory.content()).time, [1.0, 2.0])
    np.testing.assert_array_equal(Results.read(tmp_path / "r.h5").time, [1.0, 2.0])


def test_a_block_that_is_taken_is_emptied(tmp_path):
    """Its arrays are in the writer alone; those of a block that is refused stay."""
    with MemoryWriter({}, {}) as memory, ResultWriter(tmp_path / "r.h5", {}, {}) as file:
        for writer in (memory, file):
            block = {"time": np.array([1.0, 2.0]), "bodies/hub/position": np.ones((2, 3))}
            writer.take(block)
            assert not block
            unlike = {"time": np.zeros(1)}
            refuses("bodies/hub/position", writer.take, unlike, error=ResultError)
            assert unlike
    for results in (Results(*memory.content()), Results.read(tmp_path / "r.h5")):
        np.testing.assert_array_equal(results.time, [1.0, 2.0])
        np.testing.assert_array_equal(results.arrays["bodies/hub/position"], 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bodies/hub/position": np.zeros((2, 3))}, r"bodies/hub/position: shape \(2, 3\) in a block of 1"),
        ({"bodies/hub/position": np.zeros((1, 4))}, r"bodies/hub/position: one output time has shape \(4,\)"),
        ({"bodies/spoke/position": np.zeros((1, 3))}, "bodies/spoke/position.*earlier ones none"),
        ({"time": 0.0}, "needs 'time'"),
    ],
)
def test_a_block_unlike_the_first_is_refused(change, message):
    writer = MemoryWriter({}, {})
    good = {"time": np.zeros(1), "bodies/hub/position": np.zeros((1, 3))}
    writer.append(good)
    refuses(message, writer.append, good | change, error=ResultError)


def test_a_failed_start_leaves_the_old_file(tmp_path):
    path = tmp_path / "r.h5"
    Results(*satellite()).write(path)
    before = path.read_bytes()
    refuses(r"r\.h5.*cannot be written", ResultWriter, path, {"linear/A": np.array([object()])}, {}, error=ResultError)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["r.h5"]
    ResultWriter(path, {}, {}).close()
    assert path.read_bytes() == before, "nor does a run that is killed touch it"
    with ResultWriter(path, {}, {}) as writer:
        writer.finish("complete")
    assert Results.read(path).bodies.get("hub") is None
    assert os.listdir(tmp_path) == ["r.h5"]


def test_places_that_cannot_be_written_are_named(tmp_path):
    (tmp_path / "file").write_text("")
    refuses("cannot be written", ResultWriter, tmp_path / "file" / "r.h5", {}, {}, error=ResultError)
    refuses("a folder", ResultWriter, tmp_path, {}, {}, error=ResultError)


def test_files_that_cannot_be_read_say_why(tmp_path):
    refuses("no such", Results.read, tmp_path / "none.h5", error=ResultError)
    refuses(r"results\.h5: there is no such result file", Results.read, tmp_path, error=ResultError)
    (tmp_path / "sweep.part").touch()
    refuses("sweep.part beside it is of an interrupted study: the same", Results.read, tmp_path, error=ResultError)
    text = tmp_path / "text.h5"
    text.write_text("time,position\n")
    refuses(r"text\.h5: cannot be read", Results.read, text, error=ResultError)
    whole = tmp_path / "whole.h5"
    Results(*satellite()).write(whole)
    Results(*satellite()).write(tmp_path / "results.h5")
    np.testing.assert_array_equal(Results.read(tmp_path).time, Results.read(whole).time)
    np.testing.assert_array_equal(Results.read_array(tmp_path, "time"), Results.read(whole).time)
    with h5py.File(whole) as file:  # for other readers
        assert file["bodies/hub/quaternion"].attrs["axes"] == '["time", "component"]'
    cut = tmp_path / "cut.h5"
    cut.write_bytes(whole.read_bytes()[:-5000])
    refuses(r"cut\.h5: cannot be read.*cut off", Results.read, cut, error=ResultError)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1.0
    refuses("not one of femb's", Results.read, tmp_path / "other.h5", error=ResultError)


def test_a_closed_journal_closes_no_other_file(tmp_path, monkeypatch):
    journal = ResultJournal(tmp_path / "r.h5", {}, {})
    journal.close()
    monkeypatch.setattr(os, "close", lambda number: pytest.fail(f"closes file {number}"))
    journal.close()


def test_one_run_begins_at_a_time_and_takes_the_draft_of_a_killed_one(tmp_path):
    draft = tmp_path / ".r.h5.part.draft"
    draft.write_bytes(b"femb journal 1\n" + bytes(10_000))
    with draft.open("r+b") as other:
        lock(other.fileno())
        refuses("another run writes to it now", ResultWriter, tmp_path / "r.h5", {}, {}, error=ResultError)
        assert os.listdir(tmp_path) == [draft.name]
    with ResultWriter(tmp_path / "r.h5", {}, {}) as writer:
        writer.append({"time": np.zeros(1)})
        assert Results.read(tmp_path / "r.h5").time.size == 1
        writer.finish("complete")
    assert os.listdir(tmp_path) == ["r.h5"]


def test_series_of_unequal_length_are_trimmed_to_whole_frames(tmp_path):
    path = tmp_path / "r.h5"
    block, static, attributes = satellite()
    Results(block, static, attributes).write(path)
    with h5py.File(path, "r+") as file:
        file["bodies/hub/position"].resize(17, axis=0)
        file["beams/left/strain"].resize(30, axis=0)
    read = Results.read(path)
    assert_same(Results({name: array[:17] for name, array in block.items()}, static, attributes), read)
    with h5py.File(path, "r+") as file:
        for name in block:
            file[name].resize(40, axis=0)
    assert Results.read(path).time.size == 21, "room that was made but never filled does not count"


ENDLESS = """
import runpy, sys
from femb.results.storage.file import ResultWriter
satellite = runpy.run_path(sys.argv[1])["satellite"]
block, static, attributes = satellite(times=7)
with ResultWriter(sys.argv[2], static, attributes) as writer:
    count = 0
    while True:
        block["time"][:] = range(count, count + 7)
        writer.append(block)
        count += 7
        if count == 700:
            print("written", flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_run_can_be_read(tmp_path):
    path = tmp_path / "r.h5"
    helper = ROOT / "tests" / "oracles" / "synthetic_results.py"
    command = [sys.executable, "-c", ENDLESS, str(helper), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    read = Results.read(path)
    assert read.status == "running"
    frames = read.time.size
    assert frames >= 700
    np.testing.assert_array_equal(read.time, np.arange(frames))
    expected = satellite(times=7)[0]["beams/left/position"]
    np.testing.assert_array_equal(read.beams["left"].position, expected[np.arange(frames) % 7])


@pytest.mark.parametrize("k", [0, 1, -1])
def test_a_time_that_is_no_number_is_a_damage(tmp_path, results, k):
    path = tmp_path / "results.h5"
    results.write(path)
    with h5py.File(path, "r+") as file:
        count = len(file["time"])
        file["time"][k] = np.nan
        file.attrs["status"] = "complete"
    for lazy in (False, True):
        with pytest.raises(
            ResultError, match=f"results.h5: time: is no number at output time {k % count}: the file is damaged"
        ):
            read_content(path, lazy).series["time"]


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_a_folder_is_no_name_of_a_result_file(path):
    refuses("is a folder, wanted the name of a result file", ResultWriter, path, {}, {}, error=ResultError)
    refuses(r"results\.h5: there is no such result file", Results.read, path, error=ResultError)
    refuses(r"'x\\x00': cannot be read", Results.read, "x\0", error=ResultError)
