"""Equilibria with controllers, thrusters and springs that snap: closed forms, and what is left out is said."""

import numpy as np
import pytest
from scipy.optimize import brentq

import femb


def arm(name="arm", place=(0.0, 0.0, 0.0), stiffness=2.0):
    """A spring of 2 N m/rad, and a weight of 0.6 N m about the hinge under 1 m/s2."""
    ends = (
        femb.JointEnd("ground", at=place, axis=(0.0, 0.0, 1.0), reference=(1.0, 0.0, 0.0)),
        femb.JointEnd(name, axis=(0.0, 0.0, 1.0), reference=(1.0, 0.0, 0.0)),
    )
    return [
        femb.RigidBody(name, 1.5, (0.02, 0.05, 0.04), position=place, center_of_mass=(0.4, 0.0, 0.0)),
        femb.Revolute(f"{name}_root", *ends, start=0.0),
        femb.JointSpringDamper(f"{name}_spring", joint=f"{name}_root", stiffness=stiffness, damping=0.3),
        femb.JointMotor(f"{name}_motor", joint=f"{name}_root", force=0.0),
    ]


def law(gain, reads="arm", sets="arm", **options):
    angle = f"joints.{reads}_root.angle"
    return femb.PDController(
        f"law_{sets}", input=angle, rate=f"{angle} rate", proportional=gain, derivative=0.5,
        outputs=(f"loads.{sets}_motor.force",), **options,
    )  # fmt: skip


def of(*items, gravity=(0.0, -1.0, 0.0)):
    model = femb.Model(gravity=gravity)
    for item in items:
        model.add(item)
    return model


def angle_of(results, name="arm"):
    return results.joints[f"{name}_root"].coordinates[-1, 0]


class TestContinuousLaws:
    @pytest.mark.parametrize("gain", [0.5, 2.1, 30.0])
    def test_the_stiffness_of_a_law_is_part_of_the_tangent(self, gain):
        """Whatever the gain beside the spring, Newton's iteration is quadratic."""
        model, wanted = of(*arm(), law(gain)), brentq(lambda x: (2.0 + gain) * x + 0.6 * np.cos(x), -1.0, 0.0)
        results = femb.static(model, steps=2)
        assert angle_of(results) == pytest.approx(wanted, abs=1e-11)
        assert results.iterations.max() <= 6
        started = femb.simulate(model, duration=0.5, output_interval=0.5, start="equilibrium")
        np.testing.assert_allclose(started.joints["arm_root"].coordinates[:, 0], wanted, atol=1e-9)

    def test_a_gain_by_a_table_is_part_of_tangent_and_modes(self):
        """The gain 2 + 4 |a| over the angle a that the law also reads."""
        schedule = femb.GainSchedule(
            over="joints.arm_root.angle", at=(-1.0, 0.0, 1.0), gains={"proportional": [6.0, 2.0, 6.0]}
        )
        model = of(*arm(), law(None, schedule=schedule))
        wanted = brentq(lambda a: (4.0 + 4.0 * abs(a)) * a + 0.6 * np.cos(a), -1.0, 0.0)
        results = femb.static(model, steps=2)
        assert angle_of(results) == pytest.approx(wanted, abs=1e-11)
        assert results.iterations.max() <= 6
        stiffness = 4.0 + 8.0 * abs(wanted) - 0.6 * np.sin(wanted)
        found = femb.modes(model, 1, start="equilibrium").frequencies[0]
        assert found == pytest.approx(np.sqrt(stiffness / (0.04 + 1.5 * 0.4**2)) / (2.0 * np.pi), rel=1e-8)

    @pytest.mark.slow
    def test_laws_between_bodies_that_nothing_else_couples(self):
        """2 a = T - 3 b, 2 b = -3 a: a = -0.4 T, to which an iteration without the laws does not come."""
        items = [*arm(), *arm("other", (0.0, 3.0, 0.0)), law(3.0, reads="other"), law(3.0, sets="other")]
        results = femb.static(of(*items, femb.Load("T", body="arm", torque=(0.0, 0.0, 0.1)), gravity=(0, 0, 0)))
        assert angle_of(results) == pytest.approx(-0.04, abs=1e-11)
        assert angle_of(results, "other") == pytest.approx(0.06, abs=1e-11)
        assert results.iterations.max() <= 4

    def satellite(self, **load):
        hub = femb.RigidBody("hub", 100.0, (10.0, 12.0, 14.0))
        torquer = femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body")
        attitude = femb.PDController(
            "attitude", attitude="bodies.hub", rate="bodies.hub", proportional=(1.0, 1.0, 1.0),
            derivative=(5.0, 5.0, 5.0), outputs=("loads.torquer.torque",),
        )  # fmt: skip
        return of(hub, torquer, attitude, femb.Load("disturb", body="hub", **load), gravity=(0, 0, 0))

    @pytest.mark.slow
    def test_a_satellite_that_its_law_alone_holds(self):
        """The error of a law of quaternions is the angle up to its cube over 24."""
        model = self.satellite(torque=(0.02, 0.0, 0.0))
        results = femb.static(model)
        started = femb.simulate(model, duration=10.0, output_interval=10.0, start="equilibrium")
        for each in (results, started):
            turn = 2.0 * np.arcsin(each.bodies["hub"].quaternion[-1, 1])
            assert turn == pytest.approx(0.02, rel=1e-4)

    def test_what_its_law_does_not_hold_drifts(self):
        with pytest.raises(femb.SolveError, match="'hub' drifts: nothing holds it"):
            femb.static(self.satellite(force=(1.0, 0.0, 0.0)))


