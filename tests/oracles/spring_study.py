"""A mass on a spring with a dashpot, x(t) in closed form, and studies of it."""

from pathlib import Path

import numpy as np

from femb import Model, RigidBody, SpringDamper
from femb.elements.marker import SpringEnd

CASE = """\
title = "Mass on a spring"
[bodies.mass]
mass = 2.0
inertia = 1.0
position = [0.1, 0.0, 0.0]
[springs.spring]
start = { anchor = [-1.0, 0.0, 0.0] }
end = { body = "mass" }
stiffness = 50.0
damping = 2.0
free_length = 1.0
[run]
duration = 6.0
output_interval = 0.02
method = "rk"
rtol = 1e-7
"""

STUDY = """\
title = "Masses"
case = "case.toml"
design = "grid"

[variables.stiffness]
key = "springs.spring.stiffness"
values = [50.0, 80.0]

[variables.mass]
key = "bodies.mass.mass"
values = [2.0, 3.0]

[outputs.lowest]
kind = "min"
of = "bodies.mass.position.x"

[outputs.frequency]
kind = "first_frequency"
of = "springs.spring.length"
"""


def motion(time, stiffness=50.0, mass=2.0, damping=2.0, start=0.1):
    """The displacement x(t) of the mass."""
    decay = damping / (2.0 * mass)
    omega = np.sqrt(stiffness / mass - decay**2)
    return start * np.exp(-decay * time) * (np.cos(omega * time) + decay / omega * np.sin(omega * time))


def written(folder: Path, study: str = STUDY, case: str = CASE) -> Path:
    """The path of a study file, beside its case."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "case.toml").write_text(case)
    path = folder / "study.toml"
    path.write_text(study)
    return path


def build(stiffness: float = 50.0, mass: float = 2.0) -> Model:
    """The same model from Python."""
    model = Model("mass on a spring")
    model.add(RigidBody("mass", mass=mass, inertia=1.0, position=(0.1, 0.0, 0.0)))
    start, end = SpringEnd(anchor=(-1.0, 0.0, 0.0)), SpringEnd(body="mass")
    model.add(SpringDamper("spring", start, end, stiffness=stiffness, damping=2.0, free_length=1.0))
    return model
