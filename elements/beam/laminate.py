"""Laminated tubes: stiffness and inertia of a section from its plies, each at its radius.

Source: docs/theory/beam.md, section 2: plane stress in every ply (R. M. Jones, Mechanics of Composite Materials,
chapter 2), without a hoop force in the wall.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.meanings import Description
from femb.base.types import POSITIVE, Floats, Pair, Shape, Unit
from femb.base.values import frozen_array, nearest

# Young's and shear moduli (Pa) of what structures are made of, from foams to diamond.
MODULUS = (1e5, 2e12)
# Shear modulus by Young's modulus: from fibres along a beam to a laminate of +-45 degrees, twice as far.
SHEAR = (0.005, 3.0)
Strengths = Annotated[Any, Shape((5,))]
ELASTIC = ("youngs_moduli", "shear_modulus", "poissons_ratio", "density")
# Unidirectional laminas: the values of ELASTIC. Source: S. W. Tsai, H. T. Hahn, Introduction to Composite Materials,
# 1980, table of typical elastic constants of unidirectional composites.
PLY_MATERIALS: dict[str, tuple[tuple[float, float], float, float, float]] = {
    "carbon T300/5208": ((181e9, 10.3e9), 7.17e9, 0.28, 1600.0),
    "carbon AS/3501": ((138e9, 8.96e9), 7.1e9, 0.30, 1600.0),
    "boron B(4)/5505": ((204e9, 18.5e9), 5.59e9, 0.23, 2000.0),
    "glass Scotchply 1002": ((38.6e9, 8.27e9), 4.14e9, 0.26, 1800.0),
    "aramid Kevlar 49/epoxy": ((76e9, 5.5e9), 2.3e9, 0.34, 1460.0),
}


def doubts_of_moduli(at: str, stretch: float | None, shear: float | None) -> Iterator[str]:
    """Sentences on moduli (Pa) of the item at ``at`` that are probably in another unit."""
    for word, value in (("youngs_modulus", stretch), ("shear_modulus", shear)):
        if value is not None and not MODULUS[0] <= value <= MODULUS[1]:
            yield f"{at}.{word}: {value:g} Pa is that of no material; GPa are to be multiplied by 1e9"
    if stretch and shear and not SHEAR[0] * stretch <= shear <= SHEAR[1] * stretch:
        yield (
            f"{at}.shear_modulus: {shear:g} Pa beside a youngs_modulus of {stretch:g} Pa: is one of them in "
            "another unit? Of an isotropic material it is 0.33 to 0.5 times as large"
        )


def doubts_of_plies(at: str, plies: Iterable["Ply"]) -> Iterator[str]:
    """Sentences on moduli of plies, each named by its number behind ``at``."""
    for k, ply in enumerate(plies):
        yield from doubts_of_moduli(f"{at}[{k}]", max(ply._known.youngs_moduli), ply.shear_modulus)


@dataclass(frozen=True, eq=False)
class Ply(Description):
    """One unidirectional ply of a tube or of a shell.

    Raises ModelError: a value that is missing or not positive, a Poisson's ratio that no material has, an unknown name.
    """

    thickness: Annotated[float, Unit("m"), POSITIVE]
    angle: Annotated[float, Unit("rad")]
    """of the fibres from the beam's axis, positive towards a rotation about it; in a shell from the material direction,
    positive about the normal"""
    youngs_moduli: Annotated[Pair | None, Unit("Pa"), POSITIVE] = None
    """along and across the fibres"""
    shear_modulus: Annotated[float | None, Unit("Pa"), POSITIVE] = None
    """in the plane"""
    poissons_ratio: Annotated[float | None, Unit("")] = None
    """ratio of strain across to strain along, under a force along"""
    density: Annotated[float | None, Unit("kg/m3"), POSITIVE] = None
    material: str | None = None
    """one of femb.PLY_MATERIALS or of femb.MATERIALS by its name; it gives moduli, Poisson's ratio and density where
    they are not given"""
    transverse_shear: Annotated[Pair | None, Unit("Pa"), POSITIVE] = None
    """shear moduli through the thickness of a shell, along and across the fibres; by default the shear modulus in the
    plane"""
    expansion: Annotated[Pair | None, Unit("1/K")] = None
    """coefficients of thermal expansion in a shell, along and across the fibres; by default that of an isotropic
    material"""
    strengths: Annotated[Strengths | None, Unit("Pa"), POSITIVE] = None
    """in a shell, for its failure index, all positive: tension and pressure along the fibres, tension and pressure
    across them, shear"""

    def __post_init__(self) -> None:
        with Checks(self, "ply") as check:
            self._complete(check)
            if not check.bad:
                along, across = self._known.youngs_moduli
                limit = float(np.sqrt(along / across))
                ratio = f"must be between -{limit:.4g} and {limit:.4g}, the root of the ratio of the moduli"
                check.require("poissons_ratio", abs(self._known.poissons_ratio) < limit, ratio)

    @property
    def _known(self) -> Any:
        """The ply, all of whose values are there after the checks."""
        return self

    def _complete(self, check: Checks) -> None:
        """Take the values of the material that are not given, and report those that are missing."""
        values: dict[str, Any] = {}
        if self.material is not None and "material" not in check.bad:
            if self.material in PLY_MATERIALS:
                values = dict(zip(ELASTIC, PLY_MATERIALS[self.material], strict=True))
            elif self.material in MATERIALS:
                one = MATERIALS[self.material]
                moduli = (one.youngs_modulus, one.youngs_modulus), one.shear_modulus, one.poissons_ratio
                values = dict(zip(ELASTIC, (*moduli, one.density), strict=True))
                if self.expansion is None and one.expansion is not None:
                    object.__setattr__(self, "expansion", frozen_array((one.expansion, one.expansion)))
            else:
                known = ", ".join(map(repr, (*PLY_MATERIALS, *MATERIALS)))
                near = nearest(self.material, (*PLY_MATERIALS, *MATERIALS))
                check.fail("material", f"got {self.material!r}, must be one of {known}{near}")
                check.bad.update(ELASTIC)
        for word in ELASTIC:
            if getattr(self, word) is None and word not in check.bad:
                if word in values:
                    object.__setattr__(self, word, frozen_array(values[word]) if word == ELASTIC[0] else values[word])
                else:
                    check.fail(word, "is missing: give it, or a material")

    def free_strain(self) -> Floats:
        """(3,) strains of the free ply per kelvin in the axes of the wall, 1/K; nan where the expansion is unknown."""
        along, across = (np.nan, np.nan) if self.expansion is None else self.expansion
        c, s = np.cos(self.angle), np.sin(self.angle)
        parts = c * c * along + s * s * across, s * s * along + c * c * across, 2.0 * c * s * (along - across)
        return np.array(parts)

    def shear(self) -> Floats:
        """(2, 2) shear moduli through the thickness in the axes of the wall, Pa."""
        along, across = (self.shear_modulus,) * 2 if self.transverse_shear is None else self.transverse_shear
        c, s = np.cos(self.angle), np.sin(self.angle)
        R = np.array([[c, -s], [s, c]])
        result: Floats = R @ np.diag([along, across]) @ R.T
        return result

    def stiffness(self) -> Floats:
        """(3, 3) plane-stress stiffness along the beam, along the circumference and in shear, Pa."""
        along, across = self._known.youngs_moduli
        n = self._known.poissons_ratio
        scale = 1.0 / (1.0 - n * n * across / along)
        Q = np.array(
            [
                [scale * along, scale * n * across, 0.0],
                [scale * n * across, scale * across, 0.0],
                [0.0, 0.0, self.shear_modulus],
            ]
        )
        c, s = np.cos(self.angle), np.sin(self.angle)
        # strains in the axes of the fibres by strains in those of the wall, with the engineering shear strain
        T = np.array([[c * c, s * s, c * s], [s * s, c * c, -c * s], [-2.0 * c * s, 2.0 * c * s, c * c - s * s]])
        result: Floats = T.T @ Q @ T
        return result


def _moments(inner: float, plies: Sequence[Ply]) -> Floats:
    """(plies, 3) integrals of r, r2 and r3 over the radius r of every ply; inner : radius of the tube inside, m."""
    radii = inner + np.concatenate([[0.0], np.cumsum([ply.thickness for ply in plies])])
    return np.stack([np.diff(radii**k) / k for k in (2, 3, 4)], axis=1)


def tube_stiffness(inner: float, plies: Sequence[Ply]) -> Floats:
    """(4, 4) stiffness of a tube by axial strain, twist and the curvatures, N and N m2; inner : radius inside, m.

    Each ply is at its radius: the axial strain of stretching is uniform, those of bending and twist grow with the
    radius, and so do the hoop strains with each, of which there is no hoop force. Plies that are not balanced couple
    stretching with twist, and bending with shear; the section is free to shear. A wall of one isotropic material has
    the stiffness of its shape. Source: docs/theory/beam.md, equations (13a) to (13c).
    """
    Q = np.array([ply.stiffness() for ply in plies])
    A, B, D = np.tensordot(_moments(inner, plies), Q, (0, 0))
    stretched, twisted = np.array([1.0, -A[0, 1] / A[1, 1], 0.0]), np.array([0.0, -D[1, 2] / D[1, 1], 1.0])
    couple = 2.0 * np.pi * stretched @ B @ twisted
    result = np.zeros((4, 4))
    result[0, 0], result[1, 1] = 2.0 * np.pi * np.array([stretched @ A @ stretched, twisted @ D @ twisted])
    result[0, 1] = result[1, 0] = couple
    # neither hoop force nor shear force in bending
    result[2, 2] = result[3, 3] = np.pi * (D[0, 0] - D[0, 1:] @ np.linalg.solve(D[1:, 1:], D[1:, 0]))
    return result


def tube_inertia(inner: float, plies: Sequence[Ply]) -> tuple[float, Floats]:
    """Mass per length, kg/m, and moments of inertia per length about x, y and z, kg m; inner : radius inside, m."""
    densities = np.array([ply._known.density for ply in plies])
    mass, _, polar = 2.0 * np.pi * densities @ _moments(inner, plies)
    return float(mass), np.array([polar, 0.5 * polar, 0.5 * polar])


# Materials by name, for sections.


@dataclass(frozen=True)
class Material(Description):
    """An isotropic material.

    Raises ModelError: a value that is not positive.
    """

    youngs_modulus: Annotated[float, Unit("Pa"), POSITIVE]
    shear_modulus: Annotated[float, Unit("Pa"), POSITIVE]
    density: Annotated[float, Unit("kg/m3"), POSITIVE]
    expansion: Annotated[float | None, Unit("1/K")] = None
    """coefficient of thermal expansion"""
    source: str = ""
    """of the values"""

    def __post_init__(self) -> None:
        with Checks(self, "material"):
            pass

    @property
    def poissons_ratio(self) -> float:
        """That of both moduli."""
        return 0.5 * self.youngs_modulus / self.shear_modulus - 1.0

    def values(self) -> dict[str, float]:
        """The values by the names of the fields of a section."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "source"}
        return {name: value for name, value in given.items() if value is not None}


