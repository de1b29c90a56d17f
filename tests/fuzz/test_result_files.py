"""Result files that were damaged or edited: they are read, or refused with one message, and nothing else happens."""

from datetime import timedelta
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, seed, settings
from hypothesis import strategies as st
from models import refuses
from oracles.synthetic_results import satellite
from seeds import SEED, TRIES

from femb.base.errors import ResultError
from femb.results.results import Results
from femb.results.storage.file import ResultWriter

FEW = 40
OPTIONS = {"deadline": timedelta(seconds=10), "derandomize": False, "database": None, "print_blob": True}
SLOW = settings(max_examples=TRIES, suppress_health_check=list(HealthCheck), **OPTIONS)
QUICK = settings(max_examples=FEW, suppress_health_check=list(HealthCheck), **OPTIONS)


class Originals(tuple):
    """Hypothesis would print all of it."""

    def __repr__(self):
        return "originals"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@pytest.fixture(scope="module")
def originals(folder):
    """Contents of an HDF5 file and of a journal with the same results, and these."""
    block, static, attributes = satellite(times=9)
    static["linear/states"] = np.array(["hub.x", "hub.y"])
    attributes["joints/hinge"] = {"names": "[]"}
    results = Results(block, static, attributes)
    results.write(folder / "whole.h5")
    writer = ResultWriter(folder / "other.h5", static, attributes)
    for k in range(9):
        writer.append({path: array[k : k + 1] for path, array in block.items()})
    journal = (folder / "other.h5.part").read_bytes()
    writer.close()
    return Originals(((folder / "whole.h5").read_bytes(), journal, results))


def read(path: Path) -> Results | None:
    """The results of a file, or None where it is refused as it should be."""
    try:
        results = Results.read(path)
    except ResultError as caught:
        message = str(caught)
    else:
        repr(results)
        for group in (results.bodies, results.beams, results.joints):
            assert all(repr(each) for each in group.values())
        return results
    assert message.startswith(str(path)), message
    assert message.count(str(path)) == 1, message
    assert "\n" not in message, message
    return None


DAMAGES = ["flip", "flip", "flip", "cut", "overwrite", "zero"]
damage = st.lists(st.tuples(st.sampled_from(DAMAGES), st.floats(0.0, 1.0), st.integers(0, 255)), min_size=1, max_size=4)


def damaged(data: bytes, steps) -> bytes:
    content = bytearray(data)
    for kind, where, value in steps:
        if not content:
            break
        at = min(int(where * len(content)), len(content) - 1)
        if kind == "flip":
            content[at] ^= 1 << value % 8
        elif kind == "cut":
            del content[at:]
        else:
            length = min(1 + value, len(content) - at)
            content[at : at + length] = bytes([value if kind == "overwrite" else 0]) * length
    return bytes(content)


def check_bytes(originals, folder, which, steps):
    """A file is what it was, or less of it from the end on, or refused: never other numbers."""
    path = folder / "damaged.h5"
    path.write_bytes(damaged(originals[which], steps))
    results = read(path)
    if results is not None:
        whole = originals[2]
        for name, array in results.series.items():
            if name in whole.series:
                np.testing.assert_array_equal(array, whole.series[name][: len(array)], err_msg=f"FEMB_SEED={SEED}")


def runs(options):
    """Decorate a test of hypothesis with its options, and a seed that is printed."""
    print(f"FEMB_SEED={SEED}")
    return lambda test: seed(SEED)(options(test))


@pytest.mark.slow
@runs(QUICK)
@given(which=st.integers(0, 1), steps=damage)
@example(which=0, steps=[("zero", 0.5503391699758872, 75)])  # the address of a chunk
@example(which=0, steps=[("zero", 0.624422381052473, 34)])  # the last key of an index of chunks
def test_damaged_bytes(originals, folder, which, steps):
    check_bytes(originals, folder, which, steps)


