"""Thompson's matrices of Models: table 2 of joints, Ha to H2 of trees, implicit forms, the aircraft's nine blocks; and
the energy matrix of trees."""

import numpy as np
import pytest
from checkout import ROOT
from formulations.test_reduced import loaded, wheel
from models import of_parts, refuses
from oracles.random_trees import random_model
from shared_runs import said

import femb
from femb.linear import OperatingPoint, linearize
from femb.numerics import euler, rotations
from femb.system.system import System
from femb.thompson import Root, energy_matrix, joint_matrices, nine_blocks, reduced_matrices, small_motion
from femb.vibration.completion import system_of

CASES = ("thompson_pendulum", "thompson_satellite", "thompson_connected")


def close(got, wanted, tolerance):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * max(1.0, np.abs(wanted).max(initial=0.0)))


def identities(found, tolerance=1e-12):
    """What Ha, Hb, H1, H2 and Phi_q have to do with each other."""
    both = np.vstack([found.Phi_q, found.H2_inverse]) @ np.hstack([found.H1, found.H2])
    close(both, np.eye(len(both)), tolerance)
    close(found.Phi_q @ found.H2, 0.0, tolerance * np.abs(found.H2).max())
    close(found.Ha @ found.H2, found.Hb, tolerance)
    close(found.Ha @ found.H2_rate, found.Hb_rate - found.Ha_rate @ found.H2, tolerance)


@pytest.mark.parametrize(
    "kind",
    [femb.Spherical, femb.Perpendicular, femb.Parallel, femb.Universal, femb.Revolute],
    ids=lambda each: each.kind,
)
def test_table_2_of_a_model_s_joints(kind):
    """The rows are the System's but for the sign of points; velocities and accelerations are in the span."""
    rng = np.random.default_rng(3)
    model = loaded(rng, 3, (kind,))
    system = System(model, assemble=True)
    v = np.zeros(system.n_v)
    J = system.jacobian(system.inputs_at(0.0, system.q0, v), system.q0).toarray()
    v = rng.standard_normal(system.n_v)
    v -= np.linalg.pinv(J) @ (J @ v)
    u = system.inputs_at(0.0, system.q0, v)
    a = system.acceleration(u, system.q0, v)
    for name, where in system.layout.joints.items():
        found = joint_matrices(model, name, q=system.q0, v=v)
        identities(found)
        assert len(found.speeds) == found.H2.shape[1] == 12 - len(found.Phi_q)
        rates = np.zeros(12)
        rows = np.zeros((len(where.rows), 12))
        for part, end in ((slice(0, 6), where.first), (slice(6, 12), where.second)):
            j = system.layout.frame_v[end.frame]
            if j >= 0:
                rates[part] = a[j : j + 6]
                rows[:, part] = J[system.layout.row_c[where.rows], j : j + 6]
        moving = np.abs(rows).max(axis=0) > 0.0
        sign = np.where([(spec[0] == "point") for spec in model.tables["joints"][name].rows], -1.0, 1.0)[:, None]
        close(found.Phi_q[:, moving], (sign * rows)[:, moving], 1e-12)
        speeds = found.H2_inverse @ found.velocity
        close(found.H2 @ speeds, found.velocity, 1e-12)
        left = rates - found.H2_rate @ speeds  # H2 u'
        close(found.H2 @ (found.H2_inverse @ left), left, 1e-10)


@pytest.mark.parametrize("name", CASES)
def test_matrices_and_forms_of_the_examples(name):
    """Identities; (15), (19), (20), (21) against accelerations and reactions with multipliers, at two states."""
    model = femb.load_case(ROOT / "cases" / f"{name}.toml").model
    start = reduced_matrices(model)
    rng = np.random.default_rng(1)
    off = {each: value + 0.2 for each, value in zip(start.coordinates, start.q, strict=True) if "joints" in each}
    for found in (start, reduced_matrices(model, q=off, u=rng.standard_normal(len(start.u)))):
        identities(found)
        assert found.M.shape == (len(found.velocities),) * 2
        assert found.Phi_q.shape == (len(found.rows), len(found.velocities))
        first, second = found.implicit(1).solution(), found.implicit(2).solution()
        for word, wanted in (("velocity_rates", found.velocity_rates()), ("speed_rates", found.speed_rates())):
            close(first[word], wanted, 1e-10)
            close(second[word], wanted, 1e-10)
        close(second["multipliers"], found.constraint_vector(), 1e-10)
        mass = found.M @ found.velocity_rates() + found.Phi_q.T @ found.constraint_vector()
        close(mass, found.Q, 1e-11)
    system = System(model)
    u = system.inputs_at(0.0, system.q0, system.v0)
    wanted, multipliers = system.forward(u, system.q0, system.v0)
    close(start.velocity_rates(), wanted, 1e-11)
    close(start.constraint_vector(), multipliers, 1e-10)


