"""How long until something happens: import, first step of ``femb run``, first compilation of all, and what short
commands take."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CASES = Path(__file__).resolve().parents[2] / "cases"
CASE = CASES / "satellite_forced.toml"
COMMANDS = (
    ("run", str(CASES / "rigid_body_free.toml"), "--force", "--out"),
    ("run", str(CASE), "--force", "--out"),
    ("check", str(CASE)),
    ("--help",),
)
REPETITIONS = 15
# Of an installed femb the bytecode is stored; without it, a command from a checkout takes 0.2 s more.
ENVIRONMENT = {word: text for word, text in os.environ.items() if word != "PYTHONDONTWRITEBYTECODE"}

# The command line itself, with a note of the moment of the first step.
FIRST_STEP = """
import os, sys, time
import femb.steppers.radau as radau
step = radau.Radau.step
def noted(self, limit):
    radau.Radau.step = step
    times = time.time() - float(os.environ["STARTED"]), sum(os.times()[:4])
    print("first step", *times, file=sys.stderr, flush=True)
    return step(self, limit)
radau.Radau.step = noted
from femb.cli import main
sys.argv[:] = ["femb", "run", sys.argv[1], "--out", sys.argv[2], "--force"]
main()
"""

# As fast as the machine happens to be: numba itself at a function of 300 lines.
YARDSTICK = """
import os, sys, numba
lines = "".join(f" y += v[{k % 3}] * w[{k % 2}] - y\\n" for k in range(300))
exec("def f(v, w):\\n y = 0.0\\n" + lines + " return y")
vector = numba.float64[::1]
numba.njit("f8(f8)")(lambda x: x)
start = sum(os.times()[:2])
numba.njit([(vector, vector)])(f)
print("yardstick", sum(os.times()[:2]) - start, file=sys.stderr)
"""


def timed(*code: str, **environment: str) -> tuple[float, float, str]:
    """Time and CPU time of a Python process and those it starts, s, and what it wrote to stderr."""
    start, before = time.time(), sum(os.times()[2:4])
    done = subprocess.run(
        [sys.executable, *code], env={**ENVIRONMENT, **environment, "STARTED": repr(start)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    return time.time() - start, sum(os.times()[2:4]) - before, done.stderr


def first_step(folder: str, **environment: str) -> tuple[float, float, float, float]:
    """Time and CPU time to the first step, and to the end."""
    total, cpu, text = timed("-c", FIRST_STEP, str(CASE), folder, **environment)
    line = next(each for each in text.splitlines() if "first step" in each)
    step, step_cpu = map(float, line.split("first step")[1].split())
    return step, step_cpu, total, cpu


def spent(*code: str, **environment: str) -> float:
    """CPU time of a process and those it starts, s, finer than the clock of ``os.times``."""
    with subprocess.Popen(
        [sys.executable, *code],
        env={**ENVIRONMENT, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(code)} failed")
    return usage.ru_utime + usage.ru_stime


def shown(step: float, step_cpu: float, total: float, cpu: float) -> str:
    return f"first step after {step:.2f} s ({step_cpu:.2f} s CPU), done after {total:.2f} s ({cpu:.2f} s CPU)"


def main() -> None:
    bare = 0.0
    for words, code in (
        ("python", "pass"),
        ("import femb", "import femb"),
        ("and the elements", "from femb import Model, Beam, RigidBody, simulate"),
    ):
        wall, cpu = (min(column) for column in list(zip(*(timed("-c", code) for _ in range(7)), strict=True))[:2])
        print(f"{words:22s} {wall - bare:.3f} s more ({cpu:.3f} s CPU in all)")
        bare = bare or wall
    with tempfile.TemporaryDirectory() as folder:
        yardstick = min(float(timed("-c", YARDSTICK)[2].split()[-1]) for _ in range(3))
        first = [first_step(folder, FEMB_CACHE=os.path.join(folder, f"cache{k}")) for k in range(5)]
        for each in first:
            print("femb run, nothing compiled:", shown(*each))
        least = min(cpu for *_, cpu in first)
        print(f"least CPU time of these, of that of numba at 300 lines: {least / yardstick:.1f}")
        cache = os.path.join(folder, "cache0")
        runs = [first_step(folder, FEMB_CACHE=cache) for _ in range(7)]
        print("femb run, compiled:        ", shown(*(min(column) for column in zip(*runs, strict=True))))
        for words in COMMANDS:
            more = (folder,) if "--out" in words else ()
            spent("-m", "femb", *words, *more, FEMB_CACHE=cache)
            times = [spent("-m", "femb", *words, *more, FEMB_CACHE=cache) for _ in range(REPETITIONS)]
            name = " ".join(["femb", words[0], *(Path(word).name for word in words[1:2])])
            print(f"{name}: {statistics.median(times):.3f} s CPU, median of {REPETITIONS}")


if __name__ == "__main__":
    main()
