"""Sections of beams from files, by station."""

import os
from dataclasses import dataclass

from femb.base.brief import Brief
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.beam.section import Section
from femb.elements.beam.section_files import read_matrices


@dataclass(frozen=True, eq=False)
class SectionTable(Brief):
    """Sections along a beam: stations (k,) m from its start, and the k sections there.

    For a beam: ``ExactBeam("blade", sections=table.sections, stations=table.stations, length=table.stations[-1])`` and
    its other fields.
    """

    stations: Floats
    sections: tuple[Section, ...]


def read_sections(
    path: str | os.PathLike[str], format: str | None = None, *, name: str = "section", length: float | None = None
) -> SectionTable:
    """The sections in the file at ``path``.

    format : "vabs", the output file with the Timoshenko stiffness and the mass matrix of one section; "becas", a text
    of twelve rows of six numbers, the stiffness and the mass matrix of one section; "beamdyn", a blade file, with
    ``length`` (m) the length of the blade, since its stations are parts of it; "csv", a table of stations. By default
    by the file: ".K" is of VABS, ".csv" a table, one with the word BEAMDYN of BeamDyn, all else of BECAS, or
    in the order of VABS where the mass has J1 = J2 + J3.
    A table has the columns station (m), K11 to K66 and M11 to M66, of each matrix at least one triangle with what is
    not zero, and damping, or damping1 to damping6 (s), in the order of VABS.
    name : the sections are NAME, or NAME 1, NAME 2, ... where there are several.

    Raises ModelError: a file that is not of the format, or whose matrices are not those of a section.
    """
    table, relative = sections_of(path, format, name, length if length and length > 0.0 else None)
    if relative:
        raise ModelError(f"{path}: the stations of BeamDyn are parts of the blade: give its length (m)")
    return table


def sections_of(
    path: str | os.PathLike[str], format: str | None, name: str, length: float | None
) -> tuple[SectionTable, bool]:
    """As ``read_sections``; and whether the stations are parts of the length, which is not given."""
    found = read_matrices(path, format, length)
    count, unit = len(found.stations), "of the length" if found.relative else "m"
    sections = []
    for k, (K, M) in enumerate(zip(found.stiffness, found.mass, strict=True)):
        words = {"stiffness_matrix": K, "mass_matrix": M, "damping": found.damping[k]}
        try:
            sections.append(Section(name if count == 1 else f"{name} {k + 1}", **words))
        except ModelError as error:
            where = f"station {k + 1}, at {found.stations[k]:.6g} {unit}, " if count > 1 else ""
            problem = error.problems[0]
            raise ModelError(f"{path}: {where}{problem.item[-1]}: {problem.message}") from error
    return SectionTable(found.stations, tuple(sections)), found.relative
