"""Progress bars of calls from Python."""

import threading

import numpy as np
import pytest
from models import of_parts

import femb
from femb.base.progress import LoadProgress, Progress, counted, reporting


def spinning():
    return of_parts(femb.RigidBody("top", mass=1.0, inertia=1.0, angular_velocity=(0.0, 0.0, 1.0)), title="top")


@pytest.mark.slow
def test_true_shows_a_bar_without_a_terminal(capsys):
    femb.simulate(spinning(), duration=1.0, progress=True)
    shown = capsys.readouterr().err
    assert "100%" in shown
    assert "1/1 s" in shown
    femb.simulate(spinning(), duration=1.0, progress=False)
    femb.simulate(spinning(), duration=1.0)
    assert capsys.readouterr().err == ""


def test_the_bar_is_closed_after_an_error(capsys):
    bars = []

    def interrupted():
        with reporting(True, 2.0, LoadProgress) as bar:
            bars.append(bar)
            bar.update(1.0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    (bar,) = bars
    assert isinstance(bar, Progress)
    assert bar.bar.disable, "closed"
    assert "50%" in capsys.readouterr().err


def test_counted_work(capsys):
    with counted(quiet=True) as tell:
        tell(1, 2)
    assert capsys.readouterr().err == ""
    with counted(quiet=False, unit="run", always=True) as tell:
        tell(1, 2)
        tell(2, 2)
    assert "2/2" in capsys.readouterr().err


def test_a_bar_starts_no_thread(capsys):
    # beside a thread, processes of a study would not be forks
    before = threading.active_count()
    with counted(quiet=False, always=True) as tell:
        tell(1, 2)
        assert threading.active_count() == before


def test_an_interrupted_call_keeps_its_results_in_memory():
    """Ctrl-C in Python: the results so far are those of the error."""

    class Stop:
        def message(self, text):
            pass

        def update(self, t):
            if t > 0.5:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        femb.simulate(spinning(), duration=1.0, output_interval=0.01, max_step=0.1, progress=Stop())
    results = caught.value.results
    assert (results.status, results.message) == ("failed", "interrupted")
    assert 0.5 < results.time[-1] < 1.0
    np.testing.assert_allclose(results["top.angular_velocity.z"], 1.0, rtol=1e-6)  # that of the run


def test_results_tell_how_they_were_made():
    """Title, method, formulation and tolerances, also of runs from Python."""
    results = femb.simulate(spinning(), duration=1.0, rtol=1e-5, atol=1e-6, formulation="quaternion")
    assert (results.title, results.method) == ("top", "radau")
    options = results.attributes["run"]
    assert (options["formulation"], options["rtol"], options["atol.position"]) == ("quaternion", 1e-5, 1e-6)
