"""Sliding masses and hinged panels in place of modes: they give the participation back, and the hub is checked."""

import json
from dataclasses import replace

import numpy as np
import pytest
from models import refuses, winged_satellite

from femb.base.errors import FembWarning, ModelError
from femb.handover import hinged_panels, hybrid_coordinates, sliding_masses
from femb.numerics.rotations import cross_matrix, rigid_transport

KINDS = (sliding_masses, hinged_panels)


@pytest.fixture(scope="module")
def plant():
    return hybrid_coordinates(winged_satellite(), 6, held="hub", points={})


@pytest.mark.parametrize("kind", KINDS)
def test_coupling_is_the_momentum_of_the_effector_in_its_own_motion(kind, plant):
    """A hinged panel turns as a rigid body about its hinge: its rigid mass gives the momentum of that motion."""
    for effector in kind(plant).effectors:
        if kind is sliding_masses:
            momentum = effector.rigid_mass @ [*effector.direction, 0, 0, 0] / np.sqrt(effector.mass)
        else:
            axis = effector.dcm[1]
            about_hinge = effector.inertia + effector.mass * effector.distance**2
            momentum = effector.rigid_mass @ [*-np.cross(axis, effector.place), *axis] / np.sqrt(about_hinge)
        np.testing.assert_allclose(effector.coupling, momentum, atol=1e-12 * np.abs(momentum).max())


@pytest.mark.parametrize("kind", KINDS)
def test_participation_frequency_and_mass_come_back(plant, kind):
    """Mode 1, out of the array's plane."""
    found, wanted = kind(plant), plant.kept(1)
    L = np.vstack([part.coupling for part in wanted.appendages])
    signs = np.sign(np.einsum("ij,ij->i", found.coupling, L))
    np.testing.assert_allclose(found.coupling * signs[:, None], L, atol=1e-9)
    np.testing.assert_allclose(found.whole_mass, wanted.mass, atol=1e-9)
    for effector, part in zip(found.effectors, wanted.appendages, strict=True):
        moved = effector.stiffness / (2.0 * np.pi * part.frequencies[0]) ** 2
        assert effector.damping == pytest.approx(2.0 * 0.005 * np.sqrt(effector.stiffness * moved))


@pytest.mark.parametrize("kind", KINDS)
def test_the_satellite_by_effectors_has_the_same_frequencies(plant, kind):
    """Mass and spring matrices of hub and effectors, put together by hand."""
    found, wanted = kind(plant), plant.kept(1)
    k = len(found.effectors)
    mass = np.block([[found.whole_mass, found.coupling.T], [found.coupling, np.eye(k)]])
    omega = [2.0 * np.pi * part.frequencies[0] for part in wanted.appendages]
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(mass, np.diag([0.0] * 6 + [w * w for w in omega]))).real)
    poles = np.abs(replace(wanted).state_space().eigenvalues())
    np.testing.assert_allclose(np.sqrt(squares[-2:]), np.sort(poles)[-4::2], rtol=1e-9)


