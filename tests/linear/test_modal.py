"""Modal models: quadratic forces and changes of mass of shapes against the System's own, files, and what is refused."""

import time

import numpy as np
import pytest
from checkout import ROOT
from models import of_parts, refuses
from scipy.integrate import solve_ivp
from shared_runs import said
from system.test_inertia_tensor import MODELS, section, state

import femb
from femb.elements.beam import batch as beam_batch
from femb.linear.modal_model import MassChange
from femb.numerics.rotations import exponential, multiply, rotate_back
from femb.system.system import System
from femb.thompson import gyroscopic_force, mass_derivative

X = (1.0, 0.0, 0.0)


def winged(**words):
    """A free body off its mass centre with two beams, one with a body at its tip."""
    model = femb.Model("winged")
    hub = model.add(
        femb.RigidBody(
            "hub", 3.0, (0.3, 0.4, 0.5), (0.05, 0.02, -0.03), position=(1, 2, 3), euler_angles=(0.3, 0.2, -0.4)
        )
    )
    tip = model.add(femb.RigidBody("tip", mass=0.3, inertia=0.02, center_of_mass=(0.1, 0.0, 0.05)))
    soft = section(**words)
    at = hub.at((0.2, 0.1, 0), direction=X)
    model.add(femb.Beam("boom", soft, 1.0, 2, start=at, end=tip.at((-0.1, 0, 0))))
    model.add(femb.Beam("fin", soft, 0.7, 2, start=hub.at((-0.2, 0, 0.1), direction=(0, 1, 0.3))))
    model.add(femb.Load("slew", body="hub", torque=(0, 0, 1.0), frame="body"))
    return model


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["body off its mass centre", "cantilever", "satellite"])
def test_quadratic_forces_of_any_shapes_are_the_gyroscopic_force(name, seed):
    """On a basis and off it, at deformed states; their power is that of the changing mass."""
    system = System(MODELS[name]())
    q, _ = state(system, seed)
    shapes = np.random.default_rng(seed).standard_normal((system.n_v, min(5, system.n_v)))
    change = MassChange(system, q)
    G, D = change.quadratic(shapes), change.projected(shapes)
    np.testing.assert_array_equal(G, G.swapaxes(1, 2))
    units = np.eye(len(G))
    for x in (*units, units[0] + units[1], np.random.default_rng(9).standard_normal(len(G))):
        both = np.stack([shapes @ x, np.zeros(system.n_v)])
        u = np.tile(system.inputs_at(0.0, q, both[0]), (2, 1))
        force = system.residual(u, np.stack([q, q]), both, np.zeros_like(both))
        wanted = shapes.T @ (force[0] - force[1])
        np.testing.assert_allclose(G @ x @ x, wanted, rtol=0.0, atol=1e-12 * np.abs(wanted).max() + 1e-13)
        assert x @ (G @ x @ x) == pytest.approx(0.5 * x @ (D @ x) @ x, abs=1e-12 * np.abs(G).max() * len(G) ** 2)
    dense = mass_derivative(system, q).todense()
    wanted = np.einsum("ijk,ia,jb,kc->abc", dense, shapes, shapes, shapes, optimize=True)
    np.testing.assert_allclose(D, wanted, atol=1e-13 * np.abs(wanted).max() * len(q))


def moved(system, modal, p):
    """The System's coordinates with the frame as it is and elastic coordinates p: positions add, turns are vectors."""
    q, move = modal.q.copy(), modal.shapes @ p
    for k, frame in enumerate(system.layout.frames):
        i, j = system.layout.frame_q[k], system.layout.frame_v[k]
        if frame.freedom:
            q[i : i + 3] += move[j : j + 3]
        if frame.freedom == 6:
            q[i + 3 : i + 7] = multiply(q[i + 3 : i + 7], exponential(move[j + 3 : j + 6]))
    q[system.layout.internal_q] += move[system.layout.internal_v]
    return q


