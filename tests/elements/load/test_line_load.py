"""Distributed loads: virtual work by automatic differentiation, tangents, closed forms, a ring under pressure."""

import os
import subprocess
import sys

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from models import at_rest, bent, of_parts, refuses, soft_rod
from oracles import beam as plain
from oracles.alone import Alone
from oracles.finite_differences import only, residual_change

from femb import Beam, DistributedLoad, ExactBeam, Ground, Model, ModelError, RigidBody, simulate, static
from femb.elements.beam.strain import FEW, TWIST_POINTS, TWIST_WEIGHTS
from femb.elements.exact.line_load import ExactLineLoadBatch
from femb.elements.load.line_load_batch import LineLoadBatch
from femb.layout.state import State
from femb.numerics import rotations
from femb.profiles import Versine
from femb.statics.equilibrium import steady_start
from femb.system.system import System

X = (1.0, 0.0, 0.0)
RULE = (TWIST_POINTS[FEW:], TWIST_WEIGHTS[:, FEW:])
FORCE, TORQUE = [(0.3, -0.7, 0.4), (0.1, 0.5, -0.9), (-0.6, 0.2, 0.2)], [(0.2, 0.9, -0.5), (0.4, -0.3, 0.7)]


def loaded(frame, force=True, torque=True):
    """Curved and straight beams clamped off a hub, under two loads each."""
    model = Model()
    hub = model.add(RigidBody("hub", mass=1.7, inertia=(2.0, 1.5, 1.8), center_of_mass=(0.1, -0.2, 0.15)))
    soft = soft_rod(axial_stiffness=3.0, bending_stiffness=(0.8, 1.4), torsional_stiffness=1.1)
    right = hub.at((0.3, 0.1, -0.2), direction=(1, 0.4, 0.2), up=(0, 1, 2))
    model.add(Beam("right", soft, 2.4, 2, start=right, curvature=(0.1, 0.2, -0.3)))
    model.add(Beam("left", soft, 1.1, 1, end=hub.at((-0.2, 0.2, 0.1), direction=(0.3, -1, 0.5))))
    words = {name: value for name, value, given in (("force", FORCE, force), ("torque", TORQUE, torque)) if given}
    model.add(DistributedLoad("a", beam="right", frame=frame, **words))
    model.add(DistributedLoad("b", beam="left", frame=frame, **{name: value[1] for name, value in words.items()}))
    model.add(DistributedLoad("c", beam="right", frame=frame, **{name: value[0] for name, value in words.items()}))
    return model


def sections_at(beam, frames, eps):
    """Centreline (3, 3) and quaternions (3, 4) of the sections at the strain points, as the strains see them."""
    r, dr, ddr, p1, p2 = beam.centreline(frames, eps, beam.points)
    sigma = beam.transport(frames, eps)
    psi = sigma[:3] + beam.points * (beam.twist(p1, p2) - sigma[3])
    p, _ = beam.swung(dr, ddr, p1)
    zero = anp.zeros_like(psi)
    return r, plain.multiply(p, anp.stack([anp.cos(psi / 2), anp.sin(psi / 2), zero, zero], axis=-1))


def values_along(load, x):
    """Force and torque by their definition: through rows at equal distances of x in [0, 1]."""
    columns = []
    for rows in (load.force, load.torque):
        if rows is None:
            columns.append(np.zeros(3))
        else:
            at = np.linspace(0.0, 1.0, len(rows))
            lagrange = [np.prod([(x - b) / (a - b) for b in at if b != a]) for a in at]
            columns.append(np.array(lagrange) @ rows)
    return columns