def test_numbers_of_the_reference_array(plant):
    """Mode 1: effective mass 4.09416^2, its place at 16.78589/4.09416 m from the root, 0.6 m from the hub's origin."""
    left = sliding_masses(plant).effectors[0]
    assert left.mass == pytest.approx(4.09416**2, rel=1e-5)
    np.testing.assert_allclose(left.place, (0.0, -0.6 - 16.78589 / 4.09416, 0.0), atol=1e-5)
    np.testing.assert_allclose(np.abs(left.direction), (0.0, 0.0, 1.0), atol=1e-9)
    panel = hinged_panels(plant).effectors[0]
    assert panel.mass == pytest.approx(24.45)
    assert panel.distance == pytest.approx(4.09416 * 16.78589 / 24.45, rel=1e-5)
    np.testing.assert_allclose(panel.place, (0.0, -0.6, 0.0), atol=1e-9)
    np.testing.assert_allclose(panel.dcm[0], (0.0, 1.0, 0.0), atol=1e-9)
    np.testing.assert_allclose(panel.dcm @ panel.dcm.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(panel.dcm) == pytest.approx(1.0)


def test_file(plant, tmp_path):
    for kind, name in zip(KINDS, ("linearSpringMassDamper", "hingedRigidBodyStateEffector"), strict=True):
        found = kind(plant)
        document = json.loads(found.write(tmp_path / "mechanical.json").read_text())
        hub = document["hub"]
        assert hub["mHub"] == pytest.approx(found.mass[0, 0])
        c, J = np.array(hub["r_BcB_B"]), np.array(hub["IHubPntBc_B"])
        np.testing.assert_allclose(
            J + hub["mHub"] * (c @ c * np.eye(3) - np.outer(c, c)), found.mass[3:, 3:], atol=1e-9
        )
        for entry, effector in zip(document[name], found.effectors, strict=True):
            assert entry == effector.parameters
            starts = ("rhoInit", "rhoDotInit", "thetaInit", "thetaDotInit")
            assert [entry[word] for word in starts if word in entry] == [0.0, 0.0]
            assert entry["name"].endswith("mode 1")
        assert sum(len(document[word]) for word in document if isinstance(document[word], list)) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_hub_keeps_its_mass_centre(plant, kind):
    """Of a hub with a mass off its axes, by the moments of all masses."""
    rows = rigid_transport(np.array([0.1, 0.2, 0.3]))[:3]
    found = kind(replace(plant, hub_mass=plant.hub_mass + 50.0 * rows.T @ rows))
    np.testing.assert_allclose(found.mass[3:, :3], found.mass[0, 0] * cross_matrix(found.centre), atol=1e-9)


def test_a_hub_that_would_be_no_body_is_refused(plant):
    """One moment of inertia above the sum of the others, and both planes of bending by point masses at the same place,
    on a light hub."""
    bare = sliding_masses(plant).mass
    long = replace(plant, hub_mass=plant.hub_mass - bare + np.diag([500.0, 500.0, 500.0, 100.0, 100.0, 210.0]))
    with pytest.raises(ModelError, match=r"hub 'hub': what remains is no rigid body"):
        sliding_masses(long)
    light = replace(plant, hub_mass=np.diag([500.0, 500.0, 500.0, 1.0, 1.0, 1.0]))
    with pytest.raises(ModelError, match=r"hub 'hub': what remains is no rigid body.*one plane of bending"):
        sliding_masses(light, {"left yoke": (1, 2), "right yoke": (1, 2)})


@pytest.mark.parametrize("kind", KINDS)
def test_modes_that_have_no_such_model(plant, kind):
    with pytest.raises(ModelError, match=r"left yoke\.mode 5 moves no mass centre"):  # torsion
        kind(plant, {"left yoke": (5,)})
    refuses("no appendage 'wing'; there are: left yoke, right yoke", kind, plant, {"wing": (1,)})
    refuses("got 7, wanted numbers from 1 to 6", kind, plant, {"left yoke": (7,)})


def screwed(plant, size):
    """The plant with a first mode of the left yoke that turns about its motion, or moves along its axis."""
    part = plant.appendages[0]
    coupling = part.coupling.copy()
    line, turn = coupling[0, :3].copy(), coupling[0, 3:].copy()
    coupling[0, 3:] += size * np.linalg.norm(turn) * line / np.linalg.norm(line)
    return replace(plant, appendages=(replace(part, coupling=coupling), *plant.appendages[1:]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_screw_is_refused(plant, kind):
    with pytest.raises(ModelError, match=r"left yoke\.mode 1 (is a screw of|moves its mass centre along the axis)"):
        kind(screwed(plant, 0.2), {"left yoke": (1,)})


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_screw_is_left_out_and_said(plant, kind, tmp_path):
    """What remains is the mode without its screw: the share of the participation that is lacking is the one stated."""
    crooked = screwed(plant, 0.006)
    part = crooked.appendages[0]
    if kind is hinged_panels:  # about the root
        part = part.about(plant.point + plant.axes @ plant.position("left yoke.root"))
    line, turn = part.coupling[0, :3], part.coupling[0, 3:]
    lines = line @ turn / (np.linalg.norm(line) * np.linalg.norm(turn))
    with pytest.warns(FembWarning, match=rf"left yoke\.mode 1 is a screw: .* {100.0 * lines:.3g} %, is left out"):
        found = kind(crooked, {"left yoke": (1,)})
    np.testing.assert_allclose(found.left_out, lines, rtol=1e-9)
    np.testing.assert_array_equal(kind(plant, {"left yoke": (1,)}).left_out, 0.0)
    lacking = crooked.appendages[0].coupling[0] - found.coupling[0]
    if kind is hinged_panels:
        dcm = found.effectors[0].dcm
        np.testing.assert_allclose(dcm @ dcm.T, np.eye(3), atol=1e-12)
        along = turn / np.linalg.norm(turn)
        np.testing.assert_allclose(lacking[:3], (line @ along) * along, atol=1e-9 * np.linalg.norm(line))
    lacking, whole = (lacking[3:], turn) if kind is sliding_masses else (lacking[:3], line)
    assert np.linalg.norm(lacking) == pytest.approx(lines * np.linalg.norm(whole), rel=1e-6)
    document = json.loads(found.write(tmp_path / "model.json").read_text())
    assert document["left_out"] == {"left yoke.mode 1": pytest.approx(lines)}
