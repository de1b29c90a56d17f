"""Rotors at rest on bearings: closed forms of discs, ROSS's example rotor, critical speeds and unbalance."""

import numpy as np
import pytest
from models import of_parts, refuses
from vibration.test_steady_or_not import ACROSS, ALONG, HEIGHT, MASS, STIFFNESS, disc

import femb
from femb.system.known_motions import known_motions
from femb.system.system import System

Z = (0.0, 0.0, 1.0)
M, J, JP = 2.0, 0.1, 0.2


def on_bearing(speed=0.0, tilt=(30.0, 40.0), **coefficients):
    """A disc whose centre is in a bearing, on torsion springs against tilts about x and y."""
    end, ground = femb.SpringEnd("disc"), femb.SpringEnd("ground")
    springs = [
        femb.TorsionSpringDamper(f"tilt{k}", end, ground, axis=np.eye(3)[k], stiffness=tilt[k]) for k in range(2)
    ]
    bearing = femb.Bearing("b", end, axis=Z, **({"rotor": "r"} if "speeds" in coefficients else {}), **coefficients)
    body = femb.RigidBody("disc", M, (J, J, JP))
    return of_parts(body, bearing, *springs, femb.Rotor("r", speed, Z, bodies=("disc",)))


def poles_of(mass, damping, stiffness):
    """Eigenvalues with positive imaginary parts of two equations."""
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-stiffness / mass, -damping / mass]])
    values = np.linalg.eigvals(A)
    return values[values.imag > 0.0]


def example(speed, elements=4, unbalances=None, size=1.0):
    """The rotor of ``ross.rotor_example()``, by ``elements`` a part of the shaft."""
    area, moment = np.pi * 0.05**2 / 4.0, np.pi * 0.05**4 / 64.0
    shear = 0.8863063567628116 * 8.12e10 * area  # Cowper's factor
    section = femb.Section(
        "steel", area=area, second_moments=(moment, moment), torsion_constant=2.0 * moment, density=7810.0,
        youngs_modulus=2.11e11, shear_modulus=8.12e10, shear_stiffness=(shear, shear),
    )  # fmt: skip
    free = femb.Attachment(at=(0, 0, 0), direction=Z)
    model = of_parts(femb.ExactBeam("shaft", section, 1.5, 6 * elements, start=free), title="ROSS's example")
    for name, node in (("disc1", 2), ("disc2", 4)):
        inertia = (0.17808929257067666, 0.17808929257067666, 0.32956362089137037)
        model.add(femb.RigidBody(name, 32.58972765304033, inertia, position=(0, 0, 0.25 * node)))
        model.add(femb.Fixed(f"{name}_fit", femb.JointEnd(beam="shaft", node=node * elements), femb.JointEnd(name)))
    for name, node in (("left", 0), ("right", 6)):
        end = femb.SpringEnd(beam="shaft", node=node * elements)
        model.add(femb.Bearing(name, end, axis=Z, kxx=1e6 * size, kyy=0.8e6 * size))
    parts = {"beams": ("shaft",), "bodies": ("disc1", "disc2")}
    model.add(femb.Rotor("rotor", speed, Z, **parts, unbalances=unbalances))
    return model


# Of ROSS 2.3.0, run_modal(speed) without the mode of torsion, rad/s: docs/howto/rotors.md.
ROSS = {
    0.0: [91.79655318, 96.28899977, 274.56594513, 296.50048532, 722.89787495, 765.00042917],
    100.0: [91.7867699, 96.29604015, 274.05989215, 296.99412467, 717.35166009, 770.20362427],
    400.0: [91.64347559, 96.39819497, 268.14211939, 302.72704412, 674.55046729, 808.00146974],
}


@pytest.mark.parametrize("speed", ROSS)
def test_frequencies_of_the_example_of_ross(speed):
    """ROSS's shaft has six elements, whose sixth frequency is 4e-4 high; the lowest four agree to 4e-5."""
    found = femb.modes(example(speed), 8, damped=True)
    transverse = [k for k, sense in enumerate(found.whirl.senses) if sense]
    rates = 2.0 * np.pi * found.frequencies[transverse][:6]
    np.testing.assert_allclose(rates[:4], ROSS[speed][:4], rtol=4e-5)
    np.testing.assert_allclose(rates[4:], ROSS[speed][4:], rtol=6e-4)


