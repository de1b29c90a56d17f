"""Shells against closed forms and published values: plates, buckling, laminates, rotation, curved shells.

n : elements along a side. Each problem returns errors by name, relative ones.
"""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial import legendre, polynomial
from scipy.linalg import eigh

import femb

Errors = dict[str, float]
CASE = Path(__file__).resolve().parent.parent / "cases" / "buckling_panel.py"
THIN = femb.Material(1e9, 1e9 / 2.6, 1000.0)
RIGIDITY = 1e9 * 1e-9 / 12.0 / 0.91  # N m, of 1 mm
# omega a2 sqrt(rho h / D) of square plates, edges in order: exact by Levy's series where two are simply supported.
# A. W. Leissa, The free vibration of rectangular plates, J. Sound Vib. 31 (1973) 257-293.
LEISSA = {
    "SSSS": 19.7392,
    "SCSC": 28.9509,
    "SCSS": 23.6463,
    "SCSF": 12.6874,
    "SSSF": 11.6845,
    "SFSF": 9.6314,
    "CCCC": 35.985,
}
# The same by Ritz' method with many terms, below the bounds of Leissa with 36: 31.829, 6.9421, 3.4917, 13.489.
OTHERS = ("CCCS", "CCFF", "CFFF", "FFFF")
TERMS, POISSON = 16, 0.3
# Timoshenko and Gere, Theory of Elastic Stability; the third edge condition by series of many terms.
COEFFICIENTS = (
    ("compression", False, 4.0, 7.0), ("both directions", False, 2.0, 4.0), ("shear", False, 9.3247, 30.0),
    ("both directions", True, 5.3036, 12.0), ("compression", True, 10.074, 30.0),
)  # fmt: skip


def point_names(mesh_nodes: Any) -> dict[str, int]:
    """Names of nodes by their numbers."""
    return {f"n{k}": int(k) for k in mesh_nodes}


def square(n: int, edges: str, **wall: Any) -> femb.Model:
    """A plate whose edges 1 to 4 are free (F), simply supported (S) or clamped (C); wall : by default 1 mm thick."""
    words: dict[str, Any] = {"corners": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]}
    words |= wall or {"thickness": 1e-3, "material": THIN}
    sets = femb.Shell("p", (n, n), **words).geometry.sets
    clamped = {f"edge{k + 1}": "ground" for k in range(4) if edges[k] == "C"}
    taken = {node for edge in clamped for node in sets[edge].tolist()}
    simple = {k for i in range(4) if edges[i] == "S" for k in sets[f"edge{i + 1}"].tolist()} - taken
    plate = femb.Shell("p", (n, n), points=point_names(sorted(simple)), attach=clamped or None, **words)
    model = femb.Model("plate")
    model.add(plate)
    for k in sorted(simple):
        ground = femb.JointEnd("ground", at=tuple(plate.geometry.nodes[k]), axis=(0, 0, 1))
        model.add(femb.PointOnPlane(f"n{k}", ground, femb.JointEnd(f"p.n{k}")))
    return model


def along(first: str, last: str) -> list[Any]:
    """Integrals (TERMS, TERMS) of products of functions, of first and of second derivatives, and of functions with
    second derivatives, along a side between two edges: Legendre polynomials times what the edges ask for."""
    order = {"F": 0, "S": 1, "C": 2}
    held = polynomial.polymul(
        polynomial.polypow((1.0, 1.0), order[first]), polynomial.polypow((1.0, -1.0), order[last])
    )
    x, weights = np.polynomial.legendre.leggauss(TERMS + 6)
    functions = [polynomial.polymul(held, legendre.leg2poly(row)) for row in np.eye(TERMS)]
    # sides of length one: each derivative doubles
    f, df, ddf = (
        np.array([2.0**k * polynomial.polyval(x, polynomial.polyder(each, k)) for each in functions]) for k in range(3)
    )
    return [0.5 * (a * weights) @ b.T for a, b in ((f, f), (df, df), (ddf, ddf), (f, ddf))]


def ritz(edges: str) -> float:
    """The first omega a2 sqrt(rho h / D) above zero of a square plate: an upper bound that converges quickly."""
    (m, c, k, b), (n, d, h, e) = along(edges[3], edges[1]), along(edges[0], edges[2])
    mixed = np.kron(b, e.T)
    stiffness = np.kron(k, n) + np.kron(m, h) + POISSON * (mixed + mixed.T) + 2.0 * (1.0 - POISSON) * np.kron(c, d)
    values = np.sqrt(np.abs(eigh(stiffness, np.kron(m, n), eigvals_only=True)))
    return float(values[values > 1.0][0])


def leissa(n: int) -> Errors:
    """First frequencies of square plates."""
    found: Errors = {}
    unit = np.sqrt(1000.0 * 1e-3 / RIGIDITY) * 2.0 * np.pi
    for edges, wanted in (LEISSA | {edges: ritz(edges) for edges in OTHERS}).items():
        values = unit * femb.modes(square(n, edges), 4).frequencies
        # motions in the plane of plates that nothing holds there have no stiffness
        found[f"plate {edges}, first frequency"] = abs(values[values > 1.0][0] / wanted - 1.0)
    return found


