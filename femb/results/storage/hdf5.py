"""Arrays and attributes in HDF5 files, laid out as in `femb.results.storage.file`; every file read is checked.

Everything has a checksum of HDF5's own, arrays by its filter fletcher32 and groups by its format 1.8, but for the index
of the chunks of an array, which is checked on reading. In format 1.10 the index has one too; but of some damaged files
in it HDF5 reads the attributes without end. Datasets over time are those that can grow along their first axis.
"""

import errno
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from femb.base.arrays import Block, joined
from femb.base.descriptors import opened, read_at, write_at
from femb.base.errors import ResultError

# The layout of arrays over time in HDF5 files: chunks, and batches of output times that fill whole ones.

CHUNK_BYTES = 1 << 16  # unit of reading and checking
BATCH_BYTES = 1 << 23  # collected before a write
# Most output times in a chunk of an array of many nodes, so that the history of one node is in few chunks.
TOGETHER = 256


def gathered(blocks: Iterable[Block]) -> Iterator[Block]:
    """Joins small blocks to a few large ones, since every write by HDF5 costs time; all but the last have a multiple of
    `written_together` output times, so that no chunk is written twice."""
    collected: list[Block] = []
    size = 0
    for block in blocks:
        collected.append(block)
        size += sum(array.nbytes for array in block.values())
        if size >= BATCH_BYTES:
            batch = joined(collected)
            frames, step = len(next(iter(batch.values()))), written_together(batch)
            whole = frames - frames % step
            if whole:
                yield {path: array[:whole] for path, array in batch.items()}
            collected = [{path: array[whole:] for path, array in batch.items()}] if whole < frames else []
            size = sum(array.nbytes for part in collected for array in part.values())
    if collected:
        yield joined(collected)


def written_together(block: Block) -> int:
    """Number of output times, a power of two, that are written together."""
    row = sum(array.nbytes for array in block.values()) / max(1, len(next(iter(block.values()))))
    return int(2 ** np.floor(np.log2(np.clip(BATCH_BYTES / max(row, 1.0), 1, TOGETHER))))