def test_a_bearing_of_cross_stiffness_and_damping():
    K, C = np.array([[200.0, 50.0], [-50.0, 300.0]]), np.array([[1.0, 0.2], [0.1, 2.0]])
    numbers = dict(zip(("kxx", "kxy", "kyx", "kyy", "cxx", "cxy", "cyx", "cyy"), [*K.ravel(), *C.ravel()], strict=True))
    found = femb.modes(on_bearing(speed=10.0, **numbers), damped=True)
    gyro = JP * 10.0 * np.array([[0.0, 1.0], [-1.0, 0.0]])
    wanted = np.concatenate([poles_of(M, C, K), poles_of(J, gyro, np.diag([30.0, 40.0]))])
    np.testing.assert_allclose(found.eigenvalues, wanted[np.argsort(np.abs(wanted))], rtol=1e-9, atol=1e-9)
    decrement = 2.0 * np.pi * -wanted.real / np.abs(wanted.imag)
    np.testing.assert_allclose(found.log_decrement, decrement[np.argsort(np.abs(wanted))], atol=1e-9)
    assert "log decrement" in found.table()


def on_two_bearings(speed=50.0, kind=femb.ExactBeam, **along):
    """A shaft with a disc at its end, in a plain and in a cross-coupled bearing, across the axis alone by default."""
    section, free = femb.Section("s", shape={"circle": 0.02}, material="steel A36"), femb.Attachment(direction=Z)
    model = of_parts(kind("shaft", section, 0.9, 12, start=free))
    model.add(femb.RigidBody("disc", 12.0, (0.06, 0.06, 0.11), position=(0, 0, 0.9)))
    model.add(femb.Fixed("fit", femb.JointEnd(beam="shaft", node=12), femb.JointEnd("disc")))
    ends = [femb.SpringEnd(beam="shaft", node=node) for node in (0, 8)]
    model.add(femb.Bearing("plain", ends[0], axis=Z, kxx=5e6, cxx=900.0, **along))
    model.add(femb.Bearing("cross", ends[1], axis=Z, kxx=6e6, kyy=3e6, kxy=8e5, kyx=-8e5, cxx=900.0))
    model.add(femb.Rotor("rotor", speed, Z, beams=("shaft",), bodies=("disc",)))
    return model


@pytest.mark.parametrize("kind", [femb.Beam, femb.ExactBeam])
def test_the_spin_and_the_slide_in_cross_coupled_bearings_are_known_motions(kind):
    """They are no modes, and whirls across the axis are those of a shaft that a spring along the axis holds."""
    found, held = (femb.modes(on_two_bearings(kind=kind, **along), 4, damped=True) for along in ({}, {"kzz": 1e6}))
    assert (found.rigid, found.joint, held.joint) == (0, 2, 1)
    assert found.whirl.senses == ("backward", "forward") * 2
    across = [k for k, sense in enumerate(held.whirl.senses) if sense]
    assert len(across) == 3
    np.testing.assert_allclose(found.eigenvalues[:3], held.eigenvalues[across], rtol=1e-9)
    assert found.precision.max() < 1e-11
    # a damper along the axis leaves the place there, and takes the speed: by the mass of all
    slide = femb.modes(on_two_bearings(kind=kind, czz=50.0), 1, damped=True).eigenvalues[0]
    mass = 12.0 + 0.9 * 7850.0 * np.pi * 0.02**2
    np.testing.assert_allclose(slide, -50.0 / mass, rtol=1e-3)


@pytest.mark.slow
def test_critical_speeds_in_cross_coupled_bearings():
    """Where the frequency of a whirl is that of the revolutions."""
    speeds = np.linspace(1.0, 400.0, 4)
    swept = femb.mode_sweep(on_two_bearings, speeds, 2, damped=True, parameter="rotors.rotor.speed")
    assert len(swept.critical) == 2
    for each in swept.critical:
        rates = femb.modes(on_two_bearings(each.speed), 2, damped=True).eigenvalues.imag
        np.testing.assert_allclose(rates[each.number - 1], each.speed, rtol=1e-6)


