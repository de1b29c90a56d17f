"""The command of hand-over: what it asks for, and what it writes."""

import io
import json
import zipfile

import h5py
import numpy as np
import pytest
from checkout import ROOT
from shared_runs import said

import femb
from femb.handover.files import WRITERS

CASE = str(ROOT / "cases" / "satellite_two_arrays.toml")


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
    assert message in said("handover", CASE, *options, "--out", tmp_path, code=2)
    assert list(tmp_path.iterdir()) == []


def test_points_and_formats(tmp_path):
    options = ("--modes", 2, "--point", "eye=beams.left_yoke.-1", "--out", tmp_path)
    said("handover", CASE, "--held", "hub", "--to", "hybrid", "--to", "state-space", *options)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "hybrid.h5", "hybrid.json", "hybrid.npz", "plant.h5", "plant.mat", "plant.npz"
    ]  # fmt: skip
    wings = json.loads((tmp_path / "hybrid.json").read_text())["appendages"]
    assert [[row["name"] for row in wing["mode_rows"]] for wing in wings] == [["eye"], []]
    with h5py.File(tmp_path / "plant.h5") as file:
        names = [name.decode() for name in file["linear/inputs"][()]]
    assert names[-1] == "eye.torque.z"


FREE = """
title = "hub and boom"
[sections.tube]
area = 2.5e-3
second_moments = [5.2e-7, 5.2e-7]
torsion_constant = 8e-7
density = 2800.0
youngs_modulus = 7.17e10
shear_modulus = 2.7e10
[bodies.hub]
mass = 40.0
inertia = [4.0, 5.0, 6.0]
[beams.boom]
section = "tube"
length = 2.0
elements = 2
start = { body = "hub", direction = [1.0, 0.0, 0.0] }
[modal_damping.boom]
held = "hub"
ratio = 0.02
"""


@pytest.fixture
def free(tmp_path):
    """The case file of a satellite without loads."""
    case = tmp_path / "free.toml"
    case.write_text(FREE)
    return case


def test_an_fmu_without_inputs_is_refused(free, tmp_path):
    output = said("handover", free, "--to", "fmu", "--held", "hub", "--out", tmp_path / "out", code=2)
    assert "an FMU without inputs: the model has no loads, motors or drivers; name some, as --input" in output
    assert not (tmp_path / "out").exists()


def test_inputs_and_outputs_of_an_fmu_with_a_hub(free, tmp_path):
    """Torques of appendages, and the modal damping of the case."""
    fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed")
    words = ("--to", "fmu", "--held", "hub", "--input", "bodies.hub.torque", "--output", "appendages.boom.torque")
    said("handover", free, *words, "--out", tmp_path)
    description = fmpy.read_model_description(str(tmp_path / "linear.fmu"))
    names = {word: [v.name for v in description.modelVariables if v.causality == word] for word in ("input", "output")}
    assert names["input"] == [f"bodies.hub.torque.{axis}" for axis in "xyz"]
    assert names["output"] == [f"appendages.boom.torque.{axis}" for axis in "xyz"]
    with zipfile.ZipFile(tmp_path / "linear.fmu") as file:
        (entry,) = [name for name in file.namelist() if name.endswith("linear.npz")]
        values = np.linalg.eigvals(np.load(io.BytesIO(file.read(entry)))["A"])
    values = values[values.imag > 1.0]
    first = values[np.argmin(np.abs(values))]
    wanted = femb.modes(femb.load_case(free).model, 1, damped=True).eigenvalues[0]
    assert first == pytest.approx(wanted, rel=1e-6)


def test_a_refused_format_does_not_stop_the_others(free, tmp_path):
    """What is written is listed, what is refused is said once each, and the exit code is that of bad input."""
    out = tmp_path / "out"
    words = ("--to", "fmu", "--to", "port", "--to", "hybrid", "--held", "hub", "--modes", 2, "--out", out)
    output = said("handover", free, *words, code=2)
    assert {path.name for path in out.iterdir()} == {"hybrid.json", "hybrid.npz", "hybrid.h5"}
    assert "hybrid.json" in output
    assert output.count("an FMU without inputs") == 1
    assert output.count("--child ITEM") == 1
    output = said("handover", free, "--to", "hybrid", "--to", "craig-bampton", "--force", "--out", out, code=2)
    assert output.count("--held BODY") == 1


def test_a_format_that_fails_does_not_stop_the_others(free, tmp_path, monkeypatch):
    def failing(of, folder):
        raise ValueError("sizes differ")

    monkeypatch.setitem(WRITERS, "42", failing)
    words = ("--to", "42", "--to", "hybrid", "--held", "hub", "--out", tmp_path / "out")
    with pytest.raises(ValueError, match="sizes differ"):
        said("handover", free, *words)
    assert (tmp_path / "out" / "hybrid.json").exists()


COMMANDS = {
    "modes": ("--modes", 2, "--held", "hub"),
    "linearize": ("--hub", "hub", "--modes", 2),
    "modal": ("--modes", 2, "--held", "hub"),
    "shake": ("--held", "hub", "--sine", "5:50", "--output", "appendages.boom.force.z"),
    "shaper": ("--modes", "1,2", "--kind", "zv"),
    "handover": ("--to", "nastran", "--held", "hub", "--modes", 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_results_are_replaced_by_force_alone(free, tmp_path, command):
    out = tmp_path / "out"

    def run(*words, code=0):
        output = said(command, free, *COMMANDS[command], "--out", out, "--quiet", *words, code=code)
        return output, {path.name: path.stat().st_mtime_ns for path in out.iterdir()}

    _, first = run()
    output, second = run(code=2)
    assert "is there; --force replaces it, --out writes to another place" in output
    assert second == first
    _, third = run("--force")
    assert set(third) == set(first)
    assert all(third[name] != first[name] for name in first)