class TestLeftOut:
    @pytest.mark.parametrize(
        ("item", "said"),
        [
            (law(3.0, period=0.05), "the commands of controllers.law_arm, which samples: an equilibrium leaves it out"),
            (
                femb.Thruster("t", 1.0, (0.0, 1.0, 0.0), body="arm", at=(0.8, 0.0, 0.0), pulses=((0.0, 9.0),)),
                "the thrust of thrusters.t, whose valve opens at the start: an equilibrium leaves it out",
            ),
        ],
    )
    def test_what_acts_beside_an_equilibrium_is_said(self, item, said):
        model = of(*arm(), item)
        assert said in femb.static(model, steps=1).message
        with pytest.warns(femb.FembWarning, match=said):
            femb.simulate(model, duration=0.1, output_interval=0.1, start="equilibrium")

    def test_valves_that_open_later_and_continuous_laws_are_not(self):
        later = femb.Thruster("t", 1.0, (0.0, 1.0, 0.0), body="arm", pulses=((1.0, 9.0),))
        assert "leaves it out" not in femb.static(of(*arm(), later, law(1.0)), steps=1).message


class TestSnaps:
    def tape(self):
        """Folds beyond 0.1 rad onto a curve of 0.02 N m + 0.05 N m/rad, beside a spring of 0.5 N m/rad."""
        snap = femb.Snap(at=0.1, back=0.01, coordinates=(0.0, 2.0), forces=(0.02, 0.12))
        tape = femb.JointCurve(
            "tape", joint="arm_root", coordinates=(-0.1, 0.0, 0.1), forces=(-0.3, 0.0, 0.3), snaps=[snap],
            interpolation="linear", damping=0.1,
        )  # fmt: skip
        return of(*arm(stiffness=0.5), tape, femb.Load("T", body="arm", torque=(0.0, 0.0, 0.4)), gravity=(0, 0, 0))

    def test_a_spring_snaps_on_a_load_path_and_at_the_start(self):
        results = femb.static(self.tape(), steps=6)
        curve = results.springs["tape"].snapped
        loads = 0.4 * results.load_factor
        angles = np.where(loads > 0.35, (loads - 0.02) / 0.55, loads / 3.5)
        np.testing.assert_array_equal(curve, loads > 0.35)
        np.testing.assert_allclose(results.joints["arm_root"].coordinates[:, 0], angles, atol=1e-11)
        started = femb.simulate(self.tape(), duration=1.0, output_interval=0.5, start="equilibrium")
        np.testing.assert_allclose(started.joints["arm_root"].coordinates[:, 0], 0.38 / 0.55, atol=1e-9)
        assert not started.events

    def test_a_path_along_an_arc_says_where_it_is_beyond(self):
        results = femb.static(self.tape(), steps=4, arc_length=True)
        assert "beyond where springs.tape snaps" in results.message
