"""The size of results: output times of large models, and runs that do not fit into the memory."""

import numpy as np
import pytest
from models import satellite

import femb
from femb.run import memory
from femb.run.overview import overview
from femb.system.system import System

ROOM = [(1000, 1000.0), (500, 999.0), (200, 499.0), (100, 199.0), (50, 99.0), (10, 1.0)]


@pytest.mark.parametrize(("intervals", "room"), ROOM)
def test_a_large_model_is_recorded_less_often_by_default(intervals, room, monkeypatch):
    """As many as there is room for, ten at least; and the run says so."""
    system = System(satellite())
    monkeypatch.setattr(memory, "BY_DEFAULT", room * memory.numbers_per_output(system))
    run, line = memory.with_interval(system, femb.Run(duration=2.0))
    assert len(run.output_times()) == intervals + 1
    assert line.startswith(f"results at {intervals + 1} times") if intervals < 1000 else not line
    motion, _ = memory.with_interval(system, femb.Run(duration=2.0, output=femb.Output(motion_only=True)))
    assert len(motion.output_times()) == intervals + 1
    for given in ({"output_interval": 0.01}, {"output": femb.Output(select=("bodies.hub",))}):
        asked = femb.Run(duration=2.0, **given)
        assert memory.with_interval(system, asked) == (asked, "")


def test_the_run_and_its_overview_have_that_interval(monkeypatch):
    monkeypatch.setattr(memory, "BY_DEFAULT", 1.0)
    model = satellite()
    results = femb.simulate(model, duration=0.01, method="radau")
    np.testing.assert_allclose(results.time, np.linspace(0.0, 0.01, 11), rtol=1e-12)
    assert "results at 11 times" in str(overview(model, femb.Run(duration=0.01)))


def test_a_run_larger_than_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1_000_000)
    with pytest.raises(femb.ModelError, match=r"output_interval: gives 1e.06 output times"):
        femb.simulate(satellite(), duration=1.0, output_interval=1e-6)


def test_a_comparison_with_results_has_their_interval(monkeypatch, tmp_path):
    """Of a large model, whose output times are fewer by default."""
    monkeypatch.setattr(memory, "BY_DEFAULT", 1.0)
    model = satellite()
    other = femb.simulate(model, duration=0.01)
    compared = femb.compare(model, duration=0.01, against=other)
    assert not compared.failed
