"""The surface error of ``dish_thermal``, beside the paraboloid that fits best.

``python cases/studies/dish_thermal.py`` prints the table of docs/cases/dish_thermal.md.
"""

from pathlib import Path

import numpy as np

import femb


def surface_error(shell):
    """RMS of the distance (m) of a deformed dish from the paraboloid that fits best, and its focal length (m)."""
    reference, area = shell.reference_position, np.zeros(len(shell.reference_position))
    quads = shell.quadrilaterals.astype(int)
    np.add.at(area, quads, shell.element_area[: len(quads), None] / 4.0)
    square = np.sum(reference[:, :2] ** 2, axis=1)
    focus = 0.25 * np.sum(square * reference[:, 2]) / np.sum(reference[:, 2] ** 2)
    normal = np.column_stack([-0.5 / focus * reference[:, :2], np.ones(len(reference))])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    moved = np.sum((shell.position[-1] - reference) * normal, axis=1)
    # translations, rotations about x and y, and another curvature
    fits = np.column_stack([normal, np.cross(reference, normal)[:, :2], normal[:, 2] * square])
    weight = np.sqrt(area)
    found = np.linalg.lstsq(fits * weight[:, None], moved * weight, rcond=None)[0]
    error = moved - fits @ found
    return np.sqrt(np.average(error**2, weights=area)), 0.25 / (0.25 / focus + found[-1])


def heated(*loads, elements=(12, 36)):
    """The dish under some of its loads."""
    model = femb.load_case(
        Path(__file__).parents[1] / "dish_thermal.toml", [f"shells.dish.elements={list(elements)}"]
    ).model
    for name in ("through", "across"):
        if name not in loads:
            model.remove(model.loads[name])
    return femb.static(model, time=1.0, steps=1).shells["dish"]


if __name__ == "__main__":
    for loads in (["through"], ["across"], ["through", "across"]):
        meshes = [(8, 24), (12, 36), (16, 48)]
        errors = [1e6 * surface_error(heated(*loads, elements=each))[0] for each in meshes]
        print(*loads, *(f"{error:.4g} um" for error in errors))
