"""Files with a single writer: locked during writing, and renamed when complete."""

import os
import time
from glob import escape
from pathlib import Path

from femb.results.openfile import OpenFile

# s; a reader that checks for a writer holds the lock for some microseconds.
LOCK_PATIENCE = 0.25


def is_locked(file: OpenFile | int) -> bool:
    """Whether a process is writing to the file now."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def remove_drafts(path: Path) -> None:
    """Remove drafts of ``path``, named .NAME.PROCESS.RANDOM, that processes left when they were killed."""
    for draft in path.parent.glob(f".{escape(path.name)}.*.*"):
        process = draft.name.split(".")[-2]
        if not process.isdecimal() or _is_running(int(process)):
            continue
        try:
            with draft.open("rb") as file:
                locked = is_locked(file.fileno())
            if not locked:
                draft.unlink()
        except OSError:
            pass  # of another user, or removed meanwhile


def _is_running(process: int) -> bool:
    """Whether there is a process of that number on this machine; True where this cannot be asked."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def put_in_place(draft: Path, path: Path) -> None:
    """Rename a file to ``path``. A file of that name left by a killed run gets the suffix ``.old``; one that another
    process has locked stays: BlockingIOError."""
    limit = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            _rename(draft, path)
            return
        except FileExistsError:
            existing = os.open(path, os.O_RDWR)
            try:
                lock(existing, limit)
                if is_at(existing, path):
                    path.replace(path.with_name(path.name + ".old"))
            finally:
                os.close(existing)


def _rename(draft: Path, path: Path) -> None:
    """Rename a file, or raise FileExistsError if the new name exists."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links.
        if path.exists():
            raise FileExistsError(path) from None
        draft.rename(path)


def lock(file: int, limit: float) -> None:
    """Lock a file for writing; the end of the process, in whatever way, unlocks it."""
    try:
        import fcntl
    except ImportError:
        return
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.01)


def is_at(file: int, path: Path) -> bool:
    """Whether an open file has the name ``path``."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False
