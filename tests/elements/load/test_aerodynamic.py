"""Aerodynamic loads: their force, their power, their tangents, and the linear equation of an aircraft."""

import numpy as np
import pytest
from models import of_parts, refusals, refuses
from oracles.finite_differences import INERTIA, bodies, only, random_state

import femb
from femb import AerodynamicLoad, Airload, Beam, Model, RigidBody, Section, SolveError, Tolerances
from femb.elements.load.aerodynamic import AerodynamicBatch
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix as tilde
from femb.profiles import Versine
from femb.system.system import System

RNG = np.random.default_rng(3)
COEFFICIENTS = {
    "velocity": (2.0, -0.3, 0.4),
    "angular_velocity": (0.1, 0.2, -0.3),
    **{word: RNG.standard_normal(3) for word in ("force", "torque")},
    **{
        f"{load}_by_{state}": RNG.standard_normal((3, 3))
        for load in ("force", "torque")
        for state in ("velocity", "angular_velocity")
    },
}
POINT, WIND = (0.3, -0.5, 0.2), (1.0, 2.0, -0.5)
DOWN = np.array([0.2, -0.4, 0.9])  # inertial


def rotation(p):
    """R of a quaternion, any number type; complex too."""
    w, x, y, z = p
    R = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.array(R) / (w * w + x * x + y * y + z * z)


def law(t, velocity, omega, attitude):
    """A load that is not linear, and sees the attitude: (6,) for any number type."""
    down = rotation(attitude).T @ DOWN
    force = -(1.0 + t) * np.sum(velocity * velocity) * velocity + np.cross(omega, down)
    torque = np.cross(velocity, omega) * down[2] + omega * velocity[0]
    return np.concatenate([force, torque])


def law_with_derivatives(t, velocity, omega, attitude):
    """The same with its derivatives, by hand."""
    value = law(t, velocity, omega, attitude)
    down = rotation(attitude).T @ DOWN
    turning = tilde(down)  # d(R^T DOWN) for a turn
    by_velocity = np.vstack(
        [
            -(1.0 + t) * (velocity @ velocity * np.eye(3) + 2.0 * np.outer(velocity, velocity)),
            -tilde(omega) * down[2] + np.outer(omega, [1.0, 0.0, 0.0]),
        ]
    )
    by_omega = np.vstack([-tilde(down), tilde(velocity) * down[2] + velocity[0] * np.eye(3)])
    by_rotation = np.vstack([tilde(omega) @ turning, np.outer(np.cross(velocity, omega), turning[2])])
    return Airload(value[:3], value[3:], by_velocity, by_omega, by_rotation)


def linear(t, velocity, omega, attitude):
    """The load of the coefficients."""
    c = COEFFICIENTS
    change = velocity - np.array(c["velocity"]), omega - np.array(c["angular_velocity"])
    return np.concatenate(
        [
            c[load] + c[f"{load}_by_velocity"] @ change[0] + c[f"{load}_by_angular_velocity"] @ change[1]
            for load in ("force", "torque")
        ]
    )


LOADS = {"coefficients": (COEFFICIENTS, linear), "law": ({"law": law_with_derivatives}, law)}
every_load = pytest.mark.parametrize("how", LOADS)


def generalized(how, t, q, v, at=POINT, wind=WIND):
    """Force (inertial) and torque about the reference point (body axes) of a body q (7,), v (6,), independently."""
    R = rotation(q[3:])
    through = R.T @ (v[:3] - np.array(wind)) + np.cross(v[3:], at)
    value = LOADS[how][1](t, through, v[3:], q[3:])
    return np.concatenate([R @ value[:3], value[3:] + np.cross(at, value[:3])])


