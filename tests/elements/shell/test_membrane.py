"""Pretension, and membranes that carry no compression: section 11 of docs/theory/shell.md."""

import re

import numpy as np
import pytest
from models import refusals
from oracles.shell import Supported, material, shell_on, triangulated
from scipy.optimize import minimize

import femb
from femb.elements.shell.mesh import ShellMesh
from femb.elements.shell.stiffness import wrinkled
from femb.run.static import report

E, NU, H = 2e9, 0.3, 1e-4
Y = E * H


def plane_stress(nu=NU):
    return np.array([[1.0, nu, 0.0], [nu, 1.0, 0.0], [0.0, 0.0, 0.5 * (1.0 - nu)]]) / (1.0 - nu * nu)


def relaxed(strain):
    """Forces of unit stiffness: the least energy over all shortenings by wrinkles, which are positive semidefinite."""
    C = plane_stress()

    def total(x):
        a, b, c = x
        return strain + np.array([a * a + b * b, c * c, 2.0 * b * c])

    found = min(
        (minimize(lambda x: 0.5 * total(x) @ C @ total(x), start, tol=1e-14) for start in np.eye(3) + 0.1),
        key=lambda one: one.fun,
    )
    return C @ total(found.x), found.fun


@pytest.mark.parametrize("state", [0, 1, 2])
def test_forces_are_those_of_the_least_energy_of_all_wrinkles(state):
    """Where membranes are taut, wrinkled and slack."""
    rng = np.random.default_rng(state)
    strain = {0: (1.0, -0.25, 0.2), 1: (1.0, -0.8, 0.5), 2: (-1.0, -0.3, 0.2)}[state] + 0.05 * rng.standard_normal(3)
    energy, change, found = wrinkled(strain, 1.0, NU)
    forces, least = relaxed(strain)
    assert found == state
    np.testing.assert_allclose(plane_stress() @ strain + change, forces, atol=1e-6)
    np.testing.assert_allclose(0.5 * strain @ plane_stress() @ strain + energy, least, atol=1e-9)


def mesh_of(kind):
    points = np.array([[0, 0], [1.1, 0.1], [2, 0], [0.1, 0.9], [1, 1.2], [2.1, 1.0]])
    nodes = np.column_stack([points, np.zeros(6)])
    normals = np.tile([0.0, 0.0, 1.0], (6, 1))
    mesh = ShellMesh(nodes, normals, np.array([[0, 1, 4, 3], [1, 2, 5, 4]]), np.zeros((0, 3), dtype=np.int64), {})
    return triangulated(mesh) if kind == "triangles" else mesh


def sheet(kind="quads", thickness=H, **words):
    mesh = mesh_of(kind)
    given = {"material": material(E, NU, 1000.0), "tension_only": True} | words
    return Supported(shell_on(mesh, thickness=thickness, **given), np.zeros((6, 6), dtype=bool))


def strained(one, strain, seed=0, part=0.0):
    """q after a uniform membrane strain 11, 22 and 12 about axes that are turned, and random displacements."""
    x = np.zeros(one.system.n_v)
    F = np.array([[strain[0], 0.5 * strain[2]], [0.5 * strain[2], strain[1]]])
    x[one.places[:, :2]] = one.reference[:, :2] @ F
    x += part * np.random.default_rng(seed).standard_normal(len(x))
    return one.moved(one.system.q0, x)


STATES = {"taut": (0.02, 0.01, 0.01), "wrinkled": (0.02, -0.015, 0.01), "slack": (-0.02, -0.01, 0.004)}


@pytest.mark.parametrize(("kind", "ratio"), [("quads", NU), ("quads", 0.0), ("triangles", NU)])
@pytest.mark.parametrize("state", list(STATES))
def test_force_is_the_gradient_and_tangent_its_derivative(kind, ratio, state):
    """In every state, for large displacements."""
    one = sheet(kind, thickness=0.05, material=material(E, ratio, 1000.0))
    q, rng = strained(one, STATES[state], part=1e-3), np.random.default_rng(1)
    got = one.batch.resultants(np.zeros((1, 0)), q[None], np.zeros((1, one.system.n_v)))[0][2]
    assert np.all(got == list(STATES).index(state))
    d, h = rng.standard_normal(one.system.n_v), 1e-6

    def energy(x):
        return one.system.energy_momentum(x[None], np.zeros((1, one.system.n_v)))[0, 1]

    ahead, behind = one.moved(q, h * d), one.moved(q, -h * d)
    rate = (energy(ahead) - energy(behind)) / (2.0 * h)
    np.testing.assert_allclose(one.force(q) @ d, rate, rtol=1e-6)
    change = (one.force(ahead) - one.force(behind)) / (2.0 * h)
    np.testing.assert_allclose(one.stiffness(q) @ d, change, rtol=0.0, atol=1e-7 * np.abs(change).max())


