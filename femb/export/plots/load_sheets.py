"""Sheets of loads: root loads of appendages, section loads and stresses of beams over time."""

import numpy as np

from femb.base.types import Floats
from femb.export.drawing import Panel
from femb.export.plots.subject import Rows, Subject
from femb.export.plots.words import channels
from femb.results.stress import axial_stress, section_loads, shear_stress, von_mises

FORCES = ("axial", "shear y", "shear z")
MOMENTS = ("torsion", "bending y", "bending z")
MEGA = 1e-6


def root_loads(subject: Subject) -> Rows:
    """A row for each appendage: its force and torque on its parent, axes of that."""
    rows = []
    for group in subject.of("appendages"):
        parts = [channel for word in ("force", "torque") for channel in channels("appendages", group, word)]
        parent = group.attributes.get("parent", "the ground")
        rows.append([subject.panel(f"root of {group.name}, axes of {parent}", channel) for channel in parts])
    return [row for row in rows if row]


def section_forces(subject: Subject) -> Rows:
    """A row for each beam: at each instant the section forces and moments that are largest along it."""
    rows = []
    for beam in subject.of("beams"):
        if "midpoint_force" in beam:
            loads = _largest(section_loads(beam))
            forces, moments = subject.clean(loads[:, :3], "force"), subject.clean(loads[:, 3:], "torque")
            title = f"{beam.name}, largest along it"
            rows.append([Panel(title, "section force", "N", forces, FORCES)])
            rows[-1].append(Panel(title, "section moment", "N m", moments, MOMENTS))
    return rows


def stress(subject: Subject) -> Rows:
    """A row for each beam: the extremes of the axial stress and the largest other stresses along it."""
    rows = []
    for beam in subject.of("beams"):
        if "stress_section" in beam and "midpoint_force" in beam:
            axial = MEGA * axial_stress(beam).reshape(len(subject.results.time), -1)
            extremes = np.stack([np.max(axial, axis=1), np.min(axial, axis=1)], axis=1)
            others = [np.max(MEGA * von_mises(beam), axis=(1, 2, 3))]
            labels = ["von Mises"]
            shear = shear_stress(beam)
            if not np.any(np.isnan(shear)):
                others.append(np.max(MEGA * shear, axis=(1, 2)))
                labels.append("torsion")
            title = f"{beam.name}, extremes along it"
            rows.append([Panel(title, "axial stress", "MPa", extremes, ("largest", "smallest"))])
            rows[-1].append(Panel(title, "stress", "MPa", np.stack(others, axis=1), labels))
    return rows


def _largest(values: Floats) -> Floats:
    """(T, c) the values of the largest magnitude of (T, e, s, c)."""
    flat = values.reshape(len(values), -1, values.shape[-1])
    places = np.argmax(np.abs(flat), axis=1)[:, None]
    return np.take_along_axis(flat, places, axis=1)[:, 0]