@pytest.mark.slow
@pytest.mark.parametrize("frame", ["inertial", "body"])
@pytest.mark.parametrize("seed", range(2))
def test_virtual_work(frame, seed):
    """The work on every variation of centreline and sections of the interpolation, three Gauss points an element."""
    model = loaded(frame)
    system = System(model)
    q, v, _, u = bent(system, seed)
    oracle = plain.Oracle.__new__(plain.Oracle)
    bare = of_parts(*(*model.bodies.values(), *model.beams.values()))
    oracle.__init__(System(bare), RULE)
    of_beam = {"right": oracle.beams[:2], "left": oracle.beams[2:]}
    wanted = np.zeros(system.n_v)
    for load, factor in zip(model.loads.values(), u, strict=True):
        for k, (index, beam) in enumerate(of_beam[load.beam]):
            _, p_held = sections_at(beam, *oracle.arguments(index, q))
            for i, weight in enumerate(beam.weights):
                force, torque = values_along(load, (k + beam.points[i]) / len(of_beam[load.beam]))
                if frame == "body":
                    force = plain.rotate(p_held[i], force)
                else:
                    torque = plain.rotate(plain.conjugate(p_held[i]), torque)
                turning = plain.turning_force(p_held[i], torque)

                def work(x, index=index, beam=beam, i=i, force=force, turning=turning):
                    r, p = sections_at(beam, *oracle.arguments(index, x))
                    return anp.dot(r[i], force) + anp.dot(p[i], turning)

                wanted += factor * weight * beam.length * oracle.to_velocities(q, grad(work)(q))
    got = np.zeros((1, system.n_v))
    for batch in system.batches:
        Alone(system, batch).nonconservative_force(u[None], q[None], v[None], got)
    np.testing.assert_allclose(got[0], wanted, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("frame", ["inertial", "body"])
@pytest.mark.parametrize(("force", "torque"), [(True, False), (False, True), (True, True)])
def test_exact_tangent(frame, force, torque):
    system = only(loaded(frame, force, torque), LineLoadBatch)
    q, v, a, u = bent(system, 3)
    damping, stiffness = system.tangent(u, q, v, a)
    assert not damping.any()
    dense = system.pattern.to_csc(stiffness).toarray()
    for dx in np.random.default_rng(9).standard_normal((4, system.n_v)):
        wanted = residual_change(system, q, v, a, u, dx, 0.0 * dx)
        np.testing.assert_allclose(dense @ dx, wanted, atol=1e-9 * np.abs(wanted).max())
    if not torque:
        np.testing.assert_array_equal(system.matrices(u, q, v)[2], stiffness)


@pytest.mark.parametrize("frame", ["inertial", "body"])
def test_resultant(frame):
    """The rates of the momenta that a load adds are its resultant and its moment about the origin."""
    model = Model()
    hub = model.add(RigidBody("hub", mass=1.7, inertia=(2.0, 1.5, 1.8)))
    model.add(Beam("b", soft_rod(), 2.0, 3, start=hub.at((0.3, 0.1, -0.2), direction=(1, 0.4, 0.2))))
    model.add(DistributedLoad("a", beam="b", force=FORCE, torque=TORQUE, frame=frame))
    system = System(model)
    q, v = system.q0, np.zeros(system.n_v)
    force = np.zeros((1, system.n_v))
    Alone(system, system.batches[-1]).nonconservative_force(np.ones((1, 1)), q[None], v[None], force)
    got = system.rigid_velocities(q) @ force[0]
    x, w = np.polynomial.legendre.leggauss(5)
    x, w = 0.5 + 0.5 * x, w  # length 2
    root = State(system.layout, 0.0, q, v).beams["b"].nodes[0]
    axes = rotations.rotation_matrix(root.quaternion)
    wanted = np.zeros(6)
    for xi, wi in zip(x, w, strict=True):
        f, c = values_along(model.loads["a"], xi)
        if frame == "body":
            f, c = axes @ f, axes @ c
        point = root.position + 2.0 * xi * axes[:, 0]
        wanted += wi * np.concatenate([f, c + np.cross(point, f)])
    np.testing.assert_allclose(got, wanted, atol=1e-13)


# Closed forms


def cantilever(elements=3, **words):
    return of_parts(
        Beam("b", soft_rod(), 2.0, elements, start=Ground().at(direction=X)), DistributedLoad("q", beam="b", **words)
    )


SMALL = 1e-5
LOADS = {
    # force rows, tip deflection times EI / L^4, tip slope times EI / L^3
    "uniform": ([1.0], 1 / 8, 1 / 6),
    "falling to the tip": ([1.0, 0.0], 1 / 30, 1 / 24),
    "rising to the tip": ([0.0, 1.0], 11 / 120, 1 / 8),
    "parabola": ([0.0, 0.25, 1.0], 13 / 180, 1 / 10),
}


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("frame", ["inertial", "body"])
def test_cantilever(name, frame):
    rows, deflection, slope = LOADS[name]
    nodes, forces = at_rest(cantilever(force=[(0.0, SMALL * row, 0.0) for row in rows], frame=frame))
    assert nodes[-1].position[1] == pytest.approx(deflection * SMALL * 2.0**4 / 5.0, rel=1e-7)
    assert 2.0 * nodes[-1].quaternion[3] == pytest.approx(slope * SMALL * 2.0**3 / 5.0, rel=1e-7)
    # all that acts outwards of the root, and nothing outwards of the tip
    coefficients = np.polyfit(np.linspace(0, 2, len(rows)), rows, len(rows) - 1)
    total, moment = (np.polyval(np.polyint(np.append(coefficients, [0.0] * k)), 2.0) for k in (0, 1))
    np.testing.assert_allclose(forces[0, 0, [1, 5]], SMALL * np.array([total, moment]), rtol=1e-7)
    assert abs(forces[-1, 1, 0]) < 1e-15 * 1e6
    np.testing.assert_allclose(forces[-1, 1, 1:], 0.0, atol=1e-8 * SMALL)


def test_axial_and_twisting_loads():
    """Free of bending: q L^2 / 2 EA and m L^2 / 2 GJ at the tip."""
    nodes, forces = at_rest(cantilever(force=(40.0, 0, 0), torque=(1e-4, 0, 0)))
    assert nodes[-1].position[0] - 2.0 == pytest.approx(40.0 * 2.0**2 / 2e6, rel=1e-9)
    assert 2.0 * nodes[-1].quaternion[1] == pytest.approx(1e-4 * 2.0**2 / (2.0 * 2.0), rel=1e-6)
    np.testing.assert_allclose(forces[:, 0, 0], 40.0 * 2.0 * np.array([1, 2 / 3, 1 / 3]), rtol=1e-9)


def test_bending_moment_along_the_beam():
    """m per length about z: the slope m L^2 / 2 EI and the deflection m L^3 / 3 EI of the tip."""
    nodes, _ = at_rest(cantilever(torque=(0, 0, SMALL)))
    assert 2.0 * nodes[-1].quaternion[3] == pytest.approx(SMALL * 2.0**2 / (2.0 * 5.0), rel=1e-7)
    assert nodes[-1].position[1] == pytest.approx(SMALL * 2.0**3 / (3.0 * 5.0), rel=1e-7)


def test_a_function_is_a_polynomial_where_it_is_one():
    quadratic = {"force": [(0, 0, 0), (0, 0.25, 0.5), (0, 1, 2)]}
    given, _ = at_rest(cantilever(**quadratic))
    called, _ = at_rest(cantilever(force=lambda s: (0.0, (s / 2.0) ** 2, 2.0 * (s / 2.0) ** 2)))
    np.testing.assert_allclose(called[-1].position, given[-1].position, atol=1e-13)


def test_weight_is_a_distributed_load():
    """Gravity on the mass per length, and the same as a load: the same large deflection."""
    model = of_parts(Beam("b", soft_rod(), 2.0, 4, start=Ground().at(direction=X)), gravity=(0, -9.0, 0))
    wanted, _ = at_rest(model)
    got, forces = at_rest(cantilever(4, force=(0, -9.0 * 0.7, 0)))
    assert got[-1].position[1] < -0.9
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one.position, other.position, atol=1e-9)
    # the reaction of the ground carries all of it
    np.testing.assert_allclose(np.hypot(*forces[0, 0, :2]), 9.0 * 0.7 * 2.0, rtol=1e-9)


