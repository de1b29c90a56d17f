"""Every case of ``cases/`` runs, has a page, and does what that page says of it."""

import re
from itertools import pairwise

import numpy as np
import pytest
from checkout import ROOT
from long_runs import slow
from scipy.integrate import simpson, solve_ivp
from shared_runs import results_of as run
from shared_runs import start_of

from femb import Results, load_case
from femb.numerics import rotations
from femb.profiles import Versine
from femb.run.simulate import mass_properties
from femb.system.system import System

CASES = sorted((ROOT / "cases").glob("*.toml"))
SATELLITES = ("satellite_free", "satellite_forced")


def euler_peak(results: Results) -> tuple[float, float]:
    """Largest middle Euler angle of the hub, degrees, and its time."""
    angle = np.degrees(results.bodies["hub"].euler_angles()[:, 1])
    return angle.max(), results.time[angle.argmax()]


def rigid_twin(name: str) -> np.ndarray:
    """Quaternions (T, 4) of one rigid body with the mass properties of a satellite case's start."""
    case = load_case(ROOT / "cases" / f"{name}.toml")
    system = System(case.model)
    _, _, inertia = mass_properties(system)
    hub = case.model.bodies["hub"]
    pulse = Versine(1.0) if "slew" in case.model.loads else lambda t: 0.0
    torque = case.model.loads["slew"].torque if "slew" in case.model.loads else np.zeros(3)

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        p, omega = y[:4], y[4:]
        alpha = np.linalg.solve(inertia, pulse(t) * torque - np.cross(omega, inertia @ omega))
        return np.concatenate([rotations.quaternion_rate(p, omega), alpha])

    start = np.concatenate([[1.0, 0.0, 0.0, 0.0], hub.euler_rates])
    times = case.run.output_times()
    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    at_1 = int(np.searchsorted(times, 1.0))
    first = solve_ivp(rate, (0.0, 1.0), start, t_eval=times[: at_1 + 1], **options)
    rest = solve_ivp(rate, (1.0, times[-1]), first.y[:, -1], t_eval=times[at_1:], **options)
    return np.concatenate([first.y[:4].T, rest.y[:4, 1:].T])


def test_there_are_cases():
    assert {path.stem for path in CASES} >= {*SATELLITES, "cantilever_tip_load", "spinning_boom"}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
class TestEveryCase:
    def test_header_says_what_it_is(self, path):
        lines = path.read_text().split("title =")[0].splitlines()
        words = [line[2:].split()[0] for line in lines if line.startswith("# ") and line[2] != " "]
        assert words == ["Purpose", "Source", "Look"]

    def test_has_a_page_that_gives_the_command(self, path):
        pages = ROOT / "docs" / "cases"
        listed = re.search(rf"\b{path.stem}\]\(([\w/.]+\.md)", (pages / "README.md").read_text())
        assert listed is not None
        assert f"femb run cases/{path.name}" in (pages / listed[1]).read_text()

    @pytest.mark.slow
    def test_loads_and_starts(self, path):
        results = run(path.stem, *start_of(path))
        assert results.status == "complete"
        assert results.time[-1] == pytest.approx(0.01 * load_case(path).run.duration, rel=1e-12)
        for name, array in results.arrays.items():
            assert np.all(np.isfinite(array)), name


