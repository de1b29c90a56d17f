"""The honeycomb panel of ``panel_slew`` as a shell, a reduced body and beams: modes and slew of the satellite.

``python cases/studies/panel_slew.py`` prints the table of docs/cases/panel_slew.md.
"""

from pathlib import Path

import numpy as np

import femb

CASE = femb.load_case(Path(__file__).parents[1] / "panel_slew.toml")
SHELL = CASE.model.shells["panel"]
LENGTH, WIDTH = 2.4, 0.8


def satellite(*panel):
    """The satellite with another panel."""
    model = femb.Model("panel slew")
    for item in CASE.model.items():
        if item.table != "shells" and not item.name.startswith("panel."):
            model.add(item)
    for item in panel:
        model.add(item)
    return model


def reduced(modes=6):
    """A flexible body of the shell, with the damping of the shell in its first mode."""
    alone = femb.Model("the panel alone")
    alone.add(femb.RigidBody("bracket", 1.0, 1.0))
    alone.add(SHELL)
    corners = {"right": "bodies.panel.right", "left": "bodies.panel.left"}
    found = femb.fem.reduce_beams(alone, "bracket", corners, modes, damping_ratio=0.005)
    ratio = np.pi * 2.38 * SHELL.damping
    return [femb.FlexibleBody("panel", found.body, start=femb.Attachment("bracket"), damping_ratio=ratio)]


def beam():
    """A beam with the stiffness of a strip of the wall, free at its sides, and Saint-Venant's torsion."""
    C, (mass, _, rotary) = SHELL.wall.stiffness, SHELL.wall.mass
    membrane, bending = (np.linalg.inv(C[k : k + 3, k : k + 3]) for k in (0, 3))
    about_z = mass * WIDTH**3 / 12.0
    section = femb.Section(
        "strip",
        axial_stiffness=WIDTH / membrane[0, 0],
        torsional_stiffness=4.0 * WIDTH * C[5, 5],
        bending_stiffness=(WIDTH / bending[0, 0], WIDTH**3 / 12.0 / membrane[0, 0]),
        shear_stiffness=(5.0 / 6.0 * WIDTH / membrane[2, 2], WIDTH * C[6, 6]),
        mass_per_length=mass * WIDTH,
        inertia_per_length=(about_z + rotary * WIDTH, rotary * WIDTH, about_z),
        damping=SHELL.damping,
    )
    start = femb.Attachment("bracket", direction=(1.0, 0.0, 0.0))
    return [section, femb.ExactBeam("panel", section, LENGTH, 8, start=start)]


def middle_of_tip(results):
    """Of the far edge, seen from the hub, m."""
    seen = results.in_frame("hub")
    if "panel" in seen.beams:
        return seen.beams["panel"].displacement[:, -1]
    return 0.5 * (seen.bodies["panel.right"].displacement + seen.bodies["panel.left"].displacement)


def of_modes(model):
    """Frequencies, hub held and free, and effective masses: in % of the whole, in the order of the table."""
    held, free = femb.modes(model, 6, held="hub"), femb.modes(model, 4)
    shares = 100.0 * held.appendages[0].fractions
    shown = [shares[0, 2], shares[0, 4], shares[1, 5], shares[2, 3]]
    return [*held.frequencies[:5], *free.frequencies[:2], *shown]


def of_slew(model):
    """Turn about y, degrees; swing of the tip across the panel and in its plane, mm; root torques, N m."""
    results = femb.simulate(model, CASE.run)
    first = (results.time > 0.6) & (results.time < 3.9)
    swing = 500.0 * np.ptp(middle_of_tip(results)[first], axis=0)
    torque = abs(results.appendages["yoke"].torque).max(axis=0)
    angle = np.degrees(results.bodies["hub"].euler_angles()[-1, 1])
    return [angle, swing[2], swing[1], torque[1], torque[2]]


def compared():
    """Columns of the table, by model."""
    models = {"shell": CASE.model, "reduced body": satellite(*reduced()), "beams": satellite(*beam())}
    return {name: of_modes(model) + of_slew(model) for name, model in models.items()}


if __name__ == "__main__":
    for row in zip(*compared().values(), strict=True):
        print("".join(f"{value:12.4f}" for value in row))
