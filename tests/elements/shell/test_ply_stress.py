"""Stresses of plies and surfaces of shells: closed forms, equilibrium, failure, envelopes, exits."""

from dataclasses import replace

import meshio
import numpy as np
import pytest
from models import of_parts, refuses
from oracles.shell import material

import femb
from femb.elements.shell.laminate import to_fibres

CARBON = {"youngs_moduli": (181e9, 10.3e9), "shear_modulus": 7.17e9, "poissons_ratio": 0.28, "density": 1600.0}
STRENGTHS = (1500e6, 1500e6, 40e6, 246e6, 68e6)
CORNERS = [[0, 0, 0], [1, 0, 0], [1, 0.1, 0], [0, 0.1, 0]]


def solved(shell, *items):
    model = of_parts(shell, *items)
    return femb.static(model)


def strip(plies, **words):
    given = {"attach": {"edge4": "ground"}, "points": {"a": "corner2", "b": "corner3"}} | words
    return femb.Shell("p", (4, 1), CORNERS, plies=plies, **given)


def pushed(force):
    return [femb.Load(name, body=f"p.{name}", force=0.5 * np.array(force)) for name in "ab"]


def test_laminated_strip_in_bending():
    """[0, 90] without Poisson's ratio: stresses of a beam of two materials about its neutral axis."""
    words = CARBON | {"poissons_ratio": 0.0}
    t, angles = 1e-3, (0.0, 0.5 * np.pi)
    found = solved(strip([femb.Ply(t, angle, **words) for angle in angles]), *pushed((0.0, 0.0, 1e-3))).shells["p"]
    moduli, middles = np.array([181e9, 10.3e9]), np.array([-0.5 * t, 0.5 * t])
    neutral = moduli @ middles / moduli.sum()
    stiffness = moduli @ (t**3 / 12.0 + t * (middles - neutral) ** 2)
    moment = -1e-3 * (1.0 - np.array([0.125, 0.375, 0.625, 0.875])) / 0.1
    for ply, column in ((0, 0), (1, 1)):  # the fibres of the second are across
        z = middles[ply] + np.array([-0.5, 0.5]) * t - neutral
        wanted = moduli[ply] * moment[:, None] / stiffness * z
        np.testing.assert_allclose(found.ply_stress[-1, :, ply, :, column], wanted, rtol=1e-5)
    np.testing.assert_allclose(found.surface_stress[-1, :, 1, 0], found.ply_stress[-1, :, 1, 1, 1], rtol=1e-12)
    np.testing.assert_allclose(found.surface_von_mises[-1], np.abs(found.surface_stress[-1, :, :, 0]), rtol=1e-4)


def test_stresses_of_plies_carry_the_resultants():
    """Their integrals over the thickness are N and M, also of heated plies beside the reference surface."""
    words, offset = CARBON | {"expansion": (2e-6, 3e-5)}, 4e-4
    plies = [femb.Ply(t, angle, **words) for t, angle in ((3e-4, 0.3), (5e-4, -1.1), (2e-4, 1.4))]
    heat = femb.SurfaceLoad("sun", "p", temperature=40.0, gradient=2e4)
    shell = strip(plies, offset=offset, attach={"edge4": "ground", "edge2": "ground"}, points=None)
    found = solved(shell, heat, femb.SurfaceLoad("gas", "p", pressure=20.0)).shells["p"]
    np.testing.assert_allclose(found.temperature[-1], 40.0)
    back = np.linalg.inv(to_fibres(np.array([ply.angle for ply in plies])))
    stress = np.einsum("pij,epsj->epsi", back, found.ply_stress[-1])
    thickness = np.array([ply.thickness for ply in plies])
    ends = np.concatenate([[0.0], np.cumsum(thickness)]) - 0.5 * thickness.sum() - offset
    bottom, top = stress[:, :, 0], stress[:, :, 1]
    N = np.einsum("p,epi->ei", thickness, 0.5 * (bottom + top))
    # exact of the product of two linear functions
    a, b = ends[:-1, None], ends[1:, None]
    M = np.einsum("p,epi->ei", thickness, (bottom * (2.0 * a + b) + top * (a + 2.0 * b)) / 6.0)
    for wanted, got in ((found.membrane_force[-1], N), (found.bending_moment[-1], M)):
        np.testing.assert_allclose(got, wanted, rtol=0.0, atol=1e-9 * np.abs(wanted).max())
    np.testing.assert_allclose(found.surface_stress[-1], np.stack([bottom[:, 0], top[:, -1]], axis=1), rtol=1e-9)


