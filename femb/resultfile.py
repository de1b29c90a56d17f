"""Result files: written frame by frame, readable after a kill.

Layout of the HDF5 file, which users' scripts rely on (T output times, n nodes, e elements)::

    /                attributes: femb_version, case, method, status ("running" | "complete" |
                     "failed"), message
    /time            (T,) s
    /bodies/NAME/    position (T,3) quaternion (T,4) velocity (T,3) angular_velocity (T,3)
                     acceleration (T,3) angular_acceleration (T,3), attributes fixed and shape
    /beams/NAME/     position (T,n,3) quaternion (T,n,4) velocity (T,n,3) angular_velocity (T,n,3)
                     acceleration (T,n,3) angular_acceleration (T,n,3)
                     strain (T,e,2) section_force (T,e,2,3) section_moment (T,e,2,3)
                     rotation (T,n,4) deflection (T,n,3), attribute deflection_body: the body in
                     whose axes; without time: reference_position (n,3)
                     reference_quaternion (n,4) element_length (e,) corner (e,4) outline (m,2)
    /joints/NAME/    force (T,3) torque (T,3), coordinates, rates and accelerations where it has any
    /drivers/NAME/   value rate force (T,n), attribute names: of the n components
    /springs/NAME/   force (T,) length or angle (T,) rate (T,); three each on Euler angles
    /loads/NAME/     the same of motors of joints
    /audit/          energies, momenta, errors, (T,) or (T,3)
    /events/NAME/    time energy_loss (k,), written at the end
    /statistics      attributes: steps, evaluations, wall_time, ...

Units and axes are those of `femb.results`. A *block* is a dictionary of path to (k, ...) array
for k consecutive output times. Datasets over time are those that can grow along their first axis.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from femb.errors import ResultError
from femb.results import NOTHING, Arrays, Attributes, Results

BUFFER_FRAMES = 16  # 16 frames a write is ten times cheaper than one
FLUSH_SECONDS = 2.0
CHUNK_BYTES = 8192  # a chunk holds at least this much where frames are small
CHUNK_LIMIT = 1 << 20  # and at most this much where they are large: it has to fit HDF5's chunk cache

Block = Mapping[str, np.ndarray]


class Writer(Protocol):
    """What a run writes to: a file or memory."""

    def append(self, block: Block) -> None:
        """Take k consecutive output times."""

    def finish(
        self, status: str, message: str = "", statistics: Mapping[str, Any] = NOTHING, more: Arrays = NOTHING
    ) -> None:
        """Record how the run ended, and arrays that were not known before."""

    def close(self) -> None:
        """Take no more."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class _Blocks:
    """Blocks waiting to be written, all with the paths and row shapes of the first."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, np.ndarray]] = []
        self._shapes: dict[str, tuple[int, ...]] = {}
        self.frames = 0

    def add(self, block: Block) -> None:
        # Copied, because a run may fill the same arrays again.
        copy = {path: np.array(array) for path, array in block.items()}
        if "time" not in copy or copy["time"].ndim != 1:
            raise ResultError("a block of results needs 'time' of shape (k,)")
        frames = copy["time"].size
        for path, array in copy.items():
            if array.shape[:1] != (frames,):
                raise ResultError(f"{path}: shape {array.shape} in a block of {frames} output times")
        shapes = {path: array.shape[1:] for path, array in copy.items()}
        self._shapes = self._shapes or shapes
        if shapes != self._shapes:
            path = next(p for p in {**shapes, **self._shapes} if shapes.get(p) != self._shapes.get(p))
            raise ResultError(
                f"{path}: one output time has shape {shapes.get(path, 'none')}, "
                f"earlier ones {self._shapes.get(path, 'none')}"
            )
        self._blocks.append(copy)
        self.frames += frames

    def joined(self) -> dict[str, np.ndarray]:
        if not self._blocks:
            return {}
        return {path: np.concatenate([block[path] for block in self._blocks]) for path in self._shapes}

    def clear(self) -> None:
        self._blocks.clear()
        self.frames = 0


class MemoryWriter:
    """A `Writer` that keeps the blocks and gives `Results`."""

    def __init__(self, static: Arrays, attributes: Attributes) -> None:
        self._static = {path: np.array(array) for path, array in static.items()}
        self._attributes = _started(attributes)
        self._blocks = _Blocks()

    def append(self, block: Block) -> None:
        """Keep a copy of the block."""
        self._blocks.add(block)

    def finish(
        self, status: str, message: str = "", statistics: Mapping[str, Any] = NOTHING, more: Arrays = NOTHING
    ) -> None:
        """Record how the run ended, and arrays that were not known before."""
        self._static |= more
        self._attributes[""].update(status=status, message=message)
        self._attributes.setdefault("statistics", {}).update(statistics)

    def close(self) -> None:
        """Nothing to do: memory has no file to close."""

    def results(self) -> Results:
        """What was appended so far."""
        return Results(self._blocks.joined(), self._static, self._attributes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.finish("failed", _reason(error))


class ResultWriter:
    """A `Writer` to an HDF5 file; what is flushed survives a kill of the process.

    Parameters
    ----------
    path : path of the file
        Its folder is made. An existing file is replaced at once, but kept where the new one
        cannot be made.
    static, attributes
        As in `femb.results.Results`.

    Frames are buffered, and written and flushed every 16 frames or at the first `append` after
    2 s. Use it as a context: leaving it closes the file, leaving it by an exception also sets the
    status "failed". Raises ResultError where the file cannot be written.
    """

    def __init__(self, path: str | Path, static: Arrays, attributes: Attributes) -> None:
        import h5py

        self.path = Path(path)
        self._blocks = _Blocks()
        self._series: dict[str, Any] = {}
        self._written = 0
        self._flushed = time.monotonic()
        # Made beside its place and moved there when whole: a failure leaves the old file as it was.
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        with _writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.is_dir():
                raise IsADirectoryError("it is a folder")
            try:
                with h5py.File(draft, "w") as file:
                    # Only these keep the order of the model, for legends and listings.
                    for kind in ("bodies", "beams", "joints", "drivers"):
                        file.create_group(kind, track_order=True)
                    for name, array in static.items():
                        _write_static(file, name, array)
                    _write_attributes(file, _started(attributes))
                draft.replace(self.path)
            finally:
                draft.unlink(missing_ok=True)
            # Without a lock, as readers do, so that a run can be looked at while it goes on; another
            # run to the same path gets a new file, so two never write to one.
            self._file = h5py.File(self.path, "r+", locking=False)

    def append(self, block: Block) -> None:
        """Take k output times; writes when the buffer is full or old."""
        self._blocks.add(block)
        if self._blocks.frames >= BUFFER_FRAMES or time.monotonic() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Put everything taken so far into the file."""
        with _writing(self.path):
            for path, array in self._blocks.joined().items():
                if path not in self._series:
                    self._series[path] = _create_series(self._file, path, array)
                _extend(self._series[path], self._written, array)
            self._written += self._blocks.frames
            self._blocks.clear()
            self._file.flush()
        self._flushed = time.monotonic()

    def finish(
        self, status: str, message: str = "", statistics: Mapping[str, Any] = NOTHING, more: Arrays = NOTHING
    ) -> None:
        """Flush, and record how the run ended, and arrays that were not known before."""
        self.flush()
        with _writing(self.path):
            for path, array in more.items():
                _write_static(self._file, path, array)
            ending = {"": {"status": status, "message": message}, "statistics": statistics}
            _write_attributes(self._file, ending)
            self._file.flush()

    def close(self) -> None:
        """Flush and close; the status stays as it is."""
        if self._file:  # false once closed
            try:
                self.flush()
            finally:
                self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                self.finish("failed", _reason(error))
        finally:
            self.close()