@every_load
def test_force_and_tangents(how):
    """Residual and tangents of a body against an independent formula and its complex steps."""
    system = only(bodies(AerodynamicLoad("air", body="b", at=POINT, wind=WIND, **LOADS[how][0])), AerodynamicBatch)
    frame = system.layout.bodies["b"]
    i, j = system.layout.frame_q[frame], system.layout.frame_v[frame]
    rng = np.random.default_rng(1)
    for _ in range(4):
        q, v, a, _ = random_state(system, rng)
        u = system.inputs_at(0.4, q, v)
        body_q, body_v = q[i : i + 7], v[j : j + 6]
        residual = system.residual(u[None], q[None], v[None], a[None])[0]
        wanted = generalized(how, 0.4, body_q, body_v)
        np.testing.assert_allclose(residual[j : j + 6], -wanted, rtol=0.0, atol=1e-13 * np.abs(wanted).max())
        assert not np.delete(residual, np.arange(j, j + 6)).any()
        h = 1e-30
        by_v = [generalized(how, 0.4, body_q, body_v + 1j * h * e).imag / h for e in np.eye(6)]
        by_q = []
        for e in np.eye(system.n_v)[j : j + 6]:
            change = system.rates(q[None], e[None])[0][i : i + 7]
            by_q.append(generalized(how, 0.4, body_q + 1j * h * change, body_v).imag / h)
        for data in (system.tangent(u, q, v, a), system.matrices(u, q, v)[1:]):
            for got, columns in zip(data, (by_v, by_q), strict=True):
                matrix = system.pattern.to_csc(got).toarray()
                scale = np.abs(columns).max()
                np.testing.assert_allclose(
                    matrix[j : j + 6, j : j + 6], -np.array(columns).T, rtol=0.0, atol=2e-13 * scale
                )
                matrix[j : j + 6, j : j + 6] = 0.0
                assert not matrix.any()


def test_law_in_the_test_has_the_derivatives_it_says():
    rng = np.random.default_rng(5)
    velocity, omega, p = rng.standard_normal(3), rng.standard_normal(3), rotations.normalise(rng.standard_normal(4))
    found = law_with_derivatives(0.4, velocity, omega, p)
    h = 1e-30
    steps = 1j * h * np.eye(3)
    for got, moved in (
        (found.by_velocity, [law(0.4, velocity + e, omega, p) for e in steps]),
        (found.by_angular_velocity, [law(0.4, velocity, omega + e, p) for e in steps]),
        (found.by_rotation, [law(0.4, velocity, omega, p + rotations.quaternion_rate(p, e.imag) * 1j) for e in steps]),
    ):
        np.testing.assert_allclose(got, np.array(moved).imag.T / h, atol=1e-14)


def test_mass_centre_by_default():
    """Without a point, it acts at the mass centre, whose velocity counts."""
    centre = (0.2, 0.1, -0.4)
    residuals = []
    for at in (None, centre):
        model = Model("one")
        model.add(RigidBody("b", mass=1.0, inertia=INERTIA, center_of_mass=centre))
        model.add(AerodynamicLoad("air", body="b", at=at, **COEFFICIENTS))
        system = System(model)
        q, v, a, _ = random_state(system, np.random.default_rng(0))
        u = system.inputs_at(0.0, q, v)
        residuals.append(system.residual(u[None], q[None], v[None], a[None])[0])
    np.testing.assert_array_equal(*residuals)


def test_on_a_beam_node():
    """In the axes of the node's section, which are turned against those of its frame where it is a hub's."""
    section = Section("s", 1e-3, (2e-8, 1e-8), 1e-8, 1e3, 1e7, 4e6)
    model = Model("wing")
    hub = model.add(RigidBody("hub", mass=1.0, inertia=INERTIA, euler_angles=(0.3, -0.2, 0.5)))
    start = hub.at((0.1, 0.2, 0.3), direction=(0.3, 1.0, 0.4))
    model.add(Beam("wing", section=section, length=1.0, elements=2, start=start))
    model.add(AerodynamicLoad("root", beam="wing", node=0, **COEFFICIENTS))
    model.add(AerodynamicLoad("tip", beam="wing", node=-1, law=law_with_derivatives))
    system = only(model, AerodynamicBatch)
    q, v, a, _ = random_state(system, np.random.default_rng(2))
    u = system.inputs_at(0.0, q, v)
    state = system.state(0.0, q, v)
    wanted = np.zeros(system.n_v)
    for node, how in ((0, "coefficients"), (-1, "law")):
        at = state.beams["wing"].nodes[node]
        station = system.layout.beams["wing"].stations[node]
        R, j = rotation(at.quaternion), system.layout.frame_v[station.frame]
        value = LOADS[how][1](0.0, R.T @ at.velocity, at.angular_velocity, at.quaternion)
        axes = rotations.rotation_matrix(station.rotation)
        wanted[j : j + 3] += R @ value[:3]
        wanted[j + 3 : j + 6] += axes @ value[3:] + np.cross(station.offset, axes @ value[:3])
    residual = system.residual(u[None], q[None], v[None], a[None])[0]
    np.testing.assert_allclose(residual, -wanted, rtol=0.0, atol=1e-12)
    # tangents by differences of the whole, inputs too
    damping, stiffness = (system.pattern.to_csc(x).toarray() for x in system.tangent(u, q, v, a))

    def at_state(q, v):
        return system.residual(system.inputs_at(0.0, q, v)[None], q[None], v[None], a[None])[0]

    for x in np.random.default_rng(3).standard_normal((3, system.n_v)):
        dq, h = system.rates(q[None], x[None])[0], 1e-4
        for matrix, step in ((stiffness, (dq, 0.0 * v)), (damping, (0.0 * q, x))):
            two = [at_state(q + e * step[0], v + e * step[1]) for e in (h, -h, 2 * h, -2 * h)]
            slope = (8.0 * (two[0] - two[1]) - (two[2] - two[3])) / (12.0 * h)
            np.testing.assert_allclose(matrix @ x, slope, rtol=0.0, atol=1e-9 * np.abs(slope).max())


