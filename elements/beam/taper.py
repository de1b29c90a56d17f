"""Sections between two of the same shape, whose sizes are linear there.

Source: docs/theory/exact_beam.md, section 3.
"""

import warnings
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from femb.base.errors import FembWarning
from femb.elements.beam.line import recovery_points, torsion_modulus
from femb.elements.beam.section import Section
from femb.elements.beam.section_shapes import shape_properties

# Fields that are linear between two sections, beside the sizes, and those that the shape gives unless they are given.
LINEAR = ("youngs_modulus", "shear_modulus", "inertia_per_length", "mass_matrix", "polar_moment", "shear_stiffness")
OF_SHAPE = ("area", "second_moments", "torsion_constant", "torsion_modulus")


def is_taper(first: Section, last: Section) -> bool:
    """Whether both have a shape of one kind from which their stiffness follows, and the same form of inertia."""
    if first.shape is None or last.shape is None or first.shape.keys() != last.shape.keys():
        return False
    if any((getattr(first, word) is None) != (getattr(last, word) is None) for word in (*LINEAR, "plies")):
        return False
    if first.plies is None or last.plies is None:
        return first.youngs_modulus is not None
    alike = (a.density == b.density and np.array_equal(a.stiffness(), b.stiffness())
             for a, b in zip(first.plies, last.plies, strict=False))  # fmt: skip
    return len(first.plies) == len(last.plies) and all(alike)


def section_between(first: Section, last: Section, part: float) -> Section:
    """The section at a part of the way between two, of which ``is_taper`` holds."""

    def linear(a: Any, b: Any) -> Any:
        return None if a is None else (1.0 - part) * np.asarray(a) + part * np.asarray(b)

    shapes: Any = first.shape, last.shape
    (kind, sizes), (_, others) = (next(iter(each.items())) for each in shapes)
    words: dict[str, Any] = {"shape": {kind: linear(sizes, others)}, "damping": linear(first.damping, last.damping)}
    if first.expansion is not None and last.expansion is not None:
        words["expansion"] = float(linear(first.expansion, last.expansion))
    if first.mass_axis is not None or last.mass_axis is not None:
        words["mass_axis"] = linear(first.offset(), last.offset())
    if first.plies is not None and last.plies is not None:
        plies = zip(first.plies, last.plies, strict=True)
        words["plies"] = [replace(a, thickness=float(linear(a.thickness, b.thickness))) for a, b in plies]
    else:
        words |= {word: linear(getattr(first, word), getattr(last, word)) for word in LINEAR}
    if words.get("plies") is None and (first.mass_per_length is not None or last.mass_per_length is not None):
        words["mass_per_length"] = float(linear(first.line_mass(), last.line_mass()))
    else:
        words["density"] = linear(first.density, last.density)
        words["non_structural_mass"] = float(linear(first.non_structural_mass, last.non_structural_mass))
    # what is given beside the shape; what equals that of the shape, as in a section made again, follows the sizes
    properties = [shape_properties(each) for each in shapes]
    for word in OF_SHAPE:
        pairs = ((getattr(each, word), getattr(own, word)) for each, own in zip((first, last), properties, strict=True))
        if any(given is not None and not np.array_equal(given, own) for given, own in pairs):
            of = torsion_modulus if word == "torsion_modulus" else attrgetter(word)
            words[word] = linear(of(first), of(last))
    if first.recovery_points is not None or last.recovery_points is not None:
        points = recovery_points(first), recovery_points(last)
        words["recovery_points"] = linear(*points) if points[0].shape == points[1].shape else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FembWarning)  # both ends have said it
        return Section(f"{first.name} to {last.name}", **words)