def read_results(path: str | Path) -> Results:
    """`Results` of a file; of an unfinished one, the output times that are there in full.

    Raises ResultError where the file is missing, cut off, or no result file.
    """
    import h5py

    path = Path(path)
    if not path.is_file():
        raise ResultError(f"{path}: {'a folder, not' if path.is_dir() else 'there is no such'} result file")
    series: dict[str, np.ndarray] = {}
    static: dict[str, np.ndarray] = {}
    attributes: dict[str, dict[str, Any]] = {}
    try:
        # Without a lock, so that a run can be looked at while it goes on.
        with h5py.File(path, "r", locking=False) as file:
            for name, item in _walk(file):
                attributes[name] = {key: _plain(value) for key, value in item.attrs.items()}
                if isinstance(item, h5py.Dataset):
                    (series if item.maxshape[:1] == (None,) else static)[name] = _read(item)
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise ResultError(
            f"{path}: cannot be read as a result file ({error}). It may be cut off or of another kind; "
            "if a run is writing to it just now, try again"
        ) from error
    if "status" not in attributes[""]:
        raise ResultError(f"{path}: an HDF5 file, but not one of femb's: it has no attribute 'status'")
    attributes = {name: values for name, values in attributes.items() if values}
    frames = _whole_frames(series)
    return Results({name: array[:frames] for name, array in series.items()}, static, attributes)


