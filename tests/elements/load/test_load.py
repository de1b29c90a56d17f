"""Forces and torques, gravity, point masses and damping: balances of momentum and energy, tangents, callables."""

import numpy as np
import pytest
from long_runs import slow
from models import of_parts, refuses, sections_like
from oracles.alone import Alone

from femb import Attachment, Beam, Ground, Load, Model, PointMass, RigidBody, SolveError
from femb.base.options import Tolerances
from femb.numerics import rotations
from femb.profiles import Constant, Step, Table, Versine
from femb.run.simulate import mass_properties, simulate
from femb.system.system import System

X = (1.0, 0.0, 0.0)
FORCE, TORQUE = np.array([1.3, -0.7, 0.4]), np.array([0.2, 0.9, -0.5])
OFFSET = np.array([0.3, 0.5, -0.2])


soft = sections_like("soft", 1e-3, (2e-8, 1e-8), 1e-8, 1000.0, 1e7, 4e6)


def satellite(gravity=(0, 0, 0), damping=0.0, **words):
    """A hub with an offset mass centre and two soft beams, one with a mass at its tip and one clamped at its end."""
    model = Model("satellite", gravity=gravity)
    inertia = np.array([[0.2, 0.02, -0.01], [0.02, 0.15, 0.03], [-0.01, 0.03, 0.18]])
    hub = model.add(RigidBody("hub", mass=1.7, inertia=inertia, center_of_mass=(0.1, -0.2, 0.15), **words))
    boom = soft(damping=damping)
    right = hub.at((0.3, 0.1, -0.2), direction=(1, 0.4, 0.2), up=(0, 1, 2))
    model.add(Beam("right", section=boom, length=1.2, elements=2, start=right))
    model.add(Beam("left", section=boom, length=0.9, elements=1, end=hub.at((-0.2, 0, 0), direction=(1, -0.3, 0))))
    model.add(PointMass("tip", mass=0.2, on=model.beams["right"].node(-1)))
    return model


def deformed(system, seed=0):
    """A state bent, turned, moved and moving at random."""
    rng = np.random.default_rng(seed)
    change = 0.15 * rng.standard_normal(system.n_v)
    q = system.q0 + system.rates(system.q0[None], change[None])[0]
    q[system.layout.internal_q] *= 0.1
    system.normalise(q)
    return q, rng.standard_normal(system.n_v)


def added_acceleration(system, u, q, v):
    """What the loads alone accelerate (the model undamped, so that only loads are applied)."""
    force = np.zeros((1, system.n_v))
    for batch in system.batches:
        Alone(system, batch).nonconservative_force(u[None], q[None], v[None], force)
    return system.solver.factorise(system.mass_data(q)).solve(force[0])


def place(system, load):
    """Position and rotation matrix of where a load acts, in a given state."""

    def at(q):
        station = system.layout.station(load.on)
        i = system.layout.frame_q[station.frame]
        turn = q[i + 3 : i + 7]
        point = q[i : i + 3] + rotations.rotate(turn, station.offset)
        return point, rotations.rotation_matrix(rotations.multiply(turn, station.rotation))

    return at


PLACES = {
    "body": {"body": "hub", "at": OFFSET},
    "node": {"beam": "right", "node": 1},
    "root": {"beam": "right", "node": 0},
    "tip": {"beam": "left", "node": 0},
    "clamped end": {"beam": "left", "node": -1},
}
every_place = pytest.mark.parametrize("where", PLACES)
both_frames = pytest.mark.parametrize("frame", ["inertial", "body"])


# Balance of momentum