def on_unlike_bearings(speed):
    """A shaft with two discs whose first whirls are close at rest, by bearings of unlike stiffness and damping."""
    section, start = femb.Section("s", shape={"circle": 0.02}, material="steel A36"), femb.Attachment(direction=Z)
    model = of_parts(femb.ExactBeam("shaft", section, 1.2, 8, start=start))
    for name, node, mass, inertia in (("inner", 4, 20.0, (0.18, 0.18, 0.3)), ("outer", 8, 10.0, (0.06, 0.06, 0.1))):
        model.add(femb.RigidBody(name, mass, inertia, position=(0, 0, 0.15 * node)))
        model.add(femb.Fixed(f"{name}_fit", femb.JointEnd(beam="shaft", node=node), femb.JointEnd(name)))
    ends = [femb.SpringEnd(beam="shaft", node=node) for node in (0, 6)]
    table = {"speeds": [50.0, 300.0, 600.0], "kxx": [2e6, 3e6, 4e6], "kyy": [1e6, 2e6, 2.5e6], "cxx": [2e3, 1.5e3, 1e3]}
    model.add(femb.Bearing("left", ends[0], axis=Z, rotor="rotor", kzz=1e6, **table))
    model.add(femb.Bearing("right", ends[1], axis=Z, kxx=2e6, kyy=3e6, cxx=1e3))
    model.add(femb.Rotor("rotor", speed, Z, beams=("shaft",), bodies=("inner", "outer")))
    return model


@pytest.mark.parametrize("count", [2, *(pytest.param(each, marks=pytest.mark.slow) for each in (3, 4))])
def test_critical_speeds_of_a_close_pair_are_of_the_modes_there(count):
    """Lines at rest become whirls, either of which is like each line: critical speeds exchanged them."""
    speeds = np.linspace(1.0, 600.0, count)
    swept = femb.mode_sweep(on_unlike_bearings, speeds, 3, damped=True, parameter="rotors.rotor.speed")
    assert [each.label for each in swept.critical] == ["backward 1", "forward 1"]
    assert list(swept.labels).index("backward 1") + 1 == swept.critical[0].number
    for each in swept.critical:
        found = femb.modes(on_unlike_bearings(each.speed), 3, damped=True)
        k = each.number - 1
        np.testing.assert_allclose(found.eigenvalues[k].imag, each.speed, rtol=1e-8)
        assert each.label.startswith(found.whirl.senses[k])


def test_a_bend_below_a_hundredth_of_the_energy_is_no_whirl():
    """A bearing that leans by 0.03 rad bends the motion along the axis, which keeps its name over the speed."""
    end, ground, lean = femb.SpringEnd("body"), femb.SpringEnd("ground"), 0.03
    springs = [femb.TorsionSpringDamper(f"t{k}", end, ground, axis=np.eye(3)[k], stiffness=30.0) for k in range(2)]
    bearing = femb.Bearing("b", end, axis=(np.sin(lean), 0, np.cos(lean)), kxx=5e3, kzz=4e3)
    body = femb.RigidBody("body", M, (0.2, 0.2, 0.1))
    found = femb.modes(of_parts(body, bearing, *springs, femb.Rotor("r", 20.0, Z, bodies=("body",))), 5, damped=True)
    assert found.motions[2] == "motion along z"
    assert (found.whirl.senses[:3], "" in found.whirl.senses[3:]) == (("backward", "forward", ""), False)


def test_directions_of_a_bearing_are_those_of_its_reference():
    """kxx along the reference, which is turned by 30 degrees, and kzz along the axis."""
    turned = (np.cos(np.pi / 6), np.sin(np.pi / 6), 0.0)
    found = femb.modes(on_bearing(tilt=(1e3, 2e3), reference=turned, kxx=200.0, kyy=300.0, kzz=400.0), damped=True)
    np.testing.assert_allclose((2.0 * np.pi * found.frequencies[:3]) ** 2, [100.0, 150.0, 200.0], rtol=1e-9)
    assert found.motions[:3] == ("motion along (0.87, 0.5, 0)", "motion along (0.5, -0.87, 0)", "motion along z")


