"""Quantities of shells in results: arrays of nodes and elements; T times, n nodes, e elements."""

from typing import ClassVar

import numpy as np

from femb.base.quantity import Quantity
from femb.elements.body.results import DISPLACEMENT, Moving, since_first

IN_PLANE = ("11", "22", "12")


class ShellResults(Moving):
    """Motion of the nodes of a shell, and resultants and strains in the middles of its elements, material axes."""

    word: ClassVar[str] = "shell"
    of_nodes: ClassVar[bool] = True

    position = Quantity("(T, n, 3)", "m", "of the nodes, inertial axes", level="motion")
    quaternion = Quantity("(T, n, 4)", "-", "node to inertial, scalar first; z is the normal", level="motion")
    velocity = Quantity("(T, n, 3)", "m/s", "of the nodes, inertial axes", level="motion")
    angular_velocity = Quantity("(T, n, 3)", "rad/s", "axes of the nodes", level="motion")
    acceleration = Quantity("(T, n, 3)", "m/s2", "of the nodes, inertial axes")
    angular_acceleration = Quantity("(T, n, 3)", "rad/s2", "axes of the nodes")
    membrane_force = Quantity(
        "(T, e, 3)", "N/m", "in the middle of every element, tension positive", components=IN_PLANE
    )
    bending_moment = Quantity(
        "(T, e, 3)",
        "N",
        "per length, in the middle of every element; positive stretches the side of the normal",
        components=IN_PLANE,
    )
    shear_force = Quantity(
        "(T, e, 2)", "N/m", "through the thickness, in the middle of every element", components=("1", "2")
    )
    membrane_strain = Quantity(
        "(T, e, 3)", "-", "of the reference surface in the middle of every element", components=IN_PLANE
    )
    wrinkling = Quantity(
        "(T, e)", "-", "state of the elements of a shell with `tension_only`: 0 taut, 1 wrinkled, 2 slack"
    )
    curvature = Quantity("(T, e, 3)", "1/m", "change in the middle of every element", components=IN_PLANE)
    rotation = Quantity(
        "(T, n, 4)", "-", "quaternion of the rotation of the nodes from the reference shape", level="motion"
    )
    deflection = Quantity(
        "(T, n, 3)",
        "m",
        "of the nodes from the undeformed shell that moves rigidly with the body of `deflection_body`, or with its "
        "first node",
        level="deformation",
    )
    displacement = Quantity("(T, n, 3)", "m", DISPLACEMENT, otherwise=since_first, level="motion")
    reference_position = Quantity("(n, 3)", "m", "nodes in the start configuration, inertial axes")
    reference_quaternion = Quantity("(n, 4)", "-", "nodes in the start configuration")
    quadrilaterals = Quantity("(q, 4)", "-", "nodes of the elements with four corners, which are the first elements")
    triangles = Quantity("(t, 3)", "-", "nodes of the elements with three corners, which follow")
    element_axes = Quantity("(e, 3, 3)", "-", "material axes and normal of the elements, as columns, at the start")
    element_area = Quantity("(e,)", "m2", "of the reference surface")

    @property
    def wrinkled(self) -> str:
        """How many elements were wrinkled and slack, and how many are at the end; empty where none was."""
        if "wrinkling" not in self or not np.any(self.wrinkling):
            return ""
        count = self.wrinkling.shape[1]
        wrinkled, slack = ((self.wrinkling == state).sum(axis=1) for state in (1.0, 2.0))
        most, least = wrinkled.max(), slack.max()
        return (
            f"{most} of {count} elements wrinkled and {least} slack at most, {wrinkled[-1]} and {slack[-1]} at the end"
        )

    @property
    def deflection_body(self) -> str | None:
        """The body that `deflection` is relative to: the first that the shell is attached to; None for its first
        node."""
        return self.attributes.get("deflection_body")
