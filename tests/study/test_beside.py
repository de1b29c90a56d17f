"""Derivatives of modes from what a parameter changes alone: equal to those of whole systems, and seldom built."""

import numpy as np
import pytest
from oracles import two_panels as panels

from femb.case import CaseError, read_case
from femb.case.build import KnownItems
from femb.small_motions.beside import Beside
from femb.study.sensitivity import sensitivities

CASE = (
    panels.CASE
    + """
[sections.boom]
axial_stiffness = 1e6
torsional_stiffness = 100.0
bending_stiffness = [200.0, 300.0]
mass_per_length = 0.5
inertia_per_length = [2e-3, 1e-3, 1e-3]
damping = 1e-3
[beams.boom]
section = "boom"
length = 3.0
elements = 2
start = { body = "hub", at = [0.2, 0, 0], direction = [1, 1, 0] }
"""
)
OF = {
    f"{kind} {mode}": {"kind": kind, "mode": mode} for kind in ("natural_frequency", "damping_ratio") for mode in (1, 3)
}
ALONE = ("springs.left.stiffness", "springs.left.damping", "bodies.hub.mass", "bodies.left.inertia.1")
ALONE += ("sections.boom.bending_stiffness.0", "sections.boom.mass_per_length", "sections.boom.damping")
WHOLE = ("beams.boom.length", "joints.left.first.at.1")


@pytest.mark.slow
@pytest.mark.parametrize(("keys", "alone"), [(ALONE, True), (WHOLE, False)])
def test_what_differs_gives_the_derivatives_of_the_whole(tmp_path, monkeypatch, keys, alone):
    path, told, of = tmp_path / "case.toml", [], Beside.of
    path.write_text(CASE)
    by = {key: {"entry": key} for key in keys}
    monkeypatch.setattr(Beside, "of", lambda self, model: told.append(of(self, model)) or told[-1])
    found = sensitivities(path, OF, by)
    assert {each is not None for each in told} == {alone}
    if alone:
        # single batches of the six: bodies, sprung joints, elements of the beam
        assert max(len(each.system.batches) for each in told) == 1
    monkeypatch.setattr(Beside, "of", lambda self, model: None)
    whole = sensitivities(path, OF, by)
    scale = np.abs(found.values)[:, None] / found.nominal
    np.testing.assert_allclose(found.derivatives / scale, whole.derivatives / scale, rtol=1e-8, atol=3e-10)
    if alone:
        assert np.all(found.errors <= np.maximum(1e-8 * np.abs(found.derivatives), 1e-9 * scale))


def test_items_of_a_case_are_read_once(tmp_path):
    path, known = tmp_path / "case.toml", KnownItems({}, {})
    path.write_text(CASE)
    first = read_case(path, CASE, (), False, known).model
    other = read_case(path, CASE, ["springs.left.stiffness=1700.0"], False, known).model
    assert other.springs["left"].stiffness == 1700.0
    assert first.springs["left"].stiffness == 1650.0
    assert other.springs["right"] is first.springs["right"]
    # a value that is equal, but of another type, is read and refused
    with pytest.raises(CaseError, match="whole number"):
        read_case(path, CASE, ["beams.boom.elements=2.0"], False, known)


@pytest.mark.slow
def test_elements_of_shells_that_are_the_same_are_made_once(tmp_path, monkeypatch):
    """Of four strips one changes its thickness: two builds of its elements, none of the others."""
    from femb.elements.shell import batch

    made, new = [], batch._new_arrays_of
    monkeypatch.setattr(batch, "_new_arrays_of", lambda item, *given: made.append(item.name) or new(item, *given))
    path = tmp_path / "strips.toml"
    path.write_text("".join(map(strip, range(4))))
    found = sensitivities(path, "natural_frequency", {"t": {"entry": "shells.s1.thickness"}})
    assert made.count("s0") == made.count("s2") == made.count("s3") == 1
    whole = sensitivities(path, "natural_frequency", {"E": {"entries": [f"shells.s{k}.thickness" for k in range(4)]}})
    parts = [
        sensitivities(path, "natural_frequency", f"shells.s{k}.thickness").derivatives[0, 0] for k in (0, 2, 3)
    ]  # fmt: skip
    assert sum(parts) + found.derivatives[0, 0] == pytest.approx(whole.derivatives[0, 0], rel=1e-7)


def strip(k):
    attach = '"ground"' if k == 0 else f'{{ shell = "s{k - 1}", edge = "edge2" }}'
    return f"""
[shells.s{k}]
elements = [1, 3]
corners = [[{k}, 0, 0], [{k + 1}, 0, 0], [{k + 1}, 1, 0], [{k}, 1, 0]]
thickness = 0.01
material = {{ youngs_modulus = 7e10, shear_modulus = 2.7e10, density = 2700.0 }}
attach = {{ edge4 = {attach} }}
"""
