"""Messages and tables of modes, linear models and hand-over: what is shown, refused, and advised instead."""

import json

import numpy as np
import pytest
from checkout import CASES
from models import refuses
from shared_runs import invoked, said

import femb
from femb.base.values import without_rounding
from femb.linear.response import FrequencyResponse
from femb.linear.state_space import Truncation

SATELLITE = CASES / "satellite_two_arrays.toml"


def test_modes_of_a_mechanism_whose_joints_carry_some_forces_whole(tmp_path):
    """Static responses to them are rounding: no sign of an unstable state."""
    output = said("linearize", CASES / "slider_crank_flexible.toml", "--modes", "3", "--out", tmp_path)
    assert "136.905" in output
    assert "no error to show: there are no inputs; name some" in output


@pytest.mark.parametrize("speeds", ["10:450", "10:450:1", "10:450:2.5", "slow:fast:3"])
def test_speeds_of_a_rotor_are_refused_by_their_own_name(tmp_path, speeds):
    output = said("unbalance", SATELLITE, "--speeds", speeds, "--out", tmp_path, code=2)
    part = "'slow' is no number: " if "slow" in speeds else ""
    assert output.strip() == (
        f"--speeds {speeds}: {part}wanted FIRST:LAST:COUNT, rad/s and two speeds or more, as 10:450:23"
    )


@pytest.mark.parametrize(
    ("values", "part"),
    [("=0 rpm:6:4", "0 rpm"), ("=0:6 rpm:4", "6 rpm"), ("=0:6:inf", "inf"), ("=0:6:1", ""), ("=0:6", ""), ("", "")],
)
def test_the_part_of_a_sweep_that_is_wrong_is_named(tmp_path, values, part):
    given, no_number = f"rotors.shaft.speed{values}", f"{part!r} is no number: " if part else ""
    output = said("modes", SATELLITE, "--sweep", given, "--out", tmp_path, code=2)
    assert output.strip() == (
        f"--sweep {given}: {no_number}wanted KEY=FIRST:LAST:COUNT in the unit of the entry, as "
        "bodies.hub.angular_velocity.2=0:10:21"
    )


def test_a_model_without_bodies_has_no_outputs_by_default(tmp_path):
    output = said("linearize", CASES / "cantilever_tip_load.toml", "--modes", "2", "--out", tmp_path)
    assert "no error to show: there are no outputs; name some" in output
    assert "largest error" not in output


@pytest.mark.slow
def test_the_number_of_modes_that_there_are(tmp_path):
    words = ("--input", "bodies.hub.torque.x", "--output", "bodies.hub.turn.x", "--error-at", "0.1", "--out", tmp_path)
    coarse = [word for side in ("left", "right") for word in ("--set", f"beams.{side}_yoke.elements=2")]
    output = said("linearize", SATELLITE, "--hub", "hub", "--craig-bampton", "500", *words, *coarse)
    assert "Craig-Bampton, all 18 modes of each appendage of hub, 0.5 % damping in each" in output
    # a linear model has no history: it is drawn over frequencies
    assert "bode.png" in said("plot", tmp_path / "linear.h5")


@pytest.mark.parametrize("form", ["hybrid", "fmu"])
def test_hand_over_of_what_is_no_body(tmp_path, form):
    output = said("handover", SATELLITE, "--to", form, "--held", "ground", "--out", tmp_path, code=2)
    assert "hand-over: held: got 'ground', wanted one of hub, left_1" in output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_hand_over_takes_the_ratios_of_the_case(tmp_path):
    ratios = {"modal_damping.wings": {"held": "hub", "ratio": [0.01, 0.02], "modes": 2}}
    text = SATELLITE.read_text() + "".join(
        f"\n[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in words.items())
        for name, words in ratios.items()
    )
    case = tmp_path / "case.toml"
    case.write_text(text)
    for options, wanted in (((), [0.01, 0.02, 0.0]), (("--damping", "0.03"), [0.03, 0.03, 0.03])):
        out = tmp_path / str(len(options))
        words = ("--held", "hub", "--modes", "3", *options, "--out", out)
        said("handover", case, "--to", "hybrid", "--to", "port", "--child", "bodies.left_3", *words)
        wings = json.loads((out / "hybrid.json").read_text())["appendages"]
        assert [wing["damping_ratio"] for wing in wings] == [wanted, wanted]