def chunk_shape(shape: tuple[int, ...], itemsize: int, together: int = 1) -> tuple[int, ...]:
    """Shape of a chunk: many output times of all nodes or, where these are too many, ``together`` times of some."""
    row = max(1, itemsize * int(np.prod(shape[1:], dtype=np.int64)))
    frames = min(shape[0], together)
    if frames > 1 and frames * row > CHUNK_BYTES:
        nodes = max(1, CHUNK_BYTES * shape[1] // (frames * row))
        return (frames, nodes, *(max(1, size) for size in shape[2:]))
    return (max(1, min(shape[0], CHUNK_BYTES // row)), *(max(1, size) for size in shape[1:]))


# Files through which HDF5 reads and writes by calls of Python.


class OpenFile(io.RawIOBase):
    """A file to read, which stays the same also when another file takes its name; each process has its own offset."""

    _file = -1  # of one that cannot be opened, which Python closes all the same

    def __init__(self, path: Path, flags: int = os.O_RDONLY) -> None:
        super().__init__()
        if path.is_dir():
            raise IsADirectoryError(path)
        if path.is_fifo():
            raise OSError(errno.ESPIPE, "is a pipe, wanted a file")
        self._file = opened(path, flags)
        self._offset, self._size = 0, os.fstat(self._file).st_size

    def at(self, offset: int, count: int) -> bytes:
        """Up to so many bytes from an offset on."""
        return read_at(self._file, count, offset)

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as far as the file reaches."""
        view = memoryview(buffer).cast("B")
        data = self.at(self._offset, len(view))
        view[: len(data)] = data
        self._offset += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the offset."""
        self._offset = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._offset, os.SEEK_END: self._size}[whence]
        return self._offset

    def fileno(self) -> int:
        """The file descriptor."""
        return self._file

    def close(self) -> None:
        """Close the file."""
        if not self.closed and self._file >= 0:
            os.close(self._file)
        super().close()


class ForgivingFile(OpenFile):
    """A new file to write, which stores the first error and reports success to HDF5.

    Where a write fails, HDF5 prints its internal state, tries again when it closes the file, and may end the process.
    error : the first error; nothing is written after it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        self.error: OSError | None = None

    def _try(self, work: Callable[..., None], *arguments: Any) -> None:
        if self.error is None:
            try:
                work(*arguments)
            except OSError as error:
                self.error = error

    def write(self, data: Any) -> int:
        """Write, unless there has been an error."""
        offset, length = self._offset, memoryview(data).nbytes
        self._offset += length
        self._size = max(self._size, self._offset)
        self._try(write_at, self._file, data, offset)
        return length

    def at(self, offset: int, count: int) -> bytes:
        """So many bytes from an offset on, zeros where a write failed."""
        return super().at(offset, count).ljust(count, b"\0")

    def truncate(self, size: int | None = None) -> int:
        """Set the length."""
        self._size = self._offset if size is None else size
        self._try(os.ftruncate, self._file, self._size)
        return self._size

    def close(self) -> None:
        """Flush the file to the disk and close it."""
        if not self.closed and self._file >= 0:
            self._try(os.fsync, self._file)
        super().close()


# An array larger than its stored bytes by these factors (uncompressed, compressed) and more is refused: it would fill
# the memory.
EXPANSION, COMPRESSED_EXPANSION = 2, 1100
ALWAYS_ADMITTED_BYTES = 1 << 24
# The groups that keep the order of the model, for legends and listings; others are in that of the alphabet.
ORDERED = ("bodies", "beams", "joints", "drivers")
# Largest depth of nested groups.
DEPTH = 16
About: TypeAlias = Callable[[str, tuple[int, ...]], Mapping[str, str]]


def nothing_about(path: str, shape: tuple[int, ...]) -> Mapping[str, str]:
    """No attributes of an array."""
    return {}


def write_hdf5(
    path: Path,
    attributes: Mapping[str, Mapping[str, Any]],
    static: Block,
    frames: int,
    blocks: Iterable[Block],
    compression: int = 0,
    about: About = nothing_about,
) -> dict[str, tuple[int, ...]]:
    """Write a new file; ``blocks`` have the output times in order, ``frames`` of them in all; compression : level of
    gzip of the arrays over time; about : the attributes of an array by its path and shape. Returns the shapes of the
    arrays over time.

    Raises OSError where there is no room, TypeError or ValueError where a value cannot be stored; the file is then
    invalid.
    """
    import h5py

    with ForgivingFile(path) as target, h5py.File(target, "w", libver=("v108", "v108")) as file:
        for kind in ORDERED:
            file.create_group(kind, track_order=True)
        groups = _FileGroups(file)
        for name, array in static.items():
            _describe(_create(groups, name, np.asarray(array)), about(name, np.shape(array)))
        for group, values in attributes.items():
            item = file[group or "/"] if not group or group in file else file.create_group(group)
            for name, value in values.items():
                item.attrs[name] = value
        series: dict[str, Any] = {}
        done = together = 0
        for block in gathered(blocks):
            if target.error is not None:
                break
            for name, array in block.items():
                if name not in series:
                    together = together or written_together(block)
                    series[name] = _create_series(groups, name, frames, array, together, compression)
                    _describe(series[name], about(name, array.shape))
                _fill(series[name], done, array)
            done += len(next(iter(block.values())))
        shapes = {name: dataset.shape for name, dataset in series.items()}
    if target.error is not None:
        raise target.error
    return shapes


class _FileGroups(dict[str, Any]):
    """The numbers of the groups of a file by path, made where they are not there."""

    def __init__(self, file: Any) -> None:
        super().__init__({"": file.id})
        self._file = file

    def __missing__(self, path: str) -> Any:
        self[path] = self._file.require_group(path).id
        return self[path]


def _describe(dataset: Any, attributes: Mapping[str, str]) -> None:
    """Write the attributes of a new dataset, by HDF5's low-level calls, which take a third of the time of h5py's."""
    import h5py

    kind, one = h5py.h5t.py_create(h5py.string_dtype(), logical=1), h5py.h5s.create(h5py.h5s.SCALAR)
    for name, text in attributes.items():
        written = h5py.h5a.create(dataset, name.encode(), kind, one)
        written.write(np.array(text, h5py.string_dtype()))


def _create(groups: _FileGroups, path: str, array: np.ndarray) -> Any:
    import h5py

    if array.dtype.kind == "U":
        # Of fixed length, because HDF5 has no checksums of texts of variable length.
        encoded = np.char.encode(array, "utf-8")
        array = encoded.astype(h5py.string_dtype("utf-8", max(1, encoded.dtype.itemsize)))
    # HDF5 has checksums of chunks only, and a single number has no chunks.
    chunks = chunk_shape(array.shape, array.dtype.itemsize) if array.size and array.ndim else None
    dataset = _dataset(groups, path, array.dtype, array.shape, None, chunks)
    if array.size:
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(array))
    return dataset


def _create_series(
    groups: _FileGroups, path: str, frames: int, array: np.ndarray, together: int, compression: int
) -> Any:
    """A dataset that can grow along time."""
    import h5py

    shape = (frames, *array.shape[1:])
    most = (h5py.h5s.UNLIMITED, *(size or h5py.h5s.UNLIMITED for size in shape[1:]))
    return _dataset(
        groups, path, array.dtype, shape, most, chunk_shape(shape, array.dtype.itemsize, together), compression
    )


def _dataset(
    groups: _FileGroups,
    path: str,
    kind: np.dtype[Any],
    shape: tuple[int, ...],
    most: tuple[int, ...] | None,
    chunks: tuple[int, ...] | None,
    compression: int = 0,
) -> Any:
    """A new dataset, with checksums if it has chunks, by HDF5's low-level calls, which take a third of the time of
    h5py's; most : the shape to which it can grow."""
    from h5py import h5d, h5p, h5s, h5t

    group, _, name = path.rpartition("/")
    properties, link = h5p.create(h5p.DATASET_CREATE), h5p.create(h5p.LINK_CREATE)
    properties.set_obj_track_times(False)
    link.set_char_encoding(h5t.CSET_ASCII if name.isascii() else h5t.CSET_UTF8)
    if chunks is not None:
        properties.set_chunk(chunks)
        if compression:
            # shuffle puts the bytes of numbers of the same order side by side, which are alike
            properties.set_shuffle()
            properties.set_deflate(compression)
        properties.set_fletcher32()
    if most is not None and kind.kind == "f":
        # NaN shows a reader the rows that were never filled.
        properties.set_fill_value(np.array(np.nan))
    space = h5s.create_simple(shape, most)
    kind_of_file = h5t.py_create(kind, logical=1)
    return h5d.create(groups[group], name.encode(), kind_of_file, space, dcpl=properties, lcpl=link)


def _fill(dataset: Any, start: int, array: np.ndarray) -> None:
    """Write an array (k, ...) to the rows from ``start`` on."""
    import h5py

    if array.size:
        space = dataset.get_space()
        space.select_hyperslab((start,) + (0,) * (array.ndim - 1), array.shape)
        dataset.write(h5py.h5s.create_simple(array.shape), space, np.ascontiguousarray(array))


class Listing:
    """The content of an open file, checked once: attributes of groups by path, and the arrays over time and others, as
    datasets that are of use while the file is open. Attributes of arrays are for other programs: quantities declare
    them.

    Raises ResultError for anything that no result file contains: links out of the tree of groups, arrays of other types
    than numbers and text, arrays without stored data.
    """

    def __init__(self, file: Any) -> None:
        self.attributes: dict[str, dict[str, Any]] = {}
        self.series: dict[str, Any] = {}
        self.static: dict[str, Any] = {}
        # number of leading rows of an array that were written
        self.filled: dict[str, int] = {}
        self._seen: set[int] = set()
        self._item(file.id, "", 0)

    def _item(self, item: Any, path: str, depth: int) -> None:
        """Read a group or an array, given by HDF5's number of it: h5py's objects take most of the time of a file."""
        from h5py import Dataset, Group, h5d, h5g, h5l, h5o

        address = h5o.get_info(item).addr
        if address in self._seen:
            raise ResultError(f"{path}: the same thing under another name: links that lead in circles")
        self._seen.add(address)
        if isinstance(item, h5d.DatasetID):
            self._dataset(Dataset(item), path)
            return
        if not isinstance(item, h5g.GroupID):
            raise ResultError(f"{path}: a {type(item).__name__}, not an array or a group")
        if depth > DEPTH:
            raise ResultError(f"{path}: more than {DEPTH} groups within each other")
        group = Group(item)
        self.attributes[path] = {key: _plain(value) for key, value in group.attrs.items()}
        # Not h5py's visititems, whose order is the alphabet, not that of the model.
        for name in group:
            below, link = f"{path}/{name}" if path else name, name.encode(errors="surrogateescape")
            if item.links.get_info(link).type != h5l.TYPE_HARD:
                where = getattr(group.get(name, getlink=True), "path", "something else")
                raise ResultError(f"{below}: a link to {where}, not an array or a group")
            self._item(h5o.open(item, link), below, depth + 1)

    def _dataset(self, dataset: Any, path: str) -> None:
        kind, shape, chunks = dataset.dtype, dataset.shape, dataset.chunks
        if shape is None or not (kind.kind in "biufcS" or _is_text(kind)):
            raise ResultError(f"{path}: an array of kind {kind}, expected numbers or text")
        if chunks is None and (dataset.is_virtual or dataset.external):
            raise ResultError(f"{path}: an array that is kept in other files")
        size = kind.itemsize * int(np.prod(shape, dtype=object))
        if size > ALWAYS_ADMITTED_BYTES:
            expansion = EXPANSION if dataset.compression is None else COMPRESSED_EXPANSION
            if size > dataset.id.get_storage_size() * expansion + ALWAYS_ADMITTED_BYTES:
                raise ResultError(f"{path}: shape {shape}, of which the file holds next to nothing")
        over_time = dataset.maxshape[:1] == (None,)
        if shape and chunks is not None:
            self.filled[path] = _whole_rows(dataset, path)
            if self.filled[path] < shape[0] and not over_time:
                raise ResultError(f"{path}: a part of it is missing")
        if over_time and kind.kind not in "biufc":
            raise ResultError(f"{path}: an array over time of kind {kind}, expected numbers")
        (self.series if over_time else self.static)[path] = dataset


def _whole_rows(dataset: Any, path: str) -> int:
    """Number of leading rows with all chunks. Raises ResultError where the index of chunks is damaged."""
    offsets, addresses = set(), set()
    for k in range(dataset.id.get_num_chunks()):
        chunk = dataset.id.get_chunk_info(k)
        offsets.add(tuple(chunk.chunk_offset))
        addresses.add(chunk.byte_offset)
    wanted = set(product(*(range(0, size, part) for size, part in zip(dataset.shape, dataset.chunks, strict=True))))
    # at the address zero is the file's own head; HDF5 reads a chunk there as one that was never written
    if not offsets <= wanted or len(addresses) != len(offsets) or 0 in addresses:
        raise ResultError(f"{path}: parts of it are not where they should be")
    return min((offset[0] for offset in wanted - offsets), default=dataset.shape[0])


def read_array(dataset: Any, part: Any = ...) -> np.ndarray:
    """An array of numbers or text, or a part of it.

    Raises ResultError for a stored chunk that HDF5 did not find, by damaged keys of its index: it reads as unwritten,
    full of the fill value.
    """
    kind, chunks = dataset.dtype, dataset.chunks
    if kind.kind == "S" or _is_text(kind):
        return np.asarray(dataset.asstr()[part], dtype=str)
    array = np.asarray(dataset[part])
    if chunks is None:
        return array
    if part is not ...:
        counts = [-(-size // each) for size, each in zip(dataset.shape, chunks, strict=True)]
        if dataset.id.get_num_chunks() != int(np.prod(counts)):
            raise ResultError(f"{dataset.name}: a part of it is missing")
        return array
    fill = np.full(1, dataset.fillvalue, kind)
    for k in range(dataset.id.get_num_chunks()):
        offset = dataset.id.get_chunk_info(k).chunk_offset
        chunk = array[tuple(slice(first, first + size) for first, size in zip(offset, chunks, strict=True))]
        if chunk.size and chunk.flat[0] != fill[0] and chunk.flat[0] == chunk.flat[0]:
            continue
        if np.array_equal(chunk, np.broadcast_to(fill, chunk.shape), equal_nan=kind.kind in "fc"):
            try:
                dataset.id.read_direct_chunk(offset)
            except (OSError, RuntimeError) as error:
                raise ResultError(f"{dataset.name}: parts of it are not where they should be") from error
    return array


def _is_text(kind: np.dtype[Any]) -> bool:
    import h5py

    return h5py.check_string_dtype(kind) is not None


def _plain(value: Any) -> Any:
    """Numbers of numpy as those of Python."""
    return value.item() if isinstance(value, np.generic) else value
