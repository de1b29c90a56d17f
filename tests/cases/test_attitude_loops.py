"""Satellites with their attitude laws: the numbers of their pages, by closed forms and by linear models."""

import runpy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from checkout import CASES, ROOT
from oracles.page_tables import is_printed, rows_of
from scipy.integrate import solve_ivp
from shared_runs import results_of

import femb
from femb.numerics import rotations
from femb.study.study import read_study

pytestmark = pytest.mark.slow

PAGES = ROOT / "docs" / "cases"


def names_in(case):
    """What the file of a case in Python has."""
    return runpy.run_path(str(CASES / f"{case}.py"))


class TestLimitCycle:
    """A dead band held by least pulses of thrusters."""

    @staticmethod
    def reversals(results):
        """Instants (s) in the middle of the pulses, where the straight lines of the turn between them cross."""
        hub = results.bodies["hub"]
        turn, rate = 2.0 * np.arcsin(hub.quaternion[:, 1]), hub.angular_velocity[:, 0]
        steady = np.flatnonzero(np.abs(np.diff(rate)) > 0.1 * np.abs(rate).max())
        before, after = steady - 1, steady + 3
        starts = turn - rate * results.time  # of the lines, at t = 0
        return -(starts[after] - starts[before]) / (rate[after] - rate[before])

    def test_period_of_the_rigid_satellite(self):
        results = results_of("thruster_limit_cycle")
        instants = self.reversals(results)
        np.testing.assert_allclose(instants[2:] - instants[:-2], 400.04, rtol=1e-10)
        np.testing.assert_allclose(instants, 100.01 + 200.02 * np.arange(4), rtol=1e-10)
        assert results.statistics["steps"] < 3100  # one for each sample, and two for each pulse

    def test_panels_and_the_wait(self):
        case = names_in("thruster_limit_cycle")
        rows = []
        for arguments in ((), (True,), (True, 2.0)):
            results = femb.simulate(case["build"](*arguments), **(case["run"] | {"output_interval": 0.1}))
            pair = results.thrusters["plus_left"], results.thrusters["minus_left"]
            turn = 2e3 * np.abs(results.bodies["hub"].quaternion[:, 1]).max()
            rate = 1e6 * np.abs(results.bodies["hub"].angular_velocity[:, 0]).max()
            propellant = 2e6 * sum(each.propellant[-1] for each in pair)
            rows.append((sum(each.pulses[-1] for each in pair), propellant, turn, rate))
        table = rows_of(PAGES / "thruster_limit_cycle.md", "With panels")
        for values, cells in zip(rows, table.values(), strict=True):
            assert all(is_printed(cell, value) for cell, value in zip(cells, values, strict=True)), (values, cells)

    def test_the_hub_passes_the_edge_as_a_mode_says(self):
        """After the first pulse, of a hub whose panels are at rest before it."""
        case = names_in("thruster_limit_cycle")
        options = case["run"] | {"duration": 104.0, "output_interval": 0.02, "rtol": 1e-9}
        results = femb.simulate(case["build"](True, 2.0), **options)
        late = results.time > 100.1
        since, w = results.time[late] - 100.01, case["RATE"]
        free = 1000.0 - 2.0 * 300.0**2 / 240.0  # kg m2, of the hub whose panels swing freely
        omega = np.sqrt(592.2 / (240.0 * free / 1000.0))
        amplitude = 2.0 * w * (1000.0 / free - 1.0) / omega
        decay = 0.5 * 0.942 / 592.2 * omega**2
        wanted = 1e-3 + 0.01 * w - w * since - amplitude * np.exp(-decay * since) * np.sin(omega * since)
        np.testing.assert_allclose(2.0 * results.bodies["hub"].quaternion[late, 1], wanted, rtol=0.0, atol=1e-8)
        assert abs(wanted.max() - 1.0042e-3) < 1e-7  # 4.2 urad, as the page says


