"""Quaternions and Euler angles: identities, closed forms, and scipy's Rotation as a second opinion."""

import numpy as np
import pytest
from models import refuses
from scipy.spatial.transform import Rotation

from femb.base.errors import ModelError
from femb.numerics import euler, rotations

STEP = 1e-30  # of the complex step: derivatives without truncation or cancellation
HALF_ROOT = np.sqrt(0.5)
AXES = np.eye(3)
TAIT_BRYAN = [s for s in euler.SEQUENCES if s[0] != s[2]]
SYMMETRIC = [s for s in euler.SEQUENCES if s[0] == s[2]]
every_sequence = pytest.mark.parametrize("sequence", euler.SEQUENCES)


def close(got, wanted, tolerance=1e-14):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance)


def same_turn(p, q, tolerance=1e-14):
    """``p`` equals ``q`` or ``-q``."""
    q = np.broadcast_to(q, np.shape(p))
    close(np.minimum(np.abs(p - q).max(-1), np.abs(p + q).max(-1)), 0.0, tolerance)


def times(matrix, vector):
    return (matrix @ vector[..., None])[..., 0]


def transpose(matrix):
    return np.swapaxes(matrix, -1, -2)


def tilde(x):
    """Matrix of the cross product from the left, ``tilde(x) @ y = x cross y``."""
    return np.stack([np.cross(x, axis) for axis in AXES], axis=-1)


def derivative(function, p, pdot):
    """Rate of ``function(p)`` along ``pdot``, by a complex step."""
    return np.imag(function(p + 1j * STEP * pdot)) / STEP


def scipy_rotation(p):
    return Rotation.from_quat(np.roll(p, -1, axis=-1))


@pytest.fixture
def random():
    return np.random.default_rng(20140831)


@pytest.fixture
def p(random):
    return rotations.normalise(random.normal(size=(200, 4)))


@pytest.fixture
def q(random):
    return rotations.normalise(random.normal(size=(200, 4)))


@pytest.fixture
def omega(random):
    return random.normal(size=(200, 3))


@pytest.fixture
def pdot(random, p):
    raw = random.normal(size=p.shape)
    return raw - p * np.sum(raw * p, axis=-1, keepdims=True)


# Algebra


def left_matrix(p):
    """``p q = left_matrix(p) @ q``."""
    return np.stack([rotations.multiply(p, one) for one in np.eye(4)], axis=-1)


def right_matrix(q):
    """``p q = right_matrix(q) @ p``."""
    return np.stack([rotations.multiply(one, q) for one in np.eye(4)], axis=-1)


def test_product_is_hamiltons():
    one, i, j, k = np.eye(4)
    close(rotations.multiply(i, j), k, 0.0)
    close(rotations.multiply(j, k), i, 0.0)
    close(rotations.multiply(k, i), j, 0.0)
    for unit in (i, j, k):
        close(rotations.multiply(unit, unit), -one, 0.0)


def test_product_composes_matrices(p, q):
    R = rotations.rotation_matrix
    close(R(rotations.multiply(p, q)), R(p) @ R(q))


def test_conjugate_inverts(p):
    one = np.broadcast_to([1.0, 0.0, 0.0, 0.0], p.shape)
    close(rotations.multiply(p, rotations.conjugate(p)), one)
    close(rotations.multiply(rotations.conjugate(p), p), one)
    close(rotations.rotation_matrix(rotations.conjugate(p)), transpose(rotations.rotation_matrix(p)))


def test_normalise_keeps_direction(p):
    scale = np.logspace(-100, 100, len(p))[:, None]
    close(rotations.normalise(scale * p), p)
    close(np.linalg.norm(rotations.normalise(7.0 * p), axis=-1), 1.0, 4e-16)


