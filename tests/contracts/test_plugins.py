"""Items of other packages are full items: the wheel of the how-to, in a package of its own, through every exit."""

import csv
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from checkout import ROOT
from models import of_parts, refuses
from scipy.linalg import eigvals
from scipy.optimize import brentq

import femb
from femb.base.options import FORMULATIONS, STEPPERS
from femb.elements import registry
from femb.elements.item import Item
from femb.export.formats import EXPORTERS
from femb.results.groups import STORED, declarations, groups, with_declarations

FLYWHEEL = ROOT / "docs" / "howto" / "added" / "elements" / "flywheel.py"
QUANTITIES = {"speed": "rad/s", "momentum": "N m s", "power": "W"}
CASE = """
[bodies.hub]
mass = 100.0
inertia = [10.0, 7.0, 12.0]

[flywheels.rw]
body = "hub"
inertia = 0.1
torque = 0.02
max_speed = "9 rpm"

[run]
duration = 10.0
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with an installed package, whose entry point names the module of the wheel, and a case."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "my_flywheels.py").write_text(FLYWHEEL.read_text())
    info = folder / "my_flywheels-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-flywheels\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[femb.items]\nflywheels = my_flywheels\n")
    (folder / "case.toml").write_text(CASE)
    return folder


# Commands one after the other, in one process which has the package: their exit codes and what they say.
COMMANDS = """
import json, sys
from click.testing import CliRunner
from femb.cli import cli
ended = [CliRunner().invoke(cli, line, prog_name="femb") for line in json.loads(sys.argv[1])]
print(json.dumps([(each.exit_code, each.stdout, each.stderr) for each in ended]))
"""


def commands(folder, *lines):
    """Exit code, stdout and stderr of each command line."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    line = [sys.executable, "-c", COMMANDS, json.dumps([words.split(" ") for words in lines])]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


PLOTS = [f"plot out/case --what {what}" for what in ("flywheels/rw/speed", "rw.momentum", "power")]
LINEAR = "linearize case.toml --input flywheels.rw.torque"
LINES = (
    "run case.toml --quiet", "export out/case --format csv", *PLOTS, "info out/case --json", "report out/case",
    "schema", "check case.toml", "check case.toml --set flywheels.rw.inertia='3kg'",
    "check case.toml --set flywheels.rw.body=tower",
    f"{LINEAR} --output flywheels.rw.speed --output flywheels.rw.momentum",
    f"{LINEAR} --output flywheels.rw.power --force",
)  # fmt: skip


@pytest.fixture(scope="module")
def ended(package):
    """What each of LINES said; but for the last four, all succeed."""
    found = dict(zip(LINES, commands(package, *LINES), strict=True))
    for line in LINES[:-4]:
        assert found[line][0] == 0, found[line]
    return found


@pytest.fixture(scope="module")
def run(package, ended):
    return package


@pytest.mark.slow
def test_results_have_its_table_also_without_the_package(run, tmp_path):
    results = femb.Results.read(run / "out" / "case" / "results.h5")
    wheel = results.flywheels["rw"]
    assert set(wheel.arrays) >= set(QUANTITIES)
    speed = results["flywheels.rw.speed"]
    np.testing.assert_array_equal(speed, results["rw.speed"])
    assert speed[0] == 0.0
    # the motor stops the wheel's run-up at 9 rpm
    assert speed.max() == pytest.approx(9.0 * 2.0 * np.pi / 60.0, rel=1e-3)
    with h5py.File(run / "out" / "case" / "results.h5") as file:
        assert file["flywheels/rw/momentum"].shape == speed.shape
    for name, unit in QUANTITIES.items():
        quantity = wheel.quantities()[name]
        assert (quantity.unit, quantity.shape) == (unit, "(T,)")
        assert quantity.meaning
    assert wheel.word == "flywheel"
    (table,) = (path for path in femb.export_csv(results, tmp_path) if path.name == "flywheel_rw.csv")
    assert "power [W]" in table.read_text().splitlines()[0].split(",")
    assert "flywheels.rw.power" in results.to_pandas("flywheels.rw.power").columns
    assert results.to_xarray("rw.speed")


def test_declarations_in_a_file_are_those_of_the_items():
    """Of the whole catalogue, read as by a process that knows none of the items."""
    read = with_declarations({}, declarations(registry.kinds()))
    for table, group in groups().items():
        recorded = {name: each for name, each in group.quantities().items() if each.otherwise is None}
        if table not in ("appendages", "budget", "audit") and recorded:
            stored = read[table].quantities()
            assert set(stored) == set(recorded)
            for name, quantity in recorded.items():
                assert all(getattr(stored[name], word) == getattr(quantity, word) for word in STORED), name
            assert read[table].word == group.word


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"wheels": 1}', '{"wheels": {"quantities": {"a": 1, "arrays": {}, "b": {"unit": 3}}}}']
)
def test_damaged_declarations_are_passed_over(text):
    known = groups()
    assert with_declarations(known, text) == {}