def ring(pressure, elements=16):
    """A ring of radius 1 with pressure from outside, closed by a speck of a body; soft in its plane only."""
    model = Model()
    speck = model.add(RigidBody("speck", mass=1e-3, inertia=1e-6))
    rod = soft_rod(bending_stiffness=(1e3, 1.0), torsional_stiffness=1e3, axial_stiffness=1e6)
    ends = {"start": speck.at(direction=X), "end": speck.at(direction=X)}
    model.add(Beam("b", rod, 2.0 * np.pi, elements, **ends, curvature=(0, 0, 1.0)))
    model.add(DistributedLoad("p", beam="b", force=(0, pressure, 0), frame="body"))
    return System(model)


def test_ring_under_pressure():
    """N = -p R in the ring, which shrinks by p R^2 / EA."""
    system = ring(2.0)
    q, v = steady_start(system)
    beam = State(system.layout, 0.0, q, v).beams["b"]
    np.testing.assert_allclose(beam.strain, -2.0 / 1e6, rtol=2e-2)
    centre = np.mean([node.position for node in beam.nodes[:-1]], axis=0)
    radius = np.linalg.norm([node.position - centre for node in beam.nodes], axis=1)
    np.testing.assert_allclose(radius - 1.0, -2e-6, rtol=2e-2)


