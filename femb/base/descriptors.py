"""Files by their descriptors: reads and writes at an offset, and locks, on POSIX and, by other calls, on Windows."""

import os
import threading
import time
from pathlib import Path

# Windows has no pread and pwrite: there one thread at a time sets the offset of a file.
_MOVES = threading.Lock()
# The byte of a file that is locked on Windows, beyond its end: what is locked there cannot be read.
LOCKED = 1 << 40


def opened(path: str | Path, flags: int = os.O_RDONLY) -> int:
    """The descriptor of a file of bytes, which does not wait for the writer of a pipe. Raises OSError."""
    return os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)


def read_at(file: int, count: int, offset: int) -> bytes:
    """Up to so many bytes from an offset on."""
    if hasattr(os, "pread"):
        return os.pread(file, count, offset)
    with _MOVES:
        os.lseek(file, offset, os.SEEK_SET)
        return os.read(file, count)


def write_at(file: int, data: bytes | memoryview, offset: int) -> None:
    """Write all data from an offset on."""
    view = memoryview(data).cast("B")
    while view:
        if hasattr(os, "pwrite"):
            written = os.pwrite(file, view, offset)
        else:
            with _MOVES:
                os.lseek(file, offset, os.SEEK_SET)
                written = os.write(file, view)
        view, offset = view[written:], offset + written


def lock(file: int, patience: float = 0.0) -> None:
    """Lock a file for writing; the end of the process, in whatever way, unlocks it.

    patience : s, how long to wait for another process. Raises BlockingIOError where it has the file after that. The
    package filelock does the same; it takes some 45 ms of each start, a tenth of a small run.
    """
    limit = time.monotonic() + patience
    while True:
        try:
            return _lock(file)
        except BlockingIOError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.01)


def is_locked(file: int) -> bool:
    """Whether a process is writing to the file now."""
    try:
        _lock(file, shared=True)
    except BlockingIOError:
        return True
    except OSError:
        return False
    _unlock(file)
    return False


def _lock(file: int, shared: bool = False) -> None:
    try:
        import fcntl
    except ImportError:
        return _locking(file, "LK_NBLCK")
    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _unlock(file: int) -> None:
    try:
        import fcntl
    except ImportError:
        return _locking(file, "LK_UNLCK")
    fcntl.flock(file, fcntl.LOCK_UN)


def _locking(file: int, what: str) -> None:
    """Lock or unlock a byte on Windows; nothing on systems that have neither call."""
    try:
        import msvcrt
    except ImportError:
        return
    with _MOVES:
        before = os.lseek(file, 0, os.SEEK_CUR)
        os.lseek(file, LOCKED, os.SEEK_SET)
        try:
            msvcrt.locking(file, getattr(msvcrt, what), 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError as error:
            raise BlockingIOError(*error.args) from error
        finally:
            os.lseek(file, before, os.SEEK_SET)


def renamed(file: int, path: Path, name: Path) -> int:
    """Give an open, locked file another name; its descriptor, which on Windows is another one."""
    if os.name != "nt":
        path.rename(name)
        return file
    os.close(file)
    path.rename(name)
    found = opened(name, os.O_RDWR)
    lock(found)
    return found