def shapes_at(system, modal, p):
    """Velocities by speeds at elastic coordinates p, by central differences of positions and attitudes."""
    q = moved(system, modal, p)
    motions = system.rigid_velocities(q)
    turns = motions[3:] - np.cross(np.eye(3), modal.origin) @ motions[:3]
    columns = [*(modal.axes.T @ motions[:3]), *(modal.axes.T @ turns)][: modal.rigid]
    for c in range(modal.rigid, len(p)):
        h, step = 1e-3, np.eye(len(p))[c]
        rate = sum(
            w * (moved(system, modal, p + k * h * step) - moved(system, modal, p - k * h * step))
            for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))
        ) / (60.0 * h)
        columns.append(system.tangents(q, rate[None])[0])
    return q, np.array(columns).T


@pytest.mark.parametrize("held", [None, "hub"])
def test_the_mass_changes_as_the_structure_is_deformed(held):
    """Of frame and elastic coordinates, against differences of order 6 in a floating frame written out here."""
    modal = femb.modal_model(winged(), 4, held=held)
    system, m = System(winged()), len(modal.names)
    assert modal.rigid == 6
    assert m == 10

    def mass(p):
        q, shapes = shapes_at(system, modal, p)
        return shapes.T @ system.mass_matrix(q) @ shapes

    np.testing.assert_allclose(mass(np.zeros(m)), modal.mass, atol=1e-8 * np.abs(modal.mass).max())
    scale = np.abs(modal.mass_change).max()
    assert np.abs(modal.mass_change[:, :, :6]).max() < 1e-12 * scale  # it moves as a whole
    for c in range(6, m):
        h, step = 1e-3, np.eye(m)[c]
        terms = [w * (mass(k * h * step) - mass(-k * h * step)) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))]
        np.testing.assert_allclose(modal.mass_change[:, :, c], sum(terms) / (60.0 * h), atol=1e-7 * scale)
    p = np.r_[np.zeros(6), 0.01, -0.02, 0.01, 0.005]
    np.testing.assert_allclose(modal.mass_at(p), modal.mass + modal.mass_change @ p)


@pytest.mark.parametrize("held", [None, "hub"])
def test_quadratic_forces_are_those_of_the_system(held):
    """On the basis of speeds and off it: Phi^T (h + M (dPhi/dt) x) of the System, and their power."""
    modal = femb.modal_model(winged(), 4, held=held)
    system, m = System(winged()), len(modal.names)
    u = np.tile(system.inputs_at(0.0, modal.q, np.zeros(system.n_v)), (2, 1))
    rng, units = np.random.default_rng(3), np.eye(m)
    pairs = [units[i] + units[j] for i in range(m) for j in range(i, m)]
    for x in (*units, *pairs, rng.standard_normal(m)):
        V = modal.shapes @ x
        # how the shapes change: what is carried turns with the frame; levers and attitudes of what is deformed
        carried = np.zeros(system.n_v)
        w = modal.axes @ x[3:6]
        elastic = modal.shapes[:, 6:] @ x[6:]
        for i, j in zip(system.layout.frame_q, system.layout.frame_v, strict=True):
            own = rotate_back(modal.q[i + 3 : i + 7], w)
            carried[j : j + 3] = np.cross(w, V[j : j + 3]) + np.cross(w, elastic[j : j + 3])
            carried[j + 3 : j + 6] = -np.cross(elastic[j + 3 : j + 6], own)
        both = np.stack([V, 0.0 * V]), np.stack([carried, 0.0 * V])
        force = system.residual(u, np.stack([modal.q, modal.q]), *both)
        wanted = modal.shapes.T @ (force[0] - force[1])
        np.testing.assert_allclose(modal.quadratic_force(x), wanted, atol=1e-12 * np.abs(modal.quadratic).max() * 4)
        power = 0.5 * x @ (modal.mass_change @ x) @ x
        assert x @ modal.quadratic_force(x) == pytest.approx(power, abs=1e-11 * np.abs(modal.quadratic).max())


def test_a_rigid_structure_is_left_with_eulers_equation():
    """About its mass centre, with inertial axes at the start: omega x J omega, and m omega x v."""
    modal = femb.modal_model(winged(), 1)
    J, m = modal.mass[3:6, 3:6], modal.mass[0, 0]
    np.testing.assert_allclose(modal.mass[:3, :6], np.hstack([m * np.eye(3), np.zeros((3, 3))]), atol=1e-12 * m)
    v, w = np.random.default_rng(0).standard_normal((2, 3))
    force = modal.quadratic_force(np.r_[v, w, 0.0])[:6]
    np.testing.assert_allclose(force[:3], m * np.cross(w, v), atol=1e-12 * m)
    np.testing.assert_allclose(force[3:], np.cross(w, J @ w), atol=1e-12 * m)