class TestDetumbling:
    """A B-dot law with magnetic torquers."""

    def test_rates_are_those_of_the_page(self):
        results = results_of("detumbling")
        rates = np.degrees(np.linalg.norm(results.bodies["hub"].angular_velocity, axis=1))
        for time, (rate,) in rows_of(PAGES / "detumbling.md", "Reference").items():
            assert is_printed(rate, rates[results.time == float(time)].item())

    def test_an_independent_integration(self):
        """Euler's equations with the gravity gradient, Kepler's circle, tilted dipole and law, without noise."""
        results = results_of("detumbling", "sensors.magnetometer.noise=0", "run.duration=120", "run.rtol=1e-9")
        inertia = np.array([0.0419, 0.0419, 0.0067])
        mu, radius, strength, tilt, incline = 3.986004418e14, 6878e3, 7.746e15, np.radians(9.4), np.radians(97.4)
        rate = np.sqrt(mu / radius**3)

        def up(t):
            angle = rate * t
            return np.array([np.cos(angle), np.sin(angle) * np.cos(incline), np.sin(angle) * np.sin(incline)])

        def field(t):
            east = np.radians(-72.6) + 7.2921159e-5 * t
            pole = np.array([np.sin(tilt) * np.cos(east), np.sin(tilt) * np.sin(east), np.cos(tilt)])
            return strength / radius**3 * (pole - 3.0 * (pole @ up(t)) * up(t))

        def motion(t, x, dipole):
            p, w = x[:4], x[4:]
            local, away = (rotations.rotate_back(p / np.linalg.norm(p), each(t)) for each in (field, up))
            torque = np.cross(dipole, local) + 3.0 * rate**2 * np.cross(away, inertia * away)
            turning = 0.5 * np.concatenate([[-p[1:] @ w], p[0] * w + np.cross(p[1:], w)])
            return np.concatenate([turning, (torque - np.cross(w, inertia * w)) / inertia])

        x, last = np.array([1.0, 0, 0, 0, *np.radians([6.0, -5.0, 8.0])]), np.zeros(3)
        for k in range(120):
            measured = rotations.rotate_back(x[:4], field(float(k)))
            dipole, last = np.clip(-2e4 * (measured - last), -0.2, 0.2), measured
            x = solve_ivp(motion, (k, k + 1), x, args=(dipole,), method="DOP853", rtol=1e-10, atol=1e-13).y[:, -1]
            x[:4] /= np.linalg.norm(x[:4])
        np.testing.assert_allclose(results.bodies["hub"].angular_velocity[-1], x[4:], rtol=0.0, atol=1e-7)

    def test_a_sphere_in_a_uniform_field(self):
        """Momentum across the field decays with J/(k B^2), that along it stays."""
        gain, field, period, inertia = 2e6, 4e-5, 0.01, 0.02
        model = femb.Model("sphere")
        model.add(femb.RigidBody("hub", mass=4.0, inertia=inertia, angular_velocity=(0.02, 0.0, 0.03)))
        model.add(femb.UniformField("coil", field=(0.0, 0.0, field)))
        model.add(femb.Magnetometer("sensor", body="hub"))
        for name, axis in zip("xyz", np.eye(3), strict=True):
            model.add(femb.MagneticTorquer(name, body="hub", axis=axis))
        factor = gain / period * np.eye(3)
        commands = [f"magnetic_torquers.{name}.dipole" for name in "xyz"]
        law = {"inputs": ["sensors.sensor"], "outputs": commands, "period": period, "state": (0.0, 0.0, field)}
        model.add(femb.LinearController("b_dot", A=np.zeros((3, 3)), B=np.eye(3), C=factor, D=-factor, **law))
        results = femb.simulate(model, duration=12.0, output_interval=1.0)
        rates = rotations.rotate(results.bodies["hub"].quaternion, results.bodies["hub"].angular_velocity)
        across = 0.02 * np.exp(-gain * field**2 / inertia * results.time)
        np.testing.assert_allclose(np.linalg.norm(rates[:, :2], axis=1), across, rtol=2e-3)
        np.testing.assert_allclose(rates[:, 2], 0.03, rtol=1e-12)


