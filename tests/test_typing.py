"""What type checkers see of femb: right user code passes mypy --strict and pyright, wrong code does not; and the same
mistakes at run time."""

import ast
import importlib.util
import inspect
import json
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from checkout import CASES
from models import of_parts, refuses

import femb
from femb import RigidBody, Run, load_case, simulate
from femb.results.groups import groups
from femb.results.results import Results
from femb.run.calling import RunOptions, ToleranceOptions

# Where femb is: type checkers do not follow the hook by which an editable installation is imported.
ROOT = Path(femb.__file__).resolve().parents[1]

RIGHT = """
from typing import Any

import numpy as np
import femb
from femb import Model, Revolute, RigidBody, simulate
from femb.run.calling import RunOptions
from femb.elements import Beam, JointEnd, Section
from femb.linear import StateSpace, linearize, trim


def build() -> Model:
    model = femb.Model("pendulum", gravity=(0.0, 0.0, -9.81))
    body = model.add(RigidBody("bob", mass=1.0, inertia=0.1, position=[0, 0, 1.0]))
    model.add(Revolute("pin", JointEnd("ground", axis=(0, 1, 0)), JointEnd(body.name, at=np.zeros(3), axis=(0, 1, 0))))
    return model


run: dict[str, Any] = {"duration": 1.0, "method": "radau"}
named: RunOptions = {"duration": 1.0, "atol": {"position": 1e-9}}
results: femb.Results = simulate(build(), **run)
results = simulate(build(), **named)
results = simulate(build(), duration=1.0, atol=1e-8, method="bdf", out="results.h5")
results = simulate("case.toml", rtol=1e-8)
results = simulate(build(), femb.Run(duration=1.0, atol=femb.Tolerances(position=1e-9)))
space: StateSpace = linearize(trim(build()), outputs=["joints.pin.angle"])
case = femb.load_case("case.toml")
model: Model = case.model
"""

CONTRACTS = """
from femb.run.relative_kinematics import RelativeKinematics
from femb.export.formats import Exporter
from femb.formulations.contract import Formulation, ImplicitFormulation
from femb.formulations.hamiltonian.momentum_form import MomentumForm
from femb.formulations.quaternion import QuaternionForm
from femb.formulations.reduced import ReducedForm
from femb.steppers.bdf import Bdf
from femb.steppers.contract import Stepper
from femb.steppers.gauss import Gauss
from femb.steppers.generalized_alpha import GeneralizedAlpha
from femb.steppers.radau import Radau
from femb.steppers.runge_kutta import Dop853, RungeKutta4
import femb
from femb import Run, System


def formulations(system: System) -> tuple[list[ImplicitFormulation], list[Formulation]]:
    implicit: list[ImplicitFormulation] = [system, QuaternionForm(system), ReducedForm(system)]
    return implicit, [*implicit, MomentumForm(system), RelativeKinematics(system, "body")]


def steppers(form: System, run: Run) -> tuple[list[Stepper[ImplicitFormulation]], list[Stepper[Formulation]]]:
    implicit: list[Stepper[ImplicitFormulation]] = [Radau(form, run), Bdf(form, run), GeneralizedAlpha(form, run)]
    exporters: list[Exporter] = [femb.export_vtu, femb.export_xdmf, femb.export_csv]
    assert exporters
    return implicit, [Gauss(form, run), Dop853(form, run), RungeKutta4(form, run)]
"""

WRONG = """
import femb
from femb import Model, RigidBody, simulate
from femb.linear import linearize

model = Model("pendulum")
simulate(model, durration=1)  # 1
simulate(model, duration="long")  # 2
simulate(model, duration=1.0, method="radua")  # 3
simulate(7, duration=1.0)  # 4
RigidBody("bob", mas=1.0, inertia=0.1)  # 5
femb.Modell("pendulum")  # 6
femb.Run(duration=1.0, rtoll=1e-8)  # 7
linearize(model, trimm=True)  # 8
simulate(model, duration=1.0).bodys  # 9
femb.Latch("latch", 3)  # 10
"""


def places(text):
    """Numbers of the lines that are marked as wrong."""
    return [k for k, line in enumerate(text.splitlines(), start=1) if re.search(r"# \d+$", line)]


@pytest.fixture
def samples(tmp_path):
    """What users write, with the assignments by which every formulation and every stepper is of its Protocol."""
    (tmp_path / "right.py").write_text(RIGHT + CONTRACTS)
    (tmp_path / "wrong.py").write_text(WRONG)
    return tmp_path


