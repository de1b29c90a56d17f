"""The command of hand-over: what it asks for, and what it writes."""

import json

import h5py
import pytest
from checkout import ROOT
from click.testing import CliRunner

from femb.cli import cli

CASE = str(ROOT / "cases" / "satellite_two_arrays.toml")


def invoke(*arguments):
    result = CliRunner().invoke(cli, ["handover", CASE, *map(str, arguments)], prog_name="femb")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--to", "hybrid"), "--held BODY"),
        (("--to", "port", "--held", "hub"), "--child ITEM"),
        (("--to", "hybrid", "--held", "hub", "--point", "eye"), "--point eye: wanted NAME=ITEM"),
        (("--to", "hybrid", "--held", "bus"), "held: got 'bus', wanted one of hub"),
        (("--to", "42", "--held", "hub", "--half-hf"), "hf_factor: got 0.5"),
        (("--to", "dream",), "'dream' is not one of"),
        ((), "Missing option '--to'"),
    ],
)  # fmt: skip
def test_bad_input(tmp_path, options, message):
    code, output = invoke(*options, "--out", tmp_path)
    assert code == 2
    assert message in output
    assert list(tmp_path.iterdir()) == []


def test_points_and_formats(tmp_path):
    options = ("--modes", 2, "--point", "eye=beams.left_yoke.-1", "--out", tmp_path)
    code, output = invoke("--held", "hub", "--to", "hybrid", "--to", "state-space", *options)
    assert code == 0, output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "hybrid.h5", "hybrid.json", "hybrid.npz", "plant.h5", "plant.mat", "plant.npz"
    ]  # fmt: skip
    wings = json.loads((tmp_path / "hybrid.json").read_text())["appendages"]
    assert [[row["name"] for row in wing["mode_rows"]] for wing in wings] == [["eye"], []]
    with h5py.File(tmp_path / "plant.h5") as file:
        names = [name.decode() for name in file["linear/inputs"][()]]
    assert names[-1] == "eye.torque.z"
