"""Two results, tables of modes, linear models or cases side by side."""

import json

import numpy as np
import pytest
from models import of_parts, refuses
from shared_runs import invoked

import femb
from femb.numerics.rotations import multiply


def swinging(stiffness, damping=0.5):
    """A mass of 2 kg on a spring to the ground."""
    end = femb.SpringEnd("m"), femb.SpringEnd(anchor=(1.0, 0.0, 0.0))
    spring = femb.SpringDamper("s", *end, stiffness=stiffness, damping=damping, free_length=0.9)
    return of_parts(femb.RigidBody("m", 2.0, (1.0, 1.0, 1.0)), spring)


def written(tmp_path, make, *values):
    paths = [tmp_path / f"{k}.h5" for k in range(len(values))]
    for path, value in zip(paths, values, strict=True):
        make(value, path)
    return paths


def test_runs_are_compared_by_their_kinds_of_quantities(tmp_path):
    def make(stiffness, path):
        femb.simulate(swinging(stiffness), duration=1.0, output_interval=0.1, rtol=1e-8, out=path)

    one, two = written(tmp_path, make, 200.0, 202.0)
    found = femb.diff(one, two)
    assert found.kind == "run"
    rows = {row.name.split(",")[0]: row for row in found.rows}
    positions = [femb.Results.read(path).bodies["m"].position for path in (one, two)]
    largest = np.linalg.norm(positions[1] - positions[0], axis=1).max()
    scale = np.linalg.norm(positions[0], axis=1).max()
    assert rows["position"].part == pytest.approx(largest / scale, rel=1e-9)
    assert [row.part for row in found.rows] == sorted((row.part for row in found.rows), reverse=True)
    assert femb.diff(one, one).largest == 0.0
    assert "no differences" in femb.diff(one, one).table()
    assert found.draw(tmp_path / "diff.png").exists()


def test_rounding_stands_behind_what_differs():
    """Noise of 1e-16 in an angular velocity that is zero, beside positions that differ by 1e-9: the noise is a part of
    half a turn over the duration."""
    results = femb.simulate(swinging(200.0), duration=1.0, output_interval=0.1, rtol=1e-8)
    noise = 1e-16 * np.random.default_rng(1).normal(size=(2, 11, 3))
    series = [{**results.series, "bodies/m/angular_velocity": each} for each in noise]
    series[1]["bodies/m/position"] = results.bodies["m"].position + np.array([1e-9, 0.0, 0.0])
    found = femb.diff(*(femb.Results(each, results.static, results.attributes) for each in series))
    assert found.rows[0].name.startswith("position, bodies/m/position at ")
    (turn,) = (row for row in found.rows if row.name.startswith("angular velocity"))
    wanted = np.linalg.norm(noise[1] - noise[0], axis=1).max() / np.pi
    assert turn.part == pytest.approx(wanted, rel=1e-9)
    assert found.largest == pytest.approx(1e-9 / np.linalg.norm(results.bodies["m"].position, axis=1).max(), rel=1e-6)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-3, 2.0, np.pi])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_angles_between_attitudes(angle, sign):
    """Zero of equal ones to the last bit, also of a file with places without a number; p and -p are one attitude."""
    results = femb.simulate(swinging(200.0), duration=1.0, output_interval=0.1)
    attitude = np.random.default_rng(2).normal(size=(11, 4))
    attitude /= np.linalg.norm(attitude, axis=1)[:, None]
    turned = attitude
    if angle:
        axis = np.array([2.0, -3.0, 6.0]) / 7.0
        turned = multiply(attitude, np.append(np.cos(0.5 * angle), np.sin(0.5 * angle) * axis)[None])
    series = [{**results.series, "bodies/m/quaternion": each} for each in (attitude, sign * turned)]
    for each in series:
        each["bodies/m/velocity"] = np.full((11, 3), np.nan)
    found = femb.diff(*(femb.Results(each, results.static, results.attributes) for each in series))
    if not angle and sign > 0.0:
        assert found.largest == 0.0
        return
    (row,) = (row for row in found.rows if row.name.startswith("orientation"))
    np.testing.assert_allclose(row.part * np.pi, angle, rtol=1e-3, atol=1e-15)


