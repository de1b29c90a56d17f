"""Records of shells: the motion of their nodes, their elements and the recovery of stresses of plies."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.records import RecordedSystem, Records, StationMotions, shape_changes
from femb.elements.shell.mesh import projected_axes
from femb.elements.shell.stiffness import areas, middle_axes
from femb.layout.layout import Station
from femb.layout.views import OutputStates
from femb.numerics import rotations


def shell_records(items: list[Any], system: RecordedSystem) -> Records:
    """The motion of the nodes of shells, and what does not change; the batch records forces."""
    layout = system.layout
    static: dict[str, Floats] = {}
    attributes: dict[str, dict[str, Any]] = {}
    entries = [layout.shells[item.name] for item in items]
    stations = [station for entry in entries for station in entry.stations]
    ends = np.cumsum([0, *(len(entry.stations) for entry in entries)]).tolist()
    rows = [slice(a, b) for a, b in pairwise(ends)]
    owner = np.repeat(np.arange(len(items)), np.diff(ends))
    position, quaternion = layout.poses(stations)
    carriers: list[Station] = []
    for item, entry, part in zip(items, entries, rows, strict=True):
        path = f"shells/{item.name}"
        static[f"{path}/reference_position"] = layout.origin + position[part]
        static[f"{path}/reference_quaternion"] = quaternion[part]
        static[f"{path}/quadrilaterals"] = entry.quads.astype(float)
        static[f"{path}/triangles"] = entry.triangles.astype(float)
        corners = [position[part][cells] for cells in item.geometry.cells]
        turn = rotations.multiply(
            quaternion[part][0], rotations.conjugate(item.geometry.axes(item.material_direction)[0])
        )
        axes_of = [
            projected_axes(middle_axes(x)[:, :, 2], rotations.rotate(turn, item.directions(x.shape[1])))
            for x in corners
        ]
        static[f"{path}/element_axes"] = np.concatenate(axes_of)
        recovery = item.recovery()
        if recovery is not None:
            static[f"{path}/ply_recovery"], static[f"{path}/ply_heat"] = recovery.loads, recovery.heat
            static[f"{path}/ply_angle"] = recovery.angle
            if not np.isnan(recovery.strengths).all():
                static[f"{path}/ply_strengths"] = recovery.strengths
        static[f"{path}/element_area"] = np.concatenate([areas(x) for x in corners])
        body = next((body for body, _ in item.hosts.values() if body is not None), None)
        carriers.append(entry.stations[0] if body is None else Station(layout.bodies[body]))
        attributes[path] = {"kind": item.kind} | ({} if body is None else {"deflection_body": body})
    motions, of_carriers = StationMotions(layout, stations), StationMotions(layout, carriers)
    origin, axes = layout.poses(carriers)
    shape = rotations.rotate_back(axes[owner], position - origin[owner])

    def series(accelerations: bool, frames: OutputStates) -> dict[str, Floats]:
        motion = motions.at(frames, accelerations)
        nodes = motion["position"]
        motion["position"], motion["velocity"] = layout.to_inertial(frames.time, nodes, motion["velocity"])
        motion["rotation"], motion["deflection"] = np.empty_like(motion["quaternion"]), np.empty_like(nodes)
        carried = of_carriers.at(frames, accelerations=False)
        shape_changes(
            owner, carried["position"], carried["quaternion"], shape, quaternion, nodes, motion["quaternion"],
            motion["rotation"], motion["deflection"],
        )  # fmt: skip
        return {
            f"shells/{item.name}/{word}": values[:, part]
            for item, part in zip(items, rows, strict=True)
            for word, values in motion.items()
        }

    return Records(static, attributes, partial(series, True), partial(series, False))