def test_normalise_refuses_zero_and_passes_nan():
    with pytest.raises(ModelError, match=r"quaternion is zero.*length 1.*\(1, 0, 0, 0\)"):
        rotations.normalise([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    assert np.isnan(rotations.normalise([np.nan, 0.0, 0.0, 0.0])).all()


def test_wrong_shape_is_named():
    refuses(r"quaternion p has shape \(3,\).*\(\.\.\., 4\)", rotations.multiply, np.ones(3), np.ones(4))
    refuses(r"vector has shape \(\)", rotations.rotate, [1, 0, 0, 0], 1.0)
    refuses(r"rotation matrix has shape \(3,\)", rotations.from_matrix, [1.0, 2.0, 3.0])


def test_integers_become_floats():
    assert rotations.multiply([1, 0, 0, 0], [0, 1, 0, 0]).dtype == np.float64
    assert rotations.rate_body([1, 0, 0, 0]).dtype == np.float64
    close(rotations.rotate([0, 0, 0, 1], [1, 2, 3]), [-1.0, -2.0, 3.0], 0.0)


# Rates


@pytest.mark.parametrize("rate_map", [rotations.rate_body, rotations.rate_inertial])
class TestRateMap:
    """The table of properties that the two maps share."""

    def test_unit_length(self, rate_map, p, pdot):
        E, Edot = rate_map(p), rate_map(pdot)
        close(times(E, p), 0.0, 1e-15)
        close(E @ transpose(E), np.broadcast_to(np.eye(3), (*E.shape[:-1], 3)), 1e-15)
        close(transpose(E) @ E, np.eye(4) - p[:, :, None] * p[:, None, :], 1e-15)
        close(times(E, pdot), -times(Edot, p))
        close(times(Edot, pdot), 0.0)

    def test_signs_by_tilde(self, rate_map, p, pdot):
        E, Edot = rate_map(p), rate_map(pdot)
        sign = 1.0 if rate_map is rotations.rate_body else -1.0
        close(tilde(times(E, pdot)), sign * E @ transpose(Edot))
        close(tilde(times(E, pdot)), -sign * Edot @ transpose(E))

    def test_completes_p_to_composition_matrix(self, rate_map, p):
        whole = left_matrix if rate_map is rotations.rate_body else right_matrix
        close(np.concatenate([p[..., None], transpose(rate_map(p))], axis=-1), whole(p), 0.0)


def test_matrix_by_rate_maps(p, pdot):
    L, G = rotations.rate_body(p), rotations.rate_inertial(p)
    Ldot, Gdot = rotations.rate_body(pdot), rotations.rate_inertial(pdot)
    R = rotations.rotation_matrix
    close(G @ transpose(L), R(p))
    close(L @ transpose(Gdot), Ldot @ transpose(G))
    close(derivative(R, p, pdot), 2.0 * G @ transpose(Ldot), 1e-13)


def test_omega_turns_the_matrix(p, pdot):
    """d R/dt = R tilde(omega), body, = tilde(omega) R, inertial."""
    R, Rdot = rotations.rotation_matrix(p), derivative(rotations.rotation_matrix, p, pdot)
    close(Rdot, R @ tilde(2.0 * times(rotations.rate_body(p), pdot)), 1e-13)
    close(Rdot, tilde(2.0 * times(rotations.rate_inertial(p), pdot)) @ R, 1e-13)


def test_omega_body_to_inertial(p, pdot):
    body = 2.0 * times(rotations.rate_body(p), pdot)
    close(rotations.rotate(p, body), 2.0 * times(rotations.rate_inertial(p), pdot), 1e-13)


def test_omega_of_the_source(p, pdot):
    """omega = 2 (p0 dp - dp0 p - p cross dp), body axes."""
    wanted = 2.0 * (p[:, :1] * pdot[:, 1:] - pdot[:, :1] * p[:, 1:] - np.cross(p[:, 1:], pdot[:, 1:]))
    close(2.0 * times(rotations.rate_body(p), pdot), wanted)


def test_quaternion_rate_inverts_rate_body(p, omega):
    rate = rotations.quaternion_rate(p, omega)
    close(rate, 0.5 * times(transpose(rotations.rate_body(p)), omega))
    close(2.0 * times(rotations.rate_body(p), rate), omega)
    close(np.sum(p * rate, axis=-1), 0.0)


def test_steady_spin_solves_quaternion_rate(p, omega):
    """p(t) = p exp(omega t) is the motion at constant body rate: its derivative at t = 0."""
    step = 1e-5
    ahead = rotations.multiply(p, rotations.exponential(step * omega))
    behind = rotations.multiply(p, rotations.exponential(-step * omega))
    close((ahead - behind) / (2.0 * step), rotations.quaternion_rate(p, omega), 1e-9)


# Matrices


def test_matrix_agrees_with_scipy(p):
    close(rotations.rotation_matrix(p), scipy_rotation(p).as_matrix())


def test_matrix_of_quarter_turn_takes_x_to_y():
    R = rotations.rotation_matrix([HALF_ROOT, 0.0, 0.0, HALF_ROOT])
    close(R, [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], 1e-15)


def test_matrix_is_proper(p):
    R = rotations.rotation_matrix(p)
    close(R @ transpose(R), np.broadcast_to(AXES, R.shape))
    close(np.linalg.det(R), 1.0)


def test_rotate_is_the_sandwich_and_the_matrix(p, omega):
    x = np.concatenate([np.zeros((len(p), 1)), omega], axis=-1)
    sandwich = rotations.multiply(rotations.multiply(p, x), rotations.conjugate(p))
    close(rotations.rotate(p, omega), sandwich[:, 1:], 2e-14)
    close(rotations.rotate_back(p, omega), times(transpose(rotations.rotation_matrix(p)), omega), 2e-14)
    close(rotations.rotate_back(p, rotations.rotate(p, omega)), omega, 2e-14)


def test_degree_two_off_unit_length(p, omega):
    close(rotations.rotation_matrix(1.5 * p), 2.25 * rotations.rotation_matrix(p))
    close(rotations.rotate(1.5 * p, omega), 2.25 * rotations.rotate(p, omega), 2e-14)


def test_from_matrix_round_trip_through_every_branch(p):
    largest = np.argmax(np.abs(p), axis=-1)
    assert set(largest) == {0, 1, 2, 3}, "the sample misses a branch"
    back = rotations.from_matrix(rotations.rotation_matrix(p))
    same_turn(back, p, 1e-15)
    assert (back[:, 0] >= 0.0).all()


@pytest.mark.parametrize("axis", [*AXES, [0.0, 0.6, 0.8], [-0.6, 0.0, 0.8], [0.48, -0.6, 0.64]])
def test_from_matrix_half_turn(axis):
    axis = np.asarray(axis)
    p = rotations.from_matrix(2.0 * np.outer(axis, axis) - AXES)
    same_turn(p, np.concatenate([[0.0], axis]), 1e-15)
    assert p[np.argmax(np.abs(p))] > 0.0


def test_from_matrix_near_half_turns(random):
    axes = random.normal(size=(18, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    small = 10.0 ** -np.arange(1.0, 19.0)[:, None]
    p = np.concatenate([small, np.sqrt(1.0 - small**2) * axes], axis=-1)
    same_turn(rotations.from_matrix(rotations.rotation_matrix(p)), p, 1e-15)


def test_from_matrix_identity():
    close(rotations.from_matrix(AXES), [1.0, 0.0, 0.0, 0.0], 0.0)


def test_from_matrix_of_typed_digits_is_unit():
    R = [[0.707, -0.707, 0.0], [0.707, 0.707, 0.0], [0.0, 0.0, 1.0]]
    p = rotations.from_matrix(R)
    close(np.linalg.norm(p), 1.0, 4e-16)
    close(p, [np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8)], 1e-3)


def test_from_matrix_refuses_what_is_no_rotation():
    refuses(r"not a rotation.*off the identity's by 3", rotations.from_matrix, 2.0 * AXES)
    refuses(r"not a rotation.*nan", rotations.from_matrix, np.full((3, 3), np.nan))
    refuses("reflection", rotations.from_matrix, [AXES, np.diag([1.0, 1.0, -1.0])])


# Axis and angle


def test_axis_angle_round_trip(p):
    axis, angle = rotations.axis_angle(p)
    close(np.linalg.norm(axis, axis=-1), 1.0, 1e-15)
    assert ((angle >= 0.0) & (angle <= np.pi)).all()
    same_turn(rotations.from_axis_angle(axis, angle), p)
    close(angle, scipy_rotation(p).magnitude())


def test_axis_angle_same_for_both_signs(p):
    for one, other in zip(rotations.axis_angle(p), rotations.axis_angle(-p), strict=True):
        close(one, other, 0.0)


def test_axis_angle_keeps_the_axis_of_tiny_turns():
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    for angle in (1e-3, 1e-9, 1e-100, 1e-200, 1e-300):
        got_axis, got_angle = rotations.axis_angle(rotations.from_axis_angle(axis, angle))
        close(got_axis, axis, 1e-15)
        np.testing.assert_allclose(got_angle, angle, rtol=1e-15)


def test_axis_angle_of_no_turn():
    axis, angle = rotations.axis_angle([[1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]])
    close(axis, [[1.0, 0.0, 0.0]] * 2, 0.0)
    close(angle, [0.0, 0.0], 0.0)


def test_axis_angle_of_half_turn():
    for axis in AXES:
        got_axis, got_angle = rotations.axis_angle(np.concatenate([[-0.0], axis]))
        close(got_axis, axis, 0.0)
        close(got_angle, np.pi, 0.0)


def test_axis_of_any_length():
    close(rotations.from_axis_angle([0.0, 0.0, 5.0], 0.5 * np.pi), [HALF_ROOT, 0.0, 0.0, HALF_ROOT], 1e-15)
    refuses(r"axis is \(0, 0, 0\)", rotations.from_axis_angle, np.zeros(3), 1.0)


def test_opposite_axis_and_whole_turn(random):
    axis, angle = random.normal(size=(50, 3)), random.uniform(-3.0, 3.0, 50)
    p = rotations.from_axis_angle(axis, angle)
    close(rotations.from_axis_angle(-axis, -angle), p, 1e-15)
    close(rotations.from_axis_angle(axis, angle + 2.0 * np.pi), -p, 1e-15)


def test_exponential_agrees_with_scipy(random):
    vectors = random.normal(size=(200, 3)) * np.logspace(-12, 2, 200)[:, None]
    p = rotations.exponential(vectors)
    same_turn(p, np.roll(Rotation.from_rotvec(vectors).as_quat(), 1, axis=-1), 3e-14)
    close(np.linalg.norm(p, axis=-1), 1.0, 1e-15)


def test_exponential_of_nothing():
    close(rotations.exponential(np.zeros(3)), [1.0, 0.0, 0.0, 0.0], 0.0)
    close(rotations.logarithm([1.0, 0.0, 0.0, 0.0]), 0.0, 0.0)


@pytest.mark.parametrize("length", [1e-300, 1e-170, 1e-9, 1e-4, 1.0, 3.1, np.pi])
def test_logarithm_inverts_exponential(length):
    vector = length * np.array([2.0, -1.0, 2.0]) / 3.0
    np.testing.assert_allclose(rotations.logarithm(rotations.exponential(vector)), vector, rtol=1e-15)


def test_logarithm_is_shortest(p):
    vector = rotations.logarithm(p)
    assert (np.linalg.norm(vector, axis=-1) <= np.pi).all()
    close(vector, rotations.logarithm(-p), 0.0)
    close(vector, scipy_rotation(p).as_rotvec())


# Euler angles


def test_default_is_intrinsic_xyz(random):
    psi, phi, theta = angles = random.uniform(-1.5, 1.5, 3)
    g = [np.cos(psi / 2), np.sin(psi / 2), 0.0, 0.0]
    h = [np.cos(phi / 2), 0.0, np.sin(phi / 2), 0.0]
    t = [np.cos(theta / 2), 0.0, 0.0, np.sin(theta / 2)]
    p = rotations.multiply(rotations.multiply(g, h), t)
    close(euler.from_euler(angles), p, 1e-15)
    close(euler.to_euler(p), angles)
    close(np.sin(phi), 2.0 * (p[1] * p[3] + p[0] * p[2]))


@every_sequence
def test_from_euler_agrees_with_scipy(sequence, random):
    angles = random.uniform(-10.0, 10.0, (100, 3))
    wanted = Rotation.from_euler(sequence.upper(), angles)
    close(rotations.rotation_matrix(euler.from_euler(angles, sequence)), wanted.as_matrix())


@every_sequence
def test_to_euler_agrees_with_scipy(sequence, p):
    angles = euler.to_euler(p, sequence)
    close(angles, scipy_rotation(p).as_euler(sequence.upper()), 1e-12)
    close(euler.to_euler(-p, sequence), angles, 1e-12)


@every_sequence
def test_to_euler_ranges_and_round_trip(sequence, p):
    angles = euler.to_euler(p, sequence)
    low, high = (0.0, np.pi) if sequence in SYMMETRIC else (-0.5 * np.pi, 0.5 * np.pi)
    assert (np.abs(angles[:, ::2]) <= np.pi).all()
    assert ((angles[:, 1] >= low) & (angles[:, 1] <= high)).all()
    same_turn(euler.from_euler(angles, sequence), p, 2e-15)


@every_sequence
def test_half_and_quarter_turns(sequence):
    """All 24 orientations that carry axes to axes: every sign and zero pattern of the components."""
    group = Rotation.create_group("O").as_matrix()
    assert group.shape == (24, 3, 3)
    angles = euler.to_euler(rotations.from_matrix(group), sequence)
    close(rotations.rotation_matrix(euler.from_euler(angles, sequence)), group, 1e-15)


def locked_orientations(sequence, distance, random):
    """Orientations with random outer angles at the given distance from either lock."""
    centres = (0.0, np.pi) if sequence in SYMMETRIC else (-0.5 * np.pi, 0.5 * np.pi)
    angles = random.uniform(-3.0, 3.0, (60, 3))
    angles[:30, 1] = centres[0] + distance
    angles[30:, 1] = centres[1] - distance
    return angles, euler.from_euler(angles, sequence)


@every_sequence
@pytest.mark.parametrize("distance", [0.0, 1e-16, 1e-14])
def test_gimbal_lock(sequence, distance, random):
    _, p = locked_orientations(sequence, distance, random)
    p = np.concatenate([p, rotations.from_matrix(rotations.rotation_matrix(p))])
    assert (euler.gimbal_distance(p, sequence) < euler.LOCKED).all()
    angles = euler.to_euler(p, sequence)
    close(angles[:, 0], 0.0, 0.0)
    assert (np.abs(angles[:, 2]) <= np.pi).all()
    R = rotations.rotation_matrix
    close(R(euler.from_euler(angles, sequence)), R(p), 1e-13)


@every_sequence
@pytest.mark.parametrize("distance", [3e-13, 1e-12, 1e-10, 1e-8, 1e-4])
def test_near_gimbal_lock(sequence, distance, random):
    """Past the threshold the orientation is exact, and the angles as good as they are determined."""
    wanted, p = locked_orientations(sequence, distance, random)
    angles = euler.to_euler(p, sequence)
    same_turn(euler.from_euler(angles, sequence), p, 2e-15)
    error = rotations.logarithm(euler.from_euler((angles - wanted) * [1.0, 0.0, 0.0], sequence))
    close(error, 0.0, 2e-15 / distance)
    close(angles[:, 1], wanted[:, 1], 2e-15)


@every_sequence
def test_gimbal_distance(sequence, random, p):
    middle = euler.to_euler(p, sequence)[:, 1]
    wanted = np.abs(np.sin(middle) if sequence in SYMMETRIC else np.cos(middle))
    close(euler.gimbal_distance(p, sequence), wanted, 1e-15)
    close(euler.gimbal_distance(3.0 * p, sequence), wanted, 1e-15)
    for distance in (1e-3, 1e-8, 1e-12):
        _, near = locked_orientations(sequence, distance, random)
        close(euler.gimbal_distance(near, sequence), distance, 1e-15 + distance**3)


@every_sequence
def test_unwrap_follows_a_spin(sequence):
    time = np.linspace(0.0, 20.0, 400)
    angles = np.stack([2.0 * time, 0.8 + 0.3 * np.sin(time), 1.0 - 3.0 * time], axis=-1)
    close(euler.to_euler(euler.from_euler(angles, sequence), sequence, unwrap=True), angles, 1e-13)
    bodies = euler.from_euler(np.stack([angles, angles * [-1.0, 1.0, -1.0]], axis=1), sequence)
    close(euler.to_euler(bodies, sequence, unwrap=True)[:, 1], angles * [-1.0, 1.0, -1.0], 1e-13)
    assert np.abs(euler.to_euler(bodies, sequence)).max() <= np.pi


def test_unwrap_needs_a_history():
    refuses(r"unwrap=True needs a history.*\(4,\)", euler.to_euler, [1.0, 0.0, 0.0, 0.0], unwrap=True)


@every_sequence
def test_euler_axes_give_omega(sequence, random):
    """Columns of euler_axes against the derivative of the quaternion by each angle."""
    angles = random.uniform(-3.0, 3.0, (100, 3))
    p, axes = euler.from_euler(angles, sequence), euler.euler_axes(angles, sequence)
    for place in range(3):
        rate = derivative(lambda a: euler.from_euler(a, sequence), angles, AXES[place])
        close(2.0 * times(rotations.rate_body(p), rate), axes[..., place], 1e-14)
    close(np.linalg.norm(axes, axis=-2), 1.0, 1e-15)
    close(np.sum(axes[..., 1:2] * axes[..., ::2], axis=-2), 0.0, 1e-15)
    close(np.abs(np.linalg.det(axes)), euler.gimbal_distance(p, sequence), 2e-15)


def test_first_axis_is_inertial_and_last_is_bodys(random):
    angles = random.uniform(-3.0, 3.0, (20, 3))
    axes = euler.euler_axes(angles, "xyz")
    in_inertial = rotations.rotate(euler.from_euler(angles), axes[..., 0])
    close(in_inertial, np.broadcast_to(AXES[0], (20, 3)), 1e-15)
    close(axes[..., 2], np.broadcast_to(AXES[2], (20, 3)), 0.0)


@every_sequence
def test_rates_both_ways(sequence, p, omega):
    angles = euler.to_euler(p, sequence)
    rates = euler.euler_rates(p, omega, sequence)
    bound = 1e-14 * (1.0 + np.abs(rates).max(axis=-1, keepdims=True))
    assert (np.abs(euler.omega_from_euler_rates(angles, rates, sequence) - omega) < bound).all()


@every_sequence
def test_rates_are_the_derivatives_of_the_angles(sequence, p, omega):
    far = euler.gimbal_distance(p, sequence) > 0.2
    p, omega, step = p[far], omega[far], 1e-5
    ahead = euler.to_euler(rotations.multiply(p, rotations.exponential(step * omega)), sequence)
    behind = euler.to_euler(rotations.multiply(p, rotations.exponential(-step * omega)), sequence)
    change = (ahead - behind + np.pi) % (2.0 * np.pi) - np.pi
    close(change / (2.0 * step), euler.euler_rates(p, omega, sequence), 2e-7)


def test_rates_by_the_dual_basis(random):
    """Closed forms of the dual Euler basis of xyz, whose lengths are 1/cos, 1, 1/cos of the middle angle."""
    angles = random.uniform(-1.4, 1.4, (50, 3))
    p, omega = euler.from_euler(angles), random.normal(size=(50, 3))
    first, third = euler.euler_axes(angles)[..., 0], euler.euler_axes(angles)[..., 2]
    s, c = np.sin(angles[:, 1:2]), np.cos(angles[:, 1:2])
    dual = [(first - s * third) / c**2, np.cross(third, first) / c, (third - s * first) / c**2]
    for vector, length in zip(dual, (1.0 / c, np.ones_like(c), 1.0 / c), strict=True):
        close(np.linalg.norm(vector, axis=-1), length[:, 0], 1e-12)
    wanted = np.stack([np.sum(vector * omega, axis=-1) for vector in dual], axis=-1)
    close(euler.euler_rates(p, omega), wanted, 1e-12)


@every_sequence
def test_rates_at_lock_have_least_norm(sequence, random):
    _, p = locked_orientations(sequence, 0.0, random)
    omega = random.normal(size=(60, 3))
    axes = euler.euler_axes(euler.to_euler(p, sequence), sequence)
    wanted = times(np.linalg.pinv(axes, rcond=1e-9), omega)
    close(euler.euler_rates(p, omega, sequence), wanted, 1e-14)


@pytest.mark.parametrize("wrong", ["XYZ", "xxy", "xy", "", "zyxx", None, 321, ["x", "y", "z"]])
def test_unknown_sequence_lists_the_twelve(wrong):
    one, zero = [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    for call in (
        lambda: euler.from_euler(zero, wrong),
        lambda: euler.to_euler(one, wrong),
        lambda: euler.gimbal_distance(one, wrong),
        lambda: euler.euler_axes(zero, wrong),
        lambda: euler.omega_from_euler_rates(zero, zero, wrong),
        lambda: euler.euler_rates(one, zero, wrong),
    ):
        with pytest.raises(ModelError) as caught:
            call()
        assert repr(wrong) in str(caught.value)
        assert all(sequence in str(caught.value) for sequence in euler.SEQUENCES)


def test_the_twelve_are_all_there():
    wanted = {a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if a != b != c}
    assert set(euler.SEQUENCES) == wanted
    assert len(euler.SEQUENCES) == len(wanted) == len(TAIT_BRYAN) + len(SYMMETRIC) == 12


# Leading axes


def check_over_leading_axes(function, shapes, random):
    """``function`` on (2, 5, ...) arrays equals itself item by item, and broadcasts its first argument."""
    arguments = [random.normal(size=(2, 5, *shape)) for shape in shapes]
    arguments = [rotations.normalise(a) if shape == (4,) else a for a, shape in zip(arguments, shapes, strict=True)]
    whole = function(*arguments)
    for place in np.ndindex(2, 5):
        one = function(*(a[place] for a in arguments))
        assert one.shape == whole.shape[2:]
        close(whole[place], one, 1e-15)
    assert function(*(a[:0] for a in arguments)).shape == (0, *whole.shape[1:])
    if len(arguments) == 2:
        first, second = arguments
        close(function(first[0, 0], second)[1, 3], function(first[0, 0], second[1, 3]), 1e-15)
        close(function(first, second[0, 0])[1, 3], function(first[1, 3], second[0, 0]), 1e-15)


ONE_QUATERNION = [
    rotations.conjugate, rotations.normalise, rotations.rate_body,
    rotations.rate_inertial, rotations.rotation_matrix, rotations.logarithm,
    lambda p: rotations.from_matrix(rotations.rotation_matrix(p)), lambda p: rotations.axis_angle(p)[0],
    lambda p: rotations.axis_angle(p)[1], euler.to_euler, euler.gimbal_distance,
]  # fmt: skip


@pytest.mark.parametrize("function", ONE_QUATERNION)
def test_leading_axes_of_a_quaternion(function, random):
    check_over_leading_axes(function, [(4,)], random)


@pytest.mark.parametrize("function", [rotations.exponential, euler.from_euler, euler.euler_axes])
def test_leading_axes_of_a_vector(function, random):
    check_over_leading_axes(function, [(3,)], random)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (rotations.multiply, [(4,), (4,)]),
        (rotations.quaternion_rate, [(4,), (3,)]),
        (rotations.rotate, [(4,), (3,)]),
        (rotations.rotate_back, [(4,), (3,)]),
        (rotations.from_axis_angle, [(3,), ()]),
        (euler.euler_rates, [(4,), (3,)]),
        (euler.omega_from_euler_rates, [(3,), (3,)]),
    ],
)
def test_leading_axes_of_two(function, shapes, random):
    check_over_leading_axes(function, shapes, random)