class TestSatellite:
    @pytest.mark.slow
    @pytest.mark.parametrize(("name", "angle", "time"), [(SATELLITES[0], 83.80, 3.04), (SATELLITES[1], 81.55, 5.47)])
    def test_peak_of_the_middle_euler_angle(self, name, angle, time):
        peak, at = euler_peak(run(name))
        assert peak == pytest.approx(angle, abs=0.01)
        assert at == pytest.approx(time, abs=0.01)

    @pytest.mark.parametrize("name", SATELLITES)
    def test_both_ends_turn_alike(self, name):
        beams = run(name).beams
        np.testing.assert_allclose(beams["left"].rotation[:, -1], beams["right"].rotation[:, -1], atol=1e-10)

    @pytest.mark.parametrize(("name", "bound"), [(SATELLITES[0], 3e-7), (SATELLITES[1], 6e-5)])
    def test_hub_moves_like_its_rigid_twin(self, name, bound):
        difference = np.abs(run(name).bodies["hub"].quaternion - rigid_twin(name)).max()
        assert difference < bound

    @pytest.mark.parametrize(("name", "earliest"), [(SATELLITES[0], 3.02), (SATELLITES[1], 5.29)])
    def test_no_axis_can_turn_by_90_degrees_before(self, name, earliest):
        results = run(name)
        speed = np.linalg.norm(results.bodies["hub"].angular_velocity, axis=1)
        turned = np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(results.time))])
        assert np.interp(0.5 * np.pi, turned, results.time) == pytest.approx(earliest, abs=0.01)

    @pytest.mark.slow
    def test_bending_while_the_torque_acts_and_hardly_after(self):
        # what is left after it is below the default tolerances
        strict = run(SATELLITES[1], "run.atol.time=0.1")
        deflection = np.abs(strict.beams["right"].deflection[:, -1])
        assert deflection[:101].max() == pytest.approx(2.035e-4, rel=1e-3)
        assert deflection[101:].max() < 2e-7

    def test_momentum_of_the_free_one_is_kept(self):
        audit = run(SATELLITES[0]).audit
        size = np.linalg.norm(audit.angular_momentum[0])
        assert np.abs(audit.angular_momentum - audit.angular_momentum[0]).max() < 1e-6 * size
        assert np.abs(audit.linear_momentum).max() < 1e-7

    def test_angular_momentum_is_that_of_the_torque(self):
        results = run(SATELLITES[1])
        momentum = results.audit.angular_momentum[:101]
        pulse = Versine(1.0)
        torque = np.array([[0.0, 15.0 * pulse(t), 0.0] for t in results.time[:101]])
        inertial = rotations.rotate(results.bodies["hub"].quaternion[:101], torque)
        np.testing.assert_allclose(
            momentum[-1] - momentum[0], simpson(inertial, x=results.time[:101], axis=0), atol=1e-6
        )


class TestCantilever:
    EXACT = np.array([-0.5085373043, -1.2072398545, 0.0])  # of the rod with stretch, by collocation

    @pytest.mark.slow
    @pytest.mark.parametrize(("elements", "error"), [(8, 5e-5), (16, 2e-6)])
    def test_static_tip(self, elements, error):
        results = run("cantilever_tip_load", f"beams.bar.elements={elements}", "run.duration=1e-3")
        assert np.linalg.norm(results.beams["bar"].position[0, -1] - [2.0, 0.0, 0.0] - self.EXACT) < error

    @pytest.mark.slow
    def test_stays_at_rest_until_it_is_let_go(self):
        results = run("cantilever_tip_load")
        still = results.time <= 0.02
        assert np.abs(results.beams["bar"].displacement[still]).max() < 1e-9

    def test_dies_out_at_its_first_frequency(self):
        results = run("cantilever_tip_load")
        height = results.beams["bar"].position[:, -1, 1]
        k = np.flatnonzero((height[:-1] < 0.0) & (height[1:] >= 0.0))
        step = results.time[k + 1] - results.time[k]
        zeros = results.time[k] - height[k] * step / (height[k + 1] - height[k])
        frequency = 1.0 / np.diff(zeros)
        # 1.8751^2 sqrt(EI / (rho A L^4)) / (2 pi) = 20.738 Hz, less 0.05 % each for damping and rotary inertia
        assert frequency[-1] == pytest.approx(20.72, abs=0.01)
        assert np.all(np.diff(frequency) < 0.0)

    def test_what_it_loses_is_what_the_damping_took(self):
        audit = run("cantilever_tip_load").audit
        assert np.abs(audit.energy_error).max() < 1e-8 * audit.potential_energy[0]


class TestSpinningBoom:
    every_turns = pytest.mark.parametrize("turns", [1, slow(10)])

    def turned(self, turns: int, rtol: float) -> Results:
        return run("spinning_boom", f"run.duration={np.pi * turns}", f"run.rtol={rtol}")

    def drifts(self, turns: int, rtol: float) -> tuple[float, float]:
        audit = self.turned(turns, rtol).audit
        energy = np.abs(audit.energy_error).max() / audit.kinetic_energy[0]
        spin = np.abs(audit.angular_momentum - audit.angular_momentum[0]).max() / audit.angular_momentum[0, 2]
        assert np.abs(audit.linear_momentum).max() < 100 * rtol
        return energy, spin

    @pytest.mark.slow
    @every_turns
    def test_strain_of_the_middle(self, turns):
        strain = self.turned(turns, 1e-8).beams["boom"].strain
        exact = 1600.0 * 2.0**2 * 10.0**2 / (8.0 * 1.0e11)
        np.testing.assert_allclose(strain[:, 4, 0], exact, rtol=3e-4)
        assert np.abs(strain[:, [0, -1], [0, -1]]).max() < 1e-3 * exact

    @pytest.mark.slow
    @every_turns
    def test_drifts_are_bounded_and_fall_with_the_tolerance(self, turns):
        found = np.array([self.drifts(turns, rtol) for rtol in (1e-4, 1e-6, 1e-8)])
        assert np.all(found < 100 * np.array([[1e-4], [1e-6], [1e-8]]))
        assert np.all(np.diff(found, axis=0) < 0.0)

    @pytest.mark.slow
    def test_ten_turns_bring_it_back(self):
        boom = run("spinning_boom").beams["boom"]
        assert np.abs(boom.position[-1] - boom.position[0]).max() < 1e-4


