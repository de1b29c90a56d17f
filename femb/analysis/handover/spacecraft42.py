"""The lines of a spacecraft file of the simulator 42 that describe its dynamics, bodies and joints."""

from collections.abc import Iterator, Sequence

import numpy as np

from femb.analysis.handover.flexible_body import FlexibleBody
from femb.analysis.modes.appendages import HeldBody
from femb.base.types import Floats

STARS = "*" * 24


def spacecraft_lines(bodies: Sequence[FlexibleBody], files: Sequence[str], hub: HeldBody | None) -> Iterator[str]:
    """The lines. files : node and flex file of each body. hub : body 0, rigid, where the others are outer bodies."""
    reference = "REFPT_CM" if hub is None else "REFPT_JOINT"
    yield f"{STARS} Dynamics Flags {STARS}"
    yield "GAUSS_ELIM                  ! Solve Dynamics by GAUSS_ELIM, not ORDER_N"
    yield "FALSE                       ! Compute Constraint Forces and Torques"
    yield f"{reference:28}! Mass Props referenced to REFPT_CM or REFPT_JOINT"
    yield "TRUE                        ! Flex Active"
    yield "TRUE                        ! Include 2nd Order Flex Terms"
    yield f"{STARS} Body Parameters {STARS}"
    yield f"{len(bodies) + (hub is not None):<28d}! Number of Bodies"
    number = 0
    if hub is not None:
        first = np.array([hub.mass[5, 1], hub.mass[3, 2], hub.mass[4, 0]])
        yield from _body(0, float(hub.mass[0, 0]), hub.mass[3:, 3:], first / hub.mass[0, 0], ("NONE", "NONE"))
        number = 1
    for k, body in enumerate(bodies):
        of = body.integrals
        centre = of.first_moment / of.mass - (body.hub if hub is None else 0.0)
        yield from _body(number + k, of.mass, of.inertia, centre, files[2 * k : 2 * k + 2])
    yield f"{STARS} Joint Parameters {STARS}"
    for k, body in enumerate(bodies if hub is not None else ()):
        yield from _joint(k, -body.hub)


def _body(number: int, mass: float, inertia: Floats, centre: Floats, files: Sequence[str]) -> Iterator[str]:
    """A body; products of inertia with the sign of int x y dm."""
    yield f"================ Body {number} ================"
    yield f"{mass:.12g}  ! Mass"
    yield f"{_three(np.diag(inertia))}  ! Moments of Inertia (kg-m^2)"
    yield f"{_three(-inertia[[0, 0, 1], [1, 2, 2]])}  ! Products of Inertia (xy,xz,yz)"
    yield f"{_three(centre)}  ! Location of mass center, m"
    yield "0.0  0.0  0.0  ! Constant Embedded Momentum (Nms)"
    yield "0.0  0.0  0.0  ! Constant Embedded Magnetic Dipole (A-m^2)"
    yield "NONE  ! Geometry Input File Name"
    yield f"{files[0]}  ! Node File Name"
    yield f"{files[1]}  ! Flex File Name"


def _joint(number: int, place: Floats) -> Iterator[str]:
    """A locked joint of body 0 and an outer body, along the same axes."""
    yield f"================ Joint {number} ================"
    yield "PASSIVE  ! Type of joint"
    yield f"0 {number + 1}  ! Inner, outer body indices"
    yield "1  123  GIMBAL  ! RotDOF, Seq, GIMBAL or SPHERICAL"
    yield "0  123  ! TrnDOF, Seq"
    yield "TRUE  TRUE  TRUE  ! RotDOF Locked"
    yield "TRUE  TRUE  TRUE  ! TrnDOF Locked"
    yield "0.0  0.0  0.0  ! Initial Angles [deg]"
    yield "0.0  0.0  0.0  ! Initial Rates, deg/sec"
    yield "0.0  0.0  0.0  ! Initial Displacements [m]"
    yield "0.0  0.0  0.0  ! Initial Displacement Rates, m/sec"
    yield "0.0  0.0  0.0  123  ! Bi to Gi Static Angles [deg] & Seq"
    yield "0.0  0.0  0.0  123  ! Go to Bo Static Angles [deg] & Seq"
    yield f"{_three(place)}  ! Position wrt inner body origin, m"
    yield "0.0  0.0  0.0  ! Position wrt outer body origin, m"
    yield "NONE  ! Parameter File Name"


def _three(vector: Floats) -> str:
    return "  ".join(f"{x:.12g}" for x in vector + 0.0)
