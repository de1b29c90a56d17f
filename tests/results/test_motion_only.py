"""``motion_only``: the motion as without it, and nothing else."""

import numpy as np
import pytest
from checkout import CASES
from long_runs import slow

import femb
from femb.results.groups import groups

BOOM = femb.Section("boom", shape={"tube": [0.02, 0.001]}, material="aluminium 6061-T6")


def model():
    made = femb.Model("hinged", gravity=(0, 0, -1.0))
    hub = made.add(femb.RigidBody("hub", mass=20.0, inertia=0.2, angular_velocity=(0.1, 0.2, 0.1)))
    made.add(femb.Beam("boom", BOOM, 2.0, 2, start=hub.at((0.1, 0, 0), direction=(1, 0, 0))))
    made.add(femb.RigidBody("panel", mass=2.0, inertia=0.1, center_of_mass=(0, 0.5, 0)))
    made.add(femb.Revolute("hinge", femb.JointEnd("hub", axis=(1, 0, 0)), femb.JointEnd("panel"), rates=0.3))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", slow("rk")])
def test_motion_is_that_of_a_full_run(method):
    words = {"duration": 0.05 if method == "rk" else 0.2, "output_interval": 0.01, "method": method, "rtol": 1e-8}
    whole = femb.simulate(model(), **words)
    motion = femb.simulate(model(), output={"motion_only": True}, **words)
    for path, array in motion.series.items():
        assert np.array_equal(array, whole.series[path]), path
    recorded = {tuple(path.split("/")[::2]) for path in motion.series if "/" in path}
    wanted = {("bodies", "velocity"), ("beams", "deflection"), ("joints", "rates")}
    assert wanted <= recorded
    assert all(groups()[kind].quantities()[word].level != "forces" for kind, word in recorded)
    assert "energy_error" not in motion.audit
    assert "complete" in str(motion)


@pytest.mark.slow
def test_deflections_of_motion_are_as_true_as_all_quantities():
    """A slewed boom in long steps: a hundredth of the largest deflection is 2 um, a hundredth of the tolerance."""
    case = femb.load_case(CASES / "satellite_forced.toml")
    words = {"duration": 3.0, "method": "radau", "output": {"motion_only": True}}
    exact, loose = (femb.simulate(case.model, rtol=rtol, **words).beams["right"].deflection for rtol in (1e-8, 1e-4))
    assert np.abs(loose - exact).max() < 0.01 * np.abs(exact).max()


def test_positions_alone_are_those_of_the_steps():
    """Without deflections and strains no equations are evaluated: the motion has the tolerance of the steps."""
    words = {"duration": 1.0, "output_interval": 0.01, "method": "radau", "rtol": 1e-5}
    cheap = femb.simulate(model(), output={"motion_only": True, "exclude": ["*.strain", "*.deflection"]}, **words)
    whole = femb.simulate(model(), **words)
    assert "deflection" not in cheap.beams["boom"]
    for path, array in cheap.series.items():
        np.testing.assert_allclose(array, whole.series[path], rtol=1e-5, atol=1e-5, err_msg=path)
    position = cheap.beams["boom"].position
    assert not np.array_equal(position, whole.beams["boom"].position)
    np.testing.assert_allclose(position[-1], whole.beams["boom"].position[-1], atol=1e-9)


def test_results_of_motion_are_written_and_read(tmp_path):
    femb.simulate(model(), duration=0.1, output={"motion_only": True, "select": ["boom"]}, out=tmp_path / "m.h5")
    found = femb.Results.read(tmp_path / "m.h5")
    assert np.isfinite(found.beams["boom"].deflection).all()
    with pytest.raises(femb.ResultError, match="motion_only"):
        _ = found.beams["boom"].section_force
