"""The reduced finite element model of a flexible body: its arrays, and what they must fulfil.

Arrays and symbols are those of docs/theory/modal_body.md, section "Arrays"; SI units, axes of the body frame, which is
the frame of interface 0, the root. Files: ``femb.elements.modal.file``.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Floats
from femb.base.values import frozen_array
from femb.elements.modal.arrays import ReducedArrays
from femb.elements.modal.data_checks import SHAPES, check_shapes, check_values

FORMAT = "femb-modal-1"


@dataclass(frozen=True, eq=False)
class ReducedBody(ReducedArrays):
    """A finite element model reduced to k interfaces and n coordinates, with the root held.

    The coordinates are six for each interface but the root, in their order, displacement and rotation in body axes,
    then the amplitudes of the modes. interfaces (k, 3) m and interface_axes (k, 3, 3), columns, with interface_names:
    interface 0 is the root, at the origin with the axes of the body frame. mass kg, first_moment (3,) kg m, inertia
    (3, 3) about the origin, S1, C0, M, K: as in the table of docs/theory/modal_body.md. J1, J2, Q: inertia of second
    order. S2, psi2: geometric stiffening; included tells that J2 and Q contain it too, B2 (n, n, 3, 3) which part of
    them it is: with it the mass matrix stays positive definite at large deformation. damping_ratio (n,) of the modes
    with the root held, in the order of their frequencies, or the matrix D. nodes (N, 3) m, node_shapes (n, N, 3) and
    cells, the nodes (c, m) of the cells by their type in meshio: for pictures and meshes. recovery (r, n):
    quantities by recovery_names, such as stresses, per unit coordinate.

    Raises ModelError: names the arrays that have another shape, are not symmetric or describe no body.
    Source: docs/theory/modal_body.md.
    """

    def __post_init__(self) -> None:
        problems: list[Problem] = []
        for name in SHAPES:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, frozen_array(value))
        object.__setattr__(self, "mass", float(self.mass))
        object.__setattr__(self, "interface_names", tuple(map(str, self.interface_names)))
        object.__setattr__(self, "recovery_names", tuple(map(str, self.recovery_names)))
        cells = {str(kind): np.array(nodes, dtype=np.int64) for kind, nodes in self.cells.items()}
        object.__setattr__(self, "cells", cells)

        def refuse(name: str, message: str) -> None:
            problems.append(Problem((name,), message))

        check_shapes(self, refuse)
        if not problems:
            try:
                with np.errstate(all="ignore"):
                    check_values(self, refuse)
            except np.linalg.LinAlgError:
                refuse("K", "with M and the other arrays has no eigenvalues: their numbers are too large")
        if problems:
            raise ModelError(*problems)

    @property
    def size(self) -> int:
        """The number n of coordinates."""
        return len(self.M)

    @property
    def modes(self) -> int:
        """The number of modes with all interfaces held."""
        return self.size - 6 * (len(self.interfaces) - 1)

    @property
    def second_order(self) -> bool:
        """Whether the body has inertia of second order with geometric stiffening: ``coupling = "full"``."""
        return self.included and all(value is not None for value in (self.J1, self.J2, self.Q, self.S2))

    def frequencies(self) -> Floats:
        """(n,) Hz, ascending, with the root held and the other interfaces free."""
        from scipy.linalg import eigh

        values: Floats = eigh(self.K, self.M, eigvals_only=True)
        return np.sqrt(np.maximum(values, 0.0)) / (2.0 * np.pi)

    def damping(self, ratio: float | Floats) -> Floats:
        """D (n, n), kg/s, of modal damping ``ratio``, a number or one for each mode (k,) with the root held, by
        frequency."""
        from scipy.linalg import eigh

        squares, shapes = eigh(self.K, self.M)
        moved = self.M @ shapes
        D: Floats = (moved * (2.0 * np.asarray(ratio) * np.sqrt(np.maximum(squares, 0.0)))) @ moved.T
        return 0.5 * (D + D.T)

    def kept(self, modes: int) -> "ReducedBody":
        """The body with the first modes only, all interfaces, and their arrays. Raises ModelError."""
        if not 0 <= modes <= self.modes:
            raise ModelError.at(("modes",), f"got {modes}, the file has {self.modes}: wanted 0 to {self.modes}")
        n = self.size - self.modes + modes
        changed: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self)}
        for name, shape in SHAPES.items():
            if changed[name] is not None and "n" in shape:
                changed[name] = changed[name][tuple(slice(n) if word == "n" else slice(None) for word in shape)]
        return ReducedBody(**changed)
