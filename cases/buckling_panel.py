"""A square plate that buckles: by heat in a stiff frame, by compression in one or two directions, or by shear.

Purpose   Critical loads of a plate of shells by all kinds of loads and supports, and its deflection beyond them.
Source    S. P. Timoshenko, J. M. Gere, Theory of Elastic Stability, 2nd ed. (1961), chapter 9: buckling coefficients.
Look at   The temperature at which the plate leaves its plane. See docs/cases/buckling_panel.md.
"""

import numpy as np

import femb
from femb.profiles import Polynomial

SIDE, THICKNESS = 0.4, 1e-3  # m
ALUMINIUM = femb.Material(70e9, 70e9 / 2.6, 2700.0, expansion=23e-6)
RIGIDITY = 70e9 * THICKNESS**3 / 12.0 / (1.0 - 0.3**2)  # N m
UNIT = np.pi**2 * RIGIDITY / SIDE**2  # N/m, of buckling coefficients
CRITICAL_HEAT = np.pi**2 * THICKNESS**2 / (6.0 * 1.3 * 23e-6 * SIDE**2)  # K, hinged edges
# forces per length, times UNIT, on the edges 1 to 4
EDGES = {
    "compression": {"edge2": (-1, 0, 0), "edge4": (1, 0, 0)},
    "both directions": {"edge1": (0, 1, 0), "edge2": (-1, 0, 0), "edge3": (0, -1, 0), "edge4": (1, 0, 0)},
    "shear": {"edge1": (-1, 0, 0), "edge2": (0, 1, 0), "edge3": (1, 0, 0), "edge4": (0, -1, 0)},
}

run = {"duration": 2.0, "output_interval": 0.01, "method": "bdf"}


def build(kind="heat", clamped=False, elements=10):
    """The plate under one kind of load: "heat" of one critical temperature a second, or forces of UNIT on its edges.

    Its edges do not leave the plane, and turn freely or, clamped, not at all; under forces they move in the plane.
    """
    n, heated = elements, kind == "heat"
    corners = [(0, 0, 0), (SIDE, 0, 0), (SIDE, SIDE, 0), (0, SIDE, 0)]
    on_edge = {(i, j) for i in range(n + 1) for j in range(n + 1) if i in (0, n) or j in (0, n)}
    places = {f"n{i}_{j}": (i * SIDE / n, j * SIDE / n, 0.0) for i, j in sorted(on_edge)}
    held = heated and clamped
    plate = femb.Shell(
        "plate", (n, n), corners=corners, thickness=THICKNESS, material=ALUMINIUM, damping=1e-3,
        points={"middle": (SIDE / 2, SIDE / 2, 0.0), **({} if held else places)},
        attach={f"edge{k}": "ground" for k in range(1, 5)} if held else None,
    )  # fmt: skip
    model = femb.Model("Buckling of a plate")
    model.add(plate)
    model.add(femb.Figure("overview", ["displacement.z of plate.middle", "energy"]))
    for name, at in {} if held else places.items():
        ends = femb.JointEnd("ground", at=at, axis=(0, 0, 1)), femb.JointEnd(f"plate.{name}")
        kind_of = femb.Spherical if heated else femb.Planar if clamped else femb.PointOnPlane
        model.add(kind_of(name, *ends))
    if heated:
        rise = Polynomial([0.0, 1.0])
        model.add(femb.SurfaceLoad("sun", "plate", temperature=CRITICAL_HEAT, profile=rise))
        model.add(femb.SurfaceLoad("nudge", "plate", pressure=0.5))
        return model
    for name, corner, directions in (("origin", "n0_0", [(1, 0, 0), (0, 1, 0)]), ("turn", f"n{n}_0", [(0, 1, 0)])):
        ends = femb.JointEnd("ground", at=places[corner]), femb.JointEnd(f"plate.{corner}")
        model.add(femb.Components(name, *ends, directions=directions))
    for edge, force in EDGES[kind].items():
        model.add(femb.SurfaceLoad(edge, "plate", edge=edge, edge_force=tuple(UNIT * np.array(force))))
    return model
