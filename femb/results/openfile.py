"""Files that HDF5 reads from and writes to by Python's own calls.

One keeps to what it opened, whatever is renamed meanwhile; the other keeps errors from HDF5, which does
not get over them.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class OpenFile(io.RawIOBase):
    """A file to read, which stays the same one also once another has taken its name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        if path.is_dir():
            raise IsADirectoryError(path)
        self._open(path, os.O_RDONLY)

    def _open(self, path: Path, flags: int) -> None:
        self._file = os.open(path, flags, 0o666)
        self._place, self._size = 0, os.fstat(self._file).st_size

    def read(self, size: int | None = -1) -> bytes:
        """So many bytes, or what there is."""
        data = os.pread(self._file, self._size - self._place if size is None or size < 0 else size, self._place)
        self._place += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as far as there is something."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        return self._place

    def tell(self) -> int:
        """The place where the file is read or written next."""
        return self._place

    def flush(self) -> None:
        """Nothing waits."""

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def fileno(self) -> int:
        """The system's number of the file."""
        return self._file

    def close(self) -> None:
        """Let go of the file."""
        if not self.closed:
            os.close(self._file)
        super().close()


class ForgivingFile(OpenFile):
    """A new file to write, which keeps the first error for itself and does as if nothing had happened.

    HDF5 prints its inner state where a write fails, keeps trying when it closes the file, and may end the process.
    error : the first error; nothing has been written since.
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
        view = memoryview(data).cast("B")
        place, length = self._place, len(view)
        self._place += length
        self._size = max(self._size, self._place)
        while view and self.error is None:
            with self._forgiving():
                written = os.pwrite(self._file, view, place)
                view, place = view[written:], place + written
        return length

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, with zeros where nothing could be written."""
        view = memoryview(buffer).cast("B")
        view[:] = os.pread(self._file, len(view), self._place).ljust(len(view), b"\0")
        self._place += len(view)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Set the length."""
        self._size = self._place if size is None else size
        with self._forgiving():
            os.ftruncate(self._file, self._size)
        return self._size

    def writable(self) -> bool:
        """Yes."""
        return True

    def close(self) -> None:
        """Put it on the disk, and let go of it."""
        if not self.closed:
            with self._forgiving():
                os.fsync(self._file)
        super().close()