@every_place
@both_frames
def test_rate_of_momentum(where, frame):
    """The accelerations a load adds change the momenta by exactly its force and its moment about the origin."""
    model = satellite()
    load = model.add(Load("push", force=FORCE, torque=TORQUE, frame=frame, **PLACES[where]))
    system = System(model)
    q, v = deformed(system)
    u = system.inputs_at(0.0, q, v)
    added = added_acceleration(system, u, q, v)
    # momenta are linear in the velocities: with the added accelerations for velocities they are their rates
    rates = system.energy_momentum(q[None], added[None])[0, 2:]
    point, axes = place(system, load)(q)
    force, torque = (axes @ FORCE, axes @ TORQUE) if frame == "body" else (FORCE, TORQUE)
    np.testing.assert_allclose(rates[:3], force, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(rates[3:], torque + np.cross(point, force), rtol=0.0, atol=1e-12)


@every_place
@both_frames
def test_momentum_along_a_motion(where, frame):
    """d p = integral F dt and d L = integral (T + r x F) dt, by fine quadrature over the recorded motion."""
    model = satellite(angular_velocity=(0.3, -0.4, 0.5), damping=0.02)
    profile = Versine(0.4)
    push, turning = 0.2 * FORCE, 0.02 * TORQUE
    model.add(Load("push", force=push, torque=turning, frame=frame, profile=profile, **PLACES[where]))
    results = simulate(model, duration=0.4, output_interval=0.002, rtol=1e-7)
    time, audit = results.time, results.audit
    if "body" in PLACES[where]:
        turn = results.bodies["hub"].quaternion
        point = results.bodies["hub"].position + rotations.rotate(turn, OFFSET)
    else:
        beam, node = results.beams[PLACES[where]["beam"]], PLACES[where]["node"]
        point, turn = beam.position[:, node], beam.quaternion[:, node]
    force, torque = (np.tile(x, (len(time), 1)) for x in (push, turning))
    if frame == "body":
        force, torque = rotations.rotate(turn, force), rotations.rotate(turn, torque)
    factor = np.array([profile(t) for t in time])[:, None]
    weights = np.full(len(time), 4.0)  # Simpson
    weights[::2], weights[[0, -1]] = 2.0, 1.0
    for name, rate in (("linear_momentum", force), ("angular_momentum", torque + np.cross(point, force))):
        change = getattr(audit, name)[-1] - getattr(audit, name)[0]
        np.testing.assert_allclose(change, 0.002 / 3.0 * weights @ (factor * rate), rtol=0.0, atol=2e-6)


def test_several_loads_add_up():
    model = satellite()
    model.add(Load("a", body="hub", force=FORCE))
    model.add(Load("b", body="hub", force=lambda t, state: 2.0 * FORCE))
    model.add(Load("c", beam="right", node=1, force=-FORCE, profile=Constant(3.0)))
    system = System(model)
    q, v = deformed(system)
    u = system.inputs_at(0.7, q, v)
    np.testing.assert_array_equal(u, [1.0, *(2.0 * FORCE), 3.0])
    added = added_acceleration(system, u, q, v)
    rates = system.energy_momentum(q[None], added[None])[0, 2:]
    np.testing.assert_allclose(rates[:3], 0.0, atol=1e-12)


# Tangent


@every_place
@both_frames
@pytest.mark.parametrize("kind", ["force", "torque"])
def test_load_stiffness(where, frame, kind):
    """Against central differences of the residual, less those without the load; the load large against the beam."""
    given = {kind: 1e3 * (FORCE if kind == "force" else TORQUE)}
    model = satellite()
    model.add(Load("push", frame=frame, **given, **PLACES[where]))
    system = System(model)
    q, v = deformed(system, 3)
    u = np.ones(1)

    def applied(q):
        return (
            system.residual(u[None], q[None], *np.zeros((2, 1, system.n_v)))[0]
            - system.residual(0.0 * u[None], q[None], *np.zeros((2, 1, system.n_v)))[0]
        )

    h = 1e-5
    columns = []
    for x in np.eye(system.n_v):
        dq = system.rates(q[None], x[None])[0]
        columns.append((applied(q + h * dq) - applied(q - h * dq)) / (2.0 * h))
    wanted = np.array(columns).T
    for matrices in (lambda u: system.matrices(u, q, v)[2], lambda u: system.tangent(u, q, v, 0.0 * v)[1]):
        got = system.pattern.to_csc(matrices(u) - matrices(0.0 * u)).toarray()
        np.testing.assert_allclose(got, wanted, rtol=0.0, atol=2e-7 * 1e3)
    # a torque in the frame's axes is constant in them, and so is a force in inertial axes on the frame's origin
    at_origin = system.layout.station(model.loads["push"].on).on_frame
    constant = (frame, kind) == ("body", "torque") or (frame == "inertial" and kind == "force" and at_origin)
    assert np.max(np.abs(wanted)) < 1e-4 if constant else np.max(np.abs(wanted)) > 100.0


# Callables


@pytest.mark.slow
def test_callable_sees_the_state():
    """Names, shapes, and values equal to those recorded."""
    seen = {}

    def push(t, state):
        hub, right = state.bodies["hub"], state.beams["right"]
        seen[t] = (hub.position, hub.quaternion, hub.velocity, hub.angular_velocity, right.nodes[-1].position)
        assert state.time == t
        assert sorted(state.bodies) == ["hub", "mast"]
        assert list(state.beams) == ["right", "left"]
        assert len(right.nodes) == 3
        assert right.strain.shape == (2, 2)
        np.testing.assert_array_equal(state.bodies["mast"].position, [0, 0, -9])
        np.testing.assert_array_equal(state.bodies["mast"].velocity, [0, 0, 0])
        with pytest.raises(KeyError, match="no 'box'; there are 'hub', 'mast'"):
            state.bodies["box"]
        return -3.0 * hub.position - 0.5 * hub.velocity

    model = satellite(velocity=(0.1, 0.2, 0.3))
    model.add(Ground("mast", position=(0, 0, -9)))
    model.add(Load("spring", body="hub", force=push))
    results = simulate(model, duration=0.02, output_interval=0.005)
    final = seen[results.time[-1]]  # the recorder asks at the very output times
    hub, beam = results.bodies["hub"], results.beams["right"]
    for got, wanted in zip(
        final, (hub.position, hub.quaternion, hub.velocity, hub.angular_velocity, beam.position[:, -1]), strict=True
    ):
        np.testing.assert_array_equal(got, wanted[-1])


@pytest.mark.parametrize(
    "options", [{"method": "radau", "rtol": 1e-9}, {"method": "rk", "rtol": 1e-10, "atol": Tolerances(1e-9)}]
)
def test_spring_and_damper_by_callable(options):
    """A damped oscillator in closed form; work of spring and damper is what the mass loses."""
    m, k, c, x0 = 2.0, 50.0, 3.0, 0.4
    model = Model("oscillator")
    model.add(PointMass("m", mass=m, position=(x0, 0, 0)))
    model.add(Load("spring", body="m", force=lambda t, s: -k * s.bodies["m"].position - c * s.bodies["m"].velocity))
    results = simulate(model, duration=2.0, output_interval=0.1, **options)
    t = results.time
    decay, omega = c / (2 * m), np.sqrt(k / m - (c / (2 * m)) ** 2)
    x = x0 * np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))
    v = -x0 * np.exp(-decay * t) * (decay**2 / omega + omega) * np.sin(omega * t)
    np.testing.assert_allclose(results.bodies["m"].position[:, 0], x, rtol=0.0, atol=2e-7)
    np.testing.assert_allclose(results.bodies["m"].velocity[:, 0], v, rtol=0.0, atol=2e-6)
    np.testing.assert_allclose(results.audit.work, results.audit.kinetic_energy, rtol=0.0, atol=2e-6)


