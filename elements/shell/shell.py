"""Shells: panels, dishes, tapes and membranes of quadrilaterals and triangles in large rotation."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import FembError, FembWarning, ModelError
from femb.base.quantity import Group
from femb.base.types import (
    NOT_NEGATIVE,
    POSITIVE,
    Coordinates,
    Direction,
    Floats,
    Ints,
    Matrix6,
    OneOf,
    Quaternion,
    Shape,
    Unit,
    Vector,
)
from femb.base.values import as_numbers, shown
from femb.elements.beam.laminate import Material, Ply, doubts_of_plies, material_named
from femb.elements.item import Item, StartMotion
from femb.elements.load.load import Load
from femb.elements.marker import Marker, Place
from femb.elements.records import RecordedSystem, Records
from femb.elements.shell.attachment import ShellPoint, attached, check_attach, check_points, node_at
from femb.elements.shell.bulk_shell import BulkShell, is_bulk_data, read_bulk_shell
from femb.elements.shell.laminate import (
    PlyRecovery,
    Wall,
    recovery_of_laminates,
    recovery_of_plies,
    recovery_of_sheets,
    wall_of_plies,
    walls_of_sheet,
)
from femb.elements.shell.mesh import (
    ShellMesh,
    mesh_of_file,
    projected_axes,
    quadrilateral,
    surface_mesh,
    surface_problem,
)
from femb.elements.shell.results import ShellResults
from femb.layout.layout import Layout, ShellLayout, Station
from femb.layout.views import ModelAtStart, ModelView, StartPoses
from femb.numerics import rotations

# An element needs about 10 kB; a larger number is probably a typing error.
MOST_ELEMENTS = 250_000
# A wall that is thicker than this part of the size of its shell is probably in millimetres.
THICK = 0.5
Corners = Annotated[Any, Shape((4, 3))]
Elements = Annotated[Any, Shape((2,))]
Matrix2 = Annotated[Any, Shape((2, 2))]
# A mesh that is larger (m) is probably in millimetres.
LARGE = 300.0
COARSE = 100  # elements of a shell
# A torque on a node is about the normal where more than this part of it is.
DRILLS = 0.5
GEOMETRY = ("corners", "surface", "mesh")
DIRECT = ("stiffness_matrix", "shear_stiffness", "mass_per_area")


@dataclass(frozen=True, eq=False)
class Shell(Item):
    """A shell of quadrilaterals and triangles, flexible in its plane, in bending and in shear, for any rotation.

    Its geometry is by corners, a surface or a mesh, its wall by a thickness and a material, plies, or matrices. Sets of
    nodes in the file of a mesh, and planes such as "x=0.5" of it, are edges in attach, points and loads. Bulk data of
    NASTRAN has walls too, groups "property 3" and sets "12,13" of grids; mesh_unit is then of all its lengths, beside N
    and s.

    Raises ModelError: corners that coincide or are not in order, a mesh that cannot be read or is no surface, a wall
    that is not positive definite or given twice, an unknown edge, a point beside the nodes, two names for a node, a
    membrane with a laminate or with compression. Warns of a thickness that looks like millimetres, of parts of a mesh
    that are not connected and folds where its side changes. Source: docs/theory/shell.md.
    """

    table: ClassVar[str] = "shells"
    kind: ClassVar[str] = "shell"
    acts_on_attitude: ClassVar[bool] = True
    has_dofs: ClassVar[bool] = True
    deforms: ClassVar[bool] = True
    slow_kernel: ClassVar[str] = "femb.elements.shell.kernels:forces"
    results: ClassVar[type[Group]] = ShellResults
    batch: ClassVar[str] = "femb.elements.shell.batch:ShellBatch"

    name: str
    elements: Annotated[Elements | None, Unit("")] = None
    """numbers from corner 1 to 2 and from 2 to 3, of a cylinder along and around, of others along the radius and
    around"""
    corners: Annotated[Corners | None, Unit("m")] = None
    """of a quadrilateral, in order around it, counter-clockwise from the side of the normal"""
    surface: Annotated[dict[str, Any] | None, Unit("m", entries=(("cylinder", ("m", "m", "rad")),))] = None
    """in place of corners, {"cylinder": [radius, length, angle]} with its axis along x and the middle line from the
    origin, {"disc": [outer radius, inner radius]}, {"paraboloid": [focal length, outer radius, inner radius]} or
    {"sphere": [radius, outer radius, inner radius]}, a cap, about z"""
    mesh: str | Path | None = None
    """in place of them, a file of triangles and quadrilaterals of Gmsh, Abaqus, NASTRAN or another format of meshio"""
    mesh_unit: Annotated[float, Unit("m"), POSITIVE] = 1.0
    """its unit of length"""
    group: str | None = None
    """the cell set or physical group of the mesh that is the shell, by default all"""
    thickness: Annotated[Coordinates | None, Unit("m")] = None
    """one, or a list of that of each element, quadrilaterals first"""
    material: str | Material | None = None
    """one of femb.MATERIALS by its name, or a Material"""
    plies: list[Ply] | None = None
    """in place of both, from the side behind the normal to that in front"""
    offset: Annotated[float, Unit("m")] = 0.0
    """of the reference surface above the middle of the wall, along the normal"""
    stiffness_matrix: Annotated[Matrix6 | None, Unit("own")] = None
    """in place of these, 6 x 6, membrane forces and moments by strains and curvatures 11, 22 and 12"""
    shear_stiffness: Annotated[Matrix2 | None, Unit("N/m")] = None
    """beside the stiffness_matrix, 2 x 2"""
    mass_per_area: Annotated[float | None, Unit("kg/m2"), POSITIVE] = None
    """beside the stiffness_matrix"""
    rotary_inertia: Annotated[float | None, Unit("kg"), POSITIVE] = None
    """per area; by default that of a homogeneous wall"""
    non_structural_mass: Annotated[float, Unit("kg/m2"), NOT_NEGATIVE] = 0.0
    """in addition"""
    direction: Direction | None = None
    """the material axis 1 is its projection; by default from corner 1 to 2, or x"""
    damping: Annotated[float, Unit("s"), NOT_NEGATIVE] = 0.0
    """stress per strain rate divided by stress per strain"""
    pretension: Annotated[Vector | None, Unit("N/m")] = None
    """membrane forces 11, 22 and 12 of the shape that is described"""
    tension_only: bool = False
    """an isotropic membrane that wrinkles instead of taking pressure"""
    frame: str | None = None
    """a body in whose axes at the start the geometry is given; by default inertial axes"""
    position: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    """of the axes of the geometry"""
    quaternion: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """of the axes of the geometry"""
    attach: dict[str, Any] | None = None
    """by edge ("edge1" from corner 1 to 2, and so on) or corner: the body to which its nodes are fixed, or {"beam":
    name} or {"shell": name, "edge": edge} whose nodes they are"""
    points: dict[str, Any] | None = None
    """by name, nodes that are bodies NAME.POINT: the middle of an edge of an even number of elements, a corner, the
    number of a node, or its position in the axes of the geometry, m"""
    drilling: Annotated[str, OneOf(("stiff", "weak"))] | None = None
    """about the normal at nodes: "stiff" (default of flat shells without tension_only), for moments on flat panels, or
    "weak", the default of all others"""
    velocity: Annotated[Vector | None, Unit("m/s")] = None
    """of a free shell, inertial axes"""
    angular_velocity: Annotated[Vector | None, Unit("rad/s")] = None
    """of a free shell, in the axes of the first node"""

    # Checks

    def check(self, check: Checks) -> None:
        self._check_mesh(check)
        self._check_wall(check)
        if "quaternion" not in check.bad:
            check.require("quaternion", abs(np.linalg.norm(self.quaternion) - 1.0) < 1e-6, "must be of unit length")
        if check.bad:
            return
        word = next(word for word in GEOMETRY if getattr(self, word) is not None)
        try:
            mesh = self.geometry
        except FembError as error:
            check.fail(word, str(error))
            return
        if problem := mesh.problem():
            check.fail("elements" if word == "surface" else word, problem)
            return
        try:
            of_nodes = self.bulk is not None and self.direction is None
            corners = [] if of_nodes else [mesh.corner_normals(cells).reshape(-1, 3) for cells in mesh.cells]
            for normals in (mesh.normals, *corners):
                projected_axes(normals, self.material_direction)
        except ModelError as error:
            check.fail("direction", str(error))
        check_attach(check, self.name, mesh, self.attach)
        check_points(check, mesh, self.attach or {}, self.points)
        if self.attach:
            for word in ("velocity", "angular_velocity"):
                check.require(word, getattr(self, word) is None, "a shell on a body starts with it: give it there")
        size = float(np.ptp(mesh.nodes, axis=0).max())
        if self.thickness is not None and (largest := float(np.max(self.thickness))) > THICK * size:
            warnings.warn(
                f"shells.{self.name}.thickness: {largest:g} m is more than half of the size of the shell, "
                f"{size:.3g} m: is it in millimetres?",
                FembWarning,
                stacklevel=4,
            )
        remarks = list(mesh.remarks)
        if self._of_bulk is not None and self._of_bulk.remark:
            remarks.append(f"has {self._of_bulk.remark}")
        if self.mesh is not None and size > LARGE:
            remarks.append(f'is {size:.3g} m large: is it in millimetres? Then give mesh_unit = "1 mm"')
        if remarks:
            said = f"shells.{self.name}.mesh: {self.mesh} {'; '.join(remarks)}"
            warnings.warn(said, FembWarning, stacklevel=4)

    def _check_mesh(self, check: Checks) -> None:
        check.exactly_one(*GEOMETRY)
        if self.surface is not None and "surface" not in check.bad and (problem := surface_problem(self.surface)):
            check.fail("surface", problem)
        if self.mesh is not None:
            if not isinstance(self.mesh, str | Path):
                check.fail("mesh", f"got {shown(self.mesh)}, wanted the path of a file")
            if self.elements is not None:
                check.fail("elements", "given beside 'mesh', which has them")
            return
        if self.group is not None:
            check.fail("group", "is that of a mesh, and there is none")
        if self.elements is None:
            check.fail("elements", "is missing: [from corner 1 to 2, from corner 2 to 3]")
            return
        if "elements" in check.bad:
            return
        numbers = self.elements
        if not np.all((numbers == np.round(numbers)) & (numbers >= 1)):
            check.fail("elements", f"got {shown(numbers.tolist())}, wanted two whole numbers of at least 1")
        elif np.prod(numbers) > MOST_ELEMENTS:
            check.fail("elements", f"got {shown(numbers.tolist())}, wanted at most {MOST_ELEMENTS} elements")
        elif self.surface is not None and "surface" not in check.bad:
            around = next(iter(self.surface)) != "cylinder" or self.surface["cylinder"][2] > np.pi
            if around and numbers[1] < 3:
                check.fail("elements", f"got {int(numbers[1])} around, wanted at least 3")

    def _check_wall(self, check: Checks) -> None:
        direct = [word for word in DIRECT if getattr(self, word) is not None]
        forms = [word for word in ("thickness", "plies") if getattr(self, word) is not None] + direct[:1]
        if self._wall_of_file:
            for word in ("material", "offset", "rotary_inertia"):
                if getattr(self, word):
                    check.fail(word, f"given without a wall: {self.mesh} has them; give the wall too, or leave it out")
            if {"mesh", "mesh_unit", "group", "material", "offset", "rotary_inertia"} & check.bad:
                return
            try:
                self._check_stiffness(check, "mesh")
            except FembError as error:
                check.fail("mesh", str(error))
            return
        if len(forms) != 1:
            wanted = "thickness with material, plies, or stiffness_matrix with shear_stiffness and mass_per_area"
            check.fail(forms[1] if forms else "thickness", f"got {' and '.join(forms) or 'no wall'}, wanted {wanted}")
            return
        if (self.material is None) == (forms == ["thickness"]):
            what = "is missing: the wall needs it with its thickness" if forms == ["thickness"] else (
                f"given beside {forms[0]!r}, which says it: give one of them"
            )  # fmt: skip
            check.fail("material", what)
        elif self.material is not None and not isinstance(self.material, str | Material):
            check.fail("material", f"got {shown(self.material)}, wanted the name of a material or a femb.Material")
        elif self.material is not None and "material" not in check.bad:
            try:
                ratio = self._isotropic.poissons_ratio
                check.require("material", -1.0 < ratio < 0.5, f"of Poisson's ratio {ratio:.3g}, must be below 0.5")
            except ModelError as error:
                check.fail("material", str(error))
        for word in DIRECT if direct else ():
            if getattr(self, word) is None and word not in check.bad:
                check.fail(word, f"is missing: a wall of matrices needs {', '.join(DIRECT)}")
        if not direct and self.rotary_inertia is not None:
            check.fail("rotary_inertia", f"given beside {forms[0]!r}, which says it: give one of them")
        if direct and self.offset:
            check.fail("offset", "given beside 'stiffness_matrix', which contains it")
        if self.plies is not None:
            check.require("plies", self.plies, "wanted a list of plies, from behind to in front of the normal")
        if self.thickness is not None and "thickness" not in check.bad:
            self._check_thickness(check)
        if check.bad & {"thickness", "material", "plies", "offset", *DIRECT, "rotary_inertia", "non_structural_mass"}:
            return
        word = "plies" if self.plies else "stiffness_matrix" if direct else "offset" if self.offset else "thickness"
        self._check_stiffness(check, word)

    def _check_thickness(self, check: Checks) -> None:
        given = as_numbers(self.thickness)
        if given is None or given.ndim > 1:
            check.fail("thickness", f"got {shown(self.thickness)}, wanted a number or a list of numbers")
            return
        if given.ndim and not {"elements", "corners", *GEOMETRY, "mesh_unit", "group"} & check.bad:
            try:
                count = len(self.geometry.quads) + len(self.geometry.triangles)
            except FembError:
                return  # said of the geometry
            if given.shape != (count,):
                check.fail("thickness", f"got {given.size} numbers, wanted one, or one of each of the {count} elements")
        wrong = given.ravel()[~(given.ravel() > 0.0)]
        if wrong.size:
            check.fail("thickness", f"got {wrong[0]:g}, must be above zero")

    def _check_stiffness(self, check: Checks, word: str) -> None:
        # those of sheets of one material differ by factors alone
        for C in (wall.stiffness for wall in (self.walls[:1] if self._listed else self.walls)):
            if np.abs(C - C.T).max() > 1e-9 * np.abs(C).max():
                check.fail("stiffness_matrix", "is not symmetric, or the shear_stiffness is not")
                return
            scale = np.sqrt(np.abs(np.diag(C)))
            lowest = np.linalg.eigvalsh(C / np.outer(scale, scale)).min() if scale.all() else 0.0
            if not lowest > 1e-12:
                check.fail(word, "the stiffness of the wall is not positive definite: a strain has none")
                return
        if self.tension_only and "tension_only" not in check.bad:
            self._check_membrane(check)

    def _check_membrane(self, check: Checks) -> None:
        if not all(wall.isotropic for wall in self.walls):
            what = "needs an isotropic wall with the reference surface in its middle: one material, without an offset"
            check.fail("tension_only", what)
        elif self.drilling == "stiff":
            check.fail("drilling", "got 'stiff', but a membrane with tension_only has 'weak' drilling")
        elif self.pretension is not None and "pretension" not in check.bad:
            first, second, shear = np.asarray(self.pretension).tolist()
            if min(first + second, first * second - shear * shear) < 0.0:
                check.fail("pretension", f"got {shown(self.pretension)}, which is compression: tension_only has none")

    # The mesh and the wall

    @cached_property
    def geometry(self) -> ShellMesh:
        """The mesh, in the axes of the geometry."""
        if self._of_bulk is not None:
            return self._of_bulk.mesh
        if self.mesh is not None:
            return mesh_of_file(self.mesh, self.mesh_unit, self.group)
        assert self.elements is not None
        n, m = (int(number) for number in self.elements)
        if self.surface is not None:
            return surface_mesh(self.surface, n, m)
        return quadrilateral(np.asarray(self.corners), n, m)

    @property
    def material_direction(self) -> Floats:
        """(3,) in the axes of the geometry."""
        if self.direction is not None:
            return np.asarray(self.direction)
        if self.bulk is not None:
            return self.bulk.direction
        return np.array([1.0, 0.0, 0.0]) if self.corners is None else np.asarray(self.corners[1] - self.corners[0])

    @property
    def stiff_drilling(self) -> bool:
        """Whether drilling rotations are those of section 3.1 of the theory."""
        return (self.geometry.flat and not self.tension_only) if self.drilling is None else self.drilling == "stiff"

    @property
    def _isotropic(self) -> Material:
        return material_named(self.material) if isinstance(self.material, str) else self.material  # type: ignore[return-value]

    def directions(self, corners: int) -> Floats:
        """The material direction of all elements (3,), or of each with so many corners (e, 3); axes of the geometry."""
        if self.direction is None and self.bulk is not None:
            return self.bulk.directions[corners]
        return self.material_direction

    @property
    def _wall_of_file(self) -> bool:
        """Whether its file is bulk data, which gives the walls."""
        words = ("thickness", "plies", *DIRECT)
        of_file = isinstance(self.mesh, str | Path) and is_bulk_data(self.mesh)
        return of_file and all(getattr(self, word) is None for word in words)

    @cached_property
    def bulk(self) -> BulkShell | None:
        """Its mesh and walls in bulk data; None where walls are not of such a file."""
        return self._of_bulk if self._wall_of_file else None

    @cached_property
    def _of_bulk(self) -> BulkShell | None:
        """The shells of its file, if that is bulk data; without pyyeti meshio reads the mesh."""
        if self.mesh is None or not is_bulk_data(self.mesh) or not (self._wall_of_file or find_spec("pyyeti")):
            return None
        return read_bulk_shell(self.mesh, self.mesh_unit, self.group, self._wall_of_file)

    @cached_property
    def walls(self) -> tuple[Wall, ...]:
        """Stiffness and mass per area of its walls."""
        if self.bulk is not None:
            return tuple(self._loaded(laid.wall) for laid in self.bulk.walls)
        if self._listed:
            return tuple(map(self._loaded, walls_of_sheet(self._sheet(1.0), self._thicknesses[0], self.offset)))
        return (self._loaded(self._described_wall),)

    def wall_of(self, corners: int) -> Ints:
        """(e,) number of the wall of each element with so many corners."""
        if self.bulk is not None:
            return self.bulk.wall_of[corners]
        if self._listed:
            quads = len(self.geometry.quads)
            return self._thicknesses[1][slice(0, quads) if corners == 4 else slice(quads, None)]
        return np.zeros(len(self.geometry.quads if corners == 4 else self.geometry.triangles), dtype=np.int64)

    @property
    def wall(self) -> Wall:
        """Stiffness and mass per area; the first of several walls."""
        return self.walls[0]

    @property
    def _listed(self) -> bool:
        """Whether each element has a thickness of its own."""
        return self.thickness is not None and np.ndim(self.thickness) > 0

    @cached_property
    def _thicknesses(self) -> tuple[Floats, Ints]:
        """The thicknesses of a list without those that are equal, and the number of each element's."""
        found, which = np.unique(np.asarray(self.thickness), return_inverse=True)
        return found, which

    @property
    def _described_wall(self) -> Wall:
        if self.stiffness_matrix is not None:
            C = np.zeros((8, 8))
            C[:6, :6], C[6:, 6:] = self.stiffness_matrix, self.shear_stiffness
            thickness = float(np.sqrt(12.0 * max(C[3, 3], 0.0) / C[0, 0])) if C[0, 0] > 0.0 else 0.0
            rotary = self.rotary_inertia
            rotary = self.mass_per_area * thickness**2 / 12.0 if rotary is None else rotary  # type: ignore[operator]
            return Wall(C, np.array([self.mass_per_area, 0.0, rotary]), thickness, np.full((2, 6), np.nan))
        return wall_of_plies(self.layers, self.offset)

    @property
    def layers(self) -> list[Ply]:
        """The plies, or the material as one; none of a wall of matrices, or of several walls."""
        if self.bulk is not None:
            return self.bulk.walls[0].plies if len(self.walls) == 1 else []
        if self.plies is not None:
            return self.plies
        return [] if self.thickness is None or self._listed else [self._sheet(self.thickness)]

    def recovery(self) -> PlyRecovery | None:
        """The recovery of stresses of its plies, of each element where there are several walls.

        None: walls of matrices, or several walls of unlike plies.
        """
        if self.bulk is None:
            if self._listed:
                return self._by_element(recovery_of_sheets(self._sheet(1.0), self.offset, self.walls))
            return recovery_of_plies(self.layers, self.offset, self.wall) if self.layers else None
        if not all(laid.plies for laid in self.bulk.walls):
            return None
        parts = [recovery_of_plies(laid.plies, laid.offset, laid.wall) for laid in self.bulk.walls]
        return parts[0] if len(parts) == 1 else self._by_element(recovery_of_laminates(parts))

    def _by_element(self, of_walls: PlyRecovery | None) -> PlyRecovery | None:
        which = np.concatenate([self.wall_of(cells.shape[1]) for cells in self.geometry.cells])
        return of_walls and replace(of_walls, loads=of_walls.loads[which], heat=of_walls.heat[which])

    def _sheet(self, thickness: float) -> Ply:
        """A wall of the material as one ply."""
        one = self._isotropic
        moduli = (one.youngs_modulus, one.youngs_modulus), one.shear_modulus, one.poissons_ratio
        expansion = None if one.expansion is None else (one.expansion, one.expansion)
        return Ply(thickness, 0.0, *moduli, one.density, expansion=expansion)

    def pretension_strain(self, wall: Wall) -> Floats:
        """(6,) strains and curvatures of a wall at which the pretension would vanish, material axes."""
        forces = np.zeros(6)
        if self.pretension is None:
            return forces
        forces[:3] = self.pretension
        return np.asarray(-np.linalg.solve(wall.stiffness[:6, :6], forces))

    def doubts(self, model: ModelView) -> Iterator[str]:
        layers = [self._sheet(1.0)] if self._listed else self.layers
        return doubts_of_plies(f"shells.{self.name}.{'material' if self.plies is None else 'plies'}", layers)

    def _loaded(self, wall: Wall) -> Wall:
        return replace(wall, mass=wall.mass + np.array([self.non_structural_mass, 0.0, 0.0]))

    # The model

    def point(self, name: str, at: Any = (0.0, 0.0, 0.0)) -> Place:
        """A named point for a load, a mass or a sensor, or a point ``at`` (m) an offset from it, axes of the node."""
        return Place(body=f"{self.name}.{name}", at=at)

    @property
    def hosts(self) -> dict[str, tuple[str | None, str | None]]:
        """The body or the beam of every set of nodes that is attached to one."""
        given = {word: host for word, host in (self.attach or {}).items() if word not in self.neighbours}.items()
        return {word: (None, host["beam"]) if isinstance(host, Mapping) else (host, None) for word, host in given}

    @property
    def neighbours(self) -> dict[str, tuple[str, str]]:
        """The shell and its edge of every set of nodes that is attached to one."""
        given = (self.attach or {}).items()
        return {
            word: (host["shell"], host["edge"])
            for word, host in given
            if isinstance(host, Mapping) and "shell" in host and "edge" in host
        }

    @property
    def markers(self) -> Mapping[tuple[str, ...], Marker]:
        found: dict[tuple[str, ...], Marker] = {}
        for word, (body, beam) in self.hosts.items():
            found["attach", word] = Place(body=body) if beam is None else Place(beam=beam, node=0)
        if self.frame is not None:
            found["frame",] = Place(body=self.frame)
        return found

    @cached_property
    def named(self) -> dict[int, str]:
        """The names of nodes that are points."""
        found = {node_at(self.geometry, given): word for word, given in (self.points or {}).items()}
        return {node: word for node, word in found.items() if isinstance(node, int)}

    @cached_property
    def _parts(self) -> tuple[ShellPoint, ...]:
        return tuple(ShellPoint(f"{self.name}.{word}", self.name, word) for word in self.points or ())

    def parts(self) -> tuple[ShellPoint, ...]:
        return self._parts

    def placed(self, pose: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Positions (n, 3) m and quaternions (n, 4) of the nodes; ``pose`` : position (3,) m and quaternion (4,) of
        ``frame``."""
        turn = rotations.multiply(pose[1], np.asarray(self.quaternion))
        origin = pose[0] + rotations.rotate(pose[1], np.asarray(self.position))
        axes = self.geometry.axes(self.material_direction)
        return origin + rotations.rotate(turn, self.geometry.nodes), rotations.multiply(turn, axes)

    def point_poses(self, pose: tuple[Floats, Floats]) -> dict[str, tuple[Floats, Floats]]:
        """The poses of its points by the names of their bodies; ``pose`` : position (3,) m and quaternion (4,) of
        ``frame``."""
        if not self.points:
            return {}
        positions, quaternions = self.placed(pose)
        return {f"{self.name}.{word}": (positions[node], quaternions[node]) for node, word in self.named.items()}

    def start_motion(self, layout: Layout, model: ModelView) -> StartMotion | None:
        if self.velocity is None and self.angular_velocity is None:
            return None
        return StartMotion(layout.shells[self.name].stations[0], self.velocity, self.angular_velocity)

    def _warn_of_drilling(self, model: ModelView, quaternions: Floats) -> None:
        """Warn of torques on nodes about their normals where nothing but the weak stiffness of drilling resists."""
        points = {} if self.stiff_drilling else {f"{self.name}.{word}": node for node, word in self.named.items()}
        for load in model.items() if points else ():
            if isinstance(load, Load) and load.body in points and isinstance(load.torque, np.ndarray):
                axes = rotations.rotation_matrix(quaternions[points[load.body]])
                about = load.torque[2] if load.frame == "body" else load.torque @ axes[:, 2]
                if load.frame in ("inertial", "body") and abs(about) > DRILLS * np.linalg.norm(load.torque):
                    warnings.warn(
                        f"loads.{load.name}.torque: is about the normal of shell {self.name!r} at one node, where only "
                        "weak drilling resists: lead it in by a body on an edge, or by forces on two points",
                        FembWarning,
                        stacklevel=2,
                    )

    # The equations

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Frames for the nodes that are not attached; the nodes of every element are coupled."""
        pose = (-layout.origin, np.array([1.0, 0.0, 0.0, 0.0])) if self.frame is None else placement.bodies[self.frame]
        positions, quaternions = self.placed(pose)
        self._warn_of_drilling(model, quaternions)
        path = (self.table, self.name, "attach")
        stations = attached(path, self.geometry, self.hosts, self.neighbours, layout, model, positions, quaternions)
        for node, word in self.named.items():
            stations[node] = Station(layout.bodies[f"{self.name}.{word}"])
        found = [
            station or Station(layout.add_frame(f"{self.name}, node {k}", positions[k], quaternions[k]))
            for k, station in enumerate(stations)
        ]
        own = [found[k].frame for k, station in enumerate(stations) if station is None or k in self.named]
        layout.shells[self.name] = ShellLayout(found, self.geometry.quads, self.geometry.triangles, own)
        for cells in self.geometry.cells:
            for cell in cells.tolist():
                layout.couple(dict.fromkeys(found[node].frame for node in cell))
        layout.connect(dict.fromkeys(station.frame for station in found))

    def frames(self, layout: Layout) -> list[int]:
        return [*super().frames(layout), *layout.shells[self.name].frames]

    # The results

    def remarks(self, at: ModelAtStart) -> Iterator[str]:
        """On coarse shells of elements that bend too little within their surface: docs/theory/shell.md, section 12."""
        mesh = self.geometry
        count = len(mesh.quads) + len(mesh.triangles)
        if count <= COARSE and mesh.skewed > 0.5 * count:
            yield (
                f"shells.{self.name}: {mesh.skewed} of its {count} elements are triangles or trapezoids, which are too "
                "stiff in bending within the surface: where that matters, use rectangles, or many elements across"
            )

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        from femb.elements.shell.records import shell_records  # of runs alone

        return shell_records(items, system)