@pytest.mark.parametrize("kind", ["quads", "triangles"])
def test_sheared_sheet_carries_tension_alone_across_its_diagonal(kind):
    """Uniform shear without change of the sides: N = Y gamma / 4 (1, 1, 1), the tension of Wagner's field."""
    one, gamma = sheet(kind), 1e-6
    q = strained(one, (0.0, 0.0, gamma))
    loads, changes, state = (part[0] for part in one.batch.resultants(np.zeros((1, 0)), q[None], 0 * q[None, :36])[0])
    assert np.all(state == 1)
    np.testing.assert_allclose(loads[:, :3], np.full((len(loads), 3), 0.25 * Y * gamma), rtol=3e-5)
    np.testing.assert_allclose(changes[:, :3], np.tile([0.0, 0.0, gamma], (len(loads), 1)), atol=2e-6 * gamma)


def strip(tension, moment, elements, ratio=0.0, **words):
    """A strip 2 m long and 1 m high between the ground and a rigid edge, under a tension (N) and a moment (N m)."""
    model = femb.Model("strip")
    corners = [[0, -0.5, 0], [2, -0.5, 0], [2, 0.5, 0], [0, 0.5, 0]]
    given = {"thickness": H, "material": material(E, ratio, 1000.0), "tension_only": True} | words
    model.add(femb.RigidBody("edge", 1.0, (1.0, 1.0, 1.0), position=(2.0, 0.0, 0.0)))
    model.add(femb.Shell("s", elements, corners=corners, attach={"edge4": "ground", "edge2": "edge"}, **given))
    model.add(femb.Load("pull", body="edge", force=(tension, 0.0, 0.0)))
    model.add(femb.Load("bend", body="edge", torque=(0.0, 0.0, moment)))
    return model


def curvature(ratio):
    """E t h^2 / (2 P) times the curvature of a membrane of height h under tension P and moment ratio P h: Stein and
    Hedgepeth (1961), by the stress, linear from the edge of the wrinkles."""
    return 6.0 * ratio if ratio < 1.0 / 6.0 else 4.0 / (9.0 * (1.0 - 2.0 * ratio) ** 2)


@pytest.mark.parametrize("ratio", [0.1, 0.3, 0.4])
def test_strip_in_bending_wrinkles_as_stein_and_hedgepeth_say(ratio):
    """Moment and curvature beyond the first wrinkle; the height of the wrinkles is (3 M / P h - 1/2) h."""
    P, count = 1e-6 * Y, 32
    found = femb.static(strip(P, ratio * P, (1, count)))
    turn = found.bodies["edge"].euler_angles()[-1, 2]
    np.testing.assert_allclose(0.5 * turn / 2.0 * Y / P, curvature(ratio), rtol=2e-3)
    stress = found.shells["s"].membrane_force[-1, :, 0]
    assert stress.min() > -1e-4 * stress.max()
    assert (found.shells["s"].wrinkled == "") == (ratio < 1.0 / 6.0)
    text = report(found)
    assert (" of 32 elements wrinkled" in text) == (ratio > 1.0 / 6.0)
    if ratio > 1.0 / 6.0:
        most, _, *last = map(
            int, re.findall(r"(\d+) of 32 elements wrinkled and (\d+) slack at .*, (\d+) and (\d+) ", text)[0]
        )
        # without any load left the wrinkled elements are slack or not by rounding
        assert abs(sum(last) - count * (3.0 * ratio - 0.5)) <= 1.0
        assert last[0] <= most
    assert abs(np.sum(stress < 1e-4 * stress.max()) / count - max(0.0, 3.0 * ratio - 0.5)) <= 1.0 / count


SIDES = 2.0, 1.0, 50.0, 0.1  # m, m, N/m and kg/m2


def drum(elements, attach, tension_only=True):
    """A rectangular membrane with the same tension in all directions."""
    a, b, N, mass = SIDES
    model = femb.Model("drum")
    shell = femb.Shell(
        "s", elements, corners=[[0, 0, 0], [a, 0, 0], [a, b, 0], [0, b, 0]], thickness=H, tension_only=tension_only,
        material=material(E, NU, mass / H), pretension=(N, N, 0.0), attach=attach,
    )  # fmt: skip
    model.add(shell)
    return model


