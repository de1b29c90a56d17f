"""Items whose names meet in names of files, and points whose names meet that of the hub."""

import numpy as np
import pytest
from click.testing import CliRunner

import femb
from femb.cli import cli
from femb.handover import CraigBampton, hybrid_coordinates

LENGTHS = {"arm 1": 2.0, "arm_1": 1.0, "Arm 1": 0.5, "bus 1": 1.5}


CASE = """title = "names"
sections.s = { shape = { tube = [0.03, 0.001] }, material = "aluminium 6061-T6" }
bodies."bus 1" = { mass = 40.0, inertia = [4, 5, 6] }
""" + "".join(
    f'[beams."{name}"]\nsection = "s"\nlength = {length}\nelements = 2\n'
    f'start = {{ body = "bus 1", at = {[0.3 * x for x in towards]}, direction = {towards} }}\n'
    for (name, length), towards in zip(LENGTHS.items(), (*np.eye(3).tolist(), [-1.0, 0.0, 0.0]), strict=True)
)


@pytest.fixture
def case(tmp_path):
    """A body, and beams of one name but for a letter, one of which has the body's."""
    (tmp_path / "names.toml").write_text(CASE, encoding="utf-8")
    return tmp_path / "names.toml"


def test_each_has_files_of_its_own(case, tmp_path):
    """The whole under the hub's name, and each appendage with its mass, in files that differ without capitals too."""
    words = ["handover", str(case), "--held", "bus 1", "--modes", "2", "--out", str(tmp_path / "out")]
    words += ["--to", "craig-bampton", "--to", "nastran", "--to", "42", "--reference", "joint"]
    done = CliRunner().invoke(cli, words, prog_name="femb")
    assert done.exit_code == 0, done.output
    model = femb.load_case(case).model
    plant = hybrid_coordinates(model, 2, held="bus 1", points={})
    wanted = {"bus_1": plant.mass[0, 0]}
    wanted |= dict(zip(("arm_1", "arm_1_", "Arm_1__", "bus_1_"), LENGTHS.values(), strict=True))
    files = sorted((tmp_path / "out").glob("cb_*.npz"))
    assert [each.stem for each in files] == sorted(f"cb_{name}" for name in wanted)
    line = model.sections["s"].line_mass()
    for name, size in wanted.items():
        mass = CraigBampton.read(tmp_path / "out" / f"cb_{name}.npz").mass[0, 0]
        np.testing.assert_allclose(mass, size if name == "bus_1" else line * size, rtol=1e-12)
    listed = [line for line in done.output.splitlines() if line.startswith(str(tmp_path))]
    assert len(listed) == len(set(listed)) == 5 * 3 + 5 * 2 + 2 * 4 + 1


def test_inputs_and_outputs_at_points_have_names_of_their_own(case):
    points = {"hub": "beams.arm 1.-1", "bus 1": "beams.arm_1.-1"}
    plant = hybrid_coordinates(femb.load_case(case).model, 2, held="bus 1", points=points)
    space = plant.state_space(tuple(points), tuple(points))
    for names in (space.inputs, space.outputs):
        assert len(set(names)) == len(names)
    assert space.inputs[::6] == ("bus 1.force.x", "hub.force.x", "bus 1_.force.x")
    assert [name for name in space.outputs if name.endswith(".x")] == ["bus 1.x", "hub.x", "bus 1_.x"]
