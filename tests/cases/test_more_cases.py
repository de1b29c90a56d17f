"""What the pages of the structural cases say of them: four arms, a right-angle frame, a rotor, a snake arm, a wheel,
four antennas."""

from dataclasses import replace

import numpy as np
import pytest
from checkout import CASES, ROOT
from scipy.linalg import eigh
from scipy.optimize import brentq, least_squares
from shared_runs import results_of as run

from femb import Beam, Load, Model, RigidBody, Section, linearize, load_case
from femb.profiles import Constant
from femb.run.method_choice import with_method
from femb.run.simulate import mass_properties
from femb.statics.equilibrium import steady_start
from femb.system.system import System


def section_of(name: str, beam: str) -> Section:
    """Section of a beam of a case."""
    model = load_case(CASES / f"{name}.toml").model
    return model.section_of(model.beams[beam])


def modes(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (rad/s) of an unstrained system, from the lowest, and their shapes by column."""
    u = system.inputs_at(0.0, system.q0, 0.0 * system.v0)
    mass, _, stiffness = system.matrices(u, system.q0, 0.0 * system.v0)
    mass, stiffness = (system.pattern.to_csc(each).toarray() for each in (mass, stiffness))
    values, shapes = eigh(stiffness, mass)
    return np.sqrt(np.abs(values)), shapes


class TestFourArms:
    CASE = "satellite_four_arms"

    @pytest.mark.slow
    def test_momentum_is_what_the_torque_gives(self):
        """A versine of 5 N m and 4 s: 10 N m s, and back to rest; the mass centre stays where it is."""
        results = run(self.CASE)
        spin = results.audit.angular_momentum
        np.testing.assert_allclose(spin[200], [0.0, 0.0, 10.0], atol=1e-6)
        np.testing.assert_allclose(spin[results.time >= 8.0], 0.0, atol=2e-6)
        assert np.abs(results.audit.linear_momentum).max() < 1e-6
        assert np.abs(results.audit.energy_error).max() < 1e-6

    @pytest.mark.slow
    def test_turns_as_far_as_its_rigid_twin(self):
        _, _, inertia = mass_properties(System(load_case(CASES / f"{self.CASE}.toml").model))
        assert inertia[2, 2] == pytest.approx(38.330, abs=1e-3)
        assert inertia[0, 2] == pytest.approx(-0.515, abs=1e-3)
        angles = np.degrees(run(self.CASE).bodies["hub"].euler_angles())
        assert angles[-1, 2] == pytest.approx(np.degrees(40.0 / inertia[2, 2]), abs=0.05)
        np.testing.assert_allclose(np.abs(angles).max(axis=0)[:2], [0.98, 1.98], atol=0.01)

    @pytest.mark.slow
    def test_deflections(self):
        results = run(self.CASE)
        tips = {name: np.abs(beam.deflection[:, -1]) for name, beam in results.beams.items()}
        np.testing.assert_allclose(tips["east"].max(axis=0)[1:], [0.0523, 0.0027], atol=5e-5)
        across = [tips["west"][:, 1], tips["north"][:, 0], tips["south"][:, 0]]
        np.testing.assert_allclose([each.max() for each in across], [0.0139, 0.0138, 0.0137], atol=6e-5)
        assert max(tip[results.time >= 8.0].max() for tip in tips.values()) < 1.4e-4

    def test_frequencies_of_the_cross(self):
        """A free hub with beams clamped at its centre and the inertia of all of them, vibrating alike."""
        boom = section_of(self.CASE, "east")
        length, mass = 5.0, boom.line_mass() * 5.0
        model = Model("cross")
        hub = model.add(RigidBody("hub", mass=1.0, inertia=4.0 * mass * length**2 / 3.0))
        for name, direction in (("e", (1, 0, 0)), ("n", (0, 1, 0)), ("w", (-1, 0, 0)), ("s", (0, -1, 0))):
            model.add(Beam(name, boom, length, 4, start=hub.at(direction=direction)))
        system = System(model)
        found, shapes = modes(system)
        turning = np.abs(shapes[system.layout.frame_v[system.layout.bodies["hub"]] + 5])
        own = found[(turning > 1e-6 * turning.max()) & (found > 0.1)]
        unit = np.sqrt(boom.youngs_modulus * boom.second_moments[0] / (mass * length**3))
        np.testing.assert_allclose(own[:3] / unit, [4.899577, 22.310512, 61.794873], rtol=1e-2)
        assert own[0] / unit == pytest.approx(4.899577, rel=4e-4)


class TestFrame:
    CASE = "l_frame"

    def system(self, elements, *overrides):
        mesh = [f"beams.{name}.elements={elements}" for name in ("leg", "arm")]
        return System(load_case(CASES / f"{self.CASE}.toml", [*mesh, *overrides]).model)

    @pytest.mark.slow
    def test_gives_way_at_the_critical_load(self):
        frame = run(self.CASE).beams["arm"].displacement[:, -1, 2]
        for time, sideways in (
            (3.0, 0.30e-3),
            (4.0, 0.75e-3),
            (4.35, 1.96e-3),
            (4.5, 4.26e-3),
            (5.0, 50e-3),
            (6.0, 61e-3),
        ):
            assert frame[round(100 * time)] == pytest.approx(sideways, rel=0.02), time

    @pytest.mark.parametrize(("sign", "exact"), [(1.0, 1.0875184), (-1.0, 0.6804276)])
    def test_critical_loads(self, sign, exact):
        """Where the exact tangent of the equilibrium in the plane is singular; the error is of order 4."""
        errors = []
        for elements in (2, 4):

            def lowest(load, elements=elements):
                system = self.system(
                    elements,
                    f"loads.push.force=[{sign * load}, 0, 0]",
                    'loads.push.profile={shape="constant"}',
                    "loads.disturbance.force=[0, 0, 0.0]",
                )
                q, v = steady_start(system)
                _, stiffness = system.tangent(system.inputs_at(0.0, q, v), q, v, 0.0 * v)
                matrix = system.pattern.to_csc(stiffness).toarray()
                return np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[0]

            errors.append(brentq(lowest, exact, 1.03 * exact, xtol=1e-7) / exact - 1.0)
        assert errors[1] < 2.5e-5
        assert np.log2(errors[0] / errors[1]) == pytest.approx(3.85, abs=0.15)

    def exact_frequency(self, near, in_plane):
        """A root of the determinant of the exact dynamic stiffness of both legs, within 2 % of a frequency."""
        strip = section_of(self.CASE, "leg")

        def determinant(omega):
            return np.linalg.det(frame_stiffness(strip, 0.24, omega, in_plane) * 1e-3)

        at = np.linspace(0.98 * near, 1.005 * near, 60)
        values = [determinant(omega) for omega in at]
        k = next(k for k in range(59) if values[k] * values[k + 1] < 0.0)
        return brentq(determinant, at[k], at[k + 1], rtol=1e-12)

    @pytest.mark.parametrize("in_plane", [True, False])
    def test_frequencies(self, in_plane):
        """Of the case's mesh and of one four times as fine, against the exact ones, from above."""
        bounds = (1e-6, 1e-5, 2e-4)
        for elements, factor in ((6, 1.0), (24, 0.01)):
            found = frame_frequencies(self.system(elements), in_plane)[:3]
            exact = [self.exact_frequency(each, in_plane) for each in found]
            assert np.all(found > exact)
            assert np.all(found / exact - 1.0 < factor * np.array(bounds)), (found, exact)


def frame_frequencies(system, in_plane):
    """rad/s, of motion in the plane of the frame or across it, which do not couple."""
    moving = [j for k, j in enumerate(system.layout.frame_v) if system.layout.frames[k].freedom]
    places = [j + c for j in moving for c in ((0, 1, 5) if in_plane else (2, 3, 4))]
    places += list(system.layout.internal_v) if in_plane else []
    u = system.inputs_at(0.0, system.q0, system.v0)
    mass, _, stiffness = system.matrices(u, system.q0, system.v0)
    mass, stiffness = (system.pattern.to_csc(each).toarray()[np.ix_(places, places)] for each in (mass, stiffness))
    return np.sqrt(eigh(stiffness, mass, eigvals_only=True))


def bending_stiffness(stiffness, mass, inertia, length, omega):
    """(4, 4) of a vibrating beam with rotary inertia, by (w, w') of both ends: EI w'''' + (j w^2) w'' - m w^2 w = 0."""
    r = np.roots([stiffness, 0.0, inertia * omega**2, 0.0, -mass * omega**2]).astype(complex)
    one, end = np.ones(4), np.exp(r * length)
    shear = stiffness * r**3 + inertia * omega**2 * r
    motion = np.array([one, r, end, r * end])
    force = np.array([shear, -stiffness * r**2, -shear * end, stiffness * r**2 * end])
    return np.real(force @ np.linalg.inv(motion))


def bar_stiffness(stiffness, inertia, length, omega):
    """(2, 2) of a vibrating bar in stretch or twist."""
    k = omega * np.sqrt(inertia / stiffness)
    return stiffness * k / np.sin(k * length) * np.array([[np.cos(k * length), -1.0], [-1.0, np.cos(k * length)]])


def frame_stiffness(strip, length, omega, in_plane):
    """(6, 6) dynamic stiffness by the motion of the corner and the end; both have three components.

    In the plane (x, y, turn about z), across it (z, turns about x and y).
    """
    rho, e = strip.density, strip.youngs_modulus
    inertia = strip.inertia()
    across, inside = strip.second_moments  # about y: across the plane; about z: in the plane
    if in_plane:
        bending = bending_stiffness(e * inside, rho * strip.area, inertia[2], length, omega)
        bar = bar_stiffness(e * strip.area, rho * strip.area, length, omega)
        # rows: along the leg, across it, slope
        maps = [np.eye(3), np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])]
    else:
        bending = bending_stiffness(e * across, rho * strip.area, inertia[1], length, omega)
        bar = bar_stiffness(strip.shear_modulus * strip.torsion_constant, inertia[0], length, omega)
        # rows: twist, deflection, slope
        maps = [
            np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]),
            np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]),
        ]
    local = np.zeros((6, 6))
    local[np.ix_([0, 3], [0, 3])] = bar
    local[np.ix_([1, 2, 4, 5], [1, 2, 4, 5])] = bending
    leg, arm = (np.kron(np.eye(2), T).T @ local @ np.kron(np.eye(2), T) for T in maps)
    arm[:3, :3] += leg[3:, 3:]
    return arm


