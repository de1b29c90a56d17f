"""What a run records, ``[run.output]``: selection, precision and compression; one node read; memory of long runs."""

import pickle
import tracemalloc
from functools import cache

import h5py
import numpy as np
import pytest
from checkout import ROOT
from models import of_parts, refuses

import femb
from femb.base.options import Output, matches
from femb.elements.beam.batch import BeamBatch
from femb.results.storage.file import ResultWriter
from femb.run.simulate import summary

CASE = ROOT / "cases" / "satellite_forced.toml"
# More output times than are evaluated at once.
SHORT = {"duration": 0.05, "output_interval": 5e-4, "rtol": 1e-4}


@cache
def everything() -> femb.Results:
    return femb.simulate(CASE, **SHORT)


def recorded(results: femb.Results) -> set[str]:
    return {path for path in results.series if not path.startswith("audit/") and path != "time"}


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("hub", "bodies/hub/position", True),
        ("hub.*", "bodies/hub/position", True),
        ("bodies", "bodies/hub/position", True),
        ("*/position", "bodies/hub/position", True),
        ("bodies.hub.position", "bodies/hub/position", True),
        ("hub/posit", "bodies/hub/position", False),
        ("position", "bodies/hub/position", False),
        ("hub", "bodies/hub2/position", False),
        ("[hg]ub?", "bodies/hub2/position", True),
        ("a.b", "bodies/a.b/position", True),
    ],
)
def test_a_pattern_is_a_path_or_its_beginning(pattern, path, expected):
    assert matches(pattern, path) is expected


@pytest.mark.parametrize(
    "output",
    [
        {"select": ["hub"]},
        {"select": ["appendages"]},
        {"exclude": ["beams", "*.acceleration"]},
        {"select": ["*.position"], "exclude": ["left"]},
    ],
)
def test_a_selection_has_the_same_numbers_and_the_whole_audit(output):
    chosen = Output(**output)
    some, full = femb.simulate(CASE, **SHORT, output=output), everything()
    assert recorded(some) == {path for path in recorded(full) if chosen.admits(path)}
    assert recorded(some)
    assert {path for path in full.series if path.startswith("audit/")} <= set(some.series)
    for path, array in some.series.items():
        assert np.array_equal(array, full.series[path]), path
    assert set(some.static) == set(full.static)


def test_what_is_not_selected_is_not_evaluated(monkeypatch):
    evaluated = []
    records = BeamBatch.records
    monkeypatch.setattr(
        BeamBatch,
        "records",
        lambda batch, frames, others: evaluated.extend(frames.time) or records(batch, frames, others),
    )
    instants = {}
    for select in (["hub"], []):
        evaluated.clear()
        femb.simulate(CASE, **SHORT, output={"select": select})
        instants[len(select)] = len(evaluated)
    # the first instants show that nothing of the beams is selected
    assert 1 <= instants[1] < instants[0]


def test_what_was_not_recorded_is_said_on_reading(tmp_path):
    file = tmp_path / "results.h5"
    run = femb.simulate(CASE, **SHORT, output={"select": ["*.position"]}, out=file)
    for results in (run, femb.Results.read(file), pickle.loads(pickle.dumps(run))):
        with pytest.raises(
            femb.ResultError, match=r"no quantity 'velocity'.* \[run.output\] select = \['\*.position'\]"
        ):
            _ = results.beams["left"].velocity
        assert results.beams["left"].position.shape == (101, 3, 3)
    with pytest.raises(femb.ResultError, match=r"no array 'bodies/hub/velocity'; .*select = \['\*.position'\]"):
        femb.Results.read_array(file, "bodies/hub/velocity")


