"""The prediction of the stages of Radau: exact for members that rotate steadily, and for speeds that are cubics."""

import numpy as np
import pytest
from models import stiff

from femb import Attachment, Beam, Model, RigidBody
from femb.formulations import make_formulation
from femb.numerics import rotations
from femb.numerics.tableaux import RADAU_C
from femb.steppers.radau_kernels import find_trend, start_stages
from femb.steppers.radau_stages import Trend
from femb.system.system import System

SPIN, AXIS = 2.0, np.array([2.0, -1.0, 2.0]) / 3.0


def boom():
    section = stiff(1e6, 1e3, (1e3, 1e3), 1.0, (0.02, 0.01, 0.01), "boom")
    model = Model("boom")
    model.add(RigidBody("hub", mass=5.0, inertia=1.0))
    model.add(Beam("boom", section=section, length=2.0, elements=2, start=Attachment("hub", direction=(1, 0, 0))))
    return model


def rotated(system, angle, speed, along=0.0):
    """q, v of the undeformed model after a rotation about the hub, with an angular speed and a velocity outwards."""
    layout, q, v = system.layout, system.q0.copy(), np.zeros(system.n_v)
    turn = rotations.exponential(angle * AXIS)
    R = rotations.rotation_matrix(turn)
    for i, j in zip(layout.frame_q, layout.frame_v, strict=True):
        x = R @ system.q0[i : i + 3]
        q[i : i + 3], q[i + 3 : i + 7] = x, rotations.multiply(turn, system.q0[i + 3 : i + 7])
        v[j : j + 3] = speed * np.cross(AXIS, x) + along * x
        v[j + 3 : j + 6] = speed * rotations.rotation_matrix(q[i + 3 : i + 7]).T @ AXIS
    return q, v


def predicted(form, trend, h, q, v):
    """V (3, n_v) and Q (3, n_q) of the next step."""
    turning = form.corotated_frames
    Z, V, K = np.empty((3, 3, form.n_v))
    Q, L, turns = np.empty((3, form.n_q)), np.empty((3, form.n_c)), np.empty((3, len(turning[0]), 4))
    stages = Z, V, K, Q, L
    start_stages(form.coordinates, turning, q.copy(), np.array([h]), tuple(trend), q, v, stages, turns)
    np.testing.assert_allclose(V, v + Z, rtol=0.0, atol=1e-14)
    return V, Q


def trend_from(form, v, a):
    """The trend at a start."""
    trend = Trend.at_rest(form.n_v, form.n_c)
    trend.begin(v, a, np.zeros(form.n_c))
    return trend


def trend_of(form, ends, stages, lengths):
    """The trend after steps between ends, with stages that are functions of the number of the step."""
    trend = trend_from(form, ends[0][1], np.zeros(form.n_v))
    turning, room, L = form.corotated_frames, np.empty((2, form.n_v)), np.zeros((3, form.n_c))
    turns = np.empty((3, len(turning[0]), 4))
    for k, h in enumerate(lengths):
        (old, new), (Q, V) = ends[k : k + 2], stages(k)
        find_trend(turning, np.array([h]), tuple(trend), *old, *new, V.copy(), Q, L, turns, room)
    return trend


@pytest.mark.parametrize("formulation", ["velocity", "quaternion"])
def test_steady_rotation_is_predicted(formulation):
    """With an error of the stages that turns with the members, which is recalled with the cube of the length."""
    system = System(boom())
    form = make_formulation(system, formulation)
    errors = (0.01, -0.02, 0.0)
    lengths, last = (0.1, 0.1, 0.1), 0.08

    def at(t, along=0.0):
        return form.from_system(*rotated(system, SPIN * t, SPIN, along))

    def stages(k):
        return [np.array(part) for part in zip(*map(at, lengths[0] * (k + RADAU_C), errors), strict=True)]

    t = sum(lengths)
    trend = trend_of(form, [at(each) for each in (0.0, 0.1, 0.2, t)], stages, lengths)
    V, _ = predicted(form, trend, last, *at(t))
    for i in range(3):
        wanted = at(t + RADAU_C[i] * last, errors[i] * (last / lengths[1]) ** 3)[1]
        # the attitudes are those of the collocation, of third order within the step
        np.testing.assert_allclose(V[i], wanted, rtol=0.0, atol=2e-4)


def test_cubics_are_predicted():
    """Speeds of a body that does not rotate: cubics of time, over steps of any length, without deviations."""
    system = System(boom())
    rng = np.random.default_rng(3)
    a, b, c, d = rng.normal(size=(4, system.n_v))
    for part in (a, b, c, d):
        for j in system.layout.frame_v:
            part[j + 3 : j + 6] = 0.0

    def at(t):
        return system.q0, a + b * t + c * t**2 + d * t**3

    times = np.cumsum([0.0, 0.3, 0.07, 0.12])

    def stages(k):
        inside = times[k] + RADAU_C * (times[k + 1] - times[k])
        return np.tile(system.q0, (3, 1)), np.array([at(t)[1] for t in inside])

    trend = trend_of(system, [at(t) for t in times], stages, np.diff(times))
    V, _ = predicted(system, trend, 0.2, *at(times[-1]))
    for i in range(3):
        np.testing.assert_allclose(V[i], at(times[-1] + 0.2 * RADAU_C[i])[1], rtol=0.0, atol=1e-12)


def test_smooth_motion_is_predicted_by_the_last_stages():
    """Speeds of fourth power: the polynomial through the start and the stages of the last step, from its second on."""
    system = System(boom())
    a = np.random.default_rng(4).normal(size=system.n_v)
    for j in system.layout.frame_v:
        a[j + 3 : j + 6] = 0.0
    times = np.cumsum([0.0, 0.1, 0.09, 0.11, 0.1])

    def at(t):
        return system.q0, a * t**4

    def inside(k):
        return times[k] + RADAU_C * (times[k + 1] - times[k])

    def stages(k):
        return np.tile(system.q0, (3, 1)), np.array([at(t)[1] for t in inside(k)])

    trend = trend_of(system, [at(t) for t in times], stages, np.diff(times))
    V, _ = predicted(system, trend, 0.12, *at(times[-1]))
    nodes = np.array([times[-2], *inside(3)])
    through = np.polynomial.Polynomial.fit(nodes, nodes**4, 3)
    for i in range(3):
        np.testing.assert_allclose(V[i], a * through(times[-1] + 0.12 * RADAU_C[i]), rtol=0.0, atol=1e-12)


def test_the_start_has_constant_accelerations():
    system = System(boom())
    a = np.random.default_rng(5).normal(size=system.n_v)
    q, v = rotated(system, 0.4, SPIN)
    V, _ = predicted(system, trend_from(system, v, a), 0.1, q, v)
    np.testing.assert_allclose(V, v + 0.1 * RADAU_C[:, None] * a, rtol=0.0, atol=1e-14)
