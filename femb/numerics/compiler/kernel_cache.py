"""Cache of compiled kernels: numba's cache, in a folder that only the user can write to, with checked files.

Files are named after the keys of kernels (``kernel_key``), in place of the time of their source files: numba does not
notice an edit of a kernel that another file calls, and compiles all kernels of a file after an edit of one. numba's
cache files are pickles: loading one can execute arbitrary code, and numba fails on damaged ones. Here each file
begins with a digest of its name and content; a file with a wrong digest is deleted and its kernel compiled again. If no
trusted folder exists, or a file cannot be written, kernels are compiled in memory, with a warning.
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
from functools import cached_property
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from femb.numerics.compiler import kernel_loader
from femb.numerics.compiler.kernel_key import key_of
from femb.numerics.compiler.kernel_loader import LOADS_ALONE

# The internal names of numba that this module uses: if one is missing, kernels are compiled in memory.
RELIED_ON = {
    "FunctionCache": ("load_overload", "save_overload", "enable"),
    "CacheImpl": ("locator",),
    "IndexDataCacheFile": ("_load_index", "_save_index", "_load_data", "_save_data", "_data_path", "_dump"),
    "NullCache": ("save_overload",),
}
KNOWN = all(hasattr(getattr(caching, kind, None), name) for kind, names in RELIED_ON.items() for name in names)
DIGEST = hashlib.sha256


class KernelCacheWarning(UserWarning):
    """Compiled kernels cannot be stored."""


@dataclass(frozen=True)
class CacheFolder:
    """The folder for compiled kernels, or None and the reason."""

    folder: Path | None
    reason: str = ""


def find_cache(name: str) -> CacheFolder:
    """The folder ``name`` in the user's cache folder, or in a folder of the user in the temporary folder."""
    if not KNOWN:
        return CacheFolder(None, f"numba {numba.__version__} has another cache than femb knows")
    reasons = []
    try:
        root = Path(os.environ.get("FEMB_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        reasons.append(_trusted(root, "femb", name))
        if not reasons[-1]:
            return CacheFolder(root / "femb" / name)
        root, user_folder = Path(tempfile.gettempdir()), f"femb-{_user()}"
        reasons.append(_trusted(root, user_folder, name))
        if not reasons[-1]:
            return CacheFolder(root / user_folder / name)
    except (OSError, RuntimeError) as error:
        reasons.append(str(error))
    return CacheFolder(None, "; ".join(reasons))


def keep(dispatcher: Any, function: Callable[..., Any], place: CacheFolder) -> Any:
    """Attach the cache in a folder to a kernel, and return the kernel."""
    if not hasattr(dispatcher, "_cache"):
        # Compilation is disabled, or numba stores its cache differently.
        return dispatcher
    if place.folder is None:
        dispatcher._cache = _InMemory(place.reason) if KNOWN else dispatcher._cache
        return dispatcher
    dispatcher._cache = _KernelCache(function, place.folder, dispatcher.targetoptions)
    return dispatcher


def is_stored(dispatcher: Any) -> bool:
    """Whether some version of a kernel is in the cache, or kernels are not compiled."""
    return not hasattr(dispatcher, "_cache") or getattr(dispatcher._cache, "is_stored", bool)()


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _trusted(root: Path, upper: str, name: str) -> str:
    """Make the folder ``root/upper/name``; the reason why it cannot be used, or an empty string."""
    folder = root / upper
    try:
        root.mkdir(parents=True, exist_ok=True)
        for path, forbidden in ((folder, 0o022), (folder / name, 0o077)):
            path.mkdir(mode=0o700, exist_ok=True)
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode):
                return f"{path} is not a folder"
            if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
                return f"{path} belongs to another user"
            if hasattr(os, "geteuid") and status.st_mode & forbidden:
                return f"{path} is open to other users (mode {status.st_mode & 0o777:o}): remove it, or chmod it to 700"
            if not os.access(path, os.W_OK | os.X_OK):
                return f"{path} cannot be written"
    except OSError as error:
        return f"{error.filename or folder}: {error.strerror}"
    return ""


def _warn(reason: str) -> None:
    """Warn once that kernels are not stored and why."""
    if not _warned:
        _warned.append(reason)
        text = f"compiled kernels cannot be kept, and are compiled anew in every process ({reason}); FEMB_CACHE=DIR "
        warnings.warn(text + "chooses another folder for them", KernelCacheWarning, stacklevel=2)


_warned: list[str] = []


if KNOWN:

    class _InMemory(caching.NullCache):
        """No cache, with a warning when a kernel would be stored."""

        def __init__(self, reason: str) -> None:
            self._reason = reason

        def save_overload(self, sig: Any, data: Any) -> None:
            _warn(self._reason)

    class _Place:
        """The folder, and the file of the function for numba's messages, in the words of numba's locators."""

        def __init__(self, folder: Path, function: Callable[..., Any]) -> None:
            self._folder, self._py_file = folder, function.__code__.co_filename

        def ensure_cache_path(self) -> None:
            self._folder.mkdir(mode=0o700, exist_ok=True)

    class _KernelCache(caching.FunctionCache):
        """numba's cache of a function, which tolerates damaged files and full disks."""

        _impl_class = kernel_loader.StoredKernels if LOADS_ALONE else caching.CompileResultCacheImpl

        def __init__(self, function: Callable[..., Any], folder: Path, options: dict[str, Any]) -> None:
            # without that of numba, which looks for the source file
            self._name, self._py_func, self._options = repr(function), function, sorted(options.items())
            self._cache_path = str(folder)
            self._impl = self._impl_class.__new__(self._impl_class)
            self._impl._locator, self._impl._lineno = _Place(folder, function), function.__code__.co_firstlineno
            self.enable()

        @cached_property
        def _cache_file(self) -> Any:
            """Files of the kernel: found when it is called first, since the kernels it calls are defined then."""
            key = DIGEST(f"{key_of(self._py_func)} {self._options}".encode()).hexdigest()
            name = f"{self._py_func.__module__}.{self._py_func.__qualname__}".replace("<", "").replace(">", "")
            return _CheckedFiles(cache_path=self._cache_path, filename_base=f"{name}-{key[:16]}", source_stamp=key)

        def is_stored(self) -> bool:
            """Whether some version of the kernel is in the cache."""
            return Path(self._cache_file._index_path).exists()

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                if not LOADS_ALONE:
                    return super().load_overload(sig, target_context)
                kernel_loader.add_runtime()
                return self._load_overload(sig, target_context)
            except Exception:
                # Whatever is wrong with the file, the kernel can be compiled again.
                self._cache_file.drop()
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                super().save_overload(sig, data)
            except OSError as error:
                self.disable()
                _warn(f"{error.filename or self._cache_path}: {error.strerror}")

    class _CheckedFiles(caching.IndexDataCacheFile):
        """The files of a function: an index and one file for each signature; a digest precedes numba's content."""

        def drop(self) -> None:
            """Delete the index: the kernels are compiled again."""
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
            return None if content is None else kernel_loader.loaded(content)

        def _save_data(self, name: str, data: Any) -> None:
            self._put(Path(self._data_path(name)), self._dump(data))

        def _checked(self, path: Path) -> bytes | None:
            """The content of a file; if its digest is wrong, the file is deleted and the result is None."""
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
            """Write a file under a temporary name and rename it when it is complete."""
            draft = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
            try:
                draft.write_bytes(_digest(path, content) + content)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)

    def _digest(path: Path, content: bytes) -> bytes:
        return DIGEST(path.name.encode() + b"\0" + content).digest()