def test_tables_and_figures(run, ended):
    (file,) = run.rglob("flywheel*_rw.csv")
    with file.open() as text:
        header = next(csv.reader(text))
    assert set(header) == {"time [s]", *(f"{name} [{unit}]" for name, unit in QUANTITIES.items())}
    assert all(".png" in ended[each][1] for each in PLOTS)
    assert sorted(QUANTITIES) == json.loads(ended["info out/case --json"][1])["quantities"]["flywheels"]
    assert ended["report out/case"][1]


def test_schema_check_and_messages(ended):
    assert "flywheels" in json.loads(ended["schema"][1])["properties"]
    wrong, missing = (ended[line] for line in LINES[-4:-2])
    assert wrong[0] == 2
    assert "flywheels.rw.inertia: got '3kg', wanted a number in kg m2" in wrong[2]
    assert "flywheels.rw.body: got 'tower', wanted a rigid body" in missing[1] + missing[2]


def test_linear_models(run, ended):
    right, refused = (ended[line] for line in LINES[-2:])
    assert right[0] == 0
    assert right[1]
    with np.load(run / "out" / "case" / "linear.npz") as space:
        assert list(space["outputs"]) == ["flywheels.rw.speed", "flywheels.rw.momentum"]
        assert list(space["inputs"]) == ["flywheels.rw.torque"]
    assert refused[0]
    assert "output 'flywheels.rw.power': the item declares no derivatives" in refused[1] + refused[2]


def test_what_is_refused():
    class NoDataclass(Item):
        table = "things"
        kind = "thing"

    refuses(r"register: got .*NoDataclass.*, wanted a dataclass", femb.register, NoDataclass)
    refuses("wanted a dataclass derived from", femb.register, dict)
    assert femb.register(femb.RigidBody) is femb.RigidBody
    assert registry.kinds().count(femb.RigidBody) == 1


def test_a_package_that_cannot_be_used_is_named(package, tmp_path):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[femb.items]\nsprockets = no_such_module\n")
    (tmp_path / "case.toml").write_text("[bodies.hub]\nmass = 1.0\ninertia = 1.0\n[run]\nduration = 1.0\n")
    ((code, out, errors),) = commands(tmp_path, "check case.toml")
    assert code == 0
    assert "items 'sprockets' of the package 'broken' are left out: ModuleNotFoundError" in out + errors


# The element of the how-to, a force as one traced function: in each formulation, method and format, and each analysis.

STRENGTH, MASS, RADIUS = 2.0, 3.0, 2.0
ACCURACY = {
    "radau": {"rtol": 1e-9},
    "bdf": {"rtol": 1e-8},
    "dop853": {"rtol": 1e-9},
    "rk4": {"step": 0.02},
    "gauss": {"step": 0.02},
    "generalized-alpha": {"step": 0.002},
}