@pytest.mark.parametrize("tension_only", [False, True])
def test_frequencies_of_a_tensioned_membrane(tension_only):
    """f = sqrt(N / m) / 2 sqrt((i / a)^2 + (j / b)^2) with all edges held; the pretension is the force at the start."""
    model = drum((12, 8), {f"edge{k}": "ground" for k in range(1, 5)}, tension_only)
    a, b, N, mass = SIDES
    found = femb.modes(model, count=3).frequencies
    wanted = 0.5 * np.sqrt(N / mass) * np.array([np.hypot(i / a, 1.0 / b) for i in (1, 2, 3)])
    np.testing.assert_allclose(found, wanted, rtol=0.06)
    rest = femb.static(model)
    np.testing.assert_allclose(rest.shells["s"].membrane_force[-1], np.tile([N, N, 0.0], (96, 1)), atol=1e-9)
    np.testing.assert_allclose(rest.shells["s"].membrane_strain[-1], 0.0, atol=1e-15)
    np.testing.assert_allclose(rest.audit.potential_energy[-1], (1.0 - NU) * N * N / Y * a * b, rtol=1e-9)


def test_heat_takes_the_tension_of_a_held_membrane_and_leaves_it_slack():
    """N = N_0 - Y alpha T / (1 - nu) while it is tension; the strains of its shape stay zero."""
    model, expansion, N = femb.Model("held"), 2e-5, 30.0
    corners = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    wall = {"thickness": H, "material": femb.Material(E, E / 2.6, 1000.0, expansion=expansion), "tension_only": True}
    edges = {f"edge{k}": "ground" for k in range(1, 5)}
    model.add(femb.Shell("s", (2, 2), corners=corners, pretension=(N, N, 0.0), attach=edges, **wall))
    model.add(femb.SurfaceLoad("heat", "s", temperature=20.0))
    found = femb.static(model, steps=4).shells["s"]
    wanted = np.maximum(N - Y * expansion * 20.0 * np.arange(5) / 4.0 / (1.0 - NU), 0.0)
    assert wanted[1] > 0.0
    assert wanted[4] == 0.0
    np.testing.assert_allclose(found.membrane_force[:, 0, :2], np.tile(wanted[:, None], 2), atol=1e-3)
    np.testing.assert_allclose(found.membrane_strain, 0.0, atol=1e-12)
    np.testing.assert_array_equal(found.wrinkling, np.where(wanted > 0.0, 0.0, 2.0)[:, None] * np.ones(4))


def test_a_pretension_that_is_not_in_equilibrium_is_said():
    """A drum with a free edge; one whose edges are held, and one whose free edge bears no tension, are at rest."""
    with pytest.warns(femb.FembWarning, match=r'not in equilibrium at the start: take start = "equilibrium"'):
        femb.modes(drum((2, 2), {"edge1": "ground"}), 2)
    assert len(femb.modes(drum((2, 2), {f"edge{k}": "ground" for k in range(1, 5)}), 2).frequencies) == 2


def test_a_reduced_body_of_a_tensioned_shell_is_refused():
    with pytest.raises(femb.ModelError, match=r"shells.s.pretension: a reduced body has no stress"):
        femb.fem.reduce_beams(drum((2, 2), {f"edge{k}": "ground" for k in range(1, 5)}), "ground", {}, 2)


test_membranes_that_are_refused = refusals(
    lambda words: strip(1.0, 0.0, (1, 1), **words),
    ({"offset": 1e-3}, "isotropic wall with the reference surface in its middle"),
    ({"pretension": (1.0, -0.5, 0.0)}, "which is compression"),
    ({"drilling": "stiff"}, "has 'weak' drilling"),
    ({"pretension": (1.0, 1.0, 1.5)}, "which is compression"),
)


def test_wrinkled_and_slack_elements_are_counted_at_most_and_at_the_end():
    """Five elements, three instants: the most of each kind may be at different instants, before the end."""
    states = [[0, 1, 1, 2, 0], [1, 1, 1, 0, 0], [2, 2, 0, 0, 1]]
    results = femb.Results({"time": np.arange(3.0), "shells/s/wrinkling": np.array(states, dtype=float)}, {})
    assert results.shells["s"].wrinkled == "3 of 5 elements wrinkled and 2 slack at most, 1 and 2 at the end"
    taut = femb.Results({"time": np.arange(3.0), "shells/s/wrinkling": np.zeros((3, 5))}, {})
    assert taut.shells["s"].wrinkled == ""