def test_a_spinning_rod_is_stretched_by_its_quadratic_force():
    """A free rod with the shape of uniform strain: inertia m l^2 (1 + strain)^2 / 12 about its middle."""
    model = femb.Model("rod")
    model.add(femb.Beam("rod", section(youngs_modulus=2e9), 2.0, 2, start=femb.Attachment(at=(-1, 0, 0), direction=X)))
    layout = System(model).layout
    stretch = np.zeros(layout.n_v)
    for k, station in enumerate(layout.beams["rod"].stations):
        stretch[layout.frame_v[station.frame]] = k - 1.0
    stretch[layout.internal_v] = 1.0
    modal = femb.modal_model(model, shapes=stretch[:, None])
    inertia = 1000.0 * 0.03 * 2.0**3 / 12.0
    assert modal.mass_change[5, 5, 6] == pytest.approx(2.0 * inertia, rel=1e-12)
    assert modal.quadratic[6, 5, 5] == pytest.approx(-inertia, rel=1e-12)
    assert 2.0 * modal.quadratic[5, 5, 6] == pytest.approx(2.0 * inertia, rel=1e-12)
    assert modal.stiffness[6, 6] == pytest.approx(2e9 * 0.03 * 2.0, rel=1e-10)


@pytest.mark.parametrize("held", [None, "hub"])
def test_damping_in_proportion_to_the_stiffness_stays_so(held):
    modal = femb.modal_model(winged(damping=3e-4), 4, held=held)
    size = np.abs(modal.stiffness).max()
    np.testing.assert_allclose(modal.damping, 3e-4 * modal.stiffness, rtol=0.0, atol=3e-4 * 1e-9 * size)
    assert size > 0.0


@pytest.mark.slow
def test_it_moves_as_the_model_does():
    """A slew of the satellite: rates of the hub and of the shapes by the modal model against a run of the whole."""
    model = winged(youngs_modulus=2e5, shear_modulus=1e5)
    model.tables["loads"].clear()
    model.add(femb.Load("slew", body="hub", torque=(0, 0.05, 0.1), frame="body"))
    modal = femb.modal_model(model, 28, held="hub")
    m, duration = len(modal.names), 1.5
    force = modal.forces @ np.ones(1)

    def rate(t, y):
        return np.r_[y[m:], modal.acceleration(np.r_[np.zeros(6), y[: m - 6]], y[m - 6 :], force)]

    options = {"method": "LSODA", "rtol": 1e-7, "atol": 1e-10}
    results = femb.simulate(model, duration=duration, output_interval=duration / 10, rtol=1e-6)
    got = solve_ivp(rate, (0, duration), np.zeros(2 * m - 6), t_eval=results.time, **options).y
    spin = results.bodies["hub"].angular_velocity
    np.testing.assert_allclose(got[m - 3 : m].T, spin, atol=2e-3 * np.abs(spin).max())


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
def test_files_give_everything_back(tmp_path, suffix):
    modal = femb.modal_model(winged(), 5)
    path = modal.write(tmp_path / f"folder/modal{suffix}")
    if suffix == ".npz":
        back = femb.ModalModel.read(path)
        assert (back.names, back.velocities, back.inputs) == (modal.names, modal.velocities, modal.inputs)
        np.testing.assert_array_equal(back.quadratic, modal.quadratic)
        np.testing.assert_array_equal(back.shapes, modal.shapes)
        return
    arrays = femb.Results.read(path).static
    np.testing.assert_array_equal(arrays["modal/quadratic"], modal.quadratic)
    assert tuple(map(str, arrays["modal/velocities"])) == modal.velocities