@pytest.mark.slow
def test_a_table_over_the_speed_passes_its_points_and_ends_with_them():
    speeds, kxx = [0.0, 100.0, 200.0], [200.0, 300.0, 500.0]
    for speed, wanted in ((-50.0, 200.0), (100.0, 300.0), (200.0, 500.0), (300.0, 500.0)):
        found = femb.modes(on_bearing(speed, speeds=speeds, kxx=kxx, kyy=1e5), 3, damped=True)
        assert np.min(np.abs(2.0 * np.pi * found.frequencies - np.sqrt(wanted / M))) < 1e-8
    between = femb.modes(on_bearing(50.0, speeds=speeds, kxx=kxx, kyy=1e5), 3, damped=True).frequencies
    rates = (2.0 * np.pi * between) ** 2 * M
    assert np.any((rates > 230.0) & (rates < 270.0))


@pytest.mark.slow
def test_a_turning_shaft_in_a_bearing_with_a_table():
    """Without a rotor the speed is that of the shaft: k/m of a disc that turns, in axes that turn with it."""
    for speed, wanted in ((50.0, 300.0), (100.0, 500.0)):
        disc = femb.RigidBody("disc", M, (J, J, JP), angular_velocity=(0, 0, speed))
        ends = {name: femb.SpringEnd("disc", at=(0, 0, z)) for name, z in (("up", 0.5), ("down", -0.5))}
        table = {"speeds": [50.0, 100.0], "kxx": [150.0, 250.0], "kzz": 70.0}
        bearings = [femb.Bearing(name, end, axis=Z, **table) for name, end in ends.items()]
        found = femb.modes(of_parts(disc, *bearings), damped=True, start="equilibrium")
        assert np.min(np.abs(found.whirl.frequencies - np.sqrt(wanted / M) / (2.0 * np.pi))) < 1e-7


def test_the_tangent_of_a_bearing_on_a_moving_housing():
    """Derivatives of the forces by velocities and small motions, beside differences."""
    from femb.layout.differences import tangent_by_differences

    housing = femb.RigidBody("housing", 3.0, (1.0, 2.0, 2.5), angular_velocity=(0.3, -0.2, 0.5))
    shaft = femb.RigidBody("shaft", M, (J, J, JP), position=(0.1, 0.2, 0.3), angular_velocity=(1.0, 2.0, 60.0))
    bearing = femb.Bearing(
        "b", femb.SpringEnd("shaft", at=(0, 0, 0.1)), axis=(0.1, 0.2, 1.0), speeds=[20.0, 90.0], kxx=[200.0, 400.0],
        kxy=30.0, kyx=[-20.0, 10.0], kyy=150.0, kzz=90.0, cxx=[1.0, 3.0], cxy=0.2, czz=0.5,
        housing=femb.SpringEnd("housing", at=(0.05, 0.1, 0.2)),
    )  # fmt: skip
    system = System(of_parts(housing, shaft, bearing))
    batch = next(each for each in system.batches if type(each).__name__ == "BearingBatch")
    (exact,), starts = batch.tangents(), batch.starts
    other = tangent_by_differences(batch, starts, (3, 3, 3, 3), system.layout)
    offset = np.arange(16).reshape(1, 4, 4) * 9
    stride = np.full((1, 4, 4), 3)
    found = []
    for term in (exact, other):
        D, K = np.zeros((2, 1, 144))
        reads = {"q": system.q0[None], "v": system.v0[None], "u": np.zeros((1, 0)), "a": np.zeros((1, system.n_v))}
        term.kernel(*term.kept, offset, stride, *(reads[word] for word in term.reads), D, K)
        found.append((D, K))
    for exact_matrix, differences in zip(*found, strict=True):
        np.testing.assert_allclose(exact_matrix, differences, rtol=1e-7, atol=1e-7 * np.abs(differences).max())
    momentum = np.zeros((1, system.n_v))
    term = batch.forces()[0]
    term.kernel(*term.kept, system.q0[None], system.v0[None], momentum)
    np.testing.assert_allclose(momentum[0, :3], -momentum[0, 6:9], rtol=1e-12)  # opposite forces