def test_callable_of_time_as_profile():
    model = of_parts(PointMass("m", mass=2.0), Load("push", body="m", force=(4.0, 0, 0), profile=lambda t: np.sin(t)))
    results = simulate(model, duration=2.0, output_interval=0.5, rtol=1e-9)
    wanted = 2.0 * (results.time - np.sin(results.time))
    np.testing.assert_allclose(results.bodies["m"].position[:, 0], wanted, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize(
    ("force", "message"),
    [
        (lambda t, state: 5.0, r"loads\.bad\.force: got 5\.0 at t = 0 s, wanted 3 numbers"),
        (lambda t, state: [1.0, 2.0], r"loads\.bad\.force: got \[1\.0, 2\.0\] at t = 0 s, wanted 3 numbers"),
        (lambda t, state: [np.nan, 0, 0], r"loads\.bad\.force: got \[nan, 0, 0\] at t = 0 s, which is not finite"),
    ],
)
def test_bad_callable_is_named(force, message):
    model = of_parts(PointMass("m", mass=2.0), Load("bad", body="m", force=force))
    refuses(message, simulate, model, duration=1.0, error=SolveError)


# Profiles


@pytest.mark.parametrize(
    ("profile", "impulse"),
    [
        (Versine(0.6, start=0.2), 0.3),
        (Step(0.3, duration=0.4), 0.4),
        (Table(times=(0.1, 0.3, 0.8), values=(0.0, 2.0, 0.0)), 0.7),
        (Constant(0.5), 0.5),
    ],
)
@pytest.mark.parametrize("method", ["radau", "rk"])
def test_impulse_of_a_profile(profile, impulse, method):
    """Steps land on the breakpoints, so that the impulse of a profile comes out to the tolerance and beyond."""
    model = of_parts(PointMass("m", mass=2.0), Load("push", body="m", force=(0, 3.0, 0), profile=profile))
    results = simulate(model, duration=1.0, output_interval=0.5, method=method, rtol=1e-8)
    np.testing.assert_allclose(results.bodies["m"].velocity[-1], [0, 1.5 * impulse, 0], rtol=0.0, atol=1e-8)


# Point masses


def test_force_on_a_point_mass():
    model = Model("points")
    for k, frame in enumerate(("inertial", "body")):
        model.add(PointMass(f"m{k}", mass=2.0, position=(k, 0, 0), velocity=(0, 0, 1)))
        model.add(Load(f"push{k}", body=f"m{k}", force=(2.0, 4.0, 0), frame=frame))
    results = simulate(model, duration=1.0, output_interval=0.25)
    t = results.time[:, None]
    for k in range(2):
        path = np.array([k, 0, 0]) + t * [0, 0, 1] + 0.5 * t**2 * [1, 2, 0]
        np.testing.assert_allclose(results.bodies[f"m{k}"].position, path, rtol=0.0, atol=1e-12)


def test_torque_on_a_point_mass_is_refused():
    model = of_parts(PointMass("m", mass=2.0), Load("turn", body="m", torque=(1, 0, 0)))
    refuses(r"loads\.turn\.body: got 'm', a point mass, which only takes forces", System, model)


def test_a_fixed_point_mass_is_a_small_rigid_body():
    """On a body and on a node: the same residual as a rigid body of that mass with its inertia left out."""
    model = Model("one", gravity=(0.3, 0.2, -1.0))
    model.add(RigidBody("hub", mass=2.0, inertia=(0.3, 0.2, 0.4), center_of_mass=(0.1, 0.2, 0.3)))
    model.add(PointMass("m", mass=0.5, on=model.bodies["hub"].at(OFFSET) and _on_hub()))
    whole = Model("sum", gravity=(0.3, 0.2, -1.0))
    centre = (2.0 * np.array([0.1, 0.2, 0.3]) + 0.5 * OFFSET) / 2.5
    inertia = np.diag([0.3, 0.2, 0.4])
    for mass, at in ((2.0, np.array([0.1, 0.2, 0.3])), (0.5, OFFSET)):
        d = at - centre
        inertia = inertia + mass * (d @ d * np.eye(3) - np.outer(d, d))
    whole.add(RigidBody("hub", mass=2.5, inertia=inertia, center_of_mass=centre))
    one, other = System(model), System(whole)
    q, v = deformed(one)
    a = np.arange(6.0)
    none = np.zeros((1, 0))
    np.testing.assert_allclose(
        one.residual(none, q[None], v[None], a[None]), other.residual(none, q[None], v[None], a[None]), atol=1e-13
    )
    np.testing.assert_allclose(
        one.energy_momentum(q[None], v[None]), other.energy_momentum(q[None], v[None]), atol=1e-13
    )


def _on_hub():
    from femb import Place

    return Place(body="hub", at=OFFSET)


# Gravity


@pytest.mark.parametrize(
    ("options", "rounding", "strain"),
    [({"rtol": 1e-6}, 1e-11, 1e-11), ({"method": "rk", "rtol": 1e-8, "atol": Tolerances(time=0.1)}, 1e-8, 1e-7)],
)
def test_free_fall_of_a_flexible_satellite(options, rounding, strain):
    """Without spin nothing bends: every node falls with g exactly, whatever the stiffness. (The explicit method, at its
    limit of stability, keeps rounding alive in the strains, up to what their absolute tolerance of 1e-7 lets pass.)"""
    g = np.array([0.5, -1.0, -9.0])
    model = satellite(gravity=g, velocity=(1.0, 2.0, 3.0))
    results = simulate(model, duration=1.0, output_interval=0.25, **options)
    t = results.time[:, None]
    fall = t * [1.0, 2.0, 3.0] + 0.5 * g * t**2
    for name in ("right", "left"):
        moved = results.beams[name].displacement
        np.testing.assert_allclose(moved, np.broadcast_to(fall[:, None], moved.shape), rtol=0.0, atol=10.0 * rounding)
        assert np.max(np.abs(results.beams[name].strain)) < strain
    np.testing.assert_allclose(results.audit.energy_error, 0.0, atol=100.0 * rounding)


@pytest.mark.slow
def test_mass_centre_falls_freely():
    """A spinning, bending satellite: its mass centre falls as a point would."""
    g = np.array([0.5, -1.0, -9.0])
    model = satellite(gravity=g, velocity=(1.0, 2.0, 3.0), angular_velocity=(2.0, 1.0, -1.5))
    system = System(model)
    mass, _, _ = mass_properties(system)
    results = simulate(model, duration=0.5, output_interval=0.1, rtol=1e-7)
    momentum = results.audit.linear_momentum
    wanted = momentum[0] + mass * results.time[:, None] * g
    np.testing.assert_allclose(momentum, wanted, rtol=0.0, atol=1e-7)
    assert np.ptp(results.beams["right"].deflection[:, -1], axis=0).max() > 1e-3  # it does bend


def test_potential_energy_of_gravity():
    """Lifted by h it gains m g h; turned about its mass centre, nothing."""
    g = np.array([0.5, -1.0, -9.0])
    system = System(satellite(gravity=g))
    mass, centre, _ = mass_properties(system)
    lift = np.array([1.0, 2.0, 3.0])
    states = [system.q0, system.q0.copy(), system.q0.copy()]
    turn = rotations.exponential(np.array([0.3, 0.4, 0.5]))
    for i in system.layout.frame_q:
        states[1][i : i + 3] += lift
        states[2][i : i + 3] = centre + rotations.rotate(turn, states[0][i : i + 3] - centre)
        states[2][i + 3 : i + 7] = rotations.multiply(turn, states[0][i + 3 : i + 7])
    potential = system.energy_momentum(np.array(states), np.zeros((3, system.n_v)))[:, 1]
    assert potential[1] - potential[0] == pytest.approx(-mass * g @ lift, rel=1e-12)
    assert potential[2] == pytest.approx(potential[0], rel=1e-12)


# Damping


@pytest.mark.parametrize("options", [{"rtol": 1e-7}, slow({"method": "rk", "rtol": 1e-8})])
def test_damping_dissipates_the_work_booked(options):
    """What is lost of kinetic and strain energy is the (negative) work, at every output; momenta stay."""
    model = satellite(damping=0.02, angular_velocity=(2.0, 1.0, -1.5))
    results = simulate(model, duration=0.5, output_interval=0.05, **options)
    audit = results.audit
    assert np.all(np.diff(audit.work) < 0.0)
    lost = audit.kinetic_energy[0] - (audit.kinetic_energy + audit.potential_energy)
    assert lost[-1] > 1e-3 * audit.kinetic_energy[0]
    np.testing.assert_allclose(lost, -audit.work, rtol=0.0, atol=1e-6 * audit.kinetic_energy[0])
    for name in ("linear_momentum", "angular_momentum"):
        momentum = getattr(audit, name)
        np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), rtol=0.0, atol=1e-6)


