"""The size of the results of a run: output times of large models, and whether they fit into the free memory."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from femb.base.errors import ModelError

if TYPE_CHECKING:
    from femb.base.options import Run
    from femb.system.system import System

# Bytes of a number, and copies of the arrays of results while they are concatenated.
NUMBER, COPIES = 8, 2
# Bytes that every machine has free.
ALWAYS_FREE = 1e6
# Numbers that a run records by default, and output intervals to choose from.
BY_DEFAULT, INTERVALS = 2e7, (1000, 500, 200, 100, 50, 20, 10)


def numbers_per_output(system: "System") -> int:
    """Approximate number of values that a run records at each output time."""
    layout = system.layout
    nodes = sum(len(beam.stations) for beam in layout.beams.values())
    elements = sum(beam.elements for beam in layout.beams.values())
    nodes += sum(len(shell.stations) for shell in layout.shells.values())
    elements += sum(len(shell.quads) + len(shell.triangles) for shell in layout.shells.values())
    joints = sum(6 + 3 * len(joint.coordinates) for joint in layout.joints.values())
    drivers = sum(3 * len(driver.rows) for driver in layout.drivers.values())
    # bodies: position, quaternion, velocities and accelerations; nodes: also rotation and deflection; elements: strains
    # and forces at both ends; time and audit
    return 19 * len(layout.bodies) + 20 * nodes + 14 * elements + joints + drivers + 13


def available() -> int | None:
    """Bytes of free memory, or None if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def with_interval(system: "System", run: "Run") -> "tuple[Run, str]":
    """The run of a large model with an output interval, where none is given, and a line on it; the run itself of others
    and of a run that selects what it records."""
    numbers = numbers_per_output(system)
    count = next((each for each in INTERVALS if each * numbers <= BY_DEFAULT), INTERVALS[-1])
    if run.output_interval is not None or run.output.select or count == INTERVALS[0]:
        return run, ""
    line = f"results at {count + 1} times, since each has some {numbers:,} numbers: run.output_interval asks for others"
    return replace(run, output_interval=run.duration / count), line


def check_memory(system: "System", run: "Run") -> None:
    """Raise ModelError where the results of a run are larger than the free memory."""
    count = run.output_count()
    needed = float(NUMBER * COPIES) * count * numbers_per_output(system)
    if needed < ALWAYS_FREE:
        return
    free = available()
    if free is not None and needed > free:
        raise ModelError.at(
            ("run", "output_interval"),
            f"gives {count:.3g} output times, whose results take some {needed / 1e9:.3g} GB of memory, and "
            f"{free / 1e9:.3g} GB are free: give a longer one",
        )