@pytest.mark.slow
def test_buckling_of_a_ring():
    """A pressure that follows the ring buckles it at 3 EI / R^3 (Levy 1884); one that did not turn with it, at 4."""

    def lowest(pressure, elements):
        system = ring(pressure, elements)
        q, v = steady_start(system)
        u = system.inputs_at(0.0, q, v)
        stiffness = system.pattern.to_csc(system.tangent(u, q, v, 0.0 * v)[1]).toarray()
        squares = np.linalg.eigvals(np.linalg.solve(system.mass_matrix(q).toarray(), stiffness)).real
        # after six rigid motions comes the mode that makes the ring oval
        return np.sort(squares[np.abs(squares) > 1e-2])[0]

    errors = []
    for elements in (16, 32):
        one, two = lowest(1.0, elements), lowest(2.0, elements)
        # the square of the frequency falls with the pressure along a straight line
        errors.append(1.0 + one / (one - two) - 3.0)
    assert 0.0 < errors[1] < 0.03
    assert errors[0] > 4.0 * errors[1]


@pytest.mark.parametrize("kind", [Beam, ExactBeam])
@pytest.mark.parametrize("word", ["force", "torque"])
def test_rows_at_stations(kind, word):
    """On 1 m to 3 m of a cantilever of 4 m, linear between stations at nodes: the reactions at the root."""
    rows = np.array([(0.0, 2.0, 1.0), (0.0, 4.0, -3.0), (0.0, 1.0, 0.0)])
    model = Model()
    model.add(kind("b", soft_rod(axial_stiffness=100.0), 4.0, 4, start=Ground().at(direction=X)))
    model.add(DistributedLoad("q", beam="b", stations=(1.0, 2.0, 3.0), **{word: 1e-6 * rows}))
    beam = static(model, steps=1).beams["b"]
    total = 0.5 * rows[0] + rows[1] + 0.5 * rows[2]
    # the linear pieces about the origin: integral of s over each
    first = [(rows[k] * (k + 4.0 / 3.0) + rows[k + 1] * (k + 5.0 / 3.0)) / 2.0 for k in range(2)]
    moment = np.cross(X, sum(first)) if word == "force" else total
    np.testing.assert_allclose(beam.section_moment[-1, 0, 0], 1e-6 * moment, rtol=1e-5, atol=1e-11)
    if word == "force":
        np.testing.assert_allclose(beam.section_force[-1, 0, 0], 1e-6 * total, rtol=1e-5, atol=1e-11)
    np.testing.assert_allclose(beam.section_moment[-1, 3], 0.0, atol=1e-11)


