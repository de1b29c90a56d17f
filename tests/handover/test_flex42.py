"""The input of the simulator 42, read back by its own rules, and the integrals of mode shapes in it."""

import re

import numpy as np
import pytest
from long_runs import slow
from models import hub, of_parts, refuses, slender, slender_boom, winged_satellite
from scipy.spatial.transform import Rotation

from femb import Attachment, Beam, ModelError, RigidBody, Shell, SpringDamper, SpringEnd, modal_model
from femb.handover import hybrid_coordinates, write_flex42
from femb.handover.flex42 import Particles, appendage_bodies, changes, mean_axes_body


class Lines:
    """The lines of a file, as fscanf of 42 reads them: numbers, at least a word of text, and the end of the line."""

    def __init__(self, path):
        text = path.read_text(encoding="ascii")
        assert text.endswith("\n")
        assert "\n\n" not in text
        self.lines = text.splitlines()
        assert max(map(len, self.lines)) < 80
        assert len(path.name) < 40

    def text(self):
        line = self.lines.pop(0)
        assert line.strip()
        return line

    def values(self, *kinds):
        words = self.text().split()
        assert len(words) > len(kinds), "a line of values without text"
        return [kind(word) for kind, word in zip(kinds, words, strict=False)]

    def table(self, *shape):
        self.text()
        found = np.zeros(shape)
        (count,) = self.values(int)
        for _ in range(count):
            *place, value = self.values(*[int] * len(shape), float)
            assert found[tuple(place)] == 0.0
            found[tuple(place)] = value
        return found


def read_flex(path, nodes):
    file, found = Lines(path), {}
    file.text()
    found["description"] = file.text()
    (k,) = file.values(int)
    file.text()
    found["start"] = np.array([file.values(float, float) for _ in range(k)])
    file.text()
    found["joints"] = file.table(k, 9, 3), file.table(k, 9, 3)
    file.text()
    found["psi"], found["theta"] = file.table(k, nodes, 3), file.table(k, nodes, 3)
    for word in ("mass", "stiffness", "damping"):
        found[word] = file.table(k, k)
    for word in ("Pf", "Hf"):
        file.text()
        found[word] = np.array([file.values(float, float, float) for _ in range(k)])
    found["L"], found["N"] = file.table(3, 3, k), file.table(3, 3, k, k)
    assert file.lines == ["[EOF]"]
    return found


def read_nodes(path):
    file = Lines(path)
    file.text(), file.text()
    (count,) = file.values(int)
    file.text()
    found = [re.fullmatch(r'(\S+) (\S+) (\S+) "([^"]+)"', file.text()) for _ in range(count)]
    assert not file.lines
    return [match[4] for match in found], np.array([[float(match[k]) for k in (1, 2, 3)] for match in found])


def read_bodies(path):
    """(reference, list of mass, inertia, centre, node file, flex file), and the places of joints."""
    file, bodies, places = Lines(path), [], []
    file.text(), file.text(), file.text()
    (reference,) = file.values(str)
    assert file.values(str) == file.values(str) == ["TRUE"]
    file.text()
    (count,) = file.values(int)
    for _ in range(count):
        file.text()
        (mass,) = file.values(float)
        inertia = np.diag(file.values(float, float, float))
        xy, xz, yz = file.values(float, float, float)
        inertia -= np.array([[0.0, xy, xz], [xy, 0.0, yz], [xz, yz, 0.0]])
        centre = np.array(file.values(float, float, float))
        file.text(), file.text(), file.text()
        bodies.append((mass, inertia, centre, *file.values(str), *file.values(str)))
    file.text()
    while file.lines:
        lines = [file.text() for _ in range(16)]
        places.append([float(word) for word in lines[13].split()[:3]])
    return reference, bodies, places


