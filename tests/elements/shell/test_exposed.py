"""Sunlight and thin air on shells: the numbers of plates, projected areas, root loads, eclipses, faults by name."""

from dataclasses import replace

import numpy as np
import pytest
from models import of_parts, refusals
from oracles.alone import Alone
from oracles.shell import material

import femb
from femb.numerics import rotations
from femb.system.system import System

CORNERS = [[0.5, -0.25, 0.3], [1.5, -0.25, 0.3], [1.5, 0.25, 0.3], [0.5, 0.25, 0.3]]
WALL = {"thickness": 0.02, "material": material(1e9, 0.3, 1000.0)}
ALL = {f"edge{k}": "hub" for k in range(1, 5)}
OPTICS = {"sun": (0.3, -0.2, 0.8), "specular": 0.5, "diffuse": 0.2, "pressure": 2.0}
AIR = {"density": 0.3, "coefficient": 2.1, "wind": (-3.0, 1.0, -2.0)}


def model_of(*items, **words):
    return of_parts(femb.RigidBody("hub", **({"mass": 10.0, "inertia": (1.0, 0.7, 1.2)} | words)), *items)


def panel(elements=(1, 1), **words):
    return femb.Shell("p", elements, CORNERS, **(WALL | {"frame": "hub", "attach": ALL} | words))


def forces(system, q, v, name):
    """(n_v,) of the batch of a class name."""
    batch = next(each for each in system.batches if type(each).__name__ == name)
    out, still = np.zeros((1, system.n_v)), np.zeros((1, system.n_v))
    Alone(system, batch).residual(system.inputs_at(0.0, q, v)[None], q[None], v[None], still, out)
    return -out[0]


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize(("kind", "words"), [(femb.SolarPressure, OPTICS), (femb.PlateDrag, AIR)])
def test_a_stiff_panel_is_the_plate(kind, words, side):
    """Force and torque on the hub, turned and in motion, of a shell that is fixed to it and of a plate; both sides."""
    plate = kind("load", 0.5, (0.0, 0.0, 1.0), body="hub", at=(1.0, 0.0, 0.3), two_sided=True, **words)
    shell = kind("load", shell="p", two_sided=True, **words)
    turn = rotations.exponential(np.array([0.3, -0.2, 0.5]))
    turn = turn if side > 0.0 else rotations.multiply(turn, np.array([0.0, 1.0, 0.0, 0.0]))
    found = {}
    for item, name in ((plate, "PlateBatch"), (shell, "ExposedBatch")):
        system = System(model_of(panel((2, 1)), item))
        q, v = system.q0.copy(), np.zeros(system.n_v)
        i, j = (numbers[system.layout.bodies["hub"]] for numbers in (system.layout.frame_q, system.layout.frame_v))
        q[i + 3 : i + 7], v[j : j + 3] = turn, (0.5, -0.3, 0.2)
        found[name] = forces(system, q, v, name)[j : j + 6]
    assert np.abs(found["PlateBatch"]).max() > 0.1
    np.testing.assert_allclose(found["ExposedBatch"], found["PlateBatch"], rtol=1e-12, atol=1e-13)


def test_light_on_a_deformed_surface_is_that_of_its_outline():
    """What absorbs all light feels pressure times projected area along it, whatever the surface inside its outline."""
    sun = np.array([0.3, -0.2, 0.8]) / np.linalg.norm([0.3, -0.2, 0.8])
    load = femb.SolarPressure("load", shell="p", sun=tuple(sun), pressure=2.0)
    system = System(model_of(panel((3, 3)), load))
    q, rng = system.q0.copy(), np.random.default_rng(0)
    shell = system.layout.shells["p"]
    for frame in shell.own:
        i = system.layout.frame_q[frame]
        q[i : i + 3] += 0.02 * rng.standard_normal(3)
    total = np.zeros(3)
    f = forces(system, q, np.zeros(system.n_v), "ExposedBatch")
    for frame in {system.layout.bodies["hub"], *shell.own}:
        j = system.layout.frame_v[frame]
        total += f[j : j + 3]
    np.testing.assert_allclose(total, -2.0 * 0.5 * sun[2] * sun, rtol=1e-12)


def test_light_on_a_half_tube():
    """Of the lit half of a closed cylinder: diameter times length, as the mesh becomes finer; records say it."""
    tube = femb.Shell("p", (1, 48), surface={"cylinder": [0.3, 1.0, 2.0 * np.pi]}, attach={"edge4": "ground"}, **WALL)
    model = of_parts(tube, femb.SolarPressure("load", shell="p", sun=(0.0, 0.0, 1.0), pressure=2.0))
    found = femb.static(model)
    np.testing.assert_allclose(found.loads["load"].force[-1], [0.0, 0.0, -2.0 * 0.6], rtol=2e-3, atol=1e-9)
    root = found.appendages["p"].force[-1]
    np.testing.assert_allclose(root, found.loads["load"].force[-1], rtol=1e-6, atol=1e-6)


def test_eclipses_and_streams_are_those_of_plates():
    """Inputs of a shell in orbit: the light of a plate and the flow of its air at the same times."""
    radius, rate = 6878e3, np.sqrt(3.986004418e14 / 6878e3**3)
    orbit = femb.Orbit("earth", position=(radius, 0, 0), velocity=(0, radius * rate, 0))
    sun, air = OPTICS | {"eclipse": True, "sun": (0, 1, 0)}, AIR | {"rotation": 7.29e-5}
    inputs = []
    for words in ({"shell": "p"}, {"area": 0.5, "normal": (0.0, 0.0, 1.0), "body": "hub"}):
        loads = femb.SolarPressure("sun", **words, **sun), femb.PlateDrag("air", **words, **air)
        system = System(model_of(panel(), orbit, *loads))
        still = np.zeros(system.n_v)
        inputs.append([np.sort(system.inputs_at(t, system.q0, still)) for t in (0.0, 1500.0, 4250.0)])
    np.testing.assert_allclose(inputs[0], inputs[1], rtol=1e-12)
    assert np.any(inputs[0][0] != inputs[0][2])


test_bad_loads_are_named = refusals(
    lambda words: System(model_of(replace(panel(), name="p"), femb.SolarPressure("load", **(OPTICS | words)))),
    ({"shell": "p", "area": 1.0}, "area: given beside 'shell'"),
    ({"shell": "p", "normal": (0, 0, 1)}, "normal: given beside 'shell'"),
    ({"shell": "p", "body": "hub"}, "body: given beside 'shell'"),
    ({"body": "hub", "normal": (0, 0, 1)}, "area: is missing"),
    ({"body": "hub", "area": 1.0}, "normal: is missing"),
    ({"shell": "p", "sun": None}, "sun: is missing"),
    ({"shell": "panel"}, "got 'panel', which is not in the model"),
)


def test_drag_without_density_is_named():
    with pytest.raises(femb.ModelError, match=r"loads\.load\.density: is missing: give it, or an atmosphere"):
        femb.System(of_parts(femb.RigidBody("hub", 1.0, 1.0), panel(), femb.PlateDrag("load", shell="p")))
