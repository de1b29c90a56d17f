"""femb loop: its table, files and figure, and what it refuses."""

import json
import re

import numpy as np
import pytest
from checkout import ROOT
from shared_runs import said

from femb import StateSpace, load_case
from femb.pictures.loop import FIGURES

PAGES = ROOT / "docs" / "howto"
PAGE = (PAGES / "loop.md").read_text(encoding="utf-8")
CASE = re.search(r"```toml title=held_satellite.toml\n(.*?)```", PAGE, re.DOTALL)[1]


@pytest.fixture
def case(tmp_path):
    path = tmp_path / "held.toml"
    path.write_text(CASE, encoding="utf-8")
    return path


@pytest.mark.slow
def test_poles_margins_and_files(case, tmp_path):
    found = json.loads(said("loop", str(case), "--out", str(tmp_path), "--json", "--largest-delay"))
    assert found["stable"]
    assert list(found["margins"]) == ["attitude.x", "attitude.y", "attitude.z"]
    about_x = found["margins"]["attitude.x"]
    assert about_x["delay_margins"][-1] == pytest.approx(0.1939, abs=1e-3)
    assert found["largest_delay"] == pytest.approx(0.194, abs=1e-3)
    assert found["modes"][0]["name"] == "mode 1, joints.left, joints.right"
    closed = StateSpace.read(tmp_path / "loop.npz")
    assert closed.dt == 0.1
    poles = closed.eigenvalues()
    for real, imaginary in found["poles"]:
        assert np.min(np.abs(poles - complex(real, imaginary))) < 1e-5
    assert {path.suffix for path in tmp_path.glob("loop.*")} == {".npz", ".mat", ".h5", ".png"}
    assert "--force" in said("loop", str(case), "--out", str(tmp_path), code=2)


HUB = re.search(r"```toml title=pd.toml\n(.*?)```", (PAGES / "robust.md").read_text(encoding="utf-8"), re.DOTALL)[1]
OVER = ("--least", "peak", "--decay", "0.05", "--starts", "1", "--json")


@pytest.mark.slow
def test_a_tuned_case_is_read_again_to_the_same_margins(tmp_path):
    """Gains of [gains], and the other one by its entry; what --set gives is in the file, too."""
    path, tuned = tmp_path / "hub.toml", tmp_path / "tuned.toml"
    path.write_text(HUB, encoding="utf-8")
    gains = ("--gain", "bandwidth", "--gain", "controllers.attitude.damping_ratio=0.3:2.0")
    found = json.loads(said("loop", str(path), "--tune", *gains, *OVER, "--out", str(tuned), "--set",
                            "controllers.attitude.delay=0.9"))  # fmt: skip
    assert found["tuned"]["growth"] <= -0.05 + 1e-6
    assert str(tuned) in found["files"]
    case = load_case(tuned)
    law = case.model.controllers["attitude"]
    assert (law.bandwidth, law.damping_ratio, law.delay) == (*found["tuned"]["gains"].values(), 0.9)
    again = json.loads(said("loop", str(tuned), "--out", str(tmp_path / "again"), "--json"))
    assert again["margins"] == found["margins"]
    peaks = [each["sensitivity"] for each in again["margins"].values()]
    assert max(peaks) < found["tuned"]["peak"] < 2.0
    assert "--force" in said("loop", str(path), "--tune", *gains, *OVER, "--out", str(tuned), code=2)


def test_options_of_tuning_are_refused_without_it(case, tmp_path):
    out = ("--out", str(tmp_path))
    assert "are of --tune" in said("loop", str(case), *out, "--gain", "controllers.attitude.bandwidth=1:2", code=2)
    assert "are of --tune" in said("loop", str(case), "--out", str(tmp_path / "tuned.toml"), code=2)
    assert "got 0, wanted 1 to 10" in said("loop", str(case), *out, "--tune", code=2)


@pytest.mark.parametrize("figure", FIGURES)
def test_figures(case, tmp_path, figure):
    text = said("loop", str(case), "--out", str(tmp_path), "--figure", figure, "--channel", "attitude.y")
    assert "attitude.y: opened here, with the others closed" in text
    assert "attitude.x: opened" not in text
    assert (tmp_path / "loop.png").stat().st_size > 5000


def test_a_linear_model_says_that_commands_are_held(case, tmp_path):
    text = said("linearize", str(case), "--out", str(tmp_path))
    assert "commands of sampled controllers (attitude) are held: --closed or femb loop close their loop" in text


def test_a_closed_linear_model_has_the_poles_of_the_loop(case, tmp_path):
    found = json.loads(said("linearize", str(case), "--closed", "--out", str(tmp_path), "--json"))
    assert found["dt"] == 0.1
    poles = np.array([complex(*pair) for pair in found["eigenvalues"] if None not in pair])
    assert np.min(np.abs(poles - (-0.651393 + 4.46024j))) < 1e-5
    assert StateSpace.read(tmp_path / "linear.npz").dt == 0.1
    text = said("linearize", str(case), "--closed", "--out", str(tmp_path), "--force")
    assert "closed loop, of samples every 0.1 s" in text
    assert "--closed goes without" in said("linearize", str(case), "--closed", "--periodic", "1", code=2)


def test_refused(case, tmp_path):
    out = ("--out", str(tmp_path))
    assert "no channel 'attitude.w'; did you mean" in said("loop", str(case), *out, "--channel", "attitude.w", code=2)
    bare = tmp_path / "bare.toml"
    bare.write_text(CASE[: CASE.index("[sensors.tracker]")] + "[run]\nduration = 1.0\n", encoding="utf-8")
    assert "loop: the model has no controllers that set commands: add one, or give laws" in said(
        "loop", str(bare), *out, code=2
    )
