"""Multi-blade coordinates: the motion of the blades of a rotor in the non-rotating frame.

For n >= 3 equal blades, blade i at the azimuth psi_i = psi + 2 pi i/n with a coordinate beta_i:

    beta_i = eta_0 + sum_k (eta_kc cos k psi_i + eta_ks sin k psi_i) + (-1)^i eta_d,    beta = T(psi) eta

k = 1 .. (n - 1)/2, eta_d for even n. At a constant rate Omega of the rotor, with T' = dT/dpsi,

    [beta; beta'] = S [eta; eta'],    S = [T 0; Omega T' T],    A_y = S^-1 (A S - dS/dt)

A_y of an isotropic rotor does not depend on psi; its eigenvalues give the frequencies in the non-rotating frame.
Source: docs/theory/linearisation.md, equations (11) to (13); Coleman and Feingold, NACA Report 1351.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.linear.state_space import StateSpace

FEWEST = 3  # a rotor with two blades is not isotropic: its equations stay periodic


def transformation(blades: int, azimuth: float, derivative: int = 0) -> Floats:
    """T (n, n), or its first or second derivative by the azimuth (rad); columns eta_0, eta_1c, eta_1s, ..., eta_d.

    Raises ModelError: fewer than 3 blades.
    """
    if blades < FEWEST:
        raise ModelError(
            f"multi-blade coordinates: got {blades} blades, wanted at least {FEWEST}; with fewer the equations stay "
            "periodic in the azimuth"
        )
    i = np.arange(blades)
    psi = azimuth + 2.0 * np.pi * i / blades
    columns: list[Floats] = [np.ones(blades) if derivative == 0 else np.zeros(blades)]
    for k in range(1, (blades - 1) // 2 + 1):
        # every derivative shifts cos and sin by pi/2, and gives a factor k
        phase = k * psi + 0.5 * np.pi * derivative
        columns += [float(k) ** derivative * np.cos(phase), float(k) ** derivative * np.sin(phase)]
    if blades % 2 == 0:
        columns.append(np.where(i % 2 == 0, 1.0, -1.0) if derivative == 0 else np.zeros(blades))
    return np.column_stack(columns)


def labels(blades: int) -> tuple[str, ...]:
    """Names of the multi-blade coordinates: collective, cos 1, sin 1, ..., differential."""
    names = ["collective"]
    for k in range(1, (blades - 1) // 2 + 1):
        names += [f"cos {k}", f"sin {k}"]
    return tuple(names + (["differential"] if blades % 2 == 0 else []))


def multiblade(space: StateSpace, blades: Mapping[str, Sequence[str]], rate: float, azimuth: float = 0.0) -> StateSpace:
    """The state space in multi-blade coordinates.

    space : with the states x and "x rate" of each coordinate x, as `linearize` gives. azimuth : of blade 0, rad.
    blades : by the name of a motion, such as "flap", its coordinates of all blades, in the order of azimuth in the
    sense of rotation. rate : of the rotor, rad/s. The states "flap.collective", ... replace those of the blades.

    Raises ModelError: fewer than 3 blades, an unknown or repeated state, groups of different numbers of blades.
    """
    used: set[str] = set()
    counts = {len(names) for names in blades.values()}
    if len(counts) > 1:
        raise ModelError(f"multi-blade coordinates: got groups of {sorted(counts)} blades, wanted one number of blades")
    n = len(space.states)
    S, S_rate, states = np.eye(n), np.zeros((n, n)), list(space.states)
    for motion, names in blades.items():
        T, T1, T2 = (transformation(len(names), azimuth, k) for k in range(3))
        for name in names:
            if name in used:
                raise ModelError(f"multi-blade coordinates: {name!r} is given twice")
            used.add(name)
        at = np.array([space.index("states", name) for name in names])
        rates = np.array([space.index("states", f"{name} rate") for name in names])
        S[np.ix_(at, at)] = S[np.ix_(rates, rates)] = T
        S[np.ix_(rates, at)] = rate * T1
        S_rate[np.ix_(at, at)] = S_rate[np.ix_(rates, rates)] = rate * T1
        S_rate[np.ix_(rates, at)] = rate**2 * T2
        for k, k_rate, label in zip(at, rates, labels(len(names)), strict=True):
            states[k], states[k_rate] = f"{motion}.{label}", f"{motion}.{label} rate"
    A, B = (np.asarray(np.linalg.solve(S, x), dtype=float) for x in (space.A @ S - S_rate, space.B))
    return replace(space, A=A, B=B, C=space.C @ S, states=tuple(states))
