"""The cache of compiled kernels: damaged, planted, without room, not to be written, left half made."""

import importlib
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest
from seeds import SEED

from femb.numerics.compiler import kernel_cache
from femb.numerics.compiler.kernel_cache import CacheFolder, KernelCacheWarning, find_cache, keep

slow = pytest.mark.slow


def twice(x):
    return 2.0 * x


def made(place: CacheFolder):
    """The kernel as a new process has it."""
    return keep(numba.njit(twice), twice, place)


def hits(kernel) -> int:
    return sum(kernel.stats.cache_hits.values())


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("FEMB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_cache, "_warned", [])
    return find_cache("0123456789abcdef")


def files(place: CacheFolder) -> list[Path]:
    return sorted(each for each in place.folder.rglob("*") if each.is_file())


def test_what_is_compiled_is_kept_and_only_for_its_user(place):
    assert made(place)(1.5) == 3.0
    assert [each.suffix for each in files(place)] == [".nbc", ".nbi"]
    for folder in (place.folder, place.folder.parent):
        assert folder.stat().st_mode & 0o777 == 0o700
    again = made(place)
    assert again(1.5) == 3.0
    assert hits(again) == 1


class Planted:
    """A pickle that makes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.slow
def test_a_damaged_entry_is_compiled_again(place, tmp_path):
    """Whatever is done to its files, cut, emptied, bits turned, exchanged, or another's pickle put there."""
    chance, planted = random.Random(SEED), tmp_path / "planted"
    print(f"FEMB_SEED={SEED}")
    assert made(place)(1.5) == 3.0
    both = files(place)
    whole = [each.read_bytes() for each in both]
    for number in range(100):
        file, data = both[number % 2], whole[number % 2]
        at = chance.randrange(len(data))
        turned = data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        evil = pickle.dumps(Planted(planted))
        damaged = [turned, data[:at], b"", chance.randbytes(100), whole[1 - number % 2], evil, data[:32] + evil]
        file.write_bytes(damaged[number // 2 % len(damaged)])
        kernel = made(place)
        assert kernel(1.5) == 3.0, f"FEMB_SEED={SEED}, try {number}"
        assert hits(kernel) == 0
        again = made(place)
        assert again(1.5) == 3.0
        assert hits(again) == 1, f"FEMB_SEED={SEED}, try {number}: not mended"
    assert not planted.exists()


@pytest.mark.parametrize("which", ["folder", "above"])
@pytest.mark.parametrize("change", ["mode", "owner", "link", "file"])
def test_only_a_folder_of_ones_own_is_used(place, tmp_path, monkeypatch, which, change):
    """Another is left alone, as is what somebody may have put there; then none is used in the temporary folder too."""
    folder = place.folder if which == "folder" else place.folder.parent
    monkeypatch.setattr(kernel_cache.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    if change == "mode":
        folder.chmod(0o777)
        wanted = "open to other users"
    elif change == "owner":
        if os.geteuid() != 0:
            pytest.skip("only root can give folders away")
        os.chown(folder, 12345, -1)
        wanted = "belongs to another user"
    else:
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere") if change == "link" else folder.write_text("")
        wanted = "not a folder|exists"
    other = find_cache(place.folder.name)
    assert other.folder == tmp_path / "temporary" / f"femb-{os.geteuid()}" / place.folder.name
    other.folder.chmod(0o755)
    nowhere = find_cache(place.folder.name)
    assert nowhere.folder is None
    with pytest.warns(KernelCacheWarning, match=wanted):
        assert made(nowhere)(1.5) == 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made(nowhere)(1.5) == 3.0, "said once"


def test_a_planted_temporary_folder_is_not_loaded_by_a_process(tmp_path):
    """As another user could have made it before, with a command in it."""
    (tmp_path / "file").write_text("")
    environment = {**os.environ, "FEMB_CACHE": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}
    upper = tmp_path / f"femb-{os.geteuid()}"
    upper.mkdir()
    upper.chmod(0o777)
    done = subprocess.run(
        [sys.executable, "-c", "from femb.numerics.compiler import compile; print(compile.kernel_cache())"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "folder=None" in done.stdout
    assert "open to other users" in done.stdout


NO_ROOM = """
    import resource, numba
    from femb.numerics.compiler.kernel_cache import find_cache, keep
    def twice(x):
        return 2.0 * x
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    print(keep(numba.njit(twice), twice, find_cache("a"))(1.5))
    print(keep(numba.njit(twice), twice, find_cache("a"))(2.5))
"""


def test_without_room_it_is_compiled_in_memory_with_a_word(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(NO_ROOM))
    done = subprocess.run(
        [sys.executable, script], env={**os.environ, "FEMB_CACHE": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "3.0\n5.0\n")
    assert done.stderr.count("compiled kernels cannot be kept") == 1
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not [each for each in tmp_path.rglob("*") if ".tmp." in each.name]


@pytest.mark.slow
def test_another_numba_is_answered_by_compiling_in_memory(monkeypatch):
    monkeypatch.setattr(kernel_cache, "KNOWN", False)
    nowhere = find_cache("a")
    assert nowhere.folder is None
    assert "another cache than femb knows" in nowhere.reason
    assert made(nowhere)(1.5) == 3.0


CALLING = """
import kernels_called
from femb.numerics.compiler.kernel_cache import find_cache, keep
from femb.numerics.compiler.kernel_compiler import compiled
from kernels_called import square

def kept(function):
    return keep(compiled(function), function, find_cache("a"))

@kept
def one_more(x):
    return square(x) + 1.0

@kept
def twice(x):
    return 2.0 * x
"""

OF_CALLED = """
from femb.numerics.compiler.kernel_compiler import compiled_inside

FACTOR = 1.0

@compiled_inside
def scaled(x, power=2):
    '''Its text.'''
    return FACTOR * x**power

@compiled_inside
def square(x):
    return scaled(x)

@compiled_inside
def unused(x):
    return x
"""

EDITS = {
    "nothing": (("", ""), 10.0),
    "a text": (("Its text.", "Another text,\n    of two lines."), 10.0),
    "a kernel beside it": (("    return x\n", "    return -x\n"), 10.0),
    "a kernel below it": (("FACTOR * x", "3.0 * FACTOR * x"), 28.0),
    "a constant": (("FACTOR = 1.0", "FACTOR = 2.0"), 19.0),
    "a default": (("power=2", "power=3"), 28.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_compiles_what_contains_it_and_nothing_else(place, tmp_path, monkeypatch, edit):
    """Though it is in a kernel of another file, which the called one calls; in another folder, as of a checkout."""

    def found(folder, text):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kernels_called.py").write_text(text)
        (tmp_path / folder / "kernels_calling.py").write_text(CALLING)
        with monkeypatch.context() as context:
            context.syspath_prepend(str(tmp_path / folder))
            for name in ("kernels_called", "kernels_calling"):
                context.delitem(sys.modules, name, raising=False)
            kernels = importlib.import_module("kernels_calling")
            values = kernels.one_more(3.0), kernels.twice(3.0)
            for name in ("kernels_called", "kernels_calling"):
                del sys.modules[name]
        return values, (hits(kernels.one_more), hits(kernels.twice))

    (old, new), wanted = EDITS[edit]
    assert found("before", OF_CALLED) == ((10.0, 6.0), (0, 0))
    assert found("after", "# a line\n" + OF_CALLED.replace(old, new)) == ((wanted, 6.0), (int(wanted == 10.0), 1))


ALLOCATING = """
import numpy as np
from femb.numerics.compiler.kernel_cache import find_cache, keep
from femb.numerics.compiler.kernel_compiler import compiled

def sums(x):
    out = np.zeros(3, x.dtype)
    if x[-1] < 0.0:
        raise ZeroDivisionError("below zero")
    for k in range(x.size):
        out[k % 3] += np.sin(x[k])
    return out, x[1]

kernel = keep(compiled(sums), sums, find_cache("a"))
"""


LOADED = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from importlib import import_module
allocating = import_module(sys.argv[2])
x = np.linspace(0.0, 2.0, 9)
many = [allocating.kernel(x) for _ in range(1000)]
hits = sum(allocating.kernel.stats.cache_hits.values())
print(many[-1][0].tolist(), many[-1][1], hits)
try:
    allocating.kernel(-x)
except ZeroDivisionError as error:
    print(error)
print(*sorted({"scipy.linalg", "numba.np.linalg", "sparse", "numba.np.arrayobj", "numpy.ma"} & set(sys.modules)))
if sys.argv[3:]:
    # what is compiled afterwards finds all that numba knows
    print(allocating.kernel(x.astype(np.float32))[0].dtype)
"""


MANY = """
import numba
from femb.numerics.compiler.kernel_cache import find_cache, keep
place = find_cache("a")
FUNCTIONS
for n, function in enumerate([NAMES]):
    kernel = keep(numba.njit(function), function, place)
    assert kernel(1.0) == 1.0 + n
    print(sum(kernel.stats.cache_hits.values()), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("further", [[], pytest.param(["float32"], marks=slow)])
def test_a_stored_kernel_is_loaded_without_what_compilation_needs(place, tmp_path, monkeypatch, further):
    """It allocates, returns arrays and raises as when it was compiled; numba has not imported LAPACK for it."""
    name = "_and_".join(["allocating", *further])
    (tmp_path / f"{name}.py").write_text(ALLOCATING)
    monkeypatch.syspath_prepend(str(tmp_path))
    kernel = importlib.import_module(name).kernel
    array, second = kernel(np.linspace(0.0, 2.0, 9))
    command = [sys.executable, "-c", LOADED, tmp_path, name, *further]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, raised, imported, *dtypes = done.stdout.splitlines()
    assert first == f"{array.tolist()} {second} 1"
    assert np.allclose(array, [np.sin(np.linspace(0.0, 2.0, 9)[k::3]).sum() for k in range(3)], rtol=1e-15)
    assert (raised, imported, dtypes) == ("below zero", "", further)


CALLED = """
from femb.numerics.compiler.kernel_cache import find_cache, keep
from femb.numerics.compiler.kernel_compiler import compiled

def kept(function):
    return keep(compiled(function), function, find_cache("a"))

@kept
def square(x):
    if x < 0.0:
        raise ValueError("below zero")
    return x * x

@kept
def one_more(x):
    return square(x) + 1.0

@kept
def twice(x):
    return 2.0 * square(x)
"""


LINKED = """
import sys
sys.path.insert(0, sys.argv[1])
import called
print(called.twice(3.0), called.square(3.0), sum(called.square.stats.cache_hits.values()))
try:
    called.twice(-3.0)
except ValueError as error:
    print(error)
"""


def test_a_stored_kernel_is_called_by_one_that_is_compiled_later(place, tmp_path, monkeypatch):
    """From Python, too; its bitcode, from which the other is compiled, was not read before."""
    (tmp_path / "called.py").write_text(CALLED)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert importlib.import_module("called").one_more(3.0) == 10.0
    done = subprocess.run([sys.executable, "-c", LINKED, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "18.0 9.0 1\nbelow zero\n"


@pytest.mark.slow
def test_a_stored_inner_kernel_is_linked_into_one_that_is_compiled_later(place, tmp_path, monkeypatch):
    """It has no machine code of its own, and raises inside its caller."""
    inside = "plain = square\nsquare = compiled_inside(plain, lambda inner: keep(inner, plain, find_cache('a')))\n\n"
    inner = CALLED.replace("@kept\ndef square", "def square").replace("@kept\ndef one", inside + "@kept\ndef one")
    inner = inner.replace("import compiled", "import compiled, compiled_inside")
    (tmp_path / "called_inside.py").write_text(inner)
    monkeypatch.syspath_prepend(str(tmp_path))
    called = importlib.import_module("called_inside")
    assert called.one_more(3.0) == 10.0
    (version,) = called.square._kernel.overloads.values()
    assert version.library.get_pointer_to_function(version.fndesc.llvm_func_name) == 0
    code = LINKED.replace("called.square(3.0), sum(called.square.", "sum(called.square._kernel.")
    code = code.replace("import called", "import called_inside as called")
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "18.0 1\nbelow zero\n"


LANES_AND_NUMBERS = """
import sys

import numpy as np

from femb.numerics.compiler.compile import inlined, kernel

@inlined
def twice(x):
    return x + x

@kernel
def of_both(x, y):
    values = lanes(x)
    values[0] = twice(values[0])
    return twice(y)

@kernel
def of_a_number(x):
    return -twice(x[0])

if sys.argv[1] == "lanes":
    from femb.numerics.compiler.lanes import LANES, lanes
    of_both(np.ones((1, LANES)), 1.0)
else:
    print(of_a_number(np.full(1, 2.0)))
"""


@pytest.mark.slow
def test_a_stored_kernel_that_takes_lanes_does_not_disturb_a_compilation(tmp_path):
    """Its file imports the type while another kernel is compiled, which defines operators anew."""
    script = tmp_path / "kernels.py"
    script.write_text(LANES_AND_NUMBERS)
    environment = {**os.environ, "FEMB_CACHE": str(tmp_path / "cache")}
    words = {"env": environment, "capture_output": True, "text": True, "check": False}
    assert subprocess.run([sys.executable, script, "lanes"], **words).returncode == 0
    after = subprocess.run([sys.executable, script, "number"], **words)
    assert after.stdout == "-4.0\n", after.stderr


@slow
@pytest.mark.parametrize("count", [8])
def test_a_first_compilation_that_is_interrupted_leaves_a_cache_of_use(tmp_path, count):
    script = tmp_path / "many.py"
    functions = "\n".join(f"def f{n}(x): return x + {n}.0" for n in range(12))
    names = ", ".join(f"f{n}" for n in range(12))
    script.write_text(MANY.replace("FUNCTIONS", functions).replace("NAMES", names))
    environment = {**os.environ, "FEMB_CACHE": str(tmp_path / "cache")}
    chance = random.Random(SEED)
    for number in range(count):
        with subprocess.Popen(
            [sys.executable, script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            process.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.2))
            process.send_signal(signal.SIGKILL if number % 2 else signal.SIGINT)
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"FEMB_SEED={SEED}\n{done.stderr}"
    assert done.stdout.split().count("1") > 0, "what had been compiled was of use"