def test_what_is_refused(tmp_path):
    model = winged()
    n = System(model).n_v
    refuses(f"modes: got 99, wanted a whole number from 1 to {n - 6}", femb.modal_model, model, 99)
    refuses(f"wanted {n} rows, one for each velocity", femb.modal_model, model, shapes=np.ones((3, 2)))
    refuses(r"they move bodies\.hub, which is held", femb.modal_model, model, shapes=np.ones((n, 1)), held="hub")
    refuses("got modes and shapes", femb.modal_model, model, 2, shapes=np.ones((n, 1)))
    refuses("wanted one of hub, tip", femb.modal_model, model, 2, held="wing")
    with pytest.raises(femb.ModelError, match="depend on each other, or on motions as a rigid body"):
        femb.modal_model(model, shapes=System(model).rigid_velocities(System(model).q0)[:1].T)
    modal = femb.modal_model(model, 2)
    refuses(r"speeds: got .*, wanted 8 numbers", modal.quadratic_force, [1.0])
    refuses(r"must be one of \.npz, \.h5", modal.write, tmp_path / "modal.csv", error=femb.ResultError)
    refuses("cannot be read as a modal model", femb.ModalModel.read, tmp_path / "none.npz", error=femb.ResultError)
    model.add(femb.RigidBody("bob", mass=1.0, inertia=0.1))
    model.add(femb.Revolute("pin", femb.JointEnd("tip", axis=(0, 0, 1)), femb.JointEnd("bob")))
    refuses(r"is for one structure, got joints\.pin: take the parts between joints", femb.modal_model, model, 2)


def test_the_command_writes_them(tmp_path):
    case = str(ROOT / "cases" / "satellite_free.toml")
    done = said("modal", case, "--modes", "4", "--held", "hub", "--out", tmp_path)
    assert "angular velocity z\nmode 1, " in done
    assert femb.ModalModel.read(tmp_path / "modal.npz").rigid == 6
    assert "modal/quadratic" in femb.Results.read(tmp_path / "modal.h5").static
    done = said("modal", case, "--held", "wing", "--force", "--out", tmp_path, code=2)
    assert "held: got 'wing', wanted one of hub" in done


def bent(frame):
    beam = femb.Beam(
        "c", section(youngs_modulus=2e6, shear_modulus=1e6), 2.0, 2, start=femb.Attachment(body="ground", direction=X)
    )
    return of_parts(
        beam, femb.Load("tip", beam="c", node=-1, force=(-30.0, 0, 10.0), frame=frame), gravity=(0, 0, -9.81)
    )


def test_forces_that_follow_the_motion_have_no_modes():
    with pytest.raises(femb.ModelError, match=r"the stiffness .* is not symmetric, .* forces follow the motion"):
        femb.modal_model(bent("body"), 1, start="equilibrium")
    refuses("is not symmetric, so that it has no real modes", femb.modes, bent("body"), 1, start="equilibrium")
    assert femb.modes(bent("inertial"), 1, start="equilibrium").frequencies[0] > 0.0
    # as an input the same force is welcome, and dead loads have modes
    assert femb.modal_model(bent("body"), 1).inputs == ("loads.tip.force.factor",)
    found = femb.modal_model(bent("inertial"), 2, start="equilibrium")
    assert found.rigid == 0
    assert np.abs(found.q - femb.modal_model(bent("inertial"), 2).q).max() > 1e-3
    assert found.frequencies[0] > 0.0


def test_a_hundred_elements_take_a_tenth_of_a_second(monkeypatch):
    """Fourteen calls of the kernel however many elements there are; once each velocity it was seven hundred."""
    model = of_parts(femb.Beam("c", section(), 1.0, 100, start=femb.Attachment(body="ground", direction=X)))
    calls, kernel = [], beam_batch.tangent
    monkeypatch.setattr(beam_batch, "tangent", lambda *args: calls.append(1) or kernel(*args))
    system = System(model)
    q, v = state(system, 5)
    q = system.q0 + 0.02 * (q - system.q0)
    system.normalise(q)
    taken = []
    for _ in range(5):
        start = time.process_time()
        tensor = mass_derivative(system, q)
        taken.append(time.process_time() - start)
    assert len(calls) == 5 * 14
    assert min(taken) < 0.1
    # 14 velocities an element, that of the ground left out
    assert tensor.nnz <= 99 * 14**3 + 8**3
    force = gyroscopic_force(system, q, v)
    assert v @ force == pytest.approx(0.5 * np.sum(tensor.data * np.prod(v[tensor.coords], axis=0)), rel=1e-9)
