"""Satellite with a lattice mast and an instrument at its end, slewed from rest to rest.

Purpose   A truss of 48 beams reduced to one flexible body: its root, its end plate, and ten modes between them. The
          truss itself is build("truss"); build("beam") is a single beam with the stiffness of the lattice.
Source    Made for this example. Closed forms of the stiffness: A. K. Noor, M. S. Anderson, W. H. Greene, AIAA J. 16
          (1978) 1219, and S. P. Timoshenko, J. M. Gere, Theory of Elastic Stability, 1961, section 2.18.
Look at   The deflection of the end plate, a fifth of which is shear, and the vibration at 7.6 Hz after the pulses. See
          docs/cases/lattice_mast.md, which compares the three models.
"""

from dataclasses import replace

import numpy as np

import femb

BAYS, BAY, SIDE = 8, 0.5, 0.4  # number of bays; their length and the side of the triangular section, m
YOUNGS_MODULUS, SHEAR_MODULUS, DENSITY = 1.2e11, 5e9, 1600.0  # Pa, Pa, kg/m3: carbon fibres along the members
AREAS = {"longeron": 1.49e-5, "diagonal": 1.85e-6, "batten": 5.5e-6}  # m2: tubes of 10, 6 and 4 mm
SECOND_MOMENTS = {"longeron": 1.69e-10, "diagonal": 8.05e-12, "batten": 8.5e-12}  # m4
DAMPING = 1e-4  # s, proportional to the stiffness
ROOT = (0.5, 0.0, 0.0)  # m, on the hub
INSTRUMENT = (0.2, 0.15, 0.0)  # m, on the end plate, beside the axis of the mast

run = {"duration": 3.0, "output_interval": 0.01}


def build(kind: str = "superelement") -> femb.Model:
    """The satellite with the mast as a "superelement", as the "truss" itself, or as a "beam"."""
    model = femb.Model(f"Satellite with a lattice mast: {kind}")
    hub = model.add(femb.RigidBody("hub", mass=300.0, inertia=60.0, shape={"box": [1.0, 1.0, 1.0]}))
    if kind == "superelement":
        model.add(femb.FlexibleBody("mast", superelement(), start=hub.at((0.0, 0.0, 0.0))))
        tip = "mast.tip"
    else:
        tip = (add_truss if kind == "truss" else add_beam)(model, hub).name
    model.add(femb.PointMass("instrument", 5.0, on=femb.Place(tip, at=INSTRUMENT)))
    for name, sign, start in (("go", -1.0, 0.0), ("stop", 1.0, 1.5)):
        profile = femb.profiles.Versine(0.5, start=start)
        model.add(femb.Load(name, body="hub", torque=(0.0, 100.0 * sign, 0.0), profile=profile))
    model.add(femb.Figure("overview", ["euler_angles of hub | torque.y of go, stop", "appendages/*/torque", "energy"]))
    model.add(femb.Figure("deflection", [f"displacement.z of {tip}"], frame="hub"))
    return model


def superelement() -> femb.fem.ReducedBody:
    """The truss with its end plate, reduced to its root on the hub, the plate and ten modes between them."""
    model = femb.Model("mast")
    add_truss(model, model.add(femb.RigidBody("hub", mass=300.0, inertia=60.0)))
    body = femb.fem.reduce_beams(model, "hub", {"tip": "bodies.plate"}, 10, damping_ratio=0.0).body
    return replace(body, D=DAMPING * body.K, damping_ratio=None)


def add_truss(model: femb.Model, hub: femb.RigidBody, bays: int = BAYS) -> femb.RigidBody:
    """Longerons along x from the hub to the plate at their end; battens and diagonals between their nodes.

    In every bay the three diagonals wind about the axis in one direction, and in the next bay in the other. Each of
    the battens and diagonals is one element. Returns the plate.
    """
    for name, area in AREAS.items():
        moment = SECOND_MOMENTS[name]
        model.add(
            femb.Section(
                name,
                area=area,
                second_moments=(moment, moment),
                torsion_constant=2.0 * moment,
                density=DENSITY,
                youngs_modulus=YOUNGS_MODULUS,
                shear_modulus=SHEAR_MODULUS,
                damping=DAMPING,
            )
        )
    plate = model.add(end_plate())
    longerons = [f"longeron_{k}" for k in range(3)]
    for name, (y, z) in zip(longerons, corners(), strict=True):
        start = hub.at((ROOT[0], y, z), direction=(1.0, 0.0, 0.0))
        model.add(femb.Beam(name, "longeron", bays * BAY, bays, start=start, end=plate.at((0.0, y, z))))

    def member(name: str, section: str, length: float, first: tuple[str, int], second: tuple[str, int]) -> None:
        start, end = (femb.Attachment(beam=beam, node=node) for beam, node in (first, second))
        model.add(femb.Beam(name, section, length, 1, start=start, end=end))

    for j in range(bays):
        for k in range(3):
            one, other = longerons[k], longerons[(k + 1) % 3]
            if j > 0:
                member(f"batten_{j}_{k}", "batten", SIDE, (one, j), (other, j))
            below, above = (one, other) if j % 2 else (other, one)
            member(f"diagonal_{j}_{k}", "diagonal", float(np.hypot(SIDE, BAY)), (below, j), (above, j + 1))
    return plate


def end_plate() -> femb.RigidBody:
    return femb.RigidBody("plate", mass=0.3, inertia=(0.004, 0.002, 0.002), shape={"box": [0.01, 0.4, 0.4]})


def corners() -> np.ndarray:
    """(3, 2) m: the longerons across the axis."""
    angles = 2.0 * np.pi * np.arange(3) / 3.0
    return SIDE / np.sqrt(3.0) * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def stiffness() -> dict[str, float]:
    """EA, EI, GA and GJ of the lattice as a beam: bars on pins, diagonals that change their direction every bay.

    Battens then carry no force. A face has the shear stiffness l b^2 E A_d / d^3; torsion strains the longerons too.
    """
    longeron, diagonal = (YOUNGS_MODULUS * AREAS[name] for name in ("longeron", "diagonal"))
    face = np.hypot(SIDE, BAY) ** 3 / (BAY * SIDE**2 * diagonal)
    twist = face + BAY**2 / (SIDE**2 * longeron)
    return {"EA": 3.0 * longeron, "EI": longeron * SIDE**2 / 2.0, "GA": 1.5 / face, "GJ": SIDE**2 / 4.0 / twist}


def add_beam(model: femb.Model, hub: femb.RigidBody) -> femb.RigidBody:
    """A beam of the kind "exact" with the stiffness of the lattice and its mass per length, and the end plate."""
    found = stiffness()
    diagonals = np.hypot(SIDE, BAY) / BAY
    mass = 3.0 * DENSITY * (AREAS["longeron"] + diagonals * AREAS["diagonal"] + SIDE / BAY * AREAS["batten"])
    polar = mass * SIDE**2 / 4.0  # kg m, roughly
    section = femb.Section(
        "lattice",
        axial_stiffness=found["EA"],
        torsional_stiffness=found["GJ"],
        bending_stiffness=(found["EI"], found["EI"]),
        shear_stiffness=(found["GA"], found["GA"]),
        mass_per_length=mass,
        inertia_per_length=(polar, polar / 2.0, polar / 2.0),
        damping=DAMPING,
    )
    plate = end_plate()
    start = hub.at(ROOT, direction=(1.0, 0.0, 0.0))
    model.add(femb.ExactBeam("mast", section, length=BAYS * BAY, elements=BAYS, start=start, end=plate.at((0, 0, 0))))
    return model.add(plate)