def test_stations_beyond_the_beam():
    model = Model()
    model.add(Beam("b", soft_rod(), 1.0, 2, start=Ground().at(direction=X)))
    model.add(DistributedLoad("q", beam="b", stations=(0.0, 2.0), force=[X, X]))
    refuses(r"loads.q.stations: got stations from 0 to 2 m, wanted them within 0 and 1 m", System, model)


@pytest.mark.slow
def test_power_of_a_load():
    """What a turning load does on a free beam is the energy of the audit."""
    model = Model()
    hub = model.add(RigidBody("hub", mass=1.0, inertia=0.1, angular_velocity=(0.2, 0.1, 0.3)))
    model.add(Beam("b", soft_rod(), 2.0, 3, start=hub.at(direction=X)))
    model.add(DistributedLoad("q", beam="b", force=[(0, 0, 0), (0.3, 2.0, -1.0)], torque=(0.1, 0, 0.2), frame="body",
                              profile=Versine(1.0)))  # fmt: skip
    results = simulate(model, duration=2.0, output_interval=0.1, rtol=1e-7)
    assert results.audit.work.max() > 0.1
    np.testing.assert_allclose(results.audit.energy_error, 0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({}, "force"),
        ({"force": (1.0, 2.0)}, "force"),
        ({"force": [(1.0, 2.0, 3.0)] * 4}, "force"),
        ({"torque": [(1.0, 2.0, float("nan"))]}, "torque"),
        ({"torque": "up"}, "torque"),
        ({"force": (1, 2, 3), "frame": "euler"}, "frame"),
        ({"force": [X, X], "stations": (1.0, 0.0)}, "stations"),
        ({"force": [X, X], "stations": (1.0,)}, "stations"),
        ({"force": [X, X], "stations": (0.0, 1.0, 2.0)}, "force"),
        ({"force": lambda s: X, "stations": (0.0, 1.0)}, "force"),
    ],
)
def test_refused(words, field):
    with pytest.raises(ModelError) as caught:
        DistributedLoad("q", beam="b", **words)
    assert [problem.item for problem in caught.value.problems] == [("loads", "q", field)]


def exact_and_loaded():
    """Free exact beams off a hub, under loads in both frames, of forces and torques of all degrees."""
    model = Model()
    hub = model.add(RigidBody("hub", mass=1.7, inertia=(2.0, 1.5, 1.8)))
    soft = soft_rod(axial_stiffness=3.0, bending_stiffness=(0.8, 1.4), torsional_stiffness=1.1)
    model.add(ExactBeam("b", soft, 2.4, 2, start=hub.at((0.3, 0.1, -0.2), direction=(1, 0.4, 0.2), up=(0, 1, 2))))
    for frame in ("inertial", "body"):
        model.add(DistributedLoad(f"both {frame}", beam="b", frame=frame, force=FORCE, torque=TORQUE))
    return model


def check_tangent_of_exact_beams(directions=4):
    """The tangent of loads on exact beams against differences of their forces; along one direction as plain Python."""
    system = only(exact_and_loaded(), ExactLineLoadBatch)
    q, v, a, u = bent(system, 3)
    _, stiffness = system.tangent(u, q, v, a)
    dense = system.pattern.to_csc(stiffness).toarray()
    for dx in np.random.default_rng(9).standard_normal((directions, system.n_v)):
        wanted = residual_change(system, q, v, a, u, dx, 0.0 * dx)
        assert np.abs(wanted).max() > 0.1
        np.testing.assert_allclose(dense @ dx, wanted, atol=1e-7 * np.abs(wanted).max())


def test_exact_tangent_of_exact_beams():
    check_tangent_of_exact_beams()


@pytest.mark.slow
def test_tangent_of_exact_beams_stays_within_its_arrays():
    """The same in plain Python, where numpy refuses an index past the end of an array; compiled it would overwrite."""
    words = f"import runpy; runpy.run_path({__file__!r})['check_tangent_of_exact_beams'](1)"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