def checked(command, samples, folder=None):
    command = [*command, *(str(samples / name) for name in ("right.py", "wrong.py"))]
    done = subprocess.run(command, cwd=folder or samples, capture_output=True, text=True, check=False)
    found = {"right.py": set(), "wrong.py": set()}
    for name, line in re.findall(r"(right\.py|wrong\.py):(\d+)\D.*error", done.stdout):
        found[name].add(int(line))
    assert not found["right.py"], done.stdout + done.stderr
    assert found["wrong.py"] == set(places(WRONG)), done.stdout + done.stderr


@pytest.mark.slow
def test_mypy_sees_what_users_write(samples):
    """In the checkout, with its settings: what `mypy` found of femb there is kept, and not found again."""
    checked([sys.executable, "-m", "mypy", "--strict", "--no-error-summary"], samples, ROOT)


@pytest.mark.slow
def test_pyright_sees_what_users_write(samples):
    if shutil.which("pyright") is None:
        pytest.skip("pyright is not installed")
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(ROOT)]}
    (samples / "pyrightconfig.json").write_text(json.dumps(settings))
    try:
        checked(["pyright", "--pythonpath", sys.executable], samples)
    except AssertionError:
        # its first use fetches the program itself, which a machine without a network cannot
        if subprocess.run(["pyright", "--version"], capture_output=True).returncode:
            pytest.skip("pyright is not installed")
        raise


def names_seen(path):
    """Names that a file imports for others, as type checkers see them: with their own name once more, or by a star."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            if alias.name == "*":
                found |= names_seen(Path(importlib.util.find_spec(node.module).origin))
            elif alias.name == alias.asname:
                found.add(alias.name)
    return found


def test_names_for_type_checkers_are_those_that_there_are():
    package = Path(femb.__file__).parent
    modules = set(femb.MODULES)
    assert names_seen(package / "__init__.pyi") == set(femb.__all__) | modules
    assert names_seen(Path(femb.elements.__file__)) == set(femb.elements.__all__)
    assert {"Latch", "Revolute", "Airload", "simulate"} <= set(femb.__all__)
    assert set(RunOptions.__annotations__) == {field.name for field in fields(Run)}
    assert set(ToleranceOptions.__annotations__) == {field.name for field in fields(femb.Tolerances)}


def test_tables_for_type_checkers_are_those_of_the_catalogue():
    """Attributes of results are made on first use: what a type checker reads is a list by hand."""
    body = next(node for node in ast.parse(inspect.getsource(Results)).body[0].body if isinstance(node, ast.If)).body
    listed = {node.target.id: node.annotation.slice.id for node in body}
    assert listed == {table: kind.__name__ for table, kind in groups().items() if table != "audit"}


def falling():
    return of_parts(RigidBody("stone", mass=1.0, inertia=1.0), title="stone", gravity=(0, 0, -9.81))


def test_simulate_takes_what_it_says():
    """Options of a dictionary, one number as tolerance, the path of a case with its own run."""
    run = {"duration": 0.1, "output_interval": 0.1, "atol": {"position": 1e-9}}
    for results in (simulate(falling(), **run), simulate(falling(), duration=0.1, output_interval=0.1, atol=1e-8)):
        assert results.bodies["stone"].position[-1, 2] == pytest.approx(-0.5 * 9.81 * 0.01, abs=1e-9)
    path = CASES / "thompson_pendulum.toml"
    for given in (path, str(path)):
        results = simulate(given, duration=0.5)
        assert results.time[-1] == 0.5
        assert results.joints["hinge"].coordinates[0, 0] == pytest.approx(1.0)
    assert load_case(path).run.duration == 5.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate(falling(), durration=1), "run.durration: there is no such option; did you mean 'duration'?"),
        (lambda: simulate(falling(), duration=1, atol={"place": 1.0}), "run.atol.place: there is no such tolerance"),
        (lambda: simulate(falling()), "the duration (s) is missing"),
        (lambda: simulate(falling(), {"duration": 1.0}), "wanted a femb.Run; of a dictionary take **run"),
        (lambda: simulate(falling(), Run(duration=1.0), rtol=1e-8), "got a run and the options rtol"),
        (lambda: simulate(7, duration=1.0), "got 7 for the model, wanted a femb.Model, a case or"),
        (lambda: simulate("none.toml"), "there is no such file"),
        (lambda: femb.compare(falling(), durration=1), "did you mean 'duration'?"),
        (lambda: femb.inverse(falling(), durration=1), "did you mean 'duration'?"),
    ],
)
def test_wrong_calls_say_what_to_do(call, message):
    refuses(re.escape(message), call)
