"""Andrews' squeezing mechanism: problem A03 of the IFToMM library of computational benchmarks.

Seven bodies in a plane, a crank with a torque, one spring. The data and names are those of the test set for initial
value problem solvers, chapter "Andrews' squeezing mechanism" (R. Giles; W. Schiehlen, Multibody Systems Handbook,
1990). The bodies' frames are at their mass centres; joint angles are zero at the start.
"""

import math

import femb
from femb.elements import Ground, JointEnd, Load, Revolute, RigidBody, SpringDamper, SpringEnd

MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)  # kg
INERTIAS = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)  # kg m2
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)  # m, fixed points
SPRING, FREE_LENGTH, TORQUE = 4530.0, 0.07785, 0.033  # N/m, m, N m
D, DA, E, EA, RR, RA = 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092
SS, SA, SB, SC, SD = 0.035, 0.01874, 0.01043, 0.018, 0.02
TA, TB, U, UA, UB, ZF, ZT, FA = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421
START = {
    "beta": -0.0617138900142764496358948458001,
    "theta": 0.0,
    "gamma": 0.455279819163070380255912382449,
    "phi": 0.222668390165885884674473185609,
    "delta": 0.487364979543842550225598953530,
    "omega": -0.222668390165885884674473185609,
    "epsilon": 1.23054744454982119249735015568,
}
AXIS = (0.0, 0.0, 1.0)

run = {
    "duration": 0.03,
    "output_interval": 3e-5,
    "method": "rk",
    "rtol": 1e-10,
    "atol": {"position": 1e-13, "quaternion": 1e-11, "time": 1e-3},
}


def build() -> femb.Model:
    """The mechanism at rest with the torque."""
    beta, theta, gamma, phi, delta, omega, epsilon = START.values()
    model = femb.Model("IFToMM A03: Andrews' squeezing mechanism")
    # a pin of each body: its position in the body (from the mass centre) and in the plane; the angle of the body
    crank = (RR * math.cos(beta), RR * math.sin(beta))
    knee = moved(A, delta, (ZT, 0.0))
    heel = moved(A, epsilon, (0.0, -U))
    placed = (
        ((-RA, 0.0), (0.0, 0.0), beta),
        ((DA, 0.0), crank, beta + theta),
        ((-SB, SA), B, gamma),
        ((0.0, E - EA), knee, phi + delta),
        ((-TA, -TB), A, delta),
        ((FA - ZF, 0.0), heel, omega + epsilon),
        ((UB, UA), A, epsilon),
    )
    for k, (pin, at, angle) in enumerate(placed):
        moment = INERTIAS[k]
        centre = moved(at, angle, (-pin[0], -pin[1]))
        attitude = (math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle))
        inertia = (0.6 * moment, 0.6 * moment, moment)
        model.add(RigidBody(f"K{k + 1}", MASSES[k], inertia, position=(*centre, 0.0), quaternion=attitude))
    for name, first, second in (
        ("O", (0, (0.0, 0.0)), (1, (-RA, 0.0))),
        ("crank", (1, (RR - RA, 0.0)), (2, (DA, 0.0))),
        ("P3", (2, (DA - D, 0.0)), (3, (-SB, SA - SS))),
        ("P4", (2, (DA - D, 0.0)), (4, (0.0, -EA))),
        ("P6", (2, (DA - D, 0.0)), (6, (FA, 0.0))),
        ("B", (0, B), (3, (-SB, SA))),
        ("knee", (4, (0.0, E - EA)), (5, (ZT - TA, -TB))),
        ("A5", (0, A), (5, (-TA, -TB))),
        ("heel", (6, (FA - ZF, 0.0)), (7, (UB, UA - U))),
        ("A7", (0, A), (7, (UB, UA))),
    ):
        model.add(Revolute(name, end(*first, AXIS), end(*second)))
    tip = SpringEnd(body="K3", at=(SD - SB, SA - SC, 0.0))
    model.add(SpringDamper("spring", SpringEnd(anchor=(*C, 0.0)), tip, stiffness=SPRING, free_length=FREE_LENGTH))
    model.add(Load("drive", body="K1", torque=(0.0, 0.0, TORQUE)))
    model.add(
        femb.Figure(
            "overview",
            [
                "coordinates of crank | rates of crank",
                "coordinates of O, P3, P4, P6, B, knee",
                "length of spring | force of spring",
                "energy",
            ],
        )
    )
    return model


def moved(point: tuple[float, float], angle: float, by: tuple[float, float]) -> tuple[float, float]:
    """``point`` plus the vector ``by`` rotated by an angle."""
    c, s = math.cos(angle), math.sin(angle)
    return point[0] + c * by[0] - s * by[1], point[1] + s * by[0] + c * by[1]


def end(body: int, at: tuple[float, float], axis: tuple[float, float, float] | None = None) -> JointEnd:
    """A joint end on body K1 ... K7, or on the ground for 0."""
    if body == 0:
        return JointEnd(Ground().name, at=(*at, 0.0), axis=axis)
    return JointEnd(f"K{body}", at=(*at, 0.0), axis=axis)