@pytest.mark.slow
def test_single_precision_and_compression(tmp_path):
    sizes = []
    for output in ({}, {"precision": "float32"}, {"precision": "float32", "compression": 9}):
        file = tmp_path / f"{len(sizes)}.h5"
        femb.simulate(CASE, **SHORT, output=output, out=file)
        results = femb.Results.read(file)
        with h5py.File(file) as stored:
            sizes.append(sum(stored[path].id.get_storage_size() for path in results.series))
        for path, array in results.series.items():
            single = output and path != "time" and not path.startswith(("audit/", "budget/"))
            assert array.dtype == (np.float32 if single else np.float64), path
            wanted = everything().series[path]
            assert np.allclose(array, wanted, rtol=1e-7, atol=1e-30), path
    assert sizes[1] < 0.8 * sizes[0]
    assert sizes[2] < 0.9 * sizes[1]


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"select": ["hubb"]}, "run.output.select: 'hubb' belongs to no quantity .* did you mean 'hub'"),
        ({"exclude": ["hub.posit"]}, "run.output.exclude: 'hub.posit' belongs to no .* 'hub/position'"),
        ({"select": ["left.von_mises"]}, "run.output.select: 'left.von_mises' belongs to no quantity"),
        ({"select": "hub"}, "run.output.select: got 'hub', wanted a list of patterns"),
        ({"select": [3]}, r"run.output.select: got \[3\], wanted a list of patterns"),
        ({"precision": "half"}, "run.output.precision: got 'half', must be one of 'float64', 'float32'"),
        ({"compression": 10}, "run.output.compression: .*10"),
        ({"choose": ["hub"]}, "run.output.choose: there is no such option; there are: select, exclude"),
    ],
)
def test_outputs_that_are_refused(output, message, tmp_path):
    file = tmp_path / "results.h5"
    refuses(message, femb.simulate, CASE, **SHORT, output=output, out=file)
    assert not list(tmp_path.iterdir())


def test_a_pattern_of_a_case_file_is_checked_before_the_run(tmp_path):
    case = femb.load_case(CASE, ["run.output.select=['hub', 'sail.*']"])
    assert case.run.output == Output(select=("hub", "sail.*"))
    refuses(r"run.output.select: 'sail.\*' belongs to no quantity", summary, case.model, case.run)


def written(path, nodes, compression=0):
    """A beam's positions at 300 output times, in blocks that are no multiple of the chunks."""
    array = np.random.default_rng(1).random((300, nodes, 3))
    with ResultWriter(path, {}, {"beams/boom": {}}, compression) as writer:
        for part in np.array_split(np.arange(300), 7):
            writer.append({"time": part.astype(float), "beams/boom/position": array[part]})
        writer.finish("complete")
    return array


@pytest.mark.parametrize(("nodes", "compression"), [(5, 0), (1000, 0), (1000, 1)])
def test_one_node_is_read_alone(tmp_path, nodes, compression):
    file = tmp_path / "results.h5"
    array = written(file, nodes, compression)
    read = femb.Results.read_array
    assert np.array_equal(read(file, "beams/boom[3]/position"), array[:, 3])
    assert np.array_equal(read(file, "beams/boom[-1]/position"), array[:, -1])
    assert np.array_equal(read(file, "beams/boom/position"), array)
    assert np.array_equal(femb.Results.read(file).beams["boom"].position, array)
    with h5py.File(file) as content:
        chunks = content["beams/boom/position"].chunks
    # one node of many is in a small part of the file
    assert chunks[1] * 3 * 300 * 8 < 2e6
    for name, message in (
        (f"beams/boom[{nodes}]/position", f"no number {nodes}; they are 0 to {nodes - 1}"),
        ("beams/boom[0]/speed", "no array 'beams/boom\\[0\\]/speed'; there are: 'position'"),
        ("time[0]/x", "no array"),
    ):
        refuses(message, read, file, name, error=femb.ResultError)


def test_a_damaged_part_of_a_node_is_refused(tmp_path):
    file = tmp_path / "results.h5"
    written(file, 1000)
    with h5py.File(file) as content:
        place = content["beams/boom/position"].id.get_chunk_info(0).byte_offset
    data = bytearray(file.read_bytes())
    data[place + 8] ^= 1
    file.write_bytes(data)
    with pytest.raises(femb.ResultError, match="cannot be read as a result file"):
        femb.Results.read_array(file, "beams/boom[0]/position")


@pytest.mark.slow
def test_memory_does_not_grow_with_steps():
    model = of_parts(femb.RigidBody("b", mass=1.0, inertia=(1.0, 2.0, 3.0), angular_velocity=(0.1, 2.0, 0.1)))
    sizes, count = np.zeros(2200), iter(range(2200))

    class Watch:
        def message(self, text: str) -> None:
            raise AssertionError(text)

        def update(self, t: float) -> None:
            sizes[next(count)] = tracemalloc.get_traced_memory()[0]

    options = {"method": "rk", "tableau": "rk4", "step": 1e-3, "output_interval": 0.9, "duration": 2.2}
    tracemalloc.start()
    try:
        results = femb.simulate(model, **options, progress=Watch())
    finally:
        tracemalloc.stop()
    assert results.statistics["steps"] == 2200
    # one output time, and nothing from the 1000 steps; the pace is that of the last 1000
    assert abs(np.mean(sizes[-100:]) - np.mean(sizes[1100:1200])) < 16e3