@pytest.mark.slow
@runs(SLOW)
@given(which=st.integers(0, 1), steps=damage)
def test_damaged_bytes_many(originals, folder, which, steps):
    check_bytes(originals, folder, which, steps)


PATHS = ["time", "bodies/hub/position", "bodies/hub/quaternion", "beams/right/strain", "audit/kinetic_energy"]
PATHS += ["beams/left/outline", "linear/states", "joints/hinge/coordinates", "bodies/hub", "bodies", "audit"]
# These are refused wherever they are made; the others depend on it.
REFUSED = ["soft", "dangling", "external", "hard", "kind", "empty", "type", "huge", "attribute"]
EDITS = [*REFUSED, "delete", "text", "shape"]


def edit(file: h5py.File, kind: str, path: str, other: str) -> None:
    """Change something in a file, if it is still there to be changed."""
    try:
        _ = file[path], file[other]
    except (KeyError, RuntimeError, OSError):
        return
    if kind == "attribute":
        file[path].attrs["names"] = file[path].attrs["shape"] = "{not JSON"
        file.attrs["status"] = other
        return
    del file[path]
    if kind == "soft":
        file[path] = h5py.SoftLink(f"/{other}")
    elif kind == "dangling":
        file[path] = h5py.SoftLink("/nowhere")
    elif kind == "external":
        file[path] = h5py.ExternalLink("/etc/passwd.h5", "/")
    elif kind == "hard":
        # a soft link that leads nowhere any more is in the file, and has nothing to link to
        try:
            target = file["/"] if path.startswith(other) else file[other]
        except KeyError:
            target = file["/"]
        file[path] = target
    elif kind == "text":
        file[path] = ["a", "b"]
    elif kind == "shape":
        file.create_dataset(path, data=np.zeros((9, 5, 1)), maxshape=(None, 5, 1))
    elif kind == "kind":
        file.create_dataset(path, data=np.zeros(9, [("a", float), ("b", int)]), maxshape=(None,))
    elif kind == "empty":
        file[path] = h5py.Empty(float)
    elif kind == "type":
        file[path] = np.dtype("f8")
    elif kind == "huge":
        file.create_dataset(path, shape=(10**12, 3), maxshape=(None, 3), dtype=float, chunks=(1000, 3))


edits = st.lists(
    st.tuples(st.sampled_from(EDITS), st.sampled_from(PATHS), st.sampled_from(PATHS)), min_size=1, max_size=3
)


def check_edits(originals, folder, steps):
    path = folder / "edited.h5"
    path.write_bytes(originals[0])
    with h5py.File(path, "r+") as file:
        for step in steps:
            edit(file, *step)
    results = read(path)
    if len(steps) == 1 and steps[0][0] in REFUSED:
        assert results is None, f"FEMB_SEED={SEED}: {steps} was read"


@pytest.mark.slow
@runs(QUICK)
@given(steps=edits)
@example(steps=[("soft", "bodies/hub/position", "time"), ("hard", "time", "bodies/hub/position")])
def test_edited_files(originals, folder, steps):
    check_edits(originals, folder, steps)


@pytest.mark.slow
@runs(SLOW)
@given(steps=edits)
def test_edited_files_many(originals, folder, steps):
    check_edits(originals, folder, steps)


def test_a_cycle_of_groups_is_named(originals, folder):
    path = folder / "cycle.h5"
    path.write_bytes(originals[0])
    with h5py.File(path, "r+") as file:
        file["bodies/hub/bodies"] = file["bodies"]
    refuses(r"cycle\.h5: bodies/hub/bodies: the same thing under another name", Results.read, path, error=ResultError)


def test_a_turned_bit_of_a_number_is_seen(originals, folder):
    """Numbers have checksums: any single bit of them."""
    data, _, results = originals
    path = folder / "turned.h5"
    place = data.index(results.bodies["hub"].position.tobytes())
    for bit in (3, 800, 1500):
        content = bytearray(data)
        content[place + bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        refuses(r"turned\.h5: cannot be read as a result file.*damaged", Results.read, path, error=ResultError)