@pytest.mark.slow
def test_damping_ratio_of_a_mode():
    """Stiffness-proportional damping of time tau gives a mode of frequency omega the ratio tau omega / 2: the log
    decrement of a cantilever released from its first shape."""
    tau = 0.001
    boom = soft(damping=tau, youngs_modulus=1e10)
    beam = Beam("beam", section=boom, length=1.0, elements=2, start=Ground().at(direction=X))
    push = 0.1
    model = of_parts(beam, Load("hold", beam=beam.name, force=(0, 0, push), profile=Step(-1.0, duration=1.0 + 1e-9)))
    results = simulate(model, duration=2.0, output_interval=0.001, rtol=1e-7, start="equilibrium")
    z = results.beams["beam"].position[:, -1, 2]
    peaks = [k for k in range(1, len(z) - 1) if z[k - 1] < z[k] > z[k + 1]]
    heights, times = [], []
    for k in peaks:  # the peak of the parabola through three outputs
        a, b = 0.5 * (z[k + 1] - 2.0 * z[k] + z[k - 1]), 0.5 * (z[k + 1] - z[k - 1])
        heights.append(z[k] - b * b / (4.0 * a))
        times.append(results.time[k] - 0.001 * b / (2.0 * a))
    omega = 1.8751040687**2 * np.sqrt(1e10 * 2e-8 / (1000.0 * 1e-3)) * 1.00048
    period = np.diff(times)[2:].mean()
    ratio = 0.5 * tau * omega
    assert 2.0 * np.pi / period == pytest.approx(omega * np.sqrt(1.0 - ratio**2), rel=1e-3)
    decrement = -np.polyfit(times[2:], np.log(heights[2:]), 1)[0]
    assert decrement == pytest.approx(ratio * omega, rel=3e-3)


def test_free_beam_pushed_at_its_end():
    """The mass centre of a free flexible beam obeys Newton, however it bends."""
    beam = Beam("beam", section=soft(), length=1.0, elements=2, start=Attachment(direction=X))
    model = of_parts(beam, Load("push", beam=beam.name, node=-1, force=(0, 0, 0.05)))
    results = simulate(model, duration=0.5, output_interval=0.1)
    np.testing.assert_allclose(results.audit.linear_momentum[:, 2], 0.05 * results.time, rtol=0.0, atol=1e-9)