def buckling(n: int) -> Errors:
    """Buckling coefficients of square plates, under forces and heated in an immovable frame."""
    build = runpy.run_path(str(CASE))["build"]
    found: Errors = {}
    for kind, clamped, wanted, last in COEFFICIENTS:
        result = femb.static(build(kind, clamped, n), factor=last, steps=2, critical=1)
        name = f"plate buckles, {kind}, {'clamped' if clamped else 'hinged'}"
        found[name] = abs(result.critical_load_factors[0] / wanted - 1.0)
    hot = build("heat", True, n)
    hot.remove(hot.loads["nudge"])
    result = femb.static(hot, factor=6.0, steps=2, critical=1, time=1.0)
    found["plate buckles, heat, clamped"] = abs(result.critical_load_factors[0] / (0.5 * 5.3036) - 1.0)
    return found


def strip(n: int) -> Errors:
    """A strip that turns about its clamped end, eta = 3: flap of Wright, Smith, Thresher, Wang (1982)."""
    width = 0.05
    shell = femb.Shell(
        "p", (n, 1), corners=[[0, 0, 0], [1, 0, 0], [1, width, 0], [0, width, 0]], thickness=1e-3,
        material=femb.Material(1e9, 0.5e9, 1000.0), frame="hub", attach={"edge4": "hub"},
    )  # fmt: skip
    unit = np.sqrt(1e9 * 1e-6 / 12.0 / 1000.0)
    model = femb.Model("strip")
    model.add(femb.RigidBody("hub", 1e6, 1e6, position=(0, 0.5 * width, 0), angular_velocity=(0.0, 0.0, 3.0 * unit)))
    model.add(shell)
    value = 2.0 * np.pi * femb.modes(model, 1, held="hub", start="equilibrium").frequencies[0] / unit
    return {"rotating strip, flap, eta = 3": abs(value / 4.79728 - 1.0)}


def laminate(n: int) -> Errors:
    """Deflection of simply supported cross-ply plates under pressure, by Navier's double series."""
    found: Errors = {}
    for name, angles in {"0/90/0": (0, 90, 0), "0/90/90/0": (0, 90, 90, 0)}.items():
        plies = [
            femb.Ply(1e-3 / len(angles), np.radians(angle), youngs_moduli=(175e9, 7e9), shear_modulus=3.5e9,
                     poissons_ratio=0.25, density=1600.0, transverse_shear=(3.5e9, 1.4e9))
            for angle in angles
        ]  # fmt: skip
        model = square(n, "SSSS", plies=plies)
        model.add(femb.SurfaceLoad("gas", "p", pressure=1e-3))
        D = model.shells["p"].wall.stiffness[3:6, 3:6]
        m, k = np.meshgrid(np.arange(1, 100, 2), np.arange(1, 100, 2))
        signs = (-1.0) ** ((m + k) // 2 - 1)
        rigidity = D[0, 0] * m**4 + 2.0 * (D[0, 1] + 2.0 * D[2, 2]) * m**2 * k**2 + D[1, 1] * k**4
        wanted = 16.0 * 1e-3 / np.pi**6 * np.sum(signs / (m * k * rigidity))
        middle = model.shells["p"].geometry.nodes[:, :2] - 0.5
        deflection = femb.static(model, steps=1).shells["p"].displacement[-1, :, 2]
        found[f"laminate {name}, pressure"] = abs(deflection[np.sum(middle**2, axis=1).argmin()] / wanted - 1.0)
    return found


def cylinder(n: int) -> Errors:
    """An eighth of the pinched cylinder with diaphragms of MacNeal and Harder, between three planes of symmetry."""
    words: dict[str, Any] = {
        "surface": {"cylinder": [300.0, 300.0, 0.5 * np.pi]}, "thickness": 3.0,
        "material": femb.Material(3e6, 3e6 / 2.6, 1.0),
    }  # fmt: skip
    mesh = femb.Shell("p", (n, n), **words).geometry
    sides = {edge: set(mesh.sets[edge].tolist()) for edge in ("edge1", "edge2", "edge3", "edge4")}
    on_edges = sorted(set().union(*sides.values()))
    shell = femb.Shell("p", (n, n), points=point_names(on_edges), **words)
    model = femb.Model("pinched cylinder")
    model.add(shell)
    for node in on_edges:
        at, end, out = tuple(mesh.nodes[node]), femb.JointEnd(f"p.n{node}"), mesh.normals[node]
        around, across = np.cross(out, (1.0, 0.0, 0.0)), (sides["edge1"] | sides["edge3"])

        def ground(axis: Any, at: Any = at) -> femb.JointEnd:
            return femb.JointEnd("ground", at=at, axis=tuple(map(float, axis)))

        if node in sides["edge4"]:
            model.add(femb.Components(f"wall {node}", ground((1, 0, 0)), end, directions=[(0, 1, 0), (0, 0, 1)]))
            if node in across:
                model.add(femb.Parallel(f"turn {node}", ground(around), end))
        elif node in sides["edge2"] and node in across:
            model.add(femb.Prismatic(f"both {node}", ground(out), end))
        else:
            model.add(femb.Planar(f"plane {node}", ground(around if node in across else (1, 0, 0)), end))
    corner = (sides["edge2"] & sides["edge3"]).pop()
    model.add(femb.Load("pinch", body=f"p.n{corner}", force=tuple(-0.25 * mesh.normals[corner])))
    moved = femb.static(model, steps=1).bodies[f"p.n{corner}"].displacement[-1]
    return {"pinched cylinder, under the force": abs(np.linalg.norm(moved) / 1.8248e-5 - 1.0)}


SHELLS = (leissa, buckling, laminate, strip, cylinder)
