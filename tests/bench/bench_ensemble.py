"""What ensembles and studies cost beside separate runs: ``python bench_ensemble.py [500]``, ``[sweep [1000]]``.

Ensembles: satellites of two booms with scattered mass and stiffness, and such that deploy two
panels on hinges with springs and latches, in one process.

Both record the same quantities at the same instants; the ratio is CPU of separate ``femb.simulate`` calls, models
included, over that of one ``femb.simulate_ensemble``, per member; medians of interleaved repetitions. The difference is
the largest of the tip deflection between the two, relative to its largest value.

A study: 1000 runs of some 0.1 s of CPU, on all cores and on dask workers. The bound is the CPU time of the runs alone,
as the first twenty take it in one process, divided by the cores; the ratio is that bound over the time of the study,
start of the processes included. On a machine that others use too, the ratio of CPU times counts: what the runs take in
one process over what the whole study took.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from bench_models import boom

from femb import (
    Beam,
    ExactBeam,
    JointEnd,
    JointSpringDamper,
    Latch,
    Load,
    Model,
    Revolute,
    RigidBody,
    Section,
    simulate,
    simulate_ensemble,
    sweep,
)
from femb.elements import Attachment
from femb.numerics.threads import core_count
from femb.profiles import Versine
from femb.study.run_outputs import history
from femb.study.study import read_study
from femb.study.sweep import runner_of

TIP, HINGE = "beams.right.-1.deflection.z", "joints.right.coordinates.0"
SELECTED = ("beams/right/deflection", "bodies/hub/angular_velocity")
OF_HINGES = ("joints/*/coordinates", "bodies/hub/angular_velocity")
RUN: dict[str, Any] = {"duration": 10.0, "method": "radau", "output_interval": 0.1}
SEPARATE, REPEATED = 20, 3
STUDY = Path(__file__).resolve().parents[2] / "cases" / "studies" / "satellite_settling.toml"
# of a run of some 0.1 s
SHORT = ("run.duration=20.0", "run.rtol=1e-5")
ALONE = 20


def scattered(elements: int, number: int, kind: type[Beam] | type[ExactBeam] = Beam) -> Model:
    """Satellite ``number`` of a random sample: stiffness by 30 %, masses by 20 %."""
    stiffness, mass, density = 1.0 + np.random.default_rng(number).uniform(-1.0, 1.0, 3) * (0.3, 0.2, 0.2)
    nominal = boom()
    section = Section(
        "boom", area=2.5e-3, second_moments=(5.2e-7, 5.2e-7), torsion_constant=1.04e-6,
        density=density * nominal.density, youngs_modulus=stiffness * nominal.youngs_modulus,
        shear_modulus=stiffness * nominal.shear_modulus,
    )  # fmt: skip
    model = Model("satellite")
    hub = model.add(RigidBody("hub", mass=22.4 * mass, inertia=0.149 * mass, euler_rates=(0.1, 0.1, 0.1)))
    for name, x in (("right", 1), ("left", -1)):
        start = hub.at((0.1 * x, 0, 0), direction=(x, 0, 0))
        model.add(kind(name, section=section, length=2.0, elements=elements, start=start))
    model.add(Load("slew", body="hub", torque=(0, 15.0, 0), frame="body", profile=Versine(1.0)))
    return model


def deploying(elements: int, number: int, latches: bool) -> Model:
    """Satellite ``number`` of a random sample with two panels, rigid ones without elements, which springs unfold from
    90 degrees in 3 to 4 s: stiffness by 30 %, mass and springs by 20 %."""
    stiffness, mass, *springs = 1.0 + np.random.default_rng(number).uniform(-1.0, 1.0, 4) * (0.3, 0.2, 0.2, 0.2)
    section = Section(
        "panel", axial_stiffness=2e7, torsional_stiffness=1500.0, bending_stiffness=(2000.0 * stiffness, 2e5),
        mass_per_length=3.0, inertia_per_length=(0.26, 0.01, 0.25), damping=2e-3,
    )  # fmt: skip
    model = Model("panels")
    model.add(RigidBody("hub", mass=100.0 * mass, inertia=20.0 * mass))
    for (name, side), spring in zip((("right", 1.0), ("left", -1.0)), springs, strict=True):
        at, root = (
            (0.5 * side, 0.0, 0.0),
            JointEnd("hub", at=(0.5 * side, 0, 0), axis=(0, 0, 1), reference=(side, 0, 0)),
        )
        if elements:
            start = Attachment(at=at, direction=(0.0, 1.0, 0.0), up=(0, 0, 1))
            model.add(Beam(name, section=section, length=2.0, elements=elements, start=start))
            end = JointEnd(beam=name, node=0, axis=(0, 1, 0), reference=(1, 0, 0))
            model.add(Revolute(name, root, end))
        else:
            model.add(RigidBody(name, mass=6.0, inertia=(0.5, 2.0, 2.5), center_of_mass=(1.0, 0.0, 0.0)))
            end = JointEnd(name, axis=(0, 0, 1), reference=(1, 0, 0))
            model.add(Revolute(name, root, end, start=0.5 * np.pi * side))
        model.add(JointSpringDamper(name, name, stiffness=spring, damping=0.2, free=-0.5 * side))
        if latches:
            model.add(Latch(name, name, at=0.0))
    return model


def cpu(function: Any) -> tuple[float, Any]:
    """CPU time (s) of a call, and its result."""
    begin = time.process_time()
    result = function()
    return time.process_time() - begin, result


def compared(
    members: int, what: str, build: Callable[[int], Model], rtol: float, select: tuple[str, ...], name: str = TIP,
    **more: Any,
) -> Iterator[str]:  # fmt: skip
    """CPU of separate runs and of an ensemble, ms per member, their ratio, and the largest difference of a quantity by
    its name; build : the model of a number."""
    options = RUN | {"rtol": rtol, "output": {"select": select}} | more
    apart, joined = [], []
    for repeat in range(REPEATED + 1):
        chosen = range(min(SEPARATE, members))
        taken, runs = cpu(lambda chosen=chosen: [simulate(build(k), **options) for k in chosen])
        together, ensemble = cpu(lambda: simulate_ensemble((build(k) for k in range(members)), **options))
        if repeat:  # the first loads kernels
            apart.append(taken / len(chosen))
            joined.append(together / members)
    ratio = statistics.median(a / b for a, b in zip(apart, joined, strict=True))
    own, same = np.array([history(run, name).values for run in runs]), ensemble.history(name)[1][: len(runs)]
    steps = [run.statistics["steps"] for run in runs], {r.statistics["steps"] for r in ensemble.results}
    yield f"{members:4} members, {what}, rtol {rtol:.0e}, {'two quantities' if select else 'all'}: "
    yield f"separate {1e3 * statistics.median(apart):.1f} ms, together {1e3 * statistics.median(joined):.1f} ms, "
    yield f"ratio {ratio:.2f}; difference {np.max(np.abs(own - same)) / np.max(np.abs(own)):.1e}, "
    yield f"steps {min(steps[0])} to {max(steps[0])}, together {max(steps[1])}, {ensemble.failed.sum()} failed\n"


def study(runs: int = 50) -> str:
    """CPU of the runs of the study of scattered booms, one by one and together, ms per run, and their ratio."""
    described = replace(read_study(STUDY, SHORT), runs=runs)
    pairs = [(cpu(lambda: sweep(described))[0], cpu(lambda: sweep(described, together=True))[0]) for _ in range(2)]
    apart, joined = pairs[-1]  # the first loads kernels
    return f"study: one by one {1e3 * apart / runs:.1f} ms, together {1e3 * joined / runs:.1f} ms, {apart / joined:.2f}"


def cpu_time() -> float:
    """CPU time of this process and of all that it started, s; dask leaves the one that its workers were forks of."""
    left = [process.cpu_times()[:4] for process in psutil.Process().children(recursive=True)]
    return sum(os.times()[:4]) + sum(map(sum, left))


def measure_sweep(runs: int, ways: list[str]) -> None:
    study = replace(read_study(STUDY, SHORT), runs=runs)
    runner, cores = runner_of(study, None), core_count()
    runner(0, study.rows[0])
    begin = time.process_time()
    for number in range(ALONE):
        runner(number, study.rows[number])
    alone = (time.process_time() - begin) / ALONE
    print(f"{runs} runs of {alone:.3f} s of CPU, {cores} cores")
    for way in ways:
        places = {"cluster": "local", "workers": cores} if way == "dask" else {"workers": cores}
        with tempfile.TemporaryDirectory() as folder:
            begin, before = time.monotonic(), cpu_time()
            table = sweep(study, out=folder, **places)
            wall, cpu = time.monotonic() - begin, cpu_time() - before
        print(
            f"{way:10} {wall:8.1f} s, {table.failed.sum()} failed; {100 * runs * alone / cores / wall:5.1f} % of the "
            f"cores; CPU of the runs alone over that of the study: {100 * runs * alone / cpu:5.1f} %"
        )


def measure_ensembles(count: int = 500) -> None:
    print(study(), flush=True)
    booms: list[tuple[Any, ...]] = [(2, 1e-6, SELECTED), (2, 1e-6, ()), (2, 1e-4, SELECTED), (4, 1e-6, SELECTED)]
    booms += [(8, 1e-6, SELECTED), (2, 1e-6, SELECTED, ExactBeam), (8, 1e-6, SELECTED, ExactBeam)]
    for elements, rtol, select, *kind in booms:
        what = f"{elements} {'exact ' if kind else ''}elements a boom"
        case = what, partial(scattered, elements, kind=[*kind, Beam][0]), rtol, select
        print("".join(compared(count, *case)), end="", flush=True)
    for elements in (0, 2):
        for latches in (False, True):
            what = f"panels {f'of {elements} elements' if elements else 'rigid'}{', latches' if latches else ''}"
            build = partial(deploying, elements, latches=latches)
            print("".join(compared(count, what, build, 1e-6, OF_HINGES, HINGE, duration=8.0)), end="", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["sweep"]:
        measure_sweep(int(sys.argv[2]) if sys.argv[2:] else 1000, sys.argv[3:] or ["processes", "dask"])
    else:
        measure_ensembles(*map(int, sys.argv[1:]))
