"""Sections between two of the same shape, whose sizes are linear there.

Source: docs/theory/exact_beam.md, section 3.
"""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from femb.base.errors import FembWarning
from femb.elements.beam.section import Section
from femb.elements.beam.section_shapes import shape_properties

# Fields that are linear between two sections, beside the sizes.
LINEAR = ("youngs_modulus", "shear_modulus", "density", "mass_per_length", "inertia_per_length", "mass_matrix")
FORM = (*LINEAR, "plies", "polar_moment", "shear_stiffness")


def is_taper(first: Section, last: Section) -> bool:
    """Whether both have a shape of one kind from which their stiffness follows, and the same form of inertia."""
    if first.shape is None or last.shape is None or first.shape.keys() != last.shape.keys():
        return False
    if any((getattr(first, word) is None) != (getattr(last, word) is None) for word in FORM):
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

    (kind, sizes), (_, others) = (next(iter((each.shape or {}).items())) for each in (first, last))
    shape = {kind: linear(sizes, others)}
    words: dict[str, Any] = {"non_structural_mass": float(linear(first.non_structural_mass, last.non_structural_mass))}
    words["damping"] = linear(first.damping, last.damping)
    if first.expansion is not None and last.expansion is not None:
        words["expansion"] = float(linear(first.expansion, last.expansion))
    if first.mass_axis is not None or last.mass_axis is not None:
        words["mass_axis"] = linear(first.offset(), last.offset())
    if first.plies is not None and last.plies is not None:
        plies = zip(first.plies, last.plies, strict=True)
        words["plies"] = [replace(a, thickness=float(linear(a.thickness, b.thickness))) for a, b in plies]
    else:
        words |= {word: linear(getattr(first, word), getattr(last, word)) for word in LINEAR}
    # what is given beside the shape keeps its proportion to that of the shape
    at, here, there = (_measures(each) for each in (first.shape, shape, last.shape))
    for word, measure in here.items():
        if getattr(first, word) is not None:
            words[word] = measure * linear(getattr(first, word) / at[word], getattr(last, word) / there[word])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FembWarning)  # both ends have said it
        return Section(f"{first.name} to {last.name}", shape=shape, **words)


def _measures(shape: Any) -> dict[str, Any]:
    """Fields of a section that are given by its shape alone, or in proportion to."""
    of = shape_properties(shape)
    polar = float(np.sum(of.second_moments))
    return {"area": of.area, "second_moments": of.second_moments, "torsion_constant": of.torsion_constant,
            "polar_moment": polar, "shear_stiffness": of.area}  # fmt: skip
