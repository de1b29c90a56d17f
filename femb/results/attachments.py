"""Where joints, beams, flexible bodies and point masses attach: attributes of their groups in results."""

import json
from typing import Any

from femb.system.system import System

TABLES = ("joints", "beams", "bodies")


def attachments(system: System) -> dict[str, dict[str, Any]]:
    """The attribute ``attachments`` of every item that has any, by the path of the item.

    JSON by the item's field, as ``first`` and ``second`` of a joint, ``start`` and ``end`` of a beam: the ``body``, or
    the ``beam`` and its ``node`` from 0, and the point ``at`` (m), in the axes of the body or of the node's section.
    """
    beams = system.layout.beams
    found: dict[str, dict[str, Any]] = {}
    for item in system.items:
        if item.table not in TABLES:
            continue
        places: dict[str, dict[str, Any]] = {}
        for field, marker in item.markers.items():
            at = marker.at.tolist()
            if marker.body is not None:
                places[".".join(field)] = {"body": marker.body, "at": at}
            elif marker.beam is not None:
                node = range(beams[marker.beam].elements + 1)[marker.node]
                places[".".join(field)] = {"beam": marker.beam, "node": node, "at": at}
        if places:
            found[f"{item.table}/{item.name}"] = {"attachments": json.dumps(places)}
    return found