def test_held_and_free_walls_under_heat():
    """A free isotropic wall has no stress, a held one that of its expansion."""
    one = femb.Material(1e9, 1e9 / 2.6, 1000.0, 2e-5)
    words = {"thickness": 2e-3, "material": one}
    heat = femb.SurfaceLoad("sun", "p", temperature=10.0)
    edges = {f"edge{k}": "ground" for k in range(1, 5)}
    held = solved(femb.Shell("p", (2, 2), CORNERS, attach=edges, **words), heat).shells["p"]
    wanted = 1e9 * 2e-5 * 10.0 / 0.7
    np.testing.assert_allclose(held.surface_stress[-1, ..., :2], -wanted, rtol=1e-9)
    np.testing.assert_allclose(held.surface_von_mises[-1], wanted, rtol=1e-9)
    free = solved(femb.Shell("p", (2, 2), CORNERS, attach={"corner1": "ground"}, **words), heat).shells["p"]
    assert np.abs(free.surface_stress[-1]).max() < 1e-5 * wanted


def test_plies_that_expand_more_than_their_wall_are_pressed():
    """A free wall of isotropic plies, alike but for their expansion a: E/(1 - nu) (mean of a - a) of each kelvin."""
    words = {"youngs_moduli": (1e9, 1e9), "shear_modulus": 1e9 / 2.6, "poissons_ratio": 0.3, "density": 1000.0}
    plies = [femb.Ply(t, 0.4, expansion=(a, a), **words) for t, a in ((1e-3, 3e-5), (2e-3, 0.0), (1e-3, 3e-5))]
    heat = femb.SurfaceLoad("sun", "p", temperature=10.0)
    found = solved(strip(plies, attach={"corner1": "ground"}, points=None), heat).shells["p"].ply_stress[-1]
    for ply, sign in enumerate((-1.0, 1.0, -1.0)):
        np.testing.assert_allclose(found[:, ply, :, :2], sign * 1e9 / 0.7 * 1.5e-5 * 10.0, rtol=1e-6)


def stepped(thickness, way, tmp_path, offset=0.0):
    """A strip of elements of their own thickness (4,), from a list, or as properties of a deck."""
    words = {"attach": {"edge4": "ground"}, "points": {"a": "corner2", "b": "corner3"}}
    if way == "list":
        one = femb.Material(7e10, 7e10 / 2.6, 2700.0, 2e-5)
        return femb.Shell("p", (4, 1), CORNERS, thickness=thickness, material=one, offset=offset, **words)
    grids = [f"GRID,{1 + k + 5 * n},,{0.25 * k},{0.1 * n},0." for n in range(2) for k in range(5)]
    cells = [f"CQUAD4,{k},{k},{k},{k + 1},{k + 6},{k + 5},0.,{offset}" for k in range(1, 5)]
    walls = [f"PSHELL,{k},1,{t},1,,1" for k, t in enumerate(thickness, 1)]
    path = tmp_path / "strip.bdf"
    path.write_text("\n".join(["BEGIN BULK", *grids, *cells, *walls, "MAT1,1,7.+10,,.3,2700.,2.-5", "ENDDATA", ""]))
    words = {"attach": {"x=0": "ground"}, "points": {"a": (1.0, 0.0, 0.0), "b": (1.0, 0.1, 0.0)}}
    return femb.Shell("p", mesh=path, direction=(1.0, 0.0, 0.0), **words)