def assert_same(found, body, factor):
    k = len(body.frequencies)
    np.testing.assert_array_equal(found["start"], 0.0)
    np.testing.assert_array_equal(found["mass"], np.eye(k))
    pairs = [
        (found["stiffness"], np.diag((2.0 * np.pi * body.frequencies) ** 2)),
        (found["damping"], body.damping),
        (found["L"], np.moveaxis(body.integrals.B0, 0, -1)),
        (found["N"], np.moveaxis(body.integrals.B, (0, 1), (2, 3))),
        (found["Pf"], factor[0] * body.integrals.S1),
        (found["Hf"], factor[1] * body.integrals.C0),
    ]
    rows = np.array([node.rows for node in body.nodes]).reshape(-1, 6, k)
    pairs += [(found["psi"], rows[:, :3].transpose(2, 0, 1)), (found["theta"], rows[:, 3:].transpose(2, 0, 1))]
    for values, wanted in pairs:
        np.testing.assert_allclose(values, wanted, rtol=1e-13, atol=1e-12 * np.max(np.abs(wanted), initial=1e-3))


def test_the_whole_in_mean_axes(tmp_path):
    files = write_flex42(winged_satellite(), tmp_path, 6, held="hub")
    body = mean_axes_body(winged_satellite(), 6, held="hub")
    reference, ((mass, inertia, centre, nodes, flex),), joints = read_bodies(files[0])
    names, places = read_nodes(tmp_path / nodes)
    found = read_flex(tmp_path / flex, len(names))
    assert (reference, joints) == ("REFPT_CM", [])
    assert names[0] == "hub"
    np.testing.assert_allclose(places[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(places[names.index("left panel 2")], (0.0, -5.35, 0.0), atol=1e-12)
    assert mass == pytest.approx(548.9)
    np.testing.assert_allclose(centre, 0.0, atol=1e-12)
    np.testing.assert_allclose(inertia, body.integrals.inertia, rtol=1e-11, atol=1e-9)
    assert_same(found, body, (0.0, 0.0))
    # mean axes have no momentum
    assert np.max(np.abs(body.integrals.S1)) < 1e-9
    assert np.max(np.abs(body.integrals.C0)) < 1e-9
    np.testing.assert_allclose(body.frequencies[:3], [0.273332, 0.537837, 1.571001], rtol=2e-6)
    # the ratios of the free satellite whose appendages have 0.5 %
    ratios = np.diag(body.damping) / (4.0 * np.pi * body.frequencies)
    np.testing.assert_allclose(ratios, (0.00516, 0.01003, 0.00518, 0.00504, 0.00589, 0.01090), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_appendages_on_a_rigid_hub(tmp_path, factor):
    files = write_flex42(winged_satellite(), tmp_path, 4, held="hub", reference="joint", hf_factor=factor)
    reference, bodies, joints = read_bodies(files[0])
    assert reference == "REFPT_JOINT"
    assert bodies[0][0] == 500.0
    assert bodies[0][3:] == ("NONE", "NONE")
    np.testing.assert_allclose(joints, [[0.0, -0.6, 0.0], [0.0, 0.6, 0.0]], atol=1e-12)
    wings = appendage_bodies(winged_satellite(), 4, held="hub")
    for (mass, inertia, centre, nodes, flex), body in zip(bodies[1:], wings, strict=True):
        assert mass == pytest.approx(24.45)
        np.testing.assert_allclose(np.diag(inertia), (294.1509, 8.0018, 302.1509), atol=1e-4)
        np.testing.assert_allclose(np.abs(centre), (0.0, 78.225 / 24.45, 0.0), atol=1e-6)
        names, places = read_nodes(tmp_path / nodes)
        assert names == ["root", *(f"{body.name[:-4]}panel {k}" for k in range(3)), f"{body.name}.-1"]
        np.testing.assert_allclose(np.abs(places[:, 1]), (0.0, 1.75, 3.25, 4.75, 1.0), atol=1e-9)
        found = read_flex(tmp_path / flex, len(names))
        assert_same(found, body, (1.0, factor))
        assert ("halved" in found["description"]) == (factor == 0.5)


@pytest.mark.parametrize("build", [lambda: tipped(2), slow(winged_satellite)])
def test_momenta_of_appendages_are_their_participation(build):
    from femb.vibration.modes import modes

    wing = appendage_bodies(build(), 4, held="hub", points={}, damping=0.02)[0]
    part = modes(build(), 4, held="hub").appendages[0]
    np.testing.assert_allclose(np.hstack([wing.integrals.S1, wing.integrals.C0]), part.coupling, atol=1e-12)
    np.testing.assert_allclose(wing.damping, np.diag(0.04 * 2.0 * np.pi * part.frequencies), rtol=1e-12, atol=0)


def tipped(elements):
    """A hub with a boom and a tip body whose mass centre is beside the boom."""
    tip = RigidBody("tip", mass=0.5, inertia=(0.1, 0.1, 0.15), center_of_mass=(0.1, 0.2, 0.0), position=(1.0, 0.0, 0.0))
    along = {"direction": (1.0, 0.0, 0.0)}
    beam = Beam(
        "boom", slender(inertia_per_length=[2e-3, 1e-3, 1e-3]), length=1.0, elements=elements,
        start=Attachment("hub", **along), end=Attachment("tip", **along),
    )  # fmt: skip
    return of_parts(RigidBody("hub", mass=5.0, inertia=(1.0, 2.0, 3.0)), tip, beam)


def test_integrals_are_the_derivative_of_the_mass_matrix():
    """Of the modal model, whose derivative is exact: the error falls with the fourth power of lengths."""
    errors = []
    for elements in (2, 4):
        model = tipped(elements)
        reduced, body = modal_model(model, 3), mean_axes_body(model, 3, held="hub", points={})
        np.testing.assert_allclose(body.point, reduced.origin, atol=1e-12)
        signs = np.sign(np.einsum("vi,vi->i", mean_shapes(model), reduced.shapes[:, 6:]))
        B0 = body.integrals.B0 * signs[:, None, None]
        change = 2.0 * np.trace(B0, axis1=1, axis2=2)[:, None, None] * np.eye(3) - B0 - B0.swapaxes(1, 2)
        wanted = np.moveaxis(reduced.mass_change[3:6, 3:6, 6:], -1, 0)
        B = body.integrals.B * signs[:, None, None, None] * signs[None, :, None, None]
        Q = np.stack([B[..., a, b] - B[..., b, a] for a, b in ((1, 2), (2, 0), (0, 1))], axis=-1)
        coriolis = np.moveaxis(reduced.mass_change[3:6, 6:, 6:], 0, -1).swapaxes(0, 1)
        errors.append((np.max(np.abs(change - wanted)), np.max(np.abs(Q - 0.5 * (coriolis - coriolis.swapaxes(0, 1))))))
    errors = np.array(errors)
    assert np.max(errors[1]) < 1e-4
    assert np.all(errors[0] > 10.0 * errors[1])


def test_integrals_of_a_panel_whose_elements_share_the_frame_of_the_hub():
    """Nodes on one frame are one particle; the change of the inertia is that of the modal model."""
    errors = []
    for elements in (4, 8):
        panel = Shell(
            "panel", (elements, 2), corners=[[0.6, -0.5, 0], [2.6, -0.5, 0], [2.6, 0.5, 0], [0.6, 0.5, 0]], frame="hub",
            thickness=5e-3, material="aluminium 6061-T6", attach={"edge4": "hub"},
        )  # fmt: skip
        model = of_parts(hub(), panel)
        reduced, body = modal_model(model, 3), mean_axes_body(model, 3, held="hub", points={})
        signs = np.sign(np.einsum("vi,vi->i", mean_shapes(model), reduced.shapes[:, 6:]))
        B0 = body.integrals.B0 * signs[:, None, None]
        change = 2.0 * np.trace(B0, axis1=1, axis2=2)[:, None, None] * np.eye(3) - B0 - B0.swapaxes(1, 2)
        wanted = np.moveaxis(reduced.mass_change[3:6, 3:6, 6:], -1, 0)
        errors.append(np.max(np.abs(change - wanted)) / np.max(np.abs(wanted)))
    assert errors[1] < 0.006
    assert errors[0] > 4.0 * errors[1]


def mean_shapes(model):
    from femb.vibration.solution import solution

    return solution(model, 3).shapes.real


def test_transfer_function_and_damping_are_those_of_hybrid_coordinates():
    """Torque on the hub to its rotation: rigid motion about the mass centre and all free modes, as 42 sums them up."""
    model = tipped(2)
    hybrid = hybrid_coordinates(model, held="hub", damping=0.02)
    body = mean_axes_body(model, len(hybrid.appendages[0].frequencies), held="hub", damping=0.02)
    rows = body.nodes[0].rows[3:]
    assert body.nodes[0].name == "hub"
    for frequency in (0.1, 0.4, 1.5):
        s = 2j * np.pi * frequency
        inner = s * s * np.eye(rows.shape[1]) + s * body.damping + np.diag((2.0 * np.pi * body.frequencies) ** 2)
        found = np.linalg.inv(body.integrals.inertia) / s**2 + rows @ np.linalg.solve(inner, rows.T)
        wanted = hybrid.state_space().transfer(s)[3:6, 3:6]
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-9 * np.max(np.abs(wanted)))


def test_second_order_inertia_is_that_of_particles_that_move():
    """Against differences of the inertia of bodies that are displaced and rotated exactly."""
    random = np.random.default_rng(3)
    n, k = 4, 2
    J = np.einsum("nij,nkj->nik", *2 * (random.standard_normal((n, 3, 3)),))
    mass, X, psi, theta = (random.standard_normal(s) for s in ((n,), (n, 3), (n, k, 3), (n, k, 3)))
    mass, theta = np.abs(mass), 0.3 * theta
    J1, J2, _ = changes(Particles(mass, X, J, psi, theta))

    def inertia(eta):
        total = np.zeros((3, 3))
        for m, x, own, u, t in zip(mass, X, J, psi, theta, strict=True):
            at, R = x + eta @ u, Rotation.from_rotvec(eta @ t).as_matrix()
            total += m * (at @ at * np.eye(3) - np.outer(at, at)) + R @ own @ R.T
        return total

    h, e = 1e-3, np.eye(2)
    for i in range(k):
        first = (inertia(h * e[i]) - inertia(-h * e[i])) / (2.0 * h)
        np.testing.assert_allclose(J1[i], first, atol=2e-5)
        for j in range(k):
            corners = [inertia(h * (a * e[i] + b * e[j])) * a * b for a in (1, -1) for b in (1, -1)]
            np.testing.assert_allclose(J2[i, j], sum(corners) / (4.0 * h * h), atol=3e-5)


def test_refusals(tmp_path):
    with pytest.raises(ModelError, match="reference: got 'root', wanted 'cm' or 'joint'"):
        write_flex42(winged_satellite(), tmp_path, 2, held="hub", reference="root")
    refuses(r"hf_factor: got 0\.5", write_flex42, winged_satellite(), tmp_path, 2, held="hub", hf_factor=0.5)
    refuses("wanted one of hub", write_flex42, of_parts(hub(), slender_boom(1)), tmp_path, 2, held="bus")
    with pytest.raises(ModelError, match="1 motions of joints without stiffness"):
        write_flex42(winged_satellite(free_hinge=True), tmp_path, 2, held="hub")
    with pytest.raises(ModelError, match="got 0 rigid-body motions"):
        write_flex42(of_parts(hub(), slender_boom(1), spring_to_ground()), tmp_path, 2, held="hub")


def spring_to_ground():
    return SpringDamper("mount", SpringEnd("hub"), SpringEnd(anchor=(0.0, 0.0, -1.0)), stiffness=1.0)