def test_runs_that_differ_in_what_a_sensor_measures_are_not_equal(tmp_path):
    """The noise of a gyro that nothing reads, by two seeds."""
    paths = [tmp_path / f"{seed}.h5" for seed in (1, 2)]
    for seed, path in enumerate(paths, 1):
        model = of_parts(femb.RigidBody("m", 2.0, (1.0, 1.0, 1.0)), seed=seed)
        model.add(femb.Gyro("gyro", body="m", period=0.1, angle_random_walk=1e-3))
        femb.simulate(model, duration=1.0, output_interval=0.1, out=path)
    (row,) = (row for row in femb.diff(*paths).rows if row.part)
    values = [femb.Results.read(path).sensors["gyro"].value for path in paths]
    assert row.name.startswith("value, sensors/gyro/value at ")
    assert float(row.second) == pytest.approx(np.abs(values[1] - values[0]).max(), rel=1e-2)


@pytest.mark.filterwarnings("ignore:modes. the state is not in equilibrium")
def test_a_folder_stands_for_its_only_results(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        femb.modes(swinging(200.0, 0.0)).write(tmp_path / name / "modes.h5")
    assert "no differences" in invoked("diff", str(tmp_path / "a"), str(tmp_path / "b"))[1]


@pytest.mark.filterwarnings("ignore:modes. the state is not in equilibrium")
def test_modes_and_linear_models_by_the_root_of_the_stiffness(tmp_path):
    """A stiffness higher by 2 % raises the frequency by sqrt(1.02) - 1."""
    make = {
        "modes": lambda k, path: femb.modes(swinging(k, 0.0)).write(path),
        "linear model": lambda k, path: femb.linearize(swinging(k), at_rest=True).write(path),
    }
    for kind, function in make.items():
        folder = tmp_path / kind.split()[0]
        folder.mkdir()
        found = femb.diff(*written(folder, function, 200.0, 204.0))
        assert found.kind == kind
        row = next(row for row in found.rows if row.name.endswith("1, frequency"))
        assert row.part == pytest.approx(np.sqrt(1.02) - 1.0, rel=1e-4)
        assert row.unit == "Hz"
    refuses("give two of one kind", femb.diff, tmp_path / "modes" / "0.h5", tmp_path / "linear" / "0.h5",
            error=femb.ResultError)  # fmt: skip


def test_cases_by_their_entries_and_the_exit_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "[bodies.hub]\nmass = {}\ninertia = [1.0, 2.0, {}]\n[run]\nduration = 1.0\n"
    (tmp_path / "a.toml").write_text(text.format(2.0, 3.0))
    (tmp_path / "b.toml").write_text(text.format(2.02, 3.0) + 'method = "radau"\n')
    found = femb.diff("a.toml", "b.toml")
    changed = {row.name: (row.first, row.second) for row in found.rows if row.part}
    assert changed == {"bodies.hub.mass": ("2", "2.02"), "run.method": ("-", "radau")}
    code, stdout, _ = invoked("diff", "a.toml", "b.toml", "--rtol", "0.1")
    assert (code, "bodies.hub.mass" in stdout) == (1, True)
    (tmp_path / "c.toml").write_text(text.format(2.02, 3.0))
    assert [invoked("diff", "a.toml", "c.toml", "--rtol", part)[0] for part in ("0.02", "0.001")] == [0, 1]
    assert json.loads(invoked("diff", "a.toml", "c.toml", "--json")[1])["largest"] == pytest.approx(0.01)
    assert invoked("diff", "a.toml", "missing.toml")[0] == 2


def test_linear_models_of_the_same_poles_by_their_gains(tmp_path):
    """Twice the input, and an output that one of them has alone."""
    paths = [tmp_path / "one.h5", tmp_path / "two.h5"]
    for path, gain, outputs in zip(paths, (1.0, 2.0), (("y",), ("y", "z")), strict=True):
        C = np.eye(2)[: len(outputs)]
        D = np.zeros((len(outputs), 1))
        space = femb.StateSpace([[0, 1.0], [-9.0, -0.1]], [[0], [gain]], C, D, ("x", "v"), ("u",), outputs)
        space.write(path)
    rows = {row.name.partition(",")[0]: row.part for row in femb.diff(*paths).rows if row.part}
    assert rows == {"y by u": pytest.approx(1.0, rel=1e-12), "output z": np.inf}


def test_studies_and_other_results_by_their_arrays(tmp_path, monkeypatch):
    """The mass of a body as output of two studies, 1 and 1.5 kg; peak loads of two runs under 0.1 and 0.2 N."""
    monkeypatch.chdir(tmp_path)
    body = "[bodies.hub]\nmass = 1.0\ninertia = 1.0\n[loads.f]\nbody = 'hub'\nforce = [0, 0, {}]\n"
    case = "[sections.s]\nshape = {{ tube = [0.02, 0.001] }}\nyoungs_modulus = 7e10\nshear_modulus = 3e10\n"
    case += "density = 2700.0\n[beams.b]\nsection = 's'\nlength = 1.0\nelements = 1\n"
    case += "start = {{ body = 'ground', direction = [1, 0, 0] }}\n[loads.f]\nbeam = 'b'\nforce = [0, 0, {}]\n"
    for word, mass, force in (("a", 1.0, 0.1), ("b", 1.5, 0.2)):
        (tmp_path / f"{word}.toml").write_text(body.format(force))
        key = f"case = '{word}.toml'\n[variables.m]\nkey = 'bodies.hub.mass'\nvalues = [{mass}]\n"
        (tmp_path / f"study_{word}.toml").write_text(key + "[outputs.mass]\nkind = 'mass'\n")
        femb.sweep(f"study_{word}.toml", out=tmp_path / word)
        (tmp_path / f"beam_{word}.toml").write_text(case.format(force))
        femb.peak_loads(femb.static(f"beam_{word}.toml")).write(tmp_path / f"loads_{word}.h5")
    found = femb.diff("a", "b")
    assert (found.kind, found.largest) == ("sweep", pytest.approx(0.5))
    assert {row.name for row in found.rows if row.part} == {"outputs/mass", "variables/m"}
    assert invoked("diff", "a", "b", "--rtol", "0.1")[0] == 1
    loads = {row.name: row.part for row in femb.diff("loads_a.h5", "loads_b.h5").rows if row.part}
    assert loads["beams/b/maximum"] == pytest.approx(1.0, rel=1e-6)
    assert femb.diff("a", "a").largest == femb.diff("loads_a.h5", "loads_a.h5").largest == 0.0
    refuses("give two of one kind", femb.diff, "a", "loads_b.h5", error=femb.ResultError)


def test_sensitivities_by_their_names_and_masses_by_their_freedoms(tmp_path):
    """Beside a modulus of 1e11 a force of 10 and one of 20 are no rounding; a mass of 2 and 3 beside one of 1e12."""
    case = "[sections.s]\nshape = {{ tube = [0.02, 0.001] }}\nyoungs_modulus = 7e10\nshear_modulus = 3e10\n"
    case += "density = 2700.0\n[beams.b]\nsection = 's'\nlength = 1.0\nelements = 1\n"
    case += "start = {{ body = 'ground', direction = [1, 0, 0] }}\n[loads.f]\nbeam = 'b'\nforce = [0, 0, {}]\n"
    paths = [tmp_path / f"{word}.h5" for word in "ab"]
    for path, force in zip(paths, (0.1, 0.2), strict=True):
        path.with_suffix(".toml").write_text(case.format(force))
        by = ["sections.s.youngs_modulus", "loads.f.force.2"]
        femb.sensitivities(path.with_suffix(".toml"), ["mass", "final of=beams.b.-1.deflection.z analysis=static"], by)\
            .write(path)  # fmt: skip
    rows = {row.name.split(" ")[0]: row.part for row in femb.diff(*paths).rows if row.part > 1e-6}
    assert rows == {"loads.f.force.2": pytest.approx(1.0), "final": pytest.approx(1.0, rel=1e-6)}
    words = np.diag([2.0, 1e12]), np.diag([3.0, 1e12])
    others = [femb.Results({}, {"craig_bampton/mass": mass}) for mass in words]
    assert femb.diff(*others).largest == pytest.approx(0.5)


def test_sampled_loops_with_delays_have_poles_without_a_frequency(tmp_path):
    """Those at z = 0, which decay at once, are none of the rows; twice the gain of the law is seen."""
    plant = femb.StateSpace(
        [[0, 1.0], [0, 0]], [[0], [1.0]], np.eye(2), np.zeros((2, 1)), ("x", "v"), ("u",), ("y", "r")
    )
    paths = [tmp_path / "one.h5", tmp_path / "two.h5"]
    for path, gain in zip(paths, (1.0, 2.0), strict=True):
        D = [[-0.5 * gain, -1.0]]
        law = femb.LinearLaw("pd", [], [], [], D, inputs=("y", "r"), outputs=("u",), period=0.1, delay=0.2)
        femb.loop(plant, [law]).write(path)
    found = femb.diff(*paths)
    assert found.largest > 0.1
    assert all(np.isfinite(row.part) and "nan" not in row.first + row.second for row in found.rows)


def test_an_output_without_a_value_in_one_of_two_studies_differs():
    """An event that did not happen has none; in both it is the same."""
    first, second = (femb.Results({}, {"sweep/outputs/t": np.array(values)}) for values in ([3.0], [np.nan]))
    assert femb.diff(first, second).largest == femb.diff(second, first).largest == np.inf
    assert femb.diff(second, second).largest == 0.0