@pytest.mark.parametrize("way", ["list", "deck"])
def test_each_element_has_the_stresses_of_its_own_wall(way, tmp_path):
    """N/t and 6 M/t^2 of the resultants; under heat alone no stress of free elements, whatever their walls."""
    thickness = np.array([1e-3, 3e-3, 2e-3, 3e-3])
    results = solved(stepped(thickness.tolist(), way, tmp_path), *pushed((5.0, 0.0, 2e-3)))
    found = results.shells["p"]
    N, M = found.membrane_force[-1], found.bending_moment[-1]
    for side, sign in enumerate((-1.0, 1.0)):
        wanted = N / thickness[:, None] + sign * 6.0 * M / thickness[:, None] ** 2
        np.testing.assert_allclose(
            found.surface_stress[-1, :, side], wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max()
        )
    np.testing.assert_allclose(
        found.surface_stress[-1, :, :, 0].mean(axis=1), 2.0 * 5.0 / 2 / 0.1 / thickness, rtol=0.05
    )
    envelope = femb.peak_loads(results, ["shells/p"]).shells["p"]
    k = [load for load, _ in envelope.loads].index("von Mises stress")
    np.testing.assert_allclose(envelope.maximum[:, k], found.surface_von_mises[-1].max(axis=1), rtol=1e-12)


@pytest.mark.parametrize("way", ["list", "deck"])
def test_walls_of_their_own_beside_the_reference_surface_under_heat(way, tmp_path):
    """A free wall has no stress, whatever its thickness and offset, where all bend alike by a gradient."""
    heat = femb.SurfaceLoad("sun", "p", temperature=1.0, gradient=10.0)
    shell = stepped([1e-3, 3e-3, 2e-3, 3e-3], way, tmp_path, offset=5e-4)
    corner = {"1" if way == "deck" else "corner1": "ground"}
    free = solved(replace(shell, attach=corner, points=None), heat).shells["p"]
    np.testing.assert_allclose(free.membrane_strain[-1, :, 0], 2e-5, rtol=1e-5)
    assert np.abs(free.surface_stress[-1]).max() < 1e-4 * 7e10 * 2e-5


def test_failure_index_of_tsai_and_wu():
    """The stress over its strength, in proportion; stresses divided by it meet the criterion."""
    ply = femb.Ply(1e-3, 0.0, **CARBON | {"poissons_ratio": 0.0}, strengths=STRENGTHS)
    found = solved(strip([ply]), *pushed((1e-4 * 1500e6 * 1e-4, 0.0, 0.0))).shells["p"]
    np.testing.assert_allclose(found.failure_index[-1], 1e-4, rtol=1e-6)
    slant = femb.Ply(1e-3, 0.6, **CARBON, strengths=STRENGTHS)
    found = solved(strip([slant, ply]), *pushed((-2.0, 0.5, 0.01))).shells["p"]
    s1, s2, s12 = np.moveaxis(found.ply_stress[-1] / found.failure_index[-1][..., None], -1, 0)
    tension, pressure, across, squeeze, shear = STRENGTHS
    criterion = s1 * s1 / (tension * pressure) + s2 * s2 / (across * squeeze) + (s12 / shear) ** 2
    criterion -= s1 * s2 / np.sqrt(tension * pressure * across * squeeze)
    criterion += s1 * (1.0 / tension - 1.0 / pressure) + s2 * (1.0 / across - 1.0 / squeeze)
    np.testing.assert_allclose(criterion, 1.0, rtol=1e-12)


