"""Files through which HDF5 reads and writes by calls of Python.

`OpenFile` reads the file it opened even after renaming; `ForgivingFile` hides errors of writing from HDF5, which does
not recover from them.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def write_at(file: int, data: bytes | memoryview, offset: int) -> None:
    """Write all data to a file descriptor, from an offset on."""
    view = memoryview(data).cast("B")
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written


class OpenFile(io.RawIOBase):
    """A file to read, which stays the same also when another file takes its name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        if path.is_dir():
            raise IsADirectoryError(path)
        self._open(path, os.O_RDONLY)

    def _open(self, path: Path, flags: int) -> None:
        self._file = os.open(path, flags, 0o666)
        self._offset, self._size = 0, os.fstat(self._file).st_size

    def read(self, size: int | None = -1) -> bytes:
        """Up to ``size`` bytes; all that follow if it is negative or None."""
        data = os.pread(self._file, self._size - self._offset if size is None or size < 0 else size, self._offset)
        self._offset += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as far as the file reaches."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the offset."""
        self._offset = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._offset, os.SEEK_END: self._size}[whence]
        return self._offset

    def tell(self) -> int:
        """The offset of the next read or write."""
        return self._offset

    def flush(self) -> None:
        """No effect: nothing is buffered."""

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def fileno(self) -> int:
        """The file descriptor."""
        return self._file

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            os.close(self._file)
        super().close()


class ForgivingFile(OpenFile):
    """A new file to write, which stores the first error and reports success to HDF5.

    Where a write fails, HDF5 prints its internal state, tries again when it closes the file, and may end the process.
    error : the first error; nothing is written after it.
    """

    def __init__(self, path: Path) -> None:
        io.RawIOBase.__init__(self)
        self.error: OSError | None = None
        self._open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.error = self.error or error

    def write(self, data: Any) -> int:
        """Write, unless there has been an error."""
        offset, length = self._offset, memoryview(data).nbytes
        self._offset += length
        self._size = max(self._size, self._offset)
        if self.error is None:
            with self._forgiving():
                write_at(self._file, data, offset)
        return length

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, with zeros where a write failed."""
        view = memoryview(buffer).cast("B")
        view[:] = os.pread(self._file, len(view), self._offset).ljust(len(view), b"\0")
        self._offset += len(view)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Set the length."""
        self._size = self._offset if size is None else size
        with self._forgiving():
            os.ftruncate(self._file, self._size)
        return self._size

    def writable(self) -> bool:
        """Yes."""
        return True

    def close(self) -> None:
        """Flush the file to the disk and close it."""
        if not self.closed:
            with self._forgiving():
                os.fsync(self._file)
        super().close()
