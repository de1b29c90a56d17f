"""Poles of loops at zero by which an error stays for ever: of laws whose own integral stands for an angle."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from models import refuses

import femb
from femb.cli import cli

AXIS = """
title = "axis"
[bodies.hub]
mass = 10.0
inertia = 2.0
[joints.az]
first = { body = "ground", axis = [0, 0, 1] }
second = { body = "hub" }
start = 0.1
[loads.m]
kind = "motor"
joint = "az"
force = 0.0
[run]
duration = 80.0
"""
# u = -0.3 s - 0.8 angle - 2 rate with s' = rate, which begins at zero: it ends where 0.3 (angle - start) = -0.8 angle
REPLACED = """
[controllers.c]
kind = "state_space"
inputs = ["joints.az.angle", "joints.az.angle rate"]
outputs = ["loads.m.force"]
A = [[0.0]]
B = [[0.0, 1.0]]
C = [[-0.3]]
D = [[-0.8, -2.0]]
"""
SAMPLED = REPLACED.replace("A = [[0.0]]\nB = [[0.0, 1.0]]", "period = 0.1\nA = [[1.0]]\nB = [[0.0, 0.1]]")
# the difference of samples damps, and no more is asked of it
DIFFERENCE = """
[controllers.c]
kind = "state_space"
inputs = ["joints.az.angle"]
outputs = ["loads.m.force"]
A = [[0.0]]
B = [[1.0]]
C = [[20.0]]
D = [[-20.0]]
period = 0.1
"""
# an integral that nothing follows
IDLE = SAMPLED.replace("C = [[-0.3]]", "C = [[0.0]]")
WITH_INTEGRAL = SAMPLED.replace("B = [[0.0, 0.1]]", "B = [[0.1, 0.0]]")


def case_of(folder: Path, law: str) -> Path:
    path = folder / "axis.toml"
    path.write_text(AXIS + law)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("law", [REPLACED, SAMPLED])
def test_an_error_that_stays_is_said(tmp_path, monkeypatch, law):
    path = case_of(tmp_path, law)
    loop = femb.loop(path)
    run = loop.simulate(200.0, start={"joints.az.angle": 0.1})
    assert run["joints.az.angle"][-1] == pytest.approx(0.1 * 0.3 / 1.1, rel=2e-2 if law is SAMPLED else 1e-9)
    assert (loop.staying, loop.stable) == (1, False)
    assert "not asymptotically stable: 1 pole at zero that no conserved momentum" in loop.table()
    study = {"case": path, "variables": {"k": {"key": "bodies.hub.mass", "values": [10.0]}}}
    study["outputs"] = {"margin": {"kind": "phase_margin"}, "peak": {"kind": "sensitivity_peak"}}
    table = femb.sweep(femb.Study(**study))
    assert (table["margin"][0], table["peak"][0]) == (0.0, np.inf)
    source = {"push": {"kind": "constant", "inputs": ["loads.m.force"], "value": 1e-3}}
    refuses("pointing: the loop is not stable", femb.pointing_budget, path, "joints.az.angle", source, window=1.0)
    monkeypatch.chdir(tmp_path)
    found = json.loads(CliRunner().invoke(cli, ["loop", "axis.toml", "--json"]).output)
    assert (found["stable"], found["staying"]) == (False, 1)


@pytest.mark.parametrize("law", [DIFFERENCE, IDLE, WITH_INTEGRAL])
def test_laws_that_leave_what_they_do_not_hold_are_stable(tmp_path, law):
    loop = femb.loop(case_of(tmp_path, law))
    assert (loop.staying, loop.stable) == (0, True)
    at_zero = np.sum(np.abs(loop.poles()) < 1e-9)
    assert at_zero == (law is not WITH_INTEGRAL)
