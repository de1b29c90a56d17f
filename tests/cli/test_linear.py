"""femb linearize with truncated orders, and figures of the linear model it writes."""

import numpy as np
import pytest
from checkout import CASES
from shared_runs import said

from femb import Results
from femb.linear import StateSpace

CASE = str(CASES / "satellite_two_arrays.toml")
WORDS = ["linearize", CASE, "--input", "bodies.hub.torque", "--output", "bodies.hub.turn", "--error-at", "0.1,0.4"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("linear")
    result = said(*WORDS, "--hub", "hub", "--craig-bampton", "2", "--out", out)
    assert "Craig-Bampton, 2 modes of each appendage of hub, 0.5 % damping in each" in result
    assert "largest error" in result
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["--modes", "8", "--damping", "0.02"], "8 modes of the whole structure, 2 % damping in each"),
        (["--balanced", "6", "--modes", "12"], "6 balanced states of 12 modes"),
        (["--modes", "4", "--residual-vectors"], "4 modes of the whole structure and 3 residual vectors"),
    ],
)
def test_orders(tmp_path, words, kind):
    result = said(*WORDS, *words, "--out", tmp_path)
    assert kind in result
    space = StateSpace.of_results(Results.read(tmp_path / "linear.h5"))
    assert np.sum(space.eigenvalues() == 0.0) == 12
    assert space.inputs == tuple(f"bodies.hub.torque.{axis}" for axis in "xyz")


@pytest.mark.slow
@pytest.mark.parametrize("figure", ["bode", "nichols", "singular-values"])
def test_figures(folder, tmp_path, figure):
    picture = tmp_path / f"{figure}.png"
    said("plot", folder / "linear.h5", "--what", figure, "--out", picture, "--dpi", "50")
    assert picture.stat().st_size > 1000


def test_figures_are_listed(folder):
    assert "bode, nichols, singular-values" in said("plot", folder / "linear.h5", "--list")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--modes", "3", "--trim"], "--modes goes without --trim"),
        (["--modes", "3", "--error-at", "1;2"], "wanted frequencies in Hz"),
        (["--craig-bampton", "3"], "no hub is named"),
        (["--residual-vectors"], "residual vectors are of --modes"),
        (["--modes", "3", "--input", "bodies.hub.torq"], "did you mean 'bodies.hub.torque'"),
    ],
)
def test_wrong_options(tmp_path, words, message):
    result = said(*WORDS, *words, "--out", tmp_path, code=2)
    assert message in result