@every_load
@pytest.mark.parametrize("method", ["radau", "rk"])
def test_power_balance(how, method):
    """The energy a run gains is the work of the load, and its power that of force and torque at the point."""
    model = Model("flyer", gravity=(0, 0, -9.81))
    model.add(
        RigidBody(
            "b", mass=8.0, inertia=10.0 * INERTIA, center_of_mass=(0.1, 0.0, 0.2), velocity=(1, 0.3, 0),
            angular_velocity=(0.3, -0.2, 0.4),
        ),
    )  # fmt: skip
    words = LOADS[how][0]
    model.add(AerodynamicLoad("air", body="b", at=POINT, wind=(0.1, 0.0, 0.0), profile=Versine(0.5), **words))
    atol = Tolerances(position=1e-9, quaternion=1e-9)
    results = femb.simulate(model, duration=0.8, output_interval=0.1, method=method, rtol=1e-9, atol=atol)
    audit = results.audit
    change = np.abs(audit.work[-1] - audit.work[0])
    assert change > 0.1
    assert np.abs(audit.energy_error).max() < 1e-8 * audit.kinetic_energy.max() < 1e-4 * change
    system = System(model)
    q, v, _, _ = random_state(system, np.random.default_rng(4))
    u = system.inputs_at(0.25, q, v)
    factor = Versine(0.5)(0.25)
    wanted = factor * generalized(how, 0.25, q, v, wind=(0.1, 0.0, 0.0)) @ v
    np.testing.assert_allclose(system.power(u[None], q[None], v[None])[0], wanted, rtol=1e-12)


# The linear equation of an aircraft: Thompson, AIAA 2011-6277

NAVION = {
    "velocity": (53.6, 0.0, 0.0),
    "force": (0.0, 0.0, -12262.5),
    "force_by_velocity": [[-56.25, 0.0, 45.0], [0.0, -317.5, 0.0], [-462.5, 0.0, -2525.0]],
    "torque_by_velocity": [[0.0, -424.58, 0.0], [0.0, 0.0, -667.48], [0.0, 401.402, 0.0]],
    "torque_by_angular_velocity": [[-11928.0, 0.0, 3109.8], [0.0, -8343.5, 0.0], [-1676.5, 0.0, -3640.4]],
}
GRAVITY = np.array([0.0, 0.0, 9.81])
MASS, J = 1250.0, np.diag([1420.0, 4070.0, 4790.0])


def aircraft():
    model = Model("aircraft", gravity=GRAVITY)
    model.add(RigidBody("plane", mass=MASS, inertia=J))
    model.add(AerodynamicLoad("air", body="plane", **NAVION))
    return System(model)


def euler_map(angles):
    """B (3, 3) with omega = B d(angles)/dt: about x, then y, then z of the moving axes (phi, theta, psi of xyz)."""
    y, z = (rotations.from_axis_angle(np.eye(3)[k], angles[k]) for k in (1, 2))
    back = [rotations.rotate_back(z, rotations.rotate_back(y, np.eye(3)[0])), rotations.rotate_back(z, np.eye(3)[1])]
    return np.column_stack([*back, np.eye(3)[2]])