@pytest.mark.parametrize("rate", [20.0, 100.0, 300.0, 5000.0])
def test_frequencies_from_the_ground_of_what_turns(rate):
    A, h = ACROSS + MASS * HEIGHT**2, ALONG * rate
    root = np.sqrt(STIFFNESS * HEIGHT**2 / A + (0.5 * h / A) ** 2)
    whirl = femb.modes(disc(rate), damped=True, start="equilibrium").whirl
    wanted = {"forward": root + 0.5 * h / A, "backward": root - 0.5 * h / A}
    assert sorted(whirl.senses) == ["backward", "forward"]
    for sense, frequency in zip(whirl.senses, whirl.frequencies, strict=True):
        assert 2.0 * np.pi * frequency == pytest.approx(wanted[sense], rel=1e-7)


@pytest.mark.slow
def test_critical_speeds_of_a_disc_in_tilt():
    """Tilts with k = (J - J_p/n ..): W = sqrt(k/(J + J_p)) backward, none forward as J_p > J; translation sqrt(k/m)."""
    found = femb.mode_sweep(
        lambda speed: on_bearing(speed, tilt=(30.0, 30.0), kxx=200.0), np.linspace(0.0, 30.0, 7), 4, damped=True
    )
    speeds = [each.speed for each in found.critical]
    np.testing.assert_allclose(speeds, [10.0, 10.0, np.sqrt(30.0 / (J + JP))][: len(speeds)], rtol=1e-6)
    assert len(speeds) == 3
    assert "backward" in found.critical[0].label + found.critical[2].label
    assert "10 rad/s (95.493 rpm)" in found.table()


@pytest.mark.slow
def test_what_moves_along_the_axis_is_not_critical_and_a_rotor_has_the_inertia_of_its_parts():
    def model(speed):
        return on_bearing(speed, kxx=M * 10.0**2, kzz=M * 5.0**2)

    sweep = femb.mode_sweep(model, np.linspace(0.5, 15.0, 6), 5, damped=True, parameter="rotors.r.speed")
    np.testing.assert_allclose(sweep.frequencies[:, 0], 5.0 / (2.0 * np.pi), rtol=1e-9)
    speeds = [each.speed for each in sweep.critical]
    np.testing.assert_allclose(speeds[:2], 10.0, rtol=1e-6)
    assert all(speed > 9.0 for speed in speeds)
    system = System(model(100.0))
    mass, centre, inertia = system.mass_properties_at(system.q0)
    np.testing.assert_allclose(mass, M, rtol=1e-14)
    np.testing.assert_allclose(inertia, np.diag([J, J, JP]), atol=1e-13)
    np.testing.assert_allclose(centre, 0.0, atol=1e-15)


def test_unbalance_response_is_that_of_ross():
    """run_unbalance_response([2], [0.01], [0.3]) of ROSS 2.3.0 at the first disc, m and rad."""
    speeds = [10.0, 90.0, 210.0, 410.0]
    x = [1.43041441e-06, 7.67033583e-04, 6.56893813e-05, 3.46181804e-04]
    y = [1.57228566e-06, 2.92866096e-03, 2.76626765e-05, 3.10938765e-04]
    found = femb.unbalance_response(example(1.0, 1, [femb.Unbalance(0.01, body="disc1", phase=0.3)]), speeds)
    at = [found.outputs.index(f"bodies.disc1.position.{axis}") for axis in "xy"]
    np.testing.assert_allclose(found.amplitude[:, at], np.transpose([x, y]), rtol=6e-4)
    phases = [[0.3, 0.3, 0.3 - np.pi, 0.3 - np.pi], 0.3 + 0.5 * np.pi * np.array([-1.0, -1.0, 1.0, 1.0])]
    np.testing.assert_allclose(found.phase[:, at], np.transpose(phases), atol=1e-6)
    assert not set(found.shown) & {k for k, name in enumerate(found.outputs) if name.endswith(".z")}


