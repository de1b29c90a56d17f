"""Studies by the exact form of a case, beside those that build a model for each run."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from checkout import ROOT
from click.testing import CliRunner
from models import refuses
from oracles.uncertain_satellite import LAW, satellite

import femb
from femb.cli import cli
from femb.study.study import read_study
from femb.study.sweep import is_finished

PAGE = (ROOT / "docs" / "howto" / "robust.md").read_text(encoding="utf-8")
CASE = re.search(r"```toml title=satellite.toml\n(.*?)```", PAGE, re.DOTALL)[1]
KINDS = ("delay_margin", "phase_margin", "disk_margin", "sensitivity_peak", "growth")
OUTPUTS = {kind: {"kind": kind} for kind in KINDS} | {"pole": {"kind": "pole", "frequency": 0.25}}


@pytest.mark.slow
def test_a_form_gives_the_numbers_of_models_for_relative_and_absolute_ranges(tmp_path):
    """Of the second set rounding once hid a momentum, with a growth of zero, and a peak of the gain beside zero."""
    (tmp_path / "satellite.toml").write_text(CASE)
    words = {"kind": "peak_gain", "input": "loads.torquer.torque.0", "output": "bodies.hub.turn.x", "closed": True}
    tables = [f"[outputs.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
              for name, table in (OUTPUTS | {"peak": words}).items()]  # fmt: skip
    path = tmp_path / "study.toml"
    path.write_text("\n".join(['case = "satellite.toml"\ndesign = "latin-hypercube"\nruns = 8', *tables]))
    study = read_study(path)
    form = femb.uncertain(study)  # with the input and output of the peak
    found, wanted = femb.sweep(study, form=form), femb.sweep(study)
    assert not np.any(found.failed | wanted.failed)
    for name in study.outputs:
        assert found.outputs[name] == pytest.approx(wanted.outputs[name], rel=1e-9), name
    assert np.max(wanted.outputs["growth"]) < -0.008
    assert found.units == wanted.units


def test_a_form_has_loops_alone_and_the_parameters_of_the_study():
    by = {"left": {"range": [1320.0, 1980.0]}, "inertia": {"range": [270.0, 330.0]}}
    form = femb.uncertain(satellite, by, laws=[LAW], points=1)

    def study(outputs, names=("left",)):
        ranges = {name: by.get(name, by["left"]) for name in names}
        return femb.Study(satellite, parameters=ranges, outputs=outputs, design="latin-hypercube", runs=2)

    one = femb.sweep(study({"disk": {"kind": "disk_margin"}}), form=form)
    wanted = femb.loop(satellite(left=one.variables["left"][1]), [LAW])
    found = form.loop({"left": one.variables["left"][1]})
    assert found.growth() == pytest.approx(wanted.growth(), rel=1e-9)
    frequency = {"f": {"kind": "natural_frequency", "mode": 1}}
    assert "a form has loops and their transfer functions alone" in femb.sweep(study(frequency), form=form).messages[0]
    refuses("form: has no right; its parameters are left, inertia", femb.sweep, study(frequency, ("right",)), form=form)
    refuses("runs in this process", femb.sweep, study(frequency), form=form, workers=2)


@pytest.mark.slow
def test_a_finished_study_of_one_form_is_none_of_another(tmp_path):
    (tmp_path / "case.toml").write_text(CASE)
    path = tmp_path / "study.toml"
    path.write_text(
        'case = "case.toml"\ndesign = "random"\nruns = 2\n[outputs.disk]\nkind = "disk_margin"\n'
        '[variables.left]\nkey = "springs.left.stiffness"\nkind = "uniform"\nlow = 1320.0\nhigh = 1980.0\n'
    )
    study = read_study(path)
    form = femb.uncertain(study, ["left"], points=1)
    law = form.laws[0]
    slower = femb.LinearLaw(law.name, law.A, 0.5 * law.B, law.C, law.D, inputs=law.inputs, outputs=law.outputs)
    femb.sweep(study, form=form, out=tmp_path / "out")
    assert is_finished(study, tmp_path / "out", form)
    assert is_finished(study, tmp_path / "out", femb.uncertain(study, ["left"], points=3))
    assert not is_finished(study, tmp_path / "out", replace(form, laws=(slower,)))
    assert not is_finished(study, tmp_path / "out")


@pytest.mark.slow
def test_the_command_says_how_exact_the_form_is(tmp_path):
    (tmp_path / "case.toml").write_text(CASE.replace('joints.drive.start"\nrange = [0.0, 1.5707963267948966]',
                                                     'bodies.hub.inertia.1.1"\nrange = "1 %"'))  # fmt: skip
    study = tmp_path / "study.toml"
    study.write_text('case = "case.toml"\ndesign = "random"\nruns = 3\n[outputs.disk]\nkind = "disk_margin"\n')
    result = CliRunner().invoke(cli, ["sweep", str(study), "--form", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "exact but for" in result.output
    refused = CliRunner().invoke(cli, ["sweep", str(study), "--modes", "3"])
    assert refused.exit_code != 0
    assert "--modes: is of --form" in refused.output