def test_statics_of_a_rotation_that_is_not_steady(tmp_path):
    code, out, err = invoked("static", CASES / "satellite_forced.toml", "--out", tmp_path)
    assert code != 0
    assert "principal axis of inertia, or leave out the velocities of its start" in out + err
    assert "start as given" not in out + err


def test_close_names_come_first():
    with pytest.raises(AttributeError, match=r"has no attribute 'linearise'; did you mean 'linearize'.*\?$"):
        femb.linearise  # noqa: B018
    space = femb.StateSpace(np.eye(1), np.eye(1), np.eye(1), np.eye(1), ("a",), ("torque",), ("angle",))
    refuses("no 'angel' among the outputs; did you mean 'angle'", space.index, "outputs", "angel")
    refuses("no 'torq'; did you mean 'torque'", space.frequency_response([1.0]).between, "angle", "torq")


# Rounding in tables


def test_rounding_is_zero_on_the_scale_of_its_column():
    np.testing.assert_array_equal(without_rounding(np.array([3.0, -1e-17, 1e-9]), 3.0), [3.0, 0.0, 1e-9])


def test_errors_of_what_is_zero_by_symmetry_are_relative_to_the_same_unit():
    """One output of two with the same unit is rounding by the only input; another unit is small, and is not."""
    full = np.array([[[2.0], [1e-18], [1e-12]]])
    reduced = np.array([[[2.0], [3e-18], [1.1e-12]]])
    names = ("bodies.a.turn.x", "bodies.b.turn.x", "bodies.a.position.x")
    units = dict(zip(names, ("rad", "rad", "m"), strict=True))
    values = (each.astype(complex) for each in (full, reduced))
    parts = [FrequencyResponse(np.array([1.0]), each, names, ("f",), units=units) for each in values]
    truncation = Truncation("some modes", *parts, None)
    np.testing.assert_allclose(truncation.error[0, :, 0], [0.0, 1e-18, 0.1], atol=1e-15)
    assert "bodies.a.position.x by f" in truncation.table()


@pytest.mark.slow
def test_a_shake_shows_no_rounding(tmp_path):
    words = ["--axis", "z", "--sine", "0.1:2", "--held", "hub", "--modes", "4", "--out", tmp_path]
    output = said("shake", SATELLITE, "--output", "bodies.left_3.acceleration", *words)
    rows = {line.split()[0]: line.split()[1:] for line in output.splitlines() if line.startswith("bodies.")}
    assert rows["bodies.left_3.acceleration.x"] == ["0", "-"]
    assert float(rows["bodies.left_3.acceleration.z"][0]) > 1.0


@pytest.mark.parametrize(
    "words",
    [
        ("unbalance", "--speeds", "20:700"),
        ("modes", "--sweep", "bodies.hub.mass=1:2"),
        ("shake", "--sine", "1"),
        ("shaper", "--modes", "x"),
        ("linearize", "--error-at", "x"),
    ],
)
def test_options_are_read_before_files_are_looked_for(tmp_path, words):
    """Files that are there are no answer to an option that cannot be read."""
    for name in ("unbalance.npz", "sweep.npz", "shake.npz", "shaper.png", "linear.npz"):
        (tmp_path / name).write_bytes(b"")
    output = said(words[0], SATELLITE, *words[1:], "--out", tmp_path, code=2)
    assert output.startswith((f"{words[1]} {words[2]}: wanted", f"{words[1]} {words[2]}: 'x' is no number: wanted"))