def test_constraint_vector_is_the_reaction_in_results():
    """A hinge's force by its rows of points, and by the results of a run in velocity form."""
    model = wheel(rates=3.0)
    found = reduced_matrices(model)
    results = femb.simulate(model, duration=1e-3, output_interval=1e-3)
    rows = [k for k, label in enumerate(found.rows) if label.startswith("joints.pin") and "position" in label]
    assert len(rows) == 3
    system = System(model)
    end = system.layout.joints["pin"].first
    i = system.layout.frame_q[end.frame] + 3
    turn = rotations.multiply(system.q0[i : i + 4], end.rotation)
    force = rotations.rotate(turn, results.joints["pin"].force[0])
    # the row is second less first point: its multiplier is the force on the first body
    close(-found.constraint_vector()[rows], force, 1e-9)


def test_roots_and_what_is_refused():
    model = femb.load_case(ROOT / "cases" / "thompson_satellite.toml").model
    other = reduced_matrices(model, root=Root("center_of_mass", velocity="body"))
    close(other.velocity_rates(), reduced_matrices(model).velocity_rates(), 1e-10)
    refuses(r"q: got 'wing', wanted names of bodies\.bus\.x, .*quaternion_0", reduced_matrices, model, q={"wing": 1.0})
    refuses(r"u: got .*, wanted 12 numbers: bodies\.bus\.x rate", reduced_matrices, model, u=[1.0])
    refuses("got form 3, wanted 1 or 2", reduced_matrices(model).implicit, 3)
    refuses("got joint 'none', wanted one of", joint_matrices, model, "none")
    driven = wheel()
    driven.add(femb.JointDriver("motor", joint="axle", motion=lambda t: (0.0, 0.0, 0.0)))
    refuses(r"motor.* prescribes motions", reduced_matrices, driven)
    slider = femb.Model()
    slider.add(femb.RigidBody("block", mass=1.0, inertia=1.0))
    slider.add(femb.Prismatic("rail", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("block", axis=(1, 0, 0))))
    refuses(r"joints\.rail: is prismatic; table 2 has spherical", joint_matrices, slider, "rail")


# The aircraft


def test_nine_blocks_are_the_printed_ones():
    """At a random unsteady state, with the derivatives of the case's air: each block as it is printed."""
    model = femb.load_case(ROOT / "cases" / "thompson_aircraft.toml").model
    system = System(model)
    rng = np.random.default_rng(0)
    q = np.append(rng.standard_normal(3), rotations.normalise(rng.standard_normal(4)))
    V = system.v0 + np.append(5.0 * rng.standard_normal(3), rng.standard_normal(3))
    found = nine_blocks(model, q=q, v=V)
    assert not found.steady
    air, body = model.loads["air"], model.bodies["aircraft"]
    R = rotations.rotation_matrix(q[3:])
    v, w = R.T @ V[:3], V[3:]
    close(found.velocity, v, 1e-14)
    m, J, tilde = body.mass, body.inertia, rotations.cross_matrix
    weight = R.T @ (m * model.gravity)
    close(
        found.left,
        np.block(
            [[m * np.eye(3), np.zeros((3, 6))], [np.zeros((3, 3)), J, np.zeros((3, 3))], [np.zeros((3, 6)), found.B]]
        ),
        1e-12,
    )
    close(found.block(0, 0), np.array(air.force_by_velocity) - m * tilde(w), 1e-12)
    close(found.block(0, 1), m * tilde(v), 1e-12)
    close(found.block(0, 2), tilde(weight) @ found.B, 1e-12)
    close(found.block(1, 0), np.array(air.torque_by_velocity), 1e-12)
    close(found.block(1, 1), np.array(air.torque_by_angular_velocity) - (tilde(w) @ J - tilde(J @ w)), 1e-12)
    close(found.block(1, 2), np.zeros((3, 3)), 1e-9)
    close(found.block(2, 0), np.zeros((3, 3)), 1e-14)
    close(found.block(2, 1), np.eye(3), 1e-14)
    # roll and pitch: w = (phi' - psi' sin theta, ...), and -(B theta')_theta by differences
    angles, rates = found.angles, found.angle_rates
    close(found.B @ rates, w, 1e-12)
    phi, theta = angles[:2]
    B = [
        [1, 0, -np.sin(theta)],
        [0, np.cos(phi), np.sin(phi) * np.cos(theta)],
        [0, -np.sin(phi), np.cos(phi) * np.cos(theta)],
    ]
    close(found.B, np.array(B), 1e-12)

    def spin(x):
        return (
            euler.euler_axes(x[::-1])[:, ::-1] @ rates if False else euler.euler_axes(x[::-1], "zyx")[:, ::-1] @ rates
        )

    h = 1e-3
    for k in range(3):
        e = h * np.eye(3)[k]
        slope = sum(c * (spin(angles + n * e) - spin(angles - n * e)) for n, c in ((1, 45.0), (2, -9.0), (3, 1.0))) / (
            60 * h
        )
        close(found.block(2, 2)[:, k], -slope, 1e-10)