@pytest.mark.slow
class TestRotor:
    CASE = "flexible_rotor"

    def frequencies(self, spin):
        """Fitted to flap and lag of a tip after the push, as the sum of the first two modes; the case spins at 3."""
        results = run(self.CASE, *([] if spin == 3 else [f"bodies.hub.angular_velocity=[0, 0, {spin}]"]))
        beam, time = results.beams["one"], results.time
        after = time >= 1.0

        def fit(values, guesses):
            def left(omega):
                turns = np.outer(time[after], omega)
                basis = np.concatenate([np.cos(turns), np.sin(turns), np.ones((len(turns), 1))], axis=1)
                return basis @ np.linalg.lstsq(basis, values, rcond=None)[0] - values

            return least_squares(left, guesses, xtol=1e-12, ftol=1e-12, gtol=1e-12, x_scale=0.01).x[0]

        tip = beam.deflection[after, -1]
        flap = fit(tip[:, 2], np.sqrt([3.516**2 + 1.19 * spin**2, 22.03**2 + 6.4 * spin**2]))
        return flap, fit(tip[:, 1], np.sqrt([3.516**2 + 0.19 * spin**2, 22.03**2 + 5.4 * spin**2]))

    @pytest.mark.parametrize(("spin", "flap"), [(0, 3.51602), (3, 4.79728)])
    def test_frequencies_rise_with_the_rotation(self, spin, flap):
        found = self.frequencies(spin)
        np.testing.assert_allclose(found, [flap, np.sqrt(flap**2 - spin**2)], rtol=1e-4)

    def test_starts_steadily_and_both_blades_do_the_same(self):
        results = run(self.CASE)
        one, two = results.beams["one"], results.beams["two"]
        np.testing.assert_allclose(one.section_force[0, 0, 0], [1.5 * 3.0**2 * 12.5, 0.0, 0.0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(one.deflection * [-1, -1, 1], two.deflection, atol=1e-10)
        np.testing.assert_allclose(np.abs(one.deflection[:, -1]).max(axis=0)[1:], [0.0111, 0.0075], atol=6e-5)


@pytest.mark.slow
class TestSnake:
    CASE = "snake_arm"

    def closed_form(self):
        """Turns (6,) of the discs, rad, and position (2,) of the last one: arcs of constant moment and rigid discs."""
        stiffness = 3.0e9 * 6.362e-11
        moments = np.array([1.272 - 0.424] * 3 + [-0.424] * 3)
        turns = np.cumsum(moments * 0.1 / stiffness)
        position, angle = np.zeros(2), 0.0
        for k, turned in enumerate(turns):
            radius = stiffness / moments[k]
            position = position + radius * np.array([np.sin(turned) - np.sin(angle), np.cos(angle) - np.cos(turned)])
            position = position + (0.005 if k == 5 else 0.01) * np.array([np.cos(turned), np.sin(turned)])
            angle = turned
        return turns, position

    def finer(self, elements):
        return run(self.CASE, *[f"beams.rod{k}.elements={elements}" for k in range(1, 7)])

    def test_comes_to_rest_in_arcs(self):
        turns, position = self.closed_form()
        np.testing.assert_allclose(np.degrees(turns[[2, 5]]), [76.3704, 38.1852], atol=1e-4)
        errors = []
        for elements in (1, 2):
            bodies = self.finer(elements).bodies
            got = [bodies[f"disc{k}"].euler_angles()[-1, 2] for k in range(1, 7)]
            np.testing.assert_allclose(got, turns, atol=np.radians(0.02 / elements**4))
            errors.append(np.linalg.norm(bodies["disc6"].position[-1, :2] - position))
            assert np.abs(bodies["disc6"].position[:, 2]).max() < 1e-12
            assert np.abs(bodies["disc6"].velocity[-1]).max() < 1e-6
        assert errors[0] < 1.2e-4
        assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.2)

    def test_moments_and_energy(self):
        """Moments are constant along each piece; what is stored is M^2 l/(2 EI) of each, and the rest was damped."""
        results = self.finer(2)
        for k, moment in enumerate([0.848] * 3 + [-0.424] * 3, start=1):
            section_moment = results.beams[f"rod{k}"].section_moment[-1]
            np.testing.assert_allclose(section_moment[..., 2], moment, atol=1e-6)
            assert np.abs(section_moment[..., :2]).max() < 1e-12
        stored = 3 * (0.848**2 + 0.424**2) * 0.1 / (2.0 * 3.0e9 * 6.362e-11)
        audit = results.audit
        assert audit.potential_energy[-1] == pytest.approx(stored, rel=1e-3)
        assert audit.work[-1] == pytest.approx(stored, rel=1e-3)  # of the torques less the damping
        assert np.abs(audit.energy_error).max() < 1e-6 * stored


class TestWheelJitter:
    CASE = "wheel_jitter"

    def amplitudes(self, results, speed):
        """Of the hub's rates (3,), rad/s, about the instant at which the wheel has a speed (rad/s)."""
        wheel = results.wheels["z"]
        k = int(np.searchsorted(wheel.speed, speed))
        part = slice(k - 15, k + 16)
        t, angle = results.time[part], wheel.angle[part]
        basis = np.column_stack([np.ones_like(t), t - t.mean(), np.cos(angle), np.sin(angle)])
        fit = np.linalg.lstsq(basis, results.bodies["hub"].angular_velocity[part], rcond=None)[0]
        return np.hypot(fit[2], fit[3])

    def steady(self, speed):
        """Of the linear model with the balanced wheel at this speed, whose loads are F and T of the imbalance."""
        words = ["static_imbalance=0", "dynamic_imbalance=0", "torque=0", f"speed={speed}"]
        model = load_case(CASES / "wheel_jitter.toml", [f"wheels.z.{word}" for word in words]).model
        for k, axis in enumerate("xy"):
            across = np.eye(3)[k]
            place = {"body": "hub", "at": model.wheels["z"].at, "frame": "body", "profile": Constant(0.0)}
            model.add(Load(axis, force=2e-5 * across, torque=2e-6 * across, **place))
        space = linearize(
            model,
            inputs=[f"loads.{axis}.{word}" for axis in "xy" for word in ("force", "torque")],
            outputs=["bodies.hub.angular_velocity"],
        )
        loads = speed**2 * space.B @ [-1j, -1j, -1.0, -1.0]
        return np.abs(space.C @ np.linalg.solve(1j * speed * np.eye(len(space.A)) - space.A, loads))

    @pytest.mark.slow
    def test_amplitudes_in_the_run_up(self):
        """Of x and y as of the linear model; of z, whose mode is passed, late and below the steady one."""
        results = run(self.CASE)
        for speed in 2.0 * np.pi * np.array([6.7, 7.3, 7.5, 8.3]):
            found, wanted = self.amplitudes(results, speed), self.steady(speed)
            np.testing.assert_allclose(found[:2], wanted[:2], rtol=4e-4)
        np.testing.assert_allclose(found[2], wanted[2], rtol=0.02)
        speeds = 2.0 * np.pi * np.linspace(7.0, 8.0, 51)
        rates = np.array([self.amplitudes(results, speed)[2] for speed in speeds])
        mode = 2.0 * np.pi * 7.3201
        assert speeds[np.argmax(rates)] > mode * 1.01
        assert 0.85 < rates.max() / self.steady(mode)[2] < 0.95

    @pytest.mark.slow
    def test_steps_resolve_the_imbalance(self):
        results = run(self.CASE)
        turns = results.wheels["z"].angle[-1] / (2.0 * np.pi)
        assert turns == pytest.approx(30.0 * 7.4, rel=1e-3)
        assert 8.0 * turns < results.statistics["steps"] < 9.0 * turns


class TestAntennas:
    CASE = "cubesat_antennas"
    SPRING, REST = 2e-5, 0.5  # N m/rad, rad

    def tape(self) -> tuple[float, float, float]:
        """Length (m), mass per length (kg/m) and flatwise stiffness (N m2) of an antenna."""
        section = section_of(self.CASE, "front")
        return 0.17, section.density * section.area, section.youngs_modulus * section.second_moments[0]

    def test_opening_is_that_of_one_hinge(self):
        """J phi'' = -k phi from a right angle to straight; the satellite, a thousand times as heavy, moves a little."""
        results = run(self.CASE, "run.duration=0.95")
        length, mass, _ = self.tape()
        rate = np.sqrt(self.SPRING / (mass * length**3 / 3.0))
        begin = 0.5 * np.pi + self.REST
        latched = {event.name: event.time for event in results.events}
        for side in ("front", "left", "back"):
            opening = latched[f"latches.{side} deployed"] - latched[f"latches.{side} stowed"]
            assert opening == pytest.approx(np.arccos(self.REST / begin) / rate, rel=1e-4)
            speed = np.abs(results.joints[f"{side} hinge"].rates).max()
            assert speed == pytest.approx(rate * np.sqrt(begin**2 - self.REST**2), rel=3e-3)

    def test_without_a_filter_auto_chooses_one_and_says_it(self):
        case = load_case(CASES / f"{self.CASE}.toml")
        system = System(case.model)
        with_it, words = with_method(system, case.run)
        assert (with_it.method, with_it.filter) == ("radau", 30.0)
        assert words.endswith("vibrations above 30 Hz are damped, not followed, as run.filter says")
        without, words = with_method(system, replace(case.run, filter=None))
        assert without.filter == pytest.approx(500.0 / 3.0)
        assert f"method {words}\n" in (ROOT / "docs" / "cases" / f"{self.CASE}.md").read_text()

    @pytest.mark.slow
    def test_bending_after_the_latches_in_few_steps(self):
        """The torque at the root is that of the first mode of a cantilever whose points begin to move with omega x."""
        results = run(self.CASE)
        assert results.statistics["steps"] < 2000
        length, mass, stiffness = self.tape()
        first = 1.8751040687**2 * np.sqrt(stiffness / (mass * length**4))
        for side in ("front", "left", "back", "right"):
            hinge = results.joints[f"{side} hinge"]
            wanted = 4.0 * stiffness * np.abs(hinge.rates).max() / (length * first)
            assert np.abs(hinge.torque[:, 2]).max() == pytest.approx(wanted, rel=0.03)
        assert np.abs(results.audit.angular_momentum).max() < 1e-9
        assert np.abs(results.audit.energy_error).max() < 1e-4 * results.audit.potential_energy[0]

    @pytest.mark.slow
    def test_a_filter_at_five_times_the_frequency_turns_the_satellite_alike(self):
        angles = [
            np.degrees(run(self.CASE, "run.duration=1.2", *words).bodies["hub"].euler_angles()[:, 0])
            for words in ((), ("run.filter=166.7",))
        ]
        assert np.abs(angles[0]).max() > 4e-3
        assert np.abs(angles[0] - angles[1]).max() < 1e-5