ALUMINUM_ASSOCIATION = "Aluminum Association, typical values"
HIBBELER = "R. C. Hibbeler, Mechanics of Materials, table of average properties"
# Typical values at room temperature; a project's own data sheets go before them.
MATERIALS = {
    "aluminium 6061-T6": Material(68.9e9, 26.0e9, 2700.0, 23.6e-6, ALUMINUM_ASSOCIATION),
    "aluminium 7075-T6": Material(71.7e9, 26.9e9, 2810.0, 23.6e-6, ALUMINUM_ASSOCIATION),
    "aluminium 2014-T6": Material(73.1e9, 27.0e9, 2790.0, 23.0e-6, HIBBELER),
    "stainless steel 304": Material(193.0e9, 75.0e9, 7860.0, 17.0e-6, HIBBELER),
    "steel A36": Material(200.0e9, 75.0e9, 7850.0, 12.0e-6, HIBBELER),
    "titanium Ti-6Al-4V": Material(120.0e9, 44.0e9, 4430.0, 9.4e-6, HIBBELER),
}


def material_named(name: str) -> Material:
    """A material of MATERIALS. Raises ModelError with the names that are known."""
    if name not in MATERIALS:
        known = ", ".join(map(repr, MATERIALS))
        raise ModelError(f"got {name!r}, must be one of {known}, or a table{nearest(name, MATERIALS)}")
    return MATERIALS[name]