class TestPointingBudget:
    """Noise of sensors and imbalance of wheels, beside the linear loop."""

    PAGE, PATH = PAGES / "pointing_budget.md", CASES / "pointing_budget.toml"
    WINDOWS = (0.2, 0.5, 1.0, 4.0, 10.0)

    @staticmethod
    @cache
    def linear():
        """The functions of the study's script."""
        return runpy.run_path(str(CASES / "studies" / "pointing_budget.py"))

    def predicted(self):
        """RMS of the mean and of the relative errors (5, 2), rad."""
        return np.array(self.linear()["predicted"](self.PATH, self.WINDOWS))

    def found(self, seeds):
        """RMS of the mean and of the relative errors, 99.7 % of the latter (5, 3), rad, of several runs together."""
        runs = [results_of("pointing_budget", *([] if seed == 1 else [f"noise.seed={seed}"])) for seed in seeds]
        errors = [femb.pointing(each, "controllers.attitude.error", self.WINDOWS, 60.0) for each in runs]
        rows = []
        for window in self.WINDOWS:
            both = [np.concatenate([e.sizes(word, window) for e in errors]) for word in ("mean", "relative")]
            rows.append([*(np.sqrt(np.mean(each**2)) for each in both), np.percentile(both[1], 99.7)])
        return np.array(rows)

    def test_predictions_are_those_of_the_page(self):
        table = rows_of(self.PAGE, "Results")
        for cells, values in zip(table.values(), 1e6 * self.predicted(), strict=True):
            assert is_printed(cells[1], values[0])
            assert is_printed(cells[3], values[1])
        (at_once,) = self.linear()["covariances"](self.PATH, 1, 0.025)
        assert is_printed("3.96", 1e6 * np.sqrt(at_once[2, 2]))

    def test_one_run(self):
        """Short windows, of which a run has many that are independent; the mean error within three deviations."""
        found, wanted = self.found([1])[:, :2], self.predicted()
        np.testing.assert_allclose(found[:3, 1], wanted[:3, 1], rtol=0.06)
        np.testing.assert_allclose(found[:, 0], wanted[:, 0], rtol=3.0 * 0.25)

    def test_all_runs(self):
        found, wanted = self.found(range(1, 13)), self.predicted()
        np.testing.assert_allclose(found[:3, 1], wanted[:3, 1], rtol=0.02)
        np.testing.assert_allclose(found[:, :2], wanted, rtol=3.0 * 0.05)
        for cells, values in zip(rows_of(self.PAGE, "Results").values(), 1e6 * found, strict=True):
            assert all(is_printed(cells[k], value) for k, value in zip((0, 2, 4), values, strict=True))

    def test_long_runs_with_balanced_wheels(self):
        """Of each axis, in two runs of 3000 s, within three deviations."""
        covariances = self.linear()["covariances"](self.PATH, 600, 0.1)[:, range(3), range(3)]
        time = 0.2 * np.sum((covariances / covariances[0]) ** 2, axis=0).max()
        words = [f"wheels.{axis}.{word}_imbalance=0" for axis in "xyz" for word in ("static", "dynamic")]
        squares = []
        for seed in (101, 102):
            long = ["run.duration=3000", "run.output_interval=0.1", f"noise.seed={seed}"]
            results = results_of("pointing_budget", *words, *long)
            squares.append(np.mean(results.controllers["attitude"].error[results.time > 60.0] ** 2, axis=0))
        ratio = np.sqrt(np.mean(squares, axis=0) / covariances[0])
        np.testing.assert_allclose(ratio, 1.0, atol=3.0 * 0.5 * np.sqrt(2.0 * time / 6000.0))
        assert np.abs(ratio - 1.0).max() < 0.06  # as the page says

    def test_the_study_gives_errors_of_its_runs(self):
        """Of one of them: seeds are the only variable."""
        study = read_study(CASES / "studies" / "pointing_budget.toml")
        (seed,) = study.variables.values()
        assert list(seed.values) == list(range(1, 13))
        few = femb.sweep(replace(study, variables={"seed": replace(seed, values=(1,))}))
        errors = femb.pointing(results_of("pointing_budget"), "controllers.attitude.error", (0.5, 10.0), 60.0)
        assert few["relative_05"][0] == pytest.approx(errors.at_percent("relative", 0.5), rel=1e-12)
        assert few["mean_10"][0] == pytest.approx(errors.at_percent("mean", 10.0), rel=1e-12)
        assert few["absolute"][0] == pytest.approx(errors.at_percent("absolute"), rel=1e-12)