def test_envelopes_of_a_run():
    """Peak loads and envelopes are the largest and smallest values of the arrays, in time and over sides and plies."""
    ply = femb.Ply(1e-3, 0.4, **CARBON, strengths=STRENGTHS)
    results = solved(strip([ply, ply], damping=1e-4), *pushed((1.0, 0.0, 0.02)))
    shell, loads = results.shells["p"], femb.peak_loads(results, ["shells/p"])
    envelope, words = loads.shells["p"], [load for load, _ in loads.shells["p"].loads]
    k = words.index("moment 11")
    np.testing.assert_array_equal(envelope.minimum[:, k], shell.bending_moment[..., 0].min(axis=0))
    k = words.index("surface stress 12")
    np.testing.assert_allclose(envelope.maximum[:, k], shell.surface_stress[..., 2].max(axis=(0, 2)), rtol=1e-12)
    np.testing.assert_allclose(envelope.minimum[:, k], shell.surface_stress[..., 2].min(axis=(0, 2)), rtol=1e-12)
    last = femb.peak_loads(results, ["shells/p"], (results.time[-1], None)).shells["p"]
    np.testing.assert_array_equal(last.time_of_maximum, results.time[-1])
    k = words.index("failure index")
    np.testing.assert_allclose(envelope.maximum[:, k], shell.failure_index.max(axis=(0, 2, 3)), rtol=1e-12)
    np.testing.assert_allclose(envelope.position[:, 0], [0.125, 0.375, 0.625, 0.875])
    peak = next(peak for peak in loads.peaks if peak.load == "membrane force 11")
    assert peak.maximum == shell.membrane_force[..., 0].max()
    assert peak.place_of_maximum.startswith("element ")


def test_every_exit(tmp_path):
    """Files, figures, meshes and tables have the stresses."""
    results = solved(femb.Shell("p", (2, 1), CORNERS, thickness=2e-3, material="aluminium 6061-T6",
                                attach={"edge4": "ground"}, points={"a": "corner2", "b": "corner3"}),
                     *pushed((0.0, 0.0, 0.1)))  # fmt: skip
    results.write(tmp_path / "results.h5")
    again = femb.Results.read(tmp_path / "results.h5")
    wanted = results.shells["p"].surface_stress
    np.testing.assert_array_equal(again.shells["p"].surface_stress, wanted)
    for what in ("stress", "surface_von_mises"):
        assert femb.plot(results, tmp_path / f"{what}.png", what).stat().st_size > 3000
    femb.export_vtu(results, tmp_path)
    mesh = meshio.read(sorted(tmp_path.glob("lines_*.vtu"))[-1])
    assert np.nanmax(np.abs(mesh.point_data["stress_behind"])) > 0.0
    written = femb.peak_loads(results).write(tmp_path / "loads.h5")
    assert "loads/shells/p/maximum" in femb.Results.read(written).arrays


def test_walls_without_plies_and_strengths_are_named():
    wall = {"stiffness_matrix": 1e3 * np.eye(6), "shear_stiffness": 1e3 * np.eye(2), "mass_per_area": 1.0}
    words = {"attach": {"edge4": "ground"}, "points": {"a": "corner2", "b": "corner3"}}
    found = solved(femb.Shell("p", (1, 1), CORNERS, **wall, **words), *pushed((0.0, 0.0, 0.1)))
    with pytest.raises(femb.ResultError, match="shells/p: has no stresses: its wall is of matrices"):
        found.shells["p"].ply_stress  # noqa: B018
    assert "von Mises stress" not in [peak.load for peak in femb.peak_loads(found).peaks]
    plain = femb.Shell("p", (1, 1), CORNERS, thickness=1e-3, material=material(1e9, 0.3), **words)
    with pytest.raises(femb.ResultError, match="give its plies strengths"):
        solved(plain, *pushed((0.0, 0.0, 1e-3))).shells["p"].failure_index  # noqa: B018
    refuses(r"strengths: .*must be greater than 0", femb.Ply, 1e-3, 0.0, **CARBON, strengths=(1e6, 1e6, 1e6, 0.0, 1e6))