def test_nine_blocks_are_written(tmp_path):
    found = nine_blocks(femb.load_case(ROOT / "cases" / "thompson_aircraft.toml").model)
    with np.load(found.write(tmp_path / "folder" / "blocks.npz")) as file:
        np.testing.assert_array_equal(file["right"], found.right)
        assert tuple(file["names"]) == found.names
    refuses(r"must be \.npz", found.write, tmp_path / "blocks.mat", error=femb.ResultError)


def test_the_command_gives_the_nine_blocks_about_the_state_it_linearises(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = str(ROOT / "cases" / "thompson_aircraft.toml")
    done = said("linearize", case, "--blocks")
    found = nine_blocks(femb.load_case(case).model)
    assert found.table() in done
    with np.load("out/thompson_aircraft/blocks.npz") as written:
        np.testing.assert_array_equal(written["right"], found.right)
    refused = said("linearize", ROOT / "cases" / "thompson_pendulum.toml", "--blocks", code=2)
    assert "one free rigid body" in refused


def test_nine_blocks_have_the_aircraft_s_eigenvalues():
    """In level flight: of all twelve of the state space but the three of the position, which nothing depends on."""
    model = femb.load_case(ROOT / "cases" / "thompson_aircraft.toml").model
    system = System(model)
    q, v = np.array([0, 0, -1000.0, 1, 0, 0, 0]), np.array([53.6, 0, 0, 0, 0, 0])
    found = nine_blocks(model, q=q, v=v)
    assert found.steady
    space = found.state_space()
    wanted = np.array([-0.008941, -0.016277 + 0.213788j, -0.486006 + 2.334844j, -2.041223 + 2.963513j, -8.433046])
    values = space.eigenvalues()
    for value in wanted:
        assert np.abs(values - value).min() < 1e-6
    assert np.sum(np.abs(values) < 1e-9) == 1  # the yaw
    whole = linearize(OperatingPoint.of(system_of(model), q, v)).eigenvalues()
    for value in values:
        assert np.abs(whole - value).min() < 1e-7
    assert space.states[0] == "bodies.aircraft.velocity_x"
    assert "force: left, then by v, w, angles" in found.table()
    assert system.n_v == 6


def test_nine_blocks_refuse_what_they_have_no_place_for():
    refuses("is for one free rigid body, got wheel, bob; use linearize", nine_blocks, wheel())
    held = of_parts(
        femb.RigidBody("plane", mass=1.0, inertia=1.0),
        femb.SpringDamper("tether", femb.SpringEnd("ground"), femb.SpringEnd("plane", at=(0, 0, 1)), stiffness=3.0),
    )
    refuses(r"forces on bodies\.plane depend on its position", nine_blocks, held)
    model = femb.load_case(ROOT / "cases" / "thompson_aircraft.toml").model
    locked = rotations.normalise(np.array([1.0, 0.0, 1.0, 0.0]))
    refuses("Euler angles 'zyx' are locked", nine_blocks, model, q=np.append(np.zeros(3), locked))
    assert nine_blocks(model, q=np.append(np.zeros(3), locked), sequence="xzy").left.shape == (9, 9)
    refuses(r"nine blocks: got block \(3, 0\)", nine_blocks(model).block, 3, 0)


# The energy matrix


@pytest.mark.parametrize("ground", [True, False])
def test_energy_matrix_is_twice_the_kinetic_energy(ground):
    """By composite inertias against the System's energy, and against H2^T M H2 on the ground."""
    model = random_model(np.random.default_rng(4), 5, (femb.Revolute, femb.Universal, femb.Prismatic), ground)
    model.gravity = np.zeros(3)
    found = energy_matrix(model)
    close(found.matrix, found.matrix.T, 1e-14)
    reduced = reduced_matrices(model)
    wanted = reduced.reduced()[0]
    if ground:
        order = [reduced.speeds.index(f"joints.{name} rate") for name in found.names]
        close(found.matrix, wanted[np.ix_(order, order)], 1e-12)
        x = np.random.default_rng(0).standard_normal(len(found.names))
        u = np.zeros(len(x))
        u[order] = x
        assert found.kinetic_energy(x) == pytest.approx(0.5 * u @ wanted @ u, rel=1e-12)
        close(found.momenta(x), found.matrix @ x, 1e-15)
        names = dict(zip(found.names, found.q + 0.3, strict=True))
        moved, at = energy_matrix(model, names), {f"joints.{name}": x for name, x in names.items()}
        wanted = reduced_matrices(model, q=at).reduced()[0]
        close(moved.matrix, wanted[np.ix_(order, order)], 1e-12)
        assert np.abs(moved.matrix - found.matrix).max() > 0.01
        return
    # the same eigenvalues of the hinges' part, whatever the base is described by: Schur's complement of the base
    assert found.names[:6][0].endswith("turn_x")
    free = found.matrix[6:, 6:] - found.matrix[6:, :6] @ np.linalg.solve(found.matrix[:6, :6], found.matrix[:6, 6:])
    order = [reduced.speeds.index(f"joints.{name} rate") for name in found.names[6:]]
    other = [k for k in range(len(wanted)) if k not in order]
    schur = wanted[np.ix_(order, order)] - wanted[np.ix_(order, other)] @ np.linalg.solve(
        wanted[np.ix_(other, other)], wanted[np.ix_(other, order)]
    )
    close(free, schur, 1e-11)


def test_energy_matrix_to_the_orders_of_small_coordinates():
    """Off by third order in the small angle; and what small_motion makes of it is the flap of a turning blade."""
    rotor = femb.Model("rotor")
    rotor.add(femb.RigidBody("hub", 10.0, (1.0, 1.0, 2.0)))
    rotor.add(femb.RigidBody("blade", 12.0, (0.1, 16.0, 16.1), center_of_mass=(2.0, 0, 0)))
    rotor.add(femb.Revolute("mast", femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("hub"), rates=30.0))
    hinge = femb.JointEnd("hub", at=(0.3, 0, 0), axis=(0, -1, 0), reference=(1, 0, 0))
    rotor.add(femb.Revolute("flap", hinge, femb.JointEnd("blade", reference=(1, 0, 0))))
    errors = []
    for angle in (0.02, 0.01):
        at = {"flap.angle": angle}
        full, near = energy_matrix(rotor, at), energy_matrix(rotor, at, small=["flap.angle"])
        rates = np.array([30.0, angle])
        errors.append(abs(full.kinetic_energy(rates) - near.kinetic_energy(rates)))
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.05)  # an even function: of fourth order
    flap = small_motion(rotor, ["flap.angle"])
    wanted = 30.0 * np.sqrt(1.0 + 0.3 * 24.0 / 64.0)
    assert np.abs(flap.eigenvalues().imag).max() == pytest.approx(wanted, rel=1e-12)
    refuses("hinge", energy_matrix, rotor, {"lag.angle": 0.1})


def test_energy_matrix_refuses_beams():
    model = femb.Model()
    section = femb.Section("s", 1e-4, (1e-8, 1e-8), 1e-8, 1000.0, 1e9, 4e8)
    model.add(femb.Beam("arm", section, 1.0, 1, start=femb.Attachment(body="ground", direction=(1, 0, 0))))
    model.add(femb.Load("push", beam="arm", force=(0, 0, 1.0)))
    refuses(r"beams\.arm bends", energy_matrix, model)