class TestDeployment:
    """An array that opens and latches while wheels hold the satellite."""

    CASE = "array_deployment_closed_loop"

    def test_momentum_of_the_wheel_is_the_opposite_of_the_others(self):
        """Momentum about the mass centre, from positions and velocities of bodies."""
        results = results_of(self.CASE)
        bodies = {each.name: each for each in femb.load_case(CASES / f"{self.CASE}.py").model.bodies.values()}
        centres, speeds, spin = [], [], 0.0
        for name, body in bodies.items():
            history = results.bodies[name]
            arm = rotations.rotate(history.quaternion, np.broadcast_to(body.center_of_mass, (len(results.time), 3)))
            omega = rotations.rotate(history.quaternion, history.angular_velocity)
            centres.append(history.position + arm)
            speeds.append(history.velocity + np.cross(omega, arm))
            own = history.angular_velocity @ np.asarray(body.inertia).T
            spin = spin + rotations.rotate(history.quaternion, own)
        masses = np.array([body.mass for body in bodies.values()])
        centre, speed = (np.tensordot(masses / masses.sum(), each, 1) for each in (np.array(centres), np.array(speeds)))
        for mass, place, velocity in zip(masses, centres, speeds, strict=True):
            spin = spin + mass * np.cross(place - centre, velocity - speed)
        wheel = results.wheels["y"]
        assert np.abs(wheel.speed).max() * 0.0191 > 2.9
        np.testing.assert_allclose(spin[:, 1], -0.0191 * wheel.speed, atol=1e-6)
        assert np.abs(results.audit.energy_error).max() < 1e-6

    def test_attitude_comes_back_after_the_latches(self):
        results = results_of(self.CASE)
        error = np.degrees(results.controllers["attitude"].error)
        assert np.abs(error[:, [0, 2]]).max() < 1e-9
        assert np.abs(error[results.time > 55.0, 1]).max() < 0.01 * np.abs(error).max()
        torque, t = results.wheels["y"].torque, results.time
        assert np.ptp(torque[(t > 5.6) & (t < 16.0)]) == np.ptp(torque[(t > 19.0) & (t < 35.0)]) == 0.0
        assert abs(torque[100]) == abs(torque[250]) == 0.2
        options = names_in(self.CASE)
        strong = femb.simulate(options["build"](max_torque=10.0), **(options["run"] | {"duration": 40.0}))
        assert is_printed("3.70", np.degrees(np.abs(strong.controllers["attitude"].error).max()))
        assert is_printed("1.06", np.abs(strong.wheels["y"].torque).max())

    def test_free_satellite_and_reduced_form(self):
        case = names_in(self.CASE)
        table = rows_of(PAGES / "array_deployment.md", "Under attitude control")
        free = femb.simulate(case["build"](held=False), **case["run"])
        for name, hinge in (("outer", "hinge_3"), ("middle", "hinge_2"), ("root", "hinge_1")):
            pair = [free.arrays[f"events/latches.{hinge}/{word}"][0] for word in ("time", "energy_loss")]
            assert all(map(is_printed, table[name][2:], pair))
        turn = np.degrees(2.0 * np.arcsin(free.bodies["satellite"].quaternion[-1, 2]))
        assert abs(abs(turn) - 31.3) < 0.05
        held = results_of(self.CASE)
        reduced = femb.simulate(case["build"](), formulation="reduced", **(case["run"] | {"duration": 20.0}))
        for k in (1, 2, 3):
            name = f"events/latches.hinge_{k}/time"
            np.testing.assert_allclose(reduced.arrays[name], held.arrays[name], rtol=0.0, atol=1e-6)
