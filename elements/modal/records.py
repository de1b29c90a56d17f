"""Results of flexible bodies: the motion of the root, and the nodes, shapes and cells for pictures and meshes."""

import json
from functools import partial
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.records import RecordedSystem, Records, inertial_motion_of
from femb.layout.layout import Layout, Station
from femb.layout.views import OutputStates


def flexible_records(items: list[Any], system: RecordedSystem) -> Records:
    """The records of flexible bodies beside those of their batches."""
    layout = system.layout
    static: dict[str, Floats] = {}
    attributes: dict[str, dict[str, Any]] = {}
    for item in items:
        path, body, root = f"bodies/{item.name}", item.reduced, _root(item, layout)
        position, quaternion = layout.pose(root)
        static[f"{path}/reference_position"] = layout.origin + position
        static[f"{path}/reference_quaternion"] = quaternion
        attributes[path] = {"fixed": layout.frames[root.frame].freedom == 0, "kind": item.kind}
        if body.recovery is not None:
            attributes[path]["recovery_names"] = json.dumps(body.recovery_names)
        if body.nodes is not None:
            static[f"{path}/nodes"] = np.asarray(body.nodes)
            static[f"{path}/node_shapes"] = np.asarray(body.node_shapes)
            for kind, cells in body.cells.items():
                static[f"{path}/cells_{kind}"] = cells.astype(float)

    def series(accelerations: bool, frames: OutputStates) -> dict[str, Floats]:
        block: dict[str, Floats] = {}
        for item in items:
            path = f"bodies/{item.name}"
            root = _root(item, layout)
            motion = inertial_motion_of(layout, root, frames, accelerations)
            block |= {f"{path}/{word}": values for word, values in motion.items()}
        return block

    return Records(static, attributes, partial(series, True), partial(series, False))


def _root(item: Any, layout: Layout) -> Station:
    return layout.flexible_bodies[item.name].stations[item.reduced.interface_names[0]]