@pytest.mark.parametrize(
    ("angles", "velocity", "omega"),
    [
        ((0.0, 0.0, 0.0), (53.6, 0.0, 0.0), (0.0, 0.0, 0.0)),  # steady and level
        ((0.1, 0.2, -0.3), (50.0, 3.0, 2.0), (0.0, 0.0, 0.0)),  # unsteady
        ((-0.4, 0.3, 0.8), (60.0, -5.0, 4.0), (0.2, -0.3, 0.5)),  # unsteady, and turning
    ],
)
def test_linear_equation_of_an_aircraft(angles, velocity, omega):
    """The tangents of the System, in body-frame velocities and Euler angles, are the nine blocks of the source.

    m dv' = (F_v - m w~) dv + (F_w + m v~) dw + W~ B dtheta,    J dw' = n_v dv + (n_w - w~ J + (J w)~) dw,
    B dtheta' = dw - (B theta')_theta dtheta, with the weight W in body axes; about any point, steady or not.
    """
    system = aircraft()
    velocity, omega = np.array(velocity), np.array(omega)
    x, y, z = (rotations.from_axis_angle(e, a) for e, a in zip(np.eye(3), angles, strict=True))
    p = rotations.multiply(rotations.multiply(x, y), z)
    R = rotations.rotation_matrix(p)
    q, v = np.concatenate([np.zeros(3), p]), np.concatenate([R @ velocity, omega])
    u = system.inputs_at(0.0, q, v)
    a, _ = system.forward(u, q, v)
    assert (np.abs(a).max() < 1e-12) == (angles == (0.0, 0.0, 0.0))
    damping, stiffness = (system.pattern.to_csc(x).toarray() for x in system.tangent(u, q, v, a))
    M = system.mass_matrix(q).toarray()
    # rdot = R v: d(rdot) = R (dv - v~ dphi), and r'' = R (v' + w~ v) with the same turn dphi = B dtheta
    acceleration = R.T @ a[:3]  # v' + w~ v
    zero, one = np.zeros((3, 3)), np.eye(3)
    to_v = np.block([[R, zero, -R @ tilde(velocity)], [zero, one, zero]])
    to_a_of_rates = np.block([[R, zero], [zero, one]])
    to_a = np.block([[R @ tilde(omega), -R @ tilde(velocity), -R @ tilde(acceleration)], [zero, zero, zero]])
    to_q = np.block([[zero, zero, zero], [zero, zero, one]])
    left = to_a_of_rates.T @ M @ to_a_of_rates
    right = -to_a_of_rates.T @ (M @ to_a + damping @ to_v + stiffness @ to_q)

    F_v, n_v, n_w = (np.array(NAVION[word]) for word in list(NAVION)[2:])
    weight = R.T @ (MASS * GRAVITY)
    printed = np.block(
        [
            [F_v - MASS * tilde(omega), MASS * tilde(velocity), tilde(weight)],
            [n_v, n_w - (tilde(omega) @ J - tilde(J @ omega)), zero],
        ]
    )
    np.testing.assert_allclose(left, np.block([[MASS * one, zero], [zero, J]]), rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(right, printed, rtol=0.0, atol=4e-15 * np.abs(printed).max())
    # the third row, dphi' = dw - w~ dphi with dphi = B dtheta, against -(B theta')_theta by differences
    B = euler_map(angles)
    angle_rates = np.linalg.solve(B, omega)
    h = 1e-3
    change = np.zeros((3, 3))
    for k, e in enumerate(h * np.eye(3)):
        moved = [euler_map(np.array(angles) + n * e) @ angle_rates for n in (1, -1, 2, -2)]
        change[:, k] = (8.0 * (moved[0] - moved[1]) - (moved[2] - moved[3])) / (12.0 * h)
    # B dtheta' + B' dtheta = dw - w~ B dtheta, so that (B theta')_theta = B' + w~ B
    forward, back = (euler_map(np.array(angles) + s * h * angle_rates) for s in (1, -1))
    twice_forward, twice_back = (euler_map(np.array(angles) + s * 2 * h * angle_rates) for s in (1, -1))
    B_rate = (8.0 * (forward - back) - (twice_forward - twice_back)) / (12.0 * h)
    np.testing.assert_allclose(change, B_rate + tilde(omega) @ B, atol=1e-10)


def test_short_period_and_phugoid():
    """A run of the whole equations from a small upset follows the linear ones: eigenvalues of the source's example."""
    angles = (0.0, 0.0, 0.0)
    assert np.allclose(euler_map(angles), np.eye(3))
    F_v, n_v, n_w = (np.array(NAVION[word]) for word in list(NAVION)[2:])
    A = np.zeros((9, 9))
    A[:3] = np.hstack([F_v, MASS * tilde(NAVION["velocity"]), tilde(MASS * GRAVITY)]) / MASS
    A[3:6] = np.linalg.solve(J, np.hstack([n_v, n_w, np.zeros((3, 3))]))
    A[6:, 3:6] = np.eye(3)
    found = np.linalg.eigvals(A)
    found = found[(found.imag >= 0.0) & (np.abs(found) > 1e-6)]
    wanted = [-8.433046, -2.041223 + 2.963513j, -0.486006 + 2.334844j, -0.016277 + 0.213788j, -0.008941]
    np.testing.assert_allclose(found[np.argsort(found.real)], wanted, atol=1e-6)

    upset = np.array([0.01, 0.02, 0.03, 1e-3, -5e-4, 8e-4, 5e-4, 3e-4, 0.0])
    turn = rotations.exponential(upset[6:])
    velocity = rotations.rotate(turn, upset[:3] + NAVION["velocity"])
    plane = RigidBody("plane", mass=MASS, inertia=J, quaternion=turn, velocity=velocity, angular_velocity=upset[3:6])
    model = of_parts(plane, AerodynamicLoad("air", body="plane", **NAVION), gravity=GRAVITY)
    results = femb.simulate(model, duration=3.0, output_interval=0.5, method="rk", rtol=1e-10)
    body = results.bodies["plane"]
    values, vectors = np.linalg.eig(A)
    for k, t in enumerate(results.time):
        x = (vectors * np.exp(values * t)) @ np.linalg.solve(vectors, upset.astype(complex))
        got = rotations.rotate_back(body.quaternion[k], body.velocity[k]) - NAVION["velocity"]
        np.testing.assert_allclose(got, x.real[:3], atol=3e-4)  # of second order in the upset
        np.testing.assert_allclose(body.angular_velocity[k], x.real[3:6], atol=1e-5)


# Bad input


test_bad_words = refusals(
    lambda words: AerodynamicLoad("air", **words),
    ({"body": "b"}, r"loads\.air\.force_by_velocity: no coefficient is given, and no law"),
    ({"body": "b", "law": "drag"}, r"loads\.air\.law: got 'drag', wanted a function"),
    ({"body": "b", "law": law_with_derivatives, "force": (1, 0, 0)}, "loads.air.force: given beside a law"),
    ({"force": (1, 0, 0)}, "loads.air.body: got body = None and beam = None"),
    ({"body": "b", "force_by_velocity": [1, 2, 3]}, r"got \[1, 2, 3\], wanted a 3 x 3 array"),
    ({"body": "b", "force": law}, r"loads\.air\.force: .*functions go to law"),
)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda t, v, w, p: (v, w), r"loads\.air\.law: got .* at t = 0 s, wanted a femb\.Airload"),
        (
            lambda t, v, w, p: Airload(v, w, np.zeros((3, 3)), np.zeros((6, 3))),
            r"loads\.air\.law: at t = 0 s: by_velocity: got .*, wanted an array of shape \(6, 3\)",
        ),
        (
            lambda t, v, w, p: Airload(v * np.nan, w, np.zeros((6, 3)), np.zeros((6, 3))),
            r"loads\.air\.law: got .* which is not finite",
        ),
    ],
)
def test_bad_law(bad, message):
    model = of_parts(RigidBody("b", mass=1.0, inertia=1.0), AerodynamicLoad("air", body="b", law=bad))
    refuses(message, femb.simulate, model, duration=1.0, error=SolveError)


def test_point_masses_have_no_axes():
    refuses("a point mass, which only takes forces", System, bodies(AerodynamicLoad("air", body="p", **COEFFICIENTS)))
