"""Uncertain beams: products of two parameters of one tube, masses beside modal damping, and what is refused there."""

import numpy as np
import pytest

import femb

CASE = """
[bodies.hub]
mass = 800.0
inertia = [700.0, 500.0, 600.0]
[bodies.tip]
mass = 6.0
inertia = [0.02, 0.02, 0.02]
[sections.tube]
shape = { tube = [0.04, 0.001] }
youngs_modulus = 7.0e10
shear_modulus = 2.6e10
density = 2700.0
damping = DAMPING
[beams.boom]
section = "tube"
length = 8.0
elements = ELEMENTS
start = { body = "hub", at = [0, 0.8, 0], direction = [0, 1, 0] }
end = { body = "tip" }
[loads.torquer]
body = "hub"
frame = "body"
torque = [0, 0, 0]
[controllers.law]
kind = "state_space"
A = [[-6, 0, 0], [0, -6, 0], [0, 0, -6]]
B = [[70, 0, 0, 500, 0, 0], [0, 20, 0, 0, 200, 0], [0, 0, 70, 0, 0, 500]]
C = [[-6, 0, 0], [0, -6, 0], [0, 0, -6]]
inputs = ["bodies.hub.attitude", "bodies.hub.angular_velocity"]
outputs = ["loads.torquer.torque"]
[parameters.E]
entry = "sections.tube.youngs_modulus"
range = "25 %"
[parameters.wall]
entry = "sections.tube.shape.tube.1"
range = "20 %"
[parameters.tip]
entry = "bodies.tip.mass"
range = [3.0, 9.0]
"""
MODAL = '[modal_damping.all]\nheld = "hub"\nratio = 0.004\nmodes = '
CHANNEL = "loads.torquer.torque.0"


@pytest.fixture
def case(tmp_path):
    def written(elements, damping=0.0, more=""):
        path = tmp_path / "boom.toml"
        path.write_text(CASE.replace("ELEMENTS", str(elements)).replace("DAMPING", str(damping)) + more)
        return path

    return written


@pytest.mark.slow
def test_a_product_of_modulus_and_wall_keeps_slow_modes_beside_fast_ones(case):
    """Rounding of the stiffness of axial modes, 1e9 times that of bending, moved this by 2e-2."""
    form = femb.uncertain(case(6, damping=5e-4), ["E", "wall"], modes=12, points=1)
    assert form.difference < 1e-7


@pytest.mark.slow
def test_margins_beside_modal_damping_are_those_of_models(case):
    """A tip changes the modes that are damped, and masses: its momenta were no longer known, with a margin of 0."""
    path = case(2, more=f"{MODAL}12\n")
    form = femb.uncertain(path, ["E", "tip"], modes=4, points=1)
    worst = femb.worst(form, channels=[CHANNEL], quantities=["disk_margin"], prove=False)
    found = worst["disk_margin", CHANNEL]
    assert worst.growth < -0.05
    # damping by modes is no sum of what E and what the tip changes
    for values, margin, off in (({}, found.nominal, 1e-4), (found.parameters, found.found, 2e-3)):
        set_ = [f"parameters.{name}.value={x!r}" for name, x in values.items()]
        loop = femb.loop(femb.load_case(path, set_))
        at = np.geomspace(0.1, 30.0, 20001)
        S = 1.0 / (1.0 + loop.opened(CHANNEL)(at).ravel())
        assert margin == pytest.approx(1.0 / np.max(np.abs(S - 0.5)), rel=off)


@pytest.mark.slow
def test_a_set_of_damped_modes_that_changes_is_refused_by_name(case):
    """Poles of the form grew, and worst cases were "not stable" with a margin of 0."""
    with pytest.raises(femb.FembError, match=r"a pole of the form grows.*modal_damping.all is of other modes") as said:
        femb.uncertain(case(4, more=f"{MODAL}10\n"), ["E", "tip"], modes=6, points=1)
    assert "damp more modes, with modes = N" in str(said.value)


def test_a_nominal_motion_without_damping_is_refused_by_its_frequency(case):
    form = femb.uncertain(case(2), ["E"], modes=4, points=1)
    with pytest.raises(femb.FembError, match=r"a motion that does not decay, which leaves no margins: of \d+.* rad/s"):
        femb.worst(form, channels=[CHANNEL], prove=False)