def test_unbalance_lags_by_damping_at_either_sense_of_rotation_and_units_are_shown_apart():
    """m e W^2/(k - m W^2 + i c W); y follows x by a quarter of a turn along the rotation."""
    W, k, c, e = 15.0, 200.0, 3.0, 1e-3
    model = on_bearing(W, kxx=k, cxx=c)
    model.remove(model.rotors["r"])
    model.add(femb.Rotor("r", W, Z, bodies=("disc",), unbalances=[femb.Unbalance(M * e, body="disc")]))
    found = femb.unbalance_response(model, [W, -W], ["bodies.disc.position"]).values
    x = M * e * W**2 / (k - M * W**2 + 1j * c * W)
    np.testing.assert_allclose(found[:, :2], [[x, -1j * x], [x, 1j * x]], rtol=1e-9)
    apart = femb.UnbalanceResponse("r", np.ones(1), ("a", "b", "c"), ("m", "N", "N"), np.array([[1e-12, 1e3, 1e-8]]))
    assert apart.shown == [0, 1]


def test_unbalance_of_a_disc_in_a_run_is_the_steady_response():
    """m e W^2/(k - m W^2) of an undamped start on the steady motion, by its position along x."""
    speed, k, e = 15.0, 200.0, 1e-3
    model = on_bearing(speed, kxx=k)
    model.remove(model.rotors["r"])
    model.add(femb.Rotor("r", speed, Z, bodies=("disc",), unbalances=[femb.Unbalance(M * e, body="disc")]))
    steady = M * e * speed**2 / (k - M * speed**2)
    found = femb.unbalance_response(model, [speed], ["bodies.disc.position"])
    np.testing.assert_allclose(found.values[0, :2], [steady, -1j * steady], rtol=1e-9)
    model.remove(model.bodies["disc"])
    model.add(femb.RigidBody("disc", M, (J, J, JP), velocity=(0, speed * steady, 0), position=(0, 0, 0)))
    results = femb.simulate(model, duration=0.4, rtol=1e-9)
    time, natural = results.time, np.sqrt(k / M)
    wanted = steady * (np.cos(speed * time) - np.cos(natural * time))  # it starts at the centre
    np.testing.assert_allclose(results.bodies["disc"].position[:, 0], wanted, atol=1e-6 * abs(steady))
    np.testing.assert_allclose(results.springs["b"].displacement[:, 0], wanted, atol=1e-6 * abs(steady))


def test_refusals_name_the_entry():
    end = femb.SpringEnd("disc")
    refuses("no coefficient", femb.Bearing, "b", end, axis=Z)
    refuses("kxx", femb.Bearing, "b", end, axis=Z, kxx=[1.0, 2.0])
    refuses("3, as speeds has", femb.Bearing, "b", end, axis=Z, kxx=[1.0, 2.0], speeds=[0.0, 1.0, 2.0])
    refuses("along the axis", femb.Bearing, "b", end, axis=Z, kxx=1.0, reference=(0, 0, 2))
    refuses("no part", femb.Rotor, "r", 1.0, Z)
    model = on_bearing(1.0, kxx=1.0)
    model.add(femb.Bearing("c", end, axis=Z, kxx=1.0, rotor="none"))
    refuses(r"springs\.c\.rotor: got 'none'; there are: 'r'", femb.modes, model)
    refuses("no rotor has unbalances", femb.unbalance_response, on_bearing(1.0, kxx=1.0), [1.0])


@pytest.mark.parametrize("kyy", [200.0, 300.0])
def test_a_shaft_in_bearings_turns_freely_beside_its_unbalances(kyy):
    """About z at rest, also where the bearing is not alike in all directions: as modes have it."""
    model = of_parts(femb.RigidBody("disc", M, (J, J, JP)))
    for name, z in (("up", 0.5), ("down", -0.5)):
        model.add(femb.Bearing(name, femb.SpringEnd("disc", at=(0, 0, z)), axis=Z, kxx=200.0, kyy=kyy, kzz=70.0))
    model.add(femb.Rotor("r", 5.0, Z, bodies=("disc",), unbalances=[femb.Unbalance(1e-3, body="disc")]))
    (structure,) = known_motions(System(model))
    assert "small ones without loads: 1 rotation about (0, 0, 1)" in structure.text(np.zeros(3))
    assert femb.modes(model).joint == 1