@pytest.fixture(scope="module")
def attractor(tmp_path_factory):
    """The class of the page, as a package of its own has it."""
    page = (ROOT / "docs" / "howto" / "extend.md").read_text()
    (code,) = re.findall(r"^```python title=elements/attractor.py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    folder = tmp_path_factory.mktemp("traced")
    (folder / "my_attractors.py").write_text(code.replace("femb.elements.attractor", "my_attractors"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setattr(registry, "_registered", [])
        yield femb.register(importlib.import_module("my_attractors").Attractor)
        patch.delitem(sys.modules, "my_attractors")


def orbit(attractor):
    """A turning body on a circle, whose angular velocity on it is half a radian per second."""
    return of_parts(
        femb.RigidBody(
            "ship", mass=MASS, inertia=(1.0, 2.0, 2.5), position=(RADIUS, 0.0, 0.0), velocity=(0.0, 1.0, 0.0),
            angular_velocity=(0.1, 0.2, 0.3),
        ),
        attractor("planet", body="ship", strength=STRENGTH),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulation", "stepper"),
    [(f, s) for f in FORMULATIONS for s in STEPPERS if f != "hamiltonian" or STEPPERS[s].method in ("rk", "gauss")],
)
def test_a_traced_force_in_each_formulation_and_method(attractor, formulation, stepper):
    method, more = STEPPERS[stepper].method, {"tableau": stepper} if STEPPERS[stepper].method == "rk" else {}
    results = femb.simulate(
        orbit(attractor), duration=2.0, formulation=formulation, method=method, **more, **ACCURACY[stepper]
    )
    angle = 0.5 * results.time
    circle = RADIUS * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    np.testing.assert_allclose(results.bodies["ship"].position, circle, atol=3e-6)
    np.testing.assert_allclose(results.audit.energy_error, 0.0, atol=1e-5)


@pytest.mark.parametrize("form", EXPORTERS)
def test_a_traced_force_in_each_format(attractor, form, tmp_path):
    results = femb.simulate(orbit(attractor), duration=0.5, output_interval=0.1)
    files = EXPORTERS[form](results, tmp_path / form)
    assert files
    assert all(Path(file).stat().st_size for file in files)


def test_a_traced_force_in_statics_modes_and_linear_models(attractor):
    """On a rail through the centre, held by a spring: k (r - a) + mu m / r^2 = 0, m omega^2 = k - 2 mu m / r^3."""
    stiffness, rest, x = 5.0, 2.5, (1.0, 0.0, 0.0)
    model = of_parts(
        femb.RigidBody("ship", mass=MASS, inertia=(1.0, 2.0, 2.5), position=(rest, 0.0, 0.0)),
        femb.Prismatic("rail", femb.JointEnd("ground", at=(rest, 0.0, 0.0), axis=x), femb.JointEnd("ship", axis=x)),
        femb.JointSpringDamper("spring", joint="rail", stiffness=stiffness),
        attractor("planet", body="ship", strength=STRENGTH),
    )
    radius = brentq(lambda r: stiffness * (r - rest) + STRENGTH * MASS / r**2, 0.8 * rest, rest, xtol=1e-14)
    omega = np.sqrt((stiffness - 2.0 * STRENGTH * MASS / radius**3) / MASS)
    np.testing.assert_allclose(femb.static(model).bodies["ship"].position[-1], (radius, 0.0, 0.0), atol=1e-10)
    modes = femb.modes(model, start="equilibrium")
    np.testing.assert_allclose(2.0 * np.pi * np.asarray(modes.frequencies), [omega], rtol=1e-8)
    space = femb.linearize(model, outputs=["bodies.ship.position"], start="equilibrium")
    np.testing.assert_allclose(np.sort(eigvals(space.A).imag), [-omega, omega], rtol=1e-8)


def controlled(*items):
    """A hub in a sampled loop on its wheels, with a boom whose mass turns it little."""
    hub = femb.RigidBody("hub", 500.0, (300.0, 250.0, 350.0), position=(20.0, 0.0, 0.0), velocity=(0.0, 0.3, 0.0),
                         angular_velocity=(0.01, -0.005, 0.002))  # fmt: skip
    wheels = [
        femb.ReactionWheel(n, body="hub", axis=x, spin_inertia=0.08) for n, x in zip("xyz", np.eye(3), strict=True)
    ]
    law = femb.PDController(
        "attitude", attitude="sensors.tracker", rate="sensors.gyro", wheels=("x", "y", "z"), bandwidth=0.5, period=0.1
    )
    return of_parts(hub, *wheels, femb.StarTracker("tracker", body="hub"), femb.Gyro("gyro", body="hub"), law, *items)


def test_a_traced_force_in_a_sampled_loop_and_in_a_hand_over(attractor):
    """A central pull at the mass centre bends the path and turns nothing; on a hub that is held it does nothing."""
    planet, words = attractor("planet", body="hub", strength=36.0), {"duration": 5.0, "rtol": 1e-9}
    bent, straight = (femb.simulate(controlled(*items), **words).bodies["hub"] for items in ((planet,), ()))
    np.testing.assert_allclose(bent.quaternion, straight.quaternion, atol=1e-12)
    assert np.abs(straight.quaternion - straight.quaternion[0]).max() > 1e-3
    fall = 0.5 * 36.0 / 20.0**2 * 5.0**2
    assert abs(straight.position[-1, 0] - bent.position[-1, 0] - fall) < 0.03 * fall
    section = femb.Section(
        "tube", area=1e-3, second_moments=(2e-7, 3e-7), torsion_constant=4e-7, density=2000.0, youngs_modulus=7e10,
        shear_modulus=2.7e10,
    )  # fmt: skip
    boom = femb.Beam(
        "boom",
        section=section,
        length=2.0,
        elements=2,
        start=femb.Attachment("hub", (0.5, 0.0, 0.0), direction=(1.0, 0.0, 0.0)),
    )
    plants = [femb.handover.hybrid_coordinates(controlled(boom, *more), 3, held="hub") for more in ((planet,), ())]
    parts = [plant.appendages[0] for plant in plants]
    np.testing.assert_allclose(parts[0].frequencies, parts[1].frequencies, rtol=1e-9)
    np.testing.assert_allclose(np.abs(parts[0].coupling), np.abs(parts[1].coupling), atol=1e-8)
    poles = [femb.loop(controlled(*items)).poles() for items in ((planet,), ())]
    turning = poles[1][np.abs(poles[1]) > 1e-2]  # those of the attitude, beside the path's
    assert len(turning) >= 6
    np.testing.assert_allclose(np.min(np.abs(poles[0] - turning[:, None]), axis=1), 0.0, atol=1e-6)
