"""Large models are divided among threads: with the same results to the last bit, and the same errors."""

import threading
import time
from typing import Any

import numpy as np
import pytest
from models import refuses

from femb import Attachment, Beam, ExactBeam, JointEnd, Load, Model, Revolute, RigidBody, Section, Tolerances, simulate
from femb.elements.beam.batch import BeamBatch
from femb.elements.exact.batch import ExactBatch
from femb.layout.element import FoldedError
from femb.numerics import rotations, threads
from femb.numerics.element_ranges import in_ranges
from femb.numerics.threads import concurrently, core_count, divided, limited_threads, ranges, thread_count
from femb.study.runner import Runner
from femb.system.system import System


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of a few elements are divided."""
    monkeypatch.setattr(threads, "DIVIDED_FROM", 4)


def branched(kind: type) -> Model:
    """Two beams on a hinged hub that share its frame, so that ranges of elements act on the same velocities."""
    model = Model(gravity=(0.0, 0.0, -9.81))
    model.add(RigidBody("hub", mass=2.0, inertia=0.3))
    model.add(Revolute("hinge", JointEnd("ground", axis=(0.0, 1.0, 0.0)), JointEnd("hub")))
    section = Section(
        "rod", axial_stiffness=1e5, torsional_stiffness=40.0, bending_stiffness=(50.0, 60.0),
        shear_stiffness=(1e5, 1e5) if kind is ExactBeam else None, mass_per_length=0.5,
        inertia_per_length=(2e-3, 1e-3, 1e-3),
    )  # fmt: skip
    for name, side in (("left", -1.0), ("right", 1.0)):
        start = Attachment("hub", (0.1 * side, 0.0, 0.0), direction=(side, 0.0, 0.2))
        model.add(kind(name, section, 1.0, 7, start=start))
    model.add(Load("push", beam="left", node=-1, force=(0.0, 3.0, 1.0)))
    return model


def test_ranges_are_contiguous_and_begin_with_groups():
    with limited_threads(3):
        parts = ranges(10_002, 2, 4)
        assert [k for part in parts for k in range(part.start, part.stop)] == list(range(10_002))
        assert len(parts) == 3
        assert all(part.start % 4 == 0 for part in parts)


def test_little_work_and_one_thread_are_not_divided():
    with limited_threads(3):
        assert ranges(threads.DIVIDED_FROM - 1, 1) == [slice(0, threads.DIVIDED_FROM - 1)]
        assert len(ranges(threads.DIVIDED_FROM, 1)) == 2
    with limited_threads(1):
        assert ranges(100_000, 3) == [slice(0, 100_000)]
        assert not divided(10**9)


def test_the_number_of_threads_is_limited_by_the_environment(monkeypatch):
    monkeypatch.delenv("FEMB_THREADS", raising=False)
    assert thread_count() == core_count()
    for text, count in (("1", 1), ("0", 1), ("1000", core_count())):
        monkeypatch.setenv("FEMB_THREADS", text)
        assert thread_count() == count


def test_runs_of_studies_use_one_thread():
    seen = []
    runner = Runner(source=Model, run=None, overrides=(), keys=(), factors={}, outputs=())

    def begun():
        seen.append(thread_count())
        raise ValueError("enough")

    assert runner.row(0, begun).failed
    assert seen == [1]


def test_results_come_in_the_order_of_the_tasks_and_threads_take_part():
    names = concurrently([lambda: (time.sleep(0.05), threading.current_thread().name)[1] for _ in range(2)])
    assert names[0] == threading.current_thread().name
    assert names[1] != names[0]
    assert concurrently([lambda k=k: k for k in range(5)]) == list(range(5))


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_the_first_error_is_raised_after_the_end_of_all_tasks(failing):
    ended = []

    def task(k: int) -> None:
        time.sleep(0.01 * k)
        ended.append(k)
        if k >= failing:
            raise ArithmeticError(str(k))

    refuses(str(failing), concurrently, [lambda k=k: task(k) for k in range(3)], error=ArithmeticError)
    count = len(ended)
    time.sleep(0.05)
    assert len(ended) == count


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", [ExactBeam, Beam])
@pytest.mark.parametrize("method", ["radau", "generalized-alpha"])
def test_runs_are_the_same_to_the_last_bit(kind, method):
    runs = []
    for count in (1, 3):
        with limited_threads(count):
            runs.append(simulate(branched(kind), duration=0.004, method=method, rtol=1e-4, atol=Tolerances(1e-4, 1e-3)))
    for other in runs[1:]:
        assert other.statistics["newton_iterations"] == runs[0].statistics["newton_iterations"]
        for name, beam in runs[0].beams.items():
            for values in ("position", "velocity", "section_force", "section_moment"):
                np.testing.assert_array_equal(getattr(other.beams[name], values), getattr(beam, values))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", [ExactBeam, Beam])
@pytest.mark.parametrize("element", [0, 9, 13])
def test_the_same_folded_element_is_named(kind, element):
    """The frame behind an element is turned by 180 degrees, so that the next one may be folded too."""
    system = System(branched(kind))
    batch: Any = next(each for each in system.batches if isinstance(each, (ExactBatch, BeamBatch)))
    q = system.q0.copy()
    turned = batch.index[element, 1] + np.arange(3, 7)
    q[turned] = rotations.multiply(q[turned], np.array([0.0, 0.0, 1.0, 0.0]))
    u = system.inputs_at(0.0, system.q0, system.v0)[None]
    for count in (1, 2, 3):
        with limited_threads(count):
            terms, still = system.evaluation.of([batch]), np.zeros((1, system.n_v))
            (evaluate,) = terms.force_calls(u, q[None], still, still, still.copy())
            refuses(rf"{batch.labels[element]}: turned", evaluate, error=FoldedError)


def test_ranges_of_elements_are_added_in_the_order_of_the_elements(monkeypatch):
    """Numbers whose sum depends on its order, all at one velocity; the second group of each element is fixed."""
    monkeypatch.setattr(threads, "DIVIDED_FROM", 2)
    values = 10.0 ** np.random.default_rng(0).uniform(-20.0, 20.0, 40)
    starts = np.tile([1, -1], (40, 1))
    sums = []
    for count in (1, 2, 3):

        def of_range(part, rows, out):
            def evaluate():
                if rows.size:
                    rows[:, 0, 0] = values[part]
                    return -1
                for value in values[part]:
                    out[0, 1] += value
                return -1

            return evaluate

        with limited_threads(count):
            out = np.full((1, 3), 0.1)
            in_ranges(lambda part, rows, out=out: of_range(part, rows, out), starts, (1, 2), out)()
        sums.append(out)
    assert all(np.array_equal(each, sums[0]) for each in sums)
    assert sums[0][0, 0] == sums[0][0, 2] == 0.1