class TestThermalSnap:
    PERIOD = 2.0 * np.pi / 1.0988  # s, of the first mode

    def swing(self, values: np.ndarray, results: Results) -> tuple[float, float]:
        """Mean and amplitude of a vibration over its last two periods."""
        last = values[results.time > results.time[-1] - 2.0 * self.PERIOD]
        return 0.5 * (last.max() + last.min()), 0.5 * (last.max() - last.min())

    def hub_angle(self, results: Results) -> np.ndarray:
        return np.degrees(results.bodies["hub"].euler_angles()[:, 2])

    def test_first_frequency(self):
        system = System(load_case(ROOT / "cases" / "thermal_snap.toml").model)
        mass, _, stiffness = system.matrices(np.zeros(system.n_u), system.q0, system.v0)
        dense = [system.pattern.to_csc(each).toarray() for each in (mass, stiffness)]
        squares = np.sort(np.linalg.eigvals(np.linalg.solve(*dense)).real)
        assert np.sqrt(squares[6]) == pytest.approx(1.0988, abs=1e-4)

    @pytest.mark.slow
    def test_hub_turns_as_the_bend_without_angular_momentum_wants(self):
        """A hub, a rod and a mass in a plane whose rod is bent to an arc step by step, free of angular momentum."""
        s = np.linspace(0.0, 10.0, 2001)
        mass = np.append(np.full(2001, (s[1] - s[0]) * 2.0e-6 * 8250.0), 0.05)
        mass[[0, 2000]] *= 0.5
        bends = np.linspace(1e-9, 300.0 * 1.7e-5, 201)
        shapes = [np.stack([0.25 + np.sin(k * s) / k, -(1.0 - np.cos(k * s)) / k], axis=1) for k in bends]
        shapes = [np.vstack([shape, shape[-1]]) for shape in shapes]
        angle = 0.0
        for one, two in pairwise(shapes):
            middle, step = 0.5 * (one + two), two - one
            centre, move = mass @ middle / (40.0 + mass.sum()), mass @ step / (40.0 + mass.sum())
            arm, slip = np.vstack([middle, [0.0, 0.0]]) - centre, np.vstack([step, [0.0, 0.0]]) - move
            masses = np.append(mass, 40.0)
            spin = masses @ (arm[:, 0] * slip[:, 1] - arm[:, 1] * slip[:, 0])
            angle -= spin / (1.5 + masses @ np.sum(arm**2, axis=1))
        mean, _ = self.swing(self.hub_angle(run("thermal_snap")), run("thermal_snap"))
        assert mean == pytest.approx(np.degrees(angle), rel=3e-3)
        assert mean == pytest.approx(1.08, abs=5e-3)

    @pytest.mark.slow
    @pytest.mark.parametrize(("tau", "amplitude"), [(1.0, 0.75), (3.0, 0.32), (10.0, 0.10)])
    def test_vibration_by_the_time_constant(self, tau, amplitude):
        """Over the bend 1 / sqrt(1 + (omega tau)^2), but for the share of the higher modes."""
        results = run("thermal_snap", f"loads.bending.profile.time_constant={tau}", "sections.tube.damping=2e-4",
                      "beams.boom.elements=4", "run.rtol=1e-5")  # fmt: skip
        mean, vibration = self.swing(results.beams["boom"].deflection[:, -1, 1], results)
        assert vibration / abs(mean) == pytest.approx(1.0 / np.hypot(1.0, 1.0988 * tau), rel=0.03)
        assert self.swing(self.hub_angle(results), results)[1] == pytest.approx(amplitude, abs=0.01)

    @pytest.mark.slow
    def test_nothing_is_lost(self):
        results = run("thermal_snap")
        audit = results.audit
        assert np.abs(audit.linear_momentum).max() < 1e-7
        assert np.abs(audit.angular_momentum).max() < 1e-7
        assert np.abs(audit.energy_error).max() < 0.01 * audit.potential_energy.max()
        # the boom is all but free: it carries the inertia of its vibration, not what would hold it straight
        assert np.abs(results.beams["boom"].section_moment).max() < 0.5 * 1.3e11 * 4e-11 * 300.0 * 1.7e-5
