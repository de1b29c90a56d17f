"""Cache of compiled kernels: numba's own, in a folder that nobody else can write to, of files that are checked.

Pickles, as those of numba are, run whatever they say, and damaged ones stop it. Here each file begins with a digest
of its name and content; one that does not agree is dropped, and its kernel compiled again. Where there is no folder to
trust, or nothing can be written, kernels are compiled in memory, with a warning.
"""

import hashlib
import os
import pickle
import stat
import tempfile
import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

# What this relies on of numba's own, which is not for others: where it is missing, kernels are compiled in memory.
RELIED_ON = {
    "FunctionCache": ("load_overload", "save_overload"),
    "IndexDataCacheFile": ("_load_index", "_save_index", "_load_data", "_save_data", "_data_path", "_dump"),
    "NullCache": ("save_overload",),
}
KNOWN = all(hasattr(getattr(caching, kind, None), name) for kind, names in RELIED_ON.items() for name in names)
DIGEST = hashlib.sha256


class KernelCacheWarning(UserWarning):
    """Compiled kernels cannot be kept."""


@dataclass(frozen=True)
class Place:
    """A folder to keep compiled kernels in, or why there is none."""

    folder: Path | None
    reason: str = ""


def find_place(name: str) -> Place:
    """The folder ``name`` below that of the user's caches, or below one of the user's own in the temporary folder."""
    if not KNOWN:
        return Place(None, f"numba {numba.__version__} has another cache than femb knows")
    reasons = []
    try:
        root = Path(os.environ.get("FEMB_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        reasons.append(_trusted(root, "femb", name))
        if not reasons[-1]:
            return Place(root / "femb" / name)
        root, own = Path(tempfile.gettempdir()), f"femb-{_user()}"
        reasons.append(_trusted(root, own, name))
        if not reasons[-1]:
            return Place(root / own / name)
    except (OSError, RuntimeError) as error:
        reasons.append(str(error))
    return Place(None, "; ".join(reasons))


def keep(dispatcher: Any, function: Callable[..., Any], place: Place) -> Any:
    """Let a kernel keep in a place what is compiled of it."""
    if not hasattr(dispatcher, "_cache"):
        # Kernels are not compiled at all, or numba keeps its cache elsewhere.
        return dispatcher
    if place.folder is None:
        dispatcher._cache = _InMemory(place.reason) if KNOWN else dispatcher._cache
        return dispatcher
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(place.folder)
    try:
        dispatcher._cache = _KernelCache(function)
    except (OSError, RuntimeError) as error:
        # The sources are no files, as in an archive.
        dispatcher._cache = _InMemory(str(error))
    finally:
        numba.config.CACHE_DIR = before
    return dispatcher


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _trusted(root: Path, upper: str, name: str) -> str:
    """Make ``root/upper/name``; why it cannot be used, or nothing."""
    folder = root / upper
    try:
        root.mkdir(parents=True, exist_ok=True)
        for each, forbidden in ((folder, 0o022), (folder / name, 0o077)):
            each.mkdir(mode=0o700, exist_ok=True)
            about = each.lstat()
            if not stat.S_ISDIR(about.st_mode):
                return f"{each} is not a folder"
            if hasattr(os, "geteuid") and about.st_uid != os.geteuid():
                return f"{each} belongs to another user"
            if hasattr(os, "geteuid") and about.st_mode & forbidden:
                return f"{each} is open to other users (mode {about.st_mode & 0o777:o}): remove it, or chmod it to 700"
            if not os.access(each, os.W_OK | os.X_OK):
                return f"{each} cannot be written"
    except OSError as error:
        return f"{error.filename or folder}: {error.strerror}"
    return ""


def _warn(reason: str) -> None:
    """Say once why kernels are not kept; they will be compiled again each time."""
    if not _said:
        _said.append(reason)
        text = f"compiled kernels cannot be kept, and are compiled anew in every process ({reason}); FEMB_CACHE=DIR "
        warnings.warn(text + "chooses another folder for them", KernelCacheWarning, stacklevel=2)


_said: list[str] = []


if KNOWN:

    class _InMemory(caching.NullCache):
        """No cache, and a word when it is missed."""

        def __init__(self, reason: str) -> None:
            self._reason = reason

        def save_overload(self, sig: Any, data: Any) -> None:
            _warn(self._reason)

    class _KernelCache(caching.FunctionCache):
        """numba's cache of a function, which neither a damaged file nor a full disk stops."""

        def __init__(self, function: Callable[..., Any]) -> None:
            super().__init__(function)
            stamp, base = self._impl.locator.get_source_stamp(), self._impl.filename_base
            self._cache_file = _CheckedFiles(cache_path=self._cache_path, filename_base=base, source_stamp=stamp)

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                return super().load_overload(sig, target_context)
            except Exception:
                # Whatever it is that is wrong with it, it can be compiled again.
                self._cache_file.drop()
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                super().save_overload(sig, data)
            except OSError as error:
                self.disable()
                _warn(f"{error.filename or self._cache_path}: {error.strerror}")

    class _CheckedFiles(caching.IndexDataCacheFile):
        """The files of a function: an index, and one of each signature; a digest, and then what numba would write."""

        def drop(self) -> None:
            """Forget the files."""
            Path(self._index_path).unlink(missing_ok=True)

        def _load_index(self) -> dict[Any, Any]:
            content = self._checked(Path(self._index_path))
            if content is None:
                return {}
            version, stamp, overloads = pickle.loads(content)
            return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

        def _save_index(self, overloads: dict[Any, Any]) -> None:
            self._put(Path(self._index_path), self._dump((self._version, self._source_stamp, overloads)))

        def _load_data(self, name: str) -> Any:
            content = self._checked(Path(self._data_path(name)))
            return None if content is None else pickle.loads(content)

        def _save_data(self, name: str, data: Any) -> None:
            self._put(Path(self._data_path(name)), self._dump(data))

        def _checked(self, path: Path) -> bytes | None:
            """The content of a file; None, and the file dropped, where it is not what was written."""
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                return None
            digest, content = data[: DIGEST().digest_size], data[DIGEST().digest_size :]
            if digest == _digest(path, content):
                return content
            path.unlink(missing_ok=True)
            return None

        def _put(self, path: Path, content: bytes) -> None:
            """Write a file, which takes its place when it is whole."""
            draft = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
            try:
                draft.write_bytes(_digest(path, content) + content)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)

    def _digest(path: Path, content: bytes) -> bytes:
        return DIGEST(path.name.encode() + b"\0" + content).digest()