def write_results(results: Results, path: str | Path) -> None:
    """Write `results` to a new file that `read_results` reads back."""
    with ResultWriter(path, results.static, results.attributes) as writer:
        if results.series:
            writer.append(results.series)
        writer.finish(results.status, results.message, results.statistics)


def _started(attributes: Attributes) -> dict[str, dict[str, Any]]:
    """A copy that has at least the root attributes a reader expects."""
    copy = {path: dict(values) for path, values in attributes.items()}
    copy[""] = {"case": "", "method": "", "status": "running", "message": "", **copy.get("", {})}
    return copy


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn what h5py and the system raise into a ResultError that names the file."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        raise ResultError(
            f"{path}: the result file cannot be written ({error}). Check the folder's permissions and the free space"
        ) from error


def _create_series(file: Any, path: str, array: np.ndarray) -> Any:
    """An empty dataset that grows along time."""
    frame = max(1, array.dtype.itemsize * int(np.prod(array.shape[1:])))
    rows = min(max(BUFFER_FRAMES, CHUNK_BYTES // frame), max(1, CHUNK_LIMIT // frame))
    # NaN shows the reader which rows a killed run had made room for but not filled.
    return file.create_dataset(
        path,
        shape=(0, *array.shape[1:]),
        maxshape=(None, *(size or None for size in array.shape[1:])),
        chunks=(rows, *(max(1, size) for size in array.shape[1:])),
        dtype=array.dtype,
        fillvalue=np.nan if array.dtype.kind == "f" else None,
    )


def _extend(dataset: Any, start: int, array: np.ndarray) -> None:
    """``dataset[start:] = array`` after making room for it.

    In HDF5's own calls: h5py's indexing took half the time of a run with small frames.
    """
    import h5py

    dataset.id.set_extent((start + len(array), *array.shape[1:]))
    if array.size:
        place = dataset.id.get_space()
        place.select_hyperslab((start,) + (0,) * (array.ndim - 1), array.shape)
        dataset.id.write(h5py.h5s.create_simple(array.shape), place, np.ascontiguousarray(array))


def _write_static(file: Any, path: str, array: Any) -> None:
    import h5py

    array = np.asarray(array)
    text = array.dtype.kind == "U"
    file.create_dataset(path, data=array.astype(object) if text else array, dtype=h5py.string_dtype() if text else None)


def _write_attributes(file: Any, attributes: Attributes) -> None:
    for path, values in attributes.items():
        item = file[path or "/"] if not path or path in file else file.create_group(path)
        for name, value in values.items():
            item.attrs[name] = value


def _walk(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every group and dataset with its path, the group itself first as "".

    By hand because h5py's visititems goes by the alphabet, not in the order of the model.
    """
    yield prefix, group
    if hasattr(group, "items"):
        for name, item in group.items():
            yield from _walk(item, f"{prefix}/{name}" if prefix else name)


def _read(dataset: Any) -> np.ndarray:
    return np.asarray(dataset.asstr()[...], dtype=str) if dataset.dtype.kind == "O" else dataset[...]


def _plain(value: Any) -> Any:
    """Numbers of numpy as Python's own, as they were written."""
    return value.item() if isinstance(value, np.generic) else value


def _whole_frames(series: Mapping[str, np.ndarray]) -> int:
    """How many output times every series has; a killed run's may differ by what was flushed."""
    frames = min((len(array) for array in series.values()), default=0)
    written = np.isfinite(series["time"][:frames]) if "time" in series else np.ones(frames, bool)
    return frames if written.all() else int(np.argmin(written))
